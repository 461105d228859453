/* The plan of bench for a GPU, which no machine here has: a made trace of it, with launches that
 * take what known rates and latencies ask for, must give these back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit/cmocka_all.h"

#include "cli/cmd_bench.c"

enum { MOST = 4096, LAUNCH_NS = 5000 };

/** What the made GPU does of each row: bytes or operations a second; ns. */
static double speed_of(size_t row)
{
    return rp_bench_rows[row].kind == RP_BENCH_LATENCY ? 100 + 50 * (double)row
                                                       : 1e12 * (1 + (double)row);
}

struct made {
    struct rp_bench bench;
    struct plan plan;
    struct rp_row_dispatch dispatches[MOST];
    struct rp_row_kernel kernels[64];
    struct rp_workload_trace trace;
    int64_t now_ns;
};

static int64_t kernel_of(struct made *m, const char *name)
{
    for (size_t i = 0; i < m->trace.kernel_count; i++)
        if (strcmp(m->kernels[i].plain_name, name) == 0)
            return m->kernels[i].id;
    assert_true(m->trace.kernel_count < 64);
    m->kernels[m->trace.kernel_count] = (struct rp_row_kernel){
        .id = (int64_t)m->trace.kernel_count + 1, .plain_name = strdup(name)};
    return m->kernels[m->trace.kernel_count++].id;
}

static void ran(struct made *m, const char *name, double ns)
{
    assert_true(m->trace.dispatch_count < MOST);
    m->dispatches[m->trace.dispatch_count++] = (struct rp_row_dispatch){
        .kernel_id = kernel_of(m, name), .start_ns = m->now_ns, .end_ns = m->now_ns + llround(ns)};
    m->now_ns += llround(ns) + 100;
}

/** Which row a line of the plan is of is in the plan; how long it takes follows from the line. */
static void run_plan(struct made *m, const char *missing)
{
    const struct rp_arch *a = &m->bench.work.arch;
    const char *line = rp_buf_text(&m->plan.text);
    size_t at = 0;

    for (; *line; line = strchr(line, '\n') + 1) {
        unsigned blocks, threads, times, rounds;
        char name[64];

        if (sscanf(line, "launch %63s %u %u %u %u", name, &blocks, &threads, &times, &rounds) != 5)
            continue;
        const size_t row = m->plan.items[at++].row;
        double ns = LAUNCH_NS;

        if (strcmp(name, missing) == 0)
            continue;
        if (row < RP_BENCH_ROWS && rp_bench_rows[row].kind != RP_BENCH_LAUNCH) {
            const double work = rp_bench_rows[row].work(a, times, rounds) * blocks;

            ns += rp_bench_rows[row].kind == RP_BENCH_LATENCY ? work * speed_of(row)
                                                              : work / speed_of(row) * 1e9;
        }
        if (at % 7 == 0)
            ran(m, "__amd_rocclr_fillBufferAligned", 10); /* of HIP, at any time */
        ran(m, name, ns);
    }
    assert_int_equal(at, m->plan.count);
}

static void made_open(struct made *m, const char *spec, const char *isa)
{
    memset(m, 0, sizeof *m);
    rp_arch_select(spec, &m->bench.work.arch);
    snprintf(m->bench.work.isa, sizeof m->bench.work.isa, "%s", isa);
    m->bench.repeats = 3;
    m->trace.dispatches = m->dispatches;
    m->trace.kernels = m->kernels;
    for (size_t i = 0; i < RP_BENCH_ROWS; i++)
        if (!lacks(&m->bench, i))
            plan_row(&m->bench, i, &m->plan);
}

static void made_close(struct made *m)
{
    for (size_t i = 0; i < m->trace.kernel_count; i++)
        free((char *)m->kernels[i].plain_name);
    plan_free(&m->plan);
    free(m);
}

static void known_speeds_come_back(void **state)
{
    struct made *m = malloc(sizeof *m);

    (void)state;
    made_open(m, "mi300x", "gfx942");
    run_plan(m, "bench_mfma_f6");
    take_launches(&m->bench, &m->plan, &m->trace);
    for (size_t i = 0; i < RP_BENCH_ROWS; i++) {
        const double found = rp_bench_median(&m->bench.values[i]);
        const enum rp_bench_kind kind = rp_bench_rows[i].kind;

        if (kind == RP_BENCH_COPY)
            continue;
        if (i == RP_BENCH_mfma_f6) {
            assert_int_equal(m->bench.values[i].count, 0);
            continue;
        }
        assert_int_equal(m->bench.values[i].count, 3);
        if (kind == RP_BENCH_LAUNCH)
            assert_true(fabs(found - LAUNCH_NS - 100) < 20);
        else if (fabs(found / speed_of(i) - 1) > 0.02)
            fail_msg("%s: %g, not %g", rp_bench_rows[i].name, found, speed_of(i));
    }
    made_close(m);
}

/** Memory that a kernel reaches is there, and kernels of a GPU are long enough. */
static void places_hold_what_kernels_reach(void **state)
{
    struct made *m = malloc(sizeof *m);
    double places[2] = {0}, ring = 0;

    (void)state;
    made_open(m, "mi300x", "gfx942");
    for (const char *line = rp_buf_text(&m->plan.text); *line; line = strchr(line, '\n') + 1) {
        unsigned at, blocks, threads, times, rounds;
        char name[64];
        double bytes;

        if (sscanf(line, "place %u %lf", &at, &bytes) == 2) {
            places[at] = bytes;
        } else if (sscanf(line, "launch %63s %u %u %u %u", name, &blocks, &threads, &times,
                          &rounds) == 5) {
            const double part = (double)blocks * (rounds ? rounds : 1) * ROUND_BYTES;
            const bool writes = !strcmp(name, "bench_write"), copies = !strcmp(name, "bench_copy");

            if (!strcmp(name, "bench_ring"))
                ring = (double)times * rounds;
            if (!strcmp(name, "bench_read") || !strcmp(name, "bench_l1") || copies)
                assert_true(places[0] >= part);
            if (writes || copies)
                assert_true(places[1] >= part);
            if (!strcmp(name, "bench_atomics"))
                assert_true(places[1] >= (double)blocks * threads * 4);
            assert_true(places[0] >= ring);
        }
    }
    assert_true(ring > 512e6); /* of HBM: more than the Infinity Cache holds */
    made_close(m);
}

/** What a GPU has no cache for is not run. */
static void no_infinity_cache(void **state)
{
    struct made *m = malloc(sizeof *m);

    (void)state;
    made_open(m, "mi250x", "gfx90a");
    assert_non_null(lacks(&m->bench, RP_BENCH_infinity_cache));
    assert_non_null(lacks(&m->bench, RP_BENCH_infinity_cache_latency));
    assert_null(lacks(&m->bench, RP_BENCH_hbm_read));
    for (size_t i = 0; i < m->plan.count; i++)
        assert_int_not_equal(m->plan.items[i].row, RP_BENCH_infinity_cache);
    made_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_speeds_come_back),
        cmocka_unit_test(places_hold_what_kernels_reach),
        cmocka_unit_test(no_infinity_cache),
    };

    return cmocka_run_group_tests_name("cmd_bench", tests, NULL, NULL);
}
