/* This file translates loads and stores.
 *
 * Elements of one, two or four dwords lie side by side. They move between memory and register
 * rows. Memory is 64-byte lines, as many for a quarter of the lanes as an element has dwords.
 */
#include "device/exec/executor.h"
#include "device/isa/wave_state.h"
#include "device/jit/jit_block.h"

enum { LINE_BYTES = 64 };

/** This says where the lines are. */
struct lines {
    uint8_t reg[4];  /**< general registers: the host's address of each quarter's first line */
    bool one_behind; /**< or of all lines, of which each is behind the other: reg[0] */
    int32_t disp;
};

static struct rp_rm line_at(const struct lines *l, unsigned dwords, unsigned line)
{
    if (l->one_behind)
        return rp_at(l->reg[0], l->disp + (int32_t)(LINE_BYTES * line));
    return rp_at(l->reg[line / dwords], l->disp + (int32_t)(LINE_BYTES * (line % dwords)));
}

static void load_table(struct rp_jit_translation *t, unsigned to, enum rp_jit_table table)
{
    rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, to, 0, rp_jit_table(t, table), 0);
}

static void load_line(struct rp_jit_translation *t, unsigned to, struct rp_rm line)
{
    rp_x86_v(&t->x86, RP_X86_VMOVULOAD, RP_ALL, to, 0, line, 0);
}

static void store_line(struct rp_jit_translation *t, struct rp_rm line, unsigned from)
{
    rp_x86_v(&t->x86, RP_X86_VMOVUSTORE, RP_ALL, from, 0, line, 0);
}

static void permute(struct rp_jit_translation *t, unsigned to, unsigned table, struct rp_rm other)
{
    rp_x86_v(&t->x86, RP_X86_VPERMT2D, RP_ALL, to, table, other, 0);
}

static void load_pairs(struct rp_jit_translation *t, const struct lines *l, const unsigned d[2])
{
    const unsigned table[2] = {RP_ZMM_SCALAR, RP_ZMM_SCALAR + 1};
    load_table(t, table[0], RP_JIT_EVEN);
    load_table(t, table[1], RP_JIT_ODD);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned i = 0; i < 2; i++) {
            load_line(t, d[i] + q, line_at(l, 2, 2 * q));
            permute(t, d[i] + q, table[i], line_at(l, 2, 2 * q + 1));
        }
}

static void load_fours(struct rp_jit_translation *t, const struct lines *l, const unsigned d[4])
{
    /* VSHUFI64X2 takes these halves of both sources. */
    enum { LOW_HALVES = 0x44, HIGH_HALVES = 0xee };
    const unsigned table[2] = {RP_ZMM_SCALAR, RP_ZMM_SCALAR + 1};
    load_table(t, table[0], RP_JIT_XY);
    load_table(t, table[1], RP_JIT_ZW);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned i = 0; i < 2; i++) { /* The pairs are x and y, and z and w. */
            for (unsigned j = 0; j < 2; j++) {
                load_line(t, RP_ZMM_TEMP + j, line_at(l, 4, 4 * q + 2 * j));
                permute(t, RP_ZMM_TEMP + j, table[i], line_at(l, 4, 4 * q + 2 * j + 1));
            }
            for (unsigned j = 0; j < 2; j++)
                rp_x86_v(&t->x86, RP_X86_VSHUFI64X2, RP_ALL, d[2 * i + j] + q, RP_ZMM_TEMP,
                         rp_reg(RP_ZMM_TEMP2), j ? HIGH_HALVES : LOW_HALVES);
        }
}

/**
 * Loads lines into the slots at @p d, one for each dword. RP_ZMM_SCALAR to RP_ZMM_TEMP2 are lost.
 */
static void lines_load(struct rp_jit_translation *t, const struct lines *l, unsigned dwords,
                       const unsigned *d)
{
    if (dwords == 1)
        for (unsigned q = 0; q < 4; q++)
            load_line(t, d[0] + q, line_at(l, 1, q));
    else if (dwords == 2)
        load_pairs(t, l, d);
    else
        load_fours(t, l, d);
}

static void store_pairs(struct rp_jit_translation *t, const struct lines *l,
                        const struct rp_src s[2])
{
    const unsigned table[2] = {RP_ZMM_SCALAR, RP_ZMM_SCALAR + 1};
    load_table(t, table[0], RP_JIT_PAIRS);
    load_table(t, table[1], RP_JIT_PAIRS_UP);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned i = 0; i < 2; i++) {
            rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, RP_ZMM_TEMP, 0, rp_src_rm(t, &s[0], q), 0);
            permute(t, RP_ZMM_TEMP, table[i], rp_src_rm(t, &s[1], q));
            store_line(t, line_at(l, 2, 2 * q + i), RP_ZMM_TEMP);
        }
}

/* Combines x with y and z with w first, and then those pairs. */
static void store_fours(struct rp_jit_translation *t, const struct lines *l,
                        const struct rp_src s[4])
{
    static const enum rp_jit_table tables[4] = {RP_JIT_PAIRS, RP_JIT_PAIRS_UP, RP_JIT_TWOS,
                                                RP_JIT_TWOS_UP};
    const unsigned table = RP_ZMM_SCALAR, xy = RP_ZMM_TEMP, zw = RP_ZMM_TEMP2,
                   out = RP_ZMM_SCALAR + 4;
    for (unsigned i = 0; i < 4; i++)
        load_table(t, table + i, tables[i]);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned half = 0; half < 2; half++) {
            rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, xy, 0, rp_src_rm(t, &s[0], q), 0);
            permute(t, xy, table + half, rp_src_rm(t, &s[1], q));
            rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, zw, 0, rp_src_rm(t, &s[2], q), 0);
            permute(t, zw, table + half, rp_src_rm(t, &s[3], q));
            for (unsigned i = 0; i < 2; i++) {
                rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, out, 0, rp_reg(xy), 0);
                permute(t, out, table + 2 + i, rp_reg(zw));
                store_line(t, line_at(l, 4, 4 * q + 2 * half + i), out);
            }
        }
}

