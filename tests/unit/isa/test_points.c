/*
 * What is easy to get wrong about waves and the ALU of this family, one test each. The depth is in
 * test_rows, test_modifiers, test_valu_mode, test_salu and test_lane_kernels.c; here the rules
 * themselves.
 */
#include <math.h>

#include "wave_fixture.h"

static struct fixture f;

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    return 0;
}

static void fill(unsigned reg, uint32_t value)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        f.vgpr[reg][lane] = value;
}

static void fill64(unsigned reg, uint64_t value)
{
    fill(reg, (uint32_t)value);
    fill(reg + 1, (uint32_t)(value >> 32));
}

static uint64_t pair(unsigned reg, unsigned lane)
{
    return f.vgpr[reg][lane] | (uint64_t)f.vgpr[reg + 1][lane] << 32;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Vector instructions heed EXEC, lane moves and scalar ones do not; masks are 0 where it is off. */
static void point_1_exec(void **state)
{
    (void)state;
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, 0xf0);
    rp_sgpr64_set(&f.wave, 4, ~0ull);
    run(&f, "v_cmp_gt_u32_e64 s[4:5], v0, 5", 0xd0cc0004, 0x00010b00);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0xc0);
    run(&f, "v_readlane_b32 s6, v1, 9", 0xd2890006, 0x00011301);
    assert_int_equal(f.wave.sgpr[6], 1009);
    f.wave.sgpr[7] = 77;
    run(&f, "v_writelane_b32 v2, s7, 9", 0xd28a0002, 0x00011207);
    assert_int_equal(f.vgpr[2][9], 77);
    run(&f, "v_readfirstlane_b32 s6, v1", 0x7e0c0501, 0);
    assert_int_equal(f.wave.sgpr[6], 1004);
    run(&f, "v_cmpx_gt_u32_e64 s[4:5], 5, v0", 0xd0dc0004, 0x00020085);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0x10);
    assert_int_equal(RP_EXEC(&f.wave), 0x10);
}

/* With no lane at all the scalar results still come. */
static void point_2_empty_exec(void **state)
{
    (void)state;
    run(&f, "s_mov_b64 exec, 0", 0xbefe0180, 0);
    rp_sgpr64_set(&f.wave, 4, ~0ull);
    run(&f, "v_cmp_eq_u32_e64 s[4:5], v0, v0", 0xd0ca0004, 0x00020100);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0);
    rp_sgpr64_set(&f.wave, 4, ~0ull);
    run(&f, "v_add_co_u32_e64 v3, s[4:5], v0, v1", 0xd1190403, 0x00020300);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0);
    assert_int_equal(f.vgpr[3][0], 3000);
    run(&f, "v_readfirstlane_b32 s6, v1", 0x7e0c0501, 0);
    assert_int_equal(f.wave.sgpr[6], 1000);
    run(&f, "v_cmpx_gt_u32_e64 s[4:5], 5, v0", 0xd0dc0004, 0x00020085);
    assert_int_equal(RP_EXEC(&f.wave), 0);
}

