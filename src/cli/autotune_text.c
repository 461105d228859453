#include "cli/autotune_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/progress.h"
#include "report/report_text.h"
#include "tune/search.h"
#include "tune/search_results.h"

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
    rp_autobuf head = {0};

    while (shown < bytes && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--; /* no half of a character */
    rp_buf_add(&head, text, shown);
    rp_escape(to, rp_buf_text(&head));
    to->failed |= head.failed;
    if (shown < bytes)
        rp_buf_puts(to, "...");
}

void rp_autotune_put_progress(const struct rp_search_progress *p, bool left, struct rp_buf *to)
{
    if (strcmp(p->phase, "confirm") == 0) {
        rp_buf_printf(to, "the fastest are run again: %zu of at most %zu runs", p->runs,
                      p->most_runs);
        if (left)
            rp_progress_put_left(p->left_ms / 1e3, to);
        return;
    }
    rp_buf_printf(to, "%zu of at most %zu", p->evaluated, p->most);
    if (left && p->left_ms >= 0)
        rp_progress_put_left(p->left_ms / 1e3, to);
    if (p->best) {
        rp_buf_printf(
            to, ": %s, the best so far: ",
            rp_unit_one(RP_UNIT_TIME, p->best->runtime_ms * 1e6, rp_locale_is_utf8()).text);
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

/** What is behind the words on the left: further lines are below it. */
enum { HANG = 7 };

static void put_line(const struct rp_page *page, enum rp_ink ink, const struct rp_buf *line)
{
    page->out->failed |= line->failed;
    rp_page_words(page, ink, 0, HANG, "%s", rp_buf_text(line));
}

static void put_finalist(const struct rp_page *page, enum rp_ink ink, const char *title,
                         const json_t *config)
{
    const json_t *interval = json_object_get(config, "interval_ms");
    const double low = 1e6 * json_number_value(json_array_get(interval, 0)),
                 high = 1e6 * json_number_value(json_array_get(interval, 1)),
                 runtime = 1e6 * number(config, "runtime_ms");
    struct rp_unit_span span = {0};
    rp_autobuf line = {0};
    struct rp_unit unit;

    rp_unit_span_add(&span, runtime);
    if (high > low)
        rp_unit_span_add_both(&span, low, high);
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);

    rp_buf_printf(&line, "%-7s", title);
    if (json_is_null(json_object_get(config, "runtime_ms")))
        rp_buf_puts(&line, "not run");
    else
        rp_buf_printf(&line, "%s %s", rp_unit_number(unit, runtime).text, unit.name);
    if (high > low)
        rp_buf_printf(&line, " (%s to %s with %.0f %%)", rp_unit_number(unit, low).text,
                      rp_unit_number(unit, high).text, 100 * number(config, "interval_confidence"));
    put_values(json_object_get(config, "parameters"), &line);
    put_line(page, ink, &line);
}

/** Why there is no best one: the first failure tells most. */
static void put_none(const struct rp_page *page, const json_t *result)
{
    const json_t *first = json_array_get(json_object_get(result, "history"), 0);
    const char *ended = json_string_value(json_object_get(result, "ended_by"));
    const char *reason = json_string_value(json_object_get(first, "reason"));
    const size_t lost = json_array_size(json_object_get(result, "failed_again"));
    rp_autobuf line = {0};

    rp_buf_puts(&line, "Best   ");
    if (strcmp(ended, "small_space") == 0)
        rp_buf_puts(&line,
                    "none: --max-fraction of so few configurations is less than one; a larger "
                    "one\nruns some of them");
    else if (lost)
        rp_buf_printf(&line, "none: the %zu fastest ones failed when they were run again", lost);
    else if (!first)
        rp_buf_puts(&line, "none: no configuration has come to its end");
    else {
        rp_buf_printf(&line, "none: no configuration works; the first one: %s%s",
                      json_string_value(json_object_get(first, "outcome")), reason ? ": " : "");
        if (reason)
            put_plain(reason, MOST_REASON, &line);
    }
    put_line(page, RP_INK_RED, &line);
}

static void put_best(const struct rp_page *page, const json_t *result)
{
    const json_t *best = json_object_get(result, "best_config"), *tie;
    const size_t lost = json_array_size(json_object_get(result, "failed_again"));
    size_t i;

    if (!json_is_object(best)) {
        put_none(page, result);
        return;
    }
    put_finalist(page, RP_INK_GREEN, "Best", best);
    json_array_foreach(json_object_get(result, "ties"), i, tie)
        put_finalist(page, RP_INK_PLAIN, "Tied", tie);
    if (lost)
        rp_page_words(page, RP_INK_YELLOW, 0, HANG,
                      "Lost   %zu that seemed as fast failed when run again", lost);
    if (!json_is_true(json_object_get(result, "confirmed")))
        rp_page_words(page, RP_INK_YELLOW, HANG, 0, "not run again to confirm it");
}

static void put_searched(const struct rp_page *page, const json_t *result)
{
    const json_t *failures = json_object_get(result, "failures"), *phase;
    const long long size = count(result, "search_space_size");
    const char *name, *between = "; ";
    rp_autobuf line = {0};
    json_t *value;
    size_t i;

    rp_buf_printf(
        &line, "Search %lld of %lld configurations (%.3g %%):", count(result, "evaluated_configs"),
        size, 100 * number(result, "evaluated_configs") / (double)size);
    json_array_foreach(json_object_get(result, "phases"), i, phase) rp_buf_printf(
        &line, "%s %s %lld", i ? "," : "", json_string_value(json_object_get(phase, "name")),
        count(phase, "configurations"));
    json_object_foreach((json_t *)failures, name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        rp_buf_printf(&line, "%s%lld %s", between, (long long)json_integer_value(value), name);
        between = ", ";
    }
    rp_buf_printf(&line, "; ended by %s", json_string_value(json_object_get(result, "ended_by")));
    put_line(page, RP_INK_PLAIN, &line);
}

static void put_fit(const struct rp_page *page, const json_t *model)
{
    if (json_is_null(json_object_get(model, "r2"))) {
        if (count(model, "samples") >= 10)
            rp_page_words(page, RP_INK_PLAIN, 0, HANG,
                          "Model  none: all that ran took the same time");
        else
            rp_page_words(page, RP_INK_PLAIN, 0, HANG,
                          "Model  too few configurations ran (%lld) to say anything of it",
                          count(model, "samples"));
        return;
    }
    rp_page_words(page, RP_INK_PLAIN, 0, HANG,
                  "Model  of runs it had not seen: R2 %.3f, rank correlation %.3f, %.0f %% within "
                  "its 90 %% intervals\nexpects %.2g %% from the best one that was not run",
                  number(model, "r2"), number(model, "rank_correlation"),
                  100 * number(model, "interval_coverage"),
                  100 * number(model, "expected_gain_left"));
}

static void put_model(const struct rp_page *page, const json_t *result)
{
    const char *ended = json_string_value(json_object_get(result, "ended_by"));

    if (count(result, "search_space_size") == 1) {
        rp_page_words(page, RP_INK_PLAIN, 0, HANG, "Model  none: there is nothing to choose from");
        return;
    }
    put_fit(page, json_object_get(result, "model"));
    if (!json_is_string(json_object_get(result, "warning")) ||
        !json_is_object(json_object_get(result, "best_config")))
        return;
    rp_page_words(page, RP_INK_YELLOW, HANG, 0,
                  "low_model_confidence: there may be much faster ones%s",
                  strcmp(ended, "max_fraction") == 0 &&
                          count(result, "max_configs") + 1 < count(result, "search_space_size")
                      ? "; a larger --max-fraction finds more"
                      : "");
}

static void put_drift(const struct rp_page *page, const json_t *drift)
{
    const char *reason = json_string_value(json_object_get(drift, "reason"));
    rp_autobuf line = {0};

    if (json_is_true(json_object_get(drift, "more_than_noise")))
        rp_page_words(page, RP_INK_YELLOW, 0, HANG,
                      "Drift  the best one changed by %.1f %% during the search: clocks, heat or "
                      "other programs",
                      100 * number(drift, "largest_change"));
    if (count(drift, "failed") == 0)
        return;
    rp_buf_printf(&line, "Drift  run again during the search, the best one failed %lld times%s",
                  count(drift, "failed"), reason ? "; first: " : "");
    if (reason)
        put_plain(reason, MOST_REASON, &line);
    put_line(page, RP_INK_YELLOW, &line);
}

void rp_autotune_put_text(const json_t *result, struct rp_term_style style, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, style);
    const char *device = json_string_value(json_object_get(result, "device"));

    if (strcmp(device, "recorded") == 0)
        rp_page_words(&page, RP_INK_YELLOW, 0, HANG, "SIMULATION: recorded times, nothing was run");
    else if (strcmp(device, "software") == 0 &&
             strcmp(json_string_value(json_object_get(result, "objective")), "dispatch") == 0)
        rp_page_words(&page, RP_INK_YELLOW, 0, HANG,
                      "SOFTWARE DEVICE: modelled time, not hardware time");
    put_best(&page, result);
    put_searched(&page, result);
    put_model(&page, result);
    put_drift(&page, json_object_get(result, "drift"));
}

void rp_autotune_put_runtime(const json_t *result, struct rp_buf *to)
{
    const json_t *best = json_object_get(result, "best_config");

    if (json_is_number(json_object_get(best, "runtime_ms")))
        rp_buf_printf(to, "%.9g\n", number(best, "runtime_ms"));
}
