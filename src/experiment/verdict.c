#include "experiment/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/stats.h"
#include "base/units.h"

static const char *const words[] = {
#define RP_OUTCOME(id, word) [RP_OUTCOME_##id] = (word),
#include "experiment/outcomes.def"
#undef RP_OUTCOME
};

const char *rp_outcome_word(enum rp_outcome outcome)
{
    return words[outcome];
}

enum rp_outcome rp_outcome_of(const char *word)
{
    unsigned i = 0;

    if (word && strcmp(word, "impossible") == 0) /* Sessions of before call it so. */
        return RP_OUTCOME_IMPOSSIBLE;
    while (i < RP_OUTCOME_COUNT && (!word || strcmp(words[i], word) != 0))
        i++;
    return (enum rp_outcome)i;
}

static void end_with(struct rp_decision *ret, enum rp_outcome outcome, const char *name,
                     const char *what)
{
    ret->outcome = outcome;
    snprintf(ret->reason, sizeof ret->reason, "%s%s%s", name ? name : "", name ? ": " : "", what);
}

struct rp_part rp_weigh_parts(const struct rp_part *parts, size_t count)
{
    double before = 0, after = 0, most = 0, least = 0;
    bool known = true;

    for (size_t i = 0; i < count; i++)
        known = known && parts[i].weight_ns > 0;
    for (size_t i = 0; i < count; i++) {
        const double weight = known ? parts[i].weight_ns : 1;

        before += weight;
        after += weight / parts[i].ratio;
        most += weight / parts[i].low;
        least += weight / parts[i].high;
    }
    return count ? (struct rp_part){.weight_ns = known ? before : 0,
                                    .ratio = before / after,
                                    .low = before / most,
                                    .high = before / least}
                 : (struct rp_part){0};
}

static void weigh(const struct rp_weighted_comparison *list, size_t count, struct rp_decision *ret)
{
    rp_autofree struct rp_part *parts = rp_alloc_zero(count + 1, sizeof *parts);
    struct rp_part whole;

    for (size_t i = 0; i < count; i++) {
        const struct rp_comparison *c = &list[i].comparison;

        if (!c->ratio_known || !(c->low > 0) || !(c->estimate > 0) || !(c->high > 0))
            return;
        parts[i] = (struct rp_part){list[i].weight_ns, c->estimate, c->low, c->high};
    }
    whole = rp_weigh_parts(parts, count);
    ret->ratio_known = count > 0;
    ret->ratio = whole.ratio;
    ret->low = whole.low;
    ret->high = whole.high;
    ret->weight_ns = whole.weight_ns;
}

/** Says whether one may be slower, or nothing can be known about it. */
static bool is_open(const struct rp_comparison *c)
{
    return (c->verdict == RP_COMPARED_UNDECIDED && c->undecided_by != RP_BY_NOISE) ||
           !c->ratio_known || !(c->low > 1 / (1 + c->margin));
}

/** The first word is the cause, because the remedy depends on it. */
static void end_open(const struct rp_weighted_comparison *one, struct rp_decision *ret)
{
    const struct rp_comparison *c = &one->comparison;
    char text[300];

    if (c->undecided_by == RP_BY_VALUES)
        snprintf(text, sizeof text, "captured values only: %s",
                 c->reason ? c->reason : "it is not faster with other ones");
    else if (c->undecided_by == RP_BY_BLIND)
        snprintf(text, sizeof text, "blind capture: %s",
                 c->reason ? c->reason : "what it writes tells nothing");
    else if (c->undecided_by == RP_BY_BOUNDS)
        snprintf(text, sizeof text, "bounds: %s",
                 c->reason ? c->reason : "those of both times overlap");
    else if (c->undecided_by == RP_BY_LIMITS)
        snprintf(text, sizeof text, "not compared to the end: %s",
                 c->reason ? c->reason : "it took too long");
    else if (c->undecided_by == RP_BY_UNSTEADY)
        snprintf(text, sizeof text,
                 "unsteady: the kernel as it was is not as fast as itself, in two sessions: other "
                 "work on this GPU, or a clock that changes");
    else if (c->ratio_known)
        snprintf(text, sizeof text, "noise: it may be slower: %s (%s)",
                 rp_speed_change(c->estimate).text, rp_speed_range(c->low, c->high).text);
    else
        snprintf(text, sizeof text, "noise: %s", c->reason ? c->reason : "nothing was measured");
    end_with(ret, RP_OUTCOME_UNDECIDED, one->name, text);
}

