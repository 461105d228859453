#include "trace/csv_trace.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "trace/counter_set.h"
#include "trace/csv_read.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"
#include "trace/rocpd_schema.h"

/* Users arrive with results of these tools. Each row names the tool's file and says what to do
 * instead.
 */

#define AGAIN     "record the program with rocm-perf profile or rocprofv3"
#define ROCPROFV2 "a result of rocprofv2, which is not read: " AGAIN
#define ATT_V2    "a thread trace of rocprofv2, which is not read: record it with rocprofv3 --att"

static const struct {
    const char *pattern; /**< of the file's name, without .gz */
    const char *what;
} by_name[] = {
    {"*.pftrace", "a Perfetto trace, which is not read: add --output-format rocpd to rocprofv3"},
    {"*.otf2", "an OTF2 trace, which is not read: add --output-format rocpd to rocprofv3"},
    {"*.rpd", "an RPD trace (rocpd 2), which is not read: " AGAIN},
    {"*.nsys-rep", "a report of Nsight Systems, for other GPUs"},
    {"*.ncu-rep", "a report of Nsight Compute, for other GPUs"},
    /* Names by rocprofv2's file plugin start with the kind; then follows the number of the process
     * or a name.
     */
    {"results_*.csv", ROCPROFV2},
    {"hip_api_trace_*.csv", ROCPROFV2},
    {"hip_activity_trace_*.csv", ROCPROFV2},
    {"hip_ops_trace_*.csv", ROCPROFV2},
    {"hcc_ops_trace_*.csv", ROCPROFV2},
    {"hsa_api_trace_*.csv", ROCPROFV2},
    {"async_copy_trace_*.csv", ROCPROFV2},
    {"roctx_trace_*.csv", ROCPROFV2},
    {"pcs_*.csv", ROCPROFV2},
    {"*_stats.csv", "statistics of calls, copies or domains, which are not read: give"
                    " *_kernel_stats.csv, or the trace"},
    {"*_kernel.txt", ATT_V2},
    {"*.att", "a thread trace that nothing has decoded: rocprofv3 does if it finds"
              " librocprof-trace-decoder.so (--att-library-path)"},
};

static const char *what_by_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    rp_autofree char *name = strndup(path, rp_gzip_name_length(path));

    for (size_t i = 0; name && i < sizeof by_name / sizeof by_name[0]; i++)
        if (fnmatch(by_name[i].pattern, slash ? name + (slash + 1 - path) : name, 0) == 0)
            return by_name[i].what;
    return NULL;
}

/* Returns the beginning of a file, unpacked. */
static char *head_of(const char *path)
{
    enum { HEAD_BYTES = 65536 };
    rp_autoclose int fd = -1;
    char *head = calloc(1, HEAD_BYTES + 1);
    size_t len = 0;
    ssize_t got = 0;

    if (head && rp_gzip_open(path, HEAD_BYTES, &fd, NULL) == 0)
        while (len < HEAD_BYTES && (got = read(fd, head + len, HEAD_BYTES - len)) > 0)
            len += (size_t)got;
    return head;
}

/* Many tools write Chrome's event format. */
static const char *what_by_events(const char *head)
{
    return strstr(head, "\"traceEvents\"") || strstr(head, "\"ph\"")
               ? "a trace in Chrome's format, as rocprof and other tools write it, which is not"
                 " read, as the PyTorch profiler's alone is: " AGAIN
               : NULL;
}

/* Editors and shells of Windows write such texts. Of UTF-16 without a mark, the first characters
 * have a zero byte each. */
static const char *what_by_encoding(const char *head)
{
    const bool little = (head[0] == '{' || head[0] == '[') && head[1] == 0 && head[2] != 0;
    const bool big = head[0] == 0 && (head[1] == '{' || head[1] == '[');

    if (strncmp(head, "\xef\xbb\xbf", 3) == 0)
        return "text behind a byte order mark (BOM), which is not read: remove the mark, as"
               " tail -c +4 FILE does";
    return little || big || strncmp(head, "\xff\xfe", 2) == 0 || strncmp(head, "\xfe\xff", 2) == 0
               ? "text in UTF-16, which is not read: convert it, as iconv -f UTF-16 -t UTF-8 FILE"
                 " does"
               : NULL;
}

