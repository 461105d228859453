/* Finds which stream each HIP call of a record file used and when it ran, and makes its rows. */
/**
 * @file record_hip_calls.c
 * @brief Order, streams and rows of the recorded HIP calls.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "run/kernel_names.h"
#include "run/record_to_db.h"
#include "trace/records.h"
#include "trace/rocpd.h"

enum {
    RP_STREAM_NULL = 0,
    RP_STREAM_LEGACY = 1,       /**< hipStreamLegacy */
    RP_STREAM_PER_THREAD = 2,   /**< hipStreamPerThread */
    RP_STREAM_NON_BLOCKING = 1, /**< hipStreamNonBlocking, of a stream's flags */
};

/** Numbers handles. Initialise it with zeros, and release it with free_numbers. */
struct numbers {
    struct rp_idmap handles;
    struct {
        RP_VEC(int64_t);
    } of;
};

static bool get_number(const struct numbers *numbers, uint64_t handle, int64_t *ret)
{
    const uint32_t at = rp_idmap_find(&numbers->handles, handle);

    if (at == RP_NO_NUMBER)
        return false;
    *ret = numbers->of.items[at];
    return true;
}

static void set_number(struct numbers *numbers, uint64_t handle, int64_t value)
{
    const uint32_t at = rp_idmap_add(&numbers->handles, handle);

    if (at == numbers->of.count)
        rp_vec_push(&numbers->of, value);
    else
        numbers->of.items[at] = value;
}

static void free_numbers(struct numbers *numbers)
{
    rp_idmap_free(&numbers->handles);
    rp_vec_free(&numbers->of);
}

/** This is one call. Steps are made in the order of entry. */
struct rp_hip_step {
    uint64_t correlation_id;
    uint64_t event; /**< handle, if the call has one */
    int64_t stream; /**< 0 = the default stream */
    uint32_t tid;
    enum rp_hip_kind kind;
    bool non_blocking; /**< of STREAM_CREATE */
};

/* The device's clock starts at one second (src/device/driver/command_processor.h). Where nothing
 * ran on it, all calls happen then. */
enum { CLOCK_START_NS = 1000000000 };

struct work {
    uint64_t correlation_id;
    int64_t queue; /**< of a kernel; NO_QUEUE: of a copy it is not known */
    int64_t start_ns, end_ns;
};

struct rp_hip_clock {
    struct work *work; /**< in the order of the calls that started it */
    size_t work_count, next_work;
    int64_t *tail_ns; /**< per stream: end of all that was put on it so far */
    bool *blocking;   /**< per stream: takes part in the default stream's ordering */
    int64_t stream_count;
    struct numbers events;  /**< end of the work before each one's last record */
    struct numbers threads; /**< end of each one's last call */
    struct numbers queues;  /**< end of the last kernel of each */
    struct numbers learned; /**< by when a call has waited until then: its thread, or SEVERAL */
    int64_t start_ns;       /**< of the first work */
};

enum { SEVERAL = -1, NO_QUEUE = -1 };

static void hip_clock_free(struct rp_hip_clock *clock)
{
    if (!clock)
        return;
    free(clock->work);
    free(clock->tail_ns);
    free(clock->blocking);
    free_numbers(&clock->events);
    free_numbers(&clock->threads);
    free_numbers(&clock->queues);
    free_numbers(&clock->learned);
    free(clock);
}

static int by_call(const void *a, const void *b)
{
    uint64_t x = ((const struct work *)a)->correlation_id;
    uint64_t y = ((const struct work *)b)->correlation_id;

    return (x > y) - (x < y);
}

static void add_work(struct rp_hip_clock *clock, uint64_t correlation_id, int64_t queue,
                     uint64_t start_ns, uint64_t end_ns)
{
    if (clock->work_count == 0 || (int64_t)start_ns < clock->start_ns)
        clock->start_ns = (int64_t)start_ns;
    clock->work[clock->work_count++] =
        (struct work){correlation_id, queue, (int64_t)start_ns, (int64_t)end_ns};
}

