/* Scalar instructions and branches are translated to what their handlers in salu.c or
 * scalar_control.c do; instructions that share a handler share the translation.
 */
#include "device/jit/jit_block.h"

enum kind {
    MOVE,
    CMOVE,
    SELECT,
    LOGIC,     /**< result, SCC = it is not zero */
    LOGIC_NOT, /**< of the complement of source 1 */
    NOT_LOGIC, /**< the complement of the result */
    NOT,
    SHIFT,
    SAVE_EXEC,     /**< EXEC = source op EXEC */
    SAVE_EXEC_NOT, /**< EXEC = source op ~EXEC */
    SAVE_NOT_EXEC, /**< EXEC = ~source op EXEC */
    CARRY,         /**< add, subtract and the like with a flag as SCC */
    WITH_CARRY,
    MULTIPLY,
    COMPARE,
    CHOOSE, /**< min, max: SCC = source 0 is it */
};

static const struct row {
    rp_insn_fn *fn;
    enum kind kind;
    uint8_t wide;
    uint8_t op; /**< enum rp_x86_alu or rp_x86_shift */
    uint8_t cc; /**< enum rp_x86_cc of SCC */
} rows[] = {
#define RP_JIT_S(name, kind, wide, op, cc) {rp_##name, kind, wide, op, cc},
#include "device/jit/jit_salu.def"
};

static const struct row *find(const struct rp_insn *in)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].fn == in->fn)
            return &rows[i];
    return NULL;
}

static bool is_known(const struct rp_opnd *o, bool wide)
{
    if (o->kind == RP_OPND_SGPR)
        return o->index + (wide ? 2u : 1u) <= RP_SGPR_COUNT;
    return o->kind == RP_OPND_CONST;
}

static void load(struct rp_x86 *e, bool wide, unsigned reg, const struct rp_opnd *o)
{
    if (o->kind == RP_OPND_SGPR)
        rp_x86_load(e, wide, reg, rp_jit_sgpr(o->index));
    else
        rp_x86_mov_imm(e, reg, wide ? o->imm : (uint32_t)o->imm);
}

static void store(struct rp_x86 *e, bool wide, const struct rp_opnd *o, unsigned reg)
{
    rp_x86_store(e, wide, rp_jit_sgpr(o->index), reg);
}

static struct rp_rm scc(void)
{
    return rp_at(RP_JIT_W, offsetof(struct rp_wave, scc));
}

/* Sets SCC from the flags. */
static void set_scc(struct rp_x86 *e, enum rp_x86_cc cc)
{
    rp_x86_set(e, cc, RP_RDX);
    rp_x86_store(e, false, scc(), RP_RDX);
}

/* The result is in RAX. */
static void store_nonzero(struct rp_x86 *e, bool wide, const struct rp_opnd *dst)
{
    store(e, wide, dst, RP_RAX);
    rp_x86_test(e, wide, RP_RAX, RP_RAX);
    set_scc(e, RP_CC_NE);
}

static void emit_select(struct rp_x86 *e, const struct rp_insn *in, bool wide)
{
    load(e, wide, RP_RAX, &in->src[0]);
    load(e, wide, RP_RCX, &in->src[1]);
    rp_x86_alu_imm(e, false, RP_CMP, scc(), 0);
    rp_x86_cmov(e, wide, RP_CC_E, RP_RAX, rp_reg(RP_RCX));
    store(e, wide, &in->dst, RP_RAX);
}

static void logic(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, r->wide, RP_RAX, &in->src[0]);
    load(e, r->wide, RP_RCX, &in->src[1]);
    if (r->kind == LOGIC_NOT)
        rp_x86_not(e, r->wide, RP_RCX);
    rp_x86_alu(e, r->wide, (enum rp_x86_alu)r->op, RP_RAX, rp_reg(RP_RCX));
    if (r->kind == NOT_LOGIC)
        rp_x86_not(e, r->wide, RP_RAX);
    store_nonzero(e, r->wide, &in->dst);
}

