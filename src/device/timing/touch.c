#include "touch.h"

enum { LANES = 64, LOOKUP_LANES = 16, BANKS = 32, MOST_LINES = 512 };

#define FOR_LANES(lane, set)                                                                       \
    for (uint64_t left_ = (set); left_; left_ &= left_ - 1)                                        \
        for (unsigned lane = (unsigned)__builtin_ctzll(left_), once_ = 1; once_; once_ = 0)

/* ---- lines --------------------------------------------------------------------------------- */

/* Bytes of a line that are written: bit i of word b is byte 64 * b + i. */
struct cover {
    uint64_t bytes[2];
};

static uint64_t low_bits(unsigned count)
{
    return count >= 64 ? ~0ull : (1ull << count) - 1;
}

static void cover_bytes(struct cover *c, unsigned from, unsigned count)
{
    for (unsigned b = 0; b < 2; b++) {
        const unsigned low = 64 * b, high = low + 64;
        const unsigned begin = from > low ? from : low;
        const unsigned end = from + count < high ? from + count : high;
        if (begin < end)
            c->bytes[b] |= low_bits(end - begin) << (begin - low);
    }
}

static unsigned whole_sectors(const struct cover *c)
{
    unsigned whole = 0;
    for (unsigned s = 0; s < 4; s++)
        whole |= (unsigned)((uint32_t)(c->bytes[s / 2] >> (32 * (s % 2))) == UINT32_MAX) << s;
    return whole;
}

/* The access's entry for a line, found or appended. Neighbouring lanes usually share one. */
static unsigned line_of(struct rp_rec_wave *w, struct rp_rec_access *a, uint64_t number)
{
    struct rp_rec_line *line = w->line + a->first_line;
    for (unsigned i = a->line_count; i-- > 0;)
        if (line[i].number == number)
            return i;
    line[a->line_count] = (struct rp_rec_line){.number = number, .deepest = 1};
    w->line_count++;
    return a->line_count++;
}

/* Most lanes of one line that mean the same dword. */
static void count_depth(struct rp_rec_line *line, const struct rp_touch *t)
{
    unsigned depth = 0;
    FOR_LANES(lane, t->lanes)
    {
        unsigned same = 0;
        if (t->va[lane] / RP_REC_LINE_BYTES != line->number)
            continue;
        for (unsigned other = 0; other < LANES; other++)
            same += t->lanes >> other & 1 && t->va[other] / 4 == t->va[lane] / 4;
        depth = same > depth ? same : depth;
    }
    line->deepest = depth ? depth : 1;
}

/* All lanes, one behind the other, as in most accesses. */
static bool side_by_side(const struct rp_touch *t)
{
    const uint64_t step = t->bytes;
    if (t->lanes != ~0ull || t->va[1] - t->va[0] != step)
        return false;
    uint64_t differ = 0;
    for (unsigned lane = 0; lane < LANES; lane += 2)
        differ |= (t->va[lane] - t->va[0] - lane * step) | (t->va[lane + 1] - t->va[lane] - step);
    return !differ;
}

/* Lines of such an access, without looking at each lane. */
static bool touch_row(struct rp_rec_wave *w, struct rp_rec_access *a, const struct rp_touch *t)
{
    const uint64_t begin = t->va[0], end = begin + LANES * (uint64_t)t->bytes;
    const uint64_t group_bytes = LOOKUP_LANES * (uint64_t)t->bytes;
    if (!rp_rec_grow(w, 0, 0, (uint32_t)((end - begin) / RP_REC_LINE_BYTES) + 2))
        return false;
    for (uint64_t from = begin, to; from < end; from = to) {
        const unsigned in_line = (unsigned)(from % RP_REC_LINE_BYTES);
        const uint64_t left = end - from, room = RP_REC_LINE_BYTES - in_line;
        const unsigned bytes = (unsigned)(left < room ? left : room);
        const unsigned first = in_line / RP_REC_SECTOR_BYTES;
        const unsigned last = (in_line + bytes - 1) / RP_REC_SECTOR_BYTES;
        struct cover cover = {{0}};
        to = from + bytes;
        if (t->flags & RP_REC_WRITES)
            cover_bytes(&cover, in_line, bytes);
        w->line[w->line_count++] = (struct rp_rec_line){
            .number = from / RP_REC_LINE_BYTES & ((1ull << 41) - 1),
            .sectors = ((2u << last) - (1u << first)) & 15,
            .whole = whole_sectors(&cover) & 15,
            .lanes = ((to - 1 - begin) / t->bytes - (from - begin) / t->bytes + 1) & 127,
            .deepest = 1};
        a->line_count++;
    }
    for (uint64_t at = begin; at < end; at += group_bytes)
        a->lookups = (uint16_t)(a->lookups + (at + group_bytes - 1) / RP_REC_LINE_BYTES -
                                at / RP_REC_LINE_BYTES + 1);
    return true;
}

