/**
 * @file dag.h
 * @brief Finds what bounds the end-to-end time of a traced program: execution DAG, critical path,
 * slack, what-if. Rules: docs/format/dag.md.
 *
 * Every kernel, copy and API call has a point where it starts and one where it ends; edges between
 * points say what had to wait for what, and how long after. All times are nanoseconds.
 */
#ifndef RP_ANALYZE_DAG_H
#define RP_ANALYZE_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_dag_result;
struct rp_err;
struct rp_store;
struct rp_work;

/** Says why one point waits for another, in the order in which ties are broken. */
enum rp_dag_class {
    RP_DAG_STREAM,      /**< the operation before it in its stream */
    RP_DAG_EVENT,       /**< hipStreamWaitEvent */
    RP_DAG_NULL_STREAM, /**< the legacy default stream waits for others, and they for it */
    RP_DAG_COLLECTIVE,  /**< a collective ends on all ranks together */
    RP_DAG_QUEUE,    /**< another stream's packet in the same hardware queue: a false dependency */
    RP_DAG_SYNC,     /**< the host waits for the device */
    RP_DAG_LAUNCH,   /**< from the call to the operation that it started */
    RP_DAG_HOST_GAP, /**< the program's own time between two calls of a thread */
    RP_DAG_DURATION, /**< of a kernel, copy or call */
    RP_DAG_UNKNOWN,  /**< the trace does not say what it waited for */
    RP_DAG_CLASS_COUNT
};

/** Says how well an edge is known. */
enum rp_dag_grade {
    RP_DAG_RECORDED, /**< the trace holds the dependency itself, or both ends of a duration */
    RP_DAG_DERIVED,  /**< follows from the API calls and their arguments */
    RP_DAG_PARTIAL,  /**< from order and times; arguments are missing */
    RP_DAG_INFERRED, /**< guessed from times alone */
    RP_DAG_GRADE_COUNT
};

/** Says on what a stretch of the critical path is spent. */
enum rp_dag_part {
    RP_DAG_PART_KERNEL,
    RP_DAG_PART_COPY,
    RP_DAG_PART_HOST_API, /**< inside a HIP call */
    RP_DAG_PART_HOST_GAP, /**< the program's own code between two calls */
    RP_DAG_PART_LAUNCH,
    RP_DAG_PART_STREAM,
    RP_DAG_PART_QUEUE,
    RP_DAG_PART_EVENT,
    RP_DAG_PART_NULL_STREAM,
    RP_DAG_PART_SYNC,
    RP_DAG_PART_COLLECTIVE,
    RP_DAG_PART_UNKNOWN,
    RP_DAG_PART_COUNT
};

/** Each limit removes something to see what remains (docs/format/dag.md). */
enum rp_dag_limit {
#define RP_DAG_LIMIT(id, no_time, not_there) RP_DAG_LIMIT_##id,
#include "analyze/dag_limits.def"
#undef RP_DAG_LIMIT
    RP_DAG_LIMIT_COUNT
};

/** The names are "no_host_gap" ... */
extern const char *const rp_dag_limit_names[];
/** The names are "kernel", "host_gap" ... */
extern const char *const rp_dag_part_names[];
extern const char *const rp_dag_grade_names[];
/** The names are "stream", "launch" ... */
extern const char *const rp_dag_class_names[];

/** This is a kernel, copy, HIP call or "[launch]" with its time on the critical path. */
struct rp_dag_share {
    const char *name;
    int64_t path_ns;
    bool is_kernel; /**< one to speed up: no collective whose other ranks are not in the trace */
};

enum { RP_DAG_NO_STEP = UINT32_MAX };

struct rp_dag_step {
    const char *guid; /**< of its process */
    const char *name;
    int64_t id; /**< dispatch_id of a kernel, row id of a copy */
    int64_t start_ns, duration_ns;
    int64_t slack_ns; /**< how much longer it could take with the same end-to-end time */
    uint32_t process; /**< index into the processes of the run */
    int32_t agent;    /**< in its process's trace; -1: not known */
    /** This is the step that ended last on the way that its start waited for, directly or through
     * the host; RP_DAG_NO_STEP: none. */
    uint32_t waited_for;
    uint32_t range; /**< in which it was launched: index into the ranges; RP_DAG_NO_STEP: in none */
    enum rp_dag_class via; /**< of the edge into the start that bound it */
    bool is_copy;
    bool on_path; /**< of the critical path that was chosen; others may be as long */
};

