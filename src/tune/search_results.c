#include "tune/search.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/units.h"
#include "base/utf8.h"
#include "experiment/measured_run.h"
#include "tune/space.h"
#include "tune/strategy.h"

/* JSON is put together member by member. A value for which there is no memory makes NULL of
 * everything that it is part of, so only the whole has to be checked. */

/** Takes over value. A failure makes *object NULL, and so does a value of NULL. */
static void json_set(json_t **object, const char *key, json_t *value)
{
    if (*object && json_object_set_new(*object, key, value) < 0) {
        json_decref(*object);
        *object = NULL;
    } else if (!*object) {
        json_decref(value);
    }
}

static void json_append(json_t **array, json_t *value)
{
    if (*array && json_array_append_new(*array, value) < 0) {
        json_decref(*array);
        *array = NULL;
    } else if (!*array) {
        json_decref(value);
    }
}

enum { MOST_VALUE = 60 /**< bytes of a value in a line for people */ };

static json_t *text_or_null(const char *text)
{
    return text && *text ? rp_journal_string(text, strlen(text)) : json_null();
}

/** Times are known to a nanosecond at best; all digits beyond are noise of the arithmetic. */
static json_t *clock_ms(double ms)
{
    return json_real((double)(int64_t)(ms * 1e6 + 0.5) / 1e6);
}

/** Makes {"NAME": value, …} without parameters that have no value. The caller owns it. */
static json_t *search_parameters(const struct rp_space *space, size_t config)
{
    json_t *object = json_object();

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (value)
            json_set(&object, space->parameters[i].name, rp_json_of_value(value));
    }
    return object;
}

void rp_search_put_parameters(const struct rp_space *space, size_t config, struct rp_buf *to)
{
    const char *between = "";
    size_t from;

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (!value)
            continue;
        rp_buf_printf(to, "%s%s=", between, space->parameters[i].name);
        from = to->len;
        rp_value_text(value, to);
        if (to->len > from + MOST_VALUE) {
            to->len = from + MOST_VALUE;
            while (to->len > from && ((unsigned char)to->data[to->len] & 0xc0) == 0x80)
                to->len--; /* A character must not be cut in half. */
            rp_buf_puts(to, "...");
        }
        /* The text must not contain anything that a terminal obeys. */
        for (; from < to->len; from++)
            if ((unsigned char)to->data[from] < ' ' || to->data[from] == 127)
                to->data[from] = '?';
        between = " ";
    }
}

/** Says whether the search minimised times of runs: what it has of a configuration is one. */
static bool is_of_times(const struct rp_objectives *objectives)
{
    return objectives->count == 0 || rp_objectives_time(objectives) == 0;
}

/** Registers and bytes are whole numbers. */
static json_t *number_json(const struct rp_tuned_number *number, double value)
{
    const bool whole = rp_number_rows[number->source].traced && number->source != RP_NUMBER_TIME &&
                       fabs(value) < 9e15;

    return whole ? json_integer((json_int_t)value) : json_real(value);
}

/** Makes {"NAME": number, ...} of objectives and limits.
 * @param first_cost of the first objective; below 0: as in values */
static json_t *values_json(const struct rp_objectives *objectives, const double *values,
                           double first_cost)
{
    json_t *object = json_object();

    for (size_t i = 0; i < objectives->count; i++) {
        const struct rp_tuned_number *number = &objectives->numbers[i];

        json_set(&object, number->name,
                 number_json(number, i == 0 && first_cost > 0 ? rp_value_of_cost(number, first_cost)
                                                              : values[i]));
    }
    return object;
}

/** @return the time of a run, where the search knows it; the caller owns it */
static json_t *time_json(const struct rp_objectives *objectives, const double *values,
                         double runtime_ms)
{
    const int time = rp_objectives_time(objectives);

    if (is_of_times(objectives))
        return json_real(runtime_ms);
    return values && time > 0 && values[time] > 0 ? json_real(values[time]) : json_null();
}

