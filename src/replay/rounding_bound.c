/**
 * @file rounding_bound.c
 * @brief How far a result may be off that adds up in another order.
 *
 * Each addition is off by at most half a unit in the last place of its result, and no partial sum
 * is larger than the sum of its terms' sizes. That sum is what the captured kernel gives for the
 * absolute values of its inputs, if it computes sums of products: then its result is a power of two
 * times as large for inputs twice as large, exactly, as nothing is rounded differently. For any
 * other kernel there is no bound.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "replay/input_variation.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/replay_protocol.h"
#include "replay/replay_trial.h"

/* Roundings of n terms in a row are off by less than the square root of n units, mostly; 16 are
 * what 250 terms are off by. Sixteen bits instead of 32 are off by 8,000. */
enum { MOST_UNITS = 16 };

enum { MOST_PAGES = 1 << 16, MOST_DEGREE = 4 };

enum change { DOUBLE, ABSOLUTE };

/* --- other inputs -------------------------------------------------------------------------- */

static uint64_t load(const uint8_t *at, unsigned bytes)
{
    uint64_t bits = 0;

    memcpy(&bits, at, bytes);
    return bits;
}

static uint64_t changed_number(enum rp_number_type type, enum change change, uint64_t bits)
{
    const struct rp_number_shape shape = rp_number_shape(type);
    const uint64_t one = (uint64_t)1 << shape.fraction_bits;
    const uint64_t sign = (uint64_t)1 << (shape.fraction_bits + shape.exponent_bits);
    const uint64_t exponent = (bits & (sign - 1)) / one, most = sign / one - 1;

    if (change == ABSOLUTE)
        return bits & ~sign;
    return exponent == 0 || exponent + 1 >= most ? bits : bits + one;
}

enum rp_number_type rp_rounding_bound_type(const struct rp_replay_trial *trial, const uint8_t *page,
                                           size_t bytes)
{
    struct rp_inputs_rule rule;
    struct rp_err ignored = RP_ERR_INIT;

    if (rp_inputs_parse(trial->inputs, RP_EXACT, &rule, &ignored) < 0 || rule.none)
        return RP_EXACT;
    return rp_inputs_type(&rule, &trial->addresses, page, bytes);
}

static uint64_t change_numbers(enum rp_number_type type, enum change change, size_t bytes,
                               uint8_t *page)
{
    const unsigned width = rp_number_shape(type).bytes;
    uint64_t count = 0;

    for (size_t at = 0; type != RP_EXACT && at + width <= bytes; at += width) {
        const uint64_t bits = changed_number(type, change, load(page + at, width));

        count += bits != load(page + at, width);
        memcpy(page + at, &bits, width);
    }
    return count;
}

void rp_rounding_bound_sizes(enum rp_number_type type, size_t bytes, uint8_t *page)
{
    change_numbers(type, ABSOLUTE, bytes, page);
}

/* --- with the captured inputs -------------------------------------------------------------- */

struct look {
    struct rp_replay_trial *trial;
    enum change change;
    uint64_t changed;
    bool odd;   /**< the result is no power of two times as large */
    int degree; /**< of that; -1: not known yet */
};

static int edit_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                     uint8_t *contents, struct rp_err *err)
{
    struct look *look = data;

    (void)page;
    (void)err;
    if (rp_trial_may_change(m) && !rp_is_zero_page(contents))
        look->changed += change_numbers(rp_rounding_bound_type(look->trial, contents, bytes),
                                        look->change, bytes, contents);
    return 0;
}

/** Returns the type that results are of. RP_EXACT: they are no numbers. */
static enum rp_number_type result_type(const struct rp_replay_trial *trial, const uint8_t *page,
                                       size_t bytes)
{
    struct rp_inputs_rule rule;
    struct rp_err ignored = RP_ERR_INIT;

    if (rp_inputs_parse(trial->inputs, RP_EXACT, &rule, &ignored) < 0)
        return RP_EXACT;
    rule.vouched = true;
    return rp_inputs_type(&rule, &trial->addresses, page, bytes);
}

static void note_degree(struct look *look, double before, double after)
{
    const double times = before != 0 ? after / before : 1;
    const int degree = ilogb(times);

    if (before == 0 || look->odd) {
        look->odd = look->odd || after != 0;
        return;
    }
    look->odd = !(isfinite(times) && times > 0) || ldexp(1, degree) != times || degree < 0 ||
                degree > MOST_DEGREE || (look->degree >= 0 && look->degree != degree);
    look->degree = degree;
}

static int look_at_double(void *data, const struct rp_capture_memory *m, uint64_t page,
                          const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct look *look = data;
    const size_t region = rp_replay_region(look->trial->r, m),
                 bytes = rp_replay_page_bytes(m, page);
    const struct rp_write_page *w = rp_write_set_find(&look->trial->set, region, page);
    enum rp_number_type type = w ? result_type(look->trial, expected, bytes) : RP_EXACT;
    const unsigned width = rp_number_shape(type).bytes;

    (void)err;
    for (size_t at = 0; type != RP_EXACT && at + width <= bytes; at += width)
        if (rp_word_in(w->written, at / 4))
            note_degree(look, rp_number_value(type, load(expected + at, width)),
                        rp_number_value(type, load(contents + at, width)));
    return 0;
}

