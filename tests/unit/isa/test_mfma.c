/*
 * Matrix instructions against plain loops over matrices. The reference knows only the mnemonic:
 * sizes and types are read from it, the places of matrix elements in registers are the formulas of
 * AMD's matrix instruction calculator, one per shape, and the modifiers are written out as tables.
 *
 * Results must be the bits of the documented accumulation (lane_mfma.h) at every CPU level, and,
 * for moderate numbers, near the exact sum.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "wave_fixture.h"

/* clang-format off */
static const struct op {
    const char *name;
    unsigned opcode;
} gfx942_ops[] = {
    {"v_mfma_f32_16x16x8_xf32", 0x3e},
    {"v_mfma_f32_32x32x4_xf32", 0x3f},
    {"v_mfma_f32_32x32x1_2b_f32", 0x40},
    {"v_mfma_f32_16x16x1_4b_f32", 0x41},
    {"v_mfma_f32_4x4x1_16b_f32", 0x42},
    {"v_mfma_f32_32x32x2_f32", 0x44},
    {"v_mfma_f32_16x16x4_f32", 0x45},
    {"v_mfma_f32_32x32x4_2b_f16", 0x48},
    {"v_mfma_f32_16x16x4_4b_f16", 0x49},
    {"v_mfma_f32_4x4x4_16b_f16", 0x4a},
    {"v_mfma_f32_32x32x8_f16", 0x4c},
    {"v_mfma_f32_16x16x16_f16", 0x4d},
    {"v_mfma_i32_32x32x4_2b_i8", 0x50},
    {"v_mfma_i32_16x16x4_4b_i8", 0x51},
    {"v_mfma_i32_4x4x4_16b_i8", 0x52},
    {"v_mfma_i32_32x32x16_i8", 0x56},
    {"v_mfma_i32_16x16x32_i8", 0x57},
    {"v_mfma_f32_32x32x4_2b_bf16", 0x5d},
    {"v_mfma_f32_16x16x4_4b_bf16", 0x5e},
    {"v_mfma_f32_4x4x4_16b_bf16", 0x5f},
    {"v_mfma_f32_32x32x8_bf16", 0x60},
    {"v_mfma_f32_16x16x16_bf16", 0x61},
    {"v_smfmac_f32_16x16x32_f16", 0x62},
    {"v_smfmac_f32_32x32x16_f16", 0x64},
    {"v_smfmac_f32_16x16x32_bf16", 0x66},
    {"v_smfmac_f32_32x32x16_bf16", 0x68},
    {"v_smfmac_i32_16x16x64_i8", 0x6a},
    {"v_smfmac_i32_32x32x32_i8", 0x6c},
    {"v_mfma_f64_16x16x4_f64", 0x6e},
    {"v_mfma_f64_4x4x4_4b_f64", 0x6f},
    {"v_mfma_f32_16x16x32_bf8_bf8", 0x70},
    {"v_mfma_f32_16x16x32_bf8_fp8", 0x71},
    {"v_mfma_f32_16x16x32_fp8_bf8", 0x72},
    {"v_mfma_f32_16x16x32_fp8_fp8", 0x73},
    {"v_mfma_f32_32x32x16_bf8_bf8", 0x74},
    {"v_mfma_f32_32x32x16_bf8_fp8", 0x75},
    {"v_mfma_f32_32x32x16_fp8_bf8", 0x76},
    {"v_mfma_f32_32x32x16_fp8_fp8", 0x77},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 0x78},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 0x79},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 0x7a},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 0x7b},
    {"v_smfmac_f32_32x32x32_bf8_bf8", 0x7c},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 0x7d},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 0x7e},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 0x7f},
};