/* Stores lines. The same registers are lost, except those that @p s uses. */
static void lines_store(struct rp_jit_translation *t, const struct lines *l, unsigned dwords,
                        const struct rp_src *s)
{
    if (dwords == 1)
        for (unsigned q = 0; q < 4; q++)
            store_line(t, line_at(l, 1, q), rp_src_reg(t, &s[0], q));
    else if (dwords == 2)
        store_pairs(t, l, s);
    else
        store_fours(t, l, s);
}

/* Loads and stores of memory, where they are as most are: all lanes active, side by side, in memory
 * of this GPU that a cached range covers (wave_state.h), and no atomics of the slice waiting to be
 * applied (executor.h). Whatever is otherwise takes the detour to the handler, which decides it
 * all again, before anything has been changed. What is written for each is what its handler in
 * mem_flat.c or mem_scalar.c does.
 */

enum {
    ENV = RP_R11, /**< rp_wave_env */
    /* VPTERNLOGD: a | (b ^ c). */
    OR_XOR = 0xf6,
    MEM_LINE_BYTES = 64,
    AHEAD_WAVES = 8, /**< see prefetch() */
    /* Vector registers of the test for lanes side by side. */
    EXPECTED = RP_ZMM_TEMP2,
    DIFFERS = RP_ZMM_TEMP,
    FIRST = RP_ZMM_SCALAR,
};

/* The lines start at RAX and follow each other. */
static const struct lines lines = {.reg = {RP_RAX}, .one_behind = true};

static const struct access {
    rp_insn_fn *fn;
    uint8_t dwords;
    bool is_store;
} accesses[] = {
    {rp_flat_load_b32, 1, false}, {rp_flat_load_b64, 2, false}, {rp_flat_load_b128, 4, false},
    {rp_flat_store_b32, 1, true}, {rp_flat_store_b64, 2, true}, {rp_flat_store_b128, 4, true},
};

/* Returns the handler behind the gate that is_open() tests, if it has one. NULL: another gate */
static rp_insn_fn *handler_of(const struct rp_insn *in)
{
    if (!in->gated)
        return in->fn;
    return rp_order_is_plain(in) ? in->gated : NULL;
}

static bool is_pair(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_SGPR && o->index + 2u <= RP_SGPR_COUNT;
}

static const struct access *find(const struct rp_insn *in)
{
    rp_insn_fn *const fn = handler_of(in);
    const bool scalar = in->flags & RP_IF_SADDR;
    for (unsigned i = 0; i < sizeof accesses / sizeof accesses[0]; i++) {
        const struct access *a = &accesses[i];
        const struct rp_opnd *data = a->is_store ? &in->src[1] : &in->dst;
        if (a->fn == fn && in->seg != RP_SEG_SCRATCH && in->src[0].kind == RP_OPND_VGPR &&
            data->kind == RP_OPND_VGPR && (!scalar || is_pair(&in->src[2])))
            return a;
    }
    return NULL;
}

static struct rp_jit_detour *present_detour(struct rp_jit_translation *t)
{
    return t->second ? t->second : &t->detour[t->detour_count ? t->detour_count - 1 : 0];
}

/* The present instruction has a detour, to which jumps are added. */
static void begin_detour(struct rp_jit_translation *t)
{
    if (t->detour_count == RP_JIT_DETOURS)
        t->overflow = true;
    else
        t->detour_count++;
    *present_detour(t) = (struct rp_jit_detour){.in = t->in,
                                                .pc = t->pc,
                                                .insts = t->insts,
                                                .first = t->first,
                                                .cycles = t->cycles,
                                                .masked = t->masked,
                                                .counts_lanes = t->counts_lanes,
                                                .noted = t->noted};
}

static void add_detour_jump(struct rp_jit_translation *t, size_t jump)
{
    struct rp_jit_detour *d = present_detour(t);
    if (d->jump_count == RP_JIT_DETOUR_JUMPS)
        t->overflow = true;
    else
        d->jump[d->jump_count++] = jump;
}

/* Makes a detour that leads to the second way of a memory instruction (rp_jit_mem_scattered). */
static void scatter_detour(struct rp_jit_translation *t, size_t jump)
{
    present_detour(t)->apart = jump;
}

/* All of the instruction is written: there its detour comes back. */
static void end_detour(struct rp_jit_translation *t)
{
    struct rp_jit_detour *d = present_detour(t);
    d->back = t->x86.bytes;
    memcpy(d->row, t->row, sizeof d->row);
}

/* Takes the detour on a condition. */
static void detour_if(struct rp_jit_translation *t, enum rp_x86_cc cc)
{
    add_detour_jump(t, rp_x86_jcc(&t->x86, cc));
}

static void load_env(struct rp_jit_translation *t)
{
    rp_x86_load(&t->x86, true, ENV, rp_at(RP_JIT_W, offsetof(struct rp_wave, group)));
    rp_x86_load(&t->x86, true, ENV, rp_at(ENV, offsetof(struct rp_group, env)));
}

/* Tests what the gate of plain accesses tests: that the slice has noted no atomics. */
static void check_gate(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_x86 *e = &t->x86;
    if (!in->gated)
        return;
    rp_x86_load(e, true, RP_RCX, rp_at(ENV, offsetof(struct rp_wave_env, log)));
    rp_x86_test(e, true, RP_RCX, RP_RCX);
    const size_t none = rp_x86_jcc(e, RP_CC_E);
    rp_x86_alu_imm(e, false, RP_CMP, rp_at(RP_RCX, offsetof(struct rp_atomic_log, count)), 0);
    detour_if(t, RP_CC_NE);
    rp_x86_land(e, none, e->bytes);
}

