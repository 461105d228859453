/*
 * The clock that kernels read, with detailed timing: what the model says of what they time. The
 * latencies are those of bench/model-accuracy.md, published measurements, of which some are
 * constants of the model: what is tested is that kernels read them.
 */
#include <math.h>

#include "device/timing/timing_model.h"
#include "kernels_test.h"

enum { START_TICKS = 1000000 }; /* of the harness's device clock, when a dispatch begins */

struct chased {
    uint64_t begin, end, wall_begin, wall_end, at;
};

static void run_detailed(struct fixture *f, const char *kernel, uint32_t blocks, uint32_t threads,
                         const void *args, size_t args_bytes)
{
    rp_timing_set_mode(RP_TIMING_DETAILED);
    run_ok(f, kernel, blocks, threads, args, args_bytes);
    assert_true(f->sim.replayed);
}

static void *make_ring(struct fixture *f, size_t lines, size_t stride)
{
    uint8_t *ring = sim_alloc(&f->sim, lines * stride);
    for (size_t i = 0; i < lines; i++) {
        uint8_t *next = ring + (i + 1) % lines * stride;
        memcpy(ring + i * stride, &next, sizeof next);
    }
    return ring;
}

static void is_near(const char *what, double value, double expected, double share)
{
    if (fabs(value - expected) > share * expected)
        fail_msg("%s: %g, not %g", what, value, expected);
}

/* Rows 1 to 5 of bench/model-accuracy.md, in clocks: mt4g's report of an MI300X, but for the L2,
 * whose latency is that of gpu-latency on bare metal. */
static void latencies(void **state)
{
    static const struct {
        const char *kernel;
        size_t lines, stride;
        int skipped, steps;
        double clocks;
    } row[] = {
        {"chase_lds", 1, 8, 1024, 4096, 51.3},   {"chase_scalar", 64, 64, 64, 4096, 48},
        {"chase", 64, 128, 64, 4096, 116},       {"chase", 4096, 128, 4096, 4096, 209},
        {"chase", 16384, 4224, 1024, 8192, 900},
    };
    struct fixture *f = *state;
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        struct chased *c = sim_alloc(&f->sim, sizeof *c);
        const struct {
            void *at;
            struct chased *out;
            int skipped, steps;
        } args = {make_ring(f, row[i].lines, row[i].stride), c, row[i].skipped, row[i].steps};
        run_detailed(f, row[i].kernel, 1, 64, &args, sizeof args);
        const double clocks = (double)(c->end - c->begin);
        const double ticks = (double)(c->wall_end - c->wall_begin);
        char what[80];
        snprintf(what, sizeof what, "%s, row %u, clocks", row[i].kernel, i + 1);
        is_near(what, clocks / row[i].steps, row[i].clocks, 0.03);
        /* The wall clock's are the same on another scale, of two readings more. */
        is_near("wall clock", ticks * f->sim.arch->engine_clock_mhz / f->sim.arch->timestamp_mhz,
                clocks, 0.005);
        /* The dispatch's own replay is of the same machine, and ends after the last reading. */
        assert_true((double)f->sim.ticks >= ticks);
        assert_true(f->sim.stats.clocks > clocks);
        assert_int_equal(f->sim.counts.fast_clock_waves, 0);
        if (!row[i].skipped)
            is_near("dispatch", f->sim.stats.clocks, clocks, 0.1);
    }
}

/* In a wave that is alone, what is read differs by nothing from the dispatch's replay. */
static void agrees_with_the_dispatch(void **state)
{
    struct fixture *f = *state;
    struct chased *c = sim_alloc(&f->sim, sizeof *c);
    struct {
        void *at;
        struct chased *out;
        int skipped, steps;
    } args = {make_ring(f, 16384, 4224), c, 16, 16};
    uint64_t read[2];
    double replayed[2];
    for (unsigned i = 0; i < 2; i++) {
        args.steps = i ? 16 + 8192 : 16;
        run_detailed(f, "chase", 1, 64, &args, sizeof args);
        read[i] = c->end - c->begin;
        replayed[i] = f->sim.stats.clocks;
    }
    assert_true(fabs((double)(read[1] - read[0]) - (replayed[1] - replayed[0])) < 8);
}

/* A clock for each load: of lines that are in the L1, and of those that are nowhere. */
static void each_load(void **state)
{
    enum { STEPS = 20000, FEW = 8 };
    struct fixture *f = *state;
    struct {
        void *at;
        uint32_t *clocks;
        int steps;
    } args = {make_ring(f, FEW, 128), sim_alloc(&f->sim, STEPS * 4), STEPS};
    run_detailed(f, "each", 1, 64, &args, sizeof args);
    for (int i = FEW; i < STEPS; i++) /* and 48 for the clock itself, and issuing */
        assert_in_range(args.clocks[i], 116, 116 + 48 + 24);
    for (int i = 1; i < FEW; i++)
        assert_in_range(args.clocks[i], 600, 1100);
    args.at = make_ring(f, STEPS, 4224);
    run_detailed(f, "each", 1, 64, &args, sizeof args);
    double sum = 0;
    for (int i = 0; i < STEPS; i++)
        sum += args.clocks[i];
    assert_in_range((uint64_t)(sum / STEPS), 900 * 0.97, (900 + 48 + 24) * 1.03);
}

