/* Scalar operand values, and the handlers of instructions that cannot execute. */
#include "../exec/wave_host.h"
#include "ops.h"

uint64_t rp_opnd_scalar_slow(const struct rp_wave *wave, const struct rp_opnd *o)
{
    switch (o->kind) {
    case RP_OPND_SGPR:
        return o->dwords > 1 ? rp_sgpr64(wave, o->index) : wave->sgpr[o->index];
    case RP_OPND_CONST:
        return o->imm;
    case RP_OPND_SPECIAL:
        break;
    default:
        return 0;
    }
    const struct rp_exec_host *host = rp_wave_host(wave);
    switch (o->index) { /* operand encodings of the ISA guide's scalar source table */
    case 235:           /* src_shared_base: as one dword it is the aperture's high half */
        return o->dwords > 1 ? host->lds_aperture : host->lds_aperture >> 32;
    case 236: /* src_shared_limit: apertures are 4 GiB */
        return o->dwords > 1 ? host->lds_aperture | 0xffffffffu : host->lds_aperture >> 32;
    case 237:
        return o->dwords > 1 ? host->scratch_aperture : host->scratch_aperture >> 32;
    case 238:
        return o->dwords > 1 ? host->scratch_aperture | 0xffffffffu : host->scratch_aperture >> 32;
    case 251:
        return RP_VCC(wave) == 0;
    case 252:
        return RP_EXEC(wave) == 0;
    case 253:
        return wave->scc;
    default: /* the decoder gives instructions with the others the operand fault handler */
        return 0;
    }
}

int rp_fault_unimplemented(struct rp_wave *wave, const struct rp_insn *in)
{
    return rp_wave_fault(wave, in, RP_FAULT_UNIMPLEMENTED, "this instruction is not implemented");
}

int rp_fault_operand(struct rp_wave *wave, const struct rp_insn *in)
{
    return rp_wave_fault(wave, in, RP_FAULT_UNIMPLEMENTED,
                         "an operand or modifier of this instruction is not supported");
}

int rp_fault_illegal(struct rp_wave *wave, const struct rp_insn *in)
{
    return rp_wave_fault(wave, in, RP_FAULT_ILLEGAL_OPCODE,
                         "0x%08x is no %s instruction known here", in->raw[0],
                         rp_isa_target_name());
}
