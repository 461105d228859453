/**
 * @file tracer.h
 * @brief This header has the one context of librocm-perf-tool.so, and what those of its files offer
 * that have no header of their own: hip_hooks.c, call_sites.c, record_file.c, dispatches.c,
 * code_objects.c, and of hsa_runtime.c what needs the context. One section is one file.
 *
 * Locks, outermost first; nobody calls into the runtime's queues with any of them held:
 *   ROCr's queue lock (held around packet callbacks) > harvest.lock > bucket or pool lock > trace
 * lock. handlers.lock: nothing is called with it but the load of a signal. The gate (isolate.h) is
 * within ROCr's queue lock and outside of all others.
 */
#ifndef RP_TRACER_TRACER_H
#define RP_TRACER_TRACER_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "trace/records.h"
#include "tracer/completions.h"
#include "tracer/hsa_abi.h"
#include "tracer/isolate.h"
#include "tracer/memory_map.h"
#include "tracer/packet_origins.h"
#include "tracer/python_frames.h"
#include "tracer/software_device.h"

struct rp_queue;
struct rp_tool;

/* --- hip_hooks.c: the program's calls to the HIP runtime -------------------------------------- */

enum { RP_HIP_OPERATIONS = 1024 };

/* If HIP refuses a launch nothing runs, and many programs do not check the error. HIP hands a
 * tracer the arguments of a call, but not its result. hipExtGetLastError() gives the result of the
 * thread's last call, which is the one that is just returning.
 */

/** hip_hooks.c calls these functions of the runtime; without the first two no failure is seen. */
struct rp_hip_launch_calls {
    int (*take_result)(void);                                       /**< hipExtGetLastError */
    int (*peek_error)(void);                                        /**< hipPeekAtLastError */
    const char *(*error_name)(int error);                           /**< hipGetErrorName */
    const char *(*host_kernel)(const void *function, void *stream); /**< hipKernelNameRefByPtr */
    const char *(*module_kernel)(void *function);                   /**< hipKernelNameRef */
};

/** This is known of one operation of the runtime. */
struct rp_hip_operation {
    const char *name;    /**< NULL: not recorded */
    uint32_t name_id;    /**< atomic: of the trace, 0 until it is first called */
    uint8_t arg_bytes;   /**< 0 unless hip_calls.def lists it */
    uint8_t kind;        /**< enum rp_hip_kind */
    uint8_t stream_at;   /**< place of the stream among the arguments plus 1, 0 = has none */
    bool own_stream;     /**< always on the stream of the calling thread */
    bool resets;         /**< destroys all streams of the device */
    bool launches_graph; /**< the first argument is the graph */
    bool destroys_graph;
    uint8_t launch_at; /**< place in hip_launches.def plus 1, 0 = launches no kernels */
    bool has_site;     /**< starts work or waits: who calls it is worth a walk of the stack */
};

/* Streams and graphs are taken apart only when the runtime has nothing left to report of
 * them.
 *
 * Who registers for HIP's calls is told of the end of every marker and graph, too, in a callback of
 * a signal on ROCr's thread; HIP 7.2 reads the marker's stream and the names of the graph's kernels
 * for that, even when the answer is that nobody wants it. hipStreamDestroy and hipGraphExecDestroy
 * do not wait for that thread: as soon as there is a tracer, about one program in three that
 * destroys busy streams dies in libamdhip64, and every one that destroys graphs that still run.
 */

/** hip_hooks.c calls these functions of the runtime, and needs all of them. */
struct rp_hip_sync_calls {
    int (*sync_stream)(void *stream);
    int (*sync_device)(void);
    int (*is_capturing)(void *stream, int *ret_status);
    int (*exchange_capture_mode)(int *mode);
};

/** This is where the program calls HIP from; call_sites.c fills it. */
struct rp_call_sites {
    bool wanted;
    pthread_mutex_t lock;       /**< outside of the trace's lock; of what follows */
    struct rp_known_site *list; /**< hashed by its frames, at most half full */
    size_t count, capacity;
    bool walks_known; /**< of the next two */
    uintptr_t own[2]; /**< begin and end of this library in memory */
    uintptr_t hip[2]; /**< of the HIP runtime */
    struct rp_python python;
};