static void read_work(struct rp_hip_clock *clock, const struct rp_record_file *file)
{
    size_t count, room = 1;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (size_t i = 0; i < count; i++)
        room += records[i].kind == RP_REC_DISPATCH || records[i].kind == RP_REC_COPY;
    clock->work = rp_alloc(room * sizeof(*clock->work));
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_dispatch *d = &records[i].u.dispatch;
        const struct rp_rec_copy *c = &records[i].u.copy;

        if (records[i].kind == RP_REC_DISPATCH)
            add_work(clock, d->correlation_id, d->queue_index, d->start_ns, d->end_ns);
        else if (records[i].kind == RP_REC_COPY)
            add_work(clock, c->correlation_id, NO_QUEUE, c->start_ns, c->end_ns);
    }
    qsort(clock->work, clock->work_count, sizeof(*clock->work), by_call);
}

static struct rp_hip_clock *hip_clock_new(const struct rp_record_file *file, int64_t stream_count)
{
    struct rp_hip_clock *clock = rp_new(struct rp_hip_clock);

    clock->start_ns = CLOCK_START_NS;
    clock->stream_count = stream_count + 1;
    clock->tail_ns = rp_alloc((size_t)clock->stream_count * sizeof(*clock->tail_ns));
    clock->blocking = rp_alloc((size_t)clock->stream_count * sizeof(*clock->blocking));
    read_work(clock, file);
    for (int64_t i = 0; i < clock->stream_count; i++) {
        clock->tail_ns[i] = clock->start_ns;
        clock->blocking[i] = true;
    }
    return clock;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the end of everything that a marker on the stream would now wait for. On the default
 * stream that includes the work on all blocking ones. */
static int64_t tail_of(const struct rp_hip_clock *clock, int64_t stream)
{
    int64_t end_ns = clock->tail_ns[stream];

    for (int64_t i = 1; i < clock->stream_count && stream == 0; i++)
        if (clock->blocking[i])
            end_ns = later(end_ns, clock->tail_ns[i]);
    return end_ns;
}

/* Returns the end of everything that new work on the stream would now wait for. */
static int64_t behind(const struct rp_hip_clock *clock, int64_t stream)
{
    int64_t end_ns = tail_of(clock, stream);

    return clock->blocking[stream] ? later(end_ns, clock->tail_ns[0]) : end_ns;
}

static int64_t last_tail(const struct rp_hip_clock *clock)
{
    int64_t end_ns = clock->start_ns;

    for (int64_t i = 0; i < clock->stream_count; i++)
        end_ns = later(end_ns, clock->tail_ns[i]);
    return end_ns;
}

struct started {
    int64_t first_ns; /**< when the first of it began; INT64_MAX: the call started nothing */
    int64_t queue_ns; /**< when what was before that in its queue had ended */
    int64_t end_ns;
};

static void take(struct rp_hip_clock *clock, const struct work *work, struct started *to)
{
    int64_t queue_ns = clock->start_ns;

    if (work->queue != NO_QUEUE)
        get_number(&clock->queues, (uint64_t)work->queue, &queue_ns);
    if (work->start_ns < to->first_ns) {
        to->first_ns = work->start_ns;
        to->queue_ns = queue_ns;
    }
    to->end_ns = later(to->end_ns, work->end_ns);
    if (work->queue != NO_QUEUE)
        set_number(&clock->queues, (uint64_t)work->queue, later(queue_ns, work->end_ns));
}

/* Puts the work that the call started on its stream. Work without a known call (below HSA) belongs
 * to no stream. */
static void take_work(struct rp_hip_clock *clock, const struct rp_hip_step *step,
                      struct started *ret)
{
    *ret = (struct started){.first_ns = INT64_MAX, .end_ns = clock->start_ns};
    while (clock->next_work < clock->work_count &&
           clock->work[clock->next_work].correlation_id < step->correlation_id)
        clock->next_work++;
    for (; clock->next_work < clock->work_count &&
           clock->work[clock->next_work].correlation_id == step->correlation_id;
         clock->next_work++)
        take(clock, &clock->work[clock->next_work], ret);
    clock->tail_ns[step->stream] = later(clock->tail_ns[step->stream], ret->end_ns);
}

/*
 * A thread that waits for another one (in pthread_join, for a lock) does so unseen. The device has
 * started its next work when the other thread had heard of an end
 * (device/driver/command_processor.h). So if work began when another thread had waited until then,
 * and neither its stream nor its queue was busy, it was started no earlier.
 * @return when the call that started it began
 */
static int64_t heard_of(const struct rp_hip_clock *clock, const struct rp_hip_step *step,
                        const struct started *started, int64_t stream_ns, int64_t start_ns)
{
    int64_t thread;
    bool began_freely = started->first_ns != INT64_MAX && started->first_ns > start_ns &&
                        started->first_ns > stream_ns && started->first_ns > started->queue_ns;

    return began_freely && get_number(&clock->learned, (uint64_t)started->first_ns, &thread) &&
                   thread != (int64_t)step->tid
               ? started->first_ns
               : start_ns;
}

/* Notes that the thread has waited until then. */
static void learn(struct rp_hip_clock *clock, int64_t end_ns, uint32_t tid)
{
    int64_t thread;
    bool others = get_number(&clock->learned, (uint64_t)end_ns, &thread) && thread != tid;

    set_number(&clock->learned, (uint64_t)end_ns, others ? SEVERAL : (int64_t)tid);
}

static int64_t waited_for(const struct rp_hip_clock *clock, const struct rp_hip_step *step,
                          int64_t own_end_ns)
{
    int64_t event_ns = clock->start_ns;

    switch (step->kind) {
    case RP_HIP_OWN_SYNC:
        return own_end_ns;
    case RP_HIP_STREAM_SYNC:
        return tail_of(clock, step->stream);
    case RP_HIP_DEVICE_SYNC:
        return last_tail(clock);
    case RP_HIP_EVENT_SYNC:
        get_number(&clock->events, step->event, &event_ns);
        return event_ns;
    case RP_HIP_OTHER:
    case RP_HIP_QUERY:
    case RP_HIP_STREAM_CREATE:
    case RP_HIP_STREAM_DESTROY:
    case RP_HIP_STREAM_WAIT:
    case RP_HIP_EVENT_RECORD:
        break;
    }
    return clock->start_ns;
}

static void hip_clock_step(struct rp_hip_clock *clock, const struct rp_hip_step *step,
                           int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    const int64_t stream_ns = behind(clock, step->stream);
    int64_t start_ns = clock->start_ns, event_ns = 0, end_ns;
    struct started started;

    take_work(clock, step, &started);
    get_number(&clock->threads, step->tid, &start_ns);
    start_ns = heard_of(clock, step, &started, stream_ns, start_ns);
    end_ns = later(start_ns, waited_for(clock, step, started.end_ns));
    if (step->kind == RP_HIP_STREAM_CREATE)
        clock->blocking[step->stream] = !step->non_blocking;
    if (end_ns > start_ns)
        learn(clock, end_ns, step->tid);
    if (step->kind == RP_HIP_EVENT_RECORD)
        set_number(&clock->events, step->event, tail_of(clock, step->stream));
    if (step->kind == RP_HIP_STREAM_WAIT && get_number(&clock->events, step->event, &event_ns))
        clock->tail_ns[step->stream] = later(clock->tail_ns[step->stream], event_ns);
    set_number(&clock->threads, step->tid, end_ns);
    *ret_start_ns = start_ns;
    *ret_end_ns = end_ns;
}

enum { MOST_ARGS = 16, LONGEST_ARG = 64 };

/* --- what hip_calls.def says --------------------------------------------------------------- */

struct argument {
    uint8_t position, offset;
    uint8_t form; /**< enum rp_hip_form */
    const char *name, *type;
};

struct listed {
    const char *name;
    uint8_t kind;        /**< enum rp_hip_kind */
    uint16_t first, end; /**< among arguments[] */
};

/* One running number over all rows says where a call's arguments begin. The numbers of the rows of
 * calls themselves are left out again. */
enum row {
#define RP_HIP_CALL(name, bytes, kind)                       ROW_##name,
#define RP_HIP_ARG(call, position, offset, form, name, type) ROW_##call##_##name,
#include "trace/hip_calls.def"
    ROW_COUNT
};

static const struct argument arguments[ROW_COUNT] = {
#define RP_HIP_ARG(call, p, o, f, n, t)                                                            \
    [ROW_##call##_##                                                                               \
        n] = {.position = (p), .offset = (o), .form = RP_HIP_##f, .name = #n, .type = (t)},
#include "trace/hip_calls.def"
};

static const struct listed listed_calls[] = {
#define RP_HIP_CALL(n, bytes, k) {.name = #n, .kind = RP_HIP_##k, .first = ROW_##n + 1},
#include "trace/hip_calls.def"
};

static const struct listed *find_listed(const char *name)
{
    for (size_t i = 0; i < sizeof(listed_calls) / sizeof(listed_calls[0]); i++)
        if (strcmp(listed_calls[i].name, name) == 0)
            return &listed_calls[i];
    return NULL;
}

/* Counts the recorded arguments of a call: those up to the next row that is a call's. */
static size_t argument_count(const struct listed *listed)
{
    size_t count = 0;

    while (listed && listed->first + count < ROW_COUNT && arguments[listed->first + count].name)
        count++;
    return count;
}

/* --- calls --------------------------------------------------------------------------------- */

struct call {
    const struct rp_rec_call *record;
    uint32_t site;               /**< 0: not known */
    const struct listed *listed; /**< NULL: not in the table */
    int64_t stream;
    int64_t start_ns, end_ns;
};

struct rp_hip_calls {
    const struct rp_record_file *file;
    struct call *calls; /**< in order of entry */
    size_t count;
    int64_t stream_count; /**< without the default one */
};

void rp_hip_calls_free(struct rp_hip_calls *calls)
{
    if (!calls)
        return;
    free(calls->calls);
    free(calls);
}

RP_DEFINE_CLEANUP(struct rp_hip_calls, rp_hip_calls_free)

static int by_entry(const void *a, const void *b)
{
    uint64_t x = ((const struct call *)a)->record->correlation_id;
    uint64_t y = ((const struct call *)b)->record->correlation_id;

    return (x > y) - (x < y);
}

static uint64_t word_at(const struct rp_rec_call *record, size_t offset, size_t bytes)
{
    uint64_t word = 0;

    if (offset + bytes <= record->arg_bytes)
        memcpy(&word, record->args + offset, bytes);
    return word;
}

/* Finds the value of the argument with one of two names.
 * @return false: the call has none */
static bool find_argument(const struct call *call, const char *name, const char *other,
                          size_t bytes, uint64_t *ret)
{
    size_t count = argument_count(call->listed);

    for (size_t i = 0; i < count; i++) {
        const struct argument *arg = &arguments[call->listed->first + i];

        if (strcmp(arg->name, name) == 0 || strcmp(arg->name, other) == 0) {
            *ret = word_at(call->record, arg->offset, bytes);
            return true;
        }
    }
    return false;
}

/* --- streams ------------------------------------------------------------------------------- */

static void find_stream(struct rp_hip_calls *calls, struct call *call, struct numbers *handles)
{
    uint64_t handle = 0;

    if (call->listed && call->listed->kind == RP_HIP_STREAM_CREATE) {
        call->stream = ++calls->stream_count;
        set_number(handles, call->record->created, call->stream);
        return;
    }
    if (!find_argument(call, "stream", "hStream", sizeof(handle), &handle) ||
        handle == RP_STREAM_NULL || handle == RP_STREAM_LEGACY)
        return;
    if (handle == RP_STREAM_PER_THREAD) /* There is one for each thread, and handles are even. */
        handle = (uint64_t)call->record->tid << 8 | RP_STREAM_PER_THREAD | 1;
    if (get_number(handles, handle, &call->stream))
        return;
    call->stream = ++calls->stream_count;
    set_number(handles, handle, call->stream);
}

static void find_streams(struct rp_hip_calls *calls)
{
    struct numbers handles = {0};

    for (size_t i = 0; i < calls->count; i++)
        find_stream(calls, &calls->calls[i], &handles);
    free_numbers(&handles);
}

static const struct call *find_call(const struct rp_hip_calls *calls, uint64_t correlation_id)
{
    const struct rp_rec_call record = {.correlation_id = correlation_id};
    const struct call key = {.record = &record};

    return calls->count == 0 ? NULL
                             : bsearch(&key, calls->calls, calls->count, sizeof(key), by_entry);
}

int64_t rp_hip_calls_stream(const struct rp_hip_calls *calls, uint64_t correlation_id)
{
    const struct call *call = find_call(calls, correlation_id);

    return call ? call->stream : 0;
}

/* --- the clock of the software device ------------------------------------------------------ */

static void set_times(struct rp_hip_calls *calls)
{
    struct rp_hip_clock *clock = hip_clock_new(calls->file, calls->stream_count);

    for (size_t i = 0; i < calls->count; i++) {
        struct call *call = &calls->calls[i];
        struct rp_hip_step step = {
            .correlation_id = call->record->correlation_id,
            .tid = call->record->tid,
            .stream = call->stream,
            .kind = call->listed ? (enum rp_hip_kind)call->listed->kind : RP_HIP_OTHER,
        };
        uint64_t flags = 0;

        find_argument(call, "event", "event", sizeof(step.event), &step.event);
        if (step.kind == RP_HIP_STREAM_CREATE)
            find_argument(call, "flags", "flags", sizeof(uint32_t), &flags);
        step.non_blocking = (flags & RP_STREAM_NON_BLOCKING) != 0;
        hip_clock_step(clock, &step, &call->start_ns, &call->end_ns);
    }
    hip_clock_free(clock);
}

/* --- reading ------------------------------------------------------------------------------- */

/* A name has the same id in the whole file. */
static void look_up_names(struct rp_hip_calls *calls, const struct listed **by_id, size_t count)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct rp_rec_call *record = calls->calls[i].record;

        if (record->name_id >= count)
            continue;
        if (!by_id[record->name_id])
            by_id[record->name_id] =
                find_listed(rp_record_file_string(calls->file, record->name_id));
        if (record->arg_bytes > 0 ||
            (by_id[record->name_id] && argument_count(by_id[record->name_id]) == 0))
            calls->calls[i].listed = by_id[record->name_id];
    }
}