/* Returns the distance from there to the entries of an access. */
static int32_t side_of(bool write)
{
    return (int32_t)(offsetof(struct rp_wave_env, mem) + offsetof(struct rp_mem, side) +
                     (write ? RP_MEM_ENTRIES * sizeof(struct rp_mem_range) : 0));
}

/* A GPU address with so many bytes becomes the host's, if it is in the range of the entry that RCX
 * is side_of() before. */
static void translate_within(struct rp_jit_translation *t, unsigned reg, unsigned bytes, bool write)
{
    struct rp_x86 *e = &t->x86;
    const int32_t entry = side_of(write);
    rp_x86_load(e, true, RP_RDX, rp_reg(reg));
    rp_x86_alu(e, true, RP_SUB, RP_RDX,
               rp_at(RP_RCX, entry + (int32_t)offsetof(struct rp_mem_range, begin)));
    rp_x86_load(e, true, RP_RSI,
                rp_at(RP_RCX, entry + (int32_t)offsetof(struct rp_mem_range, span_bytes)));
    rp_x86_alu(e, true, RP_SUB, RP_RSI, rp_reg(RP_RDX));
    /* An address below begin takes the detour too, because its distance is huge. */
    detour_if(t, RP_CC_B);
    rp_x86_alu_imm(e, true, RP_CMP, rp_reg(RP_RSI), (int32_t)bytes);
    detour_if(t, RP_CC_B);
    rp_x86_alu(e, true, RP_ADD, reg,
               rp_at(RP_RCX, entry + (int32_t)offsetof(struct rp_mem_range, delta)));
}

/*
 * RAX, a GPU address with so many bytes, becomes the host's, but stays in R8. In between
 * @p local asks for memory of this GPU, which no link leads to.
 */
static void translate_address(struct rp_jit_translation *t, unsigned bytes, bool write, bool local)
{
    struct rp_x86 *e = &t->x86;
    _Static_assert(sizeof(struct rp_mem_range) == 32, "shift");
    const int32_t entry = side_of(write);
    rp_x86_load(e, true, RP_R8, rp_reg(RP_RAX));
    rp_x86_load(e, true, RP_RCX, rp_reg(RP_RAX));
    rp_x86_shift_imm(e, true, RP_SHR, RP_RCX, RP_MEM_SHIFT);
    rp_x86_mov_imm(e, RP_RDX, RP_MEM_SCATTER); /* This computes rp_mem_index(). */
    rp_x86_imul(e, false, RP_RCX, rp_reg(RP_RDX));
    rp_x86_shift_imm(e, false, RP_SHR, RP_RCX, 32 - RP_MEM_ENTRIES_LOG2);
    rp_x86_shift_imm(e, false, RP_SHL, RP_RCX, 5);
    rp_x86_alu(e, true, RP_ADD, RP_RCX, rp_reg(ENV));
    if (local) {
        rp_x86_alu_imm(e, false, RP_CMP,
                       rp_at(RP_RCX, entry + (int32_t)offsetof(struct rp_mem_range, place)),
                       RP_PLACE_LOCAL);
        detour_if(t, RP_CC_NE);
    }
    translate_within(t, RP_RAX, bytes, write);
}

static void count_bytes(struct rp_jit_translation *t, size_t counter, unsigned bytes)
{
    rp_x86_alu_imm(&t->x86, true, RP_ADD,
                   rp_at(ENV, (int32_t)(offsetof(struct rp_wave_env, counts) + counter)),
                   (int32_t)bytes);
}

/* ---- FLAT and GLOBAL ---- */

static struct rp_rm first_lane(const struct rp_opnd *o, unsigned dword)
{
    return rp_at(RP_JIT_ROWS, rp_row_disp(o->index + dword, 0));
}

/* Returns the table of steps for an element's size. */
static enum rp_jit_table steps_of(unsigned bytes)
{
    return bytes == 4 ? RP_JIT_FOURS : bytes == 8 ? RP_JIT_EIGHTS : RP_JIT_SIXTEENS;
}

/* The lanes' addresses go up by the size of an element, and their upper halves are one. */
static void check_lanes(struct rp_jit_translation *t, const struct rp_insn *in, unsigned bytes)
{
    struct rp_x86 *e = &t->x86;
    const enum rp_jit_table steps = steps_of(bytes);
    const struct rp_src low = rp_src(t, in, 0, 0);
    rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, EXPECTED, 0, first_lane(&in->src[0], 0), 0);
    rp_x86_v(e, RP_X86_VPADDD, RP_ALL, EXPECTED, EXPECTED, rp_jit_table(t, steps), 0);
    for (unsigned q = 0; q < 4; q++) {
        const struct rp_rm row = rp_src_rm(t, &low, q);
        if (q == 0)
            rp_x86_v(e, RP_X86_VPXORD, RP_ALL, DIFFERS, EXPECTED, row, 0);
        else
            rp_x86_v(e, RP_X86_VPTERNLOGD, RP_ALL, DIFFERS, EXPECTED, row, OR_XOR);
        if (q < 3)
            rp_x86_v(e, RP_X86_VPADDD, RP_BROADCAST, EXPECTED, EXPECTED,
                     rp_jit_constant(t, 16 * bytes), 0);
    }
    if (!(in->flags & RP_IF_SADDR)) {
        const struct rp_src high = rp_src(t, in, 0, 1);
        rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, FIRST, 0, first_lane(&in->src[0], 1), 0);
        for (unsigned q = 0; q < 4; q++)
            rp_x86_v(e, RP_X86_VPTERNLOGD, RP_ALL, DIFFERS, FIRST, rp_src_rm(t, &high, q), OR_XOR);
    }
    rp_x86_v(e, RP_X86_VPTESTMD, RP_ALL, 1, DIFFERS, rp_reg(DIFFERS), 0);
    rp_x86_k(e, RP_X86_KORTESTW, 1, 0, rp_reg(1));
    const size_t apart = rp_x86_jcc(e, RP_CC_NE);
    if (in->seg == RP_SEG_GLOBAL)
        scatter_detour(t, apart);
    else
        add_detour_jump(t, apart);
}

