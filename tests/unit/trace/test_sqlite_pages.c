/* Rows read from the leaves of a table against the rows that SQLite reads. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "trace/rocpd_schema.h"
#include "trace/sqlite_pages.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKE "take_values"

static void take(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)context;
    (void)count;
    (void)values;
}

static void take_end(sqlite3_context *context)
{
    sqlite3_result_null(context);
}

static sqlite3 *open_to(const char *path, int flags)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, flags, NULL), SQLITE_OK);
    sqlite3_create_function(db, TAKE, -1, SQLITE_UTF8, NULL, NULL, take, take_end);
    return db;
}

/* --- comparing ----------------------------------------------------------------------------- */

struct compared {
    sqlite3_stmt *expected;
    int count;
    uint64_t rows;
};

static void compare_cell(const struct rp_cell *cell, sqlite3_stmt *stmt, int at)
{
    switch (sqlite3_column_type(stmt, at)) {
    case SQLITE_NULL:
        assert_int_equal(cell->type, RP_CELL_NULL);
        break;
    case SQLITE_INTEGER:
        assert_int_equal(cell->type, RP_CELL_INTEGER);
        assert_true(cell->number == sqlite3_column_int64(stmt, at));
        break;
    case SQLITE_FLOAT:
        assert_int_equal(cell->type, RP_CELL_REAL);
        assert_true(cell->real == sqlite3_column_double(stmt, at));
        break;
    default:
        assert_int_equal(cell->type, RP_CELL_TEXT);
        assert_int_equal(cell->len, sqlite3_column_bytes(stmt, at));
        if (cell->len)
            assert_memory_equal(cell->bytes, sqlite3_column_blob(stmt, at), cell->len);
        break;
    }
}

static int compare_row(void *ctx, const struct rp_cell *cells)
{
    struct compared *c = ctx;

    assert_int_equal(sqlite3_step(c->expected), SQLITE_ROW);
    for (int i = 0; i < c->count; i++)
        compare_cell(&cells[i], c->expected, i);
    c->rows++;
    return 0;
}

enum outcome { ALL, SOME, NONE };

/* Reads the columns of a relation both ways. */
static enum outcome read_with(sqlite3 *db, const char *columns, const char *from,
                              uint64_t *ret_rows)
{
    rp_autobuf sql = {0}, plain = {0};
    rp_autostmt *expected = NULL;
    struct compared c = {0};
    struct pages pages;
    struct wanted wanted;
    uint64_t rows = 0;
    uint32_t root;
    bool all;

    rp_buf_printf(&sql, "SELECT " TAKE "(%s) FROM %s AS r", columns, from);
    rp_buf_printf(&plain, "SELECT %s FROM %s AS r", columns, from);
    assert_int_equal(sqlite3_prepare_v2(db, plain.data, -1, &expected, NULL), SQLITE_OK);
    *ret_rows = 0;
    if (!plan_scan(db, sql.data, TAKE, &root, &wanted) || !pages_begin(db, &pages))
        return NONE;
    c.expected = expected;
    c.count = sqlite3_column_count(expected);
    assert_int_equal(leaves_each(&pages, root, &wanted, compare_row, &c, &rows, &all), 0);
    pages_free(&pages);
    assert_true(rows == c.rows);
    if (all)
        assert_int_equal(sqlite3_step(expected), SQLITE_DONE);
    *ret_rows = rows;
    return all ? ALL : SOME;
}

static enum outcome read_file(const char *path, const char *columns, const char *from,
                              uint64_t *ret_rows)
{
    sqlite3 *db = open_to(path, SQLITE_OPEN_READONLY);
    enum outcome outcome = read_with(db, columns, from, ret_rows);

    sqlite3_close(db);
    return outcome;
}

/* --- values -------------------------------------------------------------------------------- */

/* A thousand rows and more of numbers of all lengths, texts and blobs of many, with gaps between
 * the ids, which begin below zero. */
#define FILL                                                                                       \
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c, d, e);"                                      \
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"                 \
    " INSERT INTO t SELECT i * 3 - 100, (1 << (i %% 63)) - (i & 1), -(1 << (i %% 63)) + (i & 1),"  \
    " CASE i %% 5 WHEN 0 THEN NULL WHEN 1 THEN i / 7.0 WHEN 2 THEN -1e300 ELSE i %% 3 END,"        \
    " substr(hex(zeroblob(100)), 1, i %% 90) || i, randomblob(i %% 40) FROM n;"                    \
    "INSERT INTO t VALUES (9223372036854775807, 1, 2, 9e999, '', x''), (-9223372036854775808,"     \
    " 127, -128, -9e999, 'a', NULL), (1 << 40, 32767, -32768, 8388607, -8388608, 'x');"            \
    "DELETE FROM t WHERE id %% 11 = 4;"

