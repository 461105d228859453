#include "device/timing/wave_record.h"

#include <stdlib.h>
#include <string.h>

#include "device/exec/executor.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/mem_access.h"
#include "device/isa/mem_address.h"
#include "device/isa/wave_state.h"

/** These are the addresses of one instruction's lanes; only those in lanes are read. */
struct rp_lane_access {
    const uint64_t *va; /**< 64 of them */
    uint64_t lanes;     /**< a bit for each that takes part */
    uint32_t bytes;     /**< per lane */
    uint8_t flags;      /**< RP_REC_READS and so on */
};

/* What the lanes of an access touch is remembered, because an instruction in a loop mostly touches
 * the same again, some bytes further on. A pattern of addresses hits the same banks of the LDS,
 * relative to its beginning, as long as it begins at the same part of a dword. It touches the same
 * lines of a cache as long as it begins at the same byte of a line: a loop that goes on by an
 * element at a time comes to each of a line's dwords.
 */

enum {
    RP_PATTERN_CACHE_LANES = 64,
    RP_PATTERN_CACHE_LINES = 64,
    RP_PATTERN_CACHE_LDS = 64,
    RP_PATTERN_CACHE_VMEM = 32,
    RP_PATTERN_CACHE_BEGINS = RP_REC_LINE_BYTES / 4
};

/** These are the latest patterns of a thread; zeroed but for loops means none. */
struct rp_pattern_cache {
    const struct rp_mem_lanes *loops; /**< for this CPU */
    struct rp_pattern_cache_lds {
        uint64_t lanes;  /**< 0: nothing is known */
        uint32_t bytes;  /**< as in rp_lane_access */
        uint8_t flags;   /**< also */
        uint8_t part;    /**< of a dword where it begins */
        uint16_t clocks; /**< of the LDS */
        uint16_t conflict_clocks;
        uint32_t
            distance[RP_PATTERN_CACHE_LANES]; /**< of each lane's address from the first lane's */
    } lds[RP_PATTERN_CACHE_LDS];
    struct rp_pattern_cache_lines {
        uint64_t lanes;
        uint32_t bytes;
        uint32_t known; /**< a bit for each of at */
        uint8_t flags;
        uint64_t distance[RP_PATTERN_CACHE_LANES];
        struct rp_pattern_cache_begin {
            uint64_t first;  /**< lane's address */
            uint64_t record; /**< rp_rec_patterns.serial, in which it has this number */
            int number;
            uint16_t lookups, line_count;
            struct rp_rec_line line[RP_PATTERN_CACHE_LINES];
        } at[RP_PATTERN_CACHE_BEGINS]; /**< by the dword of a line at which it begins */
    } vmem[RP_PATTERN_CACHE_VMEM];
};

/* An instruction moves at most 16 bytes a lane, so that a lane touches at most two lines. */
enum {
    LANES = 64,
    LOOKUP_LANES = 16,
    BANKS = 64, /* the most that there are */
    MOST_PIECES = 2,
    MOST_LINES = LANES * MOST_PIECES
};

#define FOR_LANES(lane, set)                                                                       \
    for (uint64_t left_ = (set); left_; left_ &= left_ - 1)                                        \
        for (unsigned lane = (unsigned)__builtin_ctzll(left_), once_ = 1; once_; once_ = 0)

/* ---- lines --------------------------------------------------------------------------------- */

/* This says which bytes of a line are written: bit i of word b is byte 64 * b + i. */
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

/* Numbers of one access, each with its index in the order in which they came. */
enum { FINDER_SLOTS = 256 };

struct finder {
    uint64_t number[FINDER_SLOTS];
    uint8_t index[FINDER_SLOTS]; /**< + 1; 0 = free */
    unsigned count;
};

_Static_assert(FINDER_SLOTS > LANES * 2, "an access finds a free slot for each line");

static void finder_init(struct finder *f)
{
    memset(f->index, 0, sizeof f->index);
    f->count = 0;
}

/* Returns the index of a number, which is f->count - 1 if it is new. There may be no more than
 * half as many as slots; after that nothing is new. */
static unsigned finder_add(struct finder *f, uint64_t number)
{
    unsigned i = (unsigned)(number * 0x9e3779b97f4a7c15u >> 56);
    while (f->index[i] && f->number[i] != number)
        i = (i + 1) % FINDER_SLOTS;
    if (!f->index[i]) {
        f->number[i] = number;
        f->index[i] = (uint8_t)++f->count;
    }
    return f->index[i] - 1u;
}

/* Counts the largest number of lanes that access the same dword of each line. */
static void count_depths(struct rp_rec_line *line, struct finder *lines,
                         const struct rp_lane_access *t)
{
    struct finder dwords;
    uint8_t depth[LANES] = {0};
    finder_init(&dwords);
    FOR_LANES(lane, t->lanes)
    {
        const unsigned same = ++depth[finder_add(&dwords, t->va[lane] / 4)];
        const uint64_t number = t->va[lane] / RP_REC_LINE_BYTES & RP_REC_LINE_NUMBERS;
        struct rp_rec_line *at = &line[finder_add(lines, number)];
        at->deepest = (same > at->deepest ? same : at->deepest) & 127;
    }
}

