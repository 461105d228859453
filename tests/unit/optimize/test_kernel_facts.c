/*
 * Profiles in the shape that the schemas ask for, and the rank of their kernels: expected values by
 * hand.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/kernel_facts.h"

#include "unit/cmocka_all.h"

/* Profiles in the shape that the schemas ask for, written here; expected values by hand. */

static const char profile[] =
    "{\"device\": \"software\", \"runtime_ms\": 3.5, \"timing\": {\"model\": \"fast\","
    " \"bounds\": {\"calls\": 5, \"shortest_ms\": 1, \"longest_ms\": 9}},"
    " \"provenance\": {\"dispatches\": 5},"
    " \"gpus\": [{\"architecture\": \"gfx90a\"},"
    "            {\"architecture\": \"gfx942\", \"product\": \"AMD Instinct MI300X\"}],"
    " \"kernels\": ["
    "  {\"name\": \"k(int)\", \"symbol\": \"_Z1ki\", \"gpu\": 1, \"calls\": 4, \"total_ms\": 3.0,"
    "   \"timed_calls\": 4,"
    "   \"bounds\": {\"calls\": 3, \"shortest_ms\": 1, \"longest_ms\": 8},"
    "   \"runtime_internal\": false, \"grid\": [1024, 2, 1], \"block\": [256, 1, 1],"
    "   \"geometries\": 2,"
    "   \"resources\": {\"vgpr_per_thread\": 16, \"agpr_per_thread\": 0, \"sgpr_per_wave\": 32,"
    "                   \"lds_bytes\": 1024, \"scratch_bytes\": 0},"
    "   \"occupancy\": {\"theoretical\": 0.5, \"waves\": 16, \"waves_per_simd\": 4,"
    "                   \"max_waves_per_simd\": 8, \"limiter\": \"lds\"}},"
    "  {\"name\": \"bare\", \"symbol\": \"bare\", \"gpu\": 0, \"calls\": 1, \"total_ms\": null,"
    "   \"timed_calls\": 1, \"bounds\": {\"calls\": 1, \"shortest_ms\": 9, \"longest_ms\": 8},"
    "   \"resources\": null, \"occupancy\": {\"theoretical\": null}}]}";

static const char analysis[] =
    "{\"basis\": \"critical_path\", \"kernels\": ["
    "  {\"name\": \"k(int)\", \"weight\": 0.75, \"headroom_fraction\": 0.5,"
    "   \"headroom_assumption\": \"no stalls\", \"end_to_end_bound\": 1.6,"
    "   \"end_to_end_bound_if_free\": null, \"thread_traces\": {\"partial\": 1},"
    "   \"occupancy\": {\"achieved_waves_per_simd\": 2.5},"
    "   \"bottleneck\": {\"text\": \"memory latency at k.hip:3\", \"label\": \"latency_bound\", "
    "\"rules\": [{\"id\": \"few_waves\","
    "     \"conditions\": [{\"feature\": \"stall\", \"is\": \"below\", \"threshold\": 0.3,"
    "                       \"value\": 0.125},"
    "                      {\"feature\": \"wait\", \"is\": \"at_least\", \"threshold\": 1,"
    "                       \"value\": 2}]}]},"
    "   \"features\": {\"stall\": 0.4, \"stall_memory\": 0.1, \"stall_lds\": 0.3,"
    "                  \"stall_math\": null, \"hbm_share\": 0.25, \"bound_share\": 0.25}}]}";

static const char roofline[] =
    "{\"kernels\": [{\"name\": \"k(int)\", \"bound\": \"hbm\", \"flops\": 100,"
    "  \"hbm_read_bytes\": 30, \"hbm_write_bytes\": 20, \"arithmetic_intensity\": 2,"
    "  \"achieved_gflops\": 7, \"achieved_bandwidth_gbps\": 3.5}]}";

static const char traces[] =
    "{\"thread_trace\": [{\"completeness\": \"complete\","
    "  \"kernels\": [{\"symbol\": \"_Z1ki\"}, {\"symbol\": \"_Z5otherv\"}],"
    "  \"instructions\": ["
    "   {\"kernel\": 0, \"source\": \"k.hip:7\", \"sums\": {\"stall_cycles\": 10}},"
    "   {\"kernel\": 0, \"source\": \"k.hip:9\", \"sums\": {\"stall_cycles\": 60}},"
    "   {\"kernel\": 0, \"source\": null, \"sums\": {\"stall_cycles\": 10}},"
    "   {\"kernel\": 1, \"source\": \"k.hip:9\", \"sums\": {\"stall_cycles\": 1000}},"
    "   {\"kernel\": 0, \"source\": \"k.hip:7\", \"sums\": {\"stall_cycles\": 20}}]}]}";