struct rp_hip {
    struct rp_call_sites sites;
    uint32_t state; /**< atomic, enum rp_hip_state */
    pthread_mutex_t lock;
    pthread_key_t ending; /**< of threads whose last query is still to be written */
    bool ending_made;
    uint64_t
        *streams; /**< under .lock: handles of streams, in order of creation; see rp_hip_stream */
    size_t stream_count, stream_capacity;
    bool unrecorded; /**< calls are followed (streams must come to rest), but not written */
    int (*get_version)(int *ret);
    int (*peek_error)(void);
    struct rp_hip_sync_calls quiet;
    struct rp_hip_launch_calls launch_calls;
    /** hipRegisterTracerCallback. HIP asks the tracer at the begin of each operation, with a struct
     * rp_hip_trace_data as @p report. 0 means that the call must be reported through its enter and
     * exit, which the tracer has set; -1 means that this operation is not reported. NULL instead of
     * a tracer ends it. */
    void (*enlist)(int (*tracer)(int domain, uint32_t operation, void *report));
    struct rp_hip_operation operations[RP_HIP_OPERATIONS];
};

void rp_hip_init(struct rp_hip *hip);

/** Asks the HIP runtime, if the process has one, to report calls. Later calls look again. */
void rp_hip_attach(struct rp_tool *tool);

/** The end of the process has begun, on this thread: no more reports. */
void rp_hip_detach(struct rp_tool *tool);

/** Correlation id of the thread's HIP call, 0 when it is in none. */
uint64_t rp_hip_current(void);

/**
 * Says whether what this thread submits now is to be recorded. What a call submits is recorded like
 * the call, though recording may be switched meanwhile.
 */
bool rp_hip_recorded(const struct rp_tool *tool);

/**
 * Returns what HIP calls the stream of the thread's HIP call. It works only where dispatches are to
 * be captured. UINT64_MAX: the thread is in no call of a known stream
 */
uint64_t rp_hip_stream_handle(void);

/**
 * Returns the number of that stream, as in rocpd: 0 is the default stream, and 1, 2, ... follow in
 * the order in which streams were created or first used.
 * @return false: it is not known
 */
bool rp_hip_stream(struct rp_tool *tool, uint64_t handle, uint32_t *ret);

/**
 * Returns the correlation id for what is being launched: that of the HIP call, or a new one for
 * what is launched in none (@p call is 0).
 */
uint64_t rp_hip_correlation(struct rp_tool *tool, uint64_t call);

/* --- call_sites.c: where the program calls HIP --------------------------------------------- */

/**
 * Returns the id of the place from which the program called HIP on this thread, and writes its
 * record if it is new. It costs a walk of the stack.
 * @param runtime  an address within the HIP runtime
 * @return 0: not known
 */
uint32_t rp_call_site(struct rp_tool *tool, const void *runtime);

/* --- record_file.c: the record file (trace/records.h) ----------------------------------------- */

/* The writer of the record file (trace/records.h) is safe against sudden death of the
 * process.
 *
 * The file is mapped shared, window by window; a record is visible once committed_records has been
 * release-stored behind it, so everything committed outlives the process. Blocks are reserved
 * before a window is used: a full disk is counted in lost_records instead of raising SIGBUS.
 * All functions may be called from any thread.
 */

enum { RP_TRACE_STRING_BUCKETS = 1024 };

/** Zero-initialise it, then call rp_trace_open(). */
struct rp_trace {
    int fd;
    bool open;
    bool discards; /**< nobody reads it: records are not kept */
    pthread_mutex_t lock;
    struct rp_trace_header *header; /**< mapping of the first page, for as long as it is open */
    pthread_mutex_t window_lock;    /**< inside lock: the window stays while it is held */
    uint8_t *window;
    uint64_t window_offset_bytes;
    uint64_t prepared_bytes; /**< pages of the file are there up to here; under window_lock */
    uint64_t reserved_bytes; /**< blocks exist up to here */
    uint64_t record_count;
    uint64_t retry_at_lost; /**< after a failure: try again when lost_records reaches this */
    uint32_t string_count;
    struct rp_trace_string *strings[RP_TRACE_STRING_BUCKETS];
};

