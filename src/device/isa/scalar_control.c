/* This file has program control: branches, calls, messages, barriers, hardware registers, VGPR
 * index mode. On entry wave->pc is the address behind the instruction.
 */
#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"

#define HANDLER(name) int name(struct rp_wave *w, const struct rp_insn *in)

/* ---- jumps ---- */

/* Branch offsets count dwords from the next instruction. */
static int branch_if(struct rp_wave *w, const struct rp_insn *in, bool taken)
{
    if (taken)
        w->pc += (uint64_t)((int64_t)in->offset * 4);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_branch)
{
    return branch_if(w, in, true);
}

HANDLER(rp_s_cbranch_scc0)
{
    return branch_if(w, in, !w->scc);
}

HANDLER(rp_s_cbranch_scc1)
{
    return branch_if(w, in, w->scc);
}

HANDLER(rp_s_cbranch_vccz)
{
    return branch_if(w, in, RP_VCC(w) == 0);
}

HANDLER(rp_s_cbranch_vccnz)
{
    return branch_if(w, in, RP_VCC(w) != 0);
}

HANDLER(rp_s_cbranch_execz)
{
    return branch_if(w, in, RP_EXEC(w) == 0);
}

HANDLER(rp_s_cbranch_execnz)
{
    return branch_if(w, in, RP_EXEC(w) != 0);
}

HANDLER(rp_s_getpc_b64)
{
    rp_sgpr64_set(w, in->dst.index, w->pc);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_setpc_b64)
{
    w->pc = rp_opnd_u64(w, &in->src[0]) & ~3ull;
    return RP_STEP_NEXT;
}

HANDLER(rp_s_swappc_b64)
{
    /* It is read first because it may be dst. */
    const uint64_t target = rp_opnd_u64(w, &in->src[0]) & ~3ull;
    rp_sgpr64_set(w, in->dst.index, w->pc);
    w->pc = target;
    return RP_STEP_NEXT;
}

HANDLER(rp_s_call_b64)
{
    rp_sgpr64_set(w, in->dst.index, w->pc);
    return branch_if(w, in, true);
}

/* Forks are an older way to diverge. The side with fewer lanes runs first; the other one is pushed
 * on a stack of four SGPRs per entry, with EXEC below the address, which MODE.CSP counts. join
 * pops it.
 */
static void fork_at(struct rp_wave *w, uint64_t condition, uint64_t target)
{
    const uint64_t exec = RP_EXEC(w), pass = condition & exec, fail = ~condition & exec;
    const unsigned csp = w->mode >> RP_MODE_CSP_SHIFT;
    const bool fail_first = __builtin_popcountll(fail) < __builtin_popcountll(pass);
    if (pass == exec || fail == exec) {
        w->pc = pass == exec ? target : w->pc;
        return;
    }
    rp_sgpr64_set(w, 4 * csp, fail_first ? pass : fail);
    rp_sgpr64_set(w, 4 * csp + 2, fail_first ? target : w->pc);
    rp_sgpr64_set(w, RP_SGPR_EXEC_LO, fail_first ? fail : pass);
    w->mode += 1u << RP_MODE_CSP_SHIFT; /* The field has three bits, which wrap. */
    if (!fail_first)
        w->pc = target;
}

HANDLER(rp_s_cbranch_g_fork)
{
    fork_at(w, rp_opnd_u64(w, &in->src[0]), rp_opnd_u64(w, &in->src[1]) & ~3ull);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_cbranch_i_fork)
{
    fork_at(w, rp_opnd_u64(w, &in->src[0]), w->pc + (uint64_t)((int64_t)in->offset * 4));
    return RP_STEP_NEXT;
}

HANDLER(rp_s_cbranch_join)
{
    unsigned csp = w->mode >> RP_MODE_CSP_SHIFT;
    if (csp == rp_opnd_u32(w, &in->src[0]))
        return RP_STEP_NEXT;
    w->mode -= 1u << RP_MODE_CSP_SHIFT;
    csp = w->mode >> RP_MODE_CSP_SHIFT;
    w->pc = rp_sgpr64(w, 4 * csp + 2) & ~3ull;
    rp_sgpr64_set(w, RP_SGPR_EXEC_LO, rp_sgpr64(w, 4 * csp));
    return RP_STEP_NEXT;
}

/* ---- scheduling ---- */

/* Priorities, trace hints and cache hints come here too, because a program cannot see an effect of
 * them.
 */
HANDLER(rp_s_nop)
{
    (void)w;
    (void)in;
    return RP_STEP_NEXT;
}

/* The run loop compares code with memory again before it executes the next instruction. */
HANDLER(rp_s_icache_inv)
{
    (void)w;
    (void)in;
    return RP_STEP_REFETCH;
}

