/**
 * @file lane_memory.c
 * @brief This file implements the lane loops of memory instructions (lane.h).
 */
#include "device/isa/lane.h"
#include "device/isa/lane_level.h"

extern const struct rp_mem_lanes RP_LANE_SYM(mem_lanes);

static bool affine(const uint32_t *row, int64_t *ret_stride)
{
    uint32_t step = row[1] - row[0];
    int64_t last = (int64_t)row[0] + 63 * (int64_t)(int32_t)step;
    *ret_stride = (int32_t)step;
    /* Most rows that are not affine are rejected here. */
    if (last < 0 || last > UINT32_MAX || row[63] != last)
        return false;
#if RP_LANE_LEVEL == 2
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i step16 = _mm512_set1_epi32((int)(16 * step));
    __m512i expect = _mm512_add_epi32(_mm512_set1_epi32((int)row[0]),
                                      _mm512_mullo_epi32(count, _mm512_set1_epi32((int)step)));
    __m512i differs = _mm512_setzero_si512();
    for (unsigned lane = 0; lane < RP_LANES; lane += 16) {
        __m512i value = _mm512_loadu_si512(row + lane);
        differs = _mm512_or_si512(differs, _mm512_xor_si512(value, expect));
        expect = _mm512_add_epi32(expect, step16);
    }
    return !_mm512_test_epi32_mask(differs, differs);
#else
    uint32_t expect = row[0], differs = 0;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        differs |= row[lane] ^ expect;
        expect += step;
    }
    return !differs;
#endif
}

static bool uniform(const uint32_t *row)
{
    uint32_t differs = 0;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        differs |= row[lane] ^ row[0];
    return !differs;
}

#define RP_SAME_STEPS(name, type)                                                                  \
    static bool name(const type *row, const type *distance)                                        \
    {                                                                                              \
        const type first = row[0];                                                                 \
        type differs = 0;                                                                          \
        RP_LANE_LOOP                                                                               \
        differs |= (row[lane] - first) ^ distance[lane];                                           \
        return !differs;                                                                           \
    }
RP_SAME_STEPS(same_steps, uint32_t)
RP_SAME_STEPS(same_steps64, uint64_t)

/* This is a loop because the library's function takes longer to begin than a few rows take. */
static void start_rows(uint32_t (*rows)[RP_LANES], unsigned count, uint32_t first)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        rows[0][lane] = first + lane;
    for (unsigned i = 1; i < count; i++) {
#if RP_LANE_LEVEL == 2
        for (unsigned lane = 0; lane < RP_LANES; lane += 16)
            _mm512_store_si512(&rows[i][lane], _mm512_setzero_si512());
#else
        for (unsigned lane = 0; lane < RP_LANES; lane += 4)
            _mm_store_si128((__m128i *)(void *)&rows[i][lane], _mm_setzero_si128());
#endif
    }
}

static void copy_dwords(uint32_t *to, const uint32_t *from, unsigned count)
{
#if RP_LANE_LEVEL == 2
    for (unsigned i = 0; i < count; i += 16)
        _mm512_storeu_si512(to + i, _mm512_loadu_si512(from + i));
#else
    memcpy(to, from, count * sizeof *to);
#endif
}

/* Elements lie side by side. A stream of waves is too fast for the processor's own prefetching, so
 * this prefetches the lines that a wave of one of the next workgroups will need. Addresses that do
 * not exist do no harm.
 */
enum { LINE_BYTES = 64, AHEAD_WAVES = 8 };

static inline void prefetch(const uint8_t *at, unsigned dwords)
{
    const uint8_t *ahead = (const uint8_t *)((uintptr_t)at + AHEAD_WAVES * RP_LANES * 4 * dwords);
    for (unsigned i = 0; i < RP_LANES * 4 * dwords; i += LINE_BYTES)
        __builtin_prefetch((const void *)((uintptr_t)ahead + i), 0, 2);
}

static void load_rows_1(uint32_t (*d)[RP_LANES], const uint8_t *at)
{
    prefetch(at, 1);
    for (unsigned lane = 0; lane < RP_LANES; lane += 4)
        _mm_store_si128((__m128i *)(void *)&d[0][lane],
                        _mm_loadu_si128((const __m128i *)(const void *)(at + 4 * lane)));
}

