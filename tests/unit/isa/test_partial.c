/*
 * What becomes of the part of a vector register that an instruction with a narrow result does not
 * fill, for every such opcode of every target. The lists are typed in from other people's text, not
 * made of ours: LLVM's GCNSubtarget::zeroesHigh16BitsOfDest, and the pseudo code of the CDNA3 and
 * CDNA4 ISA documents. An opcode that is in none of them fails.
 */
#include "wave_fixture.h"

enum rule {
    NONE,
    CLEARS,     /**< LLVM relies on zeros above */
    CLEARS_TOO, /**< the ISA documents say zeros, or nothing; LLVM relies on neither */
    KEEPS_HALF, /**< op_sel bit 3 names the half that is written */
    KEEPS_BYTES /**< op_sel bits 2 and 3 name the byte that is written */
};

static const struct {
    const char *mnemonic;
    enum rule rule;
} rules[] = {
    {"v_cvt_f16_f32", CLEARS},
    {"v_cvt_f16_u16", CLEARS},
    {"v_cvt_f16_i16", CLEARS},
    {"v_rcp_f16", CLEARS},
    {"v_rsq_f16", CLEARS},
    {"v_sqrt_f16", CLEARS},
    {"v_log_f16", CLEARS},
    {"v_exp_f16", CLEARS},
    {"v_sin_f16", CLEARS},
    {"v_cos_f16", CLEARS},
    {"v_floor_f16", CLEARS},
    {"v_ceil_f16", CLEARS},
    {"v_trunc_f16", CLEARS},
    {"v_rndne_f16", CLEARS},
    {"v_fract_f16", CLEARS},
    {"v_frexp_mant_f16", CLEARS},
    {"v_frexp_exp_i16_f16", CLEARS},
    {"v_ldexp_f16", CLEARS},
    {"v_lshlrev_b16", CLEARS},
    {"v_lshrrev_b16", CLEARS},
    {"v_ashrrev_i16", CLEARS},
    {"v_add_u16", CLEARS},
    {"v_sub_u16", CLEARS},
    {"v_subrev_u16", CLEARS},
    {"v_mul_lo_u16", CLEARS},
    {"v_add_f16", CLEARS},
    {"v_sub_f16", CLEARS},
    {"v_subrev_f16", CLEARS},
    {"v_mul_f16", CLEARS},
    {"v_max_f16", CLEARS},
    {"v_min_f16", CLEARS},
    {"v_max_u16", CLEARS},
    {"v_min_u16", CLEARS},
    {"v_max_i16", CLEARS},
    {"v_min_i16", CLEARS},
    /* LLVM calls these V_MAD_F16_e64 and so on; those of gfx9 are V_MAD_F16_gfx9_e64. */
    {"v_mad_legacy_f16", CLEARS},
    {"v_mad_legacy_u16", CLEARS},
    {"v_mad_legacy_i16", CLEARS},
    {"v_fma_legacy_f16", CLEARS},
    {"v_div_fixup_legacy_f16", CLEARS},
    {"v_mac_f16", CLEARS_TOO},
    {"v_madmk_f16", CLEARS_TOO},
    {"v_madak_f16", CLEARS_TOO},
    {"v_cvt_u16_f16", CLEARS_TOO},
    {"v_cvt_i16_f16", CLEARS_TOO},
    {"v_cvt_norm_i16_f16", CLEARS_TOO},
    {"v_cvt_norm_u16_f16", CLEARS_TOO},
    {"v_sat_pk_u8_i16", CLEARS_TOO},
    {"v_mad_f16", KEEPS_HALF},
    {"v_mad_u16", KEEPS_HALF},
    {"v_mad_i16", KEEPS_HALF},
    {"v_fma_f16", KEEPS_HALF},
    {"v_div_fixup_f16", KEEPS_HALF},
    {"v_min3_f16", KEEPS_HALF},
    {"v_min3_i16", KEEPS_HALF},
    {"v_min3_u16", KEEPS_HALF},
    {"v_max3_f16", KEEPS_HALF},
    {"v_max3_i16", KEEPS_HALF},
    {"v_max3_u16", KEEPS_HALF},
    {"v_med3_f16", KEEPS_HALF},
    {"v_med3_i16", KEEPS_HALF},
    {"v_med3_u16", KEEPS_HALF},
    {"v_add_i16", KEEPS_HALF},
    {"v_sub_i16", KEEPS_HALF},
    {"v_cvt_pk_fp8_f32", KEEPS_HALF},
    {"v_cvt_pk_bf8_f32", KEEPS_HALF},
    {"v_cvt_sr_f16_f32", KEEPS_HALF},
    {"v_cvt_sr_bf16_f32", KEEPS_HALF},
    {"v_bitop3_b16", KEEPS_HALF},
    {"v_ashr_pk_i8_i32", KEEPS_HALF},
    {"v_ashr_pk_u8_i32", KEEPS_HALF},
    {"v_cvt_scalef32_pk_fp8_f32", KEEPS_HALF},
    {"v_cvt_scalef32_pk_bf8_f32", KEEPS_HALF},
    {"v_cvt_scalef32_pk_fp8_f16", KEEPS_HALF},
    {"v_cvt_scalef32_pk_bf8_f16", KEEPS_HALF},
    {"v_cvt_scalef32_pk_fp8_bf16", KEEPS_HALF},
    {"v_cvt_scalef32_pk_bf8_bf16", KEEPS_HALF},
    {"v_cvt_scalef32_f16_fp8", KEEPS_HALF},
    {"v_cvt_scalef32_f16_bf8", KEEPS_HALF},
    {"v_cvt_sr_fp8_f32", KEEPS_BYTES},
    {"v_cvt_sr_bf8_f32", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_fp8_f32", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_bf8_f32", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_fp8_f16", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_bf8_f16", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_fp8_bf16", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_bf8_bf16", KEEPS_BYTES},
    {"v_cvt_scalef32_pk_fp4_f32", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_pk_fp4_f32", KEEPS_BYTES},
    {"v_cvt_scalef32_pk_fp4_f16", KEEPS_BYTES},
    {"v_cvt_scalef32_pk_fp4_bf16", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_pk_fp4_f16", KEEPS_BYTES},
    {"v_cvt_scalef32_sr_pk_fp4_bf16", KEEPS_BYTES},
};

enum { DST = 4, SRC0 = 8, SRC1 = 16, SRC2 = 24, VGPR = 256 };

static struct fixture f;

static enum rule rule_of(const char *mnemonic)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (!strcmp(rules[i].mnemonic, mnemonic))
            return rules[i].rule;
    return NONE;
}

static bool is_narrow(unsigned type)
{
    return type == RP_T_B8 || type == RP_T_U8 || type == RP_T_I8 || type == RP_T_B16 ||
           type == RP_T_U16 || type == RP_T_I16 || type == RP_T_F16 || type == RP_T_BF16;
}

static uint32_t vop3(const struct rp_op_row *row, unsigned op_sel)
{
    const unsigned opcode = row->opcode + (row->fmt == RP_FMT_VOP1   ? 0x140
                                           : row->fmt == RP_FMT_VOP2 ? 0x100
                                                                     : 0);
    return 0xd0000000u | opcode << 16 | op_sel << 11 | DST;
}

static uint32_t vop3_sources(const struct rp_op_row *row)
{
    /* 2-source rows of VOP1 and VOP2 have nothing in the other fields. */
    return (VGPR + SRC0) | (row->src[1] ? (uint32_t)(VGPR + SRC1) << 9 : 0) |
           (row->src[2] && row->fmt == RP_FMT_VOP3 ? (uint32_t)(VGPR + SRC2) << 18 : 0);
}

static void set_registers(void)
{
    uint32_t seed = 3;
    fixture_init(&f);
    for (unsigned reg = 0; reg < FIXTURE_VGPRS; reg++)
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            seed = seed * 1664525u + 1013904223u;
            /* Sources are small normal numbers, as f32 and as two f16: every format has them. */
            f.vgpr[reg][lane] =
                reg < SRC0 ? seed ^ seed >> 13 : 0x3f803c00 + (seed >> 8 & 0x7f03ff);
        }
}