static void test_values(void **state)
{
    static const char *const settings[] = {"PRAGMA page_size = 512",
                                           "PRAGMA page_size = 1024; PRAGMA auto_vacuum = FULL",
                                           "PRAGMA page_size = 4096", "PRAGMA page_size = 65536"};

    (void)state;
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        uint64_t rows;
        remove(kit_path("v.db"));
        kit_sql(kit_path("v.db"), "%s; " FILL, settings[i], 30000);
        assert_int_equal(read_file(kit_path("v.db"), "r.id, r.a, r.b, r.c, r.d, r.e", "t", &rows),
                         ALL);
        assert_true(rows > 27000);
        assert_int_equal(read_file(kit_path("v.db"), "r.e, r.a, r.id", "t", &rows), ALL);
    }
}

static void test_small_tables(void **state)
{
    uint64_t rows;

    (void)state;
    kit_sql(kit_path("s.db"), "CREATE TABLE none (a); CREATE TABLE one (a, id INTEGER PRIMARY KEY);"
                              "INSERT INTO one VALUES ('x', 7); CREATE TABLE emptied (a);"
                              "INSERT INTO emptied VALUES (1), (2); DELETE FROM emptied");
    assert_int_equal(read_file(kit_path("s.db"), "r.a", "none", &rows), ALL);
    assert_int_equal(rows, 0);
    assert_int_equal(read_file(kit_path("s.db"), "r.id, r.a, r.rowid", "one", &rows), ALL);
    assert_int_equal(rows, 1);
    assert_int_equal(read_file(kit_path("s.db"), "r.a", "emptied", &rows), ALL);
    assert_int_equal(rows, 0);
}