static void store_rows_1(const uint32_t (*d)[RP_LANES], uint8_t *at)
{
    for (unsigned lane = 0; lane < RP_LANES; lane += 4)
        _mm_storeu_si128((__m128i *)(void *)(at + 4 * lane),
                         _mm_load_si128((const __m128i *)(const void *)&d[0][lane]));
}

/* Four lanes at a time are transposed by unpacking. */

static inline __m128i piece(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline __m128i row4(const uint32_t *row)
{
    return _mm_load_si128((const __m128i *)(const void *)row);
}

static void load_rows_2(uint32_t (*d)[RP_LANES], const uint8_t *at)
{
    prefetch(at, 2);
    for (unsigned lane = 0; lane < RP_LANES; lane += 4) {
        __m128 a = _mm_castsi128_ps(piece(at + 8 * lane));
        __m128 b = _mm_castsi128_ps(piece(at + 8 * lane + 16));
        _mm_store_si128((__m128i *)(void *)&d[0][lane],
                        _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88)));
        _mm_store_si128((__m128i *)(void *)&d[1][lane],
                        _mm_castps_si128(_mm_shuffle_ps(a, b, 0xdd)));
    }
}

static void store_rows_2(const uint32_t (*d)[RP_LANES], uint8_t *at)
{
    for (unsigned lane = 0; lane < RP_LANES; lane += 4) {
        __m128i low = row4(&d[0][lane]), high = row4(&d[1][lane]);
        _mm_storeu_si128((__m128i *)(void *)(at + 8 * lane), _mm_unpacklo_epi32(low, high));
        _mm_storeu_si128((__m128i *)(void *)(at + 8 * lane + 16), _mm_unpackhi_epi32(low, high));
    }
}

static inline void turn(__m128i v[4])
{
    __m128i ab = _mm_unpacklo_epi32(v[0], v[1]), cd = _mm_unpacklo_epi32(v[2], v[3]);
    __m128i ef = _mm_unpackhi_epi32(v[0], v[1]), gh = _mm_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm_unpacklo_epi64(ab, cd);
    v[1] = _mm_unpackhi_epi64(ab, cd);
    v[2] = _mm_unpacklo_epi64(ef, gh);
    v[3] = _mm_unpackhi_epi64(ef, gh);
}

static void load_rows_4(uint32_t (*d)[RP_LANES], const uint8_t *at)
{
    prefetch(at, 4);
    for (unsigned lane = 0; lane < RP_LANES; lane += 4) {
        __m128i v[4];
        for (unsigned i = 0; i < 4; i++)
            v[i] = piece(at + 16 * (lane + i));
        turn(v);
        for (unsigned i = 0; i < 4; i++)
            _mm_store_si128((__m128i *)(void *)&d[i][lane], v[i]);
    }
}

static void store_rows_4(const uint32_t (*d)[RP_LANES], uint8_t *at)
{
    for (unsigned lane = 0; lane < RP_LANES; lane += 4) {
        __m128i v[4];
        for (unsigned i = 0; i < 4; i++)
            v[i] = row4(&d[i][lane]);
        turn(v);
        for (unsigned i = 0; i < 4; i++)
            _mm_storeu_si128((__m128i *)(void *)(at + 16 * (lane + i)), v[i]);
    }
}

#if RP_LANE_LEVEL == 2

static void bounds(const uint32_t *row, uint64_t exec, uint32_t *ret_low, uint32_t *ret_high)
{
    __m512i low = _mm512_set1_epi32((int)row[__builtin_ctzll(exec)]), high = low;
    for (unsigned lane = 0; lane < RP_LANES; lane += 16) {
        __mmask16 active = (__mmask16)(exec >> lane);
        __m512i value = _mm512_loadu_si512(row + lane);
        low = _mm512_mask_min_epu32(low, active, low, value);
        high = _mm512_mask_max_epu32(high, active, high, value);
    }
    *ret_low = _mm512_reduce_min_epu32(low);
    *ret_high = _mm512_reduce_max_epu32(high);
}

