/**
 * @file test_history_db.c
 * @brief The file of a history: what is added is read, once; writers at the same time; files that
 *        are none, of a later version, or damaged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kit.h"
#include "trace/history_db.h"

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

static void devices_have_todays_model_of_time(void **state)
{
    const char *path = kit_path("h.db");
    struct rp_history_result r = sample("one", "2026-01-02T00:00:00Z");
    struct rp_history h;
    bool is_new;
    int64_t id;

    (void)state;
    r.device = (char *)"software gfx942, fast timing 2";
    assert_int_equal(rp_history_add(path, &r, &id, &is_new, NULL), 0);
    assert_int_equal(rp_history_read(path, &h, NULL), 0);
    assert_string_equal(h.results[0].device, "software gfx942, counts timing 2");
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
    is_refused(path, "it is no SQLite database");
    kit_write_file(path, "SQLite format 3\0and nothing of one behind it", 45);
    is_refused(path, "damaged");
    kit_sql(path, "CREATE TABLE t(a)");
    is_refused(path, "no history");
    add(path, "one", "2026-01-01T00:00:00Z", true);
    kit_sql(path, "PRAGMA user_version = 2");
    is_refused(path, "later rocm-perf");
    add(path, "one", "2026-01-01T00:00:00Z", true);
    kit_sql(path, "DROP TABLE times");
    is_refused(path, "table times is gone");
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

/* --- files that anybody made ---------------------------------------------------------------- */

/* Nothing is read of it, and nothing changed in it: not a byte. */
static void refused_as_it_is(const char *path, const char *says)
{
    const struct rp_history_result r = sample("new", "2026-01-01T00:00:00Z");
    const int64_t ids[] = {1};
    struct rp_err err = RP_ERR_INIT;
    size_t before_bytes, after_bytes;
    void *before = kit_read_file(path, &before_bytes), *after;
    struct rp_history h;
    bool is_new;
    int64_t id;

    assert_int_equal(rp_history_read(path, &h, &err), -RP_BAD_INPUT);
    assert_says(err, says);
    assert_int_equal(rp_history_add(path, &r, &id, &is_new, &err), -RP_BAD_INPUT);
    assert_says(err, says);
    assert_int_equal(rp_history_remove(path, ids, 1, &err), -RP_BAD_INPUT);
    assert_says(err, says);
    after = kit_read_file(path, &after_bytes);
    assert_int_equal(after_bytes, before_bytes);
    assert_memory_equal(after, before, before_bytes);
    free(before);
    free(after);
    kit_remove_all();
}

static void what_no_rocm_perf_makes_is_refused(void **state)
{
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"CREATE VIEW v AS SELECT 1", "view 'v'"},
        {"CREATE TRIGGER t AFTER INSERT ON result BEGIN DELETE FROM result WHERE id < new.id; END",
         "trigger 't'"},
        {"CREATE TABLE extra(a)", "table 'extra'"},
        {"CREATE INDEX i ON times(kernel)", "index 'i'"},
        {"CREATE INDEX i ON times(abs(launches))", "index 'i'"},
        {"ALTER TABLE times ADD COLUMN g AS (launches + 1)", "table times is not the one"},
        {"ALTER TABLE result ADD COLUMN c DEFAULT 1", "table result is not the one"},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'TEXT,', 'TEXT "
         "CHECK(1),') WHERE name = 'times'",
         "table times is not the one"},
        {"ALTER TABLE times RENAME TO t; CREATE VIEW times AS SELECT * FROM t", "'t"},
        {"INSERT INTO times VALUES(2, 0, NULL, 0, 1, '[1.0]')", "numbers"},
        {"UPDATE result SET id = 0; UPDATE times SET result = 0", "numbers"},
        {"UPDATE sqlite_sequence SET seq = 9223372036854775807", "numbers"},
        {"UPDATE sqlite_sequence SET seq = 'x'", "numbers"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = kit_path("h.db");

        add(path, "one", "2026-01-01T00:00:00Z", true);
        kit_sql(path, "%s", cases[i].sql);
        refused_as_it_is(path, cases[i].says);
    }
}

/* The root page of times becomes that of result: a tree that is there twice. */
static void pages_that_are_used_twice_are_refused(void **state)
{
    const char *path = kit_path("h.db");

    (void)state;
    add(path, "one", "2026-01-01T00:00:00Z", true);
    kit_sql(path,
            "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT "
            "rootpage FROM sqlite_master WHERE name = 'result') WHERE name = 'sqlite_sequence'");
    refused_as_it_is(path, "damaged");
}

