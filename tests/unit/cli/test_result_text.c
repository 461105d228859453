/* Pages of commands for people: on a narrow terminal nothing is lost, elsewhere lines are whole. */
#include "cli/cli.h"

#include "base/buf.h"
#include "base/err.h"
#include "optimize/session.h"
#include "report/report.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const unsigned widths[] = {60, 80, 200};
enum { WIDTHS = sizeof widths / sizeof *widths };

typedef void put_page(struct rp_term_style style, struct rp_buf *to);

/* Words with one blank between them. */
static char *words_of(const char *text)
{
    rp_autobuf words = {0};
    rp_autobuf copy = {0};
    char *at = NULL;

    rp_buf_puts(&copy, text);
    for (char *word = strtok_r(copy.data, " \n", &at); word; word = strtok_r(NULL, " \n", &at))
        rp_buf_printf(&words, "%s ", word);
    return rp_buf_steal(&words);
}

static void check_width(const char *text, unsigned width)
{
    rp_autobuf copy = {0};
    char *at = NULL;

    rp_buf_puts(&copy, text);
    for (char *line = strtok_r(copy.data, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
        const char *word = line + strspn(line, " ");

        /* One word may be too long: the name of a file is to be copied, and so is a command. */
        if (rp_text_cells(line) > width && strchr(word, ' ') && strncmp(line, "Next: ", 6) != 0)
            fail_msg("wider than %u columns: %s", width, line);
    }
}

static char *without_codes(const char *text)
{
    rp_autobuf plain = {0};

    while (*text) {
        const char *code = strchrnul(text, '\033');

        rp_buf_add(&plain, text, (size_t)(code - text));
        text = *code ? strchr(code, 'm') + 1 : code;
    }
    return rp_buf_steal(&plain);
}

/* @param loses  a table leaves a column out where there is no room */
static void check_page(put_page *put, bool loses)
{
    rp_autobuf whole = {0};
    char *words;

    put((struct rp_term_style){0}, &whole);
    assert_null(strchr(rp_buf_text(&whole), '\033'));
    words = words_of(rp_buf_text(&whole));
    for (unsigned i = 0; i < WIDTHS; i++) {
        rp_autobuf plain = {0}, coloured = {0};
        char *seen, *stripped;

        put((struct rp_term_style){.width = widths[i]}, &plain);
        put((struct rp_term_style){.width = widths[i], .colour = true}, &coloured);
        check_width(rp_buf_text(&plain), widths[i]);
        assert_null(strchr(rp_buf_text(&plain), '\033'));
        assert_non_null(strchr(rp_buf_text(&coloured), '\033'));
        stripped = without_codes(rp_buf_text(&coloured));
        assert_string_equal(stripped, rp_buf_text(&plain));
        seen = words_of(rp_buf_text(&plain));
        if (!loses || widths[i] > 80)
            assert_string_equal(seen, words);
        free(stripped);
        free(seen);
    }
    free(words);
}

/* --- optimize ------------------------------------------------------------------------------ */

static const char session[] =
    "{\"times_modelled\": true, \"output_judged_by\": \"none\", \"ended_by\": \"max-rounds\","
    " \"program\": {\"before_ms\": 2.5, \"after_ms\": 1.25, \"speedup\": 2, \"low\": 1.9, "
    "\"high\": "
    "2.1},"
    " \"rounds\": [{\"kernels\": ["
    "  {\"name\": \"void saxpy<float, unsigned int>(float const*, float*, unsigned int)\","
    "   \"end_to_end_bound\": 3.5, \"attempts\": ["
    "    {\"title\": \"unroll the loop of line 12 by 4\", \"outcome\": \"accepted\","
    "     \"reason\": \"it is 2 times as fast, with 95 % confidence between 1.9 and 2.1\"},"
    "    {\"title\": \"unroll the loop of line 12 by 8\", \"outcome\": \"wrong\","
    "     \"reason\": \"it gives other results than the captured kernel does\"}],"
    "   \"stop\": \"every change that was proposed has been tried by now\"},"
    "  {\"name\": \"fill(float*)\", \"attempts\": [], \"end_to_end_bound\": 1.01,"
    "   \"stop\": \"the program could become 1.01 times as fast at most\"}]}],"
    " \"accepted\": [{\"title\": \"unroll by 4\", \"kernel\": \"saxpy\", \"not_tried\": ["
    "  {\"inputs\": \"zeros\", \"kernel\": \"saxpy\", \"geometries\": [1], \"reason\": \"slow\"},"
    "  {\"inputs\": \"signs\", \"kernel\": \"saxpy\", \"geometries\": [1], \"reason\": "
    "\"slow\"}]}]}";

static void put_session(struct rp_term_style style, struct rp_buf *to)
{
    char source[] = "/home/somebody/programs/with/a/long/path/to/it/where/sources/are/k_opt.hip";
    char patch[] = "k_opt.patch";
    struct rp_session_result result = {.json = json_loads(session, 0, NULL),
                                       .accepted = 1,
                                       .source_path = source,
                                       .patch_path = patch};

    assert_non_null(result.json);
    rp_optimize_summary(&result, "k.hip", style, to);
    json_decref(result.json);
}

static void optimize_fits(void **state)
{
    rp_autobuf text = {0}, coloured = {0}, whole = {0};

    (void)state;
    check_page(put_session, false);
    put_session((struct rp_term_style){0}, &text);
    assert_non_null(strstr(
        rp_buf_text(&text),
        "SOFTWARE DEVICE: modelled time, not hardware time\n"
        "WARNING: the program prints nothing, and there is no --check: its own results are not "
        "compared\n"
        "Round 1\n"
        "  saxpy\n"
        "    upper bound for the program with its copies: 3.5x faster\n"
        "    unroll the loop of line 12 by 4: accepted: it is 2 times as fast, with 95 % "
        "confidence between 1.9 and 2.1\n"));
    assert_non_null(strstr(rp_buf_text(&text),
                           "  fill\n    not tried: the program could become 1.01 times as "
                           "fast at most\n"));
    assert_non_null(strstr(rp_buf_text(&text), "  zeros, signs (1 geometry): slow\n"));
    assert_int_equal(strncmp(rp_buf_text(&text), "1 accepted: ", strlen("1 accepted: ")), 0);
    assert_non_null(strstr(rp_buf_text(&text), "\nNext: diff -u k.hip /home/"));
    put_session((struct rp_term_style){.verbose = true}, &whole);
    assert_non_null(
        strstr(rp_buf_text(&whole),
               "  void saxpy<float, unsigned int>(float const*, float*, unsigned int)\n"));
    put_session((struct rp_term_style){.width = 60, .colour = true}, &coloured);
    assert_non_null(strstr(rp_buf_text(&coloured), "\033[33mSOFTWARE DEVICE"));
    assert_non_null(strstr(rp_buf_text(&coloured), "    \033[32munroll the loop of line 12 by 4"));
    assert_non_null(strstr(rp_buf_text(&coloured), "    \033[31munroll the loop of line 12 by 8"));
    assert_non_null(strstr(rp_buf_text(&coloured), "/where/sources/are/k_opt.hip\n"));
}

/* --- autotune ------------------------------------------------------------------------------ */

static const char search[] =
    "{\"device\": \"software\", \"objective\": \"dispatch\", \"ended_by\": \"max_fraction\","
    " \"search_space_size\": 405, \"max_configs\": 81, \"evaluated_configs\": 81,"
    " \"confirmed\": false, \"warning\": \"low_model_confidence\", \"failed_again\": [1],"
    " \"best_config\": {\"runtime_ms\": 3.5, \"interval_ms\": [3.25, 3.75],"
    "  \"interval_confidence\": 0.95,"
    "  \"parameters\": {\"BLOCK_M\": 64, \"BLOCK_N\": 64, \"BLOCK_K\": 16, \"UNROLL\": 2}},"
    " \"ties\": [], \"phases\": [{\"name\": \"seed\", \"configurations\": 10}],"
    " \"failures\": {\"failed\": 2}, \"history\": [],"
    " \"model\": {\"r2\": 0.5, \"rank_correlation\": 0.25, \"interval_coverage\": 0.75,"
    "  \"expected_gain_left\": 0.125, \"samples\": 70},"
    " \"drift\": {\"more_than_noise\": true, \"largest_change\": 0.5, \"failed\": 1,"
    "  \"reason\": \"ended with exit status 3\"}}";

static void put_search(struct rp_term_style style, struct rp_buf *to)
{
    json_t *json = json_loads(search, 0, NULL);

    assert_non_null(json);
    rp_autotune_put_text(json, style, to);
    json_decref(json);
}

static void autotune_fits(void **state)
{
    rp_autobuf text = {0}, coloured = {0}, whole = {0};

    (void)state;
    check_page(put_search, false);
    put_search((struct rp_term_style){0}, &text);
    assert_string_equal(
        rp_buf_text(&text),
        "Best   3.500 ms (3.250 to 3.750 with 95 %) BLOCK_M=64 BLOCK_N=64 BLOCK_K=16 UNROLL=2\n"
        "Lost   1 that seemed as fast failed when run again\n"
        "       not run again to confirm it\n"
        "SOFTWARE DEVICE: modelled time, not hardware time\n"
        "Search 81 of 405 configurations (20 %); 2 failed; ended by max_fraction\n"
        "Model  expects 12 % from the best one that was not run\n"
        "       Low model confidence: faster configurations may exist; raise --max-fraction\n"
        "Drift  the best one changed by 50.0 % during the search: clocks, heat or other programs\n"
        "Drift  run again during the search, the best one failed 1 times; first: ended with exit "
        "status 3\n");
    put_search((struct rp_term_style){.verbose = true}, &whole);
    assert_non_null(strstr(
        rp_buf_text(&whole),
        "Search 81 of 405 configurations (20 %): seed 10; 2 failed; ended by max_fraction\n"
        "Model  of runs it had not seen: R2 0.500, rank correlation 0.250, 75 % within its 90 % "
        "intervals\n"
        "       expects 12 % from the best one that was not run\n"));
    put_search((struct rp_term_style){.width = 60, .colour = true}, &coloured);
    assert_non_null(strstr(rp_buf_text(&coloured), "\033[32mBest   3.500 ms"));
    assert_non_null(strstr(rp_buf_text(&coloured), "\n       \033[32mBLOCK_"));
}

/* --- isolate ------------------------------------------------------------------------------- */

static void put_capture(struct rp_term_style style, struct rp_buf *to)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_capture *capture;
    char folder[4096];

    snprintf(folder, sizeof folder, "%s/capture/chase", getenv("RP_TEST_DATA"));
    assert_int_equal(rp_capture_open(folder, &capture, &err), 0);
    rp_capture_line("chase", capture, style, to);
    rp_capture_describe("chase", capture, style, to);
    rp_capture_close(capture);
}

