/* Scalar ALU results and SCC. Expected values are written out, not computed by the code's rules. */
#include "arch/arch.h"
#include "device/isa/wave_state.h"
#include "wave_fixture.h"

#include "device/exec/dispatch.c"

enum { A = 2, B = 4, D = 20 }; /* s[2:3], s[4:5], s[20:21] */

struct row {
    const char *mnemonic;
    uint64_t a, b;
    unsigned scc_in;
    uint64_t result;
    unsigned scc;
};

#define KEEP 2 /* scc column: unchanged whatever it was */

static const struct row rows[] = {
    /* unsigned: carry and borrow */
    {"s_add_u32", 0xffffffff, 1, 0, 0, 1},
    {"s_add_u32", 0x7fffffff, 1, 1, 0x80000000, 0},
    {"s_sub_u32", 3, 5, 0, 0xfffffffe, 1},
    {"s_sub_u32", 5, 5, 1, 0, 0},
    {"s_addc_u32", 0xffffffff, 0, 1, 0, 1},
    {"s_addc_u32", 0xffffffff, 0xffffffff, 1, 0xffffffff, 1},
    {"s_addc_u32", 1, 2, 1, 4, 0},
    {"s_addc_u32", 1, 2, 0, 3, 0},
    {"s_subb_u32", 0, 0, 1, 0xffffffff, 1},
    {"s_subb_u32", 0, 0xffffffff, 1, 0, 1},
    {"s_subb_u32", 7, 2, 1, 4, 0},
    /* signed: overflow */
    {"s_add_i32", 0x7fffffff, 1, 0, 0x80000000, 1},
    {"s_add_i32", 0xffffffff, 1, 1, 0, 0},
    {"s_add_i32", 0x80000000, 0x80000000, 0, 0, 1},
    {"s_sub_i32", 0x80000000, 1, 0, 0x7fffffff, 1},
    {"s_sub_i32", 3, 5, 1, 0xfffffffe, 0},
    {"s_sub_i32", 0, 0x80000000, 0, 0x80000000, 1},
    {"s_min_i32", 0xffffffff, 1, 0, 0xffffffff, 1},
    {"s_min_i32", 5, 5, 1, 5, 0},
    {"s_min_u32", 0xffffffff, 1, 1, 1, 0},
    {"s_max_i32", 0xffffffff, 1, 1, 1, 0},
    {"s_max_u32", 0xffffffff, 1, 0, 0xffffffff, 1},
    {"s_cselect_b32", 11, 22, 1, 11, KEEP},
    {"s_cselect_b32", 11, 22, 0, 22, KEEP},
    {"s_cselect_b64", 0x1100000011, 0x2200000022, 0, 0x2200000022, KEEP},
    /* logic */
    {"s_and_b32", 0xf0, 0x0f, 1, 0, 0},
    {"s_and_b64", 0x100000000, 0x100000000, 0, 0x100000000, 1},
    {"s_or_b32", 0xf0, 0x0f, 0, 0xff, 1},
    {"s_or_b32", 0, 0, 1, 0, 0},
    {"s_nand_b64", ~0ull, 0xfffffffffffffff0, 0, 0xf, 1},
    {"s_nand_b64", ~0ull, ~0ull, 1, 0, 0},
    {"s_nor_b32", 0xffff0000, 0xff, 0, 0xff00, 1},
    {"s_nor_b32", 0xffff0000, 0xffff, 1, 0, 0},
    {"s_xnor_b64", 0x0f, 0xfffffffffffffff0, 1, 0, 0},
    {"s_xnor_b64", 0x0f, 0x0f, 0, ~0ull, 1},
    {"s_or_b64", 0, 0x8000000000000000, 0, 0x8000000000000000, 1},
    {"s_xor_b32", 5, 5, 1, 0, 0},
    {"s_xor_b64", 5, 0x100000005, 0, 0x100000000, 1},
    {"s_andn2_b64", 0xff, 0x0f, 0, 0xf0, 1},
    {"s_andn2_b32", 0x0f, 0xff, 1, 0, 0},
    {"s_orn2_b64", 0, 0xffffffffffffffff, 1, 0, 0},
    {"s_orn2_b32", 0, 0xfffffff0, 0, 0xf, 1},
    {"s_nand_b32", 0xffffffff, 0xffffffff, 1, 0, 0},
    {"s_nor_b64", 1, 2, 0, 0xfffffffffffffffc, 1},
    {"s_xnor_b32", 0xff, 0xff, 0, 0xffffffff, 1},
    /* shifts use 5 or 6 bits of the count */
    {"s_lshl_b32", 1, 33, 0, 2, 1},
    {"s_lshl_b32", 0x80000000, 1, 1, 0, 0},
    {"s_lshl_b64", 1, 33, 0, 0x200000000, 1},
    {"s_lshl_b64", 1, 64, 0, 1, 1},
    {"s_lshr_b32", 0x80000000, 31, 0, 1, 1},
    {"s_lshr_b64", 0x8000000000000000, 63, 0, 1, 1},
    {"s_ashr_i32", 0x80000000, 31, 0, 0xffffffff, 1},
    {"s_ashr_i64", 0x8000000000000000, 60, 0, 0xfffffffffffffff8, 1},
    {"s_bfm_b32", 4, 8, 1, 0xf00, KEEP},
    {"s_bfm_b64", 4, 40, 0, 0xf0000000000, KEEP},
    {"s_bfe_u32", 0xabcd1234, 8 | 8 << 16, 0, 0x12, 1},
    {"s_bfe_u32", 0xabcd1234, 0, 1, 0, 0},
    {"s_bfe_i32", 0x0000f000, 12 | 4 << 16, 0, 0xffffffff, 1},
    {"s_bfe_i32", 0x00007000, 12 | 4 << 16, 0, 7, 1},
    {"s_bfe_u64", 0x123456789abcdef0, 32 | 16 << 16, 0, 0x5678, 1},
    {"s_bfe_i64", 0x0000800000000000, 32 | 16 << 16, 0, 0xffffffffffff8000, 1},
    /* multiplies leave SCC alone */
    {"s_mul_i32", 0xffffffff, 7, 1, 0xfffffff9, KEEP},
    {"s_mul_hi_u32", 0xffffffff, 0xffffffff, 0, 0xfffffffe, KEEP},
    {"s_mul_hi_i32", 0xffffffff, 7, 1, 0xffffffff, KEEP},
    {"s_absdiff_i32", 3, 10, 0, 7, 1},
    {"s_absdiff_i32", 10, 10, 1, 0, 0},
    {"s_lshl1_add_u32", 0x80000000, 1, 0, 1, 1},
    {"s_lshl2_add_u32", 3, 5, 1, 17, 0},
    {"s_lshl3_add_u32", 3, 5, 1, 29, 0},
    {"s_lshl4_add_u32", 0x10000000, 0, 0, 0, 1},
    {"s_pack_ll_b32_b16", 0x11112222, 0x33334444, 0, 0x44442222, KEEP},
    {"s_pack_lh_b32_b16", 0x11112222, 0x33334444, 1, 0x33332222, KEEP},
    {"s_pack_hh_b32_b16", 0x11112222, 0x33334444, 0, 0x33331111, KEEP},
    /* one source */
    {"s_mov_b32", 7, 0, 1, 7, KEEP},
    {"s_mov_b64", 0x700000007, 0, 0, 0x700000007, KEEP},
    {"s_not_b32", 0xffffffff, 0, 1, 0, 0},
    {"s_not_b64", 0, 0, 0, 0xffffffffffffffff, 1},
    {"s_brev_b32", 1, 0, 1, 0x80000000, KEEP},
    {"s_brev_b64", 1, 0, 0, 0x8000000000000000, KEEP},
    {"s_bcnt0_i32_b32", 0xffffffff, 0, 1, 0, 0},
    {"s_bcnt0_i32_b64", 0, 0, 0, 64, 1},
    {"s_bcnt1_i32_b32", 0xff00ff, 0, 0, 16, 1},
    {"s_bcnt1_i32_b64", 0x8000000000000001, 0, 0, 2, 1},
    {"s_ff0_i32_b32", 0xffffffff, 0, 1, 0xffffffff, KEEP},
    {"s_ff0_i32_b64", 0x7, 0, 0, 3, KEEP},
    {"s_ff1_i32_b32", 0x80000000, 0, 1, 31, KEEP},
    {"s_ff1_i32_b32", 0, 0, 1, 0xffffffff, KEEP},
    {"s_ff1_i32_b64", 0x100000000, 0, 0, 32, KEEP},
    {"s_flbit_i32_b32", 1, 0, 1, 31, KEEP},
    {"s_flbit_i32_b32", 0, 0, 0, 0xffffffff, KEEP},
    {"s_flbit_i32_b64", 1, 0, 0, 63, KEEP},
    {"s_flbit_i32", 0xfffffff0, 0, 1, 28, KEEP},
    {"s_flbit_i32", 0xffffffff, 0, 1, 0xffffffff, KEEP},
    {"s_flbit_i32_i64", 0x1, 0, 0, 63, KEEP},
    {"s_sext_i32_i8", 0x180, 0, 1, 0xffffff80, KEEP},
    {"s_sext_i32_i16", 0x18000, 0, 0, 0xffff8000, KEEP},
    {"s_wqm_b32", 0x10000802, 0, 0, 0xf0000f0f, 1},
    {"s_wqm_b32", 0, 0, 1, 0, 0},
    {"s_wqm_b64", 0x4000000000000010, 0, 0, 0xf0000000000000f0, 1},
    {"s_quadmask_b32", 0x80000001, 0, 0, 0x81, 1},
    {"s_quadmask_b64", 0x8000000000000000, 0, 0, 0x8000, 1},
    {"s_abs_i32", 0xfffffffb, 0, 0, 5, 1},
    {"s_abs_i32", 0x80000000, 0, 0, 0x80000000, 1},
    {"s_bitreplicate_b64_b32", 0x80000001, 0, 1, 0xc000000000000003, KEEP},
    /* compares: no result */
    {"s_cmp_eq_i32", 5, 5, 0, 0, 1},
    {"s_cmp_lg_i32", 5, 5, 1, 0, 0},
    {"s_cmp_gt_i32", 0xffffffff, 0, 1, 0, 0},
    {"s_cmp_ge_i32", 0, 0xffffffff, 0, 0, 1},
    {"s_cmp_lt_i32", 0xffffffff, 0, 0, 0, 1},
    {"s_cmp_le_i32", 1, 0xffffffff, 1, 0, 0},
    {"s_cmp_gt_u32", 0xffffffff, 0, 0, 0, 1},
    {"s_cmp_ge_u32", 0, 0xffffffff, 1, 0, 0},
    {"s_cmp_lt_u32", 0xffffffff, 0, 1, 0, 0},
    {"s_cmp_le_u32", 1, 0xffffffff, 0, 0, 1},
    {"s_cmp_eq_u32", 1, 2, 1, 0, 0},
    {"s_cmp_lg_u32", 1, 2, 0, 0, 1},
    {"s_cmp_eq_u64", 0x100000001, 1, 1, 0, 0},
    {"s_cmp_lg_u64", 0x100000001, 1, 0, 0, 1},
    {"s_bitcmp0_b32", 4, 34, 1, 0, 0},
    {"s_bitcmp1_b32", 4, 34, 0, 0, 1},
    {"s_bitcmp0_b64", 0x100000000, 32, 1, 0, 0},
    {"s_bitcmp1_b64", 0x100000000, 96, 0, 0, 1},
};

