#include "replay/input_variation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "replay/argument_types.h"
#include "replay/launch_changes.h"
#include "replay/other_launch.h"
#include "replay/output_rules.h"
#include "replay/replay.h"
#include "replay/replay_protocol.h"
#include "trace/check_record.h"

/* --- why a kind tells nothing -------------------------------------------------------------- */

/* It computes with others than those that were changed, or by less than the rule sees. */
static const char *same_numbers(const struct rp_variation_runs *v)
{
    const bool near = v->trial->rule.type != RP_EXACT;

    if (v->rule.words) /* Integers change in their last bits only. */
        return near ? "the captured kernel gives the same within the rule with other integers "
                      "(if it computes with numbers of another type, replay compare --inputs f32, "
                      "f16, bf16 or f64 names it)"
                    : "the captured kernel gives the same result with other integers (if it "
                      "computes with numbers of another type, replay compare --inputs f32, f16, "
                      "bf16 or f64 names it)";
    return near ? "the captured kernel gives the same within the rule with other numbers (if it "
                  "computes with integers, replay compare --inputs i32 changes these; other "
                  "types: f32, f16, bf16, f64)"
                : "the captured kernel gives the same result with other numbers (if it computes "
                  "with integers, replay compare --inputs i32 changes these; other types: f32, "
                  "f16, bf16, f64)";
}

/* The captured kernel's results are kept in memory, so their number is limited. */
enum { MOST_PAGES = 1 << 18 };

/* --- memory -------------------------------------------------------------------------------- */

static uint64_t change_order(const struct rp_replay_trial *trial, uint64_t place, size_t bytes,
                             uint8_t *contents)
{
    uint8_t before[RP_PAGE_BYTES] = {0}, after[RP_PAGE_BYTES] = {0};
    uint64_t different[RP_PAGE_MASKS], count = 0;

    memcpy(before, contents, bytes);
    rp_write_set_flip(RP_FLIP_ORDER, place, contents, bytes, &trial->addresses);
    memcpy(after, contents, bytes);
    rp_compare_words(&rp_exact, before, after, RP_PAGE_BYTES, different);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        count += (uint64_t)__builtin_popcountll(different[i]);
    return count;
}

/* A page of zeros may be filled only if it is among the first of its region, because regions of
 * zeros may be all of a GPU's memory.
 */
static bool may_fill(uint64_t page, const uint8_t *contents)
{
    enum { FIRST_PAGES = 1024, ONE_IN = 16 };

    return page < FIRST_PAGES || page % ONE_IN == 0 || !rp_is_zero_page(contents);
}

/* Each kind changes another half, because words that all kinds left unchanged would be tested by
 * none.
 */
static uint64_t seed_of(const struct rp_variation_runs *v, const struct rp_capture_memory *m,
                        uint64_t page)
{
    return rp_replay_place(v->trial->r, m, page) ^ (uint64_t)(v->now + 1) << 56;
}

/** Returns the rule for a page, whose type the kernel's signature may say. */
static struct rp_inputs_rule rule_at(const struct rp_variation_runs *v,
                                     const struct rp_capture_memory *m, uint64_t page)
{
    struct rp_inputs_rule rule = v->rule;

    rp_argument_rule(v->trial->r, m, page, &rule);
    return rule;
}

/* Zeros where the captured kernel writes may be counters and flags, so they stay, unless numbers
 * replace them, which may be added up.
 */
static int fill_zeros(struct rp_variation_runs *v, const struct rp_capture_memory *m, uint64_t page,
                      size_t bytes, uint8_t *contents, uint64_t *ret_count, struct rp_err *err)
{
    static const uint64_t none[RP_PAGE_MASKS];
    const struct rp_replay_trial *trial = v->trial;
    const struct rp_write_page *w =
        rp_write_set_find(&trial->set, rp_replay_region(v->trial->r, m), page);
    const struct rp_inputs_rule rule = rule_at(v, m, page);
    const bool integers = v->now == RP_VARY_ZERO_INTEGERS;
    const uint64_t *keep = w ? w->written : none;
    uint8_t after[RP_PAGE_BYTES];
    int rc = 0;

    *ret_count = 0;
    if (!may_fill(page, contents))
        return 0;
    if (w && !integers) {
        rc = rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err);
        keep = rc == 0 && rp_inputs_are_numbers(&rule, after, bytes) ? none : keep;
    }
    *ret_count = rp_inputs_fill(&rule, integers, &trial->addresses, seed_of(v, m, page), keep,
                                bytes, contents);
    return rc;
}

/* What a kernel adds to is not always as it was captured: sums of before, counters. */
static int update_page(struct rp_variation_runs *v, const struct rp_capture_memory *m,
                       uint64_t page, size_t bytes, uint8_t *contents, uint64_t *ret_count,
                       struct rp_err *err)
{
    const struct rp_replay_trial *trial = v->trial;
    const struct rp_write_page *w =
        rp_write_set_find(&trial->set, rp_replay_region(trial->r, m), page);
    const struct rp_inputs_rule rule = rule_at(v, m, page);
    uint64_t words[RP_PAGE_MASKS];
    uint8_t after[RP_PAGE_BYTES];
    int rc = w ? rp_capture_page(trial->r->capture, m, RP_STATE_AFTER, page, after, err) : 0;

    for (size_t i = 0; w && i < RP_PAGE_MASKS; i++)
        words[i] = w->written[i] & ~w->poisoned[i];
    if (w && rc == 0)
        *ret_count = rp_inputs_update(&rule, &trial->addresses, seed_of(v, m, page), words, after,
                                      bytes, contents);
    return rc;
}

static int change_page(struct rp_variation_runs *v, const struct rp_capture_memory *m,
                       uint64_t page, size_t bytes, uint8_t *contents, uint64_t *ret_count,
                       struct rp_err *err)
{
    const struct rp_addresses *addresses = &v->trial->addresses;
    const struct rp_inputs_rule rule = rule_at(v, m, page);
    const uint64_t place = seed_of(v, m, page);

