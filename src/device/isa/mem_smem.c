/* Scalar memory: loads and stores through the constant cache, clocks, cache maintenance. */
#include "mem_access.h"

/* Register numbers are 7 bits; a wide access at the top would leave the file. */
static bool sgprs_fit(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_SGPR && o->index + o->dwords <= RP_SGPR_COUNT;
}

static uint64_t smem_offset(const struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t offset = (uint64_t)(int64_t)in->offset;
    if (in->flags & RP_IF_SOFFSET_EN)
        offset += rp_opnd_u32(w, &in->src[1]);
    return offset;
}

int rp_smem_load(struct rp_wave *w, const struct rp_insn *in)
{
    /* The two low bits of the address are ignored by the hardware. */
    uint64_t va = (rp_opnd_u64(w, &in->src[2]) + smem_offset(w, in)) & ~3ull;
    uint64_t bytes = in->dst.dwords * 4ull;
    if (!sgprs_fit(&in->dst))
        return rp_fault_illegal(w, in);
    const void *p = rp_mem_at(rp_mem_of(w), va, bytes, 0);
    if (!p)
        return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, -1, va, "read of unmapped address");
    memcpy(&w->sgpr[in->dst.index], p, bytes);
    rp_counts_of(w)->read_bytes += bytes;
    return RP_STEP_NEXT;
}

int rp_smem_buffer_load(struct rp_wave *w, const struct rp_insn *in)
{
    const uint32_t *v = &w->sgpr[in->src[2].index];
    if (!sgprs_fit(&in->dst) || !sgprs_fit(&in->src[2]))
        return rp_fault_illegal(w, in);
    uint64_t base = v[0] | (uint64_t)(v[1] & 0xffff) << 32;
    uint64_t stride = v[1] >> 16 & 0x3fff;
    uint64_t limit = stride ? stride * v[2] : v[2];
    uint64_t offset = smem_offset(w, in) & ~3ull;
    uint32_t value[16] = {0};
    /* Dwords beyond the buffer read as zero. */
    for (unsigned i = 0; i < in->dst.dwords; i++) {
        uint64_t at = offset + 4 * i;
        if (at + 4 > limit || at + 4 < at)
            continue;
        const void *p = rp_mem_at(rp_mem_of(w), (base & ~3ull) + at, 4, 0);
        if (!p)
            return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, -1, base + at,
                                         "read of unmapped address");
        value[i] = rp_read32(p);
    }
    memcpy(&w->sgpr[in->dst.index], value, in->dst.dwords * 4u);
    rp_counts_of(w)->read_bytes += in->dst.dwords * 4u;
    return RP_STEP_NEXT;
}

int rp_smem_store(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t va = (rp_opnd_u64(w, &in->src[2]) + smem_offset(w, in)) & ~3ull;
    uint64_t bytes = in->src[0].dwords * 4ull;
    if (!sgprs_fit(&in->src[0]))
        return rp_fault_illegal(w, in);
    void *p = rp_mem_at(rp_mem_of(w), va, bytes, 1);
    if (!p)
        return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, -1, va,
                                     "write to unmapped or read-only address");
    memcpy(p, &w->sgpr[in->src[0].index], bytes);
    rp_counts_of(w)->write_bytes += bytes;
    return RP_STEP_NEXT;
}

int rp_smem_memtime(struct rp_wave *w, const struct rp_insn *in)
{
    if (!sgprs_fit(&in->dst))
        return rp_fault_illegal(w, in);
    rp_sgpr64_set(w, in->dst.index, rp_wave_memtime_cycles(w));
    return RP_STEP_NEXT;
}

int rp_smem_memrealtime(struct rp_wave *w, const struct rp_insn *in)
{
    if (!sgprs_fit(&in->dst))
        return rp_fault_illegal(w, in);
    rp_sgpr64_set(w, in->dst.index, rp_wave_clock_ticks(w));
    return RP_STEP_NEXT;
}

/* Memory is coherent here: nothing to invalidate or write back. */
int rp_smem_nop(struct rp_wave *w, const struct rp_insn *in)
{
    (void)w;
    (void)in;
    return RP_STEP_NEXT;
}
