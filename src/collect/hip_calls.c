/**
 * @file hip_calls.c
 * @brief Order, streams and rows of the recorded HIP calls.
 */
#include "collect/hip_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/hip_clock.h"
#include "collect/hip_handles.h"
#include "trace/records.h"
#include "trace/rocpd.h"

enum { MOST_ARGS = 16, LONGEST_ARG = 64 };

/* --- what hip_calls.def says --------------------------------------------------------------- */

struct argument {
    uint8_t position, offset;
    uint8_t form; /* enum rp_hip_form */
    const char *name, *type;
};

struct listed {
    const char *name;
    uint8_t kind;        /* enum rp_hip_kind */
    uint16_t first, end; /* among arguments[] */
};

/* One running number over all rows tells where a call's arguments begin; the numbers of the rows of
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

/* Arguments of a call as far as they were recorded: those up to the next row that is a call's. */
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
    const struct listed *listed; /* NULL: not in the table */
    int64_t stream;
    int64_t start_ns, end_ns;
};

struct rp_hip_calls {
    const struct rp_record_file *file;
    struct call *calls; /* in order of entry */
    size_t count;
    int64_t stream_count; /* without the default one */
};

void rp_hip_calls_free(struct rp_hip_calls *calls)
{
    if (!calls)
        return;
    free(calls->calls);
    free(calls);
}

RP_DEFINE_CLEANUP(struct rp_hip_calls, rp_hip_calls_free)

size_t rp_hip_calls_count(const struct rp_hip_calls *calls)
{
    return calls->count;
}

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

/* Value of the argument with one of two names; false when the call has none. */
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

static int find_stream(struct rp_hip_calls *calls, struct call *call, struct rp_handles *handles,
                       struct rp_err *err)
{
    uint64_t handle = 0;

    if (call->listed && call->listed->kind == RP_HIP_STREAM_CREATE) {
        call->stream = ++calls->stream_count;
        return rp_handles_set(handles, call->record->created, call->stream, err);
    }
    if (!find_argument(call, "stream", "hStream", sizeof(handle), &handle) ||
        handle == RP_STREAM_NULL || handle == RP_STREAM_LEGACY)
        return 0;
    if (handle == RP_STREAM_PER_THREAD) /* one for each thread; handles are even */
        handle = (uint64_t)call->record->tid << 8 | RP_STREAM_PER_THREAD | 1;
    if (rp_handles_get(handles, handle, &call->stream))
        return 0;
    call->stream = ++calls->stream_count;
    return rp_handles_set(handles, handle, call->stream, err);
}

static int find_streams(struct rp_hip_calls *calls, struct rp_err *err)
{
    struct rp_handles handles = {0};
    int status = 0;

    for (size_t i = 0; i < calls->count && status == 0; i++)
        status = find_stream(calls, &calls->calls[i], &handles, err);
    rp_handles_free(&handles);
    return status;
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

static int set_times(struct rp_hip_calls *calls, struct rp_err *err)
{
    struct rp_hip_clock *clock;
    int status = rp_hip_clock_new(calls->file, calls->stream_count, &clock, err);

    for (size_t i = 0; i < calls->count && status == 0; i++) {
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
        status = rp_hip_clock_step(clock, &step, &call->start_ns, &call->end_ns, err);
    }
    rp_hip_clock_free(clock);
    return status;
}

/* --- reading ------------------------------------------------------------------------------- */

/* The same name has the same id throughout. */
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
    calls->calls = calloc(calls->count + 1, sizeof(*calls->calls));
    if (!calls->calls)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    calls->count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_call *record = &records[i].u.call;

        if (records[i].kind != RP_REC_CALL)
            continue;
        calls->calls[calls->count++] = (struct call){.record = record,
                                                     .start_ns = (int64_t)record->start_ns,
                                                     .end_ns = (int64_t)record->end_ns};
        last_name = record->name_id > last_name ? record->name_id : last_name;
    }
    by_id = calloc(last_name + 1, sizeof(*by_id));
    if (!by_id)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    rp_cleanup(rp_cleanup_rp_hip_calls_free) struct rp_hip_calls *calls = calloc(1, sizeof(*calls));
    int status;

    if (!calls)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    calls->file = file;
    status = collect(calls, err);
    if (status == 0)
        status = find_streams(calls, err);
    if (status == 0 && (rp_record_file_header(file)->flags & RP_TRACE_SOFTWARE))
        status = set_times(calls, err);
    if (status < 0)
        return status;
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

/* As rocprofv3 prints it: "0" for the default stream, "(null)" for other pointers to nothing. */
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
                    struct rp_store_writer *writer, struct rp_err *err)
{
    const struct rp_rec_call *record = call->record;
    const struct rp_row_region row = {
        .id = (int64_t)record->correlation_id,
        .tid = record->tid,
        .start_ns = call->start_ns,
        .end_ns = call->end_ns,
        .name = rp_record_file_string(calls->file, record->name_id),
        .correlation_id = (int64_t)record->correlation_id,
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

int rp_hip_calls_put(const struct rp_hip_calls *calls, struct rp_store_writer *writer,
                     struct rp_err *err)
{
    int status = 0;

    for (int64_t id = 1; id <= calls->stream_count && status == 0; id++) {
        char name[40];
        const struct rp_row_queue row = {.id = id, .name = name};

        snprintf(name, sizeof(name), "Stream %" PRId64, id - 1);
        status = rp_store_put_stream(writer, &row, err);
    }
    for (size_t i = 0; i < calls->count && status == 0; i++)
        status = put_call(calls, &calls->calls[i], writer, err);
    return status;
}
