/* Steps of the self-test that run launches again, compare them, and search for the fastest. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "cli/selftest.h"
#include "cli/selftest_steps.h"
#include "trace/capture.h"

/* --- capture and replay -------------------------------------------------------------------- */

enum { WORDS_A_PAGE = RP_PAGE_BYTES / 4, CHANGE_BLOCKS = 64, REPLAYS = 20 };

/* The workload wrote 7 i + 1 there, and the kernel made 3 of each, and i. */
static double wrong_words(const uint8_t *page, uint64_t first, uint64_t count, bool after)
{
    double wrong = 0;

    for (uint64_t i = 0; i < count; i++) {
        const uint32_t before = (uint32_t)(first + i) * 7 + 1;
        uint32_t got;

        memcpy(&got, page + i * 4, sizeof got);
        wrong += got != (after ? before * 3 + (uint32_t)(first + i) : before);
    }
    return wrong;
}

static int check_memory(struct rp_capture *capture, const struct rp_capture_memory *memory,
                        uint64_t address, json_t *values, struct rp_err *err)
{
    const uint64_t page = (address - memory->region.base) / RP_PAGE_BYTES,
                   words = CHANGE_BLOCKS * RP_SELFTEST_BLOCK;
    double before = 0, after = 0;
    uint64_t at = 0;
    int rc = 0;

    for (; rc == 0 && at < words &&
           (page + at / WORDS_A_PAGE + 1) * RP_PAGE_BYTES <= memory->region.bytes;
         at += WORDS_A_PAGE) {
        uint8_t bytes[RP_PAGE_BYTES];

        rc =
            rp_capture_page(capture, memory, RP_STATE_BEFORE, page + at / WORDS_A_PAGE, bytes, err);
        before += wrong_words(bytes, at, WORDS_A_PAGE, false);
        if (rc == 0)
            rc = rp_capture_page(capture, memory, RP_STATE_AFTER, page + at / WORDS_A_PAGE, bytes,
                                 err);
        after += wrong_words(bytes, at, WORDS_A_PAGE, true);
    }
    rp_selftest_put(values, "words", (double)at);
    rp_selftest_put(values, "wrong_before", before);
    rp_selftest_put(values, "wrong_after", after);
    return rc;
}

static int capture_values(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_autofree char *folder = rp_path_join(test->work.folder, "captured");
    struct rp_capture *capture = NULL;
    struct rp_selftest_said said;
    int rc = rp_selftest_read_said(test, "isolate", &said, err);

    rp_selftest_put(values, "words_expected", (double)CHANGE_BLOCKS * RP_SELFTEST_BLOCK);
    rp_selftest_put(values, "words", 0);
    if (rc == 0)
        rc = rp_capture_open(folder, &capture, err);
    if (rc < 0)
        return rc;
    const struct rp_capture_contents *contents = rp_capture_contents(capture);
    rp_selftest_put(values, "regions", (double)contents->memory_count);
    rp_selftest_put(values, "regions_refused", (double)contents->refusal_count);
    for (size_t i = 0; rc == 0 && i < contents->memory_count; i++) {
        const struct rp_snapshot_region *region = &contents->memory[i].region;

        if (said.memory >= region->base && said.memory - region->base < region->bytes)
            rc = check_memory(capture, &contents->memory[i], said.memory, values, err);
    }
    rp_capture_close(capture);
    return rc;
}

