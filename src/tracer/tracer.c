/**
 * @file tracer.c
 * @brief librocm-perf-tool.so: loaded by ROCr through HSA_TOOLS_LIB, records what the GPU does.
 *
 * ROCM_PERF_TRACE_DIR names the folder of the record file; without it the tool does nothing.
 * ROCM_PERF_TOOL_DEBUG names a file for a raw log.
 *
 * Orderly ends are OnUnload (hsa_shut_down) and exit(); whichever comes sets RP_TRACE_CLOSED. After
 * exit() began, the program's last clean-up may still run kernels: they are recorded too, so the
 * file stays open until OnUnload or the end of the process. After fork() the child is not traced:
 * file, thread and signals belong to the parent. A child that executes a new program loads its own
 * tool.
 */
#include "tracer/tracer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/ranks.h"
#include "trace/records.h"

#define RP_EXPORT __attribute__((visibility("default")))

struct rp_tool rp_the_tool = {.log_fd = -1};

enum {
    DRAIN_PATIENCE_MS =
        2000, /**< how long an ending program waits for kernels that make no progress */
};

RP_EXPORT bool OnLoad(void *table, uint64_t runtime_version, uint64_t failed_tool_count,
                      const char *const *failed_tool_names);
RP_EXPORT void OnUnload(void);

/* ROCr sorts tools by it: after those that replace packets, so that we see what is really run. */
RP_EXPORT extern const uint32_t HSA_AMD_TOOL_PRIORITY;
const uint32_t HSA_AMD_TOOL_PRIORITY = 100;

/* --- life ---------------------------------------------------------------------------------- */

static void after_fork_in_child(void)
{
    __atomic_store_n(&rp_the_tool.state, RP_TOOL_OFF, __ATOMIC_RELEASE);
    rp_isolate_forget(&rp_the_tool.isolate);
}

/* The software device answers to this name; it says NULL while it is switched off. */
static bool is_software_device(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "rocm_perf_device_abi");
    const char *(*abi)(void);

    memcpy(&abi, &symbol, sizeof(abi));
    return abi && abi();
}

/* Without a record file nobody would know that anything ran, so an empty file says why there is
 * none.
 */
static void leave_failure(const char *trace_path, int status)
{
    char *path;
    int fd;

    if (asprintf(&path, "%s" RP_TRACE_FAILED_SUFFIX "%d", trace_path, -status) < 0)
        return;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    free(path);
}

static const char *variable(void *ctx, const char *name)
{
    (void)ctx;
    return secure_getenv(name);
}

static int open_trace(struct rp_tool *tool, const char *folder, uint64_t runtime_version)
{
    struct rp_trace_header header = {
        .magic = {'R', 'P', 'T', 'R', 'A', 'C', 'E', '1'},
        .version = RP_TRACE_VERSION,
        .header_bytes = sizeof(struct rp_trace_header),
        .record_bytes = sizeof(struct rp_record),
        .init_ns = rp_tool_runtime_ns(tool),
        .pid = (uint32_t)getpid(),
        .ppid = (uint32_t)getppid(),
        .hsa_runtime_version = (uint32_t)runtime_version,
    };
    const struct rp_rank rank = rp_rank_find(variable, NULL);
    char *path;
    int status;

    if (rank.variable)
        snprintf(header.rank, sizeof header.rank, "%s=%d", rank.variable, rank.rank);
    tool->software = is_software_device();
    tool->device = tool->software ? rp_software_device_find() : NULL;
    if (tool->software)
        header.flags |= RP_TRACE_SOFTWARE;
    if (tool->device)
        header.timing = tool->device->timing(&header.timing_version);
    if (asprintf(&path, "%s/%u.%" PRIu64 ".rptrace", folder, header.pid, header.init_ns) < 0)
        return -ENOMEM;
    status = rp_trace_open(&tool->trace, path, &header);
    rp_tool_log(tool, "trace %s: %s", path, status < 0 ? strerror(-status) : "open");
    rp_threads_choose(tool, path);
    if (status < 0)
        leave_failure(path, status);
    free(path);
    return status;
}

