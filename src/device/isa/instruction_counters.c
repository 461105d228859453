/* Hardware counters tell classes of instructions apart. The classes follow from a row's format,
 * types and cost, and from the words of its mnemonic, which are AMD's names of operation and type.
 * arch/hardware_counters.def says which real counters they were compared with.
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/isa/instruction.h"

/* This says where an instruction is issued to. */
enum unit {
    UNIT_INTERNAL, /**< s_waitcnt, s_nop, s_barrier ...: no unit's */
    UNIT_SALU,
    UNIT_SMEM,
    UNIT_VALU,
    UNIT_FLAT, /**< FLAT, GLOBAL and SCRATCH */
    UNIT_BUFFER,
    UNIT_LDS,
    UNIT_GDS,
    UNIT_BRANCH,
    UNIT_MESSAGE, /**< s_sendmsg, s_endpgm */
};

enum { QUAD = 4 /* cycles: what a unit takes for a wave of 64 lanes on 16 */ };

/* Tests whether the mnemonic begins with one of the words. */
static bool begins(const char *mnemonic, const char *const *words)
{
    for (; *words; words++)
        if (!strncmp(mnemonic, *words, strlen(*words)))
            return true;
    return false;
}

static enum rp_access insn_access(const struct rp_insn *in)
{
    const uint8_t access = rp_op_rows[in->op].access;
    return access == RP_ACCESS_CMPSWAP ? RP_ACCESS_ATOMIC : (enum rp_access)access;
}

static enum unit sopp_unit(const struct rp_insn *in)
{
    static const char *const messages[] = {"s_sendmsg", "s_endpgm", NULL};
    const char *mnemonic = rp_isa_mnemonic(in->op);

    if (in->cost_class == RP_COST_BRANCH)
        return UNIT_BRANCH;
    return begins(mnemonic, messages) ? UNIT_MESSAGE : UNIT_INTERNAL;
}

static enum unit insn_unit(const struct rp_insn *in)
{
    switch (in->fmt) {
    case RP_FMT_SOP1:
    case RP_FMT_SOP2:
    case RP_FMT_SOPC:
    case RP_FMT_SOPK:
        return in->cost_class == RP_COST_BRANCH ? UNIT_BRANCH : UNIT_SALU;
    case RP_FMT_SOPP:
        return sopp_unit(in);
    case RP_FMT_SMEM:
        return UNIT_SMEM;
    case RP_FMT_DS:
        return in->flags & RP_IF_GDS ? UNIT_GDS : UNIT_LDS;
    case RP_FMT_FLAT:
        return UNIT_FLAT;
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        return UNIT_BUFFER;
    case RP_FMT_INVALID:
        return UNIT_INTERNAL;
    default:
        return UNIT_VALU;
    }
}

/* ---- vector ALU ---- */

/* Returns the first type in the mnemonic: "v_mad_u64_u32" is u64, "v_lshlrev_b64" none of these. */
static const char *first_type(const char *mnemonic)
{
    for (const char *at = strchr(mnemonic, '_'); at; at = strchr(at + 1, '_'))
        if ((at[1] == 'f' || at[1] == 'i' || at[1] == 'u') && isdigit((unsigned char)at[2]))
            return at + 1;
    return "";
}

