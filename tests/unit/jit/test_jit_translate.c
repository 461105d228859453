/*
 * Translated code against the handlers it stands for: single instructions, random programs, and
 * runs of matrix instructions.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device/exec/code_cache.h"
#include "device/jit/jit_translate.h"

#include "effort.h"
#include "unit/isa/wave_fixture.h"
#include "unit/jit/translated_run.h"

/*
 * Translated code against the handlers it stands for: single instructions with all kinds of
 * operands and modifiers, and random programs with jumps, changes of EXEC and short budgets. All of
 * a wave's state is compared: registers, pc, modelled cycles, instructions counted, steps.
 */

enum {
    SLOTS = 2,
    LONGEST = 70,
    PROGRAMS = RP_EFFORT(4000),
    ROUNDS = RP_WITH_SANITIZER ? 9 : 18 /* with fewer, v_div_fmas is never translated */
};

static struct fixture f, start, wanted;
static struct rp_code_page *page;
static uint64_t seed;
static uint64_t native_insts; /* executed by translated code */
static bool with_nan;

static uint32_t next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

static unsigned below(unsigned n)
{
    return (next() >> 3) % n;
}

static uint32_t value(void)
{
    static const uint32_t odd[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                   0x7f7fffff, 0xff7fffff, 0x3f800000, 0xbf800000, 0x80000002,
                                   0x4f000000, 0x4effffff, 31,         32,         0x3c003c00,
                                   0xffffffff, 0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345,
                                   0x7f800001, 0xffa00000, 0x7fffffff, 0x7e007c01};
    uint32_t v = below(3) ? next() : odd[below(with_nan ? 24 : 15)];
    if (!with_nan && (v & 0x7f800000) == 0x7f800000)
        v &= 0xbfffffff;
    if (!with_nan && (v & 0x7c00) == 0x7c00) /* nor in f16 */
        v &= ~0x4000u;
    return v;
}

/* ---- instructions ---- */

static const uint16_t vector_ops[] = {
#define RP_JIT_V(name, function, vop, vop2, imm) RP_OP_##name,
#include "device/jit/jit_valu.def"
    RP_OP_v_mov_b64,
    RP_OP_v_readlane_b32,
    RP_OP_v_writelane_b32,
    RP_OP_v_readfirstlane_b32,
    RP_OP_v_accvgpr_read_b32,
    /* These have no translation: called. */
    RP_OP_v_rcp_f32,
    RP_OP_v_bfe_i32,
    RP_OP_v_cmpx_lt_u32,
    RP_OP_v_swap_b32,
    RP_OP_v_max3_f32,
};

static const struct scalar_op {
    rp_insn_fn *fn;
    bool wide;
} scalar_ops[] = {
#define RP_JIT_S(name, kind, wide, op, cc) {rp_##name, wide},
#include "device/jit/jit_salu.def"
    {rp_s_brev_b32, false},
    {rp_s_nop, false},
    {rp_s_waitcnt, false},
};

enum { VECTOR_OPS = sizeof vector_ops / sizeof vector_ops[0] };
enum { SCALAR_OPS = sizeof scalar_ops / sizeof scalar_ops[0] };

static struct rp_opnd sgpr(unsigned index, unsigned dwords)
{
    return (struct rp_opnd){RP_OPND_SGPR, (uint8_t)dwords, (uint8_t)index, RP_T_B32, 0};
}

/* Few registers, so that instructions meet each other's results. */
static struct rp_opnd scalar_place(unsigned dwords)
{
    unsigned index = 2 * below(6);
    if (!below(6))
        index = RP_SGPR_VCC_LO;
    return sgpr(index, dwords);
}

static struct rp_opnd row_place(unsigned type)
{
    const unsigned dwords = rp_type_dwords(type);
    return (struct rp_opnd){RP_OPND_VGPR, (uint8_t)dwords, (uint8_t)(below(9) * 2), (uint8_t)type,
                            0};
}