static unsigned op_named(const char *mnemonic)
{
    for (unsigned op = 1; op < RP_OP_MAX; op++)
        if (strcmp(rp_op_rows[op].mnemonic, mnemonic) == 0)
            return op;
    fail_msg("no row %s", mnemonic);
    return 0;
}

static uint32_t encode(const struct rp_op_row *row)
{
    switch (row->fmt) {
    case RP_FMT_SOP1:
        return 0xbe800000u | D << 16 | (uint32_t)row->opcode << 8 | A;
    case RP_FMT_SOP2:
        return 0x80000000u | (uint32_t)row->opcode << 23 | D << 16 | B << 8 | A;
    default:
        return 0xbf000000u | (uint32_t)row->opcode << 16 | B << 8 | A;
    }
}

static void step_word(struct fixture *f, uint32_t word)
{
    struct rp_insn in;
    f->wave.pc += rp_isa_decode(&word, 1, &in);
    assert_int_equal(in.fn(&f->wave, &in), RP_STEP_NEXT);
}

static void test_rows(void **state)
{
    (void)state;
    static struct fixture f;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        const struct rp_op_row *op = &rp_op_rows[op_named(r->mnemonic)];
        fixture_init(&f);
        rp_sgpr64_set(&f.wave, A, r->a);
        rp_sgpr64_set(&f.wave, B, r->b);
        f.wave.scc = r->scc_in;
        step_word(&f, encode(op));
        uint64_t got = rp_sgpr64(&f.wave, D);
        unsigned want_scc = r->scc == KEEP ? r->scc_in : r->scc;
        if (got != r->result || f.wave.scc != want_scc)
            fail_msg("row %zu %s: result 0x%llx scc %u, expected 0x%llx scc %u", i, r->mnemonic,
                     (unsigned long long)got, f.wave.scc, (unsigned long long)r->result, want_scc);
    }
}