/* Tests whether all lanes lie one behind the other, as in most accesses. */
static bool side_by_side(const struct rp_lane_access *t)
{
    const uint64_t step = t->bytes;
    if (t->lanes != ~0ull || t->va[1] - t->va[0] != step)
        return false;
    uint64_t differ = 0;
    for (unsigned lane = 0; lane < LANES; lane += 2)
        differ |= (t->va[lane] - t->va[0] - lane * step) | (t->va[lane + 1] - t->va[lane] - step);
    return !differ;
}

enum { QUAD = 4, COLUMNS = 4 };

/* Returns how many of four lanes want different parts of one column: dwords of each four, or of
 * wider loads 16 bytes of each 64. */
static unsigned quad_clocks(const struct rp_lane_access *t, unsigned first)
{
    const unsigned part = t->bytes > 4 ? 16 : 4;
    uint64_t seen[COLUMNS][QUAD];
    unsigned count[COLUMNS] = {0}, most = 0;
    for (unsigned lane = first; lane < first + QUAD; lane++) {
        const uint64_t at = t->va[lane] / part;
        const unsigned column = at % COLUMNS;
        unsigned i = 0;
        if (!(t->lanes >> lane & 1))
            continue;
        while (i < count[column] && seen[column][i] != at)
            i++;
        if (i == count[column])
            seen[column][count[column]++] = at;
        most = count[column] > most ? count[column] : most;
    }
    return most;
}

/* Tests whether the lanes of a quad, and the lane before them, lie one behind the other, or at one
 * place. */
static bool goes_on(const struct rp_lane_access *t, unsigned first)
{
    bool all = first % LOOKUP_LANES && t->lanes >> (first - 1) & 1;
    for (unsigned lane = first; lane < first + QUAD && all; lane++)
        all = t->lanes >> lane & 1 &&
              (t->va[lane] == t->va[lane - 1] || t->va[lane] == t->va[lane - 1] + t->bytes);
    return all;
}

/* Returns the look-ups of a load. Published rates of one compute unit of an MI210
 * (bench/published.csv, l1-strides) are those of four lanes a clock, or of as many dwords as lie
 * one behind the other in 16 lanes; but of two lanes, if floats are 2 apart, and of one, if doubles
 * are 8 apart: then lanes want the same column. Floats 5 apart take 1.75 times as long as this,
 * which it does not explain. No document says any of it. */
static unsigned column_lookups(const struct rp_lane_access *t)
{
    unsigned clocks = 0;
    for (unsigned quad = 0; quad < LANES; quad += QUAD)
        if (t->bytes > 4 || !goes_on(t, quad))
            clocks += quad_clocks(t, quad);
    return clocks;
}

static bool has_columns(const struct rp_lane_access *t)
{
    return rp_isa_target_get() == RP_ISA_GFX90A && t->bytes >= 4 && t->bytes <= 8 &&
           t->flags & RP_REC_READS && !(t->flags & RP_REC_ATOMIC);
}

/* Finds the lines of such an access without reading each lane. */
static bool access_row(struct rp_rec_wave *w, struct rp_rec_access *a,
                       const struct rp_lane_access *t)
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
            .number = from / RP_REC_LINE_BYTES & RP_REC_LINE_NUMBERS,
            .sectors = ((2u << last) - (1u << first)) & 15,
            .whole = whole_sectors(&cover) & 15,
            .lanes = ((to - 1 - begin) / t->bytes - (from - begin) / t->bytes + 1) & 127,
            .deepest = 1};
        a->line_count++;
    }
    if (has_columns(t) && t->bytes == 8)
        a->lookups = LANES / QUAD;
    else
        for (uint64_t at = begin; at < end; at += group_bytes)
            a->lookups = (uint16_t)(a->lookups + (at + group_bytes - 1) / RP_REC_LINE_BYTES -
                                    at / RP_REC_LINE_BYTES + 1);
    return true;
}

/**
 * Appends the lines to a wave's record and counts them in *a, once for an access.
 * @return false when the host is out of memory
 */
