/* Tags of a set-associative cache whose lines arrive some time after they were asked for. */
#include <emmintrin.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "device/timing/timing_engine.h"

static inline struct rp_tag *tags_insert(struct rp_tags *t, uint64_t line, uint64_t ready)
{
    return rp_tags_replace(t, line, ready, NULL);
}

enum { AT_ONCE = 4, HOST_LINE_BYTES = 64 };

/* A set's row of keys is followed by one of uses. A use is the number of the latest use with the
 * way below it, so that the smallest use also tells the way. Ways that were never used have 0.
 */
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

/* As many lines as there are sets lie in different ones. Which of them comes first is hashed, so
 * that neither strides nor every eighth page, which is what a die gets of a grid, meet in a part of
 * the sets. */
static size_t set_of(const struct rp_tags *t, uint64_t line)
{
    uint64_t block = (line >> __builtin_ctz(t->sets)) * 0x9e3779b97f4a7c15u;
    block ^= block >> 29;
    return (line ^ block) & (t->sets - 1);
}

/* Returns the key of a line. It is never 0, which means an empty way; several lines may have the
 * same key.
 */
static uint32_t key_of(uint64_t line)
{
    return (uint32_t)line << 1 | 1;
}

/* Returns the way of the set that has the line, or t->ways if there is none. */
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

