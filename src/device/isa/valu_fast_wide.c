/*
 * Compiled for x86-64-v4, as valu_fast.c: f16, f64 and 64-bit integers. Lanes of pairs of rows are
 * put together in the order in which they lie in CPU registers.
 */
#include "valu_fast_row.h"

/** The 16 lanes of one part of two rows, as 64-bit values: lanes 0..7 and 8..15. */
struct pair {
    __m512i low, high;
};

ALWAYS struct pair join(__m512i lo, __m512i hi)
{
    const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const __m512i second =
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return (struct pair){_mm512_permutex2var_epi32(lo, first, hi),
                         _mm512_permutex2var_epi32(lo, second, hi)};
}

ALWAYS __m512i low_dwords(struct pair p)
{
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_epi32(p.low, even, p.high);
}

ALWAYS __m512i high_dwords(struct pair p)
{
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_epi32(p.low, odd, p.high);
}

/* ---- f16 ---- */

ALWAYS __m512i add_f32(__m512i a, __m512i b, __m512i c)
{
    (void)c;
    return BITS(_mm512_add_ps(FLOAT(a), FLOAT(b)));
}

ALWAYS __m512i sub_f32(__m512i a, __m512i b, __m512i c)
{
    (void)c;
    return BITS(_mm512_sub_ps(FLOAT(a), FLOAT(b)));
}

ALWAYS __m512i subrev_f32(__m512i a, __m512i b, __m512i c)
{
    return sub_f32(b, a, c);
}

ALWAYS __m512i mul_f32(__m512i a, __m512i b, __m512i c)
{
    (void)c;
    return BITS(_mm512_mul_ps(FLOAT(a), FLOAT(b)));
}

/* The product of two f16 is exact. The sum is rounded to odd, toward zero with the last bit set
 * where it is not exact, so that the rounding to f16 is the only one. */
