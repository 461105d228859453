/**
 * @file test_hip_hooks.c
 * @brief The collector's HIP calls against a HIP runtime of the test's own: this program exports
 *        the runtime's functions, and calls the tracer as the runtime does.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/blocked_thread.h"
#include "tracer/tracer.h"
#include "unit/cmocka_all.h"
#include "unit/tracer/harness.h"

#include "tracer/hip_hooks.c"

enum {
    PUSH,
    MALLOC,
    CREATE,
    LAUNCH,
    QUERY,
    SYNC,
    DESTROY,
    GRAPH,
    GRAPH_END,
    MODULE,
    EXC,
    LIST,
    OPERATIONS
};

static const char *const names[OPERATIONS] = {
    "__hipPushCallConfiguration",
    "hipMalloc",
    "hipStreamCreateWithFlags",
    "hipLaunchKernel",
    "hipEventQuery",
    "hipDeviceSynchronize",
    "hipStreamDestroy",
    "hipGraphLaunch",
    "hipGraphExecDestroy",
    "hipExtModuleLaunchKernel",
    "hipLaunchKernelExC",
    "hipLaunchCooperativeKernelMultiDevice",
};

/** Returns 0 if the call must be reported through enter and exit of @p data. */
typedef int (*rp_hip_tracer)(int domain, uint32_t operation, void *data);

static rp_hip_tracer tracer;
static int runtime_version = 70253211;
static unsigned versions_asked;

/* --- the runtime --------------------------------------------------------------------------- */

void hipRegisterTracerCallback(rp_hip_tracer function);
const char *hipApiName(uint32_t operation);
int hipRuntimeGetVersion(int *ret);

void hipRegisterTracerCallback(rp_hip_tracer function)
{
    tracer = function;
}

const char *hipApiName(uint32_t operation)
{
    return operation >= 1 && operation <= OPERATIONS ? names[operation - 1] : "unknown";
}

/* The real one is traced like any other test_call. */
int hipRuntimeGetVersion(int *ret)
{
    struct rp_hip_trace_data data;

    __atomic_add_fetch(&versions_asked, 1, __ATOMIC_SEQ_CST);
    if (tracer(RP_HIP_DOMAIN_API, MALLOC + 1, &data) == 0)
        abort();
    *ret = runtime_version;
    return 0;
}

static int error_now, result_now, results_asked, capture_mode, synchronized;
static void *capturing_stream;

int hipPeekAtLastError(void);
int hipStreamSynchronize(void *stream);
int hipDeviceSynchronize(void);
int hipStreamIsCapturing(void *stream, int *ret_status);
int hipThreadExchangeStreamCaptureMode(int *mode);

int hipPeekAtLastError(void)
{
    result_now = error_now;
    return error_now;
}

int hipExtGetLastError(void);
const char *hipGetErrorName(int error);
const char *hipKernelNameRefByPtr(const void *function, void *stream);
const char *hipKernelNameRef(void *function);

/* The real one forgets the result, which hipPeekAtLastError puts back when it was an error. */
int hipExtGetLastError(void)
{
    int result = result_now;

    results_asked++;
    result_now = 0;
    return result;
}

const char *hipGetErrorName(int error)
{
    return error == 9 ? "hipErrorInvalidConfiguration" : "hipErrorUnknown";
}

const char *hipKernelNameRefByPtr(const void *function, void *stream)
{
    assert_null(stream);
    return (uintptr_t)function == 0x1000 ? "_Z4hostPi" : NULL;
}

const char *hipKernelNameRef(void *function)
{
    return (uintptr_t)function == 0x2000 ? "_Z6modulePi" : NULL;
}

enum { CAPTURE_RELAXED = 2 };

/* In the other modes the real one spoils the captures that are going on. */
int hipStreamSynchronize(void *stream)
{
    assert_int_equal(capture_mode, CAPTURE_RELAXED);
    assert_ptr_not_equal(stream, capturing_stream);
    synchronized++;
    return 0;
}