/* Replaces the numbers of uses by ranks in each set. */
static void renumber(struct rp_tags *t)
{
    for (uint32_t set = 0; set < t->sets; set++) {
        int32_t *used = uses_of(t, set),
                last = (int32_t)t->ways - 1; /* Ways that are not used stay as they are. */
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

/* Returns an empty way, or the one that was used longest ago. */
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

/** The line of the tag is not in any more. */
static void tags_drop(struct rp_tags *t, struct rp_tag *tag)
{
    const size_t at = (size_t)(tag - t->tag), set = at / t->ways;
    const uint32_t way = (uint32_t)(at % t->ways);
    keys_of(t, set)[way] = 0;
    uses_of(t, set)[way] = (int32_t)way;
    tag->line = 0;
}

enum {
    SCALE = RP_SERVER_SCALE,
    HALF_BYTES = 64,
    SHARED_TOGETHER = 8 /**< lines */,
    MOST_AT_FIRST = 1 << 20,
    PAGE_LINES = 32,
    /* Assumed: in which compute units that run alike read the same line. What has just come from
     * below is not read faster, because there they do not keep in step (gpu-cache of 11 MiB). */
    MOMENT_CLOCKS = 512,
    STAYS_CLOCKS = 4096,
    LATEST = 2048 /**< clocks that a request comes after another that is reserved ahead of it */
};

/* rp_tag.dirty of the L2 has the halves that have been written, from bit VALID on the sectors
 * that are valid (all once the line has been fetched, before that those that have been written),
 * and from bit APART on which part of WHOLE of a line's readers are not there when it comes.
 */
enum { HALVES = 3, SECTORS = 15, VALID = 4, APART = 8, WHOLE = 256 };

/* ---- set-up -------------------------------------------------------------------------------- */

static uint32_t service(double bytes, double bytes_per_clock)
{
    return bytes_per_clock > 0 ? (uint32_t)(SCALE * bytes / bytes_per_clock + 0.5) : 0;
}

static void set_rates(struct rp_hierarchy *h)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t mhz = h->m.arch->engine_clock_mhz;
    const uint32_t highest = t->highest_clock_mhz ? t->highest_clock_mhz : mhz;
    const double peak = h->m.arch->hbm_peak_gbps * 1e3 / highest;
    const double channel = peak / t->memory_channels;
    h->read_64ths[RP_LEVEL_SCALAR_L1] = service(HALF_BYTES, t->scalar_l1_bytes_per_clock);
    h->read_64ths[RP_LEVEL_L2] = service(RP_REC_LINE_BYTES, t->l2_read_bytes_per_clock);
    h->again_64ths = service(RP_REC_LINE_BYTES, t->l2_again_bytes_per_clock);
    h->write_64ths[RP_LEVEL_L2] = service(HALF_BYTES, t->l2_write_bytes_per_clock);
    h->read_64ths[RP_LEVEL_MALL] = service(RP_REC_LINE_BYTES, t->die_bytes_per_clock);
    h->write_64ths[RP_LEVEL_MALL] = service(HALF_BYTES, t->die_bytes_per_clock);
    h->read_64ths[RP_LEVEL_HBM] = service(RP_REC_LINE_BYTES, t->hbm_read_share * channel);
    h->write_64ths[RP_LEVEL_HBM] = service(HALF_BYTES, t->hbm_write_share * channel);
    h->beyond_65536ths = (uint32_t)ceil(65536.0 * mhz / highest);
}

static uint32_t scalar_caches(const struct rp_machine *m)
{
    return m->dies * m->arch->timing->sqcs_per_xcc;
}

static uint32_t scalar_cache(const struct rp_hierarchy *h, uint32_t cu)
{
    return rp_sqc_of(cu, h->m.cus_per_die, h->m.arch->timing->sqcs_per_xcc);
}

int rp_hierarchy_init(struct rp_hierarchy *h, const struct rp_machine *m,
                      struct rp_level_stats stats[RP_LEVELS])
{
    const struct rp_arch *a = m->arch;
    *h = (struct rp_hierarchy){.m = *m, .stats = stats, .mall_size = 1024};
    while (h->mall_size < 2 * m->sharing.lines && h->mall_size < MOST_AT_FIRST)
        h->mall_size *= 2;
    set_rates(h);
    /* Lines that other dies have, too, are in the Infinity Cache once. */
    h->mall_lines = (uint64_t)((double)(a->mall_bytes / a->l2_line_bytes) * m->dies /
                               (m->dies + (m->all_dies - m->dies) * (1 - m->sharing.share)));
    h->l2_channel = calloc((size_t)m->dies * a->l2_channels_per_xcc * 2, sizeof *h->l2_channel);
    h->port = calloc(m->dies, sizeof *h->port);
    h->hbm_channel = calloc(m->memory_channels, sizeof *h->hbm_channel);
    h->mall = calloc(h->mall_size, sizeof *h->mall);
    h->l1 = calloc(m->dies * m->cus_per_die, sizeof *h->l1);
    h->tlb = calloc(m->dies * m->cus_per_die, sizeof *h->tlb);
    h->scalar = calloc(scalar_caches(m), sizeof *h->scalar);
    h->scalar_port = calloc(scalar_caches(m), sizeof *h->scalar_port);
    h->l2 = calloc(m->dies, sizeof *h->l2);
    if (h->l2_channel && h->port && h->hbm_channel && h->mall && h->l1 && h->tlb && h->scalar &&
        h->scalar_port && h->l2)
        return 0;
    rp_hierarchy_release(h);
    return -ENOMEM;
}

static int open_tags(struct rp_tags *t, uint64_t lines, uint32_t ways)
{
    return t->tag ? 0 : rp_tags_init(t, lines, ways);
}

/* Puts the lines that a die's L2 holds at the start into its tags, which are empty. */
static void warm_l2(struct rp_tags *t, const struct rp_rec_warm *warm, uint32_t die)
{
    for (uint64_t i = 0; warm && i < warm->line_count; i++) {
        const struct rp_rec_warm_line *line = &warm->line[i];
        struct rp_tag *tag = line->die == die ? rp_tags_find(t, line->number) : NULL;
        if (!tag && line->die == die)
            tag = tags_insert(t, line->number, 0);
        if (tag)
            tag->dirty |= SECTORS << VALID | (line->dirty ? HALVES : 0);
    }
}

int rp_hierarchy_open(struct rp_hierarchy *h, uint32_t cu)
{
    const struct rp_arch *a = h->m.arch;
    int status = open_tags(&h->l1[cu], a->l1_bytes / RP_REC_LINE_BYTES, a->timing->l1_ways);
    if (!status)
        status = open_tags(&h->tlb[cu].tags, a->timing->tlb_blocks, a->timing->tlb_blocks);
    if (!status)
        status = open_tags(&h->scalar[scalar_cache(h, cu)],
                           a->scalar_l1_bytes / a->scalar_l1_line_bytes, a->timing->scalar_l1_ways);
    const uint32_t die = cu / h->m.cus_per_die;
    struct rp_tags *l2 = &h->l2[die];
    if (status || l2->tag)
        return status;
    status = open_tags(l2, a->l2_bytes / a->l2_line_bytes, a->timing->l2_ways);
    if (!status)
        warm_l2(l2, h->m.warm, die);
    return status;
}

static void release_tags(struct rp_tags *tags, uint32_t count)
{
    for (uint32_t i = 0; tags && i < count; i++)
        rp_tags_release(&tags[i]);
    free(tags);
}

void rp_hierarchy_release(struct rp_hierarchy *h)
{
    if (h->l1)
        release_tags(h->l1, h->m.dies * h->m.cus_per_die);
    for (uint32_t i = 0; h->tlb && i < h->m.dies * h->m.cus_per_die; i++)
        rp_tags_release(&h->tlb[i].tags);
    if (h->scalar)
        release_tags(h->scalar, scalar_caches(&h->m));
    if (h->l2)
        release_tags(h->l2, h->m.dies);
    free(h->tlb);
    free(h->scalar_port);
    free(h->l2_channel);
    free(h->port);
    free(h->hbm_channel);
    free(h->mall);
    *h = (struct rp_hierarchy){0};
}

/* ---- servers ------------------------------------------------------------------------------- */

/* What lies beyond the dies takes as long as at the highest clock. What that is less than a whole
 * 64th is left to the next request. */
static uint32_t beyond_dies(const struct rp_hierarchy *h, struct rp_server *v, uint32_t cost_64ths)
{
    const uint64_t cost = (uint64_t)cost_64ths * h->beyond_65536ths + v->rest;
    v->rest = (uint16_t)cost;
    return (uint32_t)(cost >> 16);
}

/* Occupies a server of a level; returns the clock at which it begins. */
static uint64_t serve(struct rp_hierarchy *h, enum rp_level level, struct rp_server *v,
                      uint64_t clock, uint32_t cost_64ths)
{
    const uint64_t now = clock * SCALE;
    uint64_t begin = v->free;
    if (level == RP_LEVEL_MALL || level == RP_LEVEL_HBM)
        cost_64ths = beyond_dies(h, v, cost_64ths);
    if (h->work_64ths)
        h->work_64ths[level] += cost_64ths;
    h->stats[level].busy_clocks +=
        cost_64ths; /* The value counts 64ths until the end of the simulation. */
    if (now >= v->free) {
        begin = now;
        /* The longer one is remembered, while a request may still come that early. */
        if (now - v->free >= v->gap_end - v->gap_begin || now > v->gap_end + LATEST * SCALE) {
            v->gap_begin = v->free;
            v->gap_end = now;
        }
    } else if (v->gap_end >= now + cost_64ths && v->gap_end >= v->gap_begin + cost_64ths) {
        begin = now > v->gap_begin ? now : v->gap_begin;
        v->gap_begin = begin + cost_64ths;
        return begin / SCALE;
    }
    v->free = begin + cost_64ths;
    return begin / SCALE;
}

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* Channels take 256 bytes in turn within a page of 4 KiB. The first channel of a page is
 * scattered, so that arrays that are used at the same time, and strides, use all channels.
 */
static uint32_t channel_of(uint64_t line, uint32_t channels)
{
    return (uint32_t)((line / 2 ^ mix(line / 32)) % channels);
}

/* ---- memory and the Infinity Cache --------------------------------------------------------- */

/* A page of 4 KiB lies in one channel, so a workgroup that streams asks one for many lines at a
 * time, and others wait for it: that is what published rates of few waves and of many say. As many
 * pages as there are channels lie in different ones. */
static uint32_t memory_channel_of(const struct rp_hierarchy *h, uint64_t line)
{
    const uint64_t page = line / PAGE_LINES, channels = h->m.memory_channels;
    return (uint32_t)((page + mix(page / channels) % channels) % channels);
}

/* A memory that has read and is to write, or the other way round, loses some time. */
static uint64_t serve_memory(struct rp_hierarchy *h, uint32_t channel, uint64_t clock, bool writes)
{
    struct rp_server *v = &h->hbm_channel[channel];
    uint32_t cost = writes ? h->write_64ths[RP_LEVEL_HBM] : h->read_64ths[RP_LEVEL_HBM];
    if (v->wrote != writes)
        cost += (uint32_t)(h->m.arch->timing->hbm_turn_share * cost + 0.5);
    v->wrote = writes;
    return serve(h, RP_LEVEL_HBM, v, clock, cost);
}

/* Lines of a page of 4 KiB lie side by side: neighbours are mostly asked for soon. */
static struct rp_mall_line *mall_slot(struct rp_mall_line *map, uint64_t size, uint64_t line)
{
    uint64_t i = (mix(line / PAGE_LINES) + line % PAGE_LINES) & (size - 1);
    while (map[i].line && map[i].line != line + 1)
        i = (i + 1) & (size - 1);
    return &map[i];
}

/* Doubles the table and drops what has been replaced. @return false: no memory */
static bool mall_grow(struct rp_hierarchy *h)
{
    struct rp_mall_line *larger = calloc(2 * h->mall_size, sizeof *larger);
    if (!larger)
        return false;
    h->mall_count = 0;
    for (uint64_t i = 0; i < h->mall_size; i++)
        if (h->mall[i].line && h->mall_order - h->mall[i].order < h->mall_lines) {
            *mall_slot(larger, 2 * h->mall_size, h->mall[i].line - 1) = h->mall[i];
            h->mall_count++;
        }
    free(h->mall);
    h->mall = larger;
    h->mall_size *= 2;
    return true;
}

/* Returns the place where the line is noted or must be noted. NULL: no memory */
static struct rp_mall_line *mall_find(struct rp_hierarchy *h, uint64_t line)
{
    if (2 * h->mall_count >= h->mall_size && (h->no_memory || !mall_grow(h))) {
        h->no_memory = true;
        return NULL;
    }
    return mall_slot(h->mall, h->mall_size, line);
}

static void mall_note(struct rp_hierarchy *h, struct rp_mall_line *slot, uint64_t line,
                      uint64_t ready)
{
    if (!slot)
        return;
    h->mall_count += !slot->line;
    *slot = (struct rp_mall_line){
        .line = line + 1, .ready = ready, .order = h->mall_order++, .fill = slot->fill};
}

static bool mall_holds(const struct rp_hierarchy *h, const struct rp_mall_line *slot)
{
    return slot && slot->line && h->mall_order - slot->order < h->mall_lines;
}

/* Tests whether a line has been there since before the start. */
static bool mall_held(const struct rp_hierarchy *h, const struct rp_mall_line *slot, uint64_t line)
{
    const struct rp_rec_warm *warm = h->m.warm;
    return warm && slot && !slot->line && h->mall_order < h->mall_lines &&
           line / PAGE_LINES < warm->page_count && warm->page[line / PAGE_LINES];
}

enum fetched { BY_NOBODY, LONG_AGO, JUST_NOW };

/* Decides whether another die, which is not simulated, has fetched a line that this one has not.
 * Each other die touches a share of the lines. Lines that all dies touch at the same time are
 * fetched by one of them, and come to all when they come to that one. Of the rest, the others have
 * touched as large a part as this one.
 */
static enum fetched fetched_elsewhere(struct rp_hierarchy *h, uint64_t line)
{
    const struct rp_sharing *s = &h->m.sharing;
    if (!(s->share > 0) || line >= RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES)
        return BY_NOBODY;
    /* What a wave reads at once is shared as a whole, or not at all. */
    const uint64_t hash = mix(line / SHARED_TOGETHER + 1);
    const bool together = (double)(hash & 0xffffff) < s->together * 0x1p24;
    const double part = h->touched < s->lines ? (double)h->touched / (double)s->lines : 1;
    const double without = 1 - s->share * (together ? 1 : part);
    double by_none = 1;
    h->touched++;
    for (uint32_t die = 1; die < h->m.all_dies; die++)
        by_none *= without;
    /* On average one of the dies that access it, this one or another, reads it from memory. */
    if (together)
        by_none = (1 - by_none * without) / (h->m.all_dies * s->share);
    if ((double)(hash >> 40) < by_none * 0x1p24)
        return BY_NOBODY;
    return together ? JUST_NOW : LONG_AGO;
}

/* Returns half of what the way from the L2 to the Infinity Cache, and from there to memory, adds
 * to a load.
 */
static uint32_t mall_way(const struct rp_arch_timing *t)
{
    return (t->mall_clocks - t->l2_clocks) / 2;
}

static uint32_t hbm_way(const struct rp_arch_timing *t)
{
    return (t->hbm_clocks - t->mall_clocks) / 2;
}

/* Notes that the die's L2 has got a line once more, and returns which part of WHOLE of its readers
 * are not there when it comes. Compute units that run alike keep in step here, so that one of them
 * fetches a line for all; on the device they drift apart. Of the lines that come from one time to
 * the next, the L2 holds a part; the root of that is the part of readers that find the line. This
 * is assumed: it has no constant, and meets what gpu-cache measured from 4 to 22 MiB.
 */
static uint32_t readers_apart(struct rp_hierarchy *h, struct rp_mall_line *slot)
{
    const uint64_t held = h->m.arch->l2_bytes / h->m.arch->l2_line_bytes * h->m.dies;
    const uint64_t fill = ++h->fills, between = slot && slot->fill ? fill - slot->fill : 0;
    if (slot)
        slot->fill = fill;
    return between > held ? (uint32_t)(WHOLE * (1 - sqrt((double)held / (double)between))) : 0;
}

/* A line the L2 of a die does not have, asked for at @p clock; returns when it is at the L2. */
static uint64_t below_l2(struct rp_hierarchy *h, uint32_t die, uint64_t line, uint64_t clock,
                         uint32_t *ret_apart)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t channel = memory_channel_of(h, line);
    struct rp_level_stats *mall = &h->stats[RP_LEVEL_MALL], *hbm = &h->stats[RP_LEVEL_HBM];
    uint64_t at =
        serve(h, RP_LEVEL_MALL, &h->port[die], clock + mall_way(t), h->read_64ths[RP_LEVEL_MALL]);
    const uint32_t rest = t->mall_clocks - t->l2_clocks - mall_way(t);
    struct rp_mall_line *slot = mall_find(h, line);
    *ret_apart = readers_apart(h, slot);
    mall->reads++;
    mall->read_bytes += RP_REC_LINE_BYTES;
    if (mall_holds(h, slot)) {
        mall->read_hits++;
        return (slot->ready > at ? slot->ready : at) + rest;
    }
    if (mall_held(h, slot, line)) {
        mall->read_hits++;
        mall_note(h, slot, line, at);
        return at + rest;
    }
    const enum fetched fetched = fetched_elsewhere(h, line);
    if (fetched == BY_NOBODY) {
        at = serve_memory(h, channel, at + hbm_way(t), false);
        at += t->hbm_clocks - t->mall_clocks - hbm_way(t);
        hbm->reads++;
        hbm->read_bytes += RP_REC_LINE_BYTES;
    } else {
        mall->read_hits++;
        if (fetched == JUST_NOW)
            at += t->hbm_clocks - t->mall_clocks;
    }
    mall_note(h, slot, line, at);
    return at + rest;
}