static bool lane_access_lines(struct rp_rec_wave *w, struct rp_rec_access *a,
                              const struct rp_lane_access *t)
{
    struct finder lines;
    struct cover cover[MOST_LINES]; /* of writes */
    uint8_t looked[MOST_LINES];     /* a bit for each group of lanes that looks the line up */
    const bool writes = t->flags & RP_REC_WRITES;
    if (side_by_side(t) && (t->bytes >= 4 || !(t->flags & RP_REC_ATOMIC)))
        return access_row(w, a, t);
    if (!rp_rec_grow(w, 0, 0, (uint32_t)__builtin_popcountll(t->lanes) * MOST_PIECES))
        return false;
    finder_init(&lines);
    struct rp_rec_line *line = w->line + a->first_line;
    FOR_LANES(lane, t->lanes)
    {
        uint64_t at = t->va[lane];
        for (unsigned left = t->bytes, part; left; left -= part, at += part) {
            const unsigned in_line = (unsigned)(at % RP_REC_LINE_BYTES);
            const uint64_t number = at / RP_REC_LINE_BYTES & RP_REC_LINE_NUMBERS;
            part = RP_REC_LINE_BYTES - in_line < left ? RP_REC_LINE_BYTES - in_line : left;
            const unsigned index = finder_add(&lines, number);
            if (index == a->line_count) {
                line[a->line_count++] = (struct rp_rec_line){.number = number, .deepest = 1};
                cover[index] = (struct cover){{0}};
                looked[index] = 0;
                w->line_count++;
            }
            const unsigned first = in_line / RP_REC_SECTOR_BYTES;
            const unsigned last = (in_line + part - 1) / RP_REC_SECTOR_BYTES;
            const uint8_t group = (uint8_t)(1u << lane / LOOKUP_LANES);
            line[index].sectors |= ((2u << last) - (1u << first)) & 15;
            line[index].lanes += line[index].lanes < LANES;
            if (writes)
                cover_bytes(&cover[index], in_line, part);
            a->lookups = (uint16_t)(a->lookups + !(looked[index] & group));
            looked[index] |= group;
        }
    }
    for (unsigned i = 0; i < a->line_count && writes; i++)
        line[i].whole |= whole_sectors(&cover[i]);
    if (has_columns(t) && column_lookups(t) > a->lookups)
        a->lookups = (uint16_t)column_lookups(t);
    if (t->flags & RP_REC_ATOMIC)
        count_depths(line, &lines, t);
    return true;
}

/* ---- LDS ----------------------------------------------------------------------------------- */

/* Returns how many banks of 4 bytes the LDS has for an access. gfx950 reads from twice as many
 * (AMD's ROCm blog, "FP8 GEMM Optimization on AMD CDNA4 Architecture"); of writes nothing is said,
 * so they are taken to go as on gfx942. */
static unsigned banks_for(const struct rp_lane_access *t)
{
    const bool wide = rp_isa_target_get() == RP_ISA_GFX950 && !(t->flags & RP_REC_WRITES);
    return wide ? 64 : 32;
}

/* These are the dwords that the lanes of one clock want of each bank. */
struct banks {
    unsigned of;                  /**< how many banks there are */
    uint32_t dword[BANKS][LANES]; /**< different ones */
    uint8_t count[BANKS];
};

static void want(struct banks *b, uint32_t dword)
{
    const unsigned bank = dword % b->of;
    unsigned i = b->count[bank];
    while (i > 0 && b->dword[bank][i - 1] != dword)
        i--;
    if (!i && b->count[bank] < LANES)
        b->dword[bank][b->count[bank]++] = dword;
}

static unsigned fullest(const struct banks *b)
{
    unsigned most = 0;
    for (unsigned i = 0; i < BANKS; i++)
        most = b->count[i] > most ? b->count[i] : most;
    return most;
}

/* Tests whether no two lanes want different dwords of a bank. Lanes that want the same usually
 * follow each other. It is inline, so that the number of dwords is a constant.
 */
static inline __attribute__((always_inline)) bool
free_of_conflicts(const struct rp_lane_access *t, uint64_t set, unsigned dwords, unsigned banks)
{
    uint64_t seen = 0;
    uint32_t first[BANKS], conflict = 0, last = UINT32_MAX;
    for (unsigned lane = (unsigned)__builtin_ctzll(set); lane < LANES && set >> lane; lane++) {
        const uint32_t dword = (uint32_t)(t->va[lane] / 4);
        if (dword == last || !(set >> lane & 1))
            continue;
        last = dword;
        for (unsigned i = 0; i < dwords; i++) {
            const uint32_t bank = (dword + i) % banks;
            if (seen >> bank & 1)
                conflict |= first[bank] ^ (dword + i);
            else
                first[bank] = dword + i;
            seen |= 1ull << bank;
        }
    }
    return !conflict;
}

/* Decides quickly, for aligned dwords, whether the access is free of conflicts. @return false: it
 * may have conflicts
 */
static bool simply_free(const struct rp_lane_access *t, uint64_t set, unsigned banks)
{
    switch (t->bytes) {
    case 4:
        return free_of_conflicts(t, set, 1, banks);
    case 8:
        return free_of_conflicts(t, set, 2, banks);
    case 16:
        return free_of_conflicts(t, set, 4, banks);
    default:
        return false;
    }
}

static bool aligned(const struct rp_lane_access *t)
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
static unsigned atomic_clocks(const struct rp_lane_access *t, uint64_t set)
{
    uint8_t count[BANKS] = {0};
    unsigned most = 0;
    FOR_LANES(lane, set)
    for (uint64_t at = t->va[lane] & ~3ull; at < t->va[lane] + t->bytes; at += 4)
        count[at / 4 % banks_for(t)]++;
    for (unsigned i = 0; i < BANKS; i++)
        most = count[i] > most ? count[i] : most;
    return most;
}