static struct rp_opnd source(unsigned type, unsigned kind)
{
    struct rp_opnd o = row_place(type);
    if (type == RP_T_MASK)
        return scalar_place(2);
    if (kind == RP_OPND_VGPR)
        return o;
    if (kind == RP_OPND_SGPR) {
        struct rp_opnd s = scalar_place(o.dwords);
        s.type = (uint8_t)type;
        return s;
    }
    o.kind = RP_OPND_CONST;
    o.imm = (uint64_t)value() << 32 | value();
    if (!below(4))
        o.imm = below(33);
    return o;
}

static void note_top(struct rp_insn *in, const struct rp_opnd *o)
{
    if (o->kind == RP_OPND_VGPR && o->index + o->dwords > in->vgpr_top)
        in->vgpr_top = (uint16_t)(o->index + o->dwords);
    if (o->kind == RP_OPND_AGPR && o->index + o->dwords > in->agpr_top)
        in->agpr_top = (uint16_t)(o->index + o->dwords);
}

static bool is_float_type(unsigned type)
{
    return type == RP_T_F32 || type == RP_T_F64;
}

/* As the decoder would make it: op_sel of packed operands, neg and abs of floats. */
static void choose_modifiers(struct rp_insn *in, unsigned modifiers)
{
    const bool packed = in->dst.type == RP_T_PKF32, halves = in->dst.type == RP_T_PKF16;
    const bool mix = in->fn == rp_valu_mix;
    const bool carries = in->src[3].kind != RP_OPND_NONE;
    for (unsigned i = 0; i < 3; i++) {
        if (in->src[i].kind == RP_OPND_NONE)
            continue;
        const unsigned bit = 1u << i;
        const bool constant = in->src[i].kind == RP_OPND_CONST;
        const bool selects = (packed && !constant) || mix || (halves && modifiers);
        if (selects && next() & 4)
            in->op_sel |= (uint8_t)bit;
        if ((halves && !modifiers) || (selects && next() & 4))
            in->op_sel_hi |= (uint8_t)bit;
        if (modifiers && !carries && (packed || halves || mix || is_float_type(in->src[i].type))) {
            if (next() & 4)
                in->neg |= (uint8_t)bit;
            if (next() & 4)
                in->abs |= (uint8_t)bit;
        }
    }
    if (in->neg || in->abs || in->op_sel || packed || (in->op_sel_hi && (!halves || modifiers)))
        in->flags |= RP_IF_SRCMOD;
}

static struct rp_insn vector(unsigned op, const unsigned kinds[3], unsigned modifiers)
{
    const struct rp_op_row *row = &rp_op_rows[op];
    struct rp_insn in = {.fn = row->fn, .op = (uint16_t)op};
    in.fmt = row->fmt == RP_FMT_VOP3P ? RP_FMT_VOP3P : RP_FMT_VOP3;
    for (unsigned i = 0; i < 4; i++)
        if (row->src[i] != RP_T_NONE)
            in.src[i] = source(row->src[i], i < 3 ? kinds[i] : (unsigned)RP_OPND_SGPR);
    if (row->dst != RP_T_NONE)
        in.dst = row_place(row->dst);
    if (row->sdst != RP_T_NONE)
        in.sdst = op == RP_OP_v_cmpx_lt_u32 ? sgpr(RP_SGPR_EXEC_LO, 2) : scalar_place(2);
    if (op == RP_OP_v_readlane_b32 || op == RP_OP_v_readfirstlane_b32)
        in.dst = scalar_place(1);
    if (op == RP_OP_v_readlane_b32 || op == RP_OP_v_writelane_b32)
        in.src[1] = source(RP_T_B32, kinds[1] == RP_OPND_VGPR ? (unsigned)RP_OPND_CONST : kinds[1]);
    if (op == RP_OP_v_writelane_b32 && in.src[0].kind == RP_OPND_VGPR)
        in.src[0] = scalar_place(1);
    if (op == RP_OP_v_accvgpr_read_b32)
        in.src[0] = (struct rp_opnd){RP_OPND_AGPR, 1, (uint8_t)below(FIXTURE_AGPRS), RP_T_B32, 0};
    if (op == RP_OP_v_swap_b32)
        in.src[0] = row_place(RP_T_B32);
    if (op == RP_OP_v_fmac_f32 || !strcmp(row->mnemonic, "v_fmac_f64")) {
        in.src[2] = in.dst;
        in.src[2].type = row->src[0];
    }
    choose_modifiers(&in, modifiers);
    note_top(&in, &in.dst);
    for (unsigned i = 0; i < 3; i++)
        note_top(&in, &in.src[i]);
    rp_valu_bind(&in);
    return in;
}

