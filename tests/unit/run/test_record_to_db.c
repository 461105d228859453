/**
 * @file test_record_to_db.c
 * @brief Record file -> rocpd database, read back through the store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "run/record_to_db.h"
#include "trace/records.h"
#include "trace/rocpd.h"
#include "trace/sqlite.h"
#include "unit/scratch.h"

RP_DEFINE_CLEANUP(struct rp_store, rp_store_close)
#define autostore rp_cleanup(rp_cleanup_rp_store_close) struct rp_store

enum { CPU = 0x10, GPU = 0x20, MAX_RECORDS = 64 };

struct image {
    struct rp_trace_header header;
    struct rp_record records[MAX_RECORDS];
    uint32_t strings;
};

static struct rp_record *add(struct image *image, uint32_t kind)
{
    struct rp_record *record = &image->records[image->header.committed_records++];

    *record = (struct rp_record){.kind = kind};
    return record;
}

static uint32_t string(struct image *image, const char *text)
{
    struct rp_rec_string *rec = &add(image, RP_REC_STRING)->u.string;

    rec->id = ++image->strings;
    rec->bytes = (uint16_t)strlen(text);
    rec->total_bytes = rec->bytes;
    memcpy(rec->text, text, rec->bytes);
    return rec->id;
}

static void agent(struct image *image, uint64_t handle, uint32_t type, const char *name)
{
    uint32_t name_id = string(image, name), vendor_id = string(image, "AM\"D");

    add(image, RP_REC_AGENT)->u.agent = (struct rp_rec_agent){.handle = handle,
                                                              .type = type,
                                                              .node_id = type,
                                                              .name_id = name_id,
                                                              .vendor_name_id = vendor_id,
                                                              .logical_index = type};
}

static void property(struct image *image, const char *key, uint64_t value)
{
    uint32_t key_id = string(image, key);

    add(image, RP_REC_AGENT_PROP)->u.agent_prop =
        (struct rp_rec_agent_prop){.agent = GPU, .key_id = key_id, .value = value};
}

static void dispatch(struct image *image, uint64_t id, uint32_t kernel, uint64_t start)
{
    add(image, RP_REC_DISPATCH)->u.dispatch = (struct rp_rec_dispatch){.dispatch_id = id,
                                                                       .correlation_id = id,
                                                                       .kernel_id = kernel,
                                                                       .agent = GPU,
                                                                       .start_ns = start,
                                                                       .end_ns = start + 100,
                                                                       .tid = 7,
                                                                       .private_bytes = 32,
                                                                       .group_bytes = 2048,
                                                                       .grid = {640, 2, 1},
                                                                       .workgroup = {64, 2, 1}};
}

static void copy(struct image *image, uint64_t dst, uint64_t src, uint64_t correlation)
{
    add(image, RP_REC_COPY)->u.copy = (struct rp_rec_copy){.start_ns = 5,
                                                           .end_ns = 9,
                                                           .bytes = 4096,
                                                           .dst_agent = dst,
                                                           .src_agent = src,
                                                           .correlation_id = correlation,
                                                           .copy_id = correlation,
                                                           .tid = 8};
}

static struct rp_rec_call *call(struct image *image, uint64_t correlation, uint32_t name_id,
                                const uint64_t *args, uint32_t bytes)
{
    struct rp_rec_call *record = &add(image, RP_REC_CALL)->u.call;

    *record = (struct rp_rec_call){.correlation_id = correlation,
                                   .start_ns = 1000 * correlation,
                                   .end_ns = 1000 * correlation + 10,
                                   .name_id = name_id,
                                   .tid = 7,
                                   .arg_bytes = bytes};
    if (bytes > 0)
        memcpy(record->args, args, bytes);
    return record;
}

static struct image run(void)
{
    struct image image = {.header = {.magic = {'R', 'P', 'T', 'R', 'A', 'C', 'E', '1'},
                                     .version = RP_TRACE_VERSION,
                                     .header_bytes = sizeof(struct rp_trace_header),
                                     .record_bytes = sizeof(struct rp_record),
                                     .flags = RP_TRACE_CLOSED,
                                     .init_ns = 1000000000,
                                     .fini_ns = 2000000000,
                                     .pid = 42,
                                     .ppid = 41}};
    uint32_t name_id, uri_id;

    agent(&image, CPU, 0, "EPYC");
    agent(&image, GPU, 1, "gfx942");
    property(&image, "cu_count", 304);
    property(&image, "device_id", 29857);
    property(&image, "mem_banks.0.width", 8192);
    property(&image, "mem_banks.0.mem_clk_max", 1300);
    add(&image, RP_REC_QUEUE)->u.queue.agent = GPU;
    uri_id = string(&image, "file:///x#offset=1&size=2");
    add(&image, RP_REC_CODE_OBJECT)->u.code_object =
        (struct rp_rec_code_object){.id = 1, .agent = GPU, .uri_id = uri_id, .load_bytes = 4096};
    name_id = string(&image, "_Z3addIfEvPT_.kd");
    add(&image, RP_REC_KERNEL)->u.kernel = (struct rp_rec_kernel){.id = 1,
                                                                  .code_object_id = 1,
                                                                  .name_id = name_id,
                                                                  .wave_size = 64,
                                                                  .sgpr_count = 112,
                                                                  .arch_vgpr_count = 128,
                                                                  .accum_vgpr_count = 384};
    dispatch(&image, 2, 1, 400); /* completed first, submitted second */
    dispatch(&image, 1, 1, 300);
    copy(&image, GPU, CPU, 3);
    copy(&image, 0, GPU, 4); /* "the host" */
    return image;
}

