#include "cli/optimize_summary.h"

#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "experiment/verdict.h"
#include "optimize/session.h"
#include "report/report_text.h"

enum {
    MOST_NOT_TRIED = 4, /* that are named each; with the same reason none is but the first */
    KERNEL = 2,         /* columns: what is said of a round, and of a kernel of it */
    OF_KERNEL = 4,
    HANG = 2, /* further lines of the same */
};

static const char *text_of(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

/** A kernel that the ranking left out, or for which there was no time. */
static bool was_left_out(const json_t *kernel)
{
    return text_of(kernel, "stop") && !json_is_true(json_object_get(kernel, "failed")) &&
           !json_array_size(json_object_get(kernel, "attempts")) &&
           !json_object_get(kernel, "geometries");
}

/** What was found wrong may be a mistake of the proposer, or of this suite: that is looked for. */
static enum rp_ink ink_of(const char *outcome)
{
    switch (rp_outcome_of(outcome)) {
    case RP_OUTCOME_ACCEPTED:
        return RP_INK_GREEN;
    case RP_OUTCOME_WRONG:
    case RP_OUTCOME_PROGRAM_WRONG:
    case RP_OUTCOME_IMPOSSIBLE:
        return RP_INK_RED;
    default:
        return RP_INK_PLAIN;
    }
}

static void add_tried(const struct rp_page *page, const json_t *kernel)
{
    const json_t *bound = json_object_get(kernel, "end_to_end_bound"), *attempt;
    const char *stop = text_of(kernel, "stop");
    size_t i;

    rp_page_words(page, RP_INK_BOLD, KERNEL, HANG, "%s", text_of(kernel, "name"));
    if (json_is_number(bound))
        rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG,
                      "it could make the program %.4g times as fast at most",
                      json_number_value(bound));
    json_array_foreach(json_object_get(kernel, "attempts"), i, attempt) rp_page_words(
        page, ink_of(text_of(attempt, "outcome")), OF_KERNEL, HANG, "%s: %s: %s",
        text_of(attempt, "title"), text_of(attempt, "outcome"), text_of(attempt, "reason"));
    if (stop)
        rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG, "%s: %s",
                      i ? "goes no further" : "not tried", stop);
}

/** How many kernels before this one, and with it, were left out for the same reason. */
static size_t same_reason(const json_t *kernels, size_t end, const char *stop)
{
    size_t count = 0;

    for (size_t i = 0; i < end; i++) {
        const json_t *kernel = json_array_get(kernels, i);

        count += was_left_out(kernel) && strcmp(text_of(kernel, "stop"), stop) == 0;
    }
    return count;
}

static void add_others(const struct rp_page *page, size_t count, const char *why)
{
    rp_page_words(page, RP_INK_PLAIN, KERNEL, HANG, "%zu others", count);
    rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG, "not tried: %s", why);
}

static void add_one(const struct rp_page *page, const char *name, const char *why)
{
    rp_page_words(page, RP_INK_BOLD, KERNEL, HANG, "%s", name);
    rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG, "not tried: %s", why);
}

static void add_left_out(const struct rp_page *page, const json_t *kernels)
{
    const json_t *kernel;
    size_t i, reasons = 0, others = 0;

    json_array_foreach(kernels, i, kernel)
    {
        const char *stop = text_of(kernel, "stop");
        size_t same;

        if (!was_left_out(kernel) || same_reason(kernels, i, stop))
            continue;
        same = same_reason(kernels, json_array_size(kernels), stop);
        if (reasons++ >= MOST_NOT_TRIED)
            others += same;
        else if (same > 1)
            add_others(page, same, stop);
        else
            add_one(page, text_of(kernel, "name"), stop);
    }
    if (others)
        add_others(page, others, "optimize.json says why");
}

static size_t count_built(const json_t *rounds)
{
    const json_t *round, *kernel, *attempt;
    size_t i, j, k, count = 0;

    json_array_foreach(rounds, i, round)
        json_array_foreach(json_object_get(round, "kernels"), j, kernel)
            json_array_foreach(json_object_get(kernel, "attempts"), k, attempt) count +=
        json_object_get(attempt, "resources_after") != NULL;
    return count;
}

/** Nothing was accepted: what that means depends on what ended the session. */
static void add_nothing(const struct rp_page *page, const json_t *json)
{
    const char *ended = text_of(json, "ended_by");

    if (strcmp(ended, "dry-run") == 0)
        rp_page_words(page, RP_INK_BOLD, 0, HANG,
                      "Dry run: %zu candidates built, nothing measured.",
                      count_built(json_object_get(json, "rounds")));
    else if (strcmp(ended, "nothing left") == 0 || strcmp(ended, "max-iters") == 0)
        rp_page_words(page, RP_INK_BOLD, 0, HANG, "Nothing was worth accepting.");
    else
        rp_page_words(page, RP_INK_BOLD, 0, HANG, "Nothing was accepted so far.");
}

static bool same_place(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "kernel"), text_of(b, "kernel")) == 0 &&
           strcmp(text_of(a, "reason"), text_of(b, "reason")) == 0 &&
           json_equal(json_object_get(a, "geometries"), json_object_get(b, "geometries"));
}

