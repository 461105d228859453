/*
 * Rows of thread traces, of records made by hand. Expected clocks follow from the rules of the
 * engine: a wave issues once in four clocks, what waits goes on when the last it waits for is
 * there.
 */
#include "unit/timing/machine.h"

#include <stdlib.h>
#include <string.h>

#include "device/exec/exec_settings.h"
#include "device/exec/kernel_launch.h"
#include "device/timing/dispatch_timing.h"

static const struct rp_arch *mi300x(void)
{
    return rp_arch_find("gfx942");
}

static struct rp_trace_rows trace(struct made *m, struct rp_threads_request wish)
{
    struct rp_trace_rows t;
    struct rp_timing_stats stats;

    m->record->code = m->code;
    m->record->code_count = m->codes;
    assert_int_equal(rp_trace_rows_begin(&t, mi300x(), m->record, &wish), 0);
    const struct rp_engine_watch watch = rp_trace_rows_watch(&t);
    assert_int_equal(rp_engine_run(mi300x(), m->record, &watch, &stats), 0);
    assert_int_equal(rp_trace_rows_end(&t), 0);
    return t;
}

static const struct rp_threads_request everything = {
    .cu = RP_THREADS_ANY_CU, .engines = UINT32_MAX, .simds = 0xf, .rows = UINT32_MAX};

/* What must hold of any trace: rows in order within their waves, every begin with its end. */
static void check(const struct rp_trace_rows *t)
{
    for (uint64_t i = 0; i < t->wave_count; i++) {
        const struct rp_threads_wave *w = &t->wave[i];
        uint64_t now = w->begin;
        for (uint64_t k = w->first_row; k < w->first_row + w->row_count; k++) {
            assert_true(t->row[k].clock >= now);
            assert_true(t->row[k].stall_clocks <= t->row[k].latency_clocks);
            now = t->row[k].clock + t->row[k].latency_clocks;
        }
        assert_true(now <= w->end);
    }
    uint64_t begins = 0;
    for (uint64_t i = 0; i < t->event_count; i++)
        begins += t->event[i].begins;
    assert_int_equal(2 * begins, t->event_count);
}

static uint32_t end_of_program(struct made *m)
{
    return made_misc(m, RP_REC_END, 0);
}

/* All on one line of the instruction cache: after its fetch each begins where the other ends. */
static void instructions_follow_each_other(void **state)
{
    (void)state;
    struct made *m = made_new(1, 1);
    const uint32_t valu = made_valu(m, 4), slow = made_valu(m, 16),
                   nop = made_misc(m, RP_REC_NOP, 20), end = end_of_program(m);
    struct rp_rec_wave *w = made_wave(m, 0, 0);
    const uint32_t steps[] = {valu, valu, slow, valu, nop, valu, end};
    for (size_t i = 0; i < 7; i++)
        made_step(w, steps[i]);
    struct rp_trace_rows t = trace(m, everything);
    check(&t);
    assert_int_equal(t.wave_count, 1);
    assert_int_equal(t.row_count, 7);
    const struct rp_threads_row *r = t.row;
    assert_int_equal(r[0].clock - t.wave[0].begin, mi300x()->timing->code_clocks); /* cold fetch */
    const struct {
        uint32_t stall, latency;
        uint8_t category;
    } expected[] = {
        {0, 4, RP_THREADS_VALU},        {0, 4, RP_THREADS_VALU}, {0, 4, RP_THREADS_VALU},
        {12, 16, RP_THREADS_VALU}, /* the port is taken for 16 clocks */
        {16, 20, RP_THREADS_IMMEDIATE}, {0, 4, RP_THREADS_VALU}, {0, 0, RP_THREADS_MESSAGE},
    };
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(r[i].code, steps[i]);
        assert_int_equal(r[i].stall_clocks, expected[i].stall);
        assert_int_equal(r[i].latency_clocks, expected[i].latency);
        assert_int_equal(r[i].category, expected[i].category);
        if (i)
            assert_int_equal(r[i].clock, r[i - 1].clock + r[i - 1].latency_clocks);
    }
    assert_int_equal(t.wave[0].end, r[6].clock);
    assert_int_equal(t.wave[0].cut, 0);
    rp_trace_rows_release(&t);
    made_free(m);
}

