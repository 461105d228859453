/* The reader: every row of every layout that a rocpd database may have. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "trace/rocpd_schema.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

static struct rp_err err;

static struct rp_store *reopen(const char *path)
{
    struct rp_store *s = NULL;

    err = (struct rp_err)RP_ERR_INIT;
    assert_ok(rp_store_open(path, &s, &err));
    return s;
}

/* Number of rows and one sum over them, against plain SQL. */
static void compare_rows(const char *path)
{
    struct rp_store *s = reopen(path);
    const struct rp_row_dispatch *dispatch;
    const struct rp_row_copy *copy;
    int64_t sum = 0;
    size_t count;

#define COUNT(plural, row, table)                                                                  \
    do {                                                                                           \
        const struct row *rows;                                                                    \
        assert_ok(rp_store_##plural(s, &rows, &count, &err));                                      \
        assert_int_equal(count, kit_sql_int(path, "SELECT count(*) FROM rocpd_" table));           \
    } while (0)
    COUNT(processes, rp_row_process, "info_process");
    COUNT(threads, rp_row_thread, "info_thread");
    COUNT(agents, rp_row_agent, "info_agent");
    COUNT(queues, rp_row_queue, "info_queue");
    COUNT(streams, rp_row_queue, "info_stream");
    COUNT(code_objects, rp_row_code_object, "info_code_object");
    COUNT(kernels, rp_row_kernel, "info_kernel_symbol");
#undef COUNT
    assert_ok(rp_store_dispatches(s, &dispatch, &count, &err));
    assert_int_equal(count, kit_sql_int(path, "SELECT count(*) FROM rocpd_kernel_dispatch"));
    for (size_t i = 0; i < count; i++) {
        const struct rp_row_dispatch *d = &dispatch[i];
        assert_true(i == 0 || d[-1].start_ns <= d->start_ns);
        sum += d->end_ns - d->start_ns + d->grid[0] * d->workgroup[0] + 7 * d->correlation_id +
               3 * d->kernel_id + 5 * d->queue_id + 11 * d->stream_id + 13 * d->tid;
    }
    assert_int_equal(sum, kit_sql_int(path, "SELECT sum(duration + grid_x * workgroup_x +"
                                            " 7 * stack_id + 3 * kernel_id + 5 * queue_id +"
                                            " 11 * stream_id + 13 * tid) FROM kernels"));
    assert_ok(rp_store_copies(s, &copy, &count, &err));
    assert_int_equal(count, kit_sql_int(path, "SELECT count(*) FROM rocpd_memory_copy"));
    sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += copy[i].end_ns - copy[i].start_ns + copy[i].bytes + 7 * copy[i].correlation_id +
               3 * copy[i].dst_agent_id + copy[i].src_address + (int64_t)strlen(copy[i].name);
    assert_int_equal(sum, kit_sql_int(path, "SELECT coalesce(sum(duration + size + 7 * stack_id +"
                                            " 3 * dst_agent_abs_index + src_address +"
                                            " length(name)), 0) FROM memory_copies"));
    assert_string_equal(rp_store_schema(s), "3.0.0");
    rp_store_close(s);
}

static void test_genuine_rows(void **state)
{
    (void)state;
    kit_for_each_database(compare_rows);
}

static void test_values_of_a_genuine_trace(void **state)
{
    struct rp_store *s = reopen(kit_data("vadd-kernel_results.db"));
    const struct rp_row_dispatch *d;
    const struct rp_row_agent *agent;
    const struct rp_row_kernel *kernel;
    size_t count;

    (void)state;
    assert_ok(rp_store_dispatches(s, &d, &count, &err));
    assert_int_equal(d[1].start_ns, 3160174761049);
    assert_int_equal(d[1].end_ns, 3160174895849);
    assert_int_equal(d[1].grid[0], 1048576);
    assert_int_equal(d[1].workgroup[0], 256);
    assert_int_equal(d[1].correlation_id, 2);
    assert_ok(rp_store_kernels(s, &kernel, &count, &err));
    kernel = rp_store_find_kernel(s, d[1].guid_index, d[1].kernel_id);
    assert_string_equal(kernel->display_name, "vadd(float const*, float const*, float*, int)");
    assert_string_equal(kernel->kernel_name, "_Z4vaddPKfS0_Pfi.kd");
    assert_int_equal(kernel->arch_vgpr_count, 8);
    assert_int_equal(kernel->sgpr_count, 16);
    assert_ok(rp_store_agents(s, &agent, &count, &err));
    agent = rp_store_find_agent(s, d[1].guid_index, d[1].agent_id);
    assert_true(agent->is_gpu);
    assert_string_equal(agent->name, "gfx942");
    assert_string_equal(agent->product_name, "AMD Instinct MI300X");
    assert_int_equal(agent->device_id, 29857);
    assert_non_null(strstr(agent->extdata, "\"cu_count\":304"));
    rp_store_close(s);
}

/* --- merged ------------------------------------------------------------------------------- */

/* Two processes with the same ids: b's kernels have other names and its agents another device. */
static void make_pair(const char *a, const char *b)
{
    rp_autofree char *uuid = NULL;

    kit_write_sample(a, 1, 1000);
    kit_write_sample(b, 2, 500000);
    uuid = kit_sql_text(b, "SELECT value FROM rocpd_metadata WHERE tag = 'uuid'");
    uuid[strcspn(uuid, "\n")] = '\0';
    kit_sql(b, "UPDATE rocpd_info_kernel_symbol%s SET display_name = 'b' || id", uuid);
    kit_sql(b, "UPDATE rocpd_info_agent%s SET name = 'gfx950' WHERE id = 1", uuid);
    kit_sql(b, "UPDATE rocpd_event%s SET stack_id = stack_id + 1000", uuid);
    kit_sql(b, "UPDATE rocpd_string%s SET string = string || ' of b' WHERE string LIKE 'MEM%%'",
            uuid);
}

static void check_merged(const char *path)
{
    struct rp_store *s = reopen(path);
    const struct rp_row_dispatch *d;
    const struct rp_row_kernel *kernel;
    const struct rp_row_agent *agent;
    const struct rp_row_process *process;
    const struct rp_row_copy *copy;
    size_t count;

    assert_int_equal(rp_store_guid_count(s), 2);
    assert_string_not_equal(rp_store_guid(s, 0), rp_store_guid(s, 1));
    assert_ok(rp_store_processes(s, &process, &count, &err));
    assert_int_equal(count, 2);
    assert_true(process[0].guid_index == 0 && process[1].guid_index == 1);
    assert_ok(rp_store_kernels(s, &kernel, &count, &err));
    assert_int_equal(count, 4);
    assert_ok(rp_store_agents(s, &agent, &count, &err));
    assert_int_equal(count, 4);
    assert_ok(rp_store_dispatches(s, &d, &count, &err));
    assert_int_equal(count, 8);
    for (size_t i = 0; i < 8; i++) {
        bool second = d[i].start_ns >= 500000;
        assert_int_equal(d[i].guid_index, second);
        kernel = rp_store_find_kernel(s, d[i].guid_index, d[i].kernel_id);
        assert_non_null(kernel);
        assert_int_equal(kernel->display_name[0] == 'b' && kernel->display_name[1] != '(', second);
        agent = rp_store_find_agent(s, d[i].guid_index, d[i].agent_id);
        assert_string_equal(agent->name, second ? "gfx950" : "gfx942");
        assert_int_equal(d[i].correlation_id > 1000, second);
    }
    assert_ok(rp_store_copies(s, &copy, &count, &err));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(strstr(copy[i].name, " of b") != NULL, copy[i].guid_index == 1);
    rp_store_close(s);
}

static void test_merged(void **state)
{
    (void)state;
    make_pair(kit_path("a.db"), kit_path("b.db"));
    kit_merge(kit_path("a.db"), kit_path("b.db"), kit_path("m.db"), true);
    check_merged(kit_path("m.db"));
}

static void test_merged_without_views(void **state)
{
    (void)state;
    make_pair(kit_path("a.db"), kit_path("b.db"));
    kit_merge(kit_path("a.db"), kit_path("b.db"), kit_path("m.db"), false);
    check_merged(kit_path("m.db"));
}

/* A view that does not work (its table is gone) is no view. */
static void test_broken_views(void **state)
{
    (void)state;
    make_pair(kit_path("a.db"), kit_path("b.db"));
    kit_merge(kit_path("a.db"), kit_path("b.db"), kit_path("m.db"), false);
    kit_sql(kit_path("m.db"), "CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM gone;"
                              "CREATE VIEW rocpd_string AS SELECT nil FROM gone;"
                              "CREATE VIEW rocpd_event AS SELECT * FROM rocpd_event;");
    check_merged(kit_path("m.db"));
}

/* --- layouts ------------------------------------------------------------------------------ */

/* Plain tables named as the views, without column @p drop of @p of (NULL: all columns). */
static void make_plain(const char *from, const char *to, const char *of, const char *drop)
{
    rp_autofree char *create = NULL;

    remove(to);
    create = kit_sql_text(
        from,
        "SELECT 'CREATE TABLE ' || m.name || ' AS SELECT ' || group_concat('\"' || p.name || '\"')"
        " || ' FROM s.' || m.name || ';' FROM sqlite_master m, pragma_table_info(m.name) p"
        " WHERE m.type = 'view' AND m.name LIKE 'rocpd%%'"
        " AND NOT (m.name = '%s' AND p.name = '%s') GROUP BY m.name",
        of ? of : "", drop ? drop : "");
    kit_sql(to, "ATTACH '%s' AS s; %s", from, create);
}

static void test_plain_tables(void **state)
{
    struct rp_store *s;
    const struct rp_row_dispatch *d;
    size_t count;

    (void)state;
    make_plain(kit_data("streams-hip_results.db"), kit_path("p.db"), NULL, NULL);
    s = reopen(kit_path("p.db"));
    assert_ok(rp_store_dispatches(s, &d, &count, &err));
    assert_int_equal(count, 80);
    assert_true(d[0].correlation_id > 0);
    rp_store_close(s);
}

static char *text_of_columns(const char *path)
{
    return kit_sql_text(path, "SELECT m.name, p.name FROM sqlite_master m,"
                              " pragma_table_info(m.name) p WHERE m.type = 'view'"
                              " AND m.name LIKE 'rocpd%%'");
}

/* Sum over what was read, to notice a wrong value that arrives without an error. */
static bool digest(const char *path, int64_t *ret)
{
    struct rp_store *s = NULL;
    const struct rp_row_dispatch *d;
    const struct rp_row_copy *copy;
    const struct rp_row_kernel *kernel;
    size_t dispatches = 0, copies = 0, kernels = 0;
    int64_t sum = 0;
    bool fine = rp_store_open(path, &s, &err) == 0 && kit_read_all(s, &err) == 0 &&
                rp_store_dispatches(s, &d, &dispatches, &err) == 0 &&
                rp_store_copies(s, &copy, &copies, &err) == 0 &&
                rp_store_kernels(s, &kernel, &kernels, &err) == 0;

    for (size_t i = 0; fine && i < dispatches; i++)
        sum += (int64_t)(i + 1) *
               (d[i].end_ns - d[i].start_ns + d[i].kernel_id + d[i].agent_id + d[i].queue_id +
                d[i].stream_id + d[i].dispatch_id + d[i].private_bytes + 3 * d[i].group_bytes +
                d[i].grid[0] + 3 * d[i].grid[1] + 5 * d[i].grid[2] + d[i].workgroup[0] +
                7 * d[i].workgroup[1] + 9 * d[i].workgroup[2]);
    for (size_t i = 0; fine && i < copies; i++)
        sum += (int64_t)(i + 1) * (copy[i].bytes + copy[i].end_ns - copy[i].start_ns +
                                   copy[i].dst_agent_id + (int64_t)strlen(copy[i].name));
    for (size_t i = 0; fine && i < kernels; i++)
        sum += kernel[i].group_bytes + kernel[i].arch_vgpr_count + kernel[i].sgpr_count +
               (int64_t)strlen(kernel[i].display_name);
    rp_store_close(s);
    *ret = sum;
    return fine;
}

/* Each column of each table in turn is missing: an error that names it, or the same values. */
static void test_each_column_missing(void **state)
{
    rp_autofree char *columns = NULL;
    const char *from = kit_path("full.db"), *cut = kit_path("cut.db");
    char *rest, *line;
    int64_t whole, part;
    size_t refused = 0, read = 0;

    (void)state;
    kit_write_sample(from, 1, 1000);
    columns = text_of_columns(from);
    assert_true(digest(from, &whole));
    rest = columns;
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        char *column = strchr(line, '|');
        char says[128];
        *column++ = '\0';
        make_plain(from, cut, line, column);
        if (digest(cut, &part)) {
            if (part != whole)
                fail_msg("without %s.%s the trace reads otherwise", line, column);
            read++;
        } else {
            assert_int_equal(err.code, RP_BAD_INPUT);
            snprintf(says, sizeof says, "cut.db: table %s has no column %s", line, column);
            assert_says(err, says);
            refused++;
        }
    }
    assert_true(refused >= 40 && read >= 80);
}

