/*
 * The detailed timing model on real kernels: what it says does not depend on threads or repetition,
 * changes nothing of what kernels do, and goes where hardware's documentation says.
 */
#include <inttypes.h>

#include "kernels_test.h"

#include "device/timing/dispatch_timing.h"
#include "device/timing/shared_simulations.h"
#include "device/timing/timing_model.h"

enum { N = 1 << 19 };

/* What the simulation says lies between what counts say, with counters of instructions or without;
 * with them the ends are nearer. */
static void is_between_bounds(const struct fixture *f, const char *kernel)
{
    const uint64_t *counters[] = {NULL, f->sim.counters};
    uint64_t low[2], high[2];
    for (unsigned i = 0; i < 1 + (f->sim.counters != NULL); i++) {
        rp_timing_bounds(f->sim.arch, &f->sim.counts, counters[i], f->sim.stats.group_count,
                         &low[i], &high[i]);
        if (f->sim.ticks < low[i] || f->sim.ticks > high[i])
            fail_msg("%s: %" PRIu64 " ticks are not between %" PRIu64 " and %" PRIu64, kernel,
                     f->sim.ticks, low[i], high[i]);
        assert_true(!i || (low[1] >= low[0] && high[1] <= high[0]));
    }
}

/* Modelled clocks of a launch. */
static double clocks(struct fixture *f, const char *kernel, uint32_t blocks, uint32_t threads,
                     const void *args, size_t args_bytes)
{
    rp_timing_set_mode(RP_TIMING_DETAILED);
    enum rp_run_state state = launch(f, kernel, blocks, threads, args, args_bytes);
    if (state != RP_RUN_DONE)
        fail_msg("%s: %s", kernel, f->sim.fault.text);
    assert_true(f->sim.replayed);
    is_between_bounds(f, kernel);
    return f->sim.stats.clocks;
}

struct copy_args {
    double *from, *to;
    int n;
};

/* 17 groups are recorded and replayed as a whole, 2048 are sampled. */
static void the_same_with_any_threads(void **state)
{
    struct fixture *f = *state;
    double *from = sim_alloc(&f->sim, N * 8), *to = sim_alloc(&f->sim, N * 8);
    for (int i = 0; i < N; i++)
        from[i] = i;
    static const int sizes[] = {17 * 256 - 5, N};
    for (unsigned k = 0; k < 2; k++) {
        const struct copy_args args = {from, to, sizes[k]};
        const uint32_t blocks = (uint32_t)(sizes[k] + 255) / 256;
        struct rp_timing_stats first;
        for (unsigned i = 0; i < 20; i++) {
            rp_exec_set_threads(1 + i % 2);
            rp_exec_set_help_after(0);
            f->sim.budget = i % 3 ? 20000 : 0;
            memset(to, 0, N * 8);
            clocks(f, "vec_copy", blocks, 256, &args, sizeof args);
            assert_memory_equal(from, to, (size_t)sizes[k] * 8);
            if (!i)
                first = f->sim.stats;
            assert_memory_equal(&first, &f->sim.stats, sizeof first);
            assert_true(f->sim.record_bytes > 0 && f->sim.record_bytes == f->sim.access_bytes);
        }
        assert_int_equal(first.group_count, blocks);
        assert_int_equal(first.sampled, k);
    }
    rp_exec_set_threads(1);
    f->sim.budget = 0;
}

static double split(struct fixture *f, uint32_t mask, uint32_t groups)
{
    const struct {
        float *out;
        uint32_t mask;
        int rounds;
    } args = {sim_alloc(&f->sim, 1 << 20), mask, 400};
    assert_true(groups * 64ull * 4 <= 1 << 20);
    rp_timing_set_mode(RP_TIMING_DETAILED);
    assert_int_equal(launch(f, "split", groups, 64, &args, sizeof args), RP_RUN_DONE);
    assert_true(f->sim.replayed);
    return (double)f->sim.ticks;
}

/* Workgroups are dealt out to dies in turn, so that some dies may have all the work. They need as
 * long as they would if others had as much. */
static void the_slowest_die_decides(void **state)
{
    struct fixture *f = *state;
    static const uint32_t masks[] = {0xaa, 0x55, 0x01, 0x40, 0xef};
    const double all = split(f, 0xff, 3000);
    assert_true(split(f, 0, 3000) < all / 3);
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        const double ticks = split(f, masks[i], 3000);
        if (ticks < 0.95 * all || ticks > 1.05 * all)
            fail_msg("dies %x: %.0f ticks, all dies %.0f", masks[i], ticks, all);
        assert_true(f->sim.stats.error_share < 0.2);
        const struct rp_timing_stats first = f->sim.stats;
        for (unsigned k = 0; k < 6; k++) {
            rp_shared_simulations_forget();
            rp_exec_set_threads(1 + k % 3);
            rp_exec_set_help_after(0);
            f->sim.budget = k % 2 ? 20000 : 0;
            assert_true(split(f, masks[i], 3000) == ticks);
            assert_memory_equal(&first, &f->sim.stats, sizeof first);
        }
        rp_exec_set_threads(1);
        f->sim.budget = 0;
    }
}