/* Writes 64 bytes from the L2. The time depends on when the line is replaced. Here the bytes count
 * when they are written first, so that a sample that is shorter than the cache is large sees the
 * traffic as well. Nobody waits for them: the L2 has acknowledged the store. That memory cannot
 * take more than its rate shows in what workgroups asked of it (timing_engine.c), and at the end.
 */
static void write_back(struct rp_hierarchy *h, uint32_t die, uint64_t line, uint64_t clock)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t channel = memory_channel_of(h, line);
    struct rp_level_stats *mall = &h->stats[RP_LEVEL_MALL], *hbm = &h->stats[RP_LEVEL_HBM];
    const uint64_t at =
        serve(h, RP_LEVEL_MALL, &h->port[die], clock + mall_way(t), h->write_64ths[RP_LEVEL_MALL]);
    struct rp_mall_line *slot = mall_find(h, line);
    mall->writes++;
    mall->write_bytes += HALF_BYTES;
    if (!mall_holds(h, slot))
        mall_note(h, slot, line, at);
    serve_memory(h, channel, at + hbm_way(t), true);
    hbm->writes++;
    hbm->write_bytes += HALF_BYTES;
}

/* ---- L2 ------------------------------------------------------------------------------------ */

/* The line's tag, made when there is none. */
static struct rp_tag *l2_tag(struct rp_hierarchy *h, uint32_t die, uint64_t line, bool *ret_there)
{
    struct rp_tag *tag = rp_tags_find(&h->l2[die], line);
    *ret_there = tag;
    return tag ? tag : tags_insert(&h->l2[die], line, 0);
}

