/**
 * @file valu.h
 * @brief Writers of vector instructions: valu.c (one dword per lane), valu_wide.c (others).
 */
#ifndef RP_DEVICE_JIT_VALU_H
#define RP_DEVICE_JIT_VALU_H

#include "rows.h"

struct rp_valu_row;

/** Writes the instruction; false: nothing written, its handler has to do it. */
typedef bool rp_valu_write_fn(struct rp_jit_translation *t, const struct rp_insn *in,
                              const struct rp_valu_row *row);

/** A row of valu.def. */
struct rp_valu_row {
    uint16_t op;        /**< enum rp_op */
    uint16_t vop, vop2; /**< enum rp_x86_vop */
    uint8_t imm;
    rp_valu_write_fn *write;
};

#define RP_JIT_V(name, function, vop, vop2, imm) rp_valu_write_fn rp_write_##function;
#include "valu.def"

/** One instruction on three registers (or two and memory), all lanes. */
static inline void rp_v3(struct rp_jit_translation *t, unsigned op, unsigned to, unsigned a,
                         struct rp_rm b)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_ALL, to, a, b, 0);
}

/** The same with a constant in all lanes. */
static inline void rp_v3_const(struct rp_jit_translation *t, unsigned op, unsigned to, unsigned a,
                               uint32_t value)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_BROADCAST, to, a, rp_jit_constant(t, value), 0);
}

/** One source, one result, perhaps an immediate. */
static inline void rp_v2(struct rp_jit_translation *t, unsigned op, unsigned to, struct rp_rm from,
                         unsigned imm)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_ALL, to, 0, from, imm);
}

/** A shift by a constant. */
static inline void rp_vshift(struct rp_jit_translation *t, unsigned op, unsigned to,
                             struct rp_rm from, unsigned count)
{
    rp_x86_v(&t->x86, (enum rp_x86_vop)op, RP_ALL, 0, to, from, count);
}

/** The same for instructions that have no handler in isa/valu_fast.c (valu_wide.c). */
bool rp_write_cross_knows(const struct rp_insn *in);
bool rp_write_cross(struct rp_jit_translation *t, const struct rp_insn *in);

/** K0 to K3, EXEC applied, to an SGPR pair. */
void rp_store_lane_masks(struct rp_jit_translation *t, const struct rp_opnd *to);

/** to = a * b + to of f32, with signs of the product and the sum. */
void rp_write_fma(struct rp_jit_translation *t, unsigned to, unsigned a, struct rp_rm b,
                  bool neg_product, bool neg_sum);

#endif
