/* Counters: one sum for each dispatch and name, as rocpd's own view gives it. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "trace/counter_set.h"

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

/* Kernels of one name: those that are other code have names of their own, in traces of every kind.
 */

/** What is put into a trace: a kernel, and the code object that it lies in. */
struct made {
    const char *symbol, *name, *uri, *hash;
    int64_t agent, vgprs, kernarg_bytes;
};

static void put_gpus(struct rp_store_writer *w)
{
    static const char *const names[] = {"gfx942", "gfx942:sramecc+:xnack-", "gfx90a"};
    const struct rp_row_process process = {.pid = 7};

    assert_ok(rp_store_put_process(w, &process, &err));
    for (int64_t i = 0; i < 3; i++) {
        const struct rp_row_agent gpu = {.id = i, .is_gpu = true, .name = names[i]};

        assert_ok(rp_store_put_agent(w, &gpu, &err));
    }
}

static struct rp_store *store_of(const char *file, uint64_t seed, const struct made *made,
                                 size_t count)
{
    struct rp_store_origin origin = kit_origin(seed);
    struct rp_store_writer *w;
    struct rp_store *s;
    const char *path = kit_path(file);

    err = (struct rp_err)RP_ERR_INIT;
    assert_ok(rp_store_writer_open(path, &origin, &w, &err));
    put_gpus(w);
    for (size_t i = 0; i < count; i++) {
        char extdata[64];
        const struct rp_row_code_object object = {
            .id = (int64_t)i + 1, .agent_id = made[i].agent, .uri = made[i].uri ? made[i].uri : ""};
        const struct rp_row_kernel kernel = {.id = (int64_t)i + 1,
                                             .code_object_id = object.id,
                                             .kernel_name = made[i].symbol,
                                             .display_name = made[i].name,
                                             .kernarg_bytes = made[i].kernarg_bytes,
                                             .arch_vgpr_count = made[i].vgprs,
                                             .sgpr_count = made[i].vgprs ? 16 : 0,
                                             .extdata = made[i].hash ? extdata : NULL};

        snprintf(extdata, sizeof extdata, "{\"code_hash\":\"%s\"}", made[i].hash);
        assert_ok(rp_store_put_code_object(w, &object, &err));
        assert_ok(rp_store_put_kernel(w, &kernel, &err));
    }
    assert_ok(rp_store_writer_commit(w, &err));
    assert_ok(rp_store_open(path, &s, &err));
    return s;
}

static const char *name_in(struct rp_store *s, int64_t id)
{
    const struct rp_row_kernel *rows;
    size_t count;

    assert_ok(rp_store_kernels(s, &rows, &count, &err));
    return rp_store_find_kernel(s, 0, id)->display_name;
}

static bool is_plain(const char *name)
{
    return rp_kernel_plain_length(name) == strlen(name);
}