/** Decides what one geometry alone decides. */
static bool ends_by_one(const struct rp_weighted_comparison *list, size_t count,
                        struct rp_decision *ret)
{
    char text[300];

    for (size_t i = 0; i < count; i++)
        if (list[i].comparison.verdict == RP_COMPARED_DIFFERENT) {
            snprintf(text, sizeof text, "%s%s",
                     list[i].comparison.no_output || list[i].comparison.unsafe
                         ? ""
                         : "its output is another one: ",
                     list[i].comparison.reason ? list[i].comparison.reason : "no reason given");
            end_with(ret, list[i].comparison.unsafe ? RP_OUTCOME_UNSAFE : RP_OUTCOME_WRONG,
                     list[i].name, text);
            return true;
        }
    for (size_t i = 0; i < count; i++)
        if (list[i].comparison.verdict == RP_COMPARED_SLOWER) {
            snprintf(text, sizeof text, "it is %s",
                     rp_speed_change(list[i].comparison.estimate).text);
            end_with(ret, RP_OUTCOME_SLOWER, list[i].name, text);
            return true;
        }
    for (size_t i = 0; i < count; i++)
        if (is_open(&list[i].comparison)) {
            end_open(&list[i], ret);
            return true;
        }
    return false;
}

/** Decides by the lower bound of the whole, which must be beyond the wanted gain and beyond the
 * difference of A and A. */
static void end_by_all(double margin, double noise, const char *rounding, struct rp_decision *ret)
{
    char text[300], beyond[60] = "";
    const double faster = fmax(margin, noise);
    const bool open = ret->low <= 1 + faster && ret->high >= 1 + margin;
    const bool exact = ret->high - ret->low < 1e-6 * ret->high; /* Modelled times have no noise. */

    if (noise > margin)
        snprintf(beyond, sizeof beyond, ", the kernel as it was differs from itself by %.2g %%",
                 100 * noise);
    snprintf(text, sizeof text, "%s%s (%s), needs %.4gx%s%s",
             !open   ? ""
             : exact ? "at the margin: "
                     : "noise: ",
             rp_speed_change(ret->ratio).text, rp_speed_range(ret->low, ret->high).text, 1 + margin,
             beyond, rounding);
    end_with(ret,
             open                    ? RP_OUTCOME_UNDECIDED
             : ret->low > 1 + faster ? RP_OUTCOME_FASTER
                                     : RP_OUTCOME_EQUAL,
             NULL, text);
}

void rp_decide(const struct rp_weighted_comparison *list, size_t count, double least_improvement,
               struct rp_decision *ret)
{
    double margin = least_improvement, noise = 0, most = 0;
    char rounding[100] = "";

    *ret = (struct rp_decision){0};
    for (size_t i = 0; i < count; i++) {
        margin = fmax(margin, list[i].comparison.margin);
        noise = fmax(noise, list[i].comparison.noise);
        ret->error += list[i].comparison.alpha;
        if (list[i].comparison.rounding_allowed > most)
            snprintf(rounding, sizeof rounding,
                     "; changes rounding: largest difference %.3g, allowed %.3g",
                     list[i].comparison.rounding, list[i].comparison.rounding_allowed);
        most = fmax(most, list[i].comparison.rounding_allowed);
    }
    weigh(list, count, ret);
    if (ends_by_one(list, count, ret))
        return;
    if (!ret->ratio_known)
        end_with(ret, RP_OUTCOME_UNDECIDED, NULL, "nothing was measured");
    else
        end_by_all(margin, noise, rounding, ret);
}

bool rp_comparison_is_unsteady(const struct rp_comparison *c)
{
    return c->verdict == RP_COMPARED_UNDECIDED && c->undecided_by == RP_BY_UNSTEADY;
}

void rp_comparison_repeats(struct rp_comparison *again, const struct rp_comparison *first)
{
    again->alpha += first->alpha;
}

