/* Vector ALU around the lane kernels: EXEC, masks, operands, modifiers, lane moves. */
#include <math.h>

#include "half.h"
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

static void set_exec(uint64_t mask)
{
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, mask);
}

static void assert_all(unsigned reg, uint32_t value)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        if (f.vgpr[reg][lane] != value)
            fail_msg("v%u lane %u: 0x%x, expected 0x%x", reg, lane, f.vgpr[reg][lane], value);
}

/* v[r] starts as r * 1000 + lane (wave_fixture.h). */

static void test_exec(void **state)
{
    (void)state;
    run(&f, "v_add_u32_e32 v2, v0, v1", 0x68040300, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        assert_int_equal(f.vgpr[2][lane], 1000 + 2 * lane);
    set_exec(0x8000000000000005);
    run(&f, "v_add_u32_e32 v3, v0, v1", 0x68060300, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        bool on = lane == 0 || lane == 2 || lane == 63;
        assert_int_equal(f.vgpr[3][lane], on ? 1000 + 2 * lane : 3000 + lane);
    }
    run(&f, "v_lshlrev_b64 v[4:5], 4, v[0:1]", 0xd28f0004, 0x00020084);
    assert_int_equal(f.vgpr[4][2], 2 << 4);
    assert_int_equal(f.vgpr[5][2], 1002 << 4);
    assert_int_equal(f.vgpr[5][3], 5003);
    set_exec(0);
    run(&f, "v_add_u32_e32 v6, v0, v1", 0x680c0300, 0);
    assert_int_equal(f.vgpr[6][0], 6000);
    run(&f, "v_cmp_eq_u32_e32 vcc, v0, v0", 0x7d940100, 0);
    assert_int_equal(RP_VCC(&f.wave), 0);
}

static void test_operands(void **state)
{
    (void)state;
    f.wave.sgpr[7] = 500;
    run(&f, "v_add_u32_e32 v2, s7, v0", 0x68040007, 0);
    assert_int_equal(f.vgpr[2][63], 563);
    run(&f, "v_add_u32_e32 v2, -1, v0", 0x680400c1, 0);
    assert_int_equal(f.vgpr[2][0], 0xffffffff);
    run(&f, "v_add_u32_e32 v2, 0x12345678, v0", 0x680400ff, 0x12345678);
    assert_int_equal(f.vgpr[2][1], 0x12345679);
    rp_sgpr64_set(&f.wave, 8, 0x1122334455667788);
    run(&f, "v_mov_b64_e32 v[2:3], s[8:9]", 0x7e047008, 0);
    assert_all(2, 0x55667788);
    assert_all(3, 0x11223344);
    run(&f, "v_mov_b64_e32 v[2:3], -2", 0x7e0470c2, 0);
    assert_all(2, 0xfffffffe);
    assert_all(3, 0xffffffff);
    run(&f, "v_add_f64 v[2:3], 1.0, 1.0", 0xd2800002, 0x0001e4f2);
    assert_all(2, 0);
    assert_all(3, 0x40000000);
    run(&f, "v_mov_b32_e32 v2, src_private_base", 0x7e0402ed, 0);
    assert_all(2, 0x20000);
    fill(4, 0x40000000);
    fill(5, 0x3f800000);
    run(&f, "v_fmac_f32_e32 v5, v4, v4", 0x760a0904, 0);
    assert_all(5, 0x40a00000); /* 1 + 2 * 2 */
    run(&f, "v_fmamk_f32 v6, v4, 0x41200000, v5", 0x2e0c0b04, 0x41200000);
    assert_all(6, 0x41c80000); /* 2 * 10 + 5 */
    run(&f, "v_fmaak_f32 v6, v4, v5, 0x41200000", 0x300c0b04, 0x41200000);
    assert_all(6, 0x41a00000); /* 2 * 5 + 10 */
}

static void test_masks(void **state)
{
    (void)state;
    fill(1, 0xffffffff);
    fill(2, 1);
    set_exec(0xff);
    rp_sgpr64_set(&f.wave, RP_SGPR_VCC_LO, ~0ull);
    run(&f, "v_cmp_lt_u32_e32 vcc, 3, v0", 0x7d920083, 0);
    assert_int_equal(RP_VCC(&f.wave), 0xf0); /* lanes 8.. are off: 0, not kept */
    run(&f, "v_cmp_lt_u32_e64 s[2:3], v0, 3", 0xd0c90002, 0x00010700);
    assert_int_equal(rp_sgpr64(&f.wave, 2), 7);
    rp_sgpr64_set(&f.wave, 4, ~0ull);
    run(&f, "v_add_co_u32_e64 v3, s[4:5], v1, v2", 0xd1190403, 0x00020501);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0xff);
    assert_int_equal(f.vgpr[3][0], 0);
    assert_int_equal(f.vgpr[3][8], 3008);
    run(&f, "v_addc_co_u32_e64 v3, s[4:5], v2, v2, s[2:3]", 0xd11c0403, 0x000a0502);
    assert_int_equal(f.vgpr[3][2], 3);
    assert_int_equal(f.vgpr[3][3], 2);
    assert_int_equal(rp_sgpr64(&f.wave, 4), 0);
    rp_sgpr64_set(&f.wave, RP_SGPR_VCC_LO, 0x0f);
    run(&f, "v_cndmask_b32_e32 v3, v1, v2, vcc", 0x00060501, 0);
    assert_int_equal(f.vgpr[3][3], 1);
    assert_int_equal(f.vgpr[3][4], 0xffffffff);
    run(&f, "v_cndmask_b32_e64 v3, 0, -1, s[2:3]", 0xd1000003, 0x00098280);
    assert_int_equal(f.vgpr[3][2], 0xffffffff);
    assert_int_equal(f.vgpr[3][3], 0);
    fill(4, 0x3f800000);
    run(&f, "v_cndmask_b32_e64 v3, -v4, v4, s[2:3]", 0xd1000003, 0x200a0904);
    assert_int_equal(f.vgpr[3][2], 0x3f800000);
    assert_int_equal(f.vgpr[3][3], 0xbf800000);
    run(&f, "v_cmpx_gt_u32_e32 vcc, 2, v0", 0x7db80082, 0);
    assert_int_equal(RP_EXEC(&f.wave), 3);
    assert_int_equal(RP_VCC(&f.wave), 3);
}