static unsigned clocks_of(const struct rp_lane_access *t, uint64_t set, bool dwords)
{
    struct banks banks;
    if (t->flags & RP_REC_ATOMIC)
        return atomic_clocks(t, set);
    banks.of = banks_for(t);
    if (dwords && simply_free(t, set, banks.of))
        return 1;
    __builtin_memset(banks.count, 0, sizeof banks.count);
    FOR_LANES(lane, set)
    for (uint64_t at = t->va[lane] & ~3ull; at < t->va[lane] + t->bytes; at += 4)
        want(&banks, (uint32_t)(at / 4));
    return fullest(&banks);
}

/* Finds the lanes of each clock. Those of a load of 16 bytes do not lie side by side: Composable
 * Kernel's documentation, "Understanding AMD GPU LDS and Bank Conflicts"; for gfx950 as in
 * banks_for().
 */
static unsigned sets_of(const struct rp_lane_access *t, uint64_t ret[LANES / 8])
{
    static const uint32_t wide_reads[] = {0x00f0000f, 0x000f00f0, 0xf0000f00, 0x0f00f000};
    static const uint32_t wider_reads[] = {0x0ff0f00f, 0xf00f0ff0};
    const unsigned banks = banks_for(t), dwords = t->bytes <= 4 ? 1 : t->bytes <= 8 ? 2 : 4;
    const unsigned at_once = banks / dwords;
    const bool wide_read = t->bytes == 16 && !(t->flags & RP_REC_WRITES);
    for (unsigned i = 0; i < LANES / at_once; i++) {
        const uint64_t wide = banks == 64 ? (uint64_t)wider_reads[i % 2] << i / 2 * 32
                                          : (uint64_t)wide_reads[i % 4] << i / 4 * 32;
        ret[i] = t->lanes & (wide_read ? wide : low_bits(at_once) << i * at_once);
    }
    return LANES / at_once;
}

/**
 * Adds the clocks the LDS needs: it has 32 banks of 4 bytes (CDNA3 ISA guide, "LDS"), for reads
 * of gfx950 64, and serves in each clock as many lanes as fill them (of 32: 32 lanes of a dword, 16
 * of two, 8 of more; loads of 16 bytes take lanes 0 to 3 with 20 to 23, and so on), unless two of
 * these want different dwords of one bank. Atomics on the same dword come one after another.
 * @param t  addresses are offsets in the LDS
 */
static void lane_access_lds(struct rp_rec_access *a, const struct rp_lane_access *t)
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

enum { DWORD = 4 };

/* ---- LDS ----------------------------------------------------------------------------------- */

static void pattern_access_row(const uint32_t *row, uint32_t from_row, struct rp_rec_access *a,
                               const struct rp_lane_access *t)
{
    uint64_t va[RP_PATTERN_CACHE_LANES];
    struct rp_lane_access touch = *t;
    touch.va = va;
    for (unsigned i = 0; i < RP_PATTERN_CACHE_LANES; i++)
        va[i] = (uint32_t)(row[i] + from_row);
    lane_access_lds(a, &touch);
}

/**
 * Does the same as lane_access_lds() for addresses that are a row of registers and a distance
 * from there.
 * @param patterns  NULL: nothing is remembered
 * @param key  what is alike mostly has the same
 */