/* Executes it on the same registers each time. */
static void execute(const uint32_t *words, uint32_t ret[RP_LANES])
{
    struct rp_insn in;
    char text[128];
    set_registers();
    assert_int_not_equal(rp_isa_decode(words, 3, &in), 0);
    rp_isa_print(&in, 0, text, sizeof text);
    if (in.fn(&f.wave, &in) != RP_STEP_NEXT)
        fail_msg("%s: %s", text, f.wave.fault.text);
    memcpy(ret, f.vgpr[DST], sizeof f.vgpr[DST]);
}

/* @p bits from bit @p at on are written, and are what @p value says; the rest is @p rest. */
static void check(const char *name, const uint32_t *words, unsigned at, unsigned bits, bool keeps,
                  const uint32_t value[RP_LANES])
{
    uint32_t got[RP_LANES];
    const uint32_t part = (bits == 8 ? 0xffu : 0xffffu) << at;
    execute(words, got);
    set_registers();
    unsigned changed = 0;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint32_t old = f.vgpr[DST][lane];
        const uint32_t want = (value[lane] << at & part) | (keeps ? old & ~part : 0);
        if (got[lane] != want)
            fail_msg("%s, %08x %08x, lane %u: 0x%08x, want 0x%08x", name, words[0], words[1], lane,
                     got[lane], want);
        changed += (got[lane] & part) != (old & part);
    }
    assert_true(changed > RP_LANES / 2);
}

