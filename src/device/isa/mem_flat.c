/* FLAT and GLOBAL loads and stores try three ways, the fastest first. In the first one all lanes
 * are at a fixed stride inside one mapped range, or at one place of their private segments. The
 * second one takes any addresses in mapped memory. The third one, for FLAT only, takes lanes in
 * LDS or scratch.
 */
#include "device/isa/mem_access.h"
#include "device/isa/mem_address.h"
#include "device/isa/wave_state.h"

RP_INLINE bool rp_private_fits(const struct rp_wave *w, uint32_t offset, unsigned bytes)
{
    return (uint64_t)offset + bytes <= w->scratch_lane_bytes;
}

void rp_flat_addresses(struct rp_wave *w, const struct rp_insn *in, uint64_t ret_va[RP_LANES])
{
    const rp_row *v = rp_rows(w, &in->src[0]);
    uint64_t offset = (uint64_t)(int64_t)in->offset;
    if (in->flags & RP_IF_SADDR) {
        uint64_t base = rp_opnd_u64(w, &in->src[2]) + offset;
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            ret_va[lane] = base + v[0][lane];
        return;
    }
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        ret_va[lane] = (v[0][lane] | (uint64_t)v[1][lane] << 32) + offset;
}

/* Tests whether all lanes are at lane 0's address + lane * stride, in one kind of memory. */
RP_INLINE bool affine_flat(struct rp_wave *w, const struct rp_insn *in, uint64_t *ret_va,
                           int64_t *ret_stride, enum rp_space *ret_space)
{
    const rp_row *v = rp_rows(w, &in->src[0]);
    if (!rp_lanes_of(w)->affine(v[0], ret_stride))
        return false;
    if (in->flags & RP_IF_SADDR) {
        *ret_va = rp_opnd_u64(w, &in->src[2]) + v[0][0];
    } else {
        if (!rp_lanes_of(w)->uniform(v[1]))
            return false;
        *ret_va = v[0][0] | (uint64_t)v[1][0] << 32;
    }
    *ret_va += (uint64_t)(int64_t)in->offset;
    *ret_space = in->seg == RP_SEG_GLOBAL ? RP_SPACE_GLOBAL : rp_space_of(rp_wave_host(w), *ret_va);
    return true;
}

/* ---- private segments: what all lanes have at one aligned place of theirs is whole rows ---- */

RP_INLINE bool is_private_rows(const struct rp_wave *w, uint32_t offset, unsigned bytes)
{
    return offset % 4 == 0 && bytes % 4 == 0 && rp_private_fits(w, offset, bytes);
}

RP_INLINE void merge_row(uint32_t *to, const uint32_t *from, uint64_t exec)
{
    if (exec == ~0ull) {
        memcpy(to, from, sizeof(rp_row));
        return;
    }
    RP_FOR_LANES(lane, exec)
    to[lane] = from[lane];
}

RP_INLINE uint32_t *private_row(const struct rp_wave *w, uint32_t offset)
{
    return (uint32_t *)(void *)rp_private_at(w, 0, offset);
}

RP_INLINE void load_private_rows(const struct rp_wave *w, rp_row *d, uint32_t offset,
                                 unsigned bytes, uint64_t exec)
{
    for (unsigned i = 0; i < bytes / 4; i++)
        merge_row(d[i], private_row(w, offset + 4 * i), exec);
}

RP_INLINE void store_private_rows(struct rp_wave *w, const rp_row *s, uint32_t offset,
                                  unsigned bytes, uint64_t exec)
{
    rp_private_touch(w, offset + bytes);
    for (unsigned i = 0; i < bytes / 4; i++)
        merge_row(private_row(w, offset + 4 * i), s[i], exec);
}

/* Returns the host pointer for lane 0 (active or not) if everything that the active lanes access
 * is mapped.
 */
RP_INLINE uint8_t *map_affine(struct rp_wave *w, uint64_t va, int64_t stride, unsigned bytes,
                              uint64_t exec, unsigned write)
{
    uint64_t from = va + (uint64_t)(stride * (int64_t)rp_first_lane(exec));
    uint64_t to = va + (uint64_t)(stride * (int64_t)rp_last_lane(exec));
    uint64_t low = stride < 0 ? to : from, high = stride < 0 ? from : to;
    uint8_t *p = rp_mem_lanes_at(rp_mem_of(w), low, high - low + bytes, write, exec);
    return p ? (uint8_t *)((uintptr_t)p - (uintptr_t)(low - va)) : NULL;
}

