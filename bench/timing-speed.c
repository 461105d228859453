/*
 * What detailed timing costs: kernels on large grids, by turns with fast and with detailed timing.
 * Prints how many times as long a dispatch takes, and how fast its recorded waves are replayed.
 * A benchmark, not a test.
 *
 * usage: timing-speed <kernels.co of tests/isa> [repetitions [benchmark]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/timing/mode.h"
#include "hsaco.h"

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

/* Best processor seconds of a launch, by turns with both kinds of timing, and of the replay. */
struct best {
    double fast_s, detailed_s, replay_s;
};

static int measure(struct sim *s, const struct sim_code *code, const struct bench *b,
                   int repetitions)
{
    struct best best = {1e30, 1e30, 1e30};
    const uint64_t kd = sim_kernel(code, b->kernel);
    for (int i = 0; i < 2 * repetitions; i++) {
        const bool detailed = i % 2;
        rp_timing_set_mode(detailed ? RP_TIMING_DETAILED : RP_TIMING_FAST);
        const double begin_s = cpu_s();
        if (sim_run(s, kd, &b->launch) != RP_RUN_DONE || s->replayed != detailed) {
            fprintf(stderr, "timing-speed: %s: %s\n", b->name, s->fault.text);
            return 1;
        }
        const double took_s = cpu_s() - begin_s, replay_s = (double)s->replay_ns * 1e-9;
        double *least = detailed ? &best.detailed_s : &best.fast_s;
        *least = took_s < *least ? took_s : *least;
        best.replay_s = detailed && replay_s < best.replay_s ? replay_s : best.replay_s;
    }
    const double insts = (double)s->counts.wave_insts, replayed = (double)s->stats.insts;
    printf("%-10s %11.0f wave instructions  fast %8.2f ms  detailed %8.2f ms = %6.2f times  "
           "%6.1f M/s   replayed %9.0f (%5.1f %%) in %8.2f ms: %6.1f M/s   modelled %10.2f us\n",
           b->name, insts, best.fast_s * 1e3, best.detailed_s * 1e3, best.detailed_s / best.fast_s,
           insts / best.detailed_s * 1e-6, replayed, 100 * replayed / insts, best.replay_s * 1e3,
           replayed / best.replay_s * 1e-6, (double)s->ticks / s->arch->timestamp_mhz);
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
        fprintf(stderr, "usage: timing-speed <kernels.co> [repetitions [benchmark]]\n");
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
        float *a, *c;
        int n;
    } two = {a, c, N}, rows = {a, c, 1024}, bytes = {a, c, N * 4};
    const struct {
        float *c;
        float x;
        int n;
    } chain = {c, 0.999f, 500}, blend = {c, 0.75f, 100};
#define ARGS(x) .args = &(x), .args_bytes = sizeof(x)
    const struct bench benches[] = {
        {"compute", "fma_chain", {.grid = {N / 4}, .block = {256}, ARGS(chain)}},
        {"mixed", "mixed", {.grid = {N / 4}, .block = {256}, ARGS(blend)}},
        {"stream", "vadd", {.grid = {N}, .block = {256}, ARGS(three)}},
        {"sgemm", "sgemm16", {.grid = {MATRIX, MATRIX}, .block = {16, 16}, ARGS(square)}},
        {"softmax", "softmax", {.grid = {4096 * 256}, .block = {256}, ARGS(rows)}},
        {"reduce", "reduce_shfl", {.grid = {N}, .block = {256}, ARGS(two)}},
        {"histogram", "histogram", {.grid = {1024 * 256}, .block = {256}, ARGS(bytes)}},
        {"one-group", "vadd", {.grid = {256}, .block = {256}, ARGS(three)}},
    };
    int status = 0;
    rp_exec_set_threads(1);
    for (unsigned i = 0; i < sizeof benches / sizeof benches[0]; i++)
        if (argc <= 3 || !strcmp(argv[3], benches[i].name))
            status |= measure(&s, &code, &benches[i], repetitions);
    sim_free(&s);
    return status;
}
