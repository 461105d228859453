/**
 * @file lane_mfma.h
 * @brief This header says what the matrix kernels share: vectors of this CPU level, widening of
 * operands, one step of accumulation.
 *
 * A matrix kernel is a lane kernel (lane.h): s0, s1 and s2 are the register rows of A, B and C, d
 * those of D. The caller has applied CBSZ, ABID and BLGP. D may be the rows of A or B, and of C
 * when it is exactly C's.
 *
 * Layouts (AMD matrix instruction calculator, gfx9; G = 64 / (M blocks) groups of lanes):
 * - A[i][k] of block b: value k mod p of lane i + M (b + blocks (k div p)); B[k][j] the same with
 * j.
 * - D[i][j] of block b, 32 bits, M = 16 or 32: lane j + M (i div 4 mod 64/M) of register
 *   b M M/64 + 4 (i div (4 * 64/M)) + i mod 4. M = 4: lane j + 4 b of register i.
 *
 * Numerics. What order and precision the hardware accumulates in is not documented. Here: starting
 * from C, the products are added in the order of k, each product and sum rounded once to f32
 * (nearest even, denormals kept): a chain of fused multiply-adds. f64 is the same in f64, i32
 * wraps. xf32 drops the low 13 bits of its inputs, as AMD's libraries do in their references. A NaN
 * result is always 0x7fc00000 (f64: 0x7ff8000000000000), so that it does not depend on the order of
 * a CPU instruction's operands. MODE has no say.
 */
#ifndef RP_DEVICE_ISA_LANE_MFMA_H
#define RP_DEVICE_ISA_LANE_MFMA_H

#include "device/isa/lane_level.h"

#define RP_MFMA_INLINE static inline __attribute__((always_inline))

enum { RP_NAN_F32 = 0x7fc00000 };

/** This says how one step accumulates (lane_mfma.def). It is a constant at every use. */
enum rp_mac { RP_MAC_FMA, RP_MAC_EXACT, RP_MAC_I8 };

/* ---- vectors: RP_VEC dwords, and how many of them stay in registers as accumulators --------- */

#if RP_LANE_LEVEL == 2
enum { RP_VEC = 16, RP_TILE = 16 };
typedef __m512 rp_vec;

RP_MFMA_INLINE rp_vec rp_vec_load(const void *at)
{
    return _mm512_load_ps(at);
}
RP_MFMA_INLINE void rp_vec_store(void *at, rp_vec v)
{
    _mm512_store_ps(at, v);
}
RP_MFMA_INLINE rp_vec rp_vec_all(const float *at)
{
    return _mm512_set1_ps(*at);
}
/* Broadcasts value @p i (constant) of every four lanes to all four. */
#define RP_VEC_QUAD(v, i) _mm512_permute_ps(v, (i)*0x55)
RP_MFMA_INLINE rp_vec rp_vec_quiet(rp_vec v)
{
    const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_castsi512_ps(_mm512_mask_set1_epi32(_mm512_castps_si512(v), nan, RP_NAN_F32));
}
RP_MFMA_INLINE unsigned rp_vec_nans(rp_vec v, rp_vec w)
{
    return _mm512_cmp_ps_mask(v, w, _CMP_UNORD_Q);
}
RP_MFMA_INLINE rp_vec rp_vec_mac(enum rp_mac how, rp_vec acc, rp_vec a, rp_vec b)
{
    if (how != RP_MAC_I8)
        return _mm512_fmadd_ps(a, b, acc);
    return _mm512_castsi512_ps(
        _mm512_add_epi32(_mm512_castps_si512(acc),
                         _mm512_madd_epi16(_mm512_castps_si512(a), _mm512_castps_si512(b))));
}

#elif RP_LANE_LEVEL == 1
enum { RP_VEC = 8, RP_TILE = 8 };
typedef __m256 rp_vec;

