#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/units.h"
#include "base/utf8.h"
#include "experiment/judge.h"
#include "optimize/session.h"
#include "replay/replay_protocol.h"
#include "report/report.h"
#include "tune/search.h"

enum {
    MOST_NOT_TRIED = 4, /**< that are named each; with the same reason none is but the first */
    KERNEL = 2,         /**< columns of the text about a round, and about a kernel of it */
    OF_KERNEL = 4,
    HANG = 2, /**< columns by which further lines of the same are indented */
};

static const char *text_of(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

/** Says whether the ranking left a kernel out, or there was no time for it. */
static bool was_left_out(const json_t *kernel)
{
    return text_of(kernel, "stop") && !json_is_true(json_object_get(kernel, "failed")) &&
           !json_array_size(json_object_get(kernel, "attempts")) &&
           !json_object_get(kernel, "geometries");
}

/** A wrong result may be a mistake of the proposer, or of this suite, so it is shown in red. */
static enum rp_ink ink_of(const char *outcome)
{
    switch (rp_outcome_of(outcome)) {
    case RP_OUTCOME_ACCEPTED:
        return RP_INK_GREEN;
    case RP_OUTCOME_WRONG:
    case RP_OUTCOME_UNSAFE:
    case RP_OUTCOME_PROGRAM_WRONG:
    case RP_OUTCOME_IMPOSSIBLE:
        return RP_INK_RED;
    default:
        return RP_INK_PLAIN;
    }
}

/** Names of all kernels of a session, in the order of its rounds. */
struct session_names {
    struct rp_short_names are; /**< none: they are told whole */
    size_t at;                 /**< of the kernel that comes next */
};

static const char *name_of(const struct session_names *names, size_t at, const json_t *kernel)
{
    return at < names->are.count ? names->are.at[at] : text_of(kernel, "name");
}

/** Makes short names. Without memory for them whole ones are as good. */
static void name_kernels(const json_t *rounds, struct session_names *ret)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree const char **names = NULL;
    const json_t *round, *kernel;
    size_t i, j, count = 0;

    *ret = (struct session_names){0};
    json_array_foreach(rounds, i, round) count +=
        json_array_size(json_object_get(round, "kernels"));
    names = calloc(count + 1, sizeof *names);
    count = 0;
    json_array_foreach(rounds, i, round)
        json_array_foreach(json_object_get(round, "kernels"), j, kernel) if (names) names[count++] =
            text_of(kernel, "name");
    if (names && rp_short_names_make(names, count, &ret->are, &err) < 0)
        ret->are = (struct rp_short_names){0};
}

static void add_tried(const struct rp_page *page, const json_t *kernel, const char *name)
{
    const json_t *bound = json_object_get(kernel, "end_to_end_bound"), *attempt;
    const char *stop = text_of(kernel, "stop");
    size_t i;

    rp_page_words(page, RP_INK_BOLD, KERNEL, HANG, "%s", name);
    if (json_is_number(bound))
        rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG,
                      "upper bound for the program with its copies: %s",
                      rp_speed_change(json_number_value(bound)).text);
    json_array_foreach(json_object_get(kernel, "attempts"), i, attempt) rp_page_words(
        page, ink_of(text_of(attempt, "outcome")), OF_KERNEL, HANG, "%s: %s: %s",
        text_of(attempt, "title"), text_of(attempt, "outcome"), text_of(attempt, "reason"));
    if (stop)
        rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG, "%s: %s",
                      i ? "goes no further" : "not tried", stop);
}

/** Counts the kernels up to this one that were left out for the same reason. */
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
    rp_page_words(page, RP_INK_PLAIN, KERNEL, HANG, "%zu other%s", count, rp_plural(count));
    rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG, "not tried: %s", why);
}

static void add_one(const struct rp_page *page, const char *name, const char *why)
{
    rp_page_words(page, RP_INK_BOLD, KERNEL, HANG, "%s", name);
    rp_page_words(page, RP_INK_PLAIN, OF_KERNEL, HANG, "not tried: %s", why);
}

static void add_left_out(const struct rp_page *page, const json_t *kernels,
                         const struct session_names *names)
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
            add_one(page, name_of(names, names->at + i, kernel), stop);
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

