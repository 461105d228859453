/**
 * @file timing_engine.h
 * @brief Replays recorded waves on the modelled machine, clock by clock, and counts.
 *
 * One thread, one order of events: the same record gives the same result everywhere.
 */
#ifndef RP_DEVICE_TIMING_TIMING_ENGINE_H
#define RP_DEVICE_TIMING_TIMING_ENGINE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "device/timing/wave_record.h"

struct rp_arch;

/* The timing simulation reads recorded code in this form: 16 bytes an instruction, and the lines
 * of the instruction cache that it lies in.
 */

struct rp_program_code {
    uint32_t pc_dwords;  /**< its low bits */
    uint16_t line;       /**< index into rp_program.line */
    uint16_t value;      /**< NOP, SLEEP: clocks; VALU: enum rp_rec_valu */
    uint8_t unit, misc;  /**< enum rp_rec_unit, rp_rec_misc */
    uint8_t port;        /**< whose port it takes: scalar loads go through the scalar unit's */
    uint8_t port_clocks; /**< how long it takes its unit's port; matrix: its passes */
    uint8_t clocks;      /**< until its result is there, when that is no memory's business */
    uint8_t vm, lgkm;    /**< WAITCNT */
    uint8_t flags : 4, size_dwords : 4;
};
_Static_assert(sizeof(struct rp_program_code) == 16, "four in a cache line");

struct rp_program {
    struct rp_program_code *code; /**< as rp_record.code */
    uint64_t *line;               /**< addresses / 128 of lines with code, ascending */
    uint32_t line_count;
    bool grows; /**< lines are numbered from the entry on, and there is one behind each */
};

/** Initialises a program. @return 0 or -ENOMEM: *p holds nothing */
int rp_program_init(struct rp_program *p, const struct rp_wave_record *record);
void rp_program_release(struct rp_program *p);

/**
 * Adds an instruction to a program that grows because its code is not known before it is executed.
 */
struct rp_program_code rp_program_add(const struct rp_rec_code *code, uint64_t entry_va);

/* Tags of a set-associative cache whose lines arrive some time after they were asked for. */

struct rp_tag {
    uint64_t line;  /**< number + 1; 0 = empty */
    uint64_t ready; /**< clock at which its data is there */
    uint32_t dirty; /**< what of it has been written, for the owner */
    uint32_t read;  /**< L2: clock at which it was read last, its low bits */
};

struct rp_tags {
    struct rp_tag *tag;
    /* For each set, keys of its tags, a cache line of the host for 16 ways, and when each was used
     * last: the least goes first. */
    uint32_t *set; /**< in memory */
    void *memory;
    uint32_t sets, ways; /**< sets: a power of two */
    uint32_t row;        /**< ways, rounded up to what is compared at once */
    uint32_t way_bits;
    uint32_t uses; /**< so many; below 2^(31 - way_bits), else all are numbered anew */
};

/** Initialises tags. The number of sets is rounded down to a power of two. @return 0 or -ENOMEM */
int rp_tags_init(struct rp_tags *t, uint64_t lines, uint32_t ways);
void rp_tags_release(struct rp_tags *t);

/** Returns the line's tag, which is now the latest used, or NULL. */
struct rp_tag *rp_tags_find(struct rp_tags *t, uint64_t line);

/** Tests whether the line is in the cache; this does not count as a use. */
bool rp_tags_has(const struct rp_tags *t, uint64_t line);

/**
 * Puts a line that is not in, in the place of the least recently used of its set.
 * @param ret_old  what that was; line 0: nothing. NULL: of no interest
 */
struct rp_tag *rp_tags_replace(struct rp_tags *t, uint64_t line, uint64_t ready,
                               struct rp_tag *ret_old);

/** These are requests to a level of the memory hierarchy. */
struct rp_level_stats {
    uint64_t reads, writes, atomics; /**< requests: lines (writes below the L1: 64-byte halves) */
    uint64_t read_hits, write_hits;
    uint64_t late_hits;               /**< of read_hits, those whose line was still on its way */
    uint64_t read_bytes, write_bytes; /**< moved between this level and the one above */
    uint64_t busy_clocks;             /**< summed over its instances */
    uint64_t pending_clocks; /**< L2: summed over channels with a request that is not yet served */
    uint64_t read_clocks;    /**< MALL: from when the L2 asks to when it has the line, summed */
};

