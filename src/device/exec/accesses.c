#include "accesses.h"

#include <string.h>

#include "../isa/counted.h"
#include "../isa/mem_buffer.h"
#include "../isa/mem_private.h"
#include "../isa/mem_smem.h"
#include "../timing/record.h"
#include "arch/arch.h"
#include "kernel.h"

enum { DWORD = 4, BANKS = 32, BYTES_PER_STEP = 12 };

#define ADDRESS ((1ull << 48) - 1) /* rp_rec_line.number has the bits above a line */

struct rp_record *rp_accesses_new(const struct rp_arch *arch, const struct rp_kernel *kernel)
{
    const uint64_t on_cu =
        kernel->resident_groups / (arch->compute_units ? arch->compute_units : 1);
    const struct rp_rec_shape shape = {
        .waves_per_group = kernel->waves_per_group,
        .groups_per_cu = on_cu ? (uint32_t)on_cu : 1,
    };
    const struct rp_rec_plan plan =
        rp_rec_plan_of(arch, kernel->group_count, shape.waves_per_group, shape.groups_per_cu);
    return rp_record_new(&plan, &shape);
}

/* The wave's record, if its workgroup is one of the sampled. Only the thread that executes the
 * workgroup looks at it. */
static struct rp_rec_wave *record_of(const struct rp_wave *w)
{
    struct rp_record *r = w->group->dispatch->accesses;
    const int64_t index = r ? rp_rec_index(&r->plan, w->group->linear_id) : -1;
    struct rp_rec_group *g = index < 0 ? NULL : &r->group[index];

    if (!g || g->lost || (!g->wave && !rp_rec_begin(g, w->group->wave_count, UINT32_MAX)))
        return NULL;
    return &g->wave[w->id_in_group];
}

/* ---- lines ---- */

struct lanes {
    uint64_t va[RP_LANES];
    uint64_t on;
    unsigned bytes; /* per lane */
};

static struct rp_rec_line *line_of(struct rp_rec_wave *r, struct rp_rec_access *a, uint64_t number)
{
    struct rp_rec_line *first = r->line + a->first_line;
    number &= ADDRESS / RP_REC_LINE_BYTES;
    for (unsigned i = a->line_count; i-- > 0;)
        if (first[i].number == number)
            return &first[i];
    r->line_count++;
    first[a->line_count] = (struct rp_rec_line){.number = number, .deepest = 1};
    return &first[a->line_count++];
}

static bool note_lines(struct rp_rec_wave *r, struct rp_rec_access *a, const struct lanes *l)
{
    const unsigned pieces = l->bytes / RP_REC_LINE_BYTES + 2;
    if (!rp_rec_grow(r, 0, 0, RP_LANES * pieces))
        return false;
    RP_FOR_LANES(lane, l->on)
    /* The bits that addresses have: what is beyond them faults when it is executed. */
    for (uint64_t at = l->va[lane] & ADDRESS, end = at + l->bytes; at < end;) {
        struct rp_rec_line *line = line_of(r, a, at / RP_REC_LINE_BYTES);
        const uint64_t next = (at / RP_REC_LINE_BYTES + 1) * RP_REC_LINE_BYTES;
        const uint64_t stop = next < end ? next : end;
        const unsigned from = at % RP_REC_LINE_BYTES / RP_REC_SECTOR_BYTES;
        const unsigned to = (stop - 1) % RP_REC_LINE_BYTES / RP_REC_SECTOR_BYTES;
        line->sectors |= ((2u << to) - (1u << from)) & 15;
        line->lanes += line->lanes < RP_LANES;
        at = stop;
    }
    return true;
}

/*
 * The LDS serves as many lanes at a time as fill its 32 banks of a dword: 32 of one, 16 of two, 8
 * of more. Lanes that want different dwords of one bank wait for one another.
 */
static void note_banks(struct rp_rec_access *a, const struct lanes *l)
{
    const unsigned at_once = l->bytes <= DWORD ? 32 : l->bytes <= 2 * DWORD ? 16 : 8;
    for (unsigned first = 0; first < RP_LANES; first += at_once) {
        uint64_t dword[BANKS][BANKS];
        unsigned count[BANKS] = {0}, most = 0;
        const uint64_t set = l->on & ((1ull << at_once) - 1) << first;
        RP_FOR_LANES(lane, set)
        for (uint64_t at = l->va[lane] / DWORD; at <= (l->va[lane] + l->bytes - 1) / DWORD; at++) {
            const unsigned bank = at % BANKS;
            unsigned i = 0;
            while (i < count[bank] && dword[bank][i] != at)
                i++;
            if (i < count[bank] || i == BANKS)
                continue;
            dword[bank][count[bank]++] = at;
            most = count[bank] > most ? count[bank] : most;
        }
        a->lds_clocks = (uint16_t)(a->lds_clocks + most);
        a->lds_conflict_clocks = (uint16_t)(a->lds_conflict_clocks + (most ? most - 1 : 0));
    }
}