static void test_float_modifiers(void **state)
{
    (void)state;
    fill(0, 0x40000000); /* 2 */
    fill(1, 0xc0400000); /* -3 */
    run(&f, "v_add_f32_e64 v2, v0, |v1|", 0xd1010202, 0x00020300);
    assert_all(2, 0x40a00000);
    run(&f, "v_add_f32_e64 v2, -v0, -|v1|", 0xd1010202, 0x60020300);
    assert_all(2, 0xc0a00000);
    run(&f, "v_add_f32_e64 v2, v0, v0 clamp", 0xd1018002, 0x00020100);
    assert_all(2, 0x3f800000);
    run(&f, "v_add_f32_e64 v2, v1, v1 clamp", 0xd1018002, 0x00020301);
    assert_all(2, 0);
    fill(3, 0x7fc00000);
    run(&f, "v_add_f32_e64 v2, v3, v0 clamp", 0xd1018002, 0x00020103);
    assert_all(2, 0); /* NaN, DX10_CLAMP */
    fill(4, 0);
    fill(5, 0x40000000); /* v[4:5] = 2.0 */
    run(&f, "v_fma_f64 v[6:7], -v[4:5], |v[4:5]|, 1.0", 0xd1cc0206, 0x23ca0904);
    assert_all(6, 0);
    assert_all(7, 0xc0080000); /* -3 */
    run(&f, "v_add_f32_e64 v2, v0, v0 mul:2", 0xd1010002, 0x08020100);
    assert_all(2, 0x40800000); /* OMOD is ignored where denormals are kept */
}

