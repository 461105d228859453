/* The timing model's arithmetic against values worked out by hand for MI300X. */
#include "arch/arch.h"
#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_engine.h"
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

/* A simulation that ended at once, of a quarter of the workgroups. */
static struct rp_timing_stats quarter(void)
{
    return (struct rp_timing_stats){.group_count = 10000,
                                    .groups = 2500,
                                    .waves = 2500,
                                    .insts = 2500 * 100,
                                    .clocks = 1,
                                    .sampled = true};
}

static const struct rp_counts all_of_it = {.waves = 10000, .wave_insts = 10000 * 100};

/* Only this resource is used: it takes these clocks, and so does the dispatch. */
static void takes(enum rp_timing_floor resource, const struct rp_counts *c,
                  const struct rp_timing_stats *s, double clocks)
{
    const struct rp_arch *arch = mi300x();
    const double all = clocks + arch->timing->launch_clocks;
    const uint64_t expect = (uint64_t)(all / arch->engine_clock_mhz * arch->timestamp_mhz);
    for (unsigned i = 0; i < RP_FLOORS; i++)
        if (i == (unsigned)resource)
            assert_true(rp_timing_floor_clocks(arch, c, s, resource) > clocks - 0.5 &&
                        rp_timing_floor_clocks(arch, c, s, resource) < clocks + 0.5);
        else
            assert_true(rp_timing_floor_clocks(arch, c, s, (enum rp_timing_floor)i) == 0);
    assert_in_range(rp_timing_simulated_ticks(arch, c, s), expect, expect + 2);
}

static void memory_takes_what_is_asked_of_it(void **state)
{
    (void)state;
    const enum rp_level level[] = {RP_LEVEL_HBM, RP_LEVEL_MALL, RP_LEVEL_L2};
    const enum rp_timing_floor resource[] = {RP_FLOOR_HBM, RP_FLOOR_MALL, RP_FLOOR_L2};
    for (unsigned i = 0; i < 3; i++) {
        struct rp_timing_stats s = quarter();
        s.level_clocks[level[i]] = 2100000;
        takes(resource[i], &all_of_it, &s, 2100000);
    }
}

/* 304 compute units of 4 SIMDs. */
static void units_take_what_their_work_takes(void **state)
{
    (void)state;
    struct rp_timing_stats s = quarter();
    s.level[RP_LEVEL_L1].busy_clocks = 304 * 100000;
    takes(RP_FLOOR_L1, &all_of_it, &s, 400000);
    s = quarter();
    s.level[RP_LEVEL_SCALAR_L1].busy_clocks = 160 * 100000; /* 20 of each die */
    takes(RP_FLOOR_SCALAR, &all_of_it, &s, 400000);
    s = quarter();
    s.lds_busy_clocks = 304 * 100000; /* conflicts are among these */
    takes(RP_FLOOR_LDS, &all_of_it, &s, 400000);
    s = quarter();
    s.port_clocks[RP_REC_VALU] = 1216 * 100000;
    takes(RP_FLOOR_VALU, &all_of_it, &s, 400000);
    s.half_clocks = 1216 * 50000; /* of both halves of each SIMD together */
    takes(RP_FLOOR_VALU, &all_of_it, &s, 500000);
    s = quarter();
    s.port_clocks[RP_REC_MFMA] = 1216 * 100000;
    takes(RP_FLOOR_MATRIX, &all_of_it, &s, 400000);
}

static void few_workgroups_use_few_units(void **state)
{
    (void)state;
    struct rp_counts c = {.waves = 2, .wave_insts = 20};
    struct rp_timing_stats s = {.group_count = 2, .waves = 2, .insts = 20, .clocks = 1};
    s.lds_busy_clocks = 200000;
    takes(RP_FLOOR_LDS, &c, &s, 100000);
    s.lds_busy_clocks = 0;
    s.port_clocks[RP_REC_VALU] = 200000;
    takes(RP_FLOOR_VALU, &c, &s, 100000);
}

/* Exact counts of the dispatch, whatever was sampled of it. */
static void exact_counts_bound_every_dispatch(void **state)
{
    (void)state;
    const struct rp_timing_stats s = quarter();
    struct rp_counts c = all_of_it;
    c.read_bytes = 304ull * 64 * 300000;
    c.write_bytes = 304ull * 64 * 200000;
    takes(RP_FLOOR_L1_BYTES, &c, &s, 300000);
    c = all_of_it;
    c.max_wave_cycles = 500000;
    takes(RP_FLOOR_WAVE, &c, &s, 500000);
    struct rp_timing_stats matrix = s; /* 6e8 of 8e8: the rest fits beside them */
    matrix.port_clocks[RP_REC_MFMA] = 150000000;
    c.issue_cycles = 800000000;
    const double clocks = rp_timing_floor_clocks(mi300x(), &c, &matrix, RP_FLOOR_WAVE);
    assert_true(clocks > 374999 && clocks < 375001);
    c = all_of_it;
    c.link_bytes[RP_PLACE_HOST][0] = 57600000;
    takes(RP_FLOOR_HOST_LINK, &c, &s, 2100000);
    c = all_of_it;
    c.link_bytes[RP_PLACE_PEER][1] = 48000000;
    takes(RP_FLOOR_PEER_LINK, &c, &s, 2100000);
}