enum rp_level {
    RP_LEVEL_SCALAR_L1,
    RP_LEVEL_INST_L1,
    RP_LEVEL_L1,
    RP_LEVEL_L2,
    RP_LEVEL_MALL,
    RP_LEVEL_HBM,
    RP_LEVELS,
};

/**
 * These statistics are of the simulated workgroups. A sample's numbers are sums over the sample,
 * not over the dispatch: rp_timing_stats.groups of group_count.
 */
struct rp_timing_stats {
    uint64_t group_count; /**< of the dispatch */
    uint64_t groups;      /**< replayed */
    uint64_t waves;       /**< replayed */
    uint64_t insts;       /**< replayed, wave granularity */
    uint64_t unit_insts[RP_REC_UNITS];
    uint64_t replay_clocks; /**< from the first workgroup's start to the last one's end */
    double clocks;          /**< modelled time of the whole dispatch */
    double error_share;     /**< estimate of the relative error that what is not replayed adds */
    /** Of the whole dispatch: what L2, MALL and HBM need for what is asked of them; 0 for others.
     */
    double level_clocks[RP_LEVELS];
    double atomic_clocks; /**< of the whole dispatch: of the line that has most atomics */
    bool sampled;
    uint32_t dies, all_dies; /**< replayed; of the GPU */
    uint64_t no_room_clocks; /**< summed over dies: a workgroup waits for room on a compute unit */
    struct rp_level_stats level[RP_LEVELS];
    uint64_t lds_busy_clocks, lds_conflict_clocks;
    uint64_t wave_clocks;               /**< summed over waves: resident */
    uint64_t cut_waves;                 /**< that were not kept whole */
    double unsure_clocks;               /**< of wave_clocks, by how much these may be off */
    uint64_t wait_clocks[RP_REC_UNITS]; /**< summed over waves: waiting for results of the unit
                                             (s_waitcnt, registers); MISC: at barriers */
    uint64_t port_clocks[RP_REC_UNITS]; /**< summed over SIMDs: the unit's port is taken */
    uint64_t half_clocks; /**< the same for a half of a SIMD's VALU, while the other is free */
    uint64_t
        stall_clocks[RP_REC_UNITS]; /**< summed over waves: ready, but the unit takes nothing */
    uint64_t cu_busy_clocks;        /**< summed over compute units with a wave */
    uint64_t simd_busy_clocks;      /**< summed over SIMDs with a wave */
};

/** This says where a wave was placed, and when. */
struct rp_wave_placement {
    uint32_t group;   /**< index into rp_record.group */
    uint32_t wave;    /**< in the group */
    uint16_t xcc, cu; /**< cu: on its die */
    uint8_t simd, slot;
};

/** These say when an instruction of a wave went through its stages, in order but for done. */
struct rp_issue_times {
    uint64_t arrived; /**< the instruction before lets the wave go on */
    uint64_t fetched; /**< the instruction itself is there */
    uint64_t ready;   /**< operands are there, and the unit takes instructions */
    uint64_t issued;  /**< the unit's port is free */
    uint64_t next;    /**< the wave goes on; UINT64_MAX: at a barrier, its next arrival tells */
    uint64_t done;    /**< the result is there */
};

/**
 * A watch is told about every instruction, for traces. Calls come in the order of time for each
 * compute unit, but not for all of them. NULL members are not called.
 */
struct rp_engine_watch {
    void *ctx;
    void (*wave_begins)(void *ctx, const struct rp_wave_placement *where, uint64_t clock);
    void (*issued)(void *ctx, const struct rp_wave_placement *where, uint32_t step,
                   const struct rp_issue_times *times);
    void (*wave_ends)(void *ctx, const struct rp_wave_placement *where, uint64_t clock);
};

/**
 * Replays a record whose code is resolved.
 * @param watch  NULL or whom to tell
 * @return 0, or -ENOMEM
 */
int rp_engine_run(const struct rp_arch *arch, const struct rp_wave_record *record,
                  const struct rp_engine_watch *watch, struct rp_timing_stats *ret);

/* s_waitcnt waits for these memory instructions of a wave, whose results are under way. */

enum {
    RP_IN_FLIGHT_ROOM = 64,    /**< a power of two */
    RP_IN_FLIGHT_VMCNT = 63,   /**< CDNA3 ISA guide, s_waitcnt: vmcnt has 6 bits, */
    RP_IN_FLIGHT_LGKMCNT = 15, /**< lgkmcnt 4; an instruction that would go beyond waits */
};