static void test_integer_clamp(void **state)
{
    (void)state;
    fill(1, 0xfffffff0);
    fill(2, 0x20);
    run(&f, "v_add_u32_e64 v3, v1, v2 clamp", 0xd1348003, 0x00020501);
    assert_all(3, 0xffffffff);
    run(&f, "v_sub_u32_e64 v3, v2, v1 clamp", 0xd1358003, 0x00020302);
    assert_all(3, 0);
    run(&f, "v_add_u32_e64 v3, v2, v2 clamp", 0xd1348003, 0x00020502);
    assert_all(3, 0x40);
    run(&f, "v_mad_u32_u24 v3, v1, v2, v2 clamp", 0xd1c38003, 0x040a0501);
    assert_all(3, 0x1ffffe20); /* 0xfffff0 * 0x20 + 0x20 */
    fill(2, 0xffffff);
    run(&f, "v_mad_u32_u24 v3, v1, v2, v2 clamp", 0xd1c38003, 0x040a0501);
    assert_all(3, 0xffffffff);
}

static void test_halves(void **state)
{
    (void)state;
    fill(1, 0x00050007);
    fill(2, 0xffff0003);
    fill(3, 0xabcd1234);
    run(&f, "v_add_u16_e32 v3, v1, v2", 0x4c060501, 0);
    assert_all(3, 10); /* VOP2: upper half cleared */
    fill(3, 0xabcd1234);
    run(&f, "v_mad_u16 v3, v1, v2, v2", 0xd2040003, 0x040a0501);
    assert_all(3, 0xabcd0018); /* gfx9 VOP3: kept. 7 * 3 + 3 */
    run(&f, "v_mad_u16 v3, v1, v2, v2 op_sel:[1,0,0,1]", 0xd2044803, 0x040a0501);
    assert_all(3, 0x00120018); /* 5 * 3 + 3 in the upper half */
    fill(3, 0xabcd1234);
    run(&f, "v_mad_legacy_u16 v3, v1, v2, v2", 0xd1eb0003, 0x040a0501);
    assert_all(3, 0x18);
    fill(1, 0x3c004000); /* 1, 2 */
    run(&f, "v_pk_add_f16 v3, v1, v1", 0xd38f4003, 0x18020301);
    assert_all(3, 0x40004400);
    run(&f, "v_pk_add_f16 v3, v1, v1 op_sel:[1,0] op_sel_hi:[1,0]", 0xd38f4803, 0x08020301);
    assert_all(3, 0x42004200); /* both halves 1 + 2 */
    run(&f, "v_pk_add_f16 v3, v1, v1 neg_lo:[1,0] neg_hi:[0,1]", 0xd38f4203, 0x38020301);
    assert_all(3, 0);
    run(&f, "v_pk_add_u16 v3, v1, -1 op_sel_hi:[1,0]", 0xd38a4003, 0x08018301);
    assert_all(3, 0x3bff3fff);
    run(&f, "v_pack_b32_f16 v3, v1, v2 op_sel:[1,1,0]", 0xd2a01803, 0x00020501);
    assert_all(3, 0xffff3c00);
}

