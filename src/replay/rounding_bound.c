/**
 * @file rounding_bound.c
 * @brief How far a result may be off that is computed in another order.
 *
 * Each addition is off by at most half a unit in the last place of its result, and no partial sum
 * is larger than the sum of its terms' sizes. That sum is what the captured kernel gives for the
 * absolute values of its inputs, if it computes sums of products: then its result is a power of two
 * times as large for inputs twice as large, exactly, as nothing is rounded differently. For any
 * other kernel it is what the last digits of its inputs change, if it follows these as on a
 * straight line (rounding_noise.h).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"
#include "base/vec.h"
#include "replay/argument_types.h"
#include "replay/input_variation.h"
#include "replay/output_rules.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/replay_protocol.h"
#include "replay/replay_trial.h"
#include "replay/rounding_noise.h"

/* Roundings of n terms in a row are off by less than the square root of n units, mostly; 16 are
 * what 250 terms are off by. Sixteen bits instead of 32 are off by 8,000. */
enum { MOST_UNITS = 16 };

/* A sum may be so much larger than its terms' sizes together, by rounding. */
static const double MOST_OF_SIZE = 1.001;

enum { MOST_PAGES = 1 << 16, MOST_DEGREE = 4 };

/* Besides enum rp_bound_inputs. */
enum { DOUBLED = RP_BOUND_MOVED + RP_NOISE_LEVELS };

/* --- other inputs -------------------------------------------------------------------------- */

static uint64_t changed_number(enum rp_number_type type, bool doubled, uint64_t bits)
{
    const struct rp_number_shape shape = rp_number_shape(type);
    const uint64_t one = (uint64_t)1 << shape.fraction_bits;
    const uint64_t sign = (uint64_t)1 << (shape.fraction_bits + shape.exponent_bits);
    const uint64_t exponent = (bits & (sign - 1)) / one, most = sign / one - 1;

    if (!doubled)
        return bits & ~sign;
    return exponent == 0 || exponent + 1 >= most ? bits : bits + one;
}

/** @return the rule by which numbers of a page are found, all of which may be few */
static struct rp_inputs_rule rule_at(const struct rp_replay_trial *trial,
                                     const struct rp_capture_memory *m, uint64_t page,
                                     bool *ret_named)
{
    struct rp_inputs_rule rule;
    struct rp_err ignored = RP_ERR_INIT;

    if (rp_inputs_parse(trial->inputs, RP_EXACT, &rule, &ignored) < 0)
        rule = (struct rp_inputs_rule){.none = true};
    *ret_named = rp_argument_rule(trial->r, m, page, &rule);
    rule.vouched = true; /* Weights of a filter are few. */
    return rule;
}

enum rp_number_type rp_rounding_bound_type(const struct rp_replay_trial *trial,
                                           const struct rp_capture_memory *m, uint64_t page,
                                           const uint8_t *contents, size_t bytes)
{
    struct rp_inputs_rule rule;
    bool named;

    if (bytes == RP_PAGE_BYTES && rp_is_zero_page(contents)) /* as most pages are */
        return RP_EXACT;
    rule = rule_at(trial, m, page, &named);
    return rule.none ? RP_EXACT : rp_inputs_type(&rule, &trial->addresses, contents, bytes);
}

static uint64_t change_numbers(enum rp_number_type type, unsigned inputs, uint64_t seed,
                               size_t bytes, uint8_t *page)
{
    const unsigned width = rp_number_shape(type).bytes;
    uint64_t count = 0;

    if (inputs >= RP_BOUND_MOVED && inputs < DOUBLED)
        return rp_noise_move(type, inputs - RP_BOUND_MOVED, seed, bytes, page);
    for (size_t at = 0; type != RP_EXACT && at + width <= bytes; at += width) {
        const uint64_t bits =
            changed_number(type, inputs == DOUBLED, rp_number_load(page + at, width));

        count += bits != rp_number_load(page + at, width);
        memcpy(page + at, &bits, width);
    }
    return count;
}

void rp_rounding_bound_change(enum rp_number_type type, unsigned inputs, uint64_t seed,
                              size_t bytes, uint8_t *page)
{
    change_numbers(type, inputs, seed, bytes, page);
}

/* --- with the captured inputs -------------------------------------------------------------- */

/* Copies, permutations and maxima give numbers that they have read. No order rounds these. The set
 * of all numbers that were read may be too large to keep: a bit for each hash says which may be in
 * it. */
