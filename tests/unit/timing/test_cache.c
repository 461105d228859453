/* The cache model on records made by hand: what gives way, what is written back, who shares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/timing/timing_counters.h"

enum { LINES = 128 };

/* Two dies of one CU each. */
static const struct rp_cache_shape shape = {
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

static struct rp_cache_result run(struct rp_wave_record *r)
{
    struct rp_cache_result result;
    assert_int_equal(rp_cache_run(&shape, r, &result), 0);
    rp_record_free(r);
    return result;
}

static void stores_are_written_back(void **state)
{
    (void)state;
    /* 128 whole lines into an L2 of 64: half of them make room for the others. */
    struct rp_cache_result r = run(record_of(1, LINES, 1, RP_REC_WRITES, 0xf));
    assert_int_equal(r.of[RP_CACHE_STORE].requests, 2 * LINES);
    assert_int_equal(r.of[RP_CACHE_STORE].misses, LINES);
    assert_int_equal(r.of[RP_CACHE_STORE].hits, LINES); /* the second half of each line */
    assert_int_equal(r.evicted_lines, LINES - 64);
    assert_int_equal(r.flushed_lines, 64);
    assert_int_equal(r.writes_64, 2 * LINES);
    assert_int_equal(r.writes_32, 0);
    assert_int_equal(r.of[RP_CACHE_STORE].reads_128 + r.of[RP_CACHE_STORE].reads_64, 0);
    /* A sector of 32 bytes each. */
    r = run(record_of(1, 16, 3, RP_REC_WRITES, 0x4));
    assert_int_equal(r.of[RP_CACHE_STORE].requests, 3 * 16);
    assert_int_equal(r.writes_64, 0);
    assert_int_equal(r.writes_32, 16);
}

static void loads_hit_where_they_fit(void **state)
{
    (void)state;
    /* 16 lines fit into the vector L1, 32 into the L2 only, 128 into neither. */
    struct rp_cache_result r = run(record_of(1, 16, 5, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].lookups, 5 * 16 * 2);
    r = run(record_of(1, 32, 5, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 5 * 32);
    assert_int_equal(r.of[RP_CACHE_LOAD].hits, 4 * 32);
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 32);
    r = run(record_of(1, LINES, 5, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 5 * LINES);
    /* Past the vector L1. */
    r = run(record_of(1, 16, 5, RP_REC_READS | RP_REC_PAST_L1, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 5 * 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 16);
}

static void dies_share_nothing(void **state)
{
    (void)state;
    /* Groups 0 and 2 come to one die, one after the other; 1 to the other. */
    struct rp_cache_result r = run(record_of(3, 16, 1, RP_REC_READS, 0xf));
    assert_int_equal(r.of[RP_CACHE_LOAD].insts, 3 * 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].requests, 2 * 16);
    assert_int_equal(r.of[RP_CACHE_LOAD].reads_128, 2 * 16);
}

static void atomics_fetch_what_they_change(void **state)
{
    (void)state;
    struct rp_cache_result r = run(record_of(1, 16, 3, RP_REC_WRITES | RP_REC_ATOMIC, 0x1));
    assert_int_equal(r.of[RP_CACHE_ATOMIC].requests, 3 * 16);
    assert_int_equal(r.of[RP_CACHE_ATOMIC].misses, 16);
    assert_int_equal(r.of[RP_CACHE_ATOMIC].reads_64, 16);
    assert_int_equal(r.writes_32, 16);
    r = run(record_of(1, 16, 3, RP_REC_WRITES | RP_REC_ATOMIC | RP_REC_READS, 0x1));
    assert_int_equal(r.of[RP_CACHE_FETCH].requests, 3 * 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_are_written_back),
        cmocka_unit_test(loads_hit_where_they_fit),
        cmocka_unit_test(dies_share_nothing),
        cmocka_unit_test(atomics_fetch_what_they_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