/* gfx90a's, called as gfx942 would call them; below, what the rows of its own are called. */
static const struct op gfx90a_ops[] = {
    {"v_mfma_f32_32x32x1_2b_f32", 0x40},
    {"v_mfma_f32_16x16x1_4b_f32", 0x41},
    {"v_mfma_f32_4x4x1_16b_f32", 0x42},
    {"v_mfma_f32_32x32x2_f32", 0x44},
    {"v_mfma_f32_16x16x4_f32", 0x45},
    {"v_mfma_f32_32x32x4_2b_f16", 0x48},
    {"v_mfma_f32_16x16x4_4b_f16", 0x49},
    {"v_mfma_f32_4x4x4_16b_f16", 0x4a},
    {"v_mfma_f32_32x32x8_f16", 0x4c},
    {"v_mfma_f32_16x16x16_f16", 0x4d},
    {"v_mfma_i32_32x32x4_2b_i8", 0x50},
    {"v_mfma_i32_16x16x4_4b_i8", 0x51},
    {"v_mfma_i32_4x4x4_16b_i8", 0x52},
    {"v_mfma_i32_32x32x8_i8", 0x54},
    {"v_mfma_i32_16x16x16_i8", 0x55},
    {"v_mfma_f32_32x32x4_2b_bf16", 0x63},
    {"v_mfma_f32_16x16x4_4b_bf16", 0x64},
    {"v_mfma_f32_4x4x4_16b_bf16", 0x65},
    {"v_mfma_f32_32x32x8_bf16", 0x66},
    {"v_mfma_f32_16x16x16_bf16", 0x67},
    {"v_mfma_f32_32x32x2_2b_bf16", 0x68},
    {"v_mfma_f32_16x16x2_4b_bf16", 0x69},
    {"v_mfma_f32_4x4x2_16b_bf16", 0x6b},
    {"v_mfma_f32_32x32x4_bf16", 0x6c},
    {"v_mfma_f32_16x16x8_bf16", 0x6d},
    {"v_mfma_f64_16x16x4_f64", 0x6e},
    {"v_mfma_f64_4x4x4_4b_f64", 0x6f},
};
static const char *const gfx90a_rows[128] = {
    [0x54] = "v_mfma_i32_32x32x8i8",
    [0x55] = "v_mfma_i32_16x16x16i8",
    [0x63] = "v_mfma_f32_32x32x4bf16_1k",
    [0x64] = "v_mfma_f32_16x16x4bf16_1k",
    [0x65] = "v_mfma_f32_4x4x4bf16_1k",
    [0x66] = "v_mfma_f32_32x32x8bf16_1k",
    [0x67] = "v_mfma_f32_16x16x16bf16_1k",
    [0x68] = "v_mfma_f32_32x32x2bf16",
    [0x69] = "v_mfma_f32_16x16x2bf16",
    [0x6b] = "v_mfma_f32_4x4x2bf16",
    [0x6c] = "v_mfma_f32_32x32x4bf16",
    [0x6d] = "v_mfma_f32_16x16x8bf16",
};

/* What gfx950 adds, and the 8-bit floats, which have other formats there. */
static const struct op gfx950_ops[] = {
    {"v_mfma_f32_16x16x32_bf16", 0x35},
    {"v_mfma_i32_16x16x64_i8", 0x36},
    {"v_mfma_f32_32x32x16_bf16", 0x37},
    {"v_mfma_i32_32x32x32_i8", 0x38},
    {"v_smfmac_f32_16x16x64_bf16", 0x39},
    {"v_smfmac_i32_16x16x128_i8", 0x3a},
    {"v_smfmac_f32_16x16x128_bf8_bf8", 0x3b},
    {"v_smfmac_f32_16x16x128_bf8_fp8", 0x3c},
    {"v_smfmac_f32_16x16x128_fp8_bf8", 0x3d},
    {"v_smfmac_f32_16x16x128_fp8_fp8", 0x43},
    {"v_smfmac_f32_32x32x32_bf16", 0x46},
    {"v_smfmac_i32_32x32x64_i8", 0x47},
    {"v_smfmac_f32_32x32x64_bf8_bf8", 0x4b},
    {"v_smfmac_f32_32x32x64_bf8_fp8", 0x4e},
    {"v_smfmac_f32_32x32x64_fp8_bf8", 0x4f},
    {"v_smfmac_f32_32x32x64_fp8_fp8", 0x53},
    {"v_mfma_f32_16x16x32_f16", 0x54},
    {"v_mfma_f32_32x32x16_f16", 0x55},
    {"v_smfmac_f32_16x16x64_f16", 0x5a},
    {"v_smfmac_f32_32x32x32_f16", 0x5b},
    {"v_mfma_f32_16x16x32_bf8_bf8", 0x70},
    {"v_mfma_f32_16x16x32_bf8_fp8", 0x71},
    {"v_mfma_f32_16x16x32_fp8_bf8", 0x72},
    {"v_mfma_f32_16x16x32_fp8_fp8", 0x73},
    {"v_mfma_f32_32x32x16_bf8_bf8", 0x74},
    {"v_mfma_f32_32x32x16_bf8_fp8", 0x75},
    {"v_mfma_f32_32x32x16_fp8_bf8", 0x76},
    {"v_mfma_f32_32x32x16_fp8_fp8", 0x77},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 0x78},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 0x79},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 0x7a},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 0x7b},
    {"v_smfmac_f32_32x32x32_bf8_bf8", 0x7c},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 0x7d},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 0x7e},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 0x7f},
};
/* clang-format on */