enum { INPUT_BITS = 1 << 26 };

struct look {
    struct rp_replay_trial *trial;
    unsigned inputs; /**< enum rp_bound_inputs, or DOUBLED */
    uint64_t changed;
    bool odd;             /**< the result is no power of two times as large */
    int degree;           /**< of that; -1: not known yet */
    uint8_t *inputs_read; /**< of sizes of inputs */
    uint64_t input_bits;  /**< of bits that are set */
    uint64_t results;     /**< that are not 0 */
    uint64_t copied;      /**< of them: that may have been read */
};

static uint64_t input_bit(enum rp_number_type type, uint64_t bits)
{
    const uint64_t sign = (uint64_t)1 << (rp_number_shape(type).bytes * 8 - 1);

    return rp_mix64(bits & ~sign) % INPUT_BITS;
}

static void note_inputs(struct look *look, enum rp_number_type type, size_t bytes,
                        const uint8_t *page)
{
    const unsigned width = rp_number_shape(type).bytes;

    for (size_t at = 0; look->inputs_read && type != RP_EXACT && at + width <= bytes; at += width) {
        const uint64_t bit = input_bit(type, rp_number_load(page + at, width));

        look->input_bits += !(look->inputs_read[bit / 8] >> bit % 8 & 1);
        look->inputs_read[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
}

static void note_result(struct look *look, enum rp_number_type type, uint64_t bits)
{
    const uint64_t bit = input_bit(type, bits);

    if (!look->inputs_read || rp_number_value(type, bits) == 0)
        return;
    look->results++;
    look->copied += look->inputs_read[bit / 8] >> bit % 8 & 1;
}

static bool copies(const struct look *look)
{
    enum { LEAST = 16 };

    return look->results >= LEAST && look->copied * 32 >= look->results * 31 &&
           look->input_bits < INPUT_BITS / 8;
}

static int edit_page(void *data, const struct rp_capture_memory *m, uint64_t page, size_t bytes,
                     uint8_t *contents, struct rp_err *err)
{
    struct look *look = data;
    enum rp_number_type type;

    (void)err;
    if (!rp_trial_may_change(m) || rp_is_zero_page(contents))
        return 0;
    type = rp_rounding_bound_type(look->trial, m, page, contents, bytes);
    note_inputs(look, type, bytes, contents);
    look->changed += change_numbers(type, look->inputs, rp_replay_place(look->trial->r, m, page),
                                    bytes, contents);
    return 0;
}

/* Pairs of 16 bits look like numbers of 32, but for the lower ones: in these the bits of a 32-bit
 * number's fraction are at random, and those of a 16-bit number's exponent are not. */
static bool may_be_pairs(const uint8_t *page, size_t bytes)
{
    enum { LEAST = 16, NEAR_BF16 = 20, NEAR_F16 = 7, MOST_OF = 5 };
    size_t count = 0, bf16 = 0, f16 = 0;

    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        const uint64_t low = rp_number_load(page + at, 2);

        count += low != 0;
        bf16 += low != 0 && abs((int)(low >> 7 & 0xff) - 127) <= NEAR_BF16;
        f16 += low != 0 && abs((int)(low >> 10 & 0x1f) - 15) <= NEAR_F16;
    }
    return count >= LEAST &&
           (bf16 * MOST_OF >= count * (MOST_OF - 1) || f16 * MOST_OF >= count * (MOST_OF - 1));
}

/* What the kernel has not written, or not this time, is none of its numbers. */
static void only_results(const uint64_t *written, const uint8_t *contents, uint8_t *ret)
{
    for (size_t i = 0; i < RP_PAGE_WORDS; i++)
        if (rp_word_in(written, i) && !rp_word_is_poison(contents + 4 * i))
            memcpy(ret + 4 * i, contents + 4 * i, 4);
        else
            memset(ret + 4 * i, 0, 4);
}

/** Returns the type that results are of. RP_EXACT: they are no numbers, or it cannot be told which.
 */
static enum rp_number_type result_type(const struct rp_replay_trial *trial,
                                       const struct rp_capture_memory *m, uint64_t page,
                                       const uint64_t *written, const uint8_t *contents)
{
    bool named;
    struct rp_inputs_rule rule = rule_at(trial, m, page, &named);
    const size_t bytes = rp_replay_page_bytes(m, page);
    enum rp_number_type type;
    uint8_t results[RP_PAGE_BYTES];

    if (rule.none)
        return RP_EXACT;
    rule.mostly = true; /* Masks and what is nearly 0 are among results. */
    only_results(written, contents, results);
    type = rp_inputs_type(&rule, &trial->addresses, results, bytes);
    return type == RP_F32 && !named && may_be_pairs(results, bytes) ? RP_EXACT : type;
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
    enum rp_number_type type =
        w ? result_type(look->trial, m, page, w->written, expected) : RP_EXACT;
    const unsigned width = rp_number_shape(type).bytes;

    (void)err;
    for (size_t at = 0; type != RP_EXACT && at + width <= bytes; at += width)
        if (rp_word_in(w->written, at / 4)) {
            note_result(look, type, rp_number_load(expected + at, width));
            note_degree(look, rp_number_value(type, rp_number_load(expected + at, width)),
                        rp_number_value(type, rp_number_load(contents + at, width)));
        }
    return 0;
}

/** Results that are zeros and ones look like no numbers, but are of the type of the captured ones.
 */
static enum rp_number_type known_type(struct rp_replay_trial *trial,
                                      const struct rp_capture_memory *m, uint64_t page,
                                      const uint64_t *written, const uint8_t *results)
{
    struct rp_rounding_bound *bound = &trial->bound;
    const struct rp_page_key key = {rp_replay_region(trial->r, m), page};
    const struct rp_bound_type *known =
        rp_page_find(bound->types.items, bound->types.count, sizeof *known, key);
    enum rp_number_type type;

    if (known)
        return known->type;
    type = result_type(trial, m, page, written, results);
    if (bound->inputs == RP_BOUND_CAPTURED && type != RP_EXACT)
        *(struct rp_bound_type *)rp_vec_add(&bound->types) = (struct rp_bound_type){key, type};
    return type;
}

/** Says whether a result is larger than its terms together, as a variance is: then it is no sum. */
static bool is_exceeded(enum rp_number_type type, const uint64_t *words, const uint8_t *sizes,
                        const uint8_t *results)
{
    const unsigned bytes = rp_number_shape(type).bytes;

    for (size_t at = 0; at + bytes <= RP_PAGE_BYTES; at += bytes) {
        const double result = fabs(rp_number_value(type, rp_number_load(results + at, bytes)));
        const double size = rp_number_value(type, rp_number_load(sizes + at, bytes));

        if (rp_word_in(words, at / 4) && isfinite(result) && isfinite(size) &&
            result > size * MOST_OF_SIZE)
            return true;
    }
    return false;
}

void rp_rounding_bound_keep(struct rp_replay_trial *trial, unsigned inputs,
                            const struct rp_capture_memory *m, uint64_t page,
                            const uint64_t *written, const uint8_t *contents,
                            const uint8_t *expected)
{
    struct rp_rounding_bound *bound = &trial->bound;
    const struct rp_page_key key = {rp_replay_region(trial->r, m), page};
    struct rp_bound_page *kept = NULL;

    if (inputs > RP_BOUND_MOVED) {
        kept = rp_page_find(bound->pages.items, bound->pages.count, sizeof *kept, key);
    } else if (bound->pages.count < MOST_PAGES) {
        const enum rp_number_type type =
            known_type(trial, m, page, written, inputs == RP_BOUND_SIZES ? contents : expected);

        kept = type == RP_EXACT ? NULL : rp_vec_add(&bound->pages);
        if (kept)
            *kept = (struct rp_bound_page){.key = key, .type = type};
    }
    if (!kept)
        return;
    if (inputs == RP_BOUND_SIZES) {
        memcpy(kept->sizes, contents, RP_PAGE_BYTES);
        bound->exceeded |= bound->inputs == RP_BOUND_CAPTURED &&
                           is_exceeded(kept->type, written, contents, expected);
        return;
    }
    rp_noise_note(kept->type, inputs - RP_BOUND_MOVED, written, contents, expected, &kept->noise);
}

static int keep_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                     const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    struct look *look = data;
    const struct rp_write_page *w =
        rp_write_set_find(&look->trial->set, rp_replay_region(look->trial->r, m), page);

    (void)err;
    if (w)
        rp_rounding_bound_keep(look->trial, look->inputs, m, page, w->written, contents, expected);
    return 0;
}

