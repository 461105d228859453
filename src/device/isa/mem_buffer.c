/* MUBUF: untyped loads and stores through a buffer resource, loads to LDS, cache maintenance. */
#include "mem_buffer.h"
#include "mem_private.h"

/* Loads and stores that convert: MTBUF, and the _format_ rows of MUBUF. */
static bool is_format(const struct rp_insn *in)
{
    return in->fmt == RP_FMT_MTBUF || strstr(rp_isa_mnemonic(in->op), "_format_");
}

int rp_buffer_open(struct rp_wave *w, const struct rp_insn *in, struct rp_buffer *ret)
{
    if (in->src[2].kind != RP_OPND_SGPR || in->src[2].index + 4 > RP_SGPR_COUNT)
        return rp_fault_illegal(w, in);
    const uint32_t *v = &w->sgpr[in->src[2].index];
    bool idxen = in->flags & RP_IF_IDXEN, offen = in->flags & RP_IF_OFFEN;
    bool add_tid = v[3] >> 23 & 1, swizzle = v[1] >> 31;
    const rp_row *rows = idxen || offen ? rp_rows(w, &in->src[0]) : NULL;
    struct rp_buffer b = {
        .base = v[0] | (uint64_t)(v[1] & 0xffff) << 32,
        .stride_bytes = v[1] >> 16 & 0x3fff,
        .num_records = v[2],
        .scalar_offset = rp_opnd_u32(w, &in->src[3]),
        .inst_offset = (uint32_t)in->offset,
        .index_stride = 8u << (v[3] >> 21 & 3),
        .dst_sel = v[3] & 0xfff,
        .num_format = v[3] >> 12 & 7,
        .data_format = v[3] >> 15 & 15,
        .add_lane = add_tid && (swizzle || !idxen),
        .swizzled = add_tid && swizzle,
        .unchecked = add_tid && !idxen,
        .index = idxen ? rows[0] : NULL,
        .offset = offen ? rows[idxen] : NULL,
    };
    b.private = rp_buffer_is_private(v);
    b.by_record = idxen && b.stride_bytes;
    /* The lane's number wants long strides: their upper bits are where the format would be. */
    if (b.add_lane && v[3] >> 15 & 15 && !is_format(in))
        b.stride_bytes |= (uint32_t)b.data_format << 14;
    *ret = b;
    return RP_STEP_NEXT;
}

/*
 * The lanes' places when the resource is a plain range of bytes, all active lanes are inside and
 * their memory is mapped in one piece.
 */
RP_INLINE bool map_plain(struct rp_wave *w, const struct rp_buffer *b, unsigned bytes,
                         uint64_t exec, unsigned write, struct rp_spread *ret)
{
    uint32_t low, high;
    if (b->index || !b->offset || b->add_lane || b->swizzled || !exec)
        return false;
    rp_lanes_of(w)->bounds(b->offset, exec, &low, &high);
    uint64_t last = (uint64_t)high + b->inst_offset;
    if (last > UINT32_MAX || high - low > INT32_MAX ||
        last + b->scalar_offset + bytes > b->num_records)
        return false;
    uint64_t va = b->base + b->scalar_offset + b->inst_offset + low;
    uint8_t *p = rp_mem_lanes_at(rp_mem_of(w), va, (uint64_t)high - low + bytes, write, exec);
    *ret = (struct rp_spread){.base = p, .index = b->offset, .zero = low, .last = high - low};
    return p;
}

static int unmapped(struct rp_wave *w, const struct rp_insn *in, unsigned lane, uint64_t va,
                    bool write)
{
    return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, va,
                                 write ? "write to unmapped or read-only address"
                                       : "read of unmapped address");
}

/* ---- private memory, of waves without architected flat scratch ---- */

/*
 * rp_wave.scratch is as the swizzle of the resource has it. NULL when the access leaves what the
 * lane has.
 */
RP_INLINE uint8_t *private_at(struct rp_wave *w, const struct rp_buffer *b, unsigned lane,
                              uint32_t extra, unsigned bytes)
{
    uint64_t at = rp_buffer_at(b, lane, extra) - RP_SCRATCH_BASE_VA;
    return at + bytes <= (uint64_t)w->scratch_lane_bytes * RP_LANES ? w->scratch + at : NULL;
}

/* The first of the lanes' neighbouring dwords, if all use the same offset; else NULL. */
RP_INLINE uint8_t *private_rows(struct rp_wave *w, const struct rp_buffer *b, unsigned bytes)
{
    if (b->index || bytes % 4 || b->scalar_offset % 256 || b->base % 256 ||
        (b->offset && !rp_lanes_of(w)->uniform(b->offset)) || rp_buffer_offset(b, 0) % 4 ||
        !private_at(w, b, RP_LANES - 1, bytes - 4, 4))
        return NULL;
    return private_at(w, b, 0, 0, 4);
}