/* Those of the target under test. */
static const struct op *ops = gfx942_ops;
static unsigned op_count = sizeof gfx942_ops / sizeof gfx942_ops[0];
static bool ocp; /* the formats of the 8-bit floats */
static bool gfx90a;

static const char *row_name(unsigned op)
{
    const char *own = gfx90a ? gfx90a_rows[ops[op].opcode] : NULL;
    return own ? own : ops[op].name;
}

struct kind {
    unsigned m, k, blocks;
    char a[8], b[8]; /* types */
    bool sparse, f64, i32;
    unsigned cd_rows, a_rows, b_rows;
    unsigned chunks; /* 2: the first half of a lane's values is in the first half of K */
};

static struct fixture f;
static uint32_t vgpr[256][RP_LANES] __attribute__((aligned(64)));
static uint32_t agpr[256][RP_LANES] __attribute__((aligned(64)));
static uint32_t seed;

static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8 ^ seed << 13;
}

/* ---- what the mnemonic says ---- */

/* Asked for each element: a sanitizer's strcmp() would take longer than all else. */
static bool is(const char *type, const char *name)
{
    while (*type && *type == *name)
        type++, name++;
    return *type == *name;
}

static unsigned width_of(const char *type)
{
    if (is(type, "f64"))
        return 64;
    if (is(type, "f32") || is(type, "xf32"))
        return 32;
    return strstr(type, "16") ? 16 : 8;
}

static struct kind kind_of(const char *name)
{
    struct kind k = {.blocks = 1};
    unsigned n = 0;
    char d[8], rest[32], *part;
    k.sparse = !strncmp(name, "v_smfmac_", 9);
    assert_int_equal(
        sscanf(strchr(name + 2, '_') + 1, "%3s_%ux%ux%u_%31s", d, &k.m, &n, &k.k, rest), 5);
    assert_int_equal(k.m, n);
    part = rest;
    if (strstr(rest, "b_") && rest[0] >= '0' && rest[0] <= '9') {
        k.blocks = (unsigned)atoi(rest);
        part = strchr(rest, '_') + 1;
    }
    if (sscanf(part, "%7[a-z0-9]_%7s", k.a, k.b) == 1)
        strcpy(k.b, k.a);
    k.f64 = !strcmp(d, "f64");
    k.i32 = !strcmp(d, "i32");
    k.cd_rows = k.m * k.m * k.blocks / 64 * (k.f64 ? 2 : 1);
    k.b_rows = k.k * k.m * k.blocks * width_of(k.b) / 64 / 32;
    k.a_rows = k.k * k.m * k.blocks * width_of(k.a) / 64 / 32 / (k.sparse ? 2 : 1);
    k.chunks = k.sparse && k.b_rows == 8 ? 2 : 1; /* CDNA4 ISA document, "Index Layout" */
    return k;
}

/* ---- values ---- */

static double small_float(unsigned bits, unsigned exponent_bits, unsigned mantissa_bits, int bias,
                          bool fnuz)
{
    const unsigned e_max = (1u << exponent_bits) - 1;
    const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
    const unsigned e = bits >> mantissa_bits & e_max;
    const bool negative = bits >> (mantissa_bits + exponent_bits) & 1;
    double v;
    if (fnuz && negative && !e && !mantissa)
        return NAN;
    if (!fnuz && e == e_max)
        v = mantissa ? (double)NAN : (double)INFINITY;
    else if (e == 0)
        v = ldexp(mantissa, 1 - bias - (int)mantissa_bits);
    else
        v = ldexp(mantissa + (double)(1u << mantissa_bits), (int)e - bias - (int)mantissa_bits);
    return negative ? -v : v;
}

/* OCP: E4M3 has one NaN per sign in place of infinities, E5M2 is like f16. */
static double ocp_float(unsigned bits, bool fp8)
{
    if (!fp8)
        return small_float(bits, 5, 2, 15, false);
    if ((bits & 0x7f) == 0x7f)
        return NAN;
    const unsigned e = bits >> 3 & 15, mantissa = bits & 7;
    const double v = e ? ldexp(mantissa + 8.0, (int)e - 10) : ldexp(mantissa, -9);
    return bits & 0x80 ? -v : v;
}

