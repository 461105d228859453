#include "trace/foreign_trace.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/counter_set.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/sqlite_file.h"

/* Users arrive with results of these tools. Each row names the tool's file and says what to do
 * instead.
 */

#define PYTORCH   "a trace of the PyTorch profiler, which is not read yet: "
#define AGAIN     "record the program with rocm-perf profile or rocprofv3"
#define ROCPROFV2 "a result of rocprofv2, which is not read: " AGAIN
#define ATT_V2    "a thread trace of rocprofv2, which is not read: record it with rocprofv3 --att"

static const struct {
    const char *pattern; /* of the file's name, without .gz */
    const char *what;
} by_name[] = {
    {"*.pt.trace.json", PYTORCH AGAIN},
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

/* Many tools write Chrome's event format. PyTorch's files name its version and GPUs first. */
static const char *what_by_events(const char *head)
{
    static const char *const of_pytorch[] = {"\"schemaVersion\"", "\"deviceProperties\"",
                                             "\"distributedInfo\"", "\"cuda_runtime\"",
                                             "ProfilerStep#"};

    for (size_t i = 0; i < sizeof of_pytorch / sizeof of_pytorch[0]; i++)
        if (strstr(head, of_pytorch[i]))
            return PYTORCH AGAIN;
    return strstr(head, "\"traceEvents\"") || strstr(head, "\"ph\"")
               ? "a trace in Chrome's format, as rocprof and other tools write it, which is not"
                 " read: " AGAIN
               : NULL;
}

const char *rp_foreign_what(const char *path)
{
    const char *what = what_by_name(path);
    rp_autofree char *head = what ? NULL : head_of(path);
    const char *begin = head ? head + strspn(head, " \t\r\n") : "";

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
