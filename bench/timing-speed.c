/*
 * What detailed timing costs: kernels on large grids, by turns with counts and with detailed
 * timing. Prints how many times as long a dispatch takes, and how fast its recorded waves are
 * replayed. A benchmark, not a test.
 *
 * usage: timing-speed <kernels.co of tests/isa> [repetitions [benchmark [scale]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/timing/timing_model.h"
#include "kernels.h"

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
        rp_timing_set_mode(detailed ? RP_TIMING_DETAILED : RP_TIMING_COUNTS);
        const double begin_s = bench_cpu_s();
        if (sim_run(s, kd, &b->launch) != RP_RUN_DONE || s->replayed != detailed) {
            fprintf(stderr, "timing-speed: %s: %s\n", b->name, s->fault.text);
            return 1;
        }
        const double took_s = bench_cpu_s() - begin_s, replay_s = (double)s->replay_ns * 1e-9;
        double *least = detailed ? &best.detailed_s : &best.fast_s;
        *least = took_s < *least ? took_s : *least;
        best.replay_s = detailed && replay_s < best.replay_s ? replay_s : best.replay_s;
    }
    const double insts = (double)s->counts.wave_insts, replayed = (double)s->stats.insts;
    printf("%-10s %11.0f wave instructions  counts %8.2f ms  detailed %8.2f ms = %6.2f times  "
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
    struct bench benches[BENCH_KERNELS];
    const int scale = argc > 4 ? atoi(argv[4]) : 1;
    const struct bench_sizes sizes = {.elements = scale << 22,
                                      .matrix = 512 * scale,
                                      .chain_rounds = 500,
                                      .blend_rounds = 100,
                                      .items = scale << 20,
                                      .softmax_rows = 4096 * scale,
                                      .histogram_groups = 1024 * scale};
    static const char *const names[] = {"compute", "mixed",  "stream",    "sgemm",
                                        "softmax", "reduce", "histogram", "one-group"};
    const int repetitions = argc > 2 ? atoi(argv[2]) : 3;
    sim_init(&s);
    if (argc < 2 || scale < 1 || sim_load(&s, argv[1], &code)) {
        fprintf(stderr, "usage: timing-speed <kernels.co> [repetitions [benchmark [scale]]]\n");
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
