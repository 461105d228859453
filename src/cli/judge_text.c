#include "cli/judge_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "replay/page_changes.h"
#include "report/report.h"

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static json_t *inputs_of(const json_t *one)
{
    return json_object_get(json_object_get(json_object_get(one, "comparison"), "b"),
                           "other_inputs");
}

static bool is_different(const json_t *one)
{
    const char *verdict = text_of(json_object_get(one, "comparison"), "verdict");

    return verdict && strcmp(verdict, "different output") == 0;
}

/* --- what came of one ----------------------------------------------------------------------- */

/** Counts the kinds of other inputs with which a comparison was made. */
static size_t tried_inputs(const json_t *one)
{
    const char *kind;
    size_t count = 0;
    json_t *input;

    json_object_foreach(inputs_of(one), kind, input) count +=
        json_is_true(json_object_get(input, "tried"));
    return count;
}

/** The same may be said of equal bytes only. */
static void put_same(const json_t *one, struct rp_buf *to)
{
    const json_t *rule = json_object_get(json_object_get(one, "comparison"), "rule");
    const json_t *rounding = json_object_get(rule, "rounding");
    const char *compare = text_of(rule, "compare");
    const size_t inputs = tried_inputs(one);

    if (json_is_object(rounding))
        rp_buf_puts(to, "right");
    else if (compare && strcmp(compare, "exact") != 0)
        rp_buf_printf(to, "the same (%s)", compare);
    else
        rp_buf_puts(to, "the same");
    rp_buf_printf(to, " with the captured inputs and with %zu kind%s of others", inputs,
                  inputs == 1 ? "" : "s");
    if (json_is_object(rounding))
        rp_buf_printf(to, "; changes rounding: largest difference %.2g, allowed %.2g",
                      number_of(rounding, "largest"), number_of(rounding, "allowed"));
}

/* Tolerances that a user may try, by the type of a number. */
static const struct tolerance {
    const char *type, *rule;
    double near; /**< so much of the expected value, rounding may explain */
} tolerances[] = {{"f32", "rel=1e-5", 1e-4},
                  {"f64", "f64,rel=1e-9", 1e-8},
                  {"f16", "f16,ulp=1", 2e-3},
                  {"bf16", "bf16,ulp=1", 2e-2}};

/** @return NULL: these are no numbers, or so far from each other that rounding explains nothing */
static const struct tolerance *tolerance_for(const json_t *difference, const char *got,
                                             const char *expected)
{
    const char *type = text_of(difference, "type");
    const double a = strtod(got, NULL), b = strtod(expected, NULL);

    for (size_t i = 0; type && i < sizeof tolerances / sizeof *tolerances; i++)
        if (strcmp(type, tolerances[i].type) == 0)
            return isfinite(a) && isfinite(b) && fabs(a - b) < tolerances[i].near * fabs(b)
                       ? &tolerances[i]
                       : NULL;
    return NULL;
}

/** Shows one value that is wrong, so that a user need not take it on trust. */
static void put_difference(const struct rp_page *page, const json_t *one)
{
    const json_t *comparison = json_object_get(one, "comparison");
    const json_t *b = json_object_get(comparison, "b"), *values;
    const json_t *difference = json_object_get(b, "first_difference");
    const char *rule = text_of(json_object_get(comparison, "rule"), "compare"), *got, *expected;
    const struct tolerance *tolerance;
    rp_autobuf line = {0};

    if (!json_is_object(difference))
        difference = json_object_get(json_object_get(b, "other_inputs"), "first_difference");
    values = json_object_get(difference, "values");
    got = json_string_value(json_array_get(values, 0));
    expected = json_string_value(json_array_get(values, 1));
    if (!got || !expected)
        return;
    if (json_is_integer(json_object_get(difference, "argument")))
        rp_buf_printf(&line, "argument %.0f, element %.0f: ", number_of(difference, "argument"),
                      number_of(difference, "element"));
    else
        rp_buf_printf(&line, "at %s: ", text_of(difference, "address") ?: "?");
    rp_buf_printf(&line, "%s in place of %s", got, expected);
    if (rule)
        rp_buf_printf(&line, " (compared: %s)", rule);
    tolerance = tolerance_for(difference, got, expected);
    if (rule && strcmp(rule, "exact") == 0 && tolerance)
        rp_buf_printf(&line, "; where rounding may differ so much, --compare %s allows for it",
                      tolerance->rule);
    rp_page_words(page, RP_INK_PLAIN, 4, 4, "%s", rp_buf_text(&line));
    rp_page_words(page, RP_INK_PLAIN, 4, 4,
                  "both were launched as the program launches the original");
}

