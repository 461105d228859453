/**
 * @file hip.h
 * @brief Calls of the program to the HIP runtime.
 */
#ifndef RP_TOOL_HIP_H
#define RP_TOOL_HIP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tool/hip_launch.h"
#include "tool/hip_quiet.h"

struct rp_tool;

enum { RP_HIP_OPERATIONS = 1024 };

enum rp_hip_state {
    RP_HIP_ABSENT,    /**< no HIP runtime has been found so far */
    RP_HIP_UNCHECKED, /**< it reports; its version is asked for at the first call */
    RP_HIP_UNDERSTOOD,
    RP_HIP_FOREIGN, /**< of a version whose reports are not understood: nothing is recorded */
};

/** What is known of one operation of the runtime. */
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
    struct rp_hip_quiet quiet;
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
 * Number of the stream of the thread's HIP call: 0 the default one, 1, 2, ... in the order in which
 * streams were created or first used, as in rocpd. Only where dispatches are to be captured.
 * @return false: the thread is in no call of a known stream
 */
bool rp_hip_stream(struct rp_tool *tool, uint32_t *ret);

/** What HIP calls that stream; UINT64_MAX: the thread is in no call of a known stream. */
uint64_t rp_hip_stream_handle(void);

/** Correlation id for what is being launched: that of the thread's HIP call, else a new one. */
uint64_t rp_hip_correlation(struct rp_tool *tool);

#endif