static int collect(struct rp_hip_calls *calls, struct rp_err *err)
{
    rp_autofree const struct listed **by_id = NULL;
    size_t count, last_name = 0;
    const struct rp_record *records = rp_record_file_records(calls->file, &count);

    for (size_t i = 0; i < count; i++)
        calls->count += records[i].kind == RP_REC_CALL;
    calls->calls = rp_alloc_zero(calls->count + 1, sizeof(*calls->calls));
    calls->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_call *record = &records[i].u.call;

        if (records[i].kind != RP_REC_CALL)
            continue;
        calls->calls[calls->count++] = (struct call){.record = record,
                                                     .site = records[i].call_site,
                                                     .start_ns = (int64_t)record->start_ns,
                                                     .end_ns = (int64_t)record->end_ns};
        last_name = record->name_id > last_name ? record->name_id : last_name;
    }
    by_id = rp_alloc_zero(last_name + 1, sizeof(*by_id));
    look_up_names(calls, by_id, last_name + 1);
    qsort(calls->calls, calls->count, sizeof(*calls->calls), by_entry);
    for (size_t i = 1; i < calls->count; i++)
        if (by_entry(&calls->calls[i - 1], &calls->calls[i]) == 0)
            return rp_fail(err, RP_BAD_INPUT, "two HIP calls have the identity %" PRIu64,
                           calls->calls[i].record->correlation_id);
    return 0;
}