static char *folder_with(const char *const files[][2])
{
    char *dir = strdup("/tmp/rp-facts-XXXXXX");
    struct rp_err err = RP_ERR_INIT;

    assert_non_null(dir);
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; files[i][0]; i++) {
        rp_autofree char *path = rp_path_join(dir, files[i][0]);

        assert_int_equal(rp_write_file(path, files[i][1], strlen(files[i][1]), &err), 0);
    }
    return dir;
}

static void is(struct rp_quantity quantity, double value)
{
    assert_true(quantity.known);
    assert_true(fabs(quantity.value - value) < 1e-9 * (1 + fabs(value)));
}

static void joins_all_four_files(void **state)
{
    rp_autofree char *dir = folder_with((const char *const[][2]){{"profile.json", profile},
                                                                 {"analysis.json", analysis},
                                                                 {"roofline.json", roofline},
                                                                 {"thread_trace.json", traces},
                                                                 {0}});
    struct rp_err err = RP_ERR_INIT;
    struct rp_facts facts;
    const struct rp_kernel_facts *k;

    (void)state;
    assert_int_equal(rp_facts_read(dir, &facts, &err), 0);
    assert_int_equal(facts.count, 2);
    is(facts.runtime_ms, 3.5);
    assert_true(facts.between_ns[0] == 1e6 && facts.between_ns[1] == 9e6);
    assert_true(facts.kernels[0].between_ns[1] == 0); /* those of one launch are not known */
    assert_true(facts.kernels[1].between_ns[1] == 0); /* the least is above the greatest */
    k = &facts.kernels[0];
    assert_string_equal(k->symbol, "_Z1ki");
    assert_string_equal(k->arch, "gfx942");
    assert_string_equal(k->product, "AMD Instinct MI300X");
    assert_string_equal(k->device, "software");
    assert_string_equal(k->timing, "counts");
    is(k->calls, 4);
    is(k->time_ns, 3e6);
    is(k->weight, 0.75);
    is(k->headroom, 0.5);
    is(k->end_to_end_bound, 1.6);
    assert_false(k->free_bound.known);
    assert_string_equal(k->bottleneck, "latency_bound");
    assert_string_equal(k->finding, "memory latency at k.hip:3");
    assert_int_equal(k->rule_count, 1);
    assert_string_equal(k->rules[0].text, "stall 0.125 is below 0.3 and wait 2 is at least 1");
    assert_string_equal(k->bound, "hbm");
    is(k->bound_share, 0.25);
    is(k->bytes, 50);
    assert_int_equal(k->stall_count, 2);
    assert_string_equal(k->stalls[0].name, "lds");
    assert_int_equal(k->ceiling_count, 1);
    is(k->achieved_waves_per_simd, 2.5);
    assert_true(k->trace_partial);
    assert_int_equal(k->line_count, 2);
    assert_string_equal(k->lines[0].place, "k.hip:9");
    assert_int_equal(k->lines[0].stall_cycles, 60);
    assert_true(fabs(k->lines[1].share - 0.3) < 1e-12);
    is(k->lds_bytes, 1024);
    assert_int_equal(k->grid[1], 2);
    assert_int_equal(k->geometry_count, 2);
    assert_string_equal(k->limiter, "lds");
    rp_facts_free(&facts);
    rp_remove_tree(dir);
}

static void what_is_not_there_is_unknown(void **state)
{
    rp_autofree char *dir = folder_with((const char *const[][2]){{"profile.json", profile}, {0}});
    struct rp_err err = RP_ERR_INIT;
    struct rp_facts facts;
    const struct rp_kernel_facts *bare;

    (void)state;
    assert_int_equal(rp_facts_read(dir, &facts, &err), 0);
    bare = &facts.kernels[1];
    assert_string_equal(bare->arch, "gfx90a");
    assert_null(bare->product);
    assert_false(bare->time_ns.known);
    assert_false(bare->weight.known);
    assert_false(bare->vgprs.known);
    assert_false(bare->occupancy.known);
    assert_int_equal(bare->grid[0], 0);
    assert_null(bare->bottleneck);
    assert_int_equal(bare->line_count, 0);
    assert_false(facts.kernels[0].headroom.known);
    rp_facts_free(&facts);
    rp_remove_tree(dir);
}