static struct rp_insn scalar(unsigned which, unsigned kind0, unsigned kind1)
{
    const struct scalar_op *op = &scalar_ops[which];
    const unsigned dwords = op->wide ? 2 : 1;
    struct rp_insn in = {.fn = op->fn};
    const unsigned type = op->wide ? RP_T_B64 : RP_T_B32;
    in.src[0] = source(type, kind0);
    in.src[1] = source(type, kind1);
    in.dst = scalar_place(dwords);
    if (op->wide && !below(5))
        in.dst = sgpr(RP_SGPR_EXEC_LO, 2);
    return in;
}

static struct rp_insn branch(int distance)
{
    static rp_insn_fn *const ways[] = {rp_s_branch,        rp_s_cbranch_scc0,  rp_s_cbranch_scc1,
                                       rp_s_cbranch_vccz,  rp_s_cbranch_vccnz, rp_s_cbranch_execz,
                                       rp_s_cbranch_execnz};
    struct rp_insn in = {.fn = ways[below(7)], .flags = RP_IF_ENDS_BLOCK};
    in.offset = distance * SLOTS;
    return in;
}

/* ---- programs ---- */

static void put(unsigned index, struct rp_insn in)
{
    in.size_bytes = 4 * SLOTS;
    in.slot_bytes = SLOTS * sizeof in;
    in.issue_cycles = (uint8_t)(1 + below(60));
    page->insn[index * SLOTS] = in;
}

static void begin_program(void)
{
    /* One page for all, of which no program is longer: fresh memory for each takes longer than its
     * test. */
    if (!page)
        page = calloc(1, sizeof *page);
    assert_non_null(page);
    memset(page, 0, offsetof(struct rp_code_page, insn));
    memset(page->insn, 0, (LONGEST + 1) * SLOTS * sizeof page->insn[0]);
    page->base_va = FIXTURE_PC;
    page->refs = 1;
}

static void end_program(unsigned count)
{
    put(count, (struct rp_insn){.fn = rp_s_endpgm, .flags = RP_IF_ENDS_BLOCK});
}

