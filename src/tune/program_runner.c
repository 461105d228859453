#include "tune/program_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/measured_run.h"
#include "run/run_options.h"
#include "tune/command_template.h"
#include "tune/space.h"
#include "tune/worker.h"
#include "tune/worker_protocol.h"

static bool same_model(const struct rp_gpu *a, const struct rp_gpu *b)
{
    return strcmp(a->gfx, b->gfx) == 0 && strcmp(a->product, b->product) == 0 &&
           a->compute_units == b->compute_units;
}

static void put_model(struct rp_buf *to, const char *word, const struct rp_gpu *gpu)
{
    rp_buf_printf(to, "GPU %s is %s (%s, %u CUs)", word, gpu->product[0] ? gpu->product : "unknown",
                  gpu->gfx, gpu->compute_units);
}

/** Adds a GPU to the list; others must be like the first one. */
static int add(struct rp_buf *list, const char *word, const struct rp_gpu *gpu, char *first_word,
               const struct rp_gpu **first, struct rp_err *err)
{
    rp_autobuf models = {0};

    if (!*first) {
        *first = gpu;
        snprintf(first_word, 32, "%s", word);
    }
    if (!same_model(gpu, *first)) {
        put_model(&models, first_word, *first);
        rp_buf_puts(&models, ", ");
        put_model(&models, word, gpu);
        return rp_fail(err, RP_ENVIRONMENT,
                       "--gpus all: %s: times of several models are not compared; name those of "
                       "one, like --gpus %s",
                       rp_buf_text(&models), first_word);
    }
    rp_buf_printf(list, "%s%s", list->len ? "," : "", word);
    return 0;
}

/** The same of a list of GPUs. @param visible  ROCR_VISIBLE_DEVICES; NULL or "": all */
static int rp_gpu_choice_of(const struct rp_gpu *gpus, size_t count, const char *visible,
                            char **ret, struct rp_err *err)
{
    rp_autofree char *words = visible && *visible ? rp_strdup(visible) : NULL;
    const struct rp_gpu *first = NULL;
    char first_word[32] = "", *rest = NULL;
    rp_autobuf list = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && !words && i < count; i++) {
        char word[32];

        snprintf(word, sizeof word, "%zu", i);
        rc = add(&list, word, &gpus[i], first_word, &first, err);
    }
    for (char *word = words ? strtok_r(words, ",", &rest) : NULL; rc == 0 && word;
         word = strtok_r(NULL, ",", &rest)) {
        const struct rp_gpu *gpu = rp_gpus_first_visible(gpus, count, word);

        if (!gpu) /* ROCr looks no further */
            break;
        rc = add(&list, word, gpu, first_word, &first, err);
    }
    if (rc < 0)
        return rc;
    if (!first)
        return rp_fail(err, RP_ENVIRONMENT, "--gpus all: there is no GPU that may be used%s%s",
                       words ? ": ROCR_VISIBLE_DEVICES=" : "", words ? visible : "");
    *ret = rp_buf_steal(&list);
    return 0;
}

static int all_software(size_t count, const char *visible, char **ret, struct rp_err *err)
{
    const struct rp_gpu like = {.product = ""};
    rp_autofree struct rp_gpu *gpus = rp_alloc_zero(count, sizeof *gpus);

    for (size_t i = 0; i < count; i++)
        gpus[i] = like;
    return rp_gpu_choice_of(gpus, count, visible, ret, err);
}

int rp_gpu_choice(const struct rp_run_options *wish, char **ret, struct rp_err *err)
{
    const char *visible = getenv("ROCR_VISIBLE_DEVICES");
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_autofree struct rp_gpu *gpus = NULL;
    struct rp_run_options run = *wish;
    size_t count;
    int rc = rp_environment_detect(&env, err);

    if (rc == 0)
        rc = rp_device_resolve(&env, &run, err);
    if (rc < 0)
        return rc;
    if (run.device == RP_DEVICE_SOFTWARE)
        return all_software(run.gpus ? run.gpus : 1, visible, ret, err);
    rp_gpus_list(RP_GPU_NODES, RP_GPU_FILES, &gpus, &count);
    return rp_gpu_choice_of(gpus, count, visible, ret, err);
}