/* 16-bit constants are sign-extended for signed compares, zero-extended for unsigned ones. */
static void test_compares_with_constants(void **state)
{
    (void)state;
    static const struct {
        const char *mnemonic;
        uint32_t value, constant;
        unsigned scc;
    } cases[] = {
        {"s_cmpk_eq_i32", 0xffff8000, 0x8000, 1}, {"s_cmpk_eq_i32", 0x8000, 0x8000, 0},
        {"s_cmpk_lg_i32", 0xffffffff, 0xffff, 0}, {"s_cmpk_lg_i32", 0xffff, 0xffff, 1},
        {"s_cmpk_gt_i32", 0, 0xffff, 1},          {"s_cmpk_gt_i32", 0xffffffff, 0xffff, 0},
        {"s_cmpk_ge_i32", 0xffffffff, 0xffff, 1}, {"s_cmpk_ge_i32", 0xfffffffe, 0xffff, 0},
        {"s_cmpk_lt_i32", 0x80000000, 0x8000, 1}, {"s_cmpk_lt_i32", 0, 0xffff, 0},
        {"s_cmpk_le_i32", 0xffff8000, 0x8000, 1}, {"s_cmpk_le_i32", 0x7fffffff, 0x7fff, 0},
        {"s_cmpk_eq_u32", 0x8000, 0x8000, 1},     {"s_cmpk_eq_u32", 0xffff8000, 0x8000, 0},
        {"s_cmpk_lg_u32", 0xffffffff, 0xffff, 1}, {"s_cmpk_lg_u32", 0xffff, 0xffff, 0},
        {"s_cmpk_gt_u32", 0x10000, 0xffff, 1},    {"s_cmpk_gt_u32", 0, 0xffff, 0},
        {"s_cmpk_ge_u32", 0xffff, 0xffff, 1},     {"s_cmpk_ge_u32", 0xfffe, 0xffff, 0},
        {"s_cmpk_lt_u32", 0x7fff, 0x8000, 1},     {"s_cmpk_lt_u32", 0xffff8000, 0x8000, 0},
        {"s_cmpk_le_u32", 0xffff, 0xffff, 1},     {"s_cmpk_le_u32", 0x10000, 0xffff, 0},
    };
    static struct fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct rp_op_row *op = &rp_op_rows[op_named(cases[i].mnemonic)];
        fixture_init(&f);
        f.wave.scc = !cases[i].scc;
        f.wave.sgpr[A] = cases[i].value;
        step_word(&f, 0xb0000000u | (uint32_t)op->opcode << 23 | A << 16 | cases[i].constant);
        if (f.wave.scc != cases[i].scc || f.wave.sgpr[A] != cases[i].value)
            fail_msg("%s 0x%x, 0x%x", cases[i].mnemonic, cases[i].value, cases[i].constant);
    }
}

