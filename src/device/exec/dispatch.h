/**
 * @file dispatch.h
 * @brief A dispatch in execution: internal to exec/ and to the memory handlers of isa/.
 *
 * The execution of a dispatch is a sequence of *slices*, each a run of instructions of one
 * workgroup, or of a few short ones after another. Which slices there are and in which order
 * depends on the program alone (sched.h). Several threads, each with a *hand*, execute slices at
 * the same time; what another slice could notice happens in the order of the sequence (order.h).
 */
#ifndef RP_DEVICE_EXEC_DISPATCH_H
#define RP_DEVICE_EXEC_DISPATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../timing/wave_counters.h"
#include "code.h"
#include "exec.h"
#include "kernel.h"
#include "memory.h"
#include "trail.h"

struct rp_mem_lanes;
struct rp_tally;
struct rp_atomic_log;
struct rp_wave_record;
struct rp_timing_stats;
struct rp_cache_result;
struct rp_thread_watch;

/** Begins a cache line of the host: what one thread writes often is not beside what others read. */
#define RP_OWN_LINE _Alignas(RP_LINE_BYTES)

enum { RP_LINE_BYTES = 64 };

/** Zeroed, for types with RP_OWN_LINE; NULL: out of memory. For free(). */
static inline void *rp_lines_new(size_t count, size_t bytes)
{
    void *p = aligned_alloc(RP_LINE_BYTES, count * bytes);
    return p ? memset(p, 0, count * bytes) : NULL;
}

enum { RP_CODE_WAYS = 64, RP_INTERRUPTS = 8, RP_ROUNDS_KEPT = 4, RP_HANDS = RP_EXEC_MOST_THREADS };

/**
 * Room for one resident workgroup. Register rows are reserved for the whole 512-entry file plus
 * the widest operand, so that no encodable register index can leave the reservation; only the rows
 * a kernel uses are ever touched.
 */
struct rp_resident_group {
    struct rp_group group; /**< first member: a group's slot is a cast away */
    uint32_t (*rows)[RP_LANES];
    uint8_t *scratch;
    struct rp_resident_group *next; /**< list of free ones */
    uint32_t wave_capacity, lds_capacity_bytes;
    size_t scratch_capacity_bytes;
    size_t touched_bytes; /**< real memory its rows and scratch may hold, roughly */
};

/** Sums over the slices up to a point of the sequence. */
struct rp_totals {
    uint64_t groups; /**< ended */
    uint64_t wave_insts;
    uint64_t cycles; /**< of the waves that ended */
};

enum rp_lane_state {
    RP_LANE_READY,     /**< its latest slice has retired */
    RP_LANE_RUNNING,   /**< a hand executes its slice */
    RP_LANE_SUSPENDED, /**< the slice was interrupted, any hand may go on with it */
    RP_LANE_PARKED,    /**< the slice waits until those before it have retired */
    RP_LANE_EXECUTED,  /**< the slice is over, but must wait to retire in order */
};

/** A place for a resident workgroup, and its present or latest slice. */
struct rp_lane {
    /* Others change these while a hand executes the slice. */
    RP_OWN_LINE enum rp_lane_state state;
    struct rp_lane *next;        /**< all lanes, in the order of their next slices */
    struct rp_lane *next_issued; /**< issued and not retired, in order */

    RP_OWN_LINE struct rp_resident_group *slot; /**< workgroup in execution, or NULL */
    uint64_t chunk_next, chunk_end; /**< workgroups it has been given and has not started */
    unsigned visits;                /**< slices of the workgroup in execution before this one */
    struct rp_totals known;         /**< when its previous slice retired */

    uint64_t order; /**< of the slice in the sequence */
    uint64_t round;
    uint64_t left; /**< instructions the slice may still execute */
    bool idle;     /**< it ended because every wave waits */
    bool faulted;
    struct rp_fault fault;
    struct rp_counts counts;
    struct rp_totals done;     /**< in this slice; wave_insts is in counts */
    struct rp_atomic_log *log; /**< atomics not yet applied, or NULL */
};

/** What one thread needs to execute slices. */
struct rp_hand {
    RP_OWN_LINE struct rp_dispatch *dispatch;
    struct rp_hand *next, **link; /**< list of all hands of the process */
    uint64_t turns;               /**< odd while it uses addresses of mem (hand.h) */
    struct rp_mem mem;
    struct rp_counts counts;   /**< of the present slice */
    struct rp_totals done;     /**< of the present slice */
    uint64_t order;            /**< of the present slice */
    uint32_t spent;            /**< instructions not yet taken off the dispatch's budget */
    int64_t share_left;        /**< first hand: what is left of one thread's part of the budget */
    struct rp_atomic_log *log; /**< of the present slice, or NULL */
    bool logging;              /**< the present instruction's atomics go there */
    bool ordered;              /**< an ordered operation has been executed in this turn */
    struct rp_resident_group *spare; /**< the workgroup memory it used last */
    /* Decoded code in use, direct-mapped by page number; each holds a reference. */
    struct rp_code_page *code[RP_CODE_WAYS];
    /* What it has executed, if that is counted: all, and in the same order of ways. */
    struct rp_tally *tallies, *tally[RP_CODE_WAYS];
    struct rp_trail trail; /**< of the present wave, if it is recorded */
};

