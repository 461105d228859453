/**
 * @file cu.h
 * @brief A compute unit of the replay: its waves issue in the order of time.
 *
 * Waves of a compute unit compete with each other for issue ports, LDS and address unit; with
 * others they share only memory behind the L1, the scalar and the instruction cache, and the die's
 * dispatcher. So a compute unit runs ahead on its own to its next use of these, and waits there
 * until the whole machine has come to that time.
 */
#ifndef RP_DEVICE_TIMING_CU_H
#define RP_DEVICE_TIMING_CU_H

#include "engine.h"
#include "flight.h"
#include "hierarchy.h"
#include "program.h"

enum {
    RP_CU_SLOTS = 32, /**< waves of a CU, 8 per SIMD: CDNA3 */
    RP_CU_SIMDS = 4,
    RP_CU_GROUP_WAVES = 16,  /**< of the largest workgroup */
    RP_CU_LAUNCH_CLOCKS = 1, /**< of a die's dispatcher, for a wave: assumed */
    RP_CU_LAP = 64,
    RP_CU_MFMAS = 8, /**< of a wave, with results to come: passes follow each other, so 4 at most */
};

struct rp_cu_group {
    uint32_t index; /**< in the record */
    uint32_t waves_left;
    uint32_t waves_recorded; /**< of these, not beyond their record: barriers are for them */
    uint32_t at_barrier;
    uint64_t barrier_since;
    uint8_t slot[RP_CU_GROUP_WAVES];
};

/** Registers with results of a matrix instruction. */
struct rp_cu_result {
    struct rp_rec_regs regs;
    uint64_t over; /**< its passes are */
};

struct rp_cu_wave {
    const uint32_t *step, *half, *end; /**< of its record: this one, the middle, the last + 1 */
    const struct rp_rec_access *access, *access_end;
    uint64_t mfma_until; /**< results of matrix instructions are pending until then */
    uint32_t fetched;    /**< code line + 1 */
    uint8_t simd;
    uint8_t lgkm_unit; /**< of the latest that lgkmcnt counts */
    bool waits;        /**< at a barrier */
    bool queued;       /**< has its place in front of the address unit: at queued_until */
    bool watched;      /**< arrived is set */
    uint64_t queued_until;
    const struct rp_rec_wave *rec;
    struct rp_cu_group *group;
    uint64_t begin, half_clock;
    uint64_t tail_end;                 /**< beyond its record: when it ends; 0 = not there */
    uint64_t arrived, arrived_fetched; /**< at the present step, and its fetch's end */
    struct rp_wave_place place;
    uint32_t results; /**< of result, how many there have been */
    struct rp_cu_result result[RP_CU_MFMAS];
    struct rp_flight vm, lgkm;
};

/** Whose turn it is when: slots by clock, of one clock the lowest first. */
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
    uint64_t insts[RP_REC_UNITS]; /**< executed, by unit */
    uint32_t number, die;
    uint32_t used; /**< bit for each slot */
    uint32_t simd_waves[RP_CU_SIMDS];
    uint64_t since, simd_since[RP_CU_SIMDS]; /**< busy since */
    uint32_t groups, waves;
    uint64_t now;            /**< it has run to here */
    bool listed;             /**< in the machine's agenda */
    uint32_t starved;        /**< slot whose record has run out, but grows: it has no turn */
    struct rp_cu_wave *wave; /**< RP_CU_SLOTS of them */
};

/** What compute units share. */
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

#endif