const char *rp_foreign_what(const char *path)
{
    const char *what = what_by_name(path);
    rp_autofree char *head = what ? NULL : head_of(path);
    const char *begin = head ? head + strspn(head, " \t\r\n") : "";
    const char *encoding = head ? what_by_encoding(head) : NULL;

    if (encoding)
        return encoding;
    return *begin == '{' || *begin == '[' ? what_by_events(begin) : what;
}

static bool is_decoded_by_rocprofv2(const char *folder, const char *name)
{
    size_t len = strlen(name);
    rp_autofree char *code =
        len > 3 && strcmp(name + len - 3, "_ui") == 0 ? rp_format("%s/code.json", folder) : NULL;

    return code && rp_path_exists(code);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

char *rp_foreign_in(const char *folder, int depth, const char **ret_what)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, visible, alphasort);
    char *found = NULL;

    for (int i = 0; i < count; i++) {
        char *path = found ? NULL : rp_path_join(folder, names[i]->d_name);

        if (path && rp_path_is_dir(path)) {
            *ret_what = is_decoded_by_rocprofv2(path, names[i]->d_name) ? ATT_V2 : NULL;
            if (!*ret_what && depth > 0)
                found = rp_foreign_in(path, depth - 1, ret_what);
        } else if (path) {
            /* JSON says by its contents what it is, if it is called like a trace. */
            *ret_what = rp_gzip_name_ends_with(path, "trace.json") ||
                                rp_gzip_name_ends_with(path, "results.json")
                            ? rp_foreign_what(path)
                            : what_by_name(path);
            if (!*ret_what && rp_counters_is_rocprof(path))
                *ret_what = "a result of rocprof: give the file itself, or call it results.csv";
        }
        if (!found && path && *ret_what)
            found = rp_steal(path);
        free(path);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return found;
}

int rp_memdb_begin(struct rp_memdb *m, const char *name, const char *tables, struct rp_err *err)
{
    int result = sqlite3_open_v2(
        name, &m->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

    return result == SQLITE_OK ? rp_sql_exec(m->db, tables, err) : rp_sql_fail(m->db, result, err);
}

void rp_memdb_end(struct rp_memdb *m)
{
    for (size_t i = 0; i < RP_MEMDB_STATEMENTS; i++)
        sqlite3_finalize(m->statements[i].stmt);
    rp_map_free(&m->strings);
    rp_map_free(&m->instructions);
}

int rp_memdb_statement(struct rp_memdb *m, const char *sql, sqlite3_stmt **ret, struct rp_err *err)
{
    size_t i = 0;
    int result;

    while (i < RP_MEMDB_STATEMENTS && m->statements[i].sql && m->statements[i].sql != sql)
        i++;
    if (i == RP_MEMDB_STATEMENTS)
        return rp_fail(err, RP_ENVIRONMENT, "too many statements");
    if (!m->statements[i].sql) {
        result = sqlite3_prepare_v2(m->db, sql, -1, &m->statements[i].stmt, NULL);
        if (result != SQLITE_OK)
            return rp_sql_fail(m->db, result, err);
        m->statements[i].sql = sql;
    }
    *ret = m->statements[i].stmt;
    return 0;
}

int rp_memdb_run(struct rp_memdb *m, const char *sql, const int64_t *numbers, size_t count,
                 const char *const *texts, size_t text_count, struct rp_err *err)
{
    sqlite3_stmt *stmt = NULL;
    int result = rp_memdb_statement(m, sql, &stmt, err), done;

    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == INT64_MIN)
            sqlite3_bind_null(stmt, (int)i + 1);
        else
            sqlite3_bind_int64(stmt, (int)i + 1, numbers[i]);
    for (size_t i = 0; i < text_count; i++) /* A NULL is bound as NULL. */
        sqlite3_bind_text(stmt, (int)(count + i) + 1, texts[i], -1, SQLITE_STATIC);
    done = sqlite3_step(stmt);
    if (done != SQLITE_DONE)
        result = rp_sql_fail(m->db, done, err);
    sqlite3_reset(stmt);
    return result;
}

int rp_memdb_string(struct rp_memdb *m, const char *text, int64_t *ret, struct rp_err *err)
{
    const uint32_t known = m->strings.count, number = rp_map_add_text(&m->strings, text);

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    *ret = (int64_t)number + 1;
    return number == known
               ? rp_memdb_run(m, "INSERT INTO rocpd_string VALUES (?1, ?2)", ret, 1, &text, 1, err)
               : 0;
}

