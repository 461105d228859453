/**
 * @file x86_emit.h
 * @brief Writes x86-64 machine code: the few forms the translator needs, into a buffer.
 *
 * Code is position-independent but for absolute addresses given to rp_x86_mov_imm. What does not
 * fit is left out and noted in rp_x86.full; the caller looks once, at the end.
 */
#ifndef RP_DEVICE_JIT_X86_EMIT_H
#define RP_DEVICE_JIT_X86_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rp_x86 {
    uint8_t *code;
    size_t bytes, room_bytes;
    bool full;
};

/** General registers by their numbers in encodings. */
enum {
    RP_RAX,
    RP_RCX,
    RP_RDX,
    RP_RBX,
    RP_RSP,
    RP_RBP,
    RP_RSI,
    RP_RDI,
    RP_R8,
    RP_R9,
    RP_R10,
    RP_R11,
    RP_R12,
    RP_R13,
    RP_R14,
    RP_R15,
    RP_RIP = 16, /**< as a base: disp is an offset in the buffer */
};

/** This is a register, or memory at a base register plus a displacement. */
struct rp_rm {
    bool is_memory;
    uint8_t reg; /**< register, or base */
    int32_t disp;
};

enum rp_x86_vop {
#define RP_X86_V(name, map, pp, w, opcode, ext, length, memory_bytes, imm, text) RP_X86_##name,
#define RP_X86_K(name, pp, w, l, opcode, text)
#include "device/jit/x86_emit.def"
    RP_X86_VOPS,
};

enum rp_x86_kop {
#define RP_X86_V(name, map, pp, w, opcode, ext, length, memory_bytes, imm, text)
#define RP_X86_K(name, pp, w, l, opcode, text) RP_X86_##name,
#include "device/jit/x86_emit.def"
    RP_X86_KOPS,
};

/** This says how an EVEX instruction writes its result. */
struct rp_mask {
    uint8_t k;      /**< mask register 1..7, 0 = all lanes */
    bool zero;      /**< lanes without a bit become 0 instead of staying */
    bool broadcast; /**< the memory operand is one element */
};

#define RP_ALL       ((struct rp_mask){0, false, false})
#define RP_BROADCAST ((struct rp_mask){0, false, true})
#define RP_MERGE(n)  ((struct rp_mask){(uint8_t)(n), false, false})

/**
 * Writes one EVEX instruction. @p reg goes to ModRM.reg (ignored where the row has an opcode
 * extension), @p v to vvvv (0 where the instruction has none), and @p imm is written if the row
 * has an immediate.
 */
void rp_x86_v(struct rp_x86 *e, enum rp_x86_vop op, struct rp_mask mask, unsigned reg, unsigned v,
              struct rp_rm rm, unsigned imm);

/**
 * Writes one VEX instruction on mask registers (or between one and memory or a general register).
 */
void rp_x86_k(struct rp_x86 *e, enum rp_x86_kop op, unsigned reg, unsigned v, struct rp_rm rm);

/** Operations of the first opcode map, by their extension in group 1. */
enum rp_x86_alu {
    RP_ADD = 0,
    RP_OR = 1,
    RP_ADC = 2,
    RP_SBB = 3,
    RP_AND = 4,
    RP_SUB = 5,
    RP_XOR = 6,
    RP_CMP = 7,
};

/** These are shifts by CL or a constant, by their extension in group 2. */
enum rp_x86_shift { RP_SHL = 4, RP_SHR = 5, RP_SAR = 7 };

/** These are conditions of Jcc, SETcc and CMOVcc. */
enum rp_x86_cc {
    RP_CC_O = 0,
    RP_CC_B = 2,
    RP_CC_AE = 3,
    RP_CC_E = 4,
    RP_CC_NE = 5,
    RP_CC_BE = 6,
    RP_CC_A = 7,
    RP_CC_L = 12,
    RP_CC_GE = 13,
    RP_CC_LE = 14,
    RP_CC_G = 15,
};

/** Writes the low @p bytes of @p value, the lowest first. */
void rp_x86_bytes(struct rp_x86 *e, uint32_t value, unsigned bytes);

/**
 * Writes one instruction on a general register and another register or memory, without immediate.
 * @p opcode is a byte, two bytes behind 0F, or three with a prefix in front; @p reg is the
 * register, or extends the opcode.
 */
void rp_x86_insn(struct rp_x86 *e, bool wide, uint32_t opcode, unsigned reg, struct rp_rm rm);

/** Loads a constant in the shortest way; flags stay. */
void rp_x86_mov_imm(struct rp_x86 *e, unsigned reg, uint64_t imm);

void rp_x86_alu_imm(struct rp_x86 *e, bool wide, enum rp_x86_alu op, struct rp_rm rm, int32_t imm);
void rp_x86_cmp_byte(struct rp_x86 *e, struct rp_rm rm, uint8_t imm);

/** Sets reg to 1 if the condition holds, else to 0. */
void rp_x86_set(struct rp_x86 *e, enum rp_x86_cc cc, unsigned reg);

static inline struct rp_rm rp_reg(unsigned reg)
{
    return (struct rp_rm){false, (uint8_t)reg, 0};
}

static inline struct rp_rm rp_at(unsigned base, int32_t disp)
{
    return (struct rp_rm){true, (uint8_t)base, disp};
}

