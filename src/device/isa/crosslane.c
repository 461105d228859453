/*
 * Moves between lanes, scalar registers and accumulation registers, and the swap. readlane,
 * readfirstlane and writelane ignore EXEC; the accumulation moves and the swap honour it.
 */
#include "valu.h"

/* The instruction after index mode and the register check; NULL: fault is set. */
static const struct rp_insn *prepare(struct rp_wave *w, const struct rp_insn *in,
                                     struct rp_insn *moved)
{
    const struct rp_insn *used = rp_apply_gpr_idx(w, in, moved);
    if (used && rp_registers_exist(w, used))
        return used;
    rp_fault_register(w, in);
    return NULL;
}

static uint32_t lane_value(const struct rp_wave *w, const struct rp_opnd *o, unsigned lane)
{
    if (o->kind == RP_OPND_VGPR)
        return w->vgpr[o->index][lane];
    return rp_opnd_u32(w, o);
}

int rp_v_readfirstlane_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    const uint64_t exec = RP_EXEC(w);
    const unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;
    w->sgpr[in->dst.index] = lane_value(w, &in->src[0], lane);
    return RP_STEP_NEXT;
}

int rp_v_readlane_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    if (in->src[1].kind == RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    w->sgpr[in->dst.index] = lane_value(w, &in->src[0], rp_opnd_u32(w, &in->src[1]) & 63);
    return RP_STEP_NEXT;
}

int rp_v_writelane_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    if (in->src[0].kind == RP_OPND_VGPR || in->src[1].kind == RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    w->vgpr[in->dst.index][rp_opnd_u32(w, &in->src[1]) & 63] = rp_opnd_u32(w, &in->src[0]);
    return RP_STEP_NEXT;
}

static int acc_move(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    struct rp_rows b;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    uint32_t(*file)[RP_LANES] = in->dst.kind == RP_OPND_AGPR ? w->agpr : w->vgpr;
    rp_row_blend(file[in->dst.index], rp_fetch(w, &in->src[0], &b), RP_EXEC(w));
    return RP_STEP_NEXT;
}

int rp_v_accvgpr_read_b32(struct rp_wave *w, const struct rp_insn *in)
{
    return acc_move(w, in);
}

int rp_v_accvgpr_write_b32(struct rp_wave *w, const struct rp_insn *in)
{
    return acc_move(w, in);
}

int rp_v_accvgpr_mov_b32(struct rp_wave *w, const struct rp_insn *in)
{
    return acc_move(w, in);
}

int rp_v_swap_b32(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    struct rp_rows old;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    if (in->src[0].kind != RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    uint32_t *dst = w->vgpr[in->dst.index], *src = w->vgpr[in->src[0].index];
    memcpy(old.row[0], dst, sizeof old.row[0]);
    rp_row_blend(dst, src, RP_EXEC(w));
    rp_row_blend(src, old.row[0], RP_EXEC(w));
    return RP_STEP_NEXT;
}

/*
 * v_permlane16_swap, v_permlane32_swap: the odd groups of 16 (32) lanes of the first register
 * change places with the even ones of the second. The ISA document knows no EXEC in it, and not
 * what FI and BOUND_CTRL do: where EXEC parts two lanes that would change places, nothing says what
 * happens.
 */
int rp_v_permlane_swap(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    if (!(in = prepare(w, in, &moved)))
        return RP_STEP_FAULT;
    const unsigned group = in->op == RP_OP_v_permlane16_swap_b32 ? 16 : 32;
    const uint64_t exec = RP_EXEC(w);
    const uint64_t even = group == 16 ? 0x0000ffff0000ffff : 0x00000000ffffffff;
    if (in->src[0].kind != RP_OPND_VGPR)
        return rp_fault_operand(w, in);
    if ((exec & even) != (exec >> group & even))
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED,
                             "lanes change places with lanes that EXEC switches off");
    uint32_t *dst = w->vgpr[in->dst.index], *src = w->vgpr[in->src[0].index];
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        if (!((exec & even) >> lane & 1))
            continue;
        const uint32_t old = src[lane];
        src[lane] = dst[lane + group];
        dst[lane + group] = old;
    }
    return RP_STEP_NEXT;
}

int rp_v_nop(struct rp_wave *w, const struct rp_insn *in)
{
    (void)w;
    (void)in;
    return RP_STEP_NEXT;
}
