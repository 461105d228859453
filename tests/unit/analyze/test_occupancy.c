/* Expected values are derived by hand from the rules of docs/formats.md; the comment beside
 * a row shows the arithmetic. */
#include "analyze/profile.h"
#include "arch/arch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct row {
    const char *arch;
    uint32_t vgpr, agpr, sgpr, lds, block, wave;
    /* expected; workgroups 0 = unknown */
    uint32_t workgroups, waves, waves_per_simd;
    double theoretical;
    enum rp_occupancy_limit limiter;
};

#define WG      RP_LIMIT_WORKGROUP_SIZE
#define VGPR    RP_LIMIT_VGPR
#define SGPR    RP_LIMIT_SGPR
#define LDS     RP_LIMIT_LDS
#define NONE    RP_LIMIT_NONE
#define UNKNOWN 0, 0, 0, 0.0, RP_LIMIT_NONE

/* clang-format off */
static const struct row rows[] = {
    /* gfx942: 4 SIMDs, 8 waves each; 512 VGPRs in granules of 8. 256 work-items = 4 waves. */
    {"gfx942",   0,   0,   0,     0,  256,  0,   8, 32, 8, 1.0,     NONE}, /* one granule: 64 > 8 */
    {"gfx942",  64,   0,  16,     0,  256,  0,   8, 32, 8, 1.0,     NONE}, /* 512/64 = 8 */
    {"gfx942",  72,   0,  16,     0,  256,  0,   7, 28, 7, 0.875,   VGPR}, /* 512/72 = 7.1 */
    {"gfx942",  65,   0,  16,     0,  256,  0,   7, 28, 7, 0.875,   VGPR}, /* rounds up to 72 */
    {"gfx942",  84,   0,  16,     0,  256,  0,   5, 20, 5, 0.625,   VGPR}, /* 88: 5.8 */
    {"gfx942", 128,   0,  16,     0,  256,  0,   4, 16, 4, 0.5,     VGPR},
    {"gfx942",  12,   4,  16,     0,  256,  0,   8, 32, 8, 1.0,     NONE}, /* unified: 16 */
    {"gfx942", 128, 128,  16,     0,  256,  0,   2,  8, 2, 0.25,    VGPR}, /* unified: 256 */
    {"gfx942", 128, 384,  16,     0,  256,  0,   1,  4, 1, 0.125,   VGPR}, /* all 512 */
    {"gfx942",  61,   8,  16,     0,  256,  0,   7, 28, 7, 0.875,   VGPR}, /* 64 + 8: AGPRs from
                                                                             a multiple of 4 */
    {"gfx942", 256, 264,  16,     0,  256,  0,   UNKNOWN},                       /* 520 > 512 */
    /* 800 SGPRs: 100 each for 8 waves. */
    {"gfx942",  32,   0,  96,     0,  256,  0,   8, 32, 8, 1.0,     NONE},
    {"gfx942",  32,   0, 100,     0,  256,  0,   8, 32, 8, 1.0,     NONE},
    {"gfx942",  32,   0, 101,     0,  256,  0,   7, 28, 7, 0.875,   SGPR},
    {"gfx942",  32,   0, 112,     0,  256,  0,   7, 28, 7, 0.875,   SGPR}, /* 7.14 */
    {"gfx942",  32,   0, 128,     0,  256,  0,   7, 28, 7, 0.875,   SGPR}, /* no wave has > 112 */
    /* 65536 bytes of LDS in granules of 512. */
    {"gfx942",  32,   0,  16,     1,  256,  0,   8, 32, 8, 1.0,     NONE},
    {"gfx942",  32,   0,  16,  8192,  256,  0,   8, 32, 8, 1.0,     NONE}, /* exactly 8 */
    {"gfx942",  32,   0,  16,  8193,  256,  0,   7, 28, 7, 0.875,   LDS},  /* 8704: 7.5 */
    {"gfx942",  32,   0,  16, 16384,  256,  0,   4, 16, 4, 0.5,     LDS},
    {"gfx942",  32,   0,  16, 33000,  256,  0,   1,  4, 1, 0.125,   LDS},  /* 33280: 1.97 */
    {"gfx942",  32,   0,  16, 65536,   64,  0,   1,  1, 0, 0.03125, LDS},
    {"gfx942",  32,   0,  16, 65537,  256,  0,   UNKNOWN},
    /* Whole workgroups in 32 wave slots, at most 16 workgroups of several waves. */
    {"gfx942",  32,   0,  16,     0,    1,  0,  32, 32, 8, 1.0,     NONE},
    {"gfx942",  32,   0,  16,     0,   64,  0,  32, 32, 8, 1.0,     NONE}, /* single: no barrier */
    {"gfx942",  32,   0,  16,     0,   65,  0,  16, 32, 8, 1.0,     NONE}, /* 2 waves */
    {"gfx942",  32,   0,  16,     0,  192,  0,  10, 30, 7, 0.9375,  WG},   /* 3 waves: 10.7 */
    {"gfx942",  32,   0,  16,     0,  320,  0,   6, 30, 7, 0.9375,  WG},   /* 5 waves: 6.4 */
    {"gfx942",  32,   0,  16,     0,  576,  0,   3, 27, 6, 0.84375, WG},   /* 9 waves: 3.6 */
    {"gfx942",  32,   0,  16,     0,  704,  0,   2, 22, 5, 0.6875,  WG},   /* 11 waves: 2.9 */
    {"gfx942",  32,   0,  16,     0, 1000,  0,   2, 32, 8, 1.0,     NONE}, /* 16 waves */
    {"gfx942",  32,   0,  16,     0, 1024,  0,   2, 32, 8, 1.0,     NONE},
    {"gfx942",  32,   0,  16,     0, 1025,  0,   UNKNOWN},
    {"gfx942",  32,   0,  16,     0,    0,  0,   UNKNOWN},
    {"gfx942",  72,   0,  16,     0, 1024,  0,   1, 16, 4, 0.5,     VGPR}, /* 28/16 = 1.75 */
    {"gfx942", 128,   0,  16,     0, 1024,  0,   1, 16, 4, 0.5,     VGPR},
    {"gfx942", 136,   0,  16,     0, 1024,  0,   UNKNOWN},                       /* 12 slots < 16 */
    /* Several limits at once: the tightest, on ties workgroup size, VGPR, SGPR, LDS. */
    {"gfx942", 128,   0, 112, 16384,  256,  0,   4, 16, 4, 0.5,     VGPR},
    {"gfx942", 128,   0, 112, 32768,  256,  0,   2,  8, 2, 0.25,    LDS},
    {"gfx942",  72,   0, 112,     0,  256,  0,   7, 28, 7, 0.875,   VGPR},
    {"gfx942",  64,   0,  16,  6144,  192,  0,  10, 30, 7, 0.9375,  WG},   /* LDS gives 10 too */
    {"gfx942",  32,   0,  16,     0,  256, 64,   8, 32, 8, 1.0,     NONE},
    {"gfx942",  32,   0,  16,     0,  256, 32,   UNKNOWN},
    /* gfx90a: as gfx942. */
    {"gfx90a", 104,   0,  16,     0,  256,  0,   4, 16, 4, 0.5,     VGPR}, /* 4.9 */
    {"gfx90a",  32,  32, 112,     0,  256,  0,   7, 28, 7, 0.875,   SGPR},
    {"gfx90a",  32,   0,  16, 21845,  256,  0,   2,  8, 2, 0.25,    LDS},  /* 22016: 2.98 */
    {"gfx90a",  32,   0,  16, 65537,  256,  0,   UNKNOWN},
    /* gfx950: 163840 bytes of LDS in granules of 1280. */
    {"gfx950",  32,   0,  16,  1280,  256,  0,   8, 32, 8, 1.0,     NONE},
    {"gfx950",  32,   0,  16, 20480,  256,  0,   8, 32, 8, 1.0,     NONE}, /* 16 granules: 8 */
    {"gfx950",  32,   0,  16, 20481,  256,  0,   7, 28, 7, 0.875,   LDS},  /* 21760: 7.5 */
    {"gfx950",  32,   0,  16, 32768,  256,  0,   4, 16, 4, 0.5,     LDS},  /* 33280: 4.9 */
    {"gfx950",  32,   0,  16, 65536,  256,  0,   2,  8, 2, 0.25,    LDS},  /* 66560: 2.46 */
    {"gfx950",  32,   0,  16, 163840, 256,  0,   1,  4, 1, 0.125,   LDS},
    {"gfx950",  32,   0,  16, 163841, 256,  0,   UNKNOWN},
    {"gfx950", 248,   0,  16,     0,  256,  0,   2,  8, 2, 0.25,    VGPR},
    /* gfx1030, wave32, a WGP: 4 SIMDs of 16 waves, 1024 VGPRs in granules of 16, 128 KiB LDS. */
    {"gfx1030", 64,   0, 128,     0,  256,  0,   8, 64, 16, 1.0,    NONE}, /* 8 waves each */
    {"gfx1030", 72,   0, 128,     0,  256,  0,   6, 48, 12, 0.75,   VGPR}, /* 80: 12.8 */
    {"gfx1030", 256,  0, 128,     0,  256,  0,   2, 16, 4, 0.25,    VGPR},
    {"gfx1030", 264,  0, 128,     0,  256,  0,   UNKNOWN},
    {"gfx1030", 24,   0, 128,     0,   32,  0,  64, 64, 16, 1.0,    NONE},
    {"gfx1030", 24,   0, 128,     0,   64,  0,  32, 64, 16, 1.0,    NONE}, /* cap of 32 */
    {"gfx1030", 24,   0, 128,     0,   96,  0,  21, 63, 15, 0.984375, WG},
    {"gfx1030", 24,   0, 128,     0, 1024,  0,   2, 64, 16, 1.0,    NONE},
    {"gfx1030", 128,  0, 128,     0, 1024,  0,   1, 32, 8, 0.5,     VGPR},
    {"gfx1030", 144,  0, 128,     0, 1024,  0,   UNKNOWN},                       /* 28 slots < 32 */
    {"gfx1030", 24,   0, 128, 16384,  256,  0,   8, 64, 16, 1.0,    NONE},
    {"gfx1030", 24,   0, 128, 16385,  256,  0,   7, 56, 14, 0.875,  LDS},  /* 17408: 7.5 */
    {"gfx1030", 24,   0, 128, 65536,  256,  0,   2, 16, 4, 0.25,    LDS},
    {"gfx1030", 24,   0, 128, 65537,  256,  0,   UNKNOWN},
    /* gfx1030, wave64: 512 VGPRs in granules of 8. */
    {"gfx1030", 32,   0, 128,     0,  256, 64,  16, 64, 16, 1.0,    NONE},
    {"gfx1030", 36,   0, 128,     0,  256, 64,  12, 48, 12, 0.75,   VGPR}, /* 40: 12.8 */
    {"gfx1030", 64,   0, 128,     0,  256, 64,   8, 32, 8, 0.5,     VGPR},
    {"gfx1030", 32,   0, 128,     0,  256, 16,   UNKNOWN},
    /* gfx908: 10 waves a SIMD; 256 VGPRs in granules of 4, and as many for accumulation. */
    {"gfx908",  24,   0,  16,     0,  256,  0,  10, 40, 10, 1.0,    NONE},
    {"gfx908",  25,   0,  16,     0,  256,  0,   9, 36, 9, 0.9,     VGPR}, /* 28: 9.1 */
    {"gfx908",  24,  64,  16,     0,  256,  0,   4, 16, 4, 0.4,     VGPR}, /* the larger file */
    {"gfx908",  24,   0,  81,     0,  256,  0,   9, 36, 9, 0.9,     SGPR}, /* 800/81 = 9.9 */
    /* gfx1100, a WGP: 4 SIMDs of 16 waves; wave32 has 1536 VGPRs in granules of 24. */
    {"gfx1100", 96,   0, 128,     0,  256,  0,   8, 64, 16, 1.0,    NONE}, /* 8 waves each */
    {"gfx1100", 97,   0, 128,     0,  256,  0,   6, 48, 12, 0.75,   VGPR}, /* 120: 12.8 */
    {"gfx1100", 256,  0, 128,     0,  256,  0,   2, 16, 4, 0.25,    VGPR}, /* 264: 5.8 */
    {"gfx1100", 48,   0, 128,     0,  256, 64,  16, 64, 16, 1.0,    NONE}, /* 768/48 = 16 */
    /* gfx1101, gfx1151, gfx1200 and gfx1201 are as gfx1100. */
    {"gfx1101", 97,   0, 128,     0,  256,  0,   6, 48, 12, 0.75,   VGPR},
    {"gfx1151", 97,   0, 128,     0,  256,  0,   6, 48, 12, 0.75,   VGPR},
    {"gfx1200", 49,   0, 128,     0,  256, 64,  12, 48, 12, 0.75,   VGPR}, /* 60: 12.8 */
    {"gfx1201", 97,   0, 128,     0,  256,  0,   6, 48, 12, 0.75,   VGPR},
    {"gfx1201", 24,   0, 128, 65536,  256,  0,   2, 16, 4, 0.25,    LDS},
    /* gfx1102 has as many registers as gfx1030. */
    {"gfx1102", 72,   0, 128,     0,  256,  0,   6, 48, 12, 0.75,   VGPR}, /* 80: 12.8 */
    {"gfx1102", 36,   0, 128,     0,  256, 64,  12, 48, 12, 0.75,   VGPR}, /* 40: 12.8 */
    /* gfx1250: 4 SIMDs of 16 waves, wave32 alone; 1024 VGPRs in granules of 16, all for one wave if
     * it likes; 327680 bytes of LDS in granules of 2048; 16 workgroups of several waves. */
    {"gfx1250", 64,   0, 128,     0,  256,  0,   8, 64, 16, 1.0,    NONE},
    {"gfx1250", 65,   0, 128,     0,  256,  0,   6, 48, 12, 0.75,   VGPR}, /* 80: 12.8 */
    {"gfx1250", 601,  0, 128,     0,  128,  0,   1,  4, 1, 0.0625,  VGPR}, /* 608: 1.7 */
    {"gfx1250", 1024, 0, 128,     0,  128,  0,   1,  4, 1, 0.0625,  VGPR},
    {"gfx1250", 1025, 0, 128,     0,  128,  0,   UNKNOWN},
    {"gfx1250", 601,  0, 128,     0,  256,  0,   UNKNOWN},                 /* 4 slots < 8 */
    {"gfx1250", 24,   0, 128,     0,   64,  0,  16, 32, 8, 0.5,     WG},   /* cap of 16 */
    {"gfx1250", 24,   0, 128,     0,   32,  0,  64, 64, 16, 1.0,    NONE},
    {"gfx1250", 24,   0, 128, 40960,  256,  0,   8, 64, 16, 1.0,    NONE}, /* 20 granules: 8 */
    {"gfx1250", 24,   0, 128, 40961,  256,  0,   7, 56, 14, 0.875,  LDS},  /* 43008: 7.6 */
    {"gfx1250", 24,   0, 128, 327680, 256,  0,   1,  8, 2, 0.125,   LDS},
    {"gfx1250", 24,   0, 128, 327681, 256,  0,   UNKNOWN},
    {"gfx1250", 24,   0, 128,     0,  256, 64,   UNKNOWN},
};
/* clang-format on */

