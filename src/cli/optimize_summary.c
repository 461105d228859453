#include "cli/optimize_summary.h"

#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "optimize/session.h"

enum { MOST_NOT_TRIED = 4 }; /* that are named each; with the same reason none is but the first */

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

static void add_tried(const json_t *kernel, struct rp_buf *ret)
{
    const json_t *bound = json_object_get(kernel, "end_to_end_bound"), *attempt;
    const char *stop = text_of(kernel, "stop");
    size_t i;

    rp_buf_printf(ret, "  %s\n", text_of(kernel, "name"));
    if (json_is_number(bound))
        rp_buf_printf(ret, "    it could make the program %.4g times as fast at most\n",
                      json_number_value(bound));
    json_array_foreach(json_object_get(kernel, "attempts"), i, attempt)
        rp_buf_printf(ret, "    %s: %s: %s\n", text_of(attempt, "title"),
                      text_of(attempt, "outcome"), text_of(attempt, "reason"));
    if (stop)
        rp_buf_printf(ret, "    %s: %s\n", i ? "goes no further" : "not tried", stop);
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

static void add_left_out(const json_t *kernels, struct rp_buf *ret)
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
            rp_buf_printf(ret, "  %zu others\n    not tried: %s\n", same, stop);
        else
            rp_buf_printf(ret, "  %s\n    not tried: %s\n", text_of(kernel, "name"), stop);
    }
    if (others)
        rp_buf_printf(ret, "  %zu others\n    not tried: optimize.json says why\n", others);
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
static void add_nothing(const json_t *json, struct rp_buf *ret)
{
    const char *ended = text_of(json, "ended_by");

    if (strcmp(ended, "dry-run") == 0)
        rp_buf_printf(ret, "Dry run: %zu candidates built, nothing measured.\n",
                      count_built(json_object_get(json, "rounds")));
    else if (strcmp(ended, "nothing left") == 0 || strcmp(ended, "max-iters") == 0)
        rp_buf_puts(ret, "Nothing was worth accepting.\n");
    else
        rp_buf_puts(ret, "Nothing was accepted so far.\n");
}

static bool same_place(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "kernel"), text_of(b, "kernel")) == 0 &&
           strcmp(text_of(a, "reason"), text_of(b, "reason")) == 0 &&
           json_equal(json_object_get(a, "geometries"), json_object_get(b, "geometries"));
}

/** Kinds that were left out on the same geometries for the same reason are one line. */
static void add_not_tried(const json_t *change, struct rp_buf *ret)
{
    const json_t *list = json_object_get(change, "not_tried"), *entry;
    size_t i;

    if (json_array_size(list))
        rp_buf_printf(ret, "%s: not compared with other inputs of these kinds\n",
                      text_of(change, "title"));
    json_array_foreach(list, i, entry)
    {
        const size_t geometries = json_array_size(json_object_get(entry, "geometries"));
        bool told = false;

        for (size_t j = 0; j < i && !told; j++)
            told = same_place(json_array_get(list, j), entry);
        if (told)
            continue;
        rp_buf_printf(ret, "  %s", text_of(entry, "inputs"));
        for (size_t j = i + 1; j < json_array_size(list); j++)
            if (same_place(json_array_get(list, j), entry))
                rp_buf_printf(ret, ", %s", text_of(json_array_get(list, j), "inputs"));
        rp_buf_printf(ret, " (%zu %s", geometries, geometries == 1 ? "geometry" : "geometries");
        if (strcmp(text_of(entry, "kernel"), text_of(change, "kernel")) != 0)
            rp_buf_printf(ret, " of %s", text_of(entry, "kernel"));
        rp_buf_printf(ret, "): %s\n", text_of(entry, "reason"));
    }
}

static void add_accepted(const struct rp_session_result *result, struct rp_buf *ret)
{
    const json_t *program = json_object_get(result->json, "program"), *change;
    size_t i;

    rp_buf_printf(ret, "%zu accepted", result->accepted);
    if (json_is_object(program)) {
        const double low = json_number_value(json_object_get(program, "low"));
        const double high = json_number_value(json_object_get(program, "high"));

        rp_buf_printf(ret,
                      ": all kernels together take %.6g ms before, %.6g ms now, %.4g times as fast",
                      json_number_value(json_object_get(program, "before_ms")),
                      json_number_value(json_object_get(program, "after_ms")),
                      json_number_value(json_object_get(program, "speedup")));
        if (low < high)
            rp_buf_printf(ret, " (%.4g to %.4g)", low, high);
    }
    rp_buf_puts(ret, "\n");
    json_array_foreach(json_object_get(result->json, "accepted"), i, change)
        add_not_tried(change, ret);
    if (result->source_path)
        rp_buf_printf(ret, "%s\n%s\n", result->source_path, result->patch_path);
}

/** Why there may be more to find. */
static void add_end(const json_t *json, struct rp_buf *ret)
{
    static const struct {
        const char *word, *text;
    } ends[] = {
        {"max-iters", "--max-iters ended the search: with more there may be more to find.\n"},
        {"max-rounds", "--max-rounds ended the search: with more there may be more to find.\n"},
        {"budget", "The time of --budget was over: --resume with more goes on.\n"},
    };
    const char *ended = text_of(json, "ended_by");

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(ended, ends[i].word) == 0)
            rp_buf_puts(ret, ends[i].text);
}

void rp_optimize_summary(const struct rp_session_result *result, const char *source,
                         struct rp_buf *ret)
{
    const char *judged = text_of(result->json, "output_judged_by");
    const json_t *round, *kernel;
    size_t i, j;

    if (json_is_true(json_object_get(result->json, "times_modelled")))
        rp_buf_puts(ret, "SOFTWARE DEVICE: modelled time, not hardware time\n");
    if (judged && strcmp(judged, "none") == 0)
        rp_buf_puts(ret, "WARNING: the program prints nothing, and there is no --check: its own "
                         "results are not compared\n");
    json_array_foreach(json_object_get(result->json, "rounds"), i, round)
    {
        const json_t *kernels = json_object_get(round, "kernels");

        rp_buf_printf(ret, "Round %zu\n", i + 1);
        json_array_foreach(kernels, j, kernel)
        {
            if (!was_left_out(kernel))
                add_tried(kernel, ret);
        }
        add_left_out(kernels, ret);
    }
    if (result->accepted)
        add_accepted(result, ret);
    else
        add_nothing(result->json, ret);
    add_end(result->json, ret);
    if (result->backup_path)
        rp_buf_printf(ret,
                      result->was_applied
                          ? "%s is the accepted one already; %s is what it was\n"
                          : "%s is replaced; %s is what it was: build the program anew\n",
                      source, result->backup_path);
}