static void open_log(struct rp_tool *tool)
{
    const char *path = secure_getenv("ROCM_PERF_TOOL_DEBUG");

    tool->log_fd = -1;
    if (path && *path)
        tool->log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* A hanging kernel is waited for once, though a program may end in three steps: exit(), the last
 * hsa_shut_down, OnUnload. */
static void drain(struct rp_tool *tool)
{
    rp_completions_end(tool, tool->drained ? 0 : DRAIN_PATIENCE_MS);
    tool->drained = true;
}

/* Records everything that completed, and counts what did not. */
static void settle(struct rp_tool *tool)
{
    drain(tool);
    rp_recording_finish(tool);
    rp_trace_note(&tool->trace, RP_TRACE_LOST_DISPATCHES,
                  __atomic_load_n(&tool->lost_dispatches, __ATOMIC_RELAXED) +
                      __atomic_load_n(&tool->harvest.pending_dispatches, __ATOMIC_ACQUIRE));
    rp_trace_note(&tool->trace, RP_TRACE_FINI_NS, rp_tool_now_ns(tool));
    rp_trace_note(&tool->trace, RP_TRACE_FLAGS, RP_TRACE_CLOSED);
}

/* The runtime is about to go: signals can be destroyed for the last time. Should the program go on
 * launching, the pools fill again. */
static void before_end(struct rp_tool *tool)
{
    rp_isolate_end(tool);
    settle(tool);
    pthread_mutex_lock(&tool->harvest.lock);
    rp_queues_give_back(tool);
    pthread_mutex_unlock(&tool->harvest.lock);
    rp_signal_pool_free(&tool->quiet_signals);
    rp_signal_pool_free(&tool->waking_signals);
}

static rp_hsa_status hook_init(void)
{
    rp_hsa_status status = rp_the_tool.hsa.hsa_init();

    if (status == RP_HSA_SUCCESS)
        __atomic_add_fetch(&rp_the_tool.init_count, 1, __ATOMIC_ACQ_REL);
    return status;
}

static rp_hsa_status hook_shut_down(void)
{
    if (__atomic_sub_fetch(&rp_the_tool.init_count, 1, __ATOMIC_ACQ_REL) == 0 &&
        rp_tool_active(&rp_the_tool))
        before_end(&rp_the_tool);
    return rp_the_tool.hsa.hsa_shut_down();
}

static void at_exit(void)
{
    if (!rp_tool_active(&rp_the_tool))
        return;
    rp_isolate_end(&rp_the_tool);
    /* HIP destroys the streams that are left without calling our hooks. */
    rp_hip_detach(&rp_the_tool);
    before_end(&rp_the_tool);
    rp_tool_log(&rp_the_tool, "exit");
}

static void register_once(void)
{
    static bool registered; /* It is the process's, because atexit() cannot be undone. */

    if (registered)
        return;
    registered = true;
    pthread_atfork(NULL, NULL, after_fork_in_child);
    atexit(at_exit);
}

static void reset(struct rp_tool *tool)
{
    tool->loader_known = tool->drained = false;
    rp_pending_list_free(
        &tool->harvest.copies); /* OnUnload of an earlier load left it to late threads. */
    tool->queues = NULL;
    tool->init_count = 1; /* The hsa_init() that loads the tool counts. */
    tool->device_hz = 0;
    /* Late threads of an earlier load may still look for an agent. */
    __atomic_store_n(&tool->agent_count, 0, __ATOMIC_RELEASE);
    tool->queue_count = tool->code_object_count = tool->kernel_count = 0;
    tool->dispatch_count = tool->correlation_count = tool->copy_count = tool->lost_dispatches = 0;
    pthread_mutex_init(&tool->code_lock, NULL);
    rp_hip_init(&tool->hip);
    free(tool->quiet_signals.free_signals);
    free(tool->waking_signals.free_signals);
    rp_signal_pool_init(&tool->quiet_signals, &tool->hsa, RP_HSA_SIGNAL_GPU_ONLY);
    rp_signal_pool_init(&tool->waking_signals, &tool->hsa, 0);
    rp_handlers_init(&tool->handlers);
    rp_completions_init(&tool->harvest);
    /* Late threads may have read it until now, like the copies. */
    rp_submitters_free(&tool->producers);
    rp_submitters_init(&tool->producers);
}

static bool start(struct rp_tool *tool, const struct rp_hsa_tables *tables,
                  uint64_t runtime_version)
{
    const char *folder = secure_getenv("ROCM_PERF_TRACE_DIR");

    if (!folder || !*folder)
        return false;
    open_log(tool);
    rp_recording_start(folder);
    if (!rp_hsa_bind(&tool->hsa, tables)) {
        rp_tool_log(tool, "the runtime's tables lack what is needed: nothing is recorded");
        return false;
    }
    reset(tool);
    if (rp_pending_list_init(&tool->harvest.copies) < 0)
        return false;
    rp_tool_find_clock(tool);
    if (open_trace(tool, folder, runtime_version) < 0) {
        rp_pending_list_free(&tool->harvest.copies);
        return false;
    }
    register_once();
    return true;
}

bool OnLoad(void *table, uint64_t runtime_version, uint64_t failed_tool_count,
            const char *const *failed_tool_names)
{
    struct rp_tool *tool = &rp_the_tool;
    const struct rp_hsa_tables *tables = table;
    int saved_errno = errno;

    (void)failed_tool_count;
    (void)failed_tool_names;
    /* If it is loaded a second time (listed twice), the first one stays in charge. */
    if (!rp_tool_active(tool) && start(tool, tables, runtime_version)) {
        rp_isolate_start(tool);
        rp_agents_record(tool);
        tool->hsa.hsa_amd_profiling_async_copy_enable(true);
        RP_TOOL_REPLACE(tables->core, hsa_init, hook_init);
        RP_TOOL_REPLACE(tables->core, hsa_shut_down, hook_shut_down);
        rp_dispatches_hook(tables);
        rp_signals_hook(tables);
        rp_handlers_hook(tables);
        rp_code_hook(tables);
        rp_memory_start(tool, tables);
        __atomic_store_n(&tool->state, RP_TOOL_ON, __ATOMIC_RELEASE);
        rp_hip_attach(tool);
    }
    errno = saved_errno;
    return true; /* With false ROCr would complain, but the program also runs without the tool. */
}

void OnUnload(void)
{
    struct rp_tool *tool = &rp_the_tool;
    int saved_errno = errno;

    if (!rp_tool_active(tool))
        return;
    drain(tool);
    __atomic_store_n(&tool->state, RP_TOOL_OFF, __ATOMIC_RELEASE);
    rp_queues_retire(tool);
    rp_completions_abandon(tool, &tool->harvest.copies, false);
    settle(tool);
    rp_trace_close(&tool->trace);
    rp_kernel_map_free(&tool->kernels);
    rp_tool_log(tool, "unload");
    if (tool->log_fd >= 0)
        close(tool->log_fd);
    tool->log_fd = -1;
    errno = saved_errno;
}
