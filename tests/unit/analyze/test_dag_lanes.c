/* Changed graphs, small enough to work out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyze/dag_graph.h"
#include "base/err.h"

#include "analyze/dag_what_if.c"

#define TEST_KIND(k) (1u << RP_DAG_KIND_##k)

/*
 * A thread starts two kernels, 20 and 30 long, in two streams of one queue:
 *
 *   0 ─gap 5─▶ 1 ─launch 4─▶ 2 ─kernel 20─▶ 3 ─queue 1─▶ 5 ─kernel 30─▶ 6
 *              └──gap 3─▶ 4 ───launch 4────────────────▶┘
 */
enum { POINTS = 7, QUEUE_EDGE = 4 };

static struct rp_dag_op ops[2] = {{.symbol = 0}, {.symbol = 1}};
static const char *test_symbols[] = {"first", "second"};
static uint8_t test_flags[POINTS];
static uint32_t test_owner[POINTS] = {
    RP_DAG_NONE, RP_DAG_NONE,       RP_DAG_OP_BIT,     RP_DAG_OP_BIT,
    RP_DAG_NONE, RP_DAG_OP_BIT | 1, RP_DAG_OP_BIT | 1,
};
static struct rp_dag_process process = {.ops = ops, .op_count = 2};
static const struct rp_dag_trace test_trace = {
    .processes = &process, .process_count = 1, .symbols = test_symbols, .symbol_count = 2};

static int make(void **state)
{
    static const int64_t weights[] = {5, 4, 20, 3, 1, 4, 30};
    static struct rp_dag dag;
    struct rp_dag_graph *g = &dag.graph;

    dag = (struct rp_dag){
        .flags = test_flags, .owner = test_owner, .op_count = 2, .start_ns = 100, .end_ns = 160};
    rp_dag_point(g, 100);
    rp_dag_edge(g, 0, RP_DAG_HOST_GAP, RP_DAG_RECORDED);
    rp_dag_point(g, 105);
    rp_dag_edge(g, 1, RP_DAG_LAUNCH, RP_DAG_RECORDED);
    rp_dag_point(g, 109);
    rp_dag_edge(g, 2, RP_DAG_DURATION, RP_DAG_RECORDED);
    rp_dag_point(g, 129);
    rp_dag_edge(g, 1, RP_DAG_HOST_GAP, RP_DAG_RECORDED);
    rp_dag_point(g, 108);
    rp_dag_edge(g, 3, RP_DAG_QUEUE, RP_DAG_DERIVED);
    rp_dag_edge(g, 4, RP_DAG_LAUNCH, RP_DAG_RECORDED);
    rp_dag_point(g, 130);
    rp_dag_edge(g, 5, RP_DAG_DURATION, RP_DAG_RECORDED);
    rp_dag_point(g, 160);
    rp_dag_weigh(g);
    for (size_t e = 0; e < sizeof weights / sizeof weights[0]; e++)
        rp_dag_set_weight(g, e, weights[e]);
    *state = &dag;
    return g->failed ? -1 : rp_dag_slots_find(g, &dag.slots, NULL);
}

static int release(void **state)
{
    struct rp_dag *dag = *state;

    rp_dag_slots_free(&dag->slots);
    rp_dag_graph_free(&dag->graph);
    return 0;
}