static void begin_state(unsigned round)
{
    static const uint64_t exec[] = {
        ~0ull, ~0ull, 0x8000000000000001, 0xfedcba9876543210, 0, 0x00000000ffff0000};
    fixture_init(&f);
    for (unsigned r = 0; r < FIXTURE_VGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            f.vgpr[r][lane] = value();
    for (unsigned r = 0; r < FIXTURE_AGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            f.agpr[r][lane] = value();
    for (unsigned i = 0; i < RP_SGPR_VCC_LO + 2; i++)
        f.wave.sgpr[i] = round / 6 % 2 && i % 4 < 2 ? 0 : value(); /* masks are often empty */
    f.wave.scc = below(2);
    f.wave.past_barrier = !below(4);
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, exec[round % 6]);
    start = f;
    /* Pointers into itself. */
    start.wave.vgpr = start.vgpr;
    start.wave.agpr = start.agpr;
}

static void same(const char *what, const struct outcome *a, const struct outcome *b)
{
    if (a->step != b->step || a->left != b->left || a->cycles != b->cycles ||
        wanted.wave.pc != f.wave.pc || wanted.wave.cycles != f.wave.cycles)
        fail_msg("%s: step %d, left %u, cycles %llu and %llu, pc 0x%llx; not %d, %u, %llu and "
                 "%llu, 0x%llx",
                 what, b->step, b->left, (unsigned long long)b->cycles,
                 (unsigned long long)f.wave.cycles, (unsigned long long)f.wave.pc, a->step, a->left,
                 (unsigned long long)a->cycles, (unsigned long long)wanted.wave.cycles,
                 (unsigned long long)wanted.wave.pc);
    for (unsigned i = 0; i < RP_SGPR_COUNT; i++)
        if (wanted.wave.sgpr[i] != f.wave.sgpr[i])
            fail_msg("%s: s%u is 0x%x, not 0x%x", what, i, f.wave.sgpr[i], wanted.wave.sgpr[i]);
    assert_int_equal(wanted.wave.scc, f.wave.scc);
    assert_int_equal(wanted.wave.past_barrier, f.wave.past_barrier);
    for (unsigned r = 0; r < FIXTURE_VGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            if (wanted.vgpr[r][lane] != f.vgpr[r][lane])
                fail_msg("%s: v%u lane %u is 0x%x, not 0x%x", what, r, lane, f.vgpr[r][lane],
                         wanted.vgpr[r][lane]);
    assert_memory_equal(wanted.agpr, f.agpr, sizeof f.agpr);
}

/* Both ways from the present state, with that budget. Returns the step both end with. */
static int compare(const char *what, uint32_t budget)
{
    wanted = f;
    wanted.wave.vgpr = wanted.vgpr;
    wanted.wave.agpr = wanted.agpr;
    const struct outcome a = run_handlers(page, &wanted.wave, budget);
    const struct outcome b = run_translated(page, &f.wave, budget);
    native_insts += b.native_insts;
    same(what, &a, &b);
    return a.step;
}

static void drop_program(void)
{
    rp_jit_translator.drop(page);
}

static bool no_translation(void)
{
    rp_jit_set(true);
    return !rp_jit_translator.available();
}

/* ---- tests ---- */

static void one_instruction(struct rp_insn in, const char *name, unsigned round)
{
    begin_program();
    put(0, in);
    end_program(1);
    rp_jit_translator.translate(page, 0, NULL);
    assert_non_null(page->insn[0].native);
    begin_state(round);
    compare(name, 2);
    drop_program();
}

static void vector_instruction(unsigned op)
{
    static const unsigned kind[] = {RP_OPND_VGPR, RP_OPND_SGPR, RP_OPND_CONST};
    const char *name = rp_isa_mnemonic(op);
    unsigned sources = 0;
    while (sources < 3 && rp_op_rows[op].src[sources] != RP_T_NONE)
        sources++;
    const unsigned ways = sources == 3 ? 27 : sources == 2 ? 9 : 3;
    native_insts = 0;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned way = 0; way < ways; way++)
            for (unsigned modifiers = 0; modifiers < 2; modifiers++) {
                const unsigned kinds[3] = {kind[way % 3], kind[way / 3 % 3], kind[way / 9]};
                with_nan = round % 3 == 2;
                one_instruction(vector(op, kinds, modifiers), name, round);
            }
    if (!native_insts)
        fail_msg("%s is never translated", name);
}

static void test_vector(void **state)
{
    (void)state;
    if (no_translation())
        skip();
    seed = 1;
    for (unsigned i = 0; i < VECTOR_OPS; i++)
        vector_instruction(vector_ops[i]);
}

static void test_scalar(void **state)
{
    static const unsigned kind[] = {RP_OPND_SGPR, RP_OPND_CONST};
    (void)state;
    if (no_translation())
        skip();
    seed = 2;
    for (unsigned i = 0; i < SCALAR_OPS; i++) {
        char name[20];
        snprintf(name, sizeof name, "scalar %u", i);
        native_insts = 0;
        for (unsigned round = 0; round < 20 * ROUNDS; round++) {
            with_nan = round % 2;
            one_instruction(scalar(i, kind[round / 2 % 2], kind[round / 4 % 2]), name, round);
        }
        assert_int_not_equal(native_insts, 0);
    }
}

/* Every jump, taken and not. */
static void test_branches(void **state)
{
    (void)state;
    if (no_translation())
        skip();
    seed = 3;
    for (unsigned round = 0; round < 500; round++) {
        begin_program();
        put(0, branch(1));
        put(1, scalar(0, RP_OPND_CONST, RP_OPND_CONST));
        end_program(2);
        rp_jit_translator.translate(page, 0, NULL);
        begin_state(round);
        f.wave.sgpr[RP_SGPR_VCC_LO] *= below(2);
        f.wave.sgpr[RP_SGPR_VCC_LO + 1] *= below(2);
        compare("branch", 3);
        drop_program();
    }
}

static struct rp_insn any_instruction(unsigned at, unsigned count)
{
    static const unsigned kind[] = {RP_OPND_VGPR, RP_OPND_VGPR,  RP_OPND_VGPR,
                                    RP_OPND_SGPR, RP_OPND_CONST, RP_OPND_VGPR};
    const unsigned which = below(16);
    if (which == 0) /* anywhere in the program, and to its end */
        return branch((int)below(count + 1) - (int)at - 1);
    if (which < 5)
        return scalar(below(SCALAR_OPS), next() & 8 ? RP_OPND_SGPR : RP_OPND_CONST,
                      next() & 8 ? RP_OPND_SGPR : RP_OPND_CONST);
    const unsigned kinds[3] = {kind[below(6)], kind[below(6)], kind[below(6)]};
    return vector(vector_ops[below(VECTOR_OPS)], kinds, !below(3));
}

static void test_programs(void **state)
{
    char name[40];
    (void)state;
    if (no_translation())
        skip();
    native_insts = 0;
    for (unsigned i = 0; i < PROGRAMS; i++) {
        const unsigned count = 1 + i % LONGEST;
        seed = 1000 + i;
        snprintf(name, sizeof name, "program %u", i);
        with_nan = i % 8 == 0;
        begin_program();
        for (unsigned at = 0; at < count; at++)
            put(at, any_instruction(at, count));
        end_program(count);
        rp_jit_translator.translate(page, 0, NULL);
        if (i % 4 == 0) /* a second region, of the same code */
            rp_jit_translator.translate(page, below(count) * SLOTS, NULL);
        begin_state(i);
        compare(name, 1 + below(300));
        drop_program();
    }
    assert_true(native_insts > PROGRAMS * 10ull);
}

/* What a wave has to have for a region, and that code still undecoded ends it. */
static void test_limits(void **state)
{
    static const unsigned rows_only[3] = {RP_OPND_VGPR, RP_OPND_VGPR, RP_OPND_VGPR};
    (void)state;
    if (no_translation())
        skip();
    seed = 5;
    with_nan = false;
    begin_program();
    put(0, vector(RP_OP_v_add_u32, rows_only, 0));
    put(1, vector(RP_OP_v_add_u32, rows_only, 0)); /* index 2 is not decoded */
    rp_jit_translator.translate(page, 0, NULL);
    const struct rp_jit_entry *native = page->insn[0].native;
    assert_non_null(native);
    assert_int_equal(native->insts, 2);
    begin_state(0);
    assert_true(rp_jit_fits(native, &f.wave, 2));
    assert_false(rp_jit_fits(native, &f.wave, 1));
    f.wave.vgpr_count = native->vgpr_top - 1u;
    assert_false(rp_jit_fits(native, &f.wave, 2));
    f.wave.vgpr_count = native->vgpr_top;
    f.wave.gpr_idx = RP_VALU_MODE;
    assert_false(rp_jit_fits(native, &f.wave, 2));
    f.wave.gpr_idx = 0;
    struct rp_jit_state s = {.left = 100};
    assert_int_equal(native->enter(&f.wave, &s, native->code), RP_JIT_ELSEWHERE);
    assert_int_equal(s.left, 98);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 16);
    drop_program();
}

