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

bool rp_touch_lines(struct rp_rec_wave *w, struct rp_rec_access *a, const struct rp_touch *t)
{
    struct cover cover[MOST_LINES]; /* of writes, each set with its line's first byte */
    const bool writes = t->flags & RP_REC_WRITES;
    const unsigned pieces = (t->bytes + RP_REC_LINE_BYTES - 1) / RP_REC_LINE_BYTES + 1;
    uint64_t looked[LOOKUP_LANES * 2];
    unsigned looked_count = 0, group = 0;
    if (!rp_rec_grow(w, 0, 0, LANES * pieces))
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

static void want(struct banks *b, uint32_t dword, bool atomic)
{
    const unsigned bank = dword % BANKS;
    unsigned i = atomic ? 0 : b->count[bank];
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

void rp_touch_lds(struct rp_rec_access *a, const struct rp_touch *t)
{
    const unsigned at_once = t->bytes <= 4 ? 32 : t->bytes <= 8 ? 16 : 8;
    for (unsigned first = 0; first < LANES; first += at_once) {
        const uint64_t set = t->lanes & low_bits(at_once) << first;
        struct banks banks;
        if (!set)
            continue;
        __builtin_memset(banks.count, 0, sizeof banks.count);
        FOR_LANES(lane, set)
        for (uint64_t at = t->va[lane] & ~3ull; at < t->va[lane] + t->bytes; at += 4)
            want(&banks, (uint32_t)(at / 4), t->flags & RP_REC_ATOMIC);
        const unsigned clocks = fullest(&banks);
        a->lds_clocks = (uint16_t)(a->lds_clocks + clocks);
        a->lds_conflict_clocks = (uint16_t)(a->lds_conflict_clocks + clocks - 1);
    }
}