int rp_selftest_isolate(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    int rc;

    rp_workload_suite(&test->work, "isolate", &words);
    rp_workload_add_device(&test->work, &words);
    for (const char *const *each = (const char *const[]){"--kernel", "selftest_change",
                                                         "--no-self-check", "-o", "captured", NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_workload_add(&test->work, "change", "isolate", &words);
    rp_workload_word(&words, "%d", CHANGE_BLOCKS);
    rc = rp_workload_run(&test->work, "isolate", &words, NULL, err);
    return rc < 0 ? rc : capture_values(test, values, err);
}

static int replay(struct rp_selftest *test, const char *name, const char *const *more, json_t **ret,
                  struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};

    rp_workload_suite(&test->work, "replay", &words);
    for (; *more; more++)
        rp_workload_word(&words, "%s", *more);
    rp_workload_add_device(&test->work, &words);
    rp_workload_word(&words, "--capture-dir");
    rp_workload_word(&words, "captured");
    rp_workload_word(&words, "--json");
    return rp_workload_run_json(&test->work, name, &words, ret, err);
}

int rp_selftest_replay(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    const char *const more[] = {"full-vm", "--iterations", "20", "--verify", NULL};
    json_t *result = NULL;
    const int rc = replay(test, "replay", more, &result, err);

    if (rc < 0)
        return rc;
    const json_t *verify = json_object_get(result, "verify"),
                 *timing = json_object_get(result, "timing");
    rp_selftest_put_bool(values, "equal", json_is_true(json_object_get(verify, "equal")));
    rp_selftest_put(values, "different_pages", rp_selftest_number(verify, "different_pages", NULL));
    rp_selftest_put(values, "iterations",
                    (double)json_array_size(json_object_get(timing, "samples")));
    rp_selftest_put(values, "iterations_expected", REPLAYS);
    rp_selftest_put(values, "median_us", rp_selftest_number(timing, "median", NULL));
    rp_selftest_put(values, "min_us", rp_selftest_number(timing, "min", NULL));
    rp_selftest_put(values, "max_us", rp_selftest_number(timing, "max", NULL));
    json_decref(result);
    return 0;
}

int rp_selftest_replay_compare(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    const char *const more[] = {"compare", test->work.code, test->work.code, "--blocks", "10",
                                NULL};
    json_t *result = NULL;
    const int rc = replay(test, "replay_compare", more, &result, err);

    if (rc < 0)
        return rc;
    const char *verdict = json_string_value(json_object_get(result, "verdict"));
    rp_selftest_put(values, "wrong_runs",
                    rp_selftest_number(result, "a", "wrong_runs") +
                        rp_selftest_number(result, "b", "wrong_runs"));
    rp_selftest_put_bool(values, "same",
                         verdict && strcmp(verdict, "faster") != 0 &&
                             strcmp(verdict, "slower") != 0);
    json_object_set_new(values, "verdict", json_string(verdict ? verdict : "none"));
    json_decref(result);
    return 0;
}

/* --- compare, autotune --------------------------------------------------------------------- */

static int profile_side(struct rp_selftest *test, const char *name, unsigned rounds,
                        struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};

    rp_workload_suite(&test->work, "profile", &words);
    rp_workload_add_device(&test->work, &words);
    for (const char *const *each =
             (const char *const[]){"--quiet", "--tracer", "builtin", "-o", name, NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    rp_workload_word(&words, "--runs");
    rp_workload_word(&words, "%u", test->sizes.compare_runs);
    rp_selftest_add_known(test, name, rounds, test->sizes.launches, &words);
    return rp_workload_run(&test->work, name, &words, NULL, err);
}

/* The ratio of the known kernel's times: how much longer the second takes. */
static int compare_sides(struct rp_selftest *test, const char *a, const char *b, char *ret_verdict,
                         size_t room, double *ret_ratio, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    rp_autofree char *name = rp_format("compare_%s", b);
    json_t *result = NULL;
    int rc;

    rp_workload_suite(&test->work, "compare", &words);
    rp_workload_word(&words, "%s", a);
    rp_workload_word(&words, "%s", b);
    rp_workload_word(&words, "--json");
    rc = rp_workload_run_json(&test->work, name, &words, &result, err);
    if (rc < 0)
        return rc;
    const json_t *kernels =
        json_object_get(json_array_get(json_object_get(result, "comparisons"), 0), "kernels");
    const json_t *time = json_object_get(rp_selftest_named(kernels, RP_SELFTEST_KNOWN), "time");
    const char *verdict = json_string_value(json_object_get(time, "verdict"));
    snprintf(ret_verdict, room, "%s", verdict ? verdict : "none");
    *ret_ratio = rp_selftest_number(time, "ratio", NULL);
    json_decref(result);
    return 0;
}

int rp_selftest_compare(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    const unsigned rounds = test->sizes.rounds;
    char again[32] = "", twice[32] = "";
    double ratio = NAN, twice_ratio = NAN;
    int rc = profile_side(test, "side_once", rounds, err);

    if (rc == 0)
        rc = profile_side(test, "side_again", rounds, err);
    if (rc == 0)
        rc = profile_side(test, "side_twice", rounds * 2, err);
    if (rc == 0)
        rc = compare_sides(test, "side_once", "side_again", again, sizeof again, &ratio, err);
    if (rc == 0)
        rc = compare_sides(test, "side_once", "side_twice", twice, sizeof twice, &twice_ratio, err);
    if (rc < 0)
        return rc;
    rp_selftest_put_bool(values, "slower", strcmp(twice, "slower") == 0);
    rp_selftest_put_bool(values, "same",
                         strcmp(again, "faster") != 0 && strcmp(again, "slower") != 0);
    json_object_set_new(values, "verdict_of_the_same", json_string(again));
    rp_selftest_put(values, "ratio_of_the_same", ratio);
    rp_selftest_put(values, "ratio_of_twice_the_work", twice_ratio);
    return 0;
}

static void put_quoted(struct rp_buf *to, const struct rp_workload_words *words, size_t from)
{
    for (size_t i = from; i < words->count; i++)
        rp_buf_printf(to, "%s'%s'", i > from ? " " : "", words->at[i]);
}

/* The command of a configuration: the workload with its own number of rounds. */
static void put_template(const struct rp_selftest *test, struct rp_buf *to)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};

    rp_workload_add(&test->work, "known", "autotune", &words);
    rp_workload_word(&words, "%u", test->sizes.blocks);
    rp_workload_word(&words, "{ROUNDS}");
    rp_workload_word(&words, "1");
    rp_workload_word(&words, "{TWICE}"); /* is not looked at */
    put_quoted(to, &words, 1);           /* without "--" */
}