static int float_counter(const char *mnemonic, const char *type, uint8_t cost)
{
    static const char *const adds[] = {"v_add_", "v_sub_", "v_subrev_", "v_pk_add_", NULL};
    static const char *const muls[] = {"v_mul_", "v_pk_mul_", NULL};
    static const char *const fmas[] = {"v_fma_",    "v_fmac_",   "v_fmaak_",    "v_fmamk_",
                                       "v_mad_",    "v_mac_",    "v_madak_",    "v_madmk_",
                                       "v_pk_fma_", "v_pk_fmac", "v_div_fmas_", NULL};
    static const int counters[4][3] = {
        {RP_COUNTER_SQ_INSTS_VALU_ADD_F16, RP_COUNTER_SQ_INSTS_VALU_ADD_F32,
         RP_COUNTER_SQ_INSTS_VALU_ADD_F64},
        {RP_COUNTER_SQ_INSTS_VALU_MUL_F16, RP_COUNTER_SQ_INSTS_VALU_MUL_F32,
         RP_COUNTER_SQ_INSTS_VALU_MUL_F64},
        {RP_COUNTER_SQ_INSTS_VALU_FMA_F16, RP_COUNTER_SQ_INSTS_VALU_FMA_F32,
         RP_COUNTER_SQ_INSTS_VALU_FMA_F64},
        {RP_COUNTER_SQ_INSTS_VALU_TRANS_F16, RP_COUNTER_SQ_INSTS_VALU_TRANS_F32,
         RP_COUNTER_SQ_INSTS_VALU_TRANS_F64},
    };
    const int size = !strncmp(type, "f16", 3)   ? 0
                     : !strncmp(type, "f32", 3) ? 1
                     : !strncmp(type, "f64", 3) ? 2
                                                : -1;

    if (size < 0)
        return -1;
    if (begins(mnemonic, adds))
        return counters[0][size];
    if (begins(mnemonic, muls))
        return counters[1][size];
    if (begins(mnemonic, fmas))
        return counters[2][size];
    return cost == RP_COST_TRANS || cost == RP_COST_TRANS_DP ? counters[3][size] : -1;
}

/* Returns -1 when none of the counters by operation and type counts it. */
static int alu_counter(const struct rp_insn *in)
{
    static const char *const conversions[] = {"v_cvt_", NULL};
    static const char *const transcendental[] = {"v_exp_", "v_log_", "v_rcp_",  "v_rsq_",
                                                 "v_sin_", "v_cos_", "v_sqrt_", NULL};
    const char *mnemonic = rp_isa_mnemonic(in->op), *type = first_type(mnemonic);

    if (begins(mnemonic, conversions))
        return RP_COUNTER_SQ_INSTS_VALU_CVT;
    if (*type == 'f')
        return float_counter(mnemonic, type,
                             begins(mnemonic, transcendental) ? (uint8_t)RP_COST_TRANS
                                                              : (uint8_t)RP_COST_VALU);
    if (*type && !strncmp(type + 1, "32", 2))
        return RP_COUNTER_SQ_INSTS_VALU_INT32;
    if (*type && !strncmp(type + 1, "64", 2))
        return RP_COUNTER_SQ_INSTS_VALU_INT64;
    return -1;
}

/* ---- matrix instructions ---- */

static bool is_matrix(const struct rp_insn *in)
{
    return in->cost_class >= RP_COST_MFMA_2 && in->cost_class <= RP_COST_MFMA_16;
}

/* Reads the shape of a name like "f32_16x16x4_4b_f16", behind which the operand type stands. */
static const char *matrix_shape(const char *mnemonic, unsigned ret_mnk[3])
{
    const char *at = strchr(mnemonic, 'x');
    int length = 0;

    while (at && at > mnemonic && isdigit((unsigned char)at[-1]))
        at--;
    if (!at || sscanf(at, "%ux%ux%u%n", &ret_mnk[0], &ret_mnk[1], &ret_mnk[2], &length) != 3)
        return NULL;
    return at + length;
}

struct matrix_counters {
    const char *word;
    int insts, mops;
};

static const struct matrix_counters *matrix_counters(const char *types)
{
    /* They are in the order of search: "bf16" comes before "f16", and "xf32" is counted as f32. */
    static const struct matrix_counters all[] = {
        {"f8f6f4", RP_COUNTER_SQ_INSTS_VALU_MFMA_F6F4, RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F6F4},
        {"bf16", RP_COUNTER_SQ_INSTS_VALU_MFMA_BF16, RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_BF16},
        {"f16", RP_COUNTER_SQ_INSTS_VALU_MFMA_F16, RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F16},
        {"f32", RP_COUNTER_SQ_INSTS_VALU_MFMA_F32, RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F32},
        {"f64", RP_COUNTER_SQ_INSTS_VALU_MFMA_F64, RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F64},
        {"i8", RP_COUNTER_SQ_INSTS_VALU_MFMA_I8, RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_I8},
        {"8", RP_COUNTER_SQ_INSTS_VALU_MFMA_F8, RP_COUNTER_SQ_INSTS_VALU_MFMA_MOPS_F8},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strstr(types, all[i].word))
            return &all[i];
    return NULL;
}

