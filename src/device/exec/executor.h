/**
 * @file executor.h
 * @brief This header declares what the files of exec/ share while a dispatch is executed.
 */
#ifndef RP_DEVICE_EXEC_EXECUTOR_H
#define RP_DEVICE_EXEC_EXECUTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/exec/dispatch.h"
#include "device/exec/exec_settings.h"
#include "device/exec/kernel_launch.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"

struct rp_atomic_log;
struct rp_check_dispatch;
struct rp_code_page;
struct rp_insn;
struct rp_mem_lanes;
struct rp_page_counters;
struct rp_wave_record;

/* A recorded wave runs through translated code as well. That code notes each straight run of
 * instructions that it has executed; before anything looks at the wave's record (wave_record.h) the
 * runs are written out there, an instruction each.
 */

enum { RP_RUN_LOG_RUNS = 2048 }; /**< each is an instruction at least */

struct rp_run_log {
    uint32_t *next; /**< first: translated code knows where it is */
    const struct rp_code_page *page;
    void *observer_data; /**< what the observer keeps from wave to wave, for free(), or NULL */
    uint32_t run[RP_RUN_LOG_RUNS]; /**< first slot of the page, and from bit 16 the one behind */
};

/**
 * Translated code calls this for a memory instruction of a recorded wave, which is the last one of
 * the run log. It notes what the instruction accesses, and executes it.
 */
int rp_run_log_access(struct rp_wave *w, const struct rp_insn *in);

/** Notes what it accesses, and no more. */
void rp_run_log_note(struct rp_wave *w, const struct rp_insn *in);

/* A dispatch in execution is internal to exec/ and to the memory handlers of isa/.
 *
 * The execution of a dispatch is a sequence of *slices*, each a run of instructions of one
 * workgroup, or of a few short ones after another. Which slices there are and in which order
 * depends on the program alone. Several threads, each with a *worker*, execute slices
 * at the same time; what another slice could notice happens in the order of the sequence.
 */

/* What makes the result independent of the number of threads.
 *
 * Slices are executed at the same time, but an *ordered operation* waits until every earlier slice
 * has retired: a memory atomic that returns a value, any load or store with sc1 (so HIP compiles
 * atomic and volatile accesses; for gfx90a, loads with glc), a message to the host. Everything a
 * program may synchronise with is among them, so a program without data races gets exactly what it
 * would get if slices were executed one after another. Atomics that return nothing do not wait:
 * they are noted, and applied when their slice retires, or before it touches their pages in another
 * way.
 *
 * After an ordered operation a slice ends soon, so that what follows overlaps with other slices.
 */

enum { RP_LINE_BYTES = 64 };

/** Begins a cache line of the host: what one thread writes often is not beside what others read. */
#define RP_OWN_LINE _Alignas(RP_LINE_BYTES)

enum {
    RP_CODE_WAYS = 64,
    RP_INTERRUPTS = 8,
    RP_ROUNDS_KEPT = 4,
    RP_EXEC_WORKERS = RP_EXEC_MOST_THREADS
};

/**
 * This is room for one resident workgroup. Register rows are reserved for the whole 512-entry file
 * plus the widest operand, so that no encodable register index can leave the reservation; only the
 * rows that a kernel uses are ever touched.
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

enum { RP_EXEC_DIES = 8 }; /**< more are not told apart */

/** These are sums over workgroups that have ended. */
struct rp_die_work {
    uint64_t groups, waves;
    uint64_t wave_insts; /**< as in rp_counts */
};

static inline void rp_die_work_add(struct rp_die_work *to, const struct rp_die_work *w)
{
    to->groups += w->groups;
    to->waves += w->waves;
    to->wave_insts += w->wave_insts;
}

/** These are sums over the slices up to a point of the sequence. */
struct rp_totals {
    uint64_t groups; /**< ended */
    uint64_t wave_insts;
    uint64_t cycles;                      /**< of the waves that ended */
    struct rp_die_work die[RP_EXEC_DIES]; /**< workgroups are dealt out to dies in turn */
};

enum rp_workgroup_slot_state {
    RP_WORKGROUP_SLOT_READY,     /**< its latest slice has retired */
    RP_WORKGROUP_SLOT_RUNNING,   /**< a worker executes its slice */
    RP_WORKGROUP_SLOT_SUSPENDED, /**< the slice was interrupted, any worker may go on with it */
    RP_WORKGROUP_SLOT_PARKED,    /**< the slice waits until those before it have retired */
    RP_WORKGROUP_SLOT_EXECUTED,  /**< the slice is over, but must wait to retire in order */
};

