/* Recorded spaces of other tuners. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "tune/recorded_space.h"
#include "tune/space.h"
#include "unit/cmocka_all.h"

static struct rp_recorded parse(const char *text)
{
    struct rp_recorded recorded;
    struct rp_err err = RP_ERR_INIT;

    if (rp_recorded_parse(text, strlen(text), &recorded, &err) < 0)
        fail_msg("%.200s: %s", text, err.text);
    return recorded;
}

#define CACHE_HEAD                                                                                 \
    "{\n\"device_name\": \"some GPU\",\n\"kernel_name\": \"gemm\",\n\"problem_size\": "            \
    "[\n48,\n64\n],\n"                                                                             \
    "\"tune_params_keys\": [\n\"x\",\n\"how\"\n],\n\"tune_params\": {\n\"x\": "                    \
    "[\n1,\n2\n],\n\"how\": "                                                                      \
    "[\n\"a,}\"\n]\n},\n\"objective\": \"time\",\n\"cache\": {"
#define CACHE_ENTRIES                                                                              \
    "\n\"1,a,}\": {\"x\": 1, \"how\": \"a,}\", \"time\": 2.5, \"times\": [4.0, 1.5, 2.0], "        \
    "\"compile_time\": 300.5, \"benchmark_time\": 9.0, \"verification_time\": 0, \"timestamp\": "  \
    "\"2022-12-23 12:11:26+00:00\"},"                                                              \
    "\n\"2,a,}\": {\"x\": 2, \"how\": \"a,}\", \"time\": \"CompilationFailedConfig\", "            \
    "\"compile_time\": 100},"                                                                      \
    "\n\"3,a,}\": {\"x\": 3, \"how\": \"a,}\", \"__error__\": \"RuntimeFailedConfig\"},"           \
    "\n\"4,a,}\": {\"x\": 4, \"how\": \"a,}\", \"time\": 1e+20},"                                  \
    "\n\"5,a,}\": {\"x\": 5, \"how\": \"a,}\", \"time\": NaN},"                                    \
    "\n\"6,a,}\": {\"x\": 6, \"how\": \"a,}\", \"time\": 7, \"f\": Infinity}"

static void check_cache(const char *text)
{
    struct rp_recorded recorded = parse(text);
    const struct rp_recorded_run *runs = recorded.runs;

    assert_string_equal(recorded.name, "gemm");
    assert_string_equal(recorded.device, "some GPU");
    assert_int_equal(recorded.space->parameter_count, 2);
    assert_int_equal(recorded.space->count, 6);
    assert_int_equal(rp_space_value(recorded.space, 5, 0)->integer, 6);
    assert_string_equal(rp_space_value(recorded.space, 5, 1)->text, "a,}");
    assert_true(runs[0].ok && runs[0].runtime_ms == 2.5 && runs[0].median_ms == 2.0);
    assert_true(runs[0].min_ms == 1.5 && runs[0].first_ms == 4.0 && runs[0].repeats == 3);
    assert_true(runs[0].compile_ms == 300.5 && runs[0].bench_ms == 9);
    assert_true(runs[0].std_ms > 1.3228 && runs[0].std_ms < 1.3229);
    for (size_t i = 1; i < 5; i++)
        assert_false(runs[i].ok);
    assert_true(runs[1].compile_ms == 100 && runs[2].compile_ms < 0);
    assert_true(runs[5].ok && runs[5].runtime_ms == 7 && runs[5].repeats == 0);
    rp_recorded_free(&recorded);
}

static void kernel_tuner_closed_and_open(void **state)
{
    (void)state;
    check_cache(CACHE_HEAD CACHE_ENTRIES "}\n}");
    check_cache(CACHE_HEAD CACHE_ENTRIES ",");
    check_cache(CACHE_HEAD CACHE_ENTRIES);
    check_cache(CACHE_HEAD CACHE_ENTRIES
                ",\n\"7,a,}\": {\"x\": 7, \"how\": \"a,}\", \"times\": [1, 2");
}

/* Wherever a kill cuts the file, all entries that are whole are there. */
static void kernel_tuner_cut_anywhere(void **state)
{
    static const char text[] = CACHE_HEAD CACHE_ENTRIES;
    size_t whole = 0;

    (void)state;
    for (size_t bytes = sizeof CACHE_HEAD; bytes < sizeof text; bytes++) {
        struct rp_recorded recorded;
        struct rp_err err = RP_ERR_INIT;
        const int rc = rp_recorded_parse(text, bytes, &recorded, &err);

        /* entries, and nothing else, end with a brace outside of texts */
        whole += text[bytes - 1] == '}' && text[bytes - 2] != ',';
        assert_int_equal(rc, whole ? 0 : -RP_BAD_INPUT);
        if (whole) {
            assert_int_equal(recorded.space->count, whole);
            rp_recorded_free(&recorded);
        }
    }
    assert_int_equal(whole, 6);
}

