/* How fast instructions follow each other: matrix, vector, scalar, LDS, atomics. */
#include <math.h>
#include <stdio.h>

#include "accuracy.h"
#include "arch/arch.h"

enum { WAVES = 8 /* of 512 threads on each compute unit */, SIMDS = 4 };

/* Peak rates of the data sheet, from a wave on each SIMD of the device. */
void accuracy_matrix(struct accuracy *b, struct accuracy_group *g)
{
    static const struct {
        const char *kernel, *what;
        double flops, peak;
    } all[] = {
        {"rate_f32_32x32x2", "f32 32x32x2", 2.0 * 32 * 32 * 2, 163.4},
        {"rate_f32_16x16x4", "f32 16x16x4", 2.0 * 16 * 16 * 4, 163.4},
        {"rate_f16_32x32x8", "f16 32x32x8", 2.0 * 32 * 32 * 8, 1307.4},
        {"rate_f16_16x16x16", "f16 16x16x16", 2.0 * 16 * 16 * 16, 1307.4},
        {"rate_i8_32x32x16", "i8 32x32x16", 2.0 * 32 * 32 * 16, 2614.9},
        {"rate_i8_16x16x32", "i8 16x16x32", 2.0 * 16 * 16 * 32, 2614.9},
        {"rate_fp8_32x32x16", "fp8 32x32x16", 2.0 * 32 * 32 * 16, 2614.9},
        {"rate_fp8_16x16x32", "fp8 16x16x32", 2.0 * 16 * 16 * 32, 2614.9},
        {"rate_f64_16x16x4", "f64 16x16x4", 2.0 * 16 * 16 * 4, 163.4},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        double took[2];
        for (int k = 0; k < 2; k++) {
            const struct {
                void *out;
                int n;
            } args = {b->c, 128 << k};
            took[k] =
                accuracy_clocks(b, &b->timing, all[i].kernel, ACCURACY_BLOCKS, 256, &args, 12);
        }
        const double flops = all[i].flops * 128 * ACCURACY_BLOCKS * SIMDS;
        accuracy_add(g, (struct accuracy_row){"", all[i].what, "TFLOP/s", "MI300X data sheet",
                                              all[i].peak,
                                              flops / ((took[1] - took[0]) / b->clock_hz) * 1e-12});
    }
}

/* Clocks that a compute unit takes for each execution of an instruction by a wave. */
static double each(struct accuracy *b, const char *kernel, int stride)
{
    double took[2];
    for (int k = 0; k < 2; k++) {
        const struct {
            int n, stride;
        } args = {1024 << k, stride};
        took[k] = accuracy_clocks(b, &b->micro, kernel, ACCURACY_BLOCKS, 64 * WAVES, &args, 8);
    }
    return (took[1] - took[0]) / 1024 / WAVES;
}

/* Of a SIMD: they work side by side. */
static double issue(struct accuracy *b, const char *kernel)
{
    return each(b, kernel, 0) * SIMDS;
}

