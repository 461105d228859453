/* The timing model's arithmetic against values worked out by hand for MI300X. */
#include "arch/arch.h"
#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_model.h"

#include "unit/cmocka_all.h"

static const struct rp_arch *mi300x(void)
{
    const struct rp_arch *arch = rp_arch_find("gfx942");
    assert_non_null(arch);
    return arch;
}

/* Ticks without the latency that every dispatch pays. */
static uint64_t ticks(const struct rp_counts *c)
{
    struct rp_counts none = {0};
    return rp_timing_dispatch_ticks(mi300x(), c) - rp_timing_dispatch_ticks(mi300x(), &none);
}

static void nothing_still_takes_time(void **state)
{
    (void)state;
    struct rp_counts none = {0};
    uint64_t t = rp_timing_dispatch_ticks(mi300x(), &none);
    assert_in_range(t, 1, 100); /* below a microsecond of 100 MHz ticks */
}

static void one_long_wave_decides(void **state)
{
    (void)state;
    struct rp_counts c = {.waves = 1, .issue_cycles = 2100000, .max_wave_cycles = 2100000};
    assert_in_range(ticks(&c), 99999, 100001); /* 1 ms at 2100 MHz */
    c.waves = 1216;
    c.issue_cycles *= 1216; /* a second wave on every SIMD costs nothing more */
    assert_in_range(ticks(&c), 99999, 100001);
}

static void issue_is_shared_by_the_simds(void **state)
{
    (void)state;
    struct rp_counts c = {
        .waves = 2432, .issue_cycles = 2100000ull * 2432, .max_wave_cycles = 2100000};
    assert_in_range(ticks(&c), 199999, 200001);
}

static void bytes_take_bandwidth(void **state)
{
    (void)state;
    const struct rp_arch *arch = mi300x();
    double efficiency = arch->hbm_efficiency > 0 ? arch->hbm_efficiency : 0.75;
    struct rp_counts c = {
        .waves = 10000, .issue_cycles = 1, .read_bytes = 4000000000, .write_bytes = 1000000000};
    double expect = 5e9 / (arch->hbm_peak_gbps * 1e9 * efficiency) * 1e8;
    assert_in_range(ticks(&c), (uint64_t)expect - 1, (uint64_t)expect + 1);
    c.read_bytes *= 2;
    c.write_bytes *= 2;
    assert_in_range(ticks(&c), (uint64_t)(2 * expect) - 1, (uint64_t)(2 * expect) + 1);
}

/* PCIe 5.0 x16 and one xGMI link of an MI300X, each direction by itself. */
static void links_take_bandwidth(void **state)
{
    (void)state;
    const struct {
        enum rp_memory_location place;
        uint64_t read, written;
        double gbps;
    } cases[] = {{RP_PLACE_HOST, 576000000, 0, 57.6},
                 {RP_PLACE_HOST, 576000000, 500000000, 57.6},
                 {RP_PLACE_HOST, 1000, 1152000000, 57.6},
                 {RP_PLACE_PEER, 480000000, 480000000, 48.0},
                 {RP_PLACE_PEER, 0, 960000000, 48.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_counts c = {.waves = 10000, .issue_cycles = 1};
        c.link_bytes[cases[i].place][0] = cases[i].read;
        c.link_bytes[cases[i].place][1] = cases[i].written;
        c.read_bytes = cases[i].read;
        c.write_bytes = cases[i].written;
        uint64_t more = cases[i].read > cases[i].written ? cases[i].read : cases[i].written;
        double expect = (double)more / (cases[i].gbps * 1e9) * 1e8;
        assert_in_range(ticks(&c), (uint64_t)expect - 1, (uint64_t)expect + 1);
    }
    struct rp_arch apu = *mi300x(); /* its processor's memory is its own */
    struct rp_counts c = {.waves = 1}, far = c;
    apu.apu = true;
    far.link_bytes[RP_PLACE_HOST][0] = 1000000000;
    assert_int_equal(rp_timing_dispatch_ticks(&apu, &far), rp_timing_dispatch_ticks(&apu, &c));
}

static void every_class_has_a_cost(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RP_COST_MAX; i++)
        assert_true(rp_cost_cycles[i] >= 4 && rp_cost_cycles[i] % 4 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_still_takes_time),     cmocka_unit_test(one_long_wave_decides),
        cmocka_unit_test(issue_is_shared_by_the_simds), cmocka_unit_test(bytes_take_bandwidth),
        cmocka_unit_test(every_class_has_a_cost),       cmocka_unit_test(links_take_bandwidth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