RP_INLINE void merge_rows(uint32_t *to, const uint32_t *from, unsigned rows, uint64_t exec)
{
    if (exec == ~0ull) {
        memcpy(to, from, rows * sizeof(rp_row));
        return;
    }
    for (unsigned i = 0; i < rows; i++)
        RP_FOR_LANES(lane, exec)
    to[i * RP_LANES + lane] = from[i * RP_LANES + lane];
}

static int outside_private(struct rp_wave *w, const struct rp_insn *in, const struct rp_buffer *b,
                           unsigned lane, bool write)
{
    uint64_t offset =
        (b->base - RP_SCRATCH_BASE_VA + b->scalar_offset) / RP_LANES + rp_buffer_offset(b, lane);
    return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, offset,
                                 write ? "write outside the private segment"
                                       : "read outside the private segment");
}

RP_INLINE int private_load(struct rp_wave *w, const struct rp_insn *in, const struct rp_buffer *b,
                           enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    const uint64_t exec = RP_EXEC(w);
    rp_row *d = rp_rows(w, &in->dst), value[4];
    rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    const uint8_t *rows = private_rows(w, b, bytes);
    if (rows) {
        merge_rows(d[0], (const uint32_t *)(const void *)rows, parts, exec);
        return RP_STEP_NEXT;
    }
    memcpy(value, d, parts * sizeof value[0]); /* the offset may be in a destination register */
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        const uint8_t *at = private_at(w, b, lane, 4 * p, rp_elem_bytes(piece));
        if (!at)
            return outside_private(w, in, b, lane, false);
        rp_elem_load(piece, &value[p], lane, at);
    }
    memcpy(d, value, parts * sizeof value[0]);
    return RP_STEP_NEXT;
}

RP_INLINE int private_store(struct rp_wave *w, const struct rp_insn *in, const struct rp_buffer *b,
                            enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    const uint64_t exec = RP_EXEC(w);
    rp_row *s = rp_rows(w, &in->src[1]);
    rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    uint8_t *rows = private_rows(w, b, bytes);
    if (rows) {
        rp_private_touch(w, (uint32_t)((uint64_t)(rows - w->scratch) / RP_LANES + bytes));
        merge_rows((uint32_t *)(void *)rows, s[0], parts, exec);
        return RP_STEP_NEXT;
    }
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        uint8_t *at = private_at(w, b, lane, 4 * p, rp_elem_bytes(piece));
        if (!at)
            return outside_private(w, in, b, lane, true);
        rp_private_touch(
            w, (uint32_t)((uint64_t)(at + rp_elem_bytes(piece) - 1 - w->scratch) / 256 * 4 + 4));
        rp_elem_store(piece, s + p, lane, at);
    }
    return RP_STEP_NEXT;
}

/* ---- memory ---- */

/* Wide accesses are checked dword by dword; what is out of range reads as zero. */
RP_INLINE int buffer_load(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    static const uint8_t zero[4];
    uint64_t exec = RP_EXEC(w), moved = 0;
    struct rp_buffer b;
    struct rp_spread spread;
    rp_row *d = rp_rows(w, &in->dst), value[4];
    if (rp_buffer_open(w, in, &b))
        return RP_STEP_FAULT;
    if (b.private)
        return private_load(w, in, &b, e);
    if (map_plain(w, &b, bytes, exec, 0, &spread)) {
        rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
        rp_spread_load(w, e, d, &spread, exec);
        return RP_STEP_NEXT;
    }
    memcpy(value, d, parts * sizeof value[0]); /* the address may be in a destination register */
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        const void *at = zero;
        uint8_t split[4];
        if (rp_buffer_inside(&b, lane, 4 * p, rp_elem_bytes(piece))) {
            uint64_t va = rp_buffer_at(&b, lane, 4 * p);
            at = rp_mem_at(rp_mem_of(w), va, rp_elem_bytes(piece), 0);
            if (!at && rp_mem_read_split(w, va, split, rp_elem_bytes(piece)))
                at = split;
            if (!at)
                return unmapped(w, in, lane, va, false);
            moved += rp_elem_bytes(piece);
        }
        rp_elem_load(piece, &value[p], lane, at);
    }
    memcpy(d, value, parts * sizeof value[0]);
    rp_counts_of(w)->read_bytes += moved;
    return RP_STEP_NEXT;
}