static void damaged_files_are_refused_by_name(void **state)
{
    static const char *const damaged[][2] = {{"profile.json", "{\"kernels\": 3}"},
                                             {"profile.json", "[]"},
                                             {"profile.json", "{\"kernels\": [{}]}"},
                                             {"profile.json", "{\"kernels\": ["},
                                             {"analysis.json", "{"}};

    (void)state;
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        const bool own = strcmp(damaged[i][0], "profile.json") == 0;
        rp_autofree char *dir = folder_with((const char *const[][2]){
            {damaged[i][0], damaged[i][1]}, {own ? NULL : "profile.json", profile}, {0}});
        struct rp_err err = RP_ERR_INIT;
        struct rp_facts facts;

        assert_int_equal(rp_facts_read(dir, &facts, &err), -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, damaged[i][0]));
        rp_remove_tree(dir);
    }
}

/* Kernels with parts of the time and headrooms; order, bounds and reasons by hand. */

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

static struct rp_ranked_kernels ranked(struct rp_kernel_facts *kernels, size_t count,
                                       const bool *wanted)
{
    const struct rp_facts facts = {.kernels = kernels, .count = count};
    const struct rp_rank_limits limits = rp_rank_usual_limits();
    struct rp_ranked_kernels rank;

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
    struct rp_ranked_kernels rank = ranked(kernels, 5, NULL);

    (void)state;
    assert_int_equal(rank.tried, 3);
    assert_int_equal(rank.entries[0].kernel, 1);
    assert_int_equal(rank.entries[1].kernel, 0);
    assert_int_equal(rank.entries[2].kernel, 2);
    near(rank.entries[0].priority, 0.27);
    near(rank.entries[0].bound, 1 / 0.73); /* Amdahl */
    assert_int_equal(rank.entries[3].kernel, 3);
    assert_string_equal(
        rank.entries[3].stop,
        "its part of the time is 19.0 %, less than 20 %: use --kernel NAME to try it all the same");
    assert_string_equal(
        rank.entries[4].stop,
        "what it could gain is 9.9 %, less than 10 %: use --kernel NAME to try it all the same");
    rp_ranked_kernels_free(&rank);
}

static void where_copies_take_the_time_the_best_is_tried(void **state)
{
    struct rp_kernel_facts kernels[] = {
        K("a", KNOWN(0.1), KNOWN(0.3)),   /* 0.03 */
        K("b", KNOWN(0.08), KNOWN(0.5)),  /* 0.04 */
        K("c", KNOWN(0.9), KNOWN(0.099)), /* nothing to gain */
    };
    const struct rp_facts facts = {.kernels = kernels, .count = 3};
    struct rp_rank_limits limits = rp_rank_usual_limits();
    struct rp_ranked_kernels rank;

    (void)state;
    rp_rank_kernels(&facts, &limits, NULL, &rank);
    assert_int_equal(rank.tried, 0);
    rp_ranked_kernels_free(&rank);
    limits.best_anyway = true;
    rp_rank_kernels(&facts, &limits, NULL, &rank);
    assert_int_equal(rank.tried, 1);
    assert_int_equal(rank.entries[0].kernel, 1);
    assert_null(rank.entries[0].stop);
    assert_non_null(rank.entries[1].stop);
    rp_ranked_kernels_free(&rank);
    kernels[1].headroom.value = 0.2; /* 0.016 */
    kernels[0].headroom.value = 0.19;
    rp_rank_kernels(&facts, &limits, NULL, &rank);
    assert_int_equal(rank.tried, 0);
    rp_ranked_kernels_free(&rank);
}

