/* Dispatches of which some dies do more than others: which of them is recorded, and what decides.
 */
#include <math.h>
#include <stdlib.h>

#include "device/timing/unlike_dies.h"

#include "unit/timing/machine.h"

enum { DIES = 8, GROUPS = 4096, WAVES = 4, SHORT = 20, LONG = 300, LATE = 30, LOADS = LONG / 20 };

/* So many workgroups of each die have ended; dies of the mask executed LONG instructions. */
static void work_of(struct rp_die_work die[RP_EXEC_DIES], unsigned mask, uint64_t groups)
{
    for (unsigned i = 0; i < DIES; i++) {
        const uint64_t insts = mask >> i & 1 ? LONG : SHORT;
        die[i] = (struct rp_die_work){groups, WAVES * groups, insts * WAVES * groups};
    }
}

static void execute(struct made *m, struct rp_wave_record *r, uint64_t from, uint32_t insts)
{
    for (uint64_t g = from; g < r->plan.count; g++) {
        if (!r->group[g].wave)
            assert_true(rp_rec_begin(&r->group[g], WAVES, UINT32_MAX));
        for (uint32_t w = 0; w < WAVES; w++)
            for (uint32_t i = 0; i < insts; i++)
                made_step(&r->group[g].wave[w], 0);
    }
    r->code = m->code;
    r->code_count = m->codes;
}

/* The record of the first die. */
static struct made *first_made(uint32_t insts)
{
    const struct rp_rec_plan plan =
        rp_rec_timing_plan_of(rp_arch_find("gfx942"), GROUPS, WAVES, 32 / WAVES);
    struct made *m = made_planned(&plan, WAVES, 32 / WAVES);
    made_valu(m, 4);
    m->record->keeps_steps = true;
    execute(m, m->record, 0, insts);
    m->record->total_waves = WAVES * GROUPS;
    m->record->total_insts = insts * m->record->total_waves;
    return m;
}

static void unlike_free(struct rp_unlike *u)
{
    if (u->record)
        u->record->code = NULL;
    rp_record_free(u->record);
}

/* What a dispatch takes whose dies of the mask execute LONG instructions and others SHORT ones. */
static struct rp_timing_stats split(unsigned mask)
{
    struct made *m = first_made(mask & 1 ? LONG : SHORT);
    struct rp_die_work die[RP_EXEC_DIES];
    struct rp_unlike u = {0};
    struct rp_timing_stats stats;
    work_of(die, mask, 4);
    const int other = rp_unlike_look(&u, m->record, die);
    assert_true(other > 0 && u.record && ((mask >> other ^ mask) & 1));
    assert_int_equal(rp_unlike_look(&u, m->record, die), other);
    /* It is recorded from a later workgroup on. */
    execute(m, u.record, LATE, mask & 1 ? SHORT : LONG);
    work_of(die, mask, GROUPS / DIES);
    assert_int_equal(rp_unlike_settle(&u, m->record, die), 0);
    assert_non_null(u.record);
    assert_int_equal(m->record->plan.first % DIES, mask & 1 ? 0 : other);
    assert_int_equal(u.first_dies, __builtin_popcount(mask));
    assert_int_equal(u.other_dies, DIES - u.first_dies);
    assert_int_equal(rp_unlike_run(&u, rp_arch_find("gfx942"), m->record, NULL, &stats), 0);
    assert_int_equal(stats.group_count, GROUPS);
    unlike_free(&u);
    made_free(m);
    return stats;
}

/* The time is that of a dispatch all of whose dies execute so much. */
static void the_slowest_die_decides(void **state)
{
    (void)state;
    static const unsigned masks[] = {0xaa, 0x55, 0x01, 0x80, 0xfe};
    struct made *all = first_made(LONG);
    const double clocks = made_run(all).clocks;
    made_free(all);
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const struct rp_timing_stats s = split(masks[i]);
        assert_true(fabs(s.clocks - clocks) < 0.02 * clocks);
        assert_true(s.error_share < 0.02);
    }
}

static void nothing_is_recorded_twice_where_dies_are_alike(void **state)
{
    (void)state;
    struct made *m = first_made(SHORT);
    struct rp_die_work die[RP_EXEC_DIES];
    struct rp_unlike u = {0};
    work_of(die, 0, 100);
    die[3].wave_insts = die[3].wave_insts * 109 / 100;
    assert_int_equal(rp_unlike_look(&u, m->record, die), -1);
    work_of(die, 0xaa, 100);
    die[6].groups = 0; /* nothing is known of it */
    assert_int_equal(rp_unlike_look(&u, m->record, die), -1);
    m->record->keeps_steps = false;
    work_of(die, 0xaa, 100);
    assert_int_equal(rp_unlike_look(&u, m->record, die), -1);
    assert_null(u.record);
    made_free(m);
}

/* What looked unlike at first was chance, and what a record has nothing of is not simulated. */
static void records_that_say_nothing_are_dropped(void **state)
{
    (void)state;
    for (unsigned alike = 0; alike < 2; alike++) {
        struct made *m = first_made(SHORT);
        struct rp_die_work die[RP_EXEC_DIES];
        struct rp_unlike u = {0};
        work_of(die, 0x10, 2);
        assert_int_equal(rp_unlike_look(&u, m->record, die), 4);
        execute(m, u.record, alike ? 0 : u.record->plan.count, LONG);
        u.record->code = NULL;
        work_of(die, alike ? 0 : 0x10, 500);
        const uint64_t insts = m->record->total_insts;
        assert_int_equal(rp_unlike_settle(&u, m->record, die), 0);
        assert_null(u.record);
        assert_int_equal(m->record->total_insts, insts);
        made_free(m);
    }
}

