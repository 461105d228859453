/*
 * What hardware counters cost: kernels on large grids, by turns without counters, with those that
 * follow from instructions, and with those of the caches as well; with fast and with detailed
 * timing. Prints processor time and how many times that of fast timing without counters it is. A
 * benchmark, not a test.
 *
 * usage: counters-speed <kernels.co of tests/isa> [repetitions [benchmark]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/device_counters.h"
#include "device/timing/mode.h"
#include "hsaco.h"

static const struct way {
    const char *name;
    enum rp_timing_mode timing;
    enum rp_counting counts;
} ways[] = {
    {"fast", RP_TIMING_FAST, RP_COUNT_NOTHING},
    {"instructions", RP_TIMING_FAST, RP_COUNT_INSTRUCTIONS},
    {"caches", RP_TIMING_FAST, RP_COUNT_MEMORY},
    {"detailed", RP_TIMING_DETAILED, RP_COUNT_NOTHING},
    {"detailed, caches", RP_TIMING_DETAILED, RP_COUNT_MEMORY},
};
enum { WAYS = sizeof ways / sizeof *ways };

struct bench {
    const char *name;
    const char *kernel;
    struct sim_launch launch;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may use the machine too */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor seconds of a launch; negative: it failed. */
static double once_s(struct sim *s, uint64_t kd, const struct bench *b, const struct way *way)
{
    uint64_t values[RP_DEVICE_COUNTERS];
    const bool replays = way->timing == RP_TIMING_DETAILED && way->counts != RP_COUNT_NOTHING;
    s->counters = way->counts != RP_COUNT_NOTHING && !replays ? values : NULL;
    s->replay_counters = replays ? values : NULL;
    const double begin_s = cpu_s();
    if (sim_run(s, kd, &b->launch) != RP_RUN_DONE) {
        fprintf(stderr, "counters-speed: %s: %s\n", b->name, s->fault.text);
        return -1;
    }
    /* With counters of a replay the harness replays once more. */
    return cpu_s() - begin_s - (replays ? (double)s->replay_ns * 1e-9 : 0);
}

static int measure(struct sim *s, const struct sim_code *code, const struct bench *b,
                   int repetitions)
{
    double best_s[WAYS];
    const uint64_t kd = sim_kernel(code, b->kernel);
    for (unsigned w = 0; w < WAYS; w++)
        best_s[w] = 1e30;
    for (int i = 0; i < repetitions; i++)
        for (unsigned w = 0; w < WAYS; w++) {
            rp_timing_set_mode(ways[w].timing);
            rp_exec_set_counts(
                ways[w].counts); /* code is translated anew: the first run is not timed */
            if (once_s(s, kd, b, &ways[w]) < 0)
                return 1;
            const double took_s = once_s(s, kd, b, &ways[w]);
            best_s[w] = took_s < best_s[w] ? took_s : best_s[w];
        }
    printf("%-10s %11llu wave instructions", b->name, (unsigned long long)s->counts.wave_insts);
    for (unsigned w = 0; w < WAYS; w++)
        printf("   %s %.2f ms, %.2f times", ways[w].name, best_s[w] * 1e3, best_s[w] / best_s[0]);
    printf("   (%.1f M/s with all)\n", (double)s->counts.wave_insts / best_s[WAYS - 1] * 1e-6);
    return 0;
}

int main(int argc, char **argv)
{
    struct sim s;
    struct sim_code code;
    enum { N = 1 << 22, MATRIX = 512 };
    const int repetitions = argc > 2 ? atoi(argv[2]) : 3;
    sim_init(&s);
    if (argc < 2 || sim_load(&s, argv[1], &code)) {
        fprintf(stderr, "usage: counters-speed <kernels.co> [repetitions [benchmark]]\n");
        return 2;
    }
    float *a = sim_alloc(&s, N * 4), *b = sim_alloc(&s, N * 4), *c = sim_alloc(&s, N * 4);
    for (int i = 0; i < N; i++) {
        a[i] = (float)(i % 1000) * 1e-3f;
        b[i] = 1.0f;
    }
    const struct {
        float *a, *b, *c;
        int n;
    } three = {a, b, c, N}, square = {a, b, c, MATRIX};
    const struct {
        float *c;
        float x;
        int n;
    } chain = {c, 0.999f, 500}, blend = {c, 0.75f, 100};
    const struct {
        float *a, *c;
        int n;
    } rows = {a, c, 1024};
#define ARGS(x) .args = &(x), .args_bytes = sizeof(x)
    const struct bench benches[] = {
        {"compute", "fma_chain", {.grid = {N / 4}, .block = {256}, ARGS(chain)}},
        {"mixed", "mixed", {.grid = {N / 4}, .block = {256}, ARGS(blend)}},
        {"stream", "vadd", {.grid = {N}, .block = {256}, ARGS(three)}},
        {"sgemm", "sgemm16", {.grid = {MATRIX, MATRIX}, .block = {16, 16}, ARGS(square)}},
        {"softmax", "softmax", {.grid = {4096 * 256}, .block = {256}, ARGS(rows)}},
    };
    int status = 0;
    rp_exec_set_threads(1);
    for (unsigned i = 0; i < sizeof benches / sizeof benches[0]; i++)
        if (argc <= 3 || !strcmp(argv[3], benches[i].name))
            status |= measure(&s, &code, &benches[i], repetitions);
    sim_free(&s);
    return status;
}
