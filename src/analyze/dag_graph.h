/**
 * @file dag_graph.h
 * @brief Holds the rows of a trace that the DAG is built from, process by process, in program
 * order.
 */
#ifndef RP_ANALYZE_DAG_GRAPH_H
#define RP_ANALYZE_DAG_GRAPH_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/dag.h"
#include "base/map.h"
#include "base/vec.h"
#include "trace/rocpd.h"

struct rp_dag_ranges;
struct rp_err;

enum { RP_DAG_NONE = UINT32_MAX };

/** Calls and operations are numbered over all processes. This bit distinguishes operations from
 * calls. */
enum { RP_DAG_OP_BIT = 1u << 31 };

enum rp_dag_call_kind {
    RP_DAG_CALL_OTHER,        /**< waits for nothing; may start operations */
    RP_DAG_CALL_NEUTRAL,      /**< asks or sets what the runtime knows: nothing for the device */
    RP_DAG_CALL_EVENT_QUERY,  /**< asks whether the event's marker is reached */
    RP_DAG_CALL_STREAM_QUERY, /**< asks whether the stream is empty */
    RP_DAG_CALL_EVENT_POLL,   /**< several of these in a row, taken as one call: dag_calls.c */
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

/** These parts of a call are needed to the end. They take few bytes, because there are tens of
 * millions. */
struct rp_dag_call {
    uint32_t name; /**< index into rp_dag_trace.call_names */
    uint32_t thread;
    uint32_t kind : RP_DAG_KIND_BITS; /**< enum rp_dag_call_kind */
    uint32_t first_flag : 1;          /**< bit 0 of its flags */
    uint32_t op_count
        : RP_DAG_STARTED_BITS; /**< what it started: the next ones of the operations */
};

/** These parts are needed only until the graph is built. */
struct rp_dag_call_row {
    int64_t start_ns, end_ns;
    uint32_t stream, event; /**< index into the process's handles; RP_DAG_NONE: no such argument */
};

struct rp_dag_op {
    int64_t start_ns, end_ns;
    uint32_t symbol; /**< index into rp_dag_trace.symbols */
    int32_t agent : 24;
    bool is_copy : 1;
    bool end_lost : 1;    /**< the trace has no end behind its start */
    bool end_clipped : 1; /**< that of the trace is later than what waited for it: dag_timestamps.c
                           */
    bool is_wrong : 1;    /**< so late that what it lasted cannot be, either */
    bool start_clipped : 1; /**< nor can its start */
    bool end_late : 1;      /**< what waited for it began before its end */
    bool is_collective : 1; /**< by its name */
};

static_assert(sizeof(struct rp_dag_op) == 24, "few bytes, of tens of millions");

/** These parts of it are needed only until the graph is built. */
struct rp_dag_op_row {
    uint32_t call;         /**< index, or RP_DAG_NONE */
    int32_t stream, queue; /**< -1: unknown; copies have no queue */
};

/** The GPU says this of a marker (schema 3.0.4). */
struct rp_dag_mark {
    int64_t end_ns;
    int32_t queue, stream;
};

struct rp_dag_range {
    int64_t start_ns, end_ns;
    int64_t event_id; /**< in the trace */
    char *name;       /**< its message, owned */
    uint32_t thread;  /**< RP_DAG_NONE: of the whole process */
};

/** Says where a process comes from. */
struct rp_dag_source {
    struct rp_store *store;
    uint32_t guid_index;
};

/** These times are as the trace has them. */
struct rp_dag_times {
    int64_t start_ns, end_ns;
};

struct rp_dag_process {
    struct rp_dag_call *calls; /**< in the order of their entry, but see rp_dag_order_calls */
    struct rp_dag_call_row *call_rows;
    uint32_t *call_marks; /**< record of its marker on the GPU or RP_DAG_NONE; NULL: none has any */
    size_t call_count;
    struct rp_idmap handles; /**< of streams and events */
    struct rp_dag_op *ops;   /**< sorted by call, then start; those without a call by start, last */
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
    uint32_t call_base, op_base; /**< numbers of the first call and operation: dag_build.c */
    uint32_t thread_count;
    int32_t queue_count; /**< hardware queues that the trace lists, without the default one */
    bool has_args;
    const char *guid;
    uint32_t machine;  /**< processes on one machine have one clock */
    bool clocks_apart; /**< operations contradict their calls by more than can be mended */
    /** Ends of kernels are stamped late throughout, by this much in the median; 0: they are not. */
    int64_t late_ns;
    struct rp_dag_times *recorded; /**< per operation, where some were changed; else NULL */
    struct rp_dag_source from;
};

/** Counts what was corrected, so that nobody takes the numbers for more than they are. */
struct rp_dag_repairs {
    uint64_t negative_durations; /**< end before start: taken as 0 */
    uint64_t zero_durations;
    uint64_t never_ended;   /**< no start, or an operation or marker without an end: left out */
    uint64_t overlaps;      /**< end after the start of the next packet of the queue: taken back */
    uint64_t clamped_edges; /**< a dependency that the times contradict: its delay made shorter */
    uint64_t dropped_edges; /**< contradicted altogether */
    uint64_t concurrent;    /**< packets that ran while the one before them in their queue did */
    uint64_t early_starts;  /**< operations that began before their calls */
    uint64_t moved_clocks; /**< GPUs, of processes, whose operations were moved: dag_timestamps.c */
    uint64_t
        clipped_ends; /**< ends that were too late by far, and starts too early: dag_timestamps.c */
    int64_t late_by_ns;    /**< the most that one of the overlaps was */
    int64_t clipped_by_ns; /**< and one of those */
};

/** This is an operation whose end or start is clipped in the graph. */
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
    /** These are sums of end less start as recorded, less what is clipped. */
    int64_t kernel_time_ns, copy_time_ns;
    struct rp_dag_clip *clips;
    size_t clip_count, clip_room;
};