int rp_hip_calls_read(const struct rp_record_file *file, struct rp_hip_calls **ret,
                      struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_hip_calls_free) struct rp_hip_calls *calls =
        rp_alloc_zero(1, sizeof(*calls));
    int status;

    calls->file = file;
    status = collect(calls, err);
    if (status < 0)
        return status;
    find_streams(calls);
    if (rp_record_file_header(file)->flags & RP_TRACE_SOFTWARE)
        set_times(calls);
    *ret = rp_steal(calls);
    return 0;
}

/* --- rows ---------------------------------------------------------------------------------- */

static const char *copy_kind(int32_t kind)
{
    static const char *const names[] = {"HostToHost", "HostToDevice", "DeviceToHost",
                                        "DeviceToDevice", "Default"};

    if (kind >= 0 && kind < (int32_t)(sizeof(names) / sizeof(names[0])))
        return names[kind];
    return kind == 1024 ? "DeviceToDeviceNoCU" : NULL;
}

static size_t form_bytes(enum rp_hip_form form)
{
    switch (form) {
    case RP_HIP_PTR:
    case RP_HIP_U64:
    case RP_HIP_I64:
        return 8;
    case RP_HIP_U32:
    case RP_HIP_I32:
    case RP_HIP_COPY_KIND:
        return 4;
    case RP_HIP_U16:
        return 2;
    case RP_HIP_U8:
        return 1;
    case RP_HIP_DIM3:
        return 12;
    }
    return 0;
}

