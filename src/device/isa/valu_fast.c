/*
 * Compiled for x86-64-v4, as valu_fast.c: f16, f64 and 64-bit integers. Lanes of pairs of rows are
 * put together in the order in which they lie in CPU registers.
 */
#include "device/isa/valu_fast.h"

#include "device/isa/valu.h"
#include "device/isa/valu_fast_row.h"
#include "device/isa/wave_state.h"

typedef __m512i arith_fn(__m512i a, __m512i b, __m512i c);

#define KINDS_1(H, name, signs, ...)                                                               \
    H(name, 0, signs, __VA_ARGS__)                                                                 \
    H(name, 1, signs, __VA_ARGS__)

#define KINDS_2(H, name, signs, ...)                                                               \
    KINDS_1(H, name, signs, __VA_ARGS__)                                                           \
    H(name, 2, signs, __VA_ARGS__)                                                                 \
    H(name, 3, signs, __VA_ARGS__)

#define KINDS_3(H, name, signs, ...)                                                               \
    KINDS_2(H, name, signs, __VA_ARGS__)                                                           \
    H(name, 4, signs, __VA_ARGS__)                                                                 \
    H(name, 5, signs, __VA_ARGS__)                                                                 \
    H(name, 6, signs, __VA_ARGS__)                                                                 \
    H(name, 7, signs, __VA_ARGS__)

struct rp_fast_row {
    uint16_t op;          /**< enum rp_op */
    rp_insn_fn *fn[2][8]; /**< by signs, then a bit per source that is no VGPR; NULL: none */
};

#define PLAIN_ROW(n, name) {RP_OP_##name, {KINDS_##n(ENTRY, name, 0, )}},

