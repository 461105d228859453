#include "cli/autotune_text.h"

#include <string.h>

#include "base/buf.h"
#include "tune/search.h"
#include "tune/search_json.h"

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static long long count(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

enum { MOST_VALUE = 60, MOST_REASON = 400 /**< bytes that are printed */ };

/** Nothing that a terminal obeys, and not all of what is long. */
static void put_plain(const char *text, size_t most, struct rp_buf *to)
{
    const size_t bytes = strnlen(text, most + 1);
    size_t shown = bytes > most ? most : bytes;

    while (shown < bytes && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--; /* no half of a character */
    for (size_t i = 0; i < shown; i++)
        rp_buf_printf(to, "%c", (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i]);
    if (shown < bytes)
        rp_buf_puts(to, "...");
}

static void put_left(double ms, struct rp_buf *to)
{
    const double s = ms / 1e3;

    if (s < 100)
        rp_buf_printf(to, ", %.0f s left", s);
    else if (s < 100 * 60)
        rp_buf_printf(to, ", %.0f min left", s / 60);
    else
        rp_buf_printf(to, ", %.1f h left", s / 3600);
}

void rp_autotune_put_progress(const struct rp_search_progress *p, bool left, struct rp_buf *to)
{
    if (strcmp(p->phase, "confirm") == 0) {
        rp_buf_printf(to, "the fastest are run again: %zu of at most %zu runs", p->runs,
                      p->most_runs);
        if (left)
            put_left(p->left_ms, to);
        return;
    }
    rp_buf_printf(to, "%zu of at most %zu", p->evaluated, p->most);
    if (left && p->left_ms >= 0)
        put_left(p->left_ms, to);
    if (p->best) {
        rp_buf_printf(to, ": %.6g ms, the best so far: ", p->best->runtime_ms);
        rp_search_put_parameters(p->space, p->best->config, to);
        return;
    }
    rp_buf_printf(to, ": none has worked yet; the last one %s%s",
                  rp_evaluation_outcome_word(p->last->outcome), p->last->reason ? ": " : "");
    if (p->last->reason)
        put_plain(p->last->reason, MOST_REASON, to);
}

static void put_values(const json_t *parameters, struct rp_buf *to)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)parameters, name, value)
    {
        rp_buf_printf(to, " %s=", name);
        if (json_is_string(value))
            put_plain(json_string_value(value), MOST_VALUE, to);
        else if (json_is_boolean(value))
            rp_buf_puts(to, json_is_true(value) ? "true" : "false");
        else if (json_is_integer(value))
            rp_buf_printf(to, "%lld", (long long)json_integer_value(value));
        else
            rp_buf_printf(to, "%g", json_number_value(value));
    }
}

static void put_finalist(const char *title, const json_t *config, struct rp_buf *to)
{
    const json_t *interval = json_object_get(config, "interval_ms");
    const double low = json_number_value(json_array_get(interval, 0)),
                 high = json_number_value(json_array_get(interval, 1));

    rp_buf_printf(to, "%-7s", title);
    if (json_is_null(json_object_get(config, "runtime_ms")))
        rp_buf_puts(to, "not run");
    else
        rp_buf_printf(to, "%.6g ms", number(config, "runtime_ms"));
    if (high > low)
        rp_buf_printf(to, " (%.6g to %.6g with %.0f %%)", low, high,
                      100 * number(config, "interval_confidence"));
    put_values(json_object_get(config, "parameters"), to);
    rp_buf_puts(to, "\n");
}

/** Why there is no best one: the first failure tells most. */
static void put_none(const json_t *result, struct rp_buf *to)
{
    const json_t *first = json_array_get(json_object_get(result, "history"), 0);
    const char *ended = json_string_value(json_object_get(result, "ended_by"));
    const char *reason = json_string_value(json_object_get(first, "reason"));

    if (strcmp(ended, "small_space") == 0)
        rp_buf_puts(to, "Best   none: --max-fraction of so few configurations is less than "
                        "one; a larger one\n       runs some of them\n");
    else if (json_array_size(json_object_get(result, "failed_again"))) {
        rp_buf_printf(to, "Best   none: the %zu fastest ones failed when they were run again\n",
                      json_array_size(json_object_get(result, "failed_again")));
        reason = NULL;
    } else if (!first)
        rp_buf_puts(to, "Best   none: no configuration has come to its end\n");
    else
        rp_buf_printf(to, "Best   none: no configuration works; the first one: %s%s",
                      json_string_value(json_object_get(first, "outcome")), reason ? ": " : "\n");
    if (reason) {
        put_plain(reason, MOST_REASON, to);
        rp_buf_puts(to, "\n");
    }
}

