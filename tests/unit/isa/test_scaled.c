/*
 * gfx950's conversions with a scale, and the matrix instructions of any 8-, 6- or 4-bit format,
 * with and without scales. The references read the formats off a table and find a code by trying
 * codes; where matrix elements are is written out from the tables of the CDNA4 ISA document.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "wave_fixture.h"

enum { VGPRS = 256, SRC0 = 40, SRC1 = 80, SRC2 = 130 };

static struct fixture f;
static uint32_t vgpr[VGPRS][RP_LANES] __attribute__((aligned(64)));
static uint32_t seed = 99;

static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 9 ^ seed << 11;
}

/* ---- formats ---- */

/* last: the largest finite code. beyond: what is larger, as a code. */
struct format {
    const char *name;
    unsigned bits, mantissa;
    int bias;
    unsigned last, beyond, nan;
};

static const struct format formats[] = {
    {"fp8", 8, 3, 7, 0x7e, 0x7f, 0x7f},
    {"bf8", 8, 2, 15, 0x7b, 0x7c, 0x7f},
    {"fp6", 6, 3, 1, 31, 31, 31},
    {"bf6", 6, 2, 3, 31, 31, 31},
    {"fp4", 4, 1, 1, 7, 7, 7},
    {"f32", 32, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000},
    {"f16", 16, 10, 15, 0x7bff, 0x7c00, 0x7e00},
    {"bf16", 16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0},
};