/** Reads the rows of the stores, which must stay open. Release it with rp_dag_trace_free. */
int rp_dag_trace_load(struct rp_store *const *stores, size_t store_count,
                      const struct rp_work *work, struct rp_dag_trace *ret, struct rp_err *err);
void rp_dag_trace_free(struct rp_dag_trace *trace);

/** Keeps the times of operations in p->recorded, before the first change of them. */
int rp_dag_keep_recorded(struct rp_dag_process *p, struct rp_err *err);

/** Frees the rows of calls and operations when the graph is built. */
void rp_dag_trace_free_rows(struct rp_dag_trace *trace);

/** If an operation ends this much behind the start of the next packet of its queue, the firmware
 * wrote the time late. A larger difference is a wrong time or true concurrency. */
enum { RP_DAG_LATE_END_NS = 2000 };

/** Clips ends by the order of queues, and of streams where copies are concerned. Call it before
 * clocks are compared, because then the last operation of a queue has the last end. */
int rp_dag_clip_in_queues(struct rp_dag_trace *trace, struct rp_err *err);

/** Call it when all is clipped. An operation with a wrong time gets the median of its name, or the
 * longest possible time if that is shorter. The sums of the trace have that time instead of the
 * recorded one. */
int rp_dag_count_clips(struct rp_dag_trace *trace, struct rp_err *err);

/** Call it when the graph is built, which has ends of its own: operations then last as long as they
 * count. */
void rp_dag_restore_ends(struct rp_dag_trace *trace);

