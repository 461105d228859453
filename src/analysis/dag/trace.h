/**
 * @file trace.h
 * @brief The rows of a trace that the DAG is built from, process by process, in program order.
 */
#ifndef RP_ANALYSIS_DAG_TRACE_H
#define RP_ANALYSIS_DAG_TRACE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"
#include "trace/rocpd.h"

enum { RP_DAG_NONE = UINT32_MAX };

/** Calls and operations are numbered over all processes; this bit tells operations from calls. */
enum { RP_DAG_OP_BIT = 1u << 31 };

enum rp_dag_call_kind {
    RP_DAG_CALL_OTHER,        /**< waits for nothing; may start operations */
    RP_DAG_CALL_NEUTRAL,      /**< asks or sets what the runtime knows: nothing for the device */
    RP_DAG_CALL_EVENT_QUERY,  /**< asks whether the event's marker is reached */
    RP_DAG_CALL_STREAM_QUERY, /**< asks whether the stream is empty */
    RP_DAG_CALL_EVENT_POLL,   /**< several of these in a row, taken as one call: polls.c */
    RP_DAG_CALL_STREAM_POLL,
    RP_DAG_CALL_EVENT_RECORD,  /**< puts a marker on a stream */
    RP_DAG_CALL_STREAM_WAIT,   /**< puts a marker on a stream that waits for a recorded one */
    RP_DAG_CALL_EVENT_SYNC,    /**< blocks until the event's marker is reached */
    RP_DAG_CALL_STREAM_SYNC,   /**< blocks until the stream is empty */
    RP_DAG_CALL_DEVICE_SYNC,   /**< blocks until all streams are empty */
    RP_DAG_CALL_STREAM_CREATE, /**< makes the next stream */
    RP_DAG_CALL_OWN_SYNC,      /**< blocks until what it started is done */
    RP_DAG_CALL_MAYBE_SYNC, /**< blocks until the device is idle, sometimes: decided by its end */
};

enum { RP_DAG_KIND_BITS = 4, RP_DAG_STARTED_BITS = 27 };
static_assert((int)RP_DAG_CALL_MAYBE_SYNC < 1 << RP_DAG_KIND_BITS, "the last kind fits");

/** What is needed of a call to the end: few bytes, of tens of millions. */
struct rp_dag_call {
    uint32_t name; /**< index into rp_dag_trace.call_names */
    uint32_t thread;
    uint32_t kind : RP_DAG_KIND_BITS; /**< enum rp_dag_call_kind */
    uint32_t first_flag : 1;          /**< bit 0 of its flags */
    uint32_t op_count
        : RP_DAG_STARTED_BITS; /**< what it started: the next ones of the operations */
};

/** And what is needed only until the graph is built. */
struct rp_dag_call_row {
    int64_t start_ns, end_ns;
    uint32_t stream, event; /**< index into the process's handles; RP_DAG_NONE: no such argument */
};

/** A kernel or a copy. */
struct rp_dag_op {
    int64_t start_ns, end_ns;
    uint32_t symbol; /**< index into rp_dag_trace.symbols */
    int32_t agent : 24;
    bool is_copy : 1;
    bool end_lost : 1;      /**< the trace has no end behind its start */
    bool end_clipped : 1;   /**< that of the trace is later than what waited for it: late.c */
    bool is_wrong : 1;      /**< so late that what it lasted cannot be, either */
    bool start_clipped : 1; /**< nor can its start */
    bool end_late : 1;      /**< what waited for it began before its end */
    bool is_collective : 1; /**< by its name */
};

static_assert(sizeof(struct rp_dag_op) == 24, "few bytes, of tens of millions");

/** What is needed of it only until the graph is built. */
struct rp_dag_op_row {
    uint32_t call;         /**< index, or RP_DAG_NONE */
    int32_t stream, queue; /**< -1: unknown; copies have no queue */
};

/** What the GPU says of a marker (schema 3.0.4). */
struct rp_dag_mark {
    int64_t end_ns;
    int32_t queue, stream;
};

/** A ROCTx range. */
struct rp_dag_range {
    int64_t start_ns, end_ns;
    int64_t event_id; /**< in the trace */
    char *name;       /**< its message, owned */
    uint32_t thread;  /**< RP_DAG_NONE: of the whole process */
};

/** Where a process comes from. */
struct rp_dag_source {
    struct rp_store *store;
    uint32_t guid_index;
};

/** As the trace has them. */
struct rp_dag_times {
    int64_t start_ns, end_ns;
};

