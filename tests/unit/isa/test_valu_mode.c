/*
 * MODE: rounding, denormals, overflow, OMOD and clamp of every float instruction that heeds them.
 * Expected values are exact in 113 bits and rounded once, by integer arithmetic (oracle_num.c).
 */
#include "lane_oracle/oracle.h"
#include "wave_fixture.h"

enum { SRC0 = 0, SRC1 = 2, SRC2 = 4, DST = 6, ROUNDS = 60, OMOD_SHIFT = 27 };

static struct fixture f;

/* ---- what is tested ---- */

enum kind {
    ADD,
    SUB,
    SUBREV,
    MUL,
    MUL_LEGACY,
    FMA,
    MAD,
    LDEXP,
    FRACT,
    CONVERT,
    DIV_FMAS,
    TRUNC,
    CEIL,
    FLOOR,
    RNDNE,
    MIN,
    MAX,
    MIX,
};

/* Formats of result and sources: H, S, D, or integers i, u (32 bits) and w, x (16 bits). */
static const struct row {
    const char *mnemonic;
    char dst, src;
    enum kind kind;
} rows[] = {
    {"v_add_f16", 'H', 'H', ADD},
    {"v_add_f32", 'S', 'S', ADD},
    {"v_add_f64", 'D', 'D', ADD},
    {"v_pk_add_f16", 'H', 'H', ADD},
    {"v_pk_add_f32", 'S', 'S', ADD},
    {"v_sub_f16", 'H', 'H', SUB},
    {"v_sub_f32", 'S', 'S', SUB},
    {"v_subrev_f16", 'H', 'H', SUBREV},
    {"v_subrev_f32", 'S', 'S', SUBREV},
    {"v_mul_f16", 'H', 'H', MUL},
    {"v_mul_f32", 'S', 'S', MUL},
    {"v_mul_f64", 'D', 'D', MUL},
    {"v_pk_mul_f16", 'H', 'H', MUL},
    {"v_pk_mul_f32", 'S', 'S', MUL},
    {"v_mul_legacy_f32", 'S', 'S', MUL_LEGACY},
    {"v_fma_f16", 'H', 'H', FMA},
    {"v_fma_legacy_f16", 'H', 'H', FMA},
    {"v_fma_f32", 'S', 'S', FMA},
    {"v_fma_f64", 'D', 'D', FMA},
    {"v_fmac_f32", 'S', 'S', FMA},
    {"v_fmac_f64", 'D', 'D', FMA},
    {"v_pk_fma_f16", 'H', 'H', FMA},
    {"v_pk_fma_f32", 'S', 'S', FMA},
    {"v_mad_f16", 'H', 'H', MAD},
    {"v_mad_f32", 'S', 'S', MAD}, /* this one and the next: gfx90a */
    {"v_mac_f32", 'S', 'S', MAD},
    {"v_mad_legacy_f16", 'H', 'H', MAD},
    {"v_mac_f16", 'H', 'H', MAD},
    {"v_ldexp_f16", 'H', 'H', LDEXP},
    {"v_ldexp_f32", 'S', 'S', LDEXP},
    {"v_ldexp_f64", 'D', 'D', LDEXP},
    {"v_fract_f16", 'H', 'H', FRACT},
    {"v_fract_f32", 'S', 'S', FRACT},
    {"v_fract_f64", 'D', 'D', FRACT},
    {"v_cvt_f32_i32", 'S', 'i', CONVERT},
    {"v_cvt_f32_u32", 'S', 'u', CONVERT},
    {"v_cvt_f32_f64", 'S', 'D', CONVERT},
    {"v_cvt_f16_f32", 'H', 'S', CONVERT},
    {"v_cvt_f32_f16", 'S', 'H', CONVERT},
    {"v_cvt_f64_f32", 'D', 'S', CONVERT},
    {"v_cvt_f16_u16", 'H', 'x', CONVERT},
    {"v_cvt_f16_i16", 'H', 'w', CONVERT},
    {"v_div_fmas_f32", 'S', 'S', DIV_FMAS},
    {"v_div_fmas_f64", 'D', 'D', DIV_FMAS},
    {"v_trunc_f32", 'S', 'S', TRUNC},
    {"v_trunc_f16", 'H', 'H', TRUNC},
    {"v_ceil_f64", 'D', 'D', CEIL},
    {"v_ceil_f32", 'S', 'S', CEIL},
    {"v_floor_f32", 'S', 'S', FLOOR},
    {"v_floor_f16", 'H', 'H', FLOOR},
    {"v_rndne_f16", 'H', 'H', RNDNE},
    {"v_rndne_f32", 'S', 'S', RNDNE},
    {"v_rndne_f64", 'D', 'D', RNDNE},
    {"v_min_f32", 'S', 'S', MIN},
    {"v_max_f32", 'S', 'S', MAX},
    {"v_min_f16", 'H', 'H', MIN},
    {"v_max_f64", 'D', 'D', MAX},
    {"v_fma_mix_f32", 'S', 'S', MIX},
    {"v_fma_mixlo_f16", 'H', 'S', MIX},
};