/** What happened in a round, as far as its slices have retired. */
struct rp_round {
    uint64_t slices, groups_ended;
    uint64_t idle;           /**< slices in which every wave waited and no workgroup ended */
    struct rp_totals totals; /**< when the latest of them retired */
};

struct rp_id_range {
    uint64_t begin, end;
};

struct rp_dispatch {
    const struct rp_exec_host *host;
    const struct rp_arch *arch;
    struct rp_launch launch;
    struct rp_kernel kernel;
    const struct rp_mem_lanes *lanes; /**< lane loops for this CPU */
    uint64_t start_ticks;             /**< device clock at the launch, or else at the first run */
    bool started;
    bool translates;                      /**< hot code becomes machine code (jit/jit.h) */
    bool tallies;                         /**< executions of instructions are counted (tally.h) */
    struct rp_wave_record *record;        /**< of sampled workgroups (recording.h), or NULL */
    struct rp_timing_stats *stats;        /**< of the replay, or NULL */
    struct rp_cache_result *cache_result; /**< of the replay, for counters, or NULL */
    struct rp_wave_sums wave_sums;        /**< likewise */
    struct rp_thread_watch *threads;      /**< who traces the replay (software_device.h), or NULL */
    uint32_t leftovers;                   /**< see leftovers.h */
    uint32_t wave_order;                  /**< see wave_order.h */
    uint64_t bound;                       /**< see bound.h */
    bool timed; /**< from its second run on: its processor time is measured */

    /* Read and written without the lock; these seldom change, */
    RP_OWN_LINE uint64_t fault_order; /**< slices from here on need not be executed any more */
    int stop;                         /**< this rp_dispatch_run is to end */

    /* these often. */
    RP_OWN_LINE uint64_t turn;         /**< order of the oldest slice that has not retired */
    int64_t budget;                    /**< instructions left for this rp_dispatch_run */
    uint32_t events;                   /**< counts what a waiting hand may wait for */
    uint32_t interrupt[RP_INTERRUPTS]; /**< sent by waves, not yet passed on: their M0 */
    unsigned interrupt_count;          /**< changed in turn only */

    RP_OWN_LINE pthread_mutex_t lock; /**< for all that follows */
    struct rp_counts counts;          /**< of retired slices */
    struct rp_fault fault;
    enum rp_run_state state;
    pthread_cond_t changed;
    unsigned sleepers;
    unsigned running;   /**< hands that execute a slice */
    unsigned suspended; /**< lanes in that state */
    uint64_t next_order;
    struct rp_lane *lane_head, *lane_tail;     /**< by rp_lane.next */
    struct rp_lane *issued_head, *issued_tail; /**< by rp_lane.next_issued */
    uint64_t lane_count;                       /**< in the list */
    struct rp_lane *free_lanes;
    struct rp_lane **lane_blocks; /**< all lanes, for release */
    size_t lane_block_count;
    struct rp_atomic_log *free_logs;
    bool retiring;  /**< a hand applies the oldest slice's log */
    bool no_memory; /**< for another lane */

    /* Workgroups. */
    uint64_t next_group;          /**< linear id of the first never given to a lane */
    struct rp_id_range *returned; /**< given to a lane and taken back, oldest first */
    size_t returned_first, returned_count, returned_capacity;
    uint64_t lane_target; /**< how many the scheduler presently wants */
    struct rp_totals totals;
    uint64_t work; /**< see bound.h */
    uint64_t round, round_left;
    struct rp_round rounds[RP_ROUNDS_KEPT];
    unsigned stuck_rounds; /**< in a row in which no workgroup ended */
    unsigned idle_rounds;  /**< in a row in which every slice ended idle */
    bool outside;          /**< nobody can go on before something outside has changed */

    /* Threads (worker_pool.h). */
    RP_OWN_LINE struct rp_hand *hands[RP_HANDS]; /**< [0] is the caller's */
    struct rp_dispatch *next_job;
    bool posted;
    int64_t longest_ns; /**< this run: processor time of a helper; under the pool's lock */
    int64_t busy_ns;    /**< what rp_dispatch_busy_ns says */
    unsigned helpers;   /**< threads of the pool at work here; under the pool's lock */
};

#endif
