/* What a launch finds in the caches: lines that earlier launches have left there, by made records.
 */
#include <stdlib.h>

#include "device/timing/cache_history.h"
#include "unit/timing/machine.h"

static const struct rp_arch *mi300x(void)
{
    return rp_arch_find("gfx942");
}

/* A wave of each workgroup of a whole grid reads or writes so many lines, one workgroup's behind
 * the other's. */
static struct made *walk(uint64_t groups, uint32_t lines, int64_t first, uint8_t flags)
{
    struct made *m = made_new(groups, 1);
    const uint32_t unit = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15);
    const struct rp_rec_access a = {.flags = flags, .lane_bytes = 4, .lanes = 1};
    for (uint64_t g = 0; g < groups; g++)
        for (uint32_t i = 0; i < lines; i++) {
            made_access(made_wave(m, g, 0), unit, a, first + (int64_t)(g * lines + i), 1);
            made_step(made_wave(m, g, 0), wait);
        }
    return m;
}

/* Launches a record, as the device does, and returns what it was served by. */
static struct rp_timing_stats launch(struct rp_cache_history *h, struct made *m, uint64_t key)
{
    struct rp_footprint *f = rp_footprint_of(mi300x(), key, m->record);
    assert_non_null(f);
    assert_int_equal(rp_cache_history_warm(h, mi300x(), f, m->record), 0);
    assert_int_equal(rp_record_renumber_pages(m->record), 0);
    rp_cache_history_add(h, mi300x(), key, f);
    const struct rp_timing_stats s = made_run(m);
    made_free(m);
    return s;
}

enum { LINES = 1000, MIB_LINES = 8192 };

static void small_launches_find_their_lines_in_the_l2(void **state)
{
    (void)state;
    struct rp_cache_history *h = rp_cache_history_new();
    const struct rp_timing_stats cold = launch(h, walk(1, LINES, 1 << 20, RP_REC_READS), 1);
    const struct rp_timing_stats warm = launch(h, walk(1, LINES, 1 << 20, RP_REC_READS), 1);
    assert_int_equal(cold.level[RP_LEVEL_L2].read_hits, 0);
    assert_int_equal(warm.level[RP_LEVEL_L2].read_hits, LINES);
    assert_int_equal(warm.level[RP_LEVEL_HBM].reads, 0);
    assert_true(warm.replay_clocks * 3 < cold.replay_clocks);
    rp_cache_history_free(h);
}

/* The second workgroup is another die's, which has written the lines of the first one's. */
static void what_another_die_has_written_is_not_in_an_l2(void **state)
{
    (void)state;
    struct rp_cache_history *h = rp_cache_history_new();
    launch(h, walk(1, LINES, 1 << 20, RP_REC_READS), 1);
    launch(h, walk(2, LINES, (1 << 20) - LINES, RP_REC_WRITES), 2);
    const struct rp_timing_stats s = launch(h, walk(1, LINES, 1 << 20, RP_REC_READS), 1);
    assert_int_equal(s.level[RP_LEVEL_L2].read_hits, 0);
    assert_int_equal(s.level[RP_LEVEL_MALL].read_hits, LINES);
    rp_cache_history_free(h);
}

/* 16 MiB by one die, which is more than its L2. */
static void larger_launches_find_them_in_the_infinity_cache(void **state)
{
    (void)state;
    struct rp_cache_history *h = rp_cache_history_new();
    launch(h, walk(1, 16 * MIB_LINES, 1 << 20, RP_REC_READS), 1);
    const struct rp_timing_stats s = launch(h, walk(1, 16 * MIB_LINES, 1 << 20, RP_REC_READS), 1);
    assert_int_equal(s.level[RP_LEVEL_L2].read_hits, 0);
    assert_int_equal(s.level[RP_LEVEL_MALL].read_hits, 16 * MIB_LINES);
    /* What is more than the Infinity Cache in between leaves nothing of it. */
    launch(h, walk(8, 40 * MIB_LINES, 1 << 24, RP_REC_READS), 2);
    const struct rp_timing_stats later = launch(h, walk(1, LINES, 1 << 20, RP_REC_READS), 3);
    assert_int_equal(later.level[RP_LEVEL_MALL].read_hits, 0);
    rp_cache_history_free(h);
}

/* Workgroups of a sample in the middle of a grid that touch lines one behind the other's, and after
 * so many workgroups the same again. */
static struct made *sample(uint64_t groups, uint64_t period, uint32_t lines, int64_t first,
                           uint8_t flags)
{
    const struct rp_rec_plan plan = rp_rec_timing_plan_of(mi300x(), groups, 1, 16);
    struct made *m = made_planned(&plan, 1, 16);
    const uint32_t unit = made_memory(m, RP_REC_VMEM);
    const struct rp_rec_access a = {.flags = flags, .lane_bytes = 4, .lanes = 64};
    assert_true(plan.count < groups / 8);
    for (uint64_t g = 0; g < plan.count + plan.probes; g++)
        made_access(made_wave(m, g, 0), unit, a,
                    first + (int64_t)(m->record->group[g].linear_id % period) * lines, lines);
    m->record->total_waves = m->record->total_insts = groups;
    return m;
}

