/**
 * @file valu_fast_row.h
 * @brief Rows of 64 lanes in AVX-512 registers, and tables of handlers: valu_fast*.c.
 *
 * A row is four CPU registers; every result of an instruction is known before the first is stored,
 * so that rows may overlap and an instruction can still go another way when a NaN turns up: which
 * NaN wins is the lane kernels' business.
 */
#ifndef RP_DEVICE_ISA_VALU_FAST_ROW_H
#define RP_DEVICE_ISA_VALU_FAST_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/valu.h"
#include "device/isa/valu_fast.h"
#include "device/isa/wave_state.h"

#define ALWAYS   static inline __attribute__((always_inline))
#define ALL_ONES _mm512_set1_epi32(-1)
#define BITS(x)  _mm512_castps_si512(x)
#define FLOAT(x) _mm512_castsi512_ps(x)
#define LOW5(x)  _mm512_and_si512(x, _mm512_set1_epi32(31))
#define LOW24(x) _mm512_and_si512(x, _mm512_set1_epi32(0xffffff))

#define SIGNED24(x) _mm512_srai_epi32(_mm512_slli_epi32(x, 8), 8)

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

#define HANDLER(name, scalars, signs, call)                                                        \
    static int name##_##scalars##signs(struct rp_wave *w, const struct rp_insn *in)                \
    {                                                                                              \
        return call;                                                                               \
    }

#define ENTRY(name, scalars, signs, ...) [signs][scalars] = name##_##scalars##signs,

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

/* No masked stores, for which loads soon after would wait. */
ALWAYS void store_some(uint32_t *row, uint64_t exec, __m512i q0, __m512i q1, __m512i q2, __m512i q3)
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

#endif
