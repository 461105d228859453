/**
 * @file hip_hooks.c
 * @brief Records the program's HIP calls, through the runtime's own interface for tracers.
 *
 * hipRegisterTracerCallback is what roctracer uses. It needs neither rocprofiler-register, with
 * which some distributions do not build HIP, nor symbols to be put in front of the program's. The
 * runtime has one callback: a tracer that registers itself later takes the calls away from us.
 */
#include "tracer/tracer.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/records.h"

enum rp_hip_state {
    RP_HIP_ABSENT,    /**< no HIP runtime has been found so far */
    RP_HIP_UNCHECKED, /**< it reports; its version is asked for at the first call */
    RP_HIP_UNDERSTOOD,
    RP_HIP_FOREIGN, /**< of a version whose reports are not understood: nothing is recorded */
};

enum {
    RP_HIP_DOMAIN_API = 3, /**< activity_domain_t of rocclr: calls; others are operations */

    /** Bytes of hip_api_data_t. Its largest member is the hipChooseDevice of ROCm 6, which holds a
     *  hipDeviceProp_tR0600: a struct that keeps its size for good, as its name says. */
    RP_HIP_API_DATA_BYTES = 1520,
    RP_HIP_FIRST_MAJOR = 6,
    RP_HIP_LAST_MAJOR = 7,
    RP_HIP_VERSION_PER_MAJOR = 10000000, /**< of hipRuntimeGetVersion */
};

/** This is hip_api_trace_data_t, which is on the stack of the call. */
struct rp_hip_trace_data {
    uint64_t correlation_id;
    uint32_t phase;
    uint32_t reserved;
    uint8_t args[RP_HIP_API_DATA_BYTES - 16];
    uint64_t enter_ns; /**< for the tracer to use, and so is the next */
    uint64_t user_data;
    void (*enter)(uint32_t operation, struct rp_hip_trace_data *data);
    void (*exit)(uint32_t operation, struct rp_hip_trace_data *data);
};

static_assert(sizeof(struct rp_hip_trace_data) == RP_HIP_API_DATA_BYTES + 32, "no padding");

enum place { PLACE_ARGS, PLACE_CONFIG, PLACE_LIST };
enum function { FUNCTION_HOST, FUNCTION_MODULE, FUNCTION_NONE };

struct launch {
    const char *name;
    uint8_t place, function; /**< enum place, enum function */
    uint8_t function_at, grid_at, lds_at, lds_bytes;
};

static const struct launch launches[] = {
#define RP_HIP_LAUNCH(n, p, f, at, grid, lds, bytes)                                               \
    {.name = #n,                                                                                   \
     .place = PLACE_##p,                                                                           \
     .function = FUNCTION_##f,                                                                     \
     .function_at = (at),                                                                          \
     .grid_at = (grid),                                                                            \
     .lds_at = (lds),                                                                              \
     .lds_bytes = (bytes)},
#include "tracer/hip_launches.def"
};

static void hip_launch_find(struct rp_hip_launch_calls *calls, void *handle)
{
    void *const symbols[] = {dlsym(handle, "hipExtGetLastError"),
                             dlsym(handle, "hipPeekAtLastError"), dlsym(handle, "hipGetErrorName"),
                             dlsym(handle, "hipKernelNameRefByPtr"),
                             dlsym(handle, "hipKernelNameRef")};

    memcpy(&calls->take_result, &symbols[0], sizeof(calls->take_result));
    memcpy(&calls->peek_error, &symbols[1], sizeof(calls->peek_error));
    memcpy(&calls->error_name, &symbols[2], sizeof(calls->error_name));
    memcpy(&calls->host_kernel, &symbols[3], sizeof(calls->host_kernel));
    memcpy(&calls->module_kernel, &symbols[4], sizeof(calls->module_kernel));
}

/**
 * Returns the place of a call's description among those that launch, plus 1. 0: it launches
 * nothing
 */