/*
 * Translated matrix instructions, which keep widened operands within a block, against their
 * handlers: random runs of them among instructions that change the same registers.
 */

enum { MATRIX_LONGEST = 22, MATRIX_PROGRAMS = 1500 };

/* Those of lane_mfma.def; what is gfx950's alone, or has no parts, is called. */
static const char *const matrix_ops[] = {
#define RP_MFMA(name, m, blocks, p, type_a, type_b, how) #name,
#define RP_SMFMAC(name, ...)                             #name,
#define RP_MFMA_F64(name)                                #name,
#define RP_MFMA_F8F6F4(name, m)
#include "device/isa/lane_mfma.def"
};
enum { MATRIX_OPS = sizeof matrix_ops / sizeof matrix_ops[0] };

static unsigned op_named(const char *mnemonic)
{
    for (unsigned op = 1; op < RP_OP_MAX; op++)
        if (!strcmp(rp_op_rows[op].mnemonic, mnemonic))
            return op;
    return 0;
}

static struct rp_opnd row_at(unsigned kind, unsigned type, unsigned index)
{
    return (struct rp_opnd){(uint8_t)kind, (uint8_t)rp_type_dwords(type), (uint8_t)index,
                            (uint8_t)type, 0};
}

/* Few places, so that instructions meet each other's operands and results. */
static struct rp_opnd some_row(unsigned type)
{
    const unsigned dwords = rp_type_dwords(type);
    if (dwords <= FIXTURE_AGPRS / 2 && !below(4))
        return row_at(RP_OPND_AGPR, type, 2 * below((FIXTURE_AGPRS - dwords) / 2 + 1));
    const unsigned places = (FIXTURE_VGPRS - dwords) / 4 + 1;
    return row_at(RP_OPND_VGPR, type, 4 * below(places));
}