/** This is the end-to-end time if every dispatch of a kernel took den/num of its time; num 0 means
 * no time at all. */
struct rp_dag_what_if {
    const char *symbol;
    uint32_t num, den;
    int64_t makespan_ns;
    /** Where the trace lacks ends or dependencies, it may be anything in between. */
    int64_t least_ns, most_ns;
};

/** These are kernels of different streams of which one waited for the other only because their
 * streams share a hardware queue. */
struct rp_dag_pair {
    const char *first, *second; /**< the second waited */
    uint64_t count;
    int64_t waited_ns; /**< in all: how much earlier the second could have begun */
    int64_t gain_ns;   /**< of the makespan, if these two did not wait for each other */
};

/** These bits name what makes the times of a run differ from those of the program alone. */
enum rp_dag_disturbance {
    RP_DAG_COUNTERS = 1,     /**< counters were collected: kernels run one after the other */
    RP_DAG_THREAD_TRACE = 2, /**< instructions were traced */
    RP_DAG_PC_SAMPLING = 4,  /**< program counters were sampled */
    RP_DAG_DISTURBANCE_END = 8
};

/** Names one bit: "counters" ... */
const char *rp_dag_disturbance_name(unsigned bit);

struct rp_dag_process_fact {
    const struct rp_store *store; /**< that has its rows, */
    uint32_t guid_index;          /**< and under which guid; several may have none */
    const char *guid;
    int64_t pid;
    uint32_t machine;
    bool rank_known;
    int64_t rank;
    unsigned disturbed; /**< enum rp_dag_disturbance */
    /** Operations of GPUs were moved to begin no earlier than their calls, and to end no later than
     * the operations that waited for them: by at most this much. */
    int64_t moved_ns;
    int64_t clock_ahead_ns;     /**< the same with the sign of the GPU's clock less the host's */
    bool clocks_apart;          /**< that was more than conversions are off by, or */
    bool clocks_contradict;     /**< neither a shift nor a drift agrees with the calls: not moved */
    int64_t collective_wait_ns; /**< in collectives, for other ranks */
    int64_t waited_for_ns;      /**< in collectives that it came to last: by all others together */
};

/** This is a machine, with the difference of its clock from the first machine's. */
struct rp_dag_machine {
    const char *machine_id, *hostname; /**< "": not known */
    int64_t offset_ns;      /**< its time less the first machine's at the first collective */
    double drift;           /**< and how much more it gets each nanosecond */
    int64_t uncertainty_ns; /**< collectives allow the offset to be wrong by that much */
    uint64_t collectives;   /**< that say so; 0: the first machine */
};

/** This is a collective, by name. For a part of its time it only waits for other ranks. */
struct rp_dag_collective {
    const char *name;
    uint64_t count;
    int64_t time_ns, wait_ns;
    int64_t exposed_ns; /**< of time_ns: no other kernel of the process ran on the GPU */
    bool wait_known;    /**< false: the trace has one process only */
};

/** These are collectives of one kind, as far as the trace says what was asked for. */
struct rp_dag_message {
    const char *collective, *dtype; /**< "allreduce", "BFloat16" */
    int64_t ranks;                  /**< of their group; -1: unknown */
    uint64_t count, sized;          /**< all; those of known size, from which bandwidths are */
    int64_t time_ns, exposed_ns, wait_ns;
    int64_t bytes;   /**< of those of known size */
    double bus_gbps; /**< mean; 0: unknown. Where waits are not known it is at least this */
    double best_bus_gbps;
    double peak_gbps; /**< of the links to the others; 0: unknown */
};

/** This is a kernel, as far as it was launched in a range and in none inside of that. */
struct rp_dag_range_kernel {
    const char *name;
    uint64_t launches;
    int64_t ns;
};

/**
 * These are the program's ranges (ROCTx, operators and annotations of PyTorch) of one name in which
 * something was launched. Times and counts are of all that was launched in them and in ranges
 * inside of them, once each.
 */
struct rp_dag_range_sum {
    char *name;
    uint64_t calls, launches, copies; /**< how often it was entered; kernels and copies in it */
    int64_t kernel_ns, copy_ns;
    uint64_t own_launches; /**< in no range inside of it: over all ranges each kernel counts once */
    int64_t own_kernel_ns; /**< of these */
    int64_t path_ns;       /**< of the critical path: kernels and copies of it, and its host time */
    struct rp_dag_range_kernel *kernels; /**< of own_kernel_ns, by time */
    size_t kernel_count;
};

