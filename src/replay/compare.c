#include "replay/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

/* --- one run ------------------------------------------------------------------------------- */

static const char *const whose[] = {"A", "B", "A or B"};

enum { EITHER = 2 };

/* From the captured state with poison. Only where the captured kernel writes, memory is restored
 * and looked at in timed runs, so that what both read stays in caches as in a program. */
static int run_one(struct rp_comparison *c, unsigned which, const struct rp_trial_run *how,
                   double *ret_us, struct rp_err *err)
{
    struct rp_compare_kernel *k = &c->kernels[which];
    struct rp_replay_trial *trial = &c->trial;
    struct rp_replay_outcome outcome;
    int rc;

    trial->r->kernel = &trial->r->candidates[which];
    rc = rp_trial_run(trial, how, ret_us, &outcome, err);
    if (rc < 0)
        return rp_wrap(err, "%s", whose[which]);
    if (!k->wrong_runs)
        k->outcome = outcome;
    k->wrong_runs += outcome.verdict.different_pages != 0;
    k->checked_runs++;
    c->wrong = c->wrong || k->wrong_runs;
    return 0;
}

static int check_both(struct rp_comparison *c, struct rp_err *err)
{
    double us;
    int rc = 0;

    for (unsigned i = 0; i < 2 * RP_TRIAL_FIRST_RUNS && rc == 0; i++) {
        const unsigned which = i / RP_TRIAL_FIRST_RUNS;

        rc = run_one(c, which, &rp_trial_first[i % RP_TRIAL_FIRST_RUNS], &us, err);
    }
    return rc;
}

static int other_inputs(struct rp_comparison *c, struct rp_err *err)
{
    struct rp_replay *r = c->trial.r;
    int rc = rp_varied_prepare(&c->varied, err);

    for (unsigned i = 0; i < 2 && rc == 0 && !c->varied.reason; i++) {
        r->kernel = &r->candidates[i];
        rc = rp_varied_check(&c->varied, &c->kernels[i].varied, err);
        if (rc < 0)
            return rp_wrap(err, "%s", whose[i]);
        c->wrong_varied = c->wrong_varied || c->kernels[i].varied.verdict.different_bytes;
    }
    c->wrong = c->wrong || c->wrong_varied;
    /* Blocks begin with the captured memory all over. */
    return rc < 0 ? rc : rp_trial_fill(&c->trial, err);
}

/* --- blocks -------------------------------------------------------------------------------- */

/* Which order a block has must not follow anything that the machine does (xorshift64*). */
static bool toss(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 2685821657736338717u >> 63;
}

/* @param other  what the second letter stands for: 1 B, 0 A again */
static int run_block(struct rp_comparison *c, unsigned other, uint64_t *seed,
                     struct rp_compare_block *ret, struct rp_err *err)
{
    unsigned have[2] = {0, 0};
    int rc = 0;

    ret->turned = toss(seed);
    for (unsigned i = 0; i < 2 * RP_COMPARE_RUNS && rc == 0 && !c->wrong; i++) {
        const unsigned letter = i / (RP_COMPARE_RUNS / 2);
        const unsigned second = (letter == 1 || letter == 2) != ret->turned;

        rc = run_one(c, second ? other : 0, &rp_trial_timed, &ret->us[second][have[second]++], err);
    }
    return rc;
}

/* All memory, after runs that were looked at where the captured kernel writes only. What one has
 * changed elsewhere, the other one may have read: a wrong run is not the fault of who made it then.
 * Elsewhere on pages that are restored before each run it is. */
static int check_late(struct rp_comparison *c, unsigned who, struct rp_err *err)
{
    int rc = rp_trial_check(&c->trial, &c->late, err);

    const bool known = c->kernels[0].outcome.outside_bytes || c->kernels[1].outcome.outside_bytes;

    if (rc < 0 || (c->wrong ? known || !c->late.outside_bytes : !c->late.verdict.different_pages))
        return rc;
    c->late_by = whose[who];
    c->wrong = true;
    return 0;
}

static int decide(const struct rp_compare_block *blocks, size_t count,
                  const struct rp_decide_rule *rule, struct rp_decided *ret, struct rp_err *err)
{
    rp_autofree double *x = calloc(count + 1, sizeof *x);
    int rc = x ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = rp_decide_block(blocks[i].us[0], blocks[i].us[1], RP_COMPARE_RUNS, &x[i], err);
    return rc < 0 ? rc : rp_decide(x, count, rule, ret, err);
}

static int run_same(struct rp_comparison *c, uint64_t *seed, struct rp_err *err)
{
    const struct rp_decide_rule rule = {
        .margin = c->asked_margin, .alpha = RP_COMPARE_ALPHA, .looks = 1};
    int rc = 0;

    while (c->same_count < RP_COMPARE_FIRST_BLOCKS && rc == 0 && !c->wrong)
        rc = run_block(c, 0, seed, &c->same[c->same_count++], err);
    if (rc < 0 || c->wrong)
        return rc;
    rc = decide(c->same, c->same_count, &rule, &c->same_decided, err);
    c->steady = rp_decide_steady(&c->same_decided, &c->noise);
    return rc;
}

