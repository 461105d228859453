/* Clocks put right by what was certainly before and after what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/dag_graph.h"

#include "analyze/dag_timestamps.c"

enum { MOST = 200 };

/* What calls say of a clock that is ahead by some time and gains on the host's: launches take 5000
 * ns or more, wake-ups 8000, once a millisecond. */
struct clock {
    struct rp_dag_bound least[MOST], most[MOST];
    struct rp_dag_bounds lists[2];
};

static void ahead(struct clock *c, int64_t by_ns, double drift)
{
    for (int64_t i = 0; i < MOST; i++) {
        int64_t ns = i * 1000000, off_ns = by_ns + (int64_t)((double)ns * drift);
        c->least[i] = (struct rp_dag_bound){ns + off_ns, -5000 - i % 7 * 1000 - off_ns};
        c->most[i] = (struct rp_dag_bound){ns + off_ns, 8000 + i % 5 * 1000 - off_ns};
    }
    c->lists[0] = (struct rp_dag_bounds){c->least, MOST};
    c->lists[1] = (struct rp_dag_bounds){c->most, MOST};
}

static struct rp_dag_clock_shift found(struct clock *c)
{
    return rp_dag_clock_shift_find(&c->lists[0], &c->lists[1]);
}

static void one_shift(void **state)
{
    static const struct {
        int64_t ahead_ns, by_ns;
    } rows[] = {
        {0, 0},
        {8000, 0},
        {-5000, 0},
        {8020, -20},
        {-5020, 20},
        {1000000000, -999992000},
        {-1000000000, 1000008000},
        {3600000000000, -3599999992000},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct clock c;
        struct rp_dag_clock_shift s;

        ahead(&c, rows[i].ahead_ns, 0);
        s = found(&c);
        assert_int_equal(s.by_ns, rows[i].by_ns);
        assert_true(s.drift == 0 && !s.contradicted);
    }
}

/* All of 200 ms: 100 ppm are 20 us, more than the 13 us that one shift leaves room for. */
static void a_drift(void **state)
{
    static const double drifts[] = {1e-4, -1e-4, 4e-4, -4e-4};

    (void)state;
    for (size_t i = 0; i < sizeof drifts / sizeof drifts[0]; i++) {
        struct clock c;
        struct rp_dag_clock_shift s;

        ahead(&c, 5000000, drifts[i]);
        s = found(&c);
        assert_false(s.contradicted);
        for (int64_t k = 0; k < MOST; k++) {
            int64_t ns = k * 1000000;
            int64_t off_ns = dag_clock_shifted(&s, c.least[k].at_ns) - ns;
            assert_in_range(off_ns + 13001, 0, 26002);
        }
    }
}

static void few_are_wrong(void **state)
{
    static const int64_t wrong[] = {-3000, -20000, -1000000000};
    struct clock c;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ahead(&c, 0, 0); /* an end that is late */
        c.most[77].by_ns = wrong[i];
        assert_int_equal(found(&c).by_ns, 0);
        if (!i)
            continue;
        ahead(&c, 8020, 0); /* and a clock that is ahead, too */
        c.most[77].by_ns = wrong[i] - 10000;
        assert_int_equal(found(&c).by_ns, -20);
    }
    ahead(&c, 0, 0); /* a start an hour early */
    c.least[5].by_ns = 3600000000000;
    assert_int_equal(found(&c).by_ns, 0);
    ahead(&c, 0, 0); /* the only end */
    c.lists[1].count = 1;
    c.most[0].by_ns = -1000000000;
    assert_int_equal(found(&c).by_ns, 0);
    assert_false(found(&c).contradicted);
}

static void no_clock(void **state)
{
    struct clock c;
    struct rp_dag_clock_shift s;

    (void)state;
    ahead(&c, 0, 0);
    for (int i = 0; i < MOST; i++)
        c.least[i].by_ns = i % 2 ? 1000000000 : -5000;
    for (int i = 0; i < MOST; i++)
        c.most[i].by_ns = i % 3 ? -700000000 : 8000;
    s = found(&c);
    assert_true(s.contradicted);
    assert_int_equal(s.by_ns, 0);
    assert_true(s.drift == 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_shift),
        cmocka_unit_test(a_drift),
        cmocka_unit_test(few_are_wrong),
        cmocka_unit_test(no_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
