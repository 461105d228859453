#include "device/jit/jit_block.h"

#include <stdlib.h>
#include <string.h>

#include "device/exec/code_cache.h"
#include "device/exec/executor.h"
#include "device/isa/instruction.h"
#include "device/jit/jit_translate.h"

/* Results can count on this many slots. */
enum { RESULT_SLOTS = 2 };

enum { CMP_UNORD_Q = 3, ALL_SLOTS = (1 << RP_JIT_SLOTS) - 1, AHEAD_INSTS = 20 };

static void load_slot(struct rp_jit_translation *t, unsigned slot)
{
    for (unsigned q = 0; q < 4; q++)
        rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, 4 * slot + q, 0,
                 rp_at(RP_JIT_ROWS, rp_row_disp((unsigned)t->row[slot], q)), 0);
}

void rp_rows_reload(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        if (t->row[i] >= 0)
            load_slot(t, i);
}

static int slot_of(const struct rp_jit_translation *t, unsigned row)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        if (t->row[i] == (int)row)
            return (int)i;
    return -1;
}

static void pin(struct rp_jit_translation *t, unsigned slot)
{
    t->pinned |= 1u << slot;
    t->used[slot] = ++t->clock;
}

/* Takes a slot that the present instruction does not use: an empty one, or the one that was used
 * longest ago.
 */
static unsigned take_slot(struct rp_jit_translation *t)
{
    int best = -1;
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++) {
        if (t->pinned >> i & 1)
            continue;
        if (t->row[i] < 0) {
            best = (int)i;
            break;
        }
        if (best < 0 || t->used[i] < t->used[best])
            best = (int)i;
    }
    if (best < 0) { /* No instruction has more rows than there are slots. */
        t->overflow = true;
        best = 0;
    }
    t->row[best] = -1;
    pin(t, (unsigned)best);
    return (unsigned)best;
}

static bool names(const struct rp_opnd *o, unsigned row)
{
    return o->kind == RP_OPND_VGPR && row >= o->index && row < o->index + (unsigned)o->dwords;
}

/* Tests whether the block reads the row again before it is written. */
static bool is_used_later(const struct rp_jit_translation *t, unsigned row)
{
    const struct rp_insn *in = t->in;
    for (unsigned ahead = 0; ahead < AHEAD_INSTS; ahead++) {
        if (ahead && names(&in->dst, row))
            return false;
        in = rp_jit_next(in);
        if (in >= t->end)
            return false;
        for (unsigned i = 0; i < 3; i++)
            if (names(&in->src[i], row))
                return true;
    }
    return false;
}

/* One more source may hold a slot. */
static bool has_room(const struct rp_jit_translation *t)
{
    return __builtin_popcount(~t->pinned & ALL_SLOTS) > RESULT_SLOTS;
}

static struct rp_src row_source(struct rp_jit_translation *t, unsigned row)
{
    int slot = slot_of(t, row);
    if (slot < 0 && has_room(t) && !names(&t->in->dst, row) && is_used_later(t, row)) {
        slot = (int)take_slot(t);
        t->row[slot] = (int)row;
        load_slot(t, (unsigned)slot);
    }
    if (slot < 0 || !(has_room(t) || t->pinned >> slot & 1))
        return (struct rp_src){.kind = RP_SRC_MEMORY, .disp = rp_row_disp(row, 0)};
    pin(t, (unsigned)slot);
    return (struct rp_src){.kind = RP_SRC_SLOT, .reg = (uint8_t)(4 * slot)};
}