/* The row fills four registers: pick from the halves by bits 0 to 4, then one half by bit 5. */
static void permute(uint32_t *out, const uint32_t *value, const uint32_t *address, uint32_t offset)
{
    __m512i v[4];
    for (unsigned i = 0; i < 4; i++)
        v[i] = _mm512_loadu_si512(value + 16 * i);
    for (unsigned lane = 0; lane < RP_LANES; lane += 16) {
        __m512i from =
            _mm512_add_epi32(_mm512_loadu_si512(address + lane), _mm512_set1_epi32((int)offset));
        from = _mm512_srli_epi32(from, 2);
        __m512i low = _mm512_permutex2var_epi32(v[0], from, v[1]);
        __m512i high = _mm512_permutex2var_epi32(v[2], from, v[3]);
        __mmask16 upper = _mm512_test_epi32_mask(from, _mm512_set1_epi32(32));
        _mm512_storeu_si512(out + lane, _mm512_mask_mov_epi32(low, upper, high));
    }
}

/* Masked gathers and scatters handle sixteen lanes at a time. A pair of dwords is one 64-bit
 * access, so that what another thread writes in one piece is read in one piece.
 */

static inline void load16(uint32_t *d, const uint8_t *base, __m512i at, __mmask16 active,
                          __mmask16 inside)
{
    __m512i value = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), inside, at, base, 1);
    _mm512_mask_storeu_epi32(d, active, value);
}

static inline void load_pair8(uint32_t *low, uint32_t *high, const uint8_t *base, __m256i at,
                              __mmask8 active, __mmask8 inside)
{
    __m512i value = _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), inside, at, base, 1);
    _mm256_mask_storeu_epi32(low, active, _mm512_cvtepi64_epi32(value));
    _mm256_mask_storeu_epi32(high, active, _mm512_cvtepi64_epi32(_mm512_srli_epi64(value, 32)));
}

/* This says how the lanes of each sixteen lie. Matrix tiles in LDS are read like this: one value
 * for all of a row of lanes, or a row.
 */
enum lie { LIE_ANYHOW, LIE_ONE, LIE_ROW };

/* Finds how the lanes lie if all are active and inside. The scalar test comes first because it
 * settles most rows.
 */
static inline enum lie lie_of(const struct rp_spread *s, unsigned bytes)
{
    const uint32_t *const index = s->index;
    const uint32_t step = index[1] - index[0];
    if ((step != 0 && step != bytes) || index[15] - index[0] != 15 * step)
        return LIE_ANYHOW;
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i steps = _mm512_mullo_epi32(count, _mm512_set1_epi32((int)step));
    const __m512i zero = _mm512_set1_epi32((int)s->zero);
    __m512i differs = _mm512_setzero_si512(), most = differs;
    for (unsigned lane = 0; lane < RP_LANES; lane += 16) {
        const __m512i value = _mm512_loadu_si512(index + lane);
        const __m512i expect = _mm512_add_epi32(_mm512_set1_epi32((int)index[lane]), steps);
        differs = _mm512_or_si512(differs, _mm512_xor_si512(value, expect));
        most = _mm512_max_epu32(most, _mm512_sub_epi32(value, zero));
    }
    if (_mm512_test_epi32_mask(differs, differs) |
        _mm512_cmpgt_epu32_mask(most, _mm512_set1_epi32((int)s->last)))
        return LIE_ANYHOW;
    return step ? LIE_ROW : LIE_ONE;
}

/* Loads all of 16 lanes from one place. */
static inline void load_one(uint32_t (*d)[RP_LANES], unsigned lane, const uint8_t *p,
                            unsigned dwords)
{
    uint32_t value[4];
    unsigned i = 0;
    for (; i + 1 < dwords; i += 2)
        memcpy(value + i, p + 4 * i, 8);
    if (i < dwords)
        memcpy(value + i, p + 4 * i, 4);
    for (i = 0; i < dwords; i++)
        _mm512_storeu_si512(d[i] + lane, _mm512_set1_epi32((int)value[i]));
}

