/*
 * Lane kernels: every row of lane.def against the oracle, at every level, in place and out of
 * place; division as the compiler expands it; and the loops over memory.
 */
#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/isa/lane_select.c"
#include "lane_oracle/oracle.h"

enum { MAX_ROWS_PER_OPERAND = 4, MODE_USUAL = 0x3f0, MODE_OTHER = 0x8000f0 };

struct row {
    const char *shape, *name;
};

static const struct row kernel_rows[] = {
#define ROW(shape, name, ...) {#shape, #name},
#define RP_LANE_INT(...)      ROW(__VA_ARGS__)
#define RP_LANE_F32(...)      ROW(__VA_ARGS__)
#define RP_LANE_F64(...)      ROW(__VA_ARGS__)
#define RP_LANE_H16(...)      ROW(__VA_ARGS__)
#define RP_LANE_CMP(...)      ROW(__VA_ARGS__)
#define RP_LANE_CVT(...)      ROW(__VA_ARGS__)
#define RP_LANE_TRANS(...)    ROW(__VA_ARGS__)
#define RP_LANE_PK(...)       ROW(__VA_ARGS__)
#define RP_LANE_BODY(...)     ROW(__VA_ARGS__, )
#include "device/isa/lane.def"
};
enum { KERNEL_ROWS = sizeof kernel_rows / sizeof kernel_rows[0] };

/* ---- shapes ------------------------------------------------------------------------------- */

struct shape {
    unsigned dst_bits; /* 0 for a compare */
    unsigned srcs, src_bits[3];
};

static struct shape shape_of(const char *text)
{
    struct shape s = {0};
    char copy[64], *save = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    const char *token = strtok_r(copy, "_", &save);
    s.dst_bits = strcmp(token, "mask") == 0 ? 0 : (unsigned)atoi(token + 1);
    while ((token = strtok_r(NULL, "_", &save)) != NULL)
        s.src_bits[s.srcs++] = (unsigned)atoi(token + 1);
    return s;
}

static unsigned dwords(unsigned bits)
{
    return bits <= 32 ? 1 : bits / 32;
}

/* ---- inputs ------------------------------------------------------------------------------- */

static const uint64_t values16[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3800,
    0x3e00, 0x4100, 0x4248, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe12, 0x7c01, 0xfd55,
    0x000f, 0x0010, 0x0011, 0x7fff, 0xffff, 0x5555, 0x1234, 0x3bff, 0xb801, 0x6400,
};
static const uint64_t values32[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
    0x3f800000, 0xbf800000, 0x3f000000, 0xbf000001, 0x3fc00000, 0x40200000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xffa55555, 0x0000001f, 0x00000020,
    0x00000021, 0x7fffffff, 0xffffffff, 0x55555555, 0x12345678, 0x4f000000, 0xcf000000, 0x4f800000,
    0x4effffff, 0x33800000, 0x33000000, 0x0c0b0d0a, 0x01ff80fe, 0x7f000000, 0x0b800000, 0x43700000,
    0x43780000, 0x47610000, 0x477fe000, 0x477ff000, 0x38800000, 0x3f7fffff, 0xb3ffffff, 0x42c80000,
    0xc3160000, 0x4b800000, 0x4c000000,
};
static const uint64_t values64[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
    0x0010000000000000, 0x8010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3fe0000000000000, 0xbfe0000000000001, 0x3ff8000000000000, 0x4004000000000000,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0xfff8000012345678, 0x7ff0000000000001, 0xfff4000000000000,
    0x7fffffffffffffff, 0xffffffffffffffff, 0x41dfffffffc00000, 0xc1e0000000000000,
    0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000, 0x41e0000000000000,
    0x0123456789abcdef, 0x7ff00000ffffffff, 0x3ca0000000000000, 0x3c90000000000000,
    0x7fe0000000000000, 0x0340000000000000, 0x47efffffefffffff, 0x47effffff0000000,
    0x36a0000000000000, 0x3690000000000001, 0x4350000000000001, 0x7b00000000000000,
};

/* Triples are taken with this stride; prime to the counts, it still meets every pair. */
enum { STRIDE = 7 };
static_assert(sizeof values16 / 8 % STRIDE != 0 && sizeof values32 / 8 % STRIDE != 0 &&
                  sizeof values64 / 8 % STRIDE != 0,
              "stride must not divide a count");