static void check(const struct row *r, const struct rp_occupancy *o)
{
    if (!r->workgroups) {
        assert_false(o->known);
        assert_true(o->theoretical == 0);
        assert_int_equal(o->waves_per_cu, 0);
        assert_int_equal(o->max_waves_per_cu, 0);
    } else {
        assert_true(o->known);
        assert_int_equal(o->workgroups_per_cu, r->workgroups);
        assert_int_equal(o->waves_per_cu, r->waves);
        assert_int_equal(o->waves_per_simd, r->waves_per_simd);
        assert_true(fabs(o->theoretical - r->theoretical) < 1e-12);
        assert_string_equal(rp_occupancy_limit_names[o->limiter],
                            rp_occupancy_limit_names[r->limiter]);
    }
    assert_true(strlen(o->reason) > 10);
    assert_true(strlen(o->reason) < sizeof o->reason - 1);
}

static void follows_the_rules_of_each_gpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct row *r = &rows[i];
        struct rp_kernel_resources res = {
            .arch_vgpr = r->vgpr,
            .accum_vgpr = r->agpr,
            .sgpr = r->sgpr,
            .lds_bytes = r->lds,
            .workgroup_size = r->block,
            .wave_size = r->wave,
        };
        struct rp_occupancy o;

        print_message("row %zu: %s vgpr %u+%u sgpr %u lds %u block %u wave %u\n", i, r->arch,
                      r->vgpr, r->agpr, r->sgpr, r->lds, r->block, r->wave);
        rp_occupancy_compute(rp_arch_find(r->arch), &res, &o);
        check(r, &o);
    }
}

