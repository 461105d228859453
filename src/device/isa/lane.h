/**
 * @file lane.h
 * @brief Lane kernels: the arithmetic of one VALU instruction over all 64 lanes.
 *
 * A lane kernel knows nothing of waves, EXEC, modifiers or operand fetch. It computes all 64
 * lanes; the caller hides the inactive ones. That keeps each body one expression, lets the
 * compiler vectorise it, and lets one source serve several CPU levels (lane_*.c is compiled once
 * per level, see lane_level.h). All levels give bit-identical results.
 *
 * Register rows: a 32-bit operand is 64 consecutive dwords. A 64-bit operand is two rows, low
 * dwords first (lo = p[lane], hi = p[64 + lane]); wider operands go on the same way. 16-bit
 * operands sit in the low half of the dword; 16-bit results are returned zero-extended and the
 * caller merges them. Destination rows may be the same rows as source rows, never shifted by
 * other than whole rows, so a lane only ever aliases itself.
 *
 * What the caller does, before and after:
 * - s0, s1, s2 are the encoded src0, src1, src2 in that order, also for the ...rev forms, with
 *   neg, abs, SDWA and DPP already applied. fmac, mac, dot*c, pk_fmac and cvt_pkaccum get the old
 *   destination as s2. fmamk and fmaak get their operands in assembly order: both are s0*s1+s2
 *   (so the literal K is s1 of fmamk and s2 of fmaak).
 * - Packed 16-bit operands (PK16, PKF16): one row; its low half is what op_sel selected for the low
 *   result (neg_lo applied), its high half what op_sel_hi selected for the high one (neg_hi). The
 *   dot2/4/8 forms take the same rows.
 * - Packed f32 (PKF32): two rows, the first selected by op_sel (neg_lo), the second by op_sel_hi
 *   (neg_hi). v_pk_mov_b32 is no exception in what it gets; it reads only the first row of each
 *   source: the result is {s0 selected by op_sel[0], s1 selected by op_sel[1]}.
 * - v_fma_mix*: sources are f32 rows, f16 ones already converted (rp_lane_widen_f16).
 *   mixlo and mixhi both return the f16 in the low half; the caller places it.
 * - v_cvt_f32_fp8/bf8 read the low byte of s0, v_cvt_pk_f32_fp8/bf8 the low half. v_cvt_pk_fp8/bf8
 *   return 16 bits and v_cvt_sr_fp8/bf8 return 8 bits, zero-extended; op_sel says where they go.
 * - Clamp and omod come after. v_cmpx_* is found under its own name and fills mask_out like
 * v_cmp_*.
 */
#ifndef RP_DEVICE_ISA_LANE_H
#define RP_DEVICE_ISA_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RP_LANES 64

struct rp_lane_args {
    uint32_t *d; /**< result rows; NULL for compares */
    const uint32_t *s0;
    const uint32_t *s1;
    const uint32_t *s2; /**< also the old destination for mac/fmac/dot-accumulate forms */
    uint64_t mask_in;   /**< carry-in, cndmask selector, VCC of div_fmas */
    uint64_t mask_out;  /**< carry-out or compare result for all 64 lanes */
    uint32_t mode;      /**< MODE register: FP_ROUND [3:0], FP_DENORM [7:4], DX10_CLAMP 8, IEEE 9 */

    /* Only matrix kernels use these (lane_mfma.h). */
    const uint32_t *s3; /**< smfmac: the row of sparse indices; f8f6f4: scales of A, or NULL */
    const uint32_t *s4; /**< f8f6f4: scales of B */
    uint32_t c_stride;  /**< dwords from one register of s2 to the next; 0: a constant, rows once */
    uint32_t select;    /**< smfmac: shift of the index set in s3; f64: bits 0..2 negate A, B, C;
                         * f8f6f4: RP_F8F6F4_* */
};

/**
 * rp_lane_args.select of f8f6f4 has these fields: where the format of A and B begins (3 bits: fp8,
 * bf8, fp6, bf6, fp4), and the number of the byte in the scales (2 bits).
 */
enum {
    RP_F8F6F4_A = 0,
    RP_F8F6F4_B = 3,
    RP_F8F6F4_BYTE_A = 6,
    RP_F8F6F4_BYTE_B = 8,
};

typedef void rp_lane_fn(struct rp_lane_args *args);

/**
 * Returns the lane kernel of a mnemonic for the best level of this CPU, or NULL when there is
 * none. It is slow and meant for decoding. Names look like "v_add_f32", without _e32/_e64.
 */
rp_lane_fn *rp_lane_find(const char *mnemonic);

