/* Files that are not, or no longer, rocpd databases. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

static struct rp_err err;

static void refuse(const char *path, const char *says)
{
    err = (struct rp_err)RP_ERR_INIT;
    assert_int_equal(kit_open_and_read(path, &err), -RP_BAD_INPUT);
    assert_says(err, "read trace ");
    assert_says(err, says);
}

static void test_not_a_database(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *says;
    } cases[] = {
        {"", 0, "it is empty (0 bytes)"},
        {"x", 1, "it is not an SQLite database"},
        {"{\"kernels\": []}", 15, "not an SQLite database (it looks like JSON)"},
        {"\"Name\",\"Calls\"\n", 15, "not an SQLite database (it looks like text, perhaps CSV)"},
        {"\x1f\x8b\x08", 3, "it is packed by gzip, and cut short"},
        {"\x7f"
         "ELF\x02\x01\x01",
         7, "not an SQLite database (it looks like an ELF file)"},
        {"SQLite format 3", 16, "it is truncated: 16 bytes"},
        {"SQLite format 2\0 and so on", 26, "it is not an SQLite database"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kit_write_file(kit_path("n.db"), cases[i].bytes, cases[i].len);
        refuse(kit_path("n.db"), cases[i].says);
    }
    refuse(kit_path("."), "it is a directory");
    refuse(kit_path("nowhere.db"), "No such file or directory");
    refuse(kit_path("n.db/below"), "Not a directory");
    refuse("/dev/null", "it is not a regular file");
    assert_int_equal(mkfifo(kit_path("pipe"), 0600), 0);
    refuse(kit_path("pipe"), "it is not a regular file");
}

static void test_other_databases(void **state)
{
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"CREATE TABLE compute_kernel (a); CREATE TABLE compute_metadata (b)",
         "it is not a rocpd trace but an analysis database of rocprof-compute"},
        {"CREATE TABLE rocpd_kernelapi (a); CREATE TABLE rocpd_string (id, string);"
         "CREATE TABLE rocpd_metadata (id, tag, value)",
         "it is not a rocpd trace but an RPD trace (rocpd 2)"},
        {"CREATE TABLE rocpd_op (a)", "it is not a rocpd trace but an RPD trace (rocpd 2)"},
        {"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (a)",
         "it is not a rocpd trace but a trace of Nsight Systems"},
        {"CREATE TABLE bookmarks (a)", "it is an SQLite database, but without rocpd tables"},
        {"CREATE TABLE computers (a)", "it is an SQLite database, but without rocpd tables"},
        {"PRAGMA user_version = 5", "it is an SQLite database without tables"},
        {"CREATE TABLE rocpd_info_agent (id, guid); CREATE TABLE rocpd_string (id, string)",
         "table rocpd_info_process is missing"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        remove(kit_path("o.db"));
        kit_sql(kit_path("o.db"), "%s", cases[i].sql);
        refuse(kit_path("o.db"), cases[i].says);
    }
}

static void test_truncated(void **state)
{
    rp_autofree char *bytes = NULL;
    char says[64];
    size_t len;

    (void)state;
    kit_write_sample(kit_path("t.db"), 1, 1000);
    bytes = kit_read_file(kit_path("t.db"), &len);
    for (size_t cut = 100; cut < len; cut += cut < 4096 ? 499 : 4096) {
        kit_write_file(kit_path("cut.db"), bytes, cut);
        snprintf(says, sizeof says, "it is truncated: %zu of %zu bytes", cut, len);
        refuse(kit_path("cut.db"), says);
    }
}

/* Whatever bytes are hit, reading ends with rows or with a message. */
static void test_damaged(void **state)
{
    rp_autofree unsigned char *bytes = NULL;
    uint64_t random = 88172645463325252u;
    size_t len, refused = 0;
    enum { ROUNDS = 600 };

    (void)state;
    kit_write_sample(kit_path("t.db"), 1, 1000);
    bytes = kit_read_file(kit_path("t.db"), &len);
    for (int round = 0; round < ROUNDS; round++) {
        rp_autofree unsigned char *copy = malloc(len);
        memcpy(copy, bytes, len);
        for (int hit = 0; hit <= round % 40; hit++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            copy[16 + random % (round % 2 ? len - 16 : 12288)] = (unsigned char)(random >> 40);
        }
        kit_write_file(kit_path("d.db"), copy, len);
        err = (struct rp_err)RP_ERR_INIT;
        if (kit_open_and_read(kit_path("d.db"), &err) != 0) {
            assert_true(err.code == RP_BAD_INPUT || err.code == RP_ENVIRONMENT);
            assert_says(err, "read trace ");
            refused++;
        }
    }
    assert_true(refused > ROUNDS / 4);
}