static inline void rp_x86_load(struct rp_x86 *e, bool wide, unsigned reg, struct rp_rm from)
{
    rp_x86_insn(e, wide, 0x8b, reg, from);
}

static inline void rp_x86_store(struct rp_x86 *e, bool wide, struct rp_rm to, unsigned reg)
{
    rp_x86_insn(e, wide, 0x89, reg, to);
}

static inline void rp_x86_lea(struct rp_x86 *e, unsigned reg, struct rp_rm at)
{
    rp_x86_insn(e, true, 0x8d, reg, at);
}

static inline void rp_x86_alu(struct rp_x86 *e, bool wide, enum rp_x86_alu op, unsigned reg,
                              struct rp_rm rm)
{
    rp_x86_insn(e, wide, (unsigned)op << 3 | 3, reg, rm);
}

/** Does the same with the result in @p rm. */
static inline void rp_x86_alu_to(struct rp_x86 *e, bool wide, enum rp_x86_alu op, struct rp_rm rm,
                                 unsigned reg)
{
    rp_x86_insn(e, wide, (unsigned)op << 3 | 1, reg, rm);
}

static inline void rp_x86_test(struct rp_x86 *e, bool wide, unsigned a, unsigned b)
{
    rp_x86_insn(e, wide, 0x85, b, rp_reg(a));
}

static inline void rp_x86_not(struct rp_x86 *e, bool wide, unsigned reg)
{
    rp_x86_insn(e, wide, 0xf7, 2, rp_reg(reg));
}

static inline void rp_x86_shift_cl(struct rp_x86 *e, bool wide, enum rp_x86_shift op, unsigned reg)
{
    rp_x86_insn(e, wide, 0xd3, op, rp_reg(reg));
}

static inline void rp_x86_shift_imm(struct rp_x86 *e, bool wide, enum rp_x86_shift op, unsigned reg,
                                    unsigned count)
{
    rp_x86_insn(e, wide, 0xc1, op, rp_reg(reg));
    rp_x86_bytes(e, count, 1);
}

static inline void rp_x86_imul(struct rp_x86 *e, bool wide, unsigned reg, struct rp_rm rm)
{
    rp_x86_insn(e, wide, 0x0faf, reg, rm);
}

static inline void rp_x86_tzcnt(struct rp_x86 *e, bool wide, unsigned reg, struct rp_rm rm)
{
    rp_x86_insn(e, wide, 0xf30fbc, reg, rm);
}

static inline void rp_x86_popcnt(struct rp_x86 *e, bool wide, unsigned reg, struct rp_rm rm)
{
    rp_x86_insn(e, wide, 0xf30fb8, reg, rm);
}

/**
 * These hints fetch a line into the second level of the caches, or into the first one to be
 * written.
 */
static inline void rp_x86_prefetch(struct rp_x86 *e, struct rp_rm at)
{
    rp_x86_insn(e, false, 0x0f18, 2, at);
}

static inline void rp_x86_prefetch_write(struct rp_x86 *e, struct rp_rm at)
{
    rp_x86_insn(e, false, 0x0f0d, 1, at);
}

static inline void rp_x86_cmov(struct rp_x86 *e, bool wide, enum rp_x86_cc cc, unsigned reg,
                               struct rp_rm rm)
{
    rp_x86_insn(e, wide, 0x0f40 | cc, reg, rm);
}

static inline void rp_x86_jmp_reg(struct rp_x86 *e, unsigned reg)
{
    rp_x86_insn(e, false, 0xff, 4, rp_reg(reg));
}

static inline void rp_x86_call_reg(struct rp_x86 *e, unsigned reg)
{
    rp_x86_insn(e, false, 0xff, 2, rp_reg(reg));
}

/** Writes a jump that rp_x86_land() completes. It returns the place of the displacement. */
static inline size_t rp_x86_jmp(struct rp_x86 *e)
{
    rp_x86_bytes(e, 0xe9, 1);
    rp_x86_bytes(e, 0, 4);
    return e->bytes - 4;
}

static inline size_t rp_x86_jcc(struct rp_x86 *e, enum rp_x86_cc cc)
{
    rp_x86_bytes(e, 0x800f | (uint32_t)cc << 8, 2);
    rp_x86_bytes(e, 0, 4);
    return e->bytes - 4;
}

/** Makes the jump whose displacement is at @p at go to offset @p target. */
static inline void rp_x86_land(struct rp_x86 *e, size_t at, size_t target)
{
    const uint32_t distance = (uint32_t)(target - (at + 4));
    if (!e->full)
        memcpy(e->code + at, &distance, sizeof distance);
}

static inline void rp_x86_push(struct rp_x86 *e, unsigned reg)
{
    rp_x86_bytes(e, reg >= RP_R8 ? 0x5041 | (reg & 7) << 8 : 0x50 | reg, reg >= RP_R8 ? 2 : 1);
}

static inline void rp_x86_pop(struct rp_x86 *e, unsigned reg)
{
    rp_x86_bytes(e, reg >= RP_R8 ? 0x5841 | (reg & 7) << 8 : 0x58 | reg, reg >= RP_R8 ? 2 : 1);
}

static inline void rp_x86_ret(struct rp_x86 *e)
{
    rp_x86_bytes(e, 0xc3, 1);
}

static inline void rp_x86_vzeroupper(struct rp_x86 *e)
{
    rp_x86_bytes(e, 0x77f8c5, 3);
}

#endif
