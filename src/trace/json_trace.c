#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "trace/csv_trace.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"
#include "trace/rocpd_schema.h"

enum {
    RP_JSON_SECTIONS = 0
#define SECTION(path, function, kind) +1
#include "trace/json_sections.def"
#undef SECTION
};

/** Zero-initialise it; the owner of the parts releases them. */
struct rp_json_loader {
    struct rp_memdb m;
    struct rp_call_list orphans; /**< calls of which the file does not say what made them */
    json_t **kinds;              /**< names of operations, by kind of record */
    size_t kind_count;
    struct rp_json_agent {
        int64_t handle, id;
    } * agents;
    size_t agent_count;
    int64_t copies, regions;
    struct {
        RP_VEC(char *);
    } isa, comments;     /**< of sampled instructions, by inst_index */
    const json_t *whole; /**< the record, where it is wanted so */
};

/** Sections are listed in the order in which they must be read. */
struct rp_json_section {
    const char *path; /**< "buffer_records.hip_api" */
    int (*add)(struct rp_json_loader *l, const struct rp_json_value *record, struct rp_err *err);
    enum { PLAIN, WHOLE, TEXT } kind; /**< WHOLE: it also wants what jansson made of it */
};

/* --- names and ids -------------------------------------------------------------------------- */

/* Returns what the record is of: "hipLaunchKernel", "MEMORY_COPY_HOST_TO_DEVICE". */
static int operation_name(struct rp_json_loader *l, const struct rp_json_value *record,
                          const char **ret, struct rp_err *err)
{
    static const struct rp_json_field fields[] = {{"kind", RP_JSON_REQUIRED},
                                                  {"operation", RP_JSON_REQUIRED}};
    const json_t *operations = NULL;
    int64_t at[2];
    int result = rp_json_numbers(record, fields, 2, at, err);

    if (result < 0)
        return result;
    if (at[0] >= 0 && (uint64_t)at[0] < l->kind_count)
        operations = json_object_get(l->kinds[at[0]], "operations");
    *ret = at[1] >= 0 ? json_string_value(json_array_get(operations, (size_t)at[1])) : NULL;
    return *ret ? 0
                : rp_fail(err, RP_BAD_INPUT,
                          "strings.buffer_records has no name for kind %" PRId64
                          ", operation %" PRId64,
                          at[0], at[1]);
}

static int string_of(struct rp_json_loader *l, const struct rp_json_value *record, int64_t *ret,
                     struct rp_err *err)
{
    const char *name;
    int result = operation_name(l, record, &name, err);

    return result < 0 ? result : rp_memdb_string(&l->m, name, ret, err);
}

/* Finds the node that stands for an agent elsewhere; a missing handle stays NULL. */
static int agent_id(const struct rp_json_loader *l, const struct rp_json_value *record,
                    const char *path, int64_t *ret, struct rp_err *err)
{
    int64_t handle;
    int result = rp_json_number(record, path, INT64_MIN, &handle, err);

    if (result < 0)
        return result;
    *ret = INT64_MIN;
    if (handle == INT64_MIN)
        return 0;
    for (size_t i = 0; i < l->agent_count; i++)
        if (l->agents[i].handle == handle) {
            *ret = l->agents[i].id;
            return 0;
        }
    return rp_fail(err, RP_BAD_INPUT, "its %s %" PRIu64 " is not among the agents", path,
                   (uint64_t)handle);
}

static int add_event(struct rp_json_loader *l, int64_t call, int64_t parent, const char *extdata,
                     int64_t *ret, struct rp_err *err)
{
    const int64_t values[] = {++l->m.events, call, parent};

    *ret = l->m.events;
    return rp_memdb_run(&l->m, "INSERT INTO rocpd_event VALUES (?1, ?2, ?3, ?4)", values, 3,
                        &extdata, 1, err);
}

/* --- what the run was ------------------------------------------------------------------------ */

/* Joins the words of the command line. */
static void join_command(const json_t *words, struct rp_buf *ret)
{
    size_t i;
    const json_t *word;

    json_array_foreach(words, i, word)
    {
        if (json_string_value(word))
            rp_buf_printf(ret, "%s%s", i ? " " : "", json_string_value(word));
    }
}

static int add_node(struct rp_json_loader *l, const struct rp_json_value *metadata,
                    struct rp_err *err)
{
    const char *texts[] = {rp_json_text(metadata, "node.machine_id"),
                           rp_json_text(metadata, "node.hostname")};

    if (!rp_json_at(metadata, "node"))
        return 0;
    return rp_memdb_run(&l->m, "INSERT INTO rocpd_info_node VALUES (1, ?1, ?2)", NULL, 0, texts, 2,
                        err);
}

static int add_process(struct rp_json_loader *l, const struct rp_json_value *metadata,
                       struct rp_err *err)
{
    static const struct rp_json_field fields[] = {
        {"pid", RP_JSON_OR_0}, {"init_time", RP_JSON_OR_NULL}, {"fini_time", RP_JSON_OR_NULL}};
    rp_autobuf command = {0};
    rp_autofree char *config = NULL;
    const char *texts[2];
    int64_t values[3];
    int result = rp_json_numbers(metadata, fields, 3, values, err);

    if (result < 0)
        return result;
    join_command(json_object_get(l->whole, "command"), &command);
    if (rp_json_at(metadata, "config"))
        config = json_dumps(json_object_get(l->whole, "config"), JSON_COMPACT);
    if (command.failed)
        return rp_out_of_memory(err);
    texts[0] = rp_buf_text(&command);
    texts[1] = config;
    result = rp_memdb_run(&l->m,
                          "INSERT INTO rocpd_info_process (id, pid, init, fini, start, end,"
                          " command, extdata) VALUES (1, ?1, ?2, ?3, ?2, ?3, ?4, ?5)",
                          values, 3, texts, 2, err);
    return result < 0 ? result : add_node(l, metadata, err);
}

