/* This file has scalar memory: loads and stores through the constant cache, clocks, and cache
 * maintenance (CDNA3 ISA guide, "Scalar Memory Operations"). Scalar atomics are in mem_atomic.c.
 */
#include "device/isa/mem_address.h"
#include "device/isa/wave_state.h"

static uint64_t offset_of(const struct rp_wave *w, const struct rp_insn *in, unsigned unit_bytes)
{
    uint64_t offset = (uint64_t)(int64_t)in->offset;
    if (in->flags & RP_IF_SOFFSET_EN)
        offset += (uint64_t)rp_opnd_u32(w, &in->src[1]) * unit_bytes;
    return offset;
}

uint64_t rp_smem_address(const struct rp_wave *w, const struct rp_insn *in)
{
    return (rp_opnd_u64(w, &in->src[2]) + offset_of(w, in, 1)) & ~3ull;
}

/* The register offset of s_scratch_* counts units of 64 bytes, the immediate one bytes. */
static uint64_t scratch_address(const struct rp_wave *w, const struct rp_insn *in)
{
    return (rp_opnd_u64(w, &in->src[2]) + offset_of(w, in, 64)) & ~3ull;
}

struct rp_smem_buffer rp_smem_buffer(const struct rp_wave *w, const struct rp_insn *in)
{
    const uint32_t *v = &w->sgpr[in->src[2].index];
    uint64_t base = (v[0] | (uint64_t)(v[1] & 0xffff) << 32) & ~3ull;
    uint64_t stride = v[1] >> 16 & 0x3fff;
    uint64_t offset = offset_of(w, in, 1) & ~3ull;
    return (struct rp_smem_buffer){
        .va = base + offset, .offset = offset, .limit_bytes = stride ? stride * v[2] : v[2]};
}

static int load(struct rp_wave *w, const struct rp_insn *in, uint64_t va)
{
    uint64_t bytes = in->dst.dwords * 4ull;
    if (!rp_sgprs_fit(&in->dst))
        return rp_fault_illegal(w, in);
    uint32_t split[16];
    const void *p = rp_mem_find(rp_mem_of(w), va, bytes, 0);
    if (!p && rp_mem_read_split(w, va, split, (unsigned)bytes))
        p = split;
    if (!p)
        return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, -1, va, "read of unmapped address");
    memcpy(&w->sgpr[in->dst.index], p, bytes);
    rp_counts_of(w)->read_bytes += bytes;
    return RP_STEP_NEXT;
}

static int store(struct rp_wave *w, const struct rp_insn *in, uint64_t va)
{
    uint64_t bytes = in->src[0].dwords * 4ull;
    if (!rp_sgprs_fit(&in->src[0]))
        return rp_fault_illegal(w, in);
    void *p = rp_mem_find(rp_mem_of(w), va, bytes, 1);
    if (p)
        memcpy(p, &w->sgpr[in->src[0].index], bytes);
    else if (!rp_mem_write_split(w, va, &w->sgpr[in->src[0].index], (unsigned)bytes))
        return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, -1, va,
                                     "write to unmapped or read-only address");
    rp_counts_of(w)->write_bytes += bytes;
    return RP_STEP_NEXT;
}

int rp_smem_load(struct rp_wave *w, const struct rp_insn *in)
{
    return load(w, in, rp_smem_address(w, in));
}

int rp_smem_store(struct rp_wave *w, const struct rp_insn *in)
{
    return store(w, in, rp_smem_address(w, in));
}

int rp_smem_scratch_load(struct rp_wave *w, const struct rp_insn *in)
{
    return load(w, in, scratch_address(w, in));
}

int rp_smem_scratch_store(struct rp_wave *w, const struct rp_insn *in)
{
    return store(w, in, scratch_address(w, in));
}

int rp_smem_buffer_load(struct rp_wave *w, const struct rp_insn *in)
{
    if (!rp_sgprs_fit(&in->dst) || !rp_sgprs_fit(&in->src[2]))
        return rp_fault_illegal(w, in);
    struct rp_smem_buffer b = rp_smem_buffer(w, in);
    uint32_t value[16] = {0};
    /* Dwords beyond the buffer read as zero. */
    for (unsigned i = 0; i < in->dst.dwords; i++) {
        if (!rp_smem_inside(&b, i))
            continue;
        const void *p = rp_mem_find(rp_mem_of(w), b.va + 4 * i, 4, 0);
        if (!p)
            return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, -1, b.va + 4 * i,
                                         "read of unmapped address");
        value[i] = rp_read32(p);
    }
    memcpy(&w->sgpr[in->dst.index], value, in->dst.dwords * 4u);
    rp_counts_of(w)->read_bytes += in->dst.dwords * 4u;
    return RP_STEP_NEXT;
}

int rp_smem_buffer_store(struct rp_wave *w, const struct rp_insn *in)
{
    if (!rp_sgprs_fit(&in->src[0]) || !rp_sgprs_fit(&in->src[2]))
        return rp_fault_illegal(w, in);
    struct rp_smem_buffer b = rp_smem_buffer(w, in);
    /* Dwords beyond the buffer are dropped. */
    for (unsigned i = 0; i < in->src[0].dwords; i++) {
        if (!rp_smem_inside(&b, i))
            continue;
        void *p = rp_mem_find(rp_mem_of(w), b.va + 4 * i, 4, 1);
        if (!p)
            return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, -1, b.va + 4 * i,
                                         "write to unmapped or read-only address");
        memcpy(p, &w->sgpr[in->src[0].index + i], 4);
    }
    rp_counts_of(w)->write_bytes += in->src[0].dwords * 4u;
    return RP_STEP_NEXT;
}

int rp_smem_memtime(struct rp_wave *w, const struct rp_insn *in)
{
    if (!rp_sgprs_fit(&in->dst))
        return rp_fault_illegal(w, in);
    const int step = w->group->env->services->read_clock(w);
    if (step == RP_STEP_NEXT)
        rp_sgpr64_set(w, in->dst.index, w->group->env->services->memtime_cycles(w));
    return step;
}

int rp_smem_memrealtime(struct rp_wave *w, const struct rp_insn *in)
{
    if (!rp_sgprs_fit(&in->dst))
        return rp_fault_illegal(w, in);
    const int step = w->group->env->services->read_clock(w);
    if (step == RP_STEP_NEXT)
        rp_sgpr64_set(w, in->dst.index, w->group->env->services->clock_ticks(w));
    return step;
}

/* Memory is coherent here, so there is nothing to invalidate, write back or prefetch. Discarding a
 * line is a hint that its bytes are no longer needed; that they were already written back is a
 * legal outcome.
 */