static bool has(const struct rp_tag *tag, uint32_t sectors)
{
    return (tag->dirty >> VALID & sectors) == sectors;
}

/* Reads and writes of a channel do not disturb each other. */
static struct rp_server *l2_server(struct rp_hierarchy *h, uint32_t die, uint64_t line, bool writes)
{
    const uint32_t channels = h->m.arch->l2_channels_per_xcc;
    return &h->l2_channel[2 * (die * channels + channel_of(line, channels)) + writes];
}

/* The channel has a request from @p clock to @p done: returns the latter. */
static uint64_t pending(struct rp_hierarchy *h, struct rp_server *channel, uint64_t clock,
                        uint64_t done)
{
    const uint64_t from = clock > channel->pending_until ? clock : channel->pending_until;
    if (done > from) {
        h->stats[RP_LEVEL_L2].pending_clocks += done - from;
        channel->pending_until = done;
    }
    return done;
}

/* The parts of the line that are missing come from below. */
static void fetch(struct rp_hierarchy *h, uint32_t die, struct rp_tag *tag, uint64_t line,
                  uint64_t clock)
{
    uint32_t apart;
    tag->ready = below_l2(h, die, line, clock, &apart);
    h->stats[RP_LEVEL_MALL].read_clocks += tag->ready - clock;
    tag->dirty = (tag->dirty & ((1u << APART) - 1)) | SECTORS << VALID | apart << APART;
}

