#include "tune/search_json.h"

#include <string.h>

#include "base/buf.h"
#include "base/journal.h"
#include "tune/json_build.h"
#include "tune/json_space.h"
#include "tune/space.h"
#include "tune/strategy.h"

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

json_t *rp_search_parameters(const struct rp_space *space, size_t config)
{
    json_t *object = json_object();

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value = rp_space_value(space, config, i);

        if (value)
            rp_json_set(&object, space->parameters[i].name, rp_json_of_value(value));
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

    rp_json_set(&object, "parameters", rp_search_parameters(space, finalist->config));
    rp_json_set(&object, "runtime_ms", json_real(finalist->runtime_ms));
    rp_json_set(&object, "interval_ms",
                json_pack("[f,f]", finalist->interval.low_ms, finalist->interval.high_ms));
    rp_json_set(&object, "interval_confidence", json_real(finalist->interval.confidence));
    rp_json_set(&object, "samples", json_integer((json_int_t)finalist->sample_count));
    return object;
}

/** The only configuration of a space is its best one, though nobody knows how fast it is. */
static json_t *only_json(const struct rp_space *space)
{
    json_t *object = json_object();

    rp_json_set(&object, "parameters", rp_search_parameters(space, 0));
    rp_json_set(&object, "runtime_ms", json_null());
    rp_json_set(&object, "interval_ms", json_null());
    rp_json_set(&object, "interval_confidence", json_null());
    rp_json_set(&object, "samples", json_integer(0));
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
            rp_json_append(&array, finalist_json(space, &result->finalists[i]));
    return array;
}

/** Those that worked, and failed when they were run again: no one knows how fast they are. */
static json_t *lost_json(const struct rp_space *space, const struct rp_search_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->lost_count; i++)
        rp_json_append(&array, rp_search_parameters(
                                   space, result->finalists[result->finalist_count + i].config));
    return array;
}

static json_t *known(const struct rp_confidence *model, double value)
{
    return model->known ? json_real(value) : json_null();
}

static json_t *model_json(const struct rp_confidence *model)
{
    json_t *object = json_object();

    rp_json_set(&object, "samples", json_integer((json_int_t)model->samples));
    rp_json_set(&object, "r2", known(model, model->r2));
    rp_json_set(&object, "rank_correlation", known(model, model->spearman));
    rp_json_set(&object, "residual_std", known(model, model->residual_std));
    rp_json_set(&object, "interval_coverage", known(model, model->coverage));
    rp_json_set(&object, "expected_gain_left", known(model, model->gain_left));
    return object;
}

static json_t *phase_json(const char *name, const struct rp_phase_sum *sum)
{
    json_t *object = json_object();

    rp_json_set(&object, "name", json_string(name));
    rp_json_set(&object, "configurations", json_integer((json_int_t)sum->configs));
    rp_json_set(&object, "runs", json_integer((json_int_t)sum->runs));
    rp_json_set(&object, "duration_ms", clock_ms(sum->ms));
    return object;
}

static json_t *phases_json(const struct rp_search_result *result)
{
    json_t *array = json_array();

    rp_json_append(&array, phase_json("seed", &result->seed));
    rp_json_append(&array, phase_json("predict", &result->predict));
    rp_json_append(&array, phase_json("confirm", &result->confirm));
    return array;
}

static json_t *tuned_json(const struct rp_space *space, const struct rp_tuned *tuned,
                          size_t evaluation)
{
    json_t *object = json_object();
    const bool ok = tuned->outcome == RP_EVALUATION_OK;

    rp_json_set(&object, "evaluation", json_integer((json_int_t)evaluation));
    rp_json_set(&object, "parameters", rp_search_parameters(space, tuned->config));
    rp_json_set(&object, "runtime_ms", ok ? json_real(tuned->runtime_ms) : json_null());
    rp_json_set(&object, "outcome", json_string(rp_evaluation_outcome_word(tuned->outcome)));
    rp_json_set(&object, "reason", text_or_null(tuned->reason));
    rp_json_set(&object, "samples", json_integer((json_int_t)tuned->sample_count));
    rp_json_set(&object, "phase", json_string(tuned->phase));
    rp_json_set(&object, "at_ms", clock_ms(tuned->at_ms));
    return object;
}