static struct fmt fmt_of(char c)
{
    return c == 'H' ? fmt_f16 : c == 'S' ? fmt_f32 : fmt_f64;
}

static bool is_float(char c)
{
    return c == 'H' || c == 'S' || c == 'D';
}

/* ---- the wave's mode, from its fields ---- */

struct mode {
    int round[2], denorm[2]; /* [0] f32, [1] f64 and f16 */
    bool dx10, ieee, ovfl;
};

static uint32_t bits_of(const struct mode *m)
{
    return (uint32_t)(m->round[0] | m->round[1] << 2 | m->denorm[0] << 4 | m->denorm[1] << 6 |
                      m->dx10 << 8 | m->ieee << 9) |
           (uint32_t)m->ovfl << 23;
}

static int round_of(const struct mode *m, char c)
{
    return m->round[c != 'S'];
}

static bool keeps(const struct mode *m, char c, bool result)
{
    return m->denorm[c != 'S'] >> result & 1;
}

/* ---- expected values ---- */

static bool negative(struct fmt t, uint64_t bits)
{
    return bits >> (t.exp_bits + t.mant_bits) & 1;
}

static uint64_t zero_like(struct fmt t, uint64_t bits)
{
    return bits & (uint64_t)1 << (t.exp_bits + t.mant_bits);
}

static bool is_denormal(struct fmt t, uint64_t bits)
{
    return (bits >> t.mant_bits & ((1u << t.exp_bits) - 1)) == 0;
}

static __float128 power(int n)
{
    __float128 r = 1;
    for (; n > 0; n--)
        r *= 2;
    for (; n < 0; n++)
        r *= 0.5;
    return r;
}

static __float128 whole(__float128 v, enum kind kind)
{
    if (!(v - v == 0) || v >= 0x1p62 || v <= -0x1p62)
        return v;
    __float128 low = (__float128)(int64_t)v;
    if (low > v)
        low -= 1; /* floor */
    const __float128 rest = v - low;
    bool up = kind == CEIL ? rest != 0 : kind == TRUNC ? v < 0 && rest != 0 : false;
    if (kind == RNDNE)
        up = rest > 0.5 || (rest == 0.5 && (int64_t)low % 2 != 0);
    return up ? low + 1 : low;
}

struct value {
    __float128 v;
    bool minus; /* sign, also of zero */
};

static struct value read_value(char c, uint64_t bits)
{
    switch (c) {
    case 'i':
        return (struct value){(int32_t)bits, (int32_t)bits < 0};
    case 'u':
        return (struct value){(uint32_t)bits, false};
    case 'w':
        return (struct value){(int16_t)bits, (int16_t)bits < 0};
    case 'x':
        return (struct value){(uint16_t)bits, false};
    default:
        return (struct value){fmt_value(fmt_of(c), bits), negative(fmt_of(c), bits)};
    }
}