/* Denormals of a type are zeros to the instructions on f16 and bf16 of gfx90a. */
static double without_denormals(double v, int smallest_exponent)
{
    return gfx90a && fabs(v) < ldexp(1, smallest_exponent) ? copysign(0, v) : v;
}

static bool flushes(const struct kind *s)
{
    return gfx90a && width_of(s->a) == 16;
}

static double value_of(const char *type, uint64_t bits)
{
    double d;
    float s;
    if (is(type, "f64")) {
        memcpy(&d, &bits, 8);
        return d;
    }
    if (is(type, "f32") || is(type, "xf32")) {
        memcpy(&s, &bits, 4);
        if (!is(type, "f32") && !isnan(s) && !isinf(s)) { /* toward zero, 10 bits of mantissa */
            const uint32_t cut = (uint32_t)bits / 8192 * 8192;
            memcpy(&s, &cut, 4);
        }
        return s;
    }
    if (is(type, "f16"))
        return without_denormals(small_float((unsigned)bits, 5, 10, 15, false), -14);
    if (is(type, "bf16"))
        return without_denormals(small_float((unsigned)bits, 8, 7, 127, false), -126);
    if (ocp && strstr(type, "8") && type[0] != 'i')
        return ocp_float((unsigned)bits, type[0] == 'f');
    if (is(type, "fp8"))
        return small_float((unsigned)bits, 4, 3, 8, true);
    if (is(type, "bf8"))
        return small_float((unsigned)bits, 5, 2, 16, true);
    return (double)(int8_t)bits;
}

/* ---- where matrix elements are ---- */

static uint64_t stored(uint32_t (*rows)[RP_LANES], unsigned width, unsigned lane, unsigned index)
{
    if (width == 64)
        return rows[2 * index][lane] | (uint64_t)rows[2 * index + 1][lane] << 32;
    const unsigned per_dword = 32 / width;
    const uint64_t word = rows[index / per_dword][lane];
    return word >> (index % per_dword * width) & ((1ull << width) - 1);
}

/* Value k of @p total, @p per_lane in each lane: in which group of lanes, and which of theirs. */
static void locate(const struct kind *s, unsigned k, unsigned per_lane, unsigned total,
                   unsigned *group, unsigned *item)
{
    const unsigned n = per_lane / s->chunks, part = total / s->chunks;
    *group = k % part / n;
    *item = k / part * n + k % part % n;
}

static unsigned input_lane(const struct kind *s, unsigned i, unsigned block, unsigned group)
{
    return i + s->m * (block + s->blocks * group);
}

static void place(const struct kind *s, unsigned i, unsigned j, unsigned b, unsigned *reg,
                  unsigned *lane)
{
    if (s->f64) {
        *reg = s->m == 16 ? i / 4 * 2 : 0;
        *lane = s->m == 16 ? j + i % 4 * 16 : j + 4 * b + 16 * i;
    } else if (s->m == 4) {
        *reg = i;
        *lane = j + 4 * b;
    } else if (s->m == 16) {
        *reg = 4 * b + i % 4;
        *lane = j + i / 4 * 16;
    } else {
        *reg = 16 * b + i / 8 * 4 + i % 4;
        *lane = j + i / 4 % 2 * 32;
    }
}

/* BLGP of the instructions that permute B: the first lane that each 16 lanes get theirs from. */
static const unsigned blgp_source[8][4] = {
    {0, 16, 32, 48}, {0, 16, 0, 16},   {32, 48, 32, 48}, {16, 32, 48, 0},
    {0, 0, 0, 0},    {16, 16, 16, 16}, {32, 32, 32, 32}, {48, 48, 48, 48},
};

/* ---- the reference ---- */

struct modifiers {
    unsigned cbsz, abid, blgp;
};

struct inputs {
    uint32_t (*a)[RP_LANES], (*b)[RP_LANES], (*c)[RP_LANES], *index;
};

struct sum {
    double chain;      /* as documented: one rounding per step */
    long double exact; /* nearly */
    long double size;  /* of the terms */
    uint32_t wrapped;  /* integers */
};

static void add(const struct kind *s, struct sum *x, double a, double b)
{
    if (s->f64)
        x->chain = fma(a, b, x->chain);
    else
        x->chain = fmaf((float)a, (float)b, (float)x->chain);
    x->exact += (long double)a * b;
    x->size += fabsl((long double)a * b);
    if (s->i32)
        x->wrapped += (uint32_t)((int32_t)a * (int32_t)b);
}