/**
 * Whether the software device has all of these.
 * @param gpus   numbers, NULL-terminated
 * @param count  how many it has
 * @return 0; RP_USAGE: which one it has not
 */
static int rp_gpu_choice_check_software(const char *const *gpus, size_t count, struct rp_err *err)
{
    for (; *gpus; gpus++) {
        char *end;
        const unsigned long number = strtoul(*gpus, &end, 10);

        if (end == *gpus || *end || number >= count)
            return rp_fail(err, RP_USAGE,
                           "--gpus %s: the software device has %zu (ROCM_PERF_DEVICE_GPUS); more "
                           "workers need no more of them: use --workers",
                           *gpus, count);
    }
    return 0;
}

static const int64_t build_timeout_ns = (int64_t)1800 * 1000000000;
static const double ms_ns = 1e6;

struct live {
    struct rp_program_runner_options o;
    struct rp_template *command, *build;
    struct rp_tune_pool *pool;
    double clock_ms; /**< what our clock said when the search's said 0 */
    bool started;
};

const char *rp_objective_word(enum rp_objective objective)
{
    static const char *const words[] = {[RP_OBJECTIVE_DISPATCH] = "dispatch",
                                        [RP_OBJECTIVE_WALL] = "wall",
                                        [RP_OBJECTIVE_OUTPUT] = "output"};

    return words[objective];
}

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / ms_ns;
}

/* --- templates -------------------------------------------------------------------------------- */

/** Values that reach neither command would be tuned by chance. */
static int check_used(const struct live *l, struct rp_err *err)
{
    const struct rp_space *space = l->o.space;

    for (size_t i = 0; i < space->parameter_count; i++)
        if (space->parameters[i].count > 1 && !rp_template_uses(l->command, i) &&
            !rp_template_uses(l->build, i))
            return rp_fail(err, RP_USAGE,
                           "neither --cmd-template nor --build has {%.60s}, which has several "
                           "values (--env exports all parameters)",
                           space->parameters[i].name);
    return 0;
}

static int parse(struct live *l, struct rp_err *err)
{
    const unsigned part = RP_TEMPLATE_OUTPUT | RP_TEMPLATE_PART;
    int rc = rp_template_parse(l->o.command, l->o.space, l->o.flags | (l->o.build ? part : 0),
                               &l->command, err);

    if (rc < 0)
        return rp_wrap(err, "--cmd-template");
    if (!l->o.build)
        return 0;
    if (rp_template_parse(l->o.build, l->o.space, l->o.flags | part, &l->build, err) < 0)
        return rp_wrap(err, "--build");
    if (!rp_template_has_output(l->build) || !rp_template_has_output(l->command))
        return rp_fail(err, RP_USAGE,
                       "with --build, both commands name the program as {output}: %s does not",
                       rp_template_has_output(l->build) ? "--cmd-template" : "--build");
    return check_used(l, err);
}

static void free_templates(struct live *l)
{
    rp_template_free(l->command);
    rp_template_free(l->build);
}

int rp_program_runner_check(const struct rp_program_runner_options *options, struct rp_err *err)
{
    struct live l = {.o = *options};
    int rc = parse(&l, err);

    free_templates(&l);
    return rc;
}

/* --- requests --------------------------------------------------------------------------------- */

/** The name of the program is made of the command that builds it, as if it were named alike. */
static int fill_build(const struct live *l, size_t config, struct rp_evaluation_request *request,
                      struct rp_err *err)
{
    struct rp_command named = {0};
    int rc = rp_template_fill_output(l->build, l->o.space, config, "output", &named, err);

    if (rc < 0)
        return rc;
    request->build_output = rp_build_output_path(l->o.build_folder, &named);
    rp_command_free(&named);
    request->build_timeout_ns = build_timeout_ns;
    return rp_template_fill_output(l->build, l->o.space, config, request->build_output,
                                   &request->build, err);
}

static int fill_request(const struct live *l, const struct rp_run_job *job,
                        struct rp_evaluation_request *request, struct rp_err *err)
{
    int rc = 0;