struct rp_dag_process {
    struct rp_dag_call *calls; /**< in the order of their entry */
    struct rp_dag_call_row *call_rows;
    uint32_t *call_marks; /**< record of its marker on the GPU or RP_DAG_NONE; NULL: none has any */
    size_t call_count;
    struct rp_numbering handles; /**< of streams and events */
    struct rp_dag_op *ops; /**< sorted by call, then start; those without a call by start, last */
    struct rp_dag_op_row *op_rows;
    uint32_t *short_ids; /**< per operation: dispatch_id of a kernel, id of a copy; or */
    int64_t *ids;        /**< where one of them does not fit */
    size_t op_count;
    uint32_t *first_wait; /**< per operation and one more: what it waited for; NULL: not recorded */
    uint32_t *waits;      /**< operations */
    struct rp_dag_mark *marks;
    size_t mark_count;
    struct rp_dag_range *ranges;
    size_t range_count;
    uint32_t call_base, op_base; /**< numbers of the first call and operation: build.c */
    uint32_t thread_count;
    int32_t queue_count; /**< hardware queues that the trace lists, without the default one */
    bool has_args;
    const char *guid;
    uint32_t machine;  /**< processes on one machine have one clock */
    bool clocks_apart; /**< operations contradict their calls by more than can be mended */
    /** Ends of kernels are stamped late throughout, by so much in the middle; 0: they are not. */
    int64_t late_ns;
    struct rp_dag_times *recorded; /**< per operation, where some were changed; else NULL */
    struct rp_dag_source from;
};

/** Counts of what was mended, so that nobody takes the numbers for more than they are. */
struct rp_dag_repairs {
    uint64_t negative_durations; /**< end before start: taken as 0 */
    uint64_t zero_durations;
    uint64_t never_ended;   /**< no start, or an operation or marker without an end: left out */
    uint64_t overlaps;      /**< end after the start of the next packet of the queue: taken back */
    uint64_t clamped_edges; /**< a dependency that the times contradict: its delay made shorter */
    uint64_t dropped_edges; /**< contradicted altogether */
    uint64_t concurrent;    /**< packets that ran while the one before them in their queue did */
    uint64_t early_starts;  /**< operations that began before their calls */
    uint64_t moved_clocks;  /**< GPUs, of processes, whose operations were moved: skew.c */
    uint64_t clipped_ends;  /**< ends that were too late by far, and starts too early: late.c */
    int64_t late_by_ns;     /**< the most that one of the overlaps was */
    int64_t clipped_by_ns;  /**< and one of those */
};

/** An operation whose end or start is clipped in the graph. */
struct rp_dag_clip {
    uint32_t process, op;
    struct rp_dag_times recorded;
    int64_t by_ns;
    int64_t took_ns; /**< what counts in sums, when all are found */
};

struct rp_dag_trace {
    struct rp_dag_process *processes;
    size_t process_count;
    const char **symbols; /**< of kernels, copies; sorted, no two equal; owned by the stores */
    size_t symbol_count;
    const char **call_names; /**< no two equal; owned by the stores */
    size_t call_name_count;
    struct rp_dag_repairs repairs;
    /** Sums of end less start as recorded, less what is clipped. */
    int64_t kernel_time_ns, copy_time_ns;
    struct rp_dag_clip *clips;
    size_t clip_count, clip_room;
};

struct rp_err;

/** Reads what the stores hold; they must stay open. Release with rp_dag_trace_free. */
int rp_dag_trace_load(struct rp_store *const *stores, size_t store_count,
                      const struct rp_work *work, struct rp_dag_trace *ret, struct rp_err *err);
void rp_dag_trace_free(struct rp_dag_trace *trace);
/** dispatch_id of a kernel, id of a copy. */
static inline int64_t rp_dag_row_id(const struct rp_dag_process *p, size_t op)
{
    return p->ids ? p->ids[op] : p->short_ids[op];
}

/** Keeps the times of operations in p->recorded, before the first change of them. */
int rp_dag_keep_recorded(struct rp_dag_process *p, struct rp_err *err);

/** Frees the rows of calls and operations: the graph is built. */
void rp_dag_trace_free_rows(struct rp_dag_trace *trace);

/** Is it the number of an operation, of a call? RP_DAG_NONE is neither. */
static inline bool rp_dag_is_op(uint32_t item)
{
    return item != RP_DAG_NONE && (item & RP_DAG_OP_BIT);
}

static inline bool rp_dag_is_call(uint32_t item)
{
    return !(item & RP_DAG_OP_BIT);
}

/** Index of the process of a call or operation. */
static inline uint32_t rp_dag_process_of(const struct rp_dag_trace *trace, uint32_t item)
{
    uint32_t number = item & ~(uint32_t)RP_DAG_OP_BIT, low = 0,
             high = (uint32_t)trace->process_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        const struct rp_dag_process *p = &trace->processes[middle];
        if ((item & RP_DAG_OP_BIT ? p->op_base : p->call_base) <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/** The operation of that number, which must be one. */
static inline struct rp_dag_op *rp_dag_op_of(const struct rp_dag_trace *trace, uint32_t item)
{
    const struct rp_dag_process *p = &trace->processes[rp_dag_process_of(trace, item)];

    return &p->ops[(item & ~(uint32_t)RP_DAG_OP_BIT) - p->op_base];
}

static inline const struct rp_dag_call *rp_dag_call_of(const struct rp_dag_trace *trace,
                                                       uint32_t item)
{
    const struct rp_dag_process *p = &trace->processes[rp_dag_process_of(trace, item)];

    return &p->calls[item - p->call_base];
}

#endif
