/*
 * Compiled for x86-64-v4 (see CMakeLists.txt). A row is four CPU registers; every result of an
 * instruction is known before the first is stored, so that rows may overlap and an instruction can
 * still go another way when a NaN turns up: which NaN wins is the lane kernels' business.
 */
#include "valu_fast.h"

#include "valu.h"

#define ALWAYS   static inline __attribute__((always_inline))
#define ALL_ONES _mm512_set1_epi32(-1)
#define BITS(x)  _mm512_castps_si512(x)
#define FLOAT(x) _mm512_castsi512_ps(x)
#define LOW5(x)  _mm512_and_si512(x, _mm512_set1_epi32(31))
#define LOW24(x) _mm512_and_si512(x, _mm512_set1_epi32(0xffffff))

/** One row: lanes 0..15, 16..31 and so on. */
struct quad {
    __m512i q0, q1, q2, q3;
};

/* r = f(a, b, c) for the four parts of quads. */
#define EACH(r, f, a, b, c)                                                                        \
    do {                                                                                           \
        (r).q0 = f((a).q0, (b).q0, (c).q0);                                                        \
        (r).q1 = f((a).q1, (b).q1, (c).q1);                                                        \
        (r).q2 = f((a).q2, (b).q2, (c).q2);                                                        \
        (r).q3 = f((a).q3, (b).q3, (c).q3);                                                        \
    } while (0)

/* Who executes instructions has seen to it that their registers exist (exec/run.c). */
ALWAYS bool goes_long_way(const struct rp_wave *w)
{
    return __builtin_expect(w->gpr_idx != 0, 0);
}

ALWAYS struct quad load(const uint32_t *row)
{
    return (struct quad){_mm512_load_si512(row), _mm512_load_si512(row + 16),
                         _mm512_load_si512(row + 32), _mm512_load_si512(row + 48)};
}

ALWAYS uint32_t *row_of(const struct rp_wave *w, const struct rp_opnd *o)
{
    return (uint32_t *)(void *)((char *)w->vgpr + o->imm);
}

/* Dword @p part of a source; @p scalar, a constant at every use: it is an SGPR or a constant. */
ALWAYS struct quad fetch(const struct rp_wave *w, const struct rp_opnd *o, bool scalar,
                         unsigned part)
{
    if (!scalar)
        return load(row_of(w, o) + part * RP_LANES);
    const char *constant = (const char *)&o->imm + part * 4;
    const char *at = o->kind == RP_OPND_SGPR ? (const char *)&w->sgpr[o->index + part] : constant;
    uint32_t value;
    memcpy(&value, at, sizeof value);
    const __m512i v = _mm512_set1_epi32((int)value);
    return (struct quad){v, v, v, v};
}

ALWAYS __m512i with_sign(__m512i v, __m512i keep, __m512i flip)
{
    return _mm512_xor_si512(_mm512_and_si512(v, keep), flip);
}

/* abs, then neg. */
ALWAYS struct quad sign(struct quad v, bool neg, bool abs)
{
    const __m512i keep = _mm512_set1_epi32((int)~((uint32_t)abs << 31));
    const __m512i flip = _mm512_set1_epi32((int)((uint32_t)neg << 31));
    return (struct quad){with_sign(v.q0, keep, flip), with_sign(v.q1, keep, flip),
                         with_sign(v.q2, keep, flip), with_sign(v.q3, keep, flip)};
}

/* Source @p i of an instruction without packed operands. */
ALWAYS struct quad source(const struct rp_wave *w, const struct rp_insn *in, unsigned i,
                          unsigned scalars, bool signs)
{
    const struct quad v = fetch(w, &in->src[i], scalars >> i & 1, 0);
    return signs ? sign(v, in->neg >> i & 1, in->abs >> i & 1) : v;
}

ALWAYS void store_all(uint32_t *row, struct quad v)
{
    _mm512_store_si512(row, v.q0);
    _mm512_store_si512(row + 16, v.q1);
    _mm512_store_si512(row + 32, v.q2);
    _mm512_store_si512(row + 48, v.q3);
}

/* Apart, so that the way of a full EXEC is short; no masked stores, for which loads soon after
 * would wait. */
static __attribute__((noinline)) void store_some(uint32_t *row, uint64_t exec, __m512i q0,
                                                 __m512i q1, __m512i q2, __m512i q3)
{
    const struct quad old = load(row);
    store_all(row, (struct quad){_mm512_mask_blend_epi32((__mmask16)exec, old.q0, q0),
                                 _mm512_mask_blend_epi32((__mmask16)(exec >> 16), old.q1, q1),
                                 _mm512_mask_blend_epi32((__mmask16)(exec >> 32), old.q2, q2),
                                 _mm512_mask_blend_epi32((__mmask16)(exec >> 48), old.q3, q3)});
}

ALWAYS void store(uint32_t *row, struct quad v, uint64_t exec)
{
    if (__builtin_expect(exec == ~0ull, 1))
        store_all(row, v);
    else
        store_some(row, exec, v.q0, v.q1, v.q2, v.q3);
}

ALWAYS uint64_t mask64(__mmask16 m0, __mmask16 m1, __mmask16 m2, __mmask16 m3)
{
    return m0 | (uint64_t)m1 << 16 | (uint64_t)m2 << 32 | (uint64_t)m3 << 48;
}