/* Finds the lanes' places when all active lanes share the upper half of the address and everything
 * between the lowest and the highest is mapped in one piece. *ret_poll_va is the first active
 * lane's address.
 */
RP_INLINE bool map_spread(struct rp_wave *w, const struct rp_insn *in, unsigned bytes,
                          uint64_t exec, unsigned write, struct rp_spread *ret,
                          uint64_t *ret_poll_va)
{
    const struct rp_mem_lanes *lanes = rp_lanes_of(w);
    const rp_row *v = rp_rows(w, &in->src[0]);
    uint64_t base = (uint64_t)(int64_t)in->offset;
    uint32_t low, high;
    if (in->flags & RP_IF_SADDR) {
        base += rp_opnd_u64(w, &in->src[2]);
    } else {
        lanes->bounds(v[1], exec, &low, &high);
        if (low != high)
            return false;
        base += (uint64_t)low << 32;
    }
    lanes->bounds(v[0], exec, &low, &high);
    const struct rp_exec_host *host = rp_wave_host(w);
    if (in->seg == RP_SEG_FLAT && (rp_space_of(host, base + low) != RP_SPACE_GLOBAL ||
                                   rp_space_of(host, base + high) != RP_SPACE_GLOBAL))
        return false;
    uint8_t *p = NULL;
    if (high - low <= INT32_MAX)
        p = rp_mem_lanes_at(rp_mem_of(w), base + low, (uint64_t)high - low + bytes, write, exec);
    *ret = (struct rp_spread){.base = p, .index = v[0], .zero = low, .last = high - low};
    *ret_poll_va = base + v[0][rp_first_lane(exec)];
    return p;
}

static int bad_lane(struct rp_wave *w, const struct rp_insn *in, unsigned lane, uint64_t va,
                    enum rp_space space, bool write)
{
    static const char *const text[3][2] = {
        [RP_SPACE_GLOBAL] = {"read of unmapped address", "write to unmapped or read-only address"},
        [RP_SPACE_LDS] = {"read outside the LDS allocation", "write outside the LDS allocation"},
        [RP_SPACE_PRIVATE] = {"read outside the private segment (the kernel's stack, "
                              "see hipLimitStackSize)",
                              "write outside the private segment (the kernel's stack, "
                              "see hipLimitStackSize)"},
    };
    return rp_wave_fault_address(w, in, space == RP_SPACE_LDS ? RP_FAULT_LDS : RP_FAULT_MEMORY,
                                 (int)lane, va, text[space][write]);
}

/* Loads one lane at any address; the links are counted for all lanes together (count_links).
 * @return false when the address is bad
 */
RP_INLINE bool load_lane(struct rp_wave *w, enum rp_elem e, rp_row *d, unsigned lane, uint64_t va,
                         enum rp_space space)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint32_t low = (uint32_t)va;
    if (space == RP_SPACE_PRIVATE) {
        uint8_t copy[16];
        if (!rp_private_fits(w, low, bytes))
            return false;
        rp_private_read(w, lane, low, copy, bytes);
        rp_elem_load(e, d, lane, copy);
        return true;
    }
    uint8_t split[16];
    const uint8_t *p = NULL;
    if (space == RP_SPACE_GLOBAL) {
        p = rp_mem_find(rp_mem_of(w), va, bytes, 0);
        if (!p && rp_mem_read_split(w, va, split, bytes))
            p = split;
    } else if ((uint64_t)low + bytes <= w->group->lds_bytes) {
        p = w->group->lds + low;
    }
    if (!p)
        return false;
    rp_elem_load(e, d, lane, p);
    return true;
}

RP_INLINE bool store_lane(struct rp_wave *w, enum rp_elem e, rp_row *s, unsigned lane, uint64_t va,
                          enum rp_space space)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint32_t low = (uint32_t)va;
    if (space == RP_SPACE_PRIVATE) {
        uint8_t copy[16];
        if (!rp_private_fits(w, low, bytes))
            return false;
        rp_elem_store(e, s, lane, copy);
        rp_private_write(w, lane, low, copy, bytes);
        return true;
    }
    uint8_t *p = NULL;
    if (space == RP_SPACE_GLOBAL)
        p = rp_mem_find(rp_mem_of(w), va, bytes, 1);
    else if ((uint64_t)low + bytes <= w->group->lds_bytes)
        p = w->group->lds + low;
    if (p) {
        rp_elem_store(e, s, lane, p);
        return true;
    }
    uint8_t split[16];
    rp_elem_store(e, s, lane, split);
    return space == RP_SPACE_GLOBAL && rp_mem_write_split(w, va, split, bytes);
}