static void communication_is_tried_when_it_is_named(void **state)
{
    struct rp_kernel_facts kernels[] = {K("a", KNOWN(0.3), KNOWN(0.9)),
                                        K("ncclDevKernel_Generic_2(int)", KNOWN(0.7), KNOWN(0.9))};
    struct rp_ranked_kernels rank = ranked(kernels, 2, NULL);

    (void)state;
    assert_int_equal(rank.tried, 1);
    assert_int_equal(rank.entries[0].kernel, 0);
    assert_string_equal(rank.entries[1].stop,
                        "it is communication (RCCL), which waits for other GPUs: "
                        "use --kernel NAME to try it all the same");
    rp_ranked_kernels_free(&rank);
    rank = ranked(kernels, 2, (const bool[]){false, true});
    assert_int_equal(rank.tried, 1);
    assert_int_equal(rank.entries[0].kernel, 1);
    rp_ranked_kernels_free(&rank);
}

static void unknown_headroom_counts_as_all(void **state)
{
    struct rp_kernel_facts kernels[] = {K("a", KNOWN(0.5), KNOWN(0.9)), K("b", KNOWN(0.5), {0})};
    struct rp_ranked_kernels rank = ranked(kernels, 2, NULL);

    (void)state;
    assert_int_equal(rank.tried, 2);
    assert_int_equal(rank.entries[0].kernel, 1);
    assert_false(rank.entries[0].bound.known);
    near(rank.entries[1].bound, 1 / 0.55);
    rp_ranked_kernels_free(&rank);
}

static void the_bound_of_the_graph_goes_first(void **state)
{
    struct rp_kernel_facts kernels[] = {K("a", KNOWN(0.5), KNOWN(0.5))};
    struct rp_ranked_kernels rank;

    (void)state;
    kernels[0].end_to_end_bound =
        (struct rp_quantity)KNOWN(1.1); /* another path is nearly as long */
    rank = ranked(kernels, 1, NULL);
    near(rank.entries[0].bound, 1.1);
    rp_ranked_kernels_free(&rank);
}

static void without_a_graph_the_time_of_all_kernels_counts(void **state)
{
    struct rp_kernel_facts kernels[] = {
        {.name = TEXT("a"), .symbol = TEXT("a"), .time_ns = KNOWN(100)},
        {.name = TEXT("b"), .symbol = TEXT("b"), .time_ns = KNOWN(300)},
        {.name = TEXT("c"), .symbol = TEXT("c")},
    };
    struct rp_ranked_kernels rank = ranked(kernels, 3, NULL);

    (void)state;
    assert_int_equal(rank.tried, 2);
    near(rank.entries[0].weight, 0.75);
    assert_true(rank.entries[0].weight_of_kernel_time);
    near(rank.entries[1].weight, 0.25);
    assert_string_equal(rank.entries[2].stop, "its part of the time is not known");
    rp_ranked_kernels_free(&rank);
}

static void what_cannot_be_changed_is_not_tried(void **state)
{
    struct rp_kernel_facts kernels[] = {
        K("a", KNOWN(0.9), KNOWN(0.9)),
        K("b", KNOWN(0.9), KNOWN(0.9)),
        K("c", KNOWN(0.9), KNOWN(0.9)),
    };
    struct rp_ranked_kernels rank;

    (void)state;
    kernels[0].runtime_internal = true;
    kernels[1].symbol = NULL;
    kernels[2].bottleneck = TEXT("launch_host_bound");
    rank = ranked(kernels, 3, NULL);
    assert_int_equal(rank.tried, 0);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(rank.entries[i].stop);
    rp_ranked_kernels_free(&rank);
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
    struct rp_ranked_kernels rank;

    (void)state;
    kernels[3].runtime_internal = true;
    rank = ranked(kernels, 4, wanted);
    assert_int_equal(rank.tried, 2);
    assert_int_equal(rank.entries[0].kernel, 1);
    assert_int_equal(rank.entries[1].kernel, 2);
    assert_non_null(rank.entries[3].stop);
    rp_ranked_kernels_free(&rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_all_four_files),
        cmocka_unit_test(what_is_not_there_is_unknown),
        cmocka_unit_test(damaged_files_are_refused_by_name),
        cmocka_unit_test(by_weight_times_headroom),
        cmocka_unit_test(where_copies_take_the_time_the_best_is_tried),
        cmocka_unit_test(communication_is_tried_when_it_is_named),
        cmocka_unit_test(unknown_headroom_counts_as_all),
        cmocka_unit_test(the_bound_of_the_graph_goes_first),
        cmocka_unit_test(without_a_graph_the_time_of_all_kernels_counts),
        cmocka_unit_test(what_cannot_be_changed_is_not_tried),
        cmocka_unit_test(a_named_kernel_is_tried_whatever_it_weighs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