static json_t *history_json(const struct rp_space *space, const struct rp_search_result *result)
{
    json_t *array = json_array();

    for (size_t i = 0; i < result->tuned_count; i++)
        rp_json_append(&array, tuned_json(space, &result->tuned[i], i + 1));
    return array;
}

static json_t *failures_json(const struct rp_search_result *result)
{
    size_t counts[RP_EVALUATION_NO_TIME + 1] = {0};
    json_t *object = json_object();

    for (size_t i = 0; i < result->tuned_count; i++)
        counts[result->tuned[i].outcome]++;
    for (int i = RP_EVALUATION_OK + 1; i <= RP_EVALUATION_NO_TIME; i++)
        rp_json_set(&object, rp_evaluation_outcome_word((enum rp_evaluation_outcome)i),
                    json_integer((json_int_t)counts[i]));
    return object;
}

static json_t *drift_json(const struct rp_search_result *result)
{
    json_t *object = json_object();

    rp_json_set(&object, "checks", json_integer((json_int_t)result->drift_checks));
    rp_json_set(&object, "largest_change", json_real(result->drift));
    rp_json_set(&object, "more_than_noise", json_boolean(result->drifted));
    rp_json_set(&object, "failed", json_integer((json_int_t)result->drift_failures));
    rp_json_set(&object, "reason", text_or_null(result->drift_reason));
    return object;
}

json_t *rp_search_json(const struct rp_search_options *options, const struct rp_runner *runner,
                       const struct rp_search_result *result, const struct rp_search_about *about)
{
    const struct rp_space *space = options->space;
    json_t *root = json_object();

    rp_json_set(&root, "schema_version", json_string("1.0"));
    rp_json_set(&root, "space", text_or_null(about->name));
    rp_json_set(&root, "command", text_or_null(about->command));
    rp_json_set(&root, "objective", json_string(about->objective));
    rp_json_set(&root, "device", json_string(runner->device.kind));
    rp_json_set(&root, "device_name", text_or_null(runner->device.name));
    rp_json_set(&root, "timing", text_or_null(runner->device.timing));
    rp_json_set(&root, "rocm", text_or_null(runner->device.rocm));
    rp_json_set(&root, "strategy", json_string(options->strategy->name));
    rp_json_set(&root, "seed", json_integer((json_int_t)options->seed));
    rp_json_set(&root, "workers", json_integer(runner->workers));
    rp_json_set(&root, "search_space_size", json_integer((json_int_t)space->count));
    rp_json_set(&root, "max_configs", json_integer((json_int_t)result->most));
    rp_json_set(&root, "evaluated_configs", json_integer((json_int_t)result->tuned_count));
    rp_json_set(&root, "ended_by", json_string(rp_search_end_name(result->end)));
    rp_json_set(&root, "best_config", best_json(space, result));
    rp_json_set(&root, "confirmed", json_boolean(result->confirmed || runner->exact));
    rp_json_set(&root, "ties", finalists_json(space, result, true));
    rp_json_set(&root, "finalists", finalists_json(space, result, false));
    rp_json_set(&root, "failed_again", lost_json(space, result));
    rp_json_set(&root, "model", model_json(&result->model));
    rp_json_set(&root, "warning",
                result->model.low ? json_string("low_model_confidence") : json_null());
    rp_json_set(&root, "phases", phases_json(result));
    rp_json_set(&root, "failures", failures_json(result));
    rp_json_set(&root, "drift", drift_json(result));
    rp_json_set(&root, "history", history_json(space, result));
    return root;
}
