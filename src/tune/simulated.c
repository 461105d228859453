#include "tune/simulated.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tune/recorded.h"

struct out {
    uint64_t number; /**< 0: this worker has nothing to do */
    size_t config;
    double ends_ms;
};

struct simulated {
    const struct rp_recorded *recorded;
    struct out *out; /**< one per worker */
    unsigned workers;
};

double rp_simulated_ms(const struct rp_recorded *recorded, size_t config)
{
    const struct rp_recorded_run *run = &recorded->runs[config];

    return run->median_ms > 0 ? run->median_ms : run->runtime_ms;
}

static double at_least_0(double ms)
{
    return ms > 0 ? ms : 0;
}

static double run_ms(const struct rp_recorded *recorded, size_t config)
{
    const struct rp_recorded_run *run = &recorded->runs[config];

    return run->bench_ms > 0 || !run->ok ? at_least_0(run->bench_ms)
                                         : rp_simulated_ms(recorded, config);
}

static int submit(void *state, const struct rp_run_job *job, struct rp_err *err)
{
    struct simulated *s = state;

    for (unsigned i = 0; i < s->workers; i++)
        if (!s->out[i].number) {
            s->out[i] =
                (struct out){.number = job->number,
                             .config = job->config,
                             .ends_ms = job->begun_ms + run_ms(s->recorded, job->config) +
                                        at_least_0(s->recorded->runs[job->config].compile_ms)};
            return 0;
        }
    return rp_fail(err, RP_ENVIRONMENT, "more jobs than workers");
}

static struct out *first_out(const struct simulated *s)
{
    struct out *first = NULL;

    for (unsigned i = 0; i < s->workers; i++)
        if (s->out[i].number &&
            (!first || s->out[i].ends_ms < first->ends_ms ||
             (s->out[i].ends_ms == first->ends_ms && s->out[i].number < first->number)))
            first = &s->out[i];
    return first;
}

static bool due_ms(void *state, double *ret_ms, uint64_t *ret_number)
{
    const struct out *first = first_out(state);

    if (first) {
        *ret_ms = first->ends_ms;
        *ret_number = first->number;
    }
    return first != NULL;
}

static int next(void *state, struct rp_run_answer *ret, struct rp_err *err)
{
    struct simulated *s = state;
    const struct rp_recorded_run *run;
    struct out *first = first_out(s);
    struct rp_run_answer answer = {0};

    if (!first)
        return rp_fail(err, RP_ENVIRONMENT, "no job is out");
    run = &s->recorded->runs[first->config];
    answer = (struct rp_run_answer){.number = first->number,
                                    .outcome = run->ok ? RP_EVALUATION_OK : RP_EVALUATION_FAILED,
                                    .samples_ms = run->ok ? malloc(sizeof(double)) : NULL,
                                    .reason = run->ok ? NULL : strdup("recorded as a failure"),
                                    .build_ms = run->compile_ms,
                                    .run_ms = run_ms(s->recorded, first->config),
                                    .at_ms = first->ends_ms};
    if (run->ok ? !answer.samples_ms : !answer.reason)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (run->ok)
        answer.samples_ms[answer.count++] = rp_simulated_ms(s->recorded, first->config);
    first->number = 0;
    *ret = answer;
    return 0;
}

int rp_simulated_open(const struct rp_recorded *recorded, unsigned workers, struct rp_runner *ret,
                      struct rp_err *err)
{
    struct simulated *s = calloc(1, sizeof *s);
    struct out *out = calloc(workers, sizeof *out);

    if (!s || !out) {
        free(s);
        free(out);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *s = (struct simulated){.recorded = recorded, .out = out, .workers = workers};
    *ret = (struct rp_runner){
        .workers = workers,
        .exact = true,
        .device = {.kind = "recorded", .name = recorded->device, .rocm = "", .timing = ""},
        .submit = submit,
        .next = next,
        .due_ms = due_ms,
        .state = s,
    };
    return 0;
}

void rp_simulated_close(struct rp_runner *runner)
{
    struct simulated *s = runner->state;

    if (s)
        free(s->out);
    free(s);
    *runner = (struct rp_runner){0};
}
