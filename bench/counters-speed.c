/*
 * What hardware counters cost: kernels on large grids, by turns without counters, with those that
 * follow from instructions, and with those of the caches as well; with fast and with detailed
 * timing. Prints processor time and how many times that of counts timing without counters it is. A
 * benchmark, not a test.
 *
 * usage: counters-speed <kernels.co of tests/isa> [repetitions [benchmark [scale]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/timing/timing_model.h"
#include "kernels.h"

static const struct way {
    const char *name;
    enum rp_timing_mode timing;
    enum rp_counting counts;
} ways[] = {
    {"counts", RP_TIMING_COUNTS, RP_COUNT_NOTHING},
    {"instructions", RP_TIMING_COUNTS, RP_COUNT_INSTRUCTIONS},
    {"caches", RP_TIMING_COUNTS, RP_COUNT_MEMORY},
    {"detailed", RP_TIMING_DETAILED, RP_COUNT_NOTHING},
    {"detailed, caches", RP_TIMING_DETAILED, RP_COUNT_MEMORY},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Processor seconds of a launch; negative: it failed. */
static double once_s(struct sim *s, uint64_t kd, const struct bench *b, const struct way *way)
{
    uint64_t values[RP_DEVICE_COUNTERS];
    const bool replays = way->timing == RP_TIMING_DETAILED && way->counts != RP_COUNT_NOTHING;
    s->counters = way->counts != RP_COUNT_NOTHING && !replays ? values : NULL;
    s->replay_counters = replays ? values : NULL;
    const double begin_s = bench_cpu_s();
    if (sim_run(s, kd, &b->launch) != RP_RUN_DONE) {
        fprintf(stderr, "counters-speed: %s: %s\n", b->name, s->fault.text);
        return -1;
    }
    /* With counters of a replay the harness replays once more. */
    return bench_cpu_s() - begin_s - (replays ? (double)s->replay_ns * 1e-9 : 0);
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
    struct bench benches[BENCH_KERNELS];
    const int scale = argc > 4 ? atoi(argv[4]) : 1;
    const struct bench_sizes sizes = {.elements = scale << 22,
                                      .matrix = 512 * scale,
                                      .chain_rounds = 500,
                                      .blend_rounds = 100,
                                      .items = scale << 20,
                                      .softmax_rows = 4096 * scale,
                                      .histogram_groups = 1024 * scale};
    static const char *const names[] = {"compute", "mixed", "stream", "sgemm", "softmax"};
    const int repetitions = argc > 2 ? atoi(argv[2]) : 3;
    sim_init(&s);
    if (argc < 2 || scale < 1 || sim_load(&s, argv[1], &code)) {
        fprintf(stderr, "usage: counters-speed <kernels.co> [repetitions [benchmark [scale]]]\n");
        return 2;
    }
    bench_kernels(&s, &sizes, benches);
    int status = 0;
    rp_exec_set_threads(1);
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (argc <= 3 || !strcmp(argv[3], names[i]))
            status |= measure(&s, &code, bench_find(benches, names[i]), repetitions);
    sim_free(&s);
    return status;
}
