#include "replay/ab_test.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"

static int log_median(const double *us, size_t n, double *ret, struct rp_err *err)
{
    rp_autofree double *sorted = rp_memdup(us, n * sizeof *us);

    for (size_t i = 0; i < n; i++)
        if (!(us[i] > 0) || !isfinite(us[i]))
            return rp_fail(err, RP_BAD_INPUT, "run %zu took %g us: the clock cannot tell", i + 1,
                           us[i]);
    *ret = log(rp_median(sorted, n));
    return 0;
}

int rp_decide_block(const double *a_us, const double *b_us, size_t runs_each, double *ret_log_ratio,
                    struct rp_err *err)
{
    double a = 0, b = 0;
    int rc = log_median(a_us, runs_each, &a, err);

    if (rc == 0)
        rc = log_median(b_us, runs_each, &b, err);
    if (rc == 0)
        *ret_log_ratio = a - b;
    return rc;
}

/* --- verdict ------------------------------------------------------------------------------- */

/* A wide margin makes faster and slower rarer, but equal more frequent: that is for the user to
 * ask for. */
static enum rp_replay_decision verdict(const struct rp_decided *d,
                                       const struct rp_decide_rule *rule)
{
    const double most = 1 + rule->margin, least = 1 / most;
    const double beyond = rule->noise > rule->margin ? 1 + rule->noise : most;

    if (d->low > beyond)
        return RP_FASTER;
    if (d->high < 1 / beyond)
        return RP_SLOWER;
    return d->low >= least && d->high <= most ? RP_EQUAL : RP_UNDECIDED;
}

/* A ratio without noise that is at an end of the margin: more blocks cannot tell. */
static bool is_at_margin(const struct rp_decided *d)
{
    return d->decision == RP_UNDECIDED && d->level > 0 && d->high / d->low - 1 < 1e-6;
}

int rp_replay_decide(const double *log_ratios, size_t blocks, const struct rp_decide_rule *rule,
                     struct rp_decided *ret, struct rp_err *err)
{
    struct rp_paired log_ratio;
    struct rp_decided d;

    if (blocks < 1 || blocks > RP_DECIDE_MOST_BLOCKS || rule->looks < 1 || !(rule->alpha > 0) ||
        !(rule->margin >= 0) || !(rule->noise >= 0))
        return rp_fail(err, RP_BAD_INPUT, "%zu blocks cannot be judged: use 1 to %d", blocks,
                       RP_DECIDE_MOST_BLOCKS);
    log_ratio = rp_paired_interval(log_ratios, blocks, rule->alpha / rule->looks);
    d = (struct rp_decided){.ratio = exp(log_ratio.middle),
                            .low = exp(log_ratio.low),
                            .high = exp(log_ratio.high),
                            .level = log_ratio.level};
    d.decision = verdict(&d, rule);
    *ret = d;
    return 0;
}

/** Decides for a ratio that has no noise because it was computed and not measured. */
static int replay_decide_exactly(double ratio, const struct rp_decide_rule *rule,
                                 struct rp_decided *ret, struct rp_err *err)
{
    struct rp_decided d = {.ratio = ratio, .low = ratio, .high = ratio, .level = 1};

    if (!(ratio > 0) || !isfinite(ratio))
        return rp_fail(err, RP_BAD_INPUT, "a ratio of times is %g", ratio);
    d.decision = verdict(&d, rule);
    *ret = d;
    return 0;
}

int rp_decide_between(double ratio, const double a_us[2], const double b_us[2],
                      const struct rp_decide_rule *rule, struct rp_decided *ret, struct rp_err *err)
{
    struct rp_decided d = {.ratio = ratio, .level = 1};

    if (!(a_us[0] > 0 && a_us[1] >= a_us[0] && b_us[0] > 0 && b_us[1] >= b_us[0]))
        return rp_fail(err, RP_BAD_INPUT, "bounds of times are %g to %g us and %g to %g us",
                       a_us[0], a_us[1], b_us[0], b_us[1]);
    d.low = a_us[0] / b_us[1];
    d.high = a_us[1] / b_us[0];
    d.decision = verdict(&d, rule);
    *ret = d;
    return 0;
}

