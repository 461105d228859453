#include "arch/arch.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void finds_every_spelling_of_a_name(void **state)
{
    static const struct {
        const char *query, *found;
    } rows[] = {
        {"gfx942", "gfx942"},
        {"gfx942:sramecc+:xnack-", "gfx942"},
        {"amdgcn-amd-amdhsa--gfx942", "gfx942"},
        {"amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "gfx942"},
        {"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "gfx90a"},
        {"gfx90a", "gfx90a"},
        {"gfx950:xnack-", "gfx950"},
        {"gfx1030", "gfx1030"},
        {"gfx908:sramecc+:xnack-", "gfx908"},
        {"gfx1100", "gfx1100"},
        {"amdgcn-amd-amdhsa--gfx1101", "gfx1101"},
        {"gfx1102", "gfx1102"},
        {"gfx1151", "gfx1151"},
        {"gfx1200", "gfx1200"},
        {"gfx1201", "gfx1201"},
        {"gfx1250:sramecc+:xnack-", "gfx1250"},
        {"gfx1103", NULL},
        {"gfx1251", NULL},
        {"gfx12-generic", NULL},
        {"gfx103", NULL},
        {"gfx1030x", NULL},
        {"gfx94", NULL},
        {"GFX942", NULL},
        {"amdgcn-amd-amdhsa--", NULL},
        {":gfx942", NULL},
        {"", NULL},
        {NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct rp_arch *arch = rp_arch_find(rows[i].query);

        if (!rows[i].found)
            assert_null(arch);
        else
            assert_string_equal(arch->name, rows[i].found);
    }
}

static void every_row_is_listed_and_consistent(void **state)
{
    unsigned count = 0, defaults = 0;
    const struct rp_arch *const *all = rp_arch_all(&count);

    (void)state;
    assert_int_equal(count, 12);
    for (unsigned i = 0; i < count; i++) {
        const struct rp_arch *a = all[i];
        double peak = a->memory_width_bits / 8.0 * a->memory_clock_mhz *
                      a->memory_transfers_per_clock / 1000.0;

        assert_ptr_equal(rp_arch_find(a->name), a);
        assert_int_equal(a->max_waves_per_simd * a->simds_per_cu, a->max_waves_per_cu);
        assert_true(fabs(peak - a->hbm_peak_gbps) < 0.05 || !a->memory_clock_mhz);
        assert_true(a->hbm_efficiency >= 0 && a->hbm_efficiency < 1);
        assert_int_equal(a->vgprs_per_simd % a->vgpr_granule, 0);
        assert_int_equal(a->lds_bytes_per_cu % a->lds_granule_bytes, 0);
        assert_true(a->lds_bytes_per_workgroup <= a->lds_bytes_per_cu);
        assert_int_equal(a->compute_units % a->xcc_count, 0);
        assert_true(a->cus_per_block == 1 || a->cus_per_block == 2);
        defaults += a->is_default;
        assert_true(!a->is_default || !a->software_refusal);
        assert_true(a->roofline.traffic != RP_TRAFFIC_UNKNOWN || !a->roofline.valu);
        assert_true(a->product_count >= 1);
        assert_string_equal(a->products[0].name, a->product);
        assert_int_equal(a->products[0].pci_device_id, a->pci_device_id);
        assert_int_equal(a->products[0].compute_units, a->compute_units);
        assert_int_equal(a->products[0].xcc_count, a->xcc_count);
        assert_int_equal(a->products[0].shader_engines, a->shader_engines);
        assert_int_equal(a->products[0].engine_clock_mhz, a->engine_clock_mhz);
        assert_int_equal(a->products[0].memory_clock_mhz, a->memory_clock_mhz);
        assert_int_equal(a->products[0].memory_width_bits, a->memory_width_bits);
        assert_true(a->products[0].memory_bytes == a->memory_bytes);
    }
    assert_ptr_equal(rp_arch_all(NULL), all);
    assert_int_equal(defaults, 1);
}

/* What is on the dies takes as many clocks at any clock, and what is beyond as many nanoseconds. */
static void a_lower_clock_slows_the_dies_alone(void **state)
{
    struct rp_arch a, own;
    struct rp_arch_timing at;
    uint32_t mhz = 0, highest = 0;
    unsigned count;

    (void)state;
    assert_int_equal(rp_arch_select("mi300x", &own), 0);
    a = own;
    rp_arch_set_clock(&a, 2100, &at);
    assert_memory_equal(&a, &own, sizeof a);
    rp_arch_set_clock(&a, 1050, &at);
    assert_int_equal(a.engine_clock_mhz, 1050);
    assert_ptr_equal(a.timing, &at);
    assert_true(a.hbm_peak_gbps == own.hbm_peak_gbps);
    assert_int_equal(at.l2_clocks, own.timing->l2_clocks);
    assert_int_equal(at.valu_f64_clocks, own.timing->valu_f64_clocks);
    assert_true(at.l2_read_bytes_per_clock == own.timing->l2_read_bytes_per_clock);
    assert_true(at.die_bytes_per_clock == own.timing->die_bytes_per_clock);
    assert_int_equal(at.highest_clock_mhz, 2100);
    assert_int_equal(at.launch_clocks, own.timing->launch_clocks / 2);
    assert_in_range(2 * (at.mall_clocks - at.l2_clocks),
                    own.timing->mall_clocks - own.timing->l2_clocks - 1,
                    own.timing->mall_clocks - own.timing->l2_clocks + 1);
    assert_in_range(2 * (at.hbm_clocks - at.l2_clocks),
                    own.timing->hbm_clocks - own.timing->l2_clocks - 1,
                    own.timing->hbm_clocks - own.timing->l2_clocks + 1);
    assert_int_equal(a.hbm_latency_cycles, at.hbm_clocks);

    static const char *const wrong[] = {"",     "0",    "499",  "2101",  "1400 ",
                                        " 600", "+600", "0x4b", "1e3",   "1400.5",
                                        "-600", "MHz",  "9999", "99999", "18446744073709553016"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rp_arch_clock_parse(&own, wrong[i], &mhz));
    assert_true(rp_arch_clock_parse(&own, "500", &mhz) && mhz == RP_ARCH_LOWEST_CLOCK_MHZ);
    assert_true(rp_arch_clock_parse(&own, "2100", &mhz) && mhz == 2100);
    const struct rp_arch *const *all = rp_arch_all(&count);
    for (unsigned i = 0; i < count; i++)
        for (uint32_t k = 0; !all[i]->software_refusal && k < all[i]->product_count; k++)
            if (all[i]->products[k].engine_clock_mhz > highest)
                highest = all[i]->products[k].engine_clock_mhz;
    assert_int_equal(highest, RP_ARCH_HIGHEST_CLOCK_MHZ);
}

static void the_mi300x_is_the_one_the_driver_describes(void **state)
{
    const struct rp_arch *a = rp_arch_find("gfx942");

    (void)state;
    assert_int_equal(a->gfx_target_version, 90402);
    assert_int_equal(a->compute_units * a->simds_per_cu, 1216); /* simd_count of a real one */
    assert_int_equal(a->pci_device_id, 29857);
    assert_int_equal(a->pci_vendor_id, 4098);
    assert_int_equal(a->vgprs_per_simd * a->wave_size, 32768);
}

static void tells_products_apart(void **state)
{
    static const struct {
        const char *arch;
        uint32_t pci, cus, mclk;
        const char *product;
    } rows[] = {
        {"gfx942", 0x74a1, 304, 1300, "AMD Instinct MI300X"},
        {"gfx942", 0x74a0, 228, 1300, "AMD Instinct MI300A"},
        {"gfx942", 0x74a5, 0, 0, "AMD Instinct MI325X"},
        {"gfx942", 0x74a1, 38, 1300, "AMD Instinct MI300X"}, /* one XCD of a partitioned one */
        {"gfx942", 0x74b5, 304, 1300, "AMD Instinct MI300X VF"},
        {"gfx942", 0, 304, 1500, "AMD Instinct MI325X"},
        {"gfx942", 0, 304, 0, "AMD Instinct MI300X"},
        {"gfx942", 0, 228, 0, "AMD Instinct MI300A"},
        {"gfx942", 0, 80, 0, "AMD Instinct MI308X"},
        {"gfx942", 0xffff, 304, 1300, NULL},
        {"gfx942", 0, 0, 0, NULL},
        {"gfx90a", 0x740f, 104, 1600, "AMD Instinct MI210"},
        {"gfx90a", 0, 110, 0, "AMD Instinct MI250X"},
        {"gfx950", 0x75a3, 256, 0, "AMD Instinct MI355X"},
        {"gfx1030", 0x73bf, 72, 1000, "AMD Radeon RX 6800 XT"},
        {"gfx1030", 0x73bf, 60, 1000, "AMD Radeon RX 6800"},
        {"gfx1030", 0x73a3, 60, 1000, "AMD Radeon Pro W6800"},
        {"gfx908", 0, 120, 1200, "AMD Instinct MI100"},
        {"gfx1100", 0x744c, 84, 0, "AMD Radeon RX 7900 XT"},
        {"gfx1100", 0x744c, 84, 1249, "AMD Radeon RX 7900 XT"}, /* the clock is not quite ours */
        {"gfx1101", 0x747e, 54, 0, "AMD Radeon RX 7700 XT"},
        {"gfx1101", 0x7470, 0, 0, "AMD Radeon Pro W7700"},
        {"gfx1101", 0x747e, 0, 1300, "AMD Radeon RX 7800 XT"}, /* the first of that id */
        {"gfx1102", 0x7480, 32, 1125, "AMD Radeon RX 7600"},
        {"gfx1151", 0x1586, 32, 1000, "AMD Radeon 8050S Graphics"},
        {"gfx1200", 0x7590, 28, 0, "AMD Radeon RX 9060"},
        {"gfx1201", 0x7550, 56, 1258, "AMD Radeon RX 9070"},
        {"gfx1201", 0x7551, 64, 1250, "AMD Radeon AI PRO R9700"},
        {"gfx1250", 0, 256, 0, "AMD Instinct MI455X"},
        {"gfx1250", 0, 128, 0, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct rp_arch_product *p = rp_arch_product_find(
            rp_arch_find(rows[i].arch), rows[i].pci, rows[i].cus, rows[i].mclk);

        if (!rows[i].product)
            assert_null(p);
        else
            assert_string_equal(p->name, rows[i].product);
    }
    assert_null(rp_arch_product_find(NULL, 0x74a1, 304, 1300));
}

static void products_are_selected(void **state)
{
    /* Peaks: data sheets of AMD, in GB/s, to the two digits that they give. */
    static const struct {
        const char *spec, *gfx, *product;
        int rc;
        uint32_t compute_units;
        double peak_gbps;
    } rows[] = {
        {"gfx942", "gfx942", "AMD Instinct MI300X", 0, 304, 5300},
        {"GFX942:MI300A", "gfx942", "AMD Instinct MI300A", 0, 228, 5300},
        {"mi325x", "gfx942", "AMD Instinct MI325X", 0, 304, 6000},
        {"gfx942:mi300x-vf", "gfx942", "AMD Instinct MI300X VF", -ENODATA, 0, 0},
        {"gfx950:mi355x", "gfx950", "AMD Instinct MI355X", 0, 256, 7782},
        {"mi308x", "gfx942", "AMD Instinct MI308X", -ENODATA, 80, 0},
        {"MI250X", "gfx90a", "AMD Instinct MI250X", 0, 110, 1600},
        {"gfx90a:mi210", "gfx90a", "AMD Instinct MI210", 0, 104, 1600},
        {"mi100", "gfx908", "AMD Instinct MI100", -ENOTSUP, 120, 1230},
        {"radeon-rx-7900-xtx", "gfx1100", "AMD Radeon RX 7900 XTX", -ENOTSUP, 96, 960},
        {"radeon-ai-pro-r9700", "gfx1201", "AMD Radeon AI PRO R9700", -ENOTSUP, 64, 640},
        {"gfx1201", "gfx1201", "AMD Radeon RX 9070 XT", -ENOTSUP, 64, 640},
        {"gfx1200", "gfx1200", "AMD Radeon RX 9060 XT", -ENOTSUP, 32, 320},
        {"gfx1151", "gfx1151", "AMD Radeon 8060S Graphics", -ENOTSUP, 40, 256},
        {"gfx1102", "gfx1102", "AMD Radeon RX 7600", -ENOTSUP, 32, 288},
        {"gfx1101", "gfx1101", "AMD Radeon RX 7800 XT", -ENOTSUP, 60, 624},
        {"mi455x", "gfx1250", "AMD Instinct MI455X", -ENOTSUP, 256, 23300},
        {"gfx1251", NULL, NULL, -ENOENT, 0, 0},
        {NULL, "gfx942", "AMD Instinct MI300X", 0, 304, 5300},
        {"rx-6900", NULL, NULL, -ENOENT, 0, 0},
        {"gfx1030", "gfx1030", "AMD Radeon RX 6900 XT", -ENOTSUP, 80, 512},
        {"gfx942:mi210", NULL, NULL, -ENOENT, 0, 0},
        {"gfx942:", NULL, NULL, -ENOENT, 0, 0},
        {"gfx94", NULL, NULL, -ENOENT, 0, 0},
        {"", NULL, NULL, -ENOENT, 0, 0},
    };
    char choices[512];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rp_arch a;

        assert_int_equal(rp_arch_select(rows[i].spec, &a), rows[i].rc);
        if (!rows[i].gfx)
            continue;
        assert_string_equal(a.name, rows[i].gfx);
        assert_string_equal(a.product, rows[i].product);
        assert_int_equal(a.compute_units, rows[i].compute_units);
        if (rows[i].rc != -ENODATA)
            assert_true(a.hbm_peak_gbps > rows[i].peak_gbps * 0.98 &&
                        a.hbm_peak_gbps < rows[i].peak_gbps * 1.03);
    }
    assert_true(rp_arch_choices(RP_ARCH_SOFTWARE, choices, sizeof choices) < (int)sizeof choices);
    assert_non_null(strstr(choices, "gfx942:mi300x, gfx942:mi300a, gfx942:mi325x"));
    assert_null(strstr(choices, "vf"));
    assert_null(strstr(choices, "gfx1030"));
    assert_int_equal(rp_arch_choices(RP_ARCH_SOFTWARE, choices, 5),
                     (int)rp_arch_choices(RP_ARCH_SOFTWARE, NULL, 0));
    assert_string_equal(choices, "gfx9");
    rp_arch_choices(RP_ARCH_TIMED, choices, sizeof choices);
    assert_string_equal(choices, "gfx90a:mi250x, gfx90a:mi250, gfx90a:mi210, gfx942:mi300x, "
                                 "gfx942:mi300a, gfx942:mi325x, gfx950:mi350x, gfx950:mi355x");
    rp_arch_choices(RP_ARCH_ANY, choices, sizeof choices);
    assert_non_null(strstr(choices, ", gfx950:mi350x, gfx950:mi355x, gfx1030, gfx908, gfx1100, "
                                    "gfx1101, gfx1102, gfx1151, gfx1200, gfx1201, gfx1250"));
}

/* Of every product the software device can be: the word that makes it so. */
static void products_have_words(void **state)
{
    static const struct {
        const char *isa, *product;
    } none[] = {{"gfx942", "AMD Instinct MI399X"},    {"gfx942", ""},
                {"gfx942", "AMD Instinct MI210"},     {"", "AMD Instinct MI300X"},
                {"gfx1030", "AMD Radeon RX 6900 XT"}, {"gfx942", "MI300X"}};
    const struct rp_arch *const *all;
    unsigned count, found = 0;
    struct rp_arch a;
    char spec[64];

    (void)state;
    all = rp_arch_all(&count);
    for (unsigned i = 0; i < count; i++)
        for (uint32_t k = 0; k < all[i]->product_count; k++) {
            const char *product = all[i]->products[k].name;

            if (rp_arch_spec(all[i]->name, product, spec, sizeof spec) < 0)
                continue;
            found++;
            assert_int_equal(rp_arch_select(spec, &a), 0);
            assert_string_equal(a.name, all[i]->name);
            assert_string_equal(a.product, product);
        }
    assert_true(found >= 6);
    assert_int_equal(rp_arch_spec("gfx90a", "AMD Instinct MI250X", spec, sizeof spec), 0);
    assert_string_equal(spec, "gfx90a:mi250x");
    assert_true(rp_arch_spec("gfx90a", "AMD Instinct MI250X", spec, 8) < 0); /* no room */
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_true(rp_arch_spec(none[i].isa, none[i].product, spec, sizeof spec) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_selected),
        cmocka_unit_test(products_have_words),
        cmocka_unit_test(finds_every_spelling_of_a_name),
        cmocka_unit_test(every_row_is_listed_and_consistent),
        cmocka_unit_test(the_mi300x_is_the_one_the_driver_describes),
        cmocka_unit_test(a_lower_clock_slows_the_dies_alone),
        cmocka_unit_test(tells_products_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