/** Nothing was accepted. What that means depends on what ended the session. */
static void add_nothing(const struct rp_page *page, const json_t *json)
{
    const char *ended = text_of(json, "ended_by");
    const size_t built = count_built(json_object_get(json, "rounds"));

    if (strcmp(ended, "dry-run") == 0)
        rp_page_words(page, RP_INK_BOLD, 0, HANG,
                      "Dry run: %zu candidate%s built, nothing measured.", built, rp_plural(built));
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

/** Adds the kinds of @p list from @p i on that were left out at the same place and for the same
 * reason as that one. */
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
    rp_page_words(page, RP_INK_PLAIN, KERNEL, HANG, "%s", rp_buf_text(&line));
}

/** Kinds that were left out on the same geometries for the same reason share one line. */
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
    const json_t *program = json_object_get(result->json, "program");
    rp_autobuf line = {0};

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
        rp_buf_printf(&line, ": all kernels together are %s, %s %s before, %s %s now",
                      rp_speed_change(json_number_value(json_object_get(program, "speedup"))).text,
                      rp_unit_number(unit, before).text, unit.name,
                      rp_unit_number(unit, after).text, unit.name);
        if (low < high)
            rp_buf_printf(&line, " (%s)", rp_speed_range(low, high).text);
    }
    rp_page_words(page, RP_INK_GREEN, 0, HANG, "%s", rp_buf_text(&line));
}

/** Adds what an accepted change was not compared on, and where it is. */
static void add_changes(const struct rp_page *page, const struct rp_session_result *result)
{
    const json_t *change;
    size_t i;

    json_array_foreach(json_object_get(result->json, "accepted"), i, change)
        add_not_tried(page, change);
    if (result->source_path) {
        rp_page_words(page, RP_INK_PLAIN, 0, HANG, "%s", result->source_path);
        rp_page_words(page, RP_INK_PLAIN, 0, HANG, "%s", result->patch_path);
    }
}

/** Says why there may be more to find. */
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

static void add_round(const struct rp_page *page, const json_t *round, struct session_names *names,
                      size_t number)
{
    const json_t *kernels = json_object_get(round, "kernels"), *kernel;
    size_t i;

    rp_page_words(page, RP_INK_BOLD, 0, HANG, "Round %zu", number);
    json_array_foreach(kernels, i, kernel)
    {
        if (!was_left_out(kernel))
            add_tried(page, kernel, name_of(names, names->at + i, kernel));
    }
    add_left_out(page, kernels, names);
    names->at += json_array_size(kernels);
}

bool rp_optimize_goes_on(const char *ended_by)
{
    return strcmp(ended_by, "budget") == 0 || strcmp(ended_by, "interrupted") == 0 ||
           strcmp(ended_by, "proposer") == 0;
}

void rp_sandbox_text(const struct rp_page *page, const json_t *sandbox)
{
    static const char *const parts[][2] = {
        {"files", "files"}, {"network", "the network"}, {"processes", "processes of others"}};
    rp_autobuf text = {0};

    if (!sandbox)
        return;
    if (!json_is_true(json_object_get(sandbox, "asked"))) {
        rp_page_words(page, RP_INK_YELLOW, 0, 2, "sandbox: none (--no-sandbox)");
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *by = text_of(sandbox, parts[i][0]);

        rp_buf_printf(&text, "%s%s: %s", i ? "; " : "", parts[i][1],
                      by ? by : "NOT KEPT, this machine has no means for it");
    }
    if (json_is_false(json_object_get(sandbox, "programs")))
        rp_buf_puts(&text, "; programs are outside of it (without --writable)");
    rp_page_words(page, RP_INK_PLAIN, 0, 2, "sandbox: %s", rp_buf_text(&text));
}

void rp_optimize_summary(const struct rp_session_result *result, const char *source,
                         struct rp_term_style style, struct rp_buf *ret)
{
    const struct rp_page page = rp_page_of_words(ret, style);
    const char *judged = text_of(result->json, "output_judged_by");
    const char *timing = text_of(result->json, "timing"); /* Sessions of before do not say it. */
    struct session_names names = {0};
    const json_t *round;
    size_t i;

    if (!page.verbose)
        name_kernels(json_object_get(result->json, "rounds"), &names);