/* An index that has a result which its table has not would swallow the one to be added. */
static void an_index_with_more_than_its_table_is_refused(void **state)
{
    const char *path = kit_path("h.db");
    size_t bytes;
    char *image, *at;

    (void)state;
    add(path, "the-hash-of-1", "2026-01-01T00:00:00Z", true);
    image = kit_read_file(path, &bytes);
    at = memmem(image, bytes, "the-hash-of-1", 13);
    assert_non_null(at);
    for (char *next = at; next;
         next = memmem(next + 1, bytes - (size_t)(next + 1 - image), "the-hash-of-1", 13))
        at = next;
    at[12] = '2';
    kit_write_file(path, image, bytes);
    free(image);
    refused_as_it_is(path, "damaged");
}

static void names_of_no_file_are_refused(void **state)
{
    static const char *const names[] = {"", ":memory:", "file:x", "file:x?mode=memory"};
    const struct rp_history_result r = sample("new", "2026-01-01T00:00:00Z");
    const int64_t ids[] = {1};
    struct rp_err err = RP_ERR_INIT;
    struct rp_history h;
    bool is_new;
    int64_t id;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(rp_history_read(names[i], &h, &err), -RP_USAGE);
        assert_says(err, "give the path of a file");
        assert_int_equal(rp_history_add(names[i], &r, &id, &is_new, &err), -RP_USAGE);
        assert_int_equal(rp_history_remove(names[i], ids, 1, &err), -RP_USAGE);
    }
    assert_int_equal(rp_history_check_path("./file:x", &err), 0);
    assert_int_equal(rp_history_check_path(kit_path(""), &err), -RP_BAD_INPUT);
}