/* Loads lane 0's address into RAX. Those of the other lanes must not pass 2^32 where they are
 * added to it.
 */
static void load_address(struct rp_jit_translation *t, const struct rp_insn *in, unsigned bytes)
{
    struct rp_x86 *e = &t->x86;
    rp_x86_load(e, false, RP_RAX, first_lane(&in->src[0], 0));
    rp_x86_alu_imm(e, false, RP_CMP, rp_reg(RP_RAX), -1 - (int32_t)((RP_LANES - 1) * bytes));
    detour_if(t, RP_CC_A);
    if (in->flags & RP_IF_SADDR) {
        rp_x86_alu(e, true, RP_ADD, RP_RAX, rp_jit_sgpr(in->src[2].index));
    } else {
        rp_x86_load(e, false, RP_RDX, first_lane(&in->src[0], 1));
        rp_x86_shift_imm(e, true, RP_SHL, RP_RDX, 32);
        rp_x86_alu(e, true, RP_OR, RP_RAX, rp_reg(RP_RDX));
    }
    if (in->offset)
        rp_x86_alu_imm(e, true, RP_ADD, rp_reg(RP_RAX), in->offset);
}

/* In FLAT the upper half of RAX must be neither of the apertures'. */
static void check_apertures(struct rp_jit_translation *t)
{
    struct rp_x86 *e = &t->x86;
    rp_x86_load(e, true, RP_RCX, rp_reg(RP_RAX));
    rp_x86_shift_imm(e, true, RP_SHR, RP_RCX, 32);
    rp_x86_load(e, true, RP_RDX, rp_at(ENV, offsetof(struct rp_wave_env, host)));
    rp_x86_alu(e, false, RP_CMP, RP_RCX,
               rp_at(RP_RDX, offsetof(struct rp_exec_host, lds_aperture) + 4));
    detour_if(t, RP_CC_E);
    rp_x86_alu(e, false, RP_CMP, RP_RCX,
               rp_at(RP_RDX, offsetof(struct rp_exec_host, scratch_aperture) + 4));
    detour_if(t, RP_CC_E);
}

/* Does what rp_note_poll() does where the address has changed; it is in R8. */
static void note_load(struct rp_jit_translation *t)
{
    struct rp_x86 *e = &t->x86;
    const size_t wait = offsetof(struct rp_wave, wait);
    _Static_assert(offsetof(struct rp_wait, armed) == 0 && offsetof(struct rp_wait, idle) == 1 &&
                       offsetof(struct rp_wait, hash) >= 4,
                   "armed and idle are in a dword of their own");
    rp_x86_store(e, true, rp_at(RP_JIT_W, offsetof(struct rp_wave, poll_va)), RP_R8);
    rp_x86_mov_imm(e, RP_RDX, 0);
    rp_x86_store(e, false, rp_at(RP_JIT_W, offsetof(struct rp_wave, poll_count)), RP_RDX);
    rp_x86_store(e, false, rp_at(RP_JIT_W, (int32_t)wait), RP_RDX);
}

/* Prefetches the same lines of a later wave (lane_memory.c says why). Stores are made in order, so
 * one that waits for its line holds up all others, those to registers too.
 */
static void prefetch(struct rp_jit_translation *t, unsigned dwords, bool write)
{
    for (unsigned i = 0; i < 4 * dwords; i++) {
        const struct rp_rm at =
            rp_at(RP_RAX, (int32_t)(MEM_LINE_BYTES * (i + 4 * AHEAD_WAVES * dwords)));
        if (write)
            rp_x86_prefetch_write(&t->x86, at);
        else
            rp_x86_prefetch(&t->x86, at);
    }
}

static void write_load(struct rp_jit_translation *t, const struct rp_insn *in, unsigned dwords)
{
    unsigned d[4] = {0};
    prefetch(t, dwords, false);
    t->pinned = 0; /* The addresses' slots are no longer needed. */
    for (unsigned i = 0; i < dwords; i++)
        d[i] = rp_result_new(t);
    lines_load(t, &lines, dwords, d);
    for (unsigned i = 0; i < dwords; i++)
        rp_result_store(t, d[i], in->dst.index + i);
}

static void write_store(struct rp_jit_translation *t, const struct rp_insn *in, unsigned dwords)
{
    struct rp_src s[4];
    prefetch(t, dwords, true);
    t->pinned = 0;
    for (unsigned i = 0; i < dwords; i++)
        s[i] = rp_src_in(t, in, 1, i, RP_ZMM_PART, RP_ZMM_PART + 2);
    lines_store(t, &lines, dwords, s);
}

static void write_flat(struct rp_jit_translation *t, const struct rp_insn *in,
                       const struct access *a)
{
    struct rp_x86 *e = &t->x86;
    const unsigned bytes = 4u * a->dwords, all_bytes = RP_LANES * bytes;
    const struct rp_rm poll_va = rp_at(RP_JIT_W, offsetof(struct rp_wave, poll_va));
    rp_rows_forget_widened(t);
    begin_detour(t);
    /* Memory may trap, and run_guarded() in wave_run.c then needs the pc. */
    rp_jit_set_pc(t, t->pc + in->size_bytes);
    load_env(t);
    check_gate(t, in);
    check_lanes(t, in, bytes);
    load_address(t, in, bytes);
    if (in->seg == RP_SEG_FLAT)
        check_apertures(t);
    if (!a->is_store) {
        rp_x86_alu(e, true, RP_CMP, RP_RAX, poll_va);
        detour_if(t, RP_CC_E);
    }
    translate_address(t, all_bytes, a->is_store, true);
    if (a->is_store) {
        count_bytes(t, offsetof(struct rp_counts, write_bytes), all_bytes);
        rp_x86_mov_imm(e, RP_RDX, 0);
        rp_x86_store(e, true, poll_va, RP_RDX);
        write_store(t, in, a->dwords);
    } else {
        count_bytes(t, offsetof(struct rp_counts, read_bytes), all_bytes);
        note_load(t);
        write_load(t, in, a->dwords);
    }
    end_detour(t);
}

