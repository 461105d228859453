/* Makes the summary with which the text of an answer begins: at most three lines, in the words that
 * the command itself prints for people. They are made of what it printed as JSON, so that a model
 * reads the result before its evidence, and its evidence only where it wants to. */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/mcp.h"
#include "optimize/session.h"
#include "report/report.h"

enum {
    MOST_ANALYSIS_BYTES = 64 << 20,
    MOST_LINES = 3,
    MOST_NAME_BYTES = 160,     /**< of a kernel, a path and the like: the JSON has it whole */
    MOST_TEXT_BYTES = 1 << 10, /**< of a sentence */
    NEAR_PERCENT = 5,          /**< within which bench calls a constant the model's own */
};

static void drop(json_t **json)
{
    json_decref(*json);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *number = json_object_get(object, key);

    return json_is_number(number) ? json_number_value(number) : NAN;
}

static long long count_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static struct rp_unit_text time_text(double ns)
{
    return rp_unit_one(RP_UNIT_TIME, ns, true);
}

/** Says what times are that no GPU took. */
static void put_software(const char *model, struct rp_buf *to)
{
    const struct rp_page page = rp_page_of_words(to, (struct rp_term_style){.utf8 = true});

    rp_software_line(&page, model);
}

/** Says it of a result that names its device. */
static void put_modelled(const json_t *device, const char *model, struct rp_buf *to)
{
    const char *name = json_string_value(device);

    if (name && strcmp(name, "software") == 0)
        put_software(model, to);
}

static void put_timing(const json_t *object, struct rp_buf *to)
{
    const json_t *timing = json_object_get(object, "timing");

    put_modelled(json_object_get(object, "device"),
                 json_is_string(timing) ? json_string_value(timing) : text_of(timing, "model"), to);
}

/** Adds the first lines of a text. */
static void put_lines(const char *text, size_t most, struct rp_buf *to)
{
    for (size_t bytes; most-- && *text; text += bytes) {
        bytes = strcspn(text, "\n");
        bytes += text[bytes] == '\n';
        rp_buf_add(to, text, bytes);
    }
}

/* --- strings of others --------------------------------------------------------------------- */

/** Appends a text without its end where it is too long. */
static void put_cut(const char *text, size_t bytes, size_t most, struct rp_buf *to)
{
    size_t end = bytes;

    if (bytes > most)
        for (end = most; end && ((unsigned char)text[end] & 0xc0) == 0x80;)
            end--;
    rp_buf_add(to, text, end);
    rp_buf_puts(to, end < bytes ? "..." : "");
}

/** Appends a sentence, in which names stand between backquotes. */
static void put_sentence(const char *text, struct rp_buf *to)
{
    while (*text) {
        const size_t bytes = strcspn(text, "`");
        const char *end = text[bytes] ? strchr(text + bytes + 1, '`') : NULL;

        rp_buf_add(to, text, bytes + (text[bytes] == '`'));
        text += bytes + (text[bytes] == '`');
        if (end) {
            put_cut(text, (size_t)(end - text), MOST_NAME_BYTES, to);
            rp_buf_puts(to, "`");
            text = end + 1;
        }
    }
}

