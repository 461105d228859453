/* Counters of units through time, and the cache model: of records made by hand, of which the answer
 * is known. */
#include "unit/timing/machine.h"

#include "arch/arch.h"
#include "device/exec/kernel_launch.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_counters.c"

enum { CUS = 304, DIES = 8, ENGINES = 32, SIMDS = 4 };

/* A watcher as exec's: every access that touches lines and takes longer than the L1 waits. */
struct watched {
    const struct made *made;
    struct wave_meter meter;
};

static void issued(void *ctx, const struct rp_wave_placement *where, uint32_t step,
                   const struct rp_issue_times *times)
{
    struct watched *w = ctx;
    const struct rp_rec_wave *wave = &w->made->record->group[where->group].wave[where->wave];
    const struct rp_rec_code *code = &w->made->code[wave->step[step]];
    const bool memory = code->unit == RP_REC_VMEM;
    const uint32_t l1_clocks = rp_arch_find("gfx942")->timing->l1_clocks;
    meter_issued(&w->meter, where, where->xcc * (CUS / DIES) + where->cu, code, times, memory,
                 memory && times->done - times->issued > l1_clocks + 1);
}

static void wave_ends(void *ctx, const struct rp_wave_placement *where, uint64_t clock)
{
    (void)where;
    meter_ended(&((struct watched *)ctx)->meter, clock);
}

/* @p values may have counts of instructions. */
static void count(struct made *m, uint64_t *values)
{
    const struct rp_arch *arch = rp_arch_find("gfx942");
    struct watched w = {.made = m};
    const struct rp_engine_watch watch = {.ctx = &w, .issued = issued, .wave_ends = wave_ends};
    struct rp_timing_stats stats;
    assert_int_equal(meter_init(&w.meter, m->record, CUS), 0);
    m->record->code = m->code;
    m->record->code_count = m->codes;
    assert_int_equal(rp_engine_run(arch, m->record, &watch, &stats), 0);
    const struct rp_wave_sums sums = meter_end(&w.meter, arch, m->record);
    const struct rp_counts counts = {.waves = stats.waves, .wave_insts = stats.insts};
    rp_wave_counters(arch, &stats, &sums, &m->record->shape, &counts, values);
    meter_release(&w.meter);
}

static void between(const uint64_t *values, unsigned counter, uint64_t least, uint64_t most)
{
    if (values[counter] < least || values[counter] > most)
        fail_msg("counter %u is %llu, not %llu to %llu", counter,
                 (unsigned long long)values[counter], (unsigned long long)least,
                 (unsigned long long)most);
}

/*
 * One load after another, each of another line in memory. An MI300X takes 900 clocks to memory, of
 * which 209 are those to the L2 and back.
 */
