/*
 * How fast matrix instructions are on one core of this machine: a loop of them, and a whole f16
 * matrix product, by turns with the core's own most: independent f32 multiply-adds in its widest
 * registers. A benchmark, not a test: it prints.
 *
 * usage: matrix-speed <matrix.co of tests/isa> [repetitions]
 */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "device/timing/timing_model.h"
#include "hsaco.h"

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may use the machine too */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the core's own most ---- */

enum { CHAINS = 16, ROUNDS = 200000 };

/* The assembler text only keeps the compiler from merging or moving the chains. */
#define DEFINE_PEAK(name, isa, type, fmadd)                                                        \
    __attribute__((target(isa))) static double name(void)                                          \
    {                                                                                              \
        type acc[CHAINS] = {{0}}, x = {1.0f}, y = {0.5f};                                          \
        const double start_s = cpu_s();                                                            \
        for (int n = 0; n < ROUNDS; n++) {                                                         \
            _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++)                              \
            {                                                                                      \
                acc[i] = fmadd(x, y, acc[i]);                                                      \
                __asm__ volatile("" : "+v"(acc[i]));                                               \
            }                                                                                      \
        }                                                                                          \
        return (double)ROUNDS * CHAINS * (sizeof(type) / 4) * 2 / (cpu_s() - start_s) * 1e-9;      \
    }
DEFINE_PEAK(peak_avx512, "avx512f", __m512, _mm512_fmadd_ps)
DEFINE_PEAK(peak_avx2, "avx2,fma", __m256, _mm256_fmadd_ps)

/* 0: not known, a CPU without multiply-adds. */
static double peak_gflops(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return peak_avx512();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? peak_avx2() : 0;
}

/* Best of several runs. @p flop of the whole launch. */
static int measure(struct sim *s, const struct sim_code *code, const char *kernel,
                   const struct sim_launch *launch, double flop, int repetitions)
{
    double best_s = 1e30, peak = 0;
    for (int i = 0; i < repetitions; i++) {
        const double now_peak = peak_gflops();
        peak = now_peak > peak ? now_peak : peak;
        const double start_s = cpu_s();
        if (sim_run(s, sim_kernel(code, kernel), launch) != RP_RUN_DONE) {
            fprintf(stderr, "matrix-speed: %s: %s\n", kernel, s->fault.text);
            return -1;
        }
        const double took_s = cpu_s() - start_s;
        if (took_s < best_s)
            best_s = took_s;
    }
    printf("%-12s %10llu wave instructions  %8.2f ms  %7.1f GFLOP/s", kernel,
           (unsigned long long)s->counts.wave_insts, best_s * 1e3, flop / best_s * 1e-9);
    if (peak > 0)
        printf("  %3.0f %% of the core's %.0f", flop / best_s * 1e-7 / peak, peak);
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    enum { N = 1024, TURNS = 10000, WAVES = 16 };
    struct sim s;
    struct sim_code code;
    const int repetitions = argc > 2 ? atoi(argv[2]) : 5;
    rp_timing_set_mode(RP_TIMING_COUNTS); /* timing-speed has what the other costs. */
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