static int note_agent(struct rp_json_loader *l, int64_t handle, int64_t id, struct rp_err *err)
{
    struct rp_json_agent *agent = rp_array_add(&l->agents, &l->agent_count);

    if (!agent)
        return rp_out_of_memory(err);
    *agent = (struct rp_json_agent){handle, id};
    return 0;
}

enum { AGENT_TYPE_GPU = 2 }; /* This is a rocprofiler_agent_type_t, where 1 is a CPU. */

static int add_agent(struct rp_json_loader *l, const struct rp_json_value *agent,
                     struct rp_err *err)
{
    static const struct rp_json_field fields[] = {{"node_id", RP_JSON_REQUIRED},
                                                  {"logical_node_id", RP_JSON_OR_0},
                                                  {"logical_node_type_id", RP_JSON_OR_0},
                                                  {"device_id", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
                                                  {"id", RP_JSON_REQUIRED | RP_JSON_ALL_BITS},
                                                  {"type", RP_JSON_REQUIRED}};
    rp_autofree char *extdata = json_dumps(l->whole, JSON_COMPACT);
    int64_t v[6];
    int result = extdata ? rp_json_numbers(agent, fields, 6, v, err) : rp_out_of_memory(err);
    const char *texts[] = {
        result == 0 && v[5] == AGENT_TYPE_GPU ? "GPU" : "CPU",
        rp_json_text(agent, "name"),
        rp_json_text(agent, "model_name"),
        rp_json_text(agent, "vendor_name"),
        rp_json_text(agent, "product_name"),
        extdata,
    };

    if (result == 0)
        result = note_agent(l, v[4], v[0], err);
    if (result < 0)
        return result;
    return rp_memdb_run(&l->m,
                        "INSERT INTO rocpd_info_agent (id, absolute_index, logical_index,"
                        " type_index, uuid, type, name, model_name, vendor_name, product_name,"
                        " user_name, extdata)"
                        " VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10)",
                        v, 4, texts, 6, err);
}

/* --- names ----------------------------------------------------------------------------------- */

static int add_kind(struct rp_json_loader *l, const struct rp_json_value *kind, struct rp_err *err)
{
    json_t **place = rp_array_add(&l->kinds, &l->kind_count);

    (void)kind;
    if (!place)
        return rp_out_of_memory(err);
    *place = json_incref((json_t *)l->whole);
    return 0;
}

/* Texts of ROCTx by the correlation id of the call. */
static int add_message(struct rp_json_loader *l, const struct rp_json_value *message,
                       struct rp_err *err)
{
    const char *text = rp_json_text(message, "value");
    int64_t key;
    int result = rp_json_required(message, "key", &key, err);

    return result < 0 ? result
                      : rp_memdb_run(&l->m, "INSERT OR REPLACE INTO message VALUES (?1, ?2)", &key,
                                     1, &text, 1, err);
}

static int add_instruction_text(struct rp_json_loader *l, const struct rp_json_value *text,
                                struct rp_err *err)
{
    char *kept = strdup(text->text);

    if (kept && rp_vec_push(&l->isa, kept) == 0)
        return 0;
    free(kept);
    return rp_out_of_memory(err);
}

static int add_comment_text(struct rp_json_loader *l, const struct rp_json_value *text,
                            struct rp_err *err)
{
    char *kept = strdup(text->text);

    if (kept && rp_vec_push(&l->comments, kept) == 0)
        return 0;
    free(kept);
    return rp_out_of_memory(err);
}

static int add_counter(struct rp_json_loader *l, const struct rp_json_value *counter,
                       struct rp_err *err)
{
    const char *name = rp_json_text(counter, "name");
    int64_t id;
    int result = rp_json_required(counter, "id", &id, err);

