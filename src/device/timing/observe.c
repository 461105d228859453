/* One execution of one instruction by one wave, as the timing model needs it. */
#include "observe.h"

#include "../exec/dispatch.h"
#include "../exec/trail.h"
#include "../isa/mem_buffer.h"
#include "../isa/mem_private.h"
#include "../isa/mem_smem.h"
#include "alike.h"
#include "cost.h"
#include "touch.h"

enum { DWORD = 4 };

/* ---- bytes --------------------------------------------------------------------------------- */

/* Accesses below a dword; all others are of the width of their registers. */
#define BYTE_OPS(X, p)                                                                             \
    X(p##_load_ubyte, 1)                                                                           \
    X(p##_load_sbyte, 1)                                                                           \
    X(p##_load_ushort, 2)                                                                          \
    X(p##_load_sshort, 2)                                                                          \
    X(p##_load_ubyte_d16, 1)                                                                       \
    X(p##_load_ubyte_d16_hi, 1)                                                                    \
    X(p##_load_sbyte_d16, 1)                                                                       \
    X(p##_load_sbyte_d16_hi, 1)                                                                    \
    X(p##_load_short_d16, 2)                                                                       \
    X(p##_load_short_d16_hi, 2)                                                                    \
    X(p##_store_byte, 1)                                                                           \
    X(p##_store_byte_d16_hi, 1)                                                                    \
    X(p##_store_short, 2)                                                                          \
    X(p##_store_short_d16_hi, 2)

static unsigned narrow_bytes(unsigned op)
{
    switch (op) {
#define X(name, bytes)                                                                             \
    case RP_OP_##name:                                                                             \
        return bytes;
        BYTE_OPS(X, flat)
        BYTE_OPS(X, global)
        BYTE_OPS(X, scratch)
        BYTE_OPS(X, buffer)
        X(global_load_lds_ubyte, 1)
        X(global_load_lds_sbyte, 1)
        X(global_load_lds_ushort, 2)
        X(global_load_lds_sshort, 2)
        X(ds_read_u8, 1)
        X(ds_read_i8, 1)
        X(ds_read_u16, 2)
        X(ds_read_i16, 2)
        X(ds_read_u8_d16, 1)
        X(ds_read_u8_d16_hi, 1)
        X(ds_read_i8_d16, 1)
        X(ds_read_i8_d16_hi, 1)
        X(ds_read_u16_d16, 2)
        X(ds_read_u16_d16_hi, 2)
        X(ds_write_b8, 1)
        X(ds_write_b16, 2)
        X(ds_write_b8_d16_hi, 1)
        X(ds_write_b16_d16_hi, 2)
#undef X
    default:
        return 0;
    }
}

/* Vector memory: what an instruction does, from the columns of its row. */
static uint8_t vmem_flags(const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const bool returns = row->dst != RP_T_NONE, takes = row->src[1] != RP_T_NONE;
    uint8_t flags = 0;
    if (!returns && !takes && !(in->flags & RP_IF_LDS)) /* cache control */
        return 0;
    if (in->fmt == RP_FMT_MTBUF) /* its rows have the data of stores as dst, too */
        flags = in->op >= RP_OP_tbuffer_store_format_x && in->op <= RP_OP_tbuffer_store_format_xyzw
                    ? RP_REC_WRITES
                : in->op >= RP_OP_tbuffer_store_format_d16_x ? RP_REC_WRITES
                                                             : RP_REC_READS;
    else if (returns && takes)
        flags = RP_REC_WRITES | RP_REC_ATOMIC | (in->flags & RP_IF_SC0 ? RP_REC_READS : 0);
    else
        flags = takes ? RP_REC_WRITES : RP_REC_READS; /* a load to LDS has neither */
    const bool atomic = flags & RP_REC_ATOMIC;
    if (in->flags & RP_IF_SC1 || (!atomic && in->flags & RP_IF_SC0))
        flags |= RP_REC_PAST_L1;
    if (in->flags & RP_IF_SC1)
        flags |= RP_REC_PAST_L2;
    if (in->flags & RP_IF_NT)
        flags |= RP_REC_STREAM;
    if (in->flags & RP_IF_LDS)
        flags |= RP_REC_TO_LDS;
    return flags;
}

static unsigned vmem_bytes(const struct rp_insn *in, uint8_t flags)
{
    const unsigned narrow = narrow_bytes(in->op);
    const struct rp_op_row *row = &rp_op_rows[in->op];
    if (narrow)
        return narrow;
    if (in->op == RP_OP_flat_atomic_cmpswap || in->op == RP_OP_global_atomic_cmpswap ||
        in->op == RP_OP_buffer_atomic_cmpswap)
        return DWORD;
    if (in->op == RP_OP_flat_atomic_cmpswap_x2 || in->op == RP_OP_global_atomic_cmpswap_x2 ||
        in->op == RP_OP_buffer_atomic_cmpswap_x2)
        return 2 * DWORD;
    const unsigned dwords =
        rp_type_dwords(flags & RP_REC_WRITES && row->src[1] != RP_T_NONE ? row->src[1] : row->dst);
    return dwords ? DWORD * dwords : DWORD;
}

/* ---- vector memory ------------------------------------------------------------------------- */

/* Made-up address of a lane's private memory: each wave that can be resident has its own. */
static uint64_t private_va(const struct rp_wave *w, unsigned lane, uint32_t offset)
{
    const struct rp_kernel *k = &w->group->dispatch->kernel;
    const uint64_t wave = w->group->linear_id * k->waves_per_group + w->id_in_group;
    const uint64_t place = k->resident_waves ? wave % k->resident_waves : 0;
    return RP_REC_PRIVATE_VA + place * w->scratch_lane_bytes * RP_LANES +
           ((uint64_t)(offset / DWORD) * RP_LANES + lane) * DWORD + offset % DWORD;
}

/* Lanes by the memory that they reach. */
struct reach {
    uint64_t va[RP_LANES];
    uint64_t lanes[3]; /**< by enum rp_space */
};

static void reach_scratch(struct rp_wave *w, const struct rp_insn *in, uint64_t exec,
                          struct reach *ret)
{
    uint32_t base = (uint32_t)in->offset;
    if (in->flags & RP_IF_SADDR)
        base += rp_opnd_u32(w, &in->src[2]);
    const uint32_t *v = in->flags & RP_IF_VADDR ? rp_rows(w, &in->src[0])[0] : NULL;
    RP_FOR_LANES(lane, exec)
    ret->va[lane] = private_va(w, lane, base + (v ? v[lane] : 0));
    ret->lanes[RP_SPACE_PRIVATE] = exec;
}

static void reach_flat(struct rp_wave *w, const struct rp_insn *in, uint64_t exec,
                       struct reach *ret)
{
    const struct rp_exec_host *host = rp_wave_host(w);
    rp_flat_addresses(w, in, ret->va);
    if (in->seg == RP_SEG_GLOBAL) {
        ret->lanes[RP_SPACE_GLOBAL] = exec;
        return;
    }
    RP_FOR_LANES(lane, exec)
    {
        const enum rp_space space = rp_space_of(host, ret->va[lane]);
        ret->lanes[space] |= 1ull << lane;
        if (space == RP_SPACE_PRIVATE)
            ret->va[lane] = private_va(w, lane, (uint32_t)ret->va[lane]);
        else if (space == RP_SPACE_LDS)
            ret->va[lane] = (uint32_t)ret->va[lane];
    }
}

static void reach_buffer(struct rp_wave *w, const struct rp_insn *in, uint64_t exec, unsigned bytes,
                         struct reach *ret)
{
    struct rp_buffer b;
    if (in->src[2].kind != RP_OPND_SGPR || in->src[2].index + 4 > RP_SGPR_COUNT ||
        rp_buffer_open(w, in, &b))
        return; /* faults when it is executed, or is cache control */
    RP_FOR_LANES(lane, exec)
    {
        if (!rp_buffer_inside(&b, lane, 0, bytes < DWORD ? bytes : DWORD))
            continue;
        ret->va[lane] = rp_buffer_at(&b, lane, 0);
        const enum rp_space space = b.private ? RP_SPACE_PRIVATE : RP_SPACE_GLOBAL;
        if (b.private) /* as interleaved already */
            ret->va[lane] += RP_REC_PRIVATE_VA - RP_SCRATCH_BASE_VA;
        ret->lanes[space] |= 1ull << lane;
    }
}

static bool observe_vmem(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                         const struct rp_insn *in)
{
    const uint64_t exec = RP_EXEC(w);
    struct reach reach = {.lanes = {0}};
    a->flags = vmem_flags(in);
    a->lane_bytes = (uint8_t)vmem_bytes(in, a->flags);
    if (in->fmt != RP_FMT_FLAT)
        reach_buffer(w, in, exec, a->lane_bytes, &reach);
    else if (in->seg == RP_SEG_SCRATCH)
        reach_scratch(w, in, exec, &reach);
    else
        reach_flat(w, in, exec, &reach);
    a->lanes =
        (uint8_t)__builtin_popcountll(reach.lanes[RP_SPACE_GLOBAL] | reach.lanes[RP_SPACE_PRIVATE]);
    if (reach.lanes[RP_SPACE_PRIVATE])
        a->flags |= RP_REC_PRIVATE;
    struct rp_touch t = {.va = reach.va, .bytes = a->lane_bytes, .flags = a->flags};
    t.lanes = reach.lanes[RP_SPACE_LDS];
    if (t.lanes)
        rp_touch_lds(a, &t);
    if (in->flags & RP_IF_LDS) /* the result goes there, lane by lane side by side */
        a->lds_clocks = (uint16_t)(a->lds_clocks + 2);
    t.lanes = reach.lanes[RP_SPACE_GLOBAL] | reach.lanes[RP_SPACE_PRIVATE];
    const uint32_t key = in->src[0].index * 4u + in->op;
    return !t.lanes || rp_alike_lines(w->trail->alike, key, r, a, &t);
}

/* ---- LDS ----------------------------------------------------------------------------------- */

/* Instructions with two addresses: distance of one step of their offsets, or 0. */
static unsigned pair_unit(unsigned op)
{
    switch (op) {
    case RP_OP_ds_read2_b32:
    case RP_OP_ds_write2_b32:
    case RP_OP_ds_wrxchg2_rtn_b32:
        return 4;
    case RP_OP_ds_read2_b64:
    case RP_OP_ds_write2_b64:
    case RP_OP_ds_wrxchg2_rtn_b64:
        return 8;
    case RP_OP_ds_read2st64_b32:
    case RP_OP_ds_write2st64_b32:
    case RP_OP_ds_wrxchg2st64_rtn_b32:
        return 4 * 64;
    case RP_OP_ds_read2st64_b64:
    case RP_OP_ds_write2st64_b64:
    case RP_OP_ds_wrxchg2st64_rtn_b64:
        return 8 * 64;
    default:
        return 0;
    }
}

static bool is_lane_exchange(unsigned op)
{
    return op == RP_OP_ds_swizzle_b32 || op == RP_OP_ds_permute_b32 || op == RP_OP_ds_bpermute_b32;
}

static void observe_lds(struct rp_rec_access *a, struct rp_wave *w, const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const unsigned unit = pair_unit(in->op), narrow = narrow_bytes(in->op);
    const bool reads = row->dst != RP_T_NONE, takes = row->src[1] != RP_T_NONE;
    const bool plain_write =
        !reads && (narrow || unit || row->fn == rp_ds_write_b32 || row->fn == rp_ds_write_b64 ||
                   row->fn == rp_ds_write_b96 || row->fn == rp_ds_write_b128);
    struct rp_touch t = {.lanes = RP_EXEC(w)};
    a->space = RP_REC_SHARED;
    a->lanes = (uint8_t)__builtin_popcountll(t.lanes);
    a->flags = (uint8_t)((reads ? RP_REC_READS : 0) | (takes ? RP_REC_WRITES : 0));
    if (takes && !plain_write && !unit)
        a->flags |= RP_REC_ATOMIC;
    unsigned dwords = rp_type_dwords(takes ? row->src[1] : row->dst);
    if (unit && !takes)
        dwords /= 2;
    t.bytes = narrow ? narrow : DWORD * (dwords ? dwords : 1);
    t.flags = a->flags;
    a->lane_bytes = (uint8_t)(t.bytes * (unit ? 2 : 1));
    if (is_lane_exchange(in->op) || row->src[0] == RP_T_NONE) { /* no banks, or side by side */
        a->flags &= (uint8_t)~RP_REC_ATOMIC;
        a->lds_clocks = t.lanes ? 2 : 0;
        return;
    }
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    for (unsigned which = 0; which < (unit ? 2 : 1); which++) {
        const uint32_t offset = unit ? ((uint32_t)in->offset >> 8 * which & 0xff) * unit
                                     : (uint32_t)in->offset & 0xffff;
        rp_alike_lds(w->trail->alike, in->src[0].index * 4u + in->op, address, offset, a, &t);
    }
}

/* ---- scalar memory ------------------------------------------------------------------------- */

static bool observe_smem(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                         const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const bool buffer = row->src[2] == RP_T_B128;
    const unsigned reads = rp_type_dwords(row->dst), takes = rp_type_dwords(row->src[0]);
    uint64_t va[RP_LANES];
    a->space = RP_REC_SCALAR;
    if (row->src[2] == RP_T_NONE || !(reads || takes) || (buffer && !rp_sgprs_fit(&in->src[2])))
        return true; /* clocks and cache control */
    a->flags = (uint8_t)((reads ? RP_REC_READS : 0) | (takes ? RP_REC_WRITES : 0) |
                         (reads && takes ? RP_REC_ATOMIC : 0));
    va[0] = buffer ? rp_smem_buffer(w, in).va : rp_smem_address(w, in);
    struct rp_touch t = {
        .va = va, .lanes = 1, .bytes = DWORD * (takes ? takes : reads), .flags = a->flags};
    a->lanes = 1;
    a->lane_bytes = (uint8_t)t.bytes;
    return rp_touch_lines(r, a, &t);
}

/* ---- instructions -------------------------------------------------------------------------- */

static bool observe_memory(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                           const struct rp_insn *in)
{
    if (in->fmt == RP_FMT_SMEM)
        return observe_smem(r, a, w, in);
    if (in->fmt != RP_FMT_DS)
        return observe_vmem(r, a, w, in);
    if (!(in->flags & RP_IF_GDS)) /* messages to other workgroups access nothing */
        observe_lds(a, w, in);
    return true;
}

static bool note_access(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in,
                        uint64_t index)
{
    if (!rp_rec_grow(r, 0, 1, 0))
        return false;
    struct rp_rec_access *a = &r->access[r->access_count];
    *a = (struct rp_rec_access){.step = index < UINT32_MAX ? (uint32_t)index : UINT32_MAX,
                                .first_line = r->line_count};
    if (!observe_memory(r, a, w, in)) {
        r->line_count = a->first_line;
        return false;
    }
    r->access_count++;
    return true;
}

static void lose(struct rp_rec_wave *r)
{
    r->closed = r->full = r->lost = true;
}

void rp_rec_observe_access(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in)
{
    const uint64_t index = r->insts - 1;
    if (r->lines_only && in->fmt == RP_FMT_DS)
        return;
    if (index >= r->step_count) {
        r->full |= (uint64_t)r->access_count * sizeof *r->access +
                       (uint64_t)r->line_count * sizeof *r->line >=
                   r->most_bytes;
        if (r->full)
            return;
    }
    if (!note_access(r, w, in, index))
        lose(r);
}

static void keep_step(struct rp_rec_wave *r, int64_t distance)
{
    r->insts++;
    r->closed |= r->step_count >= r->limit || distance != (int32_t)distance;
    if (r->closed)
        return;
    if (rp_rec_grow(r, 1, 0, 0))
        r->step[r->step_count++] = (uint32_t)(int32_t)distance;
    else
        lose(r);
}

void rp_rec_observe(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in, uint64_t pc)
{
    keep_step(r, (int64_t)(pc - w->group->dispatch->kernel.entry_va) / DWORD);
    if (in->cost_class == RP_COST_VMEM || in->cost_class == RP_COST_LDS ||
        in->cost_class == RP_COST_SMEM)
        rp_rec_observe_access(r, w, in);
}

void rp_rec_observe_run(struct rp_rec_wave *r, const struct rp_insn *page, uint32_t first,
                        uint32_t end, int64_t distance)
{
    if (r->closed) {
        for (uint32_t slot = first; slot < end; slot += page[slot].size_bytes / DWORD)
            r->insts++;
        return;
    }
    const bool fits = end - first <= r->limit - r->step_count &&
                      distance + first == (int32_t)(distance + first) &&
                      distance + end == (int32_t)(distance + end) &&
                      rp_rec_grow(r, end - first, 0, 0);
    if (!fits) {
        for (uint32_t slot = first; slot < end; slot += page[slot].size_bytes / DWORD)
            keep_step(r, distance + slot);
        return;
    }
    uint32_t *step = r->step + r->step_count;
    for (uint32_t slot = first; slot < end; slot += page[slot].size_bytes / DWORD)
        *step++ = (uint32_t)(int32_t)distance + slot;
    r->insts += (uint64_t)(step - r->step) - r->step_count;
    r->step_count = (uint32_t)(step - r->step);
}