    *ret_count = 0;
    if (rp_variations[v->values].what == RP_VARIES_ZEROS)
        return fill_zeros(v, m, page, bytes, contents, ret_count, err);
    if (v->values == RP_VARY_UPDATED)
        return update_page(v, m, page, bytes, contents, ret_count, err);
    if (rp_is_zero_page(contents))
        return 0;
    *ret_count = v->values == RP_VARY_ORDER
                     ? change_order(v->trial, place, bytes, contents)
                     : rp_inputs_vary(v->values, &rule, addresses, place, bytes, contents);
    return 0;
}

/* One workgroup may store where several have to add: with other grids, too, results are added to
 * what is not as it was captured, if the captured kernel has shown that it may be.
 */
static bool also_updates(const struct rp_variation_runs *v)
{
    const struct rp_variation_result *updated = &v->of[RP_VARY_UPDATED];

    return rp_variations[v->now].what == RP_VARIES_GRID && updated->changed && !updated->reason;
}

/* Indices and numbers lie in regions of their own: where other indices lead astray, one region at a
 * time is changed, and the captured kernel says for which of them that is allowed. */
static bool is_varied(const struct rp_variation_runs *v, const struct rp_capture_memory *m)
{
    return rp_varies_memory(v->values) && rp_trial_may_change(m) &&
           (v->part == 0 || rp_replay_region(v->trial->r, m) == v->part - 1);
}

/* Writes other inputs, and poison where results go. */
static int vary_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                     uint8_t *contents, struct rp_err *err)
{
    struct rp_variation_runs *v = data;
    const bool bound = v->bound && rp_trial_may_change(m);
    enum rp_number_type type =
        bound ? rp_rounding_bound_type(v->trial, m, page, contents, bytes) : RP_EXACT;
    uint64_t count = 0;
    int rc = 0;

    if (is_varied(v, m))
        rc = change_page(v, m, page, bytes, contents, &count, err);
    v->changed += count;
    if (also_updates(v) && rp_trial_may_change(m))
        rc = update_page(v, m, page, bytes, contents, &count, err);
    if (bound && type == RP_EXACT) /* It was zeros. */
        type = rp_rounding_bound_type(v->trial, m, page, contents, bytes);
    if (bound)
        rp_rounding_bound_change(type, v->bound, rp_replay_place(v->trial->r, m, page), bytes,
                                 contents);
    return rc < 0 ? rc : rp_trial_poison_page(v->trial, m, page, bytes, contents, err);
}

static int page_before(struct rp_variation_runs *v, const struct rp_capture_memory *m,
                       uint64_t page, uint8_t *ret, struct rp_err *err)
{
    const size_t bytes = rp_replay_page_bytes(m, page);
    const uint64_t changed = v->changed;
    int rc = rp_capture_page(v->trial->r->capture, m, RP_STATE_BEFORE, page, ret, err);

    if (rc == 0)
        rc = vary_page(v, m, page, bytes, ret, err);
    memset(ret + bytes, 0, RP_PAGE_BYTES - bytes);
    v->changed = changed;
    return rc;
}

static const struct rp_variation_page *find(const struct rp_variation_runs *v,
                                            const struct rp_capture_memory *m, uint64_t page)
{
    return rp_page_find(v->pages.items, v->pages.count, sizeof *v->pages.items,
                        (struct rp_page_key){rp_replay_region(v->trial->r, m), page});
}

/* --- the captured kernel ------------------------------------------------------------------- */

static void keep(struct rp_variation_runs *v, const struct rp_capture_memory *m, uint64_t page,
                 const uint64_t *written, const uint8_t *before, const uint8_t *contents)
{
    struct rp_variation_page *kept;

    if (v->pages.count == MOST_PAGES) {
        v->of[v->now].reason = "the captured kernel writes more than can be kept";
        v->of[v->now].open = true;
        return;
    }
    kept = rp_vec_add(&v->pages);
    kept->key = (struct rp_page_key){rp_replay_region(v->trial->r, m), page};
    memcpy(kept->written, written, sizeof kept->written);
    memset(kept->left, 0, sizeof kept->left);
    for (size_t i = 0; i < RP_PAGE_BYTES; i++)
        kept->left[i / 8] |= (uint8_t)((before[i] == contents[i]) << i % 8);
    memcpy(kept->contents, contents, RP_PAGE_BYTES);
}

/* Sums of both signs cancel, and numbers a thousand times as large are off by as much more: what
 * results may be off by is known for the captured inputs. With these they are compared roughly, and
 * the others must be exact nevertheless.
 */
static bool is_rough(enum rp_variation now)
{
    const enum rp_variation_class what = rp_variations[now].what;

    return now == RP_VARY_SIGNS || now == RP_VARY_ARGUMENT_SIGNS || what == RP_VARIES_INTEGERS ||
           what == RP_VARIES_ZEROS || what == RP_VARIES_SIZES ||
           (what == RP_VARIES_RARE && now != RP_VARY_SPARSE);
}

static bool is_special(enum rp_variation now)
{
    return now == RP_VARY_SPECIAL || now == RP_VARY_NANS || now == RP_VARY_INFINITE;
}

/* NaN is NaN, whatever its bits are. */
static void pass_nan(const uint8_t *got, const uint8_t *expected, uint64_t *bad)
{
    static const struct rp_compare_rule f32 = {.type = RP_F32}, f64 = {.type = RP_F64};
    uint64_t as_f32[RP_PAGE_MASKS], as_f64[RP_PAGE_MASKS];

    rp_compare_words(&f32, got, expected, RP_PAGE_BYTES, as_f32);
    rp_compare_words(&f64, got, expected, RP_PAGE_BYTES, as_f64);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        bad[i] &= as_f32[i] & as_f64[i];
}