RP_INLINE enum rp_space space_of_lane(struct rp_wave *w, const struct rp_insn *in, uint64_t va)
{
    return in->seg == RP_SEG_GLOBAL ? RP_SPACE_GLOBAL : rp_space_of(rp_wave_host(w), va);
}

static void count_links(struct rp_wave *w, const struct rp_insn *in, const uint64_t va[RP_LANES],
                        uint64_t exec, unsigned bytes, unsigned write)
{
    uint64_t global = 0;
    RP_FOR_LANES(lane, exec)
    global |= (uint64_t)(space_of_lane(w, in, va[lane]) == RP_SPACE_GLOBAL) << lane;
    rp_mem_count_lanes(rp_mem_of(w), va, global, bytes, write);
}

static void count_lane(struct rp_wave *w, enum rp_space space, unsigned bytes, bool write)
{
    struct rp_counts *c = rp_counts_of(w);
    if (space == RP_SPACE_LDS)
        c->lds_bytes += bytes;
    else if (write)
        c->write_bytes += bytes;
    else
        c->read_bytes += bytes;
}

/* The plain loop is best for dwords that lie side by side in all lanes, and for narrow elements at
 * any step.
 */
RP_INLINE bool is_simple(enum rp_elem e, int64_t stride, uint64_t exec)
{
    return !rp_elem_dwords(e) || (exec == ~0ull && stride == (int64_t)rp_elem_bytes(e));
}

/* Tests whether a row function of struct rp_mem_lanes can do it. */
RP_INLINE bool is_rows(enum rp_elem e, int64_t stride, uint64_t exec)
{
    const unsigned dwords = rp_elem_dwords(e);
    return (dwords == 1 || dwords == 2 || dwords == 4) && exec == ~0ull && stride == 4 * dwords;
}

/* Tries the first of the three ways. @return false: it does not apply, and nothing was done */
RP_INLINE bool load_affine(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e, rp_row *d,
                           uint64_t exec, uint64_t *ret_va)
{
    const unsigned bytes = rp_elem_bytes(e);
    int64_t stride;
    enum rp_space space;
    if (!affine_flat(w, in, ret_va, &stride, &space))
        return false;
    if (space == RP_SPACE_PRIVATE && stride == 0 && is_private_rows(w, (uint32_t)*ret_va, bytes)) {
        load_private_rows(w, d, (uint32_t)*ret_va, bytes, exec);
    } else {
        if (space != RP_SPACE_GLOBAL || (stride != 0 && !is_simple(e, stride, exec)))
            return false;
        const uint8_t *lane0 = map_affine(w, *ret_va, stride, bytes, exec, 0);
        if (!lane0)
            return false;
        if (is_rows(e, stride, exec))
            rp_lanes_of(w)->load_rows[rp_elem_dwords(e)](d, lane0);
        else
            rp_lanes_load(e, d, lane0, stride, exec);
    }
    rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    return true;
}

RP_INLINE bool store_affine(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e, rp_row *s,
                            uint64_t exec)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t va;
    int64_t stride;
    enum rp_space space;
    if (!affine_flat(w, in, &va, &stride, &space))
        return false;
    if (space == RP_SPACE_PRIVATE && stride == 0 && is_private_rows(w, (uint32_t)va, bytes)) {
        store_private_rows(w, (const rp_row *)s, (uint32_t)va, bytes, exec);
    } else {
        if (space != RP_SPACE_GLOBAL || !is_simple(e, stride, exec))
            return false;
        uint8_t *lane0 = map_affine(w, va, stride, bytes, exec, 1);
        if (!lane0)
            return false;
        if (is_rows(e, stride, exec))
            rp_lanes_of(w)->store_rows[rp_elem_dwords(e)]((const rp_row *)s, lane0);
        else
            rp_lanes_store(e, s, lane0, stride, exec);
    }
    rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    return true;
}