/* --- with other values --------------------------------------------------------------------- */

/* A kernel that is as fast as before with other values does not get half of the captured gain by
 * noise alone.
 */
static enum rp_held held(const struct rp_decided *d, double low, const struct rp_held_rule *rule)
{
    const double half = sqrt(rule->captured), least = 1 + rule->decide.margin;

    if (d->high <= least || (d->high < half && d->decision != RP_FASTER))
        return RP_NOT_HELD;
    return low > 1 ? RP_HELD : RP_HELD_OPEN;
}

/* The last look has half of it: what is not told until then is near the end of what can be. */
static double alpha_of_look(const struct rp_held_rule *rule, bool last)
{
    const double kinds = rule->kinds ? (double)rule->kinds : 1;
    const double alpha = pow(rule->decide.alpha, 1 / kinds);
    const unsigned looks = rule->decide.looks;

    return looks < 2 ? alpha : last ? alpha / 2 : alpha / 2 / (looks - 1);
}

int rp_decide_held(const double *log_ratios, size_t blocks, bool last,
                   const struct rp_held_rule *rule, struct rp_decided *ret, enum rp_held *ret_held,
                   struct rp_err *err)
{
    const struct rp_decide_rule look = {.alpha = alpha_of_look(rule, last), .looks = 1};
    struct rp_decided d = {0};
    int rc = rp_replay_decide(log_ratios, blocks, &rule->decide, ret, err);

    if (rc == 0)
        rc = rp_replay_decide(log_ratios, blocks, &look, &d, err);
    if (rc == 0)
        *ret_held = held(ret, d.low, rule);
    return rc;
}

/** Decides whether a ratio without noise holds, as it was computed and not measured. */
static int decide_held_exactly(double ratio, const struct rp_held_rule *rule,
                               struct rp_decided *ret, enum rp_held *ret_held, struct rp_err *err)
{
    int rc = replay_decide_exactly(ratio, &rule->decide, ret, err);

    if (rc == 0)
        *ret_held = held(ret, ret->low, rule);
    return rc;
}

bool rp_decide_steady(const struct rp_decided *same, double *ret_noise)
{
    *ret_noise = exp(fabs(log(same->ratio))) - 1;
    return same->low <= 1 && same->high >= 1;
}

enum rp_gate_result rp_decide_gate(const struct rp_decided *d, double margin, enum rp_gate gate)
{
    const bool not_slower = d->level > 0 && d->low >= 1 / (1 + margin);

    if (gate == RP_GATE_NONE || (gate == RP_GATE_FASTER && d->decision == RP_FASTER) ||
        (gate == RP_GATE_NOT_SLOWER && not_slower))
        return RP_GATE_PASSED;
    return d->decision == RP_UNDECIDED ? RP_GATE_OPEN : RP_GATE_FAILED;
}

/* --- one run ------------------------------------------------------------------------------- */

static const char *const whose[] = {"A", "B", "A or B"};

enum { EITHER = 2 };

/* Runs of one kernel may differ: all of them lie between the minimum and the maximum. */
static void note_bounds(struct rp_compare_kernel *k, const double between_us[2])
{
    if (!(between_us[1] > 0))
        return;
    if (!(k->between_us[1] > 0) || between_us[0] < k->between_us[0])
        k->between_us[0] = between_us[0];
    k->between_us[1] = fmax(k->between_us[1], between_us[1]);
}

/* Starts from the captured state with poison. Timed runs restore and compare memory only where the
 * captured kernel writes, so that what both kernels read stays in caches as in a program.
 */
static int run_one(struct rp_replay_comparison *c, unsigned which, const struct rp_trial_run *how,
                   double *ret_us, struct rp_err *err)
{
    struct rp_compare_kernel *k = &c->kernels[which];
    struct rp_replay_trial *trial = &c->trial;
    struct rp_replay_outcome outcome;
    int rc;

    trial->r->kernel = &trial->r->candidates[which];
    rp_replay_set_timed(trial->r, how == &rp_trial_timed);
    rc = rp_trial_run(trial, how, ret_us, &outcome, err);
    if (rc < 0)
        return rp_wrap(err, "%s", whose[which]);
    if (!k->wrong_runs)
        k->outcome = outcome;
    k->wrong_runs += outcome.verdict.different_pages != 0;
    k->checked_runs++;
    c->wrong = c->wrong || k->wrong_runs;
    if (how == &rp_trial_timed)
        note_bounds(k, trial->r->between_us);
    return 0;
}

