/* Summaries of results, of what commands print as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/mcp.h"
#include "unit/cmocka_all.h"

static void sum_up(const char *tool, const char *json, struct rp_buf *to)
{
    json_t *object = json_loads(json, 0, NULL);
    const struct rp_mcp_command command = {0};

    assert_non_null(object);
    rp_mcp_put_summary(rp_mcp_tool_find(tool), &command, object, to);
    json_decref(object);
}

#define MODELLED "SOFTWARE DEVICE: modelled time (detailed timing), not hardware time\n"

static void results_of_tools(void **state)
{
    static const struct {
        const char *tool, *json, *text;
    } rows[] = {
        {"doctor", "{\"ready\": true, \"gpu\": {\"usable\": true, \"isa\": \"gfx942\"}}",
         "ready: programs run on the GPU (gfx942)\n"},
        {"doctor", "{\"ready\": true, \"gpu\": {\"usable\": false}}",
         "ready: programs run on the software MI300X; times are modelled, not hardware time\n"},
        {"doctor", "{\"ready\": false, \"problem\": \"no compiler\"}", "not ready: no compiler\n"},
        {"ci",
         "{\"verdict\": \"passed\", \"sentence\": \"all 9 gates hold\", \"device\": \"hardware\", "
         "\"gates\": [{\"outcome\": \"holds\"}, {\"outcome\": \"skipped\"}]}",
         "Passed: all 9 gates hold.\n"},
        {"ci",
         "{\"verdict\": \"failed\", \"sentence\": \"2 of 9 gates fail\", \"device\": \"software\", "
         "\"timing\": \"detailed (version 9)\", \"gates\": [{\"outcome\": \"undecided\", "
         "\"program\": \"mm\", "
         "\"sentence\": \"noise\", \"notes\": []}, {\"outcome\": \"fails\", \"program\": \"mm\", "
         "\"sentence\": \"14.2 % slower than base\", \"notes\": [{\"text\": \"sums\"}]}, "
         "{\"outcome\": "
         "\"fails\", \"program\": null, \"sentence\": \"x\", \"notes\": []}]}",
         "Failed: 2 of 9 gates fail.\nmm: 14.2 % slower than base: sums; and 2 more.\n" MODELLED},
        {"ci",
         "{\"verdict\": \"undecided\", \"sentence\": \"1 of 3 gates is undecided\", \"gates\": "
         "[{\"outcome\": \"undecided\", \"program\": null, \"sentence\": \"base does not build\", "
         "\"notes\": []}]}",
         "Undecided: 1 of 3 gates is undecided.\nbuild: base does not build.\n"},
        {"profile",
         "{\"device\": \"software\", \"timing\": {\"model\": \"detailed\"}, \"user_ms\": 1.5, "
         "\"wall_ms\": "
         "null, \"stability\": {\"runs\": 3, \"classification\": \"stable\", \"cv\": 0.012}, "
         "\"kernels\": [{\"name\": \"k\", \"calls\": 2, \"total_ms\": 1.2, \"share\": 0.8, "
         "\"runtime_internal\": false}, {\"name\": \"l\", \"calls\": 1, \"runtime_internal\": "
         "false}, "
         "{\"name\": \"copy\", \"calls\": 9, \"runtime_internal\": true}]}",
         "The program's kernels take 1.500 ms in 3 launches of 2 kernels; k takes most: 1.200 ms, "
         "80.0 %.\n"
         "Their time is stable: its CV over 3 runs is 1.2 %.\n" MODELLED},
        {"profile",
         "{\"device\": \"hardware\", \"timing\": null, \"wall_ms\": 12, \"kernels\": []}",
         "The whole process takes 12.00 ms of wall clock.\n"},
        {"why",
         "{\"device\": \"software\", \"timing\": \"detailed\", \"program\": {\"text\": \"`k` takes "
         "67 %.\"}, \"rules_version\": \"2.0\", "
         "\"kernels\": [{\"name\": \"k\", \"time_ns\": 2000, \"bottleneck\": {\"text\": \"too "
         "small a "
         "grid\"}}, {\"name\": \"l\", \"time_ns\": 1000, \"bottleneck\": {\"text\": "
         "\"latency\"}}]}",
         "`k` takes 67 %.\nKernels: (1) k, 2.000 µs: too small a grid (2) l, 1.000 µs: "
         "latency.\n" MODELLED},
        {"analyze",
         "{\"critical_path_ns\": 4000, \"makespan_ns\": 5000, \"overlap\": {\"kernel_time_ns\": "
         "3000}, "
         "\"critical_path\": {\"by_symbol\": [{\"name\": \"k\", \"ns\": 3000, \"weight\": 0.75}]}}",
         "The program takes 5.000 µs end to end, its kernels 3.000 µs in all; the critical path "
         "takes 4.000 µs, most of "
         "it k: 3.000 µs, 75.0 %.\n"},
        {"analyze", "{\"roofline\": null, \"reason\": \"no counters\", \"kernels\": []}",
         "No roofline: no counters.\n"},
        {"analyze",
         "{\"kernels\": [{\"name\": \"k\", \"time_ns\": 1000, \"bound\": \"hbm\", \"bound_share\": "
         "0.5}]}",
         "k (1.000 µs) is limited by hbm, at 50.0 % of its peak; 1 kernel in all.\n"},
        {"analyze",
         "{\"kernels\": [{\"name\": \"__amd_rocclr_fillBufferAligned\", \"time_ns\": 9000, "
         "\"bound\": "
         "\"l2\", \"bound_share\": 0.1}, {\"name\": \"k\", \"time_ns\": 1000, \"bound\": \"hbm\", "
         "\"bound_share\": 0.5}]}",
         "k (1.000 µs) is limited by hbm, at 50.0 % of its peak; 2 kernels in all.\n"},
        {"analyze",
         "{\"thread_trace\": [{\"kernel\": \"k\", \"stall_reasons\": {\"a\": 1, \"b\": 5}, "
         "\"sums\": "
         "{\"stall_fraction\": 0.8}}]}",
         "k stalled 80.0 % of wave cycles, most for b.\n"},
        {"judge",
         "{\"sentence\": \"right and 1.4 times as fast\", \"device\": \"software\", \"on\": "
         "{\"timing\": "
         "\"detailed\"}}",
         "right and 1.4 times as fast\n" MODELLED},
        {"replay",
         "{\"verdict\": \"faster\", \"reason\": null, \"ratio\": {\"estimate\": 2, \"low\": 1.9, "
         "\"high\": "
         "2.1, \"level\": 0.95}}",
         "B is 2.0x faster than A (1.90x to 2.10x faster with 95.00 % confidence).\n"},
        {"replay", "{\"verdict\": \"undecided\", \"reason\": \"noise\"}",
         "Undecided whether B is faster or slower than A: noise.\n"},
        {"replay", "{\"verdict\": \"different output\", \"reason\": \"B is wrong\"}",
         "Different output; not timed: B is wrong.\n"},
        {"replay",
         "{\"kernel\": {\"name\": \"k\"}, \"execution\": {\"iterations\": 2}, \"timing\": "
         "{\"median\": 1.5, "
         "\"min\": 1, \"max\": 2, \"samples\": [1, 2]}, \"verify\": {\"equal\": true, \"bytes\": "
         "64, "
         "\"regions\": 2}, \"environment\": {\"device\": \"software\", \"timing_model\": "
         "\"detailed\"}}",
         "k: 2 runs, median 1.500 µs, min 1.000 µs, max 2.000 µs.\n"
         "Memory after it is as captured: 64 bytes in 2 regions.\n" MODELLED},
        {"replay",
         "{\"kernel\": {\"name\": \"k\"}, \"execution\": {\"iterations\": 1}, \"timing\": "
         "{\"samples\": []}, "
         "\"candidate\": {\"wrong_runs\": 1, \"checked_runs\": 4, \"wrong_bytes\": 8}}",
         "k: 1 run, not timed.\nMemory is not right after 1 of 4 runs: 8 bytes wrong.\n"},
        {"replay", "{\"available\": true, \"ranges\": 3, \"reason\": null}",
         "All 3 ranges can be had at their addresses.\n"},
        {"replay", "{\"available\": false, \"ranges\": 3, \"reason\": \"one is taken\"}",
         "Not all ranges can be had at their addresses: one is taken.\n"},
        {"optimize",
         "{\"source\": \"a.hip\", \"ended_by\": \"nothing left\", \"accepted\": [], \"rounds\": "
         "[], "
         "\"times_modelled\": true, \"timing\": \"detailed\"}",
         "Nothing was worth accepting.\nSOFTWARE DEVICE: modelled time (detailed), not hardware "
         "time\n"},
        {"autotune",
         "{\"device\": \"hardware\", \"ended_by\": \"max_fraction\", \"objective\": \"dispatch\", "
         "\"search_space_size\": 9, \"evaluated_configs\": 3, \"best_config\": {\"parameters\": "
         "{\"A\": 1, "
         "\"B\": \"x\"}, \"runtime_ms\": 2}}",
         "A=1 B=x is the fastest: 2.000 ms; not run again to confirm it.\nThe search ran 3 of 9 "
         "configurations (33.3 %); ended by "
         "max_fraction\nModel expects 0 % from the best one that was not run\n"},
        {"history",
         "{\"results\": [{\"id\": 1, \"program\": \"a\"}, {\"id\": 4, \"program\": \"./app\", "
         "\"commit\": "
         "\"c1\"}]}",
         "2 results; newest: result 4, commit c1, of ./app.\n"},
        {"history", "{\"results\": []}", "0 results.\n"},
        {"history",
         "{\"series\": [{\"state\": \"steady\"}, {\"state\": \"ended\"}, {\"state\": \"slower\", "
         "\"kernel\": "
         "\"k\", \"program\": \"./app\", \"changes\": [{\"ratio\": 1.25, \"since\": 7}]}]}",
         "k of ./app is 1.25x slower since result 7; of 2 series 1 is slower, 0 faster, 0 "
         "undecided.\n"},
        {"history",
         "{\"series\": [{\"state\": \"faster\", \"kernel\": null, \"program\": \"./app\", "
         "\"changes\": "
         "[{\"ratio\": 0.5, \"since\": 7, \"commit\": \"2f6a\"}]}]}",
         "All kernels of ./app are 2.0x faster since commit 2f6a (result 7); of 1 series 0 are "
         "slower, 1 faster, 0 undecided.\n"},
        {"history", "{\"series\": [{\"state\": \"undecided\"}, {\"state\": \"steady\"}]}",
         "Undecided: 1 of 2 series needs more results.\n"},
        {"history", "{\"series\": [{\"state\": \"steady\", \"software\": true}]}",
         "No difference: 1 series is steady.\n"
         "SOFTWARE DEVICE: modelled time (software device), not hardware time\n"},
        {"bench",
         "{\"device\": \"software\", \"timing\": {\"model\": \"detailed\"}, \"gpu\": {\"product\": "
         "\"MI300X\"}, "
         "\"measurements\": [{\"name\": \"a\", \"share\": 1.01}, {\"name\": \"b\", \"share\": "
         "0.5}, "
         "{\"name\": \"c\", \"share\": null}]}",
         "MI300X gives back 1 of 2 constants of its model within 5 %; not b.\n" MODELLED},
        {"bench",
         "{\"device\": \"hardware\", \"gpu\": {\"arch\": \"gfx942\"}, \"measurements\": "
         "[{\"name\": "
         "\"hbm_read\", \"share\": 0.8}, {\"name\": \"fma_f32\", \"share\": 0.9}]}",
         "gfx942 reaches 80 % of the memory's bandwidth, 90 % of the f32 vector rate that its data "
         "sheet says.\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autobuf text = {0};

        sum_up(rows[i].tool, rows[i].json, &text);
        assert_string_equal(rp_buf_text(&text), rows[i].text);
    }
}

/* Whole documents, as commands have written them. */
static void documents(void **state)
{
    static const struct {
        const char *tool, *file, *text;
    } rows[] = {
        {"optimize", "edition1/optimize-finished/optimize.json",
         "1 accepted: all kernels together are 2.4x faster, 11.32 µs before, 4.77 µs now\n"
         "SOFTWARE DEVICE: modelled time, not hardware time\n"},
        {"autotune", "edition1/autotune-finished/autotune.json",
         "BLOCK=64 is the fastest: 11.32 µs.\n"
         "SOFTWARE DEVICE: modelled time, not hardware time\n"
         "The search ran 3 of 4 configurations (75 %); ended by max_fraction. Low model "
         "confidence: faster "
         "configurations may exist\n"},
        {"profile", "edition1/profile-many/profile.json",
         "The program's kernels take 10.77 µs in 4 launches of 2 kernels; row_sums(float const*, "
         "float*, int, int, "
         "int) takes most: 9.270 µs, 86.1 %.\n"
         "Their time is stable: its CV over 3 runs is 0.0 %.\n"
         "SOFTWARE DEVICE: modelled time (counts timing), not hardware time\n"},
        {"analyze", "edition1/profile-many/roofline.json",
         "row_sums(float const*, float*, int, int, int) (9.270 µs) is limited by l1, at 0.3 % "
         "of its peak; 3 kernels in all.\n"
         "SOFTWARE DEVICE: modelled time (counts timing), not hardware time\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autofree char *path = rp_path_join(getenv("RP_TEST_DATA"), rows[i].file);
        rp_autofree char *json = rp_read_text(path, 1 << 24);
        rp_autobuf text = {0};

        assert_non_null(json);
        sum_up(rows[i].tool, json, &text);
        assert_string_equal(rp_buf_text(&text), rows[i].text);
    }
}

/* Objects that are no results are passed on without one; nothing is read that is not there. */
static void what_is_no_result(void **state)
{
    static const char *const tools[] = {"profile", "analyze", "why",    "compare",  "history",
                                        "report",  "isolate", "replay", "optimize", "autotune",
                                        "judge",   "bench",   "doctor", "ci"};
    static const char *const objects[] = {"{}", "{\"kernels\": 1, \"timing\": [], \"device\": {}}",
                                          "{\"kernels\": [1, null], \"thread_trace\": [2]}",
                                          "{\"comparisons\": [{\"gates\": [3]}], \"baseline\": {}}",
                                          "{\"accepted\": [], \"rounds\": {}}"};

    (void)state;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        for (size_t k = 0; k < sizeof objects / sizeof *objects; k++) {
            rp_autobuf text = {0};

            sum_up(tools[i], objects[k], &text);
            assert_string_equal(rp_buf_text(&text), "");
        }
}

/* A name makes no line of its own, and does not hide what is said of it behind its length. */
static void names_of_others(void **state)
{
    char json[4096], name[2000];
    rp_autobuf text = {0};

    (void)state;
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    snprintf(json, sizeof json,
             "{\"critical_path_ns\": 4000, \"makespan_ns\": 5000, \"overlap\": "
             "{\"kernel_time_ns\": 3000}, "
             "\"program\": {\"text\": \"`%s` takes 67 %%.\"}, \"critical_path\": {\"by_symbol\": "
             "[{\"name\": \"k\\nDetails: resource x\", \"ns\": 3000, \"weight\": 0.75}]}}",
             name);
    sum_up("analyze", json, &text);
    name[160] = '\0';
    snprintf(json, sizeof json,
             "`%s...` takes 67 %%.\nThe program takes 5.000 µs end to end, its kernels 3.000 µs in "
             "all; the critical path "
             "takes 4.000 µs, most of it k\\x0aDetails: resource x: 3.000 µs, 75.0 %%.\n",
             name);
    assert_string_equal(rp_buf_text(&text), json);
}

/* Three lines are the most; what the times are is always one of them. */
static void three_lines(void **state)
{
    static const char side[] =
        "{\"after\": {\"path\": \"b\"}, \"gates\": [{\"gate\": \"cv<=1\", \"result\": "
        "\"failed\", \"value\": 2, \"limit\": 1}], \"whole\": {\"time\": {\"verdict\": "
        "\"equal\", \"ratio\": 1, \"low\": 1, \"high\": 1, \"reason\": null}}}";
    rp_autobuf json = {0}, text = {0};

    (void)state;
    rp_buf_printf(
        &json,
        "{\"baseline\": {\"path\": \"a\", \"device\": \"software\", \"timing\": {\"model\": "
        "\"detailed\"}}, \"comparisons\": [%s, %s, %s]}",
        side, side, side);
    sum_up("compare", rp_buf_text(&json), &text);
    assert_string_equal(rp_buf_text(&text),
                        "No difference in the time of kernels: b is as fast as a.\n"
                        "1 of 1 gates does not hold: cv<=1: 2 (limit 1)\n" MODELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_tools), cmocka_unit_test(names_of_others),
        cmocka_unit_test(documents),        cmocka_unit_test(what_is_no_result),
        cmocka_unit_test(three_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