static void compare(const struct rp_variation_runs *v, const struct rp_capture_memory *m,
                    uint64_t page, const uint8_t *got, const uint8_t *expected, uint64_t *ret_bad)
{
    const struct rp_replay_trial *trial = v->trial;

    if (trial->own.regions && is_rough(v->now))
        rp_derived_tolerance_compare_roughly(&trial->own, rp_replay_region(trial->r, m), page, got,
                                             expected, ret_bad);
    else if (trial->rule.type != RP_EXACT && is_rough(v->now))
        rp_compare_roughly(trial->rule.type, got, expected, RP_PAGE_BYTES, ret_bad);
    else
        rp_trial_compare(trial, m, page, got, expected, ret_bad);
    if (is_special(v->now))
        pass_nan(got, expected, ret_bad);
}

/* With other sizes the captured kernel may write where it does not otherwise. */
static bool is_astray(const struct rp_variation_runs *v, size_t region)
{
    const struct rp_write_set *set = &v->trial->set;

    for (size_t i = 0; i < set->count && rp_variations[v->now].what == RP_VARIES_SIZES; i++)
        if (set->items[i].key.region == region)
            return false;
    return rp_variations[v->now].what == RP_VARIES_SIZES;
}

static const char astray[] = "the captured kernel leaves its memory then";

static int note_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct rp_variation_runs *v = data;
    const struct rp_write_page *w =
        rp_write_set_find(&v->trial->set, rp_replay_region(v->trial->r, m), page);
    uint8_t before[RP_PAGE_BYTES];
    uint64_t other[RP_PAGE_MASKS], written[RP_PAGE_MASKS] = {0};
    int rc = page_before(v, m, page, before, err);

    if (rc < 0 || (!w && memcmp(before, contents, RP_PAGE_BYTES) == 0))
        return rc;
    rp_compare_words(&rp_exact, before, contents, RP_PAGE_BYTES, written);
    /* Results that it does not write then tell as much as other ones. */
    compare(v, m, page, contents, expected, other);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++)
        v->of[v->now].telling_bytes +=
            4 * (uint64_t)__builtin_popcountll((written[i] | (w ? w->written[i] : 0)) & other[i]);
    if (memcmp(before, contents, RP_PAGE_BYTES) == 0)
        return 0;
    if (is_astray(v, rp_replay_region(v->trial->r, m)))
        v->of[v->now].reason = astray;
    keep(v, m, page, written, before, contents);
    return 0;
}

/* Of a size that is larger than the captured one, memory has less than it promises. */
static bool promises_more(const struct rp_variation_runs *v)
{
    return v->now == RP_VARY_SIZES && v->size.way >= RP_SIZE_LARGER;
}

static int run_kernel(struct rp_variation_runs *v, double *ret_us, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    int rc;

    rp_replay_step(r, r->kernel == &r->original ? (char)(RP_STEP_VARY + v->now) : RP_STEP_OTHER);
    r->trying = r->kernel == &r->original || promises_more(v);
    rc = rp_replay_run(r, ret_us, err);
    r->trying = false;
    if (rc == 0)
        rp_replay_step(r, RP_STEP_REST);
    return rc < 0 ? rp_wrap(err, "%s", rp_variations[v->now].how_other) : 0;
}

static uint64_t change_arguments(const struct rp_variation_runs *v, uint8_t *kernarg)
{
    const enum rp_scalars_way way = v->now == RP_VARY_AT_ONCE
                                        ? RP_SCALARS_OTHER
                                        : (enum rp_scalars_way)(v->now - RP_VARY_ARGUMENTS);

    return rp_launch_change_scalars(&v->trial->r->scalars, &v->trial->addresses, way, kernarg);
}

static uint32_t order_of(const struct rp_variation_runs *v)
{
    switch (v->now) {
    case RP_VARY_SHUFFLED:
        return 1;
    case RP_VARY_INTERLEAVED:
        return RP_DEVICE_INTERLEAVED | (v->part + 1);
    default:
        return v->now == RP_VARY_REVERSED || v->second ? RP_DEVICE_REVERSED : RP_DEVICE_FORWARD;
    }
}

static uint64_t work_items(const uint16_t workgroup[3])
{
    return (uint64_t)workgroup[0] * workgroup[1] * workgroup[2];
}

/* Another grid, which hindrance() has chosen. */
static void change_grid(struct rp_variation_runs *v)
{
    struct rp_replay *r = v->trial->r;
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;
    const uint64_t groups = rp_launch_groups(d->grid, d->workgroup);

    rp_launch_put_grid(&r->grid_args, v->grid, v->workgroup, r->kernarg_kept);
    for (unsigned axis = 0; axis < 3 && v->misled; axis++)
        memcpy((uint8_t *)r->kernarg_kept + r->grid_args.size[axis].offset, &d->workgroup[axis],
               r->grid_args.size[axis].bytes);
    r->grid = v->grid;
    r->workgroup = v->workgroup;
    r->other_grid = v->other_grid;
    if (rp_variations[v->now].what == RP_VARIES_GRID)
        v->changed = v->now == RP_VARY_WORKGROUP
                         ? groups * (work_items(d->workgroup) - work_items(v->workgroup))
                         : groups - rp_launch_groups(v->grid, v->workgroup);
}

/* Arguments in their copy. */
static void change_launch(struct rp_variation_runs *v)
{
    struct rp_replay *r = v->trial->r;
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;

    rp_replay_set_wave_order(order_of(v));
    if (rp_variations[v->now].what == RP_VARIES_ORDER)
        v->changed = rp_launch_groups(d->grid, d->workgroup);
    if (rp_variations[v->now].what == RP_VARIES_ARGUMENTS)
        v->changed = change_arguments(v, r->kernarg_kept);
    if (v->now == RP_VARY_AT_ONCE)
        v->changed += change_arguments(v, r->kernarg_kept);
    if (v->now == RP_VARY_SIZES)
        v->changed =
            rp_launch_change_size(&r->scalars, &v->trial->addresses, &v->size, r->kernarg_kept);
    if (v->now == RP_VARY_ZERO_ARGUMENTS)
        v->changed = rp_launch_change_zero(&r->scalars, &v->size, r->kernarg_kept);
    if (rp_variations[v->now].what == RP_VARIES_OVERLAP)
        v->changed = rp_launch_make_overlap(&r->visible, &v->overlap, r->kernarg_kept);
    if (v->has_grid)
        change_grid(v);
}

