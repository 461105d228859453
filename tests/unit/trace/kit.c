#include "kit.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char scratch[64];

int kit_setup(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/rp-store-XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

int kit_teardown(void **state)
{
    (void)state;
    kit_remove_all();
    return rmdir(scratch);
}

const char *kit_path(const char *name)
{
    static char paths[16][256];
    static unsigned next;
    char *path = paths[next++ % 16];

    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

const char *kit_data(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    const char *root = getenv("RP_TEST_DATA");
    char *path = paths[next++ % 4];

    if (!root)
        fail_msg("RP_TEST_DATA is not set: run through ctest");
    snprintf(path, sizeof paths[0], "%s/rocpd/%s", root, name);
    return path;
}

void kit_for_each_database(void (*fn)(const char *path))
{
    DIR *dir = opendir(kit_data("."));
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (len < 3 || strcmp(entry->d_name + len - 3, ".db") != 0)
            continue;
        fn(kit_data(entry->d_name));
        count++;
    }
    closedir(dir);
    assert_true(count >= 4);
}

void *kit_read_file(const char *path, size_t *ret_bytes)
{
    FILE *file = fopen(path, "rb");
    rp_autobuf bytes = {0};
    char block[65536];
    size_t len;

    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    while ((len = fread(block, 1, sizeof block, file)) > 0)
        rp_buf_add(&bytes, block, len);
    fclose(file);
    *ret_bytes = bytes.len;
    return rp_buf_steal(&bytes);
}

void kit_write_file(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(path, "wb");

    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

void kit_copy(const char *from, const char *to)
{
    size_t len;
    rp_autofree void *bytes = kit_read_file(from, &len);

    kit_write_file(to, bytes, len);
}

static size_t walk_scratch(bool remove_them)
{
    DIR *dir = opendir(scratch);
    const struct dirent *entry;
    size_t count = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (remove_them)
            remove(kit_path(entry->d_name));
    }
    closedir(dir);
    return count;
}

size_t kit_file_count(void)
{
    return walk_scratch(false);
}

void kit_remove_all(void)
{
    walk_scratch(true);
}

/* --- plain SQL ---------------------------------------------------------------------------- */

static sqlite3 *open_db(const char *path)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK)
        fail_msg("%s: %s", path, sqlite3_errmsg(db));
    sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 1, NULL);
    sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    return db;
}

static int add_line(void *ctx, int count, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < count; i++)
        rp_buf_printf(ctx, "%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
    rp_buf_puts(ctx, "\n");
    return 0;
}

static char *run(const char *path, const char *fmt, va_list ap)
{
    sqlite3 *db = open_db(path);
    rp_autobuf sql = {0}, lines = {0};
    char *message = NULL;

    rp_buf_vprintf(&sql, fmt, ap);
    if (sqlite3_exec(db, rp_buf_text(&sql), add_line, &lines, &message) != SQLITE_OK)
        fail_msg("%s: %s in: %s", path, message, rp_buf_text(&sql));
    sqlite3_close(db);
    return rp_buf_steal(&lines);
}

void kit_sql(const char *path, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    free(run(path, fmt, ap));
    va_end(ap);
}

int64_t kit_sql_int(const char *path, const char *fmt, ...)
{
    rp_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = run(path, fmt, ap);
    va_end(ap);
    assert_true(text[0] != '\0');
    return strtoll(text, NULL, 10);
}

char *kit_sql_text(const char *path, const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    text = run(path, fmt, ap);
    va_end(ap);
    return text;
}

/* --- a sample trace ----------------------------------------------------------------------- */

struct rp_store_origin kit_origin(uint64_t seed)
{
    return (struct rp_store_origin){
        .hostname = "host",
        .system_name = "Linux",
        .release = "6.1.0",
        .version = "#1 SMP",
        .hardware_name = "x86_64",
        .machine_id = "0123456789abcdef",
        .node_hash = 77,
        .guid_time_ms = 1700000000000 + seed,
        .guid_random = {seed * 3, seed * 5},
        .device = "software",
        .complete = true,
    };
}

