/**
 * @file test_lane_div.c
 * @brief Division as the compiler expands it (div_scale, rcp, fma, div_fmas, div_fixup) gives the
 * correctly rounded quotient for operands of every exponent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/isa/lane.h"

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

static uint64_t rng_state = 0x243f6a8885a308d3u;

static uint64_t random64(void)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return rng_state * 0x2545f4914f6cdd1du;
}

/* Random bits; sometimes with an extreme exponent, all mantissa bits alike, or a special value. */
static uint64_t operand(int wide)
{
    const int mant = wide ? 52 : 23;
    const uint64_t exps = wide ? 0x7ff : 0xff, mant_mask = ((uint64_t)1 << mant) - 1;
    static const int near_ends[] = {0, 1, 2, 3, 22, 23, 24, 53, 54};
    uint64_t sign = random64() & 1, exp = random64() & exps, m = random64() & mant_mask;
    const uint64_t how = random64() % 16;
    if (how < 3)
        exp = (uint64_t)near_ends[random64() % 9];
    else if (how < 6)
        exp = exps - 1 - (uint64_t)near_ends[random64() % 4];
    else if (how < 10)
        exp = exps / 2 + random64() % 5 - 2;
    else if (how == 10)
        exp = exps; /* infinity or NaN */
    if (random64() % 8 == 0)
        m = random64() % 2 ? mant_mask : 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_division_is_correctly_rounded),
        cmocka_unit_test(f64_division_is_correctly_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
