#include "hierarchy.h"

#include <stdlib.h>

enum {
    SCALE = 64,
    HALF_BYTES = 64,
    SHARED_TOGETHER = 8 /* lines */,
    MOST_AT_FIRST = 1 << 20,
    PAGE_LINES = 32
};

/* rp_tag.dirty of the L2: halves that have been written, and from bit VALID on sectors that are
 * there: all once the line has been fetched, before that those that have been written. */
enum { HALVES = 3, SECTORS = 15, VALID = 4 };

/* ---- set-up -------------------------------------------------------------------------------- */

static uint32_t service(double bytes, double bytes_per_clock)
{
    return bytes_per_clock > 0 ? (uint32_t)(SCALE * bytes / bytes_per_clock + 0.5) : 0;
}

static void set_rates(struct rp_hierarchy *h)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const double channels = t->memory_channels;
    h->read_64ths[RP_LEVEL_L2] = service(RP_REC_LINE_BYTES, t->l2_read_bytes_per_clock);
    h->write_64ths[RP_LEVEL_L2] = service(HALF_BYTES, t->l2_write_bytes_per_clock);
    h->read_64ths[RP_LEVEL_MALL] = service(RP_REC_LINE_BYTES, t->mall_bytes_per_clock / channels);
    h->write_64ths[RP_LEVEL_MALL] = service(HALF_BYTES, t->mall_bytes_per_clock / channels);
    h->read_64ths[RP_LEVEL_HBM] =
        service(RP_REC_LINE_BYTES, t->hbm_read_bytes_per_clock / channels);
    h->write_64ths[RP_LEVEL_HBM] = service(HALF_BYTES, t->hbm_write_bytes_per_clock / channels);
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
    h->mall_lines = a->mall_bytes / a->l2_line_bytes * m->dies / m->all_dies;
    h->l2_channel = calloc((size_t)m->dies * a->l2_channels_per_xcc, sizeof *h->l2_channel);
    h->mall_channel = calloc(m->memory_channels, sizeof *h->mall_channel);
    h->hbm_channel = calloc(m->memory_channels, sizeof *h->hbm_channel);
    h->mall = calloc(h->mall_size, sizeof *h->mall);
    h->l1 = calloc(m->dies * m->cus_per_die, sizeof *h->l1);
    h->scalar = calloc(scalar_caches(m), sizeof *h->scalar);
    h->l2 = calloc(m->dies, sizeof *h->l2);
    if (h->l2_channel && h->mall_channel && h->hbm_channel && h->mall && h->l1 && h->scalar &&
        h->l2)
        return 0;
    rp_hierarchy_release(h);
    return -ENOMEM;
}

static int open_tags(struct rp_tags *t, uint64_t lines, uint32_t ways)
{
    return t->tag ? 0 : rp_tags_init(t, lines, ways);
}

int rp_hierarchy_open(struct rp_hierarchy *h, uint32_t cu)
{
    const struct rp_arch *a = h->m.arch;
    int status = open_tags(&h->l1[cu], a->l1_bytes / a->l1_line_bytes, a->timing->l1_ways);
    if (!status)
        status = open_tags(&h->scalar[scalar_cache(h, cu)],
                           a->scalar_l1_bytes / a->scalar_l1_line_bytes, a->timing->scalar_l1_ways);
    if (!status)
        status = open_tags(&h->l2[cu / h->m.cus_per_die], a->l2_bytes / a->l2_line_bytes,
                           a->timing->l2_ways);
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
    if (h->scalar)
        release_tags(h->scalar, scalar_caches(&h->m));
    if (h->l2)
        release_tags(h->l2, h->m.dies);
    free(h->l2_channel);
    free(h->mall_channel);
    free(h->hbm_channel);
    free(h->mall);
    *h = (struct rp_hierarchy){0};
}

/* ---- servers ------------------------------------------------------------------------------- */