/* ---- addresses ---- */

/* Scratch is in no memory of the program: each wave that can be resident has a place of its own. */
static uint64_t private_va(const struct rp_wave *w, unsigned lane, uint32_t offset)
{
    const struct rp_kernel *k = &w->group->dispatch->kernel;
    const uint64_t wave = w->group->linear_id * k->waves_per_group + w->id_in_group;
    const uint64_t place = k->resident_waves ? wave % k->resident_waves : 0;
    const uint64_t dword = (uint64_t)(offset / DWORD) * RP_LANES + lane;
    return RP_REC_PRIVATE_VA + place * w->scratch_lane_bytes * RP_LANES + dword * DWORD +
           offset % DWORD;
}

static void scratch_lanes(struct rp_wave *w, const struct rp_insn *in, struct lanes *l)
{
    uint32_t base = (uint32_t)in->offset;
    if (in->flags & RP_IF_SADDR)
        base += rp_opnd_u32(w, &in->src[2]);
    const uint32_t *v = in->flags & RP_IF_VADDR ? rp_rows(w, &in->src[0])[0] : NULL;
    l->on = RP_EXEC(w);
    RP_FOR_LANES(lane, l->on)
    l->va[lane] = private_va(w, lane, base + (v ? v[lane] : 0));
}

static void buffer_lanes(struct rp_wave *w, const struct rp_insn *in, struct lanes *l)
{
    struct rp_buffer b;
    if (in->src[2].kind != RP_OPND_SGPR || in->src[2].index + 4 > RP_SGPR_COUNT ||
        rp_buffer_open(w, in, &b)) /* what faults does so when it is executed */
        return;
    RP_FOR_LANES(lane, RP_EXEC(w))
    {
        if (!rp_buffer_inside(&b, lane, 0, l->bytes < DWORD ? l->bytes : DWORD))
            continue;
        l->va[lane] = rp_buffer_at(&b, lane, 0);
        if (b.private)
            l->va[lane] += RP_REC_PRIVATE_VA - RP_SCRATCH_BASE_VA;
        l->on |= 1ull << lane;
    }
}

/* FLAT: those in the LDS are taken out. */
static uint64_t flat_lanes(struct rp_wave *w, const struct rp_insn *in, struct lanes *l)
{
    uint64_t lds = 0;
    l->on = RP_EXEC(w);
    rp_flat_addresses(w, in, l->va);
    if (in->seg == RP_SEG_GLOBAL)
        return 0;
    RP_FOR_LANES(lane, RP_EXEC(w))
    {
        const enum rp_space space = rp_space_of(rp_wave_host(w), l->va[lane]);
        if (space == RP_SPACE_PRIVATE)
            l->va[lane] = private_va(w, lane, (uint32_t)l->va[lane]);
        else if (space == RP_SPACE_LDS)
            lds |= 1ull << lane;
    }
    l->on &= ~lds;
    return lds;
}

/* ---- instructions ---- */

/* Of a lane. Only accesses below a dword have their size in the name alone. */
static unsigned bytes_of(const struct rp_insn *in, const struct rp_opnd *data)
{
    const char *name = rp_isa_mnemonic(in->op);
    if (data->dwords > 1)
        return data->dwords * DWORD;
    if (strstr(name, "byte") || strstr(name, "_u8") || strstr(name, "_i8") || strstr(name, "_b8"))
        return 1;
    if (strstr(name, "short") || strstr(name, "16"))
        return 2;
    return DWORD;
}

static bool note_vector(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                        const struct rp_insn *in, enum rp_access kind)
{
    struct lanes l = {.bytes = bytes_of(in, kind == RP_ACCESS_LOAD ? &in->dst : &in->src[1])};
    uint64_t lds = 0;
    if (strstr(rp_isa_mnemonic(in->op), "cmpswap")) /* the data are two values */
        l.bytes /= 2;
    if (in->fmt != RP_FMT_FLAT)
        buffer_lanes(w, in, &l);
    else if (in->seg == RP_SEG_SCRATCH)
        scratch_lanes(w, in, &l);
    else
        lds = flat_lanes(w, in, &l);
    a->flags = kind == RP_ACCESS_LOAD ? RP_REC_READS : RP_REC_WRITES;
    if (kind == RP_ACCESS_ATOMIC)
        a->flags |= RP_REC_ATOMIC | (in->flags & RP_IF_SC0 ? RP_REC_READS : 0);
    else if (in->flags & (RP_IF_SC0 | RP_IF_SC1))
        a->flags |= RP_REC_PAST_L1;
    a->lanes = (uint8_t)__builtin_popcountll(l.on);
    a->lane_bytes = (uint8_t)l.bytes;
    if (lds) {
        struct lanes shared = l;
        shared.on = lds;
        note_banks(a, &shared);
    }
    return !l.on || note_lines(r, a, &l);
}

