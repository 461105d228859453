/* Counters: one sum for each dispatch and name, as rocpd's own view gives it. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct rp_err err;
static const char trace[] = "multik-pmc-synthetic_results.db";

static size_t load(struct rp_store **s, const char *path, const struct rp_row_counter **rows)
{
    size_t count;

    err = (struct rp_err)RP_ERR_INIT;
    assert_ok(rp_store_open(path, s, &err));
    assert_ok(rp_store_counters(*s, rows, &count, &err));
    return count;
}

/* Event, name and sum of every row against the view of the producer. */
static void test_view(void **state)
{
    const struct rp_row_counter *rows;
    struct rp_store *s;
    rp_autobuf text = {0};
    rp_autofree char *view =
        kit_sql_text(kit_data(trace), "SELECT event_id, counter_name, CAST(value AS INTEGER)"
                                      " FROM counters_collection ORDER BY event_id, counter_name");
    size_t count = load(&s, kit_data(trace), &rows);

    (void)state;
    assert_int_equal(count, 34 * 3);
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&text, "%lld|%s|%.0f\n", (long long)rows[i].event_id, rows[i].name,
                      rows[i].value);
    assert_string_equal(rp_buf_text(&text), view);
    rp_store_close(s);
}

/* Every dispatch finds its own. */
static void test_dispatches(void **state)
{
    const struct rp_row_counter *rows;
    const struct rp_row_dispatch *dispatches;
    struct rp_store *s;
    size_t count = load(&s, kit_data(trace), &rows), dispatch_count, found = 0;

    (void)state;
    assert_ok(rp_store_dispatches(s, &dispatches, &dispatch_count, &err));
    for (size_t d = 0; d < dispatch_count; d++)
        for (size_t i = 0; i < count; i++)
            found += rows[i].event_id == dispatches[d].event_id;
    assert_int_equal(found, 34 * 3);
    rp_store_close(s);
}

/* Physical name of a table; the views of the same name cannot be changed. */
static const char *uuid_of(const char *path, char room[64])
{
    rp_autofree char *uuid =
        kit_sql_text(path, "SELECT value FROM rocpd_metadata WHERE tag = 'uuid'");

    snprintf(room, 64, "%.*s", (int)strcspn(uuid, "\n"), uuid);
    return room;
}

static void remake_view(const char *path, const char *uuid)
{
    kit_sql(path,
            "DROP VIEW rocpd_pmc_event; CREATE VIEW rocpd_pmc_event AS"
            " SELECT * FROM rocpd_pmc_event%s",
            uuid);
}

/* Schema 3.0.3: samples of a running dispatch are no sums of it. */
static void test_samples_do_not_count(void **state)
{
    const struct rp_row_counter *rows;
    struct rp_store *s;
    char room[64];
    const char *path = kit_path("spm.db"), *uuid;
    double sum = 0;

    (void)state;
    kit_copy(kit_data(trace), path);
    uuid = uuid_of(path, room);
    kit_sql(path, "ALTER TABLE rocpd_pmc_event%s ADD COLUMN sample_id INTEGER", uuid);
    kit_sql(path, "UPDATE rocpd_pmc_event%s SET sample_id = id WHERE id %% 2 = 0", uuid);
    remake_view(path, uuid);
    for (size_t i = 0, count = load(&s, path, &rows); i < count; i++)
        sum += rows[i].value;
    assert_true(sum > 0);
    assert_int_equal((int64_t)sum,
                     kit_sql_int(path, "SELECT sum(value) FROM rocpd_pmc_event WHERE id %% 2"));
    rp_store_close(s);
}

static void test_damaged(void **state)
{
    const struct rp_row_counter *rows;
    struct rp_store *s;
    char room[64];
    const char *path = kit_path("bad.db"), *uuid;
    size_t count;

    (void)state;
    kit_copy(kit_data(trace), path);
    uuid = uuid_of(path, room);
    /* Values of a counter that the database does not name. */
    kit_sql(path,
            "UPDATE rocpd_pmc_event%s SET pmc_id = 999999 WHERE pmc_id ="
            " (SELECT min(pmc_id) FROM rocpd_pmc_event%s)",
            uuid, uuid);
    assert_int_equal(load(&s, path, &rows), 34 * 2);
    rp_store_close(s);
    kit_sql(path, "UPDATE rocpd_pmc_event%s SET value = 'many' WHERE id = 7", uuid);
    assert_ok(rp_store_open(path, &s, &err));
    assert_int_equal(rp_store_counters(s, &rows, &count, &err), -RP_BAD_INPUT);
    assert_says(err, "column value holds a text where a number belongs");
    rp_store_close(s);
}

/* Of the first instance that counted waves. */
static void put_waves(const char *path, const char *uuid, const char *value)
{
    kit_sql(path,
            "UPDATE rocpd_pmc_event%s SET value = %s WHERE id = (SELECT min(e.id) FROM"
            " rocpd_pmc_event%s e JOIN rocpd_info_pmc%s p ON p.id = e.pmc_id WHERE p.name ="
            " 'SQ_WAVES')",
            uuid, value, uuid, uuid);
}

/* A sum over instances would hide the one that no counter can have. */
static void test_impossible(void **state)
{
    static const struct {
        const char *value, *says;
    } cases[] = {
        {"-5", "-5 is no value of the counter SQ_WAVES: counters only count up from 0"},
        {"9e999", "SQ_WAVES: it is not finite"},
        {"1.8446744073709552e19", "SQ_WAVES: it is near 2^63"},
        {"7.5", "7.5 is no value of the counter SQ_WAVES: the hardware counts whole events"},
    };
    const struct rp_row_counter *rows;
    struct rp_store *s;
    char room[64];
    const char *path = kit_path("impossible.db"), *uuid;
    size_t count, full = 0;

    (void)state;
    kit_copy(kit_data(trace), path);
    uuid = uuid_of(path, room);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_waves(path, uuid, cases[i].value);
        assert_ok(rp_store_open(path, &s, &err));
        assert_int_equal(rp_store_counters(s, &rows, &count, &err), -RP_BAD_INPUT);
        assert_says(err, cases[i].says);
        assert_says(err, path);
        rp_store_close(s);
    }
    put_waves(path, uuid, "4294967295");
    count = load(&s, path, &rows);
    for (size_t i = 0; i < count; i++)
        full += isnan(rows[i].value);
    assert_int_equal(full, 1);
    rp_store_close(s);
}

static void test_without(void **state)
{
    const struct rp_row_counter *rows;
    struct rp_store *s;

    (void)state;
    assert_int_equal(load(&s, kit_data("vadd-kernel_results.db"), &rows), 0);
    rp_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_view),
        cmocka_unit_test(test_dispatches),
        cmocka_unit_test(test_samples_do_not_count),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_without),
    };

    return cmocka_run_group_tests_name("store counters", tests, kit_setup, kit_teardown);
}