int hipDeviceSynchronize(void)
{
    assert_int_equal(capture_mode, CAPTURE_RELAXED);
    return 0;
}

int hipStreamIsCapturing(void *stream, int *ret_status)
{
    *ret_status = stream == capturing_stream;
    return 0;
}

int hipThreadExchangeStreamCaptureMode(int *mode)
{
    int before = capture_mode;

    capture_mode = *mode;
    *mode = before;
    return 0;
}

struct test_call {
    struct rp_hip_trace_data data;
    uint32_t operation;
    bool reported;
};

static void begin(struct test_call *test_call, int which, const void *args, size_t bytes)
{
    memset(&test_call->data, 0xa5, sizeof(test_call->data)); /* it lies on a used stack */
    test_call->operation = (uint32_t)which + 1;
    test_call->reported =
        tracer && tracer(RP_HIP_DOMAIN_API, test_call->operation, &test_call->data) == 0;
    if (!test_call->reported)
        return;
    if (bytes > 0)
        memcpy(test_call->data.args, args, bytes);
    test_call->data.enter(test_call->operation, &test_call->data);
}

static void test_end(struct test_call *test_call)
{
    if (test_call->reported)
        test_call->data.exit(test_call->operation, &test_call->data);
}

static void make_call(int which, const void *args, size_t bytes)
{
    struct test_call test_call;

    begin(&test_call, which, args, bytes);
    test_end(&test_call);
}

/* --- tests --------------------------------------------------------------------------------- */

static const char *test_name_of(const struct rp_record_file *file, size_t n)
{
    return rp_record_file_string(file, nth(file, RP_REC_CALL, n)->u.call.name_id);
}

static void calls_are_recorded(void **state)
{
    const uint64_t malloc_args[] = {0x1000, 0 /* copy of the result */, 4096};
    uint64_t made = 0x5555;
    struct {
        uint64_t *place, copy;
        uint32_t flags;
    } create = {&made, 0, 1};
    const struct rp_rec_call *test_call;
    struct rp_record_file *file;

    (void)state;
    make_call(PUSH, malloc_args, sizeof(malloc_args));
    make_call(MALLOC, malloc_args, sizeof(malloc_args));
    make_call(CREATE, &create, sizeof(create));
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_CALL), 2);
    assert_string_equal(test_name_of(file, 0), "hipMalloc");
    test_call = &nth(file, RP_REC_CALL, 0)->u.call;
    assert_int_equal(test_call->arg_bytes, 24);
    assert_memory_equal(test_call->args, malloc_args, 24);
    assert_int_equal(test_call->created, 0);
    assert_true(test_call->end_ns >= test_call->start_ns && test_call->start_ns > 0);
    assert_int_equal(test_call->tid, (uint32_t)getpid());
    assert_string_equal(test_name_of(file, 1), "hipStreamCreateWithFlags");
    assert_int_equal(nth(file, RP_REC_CALL, 1)->u.call.created, 0x5555);
    assert_int_equal(nth(file, RP_REC_CALL, 1)->u.call.correlation_id,
                     test_call->correlation_id + 1);
    assert_true(rp_record_file_header(file)->flags & RP_TRACE_HIP_CALLS);
    rp_record_file_close(file);
}

