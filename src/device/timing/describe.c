/* From a decoded instruction to what the replay engine needs of it. */
#include "describe.h"

#include "../isa/ops.h"
#include "cost.h"

static enum rp_rec_unit unit_of(const struct rp_insn *in)
{
    switch (in->fmt) {
    case RP_FMT_SOP1:
    case RP_FMT_SOP2:
    case RP_FMT_SOPC:
    case RP_FMT_SOPK:
        return in->cost_class == RP_COST_BRANCH ? RP_REC_BRANCH : RP_REC_SALU;
    case RP_FMT_SOPP:
        return in->cost_class == RP_COST_BRANCH ? RP_REC_BRANCH : RP_REC_MISC;
    case RP_FMT_SMEM:
        return RP_REC_SMEM;
    case RP_FMT_DS:
        return RP_REC_LDS;
    case RP_FMT_FLAT:
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        return RP_REC_VMEM;
    default:
        return in->cost_class >= RP_COST_MFMA_2 && in->cost_class <= RP_COST_MFMA_16 ? RP_REC_MFMA
                                                                                     : RP_REC_VALU;
    }
}

/* SIMM16 of s_waitcnt on gfx9: CDNA3 ISA guide, "S_WAITCNT". */
static void describe_wait(struct rp_rec_code *c, uint32_t simm16)
{
    c->misc = RP_REC_WAITCNT;
    c->vm = (uint8_t)((simm16 & 15) | (simm16 >> 14 & 3) << 4);
    c->exp = simm16 >> 4 & 7;
    c->lgkm = simm16 >> 8 & 15;
}

static void describe_misc(struct rp_rec_code *c, const struct rp_insn *in)
{
    const uint32_t simm16 = (uint32_t)in->offset & 0xffff;
    switch (in->op) {
    case RP_OP_s_nop: /* that many and one more issue slots of 4 clocks */
        c->misc = RP_REC_NOP;
        c->value = (uint16_t)(4 * ((simm16 & 15) + 1));
        break;
    case RP_OP_s_waitcnt:
        describe_wait(c, simm16);
        break;
    case RP_OP_s_barrier:
        c->misc = RP_REC_WAVE_BARRIER;
        break;
    case RP_OP_s_sleep: /* CDNA3 ISA guide: about 64 * SIMM16[6:0] clocks */
        c->misc = RP_REC_SLEEP;
        c->value = (uint16_t)(64 * (simm16 & 127));
        break;
    case RP_OP_s_endpgm:
    case RP_OP_s_endpgm_saved:
    case RP_OP_s_endpgm_ordered_ps_done:
        c->misc = RP_REC_END;
        break;
    default:
        break;
    }
}

static struct rp_rec_regs regs_of(const struct rp_opnd *o)
{
    struct rp_rec_regs r = {.count = o->dwords};
    switch (o->kind) {
    case RP_OPND_SGPR:
        r.first = o->index;
        break;
    case RP_OPND_VGPR:
        r.first = (uint16_t)(RP_REC_VGPR0 + o->index);
        break;
    case RP_OPND_AGPR:
        r.first = (uint16_t)(RP_REC_AGPR0 + o->index);
        break;
    default:
        r.count = 0;
        break;
    }
    if (r.first + r.count > RP_REC_FILE) /* reaches beyond the file: such code faults */
        r.count = (uint16_t)(RP_REC_FILE - r.first);
    return r;
}

static void describe_registers(struct rp_rec_code *c, const struct rp_insn *in)
{
    for (unsigned i = 0; i < 4; i++) {
        const struct rp_rec_regs r = regs_of(&in->src[i]);
        if (!r.count)
            continue;
        if (c->unit == RP_REC_MFMA && i == 2)
            c->accumulator = (uint8_t)(c->read_count + 1);
        c->read[c->read_count++] = r;
    }
    const struct rp_rec_regs dst = regs_of(&in->dst), sdst = regs_of(&in->sdst);
    if (dst.count)
        c->write[c->write_count++] = dst;
    if (sdst.count && in->fmt != RP_FMT_VOP3PX2)
        c->write[c->write_count++] = sdst;
}

struct rp_rec_code rp_rec_describe(const struct rp_insn *in, uint64_t pc)
{
    struct rp_rec_code c = {
        .pc = pc,
        .op = in->op,
        .unit = (uint8_t)unit_of(in),
        .issue_clocks = rp_cost_cycles[in->cost_class],
        .size_bytes = in->size_bytes,
        .vm = 255,
        .exp = 255,
        .lgkm = 255,
    };
    const bool flat = in->fmt == RP_FMT_FLAT && in->seg == RP_SEG_FLAT;
    c.counts_vm = c.unit == RP_REC_VMEM;
    c.counts_lgkm = c.unit == RP_REC_SMEM || c.unit == RP_REC_LDS || flat;
    c.in_order = c.unit == RP_REC_LDS;
    if (c.unit == RP_REC_MFMA) {
        c.mfma_passes = (uint8_t)(c.issue_clocks / 4);
        c.issue_clocks = 4; /* then other instructions go on beside it */
    }
    if (c.unit == RP_REC_MISC)
        describe_misc(&c, in);
    describe_registers(&c, in);
    return c;
}