/* What a program cannot see happen, happens not: no register but the program counter changes. */
static void test_without_effect(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t word;
    } cases[] = {
        {"s_nop 15", 0xbf80000f},
        {"s_wakeup", 0xbf830000},
        {"s_waitcnt vmcnt(0)", 0xbf8c0f70},
        {"s_sethalt 0", 0xbf8d0000},
        {"s_setkill 0", 0xbf8b0000},
        {"s_setprio 3", 0xbf8f0003},
        {"s_incperflevel 1", 0xbf940001},
        {"s_decperflevel 1", 0xbf950001},
        {"s_ttracedata", 0xbf960000},
        {"s_cbranch_cdbgsys 4", 0xbf970004}, /* no debugger, so no condition */
        {"s_cbranch_cdbguser 4", 0xbf980004},
        {"s_cbranch_cdbgsys_or_user 4", 0xbf990004},
        {"s_cbranch_cdbgsys_and_user 4", 0xbf9a0004},
        {"v_nop", 0x7e000000},
        {"v_clrexcp", 0x7e006a00},
    };
    static struct fixture f, before;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_init(&f);
        f.wave.scc = 1;
        before = f;
        run(&f, cases[i].text, cases[i].word, 0);
        assert_int_equal(f.wave.pc, FIXTURE_PC + 4);
        f.wave.pc = FIXTURE_PC;
        assert_memory_equal(&f, &before, sizeof f);
    }
}