static uint64_t value(unsigned bits, size_t index)
{
    if (bits == 16) /* junk above: kernels read the low half only */
        return values16[index % (sizeof values16 / 8)] | (index % 3 ? 0xa5a50000u : 0);
    if (bits == 32)
        return values32[index % (sizeof values32 / 8)];
    return values64[index % (sizeof values64 / 8)];
}

static size_t value_count(unsigned bits)
{
    return bits == 16   ? sizeof values16 / 8
           : bits == 32 ? sizeof values32 / 8
                        : sizeof values64 / 8;
}

/* A listed value, random bits, or a listed value with some bits changed. */
static uint64_t any_value(unsigned bits)
{
    const uint64_t r = random64();
    const uint64_t v = r % 4 == 0 ? random64() : value(bits, r >> 8);
    const uint64_t w = r % 4 == 1 ? v ^ (random64() & random64() & random64()) : v;
    return bits > 32 ? w : (uint32_t)w;
}

struct batch {
    uint32_t src[3][MAX_ROWS_PER_OPERAND * RP_LANES];
    uint64_t carry;
    uint32_t mode;
};

static void put(struct batch *b, unsigned src, unsigned lane, unsigned bits, uint64_t lo,
                uint64_t hi)
{
    const uint64_t part[2] = {lo, hi};
    for (unsigned i = 0; i < dwords(bits); i++)
        b->src[src][i * RP_LANES + lane] = (uint32_t)(part[i / 2] >> (i % 2 * 32));
}

static void fill_random(struct batch *b, const struct shape *s)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned i = 0; i < s->srcs; i++)
            put(b, i, lane, s->src_bits[i], any_value(s->src_bits[i]), any_value(64));
    b->carry = random64();
    b->mode = MODE_USUAL;
}

/* Edge batch number n of a shape: all combinations of listed values, for three sources with a
 * stride through the third. Returns 0 when there is none left. */
static int fill_edges(struct batch *b, const struct shape *s, size_t n)
{
    const size_t n0 = value_count(s->src_bits[0]);
    const size_t n1 = s->srcs > 1 ? value_count(s->src_bits[1]) : 1;
    const size_t n2 = s->srcs > 2 ? value_count(s->src_bits[2]) : 1, total = n0 * n1 * n2;
    const size_t step = s->srcs > 2 ? STRIDE : 1;
    if (n * RP_LANES * step >= total)
        return 0;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const size_t k = (n * RP_LANES + lane) * step % total;
        const size_t index[3] = {k % n0, k / n0 % n1, k / n0 / n1};
        for (unsigned i = 0; i < s->srcs; i++) {
            const uint64_t v = value(s->src_bits[i], index[i]);
            put(b, i, lane, s->src_bits[i], v, value(64, index[i] + lane));
        }
    }
    b->carry = n % 2 ? 0xa5a5f00f12345678u : ~0xa5a5f00f12345678u;
    b->mode = MODE_USUAL;
    return 1;
}

/* ---- running ------------------------------------------------------------------------------ */

struct results {
    uint32_t d[(MAX_ROWS_PER_OPERAND + 1) * RP_LANES];
    uint64_t mask;
};

static void run(rp_lane_fn *fn, const struct batch *b, struct results *r)
{
    struct rp_lane_args args = {.d = r->d,
                                .s0 = b->src[0],
                                .s1 = b->src[1],
                                .s2 = b->src[2],
                                .mask_in = b->carry,
                                .mode = b->mode};
    memset(r->d, 0xcc, sizeof r->d);
    fn(&args);
    r->mask = args.mask_out;
}

static uint64_t get(const uint32_t *rows_of, unsigned lane, unsigned bits, unsigned from)
{
    uint64_t v = rows_of[from * RP_LANES + lane];
    if (dwords(bits) > from + 1)
        v |= (uint64_t)rows_of[(from + 1) * RP_LANES + lane] << 32;
    return v;
}

static void expect(const struct row *row, const struct shape *s, const struct lane_in *in,
                   struct lane_out *out)
{
    lane_oracle_fn *oracle = lane_oracle_find(row->name);
    memset(out, 0, sizeof *out);
    out->mask = -1;
    if (s->dst_bits == 0)
        out->mask = lane_oracle_compare(row->name, in);
    else
        oracle(in, out);
}