/* ---- GLOBAL, each quarter of the lanes side by side: rows of a matrix ---- */

static const uint8_t quarter_reg[4] = {RP_RAX, RP_R9, RP_R10, RP_RDI};

static struct rp_rm quarter_of(const struct rp_opnd *o, unsigned dword, unsigned quarter)
{
    return rp_at(RP_JIT_ROWS, rp_row_disp(o->index + dword, quarter));
}

static void check_quarters(struct rp_jit_translation *t, const struct rp_insn *in, unsigned bytes)
{
    struct rp_x86 *e = &t->x86;
    const struct rp_opnd *o = &in->src[0];
    for (unsigned q = 0; q < 4; q++) {
        rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, EXPECTED, 0, quarter_of(o, 0, q), 0);
        rp_x86_v(e, RP_X86_VPADDD, RP_ALL, EXPECTED, EXPECTED, rp_jit_table(t, steps_of(bytes)), 0);
        if (q == 0)
            rp_x86_v(e, RP_X86_VPXORD, RP_ALL, DIFFERS, EXPECTED, quarter_of(o, 0, q), 0);
        else
            rp_x86_v(e, RP_X86_VPTERNLOGD, RP_ALL, DIFFERS, EXPECTED, quarter_of(o, 0, q), OR_XOR);
    }
    if (!(in->flags & RP_IF_SADDR)) {
        rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, FIRST, 0, first_lane(o, 1), 0);
        for (unsigned q = 0; q < 4; q++)
            rp_x86_v(e, RP_X86_VPTERNLOGD, RP_ALL, DIFFERS, FIRST, quarter_of(o, 1, q), OR_XOR);
    }
    rp_x86_v(e, RP_X86_VPTESTMD, RP_ALL, 1, DIFFERS, rp_reg(DIFFERS), 0);
    rp_x86_k(e, RP_X86_KORTESTW, 1, 0, rp_reg(1));
    detour_if(t, RP_CC_NE);
}

/* The registers become the addresses of each quarter's first lane; none of the others passes 2^32
 * where it is added to. */
static void load_quarters(struct rp_jit_translation *t, const struct rp_insn *in, unsigned bytes)
{
    struct rp_x86 *e = &t->x86;
    if (!(in->flags & RP_IF_SADDR)) {
        rp_x86_load(e, false, RP_RDX, first_lane(&in->src[0], 1));
        rp_x86_shift_imm(e, true, RP_SHL, RP_RDX, 32);
    }
    for (unsigned q = 0; q < 4; q++) {
        const unsigned reg = quarter_reg[q];
        rp_x86_load(e, false, reg, quarter_of(&in->src[0], 0, q));
        rp_x86_alu_imm(e, false, RP_CMP, rp_reg(reg), -1 - (int32_t)((RP_LANES / 4 - 1) * bytes));
        detour_if(t, RP_CC_A);
        if (in->flags & RP_IF_SADDR)
            rp_x86_alu(e, true, RP_ADD, reg, rp_jit_sgpr(in->src[2].index));
        else
            rp_x86_alu(e, true, RP_OR, reg, rp_reg(RP_RDX));
        if (in->offset)
            rp_x86_alu_imm(e, true, RP_ADD, rp_reg(reg), in->offset);
    }
}

static void load_apart(struct rp_jit_translation *t, const struct rp_insn *in,
                       const struct lines *l, unsigned dwords)
{
    static const unsigned d[4] = {0, 4, 8, 12};
    lines_load(t, l, dwords, d);
    for (unsigned i = 0; i < dwords; i++)
        for (unsigned q = 0; q < 4; q++)
            rp_x86_v(&t->x86, RP_X86_VMOVSTORE, RP_ALL, d[i] + q, 0, quarter_of(&in->dst, i, q), 0);
}

static void store_apart(struct rp_jit_translation *t, const struct rp_insn *in,
                        const struct lines *l, unsigned dwords)
{
    struct rp_src s[4];
    for (unsigned i = 0; i < dwords; i++)
        s[i] = (struct rp_src){.kind = RP_SRC_MEMORY,
                               .disp = rp_row_disp(in->src[1].index + i, 0),
                               .part = RP_ZMM_PART + 2};
    lines_store(t, l, dwords, s);
}

void rp_jit_mem_scattered(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_x86 *e = &t->x86;
    const struct access *a = find(in);
    const unsigned bytes = 4u * a->dwords, quarter_bytes = RP_LANES / 4 * bytes;
    const struct rp_rm poll_va = rp_at(RP_JIT_W, offsetof(struct rp_wave, poll_va));
    struct lines l = {.disp = 0};
    for (unsigned q = 0; q < 4; q++)
        l.reg[q] = quarter_reg[q];
    check_quarters(t, in, bytes);
    load_quarters(t, in, bytes);
    if (!a->is_store) {
        rp_x86_alu(e, true, RP_CMP, RP_RAX, poll_va);
        detour_if(t, RP_CC_E);
    }
    translate_address(t, quarter_bytes, a->is_store, true);
    for (unsigned q = 1; q < 4; q++)
        translate_within(t, quarter_reg[q], quarter_bytes, a->is_store);
    if (a->is_store) {
        count_bytes(t, offsetof(struct rp_counts, write_bytes), 4 * quarter_bytes);
        rp_x86_mov_imm(e, RP_RDX, 0);
        rp_x86_store(e, true, poll_va, RP_RDX);
        store_apart(t, in, &l, a->dwords);
    } else {
        count_bytes(t, offsetof(struct rp_counts, read_bytes), 4 * quarter_bytes);
        note_load(t);
        load_apart(t, in, &l, a->dwords);
    }
}