static void an_unknown_architecture_is_said_to_be_unknown(void **state)
{
    struct rp_kernel_resources res = {.arch_vgpr = 32, .workgroup_size = 256};
    struct rp_occupancy o;

    (void)state;
    rp_occupancy_compute(NULL, &res, &o);
    assert_false(o.known);
    assert_non_null(strstr(o.reason, "architecture"));
}

static void says_what_each_resource_would_allow(void **state)
{
    struct rp_kernel_resources res = {
        .arch_vgpr = 100, .sgpr = 112, .lds_bytes = 10000, .workgroup_size = 256};
    struct rp_occupancy o;

    (void)state;
    rp_occupancy_compute(rp_arch_find("gfx942"), &res, &o);
    assert_int_equal(o.vgpr_waves_per_simd, 4); /* 104: 4.9 */
    assert_int_equal(o.sgpr_waves_per_simd, 7);
    assert_int_equal(o.lds_workgroups_per_cu, 6); /* 10240: 6.4 */
    assert_int_equal(o.slot_workgroups_per_cu, 8);
    assert_int_equal(o.waves_per_workgroup, 4);
    assert_int_equal(o.wave_size, 64);
    assert_string_equal(o.reason, "a wave takes 104 of 512 VGPRs per lane: 4 waves per SIMD");
    res.lds_bytes = 0;
    res.sgpr = 0;
    rp_occupancy_compute(rp_arch_find("gfx1030"), &res, &o);
    assert_int_equal(o.lds_workgroups_per_cu, RP_NO_LIMIT);
    assert_int_equal(o.sgpr_waves_per_simd, 16);
    assert_int_equal(o.cus_per_block, 2);
}

