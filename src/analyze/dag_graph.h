/**
 * @file dag_graph.h
 * @brief A max-plus graph of points in time: when can each happen at the earliest, and how late may
 *        it be.
 *
 * An edge (u, v, w) says t(v) >= t(u) + w. Points are made in an order in which every edge goes
 * from an earlier point to a later one, so all passes are one sweep. Times and weights are
 * nanoseconds.
 */
#ifndef RP_ANALYZE_DAG_GRAPH_H
#define RP_ANALYZE_DAG_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/dag.h"
#include "analyze/dag_trace.h"
#include "base/map.h"

struct rp_dag_ranges;
struct rp_err;

enum { RP_DAG_NO_POINT = UINT32_MAX };

enum { RP_DAG_BLOCK_POINTS = 64 };

/** Weight of a dependency that the recorded times contradict: it holds nothing back. */
#define RP_DAG_DROPPED_NS (INT64_MIN / 4)

/* What stands for a weight that is none of the usual ones: up to 4 s. */
enum { RP_DAG_ODD_WEIGHT = UINT32_MAX - 1, RP_DAG_DROPPED_WEIGHT = UINT32_MAX };

/**
 * A trace has tens of millions of points and edges: each of them takes few bytes. The functions
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

/** Gives all edges the weight 0: after the last of them was added. */
void rp_dag_weigh(struct rp_dag_graph *g);
void rp_dag_set_weight(struct rp_dag_graph *g, size_t edge, int64_t weight_ns);

enum { RP_DAG_CLASS_BITS = 4 };

/**
 * Of the edges into a point, the one that determines its time: among equals the class that comes
 * first in the order of rp_dag_class, then the earlier point. @return RP_DAG_NO_POINT: no edge
 */
uint32_t rp_dag_binding(const struct rp_dag_graph *g, uint32_t point);

/* Places for the times of points that later points still need.
 *
 * A sweep over a graph needs the time of a point only until the last of its successors. Few points
 * wait so long: with a place for each of those, a sweep stays in the cache however long the trace
 * is, and takes no memory to speak of.
 */

/** Zero-initialise; release with rp_dag_slots_free. */
struct rp_dag_slots {
    uint16_t *of;   /**< per point; never that of a predecessor */
    uint32_t *wide; /**< instead, where there are too many */
    size_t count;
};

/** Edges may be taken away afterwards, and others added that come from the first point. */
int rp_dag_slots_find(const struct rp_dag_graph *g, struct rp_dag_slots *ret, struct rp_err *err);
void rp_dag_slots_free(struct rp_dag_slots *slots);

/* From the rows of a trace to points and edges, with the delays that the trace shows. */

/** What a point is. */
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

/** Packets of a queue follow each other within some microseconds: a longer gap is no delay of the
 *  device. */
enum { RP_DAG_LONGEST_GAP_NS = 10000 };

/** Shortest delays that agree with every time in the trace; 0 when it shows none. */
struct rp_dag_delays {
    int64_t launch_ns;   /**< start of a call to start of its operation */
    int64_t dispatch_ns; /**< end of a packet to start of the next one */
    int64_t event_ns;    /**< recorded marker to waiting marker */
    int64_t wake_ns;     /**< end of what a call waits for to the end of the call */
    /** Blocking calls that always waited: how long they take otherwise is not known. */
    uint32_t unknown_costs;
};

/** A duration that the trace does not show: anything from 0 to this. */
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
    struct rp_dag_unknown_duration *unsure; /**< few, if any: dag_graph.h */
    size_t unsure_count;
    int64_t start_ns, end_ns;   /**< of the whole */
    uint32_t end_point;         /**< the first point with the last time */
    struct rp_dag_slots slots;  /**< for sweeps */
    const struct rp_work *work; /**< told how far it is, or NULL */
};

int rp_dag_build(struct rp_dag_trace *trace, struct rp_dag *ret, struct rp_err *err);
void rp_dag_free(struct rp_dag *dag);

/** Is a kernel of this name one that waits for those of other ranks? */
bool rp_dag_is_collective(const char *symbol);

/* The weights of a built DAG: delays learned from the trace, such that the DAG reproduces
 *        every recorded time.
 */

int rp_dag_learn_delays(struct rp_dag *dag, struct rp_dag_trace *trace, struct rp_err *err);

/** What an edge of a class weighs by the learned delays, 0 for those without one. */
int64_t rp_dag_delay(const struct rp_dag *dag, enum rp_dag_class class, uint32_t to);

/* In which of the program's own ranges (ROCTx) a stretch of host time lies. */

struct rp_dag_ranges {
    struct rp_dag_stretch *list; /**< by process, thread and start: the innermost range of each */
    size_t count;
};

/* When each GPU was busy, and what it waited for when it was not. */

/** Fills agents, idle_shares and idle_ranges. @param starts  from rp_dag_starts_find */
int rp_dag_idle(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                const struct rp_dag_ranges *ranges, const uint32_t *starts,
                struct rp_dag_result *ret, struct rp_err *err);