/** This is a place for a resident workgroup, with its present or latest slice. */
struct rp_workgroup_slot {
    /* Others change these while a worker executes the slice. */
    RP_OWN_LINE enum rp_workgroup_slot_state state;
    struct rp_workgroup_slot *next;        /**< all lanes, in the order of their next slices */
    struct rp_workgroup_slot *next_issued; /**< issued and not retired, in order */

    RP_OWN_LINE struct rp_resident_group *slot; /**< workgroup in execution, or NULL */
    uint64_t chunk_next, chunk_end; /**< workgroups it has been given and has not started */
    unsigned visits;                /**< slices of the workgroup in execution before this one */
    unsigned stalled;       /**< for so many visits it executes nothing, in an interleaved order */
    struct rp_totals known; /**< when its previous slice retired */

    uint64_t order; /**< of the slice in the sequence */
    uint64_t round;
    uint64_t left; /**< instructions the slice may still execute */
    int other_die; /**< as rp_observer.on_slice says */
    bool idle;     /**< it ended because every wave waits */
    bool faulted;
    struct rp_fault fault;
    struct rp_counts counts;
    struct rp_totals done;     /**< in this slice; wave_insts is in counts */
    struct rp_atomic_log *log; /**< atomics not yet applied, or NULL */
};

/** One thread needs this to execute slices. */
struct rp_exec_worker {
    RP_OWN_LINE struct rp_wave_env env; /**< first member: rp_worker_of */
    struct rp_dispatch *dispatch;
    struct rp_exec_worker *next, **link; /**< list of all workers of the process */
    uint64_t turns;                      /**< odd while it uses addresses of env.mem */
    struct rp_totals done;               /**< of the present slice */
    uint64_t order;                      /**< of the present slice */
    int other_die;                       /**< also */
    uint32_t spent;     /**< instructions not yet taken off the dispatch's budget */
    int64_t share_left; /**< first worker: what is left of one thread's part of the budget */
    bool ordered;       /**< an ordered operation has been executed in this turn */
    struct rp_resident_group *spare; /**< the workgroup memory it used last */
    /* Decoded code in use, direct-mapped by page number; each holds a reference. */
    struct rp_code_page *code[RP_CODE_WAYS];
    /* What it has executed, if that is counted: all, and in the same order of ways. */
    struct rp_page_counters *tallies, *tally[RP_CODE_WAYS];
    struct rp_run_log run_log; /**< of the present wave, if it is recorded */
};

/** This is what happened in a round, as far as its slices have retired. */
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
    uint64_t start_ticks; /**< device clock at the launch, or else at the first run */
    bool started;
    bool translates;                   /**< hot code becomes machine code (code_cache.h) */
    enum rp_counting counting;         /**< of it: executions by code_cache.h */
    void *observed;                    /**< what the observer keeps of it; NULL: it does not care */
    struct rp_check_dispatch *checked; /**< what a check keeps of it, or NULL */
    struct rp_exec_settings settings;
    bool timed; /**< from its second run on: its processor time is measured */

    /* These members are read and written without the lock and seldom change. */
    RP_OWN_LINE uint64_t fault_order; /**< slices from here on need not be executed any more */
    int stop;                         /**< this rp_dispatch_run is to end */

    /* These members change often. */
    RP_OWN_LINE uint64_t turn;         /**< order of the oldest slice that has not retired */
    int64_t budget;                    /**< instructions left for this rp_dispatch_run */
    uint32_t events;                   /**< counts what a waiting worker may wait for */
    uint32_t interrupt[RP_INTERRUPTS]; /**< sent by waves, not yet passed on: their M0 */
    unsigned interrupt_count;          /**< changed in turn only */

    RP_OWN_LINE pthread_mutex_t lock; /**< for all that follows */
    struct rp_counts counts;          /**< of retired slices */
    struct rp_fault fault;
    enum rp_run_state state;
    pthread_cond_t changed;
    unsigned sleepers;
    unsigned running;   /**< workers that execute a slice */
    unsigned suspended; /**< lanes in that state */
    uint64_t next_order;
    struct rp_workgroup_slot *lane_head, *lane_tail;     /**< by rp_workgroup_slot.next */
    struct rp_workgroup_slot *issued_head, *issued_tail; /**< by rp_workgroup_slot.next_issued */
    uint64_t lane_count;                                 /**< in the list */
    struct rp_workgroup_slot *free_lanes;
    struct rp_workgroup_slot **lane_blocks; /**< all lanes, for release */
    size_t lane_block_count;
    struct rp_atomic_log *free_logs;
    bool retiring;  /**< a worker applies the oldest slice's log */
    bool no_memory; /**< for another lane */

    /* These members count workgroups. */
    uint64_t next_group;          /**< linear id of the first never given to a lane */
    struct rp_id_range *returned; /**< given to a lane and taken back, oldest first */
    size_t returned_first, returned_count, returned_capacity;
    uint64_t lane_target; /**< how many the scheduler presently wants */
    struct rp_totals totals;
    uint64_t work; /**< see exec_settings.h */
    uint64_t round, round_left;
    struct rp_round rounds[RP_ROUNDS_KEPT];
    unsigned stuck_rounds; /**< in a row in which no workgroup ended */
    unsigned idle_rounds;  /**< in a row in which every slice ended idle */
    bool outside;          /**< nobody can go on before something outside has changed */

    /* These members belong to the threads. */
    RP_OWN_LINE struct rp_exec_worker *workers[RP_EXEC_WORKERS]; /**< [0] is the caller's */
    struct rp_dispatch *next_job;
    bool posted;
    int64_t longest_ns; /**< this run: processor time of a helper; under the pool's lock */
    int64_t busy_ns;    /**< what rp_dispatch_busy_ns says */
    unsigned helpers;   /**< threads of the pool at work here; under the pool's lock */
};

