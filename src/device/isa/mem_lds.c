/* This file has the local data share: loads, stores, atomics. Accesses outside the allocation read
 * zero and write nothing, as on hardware; unaligned ones are legal (SH_MEM_CONFIG is set so for
 * compute).
 */
#include <stdint.h>

#include "device/isa/instruction.h"
#include "device/isa/mem_access.h"
#include "device/isa/mem_address.h"
#include "device/isa/mem_atomic.h"
#include "device/isa/wave_state.h"

/** Operations only DS has. */
#define RP_ATOMIC_DS_OPS(X)                                                                        \
    RP_ATOMIC_DS_INT_OPS(X, 32)                                                                    \
    RP_ATOMIC_DS_INT_OPS(X, 64)                                                                    \
    X(wrap_32, uint32_t, old >= a ? old - a : old + b)                                             \
    X(min_f32, uint32_t, rp_f32_min(old, a))                                                       \
    X(max_f32, uint32_t, rp_f32_max(old, a))

RP_INLINE void count_lds(struct rp_wave *w, uint64_t exec, unsigned bytes)
{
    rp_counts_of(w)->lds_bytes += (uint64_t)rp_lane_count(exec) * bytes;
}

/* Address and offset are added modulo 2^32: compilers fold negative bases into the offset. */
RP_INLINE uint32_t lds_at(uint32_t address, uint32_t offset)
{
    return address + offset;
}

/* Tests whether every active lane is inside and the address step is fixed; *ret_lane0 is the
 * offset.
 */
RP_INLINE bool affine_lds(const struct rp_wave *w, const uint32_t *address, uint32_t offset,
                          unsigned bytes, uint64_t exec, int64_t *ret_lane0, int64_t *ret_stride)
{
    if (!rp_lanes_of(w)->affine(address, ret_stride))
        return false;
    int64_t lane0 = lds_at(address[0], offset);
    int64_t from = lane0 + *ret_stride * (int64_t)rp_first_lane(exec);
    int64_t to = lane0 + *ret_stride * (int64_t)rp_last_lane(exec);
    *ret_lane0 = lane0;
    return from >= 0 && to >= 0 && (from > to ? from : to) + bytes <= w->group->lds_bytes;
}

/* Whole dwords, and at least one place in LDS they could be: then one loop does it all. */
RP_INLINE bool spread_lds(const struct rp_wave *w, const uint32_t *address, uint32_t offset,
                          enum rp_elem e, struct rp_spread *ret)
{
    const unsigned bytes = rp_elem_bytes(e);
    if (!rp_elem_dwords(e) || bytes > w->group->lds_bytes)
        return false;
    *ret = (struct rp_spread){.base = w->group->lds,
                              .index = address,
                              .zero = 0 - offset,
                              .last = w->group->lds_bytes - bytes};
    return true;
}

/* The plain loop is only better for dwords side by side, and does narrow elements. */
RP_INLINE bool is_simple(enum rp_elem e, uint64_t exec)
{
    return !rp_elem_dwords(e) || (e == RP_ELEM_B32 && exec == ~0ull);
}

RP_INLINE void ds_load(struct rp_wave *w, const uint32_t *address, uint32_t offset, rp_row *d,
                       enum rp_elem e, uint64_t exec)
{
    static const uint8_t zero[16];
    const unsigned bytes = rp_elem_bytes(e);
    struct rp_spread spread;
    int64_t lane0, stride;
    if (is_simple(e, exec) && affine_lds(w, address, offset, bytes, exec, &lane0, &stride) &&
        (!rp_elem_dwords(e) || stride == (int64_t)bytes)) {
        rp_lanes_load(e, d, w->group->lds + lane0, stride, exec);
        return;
    }
    if (spread_lds(w, address, offset, e, &spread)) {
        rp_spread_load(w, e, d, &spread, exec);
        return;
    }
    RP_FOR_LANES(lane, exec)
    {
        uint64_t at = lds_at(address[lane], offset);
        rp_elem_load(e, d, lane, at + bytes <= w->group->lds_bytes ? w->group->lds + at : zero);
    }
}

RP_INLINE void ds_store(struct rp_wave *w, const uint32_t *address, uint32_t offset, rp_row *s,
                        enum rp_elem e, uint64_t exec)
{
    const unsigned bytes = rp_elem_bytes(e);
    struct rp_spread spread;
    int64_t lane0, stride;
    if (is_simple(e, exec) && affine_lds(w, address, offset, bytes, exec, &lane0, &stride) &&
        (!rp_elem_dwords(e) || stride == (int64_t)bytes)) {
        rp_lanes_store(e, s, w->group->lds + lane0, stride, exec);
        return;
    }
    if (spread_lds(w, address, offset, e, &spread)) {
        rp_spread_store(w, e, s, &spread, exec);
        return;
    }
    RP_FOR_LANES(lane, exec)
    {
        uint64_t at = lds_at(address[lane], offset);
        if (at + bytes <= w->group->lds_bytes)
            rp_elem_store(e, s, lane, w->group->lds + at);
    }
}

