/* Reads traces of the PyTorch profiler (Kineto): Chrome's event format, whose events become the
 * rows that rocprofv3 would have written. The file is read once, one event at a time; what only
 * other events say (geometry, sizes, streams of calls) is joined at the end, in the database.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"
#include "trace/csv_trace.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"
#include "trace/rocpd_read.h"
#include "trace/rocpd_schema.h"

/** A stream of a GPU. Streams of several GPUs may have one number, but a trace has it once. */
struct kineto_stream {
    int64_t gpu, number, id;
};

struct kineto;
typedef int add_fn(struct kineto *k, struct rp_err *err);

/** This began by an event of its own, and waits for the one that ends it. */
struct kineto_open {
    int64_t pid, thread, region;
    uint32_t name; /**< in the names */
};

/** Counts what is said in one line, with the name of the first. */
struct kineto_oddity {
    uint64_t count;
    char *first; /**< NULL: none */
};

/** Zero-initialise it; the owner of the parts releases them. */
struct kineto {
    struct rp_memdb m;
    struct rp_json_stream cut;
    struct rp_json_record record;
    struct rp_map kernels;          /**< rows of rocpd_info_kernel_symbol, by name */
    struct rp_idmap stream_numbers; /**< by GPU and number: which of the streams */
    struct rp_idmap stream_ids;     /**< that are taken */
    int64_t next_stream;            /**< of those that must have another number */
    struct {
        RP_VEC(struct kineto_stream);
    } streams;
    struct {
        RP_VEC(int64_t);
    } gpus; /**< as the events number them */
    struct {
        RP_VEC(struct kineto_open);
    } open;
    struct rp_map names; /**< of threads that have no number, and of what is open */
    struct kineto_oddity untimed, uncalled;
    int64_t rank, rank_count;      /**< -1, 0: not known */
    char *odd_rank;                /**< what the file says instead, or NULL */
    json_t *devices, *distributed; /**< what the file says of them, or NULL */
    char *program;                 /**< name of the process, or NULL */
    int64_t pid;
    int64_t base_ns;  /**< is added to all times; 0: not known */
    int64_t added_ns; /**< to the rows so far */
    int64_t first_ns; /**< smallest time of a row, before anything is added */
    int64_t kernel_count, copy_count, call_count, row_count, sync_count;
    uint64_t event_count, range_count, frame_count, line_count;
    bool pid_known;
};

/* --- one event ------------------------------------------------------------------------------- */

static const struct rp_json_value *field(const struct kineto *k, const char *path)
{
    return rp_json_at(k->record.values, path);
}

static const char *text(const struct kineto *k, const char *path)
{
    return rp_json_text(k->record.values, path);
}

/* Returns a whole number, or what stands for one that is absent or something else. */
static int64_t whole(const struct kineto *k, const char *path, int64_t otherwise)
{
    const struct rp_json_value *v = field(k, path);
    int64_t number;
    char *end;

    if (v && v->type == RP_JSON_INTEGER)
        return v->integer;
    if (v && v->type == RP_JSON_DECIMAL) { /* "12.0", by tools that rewrite traces */
        number = (int64_t)strtod(v->text, NULL);
        return number > -(1LL << 53) && number < 1LL << 53 ? number : otherwise;
    }
    if (!v || v->type != RP_JSON_TEXT || !*v->text)
        return otherwise;
    number = strtoll(v->text, &end, 0);
    return *end ? otherwise : number;
}

/* Reads [x, y, z]. @return false: there is no such list */
static bool three(const struct kineto *k, const char *path, int64_t ret[3])
{
    const struct rp_json_value *list = field(k, path), *v;
    int i = 0;

    if (!list || list->type != RP_JSON_ARRAY)
        return false;
    for (v = rp_json_first(list); v && i < 3; v = rp_json_next(list, v)) {
        if (v->type != RP_JSON_INTEGER || v->integer < 0 || v->integer > UINT32_MAX)
            return false;
        ret[i++] = v->integer;
    }
    return i == 3;
}

enum { START, END };

/* An event without a duration has begun, and the file does not say when it ended. */
static int times(struct kineto *k, int64_t ret[2], struct rp_err *err)
{
    const struct rp_json_value *dur = field(k, "dur");
    int64_t lasted = 0;

    if (!rp_json_thousandths(field(k, "ts"), &ret[START]))
        return rp_fail(err, RP_BAD_INPUT, "its ts is no time in microseconds");
    if (dur && !rp_json_thousandths(dur, &lasted))
        return rp_fail(err, RP_BAD_INPUT, "its dur is no time in microseconds");
    if (k->first_ns > ret[START] || k->row_count == 0)
        k->first_ns = ret[START];
    if (__builtin_add_overflow(ret[START], k->added_ns, &ret[START]) ||
        __builtin_add_overflow(ret[START], lasted, &ret[END]))
        return rp_fail(err, RP_BAD_INPUT, "its ts and dur are too large");
    k->row_count++;
    return 0;
}

static int add_event(struct kineto *k, int64_t correlation, int64_t *ret, struct rp_err *err)
{
    const int64_t values[] = { *ret = ++k->m.events, correlation};

    return rp_memdb_run(&k->m, "INSERT INTO rocpd_event (id, stack_id) VALUES (?1, ?2)", values, 2,
                        NULL, 0, err);
}

/* Only the first name is kept. */
static int note_oddity(const struct kineto *k, struct kineto_oddity *oddity, struct rp_err *err)
{
    const char *name = text(k, "name");

    if (oddity->count++)
        return 0;
    oddity->first = strdup(name ? name : "");
    return oddity->first ? 0 : rp_out_of_memory(err);
}

/* Returns a thread's number. One that has only a name gets a number that no thread of Linux has. */
static int thread_of(struct kineto *k, int64_t *ret, struct rp_err *err)
{
    const char *name = text(k, "tid");
    uint32_t number;

    *ret = whole(k, "tid", INT64_MIN);
    if (*ret != INT64_MIN || !name) {
        *ret = *ret == INT64_MIN ? 0 : *ret;
        return 0;
    }
    number = rp_map_add_text(&k->names, name);
    *ret = (1LL << 32) + number;
    return number == RP_NO_NUMBER ? rp_out_of_memory(err) : 0;
}

/* --- GPUs and streams ------------------------------------------------------------------------ */

/* GPUs have the ids of their numbers, and one more, because the host is 0. */
enum { HOST = 0, MOST_GPUS = 4096 };

static int gpu_of(struct kineto *k, int64_t *ret, struct rp_err *err)
{
    int64_t number = whole(k, "args.device", whole(k, "pid", -1));

    if (number < 0 || number >= MOST_GPUS)
        return rp_fail(err, RP_BAD_INPUT, "its device is no number from 0 to %d", MOST_GPUS - 1);
    *ret = number + 1;
    for (size_t i = 0; i < k->gpus.count; i++)
        if (k->gpus.items[i] == number)
            return 0;
    return rp_vec_push(&k->gpus, number) == 0 ? 0 : rp_out_of_memory(err);
}

