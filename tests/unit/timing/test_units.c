/* Counters of units through time: of records made by hand, of which the answer is known. */
#include "machine.h"

#include "arch/hardware_counters.h"
#include "device/exec/kernel_launch.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_counters.h"

enum { CUS = 304, DIES = 8, ENGINES = 32, SIMDS = 4 };

/* A watcher as exec's: every access that touches lines and takes longer than the L1 waits. */
struct watched {
    const struct made *made;
    struct rp_wave_meter meter;
};

static void issued(void *ctx, const struct rp_wave_placement *where, uint32_t step,
                   const struct rp_issue_times *times)
{
    struct watched *w = ctx;
    const struct rp_rec_wave *wave = &w->made->record->group[where->group].wave[where->wave];
    const struct rp_rec_code *code = &w->made->code[wave->step[step]];
    const bool memory = code->unit == RP_REC_VMEM;
    const uint32_t l1_clocks = rp_arch_find("gfx942")->timing->l1_clocks;
    rp_wave_meter_issued(&w->meter, where, where->xcc * (CUS / DIES) + where->cu, code, times,
                         memory, memory && times->done - times->issued > l1_clocks + 1);
}

static void wave_ends(void *ctx, const struct rp_wave_placement *where, uint64_t clock)
{
    (void)where;
    rp_wave_meter_ended(&((struct watched *)ctx)->meter, clock);
}

/* @p values may have counts of instructions. */
static void count(struct made *m, uint64_t *values)
{
    const struct rp_arch *arch = rp_arch_find("gfx942");
    struct watched w = {.made = m};
    const struct rp_engine_watch watch = {.ctx = &w, .issued = issued, .wave_ends = wave_ends};
    struct rp_timing_stats stats;
    assert_int_equal(rp_wave_meter_init(&w.meter, m->record, CUS), 0);
    m->record->code = m->code;
    m->record->code_count = m->codes;
    assert_int_equal(rp_engine_run(arch, m->record, &watch, &stats), 0);
    const struct rp_wave_sums sums = rp_wave_meter_end(&w.meter, arch, m->record);
    const struct rp_counts counts = {.waves = stats.waves, .wave_insts = stats.insts};
    rp_wave_counters(arch, &stats, &sums, &m->record->shape, &counts, values);
    rp_wave_meter_release(&w.meter);
}

static void between(const uint64_t *values, unsigned counter, uint64_t least, uint64_t most)
{
    if (values[counter] < least || values[counter] > most)
        fail_msg("counter %u is %llu, not %llu to %llu", counter,
                 (unsigned long long)values[counter], (unsigned long long)least,
                 (unsigned long long)most);
}

/*
 * One load after another, each of another line in memory. mt4g's report of an MI300X: 900 clocks to
 * memory, of which 288 are those to the L2 and back.
 */
static void a_chase_keeps_one_of_each_busy(void **state)
{
    (void)state;
    enum { LOADS = 500, TO_L2 = 288, TO_MEMORY = 900 };
    uint64_t values[RP_DEVICE_COUNTERS] = {0};
    struct made *m = made_new(1, 1);
    const uint32_t load = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15);
    const struct rp_rec_access a = {.flags = RP_REC_READS, .lane_bytes = 4, .lanes = 1};
    for (uint32_t i = 0; i < LOADS; i++) {
        made_access(made_wave(m, 0, 0), load, a, 1000 * (int64_t)(i + 1), 1);
        made_step(made_wave(m, 0, 0), wait);
    }
    count(m, values);
    assert_int_equal(values[RP_COUNTER_TCC_EA0_RDREQ_LEVEL], LOADS * (TO_MEMORY - TO_L2));
    assert_int_equal(values[RP_COUNTER_TCC_BUSY], LOADS * (TO_MEMORY - TO_L2));
    between(values, RP_COUNTER_TD_TD_BUSY, LOADS * TO_MEMORY, LOADS * (TO_MEMORY + 4));
    assert_int_equal(values[RP_COUNTER_TCP_PENDING_STALL_CYCLES], values[RP_COUNTER_TD_TD_BUSY]);
    assert_int_equal(values[RP_COUNTER_TCP_GATE_EN2], values[RP_COUNTER_TD_TD_BUSY]);
    assert_int_equal(values[RP_COUNTER_TA_TA_BUSY], LOADS); /* a lookup each */
    assert_int_equal(values[RP_COUNTER_TD_TC_STALL], values[RP_COUNTER_TD_TD_BUSY] - LOADS);
    /* The load and what waits for it are 8 bytes, to which the wave comes back. */
    assert_int_equal(values[RP_COUNTER_SQ_IFETCH], LOADS);
    assert_int_equal(values[RP_COUNTER_SQC_ICACHE_MISSES], 1);
    assert_int_equal(values[RP_COUNTER_SQC_ICACHE_HITS], LOADS - 1);
    assert_int_equal(values[RP_COUNTER_SPI_RA_RES_STALL_CSN], 0);
    made_free(m);
}