/* Prints a pointer as rocprofv3 does: "0" for the default stream, "(null)" for other pointers to
 * nothing. */
static void print_pointer(uint64_t value, const char *type, char *ret)
{
    if (value)
        snprintf(ret, LONGEST_ARG, "0x%" PRIx64, value);
    else
        snprintf(ret, LONGEST_ARG, "%s", strcmp(type, "ihipStream_t*") == 0 ? "0" : "(null)");
}

static void print_argument(const struct rp_rec_call *record, const struct argument *arg, char *ret)
{
    enum rp_hip_form form = (enum rp_hip_form)arg->form;
    uint64_t word = form == RP_HIP_DIM3 ? 0 : word_at(record, arg->offset, form_bytes(form));
    const char *name = form == RP_HIP_COPY_KIND ? copy_kind((int32_t)word) : NULL;
    uint32_t dim[3];

    switch (form) {
    case RP_HIP_PTR:
        print_pointer(word, arg->type, ret);
        return;
    case RP_HIP_DIM3:
        memcpy(dim, record->args + arg->offset, sizeof(dim));
        snprintf(ret, LONGEST_ARG, "{z=%" PRIu32 ", y=%" PRIu32 ", x=%" PRIu32 "}", dim[2], dim[1],
                 dim[0]);
        return;
    case RP_HIP_I64:
        snprintf(ret, LONGEST_ARG, "%" PRId64, (int64_t)word);
        return;
    case RP_HIP_I32:
    case RP_HIP_COPY_KIND:
        if (name)
            snprintf(ret, LONGEST_ARG, "%s", name);
        else
            snprintf(ret, LONGEST_ARG, "%" PRId32, (int32_t)word);
        return;
    case RP_HIP_U64:
    case RP_HIP_U32:
    case RP_HIP_U16:
    case RP_HIP_U8:
        snprintf(ret, LONGEST_ARG, "%" PRIu64, word);
        return;
    }
}