/* Returns the id of a stream; INT64_MIN: it is not known which. */
static int stream_id(struct kineto *k, int64_t gpu, int64_t number, int64_t *ret,
                     struct rp_err *err)
{
    struct kineto_stream new = {.gpu = gpu, .number = number, .id = number};
    uint32_t index;

    *ret = INT64_MIN;
    if (number < 0 || number > INT32_MAX)
        return 0;
    index = rp_idmap_add(&k->stream_numbers, (uint64_t)gpu << 32 | (uint64_t)number);
    if (index == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    if (index < k->streams.count) {
        *ret = k->streams.items[index].id;
        return 0;
    }
    while (rp_idmap_find(&k->stream_ids, (uint64_t) new.id) != RP_NO_NUMBER)
        new.id = ++k->next_stream;
    *ret = new.id;
    return rp_idmap_add(&k->stream_ids, (uint64_t) new.id) != RP_NO_NUMBER &&
                   rp_vec_push(&k->streams, new) == 0
               ? 0
               : rp_out_of_memory(err);
}

static int place_of(struct kineto *k, int64_t *ret_gpu, int64_t *ret_stream, struct rp_err *err)
{
    int result = gpu_of(k, ret_gpu, err);

    return result < 0 ? result
                      : stream_id(k, *ret_gpu, whole(k, "args.stream", whole(k, "tid", -1)),
                                  ret_stream, err);
}

/* --- kernels and copies ---------------------------------------------------------------------- */

static int kernel_id(struct kineto *k, int64_t *ret, struct rp_err *err)
{
    const char *name = text(k, "name");
    uint32_t known = k->kernels.count, number;

    name = name ? name : "";
    number = rp_map_add_text(&k->kernels, name);
    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    *ret = (int64_t)number + 1;
    return number < known
               ? 0
               : rp_memdb_run(&k->m,
                              "INSERT INTO rocpd_info_kernel_symbol (id, kernel_name, display_name)"
                              " VALUES (?1, ?2, ?2)",
                              ret, 1, &name, 1, err);
}

/* CUDA says the geometry of a kernel, and HIP that of the call. */
static void geometry_of(const struct kineto *k, bool in_work_items, int64_t ret[6])
{
    int64_t grid[3], block[3];
    bool known = three(k, "args.grid", grid) && three(k, "args.block", block);

    for (int i = 0; i < 3; i++) {
        ret[i] = known ? block[i] : 0;
        ret[3 + i] = !known ? 0 : in_work_items ? grid[i] : grid[i] * block[i];
    }
}

/* Returns the bytes of an element; 0: not known. */
static int64_t element_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } known[] = {
        {"Bool", 1},           {"Byte", 1},     {"Char", 1},   {"Float8", 1},
        {"Half", 2},           {"BFloat16", 2}, {"Short", 2},  {"Int", 4},
        {"Float", 4},          {"Long", 8},     {"Double", 8}, {"ComplexFloat", 8},
        {"ComplexDouble", 16},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, dtype) == 0)
            return known[i].bytes;
    return strncmp(dtype, "Float8_", 7) == 0 ? 1 : 0;
}

/* PyTorch says of a kernel of NCCL or RCCL what it was asked for. */
static int note_collective(struct kineto *k, int64_t dispatch, struct rp_err *err)
{
    const char *name = text(k, "args.Collective name"), *dtype = text(k, "args.dtype");
    int64_t given = whole(k, "args.In msg nelems", -1), got = whole(k, "args.Out msg nelems", -1);
    int64_t v[5] = {dispatch, 0, 0, -1, whole(k, "args.Group size", -1)};
    int result;

    if (!name || !*name)
        return 0;
    dtype = dtype ? dtype : "";
    if (given < 0 || got < 0 ||
        __builtin_mul_overflow(given > got ? given : got, element_bytes(dtype), &v[3]) || v[3] == 0)
        v[3] = -1;
    result = rp_memdb_string(&k->m, name, &v[1], err);
    if (result == 0)
        result = rp_memdb_string(&k->m, dtype, &v[2], err);
    return result < 0
               ? result
               : rp_memdb_run(&k->m, "INSERT INTO rocm_perf_collective VALUES (?1, ?2, ?3, ?4, ?5)",
                              v, 5, NULL, 0, err);
}

static int add_kernel(struct kineto *k, struct rp_err *err)
{
    int64_t v[14] = {0};
    int result = times(k, &v[1], err);

    v[0] = ++k->kernel_count;
    if (result == 0)
        result = place_of(k, &v[3], &v[4], err);
    if (result == 0)
        result = kernel_id(k, &v[5], err);
    if (result == 0)
        result = add_event(k, whole(k, "args.correlation", 0), &v[6], err);
    if (result == 0)
        result = note_collective(k, v[0], err);
    if (result == 0 && whole(k, "args.correlation", 0) <= 0)
        result = note_oddity(k, &k->uncalled, err);
    if (result < 0)
        return result;
    geometry_of(k, false, &v[7]);
    v[13] = whole(k, "args.shared memory", 0);
    return rp_memdb_run(&k->m,
                        "INSERT INTO rocpd_kernel_dispatch (id, dispatch_id, start, end, agent_id,"
                        " stream_id, kernel_id, event_id, workgroup_size_x, workgroup_size_y,"
                        " workgroup_size_z, grid_size_x, grid_size_y, grid_size_z,"
                        " group_segment_size) VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
                        " ?11, ?12, ?13, ?14)",
                        v, 14, NULL, 0, err);
}

static int put_copy(struct kineto *k, const char *name, bool from_host, bool to_host,
                    struct rp_err *err)
{
    int64_t v[9], gpu, other;
    int result = times(k, &v[1], err);

    v[0] = ++k->copy_count;
    if (result == 0)
        result = place_of(k, &gpu, &v[3], err);
    if (result == 0)
        result = add_event(k, whole(k, "args.correlation", 0), &v[4], err);
    if (result == 0)
        result = rp_memdb_string(&k->m, name, &v[5], err);
    if (result < 0)
        return result;
    other = whole(k, "args.fromDevice", gpu - 1);
    v[6] = from_host ? HOST : other >= 0 && other < MOST_GPUS ? other + 1 : gpu;
    other = whole(k, "args.toDevice", gpu - 1);
    v[7] = to_host ? HOST : other >= 0 && other < MOST_GPUS ? other + 1 : gpu;
    v[8] = whole(k, "args.bytes", -1);
    return rp_memdb_run(&k->m,
                        "INSERT INTO rocpd_memory_copy (id, start, end, stream_id, event_id,"
                        " name_id, src_agent_id, dst_agent_id, size)"
                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                        v, 9, NULL, 0, err);
}