    *request =
        (struct rp_evaluation_request){.id = job->number,
                                       .objective = l->o.objective,
                                       .unit_ns = l->o.unit_ns,
                                       .memory_bytes = l->o.memory_bytes,
                                       .timeout_ns = (int64_t)(job->cap_ms * ms_ns),
                                       .warmup_timeout_ns = (int64_t)(job->warmup_cap_ms * ms_ns),
                                       .warmups = job->warmups,
                                       .samples = job->samples,
                                       .pattern = l->o.pattern ? rp_strdup(l->o.pattern) : NULL,
                                       .input = l->o.input ? rp_strdup(l->o.input) : NULL,
                                       .check = l->o.check ? rp_strdup(l->o.check) : NULL};
    if (rc == 0 && l->build)
        rc = fill_build(l, job->config, request, err);
    if (rc == 0)
        rc = rp_template_fill_output(l->command, l->o.space, job->config, request->build_output,
                                     &request->command, err);
    return rc;
}

static int submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct live *l = state;
    rp_cleanup(rp_evaluation_request_free) struct rp_evaluation_request request = {0};

    /* the search's clock is ahead when it has had answers without waiting for them */
    if (!l->started || now_ms() - l->clock_ms < job->begun_ms)
        l->clock_ms = now_ms() - job->begun_ms;
    l->started = true;
    if (fill_request(l, job, &request, err) < 0)
        return -(int)err->code;
    return rp_tune_pool_submit(l->pool, &request, err);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void take(const struct live *l, struct rp_evaluation *from, struct rp_run_answer *ret)
{
    struct rp_run_answer answer = {.number = from->id,
                                   .outcome = from->outcome,
                                   .build_ms = from->built ? (double)from->build_ns / ms_ns : -1,
                                   .run_ms = (double)from->bench_ns / ms_ns,
                                   .warmup_ms = (double)from->warmup_ns / ms_ns,
                                   .at_ms = now_ms() - l->clock_ms,
                                   .reason = rp_steal(from->reason)};

    if (from->outcome == RP_EVALUATION_OK) {
        answer.samples_ms = rp_alloc_zero(from->count + 1, sizeof *answer.samples_ms);
        for (size_t i = 0; i < from->count; i++)
            answer.samples_ms[answer.count++] = from->runtimes_ns[i] / ms_ns;
    }
    *ret = answer;
}

static int next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct live *l = state;
    rp_cleanup(rp_evaluation_free) struct rp_evaluation evaluation = {0};
    int rc = rp_tune_pool_next(l->pool, -1, &evaluation, err);

    if (rc == 0)
        return rp_fail(err, RP_ENVIRONMENT, "no job is out");
    if (rc < 0)
        return rc;
    take(l, &evaluation, ret);
    return 0;
}

int rp_program_runner_open(const struct rp_program_runner_options *options, struct rp_runner *ret,
                           struct rp_err *err)
{
    struct live *l = rp_alloc_zero(1, sizeof *l);
    struct rp_run_options run = options->pool.run;
    const struct rp_worker_hello *hello;
    int rc;

    l->o = *options;
    *ret = (struct rp_runner){.submit = submit, .next = next, .state = l};
    if ((rc = parse(l, err)) < 0 || (rc = rp_tune_pool_open(&options->pool, &l->pool, err)) < 0) {
        rp_program_runner_close(ret);
        return rc;
    }
    hello = rp_tune_pool_device(l->pool);
    /* whoever sees none of its GPUs would fail */
    if (hello->on.software)
        rc = rp_run_options_inherit(&run, err);
    if (rc == 0 && hello->on.software && options->pool.gpus)
        rc = rp_gpu_choice_check_software(options->pool.gpus, run.gpus ? run.gpus : 1, err);
    if (rc < 0) {
        rp_program_runner_close(ret);
        return rc;
    }
    ret->workers = rp_tune_pool_workers(l->pool);
    ret->exact = hello->on.software && options->objective == RP_OBJECTIVE_DISPATCH;
    ret->device = (struct rp_run_device){.kind = hello->on.software ? "software" : "hardware",
                                         .threads = run.threads,
                                         .name = hello->on.gpu,
                                         .rocm = hello->on.rocm,
                                         .timing = hello->on.timing,
                                         .timing_version = hello->on.timing_version};
    return 0;
}

void rp_program_runner_close(struct rp_runner *runner)
{
    struct live *l = runner->state;

    if (l) {
        rp_tune_pool_close(l->pool);
        free_templates(l);
    }
    free(l);
    *runner = (struct rp_runner){0};
}
