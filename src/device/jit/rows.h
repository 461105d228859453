/**
 * @file rows.h
 * @brief Register rows in CPU registers, and the sources and results of a vector instruction.
 *
 * A row is four ZMM registers, a slot. Rows are always written to memory as well, so that a slot is
 * never more than a copy: it may be forgotten at any time, and a block may be left anywhere.
 */
#ifndef RP_DEVICE_JIT_ROWS_H
#define RP_DEVICE_JIT_ROWS_H

#include "translate.h"

/* ZMM registers: 4 per slot, then one per source that is the same in all lanes, one per source to
 * hold a part of it, and two more for an instruction's own use. */
enum {
    RP_ZMM_SCALAR = 4 * RP_JIT_SLOTS,
    RP_ZMM_PART = RP_ZMM_SCALAR + 3,
    RP_ZMM_TEMP = RP_ZMM_PART + 3,
    RP_ZMM_TEMP2 = RP_ZMM_TEMP + 1,
};

/** Half of a dword that is an f16. */
enum rp_half { RP_WHOLE, RP_LOW_HALF, RP_HIGH_HALF };

/** One row of a source. */
struct rp_src {
    enum { RP_SRC_SLOT, RP_SRC_MEMORY, RP_SRC_SCALAR } kind;
    uint8_t reg;  /**< first register of the slot, or that of the scalar */
    uint8_t part; /**< register for a quarter of it */
    int32_t disp; /**< MEMORY */
    bool neg, abs;
    uint8_t half; /**< enum rp_half: the source is f16, widened when it is read */
};

/** Nothing is held in registers any more. */
void rp_rows_forget(struct rp_jit_translation *t);

/** The slots hold these rows no more: something else writes them. */
void rp_rows_forget_row(struct rp_jit_translation *t, unsigned row);

/** The same of what they hold beside rows themselves. */
void rp_rows_forget_widened(struct rp_jit_translation *t);

/** All slots that hold rows are loaded. */
void rp_rows_reload(struct rp_jit_translation *t);

/** K4 to K7 = complement of EXEC. */
void rp_rows_load_masks(struct rp_jit_translation *t);

/** Displacement from R12 of a quarter of a row. */
static inline int32_t rp_row_disp(unsigned row, unsigned quarter)
{
    return (int32_t)(row * sizeof(uint32_t[RP_LANES]) + quarter * 64) - RP_JIT_ROW_BIAS;
}

/** Source @p i of an instruction, dword @p dword, made ready. */
struct rp_src rp_src(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                     unsigned dword);

/** The same with other registers: for what is the same in all lanes, and for a quarter. */
struct rp_src rp_src_in(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                        unsigned dword, unsigned scalar, unsigned part);

/** An f16 of source @p i as f32. */
struct rp_src rp_src_half(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                          bool high);

/** The same with the instruction's neg and abs. */
struct rp_src rp_src_signed(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i);

/** A scalar's register gets its signs now, once for all quarters. */
void rp_src_settle(struct rp_jit_translation *t, struct rp_src *s);

/** A quarter as an operand that may be memory. */
struct rp_rm rp_src_rm(struct rp_jit_translation *t, const struct rp_src *s, unsigned quarter);

/** A quarter in a register. */
unsigned rp_src_reg(struct rp_jit_translation *t, const struct rp_src *s, unsigned quarter);

/** Two registers: 16 f32 to f16, one in a dword. */
void rp_narrow(struct rp_jit_translation *t, unsigned to, unsigned from);

/** A slot for a result; its first register. */
unsigned rp_result_new(struct rp_jit_translation *t);

/** The slot at register @p reg becomes VGPR row @p row: in memory as far as EXEC goes. */
void rp_result_store(struct rp_jit_translation *t, unsigned reg, unsigned row);

/** Leaves the instruction to the interpreter when K0 to K3 name a lane that is on. */
void rp_leave_lanes(struct rp_jit_translation *t);

/** The same when there is a NaN in the results at @p reg. */
void rp_leave_nan(struct rp_jit_translation *t, unsigned reg);

/** The same of two rows. */
void rp_leave_nan2(struct rp_jit_translation *t, unsigned reg, unsigned other);

#endif
