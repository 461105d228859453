/**
 * @file derived_tolerance.c
 * @brief This file decides when a result is right, if the user has not said so: what runs of the
 * captured kernel itself differ by. Each region has its own rule; what they agree on is exact.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay_trial.h"

/* A derived tolerance applies only to some words of memory: those that differ between runs of the
 * captured kernel, and those that may be numbers of the same quantity that happened to come out
 * the same. A tolerance for sums must not let through a wrong counter, key or index beside them.
 */

enum rp_tolerance_unit {
    RP_TOLERANCE_EXACT,   /**< no number like those that differ */
    RP_TOLERANCE_OTHER,   /**< likewise, and the kernel has changed it */
    RP_TOLERANCE_KEPT,    /**< may be such a number; the kernel has not changed it */
    RP_TOLERANCE_SAME,    /**< may be such a number, changed, the same in all runs */
    RP_TOLERANCE_DIFFERS, /**< from run to run */
};

/** This counts units in a row. Zero-initialise it. */
struct rp_tolerance_count {
    uint64_t differs, same;
};

enum {
    /* Words of the same field in an array of structures are at most this many units apart. */
    MOST_DISTANCE = 16,
    /* Such words are at most this many times larger or smaller than those that were seen to
     * differ.
     */
    TIMES_LARGER = 8,
};

/* That chance makes such a row anywhere in a region. */
static const double chance = 1e-3;

/* That one number is the same in all runs is at least as likely as this: sums of few terms differ
 * rarely, beside others that always do. */
static const double least_same = 0.5;

/** A unit has 4 bytes, or 8 where the rule is for numbers of 8 bytes. */
static unsigned tolerance_unit_bytes(const struct rp_compare_rule *rule)
{
    return rule->type == RP_F64 ? 8 : 4;
}

/* --- units --------------------------------------------------------------------------------- */

/* A sum as small as the tolerance would differ; 0 is an empty sum. */
static bool is_alike(const struct rp_spread_of_type *s, const struct rp_compare_rule *rule,
                     uint64_t bits)
{
    const double size = fabs(rp_number_value(rule->type, bits));

    return isfinite(size) && size > 0 && size >= rule->abs && size >= s->smallest / TIMES_LARGER &&
           size <= s->largest * TIMES_LARGER;
}

static bool all_alike(const struct rp_spread_of_type *s, const struct rp_compare_rule *rule,
                      const uint8_t *unit, unsigned unit_bytes)
{
    const unsigned width = rp_number_shape(rule->type).bytes;

    for (unsigned at = 0; at < unit_bytes; at += width) {
        uint64_t bits = 0;

        memcpy(&bits, unit + at, width);
        if (!is_alike(s, rule, bits))
            return false;
    }
    return true;
}

/**
 * Classifies the units of a page.
 * @param spread, rule of its region
 * @param before, after RP_PAGE_BYTES
 * @param differs  its words that differ from run to run
 * @param ret  a byte for each (enum rp_tolerance_unit)
 */
static void tolerance_units(const struct rp_spread *spread, const struct rp_compare_rule *rule,
                            const uint8_t *before, const uint8_t *after, const uint64_t *differs,
                            uint8_t *ret)
{
    const struct rp_spread_of_type *s = &spread->types[rule->type - RP_F32];
    const unsigned bytes = tolerance_unit_bytes(rule);

    for (size_t at = 0; at < RP_PAGE_BYTES; at += bytes) {
        const bool changed = memcmp(before + at, after + at, bytes) != 0;
        bool varies = false;

        for (size_t word = at / 4; word < (at + bytes) / 4; word++)
            varies = varies || rp_word_in(differs, word);
        if (varies)
            *ret++ = RP_TOLERANCE_DIFFERS;
        else if (all_alike(s, rule, after + at, bytes))
            *ret++ = changed ? RP_TOLERANCE_SAME : RP_TOLERANCE_KEPT;
        else
            *ret++ = changed ? RP_TOLERANCE_OTHER : RP_TOLERANCE_EXACT;
    }
}