/* VCC is two SGPRs, VCCZ and EXECZ follow; SCC is touched by those that say so. */
static void point_3_condition_codes(void **state)
{
    (void)state;
    run(&f, "s_mov_b32 s4, src_vccz", 0xbe8400fb, 0);
    assert_int_equal(f.wave.sgpr[4], 1);
    f.wave.scc = 1;
    run(&f, "s_mov_b32 vcc_lo, 1", 0xbeea0081, 0);
    run(&f, "s_mov_b32 s4, src_vccz", 0xbe8400fb, 0);
    assert_int_equal(f.wave.sgpr[4], 0);
    run(&f, "s_cselect_b32 s4, 1, 2", 0x85048281, 0);
    assert_int_equal(f.wave.sgpr[4], 1);
    assert_int_equal(f.wave.scc, 1); /* neither move nor select */
    rp_sgpr64_set(&f.wave, 6, 0);
    run(&f, "s_and_saveexec_b64 s[4:5], s[6:7]", 0xbe842006, 0);
    assert_int_equal(f.wave.scc, 0); /* the new EXEC is empty */
    f.wave.sgpr[6] = f.wave.sgpr[7] = 0x40000000;
    run(&f, "s_add_i32 s4, s6, s7", 0x81040706, 0);
    assert_int_equal(f.wave.scc, 1); /* signed overflow, no carry */
    run(&f, "s_lshl_b32 s4, s6, 31", 0x8e049f06, 0);
    assert_int_equal(f.wave.scc, 0); /* result is 0 */
    f.wave.scc = 1;
    run(&f, "s_mulk_i32 s6, 0x10", 0xb7860010, 0);
    assert_int_equal(f.wave.sgpr[6], 0);
    assert_int_equal(f.wave.scc, 1); /* multiplies leave it */
    f.wave.sgpr[6] = 0x1200;
    run(&f, "s_bfe_u32 s4, s6, 0x80004", 0x9284ff06, 0x00080004);
    assert_int_equal(f.wave.sgpr[4], 0x20);
}

/* A 32-bit literal in 64 bits, inline constants in 16 and in packed ones. */
static void point_4_constants(void **state)
{
    (void)state;
    run(&f, "s_mov_b64 s[4:5], 0x80000000", 0xbe8401ff, 0x80000000);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0x80000000);
    run(&f, "s_ashr_i64 s[4:5], 0x80000000, 4", 0x908484ff, 0x80000000);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0xfffffffff8000000);
    run(&f, "v_mov_b64_e32 v[4:5], 0x3ff00000", 0x7e0870ff, 0x3ff00000);
    assert_int_equal(pair(4, 0), 0x3ff00000);
    fill64(2, 0x4000000000000000);
    run(&f, "v_add_f64 v[4:5], v[2:3], 1.0", 0xd2800004, 0x0001e502);
    assert_int_equal(pair(4, 0), 0x4008000000000000);
    run(&f, "v_lshlrev_b64 v[4:5], 1, 1.0", 0xd28f0004, 0x0001e481);
    assert_int_equal(pair(4, 0), 0x7fe0000000000000);
    fill(2, 0x40004000); /* two f16: 2.0 */
    run(&f, "v_add_f16_e32 v4, 1.0, v2", 0x3e0804f2, 0);
    assert_int_equal(f.vgpr[4][0], 0x4200);
    run(&f, "v_pk_add_f16 v4, v2, 1.0", 0xd38f4004, 0x1801e502);
    assert_int_equal(f.vgpr[4][0], 0x40004200); /* the constant's upper half is 0 */
    run(&f, "v_pk_add_f16 v4, v2, 1.0 op_sel_hi:[1,0]", 0xd38f4004, 0x0801e502);
    assert_int_equal(f.vgpr[4][0], 0x42004200);
    /* LLVM prints the f16 pattern, but the GPU takes the lower half of 0x3f800000. */
    run(&f, "v_add_u16_e32 v4, 0x3c00, v2", 0x4c0804f2, 0);
    assert_int_equal(f.vgpr[4][0], 0x4000);
    run(&f, "v_pk_add_u16 v4, v2, 1.0", 0xd38a4004, 0x1801e502);
    assert_int_equal(f.vgpr[4][0], 0x7f804000);
    fill(2, 0x40000000);
    run(&f, "v_mul_f32_e32 v4, 0.15915494, v2", 0x0a0804f8, 0);
    assert_int_equal(f.vgpr[4][0], 0x3ea2f983);
}

/* MODE is obeyed from one instruction to the next (all of it: test_valu_mode.c). */
static void point_5_mode(void **state)
{
    (void)state;
    fill(2, 0x7f800001); /* signalling */
    fill(3, 0x3f800000);
    run(&f, "v_max_f32_e32 v4, v2, v3", 0x16080702, 0);
    assert_int_equal(f.vgpr[4][0], 0x7fc00001);
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0", 0xba000241, 0);
    run(&f, "v_max_f32_e32 v4, v2, v3", 0x16080702, 0);
    assert_int_equal(f.vgpr[4][0], 0x3f800000);
    fill(2, 0x33000000); /* 2^-25 */
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1", 0xba000801, 1);
    run(&f, "v_add_f32_e32 v4, v2, v3", 0x02080702, 0);
    assert_int_equal(f.vgpr[4][0], 0x3f800001); /* up */
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0", 0xba000801, 0);
    run(&f, "v_add_f32_e32 v4, v2, v3", 0x02080702, 0);
    assert_int_equal(f.vgpr[4][0], 0x3f800000);
}