static void check_row(const struct rp_op_row *row, enum rule rule)
{
    const unsigned bits = rule == KEEPS_BYTES ? 8 : 16;
    uint32_t value[RP_LANES];
    uint32_t words[3] = {vop3(row, 0), vop3_sources(row), 0};
    const bool has_vop3 = !strstr(row->mnemonic, "madmk") && !strstr(row->mnemonic, "madak");
    if (row->fmt == RP_FMT_VOP1 || row->fmt == RP_FMT_VOP2) {
        const uint32_t small[3] = {
            row->fmt == RP_FMT_VOP1
                ? 0x7e000000u | DST << 17 | (uint32_t)row->opcode << 9 | (VGPR + SRC0)
                : (uint32_t)row->opcode << 25 | DST << 17 | SRC1 << 9 | (VGPR + SRC0),
            0x3c00, 0};
        execute(small, value);
        check(row->mnemonic, small, 0, bits, false, value);
    }
    if (!has_vop3)
        return;
    execute(words, value);
    if (rule == CLEARS || rule == CLEARS_TOO) {
        check(row->mnemonic, words, 0, bits, false, value);
        return;
    }
    for (unsigned at = 0; at < 32; at += bits) {
        words[0] = vop3(row, bits == 8 ? at / 8 << 2 : at / 16 << 3);
        check(row->mnemonic, words, at, bits, true, value);
    }
}

static void every_narrow_result(void **state)
{
    static const char *const targets[] = {"gfx942", "gfx950", "gfx90a"};
    (void)state;
    for (unsigned t = 0; t < 3; t++) {
        unsigned rows = 0;
        rp_isa_target_set(targets[t]);
        for (unsigned op = 1; op < RP_OP_ALL; op++) {
            const struct rp_op_row *row = &rp_op_rows[op];
            const bool valu = row->fmt >= RP_FMT_VOP1 && row->fmt <= RP_FMT_VOP3;
            if (!valu || !rp_target_has(op) || !is_narrow(row->dst))
                continue;
            const enum rule rule = rule_of(row->mnemonic);
            if (rule == NONE)
                fail_msg("%s: a narrow result without a rule", row->mnemonic);
            check_row(row, rule);
            rows++;
        }
        assert_true(rows > 60);
    }
    rp_isa_target_set("gfx942");
}

/* v_fma_mixlo_f16 and v_fma_mixhi_f16 keep the other half whatever op_sel says of the sources. */
static void mixed_precision(void **state)
{
    (void)state;
    uint32_t lo[RP_LANES], words[3] = {0xd3a10000u | DST, (VGPR + SRC0) | (VGPR + SRC1) << 9, 0};
    words[1] |= (uint32_t)(VGPR + SRC2) << 18;
    execute(words, lo);
    check("v_fma_mixlo_f16", words, 0, 16, true, lo);
    words[0] = 0xd3a20000u | DST;
    check("v_fma_mixhi_f16", words, 16, 16, true, lo);
}