/* The captured kernel must give the same both times that it runs, and others what it gives: first
 * as in any run, then in the reverse order, from other poison, and with leftovers in LDS. With
 * other inputs, such as a smaller width of rows, two wavefronts may write one word, and which is
 * the last may differ in a candidate that is right. With a factor or a mode that is not 0 the
 * captured kernel may read what is there where its results go: that is no poison then, but what may
 * be there, and the same both times. */
static void set_poisons(struct rp_variation_runs *v, bool second)
{
    const struct rp_device_table *software = rp_replay_software();

    v->trial->poison = v->unpoisoned                      ? RP_POISON_NONE
                       : v->now == RP_VARY_ZERO_ARGUMENTS ? RP_POISON_LIKE
                       : second                           ? RP_POISON_HIGH
                                                          : RP_POISON_NAN;
    if (software && v->trial->leftovers)
        software->set_poison(second ? RP_TRIAL_UNINITIALISED_SEED : 0);
}

static int run(struct rp_variation_runs *v, double *ret_us, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    rp_autofree uint8_t *kept = rp_memdup(r->kernarg_kept, r->kernarg_bytes);
    int rc;

    v->changed = 0;
    rc = rp_replay_fill(r, vary_page, v, err);
    /* Zeros in memory only accompany arguments. */
    if (rc < 0 ||
        (v->changed == 0 && rp_varies_memory(v->values) && v->now != RP_VARY_ZERO_ARGUMENTS))
        return rc;
    change_launch(v);
    if (v->changed)
        rc = rp_replay_empty_caches(r, err);
    if (v->changed && rc == 0)
        rc = run_kernel(v, ret_us, err);
    memcpy(r->kernarg_kept, kept, r->kernarg_bytes);
    r->grid = NULL;
    r->workgroup = NULL;
    r->other_grid = NULL;
    rp_replay_set_wave_order(RP_DEVICE_FORWARD);
    return rc;
}

/* --- judging ------------------------------------------------------------------------------- */

struct judge {
    struct rp_variation_runs *v;
    struct rp_replay_outcome outcome;
};

/* With fewer workgroups the captured kernel may leave results unwritten. A candidate whose
 * work-items do more may write them: as the captured grid does, of the same inputs. */
static bool may_write_more(const struct rp_variation_runs *v)
{
    return v->now == RP_VARY_HALF_GRID || v->now == RP_VARY_ODD_GRID ||
           v->now == RP_VARY_ONE_GROUP || v->now == RP_VARY_WORKGROUP ||
           (v->now == RP_VARY_SIZES && v->size.way == RP_SIZE_LARGER_ONE_GROUP);
}

static void add_captured(const struct rp_write_page *w, const struct rp_variation_page *kept,
                         const uint8_t *contents, const uint8_t *captured, uint8_t *before)
{
    for (size_t i = 0; w && i < RP_PAGE_WORDS; i++)
        if (rp_word_in(w->written, i) && !(kept && rp_word_in(kept->written, i)) &&
            memcmp(contents + 4 * i, captured + 4 * i, 4) == 0)
            memcpy(before + 4 * i, captured + 4 * i, 4);
}

/* What is not written still has the poison of this run: also a byte beside those of its word that
 * are results. */
static void expect_kept(const struct rp_variation_page *kept, const uint8_t *contents,
                        uint8_t *before)
{
    for (size_t i = 0; i < RP_PAGE_BYTES; i++) {
        const bool left = kept->left[i / 8] >> i % 8 & 1;

        if (rp_word_in(kept->written, i / 4) && !(left && contents[i] == before[i]))
            before[i] = kept->contents[i];
    }
}

static int judge_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct judge *judge = data;
    struct rp_replay_outcome *o = &judge->outcome;
    struct rp_variation_runs *v = judge->v;
    const struct rp_variation_page *kept = find(v, m, page);
    const struct rp_write_page *w =
        rp_write_set_find(&v->trial->set, rp_replay_region(v->trial->r, m), page);
    uint64_t different[RP_PAGE_MASKS], bad[RP_PAGE_MASKS];
    uint8_t before[RP_PAGE_BYTES];
    int rc = page_before(v, m, page, before, err);

    if (rc < 0)
        return rc;
    if (kept)
        expect_kept(kept, contents, before);
    if (may_write_more(v))
        add_captured(w, kept, contents, expected, before);
    if (memcmp(contents, before, RP_PAGE_BYTES) == 0)
        return 0;
    rp_compare_words(&rp_exact, contents, before, RP_PAGE_BYTES, different);
    compare(v, m, page, contents, before, bad);
    rp_rounding_bound_allow(&v->trial->bound, (int)v->now,
                            (struct rp_page_key){rp_replay_region(v->trial->r, m), page}, contents,
                            before, bad);
    for (size_t i = 0; i < RP_PAGE_MASKS; i++) {
        const uint64_t may = (kept ? kept->written[i] : 0) | (w ? w->written[i] : 0);

        bad[i] = (may & bad[i]) | (~may & different[i]);
        o->wrong_bytes += 4 * (uint64_t)__builtin_popcountll(may & bad[i]);
        o->outside_bytes += 4 * (uint64_t)__builtin_popcountll(~may & bad[i]);
    }
    rp_mismatch_note(&o->off, contents, before, RP_PAGE_BYTES);
    rp_word_difference_note(&o->first, m->region.base + page * RP_PAGE_BYTES, bad, contents,
                            before);
    return 0;
}

/* Results may lie elsewhere than in the capture (RP_VARY_IN_PLACE). */
static int keep_bound(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct rp_variation_runs *v = data;
    const struct rp_variation_page *kept = find(v, m, page);

    (void)expected;
    (void)err;
    if (kept)
        rp_rounding_bound_keep(v->trial, v->bound, m, page, kept->written, contents,
                               kept->contents);
    return 0;
}