/* Returns how many lanes differ from the oracle, printing the first few. */
static unsigned check_batch(const struct row *row, const struct shape *s, const struct batch *b)
{
    struct results r;
    unsigned wrong = 0;
    run(rp_lane_find_level(row->name, RP_LANE_BASE), b, &r);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const struct lane_in in = {.a = get(b->src[0], lane, s->src_bits[0], 0),
                                   .b = s->srcs > 1 ? get(b->src[1], lane, s->src_bits[1], 0) : 0,
                                   .c = s->srcs > 2 ? get(b->src[2], lane, s->src_bits[2], 0) : 0,
                                   .c_high = get(b->src[2], lane, 128, 2),
                                   .lane = lane,
                                   .carry_in = (int)(b->carry >> lane & 1),
                                   .mode = b->mode};
        struct lane_out want;
        expect(row, s, &in, &want);
        const uint64_t d = get(r.d, lane, s->dst_bits, 0), d_high = get(r.d, lane, 128, 2);
        const int mask = (int)(r.mask >> lane & 1);
        const int bad = (s->dst_bits != 0 && d != want.d) ||
                        (s->dst_bits == 128 && d_high != want.d_high) ||
                        (want.mask >= 0 && mask != want.mask);
        if (bad && wrong++ < 3)
            print_error("%s lane %u mode %#x carry %d: %#llx %#llx %#llx -> %#llx mask %d, "
                        "expected %#llx mask %d\n",
                        row->name, lane, (unsigned)in.mode, in.carry_in, (unsigned long long)in.a,
                        (unsigned long long)in.b, (unsigned long long)in.c, (unsigned long long)d,
                        mask, (unsigned long long)want.d, want.mask);
    }
    /* Nothing behind the result rows is written. */
    for (unsigned i = s->dst_bits ? dwords(s->dst_bits) * RP_LANES : 0;
         i < sizeof r.d / sizeof r.d[0]; i++)
        if (r.d[i] != 0xcccccccc) {
            print_error("%s writes beyond its result\n", row->name);
            return wrong + 1;
        }
    return wrong;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void every_row_has_an_oracle(void **state)
{
    (void)state;
    unsigned missing = 0;
    const struct lane_in in = {0};
    for (unsigned i = 0; i < KERNEL_ROWS; i++) {
        const struct shape s = shape_of(kernel_rows[i].shape);
        const int has = s.dst_bits ? lane_oracle_find(kernel_rows[i].name) != NULL
                                   : lane_oracle_compare(kernel_rows[i].name, &in) >= 0;
        if (!has && ++missing)
            print_error("%s has no oracle\n", kernel_rows[i].name);
    }
    assert_int_equal(missing, 0);
}

static void edges_agree_with_the_oracle(void **state)
{
    (void)state;
    unsigned wrong_rows = 0;
    for (unsigned i = 0; i < KERNEL_ROWS; i++) {
        const struct shape s = shape_of(kernel_rows[i].shape);
        struct batch b = {0};
        unsigned wrong = 0;
        for (size_t n = 0; wrong < 3 && fill_edges(&b, &s, n); n++) {
            wrong += check_batch(&kernel_rows[i], &s, &b);
            if (n % 4 == 0) {
                b.mode = MODE_OTHER;
                wrong += check_batch(&kernel_rows[i], &s, &b);
            }
        }
        for (unsigned n = 0; wrong < 3 && n < 8; n++) {
            fill_random(&b, &s);
            wrong += check_batch(&kernel_rows[i], &s, &b);
        }
        wrong_rows += wrong != 0;
    }
    assert_int_equal(wrong_rows, 0);
}

static void levels_agree(void **state)
{
    (void)state;
    unsigned differ = 0;
    for (unsigned i = 0; i < KERNEL_ROWS; i++) {
        const struct shape s = shape_of(kernel_rows[i].shape);
        for (unsigned n = 0; n < 64; n++) {
            struct batch b = {0};
            struct results base, other;
            fill_random(&b, &s);
            run(rp_lane_find_level(kernel_rows[i].name, RP_LANE_BASE), &b, &base);
            for (int level = RP_LANE_V3; level < RP_LANE_LEVELS; level++) {
                rp_lane_fn *fn = rp_lane_find_level(kernel_rows[i].name, (enum rp_lane_level)level);
                if (fn == NULL)
                    continue; /* this CPU lacks the level */
                run(fn, &b, &other);
                if (memcmp(base.d, other.d, sizeof base.d) != 0 || base.mask != other.mask) {
                    print_error("%s differs at level %d\n", kernel_rows[i].name, level);
                    differ++;
                    n = 64;
                }
            }
        }
    }
    assert_int_equal(differ, 0);
}