/* A reader of a line that has just come: if it is not there on the device, the line comes for it
 * once more. Returns when that is here. */
static uint64_t fetch_apart(struct rp_hierarchy *h, uint32_t die, const struct rp_tag *tag,
                            uint64_t line, uint64_t clock)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t apart = (tag->dirty >> APART) * h->waiting / WHOLE;
    const bool port = h->read_64ths[RP_LEVEL_MALL];
    const enum rp_level level = port ? RP_LEVEL_MALL : RP_LEVEL_HBM;
    struct rp_server *from = port ? &h->port[die] : &h->hbm_channel[memory_channel_of(h, line)];
    const uint64_t there = clock + mall_way(t) + (port ? 0 : hbm_way(t));
    return clock + serve(h, level, from, there, h->read_64ths[level] * apart / WHOLE) - there;
}

/* Reads a line at the L2 at @p clock and returns when the data leaves it. */
static uint64_t l2_read(struct rp_hierarchy *h, uint32_t die, uint64_t line, uint64_t clock)
{
    struct rp_level_stats *s = &h->stats[RP_LEVEL_L2];
    struct rp_server *channel = l2_server(h, die, line, false);
    bool there;
    struct rp_tag *tag = l2_tag(h, die, line, &there);
    const bool hit = has(tag, SECTORS);
    const uint64_t free = channel->free / SCALE, begin = free > clock ? free : clock;
    const bool stays = begin > tag->ready + STAYS_CLOCKS;
    const bool known = tag->dirty >> APART;
    const bool again = hit && (known || (stays && (uint32_t)begin - tag->read < MOMENT_CLOCKS));
    uint64_t at =
        serve(h, RP_LEVEL_L2, channel, clock, again ? h->again_64ths : h->read_64ths[RP_LEVEL_L2]);
    if (hit && known && !stays)
        at = fetch_apart(h, die, tag, line, at);
    tag->read = (uint32_t)at;
    s->reads++;
    s->read_bytes += RP_REC_LINE_BYTES;
    s->read_hits += hit;
    if (!hit)
        fetch(h, die, tag, line, at);
    return pending(h, channel, clock, tag->ready > at ? tag->ready : at);
}