/* The counts that fast timing uses, and fast timing itself, do not change when waves are recorded.
 */
static void recording_changes_no_counts(void **state)
{
    struct fixture *f = *state;
    double *a = sim_alloc(&f->sim, N * 8), *b = sim_alloc(&f->sim, N * 8),
           *sums = sim_alloc(&f->sim, 4096);
    const struct {
        double *a, *b, *sums;
        size_t n;
    } args = {a, b, sums, N};
    for (int i = 0; i < N; i++)
        a[i] = b[i] = i % 100;
    clocks(f, "stream_dot", 16, 1024, &args, sizeof args);
    const struct rp_counts counts = f->sim.counts;
    assert_true(counts.lds_bytes > 0 && f->sim.record_bytes == f->sim.access_bytes);
    double sum = 0, other = 0;
    for (int i = 0; i < 16; i++)
        sum += sums[i];
    rp_timing_set_mode(RP_TIMING_COUNTS);
    assert_int_equal(launch(f, "stream_dot", 16, 1024, &args, sizeof args), RP_RUN_DONE);
    assert_false(f->sim.replayed);
    for (int i = 0; i < 16; i++)
        other += sums[i];
    assert_true(sum == other);
    assert_memory_equal(&counts, &f->sim.counts, sizeof counts);
    double expected = 0;
    for (int i = 0; i < N; i++)
        expected += (double)(i % 100) * (i % 100);
    assert_true(sum == expected);
}

/*
 * The vector copy of 1,048,576 doubles: counters of an MI300X as rocprof-compute's sample has them,
 * TCC_EA0_RDREQ_sum 65,775 (of 128 bytes), TCC_EA0_WRREQ_sum 131,072 (of 64), TCC_REQ_sum 197,471.
 * The sample is an eighth of the workgroups.
 */
static void a_vector_copy_has_the_measured_traffic(void **state)
{
    struct fixture *f = *state;
    enum { ELEMENTS = 1 << 20 };
    const struct copy_args args = {sim_alloc(&f->sim, ELEMENTS * 8),
                                   sim_alloc(&f->sim, ELEMENTS * 8), ELEMENTS};
    clocks(f, "vec_copy", ELEMENTS / 256, 256, &args, sizeof args);
    const struct rp_timing_stats *s = &f->sim.stats;
    const double all = (double)s->group_count / (double)s->groups;
    assert_int_equal(s->group_count, 4096);
    assert_in_range((uint64_t)(s->level[RP_LEVEL_HBM].reads * all), 65775 * 0.99, 65775 * 1.01);
    assert_in_range((uint64_t)(s->level[RP_LEVEL_HBM].writes * all), 131072 * 0.99, 131072 * 1.01);
    const uint64_t requests = s->level[RP_LEVEL_L2].reads + s->level[RP_LEVEL_L2].writes;
    assert_in_range((uint64_t)(requests * all), 197471 * 0.95, 197471 * 1.05);
}

/* Every lane in one bank: 32 clocks for a half wave instead of one. */
static void a_padded_tile_is_faster(void **state)
{
    struct fixture *f = *state;
    const struct {
        uint32_t *out;
        int rounds;
    } args = {sim_alloc(&f->sim, 1 << 20), 4};
    const double plain = clocks(f, "columns_plain", 608, 64, &args, sizeof args);
    const uint64_t conflicts = f->sim.stats.lds_conflict_clocks,
                   busy = f->sim.stats.lds_busy_clocks;
    const double padded = clocks(f, "columns_padded", 608, 64, &args, sizeof args);
    assert_int_equal(f->sim.stats.lds_conflict_clocks, 0);
    /* 4 rounds of 64 reads, 2 * 31 clocks too many each */
    assert_int_equal(conflicts, 608ull * 4 * 64 * 62);
    assert_true(busy > conflicts);
    assert_true(plain - padded > 4 * 64 * 62); /* a wave at least waits for its own */
}

