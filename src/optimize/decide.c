#include "optimize/decide.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {
#define RP_OUTCOME(id, word) [RP_OUTCOME_##id] = (word),
#include "optimize/outcomes.def"
#undef RP_OUTCOME
};

const char *rp_outcome_word(enum rp_outcome outcome)
{
    return words[outcome];
}

enum rp_outcome rp_outcome_of(const char *word)
{
    unsigned i = 0;

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

/** The whole takes the sum of the parts' times: ratios are weighed by the time before. */
static void weigh(const struct rp_weighed *list, size_t count, struct rp_decision *ret)
{
    double before = 0, after = 0, most = 0, least = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rp_comparison *c = &list[i].comparison;
        const double weight = list[i].weight > 0 ? list[i].weight : 1;

        if (!c->ratio_known || !(c->low > 0) || !(c->estimate > 0) || !(c->high > 0))
            return;
        before += weight;
        after += weight / c->estimate;
        most += weight / c->low;
        least += weight / c->high;
    }
    ret->ratio_known = count > 0;
    if (count) {
        ret->ratio = before / after;
        ret->low = before / most;
        ret->high = before / least;
    }
}

/** What one geometry alone decides. */
static bool ends_by_one(const struct rp_weighed *list, size_t count, struct rp_decision *ret)
{
    char text[300];

    for (size_t i = 0; i < count; i++)
        if (list[i].comparison.verdict == RP_COMPARED_DIFFERENT) {
            snprintf(text, sizeof text, "its output is another one: %s",
                     list[i].comparison.reason ? list[i].comparison.reason : "no reason given");
            end_with(ret, RP_OUTCOME_WRONG, list[i].name, text);
            return true;
        }
    for (size_t i = 0; i < count; i++)
        if (list[i].comparison.verdict == RP_COMPARED_SLOWER) {
            snprintf(text, sizeof text, "it takes %.4g times as long",
                     1 / list[i].comparison.estimate);
            end_with(ret, RP_OUTCOME_SLOWER, list[i].name, text);
            return true;
        }
    for (size_t i = 0; i < count; i++) {
        const struct rp_comparison *c = &list[i].comparison;

        if (!c->ratio_known || !(c->low > 1 / (1 + c->margin))) {
            snprintf(text, sizeof text, "it may be slower: %s",
                     c->reason ? c->reason : "the interval of the ratio is too wide");
            end_with(ret, RP_OUTCOME_UNDECIDED, list[i].name, text);
            return true;
        }
    }
    return false;
}

void rp_decide(const struct rp_weighed *list, size_t count, double least_improvement,
               struct rp_decision *ret)
{
    double margin = least_improvement;
    char text[300];

    *ret = (struct rp_decision){0};
    for (size_t i = 0; i < count; i++) {
        margin = fmax(margin, list[i].comparison.margin);
        ret->error += list[i].comparison.alpha;
    }
    weigh(list, count, ret);
    if (ends_by_one(list, count, ret))
        return;
    if (!ret->ratio_known) {
        end_with(ret, RP_OUTCOME_UNDECIDED, NULL, "nothing was measured");
        return;
    }
    snprintf(text, sizeof text, "%.4g times as fast (%.4g to %.4g), %.4g is asked for", ret->ratio,
             ret->low, ret->high, 1 + margin);
    if (ret->low > 1 + margin)
        end_with(ret, RP_OUTCOME_FASTER, NULL, text);
    else if (ret->high < 1 + margin)
        end_with(ret, RP_OUTCOME_EQUAL, NULL, text);
    else
        end_with(ret, RP_OUTCOME_UNDECIDED, NULL, text);
}

unsigned rp_confirmations_needed(size_t candidate, double error, double alpha, bool modelled)
{
    enum { MOST = 20 };
    const double n = (double)(candidate ? candidate : 1);
    const double may = alpha / (n * (n + 1));
    unsigned sessions = 1;

    while (!modelled && sessions < MOST && pow(error, sessions + 1) > may)
        sessions++;
    return sessions;
}

bool rp_below_floor(const struct rp_floor *floor, const struct rp_weighed *list, size_t count,
                    char ret_reason[400])
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
            snprintf(ret_reason, 400,
                     "%s: %.4g times as fast is more than the same FLOPs at their ceiling allow, "
                     "%.4g times",
                     list[i].name, c->low, 1 / floor->compute_share.value);
            return true;
        }
    }
    return false;
}