static void work_belongs_to_its_call(void **state)
{
    struct fake_queue *queue = create_queue();
    const uint8_t args[64] = {0};
    struct rp_record_file *file;
    struct test_call outer, inner;

    (void)state;
    submit_one(queue, 0); /* before any test_call: an identity of its own */
    begin(&outer, LAUNCH, args, sizeof(args));
    begin(&inner, MALLOC, args, 24);
    submit_one(queue, 0);
    test_end(&inner);
    submit_one(queue, 0);
    submit_one(queue, 0);
    test_end(&outer);
    submit_one(queue, 0);
    fake_execute(queue, 5);
    wait_something();
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_DISPATCH), 5);
    assert_int_equal(nth(file, RP_REC_DISPATCH, 0)->u.dispatch.correlation_id, 1);
    assert_int_equal(nth(file, RP_REC_DISPATCH, 1)->u.dispatch.correlation_id, 3);
    assert_int_equal(nth(file, RP_REC_DISPATCH, 2)->u.dispatch.correlation_id, 2);
    assert_int_equal(nth(file, RP_REC_DISPATCH, 3)->u.dispatch.correlation_id, 2);
    assert_int_equal(nth(file, RP_REC_DISPATCH, 4)->u.dispatch.correlation_id, 4);
    assert_int_equal(nth(file, RP_REC_CALL, 0)->u.call.correlation_id, 3); /* ends first */
    assert_int_equal(nth(file, RP_REC_CALL, 1)->u.call.correlation_id, 2);
    rp_record_file_close(file);
    destroy_queue(queue);
}

/* Of each row of equal queries the first and the last, which counts those between. */
static void polling_is_merged(void **state)
{
    const uint64_t one = 0x11, two = 0x22;
    static const uint32_t merged[] = {0, 998, 0, 0, 0, 0};
    static const uint64_t asked[] = {0x11, 0x11, 0x22, 0x22, 0x11};
    struct rp_record_file *file;

    (void)state;
    for (int i = 0; i < 1000; i++)
        make_call(QUERY, &one, sizeof(one));
    make_call(QUERY, &two, sizeof(two));
    make_call(QUERY, &two, sizeof(two));
    make_call(SYNC, NULL, 0);
    make_call(QUERY, &one, sizeof(one));
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_CALL), 6);
    for (size_t i = 0, query = 0; i < 6; i++) {
        const struct rp_rec_call *test_call = &nth(file, RP_REC_CALL, i)->u.call;

        if (strcmp(test_name_of(file, i), "hipDeviceSynchronize") == 0) {
            assert_int_equal(i, 4);
            continue;
        }
        assert_int_equal(test_call->merged, merged[i]);
        assert_memory_equal(test_call->args, &asked[query++], sizeof(asked[0]));
    }
    assert_int_equal(nth(file, RP_REC_CALL, 1)->u.call.correlation_id, 1000);
    rp_record_file_close(file);
}

/** Geometry of a launch, as in the arguments of several calls. */
struct geometry {
    uint32_t grid[3], block[3];
};

static void make_launch(int which, int result, const void *args, size_t bytes)
{
    struct test_call test_call;

    begin(&test_call, which, args, bytes);
    result_now = error_now = result;
    test_end(&test_call);
    assert_int_equal(result_now, result); /* the program may ask, too */
    error_now = 0;
}

static const struct geometry geometry = {.grid = {4, 2, 1}, .block = {2048, 1, 1}};

/* This program is the runtime, so the frame that calls it is that of cmocka, which runs the tests.
 */
static void places_of_calls_are_recorded_once(void **state)
{
    const uint64_t args[8] = {0};
    const struct rp_rec_call_site *site;
    struct rp_record_file *file;
    char path[4096];

    (void)state;
    make_launch(LAUNCH, 0, args, sizeof(args));
    rp_the_tool.hip.sites.wanted = true;
    for (int i = 0; i < 3; i++)
        make_launch(LAUNCH, 0, args, sizeof(args));
    make_call(SYNC, NULL, 0);
    make_call(MALLOC, args, sizeof(args));
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_CALL_SITE), 1);
    site = &nth(file, RP_REC_CALL_SITE, 0)->u.call_site;
    assert_int_equal(site->id, 1);
    assert_in_range(site->count, 1, RP_REC_FRAMES);
    snprintf(path, sizeof(path), "%s", rp_record_file_string(file, site->module_id[0]));
    assert_int_equal(access(path, R_OK), 0);
    assert_null(strstr(path, "test_hip_hooks"));
    assert_true(site->address[0] > 0 && site->address[0] < 1 << 30);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(nth(file, RP_REC_CALL, i)->call_site, i > 0 && i < 5);
    rp_record_file_close(file);
}