/** Of an objective of which more is better, the smaller cost is the larger value. */
static json_t *interval_json(const struct rp_tuned_number *number, struct rp_interval costs)
{
    const double low = rp_value_of_cost(number, number->maximise ? costs.high : costs.low);
    const double high = rp_value_of_cost(number, number->maximise ? costs.low : costs.high);

    return json_pack("[f,f]", low, high);
}

static json_t *finalist_json(const struct rp_search_options *options,
                             const struct rp_search_result *result,
                             const struct rp_finalist *finalist)
{
    const struct rp_objectives *objectives = &options->objectives;
    const struct rp_config_result *tuned = rp_search_tuned(result, finalist->config);
    const double *values = tuned ? tuned->values : NULL;
    const bool times = is_of_times(objectives);
    json_t *object = json_object();

    json_set(&object, "parameters", search_parameters(options->space, finalist->config));
    json_set(&object, "runtime_ms", time_json(objectives, values, finalist->runtime_ms));
    json_set(&object, "interval_ms",
             times ? json_pack("[f,f]", finalist->interval.low, finalist->interval.high)
                   : json_null());
    json_set(&object, "interval_confidence", json_real(finalist->interval.confidence));
    json_set(&object, "samples", json_integer((json_int_t)finalist->sample_count));
    if (values)
        json_set(&object, "values", values_json(objectives, values, finalist->runtime_ms));
    if (values && !times)
        json_set(&object, "interval", interval_json(&objectives->numbers[0], finalist->interval));
    return object;
}

/** The only configuration of a space is its best one, though nobody knows how fast it is. */
static json_t *only_json(const struct rp_space *space)
{
    json_t *object = json_object();

    json_set(&object, "parameters", search_parameters(space, 0));
    json_set(&object, "runtime_ms", json_null());
    json_set(&object, "interval_ms", json_null());
    json_set(&object, "interval_confidence", json_null());
    json_set(&object, "samples", json_integer(0));
    return object;
}

static json_t *best_json(const struct rp_search_options *options,
                         const struct rp_search_result *result)
{
    const struct rp_space *space = options->space;

    if (result->finalist_count)
        return finalist_json(options, result, &result->finalists[0]);
    return space->count == 1 && result->tuned_count == 0 ? only_json(space) : json_null();
}

static json_t *finalists_json(const struct rp_search_options *options,
                              const struct rp_search_result *result, bool ties)
{
    json_t *array = json_array();

    for (size_t i = ties; i < result->finalist_count; i++)
        if (!ties || result->finalists[i].tied)
            json_append(&array, finalist_json(options, result, &result->finalists[i]));
    return array;
}

/** Lists those that worked first and failed when they were run again: nobody knows how fast they
 * are. */
static json_t *lost_json(const struct rp_space *space, const struct rp_search_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->lost_count; i++)
        json_append(&array,
                    search_parameters(space, result->finalists[result->finalist_count + i].config));
    return array;
}

static json_t *known(const struct rp_confidence *model, double value)
{
    return model->known ? json_real(value) : json_null();
}

static json_t *model_json(const struct rp_confidence *model)
{
    json_t *object = json_object();

    json_set(&object, "samples", json_integer((json_int_t)model->samples));
    json_set(&object, "r2", known(model, model->r2));
    json_set(&object, "rank_correlation", known(model, model->spearman));
    json_set(&object, "residual_std", known(model, model->residual_std));
    json_set(&object, "interval_coverage", known(model, model->coverage));
    json_set(&object, "expected_gain_left", known(model, model->gain_left));
    return object;
}

static json_t *phase_json(const char *name, const struct rp_phase_sum *sum)
{
    json_t *object = json_object();

    json_set(&object, "name", json_string(name));
    json_set(&object, "configurations", json_integer((json_int_t)sum->configs));
    json_set(&object, "runs", json_integer((json_int_t)sum->runs));
    json_set(&object, "duration_ms", clock_ms(sum->ms));
    return object;
}