static void a_strided_gather_is_slower(void **state)
{
    struct fixture *f = *state;
    struct {
        float *in, *out;
        int stride, mask;
    } one = {sim_alloc(&f->sim, 1 << 25), sim_alloc(&f->sim, N * 4), 1, (1 << 23) - 1};
    const double side_by_side = clocks(f, "gather", N / 256, 256, &one, sizeof one);
    const uint64_t lines = f->sim.stats.level[RP_LEVEL_L1].reads;
    one.stride = 32; /* every lane has a line of its own, instead of 32 lanes */
    const double strided = clocks(f, "gather", N / 256, 256, &one, sizeof one);
    assert_int_equal(f->sim.stats.level[RP_LEVEL_L1].reads, 32 * lines);
    assert_true(strided > 2 * side_by_side);
}

/* What the device says of a launch, which may share another one's simulation. */
struct told {
    uint64_t ticks;
    bool shared;
    struct rp_counts counts;
};

static void tell(struct sim *s, struct rp_dispatch *d)
{
    struct told *told = s->done_arg;
    assert_int_equal(rp_dispatch_ticks(d, s->arch, &told->ticks), 0);
    told->shared = rp_dispatch_shares(d);
    told->counts = *rp_dispatch_counts(d);
}

struct gather_args {
    float *in;
    int *index;
    float *out;
};

static struct told gather(struct fixture *f, const struct gather_args *args, uint32_t groups)
{
    struct told told = {.ticks = 0};
    f->sim.done = tell;
    f->sim.done_arg = &told;
    clocks(f, "gather_by_index", groups, 256, args, sizeof *args);
    f->sim.done = NULL;
    return told;
}

/* Launches with equal counts, whose indices are neighbours, or any: each takes its own time, and
 * shares it with its like only, wherever the arguments lie. */
static void launches_that_do_the_same_share(void **state)
{
    struct fixture *f = *state;
    struct gather_args near = {sim_alloc(&f->sim, N * 4), sim_alloc(&f->sim, N * 4),
                               sim_alloc(&f->sim, N * 4)};
    struct gather_args far = near;
    far.index = sim_alloc(&f->sim, N * 4);
    uint32_t any = 1;
    for (int i = 0; i < N; i++) {
        any = any * 1664525 + 1013904223;
        near.index[i] = i;
        far.index[i] = (int)(any >> 8) % N;
    }
    static const uint32_t groups[] = {17, N / 256}; /* all replayed; sampled */
    for (unsigned k = 0; k < 2; k++) {
        rp_shared_simulations_forget();
        const struct told first = gather(f, &near, groups[k]), other = gather(f, &far, groups[k]);
        assert_false(first.shared || other.shared);
        assert_memory_equal(&first.counts, &other.counts, sizeof first.counts);
        assert_true(other.ticks > first.ticks);
        f->sim.args_shift = 192;
        const struct told again = gather(f, &near, groups[k]), back = gather(f, &far, groups[k]);
        f->sim.args_shift = 0;
        assert_true(again.shared && back.shared);
        assert_int_equal(again.ticks, first.ticks);
        assert_int_equal(back.ticks, other.ticks);
        /* The same indices somewhere else: pages are numbered as they are touched. */
        struct gather_args moved = far;
        moved.index = sim_alloc(&f->sim, N * 4);
        memcpy(moved.index, far.index, N * 4);
        const struct told there = gather(f, &moved, groups[k]);
        assert_true(there.shared && there.ticks == other.ticks);
        far.index[17 * 256 - 1] ^= 4096; /* one index is another one */
        assert_false(gather(f, &far, groups[k]).shared && groups[k] == 17);
        assert_false(gather(f, &near, groups[k] - 1).shared);
    }
    rp_shared_simulations_forget();
}

/* What is not about the dispatch itself is a part of the key. */
static void keys_tell_machines_and_caches_apart(void **state)
{
    (void)state;
    struct rp_rec_plan plan = {.group_count = 1, .count = 1, .stride = 1};
    struct rp_rec_shape shape = {.waves_per_group = 1, .groups_per_cu = 8};
    struct rp_wave_record *r = rp_record_new(&plan, &shape);
    struct rp_counts counts = {.waves = 1};
    struct rp_arch masked = *rp_arch_find("gfx942");
    assert_non_null(r);
    const struct rp_simulation_key key = rp_simulation_key_of(&masked, &counts, r, RP_CACHES_COLD);
    struct rp_simulation_key other = rp_simulation_key_of(&masked, &counts, r, RP_CACHES_COLD);
    assert_memory_equal(&key, &other, sizeof key);
    assert_int_equal(key.caches, RP_CACHES_COLD);
    masked.compute_units /= 2;
    other = rp_simulation_key_of(&masked, &counts, r, RP_CACHES_COLD);
    assert_memory_not_equal(&key, &other, sizeof key);
    masked.compute_units *= 2;
    counts.lds_bytes++;
    other = rp_simulation_key_of(&masked, &counts, r, RP_CACHES_COLD);
    assert_memory_not_equal(&key, &other, sizeof key);
    counts.lds_bytes--;
    r->shape.groups_per_cu++;
    other = rp_simulation_key_of(&masked, &counts, r, RP_CACHES_COLD);
    assert_memory_not_equal(&key, &other, sizeof key);
    rp_record_free(r);
}