/* Loads of all waves of a CU at the same time are one interval, whatever their number. */
static void what_overlaps_is_busy_once(void **state)
{
    (void)state;
    uint64_t one[RP_DEVICE_COUNTERS] = {0}, many[RP_DEVICE_COUNTERS] = {0};
    for (uint32_t waves = 1; waves <= 8; waves += 7) {
        struct made *m = made_new(1, waves);
        const uint32_t load = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15);
        const struct rp_rec_access a = {.flags = RP_REC_READS, .lane_bytes = 4, .lanes = 1};
        for (uint32_t w = 0; w < waves; w++) {
            made_access(made_wave(m, 0, w), load, a, 1000 * (w + 1), 1);
            made_step(made_wave(m, 0, w), wait);
        }
        count(m, waves == 1 ? one : many);
        made_free(m);
    }
    between(many, RP_COUNTER_TD_TD_BUSY, one[RP_COUNTER_TD_TD_BUSY],
            one[RP_COUNTER_TD_TD_BUSY] + 40);
    /* Some come to the same channel. */
    const uint64_t eight = 8 * one[RP_COUNTER_TCC_EA0_RDREQ_LEVEL];
    between(many, RP_COUNTER_TCC_EA0_RDREQ_LEVEL, eight, eight + eight / 100);
    assert_int_equal(many[RP_COUNTER_TA_TA_BUSY], 8);
}

/* Eight waves want a line that none has: one asks for it, seven come while it is on its way. Then
 * they have it. */
static void late_requests_are_neither_hits_nor_misses(void **state)
{
    (void)state;
    uint64_t values[RP_DEVICE_COUNTERS] = {[RP_COUNTER_SQC_DCACHE_REQ] = 16};
    struct made *m = made_new(1, 8);
    const uint32_t load = made_memory(m, RP_REC_SMEM), wait = made_wait(m, 63, 0);
    const struct rp_rec_access a = {
        .flags = RP_REC_READS, .space = RP_REC_SCALAR, .lane_bytes = 4, .lanes = 1};
    for (uint32_t w = 0; w < 8; w++)
        for (unsigned round = 0; round < 2; round++) {
            made_access(made_wave(m, 0, w), load, a, 77, 1);
            made_step(made_wave(m, 0, w), wait);
        }
    count(m, values);
    assert_int_equal(values[RP_COUNTER_SQC_DCACHE_MISSES_DUPLICATE], 7);
    assert_int_equal(values[RP_COUNTER_SQC_DCACHE_HITS], 8);
    assert_int_equal(values[RP_COUNTER_SQC_DCACHE_INFLIGHT_LEVEL],
                     values[RP_COUNTER_SQ_INST_LEVEL_SMEM]);
    /* Code: 16 bytes of one line, which eight waves want at once. */
    assert_int_equal(values[RP_COUNTER_SQC_ICACHE_MISSES], 1);
    assert_int_equal(values[RP_COUNTER_SQC_ICACHE_MISSES_DUPLICATE], 7);
    made_free(m);
}