    if (result < 0)
        return result;
    if (!name)
        return rp_fail(err, RP_BAD_INPUT, "it has no name");
    return rp_memdb_run(&l->m, "INSERT OR IGNORE INTO rocpd_info_pmc VALUES (?1, ?2)", &id, 1,
                        &name, 1, err); /* Every GPU lists the counter, so its name comes again. */
}

static int add_code_object(struct rp_json_loader *l, const struct rp_json_value *object,
                           struct rp_err *err)
{
    static const struct rp_json_field fields[] = {{"code_object_id", RP_JSON_REQUIRED},
                                                  {"load_base", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
                                                  {"load_size", RP_JSON_OR_0},
                                                  {"load_delta", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
                                                  {"size", RP_JSON_OR_NULL}};
    /* The key is rocp_agent up to 6.4. */
    const char *agent = rp_json_at(object, "agent_id") ? "agent_id" : "rocp_agent";
    const char *uri = rp_json_text(object, "uri");
    int64_t v[5];
    int result = rp_json_numbers(object, fields, 5, v, err);

    if (result < 0 || v[4] == 0) /* Id 0 only fills its place. */
        return result;
    result = agent_id(l, object, agent, &v[4], err);
    if (result < 0)
        return result;
    return rp_memdb_run(&l->m,
                        "INSERT INTO rocpd_info_code_object (id, load_base, load_size, load_delta,"
                        " agent_id, uri) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                        v, 5, &uri, 1, err);
}

static int add_kernel(struct rp_json_loader *l, const struct rp_json_value *kernel,
                      struct rp_err *err)
{
    static const struct rp_json_field fields[] = {
        {"kernel_id", RP_JSON_REQUIRED},
        {"code_object_id", RP_JSON_OR_NULL},
        {"kernel_object", RP_JSON_OR_NULL | RP_JSON_ALL_BITS},
        {"kernarg_segment_size", RP_JSON_OR_NULL},
        {"kernarg_segment_alignment", RP_JSON_OR_NULL},
        {"group_segment_size", RP_JSON_OR_NULL},
        {"private_segment_size", RP_JSON_OR_NULL},
        {"sgpr_count", RP_JSON_OR_NULL},
        {"arch_vgpr_count", RP_JSON_OR_NULL},
        {"accum_vgpr_count", RP_JSON_OR_NULL},
    };
    static const char *const names[] = {"formatted_kernel_name", "demangled_kernel_name",
                                        "kernel_name"};
    const char *texts[] = {rp_json_text(kernel, "kernel_name"), NULL};
    int64_t v[10];
    int result = rp_json_numbers(kernel, fields, 10, v, err);

    if (result < 0 || (v[0] == 0 && v[1] <= 0)) /* Id 0 only fills its place. */
        return result;
    for (size_t i = 0; i < 3 && !texts[1]; i++)
        texts[1] = rp_json_text(kernel, names[i]);
    if (!texts[1])
        return rp_fail(err, RP_BAD_INPUT, "it has no kernel_name");
    return rp_memdb_run(&l->m,
                        "INSERT INTO rocpd_info_kernel_symbol VALUES"
                        " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                        v, 10, texts, 2, err);
}

/* --- calls ----------------------------------------------------------------------------------- */

static int add_args(struct rp_json_loader *l, int64_t event, const struct rp_json_value *args,
                    struct rp_err *err)
{
    int64_t i = 0;

    if (!args || args->type != RP_JSON_ARRAY)
        return 0;
    for (const struct rp_json_value *arg = rp_json_first(args); arg;
         arg = rp_json_next(args, arg)) {
        const int64_t values[] = {event, i++};
        const char *texts[] = {rp_json_text(arg, "name"), rp_json_text(arg, "value")};
        int result;
        if (!texts[0])
            continue;
        result = rp_memdb_run(&l->m,
                              "INSERT INTO rocpd_arg (event_id, position, name, value)"
                              " VALUES (?1, ?2, ?3, ?4)",
                              values, 2, texts, 2, err);
        if (result < 0)
            return result;
    }
    return 0;
}

enum { THREAD, START, END, CALL, ANCESTOR, CALL_FIELDS };

static const struct rp_json_field call_fields[] = {
    [THREAD] = {"thread_id", RP_JSON_OR_0},
    [START] = {"start_timestamp", RP_JSON_REQUIRED},
    [END] = {"end_timestamp", RP_JSON_REQUIRED},
    [CALL] = {"correlation_id.internal", RP_JSON_OR_0},
    [ANCESTOR] = {"correlation_id.ancestor", RP_JSON_OR_NULL}, /* This key exists since 7.0. */
};

static int note_orphan(struct rp_json_loader *l, const int64_t v[CALL_FIELDS], int64_t event,
                       struct rp_err *err)
{
    const struct rp_call call = {.thread = v[THREAD],
                                 .start_ns = v[START],
                                 .end_ns = v[END],
                                 .correlation = v[CALL],
                                 .event = event};

    return v[ANCESTOR] != INT64_MIN || rp_vec_push(&l->orphans, call) == 0 ? 0
                                                                           : rp_out_of_memory(err);
}

static int put_call(struct rp_json_loader *l, const struct rp_json_value *record,
                    const int64_t v[CALL_FIELDS], const char *extdata, struct rp_err *err)
{
    int64_t row[6] = {++l->regions, v[THREAD], v[START], v[END]};
    int result = string_of(l, record, &row[4], err);

    if (result == 0)
        result = add_event(l, v[CALL], v[ANCESTOR], extdata, &row[5], err);
    if (result == 0)
        result = note_orphan(l, v, row[5], err);
    if (result == 0)
        result = rp_memdb_run(&l->m, "INSERT INTO rocpd_region VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                              row, 6, NULL, 0, err);
    return result < 0 ? result : add_args(l, row[5], rp_json_at(record, "args"), err);
}

static int add_call(struct rp_json_loader *l, const struct rp_json_value *record,
                    struct rp_err *err)
{
    int64_t v[CALL_FIELDS];
    int result = rp_json_numbers(record, call_fields, CALL_FIELDS, v, err);

    return result < 0 ? result : put_call(l, record, v, NULL, err);
}

/* Writes {"message": ...} as rocpd has it. NULL: there is none. */
static int message_of(struct rp_json_loader *l, int64_t call, char **ret, struct rp_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = rp_memdb_statement(
        &l->m, "SELECT json_object('message', text) FROM message WHERE id = ?1", &stmt, err);
    const char *text = NULL;

    if (result < 0)
        return result;
    sqlite3_bind_int64(stmt, 1, call);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(stmt, 0);
    *ret = text ? strdup(text) : NULL;
    sqlite3_reset(stmt);
    return text && !*ret ? rp_out_of_memory(err) : 0;
}

/* A mark has no length; it is no range, and rocprofv3 does not put it among the regions. */
static int add_marker(struct rp_json_loader *l, const struct rp_json_value *record,
                      struct rp_err *err)
{
    rp_autofree char *message = NULL;
    int64_t v[CALL_FIELDS];
    int result = rp_json_numbers(record, call_fields, CALL_FIELDS, v, err);

    if (result < 0 || v[START] == v[END])
        return result;
    result = message_of(l, v[CALL], &message, err);
    return result < 0 ? result : put_call(l, record, v, message, err);
}

/* --- kernels and copies ---------------------------------------------------------------------- */

#define DISPATCH_FIELDS(at)                                                                        \
    {at "dispatch_info.dispatch_id", RP_JSON_REQUIRED}, {at "start_timestamp", RP_JSON_REQUIRED},  \
        {at "end_timestamp", RP_JSON_REQUIRED}, {at "dispatch_info.kernel_id", RP_JSON_REQUIRED},  \
        {at "dispatch_info.queue_id", RP_JSON_OR_NULL},                                            \
        {at "dispatch_info.private_segment_size", RP_JSON_OR_NULL},                                \
        {at "dispatch_info.group_segment_size", RP_JSON_OR_NULL},                                  \
        {at "dispatch_info.workgroup_size.x", RP_JSON_OR_0},                                       \
        {at "dispatch_info.workgroup_size.y", RP_JSON_OR_0},                                       \
        {at "dispatch_info.workgroup_size.z", RP_JSON_OR_0},                                       \
        {at "dispatch_info.grid_size.x", RP_JSON_OR_0},                                            \
        {at "dispatch_info.grid_size.y", RP_JSON_OR_0},                                            \
        {at "dispatch_info.grid_size.z", RP_JSON_OR_0}, {"thread_id", RP_JSON_OR_0},               \
        {"stream_id", RP_JSON_OR_0},                                                               \
    {                                                                                              \
        at "correlation_id.internal", RP_JSON_OR_0                                                 \
    }

enum { ROW_FIELDS = 15, DISPATCH_CALL = 15, DISPATCH_COLUMNS = 17 };

/* Adds kernels that were traced, and those that were only counted. */
static int put_dispatch(struct rp_json_loader *l, const struct rp_json_value *record,
                        const struct rp_json_field *fields, const char *agent, struct rp_err *err)
{
    int64_t v[DISPATCH_COLUMNS];
    int result = rp_json_numbers(record, fields, ROW_FIELDS + 1, v, err);

    if (result == 0)
        result = add_event(l, v[DISPATCH_CALL], v[DISPATCH_CALL], NULL, &v[ROW_FIELDS], err);
    if (result == 0)
        result = agent_id(l, record, agent, &v[ROW_FIELDS + 1], err);
    if (result < 0)
        return result;
    return rp_memdb_run(&l->m,
                        "INSERT INTO rocpd_kernel_dispatch (id, dispatch_id, start, end, kernel_id,"
                        " queue_id, private_segment_size, group_segment_size, workgroup_size_x,"
                        " workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y,"
                        " grid_size_z, tid, stream_id, event_id, agent_id) VALUES (?1, ?1, ?2, ?3,"
                        " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
                        v, DISPATCH_COLUMNS, NULL, 0, err);
}

static int add_dispatch(struct rp_json_loader *l, const struct rp_json_value *record,
                        struct rp_err *err)
{
    static const struct rp_json_field fields[] = {DISPATCH_FIELDS("")};

    return put_dispatch(l, record, fields, "dispatch_info.agent_id", err);
}

/* Returns the event of a dispatch; 0: there is no such dispatch */
static int event_of(struct rp_json_loader *l, int64_t dispatch, int64_t *ret, struct rp_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = rp_memdb_statement(
        &l->m, "SELECT event_id FROM rocpd_kernel_dispatch WHERE id = ?1", &stmt, err);

    if (result < 0)
        return result;
    sqlite3_bind_int64(stmt, 1, dispatch);
    *ret = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
    sqlite3_reset(stmt);
    return 0;
}

static int put_value(struct rp_json_loader *l, int64_t event, const struct rp_json_value *value,
                     struct rp_err *err)
{
    const struct rp_json_value *number = rp_json_at(value, "value");
    sqlite3_stmt *stmt = NULL;
    int64_t counter;
    double counted;
    int result = rp_json_required(value, "counter_id", &counter, err), done;

    if (result == 0)
        result = rp_memdb_statement(&l->m,
                                    "INSERT INTO rocpd_pmc_event (event_id, pmc_id, value)"
                                    " VALUES (?1, ?2, ?3)",
                                    &stmt, err);
    if (result < 0 || !number) /* A value that is not a number is not known. */
        return result;
    if (!rp_json_real(number, &counted))
        return rp_fail(err, RP_BAD_INPUT, "its records have a value that is no number");
    sqlite3_bind_int64(stmt, 1, event);
    sqlite3_bind_int64(stmt, 2, counter);
    sqlite3_bind_double(stmt, 3, counted);
    done = sqlite3_step(stmt);
    if (done != SQLITE_DONE)
        result = rp_sql_fail(l->m.db, done, err);
    sqlite3_reset(stmt);
    return result;
}

static int add_counted(struct rp_json_loader *l, const struct rp_json_value *record,
                       struct rp_err *err)
{
    static const struct rp_json_field fields[] = {DISPATCH_FIELDS("dispatch_data.")};
    const struct rp_json_value *values = rp_json_at(record, "records");
    int64_t dispatch, event = 0;
    int result = rp_json_required(record, fields[0].path, &dispatch, err);

    if (result == 0)
        result = event_of(l, dispatch, &event, err);
    if (result == 0 && event == 0) {
        result = put_dispatch(l, record, fields, "dispatch_data.dispatch_info.agent_id", err);
        event = l->m.events;
    }
    if (!values || values->type != RP_JSON_ARRAY)
        return result;
    for (const struct rp_json_value *value = rp_json_first(values); value && result == 0;
         value = rp_json_next(values, value))
        result = put_value(l, event, value, err);
    return result;
}

static int add_copy(struct rp_json_loader *l, const struct rp_json_value *record,
                    struct rp_err *err)
{
    static const struct rp_json_field fields[] = {
        {"start_timestamp", RP_JSON_REQUIRED},
        {"end_timestamp", RP_JSON_REQUIRED},
        {"bytes", RP_JSON_OR_NULL},
        {"stream_id", RP_JSON_OR_0},
        {"thread_id", RP_JSON_OR_0},
        {"dst_address", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
        {"src_address", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
        {"correlation_id.internal", RP_JSON_OR_0},
    };
    int64_t v[12];
    int result = rp_json_numbers(record, fields, 8, v, err);

    if (result == 0)
        result = add_event(l, v[7], v[7], NULL, &v[7], err);
    if (result == 0)
        result = agent_id(l, record, "dst_agent_id", &v[8], err);
    if (result == 0)
        result = agent_id(l, record, "src_agent_id", &v[9], err);
    if (result == 0)
        result = string_of(l, record, &v[10], err);
    if (result < 0)
        return result;
    v[2] = v[2] == INT64_MIN ? -1 : v[2];
    v[11] = ++l->copies;
    return rp_memdb_run(&l->m,
                        "INSERT INTO rocpd_memory_copy (start, end, size, stream_id, tid,"
                        " dst_address, src_address, event_id, dst_agent_id, src_agent_id, name_id,"
                        " id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                        v, 12, NULL, 0, err);
}

/* --- samples ------------------------------------------------------------------------------- */

/* Names the instruction; -1 is one that rocprofv3 could not decode. */
static int name_sample(const struct rp_json_loader *l, int64_t index, struct rp_memdb_sample *ret,
                       struct rp_err *err)
{
    if (index < -1 || index >= (int64_t)l->isa.count)
        return rp_fail(err, RP_BAD_INPUT,
                       "inst_index is %" PRId64 ", and there are %zu instructions", index,
                       l->isa.count);
    ret->isa = index < 0 ? "" : l->isa.items[index];
    ret->comment = index >= 0 && index < (int64_t)l->comments.count ? l->comments.items[index] : "";
    return 0;
}

static int read_sample(const struct rp_json_loader *l, const struct rp_json_value *record,
                       struct rp_memdb_sample *ret, struct rp_err *err)
{
    static const struct rp_json_field fields[] = {
        {"record.dispatch_id", RP_JSON_REQUIRED},
        {"record.exec_mask", RP_JSON_REQUIRED | RP_JSON_ALL_BITS},
        {"inst_index", RP_JSON_REQUIRED},
        {"record.pc.code_object_id", RP_JSON_OR_0},
        {"record.pc.code_object_offset", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
    };
    int64_t v[5];
    int result = rp_json_numbers(record, fields, 5, v, err);

    if (result < 0)
        return result;
    *ret = (struct rp_memdb_sample){.dispatch = v[0],
                                    .exec_mask = (uint64_t)v[1],
                                    .issued = -1,
                                    .code_object = v[3],
                                    .offset = v[4],
                                    .reason = ""};
    return name_sample(l, v[2], ret, err);
}

static int add_trap(struct rp_json_loader *l, const struct rp_json_value *record,
                    struct rp_err *err)
{
    struct rp_memdb_sample sample;
    int result = read_sample(l, record, &sample, err);

    return result < 0 ? result : rp_memdb_add_sample(&l->m, &sample, err);
}

static int add_snapshot(struct rp_json_loader *l, const struct rp_json_value *record,
                        struct rp_err *err)
{
    const struct rp_json_value *issued = rp_json_at(record, "record.wave_issued");
    const char *reason = rp_json_text(record, "record.snapshot.stall_reason");
    struct rp_memdb_sample sample;
    int result = read_sample(l, record, &sample, err);

    if (result < 0)
        return result;
    sample.stochastic = true;
    sample.reason = reason ? reason : "";
    if (issued && (issued->type == RP_JSON_INTEGER || issued->type == RP_JSON_BOOLEAN))
        sample.issued = issued->integer;
    if (sample.issued != 0 && sample.issued != 1)
        return rp_fail(err, RP_BAD_INPUT, "record.wave_issued is neither 0 nor 1");
    return rp_memdb_add_sample(&l->m, &sample, err);
}

/* --- the whole ------------------------------------------------------------------------------- */

static const struct rp_json_section rp_json_sections[RP_JSON_SECTIONS] = {
#define SECTION(path, function, kind) {path, function, kind},
#include "trace/json_sections.def"
#undef SECTION
};

/** This part runs behind the last record. */
/* Files from before 7.0 do not say which call made another, so times must tell. */
static int json_put_parents(struct rp_json_loader *l, struct rp_err *err)
{
    int result = rp_call_list_find_parents(&l->orphans, err);

    for (size_t i = 0; i < l->orphans.count && result == 0; i++) {
        const int64_t values[] = {l->orphans.items[i].parent, l->orphans.items[i].event};
        result = rp_memdb_run(&l->m, "UPDATE rocpd_event SET parent_stack_id = ?1 WHERE id = ?2",
                              values, 2, NULL, 0, err);
    }
    return result;
}

/* The JSON that rocprofv3 writes (--output-format json) becomes the rows that it would have
 * written to a rocpd database. The file's parts are not in the order in which they are needed, so
 * a first pass finds them, and then they are read in that order. Only one record at a time is in
 * memory as JSON; the rows are in a temporary database that may spill to the disk.
 */

static const char root[] = "rocprofiler-sdk-tool";

struct file {
    struct rp_json_loader rows;
    struct rp_json_stream cut;
    struct rp_json_record record;
};

/* This says where the sections of one process are; 0: it has none */
struct places {
    uint64_t at[RP_JSON_SECTIONS];
    const char *wanted; /**< the search ends at this section if it has a record; NULL: never */
};

static void note_place(struct file *f, const char *group, const char *key, struct places *places)
{
    size_t len = strlen(group);

    for (size_t i = 0; i < RP_JSON_SECTIONS; i++)
        if (strncmp(rp_json_sections[i].path, group, len) == 0 &&
            strcmp(rp_json_sections[i].path + len, key) == 0)
            places->at[i] = rp_json_stream_offset(&f->cut);
}

static bool is_wanted(const char *group, const char *key, const char *wanted)
{
    const size_t len = strlen(group);

    return wanted && strncmp(wanted, group, len) == 0 && strcmp(wanted + len, key) == 0;
}

/* @return 1; 0: there is none, and what is there was read */
static int enter_records(struct file *f, char first, struct rp_err *err)
{
    int result;

    if (first == '{')
        return 1;
    if (first != '[')
        return rp_json_stream_value(&f->cut, NULL, err);
    result = rp_json_stream_enter(&f->cut, '[', err);
    return result < 0 ? result : rp_json_stream_next(&f->cut, ']', true, err);
}

static bool is_group(const char *key)
{
    return strcmp(key, "strings") == 0 || strcmp(key, "buffer_records") == 0 ||
           strcmp(key, "callback_records") == 0;
}

/* Reads an object: of the process, or of a group of sections within it ("strings."). @return 1: at
 * the wanted section; 0: behind the object
 */
static int find_places(struct file *f, const char *group, struct places *places, struct rp_err *err)
{
    char key[RP_JSON_KEY_BYTES], first;
    int result = rp_json_stream_enter(&f->cut, '{', err);

    for (bool begin = true; result >= 0; begin = false) {
        result = rp_json_stream_next(&f->cut, '}', begin, err);
        if (result <= 0)
            break;
        result = rp_json_stream_key(&f->cut, key, err);
        if (result == 0)
            result = rp_json_stream_peek(&f->cut, &first, err);
        if (result < 0)
            break;
        if (!*group && first == '{' && is_group(key)) {
            rp_autofree char *inner = rp_format("%s.", key);
            result = inner ? find_places(f, inner, places, err) : rp_out_of_memory(err);
        } else {
            note_place(f, group, key, places);
            result = is_wanted(group, key, places->wanted)
                         ? enter_records(f, first, err)
                         : rp_json_stream_value(&f->cut, NULL, err);
        }
        if (result > 0)
            break;
    }
    return result;
}

/* Reads a record that is not plain, or is wanted as it is. */
static int read_odd_record(struct file *f, const struct rp_json_section *section,
                           struct rp_err *err)
{
    const struct rp_buf *text;
    json_t *record;
    int result = rp_json_stream_value(&f->cut, &text, err);

    if (result < 0)
        return result;
    record = rp_json_parse(text, err);
    if (!record)
        return -(int)err->code;
    if (section->kind == TEXT ? !json_is_string(record) : !json_is_object(record))
        result =
            rp_fail(err, RP_BAD_INPUT, section->kind == TEXT ? "it is no text" : "it is no object");
    else if (!rp_json_copy(&f->record, record))
        result = rp_out_of_memory(err);
    f->rows.whole = record;
    if (result == 0)
        result = section->add(&f->rows, f->record.values, err);
    f->rows.whole = NULL;
    json_decref(record);
    return result;
}

static int read_record(struct file *f, const struct rp_json_section *section, struct rp_err *err)
{
    char first;
    int result = rp_json_stream_peek(&f->cut, &first, err);

    if (result < 0)
        return result;
    if (section->kind == PLAIN && first == '{' && rp_json_stream_record(&f->cut, &f->record))
        return section->add(&f->rows, f->record.values, err);
    return read_odd_record(f, section, err);
}

static int read_section(struct file *f, const struct rp_json_section *section, uint64_t offset,
                        struct rp_err *err)
{
    char first;
    int result;

    rp_json_stream_seek(&f->cut, offset);
    result = rp_json_stream_peek(&f->cut, &first, err);
    if (result == 0 && first == '{') {
        result = read_record(f, section, err);
        return result < 0 ? rp_wrap(err, "%s", section->path) : 0;
    }
    if (result == 0)
        result = rp_json_stream_enter(&f->cut, '[', err);
    for (uint64_t n = 0; result >= 0; n++) {
        result = rp_json_stream_next(&f->cut, ']', n == 0, err);
        if (result <= 0)
            break;
        result = read_record(f, section, err);
        if (result < 0)
            return rp_wrap(err, "%s[%" PRIu64 "]", section->path, n);
    }
    return result < 0 ? rp_wrap(err, "%s", section->path) : 0;
}

/* Checks that nothing follows the value of the first key, as it would be lost unseen. */
static int expect_end(struct file *f, struct rp_err *err)
{
    char key[RP_JSON_KEY_BYTES], next;
    int result;

    while ((result = rp_json_stream_next(&f->cut, '}', false, err)) > 0) {
        result = rp_json_stream_key(&f->cut, key, err);
        if (result == 0 && strcmp(key, root) == 0)
            result = rp_fail(err, RP_BAD_INPUT, "it has \"%s\" twice", root);
        if (result == 0)
            result = rp_json_stream_value(&f->cut, NULL, err);
        if (result < 0)
            return result;
    }
    if (result == 0)
        result = rp_json_stream_peek(&f->cut, &next, err);
    if (result == 0 && rp_json_stream_offset(&f->cut) < f->cut.size_bytes)
        result = rp_fail(err, RP_BAD_INPUT,
                         "its document ends before byte %" PRIu64 ", but the file goes on to byte"
                         " %" PRIu64 ": it is damaged, or several files are in one",
                         rp_json_stream_offset(&f->cut) + 1, f->cut.size_bytes);
    return result;
}

static int not_of_rocprofv3(struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "it is JSON, but does not begin with {\"%s\": is it of rocprofv3?", root);
}

/* Goes into the document, to the value of its first key. */
static int enter_document(struct file *f, struct rp_err *err)
{
    char key[RP_JSON_KEY_BYTES], first;
    int result = rp_json_stream_peek(&f->cut, &first, err);

    if (result < 0)
        return result;
    if (rp_json_stream_offset(&f->cut) == f->cut.size_bytes)
        return rp_fail(err, RP_BAD_INPUT, "it is empty: there is no JSON in it");
    if (first == '\0' || (first & 0x80))
        return rp_fail(err, RP_BAD_INPUT,
                       "it is not JSON: it begins with the byte 0x%02x, as of a byte order mark or"
                       " of UTF-16; rocprofv3 writes UTF-8 without a mark",
                       (unsigned char)first);
    if (first == '[')
        return not_of_rocprofv3(err);
    result = rp_json_stream_enter(&f->cut, '{', err);
    if (result == 0)
        result = rp_json_stream_peek(&f->cut, &first, err);
    if (result == 0 && first == '}')
        return not_of_rocprofv3(err);
    if (result == 0)
        result = rp_json_stream_key(&f->cut, key, err);
    return result == 0 && strcmp(key, root) != 0 ? not_of_rocprofv3(err) : result;
}

/* Goes to the process of that number; if there are not so many, to the end of the file.
 * @return as rp_json_stream_next; 0: there are not so many */
static int go_to_process(struct file *f, size_t process, struct rp_err *err)
{
    char first = '\0';
    int result = enter_document(f, err);

    if (result == 0)
        result = rp_json_stream_peek(&f->cut, &first, err);
    if (result < 0)
        return result;
    if (first == '{' && process == 0)
        return 1;
    if (first == '{') {
        result = rp_json_stream_value(&f->cut, NULL, err);
        return result < 0 ? result : expect_end(f, err);
    }
    result = rp_json_stream_enter(&f->cut, '[', err);
    for (size_t i = 0; result >= 0; i++) {
        result = rp_json_stream_next(&f->cut, ']', i == 0, err);
        if (result <= 0 || i == process)
            break;
        result = rp_json_stream_value(&f->cut, NULL, err);
    }
    return result == 0 ? expect_end(f, err) : result;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* These are the tables of rocpd, with the columns that the JSON has values for. */
static const char tables[] =
    /* Up to 256 MB stay in memory, and the rest goes to the disk. */
    "PRAGMA journal_mode = OFF; PRAGMA cache_size = -262144;"
    "CREATE TABLE message (id INTEGER PRIMARY KEY, text TEXT);"
    "CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
    "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);"
    "CREATE TABLE rocpd_info_node (id INTEGER PRIMARY KEY, machine_id TEXT, hostname TEXT);"
    "CREATE TABLE rocpd_info_process (id INTEGER PRIMARY KEY, pid, init, fini, start, end,"
    " command TEXT, extdata TEXT);"
    "CREATE TABLE rocpd_info_agent (id INTEGER PRIMARY KEY, type, absolute_index,"
    " logical_index, type_index, uuid, name TEXT, model_name TEXT, vendor_name TEXT,"
    " product_name TEXT, user_name TEXT, extdata TEXT);"
    "CREATE TABLE rocpd_info_thread (id INTEGER PRIMARY KEY, tid);"
    "CREATE TABLE rocpd_info_queue (id INTEGER PRIMARY KEY, name);"
    "CREATE TABLE rocpd_info_stream (id INTEGER PRIMARY KEY, name);"
    "CREATE TABLE rocpd_info_pmc (id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE rocpd_info_code_object (id INTEGER PRIMARY KEY, load_base, load_size,"
    " load_delta, agent_id, uri TEXT);"
    "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, code_object_id, kernel_object,"
    " kernarg_segment_size, kernarg_segment_alignment, group_segment_size, private_segment_size,"
    " sgpr_count, arch_vgpr_count, accum_vgpr_count, kernel_name TEXT, display_name TEXT);"
    "CREATE TABLE rocpd_event (id INTEGER PRIMARY KEY, stack_id, parent_stack_id, extdata TEXT);"
    "CREATE TABLE rocpd_arg (id INTEGER PRIMARY KEY, event_id, position, name TEXT, value TEXT);"
    "CREATE TABLE rocpd_pmc_event (id INTEGER PRIMARY KEY, event_id, pmc_id, value REAL);"
    "CREATE TABLE rocpd_region (id INTEGER PRIMARY KEY, tid, start, end, name_id, event_id);"
    "CREATE TABLE rocpd_kernel_dispatch (id INTEGER PRIMARY KEY, tid, agent_id,"
    " kernel_id, dispatch_id, queue_id, stream_id, start, end, private_segment_size,"
    " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x,"
    " grid_size_y, grid_size_z, event_id);"
    "CREATE TABLE rocpd_memory_copy (id INTEGER PRIMARY KEY, tid, start, end, name_id,"
    " dst_agent_id, dst_address, src_agent_id, src_address, size, stream_id, "
    "event_id);" RP_MEMDB_SAMPLE_TABLES "BEGIN";

static const char rest[] = RP_MEMDB_SAMPLE_ROWS
    "INSERT INTO rocpd_info_thread SELECT tid, tid FROM (SELECT tid FROM rocpd_region UNION"
    " SELECT tid FROM rocpd_kernel_dispatch UNION SELECT tid FROM rocpd_memory_copy);"
    "INSERT INTO rocpd_info_queue SELECT DISTINCT queue_id, NULL FROM rocpd_kernel_dispatch"
    " WHERE queue_id IS NOT NULL;"
    "INSERT INTO rocpd_info_stream SELECT id, NULL FROM (SELECT stream_id AS id FROM"
    " rocpd_kernel_dispatch UNION SELECT stream_id FROM rocpd_memory_copy) WHERE id IS NOT NULL;"
    "INSERT OR IGNORE INTO rocpd_info_process (id, pid) VALUES (1, 0);"
    "COMMIT";

/* @return 1; 0: there is no such process */
static int read_all(struct file *f, const char *path, size_t process, struct rp_err *err)
{
    struct places places = {0};
    int result = rp_json_stream_open(&f->cut, path, 0, err), found = 0;

    if (result == 0)
        result = found = go_to_process(f, process, err);
    if (result <= 0)
        return result;
    result = find_places(f, "", &places, err);
    if (result == 0)
        result = rp_memdb_begin(&f->rows.m, "", tables, err);
    for (size_t i = 0; i < RP_JSON_SECTIONS && result == 0; i++)
        if (places.at[i])
            result = read_section(f, &rp_json_sections[i], places.at[i], err);
    if (result == 0)
        result = json_put_parents(&f->rows, err);
    if (result == 0)
        result = rp_sql_exec(f->rows.m.db, rest, err);
    return result < 0 ? result : found;
}

static void end_load(struct file *f)
{
    rp_memdb_end(&f->rows.m);
    rp_json_stream_close(&f->cut);
    rp_vec_free(&f->rows.orphans);
    for (size_t i = 0; i < f->rows.isa.count; i++)
        free(f->rows.isa.items[i]);
    for (size_t i = 0; i < f->rows.comments.count; i++)
        free(f->rows.comments.items[i]);
    rp_vec_free(&f->rows.isa);
    rp_vec_free(&f->rows.comments);
    for (size_t i = 0; i < f->rows.kind_count; i++)
        json_decref(f->rows.kinds[i]);
    rp_json_record_free(&f->record);
    free(f->rows.kinds);
    free(f->rows.agents);
    free(f);
}

int rp_store_open_json(const char *path, size_t process, struct rp_store **ret, struct rp_err *err)
{
    rp_autofree char *name = process ? rp_format("%s#%zu", path, process + 1) : strdup(path);
    struct file *f = calloc(1, sizeof *f);
    uint64_t bytes;
    sqlite3 *db;
    int result;

    if (!f || !name) {
        free(f);
        return rp_out_of_memory(err);
    }
    f->cut.fd = -1;
    result = read_all(f, path, process, err);
    db = f->rows.m.db;
    bytes = f->cut.size_bytes;
    end_load(f);
    if (result > 0)
        return rp_store_adopt(db, name, strlen(name), bytes, ret, err);
    sqlite3_close(db);
    if (result < 0)
        return rp_wrap(err, "read trace %s", path);
    if (process == 0)
        return rp_fail(err, RP_BAD_INPUT, "read trace %s: it holds no process", path);
    *ret = NULL;
    return 0;
}

bool rp_json_has_records(const char *path, const char *section)
{
    int process_found = 1, found = 0;

    for (size_t process = 0; process_found > 0 && found == 0; process++) {
        struct file *f = calloc(1, sizeof *f);
        struct places places = {.wanted = section};
        struct rp_err err = RP_ERR_INIT;

        if (!f)
            return false;
        f->cut.fd = -1;
        process_found = rp_json_stream_open(&f->cut, path, 0, &err);
        if (process_found == 0)
            process_found = go_to_process(f, process, &err);
        if (process_found > 0)
            found = find_places(f, "", &places, &err);
        end_load(f);
    }
    return found > 0;
}

/* Keys and white space before the first record take less than this. */
enum { PEEK_BYTES = 1 << 20 };

/* Skips to the first key of the first process. */
static bool begins_with(struct rp_json_stream *cut, bool of_process)
{
    char key[RP_JSON_KEY_BYTES], first;
    struct rp_err err = RP_ERR_INIT;

    if (rp_json_stream_enter(cut, '{', &err) < 0 || rp_json_stream_key(cut, key, &err) < 0 ||
        strcmp(key, root) != 0)
        return false;
    if (!of_process)
        return true;
    if (rp_json_stream_peek(cut, &first, &err) < 0 ||
        (first == '[' && rp_json_stream_enter(cut, '[', &err) < 0))
        return false;
    return rp_json_stream_enter(cut, '{', &err) == 0 && rp_json_stream_key(cut, key, &err) == 0 &&
           strcmp(key, "metadata") == 0;
}

bool rp_store_is_json(const char *path, bool of_process)
{
    struct rp_json_stream *cut = calloc(1, sizeof *cut);
    struct rp_err err = RP_ERR_INIT;
    bool is;

    if (!cut)
        return false;
    cut->fd = -1;
    is = rp_json_stream_open(cut, path, PEEK_BYTES, &err) == 0 && begins_with(cut, of_process);
    rp_json_stream_close(cut);
    free(cut);
    return is;
}

bool rp_store_is_named_json(const char *path)
{
    static const char name[] = "results.json";
    struct rp_json_stream *cut = calloc(1, sizeof *cut);
    struct rp_err err = RP_ERR_INIT;
    char first;
    bool is = false;

    if (!cut)
        return false;
    cut->fd = -1;
    if (rp_gzip_name_ends_with(path, name))
        is = rp_json_stream_open(cut, path, PEEK_BYTES, &err) == 0 &&
             rp_json_stream_peek(cut, &first, &err) == 0 &&
             first != 'S'; /* "SQLite format 3" begins a database with another name. */
    rp_json_stream_close(cut);
    free(cut);
    return is;
}

int rp_json_stream_open(struct rp_json_stream *cut, const char *path, uint64_t peek,
                        struct rp_err *err)
{
    struct stat st;
    int result = rp_gzip_open(path, peek, &cut->fd, err);

    if (result < 0)
        return result;
    if (fstat(cut->fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read it");
    cut->size_bytes = (uint64_t)st.st_size;
    return 0;
}