/* VGPR numbers are moved until the mode is switched off (every enable: test_modifiers.c). */
static void point_6_index_mode(void **state)
{
    (void)state;
    f.wave.sgpr[2] = 2;
    run(&f, "s_set_gpr_idx_on s2, gpr_idx(SRC0,DST)", 0xbf110902, 0);
    run(&f, "v_mov_b32_e32 v10, v1", 0x7e140301, 0);
    assert_int_equal(f.vgpr[12][1], 3001);
    run(&f, "s_set_gpr_idx_off", 0xbf9c0000, 0);
    run(&f, "v_mov_b32_e32 v10, v1", 0x7e140301, 0);
    assert_int_equal(f.vgpr[10][1], 1001);
}

/* Addresses are relative to the next instruction. */
static void point_7_program_counter(void **state)
{
    (void)state;
    run(&f, "s_getpc_b64 s[4:5]", 0xbe841c00, 0);
    assert_int_equal(rp_sgpr64(&f.wave, 4), FIXTURE_PC + 4);
    rp_sgpr64_set(&f.wave, 6, 0x7f0000001002);
    run(&f, "s_swappc_b64 s[4:5], s[6:7]", 0xbe841e06, 0);
    assert_int_equal(rp_sgpr64(&f.wave, 4), FIXTURE_PC + 8);
    assert_int_equal(f.wave.pc, 0x7f0000001000); /* the low bits do not count */
    f.wave.scc = 1;
    run(&f, "s_cbranch_scc1 65534", 0xbf85fffe, 0);
    assert_int_equal(f.wave.pc, 0x7f0000000ffc);
}

/* The compiler's f32 division as instructions, over all pairs of exponents and a few mantissas. */
static void divide(void)
{
    run(&f, "v_div_scale_f32 v4, s[4:5], v3, v3, v2", 0xd1e00404, 0x040a0703);
    run(&f, "v_div_scale_f32 v5, vcc, v2, v3, v2", 0xd1e06a05, 0x040a0702);
    run(&f, "v_rcp_f32_e32 v6, v4", 0x7e0c4504, 0);
    run(&f, "v_fma_f32 v7, -v4, v6, 1.0", 0xd1cb0007, 0x23ca0d04);
    run(&f, "v_fmac_f32_e32 v6, v7, v6", 0x760c0d07, 0);
    run(&f, "v_mul_f32_e32 v7, v5, v6", 0x0a0e0d05, 0);
    run(&f, "v_fma_f32 v8, -v4, v7, v5", 0xd1cb0008, 0x24160f04);
    run(&f, "v_fmac_f32_e32 v7, v8, v6", 0x760e0d08, 0);
    run(&f, "v_fma_f32 v4, -v4, v7, v5", 0xd1cb0004, 0x24160f04);
    run(&f, "v_div_fmas_f32 v4, v4, v6, v7", 0xd1e20004, 0x041e0d04);
    run(&f, "v_div_fixup_f32 v9, v4, v3, v2", 0xd1de0009, 0x040a0704);
}