RP_INLINE int flat_load(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t exec = RP_EXEC(w), va;
    struct rp_spread spread;
    rp_row *d = rp_rows(w, &in->dst);
    if (!exec)
        return RP_STEP_NEXT;
    if (load_affine(w, in, e, d, exec, &va))
        return rp_note_poll(w, va);
    if (map_spread(w, in, bytes, exec, 0, &spread, &va)) {
        rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
        if (spread.last == 0)
            rp_lanes_load(e, d, spread.base, 0, exec);
        else
            rp_spread_load(w, e, d, &spread, exec);
        return rp_note_poll(w, va);
    }
    uint64_t vas[RP_LANES];
    rp_flat_addresses(w, in, vas);
    count_links(w, in, vas, exec, bytes, 0);
    RP_FOR_LANES(lane, exec)
    {
        enum rp_space space = space_of_lane(w, in, vas[lane]);
        if (!load_lane(w, e, d, lane, vas[lane], space))
            return bad_lane(w, in, lane, vas[lane], space, false);
        count_lane(w, space, bytes, false);
    }
    return rp_note_poll(w, vas[rp_first_lane(exec)]);
}

RP_INLINE int flat_store(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t exec = RP_EXEC(w), va;
    struct rp_spread spread;
    rp_row *s = rp_rows(w, &in->src[1]);
    if (!exec)
        return RP_STEP_NEXT;
    w->poll_va = 0;
    if (store_affine(w, in, e, s, exec))
        return RP_STEP_NEXT;
    if (map_spread(w, in, bytes, exec, 1, &spread, &va)) {
        rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
        rp_spread_store(w, e, s, &spread, exec);
        return RP_STEP_NEXT;
    }
    uint64_t vas[RP_LANES];
    rp_flat_addresses(w, in, vas);
    count_links(w, in, vas, exec, bytes, 1);
    RP_FOR_LANES(lane, exec)
    {
        enum rp_space space = space_of_lane(w, in, vas[lane]);
        if (!store_lane(w, e, s, lane, vas[lane], space))
            return bad_lane(w, in, lane, vas[lane], space, true);
        count_lane(w, space, bytes, true);
    }
    return RP_STEP_NEXT;
}

/* ---- SCRATCH: 32-bit offsets into the lane's private segment ---- */

/* Returns the offset of one lane without the vector part. */
RP_INLINE uint32_t scratch_base(const struct rp_wave *w, const struct rp_insn *in)
{
    uint32_t base = (uint32_t)in->offset;
    if (in->flags & RP_IF_SADDR)
        base += rp_opnd_u32(w, &in->src[2]);
    return base;
}

/* Computes the offsets of all lanes. 32-bit arithmetic suffices, as the segment is smaller. */
static void scratch_addresses(struct rp_wave *w, const struct rp_insn *in,
                              uint64_t ret_offset[RP_LANES])
{
    uint32_t base = scratch_base(w, in);
    const uint32_t *v = in->flags & RP_IF_VADDR ? rp_rows(w, &in->src[0])[0] : NULL;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        ret_offset[lane] = (uint32_t)(base + (v ? v[lane] : 0)); /* The sum wraps at 32 bits. */
}

/* Tests whether all lanes use the same dword-aligned offset, so that whole rows are moved. */
RP_INLINE bool scratch_rows(struct rp_wave *w, const struct rp_insn *in, unsigned bytes,
                            uint32_t *ret_offset)
{
    *ret_offset = scratch_base(w, in);
    if (in->flags & RP_IF_VADDR) {
        const rp_row *v = rp_rows(w, &in->src[0]);
        if (!rp_lanes_of(w)->uniform(v[0]))
            return false;
        *ret_offset += v[0][0];
    }
    return is_private_rows(w, *ret_offset, bytes);
}

RP_INLINE int scratch_load(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t exec = RP_EXEC(w);
    uint32_t offset;
    rp_row *d = rp_rows(w, &in->dst);
    if (!exec)
        return RP_STEP_NEXT;
    rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    if (scratch_rows(w, in, bytes, &offset)) {
        load_private_rows(w, d, offset, bytes, exec);
        return RP_STEP_NEXT;
    }
    uint32_t base = scratch_base(w, in);
    const rp_row *v = in->flags & RP_IF_VADDR ? rp_rows(w, &in->src[0]) : NULL;
    RP_FOR_LANES(lane, exec)
    {
        offset = base + (v ? v[0][lane] : 0);
        if (!load_lane(w, e, d, lane, offset, RP_SPACE_PRIVATE))
            return bad_lane(w, in, lane, offset, RP_SPACE_PRIVATE, false);
    }
    return RP_STEP_NEXT;
}