static int check_both(struct rp_replay_comparison *c, struct rp_err *err)
{
    double us;
    int rc = 0;

    for (unsigned i = 0; i < 2 * RP_TRIAL_FIRST_RUNS && rc == 0; i++) {
        const unsigned which = i / RP_TRIAL_FIRST_RUNS;

        rc = run_one(c, which, &rp_trial_first[i % RP_TRIAL_FIRST_RUNS], &us, err);
    }
    return rc;
}

/* Also where B is wrong already: what is found may be why. */
static int check_accesses(struct rp_replay_comparison *c, struct rp_err *err)
{
    const struct rp_replay_kernel *const both = c->trial.r->candidates, *failed;
    int rc;

    rp_replay_set_timed(c->trial.r, false);
    rc = rp_check_runs_do(&c->checks, &c->trial, &both[0], &both[1], whose, &failed, err);

    c->wrong = c->wrong || c->checks.words;
    return rc < 0 && failed ? rp_wrap(err, "%s", whose[failed - both]) : rc;
}

/* Says which kernel is wrong with which inputs. Both are wrong only if they are with the same ones.
 */
static void note_wrong_varied(struct rp_replay_comparison *c)
{
    const struct rp_replay_outcome *a = &c->kernels[0].varied, *b = &c->kernels[1].varied;
    const bool by_a = a->verdict.different_bytes, by_b = b->verdict.different_bytes;
    const struct rp_replay_outcome *o = by_a ? a : b;
    const struct rp_replay *r = c->trial.r;
    char which[RP_VARIATION_ARGUMENT_TEXT];

    c->wrong_varied = by_a || by_b;
    c->wrong = c->wrong || c->wrong_varied;
    if (!c->wrong_varied)
        return;
    rp_variation_argument(r, o, which);
    snprintf(c->wrong_text, sizeof c->wrong_text,
             "%s%s%s%s%s, the output%s of %s differ%s from the captured kernel's",
             rp_variations[o->variation].how_other, *which ? " (" : "", which, *which ? ")" : "",
             o->second ? RP_VARIATION_SECOND : "", by_a && by_b ? "s" : "",
             by_a && by_b ? "A and B" : whose[by_a ? 0 : 1], by_a && by_b ? "" : "s");
}

static int other_inputs(struct rp_replay_comparison *c, struct rp_err *err)
{
    struct rp_replay_outcome *const outcomes[2] = {&c->kernels[0].varied, &c->kernels[1].varied};
    size_t who = EITHER;
    int rc = rp_variation_run(&c->varied, 2, outcomes, &who, err);

    if (rc < 0)
        return who < EITHER ? rp_wrap(err, "%s", whose[who]) : rc;
    note_wrong_varied(c);
    /* Blocks begin with the captured memory all over. */
    return rp_trial_fill(&c->trial, err);
}

/* --- times with other inputs --------------------------------------------------------------- */

static unsigned looks(size_t most)
{
    unsigned n = 1;

    for (size_t at = RP_COMPARE_FIRST_BLOCKS; at < most; at *= 2)
        n++;
    return n;
}

/* Modelled times are the same each time; of those from counts the bounds are known. */
static int held_modelled(const struct rp_variation_result *with, const struct rp_held_rule *rule,
                         struct rp_decided *ret, enum rp_held *ret_held, struct rp_err *err)
{
    const bool bounded = with->between_us[0][1] > 0 && with->between_us[1][1] > 0;
    double x = 0;
    int rc = rp_decide_block(&with->us[0], &with->us[1], 1, &x, err);

    if (rc < 0)
        return rc;
    if (!bounded)
        return decide_held_exactly(exp(x), rule, ret, ret_held, err);
    rc = rp_decide_between(exp(x), with->between_us[0], with->between_us[1], &rule->decide, ret,
                           err);
    if (rc == 0)
        *ret_held = held(ret, ret->low, rule);
    return rc;
}