/* The L2 notes which bytes are written, so nothing is read to write a part of a line; a later read
 * gets the rest from below. A sector counts as written when one of its bytes
 * is.
 */
static uint64_t l2_write(struct rp_hierarchy *h, uint32_t die, const struct rp_rec_line *line,
                         uint64_t clock)
{
    struct rp_level_stats *s = &h->stats[RP_LEVEL_L2];
    const uint32_t halves = (line->sectors & 3 ? 1 : 0) | (line->sectors & 12 ? 2 : 0);
    bool there;
    struct rp_tag *tag = l2_tag(h, die, line->number, &there);
    struct rp_server *channel = l2_server(h, die, line->number, true);
    uint64_t at = clock;
    tag->dirty |= (uint32_t)line->sectors << VALID;
    for (uint32_t half = 1; half <= 2; half <<= 1) {
        if (!(halves & half))
            continue;
        at = serve(h, RP_LEVEL_L2, channel, clock, h->write_64ths[RP_LEVEL_L2]);
        s->writes++;
        s->write_bytes += HALF_BYTES;
        s->write_hits += there;
        if (!(tag->dirty & half)) {
            tag->dirty |= half;
            write_back(h, die, line->number, at);
        }
    }
    return pending(h, channel, clock, at);
}

/* The line is read where it lies, and lanes that mean the same dword follow one another. */
static uint64_t l2_atomic(struct rp_hierarchy *h, uint32_t die, const struct rp_rec_line *line,
                          uint64_t clock)
{
    struct rp_level_stats *s = &h->stats[RP_LEVEL_L2];
    const uint32_t rounds = line->deepest ? line->deepest : 1;
    struct rp_server *channel = l2_server(h, die, line->number, true);
    uint64_t at =
        serve(h, RP_LEVEL_L2, channel, clock, h->write_64ths[RP_LEVEL_L2] + SCALE * (rounds - 1));
    bool there;
    struct rp_tag *tag = l2_tag(h, die, line->number, &there);
    s->atomics++;
    if (!has(tag, (uint32_t)line->sectors))
        fetch(h, die, tag, line->number, at);
    if (!(tag->dirty & HALVES)) {
        tag->dirty |= HALVES;
        write_back(h, die, line->number, at);
    }
    return pending(h, channel, clock, (tag->ready > at ? tag->ready : at) + rounds - 1);
}

