/**
 * @file tracers.h
 * @brief Who records a run: rocprofv3, or the built-in collector. They are interchangeable.
 */
#ifndef RP_RUN_TRACERS_H
#define RP_RUN_TRACERS_H

#include <stdbool.h>
#include <stddef.h>

#include "run/run_program.h"

struct rp_err;

/* The command line of rocprofv3 for one run of the program. */

/** As the user wrote them; NULL = rocprofv3's default. */
struct rp_thread_trace_options {
#define NUMBER(member, ...) const char *member;
#define WORD(member, ...)   const char *member;
#include "run/thread_trace_options.def"
#undef NUMBER
#undef WORD
    bool serialize_all; /**< run all kernels one after the other, not only the traced ones */
    /** For tracers that do not know names for people: the symbols that kernels selects of those
     *  that the program has launched before, NULL-terminated. */
    const char *const *symbols;
};

enum rp_tracer_request {
    RP_TRACER_AUTO = 0,
#define TRACER(id, name) RP_TRACER_##id,
#include "run/tracers.def"
#undef TRACER
};

struct rp_tracer {
    const char *name;
    bool shows_log; /**< its log is on standard error already */
    /** Owned by the caller; NULL = unknown. NULL: that of this program. */
    char *(*version)(const struct rp_environment *env);
    /** Runs the program once; as rp_run_program. */
    int (*trace)(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err);
    /** With hardware counters: one pass (counter_plan.h), NULL-terminated. NULL: cannot. */
    int (*count)(const struct rp_run_request *request, const char *const *counters,
                 struct rp_run *ret, struct rp_err *err);
    /** With a thread trace; the built-in tracer: on the software device. NULL: cannot. */
    int (*trace_threads)(const struct rp_run_request *request,
                         const struct rp_thread_trace_options *options, struct rp_run *ret,
                         struct rp_err *err);
};

/** "auto", "rocprofv3", "builtin". @return 0 or RP_USAGE */
int rp_tracer_parse(const char *word, enum rp_tracer_request *ret, struct rp_err *err);

/**
 * Resolves AUTO: rocprofv3 on a GPU where there is one, else the built-in collector.
 * @param device  resolved
 * @return 0, or RP_ENVIRONMENT when rocprofv3 was asked for and is not there
 */
int rp_tracer_choose(const struct rp_environment *env, enum rp_device device,
                     enum rp_tracer_request wish, const struct rp_tracer **ret, struct rp_err *err);

#define TRACER(id, name) extern const struct rp_tracer rp_tracer_##name;
#include "run/tracers.def"
#undef TRACER

#endif