static int put_call(const struct rp_hip_calls *calls, const struct call *call,
                    const struct rp_call_sites *sites, struct rp_store_writer *writer,
                    struct rp_err *err)
{
    const struct rp_rec_call *record = call->record;
    const struct rp_row_region row = {
        .id = (int64_t)record->correlation_id,
        .tid = record->tid,
        .start_ns = call->start_ns,
        .end_ns = call->end_ns,
        .name = rp_record_file_string(calls->file, record->name_id),
        .correlation_id = (int64_t)record->correlation_id,
        .call_stack = rp_call_sites_stack(sites, call->site),
        .line_info = rp_call_sites_line(sites, call->site),
    };
    struct rp_row_arg args[MOST_ARGS];
    char values[MOST_ARGS][LONGEST_ARG];
    size_t count = argument_count(call->listed), used = 0;

    for (size_t i = 0; i < count && used < MOST_ARGS; i++) {
        const struct argument *arg = &arguments[call->listed->first + i];

        if (arg->offset + form_bytes((enum rp_hip_form)arg->form) > record->arg_bytes)
            continue;
        print_argument(record, arg, values[used]);
        args[used] = (struct rp_row_arg){
            .position = arg->position, .type = arg->type, .name = arg->name, .value = values[used]};
        used++;
    }
    return rp_store_put_region(writer, &row, args, used, err);
}

int rp_hip_calls_put(const struct rp_hip_calls *calls, const struct rp_call_sites *sites,
                     struct rp_store_writer *writer, struct rp_err *err)
{
    int status = 0;

    for (int64_t id = 1; id <= calls->stream_count && status == 0; id++) {
        char name[40];
        const struct rp_row_queue row = {.id = id, .name = name};

        snprintf(name, sizeof(name), "Stream %" PRId64, id - 1);
        status = rp_store_put_stream(writer, &row, err);
    }
    for (size_t i = 0; i < calls->count && status == 0; i++)
        status = put_call(calls, &calls->calls[i], sites, writer, err);
    return status;
}

/* A generator of kernels may have any number of launches, but all are counted. */
enum { MOST_GROUPS = 64 };