static struct sum element(const struct kind *s, const struct inputs *in, const struct modifiers *o,
                          const unsigned at[3], uint64_t c_bits)
{
    const unsigned i = at[0], j = at[1], block = at[2], steps = s->sparse ? s->k / 2 : s->k;
    const unsigned p = steps * s->m * s->blocks / 64, pb = s->k * s->m * s->blocks / 64;
    const unsigned a_block = s->sparse ? 0 : block - block % (1u << o->cbsz) + o->abid;
    double c = s->i32 ? 0 : value_of(s->f64 ? "f64" : "f32", c_bits);
    c = flushes(s) ? without_denormals(c, -126) : c;
    struct sum x = {.wrapped = (uint32_t)c_bits};
    x.chain = s->f64 && o->blgp & 4 ? -c : c;
    x.exact = x.chain;
    x.size = fabsl(x.exact);
    for (unsigned step = 0; step < steps; step++) {
        unsigned group, a_item, b_item, k = step;
        locate(s, step, p, steps, &group, &a_item);
        const unsigned a_lane = input_lane(s, i, a_block, group);
        if (s->sparse) {
            const unsigned set = o->cbsz || p == 16 ? 0 : o->abid; /* 16 fill the register */
            k = step / 2 * 4 + (in->index[a_lane] >> (2 * (set * p + a_item)) & 3);
        }
        locate(s, k, pb, s->k, &group, &b_item);
        unsigned b_lane = input_lane(s, j, block, group);
        if (!s->f64)
            b_lane = blgp_source[o->blgp][b_lane / 16] + b_lane % 16;
        double a = value_of(s->a, stored(in->a, width_of(s->a), a_lane, a_item));
        double b = value_of(s->b, stored(in->b, width_of(s->b), b_lane, b_item));
        if (s->f64 && o->blgp & 1)
            a = -a;
        if (s->f64 && o->blgp & 2)
            b = -b;
        add(s, &x, a, b);
    }
    return x;
}

static uint64_t bits_of(const struct kind *s, const struct sum *x)
{
    const double last = flushes(s) ? without_denormals(x->chain, -126) : x->chain;
    const float narrow = (float)last;
    uint64_t bits = 0;
    if (s->i32)
        return x->wrapped;
    if (isnan(x->chain))
        return s->f64 ? 0x7ff8000000000000 : 0x7fc00000;
    if (s->f64)
        memcpy(&bits, &x->chain, 8);
    else
        memcpy(&bits, &narrow, 4);
    return bits;
}

/* All of D into want; moderate: also checked against the exact sums. */
static void reference(const struct kind *s, const struct inputs *in, const struct modifiers *o,
                      bool moderate, uint32_t (*want)[RP_LANES])
{
    for (unsigned b = 0; b < s->blocks; b++)
        for (unsigned i = 0; i < s->m; i++)
            for (unsigned j = 0; j < s->m; j++) {
                unsigned reg, lane;
                place(s, i, j, b, &reg, &lane);
                uint64_t c = in->c[reg][lane];
                if (s->f64)
                    c |= (uint64_t)in->c[reg + 1][lane] << 32;
                const struct sum x = element(s, in, o, (unsigned[]){i, j, b}, c);
                const uint64_t bits = bits_of(s, &x);
                if (moderate && !s->i32)
                    assert_true(fabsl(x.chain - x.exact) <=
                                x.size * (s->f64 ? 0x1p-51L : 0x1p-22L) * s->k);
                want[reg][lane] = (uint32_t)bits;
                if (s->f64)
                    want[reg + 1][lane] = (uint32_t)(bits >> 32);
            }
}

/* ---- one execution ---- */

/* Operands: register, 256 up = AGPR; C also CONST + encoding. Smfmac: C is the index register. */
enum { AGPR = 256, CONST = 512 };
struct operands {
    unsigned d, a, b, c;
};

static uint32_t (*rows_at(unsigned reg))[RP_LANES]
{
    return reg >= AGPR ? agpr + (reg - AGPR) : vgpr + reg;
}

static bool decode(unsigned op, const struct operands *r, const struct modifiers *o,
                   struct rp_insn *in)
{
    const bool acc_cd = r->d >= AGPR;
    const uint32_t c = r->c >= CONST ? r->c - CONST : 256 + r->c % 256;
    const uint32_t words[3] = {0xd3800000u | ops[op].opcode << 16 | (uint32_t)acc_cd << 15 |
                                   o->abid << 11 | o->cbsz << 8 | r->d % 256,
                               (256 + r->a % 256) | (256 + r->b % 256) << 9 | c << 18 |
                                   (uint32_t)(r->a >= AGPR) << 27 | (uint32_t)(r->b >= AGPR) << 28 |
                                   o->blgp << 29};
    assert_int_equal(rp_isa_decode(words, 3, in), 8);
    assert_string_equal(rp_isa_mnemonic(in->op), row_name(op));
    return in->fn != rp_fault_operand;
}

