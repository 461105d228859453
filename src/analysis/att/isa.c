#include "analysis/att/parts.h"

#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
#define RP_ATT_KIND(id, name) [RP_ATT_##id] = (name),
#include "rocm-perf/thread_trace_kinds.def"
#undef RP_ATT_KIND
};

static const char *const reason_names[] = {
#define RP_ATT_REASON(id, name) [RP_ATT_WAITED_##id] = (name),
#include "rocm-perf/thread_trace_reasons.def"
#undef RP_ATT_REASON
};

static const char *const sample_names[] = {
#define RP_ATT_SAMPLE(id, name) [RP_ATT_SAMPLED_##id] = (name),
#include "rocm-perf/thread_trace_samples.def"
#undef RP_ATT_SAMPLE
};

const char *rp_att_kind_name(enum rp_att_kind kind)
{
    return kind_names[kind];
}

const char *rp_att_reason_name(enum rp_att_reason reason)
{
    return reason_names[reason];
}

const char *rp_att_sample_name(enum rp_att_sample sample)
{
    return sample_names[sample];
}

/* --- kinds --------------------------------------------------------------------------------- */

/* First match counts. Kinds follow what an instruction does, not its encoding: global_ and scratch_
 * are encoded as FLAT, and the decoder of rocprofv3 calls them so. */
static const struct {
    const char *prefix;
    enum rp_att_kind kind;
} prefixes[] = {
    {"v_mfma_", RP_ATT_MFMA},
    {"v_smfmac_", RP_ATT_MFMA},
    {"v_wmma_", RP_ATT_MFMA},
    {"v_swmmac_", RP_ATT_MFMA},
    {"v_", RP_ATT_VALU},
    {"ds_", RP_ATT_LDS},
    {"flat_", RP_ATT_FLAT},
    {"global_", RP_ATT_VMEM},
    {"buffer_", RP_ATT_VMEM},
    {"tbuffer_", RP_ATT_VMEM},
    {"image_", RP_ATT_VMEM},
    {"scratch_", RP_ATT_VMEM},
    {"s_waitcnt", RP_ATT_WAIT},
    {"s_wait_", RP_ATT_WAIT},
    {"s_barrier", RP_ATT_BARRIER},
    {"s_load_", RP_ATT_SMEM},
    {"s_buffer_", RP_ATT_SMEM},
    {"s_scratch_", RP_ATT_SMEM},
    {"s_store_", RP_ATT_SMEM},
    {"s_atomic_", RP_ATT_SMEM},
    {"s_dcache_", RP_ATT_SMEM},
    {"s_gl1_", RP_ATT_SMEM},
    {"s_memtime", RP_ATT_SMEM},
    {"s_memrealtime", RP_ATT_SMEM},
    {"s_prefetch_", RP_ATT_SMEM},
    {"s_branch", RP_ATT_BRANCH},
    {"s_cbranch_", RP_ATT_BRANCH},
    {"s_setpc_", RP_ATT_BRANCH},
    {"s_swappc_", RP_ATT_BRANCH},
    {"s_call_", RP_ATT_BRANCH},
    {"s_rfe_", RP_ATT_BRANCH},
    {"s_nop", RP_ATT_OTHER},
    {"s_sleep", RP_ATT_OTHER},
    {"s_setprio", RP_ATT_OTHER},
    {"s_sethalt", RP_ATT_OTHER},
    {"s_sendmsg", RP_ATT_OTHER},
    {"s_endpgm", RP_ATT_OTHER},
    {"s_trap", RP_ATT_OTHER},
    {"s_icache_", RP_ATT_OTHER},
    {"s_inst_prefetch", RP_ATT_OTHER},
    {"s_set_inst_prefetch", RP_ATT_OTHER},
    {"s_delay_alu", RP_ATT_OTHER},
    {"s_clause", RP_ATT_OTHER},
    {"s_code_end", RP_ATT_OTHER},
    {"s_", RP_ATT_SALU},
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static enum rp_att_kind kind_of(const char *isa)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (begins(isa, prefixes[i].prefix))
            return prefixes[i].kind;
    return RP_ATT_OTHER;
}

enum rp_att_kind rp_att_kind_of_category(int64_t category)
{
    /* Order of the decoder: none, SMEM, SALU, VMEM, FLAT, LDS, VALU, jump, next, immediate,
     * context, message, BVH. */
    static const enum rp_att_kind kinds[] = {
        RP_ATT_OTHER, RP_ATT_SMEM,  RP_ATT_SALU,   RP_ATT_VMEM,   RP_ATT_FLAT,
        RP_ATT_LDS,   RP_ATT_VALU,  RP_ATT_BRANCH, RP_ATT_BRANCH, RP_ATT_OTHER,
        RP_ATT_OTHER, RP_ATT_OTHER, RP_ATT_VMEM};

    return category >= 0 && category < (int64_t)(sizeof kinds / sizeof kinds[0]) ? kinds[category]
                                                                                 : RP_ATT_OTHER;
}

/* --- waits --------------------------------------------------------------------------------- */

static void wait_for(struct rp_att_meaning *m, enum rp_att_counter counter, const char *number)
{
    m->waits[counter] = true;
    m->limit[counter] = (uint32_t)strtoul(number, NULL, 0);
}

/* "s_waitcnt vmcnt(3) lgkmcnt(0)" */
static void decode_counts(const char *isa, struct rp_att_meaning *m)
{
    const char *vm = strstr(isa, "vmcnt("), *lgkm = strstr(isa, "lgkmcnt(");

    if (vm)
        wait_for(m, RP_ATT_VM, vm + strlen("vmcnt("));
    if (lgkm)
        wait_for(m, RP_ATT_LGKM, lgkm + strlen("lgkmcnt("));
}