static void changed_graphs(void **state)
{
    const struct rp_dag *dag = *state;
    static const struct rp_dag_marked marked[] = {{QUEUE_EDGE, RP_DAG_KIND_MARKED + 1}};
    static const struct {
        uint32_t without_time, without;
        int64_t end_ns;
    } rows[] = {
        {0, 0, 160},
        {TEST_KIND(KERNEL), 0, 112},   /* 0 1 4 5: gaps and a launch */
        {TEST_KIND(HOST_GAP), 0, 155}, /* 0 1 2 3 5 6 without the first gap */
        {TEST_KIND(LAUNCH), 0, 156},
        {0, TEST_KIND(MARKED) << 1, 142}, /* by way of 4: 105 + 3 + 4 + 30 */
        {0, TEST_KIND(QUEUE), 160},       /* the only such edge is marked: of no class */
        {~0u, 0, 100},                    /* nothing takes time */
        {0, ~0u, 100},                    /* nothing holds: all at the start */
    };
    enum { COUNT = sizeof rows / sizeof rows[0] };
    struct rp_dag_variant lanes[COUNT];
    struct rp_err err = RP_ERR_INIT;

    for (size_t i = 0; i < COUNT; i++)
        lanes[i] = (struct rp_dag_variant){rows[i].without_time, rows[i].without, 0};
    assert_int_equal(dag_variants(dag, &test_trace, lanes, COUNT, marked, 1, &err), 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(lanes[i].end_ns, rows[i].end_ns);
}

static void contradicted_edges_hold_nothing(void **state)
{
    struct rp_dag *dag = *state;
    struct rp_dag_variant lanes[] = {{0, 0, 0}, {TEST_KIND(QUEUE), 0, 0}};
    struct rp_err err = RP_ERR_INIT;

    rp_dag_set_weight(&dag->graph, QUEUE_EDGE, RP_DAG_DROPPED_NS);
    assert_int_equal(dag_variants(dag, &test_trace, lanes, 2, NULL, 0, &err), 0);
    assert_int_equal(lanes[0].end_ns, 142);
    assert_int_equal(lanes[1].end_ns, 142); /* no weight is not the same as no contradiction */
}

/* The first kernel could be longer by what the queue edge would hold back, not the second. */
static void slack_of_operations(void **state)
{
    struct rp_dag *dag = *state;
    struct rp_err err = RP_ERR_INIT;
    int64_t *slack_ns;

    assert_int_equal(rp_dag_slack_find(dag, &slack_ns, &err), 0);
    assert_int_equal(rp_dag_slack_of(slack_ns, RP_DAG_OP_BIT), 0);
    assert_int_equal(rp_dag_slack_of(slack_ns, RP_DAG_OP_BIT | 1), 0);
    free(slack_ns);
    rp_dag_set_weight(&dag->graph, QUEUE_EDGE, RP_DAG_DROPPED_NS);
    assert_int_equal(rp_dag_slack_find(dag, &slack_ns, &err), 0);
    assert_int_equal(rp_dag_slack_of(slack_ns, RP_DAG_OP_BIT), 160 - 109 - 20);
    assert_int_equal(rp_dag_slack_of(slack_ns, RP_DAG_OP_BIT | 1), 0);
    free(slack_ns);
}

/* Without the queue the second kernel would begin by way of 4, at 112, while the first still runs.
 */
static void what_a_queue_costs(void **state)
{
    struct rp_dag *dag = *state;
    struct rp_dag_result found = {0};
    struct rp_err err = RP_ERR_INIT;

    test_flags[2] = test_flags[5] = RP_DAG_OP_START;
    assert_int_equal(rp_dag_pairs(dag, &test_trace, &found, &err), 0);
    assert_int_equal(found.unshared_queues_ns, 112 + 30 - 100);
    assert_int_equal(found.pair_count, 1);
    assert_string_equal(found.pairs[0].first, "first");
    assert_string_equal(found.pairs[0].second, "second");
    assert_int_equal(found.pairs[0].count, 1);
    assert_int_equal(found.pairs[0].waited_ns, 130 - 112);
    assert_int_equal(found.pairs[0].gain_ns, 160 - 142);
    free(found.pairs);
    test_flags[2] = test_flags[5] = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(changed_graphs, make, release),
        cmocka_unit_test_setup_teardown(contradicted_edges_hold_nothing, make, release),
        cmocka_unit_test_setup_teardown(slack_of_operations, make, release),
        cmocka_unit_test_setup_teardown(what_a_queue_costs, make, release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