int rp_rounding_bound_keep(void *data, const struct rp_capture_memory *m, uint64_t page,
                           const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct rp_replay_trial *trial = data;
    struct rp_rounding_bound *bound = &trial->bound;
    const struct rp_page_key key = {rp_replay_region(trial->r, m), page};
    const enum rp_number_type type = result_type(trial, contents, rp_replay_page_bytes(m, page));
    struct rp_bound_page *kept;

    (void)expected;
    (void)err;
    if (type == RP_EXACT || !rp_write_set_find(&trial->set, key.region, page) ||
        bound->pages.count == MOST_PAGES)
        return 0;
    kept = rp_vec_add(&bound->pages);
    kept->key = key;
    kept->type = type;
    memcpy(kept->sizes, contents, RP_PAGE_BYTES);
    return 0;
}

/** Runs the captured kernel from other inputs. One that does not end with them has no bound: as if
 * numbers of other signs had been tried. */
static int run_with(struct look *look, enum change change, rp_replay_visit_page visit, void *data,
                    struct rp_err *err)
{
    struct rp_replay *r = look->trial->r;
    double us;
    int rc;

    look->change = change;
    look->changed = 0;
    rc = rp_replay_fill(r, edit_page, look, err);
    if (rc < 0)
        return rc;
    rp_replay_step(r, RP_STEP_VARY + RP_VARY_SIGNS);
    rc = rp_replay_run(r, &us, err);
    if (rc == 0) {
        rp_replay_step(r, RP_STEP_REST);
        rc = rp_replay_look_at(r, visit, data, err);
    }
    return rc;
}

void rp_rounding_bound_begin(struct rp_rounding_bound *bound, int inputs)
{
    bound->pages.count = 0;
    bound->inputs = inputs;
}

static int find(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct look look = {.trial = trial, .degree = -1};
    int rc = 0;

    if (!trial->bound.proved)
        rc = run_with(&look, DOUBLE, look_at_double, &look, err);
    if (rc < 0 || (!trial->bound.proved && (look.odd || look.degree < 0 || !look.changed))) {
        trial->bound.wanted = false;
        return rc;
    }
    trial->bound.proved = true;
    rp_rounding_bound_begin(&trial->bound, RP_BOUND_CAPTURED);
    return run_with(&look, ABSOLUTE, rp_rounding_bound_keep, trial, err);
}

int rp_rounding_bound_find(struct rp_replay_trial *trial, struct rp_err *err)
{
    const struct rp_replay_kernel *kernel = trial->r->kernel;
    const enum rp_poison poison = trial->poison;
    int rc = 0;

    if (trial->not_varied >> RP_VARY_SIGNS & 1)
        trial->bound.wanted = false;
    if (!trial->bound.wanted || trial->bound.inputs == RP_BOUND_CAPTURED)
        return 0;
    trial->poison = RP_POISON_NONE;
    trial->r->kernel = &trial->r->original;
    rc = find(trial, err);
    trial->r->kernel = kernel;
    trial->poison = poison;
    return rc;
}

/* --- judging ------------------------------------------------------------------------------- */

static bool is_near(struct rp_rounding_bound *bound, enum rp_number_type type, uint64_t got,
                    uint64_t expected, uint64_t sizes)
{
    const double a = rp_number_value(type, got), b = rp_number_value(type, expected);
    const double size = rp_number_value(type, sizes), off = fabs(a - b);
    const double most = MOST_UNITS * ldexp(size, -(int)rp_number_shape(type).fraction_bits);

    /* Where a sum is larger than its terms together, it is none. */
    if (got == expected)
        return true;
    if (!isfinite(a) || !isfinite(b) || !isfinite(size) || fabs(b) > size * 1.001 || off > most)
        return false;
    bound->words++;
    if (bound->allowed == 0 || off * bound->allowed > bound->largest * most) {
        bound->largest = off;
        bound->allowed = most;
    }
    return true;
}

void rp_rounding_bound_allow(struct rp_rounding_bound *bound, int inputs, struct rp_page_key key,
                             const uint8_t *got, const uint8_t *expected, uint64_t *bad)
{
    const struct rp_bound_page *page =
        bound->wanted && bound->inputs == inputs
            ? rp_page_find(bound->pages.items, bound->pages.count, sizeof *page, key)
            : NULL;
    const unsigned width = page ? rp_number_shape(page->type).bytes : 4;
    const unsigned unit = width < 4 ? 4 : width;

    for (size_t at = 0; page && at < RP_PAGE_BYTES; at += unit) {
        bool near = true, wrong = false;

        for (size_t word = at / 4; word < (at + unit) / 4; word++)
            wrong = wrong || rp_word_in(bad, word);
        for (size_t i = at; wrong && i < at + unit; i += width)
            near = near && is_near(bound, page->type, load(got + i, width),
                                   load(expected + i, width), load(page->sizes + i, width));
        for (size_t word = at / 4; wrong && near && word < (at + unit) / 4; word++)
            bad[word / 64] &= ~((uint64_t)1 << (word % 64));
    }
}

void rp_rounding_bound_print(const struct rp_rounding_bound *bound, const char *who)
{
    if (bound->words)
        printf("%s changes rounding: largest difference %.3g, allowed %.3g (%d units in the last "
               "place of its terms' sizes, added up)\n",
               who, bound->largest, bound->allowed, MOST_UNITS);
}