/* Each table in turn is missing, with its view left behind or not. */
static void test_each_table_missing(void **state)
{
    static const char *const needed[] = {"rocpd_string", "rocpd_info_process", "rocpd_info_agent",
                                         "rocpd_info_kernel_symbol", "rocpd_kernel_dispatch"};
    rp_autofree char *tables = NULL;
    const char *from = kit_path("full.db"), *cut = kit_path("cut.db");
    char *rest, *table;
    size_t refused = 0;

    (void)state;
    kit_write_sample(from, 1, 1000);
    tables = kit_sql_text(from, "SELECT name FROM sqlite_master WHERE type = 'table'"
                                " AND name LIKE 'rocpd%%'");
    rest = tables;
    while ((table = strtok_r(rest, "\n", &rest)) != NULL) {
        char base[64], says[128];
        bool must = false;
        snprintf(base, sizeof base, "%.*s", (int)strlen(table) - 37, table);
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
            must |= strcmp(base, needed[i]) == 0;
        for (int with_view = 0; with_view < 2; with_view++) {
            kit_copy(from, cut);
            kit_sql(cut, "DROP TABLE \"%s\"", table);
            if (!with_view)
                kit_sql(cut, "DROP VIEW \"%s\"", base);
            err = (struct rp_err)RP_ERR_INIT;
            assert_int_equal(kit_open_and_read(cut, &err), must ? -RP_BAD_INPUT : 0);
            snprintf(says, sizeof says, "cut.db: table %s is missing", base);
            if (must)
                assert_says(err, says);
            refused += must;
        }
    }
    assert_int_equal(refused, 2 * sizeof needed / sizeof needed[0]);
}