static const struct format *format_of(const char *name)
{
    for (unsigned i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    fail_msg("no format %s", name);
    return NULL;
}

/* Of a magnitude; codes beyond the last as if numbers went on. */
static long double magnitude(const struct format *t, unsigned code)
{
    const unsigned e = code >> t->mantissa, m = code & ((1u << t->mantissa) - 1);
    const long double fraction = (long double)m / (1u << t->mantissa);
    return e ? scalbnl(1 + fraction, (int)e - t->bias) : scalbnl(fraction, 1 - t->bias);
}

static long double value_of(const struct format *t, unsigned bits)
{
    const unsigned sign = bits >> (t->bits - 1) & 1, mag = bits & ((1u << (t->bits - 1)) - 1);
    long double v = magnitude(t, mag);
    if (mag > t->last)
        v = strcmp(t->name, "fp8") != 0 && mag == t->beyond ? (long double)INFINITY
                                                            : (long double)NAN;
    return sign ? -v : v;
}

/* The greatest code not above a magnitude, by halving the interval. */
static unsigned floor_code(const struct format *t, long double mag)
{
    unsigned low = 0, high = t->last + 1;
    while (low < high) {
        const unsigned middle = low + (high - low + 1) / 2;
        if (magnitude(t, middle) <= mag)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static unsigned code_of(const struct format *t, long double v, const uint32_t *random, bool limit)
{
    const unsigned sign = signbit(v) ? 1u << (t->bits - 1) : 0;
    const long double mag = fabsl(v);
    if (isnan(v))
        return sign | t->nan;
    unsigned code = isinf(v) ? t->last + 1 : floor_code(t, mag);
    if (code <= t->last) {
        const long double low = magnitude(t, code);
        const long double part = (mag - low) / (magnitude(t, code + 1) - low);
        if (random ? part + *random * 0x1p-32L >= 1 : part > 0.5L || (part == 0.5L && code % 2))
            code++;
    }
    return sign | (code <= t->last ? code : limit ? t->last : t->beyond);
}

/* ---- conversions ---- */

/* clang-format off */
static const char *const conversions[] = {
    "v_cvt_scalef32_pk_fp8_f32",
    "v_cvt_scalef32_pk_bf8_f32",
    "v_cvt_scalef32_sr_fp8_f32",
    "v_cvt_scalef32_sr_bf8_f32",
    "v_cvt_scalef32_pk_f32_fp8",
    "v_cvt_scalef32_pk_f32_bf8",
    "v_cvt_scalef32_f32_fp8",
    "v_cvt_scalef32_f32_bf8",
    "v_cvt_scalef32_pk_fp4_f32",
    "v_cvt_scalef32_sr_pk_fp4_f32",
    "v_cvt_scalef32_pk_f32_fp4",
    "v_cvt_scalef32_pk_fp8_f16",
    "v_cvt_scalef32_pk_bf8_f16",
    "v_cvt_scalef32_sr_fp8_f16",
    "v_cvt_scalef32_sr_bf8_f16",
    "v_cvt_scalef32_pk_fp8_bf16",
    "v_cvt_scalef32_pk_bf8_bf16",
    "v_cvt_scalef32_sr_fp8_bf16",
    "v_cvt_scalef32_sr_bf8_bf16",
    "v_cvt_scalef32_pk_f16_fp8",
    "v_cvt_scalef32_pk_f16_bf8",
    "v_cvt_scalef32_f16_fp8",
    "v_cvt_scalef32_f16_bf8",
    "v_cvt_scalef32_pk_fp4_f16",
    "v_cvt_scalef32_pk_fp4_bf16",
    "v_cvt_scalef32_sr_pk_fp4_f16",
    "v_cvt_scalef32_sr_pk_fp4_bf16",
    "v_cvt_scalef32_pk_f16_fp4",
    "v_cvt_scalef32_pk_bf16_fp4",
    "v_cvt_scalef32_2xpk16_fp6_f32",
    "v_cvt_scalef32_2xpk16_bf6_f32",
    "v_cvt_scalef32_sr_pk32_fp6_f32",
    "v_cvt_scalef32_sr_pk32_bf6_f32",
    "v_cvt_scalef32_pk32_f32_fp6",
    "v_cvt_scalef32_pk32_f32_bf6",
    "v_cvt_scalef32_pk32_fp6_f16",
    "v_cvt_scalef32_pk32_fp6_bf16",
    "v_cvt_scalef32_pk32_bf6_f16",
    "v_cvt_scalef32_pk32_bf6_bf16",
    "v_cvt_scalef32_sr_pk32_fp6_f16",
    "v_cvt_scalef32_sr_pk32_fp6_bf16",
    "v_cvt_scalef32_sr_pk32_bf6_f16",
    "v_cvt_scalef32_sr_pk32_bf6_bf16",
    "v_cvt_scalef32_pk32_f16_fp6",
    "v_cvt_scalef32_pk32_bf16_fp6",
    "v_cvt_scalef32_pk32_f16_bf6",
    "v_cvt_scalef32_pk32_bf16_bf6",
    "v_cvt_scalef32_pk_bf16_fp8",
    "v_cvt_scalef32_pk_bf16_bf8",
};
/* clang-format on */

struct shape {
    const struct format *from, *to;
    unsigned count;
    bool random, in_turn;
};

static struct shape shape_of(const char *mnemonic)
{
    char words[6][8];
    struct shape s = {.count = 1};
    const int n = sscanf(mnemonic + strlen("v_cvt_scalef32_"), "%7[^_]_%7[^_]_%7[^_]_%7[^_]_%7[^_]",
                         words[0], words[1], words[2], words[3], words[4]);
    s.to = format_of(words[n - 2]);
    s.from = format_of(words[n - 1]);
    for (int i = 0; i < n - 2; i++) {
        s.random |= !strcmp(words[i], "sr");
        s.in_turn |= !strcmp(words[i], "2xpk16");
        s.count = !strcmp(words[i], "pk") ? 2 : words[i][0] == 's' ? 1 : 32;
    }
    s.in_turn |= s.count == 2 && s.from->bits == 32 && !s.random;
    return s;
}

static unsigned bits_at(unsigned reg, unsigned lane, unsigned at, unsigned count)
{
    unsigned v = 0;
    for (unsigned i = 0; i < count; i++)
        v |= (vgpr[reg + (at + i) / 32][lane] >> (at + i) % 32 & 1u) << i;
    return v;
}

static void set_bits(uint32_t *words, unsigned at, unsigned count, unsigned v)
{
    for (unsigned i = 0; i < count; i++) {
        const uint32_t bit = 1u << (at + i) % 32;
        words[(at + i) / 32] =
            v >> i & 1 ? words[(at + i) / 32] | bit : words[(at + i) / 32] & ~bit;
    }
}

/* A lane of the result in words, which hold what was there. */
static void expected(const struct shape *s, unsigned sources, unsigned op_sel, unsigned lane,
                     bool limit, uint32_t *words)
{
    const unsigned part = s->count * s->from->bits, result = s->count * s->to->bits;
    const uint32_t scale = vgpr[sources == 3 ? SRC2 : SRC1][lane];
    const int e = (int)(scale >> 23 & 255);
    const long double by = e == 255 ? (long double)NAN : scalbnl(1, e - 127);
    uint32_t random = vgpr[SRC1][lane];
    unsigned from = 0, to = 0;
    if (part <= 8)
        from = 8 * (op_sel & 3);
    else if (part == 16)
        from = 16 * (op_sel & 1);
    if (result <= 8)
        to = 8 * (op_sel >> 2);
    else if (result == 16)
        to = 16 * (op_sel >> 3);
    for (unsigned n = 0; n < s->count; n++) {
        const unsigned reg = s->in_turn && n % 2 ? SRC1 : SRC0, i = s->in_turn ? n / 2 : n;
        const long double v =
            value_of(s->from, bits_at(reg, lane, from + i * s->from->bits, s->from->bits));
        const long double scaled = s->to->bits < s->from->bits ? v / by : v * by;
        set_bits(words, to + n * s->to->bits, s->to->bits,
                 code_of(s->to, scaled, s->random ? &random : NULL, limit));
        random = (random << 1) ^ (random >> 31) * 197;
    }
}

/* Numbers around the scale, and any bits. */
static void fill(const struct shape *s, unsigned round)
{
    static const uint32_t edges[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                     0xffc00000, 0x3f800000, 0x43e00000, 0x43e80000, 0x47600000,
                                     0x40f00000, 0x40c00000, 0x40e00000, 0x41e00000, 0x3e000000};
    for (unsigned reg = SRC0; reg < SRC2 + 1; reg++)
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            const uint32_t r = next_random();
            uint32_t v = r;
            if (s->from->bits == 32 && round % 3 == 0)
                v = edges[r % 15];
            else if (s->from->bits == 32 && round % 3 == 1)
                v = (r & 0x80ffffff) | (118 + next_random() % 18) << 23;
            else if (s->from->bits == 16 && round % 3 == 1)
                v = s->from->bias == 15 ? r & 0xdfffdfff : (r & 0x87ff87ff) | 0x3c003c00;
            vgpr[reg][lane] = v;
        }
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint32_t exponent = round % 3 == 0 ? 127 : 120 + next_random() % 14;
        vgpr[SRC2][lane] =
            (round == 5 ? next_random() & 255 : exponent) << 23 | (next_random() & 0x807fffff);
        if (!s->random && !s->in_turn)
            vgpr[SRC1][lane] = vgpr[SRC2][lane];
    }
}

static unsigned legal_op_sel(const struct shape *s)
{
    const unsigned part = s->count * s->from->bits, result = s->count * s->to->bits;
    return (part <= 8 ? 3 : part == 16 ? 1 : 0) | (result <= 8 ? 12 : result == 16 ? 8 : 0);
}

static void check_conversion(unsigned op, unsigned op_sel, unsigned round)
{
    static uint32_t before[VGPRS][RP_LANES];
    const struct rp_op_row *row = &rp_op_rows[op];
    const struct shape s = shape_of(row->mnemonic);
    const unsigned sources = row->src[2] ? 3 : 2;
    const uint64_t exec = 0xf0f0123456789abc;
    const bool limit = round & 1;
    const uint32_t words[2] = {0xd0000000u | (uint32_t)row->opcode << 16 | op_sel << 11,
                               (256 + SRC0) | (256 + SRC1) << 9 |
                                   (sources == 3 ? (256 + SRC2) << 18 : 0)};
    struct rp_insn in;
    assert_int_equal(rp_isa_decode(words, 2, &in), 8);
    assert_int_equal(in.op, op);
    fill(&s, round);
    memcpy(before, vgpr, sizeof vgpr);
    rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, exec);
    f.wave.mode = 0x3f0 | (limit ? RP_MODE_FP16_OVFL : 0);
    if (in.fn(&f.wave, &in) != RP_STEP_NEXT)
        fail_msg("%s: %s", row->mnemonic, f.wave.fault.text);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t want[32];
        for (unsigned i = 0; i < 32; i++)
            want[i] = before[i][lane];
        if (exec >> lane & 1)
            expected(&s, sources, op_sel, lane, limit && s.to->bits == 8, want);
        for (unsigned i = 0; i < 32; i++)
            if (vgpr[i][lane] != want[i])
                fail_msg("%s op_sel %u lane %u: v%u is 0x%x, expected 0x%x (v%u 0x%x, scale 0x%x)",
                         row->mnemonic, op_sel, lane, i, vgpr[i][lane], want[i], SRC0,
                         before[SRC0][lane], before[sources == 3 ? SRC2 : SRC1][lane]);
    }
    assert_memory_equal(vgpr + 32, before + 32, sizeof vgpr - 32 * sizeof vgpr[0]);
}

