/**
 * @file jit_block.h
 * @brief This header describes a region while it is translated: what the parts of the translator
 * share.
 *
 * Registers of translated code: RBX the wave, R12 the middle of the first VGPR rows, R13D the
 * budget left, R14 the issue cycles so far, R15 the page's decoded instructions, RBP its GPU
 * address; [RSP] the rp_jit_state. Vector registers hold rows, K4 to K7 the
 * complement of EXEC in code for waves with lanes off.
 */
#ifndef RP_DEVICE_JIT_JIT_BLOCK_H
#define RP_DEVICE_JIT_JIT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/exec/code_cache.h"
#include "device/exec/executor.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"
#include "device/jit/jit_translate.h"
#include "device/jit/x86_emit.h"

enum {
    RP_JIT_W = RP_RBX,
    RP_JIT_ROWS = RP_R12,
    RP_JIT_LEFT = RP_R13,
    RP_JIT_CYCLES = RP_R14,
    RP_JIT_INSNS = RP_R15,
    RP_JIT_BASE = RP_RBP,

    /* R12 points so many bytes behind VGPR row 0: 64 rows are within a short displacement. */
    RP_JIT_ROW_BIAS = 8192,
    RP_JIT_POOL_WORDS = 768,
    RP_JIT_BLOCKS = 512,
    RP_JIT_BLOCK_INSTS = 24,
    RP_JIT_LINKS = 4 * RP_JIT_BLOCKS,
    RP_JIT_STUBS = 4096,
    RP_JIT_DETOURS = 1024,
    RP_JIT_DETOUR_JUMPS = 24,
    RP_JIT_SLOTS = 6,
    RP_JIT_WIDES = 16,
    RP_JIT_BLOCK_NONE = 0xffff,
};

/** A jump out of a block, completed behind all blocks. */
struct rp_jit_stub {
    size_t jump;         /**< its displacement */
    uint64_t pc;         /**< where the wave is then, */
    uint16_t insts;      /**< with what of the block is not accounted for yet */
    uint16_t first, end; /**< slots of these in the page */
    uint32_t cycles;
    uint32_t insn_index; /**< STEP: which instruction it was */
    bool counts_lanes;
    bool is_step; /**< EAX has the step, everything is accounted for */
    int code;     /**< otherwise: what is returned */
};

/**
 * This is what an instruction does in rare cases, behind all blocks: it calls the handler, and the
 * block goes on behind the instruction.
 */
struct rp_jit_detour {
    size_t jump[RP_JIT_DETOUR_JUMPS]; /**< to here */
    unsigned jump_count;
    size_t apart; /**< a jump that tries jit_memory.c's second way first; 0: none */
    size_t back;  /**< where it goes on, with the wave as it is there: */
    const struct rp_insn *in;
    uint64_t pc; /**< of in */
    uint16_t insts;
    uint16_t first;  /**< slot of the first of these */
    uint32_t cycles; /**< not accounted for, before in */
    bool masked, counts_lanes;
    bool noted; /**< in is accounted for, and its access recorded, before it begins */
    int row[RP_JIT_SLOTS];
};

/** This is an operand of matrix instructions that has been widened. */
struct rp_jit_wide {
    void (*widen)(float (*)[RP_LANES], const uint32_t *, unsigned); /**< by it; NULL: none */
    uint8_t kind, first, rows;                                      /**< as in rp_opnd */
    uint32_t used;
};

struct rp_jit_block {
    uint16_t first, count; /**< instructions; the index of the first */
    bool has_rows;         /**< of its instructions, some depend on EXEC here */
    bool has_vector;       /**< some are vector ALU's */
    size_t entry;          /**< offsets of its code: entry, */
    size_t masked_jump;    /**< its jump to the code for waves with lanes off */
};

struct rp_jit_translation {
    struct rp_x86 x86;
    struct rp_code_page *page;
    struct rp_jit_block block[RP_JIT_BLOCKS];
    unsigned block_count;
    uint16_t block_at[RP_CODE_PAGE_INSNS]; /**< block that begins there */
    bool leader[RP_CODE_PAGE_INSNS], reached[RP_CODE_PAGE_INSNS];
    struct {
        size_t jump;
        uint16_t block;
    } link[RP_JIT_LINKS]; /**< jumps to blocks' entries */
    unsigned link_count;
    struct rp_jit_stub stub[RP_JIT_STUBS];
    unsigned stub_count;
    struct rp_jit_detour detour[RP_JIT_DETOURS];
    unsigned detour_count;
    struct rp_jit_detour *second; /**< whose second way is in translation, or NULL */
    uint32_t pool[RP_JIT_POOL_WORDS];
    unsigned pool_count;
    bool counts;                       /**< executions are counted */
    struct rp_code_recorded *recorded; /**< the waves have a run log; or NULL */
    bool overflow;                     /**< of any of these: nothing is published */
    unsigned vgpr_top, agpr_top;