static void test_schema_versions(void **state)
{
    static const struct {
        const char *sql, *version;
    } cases[] = {
        {"", "3.0.0"},
        {"ALTER TABLE rocpd_kernel_dispatch ADD COLUMN graph_exec_id INTEGER DEFAULT 0", "3.0.2"},
        {"ALTER TABLE rocpd_info_pmc ADD COLUMN spm_support INTEGER", "3.0.3"},
        {"ALTER TABLE rocpd_pmc_event ADD COLUMN sample_id INTEGER", "3.0.3"},
        {"CREATE TABLE rocpd_hip_event (id INTEGER, guid TEXT)", "3.0.4"},
        {"ALTER TABLE rocpd_pmc_event ADD COLUMN shader_array INTEGER", "3.0.5"},
    };

    (void)state;
    kit_write_sample(kit_path("full.db"), 1, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rp_store *s;
        make_plain(kit_path("full.db"), kit_path("v.db"), NULL, NULL);
        kit_sql(kit_path("v.db"), "%s", cases[i].sql);
        s = reopen(kit_path("v.db"));
        assert_string_equal(rp_store_schema(s), cases[i].version);
        assert_ok(kit_read_all(s, &err));
        rp_store_close(s);
    }
}

/* A draft of schema 4: agent, queue and stream of a dispatch are those of its track. */
static void test_draft_tracks(void **state)
{
    struct rp_store *s;
    const struct rp_row_dispatch *rows;
    size_t count;

    (void)state;
    kit_write_sample(kit_path("full.db"), 1, 1000);
    make_plain(kit_path("full.db"), kit_path("d.db"), "rocpd_kernel_dispatch", "agent_id");
    kit_sql(kit_path("d.db"), "ALTER TABLE rocpd_kernel_dispatch ADD COLUMN track_id INTEGER;"
                              "UPDATE rocpd_kernel_dispatch SET track_id = 5");
    assert_int_equal(kit_open_and_read(kit_path("d.db"), &err), -RP_BAD_INPUT);
    assert_says(err, "d.db: table rocpd_kernel_dispatch has no column agent_id");
    kit_sql(kit_path("d.db"), "ALTER TABLE rocpd_track ADD COLUMN agent_id INTEGER;"
                              "INSERT INTO rocpd_track (id, guid, nid, agent_id)"
                              " SELECT 5, guid, 1, 77 FROM rocpd_kernel_dispatch LIMIT 1");
    s = reopen(kit_path("d.db"));
    assert_string_equal(rp_store_schema(s), "4 (draft)");
    assert_ok(rp_store_dispatches(s, &rows, &count, &err));
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rows[i].agent_id, 77);
    rp_store_close(s);
}