static void fail_in_each_way(void)
{
    uint64_t host[8] = {0x1000}, module[9] = {0x2000}, unknown[8] = {0x3000}, graph[2] = {0x4000};
    uint64_t config[7] = {0}, exc[9] = {0}, row[7] = {0x1000}, list[2] = {0}, null_list[2] = {0};

    memcpy(&host[1], &geometry, sizeof(geometry));
    host[6] = 70000;
    memcpy(&module[1], &geometry, sizeof(geometry));
    module[4] = 16;
    memcpy(config, &geometry, sizeof(geometry));
    config[3] = 24;
    exc[0] = (uint64_t)(uintptr_t)config;
    exc[8] = 0x1000;
    memcpy(&row[1], &geometry, sizeof(geometry));
    row[5] = 40;
    list[0] = (uint64_t)(uintptr_t)row;
    make_launch(LAUNCH, 9, host, sizeof(host));
    make_launch(MODULE, 9, module, sizeof(module));
    make_launch(EXC, 9, exc, sizeof(exc));
    make_launch(LIST, 9, list, sizeof(list));
    make_launch(LIST, 1, null_list, sizeof(null_list));
    make_launch(LAUNCH, 1, unknown, sizeof(unknown));
    make_launch(GRAPH, 1, graph, sizeof(graph));
}

/* Nothing ran, and the program may not have looked. */
static void failed_launches_are_recorded(void **state)
{
    static const struct {
        const char *api, *kernel, *error;
        uint64_t lds_bytes;
        bool sized;
    } wanted[] = {
        {"hipLaunchKernel", "_Z4hostPi", "hipErrorInvalidConfiguration", 70000, true},
        {"hipExtModuleLaunchKernel", "_Z6modulePi", "hipErrorInvalidConfiguration", 16, true},
        {"hipLaunchKernelExC", "_Z4hostPi", "hipErrorInvalidConfiguration", 24, true},
        {"hipLaunchCooperativeKernelMultiDevice", "_Z4hostPi", "hipErrorInvalidConfiguration", 40,
         true},
        {"hipLaunchCooperativeKernelMultiDevice", "", "hipErrorUnknown", 0, false},
        {"hipLaunchKernel", "", "hipErrorUnknown", 0, true},
        {"hipGraphLaunch", "", "hipErrorUnknown", 0, false},
    };
    enum { FAILED = sizeof(wanted) / sizeof(wanted[0]) };
    static const struct geometry nothing;
    uint64_t host[8] = {0x1000};
    struct rp_record_file *file;

    (void)state;
    results_asked = 0;
    make_launch(LAUNCH, 0, host, sizeof(host));
    make_call(SYNC, NULL, 0); /* launches nothing: not asked for */
    assert_int_equal(results_asked, 1);
    fail_in_each_way();
    file = read_trace();
    assert_int_equal(rp_record_file_header(file)->launch_calls, FAILED + 1);
    assert_int_equal(count_kind(file, RP_REC_FAILED_LAUNCH), FAILED);
    for (size_t i = 0; i < FAILED; i++) {
        const struct rp_rec_failed_launch *f = &nth(file, RP_REC_FAILED_LAUNCH, i)->u.failed_launch;
        const struct geometry *sizes = wanted[i].sized && i != 5 ? &geometry : &nothing;

        assert_string_equal(rp_record_file_string(file, f->api_name_id), wanted[i].api);
        assert_string_equal(rp_record_file_string(file, f->kernel_name_id), wanted[i].kernel);
        assert_string_equal(rp_record_file_string(file, f->error_name_id), wanted[i].error);
        assert_memory_equal(f->grid, sizes->grid, sizeof(f->grid));
        assert_memory_equal(f->block, sizes->block, sizeof(f->block));
        assert_int_equal(f->dynamic_lds_bytes, wanted[i].lds_bytes);
    }
    rp_record_file_close(file);
}