static void isolate_fits(void **state)
{
    rp_autobuf narrow = {0}, usual = {0};

    (void)state;
    check_page(put_capture, true);
    put_capture((struct rp_term_style){.width = 60}, &narrow);
    assert_null(strstr(rp_buf_text(&narrow), "grain"));
    assert_non_null(strstr(rp_buf_text(&narrow), "0x00007febcfe60000   33937  code  device"));
    put_capture((struct rp_term_style){.width = 80}, &usual);
    assert_non_null(strstr(rp_buf_text(&usual), "0x00007febcfe60000   33937  code  device coarse"));
}

/* --- replay -------------------------------------------------------------------------------- */

static const char replay[] =
    "\x1e"
    "csaxpy(float*, float) on AMD Instinct MI300X (software device: modelled time (fast), not that "
    "of a GPU)\n"
    "A one.hsaco\n"
    "\n"
    "\x1e"
    "BB is as fast as A: equal (margin 1.00 %, A differed from itself by 0.50 %); memory is right "
    "after all 12 runs (exact)\n"
    "\x1e"
    "bwrong\n"
    "\x1e"
    "gright\n"
    "\x1e";

static void put_replay(struct rp_term_style style, struct rp_buf *to)
{
    rp_replay_put_text(replay, style, to);
}

