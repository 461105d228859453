#include "unit/cmocka_all.h"
#include "unit/scratch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/roofline.h"
#include "base/err.h"
#include "cli/profile_session.h"

#include "cli/profile_analyses.c"

/* Limits as rocprof-compute's tables and AMD's documentation give them for gfx9: of this test's
 * own, so that a slip in the table shows. */
static unsigned limit_of(const char *block)
{
    static const struct {
        const char *block;
        unsigned limit;
    } known[] = {{"SQ", 8},  {"TA", 2},  {"TD", 2},   {"TCP", 4}, {"TCC", 4}, {"CPC", 2},
                 {"CPF", 2}, {"SPI", 6}, {"GRBM", 2}, {"GDS", 4}, {"GL2C", 4}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].block, block) == 0)
            return known[i].limit;
    fail_msg("no limit of block %s", block);
    return 0;
}

static void test_plan(const char *gfx, const char *names, struct rp_counter_plan *ret)
{
    struct rp_counter_request wishes[64] = {0};
    struct rp_err err = RP_ERR_INIT;
    char room[2048];
    size_t count = 0;

    snprintf(room, sizeof room, "%s", names);
    for (char *name = strtok(room, " "); name; name = strtok(NULL, " "), count++)
        wishes[count] = (struct rp_counter_request){.name = name, .group = (unsigned)count};
    if (counter_plan_make(gfx, wishes, count, ret, &err) != 0)
        fail_msg("%s", err.text);
}

/* "A B | C": the passes. */
static void assert_passes(const char *gfx, const char *names, const char *wanted)
{
    struct rp_counter_plan got;
    char text[2048] = "";

    test_plan(gfx, names, &got);
    for (size_t i = 0; i < got.count; i++)
        for (size_t j = 0; j < got.passes[i].count; j++) {
            size_t length = strlen(text);
            snprintf(text + length, sizeof text - length, "%s%s",
                     j   ? " "
                     : i ? " | "
                         : "",
                     got.passes[i].names[j]);
        }
    assert_string_equal(text, wanted);
    counter_plan_free(&got);
}