static void test_saveexec(void **state)
{
    (void)state;
    static const struct {
        const char *mnemonic;
        uint64_t exec, source, new_exec, dst;
    } cases[] = {
        {"s_and_saveexec_b64", 0xff, 0x0f, 0x0f, 0xff},
        {"s_and_saveexec_b64", 0xff, 0xf00, 0, 0xff},
        {"s_or_saveexec_b64", 0xff, 0xf00, 0xfff, 0xff},
        {"s_xor_saveexec_b64", 0xff, 0x0f, 0xf0, 0xff},
        {"s_andn2_saveexec_b64", 0x0f, 0xff, 0xf0, 0x0f},
        {"s_orn2_saveexec_b64", ~0xfull, 0x100, 0x10f, ~0xfull},
        {"s_nand_saveexec_b64", ~0ull, ~0xfull, 0xf, ~0ull},
        {"s_nor_saveexec_b64", ~0xffull, 0xf, 0xf0, ~0xffull},
        {"s_xnor_saveexec_b64", 0xff, 0xff, ~0ull, 0xff},
        {"s_andn1_saveexec_b64", 0xff, 0x0f, 0xf0, 0xff},
        {"s_orn1_saveexec_b64", 0xf, ~0xf0ull, 0xff, 0xf},
        {"s_andn1_wrexec_b64", 0xff, 0x0f, 0xf0, 0xf0},
        {"s_andn2_wrexec_b64", 0x0f, 0xff, 0xf0, 0xf0},
    };
    static struct fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture_init(&f);
        rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, cases[i].exec);
        rp_sgpr64_set(&f.wave, A, cases[i].source);
        step_word(&f, encode(&rp_op_rows[op_named(cases[i].mnemonic)]));
        assert_int_equal(RP_EXEC(&f.wave), cases[i].new_exec);
        assert_int_equal(rp_sgpr64(&f.wave, D), cases[i].dst);
        assert_int_equal(f.wave.scc, cases[i].new_exec != 0);
    }
}

static void test_read_modify(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    f.wave.sgpr[D] = 0xf0;
    run(&f, "s_mov_b32 s2, 35", 0xbe8200a3, 0);
    run(&f, "s_bitset1_b32 s20, s2", 0xbe941a02, 0);
    assert_int_equal(f.wave.sgpr[D], 0xf8);
    run(&f, "s_bitset0_b32 s20, s2", 0xbe941802, 0);
    assert_int_equal(f.wave.sgpr[D], 0xf0);
    run(&f, "s_bitset1_b32 s20, s2", 0xbe941a02, 0);
    run(&f, "s_bitset0_b64 s[20:21], s2", 0xbe941902, 0);
    assert_int_equal(rp_sgpr64(&f.wave, D), 0xf8);
    run(&f, "s_bitset1_b64 s[20:21], s2", 0xbe941b02, 0);
    assert_int_equal(rp_sgpr64(&f.wave, D), 0x8000000f8);
    run(&f, "s_cmp_eq_u32 s2, 35", 0xbf06a302, 0);
    run(&f, "s_cmov_b32 s20, -1", 0xbe9402c1, 0);
    assert_int_equal(f.wave.sgpr[D], 0xffffffff);
    run(&f, "s_cmp_eq_u32 s2, 36", 0xbf06a402, 0);
    run(&f, "s_cmov_b64 s[20:21], 0", 0xbe940380, 0);
    assert_int_equal(rp_sgpr64(&f.wave, D), 0x8ffffffff);
    run(&f, "s_cmovk_i32 s20, 0x7", 0xb0940007, 0); /* SCC is 0 */
    assert_int_equal(f.wave.sgpr[D], 0xffffffff);
    f.wave.scc = 1;
    run(&f, "s_cmovk_i32 s20, 0xfff0", 0xb094fff0, 0);
    assert_int_equal(f.wave.sgpr[D], 0xfffffff0);
    f.wave.scc = 0;
    run(&f, "s_movk_i32 s20, 0x8000", 0xb0148000, 0);
    assert_int_equal(f.wave.sgpr[D], 0xffff8000);
    run(&f, "s_addk_i32 s20, 0x8000", 0xb7148000, 0);
    assert_int_equal(f.wave.sgpr[D], 0xffff0000);
    assert_int_equal(f.wave.scc, 0);
    run(&f, "s_mulk_i32 s20, 0xffff", 0xb794ffff, 0);
    assert_int_equal(f.wave.sgpr[D], 0x10000);
    run(&f, "s_cmpk_eq_u32 s2, 0x23", 0xb4020023, 0);
    assert_int_equal(f.wave.scc, 1);
    f.wave.sgpr[2] = 0xffff8000;
    run(&f, "s_cmpk_eq_i32 s2, 0x8000", 0xb1028000, 0);
    assert_int_equal(f.wave.scc, 1);
    run(&f, "s_cmpk_eq_u32 s2, 0x8000", 0xb4028000, 0);
    assert_int_equal(f.wave.scc, 0);
}

