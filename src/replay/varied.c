#include "replay/varied.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "capture/replay_again.h"
#include "replay/watch.h"

/* What the captured kernel gives is kept in memory. */
enum { MOST_PAGES = 1 << 18 };

static const struct rp_compare_rule exact = {.type = RP_EXACT};

/* --- memory -------------------------------------------------------------------------------- */

/* Other inputs, and poison where results go. */
static int vary_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                     uint8_t *contents, struct rp_err *err)
{
    struct rp_varied *v = data;
    if (rp_trial_may_change(m) && !rp_is_zero_page(contents))
        v->changed_numbers +=
            rp_inputs_change(&v->rule, v->trial->low, v->trial->high,
                             m->region.base + page * RP_PAGE_BYTES, bytes, contents);
    return rp_trial_poison_page(v->trial, m, page, bytes, contents, err);
}

static int page_before(struct rp_varied *v, const struct rp_capture_memory *m, uint64_t page,
                       uint8_t *ret, struct rp_err *err)
{
    const uint64_t left = m->region.bytes - page * RP_PAGE_BYTES;
    const size_t bytes = left < RP_PAGE_BYTES ? left : RP_PAGE_BYTES;
    const uint64_t changed = v->changed_numbers;
    int rc = rp_capture_page(v->trial->r->capture, m, RP_STATE_BEFORE, page, ret, err);

    if (rc == 0)
        rc = vary_page(v, m, page, bytes, ret, err);
    memset(ret + bytes, 0, RP_PAGE_BYTES - bytes);
    v->changed_numbers = changed;
    return rc;
}

static int by_place(const void *a, const void *b)
{
    const struct rp_varied_page *x = a, *y = b;

    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

static size_t index_of(const struct rp_varied *v, const struct rp_capture_memory *m)
{
    return (size_t)(m - v->trial->r->memory);
}

static const struct rp_varied_page *find(const struct rp_varied *v,
                                         const struct rp_capture_memory *m, uint64_t page)
{
    /* The contents of what is looked for are not looked at. */
    static const size_t head = sizeof(struct rp_varied_page) - RP_PAGE_BYTES;
    struct rp_varied_page wanted;

    memset(&wanted, 0, head);
    wanted.region = index_of(v, m);
    wanted.page = page;
    return v->count ? bsearch(&wanted, v->pages, v->count, sizeof *v->pages, by_place) : NULL;
}

/* --- the captured kernel ------------------------------------------------------------------- */

static int keep(struct rp_varied *v, const struct rp_capture_memory *m, uint64_t page,
                const uint8_t *contents, struct rp_err *err)
{
    if (v->count == MOST_PAGES) {
        v->reason = "the captured kernel writes more than can be kept";
        return 0;
    }
    if (v->count == v->capacity) {
        const size_t capacity = v->capacity ? 2 * v->capacity : 64;
        struct rp_varied_page *pages = realloc(v->pages, capacity * sizeof *pages);

        if (!pages)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        v->pages = pages;
        v->capacity = capacity;
    }
    v->pages[v->count].region = index_of(v, m);
    v->pages[v->count].page = page;
    memcpy(v->pages[v->count++].contents, contents, RP_PAGE_BYTES);
    return 0;
}

static int note_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct rp_varied *v = data;
    const struct rp_write_page *w = rp_write_set_find(&v->trial->set, index_of(v, m), page);
    uint8_t before[RP_PAGE_BYTES];
    uint64_t other[RP_PAGE_MASKS], written[RP_PAGE_MASKS] = {0};
    int rc = page_before(v, m, page, before, err);

    if (rc < 0 || memcmp(before, contents, RP_PAGE_BYTES) == 0)
        return rc;
    rp_compare_words(&exact, before, contents, RP_PAGE_BYTES, written);
    rp_trial_compare(v->trial, m, page, contents, expected, other);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        v->telling_bytes +=
            4 * (uint64_t)__builtin_popcountll((written[i] | (w ? w->written[i] : 0)) & other[i]);
    return keep(v, m, page, contents, err);
}

static int run(struct rp_varied *v, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    double us;
    int rc;

    v->changed_numbers = 0;
    rc = rp_replay_fill(r, vary_page, v, err);
    if (rc < 0)
        return rc;
    rp_replay_step(r, r->kernel == &r->original ? RP_STEP_VARY : RP_STEP_OTHER);
    rc = rp_replay_run(r, &us, err);
    if (rc == 0)
        rp_replay_step(r, RP_STEP_REST);
    return rc < 0 ? rp_wrap(err, "with other inputs than the captured ones") : 0;
}

