/* A graph small enough to work out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/dag_graph.h"

/*
 * 0 ─5─▶ 1 ─10─▶ 3 ─2─▶ 4      0 at 100; 2 is the other way to 3, by a queue
 * └──3─▶ 2 ──9──▶┘
 */
static int diamond(void **state)
{
    static const int64_t weights[] = {5, 3, 9, 10, 2};
    static struct rp_dag_graph g;

    g = (struct rp_dag_graph){0};
    rp_dag_point(&g, 100);
    rp_dag_edge(&g, 0, RP_DAG_HOST_GAP, RP_DAG_RECORDED);
    rp_dag_point(&g, 0);
    rp_dag_edge(&g, 0, RP_DAG_LAUNCH, RP_DAG_RECORDED);
    rp_dag_point(&g, 0);
    rp_dag_edge(&g, 2, RP_DAG_QUEUE, RP_DAG_DERIVED);
    rp_dag_edge(&g, 1, RP_DAG_STREAM, RP_DAG_DERIVED);
    rp_dag_point(&g, 0);
    rp_dag_edge(&g, 3, RP_DAG_DURATION, RP_DAG_RECORDED);
    rp_dag_point(&g, 0);
    rp_dag_weigh(&g);
    for (size_t e = 0; e < sizeof weights / sizeof weights[0]; e++)
        rp_dag_set_weight(&g, e, weights[e]);
    *state = &g;
    return g.failed ? -1 : 0;
}

static int release(void **state)
{
    rp_dag_graph_free(*state);
    return 0;
}

static void the_binding_edge(void **state)
{
    static const int64_t times[] = {100, 105, 103, 115, 117};
    struct rp_dag_graph *g = *state;

    for (size_t p = 0; p < g->point_count; p++)
        g->time_ns[p] = times[p];
    assert_int_equal(rp_dag_binding(g, 3), 3); /* the stream's: it comes later */
    assert_int_equal(rp_dag_binding(g, 0), RP_DAG_NO_POINT);
    rp_dag_set_weight(g, 2, 12); /* now both give 115: stream goes before queue */
    assert_int_equal(rp_dag_binding(g, 3), 3);
    rp_dag_set_kind(g, 3, RP_DAG_QUEUE, RP_DAG_DERIVED); /* and of one class the earlier point */
    assert_int_equal(rp_dag_binding(g, 3), 3);
    rp_dag_set_weight(g, 2, 13);
    assert_int_equal(rp_dag_binding(g, 3), 2);
}

/* Points with so many edges that their places do not fit into two bytes. */
static void crowded_points(void **state)
{
    static const uint32_t counts[] = {0, 3, 1, 40000, 2, 30000, 0, 7, 1};
    enum { POINTS = 5000, COUNTS = sizeof counts / sizeof counts[0] };
    struct rp_dag_graph g = {0};
    uint32_t first = 0;

    (void)state;
    for (uint32_t p = 0; p < POINTS; p++) { /* the second half is the crowded one */
        uint32_t count = p < POINTS / 2 || p > POINTS / 2 + 100 ? p % 3 : counts[p % COUNTS];
        for (uint32_t e = 0; e < count; e++)
            rp_dag_edge(&g, p / 2, RP_DAG_STREAM, RP_DAG_DERIVED);
        assert_int_equal(rp_dag_point(&g, p), p);
        if (p == POINTS / 2)
            assert_null(g.first);
    }
    assert_false(g.failed);
    assert_non_null(g.first);
    for (uint32_t p = 0; p < POINTS; p++) {
        assert_int_equal(rp_dag_first(&g, p), first);
        first += p < POINTS / 2 || p > POINTS / 2 + 100 ? p % 3 : counts[p % COUNTS];
    }
    assert_int_equal(rp_dag_first(&g, POINTS), first);
    rp_dag_graph_free(&g);
}

/* Weights that do not fit into four bytes, so many that their table grows several times. */
static void every_weight(void **state)
{
    static const int64_t weights[] = {
        0,
        -1,
        UINT32_MAX - 2,
        UINT32_MAX - 1,
        UINT32_MAX,
        (int64_t)UINT32_MAX + 1,
        -5000000000,
        RP_DAG_DROPPED_NS,
        INT64_MAX / 2,
        1,
    };
    enum { EDGES = 5000, WEIGHTS = sizeof weights / sizeof weights[0] };
    struct rp_dag_graph g = {0};

    (void)state;
    rp_dag_point(&g, 0);
    for (size_t e = 0; e < EDGES; e++) {
        rp_dag_edge(&g, 0, (enum rp_dag_class)(e % RP_DAG_CLASS_COUNT),
                    (enum rp_dag_grade)(e % RP_DAG_GRADE_COUNT));
        rp_dag_point(&g, 0);
    }
    rp_dag_weigh(&g);
    for (size_t turn = 0; turn < 3; turn++) {
        for (size_t e = 0; e < EDGES; e++)
            rp_dag_set_weight(&g, e, weights[(e * 7 + turn) % WEIGHTS]);
        assert_false(g.failed);
        for (size_t e = 0; e < EDGES; e++) {
            assert_int_equal(rp_dag_weight(&g, e), weights[(e * 7 + turn) % WEIGHTS]);
            assert_int_equal(rp_dag_class_of(&g, e), e % RP_DAG_CLASS_COUNT);
            assert_int_equal(rp_dag_grade_of(&g, e), e % RP_DAG_GRADE_COUNT);
        }
    }
    rp_dag_graph_free(&g);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_binding_edge, diamond, release),
        cmocka_unit_test(crowded_points),
        cmocka_unit_test(every_weight),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