/* Blocks follow from the size of the result: M * N values of each, spread over the lanes. */
static void count_matrix(const struct rp_insn *in, uint64_t times, uint64_t *values)
{
    enum { OPERATIONS = 512 /* of one count of MOPS: AMD's description of the counters */ };
    unsigned mnk[3], results;
    const char *types = matrix_shape(rp_isa_mnemonic(in->op), mnk);
    const struct matrix_counters *c = types ? matrix_counters(types) : NULL;

    values[RP_COUNTER_SQ_INSTS_MFMA] += times;
    values[RP_COUNTER_SQ_VALU_MFMA_BUSY_CYCLES] += times * in->issue_cycles;
    if (!c)
        return;
    results = in->dst.dwords * RP_LANES;
    if (c->insts == RP_COUNTER_SQ_INSTS_VALU_MFMA_F64)
        results /= 2;
    values[c->insts] += times;
    values[c->mops] += times * (2ull * results * mnk[2] / OPERATIONS);
}

/* A matrix instruction holds the issue for one quad-cycle; its passes are the matrix core's. So do
 * shifts and additions of 64 bits: the real copy has three of six (hardware_counters.def). */
static uint64_t quads_of(const struct rp_insn *in)
{
    static const char *const products[] = {"v_mul_", "v_mad_", NULL};
    const bool is_quick =
        is_matrix(in) || in->issue_cycles < QUAD ||
        (in->cost_class == RP_COST_VALU64 && !begins(rp_isa_mnemonic(in->op), products));

    return is_quick ? 1 : in->issue_cycles / QUAD;
}

static void count_valu(const struct rp_insn *in, uint64_t times, uint64_t idle_lanes,
                       uint64_t *values)
{
    const bool matrix = is_matrix(in);
    const uint64_t quads = quads_of(in);
    const int counter = matrix ? -1 : alu_counter(in);

    values[RP_COUNTER_SQ_INSTS_VALU] += times;
    values[RP_COUNTER_SQ_ACTIVE_INST_VALU] += times * quads;
    values[RP_COUNTER_SQ_ACTIVE_INST_ANY] += times * quads;
    values[RP_COUNTER_SQ_THREAD_CYCLES_VALU] += (times * RP_LANES - idle_lanes) * quads;
    if (matrix)
        count_matrix(in, times, values);
    else if (counter >= 0)
        values[counter] += times;
}

/* ---- memory ---- */

/* Counts one after the other: all, loads, stores, atomics. */
static void count_wavefronts(enum rp_access access, int first, uint64_t times, uint64_t *values)
{
    values[first] += times;
    if (access != RP_ACCESS_NONE)
        values[first + (int)access] += times;
}

static void count_vmem(const struct rp_insn *in, bool is_flat, uint64_t times, uint64_t *values)
{
    const enum rp_access access = insn_access(in);
    const bool returns = access == RP_ACCESS_ATOMIC && in->flags & RP_IF_SC0;

    _Static_assert(RP_COUNTER_TA_FLAT_ATOMIC_WAVEFRONTS - RP_COUNTER_TA_FLAT_WAVEFRONTS ==
                           RP_ACCESS_ATOMIC &&
                       RP_COUNTER_TA_BUFFER_ATOMIC_WAVEFRONTS - RP_COUNTER_TA_BUFFER_WAVEFRONTS ==
                           RP_ACCESS_ATOMIC,
                   "as in enum rp_access");
    values[RP_COUNTER_SQ_INSTS_VMEM] += times;
    values[is_flat ? RP_COUNTER_SQ_ACTIVE_INST_FLAT : RP_COUNTER_SQ_ACTIVE_INST_VMEM] += times;
    values[RP_COUNTER_SQ_ACTIVE_INST_ANY] += times;
    if (is_flat)
        values[RP_COUNTER_SQ_INSTS_FLAT] += times;
    if (access == RP_ACCESS_LOAD || returns)
        values[RP_COUNTER_SQ_INSTS_VMEM_RD] += times;
    else if (access != RP_ACCESS_NONE)
        values[RP_COUNTER_SQ_INSTS_VMEM_WR] += times;
    if (access == RP_ACCESS_NONE) /* buffer_inv and buffer_wbl2 access no memory. */
        return;
    values[RP_COUNTER_TA_TOTAL_WAVEFRONTS] += times;
    values[RP_COUNTER_TCP_TA_TCP_STATE_READ] += times;
    values[RP_COUNTER_TD_LOAD_WAVEFRONT] += times;
    count_wavefronts(access,
                     is_flat ? RP_COUNTER_TA_FLAT_WAVEFRONTS : RP_COUNTER_TA_BUFFER_WAVEFRONTS,
                     times, values);
    if (access == RP_ACCESS_STORE)
        values[RP_COUNTER_TD_STORE_WAVEFRONT] += times;
    else if (access == RP_ACCESS_ATOMIC)
        values[RP_COUNTER_TD_ATOMIC_WAVEFRONT] += times;
}

