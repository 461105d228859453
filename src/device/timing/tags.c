#include "tags.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>

enum { AT_ONCE = 4, HOST_LINE_BYTES = 64 };

/* A set's row of keys is followed by one of uses: the number of the latest use, and below it the
 * way itself, so that the least of all says which way it is. Ways that never were used have 0. */
static const int32_t NO_WAY = INT32_MAX;

static uint32_t *keys_of(const struct rp_tags *t, size_t set)
{
    return t->set + set * 2 * t->row;
}

static int32_t *uses_of(const struct rp_tags *t, size_t set)
{
    return (int32_t *)keys_of(t, set) + t->row;
}

int rp_tags_init(struct rp_tags *t, uint64_t lines, uint32_t ways)
{
    const uint64_t sets = ways && lines / ways ? lines / ways : 1;
    *t = (struct rp_tags){.ways = ways ? ways : 1};
    t->sets = 1u << (63 - __builtin_clzll(sets));
    t->row = (t->ways + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
    while (1u << t->way_bits < t->ways)
        t->way_bits++;
    t->tag = calloc((size_t)t->sets * t->ways, sizeof *t->tag);
    t->memory = calloc((size_t)t->sets * 2 * t->row * sizeof *t->set + HOST_LINE_BYTES, 1);
    if (!t->tag || !t->memory) {
        rp_tags_release(t);
        return -ENOMEM;
    }
    t->set = (uint32_t *)(((uintptr_t)t->memory + HOST_LINE_BYTES - 1) / HOST_LINE_BYTES *
                          HOST_LINE_BYTES);
    for (uint32_t set = 0; set < t->sets; set++)
        for (uint32_t way = 0; way < t->row; way++)
            uses_of(t, set)[way] = way < t->ways ? (int32_t)way : NO_WAY;
    return 0;
}

void rp_tags_release(struct rp_tags *t)
{
    free(t->tag);
    free(t->memory);
    t->tag = NULL;
    t->memory = NULL;
}

/* Pages of 4 KiB begin in any set, so that neither strides nor every eighth page, which is what a
 * die gets of a grid, meet in a part of the sets. */
static size_t set_of(const struct rp_tags *t, uint64_t line)
{
    uint64_t page = line / 32 * 0x9e3779b97f4a7c15u;
    page ^= page >> 29;
    return (line ^ page) & (t->sets - 1);
}

/* Never 0, which is that of an empty way; other lines may have the same. */
static uint32_t key_of(uint64_t line)
{
    return (uint32_t)line << 1 | 1;
}

/* The way of the set that has the line; t->ways: none. */
static inline uint32_t way_of(const struct rp_tags *t, size_t set, uint64_t line)
{
    const uint32_t *key = keys_of(t, set);
    const struct rp_tag *tag = t->tag + set * t->ways;
    const __m128i wanted = _mm_set1_epi32((int)key_of(line));
    for (uint32_t i = 0; i < t->row; i += AT_ONCE) {
        const __m128i there = _mm_load_si128((const __m128i *)(const void *)(key + i));
        int same = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(there, wanted)));
        for (; same; same &= same - 1) {
            const uint32_t way = i + (uint32_t)__builtin_ctz((unsigned)same);
            if (tag[way].line == line + 1)
                return way;
        }
    }
    return t->ways;
}

/* ---- uses ---- */

/* In each set the numbers of uses become ranks. */
static void renumber(struct rp_tags *t)
{
    for (uint32_t set = 0; set < t->sets; set++) {
        int32_t *used = uses_of(t, set),
                last = (int32_t)t->ways - 1; /* ways not used: as they are */
        for (uint32_t rank = 1; rank <= t->ways; rank++) {
            int32_t next = NO_WAY;
            for (uint32_t way = 0; way < t->ways; way++)
                if (used[way] > last && used[way] < next)
                    next = used[way];
            if (next == NO_WAY)
                break;
            const uint32_t way = (uint32_t)next & ((1u << t->way_bits) - 1);
            used[way] = (int32_t)(rank << t->way_bits | way);
            last = next;
        }
    }
    t->uses = t->ways;
}

static void note_use(struct rp_tags *t, size_t set, uint32_t way)
{
    if (++t->uses >= (uint32_t)NO_WAY >> t->way_bits) {
        renumber(t);
        t->uses++;
    }
    uses_of(t, set)[way] = (int32_t)(t->uses << t->way_bits | way);
}

static inline __m128i lesser(__m128i a, __m128i b)
{
    const __m128i more = _mm_cmpgt_epi32(a, b);
    return _mm_or_si128(_mm_and_si128(more, b), _mm_andnot_si128(more, a));
}

/* An empty way, or the one that was used longest ago. */
static uint32_t way_to_give(const struct rp_tags *t, size_t set)
{
    const int32_t *used = uses_of(t, set);
    __m128i least = _mm_load_si128((const __m128i *)(const void *)used);
    for (uint32_t i = AT_ONCE; i < t->row; i += AT_ONCE)
        least = lesser(least, _mm_load_si128((const __m128i *)(const void *)(used + i)));
    least = lesser(least, _mm_shuffle_epi32(least, _MM_SHUFFLE(1, 0, 3, 2)));
    least = lesser(least, _mm_shuffle_epi32(least, _MM_SHUFFLE(2, 3, 0, 1)));
    return (uint32_t)_mm_cvtsi128_si32(least) & ((1u << t->way_bits) - 1);
}

/* ---- lines ---- */

struct rp_tag *rp_tags_find(struct rp_tags *t, uint64_t line)
{
    const size_t set = set_of(t, line);
    const uint32_t way = way_of(t, set, line);
    if (way == t->ways)
        return NULL;
    note_use(t, set, way);
    return &t->tag[set * t->ways + way];
}

bool rp_tags_has(const struct rp_tags *t, uint64_t line)
{
    return way_of(t, set_of(t, line), line) != t->ways;
}

struct rp_tag *rp_tags_replace(struct rp_tags *t, uint64_t line, uint64_t ready,
                               struct rp_tag *ret_old)
{
    const size_t set = set_of(t, line);
    const uint32_t way = way_to_give(t, set);
    struct rp_tag *tag = &t->tag[set * t->ways + way];
    if (ret_old)
        *ret_old = *tag;
    *tag = (struct rp_tag){.line = line + 1, .ready = ready};
    keys_of(t, set)[way] = key_of(line);
    note_use(t, set, way);
    return tag;
}

void rp_tags_drop(struct rp_tags *t, struct rp_tag *tag)
{
    const size_t at = (size_t)(tag - t->tag), set = at / t->ways;
    const uint32_t way = (uint32_t)(at % t->ways);
    keys_of(t, set)[way] = 0;
    uses_of(t, set)[way] = (int32_t)way;
    tag->line = 0;
}