static json_t *phases_json(const struct rp_search_result *result)
{
    json_t *array = json_array();

    json_append(&array, phase_json("seed", &result->seed));
    json_append(&array, phase_json("predict", &result->predict));
    json_append(&array, phase_json("confirm", &result->confirm));
    return array;
}

static json_t *tuned_json(const struct rp_search_options *options,
                          const struct rp_config_result *tuned, size_t evaluation)
{
    json_t *object = json_object();
    const bool ok = tuned->outcome == RP_EVALUATION_OK;

    json_set(&object, "evaluation", json_integer((json_int_t)evaluation));
    json_set(&object, "parameters", search_parameters(options->space, tuned->config));
    json_set(&object, "runtime_ms",
             ok ? time_json(&options->objectives, tuned->values, tuned->runtime_ms) : json_null());
    if (tuned->values)
        json_set(&object, "values", values_json(&options->objectives, tuned->values, -1));
    json_set(&object, "outcome", json_string(rp_evaluation_outcome_word(tuned->outcome)));
    json_set(&object, "reason", text_or_null(tuned->reason));
    json_set(&object, "samples", json_integer((json_int_t)tuned->sample_count));
    json_set(&object, "phase", json_string(tuned->phase));
    json_set(&object, "at_ms", clock_ms(tuned->at_ms));
    return object;
}

static json_t *history_json(const struct rp_search_options *options,
                            const struct rp_search_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->tuned_count; i++)
        json_append(&array, tuned_json(options, &result->tuned[i], i + 1));
    return array;
}

static json_t *failures_json(const struct rp_search_result *result)
{
    size_t counts[RP_EVALUATION_LIMIT + 1] = {0};
    json_t *object = json_object();

    for (size_t i = 0; i < result->tuned_count; i++)
        counts[result->tuned[i].outcome]++;
    for (int i = RP_EVALUATION_OK + 1; i <= RP_EVALUATION_NO_TIME; i++)
        json_set(&object, rp_evaluation_outcome_word((enum rp_evaluation_outcome)i),
                 json_integer((json_int_t)counts[i]));
    if (counts[RP_EVALUATION_LIMIT]) /* Without --limit there is nothing that it could be. */
        json_set(&object, rp_evaluation_outcome_word(RP_EVALUATION_LIMIT),
                 json_integer((json_int_t)counts[RP_EVALUATION_LIMIT]));
    return object;
}

static json_t *drift_json(const struct rp_search_result *result)
{
    json_t *object = json_object();

    json_set(&object, "checks", json_integer((json_int_t)result->drift_checks));
    json_set(&object, "largest_change", json_real(result->drift));
    json_set(&object, "more_than_noise", json_boolean(result->drifted));
    json_set(&object, "failed", json_integer((json_int_t)result->drift_failures));
    json_set(&object, "reason", text_or_null(result->drift_reason));
    return object;
}

static const char *end_name(enum rp_search_end end)
{
    static const char *const names[] = {
        [RP_END_FRACTION] = "max_fraction", [RP_END_EVALS] = "budget_evals",
        [RP_END_TIME] = "budget_time",      [RP_END_TARGET] = "target",
        [RP_END_PATIENCE] = "patience",     [RP_END_STRATEGY] = "strategy",
        [RP_END_INTERRUPT] = "interrupted", [RP_END_SMALL] = "small_space",
        [RP_END_FAILURES] = "failures",
    };

    return names[end];
}

static json_t *limit_json(bool has, double limit)
{
    return has ? json_real(limit) : json_null();
}

static json_t *objectives_json(const struct rp_objectives *objectives)
{
    json_t *array = json_array();

    for (size_t i = 0; i < objectives->count; i++) {
        const struct rp_tuned_number *number = &objectives->numbers[i];
        json_t *object = json_object();

        json_set(&object, "name", rp_journal_string(number->name, strlen(number->name)));
        json_set(&object, "goal",
                 i >= objectives->goals ? json_null()
                                        : json_string(number->maximise ? "max" : "min"));
        json_set(&object, "unit", text_or_null(rp_tuned_number_unit(number)));
        json_set(&object, "least", limit_json(number->has_least, number->least));
        json_set(&object, "most", limit_json(number->has_most, number->most));
        json_append(&array, object);
    }
    return array;
}

