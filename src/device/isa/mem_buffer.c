/*
 * MUBUF: loads and stores through a buffer resource (V#), untyped, and cache maintenance.
 * CDNA3 ISA guide, "Buffer addressing" and "Range checking".
 */
#include "mem_private.h"

/* The fields of a V# that matter here. */
struct resource {
    uint64_t base;
    uint32_t stride;
    uint32_t num_records; /**< bytes when stride is 0, else records */
    bool swizzled;
    bool add_tid;
};

static struct resource resource_of(const struct rp_wave *w, const struct rp_opnd *o)
{
    const uint32_t *v = &w->sgpr[o->index];
    return (struct resource){
        .base = v[0] | (uint64_t)(v[1] & 0xffff) << 32,
        .stride = v[1] >> 16 & 0x3fff,
        .num_records = v[2],
        .swizzled = v[1] >> 31,
        .add_tid = v[3] >> 23 & 1,
    };
}

/*
 * Raw buffers (no stride) are checked by byte offset without the scalar offset, structured ones
 * by record index. */
static bool in_range(const struct resource *r, uint64_t index, uint64_t offset, uint32_t soffset,
                     unsigned bytes)
{
    if (r->stride)
        return index < r->num_records;
    return r->num_records >= soffset && offset + bytes <= r->num_records - soffset;
}

int rp_buffer_addresses(struct rp_wave *w, const struct rp_insn *in, unsigned bytes,
                        uint64_t ret_va[RP_LANES], uint64_t *ret_inside)
{
    uint64_t exec = RP_EXEC(w), inside = 0;
    if (in->src[2].kind != RP_OPND_SGPR || in->src[2].index + 4 > RP_SGPR_COUNT)
        return rp_fault_illegal(w, in);
    struct resource r = resource_of(w, &in->src[2]);
    if (r.swizzled)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "swizzled buffer resource");
    if (in->flags & RP_IF_LDS)
        return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "buffer load to LDS");
    uint32_t soffset = rp_opnd_u32(w, &in->src[3]);
    bool idxen = in->flags & RP_IF_IDXEN, offen = in->flags & RP_IF_OFFEN;
    const rp_row *v = idxen || offen ? rp_rows(w, &in->src[0]) : NULL;
    RP_FOR_LANES(lane, exec)
    {
        uint64_t index = idxen ? v[0][lane] : 0;
        uint64_t offset = (uint64_t)(uint32_t)in->offset + (offen ? v[idxen][lane] : 0);
        if (r.add_tid)
            index += lane;
        ret_va[lane] = r.base + soffset + offset + index * r.stride;
        if (in_range(&r, index, offset, soffset, bytes))
            inside |= 1ull << lane;
    }
    *ret_inside = inside;
    return RP_STEP_NEXT;
}

/* Wide accesses to raw buffers are checked dword by dword; here `part` is one such piece. */
RP_INLINE int buffer_load(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    static const uint8_t zero[4];
    uint64_t exec = RP_EXEC(w), vas[RP_LANES], inside;
    rp_row *d = rp_rows(w, &in->dst);
    rp_row value[4];
    for (unsigned p = 0; p < parts; p++) {
        int step = rp_buffer_addresses(w, in, rp_elem_bytes(piece) + 4 * p, vas, &inside);
        if (step)
            return step;
        memcpy(value[p], d[p], sizeof value[p]);
        RP_FOR_LANES(lane, exec)
        {
            const void *at = zero;
            if (inside >> lane & 1)
                at = rp_mem_at(rp_mem_of(w), vas[lane] + 4 * p, rp_elem_bytes(piece), 0);
            if (!at)
                return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, vas[lane] + 4 * p,
                                             "read of unmapped address");
            rp_elem_load(piece, &value[p], lane, at);
        }
    }
    memcpy(d, value, parts * sizeof value[0]);
    rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    return RP_STEP_NEXT;
}

RP_INLINE int buffer_store(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    uint64_t exec = RP_EXEC(w), vas[RP_LANES], inside;
    rp_row *s = rp_rows(w, &in->src[1]);
    for (unsigned p = 0; p < parts; p++) {
        int step = rp_buffer_addresses(w, in, rp_elem_bytes(piece) + 4 * p, vas, &inside);
        if (step)
            return step;
        RP_FOR_LANES(lane, exec & inside)
        {
            void *at = rp_mem_at(rp_mem_of(w), vas[lane] + 4 * p, rp_elem_bytes(piece), 1);
            if (!at)
                return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, vas[lane] + 4 * p,
                                             "write to unmapped or read-only address");
            rp_elem_store(piece, s + p, lane, at);
        }
    }
    rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    return RP_STEP_NEXT;
}

#define LOAD(name, elem)                                                                           \
    int rp_buffer_load_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return buffer_load(w, in, RP_ELEM_##elem);                                                 \
    }
RP_LOAD_FORMS(LOAD)
LOAD(b16_d16, B16_D16)
LOAD(b16_d16_hi, B16_D16_HI)

#define STORE(name, elem)                                                                          \
    int rp_buffer_store_##name(struct rp_wave *w, const struct rp_insn *in)                        \
    {                                                                                              \
        return buffer_store(w, in, RP_ELEM_##elem);                                                \
    }
RP_STORE_FORMS(STORE)

/* Memory is coherent here: nothing to write back or invalidate. */
int rp_buffer_nop(struct rp_wave *w, const struct rp_insn *in)
{
    (void)w;
    (void)in;
    return RP_STEP_NEXT;
}