/* x*y + z with the sign that an exact zero has. */
static struct value fused(struct value x, struct value y, struct value z, int round)
{
    const __float128 r = quad_fma(x.v, y.v, z.v);
    const bool product = x.minus ^ y.minus;
    if (r != 0)
        return (struct value){r, r < 0};
    return (struct value){0, product == z.minus ? product : round == 2};
}

static uint64_t rounded(char c, struct value v, int round)
{
    const struct fmt t = fmt_of(c);
    return v.v == 0 ? (uint64_t)v.minus << (t.exp_bits + t.mant_bits) : fmt_round_to(t, v.v, round);
}

static struct value scaled(struct value v, int by)
{
    return (struct value){v.v * power(by), v.minus};
}

static struct value opposite(struct value v)
{
    return (struct value){-v.v, !v.minus};
}

static struct value multiply_add(char src, const struct value s[3], int round)
{
    const double least = src == 'H' ? 0x1p-14 : 0x1p-126;
    struct value t[3];
    for (int i = 0; i < 3; i++) {
        const bool small = s[i].v < least && s[i].v > -least;
        t[i] = small ? (struct value){0, s[i].minus} : s[i];
    }
    uint64_t p = rounded(src, (struct value){t[0].v * t[1].v, t[0].minus ^ t[1].minus}, round);
    if (is_denormal(fmt_of(src), p))
        p = zero_like(fmt_of(src), p);
    return fused(read_value(src, p), (struct value){1, false}, t[2], round);
}

/* Before rounding; the kinds not here have their own rules. */
static struct value exact(enum kind kind, char src, const struct value s[3], int n, bool vcc,
                          int round)
{
    static const struct value one = {1, false};
    switch (kind) {
    case ADD:
        return fused(s[0], one, s[1], round);
    case SUB:
        return fused(s[0], one, opposite(s[1]), round);
    case SUBREV:
        return fused(s[1], one, opposite(s[0]), round);
    case MUL:
        return (struct value){s[0].v * s[1].v, s[0].minus ^ s[1].minus};
    case MUL_LEGACY:
        if (s[0].v == 0 || s[1].v == 0)
            return (struct value){0, false};
        return (struct value){s[0].v * s[1].v, s[0].minus ^ s[1].minus};
    case FMA:
    case MIX:
        return fused(s[0], s[1], s[2], round);
    case MAD:
        return multiply_add(src, s, round);
    case LDEXP:
        return scaled(s[0], n > 4000 ? 4000 : n < -4000 ? -4000 : n);
    case FRACT:
        return fused(s[0], one, opposite((struct value){whole(s[0].v, FLOOR), s[0].minus}), round);
    case DIV_FMAS: {
        const int by = !vcc ? 0 : src == 'S' ? 64 : 128;
        const bool up = s[2].v >= 2 || s[2].v <= -2;
        const struct value plain = fused(s[0], s[1], s[2], round);
        const struct fmt t = fmt_of(src);
        if ((rounded(src, plain, round) & ~zero_like(t, ~0ull)) >= fmt_inf(t, 0) - 1)
            return plain;
        return scaled(plain, up ? by : -by);
    }
    case MIN:
    case MAX: {
        const bool less = s[0].v < s[1].v || (s[0].v == s[1].v && s[0].minus);
        return less == (kind == MIN) ? s[0] : s[1];
    }
    case TRUNC:
    case CEIL:
    case FLOOR:
    case RNDNE:
        return (struct value){whole(s[0].v, kind), s[0].minus};
    default:
        return s[0];
    }
}

static uint64_t flush(const struct mode *m, char c, bool result, uint64_t bits)
{
    if (!is_float(c) || keeps(m, c, result) || !is_denormal(fmt_of(c), bits))
        return bits;
    return zero_like(fmt_of(c), bits);
}

static uint64_t limit(const struct mode *m, char c, bool finite, uint64_t bits)
{
    return c == 'H' && m->ovfl && finite && fmt_is_inf(fmt_f16, bits) ? bits - 1 : bits;
}