uint8_t *rp_load_lds_at(struct rp_wave *w, const struct rp_insn *in, unsigned lane, unsigned bytes)
{
    const bool wide = rp_isa_target_get() == RP_ISA_GFX950;
    const uint32_t mask = !wide ? 0xffff : in->fmt == RP_FMT_FLAT ? 0x3fffc : 0x3ffff;
    const uint32_t start = (w->sgpr[RP_SGPR_M0] & mask) + (uint32_t)in->offset;
    const uint64_t at = (uint64_t)start + (bytes == 4 ? 4 : 16) * lane;
    return at + bytes <= w->group->lds_bytes ? w->group->lds + at : NULL;
}

/* A load whose result goes to LDS: what is narrower than a dword extended to one. */
RP_INLINE int buffer_load_lds(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    static const uint8_t zero[4];
    uint64_t exec = RP_EXEC(w);
    struct rp_buffer b;
    rp_row value;
    if (rp_buffer_open(w, in, &b))
        return RP_STEP_FAULT;
    RP_FOR_LANES(lane, exec)
    {
        uint8_t *const to = rp_load_lds_at(w, in, lane, 4 * parts);
        for (unsigned p = 0; p < parts; p++) {
            const void *at = zero;
            if (rp_buffer_inside(&b, lane, 4 * p, rp_elem_bytes(piece))) {
                uint64_t va = rp_buffer_at(&b, lane, 4 * p);
                at = rp_mem_at(rp_mem_of(w), va, rp_elem_bytes(piece), 0);
                if (!at)
                    return unmapped(w, in, lane, va, false);
                rp_counts_of(w)->read_bytes += rp_elem_bytes(piece);
            }
            rp_elem_load(piece, &value, lane, at);
            if (to)
                memcpy(to + 4 * p, &value[lane], 4);
        }
    }
    rp_counts_of(w)->lds_bytes += (uint64_t)rp_lane_count(exec) * 4 * parts;
    return RP_STEP_NEXT;
}

RP_INLINE int buffer_store(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e), parts = bytes > 4 ? bytes / 4 : 1;
    const enum rp_elem piece = bytes > 4 ? RP_ELEM_B32 : e;
    uint64_t exec = RP_EXEC(w), moved = 0;
    struct rp_buffer b;
    struct rp_spread spread;
    rp_row *s = rp_rows(w, &in->src[1]);
    if (rp_buffer_open(w, in, &b))
        return RP_STEP_FAULT;
    w->poll_va = 0;
    if (b.private)
        return private_store(w, in, &b, e);
    if (map_plain(w, &b, bytes, exec, 1, &spread)) {
        rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
        rp_spread_store(w, e, s, &spread, exec);
        return RP_STEP_NEXT;
    }
    RP_FOR_LANES(lane, exec)
    for (unsigned p = 0; p < parts; p++) {
        if (!rp_buffer_inside(&b, lane, 4 * p, rp_elem_bytes(piece)))
            continue;
        uint64_t va = rp_buffer_at(&b, lane, 4 * p);
        void *at = rp_mem_at(rp_mem_of(w), va, rp_elem_bytes(piece), 1);
        uint8_t split[4];
        rp_elem_store(piece, s + p, lane, at ? at : split);
        if (!at && !rp_mem_write_split(w, va, split, rp_elem_bytes(piece)))
            return unmapped(w, in, lane, va, true);
        moved += rp_elem_bytes(piece);
    }
    rp_counts_of(w)->write_bytes += moved;
    return RP_STEP_NEXT;
}

#define LOAD(name, elem)                                                                           \
    int rp_buffer_load_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return buffer_load(w, in, RP_ELEM_##elem);                                                 \
    }
LOAD(b64, B64)
LOAD(u8_d16, U8_D16)
LOAD(u8_d16_hi, U8_D16_HI)
LOAD(i8_d16, I8_D16)
LOAD(i8_d16_hi, I8_D16_HI)
LOAD(b16_d16, B16_D16)
LOAD(b16_d16_hi, B16_D16_HI)

/* These can write to LDS instead of registers; the wide ones on gfx950 only. */
#define LOAD_OR_LDS(name, elem)                                                                    \
    int rp_buffer_load_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return in->flags & RP_IF_LDS ? buffer_load_lds(w, in, RP_ELEM_##elem)                      \
                                     : buffer_load(w, in, RP_ELEM_##elem);                         \
    }
LOAD_OR_LDS(u8, U8)
LOAD_OR_LDS(i8, I8)
LOAD_OR_LDS(u16, U16)
LOAD_OR_LDS(i16, I16)
LOAD_OR_LDS(b32, B32)
LOAD_OR_LDS(b96, B96)
LOAD_OR_LDS(b128, B128)

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