static void test_packed_f32(void **state)
{
    (void)state;
    fill(0, 0x3f800000); /* v[0:1] = 1, 2 */
    fill(1, 0x40000000);
    fill(2, 0x40400000); /* v[2:3] = 3, 4 */
    fill(3, 0x40800000);
    run(&f, "v_pk_add_f32 v[4:5], v[0:1], v[2:3]", 0xd3b24004, 0x18020500);
    assert_all(4, 0x40800000);
    assert_all(5, 0x40c00000);
    run(&f, "v_pk_mul_f32 v[4:5], v[0:1], v[2:3] op_sel:[1,0] op_sel_hi:[0,1]", 0xd3b14804,
        0x10020500);
    assert_all(4, 0x40c00000); /* 2 * 3 */
    assert_all(5, 0x40800000); /* 1 * 4 */
    run(&f, "v_pk_fma_f32 v[4:5], v[0:1], v[2:3], v[0:1] op_sel_hi:[0,1,1] neg_lo:[1,0,0]",
        0xd3b04004, 0x34020500);
    assert_all(4, 0xc0000000); /* -1 * 3 + 1 */
    assert_all(5, 0x40c00000); /* 1 * 4 + 2 */
    run(&f, "v_pk_mov_b32 v[4:5], v[0:1], v[2:3] op_sel:[1,0]", 0xd3b34804, 0x18020500);
    assert_all(4, 0x40000000);
    assert_all(5, 0x40400000);
    f.wave.sgpr[4] = 0x3f800000;
    f.wave.sgpr[5] = 0x40000000;
    run(&f, "v_pk_mul_f32 v[4:5], v[2:3], s[4:5]", 0xd3b14004, 0x18000902);
    assert_all(4, 0x40400000);
    assert_all(5, 0x41000000);
    /* In place: both halves are read before either is written. */
    run(&f, "v_pk_add_f32 v[2:3], v[2:3], v[2:3] op_sel:[1,1] op_sel_hi:[0,0]", 0xd3b25802,
        0x00020502);
    assert_all(2, 0x41000000);
    assert_all(3, 0x40c00000);
    run(&f, "v_pk_add_f32 v[4:5], v[0:1], 1.0 op_sel_hi:[1,0]", 0xd3b24004, 0x0801e500);
    assert_all(4, 0x40000000);
    assert_all(5, 0x40400000);
    /* What the high half of an inline constant is, nobody says. */
    assert_int_equal(fixture_step(&f, "v_pk_add_f32 v[4:5], v[0:1], 1.0", 0xd3b24004, 0x1801e500),
                     RP_STEP_FAULT);
}

/* What one source of a v_fma_mix is worth, by the C library's and compiler's arithmetic. */
static float mix_value(uint32_t bits, bool f16, bool high, bool neg, bool abs)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    if (f16)
        value = host_f32_of_f16((uint16_t)(high ? bits >> 16 : bits));
    if (abs)
        value = fabsf(value);
    return neg ? -value : value;
}

enum mix_result { MIX_F32, MIX_LO, MIX_HI };

static uint32_t mix_expected(enum mix_result form, float value, uint32_t old)
{
    const uint16_t half = host_f16_of_f32(value);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (form == MIX_F32)
        return bits;
    return form == MIX_LO ? (old & 0xffff0000u) | half : (old & 0xffffu) | (uint32_t)half << 16;
}

/* Encodings are llvm-mc's; masks have bit i for source i. */
static const struct mix_case {
    const char *text;
    uint32_t w0, w1;
    enum mix_result form;
    unsigned high, f16, neg, abs;
    bool clamp;
} mix_cases[] = {
    {"v_fma_mix_f32 v4, v1, v2, v3", 0xd3a00004, 0x040e0501, MIX_F32, 0, 0, 0, 0, false},
    {"v_fma_mix_f32 v4, v1, v2, v3 op_sel_hi:[1,1,0]", 0xd3a00004, 0x1c0e0501, MIX_F32, 0, 3, 0, 0,
     false},
    {"v_fma_mix_f32 v4, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,1,0]", 0xd3a00804, 0x1c0e0501,
     MIX_F32, 1, 3, 0, 0, false},
    {"v_fma_mix_f32 v4, -v1, |v2|, -|v3| op_sel:[0,1,1] op_sel_hi:[1,1,1]", 0xd3a07604, 0xbc0e0501,
     MIX_F32, 6, 7, 5, 6, false},
    {"v_fma_mix_f32 v4, v1, v2, v3 clamp", 0xd3a08004, 0x040e0501, MIX_F32, 0, 0, 0, 0, true},
    {"v_fma_mixlo_f16 v4, v1, v2, v3", 0xd3a10004, 0x040e0501, MIX_LO, 0, 0, 0, 0, false},
    {"v_fma_mixhi_f16 v4, v1, v2, v3", 0xd3a20004, 0x040e0501, MIX_HI, 0, 0, 0, 0, false},
    {"v_fma_mixlo_f16 v4, -v1, v2, |v3| op_sel:[0,1,0] op_sel_hi:[0,1,1]", 0xd3a15404, 0x340e0501,
     MIX_LO, 2, 6, 1, 4, false},
    {"v_fma_mixhi_f16 v4, v1, |v2|, -v3 op_sel:[1,0,1] op_sel_hi:[1,0,1]", 0xd3a26a04, 0x8c0e0501,
     MIX_HI, 5, 5, 4, 2, false},
    {"v_fma_mixhi_f16 v4, v1, v2, v3 clamp", 0xd3a28004, 0x040e0501, MIX_HI, 0, 0, 0, 0, true},
};

