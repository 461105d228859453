/*
 * What lanes touch: lines and LDS clocks of an access against counting them byte by byte (lanes
 * side by side and alike, which have ways of their own, and all kinds of others); and what is
 * remembered of accesses against looking at each anew: patterns that come again further on, and
 * others between.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/cmocka_all.h"

#include "device/timing/wave_observer.c"

/* ---- lines and clocks ---- */

enum { CASES = 40000 };

static uint32_t seed = 7;

static uint32_t next_random(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 4) * below >> 28);
}

/* Addresses of some pattern within a few KiB. */
static void fill(uint64_t va[LANES], unsigned bytes, bool aligned)
{
    const uint64_t base = 0x10000 + (aligned ? 4 * next_random(512) : next_random(2048));
    const unsigned pattern = next_random(6);
    const uint64_t strides[] = {bytes, 0, 64, 128, 4, 132};
    for (unsigned lane = 0; lane < LANES; lane++)
        switch (pattern) {
        case 4: /* rows of 16, as in a product of matrices */
            va[lane] = base + (uint64_t)(lane / 16) * 64 + (aligned ? 0 : lane % 16 * bytes);
            break;
        case 5:
            va[lane] = base + (aligned ? 4 * next_random(256) : next_random(4096));
            break;
        default:
            va[lane] = base + lane * strides[next_random(100) ? pattern : pattern + 1];
        }
}

static uint64_t some_lanes(void)
{
    switch (next_random(4)) {
    case 0:
        return (uint64_t)next_random(1 << 28) << next_random(36);
    case 1:
        return ~0ull >> next_random(64);
    default:
        return ~0ull;
    }
}

struct slow_line {
    uint64_t number;
    uint8_t written[128], touched[128];
    unsigned lanes, deepest;
};

/* Line by line in the order of the lowest lane. */
static unsigned lines_slowly(const struct rp_lane_access *t, struct slow_line *ret,
                             unsigned *ret_lookups)
{
    unsigned count = 0;
    *ret_lookups = 0;
    for (unsigned group = 0; group < 4; group++) {
        uint64_t looked[64 * 2];
        unsigned looks = 0;
        for (unsigned lane = 16 * group; lane < 16 * group + 16; lane++) {
            uint64_t latest = UINT64_MAX;
            for (unsigned b = 0; b < t->bytes && t->lanes >> lane & 1; b++) {
                const uint64_t at = t->va[lane] + b;
                unsigned i = 0, k = 0;
                while (i < count && ret[i].number != at / 128)
                    i++;
                if (i == count)
                    ret[count++] = (struct slow_line){.number = at / 128};
                ret[i].touched[at % 128] = 1;
                ret[i].written[at % 128] |= (t->flags & RP_REC_WRITES) != 0;
                if (latest != at / 128)
                    ret[i].lanes++;
                latest = at / 128;
                while (k < looks && looked[k] != at / 128)
                    k++;
                if (k == looks)
                    looked[looks++] = at / 128;
            }
        }
        *ret_lookups += looks;
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            unsigned same = 0;
            for (unsigned other = 0; other < LANES; other++)
                same += t->lanes >> other & 1 && t->va[other] / 4 == t->va[lane] / 4;
            if (t->lanes >> lane & 1 && t->va[lane] / 128 == ret[i].number && same > ret[i].deepest)
                ret[i].deepest = same;
        }
    return count;
}

static void check_line(const struct rp_rec_line *got, const struct slow_line *expected,
                       uint8_t flags)
{
    assert_int_equal(got->number, expected->number);
    assert_int_equal(got->lanes, expected->lanes);
    for (unsigned s = 0; s < 4; s++) {
        bool touched = false, whole = true;
        for (unsigned b = 32 * s; b < 32 * s + 32; b++) {
            touched |= expected->touched[b];
            whole &= expected->written[b];
        }
        assert_int_equal(got->sectors >> s & 1, touched);
        assert_int_equal(got->whole >> s & 1, whole);
    }
    if (flags & RP_REC_ATOMIC)
        assert_int_equal(got->deepest, expected->deepest ? expected->deepest : 1);
}