/** Lists those of which no other one is better in an objective and worse in none. */
static json_t *front_json(const struct rp_search_options *options,
                          const struct rp_search_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->finalist_count; i++) {
        const struct rp_config_result *tuned = rp_search_tuned(result, result->finalists[i].config);
        json_t *object = json_object();

        json_set(&object, "parameters", search_parameters(options->space, tuned->config));
        json_set(&object, "values", values_json(&options->objectives, tuned->values, -1));
        json_set(&object, "samples", json_integer((json_int_t)tuned->sample_count));
        json_append(&array, object);
    }
    return array;
}

json_t *rp_search_json(const struct rp_search_options *options, const struct rp_runner *runner,
                       const struct rp_search_result *result, const struct rp_search_about *about)
{
    const struct rp_space *space = options->space;
    json_t *root = json_object();

    json_set(&root, "schema_version", json_string("1.0"));
    json_set(&root, "space", text_or_null(about->name));
    json_set(&root, "command", text_or_null(about->command));
    json_set(&root, "objective", json_string(about->objective));
    json_set(&root, "device", json_string(runner->device.kind));
    json_set(&root, "device_name", text_or_null(runner->device.name));
    json_set(&root, "timing", text_or_null(runner->device.timing));
    json_set(&root, "rocm", text_or_null(runner->device.rocm));
    json_set(&root, "strategy", json_string(options->strategy->name));
    json_set(&root, "seed", json_integer((json_int_t)options->seed));
    json_set(&root, "workers", json_integer(runner->workers));
    json_set(&root, "search_space_size", json_integer((json_int_t)space->count));
    json_set(&root, "max_configs", json_integer((json_int_t)result->most));
    json_set(&root, "evaluated_configs", json_integer((json_int_t)result->tuned_count));
    json_set(&root, "ended_by", json_string(end_name(result->end)));
    if (options->objectives.count)
        json_set(&root, "objectives", objectives_json(&options->objectives));
    if (options->objectives.goals > 1)
        json_set(&root, "pareto_front", front_json(options, result));
    json_set(&root, "best_config", best_json(options, result));
    json_set(&root, "confirmed", json_boolean(result->confirmed || runner->exact));
    json_set(&root, "ties", finalists_json(options, result, true));
    json_set(&root, "finalists", finalists_json(options, result, false));
    json_set(&root, "failed_again", lost_json(space, result));
    json_set(&root, "model", model_json(&result->model));
    json_set(&root, "warning",
             result->model.low ? json_string("low_model_confidence") : json_null());
    json_set(&root, "phases", phases_json(result));
    json_set(&root, "failures", failures_json(result));
    json_set(&root, "drift", drift_json(result));
    json_set(&root, "history", history_json(options, result));
    return root;
}

/* These are colours of Okabe and Ito, which colour-blind people can tell apart as well. Each kind
 * has a shape of its own, too. */
#define SEED      "#595959"
#define PREDICTED "#0072b2"
#define FAILED    "#d55e00"
#define BEST      "#009e73"

/* Around the plot are values and their name on the left, and below it a row of failures, numbers
 * and their name. */
enum {
    WIDTH = 900,
    HEIGHT = 520,
    LEFT = 100,
    RIGHT = 30,
    TOP = 80,
    BOTTOM = 90,
    FLOOR = HEIGHT - BOTTOM,
    FAILED_AT = FLOOR + 16,
    NUMBERS_AT = FLOOR + 46,
    NAME_AT = FLOOR + 70,
    MOST_TICKS = 64,
    MOST_TITLE = 70, /**< characters */
};

