/*
 * SDWA, DPP, integer CLAMP and VGPR index mode, exhaustively where that is possible. Expected
 * values are worked out on bytes, lane numbers and exact integers.
 */
#include <stdio.h>

#include "lane_oracle/oracle.h"
#include "wave_fixture.h"

static struct fixture f;
static void randomise(void)
{
    fixture_init(&f);
    for (unsigned reg = 0; reg < 16; reg++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            f.vgpr[reg][lane] = (uint32_t)random64();
}

static struct rp_insn decoded(uint32_t w0, uint32_t w1)
{
    const uint32_t words[2] = {w0, w1};
    struct rp_insn in;
    assert_int_equal(rp_isa_decode(words, 2, &in), 8);
    return in;
}

/* ---- SDWA ---- */

/* Bytes [first, first + count) of a register that a select names. */
static void selected(unsigned sel, unsigned *first, unsigned *count)
{
    *first = sel < 4 ? sel : sel == 5 ? 2 : 0;
    *count = sel < 4 ? 1 : sel < 6 ? 2 : 4;
}

static uint32_t sdwa_source(uint32_t reg, unsigned sel, bool sext)
{
    uint8_t in[4], out[4];
    unsigned first, count;
    uint32_t r;
    memcpy(in, &reg, 4);
    selected(sel, &first, &count);
    for (unsigned i = 0; i < 4; i++)
        out[i] = i < count ? in[first + i] : sext && in[first + count - 1] & 0x80 ? 0xff : 0;
    memcpy(&r, out, 4);
    return r;
}

/* unused: 0 pad with zeros, 1 sign above and zeros below, 2 preserve. */
static uint32_t sdwa_result(uint32_t value, uint32_t old, unsigned sel, unsigned unused)
{
    uint8_t v[4], keep[4], out[4];
    unsigned first, count;
    uint32_t r;
    memcpy(v, &value, 4);
    memcpy(keep, &old, 4);
    selected(sel, &first, &count);
    for (unsigned i = 0; i < 4; i++) {
        const bool above = i >= first + count;
        if (i >= first && !above)
            out[i] = v[i - first];
        else if (unused == 2)
            out[i] = keep[i];
        else
            out[i] = unused == 1 && above && v[count - 1] & 0x80 ? 0xff : 0;
    }
    memcpy(&r, out, 4);
    return r;
}

static void check_sdwa(unsigned dst_sel, unsigned unused, unsigned sel0, unsigned sel1,
                       unsigned sexts)
{
    static uint32_t old[RP_LANES];
    const uint64_t exec = random64();
    /* v_add_u32_sdwa v3, v1, v2 */
    const uint32_t w1 = 1 | dst_sel << 8 | unused << 11 | sel0 << 16 | (sexts & 1) << 19 |
                        sel1 << 24 | (sexts >> 1) << 27;
    const struct rp_insn in = decoded(0x680604f9, w1);
    randomise();
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, exec);
    memcpy(old, f.vgpr[3], sizeof old);
    assert_int_equal(in.fn(&f.wave, &in), RP_STEP_NEXT);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint32_t sum = sdwa_source(f.vgpr[1][lane], sel0, sexts & 1) +
                             sdwa_source(f.vgpr[2][lane], sel1, sexts & 2);
        const uint32_t r = sdwa_result(sum, old[lane], dst_sel, unused);
        const uint32_t want = exec >> lane & 1 ? r : old[lane];
        if (f.vgpr[3][lane] != want)
            fail_msg("dst_sel %u unused %u sel %u %u sext %u: 0x%x, expected 0x%x", dst_sel, unused,
                     sel0, sel1, sexts, f.vgpr[3][lane], want);
    }
}

static void test_sdwa_every_select(void **state)
{
    (void)state;
    for (unsigned dst_sel = 0; dst_sel < 7; dst_sel++)
        for (unsigned unused = 0; unused < 3; unused++)
            for (unsigned sel0 = 0; sel0 < 7; sel0++)
                for (unsigned sel1 = 0; sel1 < 7; sel1++)
                    for (unsigned sexts = 0; sexts < 4; sexts++)
                        check_sdwa(dst_sel, unused, sel0, sel1, sexts);
}