static void lines_are_those_of_the_bytes(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {RP_REC_READS, RP_REC_WRITES,
                                    RP_REC_READS | RP_REC_WRITES | RP_REC_ATOMIC};
    static struct slow_line expected[LANES * 2];
    for (unsigned i = 0; i < CASES / 4; i++) {
        static const unsigned widths[] = {1, 2, 4, 8, 12, 16};
        uint64_t va[LANES];
        struct rp_lane_access t = {.va = va, .lanes = some_lanes(), .flags = kinds[next_random(3)]};
        struct rp_rec_wave w = {0};
        struct rp_rec_access a = {0};
        unsigned lookups;
        t.bytes = t.flags & RP_REC_ATOMIC ? 4 : widths[next_random(6)];
        fill(va, t.bytes, t.flags & RP_REC_ATOMIC);
        assert_true(lane_access_lines(&w, &a, &t));
        assert_int_equal(a.line_count, lines_slowly(&t, expected, &lookups));
        assert_int_equal(w.line_count, a.line_count);
        assert_int_equal(a.lookups, lookups);
        for (unsigned k = 0; k < a.line_count; k++)
            check_line(&w.line[k], &expected[k], t.flags);
        free(w.step);
        free(w.access);
        free(w.line);
    }
}

/*
 * Composable Kernel's documentation, "Understanding AMD GPU LDS and Bank Conflicts": the lanes that
 * ds_read_b128 reads at a time; all others 128 bytes of lanes side by side.
 */
static unsigned clock_of(const struct rp_lane_access *t, unsigned lane)
{
    static const uint8_t wide_read[] = {0, 1, 2, 3, 1, 0, 3, 2};
    if (t->bytes == 16 && t->flags == RP_REC_READS)
        return lane / 32 * 4 + wide_read[lane % 32 / 4];
    return lane / (t->bytes <= 4 ? 32 : t->bytes <= 8 ? 16 : 8);
}

/* The most different dwords of a bank in each set of lanes; of atomics, all of them. */
static unsigned lds_slowly(const struct rp_lane_access *t, unsigned *ret_conflicts)
{
    unsigned clocks = 0, sets = 0;
    for (unsigned set = 0; set < 8; set++) {
        uint64_t wanted[64 * 8];
        unsigned count = 0, of_bank[32] = {0}, most = 0;
        for (unsigned lane = 0; lane < LANES; lane++)
            for (uint64_t dword = t->va[lane] / 4;
                 t->lanes >> lane & 1 && clock_of(t, lane) == set &&
                 dword <= (t->va[lane] + t->bytes - 1) / 4;
                 dword++) {
                unsigned k = 0;
                while (k < count && wanted[k] != dword)
                    k++;
                if (k == count || t->flags & RP_REC_ATOMIC) {
                    wanted[count++] = dword;
                    of_bank[dword % 32]++;
                }
            }
        for (unsigned bank = 0; bank < 32; bank++)
            most = of_bank[bank] > most ? of_bank[bank] : most;
        clocks += most;
        sets += count > 0;
    }
    *ret_conflicts = clocks - sets;
    return clocks;
}

/*
 * The same document's example: rows of 64 16-bit values, of which a matrix instruction wants 8 in
 * each lane: row lane % 16, column lane / 16. Four-way conflicts in every phase, three quarters of
 * the bandwidth are lost; none when columns are exchanged by an exclusive or with the row. Stores
 * of whole rows have none.
 */
static void wide_loads_of_a_tile_are_as_documented(void **state)
{
    (void)state;
    for (unsigned shuffled = 0; shuffled < 2; shuffled++)
        for (unsigned writes = 0; writes < 2; writes++) {
            uint64_t va[LANES];
            struct rp_rec_access a = {0};
            const struct rp_lane_access t = {.va = va,
                                             .lanes = ~0ull,
                                             .bytes = 16,
                                             .flags = writes ? RP_REC_WRITES : RP_REC_READS};
            for (unsigned lane = 0; lane < LANES; lane++) {
                const unsigned row = writes ? lane / 8 : lane % 16,
                               column = writes ? lane % 8 : lane / 16;
                va[lane] = row * 128 + (shuffled ? column ^ row % 8 : column) * 16;
            }
            lane_access_lds(&a, &t);
            assert_int_equal(a.lds_clocks, shuffled || writes ? 8 : 4 * 8);
            assert_int_equal(a.lds_conflict_clocks, shuffled || writes ? 0 : 3 * 8);
        }
}