RP_INLINE int scratch_store(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t exec = RP_EXEC(w);
    uint32_t offset;
    rp_row *s = rp_rows(w, &in->src[1]);
    if (!exec)
        return RP_STEP_NEXT;
    rp_counts_of(w)->write_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    if (scratch_rows(w, in, bytes, &offset)) {
        store_private_rows(w, (const rp_row *)s, offset, bytes, exec);
        return RP_STEP_NEXT;
    }
    uint32_t base = scratch_base(w, in);
    const rp_row *v = in->flags & RP_IF_VADDR ? rp_rows(w, &in->src[0]) : NULL;
    RP_FOR_LANES(lane, exec)
    {
        offset = base + (v ? v[0][lane] : 0);
        if (!store_lane(w, e, s, lane, offset, RP_SPACE_PRIVATE))
            return bad_lane(w, in, lane, offset, RP_SPACE_PRIVATE, true);
    }
    return RP_STEP_NEXT;
}

/* ---- handlers ---- */

#define LOAD(name, elem)                                                                           \
    int rp_flat_load_##name(struct rp_wave *w, const struct rp_insn *in)                           \
    {                                                                                              \
        return in->seg == RP_SEG_SCRATCH ? scratch_load(w, in, RP_ELEM_##elem)                     \
                                         : flat_load(w, in, RP_ELEM_##elem);                       \
    }
RP_LOAD_FORMS(LOAD)
LOAD(b16_d16, B16_D16)
LOAD(b16_d16_hi, B16_D16_HI)

#define STORE(name, elem)                                                                          \
    int rp_flat_store_##name(struct rp_wave *w, const struct rp_insn *in)                          \
    {                                                                                              \
        return in->seg == RP_SEG_SCRATCH ? scratch_store(w, in, RP_ELEM_##elem)                    \
                                         : flat_store(w, in, RP_ELEM_##elem);                      \
    }
RP_STORE_FORMS(STORE)

/* ---- GLOBAL_LOAD_LDS, SCRATCH_LOAD_LDS: memory to LDS without a register ---- */

/* Loads into LDS at the place from rp_load_lds_at(). Sub-dword loads are extended to a dword. */
RP_INLINE int load_lds(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    const enum rp_space space = in->seg == RP_SEG_SCRATCH ? RP_SPACE_PRIVATE : RP_SPACE_GLOBAL;
    const unsigned bytes = rp_elem_bytes(e), dwords = bytes > 4 ? bytes / 4 : 1;
    uint64_t exec = RP_EXEC(w), vas[RP_LANES];
    rp_row value[4];
    if (space == RP_SPACE_PRIVATE)
        scratch_addresses(w, in, vas);
    else
        rp_flat_addresses(w, in, vas);
    if (space == RP_SPACE_GLOBAL)
        count_links(w, in, vas, exec, bytes, 0);
    RP_FOR_LANES(lane, exec)
    {
        if (!load_lane(w, e, value, lane, vas[lane], space))
            return bad_lane(w, in, lane, vas[lane], space, false);
        uint8_t *to = rp_load_lds_at(w, in, lane, 4 * dwords);
        for (unsigned i = 0; to && i < dwords; i++)
            memcpy(to + 4 * i, &value[i][lane], 4);
    }
    rp_counts_of(w)->read_bytes += (uint64_t)rp_lane_count(exec) * bytes;
    rp_counts_of(w)->lds_bytes += (uint64_t)rp_lane_count(exec) * 4 * dwords;
    return RP_STEP_NEXT;
}

#define LOAD_LDS(name, elem)                                                                       \
    int rp_flat_load_lds_##name(struct rp_wave *w, const struct rp_insn *in)                       \
    {                                                                                              \
        return load_lds(w, in, RP_ELEM_##elem);                                                    \
    }
LOAD_LDS(u8, U8)
LOAD_LDS(i8, I8)
LOAD_LDS(u16, U16)
LOAD_LDS(i16, I16)
LOAD_LDS(b32, B32)
LOAD_LDS(b96, B96)
LOAD_LDS(b128, B128)