RP_MFMA_INLINE rp_vec rp_vec_load(const void *at)
{
    return _mm256_load_ps(at);
}
RP_MFMA_INLINE void rp_vec_store(void *at, rp_vec v)
{
    _mm256_store_ps(at, v);
}
RP_MFMA_INLINE rp_vec rp_vec_all(const float *at)
{
    return _mm256_broadcast_ss(at);
}
#define RP_VEC_QUAD(v, i) _mm256_permute_ps(v, (i)*0x55)
RP_MFMA_INLINE rp_vec rp_vec_quiet(rp_vec v)
{
    const rp_vec nan = _mm256_castsi256_ps(_mm256_set1_epi32(RP_NAN_F32));
    return _mm256_blendv_ps(v, nan, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
}
RP_MFMA_INLINE unsigned rp_vec_nans(rp_vec v, rp_vec w)
{
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(v, w, _CMP_UNORD_Q));
}
RP_MFMA_INLINE rp_vec rp_vec_mac(enum rp_mac how, rp_vec acc, rp_vec a, rp_vec b)
{
    if (how != RP_MAC_I8)
        return _mm256_fmadd_ps(a, b, acc);
    return _mm256_castsi256_ps(
        _mm256_add_epi32(_mm256_castps_si256(acc),
                         _mm256_madd_epi16(_mm256_castps_si256(a), _mm256_castps_si256(b))));
}

#else
enum { RP_VEC = 4, RP_TILE = 8 };
typedef __m128 rp_vec;

RP_MFMA_INLINE rp_vec rp_vec_load(const void *at)
{
    return _mm_load_ps(at);
}
RP_MFMA_INLINE void rp_vec_store(void *at, rp_vec v)
{
    _mm_store_ps(at, v);
}
RP_MFMA_INLINE rp_vec rp_vec_all(const float *at)
{
    return _mm_set1_ps(*at);
}
#define RP_VEC_QUAD(v, i) _mm_shuffle_ps(v, v, (i)*0x55)
RP_MFMA_INLINE rp_vec rp_vec_quiet(rp_vec v)
{
    const rp_vec nan = _mm_castsi128_ps(_mm_set1_epi32(RP_NAN_F32));
    const rp_vec is_nan = _mm_cmpunord_ps(v, v);
    return _mm_or_ps(_mm_and_ps(is_nan, nan), _mm_andnot_ps(is_nan, v));
}
RP_MFMA_INLINE unsigned rp_vec_nans(rp_vec v, rp_vec w)
{
    return (unsigned)_mm_movemask_ps(_mm_cmpunord_ps(v, w));
}
RP_MFMA_INLINE rp_vec rp_vec_mac(enum rp_mac how, rp_vec acc, rp_vec a, rp_vec b)
{
    if (how == RP_MAC_EXACT)
        return _mm_add_ps(acc, _mm_mul_ps(a, b));
    if (how == RP_MAC_FMA) { /* This level has no such instruction, so libm's rounds once. */
        for (unsigned i = 0; i < 4; i++)
            acc[i] = __builtin_fmaf(a[i], b[i], acc[i]);
        return acc;
    }
    return _mm_castsi128_ps(_mm_add_epi32(
        _mm_castps_si128(acc), _mm_madd_epi16(_mm_castps_si128(a), _mm_castps_si128(b))));
}
#endif

RP_MFMA_INLINE void rp_vec_put(enum rp_mac how, void *at, rp_vec v)
{
    rp_vec_store(at, how == RP_MAC_I8 ? v : rp_vec_quiet(v));
}

/* Makes the NaNs among a tile's results the one NaN; usually there is none. */
RP_MFMA_INLINE void rp_tile_quiet(enum rp_mac how, rp_vec *acc)
{
    unsigned nans = 0;
    if (how == RP_MAC_I8)
        return;
#pragma GCC unroll 16
    for (unsigned t = 0; t < RP_TILE; t += 2)
        nans |= rp_vec_nans(acc[t], acc[t + 1]);
    if (__builtin_expect(nans != 0, 0)) {
#pragma GCC unroll 16
        for (unsigned t = 0; t < RP_TILE; t++)
            acc[t] = rp_vec_quiet(acc[t]);
    }
}

/* ---- widening: register rows to one row of 64 dwords per value ------------------------------ */

typedef float rp_wide[RP_LANES];