static void pattern_cache_lds(struct rp_pattern_cache *patterns, uint32_t key,
                              const uint32_t row[RP_PATTERN_CACHE_LANES], uint32_t from_row,
                              struct rp_rec_access *a, const struct rp_lane_access *t)
{
    if (!patterns) {
        pattern_access_row(row, from_row, a, t);
        return;
    }
    const uint8_t part = (row[0] + from_row) % DWORD;
    /* A loop takes the parts of a dword by turns. */
    struct rp_pattern_cache_lds *l =
        &patterns->lds[(key + part * (RP_PATTERN_CACHE_LDS / DWORD)) % RP_PATTERN_CACHE_LDS];
    if (!t->lanes || l->lanes != t->lanes || l->bytes != t->bytes || l->flags != t->flags ||
        l->part != part || !patterns->loops->same_steps(row, l->distance)) {
        struct rp_rec_access only = {0};
        pattern_access_row(row, from_row, &only, t);
        *l = (struct rp_pattern_cache_lds){.lanes = t->lanes,
                                           .bytes = t->bytes,
                                           .flags = t->flags,
                                           .part = part,
                                           .clocks = only.lds_clocks,
                                           .conflict_clocks = only.lds_conflict_clocks};
        for (unsigned i = 0; i < RP_PATTERN_CACHE_LANES; i++)
            l->distance[i] = row[i] - row[0];
    }
    a->lds_clocks = (uint16_t)(a->lds_clocks + l->clocks);
    a->lds_conflict_clocks = (uint16_t)(a->lds_conflict_clocks + l->conflict_clocks);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Only lanes that take part have addresses. */
static bool is_same_pattern(const struct rp_mem_lanes *loops,
                            const struct rp_pattern_cache_lines *l, const uint64_t *va,
                            uint64_t lanes)
{
    uint64_t differ = 0;
    if (lanes == ~0ull)
        return loops->same_steps64(va, l->distance);
    const uint64_t first = va[__builtin_ctzll(lanes)];
    for (; lanes; lanes &= lanes - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(lanes);
        differ |= (va[lane] - first) ^ l->distance[lane];
    }
    return !differ;
}

static void remember(struct rp_pattern_cache_begin *at, const struct rp_rec_wave *w,
                     const struct rp_rec_access *a, uint64_t first)
{
    at->first = first;
    at->record = 0;
    at->lookups = a->lookups;
    at->line_count = a->line_count;
    memcpy(at->line, w->line + a->first_line, a->line_count * sizeof *at->line);
}

static void set_pattern(struct rp_pattern_cache_lines *l, const struct rp_lane_access *t,
                        uint64_t first)
{
    l->lanes = t->lanes;
    l->bytes = t->bytes;
    l->flags = t->flags;
    l->known = 0;
    FOR_LANES(lane, t->lanes)
    l->distance[lane] = t->va[lane] - first;
}

/* Returns the number of a pattern in the wave's record, or -1: it must be written out. */
static int number_of(struct rp_pattern_cache_begin *at, struct rp_rec_patterns *patterns)
{
    if (!patterns || at->line_count < 2)
        return -1;
    if (at->record != patterns->serial) {
        at->record = patterns->serial;
        at->number =
            rp_rec_pattern_add(patterns, at->line, at->line_count, at->first / RP_REC_LINE_BYTES);
    }
    return at->number;
}

/* Appends the lines of a remembered pattern that begins at @p first. */
static bool repeat(struct rp_pattern_cache_begin *at, struct rp_rec_wave *w,
                   struct rp_rec_access *a, uint64_t first)
{
    const uint64_t further = (first - at->first) / RP_REC_LINE_BYTES;
    const int number = number_of(at, w->patterns);
    if (!rp_rec_grow(w, 0, 0, number < 0 ? at->line_count : 1))
        return false;
    struct rp_rec_line *line = w->line + w->line_count;
    a->line_count = at->line_count;
    a->lookups = at->lookups;
    if (number >= 0) {
        const struct rp_rec_repeat packed = {.first =
                                                 first / RP_REC_LINE_BYTES & RP_REC_LINE_NUMBERS,
                                             .pattern = (uint32_t)number & (RP_REC_PATTERNS - 1)};
        memcpy(line, &packed, sizeof packed);
        a->space |= RP_REC_PACKED;
        w->line_count++;
        w->packed_lines += at->line_count - 1u;
        return true;
    }
    for (unsigned i = 0; i < at->line_count; i++) {
        line[i] = at->line[i];
        line[i].number = (line[i].number + further) & RP_REC_LINE_NUMBERS;
    }
    w->line_count += at->line_count;
    return true;
}

/** Does the same as lane_access_lines() with remembered patterns. */
static bool pattern_cache_lines(struct rp_pattern_cache *patterns, uint32_t key,
                                struct rp_rec_wave *w, struct rp_rec_access *a,
                                const struct rp_lane_access *t)
{
    const uint64_t first = t->lanes ? t->va[__builtin_ctzll(t->lanes)] : 0;
    if (!patterns || !t->lanes || first % 4)
        return lane_access_lines(w, a, t);
    struct rp_pattern_cache_lines *l = &patterns->vmem[key % RP_PATTERN_CACHE_VMEM];
    const unsigned begin = (unsigned)(first % RP_REC_LINE_BYTES / 4);
    struct rp_pattern_cache_begin *at = &l->at[begin];
    if (l->lanes != t->lanes || l->bytes != t->bytes || l->flags != t->flags ||
        !is_same_pattern(patterns->loops, l, t->va, t->lanes))
        set_pattern(l, t, first);
    else if (l->known >> begin & 1)
        return repeat(at, w, a, first);
    if (!lane_access_lines(w, a, t))
        return false;
    if (a->line_count <= RP_PATTERN_CACHE_LINES) {
        remember(at, w, a, first);
        l->known |= 1u << begin;
    }
    return true;
}

/* One execution of one instruction by one wave is described as the timing model needs it. */

/* Returns what a vector memory instruction does. */
static uint8_t vmem_flags(const struct rp_insn *in)
{
    uint8_t flags = 0;
    switch (rp_op_rows[in->op].access) {
    case RP_ACCESS_LOAD:
        flags = RP_REC_READS;
        break;
    case RP_ACCESS_STORE:
        flags = RP_REC_WRITES;
        break;
    case RP_ACCESS_ATOMIC:
    case RP_ACCESS_CMPSWAP:
        flags = RP_REC_WRITES | RP_REC_ATOMIC | (in->flags & RP_IF_SC0 ? RP_REC_READS : 0);
        break;
    default: /* This is cache control. */
        return 0;
    }
    const bool atomic = flags & RP_REC_ATOMIC;
    if (in->flags & RP_IF_SC1 || (!atomic && in->flags & RP_IF_SC0))
        flags |= RP_REC_PAST_L1;
    if (in->flags & RP_IF_SC1)
        flags |= RP_REC_PAST_L2;
    if (in->flags & RP_IF_NT)
        flags |= RP_REC_STREAM;
    if (in->flags & RP_IF_LDS)
        flags |= RP_REC_TO_LDS;
    return flags;
}

/* ---- vector memory ------------------------------------------------------------------------- */

/* Made-up address of a lane's private memory: each wave that can be resident has its own. */
static uint64_t private_va(const struct rp_wave *w, unsigned lane, uint32_t offset)
{
    const struct rp_kernel *k = &w->group->dispatch->kernel;
    const uint64_t wave = w->group->linear_id * k->waves_per_group + w->id_in_group;
    const uint64_t place = k->resident_waves ? wave % k->resident_waves : 0;
    return RP_REC_PRIVATE_VA + place * w->scratch_lane_bytes * RP_LANES +
           ((uint64_t)(offset / DWORD) * RP_LANES + lane) * DWORD + offset % DWORD;
}

/* Lanes are divided by the memory that they reach. */
struct reach {
    uint64_t va[RP_LANES];
    uint64_t lanes[3]; /**< by enum rp_space */
};

static void reach_scratch(struct rp_wave *w, const struct rp_insn *in, uint64_t exec,
                          struct reach *ret)
{
    uint32_t base = (uint32_t)in->offset;
    if (in->flags & RP_IF_SADDR)
        base += rp_opnd_u32(w, &in->src[2]);
    const uint32_t *v = in->flags & RP_IF_VADDR ? rp_rows(w, &in->src[0])[0] : NULL;
    RP_FOR_LANES(lane, exec)
    ret->va[lane] = private_va(w, lane, base + (v ? v[lane] : 0));
    ret->lanes[RP_SPACE_PRIVATE] = exec;
}

static void reach_flat(struct rp_wave *w, const struct rp_insn *in, uint64_t exec,
                       struct reach *ret)
{
    const struct rp_exec_host *host = rp_wave_host(w);
    rp_flat_addresses(w, in, ret->va);
    if (in->seg == RP_SEG_GLOBAL) {
        ret->lanes[RP_SPACE_GLOBAL] = exec;
        return;
    }
    RP_FOR_LANES(lane, exec)
    {
        const enum rp_space space = rp_space_of(host, ret->va[lane]);
        ret->lanes[space] |= 1ull << lane;
        if (space == RP_SPACE_PRIVATE)
            ret->va[lane] = private_va(w, lane, (uint32_t)ret->va[lane]);
        else if (space == RP_SPACE_LDS)
            ret->va[lane] = (uint32_t)ret->va[lane];
    }
}

/* Most resources are a plain range of bytes, with an offset of each lane that is inside: then
 * addresses are found for all lanes at once. @return false: it is otherwise */
static bool reach_range(const struct rp_buffer *b, unsigned bytes, struct reach *ret)
{
    const uint64_t start = b->base + b->scalar_offset;
    uint64_t last = 0;
    if (b->private || b->index || !b->offset || b->add_lane || b->swizzled || b->unchecked ||
        b->by_record)
        return false;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint32_t offset = b->offset[lane] + b->inst_offset;
        ret->va[lane] = start + offset;
        last |= (uint64_t)((int64_t)b->num_records -
                           (int64_t)((uint64_t)offset + b->scalar_offset + bytes));
    }
    return (int64_t)last >= 0;
}