/* v_rsq_f32 of all f32 in [1, 4), and with it of all: the quotient's and the root's rounding. */
static void every_reciprocal_root(void **state)
{
    enum { ONE = 0x3f800000, FOUR = 0x40800000 };
    (void)state;
    for (int level = RP_LANE_BASE; level < RP_LANE_LEVELS; level++) {
        rp_lane_fn *fn = rp_lane_find_level("v_rsq_f32", (enum rp_lane_level)level);
        if (fn == NULL)
            continue; /* this CPU lacks the level */
        for (uint32_t bits = ONE; bits < FOUR; bits += RP_LANES) {
            uint32_t x[RP_LANES], d[RP_LANES];
            for (unsigned lane = 0; lane < RP_LANES; lane++)
                x[lane] = bits + lane;
            struct rp_lane_args args = {.d = d, .s0 = x, .mode = MODE_USUAL};
            fn(&args);
            for (unsigned lane = 0; lane < RP_LANES; lane++) {
                float from, is;
                memcpy(&from, &x[lane], sizeof from);
                memcpy(&is, &d[lane], sizeof is);
                if (is != (float)(1.0 / sqrt((double)from)))
                    fail_msg("level %d: 1/sqrt(%a) is %a", level, (double)from, (double)is);
            }
        }
    }
}

/* The destination may be a source, also one row further on. */
static void results_may_overwrite_sources(void **state)
{
    (void)state;
    unsigned differ = 0;
    for (unsigned i = 0; i < KERNEL_ROWS; i++) {
        const struct shape s = shape_of(kernel_rows[i].shape);
        struct batch b = {0};
        struct results apart;
        rp_lane_fn *fn = rp_lane_find(kernel_rows[i].name);
        assert_non_null(fn);
        fill_random(&b, &s);
        run(fn, &b, &apart);
        for (unsigned which = 0; which < 2 * s.srcs && s.dst_bits; which++) {
            uint32_t file[(MAX_ROWS_PER_OPERAND + 4) * RP_LANES];
            const unsigned src = which / 2, shift = which % 2;
            memcpy(file, b.src[src], sizeof b.src[src]);
            struct rp_lane_args args = {.d = file + shift * RP_LANES,
                                        .s0 = src == 0 ? file : b.src[0],
                                        .s1 = src == 1 ? file : b.src[1],
                                        .s2 = src == 2 ? file : b.src[2],
                                        .mask_in = b.carry,
                                        .mode = b.mode};
            fn(&args);
            if (memcmp(args.d, apart.d, dwords(s.dst_bits) * RP_LANES * 4) != 0) {
                print_error("%s differs in place of source %u + %u\n", kernel_rows[i].name, src,
                            shift);
                differ++;
            }
        }
    }
    assert_int_equal(differ, 0);
}

static void kernels_are_found_by_mnemonic(void **state)
{
    (void)state;
    assert_null(rp_lane_find("v_add_f32_e32"));
    assert_null(rp_lane_find("v_readlane_b32"));
    assert_null(rp_lane_find(""));
    assert_null(rp_lane_find("v_cmpx_"));
    assert_non_null(rp_lane_find("v_cmpx_lt_f64"));
    assert_true(rp_lane_find("v_cmpx_class_f16") == rp_lane_find("v_cmp_class_f16"));
    for (unsigned i = 0; i < KERNEL_ROWS; i++)
        for (unsigned j = 0; j < i; j++)
            if (strcmp(kernel_rows[i].name, kernel_rows[j].name) == 0)
                fail_msg("%s is there twice", kernel_rows[i].name);
}

/* ---- division as the compiler expands it (div_scale, rcp, fma, div_fmas, div_fixup) ----
 *
 * It gives the correctly rounded quotient for operands of every exponent.
 */