static void test_journal_left_behind(void **state)
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char journal[1024] = {0};

    (void)state;
    kit_write_sample(kit_path("j.db"), 1, 1000);
    memcpy(journal, magic, sizeof magic);
    journal[11] = 1; /* one page */
    kit_write_file(kit_path("j.db-journal"), journal, sizeof journal);
    refuse(kit_path("j.db"), "j.db-journal must be rolled back");
    remove(kit_path("j.db-journal"));
}

static void test_in_use(void **state)
{
    sqlite3 *writer = NULL;

    (void)state;
    kit_write_sample(kit_path("u.db"), 1, 1000);
    assert_int_equal(sqlite3_open(kit_path("u.db"), &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(kit_open_and_read(kit_path("u.db"), &err), -RP_ENVIRONMENT);
    assert_says(err, "u.db: cannot read it: in use by another program");
    sqlite3_close(writer);
    assert_int_equal(kit_open_and_read(kit_path("u.db"), &err), 0);
}

/* --- schemas made to keep their reader busy ------------------------------------------------ */

static double seconds_of(const char *path, const char *says)
{
    struct timeval a, b;

    gettimeofday(&a, NULL);
    refuse(path, says);
    gettimeofday(&b, NULL);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_usec - a.tv_usec) / 1e6;
}

static void replace_view(const char *path, const char *view, const char *select)
{
    kit_write_sample(path, 1, 1000);
    kit_sql(path, "DROP VIEW \"%s\"; CREATE VIEW \"%s\" AS %s", view, view, select);
}

static void test_endless_views(void **state)
{
    (void)state;
    replace_view(kit_path("e.db"), "rocpd_kernel_dispatch",
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                 " SELECT d.*, i FROM n, (SELECT * FROM rocpd_event) e, (SELECT 1 AS agent_id,"
                 " 1 AS kernel_id, 1 AS dispatch_id, 1 AS queue_id, 1 AS stream_id, 1 AS start,"
                 " 1 AS \"end\", 1 AS private_segment_size, 1 AS group_segment_size,"
                 " 1 AS workgroup_size_x, 1 AS workgroup_size_y, 1 AS workgroup_size_z,"
                 " 1 AS grid_size_x, 1 AS grid_size_y, 1 AS grid_size_z, 1 AS id, 'g' AS guid) d");
    assert_true(seconds_of(kit_path("e.db"), "more work than a database of its size") < 20);
    replace_view(kit_path("e.db"), "rocpd_string",
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                 " SELECT i AS id, 'g' AS guid, hex(zeroblob(20000)) || i AS string FROM n");
    assert_true(seconds_of(kit_path("e.db"), "more text than a database of its size can") < 20);
    replace_view(kit_path("e.db"), "rocpd_info_agent",
                 "SELECT a.* FROM rocpd_event a, rocpd_event b ORDER BY a.id");
    refuse(kit_path("e.db"), "table rocpd_info_agent has no column type");
    replace_view(kit_path("e.db"), "rocpd_info_queue",
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                 " SELECT i AS id, 'guid ' || i AS guid, 'q' AS name FROM n");
    refuse(kit_path("e.db"), "it holds more than 4096 processes");
    replace_view(kit_path("e.db"), "rocpd_info_queue",
                 "SELECT load_extension('x') AS id, 'g' AS guid, 'q' AS name");
    assert_int_equal(kit_open_and_read(kit_path("e.db"), &err), 0); /* the view does not work */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_a_database),      cmocka_unit_test(test_other_databases),
        cmocka_unit_test(test_truncated),           cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_journal_left_behind), cmocka_unit_test(test_in_use),
        cmocka_unit_test(test_endless_views),
    };

    return cmocka_run_group_tests_name("store damage", tests, kit_setup, kit_teardown);
}
