/**
 * @file run_program.h
 * @brief How to start a program on a device, traced or not, and who records a run: rocprofv3, or
 *        the built-in tracer.
 */
#ifndef RP_RUN_RUN_PROGRAM_H
#define RP_RUN_RUN_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "base/process.h"
#include "run/run_options.h"
#include "trace/offload_bundle.h"

/** This is a command that is ready for rp_proc_run. Release it with rp_launch_free. */
struct rp_launch_plan {
    char *path;
    char **argv; /**< NULL-terminated; strings owned by path, loader args or caller */
    struct rp_run_env env;
    char *loader_args[4]; /**< what stands before the program when the private loader runs it */
    char *executable;     /**< absolute path of the user's program */
};

/**
 * Plans how to start a program.
 * @param options resolved
 * @param argv program and arguments; must outlive the plan, as what options point to
 * @return 0; RP_USAGE when the program cannot be found; RP_ENVIRONMENT when a library is missing
 */
int rp_launch_plan(const struct rp_environment *env, const struct rp_run_options *options,
                   char *const *argv, struct rp_launch_plan *ret, struct rp_err *err);
void rp_launch_free(struct rp_launch_plan *plan);

/* This section says which GPUs a program file has device code for. */

/**
 * Says whether a program's device code is certainly for something else than @p gfx ("gfx942") with
 * XNACK on or off.
 */
enum rp_offload_fit rp_program_fits_gpu(const char *path, const char *gfx, bool xnack,
                                        char *ret_targets, size_t room);

/* One run of the program has a request and a result. It runs under the built-in collector, or
 * untraced for the wall clock; other tracers are below. */

/** profile gives this advice where it has nothing to profile. A command that runs profile by itself
 * prints something else. */
#define RP_WALLCLOCK_INSTEAD "; --no-rocprof times the whole process instead"

struct rp_run_request {
    const struct rp_environment *env;
    const struct rp_run_options *options; /**< resolved; who traces says where */
    char *const *argv;
    bool traced;
    bool log;                            /**< the collector writes tracer.log into out_dir */
    const char *out_dir;                 /**< where the databases go */
    const char *db_prefix;               /**< "trace": trace_results.db, trace_2_results.db, ... */
    int stdin_fd;                        /**< for the program; 0 = inherit */
    int stdout_fd;                       /**< for the program; -1 = inherit */
    int stderr_fd;                       /**< the same, and for its tracer; 0 = inherit */
    int64_t timeout_ns;                  /**< 0 = none */
    const struct rp_proc_limits *limits; /**< of the program; NULL: none */
};

/** Release it with rp_run_free. */
struct rp_run {
    struct rp_proc_end end;
    char **db_paths; /**< one per process that used the GPU, in order of start */
    size_t db_count;
    size_t threads_elsewhere; /**< thread traces of GPUs that options leave out */
    char *thread_trace;       /**< folder with decoded thread traces; NULL: none */
    bool too_much;            /**< no result: the GPU cannot count all of it in one run */
    char **warnings;          /**< of the tracer, what the user must know */
    size_t warning_count;
};

/**
 * Runs the program once and turns what its processes recorded into rocpd databases, also when the
 * program failed (ret->end tells).
 * @return 0; RP_USAGE (not a program), RP_ENVIRONMENT, RP_BAD_INPUT (damaged record file),
 *         RP_INTERRUPTED
 */
int rp_run_program(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err);
void rp_run_free(struct rp_run *run);

/** Makes "DIR/PREFIX_results.db", "DIR/PREFIX_2_results.db" ...: the database of the n-th process.
 */
static inline char *rp_run_db_path(const struct rp_run_request *request, size_t number)
{
    if (number == 1)
        return rp_format("%s/%s_results.db", request->out_dir, request->db_prefix);
    return rp_format("%s/%s_%zu_results.db", request->out_dir, request->db_prefix, number);
}

/* This section makes the command line of rocprofv3 for one run of the program. */

/** The values are as the user wrote them; NULL stands for rocprofv3's default. */
struct rp_thread_trace_options {
#define NUMBER(member, ...) const char *member;
#define WORD(member, ...)   const char *member;
#include "run/thread_trace_options.def"
#undef NUMBER
#undef WORD
    bool serialize_all; /**< run all kernels one after the other, not only the traced ones */
    /** Tracers that do not know names for people get the symbols that kernels selects of those that
     * the program has launched before, NULL-terminated. */
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
    /** Returns the version, owned by the caller; NULL when it is unknown. A NULL function stands
     * for the version of this program. */
    char *(*version)(const struct rp_environment *env);
    /** Runs the program once.
     * @return as rp_run_program */
    int (*trace)(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err);
    /** Runs it with hardware counters: one pass (profile_session.h), NULL-terminated. A tracer that
     * cannot do it has NULL. */
    int (*count)(const struct rp_run_request *request, const char *const *counters,
                 struct rp_run *ret, struct rp_err *err);
    /** Runs it with a thread trace; the built-in tracer can do that on the software device. A
     * tracer that cannot do it has NULL. */
    int (*trace_threads)(const struct rp_run_request *request,
                         const struct rp_thread_trace_options *options, struct rp_run *ret,
                         struct rp_err *err);
};

/** Reads "auto", "rocprofv3" or "builtin".
 * @return 0 or RP_USAGE */
int rp_tracer_parse(const char *word, enum rp_tracer_request *ret, struct rp_err *err);

/**
 * Resolves AUTO: rocprofv3 on a GPU where there is one, else the built-in collector.
 * @param device resolved
 * @return 0, or RP_ENVIRONMENT when rocprofv3 was asked for and is not there
 */
int rp_tracer_choose(const struct rp_environment *env, enum rp_device device,
                     enum rp_tracer_request wish, const struct rp_tracer **ret, struct rp_err *err);

#define TRACER(id, name) extern const struct rp_tracer rp_tracer_##name;
#include "run/tracers.def"
#undef TRACER

#endif