/* neg, abs and clamp of f16 halves: what is selected is negated, the clamped result is placed. */
static void test_sdwa_float_modifiers(void **state)
{
    (void)state;
    randomise();
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        f.vgpr[1][lane] = 0xc2001234; /* -3 above */
        f.vgpr[2][lane] = 0x5678c000; /* -2 below */
        f.vgpr[3][lane] = 0xaaaabbbb;
    }
    run(&f,
        "v_add_f16_sdwa v3, |v1|, -v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
        "src1_sel:WORD_0",
        0x3e0604f9, 0x14251501);
    assert_int_equal(f.vgpr[3][7], 0x4500bbbb); /* 5 */
    run(&f,
        "v_add_f16_sdwa v3, -v1, v2 clamp dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:WORD_1 "
        "src1_sel:WORD_0",
        0x3e0604f9, 0x04152401);
    assert_int_equal(f.vgpr[3][7], 0x3c00); /* 3 - 2 */
    run(&f,
        "v_sub_u32_sdwa v3, v1, v2 clamp dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 "
        "src1_sel:BYTE_1",
        0x6a0604f9, 0x01002601);
    assert_int_equal(f.vgpr[3][7], 0); /* 0x34 - 0xc0 saturates */
}

/* ---- DPP ---- */

/* Source lane of a control code as assembly writes it, -1 when outside, -2 for no control. */
static int dpp_source(unsigned ctrl, int lane)
{
    const int in_row = lane % 16, first = lane - in_row, n = (int)ctrl % 16;
    if (ctrl <= 0xff)
        return lane - lane % 4 + (int)(ctrl >> (lane % 4 * 2)) % 4; /* quad_perm */
    if (ctrl >= 0x101 && ctrl <= 0x10f)
        return in_row + n > 15 ? -1 : lane + n; /* row_shl */
    if (ctrl >= 0x111 && ctrl <= 0x11f)
        return in_row - n < 0 ? -1 : lane - n; /* row_shr */
    if (ctrl >= 0x121 && ctrl <= 0x12f)
        return first + (in_row + 16 - n) % 16; /* row_ror */
    if (ctrl >= 0x150 && ctrl <= 0x15f)
        return first + n; /* row_newbcast */
    switch (ctrl) {
    case 0x130:
        return lane == 63 ? -1 : lane + 1; /* wave_shl */
    case 0x134:
        return (lane + 1) % 64; /* wave_rol */
    case 0x138:
        return lane == 0 ? -1 : lane - 1; /* wave_shr */
    case 0x13c:
        return (lane + 63) % 64; /* wave_ror */
    case 0x140:
        return first + 15 - in_row; /* row_mirror */
    case 0x141:
        return lane - lane % 8 + 7 - lane % 8; /* row_half_mirror */
    case 0x142:
        return first == 0 ? -1 : first - 1; /* row_bcast:15 */
    case 0x143:
        return lane < 32 ? -1 : 31; /* row_bcast:31 */
    default:
        return -2;
    }
}

static void check_dpp(unsigned ctrl, unsigned rows, unsigned banks, bool zero, uint64_t exec)
{
    static struct fixture before;
    /* v_add_u32_dpp v3, v1, v2 */
    const struct rp_insn in =
        decoded(0x680604fa, 1 | ctrl << 8 | (uint32_t)zero << 19 | banks << 24 | rows << 28);
    randomise();
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, exec);
    before = f;
    const int step = in.fn(&f.wave, &in);
    if (dpp_source(ctrl, 0) == -2) {
        assert_int_equal(step, RP_STEP_FAULT);
        return;
    }
    assert_int_equal(step, RP_STEP_NEXT);
    for (int lane = 0; lane < RP_LANES; lane++) {
        const int from = dpp_source(ctrl, lane);
        const bool valid = from >= 0 && exec >> from & 1;
        const bool on = exec >> lane & 1 && rows >> (lane / 16) & 1 && banks >> (lane / 4 % 4) & 1;
        uint32_t want = before.vgpr[3][lane];
        if (on && (valid || zero))
            want = (valid ? before.vgpr[1][from] : 0) + before.vgpr[2][lane];
        if (f.vgpr[3][lane] != want)
            fail_msg("ctrl 0x%x rows 0x%x banks 0x%x bound_ctrl %d lane %d: 0x%x, expected 0x%x",
                     ctrl, rows, banks, zero, lane, f.vgpr[3][lane], want);
    }
}