static uint8_t rp_hip_launch_at(const char *call)
{
    for (size_t i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
        if (strcmp(launches[i].name, call) == 0)
            return (uint8_t)(i + 1);
    return 0;
}

/* Asking takes the result away. The last error is the same one when the call has failed, and asking
 * for that puts it back, for a program that asks in the same way. */
static int result_of_call(const struct rp_hip_launch_calls *calls)
{
    int error = calls->take_result && calls->peek_error ? calls->take_result() : 0;

    if (error)
        calls->peek_error();
    return error;
}

static const uint8_t *pointed(const struct rp_hip_trace_data *data)
{
    const uint8_t *first;

    memcpy(&first, data->args, sizeof(first));
    return first; /* HIP refuses a launch for NULL, among other reasons. */
}

static const char *kernel_of(const struct rp_hip_launch_calls *calls, const struct launch *launch,
                             const struct rp_hip_trace_data *data)
{
    const uint8_t *from = launch->place == PLACE_LIST ? pointed(data) : data->args;
    void *function = NULL;

    if (from && launch->function != FUNCTION_NONE)
        memcpy(&function, from + launch->function_at, sizeof(function));
    if (!function)
        return NULL;
    if (launch->function == FUNCTION_HOST)
        return calls->host_kernel ? calls->host_kernel(function, NULL) : NULL;
    return calls->module_kernel ? calls->module_kernel(function) : NULL;
}

static void put_geometry(const struct launch *launch, const struct rp_hip_trace_data *data,
                         struct rp_rec_failed_launch *ret)
{
    const uint8_t *from = launch->place == PLACE_ARGS ? data->args : pointed(data);

    if (!from || launch->lds_bytes == 0)
        return;
    memcpy(ret->grid, from + launch->grid_at, sizeof(ret->grid));
    memcpy(ret->block, from + launch->grid_at + sizeof(ret->grid), sizeof(ret->block));
    memcpy(&ret->dynamic_lds_bytes, from + launch->lds_at, launch->lds_bytes);
}

/**
 * Counts a call that launches when it has returned, and writes a record when it failed. It calls
 * HIP, so the caller ignores HIP's reports.
 * @param at  as rp_hip_launch_at says
 */
static void hip_launch_end(struct rp_tool *tool, uint8_t at, const struct rp_hip_trace_data *data,
                           uint32_t api_name_id)
{
    const struct rp_hip_launch_calls *calls = &tool->hip.launch_calls;
    const struct launch *launch = &launches[at - 1];
    struct rp_record record = {.kind = RP_REC_FAILED_LAUNCH};
    struct rp_rec_failed_launch *failed = &record.u.failed_launch;
    int error = result_of_call(calls);

    rp_trace_note(&tool->trace, RP_TRACE_LAUNCH_CALLS, 1);
    if (error == 0)
        return;
    failed->correlation_id = data->correlation_id;
    failed->error = (uint32_t)error;
    failed->tid = rp_tool_tid();
    failed->api_name_id = api_name_id;
    if (calls->error_name)
        failed->error_name_id = rp_trace_string(&tool->trace, calls->error_name(error));
    failed->kernel_name_id = rp_trace_string(&tool->trace, kernel_of(calls, launch, data));
    put_geometry(launch, data, failed);
    rp_trace_append(&tool->trace, &record);
}

/* Lets a stream come to rest before the program destroys it. */

enum { CAPTURE_MODE_RELAXED = 2 }; /**< hipStreamCaptureModeRelaxed */

/** Finds the functions of the runtime for that. */
static void hip_sync_calls_find(struct rp_hip_sync_calls *quiet, void *handle)
{
    void *const symbols[] = {
        dlsym(handle, "hipStreamSynchronize"), dlsym(handle, "hipDeviceSynchronize"),
        dlsym(handle, "hipStreamIsCapturing"), dlsym(handle, "hipThreadExchangeStreamCaptureMode")};

    memset(quiet, 0, sizeof(*quiet));
    if (!symbols[0] || !symbols[1] || !symbols[2] || !symbols[3])
        return;
    memcpy(&quiet->sync_stream, &symbols[0], sizeof(quiet->sync_stream));
    memcpy(&quiet->sync_device, &symbols[1], sizeof(quiet->sync_device));
    memcpy(&quiet->is_capturing, &symbols[2], sizeof(quiet->is_capturing));
    memcpy(&quiet->exchange_capture_mode, &symbols[3], sizeof(quiet->exchange_capture_mode));
}

/**
 * Runs at the beginning of the program's call that destroys @p stream, or all of the device
 * (NULL). It waits for the stream's end and for the callbacks that belong to it. It calls HIP, so
 * the caller ignores HIP's reports. It does not disturb running captures, and does nothing inside
 * a callback.
 */
static void hip_wait_for_stream(struct rp_tool *tool, void *stream)
{
    const struct rp_hip_sync_calls *quiet = &tool->hip.quiet;
    int mode = CAPTURE_MODE_RELAXED, capturing = 0;

    if (!quiet->sync_stream || rp_handlers_inside())
        return;
    /* In the other modes a wait for any stream spoils the captures that are going on. */
    if (quiet->exchange_capture_mode(&mode) != 0)
        return;
    if (!stream)
        quiet->sync_device();
    else if (quiet->is_capturing(stream, &capturing) == 0 && !capturing)
        quiet->sync_stream(stream);
    quiet->exchange_capture_mode(&mode);
    rp_handlers_wait(tool);
}

#define RP_HIP_OWN_STREAM ((void *)2) /* This is hipStreamPerThread. */

/* C++ compilers use this function of the C library for destructors of a thread. */
extern int __cxa_thread_atexit_impl(void (*function)(void *data), void *data, void *library);
extern char __dso_handle __attribute__((visibility("hidden")));

/** This says what a thread is doing. */
struct thread {
    uint64_t correlation_id;  /**< of the HIP call that it is in, 0 = none */
    bool asking;              /**< it is our own call */
    bool recorded;            /**< the call that it is in began while recording was on */
    bool own_stream;          /**< has used it */
    bool stream_known;        /**< of the outermost call that it is in: */
    void *stream;             /**< the handle */
    int error_before;         /**< HIP's last error and what stood in the handle's place when a */
    uint64_t handle_before;   /**< call began that creates a stream */
    uint32_t merged;          /**< queries that stand behind .query */
    struct rp_rec_call query; /**< the last query of a row of equal ones */
};

static __thread struct thread this_thread;

uint64_t rp_hip_current(void)
{
    return this_thread.correlation_id;
}

bool rp_hip_recorded(const struct rp_tool *tool)
{
    return this_thread.correlation_id ? this_thread.recorded : rp_recording(tool);
}

uint64_t rp_hip_correlation(struct rp_tool *tool, uint64_t call)
{
    return call ? call : __atomic_add_fetch(&tool->correlation_count, 1, __ATOMIC_RELAXED);
}

/* --- streams ------------------------------------------------------------------------------- */

#define LEGACY_STREAM ((void *)1) /* This is hipStreamLegacy. */

/* A handle may come again after its stream was destroyed: the newest one counts. @return its number
 * or 0: no memory */
static uint32_t number_stream(struct rp_hip *hip, void *handle, bool created)
{
    const uint64_t value = (uint64_t)(uintptr_t)handle;
    size_t i;

    pthread_mutex_lock(&hip->lock);
    i = created ? 0 : hip->stream_count;
    while (i > 0 && hip->streams[i - 1] != value)
        i--;
    if (i == 0 && hip->stream_count == hip->stream_capacity) {
        size_t capacity = hip->stream_capacity ? 2 * hip->stream_capacity : 16;
        uint64_t *bigger = realloc(hip->streams, capacity * sizeof(*bigger));

        hip->streams = bigger ? bigger : hip->streams;
        hip->stream_capacity = bigger ? capacity : hip->stream_capacity;
    }
    if (i == 0 && hip->stream_count < hip->stream_capacity) {
        hip->streams[hip->stream_count] = value;
        i = ++hip->stream_count;
    }
    pthread_mutex_unlock(&hip->lock);
    return (uint32_t)i;
}

bool rp_hip_stream(struct rp_tool *tool, uint64_t handle, uint32_t *ret)
{
    void *stream = (void *)(uintptr_t)handle;
    uint32_t number = 0;

    if (handle == UINT64_MAX)
        return false;
    if (stream && stream != LEGACY_STREAM) {
        number = number_stream(&tool->hip, stream, false);
        if (number == 0)
            return false;
    }
    *ret = number;
    return true;
}

uint64_t rp_hip_stream_handle(void)
{
    const struct thread *t = &this_thread;

    return t->correlation_id && t->stream_known ? (uint64_t)(uintptr_t)t->stream : UINT64_MAX;
}

/* The arguments of a call on its way in. */
static void note_stream(const struct rp_hip_operation *operation,
                        const struct rp_hip_trace_data *data)
{
    struct thread *t = &this_thread;

    t->stream_known = operation->own_stream || operation->stream_at > 0;
    t->stream = NULL;
    if (operation->stream_at > 0)
        memcpy(&t->stream, data->args + operation->stream_at - 1, sizeof(t->stream));
    if (operation->own_stream && !t->stream)
        t->stream = RP_HIP_OWN_STREAM;
}

/* --- operations ---------------------------------------------------------------------------- */

static const struct rp_hip_operation listed[] = {
#define RP_HIP_CALL(n, bytes, k) {.name = #n, .arg_bytes = (bytes), .kind = RP_HIP_##k},
#include "trace/hip_calls.def"
};

#define RP_HIP_CALL(name, bytes, kind)                                                             \
    static_assert((bytes) <= RP_REC_ARG_BYTES, "arguments of " #name " fit a record");
#include "trace/hip_calls.def"

/* This says where calls have a stream. */
static const struct {
    const char *call, *type;
    uint8_t at;
} arguments[] = {
#define RP_HIP_ARG(c, n, offset, f, a, t) {.call = #c, .type = (t), .at = (offset)},
#include "trace/hip_calls.def"
};

static uint8_t stream_at(const char *call)
{
    for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
        if (strcmp(arguments[i].call, call) == 0 && strcmp(arguments[i].type, "ihipStream_t*") == 0)
            return arguments[i].at + 1;
    return 0;
}

static bool ends_in(const char *text, const char *end)
{
    size_t bytes = strlen(text), end_bytes = strlen(end);

    return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

static bool starts_work(const char *name, uint8_t launch_at)
{
    return launch_at > 0 || strncmp(name, "hipMemcpy", 9) == 0 ||
           strncmp(name, "hipDrvMemcpy", 12) == 0 || strncmp(name, "hipMemset", 9) == 0 ||
           strncmp(name, "hipMemPrefetch", 14) == 0;
}

static bool waits(uint8_t kind)
{
    return kind == RP_HIP_EVENT_SYNC || kind == RP_HIP_STREAM_SYNC || kind == RP_HIP_DEVICE_SYNC ||
           kind == RP_HIP_OWN_SYNC;
}

/* Operations are numbered differently by each version of the runtime; their names are the same. The
 * compiler's own calls around a launch (__hipPushCallConfiguration) say nothing new. */
static void learn_operations(struct rp_hip *hip, const char *(*name_of)(uint32_t operation))
{
    for (uint32_t i = 1; i < RP_HIP_OPERATIONS; i++) {
        const char *name = name_of(i);

        hip->operations[i] = (struct rp_hip_operation){0};
        if (!name || strncmp(name, "hip", 3) != 0)
            continue;
        hip->operations[i].name = name;
        hip->operations[i].stream_at = stream_at(name);
        hip->operations[i].own_stream = ends_in(name, "_spt");
        hip->operations[i].resets =
            strcmp(name, "hipDeviceReset") == 0 || strcmp(name, "hipDevicePrimaryCtxReset") == 0;
        hip->operations[i].launches_graph =
            strcmp(name, "hipGraphLaunch") == 0 || strcmp(name, "hipGraphLaunch_spt") == 0;
        hip->operations[i].destroys_graph = strcmp(name, "hipGraphExecDestroy") == 0;
        hip->operations[i].launch_at = rp_hip_launch_at(name);
        hip->operations[i].has_site = starts_work(name, hip->operations[i].launch_at);
        for (size_t k = 0; k < sizeof(listed) / sizeof(listed[0]); k++) {
            if (strcmp(listed[k].name, name) == 0) {
                hip->operations[i].arg_bytes = listed[k].arg_bytes;
                hip->operations[i].kind = listed[k].kind;
                hip->operations[i].has_site |= waits(listed[k].kind);
            }
        }
    }
}

/* Two threads may both ask for it; they get the same id. */
static uint32_t name_id(struct rp_tool *tool, struct rp_hip_operation *operation)
{
    uint32_t id = __atomic_load_n(&operation->name_id, __ATOMIC_RELAXED);

    if (id == 0) {
        id = rp_trace_string(&tool->trace, operation->name);
        __atomic_store_n(&operation->name_id, id, __ATOMIC_RELAXED);
    }
    return id;
}

/* --- calls --------------------------------------------------------------------------------- */

static void append(struct rp_tool *tool, const struct rp_rec_call *call, uint32_t call_site)
{
    const struct rp_record record = {.kind = RP_REC_CALL, .call_site = call_site, .u.call = *call};

    rp_trace_append(&tool->trace, &record);
}

/* A program that polls makes millions of equal calls. Of each sequence the first and the last call
 * are kept, and the last says how many were between.
 */
static void flush_queries(struct rp_tool *tool)
{
    struct thread *t = &this_thread;

    if (t->merged > 0) {
        t->query.merged = t->merged - 1;
        append(tool, &t->query, 0);
    }
    t->merged = 0;
    t->query.arg_bytes = 0;
}

static void add_query(struct rp_tool *tool, const struct rp_rec_call *call)
{
    struct thread *t = &this_thread;

    if (t->query.arg_bytes == call->arg_bytes && t->query.name_id == call->name_id &&
        memcmp(t->query.args, call->args, call->arg_bytes) == 0) {
        if (t->merged++ == 0 && tool->hip.ending_made)
            pthread_setspecific(tool->hip.ending, tool);
    } else {
        flush_queries(tool);
        append(tool, call, 0);
    }
    t->query = *call;
}

/* HIP tells a tracer the arguments of a call, not its result. */
static int last_error(struct rp_tool *tool)
{
    int error;

    this_thread.asking = true;
    error = tool->hip.peek_error();
    this_thread.asking = false;
    return error;
}

static uint64_t first_argument(const struct rp_hip_trace_data *data)
{
    uint64_t argument;

    memcpy(&argument, data->args, sizeof(argument));
    return argument;
}

static uint64_t handle_at_place(const struct rp_hip_trace_data *data)
{
    /* HIP reads it in any case, so this read is safe. */
    const uint64_t *place = (const uint64_t *)first_argument(data);

    return place ? *place : 0;
}

/* Returns the stream that a call has created, 0 when it failed. Since HIP 7 the last error is that
 * of the last call that failed, perhaps long ago, so the written handle tells whether the call
 * succeeded.
 */
static uint64_t created_stream(struct rp_tool *tool, const struct rp_hip_trace_data *data)
{
    uint64_t handle = handle_at_place(data);
    bool created = last_error(tool) == 0 ||
                   (this_thread.error_before != 0 && handle != this_thread.handle_before);

    return created ? handle : 0;
}

/* The objects that the call is about to destroy must be idle first. */
static void come_to_rest(struct rp_tool *tool, const struct rp_hip_operation *operation,
                         const struct rp_hip_trace_data *data)
{
    int saved_errno = errno;
    void *object = operation->resets ? NULL : (void *)first_argument(data);

    if (operation->destroys_graph) {
        rp_handlers_wait_graph(tool, object);
    } else if (object || operation->resets) { /* The null stream cannot be destroyed. */
        this_thread.asking = true;
        hip_wait_for_stream(tool, object);
        this_thread.asking = false;
    }
    errno = saved_errno;
}

static void enter(uint32_t operation, struct rp_hip_trace_data *data)
{
    struct rp_tool *tool = &rp_the_tool;
    const struct rp_hip_operation *known = &tool->hip.operations[operation];

    if (known->kind != RP_HIP_QUERY && !tool->hip.unrecorded)
        flush_queries(tool);
    if (known->kind == RP_HIP_STREAM_CREATE) {
        this_thread.error_before = last_error(tool);
        this_thread.handle_before = handle_at_place(data);
    }
    if (known->launches_graph)
        rp_handlers_set_graph((void *)first_argument(data));
    if (known->kind == RP_HIP_STREAM_DESTROY || known->resets || known->destroys_graph)
        come_to_rest(tool, known, data);
    if (rp_isolate_is_on(tool) && !this_thread.correlation_id)
        note_stream(known, data);
    if (!this_thread.correlation_id)
        this_thread.recorded = rp_recording(tool);
    data->user_data = this_thread.correlation_id;
    this_thread.correlation_id = data->correlation_id;
    if (!tool->hip.unrecorded)
        data->enter_ns = rp_tool_now_ns(tool);
}

/* HIP destroys a thread's own stream when the thread ends, without a call. */
static void on_own_stream_end(void *data)
{
    struct rp_tool *tool = data;

    if (!rp_tool_active(tool))
        return;
    this_thread.asking = true;
    hip_wait_for_stream(tool, RP_HIP_OWN_STREAM);
    this_thread.asking = false;
}

/* Destructors of a thread run last first: at the end of a call HIP has registered its own. */
static void note_own_stream(struct rp_tool *tool, const struct rp_hip_operation *operation,
                            const struct rp_hip_trace_data *data)
{
    bool own = operation->own_stream;
    void *stream;

    if (this_thread.own_stream)
        return;
    if (operation->stream_at > 0) {
        memcpy(&stream, data->args + operation->stream_at - 1, sizeof(stream));
        own = own || stream == RP_HIP_OWN_STREAM;
    }
    if (own)
        this_thread.own_stream =
            __cxa_thread_atexit_impl(on_own_stream_end, tool, &__dso_handle) == 0;
}

/* Ends only the outermost call, because launches of the runtime within another call belong to that
 * call.
 */
static void end_launch(struct rp_tool *tool, struct rp_hip_operation *operation,
                       const struct rp_hip_trace_data *data)
{
    if (operation->launch_at == 0 || this_thread.correlation_id || !this_thread.recorded)
        return;
    this_thread.asking = true;
    hip_launch_end(tool, operation->launch_at, data, name_id(tool, operation));
    this_thread.asking = false;
}

/* Calls of the runtime within a call of the program were made at the same place. */
static uint32_t call_site(struct rp_tool *tool, const struct rp_hip_operation *operation)
{
    const void *runtime;

    if (!tool->hip.sites.wanted || !operation->has_site)
        return 0;
    memcpy(&runtime, &tool->hip.enlist, sizeof(runtime));
    return rp_call_site(tool, runtime);
}

static void leave(uint32_t operation, struct rp_hip_trace_data *data)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_hip_operation *known = &tool->hip.operations[operation];
    struct rp_rec_call call = {.correlation_id = data->correlation_id, .start_ns = data->enter_ns};
    int saved_errno = errno;

    this_thread.correlation_id = data->user_data;
    if (known->launches_graph)
        rp_handlers_set_graph(NULL);
    if (!rp_tool_active(tool))
        return;
    note_own_stream(tool, known, data);
    end_launch(tool, known, data);
    if (known->kind == RP_HIP_STREAM_CREATE)
        call.created = created_stream(tool, data);
    if (call.created && rp_isolate_is_on(tool))
        number_stream(&tool->hip, (void *)(uintptr_t)call.created, true);
    /* Without its creation nobody would know which stream later work is on. */
    if (tool->hip.unrecorded || !(this_thread.recorded || call.created ||
                                  known->kind == RP_HIP_STREAM_DESTROY || known->resets)) {
        errno = saved_errno;
        return;
    }
    call.end_ns = rp_tool_now_ns(tool);
    call.tid = rp_tool_tid();
    call.name_id = name_id(tool, known);
    call.arg_bytes = known->arg_bytes;
    memcpy(call.args, data->args, known->arg_bytes);
    if (known->kind == RP_HIP_QUERY)
        add_query(tool, &call);
    else
        append(tool, &call, call_site(tool, known));
    errno = saved_errno;
}

/* At the first call the runtime has started, so it can be asked; in OnLoad it is still starting. */
static bool understood(struct rp_tool *tool)
{
    struct rp_hip *hip = &tool->hip;
    uint32_t state = __atomic_load_n(&hip->state, __ATOMIC_ACQUIRE);
    int version = 0, major;

    if (state != RP_HIP_UNCHECKED)
        return state == RP_HIP_UNDERSTOOD;
    this_thread.asking = true;
    hip->get_version(&version);
    this_thread.asking = false;
    major = version / RP_HIP_VERSION_PER_MAJOR;
    state = major >= RP_HIP_FIRST_MAJOR && major <= RP_HIP_LAST_MAJOR ? RP_HIP_UNDERSTOOD
                                                                      : RP_HIP_FOREIGN;
    __atomic_store_n(&hip->state, state, __ATOMIC_RELEASE);
    if (!hip->unrecorded)
        rp_trace_note(&tool->trace, RP_TRACE_FLAGS,
                      state == RP_HIP_UNDERSTOOD ? RP_TRACE_HIP_CALLS : RP_TRACE_HIP_UNKNOWN);
    rp_tool_log(tool, "HIP runtime %d: calls are %s", version,
                state == RP_HIP_UNDERSTOOD ? "recorded" : "not understood");
    return state == RP_HIP_UNDERSTOOD;
}

static int on_report(int domain, uint32_t operation, void *report)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_hip_trace_data *data = report;
    int saved_errno = errno;
    bool wanted = domain == RP_HIP_DOMAIN_API && data && operation < RP_HIP_OPERATIONS &&
                  rp_tool_active(tool) && !this_thread.asking &&
                  tool->hip.operations[operation].name && understood(tool);

    errno = saved_errno;
    if (!wanted)
        return -1;
    data->correlation_id = /* Without recording, it only says that the thread is within a call. */
        rp_tool_records(tool) ? __atomic_add_fetch(&tool->correlation_count, 1, __ATOMIC_RELAXED)
                              : 1;
    data->enter = enter;
    data->exit = leave;
    return 0;
}

/* --- finding the runtime ------------------------------------------------------------------- */

static int open_hip(struct dl_phdr_info *info, size_t size, void *ret)
{
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

    (void)size;
    if (!name || strncmp(name, "/libamdhip64", 12) != 0)
        return 0;
    /* It is not opened here, because the loader's lock is held. */
    *(void **)ret = strdup(info->dlpi_name);
    return 1;
}

/* The global scope is not enough, because Python's extensions load HIP into a scope of their own.
 * The handle is kept, because HIP stays loaded until the process ends.
 */
static void *hip_handle(void)
{
    char *path = NULL;
    void *handle;

    dl_iterate_phdr(open_hip, &path);
    handle = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    free(path);
    return handle ? handle : RTLD_DEFAULT;
}

/* A thread that ends still has its row of queries. */
static void on_thread_end(void *tool)
{
    if (rp_tool_active(tool))
        flush_queries(tool);
}

void rp_hip_init(struct rp_hip *hip)
{
    const char *wish = secure_getenv("ROCM_PERF_HIP_CALLS");
    const char *sites = secure_getenv("ROCM_PERF_CALL_SITES");

    if (!hip->ending_made) /* The tool may be loaded again and again. */
        hip->ending_made = pthread_key_create(&hip->ending, on_thread_end) == 0;
    pthread_mutex_init(&hip->lock, NULL);
    free(hip->sites.list); /* Its ids are those of the record file before. */
    hip->sites = (struct rp_call_sites){0};
    pthread_mutex_init(&hip->sites.lock, NULL);
    hip->sites.wanted = sites && strcmp(sites, "on") == 0;
    hip->state = RP_HIP_ABSENT;
    hip->unrecorded = wish && strcmp(wish, "off") == 0;
}

void rp_hip_attach(struct rp_tool *tool)
{
    struct rp_hip *hip = &tool->hip;
    const char *(*name_of)(uint32_t operation);
    struct rp_hip_launch_calls launch_calls;
    struct rp_hip_sync_calls quiet;
    void *handle, *symbols[4];

    if (__atomic_load_n(&hip->state, __ATOMIC_ACQUIRE) != RP_HIP_ABSENT)
        return;
    /* This comes before the lock, because a thread that comes here may hold the loader's own lock.
     */
    handle = hip_handle();
    symbols[0] = dlsym(handle, "hipRegisterTracerCallback");
    symbols[1] = dlsym(handle, "hipApiName");
    symbols[2] = dlsym(handle, "hipRuntimeGetVersion");
    symbols[3] = dlsym(handle, "hipPeekAtLastError");
    hip_sync_calls_find(&quiet, handle);
    hip_launch_find(&launch_calls, handle);
    pthread_mutex_lock(&hip->lock);
    if (hip->state == RP_HIP_ABSENT && symbols[0] && symbols[1] && symbols[2] && symbols[3]) {
        memcpy(&hip->enlist, &symbols[0], sizeof(hip->enlist));
        memcpy(&name_of, &symbols[1], sizeof(name_of));
        memcpy(&hip->get_version, &symbols[2], sizeof(hip->get_version));
        memcpy(&hip->peek_error, &symbols[3], sizeof(hip->peek_error));
        learn_operations(hip, name_of);
        __atomic_store_n(&hip->state, RP_HIP_UNCHECKED, __ATOMIC_RELEASE);
        hip->quiet = quiet;
        hip->launch_calls = launch_calls;
        hip->enlist(on_report);
    }
    pthread_mutex_unlock(&hip->lock);
}

void rp_hip_detach(struct rp_tool *tool)
{
    flush_queries(tool); /* exit() does not run the destructors of its thread. */
    if (__atomic_load_n(&tool->hip.state, __ATOMIC_ACQUIRE) != RP_HIP_ABSENT)
        tool->hip.enlist(NULL);
}