static int run_for_bound(struct rp_variation_runs *v, unsigned bound, struct rp_err *err)
{
    double us;
    int rc;

    v->bound = bound;
    rc = run(v, &us, err);
    if (rc == 0)
        rc = rp_replay_look_at(v->trial->r, keep_bound, v, err);
    v->bound = RP_BOUND_AS_THEY_ARE;
    return rc;
}

/** Runs the captured kernel with what the inputs of now are for a bound. */
static int find_bound(struct rp_variation_runs *v, struct rp_err *err)
{
    struct rp_replay_trial *trial = v->trial;
    const struct rp_replay_kernel *kernel = trial->r->kernel;
    const bool known = trial->bound.proved || trial->bound.noise;
    int rc = known ? 0 : rp_rounding_bound_find(trial, err); /* whether it has one at all */

    if (rc < 0 || !trial->bound.wanted)
        return rc;
    rp_rounding_bound_begin(&trial->bound, (int)v->now);
    trial->r->kernel = &trial->r->original;
    if (trial->bound.proved)
        rc = run_for_bound(v, RP_BOUND_SIZES, err);
    for (unsigned i = 0; trial->bound.noise && i < RP_NOISE_LEVELS && rc == 0; i++)
        rc = run_for_bound(v, RP_BOUND_MOVED + i, err);
    trial->r->kernel = kernel;
    return rc;
}

static int check_once(struct rp_variation_runs *v, double *ret_us, struct rp_replay_outcome *ret,
                      struct rp_err *err)
{
    struct judge judge = {.v = v};
    int rc;

    set_poisons(v, v->second);
    rp_replay_set_timed(v->trial->r, v->timing);
    rc = run(v, ret_us, err);
    rp_replay_set_timed(v->trial->r, false);
    if (rc == 0)
        rc = rp_replay_look_at(v->trial->r, judge_page, &judge, err);
    set_poisons(v, false);
    judge.outcome.outside_bytes += rp_redzone_take(v->trial->r).bytes;
    judge.outcome.variation = v->now;
    judge.outcome.second = v->second;
    judge.outcome.size = v->size;
    judge.outcome.overlap = v->overlap;
    judge.outcome.verdict.different_bytes = judge.outcome.wrong_bytes + judge.outcome.outside_bytes;
    if (rc == 0)
        *ret = judge.outcome;
    return rc;
}

static int check(struct rp_variation_runs *v, double *ret_us, struct rp_replay_outcome *ret,
                 struct rp_err *err)
{
    const struct rp_replay_trial *trial = v->trial;
    int rc = check_once(v, ret_us, ret, err);

    if (rc < 0 || !ret->wrong_bytes || !trial->bound.wanted || trial->bound.inputs == (int)v->now ||
        trial->r->kernel == &trial->r->original)
        return rc;
    rc = find_bound(v, err);
    return rc < 0 || !trial->bound.wanted ? rc : check_once(v, ret_us, ret, err);
}

void rp_variation_argument(const struct rp_replay *r, const struct rp_replay_outcome *outcome,
                           char ret[RP_VARIATION_ARGUMENT_TEXT])
{
    *ret = '\0';
    if (outcome->variation == RP_VARY_SIZES)
        snprintf(ret, RP_VARIATION_ARGUMENT_TEXT, "argument %u is %" PRIu64 " in place of %" PRIu64,
                 rp_launch_argument_at(&r->visible, r->scalars.at[outcome->size.scalar].offset),
                 outcome->size.is, outcome->size.was);
    if (outcome->variation == RP_VARY_ZERO_ARGUMENTS)
        snprintf(ret, RP_VARIATION_ARGUMENT_TEXT, "argument %u is %g in place of 0",
                 rp_launch_argument_at(&r->visible, r->scalars.at[outcome->size.scalar].offset),
                 outcome->size.number);
    if (outcome->variation == RP_VARY_IN_PLACE)
        snprintf(ret, RP_VARIATION_ARGUMENT_TEXT, "argument %u is argument %u",
                 outcome->overlap.written + 1, outcome->overlap.read + 1);
}

/* --- all of it ---------------------------------------------------------------------------- */

static bool is_one_wave(const struct rp_snapshot_dispatch *d)
{
    enum { LANES = 64 }; /* All GPUs that the software device can model have 64 lanes in a wave. */
    const uint64_t items = (uint64_t)d->workgroup[0] * d->workgroup[1] * d->workgroup[2];

    return rp_launch_groups(d->grid, d->workgroup) == 1 && items <= LANES;
}

static bool has_one_group(const struct rp_snapshot_dispatch *d)
{
    return rp_launch_groups(d->grid, d->workgroup) == 1;
}

static const char does_not_end[] = "the captured kernel does not end with them";
static const char inexact[] = "results need not be exact, and are not known to be others then";

static const char *choose_fewer(struct rp_variation_runs *v, enum rp_grid_way way)
{
    const struct rp_snapshot_dispatch *d = &v->trial->r->facts->dispatch;
    const struct rp_replay_launch_change *other = rp_replay_other_launch(v->trial->r);

    return other ? rp_other_launch_fewer(d, other, way, v->grid, v->other_grid)
                 : rp_launch_fewer(d->grid, d->workgroup, way, v->grid);
}

/* Chooses grid and workgroup, where these are not the captured ones. @return why not; NULL */
static const char *choose_grid(struct rp_variation_runs *v)
{
    const struct rp_replay *r = v->trial->r;
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;
    const struct rp_replay_launch_change *other = rp_replay_other_launch(r);

    v->has_grid = true;
    memcpy(v->workgroup, d->workgroup, sizeof v->workgroup);
    if (v->now == RP_VARY_AT_ONCE || v->now == RP_VARY_ZERO_ARGUMENTS) {
        v->has_grid = false;
        return NULL;
    }
    if (v->now == RP_VARY_SIZES) {
        const bool one = v->size.way == RP_SIZE_LARGER_ONE_GROUP;

        v->has_grid = one;
        if (!one && other && v->size.way >= RP_SIZE_LARGER &&
            !rp_other_launch_has_same_items(d, other))
            return "the other kernel is launched with more or fewer work-items";
        return one ? choose_fewer(v, RP_GRID_ONE) : NULL;
    }
    if (v->now != RP_VARY_WORKGROUP)
        return choose_fewer(v, (enum rp_grid_way)(v->now - RP_VARY_HALF_GRID));
    if (other)
        return "the other kernel is launched with workgroups of another size";
    if (r->required_workgroup)
        return "the kernel is for workgroups of one size only";
    if (!v->trial->leftovers) /* Tiles of LDS may be too large for fewer threads to fill. */
        return "it would not be noticed that the captured kernel reads what it has not written";
    return rp_launch_smaller_workgroup(d->grid, d->workgroup, v->part, v->workgroup, v->grid)
               ? NULL
               : "they cannot be halved";
}