static int put_machine(struct rp_store_writer *w, int64_t base_ns, struct rp_err *err)
{
    const struct rp_row_process process = {.pid = 4242,
                                           .ppid = 4000,
                                           .init_ns = base_ns,
                                           .fini_ns = base_ns + 9000,
                                           .start_ns = base_ns,
                                           .end_ns = base_ns + 9000,
                                           .command = "./app 1 2",
                                           .environment = "{\"HOME\":\"/x\"}",
                                           .extdata = "{\"tool\":\"rocm-perf\"}"};
    const struct rp_row_agent cpu = {.id = 0, .name = "CPU name", .vendor_name = "CPU"};
    const struct rp_row_agent gpu = {.id = 1,
                                     .is_gpu = true,
                                     .absolute_index = 1,
                                     .logical_index = 1,
                                     .type_index = 0,
                                     .device_id = 29857,
                                     .name = "gfx942",
                                     .model_name = "model",
                                     .vendor_name = "AMD",
                                     .product_name = "AMD Instinct MI300X",
                                     .user_name = "user",
                                     .extdata = "{\"cu_count\":304}"};
    const struct rp_row_code_object object = {.id = 1,
                                              .agent_id = 1,
                                              .uri = "file:///app#offset=1&size=2",
                                              .load_base = 0x100000,
                                              .load_size_bytes = 8192,
                                              .load_delta = 0x100000,
                                              .storage_known = true,
                                              .storage_is_file = true,
                                              .extdata = "{\"memory_size\":5}"};
    const struct rp_row_queue queue = {.id = 1, .name = "Queue 0", .extdata = "{\"q\":1}"};
    const struct rp_row_queue stream = {.id = 2, .name = "Stream 2"};

    if (rp_store_put_process(w, &process, err) < 0 || rp_store_put_thread(w, 4242, err) < 0 ||
        rp_store_put_agent(w, &cpu, err) < 0 || rp_store_put_agent(w, &gpu, err) < 0 ||
        rp_store_put_queue(w, &queue, err) < 0 || rp_store_put_stream(w, &stream, err) < 0)
        return -1;
    return rp_store_put_code_object(w, &object, err);
}

int kit_put_sample(struct rp_store_writer *w, int64_t base_ns, struct rp_err *err)
{
    if (put_machine(w, base_ns, err) < 0)
        return -1;
    for (int64_t k = 1; k <= 2; k++) {
        const struct rp_row_kernel kernel = {.id = k,
                                             .code_object_id = 1,
                                             .kernel_name = k == 1 ? "_Z1av.kd" : "_Z1bv.kd",
                                             .display_name = k == 1 ? "a()" : "b()",
                                             .kernel_object = 0x100040 * k,
                                             .kernarg_bytes = 24,
                                             .kernarg_align_bytes = 16,
                                             .group_bytes = 1024 * k,
                                             .private_bytes = 16 * k,
                                             .sgpr_count = 32,
                                             .arch_vgpr_count = 12 * k,
                                             .accum_vgpr_count = 4,
                                             .extdata = "{\"kernel_id\":1}"};
        if (rp_store_put_kernel(w, &kernel, err) < 0)
            return -1;
    }
    for (int64_t d = 0; d < 4; d++) {
        const struct rp_row_dispatch dispatch = {.tid = 4242 + d % 2,
                                                 .agent_id = 1,
                                                 .kernel_id = 1 + d % 2,
                                                 .dispatch_id = d + 1,
                                                 .queue_id = d % 3,
                                                 .stream_id = d % 3,
                                                 .correlation_id = 10 + d,
                                                 .start_ns = base_ns + 1000 * (4 - d),
                                                 .end_ns = base_ns + 1000 * (4 - d) + 100 * d + 7,
                                                 .private_bytes = 16,
                                                 .group_bytes = 4096,
                                                 .workgroup = {64, 2, 1},
                                                 .grid = {1024, 8, 3}};
        if (rp_store_put_dispatch(w, &dispatch, err) < 0)
            return -1;
    }
    for (int64_t c = 0; c < 2; c++) {
        const struct rp_row_copy copy = {.tid = 4242,
                                         .start_ns = base_ns + 6000 + c,
                                         .end_ns = base_ns + 6500 + c,
                                         .name = c ? "MEMORY_COPY_DEVICE_TO_HOST"
                                                   : "MEMORY_COPY_HOST_TO_DEVICE",
                                         .dst_agent_id = 1 - c,
                                         .src_agent_id = c,
                                         .dst_address = 0x1000,
                                         .src_address = 0x2000,
                                         .bytes = 4096 + c,
                                         .queue_id = -1,
                                         .stream_id = 2,
                                         .correlation_id = 20 + c};
        if (rp_store_put_copy(w, &copy, err) < 0)
            return -1;
    }
    return 0;
}