static void test_constants(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    run(&f, "s_mov_b64 s[20:21], -16", 0xbe9401d0, 0);
    assert_int_equal(rp_sgpr64(&f.wave, D), 0xfffffffffffffff0);
    run(&f, "s_mov_b64 s[20:21], 0x80000001", 0xbe9401ff, 0x80000001);
    assert_int_equal(rp_sgpr64(&f.wave, D), 0x80000001);
    run(&f, "s_mov_b64 s[20:21], 1.0", 0xbe9401f2, 0);
    assert_int_equal(rp_sgpr64(&f.wave, D), 0x3ff0000000000000);
    run(&f, "s_mov_b32 s20, 0.15915494", 0xbe9400f8, 0);
    assert_int_equal(f.wave.sgpr[D], 0x3e22f983);
    run(&f, "s_mov_b64 s[20:21], src_shared_base", 0xbe9401eb, 0);
    assert_int_equal(rp_sgpr64(&f.wave, D), 0x1000000000000);
    rp_sgpr64_set(&f.wave, RP_SGPR_VCC_LO, 0);
    run(&f, "s_mov_b32 s20, src_vccz", 0xbe9400fb, 0);
    assert_int_equal(f.wave.sgpr[D], 1);
    run(&f, "s_mov_b32 s20, src_execz", 0xbe9400fc, 0);
    assert_int_equal(f.wave.sgpr[D], 0);
}

static void test_jumps(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    run(&f, "s_branch 65535", 0xbf82ffff, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC);
    run(&f, "s_cbranch_scc1 16", 0xbf850010, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 4);
    run(&f, "s_cbranch_scc0 1", 0xbf840001, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 12);
    f.wave.scc = 1;
    run(&f, "s_cbranch_scc0 1", 0xbf840001, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 16);
    f.wave.pc = FIXTURE_PC + 4;
    run(&f, "s_cbranch_scc1 16", 0xbf850010, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 8 + 64);
    f.wave.pc = FIXTURE_PC;
    run(&f, "s_cbranch_execz 16", 0xbf880010, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 4);
    run(&f, "s_cbranch_execnz 3", 0xbf890003, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 8 + 12);
    f.wave.pc = FIXTURE_PC;
    run(&f, "s_cbranch_vccz 1", 0xbf860001, 0); /* VCC is 0 */
    assert_int_equal(f.wave.pc, FIXTURE_PC + 8);
    run(&f, "s_cbranch_vccnz 1", 0xbf870001, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 12);
    run(&f, "s_getpc_b64 s[2:3]", 0xbe821c00, 0);
    assert_int_equal(rp_sgpr64(&f.wave, 2), FIXTURE_PC + 16);
    rp_sgpr64_set(&f.wave, 2, 0x7f0000001000);
    run(&f, "s_swappc_b64 s[2:3], s[2:3]", 0xbe821e02, 0);
    assert_int_equal(f.wave.pc, 0x7f0000001000);
    assert_int_equal(rp_sgpr64(&f.wave, 2), FIXTURE_PC + 20);
    run(&f, "s_setpc_b64 s[2:3]", 0xbe801d02, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 20);
    run(&f, "s_call_b64 s[4:5], 2", 0xba840002, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 32);
    assert_int_equal(rp_sgpr64(&f.wave, 4), FIXTURE_PC + 24);
}

