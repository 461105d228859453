#include "store/json_rows.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "store/json_fields.h"
#include "store/sqlerr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- names and ids -------------------------------------------------------------------------- */

/* What the record is of: "hipLaunchKernel", "MEMORY_COPY_HOST_TO_DEVICE". */
static int operation_name(struct rp_json_loader *l, const struct rp_json_value *record,
                          const char **ret, struct rp_err *err)
{
    static const struct rp_json_field fields[] = {{"kind", RP_JSON_NEEDED},
                                                  {"operation", RP_JSON_NEEDED}};
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

/* The node that stands for an agent elsewhere; a handle that is not there stays NULL. */
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

/* The words of the command line. */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    struct rp_json_agent *grown = reallocarray(l->agents, l->agent_count + 1, sizeof *grown);

    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    l->agents = grown;
    grown[l->agent_count++] = (struct rp_json_agent){handle, id};
    return 0;
}

enum { AGENT_TYPE_GPU = 2 }; /* rocprofiler_agent_type_t; 1 is a CPU */

static int add_agent(struct rp_json_loader *l, const struct rp_json_value *agent,
                     struct rp_err *err)
{
    static const struct rp_json_field fields[] = {{"node_id", RP_JSON_NEEDED},
                                                  {"logical_node_id", RP_JSON_OR_0},
                                                  {"logical_node_type_id", RP_JSON_OR_0},
                                                  {"device_id", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
                                                  {"id", RP_JSON_NEEDED | RP_JSON_ALL_BITS},
                                                  {"type", RP_JSON_NEEDED}};
    rp_autofree char *extdata = json_dumps(l->whole, JSON_COMPACT);
    int64_t v[6];
    int result = extdata ? rp_json_numbers(agent, fields, 6, v, err)
                         : rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    json_t **grown = reallocarray(l->kinds, l->kind_count + 1, sizeof *grown);

    (void)kind;
    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    l->kinds = grown;
    grown[l->kind_count++] = json_incref((json_t *)l->whole);
    return 0;
}

/* Texts of ROCTx by the correlation id of the call. */
static int add_message(struct rp_json_loader *l, const struct rp_json_value *message,
                       struct rp_err *err)
{
    const char *text = rp_json_text(message, "value");
    int64_t key;
    int result = rp_json_needed(message, "key", &key, err);

    return result < 0 ? result
                      : rp_memdb_run(&l->m, "INSERT OR REPLACE INTO message VALUES (?1, ?2)", &key,
                                     1, &text, 1, err);
}

static int add_counter(struct rp_json_loader *l, const struct rp_json_value *counter,
                       struct rp_err *err)
{
    const char *name = rp_json_text(counter, "name");
    int64_t id;
    int result = rp_json_needed(counter, "id", &id, err);

    if (result < 0)
        return result;
    if (!name)
        return rp_fail(err, RP_BAD_INPUT, "it has no name");
    return rp_memdb_run(&l->m, "INSERT OR IGNORE INTO rocpd_info_pmc VALUES (?1, ?2)", &id, 1,
                        &name, 1, err); /* every GPU lists it */
}

static int add_code_object(struct rp_json_loader *l, const struct rp_json_value *object,
                           struct rp_err *err)
{
    static const struct rp_json_field fields[] = {{"code_object_id", RP_JSON_NEEDED},
                                                  {"load_base", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
                                                  {"load_size", RP_JSON_OR_0},
                                                  {"load_delta", RP_JSON_OR_0 | RP_JSON_ALL_BITS},
                                                  {"size", RP_JSON_OR_NULL}};
    /* rocp_agent until 6.4 */
    const char *agent = rp_json_at(object, "agent_id") ? "agent_id" : "rocp_agent";
    const char *uri = rp_json_text(object, "uri");
    int64_t v[5];
    int result = rp_json_numbers(object, fields, 5, v, err);

    if (result < 0 || v[4] == 0) /* the place of id 0 */
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
        {"kernel_id", RP_JSON_NEEDED},
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

    if (result < 0 || (v[0] == 0 && v[1] <= 0)) /* the place of id 0 */
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
    [START] = {"start_timestamp", RP_JSON_NEEDED},
    [END] = {"end_timestamp", RP_JSON_NEEDED},
    [CALL] = {"correlation_id.internal", RP_JSON_OR_0},
    [ANCESTOR] = {"correlation_id.ancestor", RP_JSON_OR_NULL}, /* from 7.0 */
};

static int note_orphan(struct rp_json_loader *l, const int64_t v[CALL_FIELDS], int64_t event,
                       struct rp_err *err)
{
    const struct rp_call call = {.thread = v[THREAD],
                                 .start_ns = v[START],
                                 .end_ns = v[END],
                                 .correlation = v[CALL],
                                 .event = event};

    return v[ANCESTOR] == INT64_MIN ? rp_calls_add(&l->orphans, &call, err) : 0;
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

/* {"message": ...}, as rocpd has it; NULL: there is none. */
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
    return text && !*ret ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
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
    {at "dispatch_info.dispatch_id", RP_JSON_NEEDED}, {at "start_timestamp", RP_JSON_NEEDED},      \
        {at "end_timestamp", RP_JSON_NEEDED}, {at "dispatch_info.kernel_id", RP_JSON_NEEDED},      \
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

/* Traced kernels, and those that were only counted. */
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

/* The event of a dispatch; 0: there is no such dispatch. */
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
    int result = rp_json_needed(value, "counter_id", &counter, err), done;

    if (result == 0)
        result = rp_memdb_statement(&l->m,
                                    "INSERT INTO rocpd_pmc_event (event_id, pmc_id, value)"
                                    " VALUES (?1, ?2, ?3)",
                                    &stmt, err);
    if (result < 0 || !number) /* not a number: not known */
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
    int result = rp_json_needed(record, fields[0].path, &dispatch, err);

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
        {"start_timestamp", RP_JSON_NEEDED},
        {"end_timestamp", RP_JSON_NEEDED},
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

/* --- the whole ------------------------------------------------------------------------------- */

const struct rp_json_section rp_json_sections[RP_JSON_SECTIONS] = {
#define SECTION(path, function, whole) {path, function, whole},
#include "store/json_sections.def"
#undef SECTION
};

/* Files of before 7.0 do not say which call made another. */
int rp_json_put_parents(struct rp_json_loader *l, struct rp_err *err)
{
    int result = rp_calls_nest(&l->orphans, err);

    for (size_t i = 0; i < l->orphans.count && result == 0; i++) {
        const int64_t values[] = {l->orphans.at[i].parent, l->orphans.at[i].event};
        result = rp_memdb_run(&l->m, "UPDATE rocpd_event SET parent_stack_id = ?1 WHERE id = ?2",
                              values, 2, NULL, 0, err);
    }
    return result;
}