/* @return 0, also if memory is wrong, or the variation has a reason now why it tells nothing */
static int run_other(struct rp_replay_comparison *c, enum rp_variation variation, size_t count,
                     double *ret_x, struct rp_err *err)
{
    struct rp_replay_outcome *const outcomes[2] = {&c->kernels[0].varied, &c->kernels[1].varied};
    rp_autofree struct rp_variation_block *blocks = rp_alloc_zero(count, sizeof *blocks);
    size_t who = EITHER;
    int rc = rp_variation_time(&c->varied, variation, count, blocks, outcomes, &who, err);

    if (rc < 0)
        return who < EITHER ? rp_wrap(err, "%s", whose[who]) : rc;
    note_wrong_varied(c);
    for (size_t i = 0; i < count && rc == 0 && !c->wrong && !c->varied.of[variation].reason; i++)
        rc = rp_decide_block(blocks[i].us[0], blocks[i].us[1], RP_VARIATION_RUNS, &ret_x[i], err);
    return rc;
}

/* Values in memory decide what a kernel may skip: a gain must hold with other ones, too. What it is
 * given and how often it runs may honestly make another difference. A gain with other arguments
 * need not hold: whether these are a loss is all that matters. */
static bool is_open(const struct rp_replay_comparison *c, enum rp_variation variation,
                    enum rp_held held)
{
    return rp_varies_memory(variation) ? held == RP_HELD_OPEN
                                       : rp_decide_gate(&c->others[variation], c->margin,
                                                        RP_GATE_NOT_SLOWER) == RP_GATE_OPEN;
}

/* Times more blocks as long as noise leaves the question open. */
static int time_other(struct rp_replay_comparison *c, enum rp_variation variation,
                      const struct rp_held_rule *rule, enum rp_held *ret_held, struct rp_err *err)
{
    rp_autofree double *x = rp_alloc_zero(c->most_blocks, sizeof *x);
    size_t until = RP_COMPARE_FIRST_BLOCKS, have = 0;
    int rc = 0;

    while (rc == 0 && have < c->most_blocks && is_open(c, variation, *ret_held)) {
        until = until < c->most_blocks ? until : c->most_blocks;
        rc = run_other(c, variation, until - have, x + have, err);
        if (rc < 0 || c->wrong)
            return rc;
        if (c->varied.of[variation].reason) {
            c->others[variation] = (struct rp_decided){0};
            return 0;
        }
        have = until;
        rc = rp_decide_held(x, have, have == c->most_blocks, rule, &c->others[variation], ret_held,
                            err);
        until *= 2;
    }
    return rc;
}

static bool is_timed(const struct rp_replay_comparison *c, enum rp_variation variation)
{
    return rp_varies_time(variation) && !c->varied.reason && !c->varied.of[variation].reason;
}

static size_t demanded(const struct rp_replay_comparison *c)
{
    size_t count = 0;

    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        count += is_timed(c, (enum rp_variation)i) && rp_varies_memory((enum rp_variation)i);
    return count;
}

/* A kernel that knows the captured values may skip its work for these, and compute for all others:
 * right everywhere, and faster for nobody but this comparison. */
static int time_others(struct rp_replay_comparison *c, struct rp_err *err)
{
    const struct rp_held_rule rule = {.decide = {.margin = c->margin,
                                                 .noise = c->noise,
                                                 .alpha = RP_COMPARE_ALPHA,
                                                 .looks = looks(c->most_blocks)},
                                      .captured = c->decided.ratio,
                                      .kinds = demanded(c)};
    int rc = 0;

    for (unsigned i = 0; i < RP_VARIATIONS && rc == 0 && !c->wrong; i++) {
        const enum rp_variation variation = (enum rp_variation)i;
        enum rp_held held = RP_HELD_OPEN;

        if (!is_timed(c, variation))
            continue;
        rc = c->trial.r->software
                 ? held_modelled(&c->varied.of[i], &rule, &c->others[i], &held, err)
                 : time_other(c, variation, &rule, &held, err);
        if (rc < 0 || !rp_varies_memory(variation) || !(c->others[i].level > 0))
            continue;
        c->only_captured = c->only_captured || held == RP_NOT_HELD;
        c->others_open = c->others_open || held == RP_HELD_OPEN;
    }
    if (c->only_captured || c->others_open)
        c->decided.decision = RP_UNDECIDED;
    return rc;
}