static int add_copy(struct kineto *k, struct rp_err *err)
{
    static const struct {
        const char *word, *name;
        bool from_host, to_host;
    } kinds[] = {
        {"HtoD", "MEMORY_COPY_HOST_TO_DEVICE", true, false},
        {"DtoH", "MEMORY_COPY_DEVICE_TO_HOST", false, true},
        {"DtoD", "MEMORY_COPY_DEVICE_TO_DEVICE", false, false},
        {"PtoP", "MEMORY_COPY_DEVICE_TO_DEVICE", false, false},
        {"HtoH", "MEMORY_COPY_HOST_TO_HOST", true, true},
    };
    const char *name = text(k, "name");

    for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i].word))
            return put_copy(k, kinds[i].name, kinds[i].from_host, kinds[i].to_host, err);
    return put_copy(k, name ? name : "", false, false, err);
}

static int add_set(struct kineto *k, struct rp_err *err)
{
    return put_copy(k, "MEMORY_SET", false, false, err);
}

/* --- calls and ranges ------------------------------------------------------------------------ */

/* These calls count the grid in work-items. */
static bool counts_work_items(const char *call)
{
    return strcmp(call, "hipExtModuleLaunchKernel") == 0 ||
           strcmp(call, "hipHccModuleLaunchKernel") == 0;
}