static void put_best(const json_t *result, struct rp_buf *to)
{
    const json_t *best = json_object_get(result, "best_config"), *tie;
    const size_t lost = json_array_size(json_object_get(result, "failed_again"));
    size_t i;

    if (!json_is_object(best)) {
        put_none(result, to);
        return;
    }
    put_finalist("Best", best, to);
    json_array_foreach(json_object_get(result, "ties"), i, tie) put_finalist("Tied", tie, to);
    if (lost)
        rp_buf_printf(to, "Lost   %zu that seemed as fast failed when run again\n", lost);
    if (!json_is_true(json_object_get(result, "confirmed")))
        rp_buf_puts(to, "       not run again to confirm it\n");
}

static void put_searched(const json_t *result, struct rp_buf *to)
{
    const json_t *failures = json_object_get(result, "failures"), *phase;
    const long long size = count(result, "search_space_size");
    const char *name, *between = "; ";
    json_t *value;
    size_t i;

    rp_buf_printf(
        to, "Search %lld of %lld configurations (%.3g %%):", count(result, "evaluated_configs"),
        size, 100 * number(result, "evaluated_configs") / (double)size);
    json_array_foreach(json_object_get(result, "phases"), i, phase) rp_buf_printf(
        to, "%s %s %lld", i ? "," : "", json_string_value(json_object_get(phase, "name")),
        count(phase, "configurations"));
    json_object_foreach((json_t *)failures, name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        rp_buf_printf(to, "%s%lld %s", between, (long long)json_integer_value(value), name);
        between = ", ";
    }
    rp_buf_printf(to, "; ended by %s\n", json_string_value(json_object_get(result, "ended_by")));
}

static void put_model(const json_t *result, struct rp_buf *to)
{
    const json_t *model = json_object_get(result, "model");
    const char *ended = json_string_value(json_object_get(result, "ended_by"));

    if (count(result, "search_space_size") == 1) {
        rp_buf_puts(to, "Model  none: there is nothing to choose from\n");
        return;
    }
    if (json_is_null(json_object_get(model, "r2")) && count(model, "samples") >= 10)
        rp_buf_puts(to, "Model  none: all that ran took the same time\n");
    else if (json_is_null(json_object_get(model, "r2")))
        rp_buf_printf(to, "Model  too few configurations ran (%lld) to say anything of it\n",
                      count(model, "samples"));
    else
        rp_buf_printf(to,
                      "Model  of runs it had not seen: R2 %.3f, rank correlation %.3f, %.0f %% "
                      "within its 90 %% intervals\n       expects %.2g %% from the best one that "
                      "was not run\n",
                      number(model, "r2"), number(model, "rank_correlation"),
                      100 * number(model, "interval_coverage"),
                      100 * number(model, "expected_gain_left"));
    if (!json_is_string(json_object_get(result, "warning")) ||
        !json_is_object(json_object_get(result, "best_config")))
        return;
    rp_buf_printf(to, "       low_model_confidence: there may be much faster ones%s\n",
                  strcmp(ended, "max_fraction") == 0 &&
                          count(result, "max_configs") + 1 < count(result, "search_space_size")
                      ? "; a larger --max-fraction finds more"
                      : "");
}

static void put_drift(const json_t *drift, struct rp_buf *to)
{
    const char *reason = json_string_value(json_object_get(drift, "reason"));

    if (json_is_true(json_object_get(drift, "more_than_noise")))
        rp_buf_printf(to,
                      "Drift  the best one changed by %.1f %% during the search: clocks, heat or "
                      "other programs\n",
                      100 * number(drift, "largest_change"));
    if (count(drift, "failed") == 0)
        return;
    rp_buf_printf(to, "Drift  run again during the search, the best one failed %lld times%s",
                  count(drift, "failed"), reason ? "; first: " : "");
    if (reason)
        put_plain(reason, MOST_REASON, to);
    rp_buf_puts(to, "\n");
}

void rp_autotune_put_text(const json_t *result, struct rp_buf *to)
{
    const char *device = json_string_value(json_object_get(result, "device"));
    const json_t *drift = json_object_get(result, "drift");

    if (strcmp(device, "recorded") == 0)
        rp_buf_puts(to, "SIMULATION: recorded times, nothing was run\n");
    else if (strcmp(device, "software") == 0 &&
             strcmp(json_string_value(json_object_get(result, "objective")), "dispatch") == 0)
        rp_buf_puts(to, "SOFTWARE DEVICE: modelled time, not hardware time\n");
    put_best(result, to);
    put_searched(result, to);
    put_model(result, to);
    put_drift(drift, to);
}

void rp_autotune_put_runtime(const json_t *result, struct rp_buf *to)
{
    const json_t *best = json_object_get(result, "best_config");

    if (json_is_number(json_object_get(best, "runtime_ms")))
        rp_buf_printf(to, "%.9g\n", number(best, "runtime_ms"));
}