static void replay_fits(void **state)
{
    rp_autobuf text = {0}, coloured = {0}, open = {0};

    (void)state;
    check_page(put_replay, false);
    put_replay((struct rp_term_style){0}, &text);
    assert_string_equal(
        rp_buf_text(&text),
        "saxpy(float*, float) on AMD Instinct MI300X (software device: modelled time (fast), not "
        "that of a GPU)\n"
        "A one.hsaco\n"
        "\n"
        "B is as fast as A: equal (margin 1.00 %, A differed from itself by 0.50 %); memory is "
        "right after all 12 runs (exact)\n"
        "wrong\n"
        "right\n"
        "\\x1e\n"); /* a mark of which there is only a half */
    put_replay((struct rp_term_style){.width = 60, .colour = true}, &coloured);
    assert_non_null(strstr(rp_buf_text(&coloured), "\033[31mwrong\033[0m\n\033[32mright\033[0m\n"));
    assert_non_null(strstr(rp_buf_text(&coloured), "\n\n\033[1mB is as fast"));
    assert_string_equal(rp_replay_put_text("open\n\x1eonoise", (struct rp_term_style){0}, &open),
                        "noise");
    assert_string_equal(rp_buf_text(&open), "open\n");
}

/* --- progress ------------------------------------------------------------------------------ */

static void progress_says_what_is_left(void **state)
{
    static const int64_t s = 1000000000;
    const struct {
        uint64_t done, most;
        int64_t done_ns, elapsed_ns;
        const char *text;
    } rows[] = {
        {0, 0, 0, 3 * s, "run, 3 s"},
        {0, 4, 0, 3 * s, "run 1 of 4, 3 s"},
        {1, 4, 10 * s, 10 * s, "run 2 of 4, 30 s left"},
        {1, 4, 10 * s, 16 * s, "run 2 of 4, 24 s left"},
        {1, 4, 10 * s, 60 * s, "run 2 of 4, 0 s left"}, /* longer than those before */
        {3, 4, 30 * s, 30 * s, "run 4 of 4, 10 s left"},
        {4, 4, 40 * s, 41 * s, "run 4 of 4, 0 s left"},
        {1, 11, 10 * s, 10 * s, "run 2 of 11, 2 min left"},
        {1, 1001, 10 * s, 10 * s, "run 2 of 1001, 2.8 h left"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autobuf text = {0};

        rp_progress_put("run", rows[i].done, rows[i].most, rows[i].done_ns, rows[i].elapsed_ns,
                        &text);
        assert_string_equal(rp_buf_text(&text), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimize_fits),
        cmocka_unit_test(autotune_fits),
        cmocka_unit_test(isolate_fits),
        cmocka_unit_test(replay_fits),
        cmocka_unit_test(progress_says_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