/* Keeps what HIP's calls say of their kernels and copies, which the events of these do not. */
static int note_launch(struct kineto *k, const char *name, int64_t correlation, struct rp_err *err)
{
    int64_t v[9] = {correlation};

    geometry_of(k, counts_work_items(name), &v[1]);
    v[7] = whole(k, "args.shared memory", 0);
    v[8] = whole(k, "args.bytes", -1);
    if (v[1] == 0 && v[8] < 0)
        return 0;
    return rp_memdb_run(&k->m,
                        "INSERT OR REPLACE INTO launch VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                        v, 9, NULL, 0, err);
}

/* The profiler writes a file per process. */
static int check_process(struct kineto *k, struct rp_err *err)
{
    int64_t pid = whole(k, "pid", -1);

    if (!k->pid_known) {
        k->pid = pid;
        k->pid_known = true;
    }
    return pid == k->pid ? 0
                         : rp_fail(err, RP_BAD_INPUT,
                                   "it is a call of process %" PRId64 ", and others are of process"
                                   " %" PRId64 ": give the trace of each process, not one that was"
                                   " made of several",
                                   pid, k->pid);
}

static int put_region(struct kineto *k, const char *name, int64_t event, const int64_t time[2],
                      struct rp_err *err)
{
    int64_t v[6] = {++k->call_count, 0, time[START], time[END], 0, event};
    int result = thread_of(k, &v[1], err);

    if (result == 0)
        result = rp_memdb_string(&k->m, name, &v[4], err);
    return result < 0
               ? result
               : rp_memdb_run(&k->m, "INSERT INTO rocpd_region VALUES (?1, ?2, ?3, ?4, ?5, ?6)", v,
                              6, NULL, 0, err);
}

static int add_call(struct kineto *k, struct rp_err *err)
{
    const char *name = text(k, "name");
    int64_t correlation = whole(k, "args.correlation", 0), time[2], event = 0;
    int result = check_process(k, err);

    name = name ? name : "";
    if (result == 0)
        result = times(k, time, err);
    if (result == 0)
        result = note_launch(k, name, correlation, err);
    if (result == 0)
        result = add_event(k, correlation, &event, err);
    return result < 0 ? result : put_region(k, name, event, time, err);
}

/* Its other kinds have a beginning and an end of their own. */
static bool is_whole_event(const struct kineto *k)
{
    const char *phase = text(k, "ph");

    return phase && *phase == 'X';
}

/* An operator or an annotation encloses calls as a range of ROCTx does. */
static int add_range(struct kineto *k, struct rp_err *err)
{
    const char *name = text(k, "name");
    int64_t time[2], event = k->m.events + 1;
    int result = times(k, time, err);

    k->range_count++;
    name = name ? name : "";
    if (result == 0 && is_whole_event(k) && (!field(k, "dur") || time[END] < time[START]))
        result = note_oddity(k, &k->untimed, err);
    if (result < 0)
        return result;
    k->m.events++;
    result = rp_memdb_run(&k->m,
                          "INSERT INTO rocpd_event (id, extdata)"
                          " VALUES (?1, json_object('message', ?2))",
                          &event, 1, &name, 1, err);
    return result < 0 ? result : put_region(k, "roctxRange", event, time, err);
}

/* --- beginnings and ends --------------------------------------------------------------------- */

/* Tools that rewrite traces make two events of one. */
static int begin(struct kineto *k, add_fn *add, struct rp_err *err)
{
    struct kineto_open open = {.pid = whole(k, "pid", -1), .region = k->call_count + 1};
    const char *name = text(k, "name");
    int result = thread_of(k, &open.thread, err);

    if (result == 0)
        result = add(k, err);
    if (result < 0)
        return result;
    open.name = rp_map_add_text(&k->names, name ? name : "");
    return open.name != RP_NO_NUMBER && rp_vec_push(&k->open, open) == 0 ? 0
                                                                         : rp_out_of_memory(err);
}

/* It ends the innermost of its thread that has its name, if it has one. */
static int end(struct kineto *k, struct rp_err *err)
{
    const char *name = text(k, "name");
    const uint32_t wanted = name ? rp_map_add_text(&k->names, name) : 0;
    const int64_t pid = whole(k, "pid", -1);
    int64_t v[2], thread;
    size_t at = k->open.count;
    int result = wanted == RP_NO_NUMBER ? rp_out_of_memory(err) : thread_of(k, &thread, err);

    if (result < 0)
        return result;
    while (at > 0 && (k->open.items[at - 1].pid != pid || k->open.items[at - 1].thread != thread ||
                      (name && k->open.items[at - 1].name != wanted)))
        at--;
    if (at == 0)
        return 0;
    if (!rp_json_thousandths(field(k, "ts"), &v[1]) ||
        __builtin_add_overflow(v[1], k->added_ns, &v[1]))
        return rp_fail(err, RP_BAD_INPUT, "its ts is no time in microseconds");
    v[0] = k->open.items[at - 1].region;
    k->open.count--;
    memmove(&k->open.items[at - 1], &k->open.items[at],
            (k->open.count - at + 1) * sizeof *k->open.items);
    return rp_memdb_run(&k->m, "UPDATE rocpd_region SET end = ?2 WHERE id = ?1", v, 2, NULL, 0,
                        err);
}

/* --- Python ---------------------------------------------------------------------------------- */

/* This is "train.py(184): main" in its parts. */
struct place {
    int file_len;
    int64_t line;
    const char *function;
};

/* Paths begin behind those of sys.path, so that these look like files of the program. */
static bool is_of_interpreter(const char *file)
{
    static const char *const begins_so[] = {
        "<",
        "abc.py(",
        "asyncio/",
        "collections/",
        "concurrent/",
        "contextlib.py(",
        "copy.py(",
        "dataclasses.py(",
        "enum.py(",
        "functools.py(",
        "importlib/",
        "inspect.py(",
        "logging/",
        "multiprocessing/",
        "queue.py(",
        "runpy.py(",
        "threading.py(",
        "torch/",
        "typing.py(",
        "warnings.py(",
        "weakref.py(",
    };

    for (size_t i = 0; i < sizeof begins_so / sizeof *begins_so; i++)
        if (strncmp(file, begins_so[i], strlen(begins_so[i])) == 0)
            return true;
    return strstr(file, "/torch/") || strstr(file, "/lib/python3.");
}

/* Says whether a frame is of the program: PyTorch's own functions and those of the interpreter
 * would hide it. */
static bool read_place(const char *name, struct place *ret)
{
    const char *behind = strstr(name, "): "), *open;
    char *end;

    if (!behind || is_of_interpreter(name))
        return false;
    for (open = behind; open > name && *open != '(';)
        open--;
    if (open == name)
        return false;
    ret->line = strtoll(open + 1, &end, 10);
    ret->file_len = (int)(open - name);
    ret->function = behind + strlen("): ");
    return end == behind && ret->line > 0 && open - name < INT32_MAX;
}

/* Keeps functions of the program, so that calls get the line of the innermost one around them. */
static int add_frame(struct kineto *k, struct rp_err *err)
{
    const char *name = text(k, "name");
    int64_t v[4];
    struct place place;
    int result;

    if (!name || !read_place(name, &place))
        return 0;
    result = thread_of(k, &v[0], err);
    if (result == 0)
        result = times(k, &v[1], err);
    if (result == 0)
        result = rp_memdb_string(&k->m, name, &v[3], err);
    k->frame_count++;
    return result < 0 ? result
                      : rp_memdb_run(&k->m, "INSERT INTO frame VALUES (?1, ?2, ?3, ?4)", v, 4, NULL,
                                     0, err);
}

struct frame {
    int64_t thread, start_ns, end_ns, name;
};

/* Goes through frames and calls together, by thread and time. */
struct stack {
    sqlite3_stmt *frames;
    struct frame next; /**< of the statement */
    bool has_next;
    struct {
        RP_VEC(struct frame);
    } open;
};

static int read_frame(struct kineto *k, struct stack *s, struct rp_err *err)
{
    int done = sqlite3_step(s->frames);

    s->has_next = done == SQLITE_ROW;
    for (int i = 0; i < 4 && s->has_next; i++)
        (&s->next.thread)[i] = sqlite3_column_int64(s->frames, i);
    return done == SQLITE_ROW || done == SQLITE_DONE ? 0 : rp_sql_fail(k->m.db, done, err);
}

static void close_frames(struct stack *s, int64_t thread, int64_t at_ns)
{
    while (s->open.count && (s->open.items[s->open.count - 1].thread != thread ||
                             s->open.items[s->open.count - 1].end_ns <= at_ns))
        s->open.count--;
}

/* Opens the frames that begin before a time of a thread. @return the innermost one's name, 0: none
 */
static int innermost(struct kineto *k, struct stack *s, int64_t thread, int64_t at_ns, int64_t *ret,
                     struct rp_err *err)
{
    int result = 0;

    while (result == 0 && s->has_next &&
           (s->next.thread < thread || (s->next.thread == thread && s->next.start_ns <= at_ns))) {
        close_frames(s, s->next.thread, s->next.start_ns);
        result =
            rp_vec_push(&s->open, s->next) == 0 ? read_frame(k, s, err) : rp_out_of_memory(err);
    }
    close_frames(s, thread, at_ns);
    *ret = s->open.count ? s->open.items[s->open.count - 1].name : 0;
    return result;
}

static int put_line(struct kineto *k, int64_t event, int64_t name, struct rp_err *err)
{
    const char *text = k->m.strings.keys[name - 1].bytes;
    struct place place = {0};
    rp_autofree char *file =
        read_place(text, &place) ? strndup(text, (size_t)place.file_len) : NULL;
    const char *texts[] = {file, place.function};
    const int64_t values[] = {event, place.line};

    if (!file)
        return rp_out_of_memory(err);
    return rp_memdb_run(&k->m,
                        "UPDATE rocpd_event SET line_info = json_object('file', ?3, 'line', ?2,"
                        " 'function', ?4) WHERE id = ?1",
                        values, 2, texts, 2, err);
}

static int put_lines(struct kineto *k, struct stack *s, sqlite3_stmt *calls, struct rp_err *err)
{
    int result = read_frame(k, s, err), done = SQLITE_ROW;

    while (result == 0 && (done = sqlite3_step(calls)) == SQLITE_ROW) {
        int64_t name;
        result = innermost(k, s, sqlite3_column_int64(calls, 0), sqlite3_column_int64(calls, 1),
                           &name, err);
        if (result == 0 && name)
            result = put_line(k, sqlite3_column_int64(calls, 2), name, err);
        k->line_count += name != 0;
    }
    return result < 0 || done == SQLITE_DONE ? result : rp_sql_fail(k->m.db, done, err);
}

static int put_call_sites(struct kineto *k, struct rp_err *err)
{
    struct stack s = {0};
    sqlite3_stmt *calls;
    int result = rp_memdb_statement(&k->m,
                                    "SELECT thread, start, end, name FROM frame"
                                    " ORDER BY thread, start, end DESC",
                                    &s.frames, err);

    if (result == 0)
        result = rp_memdb_statement(&k->m,
                                    "SELECT r.tid, r.start, r.event_id FROM rocpd_region r"
                                    " JOIN rocpd_event e ON e.id = r.event_id"
                                    " WHERE e.stack_id IS NOT NULL ORDER BY r.tid, r.start",
                                    &calls, err);
    if (result == 0)
        result = put_lines(k, &s, calls, err);
    rp_vec_free(&s.open);
    if (result < 0 || k->line_count == 0)
        return result;
    return rp_sql_exec(k->m.db,
                       "INSERT INTO rocpd_metadata (tag, value)"
                       " SELECT '" RP_STORE_CALL_SITES_TAG "', count(DISTINCT line_info)"
                       " FROM rocpd_event",
                       err);
}

/* --- synchronisation ------------------------------------------------------------------------- */

/* CUPTI says of a call which stream it waits with, and which call recorded the event that it waits
 * for. A call of CUDA in a trace has no arguments, so these become its arguments. Handles only have
 * to differ. */
static int add_sync(struct kineto *k, struct rp_err *err)
{
    int64_t v[4] = {whole(k, "args.correlation", 0)}, gpu;
    int64_t record = whole(k, "args.wait_on_cuda_event_record_corr_id", -1);
    int result = gpu_of(k, &gpu, err);

    if (result == 0)
        result = stream_id(k, gpu, whole(k, "args.stream", -1), &v[1], err);
    if (result == 0)
        result = stream_id(k, gpu, whole(k, "args.wait_on_stream", -1), &v[3], err);
    if (result < 0 || v[0] <= 0)
        return result;
    v[2] = record > 0 ? record : INT64_MIN;
    k->sync_count++;
    return rp_memdb_run(&k->m, "INSERT OR REPLACE INTO sync VALUES (?1, ?2, ?3, ?4)", v, 4, NULL, 0,
                        err);
}

/* A call whose operations are all on one stream names it. */
static const char put_arguments[] =
    "INSERT OR IGNORE INTO argument SELECT call, stream, record FROM sync;"
    "INSERT OR IGNORE INTO argument SELECT record, recorded_on, record FROM sync"
    " WHERE record IS NOT NULL AND recorded_on IS NOT NULL;"
    "INSERT OR IGNORE INTO argument SELECT call, min(stream), NULL FROM"
    " (SELECT stack_id AS call, stream_id AS stream FROM rocpd_kernel_dispatch d"
    " JOIN rocpd_event e ON e.id = d.event_id WHERE stack_id > 0 UNION ALL"
    " SELECT stack_id, stream_id FROM rocpd_memory_copy c"
    " JOIN rocpd_event e ON e.id = c.event_id WHERE stack_id > 0)"
    " GROUP BY call HAVING min(stream) = max(stream);"
    "INSERT INTO rocpd_arg (event_id, position, name, value)"
    " SELECT r.event_id, 0, 'stream', printf('0x%x', stream + 4096) FROM rocpd_region r"
    " JOIN rocpd_event e ON e.id = r.event_id JOIN argument a ON a.call = e.stack_id"
    " WHERE stream IS NOT NULL;"
    "INSERT INTO rocpd_arg (event_id, position, name, value)"
    " SELECT r.event_id, 1, 'event', printf('0x%x', record) FROM rocpd_region r"
    " JOIN rocpd_event e ON e.id = r.event_id JOIN argument a ON a.call = e.stack_id"
    " WHERE record IS NOT NULL;";

/* --- the process and its GPUs ---------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Says what the file calls a GPU. Where it lists others only, as PyTorch for ROCm does, whose
 * events number host and GPUs together, it is like them. */
static const json_t *device_of(const struct kineto *k, int64_t number)
{
    const json_t *device;
    size_t i;

    json_array_foreach(k->devices, i, device) if (json_is_integer(json_object_get(device, "id")) &&
                                                  json_integer_value(json_object_get(
                                                      device, "id")) == number) return device;
    return json_array_get(k->devices, 0);
}

static int64_t property(const json_t *device, const char *name)
{
    return json_integer_value(json_object_get(device, name));
}

static bool is_of_amd(const json_t *device, const char *name)
{
    return begins(name, "AMD") || strstr(name, "Radeon") || strstr(name, "Instinct") ||
           property(device, "warpSize") == 64;
}

/* HIP reports the numbers of an instruction set as a compute capability, without its stepping: how
 * many compute units there are (on RDNA pairs of them) tells which it is, else it stays unknown. */
static const char *instruction_set(const json_t *device)
{
    static const struct {
        int64_t major, minor, compute_units; /**< 0: any */
        const char *name;
    } known[] = {
        {9, 0, 104, "gfx90a"},  {9, 0, 110, "gfx90a"},  {9, 0, 120, "gfx908"},
        {9, 4, 0, "gfx942"},    {9, 5, 0, "gfx950"},    {10, 3, 40, "gfx1030"},
        {10, 3, 36, "gfx1030"}, {10, 3, 30, "gfx1030"}, {11, 0, 48, "gfx1100"},
        {11, 0, 42, "gfx1100"}, {11, 0, 40, "gfx1100"}, {11, 0, 35, "gfx1100"},
        {11, 0, 30, "gfx1101"}, {11, 0, 27, "gfx1101"}, {11, 0, 24, "gfx1101"},
        {11, 0, 20, "gfx1101"}, {11, 0, 16, "gfx1102"}, {11, 5, 20, "gfx1151"},
        {11, 5, 16, "gfx1151"}, {12, 0, 32, "gfx1201"}, {12, 0, 28, "gfx1201"},
        {12, 0, 24, "gfx1201"}, {12, 0, 16, "gfx1200"}, {12, 0, 14, "gfx1200"},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (property(device, "computeMajor") == known[i].major &&
            property(device, "computeMinor") == known[i].minor &&
            (!known[i].compute_units || property(device, "numSms") == known[i].compute_units))
            return known[i].name;
    return "";
}

/* Each rank may see its GPU as the first one, so that the number alone does not tell which it is.
 */
static json_t *properties(const struct kineto *k, const json_t *device)
{
    json_t *units = json_object_get(device, "numSms"), *wave = json_object_get(device, "warpSize"),
           *bytes = json_object_get(device, "totalGlobalMem");
    json_t *ret = json_object();

    if (json_is_integer(units))
        json_object_set(ret, "cu_count", units);
    if (json_is_integer(wave))
        json_object_set(ret, "wave_front_size", wave);
    if (json_is_integer(bytes))
        json_object_set_new(ret, "mem_banks", json_pack("[{sO}]", "size_in_bytes", bytes));
    if (json_string_length(json_object_get(device, "uuid")))
        json_object_set(ret, "gpu_uuid", json_object_get(device, "uuid"));
    else if (k->rank >= 0)
        json_object_set_new(ret, "rank", json_integer(k->rank));
    return ret;
}

static int add_gpu(struct kineto *k, int64_t number, struct rp_err *err)
{
    const json_t *device = device_of(k, number);
    const char *name = json_string_value(json_object_get(device, "name"));
    bool amd = is_of_amd(device, name = name ? name : "");
    rp_autofree char *product =
        *name && !amd && !begins(name, "NVIDIA") ? rp_format("NVIDIA %s", name) : strdup(name);
    rp_autofree char *capability = rp_format("sm_%d%d", (int)property(device, "computeMajor"),
                                             (int)property(device, "computeMinor"));
    json_t *extra = properties(k, device);
    rp_autofree char *extdata = json_dumps(extra, JSON_COMPACT | JSON_SORT_KEYS);
    const char *texts[] = {!device ? ""
                           : amd   ? instruction_set(device)
                                   : capability,
                           !device ? ""
                           : amd   ? "AMD"
                                   : "NVIDIA",
                           product, extdata};
    const int64_t v[] = {number + 1, number};

    json_decref(extra);
    if (!product || !capability || !extdata)
        return rp_out_of_memory(err);
    return rp_memdb_run(&k->m,
                        "INSERT INTO rocpd_info_agent (id, absolute_index, logical_index,"
                        " type_index, type, name, vendor_name, product_name, user_name,"
                        " model_name, extdata)"
                        " VALUES (?1, ?1, ?2, ?2, 'GPU', ?3, ?4, ?5, ?5, '', ?6)",
                        v, 2, texts, 4, err);
}

/* Ranks are 0 to world_size - 1. */
static int find_rank(struct kineto *k, struct rp_err *err)
{
    const json_t *rank = json_object_get(k->distributed, "rank"),
                 *size = json_object_get(k->distributed, "world_size");
    const int64_t number = json_integer_value(rank), count = json_integer_value(size);
    rp_autofree char *of = NULL, *is = NULL;

    k->rank = -1;
    if (!rank)
        return 0;
    if (json_is_integer(rank) && number >= 0 &&
        (!size || (json_is_integer(size) && number < count))) {
        k->rank = number;
        k->rank_count = count;
        return 0;
    }
    is = json_dumps(rank, JSON_COMPACT | JSON_ENCODE_ANY);
    of = size ? json_dumps(size, JSON_COMPACT | JSON_ENCODE_ANY) : strdup("an unknown number");
    k->odd_rank = is && of ? rp_format("%s of %s", is, of) : NULL;
    return k->odd_rank ? 0 : rp_out_of_memory(err);
}

static int add_process(struct kineto *k, struct rp_err *err)
{
    json_t *environment = json_object();
    rp_autofree char *variables = NULL;
    const char *texts[2] = {k->program};
    const int64_t pid = k->pid_known ? k->pid : 0;

    if (k->rank >= 0)
        json_object_set_new(environment, "RANK", json_integer(k->rank));
    if (k->rank_count > 0)
        json_object_set_new(environment, "WORLD_SIZE", json_integer(k->rank_count));
    texts[1] = variables = json_dumps(environment, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(environment);
    if (!variables)
        return rp_out_of_memory(err);
    return rp_memdb_run(&k->m,
                        "INSERT INTO rocpd_info_process (id, pid, command, environment)"
                        " VALUES (1, ?1, ?2, ?3)",
                        &pid, 1, texts, 2, err);
}

static int add_streams(struct kineto *k, struct rp_err *err)
{
    int result = 0;

    for (size_t i = 0; i < k->streams.count && result == 0; i++) {
        const struct kineto_stream *s = &k->streams.items[i];
        rp_autofree char *name = k->gpus.count > 1 ? rp_format("Stream %" PRId64 " of GPU %" PRId64,
                                                               s->number, s->gpu - 1)
                                                   : rp_format("Stream %" PRId64, s->number);
        const char *texts[] = {name};

        result = name ? rp_memdb_run(&k->m, "INSERT INTO rocpd_info_stream VALUES (?1, ?2)", &s->id,
                                     1, texts, 1, err)
                      : rp_out_of_memory(err);
    }
    return result;
}

/* --- the document ---------------------------------------------------------------------------- */

static const struct {
    const char *category;
    add_fn *add;
} kinds[] = {
#define EVENT(category, function) {category, function},
#include "trace/kineto_events.def"
#undef EVENT
};

static int take_name_of_process(struct kineto *k, struct rp_err *err)
{
    const char *name = text(k, "args.name"), *what = text(k, "name");

    if (!name || !what || strcmp(what, "process_name") != 0 || k->program ||
        (k->pid_known && whole(k, "pid", -1) != k->pid))
        return 0;
    k->program = strdup(name);
    return k->program ? 0 : rp_out_of_memory(err);
}

static int take_event(struct kineto *k, struct rp_err *err)
{
    const char *phase = text(k, "ph"), *category = text(k, "cat");

    if (phase && *phase == 'M')
        return take_name_of_process(k, err);
    if (phase && strcmp(phase, "E") == 0)
        return end(k, err);
    if (!phase || (strcmp(phase, "X") != 0 && strcmp(phase, "B") != 0) || !category)
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].category, category) == 0)
            return *phase == 'X' ? kinds[i].add(k, err)
                   : kinds[i].add == add_range || kinds[i].add == add_call
                       ? begin(k, kinds[i].add, err)
                       : note_oddity(k, &k->untimed, err);
    return 0;
}

