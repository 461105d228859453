#include "tune/search_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/journal.h"
#include "tune/json_space.h"
#include "tune/space.h"
#include "tune/strategy.h"

enum { MOST_VALUE = 60 /**< bytes of a value in a line for people */ };

/* A failure to add is remembered: the object becomes NULL, and so does what it is part of. */
static void set(json_t **object, const char *key, json_t *value)
{
    if (*object && json_object_set_new(*object, key, value) < 0) {
        json_decref(*object);
        *object = NULL;
    } else if (!*object) {
        json_decref(value);
    }
}

static void append(json_t **array, json_t *value)
{
    if (*array && json_array_append_new(*array, value) < 0) {
        json_decref(*array);
        *array = NULL;
    } else if (!*array) {
        json_decref(value);
    }
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? rp_journal_text(text, strlen(text)) : json_null();
}

/** Times are known to a nanosecond at best; all digits beyond are noise of the arithmetic. */
static json_t *clock_ms(double ms)
{
    return json_real((double)(int64_t)(ms * 1e6 + 0.5) / 1e6);
}

json_t *rp_search_parameters(const struct rp_space *space, size_t config)
{
    json_t *object = json_object();

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (value)
            set(&object, space->parameters[i].name, rp_json_of_value(value));
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
                to->len--; /* no half of a character */
            rp_buf_puts(to, "...");
        }
        for (; from < to->len; from++) /* nothing that a terminal obeys */
            if ((unsigned char)to->data[from] < ' ' || to->data[from] == 127)
                to->data[from] = '?';
        between = " ";
    }
}

static json_t *finalist_json(const struct rp_space *space, const struct rp_finalist *finalist)
{
    json_t *object = json_object();

    set(&object, "parameters", rp_search_parameters(space, finalist->config));
    set(&object, "runtime_ms", json_real(finalist->runtime_ms));
    set(&object, "interval_ms",
        json_pack("[f,f]", finalist->interval.low_ms, finalist->interval.high_ms));
    set(&object, "interval_confidence", json_real(finalist->interval.confidence));
    set(&object, "samples", json_integer((json_int_t)finalist->sample_count));
    return object;
}

/** The only configuration of a space is its best one, though nobody knows how fast it is. */
static json_t *only_json(const struct rp_space *space)
{
    json_t *object = json_object();

    set(&object, "parameters", rp_search_parameters(space, 0));
    set(&object, "runtime_ms", json_null());
    set(&object, "interval_ms", json_null());
    set(&object, "interval_confidence", json_null());
    set(&object, "samples", json_integer(0));
    return object;
}

static json_t *best_json(const struct rp_space *space, const struct rp_search_result *result)
{
    if (result->finalist_count)
        return finalist_json(space, &result->finalists[0]);
    return space->count == 1 && result->tuned_count == 0 ? only_json(space) : json_null();
}

static json_t *finalists_json(const struct rp_space *space, const struct rp_search_result *result,
                              bool ties)
{
    json_t *array = json_array();

    for (size_t i = ties; i < result->finalist_count; i++)
        if (!ties || result->finalists[i].tied)
            append(&array, finalist_json(space, &result->finalists[i]));
    return array;
}

/** Those that worked, and failed when they were run again: no one knows how fast they are. */
static json_t *lost_json(const struct rp_space *space, const struct rp_search_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->lost_count; i++)
        append(&array,
               rp_search_parameters(space, result->finalists[result->finalist_count + i].config));
    return array;
}

static json_t *known(const struct rp_confidence *model, double value)
{
    return model->known ? json_real(value) : json_null();
}

static json_t *model_json(const struct rp_confidence *model)
{
    json_t *object = json_object();

    set(&object, "samples", json_integer((json_int_t)model->samples));
    set(&object, "r2", known(model, model->r2));
    set(&object, "rank_correlation", known(model, model->spearman));
    set(&object, "residual_std", known(model, model->residual_std));
    set(&object, "interval_coverage", known(model, model->coverage));
    set(&object, "expected_gain_left", known(model, model->gain_left));
    return object;
}