/* End-to-end time of changed DAGs, several at a time. */

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
 *        a time.
 */

/* How long the program would take without the host, the copies, a delay. */

/** Fills limit_ns and true_span_ns. Marks what a graph would capture: RP_DAG_CAPTURED. */
int rp_dag_limits(struct rp_dag *dag, const struct rp_dag_trace *trace, struct rp_dag_result *ret,
                  struct rp_err *err);

int rp_dag_ranges_find(const struct rp_dag_trace *trace, struct rp_dag_ranges *ret,
                       struct rp_err *err);
void rp_dag_ranges_free(struct rp_dag_ranges *ranges);

/**
 * The innermost range around the middle of a stretch of an edge's time, that of the thread before
 * those of the whole process; NULL: none, or the edge is no time of the host.
 * @param to  the point that the edge goes to
 */
const char *rp_dag_range_of(const struct rp_dag_ranges *ranges, const struct rp_dag *dag,
                            const struct rp_dag_trace *trace, uint32_t e, uint32_t to,
                            int64_t start_ns, int64_t end_ns);

/* Which operations each operation waited for on the device, where the trace says so:
 * packets' barrier bits, barrier packets and signals, as the built-in collector records them.
 */

/** What is needed to compare the edges into an operation with the record. */
struct rp_dag_recorded_op {
    struct rp_dag *dag;
    const struct rp_dag_process *process;
    const uint32_t *finish; /**< per operation: its last point, or RP_DAG_NONE */
    uint32_t op;
};

/**
 * Gives the edges that were added for the operation's start the grade "recorded" where the record
 * has the same dependency, also by way of markers, and adds those that it has besides.
 */
void rp_dag_recorded_edges(const struct rp_dag_recorded_op *r);

/* How much longer each operation could take with the same end-to-end time. */

/** @param ret  per operation of all processes; to be freed */
int rp_dag_slack_find(const struct rp_dag *dag, int64_t **ret, struct rp_err *err);

/* The operations of all processes in the order of their starts. */

/** @param ret  points where operations start, by time, then number; dag->op_count; to be freed */
int rp_dag_starts_find(const struct rp_dag *dag, uint32_t **ret, struct rp_err *err);

/* Times added up by name, and the part of the time that an edge stands for. */

/** Sums by name; {0} is empty. */
struct rp_dag_names {
    struct rp_idmap addresses;   /**< of the names; two may be equal */
    struct rp_dag_share *shares; /**< per address */
    size_t room;
};

/** @return -1 out of memory */
int rp_dag_names_add(struct rp_dag_names *names, const char *name, int64_t ns);
/** Largest first, then by name, each name once. The sums are empty afterwards. */
int rp_dag_names_take(struct rp_dag_names *names, struct rp_dag_share **ret, size_t *ret_count,
                      struct rp_err *err);
/** Likewise, with copies of the names: to be freed with rp_dag_owned_shares_free. */
int rp_dag_names_take_copies(struct rp_dag_names *names, struct rp_dag_share **ret,
                             size_t *ret_count, struct rp_err *err);
void rp_dag_owned_shares_free(struct rp_dag_share *shares, size_t count);
void rp_dag_names_free(struct rp_dag_names *names);

/** "[launch]" and the like: what stands for the name of a part without one. */
const char *rp_dag_part_label(enum rp_dag_part part);
/** The part and the name that an edge's time belongs to. */
enum rp_dag_part rp_dag_part_of(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                uint32_t e, const char **ret_name);
/** The call or operation that an edge is the duration of, or RP_DAG_NONE. */
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

/** Per operation, by number; the caller frees it. */
int rp_dag_causes_find(const struct rp_dag *dag, struct rp_dag_cause **ret, struct rp_err *err);

/* How much of the time of collectives is waiting for other ranks. */

/** Fills collectives and the processes' collective_wait_ns. */
int rp_dag_collectives(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                       struct rp_dag_result *ret, struct rp_err *err);

/* How far off what-ifs may be where the trace does not show all that they rest on. */

/**
 * Fills least_ns and most_ns of the result's what-ifs. Where dependencies are guessed, nothing is
 * certain to get faster, and at best only the certain dependencies hold, with the shortest delays.
 * Where durations are not known, they may be anything that what follows allows.
 * Changes the weights of the graph: nothing else can be computed from it afterwards.
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

/** The first edge into a point; that of the next point is behind the last. */
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
 * Does a call or operation end at the point? Then the first of its edges is the duration, and comes
 * from the start. A collective of several ranks ends at a point that is nobody's own, COMMON.
 */
static inline bool rp_dag_is_end(const struct rp_dag *dag, uint32_t point)
{
    return dag->owner[point] != RP_DAG_NONE &&
           rp_dag_class_of(&dag->graph, rp_dag_first(&dag->graph, point)) == RP_DAG_DURATION;
}

/** Of the operation with that number. */
static inline int64_t rp_dag_slack_of(const int64_t *slack_ns, uint32_t op)
{
    return slack_ns[op & ~(uint32_t)RP_DAG_OP_BIT];
}

#endif