/* @param ret  its row in pc_instruction */
static int instruction_of(struct rp_memdb *m, const struct rp_memdb_sample *sample, int64_t *ret,
                          struct rp_err *err)
{
    const bool decoded = *sample->isa;
    const char *texts[] = {sample->isa, decoded ? sample->comment : ""};
    int64_t values[] = {0, decoded ? sample->code_object : -1, decoded ? sample->offset : -1};
    rp_autofree char *key =
        rp_format("%" PRId64 " %" PRId64 " %s\n%s", values[1], values[2], texts[0], texts[1]);
    const uint32_t known = m->instructions.count;
    const uint32_t number = key ? rp_map_add_text(&m->instructions, key) : RP_NO_NUMBER;

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    *ret = values[0] = (int64_t)number + 1;
    return number < known
               ? 0
               : rp_memdb_run(m, "INSERT INTO pc_instruction VALUES (?1, ?2, ?3, ?4, ?5)", values,
                              3, texts, 2, err);
}

int rp_memdb_add_sample(struct rp_memdb *m, const struct rp_memdb_sample *sample,
                        struct rp_err *err)
{
    int64_t values[] = {sample->stochastic,
                        sample->dispatch,
                        0,
                        sample->issued,
                        0,
                        __builtin_popcountll(sample->exec_mask)};
    int result = instruction_of(m, sample, &values[2], err);

    if (result == 0)
        result = rp_memdb_string(m, sample->reason, &values[4], err);
    return result < 0
               ? result
               : rp_memdb_run(m,
                              "INSERT INTO pc_count VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)"
                              " ON CONFLICT (stochastic, dispatch_id, instruction_id, issued,"
                              " reason_id) DO UPDATE SET samples = samples + 1,"
                              " lanes = lanes + excluded.lanes",
                              values, 6, NULL, 0, err);
}

static int by_thread_and_time(const void *a, const void *b)
{
    const struct rp_call *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns) /* The outer range comes first. */
        return x->end_ns > y->end_ns ? -1 : 1;
    return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static int by_correlation(const void *a, const void *b)
{
    const struct rp_call *x = a, *y = b;

    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return by_thread_and_time(a, b);
}

int rp_call_list_find_parents(struct rp_call_list *calls, struct rp_err *err)
{
    rp_autofree size_t *outer = malloc((calls->count + 1) * sizeof *outer);
    struct rp_call *at = calls->items;
    size_t depth = 0;

    if (!outer)
        return rp_out_of_memory(err);
    if (calls->count)
        qsort(at, calls->count, sizeof *at, by_thread_and_time);
    for (size_t i = 0; i < calls->count; i++) {
        while (depth && (at[outer[depth - 1]].thread != at[i].thread ||
                         at[outer[depth - 1]].end_ns <= at[i].start_ns))
            depth--;
        if (depth && at[i].end_ns <= at[outer[depth - 1]].end_ns)
            at[i].parent = at[outer[depth - 1]].correlation;
        outer[depth++] = i;
    }
    if (calls->count)
        qsort(at, calls->count, sizeof *at, by_correlation);
    return 0;
}

/* The CSV files that rocprofv3 writes for one process become a database in memory, so that there
 * is one reader of traces. CSV lacks arguments of calls, sizes of copies, and which call made
 * another; only the last is found, by times.
 */

enum kind { KERNELS, COPIES, CALLS, AGENTS, TRAPS, SNAPSHOTS };

static const struct {
    const char *end; /**< of the file's name */
    enum kind kind;
    bool is_trace; /**< opens the process; the others only tell more of it */
} files[] = {
    {"kernel_trace.csv", KERNELS, true},
    {"memory_copy_trace.csv", COPIES, true},
    {"hip_api_trace.csv", CALLS, true},
    {"hsa_api_trace.csv", CALLS, false},
    {"rccl_api_trace.csv", CALLS, false},
    {"marker_api_trace.csv", CALLS, false},
    {"agent_info.csv", AGENTS, false},
    {"pc_sampling_host_trap.csv", TRAPS, true},
    {"pc_sampling_stochastic.csv", SNAPSHOTS, true},
};

enum { FILE_COUNT = sizeof files / sizeof files[0] };