/* ---- SMEM ---- */

static bool is_scalar_load(const struct rp_insn *in)
{
    const bool offset_known = !(in->flags & RP_IF_SOFFSET_EN) || (in->src[1].kind == RP_OPND_SGPR);
    return handler_of(in) == rp_smem_load && is_pair(&in->src[2]) && offset_known &&
           in->dst.kind == RP_OPND_SGPR && in->dst.index + in->dst.dwords <= RP_SGPR_COUNT;
}

static void write_scalar_load(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_x86 *e = &t->x86;
    const unsigned dwords = in->dst.dwords;
    rp_rows_forget_widened(t);
    begin_detour(t);
    rp_jit_set_pc(t, t->pc + in->size_bytes);
    load_env(t);
    check_gate(t, in);
    rp_x86_load(e, true, RP_RAX, rp_jit_sgpr(in->src[2].index));
    if (in->offset)
        rp_x86_alu_imm(e, true, RP_ADD, rp_reg(RP_RAX), in->offset);
    if (in->flags & RP_IF_SOFFSET_EN) {
        rp_x86_load(e, false, RP_RCX, rp_jit_sgpr(in->src[1].index));
        rp_x86_alu(e, true, RP_ADD, RP_RAX, rp_reg(RP_RCX));
    }
    rp_x86_alu_imm(e, true, RP_AND, rp_reg(RP_RAX), ~3);
    translate_address(t, 4 * dwords, false, false);
    count_bytes(t, offsetof(struct rp_counts, read_bytes), 4 * dwords);
    for (unsigned i = 0; i < dwords; i += 2) {
        const bool wide = i + 1 < dwords;
        rp_x86_load(e, wide, RP_RDX, rp_at(RP_RAX, (int32_t)(4 * i)));
        rp_x86_store(e, wide, rp_jit_sgpr(in->dst.index + i), RP_RDX);
    }
    end_detour(t);
}

/* ---- LDS ---- */

/*
 * Loads and stores of the LDS by all lanes, as they mostly lie: in each quarter of the wave within
 * a few lines of its first lane's place (loads), or side by side (stores). Matrix tiles are read
 * and written so, rows of them and single elements for a row of lanes. Whatever is otherwise takes
 * the detour to the handler, before anything has been changed. What is written for each is what its
 * handler in mem_lds.c does.
 */

enum {
    /* General registers: host addresses of each quarter's first lane, and others. */
    GROUP = RP_R11,
    LDS = RP_RCX,
    LAST = RP_RDX,
};

static const uint8_t lds_quarter[4] = {RP_R8, RP_R9, RP_R10, RP_RDI};

static const struct lds_access {
    rp_insn_fn *fn;
    uint8_t dwords; /**< of an element */
    uint8_t unit;   /**< two elements: of their offsets, in bytes / 4; 0: one */
    bool is_store;
    uint8_t bits; /**< of a load that fills a part of a dword; 0: another */
    uint8_t up;   /**< bits below these in the register */
    bool has_sign;
} lds_accesses[] = {
    {.fn = rp_ds_read_b32, .dwords = 1},
    {.fn = rp_ds_read_b64, .dwords = 2},
    {.fn = rp_ds_read_b96, .dwords = 3},
    {.fn = rp_ds_read_b128, .dwords = 4},
    {.fn = rp_ds_read2_b32, .dwords = 1, .unit = 1},
    {.fn = rp_ds_read2_b64, .dwords = 2, .unit = 2},
    {.fn = rp_ds_read2st64_b32, .dwords = 1, .unit = 64},
    {.fn = rp_ds_read2st64_b64, .dwords = 2, .unit = 128},
    {.fn = rp_ds_read_u8, .dwords = 1, .bits = 8},
    {.fn = rp_ds_read_i8, .dwords = 1, .bits = 8, .has_sign = true},
    {.fn = rp_ds_read_u16, .dwords = 1, .bits = 16},
    {.fn = rp_ds_read_i16, .dwords = 1, .bits = 16, .has_sign = true},
    {.fn = rp_ds_read_u8_d16, .dwords = 1, .bits = 8},
    {.fn = rp_ds_read_u8_d16_hi, .dwords = 1, .bits = 8, .up = 16},
    {.fn = rp_ds_read_u16_d16, .dwords = 1, .bits = 16},
    {.fn = rp_ds_read_u16_d16_hi, .dwords = 1, .bits = 16, .up = 16},
    {.fn = rp_ds_write_b32, .dwords = 1, .is_store = true},
    {.fn = rp_ds_write_b64, .dwords = 2, .is_store = true},
    {.fn = rp_ds_write_b128, .dwords = 4, .is_store = true},
    {.fn = rp_ds_write2_b32, .dwords = 1, .unit = 1, .is_store = true},
    {.fn = rp_ds_write2_b64, .dwords = 2, .unit = 2, .is_store = true},
    {.fn = rp_ds_write2st64_b32, .dwords = 1, .unit = 64, .is_store = true},
    {.fn = rp_ds_write2st64_b64, .dwords = 2, .unit = 128, .is_store = true},
};

static uint32_t offset_of(const struct lds_access *a, const struct rp_insn *in, unsigned which)
{
    const uint32_t offset = (uint32_t)in->offset;
    return a->unit ? (offset >> 8 * which & 0xff) * a->unit * 4 : offset & 0xffff;
}

static unsigned elements(const struct lds_access *a)
{
    return a->unit ? 2 : 1;
}