static void point_8_division(void **state)
{
    (void)state;
    static const uint32_t mantissas[4] = {0, 1, 0x2aaaab, 0x7fffff};
    uint32_t count = 0;
    for (uint32_t n = 0; n < 256; n += 3)
        for (uint32_t d = 0; d < 256; d += 5) {
            const unsigned lane = count++ % RP_LANES;
            f.vgpr[2][lane] = n << 23 | mantissas[count % 4] | (count & 16) << 27;
            f.vgpr[3][lane] = d << 23 | mantissas[count / 4 % 4] | (count & 32) << 26;
            if (lane != RP_LANES - 1)
                continue;
            f.wave.pc = FIXTURE_PC;
            divide();
            for (unsigned i = 0; i < RP_LANES; i++) {
                const float x = float_of(f.vgpr[2][i]), y = float_of(f.vgpr[3][i]);
                const float want = x / y, got = float_of(f.vgpr[9][i]);
                if (want != want ? got == got : bits_of(want) != bits_of(got))
                    fail_msg("%a / %a: %a, expected %a", (double)x, (double)y, (double)got,
                             (double)want);
            }
        }
}

/* One source and one result in v2 and v4. */
static void expect1(const char *text, uint32_t word, uint32_t source, uint32_t want)
{
    fill(2, source);
    run(&f, text, word, 0);
    if (f.vgpr[4][0] != want)
        fail_msg("%s of 0x%x: 0x%x, expected 0x%x", text, source, f.vgpr[4][0], want);
}

static void expect3(const char *text, uint32_t w0, uint32_t w1, const uint32_t s[3], uint32_t want)
{
    fill(2, s[0]);
    fill(3, s[1]);
    fill(1, s[2]);
    run(&f, text, w0, w1);
    if (f.vgpr[4][0] != want)
        fail_msg("%s of 0x%x 0x%x 0x%x: 0x%x, expected 0x%x", text, s[0], s[1], s[2], f.vgpr[4][0],
                 want);
}

static void point_9_conversions_and_bits(void **state)
{
    (void)state;
    expect1("v_cvt_i32_f32_e32 v4, v2", 0x7e081102, bits_of(3e9f), 0x7fffffff);
    expect1("v_cvt_i32_f32_e32 v4, v2", 0x7e081102, 0x7fc00000, 0);
    expect1("v_cvt_i32_f32_e32 v4, v2", 0x7e081102, bits_of(-1.9f), 0xffffffff);
    expect1("v_cvt_u32_f32_e32 v4, v2", 0x7e080f02, bits_of(-5), 0);
    expect1("v_cvt_u32_f32_e32 v4, v2", 0x7e080f02, 0x7f800000, 0xffffffff);
    expect1("v_rndne_f32_e32 v4, v2", 0x7e083d02, bits_of(2.5f), bits_of(2));
    expect1("v_fract_f32_e32 v4, v2", 0x7e083702, bits_of(-1e-20f), 0x3f7fffff);
    expect1("v_frexp_exp_i32_f32_e32 v4, v2", 0x7e086702, 1, (uint32_t)-148);
    expect1("v_frexp_exp_i32_f32_e32 v4, v2", 0x7e086702, 0x7f800000, 0);
    expect1("v_frexp_mant_f32_e32 v4, v2", 0x7e086902, 1, bits_of(0.5f));
    expect3("v_ldexp_f32 v4, v2, v3", 0xd2880004, 0x00020702,
            (uint32_t[]){0x3f800000, (uint32_t)-149, 0}, 1);
    expect3("v_mul_u32_u24_e32 v4, v2, v3", 0x10080702, 0, (uint32_t[]){0xff000003, 0xab000005, 0},
            15);
    expect3("v_lshlrev_b32_e32 v4, v2, v3", 0x24080702, 0, (uint32_t[]){33, 3, 0}, 6);
    expect3("v_perm_b32 v4, v2, v3, v1", 0xd1ed0004, 0x04060702,
            (uint32_t[]){0x80112233, 0x44556677, 0x0d0c0b07}, 0xff00ff80);
    expect3("v_alignbit_b32 v4, v2, v3, v1", 0xd1ce0004, 0x04060702,
            (uint32_t[]){0x12345678, 0x9abcdef0, 36}, 0x89abcdef);
    expect3("v_med3_f32 v4, v2, v3, v1", 0xd1d60004, 0x04060702,
            (uint32_t[]){bits_of(3), 0x7fc00000, bits_of(2)}, bits_of(2)); /* NaN: the minimum */
    fill(2, 0x80000001);
    fill(3, 1u << 4); /* negative denormal */
    run(&f, "v_cmp_class_f32_e32 vcc, v2, v3", 0x7c200702, 0);
    assert_int_equal(RP_VCC(&f.wave), ~0ull);
    fill64(0, ~0ull);
    fill(2, 1);
    fill(3, 1);
    run(&f, "v_mad_u64_u32 v[4:5], s[4:5], v2, v3, v[0:1]", 0xd1e80404, 0x04020702);
    assert_int_equal(pair(4, 0), 0);
    assert_int_equal(rp_sgpr64(&f.wave, 4), ~0ull); /* carries */
}