/* Returns what prevents a variation and is known before anything runs. */
static const char *hindrance(struct rp_variation_runs *v)
{
    const enum rp_variation_class what = rp_variations[v->now].what;

    if (v->rule.none)
        return "it was not asked for";
    if (what == RP_VARIES_GRID || what == RP_VARIES_SIZES) {
        const char *why = choose_grid(v);

        if (why)
            return why;
    }
    if (what == RP_VARIES_ORDER && is_one_wave(&v->trial->r->facts->dispatch))
        return "the captured dispatch has one wavefront only";
    if (v->now == RP_VARY_INTERLEAVED && has_one_group(&v->trial->r->facts->dispatch))
        return "the captured dispatch has one workgroup only";
    if (what == RP_VARIES_ORDER && !rp_replay_set_wave_order(RP_DEVICE_FORWARD))
        return "only the software device can be told an order";
    if (what == RP_VARIES_OVERLAP && !rp_replay_software())
        return "only the software device can tell whether the captured kernel races then";
    if ((v->now == RP_VARY_SIGNS || v->now == RP_VARY_MIXED) && v->asked_words)
        return "integers are asked for";
    if (v->now == RP_VARY_INTEGERS && v->asked_words)
        return "it is what was asked for as numbers";
    if (is_special(v->now) && v->rule.finite)
        return "finite numbers are asked for";
    if (v->trial->not_varied >> v->now & 1 ||
        ((v->now == RP_VARY_INTEGERS || what == RP_VARIES_INTEGERS) &&
         v->trial->left_out >> RP_FLIP_HALF & 1) ||
        ((what == RP_VARIES_INTEGERS || v->now == RP_VARY_NEGATIVE || v->now == RP_VARY_SPARSE) &&
         v->trial->not_varied >> RP_VARY_INTEGERS & 1) ||
        (v->now == RP_VARY_ORDER && v->trial->left_out >> RP_FLIP_ORDER & 1))
        return does_not_end;
    return NULL;
}

/* Where the device has ended the captured kernel, others can run after it. */
static int survive(struct rp_variation_runs *v, int rc, struct rp_err *err)
{
    if (rc == 0)
        return 0;
    v->broke = err->code == RP_VERDICT && !v->trial->r->ended_early;
    if (v->broke || err->code != RP_VERDICT)
        return rc;
    *err = (struct rp_err)RP_ERR_INIT;
    v->of[v->now].reason = does_not_end;
    v->of[v->now].open = true;
    return 0;
}

/* Runs the captured kernel and keeps its memory as the reference. */
static int run_first(struct rp_variation_runs *v, struct rp_err *err)
{
    double us;
    int rc;

    v->pages.count = 0;
    if (v->trial->bound.inputs == (int)v->now)
        rp_rounding_bound_begin(&v->trial->bound, RP_BOUND_NONE);
    v->of[v->now].telling_bytes = 0;
    set_poisons(v, false);
    rc = run(v, &us, err);
    v->of[v->now].changed = v->changed;
    if (rc == 0 && rp_redzone_take(v->trial->r).bytes)
        v->of[v->now].reason = astray;
    return rc == 0 && v->changed ? rp_replay_look_at(v->trial->r, note_page, v, err)
                                 : survive(v, rc, err);
}

/* Tests whether the kernel gives a different result from the kept one. */
static int run_again(struct rp_variation_runs *v, bool second, bool *ret_differs,
                     struct rp_err *err)
{
    struct rp_replay_outcome again = {0};
    double us;
    int rc;

    v->second = second;
    rc = check(v, &us, &again, err);
    v->second = false;
    *ret_differs = again.verdict.different_bytes > 0;
    return survive(v, rc, err);
}

/* Runs with the captured inputs: if the result depends on the order even then, other inputs are
 * not the cause.
 */
static int depends_on_order(struct rp_variation_runs *v, bool *ret, struct rp_err *err)
{
    const enum rp_variation now = v->now, values = v->values;
    const struct rp_variation_result kept = v->of[RP_VARY_REVERSED];
    int rc;

    v->now = v->values = RP_VARY_REVERSED;
    rc = run_first(v, err);
    *ret = v->of[v->now].telling_bytes > 0;
    v->of[v->now] = kept;
    v->now = now;
    v->values = values;
    return rc < 0 ? rc : run_first(v, err);
}

/* Runs the second way (set_poisons). Where the result depends on it even with the captured inputs,
 * other kernels are judged by the first way only.
 */
static int repeat(struct rp_variation_runs *v, struct rp_err *err)
{
    const bool second = rp_variations[v->now].what != RP_VARIES_ORDER;
    bool differs, depends = true;
    int rc = run_again(v, second, &differs, err);

    v->one_way = !second || differs;
    if (rc < 0 || v->of[v->now].reason || !differs)
        return rc;
    if (second) {
        rc = depends_on_order(v, &depends, err);
        if (rc == 0)
            rc = run_again(v, false, &differs, err);
    }
    if (rc == 0 && differs)
        v->of[v->now].reason = "the captured kernel does not give the same result twice then";
    else if (rc == 0 && !depends)
        v->of[v->now].reason = "what the captured kernel gives depends on the order of its "
                               "wavefronts, or on what it has not written, then";
    v->of[v->now].open = v->of[v->now].open || differs;
    return rc;
}