static void an_unrolled_loop_is_faster(void **state)
{
    struct fixture *f = *state;
    const struct {
        float *out;
        float x;
        int n;
    } args = {sim_alloc(&f->sim, 1 << 20), 0.5f, 512};
    const double rolled = clocks(f, "poly_rolled", 304, 256, &args, sizeof args);
    const double unrolled = clocks(f, "poly_unrolled", 304, 256, &args, sizeof args);
    assert_true(rolled > 1.5 * unrolled);
}

/* More work takes longer; twice the waves of a latency-bound kernel do not take twice as long. */
static void time_grows_with_work(void **state)
{
    struct fixture *f = *state;
    double *from = sim_alloc(&f->sim, N * 8), *to = sim_alloc(&f->sim, N * 8);
    double before = 0, at[10];
    for (unsigned k = 0; k < 10; k++) {
        const struct copy_args args = {from, to, N};
        at[k] = clocks(f, "vec_copy", 4u << k, 256, &args, sizeof args);
        assert_true(at[k] > 0.98 * before); /* small ones meet in other channels */
        before = at[k];
    }
    assert_true(at[1] < 1.2 * at[0]);
    assert_true(at[9] > 1.5 * at[0]);
}

static const struct {
    const char *name;
    unsigned passes;
} rates[] = {
    {"rate_f32_32x32x2", 16}, {"rate_f32_16x16x4", 8},  {"rate_f16_32x32x8", 8},
    {"rate_f16_16x16x16", 4}, {"rate_i8_32x32x16", 8},  {"rate_i8_16x16x32", 4},
    {"rate_fp8_32x32x16", 8}, {"rate_fp8_16x16x32", 4}, {"rate_f64_16x16x4", 8},
};

/* A wave on each SIMD of one CU: passes of 4 clocks for each instruction, within 2 %. */
static void matrix_instructions_have_their_rate(void **state)
{
    struct fixture *f = *state;
    struct {
        float *out;
        int n;
    } args = {sim_alloc(&f->sim, 1 << 12), 0};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double at[2];
        for (unsigned k = 0; k < 2; k++) {
            args.n = k ? 3072 : 1024;
            at[k] = clocks(f, rates[i].name, 1, 256, &args, sizeof args);
        }
        const double each = (at[1] - at[0]) / 2048, expected = 4 * rates[i].passes;
        if (each < 0.98 * expected || each > 1.02 * expected)
            fail_msg("%s: %.2f clocks, expected %.0f", rates[i].name, each, expected);
    }
}

/* The same with executions counted, which is_between_bounds() compares with bounds without them. */
static void counted_instructions_bring_bounds_closer(void **state)
{
    struct fixture *f = *state;
    uint64_t counters[RP_DEVICE_COUNTERS];
    f->sim.counters = counters;
    rp_exec_set_counts(RP_COUNT_INSTRUCTIONS);
    a_vector_copy_has_the_measured_traffic(state);
    a_padded_tile_is_faster(state);
    a_strided_gather_is_slower(state);
    an_unrolled_loop_is_faster(state);
    time_grows_with_work(state);
    matrix_instructions_have_their_rate(state);
    f->sim.counters = NULL;
    rp_exec_set_counts(RP_COUNT_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_with_any_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(the_slowest_die_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(recording_changes_no_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(a_vector_copy_has_the_measured_traffic, setup, teardown),
        cmocka_unit_test_setup_teardown(a_padded_tile_is_faster, setup, teardown),
        cmocka_unit_test_setup_teardown(a_strided_gather_is_slower, setup, teardown),
        cmocka_unit_test_setup_teardown(launches_that_do_the_same_share, setup, teardown),
        cmocka_unit_test(keys_tell_machines_and_caches_apart),
        cmocka_unit_test_setup_teardown(an_unrolled_loop_is_faster, setup, teardown),
        cmocka_unit_test_setup_teardown(time_grows_with_work, setup, teardown),
        cmocka_unit_test_setup_teardown(matrix_instructions_have_their_rate, setup, teardown),
        cmocka_unit_test_setup_teardown(counted_instructions_bring_bounds_closer, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