static void test_dpp_every_control(void **state)
{
    (void)state;
    for (unsigned ctrl = 0; ctrl < 512; ctrl++) {
        for (unsigned zero = 0; zero < 2; zero++) {
            check_dpp(ctrl, 15, 15, zero, ~0ull);
            check_dpp(ctrl, (unsigned)random64() & 15, (unsigned)random64() & 15, zero, random64());
        }
        check_dpp(ctrl, 15, 15, true, 0);
    }
}

/* 64-bit operands move as pairs; compares clear the bits of lanes that are switched off. */
static void test_dpp_pairs_and_masks(void **state)
{
    (void)state;
    fixture_init(&f);
    run(&f, "v_mov_b64_dpp v[4:5], v[0:1] row_newbcast:3 row_mask:0xf bank_mask:0xf", 0x7e0870fa,
        0xff015300);
    assert_int_equal(f.vgpr[4][20], 19);
    assert_int_equal(f.vgpr[5][20], 1019);
    rp_sgpr64_set(&f.wave, RP_SGPR_VCC_LO, ~0ull);
    run(&f, "v_cmp_le_u32_dpp vcc, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf", 0x7d9600fa,
        0xff011100);
    assert_int_equal(RP_VCC(&f.wave), 0xfffefffefffefffe);
}

/* ---- integer CLAMP: exact results brought into range ---- */

enum range { U16, I16, U32, I32, U64, I64 };

static __float128 limited(__float128 v, enum range r)
{
    static const int bits[] = {16, 15, 32, 31, 64, 63};
    __float128 top = 1;
    for (int i = 0; i < bits[r]; i++)
        top *= 2;
    const __float128 low = r % 2 ? -top : 0;
    return v < low ? low : v > top - 1 ? top - 1 : v;
}

/* Sources as numbers: bits used, signed. */
static __float128 number(uint64_t v, int bits, bool is_signed)
{
    __float128 r = 0, weight = 1;
    for (int i = 0; i < bits; i++, weight *= 2)
        if (v >> i & 1)
            r += is_signed && i == bits - 1 ? -weight : weight;
    return r;
}

/* Widths of a, b, c; what is made of them. */
static const struct clamp_case {
    const char *name;
    enum range range;
    int bits, bits_c;
    char form; /* + - r(everse) * m(ultiply and add) d(ot of @fields) s(ad) h(igh sad) M(asked) */
    int field;
} clamps[] = {
    {"v_add_u32", U32, 32, 0, '+', 0},         {"v_sub_u32", U32, 32, 0, '-', 0},
    {"v_subrev_u32", U32, 32, 0, 'r', 0},      {"v_add_i32", I32, 32, 0, '+', 0},
    {"v_sub_i32", I32, 32, 0, '-', 0},         {"v_add_u16", U16, 16, 0, '+', 0},
    {"v_sub_u16", U16, 16, 0, '-', 0},         {"v_subrev_u16", U16, 16, 0, 'r', 0},
    {"v_add_i16", I16, 16, 0, '+', 0},         {"v_sub_i16", I16, 16, 0, '-', 0},
    {"v_mad_u16", U16, 16, 16, 'm', 0},        {"v_mad_i16", I16, 16, 16, 'm', 0},
    {"v_mad_legacy_u16", U16, 16, 16, 'm', 0}, {"v_mad_legacy_i16", I16, 16, 16, 'm', 0},
    {"v_mad_u32_u16", U32, 16, 32, 'm', 0},    {"v_mad_i32_i16", I32, 16, 32, 'm', 0},
    {"v_mul_u32_u24", U32, 24, 0, '*', 0},     {"v_mul_i32_i24", I32, 24, 0, '*', 0},
    {"v_mad_u32_u24", U32, 24, 32, 'm', 0},    {"v_mad_i32_i24", I32, 24, 32, 'm', 0},
    {"v_mad_u64_u32", U64, 32, 64, 'm', 0},    {"v_mad_i64_i32", I64, 32, 64, 'm', 0},
    {"v_dot2_i32_i16", I32, 32, 32, 'd', 16},  {"v_dot2_u32_u16", U32, 32, 32, 'd', 16},
    {"v_dot4_i32_i8", I32, 32, 32, 'd', 8},    {"v_dot4_u32_u8", U32, 32, 32, 'd', 8},
    {"v_dot8_i32_i4", I32, 32, 32, 'd', 4},    {"v_dot8_u32_u4", U32, 32, 32, 'd', 4},
    {"v_dot2c_i32_i16", I32, 32, 32, 'd', 16}, {"v_dot4c_i32_i8", I32, 32, 32, 'd', 8},
    {"v_dot8c_i32_i4", I32, 32, 32, 'd', 4},   {"v_sad_u8", U32, 32, 32, 's', 8},
    {"v_sad_hi_u8", U32, 32, 32, 'h', 8},      {"v_sad_u16", U32, 32, 32, 's', 16},
    {"v_sad_u32", U32, 32, 32, 's', 32},       {"v_msad_u8", U32, 32, 32, 'M', 8},
    {"v_add_co_u32", U32, 32, 0, '+', 0},      {"v_sub_co_u32", U32, 32, 0, '-', 0},
    {"v_subrev_co_u32", U32, 32, 0, 'r', 0},   {"v_max_u32", U32, 32, 0, '>', 0},
};