static void write_image(const struct image *image, char *ret_path, size_t size)
{
    FILE *file;

    snprintf(ret_path, size, "%s/x.rptrace", scratch_dir);
    file = fopen(ret_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&image->header, sizeof(image->header), 1, file), 1);
    assert_int_equal(fwrite(image->records, sizeof(struct rp_record),
                            (size_t)image->header.committed_records, file),
                     image->header.committed_records);
    assert_int_equal(fclose(file), 0);
}

static struct rp_store *convert(const struct image *image, const char *name)
{
    const struct rp_record_to_db_options options = {.command = "./app 1", .hostname = "host"};
    struct rp_err err = RP_ERR_INIT;
    struct rp_store *store = NULL;
    char trace[96], db[96];

    write_image(image, trace, sizeof(trace));
    snprintf(db, sizeof(db), "%s/%s.db", scratch_dir, name);
    if (rp_record_to_db(trace, db, &options, &err) < 0 || rp_store_open(db, &store, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static void rows_arrive(void **state)
{
    const struct image image = run();
    autostore *store = convert(&image, "rows");
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    const struct rp_row_agent *agents;
    const struct rp_row_process *processes;
    const struct rp_row_copy *copies;
    size_t count;

    (void)state;
    assert_int_equal(rp_store_dispatches(store, &dispatches, &count, NULL), 0);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++) { /* sorted by start, and numbered by submission */
        assert_int_equal(dispatches[i].id, i + 1);
        assert_int_equal(dispatches[i].dispatch_id, i + 1);
        assert_int_equal(dispatches[i].start_ns, 300 + 100 * i);
        assert_int_equal(dispatches[i].agent_id, 1);
        assert_int_equal(dispatches[i].grid[0], 640);
        assert_int_equal(dispatches[i].workgroup[1], 2);
        assert_int_equal(dispatches[i].group_bytes, 2048);
        assert_int_equal(dispatches[i].tid, 7);
    }
    assert_int_equal(rp_store_kernels(store, &kernels, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_string_equal(kernels[0].kernel_name, "_Z3addIfEvPT_.kd");
    assert_string_equal(kernels[0].display_name, "_Z3addIfEvPT_" /* no demangler is given */);
    assert_int_equal(kernels[0].accum_vgpr_count, 384);
    assert_string_equal(kernels[0].extdata, "{\"wave_size\":64}");
    assert_int_equal(rp_store_agents(store, &agents, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_true(agents[1].is_gpu);
    assert_string_equal(agents[1].name, "gfx942");
    assert_int_equal(agents[1].device_id, 29857);
    assert_int_equal(agents[0].device_id, 0); /* the property is the GPU's */
    assert_non_null(strstr(agents[1].extdata, "\"cu_count\":304"));
    assert_non_null(
        strstr(agents[1].extdata, "\"mem_banks\":[{\"width\":8192,\"mem_clk_max\":1300}]"));
    assert_non_null(strstr(agents[1].extdata, "\"vendor_name\":\"AM\\\"D\""));
    assert_int_equal(rp_store_processes(store, &processes, &count, NULL), 0);
    assert_int_equal(processes[0].pid, 42);
    assert_int_equal(processes[0].init_ns, 1000000000);
    assert_string_equal(processes[0].command, "./app 1");
    assert_int_equal(rp_store_copies(store, &copies, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_string_equal(copies[0].name, "MEMORY_COPY_HOST_TO_DEVICE");
    assert_string_equal(copies[1].name, "MEMORY_COPY_DEVICE_TO_HOST");
    assert_int_equal(copies[1].dst_agent_id, 0);
    assert_string_equal(rp_store_metadata(store, "rocm_perf_device"), "hardware");
    assert_null(rp_store_metadata(store, "rocm_perf_incomplete"));
}

static void what_is_missing_is_said(void **state)
{
    struct image image = run();
    autostore *store = NULL;

    (void)state;
    image.header.flags = RP_TRACE_SOFTWARE; /* never closed */
    image.header.lost_dispatches = 3;
    store = convert(&image, "missing");
    assert_string_equal(rp_store_metadata(store, "rocm_perf_device"), "software");
    assert_non_null(rp_store_metadata(store, "rocm_perf_incomplete"));
    assert_string_equal(rp_store_metadata(store, "rocm_perf_lost_dispatches"), "3");
}

static void unknown_kernel_keeps_its_dispatches(void **state)
{
    struct image image = run();
    autostore *store = NULL;
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    size_t count;

    (void)state;
    dispatch(&image, 3, 0, 600);
    dispatch(&image, 4, 0, 800);
    store = convert(&image, "unknown");
    assert_int_equal(rp_store_kernels(store, &kernels, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_string_equal(kernels[1].display_name, "unknown kernel");
    assert_int_equal(rp_store_dispatches(store, &dispatches, &count, NULL), 0);
    assert_int_equal(count, 4);
    assert_int_equal(dispatches[3].kernel_id, kernels[1].id);
}

/* A stream that blocks, one that does not and gets the handle of a destroyed one, and the default
 * one; work in each. Dispatches carry the correlation id of their call. */
static struct image run_with_calls(void)
{
    static const uint64_t handle_a = 0xa000, handle_b = 0xb000, event = 0xe000;
    const uint64_t to_a[] = {
        0x1234,  (uint64_t)3 << 32 | 2, (uint64_t)64 << 32 | 1, (uint64_t)1 << 32 | 1, 0x9, 0, 48,
        handle_a};
    const uint64_t to_b[] = {0, 0, 0, 0, 0, 0, 0, handle_b}, to_null[8] = {0};
    const uint64_t create_a[] = {0x7ff0}, create_b[] = {0x7ff0, 0, 1};
    const uint64_t record[] = {event, handle_a}, wait[] = {handle_b, event, 0};
    const uint64_t copy_args[] = {0x10, 0x20, 4096, 2};
    struct image image = run();
    uint32_t create = string(&image, "hipStreamCreate");
    uint32_t create_flags = string(&image, "hipStreamCreateWithFlags");
    uint32_t launch = string(&image, "hipLaunchKernel");
    uint32_t event_record = string(&image, "hipEventRecord");
    uint32_t event_sync = string(&image, "hipEventSynchronize");
    uint32_t stream_wait = string(&image, "hipStreamWaitEvent");
    uint32_t stream_sync = string(&image, "hipStreamSynchronize");
    uint32_t copy_sync = string(&image, "hipMemcpy");
    uint32_t other = string(&image, "hipGetDevice");

    image.header.flags |= RP_TRACE_HIP_CALLS;
    /* run() has dispatches 1 and 2 (300 to 400, 400 to 500), and copies 3 and 4 (5 to 9). */
    call(&image, 11, launch, to_a, sizeof(to_a)); /* returned before those that it was made after */
    call(&image, 10, create, create_a, sizeof(create_a))->created = handle_a;
    call(&image, 12, create_flags, create_b, 20)->created = handle_b;
    call(&image, 13, event_record, record, sizeof(record));
    call(&image, 14, launch, to_a, sizeof(to_a));
    call(&image, 15, stream_wait, wait, 20);
    call(&image, 16, launch, to_b, sizeof(to_b));
    call(&image, 17, event_sync, &event, sizeof(event));
    call(&image, 18, other, NULL, 0);
    call(&image, 19, stream_sync, &handle_b, sizeof(handle_b));
    call(&image, 20, copy_sync, copy_args, 28);
    call(&image, 21, create, create_a, sizeof(create_a))->created = handle_a; /* used again */
    call(&image, 22, launch, to_a, sizeof(to_a));
    call(&image, 23, launch, to_null, sizeof(to_null));
    call(&image, 24, stream_sync, to_null, sizeof(handle_a))->tid = 8;
    dispatch(&image, 11, 1, 1000); /* takes 100 */
    dispatch(&image, 14, 1, 1100);
    dispatch(&image, 16, 1, 1500);
    dispatch(&image, 20, 1, 1700);
    dispatch(&image, 22, 1, 2500);
    dispatch(&image, 23, 1, 2300);
    return image;
}

static void calls_become_regions(void **state)
{
    static const int64_t streams[] = {0, 0, 1, 1, 2, 0, 0, 3};
    const struct image image = run_with_calls();
    autostore *store = convert(&image, "calls");
    const struct rp_row_region *regions;
    const struct rp_row_arg *args;
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_queue *rows;
    size_t count, arg_count, next = 0;

    (void)state;
    assert_string_equal(rp_store_metadata(store, "rocm_perf_hip_calls"), "host");
    assert_int_equal(rp_store_regions(store, &regions, &count, NULL), 0);
    assert_int_equal(count, 15);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(regions[i].id, 10 + i);
        assert_int_equal(regions[i].correlation_id, 10 + i);
        assert_int_equal(regions[i].parent_id, 0);
        assert_int_equal(regions[i].start_ns, 1000 * (10 + i));
        assert_int_equal(regions[i].end_ns, 1000 * (10 + i) + 10);
    }
    assert_string_equal(regions[1].name, "hipLaunchKernel");
    assert_int_equal(rp_store_args(store, &args, &arg_count, NULL), 0);
    while (next < arg_count && args[next].event_id != regions[1].event_id)
        next++;
    assert_true(next + 6 <= arg_count);
    assert_string_equal(args[next].value, "0x1234");
    assert_string_equal(args[next + 1].name, "numBlocks");
    assert_string_equal(args[next + 1].value, "{z=1, y=3, x=2}");
    assert_string_equal(args[next + 2].value, "{z=1, y=1, x=64}");
    assert_string_equal(args[next + 4].value, "48");
    assert_string_equal(args[next + 5].name, "stream");
    assert_string_equal(args[next + 5].value, "0xa000");
    assert_int_equal(args[next + 5].position, 5);
    assert_int_equal(rp_store_dispatches(store, &dispatches, &count, NULL), 0);
    assert_int_equal(count, 8);
    for (size_t i = 0; i < count; i++) /* by start */
        assert_int_equal(dispatches[i].stream_id, streams[i]);
    assert_int_equal(rp_store_streams(store, &rows, &count, NULL), 0);
    assert_int_equal(count, 4);
    assert_string_equal(rows[1].name, "Stream 0");
}

/** These are lines of the calls that have one. */
struct lines {
    char text[8][200];
    int64_t of[8];
    size_t count;
};

static int take_line(void *ctx, const void *row, struct rp_err *err)
{
    struct lines *lines = ctx;
    const struct rp_row_call_site *site = row;

    (void)err;
    assert_in_range(lines->count, 0, 7);
    lines->of[lines->count] = site->correlation_id;
    snprintf(lines->text[lines->count++], sizeof(lines->text[0]), "%s", site->line_info);
    return 0;
}

/* The symbolizer is a script. Nobody starts it for a file that has no lines. */
static void write_symbolizer(char *ret_path, size_t size)
{
    static const char script[] =
        "#!/bin/sh\n"
        "grep -q -- '--obj=\"/dev/null\"' \"${1#@}\" && exit 1\n"
        "grep ^0x \"${1#@}\" | while read -r at; do case $at in\n"
        "  0x10) printf '__device_stub__k(float*)\\n/p/a.hip:3:0\\n\\n' ;;\n"
        "  0x20) printf 'copy\\n/usr/include/hip/x.h:5:1\\nmain\\n/p/a b.hip:12:7\\n\\n' ;;\n"
        "  0x30) printf 'start\\n/p/a.hip:90:0\\n\\n' ;;\n"
        "  *) printf '??\\n??:0:0\\n\\n' ;;\n"
        "esac; done\n";
    FILE *file;

    snprintf(ret_path, size, "%s/symbolizer", scratch_dir);
    file = fopen(ret_path, "w");
    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    assert_int_equal(chmod(ret_path, 0700), 0);
}

static void call_at(struct image *image, uint64_t correlation, uint32_t name_id, uint32_t site)
{
    call(image, correlation, name_id, NULL, 0);
    image->records[image->header.committed_records - 1].call_site = site;
}

static void python_frame(struct image *image, uint32_t site, const char *file, uint32_t line)
{
    const uint32_t file_id = string(image, file), function_id = string(image, "f");

    add(image, RP_REC_PYTHON_FRAME)->u.python_frame = (struct rp_rec_python_frame){
        .call_site_id = site, .file_id = file_id, .function_id = function_id, .line = line};
}

static struct image run_with_places(void)
{
    struct image image = run();
    char program[100], interpreter[96];
    uint32_t name_id = string(&image, "hipMemcpy"), self, python,
             nothing = string(&image, "/dev/null");
    ssize_t bytes = readlink("/proc/self/exe", program, sizeof(program) - 1);

    assert_in_range(bytes, 1, 98);
    program[bytes] = 0;
    self = string(&image, program);
    snprintf(interpreter, sizeof(interpreter), "%s/python3.12", scratch_dir);
    unlink(interpreter);
    assert_int_equal(symlink(program, interpreter), 0);
    python = string(&image, interpreter);
    /* A stub, its caller, and who called that; code in no file; nothing that is known. */
    add(&image, RP_REC_CALL_SITE)->u.call_site = (struct rp_rec_call_site){
        .id = 1, .count = 3, .module_id = {self, self, self}, .address = {0x10, 0x20, 0x30}};
    add(&image, RP_REC_CALL_SITE)->u.call_site = (struct rp_rec_call_site){
        .id = 2, .count = 2, .module_id = {0, nothing}, .address = {0x20, 0x20}};
    add(&image, RP_REC_CALL_SITE)->u.call_site = (struct rp_rec_call_site){
        .id = 9, .count = 2, .module_id = {nothing, self}, .address = {0x40, 0x30}};
    /* C code of Python itself, with lines; of Python code the innermost that is not installed. */
    add(&image, RP_REC_CALL_SITE)->u.call_site = (struct rp_rec_call_site){
        .id = 11, .count = 2, .module_id = {python, self}, .address = {0x30, 0x30}};
    python_frame(&image, 11, "/v/lib/python3.12/site-packages/a/b.py", 5);
    python_frame(&image, 11, "<frozen runpy>", 6);
    python_frame(&image, 11, "/p/model.py", 7);
    python_frame(&image, 11, "/p/main.py", 8);
    call_at(&image, 10, name_id, 1);
    call_at(&image, 11, name_id, 0);
    call_at(&image, 12, name_id, 2);
    call_at(&image, 13, name_id, 9);
    call_at(&image, 14, name_id, 1);
    call_at(&image, 15, name_id, 11);
    return image;
}

/* The store does not read stacks. The text is good until the next call. */
static const char *stack_of_call(const char *db, int64_t correlation_id)
{
    static char text[300];
    sqlite3_stmt *stmt = NULL;
    sqlite3 *raw = NULL;

    assert_int_equal(sqlite3_open_v2(db, &raw, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(raw,
                                        "select call_stack from rocpd_event where stack_id = ? "
                                        "and call_stack != '{}'",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    sqlite3_bind_int64(stmt, 1, correlation_id);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    sqlite3_close(raw);
    return text;
}

static void calls_have_lines(void **state)
{
    static const struct {
        int64_t of;
        const char *text;
    } wanted[] = {{10, "{\"file\":\"/p/a b.hip\",\"function\":\"main\",\"line\":12}"},
                  {13, "{\"file\":\"/p/a.hip\",\"function\":\"start\",\"line\":90}"},
                  {14, "{\"file\":\"/p/a b.hip\",\"function\":\"main\",\"line\":12}"},
                  {15, "{\"file\":\"/p/model.py\",\"function\":\"f\",\"line\":7}"}};
    const struct image image = run_with_places();
    char trace[96], db[96], symbolizer[96];
    struct rp_record_to_db_options options = {.symbolizer = symbolizer};
    struct lines lines = {0}, none = {0};
    struct rp_store *store = NULL;

    (void)state;
    write_symbolizer(symbolizer, sizeof(symbolizer));
    write_image(&image, trace, sizeof(trace));
    snprintf(db, sizeof(db), "%s/lines.db", scratch_dir);
    assert_int_equal(rp_record_to_db(trace, db, &options, NULL), 0);
    assert_int_equal(rp_store_open(db, &store, NULL), 0);
    assert_string_equal(rp_store_metadata(store, RP_STORE_CALL_SITES_TAG), "3");
    assert_int_equal(rp_store_each_call_site(store, take_line, &lines, NULL), 0);
    assert_int_equal(lines.count, sizeof(wanted) / sizeof(wanted[0]));
    for (size_t i = 0; i < lines.count; i++) {
        assert_int_equal(lines.of[i], wanted[i].of);
        assert_string_equal(lines.text[i], wanted[i].text);
    }
    rp_store_close(store);

    options.symbolizer = NULL; /* Without the program, there are none but Python's. */
    assert_int_equal(rp_record_to_db(trace, db, &options, NULL), 0);
    assert_int_equal(rp_store_open(db, &store, NULL), 0);
    assert_string_equal(rp_store_metadata(store, RP_STORE_CALL_SITES_TAG), "1");
    assert_string_equal(stack_of_call(db, 12),
                        "{\"frames\":[{\"address\":\"0x20\",\"module\":\"/dev/null\"}]}");
    assert_int_equal(rp_store_each_call_site(store, take_line, &none, NULL), 0);
    assert_int_equal(none.count, 1);
    assert_string_equal(none.text[0], wanted[3].text);
    rp_store_close(store);
}

/* On the software device the host's times do not count: a call takes no time but what it waits. */
static void calls_on_the_modelled_clock(void **state)
{
    /* Work starts at 5. Record behind 11 (until 1100), the event is waited for by 17; stream 2
     * holds 16 (until 1600), 20 started a dispatch (until 1800) and waits for it. */
    static const int64_t start[] = {5, 5, 5, 5, 5, 5, 5, 5, 1100, 1100, 1600, 1800, 1800, 1800, 5};
    static const int64_t end[] = {
        5,    5,    5,    5,    5,    5,    5,   1100,
        1100, 1600, 1800, 1800, 1800, 1800, 2600}; /* the default stream stands behind 22 (until
                                                      2600) */
    struct image image = run_with_calls();
    autostore *store = NULL;
    const struct rp_row_region *regions;
    size_t count;

    (void)state;
    image.header.flags |= RP_TRACE_SOFTWARE;
    store = convert(&image, "modelled");
    assert_string_equal(rp_store_metadata(store, "rocm_perf_hip_calls"), "order");
    assert_int_equal(rp_store_regions(store, &regions, &count, NULL), 0);
    assert_int_equal(count, 15);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(regions[i].start_ns, start[i]);
        assert_int_equal(regions[i].end_ns, end[i]);
    }
}

static void an_unknown_hip_is_said(void **state)
{
    struct image image = run();
    autostore *store = NULL;

    (void)state;
    image.header.flags |= RP_TRACE_HIP_UNKNOWN;
    store = convert(&image, "unknown-hip");
    assert_string_equal(rp_store_metadata(store, "rocm_perf_hip_calls"), "unknown version");
}

static void barrier(struct image *image, uint64_t order, uint32_t queue, unsigned type, bool bit,
                    uint64_t first, uint64_t second)
{
    add(image, RP_REC_BARRIER)->u.barrier = (struct rp_rec_barrier){
        .order = order,
        .queue_index = queue,
        .type = (uint16_t)type,
        .barrier_bit = bit,
        .wait_count = (uint16_t)((first != 0) + (second != 0)),
        .waits = {first, second},
    };
}

static void ordered(struct image *image, uint64_t id, uint64_t order, uint32_t queue, bool bit)
{
    dispatch(image, id, 1, 1000 * id);
    image->records[image->header.committed_records - 1].u.dispatch.order = order;
    image->records[image->header.committed_records - 1].u.dispatch.queue_index = queue;
    image->records[image->header.committed_records - 1].u.dispatch.barrier_bit = bit;
}

static int take_dependency(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_dependency *d = row;
    char *text = ctx;

    (void)err;
    assert_true(strlen(text) < 400);
    sprintf(text + strlen(text), "%s%d<%s%d ", d->is_copy ? "c" : "", (int)d->row_id,
            d->waits_for_copy ? "c" : "", (int)d->waits_for_id);
    return 0;
}

/* Two queues; records of dispatches stand in the order of completion. run() has no orders. */
static void dependencies_are_resolved(void **state)
{
    struct image image = run();
    autostore *store = NULL;
    struct rp_rec_wait *wait;
    char got[512] = "";

    (void)state;
    add(&image, RP_REC_QUEUE)->u.queue = (struct rp_rec_queue){.agent = GPU, .index = 1};
    ordered(&image, 13, 6, 0, true);  /* 13 < 11 and 12 */
    ordered(&image, 12, 2, 0, false); /* beside 11 */
    ordered(&image, 11, 1, 0, false);
    barrier(&image, 3, 1, RP_BARRIER_AND, true, 2, 1);   /* the other queue: behind 12 and 11 */
    ordered(&image, 21, 4, 1, false);                    /* 21 < 11, 12 */
    ordered(&image, 22, 5, 1, true);                     /* 22 < 21, which is behind the others */
    barrier(&image, 7, 0, RP_BARRIER_VALUE, true, 0, 0); /* behind 13 */
    barrier(&image, 8, 1, RP_BARRIER_AND, false, 7, 99); /* 99 was lost; without bit: 22 goes on */
    ordered(&image, 23, 9, 1, false);                    /* 23 < 11, 12 (first gate) and 13 */
    barrier(&image, 10, 1, RP_BARRIER_OR, true, 1, 2);   /* behind 22, 23 and one of two */
    ordered(&image, 24, 11, 1, true);                    /* 24 < 22, 23 */
    copy(&image, GPU, CPU, 5);
    image.records[image.header.committed_records - 1].u.copy.order = 12;
    wait = &add(&image, RP_REC_WAIT)->u.wait;
    *wait =
        (struct rp_rec_wait){.order = 12, .wait_count = 2, .unknown_count = 3, .waits = {10, 6}};
    ordered(&image, 14, 14, 0, true);
    barrier(&image, 13, 0, RP_BARRIER_AND, false, 12, 50); /* 50: of what comes later, damage */
    store = convert(&image, "dependencies");
    assert_int_equal(rp_store_each_dependency(store, take_dependency, got, NULL), 0);
    /* 13 stands for 11 and 12, which it waited for in their queue; the copy waits for 13 itself,
     * and by way of the OR for what that was behind. By order of submission. */
    assert_string_equal(got, "21<11 21<12 22<21 13<11 13<12 23<13 24<22 24<23 "
                             "c1<22 c1<13 c1<23 14<13 14<c1 ");
    assert_string_equal(rp_store_metadata(store, "rocm_perf_unknown_waits"), "7");
}

static int take_replay(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_simulation *r = row;
    char *text = ctx;

    (void)err;
    assert_true(strlen(text) < 400);
    sprintf(text + strlen(text), "%d:%d/%d,%g,%d,%d-%d ", (int)r->id, (int)r->replayed_waves,
            (int)r->waves, r->error_share, (int)r->fast_clock_waves, (int)r->shortest_ns,
            (int)r->longest_ns);
    return 0;
}

/* Row ids are those of the dispatches as submitted: dispatch 1 of run() is recorded behind 2. */
static void modelled_times_say_what_they_are_from(void **state)
{
    static const char *const models[] = {NULL, "counts", "detailed", "off"};
    struct image image = run();
    char got[512] = "";

    (void)state;
    add(&image, RP_REC_SIMULATION)->u.simulation =
        (struct rp_rec_simulation){.dispatch_id = 2,
                                   .waves = 10,
                                   .replayed_waves = 3,
                                   .error_share = 0.25,
                                   .fast_clock_waves = 7};
    add(&image, RP_REC_SIMULATION)->u.simulation =
        (struct rp_rec_simulation){.dispatch_id = 1, .waves = 6, .between_ns = {950, 7500}};
    add(&image, RP_REC_SIMULATION)->u.simulation =
        (struct rp_rec_simulation){.dispatch_id = 9, .waves = 6, .replayed_waves = 6}; /* lost */
    image.header.flags |= RP_TRACE_SOFTWARE;
    image.header.timing_version = 4;
    for (uint32_t i = 0; i < sizeof models / sizeof *models; i++) {
        image.header.timing = i;
        autostore *store = convert(&image, "modelled");
        const char *model = rp_store_metadata(store, "rocm_perf_timing");
        if (!models[i]) {
            assert_null(model);
            assert_null(rp_store_metadata(store, "rocm_perf_timing_version"));
            continue;
        }
        assert_string_equal(model, models[i]);
        assert_string_equal(rp_store_metadata(store, "rocm_perf_timing_version"), "4");
        *got = 0;
        assert_int_equal(rp_store_each_simulation(store, take_replay, got, NULL), 0);
        assert_string_equal(got, "1:0/6,0,0,950-7500 2:3/10,0.25,7,-1--1 ");
    }
}

/* A disk that was full for a while: kernel 2, a queue, a code object and an agent are missing. */
static void lost_records_get_stand_ins(void **state)
{
    struct image image = run();
    autostore *store = NULL;
    const struct rp_row_code_object *objects;
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    const struct rp_row_agent *agents;
    const struct rp_row_queue *queues;
    const struct rp_row_copy *copies;
    size_t count;

    (void)state;
    image.header.lost_records = 5;
    add(&image, RP_REC_KERNEL)->u.kernel = (struct rp_rec_kernel){.id = 3, .code_object_id = 4};
    dispatch(&image, 3, 2, 600); /* in a gap of the ids */
    dispatch(&image, 4, 9, 800); /* behind the last one, and on nothing that is known */
    image.records[image.header.committed_records - 1].u.dispatch.agent = 0x99;
    image.records[image.header.committed_records - 1].u.dispatch.queue_index = 1;
    dispatch(&image, 5, 3, 900);
    copy(&image, 0x98, CPU, 6);
    store = convert(&image, "lost");

    assert_int_equal(rp_store_agents(store, &agents, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_string_equal(agents[2].name, "unknown GPU");
    assert_int_equal(agents[2].id, 2);
    assert_true(agents[2].is_gpu);
    assert_int_equal(rp_store_code_objects(store, &objects, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(rp_store_kernels(store, &kernels, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_int_equal(kernels[1].id, 3);
    assert_int_equal(kernels[1].code_object_id, objects[1].id);
    assert_string_equal(kernels[2].display_name, "unknown kernel");
    assert_int_equal(rp_store_dispatches(store, &dispatches, &count, NULL), 0);
    assert_int_equal(count, 5);
    assert_int_equal(dispatches[2].kernel_id, kernels[2].id);
    assert_int_equal(dispatches[3].kernel_id, kernels[2].id);
    assert_int_equal(dispatches[3].agent_id, agents[2].id);
    assert_int_equal(dispatches[4].kernel_id, 3);
    assert_int_equal(rp_store_queues(store, &queues, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_int_equal(dispatches[3].queue_id, queues[2].id);
    assert_string_equal(queues[2].name, "Queue 1");
    assert_int_equal(rp_store_copies(store, &copies, &count, NULL), 0);
    assert_int_equal(count, 3);
    assert_string_equal(copies[2].name, "MEMORY_COPY_NONE");
    assert_int_equal(copies[2].dst_agent_id, agents[2].id);
    assert_int_equal(copies[2].src_agent_id, 0);
    assert_string_equal(rp_store_metadata(store, "rocm_perf_lost_records"), "5");
}

static size_t read_whole(const char *path, char **ret)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = (size_t)ftell(file);
    rewind(file);
    *ret = malloc(size);
    assert_int_equal(fread(*ret, 1, size, file), size);
    fclose(file);
    return size;
}

static void same_file_same_database(void **state)
{
    const struct image image = run();
    char path[96], *one, *two;
    size_t size;

    (void)state;
    rp_store_close(convert(&image, "one"));
    rp_store_close(convert(&image, "two"));
    snprintf(path, sizeof(path), "%s/one.db", scratch_dir);
    size = read_whole(path, &one);
    snprintf(path, sizeof(path), "%s/two.db", scratch_dir);
    assert_int_equal(read_whole(path, &two), size);
    assert_memory_equal(one, two, size);
    free(one);
    free(two);
}

static void damage_is_refused(void **state)
{
    const struct rp_record_to_db_options options = {.command = NULL};
    struct image image = run();
    struct rp_err err = RP_ERR_INIT;
    char trace[96], db[96], message[200];

    (void)state;
    snprintf(db, sizeof(db), "%s/none.db", scratch_dir);
    dispatch(&image, 3, 9, 600);
    write_image(&image, trace, sizeof(trace));
    assert_int_equal(rp_record_to_db(trace, db, &options, &err), -RP_BAD_INPUT);
    snprintf(message, sizeof(message),
             "read records: %s: record %d: dispatch refers to an unknown kernel", trace,
             (int)image.header.committed_records - 1);
    assert_string_equal(err.text, message);
    assert_int_not_equal(access(db, F_OK), 0);

    image = run();
    dispatch(&image, 3, 1, 600);
    image.records[image.header.committed_records - 1].u.dispatch.agent = 0x99;
    write_image(&image, trace, sizeof(trace));
    err = (struct rp_err)RP_ERR_INIT;
    assert_int_equal(rp_record_to_db(trace, db, &options, &err), -RP_BAD_INPUT);
    snprintf(message, sizeof(message), "convert %s: agent 99 is missing", trace);
    assert_string_equal(err.text, message);
    assert_int_not_equal(access(db, F_OK), 0); /* half a database is none */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, scratch_end)
    const struct CMUnitTest tests[] = {
        TEST(rows_arrive),
        TEST(what_is_missing_is_said),
        TEST(unknown_kernel_keeps_its_dispatches),
        TEST(calls_become_regions),
        TEST(calls_have_lines),
        TEST(calls_on_the_modelled_clock),
        TEST(dependencies_are_resolved),
        TEST(an_unknown_hip_is_said),
        TEST(modelled_times_say_what_they_are_from),
        TEST(lost_records_get_stand_ins),
        TEST(same_file_same_database),
        TEST(damage_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