/* Dwords that are modest numbers as f32 and as either half: exponents around 1.0, all signs. */
static uint32_t mix_dword(unsigned reg, unsigned lane)
{
    const uint32_t noise = (lane * 64 + reg) * 2654435761u;
    return (noise & 0x8000c3ffu) | 0x3f803000u;
}

static void check_mix(const struct mix_case *c, uint64_t exec)
{
    fixture_init(&f);
    set_exec(exec);
    for (unsigned reg = 1; reg < 5; reg++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            f.vgpr[reg][lane] = mix_dword(reg, lane);
    run(&f, c->text, c->w0, c->w1);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint32_t old = mix_dword(4, lane);
        float s[3];
        for (unsigned i = 0; i < 3; i++)
            s[i] = mix_value(mix_dword(i + 1, lane), c->f16 >> i & 1, c->high >> i & 1,
                             c->neg >> i & 1, c->abs >> i & 1);
        float value = fmaf(s[0], s[1], s[2]);
        if (c->clamp)
            value = value > 0 ? fminf(value, 1) : 0;
        const uint32_t want = exec >> lane & 1 ? mix_expected(c->form, value, old) : old;
        if (f.vgpr[4][lane] != want)
            fail_msg("%s lane %u: 0x%x, expected 0x%x", c->text, lane, f.vgpr[4][lane], want);
    }
}

static void test_mix(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mix_cases / sizeof mix_cases[0]; i++) {
        check_mix(&mix_cases[i], ~0ull);
        check_mix(&mix_cases[i], 0x8000f00f0000ff01);
    }
    fill(1, 0x4000);     /* 2.0 as f16 */
    fill(3, 0x3f800000); /* 1.0 */
    fill(2, 0x40400000); /* 3.0 */
    f.wave.sgpr[7] = 0x40400000;
    set_exec(~0ull);
    run(&f, "v_fma_mix_f32 v4, v1, s7, 1.0 op_sel_hi:[1,0,0]", 0xd3a00004, 0x0bc80f01);
    assert_all(4, 0x40e00000); /* 7.0 */
    run(&f, "v_fma_mix_f32 v4, v1, v2, 0 op_sel_hi:[1,0,1]", 0xd3a04004, 0x0a020501);
    assert_all(4, 0x40c00000); /* 6.0 */
    run(&f, "v_fma_mix_f32 v4, v1, v2, 1.0 op_sel_hi:[1,0,1]", 0xd3a04004, 0x0bca0501);
    assert_all(4, 0x40e00000); /* 7.0: an f16 inline constant */
}

