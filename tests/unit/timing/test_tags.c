/* Tags of a cache against a list per set, in the order of use. */
#include "device/timing/timing_engine.h"

#include <stdlib.h>
#include <string.h>

#include "../cmocka_all.h"

#include "device/timing/memory_hierarchy.c"

enum { MOST_SETS = 64, MOST_WAYS = 20, LINES = 300, ROUNDS = 40000 };

/* Latest use first. Which set a line is in is the cache's own business: by trial. */
static struct {
    uint64_t line[MOST_WAYS];
    uint32_t count;
} list[MOST_SETS];

static uint32_t random_state = 7;

static uint32_t below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* Lines that lie apart, some with the same lower 31 bits. */
static uint64_t a_line(void)
{
    const uint64_t line = below(LINES);
    return below(4) ? line : line | 1ull << 31 | (uint64_t)below(3) << 38;
}

static size_t test_set_of(const struct rp_tags *t, const struct rp_tag *tag)
{
    return (size_t)(tag - t->tag) / t->ways;
}

static uint32_t find(size_t set, uint64_t line)
{
    uint32_t i = 0;
    while (i < list[set].count && list[set].line[i] != line)
        i++;
    return i;
}

/* The line, which may be at place @p at, becomes the latest used. */
static void use(size_t set, uint32_t at, uint64_t line)
{
    memmove(&list[set].line[1], &list[set].line[0], at * sizeof line);
    list[set].line[0] = line;
}

static void insert(struct rp_tags *t, uint64_t line, uint64_t ready)
{
    struct rp_tag old;
    const struct rp_tag *tag = rp_tags_replace(t, line, ready, &old);
    const size_t set = test_set_of(t, tag);
    assert_true(set < t->sets);
    assert_int_equal(tag->line, line + 1);
    assert_int_equal(tag->ready, ready);
    assert_int_equal(tag->dirty, 0);
    assert_int_equal(find(set, line), list[set].count);
    if (list[set].count == t->ways)
        assert_int_equal(old.line, list[set].line[--list[set].count] + 1);
    else
        assert_int_equal(old.line, 0);
    use(set, list[set].count++, line);
}

static void follow(uint32_t lines, uint32_t ways)
{
    struct rp_tags t;
    uint64_t hits = 0, drops = 0;
    memset(list, 0, sizeof list);
    assert_int_equal(rp_tags_init(&t, lines, ways), 0);
    assert_in_range(t.sets, 1, MOST_SETS);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint64_t line = a_line();
        if (round % 5000 == 3000) /* so many uses that their numbers begin again soon */
            t.uses = (INT32_MAX >> t.way_bits) - below(50) - 2;
        const bool there = rp_tags_has(&t, line);
        struct rp_tag *tag = rp_tags_find(&t, line);
        assert_int_equal(there, tag != NULL);
        if (!tag) {
            insert(&t, line, round);
            continue;
        }
        const size_t set = test_set_of(&t, tag);
        const uint32_t at = find(set, line);
        assert_int_equal(tag->line, line + 1);
        assert_in_range(at, 0, list[set].count - 1);
        use(set, at, line);
        hits++;
        if (below(10))
            continue;
        rp_tags_drop(&t, tag);
        memmove(&list[set].line[0], &list[set].line[1], --list[set].count * sizeof line);
        assert_false(rp_tags_has(&t, line));
        drops++;
    }
    assert_true(hits > ROUNDS / 100 && drops > 10);
    rp_tags_release(&t);
}

static void test_order(void **state)
{
    (void)state;
    follow(1024, 16);
    follow(64, 16);
    follow(100, 4);
    follow(60, 1);
    follow(150, 5); /* not a multiple of what is compared at once */
    follow(640, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