/** A counter counts these instructions; they are in the order in which they end. */
struct rp_in_flight {
    uint64_t done[RP_IN_FLIGHT_ROOM];
    uint32_t first, count;
    uint64_t last; /**< of those that return in order */
};

/* This extrapolates from a sample of a dispatch's workgroups to all of them. */

/** Only one die is simulated, so this estimates how the dies share memory. */
struct rp_sharing {
    uint64_t lines;  /**< that the die touches, private memory left out */
    double share;    /**< of a die's lines, those that another one touches: 0 to 1 */
    double together; /**< of these, those that both touch first at about the same time */
};

/* The caches and memory behind the modelled compute units decide when an access is served. Every
 * part that has a rate is a server, which a request occupies from when it is free. Requests are
 * made in the order in which they leave the compute units, and what they need on their way is
 * reserved at once, ahead of time. A request that comes to a server before another that was made
 * earlier therefore takes the time before that. Latency is what the levels above and below add on
 * the way.
 */

/** This is the part of the machine that is simulated. */
struct rp_machine {
    const struct rp_arch *arch;
    uint32_t dies; /**< replayed, of all_dies */
    uint32_t all_dies;
    uint32_t cus_per_die, engines_per_die; /**< shader engines, which launch waves */
    double
        launch_each; /**< clocks: a workgroup's launch takes the replayed dies' engines, together */
    uint32_t memory_channels;           /**< the replayed dies' share */
    struct rp_sharing sharing;          /**< with the dies that are not replayed */
    const struct rp_rec_warm *warm;     /**< what caches hold at the start; NULL: nothing */
    const struct rp_rec_blocks *blocks; /**< of pages; NULL: one follows the other */
};

enum { RP_SERVER_SCALE = 64 };

/** A server has a rate. Its times are in 1/RP_SERVER_SCALE clocks, except for the last. */
struct rp_server {
    uint64_t free;               /**< has nothing to do from then on */
    uint64_t gap_begin, gap_end; /**< nor in between, last before that */
    uint64_t pending_until;      /**< of the L2: requests are under way till then; clocks */
    bool wrote;                  /**< of the memory: the latest request was a write */
    uint16_t rest;               /**< beyond the dies: what is left of a 64th, in 65536ths of it */
};

struct rp_hierarchy {
    struct rp_machine m;
    struct rp_level_stats *stats; /**< RP_LEVELS of them */
    uint64_t *work_64ths; /**< RP_LEVELS of them: of whom the request at work is; not owned */
    struct rp_tags *l1;   /**< per CU, numbered over all dies; without tags until opened */
    /** The same: blocks whose addresses its L1 can translate. */
    struct rp_tlb {
        struct rp_tags tags;
        uint64_t page;            /**< the latest, + 1; 0 = none */
        const struct rp_tag *tag; /**< its block's */
    } * tlb;
    struct rp_tags *scalar;        /**< per group of CUs */
    struct rp_server *scalar_port; /**< the same */
    struct rp_tags *l2;            /**< per die */
    struct rp_server *l2_channel;  /**< per channel of each die: that reads, and that writes */
    struct rp_server *port;        /**< of each die, to the Infinity Cache and memory */
    struct rp_server *hbm_channel;
    /** A line; 64 bytes written. Beyond the dies: 64ths of the highest clock. */
    uint32_t read_64ths[RP_LEVELS], write_64ths[RP_LEVELS];
    uint32_t beyond_65536ths; /**< 65536 * the modelled clock / the highest */
    uint32_t again_64ths;     /**< L2: a line that was read a moment ago */
    /* The lines that have come to the MALL are in an open-addressing map, whose oldest line goes
     * first when it is full.
     */
    struct rp_mall_line {
        uint64_t line; /**< number + 1; 0 = free */
        uint64_t ready, order;
        uint64_t fill; /**< the latest of the die's L2 that brought it, from 1; 0 = none */
    } * mall;
    uint64_t mall_size, mall_count, mall_order, mall_lines;
    uint64_t touched; /**< lines, by the one die that is replayed */
    uint64_t fills;   /**< of the die's L2 */
    uint32_t waiting; /**< which part of 256 of the time so far compute units waited */
    bool no_memory;   /**< for the map: what comes after that means nothing */
};

/** Initialises the hierarchy. @return 0 or -ENOMEM */
int rp_hierarchy_init(struct rp_hierarchy *h, const struct rp_machine *m,
                      struct rp_level_stats stats[RP_LEVELS]);