/* --- rows ---------------------------------------------------------------------------------- */

static void tolerance_count(const uint8_t *units, size_t count, struct rp_tolerance_count *total)
{
    for (size_t i = 0; i < count; i++) {
        total->differs += units[i] == RP_TOLERANCE_DIFFERS;
        total->same += units[i] == RP_TOLERANCE_SAME;
    }
}

/* The minimum is so large that hardly any region has by chance a row of one field that looks like
 * the other numbers.
 */
static size_t min_row(const struct rp_tolerance_count *total)
{
    const double all = (double)(total->differs + total->same);
    const double same = fmax(least_same, (double)total->same / all);

    return same >= 1 ? SIZE_MAX : (size_t)ceil(log(chance / (MOST_DISTANCE * all)) / log(same));
}

static bool in_row(uint8_t unit)
{
    return unit == RP_TOLERANCE_SAME || unit == RP_TOLERANCE_OTHER;
}

static void find_rows(const uint8_t *units, size_t count, size_t distance, size_t least,
                      uint8_t *drop)
{
    for (size_t first = 0; first < distance; first++)
        for (size_t from = first, to; from < count; from = to + distance) {
            for (to = from; to < count && in_row(units[to]); to += distance)
                ;
            for (size_t i = from; (to - from) / distance >= least && i < to; i += distance)
                drop[i] = true;
        }
}

/* Units that are the same, so many at one distance from each other (that of fields in an array of
 * structures, or side by side) that this is not chance, become RP_TOLERANCE_EXACT. @param total  of
 * the whole region */
static void tolerance_drop_rows(const struct rp_tolerance_count *total, uint8_t *units,
                                size_t count)
{
    rp_autofree uint8_t *drop = rp_alloc_zero(count, 1);

    for (size_t distance = 1; total->same && distance <= MOST_DISTANCE; distance++)
        find_rows(units, count, distance, min_row(total), drop);
    for (size_t i = 0; i < count; i++)
        if (drop[i])
            units[i] = RP_TOLERANCE_EXACT;
}

/** Marks the words of a page to which the tolerance applies. */
static void tolerance_mask(const uint8_t *units, unsigned unit_bytes, uint64_t *ret)
{
    memset(ret, 0, RP_PAGE_MASKS * sizeof *ret);
    for (size_t word = 0; word < RP_PAGE_WORDS; word++)
        if (units[4 * word / unit_bytes] >= RP_TOLERANCE_KEPT)
            ret[word / 64] |= (uint64_t)1 << (word % 64);
}

/* A word that varies by more is not the same result in another order. */
static const double most_relative = 1e-2;

/* Sums are hardly ever as small as denormal numbers of these types; counters and indices look like
 * such, and a tolerance would let through any of them. */
static bool is_exact_near_0(enum rp_number_type type)
{
    return type != RP_F16;
}

static void note_number(struct rp_spread_of_type *s, enum rp_number_type type, uint64_t got,
                        uint64_t expected)
{
    const double a = rp_number_value(type, got), b = rp_number_value(type, expected);
    const uint64_t steps = rp_number_ulp_distance(type, got, expected);

    if (got == expected)
        return;
    if (!isfinite(a) || !isfinite(b) ||
        (is_exact_near_0(type) &&
         (rp_number_is_denormal(type, got) || rp_number_is_denormal(type, expected)))) {
        s->no_numbers = true;
        return;
    }
    s->steps = steps > s->steps ? steps : s->steps;
    s->abs = fmax(s->abs, fabs(a - b));
    s->largest = fmax(s->largest, fabs(b));
    if (b != 0)
        s->smallest = s->smallest == 0 ? fabs(b) : fmin(s->smallest, fabs(b));
    if (a != b) /* From 0, any step is infinitely far, so there is no ratio. */
        s->rel = fmax(s->rel, b == 0 ? INFINITY : fabs(a - b) / fabs(b));
}

/** @param bytes  a multiple of 8; got and expected begin at the same offset of a region, likewise
 */