static void atomics_on_a_line_follow_one_another(void **state)
{
    (void)state;
    struct rp_timing_stats s = quarter();
    s.atomic_clocks = 640000;
    takes(RP_FLOOR_ATOMICS, &all_of_it, &s, 640000);
}

/* Where waves that were not sampled did less, or more, the lower estimate is a floor. */
static void a_floor_is_not_above_the_truth(void **state)
{
    (void)state;
    struct rp_timing_stats s = quarter();
    struct rp_counts c = all_of_it;
    s.port_clocks[RP_REC_VALU] = 1216 * 100000;
    c.wave_insts = 2 * s.insts;
    takes(RP_FLOOR_VALU, &c, &s, 200000);
    c.wave_insts = 20 * s.insts;
    takes(RP_FLOOR_VALU, &c, &s, 400000);
    s.sampled = false; /* All is known. */
    takes(RP_FLOOR_VALU, &c, &s, 100000);
}

/* What a dispatch needs if it has all of a resource, which others share. */
static void needs_are_of_the_whole_device(void **state)
{
    (void)state;
    struct rp_timing_stats s = quarter();
    struct rp_counts c = all_of_it;
    double ns[RP_SHARED_RESOURCES];
    s.level_clocks[RP_LEVEL_HBM] = 2100;
    s.level_clocks[RP_LEVEL_MALL] = 4200;
    s.level_clocks[RP_LEVEL_L2] = 6300;
    s.lds_busy_clocks = 304 * 2100;
    s.port_clocks[RP_REC_VALU] = 1216 * 4200;
    s.port_clocks[RP_REC_MFMA] = 1216 * 6300;
    s.wave_clocks = 304 * 8 * 2100;
    c.link_bytes[RP_PLACE_HOST][0] = 57600;
    c.link_bytes[RP_PLACE_HOST][1] = 115200;
    rp_timing_needs(mi300x(), &c, &s, 8, ns);
    const double expected[RP_SHARED_RESOURCES] = {
        [RP_SHARED_ROOM] = 4000,    [RP_SHARED_HBM] = 1000,       [RP_SHARED_MALL] = 2000,
        [RP_SHARED_L2] = 3000,      [RP_SHARED_LDS] = 4000,       [RP_SHARED_VALU] = 8000,
        [RP_SHARED_MATRIX] = 12000, [RP_SHARED_FROM_HOST] = 1000, [RP_SHARED_TO_HOST] = 2000,
    };
    for (unsigned i = 0; i < RP_SHARED_RESOURCES; i++)
        if (!(ns[i] > expected[i] - 0.5 && ns[i] < expected[i] + 0.5))
            fail_msg("resource %u: %g ns", i, ns[i]);
}

/* The ends of the interval in clocks, without the launch, which is in both. */
static void ends(const struct rp_counts *c, const uint64_t *counters, uint64_t groups,
                 double ret_clocks[2])
{
    const struct rp_arch *arch = mi300x();
    uint64_t ticks[2];
    rp_timing_bounds(arch, c, counters, groups, &ticks[0], &ticks[1]);
    assert_true(ticks[0] >= 1 && ticks[0] < ticks[1]);
    for (unsigned i = 0; i < 2; i++)
        ret_clocks[i] = (double)ticks[i] * arch->engine_clock_mhz / arch->timestamp_mhz -
                        arch->timing->launch_clocks;
}

static void is_near(double clocks, double expected)
{
    if (clocks < expected - 50 || clocks > expected + 50) /* ticks are of 21 clocks */
        fail_msg("%.0f clocks, expected %.0f", clocks, expected);
}