#define SIGNS_ROW(n, name)                                                                         \
    {RP_OP_##name, {KINDS_##n(ENTRY, name, 0, ) KINDS_##n(ENTRY, name, 1, )}},

ALWAYS bool goes_long_way(const struct rp_wave *w, const struct rp_insn *in)
{
    return __builtin_expect(w->gpr_idx || in->vgpr_top > w->vgpr_count, 0);
}

ALWAYS uint64_t mask64(__mmask16 m0, __mmask16 m1, __mmask16 m2, __mmask16 m3)
{
    return m0 | (uint64_t)m1 << 16 | (uint64_t)m2 << 32 | (uint64_t)m3 << 48;
}

/* The same of the lanes that are on: what is off must not cost the long way each time. */
ALWAYS bool any_active_nan(struct quad v, uint64_t exec)
{
    const uint64_t nan = mask64(_mm512_cmp_ps_mask(FLOAT(v.q0), FLOAT(v.q0), _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(FLOAT(v.q1), FLOAT(v.q1), _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(FLOAT(v.q2), FLOAT(v.q2), _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(FLOAT(v.q3), FLOAT(v.q3), _CMP_UNORD_Q));
    return nan & exec;
}

ALWAYS bool active_unordered(struct quad a, struct quad b, uint64_t exec)
{
    const uint64_t nan = mask64(_mm512_cmp_ps_mask(FLOAT(a.q0), FLOAT(b.q0), _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(FLOAT(a.q1), FLOAT(b.q1), _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(FLOAT(a.q2), FLOAT(b.q2), _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(FLOAT(a.q3), FLOAT(b.q3), _CMP_UNORD_Q));
    return nan & exec;
}

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
#include "device/isa/valu_fast_wide.def"

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
#include "device/isa/valu_fast_wide.def"

static const struct rp_fast_row rows[] = {
#define RP_FAST_H(n, name, f)   PLAIN_ROW(n, name)
#define RP_FAST_P(n, name, f)   SIGNS_ROW(n, name)
#define RP_FAST_D(n, name, ...) SIGNS_ROW(n, name)
#define RP_FAST_L(name, ...)    PLAIN_ROW(2, name)
#define RP_FAST_CW(name, ...)   PLAIN_ROW(2, name)
#define RP_FAST_CD(name, ...)   SIGNS_ROW(2, name)
#define RP_FAST_W(name, ...)    PLAIN_ROW(1, name)
#include "device/isa/valu_fast_wide.def"
};

/** Handler from valu_fast.c, or NULL. */
static rp_insn_fn *rp_fast_wide_find(unsigned op, bool signs, unsigned scalars)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == op)
            return rows[i].fn[signs][scalars];
    return NULL;
}

/* Compiled for x86-64-v4 (see CMakeLists.txt). */

struct wide {
    __m512i lo, hi;
};

/* 32 times 32 bits: even lanes and odd lanes make 64-bit products apart. */
ALWAYS struct wide product(__m512i a, __m512i b)
{
    const __m512i even = _mm512_mul_epu32(a, b);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    return (struct wide){_mm512_mask_blend_epi32(0xaaaa, even, _mm512_slli_epi64(odd, 32)),
                         _mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd)};
}

/* Toward zero; NaN gives 0, what is too large the end of the range. */
ALWAYS __m512i to_i32(__m512 v)
{
    const __mmask16 ordered = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
    const __mmask16 large = _mm512_cmp_ps_mask(v, _mm512_set1_ps(0x1p31f), _CMP_GE_OQ);
    return _mm512_mask_mov_epi32(_mm512_maskz_cvttps_epi32(ordered, v), large,
                                 _mm512_set1_epi32(INT32_MAX));
}

ALWAYS __m512i to_u32(__m512 v)
{
    const __mmask16 positive = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ);
    return _mm512_maskz_cvttps_epu32(positive, v); /* too large: all ones */
}

ALWAYS __m512i to_f16(__m512 v)
{
    return _mm512_cvtepu16_epi32(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* The low 32 bits of a:b shifted right, by less than 32. */
ALWAYS __m512i align(__m512i a, __m512i b, __m512i by)
{
    const __m512i rest = _mm512_sub_epi32(_mm512_set1_epi32(32), by); /* 32 shifts all out */
    return _mm512_or_si512(_mm512_srlv_epi32(b, by), _mm512_sllv_epi32(a, rest));
}

/* @p width bits from the low end, with their sign; none give 0. */
ALWAYS __m512i low_signed(__m512i v, __m512i width)
{
    const __m512i drop = LOW5(_mm512_sub_epi32(_mm512_set1_epi32(32), width));
    return _mm512_maskz_srav_epi32(_mm512_test_epi32_mask(width, width), _mm512_sllv_epi32(v, drop),
                                   drop);
}

ALWAYS __m512i byte_f32(__m512i v, unsigned byte)
{
    return BITS(_mm512_cvtepi32_ps(
        _mm512_and_si512(_mm512_srli_epi32(v, 8 * byte), _mm512_set1_epi32(0xff))));
}

/* The arithmetic of each row of valu_fast.def, as a function. */
#define RP_FAST_I(n, name, ...)                                                                    \
    ALWAYS __m512i do_##name(__m512i a, __m512i b, __m512i c)                                      \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return __VA_ARGS__;                                                                        \
    }
#define RP_FAST_F(n, name, ...)                                                                    \
    ALWAYS __m512i do_##name(__m512i x, __m512i y, __m512i z)                                      \
    {                                                                                              \
        const __m512 a = FLOAT(x), b = FLOAT(y), c = FLOAT(z);                                     \
        (void)b, (void)c;                                                                          \
        return BITS(__VA_ARGS__);                                                                  \
    }
#define RP_FAST_S(name, ...) RP_FAST_F(2, name, __VA_ARGS__)
#define RP_FAST_C(name, ...)                                                                       \
    ALWAYS __mmask16 do_##name(__m512i a, __m512i b)                                               \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }
#define RP_FAST_CF(name, ...)                                                                      \
    ALWAYS __mmask16 do_##name(__m512i x, __m512i y)                                               \
    {                                                                                              \
        const __m512 a = FLOAT(x), b = FLOAT(y);                                                   \
        return __VA_ARGS__;                                                                        \
    }
#define RP_FAST_M(name, ...)                                                                       \
    ALWAYS __m512i do_##name(__m512i a, __m512i b, __mmask16 m, __mmask16 *ret_carry)              \
    {                                                                                              \
        __m512i d;                                                                                 \
        __mmask16 carry = 0;                                                                       \
        (void)m;                                                                                   \
        __VA_ARGS__;                                                                               \
        *ret_carry = carry;                                                                        \
        return d;                                                                                  \
    }
#include "device/isa/valu_fast.def"

typedef __mmask16 compare_fn(__m512i a, __m512i b);
typedef __m512i masked_fn(__m512i a, __m512i b, __mmask16 m, __mmask16 *ret_carry);

enum nan_care { NAN_NEVER, NAN_RESULT, NAN_SOURCE };

ALWAYS int arith(struct rp_wave *w, const struct rp_insn *in, unsigned n, unsigned scalars,
                 bool signs, enum nan_care care, arith_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad a = source(w, in, 0, scalars, signs);
    const struct quad b = n > 1 ? source(w, in, 1, scalars, signs) : a;
    const struct quad c = n > 2 ? source(w, in, 2, scalars, signs) : a;
    struct quad r;
    EACH(r, f, a, b, c);
    if ((care == NAN_RESULT && __builtin_expect(any_nan(r), 0) && any_active_nan(r, exec)) ||
        (care == NAN_SOURCE && __builtin_expect(unordered(a, b), 0) &&
         active_unordered(a, b, exec)))
        return n == 1 || in->src[3].kind != RP_OPND_NONE ? rp_valu(w, in) : rp_valu_signed(w, in);
    store(row_of(w, &in->dst), r, exec);
    return RP_STEP_NEXT;
}

/* v_div_fmas_f32 scales where its mask says so, which is seldom. */
ALWAYS int div_fmas(struct rp_wave *w, const struct rp_insn *in, unsigned scalars)
{
    if (rp_opnd_u64(w, &in->src[3]) != 0)
        return rp_valu(w, in);
    return arith(w, in, 3, scalars, false, NAN_RESULT, do_v_fma_f32);
}

ALWAYS int compare(struct rp_wave *w, const struct rp_insn *in, unsigned scalars, bool signs,
                   compare_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu_cmp(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad a = source(w, in, 0, scalars, signs), b = source(w, in, 1, scalars, signs);
    const uint64_t mask = mask64(f(a.q0, b.q0), f(a.q1, b.q1), f(a.q2, b.q2), f(a.q3, b.q3));
    rp_sgpr64_set(w, in->sdst.index, mask & exec);
    return RP_STEP_NEXT;
}

ALWAYS int masked(struct rp_wave *w, const struct rp_insn *in, unsigned scalars, masked_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    const uint64_t m = in->src[3].kind == RP_OPND_NONE ? 0 : rp_opnd_u64(w, &in->src[3]);
    const struct quad a = source(w, in, 0, scalars, false), b = source(w, in, 1, scalars, false);
    __mmask16 c0, c1, c2, c3;
    struct quad r;
    r.q0 = f(a.q0, b.q0, (__mmask16)m, &c0);
    r.q1 = f(a.q1, b.q1, (__mmask16)(m >> 16), &c1);
    r.q2 = f(a.q2, b.q2, (__mmask16)(m >> 32), &c2);
    r.q3 = f(a.q3, b.q3, (__mmask16)(m >> 48), &c3);
    store(row_of(w, &in->dst), r, exec);
    if (in->sdst.kind != RP_OPND_NONE)
        rp_sgpr64_set(w, in->sdst.index, mask64(c0, c1, c2, c3) & exec);
    return RP_STEP_NEXT;
}

/* ---- pairs of rows ---- */

/* The f32 of a packed source that goes to the low (@p high false) or high result. */
ALWAYS struct quad half(const struct rp_wave *w, const struct rp_insn *in, unsigned i, bool high,
                        unsigned scalars, bool signs)
{
    const unsigned part = (high ? in->op_sel_hi : in->op_sel) >> i & 1;
    const struct quad v = fetch(w, &in->src[i], scalars >> i & 1, part);
    return signs ? sign(v, (high ? in->abs : in->neg) >> i & 1, false) : v; /* abs is neg_hi */
}

ALWAYS int packed(struct rp_wave *w, const struct rp_insn *in, unsigned n, unsigned scalars,
                  bool signs, arith_fn *f)
{
    if (goes_long_way(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    struct quad lo, hi;
    {
        const struct quad a = half(w, in, 0, false, scalars, signs);
        const struct quad b = half(w, in, 1, false, scalars, signs);
        const struct quad c = n > 2 ? half(w, in, 2, false, scalars, signs) : a;
        EACH(lo, f, a, b, c);
    }
    const struct quad a = half(w, in, 0, true, scalars, signs);
    const struct quad b = half(w, in, 1, true, scalars, signs);
    const struct quad c = n > 2 ? half(w, in, 2, true, scalars, signs) : a;
    EACH(hi, f, a, b, c);
    if (__builtin_expect(unordered(lo, hi), 0) && active_unordered(lo, hi, exec))
        return rp_valu_packed_f32(w, in);
    uint32_t *const row = row_of(w, &in->dst);
    store(row, lo, exec);
    store(row + RP_LANES, hi, exec);
    return RP_STEP_NEXT;
}

/* Sum of a pair and another; the carry out of it. */
ALWAYS struct wide sum64(struct wide x, struct wide y, __mmask16 *ret_carry)
{
    struct wide r;
    r.lo = _mm512_add_epi32(x.lo, y.lo);
    const __mmask16 low = _mm512_cmplt_epu32_mask(r.lo, y.lo);
    const __m512i high = _mm512_add_epi32(x.hi, y.hi);
    r.hi = _mm512_mask_sub_epi32(high, low, high, ALL_ONES);
    *ret_carry =
        _mm512_cmplt_epu32_mask(high, y.hi) | _mm512_mask_cmpeq_epu32_mask(low, high, ALL_ONES);
    return r;
}

ALWAYS struct wide shifted(struct wide a, __m512i by)
{
    by = _mm512_and_si512(by, _mm512_set1_epi32(7));
    const __m512i rest = _mm512_sub_epi32(_mm512_set1_epi32(32), by); /* 32 shifts all out */
    return (struct wide){
        _mm512_sllv_epi32(a.lo, by),
        _mm512_or_si512(_mm512_sllv_epi32(a.hi, by), _mm512_srlv_epi32(a.lo, rest))};
}

/* v_mad_u64_u32 (@p shift false) and v_lshl_add_u64. */
ALWAYS int wide(struct rp_wave *w, const struct rp_insn *in, unsigned scalars, bool shift)
{
    if (goes_long_way(w, in))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad a = fetch(w, &in->src[0], scalars & 1, 0);
    const struct quad a_hi = shift ? fetch(w, &in->src[0], scalars & 1, 1) : a;
    const struct quad b = fetch(w, &in->src[1], scalars >> 1 & 1, 0);
    const struct quad c = fetch(w, &in->src[2], scalars >> 2 & 1, 0);
    const struct quad c_hi = fetch(w, &in->src[2], scalars >> 2 & 1, 1);
    struct quad lo, hi;
    __mmask16 k0, k1, k2, k3;
#define PART(q, k)                                                                                 \
    do {                                                                                           \
        const struct wide x =                                                                      \
            shift ? shifted((struct wide){a.q, a_hi.q}, b.q) : product(a.q, b.q);                  \
        const struct wide r = sum64(x, (struct wide){c.q, c_hi.q}, &k);                            \
        lo.q = r.lo;                                                                               \
        hi.q = r.hi;                                                                               \
    } while (0)
    PART(q0, k0);
    PART(q1, k1);
    PART(q2, k2);
    PART(q3, k3);
#undef PART
    store(row_of(w, &in->dst), lo, exec);
    store(row_of(w, &in->dst) + RP_LANES, hi, exec);
    if (!shift)
        rp_sgpr64_set(w, in->sdst.index, mask64(k0, k1, k2, k3) & exec);
    return RP_STEP_NEXT;
}

/* ---- one handler per opcode, kinds of sources and signs ---- */

#define ARITH(name, scalars, signs, n, care)                                                       \
    HANDLER(name, scalars, signs, arith(w, in, n, scalars, signs, care, do_##name))
#define COMPARE(name, scalars, signs, _)                                                           \
    HANDLER(name, scalars, signs, compare(w, in, scalars, signs, do_##name))
#define MASKED(name, scalars, signs, _)                                                            \
    HANDLER(name, scalars, signs, masked(w, in, scalars, do_##name))
#define PACKED(name, scalars, signs, n, single)                                                    \
    HANDLER(name, scalars, signs, packed(w, in, n, scalars, signs, do_##single))
#define DIV_FMAS(name, scalars, signs, _) HANDLER(name, scalars, signs, div_fmas(w, in, scalars))
#define WIDE(name, scalars, signs, shift) HANDLER(name, scalars, signs, wide(w, in, scalars, shift))

#define RP_FAST_I(n, name, ...) KINDS_##n(ARITH, name, 0, n, NAN_NEVER)
#define RP_FAST_F(n, name, ...)                                                                    \
    KINDS_##n(ARITH, name, 0, n, NAN_RESULT) KINDS_##n(ARITH, name, 1, n, NAN_RESULT)
#define RP_FAST_S(name, ...)                                                                       \
    KINDS_2(ARITH, name, 0, 2, NAN_SOURCE) KINDS_2(ARITH, name, 1, 2, NAN_SOURCE)
#define RP_FAST_C(name, ...)  KINDS_2(COMPARE, name, 0, 0)
#define RP_FAST_CF(name, ...) KINDS_2(COMPARE, name, 0, 0) KINDS_2(COMPARE, name, 1, 0)
#define RP_FAST_M(name, ...)  KINDS_2(MASKED, name, 0, 0)
#include "device/isa/valu_fast.def"

KINDS_2(PACKED, v_pk_add_f32, 0, 2, v_add_f32)
KINDS_2(PACKED, v_pk_add_f32, 1, 2, v_add_f32)
KINDS_2(PACKED, v_pk_mul_f32, 0, 2, v_mul_f32)
KINDS_2(PACKED, v_pk_mul_f32, 1, 2, v_mul_f32)
KINDS_3(PACKED, v_pk_fma_f32, 0, 3, v_fma_f32)
KINDS_3(PACKED, v_pk_fma_f32, 1, 3, v_fma_f32)
KINDS_3(DIV_FMAS, v_div_fmas_f32, 0, )
KINDS_3(WIDE, v_mad_u64_u32, 0, false)
KINDS_3(WIDE, v_lshl_add_u64, 0, true)

static const struct rp_fast_row valu_fast_rows[] = {
#define RP_FAST_I(n, name, ...) PLAIN_ROW(n, name)
#define RP_FAST_F(n, name, ...) SIGNS_ROW(n, name)
#define RP_FAST_S(name, ...)    SIGNS_ROW(2, name)
#define RP_FAST_C(name, ...)    PLAIN_ROW(2, name)
#define RP_FAST_CF(name, ...)   SIGNS_ROW(2, name)
#define RP_FAST_M(name, ...)    PLAIN_ROW(2, name)
#include "device/isa/valu_fast.def"
    SIGNS_ROW(2, v_pk_add_f32) SIGNS_ROW(2, v_pk_mul_f32) SIGNS_ROW(3, v_pk_fma_f32)
        PLAIN_ROW(3, v_div_fmas_f32) PLAIN_ROW(3, v_mad_u64_u32) PLAIN_ROW(3, v_lshl_add_u64)};

rp_insn_fn *rp_valu_fast_find(const struct rp_insn *in, bool signs)
{
    unsigned scalars = 0;
    if (in->dst.kind != RP_OPND_VGPR && in->dst.kind != RP_OPND_NONE)
        return NULL;
    for (unsigned i = 0; i < 3; i++)
        switch (in->src[i].kind) {
        case RP_OPND_NONE:
        case RP_OPND_VGPR:
            break;
        case RP_OPND_SGPR:
        case RP_OPND_CONST:
            scalars |= 1u << i;
            break;
        default:
            return NULL;
        }
    for (unsigned i = 0; i < sizeof valu_fast_rows / sizeof valu_fast_rows[0]; i++)
        if (valu_fast_rows[i].op == in->op)
            return valu_fast_rows[i].fn[signs][scalars];
    return rp_fast_wide_find(in->op, signs, scalars);
}