/* Memory completes in order here, so there is nothing to wait for. But where hardware waits for
 * the first time after a barrier, all waves have issued their loads before one goes on and stores.
 * Programs (block reductions that use the same LDS twice) rely on that without a second barrier.
 */
HANDLER(rp_s_waitcnt)
{
    (void)in;
    if (!w->past_barrier)
        return RP_STEP_NEXT;
    w->past_barrier = false;
    return RP_STEP_PAUSE;
}

HANDLER(rp_s_endpgm)
{
    (void)w;
    (void)in;
    return RP_STEP_END;
}

HANDLER(rp_s_barrier)
{
    (void)w;
    (void)in;
    return RP_STEP_BARRIER;
}

/* Sleeps about 64 clocks per unit of the 7-bit operand (ISA guide, S_SLEEP). */
HANDLER(rp_s_sleep)
{
    w->cycles += 64u * ((unsigned)in->offset & 0x7f);
    return RP_STEP_YIELD;
}

/* Bit 0 set kills the wave for debugging the host's kill command, of which nothing is written. */
HANDLER(rp_s_setkill)
{
    if (in->offset & 1)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "killing a wave is not supported");
    return RP_STEP_NEXT;
}

/* Halt bit 0 clear is a no-op; set stops the wave until a debugger resumes it, which nobody can. */
HANDLER(rp_s_sethalt)
{
    if (in->offset & 1)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "halting a wave is not supported");
    return RP_STEP_NEXT;
}

/* The trap ids are those of the AMDHSA trap handler ABI (LLVM, AMDGPUUsage): 2 is llvm.trap
 * (abort, assert); 3 is llvm.debugtrap, from which the wave goes on at once when there is no
 * debugger, as here.
 */
HANDLER(rp_s_trap)
{
    /* The numbers are those of LLVM's AMDGPU guide, trap handler ABI. */
    enum { TRAP_PROGRAM = 2, TRAP_DEBUG = 3 };
    if (((unsigned)in->offset & 0xff) == TRAP_DEBUG)
        return RP_STEP_NEXT;
    if (((unsigned)in->offset & 0xff) == TRAP_PROGRAM)
        return rp_wave_fault(w, in, RP_FAULT_TRAP, "the program stopped itself (assert, abort)");
    return rp_wave_fault(w, in, RP_FAULT_TRAP, "trap %u", (unsigned)in->offset & 0xff);
}

/* The message ids are those of the ISA guide: 1 is interrupt, 4 is save wave. */
HANDLER(rp_s_sendmsg)
{
    enum { MSG_INTERRUPT = 1 };
    if ((in->offset & 15) != MSG_INTERRUPT)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "only MSG_INTERRUPT is supported");
    w->group->env->services->interrupt(w, w->sgpr[RP_SGPR_M0]);
    return RP_STEP_NEXT;
}

/* ---- VGPR index mode: index in M0[7:0], enables in M0[15:12] ---- */

static void turn_gpr_idx(struct rp_wave *w, bool on)
{
    w->gpr_idx = (w->gpr_idx & (RP_VALU_MODE | RP_VALU_SKIP)) |
                 (on ? RP_VALU_INDEX | (w->sgpr[RP_SGPR_M0] & 0xf0ffu) : 0);
}

static void set_gpr_idx(struct rp_wave *w, uint32_t index, uint32_t enables, bool on)
{
    uint32_t *m0 = &w->sgpr[RP_SGPR_M0];
    *m0 = (*m0 & ~0xf0ffu) | (index & 0xff) | (enables & 15) << 12;
    turn_gpr_idx(w, on);
}

HANDLER(rp_s_set_gpr_idx_on)
{
    set_gpr_idx(w, rp_opnd_u32(w, &in->src[0]), (uint32_t)in->src[1].imm, true);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_set_gpr_idx_idx)
{
    set_gpr_idx(w, rp_opnd_u32(w, &in->src[0]), w->sgpr[RP_SGPR_M0] >> 12,
                w->gpr_idx & RP_VALU_INDEX);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_set_gpr_idx_mode)
{
    set_gpr_idx(w, w->sgpr[RP_SGPR_M0], (uint32_t)in->offset, w->gpr_idx & RP_VALU_INDEX);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_set_gpr_idx_off)
{
    (void)in;
    turn_gpr_idx(w, false);
    return RP_STEP_NEXT;
}