static __float128 over_fields(const struct clamp_case *c, uint64_t a, uint64_t b, bool is_signed)
{
    __float128 sum = 0;
    for (int i = 0; i < 32; i += c->field) {
        const __float128 x = number(a >> i, c->field, is_signed);
        const __float128 y = number(b >> i, c->field, is_signed);
        const __float128 apart = x > y ? x - y : y - x;
        sum += c->form == 'd' ? x * y : c->form == 'M' && y == 0 ? 0 : apart;
    }
    return c->form == 'h' ? sum * 65536 : sum;
}

static uint64_t clamp_expected(const struct clamp_case *c, uint64_t a, uint64_t b, uint64_t d)
{
    const bool is_signed = c->range % 2;
    const __float128 x = number(a, c->bits, is_signed), y = number(b, c->bits, is_signed);
    const __float128 z = number(d, c->bits_c, is_signed);
    __float128 v;
    switch (c->form) {
    case '+':
        v = x + y;
        break;
    case '-':
        v = x - y;
        break;
    case 'r':
        v = y - x;
        break;
    case '*':
        v = x * y;
        break;
    case 'm':
        v = x * y + z;
        break;
    case '>': /* cannot leave its range: CLAMP does nothing */
        v = x > y ? x : y;
        break;
    default:
        v = over_fields(c, a, b, is_signed) + z;
        break;
    }
    v = limited(v, c->range);
    return v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static unsigned op_named(const char *name)
{
    for (unsigned op = 1; op < RP_OP_MAX; op++)
        if (strcmp(rp_op_rows[op].mnemonic, name) == 0)
            return op;
    fail_msg("no row %s", name);
    return 0;
}

static uint64_t edge(void)
{
    static const uint64_t edges[] = {0,          1,          0x7fff,     0x8000,
                                     0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                                     0x00ffffff, 0x00800000, 0x7f7f7f7f, 0x80808080,
                                     0x80008000, ~0ull,      1ull << 63, ~0ull >> 1};
    return random64() & 3 ? edges[random64() >> 20 & 15] : random64();
}

static void check_clamp(const struct clamp_case *c)
{
    const struct rp_op_row *row = &rp_op_rows[op_named(c->name)];
    const bool vop3p = row->fmt == RP_FMT_VOP3P, tied = row->fmt == RP_FMT_VOP2 && row->src[2];
    const unsigned twin = row->fmt == RP_FMT_VOP2 ? 0x100 : 0;
    const bool carry = row->sdst == RP_T_MASK;
    const uint32_t base = vop3p ? 0xd3804000u : 0xd0000000u;
    const struct rp_insn in = decoded(
        base | (row->opcode + twin) << 16 | 6 | 1 << 15 | (carry ? 20u << 8 : 0),
        (256 + 0) | (256 + 2) << 9 | (tied ? 0 : (256 + 4u) << 18) | (vop3p ? 3u << 27 : 0));
    uint64_t s[3][RP_LANES];
    fixture_init(&f);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned i = 0; i < 3; i++) {
            s[i][lane] = edge();
            const unsigned reg = i == 2 && tied ? 6 : 2 * i;
            f.vgpr[reg][lane] = (uint32_t)s[i][lane];
            f.vgpr[reg + 1][lane] = (uint32_t)(s[i][lane] >> 32);
        }
    if (in.fn(&f.wave, &in) != RP_STEP_NEXT)
        fail_msg("%s: %s", c->name, f.wave.fault.text);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t keep = c->range < U32 ? 0xffff : c->range < U64 ? 0xffffffff : ~0ull;
        const uint64_t got = (f.vgpr[6][lane] | (uint64_t)f.vgpr[7][lane] << 32) & keep;
        const uint64_t want = clamp_expected(c, s[0][lane], s[1][lane], s[2][lane]) & keep;
        if (got != want)
            fail_msg("%s clamp 0x%llx 0x%llx 0x%llx: 0x%llx, expected 0x%llx", c->name,
                     (unsigned long long)s[0][lane], (unsigned long long)s[1][lane],
                     (unsigned long long)s[2][lane], (unsigned long long)got,
                     (unsigned long long)want);
    }
}

