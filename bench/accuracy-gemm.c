/*
 * Matrix products against published rates of hipBLASLt and rocBLAS. The kernels are
 * tests/isa/gemm.hip; sampled elements of each product are checked against sums on the host.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "accuracy.h"
#include "arch/arch.h"
#include "gemm_data.h"

enum { SAMPLES = 500 };

/* Clocks of a product of which all sampled elements are right. */
static double product(struct accuracy *b, const struct gemm_case *g)
{
    struct gemm_run run;
    const unsigned regions = b->sim.region_count;
    uint32_t seed = 1;
    gemm_prepare(&b->sim, g, &run);
    const double clocks = accuracy_launch(b, &b->gemm, g->kernel, &run.launch);
    for (int i = 0; i < SAMPLES && !b->failed; i++) {
        int at[3];
        const int size[] = {g->batches, g->m, g->n};
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525u + 1013904223u;
            at[k] = (int)((uint64_t)seed * (uint64_t)size[k] >> 32);
        }
        if (gemm_right(g, &run, at[0], at[1], at[2]))
            continue;
        fprintf(stderr, "model-accuracy: %s: matrix %d, row %d, column %d is wrong\n", g->kernel,
                at[0], at[1], at[2]);
        b->failed = true;
    }
    sim_release(&b->sim, regions);
    return clocks;
}

static double operations(const struct gemm_case *g, double k)
{
    return 2.0 * g->m * g->n * k * g->batches;
}

/*
 * Clocks of a product with @p k of k, from two with fewer: each further one takes as long. Both
 * have rows that are no multiple of 4 KiB long, as the real one.
 */
static double long_product(struct accuracy *b, struct gemm_case g, double k)
{
    enum { SHORT = 4096 + 128, LONG = 8192 + 128 };
    g.k = SHORT;
    const double at_short = product(b, &g);
    g.k = LONG;
    const double at_long = product(b, &g);
    return at_long + (at_long - at_short) / (LONG - SHORT) * (k - LONG);
}

void accuracy_gemm_clocks(struct accuracy *b, struct accuracy_group *g)
{
    static const char source[] = "ROCm blog, MAF part 2";
    static const struct gemm_case f16 = {"gemm_f16", GEMM_K_INNER, GEMM_F16, GEMM_F16, 4096, 4864,
                                         0,          256,          256,      1,        0,    0};
    static const struct gemm_case bf16 = {
        "gemm_bf16", GEMM_K_INNER, GEMM_BF16, GEMM_BF16, 4096, 4864, 0, 256, 256, 1, 0, 0};
    static const struct gemm_case fp8 = {"gemm_fp8", GEMM_K_INNER, GEMM_FP8, GEMM_F16, 4096, 3648,
                                         0,          256,          192,      1,        0,    0};
    static const struct gemm_case f32 = {"gemm_f32", GEMM_K_OUTER, GEMM_F32, GEMM_F32, 4864, 3072,
                                         4096,       128,          128,      1,        0,    0};
    static const double k = 32896;
    const double cus = b->sim.arch->compute_units;
    const double f16_rate = operations(&f16, k) / long_product(b, f16, k) / cus;
    const double bf16_rate = operations(&bf16, k) / long_product(b, bf16, k) / cus;
    const double fp8_rate = operations(&fp8, k) / long_product(b, fp8, k) / cus;
    const double f32_rate = operations(&f32, f32.k) / product(b, &f32) / cus;
    static const char unit[] = "flop/clock/CU";
    /* published rate over clock and compute units */
    accuracy_add(g, (struct accuracy_row){"21", "hipBLASLt f16, 654 TFLOP/s at 1115 MHz", unit,
                                          source, 654e12 / 1115e6 / cus, f16_rate});
    accuracy_add(g, (struct accuracy_row){"22", "hipBLASLt bf16, 708 TFLOP/s at 1207 MHz", unit,
                                          source, 708e12 / 1207e6 / cus, bf16_rate});
    accuracy_add(g, (struct accuracy_row){"23", "hipBLASLt fp8, 1273 TFLOP/s at 1230 MHz", unit,
                                          source, 1273e12 / 1230e6 / cus, fp8_rate});
    accuracy_add(g, (struct accuracy_row){"24", "bf16, run of 1848.09 us, 1207 MHz", unit, source,
                                          operations(&bf16, k) / 1848.09e-6 / 1207e6 / cus,
                                          bf16_rate});
    accuracy_add(g, (struct accuracy_row){"", "rocBLAS f32, 4864 x 3072 x 4096, 97.915 % of peak",
                                          unit, "rocBLAS tuning table", 0.97915 * 256, f32_rate});
}

/* Terahertz of operations with the launch, at the model's clock. */
static double timed(struct accuracy *b, const struct gemm_case *g)
{
    product(b, g);
    return operations(g, g->k) / accuracy_seconds(b) * 1e-12;
}

void accuracy_gemm_time(struct accuracy *b, struct accuracy_group *g)
{
    static const char source[] = "AMD acceptance example";
    static const struct gemm_case f32 = {"gemm_f32", GEMM_K_OUTER, GEMM_F32, GEMM_F32, 4000, 4000,
                                         4000,       128,          128,      1,        0,    0};
    static const struct gemm_case f16 = {"gemm_f16_batched",
                                         GEMM_BATCHED,
                                         GEMM_F16,
                                         GEMM_F32,
                                         1024,
                                         2048,
                                         512,
                                         256,
                                         128,
                                         5,
                                         4096,
                                         4096};
    static const struct gemm_case i8 = {
        "gemm_i8_batched", GEMM_BATCHED, GEMM_I8, GEMM_I32, 1024, 2048, 512, 64, 64, 5, 4096, 4096};
    accuracy_add(g, (struct accuracy_row){"19", "rocBLAS sgemm 4000 x 4000 x 4000", "TFLOP/s",
                                          source, 97.1906, timed(b, &f32)});
    accuracy_add(g, (struct accuracy_row){"20", "rocBLAS f16 1024 x 2048 x 512, 5 times", "TFLOP/s",
                                          source, 159.783, timed(b, &f16)});
    accuracy_add(g, (struct accuracy_row){"20", "rocBLAS int8 1024 x 2048 x 512, 5 times", "TOP/s",
                                          source, 177.478, timed(b, &i8)});
}
