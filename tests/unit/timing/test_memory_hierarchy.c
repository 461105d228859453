/*
 * The memory behind the modelled compute units: its tags against a list per set, in the order of
 * use; what is there after a part of a line was written, who is served when, and that the host's
 * own memory has no say in any of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/timing/timing_engine.h"

#include "unit/cmocka_all.h"
#include "unit/timing/machine.h"

#include "device/timing/memory_hierarchy.c"

/*
 * The memory behind the modelled compute units: what is there after a part of a line was written,
 * who is served when, and that the host's own memory has no say in any of it.
 */

/* ---- allocations that fail ----------------------------------------------------------------- */

/** Allocations until the one that fails; negative: none does. */
static long countdown = -1;
static bool failed;

static bool fails_now(void)
{
    if (countdown < 0 || countdown-- > 0)
        return false;
    failed = true;
    return true;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(old, bytes);
}

/* A sample of many lines, of which other dies touch a part: all that a replay allocates for. */
static struct made *scattered(void)
{
    const struct rp_rec_plan plan = rp_rec_timing_plan_of(rp_arch_find("gfx942"), 2048, 4, 8);
    struct made *m = made_planned(&plan, 4, 8);
    const uint32_t load = made_memory(m, RP_REC_VMEM), wait = made_wait(m, 0, 15);
    const struct rp_rec_access read = {.flags = RP_REC_READS, .lane_bytes = 4};
    const struct rp_rec_access write = {.flags = RP_REC_WRITES, .lane_bytes = 4};
    uint32_t random = 1;

    assert_true(plan.probes > 0);
    for (uint64_t g = 0; g < plan.count + plan.probes; g++)
        for (uint32_t w = 0; w < 4; w++)
            for (unsigned i = 0; i < 4; i++) {
                random = random * 1664525 + 1013904223;
                made_access(made_wave(m, g, w), load, i % 2 ? write : read, random >> 14, 1);
                made_step(made_wave(m, g, w), wait);
            }
    m->record->total_waves = 4 * plan.group_count;
    m->record->total_insts = 8 * m->record->total_waves;
    m->record->code = m->code;
    m->record->code_count = m->codes;
    return m;
}

/* Every allocation of a replay fails once: that is an error, and never another time. */
static void without_memory_there_is_no_time(void **state)
{
    (void)state;
    struct made *m = scattered();
    struct rp_timing_stats first, again;
    long allocations = 0;

    assert_int_equal(rp_engine_run(rp_arch_find("gfx942"), m->record, NULL, &first), 0);
    for (failed = true; failed; allocations++) {
        failed = false;
        countdown = allocations;
        const int status = rp_engine_run(rp_arch_find("gfx942"), m->record, NULL, &again);
        countdown = -1;
        assert_int_equal(status, failed ? -ENOMEM : 0);
    }
    assert_memory_equal(&first, &again, sizeof first);
    assert_true(allocations > 20); /* the map of lines grew */
    made_free(m);
}

/* Pages that could not all be numbered are not taken for numbered. */
static void places_are_tried_again(void **state)
{
    (void)state;
    struct made *m = scattered();

    countdown = 0;
    assert_int_equal(rp_record_renumber_pages(m->record), -ENOMEM);
    countdown = -1;
    assert_false(m->record->placed);
    assert_int_equal(rp_record_renumber_pages(m->record), 0);
    assert_true(m->record->placed);
    made_free(m);
}

static void a_record_knows_what_is_lost(void **state)
{
    (void)state;
    struct made *m = made_new(3, 2);

    assert_int_equal(rp_record_status(m->record), 0);
    made_wave(m, 2, 1)->lost = true;
    assert_int_equal(rp_record_status(m->record), -ENOMEM);
    made_wave(m, 2, 1)->lost = false;
    m->record->group[1].lost = true;
    assert_int_equal(rp_record_status(m->record), -ENOMEM);
    made_free(m);
}

/* ---- lines --------------------------------------------------------------------------------- */

struct memory {
    struct rp_hierarchy h;
    struct rp_level_stats stats[RP_LEVELS];
};

static void open_memory_of(struct memory *m, const struct rp_arch *arch)
{
    const struct rp_machine machine = {.arch = arch,
                                       .dies = 1,
                                       .all_dies = 1,
                                       .cus_per_die = arch->compute_units / arch->xcc_count,
                                       .memory_channels = arch->timing->memory_channels};

    memset(m, 0, sizeof *m);
    assert_int_equal(rp_hierarchy_init(&m->h, &machine, m->stats), 0);
    assert_int_equal(rp_hierarchy_open(&m->h, 0), 0);
    assert_int_equal(rp_hierarchy_open(&m->h, 1), 0);
}