enum { WIDTH = 2 * RP_LANES };

/* Rows of one 32- or 64-bit register each. */
struct regs {
    uint32_t num[WIDTH], den[WIDTH], den_s[WIDTH], num_s[WIDTH], rcp[WIDTH], neg[WIDTH], err[WIDTH],
        q[WIDTH], one[WIDTH];
    uint64_t vcc;
};

static uint64_t op(const char *suffix, int wide, uint32_t *d, const uint32_t *s0,
                   const uint32_t *s1, const uint32_t *s2, uint64_t mask_in)
{
    char name[32];
    snprintf(name, sizeof name, "v_%s_f%d", suffix, wide ? 64 : 32);
    rp_lane_fn *fn = rp_lane_find(name);
    assert_non_null(fn);
    struct rp_lane_args args = {
        .d = d, .s0 = s0, .s1 = s1, .s2 = s2, .mask_in = mask_in, .mode = 0x3f0};
    fn(&args);
    return args.mask_out;
}

/* The caller of a kernel applies the neg modifier; here it is the test. */
static const uint32_t *negated(struct regs *r, const uint32_t *row, int wide)
{
    memcpy(r->neg, row, sizeof r->neg);
    for (unsigned i = 0; i < RP_LANES; i++)
        r->neg[wide ? RP_LANES + i : i] ^= 0x80000000u;
    return r->neg;
}

static void divide_f32(struct regs *r)
{
    op("div_scale", 0, r->den_s, r->den, r->den, r->num, 0);
    r->vcc = op("div_scale", 0, r->num_s, r->num, r->den, r->num, 0);
    op("rcp", 0, r->rcp, r->den_s, NULL, NULL, 0);
    op("fma", 0, r->err, negated(r, r->den_s, 0), r->rcp, r->one, 0);
    op("fma", 0, r->rcp, r->err, r->rcp, r->rcp, 0);
    op("mul", 0, r->q, r->num_s, r->rcp, NULL, 0);
    op("fma", 0, r->err, negated(r, r->den_s, 0), r->q, r->num_s, 0);
    op("fma", 0, r->q, r->err, r->rcp, r->q, 0);
    op("fma", 0, r->err, negated(r, r->den_s, 0), r->q, r->num_s, 0);
    op("div_fmas", 0, r->q, r->err, r->rcp, r->q, r->vcc);
    op("div_fixup", 0, r->q, r->q, r->den, r->num, 0);
}

static void divide_f64(struct regs *r)
{
    op("div_scale", 1, r->den_s, r->den, r->den, r->num, 0);
    op("rcp", 1, r->rcp, r->den_s, NULL, NULL, 0);
    for (int i = 0; i < 2; i++) {
        op("fma", 1, r->err, negated(r, r->den_s, 1), r->rcp, r->one, 0);
        op("fma", 1, r->rcp, r->rcp, r->err, r->rcp, 0);
    }
    r->vcc = op("div_scale", 1, r->num_s, r->num, r->den, r->num, 0);
    op("mul", 1, r->q, r->num_s, r->rcp, NULL, 0);
    op("fma", 1, r->err, negated(r, r->den_s, 1), r->q, r->num_s, 0);
    op("div_fmas", 1, r->q, r->err, r->rcp, r->q, r->vcc);
    op("div_fixup", 1, r->q, r->q, r->den, r->num, 0);
}

static uint64_t division_state = 0x243f6a8885a308d3u;

static uint64_t division_random(void)
{
    division_state ^= division_state << 13;
    division_state ^= division_state >> 7;
    division_state ^= division_state << 17;
    return division_state * 0x2545f4914f6cdd1du;
}

/* Random bits; sometimes with an extreme exponent, all mantissa bits alike, or a special value. */
static uint64_t operand(int wide)
{
    const int mant = wide ? 52 : 23;
    const uint64_t exps = wide ? 0x7ff : 0xff, mant_mask = ((uint64_t)1 << mant) - 1;
    static const int near_ends[] = {0, 1, 2, 3, 22, 23, 24, 53, 54};
    uint64_t sign = division_random() & 1, exp = division_random() & exps,
             m = division_random() & mant_mask;
    const uint64_t how = division_random() % 16;
    if (how < 3)
        exp = (uint64_t)near_ends[division_random() % 9];
    else if (how < 6)
        exp = exps - 1 - (uint64_t)near_ends[division_random() % 4];
    else if (how < 10)
        exp = exps / 2 + division_random() % 5 - 2;
    else if (how == 10)
        exp = exps; /* infinity or NaN */
    if (division_random() % 8 == 0)
        m = division_random() % 2 ? mant_mask : 0;
    return (sign << (wide ? 63 : 31)) | exp << mant | m;
}