    /* These members describe the block in translation. */
    bool masked;               /**< for waves with lanes off */
    bool counts_lanes;         /**< lanes may be off, and it matters to counters */
    const struct rp_insn *end; /**< behind the block's last instruction */
    const struct rp_insn *in;
    uint64_t pc;    /**< of in */
    uint16_t insts; /**< before in, not accounted for yet */
    uint16_t first; /**< slot of the first of these */
    uint32_t cycles;
    struct rp_jit_wide wide[RP_JIT_WIDES];
    int row[RP_JIT_SLOTS];       /**< VGPR row a slot holds, -1 = none */
    uint32_t used[RP_JIT_SLOTS]; /**< when it was used last */
    unsigned pinned;             /**< slots of the present instruction, a bit each */
    bool noted;                  /**< as in rp_jit_detour: the present instruction */
    uint32_t clock;
};

/** Returns the memory operand of a 32-bit constant, for broadcasts. */
struct rp_rm rp_jit_constant(struct rp_jit_translation *t, uint32_t value);

/** Tables of 16 dwords at the end of the pool: indices of VPERMT2D, and multiples. */
enum rp_jit_table {
    RP_JIT_EVEN,     /**< 0 2 4 ... */
    RP_JIT_ODD,      /**< 1 3 5 ... */
    RP_JIT_FOURS,    /**< 0 4 8 ... */
    RP_JIT_EIGHTS,   /**< 0 8 16 ... */
    RP_JIT_SIXTEENS, /**< 0 16 32 ... */
    RP_JIT_XY,       /**< 0 4 ... 28, 1 5 ... 29: of elements of four dwords, the first two */
    RP_JIT_ZW,       /**< the last two */
    RP_JIT_PAIRS,    /**< 0 16 1 17 ...: the lower halves of two registers by turns */
    RP_JIT_PAIRS_UP, /**< the upper halves */
    RP_JIT_TWOS,     /**< the same of 64 bits each */
    RP_JIT_TWOS_UP,
    RP_JIT_TABLES
};

/** Returns the memory operand of a table. */
struct rp_rm rp_jit_table(struct rp_jit_translation *t, enum rp_jit_table table);

/** Sets rp_wave.pc to @p pc; RAX is lost. */
void rp_jit_set_pc(struct rp_jit_translation *t, uint64_t pc);

/** Translates what a scalar instruction does; false: nothing written, its handler has to. */
bool rp_jit_salu(struct rp_jit_translation *t, const struct rp_insn *in);

/** Tests whether EXEC is its second result. */
bool rp_jit_salu_writes_exec(const struct rp_insn *in);

/** Tests whether it is a jump that translated code makes itself (jit_translate.c). */
bool rp_jit_is_branch(const struct rp_insn *in);

/**
 * Tests the condition of a branch.
 * @return whether it has one; then *ret_cc is when it is taken
 */
bool rp_jit_branch_condition(struct rp_jit_translation *t, const struct rp_insn *in,
                             enum rp_x86_cc *ret_cc);

/** Translates a vector instruction; false: its handler has to. */
bool rp_jit_valu(struct rp_jit_translation *t, const struct rp_insn *in);

/** Tests whether rp_jit_valu() would read EXEC. */
bool rp_jit_valu_knows(const struct rp_insn *in);

/** Translates a load or store of memory or the LDS; false: nothing written, its handler has to. */
bool rp_jit_mem(struct rp_jit_translation *t, const struct rp_insn *in);

/**
 * Emits the second way of an instruction that rp_jit_mem() has translated, for lanes that are not
 * all side by side. Where they do not lie as it expects, it takes the detour. Vector registers are
 * lost, and rows are in memory.
 */
void rp_jit_mem_scattered(struct rp_jit_translation *t, const struct rp_insn *in);

/** Tests whether rp_jit_mem() would read EXEC. */
bool rp_jit_mem_knows(const struct rp_insn *in);

/* Register rows in CPU registers, and the sources and results of a vector instruction.
 *
 * A row is four ZMM registers, a slot. Rows are always written to memory as well, so that a slot is
 * never more than a copy: it may be forgotten at any time, and a block may be left anywhere.
 */

/* ZMM registers: 4 per slot, then one per source that is the same in all lanes, one per source to
 * hold a part of it, and two more for an instruction's own use. */
enum {
    RP_ZMM_SCALAR = 4 * RP_JIT_SLOTS,
    RP_ZMM_PART = RP_ZMM_SCALAR + 3,
    RP_ZMM_TEMP = RP_ZMM_PART + 3,
    RP_ZMM_TEMP2 = RP_ZMM_TEMP + 1,
};

/** This says which half of a dword is the f16. */
enum rp_half { RP_WHOLE, RP_LOW_HALF, RP_HIGH_HALF };

/* A slot may also hold the f16 halves of row r as f32, under r + this * enum rp_half. */
enum { RP_ROW_WIDENED = 1024 };

