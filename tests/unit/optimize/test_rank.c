/* Kernels with parts of the time and headrooms; order, bounds and reasons by hand. */
#include "optimize/kernel_facts.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

#include "unit/cmocka_all.h"

#define KNOWN(x)                                                                                   \
    {                                                                                              \
        true, x                                                                                    \
    }
#define TEXT(x) ((char *)(uintptr_t)(x))
#define K(n, w, h)                                                                                 \
    {                                                                                              \
        .name = TEXT(n), .symbol = TEXT(n), .weight = w, .headroom = h,                            \
        .weight_basis = TEXT("critical_path")                                                      \
    }

static struct rp_rank ranked(struct rp_kernel_facts *kernels, size_t count, const bool *wanted)
{
    const struct rp_facts facts = {.kernels = kernels, .count = count};
    const struct rp_rank_limits limits = rp_rank_usual_limits();
    struct rp_rank rank;

    rp_rank_kernels(&facts, &limits, wanted, &rank);
    return rank;
}

static void near(struct rp_quantity quantity, double value)
{
    assert_true(quantity.known);
    assert_true(fabs(quantity.value - value) < 1e-12);
}

static void by_weight_times_headroom(void **state)
{
    struct rp_kernel_facts kernels[] = {
        K("a", KNOWN(0.5), KNOWN(0.2)),   /* 0.10 */
        K("b", KNOWN(0.3), KNOWN(0.9)),   /* 0.27 */
        K("c", KNOWN(0.2), KNOWN(0.1)),   /* 0.02: neither is below its limit */
        K("d", KNOWN(0.19), KNOWN(1)),    /* too small a part */
        K("e", KNOWN(0.9), KNOWN(0.099)), /* nothing to gain */
    };
    struct rp_rank rank = ranked(kernels, 5, NULL);

    (void)state;
    assert_int_equal(rank.tried, 3);
    assert_int_equal(rank.entries[0].kernel, 1);
    assert_int_equal(rank.entries[1].kernel, 0);
    assert_int_equal(rank.entries[2].kernel, 2);
    near(rank.entries[0].priority, 0.27);
    near(rank.entries[0].bound, 1 / 0.73); /* Amdahl */
    assert_int_equal(rank.entries[3].kernel, 3);
    assert_string_equal(rank.entries[3].stop, "its part of the time is 19.0 %, less than 20 %");
    assert_string_equal(rank.entries[4].stop, "what it could gain is 9.9 %, less than 10 %");
    rp_rank_free(&rank);
}

static void unknown_headroom_counts_as_all(void **state)
{
    struct rp_kernel_facts kernels[] = {K("a", KNOWN(0.5), KNOWN(0.9)), K("b", KNOWN(0.5), {0})};
    struct rp_rank rank = ranked(kernels, 2, NULL);

    (void)state;
    assert_int_equal(rank.tried, 2);
    assert_int_equal(rank.entries[0].kernel, 1);
    assert_false(rank.entries[0].bound.known);
    near(rank.entries[1].bound, 1 / 0.55);
    rp_rank_free(&rank);
}

static void the_bound_of_the_graph_goes_first(void **state)
{
    struct rp_kernel_facts kernels[] = {K("a", KNOWN(0.5), KNOWN(0.5))};
    struct rp_rank rank;

    (void)state;
    kernels[0].end_to_end_bound =
        (struct rp_quantity)KNOWN(1.1); /* another path is nearly as long */
    rank = ranked(kernels, 1, NULL);
    near(rank.entries[0].bound, 1.1);
    rp_rank_free(&rank);
}

static void without_a_graph_the_time_of_all_kernels_counts(void **state)
{
    struct rp_kernel_facts kernels[] = {
        {.name = TEXT("a"), .symbol = TEXT("a"), .time_ns = KNOWN(100)},
        {.name = TEXT("b"), .symbol = TEXT("b"), .time_ns = KNOWN(300)},
        {.name = TEXT("c"), .symbol = TEXT("c")},
    };
    struct rp_rank rank = ranked(kernels, 3, NULL);

    (void)state;
    assert_int_equal(rank.tried, 2);
    near(rank.entries[0].weight, 0.75);
    assert_true(rank.entries[0].weight_of_kernel_time);
    near(rank.entries[1].weight, 0.25);
    assert_string_equal(rank.entries[2].stop, "its part of the time is not known");
    rp_rank_free(&rank);
}

static void what_cannot_be_changed_is_not_tried(void **state)
{
    struct rp_kernel_facts kernels[] = {
        K("a", KNOWN(0.9), KNOWN(0.9)),
        K("b", KNOWN(0.9), KNOWN(0.9)),
        K("c", KNOWN(0.9), KNOWN(0.9)),
    };
    struct rp_rank rank;

    (void)state;
    kernels[0].runtime_internal = true;
    kernels[1].symbol = NULL;
    kernels[2].bottleneck = TEXT("launch_host_bound");
    rank = ranked(kernels, 3, NULL);
    assert_int_equal(rank.tried, 0);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(rank.entries[i].stop);
    rp_rank_free(&rank);
}

static void a_named_kernel_is_tried_whatever_it_weighs(void **state)
{
    struct rp_kernel_facts kernels[] = {
        K("a", KNOWN(0.9), KNOWN(0.9)),
        K("b", KNOWN(0.01), KNOWN(0.01)),
        K("c", {0}, {0}),
        K("d", KNOWN(0.9), KNOWN(0.9)),
    };
    const bool wanted[] = {false, true, true, true};
    struct rp_rank rank;

    (void)state;
    kernels[3].runtime_internal = true;
    rank = ranked(kernels, 4, wanted);
    assert_int_equal(rank.tried, 2);
    assert_int_equal(rank.entries[0].kernel, 1);
    assert_int_equal(rank.entries[1].kernel, 2);
    assert_non_null(rank.entries[3].stop);
    rp_rank_free(&rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_weight_times_headroom),
        cmocka_unit_test(unknown_headroom_counts_as_all),
        cmocka_unit_test(the_bound_of_the_graph_goes_first),
        cmocka_unit_test(without_a_graph_the_time_of_all_kernels_counts),
        cmocka_unit_test(what_cannot_be_changed_is_not_tried),
        cmocka_unit_test(a_named_kernel_is_tried_whatever_it_weighs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