/** Neighbouring labels must have this distance. */
static const double least_apart = 16;

struct axes {
    double low, high; /**< logarithms */
    size_t count;
    const struct rp_tuned_number *number; /**< NULL: times in ms */
};

/** Of a logarithmic axis 0 is no part: numbers of registers and bytes may be 0. */
static double shown(const struct axes *axes, const struct rp_config_result *tuned)
{
    return axes->number ? fmax(rp_value_of_cost(axes->number, tuned->runtime_ms), 0.1)
                        : tuned->runtime_ms;
}

static double x_of(const struct axes *axes, double evaluation)
{
    if (axes->count < 2)
        return (LEFT + WIDTH - RIGHT) / 2.0;
    return LEFT + 10 + (evaluation - 1) / (double)(axes->count - 1) * (WIDTH - LEFT - RIGHT - 20);
}

static double y_of(const struct axes *axes, double ms)
{
    return TOP + (axes->high - log10(ms)) / (axes->high - axes->low) * (FLOOR - TOP);
}

static struct axes axes_of(const struct rp_search_options *options,
                           const struct rp_search_result *result)
{
    const struct rp_objectives *o = &options->objectives;
    struct axes axes = {.low = HUGE_VAL,
                        .high = -HUGE_VAL,
                        .count = result->tuned_count,
                        .number = is_of_times(o) ? NULL : &o->numbers[0]};
    double margin;

    for (size_t i = 0; i < result->tuned_count; i++)
        if (result->tuned[i].outcome == RP_EVALUATION_OK) {
            const double value = log10(shown(&axes, &result->tuned[i]));

            axes.low = fmin(axes.low, value);
            axes.high = fmax(axes.high, value);
        }
    if (axes.low > axes.high)
        return (struct axes){
            .low = 0, .high = 1, .count = result->tuned_count, .number = axes.number};
    margin = fmax(0.05 * (axes.high - axes.low), 0.005);
    axes.low -= margin;
    axes.high += margin;
    return axes;
}

/** Counts the bytes of the next character, or of those that are none. */
static size_t step_over(const char *text)
{
    const size_t bytes = rp_utf8_length(text, strlen(text));

    return bytes ? bytes : 1;
}

/** Writes a text as one line that may stand in XML. Only the end of a long one, as of a path, is
 * written. */
static void put_text(struct rp_buf *to, const char *text, size_t most)
{
    rp_autobuf escaped = {0};
    size_t characters = 0;

    for (const char *c = text; *c; c += step_over(c))
        characters++;
    if (characters > most)
        rp_buf_puts(to, "...");
    for (; characters > most; characters--)
        text += step_over(text);
    rp_escape(&escaped, text);
    for (text = rp_buf_text(&escaped); *text; text++)
        if (strchr("<>&\"", *text))
            rp_buf_printf(to, "&#%d;", *text);
        else
            rp_buf_add(to, text, 1);
}

/* --- axes ------------------------------------------------------------------------------------- */

