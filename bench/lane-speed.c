/**
 * @file lane-speed.c
 * @brief Nanoseconds per call of the hottest lane kernels, at every level this CPU has.
 *
 * Not a test: prints a table. One call computes 64 lanes. The smallest of several repetitions is
 * shown, because everything else on the machine only adds time.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "device/isa/lane.h"

enum { CALLS = 20000, REPEATS = 15, ROWS = 32 };

static const char *const kernels[] = {
    "v_mov_b32",     "v_add_u32",          "v_lshl_add_u64",  "v_cndmask_b32",  "v_and_b32",
    "v_lshlrev_b32", "v_lshl_add_u32",     "v_mad_u64_u32",   "v_mul_lo_u32",   "v_add_co_u32",
    "v_addc_co_u32", "v_cmp_eq_u32",       "v_cmp_gt_u64",    "v_cmp_eq_u64",   "v_lshrrev_b64",
    "v_ashrrev_i32", "v_cmp_lt_f32",       "v_add_f32",       "v_mul_f32",      "v_fma_f32",
    "v_fmac_f32",    "v_max_f32",          "v_pk_fma_f32",    "v_add_f64",      "v_fma_f64",
    "v_cvt_f32_u32", "v_cvt_i32_f32",      "v_cvt_f32_f16",   "v_rcp_f32",      "v_exp_f32",
    "v_log_f32",     "v_sin_f32",          "v_div_scale_f32", "v_div_fmas_f32", "v_div_fixup_f32",
    "v_pk_fma_f16",  "v_mbcnt_lo_u32_b32",
};

/* Matrix kernels, with the work they do. */
static const struct {
    const char *name;
    unsigned multiplications;
} matrix[] = {
    {"v_mfma_f32_16x16x16_f16", 16 * 16 * 16},   {"v_mfma_f32_32x32x8_f16", 32 * 32 * 8},
    {"v_mfma_f32_16x16x16_bf16", 16 * 16 * 16},  {"v_mfma_f32_16x16x4_f32", 16 * 16 * 4},
    {"v_mfma_f32_32x32x1_2b_f32", 2 * 32 * 32},  {"v_mfma_f32_4x4x4_16b_f16", 16 * 4 * 4 * 4},
    {"v_mfma_f32_16x16x8_xf32", 16 * 16 * 8},    {"v_mfma_f32_16x16x32_fp8_fp8", 16 * 16 * 32},
    {"v_mfma_i32_16x16x32_i8", 16 * 16 * 32},    {"v_mfma_f64_16x16x4_f64", 16 * 16 * 4},
    {"v_smfmac_f32_16x16x32_f16", 16 * 16 * 16}, {"v_smfmac_f32_32x32x32_fp8_fp8", 32 * 32 * 16},
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure_ns(rp_lane_fn *fn)
{
    static uint32_t rows[4][ROWS * RP_LANES] __attribute__((aligned(64)));
    struct rp_lane_args args = {.d = rows[0],
                                .s0 = rows[1],
                                .s1 = rows[2],
                                .s2 = rows[3],
                                .s3 = rows[1],
                                .c_stride = RP_LANES,
                                .mask_in = 0x5555aaaa0f0ff0f0u,
                                .mode = 0x3f0};
    double best = 1e30;
    for (unsigned i = 0; i < ROWS * RP_LANES; i++) {
        rows[0][i] = 0;
        rows[1][i] = 0x3f800000u + i * 4099;
        rows[2][i] = 0x40100000u + i * 77;
        rows[3][i] = 0x3fc00000u + i * 12345;
    }
    for (int r = 0; r < REPEATS; r++) {
        const double start = now_ns();
        for (int i = 0; i < CALLS; i++)
            fn(&args);
        const double ns = (now_ns() - start) / CALLS;
        best = ns < best ? ns : best;
    }
    return best;
}

int main(void)
{
    static const char *const level_names[RP_LANE_LEVELS] = {"x86-64", "x86-64-v3", "x86-64-v4"};
    printf("%-20s", "ns per 64 lanes");
    for (int level = 0; level < RP_LANE_LEVELS; level++)
        printf(" %10s", level_names[level]);
    printf("\n");
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        printf("%-20s", kernels[i]);
        for (int level = 0; level < RP_LANE_LEVELS; level++) {
            rp_lane_fn *fn = rp_lane_find_level(kernels[i], (enum rp_lane_level)level);
            if (fn != NULL)
                printf(" %10.1f", measure_ns(fn));
            else
                printf(" %10s", "-");
        }
        printf("\n");
    }
    printf("\n%-30s GFLOP/s by level\n", "ns per matrix instruction");
    for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++) {
        printf("%-30s", matrix[i].name);
        for (int level = 0; level < RP_LANE_LEVELS; level++) {
            rp_lane_fn *fn = rp_lane_find_level(matrix[i].name, (enum rp_lane_level)level);
            if (fn != NULL) {
                const double ns = measure_ns(fn);
                printf(" %9.1f %6.1f", ns, 2.0 * matrix[i].multiplications / ns);
            }
        }
        printf("\n");
    }
    return 0;
}