static void test_limits(void **state)
{
    (void)state;
    assert_passes("gfx942", "TCC_HIT_sum TCC_MISS_sum TCC_REQ_sum TCC_READ_sum",
                  "TCC_HIT_sum TCC_MISS_sum TCC_REQ_sum TCC_READ_sum");
    assert_passes("gfx942", "TCC_HIT_sum TCC_MISS_sum TCC_REQ_sum TCC_READ_sum TCC_WRITE_sum",
                  "TCC_HIT_sum TCC_MISS_sum TCC_REQ_sum TCC_READ_sum | TCC_WRITE_sum");
    /* Another block has room where the first one has none. */
    assert_passes("gfx942", "TA_TA_BUSY TA_BUFFER_WAVEFRONTS TA_FLAT_WAVEFRONTS TD_TD_BUSY",
                  "TA_TA_BUSY TA_BUFFER_WAVEFRONTS TD_TD_BUSY | TA_FLAT_WAVEFRONTS");
    /* Sum and maximum of one counter are read once. */
    assert_passes("gfx942", "TA_TA_BUSY_sum TA_TA_BUSY_max TA_FLAT_WAVEFRONTS_sum",
                  "TA_TA_BUSY_sum TA_TA_BUSY_max TA_FLAT_WAVEFRONTS_sum");
    /* SQC has no counters of its own. */
    assert_passes("gfx90a",
                  "SQ_WAVES SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_SMEM SQ_INSTS_LDS SQ_INSTS_FLAT"
                  " SQC_ICACHE_REQ SQC_ICACHE_HITS SQC_DCACHE_REQ",
                  "SQ_WAVES SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_SMEM SQ_INSTS_LDS SQ_INSTS_FLAT"
                  " SQC_ICACHE_REQ SQC_ICACHE_HITS | SQC_DCACHE_REQ");
    /* Asked for twice, or with another GPU's words of it. */
    assert_passes("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "SQ_WAVES SQ_WAVES", "SQ_WAVES");
}

static void test_derived(void **state)
{
    (void)state;
    /* 3 + 2 TCC on gfx942; on gfx90a 2 + 2. */
    assert_passes("gfx942", "FETCH_SIZE WRITE_SIZE", "FETCH_SIZE | WRITE_SIZE");
    assert_passes("gfx90a", "FETCH_SIZE WRITE_SIZE", "FETCH_SIZE WRITE_SIZE");
    /* Inputs that are collected anyway cost nothing. */
    assert_passes("gfx942", "TCC_EA0_RDREQ_sum TCC_BUBBLE_sum FETCH_SIZE TCC_HIT_sum",
                  "TCC_EA0_RDREQ_sum TCC_BUBBLE_sum FETCH_SIZE TCC_HIT_sum");
    /* An accumulation takes two of SQ's eight. */
    assert_passes("gfx942",
                  "MeanOccupancyPerCU SQ_WAVES SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_SMEM"
                  " SQ_INSTS_LDS SQ_INSTS_FLAT SQ_BUSY_CYCLES",
                  "MeanOccupancyPerCU SQ_WAVES SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_SMEM"
                  " SQ_INSTS_LDS SQ_INSTS_FLAT | SQ_BUSY_CYCLES");
    assert_passes("gfx1030", "FETCH_SIZE WRITE_SIZE SQ_INSTS_VALU",
                  "FETCH_SIZE SQ_INSTS_VALU | WRITE_SIZE");
}

static void test_unknown(void **state)
{
    (void)state;
    /* Nobody here knows what it needs: alone. */
    assert_passes("gfx942", "SQ_WAVES SomeNewMetric SQ_BUSY_CYCLES",
                  "SQ_WAVES SQ_BUSY_CYCLES | SomeNewMetric");
    assert_passes("gfx1201", "SQ_WAVES SQ_BUSY_CYCLES", "SQ_WAVES | SQ_BUSY_CYCLES");
    assert_passes("", "SQ_WAVES SQ_BUSY_CYCLES", "SQ_WAVES | SQ_BUSY_CYCLES");
}

static void test_refused(void **state)
{
    static const char *const bad[] = {"", "SQ WAVES", "SQ_WAVES;rm", "--output-format", "a\"b"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rp_counter_request wish = {.name = bad[i]};
        struct rp_counter_plan got = {0};
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(counter_plan_make("gfx942", &wish, 1, &got, &err), -RP_USAGE);
        assert_non_null(strstr(err.text, "is not the name of a hardware counter"));
        assert_null(got.passes);
    }
}

static void test_split(void **state)
{
    struct rp_counter_plan got;

    (void)state;
    test_plan("gfx942", "SQ_WAVES SQ_BUSY_CYCLES GRBM_COUNT", &got);
    assert_int_equal(got.count, 1);
    counter_plan_split(&got, 0);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.passes[0].count, 1);
    assert_string_equal(got.passes[0].names[0], "SQ_WAVES");
    assert_null(got.passes[0].names[1]);
    assert_int_equal(got.passes[1].count, 2);
    assert_string_equal(got.passes[1].names[1], "GRBM_COUNT");
    counter_plan_free(&got);
}

/* Every counter of the roofline once, formulas whole, limits kept, and no more passes than the
 * busiest block needs. */