static void test_conversions(void **state)
{
    (void)state;
    unsigned rows = 0;
    for (unsigned op = RP_OP_MAX; op < RP_OP_END_GFX950; op++) {
        if (strncmp(rp_isa_mnemonic(op), "v_cvt_scalef32_", 15) != 0)
            continue;
        assert_string_equal(rp_isa_mnemonic(op), conversions[rows++]);
        const struct shape s = shape_of(rp_isa_mnemonic(op));
        for (unsigned op_sel = 0; op_sel < 16; op_sel++)
            for (unsigned round = 0; round < 6 && !(op_sel & ~legal_op_sel(&s)); round++)
                check_conversion(op, op_sel, round);
    }
    assert_int_equal(rows, sizeof conversions / sizeof conversions[0]);
}

/* Signs of one f32 count; of packed numbers, and limits of the result, nothing says what they do.
 */
static void test_modifiers(void **state)
{
    (void)state;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        vgpr[2][lane] = 0x40400000; /* 3 */
        vgpr[3][lane] = 0xc0000000; /* -2 */
        vgpr[4][lane] = 0x40000000; /* scale 2 */
    }
    run(&f, "v_cvt_scalef32_pk_fp8_f32 v1, -v2, |v3|, v4", 0xd2350201, 0x24120702);
    assert_int_equal(vgpr[1][0] & 0xffff, 0x38bc);                   /* 1 and -1.5 */
    static const uint32_t refused[][2] = {{0xd2400001, 0x20020702},  /* -v2 of pk_fp8_f16 */
                                          {0xd2358001, 0x04120702},  /* clamp */
                                          {0xd23e0001, 0x24160902}}; /* -v[2:3] */
    for (unsigned i = 0; i < 3; i++) {
        struct rp_insn in;
        assert_int_equal(rp_isa_decode(refused[i], 2, &in), 8);
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_FAULT);
    }
}