/* HIP does not tell a tracer whether a test_call failed. */
static void handles_of_failed_calls_are_not_recorded(void **state)
{
    enum { CASES = 5 };
    static const struct {
        int error_before, error_after;
        uint64_t handle_after, created;
    } cases[CASES] = {
        {0, 0, 0x7777, 0x7777}, /* success, and the variable held the same before */
        {0, 1, 0x7777, 0},      /* failed: what is there is not a stream of this test_call */
        {5, 5, 0x7777, 0},      /* an error that nobody asked for; nothing written */
        {5, 5, 0x8888, 0x8888}, /* the same; written */
        {5, 1, 0x7777, 0},
    };
    struct rp_record_file *file;

    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        uint64_t handle = 0x7777;
        struct {
            uint64_t *place, copy;
            uint32_t flags;
        } create = {&handle, 0, 1};
        struct test_call test_call;

        error_now = cases[i].error_before;
        begin(&test_call, CREATE, &create, sizeof(create));
        handle = cases[i].handle_after;
        error_now = cases[i].error_after;
        test_end(&test_call);
    }
    error_now = 0;
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_CALL), CASES);
    for (size_t i = 0; i < CASES; i++)
        assert_int_equal(nth(file, RP_REC_CALL, i)->u.call.created, cases[i].created);
    rp_record_file_close(file);
}

/* --- callbacks of signals -------------------------------------------------------------------- */

static uint32_t callbacks_ended; /* atomic */

static bool callback(int64_t value, void *data)
{
    (void)value;
    usleep(20000); /* time for whoever does not wait */
    __atomic_add_fetch((uint32_t *)data, 1, __ATOMIC_SEQ_CST);
    return false;
}

static rp_hsa_signal signal_with_callback(int64_t initial)
{
    rp_hsa_signal signal;

    AMD(33, hsa_amd_signal_create)(initial, 0, NULL, 0, &signal);
    AMD(7, hsa_amd_signal_async_handler)
    (signal, RP_HSA_CONDITION_LT, 1, callback, &callbacks_ended);
    return signal;
}

static void *events_thread(void *data)
{
    usleep(20000);
    assert_int_equal(fake_run_handlers(), *(size_t *)data);
    return NULL;
}

/* The runtime's thread comes late; the test_call with its argument must not have ended before. */
static void make_call_with_events(int which, void *argument, size_t callbacks)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, events_thread, &callbacks), 0);
    make_call(which, &argument, sizeof(argument));
    assert_int_equal(__atomic_load_n(&callbacks_ended, __ATOMIC_SEQ_CST), callbacks);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void streams_end_after_their_callbacks(void **state)
{
    rp_hsa_signal over, running = signal_with_callback(1);

    (void)state;
    callbacks_ended = 0;
    synchronized = 0;
    over = signal_with_callback(0);
    make_call_with_events(DESTROY, (void *)0x1234, 1); /* what still runs is not waited for */
    assert_int_equal(synchronized, 1);
    assert_int_equal(capture_mode, 0);
    capturing_stream = (void *)0x1234;
    make_call(DESTROY, &capturing_stream, sizeof(capturing_stream));
    capturing_stream = NULL;
    assert_int_equal(synchronized, 1);
    CORE(42, hsa_signal_store_screlease)(running, 0);
    callbacks_ended = 0;
    assert_int_equal(fake_run_handlers(), 1);
    CORE(38, hsa_signal_destroy)(over);
    CORE(38, hsa_signal_destroy)(running);
}