/**
 * Makes the caches of a compute unit, before it accesses memory. A second call does nothing.
 * @return 0 or -ENOMEM
 */
int rp_hierarchy_open(struct rp_hierarchy *h, uint32_t cu);
void rp_hierarchy_release(struct rp_hierarchy *h);

/**
 * Serves @p line of a vector access at @p clock. It returns when its data arrives, or the access
 * is done.
 */
uint64_t rp_hierarchy_vector(struct rp_hierarchy *h, uint32_t cu, const struct rp_rec_line *line,
                             uint8_t flags, uint64_t clock);

/** Serves a scalar access in the same way. */
uint64_t rp_hierarchy_scalar(struct rp_hierarchy *h, uint32_t cu, const struct rp_rec_line *line,
                             uint8_t flags, uint64_t clock);

/** The end of a replay: when the memory has written all. Busy clocks are clocks after that. */
uint64_t rp_hierarchy_drained(struct rp_hierarchy *h);

/* A compute unit of the replay: its waves issue in the order of time.
 *
 * Waves of a compute unit compete with each other for issue ports, LDS and address unit; with
 * others they share only memory behind the L1, the scalar and the instruction cache, and the die's
 * dispatcher. So a compute unit runs ahead on its own to its next use of these, and waits there
 * until the whole machine has come to that time.
 */

enum {
    RP_CU_SLOTS = 32, /**< waves of a CU, 8 per SIMD: CDNA3 */
    RP_CU_SIMDS = 4,
    RP_CU_HALVES = 2,       /**< of a SIMD: its VALU's ports, where it has two */
    RP_CU_GROUP_WAVES = 16, /**< of the largest workgroup */
    RP_CU_LAP = 64,
    RP_CU_MFMAS = 8, /**< of a wave, with results to come: passes follow each other, so 4 at most */
};

/** Returns the clocks of a shader engine that the launch of a workgroup takes. */
static inline double rp_launch_clocks(const struct rp_arch_timing *t, double waves)
{
    return t->engine_group_clocks + t->engine_wave_clocks * waves;
}

struct rp_cu_group {
    uint32_t index; /**< in the record */
    uint32_t waves_left;
    uint32_t waves_recorded; /**< of these, not beyond their record: barriers are for them */
    uint32_t at_barrier;
    uint64_t barrier_since;
    uint64_t work_64ths[RP_LEVELS]; /**< of its waves that have ended */
    uint8_t slot[RP_CU_GROUP_WAVES];
};

/** These registers get results of a matrix instruction. */
struct rp_cu_result {
    struct rp_rec_regs regs;
    uint64_t over; /**< its passes are */
};

struct rp_cu_wave {
    const uint32_t *step, *half, *end; /**< of its record: this one, the middle, the last + 1 */
    const struct rp_rec_access *access, *access_end;
    uint64_t mfma_until; /**< results of matrix instructions are pending until then */
    uint32_t fetched;    /**< code line + 1 */
    uint64_t turn;       /**< who has the lowest goes first: higher priorities, then older waves */
    uint8_t simd;
    uint8_t simd_slot;
    uint8_t lgkm_unit; /**< of the latest that lgkmcnt counts */
    bool waits;        /**< at a barrier */
    bool queued;       /**< has its place in front of the address unit: at queued_until */
    bool watched;      /**< arrived is set */
    uint64_t queued_until;
    const struct rp_rec_wave *rec;
    struct rp_cu_group *group;
    uint64_t begin, half_clock;
    uint64_t port_wait, half_port_wait; /**< that it has waited for ports; at half_clock */
    /* Of servers below the L1, what its requests have asked for, and that at half_clock. */
    uint64_t work_64ths[RP_LEVELS], half_work_64ths[RP_LEVELS];
    uint64_t tail_end;                 /**< beyond its record: when it ends; 0 = not there */
    uint64_t arrived, arrived_fetched; /**< at the present step, and its fetch's end */
    struct rp_wave_placement place;
    uint32_t results; /**< of result, how many there have been */
    struct rp_cu_result result[RP_CU_MFMAS];
    struct rp_in_flight vm, lgkm;
};

/** This says whose turn it is when: slots are sorted by clock, and those of one clock by turn. */
struct rp_cu_turns {
    uint64_t base;     /**< begin of the lap */
    uint64_t occupied; /**< bit for each clock of the lap with a wave */
    uint32_t slots[RP_CU_LAP];
    uint32_t far; /**< slots beyond the lap */
    uint64_t far_first, far_time[RP_CU_SLOTS];
};