/**
 * The observer watches sampled waves while they are executed (rp_timing_observer). Only waves for
 * which it has set rp_wave.record are reported, so other waves cost nothing.
 */
struct rp_observer {
    /** A dispatch has been prepared; rp_dispatch.observed may be set. Returns 0 or -ENOMEM. */
    int (*on_dispatch)(struct rp_dispatch *d);
    /**
     * The dispatch is being freed. This is called only where rp_dispatch.observed is set, and so
     * is the next one.
     */
    void (*on_dispatch_end)(struct rp_dispatch *d);
    /**
     * A slice is about to begin, in the order of the sequence; the lock is held.
     * @param known  of an earlier point of the sequence: the same with any number of threads
     * @return rp_exec_worker.other_die for the slice; -1: none
     */
    int (*on_slice)(struct rp_dispatch *d, const struct rp_totals *known);
    /**
     * A workgroup starts: if it is one of the sampled, its waves get their records.
     * @param other_die  workgroups of which are sampled, too
     */
    void (*on_group)(struct rp_dispatch *d, struct rp_group *g, int other_die);
    /** A group that has rp_group.clock has ended, or will not be executed any further. */
    void (*on_group_end)(struct rp_group *g);
    /** A wave is about to execute. Returns whether it wants to know what. */
    bool (*on_turn)(struct rp_wave *w);
    /** It is about to execute @p in, which is at @p pc. */
    void (*on_issue)(struct rp_wave *w, const struct rp_insn *in, uint64_t pc);
    /**
     * It has executed or is about to execute instructions in a row of a page of code, from slot
     * @p first up to @p end. What they access is told by on_access.
     * @param distance  of the page from the kernel's entry, in dwords
     */
    void (*on_run)(struct rp_wave *w, const struct rp_insn *page, uint32_t first, uint32_t end,
                   int64_t distance);
    /** The latest of these instructions accesses memory, and is about to be executed. */
    void (*on_access)(struct rp_wave *w, const struct rp_insn *in);
    /** The latest instructions have not been executed, or have done nothing but wait. */
    void (*on_take_back)(struct rp_wave *w, uint64_t insts);
    /** A turn is over. @param insts  of which it did not want to know  @param bytes  moved */
    void (*on_retire)(struct rp_wave *w, uint64_t insts, uint64_t bytes);
    /**
     * It reads the clock.
     * @param ret_told  it is set: rp_wave.clock_lead says what it reads
     * @return RP_STEP_NEXT or RP_STEP_LATER
     */
    int (*on_clock)(struct rp_wave *w, bool *ret_told);
};

/** Returns the observer of a wave that has a record. */
static inline const struct rp_observer *rp_observer_of(const struct rp_wave *w)
{
    return w->group->env->host->observer;
}

static inline void rp_group_clock_end(struct rp_group *g)
{
    if (g->clock)
        g->dispatch->host->observer->on_group_end(g);
}