static void reach_resource(const struct rp_buffer *b, uint64_t exec, unsigned bytes,
                           struct reach *ret)
{
    if (reach_range(b, bytes, ret)) {
        ret->lanes[RP_SPACE_GLOBAL] = exec;
        return;
    }
    RP_FOR_LANES(lane, exec)
    {
        if (!rp_buffer_inside(b, lane, 0, bytes))
            continue;
        ret->va[lane] = rp_buffer_at(b, lane, 0);
        const enum rp_space space = b->private ? RP_SPACE_PRIVATE : RP_SPACE_GLOBAL;
        if (b->private) /* The addresses are already interleaved. */
            ret->va[lane] += RP_REC_PRIVATE_VA - RP_SCRATCH_BASE_VA;
        ret->lanes[space] |= 1ull << lane;
    }
}

static void reach_buffer(struct rp_wave *w, const struct rp_insn *in, uint64_t exec, unsigned bytes,
                         struct reach *ret)
{
    struct rp_buffer b;
    if (in->src[2].kind != RP_OPND_SGPR || in->src[2].index + 4 > RP_SGPR_COUNT ||
        rp_buffer_open(w, in, &b))
        return; /* The instruction faults when it is executed, or is cache control. */
    reach_resource(&b, exec, bytes < DWORD ? bytes : DWORD, ret);
}