static void put_comparison(const struct rp_page *page, const json_t *one)
{
    const json_t *comparison = json_object_get(one, "comparison");
    const double before = number_of(json_object_get(comparison, "a"), "median_us"),
                 after = number_of(json_object_get(comparison, "b"), "median_us");
    rp_autobuf line = {0};

    rp_buf_puts(&line, text_of(one, "geometry") ?: "?");
    if (before > 0 && after > 0)
        rp_buf_printf(&line, ": %.3f -> %.3f µs", before, after);
    rp_buf_puts(&line, "; ");
    if (text_of(one, "reason"))
        rp_buf_puts(&line, text_of(one, "reason"));
    else
        put_same(one, &line);
    rp_page_words(page, RP_INK_PLAIN, 2, 4, "%s", rp_buf_text(&line));
    if (is_different(one))
        put_difference(page, one);
    if (text_of(one, "no_floor"))
        rp_page_words(page, RP_INK_YELLOW, 4, 4, "no floor: %s", text_of(one, "no_floor"));
}

/* --- what was not compared ------------------------------------------------------------------ */

/** Says whether that kind would tell nothing about this kernel, so that nothing is lost without it.
 */
static bool tells_nothing(unsigned kind, const char *reason)
{
    const char *same = rp_variations[kind].same, *nothing = rp_variations[kind].nothing;

    return (same && strcmp(reason, same) == 0) || (nothing && strcmp(reason, nothing) == 0);
}

/** Returns why this kind was not tried, where it might have told something; else NULL, also where
 * note_zeros() says more. */
static const char *why_untried(const json_t *inputs, unsigned kind)
{
    const json_t *input = json_object_get(inputs, rp_variations[kind].word);
    const char *reason = text_of(input, "reason");

    return kind != RP_VARY_ZERO_ARGUMENTS && json_is_false(json_object_get(input, "tried")) &&
                   reason && !tells_nothing(kind, reason)
               ? reason
               : NULL;
}

/** Kinds whose values are the most usual ones come first: those of rare values and of arguments are
 * behind them in the list of all kinds. */
static void put_kinds(const json_t *inputs, unsigned first, struct rp_buf *to)
{
    const char *reason = why_untried(inputs, first);

    for (unsigned i = first; i < RP_VARIATIONS; i++) {
        const char *why = why_untried(inputs, i);

        if (why && strcmp(why, reason) == 0)
            rp_buf_printf(to, "%s%s", i == first ? "" : ", ", rp_variations[i].how);
    }
    rp_buf_printf(to, ": %s", reason);
}

static bool is_told(const json_t *inputs, unsigned kind)
{
    const char *reason = why_untried(inputs, kind);

    for (unsigned i = 0; i < kind; i++) {
        const char *why = why_untried(inputs, i);

        if (why && strcmp(why, reason) == 0)
            return true;
    }
    return false;
}

/** Adds a line, or counts it again: most geometries have the same ones. */
static void note_line(json_t *lines, const char *text)
{
    json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        if (strcmp(text_of(line, "text"), text) == 0) {
            json_object_set_new(
                line, "count",
                json_integer(json_integer_value(json_object_get(line, "count")) + 1));
            return;
        }
    }
    json_array_append_new(lines, json_pack("{s:s, s:i}", "text", text, "count", 1));
}

/** The captured kernel may stand one argument that is not 0, and not another. */
static void note_zeros(json_t *lines, const json_t *inputs)
{
    const json_t *argument;
    size_t i;

    json_array_foreach(json_object_get(inputs, "zeros_untried"), i, argument)
    {
        rp_autofree char *text =
            rp_format("with other values of argument %.0f: it is 0 in the capture, and the "
                      "captured kernel does not stand them",
                      json_number_value(argument));

        note_line(lines, text);
    }
}

static void note_untried(json_t *lines, const json_t *one)
{
    const json_t *inputs = inputs_of(one);
    const char *all = text_of(inputs, "reason");

    if (all) {
        rp_autofree char *text = rp_format("with other inputs: %s", all);

        note_line(lines, text);
        return;
    }
    note_zeros(lines, inputs);
    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        if (why_untried(inputs, i) && !is_told(inputs, i)) {
            rp_autobuf text = {0};

            put_kinds(inputs, i, &text);
            note_line(lines, rp_buf_text(&text));
        }
}

/** Of what is wrong already nobody asks with what else it would be. */
static void put_untried(const struct rp_page *page, const json_t *comparisons)
{
    const size_t geometries = json_array_size(comparisons);
    json_t *lines = json_array(), *one;
    size_t i;

    json_array_foreach((json_t *)comparisons, i, one)
    {
        if (!is_different(one))
            note_untried(lines, one);
    }
    json_array_foreach(lines, i, one)
    {
        const size_t count = (size_t)json_integer_value(json_object_get(one, "count"));
        rp_autofree char *where =
            count < geometries ? rp_format(" (%zu of %zu geometries)", count, geometries) : NULL;

        rp_page_words(page, RP_INK_YELLOW, 2, 4, "not compared%s %s", where ? where : "",
                      text_of(one, "text"));
    }
    json_decref(lines);
}

void rp_judge_text_comparisons(const struct rp_page *page, const json_t *comparisons)
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)comparisons, i, one) put_comparison(page, one);
    put_untried(page, comparisons);
}