void kit_write_sample(const char *path, uint64_t seed, int64_t base_ns)
{
    struct rp_store_origin origin = kit_origin(seed);
    struct rp_store_writer *w = NULL;
    struct rp_err err = RP_ERR_INIT;

    assert_ok(rp_store_writer_open(path, &origin, &w, &err));
    assert_ok(kit_put_sample(w, base_ns, &err));
    assert_ok(rp_store_writer_commit(w, &err));
}

/* --- merging ------------------------------------------------------------------------------ */

static const char suffixed[] = "type = 'table' AND name GLOB 'rocpd_*[0-9a-f]_*' AND sql NOT NULL";

/* Views over all suffixed tables of one kind, then the derived views of @p from. */
static void unite_views(const char *from, const char *to)
{
    rp_autofree char *unions = kit_sql_text(
        to,
        "SELECT 'CREATE VIEW ' || base || ' AS ' || group_concat('SELECT * FROM ' || name, "
        "' UNION ALL ') || ';' FROM (SELECT name, substr(name, 1, length(name) - 37) AS base "
        "FROM sqlite_master WHERE %s ORDER BY name) GROUP BY base",
        suffixed);
    rp_autofree char *views = kit_sql_text(
        from,
        "SELECT sql || ';' FROM sqlite_master WHERE type = 'view' AND name NOT LIKE 'rocpd%%'");

    kit_sql(to, "%s", unions);
    kit_sql(to, "%s", views);
}

void kit_merge(const char *a, const char *b, const char *to, bool views)
{
    const char *const sources[] = {a, b};

    remove(to);
    for (int i = 0; i < 2; i++) {
        rp_autofree char *create = kit_sql_text(
            sources[i], "SELECT sql || ';' FROM sqlite_master WHERE %s ORDER BY rowid", suffixed);
        rp_autofree char *insert =
            kit_sql_text(sources[i],
                         "SELECT 'INSERT INTO main.' || name || ' SELECT * FROM s.' || name || ';' "
                         "FROM sqlite_master WHERE %s ORDER BY rowid",
                         suffixed);
        kit_sql(to, "ATTACH '%s' AS s; %s %s", sources[i], create, insert);
    }
    if (views)
        unite_views(a, to);
}

/* --- reading ------------------------------------------------------------------------------ */

int kit_read_all(struct rp_store *s, struct rp_err *err)
{
    size_t count;
    int result = 0;

#define LOAD(plural, row)                                                                          \
    do {                                                                                           \
        const struct row *rows;                                                                    \
        result = result ? result : rp_store_##plural(s, &rows, &count, err);                       \
    } while (0)
    LOAD(processes, rp_row_process);
    LOAD(threads, rp_row_thread);
    LOAD(agents, rp_row_agent);
    LOAD(queues, rp_row_queue);
    LOAD(streams, rp_row_queue);
    LOAD(code_objects, rp_row_code_object);
    LOAD(kernels, rp_row_kernel);
    LOAD(dispatches, rp_row_dispatch);
    LOAD(copies, rp_row_copy);
#undef LOAD
    return result;
}

int kit_open_and_read(const char *path, struct rp_err *err)
{
    struct rp_store *s = NULL;
    int result = rp_store_open(path, &s, err);

    if (result == 0)
        result = kit_read_all(s, err);
    rp_store_close(s);
    return result;
}