/* A load from memory that nothing has touched, and one from the vector L1: the same wait. */
static void waits_take_what_memory_takes(void **state)
{
    (void)state;
    struct made *m = made_new(1, 1);
    const uint32_t load = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 255),
                   end = end_of_program(m);
    const struct rp_rec_access a = {.flags = RP_REC_READS, .lane_bytes = 4};
    struct rp_rec_wave *w = made_wave(m, 0, 0);
    for (int i = 0; i < 2; i++) {
        made_access(w, load, a, 1000, 1);
        made_step(w, wait);
    }
    made_step(w, end);
    struct rp_trace_rows t = trace(m, everything);
    check(&t);
    assert_int_equal(t.row_count, 5);
    const uint32_t cold = t.row[1].latency_clocks + t.row[0].latency_clocks;
    const uint32_t warm = t.row[3].latency_clocks + t.row[2].latency_clocks;
    const uint32_t l1 = mi300x()->timing->l1_clocks;
    /* 64 lanes of 4 bytes take 4 clocks of the L1, so the last is there 3 later */
    assert_in_range(warm, l1, l1 + 4);
    assert_true(cold > 5 * warm);
    assert_int_equal(t.row[1].stall_clocks, t.row[1].latency_clocks - 4);
    assert_int_equal(t.wait_count, 1); /* the pair, once */
    assert_int_equal(t.wait[0].code, wait);
    assert_int_equal(t.wait[0].on, load);
    rp_trace_rows_release(&t);
    made_free(m);
}

/* vmcnt(1) waits for the older of two loads; lgkmcnt(1) does not tell which scalar load is there.
 */
static void counters_name_what_they_wait_for(void **state)
{
    (void)state;
    struct made *m = made_new(1, 1);
    const uint32_t one = made_memory(m, RP_REC_VMEM), two = made_memory(m, RP_REC_VMEM),
                   left = made_wait(m, 1, 255), scalar = made_memory(m, RP_REC_SMEM),
                   other = made_memory(m, RP_REC_SMEM), some = made_wait(m, 255, 1),
                   all = made_wait(m, 0, 0), end = end_of_program(m);
    const struct rp_rec_access a = {.flags = RP_REC_READS, .lane_bytes = 4};
    const struct rp_rec_access s = {.flags = RP_REC_READS, .space = RP_REC_SCALAR};
    struct rp_rec_wave *w = made_wave(m, 0, 0);
    made_access(w, one, a, 1, 1);
    made_access(w, two, a, 2, 1);
    made_step(w, left);
    made_access(w, scalar, s, 3, 1);
    made_access(w, other, s, 4, 1);
    made_step(w, some);
    made_step(w, all);
    made_step(w, end);
    struct rp_trace_rows t = trace(m, everything);
    check(&t);
    const struct rp_threads_wait expected[] = {
        {left, one}, {all, two}, {all, scalar}, {all, other}};
    assert_int_equal(t.wait_count, 4);
    assert_memory_equal(t.wait, expected, sizeof expected);
    rp_trace_rows_release(&t);
    made_free(m);
}