/** Fills machines, processes and disturbed of the result, and the machine of each process. */
int rp_dag_machines(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

/** A handle stands for a stream from a call on, because handles are used again for other streams.
 */
struct rp_dag_handle {
    uint64_t handle;
    uint32_t from_call;
    int32_t stream;
};

struct rp_dag_streams {
    struct rp_dag_handle *handles; /**< sorted by handle, then call */
    size_t handle_count;
    int32_t
        *queue; /**< per stream: of its first kernel, else by the pattern of the others, or -1 */
    bool *blocking;       /**< per stream: waits for the default stream and it for this one */
    int32_t stream_count; /**< streams 0 to this */
    int32_t queue_count;  /**< queue ids are below this */
};

int rp_dag_streams_find(const struct rp_dag_process *p, struct rp_dag_streams *ret,
                        struct rp_err *err);
void rp_dag_streams_free(struct rp_dag_streams *streams);

/** Returns the stream that a handle means at a call; -1: it is not known. */
int32_t rp_dag_stream_at(const struct rp_dag_streams *streams, uint64_t handle, uint32_t call);

/**
 * No clock shows this or a later time. With two invalid times, or one that is moved by another,
 * arithmetic does not overflow. For clocks that count from 1970 it is the year 2043.
 */
#define RP_DAG_LATEST_NS (INT64_MAX / 4)

/* Tells stores which dispatches have an end that cannot be. */

/* The clocks of several machines put together by the collectives of a run. */

/**
 * Reduces later times of a new trace, whose times are all positive, to RP_DAG_LATEST_NS; those of
 * operations are kept as recorded. A wrong time may be clipped (dag_timestamps.c); dag_build.c
 * refuses the rest.
 */
int rp_dag_limit_times(struct rp_dag_trace *trace, struct rp_err *err);

/**
 * Moves the times of every machine but the first to the first one's clock, and fills offset, drift
 * and uncertainty of the machines.
 * @return RP_BAD_INPUT when no collective relates a machine to the first, or no offset fits all
 */
int rp_dag_clocks(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

/** Moves the operations of a GPU that begin before their calls, or end after calls that waited for
 * them returned. It sets moved_ns, clocks and clocks_apart of the result's processes. */
int rp_dag_fix_skew(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err);

/* Which operations a call is certain to have waited for. */

/** It is called with an operation and a call that returned after its end, whatever their clocks
 * say. */
typedef void rp_dag_certain_wait_fn(void *ctx, uint32_t op, uint32_t call);

/** Reports only waits that are certain without times of the GPU: a synchronisation of a known
 * stream, of an event with its record, of the only GPU, and copies to the host that block. For a
 * stream it reports the last operation. */
int rp_dag_each_certain_wait(const struct rp_dag_trace *trace, const struct rp_dag_process *p,
                             rp_dag_certain_wait_fn *told, void *ctx, struct rp_err *err);

/* Names of kernels and copies to numbers, while a trace is read. */

/** Initialise it with zeros, and release it with rp_dag_symbols_free. */
struct rp_dag_symbols {
    const char **names; /**< lent, in the order of first appearance until they are sorted */
    size_t count, room;
    uint32_t *slots; /**< hash table of numbers, + 1; 0 = free */
    size_t slot_count;
};

/** Returns the number of a name, which is new if the name is.
 * @return UINT32_MAX: memory has ended */
uint32_t rp_dag_symbols_add(struct rp_dag_symbols *s, const char *name);
/** Sorts the names.
 * @return the new number of every old one, to be freed; NULL: memory has ended */
uint32_t *rp_dag_symbols_sort(struct rp_dag_symbols *s);
void rp_dag_symbols_free(struct rp_dag_symbols *s);

/* What is needed of a store's processes while their rows are read: dag_calls.c reads calls and
 * arguments, dag_read.c operations and markers, dag_read.c puts them together.
 */

/** A call of HSA below HIP, or of HIP by HIP, belongs to this outer call. */
struct rp_dag_inner {
    int64_t order, outer;
};

/** This is a call or operation as it was read, until all are in order. */
struct rp_dag_new_call {
    int64_t start_ns, end_ns;
    int64_t order;    /**< correlation id: calls of a process in the order of their entry */
    int64_t event_id; /**< what its arguments refer to */
    struct rp_dag_call call;
};

struct rp_dag_new_op {
    struct rp_dag_op op;
    struct rp_dag_op_row row;
    int64_t id; /**< dispatch_id of a kernel, id of a copy */
};

/** Holds one process while it is read. */
struct rp_dag_loading {
    struct rp_dag_process process;
    struct rp_dag_new_call *calls; /**< until they are settled */
    struct rp_dag_new_op *ops;     /**< until they are joined */
    size_t call_room, op_room, mark_room, range_room;
    int64_t *orders;             /**< per call of the process */
    struct rp_dag_inner *inners; /**< sorted by order */
    size_t inner_count;
    struct rp_idmap threads;
    int64_t *events;    /**< per call: what its arguments refer to */
    uint32_t *by_event; /**< calls in that order; NULL: they are */
    uint32_t last_call; /**< that an argument was of */
    size_t last_found;  /**< call that an operation was of */
};

enum { RP_DAG_KERNELS_CACHED = 1024, RP_DAG_CALLS_CACHED = 256 };

/** Holds one store while it is read. */
struct rp_dag_loader {
    struct rp_store *store;
    struct rp_dag_repairs *repairs;
    int64_t *kernel_time_ns, *copy_time_ns;
    struct rp_dag_symbols *symbols, *call_names;
    struct rp_dag_loading *list; /**< by guid_index */
    size_t count;
    struct {
        const char *name;
        uint32_t number;
        uint8_t kind;
        bool is_hip;
    } calls[RP_DAG_CALLS_CACHED]; /**< by name's address */
    struct {
        int64_t id;
        uint32_t guid_index, symbol;
        bool used;
    } kernels[RP_DAG_KERNELS_CACHED]; /**< by id */
};

/** Returns the process of a row, which is made with its first row. It returns NULL when memory has
 * ended. */
struct rp_dag_loading *rp_dag_loading_of(struct rp_dag_loader *l, uint32_t guid_index);

/** Sorts as qsort does, but a trace is usually in order already. */
void rp_dag_sort(void *rows, size_t count, size_t bytes, int (*order)(const void *, const void *));

/** Makes room for one more element of an array that doubles.
 * @return false: memory has ended */
bool rp_dag_room(void *array, size_t count, size_t *room, size_t element_bytes);

/* This is in dag_calls.c. */
int rp_dag_load_calls(struct rp_dag_loader *l, struct rp_err *err);
int rp_dag_load_args(struct rp_dag_loader *l, struct rp_err *err);
/** Returns the call that something belongs to, perhaps through calls below it, or RP_DAG_NONE. */
uint32_t rp_dag_outer_call(struct rp_dag_loading *p, int64_t correlation_id);

/* This is in dag_calls.c. Call it before operations are joined to calls.
 * @return false: memory has ended */
bool rp_dag_merge_polls(struct rp_dag_loading *l);

/** Orders calls of several threads as the device took what they launched. Call it when operations
 * and markers know their calls, before they are sorted by them. */
int rp_dag_order_calls(struct rp_dag_loading *l, struct rp_err *err);

/* How two clocks differ, from what was certainly before and after what. */

/** Conversions between the clocks of GPU and host are off by some microseconds. A larger difference
 * means another clock, or a time that nobody converted. */
enum { RP_DAG_CLOCKS_APART_NS = 50000 };

/** At a time of the clock, at least (or at most) so much has to be added to it. */
struct rp_dag_bound {
    int64_t at_ns, by_ns;
};

struct rp_dag_bounds {
    struct rp_dag_bound *list;
    size_t count;
};

/** To a time t of the clock, by_ns + (t - at_ns) * drift is added. */
struct rp_dag_clock_shift {
    int64_t at_ns, by_ns;
    double drift;
    bool contradicted; /**< neither one shift nor a drift agrees with most of the bounds: all 0 */
};

/** Finds the smallest shift that agrees with all bounds (the largest for clocks that are far
 * apart). If none does, it tries a drift; otherwise it takes the shift that few of them contradict.
 * It sorts both lists. */
struct rp_dag_clock_shift rp_dag_clock_shift_find(struct rp_dag_bounds *least,
                                                  struct rp_dag_bounds *most);

/* The delays that operations show by themselves, before there is a graph: what begins later
 * than they explain has waited for something that the trace does not name.
 */

struct rp_dag_usual_delays {
    int64_t launch_ns; /**< shortest from a call to its operation */
    int64_t gap_ns;    /**< shortest between two operations of a stream */
    int64_t
        wake_ns; /**< shortest from the end of a copy to the end of the call that waits for it */
    int64_t jitter_ns; /**< so much later than the shortest needs no reason: the median gap */
    int64_t reach_ns;  /**< what ended so long before is not the reason */
};

int rp_dag_usual_delays_find(const struct rp_dag_process *p, const struct rp_dag_streams *streams,
                             struct rp_dag_usual_delays *ret, struct rp_err *err);

/** @param facts  of the processes of the trace, with their pids  @return 0; RP_BAD_INPUT */
int rp_dag_refuse_duplicate_processes(const struct rp_dag_trace *trace,
                                      const struct rp_dag_process_fact *facts, struct rp_err *err);

/* This is a max-plus graph of points in time: it tells when each can happen at the earliest, and
 * how late it may be. An edge (u, v, w) says t(v) >= t(u) + w. Points are made in an order in which
 * every edge goes from an earlier point to a later one, so all passes are one sweep. Times and
 * weights are nanoseconds. */

/* In which of the program's own ranges (ROCTx) a stretch of host time lies. */

struct rp_dag_ranges {
    struct rp_dag_stretch *list; /**< by process, thread and start: the innermost range of each */
    size_t count;
    struct rp_map names;
    struct rp_idmap contexts; /**< context around it, and one more << 32 | name */
    struct rp_map place_keys;
    struct {
        RP_VEC(struct rp_dag_place);
    } places;              /**< numbered as place_keys */
    uint32_t *place_of_op; /**< per operation of all processes; NULL: there are no ranges */
    bool failed;           /**< memory has ended */
};

enum { RP_DAG_NO_POINT = UINT32_MAX };

enum { RP_DAG_BLOCK_POINTS = 64 };

/** A dependency that the recorded times contradict has this weight, so that it holds nothing back.
 */
#define RP_DAG_DROPPED_NS (INT64_MIN / 4)

/* These stand for unusual weights; usual ones are up to 4 s. */
enum { RP_DAG_ODD_WEIGHT = UINT32_MAX - 1, RP_DAG_DROPPED_WEIGHT = UINT32_MAX };

/**
 * A trace has tens of millions of points and edges, so each of them takes few bytes. The functions
 * below read and change classes, grades and weights.
 */
struct rp_dag_graph {
    int64_t *time_ns; /**< per point */
    uint16_t *offset; /**< per point and one more: the first of its incoming edges, counted from */
    uint32_t *base;   /**< that of its block's first point */
    uint32_t *first;  /**< instead of these two, once a block has too many edges for them */
    size_t point_count, point_room;
    uint32_t *from;   /**< per edge */
    uint8_t *kinds;   /**< per edge: enum rp_dag_class, and enum rp_dag_grade above it */
    uint32_t *weight; /**< per edge; NULL until rp_dag_weigh */
    size_t edge_count, edge_room;
    struct rp_idmap odd;    /**< edges whose weights do not fit */
    int64_t *odd_weight_ns; /**< per such edge */
    size_t odd_room;
    bool failed; /**< out of memory, or more than 2^32 - 2 points or edges: the graph is incomplete
                  */
};

void rp_dag_graph_free(struct rp_dag_graph *g);

/** Adds an edge into the point that the next rp_dag_point makes. */
void rp_dag_edge(struct rp_dag_graph *g, uint32_t from, enum rp_dag_class class,
                 enum rp_dag_grade grade);
/** Makes a point with the edges added since the last one; time_ns as recorded, or 0. */
uint32_t rp_dag_point(struct rp_dag_graph *g, int64_t time_ns);

/** Gives all edges the weight 0. Call it after the last of them was added. */
void rp_dag_weigh(struct rp_dag_graph *g);
void rp_dag_set_weight(struct rp_dag_graph *g, size_t edge, int64_t weight_ns);

enum { RP_DAG_CLASS_BITS = 4 };

/**
 * Returns the edge into a point that determines its time. Among equals it is the class that comes
 * first in the order of rp_dag_class, then the earlier point.
 * @return RP_DAG_NO_POINT: no edge
 */
uint32_t rp_dag_binding(const struct rp_dag_graph *g, uint32_t point);

/* Places for the times of points that later points still need.
 *
 * A sweep over a graph needs the time of a point only until the last of its successors. Few points
 * wait so long: with a place for each of those, a sweep stays in the cache however long the trace
 * is, and takes no memory to speak of.
 */

/** Initialise it with zeros, and release it with rp_dag_slots_free. */
struct rp_dag_slots {
    uint16_t *of;   /**< per point; never that of a predecessor */
    uint32_t *wide; /**< instead, where there are too many */
    size_t count;
};

/** Edges may be removed afterwards, and others added that come from the first point. */
int rp_dag_slots_find(const struct rp_dag_graph *g, struct rp_dag_slots *ret, struct rp_err *err);
void rp_dag_slots_free(struct rp_dag_slots *slots);

/** Says what a point is. */
enum {
    RP_DAG_PINNED = 1,     /**< the trace has its time */
    RP_DAG_OP_START = 2,   /**< of a kernel or copy: waits for packets take the dispatch delay */
    RP_DAG_BLOCKED = 4,    /**< the end of a call that waited for something */
    RP_DAG_DISTRUSTED = 8, /**< its time was mended: delays are not learned from it */
    RP_DAG_COMMON = 16,    /**< the end of a collective on all ranks */
    RP_DAG_CAPTURED = 32, /**< start of a call that one graph launch could replace: dag_what_if.c */
    RP_DAG_POLLED = 64,   /**< with BLOCKED: the host asked again and again, it was not woken up */
    RP_DAG_ON_PATH = 128, /**< start of what is on the critical path: dag.c */
};

/** Packets of a queue follow each other within some microseconds, so a longer gap is no delay of
 * the device. */
enum { RP_DAG_LONGEST_GAP_NS = 10000 };

/** A launch reaches an idle GPU within this time, also under a profiler. Where every kernel of a
 * trace begins later, all of them waited for others: profilers often record a program whose queues
 * are full. */
enum { RP_DAG_LONGEST_LAUNCH_NS = 1000000 };

/** These are the shortest delays that agree with every time in the trace; 0 when it shows none. */
struct rp_dag_delays {
    int64_t launch_ns;   /**< start of a call to start of its operation */
    int64_t dispatch_ns; /**< end of a packet to start of the next one */
    int64_t event_ns;    /**< recorded marker to waiting marker */
    int64_t wake_ns;     /**< end of what a call waits for to the end of the call */
    /** These blocking calls always waited, so nobody knows how long they take otherwise. */
    uint32_t unknown_costs;
};

/** The trace does not show this duration: it is anything from 0 to this. */
struct rp_dag_unknown_duration {
    uint32_t edge;
    int64_t most_ns;
};

struct rp_dag {
    struct rp_dag_graph graph;
    uint8_t *flags;  /**< per point */
    uint32_t *owner; /**< per point: the call or operation that starts or ends there, or NONE */
    size_t op_count; /**< of all processes */
    struct rp_dag_delays delays;
    struct rp_dag_unknown_duration *unsure; /**< few, if any */
    size_t unsure_count;
    int64_t start_ns, end_ns;   /**< of the whole */
    uint32_t end_point;         /**< the first point with the last time */
    struct rp_dag_slots slots;  /**< for sweeps */
    const struct rp_work *work; /**< told how far it is, or NULL */
};

int rp_dag_build(struct rp_dag_trace *trace, struct rp_dag *ret, struct rp_err *err);
void rp_dag_free(struct rp_dag *dag);

int rp_dag_learn_delays(struct rp_dag *dag, struct rp_dag_trace *trace, struct rp_err *err);

/** Returns the weight of an edge of a class by the learned delays, or 0 for classes without a
 * delay. */
int64_t rp_dag_delay(const struct rp_dag *dag, enum rp_dag_class class, uint32_t to);

/** Fills agents, idle_shares and idle_ranges. @param starts  from rp_dag_starts_find */
int rp_dag_idle(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                struct rp_dag_ranges *ranges, const uint32_t *starts, struct rp_dag_result *ret,
                struct rp_err *err);

/** All operations of a symbol take den/num of their time, rounded to the nearest nanosecond. */
struct rp_dag_scenario {
    uint32_t symbol;
    uint32_t num, den; /**< num 0: no time */
    int64_t end_ns;    /**< result */
};

enum { RP_DAG_SCENARIOS_PER_SYMBOL = 8 };

/** Scenarios of one symbol follow each other, at most that many. */
int rp_dag_scenarios(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                     struct rp_dag_scenario *scenarios, size_t count, const struct rp_work *work,
                     struct rp_err *err);

/* End-to-end times of DAGs in which kinds of edges take no time or do not hold, several at
 * a time.
 */

/* How long the program would take without the host, the copies, a delay. */

/** Fills limit_ns and true_span_ns. Marks what a graph would capture: RP_DAG_CAPTURED. */
int rp_dag_limits(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_result *ret,
                  struct rp_err *err);

/** Call it before the graph is built, while calls have their times. */
int rp_dag_ranges_find(const struct rp_dag_trace *trace, struct rp_dag_ranges *ret,
                       struct rp_err *err);
void rp_dag_ranges_free(struct rp_dag_ranges *ranges);

/**
 * Finds in which ranges a stretch of an edge's time begins. It returns the number of the place,
 * RP_DAG_NONE when it is in none, or the edge is no time of the host.
 * @param to      the point that the edge goes to
 * @param end_ns  in: the end of the stretch; out: how far the place lasts, if that is less
 */
uint32_t rp_dag_range_of(struct rp_dag_ranges *ranges, const struct rp_dag *dag,
                         const struct rp_dag_trace *trace, uint32_t e, uint32_t to,
                         int64_t start_ns, int64_t *end_ns);
/** Returns the place where an operation was launched, or RP_DAG_NONE. */
uint32_t rp_dag_range_of_op(const struct rp_dag_ranges *ranges, uint32_t op);
/** Returns the name of the innermost range, that of the thread before those of the whole process;
 * NULL: none. */
const char *rp_dag_range_name(const struct rp_dag_ranges *ranges, uint32_t place);
/** Adds time of the critical path. The place may be RP_DAG_NONE. */
void rp_dag_range_add_path(struct rp_dag_ranges *ranges, uint32_t place, int64_t ns);
/** Fills ranges and outside_ranges_ns of the result. Places in its steps become indices. */
int rp_dag_ranges_sum(struct rp_dag_ranges *ranges, const struct rp_dag_trace *trace,
                      struct rp_dag_result *r, struct rp_err *err);
void rp_dag_range_sums_free(struct rp_dag_range_sum *sums, size_t count);

/* Which operations each operation waited for on the device, where the trace says so:
 * packets' barrier bits, barrier packets and signals, as the built-in collector records them.
 */

/** The edges into an operation are compared with the record by these. */
struct rp_dag_recorded_op {
    struct rp_dag *dag;
    const struct rp_dag_process *process;
    const uint32_t *finish; /**< per operation: its last point, or RP_DAG_NONE */
    uint32_t op;
};

/**
 * Gives edges of the operation's start the grade "recorded" where the record has the same
 * dependency, also by way of markers. It adds further dependencies of the record.
 */
void rp_dag_recorded_edges(const struct rp_dag_recorded_op *r);

/* How much longer each operation could take with the same end-to-end time. */

/** @param ret  per operation of all processes; to be freed */
int rp_dag_slack_find(const struct rp_dag *dag, int64_t **ret, struct rp_err *err);

/** @param ret  points where operations start, by time, then number; dag->op_count; to be freed */
int rp_dag_starts_find(const struct rp_dag *dag, uint32_t **ret, struct rp_err *err);

/** Holds sums by name; {0} is empty. */
struct rp_dag_names {
    struct rp_idmap addresses;   /**< of the names; two may be equal */
    struct rp_dag_share *shares; /**< per address */
    size_t room;
};

/** @return -1 when memory has ended */
int rp_dag_names_add(struct rp_dag_names *names, const char *name, int64_t ns);
/** Takes the sums, largest first, then by name, each name once. They are empty afterwards. */
int rp_dag_names_take(struct rp_dag_names *names, struct rp_dag_share **ret, size_t *ret_count,
                      struct rp_err *err);
/** Does the same with copies of the names, which have to be freed with rp_dag_owned_shares_free. */
int rp_dag_names_take_copies(struct rp_dag_names *names, struct rp_dag_share **ret,
                             size_t *ret_count, struct rp_err *err);
void rp_dag_owned_shares_free(struct rp_dag_share *shares, size_t count);
void rp_dag_names_free(struct rp_dag_names *names);

/** Returns the label of a part without a name: "[launch]" and the like. */
const char *rp_dag_part_label(enum rp_dag_part part);
/** Returns the part and the name that an edge's time belongs to. */
enum rp_dag_part rp_dag_part_of(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                uint32_t e, const char **ret_name);
/** Returns the call or operation whose duration the edge is, or RP_DAG_NONE. */
uint32_t rp_dag_item_of(const struct rp_dag *dag, uint32_t e);

/* How many kernels and copies ran at the same time, and for how long. */

/** Fills concurrency_ns and exposed_copy_ns. @param starts  from rp_dag_starts_find */
int rp_dag_overlap(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                   const uint32_t *starts, struct rp_dag_result *ret, struct rp_err *err);

/* Kernels that waited for each other only because they share a queue. */

/** Fills unshared_queues_ns, the end-to-end time without queues, and pairs. */
int rp_dag_pairs(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                 struct rp_dag_result *ret, struct rp_err *err);

/* Which operation each one waited for: what a timeline draws as an edge. */

struct rp_dag_cause {
    uint32_t op;             /**< number without RP_DAG_OP_BIT; RP_DAG_NONE: none before it */
    enum rp_dag_class class; /**< of the edge that bound the start; UNKNOWN without one */
};

/** Finds the causes per operation, by number; the caller frees it. */
int rp_dag_causes_find(const struct rp_dag *dag, struct rp_dag_cause **ret, struct rp_err *err);

/* How much of the time of collectives is waiting for other ranks. */

/** This is in dag_collectives.c. It fills collectives, messages, and the processes'
 * collective_wait_ns and waited_for_ns. */
int rp_dag_collectives(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                       struct rp_dag_result *ret, struct rp_err *err);

/* How far off what-ifs may be where the trace does not show all that they rest on. */

/**
 * Fills least_ns and most_ns of the result's what-ifs. Where dependencies are guessed, nothing gets
 * faster for certain, and at best only the certain dependencies hold, with the shortest delays.
 * Unknown durations may be anything that their successors allow. It changes the weights of the
 * graph, so nothing else can be computed from it afterwards.
 */
int rp_dag_what_if_bounds(struct rp_dag *dag, const struct rp_dag_trace *trace,
                          struct rp_dag_result *ret, struct rp_err *err);

/* What would limit the end-to-end time next: little slack, and
 * chains of it.
 */

/**
 * Fills slack_bins, epsilon_ns, critical and near_paths.
 * @param slack_ns  from rp_dag_slack_find; RP_DAG_ON_PATH must be set
 */
int rp_dag_next_paths(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                      const int64_t *slack_ns, struct rp_dag_result *ret, struct rp_err *err);

/** Returns the dispatch_id of a kernel, or the id of a copy. */
static inline int64_t rp_dag_row_id(const struct rp_dag_process *p, size_t op)
{
    return p->ids ? p->ids[op] : p->short_ids[op];
}

/** Says whether it is the number of an operation, or of a call. RP_DAG_NONE is neither. */
static inline bool rp_dag_is_op(uint32_t item)
{
    return item != RP_DAG_NONE && (item & RP_DAG_OP_BIT);
}

static inline bool rp_dag_is_call(uint32_t item)
{
    return !(item & RP_DAG_OP_BIT);
}

/** Returns the index of the process of a call or operation. */
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

/** Returns the operation of that number, which must be one. */
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

/** Counts an end that is a little late: its waiter began at the given time. */
static inline void rp_dag_note_late(struct rp_dag_repairs *repairs, struct rp_dag_op *op,
                                    int64_t began_ns)
{
    int64_t by_ns = op->end_ns - began_ns;

    repairs->overlaps += !op->end_late;
    repairs->late_by_ns = by_ns > repairs->late_by_ns ? by_ns : repairs->late_by_ns;
    op->end_late = true;
}

/** Returns the first edge into a point; that of the next point is behind the last. */
static inline uint32_t rp_dag_first(const struct rp_dag_graph *g, size_t point)
{
    return g->first ? g->first[point] : g->base[point / RP_DAG_BLOCK_POINTS] + g->offset[point];
}

static inline int64_t rp_dag_odd_weight(const struct rp_dag_graph *g, size_t edge)
{
    return g->odd_weight_ns[rp_idmap_find(&g->odd, edge)];
}

static inline int64_t rp_dag_weight(const struct rp_dag_graph *g, size_t edge)
{
    uint32_t weight = g->weight[edge];

    return weight < RP_DAG_ODD_WEIGHT        ? (int64_t)weight
           : weight == RP_DAG_DROPPED_WEIGHT ? RP_DAG_DROPPED_NS
                                             : rp_dag_odd_weight(g, edge);
}

static inline enum rp_dag_class rp_dag_class_of(const struct rp_dag_graph *g, size_t edge)
{
    return (enum rp_dag_class)(g->kinds[edge] & ((1 << RP_DAG_CLASS_BITS) - 1));
}

static inline enum rp_dag_grade rp_dag_grade_of(const struct rp_dag_graph *g, size_t edge)
{
    return (enum rp_dag_grade)(g->kinds[edge] >> RP_DAG_CLASS_BITS);
}

static inline void rp_dag_set_kind(struct rp_dag_graph *g, size_t edge, enum rp_dag_class class,
                                   enum rp_dag_grade grade)
{
    g->kinds[edge] = (uint8_t)((unsigned)grade << RP_DAG_CLASS_BITS | (unsigned)class);
}

static inline uint32_t rp_dag_slot(const struct rp_dag_slots *slots, uint32_t point)
{
    return slots->of ? slots->of[point] : slots->wide[point];
}

/**
 * Says whether a call or operation ends at the point. Then the first of its edges is the duration,
 * and comes from the start. A collective of several ranks ends at a point that no rank owns,
 * COMMON.
 */
static inline bool rp_dag_is_end(const struct rp_dag *dag, uint32_t point)
{
    return dag->owner[point] != RP_DAG_NONE &&
           rp_dag_class_of(&dag->graph, rp_dag_first(&dag->graph, point)) == RP_DAG_DURATION;
}

/** Returns the slack of the operation with that number. */
static inline int64_t rp_dag_slack_of(const int64_t *slack_ns, uint32_t op)
{
    return slack_ns[op & ~(uint32_t)RP_DAG_OP_BIT];
}

#endif