RP_INLINE int ds_read(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    uint64_t exec = RP_EXEC(w);
    if (!exec)
        return RP_STEP_NEXT;
    count_lds(w, exec, rp_elem_bytes(e));
    ds_load(w, rp_rows(w, &in->src[0])[0], (uint32_t)in->offset & 0xffff, rp_rows(w, &in->dst), e,
            exec);
    return RP_STEP_NEXT;
}

RP_INLINE int ds_write(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e)
{
    uint64_t exec = RP_EXEC(w);
    if (!exec)
        return RP_STEP_NEXT;
    count_lds(w, exec, rp_elem_bytes(e));
    ds_store(w, rp_rows(w, &in->src[0])[0], (uint32_t)in->offset & 0xffff, rp_rows(w, &in->src[1]),
             e, exec);
    return RP_STEP_NEXT;
}

#define READ(name, elem)                                                                           \
    int rp_ds_read_##name(struct rp_wave *w, const struct rp_insn *in)                             \
    {                                                                                              \
        return ds_read(w, in, RP_ELEM_##elem);                                                     \
    }
RP_LOAD_FORMS(READ)
READ(u16_d16, B16_D16)
READ(u16_d16_hi, B16_D16_HI)

#define WRITE(name, elem)                                                                          \
    int rp_ds_write_##name(struct rp_wave *w, const struct rp_insn *in)                            \
    {                                                                                              \
        return ds_write(w, in, RP_ELEM_##elem);                                                    \
    }
RP_STORE_FORMS(WRITE)

/* ---- two addresses per lane: 8-bit offsets in units of the element (or 64 of them) ---- */

RP_INLINE uint32_t pair_offset(const struct rp_insn *in, unsigned which, unsigned unit_bytes)
{
    return ((uint32_t)in->offset >> (8 * which) & 0xff) * unit_bytes;
}

RP_INLINE int ds_read2(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e, unsigned scale)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t exec = RP_EXEC(w);
    rp_row address;
    if (!exec)
        return RP_STEP_NEXT;
    rp_row *d = rp_rows(w, &in->dst);
    /* The destination may overwrite it. */
    memcpy(address, rp_rows(w, &in->src[0])[0], sizeof address);
    count_lds(w, exec, 2 * bytes);
    ds_load(w, address, pair_offset(in, 0, bytes * scale), d, e, exec);
    ds_load(w, address, pair_offset(in, 1, bytes * scale), d + bytes / 4, e, exec);
    return RP_STEP_NEXT;
}

RP_INLINE int ds_write2(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e, unsigned scale)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t exec = RP_EXEC(w);
    if (!exec)
        return RP_STEP_NEXT;
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    bool same = ((uint32_t)in->offset & 0xff) == ((uint32_t)in->offset >> 8 & 0xff);
    count_lds(w, exec, (same ? 1 : 2) * bytes);
    ds_store(w, address, pair_offset(in, 0, bytes * scale), rp_rows(w, &in->src[1]), e, exec);
    if (same) /* There is only one write then, of the first data (ISA guide, "LDS Access"). */
        return RP_STEP_NEXT;
    ds_store(w, address, pair_offset(in, 1, bytes * scale), rp_rows(w, &in->src[3]), e, exec);
    return RP_STEP_NEXT;
}

/* Both words are exchanged before any is written: the two addresses may be the same. */
RP_INLINE int ds_wrxchg2(struct rp_wave *w, const struct rp_insn *in, enum rp_elem e,
                         unsigned scale)
{
    const unsigned bytes = rp_elem_bytes(e);
    uint64_t exec = RP_EXEC(w);
    rp_row old[4];
    if (!exec)
        return RP_STEP_NEXT;
    rp_row *d = rp_rows(w, &in->dst);
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    uint32_t at[2] = {pair_offset(in, 0, bytes * scale), pair_offset(in, 1, bytes * scale)};
    count_lds(w, exec, 4 * bytes);
    memset(old, 0, sizeof old);
    for (unsigned i = 0; i < 2; i++)
        ds_load(w, address, at[i], old + i * (bytes / 4), e, exec);
    ds_store(w, address, at[0], rp_rows(w, &in->src[1]), e, exec);
    ds_store(w, address, at[1], rp_rows(w, &in->src[3]), e, exec);
    RP_FOR_LANES(lane, exec)
    for (unsigned i = 0; i < 2 * bytes / 4; i++)
        d[i][lane] = old[i][lane];
    return RP_STEP_NEXT;
}