static void test_sdwa(void **state)
{
    (void)state;
    fill(1, 0x80ff7f01);
    fill(2, 0x11223344);
    fill(3, 0xaaaaaaaa);
    run(&f,
        "v_add_u32_sdwa v3, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 "
        "src1_sel:WORD_1",
        0x680604f9, 0x05020601);
    assert_all(3, 0xff + 0x1122);
    run(&f,
        "v_add_u32_sdwa v3, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 "
        "src1_sel:WORD_1",
        0x680604f9, 0x050a0601);
    assert_all(3, 0x1121);
    fill(3, 0xaaaaaaaa);
    run(&f,
        "v_add_u32_sdwa v3, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 "
        "src1_sel:BYTE_0",
        0x680604f9, 0x00001101);
    assert_all(3, 0xaaaa45aa);
    run(&f,
        "v_add_u32_sdwa v3, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0 "
        "src1_sel:BYTE_0",
        0x680604f9, 0x00000501);
    assert_all(3, 0x00450000);
    run(&f,
        "v_add_u32_sdwa v3, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_1 "
        "src1_sel:BYTE_0",
        0x680604f9, 0x00010901);
    assert_all(3, 0xffffc300); /* 7f + 44 = c3 */
    run(&f, "v_mov_b32_sdwa v3, v1 dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:WORD_1",
        0x7e0602f9, 0x00050401);
    assert_all(3, 0x80ff);
    run(&f, "v_cmp_eq_u32_sdwa s[2:3], v1, v1 src0_sel:BYTE_0 src1_sel:BYTE_0", 0x7d9402f9,
        0x00008201);
    assert_int_equal(rp_sgpr64(&f.wave, 2), ~0ull);
    f.wave.sgpr[9] = 0x7f;
    run(&f, "v_cmp_eq_u32_sdwa vcc, v1, s9 src0_sel:BYTE_1 src1_sel:DWORD", 0x7d9412f9, 0x86010001);
    assert_int_equal(RP_VCC(&f.wave), ~0ull);
    fill(4, 0x00003c00);
    run(&f, "v_cvt_f32_f16_sdwa v3, -v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0",
        0x7e0616f9, 0x00140604);
    assert_all(3, 0xbf800000);
}

/* v0 = lane; what arrives shows where it came from. 99 marks lanes not written. */
static void dpp_expect(const char *what, const unsigned lanes[4], const unsigned want[4])
{
    for (unsigned i = 0; i < 4; i++)
        if (f.vgpr[1][lanes[i]] != want[i])
            fail_msg("%s lane %u: %u, expected %u", what, lanes[i], f.vgpr[1][lanes[i]], want[i]);
    fill(1, 99);
}
#define DPP(what, l0, w0, l1, w1, l2, w2, l3, w3)                                                  \
    dpp_expect(what, (const unsigned[]){l0, l1, l2, l3}, (const unsigned[]){w0, w1, w2, w3})

