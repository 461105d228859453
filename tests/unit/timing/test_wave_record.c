/* Which workgroups are recorded, and what a wave's record keeps. */
#include "arch/arch.h"
#include "device/timing/wave_record.h"

#include "unit/cmocka_all.h"

static const struct rp_arch *mi300x(void)
{
    const struct rp_arch *arch = rp_arch_find("gfx942");
    assert_non_null(arch);
    return arch;
}

static uint64_t recorded(const struct rp_rec_plan *p)
{
    uint64_t found = 0;
    for (uint64_t id = 0; id < p->group_count; id++) {
        int64_t index = rp_rec_index(p, id);
        if (index < 0)
            continue;
        assert_true((uint64_t)index < p->count + p->probes);
        assert_int_equal(rp_rec_linear_id(p, (uint64_t)index), id);
        found++;
    }
    return found;
}

static void few_groups_are_all_recorded(void **state)
{
    (void)state;
    struct rp_rec_plan p = rp_rec_plan_of(mi300x(), 1024, 4, 8);
    assert_int_equal(p.count, 1024);
    assert_int_equal(p.stride, 1);
    assert_int_equal(p.probes, 0);
    assert_int_equal(recorded(&p), 1024);
}

static void many_groups_are_those_of_one_die(void **state)
{
    (void)state;
    /* 38 compute units with 8 groups each, four times over; and a probe for each 16 of these */
    struct rp_rec_plan p = rp_rec_plan_of(mi300x(), 1000000, 4, 8);
    assert_int_equal(p.count, 4 * 38 * 8);
    assert_int_equal(p.probes, 4 * 38 * 8 / 16);
    assert_int_equal(recorded(&p), p.count + p.probes);
    unsigned dies = 0;
    for (uint64_t i = 0; i < p.count + p.probes; i++) {
        unsigned die = (unsigned)(rp_rec_linear_id(&p, i) % 8);
        assert_true(i < p.count ? die == 0 : die != 0);
        dies |= 1u << die;
    }
    assert_int_equal(dies, 0xff);
}

static void every_grid_has_a_plan(void **state)
{
    (void)state;
    static const uint64_t groups[] = {0, 1, 7, 8, 9, 4096, 4097, 5000, 65536, 999999, 1ull << 40};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (uint32_t waves = 1; waves <= 16; waves++) {
            struct rp_rec_plan p = rp_rec_plan_of(mi300x(), groups[i], waves, 32 / waves);
            if (!groups[i])
                continue;
            assert_true(p.count && p.steps_limit);
            /* the last of all is inside of the grid */
            for (uint64_t k = p.count + p.probes - 1; k < p.count + p.probes; k += p.count) {
                uint64_t id = rp_rec_linear_id(&p, k);
                assert_true(id < groups[i]);
                assert_int_equal(rp_rec_index(&p, id), k);
            }
            assert_true((p.count + p.probes) * waves * (uint64_t)p.steps_limit <= 1 << 24 ||
                        p.steps_limit == 1);
        }
}

static void what_is_taken_back_is_gone(void **state)
{
    (void)state;
    struct rp_rec_plan p = {.group_count = 1, .count = 1, .stride = 1};
    struct rp_rec_shape shape = {.waves_per_group = 1, .groups_per_cu = 1};
    struct rp_wave_record *r = rp_record_new(&p, &shape);
    assert_non_null(r);
    assert_true(rp_rec_begin(&r->group[0], 1, 4096));
    struct rp_rec_wave *w = &r->group[0].wave[0];
    for (uint32_t i = 0; i < 1000; i++) { /* every other one an access to two lines */
        assert_true(rp_rec_grow(w, 1, 1, 2));
        w->step[w->step_count] = i;
        if (i % 2) {
            w->access[w->access_count++] = (struct rp_rec_access){
                .step = w->step_count, .first_line = w->line_count, .line_count = 2};
            w->line[w->line_count++].number = i;
            w->line[w->line_count++].number = i + 1;
        }
        w->step_count++;
        w->insts++;
    }
    rp_rec_cut(w, 3); /* 999, 998, 997 */
    assert_int_equal(w->step_count, 997);
    assert_int_equal(w->access_count, 498);
    assert_int_equal(w->line_count, 996);
    assert_int_equal(w->access[497].step, 995);
    assert_int_equal(w->line[995].number, 996);
    rp_rec_cut(w, 5000);
    assert_int_equal(w->step_count + w->access_count + w->line_count, 0);
    rp_record_free(r);
    rp_record_free(NULL);
}