static int same(uint64_t got, uint64_t want, int wide)
{
    const uint64_t inf = wide ? 0x7ff0000000000000u : 0x7f800000u;
    const uint64_t mag = wide ? 0x7fffffffffffffffu : 0x7fffffffu;
    return got == want || ((got & mag) > inf && (want & mag) > inf);
}

static void f32_division_is_correctly_rounded(void **state)
{
    (void)state;
    static struct regs r;
    unsigned wrong = 0;
    for (int n = 0; n < 3000; n++) {
        for (unsigned i = 0; i < RP_LANES; i++) {
            r.num[i] = (uint32_t)operand(0);
            r.den[i] = (uint32_t)operand(0);
            r.one[i] = 0x3f800000u;
        }
        divide_f32(&r);
        for (unsigned i = 0; i < RP_LANES; i++) {
            float x, y, q;
            uint32_t want;
            memcpy(&x, &r.num[i], 4);
            memcpy(&y, &r.den[i], 4);
            q = x / y;
            memcpy(&want, &q, 4);
            if (!same(r.q[i], want, 0) && wrong++ < 10)
                print_error("%08x / %08x -> %08x, expected %08x\n", r.num[i], r.den[i], r.q[i],
                            want);
        }
    }
    assert_int_equal(wrong, 0);
}

static void f64_division_is_correctly_rounded(void **state)
{
    (void)state;
    static struct regs r;
    unsigned wrong = 0;
    for (int n = 0; n < 3000; n++) {
        for (unsigned i = 0; i < RP_LANES; i++) {
            const uint64_t num = operand(1), den = operand(1);
            r.num[i] = (uint32_t)num;
            r.num[RP_LANES + i] = (uint32_t)(num >> 32);
            r.den[i] = (uint32_t)den;
            r.den[RP_LANES + i] = (uint32_t)(den >> 32);
            r.one[RP_LANES + i] = 0x3ff00000u;
        }
        divide_f64(&r);
        for (unsigned i = 0; i < RP_LANES; i++) {
            const uint64_t num = (uint64_t)r.num[RP_LANES + i] << 32 | r.num[i];
            const uint64_t den = (uint64_t)r.den[RP_LANES + i] << 32 | r.den[i];
            const uint64_t got = (uint64_t)r.q[RP_LANES + i] << 32 | r.q[i];
            double x, y, q;
            uint64_t want;
            memcpy(&x, &num, 8);
            memcpy(&y, &den, 8);
            q = x / y;
            memcpy(&want, &q, 8);
            if (!same(got, want, 1) && wrong++ < 10)
                print_error("%016llx / %016llx -> %016llx, expected %016llx\n",
                            (unsigned long long)num, (unsigned long long)den,
                            (unsigned long long)got, (unsigned long long)want);
        }
    }
    assert_int_equal(wrong, 0);
}

/* ---- the memory loops of every CPU level do the same thing, and it is the right one ---- */

static uint32_t seed = 1;

static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static uint64_t random_exec(void)
{
    switch (next_random() % 3) {
    case 0:
        return ~0ull;
    case 1:
        return 1ull << next_random() % 64;
    default:
        return (uint64_t)next_random() << 40 ^ (uint64_t)next_random() << 20 ^ next_random();
    }
}

enum { BYTES = 4096, ZERO = 1000 };

struct world {
    uint8_t memory[BYTES + 16];
    uint32_t index[64];
    uint32_t rows[4][64];
};

/* Each sixteen lanes at one place or side by side, as tiles are read; sometimes not quite. */
static void lie_in_tiles(struct world *w)
{
    const uint32_t step = 4 * (next_random() % 5);
    const uint32_t room = BYTES + (next_random() % 2 ? 0 : 256) - 16 * 16;
    for (unsigned lane = 0; lane < 64; lane += 16) {
        const uint32_t from = ZERO + next_random() % room;
        for (unsigned i = 0; i < 16; i++)
            w->index[lane + i] = from + i * step;
    }
    if (next_random() % 2)
        w->index[next_random() % 64] += 1 + next_random() % 8;
}