static void note_end(struct rp_insn *in, const struct rp_opnd *o)
{
    const uint16_t top = (uint16_t)(o->index + o->dwords);
    if (o->kind == RP_OPND_VGPR && top > in->vgpr_top)
        in->vgpr_top = top;
    if (o->kind == RP_OPND_AGPR && top > in->agpr_top)
        in->agpr_top = top;
}

static struct rp_insn bound(struct rp_insn in)
{
    note_end(&in, &in.dst);
    for (unsigned i = 0; i < 3; i++)
        note_end(&in, &in.src[i]);
    rp_valu_bind(&in);
    return in;
}

static struct rp_insn matrix(unsigned op)
{
    const struct rp_op_row *row = &rp_op_rows[op];
    struct rp_insn in = {.fn = row->fn, .op = (uint16_t)op, .fmt = RP_FMT_VOP3P};
    in.src[0] = some_row(row->src[0]);
    in.src[1] = some_row(row->src[1]);
    in.dst = some_row(row->dst);
    in.src[2] = below(5) && row->src[2] == row->dst ? in.dst : some_row(row->src[2]);
    if (!below(12) && row->src[2] == row->dst)
        in.src[2] = (struct rp_opnd){RP_OPND_CONST, in.dst.dwords, 0, row->src[2], 0x3f800000};
    in.cbsz = !below(12);
    in.blgp = (uint8_t)(below(12) ? 0 : below(8));
    in = bound(in);
    if (in.fn == rp_mfma)
        return in;
    in.cbsz = in.blgp = 0; /* modifiers that it does not have */
    in.fn = row->fn;
    rp_valu_bind(&in);
    return in;
}