/* Of one workgroup all others are copies, whose lines are far from one another and not private. */
static void copies_have_memory_of_their_own(void **state)
{
    (void)state;
    enum { FAR_LINES = 1 << 27 };
    static const int64_t lines[] = {5, 0x7f1234567000 / RP_REC_LINE_BYTES,
                                    0x7fff00000000 / RP_REC_LINE_BYTES};
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
        struct made *m = first_made(SHORT);
        const uint32_t load = made_memory(m, RP_REC_VMEM);
        const struct rp_rec_access read = {.flags = RP_REC_READS, .lane_bytes = 4};
        struct rp_die_work die[RP_EXEC_DIES];
        struct rp_unlike u = {0};
        work_of(die, 0x10, GROUPS / DIES);
        assert_int_equal(rp_unlike_look(&u, m->record, die), 4);
        const uint64_t count = u.record->plan.count;
        execute(m, u.record, count - 1, LONG);
        made_access(&u.record->group[count - 1].wave[0], load, read, lines[l], 1);
        assert_int_equal(rp_unlike_settle(&u, m->record, die), 0);
        /* They have changed places: waves of the other die are longer. */
        const struct rp_rec_group *g = m->record->group;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t at = g[i].wave[0].line[0].number;
            assert_true(at < RP_REC_OWN_VA / RP_REC_LINE_BYTES);
            for (uint64_t k = 0; k < i; k++)
                assert_true(llabs((int64_t)(at - g[k].wave[0].line[0].number)) >= FAR_LINES);
        }
        unlike_free(&u);
        made_free(m);
    }
}

/* All workgroups of the record read and wait for it, many times. */
static void stream(struct made *m, struct rp_wave_record *r)
{
    const uint32_t load = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15);
    const struct rp_rec_access read = {.flags = RP_REC_READS, .lane_bytes = 4};
    int64_t line = 0;
    for (uint64_t g = 0; g < r->plan.count; g++)
        for (uint32_t i = 0; i < WAVES * LOADS; i++, line += 8) {
            made_access(&r->group[g].wave[i % WAVES], load, read, line, 8);
            made_step(&r->group[g].wave[i % WAVES], wait);
        }
    r->code_count = m->codes;
}

/* A die that streams has the part of the memory that others leave, as far as its port reaches. */
static void memory_is_for_those_who_use_it(void **state)
{
    (void)state;
    double clocks[2];
    for (unsigned k = 0; k < 2; k++) {
        struct made *m = first_made(SHORT);
        struct rp_die_work die[RP_EXEC_DIES];
        struct rp_unlike u = {0};
        const unsigned mask = k ? 0xfe : 0x80;
        work_of(die, mask, 4);
        assert_true(rp_unlike_look(&u, m->record, die) > 0);
        execute(m, u.record, 0, LONG / 2);
        stream(m, u.record);
        work_of(die, mask, GROUPS / DIES);
        assert_int_equal(rp_unlike_settle(&u, m->record, die), 0);
        struct rp_timing_stats stats;
        assert_int_equal(rp_unlike_run(&u, rp_arch_find("gfx942"), m->record, NULL, &stats), 0);
        clocks[k] = fmax(stats.clocks, stats.level_clocks[RP_LEVEL_HBM]);
        unlike_free(&u);
        made_free(m);
    }
    assert_true(clocks[1] > 1.03 * clocks[0]);
}

/* One die streams. With the memory that others leave it is no longer the slowest: they are. */
static void who_has_more_memory_may_not_decide(void **state)
{
    (void)state;
    const struct rp_arch *arch = rp_arch_find("gfx942");
    enum { ARITHMETIC = 2000 };
    struct made *m = first_made(ARITHMETIC);
    struct rp_die_work die[RP_EXEC_DIES];
    struct rp_unlike u = {0};
    struct rp_timing_stats stats, other, before, after;
    work_of(die, 0x7f, GROUPS / DIES);
    for (unsigned i = 0; i < DIES; i++)
        die[i].wave_insts = die[i].waves * (i < 7 ? ARITHMETIC : SHORT + 2 * LOADS);
    assert_int_equal(rp_unlike_look(&u, m->record, die), 7);
    execute(m, u.record, 0, SHORT);
    stream(m, u.record);
    assert_int_equal(rp_unlike_settle(&u, m->record, die), 0);
    assert_int_equal(rp_unlike_run(&u, arch, m->record, NULL, &stats), 0);
    assert_int_equal(rp_engine_run(arch, m->record, NULL, &other), 0);
    assert_int_equal(rp_engine_run(arch, u.record, NULL, &after), 0);
    assert_true(u.record->memory_part > 0);
    u.record->memory_part = 0;
    assert_int_equal(rp_engine_run(arch, u.record, NULL, &before), 0);
    assert_true(after.clocks < other.clocks && other.clocks < before.clocks);
    assert_true(stats.clocks == other.clocks && stats.error_share == other.error_share);
    /* What units are busy with is that of all dies. */
    const double busy = 7 * (double)other.port_clocks[RP_REC_VALU] / DIES +
                        (double)after.port_clocks[RP_REC_VALU] / DIES;
    assert_true(busy > 0 && fabs((double)stats.port_clocks[RP_REC_VALU] - busy) < 1);
    unlike_free(&u);
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_die_decides),
        cmocka_unit_test(nothing_is_recorded_twice_where_dies_are_alike),
        cmocka_unit_test(records_that_say_nothing_are_dropped),
        cmocka_unit_test(copies_have_memory_of_their_own),
        cmocka_unit_test(memory_is_for_those_who_use_it),
        cmocka_unit_test(who_has_more_memory_may_not_decide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
