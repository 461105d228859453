/**
 * @file wave.h
 * @brief State of a wavefront, its workgroup and its dispatch while they execute.
 */
#ifndef RP_DEVICE_EXEC_WAVE_H
#define RP_DEVICE_EXEC_WAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../timing/copy.h"

#include "../isa/insn.h"

/* Indices into rp_wave.sgpr are the scalar operand encodings of gfx9. */
enum {
    RP_SGPR_FLAT_SCRATCH_LO = 102,
    RP_SGPR_XNACK_LO = 104,
    RP_SGPR_VCC_LO = 106,
    RP_SGPR_TTMP0 = 108,
    RP_SGPR_M0 = 124,
    RP_SGPR_EXEC_LO = 126,
    RP_SGPR_COUNT = 128,
};

/**
 * Where private memory begins to a wave that SGPRs tell (no architected flat scratch): a 48-bit
 * address with nothing behind it, beyond everything mapped for the GPU. The buffer resource and
 * FLAT_SCRATCH that a kernel is given name it; what they address is rp_wave.scratch.
 */
#define RP_SCRATCH_BASE_VA 0xfffe00000000ull

/** Why a dispatch stopped. Mirrors what the hardware would report to the queue. */
enum rp_fault_kind {
    RP_FAULT_NONE = 0,
    RP_FAULT_UNIMPLEMENTED, /**< known opcode without semantics here, or an unsupported mode */
    RP_FAULT_ILLEGAL_OPCODE,
    RP_FAULT_MEMORY,       /**< address not mapped for the GPU, or write to read-only */
    RP_FAULT_LDS,          /**< LDS access outside the allocation that hardware would not forgive */
    RP_FAULT_TRAP,         /**< s_trap: assert, abort */
    RP_FAULT_BAD_DISPATCH, /**< workgroup too large, no code object, bad kernel descriptor */
    RP_FAULT_NO_MEMORY,    /**< the host could not allocate wave state */
    RP_FAULT_BOUND,        /**< more work than it may be (bound.h) */
};

struct rp_fault {
    enum rp_fault_kind kind;
    uint64_t pc;      /**< GPU address of the instruction */
    uint64_t address; /**< faulting address for MEMORY */
    int lane;         /**< -1 = not a single lane */
    bool in_wave;     /**< the next two are known */
    uint32_t group_id[3];
    uint32_t wave;  /**< number in its workgroup */
    char text[200]; /**< reason, with mnemonic and operands where there are any */
};

/** Work done so far; input of the timing model. Units in the names. */
struct rp_counts {
    uint64_t waves;
    uint64_t wave_insts;      /**< all instructions issued, wave granularity */
    uint64_t issue_cycles;    /**< sum over waves of modelled issue cycles */
    uint64_t max_wave_cycles; /**< issue cycles of the longest wave */
    uint64_t read_bytes;      /**< by active lanes, global memory, scalar loads included */
    uint64_t write_bytes;     /**< atomics count as a read and a write */
    uint64_t lds_bytes;
    uint64_t fast_clock_waves; /**< that read a clock which detailed timing has not told */
    /** Of read and write_bytes: to or from other GPUs and the host, by vector instructions; indexed
     *  by enum rp_memory_location (local ones are not counted) and 0 = read, 1 = written. */
    uint64_t link_bytes[RP_PLACES][2];
};

/** A wave that polls memory: what its loop has cost since a point it may come back to. */
struct rp_wait {
    bool armed;            /**< the rest is valid */
    bool idle;             /**< the latest turn of the loop changed nothing */
    uint64_t hash;         /**< of all registers at that point */
    uint64_t cycles;       /**< the wave's at that point */
    uint64_t kept_bytes;   /**< of cost.write_bytes: atomics that left memory as it was */
    struct rp_counts cost; /**< since that point, this wave's only */
};

struct rp_group;
struct rp_rec_wave;
struct rp_group_clock;