/* Occupies a server; returns the clock at which it begins. */
static uint64_t serve(struct rp_server *v, uint64_t clock, uint32_t cost_64ths,
                      struct rp_level_stats *s)
{
    const uint64_t now = clock * SCALE;
    uint64_t begin = v->free;
    s->busy_clocks += cost_64ths; /* in 64ths until the end of the replay */
    if (now >= v->free) {
        v->gap_begin = v->free;
        v->gap_end = begin = now;
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

/*
 * Channels take 256 bytes in turn within a page of 4 KiB; where a page begins is scattered, so that
 * arrays that are used at the same time, and strides, do not keep to a part of the channels.
 */
static uint32_t channel_of(uint64_t line, uint32_t channels)
{
    return (uint32_t)((line / 2 ^ mix(line / 32)) % channels);
}

/* ---- memory and the Infinity Cache --------------------------------------------------------- */

/* Lines of a page of 4 KiB lie side by side: neighbours are mostly asked for soon. */
static struct rp_mall_line *mall_slot(struct rp_mall_line *map, uint64_t size, uint64_t line)
{
    uint64_t i = (mix(line / PAGE_LINES) + line % PAGE_LINES) & (size - 1);
    while (map[i].line && map[i].line != line + 1)
        i = (i + 1) & (size - 1);
    return &map[i];
}

/* Twice the size, without what has been replaced. False: no memory. */
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

/* Where the line is noted, or to be noted. NULL: no memory. */
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
    *slot = (struct rp_mall_line){.line = line + 1, .ready = ready, .order = h->mall_order++};
}

static bool mall_holds(const struct rp_hierarchy *h, const struct rp_mall_line *slot)
{
    return slot && slot->line && h->mall_order - slot->order < h->mall_lines;
}

enum fetched { BY_NOBODY, LONG_AGO, JUST_NOW };

/*
 * Whether another die, which is not replayed, has fetched a line that this one has not. Each of the
 * others touches a share of the lines. Those that all touch at the same time are fetched by one of
 * them, and come to all when they come to that one. Of the rest, the others have touched as great a
 * part as this one.
 */
static enum fetched fetched_elsewhere(struct rp_hierarchy *h, uint64_t line)
{
    const struct rp_sharing *s = &h->m.sharing;
    if (!(s->share > 0) || line >= RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES)
        return BY_NOBODY;
    /* what a wave reads at once is shared as a whole, or not at all */
    const uint64_t hash = mix(line / SHARED_TOGETHER + 1);
    const bool together = (double)(hash & 0xffffff) < s->together * 0x1p24;
    const double part = h->touched < s->lines ? (double)h->touched / (double)s->lines : 1;
    const double without = 1 - s->share * (together ? 1 : part);
    double by_none = 1;
    h->touched++;
    for (uint32_t die = 1; die < h->m.all_dies; die++)
        by_none *= without;
    if (together) /* one of those that touch it, this one and others, on average */
        by_none = (1 - by_none * without) / (h->m.all_dies * s->share);
    if ((double)(hash >> 40) < by_none * 0x1p24)
        return BY_NOBODY;
    return together ? JUST_NOW : LONG_AGO;
}

/* From the L2 to the Infinity Cache, and from there to memory: half of what each adds to a load. */
static uint32_t mall_way(const struct rp_arch_timing *t)
{
    return (t->mall_clocks - t->l2_clocks) / 2;
}

static uint32_t hbm_way(const struct rp_arch_timing *t)
{
    return (t->hbm_clocks - t->mall_clocks) / 2;
}

/* A line the L2 does not have, asked for at @p clock; returns when it is at the L2. */
static uint64_t below_l2(struct rp_hierarchy *h, uint64_t line, uint64_t clock)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t channel = channel_of(line, t->memory_channels) % h->m.memory_channels;
    struct rp_level_stats *mall = &h->stats[RP_LEVEL_MALL], *hbm = &h->stats[RP_LEVEL_HBM];
    uint64_t at =
        serve(&h->mall_channel[channel], clock + mall_way(t), h->read_64ths[RP_LEVEL_MALL], mall);
    const uint32_t rest = t->mall_clocks - t->l2_clocks - mall_way(t);
    struct rp_mall_line *slot = mall_find(h, line);
    mall->reads++;
    mall->read_bytes += RP_REC_LINE_BYTES;
    if (mall_holds(h, slot)) {
        mall->read_hits++;
        return (slot->ready > at ? slot->ready : at) + rest;
    }
    const enum fetched fetched = fetched_elsewhere(h, line);
    if (fetched == BY_NOBODY) {
        at = serve(&h->hbm_channel[channel], at + hbm_way(t), h->read_64ths[RP_LEVEL_HBM], hbm);
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

/*
 * 64 bytes leave the L2. When that is depends on what is replaced when; here it counts when they
 * are written first, so that a sample shorter than the cache is large sees the traffic, too. The
 * writes of about one memory latency are buffered; returns when there is room for this one.
 */
static uint64_t write_back(struct rp_hierarchy *h, uint64_t line, uint64_t clock)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t channel = channel_of(line, t->memory_channels) % h->m.memory_channels;
    struct rp_level_stats *mall = &h->stats[RP_LEVEL_MALL], *hbm = &h->stats[RP_LEVEL_HBM];
    const uint64_t there = clock + mall_way(t) + hbm_way(t);
    uint64_t at =
        serve(&h->mall_channel[channel], clock + mall_way(t), h->write_64ths[RP_LEVEL_MALL], mall);
    struct rp_mall_line *slot = mall_find(h, line);
    mall->writes++;
    mall->write_bytes += HALF_BYTES;
    if (!mall_holds(h, slot))
        mall_note(h, slot, line, at);
    at = serve(&h->hbm_channel[channel], at + hbm_way(t), h->write_64ths[RP_LEVEL_HBM], hbm);
    hbm->writes++;
    hbm->write_bytes += HALF_BYTES;
    return at > there + t->hbm_clocks ? clock + (at - there) - t->hbm_clocks : clock;
}

/* ---- L2 ------------------------------------------------------------------------------------ */

/* The line's tag, made when there is none. */
static struct rp_tag *l2_tag(struct rp_hierarchy *h, uint32_t die, uint64_t line, bool *ret_there)
{
    struct rp_tag *tag = rp_tags_find(&h->l2[die], line);
    *ret_there = tag;
    return tag ? tag : rp_tags_insert(&h->l2[die], line, 0);
}

static bool has(const struct rp_tag *tag, uint32_t sectors)
{
    return (tag->dirty >> VALID & sectors) == sectors;
}

static struct rp_server *l2_server(struct rp_hierarchy *h, uint32_t die, uint64_t line)
{
    const uint32_t channels = h->m.arch->l2_channels_per_xcc;
    return &h->l2_channel[die * channels + channel_of(line, channels)];
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

/* What of the line is not there comes from below. */
static void fetch(struct rp_hierarchy *h, struct rp_tag *tag, uint64_t line, uint64_t clock)
{
    tag->ready = below_l2(h, line, clock);
    h->stats[RP_LEVEL_MALL].read_clocks += tag->ready - clock;
    tag->dirty |= SECTORS << VALID;
}

/* At @p clock at the L2; returns when the data leaves it. */
static uint64_t l2_read(struct rp_hierarchy *h, uint32_t die, uint64_t line, uint64_t clock)
{
    struct rp_level_stats *s = &h->stats[RP_LEVEL_L2];
    struct rp_server *channel = l2_server(h, die, line);
    const uint64_t at = serve(channel, clock, h->read_64ths[RP_LEVEL_L2], s);
    bool there;
    struct rp_tag *tag = l2_tag(h, die, line, &there);
    const bool hit = has(tag, SECTORS);
    s->reads++;
    s->read_bytes += RP_REC_LINE_BYTES;
    s->read_hits += hit;
    if (!hit)
        fetch(h, tag, line, at);
    return pending(h, channel, clock, tag->ready > at ? tag->ready : at);
}

/* The L2 notes which bytes are written, so that nothing is read for a part of a line; a later read
 * of it gets the rest from below. As in replay_device.c a sector counts as written when a byte is.
 */
static uint64_t l2_write(struct rp_hierarchy *h, uint32_t die, const struct rp_rec_line *line,
                         uint64_t clock)
{
    struct rp_level_stats *s = &h->stats[RP_LEVEL_L2];
    const uint32_t halves = (line->sectors & 3 ? 1 : 0) | (line->sectors & 12 ? 2 : 0);
    bool there;
    struct rp_tag *tag = l2_tag(h, die, line->number, &there);
    struct rp_server *channel = l2_server(h, die, line->number);
    uint64_t at = clock;
    tag->dirty |= (uint32_t)line->sectors << VALID;
    for (uint32_t half = 1; half <= 2; half <<= 1) {
        if (!(halves & half))
            continue;
        at = serve(channel, clock, h->write_64ths[RP_LEVEL_L2], s);
        s->writes++;
        s->write_bytes += HALF_BYTES;
        s->write_hits += there;
        if (!(tag->dirty & half)) {
            tag->dirty |= half;
            at = write_back(h, line->number, at);
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
    struct rp_server *channel = l2_server(h, die, line->number);
    uint64_t at = serve(channel, clock, h->write_64ths[RP_LEVEL_L2] + SCALE * (rounds - 1), s);
    bool there;
    struct rp_tag *tag = l2_tag(h, die, line->number, &there);
    s->atomics++;
    if (!has(tag, (uint32_t)line->sectors))
        fetch(h, tag, line->number, at);
    if (!(tag->dirty & HALVES)) {
        tag->dirty |= HALVES;
        at = write_back(h, line->number, at);
    }
    return pending(h, channel, clock, (tag->ready > at ? tag->ready : at) + rounds - 1);
}

/* ---- L1 ------------------------------------------------------------------------------------ */

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
            rp_tags_drop(&h->l1[cu], tag);
        return l2_atomic(h, die, line, clock + way) + back;
    }
    if (flags & RP_REC_WRITES) {
        s->writes++;
        s->write_hits += tag != NULL;
        s->write_bytes += (uint64_t)__builtin_popcount(line->sectors) * RP_REC_SECTOR_BYTES;
        return l2_write(h, die, line, clock + way) + back;
    }
    s->reads++;
    s->read_bytes += (uint64_t)__builtin_popcount(line->sectors) * RP_REC_SECTOR_BYTES;
    if (tag && !(flags & RP_REC_PAST_L1)) {
        const uint64_t at = clock + t->l1_clocks;
        s->read_hits++;
        s->late_hits += tag->ready > at;
        return tag->ready > at ? tag->ready : at;
    }
    const uint64_t ready = l2_read(h, die, line->number, clock + way) + back;
    if (tag)
        tag->ready = ready;
    else
        rp_tags_insert(&h->l1[cu], line->number, ready);
    return ready;
}

/* ---- scalar L1 ----------------------------------------------------------------------------- */

static uint64_t scalar_half(struct rp_hierarchy *h, uint32_t cache, uint32_t die, uint64_t line,
                            unsigned half, uint64_t clock)
{
    const struct rp_arch_timing *t = h->m.arch->timing;
    const uint32_t way = t->scalar_l2_clocks / 2;
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
    rp_tags_insert(&h->scalar[cache], 2 * line + half, ready);
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
    for (unsigned level = RP_LEVEL_L2; level < RP_LEVELS; level++)
        h->stats[level].busy_clocks /= SCALE;
    return last / SCALE;
}