/* Two waves; one executes a hundred additions more before the barrier. */
static void barriers_end_with_the_last(void **state)
{
    (void)state;
    struct made *m = made_new(1, 2);
    const uint32_t valu = made_valu(m, 4), barrier = made_misc(m, RP_REC_WAVE_BARRIER, 0),
                   end = end_of_program(m);
    for (uint32_t i = 0; i < 2; i++) {
        struct rp_rec_wave *w = made_wave(m, 0, i);
        for (int k = 0; i == 1 && k < 100; k++)
            made_step(w, valu);
        made_step(w, barrier);
        made_step(w, valu);
        made_step(w, end);
    }
    struct rp_trace_rows t = trace(m, everything);
    check(&t);
    assert_int_equal(t.wave_count, 2);
    const struct rp_threads_row *early = &t.row[t.wave[0].first_row];
    const struct rp_threads_row *late = &t.row[t.wave[1].first_row];
    assert_int_equal(t.wave[0].row_count, 3);
    assert_int_equal(t.wave[1].row_count, 103);
    assert_int_equal(early[0].code, barrier);
    assert_int_equal(late[100].code, barrier);
    /* Both go on together, when the late one has come. */
    assert_int_equal(early[1].clock, late[101].clock);
    assert_int_equal(early[1].clock, late[100].clock + 4);
    assert_int_equal(early[0].stall_clocks, early[1].clock - early[0].clock - 4);
    assert_int_equal(late[100].stall_clocks, 0);
    rp_trace_rows_release(&t);
    made_free(m);
}

static uint64_t waves_on(const struct rp_trace_rows *t, uint32_t engine, uint8_t cu)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < t->wave_count; i++)
        count += t->wave[i].engine == engine && t->wave[i].cu == cu;
    return count;
}

/* 8 dies of 38 CUs; workgroup g goes to die g % 8, there to CU g / 8: engine CU % 4, CU / 4. */
static void engines_and_compute_units_are_chosen(void **state)
{
    (void)state;
    struct made *m = made_new(8 * 38, 2);
    const uint32_t valu = made_valu(m, 4), end = end_of_program(m);
    for (uint64_t g = 0; g < 8 * 38; g++)
        for (uint32_t i = 0; i < 2; i++) {
            made_step(made_wave(m, g, i), valu);
            made_step(made_wave(m, g, i), end);
        }
    struct rp_trace_rows t = trace(
        m, (struct rp_threads_request){
               .cu = 9, .engines = 1u << 0 | 1u << 3 | 1u << 29, .simds = 0xf, .rows = UINT32_MAX});
    check(&t);
    /* 38 CUs: ten on the first two engines of a die, nine on the others */
    assert_int_equal(waves_on(&t, 0, 9), 2);
    assert_int_equal(waves_on(&t, 29, 9), 2);
    assert_int_equal(t.wave_count, 4);
    assert_int_equal(t.event_count, 2 * 2 * (10 + 9 + 10));
    rp_trace_rows_release(&t);
    t = trace(m, (struct rp_threads_request){
                     .cu = RP_THREADS_ANY_CU, .engines = 1, .simds = 2, .rows = UINT32_MAX});
    check(&t);
    assert_int_equal(waves_on(&t, 0, 1), t.wave_count); /* 1, when there are waves */
    assert_int_equal(t.wave_count, 1);
    assert_int_equal(t.wave[0].simd, 1);
    rp_trace_rows_release(&t);
    made_free(m);
}

static void small_dispatches_are_seen_on_the_first_unit(void **state)
{
    (void)state;
    struct made *m = made_new(8, 1);
    const uint32_t end = end_of_program(m);
    for (uint64_t g = 0; g < 8; g++)
        made_step(made_wave(m, g, 0), end);
    struct rp_trace_rows t = trace(m, everything);
    check(&t);
    assert_int_equal(t.wave_count, 8); /* one on the first engine of each die */
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(waves_on(&t, 4 * i, 0), 1);
    rp_trace_rows_release(&t);
    made_free(m);
}

/* Of 60 instructions 20 were kept: the trace of the wave ends with them, its life does not. */
static void cut_waves_end_with_what_was_kept(void **state)
{
    (void)state;
    struct made *m = made_new(1, 1);
    const uint32_t valu = made_valu(m, 4);
    struct rp_rec_wave *w = made_wave(m, 0, 0);
    for (int i = 0; i < 20; i++)
        made_step(w, valu);
    w->insts = 60;
    struct rp_trace_rows t = trace(m, everything);
    check(&t);
    assert_int_equal(t.wave[0].cut, RP_THREADS_RECORD_ENDS);
    assert_int_equal(t.wave[0].row_count, 20);
    assert_int_equal(t.wave[0].end, t.row[19].clock + t.row[19].latency_clocks);
    assert_true(t.event[1].clock > t.wave[0].end + 100);
    rp_trace_rows_release(&t);
    made_free(m);
}

