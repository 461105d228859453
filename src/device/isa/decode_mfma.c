/* Operands of matrix instructions and of the accumulation registers' moves. */
#include "decode.h"

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
    bool acc_cd = bits(w0, 15, 1);
    in->cbsz = (uint8_t)bits(w0, 8, 3);
    in->abid = (uint8_t)bits(w0, 11, 4);
    in->blgp = (uint8_t)bits(w1, 29, 3);
    in->dst = rp_dec_vector(d, acc_cd, bits(w0, 0, 8), row->dst);
    for (unsigned i = 0; i < 3; i++) {
        unsigned enc = bits(w1, 9 * i, 9);
        bool smfmac_index = i == 2 && row->src[2] == RP_T_B32; /* always a VGPR */
        bool acc = i < 2 ? bits(w1, 27 + i, 1) : acc_cd && !smfmac_index;
        d->bad |= enc < SRC_VGPR && (i < 2 || smfmac_index);
        in->src[i] = enc >= SRC_VGPR ? rp_dec_vector(d, acc, enc - SRC_VGPR, row->src[i])
                                     : rp_dec_scalar(d, enc, row->src[i], false);
    }
    if (in->src[2].kind == RP_OPND_SGPR || in->src[2].kind == RP_OPND_SPECIAL)
        d->bad = true; /* the accumulator is registers or an inline constant */
}