/* "s_waitcnt_vscnt null, 0x0" of gfx10, "s_wait_loadcnt 0x3" of gfx12 */
static void decode_one(const char *isa, struct rp_att_meaning *m)
{
    static const struct {
        const char *prefix;
        enum rp_att_counter counters[2]; /* the same twice: one */
    } waits[] = {
        {"s_waitcnt_vmcnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_waitcnt_vscnt", {RP_ATT_VS, RP_ATT_VS}},
        {"s_waitcnt_lgkmcnt", {RP_ATT_LGKM, RP_ATT_LGKM}},
        {"s_wait_loadcnt_dscnt", {RP_ATT_VM, RP_ATT_LGKM}},
        {"s_wait_storecnt_dscnt", {RP_ATT_VS, RP_ATT_LGKM}},
        {"s_wait_loadcnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_wait_samplecnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_wait_bvhcnt", {RP_ATT_VM, RP_ATT_VM}},
        {"s_wait_storecnt", {RP_ATT_VS, RP_ATT_VS}},
        {"s_wait_dscnt", {RP_ATT_LGKM, RP_ATT_LGKM}},
        {"s_wait_kmcnt", {RP_ATT_KM, RP_ATT_KM}},
    };
    const char *comma = strchr(isa, ','), *blank = strchr(isa, ' ');
    const char *number = comma ? comma + 1 : blank ? blank + 1 : "0";
    unsigned long value = strtoul(number, NULL, 0);

    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        if (!begins(isa, waits[i].prefix))
            continue;
        wait_for(m, waits[i].counters[0], number);
        if (waits[i].counters[1] != waits[i].counters[0]) {
            /* One number for both: load or store count above, DS count in the low 6 bits (RDNA4
             * ISA, S_WAIT_LOADCNT_DSCNT). */
            m->limit[waits[i].counters[0]] = (uint32_t)(value >> 8 & 63);
            m->waits[waits[i].counters[1]] = true;
            m->limit[waits[i].counters[1]] = (uint32_t)(value & 63);
        }
        return;
    }
}

static bool is_store(const char *isa)
{
    return strstr(isa, "_store") != NULL || (strstr(isa, "_atomic") && !strstr(isa, " glc") &&
                                             !strstr(isa, " sc0") && !strstr(isa, "_RETURN"));
}

void rp_att_decode(const char *isa, uint32_t gfx_ip, struct rp_att_meaning *ret)
{
    bool split = gfx_ip >= 10 && is_store(isa);

    *ret = (struct rp_att_meaning){.kind = kind_of(isa)};
    switch (ret->kind) {
    case RP_ATT_VMEM:
        ret->counts[split ? RP_ATT_VS : RP_ATT_VM] = true;
        break;
    case RP_ATT_FLAT: /* may go to memory or LDS: counted by both */
        ret->counts[split ? RP_ATT_VS : RP_ATT_VM] = true;
        ret->counts[RP_ATT_LGKM] = true;
        break;
    case RP_ATT_LDS:
        ret->counts[RP_ATT_LGKM] = true;
        break;
    case RP_ATT_SMEM:
        ret->counts[gfx_ip >= 12 ? RP_ATT_KM : RP_ATT_LGKM] = true;
        break;
    case RP_ATT_WAIT:
        if (begins(isa, "s_waitcnt ") || strcmp(isa, "s_waitcnt") == 0)
            decode_counts(isa, ret);
        else
            decode_one(isa, ret);
        break;
    default:
        ret->sleeps = begins(isa, "s_nop") || begins(isa, "s_sleep") || begins(isa, "s_setprio");
    }
}

enum rp_att_reason rp_att_reason_of(const struct rp_att_meaning *m)
{
    bool vector = m->waits[RP_ATT_VM] || m->waits[RP_ATT_VS];

    switch (m->kind) {
    case RP_ATT_VALU:
        return RP_ATT_WAITED_VALU_DEPENDENCY;
    case RP_ATT_MFMA:
        return RP_ATT_WAITED_MFMA_DEPENDENCY;
    case RP_ATT_VMEM:
    case RP_ATT_FLAT:
        return RP_ATT_WAITED_VECTOR_MEMORY_ISSUE;
    case RP_ATT_LDS:
        return RP_ATT_WAITED_LDS_ISSUE;
    case RP_ATT_SALU:
    case RP_ATT_SMEM:
        return RP_ATT_WAITED_SCALAR_ISSUE;
    case RP_ATT_BRANCH:
        return RP_ATT_WAITED_BRANCH;
    case RP_ATT_BARRIER:
        return RP_ATT_WAITED_BARRIER;
    case RP_ATT_WAIT:
        if (vector && (m->waits[RP_ATT_LGKM] || m->waits[RP_ATT_KM]))
            return RP_ATT_WAITED_MEMORY_MIXED;
        if (vector)
            return RP_ATT_WAITED_VECTOR_MEMORY;
        if (m->waits[RP_ATT_KM])
            return RP_ATT_WAITED_SCALAR_MEMORY;
        if (m->waits[RP_ATT_LGKM])
            return RP_ATT_WAITED_LDS_OR_SCALAR;
        return RP_ATT_WAITED_VALU_DEPENDENCY; /* s_waitcnt_depctr, expcnt: within the CU */
    default:
        return m->sleeps ? RP_ATT_WAITED_SLEEP : RP_ATT_WAITED_SCALAR_ISSUE;
    }
}