static uint64_t after(const struct mode *m, char c, int omod, bool clamp, bool packed,
                      uint64_t bits)
{
    static const int powers[4] = {0, 1, 2, -1};
    const struct fmt t = fmt_of(c);
    if (omod && !packed && !m->ieee && !keeps(m, c, true)) {
        bits = rounded(c, scaled(read_value(c, bits), powers[omod]), round_of(m, c));
        bits = flush(m, c, true, bits);
        if (bits == zero_like(t, ~0ull))
            bits = 0;
    }
    if (clamp) {
        const __float128 v = fmt_value(t, bits);
        bits = v > 1 ? rounded(c, (struct value){1, false}, 0) : v > 0 ? bits : 0;
    }
    return bits;
}

/* Returns false where the result is NaN, which no mode changes. */
static bool expected(const struct row *r, const struct mode *m, const uint64_t raw[3], bool vcc,
                     int omod, bool clamp, uint64_t *ret)
{
    struct value s[3];
    bool finite = true;
    const bool packed = strncmp(r->mnemonic, "v_pk", 4) == 0 || r->kind == MIX;
    for (int i = 0; i < 3; i++) {
        s[i] = read_value(r->src, flush(m, r->src, false, raw[i]));
        const int used = r->kind == CONVERT || (r->kind >= TRUNC && r->kind <= RNDNE) ||
                                 r->kind == FRACT || r->kind == LDEXP
                             ? 1
                         : r->kind == FMA || r->kind == MAD || r->kind == DIV_FMAS || r->kind == MIX
                             ? 3
                             : 2;
        finite &= i >= used || s[i].v - s[i].v == 0;
        if (i < used && s[i].v != s[i].v)
            return false;
    }
    const int n = r->src == 'H' ? (int16_t)raw[1] : (int32_t)raw[1];
    const char first = r->kind == MIX ? 'S' : r->dst;
    const int round = round_of(m, first);
    const struct value v = exact(r->kind, r->src, s, n, vcc, round);
    if (v.v != v.v)
        return false;
    uint64_t bits = rounded(first, v, round);
    if (r->kind == FRACT && bits == rounded(r->dst, (struct value){1, false}, 0))
        bits--;
    if (r->kind == MAD && is_denormal(fmt_of(r->dst), bits))
        bits = zero_like(fmt_of(r->dst), bits);
    if (r->kind == MIX) {
        bits = flush(m, 'S', true, bits);
        if (r->dst == 'H')
            bits = rounded('H', read_value('S', bits), round_of(m, 'H'));
    }
    bits = flush(m, r->dst, true, limit(m, r->dst, finite, bits));
    *ret = after(m, r->dst, omod, clamp, packed, bits);
    return true;
}

/* ---- running ---- */

/* Random numbers with exponents near the ends and the middle, so that things meet and round. */
static uint64_t random_float(struct fmt t)
{
    const uint64_t r = random64(), mant = random64() & (((uint64_t)1 << t.mant_bits) - 1);
    const int top = (1 << t.exp_bits) - 1, bias = top / 2;
    const int pick[] = {0,        0,    1,        2,        bias / 2,        bias - 2,
                        bias - 1, bias, bias + 1, bias + 3, bias + bias / 2, top - 2,
                        top - 1};
    const int exp = r % 32 == 0 ? top : pick[r / 32 % (sizeof pick / sizeof pick[0])];
    const uint64_t sparse = r >> 20 & 1 ? mant : mant & ~(mant >> 1) & (uint64_t)-64;
    const uint64_t m = r >> 21 & 7 ? sparse : 0;
    return (r >> 63) << (t.exp_bits + t.mant_bits) | (uint64_t)exp << t.mant_bits |
           (exp == top ? 0 : m);
}

static uint64_t random_source(char c)
{
    return is_float(c) ? random_float(fmt_of(c)) : random64() >> random64() % 32 & 0xffffffff;
}