/* Lanes are noted where they change, and taken back with their steps. */
static void masks_are_those_of_their_steps(void **state)
{
    static const uint64_t masks[] = {~0ull, ~0ull, 0xff, 0xff, ~0ull, 1};
    const struct rp_rec_plan plan = {.group_count = 1, .count = 1, .stride = 1};
    const struct rp_rec_shape shape = {.waves_per_group = 1};
    struct rp_wave_record *r = rp_record_new(&plan, &shape);
    (void)state;
    assert_non_null(r);
    assert_true(rp_rec_begin(&r->group[0], 1, 100));
    struct rp_rec_wave *w = &r->group[0].wave[0];
    assert_true(rp_rec_mask_at(w, 3) == ~0ull); /* Nothing is noted. */
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(rp_rec_note_mask(w, masks[i]));
        assert_true(rp_rec_grow(w, 1, 0, 0));
        w->step[w->step_count++] = i;
        w->insts++;
    }
    assert_int_equal(w->mask_count, 4);
    for (uint32_t i = 0; i < 6; i++)
        assert_true(rp_rec_mask_at(w, i) == masks[i]);
    rp_rec_cut(w, 3);
    assert_int_equal(w->mask_count, 2);
    assert_true(rp_rec_note_mask(w, 0xff));
    assert_int_equal(w->mask_count, 2);
    rp_rec_keep(w, 2);
    assert_int_equal(w->mask_count, 1);
    rp_record_free(r);
}

/* Accesses whose lines are those of a pattern are unpacked into what they were, and taken back. */
static void packed_lines_are_unpacked(void **state)
{
    const struct rp_rec_plan plan = {.group_count = 1, .count = 1, .stride = 1};
    const struct rp_rec_shape shape = {.waves_per_group = 1};
    struct rp_wave_record *r = rp_record_new(&plan, &shape);
    const struct rp_rec_line pattern[] = {{.number = 100, .lanes = 3}, {.number = 97, .lanes = 4}};
    (void)state;
    assert_non_null(r);
    r->patterns = rp_rec_patterns_new();
    assert_non_null(r->patterns);
    assert_true(rp_rec_begin(&r->group[0], 1, 100));
    struct rp_rec_wave *w = &r->group[0].wave[0];
    const int number = rp_rec_pattern_add(r->patterns, pattern, 2, 100);
    assert_int_equal(number, 0);
    w->patterns = r->patterns;
    for (uint32_t i = 0; i < 4; i++) {
        const bool packed = i % 2;
        assert_true(rp_rec_grow(w, 0, 1, 1));
        w->access[w->access_count++] = (struct rp_rec_access){.step = i,
                                                              .first_line = w->line_count,
                                                              .line_count = packed ? 2 : 1,
                                                              .space = packed ? RP_REC_PACKED : 0};
        const struct rp_rec_repeat repeat = {.first = 200 + i, .pattern = 0};
        const struct rp_rec_line plain = {.number = 7 + i};
        memcpy(&w->line[w->line_count++], packed ? (const void *)&repeat : &plain, sizeof plain);
        w->packed_lines += packed;
    }
    w->insts = 4;
    rp_rec_cut(w, 1);
    assert_int_equal(w->packed_lines, 1);
    assert_int_equal(rp_record_unpack(r), 0);
    const uint64_t numbers[] = {7, 201, 198, 9};
    assert_int_equal(w->line_count, 4);
    assert_int_equal(w->packed_lines, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(w->line[i].number, numbers[i]);
    assert_int_equal(w->line[2].lanes, 4);
    assert_int_equal(w->access[2].first_line, 3);
    assert_int_equal(w->access[1].space, 0);
    rp_record_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_those_of_their_steps),
        cmocka_unit_test(packed_lines_are_unpacked),
        cmocka_unit_test(few_groups_are_all_recorded),
        cmocka_unit_test(many_groups_are_those_of_one_die),
        cmocka_unit_test(every_grid_has_a_plan),
        cmocka_unit_test(what_is_taken_back_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