static unsigned lds_clocks_of(const uint64_t va[LANES], unsigned bytes, uint8_t flags)
{
    struct rp_rec_access a = {0};
    const struct rp_lane_access t = {.va = va, .lanes = ~0ull, .bytes = bytes, .flags = flags};
    lane_access_lds(&a, &t);
    return a.lds_clocks;
}

/* gfx950 reads 256 bytes in a clock. A tile of 16 rows of 128 bytes, 16 of each lane, and how AMD's
 * blog permutes it ("FP8 GEMM Optimization on AMD CDNA4 Architecture", "Swizzle method"). */
static void gfx950_reads_from_64_banks(void **state)
{
    (void)state;
    uint64_t row[LANES], column[LANES], tile[LANES], permuted[LANES];
    for (unsigned lane = 0; lane < LANES; lane++) {
        const unsigned r = lane % 16, pair = r / 2, perm = pair ^ ((pair / 2 ^ pair / 4) & 1);
        row[lane] = 4 * lane;
        column[lane] = 128 * lane;
        tile[lane] = r * 128 + lane / 16 * 16;
        permuted[lane] = r * 128 + (lane / 16 * 16 ^ perm << 4);
    }
    rp_isa_target_set("gfx950");
    const unsigned clocks[] = {
        lds_clocks_of(row, 4, RP_REC_READS), lds_clocks_of(column, 4, RP_REC_READS),
        lds_clocks_of(tile, 16, RP_REC_READS), lds_clocks_of(permuted, 16, RP_REC_READS),
        lds_clocks_of(row, 4, RP_REC_WRITES)};
    rp_isa_target_set("gfx942");
    const unsigned before[] = {lds_clocks_of(row, 4, RP_REC_READS),
                               lds_clocks_of(column, 4, RP_REC_READS)};
    assert_int_equal(clocks[0], 1);
    assert_int_equal(clocks[1], 32);
    assert_int_equal(clocks[2], 4 * 4);
    assert_int_equal(clocks[3], 4);
    assert_int_equal(clocks[4], 2); /* as on gfx942 */
    assert_int_equal(before[0], 2);
    assert_int_equal(before[1], 64);
}

static void lds_clocks_are_those_of_the_banks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        static const unsigned widths[] = {1, 2, 4, 4, 8, 12, 16, 16};
        uint64_t va[LANES];
        struct rp_lane_access t = {.va = va, .lanes = some_lanes(), .flags = RP_REC_READS};
        struct rp_rec_access a = {0};
        unsigned conflicts;
        if (!next_random(4))
            t.flags |= RP_REC_WRITES | RP_REC_ATOMIC;
        t.bytes = t.flags & RP_REC_ATOMIC ? 4u << next_random(2) : widths[next_random(8)];
        fill(va, t.bytes, t.flags & RP_REC_ATOMIC || next_random(8));
        lane_access_lds(&a, &t);
        assert_int_equal(a.lds_clocks, lds_slowly(&t, &conflicts));
        assert_int_equal(a.lds_conflict_clocks, conflicts);
    }
}

/* ---- the vector L1 ---- */

static unsigned lookups_of(const char *target, unsigned bytes, unsigned stride, uint8_t flags)
{
    uint64_t va[LANES];
    struct rp_rec_wave w = {0};
    struct rp_rec_access a = {0};
    const struct rp_lane_access t = {.va = va, .lanes = ~0ull, .bytes = bytes, .flags = flags};
    for (unsigned lane = 0; lane < LANES; lane++)
        va[lane] = 0x10000 + (uint64_t)lane * stride;
    rp_isa_target_set(target);
    assert_true(lane_access_lines(&w, &a, &t));
    rp_isa_target_set("gfx942");
    free(w.line);
    free(w.access);
    free(w.step);
    return a.lookups;
}