/* Steps of the two offsets of instructions with two addresses; 0: it has one. */
static unsigned pair_step(const char *name, unsigned bytes)
{
    if (strstr(name, "2st64_"))
        return 64 * bytes;
    return strstr(name, "read2_") || strstr(name, "write2_") || strstr(name, "xchg2_") ? bytes : 0;
}

static void note_shared(struct rp_rec_access *a, struct rp_wave *w, const struct rp_insn *in)
{
    const char *name = rp_isa_mnemonic(in->op);
    const bool takes = in->src[1].kind != RP_OPND_NONE;
    const unsigned bytes = bytes_of(in, takes ? &in->src[1] : &in->dst);
    struct lanes l = {.on = RP_EXEC(w)};
    unsigned step = pair_step(name, DWORD);
    a->lanes = (uint8_t)__builtin_popcountll(l.on);
    l.bytes = step && !takes ? bytes / 2 : bytes;
    step = pair_step(name, l.bytes);
    if (in->src[0].kind == RP_OPND_NONE || strstr(name, "permute") || strstr(name, "swizzle")) {
        a->lds_clocks = l.on ? 2 : 0; /* 64 dwords side by side */
        return;
    }
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    for (unsigned i = 0; i < (step ? 2 : 1); i++) {
        const uint32_t offset =
            step ? ((uint32_t)in->offset >> 8 * i & 0xff) * step : (uint32_t)in->offset & 0xffff;
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            l.va[lane] = (uint32_t)(address[lane] + offset);
        note_banks(a, &l);
    }
}

static bool note_scalar(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                        const struct rp_insn *in, enum rp_access kind)
{
    const bool buffer = rp_op_rows[in->op].src[2] == RP_T_B128;
    const struct rp_opnd *data = kind == RP_ACCESS_LOAD ? &in->dst : &in->src[0];
    struct lanes l = {.on = 1, .bytes = data->dwords * DWORD};
    if (buffer && !rp_sgprs_fit(&in->src[2]))
        return true;
    l.va[0] = buffer ? rp_smem_buffer(w, in).va : rp_smem_address(w, in);
    a->flags = kind == RP_ACCESS_LOAD ? RP_REC_READS : RP_REC_WRITES;
    a->lanes = 1;
    return note_lines(r, a, &l);
}

/* The plan's limit is in instructions of 4 bytes and as much again for accesses and lines: of
 * scattered accesses, with a line for each lane, far fewer fit than of others. */
static bool is_full(const struct rp_rec_wave *r, const struct rp_rec_plan *plan)
{
    return (uint64_t)r->access_count * sizeof *r->access +
               (uint64_t)r->line_count * sizeof *r->line >=
           BYTES_PER_STEP * (uint64_t)plan->steps_limit;
}

/* Appends the access; false: no room for it. */
static bool note(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in)
{
    const enum rp_access kind = rp_insn_access(in);
    if (is_full(r, &w->group->dispatch->accesses->plan) || !rp_rec_grow(r, 0, 1, 0))
        return false;
    struct rp_rec_access *a = &r->access[r->access_count];
    *a = (struct rp_rec_access){.first_line = r->line_count};
    bool fits = true;
    if (in->fmt == RP_FMT_DS) {
        a->space = RP_REC_SHARED;
        note_shared(a, w, in);
    } else if (in->fmt == RP_FMT_SMEM) {
        a->space = RP_REC_SCALAR;
        fits = note_scalar(r, a, w, in, kind);
    } else {
        fits = note_vector(r, a, w, in, kind);
    }
    if (fits)
        r->access_count++;
    else
        r->line_count = a->first_line;
    return fits;
}

static int observe(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_rec_wave *r = record_of(w);
    const bool noted = r && note(r, w, in);
    const int step = in->observed(w, in);
    if (noted && step == RP_STEP_TURN) /* not executed: it comes again */
        r->line_count = r->access[--r->access_count].first_line;
    return step;
}

void rp_accesses_bind(struct rp_insn *in)
{
    const enum rp_unit unit = rp_insn_unit(in);
    const bool always = unit == RP_UNIT_LDS;
    const bool by_kind = unit == RP_UNIT_FLAT || unit == RP_UNIT_BUFFER || unit == RP_UNIT_SMEM;
    if (in->op == RP_OP_INVALID || !(always || (by_kind && rp_insn_access(in) != RP_ACCESS_NONE)))
        return;
    in->observed = in->fn;
    in->fn = observe;
}