/* --- blocks -------------------------------------------------------------------------------- */

/* The order of a block must not follow anything that the machine does (xorshift64*). */
static bool toss(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 2685821657736338717u >> 63;
}

/* @param other  what the second letter stands for: 1 B, 0 A again */
static int run_block(struct rp_replay_comparison *c, unsigned other, uint64_t *seed,
                     struct rp_compare_block *ret, struct rp_err *err)
{
    unsigned have[2] = {0, 0};
    int rc = 0;

    ret->turned = toss(seed);
    for (unsigned i = 0; i < 2 * c->runs && rc == 0 && !c->wrong; i++) {
        const unsigned letter = i / (c->runs / 2);
        const unsigned second = (letter == 1 || letter == 2) != ret->turned;

        rc = run_one(c, second ? other : 0, &rp_trial_timed, &ret->us[second][have[second]++], err);
    }
    return rc;
}

/* Compares all memory after runs that were compared only where the captured kernel writes. One
 * kernel may have read what the other one changed elsewhere, so a wrong run is then not the fault
 * of the kernel that made it. Pages that are restored before each run do not have this problem.
 */
static int check_late(struct rp_replay_comparison *c, unsigned who, struct rp_err *err)
{
    int rc = rp_trial_check(&c->trial, &c->late, err);

    const bool known = c->kernels[0].outcome.outside_bytes || c->kernels[1].outcome.outside_bytes;

    if (rc < 0 || (c->wrong ? known || !c->late.outside_bytes : !c->late.verdict.different_pages))
        return rc;
    c->late_by = whose[who];
    c->wrong = true;
    return 0;
}

static int decide(const struct rp_replay_comparison *c, const struct rp_compare_block *blocks,
                  size_t count, const struct rp_decide_rule *rule, struct rp_decided *ret,
                  struct rp_err *err)
{
    rp_autofree double *x = rp_alloc_zero(count, sizeof *x);
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = rp_decide_block(blocks[i].us[0], blocks[i].us[1], c->runs, &x[i], err);
    return rc < 0 ? rc : rp_replay_decide(x, count, rule, ret, err);
}

static int run_same(struct rp_replay_comparison *c, uint64_t *seed, struct rp_err *err)
{
    const struct rp_decide_rule rule = {
        .margin = c->asked_margin, .alpha = RP_COMPARE_ALPHA, .looks = 1};
    int rc = 0;

    while (c->same_count < RP_COMPARE_FIRST_BLOCKS && rc == 0 && !c->wrong) {
        rp_replay_at(c->trial.r, RP_REPLAY_AT_SAME, c->same_count, RP_COMPARE_FIRST_BLOCKS);
        rc = run_block(c, 0, seed, &c->same[c->same_count++], err);
    }
    if (rc < 0 || c->wrong)
        return rc;
    rc = decide(c, c->same, c->same_count, &rule, &c->same_decided, err);
    c->steady = rp_decide_steady(&c->same_decided, &c->noise);
    return rc;
}

/* Returns the requested margin, or what the clock can resolve. */
static double margin_of(const struct rp_replay_comparison *c, const struct rp_compare_block *block)
{
    double tick = 0;

    for (unsigned j = 0; j < 2 * c->runs; j++)
        tick = fmax(tick, 1e6 / (double)c->trial.r->ticks_hz / block->us[j / c->runs][j % c->runs]);
    return tick > c->asked_margin ? tick : c->asked_margin;
}

/* Where times are from counts, what blocks say of them is put right: they are within bounds, and
 * more blocks say the same. */
static int decide_by_bounds(struct rp_replay_comparison *c, const struct rp_decide_rule *rule,
                            struct rp_err *err)
{
    const double *a = c->kernels[0].between_us, *b = c->kernels[1].between_us;

    c->by_bounds = a[1] > 0 && b[1] > 0;
    return c->by_bounds ? rp_decide_between(c->decided.ratio, a, b, rule, &c->decided, err) : 0;
}