static void save_exec(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, true, RP_RAX, &in->src[0]);
    rp_x86_load(e, true, RP_RCX, rp_jit_exec());
    store(e, true, &in->dst, RP_RCX);
    if (r->kind == SAVE_EXEC_NOT)
        rp_x86_not(e, true, RP_RCX);
    if (r->kind == SAVE_NOT_EXEC)
        rp_x86_not(e, true, RP_RAX);
    rp_x86_alu(e, true, (enum rp_x86_alu)r->op, RP_RAX, rp_reg(RP_RCX));
    const struct rp_opnd exec = {.kind = RP_OPND_SGPR, .index = RP_SGPR_EXEC_LO, .dwords = 2};
    store_nonzero(e, true, &exec);
}

static void shift(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, r->wide, RP_RAX, &in->src[0]);
    if (in->src[1].kind == RP_OPND_CONST) {
        rp_x86_shift_imm(e, r->wide, (enum rp_x86_shift)r->op, RP_RAX,
                         in->src[1].imm & (r->wide ? 63 : 31));
    } else {
        load(e, false, RP_RCX, &in->src[1]);
        rp_x86_shift_cl(e, r->wide, (enum rp_x86_shift)r->op, RP_RAX);
    }
    store_nonzero(e, r->wide, &in->dst);
}

static void carry(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, false, RP_RAX, &in->src[0]);
    load(e, false, RP_RCX, &in->src[1]);
    if (r->kind == WITH_CARRY) { /* This sets CF to SCC, because 0 - SCC borrows. */
        rp_x86_mov_imm(e, RP_RDX, 0);
        rp_x86_alu(e, false, RP_CMP, RP_RDX, scc());
    }
    rp_x86_alu(e, false, (enum rp_x86_alu)r->op, RP_RAX, rp_reg(RP_RCX));
    rp_x86_set(e, (enum rp_x86_cc)r->cc, RP_RDX);
    store(e, false, &in->dst, RP_RAX);
    rp_x86_store(e, false, scc(), RP_RDX);
}

static void compare(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, r->wide, RP_RAX, &in->src[0]);
    if (in->src[1].kind == RP_OPND_CONST && !r->wide) {
        rp_x86_alu_imm(e, false, RP_CMP, rp_reg(RP_RAX), (int32_t)(uint32_t)in->src[1].imm);
    } else {
        load(e, r->wide, RP_RCX, &in->src[1]);
        rp_x86_alu(e, r->wide, RP_CMP, RP_RAX, rp_reg(RP_RCX));
    }
    set_scc(e, (enum rp_x86_cc)r->cc);
}

static void choose(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, false, RP_RAX, &in->src[0]);
    load(e, false, RP_RCX, &in->src[1]);
    rp_x86_alu(e, false, RP_CMP, RP_RCX, rp_reg(RP_RAX)); /* It compares source 1 with source 0. */
    rp_x86_cmov(e, false, (enum rp_x86_cc)r->op, RP_RCX, rp_reg(RP_RAX));
    rp_x86_set(e, (enum rp_x86_cc)r->op, RP_RDX);
    store(e, false, &in->dst, RP_RCX);
    rp_x86_store(e, false, scc(), RP_RDX);
}