/* Loads 16 lanes side by side, with one, two or four dwords each. */
static inline void load_row(uint32_t (*d)[RP_LANES], unsigned lane, const uint8_t *p,
                            unsigned dwords)
{
    if (dwords == 1) {
        _mm512_storeu_si512(d[0] + lane, _mm512_loadu_si512(p));
    } else if (dwords == 2) {
        const __m512i even =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        const __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64);
        _mm512_storeu_si512(d[0] + lane, _mm512_permutex2var_epi32(a, even, b));
        _mm512_storeu_si512(d[1] + lane, _mm512_permutex2var_epi32(a, odd, b));
    } else {
        for (unsigned four = 0; four < 16; four += 4) {
            __m128i v[4];
            for (unsigned i = 0; i < 4; i++)
                v[i] = piece(p + 16 * (four + i));
            turn(v);
            for (unsigned i = 0; i < 4; i++)
                _mm_storeu_si128((__m128i *)(void *)&d[i][lane + four], v[i]);
        }
    }
}

/* Tests whether none of the lanes is beyond the last place. */
static inline bool all_inside(const struct rp_spread *s)
{
    const __m512i zero = _mm512_set1_epi32((int)s->zero);
    __m512i most = _mm512_setzero_si512();
    for (unsigned lane = 0; lane < RP_LANES; lane += 16)
        most = _mm512_max_epu32(most, _mm512_sub_epi32(_mm512_loadu_si512(s->index + lane), zero));
    return !_mm512_cmpgt_epu32_mask(most, _mm512_set1_epi32((int)s->last));
}

/* Four elements of four dwords lie in each register; the same is done in all its quarters as in
 * turn().
 */
static inline void turn_all(__m512i v[4])
{
    const __m512i ab = _mm512_unpacklo_epi32(v[0], v[1]), cd = _mm512_unpacklo_epi32(v[2], v[3]);
    const __m512i ef = _mm512_unpackhi_epi32(v[0], v[1]), gh = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm512_unpacklo_epi64(ab, cd);
    v[1] = _mm512_unpackhi_epi64(ab, cd);
    v[2] = _mm512_unpacklo_epi64(ef, gh);
    v[3] = _mm512_unpackhi_epi64(ef, gh);
}

/* Loads 16 lanes with four dwords each, wherever they are: one access per lane in place of two
 * that a gather needs. */
static inline void load_fours(uint32_t (*d)[RP_LANES], const struct rp_spread *s, unsigned lane)
{
    const uint32_t *const index = s->index + lane;
    __m512i v[4];
#define RP_FOUR_AT(i) piece(s->base + (uint32_t)(index[i] - s->zero))
    for (unsigned i = 0; i < 4; i++) {
        v[i] = _mm512_castsi128_si512(RP_FOUR_AT(i));
        v[i] = _mm512_inserti32x4(v[i], RP_FOUR_AT(4 + i), 1);
        v[i] = _mm512_inserti32x4(v[i], RP_FOUR_AT(8 + i), 2);
        v[i] = _mm512_inserti32x4(v[i], RP_FOUR_AT(12 + i), 3);
    }
#undef RP_FOUR_AT
    turn_all(v);
    for (unsigned i = 0; i < 4; i++)
        _mm512_storeu_si512(d[i] + lane, v[i]);
}

/* Stores 16 lanes with four dwords each, one lane after another. */
static inline void store_fours(const uint32_t (*d)[RP_LANES], const struct rp_spread *s,
                               unsigned lane)
{
    const uint32_t *const index = s->index + lane;
    __m512i v[4];
    for (unsigned i = 0; i < 4; i++)
        v[i] = _mm512_loadu_si512(d[i] + lane);
    turn_all(v);
#define RP_PUT_FOUR(four, i)                                                                       \
    _mm_storeu_si128((__m128i *)(void *)(s->base + (uint32_t)(index[4 * (four) + (i)] - s->zero)), \
                     _mm512_extracti32x4_epi32(v[i], four))
#define RP_PUT_FOURS(four)                                                                         \
    do {                                                                                           \
        for (unsigned i = 0; i < 4; i++)                                                           \
            RP_PUT_FOUR(four, i);                                                                  \
    } while (0)
    RP_PUT_FOURS(0);
    RP_PUT_FOURS(1);
    RP_PUT_FOURS(2);
    RP_PUT_FOURS(3);
#undef RP_PUT_FOUR
#undef RP_PUT_FOURS
}