enum { RP_DAG_SLACK_BINS = 6, RP_DAG_NEXT_PATHS = 10 };

/** This counts kernels and copies by their slack: more than the bin before allows, up to this one's
 * bound. */
struct rp_dag_slack_bin {
    const char *name; /**< "0", "1us", "0.1%" of the makespan ..., "more" */
    int64_t up_to_ns; /**< of the last: INT64_MAX */
    uint64_t count;
    int64_t time_ns;
};

/** Says how much of the time of a kernel or copy has next to no slack. */
struct rp_dag_critical {
    const char *name;
    uint64_t count;
    int64_t time_ns, near_ns; /**< all; with no more slack than epsilon_ns */
};

/** This is a chain of kernels and copies of equal slack, none of them on the critical path or on a
 * chain with less. It becomes critical when the critical path gets shorter by that slack. */
struct rp_dag_next_path {
    int64_t slack_ns;
    int64_t start_ns, end_ns; /**< of the first and the last */
    uint64_t op_count;
    int64_t kernel_ns, copy_ns;
    struct rp_dag_share *shares; /**< by path_ns, then name */
    size_t share_count;
};

/** This is a GPU. The waits add up to its idle time, which with its busy time is the makespan. */
struct rp_dag_agent {
    const char *guid; /**< of the first process that used it */
    const char *name; /**< "gfx942" */
    int64_t id;       /**< in that process's trace; -1: the operations name no agent */
    int64_t node;     /**< the driver's number of it */
    bool node_known;
    bool rank_known; /**< the rank's own GPUs have these numbers; other ranks' have them, too */
    int64_t rank;
    char uuid[64];                        /**< "": not known */
    uint32_t machine;                     /**< index into the machines of the run */
    int64_t busy_ns;                      /**< a kernel or copy ran */
    int64_t exposed_copy_ns;              /**< only copies ran */
    int64_t exposed_collective_ns;        /**< collectives ran, and no other kernel */
    int64_t idle_ns, before_ns, after_ns; /**< all; before the first and after the last */
    int64_t idle_part_ns[RP_DAG_PART_COUNT];
    uint64_t gap_count;
};

/** These were fixed before anything was computed. */
struct rp_dag_fixes {
    uint64_t negative_durations, zero_durations, never_ended, late_ends;
    uint64_t shortened_edges, dropped_edges; /**< dependencies that the recorded times contradict */
    uint64_t concurrent_packets;       /**< ran while the packet before them in their queue did */
    uint64_t early_starts;             /**< operations that began before their calls */
    uint64_t moved_clocks;             /**< of GPUs, in processes */
    uint64_t clipped_ends;             /**< that cannot be, by more than ends are stamped late */
    int64_t late_by_ns, clipped_by_ns; /**< the most of a late end, of a clipped one */
    uint32_t unknown_costs;   /**< blocking calls whose own cost no instance shows: taken as
                                 the cheapest other blocking call's, or 0 */
    const char *without_time; /**< the first kernel or copy whose end is lost; NULL: none */
};

enum { RP_DAG_CONCURRENCY = 9 };