/** Creates the file; -errno on failure, nothing is left behind then. */
int rp_trace_open(struct rp_trace *trace, const char *path, const struct rp_trace_header *header);

/** Appends one record, or counts it as lost. */
void rp_trace_append(struct rp_trace *trace, const struct rp_record *record);

/**
 * Maps the pages that the next records go to, so that program threads do not wait for the file
 * system to do so. The tool's own thread calls it again and again.
 */
void rp_trace_prepare(struct rp_trace *trace);

/** These are numbers of the header. */
enum rp_trace_note {
    RP_TRACE_LOST_RECORDS,    /**< so many more that should have become records did not */
    RP_TRACE_LAUNCH_CALLS,    /**< so many more calls of the program that launch */
    RP_TRACE_LOST_DISPATCHES, /**< in all */
    RP_TRACE_FLAGS,           /**< besides those that are set */
    RP_TRACE_NO_FLAGS,        /**< those that are set no more */
    RP_TRACE_UNRECORDED,      /**< so many more dispatches that are not to be recorded */
    RP_TRACE_FINI_NS,
};
void rp_trace_note(struct rp_trace *trace, enum rp_trace_note what, uint64_t value);

/** Id of a string, written on first use; 0 for NULL and "". */
uint32_t rp_trace_string(struct rp_trace *trace, const char *text);

/** Cuts the file to its used length and unmaps it. */
void rp_trace_close(struct rp_trace *trace);

/** Something that should have become a record did not. */
static inline void rp_trace_count_lost(struct rp_trace *trace)
{
    rp_trace_note(trace, RP_TRACE_LOST_RECORDS, 1);
}

/* --- dispatches.c: queues of the program ------------------------------------------------------ */

/**
 * Returns signals that queues keep for packets to come, which may be in use. The caller holds
 * harvest.lock.
 */
void rp_queues_give_back(struct rp_tool *tool);
/** Is called when the runtime ends: what is still pending on any queue is lost. */
void rp_queues_retire(struct rp_tool *tool);

void rp_dispatches_hook(const struct rp_hsa_tables *tables);

/* --- recording.c: what is to be recorded --------------------------------------------------- */

/** Finds who may switch recording off and on, by the folder of the record files. */
void rp_recording_start(const char *folder);
/** Writes the names of the program's ROCTx ranges, or only the wanted name if there was one of it.
 */
void rp_recording_finish(struct rp_tool *tool);
/** Says whether it is switched off for all processes. */
bool rp_recording_switched_off(void);
/** Says whether somebody may do so. */
bool rp_recording_can_be_switched(void);
/** Says whether what begins now is to be recorded. */
bool rp_recording(const struct rp_tool *tool);

/* --- code_objects.c: code objects and kernels ------------------------------------------------- */

void rp_code_hook(const struct rp_hsa_tables *tables);

/* --- tracer.c: the context -------------------------------------------------------------------- */

enum { RP_TOOL_MOST_AGENTS = 256 };

/** This is an agent of the runtime's list, which does not change: CPUs and GPUs, in its order. */
struct rp_agent {
    rp_hsa_agent handle;
    bool gpu;
};

struct rp_tool {
    uint32_t state; /**< atomic, enum rp_tool_state */
    struct rp_hsa hsa;
    struct rp_hsa_loader loader;
    bool loader_known;
    struct rp_trace trace;
    int log_fd; /**< raw log, -1 = none */

    bool drained;       /**< the end has begun, and was waited for */
    int32_t init_count; /**< atomic: hsa_init calls not yet undone */

    bool software;                        /**< the software device answers */
    const struct rp_device_table *device; /**< and what it offers; NULL: nothing */
    struct rp_thread_choice threads;
    uint64_t
        device_hz; /**< of its raw times, see read_times in completions.c; 0 = ask the runtime */
    uint64_t timestamp_hz;
    clockid_t clock; /**< host clock in the domain of HSA timestamps */
    bool clock_known;

    struct rp_handlers handlers;
    struct rp_completion_reader harvest;
    struct rp_submitters producers;
    struct rp_signal_pool quiet_signals;  /**< no interrupt: for packets that had no signal */
    struct rp_signal_pool waking_signals; /**< with interrupt: forwarded to the program's signal */