/* One workgroup to a CU, and one more for each die: it waits for the first to end. */
static void workgroups_wait_for_room(void **state)
{
    (void)state;
    enum { STEPS = 2000, CLOCKS = 4 * STEPS, LAUNCH = CUS / DIES, SLACK = 330 /* first fetch */ };
    static const struct {
        uint8_t limit;
        unsigned counter, units;
    } cases[] = {
        {RP_REC_BY_SLOTS, RP_COUNTER_SPI_RA_WAVE_SIMD_FULL_CSN, CUS * SIMDS},
        {RP_REC_BY_VGPRS, RP_COUNTER_SPI_RA_VGPR_SIMD_FULL_CSN, CUS * SIMDS},
        {RP_REC_BY_SGPRS, RP_COUNTER_SPI_RA_SGPR_SIMD_FULL_CSN, CUS * SIMDS},
        {RP_REC_BY_LDS, RP_COUNTER_SPI_RA_LDS_CU_FULL_CSN, CUS},
        {RP_REC_BY_BARRIERS, RP_COUNTER_SPI_RA_BAR_CU_FULL_CSN, CUS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t values[RP_DEVICE_COUNTERS] = {0};
        const struct rp_rec_plan plan = {
            .group_count = CUS + DIES, .count = CUS + DIES, .stride = 1};
        struct made *m = made_planned(&plan, 1, 1);
        const uint32_t valu = made_valu(m, 4);
        m->record->shape.limits = cases[i].limit;
        for (uint64_t g = 0; g < CUS + DIES; g++)
            for (uint32_t k = 0; k < STEPS; k++)
                made_step(made_wave(m, g, 0), valu);
        count(m, values);
        between(values, RP_COUNTER_SPI_RA_RES_STALL_CSN, ENGINES * (CLOCKS - LAUNCH),
                ENGINES * (CLOCKS - LAUNCH + SLACK));
        assert_int_equal(values[RP_COUNTER_SPI_RA_REQ_NO_ALLOC_CSN],
                         values[RP_COUNTER_SPI_RA_RES_STALL_CSN]);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            assert_int_equal(values[cases[k].counter] * ENGINES,
                             k == i ? values[RP_COUNTER_SPI_RA_RES_STALL_CSN] * cases[k].units : 0);
        made_free(m);
    }
}

/* Sixteen waves at an LDS that takes 64 clocks for each: 15 of 16 wait, and for nothing else. */
static void waits_are_told_apart_by_unit(void **state)
{
    (void)state;
    enum { WAVES = 16, COUNT = 100, CLOCKS = 64 };
    uint64_t values[RP_DEVICE_COUNTERS] = {0};
    struct made *m = made_new(1, WAVES);
    const uint32_t lds = made_memory(m, RP_REC_LDS);
    const struct rp_rec_access a = {
        .flags = RP_REC_READS, .space = RP_REC_SHARED, .lane_bytes = 4, .lds_clocks = CLOCKS};
    for (uint32_t w = 0; w < WAVES; w++)
        for (uint32_t i = 0; i < COUNT; i++)
            made_access(made_wave(m, 0, w), lds, a, -1, 0);
    count(m, values);
    assert_int_equal(values[RP_COUNTER_SQ_WAIT_INST_LDS], values[RP_COUNTER_SQ_WAIT_INST_ANY]);
    /* Each wave lasts as long as all, of which it issues 4 clocks in COUNT turns. */
    const uint64_t quads = (uint64_t)WAVES * (WAVES * COUNT * CLOCKS - 4 * COUNT) / 4;
    between(values, RP_COUNTER_SQ_WAIT_INST_LDS, quads * 90 / 100, quads);
    assert_int_equal(values[RP_COUNTER_TD_TD_BUSY], 0);
    made_free(m);

    m = made_new(1, WAVES);
    const uint32_t valu = made_valu(m, 16);
    for (uint32_t w = 0; w < WAVES; w++)
        for (uint32_t i = 0; i < COUNT; i++)
            made_step(made_wave(m, 0, w), valu);
    count(m, values);
    assert_true(values[RP_COUNTER_SQ_WAIT_INST_ANY] > 0);
    assert_int_equal(values[RP_COUNTER_SQ_WAIT_INST_LDS], 0);
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chase_keeps_one_of_each_busy),
        cmocka_unit_test(what_overlaps_is_busy_once),
        cmocka_unit_test(late_requests_are_neither_hits_nor_misses),
        cmocka_unit_test(workgroups_wait_for_room),
        cmocka_unit_test(waits_are_told_apart_by_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