/* While VSKIP is on, no vector instruction does anything. */
static void turn_vskip(struct rp_wave *w, bool on)
{
    const bool was_on = w->gpr_idx & RP_VALU_SKIP;
    if (on == was_on)
        return;
    w->gpr_idx ^= RP_VALU_SKIP;
    /* Without registers, an instruction that names one takes the run loop's way out, which checks
     * VSKIP.
     */
    if (on) {
        w->skip_vgpr_count = w->vgpr_count;
        w->skip_agpr_count = w->agpr_count;
    }
    w->vgpr_count = on ? 0 : w->skip_vgpr_count;
    w->agpr_count = on ? 0 : w->skip_agpr_count;
}

HANDLER(rp_s_setvskip)
{
    turn_vskip(w, rp_opnd_u32(w, &in->src[0]) >> (rp_opnd_u32(w, &in->src[1]) & 31) & 1);
    return RP_STEP_NEXT;
}

/* ---- hardware registers ---- */

/* Ids and layouts are those of the CDNA3 ISA guide, "hardware registers" and "state registers". */
enum {
    HWREG_MODE = 1,
    HWREG_STATUS = 2,
    HWREG_TRAPSTS = 3,
    HWREG_HW_ID = 4,
    HWREG_GPR_ALLOC = 5,
    HWREG_LDS_ALLOC = 6,
    HWREG_IB_STS = 7,
    HWREG_SH_MEM_BASES = 15,
    HWREG_XCC_ID = 20,
};

enum {
    MODE_GPR_IDX_EN = 1u << 27,
    MODE_VSKIP = 1u << 28,
    /* Traps on float exceptions (20:12) and single steps (11) need a trap handler. */
    MODE_TRAPS = 0x1ff800,
};

static uint32_t status_register(const struct rp_wave *w)
{
    return w->scc | (uint32_t)(RP_EXEC(w) == 0) << 9 | (uint32_t)(RP_VCC(w) == 0) << 10 |
           (uint32_t)(w->group->wave_count > 1) << 11 /* IN_TG */ | 1u << 16 /* VALID */;
}

/* Reads a hardware register. @return false when the register is not modelled */
static bool read_hwreg(const struct rp_wave *w, unsigned id, uint32_t *ret)
{
    const struct rp_exec_host *host;
    switch (id) {
    case HWREG_MODE:
        *ret = w->mode | (w->gpr_idx & RP_VALU_INDEX ? MODE_GPR_IDX_EN : 0) |
               (w->gpr_idx & RP_VALU_SKIP ? MODE_VSKIP : 0);
        return true;
    case HWREG_STATUS:
        *ret = status_register(w);
        return true;
    case HWREG_TRAPSTS:
    case HWREG_IB_STS: /* Every counter has drained. */
        *ret = 0;
        return true;
    case HWREG_HW_ID: /* The wave slot is in [3:0] and the SIMD in [5:4]. */
        *ret = (w->id_in_group / 4 & 15) | (w->id_in_group & 3) << 4;
        return true;
    case HWREG_SH_MEM_BASES: /* These are bits 63:48 of the two apertures. */
        host = rp_wave_host(w);
        *ret = (uint32_t)(host->scratch_aperture >> 48) | (uint32_t)(host->lds_aperture >> 48)
                                                              << 16;
        return true;
    case HWREG_XCC_ID:
        *ret = w->group->env->services->xcc(w);
        return true;
    default:
        return false;
    }
}

static uint32_t field_mask(unsigned width)
{
    return width >= 32 ? ~0u : (1u << width) - 1;
}

HANDLER(rp_s_getreg_b32)
{
    const unsigned id = in->offset & 63, low = in->offset >> 6 & 31;
    const unsigned width = (in->offset >> 11 & 31) + 1;
    uint32_t value;
    if (!read_hwreg(w, id, &value))
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "hardware register %u is not modelled",
                             id);
    w->sgpr[in->dst.index] = value >> low & field_mask(width);
    return RP_STEP_NEXT;
}

HANDLER(rp_s_setreg_b32)
{
    const unsigned id = in->offset & 63, low = in->offset >> 6 & 31;
    const uint32_t mask = field_mask((in->offset >> 11 & 31) + 1) << low;
    if (id != HWREG_MODE)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED,
                             "hardware register %u cannot be written", id);
    const uint32_t value = (w->mode & ~mask) | ((rp_opnd_u32(w, &in->src[0]) << low) & mask);
    if (value & MODE_TRAPS)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED,
                             "MODE 0x%x: traps on float exceptions and debugging are not supported",
                             value);
    rp_wave_set_mode(w, value & ~(uint32_t)(MODE_GPR_IDX_EN | MODE_VSKIP));
    if (mask & MODE_GPR_IDX_EN)
        turn_gpr_idx(w, value & MODE_GPR_IDX_EN);
    if (mask & MODE_VSKIP)
        turn_vskip(w, value & MODE_VSKIP);
    return RP_STEP_NEXT;
}