/* Whether any two floats in the same place of a and b have a NaN between them. */
ALWAYS bool unordered(struct quad a, struct quad b)
{
    const __mmask16 k0 = _mm512_cmp_ps_mask(FLOAT(a.q0), FLOAT(b.q0), _CMP_UNORD_Q);
    const __mmask16 k1 = _mm512_cmp_ps_mask(FLOAT(a.q1), FLOAT(b.q1), _CMP_UNORD_Q);
    const __mmask16 k2 = _mm512_cmp_ps_mask(FLOAT(a.q2), FLOAT(b.q2), _CMP_UNORD_Q);
    const __mmask16 k3 = _mm512_cmp_ps_mask(FLOAT(a.q3), FLOAT(b.q3), _CMP_UNORD_Q);
    return !_kortestz_mask16_u8(_kor_mask16(k0, k1), _kor_mask16(k2, k3));
}

ALWAYS bool any_nan(struct quad v)
{
    return !_kortestz_mask16_u8(_mm512_cmp_ps_mask(FLOAT(v.q0), FLOAT(v.q1), _CMP_UNORD_Q),
                                _mm512_cmp_ps_mask(FLOAT(v.q2), FLOAT(v.q3), _CMP_UNORD_Q));
}

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
        (void)c;                                                                                   \
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

typedef __m512i arith_fn(__m512i a, __m512i b, __m512i c);
typedef __mmask16 compare_fn(__m512i a, __m512i b);
typedef __m512i masked_fn(__m512i a, __m512i b, __mmask16 m, __mmask16 *ret_carry);

enum nan_care { NAN_NEVER, NAN_RESULT, NAN_SOURCE };

ALWAYS int arith(struct rp_wave *w, const struct rp_insn *in, unsigned n, unsigned scalars,
                 bool signs, enum nan_care care, arith_fn *f)
{
    if (goes_long_way(w))
        return rp_valu(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad a = source(w, in, 0, scalars, signs);
    const struct quad b = n > 1 ? source(w, in, 1, scalars, signs) : a;
    const struct quad c = n > 2 ? source(w, in, 2, scalars, signs) : a;
    struct quad r;
    EACH(r, f, a, b, c);
    if ((care == NAN_RESULT && __builtin_expect(any_nan(r), 0)) ||
        (care == NAN_SOURCE && __builtin_expect(unordered(a, b), 0)))
        return rp_valu_signed(w, in);
    store(row_of(w, &in->dst), r, exec);
    return RP_STEP_NEXT;
}

ALWAYS int compare(struct rp_wave *w, const struct rp_insn *in, unsigned scalars, bool signs,
                   compare_fn *f)
{
    if (goes_long_way(w))
        return rp_valu_cmp(w, in);
    const uint64_t exec = RP_EXEC(w);
    const struct quad a = source(w, in, 0, scalars, signs), b = source(w, in, 1, scalars, signs);
    const uint64_t mask = mask64(f(a.q0, b.q0), f(a.q1, b.q1), f(a.q2, b.q2), f(a.q3, b.q3));
    rp_sgpr64_set(w, in->sdst.index, mask & exec);
    return RP_STEP_NEXT;
}

ALWAYS int masked(struct rp_wave *w, const struct rp_insn *in, unsigned scalars, masked_fn *f)
{
    if (goes_long_way(w))
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
    if (goes_long_way(w))
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
    if (__builtin_expect(unordered(lo, hi), 0))
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
    if (goes_long_way(w))
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

#define HANDLER(name, scalars, signs, call)                                                        \
    static int name##_##scalars##signs(struct rp_wave *w, const struct rp_insn *in)                \
    {                                                                                              \
        return call;                                                                               \
    }
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

#define ARITH(name, scalars, signs, n, care)                                                       \
    HANDLER(name, scalars, signs, arith(w, in, n, scalars, signs, care, do_##name))
#define COMPARE(name, scalars, signs, _)                                                           \
    HANDLER(name, scalars, signs, compare(w, in, scalars, signs, do_##name))
#define MASKED(name, scalars, signs, _)                                                            \
    HANDLER(name, scalars, signs, masked(w, in, scalars, do_##name))
#define PACKED(name, scalars, signs, n, single)                                                    \
    HANDLER(name, scalars, signs, packed(w, in, n, scalars, signs, do_##single))
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
KINDS_3(WIDE, v_mad_u64_u32, 0, false)
KINDS_3(WIDE, v_lshl_add_u64, 0, true)

struct row {
    uint16_t op;          /**< enum rp_op */
    rp_insn_fn *fn[2][8]; /**< by signs, then a bit per source that is no VGPR; NULL: none */
};

#define ENTRY(name, scalars, signs, ...) [signs][scalars] = name##_##scalars##signs,
#define PLAIN_ROW(n, name)               {RP_OP_##name, {KINDS_##n(ENTRY, name, 0, )}},
#define SIGNS_ROW(n, name)                                                                         \
    {RP_OP_##name, {KINDS_##n(ENTRY, name, 0, ) KINDS_##n(ENTRY, name, 1, )}},

static const struct row rows[] = {
#define RP_FAST_I(n, name, ...) PLAIN_ROW(n, name)
#define RP_FAST_F(n, name, ...) SIGNS_ROW(n, name)
#define RP_FAST_S(name, ...)    SIGNS_ROW(2, name)
#define RP_FAST_C(name, ...)    PLAIN_ROW(2, name)
#define RP_FAST_CF(name, ...)   SIGNS_ROW(2, name)
#define RP_FAST_M(name, ...)    PLAIN_ROW(2, name)
#include "valu_fast.def"
    SIGNS_ROW(2, v_pk_add_f32) SIGNS_ROW(2, v_pk_mul_f32) SIGNS_ROW(3, v_pk_fma_f32)
        PLAIN_ROW(3, v_mad_u64_u32) PLAIN_ROW(3, v_lshl_add_u64)};

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
    return NULL;
}