/* These are the header words of rocprofv3 6.4 to 7.x. */
enum column {
    AGENT,
    QUEUE,
    STREAM,
    THREAD,
    PROCESS,
    DISPATCH,
    KERNEL_NAME,
    CORRELATION,
    START,
    END,
    LDS,
    SCRATCH,
    VGPRS,
    ACCUM_VGPRS,
    SGPRS,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    GRID_X,
    GRID_Y,
    GRID_Z,
    DIRECTION,
    SOURCE,
    DESTINATION,
    DOMAIN,
    FUNCTION,
    NODE,
    LOGICAL,
    AGENT_TYPE,
    NAME,
    DEVICE,
    EXEC_MASK,
    INSTRUCTION,
    COMMENT,
    ISSUED,
    STALL_REASON,
    COLUMN_COUNT
};

static const struct {
    const char *word, *older; /**< NULL: there was no other */
} words[COLUMN_COUNT] = {
    [AGENT] = {"Agent_Id", NULL},
    [QUEUE] = {"Queue_Id", NULL},
    [STREAM] = {"Stream_Id", NULL},
    [THREAD] = {"Thread_Id", NULL},
    [PROCESS] = {"Process_Id", NULL},
    [DISPATCH] = {"Dispatch_Id", NULL},
    [KERNEL_NAME] = {"Kernel_Name", NULL},
    [CORRELATION] = {"Correlation_Id", NULL},
    [START] = {"Start_Timestamp", NULL},
    [END] = {"End_Timestamp", NULL},
    [LDS] = {"LDS_Block_Size", "Group_Segment_Size"},
    [SCRATCH] = {"Scratch_Size", "Private_Segment_Size"},
    [VGPRS] = {"VGPR_Count", NULL},
    [ACCUM_VGPRS] = {"Accum_VGPR_Count", NULL},
    [SGPRS] = {"SGPR_Count", NULL},
    [BLOCK_X] = {"Workgroup_Size_X", NULL},
    [BLOCK_Y] = {"Workgroup_Size_Y", NULL},
    [BLOCK_Z] = {"Workgroup_Size_Z", NULL},
    [GRID_X] = {"Grid_Size_X", NULL},
    [GRID_Y] = {"Grid_Size_Y", NULL},
    [GRID_Z] = {"Grid_Size_Z", NULL},
    [DIRECTION] = {"Direction", "Operation"},
    [SOURCE] = {"Source_Agent_Id", NULL},
    [DESTINATION] = {"Destination_Agent_Id", NULL},
    [DOMAIN] = {"Domain", NULL},
    [FUNCTION] = {"Function", NULL},
    [NODE] = {"Node_Id", NULL},
    [LOGICAL] = {"Logical_Node_Id", NULL},
    [AGENT_TYPE] = {"Agent_Type", NULL},
    [NAME] = {"Name", NULL},
    [DEVICE] = {"Device_Id", NULL},
    [EXEC_MASK] = {"Exec_Mask", NULL},
    [INSTRUCTION] = {"Instruction", NULL},
    [COMMENT] = {"Instruction_Comment", NULL},
    [ISSUED] = {"Wave_Issued_Instruction", NULL},
    [STALL_REASON] = {"Stall_Reason", NULL},
};

struct loader {
    struct rp_memdb m;
    enum kind kind; /**< of the file that is read */
    struct rp_map kernels;
    struct rp_call_list calls;
    int64_t rows, process;
    bool process_known;
    /** This reads the present file. */
    struct rp_csv csv;
    size_t at[COLUMN_COUNT]; /**< from 1; 0: the file has no such column */
};

/* --- fields ------------------------------------------------------------------------------- */

static const char *field(const struct loader *l, enum column column)
{
    return l->at[column] ? rp_csv_field(&l->csv, l->at[column] - 1) : "";
}

/* Reads a whole number, perhaps behind a word, such as "Agent 2". An empty field gives @p if_none.
 */
static int number(const struct loader *l, enum column column, int64_t if_none, int64_t *ret,
                  struct rp_err *err)
{
    const char *text = field(l, column), *digits = text;
    char *end;