static const struct lds_access *find_lds(const struct rp_insn *in)
{
    if (in->fmt != RP_FMT_DS || in->gated || in->flags & RP_IF_GDS ||
        in->src[0].kind != RP_OPND_VGPR)
        return NULL;
    for (unsigned i = 0; i < sizeof lds_accesses / sizeof lds_accesses[0]; i++) {
        const struct lds_access *a = &lds_accesses[i];
        if (a->fn != in->fn)
            continue;
        if (!a->is_store)
            return in->dst.kind == RP_OPND_VGPR ? a : NULL;
        if (in->src[1].kind != RP_OPND_VGPR || (a->unit && in->src[3].kind != RP_OPND_VGPR))
            return NULL;
        /* When both writes go to one place, only the first happens. */
        return a->unit && offset_of(a, in, 0) == offset_of(a, in, 1) ? NULL : a;
    }
    return NULL;
}

/* Takes the detour when a bit of DIFFERS is set that is also in a constant. */
static void detour_if_bits(struct rp_jit_translation *t, uint32_t bits)
{
    struct rp_x86 *e = &t->x86;
    rp_x86_v(e, RP_X86_VPTESTMD, RP_BROADCAST, 1, DIFFERS, rp_jit_constant(t, bits), 0);
    rp_x86_k(e, RP_X86_KORTESTW, 1, 0, rp_reg(1));
    detour_if(t, RP_CC_NE);
}

static struct rp_rm quarter_lane(const struct rp_insn *in, unsigned quarter)
{
    return rp_at(RP_JIT_ROWS, rp_row_disp(in->src[0].index, quarter));
}

/*
 * The quarters' registers become the host's addresses of their first lanes, with the lower offset;
 * from there on so many bytes of LDS follow, and as many more as the other offset is higher.
 */
static void find_quarters(struct rp_jit_translation *t, const struct rp_insn *in,
                          const struct lds_access *a, unsigned bytes)
{
    struct rp_x86 *e = &t->x86;
    const uint32_t one = offset_of(a, in, 0), two = offset_of(a, in, elements(a) - 1);
    const uint32_t low = one < two ? one : two, high = one < two ? two : one;
    rp_x86_load(e, true, GROUP, rp_at(RP_JIT_W, offsetof(struct rp_wave, group)));
    rp_x86_load(e, false, LAST, rp_at(GROUP, offsetof(struct rp_group, lds_bytes)));
    rp_x86_alu_imm(e, false, RP_SUB, rp_reg(LAST), (int32_t)(high - low + bytes));
    detour_if(t, RP_CC_B);
    rp_x86_load(e, true, LDS, rp_at(GROUP, offsetof(struct rp_group, lds)));
    for (unsigned q = 0; q < 4; q++) {
        rp_x86_load(e, false, lds_quarter[q], quarter_lane(in, q));
        if (low) /* The sum is modulo 2^32, as in the handler. */
            rp_x86_alu_imm(e, false, RP_ADD, rp_reg(lds_quarter[q]), (int32_t)low);
        rp_x86_alu(e, false, RP_CMP, lds_quarter[q], rp_reg(LAST));
        detour_if(t, RP_CC_A);
    }
    for (unsigned q = 0; q < 4; q++)
        rp_x86_alu(e, true, RP_ADD, lds_quarter[q], rp_reg(LDS));
}

static struct lines lines_of(const struct rp_insn *in, const struct lds_access *a, unsigned which)
{
    struct lines l = {.disp = 0};
    const uint32_t other = offset_of(a, in, !which), own = offset_of(a, in, which);
    for (unsigned q = 0; q < 4; q++)
        l.reg[q] = lds_quarter[q];
    if (a->unit && own > other)
        l.disp = (int32_t)(own - other);
    return l;
}

static unsigned element_bytes(const struct lds_access *a)
{
    return a->bits ? a->bits / 8 : 4u * a->dwords;
}

static void count_lds(struct rp_jit_translation *t, const struct lds_access *a)
{
    struct rp_x86 *e = &t->x86;
    const int32_t counter =
        offsetof(struct rp_wave_env, counts) + offsetof(struct rp_counts, lds_bytes);
    rp_x86_load(e, true, GROUP, rp_at(GROUP, offsetof(struct rp_group, env)));
    rp_x86_alu_imm(e, true, RP_ADD, rp_at(GROUP, counter),
                   (int32_t)(RP_LANES * element_bytes(a) * elements(a)));
}

/* ---- loads ---- */

/* Fills a slot with the byte of the window, behind its quarter's first lane, at which each lane
 * begins: a multiple of @p align.
 */
static unsigned find_places(struct rp_jit_translation *t, const struct rp_insn *in,
                            unsigned window_bytes, unsigned align)
{
    struct rp_x86 *e = &t->x86;
    const struct rp_src address = rp_src(t, in, 0, 0);
    const unsigned index = rp_result_new(t);
    for (unsigned q = 0; q < 4; q++) {
        rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, EXPECTED, 0, quarter_lane(in, q), 0);
        rp_x86_v(e, RP_X86_VPSUBD, RP_ALL, index + q, rp_src_reg(t, &address, q), rp_reg(EXPECTED),
                 0);
        if (q)
            rp_x86_v(e, RP_X86_VPORD, RP_ALL, DIFFERS, q == 1 ? index : (unsigned)DIFFERS,
                     rp_reg(index + q), 0);
    }
    detour_if_bits(t, ~(window_bytes - align));
    return index;
}

/* Makes numbers of dwords of them. */
static void find_dwords(struct rp_jit_translation *t, unsigned index)
{
    for (unsigned q = 0; q < 4; q++)
        rp_vshift(t, RP_X86_VPSRLD_IMM, index + q, rp_reg(index + q), 2);
}