struct rp_cu {
    struct rp_cu_turns turns;
    uint64_t address_free;
    uint64_t lds_free, lds_port_free[RP_CU_SIMDS / 2]; /**< its banks; a port for two SIMDs */
    uint64_t port_free[RP_CU_SIMDS][RP_REC_UNITS];
    uint64_t valu_free[RP_CU_SIMDS][RP_CU_HALVES]; /**< waves of odd slots have the second one */
    uint64_t insts[RP_REC_UNITS];                  /**< executed, by unit */
    const struct rp_cu_group *ended;               /**< the latest workgroup that has */
    uint32_t number, die;
    uint32_t used;                   /**< bit for each slot */
    uint32_t simd_used[RP_CU_SIMDS]; /**< the same for slots of each SIMD */
    uint32_t simd_waves[RP_CU_SIMDS];
    uint64_t since, simd_since[RP_CU_SIMDS]; /**< busy since */
    uint32_t groups, waves;
    uint32_t started;        /**< waves, ever */
    uint64_t now;            /**< it has run to here */
    bool listed;             /**< in the machine's agenda */
    uint32_t starved;        /**< slot whose record has run out, but grows: it has no turn */
    struct rp_cu_wave *wave; /**< RP_CU_SLOTS of them */
};

/** Compute units share this. */
struct rp_timing_simulation {
    struct rp_machine m;
    const struct rp_wave_record *rec;
    const struct rp_engine_watch *watch;
    struct rp_timing_stats *stats;
    struct rp_hierarchy memory;
    struct rp_program program;
    struct rp_code_slot {
        uint32_t line;  /**< + 1; 0 = empty */
        uint64_t ready; /**< clock at which it is in */
    } * code_slot;      /**< code_slots of each instruction cache */
    uint32_t code_slots;
    uint64_t clock; /**< what happens outside of compute units is here */
    uint64_t end;
    /* Bytes whose work for caches and memory is known, or taken to be as in the record; and what
     * waves move beyond records of which the second half moves nothing. */
    double known_bytes, unknown_bytes;
};

enum rp_cu_pause {
    RP_CU_IDLE,     /**< nothing is left to do */
    RP_CU_WAITS,    /**< at rp_cu.now, for the machine */
    RP_CU_HAS_ROOM, /**< a workgroup has ended at rp_replay.clock */
    RP_CU_STARVES,  /**< what rp_cu.starved does at rp_cu.now is not known yet */
};

void rp_cu_init(struct rp_cu *cu, uint32_t number, uint32_t die, struct rp_cu_wave *wave);

/**
 * Puts a workgroup's waves into free slots; they begin at @p clock, or where the unit has run to.
 * Returns which.
 */
uint64_t rp_cu_start(struct rp_timing_simulation *r, struct rp_cu *cu, struct rp_cu_group *g,
                     uint64_t clock);

/** A starved wave goes on, at rp_cu.now or after. */
void rp_cu_resume(struct rp_cu *cu, uint32_t slot, uint64_t clock);

/** Runs ahead as far as it can, the machine being at rp_replay.clock. */
enum rp_cu_pause rp_cu_run(struct rp_timing_simulation *r, struct rp_cu *cu);

/** Returns which of a die's scalar and instruction caches a CU uses: neighbours share one. */
static inline uint32_t rp_sqc_of(uint32_t cu, uint32_t cus_per_die, uint32_t sqcs_per_die)
{
    return cu / cus_per_die * sqcs_per_die + cu % cus_per_die * sqcs_per_die / cus_per_die;
}

/* The timing simulation of one workgroup while it is executed gives the clock that its waves read.
 * The workgroup is alone in a machine that was idle. What waves have done is handed over bit by
 * bit and forgotten once it has been simulated. The machine goes on in the order of time, as
 * above, up to where it is not known what a wave does next. The clock is what detailed timing
 * gives for the wave so far. Execution is not in the order of time: a wave whose clock depends on
 * what another wave of its workgroup does before that lets the other one go first.
 */

/**
 * The wave has come to an instruction that reads the clock, and it is recorded.
 * @param ret_told  the replay says what it reads; else it goes on as with counts timing
 * @return RP_STEP_NEXT: rp_wave.clock_lead says what it reads; or RP_STEP_LATER
 */
int rp_live_clock_read(struct rp_wave *w, bool *ret_told);

/** The workgroup has ended, or will not be executed any further. */
void rp_live_clock_end(struct rp_group *g);

#endif