    if (strncasecmp(text, "Agent ", 6) == 0)
        digits += 6;
    if (!*digits) {
        *ret = if_none;
        return 0;
    }
    errno = 0;
    *ret = strtoll(digits, &end, 0);
    if (end != digits && !*end && errno == ERANGE)
        return rp_fail(err, RP_BAD_INPUT, "line %lu: %s is too %s: '%s'", l->csv.line,
                       words[column].word, *ret < 0 ? "small" : "large", text);
    if (*end || errno)
        return rp_fail(err, RP_BAD_INPUT, "line %lu: %s is no whole number: '%s'", l->csv.line,
                       words[column].word, text);
    return 0;
}

static int numbers(const struct loader *l, const enum column *columns, size_t count,
                   int64_t if_none, int64_t *ret, struct rp_err *err)
{
    int result = 0;

    for (size_t i = 0; i < count && result == 0; i++)
        result = number(l, columns[i], if_none, &ret[i], err);
    return result;
}

static int run(struct loader *l, const char *sql, const int64_t *values, size_t count,
               const char *text, struct rp_err *err)
{
    return rp_memdb_run(&l->m, sql, values, count, &text, text != NULL, err);
}

static int add_event(struct loader *l, int64_t call, int64_t parent, int64_t *ret,
                     struct rp_err *err)
{
    const int64_t values[] = {++l->m.events, call, parent};

    *ret = l->m.events;
    return run(l, "INSERT INTO rocpd_event VALUES (?1, ?2, ?3)", values, 3, NULL, err);
}

static int add_times(const struct loader *l, int64_t ret[2], struct rp_err *err)
{
    static const enum column columns[] = {START, END};

    return numbers(l, columns, 2, 0, ret, err);
}

/* --- rows --------------------------------------------------------------------------------- */

/* A kernel of a name, a GPU and registers: of one name there may be several. */
static int kernel_id(struct loader *l, int64_t *ret, struct rp_err *err)
{
    static const enum column columns[] = {AGENT, SGPRS, VGPRS, ACCUM_VGPRS};
    rp_autofree char *key =
        rp_format("%s %s %s %s %s", field(l, AGENT), field(l, SGPRS), field(l, VGPRS),
                  field(l, ACCUM_VGPRS), field(l, KERNEL_NAME));
    const uint32_t known = l->kernels.count;
    const uint32_t number = key ? rp_map_add_text(&l->kernels, key) : RP_NO_NUMBER;
    int64_t values[5];
    int result;

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    *ret = (int64_t)number + 1;
    if (number < known)
        return 0;
    values[0] = *ret;
    result = numbers(l, columns, 4, INT64_MIN, values + 1, err);
    return result < 0 ? result
                      : run(l,
                            "INSERT INTO rocpd_info_kernel_symbol (id, code_object_id,"
                            " sgpr_count, arch_vgpr_count, accum_vgpr_count, kernel_name,"
                            " display_name) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
                            values, 5, field(l, KERNEL_NAME), err);
}

static int add_kernel(struct loader *l, struct rp_err *err)
{
    static const enum column columns[] = {AGENT,   THREAD,  DISPATCH, STREAM, QUEUE,  SCRATCH, LDS,
                                          BLOCK_X, BLOCK_Y, BLOCK_Z,  GRID_X, GRID_Y, GRID_Z};
    int64_t values[18], correlation;
    int result = kernel_id(l, &values[1], err);

    values[0] = ++l->rows;
    if (result == 0)
        result = add_times(l, &values[2], err);
    if (result == 0)
        result = numbers(l, columns, 13, 0, &values[5], err);
    if (result == 0)
        result = number(l, CORRELATION, 0, &correlation, err);
    if (result == 0)
        result = add_event(l, correlation, 0, &values[4], err);
    if (result < 0)
        return result;
    return run(l,
               "INSERT INTO rocpd_kernel_dispatch (id, kernel_id, start, end, event_id,"
               " agent_id, tid, dispatch_id, stream_id, queue_id, private_segment_size,"
               " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z,"
               " grid_size_x, grid_size_y, grid_size_z) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
               " ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
               values, 18, NULL, err);
}