/* ---- matrices ---- */

enum { A = 0, B = 16, C = 32, D = 64, SCALE_A = 100, SCALE_B = 101 };

/* Where value k of a row or column is: FP8 in halves of K, the others 32 in a row. */
static void locate(const struct format *t, unsigned m, unsigned k, unsigned *group, unsigned *item)
{
    const unsigned groups = 64 / m;
    if (t->bits == 8) {
        *group = k / 16 % groups;
        *item = k / (16 * groups) * 16 + k % 16;
    } else {
        *group = k / 32;
        *item = k % 32;
    }
}

static float element(const struct format *t, unsigned reg, unsigned m, unsigned i, unsigned k)
{
    unsigned group, item;
    locate(t, m, k, &group, &item);
    return (float)value_of(t, bits_at(reg, i + m * group, item * t->bits, t->bits));
}

static double scale_of(unsigned reg, unsigned lane, unsigned byte)
{
    const unsigned e = vgpr[reg][lane] >> (8 * byte) & 255;
    return e == 255 ? (double)NAN : scalbn(1, (int)e - 127);
}

struct product {
    unsigned m;
    const struct format *a, *b;
    bool scaled;
    unsigned byte_a, byte_b;
};

static uint32_t result_of(const struct product *p, unsigned i, unsigned j, uint32_t c_bits)
{
    float sum, c;
    memcpy(&c, &c_bits, 4);
    for (unsigned block = 0; block < 64 / p->m; block++) {
        float dot = 0;
        for (unsigned k = 32 * block; k < 32 * block + 32; k++)
            dot = fmaf(element(p->a, A, p->m, i, k), element(p->b, B, p->m, j, k), dot);
        double by = 1;
        if (p->scaled)
            by = scale_of(SCALE_A, i + p->m * block, p->byte_a) *
                 scale_of(SCALE_B, j + p->m * block, p->byte_b);
        c = (float)((double)c + (double)dot * by);
    }
    sum = isnan(c) ? 0 : c;
    memcpy(&c_bits, &sum, 4);
    return isnan(c) ? 0x7fc00000 : c_bits;
}

static const char *const mnemonics[2][2] = {
    {"v_mfma_f32_16x16x128_f8f6f4", "v_mfma_f32_32x32x64_f8f6f4"},
    {"v_mfma_scale_f32_16x16x128_f8f6f4", "v_mfma_scale_f32_32x32x64_f8f6f4"},
};