static json_t *phase_json(const char *name, const struct rp_phase_sum *sum)
{
    json_t *object = json_object();

    set(&object, "name", json_string(name));
    set(&object, "configurations", json_integer((json_int_t)sum->configs));
    set(&object, "runs", json_integer((json_int_t)sum->runs));
    set(&object, "duration_ms", clock_ms(sum->ms));
    return object;
}

static json_t *phases_json(const struct rp_search_result *result)
{
    json_t *array = json_array();

    append(&array, phase_json("seed", &result->seed));
    append(&array, phase_json("predict", &result->predict));
    append(&array, phase_json("confirm", &result->confirm));
    return array;
}

static json_t *tuned_json(const struct rp_space *space, const struct rp_tuned *tuned,
                          size_t evaluation)
{
    json_t *object = json_object();
    const bool ok = tuned->outcome == RP_EVALUATION_OK;

    set(&object, "evaluation", json_integer((json_int_t)evaluation));
    set(&object, "parameters", rp_search_parameters(space, tuned->config));
    set(&object, "runtime_ms", ok ? json_real(tuned->runtime_ms) : json_null());
    set(&object, "outcome", json_string(rp_evaluation_outcome_word(tuned->outcome)));
    set(&object, "reason", text_or_null(tuned->reason));
    set(&object, "samples", json_integer((json_int_t)tuned->sample_count));
    set(&object, "phase", json_string(tuned->phase));
    set(&object, "at_ms", clock_ms(tuned->at_ms));
    return object;
}

static json_t *history_json(const struct rp_space *space, const struct rp_search_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->tuned_count; i++)
        append(&array, tuned_json(space, &result->tuned[i], i + 1));
    return array;
}

static json_t *failures_json(const struct rp_search_result *result)
{
    size_t counts[RP_EVALUATION_NO_TIME + 1] = {0};
    json_t *object = json_object();

    for (size_t i = 0; i < result->tuned_count; i++)
        counts[result->tuned[i].outcome]++;
    for (int i = RP_EVALUATION_OK + 1; i <= RP_EVALUATION_NO_TIME; i++)
        set(&object, rp_evaluation_outcome_word((enum rp_evaluation_outcome)i),
            json_integer((json_int_t)counts[i]));
    return object;
}

static json_t *drift_json(const struct rp_search_result *result)
{
    json_t *object = json_object();

    set(&object, "checks", json_integer((json_int_t)result->drift_checks));
    set(&object, "largest_change", json_real(result->drift));
    set(&object, "more_than_noise", json_boolean(result->drifted));
    return object;
}

json_t *rp_search_json(const struct rp_search_options *options, const struct rp_runner *runner,
                       const struct rp_search_result *result, const struct rp_search_about *about)
{
    const struct rp_space *space = options->space;
    json_t *root = json_object();

    set(&root, "schema_version", json_string("1.0"));
    set(&root, "space", text_or_null(about->name));
    set(&root, "command", text_or_null(about->command));
    set(&root, "objective", json_string(about->objective));
    set(&root, "device", json_string(runner->device.kind));
    set(&root, "device_name", text_or_null(runner->device.name));
    set(&root, "timing", text_or_null(runner->device.timing));
    set(&root, "rocm", text_or_null(runner->device.rocm));
    set(&root, "strategy", json_string(options->strategy->name));
    set(&root, "seed", json_integer((json_int_t)options->seed));
    set(&root, "workers", json_integer(runner->workers));
    set(&root, "search_space_size", json_integer((json_int_t)space->count));
    set(&root, "max_configs", json_integer((json_int_t)result->most));
    set(&root, "evaluated_configs", json_integer((json_int_t)result->tuned_count));
    set(&root, "ended_by", json_string(rp_search_end_name(result->end)));
    set(&root, "best_config", best_json(space, result));
    set(&root, "confirmed", json_boolean(result->confirmed || runner->exact));
    set(&root, "ties", finalists_json(space, result, true));
    set(&root, "finalists", finalists_json(space, result, false));
    set(&root, "failed_again", lost_json(space, result));
    set(&root, "model", model_json(&result->model));
    set(&root, "warning", result->model.low ? json_string("low_model_confidence") : json_null());
    set(&root, "phases", phases_json(result));
    set(&root, "failures", failures_json(result));
    set(&root, "drift", drift_json(result));
    set(&root, "history", history_json(space, result));
    return root;
}