static int add_copy(struct loader *l, struct rp_err *err)
{
    static const enum column columns[] = {STREAM, SOURCE, DESTINATION};
    int64_t values[8], correlation;
    int result = rp_memdb_string(&l->m, field(l, DIRECTION), &values[1], err);

    values[0] = ++l->rows;
    if (result == 0)
        result = add_times(l, &values[2], err);
    if (result == 0)
        result = numbers(l, columns, 3, INT64_MIN, &values[5], err);
    if (result == 0)
        result = number(l, CORRELATION, 0, &correlation, err);
    if (result == 0)
        result = add_event(l, correlation, 0, &values[4], err);
    if (result < 0)
        return result;
    return run(l,
               "INSERT INTO rocpd_memory_copy (id, name_id, start, end, event_id,"
               " stream_id, src_agent_id, dst_agent_id, size)"
               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, -1)",
               values, 8, NULL, err);
}

static int add_call(struct loader *l, struct rp_err *err)
{
    static const enum column columns[] = {THREAD, START, END, CORRELATION};
    struct rp_call call = {0};
    int64_t values[4];
    int result = numbers(l, columns, 4, 0, values, err);

    if (result == 0)
        result = rp_memdb_string(&l->m, field(l, FUNCTION), &call.name, err);
    if (result == 0 && l->at[PROCESS] && !l->process_known) {
        result = number(l, PROCESS, 0, &l->process, err);
        l->process_known = true;
    }
    if (result < 0)
        return result;
    call.thread = values[0];
    call.start_ns = values[1];
    call.end_ns = values[2];
    call.correlation = values[3];
    return rp_vec_push(&l->calls, call) == 0 ? 0 : rp_out_of_memory(err);
}

static int add_agent(struct loader *l, struct rp_err *err)
{
    static const enum column columns[] = {NODE, LOGICAL, DEVICE};
    bool is_gpu = strcmp(field(l, AGENT_TYPE), "GPU") == 0;
    int64_t values[3];
    int result = numbers(l, columns, 3, 0, values, err);

    return result < 0 ? result
                      : run(l,
                            is_gpu ? "INSERT INTO rocpd_info_agent VALUES"
                                     " (?1, 'GPU', ?1, ?2, 0, ?3, ?4)"
                                   : "INSERT INTO rocpd_info_agent VALUES"
                                     " (?1, 'CPU', ?1, ?2, 0, ?3, ?4)",
                            values, 3, field(l, NAME), err);
}

/* A mask has all 64 bits. */
static int mask(const struct loader *l, uint64_t *ret, struct rp_err *err)
{
    const char *text = field(l, EXEC_MASK);
    char *end;

    errno = 0;
    *ret = strtoull(text, &end, 0);
    if (end == text || *end || errno || strchr(text, '-'))
        return rp_fail(err, RP_BAD_INPUT, "line %lu: %s is no mask of 64 bits: '%s'", l->csv.line,
                       words[EXEC_MASK].word, text);
    return 0;
}

static int add_sample(struct loader *l, struct rp_err *err)
{
    struct rp_memdb_sample sample = {.stochastic = l->kind == SNAPSHOTS,
                                     .issued = -1,
                                     .code_object = -1,
                                     .offset = -1,
                                     .isa = field(l, INSTRUCTION),
                                     .comment = field(l, COMMENT),
                                     .reason = ""};
    int result = number(l, DISPATCH, 0, &sample.dispatch, err);

    if (result == 0)
        result = mask(l, &sample.exec_mask, err);
    if (result == 0 && sample.stochastic) {
        sample.reason = field(l, STALL_REASON);
        result = number(l, ISSUED, -1, &sample.issued, err);
    }
    if (result == 0 && (sample.issued < -1 || sample.issued > 1))
        result = rp_fail(err, RP_BAD_INPUT, "line %lu: %s is neither 0 nor 1: '%s'", l->csv.line,
                         words[ISSUED].word, field(l, ISSUED));
    return result < 0 ? result : rp_memdb_add_sample(&l->m, &sample, err);
}

/* --- files -------------------------------------------------------------------------------- */

static const enum column needed[][6] = {
    [KERNELS] = {AGENT, QUEUE, KERNEL_NAME, CORRELATION, START, END},
    [COPIES] = {DIRECTION, CORRELATION, START, END, SOURCE, DESTINATION},
    [CALLS] = {THREAD, FUNCTION, CORRELATION, START, END, END},
    [AGENTS] = {NODE, LOGICAL, AGENT_TYPE, NAME, NODE, NODE},
    [TRAPS] = {DISPATCH, EXEC_MASK, INSTRUCTION, DISPATCH, DISPATCH, DISPATCH},
    [SNAPSHOTS] = {DISPATCH, EXEC_MASK, INSTRUCTION, ISSUED, STALL_REASON, DISPATCH},
};