static void test_steps(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    assert_int_equal(fixture_step(&f, "s_barrier", 0xbf8a0000, 0), RP_STEP_BARRIER);
    assert_int_equal(fixture_step(&f, "s_sleep 1", 0xbf8e0001, 0), RP_STEP_YIELD);
    assert_int_equal(fixture_step(&f, "s_icache_inv", 0xbf930000, 0), RP_STEP_REFETCH);
    assert_int_equal(fixture_step(&f, "s_endpgm", 0xbf810000, 0), RP_STEP_END);
    assert_int_equal(fixture_step(&f, "s_endpgm_saved", 0xbf9b0000, 0), RP_STEP_END);
    assert_int_equal(fixture_step(&f, "s_endpgm_ordered_ps_done", 0xbf9e0000, 0), RP_STEP_END);
    run(&f, "s_waitcnt vmcnt(0) lgkmcnt(0)", 0xbf8c0070, 0);
    run(&f, "s_nop 3", 0xbf800003, 0);
    run(&f, "s_trap 3", 0xbf920003, 0); /* llvm.debugtrap without a debugger */
    f.wave.pc = FIXTURE_PC;
    assert_int_equal(fixture_step(&f, "s_trap 2", 0xbf920002, 0), RP_STEP_FAULT);
    assert_int_equal(f.wave.fault.kind, RP_FAULT_TRAP);
    assert_int_equal(f.wave.fault.pc, FIXTURE_PC);
}

static uint32_t interrupt_m0;

static void take_interrupt(void *ctx, uint32_t m0)
{
    (void)ctx;
    interrupt_m0 = m0;
}

/* Register numbers plus M0; beyond the file s0 is read and nothing written. */
static void test_relative_moves(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    for (unsigned i = 0; i < 108; i++)
        f.wave.sgpr[i] = 1000 + i;
    f.wave.sgpr[RP_SGPR_M0] = 5;
    run(&f, "s_movrels_b32 s20, s3", 0xbe942a03, 0);
    assert_int_equal(f.wave.sgpr[20], 1008);
    run(&f, "s_movreld_b32 s30, s3", 0xbe9e2c03, 0);
    assert_int_equal(f.wave.sgpr[35], 1003);
    f.wave.sgpr[RP_SGPR_M0] = 4;
    run(&f, "s_movrels_b64 s[20:21], s[2:3]", 0xbe942b02, 0);
    assert_int_equal(rp_sgpr64(&f.wave, 20), 1006 | 1007ull << 32);
    run(&f, "s_movreld_b64 s[30:31], s[2:3]", 0xbe9e2d02, 0);
    assert_int_equal(rp_sgpr64(&f.wave, 34), 1002 | 1003ull << 32);
    f.wave.sgpr[RP_SGPR_M0] = 0xffffffff;
    run(&f, "s_movrels_b32 s20, s3", 0xbe942a03, 0);
    assert_int_equal(f.wave.sgpr[20], 1000);
    const struct rp_wave before = f.wave;
    run(&f, "s_movreld_b32 s30, s3", 0xbe9e2c03, 0);
    assert_memory_equal(before.sgpr, f.wave.sgpr, sizeof before.sgpr);
}

/* The side with fewer lanes runs first; join comes back for the other, then goes on. */
static void test_forks(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, 0xff);
    rp_sgpr64_set(&f.wave, 10, 0x07); /* three pass, five fail: jump first */
    rp_sgpr64_set(&f.wave, 12, 0x20000);
    run(&f, "s_cbranch_g_fork s[10:11], s[12:13]", 0x94800c0a, 0);
    assert_int_equal(f.wave.pc, 0x20000);
    assert_int_equal(RP_EXEC(&f.wave), 0x07);
    assert_int_equal(f.wave.mode >> 29, 1);
    f.wave.sgpr[14] = 0;
    run(&f, "s_cbranch_join s14", 0xbe802e0e, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 4);
    assert_int_equal(RP_EXEC(&f.wave), 0xf8);
    run(&f, "s_cbranch_join s14", 0xbe802e0e, 0); /* the second time falls through */
    assert_int_equal(f.wave.pc, FIXTURE_PC + 8);
    assert_int_equal(RP_EXEC(&f.wave), 0xf8);
    rp_sgpr64_set(&f.wave, 10, 0x78); /* of f8 four pass, one fails: fall through */
    run(&f, "s_cbranch_i_fork s[10:11], 16", 0xb80a0010, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 12);
    assert_int_equal(RP_EXEC(&f.wave), 0x80);
    run(&f, "s_cbranch_join s14", 0xbe802e0e, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 12 + 64);
    assert_int_equal(RP_EXEC(&f.wave), 0x78);
    rp_sgpr64_set(&f.wave, 10, 0xff); /* all pass */
    run(&f, "s_cbranch_i_fork s[10:11], 16", 0xb80a0010, 0);
    assert_int_equal(f.wave.pc, FIXTURE_PC + 12 + 64 + 4 + 64);
    assert_int_equal(f.wave.mode, 0x3f0);
}