static bool observe_vmem(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                         const struct rp_insn *in)
{
    const uint64_t exec = RP_EXEC(w);
    struct reach reach = {.lanes = {0}};
    a->flags = vmem_flags(in);
    a->lane_bytes = rp_op_rows[in->op].bytes;
    if (in->fmt != RP_FMT_FLAT)
        reach_buffer(w, in, exec, a->lane_bytes, &reach);
    else if (in->seg == RP_SEG_SCRATCH)
        reach_scratch(w, in, exec, &reach);
    else
        reach_flat(w, in, exec, &reach);
    a->lanes =
        (uint8_t)__builtin_popcountll(reach.lanes[RP_SPACE_GLOBAL] | reach.lanes[RP_SPACE_PRIVATE]);
    if (reach.lanes[RP_SPACE_PRIVATE])
        a->flags |= RP_REC_PRIVATE;
    struct rp_lane_access t = {.va = reach.va, .bytes = a->lane_bytes, .flags = a->flags};
    t.lanes = reach.lanes[RP_SPACE_LDS];
    if (t.lanes)
        lane_access_lds(a, &t);
    if (in->flags & RP_IF_LDS) /* The result goes to the LDS, lane by lane and side by side. */
        a->lds_clocks = (uint16_t)(a->lds_clocks + 2);
    t.lanes = reach.lanes[RP_SPACE_GLOBAL] | reach.lanes[RP_SPACE_PRIVATE];
    /* Loads through the same registers mostly have one pattern, wherever they stand in a loop. */
    const uint32_t key = in->src[0].index + in->op * 5u;
    return !t.lanes || pattern_cache_lines(w->run_log->observer_data, key, r, a, &t);
}

/* ---- LDS ----------------------------------------------------------------------------------- */

static void observe_lds(struct rp_rec_access *a, struct rp_wave *w, const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const unsigned unit = row->step;
    const bool reads = row->dst != RP_T_NONE, takes = row->src[1] != RP_T_NONE;
    struct rp_lane_access t = {.lanes = RP_EXEC(w)};
    a->space = RP_REC_SHARED;
    a->lanes = (uint8_t)__builtin_popcountll(t.lanes);
    a->flags = (uint8_t)((reads ? RP_REC_READS : 0) | (takes ? RP_REC_WRITES : 0));
    if ((row->access == RP_ACCESS_ATOMIC || row->access == RP_ACCESS_CMPSWAP) && !unit)
        a->flags |= RP_REC_ATOMIC;
    t.bytes = row->bytes;
    t.flags = a->flags;
    a->lane_bytes = (uint8_t)(t.bytes * (unit ? 2 : 1));
    /* The lanes exchange values, or lie side by side. */
    if (row->access == RP_ACCESS_EXCHANGE || row->src[0] == RP_T_NONE) {
        a->flags &= (uint8_t)~RP_REC_ATOMIC;
        a->lds_clocks = t.lanes ? 2 : 0;
        return;
    }
    const uint32_t *address = rp_rows(w, &in->src[0])[0];
    for (unsigned which = 0; which < (unit ? 2 : 1); which++) {
        const uint32_t offset = unit ? ((uint32_t)in->offset >> 8 * which & 0xff) * unit
                                     : (uint32_t)in->offset & 0xffff;
        pattern_cache_lds(w->run_log->observer_data, in->src[0].index * 4u + in->op, address,
                          offset, a, &t);
    }
}

/* ---- scalar memory ------------------------------------------------------------------------- */

enum { PAGE_BYTES = 4096, PACKET_BYTES = 64 };

/* Where the arguments of a launch lie, and its packet, depends on how many there were before it. In
 * records they have made-up addresses, so that launches that do the same are alike.
 */
static const uint64_t OWN_PAGES = RP_REC_OWN_VA + PAGE_BYTES;

static uint64_t recorded_va(const struct rp_dispatch *d, uint64_t va)
{
    const uint64_t args = d->launch.kernarg_va, packet = d->launch.packet_va;
    if (va - args < d->kernel.kernarg_bytes)
        return OWN_PAGES + (va - args);
    if (va - packet < PACKET_BYTES)
        return OWN_PAGES - PAGE_BYTES + (va - packet);
    return va;
}

