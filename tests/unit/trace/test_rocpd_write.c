/* The writer: every row comes back, the views show it, bad rows are refused. */
#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/rocpd_write.c"

static struct rp_err err;

static struct rp_store_writer *begin_writer(const char *path)
{
    struct rp_store_origin origin = kit_origin(1);
    struct rp_store_writer *w = NULL;

    err = (struct rp_err)RP_ERR_INIT;
    assert_ok(rp_store_writer_open(path, &origin, &w, &err));
    return w;
}

static struct rp_store *reopen(const char *path)
{
    struct rp_store *s = NULL;

    assert_ok(rp_store_open(path, &s, &err));
    return s;
}

static void test_machine_comes_back(void **state)
{
    const struct rp_row_process *process;
    const struct rp_row_thread *thread;
    const struct rp_row_agent *agent;
    const struct rp_row_queue *queue, *stream;
    struct rp_store *s;
    size_t count;

    (void)state;
    kit_write_sample(kit_path("t.db"), 1, 1000000);
    s = reopen(kit_path("t.db"));
    assert_ok(rp_store_processes(s, &process, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(process->pid, 4242);
    assert_int_equal(process->ppid, 4000);
    assert_int_equal(process->init_ns, 1000000);
    assert_int_equal(process->end_ns, 1009000);
    assert_string_equal(process->command, "./app 1 2");
    assert_string_equal(process->environment, "{\"HOME\":\"/x\"}");
    assert_string_equal(process->extdata, "{\"tool\":\"rocm-perf\"}");
    assert_ok(rp_store_threads(s, &thread, &count, &err));
    assert_int_equal(count, 2); /* one put, one only named by dispatches */
    assert_int_equal(thread[0].tid, 4242);
    assert_int_equal(thread[1].tid, 4243);
    assert_ok(rp_store_agents(s, &agent, &count, &err));
    assert_int_equal(count, 2);
    assert_false(agent[0].is_gpu);
    assert_string_equal(agent[0].extdata, "{}");
    assert_string_equal(agent[0].product_name, "");
    assert_true(agent[1].is_gpu);
    assert_int_equal(agent[1].id, 1);
    assert_int_equal(agent[1].absolute_index, 1);
    assert_int_equal(agent[1].logical_index, 1);
    assert_int_equal(agent[1].type_index, 0);
    assert_int_equal(agent[1].device_id, 29857);
    assert_string_equal(agent[1].name, "gfx942");
    assert_string_equal(agent[1].model_name, "model");
    assert_string_equal(agent[1].vendor_name, "AMD");
    assert_string_equal(agent[1].product_name, "AMD Instinct MI300X");
    assert_string_equal(agent[1].user_name, "user");
    assert_string_equal(agent[1].extdata, "{\"cu_count\":304}");
    assert_ptr_equal(rp_store_find_agent(s, 0, 1), &agent[1]);
    assert_null(rp_store_find_agent(s, 0, 2));
    assert_null(rp_store_find_agent(s, 1, 1));
    assert_ok(rp_store_queues(s, &queue, &count, &err));
    assert_int_equal(count, 3);
    assert_string_equal(queue[0].name, "Default Queue");
    assert_string_equal(queue[1].name, "Queue 0");
    assert_string_equal(queue[1].extdata, "{\"q\":1}");
    assert_string_equal(queue[2].name, "Queue 1");
    assert_ok(rp_store_streams(s, &stream, &count, &err));
    assert_int_equal(count, 3);
    assert_string_equal(stream[0].name, "Default Stream");
    assert_string_equal(stream[1].name, "Stream 1");
    assert_string_equal(stream[2].name, "Stream 2");
    rp_store_close(s);
}

static void test_work_comes_back(void **state)
{
    const struct rp_row_code_object *object;
    const struct rp_row_kernel *kernel;
    const struct rp_row_dispatch *d;
    const struct rp_row_copy *copy;
    struct rp_store *s;
    size_t count;

    (void)state;
    kit_write_sample(kit_path("t.db"), 1, 1000000);
    s = reopen(kit_path("t.db"));
    assert_ok(rp_store_code_objects(s, &object, &count, &err));
    assert_int_equal(count, 1);
    assert_int_equal(object->agent_id, 1);
    assert_string_equal(object->uri, "file:///app#offset=1&size=2");
    assert_int_equal(object->load_base, 0x100000);
    assert_int_equal(object->load_size_bytes, 8192);
    assert_int_equal(object->load_delta, 0x100000);
    assert_true(object->storage_known && object->storage_is_file);
    assert_string_equal(object->extdata, "{\"memory_size\":5}");
    assert_ok(rp_store_kernels(s, &kernel, &count, &err));
    assert_int_equal(count, 2);
    assert_int_equal(kernel[1].id, 2);
    assert_int_equal(kernel[1].code_object_id, 1);
    assert_string_equal(kernel[1].kernel_name, "_Z1bv.kd");
    assert_string_equal(kernel[1].display_name, "b()");
    assert_int_equal(kernel[1].kernel_object, 0x200080);
    assert_int_equal(kernel[1].kernarg_bytes, 24);
    assert_int_equal(kernel[1].kernarg_align_bytes, 16);
    assert_int_equal(kernel[1].group_bytes, 2048);
    assert_int_equal(kernel[1].private_bytes, 32);
    assert_int_equal(kernel[1].sgpr_count, 32);
    assert_int_equal(kernel[1].arch_vgpr_count, 24);
    assert_int_equal(kernel[1].accum_vgpr_count, 4);
    assert_string_equal(kernel[1].extdata, "{\"kernel_id\":1}");
    assert_ptr_equal(rp_store_find_kernel(s, 0, 2), &kernel[1]);
    assert_ok(rp_store_dispatches(s, &d, &count, &err));
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++) { /* put in the order of falling start times */
        int64_t n = 3 - (int64_t)i;
        assert_int_equal(d[i].id, n + 1);
        assert_int_equal(d[i].start_ns, 1000000 + 1000 * (4 - n));
        assert_int_equal(d[i].end_ns, d[i].start_ns + 100 * n + 7);
        assert_int_equal(d[i].tid, 4242 + n % 2);
        assert_int_equal(d[i].agent_id, 1);
        assert_int_equal(d[i].kernel_id, 1 + n % 2);
        assert_int_equal(d[i].dispatch_id, n + 1);
        assert_int_equal(d[i].queue_id, n % 3);
        assert_int_equal(d[i].stream_id, n % 3);
        assert_int_equal(d[i].correlation_id, 10 + n);
        assert_int_equal(d[i].private_bytes, 16);
        assert_int_equal(d[i].group_bytes, 4096);
        assert_true(d[i].workgroup[0] == 64 && d[i].workgroup[1] == 2 && d[i].workgroup[2] == 1);
        assert_true(d[i].grid[0] == 1024 && d[i].grid[1] == 8 && d[i].grid[2] == 3);
    }
    assert_ok(rp_store_copies(s, &copy, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(copy[0].name, "MEMORY_COPY_HOST_TO_DEVICE");
    assert_string_equal(copy[1].name, "MEMORY_COPY_DEVICE_TO_HOST");
    assert_int_equal(copy[1].tid, 4242);
    assert_int_equal(copy[1].start_ns, 1006001);
    assert_int_equal(copy[1].end_ns, 1006501);
    assert_int_equal(copy[1].dst_agent_id, 0);
    assert_int_equal(copy[1].src_agent_id, 1);
    assert_int_equal(copy[1].dst_address, 0x1000);
    assert_int_equal(copy[1].src_address, 0x2000);
    assert_int_equal(copy[1].bytes, 4097);
    assert_int_equal(copy[1].queue_id, -1);
    assert_int_equal(copy[1].stream_id, 2);
    assert_int_equal(copy[1].correlation_id, 21);
    rp_store_close(s);
}

static void test_metadata_and_views(void **state)
{
    rp_autofree char *row = NULL;
    struct rp_store *s;

    (void)state;
    kit_write_sample(kit_path("t.db"), 1, 1000000);
    s = reopen(kit_path("t.db"));
    assert_string_equal(rp_store_schema(s), "3.0.0");
    assert_string_equal(rp_store_metadata(s, "schema_version"), "3");
    assert_string_equal(rp_store_metadata(s, "guid"), "018bcfe5-6801-7003-8000-000000000005");
    assert_string_equal(rp_store_metadata(s, "uuid"), "_018bcfe5_6801_7003_8000_000000000005");
    assert_string_equal(rp_store_metadata(s, "rocm_perf_device"), "software");
    assert_null(rp_store_metadata(s, "rocm_perf_incomplete"));
    assert_int_equal(rp_store_guid_count(s), 1);
    assert_string_equal(rp_store_guid(s, 0), "018bcfe5-6801-7003-8000-000000000005");
    assert_null(rp_store_guid(s, 1));
    rp_store_close(s);
    row = kit_sql_text(kit_path("t.db"),
                       "SELECT tid, category, region, name, pid, agent_type, dispatch_id, queue,"
                       " stream, duration, grid_x, workgroup_x, lds_size, vgpr_count, stack_id,"
                       " parent_stack_id, corr_id FROM kernels ORDER BY dispatch_id LIMIT 2");
    assert_string_equal(row, "4242|KERNEL_DISPATCH||a()|4242|GPU|1|Default Queue|Default Stream|7|"
                             "1024|64|4096|12|10|10|0\n"
                             "4243|KERNEL_DISPATCH||b()|4242|GPU|2|Queue 0|Stream 1|107|"
                             "1024|64|4096|24|11|11|0\n");
    assert_int_equal(kit_sql_int(kit_path("t.db"), "SELECT count(*) FROM memory_copies"), 2);
    assert_int_equal(kit_sql_int(kit_path("t.db"), "SELECT count(*) FROM"
                                                   " pragma_foreign_key_check"),
                     0);
    row = (free(row), kit_sql_text(kit_path("t.db"), "PRAGMA integrity_check"));
    assert_string_equal(row, "ok\n");
}

static void test_same_rows_give_same_bytes(void **state)
{
    rp_autofree char *a = NULL, *b = NULL, *c = NULL;
    size_t a_len, b_len, c_len;

    (void)state;
    kit_write_sample(kit_path("a.db"), 1, 1000);
    a = kit_read_file(kit_path("a.db"), &a_len);
    free(memset(malloc(1 << 20), 0xa5, 1 << 20)); /* other garbage on the heap */
    kit_write_sample(kit_path("b.db"), 1, 1000);
    b = kit_read_file(kit_path("b.db"), &b_len);
    kit_write_sample(kit_path("c.db"), 2, 1000);
    c = kit_read_file(kit_path("c.db"), &c_len);
    assert_int_equal(a_len, b_len);
    assert_memory_equal(a, b, a_len);
    assert_true(a_len != c_len || memcmp(a, c, a_len) != 0);
}

/* Copies a trace through both halves of the interface and compares what rocpd's views show. */
static void copy_trace(const char *from, const char *to)
{
    struct rp_store_writer *w = begin_writer(to);
    struct rp_store *s = reopen(from);
    size_t count;

#define MOVE(plural, row, put)                                                                     \
    do {                                                                                           \
        const struct row *rows;                                                                    \
        assert_ok(rp_store_##plural(s, &rows, &count, &err));                                      \
        for (size_t i = 0; i < count; i++)                                                         \
            assert_ok(rp_store_put_##put(w, &rows[i], &err));                                      \
    } while (0)
    MOVE(processes, rp_row_process, process);
    MOVE(agents, rp_row_agent, agent);
    MOVE(queues, rp_row_queue, queue);
    MOVE(streams, rp_row_queue, stream);
    MOVE(code_objects, rp_row_code_object, code_object);
    MOVE(kernels, rp_row_kernel, kernel);
    MOVE(dispatches, rp_row_dispatch, dispatch);
    MOVE(copies, rp_row_copy, copy);
#undef MOVE
    assert_ok(rp_store_writer_commit(w, &err));
    rp_store_close(s);
}

static void compare_copy(const char *genuine)
{
    static const char *const views[] = {"kernels",      "memory_copies", "kernel_symbols",
                                        "code_objects", "top_kernels",   "busy",
                                        "processes"};
    const char *copy = kit_path("copy.db");

    copy_trace(genuine, copy);
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        rp_autofree char *columns = kit_sql_text(
            genuine,
            "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('%s')"
            " WHERE name NOT IN ('guid', 'nid', 'machine_id', 'system_name', 'hostname',"
            " 'system_release', 'system_version')",
            views[i]);
        rp_autofree char *want =
            kit_sql_text(genuine, "SELECT %s FROM %s ORDER BY 1, 2", columns, views[i]);
        rp_autofree char *have =
            kit_sql_text(copy, "SELECT %s FROM %s ORDER BY 1, 2", columns, views[i]);
        if (strcmp(want, have) != 0)
            fail_msg("view %s of %s differs:\n%.300s\n%.300s", views[i], genuine, want, have);
    }
    remove(copy);
}

static void test_genuine_traces_survive_a_copy(void **state)
{
    (void)state;
    kit_for_each_database(compare_copy);
}

static void test_hostile_strings(void **state)
{
    static const char *const texts[] = {
        "",
        "'; DROP TABLE rocpd_string; --",
        "\" ' ` [ ] ; \\ % _ \n \t \r \b",
        "void f<a, b>(T const&, std::function<void ()>)",
        "\xc3\xa9\xe2\x82\xac \xf0\x9f\x98\x80",
        "%s%n%x",
    };
    rp_autofree char *longest = calloc(1, 3000001);

    (void)state;
    memset(longest, 'k', 3000000);
    for (size_t i = 0; i <= sizeof texts / sizeof texts[0]; i++) {
        const char *text = i < sizeof texts / sizeof texts[0] ? texts[i] : longest;
        struct rp_store_writer *w = begin_writer(kit_path("h.db"));
        const struct rp_row_kernel *kernel;
        const struct rp_row_copy *copy;
        struct rp_store *s;
        size_t count;
        assert_ok(kit_put_sample(w, 1000, &err));
        assert_ok(rp_store_put_kernel(
            w,
            &(struct rp_row_kernel){
                .id = 9, .code_object_id = 1, .kernel_name = text, .display_name = text},
            &err));
        assert_ok(rp_store_put_copy(w, &(struct rp_row_copy){.id = 9, .name = text}, &err));
        assert_ok(rp_store_put_metadata(w, "rocm_perf_note", text, &err));
        assert_ok(rp_store_writer_commit(w, &err));
        s = reopen(kit_path("h.db"));
        assert_ok(rp_store_kernels(s, &kernel, &count, &err));
        assert_string_equal(rp_store_find_kernel(s, 0, 9)->display_name, text);
        assert_ok(rp_store_copies(s, &copy, &count, &err));
        assert_string_equal(copy[0].name, text);
        assert_string_equal(rp_store_metadata(s, "rocm_perf_note"), text);
        rp_store_close(s);
    }
}

static void test_bytes_that_are_not_utf8(void **state)
{
    struct rp_store_writer *w = begin_writer(kit_path("u.db"));
    const struct rp_row_copy *copy;
    struct rp_store *s;
    size_t count;

    (void)state;
    assert_ok(kit_put_sample(w, 1000, &err));
    for (int i = 0; i < 2; i++) /* both become the same string: one row of rocpd_string */
        assert_ok(rp_store_put_copy(
            w, &(struct rp_row_copy){.name = i ? "a\xfe" : "a\xff", .start_ns = 1}, &err));
    assert_ok(rp_store_writer_commit(w, &err));
    s = reopen(kit_path("u.db"));
    assert_ok(rp_store_copies(s, &copy, &count, &err));
    assert_int_equal(count, 4);
    assert_string_equal(copy[0].name, "a\xef\xbf\xbd");
    assert_string_equal(copy[1].name, "a\xef\xbf\xbd");
    rp_store_close(s);
}

static void test_order_of_the_process(void **state)
{
    struct rp_store_writer *w = begin_writer(kit_path("p.db"));
    struct rp_row_process process = {.pid = 7, .command = "first"};

    (void)state;
    assert_int_equal(rp_store_put_agent(w, &(struct rp_row_agent){.id = 1}, &err), -RP_BAD_INPUT);
    assert_says(err, "process row must be written before");
    assert_ok(rp_store_put_process(w, &process, &err));
    process.command = "second";
    process.fini_ns = 99;
    assert_ok(rp_store_put_process(w, &process, &err));
    process.pid = 8;
    assert_int_equal(rp_store_put_process(w, &process, &err), -RP_BAD_INPUT);
    assert_says(err, "one database holds one process: 7, not also 8");
    assert_ok(rp_store_writer_commit(w, &err));
    assert_int_equal(kit_sql_int(kit_path("p.db"), "SELECT count(*) FROM processes WHERE fini = 99"
                                                   " AND command = 'second' AND init IS NULL"),
                     1);

    w = begin_writer(kit_path("q.db"));
    assert_int_equal(rp_store_writer_commit(w, &err), -RP_BAD_INPUT);
    assert_says(err, "q.db: there is no process row");
}

/* Bad rows are refused, and what is put after them still arrives. */
static void test_rows_that_cannot_be_stored(void **state)
{
    struct rp_store_writer *w = begin_writer(kit_path("r.db"));

    (void)state;
    assert_ok(kit_put_sample(w, 1000, &err));
    assert_int_equal(rp_store_put_agent(w, &(struct rp_row_agent){.id = 1}, &err), -RP_BAD_INPUT);
    assert_says(err, "agent 1 was written twice");
    assert_int_equal(
        rp_store_put_dispatch(w, &(struct rp_row_dispatch){.id = 2, .agent_id = 1, .kernel_id = 99},
                              &err),
        -RP_BAD_INPUT);
    assert_says(err, "dispatch 2 was written twice");
    assert_int_equal(rp_store_put_queue(w, &(struct rp_row_queue){.id = -3}, &err), -RP_BAD_INPUT);
    assert_says(err, "queue: id -3 is negative");
    for (int i = 0; i < 4; i++) {
        static const char *const bad[] = {"", "{", "[1]", "{\"a\":}"};
        assert_int_equal(
            rp_store_put_queue(w, &(struct rp_row_queue){.id = 50, .extdata = bad[i]}, &err),
            -RP_BAD_INPUT);
        assert_says(err, "queue: extdata is not a JSON object");
    }
    assert_int_equal(rp_store_put_metadata(w, "guid", "x", &err), -RP_BAD_INPUT);
    assert_says(err, "metadata 'guid' belongs to the schema");
    assert_ok(rp_store_put_thread(w, 4242, &err)); /* may be repeated */
    assert_ok(rp_store_put_dispatch(
        w, &(struct rp_row_dispatch){.id = 77, .agent_id = 1, .kernel_id = 2}, &err));
    assert_ok(
        rp_store_put_dispatch(w, &(struct rp_row_dispatch){.agent_id = 1, .kernel_id = 2}, &err));
    assert_ok(rp_store_writer_commit(w, &err));
    assert_int_equal(kit_sql_int(kit_path("r.db"), "SELECT count(*) FROM kernels"), 6);
    assert_int_equal(kit_sql_int(kit_path("r.db"), "SELECT max(id) FROM kernels"), 78);
    /* Without a thread of its own a dispatch belongs to thread 0, and so is visible. */
    assert_int_equal(kit_sql_int(kit_path("r.db"), "SELECT tid FROM kernels WHERE id = 78"), 0);
    assert_int_equal(kit_sql_int(kit_path("r.db"), "SELECT count(*) FROM threads WHERE"
                                                   " name = 'unknown thread'"),
                     1);
}

static void test_references_must_exist(void **state)
{
    struct rp_store_writer *w = begin_writer(kit_path("m.db"));

    (void)state;
    assert_ok(kit_put_sample(w, 1000, &err));
    assert_ok(
        rp_store_put_dispatch(w, &(struct rp_row_dispatch){.agent_id = 1, .kernel_id = 5}, &err));
    assert_int_equal(rp_store_writer_commit(w, &err), -RP_BAD_INPUT);
    assert_says(err, "m.db: kernel 5 is referred to but was not written");

    w = begin_writer(kit_path("m.db"));
    assert_ok(kit_put_sample(w, 1000, &err));
    assert_ok(rp_store_put_copy(w, &(struct rp_row_copy){.dst_agent_id = 3, .name = "x"}, &err));
    assert_int_equal(rp_store_writer_commit(w, &err), -RP_BAD_INPUT);
    assert_says(err, "agent 3 is referred to but was not written");
    assert_int_equal(access(kit_path("m.db"), F_OK), -1);
}

static void test_nothing_appears_before_commit(void **state)
{
    rp_autofree char *before = NULL, *after = NULL;
    struct rp_store_writer *w;
    size_t before_len, after_len;
    struct stat st;

    (void)state;
    kit_remove_all();
    kit_write_file(kit_path("t.db"), "previous", 8);
    before = kit_read_file(kit_path("t.db"), &before_len);
    w = begin_writer(kit_path("t.db"));
    assert_ok(kit_put_sample(w, 1000, &err));
    after = kit_read_file(kit_path("t.db"), &after_len);
    assert_int_equal(before_len, after_len);
    assert_memory_equal(before, after, before_len);
    rp_store_writer_abandon(w);
    assert_int_equal(kit_file_count(), 1);
    w = begin_writer(kit_path("t.db"));
    assert_ok(kit_put_sample(w, 1000, &err));
    assert_ok(rp_store_writer_commit(w, &err));
    assert_int_equal(kit_file_count(), 1);
    assert_ok(kit_open_and_read(kit_path("t.db"), &err));
    assert_int_equal(stat(kit_path("t.db"), &st), 0);
    assert_int_equal(st.st_mode & 0600, 0600);
    rp_store_writer_abandon(NULL);
    rp_store_close(NULL);
}

/* Two writers in one folder do not meet, and neither does a name that SQLite would read its own
 * way. */
static void test_names_of_files(void **state)
{
    static const char *const names[] = {"file:x?mode=memory", ":memory:", "a b#c%41'\"", "-x.db",
                                        "\xc3\xa9.db"};
    struct rp_store_writer *one, *two;
    char back[4096];

    (void)state;
    kit_remove_all();
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(kit_path(".")), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        one = begin_writer(names[i]);
        assert_ok(kit_put_sample(one, 1000, &err));
        assert_ok(rp_store_writer_commit(one, &err));
        assert_int_equal(access(names[i], F_OK), 0);
        assert_ok(kit_open_and_read(names[i], &err));
        assert_ok(kit_open_and_read(kit_path(names[i]), &err));
    }
    assert_int_equal(kit_file_count(), sizeof names / sizeof names[0]);
    assert_int_equal(chdir(back), 0);
    one = begin_writer(kit_path("one.db"));
    two = begin_writer(kit_path("two.db"));
    assert_ok(kit_put_sample(one, 1000, &err));
    assert_ok(kit_put_sample(two, 1000, &err));
    assert_ok(rp_store_writer_commit(one, &err));
    assert_ok(rp_store_writer_commit(two, &err));
    assert_ok(kit_open_and_read(kit_path("one.db"), &err));
    assert_ok(kit_open_and_read(kit_path("two.db"), &err));
}

static void test_places_that_cannot_be_written(void **state)
{
    struct rp_store_origin origin = kit_origin(1);
    struct rp_store_writer *w = NULL;

    (void)state;
    assert_int_equal(rp_store_writer_open(kit_path("no/such/folder.db"), &origin, &w, &err),
                     -RP_ENVIRONMENT);
    assert_says(err, "folder.db: cannot create a file in '");
    assert_says(err, "No such file or directory");
    assert_int_equal(rp_store_writer_open(kit_path("."), &origin, &w, &err), -RP_ENVIRONMENT);
    assert_says(err, "Is a directory");
    assert_int_equal(rp_store_writer_open("/proc/self/x.db", &origin, &w, &err), -RP_ENVIRONMENT);
    assert_null(w);
}

/* The schema against databases that rocprofv3 wrote: same names, columns, keys and view results. */

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

/* The small parts: id sets, bounded text. */

static void test_idset(void **state)
{
    struct rp_idset set = {0};
    rp_autofree int64_t *missing = NULL;
    size_t count;

    (void)state;
    assert_false(idset_has(&set, 5));
    for (int64_t i = 0; i < 500; i++)
        assert_true(idset_refer(&set, i * 0x100000001));
    for (int64_t i = 0; i < 500; i++)
        if (i % 100 != 7)
            assert_true(idset_put(&set, i * 0x100000001));
    assert_true(idset_put(&set, INT64_MAX));
    assert_true(idset_has(&set, INT64_MAX));
    assert_false(idset_has(&set, 7 * 0x100000001));
    missing = idset_missing(&set, &count);
    assert_int_equal(count, 5);
    for (int64_t i = 0; i < 5; i++)
        assert_int_equal(missing[i], (100 * i + 7) * 0x100000001);
    idset_free(&set);
}

static void test_text(void **state)
{
    struct rp_string_pool text = {.limit_bytes = 1 << 20};
    rp_autofree char *big = calloc(1, 300000);
    const char *first;

    (void)state;
    first = rp_string_pool_add(&text, "one", 3);
    assert_string_equal(rp_string_pool_add(&text, "cut\0off", 7), "cut");
    assert_string_equal(rp_string_pool_add(&text, "x\xff", 2), "x\xef\xbf\xbd");
    memset(big, 'a', 300000);
    for (int i = 0; i < 3; i++) {
        big[0] = (char)('b' + i);
        assert_non_null(rp_string_pool_add(&text, big, 300000));
    }
    big[0] = 'e';
    assert_null(rp_string_pool_add(&text, big, 300000));
    assert_ptr_equal(rp_string_pool_add(&text, "one", 3), first); /* once is enough */
    assert_string_equal(first, "one");
    rp_string_pool_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_comes_back),
        cmocka_unit_test(test_work_comes_back),
        cmocka_unit_test(test_metadata_and_views),
        cmocka_unit_test(test_same_rows_give_same_bytes),
        cmocka_unit_test(test_genuine_traces_survive_a_copy),
        cmocka_unit_test(test_hostile_strings),
        cmocka_unit_test(test_bytes_that_are_not_utf8),
        cmocka_unit_test(test_order_of_the_process),
        cmocka_unit_test(test_rows_that_cannot_be_stored),
        cmocka_unit_test(test_references_must_exist),
        cmocka_unit_test(test_nothing_appears_before_commit),
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_places_that_cannot_be_written),
        cmocka_unit_test(test_schema_equals_genuine),
        cmocka_unit_test(test_views_equal_genuine),
        cmocka_unit_test(test_views_show_rows),
        cmocka_unit_test(test_views_of_merged_database),
        cmocka_unit_test(test_idset),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests_name("store write", tests, kit_setup, kit_teardown);
}