static void make_world(struct world *w)
{
    for (unsigned i = 0; i < sizeof w->memory; i++)
        w->memory[i] = (uint8_t)next_random();
    for (unsigned lane = 0; lane < 64; lane++) {
        w->index[lane] = ZERO + next_random() % (BYTES + 256); /* some are beyond the end */
        for (unsigned i = 0; i < 4; i++)
            w->rows[i][lane] = next_random();
    }
    if (next_random() % 2)
        lie_in_tiles(w);
}

/* What a load must do, written for clarity. */
static void expect_load(struct world *w, uint32_t last, unsigned dwords, uint64_t exec)
{
    for (unsigned lane = 0; lane < 64; lane++) {
        uint32_t at = w->index[lane] - ZERO;
        if (!(exec >> lane & 1))
            continue;
        for (unsigned i = 0; i < dwords; i++) {
            w->rows[i][lane] = 0;
            if (at <= last)
                memcpy(&w->rows[i][lane], w->memory + at + 4 * i, 4);
        }
    }
}

static void expect_store(struct world *w, uint32_t last, unsigned dwords, uint64_t exec)
{
    for (unsigned lane = 0; lane < 64; lane++) {
        uint32_t at = w->index[lane] - ZERO;
        if (exec >> lane & 1 && at <= last)
            for (unsigned i = 0; i < dwords; i++)
                memcpy(w->memory + at + 4 * i, &w->rows[i][lane], 4);
    }
}

static void check_moves(const struct rp_mem_lanes *lanes, unsigned dwords, int store)
{
    struct world got, want;
    uint64_t exec = random_exec();
    make_world(&got);
    if (store && (dwords > 1 || next_random() % 2)) /* several dwords have no order between lanes */
        for (unsigned lane = 0; lane < 64; lane++)
            got.index[lane] = ZERO + (lane * 29 % 67) * 64 + next_random() % 32;
    want = got;
    struct rp_spread spread = {
        .base = got.memory, .index = got.index, .zero = ZERO, .last = BYTES - 4 * dwords};
    if (store) {
        lanes->store[dwords]((const uint32_t(*)[64])got.rows, &spread, exec);
        expect_store(&want, spread.last, dwords, exec);
    } else {
        if (next_random() % 2) { /* the row of addresses is overwritten */
            memcpy(got.rows[0], got.index, sizeof got.index);
            memcpy(want.rows[0], got.index, sizeof got.index);
            spread.index = got.rows[0];
        }
        lanes->load[dwords](got.rows, &spread, exec);
        expect_load(&want, spread.last, dwords, exec);
    }
    assert_memory_equal(&got, &want, sizeof got);
}

/* Elements side by side, at any alignment. */
static void check_rows(const struct rp_mem_lanes *lanes, unsigned dwords, int store)
{
    _Alignas(64) struct world got, want;
    uint32_t at = next_random() % 64;
    make_world(&got);
    want = got;
    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned i = 0; i < dwords; i++) {
            uint8_t *p = want.memory + at + 4 * (lane * dwords + i);
            if (store)
                memcpy(p, &want.rows[i][lane], 4);
            else
                memcpy(&want.rows[i][lane], p, 4);
        }
    if (store)
        lanes->store_rows[dwords]((const uint32_t(*)[64])got.rows, got.memory + at);
    else
        lanes->load_rows[dwords](got.rows, got.memory + at);
    assert_memory_equal(&got, &want, sizeof got);
}

static void check_shapes(const struct rp_mem_lanes *lanes)
{
    uint32_t row[64], low, high;
    int64_t stride;
    for (unsigned lane = 0; lane < 64; lane++)
        row[lane] = 5000 - 12 * lane;
    assert_true(lanes->affine(row, &stride));
    assert_true(stride == -12);
    assert_false(lanes->uniform(row));
    for (unsigned lane = 0; lane < 64; lane++) {
        row[lane]++;
        assert_false(lanes->affine(row, &stride));
        row[lane]--;
    }
    for (unsigned lane = 0; lane < 64; lane++)
        row[lane] = 0xffffff80u + 4 * lane; /* wraps */
    assert_false(lanes->affine(row, &stride));
    lanes->bounds(row, 3, &low, &high);
    assert_true(low == 0xffffff80u && high == 0xffffff84u);
    lanes->bounds(row, ~0ull, &low, &high);
    assert_true(low == 0 && high == 0xfffffffcu);
    for (unsigned lane = 0; lane < 64; lane++)
        row[lane] = 7;
    assert_true(lanes->uniform(row));
    assert_true(lanes->affine(row, &stride) && stride == 0);
}