static void check_roofline(const char *gfx, size_t passes)
{
    struct rp_roofline_need needs[64];
    struct rp_counter_request wishes[64] = {0};
    struct rp_counter_plan got;
    struct rp_err err = RP_ERR_INIT;
    size_t count = rp_roofline_needs(gfx, needs, 64), seen = 0;

    assert_in_range(count, 3, 64);
    for (size_t i = 0; i < count; i++)
        wishes[i] = (struct rp_counter_request){.name = needs[i].name, .group = needs[i].group};
    assert_int_equal(counter_plan_make(gfx, wishes, count, &got, &err), 0);
    assert_int_equal(got.count, passes);
    for (size_t p = 0; p < got.count; p++) {
        const struct rp_counter_pass *pass = &got.passes[p];

        for (size_t i = 0; i < pass->count; i++) {
            size_t length = strcspn(pass->names[i], "_");
            char block[16];
            unsigned used = 0;

            snprintf(block, sizeof block, "%.*s", (int)length, pass->names[i]);
            if (strcmp(block, "FETCH") == 0 || strcmp(block, "WRITE") == 0)
                continue;
            for (size_t j = 0; j < pass->count; j++)
                used += strncmp(pass->names[j], pass->names[i], length + 1) == 0;
            if (used > limit_of(block))
                fail_msg("%s: %u counters of %s in pass %zu", gfx, used, block, p + 1);
        }
        seen += pass->count;
    }
    assert_int_equal(seen, count);
    for (size_t i = 0; i + 1 < count; i++) {
        size_t home[2] = {0};

        if (needs[i].group != needs[i + 1].group ||
            strncmp(needs[i].name, "SQ_INSTS_VALU_MFMA", 18) == 0)
            continue;
        for (size_t p = 0; p < got.count; p++)
            for (size_t j = 0; j < got.passes[p].count; j++)
                for (size_t k = 0; k < 2; k++)
                    if (strcmp(got.passes[p].names[j], needs[i + k].name) == 0)
                        home[k] = p;
        if (home[0] != home[1] && strcmp(gfx, "gfx1030") != 0)
            fail_msg("%s and %s are in different passes", needs[i].name, needs[i + 1].name);
    }
    counter_plan_free(&got);
}

static void test_roofline(void **state)
{
    (void)state;
    check_roofline("gfx90a", 3);
    check_roofline("gfx942", 3);
    check_roofline("gfx950", 3);
    check_roofline("gfx1030", 2);
}

/* A profile whose trace is good stays, whatever becomes of the files that nobody has asked for. */
static void test_unasked_files_cost_nothing(void **state)
{
    rp_autofree char *in_the_way = scratch_put("file", "");
    rp_autofree char *folder = rp_path_join(in_the_way, "below");
    const struct rp_profile_cli options = {0};
    struct rp_profile profile = {0};
    struct rp_profile_session session = {.profile = &profile,
                                         .tracer = &rp_tracer_builtin,
                                         .dir = {.path = scratch_dir, .partial = folder}};
    struct rp_dag_result graph = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    complete(&options, &session, &graph, false, &err);
    assert_int_equal(err.code, RP_OK);
    assert_string_equal(err.text, "");
    rp_dag_result_free(&graph);
}

/* A trace of which no more than the beginning is there once it is open. */
static struct rp_store *broken_store(void)
{
    rp_autofree char *good =
        rp_path_join(getenv("RP_TEST_DATA"), "cases/zero_durations/trace_results.db");
    rp_autofree char *path = rp_path_join(scratch_dir, "trace_results.db");
    struct rp_store *store = NULL;
    struct rp_err err = RP_ERR_INIT;
    void *bytes = NULL;
    size_t count = 0;

    assert_int_equal(rp_read_file(good, 16 << 20, RP_BAD_INPUT, &bytes, &count, &err), 0);
    assert_int_equal(rp_write_file(path, bytes, count, &err), 0);
    free(bytes);
    assert_int_equal(rp_store_open(path, &store, &err), 0);
    assert_int_equal(truncate(path, 4096), 0);
    return store;
}

/* The file says why it holds nothing. */
static void test_unasked_roofline_has_its_reason(void **state)
{
    rp_autofree char *partial = rp_path_join(scratch_dir, ".partial-7");
    rp_autofree char *file = rp_path_join(partial, "roofline.json");
    const struct rp_profile_cli options = {0};
    struct rp_profile profile = {0};
    struct rp_store *broken = broken_store();
    struct rp_profile_session session = {.profile = &profile,
                                         .tracer = &rp_tracer_builtin,
                                         .stores = &broken,
                                         .store_count = 1,
                                         .dir = {.path = scratch_dir, .partial = partial}};
    struct rp_dag_result graph = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    complete(&options, &session, &graph, false, &err);
    assert_int_equal(err.code, RP_OK);
    json_t *json = json_load_file(file, 0, NULL);
    assert_true(json_is_null(json_object_get(json, "roofline")));
    assert_non_null(strstr(json_string_value(json_object_get(json, "reason")), "damaged"));
    json_decref(json);
    rp_store_close(broken);
    rp_dag_result_free(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_derived),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_roofline),
        cmocka_unit_test(test_unasked_files_cost_nothing),
        cmocka_unit_test(test_unasked_roofline_has_its_reason),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