static void emit_write(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    switch (r->kind) {
    case MOVE:
        load(e, r->wide, RP_RAX, &in->src[0]);
        store(e, r->wide, &in->dst, RP_RAX);
        break;
    case CMOVE:
        load(e, r->wide, RP_RCX, &in->src[0]);
        rp_x86_load(e, r->wide, RP_RAX, rp_jit_sgpr(in->dst.index));
        rp_x86_alu_imm(e, false, RP_CMP, scc(), 0);
        rp_x86_cmov(e, r->wide, RP_CC_NE, RP_RAX, rp_reg(RP_RCX));
        store(e, r->wide, &in->dst, RP_RAX);
        break;
    case SELECT:
        emit_select(e, in, r->wide);
        break;
    case LOGIC:
    case LOGIC_NOT:
    case NOT_LOGIC:
        logic(e, in, r);
        break;
    case NOT:
        load(e, r->wide, RP_RAX, &in->src[0]);
        rp_x86_not(e, r->wide, RP_RAX);
        store_nonzero(e, r->wide, &in->dst);
        break;
    case SHIFT:
        shift(e, in, r);
        break;
    case SAVE_EXEC:
    case SAVE_EXEC_NOT:
    case SAVE_NOT_EXEC:
        save_exec(e, in, r);
        break;
    case CARRY:
    case WITH_CARRY:
        carry(e, in, r);
        break;
    case MULTIPLY:
        load(e, false, RP_RAX, &in->src[0]);
        load(e, false, RP_RCX, &in->src[1]);
        rp_x86_imul(e, false, RP_RAX, rp_reg(RP_RCX));
        store(e, false, &in->dst, RP_RAX);
        break;
    case COMPARE:
        compare(e, in, r);
        break;
    case CHOOSE:
        choose(e, in, r);
        break;
    }
}

/* Tells which sources are 64 bits wide; shifts count with 32. */
static bool operands_known(const struct rp_insn *in, const struct row *r)
{
    const bool one = r->kind == MOVE || r->kind == CMOVE || r->kind == NOT ||
                     r->kind == SAVE_EXEC || r->kind == SAVE_EXEC_NOT || r->kind == SAVE_NOT_EXEC;
    if (r->kind != COMPARE &&
        (in->dst.kind != RP_OPND_SGPR || in->dst.index + 1u + r->wide > RP_SGPR_COUNT))
        return false;
    return is_known(&in->src[0], r->wide) &&
           (one || is_known(&in->src[1], r->wide && r->kind != SHIFT));
}

/* There is nothing to wait for, but a turn may end here (rp_s_waitcnt()). */
static void waitcnt(struct rp_jit_translation *t)
{
    rp_x86_cmp_byte(&t->x86, rp_at(RP_JIT_W, offsetof(struct rp_wave, past_barrier)), 0);
    rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
}

bool rp_jit_salu(struct rp_jit_translation *t, const struct rp_insn *in)
{
    if (in->fn == rp_s_waitcnt) {
        waitcnt(t);
        return true;
    }
    const struct row *r = find(in);
    if (!r || !operands_known(in, r))
        return false;
    emit_write(&t->x86, in, r);
    return true;
}

bool rp_jit_salu_writes_exec(const struct rp_insn *in)
{
    const struct row *r = find(in);
    return r && (r->kind == SAVE_EXEC || r->kind == SAVE_EXEC_NOT || r->kind == SAVE_NOT_EXEC);
}

/* ---- branches ---- */

bool rp_jit_is_branch(const struct rp_insn *in)
{
    return in->fn == rp_s_branch || in->fn == rp_s_cbranch_scc0 || in->fn == rp_s_cbranch_scc1 ||
           in->fn == rp_s_cbranch_vccz || in->fn == rp_s_cbranch_vccnz ||
           in->fn == rp_s_cbranch_execz || in->fn == rp_s_cbranch_execnz;
}

bool rp_jit_branch_condition(struct rp_jit_translation *t, const struct rp_insn *in,
                             enum rp_x86_cc *ret_cc)
{
    const bool is_scc = in->fn == rp_s_cbranch_scc0 || in->fn == rp_s_cbranch_scc1;
    const bool is_vcc = in->fn == rp_s_cbranch_vccz || in->fn == rp_s_cbranch_vccnz;
    if (in->fn == rp_s_branch)
        return false;
    rp_x86_alu_imm(&t->x86, !is_scc, RP_CMP,
                   is_scc   ? scc()
                   : is_vcc ? rp_jit_sgpr(RP_SGPR_VCC_LO)
                            : rp_jit_exec(),
                   0);
    *ret_cc =
        in->fn == rp_s_cbranch_scc0 || in->fn == rp_s_cbranch_vccz || in->fn == rp_s_cbranch_execz
            ? RP_CC_E
            : RP_CC_NE;
    return true;
}