static unsigned op_named(const char *mnemonic)
{
    for (unsigned op = 1; op < RP_OP_ALL; op++)
        if (strcmp(rp_op_rows[op].mnemonic, mnemonic) == 0)
            return op;
    fail_msg("no row %s", mnemonic);
    return 0;
}

static struct rp_insn encode(const struct row *r, int omod, bool clamp)
{
    const unsigned op = op_named(r->mnemonic);
    const struct rp_op_row *row = &rp_op_rows[op];
    const unsigned twin = row->fmt == RP_FMT_VOP2 ? 0x100 : row->fmt == RP_FMT_VOP1 ? 0x140 : 0;
    const uint32_t sources = (256 + SRC0) | (256 + SRC1) << 9 | (256 + SRC2) << 18;
    uint32_t w[2] = {0xd0000000u | (row->opcode + twin) << 16 | DST, sources};
    struct rp_insn in;
    if (row->fmt == RP_FMT_VOP3P) {
        const bool mix = r->kind == MIX; /* whose op_sel_hi makes sources f16 */
        w[0] = 0xd3800000u | (uint32_t)row->opcode << 16 | DST | (mix ? 0 : 1u << 14);
        w[1] |= mix ? 0 : 3u << 27;
    } else {
        w[1] |= (uint32_t)omod << OMOD_SHIFT;
    }
    w[0] |= (uint32_t)clamp << 15;
    rp_isa_target_set(op < RP_OP_MAX ? "gfx942" : "gfx90a");
    assert_int_equal(rp_isa_decode(w, 2, &in), 8);
    rp_isa_target_set("gfx942");
    assert_string_equal(rp_isa_mnemonic(in.op), r->mnemonic);
    return in;
}

static void put(unsigned reg, unsigned lane, uint64_t bits)
{
    f.vgpr[reg][lane] = (uint32_t)bits;
    f.vgpr[reg + 1][lane] = (uint32_t)(bits >> 32);
}

static unsigned check(const struct row *r, const struct mode *m, int omod, bool clamp)
{
    uint64_t raw[3][RP_LANES];
    unsigned wrong = 0;
    const struct rp_insn in = encode(r, omod, clamp);
    const uint64_t vcc = random64();
    fixture_init(&f);
    rp_wave_set_mode(&f.wave, bits_of(m));
    rp_sgpr64_set(&f.wave, RP_SGPR_VCC_LO, vcc);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        for (int i = 0; i < 3; i++) {
            raw[i][lane] = random_source(r->src);
            put(SRC0 + 2 * (unsigned)i, lane, raw[i][lane]);
        }
        if (r->kind == LDEXP) {
            raw[1][lane] = (uint32_t)((int)(random64() % 64) - 32);
            put(SRC1, lane, raw[1][lane]);
        }
        put(DST, lane, raw[2][lane]); /* accumulators */
    }
    assert_int_equal(in.fn(&f.wave, &in), RP_STEP_NEXT);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t s[3] = {raw[0][lane], raw[1][lane], raw[2][lane]};
        uint64_t want, got = f.vgpr[DST][lane];
        if (!expected(r, m, s, vcc >> lane & 1, omod, clamp, &want))
            continue;
        got |= r->dst == 'D' ? (uint64_t)f.vgpr[DST + 1][lane] << 32 : 0;
        got &= r->dst == 'H' ? 0xffff : ~0ull;
        if (got != want && wrong++ < 2)
            print_error("%s MODE %#x omod %d clamp %d vcc %d: %#llx %#llx %#llx -> %#llx, expected "
                        "%#llx\n",
                        r->mnemonic, bits_of(m), omod, clamp, (int)(vcc >> lane & 1),
                        (unsigned long long)s[0], (unsigned long long)s[1],
                        (unsigned long long)s[2], (unsigned long long)got,
                        (unsigned long long)want);
    }
    return wrong;
}