void accuracy_issue(struct accuracy *b, struct accuracy_group *g)
{
    static const char sheet[] = "MI300X data sheet", llvm[] = "LLVM gfx942 latencies",
                      guide[] = "CDNA3 ISA guide", unit[] = "clocks";
    /* Peak in TFLOP/s over operations of a wave, SIMDs and clock. */
    const double simds = b->sim.arch->compute_units * SIMDS * b->clock_hz * 1e-12;
    const struct {
        const char *kernel, *what, *source;
        double published;
    } all[] = {
        {"issue_pk_fma_f32", "v_pk_fma_f32", sheet, 64 * 4 * simds / 163.4},
        {"issue_fma_f64", "v_fma_f64", sheet, 64 * 2 * simds / 81.7},
        {"issue_fma_f32", "v_fma_f32", sheet, 64 * 2 * simds / 163.4}, /* two waves at once */
        {"issue_add_u32", "v_add_u32", guide, 4},
        {"issue_exp_f32", "v_exp_f32", llvm, 16},
        {"issue_rcp_f32", "v_rcp_f32", llvm, 16},
        {"issue_sqrt_f32", "v_sqrt_f32", llvm, 16},
        {"issue_rcp_f64", "v_rcp_f64", llvm, 16},
        {"issue_dot2_f32_f16", "v_dot2_f32_f16", llvm, 4},
        {"issue_s_add_u32", "s_add_u32", guide, 4},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        accuracy_add(g, (struct accuracy_row){"", all[i].what, unit, all[i].source,
                                              all[i].published, issue(b, all[i].kernel)});
}

static int common_factor(int a, int b)
{
    return b ? common_factor(b, a % b) : a;
}

void accuracy_lds(struct accuracy *b, struct accuracy_group *g)
{
    static const char peak[] = "ROCm Compute Profiler, 128 B/clock", unit[] = "clocks",
                      banks[] = "CDNA3 ISA guide, 32 banks";
    static char names[8][32];
    static const int strides[] = {1, 2, 3, 4, 8, 16, 31, 32};
    accuracy_add(g, (struct accuracy_row){"", "ds_read_b32", unit, peak, 64 * 4 / 128.0,
                                          each(b, "lds_read_b32", 1)});
    accuracy_add(g, (struct accuracy_row){"", "ds_read_b64", unit, peak, 64 * 8 / 128.0,
                                          each(b, "lds_read_b64", 2)});
    accuracy_add(g, (struct accuracy_row){"", "ds_read_b128", unit, peak, 64 * 16 / 128.0,
                                          each(b, "lds_read_b128", 4)});
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        snprintf(names[i], sizeof names[i], "ds_read_b32, words %d apart", strides[i]);
        accuracy_add(g, (struct accuracy_row){"", names[i], unit, banks,
                                              2.0 * common_factor(strides[i], 32),
                                              each(b, "lds_read_b32", strides[i])});
    }
}

/* Additions in the L2 that the device does in a clock. */
static double atomics(struct accuracy *b, int stride, int apart)
{
    double took[2];
    for (int k = 0; k < 2; k++) {
        const struct {
            void *words;
            int n, stride, apart;
        } args = {b->c, 64 << k, stride, apart};
        took[k] = accuracy_clocks(b, &b->micro, "atomics", ACCURACY_BLOCKS, 64 * WAVES, &args, 20);
    }
    return 64.0 * ACCURACY_BLOCKS * 64 * WAVES / (took[1] - took[0]);
}

void accuracy_unknown(struct accuracy *b, struct accuracy_group *g)
{
    static const struct {
        const char *kernel, *what;
    } all[] = {
        {"issue_mul_lo_u32", "v_mul_lo_u32"},
        {"issue_mad_u64_u32", "v_mad_u64_u32"},
        {"issue_lshlrev_b64", "v_lshlrev_b64"},
        {"issue_branch", "s_branch, taken, of 2 waves"},
    };
    static const char unit[] = "clocks", rate[] = "per clock";
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        accuracy_add(
            g, (struct accuracy_row){"", all[i].what, unit, "", NAN, issue(b, all[i].kernel)});
    const struct {
        const char *what, *unit;
        double modelled;
    } more[] = {
        {"ds_write_b32", unit, each(b, "lds_write_b32", 1)},
        {"ds_write_b64", unit, each(b, "lds_write_b64", 2)},
        {"ds_write_b128", unit, each(b, "lds_write_b128", 4)},
        {"ds_add_u32, a word for each lane", unit, each(b, "lds_add_u32", 1)},
        {"ds_add_u32, all lanes one word", unit, each(b, "lds_add_u32", 0)},
        {"L2 atomics, a word for each lane", rate, atomics(b, 1, 64)},
        {"L2 atomics, a line for each lane", rate, atomics(b, 32, 64 * 32)},
        {"L2 atomics, waves share 64 words", rate, atomics(b, 1, 0)},
        {"L2 atomics, all one word", rate, atomics(b, 0, 0)},
    };
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        accuracy_add(
            g, (struct accuracy_row){"", more[i].what, more[i].unit, "", NAN, more[i].modelled});
    accuracy_clocks(b, &b->micro, "empty", 1, 64, NULL, 0);
    accuracy_add(g, (struct accuracy_row){"", "an empty kernel, 1 workgroup", "us", "", NAN,
                                          accuracy_seconds(b) * 1e6});
    accuracy_clocks(b, &b->micro, "empty", 4096, 256, NULL, 0);
    accuracy_add(g, (struct accuracy_row){"", "an empty kernel, 4096 workgroups", "us", "", NAN,
                                          accuracy_seconds(b) * 1e6});
}