static void a_chase_keeps_one_of_each_busy(void **state)
{
    (void)state;
    enum { LOADS = 500, TO_L2 = 209, TO_MEMORY = 900 };
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

/* ---- caches: what gives way, what is written back, who shares ---- */

enum { LINES = 128 };

/* Two dies of one CU each. */
static const struct cache_shape shape = {
    .dies = 2,
    .cus_per_die = 1,
    .scalar_caches_per_die = 1,
    .l1_lines = 16,
    .l1_ways = 4,
    .scalar_lines = 8,
    .scalar_ways = 4,
    .l2_lines = 64,
    .l2_ways = 16,
    .read_bytes = 128,
};

/* Groups of one wave, which accesses LINES lines one after the other, so many times over. */
static struct rp_wave_record *record_of(uint64_t groups, uint32_t lines, unsigned times,
                                        uint8_t flags, unsigned sectors)
{
    const struct rp_rec_plan plan = {
        .group_count = groups, .stride = 1, .count = groups, .steps_limit = 1 << 20};
    const struct rp_rec_shape room = {.waves_per_group = 1, .groups_per_cu = 1};
    struct rp_wave_record *r = rp_record_new(&plan, &room);
    assert_non_null(r);
    for (uint64_t g = 0; g < groups; g++) {
        assert_true(rp_rec_begin(&r->group[g], 1, UINT32_MAX));
        struct rp_rec_wave *w = &r->group[g].wave[0];
        for (unsigned i = 0; i < lines * times; i++) {
            assert_true(rp_rec_grow(w, 0, 1, 1));
            w->access[w->access_count++] = (struct rp_rec_access){.first_line = w->line_count,
                                                                  .line_count = 1,
                                                                  .lanes = 64,
                                                                  .lane_bytes = 4,
                                                                  .flags = flags};
            w->line[w->line_count++] = (struct rp_rec_line){
                .number = 1024 + i % lines, .sectors = sectors & 15, .lanes = 32};
        }
    }
    return r;
}

static struct rp_cache_result cached(struct rp_wave_record *r)
{
    struct rp_cache_result result;
    assert_int_equal(run_turns(&shape, r, &result), 0);
    rp_record_free(r);
    return result;
}

static void stores_are_written_back(void **state)
{
    (void)state;
    /* 128 whole lines into an L2 of 64: half of them make room for the others. */
    struct rp_cache_result r = cached(record_of(1, LINES, 1, RP_REC_WRITES, 0xf));
    assert_int_equal(r.of[RP_CACHE_STORE].requests, 2 * LINES);
    assert_int_equal(r.of[RP_CACHE_STORE].misses, LINES);
    assert_int_equal(r.of[RP_CACHE_STORE].hits, LINES); /* the second half of each line */
    assert_int_equal(r.evicted_lines, LINES - 64);
    assert_int_equal(r.flushed_lines, 64);
    assert_int_equal(r.writes_64, 2 * LINES);
    assert_int_equal(r.writes_32, 0);
    assert_int_equal(r.of[RP_CACHE_STORE].reads_128 + r.of[RP_CACHE_STORE].reads_64, 0);
    /* A sector of 32 bytes each. */
    r = cached(record_of(1, 16, 3, RP_REC_WRITES, 0x4));
    assert_int_equal(r.of[RP_CACHE_STORE].requests, 3 * 16);
    assert_int_equal(r.writes_64, 0);
    assert_int_equal(r.writes_32, 16);
}

static void loads_hit_where_they_fit(void **state)
{
    (void)state;
    /* 16 lines fit into the vector L1, 32 into the L2 only, 128 into neither. */
    struct rp_cache_result r = cached(record_of(1, 16, 5, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].lookups, 5 * 16 * 2);
    r = cached(record_of(1, 32, 5, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 5 * 32);
    assert_int_equal(r.of[RP_CACHE_LOAD].hits, 4 * 32);
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 32);
    r = cached(record_of(1, LINES, 5, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 5 * LINES);
    /* Past the vector L1. */
    r = cached(record_of(1, 16, 5, RP_REC_READS | RP_REC_PAST_L1, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 5 * 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 16);
}

static void dies_share_nothing(void **state)
{
    (void)state;
    /* Groups 0 and 2 come to one die, one after the other; 1 to the other. */
    struct rp_cache_result r = cached(record_of(3, 16, 1, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].insts, 3 * 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 2 * 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 2 * 16);
}

static void atomics_fetch_what_they_change(void **state)
{
    (void)state;
    struct rp_cache_result r = cached(record_of(1, 16, 3, RP_REC_WRITES | RP_REC_ATOMIC, 0x1));
    assert_int_equal(r.of[RP_CACHE_ATOMIC].requests, 3 * 16);
    assert_int_equal(r.of[RP_CACHE_ATOMIC].misses, 16);
    assert_int_equal(r.of[RP_CACHE_ATOMIC].reads_64, 16);
    assert_int_equal(r.writes_32, 16);
    r = cached(record_of(1, 16, 3, RP_REC_WRITES | RP_REC_ATOMIC | RP_REC_READS, 0x1));
    assert_int_equal(r.of[RP_CACHE_FETCH].requests, 3 * 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chase_keeps_one_of_each_busy),
        cmocka_unit_test(what_overlaps_is_busy_once),
        cmocka_unit_test(late_requests_are_neither_hits_nor_misses),
        cmocka_unit_test(workgroups_wait_for_room),
        cmocka_unit_test(waits_are_told_apart_by_unit),
        cmocka_unit_test(stores_are_written_back),
        cmocka_unit_test(loads_hit_where_they_fit),
        cmocka_unit_test(dies_share_nothing),
        cmocka_unit_test(atomics_fetch_what_they_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