static void check(unsigned op, const struct operands *r, const struct modifiers *o,
                  const uint64_t *constant, bool moderate)
{
    static uint32_t before_v[256][RP_LANES], before_a[256][RP_LANES], c[32][RP_LANES],
        want[32][RP_LANES];
    const struct kind s = kind_of(ops[op].name);
    struct rp_insn in;
    assert_true(decode(op, r, o, &in));
    struct inputs x = {rows_at(r->a), rows_at(r->b), c, s.sparse ? vgpr[r->c] : NULL};
    for (unsigned reg = 0; reg < s.cd_rows; reg++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            c[reg][lane] = constant ? (uint32_t)(*constant >> (s.f64 ? reg % 2 * 32 : 0))
                                    : rows_at(s.sparse ? r->d : r->c)[reg][lane];
    reference(&s, &x, o, moderate, want);
    memcpy(before_v, vgpr, sizeof vgpr);
    memcpy(before_a, agpr, sizeof agpr);
    for (int level = 0; level < RP_LANE_LEVELS; level++) {
        char kernel[64];
        snprintf(kernel, sizeof kernel, "%s%s", row_name(op),
                 ocp && (strstr(ops[op].name, "fp8") || strstr(ops[op].name, "bf8")) ? "_ocp" : "");
        in.lane = rp_lane_find_level(kernel, (enum rp_lane_level)level);
        assert_true(level > 0 || in.lane);
        if (!in.lane)
            continue;
        memcpy(vgpr, before_v, sizeof vgpr);
        memcpy(agpr, before_a, sizeof agpr);
        rp_sgpr64_set(&f.wave, RP_SGPR_EXEC_LO, level == 1 ? 0 : 0x123456789abcdef0); /* ignored */
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_NEXT);
        for (unsigned reg = 0; reg < s.cd_rows; reg++)
            for (unsigned lane = 0; lane < RP_LANES; lane++)
                if (rows_at(r->d)[reg][lane] != want[reg][lane])
                    fail_msg("%s cbsz %u abid %u blgp %u level %d: row %u lane %u: 0x%x, "
                             "expected 0x%x",
                             ops[op].name, o->cbsz, o->abid, o->blgp, level, reg, lane,
                             rows_at(r->d)[reg][lane], want[reg][lane]);
        /* Nothing else has changed. */
        memcpy(rows_at(r->d), (r->d >= AGPR ? before_a : before_v) + r->d % 256,
               s.cd_rows * sizeof vgpr[0]);
        assert_memory_equal(vgpr, before_v, sizeof vgpr);
        assert_memory_equal(agpr, before_a, sizeof agpr);
    }
}

/* ---- inputs ---- */

enum fill { MODERATE, ANY_BITS, EDGES };

/* A number between -4 and 4 of a type. */
static uint32_t moderate_word(const char *type)
{
    const uint32_t r = next_random();
    const unsigned w = width_of(type);
    if (!strcmp(type, "f32") || !strcmp(type, "xf32"))
        return (r & 0x807fffffu) | (120 + (r >> 23) % 9) << 23;
    if (!strcmp(type, "f16"))
        return (r & 0x83ff83ffu) | (8 + (r >> 10) % 9) << 10 | (8 + (r >> 26) % 9) << 26;
    if (!strcmp(type, "bf16"))
        return (r & 0x807f807fu) | (120 + (r >> 7) % 9) << 7 | (120 + (r >> 23) % 9) << 23;
    (void)w;
    uint32_t word = 0; /* bytes: numbers of fp8 and bf8 */
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t byte = next_random() & 0xff;
        const bool number = !strcmp(type, "i8") || isfinite(value_of(type, byte));
        word |= (number ? byte : 1u) << (8 * i);
    }
    return word;
}