/** Runs the captured kernel from other inputs. One that does not end with them has no bound: as if
 * numbers of other signs had been tried. */
static int run_with(struct look *look, unsigned inputs, rp_replay_visit_page visit,
                    struct rp_err *err)
{
    struct rp_replay *r = look->trial->r;
    double us;
    int rc;

    look->inputs = inputs;
    look->changed = 0;
    rc = rp_replay_fill(r, edit_page, look, err);
    if (rc < 0)
        return rc;
    rp_replay_step(r, RP_STEP_VARY + RP_VARY_SIGNS);
    rc = rp_replay_run(r, &us, err);
    if (rc == 0) {
        rp_replay_step(r, RP_STEP_REST);
        rc = rp_replay_look_at(r, visit, look, err);
    }
    return rc;
}

void rp_rounding_bound_begin(struct rp_rounding_bound *bound, int inputs)
{
    bound->pages.count = 0;
    bound->inputs = inputs;
}

/* One page is enough: in others results may be those that inputs do not change. */
static bool has_noise(const struct rp_rounding_bound *bound)
{
    for (size_t i = 0; i < bound->pages.count; i++)
        if (bound->pages.items[i].noise.moved > 0)
            return true;
    return false;
}

/** Says whether the captured kernel computes sums of products. @param ret_copies  or copies */
static int is_of_sums(struct look *look, bool *ret_sums, bool *ret_copies, struct rp_err *err)
{
    rp_autofree uint8_t *inputs_read = rp_alloc_zero(INPUT_BITS / 8, sizeof *inputs_read);
    int rc;

    look->inputs_read = inputs_read;
    rc = run_with(look, DOUBLED, look_at_double, err);
    *ret_copies = copies(look);
    *ret_sums = !look->odd && look->degree >= 0 && look->changed && !*ret_copies;
    look->inputs_read = NULL;
    return rc;
}