static int check_event(struct kineto *k, struct rp_err *err)
{
    char first;
    int result = rp_json_stream_peek(&k->cut, &first, err);

    return result < 0 || first == '{' || first == '\0' || first == ']'
               ? result
               : rp_fail(err, RP_BAD_INPUT,
                         "an event is an object in braces, and this one is %s: remove it",
                         first == 'n'   ? "null"
                         : first == '"' ? "a text"
                         : first == '[' ? "a list"
                                        : "none");
}

static int read_events(struct kineto *k, struct rp_err *err)
{
    int result = rp_json_stream_enter(&k->cut, '[', err);

    for (uint64_t n = 0; result >= 0; n++) {
        result = rp_json_stream_next(&k->cut, ']', n == 0, err);
        if (result <= 0)
            break;
        result = check_event(k, err);
        if (result == 0)
            result = rp_json_stream_object(&k->cut, &k->record, err);
        if (result == 0)
            result = take_event(k, err);
        if (result < 0)
            return rp_wrap(err, "traceEvents[%" PRIu64 "]", n);
        k->event_count++;
    }
    return result;
}

static int read_whole(struct kineto *k, json_t **ret, struct rp_err *err)
{
    const struct rp_buf *value;
    json_t *parsed;
    int result = rp_json_stream_value(&k->cut, &value, err);

    if (result < 0)
        return result;
    parsed = rp_json_parse(value, err);
    if (!parsed)
        return -(int)err->code;
    json_decref(*ret);
    *ret = parsed;
    return 0;
}