/* Columns in another order, in other letters and with strangers between them. */
static void test_columns_by_name(void **state)
{
    struct rp_store *s;
    const struct rp_row_kernel *kernel;
    size_t count;

    (void)state;
    kit_write_sample(kit_path("full.db"), 1, 1000);
    make_plain(kit_path("full.db"), kit_path("o.db"), NULL, NULL);
    kit_sql(
        kit_path("o.db"),
        "CREATE TABLE t AS SELECT 5 AS new_thing, accum_vgpr_count, arch_vgpr_count, sgpr_count,"
        " private_segment_size, group_segment_size, kernarg_segment_alignment,"
        " kernarg_segment_size, display_name AS Display_NAME, 'x' AS \"odd name\", kernel_name,"
        " code_object_id, guid, id FROM rocpd_info_kernel_symbol;"
        "DROP TABLE rocpd_info_kernel_symbol; ALTER TABLE t RENAME TO rocpd_info_kernel_symbol;"
        "CREATE TABLE rocpd_future_0123456789abcdef (id, guid);"
        "CREATE TABLE rocpd_event_operation (id, guid);");
    s = reopen(kit_path("o.db"));
    assert_ok(rp_store_kernels(s, &kernel, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(kernel[1].display_name, "b()");
    assert_int_equal(kernel[1].arch_vgpr_count, 24);
    assert_ok(kit_read_all(s, &err));
    rp_store_close(s);
}

/* --- values ------------------------------------------------------------------------------- */

static void test_values_of_wrong_type(void **state)
{
    struct rp_store *s;
    const struct rp_row_dispatch *d;
    const struct rp_row_agent *agent;
    size_t count;

    (void)state;
    kit_write_sample(kit_path("full.db"), 1, 1000);
    make_plain(kit_path("full.db"), kit_path("t.db"), NULL, NULL);
    kit_sql(kit_path("t.db"), "UPDATE rocpd_info_agent SET name = NULL, extdata = NULL,"
                              " product_name = x'41ff42', vendor_name = 12;"
                              "UPDATE rocpd_kernel_dispatch SET tid = NULL, event_id = 99999,"
                              " queue_id = NULL, end = end + 0.0");
    s = reopen(kit_path("t.db"));
    assert_ok(rp_store_agents(s, &agent, &count, &err));
    assert_string_equal(agent[1].name, "");
    assert_string_equal(agent[1].extdata, "{}");
    assert_string_equal(agent[1].product_name, "A\xef\xbf\xbd"
                                               "B");
    assert_string_equal(agent[1].vendor_name, "12");
    assert_ok(rp_store_dispatches(s, &d, &count, &err));
    assert_true(d[0].tid == 0 && d[0].correlation_id == 0 && d[0].queue_id == -1);
    assert_int_equal(d[0].end_ns - d[0].start_ns, 307);
    rp_store_close(s);
    kit_sql(kit_path("t.db"), "UPDATE rocpd_kernel_dispatch SET start = 'soon' WHERE id = 3");
    assert_int_equal(kit_open_and_read(kit_path("t.db"), &err), -RP_BAD_INPUT);
    assert_says(err, "table rocpd_kernel_dispatch: column start holds a text");
    make_plain(kit_path("full.db"), kit_path("t.db"), NULL, NULL);
    kit_sql(kit_path("t.db"), "DELETE FROM rocpd_string WHERE string LIKE 'MEMORY_COPY_H%%'");
    assert_int_equal(kit_open_and_read(kit_path("t.db"), &err), -RP_BAD_INPUT);
    assert_says(err, "table rocpd_memory_copy: string ");
}

/* A failed load says so every time, and the other tables can still be read. */
static void test_one_bad_table(void **state)
{
    struct rp_store *s;
    const struct rp_row_copy *copy;
    const struct rp_row_dispatch *d;
    size_t count;

    (void)state;
    kit_write_sample(kit_path("full.db"), 1, 1000);
    make_plain(kit_path("full.db"), kit_path("t.db"), "rocpd_memory_copy", "size");
    s = reopen(kit_path("t.db"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rp_store_copies(s, &copy, &count, &err), -RP_BAD_INPUT);
        assert_says(err, "read trace ");
        assert_says(err, "table rocpd_memory_copy has no column size");
    }
    assert_ok(rp_store_dispatches(s, &d, &count, &err));
    assert_int_equal(count, 4);
    rp_store_close(s);
}

/* --- write-ahead log ---------------------------------------------------------------------- */

static void test_wal(void **state)
{
    struct rp_store *s;
    const struct rp_row_queue *queue;
    rp_autofree char *insert = NULL;
    sqlite3 *writer = NULL;
    size_t count;

    (void)state;
    kit_remove_all();
    kit_write_sample(kit_path("w.db"), 1, 1000);
    kit_sql(kit_path("w.db"), "PRAGMA journal_mode = WAL; CREATE TABLE more (x)");
    assert_int_equal(kit_file_count(), 1);
    assert_ok(kit_open_and_read(kit_path("w.db"), &err));
    assert_int_equal(kit_file_count(), 1); /* nothing left behind */

    /* With a log that its writer still holds, the newest rows are read. */
    insert = kit_sql_text(kit_path("w.db"),
                          "SELECT 'INSERT INTO ' || name || '(id, nid, pid, name) VALUES"
                          " (50, 1, 4242, ''late'')' FROM sqlite_master"
                          " WHERE name LIKE 'rocpd_info_queue_%%'");
    assert_int_equal(sqlite3_open(kit_path("w.db"), &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer, insert, NULL, NULL, NULL), SQLITE_OK);
    s = reopen(kit_path("w.db"));
    assert_ok(rp_store_queues(s, &queue, &count, &err));
    assert_int_equal(count, 4);
    assert_string_equal(queue[3].name, "late");
    rp_store_close(s);
    sqlite3_close(writer);
}

/* --- many tables -------------------------------------------------------------------------- */

/* Rows of the schema alone; SQLite asks for a table's pages when it reads it. */
static void add_tables(const char *path, int count)
{
    kit_sql(path,
            "PRAGMA writable_schema = ON; INSERT INTO sqlite_master SELECT 'table', name, name,"
            " (SELECT max(rootpage) FROM sqlite_master), 'CREATE TABLE ' || name || '(a)' FROM"
            " (WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
            " SELECT 'more_' || i AS name FROM n)",
            count);
}

/* The traces of hundreds of processes in one file are read; more tables than that are refused
 * before SQLite has looked each of their names up among all others. */
static void test_many_tables(void **state)
{
    (void)state;
    kit_write_sample(kit_path("m.db"), 1, 1000);
    add_tables(kit_path("m.db"), 20000);
    assert_ok(kit_open_and_read(kit_path("m.db"), &err));
    kit_write_sample(kit_path("m2.db"), 1, 1000);
    add_tables(kit_path("m2.db"), 26000);
    assert_int_equal(kit_open_and_read(kit_path("m2.db"), &err), -RP_BAD_INPUT);
    assert_says(err, "more than 25000 tables and views");
    assert_false(rp_store_is_foreign(kit_path("m.db")));
}

/* What is let through grows with the number of tables, and as it does. */
static void test_work_by_tables(void **state)
{
    (void)state;
    for (int count = 1000; count <= 4000; count *= 2) {
        sqlite3 *db = NULL;

        kit_remove_all();
        kit_sql(kit_path("w.db"), "CREATE TABLE first (a)");
        add_tables(kit_path("w.db"), count - 1);
        for (int most = count - count / 10; most <= count + count / 10; most += count / 5) {
            assert_int_equal(sqlite3_open(kit_path("w.db"), &db), SQLITE_OK);
            assert_int_equal(rp_probe_schema(db, (unsigned)most),
                             most < count ? SQLITE_INTERRUPT : SQLITE_OK);
            sqlite3_close(db);
        }
    }
}

/* Files that are not, or no longer, rocpd databases. */

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
        cmocka_unit_test(test_genuine_rows),
        cmocka_unit_test(test_values_of_a_genuine_trace),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_merged_without_views),
        cmocka_unit_test(test_broken_views),
        cmocka_unit_test(test_plain_tables),
        cmocka_unit_test(test_each_column_missing),
        cmocka_unit_test(test_each_table_missing),
        cmocka_unit_test(test_schema_versions),
        cmocka_unit_test(test_draft_tracks),
        cmocka_unit_test(test_columns_by_name),
        cmocka_unit_test(test_values_of_wrong_type),
        cmocka_unit_test(test_one_bad_table),
        cmocka_unit_test(test_wal),
        cmocka_unit_test(test_many_tables),
        cmocka_unit_test(test_work_by_tables),
        cmocka_unit_test(test_not_a_database),
        cmocka_unit_test(test_other_databases),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_journal_left_behind),
        cmocka_unit_test(test_in_use),
        cmocka_unit_test(test_endless_views),
    };

    return cmocka_run_group_tests_name("store read", tests, kit_setup, kit_teardown);
}