static bool observe_smem(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                         const struct rp_insn *in)
{
    const struct rp_op_row *row = &rp_op_rows[in->op];
    const bool buffer = row->src[2] == RP_T_B128;
    const unsigned reads = rp_type_dwords(row->dst), takes = rp_type_dwords(row->src[0]);
    uint64_t va[RP_LANES];
    a->space = RP_REC_SCALAR;
    if (row->src[2] == RP_T_NONE || !(reads || takes) || (buffer && !rp_sgprs_fit(&in->src[2])))
        return true; /* Clocks and cache control access no line. */
    a->flags = (uint8_t)((reads ? RP_REC_READS : 0) | (takes ? RP_REC_WRITES : 0) |
                         (reads && takes ? RP_REC_ATOMIC : 0));
    va[0] = buffer ? rp_smem_buffer(w, in).va : rp_smem_address(w, in);
    va[0] = recorded_va(w->group->dispatch, va[0]);
    struct rp_lane_access t = {.va = va, .lanes = 1, .bytes = row->bytes, .flags = a->flags};
    a->lanes = 1;
    a->lane_bytes = (uint8_t)t.bytes;
    return lane_access_lines(r, a, &t);
}

/* ---- instructions -------------------------------------------------------------------------- */

static bool observe_memory(struct rp_rec_wave *r, struct rp_rec_access *a, struct rp_wave *w,
                           const struct rp_insn *in)
{
    if (in->fmt == RP_FMT_SMEM)
        return observe_smem(r, a, w, in);
    if (in->fmt != RP_FMT_DS)
        return observe_vmem(r, a, w, in);
    if (!(in->flags & RP_IF_GDS)) /* Messages to other workgroups access nothing. */
        observe_lds(a, w, in);
    return true;
}

static bool note_access(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in,
                        uint64_t index)
{
    if (!rp_rec_grow(r, 0, 1, 0))
        return false;
    struct rp_rec_access *a = &r->access[r->access_count];
    *a = (struct rp_rec_access){.step = index < UINT32_MAX ? (uint32_t)index : UINT32_MAX,
                                .first_line = r->line_count};
    if (!observe_memory(r, a, w, in)) {
        r->line_count = a->first_line;
        return false;
    }
    r->access_count++;
    return true;
}

static void lose(struct rp_rec_wave *r)
{
    r->closed = r->full = r->lost = true;
}

void rp_observe_access(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_rec_wave *r = w->record;
    const uint64_t index = r->insts - 1;
    if (r->lines_only && in->fmt == RP_FMT_DS)
        return;
    if (index >= r->step_count) {
        r->full |= (uint64_t)r->access_count * sizeof *r->access +
                       ((uint64_t)r->line_count + r->packed_lines) * sizeof *r->line >=
                   r->most_bytes;
        if (r->full)
            return;
    }
    if (!note_access(r, w, in, index))
        lose(r);
}

static struct rp_pattern_cache *patterns_new(const struct rp_mem_lanes *loops)
{
    struct rp_pattern_cache *patterns = calloc(1, sizeof *patterns);
    if (patterns)
        patterns->loops = loops;
    return patterns;
}

/* Tests whether the record has room for more; otherwise the rest of what the wave does is not
 * kept.
 */
bool rp_observe_turn(struct rp_wave *w)
{
    if (w->record->closed && w->record->full)
        return false;
    if (!w->run_log->observer_data) /* Without it the dispatch only takes longer. */
        w->run_log->observer_data = patterns_new(rp_lanes_of(w));
    return true;
}

static void keep_step(struct rp_rec_wave *r, int64_t distance)
{
    r->insts++;
    r->closed |= r->step_count >= r->limit || distance != (int32_t)distance;
    if (r->closed)
        return;
    if (rp_rec_grow(r, 1, 0, 0))
        r->step[r->step_count++] = (uint32_t)(int32_t)distance;
    else
        lose(r);
}

void rp_observe_issue(struct rp_wave *w, const struct rp_insn *in, uint64_t pc)
{
    if (w->record->keeps_masks && !w->record->closed && !rp_rec_note_mask(w->record, RP_EXEC(w)))
        lose(w->record);
    keep_step(w->record, (int64_t)(pc - w->group->dispatch->kernel.entry_va) / DWORD);
    if (in->cost_class == RP_COST_VMEM || in->cost_class == RP_COST_LDS ||
        in->cost_class == RP_COST_SMEM)
        rp_observe_access(w, in);
}

void rp_observe_run(struct rp_wave *w, const struct rp_insn *page, uint32_t first, uint32_t end,
                    int64_t distance)
{
    struct rp_rec_wave *r = w->record;
    if (r->closed) {
        for (uint32_t slot = first; slot < end; slot += page[slot].size_bytes / DWORD)
            r->insts++;
        return;
    }
    const bool fits = end - first <= r->limit - r->step_count &&
                      distance + first == (int32_t)(distance + first) &&
                      distance + end == (int32_t)(distance + end) &&
                      rp_rec_grow(r, end - first, 0, 0);
    if (!fits) {
        for (uint32_t slot = first; slot < end; slot += page[slot].size_bytes / DWORD)
            keep_step(r, distance + slot);
        return;
    }
    uint32_t *step = r->step + r->step_count;
    for (uint32_t slot = first; slot < end; slot += page[slot].size_bytes / DWORD)
        *step++ = (uint32_t)(int32_t)distance + slot;
    r->insts += (uint64_t)(step - r->step) - r->step_count;
    r->step_count = (uint32_t)(step - r->step);
}