static void spread_note(struct rp_spread *spread, const uint8_t *got, const uint8_t *expected,
                        size_t bytes)
{
    if (memcmp(got, expected, bytes) == 0)
        return;
    for (size_t at = 0; at < bytes; at += 4)
        spread->words += memcmp(got + at, expected + at, 4) != 0;
    for (unsigned i = 0; i < RP_SPREAD_TYPES; i++) {
        const enum rp_number_type type = (enum rp_number_type)(RP_F32 + i);
        const unsigned width = rp_number_shape(type).bytes;

        for (size_t at = 0; at < bytes; at += width) {
            uint64_t a = 0, b = 0;

            memcpy(&a, got + at, width);
            memcpy(&b, expected + at, width);
            note_number(&spread->types[i], type, a, b);
        }
    }
}

/* Sums of numbers of both signs can come near 0: there only the absolute size says something. */
static bool rule_of(const struct rp_spread_of_type *s, enum rp_number_type type,
                    struct rp_compare_rule *ret)
{
    const double near = fmax(1e-3, ldexp(4, -(int)rp_number_shape(type).fraction_bits));

    *ret = (struct rp_compare_rule){.type = type, .normal = is_exact_near_0(type)};
    if (s->no_numbers || (s->rel > near && s->abs > most_relative * s->largest))
        return false;
    if (s->rel <= near)
        ret->ulp = RP_SPREAD_TIMES * s->steps;
    else
        ret->abs = RP_SPREAD_TIMES * s->abs;
    return true;
}

/* Returns how many bits are free to differ in 8 bytes, which makes types of different sizes
 * comparable.
 */
static double freedom(const struct rp_spread_of_type *s, enum rp_number_type type)
{
    return 8.0 / rp_number_shape(type).bytes * log2(2 * (double)s->steps + 1);
}

/**
 * Chooses the type whose tolerance accepts the fewest wrong values.
 * @return whether there is such a rule: the values that differ are near each other as numbers of
 *         some type
 */
static bool spread_rule(const struct rp_spread *spread, struct rp_compare_rule *ret)
{
    double least = INFINITY;

    for (unsigned i = 0; i < RP_SPREAD_TYPES; i++) {
        const enum rp_number_type type = (enum rp_number_type)(RP_F32 + i);
        struct rp_compare_rule rule;

        if (!rule_of(&spread->types[i], type, &rule) || freedom(&spread->types[i], type) >= least)
            continue;
        least = freedom(&spread->types[i], type);
        *ret = rule;
    }
    return isfinite(least);
}

/* These runs show whether runs of the captured kernel differ from the captured memory, and by how
 * much.
 */
enum { LEAST_RUNS = 2, MOST_RUNS = 6 };

/* This many pages in a row are searched together for rows of one field. */
enum { MOST_TOGETHER = 256 };

/* --- pages --------------------------------------------------------------------------------- */

static struct rp_differing_page *find_page(const struct rp_differing_pages *pages, size_t count,
                                           size_t region, uint64_t page)
{
    return rp_page_find(pages->items, count, sizeof *pages->items,
                        (struct rp_page_key){region, page});
}

/* --- what runs differ by ------------------------------------------------------------------- */

struct note {
    struct rp_derived_tolerance *own;
    struct rp_replay *r;
};

static int note_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct note *note = data;
    struct rp_derived_tolerance *own = note->own;
    struct rp_differing_page fresh = {.key = {(size_t)(m - note->r->memory), page}};
    struct rp_differing_page *known;
    uint64_t different[RP_PAGE_MASKS];

    (void)err;
    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    spread_note(&own->regions[fresh.key.region].spread, contents, expected, RP_PAGE_BYTES);
    rp_compare_words(&rp_exact, contents, expected, RP_PAGE_BYTES, different);
    known = find_page(&own->differing, own->sorted, fresh.key.region, page);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        (known ? known : &fresh)->words[i] |= different[i];
    if (!known)
        rp_vec_push(&own->differing, fresh);
    return 0;
}