static void test_reserved_bytes(void **state)
{
    sqlite3 *db = open_to(kit_path("r.db"), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    int reserved = 32;
    uint64_t rows;

    (void)state;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 1", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    kit_sql(kit_path("r.db"), FILL, 5000);
    assert_int_equal(read_file(kit_path("r.db"), "r.a, r.e", "t", &rows), ALL);
}

/* --- what SQLite must read ----------------------------------------------------------------- */

static void test_long_records(void **state)
{
    uint64_t rows;

    (void)state;
    kit_sql(kit_path("l.db"), "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, c);"
                              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
                              " i < 900) INSERT INTO t SELECT i, i, CASE i WHEN 500 THEN"
                              " hex(zeroblob(30000)) ELSE i END, i FROM n");
    assert_int_equal(read_file(kit_path("l.db"), "r.id, r.a", "t", &rows), ALL);
    assert_int_equal(rows, 900);
    assert_int_equal(read_file(kit_path("l.db"), "r.id, r.b", "t", &rows), SOME);
    assert_int_equal(rows, 499);
    assert_int_equal(read_file(kit_path("l.db"), "r.c", "t", &rows), SOME);
    assert_int_equal(rows, 499);
}

static void test_short_records(void **state)
{
    uint64_t rows;

    (void)state;
    kit_sql(kit_path("a.db"), "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);"
                              "ALTER TABLE t ADD COLUMN b DEFAULT 5; INSERT INTO t VALUES (3, 4);");
    assert_int_equal(read_file(kit_path("a.db"), "r.a", "t", &rows), ALL);
    assert_int_equal(read_file(kit_path("a.db"), "r.b", "t", &rows), SOME);
    assert_int_equal(rows, 0);
}

static void test_relations(void **state)
{
    static const struct {
        const char *sql, *columns;
        enum outcome outcome;
    } cases[] = {
        {"CREATE TABLE u (b, id INTEGER PRIMARY KEY, a)", "r.a, r.id", ALL},
        {"CREATE TABLE u (b, id INT PRIMARY KEY, a)", "r.a, r.id", ALL},
        {"CREATE VIEW u AS SELECT * FROM t", "r.a, r.id", ALL},
        {"CREATE VIEW u AS SELECT a AS id, id AS a FROM t", "r.a, r.id", ALL},
        {"CREATE VIEW v AS SELECT id, a FROM t; CREATE VIEW u AS SELECT * FROM v", "r.id", ALL},
        {"CREATE TABLE u (id PRIMARY KEY, a) WITHOUT ROWID", "r.a, r.id", NONE},
        {"CREATE TABLE u (id, a, b, c, d, e); CREATE INDEX i ON u (a)", "r.a", NONE},
        {"CREATE TABLE u (id, a REAL)", "r.a", NONE},
        {"CREATE TABLE u (id, b, a AS (b + 1))", "r.a", NONE},
        {"CREATE VIEW u AS SELECT * FROM t WHERE a > 5", "r.a", NONE},
        {"CREATE VIEW u AS SELECT DISTINCT id, a FROM t", "r.a", NONE},
        {"CREATE VIEW u AS SELECT id, a FROM t LIMIT 7", "r.a", NONE},
        {"CREATE VIEW u AS SELECT id, a FROM t LIMIT -1 OFFSET 3", "r.a", NONE},
        {"CREATE VIEW u AS SELECT id, a FROM t ORDER BY a", "r.a", NONE},
        {"CREATE VIEW u AS SELECT id, a FROM t GROUP BY a", "r.a", NONE},
        {"CREATE VIEW u AS SELECT id, max(a) AS a FROM t", "r.a", NONE},
        {"CREATE VIEW u AS SELECT id, a + 1 AS a FROM t", "r.a", NONE},
        {"CREATE VIEW u AS SELECT id, 7 AS a FROM t", "r.a, r.id", NONE},
        {"CREATE VIEW u AS SELECT id, CAST(a AS TEXT) AS a FROM t", "r.a", NONE},
        {"CREATE VIEW u AS SELECT x.id, y.a FROM t x JOIN t y ON x.id = y.id", "r.a, r.id", NONE},
        {"CREATE VIEW u AS SELECT x.id, x.a FROM t x, t y", "r.a, r.id", NONE},
        {"CREATE VIEW u AS SELECT id, a FROM t UNION ALL SELECT id, a FROM t", "r.a", NONE},
        {"CREATE VIEW u AS SELECT type AS id, name AS a FROM sqlite_master", "r.a", NONE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t rows;
        remove(kit_path("x.db"));
        kit_sql(kit_path("x.db"), FILL "%s", 500, cases[i].sql);
        if (strstr(cases[i].sql, "TABLE u (id, a"))
            kit_sql(kit_path("x.db"), "INSERT INTO u (id, a) VALUES (2, 3), (1, 4)");
        if (read_file(kit_path("x.db"), cases[i].columns, "u", &rows) != cases[i].outcome)
            fail_msg("%s", cases[i].sql);
    }
}

static void test_files(void **state)
{
    sqlite3 *writer;
    uint64_t rows;

    (void)state;
    kit_sql(kit_path("utf16.db"), "PRAGMA encoding = 'UTF-16le'; " FILL, 500);
    assert_int_equal(read_file(kit_path("utf16.db"), "r.d", "t", &rows), NONE);
    kit_sql(kit_path("w.db"), FILL, 500);
    writer = open_to(kit_path("w.db"), SQLITE_OPEN_READWRITE);
    assert_int_equal(read_with(writer, "r.d", "t", &rows), NONE);
    assert_int_equal(sqlite3_exec(writer, "PRAGMA journal_mode = WAL; DELETE FROM t WHERE id > 9",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(read_file(kit_path("w.db"), "r.d", "t", &rows), NONE);
    sqlite3_close(writer);
    writer = open_to(":memory:", SQLITE_OPEN_READWRITE);
    assert_int_equal(sqlite3_exec(writer, "CREATE TABLE t (a)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(read_with(writer, "r.a", "t", &rows), NONE);
    sqlite3_close(writer);
}

/* Nobody writes while rows are read. */
static int try_to_write(void *ctx, const struct rp_cell *cells)
{
    sqlite3 *writer = ctx;

    (void)cells;
    assert_int_equal(sqlite3_exec(writer, "DELETE FROM t", NULL, NULL, NULL), SQLITE_BUSY);
    return -1;
}

static void test_writers_wait(void **state)
{
    sqlite3 *db, *writer;
    struct wanted wanted;
    struct pages pages;
    uint64_t rows;
    uint32_t root;
    bool all;

    (void)state;
    kit_sql(kit_path("b.db"), FILL, 500);
    db = open_to(kit_path("b.db"), SQLITE_OPEN_READONLY);
    writer = open_to(kit_path("b.db"), SQLITE_OPEN_READWRITE);
    assert_true(plan_scan(db, "SELECT " TAKE "(r.a) FROM t AS r", TAKE, &root, &wanted));
    assert_true(pages_begin(db, &pages));
    assert_int_equal(leaves_each(&pages, root, &wanted, try_to_write, writer, &rows, &all), -1);
    pages_free(&pages);
    assert_int_equal(sqlite3_exec(writer, "DELETE FROM t", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(writer);
    sqlite3_close(db);
}

/* --- size ---------------------------------------------------------------------------------- */

static void put_number(const char *path, long at, uint32_t number)
{
    const unsigned char bytes[] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                   (unsigned char)(number >> 8), (unsigned char)number};
    FILE *file = fopen(path, "r+b");

    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
    assert_int_equal(fclose(file), 0);
}

/* Pages that the path's database has for us; 0: it is left to SQLite. */
static uint32_t pages_of(const char *path)
{
    sqlite3 *db = open_to(path, SQLITE_OPEN_READONLY);
    struct pages pages;
    uint32_t count = 0;

    if (pages_begin(db, &pages)) {
        count = pages.page_count;
        pages_free(&pages);
    }
    sqlite3_close(db);
    return count;
}

/* The header says how many pages there are, as SQLite's own pragma does; not the file's size. */
static void test_pages_are_those_of_the_header(void **state)
{
    sqlite3_stmt *pragma;
    sqlite3 *db;
    uint32_t count;
    FILE *file;

    (void)state;
    kit_sql(kit_path("p.db"), FILL, 500);
    file = fopen(kit_path("p.db"), "ab");
    assert_non_null(file);
    for (int i = 0; i < 3 * 65536; i++)
        fputc(0x0d, file); /* the first byte of a leaf */
    assert_int_equal(fclose(file), 0);
    db = open_to(kit_path("p.db"), SQLITE_OPEN_READONLY);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA page_count", -1, &pragma, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(pragma), SQLITE_ROW);
    count = (uint32_t)sqlite3_column_int64(pragma, 0);
    sqlite3_finalize(pragma);
    sqlite3_close(db);
    assert_true(count > 1);
    assert_int_equal(pages_of(kit_path("p.db")), count);

    put_number(kit_path("p.db"), AT_COUNTED_AT, 0x7fffffff); /* an old SQLite has written since */
    assert_true(pages_of(kit_path("p.db")) > count);

    kit_sql(kit_path("q.db"), FILL, 500);
    put_number(kit_path("q.db"), AT_PAGE_COUNT, count + 1000);
    assert_int_equal(pages_of(kit_path("q.db")), 0);
}

/* --- damage -------------------------------------------------------------------------------- */

static int count_row(void *ctx, const struct rp_cell *cells)
{
    size_t *sum = ctx;

    for (int i = 0; i < 3; i++) /* touch all bytes */
        for (uint32_t k = 0; cells[i].type == RP_CELL_TEXT && k < cells[i].len; k++)
            *sum += cells[i].bytes[k];
    return 0;
}

/* What is taken for whole must be so to SQLite, as the store has it. */
static void check_whole(sqlite3 *db, uint64_t rows)
{
    rp_autostmt *stmt = NULL;
    uint64_t expected = 0;
    int result;

    sqlite3_exec(db, "PRAGMA cell_size_check = ON", NULL, NULL, NULL);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT id, d, e FROM t", -1, &stmt, NULL), SQLITE_OK);
    while ((result = sqlite3_step(stmt)) == SQLITE_ROW)
        expected++;
    assert_int_equal(result, SQLITE_DONE);
    assert_true(expected == rows);
}

static void read_damaged(const char *path, size_t *sum, uint64_t *stopped)
{
    sqlite3 *db = open_to(path, SQLITE_OPEN_READONLY);
    struct wanted wanted;
    struct pages pages;
    uint64_t rows;
    uint32_t root;
    bool all;

    if (plan_scan(db, "SELECT " TAKE "(r.id, r.d, r.e) FROM t AS r", TAKE, &root, &wanted) &&
        pages_begin(db, &pages)) {
        leaves_each(&pages, root, &wanted, count_row, sum, &rows, &all);
        pages_free(&pages);
        *stopped += !all;
        if (all)
            check_whole(db, rows);
    }
    sqlite3_close(db);
}

static void test_damaged(void **state)
{
    rp_autofree unsigned char *bytes = NULL;
    uint64_t random = 88172645463325252u, stopped = 0;
    size_t len, sum = 0;
    enum { ROUNDS = 800, PAGE_BYTES = 512 };

    (void)state;
    kit_sql(kit_path("d.db"), "PRAGMA page_size = 512; " FILL, 1500);
    bytes = kit_read_file(kit_path("d.db"), &len);
    for (int round = 0; round < ROUNDS; round++) {
        rp_autofree unsigned char *copy = malloc(len);
        memcpy(copy, bytes, len);
        for (int hit = 0; hit <= round % 20; hit++) {
            size_t at;
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            at = PAGE_BYTES + random % (len - PAGE_BYTES);
            if (round % 2) /* where a page says what it holds */
                at = at / PAGE_BYTES * PAGE_BYTES + at % 16;
            copy[at] = (unsigned char)(random >> 40);
        }
        kit_write_file(kit_path("d.db"), copy, len);
        read_damaged(kit_path("d.db"), &sum, &stopped);
    }
    assert_true(stopped > ROUNDS / 4);
    assert_true(sum > 0);
}

/* A page that is its own child has no end. */
static void test_circle(void **state)
{
    rp_autofree unsigned char *bytes = NULL;
    uint64_t stopped = 0;
    size_t len, sum = 0, root;

    (void)state;
    kit_sql(kit_path("c.db"), "PRAGMA page_size = 512; " FILL, 3000);
    root = (size_t)kit_sql_int(kit_path("c.db"), "SELECT rootpage FROM sqlite_master") - 1;
    bytes = kit_read_file(kit_path("c.db"), &len);
    assert_int_equal(bytes[root * 512], 5); /* an inner page */
    for (int i = 0; i < 4; i++)
        bytes[root * 512 + 8 + (size_t)i] = (unsigned char)((root + 1) >> (24 - 8 * i));
    kit_write_file(kit_path("c.db"), bytes, len);
    read_damaged(kit_path("c.db"), &sum, &stopped);
    assert_int_equal(stopped, 1);
}

/* --- the store ----------------------------------------------------------------------------- */

/* What is read must not depend on the way: a filter that lets all pass keeps SQLite at it. */
static void check_dispatches(const char *fast_path, const char *slow_path)
{
    const struct rp_row_dispatch *fast, *slow;
    struct rp_store *a = NULL, *b = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t fast_count, slow_count;

    assert_ok(rp_store_open(fast_path, &a, &err));
    assert_ok(rp_store_open(slow_path, &b, &err));
    assert_ok(rp_store_dispatches(a, &fast, &fast_count, &err));
    assert_ok(rp_store_dispatches(b, &slow, &slow_count, &err));
    assert_true(fast_count > 2);
    assert_int_equal(fast_count, slow_count);
    for (size_t i = 0; i < fast_count; i++)
        assert_memory_equal(&fast[i], &slow[i], sizeof fast[i]);
    rp_store_close(a);
    rp_store_close(b);
}

/* Name of the table of the sample's one process. */
static char *table_of(const char *path, const char *name)
{
    char *text = kit_sql_text(path,
                              "SELECT name FROM sqlite_master WHERE type = 'table' AND"
                              " name GLOB '%s_[0-9a-f]*'",
                              name);

    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void test_both_ways(void **state)
{
    rp_autofree char *table = NULL;

    (void)state;
    kit_write_sample(kit_path("fast.db"), 1, 1000);
    kit_copy(kit_path("fast.db"), kit_path("slow.db"));
    table = table_of(kit_path("slow.db"), "rocpd_kernel_dispatch");
    kit_sql(kit_path("slow.db"),
            "DROP VIEW rocpd_kernel_dispatch; CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM"
            " \"%s\" WHERE abs(dispatch_id) >= 0",
            table);
    check_dispatches(kit_path("fast.db"), kit_path("slow.db"));
}

/* Of a table that is read without SQLite up to a row that is not, each row comes once. */
static void test_stop_and_go_on(void **state)
{
    rp_autofree char *table = NULL;
    const struct rp_row_kernel *kernels;
    struct rp_store *s = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t count;

    (void)state;
    kit_write_sample(kit_path("g.db"), 1, 1000);
    table = table_of(kit_path("g.db"), "rocpd_info_kernel_symbol");
    kit_sql(kit_path("g.db"),
            "UPDATE \"%s\" SET display_name = hex(zeroblob(9000)) WHERE id ="
            " (SELECT max(id) FROM \"%s\")",
            table, table);
    assert_ok(rp_store_open(kit_path("g.db"), &s, &err));
    assert_ok(rp_store_kernels(s, &kernels, &count, &err));
    assert_int_equal(count, kit_sql_int(kit_path("g.db"), "SELECT count(*) FROM \"%s\"", table));
    assert_true(count >= 2);
    for (size_t i = 1; i < count; i++)
        assert_true(kernels[i - 1].id < kernels[i].id);
    assert_int_equal(strlen(kernels[count - 1].display_name), 18000);
    rp_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_small_tables),
        cmocka_unit_test(test_reserved_bytes),
        cmocka_unit_test(test_long_records),
        cmocka_unit_test(test_short_records),
        cmocka_unit_test(test_relations),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_writers_wait),
        cmocka_unit_test(test_pages_are_those_of_the_header),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_stop_and_go_on),
    };

    return cmocka_run_group_tests_name("store leaves", tests, kit_setup, kit_teardown);
}