static struct rp_insn other(void)
{
    static const uint16_t ops[] = {RP_OP_v_mov_b32,          RP_OP_v_add_f32,
                                   RP_OP_v_swap_b32,         RP_OP_v_rcp_f32,
                                   RP_OP_v_accvgpr_read_b32, RP_OP_v_accvgpr_write_b32,
                                   RP_OP_ds_swizzle_b32,     RP_OP_v_lshlrev_b64};
    const unsigned op = ops[below(sizeof ops / sizeof ops[0])];
    const struct rp_op_row *row = &rp_op_rows[op];
    struct rp_insn in = {.fn = row->fn, .op = (uint16_t)op, .fmt = row->fmt};
    in.dst = row_at(RP_OPND_VGPR, row->dst, below(FIXTURE_VGPRS - 1));
    for (unsigned i = 0; i < 2; i++)
        if (row->src[i] != RP_T_NONE)
            in.src[i] = row_at(RP_OPND_VGPR, row->src[i], below(FIXTURE_VGPRS - 1));
    if (op == RP_OP_v_swap_b32)
        in.src[0] = row_at(RP_OPND_VGPR, RP_T_B32, below(FIXTURE_VGPRS));
    if (op == RP_OP_v_accvgpr_read_b32)
        in.src[0] = row_at(RP_OPND_AGPR, RP_T_B32, below(FIXTURE_AGPRS));
    if (op == RP_OP_v_accvgpr_write_b32)
        in.dst = row_at(RP_OPND_AGPR, RP_T_B32, below(FIXTURE_AGPRS));
    if (op == RP_OP_ds_swizzle_b32)
        in.offset = 0x041f; /* every lane from its neighbour */
    return bound(in);
}

/* Floats of the sizes that products like, in f32 and f16, and any bits now and then. */
static uint32_t small_value(void)
{
    switch (below(40)) {
    case 0:
        return 0x7fc12345;
    case 1:
        return 0x7c007e01; /* f16: infinity, NaN */
    case 2:
        return next();
    default:
        return 0x38003800 + (next() & 0x87ff87ff);
    }
}

static void begin_registers(uint64_t exec)
{
    fixture_init(&f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        for (unsigned r = 0; r < FIXTURE_VGPRS; r++)
            f.vgpr[r][lane] = small_value();
        for (unsigned r = 0; r < FIXTURE_AGPRS; r++)
            f.agpr[r][lane] = small_value();
    }
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, exec);
}

static void put_matrix_program(unsigned count)
{
    const unsigned first = below(MATRIX_OPS); /* two kinds of matrix instructions */
    const unsigned kinds[] = {op_named(matrix_ops[first]),
                              op_named(matrix_ops[below(3) ? first : below(MATRIX_OPS)])};
    for (unsigned i = 0; i < count; i++) {
        const unsigned op = kinds[below(2)];
        put(i, below(3) && op ? matrix(op) : other());
    }
    end_program(count);
}

static void test_matrix_programs(void **state)
{
    const uint64_t native_before = native_insts;
    uint64_t insts = 0;
    (void)state;
    if (no_translation())
        skip();
    for (unsigned i = 0; i < MATRIX_PROGRAMS; i++) {
        const unsigned count = 1 + i % MATRIX_LONGEST;
        begin_program();
        seed = 77 + i;
        put_matrix_program(count);
        rp_jit_translator.translate(page, 0, NULL);
        for (unsigned masked = 0; masked < 2; masked++) {
            char what[64];
            seed = 9000 + i;
            begin_registers(masked ? 0xfedcba9876543210 : ~0ull);
            snprintf(what, sizeof what, "matrix program %u, EXEC %u", i, masked);
            assert_int_equal(compare(what, count + 1), RP_STEP_END);
            insts += count + 1;
        }
        drop_program();
    }
    /* NaNs among results of other instructions are left to the interpreter. */
    assert_true(native_insts - native_before > insts / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector),   cmocka_unit_test(test_scalar),
        cmocka_unit_test(test_branches), cmocka_unit_test(test_programs),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_matrix_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
