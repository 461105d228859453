/**
 * @file valu.h
 * @brief This header says what the VALU files share: register rows, broadcast, masked store, index
 * mode.
 */
#ifndef RP_DEVICE_ISA_VALU_H
#define RP_DEVICE_ISA_VALU_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"

enum { RP_OPND_ROWS_MAX = 4 }; /* The widest VALU operand outside MFMA has 128 bits. */

/** These are one operand's rows, for values that are not register rows as they stand. */
struct rp_rows {
    uint32_t row[RP_OPND_ROWS_MAX][RP_LANES] __attribute__((aligned(64)));
};

/** Broadcasts a scalar operand into @p rows. */
const uint32_t *rp_fetch_scalar(const struct rp_wave *w, const struct rp_opnd *o,
                                struct rp_rows *rows);

int rp_fault_register(struct rp_wave *w, const struct rp_insn *in);

/**
 * Returns, in VGPR index mode, the instruction with its register numbers moved by M0; else @p in
 * itself.
 * @return NULL when a moved register does not exist
 */
const struct rp_insn *rp_apply_gpr_idx(const struct rp_wave *w, const struct rp_insn *in,
                                       struct rp_insn *moved);

/**
 * Tests whether the instruction writes one half (or byte) of its destination and keeps the rest.
 */
bool rp_keeps_other_half(const struct rp_insn *in);

/** Binds the kernel of a matrix instruction, or its refusal; rp_valu_bind() calls it. */
void rp_mfma_bind(struct rp_insn *in);

/** Binds what v_cvt_scalef32_* converts, or its refusal; rp_valu_bind() calls it. */
void rp_cvt_scale_bind(struct rp_insn *in);

/** Returns the rounding (a field of MODE) of results of a float type. */
unsigned rp_mode_round(uint32_t mode, unsigned type);

/**
 * Returns a source as the instruction sees it: denormals are flushed where MODE says so.
 * @param rows  where the changed rows go; may be those of @p src
 */
const uint32_t *rp_mode_source(uint32_t mode, const struct rp_insn *in, unsigned type,
                               const uint32_t *src, struct rp_rows *rows);

/** Turns a lane kernel's result @p r into that of args->mode. @p args still has the sources. */
void rp_mode_result(const struct rp_insn *in, const struct rp_lane_args *args, struct rp_rows *r);

/** Flushes one f32 or f16 operand, or (@p result) result, where MODE says so. */
uint32_t rp_mode_flush_f32(uint32_t mode, bool result, uint32_t v);
uint32_t rp_mode_flush_f16(uint32_t mode, bool result, uint32_t v);

/** FP16_OVFL asks for the largest f16 instead of an infinity that finite operands gave. */
uint32_t rp_mode_f16_overflow(uint32_t mode, uint32_t half, bool finite_operands);

/** Converts f64 to the bits of an f16. NaN loses its payload. */
uint32_t rp_round_f16(double v, unsigned round);

float rp_round_fma_f32(float a, float b, float c, unsigned round);

/* Tests whether the instruction has only neg and abs, on plain 32- and 64-bit floats. */
bool rp_valu_only_signs(const struct rp_insn *in);

bool rp_valu_only_packed_f32(const struct rp_insn *in);

void rp_valu_choose_short_way(struct rp_insn *in);

/** The CPU has x86-64-v4; set before main. */
extern bool rp_has_avx512 __attribute__((visibility("hidden")));

__attribute__((target("avx512f"))) static inline void rp_fill_avx512(uint32_t *row, uint32_t v)
{
    const __m512i x = _mm512_set1_epi32((int)v);
    for (unsigned i = 0; i < RP_LANES; i += 16)
        _mm512_store_si512(row + i, x);
}

/** Sets all lanes of an aligned row to v. */
static inline void rp_row_fill(uint32_t *row, uint32_t v)
{
    if (rp_has_avx512) {
        rp_fill_avx512(row, v);
        return;
    }
    const __m128i x = _mm_set1_epi32((int)v);
    for (unsigned i = 0; i < RP_LANES; i += 4)
        _mm_store_si128((__m128i *)(row + i), x);
}

__attribute__((target("avx512f"))) static inline void
rp_blend_avx512(uint32_t *dst, const uint32_t *src, uint64_t mask)
{
    for (unsigned i = 0; i < RP_LANES; i += 16)
        _mm512_mask_store_epi32(dst + i, (__mmask16)(mask >> i), _mm512_load_si512(src + i));
}

/** Copies src[lane] to dst[lane] where the mask has a bit; both rows are aligned. */
static inline void rp_row_blend(uint32_t *dst, const uint32_t *src, uint64_t mask)
{
    if (rp_has_avx512) {
        rp_blend_avx512(dst, src, mask);
        return;
    }
    const __m128i bit = _mm_set_epi32(8, 4, 2, 1);
    for (unsigned i = 0; i < RP_LANES; i += 4) {
        const __m128i m = _mm_set1_epi32((int)(mask >> i & 15));
        const __m128i keep = _mm_cmpeq_epi32(_mm_and_si128(m, bit), _mm_setzero_si128());
        const __m128i old = _mm_load_si128((const __m128i *)(dst + i));
        const __m128i new = _mm_load_si128((const __m128i *)(src + i));
        _mm_store_si128((__m128i *)(dst + i),
                        _mm_or_si128(_mm_and_si128(keep, old), _mm_andnot_si128(keep, new)));
    }
}

__attribute__((target("avx512f"))) static inline void
rp_mask_avx512(uint32_t *dst, const uint32_t *src, uint32_t keep, uint32_t flip)
{
    const __m512i k = _mm512_set1_epi32((int)keep), x = _mm512_set1_epi32((int)flip);
    for (unsigned i = 0; i < RP_LANES; i += 16)
        _mm512_store_si512(dst + i,
                           _mm512_xor_si512(_mm512_and_si512(_mm512_load_si512(src + i), k), x));
}

/**
 * Computes dst[lane] = (src[lane] & keep) ^ flip, which is abs and neg. The rows are aligned, and
 * the same or disjoint.
 */
static inline void rp_row_mask(uint32_t *dst, const uint32_t *src, uint32_t keep, uint32_t flip)
{
    if (rp_has_avx512) {
        rp_mask_avx512(dst, src, keep, flip);
        return;
    }
    const __m128i k = _mm_set1_epi32((int)keep), x = _mm_set1_epi32((int)flip);
    for (unsigned i = 0; i < RP_LANES; i += 4) {
        const __m128i v = _mm_load_si128((const __m128i *)(src + i));
        _mm_store_si128((__m128i *)(dst + i), _mm_xor_si128(_mm_and_si128(v, k), x));
    }
}

/**
 * Returns the rows of a source without modifiers; @p rows is used when it is not in vector
 * registers.
 */
static inline const uint32_t *rp_fetch(const struct rp_wave *w, const struct rp_opnd *o,
                                       struct rp_rows *rows)
{
    if (__builtin_expect(o->kind == RP_OPND_VGPR, 1))
        return w->vgpr[o->index];
    if (o->kind == RP_OPND_AGPR)
        return w->agpr[o->index];
    return rp_fetch_scalar(w, o, rows);
}

/** Tests whether every vector register that the instruction names exists. */
static inline bool rp_registers_exist(const struct rp_wave *w, const struct rp_insn *in)
{
    return in->vgpr_top <= w->vgpr_count && in->agpr_top <= w->agpr_count;
}

#endif