/** A check watches all waves of the process (check.h). */
struct rp_checker {
    /** These set rp_dispatch.checked and rp_group.check; where that is NULL nothing more is told.
     */
    void (*on_dispatch)(struct rp_dispatch *d);
    void (*on_dispatch_end)(struct rp_dispatch *d);
    void (*on_group)(struct rp_dispatch *d, struct rp_group *g);
    void (*on_group_end)(struct rp_group *g);
    /** The wave has come to a barrier, or has ended. */
    void (*on_barrier)(struct rp_wave *w, bool ended);
    /**
     * Returns what is to be called in place of the instruction, with rp_insn.watched being what it
     * has to call in the end; or NULL.
     */
    rp_insn_fn *(*gate)(const struct rp_insn *in);
};

/** Sets the checker, before any code has been decoded. */
void rp_exec_set_checker(const struct rp_checker *checker);
/** Returns the checker, or NULL. */
const struct rp_checker *rp_exec_checker(void);

static inline void rp_group_check_end(struct rp_group *g)
{
    if (__builtin_expect(g->check != NULL, 0))
        rp_exec_checker()->on_group_end(g);
}

/* This is a thread's own part of a dispatch. */

/** dispatch.c does this for instructions. */
extern const struct rp_wave_services rp_exec_services;

/** Returns the worker that executes the wave. */
static inline struct rp_exec_worker *rp_worker_of(const struct rp_wave *w)
{
    return (struct rp_exec_worker *)w->group->env;
}

/**
 * Puts the right gate in front of a decoded instruction's handler. It is called once, when the
 * instruction enters the code cache; instructions that are decoded otherwise execute without
 * gates.
 */
void rp_order_bind(struct rp_insn *in);

/**
 * Tests whether the gate in front of it is that of a plain access, which is open unless its slice
 * has noted atomics (rp_wave_env.log).
 */
bool rp_order_is_plain(const struct rp_insn *in);

/**
 * Does the same as rp_atomic_log_apply() outside of a wave's turn, where nothing else guards the
 * accesses.
 */
void rp_atomic_log_retire(struct rp_atomic_log *log, struct rp_mem *mem);

/* Room for resident workgroups is reused from one to the next, and by later dispatches. */

/** Returns a slot for a workgroup of @p d, or NULL when the host is out of memory. */
struct rp_resident_group *rp_resident_group_take(struct rp_dispatch *d);

/** Gives a slot back to the process for any dispatch; NULL is accepted. */
void rp_resident_group_give(struct rp_resident_group *slot);

/**
 * Sets up workgroup @p linear_id in @p slot with all its waves at the kernel's entry.
 * @param past_cycles  of waves that have ended before, for its clock
 */
void rp_resident_group_start(struct rp_dispatch *d, struct rp_resident_group *slot,
                             uint64_t linear_id, uint64_t past_cycles);

/* The inner loop executes a wave, the waves of a workgroup, and the workgroups of a slice. */

enum rp_slice_state {
    RP_SLICE_OVER,      /**< used up, or every wave waits, or there is no workgroup left in it */
    RP_SLICE_SUSPENDED, /**< the dispatch is to stop: call again */
    RP_SLICE_TURN,      /**< cannot go on before earlier slices have retired: call again then */
    RP_SLICE_FAULT,     /**< lane->fault says why */
};

/**
 * Executes the slice of @p lane: its workgroup's waves in turn, and then its further workgroups.
 * The worker's counts, totals, order and log are those of the slice.
 */
enum rp_slice_state rp_slice_run(struct rp_exec_worker *h, struct rp_workgroup_slot *lane);

/** Returns zeroed memory for types with RP_OWN_LINE, which free() releases. NULL: out of memory */
static inline void *rp_cache_lines_new(size_t count, size_t bytes)
{
    void *p = aligned_alloc(RP_LINE_BYTES, count * bytes);
    return p ? memset(p, 0, count * bytes) : NULL;
}

/**
 * Surrounds everything that uses host addresses from h->env.mem. It must be short, because
 * rp_exec_settle() waits for it. There is no barrier between the store and the read of the
 * generation, as it would wait for all of a kernel's stores, which takes hundreds of nanoseconds.
 * rp_exec_settle() makes every thread execute one instead.
 */
static inline void rp_exec_worker_enter(struct rp_exec_worker *h)
{
    __atomic_store_n(&h->turns, h->turns + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    rp_mem_refresh(&h->env.mem);
}

static inline void rp_exec_worker_leave(struct rp_exec_worker *h)
{
    __atomic_store_n(&h->turns, h->turns + 1, __ATOMIC_RELEASE);
}

#endif