static inline void load(uint32_t (*d)[RP_LANES], const struct rp_spread *s, uint64_t exec,
                        unsigned dwords)
{
    const __m512i zero = _mm512_set1_epi32((int)s->zero), last = _mm512_set1_epi32((int)s->last);
    const enum lie lie = exec == ~0ull ? lie_of(s, 4 * dwords) : LIE_ANYHOW;
    if (lie == LIE_ONE || (lie == LIE_ROW && dwords != 3)) {
        /* They are read before a row of d is written, which may be the index row. */
        uint32_t at[4];
        for (unsigned i = 0; i < 4; i++)
            at[i] = s->index[16 * i] - s->zero;
        for (unsigned i = 0; i < 4; i++) {
            if (lie == LIE_ONE)
                load_one(d, 16 * i, s->base + at[i], dwords);
            else
                load_row(d, 16 * i, s->base + at[i], dwords);
        }
        return;
    }
    if (dwords == 4 && exec == ~0ull && all_inside(s)) {
        for (unsigned lane = 0; lane < RP_LANES; lane += 16)
            load_fours(d, s, lane);
        return;
    }
    for (unsigned lane = 0; lane < RP_LANES; lane += 16) {
        __mmask16 active = (__mmask16)(exec >> lane);
        __m512i at = _mm512_sub_epi32(_mm512_loadu_si512(s->index + lane), zero);
        __mmask16 inside = _mm512_mask_cmple_epu32_mask(active, at, last);
        for (unsigned i = 0; i + 1 < dwords; i += 2) {
            load_pair8(d[i] + lane, d[i + 1] + lane, s->base + 4 * i, _mm512_castsi512_si256(at),
                       (__mmask8)active, (__mmask8)inside);
            load_pair8(d[i] + lane + 8, d[i + 1] + lane + 8, s->base + 4 * i,
                       _mm512_extracti64x4_epi64(at, 1), (__mmask8)(active >> 8),
                       (__mmask8)(inside >> 8));
        }
        if (dwords % 2)
            load16(d[dwords - 1] + lane, s->base + 4 * (dwords - 1), at, active, inside);
    }
}

static inline void store_pair8(const uint32_t *low, const uint32_t *high, uint8_t *base, __m256i at,
                               __mmask8 inside)
{
    __m512i lo = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)low));
    __m512i hi = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)high));
    _mm512_mask_i32scatter_epi64(base, inside, at, _mm512_or_si512(lo, _mm512_slli_epi64(hi, 32)),
                                 1);
}

static inline void store(const uint32_t (*d)[RP_LANES], const struct rp_spread *s, uint64_t exec,
                         unsigned dwords)
{
    const __m512i zero = _mm512_set1_epi32((int)s->zero), last = _mm512_set1_epi32((int)s->last);
    if (dwords == 1 && exec == ~0ull && lie_of(s, 4) == LIE_ROW) {
        for (unsigned lane = 0; lane < RP_LANES; lane += 16)
            _mm512_storeu_si512(s->base + (uint32_t)(s->index[lane] - s->zero),
                                _mm512_loadu_si512(d[0] + lane));
        return;
    }
    if (dwords == 4 && exec == ~0ull && all_inside(s)) {
        for (unsigned lane = 0; lane < RP_LANES; lane += 16)
            store_fours(d, s, lane);
        return;
    }
    for (unsigned lane = 0; lane < RP_LANES; lane += 16) {
        __m512i at = _mm512_sub_epi32(_mm512_loadu_si512(s->index + lane), zero);
        __mmask16 inside = _mm512_mask_cmple_epu32_mask((__mmask16)(exec >> lane), at, last);
        for (unsigned i = 0; i + 1 < dwords; i += 2) {
            store_pair8(d[i] + lane, d[i + 1] + lane, s->base + 4 * i, _mm512_castsi512_si256(at),
                        (__mmask8)inside);
            store_pair8(d[i] + lane + 8, d[i + 1] + lane + 8, s->base + 4 * i,
                        _mm512_extracti64x4_epi64(at, 1), (__mmask8)(inside >> 8));
        }
        if (dwords % 2)
            _mm512_mask_i32scatter_epi32(s->base + 4 * (dwords - 1), inside, at,
                                         _mm512_loadu_si512(d[dwords - 1] + lane), 1);
    }
}

