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
#include "device/jit/jit.h"
#include "device/timing/model.h"
#include "hsaco.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may use the machine too */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double wall_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct bench {
    const char *name;
    const char *kernel;
    struct sim_launch launch;
    uint8_t args[64];
};

/* Processor seconds of a launch; negative when it fails. */
static double once_s(struct sim *s, uint64_t kd, const struct bench *b)
{
    double start_s = cpu_s();
    if (sim_run(s, kd, &b->launch) == RP_RUN_DONE)
        return cpu_s() - start_s;
    fprintf(stderr, "device-speed: %s: %s\n", b->name, s->fault.text);
    return -1;
}

/* Best of several runs: the machine may be busy with something else. [1]: with translation, where
 * there is any. */
static int measure(struct sim *s, const struct sim_code *code, struct bench *b, int repetitions)
{
    double best_s[2] = {1e30, 1e30};
    uint64_t kd = sim_kernel(code, b->kernel);
    b->launch.args = b->args;
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
    b->launch.args = b->args;
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
    enum { N = 1 << 20, MATRIX = 256 };
    int repetitions = argc > 2 ? atoi(argv[2]) : 5;
    sim_init(&s);
    if (argc < 2 || sim_load(&s, argv[1], &code)) {
        fprintf(stderr, "usage: device-speed <kernels.co> [repetitions [benchmark]]\n");
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
    } chain = {c, 0.999f, 2000}, blend = {c, 0.75f, 300};

    struct bench benches[] = {
        {"compute",
         "fma_chain",
         {.grid = {65536}, .block = {256}, .args_bytes = sizeof chain},
         {0}},
        {"mixed", "mixed", {.grid = {65536}, .block = {256}, .args_bytes = sizeof blend}, {0}},
        {"half-dot",
         "half_dot",
         {.grid = {65536}, .block = {256}, .args_bytes = sizeof chain},
         {0}},
        {"stream", "vadd", {.grid = {N}, .block = {256}, .args_bytes = sizeof three}, {0}},
        {"sgemm",
         "sgemm16",
         {.grid = {MATRIX, MATRIX}, .block = {16, 16}, .args_bytes = sizeof square},
         {0}},
        {"softmax",
         "softmax",
         {.grid = {512 * 256}, .block = {256}, .args_bytes = sizeof rows},
         {0}},
        {"reduce", "reduce_shfl", {.grid = {N}, .block = {256}, .args_bytes = sizeof two}, {0}},
        {"histogram",
         "histogram",
         {.grid = {256 * 256}, .block = {256}, .args_bytes = sizeof bytes},
         {0}},
    };
    const unsigned threads = rp_exec_threads();
    const void *args[] = {&chain, &blend, &chain, &three, &square, &rows, &two, &bytes};
    int status = 0;
    rp_exec_set_threads(1);
    for (unsigned i = 0; i < sizeof benches / sizeof benches[0]; i++) {
        if (argc > 3 && strcmp(argv[3], benches[i].name))
            continue;
        memcpy(benches[i].args, args[i], benches[i].launch.args_bytes);
        status |= measure(&s, &code, &benches[i], repetitions);
    }
    for (unsigned i = 0; i < sizeof benches / sizeof benches[0] && !status; i++)
        if (argc <= 3 || !strcmp(argv[3], benches[i].name))
            compare_threads(&s, &code, &benches[i], threads, repetitions);
    sim_free(&s);
    return status ? 1 : 0;
}