bool rp_touch_lines(struct rp_rec_wave *w, struct rp_rec_access *a, const struct rp_touch *t)
{
    struct cover cover[MOST_LINES]; /* of writes, each set with its line's first byte */
    const bool writes = t->flags & RP_REC_WRITES;
    const unsigned pieces = (t->bytes + RP_REC_LINE_BYTES - 1) / RP_REC_LINE_BYTES + 1;
    uint64_t looked[LOOKUP_LANES * 2];
    unsigned looked_count = 0, group = 0;
    if (side_by_side(t) && (t->bytes >= 4 || !(t->flags & RP_REC_ATOMIC)))
        return touch_row(w, a, t);
    if (!rp_rec_grow(w, 0, 0, (uint32_t)__builtin_popcountll(t->lanes) * pieces))
        return false;
    FOR_LANES(lane, t->lanes)
    {
        if (lane / LOOKUP_LANES != group) {
            group = lane / LOOKUP_LANES;
            looked_count = 0;
        }
        uint64_t at = t->va[lane];
        for (unsigned left = t->bytes, part; left; left -= part, at += part) {
            const unsigned in_line = (unsigned)(at % RP_REC_LINE_BYTES);
            const uint64_t number = at / RP_REC_LINE_BYTES & ((1ull << 41) - 1);
            part = RP_REC_LINE_BYTES - in_line < left ? RP_REC_LINE_BYTES - in_line : left;
            const unsigned index = line_of(w, a, number);
            struct rp_rec_line *line = &w->line[a->first_line + index];
            const unsigned first = in_line / RP_REC_SECTOR_BYTES;
            const unsigned last = (in_line + part - 1) / RP_REC_SECTOR_BYTES;
            line->sectors |= ((2u << last) - (1u << first)) & 15;
            if (writes && index < MOST_LINES) {
                if (!line->lanes)
                    cover[index] = (struct cover){{0}};
                cover_bytes(&cover[index], in_line, part);
            }
            line->lanes += line->lanes < LANES;
            unsigned i = looked_count;
            while (i > 0 && looked[i - 1] != number)
                i--;
            if (!i && looked_count < LOOKUP_LANES * 2) {
                looked[looked_count++] = number;
                a->lookups++;
            }
        }
    }
    for (unsigned i = 0; i < a->line_count && i < MOST_LINES; i++) {
        struct rp_rec_line *line = &w->line[a->first_line + i];
        if (writes)
            line->whole |= whole_sectors(&cover[i]);
        if (t->flags & RP_REC_ATOMIC)
            count_depth(line, t);
    }
    return true;
}

/* ---- LDS ----------------------------------------------------------------------------------- */

/* Dwords that the lanes of one clock want of each bank. */
struct banks {
    uint32_t dword[BANKS][BANKS * 2]; /**< different ones */
    uint8_t count[BANKS];
};

static void want(struct banks *b, uint32_t dword)
{
    const unsigned bank = dword % BANKS;
    unsigned i = b->count[bank];
    while (i > 0 && b->dword[bank][i - 1] != dword)
        i--;
    if (!i && b->count[bank] < BANKS * 2)
        b->dword[bank][b->count[bank]++] = dword;
}

static unsigned fullest(const struct banks *b)
{
    unsigned most = 0;
    for (unsigned i = 0; i < BANKS; i++)
        most = b->count[i] > most ? b->count[i] : most;
    return most;
}

/* Whether no two lanes want different dwords of a bank. Lanes that want the same usually follow
 * each other. Inline, so that the number of dwords is known. */