/* 256 or 512 bytes over the published rates of an MI210's compute unit: 59, 7.9, 15.9; 31.8, 7.9
 * bytes. */
static void lanes_of_gfx90a_want_columns(void **state)
{
    (void)state;
    assert_int_equal(lookups_of("gfx90a", 4, 4, RP_REC_READS), 4);
    assert_int_equal(lookups_of("gfx90a", 4, 8, RP_REC_READS), 32);
    assert_int_equal(lookups_of("gfx90a", 4, 12, RP_REC_READS), 16);
    assert_int_equal(lookups_of("gfx90a", 8, 16, RP_REC_READS), 16);
    assert_int_equal(lookups_of("gfx90a", 8, 64, RP_REC_READS), 64);
    assert_int_equal(lookups_of("gfx90a", 4, 0, RP_REC_READS), 4);  /* one dword */
    assert_int_equal(lookups_of("gfx90a", 4, 8, RP_REC_WRITES), 4); /* of stores nothing is known */
    assert_int_equal(lookups_of("gfx942", 4, 8, RP_REC_READS), 4);
    assert_int_equal(lookups_of("gfx942", 8, 16, RP_REC_READS), 8);
}

/* ---- patterns ---- */

enum { PATTERNS = 12, ROUNDS = 20000 };

static uint32_t pattern_seed = 1;

static uint32_t below(uint32_t limit)
{
    pattern_seed = pattern_seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(pattern_seed >> 8) * limit >> 24);
}

struct pattern {
    uint64_t distance[64], lanes;
    uint32_t bytes;
    uint8_t flags;
};

static struct pattern made(unsigned kind)
{
    static const uint32_t widths[] = {1, 2, 4, 8, 16};
    static const uint8_t flags[] = {RP_REC_READS, RP_REC_WRITES, RP_REC_WRITES | RP_REC_ATOMIC};
    struct pattern p = {.bytes = widths[below(5)], .flags = flags[below(3)], .lanes = ~0ull};
    const uint64_t stride = kind % 3 ? 4 * below(40) : p.bytes;

    if (p.flags & RP_REC_ATOMIC && p.bytes < 4)
        p.bytes = 4;
    for (unsigned i = 0; i < 64; i++)
        p.distance[i] = kind % 4 == 3 ? below(4096) : i * stride;
    if (kind % 2)
        p.lanes =
            (uint64_t)below(1u << 24) << 40 | (uint64_t)below(1u << 24) << 12 | 1u << below(9);
    return p;
}

static void lds_clocks_are_the_same(void **state)
{
    (void)state;
    struct rp_pattern_cache *patterns = patterns_new(rp_mem_lanes_best());
    struct pattern pattern[PATTERNS];
    assert_non_null(patterns);
    for (unsigned i = 0; i < PATTERNS; i++)
        pattern[i] = made(i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const struct pattern *p = &pattern[below(PATTERNS)];
        const uint32_t first = below(2) ? 4 * below(10000) : below(40000), more = 4 * below(64);
        uint32_t row[64];
        uint64_t va[64];
        struct rp_rec_access got = {.lds_clocks = 3, .lds_conflict_clocks = 1}, wanted = got;
        struct rp_lane_access t = {
            .va = va, .lanes = p->lanes, .bytes = p->bytes, .flags = p->flags};
        for (unsigned i = 0; i < 64; i++) {
            row[i] = first + (uint32_t)p->distance[i];
            va[i] = row[i] + more;
        }
        lane_access_lds(&wanted, &t);
        t.va = NULL; /* it is given the row */
        pattern_cache_lds(patterns, below(4), row, more, &got, &t);
        assert_memory_equal(&got, &wanted, sizeof got);
    }
    free(patterns);
}