static void check_permute(const struct rp_mem_lanes *lanes)
{
    uint32_t value[64], address[64], out[64], offset = next_random() % 1024;
    for (unsigned lane = 0; lane < 64; lane++) {
        value[lane] = next_random();
        address[lane] = next_random();
    }
    lanes->permute(out, value, address, offset);
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(out[lane], value[(address[lane] + offset) / 4 % 64]);
}

/* What is behind the rows and dwords asked for stays. */
static void check_starts(const struct rp_mem_lanes *lanes)
{
    _Alignas(64) uint32_t rows[5][64];
    uint32_t from[49], to[49]; /* not where vectors would like them */
    const uint32_t first = next_random();
    for (unsigned count = 1; count < 5; count++) {
        memset(rows, 0xa5, sizeof rows);
        lanes->start_rows(rows, count, first);
        for (unsigned i = 0; i < 5 * 64; i++)
            assert_int_equal(rows[i / 64][i % 64], i < 64           ? first + i
                                                   : i < count * 64 ? 0
                                                                    : 0xa5a5a5a5u);
    }
    for (unsigned i = 0; i < 49; i++) {
        from[i] = next_random();
        to[i] = ~from[i];
    }
    lanes->copy_dwords(to + 1, from + 1, 32);
    for (unsigned i = 0; i < 49; i++)
        assert_int_equal(to[i], i >= 1 && i < 33 ? from[i] : ~from[i]);
}

static void check_level(enum rp_lane_level level)
{
    const struct rp_mem_lanes *lanes = mem_lanes_level(level);
    if (!lanes) {
        print_message("level %d: not on this CPU\n", level);
        return;
    }
    check_shapes(lanes);
    check_permute(lanes);
    check_starts(lanes);
    for (unsigned round = 0; round < 300; round++)
        for (unsigned dwords = 1; dwords <= 4; dwords++) {
            check_moves(lanes, dwords, 0);
            check_moves(lanes, dwords, 1);
            if (dwords != 3) {
                check_rows(lanes, dwords, 0);
                check_rows(lanes, dwords, 1);
            }
        }
}

static void base_level(void **state)
{
    (void)state;
    assert_non_null(mem_lanes_level(RP_LANE_BASE));
    check_level(RP_LANE_BASE);
}

static void v3_level(void **state)
{
    (void)state;
    check_level(RP_LANE_V3);
}

static void v4_level(void **state)
{
    (void)state;
    check_level(RP_LANE_V4);
}

static void index_row_may_be_overwritten(void **state)
{
    (void)state;
    struct world w, want;
    make_world(&w);
    want = w;
    const struct rp_mem_lanes *lanes = rp_mem_lanes_best();
    memcpy(w.rows[1], w.index, sizeof w.index);
    struct rp_spread spread = {
        .base = w.memory, .index = w.rows[1], .zero = ZERO, .last = BYTES - 16};
    lanes->load[4](w.rows, &spread, ~0ull);
    expect_load(&want, BYTES - 16, 4, ~0ull);
    assert_memory_equal(w.rows, want.rows, sizeof w.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_an_oracle),
        cmocka_unit_test(edges_agree_with_the_oracle),
        cmocka_unit_test(levels_agree),
        cmocka_unit_test(every_reciprocal_root),
        cmocka_unit_test(results_may_overwrite_sources),
        cmocka_unit_test(kernels_are_found_by_mnemonic),
        cmocka_unit_test(f32_division_is_correctly_rounded),
        cmocka_unit_test(f64_division_is_correctly_rounded),
        cmocka_unit_test(base_level),
        cmocka_unit_test(v3_level),
        cmocka_unit_test(v4_level),
        cmocka_unit_test(index_row_may_be_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