static inline __attribute__((always_inline)) bool free_of_conflicts(const struct rp_touch *t,
                                                                    uint64_t set, unsigned dwords)
{
    uint32_t seen = 0, first[BANKS], conflict = 0, last = UINT32_MAX;
    for (unsigned lane = (unsigned)__builtin_ctzll(set); lane < LANES && set >> lane; lane++) {
        const uint32_t dword = (uint32_t)(t->va[lane] / 4);
        if (dword == last || !(set >> lane & 1))
            continue;
        last = dword;
        for (unsigned i = 0; i < dwords; i++) {
            const uint32_t bank = (dword + i) % BANKS;
            if (seen >> bank & 1)
                conflict |= first[bank] ^ (dword + i);
            else
                first[bank] = dword + i;
            seen |= 1u << bank;
        }
    }
    return !conflict;
}

/* What of it can be said quickly, of aligned dwords; false: it may have conflicts. */
static bool simply_free(const struct rp_touch *t, uint64_t set)
{
    switch (t->bytes) {
    case 4:
        return free_of_conflicts(t, set, 1);
    case 8:
        return free_of_conflicts(t, set, 2);
    case 16:
        return free_of_conflicts(t, set, 4);
    default:
        return false;
    }
}

static bool aligned(const struct rp_touch *t)
{
    uint64_t low[4] = {0};
    for (unsigned lane = 0; lane < LANES; lane += 4) {
        low[0] |= t->va[lane];
        low[1] |= t->va[lane + 1];
        low[2] |= t->va[lane + 2];
        low[3] |= t->va[lane + 3];
    }
    return !((low[0] | low[1] | low[2] | low[3]) % 4);
}

/* Atomics of the lanes follow each other on a bank, also those on the same dword. */
static unsigned atomic_clocks(const struct rp_touch *t, uint64_t set)
{
    uint8_t count[BANKS] = {0};
    unsigned most = 0;
    FOR_LANES(lane, set)
    for (uint64_t at = t->va[lane] & ~3ull; at < t->va[lane] + t->bytes; at += 4)
        count[at / 4 % BANKS]++;
    for (unsigned i = 0; i < BANKS; i++)
        most = count[i] > most ? count[i] : most;
    return most;
}

static unsigned clocks_of(const struct rp_touch *t, uint64_t set, bool dwords)
{
    struct banks banks;
    if (t->flags & RP_REC_ATOMIC)
        return atomic_clocks(t, set);
    if (dwords && simply_free(t, set))
        return 1;
    __builtin_memset(banks.count, 0, sizeof banks.count);
    FOR_LANES(lane, set)
    for (uint64_t at = t->va[lane] & ~3ull; at < t->va[lane] + t->bytes; at += 4)
        want(&banks, (uint32_t)(at / 4));
    return fullest(&banks);
}

/*
 * The lanes of each clock. Those of a load of 16 bytes do not lie side by side: Composable Kernel's
 * documentation, "Understanding AMD GPU LDS and Bank Conflicts".
 */
static unsigned sets_of(const struct rp_touch *t, uint64_t ret[LANES / 8])
{
    static const uint32_t wide_reads[] = {0x00f0000f, 0x000f00f0, 0xf0000f00, 0x0f00f000};
    const unsigned at_once = t->bytes <= 4 ? 32 : t->bytes <= 8 ? 16 : 8;
    const bool wide_read = t->bytes == 16 && !(t->flags & RP_REC_WRITES);
    for (unsigned i = 0; i < LANES / at_once; i++)
        ret[i] = t->lanes & (wide_read ? (uint64_t)wide_reads[i % 4] << i / 4 * 32
                                       : low_bits(at_once) << i * at_once);
    return LANES / at_once;
}

void rp_touch_lds(struct rp_rec_access *a, const struct rp_touch *t)
{
    uint64_t set[LANES / 8];
    const unsigned sets = sets_of(t, set);
    if (t->bytes % 4 == 0 && side_by_side(t) && t->va[0] % 4 == 0) {
        a->lds_clocks = (uint16_t)(a->lds_clocks + sets);
        return;
    }
    const bool dwords = aligned(t);
    for (unsigned i = 0; i < sets; i++) {
        if (!set[i])
            continue;
        const unsigned clocks = clocks_of(t, set[i], dwords);
        a->lds_clocks = (uint16_t)(a->lds_clocks + clocks);
        a->lds_conflict_clocks = (uint16_t)(a->lds_conflict_clocks + clocks - 1);
    }
}