static void same_lines(const struct rp_rec_wave *got, const struct rp_rec_access *a,
                       const struct rp_rec_wave *wanted)
{
    assert_int_equal(a->line_count, wanted->line_count);
    assert_int_equal(got->line_count + got->packed_lines, wanted->line_count);
    for (uint32_t i = 0; i < a->line_count; i++) {
        const struct rp_rec_line line = rp_rec_line_of(got, a, i);
        assert_memory_equal(&line, &wanted->line[i], sizeof line);
    }
}

/* Patterns that come again are packed, if @p patterns_of is there. Returns how many were. */
static unsigned compare_lines(struct rp_rec_patterns *patterns_of)
{
    unsigned packed = 0;
    struct rp_pattern_cache *patterns = patterns_new(rp_mem_lanes_best());
    struct rp_rec_wave got = {.patterns = patterns_of}, wanted = {0};
    struct pattern pattern[PATTERNS];
    assert_non_null(patterns);
    for (unsigned i = 0; i < PATTERNS; i++)
        pattern[i] = made(i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        /* An instruction has a pattern for a while, and begins at any dword of a line. */
        const uint32_t key = below(4);
        const struct pattern *p = &pattern[(round / 64 + key) % PATTERNS];
        const uint64_t first = 128ull * below(1 << 20) + (below(2) ? 4 * below(8) : below(128));
        uint64_t va[64];
        struct rp_rec_access a = {.lookups = 0}, b = a;
        const struct rp_lane_access t = {
            .va = va, .lanes = p->lanes, .bytes = p->bytes, .flags = p->flags};
        for (unsigned i = 0; i < 64; i++) /* of others there is anything */
            va[i] =
                p->lanes >> i & 1 ? 0x7f0000000000 + first + p->distance[i] : pattern_seed * 77ull;
        got.line_count = got.packed_lines = wanted.line_count = 0;
        assert_true(lane_access_lines(&wanted, &b, &t));
        assert_true(pattern_cache_lines(patterns, key, &got, &a, &t));
        same_lines(&got, &a, &wanted);
        packed += a.space == RP_REC_PACKED;
        a.space &= (uint8_t)~RP_REC_PACKED;
        assert_memory_equal(&a, &b, sizeof a);
    }
    free(got.line);
    free(got.step);
    free(got.access);
    free(wanted.line);
    free(wanted.step);
    free(wanted.access);
    free(patterns);
    return packed;
}

static void lines_are_the_same(void **state)
{
    const struct rp_rec_plan plan = {.group_count = 1, .stride = 1};
    const struct rp_rec_shape shape = {.waves_per_group = 1};
    (void)state;
    assert_int_equal(compare_lines(NULL), 0);
    for (unsigned record = 0; record < 2; record++) { /* a thread's patterns are of another one */
        struct rp_wave_record *r = rp_record_new(&plan, &shape);
        assert_non_null(r);
        r->patterns = rp_rec_patterns_new();
        assert_non_null(r->patterns);
        assert_true(compare_lines(r->patterns) > 100);
        assert_in_range(r->patterns->count, 100, RP_REC_PATTERNS);
        rp_record_free(r);
    }
}

/* ---- what buffer instructions reach ---- */

static bool one_of(unsigned cases)
{
    return next_random(cases) == 0;
}

/* Mostly a plain range; offsets around its end, around 2^32, or within it. */
static struct rp_buffer some_buffer(uint32_t offsets[LANES], uint32_t indices[LANES])
{
    struct rp_buffer b = {.base = one_of(8) ? UINT64_MAX - 2000 : 0x7f0000000000,
                          .num_records = one_of(4) ? UINT32_MAX - next_random(8) : 1000,
                          .scalar_offset = one_of(2)   ? 0
                                           : one_of(4) ? UINT32_MAX
                                                       : 100,
                          .inst_offset = one_of(2) ? 0 : next_random(4096),
                          .stride_bytes = one_of(4) ? 16 : 0,
                          .index_stride = 8};
    const uint32_t from[] = {0, 0, b.num_records - b.scalar_offset - b.inst_offset - 64 * 4,
                             b.num_records - b.scalar_offset - b.inst_offset - 63 * 4 - 1,
                             0u - b.inst_offset - 100};
    const uint32_t first = from[next_random(5)];
    const unsigned step = one_of(3) ? 1 : 4;
    for (unsigned lane = 0; lane < LANES; lane++) {
        offsets[lane] = first + lane * step;
        indices[lane] = next_random(2000);
    }
    if (one_of(4)) /* which may not even take part */
        offsets[next_random(LANES)] = one_of(2) ? 5000 : UINT32_MAX - next_random(4);
    b.offset = one_of(8) ? NULL : offsets;
    b.index = one_of(8) ? indices : NULL;
    b.add_lane = one_of(8);
    b.swizzled = one_of(8);
    b.unchecked = one_of(8);
    b.by_record = one_of(8);
    b.private = one_of(8);
    return b;
}