static int run_blocks(struct rp_replay_comparison *c, uint64_t *seed, struct rp_err *err)
{
    const struct rp_decide_rule rule = {.margin = c->margin,
                                        .noise = c->noise,
                                        .alpha = RP_COMPARE_ALPHA,
                                        .looks = looks(c->most_blocks)};
    size_t until = RP_COMPARE_FIRST_BLOCKS;
    int rc = 0;

    while (rc == 0 && !c->wrong) {
        until = until < c->most_blocks ? until : c->most_blocks;
        while (c->block_count < until && rc == 0 && !c->wrong) {
            rp_replay_at(c->trial.r, RP_REPLAY_AT_BLOCKS, c->block_count, until);
            rc = run_block(c, 1, seed, &c->blocks[c->block_count++], err);
        }
        if (rc == 0 && !c->wrong)
            rc = decide(c, c->blocks, c->block_count, &rule, &c->decided, err);
        if (rc == 0 && !c->wrong)
            rc = decide_by_bounds(c, &rule, err);
        if (c->decided.decision != RP_UNDECIDED || c->by_bounds || until == c->most_blocks)
            break;
        until *= 2;
    }
    return rc;
}

static bool are_same(const double *us, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        if (us[i] != us[0])
            return false;
    return true;
}

/* Modelled times are the same in each run unless they depend on what earlier runs left: a block of
 * few runs shows it, and more blocks would say the same. What goes by a clock may be the same twice
 * by chance. Times with other inputs are modelled only where this finds B faster. */
static int measure_modelled(struct rp_replay_comparison *c, uint64_t *seed, struct rp_err *err)
{
    struct rp_compare_block *block = &c->blocks[0];
    struct rp_decide_rule rule = {.margin = c->asked_margin};
    double x = 0;
    int rc;

    c->runs = c->trial.r->reads_clock ? RP_COMPARE_RUNS : RP_COMPARE_MODELLED_RUNS;
    rc = run_block(c, 1, seed, block, err);
    if (rc == 0 && !c->wrong)
        rc = check_late(c, EITHER, err);
    if (rc == 0 && !c->wrong)
        rc = rp_decide_block(block->us[0], block->us[1], c->runs, &x, err);
    if (rc < 0 || c->wrong)
        return rc;
    c->block_count = 1;
    c->settled = are_same(block->us[0], c->runs) && are_same(block->us[1], c->runs);
    if (!c->settled) {
        c->block_count = 0;
        c->runs = RP_COMPARE_RUNS;
        return 0;
    }
    c->steady = true;
    c->margin = rule.margin = margin_of(c, block);
    rc = replay_decide_exactly(exp(x), &rule, &c->decided, err);
    if (rc == 0)
        rc = replay_decide_exactly(1, &rule, &c->same_decided, err);
    return rc < 0 ? rc : decide_by_bounds(c, &rule, err);
}

static int measure(struct rp_replay_comparison *c, uint64_t *seed, struct rp_err *err)
{
    int rc = run_same(c, seed, err);

    if (rc == 0)
        rc = check_late(c, 0, err);
    if (rc < 0 || c->wrong)
        return rc;
    for (size_t i = 0; i < c->same_count; i++)
        c->margin = fmax(c->margin, margin_of(c, &c->same[i]));
    return c->steady ? run_blocks(c, seed, err) : 0;
}

