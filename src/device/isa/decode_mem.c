/* The memory formats: SMEM, FLAT, DS, MUBUF, MTBUF. */
#include "decode.h"

void rp_dec_smem(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = rp_dec_dword(d);
    if (d->bad || !rp_dec_row(d, RP_FMT_SMEM, 0, bits(w0, 18, 8)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned sdata = bits(w0, 6, 7);
    bool imm = bits(w0, 17, 1), soffset_en = bits(w0, 14, 1);
    if (bits(w0, 16, 1))
        in->flags |= RP_IF_SC0;
    in->dst = rp_dec_sgpr(d, sdata, row->dst);
    in->src[0] = rp_dec_sgpr(d, sdata, row->src[0]);
    in->src[2] = rp_dec_sgpr(d, bits(w0, 0, 6) * 2, row->src[2]);
    if (row->src[2] == RP_T_NONE)
        return; /* cache control and clocks have no address */
    if (imm)
        in->offset = sign_extend(w1, 21);
    if (soffset_en || !imm) {
        /* Without IMM the offset field itself names the register unless SOFFSET_EN is set. */
        in->src[1] = rp_dec_sgpr(d, soffset_en ? bits(w1, 25, 7) : bits(w1, 0, 7), row->src[1]);
        in->flags |= RP_IF_SOFFSET_EN;
    }
}

/*
 * gfx90a's loads to LDS are global loads with a bit, gfx942's have opcodes of their own: the rows
 * of those stand for both.
 */
static void load_to_lds(struct rp_dec *d)
{
    static const struct {
        uint16_t plain, to_lds;
    } pairs[] = {
        {RP_OP_global_load_ubyte, RP_OP_global_load_lds_ubyte},
        {RP_OP_global_load_sbyte, RP_OP_global_load_lds_sbyte},
        {RP_OP_global_load_ushort, RP_OP_global_load_lds_ushort},
        {RP_OP_global_load_sshort, RP_OP_global_load_lds_sshort},
        {RP_OP_global_load_dword, RP_OP_global_load_lds_dword},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (d->in->op == pairs[i].plain) {
            d->in->op = pairs[i].to_lds;
            d->row = &rp_op_rows[d->in->op];
            return;
        }
    d->bad = true;
}

void rp_dec_flat(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = rp_dec_dword(d);
    enum rp_seg seg = bits(w0, 14, 2);
    if (d->bad || seg == 3 || !rp_dec_row(d, RP_FMT_FLAT, seg, bits(w0, 18, 7))) {
        d->bad = true;
        return;
    }
    /* Bit 13: on gfx90a, to LDS; on gfx942, scratch with a vector address (gfx90a: instead of a
     * scalar one). */
    const bool gfx90a = rp_isa_target_get() == RP_ISA_GFX90A, bit13 = bits(w0, 13, 1);
    if (gfx90a && bit13)
        load_to_lds(d);
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    unsigned saddr = bits(w1, 16, 7);
    bool acc = bits(w1, 23, 1);
    bool has_saddr = seg != RP_SEG_FLAT && saddr != SADDR_OFF;
    bool has_vaddr = seg != RP_SEG_SCRATCH || (gfx90a ? !has_saddr : bit13);
    bool atomic = row->dst != RP_T_NONE && row->src[1] != RP_T_NONE;
    in->seg = (uint8_t)seg;
    in->offset = sign_extend(w0, 13);
    in->flags |= (bits(w0, 16, 1) ? RP_IF_SC0 : 0) | (bits(w0, 17, 1) ? RP_IF_NT : 0) |
                 (bits(w0, 25, 1) ? RP_IF_SC1 : 0);
    if (row->dst == RP_T_NONE && row->src[1] == RP_T_NONE)
        in->flags |= RP_IF_LDS;
    if (has_vaddr) {
        unsigned type = has_saddr ? RP_T_B32 : row->src[0];
        in->src[0] = rp_dec_vgpr(d, bits(w1, 0, 8), type);
        in->flags |= RP_IF_VADDR;
    }
    if (has_saddr) {
        in->src[2] = rp_dec_sgpr(d, saddr, row->src[2]);
        in->flags |= RP_IF_SADDR;
    }
    in->src[1] = rp_dec_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    if (!atomic || in->flags & RP_IF_SC0)
        in->dst = rp_dec_vector(d, acc, bits(w1, 24, 8), row->dst);
}

void rp_dec_ds(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = rp_dec_dword(d);
    if (d->bad || !rp_dec_row(d, RP_FMT_DS, 0, bits(w0, 17, 8)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool acc = bits(w0, 25, 1);
    in->offset = (int32_t)bits(w0, 0, 16);
    if (bits(w0, 16, 1))
        in->flags |= RP_IF_GDS;
    in->src[0] = rp_dec_vgpr(d, bits(w1, 0, 8), row->src[0]);
    in->src[1] = rp_dec_vector(d, acc, bits(w1, 8, 8), row->src[1]);
    in->src[3] = rp_dec_vector(d, acc, bits(w1, 16, 8), row->src[3]);
    in->dst = rp_dec_vector(d, acc, bits(w1, 24, 8), row->dst);
}

/* Data of a buffer instruction, read or written. */
static struct rp_opnd buffer_data(struct rp_dec *d, uint32_t w1, unsigned type)
{
    return rp_dec_vector(d, bits(w1, 23, 1), bits(w1, 8, 8), type);
}

/* What MUBUF and MTBUF have in the same places: address, data to store, resource and offsets. */
static void buffer_operands(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    const bool offen = bits(w0, 12, 1), idxen = bits(w0, 13, 1);
    in->offset = (int32_t)bits(w0, 0, 12);
    in->flags |= (offen ? RP_IF_OFFEN : 0) | (idxen ? RP_IF_IDXEN : 0);
    if (offen || idxen) {
        in->src[0] = rp_dec_vgpr(d, bits(w1, 0, 8), offen && idxen ? RP_T_B64 : RP_T_B32);
        in->flags |= RP_IF_VADDR;
    }
    in->src[1] = buffer_data(d, w1, row->src[1]);
    in->src[2] = rp_dec_sgpr(d, bits(w1, 16, 5) * 4, row->src[2]);
    in->src[3] = rp_dec_scalar(d, bits(w1, 24, 8), row->src[3], false);
}

static bool loads_to_lds(unsigned op)
{
    switch (op) {
    case RP_OP_buffer_load_format_x:
    case RP_OP_buffer_load_ubyte:
    case RP_OP_buffer_load_sbyte:
    case RP_OP_buffer_load_ushort:
    case RP_OP_buffer_load_sshort:
    case RP_OP_buffer_load_dword:
        return true;
    case RP_OP_buffer_load_dwordx3:
    case RP_OP_buffer_load_dwordx4:
        return rp_isa_target_get() == RP_ISA_GFX950;
    default:
        return false;
    }
}

void rp_dec_mubuf(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = rp_dec_dword(d);
    if (d->bad || !rp_dec_row(d, RP_FMT_MUBUF, 0, bits(w0, 18, 7)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    bool lds = bits(w0, 16, 1);
    bool atomic = row->dst != RP_T_NONE && row->src[1] != RP_T_NONE;
    in->flags |= (bits(w0, 14, 1) ? RP_IF_SC0 : 0) | (bits(w0, 15, 1) ? RP_IF_SC1 : 0) |
                 (bits(w0, 17, 1) ? RP_IF_NT : 0);
    if (row->src[2] == RP_T_NONE)
        return; /* cache control */
    in->flags |= lds ? RP_IF_LDS : 0;
    buffer_operands(d, w0, w1);
    if (!lds && (!atomic || in->flags & RP_IF_SC0))
        in->dst = buffer_data(d, w1, row->dst);
    d->bad |= lds && !loads_to_lds(in->op);
}

void rp_dec_mtbuf(struct rp_dec *d, uint32_t w0)
{
    uint32_t w1 = rp_dec_dword(d);
    if (d->bad || !rp_dec_row(d, RP_FMT_MTBUF, 0, bits(w0, 15, 4)))
        return;
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    in->flags |= (bits(w0, 14, 1) ? RP_IF_SC0 : 0) | (bits(w1, 21, 1) ? RP_IF_SC1 : 0) |
                 (bits(w1, 22, 1) ? RP_IF_NT : 0);
    in->cbsz = (uint8_t)bits(w0, 19, 4);
    in->blgp = (uint8_t)bits(w0, 23, 3);
    buffer_operands(d, w0, w1);
    in->dst = buffer_data(d, w1, row->dst);
}
