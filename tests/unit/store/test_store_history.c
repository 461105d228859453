/**
 * @file test_store_history.c
 * @brief The file of a history: what is added is read, once; writers at the same time; files that
 *        are none, of a later version, or damaged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"
#include "rocm-perf/history.h"

static double runs[] = {1.1, 0.30000000000000004, 3};
static struct rp_history_times times[] = {
    {.launches = 7, .runs_ms = runs, .run_count = 3},
    {.kernel = (char *)"k<\"x\">(int)", .runtime_internal = true, .runs_ms = runs, .run_count = 1},
};

static struct rp_history_result sample(const char *hash, const char *added)
{
    struct rp_history_result r = {.added = (char *)added,
                                  .config = (char *)"a=1\nb=2",
                                  .program = (char *)"./app",
                                  .device = (char *)"hardware x",
                                  .complete = true,
                                  .tracer = (char *)"t",
                                  .times = times,
                                  .times_count = 2};

    snprintf(r.hash, sizeof r.hash, "%s", hash);
    return r;
}

static int64_t add(const char *path, const char *hash, const char *added, bool wants_new)
{
    const struct rp_history_result r = sample(hash, added);
    bool is_new = !wants_new;
    int64_t id = 0;

    assert_int_equal(rp_history_add(path, &r, &id, &is_new, NULL), 0);
    assert_int_equal(is_new, wants_new);
    return id;
}

static void what_is_added_is_read_once_in_order(void **state)
{
    const char *path = kit_path("h.db");
    struct rp_history h;

    (void)state;
    assert_int_equal(add(path, "one", "2026-01-02T00:00:00Z", true), 1);
    assert_int_equal(add(path, "two", "2026-01-01T00:00:00Z", true), 2);
    assert_int_equal(add(path, "one", "2026-01-03T00:00:00Z", false), 1);
    assert_int_equal(rp_history_read(path, &h, NULL), 0);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.results[0].id, 2);
    assert_string_equal(h.results[1].hash, "one");
    assert_string_equal(h.results[1].added, "2026-01-02T00:00:00Z");
    assert_string_equal(h.results[1].config, "a=1\nb=2");
    assert_null(h.results[1].commit);
    assert_int_equal(h.results[1].times_count, 2);
    assert_null(h.results[1].times[0].kernel);
    assert_int_equal(h.results[1].times[0].launches, 7);
    assert_memory_equal(h.results[1].times[0].runs_ms, runs, sizeof runs);
    assert_string_equal(h.results[1].times[1].kernel, "k<\"x\">(int)");
    assert_true(h.results[1].times[1].runtime_internal);
    rp_history_free(&h);
    kit_remove_all();
}

/* Eight processes, from the making of the file on; all add their own and one that all have. */
static void all_writers_land(void **state)
{
    enum { WRITERS = 8, EACH = 10 };
    const char *path = kit_path("h.db");
    struct rp_history h;

    (void)state;
    for (int w = 0; w < WRITERS; w++)
        if (fork() == 0) {
            int failed = 0;

            for (int i = 0; i < EACH; i++) {
                struct rp_history_result r = sample("shared", "2026-01-01T00:00:00Z");
                bool is_new;
                int64_t id;

                if (i)
                    snprintf(r.hash, sizeof r.hash, "%d %d", w, i);
                failed |= rp_history_add(path, &r, &id, &is_new, NULL) < 0;
            }
            _exit(failed);
        }
    for (int w = 0; w < WRITERS; w++) {
        int status;

        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(rp_history_read(path, &h, NULL), 0);
    assert_int_equal(h.count, WRITERS * (EACH - 1) + 1);
    for (size_t i = 0; i < h.count; i++)
        assert_int_equal(h.results[i].times_count, 2);
    rp_history_free(&h);
    kit_remove_all();
}

static void is_refused(const char *path, const char *says)
{
    const struct rp_history_result r = sample("new", "2026-01-01T00:00:00Z");
    struct rp_err err = RP_ERR_INIT;
    struct rp_history h;
    bool is_new;
    int64_t id;

    assert_int_equal(rp_history_read(path, &h, &err), -RP_BAD_INPUT);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(rp_history_add(path, &r, &id, &is_new, &err), -RP_BAD_INPUT);
    kit_remove_all();
}

static void other_files_are_refused(void **state)
{
    const char *path = kit_path("h.db");
    struct rp_history h;

    (void)state;
    assert_int_equal(rp_history_read(path, &h, NULL), -RP_BAD_INPUT);
    assert_int_equal(kit_file_count(), 0);
    kit_write_file(path, "no database, whatever its name may say", 38);
    is_refused(path, "damaged");
    kit_sql(path, "CREATE TABLE t(a)");
    is_refused(path, "no history");
    add(path, "one", "2026-01-01T00:00:00Z", true);
    kit_sql(path, "PRAGMA user_version = 2");
    is_refused(path, "later rocm-perf");
    add(path, "one", "2026-01-01T00:00:00Z", true);
    kit_sql(path, "DROP TABLE times");
    is_refused(path, "no such table");
}

/* As a writer leaves it that was killed before it had written anything. */
static void an_empty_file_has_no_results(void **state)
{
    const char *path = kit_path("h.db");
    struct rp_history h;

    (void)state;
    kit_write_file(path, "", 0);
    assert_int_equal(rp_history_read(path, &h, NULL), 0);
    assert_int_equal(h.count, 0);
    rp_history_free(&h);
    assert_int_equal(add(path, "one", "2026-01-01T00:00:00Z", true), 1);
    kit_remove_all();
}

static void rows_of_others_are_looked_at(void **state)
{
    static const char *const bad[] = {"'[1, -1]'", "'[1, \"2\"]'", "'{}'",  "'[1'",
                                      "''",        "x'ff'",        "'[0]'", "17"};
    struct rp_err err = RP_ERR_INIT;
    struct rp_history h;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = kit_path("h.db");

        add(path, "one", "2026-01-01T00:00:00Z", true);
        kit_sql(path, "UPDATE times SET runs_ms = %s, launches = -1", bad[i]);
        assert_int_equal(rp_history_read(path, &h, &err), -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, "list of times"));
        kit_remove_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_read_once_in_order),
        cmocka_unit_test(all_writers_land),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(an_empty_file_has_no_results),
        cmocka_unit_test(rows_of_others_are_looked_at),
    };

    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