/** Keys of strings that are sentences of this suite's making. */
static bool is_sentence(const char *key)
{
    static const char *const keys[] = {"text", "sentence", "reason", "problem", "message"};

    for (size_t i = 0; key && i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/** Makes a line of a string that may be anybody's, so that no name looks like a verdict, or is all
 * that there is to read. */
static json_t *in_line(const char *text, const char *key)
{
    rp_autobuf escaped = {0}, named = {0}, line = {0};

    rp_escape(&escaped, text);
    if (is_sentence(key))
        put_sentence(rp_buf_text(&escaped), &named);
    else
        rp_buf_add(&named, rp_buf_text(&escaped), escaped.len);
    put_cut(rp_buf_text(&named), named.len, is_sentence(key) ? MOST_TEXT_BYTES : MOST_NAME_BYTES,
            &line);
    return json_string(rp_buf_text(&line));
}

/** Copies a result with strings that are fit for a line.
 * @param key of the value; NULL: of an array */
static json_t *copy_in_lines(const json_t *from, const char *key)
{
    json_t *to, *value;
    const char *name;
    size_t i;

    if (json_is_string(from))
        return in_line(json_string_value(from), key);
    if (json_is_array(from)) {
        to = json_array();
        json_array_foreach(from, i, value) json_array_append_new(to, copy_in_lines(value, key));
        return to;
    }
    if (!json_is_object(from))
        return json_deep_copy(from);
    to = json_object();
    json_object_foreach((json_t *)(uintptr_t)from, name, value)
    {
        rp_autobuf line = {0};

        rp_escape(&line, name);
        json_object_set_new(to, rp_buf_text(&line), copy_in_lines(value, name));
    }
    return to;
}

/* --- compare ------------------------------------------------------------------------------- */

static enum rp_versus_verdict verdict_named(const char *name)
{
    enum rp_versus_verdict verdict = RP_COMPARE_FASTER;

    while (verdict < RP_COMPARE_UNDECIDED &&
           (!name || strcmp(rp_versus_verdict_names[verdict], name)))
        verdict++;
    return verdict;
}

/** Says how many gates do not hold, and by how much the first of them. */
static void put_gates(const json_t *gates, struct rp_buf *to)
{
    const json_t *gate, *first = NULL;
    size_t i, failed = 0;

    json_array_foreach(gates, i, gate)
    {
        const char *result = text_of(gate, "result");

        if (!result || strcmp(result, "passed") == 0)
            continue;
        first = first ? first : gate;
        failed++;
    }
    if (!first)
        return;
    rp_buf_printf(to, "%zu of %zu gates %s not hold: %s: ", failed, json_array_size(gates),
                  failed == 1 ? "does" : "do", text_of(first, "gate"));
    if (json_is_number(json_object_get(first, "value")))
        rp_buf_printf(to, "%.6g (limit %.6g)", number_of(first, "value"),
                      number_of(first, "limit"));
    else
        rp_buf_puts(to, text_of(first, "result"));
    rp_buf_puts(to, "\n");
}

static void put_compared(const json_t *object, struct rp_buf *to)
{
    const json_t *list = json_object_get(object, "comparisons"), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        const json_t *whole = json_object_get(one, "whole"), *time = json_object_get(whole, "time");
        const json_t *side = json_object_get(one, "after");
        const char *by = text_of(side, "measurement");
        const struct rp_versus_side before = {
            .path = (char *)text_of(json_object_get(object, "baseline"), "path")};
        const struct rp_versus_side after = {
            .path = (char *)text_of(side, "path"),
            .wall = by && strcmp(by, "wallclock") == 0,
            .told = {.is = by && strcmp(by, "replay") == 0,
                     .wrong = json_is_true(json_object_get(whole, "different_output"))}};
        const struct rp_versus_found found = {
            .before = &before,
            .after = &after,
            .whole = {.verdict = verdict_named(text_of(time, "verdict")),
                      .ratio = number_of(time, "ratio"),
                      .low = number_of(time, "low"),
                      .high = number_of(time, "high"),
                      .bounded = json_is_number(json_object_get(time, "low")),
                      .reason = text_of(time, "reason")}};

        if (!before.path || !after.path || !time)
            continue;
        rp_versus_result_text(to, &found);
        rp_buf_puts(to, "\n");
        put_gates(json_object_get(one, "gates"), to);
    }
    put_timing(json_object_get(object, "baseline"), to);
}

/* --- profile and analyze ------------------------------------------------------------------- */

static void put_program(const json_t *analysis, struct rp_buf *to)
{
    const char *text = text_of(json_object_get(analysis, "program"), "text");

    if (text)
        rp_buf_printf(to, "%s\n", text);
}

/** Returns the folder of a profile that was asked for its verdict; NULL: it was not. The words of
 * the program itself, behind "--", are not the profile's. */
static const char *folder_of_verdict(const struct rp_mcp_command *command)
{
    static const char output[] = "--output=";
    const char *folder = ".rocpd_profile";
    bool asked = false;

    for (size_t i = 0; i < command->words && strcmp(command->argv[i], "--") != 0; i++) {
        const char *word = command->argv[i];

        asked |= strcmp(word, "--why") == 0 || strcmp(word, "--deep-analysis") == 0;
        if (strncmp(word, output, sizeof output - 1) == 0)
            folder = word + sizeof output - 1;
    }
    return asked ? folder : NULL;
}

/** The result of a profile does not have its verdict, but the folder that it has just made does. */
static void put_verdict_of_profile(const struct rp_mcp_command *command, struct rp_buf *to)
{
    const char *folder = folder_of_verdict(command);
    const char *below = command->directory && folder && folder[0] != '/' ? command->directory : ".";
    rp_autofree char *whole = folder ? rp_path_join(folder[0] == '/' ? "/" : below, folder) : NULL;
    rp_autofree char *file = whole ? rp_path_join(whole, "analysis.json") : NULL;
    rp_autofree char *text = file ? rp_read_text(file, MOST_ANALYSIS_BYTES) : NULL;
    rp_cleanup(drop) json_t *analysis = text ? json_loads(text, 0, NULL) : NULL;
    rp_cleanup(drop) json_t *lines = analysis ? copy_in_lines(analysis, NULL) : NULL;

    put_program(lines, to);
}

/** Says how long the program's kernels took, and which took most. */
static void put_runtime(const json_t *profile, struct rp_buf *to)
{
    const json_t *kernels = json_object_get(profile, "kernels"), *kernel, *first = NULL;
    const double ms = number_of(profile, "user_ms");
    size_t i, count = 0;
    long long calls = 0;

    json_array_foreach(kernels, i, kernel)
    {
        if (json_is_true(json_object_get(kernel, "runtime_internal")))
            continue;
        first = first ? first : kernel;
        calls += count_of(kernel, "calls");
        count++;
    }
    if (!first || isnan(ms))
        return;
    rp_buf_printf(to, "The program's kernels take %s in %lld launch%s of %zu kernel%s",
                  time_text(1e6 * ms).text, calls, calls == 1 ? "" : "es", count, rp_plural(count));
    if (text_of(first, "name"))
        rp_buf_printf(to, "; %s takes most: %s, %s %%", text_of(first, "name"),
                      time_text(1e6 * number_of(first, "total_ms")).text,
                      rp_number_fixed(100 * number_of(first, "share"), 1).text);
    rp_buf_puts(to, ".\n");
}

/** Says how long the process took, where nothing was traced. */
static void put_wall(const json_t *profile, struct rp_buf *to)
{
    const double ms = number_of(profile, "wall_ms");

    if (!isnan(ms))
        rp_buf_printf(to, "The whole process takes %s of wall clock.\n", time_text(1e6 * ms).text);
}

static void put_profiled(const struct rp_mcp_command *command, const json_t *profile,
                         struct rp_buf *to)
{
    const json_t *stability = json_object_get(profile, "stability");
    const size_t before = to->len;

    put_wall(profile, to);
    put_verdict_of_profile(command, to);
    if (to->len == before) {
        put_runtime(profile, to);
        if (count_of(stability, "runs") > 1 && text_of(stability, "classification"))
            rp_buf_printf(to, "Their time is %s: its CV over %lld runs is %s %%.\n",
                          text_of(stability, "classification"), count_of(stability, "runs"),
                          rp_number_fixed(100 * number_of(stability, "cv"), 1).text);
    }
    put_timing(profile, to);
}

/** Says of the kernels on which most of the end-to-end time depends what limits each. */
static void put_kernels(const json_t *kernels, struct rp_buf *to)
{
    const json_t *kernel;
    size_t i, said = 0;

    json_array_foreach(kernels, i, kernel)
    {
        const json_t *bottleneck = json_object_get(kernel, "bottleneck");
        const char *name = text_of(kernel, "name"), *what = text_of(bottleneck, "text");

        if (!name || !what || said == MOST_LINES)
            continue;
        rp_buf_printf(to, "%s(%zu) %s, %s: %s", said ? " " : "Kernels: ", said + 1, name,
                      time_text(number_of(kernel, "time_ns")).text, what);
        said++;
    }
    if (said)
        rp_buf_printf(to, said < json_array_size(kernels) ? "; and %zu more.\n" : ".\n",
                      json_array_size(kernels) - said);
}

static void put_graph(const json_t *dag, struct rp_buf *to)
{
    const json_t *symbols = json_object_get(json_object_get(dag, "critical_path"), "by_symbol");
    const json_t *first = json_array_get(symbols, 0);
    const double path_ns = number_of(dag, "critical_path_ns");

    if (isnan(path_ns))
        return;
    rp_buf_printf(to,
                  "The program takes %s end to end, its kernels %s in all; the critical path takes "
                  "%s",
                  time_text(number_of(dag, "makespan_ns")).text,
                  time_text(number_of(json_object_get(dag, "overlap"), "kernel_time_ns")).text,
                  time_text(path_ns).text);
    if (text_of(first, "name"))
        rp_buf_printf(to, ", most of it %s: %s, %s %%", text_of(first, "name"),
                      time_text(number_of(first, "ns")).text,
                      rp_number_fixed(100 * number_of(first, "weight"), 1).text);
    rp_buf_puts(to, ".\n");
}

/** Finds the program's own kernel that took most time; of the runtime's, which copy and fill, one
 * only where there is no other. */
static const json_t *first_kernel(const json_t *kernels)
{
    const json_t *kernel;
    size_t i;

    json_array_foreach(kernels, i, kernel)
    {
        const char *name = text_of(kernel, "name");

        if (name && strncmp(name, "__amd_rocclr_", 13) != 0)
            return kernel;
    }
    return json_array_get(kernels, 0);
}

static void put_roofline(const json_t *roofline, struct rp_buf *to)
{
    const json_t *first = first_kernel(json_object_get(roofline, "kernels"));
    const char *reason = text_of(roofline, "reason"), *bound = text_of(first, "bound");
    const size_t count = json_array_size(json_object_get(roofline, "kernels"));

    if (bound && text_of(first, "name"))
        rp_buf_printf(to, "%s (%s) is limited by %s, at %s %% of its peak; %zu kernel%s in all.\n",
                      text_of(first, "name"), time_text(number_of(first, "time_ns")).text, bound,
                      rp_number_fixed(100 * number_of(first, "bound_share"), 1).text, count,
                      rp_plural(count));
    else if (reason)
        rp_buf_printf(to, "No roofline: %s.\n", reason);
}

static void put_traces(const json_t *traces, struct rp_buf *to)
{
    const json_t *first = json_array_get(traces, 0);
    const char *kernel = text_of(first, "kernel"), *reason, *most = NULL;
    json_t *cycles;

    if (!kernel)
        return;
    json_object_foreach(json_object_get(first, "stall_reasons"), reason,
                        cycles) if (!most || json_integer_value(cycles) >
                                                 count_of(json_object_get(first, "stall_reasons"),
                                                          most)) most = reason;
    rp_buf_printf(
        to, "%s stalled %s %% of wave cycles", kernel,
        rp_number_fixed(100 * number_of(json_object_get(first, "sums"), "stall_fraction"), 1).text);
    rp_buf_printf(to, most ? ", most for %s.\n" : ".\n", most);
    put_modelled(json_object_get(first, "device"), NULL, to);
}

static void put_analyzed(const json_t *object, struct rp_buf *to)
{
    put_program(object, to);
    put_graph(object, to);
    if (json_object_get(object, "rules_version"))
        put_kernels(json_object_get(object, "kernels"), to);
    else
        put_roofline(object, to);
    put_traces(json_object_get(object, "thread_trace"), to);
    put_timing(object, to);
}

/* --- judge and replay ---------------------------------------------------------------------- */

static void put_judged(const json_t *judgement, struct rp_buf *to)
{
    const char *text = text_of(judgement, "sentence");

    if (text)
        rp_buf_printf(to, "%s\n", text);
    put_modelled(json_object_get(judgement, "device"),
                 text_of(json_object_get(judgement, "on"), "timing"), to);
}

/** Says which of two kernels is faster (replay compare). */
static void put_which(const json_t *object, const char *verdict, struct rp_buf *to)
{
    const json_t *ratio = json_object_get(object, "ratio");
    const char *reason = text_of(object, "reason");
    const double low = number_of(ratio, "low"), high = number_of(ratio, "high");

    if (strcmp(verdict, "different output") == 0)
        rp_buf_puts(to, "Different output; not timed");
    else if (strcmp(verdict, "undecided") == 0)
        rp_buf_puts(to, "Undecided whether B is faster or slower than A");
    else if (strcmp(verdict, "equal") == 0)
        rp_buf_puts(to, "No difference: B is as fast as A");
    else
        rp_buf_printf(to, "B is %s than A", rp_speed_change(number_of(ratio, "estimate")).text);
    if (reason)
        rp_buf_printf(to, ": %s", reason);
    else if (low < high)
        rp_buf_printf(to, " (%s with %.2f %% confidence)", rp_speed_range(low, high).text,
                      100 * number_of(ratio, "level"));
    rp_buf_puts(to, ".\n");
}

/** Says how long a captured kernel took. */
static void put_times(const json_t *object, const json_t *timing, struct rp_buf *to)
{
    const char *name = text_of(json_object_get(object, "kernel"), "name");
    const long long runs = count_of(json_object_get(object, "execution"), "iterations");

    if (!name)
        return;
    rp_buf_printf(to, "%s: %lld run%s, ", name, runs, rp_plural((uint64_t)runs));
    if (json_array_size(json_object_get(timing, "samples")))
        rp_buf_printf(to, "median %s, min %s, max %s.\n",
                      time_text(1e3 * number_of(timing, "median")).text,
                      time_text(1e3 * number_of(timing, "min")).text,
                      time_text(1e3 * number_of(timing, "max")).text);
    else
        rp_buf_puts(to, "not timed.\n");
}

/** Says whether memory was right: of another kernel, or as captured. */
static void put_memory(const json_t *object, struct rp_buf *to)
{
    const json_t *candidate = json_object_get(object, "candidate");
    const json_t *verify = json_object_get(object, "verify");
    const long long wrong = count_of(candidate, "wrong_runs");

    if (candidate && wrong)
        rp_buf_printf(to, "Memory is not right after %lld of %lld runs: %lld bytes wrong.\n", wrong,
                      count_of(candidate, "checked_runs"), count_of(candidate, "wrong_bytes"));
    else if (candidate)
        rp_buf_printf(to, "Memory is right after all %lld runs.\n",
                      count_of(candidate, "checked_runs"));
    else if (json_is_false(json_object_get(verify, "equal")))
        rp_buf_printf(to, "Memory after it is not as captured: %lld pages differ.\n",
                      count_of(verify, "different_pages"));
    else if (json_is_true(json_object_get(verify, "equal")))
        rp_buf_printf(to, "Memory after it is as captured: %lld bytes in %lld regions.\n",
                      count_of(verify, "bytes"), count_of(verify, "regions"));
}

static void put_replayed(const json_t *object, struct rp_buf *to)
{
    const json_t *environment = json_object_get(object, "environment");
    const json_t *available = json_object_get(object, "available");
    const char *verdict = text_of(object, "verdict"), *reason = text_of(object, "reason");

    if (verdict)
        put_which(object, verdict, to);
    if (json_object_get(object, "timing")) {
        put_times(object, json_object_get(object, "timing"), to);
        put_memory(object, to);
    }
    if (json_is_true(available))
        rp_buf_printf(to, "All %lld ranges can be had at their addresses.\n",
                      count_of(object, "ranges"));
    else if (json_is_false(available))
        rp_buf_printf(to, "Not all ranges can be had at their addresses%s%s.\n", reason ? ": " : "",
                      reason ? reason : "");
    put_modelled(json_object_get(environment, "device"), text_of(environment, "timing_model"), to);
}

/* --- ci ------------------------------------------------------------------------------------ */

/** Says how many gates hold, and of the first one that does not, what was found and where. */
static void put_held(const json_t *object, struct rp_buf *to)
{
    const json_t *gate, *first = NULL;
    const char *sentence = text_of(object, "sentence"), *verdict = text_of(object, "verdict");
    size_t i, open = 0;

    if (!sentence || !verdict)
        return;
    json_array_foreach(json_object_get(object, "gates"), i, gate)
    {
        const char *outcome = text_of(gate, "outcome");
        const bool fails = outcome && strcmp(outcome, "fails") == 0;

        if (!fails && (!outcome || strcmp(outcome, "undecided") != 0))
            continue;
        open++;
        if (!first || (fails && strcmp(text_of(first, "outcome"), "fails") != 0))
            first = gate;
    }
    rp_buf_printf(to, "%c%s: %s.\n", verdict[0] - 'a' + 'A', verdict + 1, sentence);
    if (first) {
        const char *program = text_of(first, "program"), *found = text_of(first, "sentence");
        const char *of = text_of(json_array_get(json_object_get(first, "notes"), 0), "text");

        rp_buf_printf(to, "%s: %s%s%s", program ? program : "build", found ? found : "-",
                      of ? ": " : "", of ? of : "");
        if (open > 1)
            rp_buf_printf(to, "; and %zu more", open - 1);
        rp_buf_puts(to, ".\n");
    }
    put_timing(object, to);
}

/* --- optimize and autotune ----------------------------------------------------------------- */

static void put_optimized(const json_t *object, struct rp_buf *to)
{
    const struct rp_session_result result = {
        .json = (json_t *)object, .accepted = json_array_size(json_object_get(object, "accepted"))};
    const char *source = text_of(object, "source");
    rp_autobuf text = {0};

    if (!source || !text_of(object, "ended_by"))
        return;
    rp_optimize_summary(&result, source, (struct rp_term_style){.utf8 = true}, &text);
    put_lines(rp_buf_text(&text), json_is_true(json_object_get(object, "times_modelled")) ? 2 : 1,
              to);
}

/** Says which configuration is fastest, where time alone is the objective.
 * @return the line that follows in the command's own text; NULL: that has all of it */
static const char *put_fastest(const json_t *object, const char *text, struct rp_buf *to)
{
    const json_t *best = json_object_get(object, "best_config");
    const double ms = number_of(best, "runtime_ms");
    const char *name, *rest = strchr(text, '\n');
    size_t count = 0;
    json_t *value;

    if (isnan(ms) || !rest || json_array_size(json_object_get(object, "objectives")))
        return NULL;
    json_object_foreach(json_object_get(best, "parameters"), name, value)
    {
        rp_autofree char *word = json_is_string(value) ? rp_strdup(json_string_value(value))
                                                       : json_dumps(value, JSON_ENCODE_ANY);

        rp_buf_printf(to, "%s%s=%s", count++ ? " " : "", name, word ? word : "?");
    }
    rp_buf_printf(to, "%s fastest: %s", count ? " is the" : "It is", time_text(1e6 * ms).text);
    for (rest++; *rest == ' ';) { /* What hangs below it there. */
        const char *more = rest + strspn(rest, " ");
        const size_t bytes = strcspn(more, "\n");

        rp_buf_printf(to, "; %.*s", (int)bytes, more);
        rest = more + bytes + (more[bytes] == '\n');
    }
    rp_buf_puts(to, ".\n");
    return rest;
}

static void put_tuned(const json_t *object, struct rp_buf *to)
{
    rp_autobuf text = {0}, lines = {0};
    const char *doubt, *rest;

    if (!text_of(object, "device") || !text_of(object, "ended_by") || !text_of(object, "objective"))
        return;
    rp_autotune_put_text(object, (struct rp_term_style){.utf8 = true}, &text);
    rest = put_fastest(object, rp_buf_text(&text), to);
    put_lines(rest ? rest : rp_buf_text(&text), MOST_LINES - (rest != NULL), &lines);
    for (size_t at = 0; at < lines.len; at++) { /* There it is a table. */
        if (rest && (!at || lines.data[at - 1] == '\n') &&
            strncmp(lines.data + at, "Search ", 7) == 0) {
            rp_buf_puts(to, "The search ran");
            at += strlen("Search") - 1;
        } else if (strncmp(lines.data + at, "  ", 2) != 0) {
            rp_buf_add(to, lines.data + at, 1);
        }
    }
    doubt = strstr(rp_buf_text(&text), "Low model confidence");
    if (doubt && !strstr(rp_buf_text(to), "Low model confidence")) {
        to->data[--to->len] = '\0';
        rp_buf_puts(to, ". ");
        put_lines(doubt, 1, to);
    }
}

/* --- history, bench and doctor ------------------------------------------------------------- */

/** Adds "reduce of ./app is 1.033x slower since commit 2f6a (result 13)". */
static void put_change(const json_t *series, struct rp_buf *to)
{
    const json_t *changes = json_object_get(series, "changes");
    const json_t *last = json_array_get(changes, json_array_size(changes) - 1);
    const char *kernel = text_of(series, "kernel"), *program = text_of(series, "program");

    rp_buf_printf(to, "%s of %s %s %s", kernel ? kernel : "All kernels",
                  program && *program ? program : "-", kernel ? "is" : "are",
                  last ? rp_speed_change(1 / number_of(last, "ratio")).text
                       : text_of(series, "state"));
    if (last && text_of(last, "commit"))
        rp_buf_printf(to, " since commit %s (result %lld)", text_of(last, "commit"),
                      count_of(last, "since"));
    else if (last)
        rp_buf_printf(to, " since result %lld", count_of(last, "since"));
}

static void put_series(const json_t *list, struct rp_buf *to)
{
    const json_t *series, *named = NULL;
    size_t i, all = 0, slower = 0, faster = 0, undecided = 0;
    bool software = false;

    json_array_foreach(list, i, series)
    {
        const char *state = text_of(series, "state");
        const bool is_slower = state && strcmp(state, "slower") == 0;

        if (!state || strcmp(state, "ended") == 0)
            continue;
        all++;
        software |= json_is_true(json_object_get(series, "software"));
        undecided += strcmp(state, "undecided") == 0;
        if (is_slower ? !slower++ : !strcmp(state, "faster") && !faster++ && !slower)
            named = series;
    }
    if (named) {
        put_change(named, to);
        rp_buf_printf(to, "; of %zu series %zu %s slower, %zu faster, %zu undecided.\n", all,
                      slower, slower == 1 ? "is" : "are", faster, undecided);
    } else if (undecided) {
        rp_buf_printf(to, "Undecided: %zu of %zu series need%s more results.\n", undecided, all,
                      undecided == 1 ? "s" : "");
    } else {
        rp_buf_printf(to, "No difference: %zu series %s steady.\n", all, all == 1 ? "is" : "are");
    }
    if (software)
        put_software(NULL, to);
}

static void put_results(const json_t *results, struct rp_buf *to)
{
    const size_t count = json_array_size(results);
    const json_t *newest = json_array_get(results, count - 1);
    const char *commit = text_of(newest, "commit"), *program = text_of(newest, "program");

    rp_buf_printf(to, "%zu result%s", count, rp_plural(count));
    if (newest)
        rp_buf_printf(to, "; newest: result %lld, %s%s, of %s", count_of(newest, "id"),
                      commit ? "commit " : "no commit", commit ? commit : "",
                      program && *program ? program : "-");
    rp_buf_puts(to, ".\n");
    if (json_is_true(json_object_get(newest, "software")))
        put_software(NULL, to);
}

static void put_history(const json_t *object, struct rp_buf *to)
{
    if (json_is_array(json_object_get(object, "series")))
        put_series(json_object_get(object, "series"), to);
    else if (json_is_array(json_object_get(object, "results")))
        put_results(json_object_get(object, "results"), to);
}

/** The model must give its own constants back. */
static void put_model(const json_t *list, const char *gpu, struct rp_buf *to)
{
    const json_t *one;
    rp_autobuf others = {0};
    size_t i, known = 0, near = 0;

    json_array_foreach(list, i, one)
    {
        const double share = number_of(one, "share");

        if (isnan(share))
            continue;
        known++;
        if (fabs(share - 1) * 100 <= NEAR_PERCENT)
            near++;
        else if (text_of(one, "name"))
            rp_buf_printf(&others, "%s %s", others.len ? "," : "; not", text_of(one, "name"));
    }
    rp_buf_printf(to, "%s gives back %zu of %zu constants of its model within %d %%%s.\n", gpu,
                  near, known, NEAR_PERCENT, rp_buf_text(&others));
}

/** How much of the data sheet is reached, where it matters most. */
static void put_hardware(const json_t *list, const char *gpu, struct rp_buf *to)
{
    static const struct {
        const char *name, *text;
    } first[] = {{"hbm_read", "of the memory's bandwidth"},
                 {"mfma_f16", "of the f16 matrix rate"},
                 {"fma_f32", "of the f32 vector rate"}};
    const json_t *one;
    rp_autobuf line = {0};
    size_t i;

    json_array_foreach(list, i, one) for (size_t k = 0; k < sizeof first / sizeof *first; k++)
    {
        const char *name = text_of(one, "name");
        const double share = number_of(one, "share");

        if (name && strcmp(name, first[k].name) == 0 && isfinite(share))
            rp_buf_printf(&line, "%s %s %% %s", line.len ? "," : " reaches",
                          rp_number_fixed(100 * share, 0).text, first[k].text);
    }
    rp_buf_printf(to, "%s%s%s.\n", gpu, line.len ? rp_buf_text(&line) : " was measured",
                  line.len ? " that its data sheet says" : "");
}

static void put_measured(const json_t *object, struct rp_buf *to)
{
    const json_t *gpu = json_object_get(object, "gpu");
    const json_t *list = json_object_get(object, "measurements");
    const char *device = text_of(object, "device"), *product = text_of(gpu, "product");
    const char *name = product ? product : text_of(gpu, "arch");

    if (!device || !name)
        return;
    (strcmp(device, "software") == 0 ? put_model : put_hardware)(list, name, to);
    put_timing(object, to);
}

static void put_ready(const json_t *object, struct rp_buf *to)
{
    const json_t *gpu = json_object_get(object, "gpu");
    const char *problem = text_of(object, "problem"), *isa = text_of(gpu, "isa");

    if (json_is_false(json_object_get(object, "ready")))
        rp_buf_printf(to, "not ready: %s\n", problem ? problem : "why is not known");
    else if (json_is_true(json_object_get(gpu, "usable")))
        rp_buf_printf(to, "ready: programs run on the GPU (%s)\n", isa ? isa : "unknown");
    else if (json_object_get(object, "ready"))
        rp_buf_puts(to, "ready: programs run on the software MI300X; times are modelled, not "
                        "hardware time\n");
}

static void put_all(const struct rp_mcp_tool *tool, const struct rp_mcp_command *command,
                    const json_t *object, struct rp_buf *to)
{
    static void (*const of_command[RP_COMMANDS])(const json_t *object, struct rp_buf *to) = {
        [RP_COMMAND_analyze] = put_analyzed,   [RP_COMMAND_compare] = put_compared,
        [RP_COMMAND_history] = put_history,    [RP_COMMAND_replay] = put_replayed,
        [RP_COMMAND_optimize] = put_optimized, [RP_COMMAND_judge] = put_judged,
        [RP_COMMAND_autotune] = put_tuned,     [RP_COMMAND_bench] = put_measured,
        [RP_COMMAND_doctor] = put_ready,       [RP_COMMAND_ci] = put_held};

    if (tool->command == RP_COMMAND_profile)
        put_profiled(command, object, to);
    else if (of_command[tool->command])
        of_command[tool->command](object, to);
}

void rp_mcp_put_summary(const struct rp_mcp_tool *tool, const struct rp_mcp_command *command,
                        const json_t *object, struct rp_buf *to)
{
    rp_cleanup(drop) json_t *lines = copy_in_lines(object, NULL);
    rp_autobuf text = {0};
    const char *note;

    put_all(tool, command, lines, &text);
    /* What the times are is said in any case. */
    note = strstr(rp_buf_text(&text), "SOFTWARE DEVICE");
    put_lines(rp_buf_text(&text), MOST_LINES - (note && !note[strcspn(note, "\n") + 1]), to);
    if (note && !strstr(rp_buf_text(to), "SOFTWARE DEVICE"))
        put_lines(note, 1, to);
}
