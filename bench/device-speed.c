/*
 * How fast the executor of the software MI300X is on this machine: wave instructions per second
 * and core, for kernels that stand for what programs do: as it is, and, in turn with that, without
 * translation into machine code. A benchmark, not a test: it prints.
 *
 * usage: device-speed <kernels.co of tests/isa> [repetitions [benchmark]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "device/jit/jit_translate.h"
#include "device/timing/timing_model.h"
#include "kernels.h"

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Processor seconds of a launch; negative when it fails. */
static double once_s(struct sim *s, uint64_t kd, const struct bench *b)
{
    double start_s = bench_cpu_s();
    if (sim_run(s, kd, &b->launch) == RP_RUN_DONE)
        return bench_cpu_s() - start_s;
    fprintf(stderr, "device-speed: %s: %s\n", b->name, s->fault.text);
    return -1;
}

/* Best of several runs: the machine may be busy with something else. [1]: with translation, where
 * there is any. */
static int measure(struct sim *s, const struct sim_code *code, struct bench *b, int repetitions)
{
    double best_s[2] = {1e30, 1e30};
    uint64_t kd = sim_kernel(code, b->kernel);
    for (int i = 0; i < 2 * repetitions; i++) {
        const int translates = i % 2;
        rp_jit_set(translates);
        double took_s = once_s(s, kd, b);
        if (took_s < 0)
            return -1;
        if (took_s < best_s[translates])
            best_s[translates] = took_s;
    }
    printf("%-12s %12llu wave instructions  %8.2f ms  %7.1f M/s  %6.2f GB/s  modelled %6.2f us"
           "   interpreted %7.1f M/s, %.2f times as fast\n",
           b->name, (unsigned long long)s->counts.wave_insts, best_s[1] * 1e3,
           (double)s->counts.wave_insts / best_s[1] * 1e-6,
           (double)(s->counts.read_bytes + s->counts.write_bytes) / best_s[1] * 1e-9,
           (double)rp_timing_dispatch_ticks(s->arch, &s->counts) / s->arch->timestamp_mhz,
           (double)s->counts.wave_insts / best_s[0] * 1e-6, best_s[0] / best_s[1]);
    return 0;
}

/* Wall seconds of a launch with so many threads. */
static double wall_once_s(struct sim *s, uint64_t kd, const struct bench *b, unsigned threads)
{
    rp_exec_set_threads(threads);
    double start_s = wall_s();
    return sim_run(s, kd, &b->launch) == RP_RUN_DONE ? wall_s() - start_s : 1e30;
}

enum { MOST_DOUBLINGS = 8 };

/* What more threads bring, up to the processors there are: best of several runs, with few and with
 * many threads by turns, for the machine is not always equally fast. */
static void compare_threads(struct sim *s, const struct sim_code *code, struct bench *b,
                            unsigned most, int repetitions)
{
    uint64_t kd = sim_kernel(code, b->kernel);
    double best_s[MOST_DOUBLINGS];
    unsigned kinds = 1;
    while (kinds < MOST_DOUBLINGS && 1u << kinds <= most)
        kinds++;
    for (unsigned k = 0; k < kinds; k++)
        best_s[k] = 1e30;
    for (int i = 0; i < repetitions; i++)
        for (unsigned k = 0; k < kinds; k++) {
            double took_s = wall_once_s(s, kd, b, 1u << k);
            if (took_s < best_s[k])
                best_s[k] = took_s;
        }
    printf("%-12s 1 thread %8.2f ms", b->name, best_s[0] * 1e3);
    for (unsigned k = 1; k < kinds; k++)
        printf("   %u threads %8.2f ms, %.2f times as fast", 1u << k, best_s[k] * 1e3,
               best_s[0] / best_s[k]);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct sim s;
    struct sim_code code;
    struct bench benches[BENCH_KERNELS];
    static const struct bench_sizes sizes = {.elements = 1 << 20,
                                             .matrix = 256,
                                             .chain_rounds = 2000,
                                             .blend_rounds = 300,
                                             .items = 65536,
                                             .softmax_rows = 512,
                                             .histogram_groups = 256};
    static const char *const names[] = {"compute", "mixed",   "half-dot", "stream",
                                        "sgemm",   "softmax", "reduce",   "histogram"};
    enum { NAMES = sizeof names / sizeof names[0] };
    int repetitions = argc > 2 ? atoi(argv[2]) : 5;
    rp_timing_set_mode(RP_TIMING_COUNTS); /* timing-speed has what the other costs. */
    sim_init(&s);
    if (argc < 2 || sim_load(&s, argv[1], &code)) {
        fprintf(stderr, "usage: device-speed <kernels.co> [repetitions [benchmark]]\n");
        return 2;
    }
    bench_kernels(&s, &sizes, benches);
    const unsigned threads = rp_exec_threads();
    int status = 0;
    rp_exec_set_threads(1);
    for (unsigned i = 0; i < NAMES; i++)
        if (argc <= 3 || !strcmp(argv[3], names[i]))
            status |= measure(&s, &code, bench_find(benches, names[i]), repetitions);
    for (unsigned i = 0; i < NAMES && !status; i++)
        if (argc <= 3 || !strcmp(argv[3], names[i]))
            compare_threads(&s, &code, bench_find(benches, names[i]), threads, repetitions);
    sim_free(&s);
    return status ? 1 : 0;
}