/* Not bit-specified; within one unit of the last place here, seeds of f64 good enough to refine. */
static void point_10_approximations(void **state)
{
    (void)state;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        f.vgpr[2][lane] = bits_of(-30.0f + 0.93f * (float)lane);
    run(&f, "v_exp_f32_e32 v4, v2", 0x7e084102, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const double want = exp2((double)float_of(f.vgpr[2][lane]));
        assert_true(fabs((double)float_of(f.vgpr[4][lane]) - want) <= 0x1p-23 * want);
    }
    fill64(2, 0x4008000000000000); /* 3 */
    run(&f, "v_rcp_f64_e32 v[4:5], v[2:3]", 0x7e084b02, 0);
    double r;
    const uint64_t got = pair(4, 0);
    memcpy(&r, &got, sizeof r);
    assert_true(fabs(r * 3 - 1) < 0x1p-20);
}

/* 16 bits: VOP2 clears the other half, VOP3 keeps it; SDWA and DPP: test_modifiers.c. */
static void point_11_partial_writes(void **state)
{
    (void)state;
    fill(2, 0x00050007);
    fill(3, 0xffff0003);
    fill(4, 0xabcd1234);
    run(&f, "v_mad_u16 v4, v2, v3, v3", 0xd2040004, 0x040e0702);
    assert_int_equal(f.vgpr[4][0], 0xabcd0018);
    run(&f, "v_add_u16_e32 v4, v2, v3", 0x4c080702, 0);
    assert_int_equal(f.vgpr[4][0], 10);
}

/* Packed f32: halves by op_sel and op_sel_hi, scalar pairs, constants in the half they have. */
static void point_12_packed_f32(void **state)
{
    (void)state;
    fill64(2, (uint64_t)bits_of(4) << 32 | bits_of(3));
    f.wave.sgpr[4] = bits_of(1);
    f.wave.sgpr[5] = bits_of(2);
    run(&f, "v_pk_fma_f32 v[4:5], s[4:5], v[2:3], 1.0 op_sel:[1,0,0] op_sel_hi:[0,1,0]", 0xd3b00804,
        0x13ca0404);
    assert_int_equal(f.vgpr[4][0], bits_of(2 * 3 + 1));
    assert_int_equal(f.vgpr[5][0], bits_of(1 * 4 + 1));
    run(&f, "v_pk_mov_b32 v[4:5], v[0:1], v[2:3] op_sel:[1,1]", 0xd3b35804, 0x18020500);
    assert_int_equal(f.vgpr[4][7], 1007);
    assert_int_equal(f.vgpr[5][7], bits_of(4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(point_1_exec, setup),
        cmocka_unit_test_setup(point_2_empty_exec, setup),
        cmocka_unit_test_setup(point_3_condition_codes, setup),
        cmocka_unit_test_setup(point_4_constants, setup),
        cmocka_unit_test_setup(point_5_mode, setup),
        cmocka_unit_test_setup(point_6_index_mode, setup),
        cmocka_unit_test_setup(point_7_program_counter, setup),
        cmocka_unit_test_setup(point_8_division, setup),
        cmocka_unit_test_setup(point_9_conversions_and_bits, setup),
        cmocka_unit_test_setup(point_10_approximations, setup),
        cmocka_unit_test_setup(point_11_partial_writes, setup),
        cmocka_unit_test_setup(point_12_packed_f32, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