/* ---- L1 ------------------------------------------------------------------------------------ */

/* Returns the block of memory that a line is in. Pages follow one another where nobody says. */
static uint64_t block_of(const struct rp_hierarchy *h, uint64_t line)
{
    const struct rp_rec_blocks *blocks = h->m.blocks;
    const uint64_t page = line / PAGE_LINES;
    if (blocks && page < blocks->pages)
        return blocks->of_page[page];
    return line / (RP_REC_BLOCK_BYTES / RP_REC_LINE_BYTES);
}

/* Returns when the address of a line that leaves the compute unit at @p clock is translated. Places
 * that are empty cost nothing: what was there before the dispatch is not known, and as many blocks
 * as fit may have stayed. The L2 of translations reaches further than memory does: 64 GiB, as Linux
 * says of gfx90a where it enables translate_further (gmc_v9_0.c).
 */
static uint64_t translated(struct rp_hierarchy *h, uint32_t cu, uint64_t line, uint64_t clock)
{
    struct rp_tlb *tlb = &h->tlb[cu];
    if (tlb->page != line / PAGE_LINES + 1) {
        const uint64_t block = block_of(h, line);
        struct rp_tag old, *tag = rp_tags_find(&tlb->tags, block);
        if (!tag) {
            tag = rp_tags_replace(&tlb->tags, block, 0, &old);
            if (old.line)
                tag->ready = clock + h->m.arch->timing->tlb_miss_clocks;
        }
        tlb->page = line / PAGE_LINES + 1;
        tlb->tag = tag;
    }
    return tlb->tag->ready > clock ? tlb->tag->ready : clock;
}

