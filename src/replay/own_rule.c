#include "replay/own_rule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "replay/candidate.h"
#include "replay/near.h"
#include "trace/device_table.h"

/* To see whether runs of the captured kernel differ from the captured memory, and by how much. */
enum { LEAST_RUNS = 2, MOST_RUNS = 6 };

/* Pages in a row that are looked at together for rows of one field. */
enum { MOST_TOGETHER = 256 };

static const struct rp_compare_rule exact = {.type = RP_EXACT};

/* --- pages --------------------------------------------------------------------------------- */

static int add_page(struct rp_own_pages *pages, const struct rp_own_page *page, struct rp_err *err)
{
    if (pages->count == pages->capacity) {
        const size_t capacity = pages->capacity ? 2 * pages->capacity : 64;
        struct rp_own_page *at = realloc(pages->at, capacity * sizeof *at);

        if (!at)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        pages->at = at;
        pages->capacity = capacity;
    }
    pages->at[pages->count++] = *page;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct rp_own_page *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

static struct rp_own_page *find_page(const struct rp_own_pages *pages, size_t count, size_t region,
                                     uint64_t page)
{
    const struct rp_own_page wanted = {.region = region, .page = page};

    return count ? bsearch(&wanted, pages->at, count, sizeof wanted, by_place) : NULL;
}

/* --- what runs differ by ------------------------------------------------------------------- */

struct note {
    struct rp_own_rule *own;
    struct rp_replay *r;
};

static int note_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct note *note = data;
    struct rp_own_rule *own = note->own;
    struct rp_own_page fresh = {.region = (size_t)(m - note->r->memory), .page = page};
    struct rp_own_page *known;
    uint64_t different[RP_PAGE_MASKS];

    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rp_spread_note(&own->regions[fresh.region].spread, contents, expected, RP_PAGE_BYTES);
    rp_compare_words(&exact, contents, expected, RP_PAGE_BYTES, different);
    known = find_page(&own->differing, own->sorted, fresh.region, page);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        (known ? known : &fresh)->words[i] |= different[i];
    return known ? 0 : add_page(&own->differing, &fresh, err);
}

/* Hardware runs waves in an order of its own each time. The software device has one: it is told
 * others from the second run on, so that what depends on the order shows. */
static uint32_t order_of(unsigned run)
{
    return run == 0 ? RP_DEVICE_FORWARD : run == 1 ? RP_DEVICE_REVERSED : run;
}

static int run_all(struct rp_own_rule *own, struct rp_replay *r, struct rp_err *err)
{
    struct note note = {.own = own, .r = r};
    int rc = 0;

    while (own->runs < (own->differing.count ? MOST_RUNS : LEAST_RUNS) && rc == 0) {
        double us;

        rc = rp_replay_fill(r, NULL, NULL, err);
        rp_replay_order(order_of(own->runs));
        if (rc == 0)
            rc = rp_replay_run(r, &us, err);
        rp_replay_order(RP_DEVICE_FORWARD);
        if (rc == 0)
            rc = rp_replay_look_at(r, note_page, &note, err);
        if (own->differing.count)
            qsort(own->differing.at, own->differing.count, sizeof *own->differing.at, by_place);
        own->sorted = own->differing.count;
        own->runs++;
    }
    return rc;
}

/* --- which words that is for --------------------------------------------------------------- */

struct together {
    struct rp_replay *r;
    struct rp_own_rule *own;
    size_t region;
    unsigned unit_bytes;
    struct rp_near_count count;
    bool mark; /**< else count */
    uint64_t first, pages;
    uint8_t *units;
};

static int take_page(struct together *t, uint64_t page, struct rp_err *err)
{
    static const uint64_t nothing[RP_PAGE_MASKS];
    const struct rp_own_region *own = &t->own->regions[t->region];
    const struct rp_own_page *differing =
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
    rp_near_units(&own->spread, &own->rule, before, after, differing ? differing->words : nothing,
                  t->units + t->pages++ * (RP_PAGE_BYTES / t->unit_bytes));
    return 0;
}

static int end_pages(struct together *t, struct rp_err *err)
{
    const size_t per_page = RP_PAGE_BYTES / t->unit_bytes;
    struct rp_own_page near = {.region = t->region};
    int rc = 0;

    if (!t->mark)
        rp_near_count(t->units, t->pages * per_page, &t->count);
    else if (t->pages)
        rc = rp_near_drop_rows(&t->count, t->units, t->pages * per_page, err);
    for (uint64_t i = 0; t->mark && i < t->pages && rc == 0; i++) {
        near.page = t->first + i;
        rp_near_mask(t->units + i * per_page, t->unit_bytes, near.words);
        rc = add_page(&t->own->near, &near, err);
    }
    t->pages = 0;
    return rc;
}

/* Pages that differ, and those that the captured dispatch changed: these in rows. */
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
            rc = end_pages(t, err);
    }
    return rc < 0 ? rc : end_pages(t, err);
}

static int find_near(struct rp_own_rule *own, struct rp_replay *r, size_t region,
                     struct rp_err *err)
{
    const unsigned unit_bytes = rp_near_unit_bytes(&own->regions[region].rule);
    rp_autofree uint8_t *units = malloc((size_t)MOST_TOGETHER * (RP_PAGE_BYTES / unit_bytes));
    struct together t = {
        .r = r, .own = own, .region = region, .unit_bytes = unit_bytes, .units = units};
    int rc = units ? go_through(&t, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    t.mark = true;
    return rc < 0 ? rc : go_through(&t, err);
}

/* --- all of it ----------------------------------------------------------------------------- */

/* What is said is what is done. */
static int round_rule(struct rp_compare_rule *rule, struct rp_err *err)
{
    char text[RP_COMPARE_TEXT];

    rp_compare_rule_print(rule, text, sizeof text);
    return rp_compare_rule_parse(text, rule, err);
}

int rp_own_rule_find(struct rp_own_rule *own, struct rp_replay *r, struct rp_compare_rule *ret_rule,
                     struct rp_err *err)
{
    bool found = false;
    int rc;

    *ret_rule = exact;
    own->regions = calloc(r->memory_count + 1, sizeof *own->regions);
    if (!own->regions)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = run_all(own, r, err);
    for (size_t i = 0; i < r->memory_count && rc == 0; i++) {
        struct rp_own_region *region = &own->regions[i];

        if (!region->spread.words || !rp_spread_rule(&region->spread, &region->rule))
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

void rp_own_rule_print(const struct rp_own_rule *own, const struct rp_replay *r, char *out,
                       size_t room)
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
        rp_compare_rule_print(&exact, out, room);
}

void rp_own_rule_compare(const struct rp_own_rule *own, size_t region, uint64_t page,
                         const uint8_t *got, const uint8_t *expected, uint64_t *ret_bad)
{
    const struct rp_compare_rule *rule = &own->regions[region].rule;
    const struct rp_own_page *near =
        rule->type != RP_EXACT ? find_page(&own->near, own->near.count, region, page) : NULL;
    uint64_t far[RP_PAGE_MASKS];

    rp_compare_words(&exact, got, expected, RP_PAGE_BYTES, ret_bad);
    if (!near)
        return;
    rp_compare_words(rule, got, expected, RP_PAGE_BYTES, far);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        ret_bad[i] &= far[i] | ~near->words[i];
}