/* Hardware runs waves in an order of its own each time. The software device has one: it is told
 * others from the second run on, so that what depends on the order shows. */
static uint32_t order_of(unsigned run)
{
    return run == 0 ? RP_DEVICE_FORWARD : run == 1 ? RP_DEVICE_REVERSED : run;
}

static int run_all(struct rp_derived_tolerance *own, struct rp_replay *r, struct rp_err *err)
{
    struct note note = {.own = own, .r = r};
    int rc = 0;

    while (own->runs < (own->differing.count ? MOST_RUNS : LEAST_RUNS) && rc == 0) {
        double us;

        rc = rp_replay_fill(r, NULL, NULL, err);
        rp_replay_set_wave_order(order_of(own->runs));
        if (rc == 0)
            rc = rp_replay_run(r, &us, err);
        rp_replay_set_wave_order(RP_DEVICE_FORWARD);
        if (rc == 0)
            rc = rp_replay_look_at(r, note_page, &note, err);
        rp_page_sort(own->differing.items, own->differing.count, sizeof *own->differing.items);
        own->sorted = own->differing.count;
        own->runs++;
    }
    return rc;
}

/* --- which words that is for --------------------------------------------------------------- */

struct together {
    struct rp_replay *r;
    struct rp_derived_tolerance *own;
    size_t region;
    unsigned unit_bytes;
    struct rp_tolerance_count count;
    bool mark; /**< else count */
    uint64_t first, pages;
    uint8_t *units;
};

static int take_page(struct together *t, uint64_t page, struct rp_err *err)
{
    static const uint64_t nothing[RP_PAGE_MASKS];
    const struct rp_derived_region *own = &t->own->regions[t->region];
    const struct rp_differing_page *differing =
        find_page(&t->own->differing, t->own->differing.count, t->region, page);
    const struct rp_capture_memory *m = &t->r->memory[t->region];
    uint8_t before[RP_PAGE_BYTES], after[RP_PAGE_BYTES];
    int rc = rp_capture_page(t->r->capture, m, RP_STATE_BEFORE, page, before, err);

    if (rc == 0)
        rc = rp_capture_page(t->r->capture, m, RP_STATE_AFTER, page, after, err);
    if (rc < 0)
        return rc;
    if (t->pages == 0)
        t->first = page;
    tolerance_units(&own->spread, &own->rule, before, after, differing ? differing->words : nothing,
                    t->units + t->pages++ * (RP_PAGE_BYTES / t->unit_bytes));
    return 0;
}

static void end_pages(struct together *t)
{
    const size_t per_page = RP_PAGE_BYTES / t->unit_bytes;
    struct rp_differing_page near = {.key.region = t->region};

    if (!t->mark)
        tolerance_count(t->units, t->pages * per_page, &t->count);
    else if (t->pages)
        tolerance_drop_rows(&t->count, t->units, t->pages * per_page);
    for (uint64_t i = 0; t->mark && i < t->pages; i++) {
        near.key.page = t->first + i;
        tolerance_mask(t->units + i * per_page, t->unit_bytes, near.words);
        rp_vec_push(&t->own->near, near);
    }
    t->pages = 0;
}

/* Visits pages that differ and pages that the captured dispatch changed, because only these can be
 * in rows.
 */
static int go_through(struct together *t, struct rp_err *err)
{
    const struct rp_capture_memory *m = &t->r->memory[t->region];
    const uint64_t pages = (m->region.bytes + RP_PAGE_BYTES - 1) / RP_PAGE_BYTES;
    int rc = 0;

    for (uint64_t page = 0; page < pages && rc == 0; page++) {
        const bool wanted = rp_replay_is_restored(m, page) ||
                            find_page(&t->own->differing, t->own->differing.count, t->region, page);

        if (wanted)
            rc = take_page(t, page, err);
        if (rc == 0 && (!wanted || t->pages == MOST_TOGETHER))
            end_pages(t);
    }
    if (rc == 0)
        end_pages(t);
    return rc;
}