/* What is asked for, or what the clock can tell. */
static double margin_of(const struct rp_comparison *c)
{
    double tick = 0;

    for (size_t i = 0; i < c->same_count; i++)
        for (unsigned j = 0; j < 2 * RP_COMPARE_RUNS; j++)
            tick = fmax(tick, 1e6 / (double)c->trial.r->ticks_hz /
                                  c->same[i].us[j / RP_COMPARE_RUNS][j % RP_COMPARE_RUNS]);
    return tick > c->asked_margin ? tick : c->asked_margin;
}

static unsigned looks(size_t most)
{
    unsigned n = 1;

    for (size_t at = RP_COMPARE_FIRST_BLOCKS; at < most; at *= 2)
        n++;
    return n;
}

static int run_blocks(struct rp_comparison *c, uint64_t *seed, struct rp_err *err)
{
    const struct rp_decide_rule rule = {.margin = c->margin,
                                        .noise = c->noise,
                                        .alpha = RP_COMPARE_ALPHA,
                                        .looks = looks(c->most_blocks)};
    size_t until = RP_COMPARE_FIRST_BLOCKS;
    int rc = 0;

    while (rc == 0 && !c->wrong) {
        until = until < c->most_blocks ? until : c->most_blocks;
        while (c->block_count < until && rc == 0 && !c->wrong)
            rc = run_block(c, 1, seed, &c->blocks[c->block_count++], err);
        if (rc == 0 && !c->wrong)
            rc = decide(c->blocks, c->block_count, &rule, &c->decided, err);
        if (c->decided.decision != RP_UNDECIDED || until == c->most_blocks)
            break;
        until *= 2;
    }
    return rc;
}

int rp_comparison_run(struct rp_comparison *c, struct rp_err *err)
{
    uint64_t seed = 88172645463325252u;
    int rc = 0;

    for (unsigned i = 0; i < 2 && rc == 0; i++)
        rc = rp_replay_keep_loaded(c->trial.r, &c->trial.r->candidates[i], err);
    if (rc == 0)
        rc = rp_trial_prepare(&c->trial, err);
    c->same = calloc(RP_COMPARE_FIRST_BLOCKS, sizeof *c->same);
    c->blocks = calloc(c->most_blocks, sizeof *c->blocks);
    if (!c->same || !c->blocks)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc == 0)
        rc = check_both(c, err);
    if (c->wrong)
        c->varied.reason = "they are not both right with the captured ones";
    if (rc == 0 && !c->wrong)
        rc = other_inputs(c, err);
    if (rc < 0 || c->wrong)
        return rc;
    rc = run_same(c, &seed, err);
    if (rc == 0)
        rc = check_late(c, 0, err);
    if (rc < 0 || c->wrong)
        return rc;
    c->margin = margin_of(c);
    if (c->steady)
        rc = run_blocks(c, &seed, err);
    if (rp_comparison_is_blind(c)) /* whatever the times: it may do next to nothing */
        c->decided.decision = RP_UNDECIDED;
    return rc < 0 || !c->steady ? rc : check_late(c, EITHER, err);
}

/* --- words --------------------------------------------------------------------------------- */

const char *rp_comparison_verdict(const struct rp_comparison *c)
{
    static const char *const words[] = {[RP_UNDECIDED] = "undecided",
                                        [RP_FASTER] = "faster",
                                        [RP_SLOWER] = "slower",
                                        [RP_EQUAL] = "equal"};

    return c->wrong ? "different output" : words[c->decided.decision];
}

bool rp_comparison_is_blind(const struct rp_comparison *c)
{
    return c->trial.blind_bytes > c->trial.written_bytes / 2;
}

const char *rp_comparison_reason(const struct rp_comparison *c)
{
    if (c->wrong_varied)
        return "with other inputs than the captured ones not both give what the captured kernel "
               "gives from them";
    if (c->late_by)
        return c->late_by == whose[EITHER]
                   ? "in blocks of runs A or B changes memory that the captured kernel leaves"
                   : "in blocks of runs A changes memory that the captured kernel leaves";
    if (c->wrong)
        return c->kernels[0].wrong_runs ? c->kernels[1].wrong_runs
                                              ? "neither kernel gives the captured memory"
                                              : "A does not give the captured memory"
                                        : "B does not give the captured memory";
    if (rp_comparison_is_blind(c))
        return "most of what the captured kernel writes holds its results already, so that nothing "
               "can be told by it: capture an earlier dispatch";
    if (!c->steady)
        return "A is not as fast as itself: times are not steady on this machine now";
    return c->decided.decision == RP_UNDECIDED
               ? "the interval reaches over an end of the margin: more blocks may tell"
               : NULL;
}
