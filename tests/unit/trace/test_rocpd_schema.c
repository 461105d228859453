/* The schema against databases that rocprofv3 wrote: same names, columns, keys and view results. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

/* One line per column of every table and view, without what differs by design: the guid, and the
 * quotes of text defaults (rocprofv3 relies on "x" standing for a text). */
static char *describe(const char *path)
{
    return kit_sql_text(
        path, "WITH g(dash) AS (SELECT value FROM rocpd_metadata WHERE tag = 'guid'),"
              " u(dash, bar) AS (SELECT dash, replace(dash, '-', '_') FROM g)"
              "SELECT m.type, replace(m.name, u.bar, 'U'), p.name, p.type, p.\"notnull\","
              " replace(replace(coalesce(p.dflt_value, 'none'), u.dash, 'U'), '\"', ''''), p.pk"
              " FROM u, sqlite_master m, pragma_table_xinfo(m.name) p"
              " WHERE m.type IN ('table', 'view') ORDER BY m.name, p.cid");
}

static char *describe_keys(const char *path)
{
    return kit_sql_text(
        path,
        "WITH u(bar) AS (SELECT replace(value, '-', '_') FROM rocpd_metadata WHERE tag = 'guid')"
        "SELECT replace(m.name, u.bar, 'U'), f.\"from\", replace(f.\"table\", u.bar, 'U'), "
        "f.\"to\","
        " f.on_update, f.on_delete FROM u, sqlite_master m, pragma_foreign_key_list(m.name) f"
        " WHERE m.type = 'table' ORDER BY 1, 2");
}

static void compare_schema(const char *genuine)
{
    rp_autofree char *want = describe(genuine), *want_keys = describe_keys(genuine);
    rp_autofree char *have = NULL, *have_keys = NULL;

    kit_write_sample(kit_path("schema.db"), 1, 1000);
    have = describe(kit_path("schema.db"));
    have_keys = describe_keys(kit_path("schema.db"));
    assert_true(strlen(want) > 10000 && strlen(want_keys) > 1000);
    assert_string_equal(have, want);
    assert_string_equal(have_keys, want_keys);
}

static void test_schema_equals_genuine(void **state)
{
    (void)state;
    kit_for_each_database(compare_schema);
}

/* Puts the rows of a genuine database into tables that we created. */
static void adopt_rows(const char *genuine, const char *ours)
{
    rp_autofree char *moves = NULL;

    kit_write_sample(ours, 1, 1000);
    moves = kit_sql_text(ours, "SELECT 'DELETE FROM ' || name || '; INSERT INTO ' || name || "
                               "' SELECT * FROM g.' || substr(name, 1, length(name) - 37) || ';'"
                               " FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd%%'");
    kit_sql(ours, "ATTACH '%s' AS g; %s", genuine, moves);
}

static void compare_views(const char *genuine)
{
    rp_autofree char *views =
        kit_sql_text(genuine, "SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name");
    const char *ours = kit_path("views.db");
    char *rest = views, *view;
    size_t count = 0;

    adopt_rows(genuine, ours);
    while ((view = strtok_r(rest, "\n", &rest)) != NULL) {
        rp_autofree char *want = NULL, *have = NULL;
        const char *order = "";
        if (strcmp(view, "top") != 0 && strcmp(view, "top_kernels") != 0)
            order = "ORDER BY 1, 2, 3";
        if (strcmp(view, "region_args") == 0)
            order = "ORDER BY id, name, type, value";
        if (strcmp(view, "events_args") == 0)
            order = "ORDER BY event_id, arg_position";
        want = kit_sql_text(genuine, "SELECT * FROM \"%s\" %s", view, order);
        have = kit_sql_text(ours, "SELECT * FROM \"%s\" %s", view, order);
        if (strcmp(want, have) != 0)
            fail_msg("view %s of %s differs", view, genuine);
        count++;
    }
    assert_int_equal(count, 41);
    remove(ours);
}

static void test_views_equal_genuine(void **state)
{
    (void)state;
    kit_for_each_database(compare_views);
}

/* The results must not be equal only because they are empty. */
static void test_views_show_rows(void **state)
{
    static const struct {
        const char *database, *view;
        int64_t rows;
    } cases[] = {
        {"vadd-kernel_results.db", "kernels", 101},
        {"vadd-kernel_results.db", "top_kernels", 2},
        {"vadd-kernel_results.db", "kernel_symbols", 11},
        {"streams-hip_results.db", "memory_copies", 20},
        {"streams-hip_results.db", "memory_allocations", 34},
        {"streams-hip_results.db", "regions", 231},
        {"streams-hip_results.db", "events_args", 883},
        {"multik-pmc-synthetic_results.db", "pmc_events", 2448},
        {"multik-pmc-synthetic_results.db", "counters_collection", 34 * 3},
        {"roctx-marker_results.db", "samples", 8},
        {"roctx-marker_results.db", "regions_and_samples", 89},
        {"roctx-marker_results.db", "threads", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        adopt_rows(kit_data(cases[i].database), kit_path("rows.db"));
        assert_int_equal(
            kit_sql_int(kit_path("rows.db"), "SELECT count(*) FROM \"%s\"", cases[i].view),
            cases[i].rows);
        remove(kit_path("rows.db"));
    }
}

/* In a merged database the same ids mean different things: every view joins on the guid too. */
static void test_views_of_merged_database(void **state)
{
    rp_autofree char *uuid = NULL;
    const char *merged = kit_path("merged.db");

    (void)state;
    kit_write_sample(kit_path("a.db"), 1, 1000);
    kit_write_sample(kit_path("b.db"), 2, 500000);
    uuid = kit_sql_text(kit_path("b.db"), "SELECT value FROM rocpd_metadata WHERE tag = 'uuid'");
    kit_sql(kit_path("b.db"), "UPDATE rocpd_info_kernel_symbol%s SET display_name = 'other()'",
            uuid);
    kit_merge(kit_path("a.db"), kit_path("b.db"), merged, true);
    assert_int_equal(kit_sql_int(merged, "SELECT count(*) FROM kernels"), 8);
    assert_int_equal(kit_sql_int(merged, "SELECT count(*) FROM kernels WHERE name = 'other()'"), 4);
    assert_int_equal(kit_sql_int(merged, "SELECT count(*) FROM memory_copies"), 4);
    assert_int_equal(kit_sql_int(merged, "SELECT count(*) FROM processes"), 2);
    assert_int_equal(kit_sql_int(merged, "SELECT count(*) FROM threads"), 4);
    assert_int_equal(kit_sql_int(merged, "SELECT total_calls FROM top_kernels WHERE name = 'a()'"),
                     2);
    assert_int_equal(kit_sql_int(merged, "SELECT count(*) FROM busy"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_equals_genuine),
        cmocka_unit_test(test_views_equal_genuine),
        cmocka_unit_test(test_views_show_rows),
        cmocka_unit_test(test_views_of_merged_database),
    };

    return cmocka_run_group_tests_name("store schema", tests, kit_setup, kit_teardown);
}