    struct rp_queue *queues;  /**< under harvest.lock */
    struct rp_queue *retired; /**< kept for late callbacks: existed at OnUnload, or had forwards */
    uint32_t queue_count;
    uint64_t dispatch_count;    /**< atomic */
    uint64_t correlation_count; /**< atomic */
    uint64_t copy_count;        /**< under copies_lock */
    uint64_t lost_dispatches;   /**< atomic: certainly lost, not counting those still pending */

    pthread_mutex_t code_lock; /**< agents and code objects */
    struct rp_agent agents[RP_TOOL_MOST_AGENTS];
    uint32_t agent_count; /**< atomic, read by rp_agent_count(); 0: not yet recorded */
    uint32_t code_object_count;
    uint32_t kernel_count;
    struct rp_kernel_map kernels;

    struct rp_hip hip;

    struct rp_isolate isolate;
    struct rp_memory memory;
};

enum rp_tool_state {
    RP_TOOL_OFF = 0, /**< not loaded, unloaded, or in a forked child: every hook is a plain call */
    RP_TOOL_ON = 1,
};

extern struct rp_tool rp_the_tool;

/** Tests whether somebody listens who wants a dispatch, or asks which dispatches exist. */
static inline bool rp_isolate_is_on(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->isolate.on, __ATOMIC_ACQUIRE) != 0;
}

/**
 * Tests whether dispatches are recorded. Otherwise they are only followed to their ends, because a
 * captured dispatch must run alone.
 */
static inline bool rp_tool_records(const struct rp_tool *tool)
{
    return !tool->trace.discards;
}

static inline bool rp_tool_active(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->state, __ATOMIC_ACQUIRE) == RP_TOOL_ON;
}

/* --- hsa_runtime.c: agents, clocks, the log, and the tables ----------------------------------- */

/** Writes the agents once; later calls do nothing. Returns whether any agent was found. */
bool rp_agents_record(struct rp_tool *tool);

/** Writes the name of an agent, or "" when it has none. */
void rp_agent_name(const struct rp_tool *tool, rp_hsa_agent agent, char ret[64]);

/** Returns how many agents are recorded; so many of tool->agents are filled in and stay so. */
static inline uint32_t rp_agent_count(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->agent_count, __ATOMIC_ACQUIRE);
}

/** Returns the number of a GPU among all of them. UINT32_MAX: it is none */
static inline uint32_t rp_agent_gpu_number(const struct rp_tool *tool, rp_hsa_agent agent)
{
    const uint32_t count = rp_agent_count(tool);
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; number += tool->agents[i++].gpu)
        if (tool->agents[i].gpu && tool->agents[i].handle == agent)
            return number;
    return UINT32_MAX;
}

/** Finds which of the kernel's clocks agrees with the runtime's. */
void rp_tool_find_clock(struct rp_tool *tool);
/** Reads the runtime's own clock. */
uint64_t rp_tool_runtime_ns(const struct rp_tool *tool);
/** Returns the host's time in the domain of the dispatch times. */
uint64_t rp_tool_now_ns(struct rp_tool *tool);

/** Writes one line of the raw log. Without ROCM_PERF_TOOL_DEBUG it does nothing. */
void rp_tool_log(const struct rp_tool *tool, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rp_tool_lose_dispatches(struct rp_tool *tool, uint64_t count);
uint32_t rp_tool_tid(void);

/** Converts ticks of a counter to nanoseconds. */
static inline uint64_t rp_tool_to_ns(uint64_t ticks, uint64_t hz)
{
    const uint64_t ns_per_s = 1000000000;

    return hz == ns_per_s ? ticks : ticks / hz * ns_per_s + ticks % hz * ns_per_s / hz;
}

/** Replaces one entry of a table; the name gives the index. */
#define RP_TOOL_REPLACE(table, name, hook)                                                         \
    do {                                                                                           \
        __typeof__(rp_the_tool.hsa.name) checked_ = (hook);                                        \
        if (rp_the_tool.hsa.name)                                                                  \
            (table)->fn[RP_SLOT_##name] = (void *)checked_;                                        \
    } while (0)

enum rp_hsa_slot {
#define RP_HSA(table, index, need, ret, name, args) RP_SLOT_##name = (index),
#include "tracer/hsa_entries.def"
};

#endif
