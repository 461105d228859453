/*
 * v_bitop3 of gfx950: any function of three bits. Bit (4 * a + 2 * b + c) of the truth table is the
 * result for the bits a, b, c of the three sources.
 */
#include "valu.h"

static inline uint32_t any_function(uint32_t table, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; i++)
        if (table >> i & 1)
            result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

/* The 16-bit form takes the half of each source that op_sel names, and writes the one that bit 3
 * names, keeping the other. */
int rp_v_bitop3(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_insn moved;
    const struct rp_insn *used = rp_apply_gpr_idx(w, in, &moved);
    if (!used || !rp_registers_exist(w, used))
        return rp_fault_register(w, in);
    const bool half = used->op == RP_OP_v_bitop3_b16;
    const uint64_t exec = RP_EXEC(w);
    const unsigned up = used->op_sel & 8 ? 16 : 0;
    uint32_t *d = w->vgpr[used->dst.index];
    const uint32_t *src[3];
    struct rp_rows rows[3];
    for (unsigned i = 0; i < 3; i++) {
        src[i] = rp_fetch(w, &used->src[i], &rows[i]);
        if (used->op_sel >> i & 1 && used->src[i].kind == RP_OPND_CONST)
            return rp_fault_operand(w, in); /* the upper half of a constant: nothing says what */
    }
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        if (!(exec >> lane & 1))
            continue;
        const uint32_t r = any_function(used->cbsz, src[0][lane] >> (used->op_sel & 1 ? 16 : 0),
                                        src[1][lane] >> (used->op_sel & 2 ? 16 : 0),
                                        src[2][lane] >> (used->op_sel & 4 ? 16 : 0));
        d[lane] = half ? (d[lane] & ~(0xffffu << up)) | (r & 0xffff) << up : r;
    }
    return RP_STEP_NEXT;
}