static int read_header(void *ctx, struct rp_err *err)
{
    struct loader *l = ctx;

    memset(l->at, 0, sizeof l->at);
    for (size_t i = 0; i < l->csv.count; i++)
        for (size_t c = 0; c < COLUMN_COUNT; c++)
            if (strcasecmp(rp_csv_field(&l->csv, i), words[c].word) == 0 ||
                (words[c].older && strcasecmp(rp_csv_field(&l->csv, i), words[c].older) == 0))
                l->at[c] = i + 1;
    for (size_t i = 0; i < 6; i++)
        if (!l->at[needed[l->kind][i]])
            return rp_fail(err, RP_BAD_INPUT, "it has no column %s: is it of rocprofv3?",
                           words[needed[l->kind][i]].word);
    return 0;
}

static int add_row(void *ctx, struct rp_err *err)
{
    static int (*const add[])(struct loader *, struct rp_err *) = {
        [KERNELS] = add_kernel, [COPIES] = add_copy,  [CALLS] = add_call,
        [AGENTS] = add_agent,   [TRAPS] = add_sample, [SNAPSHOTS] = add_sample};
    struct loader *l = ctx;

    return add[l->kind](l, err);
}

static int read_file(struct loader *l, const char *path, enum kind kind, uint64_t *ret_bytes,
                     struct rp_err *err)
{
    rp_autobuf text = {0};
    int result = rp_gzip_read_buf(path, &text, err);

    if (result < 0)
        return rp_wrap(err, "read trace %s", path);
    *ret_bytes += text.len;
    l->csv = (struct rp_csv){.at = rp_buf_text(&text), .end = rp_buf_text(&text) + text.len};
    l->kind = kind;
    result = rp_csv_each(&l->csv, read_header, add_row, l, err);
    rp_csv_free(&l->csv);
    return result < 0 ? rp_wrap(err, "read trace %s", path) : 0;
}

static int put_calls(struct loader *l, struct rp_err *err)
{
    int result = rp_call_list_find_parents(&l->calls, err);

    for (size_t i = 0; i < l->calls.count && result == 0; i++) {
        const struct rp_call *c = &l->calls.items[i];
        int64_t values[] = {(int64_t)i + 1, c->thread, c->start_ns, c->end_ns, c->name, 0};
        result = add_event(l, c->correlation, c->parent, &values[5], err);
        if (result == 0)
            result = run(l, "INSERT INTO rocpd_region VALUES (?1, ?2, ?3, ?4, ?5, ?6)", values, 6,
                         NULL, err);
    }
    return result;
}

/* --- the whole ---------------------------------------------------------------------------- */

/* These are the csv_trace_tables of rocpd, with the columns that CSV has values for. */
static const char csv_trace_tables[] =
    "CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
    "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);"
    "CREATE TABLE rocpd_info_process (id INTEGER PRIMARY KEY, pid);"
    "CREATE TABLE rocpd_info_agent (id INTEGER PRIMARY KEY, type, absolute_index,"
    " logical_index, type_index, uuid, name);"
    "CREATE TABLE rocpd_info_queue (id INTEGER PRIMARY KEY, name);"
    /* This table has the code objects of GPUs. */
    "CREATE TABLE rocpd_info_code_object (id INTEGER PRIMARY KEY, agent_id);"
    "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, code_object_id,"
    " kernel_name TEXT, display_name TEXT, kernarg_segment_size, kernarg_segment_alignment,"
    " group_segment_size, private_segment_size, sgpr_count, arch_vgpr_count, accum_vgpr_count);"
    "CREATE TABLE rocpd_event (id INTEGER PRIMARY KEY, stack_id, parent_stack_id);"
    "CREATE TABLE rocpd_region (id INTEGER PRIMARY KEY, tid, start, end, name_id,"
    " event_id);"
    "CREATE TABLE rocpd_kernel_dispatch (id INTEGER PRIMARY KEY, tid, agent_id,"
    " kernel_id, dispatch_id, queue_id, stream_id, start, end, private_segment_size,"
    " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x,"
    " grid_size_y, grid_size_z, event_id);"
    "CREATE TABLE rocpd_memory_copy (id INTEGER PRIMARY KEY, start, end, name_id,"
    " dst_agent_id, src_agent_id, size, stream_id, event_id);" RP_MEMDB_SAMPLE_TABLES;