#else

static void bounds(const uint32_t *row, uint64_t exec, uint32_t *ret_low, uint32_t *ret_high)
{
    uint32_t low = row[__builtin_ctzll(exec)], high = low;
    if (exec == ~0ull) {
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            low = row[lane] < low ? row[lane] : low;
            high = row[lane] > high ? row[lane] : high;
        }
    } else {
        for (uint64_t left = exec; left; left &= left - 1) {
            uint32_t value = row[__builtin_ctzll(left)];
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    }
    *ret_low = low;
    *ret_high = high;
}

static void permute(uint32_t *out, const uint32_t *value, const uint32_t *address, uint32_t offset)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        out[lane] = value[(address[lane] + offset) / 4 % RP_LANES];
}

static inline void load_lane(uint32_t (*d)[RP_LANES], const struct rp_spread *s, unsigned lane,
                             unsigned dwords)
{
    static const uint8_t nothing[16];
    uint32_t at = s->index[lane] - s->zero;
    const uint8_t *p = at <= s->last ? s->base + at : nothing;
    unsigned i = 0;
    for (; i + 1 < dwords; i += 2) {
        uint64_t pair;
        memcpy(&pair, p + 4 * i, sizeof pair);
        d[i][lane] = (uint32_t)pair;
        d[i + 1][lane] = (uint32_t)(pair >> 32);
    }
    if (i < dwords)
        memcpy(&d[i][lane], p + 4 * i, 4);
}

static inline void load(uint32_t (*d)[RP_LANES], const struct rp_spread *s, uint64_t exec,
                        unsigned dwords)
{
    if (exec == ~0ull) {
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            load_lane(d, s, lane, dwords);
        return;
    }
    for (uint64_t left = exec; left; left &= left - 1)
        load_lane(d, s, (unsigned)__builtin_ctzll(left), dwords);
}

static inline void store(const uint32_t (*d)[RP_LANES], const struct rp_spread *s, uint64_t exec,
                         unsigned dwords)
{
    for (uint64_t left = exec; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctzll(left), i = 0;
        uint32_t at = s->index[lane] - s->zero;
        if (at > s->last)
            continue;
        for (; i + 1 < dwords; i += 2) {
            uint64_t pair = d[i][lane] | (uint64_t)d[i + 1][lane] << 32;
            memcpy(s->base + at + 4 * i, &pair, sizeof pair);
        }
        if (i < dwords)
            memcpy(s->base + at + 4 * i, &d[i][lane], 4);
    }
}

#endif

#define WIDTH(dwords)                                                                              \
    static void load_##dwords(uint32_t(*d)[RP_LANES], const struct rp_spread *s, uint64_t exec)    \
    {                                                                                              \
        load(d, s, exec, dwords);                                                                  \
    }                                                                                              \
    static void store_##dwords(const uint32_t(*d)[RP_LANES], const struct rp_spread *s,            \
                               uint64_t exec)                                                      \
    {                                                                                              \
        store(d, s, exec, dwords);                                                                 \
    }
WIDTH(1)
WIDTH(2)
WIDTH(3)
WIDTH(4)

const struct rp_mem_lanes RP_LANE_SYM(mem_lanes) = {
    .affine = affine,
    .uniform = uniform,
    .same_steps = same_steps,
    .same_steps64 = same_steps64,
    .bounds = bounds,
    .permute = permute,
    .start_rows = start_rows,
    .copy_dwords = copy_dwords,
    .load_rows = {NULL, load_rows_1, load_rows_2, NULL, load_rows_4},
    .store_rows = {NULL, store_rows_1, store_rows_2, NULL, store_rows_4},
    .load = {NULL, load_1, load_2, load_3, load_4},
    .store = {NULL, store_1, store_2, store_3, store_4},
};