static struct mode random_mode(void)
{
    const uint64_t r = random64();
    return (struct mode){.round = {r & 3, r >> 2 & 3},
                         .denorm = {r >> 4 & 3, r >> 6 & 3},
                         .dx10 = true,
                         .ieee = r >> 9 & 1,
                         .ovfl = r >> 10 & 1};
}

static void test_all_modes(void **state)
{
    (void)state;
    unsigned wrong_rows = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned wrong = 0;
        for (unsigned n = 0; n < ROUNDS && !wrong; n++) {
            const struct mode m = random_mode();
            wrong += check(&rows[i], &m, 0, false);
            wrong += check(&rows[i], &m, (int)(random64() & 3), n % 4 == 0);
        }
        wrong_rows += wrong != 0;
    }
    assert_int_equal(wrong_rows, 0);
}

static void fill(unsigned reg, uint32_t value)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        f.vgpr[reg][lane] = value;
}

/* Compares and conversions to integers see flushed operands; classes and moves the bits. */
static void test_flushed_operands(void **state)
{
    (void)state;
    fixture_init(&f);
    rp_wave_set_mode(&f.wave, 0x3c0); /* f32 flushed, f64 and f16 kept */
    fill(0, 1);
    fill(1, 0);
    run(&f, "v_cmp_eq_f32_e32 vcc, v0, v1", 0x7c840300, 0);
    assert_int_equal(RP_VCC(&f.wave), ~0ull);
    run(&f, "v_cmp_eq_f16_e32 vcc, v0, v1", 0x7c440300, 0);
    assert_int_equal(RP_VCC(&f.wave), 0);
    fill(1, 0x80); /* a denormal number */
    run(&f, "v_cmp_class_f32_e32 vcc, v0, v1", 0x7c200300, 0);
    assert_int_equal(RP_VCC(&f.wave), ~0ull);
    run(&f, "v_mov_b32_e32 v6, v0", 0x7e0c0300, 0);
    assert_int_equal(f.vgpr[6][5], 1);
    run(&f, "v_max_f32_e32 v6, v0, v0", 0x160c0100, 0);
    assert_int_equal(f.vgpr[6][5], 0);
    rp_wave_set_mode(&f.wave, 0x3f0);
    run(&f, "v_max_f32_e32 v6, v0, v0", 0x160c0100, 0);
    assert_int_equal(f.vgpr[6][5], 1);
}

/* NaN under clamp is 0 with DX10_CLAMP and stays NaN without. */
static void test_dx10_clamp(void **state)
{
    (void)state;
    fixture_init(&f);
    fill(0, 0x7fc00000);
    run(&f, "v_add_f32_e64 v6, v0, v0 clamp", 0xd1018006, 0x00020100);
    assert_int_equal(f.vgpr[6][0], 0);
    rp_wave_set_mode(&f.wave, 0x2f0);
    run(&f, "v_add_f32_e64 v6, v0, v0 clamp", 0xd1018006, 0x00020100);
    assert_int_equal(f.vgpr[6][0], 0x7fc00000);
    fill(0, 0x7e00);
    run(&f, "v_add_f16_e64 v6, v0, v0 clamp", 0xd11f8006, 0x00020100);
    assert_int_equal(f.vgpr[6][0], 0x7e00);
}

/* IEEE: min and max quiet a signalling NaN, without it the number wins. */
static void test_ieee(void **state)
{
    (void)state;
    fixture_init(&f);
    fill(0, 0x7f800001);
    fill(1, 0x3f800000);
    run(&f, "v_min_f32_e32 v6, v0, v1", 0x140c0300, 0);
    assert_int_equal(f.vgpr[6][0], 0x7fc00001);
    rp_wave_set_mode(&f.wave, 0x1f0);
    run(&f, "v_min_f32_e32 v6, v0, v1", 0x140c0300, 0);
    assert_int_equal(f.vgpr[6][0], 0x3f800000);
}

