/**
 * @file test_code_objects.c
 * @brief Register counts: rows of descriptor bits and what rocprofv3 stores for them.
 */
#include <string.h>

#include "tracer/code_objects.c"
#include "unit/cmocka_all.h"

static const struct {
    const char *gfx;
    uint32_t rsrc1, rsrc3;
    uint16_t properties;
    uint32_t sgpr, arch, accum, wave;
} rows[] = {
    /* Pairs seen in a real MI300X database: 128+384, 12+4, 4+4 VGPRs; 112 and 48 SGPRs. */
    {"gfx942", 63 | 12 << 6, 31, 0, 112, 128, 384, 64},
    {"gfx942", 1 | 4 << 6, 2, 0, 48, 12, 4, 64},
    {"gfx942", 0 | 0 << 6, 0, 0, 16, 4, 4, 64},
    {"gfx90a", 63, 63, 0, 16, 256, 256, 64},
    {"gfx950", 30 | 12 << 6, 61, 0, 112, 248, 0, 64},
    {"gfx940", 3 | 1 << 6, 7, 0, 16, 32, 0, 64},
    /* A descriptor that claims more arch VGPRs than there are. */
    {"gfx942", 0, 63, 0, 16, 8, 0, 64},
    {"gfx908", 7 | 3 << 6, 0, 0, 32, 32, 32, 64},
    {"gfx906", 7, 63, 0, 16, 32, 0, 64},
    {"gfx1030", 5, 0, 1 << 10, 128, 48, 0, 32},
    {"gfx1030", 5, 0, 0, 128, 24, 0, 64},
    {"gfx1100", 11, 0, 1 << 10, 128, 96, 0, 32},
    {"gfx1201", 11, 0, 0, 128, 48, 0, 64},
    /* LLVM 22's descriptor of a kernel of 201 registers, and the most that there are. */
    {"gfx1250", 0xc00f000c, 0x10, 0x408, 128, 208, 0, 32},
    {"gfx1250", 63, 0, 0x408, 128, 1024, 0, 32},
};

static void counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rp_kd_registers got = {0};
        uint8_t kd[RP_KD_BYTES] = {0};

        memcpy(kd + 44, &rows[i].rsrc3, 4);
        memcpy(kd + 48, &rows[i].rsrc1, 4);
        memcpy(kd + 56, &rows[i].properties, 2);
        assert_int_equal(kd_registers(rows[i].gfx, kd, &got), 0);
        assert_int_equal(got.sgpr_count, rows[i].sgpr);
        assert_int_equal(got.arch_vgpr_count, rows[i].arch);
        assert_int_equal(got.accum_vgpr_count, rows[i].accum);
        assert_int_equal(got.wave_size, rows[i].wave);
    }
}

static void other_agents(void **state)
{
    struct rp_kd_registers got;
    const uint8_t kd[RP_KD_BYTES] = {0};

    (void)state;
    assert_int_equal(kd_registers("AMD EPYC", kd, &got), -1);
    assert_int_equal(kd_registers("", kd, &got), -1);
    assert_int_equal(kd_registers("gfx", kd, &got), -1);
    assert_int_equal(kd_registers("gfx9", kd, &got), -1);
    assert_int_equal(kd_registers("gfx600", kd, &got), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(other_agents)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