#define PAIRS(name, elem, scale)                                                                   \
    int rp_ds_read2##name(struct rp_wave *w, const struct rp_insn *in)                             \
    {                                                                                              \
        return ds_read2(w, in, RP_ELEM_##elem, scale);                                             \
    }                                                                                              \
    int rp_ds_write2##name(struct rp_wave *w, const struct rp_insn *in)                            \
    {                                                                                              \
        return ds_write2(w, in, RP_ELEM_##elem, scale);                                            \
    }                                                                                              \
    int rp_ds_wrxchg2##name(struct rp_wave *w, const struct rp_insn *in)                           \
    {                                                                                              \
        return ds_wrxchg2(w, in, RP_ELEM_##elem, scale);                                           \
    }
PAIRS(_b32, B32, 1)
PAIRS(_b64, B64, 1)
PAIRS(st64_b32, B32, 64)
PAIRS(st64_b64, B64, 64)

/* ---- atomics ---- */

typedef uint64_t lds_fn(void *p, uint64_t data, uint64_t data2);

#define DEFINE(name, type, value)                                                                  \
    static uint64_t lds_##name(void *p, uint64_t data, uint64_t data2)                             \
    {                                                                                              \
        type old, next, a = (type)data, b = (type)data2;                                           \
        (void)b;                                                                                   \
        memcpy(&old, p, sizeof old);                                                               \
        next = (type)(value);                                                                      \
        memcpy(p, &next, sizeof next);                                                             \
        return old;                                                                                \
    }

RP_INLINE uint64_t row_word(const rp_row *rows, unsigned lane, unsigned bytes)
{
    return bytes == 4 ? rows[0][lane] : rows[0][lane] | (uint64_t)rows[1][lane] << 32;
}

/* This fast way takes all lanes, without results and with none outside of the allocation, as
 * histograms do.
 */
RP_INLINE bool ds_atomic_all(struct rp_wave *w, const struct rp_insn *in, unsigned bytes,
                             lds_fn *fn)
{
    const uint32_t offset = (uint32_t)in->offset & 0xffff;
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    const rp_row *s = rp_rows(w, &in->src[1]);
    uint32_t low, high;
    if (in->dst.kind != RP_OPND_NONE || in->src[3].kind != RP_OPND_NONE || RP_EXEC(w) != ~0ull)
        return false;
    rp_lanes_of(w)->bounds(address, ~0ull, &low, &high);
    if ((uint64_t)high + offset + bytes > w->group->lds_bytes)
        return false;
    uint8_t *const lds = w->group->lds + offset;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        fn(lds + address[lane], row_word(s, lane, bytes), 0);
    count_lds(w, ~0ull, 2 * bytes);
    return true;
}

RP_INLINE int ds_atomic(struct rp_wave *w, const struct rp_insn *in, unsigned bytes, lds_fn *fn)
{
    uint64_t exec = RP_EXEC(w);
    uint32_t offset = (uint32_t)in->offset & 0xffff;
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    const rp_row *s = rp_rows(w, &in->src[1]);
    const rp_row *s2 = in->src[3].kind != RP_OPND_NONE ? rp_rows(w, &in->src[3]) : s;
    rp_row *d = in->dst.kind != RP_OPND_NONE ? rp_rows(w, &in->dst) : NULL;
    if (ds_atomic_all(w, in, bytes, fn))
        return RP_STEP_NEXT;
    RP_FOR_LANES(lane, exec)
    {
        uint64_t at = lds_at(address[lane], offset), old = 0;
        if (at + bytes <= w->group->lds_bytes)
            old = fn(w->group->lds + at, row_word(s, lane, bytes), row_word(s2, lane, bytes));
        if (d) {
            d[0][lane] = (uint32_t)old;
            if (bytes == 8)
                d[1][lane] = (uint32_t)(old >> 32);
        }
    }
    count_lds(w, exec, 2 * bytes);
    return RP_STEP_NEXT;
}

#define ATOMIC(name, type, value)                                                                  \
    DEFINE(name, type, value)                                                                      \
    int rp_ds_atomic_##name(struct rp_wave *w, const struct rp_insn *in)                           \
    {                                                                                              \
        return ds_atomic(w, in, sizeof(type), lds_##name);                                         \
    }
RP_ATOMIC_MEM_OPS(ATOMIC)
RP_ATOMIC_BF16_OPS(ATOMIC)
RP_ATOMIC_DS_OPS(ATOMIC)

/* Two dwords that start at a multiple of 8 are each written with their upper bit cleared if that
 * bit is set in the data.
 */
int rp_ds_condxchg32(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w);
    uint32_t offset = (uint32_t)in->offset & 0xffff;
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    const rp_row *s = rp_rows(w, &in->src[1]);
    rp_row *d = rp_rows(w, &in->dst);
    RP_FOR_LANES(lane, exec)
    {
        uint32_t at = lds_at(address[lane], offset) & 0xfff8;
        uint32_t data[2] = {s[0][lane], s[1][lane]};
        for (unsigned i = 0; i < 2; i++) {
            uint8_t *p = at + 4 * i + 4 <= w->group->lds_bytes ? w->group->lds + at + 4 * i : NULL;
            d[i][lane] = p ? rp_read32(p) : 0;
            if (p && data[i] >> 31)
                memcpy(p, &(uint32_t){data[i] & INT32_MAX}, 4);
        }
    }
    count_lds(w, exec, 16);
    return RP_STEP_NEXT;
}

/* Global wave sync is a barrier for waves of different workgroups. gfx90a's grid synchronisation
 * uses it; on gfx942 HIP does without (ISA guide, "Global Wave Sync").
 */

/* Returns the resource of the instruction: M0[21:16] and the offset. All of the device's resources
 * belong to one process.
 */
static unsigned resource_of(const struct rp_wave *w, const struct rp_insn *in)
{
    return ((w->sgpr[RP_SGPR_M0] >> 16) + (uint32_t)in->offset) % RP_GWS_RESOURCES;
}

uint32_t rp_gws_phase(const struct rp_wave *w, const struct rp_insn *in, unsigned *ret_resource)
{
    const struct rp_gws *gws = rp_wave_host(w)->gws;
    *ret_resource = resource_of(w, in);
    return w->at_gws_barrier || !gws
               ? w->gws_phase
               : __atomic_load_n(&gws->resource[*ret_resource].phase, __ATOMIC_SEQ_CST);
}

/* The value is that of the first active lane. */
static uint32_t value_of(struct rp_wave *w, const struct rp_insn *in)
{
    uint64_t exec = RP_EXEC(w);
    return rp_rows(w, &in->src[0])[0][exec ? rp_first_lane(exec) : 0];
}

static int no_gws(struct rp_wave *w, const struct rp_insn *in)
{
    return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "no global wave sync resources here");
}

int rp_ds_gws_init(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_gws *gws = rp_wave_host(w)->gws;
    if (!gws)
        return no_gws(w, in);
    __atomic_store_n(&gws->resource[resource_of(w, in)].counter, value_of(w, in), __ATOMIC_SEQ_CST);
    return RP_STEP_NEXT;
}

/* The wave tries again later, as if it had not come here: waiting costs nothing. */
static int wait_here(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_counts *c = rp_counts_of(w);
    unsigned cost = rp_cost_cycles[in->cost_class];
    w->pc -= in->size_bytes;
    w->cycles -= cost;
    c->wave_insts--;
    c->issue_cycles -= cost;
    return RP_STEP_YIELD;
}

/*
 * All but the last of the expected waves wait; the last one opens the barrier and sets how many are
 * expected the next time. Within a dispatch it is executed in turn only (executor.h).
 */
int rp_ds_gws_barrier(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_gws *gws = rp_wave_host(w)->gws;
    if (!gws)
        return no_gws(w, in);
    unsigned id = resource_of(w, in);
    uint32_t *counter = &gws->resource[id].counter, *phase = &gws->resource[id].phase;
    if (w->at_gws_barrier) {
        if (__atomic_load_n(phase, __ATOMIC_SEQ_CST) == w->gws_phase)
            return wait_here(w, in);
        w->at_gws_barrier = false;
        return RP_STEP_NEXT;
    }
    if (__atomic_load_n(counter, __ATOMIC_SEQ_CST) == 0) {
        __atomic_store_n(counter, value_of(w, in), __ATOMIC_SEQ_CST);
        __atomic_add_fetch(phase, 1, __ATOMIC_SEQ_CST);
        return RP_STEP_NEXT;
    }
    w->at_gws_barrier = true;
    w->gws_phase = __atomic_load_n(phase, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(counter, 1, __ATOMIC_SEQ_CST);
    return wait_here(w, in);
}

/* In a semaphore V counts up, and P counts down as soon as it can. */
int rp_ds_gws_sema_v(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_gws *gws = rp_wave_host(w)->gws;
    if (!gws)
        return no_gws(w, in);
    __atomic_add_fetch(&gws->resource[resource_of(w, in)].counter, 1, __ATOMIC_SEQ_CST);
    return RP_STEP_NEXT;
}

int rp_ds_gws_sema_p(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_gws *gws = rp_wave_host(w)->gws;
    if (!gws)
        return no_gws(w, in);
    uint32_t *counter = &gws->resource[resource_of(w, in)].counter;
    uint32_t now = __atomic_load_n(counter, __ATOMIC_SEQ_CST);
    while (now && !__atomic_compare_exchange_n(counter, &now, now - 1, false, __ATOMIC_SEQ_CST,
                                               __ATOMIC_SEQ_CST)) {
    }
    return now ? RP_STEP_NEXT : wait_here(w, in);
}