/* s_setreg in the middle, as f32 division does it with denormals off. */
static void test_setreg_in_between(void **state)
{
    (void)state;
    fixture_init(&f);
    rp_wave_set_mode(&f.wave, 0x3c0);
    fill(0, 0x00400000);
    fill(1, 0x3f800000);
    run(&f, "v_mul_f32_e32 v6, v0, v1", 0x0a0c0300, 0);
    assert_int_equal(f.vgpr[6][9], 0);
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", 0xba000901, 3);
    run(&f, "v_mul_f32_e32 v6, v0, v1", 0x0a0c0300, 0);
    assert_int_equal(f.vgpr[6][9], 0x00400000);
    run(&f, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0", 0xba000901, 0);
    run(&f, "v_mul_f32_e32 v6, v0, v1", 0x0a0c0300, 0);
    assert_int_equal(f.vgpr[6][9], 0);
    run(&f, "s_getreg_b32 s2, hwreg(HW_REG_MODE, 0, 8)", 0xb8823801, 0);
    assert_int_equal(f.wave.sgpr[2], 0xc0);
}

/* Matrix instructions heed no mode, but they must run in all of them, where they run at all. */
static void test_matrix_in_any_mode(void **state)
{
    (void)state;
    static const char text[] = "v_mfma_f32_4x4x1_16b_f32 v[8:11], v0, v1, 0";
    if (!rp_op_rows[RP_OP_v_mfma_f32_4x4x1_16b_f32].fn)
        skip();
    static uint32_t usual[4][RP_LANES];
    for (unsigned n = 0; n < 2; n++) {
        fixture_init(&f);
        fill(0, 0x40000000);
        fill(1, 0x3f800000);
        rp_wave_set_mode(&f.wave, n ? 0x3c3 : RP_MODE_USUAL);
        if (fixture_step(&f, text, 0xd3c20008, 0x02020300) != RP_STEP_NEXT)
            fail_msg("MODE 0x%x: %s (index mode is RP_VALU_INDEX, not all of gpr_idx)", f.wave.mode,
                     f.wave.fault.text);
        if (n == 0)
            memcpy(usual, f.vgpr[8], sizeof usual);
    }
    assert_memory_equal(usual, f.vgpr[8], sizeof usual);
}

/* Only the conversions that heed rounding: 2.5 is 2 or 3, a norm's half step goes either way. */
static void test_rounding_to_integers(void **state)
{
    (void)state;
    static const uint32_t byte[4] = {2, 3, 2, 2}, norm[4] = {0x4000, 0x4000, 0x3fff, 0x3fff};
    for (uint32_t round = 0; round < 4; round++) {
        fixture_init(&f);
        rp_wave_set_mode(&f.wave, 0x3f0 | round | round << 2);
        fill(0, 0x40200000);
        fill(1, 2);
        fill(2, 0x11223344);
        run(&f, "v_cvt_pk_u8_f32 v6, v0, v1, v2", 0xd1dd0006, 0x040a0300);
        assert_int_equal(f.vgpr[6][3], 0x11003344 | byte[round] << 16);
        fill(6, 0x55667788);
        run(&f, "v_cvt_pkaccum_u8_f32 v6, v0, v1", 0xd1f00006, 0x00020300);
        assert_int_equal(f.vgpr[6][3], 0x55007788 | byte[round] << 16);
        fill(0, 0x3800); /* 0.5 as f16: 16383.5 steps */
        run(&f, "v_cvt_norm_i16_f16_e32 v6, v0", 0x7e0c9b00, 0);
        assert_int_equal(f.vgpr[6][3], norm[round]);
        fill(0, 0x40200000);
        run(&f, "v_cvt_i32_f32_e32 v6, v0", 0x7e0c1100, 0);
        assert_int_equal(f.vgpr[6][3], 2); /* truncates whatever the mode */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_modes),
        cmocka_unit_test(test_flushed_operands),
        cmocka_unit_test(test_dx10_clamp),
        cmocka_unit_test(test_ieee),
        cmocka_unit_test(test_matrix_in_any_mode),
        cmocka_unit_test(test_setreg_in_between),
        cmocka_unit_test(test_rounding_to_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