static uint32_t edge_word(const char *type)
{
    static const uint32_t single[] = {0,          0x80000000, 1,          0x807fffff,
                                      0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001,
                                      0xffc00123, 0x3f800000, 0x3f801fff, 0xbf800000};
    static const uint32_t half[] = {0, 0x8000, 1, 0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x7c01, 0x3c00};
    static const uint32_t brain[] = {0, 0x8000, 1, 0x807f, 0x7f7f, 0x7f80, 0xff80, 0x7f81, 0x3f80};
    static const uint32_t byte[] = {0, 0x80, 1, 0x7f, 0xff, 0x81, 0x07, 0x40};
    const uint32_t r = next_random() >> 3;
    if (width_of(type) == 32)
        return single[r % 12];
    if (width_of(type) == 16)
        return !strcmp(type, "f16") ? half[r % 9] | half[r / 9 % 9] << 16
                                    : brain[r % 9] | brain[r / 9 % 9] << 16;
    return byte[r % 8] | byte[r / 8 % 8] << 8 | byte[r / 64 % 8] << 16 | byte[r / 512 % 8] << 24;
}

static void fill_rows(unsigned reg, unsigned rows, const char *type, enum fill how)
{
    static const uint64_t edge64[] = {0,
                                      1ull << 63,
                                      1,
                                      0x7fefffffffffffff,
                                      0x7ff0000000000000,
                                      0xfff0000000000000,
                                      0x7ff0000000000001,
                                      0x3ff0000000000000};
    for (unsigned n = 0; n < rows; n++)
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            uint32_t *at = &rows_at(reg)[n][lane];
            const uint32_t r = next_random();
            if (how == ANY_BITS)
                *at = r;
            else if (width_of(type) == 64 && how == MODERATE)
                *at = n % 2 ? (r & 0x800fffffu) | (1020 + (r >> 20) % 5) << 20 : r;
            else if (width_of(type) == 64 && n % 2 == 0) {
                const uint64_t v = edge64[r / 8 % 8];
                *at = (uint32_t)v;
                at[RP_LANES] = (uint32_t)(v >> 32);
            } else if (width_of(type) != 64)
                *at = how == MODERATE ? moderate_word(type) : edge_word(type);
        }
}

static void fill_operands(unsigned op, const struct operands *r, enum fill how)
{
    const struct kind s = kind_of(ops[op].name);
    const unsigned c = s.sparse ? r->d : r->c;
    if (c < CONST)
        fill_rows(c, s.cd_rows, s.f64 ? "f64" : "f32", s.i32 ? ANY_BITS : how);
    if (s.sparse)
        fill_rows(r->c, 1, "f32", ANY_BITS);
    fill_rows(r->a, s.a_rows, s.a, how);
    fill_rows(r->b, s.b_rows, s.b, how);
}

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    f.wave.vgpr = vgpr;
    f.wave.agpr = agpr;
    f.wave.vgpr_count = f.wave.agpr_count = 256;
    seed = 4711;
    ocp = gfx90a = false;
    ops = gfx942_ops;
    op_count = sizeof gfx942_ops / sizeof gfx942_ops[0];
    return 0;
}

static int setup_gfx950(void **state)
{
    setup(state);
    rp_isa_target_set("gfx950");
    ocp = true;
    ops = gfx950_ops;
    op_count = sizeof gfx950_ops / sizeof gfx950_ops[0];
    return 0;
}

static int setup_gfx90a(void **state)
{
    setup(state);
    rp_isa_target_set("gfx90a");
    gfx90a = true;
    ops = gfx90a_ops;
    op_count = sizeof gfx90a_ops / sizeof gfx90a_ops[0];
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rp_isa_target_set("gfx942");
    return 0;
}

/* ---- tests ---- */

static const struct modifiers none;

static void test_values(void **state)
{
    (void)state;
    const struct operands r = {.d = 100, .a = 4, .b = 12, .c = 40};
    for (unsigned op = 0; op < op_count; op++)
        for (int round = 0; round < 6; round++) {
            fill_operands(op, &r, (enum fill)(round % 3));
            check(op, &r, &none, NULL, round % 3 == MODERATE);
        }
}

/* Registers of either kind; C the same as D, beside it, overlapping it; D over A and B. */
static void test_places(void **state)
{
    (void)state;
    static const struct operands places[] = {
        {.d = AGPR + 8, .a = AGPR + 80, .b = 12, .c = AGPR + 8},
        {.d = 40, .a = 4, .b = AGPR + 12, .c = 40},
        {.d = AGPR + 64, .a = AGPR + 2, .b = AGPR + 2, .c = AGPR + 100},
        {.d = 40, .a = 4, .b = 12, .c = 42},
        {.d = 42, .a = 4, .b = 12, .c = 40},
        {.d = 40, .a = 40, .b = 40, .c = 100},
    };
    for (unsigned op = 0; op < op_count; op++)
        for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
            struct operands r = places[i];
            if (kind_of(ops[op].name).sparse)
                r.c = 200; /* the index: always a VGPR */
            fill_operands(op, &r, ANY_BITS);
            check(op, &r, &none, NULL, false);
        }
}