/* What is no address is refused before a server is asked, and nobody sees a password in either. */
static void addresses_are_shown_without_passwords(void **state)
{
    static const struct {
        const char *address, *shown; /**< NULL: it is refused */
    } cases[] = {
        {"postgresql://h/d", "postgresql://h/d"},
        {"postgres://u:secret@h:5432/d?password=secret&x=y@z", NULL},
        {"postgres://u:secret@h:5432/d?password=secret", "postgresql://u@h:5432/d"},
        {"postgresql://u:se?#cret@[::1]:5432,b:1/d", "postgresql://u@[::1]:5432,b:1/d"},
        {"postgresql://u:secret@/d", "postgresql://u@/d"},
        {"postgresql://%2Fvar%2Frun/d", "postgresql://%2Fvar%2Frun/d"},
        {"postgresql:///", "postgresql://"},
        {"postgresql://u:secret@secret@h/d", NULL},
        {"postgresql://u:secret/x@h/d", NULL},
        {"postgresql://u:secret?x@h/d@", NULL},
        {"postgresql://u:secret:@h:secret/d", NULL},
        {"postgresql://u:secret", NULL},
        {"postgresql:u:secret@h", NULL},
        {"postgresql:", NULL},
        {"postgresql://u:sec ret@h", NULL},
        {"postgresql://[secret/d", NULL},
        {"POSTGRESQL://u:secret@h/d", NULL},
        {"postgresql+psycopg2://u:secret@h/d", NULL},
        {"jdbc:postgresql://h/d?password=secret", NULL},
        {"mysql://u:secret@h/d", NULL},
        {"host=/run dbname=d password=secret", NULL},
        {"Password=secret", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *shown = rp_history_shown_name(cases[i].address);
        struct rp_err err = RP_ERR_INIT;
        const int rc = rp_history_check_path(cases[i].address, &err);

        assert_false(rp_history_is_file(cases[i].address));
        assert_int_equal(rc, cases[i].shown ? 0 : -RP_USAGE);
        assert_string_equal(shown, cases[i].shown ? cases[i].shown : "postgresql://...");
        assert_null(strstr(err.text, "secret"));
        free(shown);
    }
    assert_true(rp_history_is_file("./postgresql:x"));
    assert_true(rp_history_is_file("postgresql"));
    assert_true(rp_history_is_file("./host=x"));
    assert_true(rp_history_is_file("a/b://c"));
    assert_true(rp_history_is_file("n=1"));
}

/* SQLite would wait for the writer of a pipe, and remove the file that such a journal names. */
static void what_lies_beside_it_is_looked_at(void **state)
{
    static const char journal[] = "a\0\0\0\1\0\0\0\x61\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    struct rp_err err = RP_ERR_INIT;
    struct rp_history h;
    const char *path = kit_path("h.db");

    (void)state;
    add(path, "one", "2026-01-01T00:00:00Z", true);
    assert_int_equal(mkfifo(kit_path("h.db-journal"), 0600), 0);
    assert_int_equal(rp_history_read(path, &h, &err), -RP_BAD_INPUT);
    assert_says(err, "h.db-journal, where SQLite keeps");
    kit_remove_all();
    add(path, "one", "2026-01-01T00:00:00Z", true);
    kit_write_file(kit_path("h.db-journal"), journal, sizeof journal - 1);
    assert_int_equal(rp_history_read(path, &h, &err), -RP_BAD_INPUT);
    assert_says(err, "several databases");
    kit_remove_all();
}

/* The budget of steps is that of the smallest rows that there can be. */
static void many_small_rows_are_read(void **state)
{
    enum { ROWS = 50000 };
    const char *path = kit_path("h.db");
    struct rp_history h;

    (void)state;
    add(path, "one", "2026-01-01T00:00:00Z", true);
    kit_sql(path,
            "WITH RECURSIVE n(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM n WHERE x < %d) INSERT "
            "INTO times SELECT 1, x, NULL, 0, 1, '[]' FROM n",
            ROWS);
    assert_int_equal(rp_history_read(path, &h, NULL), 0);
    assert_int_equal(h.results[0].times_count, ROWS + 1); /* sample() has two, at 0 and 1 */
    rp_history_free(&h);
    kit_remove_all();
}

/* The first histories had no AUTOINCREMENT, and are as good. */
static void a_history_of_the_first_version_is_taken(void **state)
{
    const char *path = kit_path("h.db");

    (void)state;
    kit_sql(
        path,
        "CREATE TABLE result(id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, added TEXT NOT "
        "NULL, commit_id TEXT, config TEXT NOT NULL, program TEXT NOT NULL, device TEXT NOT "
        "NULL, software INTEGER NOT NULL, wall INTEGER NOT NULL, complete INTEGER NOT NULL, "
        "rocm_version TEXT, tracer TEXT);"
        "CREATE TABLE times(result INTEGER NOT NULL REFERENCES result(id), position INTEGER NOT "
        "NULL, kernel TEXT, runtime_internal INTEGER NOT NULL, launches INTEGER NOT NULL, "
        "runs_ms TEXT NOT NULL, PRIMARY KEY(result, position)) WITHOUT ROWID;"
        "PRAGMA application_id = 1919969385; PRAGMA user_version = 1");
    assert_int_equal(add(path, "one", "2026-01-01T00:00:00Z", true), 1);
    assert_int_equal(add(path, "one", "2026-01-01T00:00:00Z", false), 1);
    kit_remove_all();
}

static void a_new_history_follows_the_umask(void **state)
{
    static const mode_t umasks[] = {0, 022, 077};
    const char *path = kit_path("h.db");
    const mode_t before = umask(0);
    struct stat st;

    (void)state;
    for (size_t i = 0; i < sizeof umasks / sizeof *umasks; i++) {
        umask(umasks[i]);
        add(path, "one", "2026-01-01T00:00:00Z", true);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0644 & ~umasks[i]);
        assert_int_equal(chmod(path, 0660), 0);
        add(path, "two", "2026-01-01T00:00:00Z", true);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0660);
        kit_remove_all();
    }
    umask(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_read_once_in_order),
        cmocka_unit_test(devices_have_todays_model_of_time),
        cmocka_unit_test(all_writers_land),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(an_empty_file_has_no_results),
        cmocka_unit_test(rows_of_others_are_looked_at),
        cmocka_unit_test(what_no_rocm_perf_makes_is_refused),
        cmocka_unit_test(pages_that_are_used_twice_are_refused),
        cmocka_unit_test(an_index_with_more_than_its_table_is_refused),
        cmocka_unit_test(names_of_no_file_are_refused),
        cmocka_unit_test(addresses_are_shown_without_passwords),
        cmocka_unit_test(what_lies_beside_it_is_looked_at),
        cmocka_unit_test(many_small_rows_are_read),
        cmocka_unit_test(a_new_history_follows_the_umask),
        cmocka_unit_test(a_history_of_the_first_version_is_taken),
    };

    return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
