/* The passes over a graph small enough to work out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/dag/graph.h"

/*
 * 0 ─5─▶ 1 ─10─▶ 3 ─2─▶ 4      0 at 100; 2 is the other way to 3, by a queue
 * └──3─▶ 2 ──9──▶┘
 */
static int diamond(void **state)
{
    static struct rp_dag_graph g;

    g = (struct rp_dag_graph){0};
    rp_dag_point(&g, 100);
    rp_dag_edge(&g, 0, 5, RP_DAG_HOST_GAP, RP_DAG_RECORDED);
    rp_dag_point(&g, 0);
    rp_dag_edge(&g, 0, 3, RP_DAG_LAUNCH, RP_DAG_RECORDED);
    rp_dag_point(&g, 0);
    rp_dag_edge(&g, 2, 9, RP_DAG_QUEUE, RP_DAG_DERIVED);
    rp_dag_edge(&g, 1, 10, RP_DAG_STREAM, RP_DAG_DERIVED);
    rp_dag_point(&g, 0);
    rp_dag_edge(&g, 3, 2, RP_DAG_DURATION, RP_DAG_RECORDED);
    rp_dag_point(&g, 0);
    *state = &g;
    return g.failed ? -1 : 0;
}

static int release(void **state)
{
    rp_dag_graph_free(*state);
    return 0;
}

static void earliest_times(void **state)
{
    const struct rp_dag_graph *g = *state;
    static const int64_t all[] = {100, 105, 103, 115, 117};
    static const int64_t without_stream[] = {100, 105, 103, 112, 114};
    int64_t t[5];

    rp_dag_forward(g, g->weight_ns, RP_DAG_CLASS_COUNT, t);
    assert_memory_equal(t, all, sizeof t);
    rp_dag_forward(g, g->weight_ns, RP_DAG_STREAM, t);
    assert_memory_equal(t, without_stream, sizeof t);
}

static void a_point_keeps_its_only_edge(void **state)
{
    const struct rp_dag_graph *g = *state;
    int64_t t[5];

    /* Without its edge of that class point 4 has none: it stays where it was recorded. */
    rp_dag_forward(g, g->weight_ns, RP_DAG_DURATION, t);
    assert_int_equal(t[4], g->time_ns[4]);
}

static void latest_times(void **state)
{
    const struct rp_dag_graph *g = *state;
    static const int64_t latest[] = {100, 105, 106, 115, 117}; /* point 2 has 3 to spare */
    int64_t t[5];

    rp_dag_backward(g, 117, t);
    assert_memory_equal(t, latest, sizeof t);
}

static void the_binding_edge(void **state)
{
    struct rp_dag_graph *g = *state;
    int64_t t[5];

    rp_dag_forward(g, g->weight_ns, RP_DAG_CLASS_COUNT, t);
    assert_int_equal(rp_dag_binding(g, t, g->weight_ns, 3), 3); /* the stream's: it comes later */
    assert_int_equal(rp_dag_binding(g, t, g->weight_ns, 0), RP_DAG_NO_POINT);
    g->weight_ns[2] = 12; /* now both give 115: stream goes before queue */
    assert_int_equal(rp_dag_binding(g, t, g->weight_ns, 3), 3);
    g->class[3] = RP_DAG_QUEUE; /* and of one class the earlier point */
    assert_int_equal(rp_dag_binding(g, t, g->weight_ns, 3), 3);
    g->weight_ns[2] = 13;
    assert_int_equal(rp_dag_binding(g, t, g->weight_ns, 3), 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(earliest_times, diamond, release),
        cmocka_unit_test_setup_teardown(a_point_keeps_its_only_edge, diamond, release),
        cmocka_unit_test_setup_teardown(latest_times, diamond, release),
        cmocka_unit_test_setup_teardown(the_binding_edge, diamond, release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
