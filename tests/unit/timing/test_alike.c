/*
 * What is remembered of accesses against looking at each anew (wave_observer.h, which test_touch.c
 * compares with other sources): patterns that come again further on, and others between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/timing/wave_observer.h"

enum { PATTERNS = 12, ROUNDS = 20000 };

static uint32_t seed = 1;

static uint32_t below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(seed >> 8) * limit >> 24);
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
    struct rp_pattern_cache *alike = calloc(1, sizeof *alike);
    struct pattern pattern[PATTERNS];
    assert_non_null(alike);
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
        rp_lane_access_lds(&wanted, &t);
        t.va = NULL; /* it is given the row */
        rp_pattern_cache_lds(alike, below(4), row, more, &got, &t);
        assert_memory_equal(&got, &wanted, sizeof got);
    }
    free(alike);
}

static void same_lines(const struct rp_rec_wave *a, const struct rp_rec_wave *b)
{
    assert_int_equal(a->line_count, b->line_count);
    assert_memory_equal(a->line, b->line, a->line_count * sizeof *a->line);
}

static void lines_are_the_same(void **state)
{
    (void)state;
    struct rp_pattern_cache *alike = calloc(1, sizeof *alike);
    struct rp_rec_wave got = {0}, wanted = {0};
    struct pattern pattern[PATTERNS];
    assert_non_null(alike);
    for (unsigned i = 0; i < PATTERNS; i++)
        pattern[i] = made(i);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const struct pattern *p = &pattern[below(PATTERNS)];
        const uint64_t first = below(3) ? 128ull * below(1 << 20) : 4ull * below(1 << 20);
        uint64_t va[64];
        struct rp_rec_access a = {.lookups = 0}, b = a;
        const struct rp_lane_access t = {
            .va = va, .lanes = p->lanes, .bytes = p->bytes, .flags = p->flags};
        for (unsigned i = 0; i < 64; i++) /* of others there is anything */
            va[i] = p->lanes >> i & 1 ? 0x7f0000000000 + first + p->distance[i] : seed * 77ull;
        got.line_count = wanted.line_count = 0;
        assert_true(rp_lane_access_lines(&wanted, &b, &t));
        assert_true(rp_pattern_cache_lines(alike, below(4), &got, &a, &t));
        assert_memory_equal(&a, &b, sizeof a);
        same_lines(&got, &wanted);
    }
    free(got.line);
    free(got.step);
    free(got.access);
    free(wanted.line);
    free(wanted.step);
    free(wanted.access);
    free(alike);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lds_clocks_are_the_same),
        cmocka_unit_test(lines_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