ALWAYS __m512i fma_odd_f32(__m512i a, __m512i b, __m512i c)
{
    const __m512 p = _mm512_mul_ps(FLOAT(a), FLOAT(b)), z = FLOAT(c);
    const __m512 up = _mm512_add_round_ps(p, z, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);
    const __m512 down = _mm512_add_round_ps(p, z, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    const __m512i cut = BITS(_mm512_add_round_ps(p, z, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    const __mmask16 inexact = _mm512_cmp_ps_mask(up, down, _CMP_NEQ_OQ);
    return _mm512_mask_or_epi32(cut, inexact, cut, _mm512_set1_epi32(1));
}

/* The halves of dwords, low or high, as f32. */
ALWAYS __m512i widened(__m512i v, bool high)
{
    return BITS(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(high ? _mm512_srli_epi32(v, 16) : v)));
}

ALWAYS struct quad widened_quad(struct quad v, bool high)
{
    return (struct quad){widened(v.q0, high), widened(v.q1, high), widened(v.q2, high),
                         widened(v.q3, high)};
}

ALWAYS __m512i narrowed(__m512i v)
{
    return _mm512_cvtepu16_epi32(
        _mm512_cvtps_ph(FLOAT(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

ALWAYS struct quad narrowed_quad(struct quad v)
{
    return (struct quad){narrowed(v.q0), narrowed(v.q1), narrowed(v.q2), narrowed(v.q3)};
}

/* b into the high halves of a. */
ALWAYS __m512i both(__m512i a, __m512i b)
{
    return _mm512_or_si512(a, _mm512_slli_epi32(b, 16));
}

/* Source @p i, loaded, as f32 for the low (@p high false) or high result. @p modified: op_sel and
 * op_sel_hi name the half, neg_lo and neg_hi (in->abs) change its sign. */
ALWAYS struct quad half_source(const struct rp_insn *in, unsigned i, struct quad v, bool high,
                               bool modified)
{
    if (!modified)
        return widened_quad(v, high);
    const bool from = (high ? in->op_sel_hi : in->op_sel) >> i & 1;
    v = from ? widened_quad(v, true) : widened_quad(v, false);
    return sign(v, (high ? in->abs : in->neg) >> i & 1, false);
}

ALWAYS int halves(struct rp_wave *w, const struct rp_insn *in, unsigned n, unsigned scalars,
                  bool modified, bool two, arith_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad x = source(w, in, 0, scalars, false), y = source(w, in, 1, scalars, false);
    const struct quad z = n > 2 ? source(w, in, 2, scalars, false) : x;
    struct quad r;
    {
        const struct quad a = half_source(in, 0, x, false, modified);
        const struct quad b = half_source(in, 1, y, false, modified);
        const struct quad c = n > 2 ? half_source(in, 2, z, false, modified) : a;
        EACH(r, f, a, b, c);
    }
    if (__builtin_expect(any_nan(r), 0) && any_active_nan(r, exec))
        return rp_valu(w, in);
    r = narrowed_quad(r);
    if (two) {
        struct quad h;
        const struct quad a = half_source(in, 0, x, true, modified);
        const struct quad b = half_source(in, 1, y, true, modified);
        const struct quad c = n > 2 ? half_source(in, 2, z, true, modified) : a;
        EACH(h, f, a, b, c);
        if (__builtin_expect(any_nan(h), 0) && any_active_nan(h, exec))
            return rp_valu(w, in);
        h = narrowed_quad(h);
        r = (struct quad){both(r.q0, h.q0), both(r.q1, h.q1), both(r.q2, h.q2), both(r.q3, h.q3)};
    }
    store(row_of(w, &in->dst), r, exec);
    return RP_STEP_NEXT;
}

/* ---- v_fma_mix: each source is f32, or the f16 half op_sel names where op_sel_hi is set ---- */

ALWAYS struct quad mix_source(const struct rp_wave *w, const struct rp_insn *in, unsigned i)
{
    struct quad v = fetch(w, &in->src[i], in->src[i].kind != RP_OPND_VGPR, 0);
    if (in->op_sel_hi >> i & 1)
        v = in->op_sel >> i & 1 ? widened_quad(v, true) : widened_quad(v, false);
    if ((in->neg | in->abs) >> i & 1)
        v = sign(v, in->neg >> i & 1, in->abs >> i & 1);
    return v;
}

enum mix_result { MIX_F32, MIX_LOW, MIX_HIGH };

/* A half into the row that keeps its other half. */
ALWAYS __m512i placed(__m512i old, __m512i half, bool high)
{
    const __m512i kept = _mm512_and_si512(old, _mm512_set1_epi32(high ? 0xffff : (int)0xffff0000));
    return _mm512_or_si512(kept, high ? _mm512_slli_epi32(half, 16) : half);
}

ALWAYS int mix(struct rp_wave *w, const struct rp_insn *in, enum mix_result to)
{
    if (goes_long_way(w, in))
        return rp_valu_mix(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad a = mix_source(w, in, 0), b = mix_source(w, in, 1), c = mix_source(w, in, 2);
    struct quad r = {BITS(_mm512_fmadd_ps(FLOAT(a.q0), FLOAT(b.q0), FLOAT(c.q0))),
                     BITS(_mm512_fmadd_ps(FLOAT(a.q1), FLOAT(b.q1), FLOAT(c.q1))),
                     BITS(_mm512_fmadd_ps(FLOAT(a.q2), FLOAT(b.q2), FLOAT(c.q2))),
                     BITS(_mm512_fmadd_ps(FLOAT(a.q3), FLOAT(b.q3), FLOAT(c.q3)))};
    if (__builtin_expect(any_nan(r), 0) && any_active_nan(r, exec))
        return rp_valu_mix(w, in);
    uint32_t *const row = row_of(w, &in->dst);
    if (to != MIX_F32) {
        const struct quad old = load(row), h = narrowed_quad(r);
        const bool high = to == MIX_HIGH;
        r = (struct quad){placed(old.q0, h.q0, high), placed(old.q1, h.q1, high),
                          placed(old.q2, h.q2, high), placed(old.q3, h.q3, high)};
    }
    store(row, r, exec);
    return RP_STEP_NEXT;
}

static int mix_f32(struct rp_wave *w, const struct rp_insn *in)
{
    return mix(w, in, MIX_F32);
}

static int mix_low(struct rp_wave *w, const struct rp_insn *in)
{
    return mix(w, in, MIX_LOW);
}

static int mix_high(struct rp_wave *w, const struct rp_insn *in)
{
    return mix(w, in, MIX_HIGH);
}

rp_insn_fn *rp_valu_fast_mix(const struct rp_insn *in)
{
    if (in->dst.kind != RP_OPND_VGPR || in->flags & RP_IF_CLAMP)
        return NULL;
    for (unsigned i = 0; i < 3; i++)
        if (in->src[i].kind != RP_OPND_VGPR && in->src[i].kind != RP_OPND_SGPR &&
            in->src[i].kind != RP_OPND_CONST)
            return NULL;
    return in->op == RP_OP_v_fma_mix_f32     ? mix_f32
           : in->op == RP_OP_v_fma_mixlo_f16 ? mix_low
                                             : mix_high;
}

/* ---- 64 bits ---- */

#define DOUBLE(x)      _mm512_castsi512_pd(x)
#define DOUBLE_BITS(x) _mm512_castpd_si512(x)
#define RP_FAST_H(...)
#define RP_FAST_P(...)
#define RP_FAST_D(n, name, ...)                                                                    \
    ALWAYS __m512i do_##name(__m512i x, __m512i y, __m512i z)                                      \
    {                                                                                              \
        const __m512d a = DOUBLE(x), b = DOUBLE(y), c = DOUBLE(z);                                 \
        (void)c;                                                                                   \
        return DOUBLE_BITS(__VA_ARGS__);                                                           \
    }
#define RP_FAST_L(name, ...)                                                                       \
    ALWAYS __m512i do_##name(__m512i x, __m512i b, __m512i z)                                      \
    {                                                                                              \
        const __m512i a = _mm512_and_si512(x, _mm512_set1_epi64(63));                              \
        (void)z;                                                                                   \
        return __VA_ARGS__;                                                                        \
    }
#define RP_FAST_CW(name, ...)                                                                      \
    ALWAYS __mmask8 do_##name(__m512i a, __m512i b)                                                \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#define RP_FAST_CD(name, ...)                                                                      \
    ALWAYS __mmask8 do_##name(__m512i x, __m512i y)                                                \
    {                                                                                              \
        const __m512d a = DOUBLE(x), b = DOUBLE(y);                                                \
        return __VA_ARGS__;                                                                        \
    }
#define RP_FAST_W(name, ...)                                                                       \
    ALWAYS __m512i do_##name(__m256i a)                                                            \
    {                                                                                              \
        return DOUBLE_BITS(__VA_ARGS__);                                                           \
    }
#include "valu_fast_wide.def"

typedef __mmask8 wide_compare_fn(__m512i a, __m512i b);
typedef __m512i widen_fn(__m256i a);

/** Both rows of a source. */
struct rows2 {
    struct quad lo, hi;
};

/* @p shift: a source of one dword, of which only the low bits count. */
ALWAYS struct rows2 source2(const struct rp_wave *w, const struct rp_insn *in, unsigned i,
                            unsigned scalars, bool signs, bool shift)
{
    struct rows2 r;
    r.lo = fetch(w, &in->src[i], scalars >> i & 1, 0);
    r.hi = shift ? r.lo : fetch(w, &in->src[i], scalars >> i & 1, 1);
    if (signs)
        r.hi = sign(r.hi, in->neg >> i & 1, in->abs >> i & 1);
    return r;
}

ALWAYS bool pair_has_nan(struct pair p)
{
    return _mm512_cmp_pd_mask(DOUBLE(p.low), DOUBLE(p.high), _CMP_UNORD_Q) != 0;
}

/* From the high dwords of results: the NaNs that arithmetic gives are quiet. */
ALWAYS __mmask16 quiet_nan64(__m512i high)
{
    const __m512i quiet = _mm512_set1_epi32(0x7ff80000);
    return _mm512_cmpeq_epi32_mask(_mm512_and_si512(high, quiet), quiet);
}

ALWAYS bool active_quiet_nan64(struct quad high, uint64_t exec)
{
    return exec & mask64(quiet_nan64(high.q0), quiet_nan64(high.q1), quiet_nan64(high.q2),
                         quiet_nan64(high.q3));
}

ALWAYS int pairs(struct rp_wave *w, const struct rp_insn *in, unsigned n, unsigned scalars,
                 bool signs, bool shift, arith_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct rows2 x = source2(w, in, 0, scalars, signs, shift);
    const struct rows2 y = source2(w, in, 1, scalars, signs, false);
    const struct rows2 z = n > 2 ? source2(w, in, 2, scalars, signs, false) : x;
    struct quad lo, hi;
    bool nan = false;
#define PART(q)                                                                                    \
    do {                                                                                           \
        const struct pair a = join(x.lo.q, x.hi.q), b = join(y.lo.q, y.hi.q);                      \
        const struct pair c = n > 2 ? join(z.lo.q, z.hi.q) : a;                                    \
        const struct pair r = {f(a.low, b.low, c.low), f(a.high, b.high, c.high)};                 \
        nan |= !shift && pair_has_nan(r);                                                          \
        lo.q = low_dwords(r);                                                                      \
        hi.q = high_dwords(r);                                                                     \
    } while (0)
    PART(q0);
    PART(q1);
    PART(q2);
    PART(q3);
#undef PART
    if (__builtin_expect(nan, 0) && active_quiet_nan64(hi, exec))
        return rp_valu(w, in);
    uint32_t *const row = row_of(w, &in->dst);
    store(row, lo, exec);
    store(row + RP_LANES, hi, exec);
    return RP_STEP_NEXT;
}

ALWAYS int compare2(struct rp_wave *w, const struct rp_insn *in, unsigned scalars, bool signs,
                    wide_compare_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu_cmp(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct rows2 x = source2(w, in, 0, scalars, signs, false);
    const struct rows2 y = source2(w, in, 1, scalars, signs, false);
    uint64_t mask = 0;
#define PART(q, lane)                                                                              \
    do {                                                                                           \
        const struct pair a = join(x.lo.q, x.hi.q), b = join(y.lo.q, y.hi.q);                      \
        mask |= (uint64_t)f(a.low, b.low) << (lane) | (uint64_t)f(a.high, b.high) << ((lane) + 8); \
    } while (0)
    PART(q0, 0);
    PART(q1, 16);
    PART(q2, 32);
    PART(q3, 48);
#undef PART
    rp_sgpr64_set(w, in->sdst.index, mask & exec);
    return RP_STEP_NEXT;
}

ALWAYS struct pair widen16(__m512i v, widen_fn *f)
{
    return (struct pair){f(_mm512_castsi512_si256(v)), f(_mm512_extracti64x4_epi64(v, 1))};
}

ALWAYS int widen(struct rp_wave *w, const struct rp_insn *in, unsigned scalars, widen_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad a = source(w, in, 0, scalars, false);
    const struct pair p0 = widen16(a.q0, f), p1 = widen16(a.q1, f);
    const struct pair p2 = widen16(a.q2, f), p3 = widen16(a.q3, f);
    uint32_t *const row = row_of(w, &in->dst);
    store(row, (struct quad){low_dwords(p0), low_dwords(p1), low_dwords(p2), low_dwords(p3)}, exec);
    store(row + RP_LANES,
          (struct quad){high_dwords(p0), high_dwords(p1), high_dwords(p2), high_dwords(p3)}, exec);
    return RP_STEP_NEXT;
}

/* ---- one handler per opcode, kinds of sources and signs ---- */

#define HALVES(name, scalars, signs, n, two, f)                                                    \
    HANDLER(name, scalars, signs, halves(w, in, n, scalars, signs, two, f))
#define PAIRS(name, scalars, signs, n, shift)                                                      \
    HANDLER(name, scalars, signs, pairs(w, in, n, scalars, signs, shift, do_##name))
#define COMPARE2(name, scalars, signs, _)                                                          \
    HANDLER(name, scalars, signs, compare2(w, in, scalars, signs, do_##name))
#define WIDEN(name, scalars, signs, _)                                                             \
    HANDLER(name, scalars, signs, widen(w, in, scalars, do_##name))

#define RP_FAST_H(n, name, f) KINDS_##n(HALVES, name, 0, n, false, f)
#define RP_FAST_P(n, name, f)                                                                      \
    KINDS_##n(HALVES, name, 0, n, true, f) KINDS_##n(HALVES, name, 1, n, true, f)
#define RP_FAST_D(n, name, ...)                                                                    \
    KINDS_##n(PAIRS, name, 0, n, false) KINDS_##n(PAIRS, name, 1, n, false)
#define RP_FAST_L(name, ...)  KINDS_2(PAIRS, name, 0, 2, true)
#define RP_FAST_CW(name, ...) KINDS_2(COMPARE2, name, 0, 0)
#define RP_FAST_CD(name, ...) KINDS_2(COMPARE2, name, 0, 0) KINDS_2(COMPARE2, name, 1, 0)
#define RP_FAST_W(name, ...)  KINDS_1(WIDEN, name, 0, 0)
#include "valu_fast_wide.def"

static const struct rp_fast_row rows[] = {
#define RP_FAST_H(n, name, f)   PLAIN_ROW(n, name)
#define RP_FAST_P(n, name, f)   SIGNS_ROW(n, name)
#define RP_FAST_D(n, name, ...) SIGNS_ROW(n, name)
#define RP_FAST_L(name, ...)    PLAIN_ROW(2, name)
#define RP_FAST_CW(name, ...)   PLAIN_ROW(2, name)
#define RP_FAST_CD(name, ...)   SIGNS_ROW(2, name)
#define RP_FAST_W(name, ...)    PLAIN_ROW(1, name)
#include "valu_fast_wide.def"
};

rp_insn_fn *rp_fast_wide_find(unsigned op, bool signs, unsigned scalars)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == op)
            return rows[i].fn[signs][scalars];
    return NULL;
}
