/* Compiled for x86-64-v4 (see CMakeLists.txt). */
#include "valu_fast_row.h"

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
#include "valu_fast.def"

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
#include "valu_fast.def"

KINDS_2(PACKED, v_pk_add_f32, 0, 2, v_add_f32)
KINDS_2(PACKED, v_pk_add_f32, 1, 2, v_add_f32)
KINDS_2(PACKED, v_pk_mul_f32, 0, 2, v_mul_f32)
KINDS_2(PACKED, v_pk_mul_f32, 1, 2, v_mul_f32)
KINDS_3(PACKED, v_pk_fma_f32, 0, 3, v_fma_f32)
KINDS_3(PACKED, v_pk_fma_f32, 1, 3, v_fma_f32)
KINDS_3(DIV_FMAS, v_div_fmas_f32, 0, )
KINDS_3(WIDE, v_mad_u64_u32, 0, false)
KINDS_3(WIDE, v_lshl_add_u64, 0, true)

static const struct rp_fast_row rows[] = {
#define RP_FAST_I(n, name, ...) PLAIN_ROW(n, name)
#define RP_FAST_F(n, name, ...) SIGNS_ROW(n, name)
#define RP_FAST_S(name, ...)    SIGNS_ROW(2, name)
#define RP_FAST_C(name, ...)    PLAIN_ROW(2, name)
#define RP_FAST_CF(name, ...)   SIGNS_ROW(2, name)
#define RP_FAST_M(name, ...)    PLAIN_ROW(2, name)
#include "valu_fast.def"
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
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == in->op)
            return rows[i].fn[signs][scalars];
    return rp_fast_wide_find(in->op, signs, scalars);
}