/* Events that come before it are moved when all are read. */
static int read_base(struct kineto *k, struct rp_err *err)
{
    json_t *base = NULL;
    int result = read_whole(k, &base, err);

    if (result == 0 && json_is_integer(base) && json_integer_value(base) > 0) {
        k->base_ns = json_integer_value(base);
        if (k->row_count == 0)
            k->added_ns = k->base_ns;
    }
    json_decref(base);
    return result;
}

static int read_member(struct kineto *k, const char *key, struct rp_err *err)
{
    if (strcmp(key, "traceEvents") == 0)
        return read_events(k, err);
    if (strcmp(key, "deviceProperties") == 0)
        return read_whole(k, &k->devices, err);
    if (strcmp(key, "distributedInfo") == 0)
        return read_whole(k, &k->distributed, err);
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        return read_base(k, err);
    return rp_json_stream_value(&k->cut, NULL, err);
}

static int read_document(struct kineto *k, struct rp_err *err)
{
    char key[RP_JSON_KEY_BYTES], first;
    int result = rp_json_stream_peek(&k->cut, &first, err);

    if (result == 0 && first == '[')
        return read_events(k, err);
    if (result == 0)
        result = rp_json_stream_enter(&k->cut, '{', err);
    for (bool begin = true; result >= 0; begin = false) {
        result = rp_json_stream_next(&k->cut, '}', begin, err);
        if (result <= 0)
            break;
        result = rp_json_stream_key(&k->cut, key, err);
        if (result == 0)
            result = read_member(k, key, err);
    }
    return result;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* These are the tables of rocpd, with the columns that the events have values for; and below them
 * what joins events. */
static const char kineto_tables[] =
    /* Up to 256 MB stay in memory, and the rest goes to the disk. */
    "PRAGMA journal_mode = OFF; PRAGMA cache_size = -262144;"
    "CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
    "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);"
    "CREATE TABLE rocpd_info_process (id INTEGER PRIMARY KEY, pid, command TEXT,"
    " environment TEXT);"
    "CREATE TABLE rocpd_info_agent (id INTEGER PRIMARY KEY, type, absolute_index,"
    " logical_index, type_index, name TEXT, model_name TEXT, vendor_name TEXT,"
    " product_name TEXT, user_name TEXT, extdata TEXT);"
    "CREATE TABLE rocpd_info_thread (id INTEGER PRIMARY KEY, tid);"
    "CREATE TABLE rocpd_info_queue (id INTEGER PRIMARY KEY, name);"
    "CREATE TABLE rocpd_info_stream (id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE rocpd_info_code_object (id INTEGER PRIMARY KEY, agent_id);"
    "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, code_object_id,"
    " kernarg_segment_size, kernarg_segment_alignment, group_segment_size, private_segment_size,"
    " sgpr_count, arch_vgpr_count, accum_vgpr_count,"
    " kernel_name TEXT, display_name TEXT);"
    "CREATE TABLE rocpd_event (id INTEGER PRIMARY KEY, stack_id, parent_stack_id, extdata TEXT,"
    " line_info TEXT);"
    "CREATE TABLE rocpd_arg (id INTEGER PRIMARY KEY, event_id, position, name TEXT, value TEXT);"
    "CREATE TABLE rocpd_region (id INTEGER PRIMARY KEY, tid, start, end, name_id, event_id);"
    "CREATE TABLE rocpd_kernel_dispatch (id INTEGER PRIMARY KEY, tid, agent_id,"
    " kernel_id, dispatch_id, queue_id, stream_id, start, end, private_segment_size,"
    " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x,"
    " grid_size_y, grid_size_z, event_id);"
    "CREATE TABLE rocpd_memory_copy (id INTEGER PRIMARY KEY, tid, start, end, name_id,"
    " dst_agent_id, src_agent_id, size, stream_id, event_id);"
    "CREATE TABLE rocm_perf_collective (id INTEGER PRIMARY KEY, name_id, dtype_id, bytes, ranks);"
    "CREATE TEMP TABLE launch (call INTEGER PRIMARY KEY, block_x, block_y, block_z, grid_x, grid_y,"
    " grid_z, lds, bytes);"
    "CREATE TEMP TABLE frame (thread, start, end, name);"
    "CREATE TEMP TABLE sync (call INTEGER PRIMARY KEY, stream, record, recorded_on);"
    "CREATE TEMP TABLE argument (call INTEGER PRIMARY KEY, stream, record);"
    "BEGIN";

static const char kineto_rest[] =
    /* A call that launches several kernels, a graph, has no geometry. */
    "UPDATE rocpd_kernel_dispatch SET (workgroup_size_x, workgroup_size_y, workgroup_size_z,"
    " grid_size_x, grid_size_y, grid_size_z, group_segment_size) = (block_x, block_y, block_z,"
    " grid_x, grid_y, grid_z, lds) FROM rocpd_event e JOIN launch l ON l.call = e.stack_id"
    " WHERE e.id = event_id AND workgroup_size_x = 0 AND block_x > 0;"
    "UPDATE rocpd_memory_copy SET size = bytes FROM rocpd_event e"
    " JOIN launch l ON l.call = e.stack_id WHERE e.id = event_id AND size < 0 AND bytes >= 0;"
    "INSERT INTO rocpd_info_agent (id, type, absolute_index, logical_index, type_index, name,"
    " model_name, vendor_name, product_name, user_name, extdata)"
    " VALUES (0, 'CPU', 0, 0, 0, 'CPU', '', '', '', '', '{}');"
    "INSERT OR IGNORE INTO rocpd_info_agent (id, type, absolute_index, logical_index, type_index,"
    " name, model_name, vendor_name, product_name, user_name, extdata)"
    " SELECT id, 'GPU', id, id - 1, id - 1, '', '', '', '', '', '{}' FROM"
    " (SELECT src_agent_id AS id FROM rocpd_memory_copy UNION"
    " SELECT dst_agent_id FROM rocpd_memory_copy);"
    "INSERT INTO rocpd_info_thread SELECT DISTINCT tid, tid FROM rocpd_region;"
    "COMMIT";

/* Times begin behind 0, which stands for none. */
static int move_times(struct kineto *k, struct rp_err *err)
{
    int64_t by_ns = k->base_ns - k->added_ns, first_ns;
    rp_autofree char *sql = NULL;

    if (__builtin_add_overflow(k->first_ns, k->base_ns, &first_ns))
        return rp_fail(err, RP_BAD_INPUT, "its times are too large for its baseTimeNanoseconds");
    if (first_ns <= 0)
        by_ns += 1 - first_ns;
    if (by_ns == 0)
        return 0;
    sql = rp_format(
        "UPDATE rocpd_region SET start = start + %" PRId64 ", end = end + %" PRId64
        "; UPDATE rocpd_kernel_dispatch SET start = start + %" PRId64 ", end = end + %" PRId64
        "; UPDATE rocpd_memory_copy SET start = start + %" PRId64 ", end = end + %" PRId64 ";",
        by_ns, by_ns, by_ns, by_ns, by_ns, by_ns);
    return sql ? rp_sql_exec(k->m.db, sql, err) : rp_out_of_memory(err);
}

static int check_contents(const struct kineto *k, struct rp_err *err)
{
    static const char again[] = "record it with activities=[ProfilerActivity.CPU,"
                                " ProfilerActivity.CUDA], which is also the GPU's name on ROCm";

    if (k->kernel_count + k->copy_count)
        return 0;
    if (k->row_count == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "its %" PRIu64
                       " events have no kernel, copy, call or operator of the PyTorch"
                       " profiler: %s",
                       k->event_count, again);
    return rp_fail(err, RP_BAD_INPUT,
                   "it has no GPU events, only %" PRIu64 " operators and annotations and %" PRId64
                   " calls of the host: %s",
                   k->range_count, k->call_count - (int64_t)k->range_count, again);
}

/* The same kernel at the same time in the same stream, by the same call: of two traces of one run,
 * or of one that was written twice. */
static int find_doubles(struct kineto *k, struct kineto_oddity *ret, struct rp_err *err)
{
    sqlite3_stmt *rows;
    int result = rp_memdb_statement(
        &k->m,
        "SELECT sum(times - 1), min(name) FROM (SELECT count(*) AS times, max(y.kernel_name)"
        " AS name FROM rocpd_kernel_dispatch d JOIN rocpd_event e ON e.id = d.event_id"
        " JOIN rocpd_info_kernel_symbol y ON y.id = d.kernel_id"
        " GROUP BY d.start, d.end, d.stream_id, d.agent_id, d.kernel_id, e.stack_id)"
        " WHERE times > 1",
        &rows, err);

    if (result < 0)
        return result;
    if (sqlite3_step(rows) == SQLITE_ROW && sqlite3_column_int64(rows, 0) > 0) {
        ret->count = (uint64_t)sqlite3_column_int64(rows, 0);
        ret->first = strdup((const char *)sqlite3_column_text(rows, 1));
    }
    return ret->count && !ret->first ? rp_out_of_memory(err) : 0;
}

static int put_metadata(struct kineto *k, const char *tag, const char *value, struct rp_err *err)
{
    const char *texts[] = {tag, value};

    return value ? rp_memdb_run(&k->m, "INSERT INTO rocpd_metadata (tag, value) VALUES (?1, ?2)",
                                NULL, 0, texts, 2, err)
                 : rp_out_of_memory(err);
}

static void put_oddity(struct rp_buf *notes, const struct kineto_oddity *oddity, const char *what,
                       const char *consequence)
{
    if (oddity->count == 1)
        rp_buf_printf(notes, "its event %.60s %s: %s\n", oddity->first, what, consequence);
    else if (oddity->count)
        rp_buf_printf(notes, "%" PRIu64 " of its events, such as %.60s, each %s: %s\n",
                      oddity->count, oddity->first, what, consequence);
}

/* What began and has not ended has no duration, either. */
static int add_unended(struct kineto *k, struct rp_err *err)
{
    if (k->open.count == 0)
        return 0;
    k->untimed.count += k->open.count;
    if (!k->untimed.first)
        k->untimed.first = strdup(k->names.keys[k->open.items[0].name].bytes);
    return k->untimed.first ? 0 : rp_out_of_memory(err);
}

/* Each line stands for itself; rp_inputs_open passes them on. */
static int put_notes(struct kineto *k, struct rp_err *err)
{
    struct kineto_oddity doubles = {0};
    rp_autobuf notes = {0};
    int result = find_doubles(k, &doubles, err);

    if (result == 0)
        result = add_unended(k, err);
    if (k->odd_rank)
        rp_buf_printf(
            &notes, "its distributedInfo says rank %.40s, which cannot be: its rank is not known\n",
            k->odd_rank);
    if (result == 0) {
        put_oddity(&notes, &k->untimed, "has no duration",
                   "nothing counts as launched in it; stop the profiler before the program ends");
        put_oddity(&notes, &k->uncalled, "is a kernel without correlation",
                   "what launched it is not known, so that it counts in no range");
        put_oddity(&notes, &doubles, "stands twice, with the same times, stream and call",
                   "its time counts twice; give a trace that has it once");
    }
    free(doubles.first);
    if (result < 0 || notes.len == 0)
        return result;
    return put_metadata(k, RP_STORE_READ_NOTES_TAG, rp_buf_text(&notes), err);
}

static int put_facts(struct kineto *k, struct rp_err *err)
{
    rp_autofree char *ranks = rp_format("%" PRId64, k->rank_count);
    int result = put_metadata(k, RP_STORE_FORMAT_TAG, RP_STORE_FORMAT_PYTORCH, err);

    if (result == 0 && k->rank_count > 1)
        result = put_metadata(k, RP_STORE_RANKS_TAG, ranks, err);
    return result < 0 ? result : put_notes(k, err);
}

static int put_rest(struct kineto *k, struct rp_err *err)
{
    int result = k->frame_count ? put_call_sites(k, err) : 0;

    if (result == 0)
        result = find_rank(k, err);
    if (result == 0)
        result = put_facts(k, err);
    if (result == 0)
        result = move_times(k, err);
    if (result == 0)
        result = add_process(k, err);
    for (size_t i = 0; i < k->gpus.count && result == 0; i++)
        result = add_gpu(k, k->gpus.items[i], err);
    if (result == 0)
        result = add_streams(k, err);
    if (result == 0 && k->sync_count)
        result = rp_sql_exec(k->m.db, put_arguments, err);
    return result < 0 ? result : rp_sql_exec(k->m.db, kineto_rest, err);
}

/* Two traces in one file would be read as the first alone. */
static int check_end(struct kineto *k, struct rp_err *err)
{
    char more;
    int result = rp_json_stream_peek(&k->cut, &more, err);

    return result < 0 || more == '\0'
               ? result
               : rp_fail(err, RP_BAD_INPUT,
                         "there is more behind the end of the trace, from byte %" PRIu64
                         " on: give each trace in a file of its own",
                         rp_json_stream_offset(&k->cut) + 1);
}

static int read_trace(struct kineto *k, const char *path, struct rp_err *err)
{
    int result = rp_json_stream_open(&k->cut, path, 0, err);

    if (result == 0)
        result = rp_memdb_begin(&k->m, "", kineto_tables, err);
    if (result == 0)
        result = read_document(k, err);
    if (result == 0)
        result = check_end(k, err);
    if (result == 0)
        result = check_contents(k, err);
    return result < 0 ? result : put_rest(k, err);
}

static void end_read(struct kineto *k)
{
    rp_memdb_end(&k->m);
    rp_json_stream_close(&k->cut);
    rp_json_record_free(&k->record);
    rp_map_free(&k->kernels);
    rp_vec_free(&k->streams);
    rp_idmap_free(&k->stream_numbers);
    rp_idmap_free(&k->stream_ids);
    rp_vec_free(&k->gpus);
    rp_vec_free(&k->open);
    rp_map_free(&k->names);
    free(k->untimed.first);
    free(k->uncalled.first);
    free(k->odd_rank);
    json_decref(k->devices);
    json_decref(k->distributed);
    free(k->program);
    free(k);
}

int rp_store_open_kineto(const char *path, struct rp_store **ret, struct rp_err *err)
{
    struct kineto *k = calloc(1, sizeof *k);
    uint64_t bytes;
    sqlite3 *db;
    int result;

    if (!k)
        return rp_out_of_memory(err);
    k->cut.fd = -1;
    result = read_trace(k, path, err);
    db = k->m.db;
    bytes = k->cut.size_bytes;
    end_read(k);
    if (result == 0)
        return rp_store_adopt(db, path, strlen(path), bytes, ret, err);
    sqlite3_close(db);
    return rp_wrap(err, "read trace %s", path);
}

/* The profiler writes what it was, then the events: of operators first. */
bool rp_store_is_kineto(const char *path)
{
    enum { HEAD_BYTES = 65536 };
    static const char *const words[] = {
        "\"schemaVersion\"",   "\"deviceProperties\"", "\"distributedInfo\"", "\"cuda_runtime\"",
        "\"hip_runtime\"",     "\"cpu_op\"",           "\"gpu_memcpy\"",      "\"python_function\"",
        "\"user_annotation\"", "ProfilerStep#"};
    rp_autofree char *head = calloc(1, HEAD_BYTES + 1);
    rp_autoclose int fd = -1;
    size_t len = 0;
    ssize_t got;

    if (!head || rp_gzip_open(path, HEAD_BYTES, &fd, NULL) < 0)
        return false;
    while (len < HEAD_BYTES && (got = read(fd, head + len, HEAD_BYTES - len)) > 0)
        len += (size_t)got;
    len = strspn(head, " \t\r\n");
    if ((head[len] != '{' && head[len] != '[') || strstr(head, "\"rocprofiler-sdk-tool\"") ||
        (!strstr(head, "\"traceEvents\"") && !strstr(head, "\"ph\"") &&
         !strstr(head, "\"deviceProperties\"")))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(head, words[i]))
            return true;
    return false;
}
