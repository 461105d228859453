/**
 * @file hip_hooks.h
 * @brief This header records calls of the program to the HIP runtime.
 */
#ifndef RP_TRACER_HIP_HOOKS_H
#define RP_TRACER_HIP_HOOKS_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_tool;

/* If HIP refuses a launch nothing runs, and many programs do not check the error. HIP hands a
 * tracer the arguments of a call, but not its result. hipExtGetLastError() gives the result of the
 * thread's last call, which is the one that is just returning.
 */

/** This file calls these functions of the runtime; without the first two no failure is seen. */
struct rp_hip_launch_calls {
    int (*take_result)(void);                                       /**< hipExtGetLastError */
    int (*peek_error)(void);                                        /**< hipPeekAtLastError */
    const char *(*error_name)(int error);                           /**< hipGetErrorName */
    const char *(*host_kernel)(const void *function, void *stream); /**< hipKernelNameRefByPtr */
    const char *(*module_kernel)(void *function);                   /**< hipKernelNameRef */
};

/* Streams and graphs are taken apart only when the runtime has nothing left to report of
 *        them.
 *
 * Who registers for HIP's calls is told of the end of every marker and graph, too, in a callback of
 * a signal on ROCr's thread; HIP 7.2 reads the marker's stream and the names of the graph's kernels
 * for that, even when the answer is that nobody wants it. hipStreamDestroy and hipGraphExecDestroy
 * do not wait for that thread: as soon as there is a tracer, about one program in three that
 * destroys busy streams dies in libamdhip64, and every one that destroys graphs that still run.
 */

/** This file calls these functions of the runtime, and needs all of them. */
struct rp_hip_sync_calls {
    int (*sync_stream)(void *stream);
    int (*sync_device)(void);
    int (*is_capturing)(void *stream, int *ret_status);
    int (*exchange_capture_mode)(int *mode);
};

enum { RP_HIP_OPERATIONS = 1024 };

enum rp_hip_state {
    RP_HIP_ABSENT,    /**< no HIP runtime has been found so far */
    RP_HIP_UNCHECKED, /**< it reports; its version is asked for at the first call */
    RP_HIP_UNDERSTOOD,
    RP_HIP_FOREIGN, /**< of a version whose reports are not understood: nothing is recorded */
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
    uint8_t launch_at; /**< rp_hip_launch_at: not 0 when it launches kernels */
};

struct rp_hip {
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
 * Returns the number of the stream of the thread's HIP call, as in rocpd: 0 is the default stream,
 * and 1, 2, ... follow in the order in which streams were created or first used. It works only
 * where dispatches are to be captured.
 * @return false: the thread is in no call of a known stream
 */
bool rp_hip_stream(struct rp_tool *tool, uint32_t *ret);

/** Returns what HIP calls that stream. UINT64_MAX: the thread is in no call of a known stream */
uint64_t rp_hip_stream_handle(void);

/**
 * Returns the correlation id for what is being launched: that of the thread's HIP call, or else a
 * new one.
 */
uint64_t rp_hip_correlation(struct rp_tool *tool);

/* The HIP runtime reports calls to a tracer through hipRegisterTracerCallback, which hands over
 * this. tests/unit/tracer/check_hip_abi.cpp compares it with the installed headers.
 */

enum {
    RP_HIP_DOMAIN_API = 3, /**< activity_domain_t of rocclr: calls; others are operations */

    /** Bytes of hip_api_data_t. Its largest member is the hipChooseDevice of ROCm 6, which holds a
     *  hipDeviceProp_tR0600: a struct that keeps its size for good, as its name says. */
    RP_HIP_API_DATA_BYTES = 1520,
    RP_HIP_FIRST_MAJOR = 6,
    RP_HIP_LAST_MAJOR = 7,
    RP_HIP_VERSION_PER_MAJOR = 10000000, /**< of hipRuntimeGetVersion */
};

/** Returns 0 if the call must be reported through enter and exit of @p data. */
typedef int (*rp_hip_tracer)(int domain, uint32_t operation, void *data);

#endif