static void test_integer_clamp_every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof clamps / sizeof clamps[0]; i++)
        for (unsigned n = 0; n < 40; n++)
            check_clamp(&clamps[i]);
}

/* Packed halves saturate apart; a sum of four differences in each of its words. */
static void test_integer_clamp_packed(void **state)
{
    (void)state;
    fixture_init(&f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        f.vgpr[0][lane] = 0xfff07fff;
        f.vgpr[1][lane] = 0x00200001;
        f.vgpr[2][lane] = 0xffffffff;
        f.vgpr[3][lane] = 0xffffffff;
        f.vgpr[4][lane] = 0xffff0001;
        f.vgpr[5][lane] = 0x0000fff0;
    }
    run(&f, "v_pk_add_u16 v6, v0, v1 clamp", 0xd38ac006, 0x18020300);
    assert_int_equal(f.vgpr[6][0], 0xffff8000);
    run(&f, "v_pk_add_i16 v6, v0, v1 clamp", 0xd382c006, 0x18020300);
    assert_int_equal(f.vgpr[6][0], 0x00107fff);
    run(&f, "v_pk_sub_u16 v6, v1, v0 clamp", 0xd38bc006, 0x18020101);
    assert_int_equal(f.vgpr[6][0], 0);
    run(&f, "v_pk_mul_lo_u16 v6, v0, v1 clamp", 0xd381c006, 0x18020300);
    assert_int_equal(f.vgpr[6][0], 0xffff7fff);
    run(&f, "v_pk_mad_i16 v6, v0, v1, v2 clamp", 0xd380c006, 0x1c0a0300);
    assert_int_equal(f.vgpr[6][0], 0xfdff7ffe); /* -16 * 32 - 1, 32767 - 1 */
    run(&f, "v_pk_mad_u16 v6, v0, v1, v2 clamp", 0xd389c006, 0x1c0a0300);
    assert_int_equal(f.vgpr[6][0], 0xffffffff);
    run(&f, "v_qsad_pk_u16_u8 v[6:7], v[2:3], v0, v[4:5] clamp", 0xd1e58006, 0x04120102);
    /* bytes ff against ff, 7f, f0, ff: 128 + 15 */
    assert_int_equal(f.vgpr[6][0], 0xffff0090);
    assert_int_equal(f.vgpr[7][0], 0x008fffff); /* 0xfff0 + 143 saturates */
}

/* ---- VGPR index mode: M0[7:0] added where M0[15:12] says so ---- */

/* v_fma_f32-like row without rounding: v_lshl_or_b32 v8, v0, v2, v4. */
static void test_index_mode_every_enable(void **state)
{
    (void)state;
    for (uint32_t enables = 0; enables < 16; enables++) {
        fixture_init(&f);
        f.wave.sgpr[2] = 3;
        struct rp_insn on;
        const uint32_t word = 0xbf110002u | enables << 8; /* s_set_gpr_idx_on s2, enables */
        assert_int_equal(rp_isa_decode(&word, 1, &on), 4);
        assert_int_equal(on.fn(&f.wave, &on), RP_STEP_NEXT);
        assert_int_equal(f.wave.sgpr[RP_SGPR_M0], 3 | enables << 12);
        const unsigned a = enables & 1 ? 3 : 0, b = enables & 2 ? 5 : 2, c = enables & 4 ? 7 : 4,
                       d = enables & 8 ? 11 : 8;
        const uint32_t want = f.vgpr[a][9] + f.vgpr[b][9] + f.vgpr[c][9];
        run(&f, "v_add3_u32 v8, v0, v2, v4", 0xd1ff0008, 0x04120500);
        assert_int_equal(f.vgpr[d][9], want);
        if (d != 8)
            assert_int_equal(f.vgpr[8][9], 8009);
    }
}

/* Instructions whose operands are not where their fields are (ISA guide, "VGPR indexing details").
 */
