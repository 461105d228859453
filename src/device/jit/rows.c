#include "rows.h"

/* What a slot holds besides rows: the f16 halves of row r as f32, r + WIDENED * enum rp_half. */
enum { WIDENED = 1024 };

/* Slots that results can count on. */
enum { RESULT_SLOTS = 2 };

enum { CMP_UNORD_Q = 3, ALL_SLOTS = (1 << RP_JIT_SLOTS) - 1, AHEAD_INSTS = 20 };

void rp_rows_forget(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        t->row[i] = -1;
}

void rp_rows_forget_row(struct rp_jit_translation *t, unsigned row)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        if (t->row[i] >= 0 && (unsigned)t->row[i] % WIDENED == row)
            t->row[i] = -1;
}

void rp_rows_forget_widened(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_JIT_SLOTS; i++)
        if (t->row[i] >= WIDENED)
            t->row[i] = -1;
}

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

void rp_rows_load_masks(struct rp_jit_translation *t)
{
    for (unsigned q = 0; q < 4; q++) {
        struct rp_rm part = rp_jit_exec();
        part.disp += (int32_t)(2 * q);
        rp_x86_k(&t->x86, RP_X86_KMOVW_LOAD, 4 + q, 0, part);
        rp_x86_k(&t->x86, RP_X86_KNOTW, 4 + q, 0, rp_reg(4 + q));
    }
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

/* A slot that the present instruction does not use: an empty one, or the one used longest ago. */
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
    if (best < 0) { /* more rows than slots: no instruction has them */
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

/* Whether the block reads the row again before it is written. */
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

struct rp_src rp_src(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                     unsigned dword)
{
    return rp_src_in(t, in, i, dword, RP_ZMM_SCALAR + i, RP_ZMM_PART + i);
}

/* to = the f16 of each dword of from. */
static void widen(struct rp_jit_translation *t, unsigned to, unsigned from, unsigned half)
{
    if (half == RP_HIGH_HALF) {
        rp_x86_v(&t->x86, RP_X86_VPSRLD_IMM, RP_ALL, 0, to, rp_reg(from), 16);
        from = to;
    }
    rp_x86_v(&t->x86, RP_X86_VPMOVDW, RP_ALL, from, 0, rp_reg(to), 0);
    rp_x86_v(&t->x86, RP_X86_VCVTPH2PS, RP_ALL, to, 0, rp_reg(to), 0);
}

void rp_narrow(struct rp_jit_translation *t, unsigned to, unsigned from)
{
    enum { NEAREST_NO_EXCEPTIONS = 8 };
    rp_x86_v(&t->x86, RP_X86_VCVTPS2PH, RP_ALL, from, 0, rp_reg(to), NEAREST_NO_EXCEPTIONS);
    rp_x86_v(&t->x86, RP_X86_VPMOVZXWD, RP_ALL, to, 0, rp_reg(to), 0);
}

struct rp_src rp_src_half(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i,
                          bool high)
{
    const unsigned half = high ? RP_HIGH_HALF : RP_LOW_HALF, row = in->src[i].index;
    const bool is_row = in->src[i].kind == RP_OPND_VGPR;
    const int held = is_row ? slot_of(t, row + WIDENED * half) : -1;
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
    t->row[slot] = (int)(row + WIDENED * half);
    s.kind = RP_SRC_SLOT;
    s.reg = (uint8_t)(4 * slot);
    return s;
}

struct rp_src rp_src_signed(struct rp_jit_translation *t, const struct rp_insn *in, unsigned i)
{
    struct rp_src s = rp_src(t, in, i, 0);
    s.neg = in->neg >> i & 1;
    s.abs = in->abs >> i & 1;
    return s;
}

/* to = from with its signs. */
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

struct rp_rm rp_src_rm(struct rp_jit_translation *t, const struct rp_src *s, unsigned quarter)
{
    if (s->kind == RP_SRC_MEMORY && !s->half && !s->neg && !s->abs)
        return rp_at(RP_JIT_ROWS, s->disp + (int32_t)(64 * quarter));
    return rp_reg(rp_src_reg(t, s, quarter));
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

static void compare_nan(struct rp_jit_translation *t, unsigned k, unsigned a, unsigned b)
{
    rp_x86_v(&t->x86, RP_X86_VCMPPS, RP_ALL, k, a, rp_reg(b), CMP_UNORD_Q);
}

void rp_leave_lanes(struct rp_jit_translation *t)
{
    for (unsigned q = 0; q < 4 && t->masked; q++)
        rp_x86_k(&t->x86, RP_X86_KANDNW, q, 4 + q, rp_reg(q));
    rp_x86_k(&t->x86, RP_X86_KORW, 0, 0, rp_reg(1));
    rp_x86_k(&t->x86, RP_X86_KORW, 2, 2, rp_reg(3));
    rp_x86_k(&t->x86, RP_X86_KORTESTW, 0, 0, rp_reg(2));
    rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
}

void rp_leave_nan(struct rp_jit_translation *t, unsigned reg)
{
    compare_nan(t, 1, reg, reg + 1);
    compare_nan(t, 2, reg + 2, reg + 3);
    rp_x86_k(&t->x86, RP_X86_KORTESTW, 1, 0, rp_reg(2));
    if (!t->masked) {
        rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
        return;
    }
    /* Lanes that are off often have one for long. */
    const size_t none = rp_x86_jcc(&t->x86, RP_CC_E);
    for (unsigned q = 0; q < 4; q++)
        compare_nan(t, q, reg + q, reg + q);
    rp_leave_lanes(t);
    rp_x86_land(&t->x86, none, t->x86.bytes);
}

void rp_leave_nan2(struct rp_jit_translation *t, unsigned reg, unsigned other)
{
    for (unsigned q = 0; q < 4; q++)
        compare_nan(t, q, reg + q, other + q);
    rp_leave_lanes(t);
}