/* More of anything never raises the occupancy: catches a slip in any rounding. */
static void more_resources_never_help(void **state)
{
    unsigned count;
    const struct rp_arch *const *all = rp_arch_all(&count);

    (void)state;
    for (unsigned a = 0; a < count; a++) {
        for (uint32_t block = 32; block <= 1024; block += 32) {
            double before = 1.0;

            for (uint32_t step = 0; step <= 256; step++) {
                struct rp_kernel_resources res = {
                    .arch_vgpr = step, .lds_bytes = step * 256, .workgroup_size = block};
                struct rp_occupancy o;

                rp_occupancy_compute(all[a], &res, &o);
                assert_true(o.theoretical >= 0 && o.theoretical <= before);
                assert_true(o.waves_per_cu <= o.max_waves_per_cu);
                before = o.theoretical;
            }
        }
    }
}

static void survives_absurd_numbers(void **state)
{
    struct rp_kernel_resources res = {
        .arch_vgpr = UINT32_MAX,
        .accum_vgpr = UINT32_MAX,
        .sgpr = UINT32_MAX,
        .lds_bytes = UINT32_MAX,
        .workgroup_size = UINT32_MAX,
        .wave_size = UINT32_MAX,
    };
    unsigned count;
    const struct rp_arch *const *all = rp_arch_all(&count);

    (void)state;
    for (unsigned a = 0; a < count; a++) {
        struct rp_kernel_resources r = res;
        struct rp_occupancy o;

        rp_occupancy_compute(all[a], &r, &o);
        assert_false(o.known);
        r.wave_size = 0;
        rp_occupancy_compute(all[a], &r, &o);
        assert_false(o.known);
        r.workgroup_size = 64;
        rp_occupancy_compute(all[a], &r, &o);
        assert_false(o.known);
        r.arch_vgpr = r.accum_vgpr = 8;
        rp_occupancy_compute(all[a], &r, &o);
        assert_false(o.known); /* the LDS */
        r.lds_bytes = 0;
        rp_occupancy_compute(all[a], &r, &o);
        assert_true(o.known);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_rules_of_each_gpu),
        cmocka_unit_test(an_unknown_architecture_is_said_to_be_unknown),
        cmocka_unit_test(says_what_each_resource_would_allow),
        cmocka_unit_test(more_resources_never_help),
        cmocka_unit_test(survives_absurd_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