/** A group has launches that differ only in their geometry; it keeps that of the first one. */
struct group {
    const struct rp_rec_failed_launch *first;
    uint64_t calls;
};

struct groups {
    const struct rp_record_file *file;
    struct rp_demangler *demangler;
    struct group list[MOST_GROUPS];
    size_t count;
    uint64_t failed;
};

static void add(struct groups *groups, const struct rp_rec_failed_launch *launch)
{
    groups->failed++;
    for (size_t i = 0; i < groups->count; i++) {
        const struct rp_rec_failed_launch *known = groups->list[i].first;

        if (known->api_name_id == launch->api_name_id && known->error == launch->error &&
            known->kernel_name_id == launch->kernel_name_id) {
            groups->list[i].calls++;
            return;
        }
    }
    if (groups->count < MOST_GROUPS)
        groups->list[groups->count++] = (struct group){.first = launch, .calls = 1};
}

/* These two take the grid in work-items, all others in blocks. */
static bool grid_is_of_work_items(const char *api)
{
    return strcmp(api, "hipExtModuleLaunchKernel") == 0 ||
           strcmp(api, "hipHccModuleLaunchKernel") == 0;
}

static json_t *geometry(const struct rp_rec_failed_launch *launch, const char *api)
{
    json_int_t grid[3], block[3];

    for (size_t i = 0; i < 3; i++) {
        block[i] = launch->block[i];
        grid[i] = (json_int_t)launch->grid[i] * (grid_is_of_work_items(api) ? 1 : block[i]);
        if (grid[i] < 0) /* The limit is 2^32 blocks of 2^32 work-items. */
            grid[i] = INT64_MAX;
    }
    return json_pack("{s:[I,I,I], s:[I,I,I], s:I}", "grid", grid[0], grid[1], grid[2], "block",
                     block[0], block[1], block[2], "dynamic_lds_bytes",
                     (json_int_t)(launch->dynamic_lds_bytes & INT64_MAX));
}

static json_t *text_or_null(const char *text)
{
    /* It is NULL also for bytes that are not UTF-8. */
    json_t *value = *text ? json_string(text) : NULL;

    return value ? value : json_null();
}

static json_t *failed_launches_row(const struct groups *groups, const struct group *group)
{
    const struct rp_rec_failed_launch *launch = group->first;
    const char *api = rp_record_file_string(groups->file, launch->api_name_id);
    const char *symbol = rp_record_file_string(groups->file, launch->kernel_name_id);
    rp_autofree char *name =
        *symbol ? rp_demangle_kernel(groups->demangler, symbol) : rp_strdup("");
    json_t *o = geometry(launch, api);

    json_object_set_new(o, "api", text_or_null(api));
    json_object_set_new(o, "kernel", text_or_null(name));
    json_object_set_new(o, "symbol", text_or_null(symbol));
    json_object_set_new(o, "error",
                        text_or_null(rp_record_file_string(groups->file, launch->error_name_id)));
    json_object_set_new(o, "code", json_integer(launch->error));
    json_object_set_new(o, "calls", json_integer((json_int_t)group->calls));
    return o;
}

static char *to_text(const struct groups *groups, uint64_t calls)
{
    json_t *list = json_array(), *all;
    char *text;

    for (size_t i = 0; i < groups->count; i++)
        json_array_append_new(list, failed_launches_row(groups, &groups->list[i]));
    all = json_pack("{s:I, s:I, s:o}", "calls", (json_int_t)calls, "failed",
                    (json_int_t)groups->failed, "list", list);
    text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(all);
    return text;
}

int rp_failed_launches_put(const struct rp_record_file *file, struct rp_demangler *demangler,
                           struct rp_store_writer *writer, struct rp_err *err)
{
    struct groups groups = {.file = file, .demangler = demangler};
    uint64_t calls = rp_record_file_header(file)->launch_calls;
    rp_autofree char *text = NULL;
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_FAILED_LAUNCH)
            add(&groups, &records[i].u.failed_launch);
    calls = calls < groups.failed ? groups.failed : calls & INT64_MAX;
    if (calls == 0)
        return 0;
    text = to_text(&groups, calls);
    return rp_store_put_metadata(writer, RP_STORE_LAUNCHES_TAG, text, err);
}