static void open_memory(struct memory *m)
{
    open_memory_of(m, rp_arch_find("gfx942"));
}

static uint64_t access_line(struct memory *m, uint32_t cu, uint64_t number, unsigned sectors,
                            uint8_t flags, uint64_t clock)
{
    const struct rp_rec_line line = {
        .number = number, .sectors = sectors & 15, .whole = sectors & 15, .deepest = 1};

    return rp_hierarchy_vector(&m->h, cu, &line, flags, clock);
}

/* Nothing is read for a write; the rest of its line is when it is read; once it is there, no more.
 */
static void what_was_not_written_is_read(void **state)
{
    (void)state;
    static const struct {
        unsigned sectors, reads;
    } cases[] = {{1, 1}, {3, 1}, {7, 1}, {14, 1}, {15, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory m;
        open_memory(&m);
        access_line(&m, 0, 1000, cases[i].sectors, RP_REC_WRITES, 0);
        assert_int_equal(m.stats[RP_LEVEL_HBM].reads, 0);
        access_line(&m, 1, 1000, 15, RP_REC_READS, 10000);
        assert_int_equal(m.stats[RP_LEVEL_L2].read_hits, 1 - cases[i].reads);
        assert_int_equal(m.stats[RP_LEVEL_MALL].reads, cases[i].reads);
        access_line(&m, 0, 1000, 15, RP_REC_READS, 20000);
        assert_int_equal(m.stats[RP_LEVEL_L2].read_hits, 2 - cases[i].reads);
        access_line(&m, 0, 1000, 1, RP_REC_WRITES, 30000); /* dirty already */
        access_line(&m, 0, 1000, 15, RP_REC_READS | RP_REC_PAST_L1, 40000);
        assert_int_equal(m.stats[RP_LEVEL_MALL].reads, cases[i].reads);
        assert_int_equal(m.stats[RP_LEVEL_L2].read_hits, 3 - cases[i].reads);
        rp_hierarchy_release(&m.h);
    }
}

/* ---- translations -------------------------------------------------------------------------- */

enum { BLOCK_LINES = RP_REC_BLOCK_BYTES / RP_REC_LINE_BYTES };

/* Returns how long a load of each line takes, one after another, the second time. */
static uint64_t second_lap(struct memory *m, const uint64_t *line, uint32_t count)
{
    uint64_t clock = 0, begin = 0;
    for (uint32_t i = 0; i < 2 * count; i++) {
        begin = i == count ? clock : begin;
        clock = access_line(m, 0, line[i % count], 15, RP_REC_READS | RP_REC_PAST_L1, clock);
    }
    return clock - begin;
}

/* A compute unit keeps translations of so many blocks; in a ring of one more it finds none. */
static void translations_reach_so_far(void **state)
{
    (void)state;
    const struct rp_arch_timing *t = rp_arch_find("gfx942")->timing;
    uint64_t line[64];
    struct memory m;
    for (uint32_t i = 0; i < 64; i++)
        line[i] = (uint64_t)i * BLOCK_LINES + i;
    assert_int_equal(t->tlb_blocks, 32);

    open_memory(&m);
    assert_int_equal(second_lap(&m, line, 32), 32 * t->l2_clocks);
    rp_hierarchy_release(&m.h);
    open_memory(&m);
    assert_int_equal(second_lap(&m, line, 33), 33 * (t->l2_clocks + t->tlb_miss_clocks));
    rp_hierarchy_release(&m.h);
}

/* Which block a page is in is what its address said before the pages were numbered. */
static void blocks_are_those_of_addresses(void **state)
{
    (void)state;
    const struct rp_arch_timing *t = rp_arch_find("gfx942")->timing;
    struct rp_rec_pages pages = {0};
    uint64_t line[66];
    struct memory m;
    for (uint32_t i = 0; i < 66; i++) {
        /* a page of each of 33 blocks, and then more pages of these */
        struct rp_rec_line one = {.number = (7 + i % 33) * (uint64_t)BLOCK_LINES + i / 33 * 3200};
        assert_int_equal(rp_rec_pages_place(&pages, &one), 0);
        line[i] = one.number;
    }
    assert_int_equal(pages.blocks.pages, 66);
    assert_int_equal(pages.blocks.of_page[line[65] / PAGE_LINES], 32);

    open_memory(&m);
    m.h.m.blocks = &pages.blocks;
    assert_int_equal(second_lap(&m, line, 31), 31 * t->l2_clocks);
    assert_int_equal(second_lap(&m, line, 66), 66 * (t->l2_clocks + t->tlb_miss_clocks));
    line[32] = line[65] = line[0]; /* 32 blocks, twice */
    assert_int_equal(second_lap(&m, line, 66), 66 * t->l2_clocks);
    rp_hierarchy_release(&m.h);
    rp_rec_pages_release(&pages);
}

/* ---- lines that come again ------------------------------------------------------------------ */

/* Reads lines one after the other and then, with another compute unit, the last ones once more.
 * @return 64ths of clocks that this takes the die's port */
static uint64_t port_of_second_reader(struct memory *m, uint64_t lines, uint64_t *clock)
{
    enum { LAST = 100 };
    for (uint64_t line = 0; line < lines; line++)
        access_line(m, 0, line, 15, RP_REC_READS, *clock += 4);
    const uint64_t before = m->stats[RP_LEVEL_MALL].busy_clocks;
    for (uint64_t line = lines - LAST; line < lines; line++)
        access_line(m, 1, line, 15, RP_REC_READS | RP_REC_PAST_L1, *clock);
    return (m->stats[RP_LEVEL_MALL].busy_clocks - before) / LAST;
}

/* Twice as many lines as the L2 holds: from the second time on each comes again for 0.29 of its
 * readers, less what arithmetic keeps in step. */
static void lines_come_again_for_late_readers(void **state)
{
    (void)state;
    const struct rp_arch *arch = rp_arch_find("gfx942");
    const uint64_t held = arch->l2_bytes / arch->l2_line_bytes;
    uint64_t clock = 0;
    struct memory m;

    open_memory(&m);
    m.h.waiting = WHOLE;
    assert_int_equal(port_of_second_reader(&m, 2 * held, &clock), 0);
    const uint64_t whole = m.h.read_64ths[RP_LEVEL_MALL];
    const uint64_t late = port_of_second_reader(&m, 2 * held, &clock);
    assert_in_range(late, whole * 28 / 100 - 1, whole * 30 / 100);
    m.h.waiting = WHOLE / 2;
    assert_in_range(port_of_second_reader(&m, 2 * held, &clock), late / 2 - 1, late / 2);
    m.h.waiting = 0;
    assert_int_equal(port_of_second_reader(&m, 2 * held, &clock), 0);
    rp_hierarchy_release(&m.h);

    /* What the L2 holds does not come again. */
    open_memory(&m);
    m.h.waiting = WHOLE;
    port_of_second_reader(&m, held / 2, &clock);
    assert_int_equal(port_of_second_reader(&m, held / 2, &clock), 0);
    rp_hierarchy_release(&m.h);
}

/* Lines are of 128 bytes here, whatever those of the device's L1 are. */
static void an_l1_holds_its_bytes(void **state)
{
    (void)state;
    static const char *const names[] = {"gfx90a", "gfx942", "gfx950"};
    for (unsigned i = 0; i < 3; i++) {
        const struct rp_arch *arch = rp_arch_find(names[i]);
        struct memory m;
        open_memory_of(&m, arch);
        assert_int_equal(m.h.l1[0].sets * m.h.l1[0].ways * 128, arch->l1_bytes);
        rp_hierarchy_release(&m.h);
    }
}

/* ---- the scalar L1 -------------------------------------------------------------------------- */

/* Returns when the last of so many loads of a scalar line is there that compute units ask for at
 * the same clock in turn. */
static uint64_t scalar_loads(struct memory *m, uint32_t cus, uint32_t count, unsigned sectors,
                             uint64_t clock)
{
    const struct rp_rec_line line = {.number = 1000, .sectors = sectors & 15, .deepest = 1};
    uint64_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t done = rp_hierarchy_scalar(&m->h, i % cus, &line, RP_REC_READS, clock);
        last = done > last ? done : last;
    }
    return last - clock;
}