static void two_are_two_and_one_is_one(void **state)
{
    static const struct {
        const char *what;
        struct made made[2];
        bool two;
    } rows[] = {
        {"other contents",
         {{"k.kd", "k", "", "1a2b3c4d00000001", 0, 8, 16},
          {"k.kd", "k", "", "5a2b3c4d00000001", 0, 8, 16}},
         true},
        {"loaded twice, on two GPUs of a kind",
         {{"k.kd", "k", "memory://1#offset=0x1&size=7", "1a2b3c4d00000001", 0, 8, 16},
          {"k.kd", "k", "memory://1#offset=0x9&size=9", "1a2b3c4d00000001", 1, 8, 16}},
         false},
        {"on two kinds of GPU",
         {{"k.kd", "k", "", "1a2b3c4d00000001", 0, 8, 16},
          {"k.kd", "k", "", "5a2b3c4d00000001", 2, 8, 16}},
         false},
        {"contents of one only",
         {{"k.kd", "k", "memory://1#offset=0x1&size=7", "1a2b3c4d00000001", 0, 8, 16},
          {"k.kd", "k", "memory://2#offset=0x5&size=7", NULL, 0, 8, 16}},
         false},
        {"registers", {{"k", "k", NULL, NULL, 0, 8, 16}, {"k", "k", NULL, NULL, 0, 12, 16}}, true},
        {"nothing known of one",
         {{"k", "k", NULL, NULL, 0, 8, 16}, {"k", "k", NULL, NULL, 0, 0, 16}},
         false},
        {"another code object in memory",
         {{"k", "k", "memory://1#offset=0x1&size=7", NULL, 0, 8, 16},
          {"k", "k", "memory://1#offset=0x1&size=8", NULL, 0, 8, 16}},
         true},
        {"another file",
         {{"k", "k", "file:///x/a.co", NULL, 0, 8, 16},
          {"k", "k", "file:///x/b.co", NULL, 0, 8, 16}},
         true},
        {"the same file elsewhere",
         {{"k", "k", "file:///x/a#offset=1&size=2", NULL, 0, 8, 16},
          {"k", "k", "file:///y/a#offset=1&size=2", NULL, 0, 8, 16}},
         false},
        {"C++, in two files",
         {{"_Z1kv", "k()", "file:///x/a.so", NULL, 0, 8, 16},
          {"_Z1kv", "k()", "file:///x/b.so", NULL, 0, 8, 16}},
         false},
        {"other arguments",
         {{"k", "k", "memory://1#offset=0x1&size=7", NULL, 0, 8, 16},
          {"k", "k", "memory://1#offset=0x1&size=7", NULL, 0, 8, 24}},
         true},
        {"other symbols, by names that were cut",
         {{"_Z1kIfEvv", "k", "", "1a2b3c4d00000001", 0, 8, 16},
          {"_Z1kIiEvv", "k", "", "5a2b3c4d00000001", 0, 8, 16}},
         false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_store *s = store_of("two.db", i + 1, rows[i].made, 2);
        const char *a = name_in(s, 1), *b = name_in(s, 2);
        const struct rp_row_kernel *row = rp_store_find_kernel(s, 0, 2);

        if ((strcmp(a, b) != 0) != rows[i].two || is_plain(a) == rows[i].two)
            fail_msg("%s: '%s' and '%s'", rows[i].what, a, b);
        assert_string_equal(row->plain_name, rows[i].made[1].name);
        rp_store_close(s);
        kit_remove_all();
    }
}

static void names_say_as_much_as_is_needed(void **state)
{
    static const struct made far[] = {{"k.kd", "k", "", "1a2b3c4d00000001", 0, 8, 16},
                                      {"k.kd", "k", "", "5a2b3c4d00000001", 0, 8, 16}};
    static const struct made near[] = {{"k.kd", "k", "", "1a2b3c4d00000001", 0, 8, 16},
                                       {"k.kd", "k", "", "1a2b3c4d00000002", 0, 8, 16},
                                       {"l.kd", "l", "", "1a2b3c4d00000002", 0, 8, 16}};
    struct rp_store *s = store_of("far.db", 1, far, 2);

    (void)state;
    assert_string_equal(name_in(s, 1), "k [code 1a2b3c4d]");
    assert_string_equal(name_in(s, 2), "k [code 5a2b3c4d]");
    rp_store_close(s);
    s = store_of("near.db", 1, near, 3);
    assert_string_equal(name_in(s, 1), "k [code 1a2b3c4d00000001]");
    assert_string_equal(name_in(s, 2), "k [code 1a2b3c4d00000002]");
    assert_string_equal(name_in(s, 3), "l");
    rp_store_close(s);
    assert_int_equal(rp_kernel_plain_length("k [code 1a2b3c4d]"), 1);
    assert_int_equal(rp_kernel_plain_length("k [code 1a2b3c4d00000001]"), 1);
    assert_true(is_plain("k [code 1a2b3c4]") && is_plain("k [code 1a2b3c4g]") && is_plain("") &&
                is_plain("[code 1a2b3c4d]") && is_plain("k [clone 1a2b3c4d]"));
}

/* Each process, or run, has loaded one of them. */
static void several_stores_are_told_apart(void **state)
{
    static const struct made a = {"k.kd", "k", "", "1a2b3c4d00000001", 0, 8, 16};
    static const struct made b = {"k.kd", "k", "", "5a2b3c4d00000001", 0, 8, 16};
    struct rp_store *stores[] = {store_of("a.db", 1, &a, 1), store_of("b.db", 2, &b, 1),
                                 store_of("c.db", 3, &a, 1)};
    bool changed;

    (void)state;
    assert_string_equal(name_in(stores[0], 1), "k");
    assert_ok(rp_store_tell_apart(stores, 1, &changed, &err));
    assert_false(changed);
    assert_string_equal(name_in(stores[0], 1), "k");
    assert_ok(rp_store_tell_apart(stores, 3, &changed, &err));
    assert_true(changed);
    assert_string_equal(name_in(stores[0], 1), "k [code 1a2b3c4d]");
    assert_string_equal(name_in(stores[1], 1), "k [code 5a2b3c4d]");
    assert_string_equal(name_in(stores[2], 1), "k [code 1a2b3c4d]");
    assert_ok(rp_store_tell_apart(stores, 3, &changed, &err));
    assert_false(changed);
    for (size_t i = 0; i < 3; i++)
        rp_store_close(stores[i]);
}

static const char trace_head[] =
    "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,"
    "Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,"
    "SGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,Grid_Size_X,Grid_Size_Y,"
    "Grid_Size_Z\n";

static void rows_of_csv_are_told_apart(void **state)
{
    static const char *const rows[] = {
        "KERNEL_DISPATCH,Agent 1,1,1,1,1,1,k,1,100,200,0,0,8,0,16,64,1,1,64,1,1\n",
        "KERNEL_DISPATCH,Agent 1,1,1,1,2,2,k,2,300,400,0,0,12,0,16,64,1,1,64,1,1\n",
        "KERNEL_DISPATCH,Agent 1,1,1,1,3,1,k,3,500,600,512,0,8,0,16,64,1,1,64,1,1\n",
        "KERNEL_DISPATCH,Agent 1,1,1,1,4,3,l,4,700,800,0,0,12,0,16,64,1,1,64,1,1\n",
        "KERNEL_DISPATCH,Agent 1,1,1,1,5,3,l,5,700,800,64,8,12,0,16,64,1,1,64,1,1\n"};
    const char *path = kit_path("1_kernel_trace.csv");
    const struct rp_row_dispatch *d;
    char text[4096];
    struct rp_store *s;
    size_t count;

    (void)state;
    snprintf(text, sizeof text, "%s%s%s%s%s%s", trace_head, rows[0], rows[1], rows[2], rows[3],
             rows[4]);
    kit_write_file(path, text, strlen(text));
    assert_ok(rp_store_open_csv(path, &s, &err));
    assert_ok(rp_store_dispatches(s, &d, &count, &err));
    assert_int_equal(count, 5);
    assert_string_not_equal(name_in(s, d[0].kernel_id), name_in(s, d[1].kernel_id));
    assert_false(is_plain(name_in(s, d[0].kernel_id)) || is_plain(name_in(s, d[1].kernel_id)));
    assert_int_equal(d[0].kernel_id, d[2].kernel_id);
    assert_string_equal(name_in(s, d[3].kernel_id), "l");
    assert_int_equal(d[3].kernel_id, d[4].kernel_id);
    rp_store_close(s);
}

/* Files with counters call them as the trace does, as long as registers are all that differs. */
static void counters_join_their_kernels(void **state)
{
    static const struct made made[] = {{"k", "k", "memory://1#offset=0x1&size=7", NULL, 0, 8, 16},
                                       {"k", "k", "memory://1#offset=0x1&size=8", NULL, 0, 12, 16}};
    static const char text[] =
        "Agent_Id,Dispatch_Id,Kernel_Name,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,"
        "Counter_Value\n"
        "Agent 1,1,k.kd,8,0,16,SQ_WAVES,1\nAgent 1,2,k.kd,12,0,16,SQ_WAVES,2\n"
        "Agent 1,3,k.kd,8,0,16,SQ_WAVES,4\nAgent 1,4,l.kd,8,0,16,SQ_WAVES,8\n"
        "Agent 2,5,l.kd,12,0,16,SQ_WAVES,8\nAgent 1,6,m [code 00000000],,,,SQ_WAVES,1\n";
    struct rp_store *s = store_of("trace.db", 1, made, 2);
    struct rp_counters *set;

    (void)state;
    assert_ok(rp_counters_parse("c.csv", text, strlen(text), &set, &err));
    assert_int_equal(set->kernel_count, 4);
    assert_string_equal(set->kernels[set->dispatches[0].kernel], name_in(s, 1));
    assert_string_equal(set->kernels[set->dispatches[1].kernel], name_in(s, 2));
    assert_int_equal(set->dispatches[2].kernel, set->dispatches[0].kernel);
    assert_string_equal(set->kernels[set->dispatches[3].kernel], "l");
    assert_int_equal(set->dispatches[4].kernel, set->dispatches[3].kernel);
    assert_string_equal(set->kernels[set->dispatches[5].kernel], "m [code 00000000]");
    rp_counters_free(set);
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
        cmocka_unit_test(two_are_two_and_one_is_one),
        cmocka_unit_test(names_say_as_much_as_is_needed),
        cmocka_unit_test(several_stores_are_told_apart),
        cmocka_unit_test(rows_of_csv_are_told_apart),
        cmocka_unit_test(counters_join_their_kernels),
    };

    return cmocka_run_group_tests_name("store counters", tests, kit_setup, kit_teardown);
}
