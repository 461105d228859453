/*
 * Translated matrix instructions, which keep widened operands within a block, against their
 * handlers: random runs of them among instructions that change the same registers.
 */
#include <stdlib.h>

#include "../isa/wave_fixture.h"
#include "translated_run.h"

enum { SLOTS = 2, LONGEST = 22, PROGRAMS = 1500 };

static uint64_t seed;

static uint32_t next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 32);
}

static unsigned below(unsigned n)
{
    return (next() >> 3) % n;
}

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

static void note_top(struct rp_insn *in, const struct rp_opnd *o)
{
    const uint16_t top = (uint16_t)(o->index + o->dwords);
    if (o->kind == RP_OPND_VGPR && top > in->vgpr_top)
        in->vgpr_top = top;
    if (o->kind == RP_OPND_AGPR && top > in->agpr_top)
        in->agpr_top = top;
}

static struct rp_insn bound(struct rp_insn in)
{
    note_top(&in, &in.dst);
    for (unsigned i = 0; i < 3; i++)
        note_top(&in, &in.src[i]);
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

/* ---- programs ---- */

struct registers {
    uint32_t vgpr[FIXTURE_VGPRS][RP_LANES], agpr[FIXTURE_AGPRS][RP_LANES];
};

static struct registers contents(const struct fixture *f)
{
    struct registers r;
    memcpy(r.vgpr, f->vgpr, sizeof r.vgpr);
    memcpy(r.agpr, f->agpr, sizeof r.agpr);
    return r;
}

/* Floats of the sizes that products like, in f32 and f16, and any bits now and then. */
static uint32_t value(void)
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

static void begin_state(struct fixture *f, uint64_t exec)
{
    fixture_init(f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        for (unsigned r = 0; r < FIXTURE_VGPRS; r++)
            f->vgpr[r][lane] = value();
        for (unsigned r = 0; r < FIXTURE_AGPRS; r++)
            f->agpr[r][lane] = value();
    }
    rp_sgpr64_set(&f->wave, RP_SGPR_EXEC_LO, exec);
}

static void write_program(struct rp_code_page *page, unsigned count)
{
    const unsigned first = below(MATRIX_OPS); /* two kinds of matrix instructions */
    const unsigned kinds[] = {op_named(matrix_ops[first]),
                              op_named(matrix_ops[below(3) ? first : below(MATRIX_OPS)])};
    for (unsigned i = 0; i <= count; i++) {
        const unsigned op = kinds[below(2)];
        struct rp_insn in = {.fn = rp_s_endpgm, .flags = RP_IF_ENDS_BLOCK};
        if (i < count)
            in = below(3) && op ? matrix(op) : other();
        in.size_bytes = 4 * SLOTS;
        in.slot_bytes = SLOTS * sizeof in;
        in.issue_cycles = (uint8_t)(1 + below(60));
        page->insn[i * SLOTS] = in;
    }
}

static void programs_are_the_same(void **state)
{
    static struct fixture f, copy;
    unsigned long long native_insts = 0, insts = 0;
    (void)state;
    if (!rp_jit_translator.available())
        skip();
    for (unsigned i = 0; i < PROGRAMS; i++) {
        const unsigned count = 1 + i % LONGEST;
        struct rp_code_page *page = calloc(1, sizeof *page);
        assert_non_null(page);
        page->base_va = FIXTURE_PC;
        page->refs = 1;
        seed = 77 + i;
        write_program(page, count);
        rp_jit_translator.translate(page, 0, NULL);
        for (unsigned masked = 0; masked < 2; masked++) {
            seed = 9000 + i;
            begin_state(&f, masked ? 0xfedcba9876543210 : ~0ull);
            seed = 9000 + i;
            begin_state(&copy, masked ? 0xfedcba9876543210 : ~0ull);
            const struct outcome a = run_handlers(page, &f.wave, count + 1);
            const struct outcome b = run_translated(page, &copy.wave, count + 1);
            const struct registers wanted = contents(&f), is = contents(&copy);
            native_insts += b.native_insts;
            insts += count + 1;
            assert_int_equal(a.step, RP_STEP_END);
            if (b.step != a.step || b.left != a.left || memcmp(&wanted, &is, sizeof is) ||
                f.wave.cycles != copy.wave.cycles || f.wave.pc != copy.wave.pc)
                fail_msg("program %u, EXEC %u: other registers, cycles or pc", i, masked);
        }
        rp_jit_translator.drop(page);
        free(page);
    }
    /* NaNs among results of other instructions are left to the interpreter. */
    assert_true(native_insts > insts / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_the_same)};
    return cmocka_run_group_tests_name("jit_mfma", tests, NULL, NULL);
}