static void test_index_mode_unusual_operands(void **state)
{
    (void)state;
    fixture_init(&f);
    f.wave.sgpr[2] = 4;
    run(&f, "s_set_gpr_idx_on s2, gpr_idx(DST)", 0xbf110802, 0);
    run(&f, "v_dot4c_i32_i8_e32 v8, v0, v1", 0x72100300, 0); /* accumulates into v12 */
    assert_int_equal(f.vgpr[8][0], 8000);
    assert_int_equal(f.vgpr[12][0], 12000); /* v0 is 0 in lane 0 */
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        f.vgpr[0][lane] = 0x42280000; /* 42.0 */
        f.vgpr[1][lane] = 1;
        f.vgpr[12][lane] = 0x11223344;
    }
    run(&f, "v_cvt_pkaccum_u8_f32 v8, v0, v1", 0xd1f00008, 0x00020300);
    assert_int_equal(f.vgpr[12][5], 0x11222a44);
    run(&f, "v_writelane_b32 v8, s2, 7", 0xd28a0008, 0x00010e02);
    assert_int_equal(f.vgpr[12][7], 4);
    run(&f, "v_readlane_b32 s3, v8, 7", 0xd2890003, 0x00010f08);
    assert_int_equal(f.wave.sgpr[3], 8007); /* sources are not indexed */
    run(&f, "s_set_gpr_idx_mode gpr_idx(SRC0)", 0xbf9d0001, 0);
    run(&f, "v_readlane_b32 s3, v8, 7", 0xd2890003, 0x00010f08);
    assert_int_equal(f.wave.sgpr[3], 4);
    run(&f, "v_readfirstlane_b32 s3, v8", 0x7e060508, 0);
    assert_int_equal(f.wave.sgpr[3], 0x11222a44);
    run(&f, "s_set_gpr_idx_mode gpr_idx(SRC2)", 0xbf9d0004, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        f.vgpr[5][lane] = 0x40400000; /* 3 */
        f.vgpr[1][lane] = 0x3f800000;
        f.vgpr[0][lane] = 0x40000000;
    }
    run(&f, "v_fmamk_f32 v8, v0, 0x41200000, v1", 0x2e100300, 0x41200000);
    assert_int_equal(f.vgpr[8][3], 0x41b80000); /* 2 * 10 + 3: its addend is the third source */
    run(&f, "s_set_gpr_idx_off", 0xbf9c0000, 0);
    run(&f, "v_fmamk_f32 v8, v0, 0x41200000, v1", 0x2e100300, 0x41200000);
    assert_int_equal(f.vgpr[8][3], 0x41a80000);
}

/* The table looked up bit by bit; halves by op_sel, the rest of the register and lanes kept. */
static void three_bit_functions(void **state)
{
    (void)state;
    const uint64_t exec = 0x00f0000000000123;

    fixture_init(&f);
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, exec);
    for (unsigned r = 1; r <= 4; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            f.vgpr[r][lane] = (lane + 1) * 0x9e3779b9u * (2 * r + 1);
    rp_isa_target_set("gfx950");
    run(&f, "v_bitop3_b16 v1, v2, v3, v4 bitop3:0x12 op_sel:[0,1,1,1]", 0xd2337201, 0x44120702);
    rp_isa_target_set("gfx942");
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t expected = (lane + 1) * 0x9e3779b9u * 3;
        for (unsigned bit = 0; exec >> lane & 1 && bit < 16; bit++) {
            unsigned a = f.vgpr[2][lane] >> bit & 1, b = f.vgpr[3][lane] >> (16 + bit) & 1;
            unsigned c = f.vgpr[4][lane] >> (16 + bit) & 1;
            uint32_t one = 1u << (16 + bit);
            expected = 0x12 >> (4 * a + 2 * b + c) & 1 ? expected | one : expected & ~one;
        }
        assert_int_equal(f.vgpr[1][lane], expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_bit_functions),
        cmocka_unit_test(test_sdwa_every_select),
        cmocka_unit_test(test_sdwa_float_modifiers),
        cmocka_unit_test(test_dpp_every_control),
        cmocka_unit_test(test_dpp_pairs_and_masks),
        cmocka_unit_test(test_integer_clamp_every_row),
        cmocka_unit_test(test_integer_clamp_packed),
        cmocka_unit_test(test_index_mode_every_enable),
        cmocka_unit_test(test_index_mode_unusual_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