static int find_near(struct rp_derived_tolerance *own, struct rp_replay *r, size_t region,
                     struct rp_err *err)
{
    const unsigned unit_bytes = tolerance_unit_bytes(&own->regions[region].rule);
    rp_autofree uint8_t *units = rp_alloc((size_t)MOST_TOGETHER * (RP_PAGE_BYTES / unit_bytes));
    struct together t = {
        .r = r, .own = own, .region = region, .unit_bytes = unit_bytes, .units = units};
    int rc = go_through(&t, err);

    t.mark = true;
    return rc < 0 ? rc : go_through(&t, err);
}

/* --- all of it ----------------------------------------------------------------------------- */

/* The rule is rounded as it is printed, so that the printed rule is the one that applies. */
static int round_rule(struct rp_compare_rule *rule, struct rp_err *err)
{
    char text[RP_COMPARE_TEXT];

    rp_compare_rule_print(rule, text, sizeof text);
    return rp_compare_rule_parse(text, rule, err);
}

int rp_derived_tolerance_find(struct rp_derived_tolerance *own, struct rp_replay *r,
                              struct rp_compare_rule *ret_rule, struct rp_err *err)
{
    bool found = false;
    int rc;

    *ret_rule = rp_exact;
    own->regions = rp_alloc_zero(r->memory_count, sizeof *own->regions);
    rc = run_all(own, r, err);
    for (size_t i = 0; i < r->memory_count && rc == 0; i++) {
        struct rp_derived_region *region = &own->regions[i];

        if (!region->spread.words || !spread_rule(&region->spread, &region->rule))
            continue;
        rc = round_rule(&region->rule, err);
        if (rc == 0)
            rc = find_near(own, r, i, err);
        if (!found)
            *ret_rule = region->rule;
        found = true;
    }
    return rc;
}

void rp_derived_tolerance_print(const struct rp_derived_tolerance *own, const struct rp_replay *r,
                                char *out, size_t room)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; i < r->memory_count; i++) {
        char text[RP_COMPARE_TEXT];
        const size_t length =
            (size_t)rp_compare_rule_print(&own->regions[i].rule, text, sizeof text);

        if (own->regions[i].rule.type == RP_EXACT || strstr(out, text) || used + length + 6 > room)
            continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s", used ? " and " : "", text);
    }
    if (!used)
        rp_compare_rule_print(&rp_exact, out, room);
}

void rp_derived_tolerance_compare(const struct rp_derived_tolerance *own, size_t region,
                                  uint64_t page, const uint8_t *got, const uint8_t *expected,
                                  uint64_t *ret_bad)
{
    const struct rp_compare_rule *rule = &own->regions[region].rule;
    const struct rp_differing_page *near =
        rule->type != RP_EXACT ? find_page(&own->near, own->near.count, region, page) : NULL;
    uint64_t far[RP_PAGE_MASKS];

    rp_compare_words(&rp_exact, got, expected, RP_PAGE_BYTES, ret_bad);
    if (!near)
        return;
    rp_compare_words(rule, got, expected, RP_PAGE_BYTES, far);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        ret_bad[i] &= far[i] | ~near->words[i];
}

void rp_derived_tolerance_compare_roughly(const struct rp_derived_tolerance *own, size_t region,
                                          uint64_t page, const uint8_t *got,
                                          const uint8_t *expected, uint64_t *ret_bad)
{
    const bool exact = own->regions[region].rule.type == RP_EXACT;
    const struct rp_differing_page *near =
        exact ? NULL : find_page(&own->near, own->near.count, region, page);

    uint64_t far[RP_PAGE_MASKS];

    rp_compare_words(&rp_exact, got, expected, RP_PAGE_BYTES, ret_bad);
    if (!near)
        return;
    rp_compare_roughly(own->regions[region].rule.type, got, expected, RP_PAGE_BYTES, far);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        ret_bad[i] &= far[i] | ~near->words[i];
}