static void test_dpp(void **state)
{
    (void)state;
    fill(1, 99);
    run(&f, "v_mov_b32_dpp v1, v0 quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xf", 0x7e0202fa,
        0xff003900);
    DPP("quad_perm", 0, 1, 1, 2, 3, 0, 63, 60);
    run(&f, "v_mov_b32_dpp v1, v0 row_shl:3 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff010300);
    DPP("row_shl", 0, 3, 12, 15, 13, 99, 16, 19);
    run(&f, "v_mov_b32_dpp v1, v0 row_shr:3 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff011300);
    DPP("row_shr", 2, 99, 3, 0, 15, 12, 19, 16);
    run(&f, "v_mov_b32_dpp v1, v0 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:1", 0x7e0202fa,
        0xff091300);
    DPP("bound_ctrl", 2, 0, 3, 0, 16, 0, 19, 16);
    run(&f, "v_mov_b32_dpp v1, v0 row_ror:1 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff012100);
    DPP("row_ror", 0, 15, 1, 0, 15, 14, 48, 63);
    run(&f, "v_mov_b32_dpp v1, v0 wave_shl:1 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff013000);
    DPP("wave_shl", 0, 1, 15, 16, 62, 63, 63, 99);
    run(&f, "v_mov_b32_dpp v1, v0 wave_rol:1 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff013400);
    DPP("wave_rol", 0, 1, 15, 16, 62, 63, 63, 0);
    run(&f, "v_mov_b32_dpp v1, v0 wave_shr:1 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff013800);
    DPP("wave_shr", 0, 99, 1, 0, 16, 15, 63, 62);
    run(&f, "v_mov_b32_dpp v1, v0 wave_ror:1 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff013c00);
    DPP("wave_ror", 0, 63, 1, 0, 16, 15, 63, 62);
    run(&f, "v_mov_b32_dpp v1, v0 row_mirror row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff014000);
    DPP("row_mirror", 0, 15, 15, 0, 17, 30, 63, 48);
    run(&f, "v_mov_b32_dpp v1, v0 row_half_mirror row_mask:0xf bank_mask:0xf", 0x7e0202fa,
        0xff014100);
    DPP("row_half_mirror", 0, 7, 7, 0, 8, 15, 63, 56);
    run(&f, "v_mov_b32_dpp v1, v0 row_bcast:15 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff014200);
    DPP("row_bcast:15", 15, 99, 16, 15, 32, 31, 63, 47);
    run(&f, "v_mov_b32_dpp v1, v0 row_bcast:31 row_mask:0xf bank_mask:0xf", 0x7e0202fa, 0xff014300);
    DPP("row_bcast:31", 0, 99, 31, 99, 32, 31, 63, 31);
    run(&f, "v_mov_b32_dpp v1, v0 row_newbcast:5 row_mask:0xf bank_mask:0xf", 0x7e0202fa,
        0xff015500);
    DPP("row_newbcast", 0, 5, 15, 5, 16, 21, 63, 53);
    run(&f, "v_mov_b32_dpp v1, v0 row_newbcast:5 row_mask:0xa bank_mask:0xf", 0x7e0202fa,
        0xaf015500);
    DPP("row_mask", 0, 99, 16, 21, 32, 99, 63, 53);
    run(&f, "v_mov_b32_dpp v1, v0 row_newbcast:5 row_mask:0xf bank_mask:0x8", 0x7e0202fa,
        0xf8015500);
    DPP("bank_mask", 0, 99, 11, 99, 12, 5, 63, 53);
    set_exec(~0xffull); /* a source that is off is like one outside */
    run(&f, "v_mov_b32_dpp v1, v0 row_newbcast:5 row_mask:0xf bank_mask:0xf", 0x7e0202fa,
        0xff015500);
    DPP("inactive source", 0, 99, 8, 99, 15, 99, 16, 21);
    run(&f, "v_mov_b32_dpp v1, v0 row_newbcast:5 row_mask:0xf bank_mask:0xf bound_ctrl:1",
        0x7e0202fa, 0xff095500);
    DPP("inactive source, bound_ctrl", 0, 99, 8, 0, 15, 0, 16, 21);
    set_exec(~0ull);
    run(&f, "v_add_u32_dpp v1, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf", 0x680200fa,
        0xff011100);
    DPP("sum", 0, 99, 1, 1, 2, 3, 63, 125);
    fill(2, 7);
    fill(3, 8);
    run(&f, "v_mov_b64_dpp v[2:3], v[0:1] row_newbcast:1 row_mask:0xf bank_mask:0xf", 0x7e0470fa,
        0xff015100);
    assert_int_equal(f.vgpr[2][20], 17);
    assert_int_equal(f.vgpr[3][20], 99);
}

static void test_lanes(void **state)
{
    (void)state;
    set_exec(0xf0);
    run(&f, "v_readfirstlane_b32 s2, v1", 0x7e040501, 0);
    assert_int_equal(f.wave.sgpr[2], 1004);
    set_exec(0);
    run(&f, "v_readfirstlane_b32 s2, v1", 0x7e040501, 0);
    assert_int_equal(f.wave.sgpr[2], 1000);
    f.wave.sgpr[3] = 64 + 9;
    run(&f, "v_readlane_b32 s2, v1, s3", 0xd2890002, 0x00000701);
    assert_int_equal(f.wave.sgpr[2], 1009);
    run(&f, "v_readlane_b32 vcc_hi, v1, 63", 0xd289006b, 0x00017f01);
    assert_int_equal(f.wave.sgpr[107], 1063);
    run(&f, "v_writelane_b32 v1, s2, 5", 0xd28a0001, 0x00010a02);
    assert_int_equal(f.vgpr[1][5], 1009);
    assert_int_equal(f.vgpr[1][4], 1004);
    set_exec(2);
    run(&f, "v_swap_b32 v1, v2", 0x7e02a302, 0);
    assert_int_equal(f.vgpr[1][0], 1000);
    assert_int_equal(f.vgpr[1][1], 2001);
    assert_int_equal(f.vgpr[2][1], 1001);
}

static void test_accumulators(void **state)
{
    (void)state;
    run(&f, "v_accvgpr_write_b32 a3, v1", 0xd3d94003, 0x18000101);
    assert_int_equal(f.agpr[3][7], 1007);
    run(&f, "v_accvgpr_write_b32 a4, 1.0", 0xd3d94004, 0x180000f2);
    assert_int_equal(f.agpr[4][0], 0x3f800000);
    set_exec(1);
    run(&f, "v_accvgpr_mov_b32 a5, a3", 0x7e0aa503, 0);
    assert_int_equal(f.agpr[5][0], 1000);
    assert_int_equal(f.agpr[5][1], 0);
    run(&f, "v_accvgpr_read_b32 v2, a4", 0xd3d84002, 0x18000104);
    assert_int_equal(f.vgpr[2][0], 0x3f800000);
    assert_int_equal(f.vgpr[2][1], 2001);
}

static void test_index_mode(void **state)
{
    (void)state;
    f.wave.sgpr[2] = 3;
    run(&f, "s_set_gpr_idx_on s2, gpr_idx(SRC0)", 0xbf110102, 0);
    run(&f, "v_mov_b32_e32 v10, v1", 0x7e140301, 0);
    assert_int_equal(f.vgpr[10][0], 4000);
    run(&f, "s_set_gpr_idx_mode gpr_idx(DST)", 0xbf9d0008, 0);
    run(&f, "v_mov_b32_e32 v10, v1", 0x7e140301, 0);
    assert_int_equal(f.vgpr[13][1], 1001);
    f.wave.sgpr[2] = 30;
    run(&f, "s_set_gpr_idx_idx s2", 0xbe803202, 0);
    assert_int_equal(fixture_step(&f, "v_mov_b32_e32 v10, v1", 0x7e140301, 0), RP_STEP_FAULT);
    run(&f, "s_set_gpr_idx_off", 0xbf9c0000, 0);
    run(&f, "v_mov_b32_e32 v10, v1", 0x7e140301, 0);
    assert_int_equal(f.vgpr[10][1], 1001);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_int_equal(fixture_step(&f, "v_mov_b32_e32 v40, v1", 0x7e500301, 0), RP_STEP_FAULT);
    assert_int_equal(f.wave.fault.kind, RP_FAULT_ILLEGAL_OPCODE);
    f.wave.pc = FIXTURE_PC;
    assert_int_equal(fixture_step(&f, "s_rfe_b64 s[2:3]", 0xbe801f02, 0), RP_STEP_FAULT);
    assert_int_equal(f.wave.fault.kind, RP_FAULT_UNIMPLEMENTED);
    assert_int_equal(f.wave.fault.pc, FIXTURE_PC);
    assert_non_null(strstr(f.wave.fault.text, "s_rfe_b64 s[2:3]"));
    struct rp_insn in;
    const uint32_t nonsense = 0xffffffff;
    assert_int_equal(rp_isa_decode(&nonsense, 1, &in), 0);
    assert_int_equal(in.fn(&f.wave, &in), RP_STEP_FAULT);
    assert_int_equal(f.wave.fault.kind, RP_FAULT_ILLEGAL_OPCODE);
    const uint32_t cut_off = 0x800080ff; /* s_add_u32 with a literal that is not there */
    assert_int_equal(rp_isa_decode(&cut_off, 1, &in), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_exec, setup),
        cmocka_unit_test_setup(test_operands, setup),
        cmocka_unit_test_setup(test_masks, setup),
        cmocka_unit_test_setup(test_float_modifiers, setup),
        cmocka_unit_test_setup(test_integer_clamp, setup),
        cmocka_unit_test_setup(test_halves, setup),
        cmocka_unit_test_setup(test_packed_f32, setup),
        cmocka_unit_test_setup(test_mix, setup),
        cmocka_unit_test_setup(test_sdwa, setup),
        cmocka_unit_test_setup(test_dpp, setup),
        cmocka_unit_test_setup(test_lanes, setup),
        cmocka_unit_test_setup(test_accumulators, setup),
        cmocka_unit_test_setup(test_index_mode, setup),
        cmocka_unit_test_setup(test_refusals, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