/* Nothing vector happens under VSKIP, not even to EXEC and VCC. */
static void test_vskip(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    f.wave.sgpr[2] = 0x80;
    f.wave.sgpr[4] = 39; /* bit 39 & 31 */
    run(&f, "s_setvskip s2, s4", 0xbf100402, 0);
    assert_int_equal(f.wave.vgpr_count, 0);
    run(&f, "v_cmp_eq_u32_e64 vcc, s2, s2", 0xd0ca006a, 0x00000402);
    assert_int_equal(RP_VCC(&f.wave), 0);
    run(&f, "v_cmpx_lg_f32_e64 s[6:7], s2, s2", 0xd0550006, 0x00000402);
    assert_int_equal(RP_EXEC(&f.wave), ~0ull);
    run(&f, "s_getreg_b32 s20, hwreg(HW_REG_MODE, 28, 1)", 0xb8940701, 0);
    assert_int_equal(f.wave.sgpr[20], 1);
    f.wave.sgpr[4] = 6;
    run(&f, "s_setvskip s2, s4", 0xbf100402, 0);
    assert_int_equal(f.wave.vgpr_count, FIXTURE_VGPRS);
    run(&f, "v_cmp_eq_u32_e64 vcc, s2, s2", 0xd0ca006a, 0x00000402);
    assert_int_equal(RP_VCC(&f.wave), ~0ull);
}

static void test_messages_and_registers(void **state)
{
    (void)state;
    static struct fixture f;
    fixture_init(&f);
    f.host.send_interrupt = take_interrupt;
    struct rp_dispatch dispatch = {.host = &f.host, .arch = rp_arch_find("gfx942")};
    f.group.dispatch = &dispatch;
    f.env.services = &rp_exec_services;
    f.group.linear_id = 13;
    f.wave.sgpr[RP_SGPR_M0] = 0x123;
    run(&f, "s_sendmsg sendmsg(MSG_INTERRUPT)", 0xbf900001, 0);
    wave_host_flush(&dispatch);
    assert_int_equal(interrupt_m0, 0x123);
    run(&f, "s_getreg_b32 s20, hwreg(HW_REG_SH_MEM_BASES)", 0xb894f80f, 0);
    assert_int_equal(f.wave.sgpr[D], 0x00010002);
    run(&f, "s_getreg_b32 s20, hwreg(HW_REG_SH_MEM_BASES, 16, 16)", 0xb8947c0f, 0);
    assert_int_equal(f.wave.sgpr[D], 1);
    run(&f, "s_getreg_b32 s20, hwreg(HW_REG_XCC_ID)", 0xb894f814, 0);
    assert_int_equal(f.wave.sgpr[D], 13 % 8);
    run(&f, "s_getreg_b32 s20, hwreg(HW_REG_MODE, 4, 4)", 0xb8941901, 0);
    assert_int_equal(f.wave.sgpr[D], 15);
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15", 0xba001901, 0x0000000f);
    assert_int_equal(f.wave.mode, 0x3f0);
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1", 0xba000801, 0x00000001);
    assert_int_equal(f.wave.mode, 0x3f1);
    assert_true(f.wave.gpr_idx & RP_VALU_MODE);
    f.wave.sgpr[4] = 0xfc; /* only the field's two bits count */
    run(&f, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s4", 0xb9040801, 0);
    assert_int_equal(f.wave.mode, 0x3f0);
    f.wave.sgpr[4] = 0xfd;
    run(&f, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s4", 0xb9040801, 0);
    assert_int_equal(f.wave.mode, 0x3f1);
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0", 0xba000801, 0x00000000);
    assert_int_equal(f.wave.gpr_idx, 0);
    /* Traps on float exceptions need a trap handler: refused. */
    assert_int_equal(
        fixture_step(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 1), 1", 0xba000301, 0x00000001),
        RP_STEP_FAULT);
    assert_int_equal(f.wave.fault.kind, RP_FAULT_UNIMPLEMENTED);
    assert_int_equal(f.wave.mode, 0x3f0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_compares_with_constants),
        cmocka_unit_test(test_without_effect), cmocka_unit_test(test_saveexec),
        cmocka_unit_test(test_read_modify),    cmocka_unit_test(test_constants),
        cmocka_unit_test(test_jumps),          cmocka_unit_test(test_steps),
        cmocka_unit_test(test_relative_moves), cmocka_unit_test(test_forks),
        cmocka_unit_test(test_vskip),          cmocka_unit_test(test_messages_and_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