static void check_product(const struct product *p, unsigned format_a, unsigned format_b)
{
    static uint32_t before[VGPRS][RP_LANES];
    const uint32_t opcode = p->m == 16 ? 0x2d : 0x2e;
    const uint32_t words[4] = {
        0xd3ac0000 | (p->byte_a & 1) << 11 | (p->byte_b & 1) << 12,
        (256 + SCALE_A) | (256 + SCALE_B) << 9 | (p->byte_a >> 1) << 27 | (p->byte_b >> 1) << 28,
        0xd3800000 | opcode << 16 | (uint32_t)p->scaled << 11 | format_a << 8 | D,
        (256 + A) | (256 + B) << 9 | (256 + C) << 18 | format_b << 29};
    const unsigned skip = p->scaled ? 0 : 2;
    struct rp_insn in;
    assert_int_equal(rp_isa_decode(words + skip, 4 - skip, &in), 16 - 4 * skip);
    assert_string_equal(rp_isa_mnemonic(in.op), mnemonics[p->scaled][p->m == 32]);
    memcpy(before, vgpr, sizeof vgpr);
    for (int level = 0; level < RP_LANE_LEVELS; level++) {
        in.lane = rp_lane_find_level(rp_isa_mnemonic(in.op), (enum rp_lane_level)level);
        if (!in.lane)
            continue;
        memcpy(vgpr, before, sizeof vgpr);
        if (in.fn(&f.wave, &in) != RP_STEP_NEXT)
            fail_msg("%s: %s", rp_isa_mnemonic(in.op), f.wave.fault.text);
        for (unsigned i = 0; i < p->m; i++)
            for (unsigned j = 0; j < p->m; j++) {
                const unsigned reg = p->m == 16 ? i % 4 : i / 8 * 4 + i % 4;
                const unsigned lane = p->m == 16 ? j + i / 4 * 16 : j + i / 4 % 2 * 32;
                const uint32_t want = result_of(p, i, j, before[C + reg][lane]);
                if (vgpr[D + reg][lane] != want)
                    fail_msg("%s %s %s bytes %u %u level %d: %u %u is 0x%x, expected 0x%x",
                             rp_isa_mnemonic(in.op), p->a->name, p->b->name, p->byte_a, p->byte_b,
                             level, i, j, vgpr[D + reg][lane], want);
            }
    }
    memcpy(vgpr, before, sizeof vgpr);
}

static void fill_matrices(unsigned round)
{
    for (unsigned reg = 0; reg < 128; reg++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            vgpr[reg][lane] = next_random();
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        for (unsigned reg = C; reg < C + 16; reg++)
            vgpr[reg][lane] = (vgpr[reg][lane] & 0x80ffffff) | 0x3f000000;
        for (unsigned reg = SCALE_A; reg <= SCALE_B && round == 0; reg++) /* 2^-3 to 2^4 */
            vgpr[reg][lane] = (vgpr[reg][lane] & 0x07070707) + 0x7c7c7c7c;
    }
}

static void test_matrices(void **state)
{
    (void)state;
    struct product p = {0};
    for (p.m = 16; p.m <= 32; p.m += 16)
        for (unsigned n = 0; n < 25; n++)
            for (unsigned round = 0; round < 2; round++) {
                p.a = &formats[n / 5];
                p.b = &formats[n % 5];
                fill_matrices(round);
                p.scaled = false;
                if (round == 0)
                    check_product(&p, n / 5, n % 5);
                p.scaled = true;
                p.byte_a = (n + round) % 4;
                p.byte_b = (n / 4 + round) % 4;
                check_product(&p, n / 5, n % 5);
            }
}

/* Formats that there are not; scales without the instruction that loads them. */
static void test_undefined_matrices(void **state)
{
    (void)state;
    static const uint32_t words[][2] = {
        {0xd3ad0540, 0x04822100}, {0xd3ad0040, 0xa4822100}, {0xd3ad0840, 0x04822100}};
    for (unsigned i = 0; i < 3; i++) {
        struct rp_insn in;
        assert_int_equal(rp_isa_decode(words[i], 2, &in), 8);
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_FAULT);
    }
}

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    f.wave.vgpr = vgpr;
    f.wave.vgpr_count = VGPRS;
    rp_isa_target_set("gfx950");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_conversions, setup),
        cmocka_unit_test_setup(test_modifiers, setup),
        cmocka_unit_test_setup(test_matrices, setup),
        cmocka_unit_test_setup(test_undefined_matrices, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