/* A grid that streams: another launch reads what the sample did not. */
static void a_sample_tells_what_the_rest_touched(void **state)
{
    (void)state;
    enum { GROUPS = 24000, WAVE_LINES = 4 };
    const int64_t first = 1 << 22;
    struct rp_cache_history *h = rp_cache_history_new();
    launch(h, sample(GROUPS, GROUPS, WAVE_LINES, first, RP_REC_WRITES), 1);
    const uint64_t before = rp_cache_history_state(h);
    const struct rp_timing_stats begin = launch(h, walk(1, LINES, first + 4000, RP_REC_READS), 2);
    const struct rp_timing_stats beyond =
        launch(h, walk(1, LINES, first + 2 * GROUPS * WAVE_LINES, RP_REC_READS), 3);
    assert_int_equal(begin.level[RP_LEVEL_MALL].read_hits, LINES);
    assert_int_equal(beyond.level[RP_LEVEL_MALL].read_hits, 0);
    assert_true(before && rp_cache_history_state(h) != before);
    rp_cache_history_free(h);
}

/* A grid that goes through the same lines again and again, each time by half of a sample: all of
 * them are in the L2s when it is launched once more, and what it writes it has written before. */
static void a_sample_that_has_seen_everything_says_so(void **state)
{
    (void)state;
    enum { GROUPS = 1 << 18, WAVE_LINES = 4 };
    const struct rp_rec_plan plan = rp_rec_timing_plan_of(mi300x(), GROUPS, 1, 16);
    const uint64_t period = plan.count / 2 * plan.stride;
    const uint8_t flags[] = {RP_REC_READS, RP_REC_WRITES};
    for (unsigned i = 0; i < 2; i++) {
        struct rp_cache_history *h = rp_cache_history_new();
        launch(h, sample(GROUPS, period, WAVE_LINES, 1 << 22, flags[i]), 1);
        const struct rp_timing_stats s =
            launch(h, sample(GROUPS, period, WAVE_LINES, 1 << 22, flags[i]), 1);
        const struct rp_level_stats *l2 = &s.level[RP_LEVEL_L2];
        assert_true(flags[i] == RP_REC_READS ? l2->reads && l2->read_hits == l2->reads
                                             : l2->writes);
        assert_int_equal(s.level[RP_LEVEL_MALL].reads, 0);
        assert_int_equal(s.level[RP_LEVEL_MALL].writes, 0);
        /* Not after a launch that has left nothing of it there, since its first time takes long. */
        launch(h, walk(8, 5 * MIB_LINES, 1 << 26, RP_REC_READS), 3);
        const struct rp_timing_stats after =
            launch(h, sample(GROUPS, period, WAVE_LINES, 1 << 22, flags[i]), 1);
        assert_true(after.level[RP_LEVEL_MALL].reads + after.level[RP_LEVEL_MALL].writes > 0);
        /* The same sample of a grid that streams has none of it. */
        launch(h, sample(GROUPS, GROUPS, WAVE_LINES, 1 << 24, flags[i]), 2);
        const struct rp_timing_stats streams =
            launch(h, sample(GROUPS, GROUPS, WAVE_LINES, 1 << 24, flags[i]), 2);
        assert_true(streams.level[RP_LEVEL_MALL].reads + streams.level[RP_LEVEL_MALL].writes > 0);
        rp_cache_history_free(h);
    }
}

static void the_same_launches_leave_the_same(void **state)
{
    (void)state;
    struct rp_cache_history *h = rp_cache_history_new();
    assert_int_equal(rp_cache_history_state(NULL), 0);
    assert_int_equal(rp_cache_history_state(h), 0);
    launch(h, walk(1, LINES, 1 << 20, RP_REC_READS), 1);
    launch(h, walk(1, LINES, 1 << 21, RP_REC_READS), 2);
    const uint64_t once = rp_cache_history_state(h);
    assert_true(rp_cache_history_find(h, 1) && !rp_cache_history_find(h, 3));
    rp_cache_history_add(h, mi300x(), 1, NULL);
    assert_true(rp_cache_history_state(h) != once);
    rp_cache_history_add(h, mi300x(), 2, NULL);
    assert_int_equal(rp_cache_history_state(h), once);
    rp_cache_history_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_launches_find_their_lines_in_the_l2),
        cmocka_unit_test(what_another_die_has_written_is_not_in_an_l2),
        cmocka_unit_test(larger_launches_find_them_in_the_infinity_cache),
        cmocka_unit_test(a_sample_tells_what_the_rest_touched),
        cmocka_unit_test(a_sample_that_has_seen_everything_says_so),
        cmocka_unit_test(the_same_launches_leave_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