/* A result in the place of an input is the captured kernel's own only where no work-item reads what
 * another one may have written: else other kernels, which read in another order, may give another
 * one and be right. What is updated by atomics is no input, though a ticket that is drawn and put
 * back looks like one. */
static int look_for_races(struct rp_variation_runs *v, struct rp_err *err)
{
    const struct rp_device_table *device = rp_replay_software();
    struct rp_check_record record;
    struct rp_check_update update;
    bool incomplete;
    double us;
    int rc;

    device->check("races");
    rc = run(v, &us, err);
    while (device->take_finding(&record))
        if (!record.note)
            v->of[v->now].reason = "the captured kernel reads what other work-items write, then";
    while (device->take_update(&update, &incomplete))
        if (update.address - v->overlap.from < v->overlap.bytes)
            v->of[v->now].reason = "the captured kernel updates that input by atomics";
    device->check(NULL);
    return survive(v, rc, err);
}

/* A kernel that does not ask for the size of its workgroups has it built in, and is right for no
 * other: then it gives the same if it is told a wrong one.
 */
static int asks_for_size(struct rp_variation_runs *v, struct rp_err *err)
{
    struct rp_variation_result *of = &v->of[v->now];
    bool differs;
    int rc;

    v->misled = true;
    rc = run_again(v, false, &differs, err);
    v->misled = false;
    if (rc == 0 && of->reason) { /* It does not end: it has asked. */
        of->reason = NULL;
        of->open = false;
    } else if (rc == 0 && !differs) {
        of->reason = "the captured kernel has the size of its workgroups built in";
    }
    return rc;
}

/* Runs the captured kernel twice, so that its own differences are known before candidates run. */
static int prepare(struct rp_variation_runs *v, struct rp_err *err)
{
    const char **reason = &v->of[v->now].reason;
    int rc;

    v->rule.signs =
        v->now == RP_VARY_SIGNS || (v->now == RP_VARY_MIXED && v->trial->rule.type == RP_EXACT);
    v->rule.words = v->asked_words || v->now == RP_VARY_INTEGERS;
    v->has_grid = false;
    v->unpoisoned = false;
    *reason = hindrance(v);
    v->of[v->now].open = *reason == does_not_end;
    if (*reason)
        return 0;
    v->trial->r->kernel = &v->trial->r->original;
    rc = run_first(v, err);
    if (rc == 0 && !*reason && v->of[v->now].telling_bytes &&
        rp_variations[v->now].what == RP_VARIES_ORDER) {
        v->unpoisoned = true;
        rc = run_first(v, err);
    }
    if (rc == 0 && v->changed == 0)
        *reason = rp_variations[v->now].nothing;
    if (rc == 0 && !*reason && v->of[v->now].telling_bytes == 0 && rp_varies_values(v->now))
        *reason = is_rough(v->now) && v->trial->rule.type != RP_EXACT ? inexact
                  : rp_variations[v->now].same                        ? rp_variations[v->now].same
                                                                      : same_numbers(v);
    if (rc == 0 && !*reason && v->pages.count == 0 && !rp_varies_values(v->now))
        *reason = "the captured kernel changes no memory then, but for variables perhaps";
    if (rc == 0 && !*reason && v->of[v->now].telling_bytes &&
        rp_variations[v->now].what == RP_VARIES_ORDER)
        *reason = "the captured kernel itself gives another result then";
    if (rc == 0 && !*reason && v->now == RP_VARY_IN_PLACE)
        rc = look_for_races(v, err);
    if (rc == 0 && !*reason)
        rc = repeat(v, err);
    return rc == 0 && !*reason && v->now == RP_VARY_WORKGROUP ? asks_for_size(v, err) : rc;
}

static int check_candidate(struct rp_variation_runs *v, size_t which, double *ret_us,
                           struct rp_replay_outcome *ret, struct rp_err *err)
{
    struct rp_replay *r = v->trial->r;
    struct rp_replay_outcome outcome;
    int rc;

    r->kernel = &r->candidates[which];
    rc = check(v, ret_us, &outcome, err);
    if (rc == 0 && !ret->verdict.different_bytes)
        *ret = outcome;
    return rc;
}

/* A candidate may read all that a size promises, where the captured kernel reads less of it. */
static int leave_out(struct rp_variation_runs *v, int rc, struct rp_err *err)
{
    if (rc >= 0 || err->code != RP_VERDICT || !v->trial->r->ended_early || !promises_more(v))
        return rc;
    *err = (struct rp_err)RP_ERR_INIT;
    v->of[v->now].reason = "another kernel reads more of so large a size than was captured";
    v->of[v->now].open = true;
    return 0;
}

static int check_candidates(struct rp_variation_runs *v, size_t count,
                            struct rp_replay_outcome *const *ret, size_t *ret_who,
                            struct rp_err *err)
{
    double us;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0 && !v->of[v->now].reason; i++) {
        *ret_who = i;
        v->timing = v->timed && rp_varies_time(v->now);
        rc = leave_out(v, check_candidate(v, i, &v->of[v->now].us[i], ret[i], err), err);
        v->timing = false;
        memcpy(v->of[v->now].between_us[i], v->trial->r->between_us,
               sizeof v->trial->r->between_us);
        v->second = !v->one_way && !v->of[v->now].reason;
        if (rc == 0 && v->second)
            rc = leave_out(v, check_candidate(v, i, &us, ret[i], err), err);
        v->second = false;
    }
    return rc;
}

static void release(struct rp_variation_runs *v, const struct rp_replay_kernel *kernel)
{
    rp_vec_free(&v->pages);
    v->trial->r->kernel = kernel;
}

/* Tests whether other inputs are no inputs for the captured kernel. */
static bool is_illegal(const struct rp_variation_result *of)
{
    return of->reason && (of->open || of->reason == astray);
}

/* What is right for other values, and for other arguments, may be wrong for both: what fills the
 * rest of a tile, for instance, matters for a smaller size only, and is too small for some numbers
 * only. Each must have told something alone. */