/* autotune never runs all of a space: each number of rounds is in it twice, so that the best is
 * run. */
static int write_space(const struct rp_selftest *test, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(test->work.folder, "space.json");
    const unsigned rounds = test->sizes.rounds;
    rp_autofree char *text = rp_format("{\"ROUNDS\": [%u, %u, %u], \"TWICE\": [0, 1]}\n",
                                       rounds * 4, rounds, rounds * 2);

    return rp_write_file(path, text, strlen(text), err);
}

int rp_selftest_autotune(struct rp_selftest *test, json_t *values, struct rp_err *err)
{
    rp_cleanup(rp_workload_words_free) struct rp_workload_words words = {0};
    rp_autobuf command = {0};
    json_t *result = NULL;
    int rc = write_space(test, err);

    put_template(test, &command);
    rp_workload_suite(&test->work, "autotune", &words);
    rp_workload_add_device(&test->work, &words);
    for (const char *const *each =
             (const char *const[]){"--space", "space.json", "--max-fraction", "0.99", "--warmup",
                                   "0", "--repeats", "1:2", "--top", "2", "--cmd-template",
                                   rp_buf_text(&command), "-o", "tuned", NULL};
         *each; each++)
        rp_workload_word(&words, "%s", *each);
    if (rc == 0)
        rc = rp_workload_run(&test->work, "autotune", &words, NULL, err);
    if (rc == 0)
        rc = rp_workload_read_json(&test->work, "tuned/autotune.json", &result, err);
    if (rc < 0)
        return rc;
    rp_selftest_put(
        values, "best",
        rp_selftest_number(json_object_get(result, "best_config"), "parameters", "ROUNDS"));
    rp_selftest_put(values, "best_expected", test->sizes.rounds);
    rp_selftest_put(values, "evaluated", rp_selftest_number(result, "evaluated_configs", NULL));
    json_decref(result);
    return 0;
}