/* Waves leave a barrier together, when the last one has come. */
static void waves_that_meet(void **state)
{
    enum { ROUNDS = 12, MOST_WAVES = 16, WORK = 20, SLEEP_CLOCKS = 64 };
    struct fixture *f = *state;
    for (unsigned waves = 2; waves <= MOST_WAVES; waves *= 2)
        for (unsigned blocks = 1; blocks <= 9; blocks += 8) {
            const struct {
                uint64_t (*out)[2];
                int rounds, work;
            } args = {sim_alloc(&f->sim, (size_t)blocks * ROUNDS * MOST_WAVES * 16), ROUNDS, WORK};
            run_detailed(f, "meet", blocks, 64 * waves, &args, sizeof args);
            uint64_t end = 0;
            for (unsigned r = 0; r < blocks * ROUNDS; r++) {
                uint64_t last_before = 0, first_after = UINT64_MAX, last_after = 0;
                uint64_t first_before = UINT64_MAX;
                for (unsigned w = 0; w < waves; w++) {
                    const uint64_t *t = args.out[r * waves + w];
                    assert_true(t[1] > t[0]);
                    last_before = t[0] > last_before ? t[0] : last_before;
                    first_before = t[0] < first_before ? t[0] : first_before;
                    first_after = t[1] < first_after ? t[1] : first_after;
                    last_after = t[1] > last_after ? t[1] : last_after;
                }
                end = last_after > end ? last_after : end;
                assert_true(first_after > last_before);
                /* s_memtime and its wait; instructions come from the L2 the first time */
                assert_true(last_after - last_before < (r % ROUNDS ? 300 : 1200));
                assert_in_range(last_before - first_before,
                                (waves - 1) * WORK * SLEEP_CLOCKS * 9 / 10,
                                (waves - 1) * WORK * (SLEEP_CLOCKS + 40) + 1200);
            }
            /* The dispatch's replay has them on as many compute units, and ends with their stores.
             */
            const double begun =
                (double)START_TICKS * f->sim.arch->engine_clock_mhz / f->sim.arch->timestamp_mhz;
            assert_in_range((uint64_t)(f->sim.stats.clocks - ((double)end - begun)), 1, 2500);
        }
}

/* Who waits for a wave that reads clocks keeps it from nothing. */
static void waves_that_wait(void **state)
{
    enum { TURNS = 500, SLEEP_CLOCKS = 4 * 64 };
    static const char *const kernel[] = {"flag", "memory_flag"};
    struct fixture *f = *state;
    for (unsigned i = 0; i < 2; i++) {
        const struct {
            uint64_t *out;
            int turns;
            uint32_t *set;
        } args = {sim_alloc(&f->sim, 16), TURNS, sim_alloc(&f->sim, 4)};
        run_detailed(f, kernel[i], 1, 128, &args, sizeof args);
        assert_in_range(args.out[0], TURNS * SLEEP_CLOCKS, TURNS * (SLEEP_CLOCKS + 120));
        /* who polls the LDS does so as often as here: that is longer, not shorter */
        if (!i)
            assert_true(args.out[1] > args.out[0] * 9 / 10);
    }
}

/* Of 17 workgroups with four waves all are recorded; of 1500 a part; neither threads nor how much
 * is executed at a time make a difference. */
static void the_same_with_any_threads(void **state)
{
    enum { ROUNDS = 3, WAVES = 4, MOST = 1500 };
    struct fixture *f = *state;
    static const unsigned blocks[] = {17, MOST};
    const size_t bytes = (size_t)MOST * ROUNDS * WAVES * 16;
    const struct {
        void *out;
        int rounds, work;
    } args = {sim_alloc(&f->sim, bytes), ROUNDS, 5};
    void *first = malloc(bytes);
    assert_non_null(first);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < 6; i++) {
            rp_exec_set_threads(1 + i % 2);
            rp_exec_set_help_after(0);
            f->sim.budget = i % 3 ? 20000 : 0;
            memset(args.out, 0, bytes);
            run_detailed(f, "meet", blocks[k], 64 * WAVES, &args, sizeof args);
            if (!i)
                memcpy(first, args.out, bytes);
            assert_memory_equal(first, args.out, bytes);
            /* who is not sampled reads another clock */
            assert_int_equal(f->sim.counts.fast_clock_waves,
                             blocks[k] * WAVES - f->sim.stats.waves);
        }
    free(first);
    rp_exec_set_threads(1);
    f->sim.budget = 0;
}

/* Beyond what is kept of a wave the clock goes on, and not backwards. */
static void beyond_the_record(void **state)
{
    enum { BLOCKS = 1024, TURNS = 6000 };
    struct fixture *f = *state;
    const struct {
        uint64_t (*out)[2];
        int turns;
    } args = {sim_alloc(&f->sim, BLOCKS * 16), TURNS};
    run_detailed(f, "rising", BLOCKS, 64, &args, sizeof args);
    assert_true(f->sim.stats.cut_waves > 0);
    assert_int_equal(f->sim.counts.fast_clock_waves, f->sim.stats.cut_waves);
    for (unsigned i = 0; i < BLOCKS; i++) {
        assert_int_equal(args.out[i][0], 0);
        assert_true(args.out[i][1] > TURNS * 4);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(latencies),         TEST(agrees_with_the_dispatch), TEST(each_load),
        TEST(waves_that_meet),   TEST(waves_that_wait),          TEST(the_same_with_any_threads),
        TEST(beyond_the_record),
    };
#ifdef __SANITIZE_THREAD__ /* the others have one thread, and take long there */
    cmocka_set_test_filter("the_same_*");
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