struct rp_src rp_src_in(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                        unsigned dword, unsigned scalar, unsigned part)
{
    const struct rp_opnd *o = &in->src[i];
    struct rp_src s;
    if (o->kind == RP_OPND_VGPR) {
        s = row_source(t, o->index + dword);
        s.part = (uint8_t)part;
        return s;
    }
    const uint32_t value = (uint32_t)(o->imm >> (32 * dword));
    s = (struct rp_src){.kind = RP_SRC_SCALAR, .reg = (uint8_t)scalar, .part = (uint8_t)part};
    if (o->kind == RP_OPND_SGPR)
        rp_x86_v(&t->x86, RP_X86_VBROADCAST, RP_ALL, scalar, 0, rp_jit_sgpr(o->index + dword), 0);
    else if (value == 0)
        rp_x86_v(&t->x86, RP_X86_VPXORD, RP_ALL, scalar, scalar, rp_reg(scalar), 0);
    else
        rp_x86_v(&t->x86, RP_X86_VBROADCAST, RP_ALL, scalar, 0, rp_jit_constant(t, value), 0);
    return s;
}

/* Converts the f16 in each dword of from, into to. */
static void widen(struct rp_jit_translation *t, unsigned to, unsigned from, unsigned half)
{
    if (half == RP_HIGH_HALF) {
        rp_x86_v(&t->x86, RP_X86_VPSRLD_IMM, RP_ALL, 0, to, rp_reg(from), 16);
        from = to;
    }
    rp_x86_v(&t->x86, RP_X86_VPMOVDW, RP_ALL, from, 0, rp_reg(to), 0);
    rp_x86_v(&t->x86, RP_X86_VCVTPH2PS, RP_ALL, to, 0, rp_reg(to), 0);
}

struct rp_src rp_src_half(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                          bool high)
{
    const unsigned half = high ? RP_HIGH_HALF : RP_LOW_HALF, row = in->src[i].index;
    const bool is_row = in->src[i].kind == RP_OPND_VGPR;
    const int held = is_row ? slot_of(t, row + RP_ROW_WIDENED * half) : -1;
    if (held >= 0 && (has_room(t) || t->pinned >> held & 1)) {
        pin(t, (unsigned)held);
        return (struct rp_src){
            .kind = RP_SRC_SLOT, .reg = (uint8_t)(4 * held), .part = (uint8_t)(RP_ZMM_PART + i)};
    }
    struct rp_src s = rp_src(t, in, i, 0);
    if (!is_row) {
        widen(t, s.reg, s.reg, half);
        return s;
    }
    if (!has_room(t) || names(&in->dst, row) || !is_used_later(t, row)) {
        s.half = (uint8_t)half;
        return s;
    }
    const unsigned slot = take_slot(t);
    for (unsigned q = 0; q < 4; q++)
        widen(t, 4 * slot + q, rp_src_reg(t, &s, q), half);
    t->row[slot] = (int)(row + RP_ROW_WIDENED * half);
    s.kind = RP_SRC_SLOT;
    s.reg = (uint8_t)(4 * slot);
    return s;
}

/* Copies from to to with the source's signs. */
static void sign(struct rp_jit_translation *t, const struct rp_src *s, unsigned to, unsigned from)
{
    if (s->abs) {
        rp_x86_v(&t->x86, RP_X86_VPANDD, RP_BROADCAST, to, from, rp_jit_constant(t, 0x7fffffff), 0);
        from = to;
    }
    if (s->neg)
        rp_x86_v(&t->x86, RP_X86_VPXORD, RP_BROADCAST, to, from, rp_jit_constant(t, 0x80000000), 0);
}

void rp_src_settle(struct rp_jit_translation *t, struct rp_src *s)
{
    if (s->kind != RP_SRC_SCALAR || !(s->neg || s->abs))
        return;
    sign(t, s, s->reg, s->reg);
    s->neg = s->abs = false;
}

unsigned rp_src_reg(struct rp_jit_translation *t, const struct rp_src *s, unsigned quarter)
{
    unsigned reg = s->kind == RP_SRC_SLOT ? s->reg + quarter : s->reg;
    if (s->kind == RP_SRC_MEMORY) {
        reg = s->part;
        rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, reg, 0,
                 rp_at(RP_JIT_ROWS, s->disp + (int32_t)(64 * quarter)), 0);
    }
    if (s->half) {
        widen(t, s->part, reg, s->half);
        reg = s->part;
    }
    if (!s->neg && !s->abs)
        return reg;
    sign(t, s, s->part, reg);
    return s->part;
}