/* Loads a part of a dword: the dword first, which all of the part lies in. */
static void load_part(struct rp_jit_translation *t, unsigned d, unsigned place,
                      const struct lines *l, const struct lds_access *a)
{
    const unsigned left = 32 - a->bits, down = left - a->up;
    for (unsigned q = 0; q < 4; q++) {
        rp_vshift(t, RP_X86_VPSRLD_IMM, RP_ZMM_TEMP, rp_reg(place + q), 2);
        rp_v3(t, RP_X86_VPERMD, d + q, RP_ZMM_TEMP, rp_at(l->reg[q], l->disp));
        rp_vshift(t, RP_X86_VPSLLD_IMM, RP_ZMM_TEMP2, rp_reg(place + q), 3);
        rp_v3_const(t, RP_X86_VPANDD, RP_ZMM_TEMP2, RP_ZMM_TEMP2, 24);
        rp_v3(t, RP_X86_VPSRLVD, d + q, d + q, rp_reg(RP_ZMM_TEMP2));
        if (!a->has_sign && !a->up) {
            rp_v3_const(t, RP_X86_VPANDD, d + q, d + q, (1u << a->bits) - 1);
            continue;
        }
        rp_vshift(t, RP_X86_VPSLLD_IMM, d + q, rp_reg(d + q), left);
        if (down)
            rp_vshift(t, a->has_sign ? RP_X86_VPSRAD_IMM : RP_X86_VPSRLD_IMM, d + q, rp_reg(d + q),
                      down);
    }
}

/* Loads dwords of one line, or of two. */
static void load_dword(struct rp_jit_translation *t, unsigned d, unsigned index, bool wide,
                       const struct lines *l, unsigned dword)
{
    struct rp_x86 *e = &t->x86;
    for (unsigned q = 0; q < 4; q++) {
        const int32_t disp = l->disp + (int32_t)(4 * dword);
        const struct rp_rm at = rp_at(l->reg[q], disp),
                           behind = rp_at(l->reg[q], disp + LINE_BYTES);
        if (!wide) {
            rp_x86_v(e, RP_X86_VPERMD, RP_ALL, d + q, index + q, at, 0);
            continue;
        }
        rp_x86_v(e, RP_X86_VMOVULOAD, RP_ALL, d + q, 0, at, 0);
        rp_x86_v(e, RP_X86_VPERMT2D, RP_ALL, d + q, index + q, behind, 0);
    }
}

static void write_lds_load(struct rp_jit_translation *t, const struct rp_insn *in,
                           const struct lds_access *a)
{
    const bool wide = a->dwords > 1;
    const unsigned window_bytes = wide ? 2 * LINE_BYTES : LINE_BYTES,
                   rows = a->dwords * elements(a);
    unsigned d[4];
    const unsigned index = find_places(t, in, window_bytes, a->bits ? a->bits / 8 : 4);
    find_quarters(t, in, a, window_bytes + 4 * (a->dwords - 1u));
    count_lds(t, a);
    t->pinned = 1u << index / 4; /* The address's slot is no longer needed. */
    if (!a->bits)
        find_dwords(t, index);
    for (unsigned i = 0; i < rows; i++) {
        const struct lines l = lines_of(in, a, i / a->dwords);
        d[i] = rp_result_new(t);
        if (a->bits)
            load_part(t, d[i], index, &l, a);
        else
            load_dword(t, d[i], index, wide, &l, i % a->dwords);
    }
    for (unsigned i = 0; i < rows; i++)
        rp_result_store(t, d[i], in->dst.index + i);
}

/* ---- stores ---- */

/* Each quarter's lanes are side by side. */
static void check_lds_quarters(struct rp_jit_translation *t, const struct rp_insn *in,
                               unsigned dwords)
{
    struct rp_x86 *e = &t->x86;
    const enum rp_jit_table steps = dwords == 1   ? RP_JIT_FOURS
                                    : dwords == 2 ? RP_JIT_EIGHTS
                                                  : RP_JIT_SIXTEENS;
    const struct rp_src address = rp_src(t, in, 0, 0);
    for (unsigned q = 0; q < 4; q++) {
        const struct rp_rm row = rp_src_rm(t, &address, q);
        rp_x86_v(e, RP_X86_VBROADCAST, RP_ALL, EXPECTED, 0, quarter_lane(in, q), 0);
        rp_x86_v(e, RP_X86_VPADDD, RP_ALL, EXPECTED, EXPECTED, rp_jit_table(t, steps), 0);
        if (q == 0)
            rp_x86_v(e, RP_X86_VPXORD, RP_ALL, DIFFERS, EXPECTED, row, 0);
        else
            rp_x86_v(e, RP_X86_VPTERNLOGD, RP_ALL, DIFFERS, EXPECTED, row, OR_XOR);
    }
    detour_if_bits(t, UINT32_MAX);
}

static void write_lds_store(struct rp_jit_translation *t, const struct rp_insn *in,
                            const struct lds_access *a)
{
    check_lds_quarters(t, in, a->dwords);
    find_quarters(t, in, a, RP_LANES / 4 * 4u * a->dwords);
    count_lds(t, a);
    for (unsigned which = 0; which < elements(a); which++) {
        const struct lines l = lines_of(in, a, which);
        struct rp_src s[4];
        t->pinned = 0;
        for (unsigned i = 0; i < a->dwords; i++)
            s[i] = rp_src_in(t, in, which ? 3 : 1, i, RP_ZMM_PART, RP_ZMM_PART + 2);
        lines_store(t, &l, a->dwords, s);
    }
}

static bool translate_lds(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const struct lds_access *a = find_lds(in);
    if (!a || t->masked)
        return false;
    rp_rows_forget_widened(t);
    begin_detour(t);
    if (a->is_store)
        write_lds_store(t, in, a);
    else
        write_lds_load(t, in, a);
    end_detour(t);
    return true;
}

bool rp_jit_mem_knows(const struct rp_insn *in)
{
    return find(in) || find_lds(in);
}

bool rp_jit_mem(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const struct access *a = find(in);
    if (a && !t->masked) {
        write_flat(t, in, a);
        return true;
    }
    if (!a && is_scalar_load(in)) {
        write_scalar_load(t, in);
        return true;
    }
    return translate_lds(t, in);
}
