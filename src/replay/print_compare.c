/**
 * @file print_compare.c
 * @brief Which of two kernels is faster, for people and as JSON
 * (schemas/replay_compare.schema.json).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "replay/replay_protocol.h"
#include "replay/request.h"

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of whole blocks. @return 0: there are none */
static double median_us(const struct rp_replay_comparison *c, unsigned which)
{
    const size_t n = c->block_count * RP_COMPARE_RUNS;
    rp_autofree double *us = calloc(n + 1, sizeof *us);

    if (!us || n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        us[i] = c->blocks[i / RP_COMPARE_RUNS].us[which][i % RP_COMPARE_RUNS];
    qsort(us, n, sizeof *us, by_value);
    return (us[n / 2 - 1] + us[n / 2]) / 2;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void put_kernel(const char *name, const char *path, const struct rp_varied *varied,
                       const struct rp_compare_kernel *k, double us)
{
    const struct rp_replay_verdict *v = &k->outcome.verdict;

    printf("  \"%s\": {\n    \"hsaco_path\": ", name);
    rp_replay_put_string(path);
    printf(",\n    \"checked_runs\": %lu,\n    \"wrong_runs\": %lu,\n    \"wrong_bytes\": %" PRIu64
           ",\n    \"outside_bytes\": %" PRIu64 ",\n    \"variable_bytes\": %" PRIu64
           ",\n    \"first_difference\": ",
           k->checked_runs, k->wrong_runs, k->outcome.wrong_bytes, k->outcome.outside_bytes,
           k->outcome.variable_bytes);
    if (k->wrong_runs)
        printf("{\"address\": \"0x%" PRIx64 "\", \"got\": %u, \"expected\": %u}", v->first_address,
               v->got, v->expected);
    else
        printf("null");
    printf(",\n    \"other_inputs\": ");
    rp_replay_put_varied(varied, &k->varied);
    if (us > 0)
        printf(",\n    \"median_us\": %.3f\n  },\n", us);
    else
        printf(",\n    \"median_us\": null\n  },\n");
}

static void put_ratio(const char *name, const struct rp_decided *d)
{
    if (d->level > 0)
        printf("  \"%s\": {\"estimate\": %.6f, \"low\": %.6f, \"high\": %.6f, \"level\": %.6f},\n",
               name, d->ratio, d->low, d->high, d->level);
    else
        printf("  \"%s\": null,\n", name);
}

static void put_others(const struct rp_replay_comparison *c)
{
    const char *comma = "";

    printf("  \"other_ratios\": [");
    for (unsigned i = 0; i < RP_VARIATIONS; i++) {
        const struct rp_decided *d = &c->others[i];
        const enum rp_variation variation = (enum rp_variation)i;

        if (!(d->level > 0))
            continue;
        printf("%s\n    {\"inputs\": \"%s\", \"demanded\": %s, \"estimate\": %.6f, \"low\": %.6f, "
               "\"high\": %.6f, \"level\": %.6f}",
               comma, rp_variation_word(variation),
               rp_replay_comparison_demands(variation) ? "true" : "false", d->ratio, d->low,
               d->high, d->level);
        comma = ",";
    }
    printf("%s],\n", *comma ? "\n  " : "");
}

static void put_blocks(const char *name, const struct rp_compare_block *blocks, size_t count,
                       const char *end)
{
    printf("  \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        printf("%s\n    {\"order\": \"%s\"", i ? "," : "", blocks[i].turned ? "BAAB" : "ABBA");
        for (unsigned which = 0; which < 2; which++) {
            printf(", \"%s_us\": [", which ? "b" : "a");
            for (unsigned j = 0; j < RP_COMPARE_RUNS; j++)
                printf("%s%.3f", j ? ", " : "", blocks[i].us[which][j]);
            printf("]");
        }
        printf("}");
    }
    printf("%s]%s\n", count ? "\n  " : "", end);
}

void rp_comparison_print_json(const struct rp_replay *r, const struct rp_replay_request *q,
                              const struct rp_replay_comparison *c)
{
    const char *reason = rp_replay_comparison_reason(c), *by = rp_replay_comparison_undecided_by(c);
    const bool timed = !c->wrong;

    printf(
        "{\n  \"schema_version\": \"1.0\",\n  \"capture_complete\": %s,\n  \"kernel\": {\"name\": ",
        rp_replay_is_complete(r) ? "true" : "false");
    rp_replay_put_string(r->facts->name);
    printf("},\n  \"verdict\": \"%s\",\n  \"reason\": ", rp_replay_comparison_verdict(c));
    if (reason)
        rp_replay_put_string(reason);
    else
        printf("null");
    printf(",\n  \"undecided_by\": %s%s%s,\n", by ? "\"" : "", by ? by : "null", by ? "\"" : "");
    put_kernel("a", q->candidates[0], &c->varied, &c->kernels[0], timed ? median_us(c, 0) : 0);
    put_kernel("b", q->candidates[1], &c->varied, &c->kernels[1], timed ? median_us(c, 1) : 0);
    put_ratio("ratio", timed ? &c->decided : &(struct rp_decided){0});
    put_ratio("a_to_a", timed ? &c->same_decided : &(struct rp_decided){0});
    put_others(c);
    printf("  \"rule\": {\"alpha\": %.4f, \"asked_margin\": %.6f, \"margin\": %.6f, \"noise\": ",
           RP_COMPARE_ALPHA, c->asked_margin, timed ? c->margin : c->asked_margin);
    if (timed)
        printf("%.6f", c->noise);
    else
        printf("null");
    printf(", \"most_blocks\": %zu, \"runs_per_block\": %d, \"cache\": \"%s\", \"compare\": ",
           c->most_blocks, RP_COMPARE_RUNS, rp_replay_cache_word(r->cache));
    rp_replay_put_string(c->trial.rule_text);
    printf(", \"compare_runs\": %u", c->trial.own.runs);
    printf("},\n  \"memory\": {\"probed\": %s, \"written_bytes\": %" PRIu64
           ", \"poisoned_bytes\": %" PRIu64 ", \"blind_bytes\": %" PRIu64
           ", \"leftovers\": {\"tried\": %s, \"reason\": ",
           c->trial.probe ? "true" : "false", c->trial.written_bytes, c->trial.poisoned_bytes,
           c->trial.blind_bytes, c->trial.leftovers ? "true" : "false");
    rp_replay_put_reason(c->trial.leftovers_reason);
    printf("}},\n  \"environment\": {\"device\": \"%s\", \"timing_model\": ",
           r->software ? "software" : "gpu");
    rp_replay_put_model(r);
    printf(", \"gpu_agent\": ");
    rp_replay_put_string(r->gpu_name);
    printf(", \"product\": ");
    rp_replay_put_string(r->product);
    printf(", \"rocm_version\": ");
    rp_replay_put_string(q->rocm);
    printf("},\n");
    put_blocks("a_to_a_blocks", c->same, timed ? c->same_count : 0, ",");
    put_blocks("blocks", c->blocks, timed ? c->block_count : 0, "");
    printf("}\n");
}

/* --- text ---------------------------------------------------------------------------------- */

static void say_wrong(const char *path, const struct rp_replay_trial *trial,
                      const struct rp_compare_kernel *k)
{
    const struct rp_replay_verdict *v = &k->outcome.verdict;

    rp_replay_ink(k->wrong_runs ? RP_REPLAY_BAD : RP_REPLAY_GOOD);
    rp_replay_put_escaped(path);
    if (k->wrong_runs)
        printf(": memory is not right after %lu of %lu runs: %" PRIu64 " bytes wrong, %" PRIu64
               " bytes changed that the captured kernel leaves, %" PRIu64 " of variables; first at "
               "0x%" PRIx64 ": %02x instead of %02x\n",
               k->wrong_runs, k->checked_runs, k->outcome.wrong_bytes, k->outcome.outside_bytes,
               k->outcome.variable_bytes, v->first_address, v->got, v->expected);
    else
        printf(": memory is right after all %lu runs\n", k->checked_runs);
    rp_replay_say_off(trial, &k->outcome);
}

static void say_late(const struct rp_replay_comparison *c)
{
    const struct rp_replay_verdict *v = &c->late.verdict;

    rp_replay_ink(RP_REPLAY_BAD);
    printf("after blocks of runs, by %s: %" PRIu64 " bytes wrong, %" PRIu64
           " bytes changed that the captured kernel leaves, %" PRIu64 " of variables; first at "
           "0x%" PRIx64 ": %02x instead of %02x\n",
           c->late_by, c->late.wrong_bytes, c->late.outside_bytes, c->late.variable_bytes,
           v->first_address, v->got, v->expected);
}

static void say_varied(const struct rp_replay_request *q, const struct rp_replay_comparison *c)
{
    for (unsigned i = 0; i < (rp_varied_tried(&c->varied) ? 2 : 1); i++) {
        rp_replay_say_varied(q->candidates[i], &c->varied, &c->kernels[i].varied);
        rp_replay_say_off(&c->trial, &c->kernels[i].varied);
    }
    rp_replay_say_scalars(&c->varied);
}

static void print_medians(const struct rp_replay_comparison *c)
{
    const double a = median_us(c, 0) * 1e3, b = median_us(c, 1) * 1e3;
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    rp_unit_span_add_both(&span, a, b);
    unit = rp_unit_of(RP_UNIT_TIME, span, rp_locale_is_utf8());
    printf("median of A %s %s, of B %s %s\n", rp_unit_number(unit, a).text, unit.name,
           rp_unit_number(unit, b).text, unit.name);
}

void rp_comparison_print_text(const struct rp_replay *r, const struct rp_replay_request *q,
                              const struct rp_replay_comparison *c)
{
    const struct rp_decided *d = &c->decided;
    const char *reason = rp_replay_comparison_reason(c);

    if (r->software)
        rp_replay_ink(RP_REPLAY_CARE);
    rp_replay_put_escaped(r->facts->name);
    rp_replay_say_where(r);
    printf("\nA ");
    rp_replay_put_escaped(q->candidates[0]);
    printf("\nB ");
    rp_replay_put_escaped(q->candidates[1]);
    printf("\n");
    if (c->wrong) {
        rp_replay_ink(RP_REPLAY_BAD);
        printf("different output: %s (%s); times do not matter then\n", reason, c->trial.rule_text);
        say_wrong(q->candidates[0], &c->trial, &c->kernels[0]);
        say_wrong(q->candidates[1], &c->trial, &c->kernels[1]);
        if (c->late_by)
            say_late(c);
        if (c->wrong_varied)
            say_varied(q, c);
        return;
    }
    say_varied(q, c);
    if (d->level > 0)
        print_medians(c);
    printf("A / A = %.4f, %.4f to %.4f in %zu blocks\n", c->same_decided.ratio, c->same_decided.low,
           c->same_decided.high, c->same_count);
    if (d->level > 0)
        printf(
            "A / B = %.4f, %.4f to %.4f with %.2f %% confidence, in %zu blocks of %d runs each\n",
            d->ratio, d->low, d->high, 100 * d->level, c->block_count, RP_COMPARE_RUNS);
    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        if (c->others[i].level > 0)
            printf("%s: A / B = %.4f, %.4f to %.4f\n", rp_variation_how((enum rp_variation)i),
                   c->others[i].ratio, c->others[i].low, c->others[i].high);
    rp_replay_ink(d->decision == RP_FASTER   ? RP_REPLAY_GOOD
                  : d->decision == RP_SLOWER ? RP_REPLAY_BAD
                  : d->decision == RP_EQUAL  ? RP_REPLAY_BOLD
                                             : RP_REPLAY_CARE);
    printf("B is %s%s%s (margin %.2f %%, A differed from itself by %.2f %%); memory is right after "
           "all %lu runs (%s)\n",
           d->decision == RP_EQUAL       ? "as fast as A: equal"
           : d->decision == RP_UNDECIDED ? "neither known to be faster nor slower: undecided, "
                                         : rp_replay_comparison_verdict(c),
           d->decision == RP_FASTER || d->decision == RP_SLOWER ? " than A" : "",
           d->decision == RP_UNDECIDED && reason ? reason : "", 100 * c->margin, 100 * c->noise,
           c->kernels[0].checked_runs + c->kernels[1].checked_runs, c->trial.rule_text);
}