/* Finds the part of the path before the name that rocprofv3 gives each file. @return false: none */
static bool prefix_of(const char *path, size_t *ret)
{
    size_t len = rp_gzip_name_length(path);

    for (size_t i = 0; i < FILE_COUNT; i++) {
        size_t end = strlen(files[i].end);
        if (files[i].is_trace && rp_gzip_name_ends_with(path, files[i].end) &&
            (len == end || strchr("/_", path[len - end - 1]))) {
            *ret = len - end;
            return true;
        }
    }
    return false;
}

bool rp_store_csv_prefix(const char *path, size_t *ret_len)
{
    return prefix_of(path, ret_len);
}

static int put_process(struct loader *l, struct rp_err *err)
{
    const int64_t values[] = {1, l->process};

    return run(l, "INSERT INTO rocpd_info_process VALUES (?1, ?2)", values, 2, NULL, err);
}

/* This adds queues and agents that rows refer to and no other file has named. */
static const char rest[] = RP_MEMDB_SAMPLE_ROWS
    "INSERT INTO rocpd_info_queue SELECT DISTINCT queue_id, NULL FROM rocpd_kernel_dispatch;"
    "INSERT OR IGNORE INTO rocpd_info_agent SELECT DISTINCT agent_id, 'GPU', agent_id, agent_id,"
    " 0, NULL, '' FROM rocpd_kernel_dispatch;"
    "INSERT OR IGNORE INTO rocpd_info_code_object SELECT DISTINCT code_object_id, code_object_id"
    " FROM rocpd_info_kernel_symbol WHERE code_object_id IS NOT NULL;";

/* Finds the file of that process with that ending. It may be the one that was named, in any
 * capitals; others are named as rocprofv3 does, or all in capitals, as some file systems do.
 * @param ret NULL: none
 */
static int find_file(const char *path, size_t prefix, const char *end, char **ret,
                     struct rp_err *err)
{
    const bool is_path =
        rp_gzip_name_ends_with(path, end) && rp_gzip_name_length(path) == prefix + strlen(end);
    rp_autofree char *name = is_path ? strdup(path) : rp_format("%.*s%s", (int)prefix, path, end);

    if (!name)
        return rp_out_of_memory(err);
    *ret = rp_gzip_find(name);
    for (char *c = name + prefix; !*ret && *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    if (!*ret)
        *ret = rp_gzip_find(name);
    return 0;
}

static int read_all(struct loader *l, const char *path, size_t prefix, uint64_t *ret_bytes,
                    struct rp_err *err)
{
    int result = rp_memdb_begin(&l->m, ":memory:", csv_trace_tables, err);

    if (result == 0)
        result = rp_sql_exec(l->m.db, "BEGIN", err);
    for (size_t i = 0; i < FILE_COUNT && result == 0; i++) {
        rp_autofree char *there = NULL;

        result = find_file(path, prefix, files[i].end, &there, err);
        if (result == 0 && there)
            result = read_file(l, there, files[i].kind, ret_bytes, err);
    }
    if (result == 0)
        result = put_calls(l, err);
    if (result == 0)
        result = put_process(l, err);
    if (result == 0)
        result = rp_sql_exec(l->m.db, rest, err);
    return result < 0 ? result : rp_sql_exec(l->m.db, "COMMIT", err);
}

static void end_load(struct loader *l)
{
    rp_memdb_end(&l->m);
    rp_map_free(&l->kernels);
    rp_vec_free(&l->calls);
}

int rp_store_open_csv(const char *path, struct rp_store **ret, struct rp_err *err)
{
    struct loader l = {0};
    size_t prefix;
    uint64_t bytes = 0;
    int result;

    if (!prefix_of(path, &prefix))
        return rp_fail(err, RP_BAD_INPUT,
                       "read trace %s: it is not called like a trace of rocprofv3", path);
    result = read_all(&l, path, prefix, &bytes, err);
    end_load(&l);
    if (result < 0) {
        sqlite3_close(l.m.db);
        return result;
    }
    return rp_store_adopt(l.m.db, path, prefix, bytes, ret, err);
}