static int find(struct rp_replay_trial *trial, struct rp_err *err)
{
    struct rp_rounding_bound *bound = &trial->bound;
    struct look look = {.trial = trial, .degree = -1};
    bool copied = false;
    int rc = 0;

    if (!bound->proved && !bound->noise)
        rc = is_of_sums(&look, &bound->proved, &copied, err);
    bound->wanted = rc == 0 && !copied;
    if (!bound->wanted)
        return rc;
    rp_rounding_bound_begin(bound, RP_BOUND_CAPTURED);
    if (bound->proved) {
        rc = run_with(&look, RP_BOUND_SIZES, keep_page, err);
        if (rc < 0 || !bound->exceeded)
            return rc;
        bound->proved = false;
        rp_rounding_bound_begin(bound, RP_BOUND_CAPTURED);
    }
    for (unsigned i = 0; i < RP_NOISE_LEVELS && rc == 0; i++)
        rc = run_with(&look, RP_BOUND_MOVED + i, keep_page, err);
    bound->noise = bound->wanted = rc == 0 && has_noise(bound);
    return rc;
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

/* Sums of numbers of 16 bits are added up in 32, and rounded once. */
static double max_off(enum rp_number_type type, double result, double size)
{
    const int bits = rp_number_bits(type), added_in = rp_number_bits(RP_F32);

    return bits < added_in ? ldexp(result, -bits) + MOST_UNITS * ldexp(size, -added_in)
                           : MOST_UNITS * ldexp(size, -bits);
}

/* Exponentials that are nearly 0 have few digits left. */
static bool is_nothing(enum rp_number_type type, double size)
{
    enum { F32_BITS = -100, F64_BITS = -1000 };

    return !rp_number_is_short(type) && size < ldexp(1, type == RP_F64 ? F64_BITS : F32_BITS);
}

static bool is_near(struct rp_rounding_bound *bound, const struct rp_bound_page *page, size_t at,
                    uint64_t got, uint64_t expected)
{
    const double a = rp_number_value(page->type, got), b = rp_number_value(page->type, expected);
    const double off = fabs(a - b);
    double most;

    if (got == expected || (isnan(a) && isnan(b))) /* What a NaN looks like is the order's, too. */
        return true;
    /* A sum that keeps what its additions lose makes NaN of the infinities among its terms. */
    if (isnan(a) && isinf(b))
        return bound->inputs == RP_VARY_INFINITE || bound->inputs == RP_VARY_SPECIAL;
    if (!isfinite(a) || !isfinite(b))
        return false;
    if (!bound->noise) {
        const double size = rp_number_value(
            page->type, rp_number_load(page->sizes + at, rp_number_shape(page->type).bytes));

        most = max_off(page->type, fmax(fabs(a), fabs(b)), size);
        /* Where a sum is larger than its terms together, it is none. */
        if (!isfinite(size) || fabs(b) > size * MOST_OF_SIZE)
            return false;
    } else {
        const double size = fmax(fabs(a), fabs(b));

        most = rp_noise_allowed(page->type, &page->noise, size);
        if (rp_number_is_short(page->type)) /* It is rounded once, behind all that is computed. */
            most += ldexp(size, -rp_number_bits(page->type));
        if (is_nothing(page->type, size))
            most = size;
    }
    if (off > most)
        return false;
    bound->words++;
    if (bound->allowed == 0 || off * bound->allowed > bound->largest * most) {
        bound->largest = off;
        bound->allowed = most;
    }
    return true;
}

/* Which of the words that are allowed became smaller in size, and which larger. */
struct sides {
    uint64_t smaller, larger;
    uint64_t odd; /**< whose last bit is set */
    double last;  /**< the latest result: equal ones are off in the same direction */
};

static void note_side(struct sides *sides, enum rp_number_type type, uint64_t got,
                      uint64_t expected)
{
    const double a = fabs(rp_number_value(type, got)), b = fabs(rp_number_value(type, expected));

    sides->smaller += a < b && b != sides->last;
    sides->larger += a > b && b != sides->last;
    sides->odd += got & 1 && b != sides->last;
    sides->last = b;
}

/* Additions in another order round up as often as down. Results of random inputs that are all off
 * to one side have lost digits: of 64 that fall by chance 60 are on one side once in 10^13. */
static bool loses_digits(const struct sides *sides, bool noise)
{
    enum { LEAST = 64, OF = 16 };
    const uint64_t all = sides->smaller + sides->larger;
    const uint64_t fewer = sides->smaller < sides->larger ? sides->smaller : sides->larger;

    /* A row that is scaled by one number is off to one side as a whole. Then only results count
     * that all have a last bit of 0. */
    return all >= LEAST && (noise ? sides->odd == 0 : fewer * OF <= all);
}

/* What is computed in 32 bits and rounded to 16 is seldom near the middle of two: of thousands of
 * units one or two are. */
static bool are_many(const struct sides *sides, size_t results)
{
    enum { LEAST = 8, ONE_IN = 16 };
    const uint64_t off = sides->smaller + sides->larger;

    return off >= LEAST && off * ONE_IN > results;
}

/** Other last bits of captured numbers (RP_VARY_INTEGERS) are not random: where these are small
 * whole numbers, each term has the same little more, which one order of the sum keeps and another
 * drops.
 */
static bool has_random_digits(int inputs)
{
    return inputs == RP_VARY_NUMBERS || inputs == RP_VARY_SIGNS;
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
    uint64_t before[RP_PAGE_MASKS];
    struct sides sides = {0};

    memcpy(before, bad, sizeof before);
    for (size_t at = 0; page && at < RP_PAGE_BYTES; at += unit) {
        bool near = true, wrong = false;

        for (size_t word = at / 4; word < (at + unit) / 4; word++)
            wrong = wrong || rp_word_in(bad, word);
        for (size_t i = at; wrong && i < at + unit; i += width) {
            near = near && is_near(bound, page, i, rp_number_load(got + i, width),
                                   rp_number_load(expected + i, width));
            note_side(&sides, page->type, rp_number_load(got + i, width),
                      rp_number_load(expected + i, width));
        }
        for (size_t word = at / 4; wrong && near && word < (at + unit) / 4; word++)
            bad[word / 64] &= ~((uint64_t)1 << (word % 64));
    }
    if ((has_random_digits(inputs) && loses_digits(&sides, bound->noise)) ||
        (page && bound->noise && rp_number_is_short(page->type) &&
         are_many(&sides, page->noise.count)))
        memcpy(bad, before, sizeof before);
}

void rp_rounding_bound_print(const struct rp_rounding_bound *bound, const char *who)
{
    if (bound->words && bound->noise)
        printf("%s changes rounding: largest difference %.3g, allowed %.3g (8 times what the last "
               "digits of inputs and results make)\n",
               who, bound->largest, bound->allowed);
    else if (bound->words)
        printf("%s changes rounding: largest difference %.3g, allowed %.3g (%d units in the last "
               "place of its terms' sizes, added up)\n",
               who, bound->largest, bound->allowed, MOST_UNITS);
}