/* What is surely needed, each resource by itself. */
static void the_lower_end_is_what_is_surely_needed(void **state)
{
    (void)state;
    uint64_t counters[RP_DEVICE_COUNTERS] = {0};
    const struct rp_counts none = {.waves = 10000};
    struct rp_counts c = none;
    double clocks[2];
    c.max_wave_cycles = c.issue_cycles = 300000; /* of three kinds that may overlap */
    ends(&c, NULL, 2500, clocks);
    is_near(clocks[0], 100000);
    c = none;
    c.wave_insts = 1216 * 8 * 25000ull; /* 8 waves of each SIMD, 4 clocks each */
    ends(&c, NULL, 2500, clocks);
    is_near(clocks[0], 100000);
    c = none;
    c.read_bytes = 304ull * 64 * 100000;
    ends(&c, NULL, 2500, clocks);
    is_near(clocks[0], 100000);
    c = none;
    c.lds_bytes = 304ull * 128 * 100000;
    ends(&c, NULL, 2500, clocks);
    is_near(clocks[0], 100000);
    c = none;
    c.issue_cycles = 1216 * 300000;
    counters[RP_COUNTER_SQ_ACTIVE_INST_VALU] = 1216 * 25000;
    ends(&c, counters, 2500, clocks);
    is_near(clocks[0], 100000);
    counters[RP_COUNTER_SQ_INSTS_VALU_FMA_F32] = 1216 * 20000; /* two at once, perhaps */
    ends(&c, counters, 2500, clocks);
    is_near(clocks[0], 60000);
    counters[RP_COUNTER_SQ_VALU_MFMA_BUSY_CYCLES] = 1216 * 200000;
    ends(&c, counters, 2500, clocks);
    is_near(clocks[0], 200000);
    c.issue_cycles = 1216 * 150000; /* The rest was a loop that polled. */
    ends(&c, counters, 2500, clocks);
    is_near(clocks[0], 150000);
    c = none;
    c.wave_insts = counters[RP_COUNTER_SQC_DCACHE_REQ] = 160 * 100000; /* a line each */
    ends(&c, counters, 2500, clocks);
    is_near(clocks[0], 100000);
}

/* Counters say how many of the instructions wait for memory: 10 of 1000 of each of 1216 waves. */
static void at_the_upper_end_nothing_overlaps(void **state)
{
    (void)state;
    const struct rp_counts c = {.waves = 1216,
                                .wave_insts = 1216 * 1000,
                                .issue_cycles = 1216 * 4000,
                                .max_wave_cycles = 4000,
                                .read_bytes = 1216 * 1000 * 256};
    uint64_t counters[RP_DEVICE_COUNTERS] = {0};
    const struct rp_arch *arch = mi300x();
    double without[2], with[2];
    counters[RP_COUNTER_SQ_INSTS_VMEM_RD] = 1216 * 10;
    ends(&c, NULL, 304, without);
    ends(&c, counters, 304, with);
    const double wave =
        4000 + arch->timing->code_clocks * 1000 / 16.0 + (arch->hbm_latency_cycles + 64) * 10;
    const double gbps = arch->hbm_peak_gbps * arch->hbm_efficiency;
    const double memory = 1216 * 10 * 64 * 128.0 / (gbps * 1e3 / arch->engine_clock_mhz);
    const double all = wave * (2 - 1 / 1216.0) + memory + arch->hbm_latency_cycles;
    is_near(with[1], all);
    assert_true(without[1] > 50 * with[1]);
}

/* All lanes of all atomics may mean the same dword. */
static void atomics_may_all_meet(void **state)
{
    (void)state;
    struct rp_counts c = {.waves = 1, .wave_insts = 1000, .issue_cycles = 4000};
    uint64_t counters[RP_DEVICE_COUNTERS] = {0};
    double none[2], some[2];
    c.read_bytes = c.write_bytes = 1000 * 256;
    counters[RP_COUNTER_SQ_INSTS_VMEM_RD] = 1000;
    ends(&c, counters, 1, none);
    counters[RP_COUNTER_TA_FLAT_ATOMIC_WAVEFRONTS] = 1000;
    ends(&c, counters, 1, some);
    assert_true(some[1] - none[1] > 64000);
}

/* Nothing is known of its caches, so less is surely needed; latencies are the memory's. */
static void a_machine_without_detailed_timing_has_bounds(void **state)
{
    (void)state;
    struct rp_arch unknown = *mi300x();
    const struct rp_counts c = {.waves = 1, .wave_insts = 1000, .issue_cycles = 4000};
    uint64_t low[2], high[2];
    rp_timing_bounds(mi300x(), &c, NULL, 1, &low[0], &high[0]);
    unknown.timing = NULL;
    rp_timing_bounds(&unknown, &c, NULL, 1, &low[1], &high[1]);
    assert_true(low[1] >= 1 && low[1] < low[0] && high[1] > high[0]);
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
        cmocka_unit_test(nothing_still_takes_time),
        cmocka_unit_test(one_long_wave_decides),
        cmocka_unit_test(issue_is_shared_by_the_simds),
        cmocka_unit_test(bytes_take_bandwidth),
        cmocka_unit_test(every_class_has_a_cost),
        cmocka_unit_test(links_take_bandwidth),
        cmocka_unit_test(memory_takes_what_is_asked_of_it),
        cmocka_unit_test(units_take_what_their_work_takes),
        cmocka_unit_test(few_workgroups_use_few_units),
        cmocka_unit_test(exact_counts_bound_every_dispatch),
        cmocka_unit_test(atomics_on_a_line_follow_one_another),
        cmocka_unit_test(a_floor_is_not_above_the_truth),
        cmocka_unit_test(needs_are_of_the_whole_device),
        cmocka_unit_test(the_lower_end_is_what_is_surely_needed),
        cmocka_unit_test(at_the_upper_end_nothing_overlaps),
        cmocka_unit_test(atomics_may_all_meet),
        cmocka_unit_test(a_machine_without_detailed_timing_has_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