    if (result->accepted)
        add_accepted(&page, result);
    else
        add_nothing(&page, result->json);
    if (json_is_true(json_object_get(result->json, "times_modelled")))
        rp_page_words(&page, RP_INK_YELLOW, 0, HANG,
                      "SOFTWARE DEVICE: modelled time%s%s%s, not hardware time", timing ? " (" : "",
                      timing ? timing : "", timing ? ")" : "");
    if (judged && strcmp(judged, "none") == 0)
        rp_page_words(&page, RP_INK_YELLOW, 0, HANG,
                      "WARNING: the program prints nothing, and there is no --check: its own "
                      "results are not compared");
    rp_sandbox_text(&page, json_object_get(result->json, "sandbox"));
    json_array_foreach(json_object_get(result->json, "rounds"), i, round)
        add_round(&page, round, &names, i + 1);
    rp_short_names_free(&names.are);
    if (result->accepted)
        add_changes(&page, result);
    add_end(&page, result->json);
    if (result->backup_path && result->was_applied)
        rp_page_words(&page, RP_INK_PLAIN, 0, HANG,
                      "%s is the accepted one already; %s is what it was", source,
                      result->backup_path);
    else if (result->backup_path)
        rp_page_words(&page, RP_INK_PLAIN, 0, HANG,
                      "%s is replaced; %s is what it was: build the program anew", source,
                      result->backup_path);
    else if (result->accepted && result->source_path &&
             !rp_optimize_goes_on(text_of(result->json, "ended_by")))
        rp_page_next(&page, (const char *const[]){"diff", "-u", source, result->source_path, NULL});
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static long long count(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

enum { MOST_VALUE = 60, MOST_REASON = 400 /**< bytes that are printed */ };

/** Writes nothing that a terminal obeys, and cuts a long text. */
static void put_plain(const char *text, size_t most, struct rp_buf *to)
{
    const size_t bytes = strnlen(text, most + 1);
    size_t shown = bytes > most ? most : bytes;
    rp_autobuf head = {0};

    while (shown < bytes && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--; /* A character must not be cut in half. */
    rp_buf_add(&head, text, shown);
    rp_escape(to, rp_buf_text(&head));
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
        if (p->objectives && p->objectives->count && rp_objectives_time(p->objectives) != 0)
            rp_buf_printf(to, ": %s %.6g, the best so far: ", p->objectives->numbers[0].name,
                          rp_value_of_cost(&p->objectives->numbers[0], p->best->runtime_ms));
        else
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

/** Further lines begin below the text that is behind the words on the left. */
enum { AUTOTUNE_TEXT_HANG = 7 };

static void put_line(const struct rp_page *page, enum rp_ink ink, const struct rp_buf *line)
{
    rp_page_words(page, ink, 0, AUTOTUNE_TEXT_HANG, "%s", rp_buf_text(line));
}

/** Writes "GFLOPS 12.5, vgprs 64, ". Times in ms get their unit. */
static void put_numbers(const struct rp_page *page, const json_t *objectives, const json_t *values,
                        struct rp_buf *to)
{
    const json_t *objective;
    size_t i;

    json_array_foreach(objectives, i, objective)
    {
        const char *name = json_string_value(json_object_get(objective, "name"));
        const char *unit = json_string_value(json_object_get(objective, "unit"));
        const double value = number(values, name);

        rp_buf_puts(to, i ? ", " : "");
        put_plain(name, MOST_VALUE, to);
        if (unit && strcmp(unit, "ms") == 0)
            rp_buf_printf(to, " %s", rp_unit_one(RP_UNIT_TIME, 1e6 * value, page->utf8).text);
        else
            rp_buf_printf(to, " %.6g%s%s", value, unit ? " " : "", unit ? unit : "");
    }
    rp_buf_puts(to, ";");
}

/** Says of a configuration how it is by all objectives. */
static void put_by_values(const struct rp_page *page, enum rp_ink ink, const char *title,
                          const json_t *objectives, const json_t *config)
{
    const json_t *interval = json_object_get(config, "interval");
    rp_autobuf line = {0};

    rp_buf_printf(&line, "%-7s", title);
    put_numbers(page, objectives, json_object_get(config, "values"), &line);
    put_values(json_object_get(config, "parameters"), &line);
    if (json_number_value(json_array_get(interval, 1)) >
        json_number_value(json_array_get(interval, 0)))
        rp_buf_printf(&line, " (%.6g to %.6g with %.0f %%)",
                      json_number_value(json_array_get(interval, 0)),
                      json_number_value(json_array_get(interval, 1)),
                      100 * number(config, "interval_confidence"));
    put_line(page, ink, &line);
}

/** Lists the names of the objectives: "time and vgprs". */
static void put_goals(const json_t *objectives, struct rp_buf *to)
{
    const json_t *objective;
    size_t i, goals = 0, at = 0;

    json_array_foreach(objectives, i, objective) goals +=
        json_is_string(json_object_get(objective, "goal"));
    json_array_foreach(objectives, i, objective)
    {
        if (!json_is_string(json_object_get(objective, "goal")))
            continue;
        at++;
        put_plain(json_string_value(json_object_get(objective, "name")), MOST_VALUE, to);
        rp_buf_puts(to, at == goals ? "" : at + 1 == goals ? " and " : ", ");
    }
}

/** The verdict of several objectives is who is beaten by nobody. */
static void put_front(const struct rp_page *page, const json_t *result)
{
    const json_t *front = json_object_get(result, "pareto_front"), *config;
    const json_t *objectives = json_object_get(result, "objectives");
    const long long evaluated = count(result, "evaluated_configs");
    const size_t size = json_array_size(front);
    rp_autobuf line = {0};
    size_t i;

    rp_buf_printf(&line,
                  "Front  %zu configuration%s of %lld evaluated: no other is better in one of ",
                  size, rp_plural(size), evaluated);
    put_goals(objectives, &line);
    rp_buf_puts(&line, " and worse in none");
    put_line(page, RP_INK_GREEN, &line);
    json_array_foreach(front, i, config) put_by_values(page, RP_INK_PLAIN, "", objectives, config);
    if (!json_is_true(json_object_get(result, "confirmed")))
        rp_page_words(page, RP_INK_YELLOW, AUTOTUNE_TEXT_HANG, 0,
                      "by medians of all their runs; small differences may be noise");
}

static void put_finalist(const struct rp_page *page, enum rp_ink ink, const char *title,
                         const json_t *objectives, const json_t *config)
{
    const json_t *interval = json_object_get(config, "interval_ms");
    const double low = 1e6 * json_number_value(json_array_get(interval, 0)),
                 high = 1e6 * json_number_value(json_array_get(interval, 1)),
                 runtime = 1e6 * number(config, "runtime_ms");
    struct rp_unit_span span = {0};
    rp_autobuf line = {0};
    struct rp_unit unit;

    if (json_is_object(json_object_get(config, "values")) &&
        (json_array_size(objectives) > 1 || json_is_null(json_object_get(config, "interval_ms")))) {
        put_by_values(page, ink, title, objectives, config);
        return;
    }
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

/** Says why there is no best one: the first failure tells most. */
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
    else if (lost == 1)
        rp_buf_puts(&line, "none: the fastest one failed when it was run again");
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
    const json_t *objectives = json_object_get(result, "objectives");
    const size_t lost = json_array_size(json_object_get(result, "failed_again"));
    size_t i;

    if (!json_is_object(best)) {
        put_none(page, result);
        return;
    }
    if (json_array_size(json_object_get(result, "pareto_front"))) {
        put_front(page, result);
        return;
    }
    put_finalist(page, RP_INK_GREEN, "Best", objectives, best);
    json_array_foreach(json_object_get(result, "ties"), i, tie)
        put_finalist(page, RP_INK_PLAIN, "Tied", objectives, tie);
    if (lost)
        rp_page_words(page, RP_INK_YELLOW, 0, AUTOTUNE_TEXT_HANG,
                      "Lost   %zu that seemed as fast failed when run again", lost);
    if (!json_is_true(json_object_get(result, "confirmed")))
        rp_page_words(page, RP_INK_YELLOW, AUTOTUNE_TEXT_HANG, 0, "not run again to confirm it");
}

static void put_searched(const struct rp_page *page, const json_t *result)
{
    const json_t *failures = json_object_get(result, "failures"), *phase;
    const long long size = count(result, "search_space_size");
    const char *ended = json_string_value(json_object_get(result, "ended_by"));
    const char *name, *between = "; ";
    rp_autobuf line = {0};
    json_t *value;
    size_t i;

    rp_buf_printf(&line, "Search %lld of %lld configurations (%.3g %%)",
                  count(result, "evaluated_configs"), size,
                  100 * number(result, "evaluated_configs") / (double)size);
    if (page->verbose)
        json_array_foreach(json_object_get(result, "phases"), i, phase) rp_buf_printf(
            &line, "%s %s %lld", i ? "," : ":", json_string_value(json_object_get(phase, "name")),
            count(phase, "configurations"));
    json_object_foreach((json_t *)failures, name, value)
    {
        if (json_integer_value(value) == 0)
            continue;
        rp_buf_printf(&line, "%s%lld %s", between, (long long)json_integer_value(value), name);
        between = ", ";
    }
    rp_buf_printf(&line, strcmp(ended, "interrupted") == 0 ? "; %s" : "; ended by %s", ended);
    put_line(page, RP_INK_PLAIN, &line);
}

static void put_fit(const struct rp_page *page, const json_t *model)
{
    if (json_is_null(json_object_get(model, "r2"))) {
        if (count(model, "samples") >= 10)
            rp_page_words(page, RP_INK_PLAIN, 0, AUTOTUNE_TEXT_HANG,
                          "Model  none: all that ran took the same time");
        else
            rp_page_words(page, RP_INK_PLAIN, 0, AUTOTUNE_TEXT_HANG,
                          "Model  too few configurations ran (%lld) to say anything of it",
                          count(model, "samples"));
        return;
    }
    if (!page->verbose) {
        rp_page_words(page, RP_INK_PLAIN, 0, AUTOTUNE_TEXT_HANG,
                      "Model  expects %.2g %% from the best one that was not run",
                      100 * number(model, "expected_gain_left"));
        return;
    }
    rp_page_words(page, RP_INK_PLAIN, 0, AUTOTUNE_TEXT_HANG,
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
        rp_page_words(page, RP_INK_PLAIN, 0, AUTOTUNE_TEXT_HANG,
                      "Model  none: there is nothing to choose from");
        return;
    }
    put_fit(page, json_object_get(result, "model"));
    if (!json_is_string(json_object_get(result, "warning")) ||
        !json_is_object(json_object_get(result, "best_config")))
        return;
    rp_page_words(page, RP_INK_YELLOW, AUTOTUNE_TEXT_HANG, 0,
                  "Low model confidence: faster configurations may exist%s",
                  strcmp(ended, "max_fraction") == 0 &&
                          count(result, "max_configs") + 1 < count(result, "search_space_size")
                      ? "; raise --max-fraction"
                      : "");
}

static void put_drift(const struct rp_page *page, const json_t *drift)
{
    const char *reason = json_string_value(json_object_get(drift, "reason"));
    rp_autobuf line = {0};

    if (json_is_true(json_object_get(drift, "more_than_noise")))
        rp_page_words(page, RP_INK_YELLOW, 0, AUTOTUNE_TEXT_HANG,
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

    put_best(&page, result);
    if (strcmp(device, "recorded") == 0)
        rp_page_words(&page, RP_INK_YELLOW, 0, AUTOTUNE_TEXT_HANG,
                      "SIMULATION: recorded times, nothing was run");
    else if (strcmp(device, "software") == 0 &&
             strcmp(json_string_value(json_object_get(result, "objective")), "dispatch") == 0)
        rp_page_words(&page, RP_INK_YELLOW, 0, AUTOTUNE_TEXT_HANG,
                      "SOFTWARE DEVICE: modelled time, not hardware time");
    put_searched(&page, result);
    put_model(&page, result);
    put_drift(&page, json_object_get(result, "drift"));
}

void rp_autotune_put_runtime(const json_t *result, struct rp_buf *to)
{
    const json_t *best = json_object_get(result, "best_config");

    const json_t *first = json_array_get(json_object_get(result, "objectives"), 0);
    const json_t *value =
        json_object_get(json_object_get(best, "values"),
                        first ? json_string_value(json_object_get(first, "name")) : "");

    value = value ? value : json_object_get(best, "runtime_ms");
    if (json_is_number(value))
        rp_buf_printf(to, "%.9g\n", json_number_value(value));
}

static enum rp_ink replay_text_ink_of(char letter)
{
    switch (letter) {
    case RP_REPLAY_GOOD:
        return RP_INK_GREEN;
    case RP_REPLAY_BAD:
        return RP_INK_RED;
    case RP_REPLAY_CARE:
        return RP_INK_YELLOW;
    case RP_REPLAY_BOLD:
        return RP_INK_BOLD;
    default:
        return RP_INK_PLAIN;
    }
}

const char *rp_replay_put_text(const char *lines, struct rp_term_style style, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, style);

    while (*lines) {
        const size_t length = strcspn(lines, "\n");
        const bool marked = lines[0] == RP_REPLAY_INK && length >= 2;

        if (marked && lines[1] == RP_REPLAY_OPEN)
            return lines + 2;
        if (length)
            rp_page_words(&page, marked ? replay_text_ink_of(lines[1]) : RP_INK_PLAIN, 0, HANG,
                          "%.*s", (int)(length - (marked ? 2 : 0)), lines + (marked ? 2 : 0));
        else
            rp_buf_puts(to, "\n");
        lines += length + (lines[length] == '\n');
    }
    return NULL;
}

int rp_replay_read_text(int fd, struct rp_buf *to, struct rp_err *err)
{
    char some[4096];
    ssize_t got;

    while ((got = pread(fd, some, sizeof some, (off_t)to->len)) > 0)
        rp_buf_add(to, some, (size_t)got);
    if (got < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read what the replay has printed");
    return 0;
}

struct sums {
    uint64_t bytes, nonzero_pages, changed_pages, changed_regions;
};

static struct sums add_up(const struct rp_capture_memory *memory, size_t count)
{
    struct sums sums = {0};

    for (size_t i = 0; i < count; i++) {
        sums.bytes += memory[i].region.bytes;
        sums.nonzero_pages += memory[i].nonzero_pages;
        sums.changed_pages += memory[i].changed_pages;
        sums.changed_regions += memory[i].changed_pages > 0;
    }
    return sums;
}

void rp_capture_line(const char *folder, const struct rp_capture *capture,
                     struct rp_term_style style, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, style);
    const struct rp_capture_facts *f = &rp_capture_contents(capture)->facts;
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    size_t count = rp_capture_contents(capture)->memory_count, refused;
    const struct rp_capture_memory *memory = rp_capture_contents(capture)->memory;
    const struct sums sums = add_up(memory, count);

    refused = rp_capture_contents(capture)->refusal_count;
    rp_page_words(&page, refused ? RP_INK_YELLOW : RP_INK_PLAIN, 0, 2,
                  "%s  %s  dispatch %" PRIu64 "  grid %ux%ux%u  %s in %zu regions%s", folder,
                  f->name, d->match, d->grid[0], d->grid[1], d->grid[2],
                  rp_unit_one(RP_UNIT_BYTES, (double)sums.bytes, style.utf8).text, count,
                  refused ? ", not all captured" : "");
}

/* --- inspect ------------------------------------------------------------------------------- */

/* The columns of the table are as wide as without a terminal, or as their contents. */
struct columns {
    int bytes, class, pages, changed;
    bool grain;
};

static int digits(uint64_t capture_text_number)
{
    int count = 1;

    for (; capture_text_number >= 10; capture_text_number /= 10)
        count++;
    return count;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static struct columns plan_columns(const struct rp_page *page,
                                   const struct rp_capture_memory *memory, size_t count)
{
    enum { FULL = 83, REST = 18 + 1 + 2 + 1 + 6 + 1 + 1, GRAIN = 7 };
    struct columns c = {sizeof "bytes" - 1, sizeof "class" - 1, sizeof "pages" - 1,
                        sizeof "changed" - 1, true};

    if (page->width >= FULL)
        return (struct columns){14, 8, 12, 12, true};
    for (size_t i = 0; i < count; i++) {
        c.bytes = larger(c.bytes, digits(memory[i].region.bytes));
        c.class = larger(c.class, (int)strlen(rp_memory_class_name(memory[i].region.memory_class)));
        c.pages = larger(c.pages, digits(memory[i].nonzero_pages));
        c.changed = larger(c.changed, digits(memory[i].changed_pages));
    }
    c.grain = REST + GRAIN + c.bytes + c.class + c.pages + c.changed <= (int)page->width;
    return c;
}

static const char *grain_of(const struct rp_snapshot_region *r)
{
    return r->flags & RP_MEMORY_FINE ? "fine" : r->flags & RP_MEMORY_COARSE ? "coarse" : "-";
}

static void put_regions(const struct rp_page *page, const struct rp_capture_memory *memory,
                        size_t count)
{
    const struct columns c = plan_columns(page, memory, count);
    const int grain =
        /* The width includes the space behind the column, and is 0 where the column is left out. */
        c.grain ? 7 : 0;

    rp_buf_puts(page->out, "\n");
    rp_page_line(page, RP_INK_DIM, 0, "%-18s %*s  %-*s %-6s %-*.*s%*s %*s", "base", c.bytes,
                 "bytes", c.class, "class", "where", grain, grain, "grain", c.pages, "pages",
                 c.changed, "changed");
    for (size_t i = 0; i < count; i++) {
        const struct rp_snapshot_region *r = &memory[i].region;

        rp_page_line(page, RP_INK_PLAIN, 0,
                     "0x%016" PRIx64 " %*" PRIu64 "  %-*s %-6s %-*.*s%*" PRIu64 " %*" PRIu64,
                     r->base, c.bytes, r->bytes, c.class, rp_memory_class_name(r->memory_class),
                     r->flags & RP_MEMORY_HOST ? "host" : "device", grain, grain, grain_of(r),
                     c.pages, memory[i].nonzero_pages, c.changed, memory[i].changed_pages);
    }
}

static void put_refusals(const struct rp_page *page, const struct rp_capture *capture)
{
    size_t count = rp_capture_contents(capture)->refusal_count;
    const struct rp_capture_refusal *refusals = rp_capture_contents(capture)->refusals;

    if (!count)
        return;
    rp_buf_puts(page->out, "\n");
    rp_page_words(page, RP_INK_YELLOW, 0, 2, "not captured:");
    for (size_t i = 0; i < count; i++)
        rp_page_words(page, RP_INK_PLAIN, 2, 2, "0x%016" PRIx64 " %" PRIu64 " bytes  %s: %s",
                      refusals[i].region.base, refusals[i].region.bytes,
                      rp_memory_class_name(refusals[i].region.memory_class), refusals[i].reason);
}

/* Further lines begin below the text that is behind the words on the left. */
enum { CAPTURE_TEXT_HANG = 11 };

static void put_dispatch(const struct rp_page *page, const char *folder,
                         const struct rp_capture_facts *f)
{
    const struct rp_snapshot_dispatch *d = &f->dispatch;

    rp_page_words(page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG, "capture    %s", folder);
    rp_page_words(page, RP_INK_BOLD, 0, CAPTURE_TEXT_HANG, "kernel     %s", f->name);
    rp_page_words(page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG, "symbol     %s", f->symbol);
    rp_page_words(page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG,
                  "dispatch   %" PRIu64 " of those that matched, %" PRIu64 " of the process",
                  d->match, d->dispatch_id);
    rp_page_words(page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG,
                  "grid       %u x %u x %u work-items, workgroups of %u x %u x %u", d->grid[0],
                  d->grid[1], d->grid[2], d->workgroup[0], d->workgroup[1], d->workgroup[2]);
    rp_page_words(page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG,
                  "memory     LDS %u B, scratch %u B per work-item, arguments %u B", d->group_bytes,
                  d->private_bytes, d->kernarg_bytes);
    rp_page_words(page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG,
                  "packet     barrier %s, acquire %s, release %s", f->barrier ? "yes" : "no",
                  f->acquire_scope, f->release_scope);
}

static void put_place(const struct rp_page *page, const struct rp_capture_facts *f)
{
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    rp_autobuf line = {0}, device = {0};

    rp_buf_printf(&device, " (software device, timing %s)", f->timing);
    rp_buf_printf(&line, "queue      %" PRIu32 " of the process", d->queue_index);
    if (d->stream != UINT32_MAX)
        rp_buf_printf(&line, ", HIP stream %" PRIu32, d->stream);
    if (d->gpu != UINT32_MAX)
        rp_buf_printf(&line, ", GPU %" PRIu32, d->gpu);
    rp_page_words(page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG, "%s", rp_buf_text(&line));
    rp_page_words(page, f->software ? RP_INK_YELLOW : RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG,
                  "GPU        %s %s%s", f->isa, f->product,
                  !f->software ? ""
                  : *f->timing ? rp_buf_text(&device)
                               : " (software device)");
}

void rp_capture_describe(const char *folder, const struct rp_capture *capture,
                         struct rp_term_style style, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, style);
    const struct rp_capture_facts *f = &rp_capture_contents(capture)->facts;
    size_t count = rp_capture_contents(capture)->memory_count;
    const struct rp_capture_memory *memory = rp_capture_contents(capture)->memory;
    const struct sums sums = add_up(memory, count);

    put_dispatch(&page, folder, f);
    put_place(&page, f);
    rp_page_words(&page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG,
                  "captured   %zu regions, %s; %" PRIu64 " pages are not zero, %" PRIu64
                  " are stored",
                  count, rp_unit_one(RP_UNIT_BYTES, (double)sums.bytes, style.utf8).text,
                  sums.nonzero_pages, rp_capture_contents(capture)->stored_pages);
    rp_page_words(&page, RP_INK_PLAIN, 0, CAPTURE_TEXT_HANG,
                  "changed    %" PRIu64 " pages in %" PRIu64 " regions", sums.changed_pages,
                  sums.changed_regions);
    put_regions(&page, memory, count);
    put_refusals(&page, capture);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void drop(json_t **json)
{
    json_decref(*json);
}

static json_t *capture_text_number(uint32_t value)
{
    return value == UINT32_MAX ? json_null() : json_integer(value);
}

static json_t *regions_json(const struct rp_capture_memory *memory, size_t count)
{
    json_t *regions = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            regions, json_pack("{s:o, s:I, s:s, s:s, s:I, s:I}", "base",
                               json_sprintf("0x%" PRIx64, memory[i].region.base), "bytes",
                               (json_int_t)memory[i].region.bytes, "class",
                               rp_memory_class_name(memory[i].region.memory_class), "location",
                               memory[i].region.flags & RP_MEMORY_HOST ? "host" : "device",
                               "nonzero_pages", (json_int_t)memory[i].nonzero_pages,
                               "changed_pages", (json_int_t)memory[i].changed_pages));
    return regions;
}

static json_t *refusals_json(const struct rp_capture *capture)
{
    size_t count = rp_capture_contents(capture)->refusal_count;
    const struct rp_capture_refusal *refusals = rp_capture_contents(capture)->refusals;
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              json_pack("{s:o, s:I, s:s, s:s}", "base",
                                        json_sprintf("0x%" PRIx64, refusals[i].region.base),
                                        "bytes", (json_int_t)refusals[i].region.bytes, "class",
                                        rp_memory_class_name(refusals[i].region.memory_class),
                                        "reason", refusals[i].reason));
    return list;
}

void rp_capture_describe_json(const char *folder, const struct rp_capture *capture,
                              struct rp_buf *to)
{
    const struct rp_capture_facts *f = &rp_capture_contents(capture)->facts;
    const struct rp_snapshot_dispatch *d = &f->dispatch;
    size_t count = rp_capture_contents(capture)->memory_count;
    const struct rp_capture_memory *memory = rp_capture_contents(capture)->memory;
    const struct sums sums = add_up(memory, count);
    rp_cleanup(drop) json_t *json = json_pack(
        "{s:s, s:o, s:{s:s, s:s}, s:{s:I, s:I, s:[III], s:[iii], s:I, s:I, s:I, s:i, s:o},"
        " s:{s:s, s:s, s:s, s:o, s:o},"
        " s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:o}",
        "schema_version", "1.0", "capture", rp_journal_string(folder, strlen(folder)), "kernel",
        "name", f->name, "symbol", f->symbol, "dispatch", "match", (json_int_t)d->match,
        "dispatch_id", (json_int_t)d->dispatch_id, "grid", (json_int_t)d->grid[0],
        (json_int_t)d->grid[1], (json_int_t)d->grid[2], "workgroup", d->workgroup[0],
        d->workgroup[1], d->workgroup[2], "group_bytes", (json_int_t)d->group_bytes,
        "private_bytes", (json_int_t)d->private_bytes, "kernarg_bytes",
        (json_int_t)d->kernarg_bytes, "queue", d->queue_index, "stream",
        capture_text_number(d->stream), "gpu", "isa", f->isa, "product", f->product, "device",
        f->software ? "software" : "gpu", "timing",
        *f->timing ? json_string(f->timing) : json_null(), "number", capture_text_number(d->gpu),
        "memory", "bytes", (json_int_t)sums.bytes, "nonzero_pages", (json_int_t)sums.nonzero_pages,
        "stored_pages", (json_int_t)rp_capture_contents(capture)->stored_pages, "changed_pages",
        (json_int_t)sums.changed_pages, "changed_regions", (json_int_t)sums.changed_regions,
        "regions", regions_json(memory, count), "refused", refusals_json(capture));
    rp_autofree char *text = json_dumps(json, JSON_INDENT(2) | JSON_ENSURE_ASCII);

    rp_buf_printf(to, "%s\n", text);
}