bool rp_is_confirmed(size_t candidate, unsigned confirmations, double error, double alpha,
                     bool modelled)
{
    const double n = (double)(candidate ? candidate : 1);

    return confirmations > 0 && (modelled || error <= alpha / (n * (n + 1)));
}

double rp_max_allowed_slowdown(double least_improvement)
{
    static const double MOST = 0.02;

    return fmin(least_improvement, MOST);
}

void rp_decide_by_inputs(const struct rp_weighted_comparison *list, size_t count,
                         struct rp_decision *ret)
{
    char text[300];
    size_t untried = 0;

    if (count == 0 || ret->outcome != RP_OUTCOME_FASTER)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct rp_comparison *c = &list[i].comparison;

        untried += c->inputs_untried != NULL;
        if (!(c->slowest_other > 0) || c->slowest_other > 1 / (1 + c->margin))
            continue;
        snprintf(text, sizeof text, "captured inputs only: with other %s it is %s, at least",
                 c->slowest_inputs ? c->slowest_inputs : "inputs",
                 rp_speed_change(c->slowest_other).text);
        end_with(ret, RP_OUTCOME_UNDECIDED, list[i].name, text);
        return;
    }
    if (untried < count)
        return;
    snprintf(text, sizeof text,
             "captured inputs only: it is right for them, and no others could be tried: %s",
             list[0].comparison.inputs_untried);
    end_with(ret, RP_OUTCOME_UNDECIDED, list[0].name, text);
}

void rp_decide_by_another(const struct rp_weighted_comparison *list, size_t count,
                          const char *kernel, struct rp_decision *ret)
{
    struct rp_decision other = {.outcome = RP_OUTCOME_FASTER};

    if (ret->outcome != RP_OUTCOME_FASTER)
        return;
    if (!ends_by_one(list, count, &other))
        rp_decide_by_inputs(list, count, &other);
    if (other.outcome == RP_OUTCOME_FASTER)
        return;
    ret->outcome = other.outcome;
    snprintf(ret->reason, sizeof ret->reason, "it also changes %.100s: %.270s", kernel,
             other.reason);
}

bool rp_below_floor(const struct rp_time_floor *floor, const struct rp_weighted_comparison *list,
                    size_t count, char ret_reason[400])
{
    for (size_t i = 0; i < count; i++) {
        const struct rp_comparison *c = &list[i].comparison;
        const double least_us = floor->write_gbps.known && floor->write_gbps.value > 0
                                    ? c->written_bytes / (floor->write_gbps.value * 1e3)
                                    : 0;

        if (c->after_us > 0 && c->after_us < least_us) {
            snprintf(ret_reason, 400,
                     "%s: %.4g us are less than its %.0f bytes of results need at %.0f GB/s, "
                     "%.4g us",
                     list[i].name, c->after_us, c->written_bytes, floor->write_gbps.value,
                     least_us);
            return true;
        }
        if (floor->same_work && floor->compute_share.known && c->ratio_known &&
            c->low * floor->compute_share.value > 1) {
            snprintf(ret_reason, 400, "%s: %s is more than the same FLOPs at their peak allow, %s",
                     list[i].name, rp_speed_change(c->low).text,
                     rp_speed_change(1 / floor->compute_share.value).text);
            return true;
        }
    }
    return false;
}

/** This is how often, over all looks, a configuration that is as fast as the best one may be
 * dropped. */
static const double race_level = 0.05;

/** This is the level of each side, because a test for any difference has two. */
static const double differ_level = 0.005;

double rp_race_level(unsigned least, unsigned most)
{
    return most > least ? race_level / (most - least) : race_level;
}

bool rp_race_slower(const struct rp_samples_log *a, const struct rp_samples_log *b,
                    const struct rp_noise *noise, double level)
{
    return (a->count > 1 && b->count > 1 ? rp_welch_chance(a, b) : rp_noise_chance(a, b, noise)) <
           level;
}

bool rp_race_differ(const struct rp_samples_log *a, const struct rp_samples_log *b)
{
    const double above = rp_welch_chance(a, b);

    return above < differ_level || 1 - above < differ_level;
}