static void put_line(struct rp_buf *to, const struct axes *axes, double ms, double *last)
{
    const double y = y_of(axes, ms);

    rp_buf_printf(to, "<path class=\"g\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
    if (fabs(y - *last) >= least_apart) {
        rp_buf_printf(to, "<text class=\"n\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>",
                      LEFT - 8, y + 4, ms);
        *last = y;
    }
    rp_buf_puts(to, "\n");
}

/** Within a decade the steps between values are equal. Beyond it the axis shows 1, 2 and 5 of each
 * decade, or its 1 alone. */
static void put_runtimes(const struct axes *axes, struct rp_buf *to)
{
    static const double steps[] = {1, 2, 5};
    const double low = pow(10, axes->low), high = pow(10, axes->high);
    const size_t each = axes->high - axes->low > 4 ? 1 : 3;
    double last = HUGE_VAL;

    if (axes->high - axes->low < 1) {
        const double step = rp_svg_round_step((high - low) / 8);
        const double first = ceil(low / step);

        for (int i = 0; i < MOST_TICKS && (first + i) * step <= high; i++)
            put_line(to, axes, (first + i) * step, &last);
        return;
    }
    for (int decade = (int)floor(axes->low), i = 0; decade <= axes->high && i < MOST_TICKS;
         decade++)
        for (size_t j = 0; j < each; j++, i++) {
            const double ms = steps[j] * pow(10, decade);

            if (ms >= low && ms <= high)
                put_line(to, axes, ms, &last);
        }
}

static void put_number(struct rp_buf *to, const struct axes *axes, double at)
{
    rp_buf_printf(to, "<text class=\"n\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n",
                  x_of(axes, at), NUMBERS_AT, at);
}

static void put_evaluations(const struct axes *axes, struct rp_buf *to)
{
    const double count = (double)axes->count, step = fmax(rp_svg_round_step(count / 10), 1);

    if (count >= 1 && step > 1)
        put_number(to, axes, 1);
    for (double at = step; at <= count; at += step)
        put_number(to, axes, at);
}

static void put_axes(const struct axes *axes, const struct rp_search_about *about,
                     struct rp_buf *to)
{
    const char *kind = about->device ? about->device : "";
    const char *what = strcmp(kind, "recorded") == 0 ? "recorded runtime in ms"
                       : strcmp(kind, "software") == 0 && strcmp(about->objective, "dispatch") == 0
                           ? "modelled runtime in ms (software device)"
                           : "runtime in ms";
    rp_autobuf name = {0};

    put_runtimes(axes, to);
    put_evaluations(axes, to);
    if (axes->number)
        put_text(&name, axes->number->name, MOST_TITLE);
    rp_buf_printf(to,
                  "<path class=\"a\" d=\"M%d %dV%dH%d\"/>\n"
                  "<text transform=\"translate(24 %d) rotate(-90)\" text-anchor=\"middle\">%s, "
                  "logarithmic</text>\n"
                  "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">evaluations, in the order in "
                  "which they ended</text>\n"
                  "<text class=\"n\" x=\"%d\" y=\"%d\" text-anchor=\"end\">failed</text>\n",
                  LEFT, TOP, FLOOR, WIDTH - RIGHT, (TOP + FLOOR) / 2,
                  axes->number ? rp_buf_text(&name) : what, (LEFT + WIDTH - RIGHT) / 2, NAME_AT,
                  LEFT - 8, FAILED_AT + 4);
}

/* --- what was run ----------------------------------------------------------------------------- */

static void put_cross(struct rp_buf *to, double x, double y)
{
    rp_buf_printf(to, "<path class=\"f\" d=\"M%.1f %.1fl7 7m0 -7l-7 7\"/>", x - 3.5, y - 3.5);
}

static void put_circle(struct rp_buf *to, char phase, double x, double y)
{
    rp_buf_printf(to, "<circle class=\"%c\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", phase, x, y);
}

/** @return number of the best one, from 1 on; 0: none works */
static size_t put_points(const struct axes *axes, const struct rp_search_result *result,
                         struct rp_buf *to)
{
    rp_autobuf line = {0};
    double least = HUGE_VAL;
    size_t best = 0;

    for (size_t i = 0; i < result->tuned_count; i++) {
        const struct rp_config_result *tuned = &result->tuned[i];
        const double x = x_of(axes, (double)i + 1);

        if (tuned->outcome != RP_EVALUATION_OK) {
            put_cross(to, x, FAILED_AT);
        } else {
            const double y = y_of(axes, shown(axes, tuned));

            put_circle(to, tuned->phase[0], x, y);
            if (tuned->runtime_ms < least) {
                rp_buf_printf(&line, best ? "H%.1fV%.1f" : "M%.1f %.1f", x, y);
                least = tuned->runtime_ms;
                best = i + 1;
            }
        }
        rp_buf_puts(to, "\n");
    }
    if (best)
        rp_buf_printf(to, "<path class=\"b\" d=\"%sH%d\"/>\n", rp_buf_text(&line), WIDTH - RIGHT);
    return best;
}

static void put_legend(struct rp_buf *to)
{
    enum { Y = 62 };
    static const char *const names[] = {"seed", "predicted", "failed", "best so far"};

    for (int i = 0; i < 4; i++) {
        const int x = LEFT + 10 + 120 * i;

        if (i < 2)
            put_circle(to, names[i][0], x, Y);
        else if (i == 2)
            put_cross(to, x, Y);
        else
            rp_buf_printf(to, "<path class=\"b\" d=\"M%d %dh16\"/>", x - 8, Y);
        rp_buf_printf(to, "<text x=\"%d\" y=\"%d\">%s</text>\n", x + 14, Y + 4, names[i]);
    }
}

/** Writes "12.5 ms". */
static void put_shown(const struct axes *axes, const struct rp_config_result *tuned,
                      struct rp_buf *to)
{
    if (!axes->number) {
        rp_buf_printf(to, "fastest: %.6g ms", tuned->runtime_ms);
        return;
    }
    rp_buf_puts(to, "best: ");
    put_text(to, axes->number->name, MOST_TITLE);
    rp_buf_printf(to, " %.6g", rp_value_of_cost(axes->number, tuned->runtime_ms));
}

static void put_titles(const struct axes *axes, const struct rp_search_result *result, size_t best,
                       const struct rp_search_about *about, struct rp_buf *to)
{
    rp_buf_printf(to, "<text x=\"%d\" y=\"24\" font-size=\"16\">Search of ", LEFT);
    put_text(to, about->name, MOST_TITLE);
    rp_buf_printf(to, "</text>\n<text x=\"%d\" y=\"43\">", LEFT);
    if (best) {
        put_shown(axes, &result->tuned[best - 1], to);
        rp_buf_printf(to, ", evaluation %zu of %zu", best, result->tuned_count);
    } else
        rp_buf_printf(to, "none of %zu evaluations works", result->tuned_count);
    rp_buf_puts(to, "</text>\n");
    put_legend(to);
}

void rp_search_svg(const struct rp_search_options *options, const struct rp_search_result *result,
                   const struct rp_search_about *about, struct rp_buf *to)
{
    const struct axes axes = axes_of(options, result);

    rp_buf_printf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<style>.s{stroke:" SEED ";fill:#fff;stroke-width:1.5}.p{fill:" PREDICTED
                  "}.f{stroke:" FAILED ";stroke-width:1.5;fill:none}.b{stroke:" BEST
                  ";stroke-width:2;fill:none}.g{stroke:#ddd}.a{stroke:#333;fill:none}"
                  ".n{font-size:12px}</style>\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_axes(&axes, about, to);
    put_titles(&axes, result, put_points(&axes, result, to), about, to);
    rp_buf_puts(to, "</svg>\n");
}

/** Says what is wrong with a configuration, and which value Kernel Tuner then gives the objective.
 * autotuning_methodology accepts no other texts. */
static const struct {
    const char *invalidity, *value;
} validities[] = {
    [RP_T4_CORRECT] = {"correct", NULL},
    [RP_T4_TIMEOUT] = {"timeout", "RuntimeFailedConfig"},
    [RP_T4_COMPILE] = {"compile", "CompilationFailedConfig"},
    [RP_T4_RUNTIME] = {"runtime", "RuntimeFailedConfig"},
    [RP_T4_CORRECTNESS] = {"correctness", "RuntimeFailedConfig"},
    [RP_T4_CONSTRAINTS] = {"constraints", "InvalidConfig"},
};

static json_t *results_t4_known(double ms)
{
    return json_real(ms > 0 ? ms : 0);
}

/* The schema has compilation_time; Kernel Tuner and autotuning_methodology have compilation. */
static json_t *times(const struct rp_fair_t4_result *result)
{
    json_t *object = json_object(), *runtimes = json_array();

    for (size_t i = 0; i < result->sample_count; i++)
        json_append(&runtimes, json_real(result->samples_ms[i]));
    json_set(&object, "compilation_time", results_t4_known(result->compile_ms));
    json_set(&object, "compilation", results_t4_known(result->compile_ms));
    json_set(&object, "benchmark", results_t4_known(result->bench_ms));
    json_set(&object, "framework", results_t4_known(result->framework_ms));
    json_set(&object, "search_algorithm", results_t4_known(result->search_ms));
    json_set(&object, "validation", results_t4_known(result->check_ms));
    json_set(&object, "runtimes", runtimes);
    return object;
}

/** Lists a measurement for each number, or the time alone. */
static json_t *measurements(const struct rp_objectives *objectives,
                            const struct rp_fair_t4_result *result)
{
    const char *failed = validities[result->validity].value;
    json_t *list = json_array();

    if (!objectives || !objectives->count)
        json_append(&list, json_pack("{s:s,s:o,s:s}", "name", "time", "value",
                                     failed ? json_string(failed) : json_real(result->runtime_ms),
                                     "unit", "ms"));
    for (size_t i = 0; objectives && i < objectives->count; i++) {
        const struct rp_tuned_number *number = &objectives->numbers[i];

        json_append(&list,
                    json_pack("{s:s,s:o,s:s}", "name", number->name, "value",
                              failed ? json_string(failed) : number_json(number, result->values[i]),
                              "unit", rp_tuned_number_unit(number)));
    }
    return list;
}

static json_t *names_of_objectives(const struct rp_objectives *objectives)
{
    json_t *list = json_array();

    if (!objectives || !objectives->goals)
        json_append(&list, json_string("time"));
    for (size_t i = 0; objectives && i < objectives->goals; i++)
        json_append(&list, json_string(objectives->numbers[i].name));
    return list;
}

static json_t *result_json(const struct rp_space *space, const struct rp_objectives *objectives,
                           const struct rp_fair_t4_result *result)
{
    json_t *object = json_object();

    if (result->timestamp)
        json_set(&object, "timestamp", json_string(result->timestamp));
    json_set(&object, "configuration", search_parameters(space, result->config));
    json_set(&object, "times", times(result));
    json_set(&object, "invalidity", json_string(validities[result->validity].invalidity));
    json_set(&object, "correctness", json_integer(result->validity != RP_T4_CORRECTNESS));
    json_set(&object, "measurements", measurements(objectives, result));
    json_set(&object, "objectives", names_of_objectives(objectives));
    return object;
}

/**
 * @param ret JSON, owned by the caller
 * @return 0; RP_BAD_INPUT: a number is not finite
 */
static int fair_t4_text(const struct rp_space *space, const struct rp_fair_t4_result *results,
                        size_t count, const struct rp_fair_t4_source *source, char **ret,
                        struct rp_err *err)
{
    json_t *root = json_object(), *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_append(&list, result_json(space, source->objectives, &results[i]));
    json_set(&root, "schema_version", json_string("1.0.0"));
    json_set(&root, "metadata",
             json_pack("{s:s,s:o,s:o,s:s}", "timeunit", "milliseconds", "name",
                       rp_journal_string(source->name, strlen(source->name)), "device",
                       rp_journal_string(source->device, strlen(source->device)), "tool",
                       "rocm-perf autotune"));
    json_set(&root, "results", list);
    *ret = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    return *ret ? 0 : rp_fail(err, RP_BAD_INPUT, "a result that JSON cannot hold");
}

int rp_fair_t4_write(const char *path, const struct rp_space *space,
                     const struct rp_fair_t4_result *results, size_t count,
                     const struct rp_fair_t4_source *source, struct rp_err *err)
{
    rp_autofree char *text = NULL;

    if (fair_t4_text(space, results, count, source, &text, err) < 0)
        return rp_wrap(err, "T4 results %s", path);
    return rp_write_output(path, text, strlen(text), err);
}
