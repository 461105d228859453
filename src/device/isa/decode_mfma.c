/* Operands of matrix instructions and of the accumulation registers' moves. */
#include "decode.h"

/* CBSZ and BLGP say the format of A and B in the instructions that take any: 0 and 1 have 8 bits, 2
 * and 3 six, 4 has four. */
static unsigned matrix_type(const struct rp_insn *in, unsigned i)
{
    static const uint8_t types[] = {RP_T_B256, RP_T_B256, RP_T_B192, RP_T_B192, RP_T_B128};
    const unsigned format = i == 0 ? in->cbsz : in->blgp;
    if (!rp_mfma_any_format(in->op))
        return rp_op_rows[in->op].src[i];
    return format < sizeof types ? types[format] : types[0];
}

static void matrices(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    const bool acc_cd = bits(w0, 15, 1);
    in->cbsz = (uint8_t)bits(w0, 8, 3);
    in->abid = (uint8_t)bits(w0, 11, 4);
    in->blgp = (uint8_t)bits(w1, 29, 3);
    in->dst = rp_dec_vector(d, acc_cd, bits(w0, 0, 8), row->dst);
    for (unsigned i = 0; i < 3; i++) {
        unsigned enc = bits(w1, 9 * i, 9);
        const unsigned type = i < 2 ? matrix_type(in, i) : row->src[2];
        bool smfmac_index = i == 2 && row->src[2] == RP_T_B32; /* always a VGPR */
        bool acc = i < 2 ? bits(w1, 27 + i, 1) : acc_cd && !smfmac_index;
        d->bad |= enc < SRC_VGPR && (i < 2 || smfmac_index);
        in->src[i] = enc >= SRC_VGPR ? rp_dec_vector(d, acc, enc - SRC_VGPR, type)
                                     : rp_dec_scalar(d, enc, type, false);
    }
    if (in->src[2].kind == RP_OPND_SGPR || in->src[2].kind == RP_OPND_SPECIAL)
        d->bad = true; /* the accumulator is registers or an inline constant */
}

void rp_dec_mfma(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const struct rp_op_row *row = d->row;
    struct rp_insn *in = d->in;
    if (in->op == RP_OP_v_accvgpr_read_b32 || in->op == RP_OP_v_accvgpr_write_b32) {
        bool write = in->op == RP_OP_v_accvgpr_write_b32;
        unsigned enc = bits(w1, 0, 9);
        in->dst = rp_dec_vector(d, write, bits(w0, 0, 8), row->dst);
        d->bad |= !write && enc < SRC_VGPR;
        in->src[0] = write ? rp_dec_source(d, enc, row->src[0], false)
                           : rp_dec_vector(d, true, enc & 0xff, row->src[0]);
        return;
    }
    matrices(d, w0, w1);
}

/* The scales of A and B: one register each, of which op_sel and op_sel_hi name a byte. */
void rp_dec_mfma_scaled(struct rp_dec *d, uint32_t w0, uint32_t w1)
{
    const uint32_t w2 = rp_dec_dword(d), w3 = rp_dec_dword(d);
    struct rp_insn *in = d->in;
    if (d->bad || w2 >> 23 != w0 >> 23 || !rp_dec_row(d, RP_FMT_VOP3PX2, 0, bits(w2, 16, 7))) {
        d->bad = true;
        return;
    }
    d->bad |= !bits(w1, 8, 1) || !bits(w1, 17, 1); /* vector registers only */
    in->src[3] = rp_dec_vgpr(d, bits(w1, 0, 8), RP_T_B32);
    in->sdst = rp_dec_vgpr(d, bits(w1, 9, 8), RP_T_B32);
    in->op_sel = (uint8_t)bits(w0, 11, 2);
    in->op_sel_hi = (uint8_t)bits(w1, 27, 2);
    matrices(d, w2, w3);
}