struct rp_wave {
    uint64_t pc; /**< GPU address of the next instruction */
    uint32_t sgpr[RP_SGPR_COUNT];
    uint32_t scc;     /**< 0 or 1 */
    uint32_t mode;    /**< MODE register */
    uint32_t gpr_idx; /**< not 0: VALU instructions go the long way; RP_VALU_ flags, and while
                           index mode is on the index in [7:0] and enables in [15:12] */
    uint32_t (*vgpr)[RP_LANES]; /**< row per VGPR, 64-byte aligned */
    uint32_t (*agpr)[RP_LANES]; /**< accumulation registers; same file at accum_offset */
    uint32_t vgpr_count; /**< rows behind vgpr, those of agpr among them: an index beyond it is
                              a fault at decode/exec; 0 while VSKIP is on */
    uint32_t agpr_count;
    uint32_t skip_vgpr_count; /**< while VSKIP is on, the two counts to restore */
    uint32_t skip_agpr_count;
    struct rp_group *group;
    struct rp_rec_wave *record;  /**< where what it does is noted (timing/record.h), or NULL */
    struct rp_trail *trail;      /**< of the hand that executes it, if it has a record (trail.h) */
    uint8_t *scratch;            /**< private segment: byte b of lane l is at (b / 4 * 64 + l) * 4 +
                                      b % 4, so that one dword of all lanes is one register row */
    uint32_t scratch_lane_bytes; /**< per lane, multiple of 4 */
    uint32_t scratch_dirty_bytes; /**< per lane: everything from here on is still zero */
    uint32_t id_in_group;
    uint64_t cycles;     /**< modelled clocks of this wave: issue and sleep */
    int64_t clock_lead;  /**< by how many more what it read of the clock was ahead of them */
    bool fast_clock;     /**< it is among rp_counts.fast_clock_waves */
    uint64_t poll_va;    /**< address of the latest load, and how often in a row it was the */
    uint32_t poll_count; /**< same without a store between: a wave that waits for memory */
    struct rp_wait wait;
    bool at_gws_barrier;
    uint32_t gws_phase; /**< of the resource when the wave came to its barrier */
    bool at_barrier;
    bool past_barrier; /**< has not executed s_waitcnt since its latest barrier */
    bool ended;
    struct rp_fault fault;
};

/** Why VALU instructions go the long way: rp_wave.gpr_idx. */
enum {
    RP_VALU_INDEX = 1u << 31, /**< VGPR index mode is on */
    RP_VALU_MODE = 1u << 30,  /**< MODE asks for other float arithmetic than the default */
    RP_VALU_SKIP = 1u << 29,  /**< VSKIP: vector instructions do nothing */
};

/* Fields of MODE: CDNA3 ISA guide, "state registers". */
enum {
    RP_MODE_ROUND_F32_SHIFT = 0,  /**< 0 nearest even, 1 up, 2 down, 3 toward zero */
    RP_MODE_ROUND_F64_SHIFT = 2,  /**< f64 and f16 */
    RP_MODE_DENORM_F32_SHIFT = 4, /**< bit 0: keep denormal inputs; bit 1: keep denormal results */
    RP_MODE_DENORM_F64_SHIFT = 6,
    RP_MODE_DX10_CLAMP = 1 << 8,
    RP_MODE_IEEE = 1 << 9,
    RP_MODE_FP16_OVFL = 1 << 23, /**< f16 results too large become the largest number */
    RP_MODE_CSP_SHIFT = 29,
    /* What compilers ask for, and what lane kernels compute: nearest even, all denormals kept, NaN
     * clamps to 0, f16 overflows to infinity. IEEE they honour either way, but OMOD counts then. */
    RP_MODE_USUAL = 0x3f0,
    RP_MODE_FLOAT_BITS = 0x8003ff,
};

/** Sets MODE but for index mode and VSKIP, which live in gpr_idx. */
static inline void rp_wave_set_mode(struct rp_wave *w, uint32_t mode)
{
    w->mode = mode;
    if ((mode & RP_MODE_FLOAT_BITS) != RP_MODE_USUAL)
        w->gpr_idx |= RP_VALU_MODE;
    else
        w->gpr_idx &= ~(uint32_t)RP_VALU_MODE;
}

/* EXEC and VCC are 64-bit views of two neighbouring SGPRs (little endian host). */
static inline uint64_t rp_sgpr64(const struct rp_wave *w, unsigned index)
{
    return (uint64_t)w->sgpr[index] | (uint64_t)w->sgpr[index + 1] << 32;
}

static inline void rp_sgpr64_set(struct rp_wave *w, unsigned index, uint64_t value)
{
    w->sgpr[index] = (uint32_t)value;
    w->sgpr[index + 1] = (uint32_t)(value >> 32);
}

#define RP_EXEC(w) rp_sgpr64((w), RP_SGPR_EXEC_LO)
#define RP_VCC(w)  rp_sgpr64((w), RP_SGPR_VCC_LO)

struct rp_dispatch;
struct rp_hand;

struct rp_group {
    struct rp_dispatch *dispatch;
    struct rp_hand *hand; /**< the thread's that executes it at present */
    uint32_t id[3];       /**< workgroup id */
    uint64_t linear_id;
    uint64_t start_cycles; /**< modelled time of its start, since the dispatch's start */
    uint8_t *lds;
    uint32_t lds_bytes; /**< allocated, rounded up to the hardware's granule */
    uint32_t wave_count;
    uint32_t waves_ended;
    uint32_t waves_at_barrier;
    uint32_t cursor;      /**< wave that runs next */
    uint32_t shuffle;     /**< of wave_order.h */
    uint32_t wave_budget; /**< what is left of that wave's slice, in instructions */
    uint32_t idle_turns;  /**< waves in a row that gave up their turn (s_sleep, polling) */
    struct rp_group_clock
        *clock; /**< of the clocks that its recorded waves read (group_clock.h), or NULL */
    struct rp_wave *waves;
};

#endif