static void count_smem(const struct rp_insn *in, uint64_t times, uint64_t *values)
{
    values[RP_COUNTER_SQ_INSTS_SMEM] += times;
    values[RP_COUNTER_SQ_INST_CYCLES_SMEM] += times;
    values[RP_COUNTER_SQ_ACTIVE_INST_SCA] += times;
    values[RP_COUNTER_SQ_ACTIVE_INST_ANY] += times;
    if (insn_access(in) == RP_ACCESS_NONE) /* s_memtime and s_dcache_inv access no memory. */
        return;
    values[RP_COUNTER_SQC_DCACHE_REQ] += times;
    if (insn_access(in) != RP_ACCESS_LOAD)
        return;
    switch (in->dst.dwords) {
    case 1:
        values[RP_COUNTER_SQC_DCACHE_REQ_READ_1] += times;
        break;
    case 2:
        values[RP_COUNTER_SQC_DCACHE_REQ_READ_2] += times;
        break;
    case 4:
        values[RP_COUNTER_SQC_DCACHE_REQ_READ_4] += times;
        break;
    case 8:
        values[RP_COUNTER_SQC_DCACHE_REQ_READ_8] += times;
        break;
    case 16:
        values[RP_COUNTER_SQC_DCACHE_REQ_READ_16] += times;
        break;
    default:
        break;
    }
}

/* ---- all ---- */

static void count_on(int insts, int active, uint64_t times, uint64_t *values)
{
    values[insts] += times;
    values[active] += times;
    values[RP_COUNTER_SQ_ACTIVE_INST_ANY] += times;
}

void rp_insn_add_counters(const struct rp_insn *in, uint64_t times, uint64_t idle_lanes,
                          uint64_t *values)
{
    values[RP_COUNTER_SQ_INSTS] += times;
    switch (insn_unit(in)) {
    case UNIT_INTERNAL:
        break;
    case UNIT_SALU:
        count_on(RP_COUNTER_SQ_INSTS_SALU, RP_COUNTER_SQ_ACTIVE_INST_SCA, times, values);
        values[RP_COUNTER_SQ_INST_CYCLES_SALU] += times;
        break;
    case UNIT_SMEM:
        count_smem(in, times, values);
        break;
    case UNIT_VALU:
        count_valu(in, times, idle_lanes, values);
        break;
    case UNIT_FLAT:
        count_vmem(in, true, times, values);
        break;
    case UNIT_BUFFER:
        count_vmem(in, false, times, values);
        break;
    case UNIT_LDS:
        count_on(RP_COUNTER_SQ_INSTS_LDS, RP_COUNTER_SQ_ACTIVE_INST_LDS, times, values);
        break;
    case UNIT_GDS:
        count_on(RP_COUNTER_SQ_INSTS_GDS, RP_COUNTER_SQ_ACTIVE_INST_EXP_GDS, times, values);
        values[RP_COUNTER_SQ_INSTS_EXP_GDS] += times;
        break;
    case UNIT_BRANCH:
        count_on(RP_COUNTER_SQ_INSTS_BRANCH, RP_COUNTER_SQ_ACTIVE_INST_MISC, times, values);
        break;
    case UNIT_MESSAGE:
        count_on(RP_COUNTER_SQ_INSTS_SENDMSG, RP_COUNTER_SQ_ACTIVE_INST_MISC, times, values);
        break;
    }
}