uint64_t rp_hierarchy_vector(struct rp_hierarchy *h, uint32_t cu, const struct rp_rec_line *line,
                             uint8_t flags, uint64_t clock)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t way = t->l2_clocks / 2, back = t->l2_clocks - way;
    const uint32_t die = cu / h->m.cus_per_die;
    struct rp_level_stats *s = &h->stats[RP_LEVEL_L1];
    struct rp_tag *tag = rp_tags_find(&h->l1[cu], line->number);
    if (flags & RP_REC_ATOMIC) {
        s->atomics++;
        if (tag)
            tags_drop(&h->l1[cu], tag);
        return l2_atomic(h, die, line, translated(h, cu, line->number, clock) + way) + back;
    }
    if (flags & RP_REC_WRITES) {
        s->writes++;
        s->write_hits += tag != NULL;
        s->write_bytes += (uint64_t)__builtin_popcount(line->sectors) * RP_REC_SECTOR_BYTES;
        return l2_write(h, die, line, translated(h, cu, line->number, clock) + way) +
               t->store_clocks - way;
    }
    s->reads++;
    s->read_bytes += (uint64_t)__builtin_popcount(line->sectors) * RP_REC_SECTOR_BYTES;
    if (tag && !(flags & RP_REC_PAST_L1)) {
        const uint64_t at = clock + t->l1_clocks;
        s->read_hits++;
        s->late_hits += tag->ready > at;
        return tag->ready > at ? tag->ready : at;
    }
    const uint64_t asked = translated(h, cu, line->number, clock) + way;
    const uint64_t ready = l2_read(h, die, line->number, asked) + back;
    if (tag)
        tag->ready = ready;
    else
        tags_insert(&h->l1[cu], line->number, ready);
    return ready;
}

/* ---- scalar L1 ----------------------------------------------------------------------------- */

/* A request takes a turn for each line that it touches, whatever it wants of it. */
static uint64_t scalar_half(struct rp_hierarchy *h, uint32_t cache, uint32_t die, uint64_t line,
                            unsigned half, uint64_t asked)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t way = t->scalar_l2_clocks / 2;
    const uint64_t clock = serve(h, RP_LEVEL_SCALAR_L1, &h->scalar_port[cache], asked,
                                 h->read_64ths[RP_LEVEL_SCALAR_L1]);
    struct rp_level_stats *s = &h->stats[RP_LEVEL_SCALAR_L1];
    struct rp_tag *tag = rp_tags_find(&h->scalar[cache], 2 * line + half);
    s->reads++;
    s->read_bytes += HALF_BYTES;
    if (tag) {
        const uint64_t at = clock + t->scalar_l1_clocks;
        s->read_hits++;
        s->late_hits += tag->ready > at;
        return tag->ready > at ? tag->ready : at;
    }
    const uint64_t ready = l2_read(h, die, line, clock + way) + t->scalar_l2_clocks - way;
    tags_insert(&h->scalar[cache], 2 * line + half, ready);
    return ready;
}

uint64_t rp_hierarchy_scalar(struct rp_hierarchy *h, uint32_t cu, const struct rp_rec_line *line,
                             uint8_t flags, uint64_t clock)
{
    const uint32_t die = cu / h->m.cus_per_die, cache = scalar_cache(h, cu);
    uint64_t done = clock;
    if (flags & (RP_REC_WRITES | RP_REC_ATOMIC)) {
        const uint32_t way = h->m.arch->timing->scalar_l2_clocks / 2;
        return (flags & RP_REC_ATOMIC ? l2_atomic(h, die, line, clock + way)
                                      : l2_write(h, die, line, clock + way)) +
               way;
    }
    for (unsigned half = 0; half < 2; half++) {
        if (!(line->sectors >> 2 * half & 3))
            continue;
        const uint64_t ready = scalar_half(h, cache, die, line->number, half, clock);
        done = ready > done ? ready : done;
    }
    return done;
}

uint64_t rp_hierarchy_drained(struct rp_hierarchy *h)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < h->m.memory_channels; i++)
        last = h->hbm_channel[i].free > last ? h->hbm_channel[i].free : last;
    h->stats[RP_LEVEL_SCALAR_L1].busy_clocks /= SCALE;
    for (unsigned level = RP_LEVEL_L2; level < RP_LEVELS; level++)
        h->stats[level].busy_clocks /= SCALE;
    return last / SCALE;
}