unsigned rp_result_new(struct rp_jit_translation *t)
{
    return 4 * take_slot(t);
}

void rp_result_store(struct rp_jit_translation *t, unsigned reg, unsigned row)
{
    for (unsigned q = 0; q < 4; q++) {
        const struct rp_rm at = rp_at(RP_JIT_ROWS, rp_row_disp(row, q));
        if (t->masked)
            rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_MERGE(4 + q), reg + q, 0, at, 0);
        rp_x86_v(&t->x86, RP_X86_VMOVSTORE, RP_ALL, reg + q, 0, at, 0);
    }
    rp_rows_forget_row(t, row);
    t->row[reg / 4] = (int)row;
}

enum { TABLE_WORDS = 16 * RP_JIT_TABLES };

static uint32_t table_word(enum rp_jit_table table, uint32_t i)
{
    switch (table) {
    case RP_JIT_EVEN:
        return 2 * i;
    case RP_JIT_ODD:
        return 2 * i + 1;
    case RP_JIT_FOURS:
        return 4 * i;
    case RP_JIT_EIGHTS:
        return 8 * i;
    case RP_JIT_SIXTEENS:
        return 16 * i;
    case RP_JIT_XY:
    case RP_JIT_ZW:
        return 4 * (i % 8) + i / 8 + (table == RP_JIT_ZW ? 2 : 0);
    case RP_JIT_PAIRS:
    case RP_JIT_PAIRS_UP:
        return i / 2 + i % 2 * 16 + (table == RP_JIT_PAIRS_UP ? 8 : 0);
    case RP_JIT_TWOS:
    case RP_JIT_TWOS_UP:
        return i / 4 * 2 + i % 2 + i / 2 % 2 * 16 + (table == RP_JIT_TWOS_UP ? 8 : 0);
    default:
        return 0;
    }
}

struct rp_rm rp_jit_table(struct rp_jit_translation *t, enum rp_jit_table table)
{
    const unsigned first = RP_JIT_POOL_WORDS - TABLE_WORDS + 16 * (unsigned)table;
    for (unsigned i = 0; i < 16; i++)
        t->pool[first + i] = table_word(table, i);
    return rp_at(RP_RIP, (int32_t)(4 * first));
}

struct rp_rm rp_jit_constant(struct rp_jit_translation *t, uint32_t value)
{
    unsigned i = 0;
    while (i < t->pool_count && t->pool[i] != value)
        i++;
    if (i == RP_JIT_POOL_WORDS - TABLE_WORDS) {
        t->overflow = true;
        i = 0;
    } else if (i == t->pool_count) {
        t->pool[t->pool_count++] = value;
    }
    /* The pool lies in front of the code, so the displacement is negative. */
    return rp_at(RP_RIP, (int32_t)(4 * i));
}

struct rp_jit_stub *rp_jit_stub_new(struct rp_jit_translation *t, size_t jump)
{
    if (t->stub_count == RP_JIT_STUBS) {
        t->overflow = true;
        return &t->stub[0];
    }
    struct rp_jit_stub *s = &t->stub[t->stub_count++];
    *s = (struct rp_jit_stub){.jump = jump,
                              .pc = t->pc,
                              .insts = t->insts,
                              .first = t->first,
                              .end = (uint16_t)((t->pc - t->page->base_va) / 4),
                              .cycles = t->cycles,
                              .counts_lanes = t->counts_lanes,
                              .code = RP_JIT_INTERPRET};
    return s;
}

void rp_jit_set_pc(struct rp_jit_translation *t, uint64_t pc)
{
    const uint64_t distance = pc - t->page->base_va;
    if ((int64_t)distance == (int32_t)distance) {
        rp_x86_lea(&t->x86, RP_RAX, rp_at(RP_JIT_BASE, (int32_t)distance));
    } else {
        rp_x86_mov_imm(&t->x86, RP_RAX, pc);
    }
    rp_x86_store(&t->x86, true, rp_at(RP_JIT_W, offsetof(struct rp_wave, pc)), RP_RAX);
}