/* rocprof-compute's peak of the sL1D: 64 bytes a clock of each. Two compute units share one, the
 * third has another one; a load that lies in two lines of 64 bytes takes two turns. */
static void a_scalar_cache_serves_a_line_a_clock(void **state)
{
    (void)state;
    const char *const gpus[] = {"gfx942", "gfx90a", "gfx950"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        struct memory m;
        open_memory_of(&m, rp_arch_find(gpus[i]));
        assert_int_equal(rp_hierarchy_open(&m.h, 2), 0);
        scalar_loads(&m, 3, 3, 15, 0); /* Now it is in both. */
        assert_int_equal(scalar_loads(&m, 1, 1, 3, 10000), 48);
        assert_int_equal(scalar_loads(&m, 1, 100, 3, 20000), 48 + 99);
        assert_int_equal(scalar_loads(&m, 2, 100, 12, 30000), 48 + 99);
        assert_int_equal(scalar_loads(&m, 3, 99, 3, 40000), 48 + 65);
        assert_int_equal(scalar_loads(&m, 2, 100, 15, 50000), 48 + 199);
        rp_hierarchy_drained(&m.h);
        assert_int_equal(m.stats[RP_LEVEL_SCALAR_L1].busy_clocks, 6 + 1 + 100 + 100 + 99 + 200);
        rp_hierarchy_release(&m.h);
    }
}