/* Bits of op_sel that nothing defines: LLVM's disassembler reads over them, we refuse to guess. */
static void undefined_op_sel_is_refused(void **state)
{
    static const char *const names[] = {"v_add_f16",     "v_mac_f16",    "v_mad_legacy_u16",
                                        "v_cvt_f32_f16", "v_cmp_lt_f16", "v_mad_u32_u16",
                                        "v_pack_b32_f16"};
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        unsigned op = 1;
        while (strcmp(rp_op_rows[op].mnemonic, names[i]) != 0)
            op++;
        const struct rp_op_row *row = &rp_op_rows[op];
        const uint32_t words[3] = {vop3(row, 8), vop3_sources(row), 0};
        struct rp_insn in;
        set_registers();
        assert_int_equal(rp_isa_decode(words, 3, &in), 8);
        if (in.fn(&f.wave, &in) != RP_STEP_FAULT)
            fail_msg("%s: executed", names[i]);
    }
    /* 32-bit operands have no halves: nothing to guess. */
    const uint32_t words[3] = {0xd1014004u, 0x00022108u, 0}; /* v_add_f32_e64 v4, v8, v16 */
    struct rp_insn in;
    set_registers();
    assert_int_equal(rp_isa_decode(words, 3, &in), 8);
    assert_int_equal(in.fn(&f.wave, &in), RP_STEP_NEXT);
}

/* One byte of the destination, the others as they were: the byte that the second source names. */
static void a_byte_by_number(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 4; byte++) {
        set_registers();
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const float v = (float)(lane + 1);
            memcpy(&f.vgpr[SRC0][lane], &v, 4);
            f.vgpr[SRC1][lane] = byte;
            f.vgpr[DST][lane] = 0xddccbbaa;
        }
        run(&f, "v_cvt_pkaccum_u8_f32 v4, v8, v16", 0xd1f00004, 0x00022108);
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const uint32_t mask = 0xffu << 8 * byte;
            assert_int_equal(f.vgpr[DST][lane], (0xddccbbaau & ~mask) | (lane + 1) << 8 * byte);
        }
    }
}

/* VCCZ and EXECZ are of both halves; each half is written alone. */
static void halves_of_scalar_pairs(void **state)
{
    (void)state;
    set_registers();
    rp_sgpr64_set(&f.wave, RP_SGPR_VCC_LO, 0x500000007);
    run(&f, "s_mov_b32 vcc_lo, 0", 0xbeea0080, 0);
    assert_int_equal(RP_VCC(&f.wave), 0x500000000);
    run(&f, "s_mov_b32 s4, src_vccz", 0xbe8400fb, 0);
    assert_int_equal(f.wave.sgpr[4], 0);
    run(&f, "s_mov_b32 vcc_hi, 0", 0xbeeb0080, 0);
    run(&f, "s_mov_b32 s4, src_vccz", 0xbe8400fb, 0);
    assert_int_equal(f.wave.sgpr[4], 1);
    run(&f, "s_mov_b32 exec_lo, 0", 0xbefe0080, 0);
    assert_int_equal(RP_EXEC(&f.wave), 0xffffffff00000000);
    run(&f, "s_mov_b32 s4, src_execz", 0xbe8400fc, 0);
    assert_int_equal(f.wave.sgpr[4], 0);
    run(&f, "s_mov_b32 exec_hi, 0", 0xbeff0080, 0);
    run(&f, "s_mov_b32 s4, src_execz", 0xbe8400fc, 0);
    assert_int_equal(f.wave.sgpr[4], 1);
}

/* Lanes that do not take part: results stay, carries are zero, v_writelane changes one lane. */
static void lanes_that_are_off(void **state)
{
    (void)state;
    set_registers();
    static uint32_t old[RP_LANES];
    memcpy(old, f.vgpr[DST], sizeof old);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        f.vgpr[SRC0][lane] = 0x80000001;
    rp_sgpr64_set(&f.wave, RP_SGPR_VCC_LO, ~0ull);
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, 0xf0);
    run(&f, "v_add_co_u32_e32 v4, vcc, v8, v8", 0x32081108, 0);
    assert_int_equal(RP_VCC(&f.wave), 0xf0);
    f.wave.sgpr[7] = 77;
    run(&f, "v_writelane_b32 v4, s7, 9", 0xd28a0004, 0x00011207);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        assert_int_equal(f.vgpr[DST][lane], lane == 9 ? 77 : lane >= 4 && lane < 8 ? 2 : old[lane]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_narrow_result),         cmocka_unit_test(mixed_precision),
        cmocka_unit_test(undefined_op_sel_is_refused), cmocka_unit_test(a_byte_by_number),
        cmocka_unit_test(halves_of_scalar_pairs),      cmocka_unit_test(lanes_that_are_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