int rp_replay_comparison_run(struct rp_replay_comparison *c, struct rp_err *err)
{
    uint64_t seed = 88172645463325252u;
    int rc;

    rp_replay_at(c->trial.r, RP_REPLAY_AT_CHECKING, 0, 0);
    rc = rp_trial_prepare(&c->trial, err);
    c->same = rp_alloc_zero(RP_COMPARE_FIRST_BLOCKS, sizeof *c->same);
    c->blocks = rp_alloc_zero(c->most_blocks, sizeof *c->blocks);
    c->runs = RP_COMPARE_RUNS;
    if (rc == 0)
        rc = check_both(c, err);
    rp_replay_at(c->trial.r, RP_REPLAY_AT_ACCESSES, 0, 0);
    if (rc == 0)
        rc = check_accesses(c, err);
    if (rc == 0 && !c->wrong && c->trial.r->software)
        rc = measure_modelled(c, &seed, err);
    if (c->wrong)
        c->varied.reason = "they are not both right with the captured ones";
    rp_replay_at(c->trial.r, RP_REPLAY_AT_OTHERS, 0, 0);
    c->varied.timed = c->decided.decision == RP_FASTER || !c->settled;
    if (rc == 0 && !c->wrong)
        rc = other_inputs(c, err);
    if (rc == 0 && !c->wrong && !c->settled)
        rc = measure(c, &seed, err);
    if (rc < 0 || c->wrong)
        return rc;
    /* A blind comparison is reported whatever the times, as the kernel may do next to nothing. */
    if (rp_replay_comparison_is_blind(c))
        c->decided.decision = RP_UNDECIDED;
    if (c->steady && !c->settled)
        rc = check_late(c, EITHER, err);
    return rc < 0 || c->wrong || c->decided.decision != RP_FASTER ? rc : time_others(c, err);
}

/* --- words --------------------------------------------------------------------------------- */

static const char *word_of(const struct rp_replay_comparison *c)
{
    static const char *const words[] = {[RP_UNDECIDED] = "undecided",
                                        [RP_FASTER] = "faster",
                                        [RP_SLOWER] = "slower",
                                        [RP_EQUAL] = "equal"};

    return c->wrong ? "different output" : words[c->decided.decision];
}

static const char *undecided_by(const struct rp_replay_comparison *c)
{
    if (c->wrong || c->decided.decision != RP_UNDECIDED)
        return NULL;
    return rp_replay_comparison_is_blind(c) ? "blind"
           : c->only_captured               ? "values"
           : c->by_bounds                   ? "bounds"
           : is_at_margin(&c->decided)      ? "margin"
           : c->steady                      ? "noise"
                                            : "unsteady";
}

static const char *wrong_captured(const struct rp_replay_comparison *c)
{
    if (c->kernels[0].wrong_runs)
        return c->kernels[1].wrong_runs
                   ? "with the captured inputs, the outputs of A and B differ from the captured one"
                   : "with the captured inputs, the output of A differs from the captured one";
    return c->kernels[1].outcome.leftovers
               ? "where LDS, scratch and registers do not begin as zeros, the output of B differs "
                 "from the captured one: it reads what it has not written"
               : "with the captured inputs, the output of B differs from the captured one";
}

static const char *reason_of(const struct rp_replay_comparison *c)
{
    if (c->wrong_varied)
        return c->wrong_text;
    if (c->late_by)
        return c->late_by == whose[EITHER]
                   ? "after many runs A or B has changed memory that the captured kernel does not"
                   : "after many runs A has changed memory that the captured kernel does not";
    if (c->kernels[0].wrong_runs || c->kernels[1].wrong_runs)
        return wrong_captured(c);
    if (c->wrong)
        return c->checks.words;
    if (rp_replay_comparison_is_blind(c))
        return "most of what the captured kernel writes holds its results already, so that nothing "
               "can be told by it: capture an earlier dispatch";
    if (c->only_captured)
        return "B is faster with the captured values only, and not by the margin or half as much "
               "with other ones in memory";
    if (c->by_bounds && c->decided.decision == RP_UNDECIDED)
        return c->others_open ? "B is faster with the captured values, and with other ones in "
                                "memory the bounds "
                                "of both times overlap: use --timing detailed"
                              : "the bounds of both times overlap: use --timing detailed";
    if (c->others_open && c->decided.decision == RP_UNDECIDED)
        return "B is faster with the captured values, and noise leaves it open whether with other "
               "ones in memory, too: more blocks may tell";
    if (!c->steady)
        return "A is not as fast as itself: times are not steady on this machine now";
    if (is_at_margin(&c->decided))
        return "the ratio is at the end of the margin, without noise: another margin decides, and "
               "more blocks do not";
    return c->decided.decision == RP_UNDECIDED
               ? "the interval reaches over an end of the margin: more blocks may tell"
               : NULL;
}

struct rp_comparison_words rp_replay_comparison_words(const struct rp_replay_comparison *c)
{
    return (struct rp_comparison_words){word_of(c), undecided_by(c), reason_of(c)};
}