/** v_cvt_f32_f16 without a look-up, for the f16 sources of v_fma_mix while it executes. */
rp_lane_fn *rp_lane_widen_f16(void);

/** These CPU levels are compiled in. Their results are the same, and only their speed differs. */
enum rp_lane_level { RP_LANE_BASE = 0, RP_LANE_V3 = 1, RP_LANE_V4 = 2, RP_LANE_LEVELS };

/**
 * Does the same as rp_lane_find() for one level (tests and benchmarks); NULL if this CPU lacks the
 * level.
 */
rp_lane_fn *rp_lane_find_level(const char *mnemonic, enum rp_lane_level level);

/* The inner loops of memory instructions over 64 lanes are compiled once per CPU level. They know
 * neither waves nor instructions, and trust their caller about what is mapped. All levels give
 * identical results.
 */

/**
 * This says where the dwords of each lane are: base + (index[lane] - zero), if that is not beyond
 * last.
 */
struct rp_spread {
    uint8_t *base;
    const uint32_t *index;
    uint32_t zero;
    uint32_t last; /**< largest permitted index - zero, below 2^31 */
};

/** Active lanes beyond @p s.last receive zero. Rows of @p d may be the index row. */
typedef void rp_spread_load_fn(uint32_t (*d)[RP_LANES], const struct rp_spread *s, uint64_t exec);

/** Lanes beyond last store nothing; of several lanes storing to one place the highest wins. */
typedef void rp_spread_store_fn(const uint32_t (*d)[RP_LANES], const struct rp_spread *s,
                                uint64_t exec);

struct rp_mem_lanes {
    /**
     * Tests whether a row grows by the same step from lane to lane without wrapping. All lanes
     * count, active or not, because that is cheap to test and true for what compilers make of
     * thread indices.
     */
    bool (*affine)(const uint32_t *row, int64_t *ret_stride);
    bool (*uniform)(const uint32_t *row);
    /** Tests whether each lane is as far from lane 0 as @p distance says. */
    bool (*same_steps)(const uint32_t *row, const uint32_t *distance);
    bool (*same_steps64)(const uint64_t *row, const uint64_t *distance);
    /** Smallest and largest value over a non-empty set of lanes. */
    void (*bounds)(const uint32_t *row, uint64_t exec, uint32_t *ret_low, uint32_t *ret_high);
    /**
     * Computes out[lane] = value[(address[lane] + offset) / 4 % 64]. The three rows must differ.
     */
    void (*permute)(uint32_t *out, const uint32_t *value, const uint32_t *address, uint32_t offset);
    /**
     * Sets the first of @p count rows (aligned to 64 bytes) to first, first + 1 ... and the others
     * to 0.
     */
    void (*start_rows)(uint32_t (*rows)[RP_LANES], unsigned count, uint32_t first);
    /**
     * Copies a multiple of 16 dwords. For few dwords the library's function takes long to begin.
     */
    void (*copy_dwords)(uint32_t *to, const uint32_t *from, unsigned count);
    /**
     * Loads all 64 lanes with elements of 1, 2 or 4 dwords that lie side by side in memory from @p
     * at on.
     */
    void (*load_rows[5])(uint32_t (*d)[RP_LANES], const uint8_t *at);
    void (*store_rows[5])(const uint32_t (*d)[RP_LANES], uint8_t *at);
    rp_spread_load_fn *load[5]; /**< by dwords per lane, 1 to 4; pairs are moved in one piece */
    rp_spread_store_fn *store[5];
};

/** The best this CPU can run. */
const struct rp_mem_lanes *rp_mem_lanes_best(void);

/* A dense matrix kernel consists of these parts, which a translator that keeps widened operands
 * uses one by one. A wide operand is a row of 64 dwords for each of a lane's values (lane_mfma.h).
 */

typedef void rp_mfma_widen_fn(float (*to)[RP_LANES], const uint32_t *rows, unsigned values);
typedef void rp_mfma_core_fn(uint32_t *d, const uint32_t *c, size_t c_stride,
                             const float (*a)[RP_LANES], const float (*b)[RP_LANES]);

enum { RP_MFMA_VALUES_MAX = 8 };

struct rp_mfma_parts {
    rp_mfma_widen_fn *widen_a, *widen_b; /**< NULL: the register rows are wide already */
    rp_mfma_core_fn *core;               /**< D may share rows with C, and with nothing else */
    unsigned values;                     /**< of a lane, in A and in B */
};

/**
 * Returns the parts of a kernel of level RP_LANE_V4, where the CPU has that.
 * @return false: it is not made of such parts
 */
bool rp_mfma_parts(rp_lane_fn *kernel, struct rp_mfma_parts *ret);

#endif