/* xf32 has 10 bits of mantissa. Infinities and NaNs stay what they are. */
RP_MFMA_INLINE uint32_t rp_bits_xf32(uint32_t bits)
{
    return (bits & 0xffffe000u) | ((bits & 0x7fffffffu) > 0x7f800000u ? 0x00400000u : 0);
}

RP_MFMA_INLINE uint32_t rp_i8_at(uint32_t word, unsigned byte)
{
    return (uint32_t)(int32_t)(int8_t)(word >> (8 * byte));
}

#define RP_WIDEN(type, per_row, ...)                                                               \
    RP_MFMA_INLINE void rp_widen_##type(rp_wide *to, const uint32_t *rows, unsigned values)        \
    {                                                                                              \
        for (unsigned r = 0; r < values / per_row; r++)                                            \
            for (unsigned e = 0; e < per_row; e++) {                                               \
                const uint32_t *const from = rows + r * RP_LANES;                                  \
                float *const row = to[r * per_row + e];                                            \
                RP_LANE_LOOP                                                                       \
                {                                                                                  \
                    const uint32_t w = from[lane];                                                 \
                    row[lane] = (__VA_ARGS__);                                                     \
                }                                                                                  \
            }                                                                                      \
    }
RP_WIDEN(f32, 1, rp_f32_of(w))
RP_WIDEN(xf32, 1, rp_f32_of(rp_bits_xf32(w)))
RP_WIDEN(bf16, 2, rp_f32_of(e ? w & 0xffff0000u : w << 16))
RP_WIDEN(fp8, 4, rp_f32_of_fp8(w >> (8 * e) & 0xffu))
RP_WIDEN(bf8, 4, rp_f32_of_bf8(w >> (8 * e) & 0xffu))
RP_WIDEN(ocp_fp8, 4, rp_f32_of_ocp_fp8(w >> (8 * e)))
RP_WIDEN(ocp_bf8, 4, rp_f32_of_ocp_bf8(w >> (8 * e)))
/* Bytes e and e + 2 are sign-extended to the halves of a dword, because the order does not change
 * the sum.
 */
RP_WIDEN(i8pair, 2, rp_f32_of((rp_i8_at(w, e) & 0xffffu) | rp_i8_at(w, e + 2) << 16))
/* One integer is in the low half, so that a multiply-add of pairs is a multiplication. */
RP_WIDEN(i8low, 4, rp_f32_of(rp_i8_at(w, e) & 0xffffu))

#if RP_LANE_LEVEL == 2
/* Stores the lower halves of 16 dwords, then the upper ones. */
RP_MFMA_INLINE void rp_part_halves(__m256i *to, const uint32_t *from)
{
    static const uint16_t order[32]
        __attribute__((aligned(64))) = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                        1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    _mm512_store_si512(to,
                       _mm512_permutexvar_epi16(_mm512_load_si512(order), _mm512_load_si512(from)));
}

/*
 * The conversion's operand is memory: from a register it takes a second turn of the only unit that
 * permutes, where the multiply-adds go, too (uops.info, VCVTPH2PS of Skylake-X and later).
 */
RP_MFMA_INLINE void rp_widen_f16(rp_wide *to, const uint32_t *rows, unsigned values)
{
    for (unsigned r = 0; r < values / 2; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane += RP_VEC) {
            __m256i halves[2] __attribute__((aligned(64)));
            rp_part_halves(halves, rows + r * RP_LANES + lane);
            /* The compiler would otherwise take it from the register again. */
            __asm__("" : "+m"(halves));
            rp_vec_store(to[2 * r] + lane, _mm512_cvtph_ps(halves[0]));
            rp_vec_store(to[2 * r + 1] + lane, _mm512_cvtph_ps(halves[1]));
        }
}
#else
RP_WIDEN(f16, 2, rp_f32_of_h16(e ? w >> 16 : w & 0xffffu))
#endif

/* ---- results -------------------------------------------------------------------------------- */

/* These tell, for row @p i in block @p block, the register and the lane of its first column. */
#define RP_D_REGISTER(m, block, i) ((block) * (m) * (m) / 64 + (i) / (256 / (m)) * 4 + (i) % 4)
#define RP_D_LANE(m, i)            ((i) / 4 % (64 / (m)) * (m))

#endif