static void check_reach(const struct rp_buffer *b, uint64_t exec, unsigned bytes,
                        const struct reach *got)
{
    const enum rp_space space = b->private ? RP_SPACE_PRIVATE : RP_SPACE_GLOBAL;
    uint64_t inside = 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        if (exec >> lane & 1 && rp_buffer_inside(b, lane, 0, bytes)) {
            inside |= 1ull << lane;
            assert_int_equal(got->va[lane],
                             rp_buffer_at(b, lane, 0) +
                                 (b->private ? RP_REC_PRIVATE_VA - RP_SCRATCH_BASE_VA : 0));
        }
    for (unsigned s = 0; s < sizeof got->lanes / sizeof *got->lanes; s++)
        assert_int_equal(got->lanes[s], s == space ? inside : 0);
}

/* Addresses of all lanes at once are those that each lane has for itself. */
static void buffers_are_reached_as_lane_by_lane(void **state)
{
    uint32_t offsets[LANES], indices[LANES];
    unsigned ranges = 0, others = 0;
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        struct rp_buffer b = some_buffer(offsets, indices);
        const uint64_t exec = some_lanes();
        const unsigned bytes = 1u << next_random(3);
        struct reach got = {.lanes = {0}}, range = {.lanes = {0}};
        reach_resource(&b, exec, bytes, &got);
        check_reach(&b, exec, bytes, &got);
        const bool is_range = reach_range(&b, bytes, &range);
        assert_false(is_range && (b.by_record || b.unchecked || b.private));
        ranges += is_range;
        others += !is_range;
    }
    assert_true(ranges > CASES / 50 && others > CASES / 50);
}

/* The last byte that is inside, and the first that is not. */
static void ranges_end_with_their_records(void **state)
{
    uint32_t offsets[LANES] = {0};
    struct rp_buffer b = {
        .base = 4096, .num_records = 1000, .scalar_offset = 100, .offset = offsets};
    struct reach got = {.lanes = {0}};
    (void)state;
    b.inst_offset = 20;
    offsets[63] = 1000 - 100 - 20 - 4;
    assert_true(reach_range(&b, 4, &got));
    assert_int_equal(got.va[63], 4096 + 1000 - 4);
    b.num_records--;
    assert_false(reach_range(&b, 4, &got));
    reach_resource(&b, 1ull << 63 | 1, 4, &got);
    assert_int_equal(got.lanes[RP_SPACE_GLOBAL], 1);
    reach_resource(&b, 3, 4, &got); /* Lane 63 is outside, and takes no part. */
    assert_int_equal(got.lanes[RP_SPACE_GLOBAL], 3);
    b.by_record = true;
    offsets[63] = 0;
    assert_false(reach_range(&b, 4, &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_bytes),
        cmocka_unit_test(lds_clocks_are_those_of_the_banks),
        cmocka_unit_test(wide_loads_of_a_tile_are_as_documented),
        cmocka_unit_test(gfx950_reads_from_64_banks),
        cmocka_unit_test(lanes_of_gfx90a_want_columns),
        cmocka_unit_test(lds_clocks_are_the_same),
        cmocka_unit_test(lines_are_the_same),
        cmocka_unit_test(buffers_are_reached_as_lane_by_lane),
        cmocka_unit_test(ranges_end_with_their_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