static void t4(void **state)
{
    struct rp_recorded recorded = parse(
        "{\"schema_version\":\"1.0.0\",\"metadata\":{\"timeunit\":\"seconds\",\"device\":\"gpu\"},"
        "\"results\":["
        "{\"configuration\":{\"x\":1,\"p\":true},\"times\":{\"compilation_time\":0.25,\"runtimes\":"
        "[0.002,0.004],\"framework\":1},\"invalidity\":\"correct\",\"correctness\":1,"
        "\"measurements\":[{\"name\":\"power\",\"value\":3,\"unit\":\"W\"},"
        "{\"name\":\"time\",\"value\":3000,\"unit\":\"us\"}],\"objectives\":[\"time\"]},"
        "{\"configuration\":{\"x\":2},\"times\":{\"compilation\":0.5,\"runtimes\":[]},"
        "\"invalidity\":\"timeout\",\"correctness\":0},"
        "{\"configuration\":{\"x\":3},\"times\":{\"runtimes\":[0.5,1.5]},\"invalidity\":"
        "\"correct\","
        "\"correctness\":1}]}");
    const struct rp_recorded_run *runs = recorded.runs;

    (void)state;
    assert_string_equal(recorded.device, "gpu");
    assert_int_equal(recorded.space->count, 3);
    assert_true(runs[0].ok && runs[0].runtime_ms == 3 && runs[0].median_ms == 3);
    assert_true(runs[0].compile_ms == 250 && runs[0].repeats == 2 && runs[0].min_ms == 2);
    assert_true(!runs[1].ok && runs[1].compile_ms == 500);
    assert_true(runs[2].ok && runs[2].runtime_ms == 1000);
    assert_null(rp_space_value(recorded.space, 1, 1));
    rp_recorded_free(&recorded);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"{\"cache\":[]}", "no list \"tune_params_keys\""},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{}}", "no list \"configs\""},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":", "line 1"},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{\"1\":{\"x\":1}}}",
         "configuration \"1\": it has no \"time\""},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{\"1\":{\"x\":1,\"time\":1},"
         "\"1 \":{\"x\":1,\"time\":1}}}",
         "configuration 2: the same configuration"},
        {"{\"tune_params_keys\":[1],\"cache\":{\"1\":{\"x\":1,\"time\":1}}}",
         "name 1 is not a text"},
        {"{\"tune_params_keys\":[\"repeats\"],\"cache\":{\"1\":{\"time\":1}}}",
         "a parameter must not be named repeats"},
        {"{\"tune_params_keys\":[\"x\"],\"cache\":{\"1\":{\"x\":1,\"time\":-1}}}",
         "configuration 1: runtime_ms is not"},
        {"{\"results\":{}}", "T4: \"results\" is not a list"},
        {"{\"results\":[]}", "T4: \"results\" is empty"},
        {"{\"results\":[{\"configuration\":{}}]}", "T4: no \"configuration\" has a parameter"},
        {"", "it is empty"},
        {"{\"results\":[1]}", "T4: result 1 has no \"configuration\""},
        {"{\"results\":[{\"configuration\":{\"x\":1}}]}", "T4: result 1: it has no \"invalidity\""},
        {"{\"results\":[{\"configuration\":{\"x\":1},\"invalidity\":\"correct\"}]}",
         "result 1: it is correct, but has neither"},
        {"{\"results\":[{\"configuration\":{\"x\":1},\"invalidity\":\"correct\",\"objectives\":"
         "[\"score\"],\"measurements\":[{\"name\":\"score\",\"value\":1,\"unit\":\"\"}]}]}",
         "result 1: its objective score is no time"},
        {"{\"results\":[],\"metadata\":{\"timeunit\":\"parsecs\"}}",
         "timeunit parsecs is not known"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_recorded recorded;

        assert_int_equal(rp_recorded_parse(wrong[i].text, strlen(wrong[i].text), &recorded, &err),
                         -RP_BAD_INPUT);
        if (!strstr(err.text, wrong[i].said))
            fail_msg("%s: \"%s\" lacks \"%s\"", wrong[i].text, err.text, wrong[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernel_tuner_closed_and_open),
        cmocka_unit_test(kernel_tuner_cut_anywhere),
        cmocka_unit_test(t4),
        cmocka_unit_test(what_is_wrong_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
