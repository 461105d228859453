#include "collect/tracer.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/device_threads.h"

static const struct {
    enum rp_tracer_wish id;
    const struct rp_tracer *tracer;
} tracers[] = {
#define TRACER(id, name) {RP_TRACER_##id, &rp_tracer_##name},
#include "collect/tracers.def"
#undef TRACER
};

int rp_tracer_parse(const char *word, enum rp_tracer_wish *ret, struct rp_err *err)
{
    if (strcmp(word, "auto") == 0) {
        *ret = RP_TRACER_AUTO;
        return 0;
    }
    for (size_t i = 0; i < sizeof tracers / sizeof *tracers; i++)
        if (strcmp(word, tracers[i].tracer->name) == 0) {
            *ret = tracers[i].id;
            return 0;
        }
    return rp_fail(err, RP_USAGE, "--tracer %s: use auto, rocprofv3 or builtin", word);
}

int rp_tracer_choose(const struct rp_environment *env, enum rp_device device,
                     enum rp_tracer_wish wish, const struct rp_tracer **ret, struct rp_err *err)
{
    if (wish == RP_TRACER_AUTO)
        wish = device == RP_DEVICE_GPU && env->rocprofv3 ? RP_TRACER_ROCPROFV3 : RP_TRACER_BUILTIN;
    if (wish == RP_TRACER_ROCPROFV3 && !env->rocprofv3)
        return rp_fail(err, RP_ENVIRONMENT,
                       "--tracer rocprofv3: there is none in $ROCM_PATH/bin, /opt/rocm/bin or"
                       " $PATH; install the package rocprofiler-sdk, or use --tracer builtin");
    for (size_t i = 0; i < sizeof tracers / sizeof *tracers; i++)
        if (tracers[i].id == wish)
            *ret = tracers[i].tracer;
    return 0;
}

static int trace_threads(const struct rp_run_request *request,
                         const struct rp_thread_trace_options *options, struct rp_run *ret,
                         struct rp_err *err)
{
    struct rp_run_request with = *request;
    const char *before = getenv("ROCM_PERF_DEVICE_TIMING");
    rp_autofree char *timing = before ? strdup(before) : NULL;
    int rc = before && !timing ? rp_fail(err, RP_ENVIRONMENT, "out of memory")
                               : rp_device_threads_ask(options, err);

    with.threads = options;
    if (rc == 0)
        rc = rp_run_program(&with, ret, err);
    rp_device_threads_ask_nothing(timing);
    return rc;
}

const struct rp_tracer rp_tracer_builtin = {
    .name = "builtin",
    .trace = rp_run_program,
    .trace_threads = trace_threads,
};