/* Room for 30 rows; four waves of 20 instructions side by side. */
static void a_full_trace_cuts_all_waves(void **state)
{
    (void)state;
    struct made *m = made_new(1, 4);
    const uint32_t valu = made_valu(m, 4), end = end_of_program(m);
    for (uint32_t i = 0; i < 4; i++) {
        for (int k = 0; k < 19; k++)
            made_step(made_wave(m, 0, i), valu);
        made_step(made_wave(m, 0, i), end);
    }
    struct rp_threads_request few = everything;
    few.rows = 30;
    struct rp_trace_rows t = trace(m, few);
    check(&t);
    assert_int_equal(t.row_count, 30);
    assert_int_equal(t.wave_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(t.wave[i].cut, RP_THREADS_BUFFER_FULL);
        assert_in_range(t.wave[i].row_count, 7, 8); /* SIMDs take turns */
        assert_true(t.wave[i].end < t.event[4].clock);
    }
    rp_trace_rows_release(&t);
    few.rows = 3;
    t = trace(m, few);
    check(&t);
    assert_int_equal(t.row_count, 3);
    assert_int_equal(t.wave_count + t.lost, 4);
    assert_in_range(t.lost, 1, 3);
    rp_trace_rows_release(&t);
    few.rows = 80;
    t = trace(m, few);
    assert_int_equal(t.row_count, 80);
    assert_int_equal(t.lost, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(t.wave[i].cut, 0);
    rp_trace_rows_release(&t);
    made_free(m);
}

/* The record's workgroups are numbered in the order of execution. */
static void the_last_workgroup_may_begin_first(void **state)
{
    (void)state;
    struct made *m = made_new(3, 1);
    const struct rp_kernel kernel = {.group_count = 3,
                                     .groups = {3, 1, 1},
                                     .workgroup_size = {64, 1, 1},
                                     .grid_size = {140, 1, 1},
                                     .resident_groups = 3};
    const struct rp_arch *arch = mi300x();
    const uint32_t end = end_of_program(m);
    for (uint32_t g = 0; g < 3; g++)
        made_step(made_wave(m, g, 0), end);
    m->record->code = m->code;
    m->record->code_count = m->codes;
    for (unsigned reversed = 0; reversed < 2; reversed++) {
        struct rp_trace_rows t;
        struct rp_timing_stats stats;
        assert_int_equal(rp_trace_rows_begin(&t, arch, m->record, &everything), 0);
        t.kernel = &kernel;
        t.order = reversed ? RP_WAVE_ORDER_REVERSED : RP_WAVE_ORDER_FORWARD;
        const struct rp_engine_watch watch = rp_trace_rows_watch(&t);
        assert_int_equal(rp_engine_run(arch, m->record, &watch, &stats), 0);
        assert_int_equal(t.event[0].begins, reversed ? 12 : 64);
        assert_int_equal(t.event[0].begins + t.event[1].begins + t.event[2].begins, 140);
        rp_trace_rows_release(&t);
    }
    made_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_follow_each_other),
        cmocka_unit_test(waits_take_what_memory_takes),
        cmocka_unit_test(counters_name_what_they_wait_for),
        cmocka_unit_test(barriers_end_with_the_last),
        cmocka_unit_test(engines_and_compute_units_are_chosen),
        cmocka_unit_test(small_dispatches_are_seen_on_the_first_unit),
        cmocka_unit_test(cut_waves_end_with_what_was_kept),
        cmocka_unit_test(a_full_trace_cuts_all_waves),
        cmocka_unit_test(the_last_workgroup_may_begin_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