static bool has_pair(struct rp_variation_runs *v)
{
    static const enum rp_variation values[] = {RP_VARY_LARGE, RP_VARY_NEGATIVE};

    for (; v->part < sizeof values / sizeof *values && !v->of[RP_VARY_ARGUMENTS].reason; v->part++)
        if (!v->of[values[v->part]].reason) {
            v->values = values[v->part];
            return true;
        }
    return false;
}

/* What a factor of 0 is multiplied with may be 0, too, so zeros in memory become numbers with it,
 * where the captured kernel stands that. */
static bool has_zero(struct rp_variation_runs *v)
{
    if (!is_illegal(&v->of[RP_VARY_ZEROS]))
        v->values = RP_VARY_ZEROS;
    return rp_launch_zero(v->trial->r, &v->trial->addresses, v->part, &v->size);
}

static void note_zero(struct rp_variation_runs *v)
{
    *(is_illegal(&v->of[v->now]) ? &v->zeros_untried : &v->zeros_tried) |= (uint64_t)1
                                                                           << v->size.scalar;
}

/* Most kinds have one part. @return false: there is no such part */
static bool has_part(struct rp_variation_runs *v)
{
    enum { AXES = 3, SEEDS = 2 };
    const struct rp_replay *r = v->trial->r;

    v->values = v->now;
    if (v->now == RP_VARY_SIZES)
        return rp_launch_size(&r->scalars, &v->trial->addresses, r->kernarg_kept, v->part,
                              &v->size);
    if (v->now == RP_VARY_ZERO_ARGUMENTS)
        return has_zero(v);
    if (v->now == RP_VARY_AT_ONCE)
        return has_pair(v);
    if (v->now == RP_VARY_IN_PLACE)
        return rp_launch_overlap(r, &v->trial->set, v->part, &v->overlap);
    if (rp_varies_memory(v->now))
        return v->part == 0 || (v->alone && v->part <= r->memory_count);
    return v->part < (v->now == RP_VARY_WORKGROUP     ? AXES
                      : v->now == RP_VARY_INTERLEAVED ? SEEDS
                                                      : 1);
}

/* A size that has become larger in one way does not have to in another. */
static bool is_done(const struct rp_variation_runs *v, bool larger)
{
    return v->now == RP_VARY_SIZES && v->size.way > RP_SIZE_LARGER && larger;
}

static bool is_wrong(struct rp_replay_outcome *const *outcomes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (outcomes[i]->verdict.different_bytes)
            return true;
    return false;
}

/* The kind has been tried if one of its parts was. */
static int run_parts(struct rp_variation_runs *v, size_t count,
                     struct rp_replay_outcome *const *ret, size_t *ret_who, struct rp_err *err)
{
    struct rp_variation_result *of = &v->of[v->now],
                               best = {.reason = rp_variations[v->now].nothing};
    bool larger = false;
    int rc = 0;

    for (v->part = 0; rc == 0 && has_part(v) && !is_wrong(ret, count); v->part++) {
        if (v->size.way == RP_SIZE_LARGER)
            larger = false;
        if (is_done(v, larger))
            continue;
        *of = (struct rp_variation_result){.part = v->part};
        *ret_who = count;
        rc = prepare(v, err);
        if (rc == 0 && !of->reason)
            rc = check_candidates(v, count, ret, ret_who, err);
        if (rc == 0 && v->now == RP_VARY_ZERO_ARGUMENTS)
            note_zero(v);
        larger = larger || (v->size.way >= RP_SIZE_LARGER && !of->reason);
        of->changed += of->reason || best.reason ? 0 : best.changed;
        v->alone = v->part ? v->alone : is_illegal(of);
        if (!of->reason || v->part == 0)
            best = *of;
    }
    *of = best;
    return rc;
}

int rp_variation_run(struct rp_variation_runs *v, size_t count,
                     struct rp_replay_outcome *const *ret, size_t *ret_who, struct rp_err *err)
{
    const struct rp_replay_kernel *kernel = v->trial->r->kernel;
    int rc = v->reason ? 0 : rp_inputs_parse(v->inputs, v->trial->rule.type, &v->rule, err);

    v->asked_words = rc == 0 && v->rule.words;
    rp_replay_set_timed(v->trial->r, false);
    for (unsigned i = 0; i < RP_VARIATIONS && rc == 0 && !v->reason; i++) {
        v->now = (enum rp_variation)i;
        if (is_wrong(ret, count))
            v->of[i].reason = "a kernel was wrong with others already";
        else
            rc = run_parts(v, count, ret, ret_who, err);
    }
    rp_replay_set_timed(v->trial->r, true);
    v->part = 0;
    release(v, kernel);
    return rc;
}

int rp_variation_time(struct rp_variation_runs *v, enum rp_variation variation, size_t count,
                      struct rp_variation_block *ret_blocks,
                      struct rp_replay_outcome *const ret[RP_REPLAY_CANDIDATES], size_t *ret_who,
                      struct rp_err *err)
{
    enum { RUNS = RP_REPLAY_CANDIDATES * RP_VARIATION_RUNS };
    static const unsigned which[RUNS] = {0, 0, 1, 1, 1, 1, 0, 0};
    static const unsigned nth[RUNS] = {0, 1, 0, 1, 2, 3, 2, 3};
    const struct rp_replay_kernel *kernel = v->trial->r->kernel;
    int rc;

    v->now = v->values = variation;
    v->part = rp_varies_memory(variation) ? v->of[variation].part : 0;
    *ret_who = RP_REPLAY_CANDIDATES;
    rc = prepare(v, err);
    for (size_t i = 0; i < RUNS * count && rc == 0 && !v->of[variation].reason; i++) {
        *ret_who = which[i % RUNS];
        v->trial->r->kernel = &v->trial->r->candidates[*ret_who];
        /* The reset keeps nothing for the next run. */
        rc = rp_replay_reset_loaded(v->trial->r, err);
        v->timing = true;
        if (rc == 0)
            rc = check_candidate(v, *ret_who, &ret_blocks[i / RUNS].us[*ret_who][nth[i % RUNS]],
                                 ret[*ret_who], err);
        v->timing = false;
    }
    release(v, kernel);
    return rc;
}