/** This is one row of a source. */
struct rp_src {
    enum { RP_SRC_SLOT, RP_SRC_MEMORY, RP_SRC_SCALAR } kind;
    uint8_t reg;  /**< first register of the slot, or that of the scalar */
    uint8_t part; /**< register for a quarter of it */
    int32_t disp; /**< MEMORY */
    bool neg, abs;
    uint8_t half; /**< enum rp_half: the source is f16, widened when it is read */
};

/** Loads all slots that hold rows again. */
void rp_rows_reload(struct rp_jit_translation *t);

/**
 * Does the same with other registers: one for what is the same in all lanes, and one for a
 * quarter.
 */
struct rp_src rp_src_in(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                        unsigned dword, unsigned scalar, unsigned part);

/** Returns an f16 of source @p i as f32. */
struct rp_src rp_src_half(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                          bool high);

/** A scalar's register gets its signs now, once for all quarters. */
void rp_src_settle(struct rp_jit_translation *t, struct rp_src *s);

/** Returns a quarter in a register. */
unsigned rp_src_reg(struct rp_jit_translation *t, const struct rp_src *s, unsigned quarter);

/** Takes a slot for a result and returns its first register. */
unsigned rp_result_new(struct rp_jit_translation *t);

/** The slot at register @p reg becomes VGPR row @p row: in memory as far as EXEC goes. */
void rp_result_store(struct rp_jit_translation *t, unsigned reg, unsigned row);

struct rp_jit_stub *rp_jit_stub_new(struct rp_jit_translation *t, size_t jump);

/** Forgets everything that is held in registers. */
static inline void rp_rows_forget(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        t->row[i] = -1;
}

/** The slots hold these rows no more: something else writes them. */
static inline void rp_rows_forget_row(struct rp_jit_translation *t, unsigned row)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        if (t->row[i] >= 0 && (unsigned)t->row[i] % RP_ROW_WIDENED == row)
            t->row[i] = -1;
}

/** Forgets what the slots hold beside rows themselves. */
static inline void rp_rows_forget_widened(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        if (t->row[i] >= RP_ROW_WIDENED)
            t->row[i] = -1;
}

/** Makes dword @p dword of source @p i of an instruction ready. */
static inline struct rp_src rp_src(struct rp_jit_translation *t, const struct rp_insn *in,
                                   unsigned i, unsigned dword)
{
    return rp_src_in(t, in, i, dword, RP_ZMM_SCALAR + i, RP_ZMM_PART + i);
}

/** Returns a quarter as an operand that may be memory. */
static inline struct rp_rm rp_src_rm(struct rp_jit_translation *t, const struct rp_src *s,
                                     unsigned quarter)
{
    if (s->kind == RP_SRC_MEMORY && !s->half && !s->neg && !s->abs)
        return rp_at(RP_JIT_ROWS, s->disp + (int32_t)(64 * quarter));
    return rp_reg(rp_src_reg(t, s, quarter));
}

/** The jump at @p jump leaves the block: the present instruction is the interpreter's. */
static inline void rp_jit_leave(struct rp_jit_translation *t, size_t jump)
{
    rp_jit_stub_new(t, jump);
}

/** Returns the instruction behind this one. */
static inline const struct rp_insn *rp_jit_next(const struct rp_insn *in)
{
    return (const struct rp_insn *)((const char *)in + in->slot_bytes);
}

static inline struct rp_rm rp_jit_sgpr(unsigned index)
{
    return rp_at(RP_JIT_W, (int32_t)(offsetof(struct rp_wave, sgpr) + 4 * index));
}

static inline struct rp_rm rp_jit_exec(void)
{
    return rp_jit_sgpr(RP_SGPR_EXEC_LO);
}

/** Returns the displacement of a quarter of a row from R12. */
static inline int32_t rp_row_disp(unsigned row, unsigned quarter)
{
    return (int32_t)(row * sizeof(uint32_t[RP_LANES]) + quarter * 64) - RP_JIT_ROW_BIAS;
}

/** Emits one instruction on three registers (or two and memory) for all lanes. */
static inline void rp_v3(struct rp_jit_translation *t, unsigned op, unsigned to, unsigned a,
                         struct rp_rm b)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_ALL, to, a, b, 0);
}

/** Does the same with a constant in all lanes. */
static inline void rp_v3_const(struct rp_jit_translation *t, unsigned op, unsigned to, unsigned a,
                               uint32_t value)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_BROADCAST, to, a, rp_jit_constant(t, value), 0);
}

/** Emits an instruction with one source, one result and perhaps an immediate. */
static inline void rp_v2(struct rp_jit_translation *t, unsigned op, unsigned to, struct rp_rm from,
                         unsigned imm)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_ALL, to, 0, from, imm);
}

/** Emits a shift by a constant. */
static inline void rp_vshift(struct rp_jit_translation *t, unsigned op, unsigned to,
                             struct rp_rm from, unsigned count)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_ALL, 0, to, from, count);
}

#endif