/* As at the test_end of a thread that has a stream of its own: HIP makes no test_call for it. */
static void signals_end_after_callbacks(void **state)
{
    rp_hsa_signal other, over = signal_with_callback(0);
    size_t callbacks = 1;
    pthread_t thread;

    (void)state;
    callbacks_ended = 0;
    AMD(33, hsa_amd_signal_create)(1, 0, NULL, 0, &other);
    assert_int_equal(pthread_create(&thread, NULL, events_thread, &callbacks), 0);
    CORE(38, hsa_signal_destroy)(other);
    assert_int_equal(__atomic_load_n(&callbacks_ended, __ATOMIC_SEQ_CST), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    CORE(38, hsa_signal_destroy)(over);
}

static void *complete_later(void *data)
{
    usleep(50000);
    CORE(42, hsa_signal_store_screlease)(*(rp_hsa_signal *)data, 0);
    assert_int_equal(fake_run_handlers(), 1);
    return NULL;
}

static void graphs_end_after_their_launches(void **state)
{
    void *const launch[] = {(void *)0x4321, (void *)0x1234};
    rp_hsa_signal signal;
    struct test_call test_call;
    pthread_t thread;

    (void)state;
    callbacks_ended = 0;
    begin(&test_call, GRAPH, launch, sizeof(launch));
    signal = signal_with_callback(1);
    test_end(&test_call);
    make_call(GRAPH_END, &launch[1], sizeof(launch[1])); /* another graph: not waited for */
    assert_int_equal(__atomic_load_n(&callbacks_ended, __ATOMIC_SEQ_CST), 0);
    assert_int_equal(pthread_create(&thread, NULL, complete_later, &signal), 0);
    make_call(GRAPH_END, &launch[0], sizeof(launch[0]));
    assert_int_equal(__atomic_load_n(&callbacks_ended, __ATOMIC_SEQ_CST), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    CORE(38, hsa_signal_destroy)(signal);
}

static void *late_thread(void *data)
{
    usleep(*(useconds_t *)data);
    fake_run_handlers();
    return NULL;
}

static bool busy_callback(int64_t value, void *data)
{
    struct timespec used;

    (void)value, (void)data;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while (used.tv_sec == 0 && used.tv_nsec < 250 * 1000000);
    __atomic_add_fetch(&callbacks_ended, 1, __ATOMIC_SEQ_CST);
    return false;
}

/* On a busy machine the runtime's thread gets no processor for tenths of a second, before the
 * callback or within it: HIP crashes where its stream is destroyed meanwhile. */
static void callbacks_that_come_late_are_waited_for(void **state)
{
    void *const stream = (void *)0x1234;
    useconds_t late_us = 400000;
    rp_hsa_signal first = signal_with_callback(0), second;
    pthread_t thread;

    (void)state;
    callbacks_ended = 0;
    assert_int_equal(pthread_create(&thread, NULL, late_thread, &late_us), 0);
    make_call(DESTROY, &stream, sizeof(stream));
    assert_int_equal(__atomic_load_n(&callbacks_ended, __ATOMIC_SEQ_CST), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    AMD(33, hsa_amd_signal_create)(0, 0, NULL, 0, &second);
    AMD(7, hsa_amd_signal_async_handler)(second, RP_HSA_CONDITION_LT, 1, busy_callback, NULL);
    late_us = 0;
    assert_int_equal(pthread_create(&thread, NULL, late_thread, &late_us), 0);
    make_call(DESTROY, &stream, sizeof(stream));
    assert_int_equal(__atomic_load_n(&callbacks_ended, __ATOMIC_SEQ_CST), 2);
    assert_int_equal(pthread_join(thread, NULL), 0);
    CORE(38, hsa_signal_destroy)(first);
    CORE(38, hsa_signal_destroy)(second);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static uint32_t callbacks_started; /* atomic */

static bool blocked_callback(int64_t value, void *data)
{
    (void)value, (void)data;
    __atomic_add_fetch(&callbacks_started, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return false;
}

static bool next_callback(int64_t value, void *data)
{
    __atomic_add_fetch(&callbacks_started, 1, __ATOMIC_SEQ_CST);
    usleep(50000);
    return callback(value, data);
}

static void wait_for_start(uint32_t callbacks)
{
    while (__atomic_load_n(&callbacks_started, __ATOMIC_SEQ_CST) < callbacks)
        usleep(1000);
}

/* A callback that waits for something of the program: no hang, and only one delay. Those that come
 * after it are waited for again when it has ended. */
static void stuck_callbacks_are_given_up(void **state)
{
    void *const stream = (void *)0x1234;
    useconds_t late_us = 0;
    rp_hsa_signal signal, next, other;
    struct timespec start, now;
    pthread_t thread;

    (void)state;
    callbacks_ended = callbacks_started = 0;
    AMD(33, hsa_amd_signal_create)(0, 0, NULL, 0, &signal);
    AMD(33, hsa_amd_signal_create)(0, 0, NULL, 0, &next);
    AMD(7, hsa_amd_signal_async_handler)(signal, RP_HSA_CONDITION_LT, 1, blocked_callback, NULL);
    AMD(7, hsa_amd_signal_async_handler)
    (next, RP_HSA_CONDITION_LT, 1, next_callback, &callbacks_ended);
    pthread_mutex_lock(&held);
    assert_int_equal(pthread_create(&thread, NULL, late_thread, &late_us), 0);
    wait_for_start(1);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < 50; i++) {
        AMD(33, hsa_amd_signal_create)(1, 0, NULL, 0, &other);
        CORE(38, hsa_signal_destroy)(other);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert_true(now.tv_sec - start.tv_sec < 5); /* once a second, not 50 times */
    pthread_mutex_unlock(&held);
    wait_for_start(2);
    make_call(DESTROY, &stream, sizeof(stream));
    assert_int_equal(__atomic_load_n(&callbacks_ended, __ATOMIC_SEQ_CST), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    CORE(38, hsa_signal_destroy)(signal);
    CORE(38, hsa_signal_destroy)(next);
}

static bool spinning; /* atomic */
static uint32_t spinner_tid;

static bool spinning_callback(int64_t value, void *data)
{
    (void)value, (void)data;
    spinner_tid = (uint32_t)gettid();
    __atomic_add_fetch(&callbacks_started, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&spinning, __ATOMIC_SEQ_CST))
        ;
    return false;
}

/* Likewise one that never sleeps. Measured by what it has run: the machine may be busy. */
static void spinning_callbacks_are_given_up(void **state)
{
    useconds_t late_us = 0;
    rp_hsa_signal signal, other;
    int64_t before_ns = 0, after_ns = 0;
    pthread_t thread;

    (void)state;
    callbacks_started = 0;
    spinning = true;
    AMD(33, hsa_amd_signal_create)(0, 0, NULL, 0, &signal);
    AMD(7, hsa_amd_signal_async_handler)(signal, RP_HSA_CONDITION_LT, 1, spinning_callback, NULL);
    assert_int_equal(pthread_create(&thread, NULL, late_thread, &late_us), 0);
    wait_for_start(1);
    assert_true(rp_thread_cpu_ns(spinner_tid, &before_ns));
    for (int i = 0; i < 20; i++) {
        AMD(33, hsa_amd_signal_create)(1, 0, NULL, 0, &other);
        CORE(38, hsa_signal_destroy)(other);
    }
    assert_true(rp_thread_cpu_ns(spinner_tid, &after_ns));
    __atomic_store_n(&spinning, false, __ATOMIC_SEQ_CST);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_in_range(after_ns - before_ns, 1,
                    3 * INT64_C(1000000000)); /* a second, and late looks */
    CORE(38, hsa_signal_destroy)(signal);
}

static void *ask_three_times(void *data)
{
    const uint64_t stream = 0x11;

    (void)data;
    for (int i = 0; i < 3; i++)
        make_call(QUERY, &stream, sizeof(stream));
    return NULL;
}

static void queries_of_a_thread_that_ends_are_written(void **state)
{
    struct rp_record_file *file;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, ask_three_times, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_CALL), 2);
    assert_int_equal(nth(file, RP_REC_CALL, 1)->u.call.merged, 1);
    rp_record_file_close(file);
}

static void an_unknown_runtime_is_said(void **state)
{
    const uint64_t args[3] = {0};

    (void)state;
    runtime_version = 80012345;
    make_call(MALLOC, args, sizeof(args));
    make_call(MALLOC, args, sizeof(args));
    runtime_version = 70253211;
    assert_int_equal(recorded(RP_REC_CALL), 0);
    assert_true(header_now().flags & RP_TRACE_HIP_UNKNOWN);
    assert_false(header_now().flags & RP_TRACE_HIP_CALLS);
}

static void other_reports_are_declined(void **state)
{
    struct rp_hip_trace_data data;

    (void)state;
    assert_int_not_equal(tracer(2, 0, NULL), 0); /* operations: HIP would profile all of them */
    assert_int_not_equal(tracer(RP_HIP_DOMAIN_API, 1 << 20, &data), 0);
    assert_int_not_equal(tracer(RP_HIP_DOMAIN_API, OPERATIONS + 1, &data), 0);
    assert_int_equal(recorded(RP_REC_CALL), 0);
}

static void errno_is_kept(void **state)
{
    const uint64_t args[3] = {0};
    struct test_call test_call;

    (void)state;
    errno = ENOTTY;
    begin(&test_call, MALLOC, args, sizeof(args));
    assert_int_equal(errno, ENOTTY);
    test_end(&test_call);
    assert_int_equal(errno, ENOTTY);
}

static void forked_child_is_silent(void **state)
{
    const uint64_t args[3] = {0};
    int status;
    pid_t child;

    (void)state;
    make_call(MALLOC, args, sizeof(args));
    child = fork();
    if (child == 0) {
        make_call(MALLOC, args, sizeof(args));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(recorded(RP_REC_CALL), 1);
}

enum { THREADS = 8, CALLS = 2000 };

static void *caller(void *data)
{
    const uint64_t args[3] = {(uintptr_t)data};

    for (int i = 0; i < CALLS; i++)
        make_call(MALLOC, args, sizeof(args));
    return NULL;
}

static void many_threads(void **state)
{
    pthread_t threads[THREADS];
    struct rp_record_file *file;
    const struct rp_record *records;
    uint8_t *seen = calloc(THREADS * CALLS + 1, 1);
    size_t count, calls = 0;

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, caller, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    file = read_trace();
    records = rp_record_file_records(file, &count);
    for (size_t i = 0; i < count; i++) {
        if (records[i].kind != RP_REC_CALL)
            continue;
        calls++;
        assert_true(records[i].u.call.correlation_id <= THREADS * CALLS);
        assert_int_equal(seen[records[i].u.call.correlation_id]++, 0);
    }
    assert_int_equal(calls, THREADS * CALLS);
    assert_true(versions_asked >= 1 && versions_asked <= THREADS + 1);
    rp_record_file_close(file);
    free(seen);
}

static int load(void **state)
{
    tracer = NULL;
    versions_asked = 0;
    return tool_load(state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, load, tool_unload)
    const struct CMUnitTest tests[] = {
        TEST(calls_are_recorded),
        TEST(failed_launches_are_recorded),
        TEST(work_belongs_to_its_call),
        TEST(places_of_calls_are_recorded_once),
        TEST(polling_is_merged),
        TEST(queries_of_a_thread_that_ends_are_written),
        TEST(handles_of_failed_calls_are_not_recorded),
        TEST(streams_end_after_their_callbacks),
        TEST(signals_end_after_callbacks),
        TEST(graphs_end_after_their_launches),
        TEST(callbacks_that_come_late_are_waited_for),
        TEST(stuck_callbacks_are_given_up),
        TEST(spinning_callbacks_are_given_up),
        TEST(an_unknown_runtime_is_said),
        TEST(other_reports_are_declined),
        TEST(errno_is_kept),
        TEST(forked_child_is_silent),
        TEST(many_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