/* --- judging ------------------------------------------------------------------------------- */

struct judge {
    struct rp_varied *v;
    struct rp_replay_outcome outcome;
};

static int judge_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct judge *judge = data;
    struct rp_replay_outcome *o = &judge->outcome;
    struct rp_varied *v = judge->v;
    const struct rp_varied_page *kept = find(v, m, page);
    const struct rp_write_page *w = rp_write_set_find(&v->trial->set, index_of(v, m), page);
    uint64_t written[RP_PAGE_MASKS] = {0}, different[RP_PAGE_MASKS], bad[RP_PAGE_MASKS];
    uint8_t before[RP_PAGE_BYTES];
    int rc = page_before(v, m, page, before, err);

    if (rc < 0)
        return rc;
    expected = kept ? kept->contents : before;
    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rp_off_note(&o->off, contents, expected, RP_PAGE_BYTES);
    rp_compare_words(&exact, before, expected, RP_PAGE_BYTES, written);
    rp_compare_words(&exact, contents, expected, RP_PAGE_BYTES, different);
    rp_trial_compare(v->trial, m, page, contents, expected, bad);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++) {
        const uint64_t may = written[i] | (w ? w->written[i] : 0);
        const int wrong = __builtin_popcountll(may & bad[i]);
        const int outside = __builtin_popcountll(~may & different[i]);

        o->wrong_bytes += 4 * (uint64_t)wrong;
        o->outside_bytes += 4 * (uint64_t)outside;
    }
    return 0;
}

int rp_varied_check(struct rp_varied *v, struct rp_replay_outcome *ret, struct rp_err *err)
{
    struct judge judge = {.v = v};
    int rc = run(v, err);

    if (rc == 0)
        rc = rp_replay_look_at(v->trial->r, judge_page, &judge, err);
    judge.outcome.outside_bytes += rp_watch_take(v->trial->r).bytes;
    judge.outcome.verdict.different_bytes = judge.outcome.wrong_bytes + judge.outcome.outside_bytes;
    if (rc == 0)
        *ret = judge.outcome;
    return rc;
}

/* It computes with others than those that were changed, or by less than the rule sees. */
static const char *same_result(const struct rp_varied *v)
{
    const bool near = v->trial->rule.type != RP_EXACT;

    if (v->rule.words) /* their last bits */
        return near ? "the captured kernel gives the same within the rule with other integers "
                      "(if it computes with numbers of another type, name it: --inputs f32, f16, "
                      "bf16 or f64)"
                    : "the captured kernel gives the same result with other integers (if it "
                      "computes with numbers of another type, name it: --inputs f32, f16, bf16 or "
                      "f64)";
    return near ? "the captured kernel gives the same within the rule with other numbers (if it "
                  "computes with integers, --inputs i32 changes these; other types: f32, f16, "
                  "bf16, f64)"
                : "the captured kernel gives the same result with other numbers (if it computes "
                  "with integers, --inputs i32 changes these; other types: f32, f16, bf16, f64)";
}

int rp_varied_prepare(struct rp_varied *v, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    const struct rp_replay_kernel *kernel = r->kernel;
    struct rp_replay_outcome again = {0};
    int rc = rp_inputs_parse(v->inputs, v->trial->rule.type, &v->rule, err);

    if (rc < 0)
        return rc;
    if (v->rule.none)
        v->reason = "it was not asked for";
    if (v->reason)
        return 0;
    r->kernel = &r->original;
    rc = run(v, err);
    v->broke = rc < 0 && err->code == RP_VERDICT;
    if (rc == 0 && v->changed_numbers == 0)
        v->reason = "no page of memory is known to hold numbers only (--inputs names their type)";
    if (rc == 0 && !v->reason)
        rc = rp_replay_look_at(r, note_page, v, err);
    if (rc == 0 && !v->reason && v->telling_bytes == 0)
        v->reason = same_result(v);
    if (rc == 0 && !v->reason)
        rc = rp_varied_check(v, &again, err);
    if (again.verdict.different_bytes)
        v->reason = "the captured kernel does not give the same result twice with other numbers";
    r->kernel = kernel;
    return rc;
}