static void test_constants(void **state)
{
    (void)state;
    static const struct {
        unsigned encoding;
        uint32_t bits32;
        uint64_t bits64;
    } constants[] = {
        {128, 0, 0},
        {130, 2, 2},
        {193, 0xffffffff, 0xffffffffffffffff},
        {242, 0x3f800000, 0x3ff0000000000000},
        {247, 0xc0800000, 0xc010000000000000},
        {248, 0x3e22f983, 0x3fc45f306dc9c882},
    };
    for (unsigned op = 0; op < op_count; op++)
        for (unsigned i = 0; i < sizeof constants / sizeof constants[0]; i++) {
            const struct kind s = kind_of(ops[op].name);
            const struct operands r = {
                .d = AGPR, .a = 4, .b = 12, .c = CONST + constants[i].encoding};
            const uint64_t c = s.f64 ? constants[i].bits64 : constants[i].bits32;
            if (s.sparse)
                continue;
            fill_operands(op, &r, MODERATE);
            check(op, &r, &none, &c, false);
        }
}

/* Which modifiers AMD's calculator knows for an instruction. */
static bool is_defined(const struct kind *s, const struct modifiers *o)
{
    const bool f32 = !strcmp(s->a, "f32");
    if (s->sparse)
        return o->blgp == 0 && (o->cbsz || s->a_rows * 32 / width_of(s->a) == 16 ||
                                o->abid < 32 / (2 * s->a_rows * 32 / width_of(s->a)));
    if (s->f64)
        return !o->cbsz && !o->abid && !(gfx90a && o->blgp);
    if (o->blgp && s->blocks == 1 && !f32 && !gfx90a)
        return false;
    return 1u << o->cbsz <= s->blocks && o->abid < 1u << o->cbsz;
}

static void test_modifiers(void **state)
{
    (void)state;
    const struct operands r = {.d = 100, .a = 4, .b = 12, .c = 40};
    for (unsigned op = 0; op < op_count; op++) {
        const struct kind s = kind_of(ops[op].name);
        for (unsigned n = 0; n < 1024; n++) {
            const struct modifiers o = {n & 7, n >> 3 & 15, n >> 7};
            struct rp_insn in;
            if (!is_defined(&s, &o)) {
                assert_false(decode(op, &r, &o, &in));
                continue;
            }
            if (s.sparse && o.cbsz > 1 && o.abid > 1)
                continue; /* all the same */
            fill_operands(op, &r, ANY_BITS);
            check(op, &r, &o, NULL, false);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const struct operands r = {.d = 100, .a = 4, .b = 12, .c = 40};
    struct rp_insn in;
    for (unsigned op = 0; op < op_count; op++) {
        assert_true(decode(op, &r, &none, &in));
        f.wave.vgpr_count = 100;
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_FAULT);
        f.wave.vgpr_count = 256;
        f.wave.gpr_idx = 1u << 31;
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_FAULT);
        assert_non_null(strstr(f.wave.fault.text, "index mode"));
        f.wave.gpr_idx = 0;
        const struct modifiers o = {.cbsz = 7, .abid = 15, .blgp = 7};
        assert_false(decode(op, &r, &o, &in));
        assert_int_equal(in.fn(&f.wave, &in), RP_STEP_FAULT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_values, setup),
        cmocka_unit_test_setup(test_places, setup),
        cmocka_unit_test_setup(test_constants, setup),
        cmocka_unit_test_setup(test_modifiers, setup),
        cmocka_unit_test_setup(test_refusals, setup),
        cmocka_unit_test_setup_teardown(test_values, setup_gfx90a, teardown),
        cmocka_unit_test_setup_teardown(test_places, setup_gfx90a, teardown),
        cmocka_unit_test_setup_teardown(test_constants, setup_gfx90a, teardown),
        cmocka_unit_test_setup_teardown(test_modifiers, setup_gfx90a, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup_gfx90a, teardown),
        cmocka_unit_test_setup_teardown(test_values, setup_gfx950, teardown),
        cmocka_unit_test_setup_teardown(test_places, setup_gfx950, teardown),
        cmocka_unit_test_setup_teardown(test_constants, setup_gfx950, teardown),
        cmocka_unit_test_setup_teardown(test_modifiers, setup_gfx950, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup_gfx950, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