/** The stores own the strings. */
struct rp_dag_result {
    const char *device; /**< "software", "hardware"; NULL: the traces do not say */
    const char *timing_model, *timing_version; /**< metadata of the software device, or NULL */
    uint32_t clock_mhz; /**< that was modelled; 0: the highest, or not known */
    bool incomplete;    /**< a trace was not closed in order: what came last may be missing */
    int64_t start_ns, makespan_ns;
    int64_t kernel_span_ns;             /**< longest chain when only kernel durations weigh */
    int64_t path_ns[RP_DAG_PART_COUNT]; /**< sum: makespan_ns */
    int64_t grade_path_ns[RP_DAG_GRADE_COUNT];
    uint64_t grade_edges[RP_DAG_GRADE_COUNT];
    /** Dependencies are all edges except durations, the program's own time, and launches. */
    uint64_t grade_dependencies[RP_DAG_GRADE_COUNT];
    struct rp_dag_share *shares; /**< by path_ns, then name */
    size_t share_count;
    struct rp_dag_step *chain; /**< kernels and copies on the critical path, first to last */
    size_t chain_count;
    struct rp_dag_what_if *what_ifs;
    size_t what_if_count;
    int64_t unshared_queues_ns;           /**< makespan without false dependencies through queues */
    int64_t limit_ns[RP_DAG_LIMIT_COUNT]; /**< makespan of each limit */
    /** This is the longest chain when only kernels and copies weigh and queues are not shared: no
     * order of launches and no faster host brings the program below it. */
    int64_t true_span_ns;
    int64_t kernel_time_ns, copy_time_ns; /**< sums over all kernels, all copies */
    struct rp_dag_pair *pairs;            /**< by gain, wait, names */
    size_t pair_count;
    struct rp_dag_machine *machines;
    size_t machine_count;
    struct rp_dag_process_fact *processes;
    size_t process_count;
    unsigned disturbed;                    /**< enum rp_dag_disturbance, of any process */
    struct rp_dag_collective *collectives; /**< by name */
    size_t collective_count;
    struct rp_dag_message *messages; /**< by time, most first */
    size_t message_count;
    int64_t epsilon_ns; /**< so little slack is as good as none */
    struct rp_dag_slack_bin slack_bins[RP_DAG_SLACK_BINS];
    struct rp_dag_critical *critical; /**< by near_ns, then name */
    size_t critical_count;
    struct rp_dag_next_path near_paths[RP_DAG_NEXT_PATHS]; /**< by slack */
    size_t near_path_count;
    struct rp_dag_agent *agents;
    size_t agent_count;
    /** This is host time of the path and of the agents' idle time by ROCTx range; the names are the
     * result's own. */
    struct rp_dag_share *path_ranges, *idle_ranges;
    size_t path_range_count, idle_range_count;
    struct rp_dag_range_sum *ranges; /**< by own_kernel_ns, then kernel_ns and name */
    size_t range_count;
    int64_t outside_ranges_ns;        /**< of kernels that were launched in no range */
    struct rp_dag_share *idle_shares; /**< of all agents' idle time, by what was waited for */
    size_t idle_share_count;
    /** During this time so many kernels and copies ran; the last entry stands for it and more. */
    int64_t concurrency_ns[RP_DAG_CONCURRENCY];
    int64_t exposed_copy_ns;                           /**< only copies ran */
    int64_t launch_ns, dispatch_ns, event_ns, wake_ns; /**< delays that the trace shows */
    struct rp_dag_fixes mended;
    struct rp_dag_step *steps; /**< every kernel and copy, by process, start and id; if asked for */
    size_t step_count;
};

/** Says whether the traces are of several processes of the software device, each of which has a
 * clock of its own: such have no graph. */
bool rp_dag_own_clocks(struct rp_store *const *stores, size_t count);

/**
 * Computes everything from traces of one run: one store, or those of its processes and ranks. The
 * stores must stay open as long as the result.
 * @param with_steps also list every kernel and copy
 * @param work gets the progress; may be NULL
 * @return 0; RP_BAD_INPUT when there is nothing to analyse; RP_ENVIRONMENT when memory has ended
 */
int rp_dag_analyze(struct rp_store *const *stores, size_t store_count, bool with_steps,
                   const struct rp_work *work, struct rp_dag_result *ret, struct rp_err *err);
/** Returns the fraction of the dependencies that have this grade; 0 if there are none. */
double rp_dag_dependency_share(const struct rp_dag_result *result, enum rp_dag_grade grade);
/** Returns the fraction of the dependencies that are guessed: those that only times suggest, and
 * those of calls without arguments. */
double rp_dag_guessed_share(const struct rp_dag_result *result);
void rp_dag_result_free(struct rp_dag_result *result);

/** Says whether a kernel of this name is communication: it waits for those of other ranks. */
bool rp_dag_is_collective(const char *symbol);

/* This section finds where each kernel and copy of an execution graph ran: lanes of a timeline. */

/** This is one stream in one queue of one GPU of one process. */
struct rp_timeline_track {
    uint32_t process;             /**< index into the processes of the graph */
    int64_t agent, queue, stream; /**< -1: not known; copies are in no queue */
};

struct rp_timeline {
    struct rp_timeline_track *lanes; /**< by process, agent, queue, stream */
    size_t lane_count;
    uint32_t *track_of_step; /**< per step of the graph */
};

/**
 * @param dag made of these stores, or of some of them, with steps
 * @param ret release with rp_timeline_free
 */
int rp_timeline_make(struct rp_store *const *stores, size_t store_count,
                     const struct rp_dag_result *dag, struct rp_timeline *ret, struct rp_err *err);
void rp_timeline_free(struct rp_timeline *timeline);

#endif
