/**
 * @file print.c
 * @brief What a replay has found, for people and as JSON (schemas/replay.schema.json).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/utf8.h"
#include "replay/replay_protocol.h"
#include "replay/request.h"

/* --- output -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct summary {
    double average, min, max, median;
};

static struct summary sum_up(const struct rp_replay_result *result)
{
    rp_autofree double *sorted = calloc(result->count + 1, sizeof *sorted);
    struct summary s = {0};
    const size_t n = result->count;

    if (!sorted || n == 0)
        return s;
    memcpy(sorted, result->samples, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0; i < n; i++)
        s.average += sorted[i] / (double)n;
    s.min = sorted[0];
    s.max = sorted[n - 1];
    s.median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    return s;
}

void rp_replay_ink(int letter)
{
    printf("%c%c", RP_REPLAY_INK, letter);
}

void rp_replay_put_string(const char *text)
{
    rp_autobuf inner = {0};

    rp_escape_json(&inner, text);
    printf("\"%s\"", rp_buf_text(&inner));
}

void rp_replay_put_escaped(const char *text)
{
    rp_autobuf clean = {0};

    rp_escape(&clean, text);
    printf("%s", rp_buf_text(&clean));
}

bool rp_replay_is_complete(const struct rp_replay *r)
{
    size_t count;

    rp_capture_get_refusals(r->capture, &count);
    return count == 0;
}

static void print_verdict_json(const struct rp_replay_result *result)
{
    const struct rp_replay_verdict *v = &result->verdict;

    if (!result->verified) {
        printf("  \"verify\": null\n");
        return;
    }
    printf("  \"verify\": {\n    \"equal\": %s,\n    \"regions\": %" PRIu64
           ",\n    \"bytes\": %" PRIu64 ",\n    \"different_pages\": %" PRIu64
           ",\n    \"first_difference\": ",
           v->different_pages ? "false" : "true", v->regions, v->bytes, v->different_pages);
    if (v->different_pages)
        printf("{\"address\": \"0x%" PRIx64 "\", \"got\": %u, \"expected\": %u}\n  }\n",
               v->first_address, v->got, v->expected);
    else
        printf("null\n  }\n");
}

void rp_replay_put_reason(const char *reason)
{
    if (reason)
        rp_replay_put_string(reason);
    else
        printf("null");
}

void rp_replay_put_varied(const struct rp_varied *v, const struct rp_replay_outcome *outcome)
{
    const bool tried = rp_varied_tried(v);

    printf("{\"equal\": %s, \"wrong_bytes\": %" PRIu64 ", \"outside_bytes\": %" PRIu64
           ", \"reason\": ",
           !tried                             ? "null"
           : outcome->verdict.different_bytes ? "false"
                                              : "true",
           outcome->wrong_bytes, outcome->outside_bytes);
    rp_replay_put_reason(rp_varied_tried_values(v) ? NULL : rp_varied_reason(v));
    for (unsigned i = 0; i < RP_VARIATIONS; i++) {
        const char *reason = v->reason ? v->reason : v->of[i].reason;

        printf(", \"%s\": {\"tried\": %s, \"changed\": %" PRIu64 ", \"telling_bytes\": %" PRIu64
               ", \"reason\": ",
               rp_variation_word((enum rp_variation)i), reason ? "false" : "true", v->of[i].changed,
               v->of[i].telling_bytes);
        rp_replay_put_reason(reason);
        printf("}");
    }
    printf("}");
}

void rp_replay_say_off(const struct rp_replay_trial *trial, const struct rp_replay_outcome *o)
{
    enum rp_number_type type;
    uint64_t steps;
    char rule[RP_COMPARE_TEXT];

    if (trial->rule.type != RP_EXACT || o->outside_bytes || o->variable_bytes ||
        !rp_off_is_near(&o->off, &type, &steps))
        return;
    rp_compare_rule_print(&(struct rp_compare_rule){.type = type, .ulp = steps}, rule, sizeof rule);
    printf("as numbers of fp%u all that is wrong is at most %" PRIu64 " ulp off: if it is that, "
           "--compare %s (or rel=X) allows for it\n",
           8 * rp_number_shape(type).bytes, steps, rule);
}

void rp_replay_say_scalars(const struct rp_varied *v)
{
    if (rp_varied_tried_values(v) && v->of[RP_VARY_ARGUMENTS].reason)
        printf("other inputs are other memory: arguments that are no pointers were as captured "
               "(%s), and a kernel that has their values built in is not noticed\n",
               v->of[RP_VARY_ARGUMENTS].reason);
}

void rp_replay_say_varied(const char *path, const struct rp_varied *v,
                          const struct rp_replay_outcome *outcome)
{
    const unsigned wrong = outcome->variation;

    if (!rp_varied_tried_values(v))
        printf("other %s were not tried: %s\n",
               v->reason || v->of[RP_VARY_ARGUMENTS].reason ? "inputs" : "values in memory",
               rp_varied_reason(v));
    if (v->reason)
        return;
    if (outcome->verdict.different_bytes) {
        rp_replay_ink(RP_REPLAY_BAD);
        printf("%s: %s (%" PRIu64 " %s) it does not give what the captured kernel gives: %" PRIu64
               " bytes wrong, %" PRIu64 " bytes changed that that one leaves\n",
               path, rp_variation_how((enum rp_variation)wrong), v->of[wrong].changed,
               rp_variation_units((enum rp_variation)wrong), outcome->wrong_bytes,
               outcome->outside_bytes);
        return;
    }
    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        if (!v->of[i].reason)
            printf("%s: %s (%" PRIu64 " %s) it gives what the captured kernel gives; %" PRIu64
                   " bytes are other ones then\n",
                   path, rp_variation_how((enum rp_variation)i), v->of[i].changed,
                   rp_variation_units((enum rp_variation)i), v->of[i].telling_bytes);
}

static void print_candidate_json(const struct rp_replay_result *result)
{
    const struct rp_replay_trial *t = &result->trial;
    const struct rp_replay_outcome *o = &result->outcome;

    printf("  \"candidate\": {\n    \"compare\": ");
    rp_replay_put_string(t->rule_text);
    printf(",\n    \"compare_runs\": %u", t->own.runs);
    printf(",\n    \"probed\": %s,\n    \"written_bytes\": %" PRIu64
           ",\n    \"poisoned_bytes\": %" PRIu64 ",\n    \"blind_bytes\": %" PRIu64
           ",\n    \"leftovers\": {\"tried\": %s, \"reason\": ",
           t->probe ? "true" : "false", t->written_bytes, t->poisoned_bytes, t->blind_bytes,
           t->leftovers ? "true" : "false");
    rp_replay_put_reason(t->leftovers_reason);
    printf("},\n    \"checked_runs\": %lu,\n    \"wrong_runs\": %lu"
           ",\n    \"wrong_bytes\": %" PRIu64 ",\n    \"outside_bytes\": %" PRIu64
           ",\n    \"variable_bytes\": %" PRIu64 ",\n    \"other_inputs\": ",
           result->checked_runs, result->wrong_runs, o->wrong_bytes, o->outside_bytes,
           o->variable_bytes);
    rp_replay_put_varied(&result->varied, &result->varied_outcome);
    printf("\n  },\n");
}

const char *rp_replay_cache_word(enum rp_cache cache)
{
    static const char *const words[] = {
        [RP_CACHE_AS_IS] = "as is", [RP_CACHE_WARM] = "warm", [RP_CACHE_COLD] = "cold"};

    return words[cache];
}

const char *rp_replay_timing_model(const struct rp_replay *r)
{
    const char *word = getenv("ROCM_PERF_DEVICE_TIMING");

    return !r->software ? NULL : word && *word ? word : "fast";
}

void rp_replay_put_model(const struct rp_replay *r)
{
    const char *model = rp_replay_timing_model(r);

    if (model)
        rp_replay_put_string(model);
    else
        printf("null");
}

void rp_replay_say_where(const struct rp_replay *r)
{
    const char *model = rp_replay_timing_model(r);

    printf(" on %s", r->gpu_name);
    if (r->product[0])
        printf(" ");
    rp_replay_put_escaped(r->product);
    if (model)
        printf(" (software device: modelled time (%s), not that of a GPU)", model);
}

void rp_replay_print_json(const struct rp_replay *r, const struct rp_replay_request *q,
                          const struct rp_replay_result *result)
{
    const struct summary s = sum_up(result);

    printf("{\n  \"schema_version\": \"1.0\",\n  \"capture_complete\": %s,\n  \"kernel\": {\n    "
           "\"name\": ",
           rp_replay_is_complete(r) ? "true" : "false");
    rp_replay_put_string(r->facts->name);
    printf(",\n    \"hsaco_path\": ");
    rp_replay_put_string(q->candidates[0] ? q->candidates[0] : q->hsaco);
    printf("\n  },\n  \"execution\": {\n    \"iterations\": %lu,\n    \"warmup\": %lu,\n"
           "    \"mode\": \"%s\",\n    \"restored\": \"%s\",\n    \"cache\": \"%s\"\n  },\n",
           q->iterations, q->warmup, q->stateful ? "stateful" : "stateless",
           q->stateful            ? "nothing"
           : result->restored_all ? "all"
                                  : "changed",
           rp_replay_cache_word(r->cache));
    printf("  \"timing\": {\n    \"unit\": \"us\",\n    \"average\": %.3f,\n    \"min\": %.3f,\n"
           "    \"max\": %.3f,\n    \"median\": %.3f,\n    \"samples\": [",
           s.average, s.min, s.max, s.median);
    for (unsigned long i = 0; i < result->count; i++)
        printf("%s%.3f", i ? ", " : "", result->samples[i]);
    printf("]\n  },\n  \"environment\": {\n    \"device\": \"%s\",\n    \"timing_model\": ",
           r->software ? "software" : "gpu");
    rp_replay_put_model(r);
    printf(",\n    \"gpu_agent\": ");
    rp_replay_put_string(r->gpu_name);
    printf(",\n    \"product\": ");
    rp_replay_put_string(r->product);
    printf(",\n    \"rocm_version\": ");
    rp_replay_put_string(q->rocm);
    printf(",\n    \"pid\": %d\n  },\n", (int)getpid());
    if (q->candidates[0])
        print_candidate_json(result);
    print_verdict_json(result);
    printf("}\n");
}

static void print_candidate_text(const struct rp_replay_request *q,
                                 const struct rp_replay_result *result)
{
    const struct rp_replay_trial *t = &result->trial;
    const struct rp_replay_verdict *v = &result->verdict;

    printf("%s in place of the captured kernel, which writes %" PRIu64 " bytes: %" PRIu64
           " poisoned before each run, %" PRIu64 " by which nothing can be told\n",
           q->candidates[0], t->written_bytes, t->poisoned_bytes, t->blind_bytes);
    rp_replay_ink(v->different_pages ? RP_REPLAY_BAD : RP_REPLAY_GOOD);
    if (!v->different_pages)
        printf("memory is right after all %lu runs (%s)\n", result->checked_runs, t->rule_text);
    else
        printf("memory is not right after %lu of %lu runs (%s): %" PRIu64 " bytes wrong, %" PRIu64
               " bytes changed that the captured kernel leaves, %" PRIu64 " of variables; first at "
               "0x%" PRIx64 ": %02x instead of %02x\n",
               result->wrong_runs, result->checked_runs, t->rule_text, result->outcome.wrong_bytes,
               result->outcome.outside_bytes, result->outcome.variable_bytes, v->first_address,
               v->got, v->expected);
    if (v->different_pages && result->outcome.leftovers)
        printf(
            "it was right where LDS, scratch and registers begin as zeros, and is not where they "
            "hold something else: it reads what it has not written\n");
    if (result->late)
        printf("this was seen after the last run: of timed runs only what the captured kernel "
               "writes is looked at each time\n");
    rp_replay_say_off(t, &result->outcome);
    rp_replay_say_varied(q->candidates[0], &result->varied, &result->varied_outcome);
    rp_replay_say_off(t, &result->varied_outcome);
    rp_replay_say_scalars(&result->varied);
}

static void print_times(const struct summary *s, unsigned long runs)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    rp_unit_span_add(&span, s->median * 1e3);
    rp_unit_span_add_both(&span, s->min * 1e3, s->max * 1e3);
    unit = rp_unit_of(RP_UNIT_TIME, span, rp_locale_is_utf8());
    printf("\n%lu runs: median %s %s, average %s, min %s, max %s\n", runs,
           rp_unit_number(unit, s->median * 1e3).text, unit.name,
           rp_unit_number(unit, s->average * 1e3).text, rp_unit_number(unit, s->min * 1e3).text,
           rp_unit_number(unit, s->max * 1e3).text);
}

void rp_replay_print_text(const struct rp_replay *r, const struct rp_replay_request *q,
                          const struct rp_replay_result *result)
{
    const struct rp_replay_verdict *v = &result->verdict;
    const struct summary s = sum_up(result);

    if (r->software)
        rp_replay_ink(RP_REPLAY_CARE);
    rp_replay_put_escaped(r->facts->name);
    rp_replay_say_where(r);
    if (r->software && strcmp(rp_replay_timing_model(r), "off") == 0)
        printf("\n%lu runs, not timed\n", q->iterations);
    else
        print_times(&s, q->iterations);
    if (q->candidates[0])
        print_candidate_text(q, result);
    if (q->candidates[0] || !result->verified)
        return;
    rp_replay_ink(v->different_pages ? RP_REPLAY_BAD : RP_REPLAY_GOOD);
    if (!v->different_pages)
        printf("memory after it is as captured: %" PRIu64 " bytes in %" PRIu64 " regions\n",
               v->bytes, v->regions);
    else
        printf("memory after it is not as captured: %" PRIu64 " pages differ, first at 0x%" PRIx64
               ": %02x instead of %02x\n",
               v->different_pages, v->first_address, v->got, v->expected);
}
