/*
 * How fast matrix instructions are on one core of this machine: a loop of them, and a whole f16
 * matrix product. A benchmark, not a test: it prints.
 *
 * usage: matrix-speed <matrix.co of tests/isa> [repetitions]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hsaco.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may use the machine too */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Best of several runs. @p flop of the whole launch. */
static int measure(struct sim *s, const struct sim_code *code, const char *kernel,
                   const struct sim_launch *launch, double flop, int repetitions)
{
    double best_s = 1e30;
    for (int i = 0; i < repetitions; i++) {
        const double start_s = cpu_s();
        if (sim_run(s, sim_kernel(code, kernel), launch) != RP_RUN_DONE) {
            fprintf(stderr, "matrix-speed: %s: %s\n", kernel, s->fault.text);
            return -1;
        }
        const double took_s = cpu_s() - start_s;
        if (took_s < best_s)
            best_s = took_s;
    }
    printf("%-12s %10llu wave instructions  %8.2f ms  %7.1f GFLOP/s\n", kernel,
           (unsigned long long)s->counts.wave_insts, best_s * 1e3, flop / best_s * 1e-9);
    return 0;
}

int main(int argc, char **argv)
{
    enum { N = 1024, TURNS = 10000, WAVES = 16 };
    struct sim s;
    struct sim_code code;
    const int repetitions = argc > 2 ? atoi(argv[2]) : 5;
    sim_init(&s);
    if (argc < 2 || sim_load(&s, argv[1], &code)) {
        fprintf(stderr, "usage: matrix-speed <matrix.co> [repetitions]\n");
        return 2;
    }
    rp_exec_set_threads(1);
    uint16_t *a = sim_alloc(&s, N * N * 2), *b = sim_alloc(&s, N * N * 2);
    float *c = sim_alloc(&s, N * N * 4);
    for (int i = 0; i < N * N; i++) {
        a[i] = (uint16_t)(0x3000 + i % 2048); /* f16, 0.125 to 0.5 */
        b[i] = (uint16_t)(0xb000 + i % 1999);
    }
    const struct {
        float *c;
        float x;
        int n;
    } chain = {c, 0.5f, TURNS};
    const struct {
        void *a, *b, *c;
        int n;
    } gemm = {a, b, c, N};
    const struct sim_launch one = {
        .grid = {64 * WAVES}, .block = {64}, .args = &chain, .args_bytes = sizeof chain};
    const struct sim_launch two = {.grid = {(N / 64) * (N / 64) * 64},
                                   .block = {256},
                                   .args = &gemm,
                                   .args_bytes = sizeof gemm};
    int status = measure(&s, &code, "mfma_chain", &one, 8192.0 * 4 * TURNS * WAVES, repetitions);
    status |= measure(&s, &code, "gemm_f16", &two, 2.0 * N * N * N, repetitions);
    sim_free(&s);
    return status ? 1 : 0;
}