/** The kinds of @p list from @p i on that were left out where, and why, that one was. */
static void add_kinds(const struct rp_page *page, const json_t *change, const json_t *list,
                      size_t i)
{
    const json_t *entry = json_array_get(list, i);
    const size_t geometries = json_array_size(json_object_get(entry, "geometries"));
    rp_autobuf line = {0};

    rp_buf_puts(&line, text_of(entry, "inputs"));
    for (size_t j = i + 1; j < json_array_size(list); j++)
        if (same_place(json_array_get(list, j), entry))
            rp_buf_printf(&line, ", %s", text_of(json_array_get(list, j), "inputs"));
    rp_buf_printf(&line, " (%zu %s", geometries, geometries == 1 ? "geometry" : "geometries");
    if (strcmp(text_of(entry, "kernel"), text_of(change, "kernel")) != 0)
        rp_buf_printf(&line, " of %s", text_of(entry, "kernel"));
    rp_buf_printf(&line, "): %s", text_of(entry, "reason"));
    page->out->failed |= line.failed;
    rp_page_words(page, RP_INK_PLAIN, KERNEL, HANG, "%s", rp_buf_text(&line));
}

/** Kinds that were left out on the same geometries for the same reason are one line. */
static void add_not_tried(const struct rp_page *page, const json_t *change)
{
    const json_t *list = json_object_get(change, "not_tried"), *entry;
    size_t i;

    if (json_array_size(list))
        rp_page_words(page, RP_INK_YELLOW, 0, HANG,
                      "%s: not compared with other inputs of these kinds",
                      text_of(change, "title"));
    json_array_foreach(list, i, entry)
    {
        bool told = false;

        for (size_t j = 0; j < i && !told; j++)
            told = same_place(json_array_get(list, j), entry);
        if (!told)
            add_kinds(page, change, list, i);
    }
}

static void add_accepted(const struct rp_page *page, const struct rp_session_result *result)
{
    const json_t *program = json_object_get(result->json, "program"), *change;
    rp_autobuf line = {0};
    size_t i;

    rp_buf_printf(&line, "%zu accepted", result->accepted);
    if (json_is_object(program)) {
        const double low = json_number_value(json_object_get(program, "low"));
        const double high = json_number_value(json_object_get(program, "high"));
        const double before = 1e6 * json_number_value(json_object_get(program, "before_ms"));
        const double after = 1e6 * json_number_value(json_object_get(program, "after_ms"));
        struct rp_unit_span span = {0};
        struct rp_unit unit;

        rp_unit_span_add_both(&span, before, after);
        unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
        rp_buf_printf(
            &line, ": all kernels together take %s %s before, %s %s now, %.4g times as fast",
            rp_unit_number(unit, before).text, unit.name, rp_unit_number(unit, after).text,
            unit.name, json_number_value(json_object_get(program, "speedup")));
        if (low < high)
            rp_buf_printf(&line, " (%.4g to %.4g)", low, high);
    }
    page->out->failed |= line.failed;
    rp_page_words(page, RP_INK_GREEN, 0, HANG, "%s", rp_buf_text(&line));
    json_array_foreach(json_object_get(result->json, "accepted"), i, change)
        add_not_tried(page, change);
    if (result->source_path) {
        rp_page_words(page, RP_INK_PLAIN, 0, HANG, "%s", result->source_path);
        rp_page_words(page, RP_INK_PLAIN, 0, HANG, "%s", result->patch_path);
    }
}

/** Why there may be more to find. */
static void add_end(const struct rp_page *page, const json_t *json)
{
    static const struct {
        const char *word, *text;
    } ends[] = {
        {"max-iters", "--max-iters ended the search: with more there may be more to find."},
        {"max-rounds", "--max-rounds ended the search: with more there may be more to find."},
        {"budget", "The time of --budget was over: --resume with more goes on."},
    };
    const char *ended = text_of(json, "ended_by");

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(ended, ends[i].word) == 0)
            rp_page_words(page, RP_INK_PLAIN, 0, HANG, "%s", ends[i].text);
}

static void add_round(const struct rp_page *page, const json_t *round, size_t number)
{
    const json_t *kernels = json_object_get(round, "kernels"), *kernel;
    size_t i;

    rp_page_words(page, RP_INK_BOLD, 0, HANG, "Round %zu", number);
    json_array_foreach(kernels, i, kernel)
    {
        if (!was_left_out(kernel))
            add_tried(page, kernel);
    }
    add_left_out(page, kernels);
}

void rp_optimize_summary(const struct rp_session_result *result, const char *source,
                         struct rp_term_style style, struct rp_buf *ret)
{
    const struct rp_page page = rp_page_of_words(ret, style);
    const char *judged = text_of(result->json, "output_judged_by");
    const json_t *round;
    size_t i;

    if (json_is_true(json_object_get(result->json, "times_modelled")))
        rp_page_words(&page, RP_INK_YELLOW, 0, HANG,
                      "SOFTWARE DEVICE: modelled time, not hardware time");
    if (judged && strcmp(judged, "none") == 0)
        rp_page_words(&page, RP_INK_YELLOW, 0, HANG,
                      "WARNING: the program prints nothing, and there is no --check: its own "
                      "results are not compared");
    json_array_foreach(json_object_get(result->json, "rounds"), i, round)
        add_round(&page, round, i + 1);
    if (result->accepted)
        add_accepted(&page, result);
    else
        add_nothing(&page, result->json);
    add_end(&page, result->json);
    if (result->backup_path && result->was_applied)
        rp_page_words(&page, RP_INK_PLAIN, 0, HANG,
                      "%s is the accepted one already; %s is what it was", source,
                      result->backup_path);
    else if (result->backup_path)
        rp_page_words(&page, RP_INK_PLAIN, 0, HANG,
                      "%s is replaced; %s is what it was: build the program anew", source,
                      result->backup_path);
}