/* ---- servers ------------------------------------------------------------------------------- */

/* Requests that follow one another take as many nanoseconds at any clock of any product, less than
 * a 64th of a clock for all of them apart: never less, and 0.01 % more at most. */
static void memory_is_as_fast_at_any_clock(void **state)
{
    (void)state;
    const enum rp_level levels[] = {RP_LEVEL_MALL, RP_LEVEL_HBM};
    const uint32_t requests = 64;
    unsigned count, products = 0;
    const struct rp_arch *const *all = rp_arch_all(&count);
    for (unsigned i = 0; i < count; i++)
        for (uint32_t k = 0; k < all[i]->product_count; k++) {
            char spec[64];
            struct rp_arch own;
            if (rp_arch_spec(all[i]->name, all[i]->products[k].name, spec, sizeof spec) != 0 ||
                rp_arch_select(spec, &own) != 0 || !own.timing)
                continue;
            products++;
            for (uint32_t mhz = RP_ARCH_LOWEST_CLOCK_MHZ; mhz <= own.engine_clock_mhz; mhz++)
                for (unsigned at = 0; at < 4; at++) {
                    struct rp_arch arch = own;
                    struct rp_arch_timing timing;
                    struct rp_level_stats stats[RP_LEVELS] = {{0}};
                    rp_arch_set_clock(&arch, mhz, &timing);
                    struct rp_hierarchy h = {.m.arch = &arch, .stats = stats};
                    struct rp_server v = {0};
                    set_rates(&h);
                    const uint32_t cost =
                        at % 2 ? h.write_64ths[levels[at / 2]] : h.read_64ths[levels[at / 2]];
                    for (uint32_t n = 0; n < requests; n++)
                        serve(&h, levels[at / 2], &v, 0, cost);
                    const double takes = (double)cost * requests * mhz / own.engine_clock_mhz;
                    if (!((double)v.free > takes - 1 && (double)v.free <= takes * 1.0001))
                        fail_msg("%s at %u MHz: %llu of %g", spec, mhz, (unsigned long long)v.free,
                                 takes);
                    if (mhz == own.engine_clock_mhz)
                        assert_int_equal(v.free, cost * requests);
                }
        }
    assert_true(products >= 8);
}

/* What is asked for later in the order of calls, but comes to the memory earlier, does not wait for
 * what was reserved ahead; what comes at the same time does. */
static void reservations_leave_the_time_before_them(void **state)
{
    (void)state;
    struct memory m;
    open_memory(&m);
    const uint64_t latency = access_line(&m, 0, 1000, 15, RP_REC_READS, 0);
    for (uint64_t line = 32 * 1000; line < 32 * 1032; line += 32) /* pages: of 32 channels */
        access_line(&m, 0, line, 15, RP_REC_READS, 100000);
    for (uint64_t line = 32 * 2000; line < 32 * 2032; line += 32)
        assert_in_range(access_line(&m, 0, line, 15, RP_REC_READS, 50000), 50000 + latency,
                        50000 + latency + 64);
    uint64_t last = 0;
    for (uint64_t line = 32 * 3000; line < 32 * 3400; line++)
        last = access_line(&m, 0, line, 15, RP_REC_READS, 100000);
    rp_hierarchy_release(&m.h);

    open_memory(&m);
    for (uint64_t line = 32 * 1000; line < 32 * 1032; line += 32)
        access_line(&m, 0, line, 15, RP_REC_READS, 100000);
    uint64_t expected = 0;
    for (uint64_t line = 32 * 3000; line < 32 * 3400; line++)
        expected = access_line(&m, 0, line, 15, RP_REC_READS, 100000);
    assert_int_equal(last, expected);
    assert_true(expected > 100000 + latency + 1000);
    rp_hierarchy_release(&m.h);
}

/* Tags of a cache against a list per set, in the order of use. */

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
        tags_drop(&t, tag);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_memory_there_is_no_time),
        cmocka_unit_test(places_are_tried_again),
        cmocka_unit_test(a_record_knows_what_is_lost),
        cmocka_unit_test(what_was_not_written_is_read),
        cmocka_unit_test(translations_reach_so_far),
        cmocka_unit_test(blocks_are_those_of_addresses),
        cmocka_unit_test(lines_come_again_for_late_readers),
        cmocka_unit_test(an_l1_holds_its_bytes),
        cmocka_unit_test(a_scalar_cache_serves_a_line_a_clock),
        cmocka_unit_test(memory_is_as_fast_at_any_clock),
        cmocka_unit_test(reservations_leave_the_time_before_them),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
