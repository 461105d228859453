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

#include "arch/arch.h"
#include "base/path.h"
#include "base/process.h"
#include "run/machine.h"
#include "trace/code_object.h"

struct rp_err;
struct rp_kept_counters;
struct rp_loader_words;
struct rp_thread_trace_options;

/* How a program runs: on which device, with which model of time, and what the injected libraries
 * are told. What no option says comes from the variables ROCM_PERF_*; all of it becomes variables
 * of the program once, when that starts. */

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

enum rp_device { RP_DEVICE_AUTO = 0, RP_DEVICE_GPU, RP_DEVICE_SOFTWARE };

/** Says how the software device finds out how long kernels take. */
enum rp_timing_choice {
    RP_TIMING_UNSAID = 0,
    RP_TIMING_OFF,
    RP_TIMING_COUNTS,
    RP_TIMING_DETAILED,
    RP_TIMING_WARM, /**< detailed, and caches keep what launches leave in them */
};

/** Zeros mean that nothing was chosen, and a program gets what this process has inherited. The
 * struct owns nothing. */
struct rp_run_options {
    enum rp_device device;    /**< the user's wish; rp_device_resolve makes it GPU or SOFTWARE */
    const char *target;       /**< what the software device is: "gfx942:mi325x". NULL: not said */
    const char *usual_target; /**< what it is where the variable does not say so, either */
    enum rp_timing_choice timing; /**< of the software device */
    uint32_t threads, gpus;       /**< of the software device; 0: not said */
    uint32_t clock_mhz;           /**< engine clock that it models; 0: not said, the highest */
    bool takes_clock;  /**< a lower one than the highest may be modelled: no verdict needs times */
    bool no_hip_calls; /**< calls of the program to HIP are not recorded */
    bool call_sites;   /**< calls of HIP are recorded with their lines, if anything is */
    bool selected_regions;   /**< only between roctxProfilerResume and roctxProfilerPause */
    const char *roctx_range; /**< only within ROCTx ranges of this name; NULL: anywhere */
    bool target_said;        /**< the user knows already that the program has no code for it */
    const char *counters;    /**< of the software device, with commas; "": it counts none */
    const struct rp_thread_trace_options *thread_trace; /**< of the software device; NULL: none */
    const char *trace_dir;            /**< folder for the tracer's record files; NULL: no tracing */
    const char *tracer_log;           /**< file for the tracer's raw log; NULL: none */
    const char *capture_socket;       /**< who waits for captured dispatches; NULL: nobody */
    const struct rp_env_change *more; /**< variables of a configuration, ended by a NULL name */
};

/**
 * Reads --device: "auto", "gpu", "software" or "software:TARGET", TARGET as of rp_arch_select.
 * @return 0, or RP_USAGE for another word or a target that the software device cannot be
 */
int rp_device_parse(const char *word, struct rp_run_options *ret, struct rp_err *err);

/** @return UNSAID for any other word */
enum rp_timing_choice rp_timing_parse(const char *word);

/** Lets the variable for it say today's name where it says an old one, also to programs that this
 * one starts. To be called before there are threads.
 * @return whether it did */
bool rp_timing_rename(void);

/** Returns the model of time of a run on the software device: what was said, or else the best that
 * there is of its target.
 */
enum rp_timing_choice rp_timing_in_force(const struct rp_run_options *options);

/** Returns the engine clock that the software device models in place of its GPU's highest, or 0. */
uint32_t rp_clock_modelled(const struct rp_run_options *options);

/**
 * Takes settings of the software device that no option gives from the variables.
 * @return 0; RP_USAGE: a variable has a value that the software device does not understand, or
 * settings exclude each other
 */
int rp_run_options_inherit(struct rp_run_options *options, struct rp_err *err);

/**
 * Resolves AUTO, checks that the device can be used here, and lets the options of the software
 * device inherit.
 * @return 0; RP_USAGE; RP_ENVIRONMENT with the one command that helps
 */
int rp_device_resolve(const struct rp_environment *env, struct rp_run_options *options,
                      struct rp_err *err);

/** Returns the GPU that the software device is. */
struct rp_arch rp_software_gpu(const struct rp_run_options *options);

/* Times belong to a GPU, its ROCm, and a model of time. Times that differ in any of these are not
 * compared. */

/** Release it with rp_device_identity_free. */
struct rp_device_identity {
    bool software;           /**< the software device: its times are modelled */
    char *gfx;               /**< "gfx942" */
    char *gpu;               /**< product: "AMD Instinct MI300X"; "": not in our table */
    uint32_t compute_units;  /**< 0: not known */
    int64_t node;            /**< number of the GPU for the driver of its host; -1: software */
    char *rocm;              /**< "7.2.4"; "": not known */
    char *timing;            /**< model of time of the software device; "" on a GPU */
    uint32_t timing_version; /**< of that model; 0 on a GPU */
};

/**
 * Finds what a program runs on: the first GPU that it sees, or the software device.
 * @param options resolved
 * @return 0; RP_ENVIRONMENT
 */
int rp_device_identify(const struct rp_environment *env, const struct rp_run_options *options,
                       struct rp_device_identity *ret, struct rp_err *err);

/** Accepts zeros. */
void rp_device_identity_free(struct rp_device_identity *identity);

/** Returns "AMD Instinct MI300X (software device, gfx942, 304 CUs)", which the caller frees. */
char *rp_device_identity_gpu(const struct rp_device_identity *identity);

/** Returns "fast (version 2)", or "" on a GPU; the caller frees it. */
char *rp_device_identity_timing(const struct rp_device_identity *identity);

/** Holds variables for a program. Release it with rp_run_env_free. */
struct rp_run_env {
    struct rp_env_change *list; /**< ended by a NULL name */
    char *values[8];            /**< of those that are made here */
};

/**
 * This is the one place that makes variables of options.
 * @param env NULL: for a program that injects the libraries itself, as rocm-perf does
 * @return 0; RP_ENVIRONMENT: a library is missing
 */
int rp_run_env_make(const struct rp_environment *env, const struct rp_run_options *options,
                    struct rp_run_env *ret, struct rp_err *err);
/** Accepts zeros. */
void rp_run_env_free(struct rp_run_env *env);

/** This is a command that is ready for rp_proc_run. Release it with rp_launch_free. */
struct rp_launch_plan {
    char *path;
    char **argv; /**< NULL-terminated; strings owned by words, named or caller */
    struct rp_run_env env;
    struct rp_loader_words *words; /**< of the command when another loader starts the program */
    char *executable;              /**< absolute path of the user's program */
    char *named;                   /**< the same as the user named it, with links in it */
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

/**
 * Says which loader starts the programs that may need ROCm (base/program_loader.h). That of the
 * private ROCm brings its newer libc to a machine of an older one; a machine with that libc, or a
 * newer one, has the right loader, which only has to be told where ROCm is.
 * @param machine_libc version of the machine's libc: "2.36"
 * @return owned by the caller; NULL: with an installed ROCm programs start as they are
 */
char *rp_loader_setting(const struct rp_environment *env, const char *machine_libc);

/* This section says which GPUs a program file has device code for. */

/**
 * Says whether a program's device code is certainly for something else than @p gfx ("gfx942") with
 * XNACK on or off.
 */
enum rp_offload_fit rp_program_fits_gpu(const char *path, const char *gfx, bool xnack,
                                        char *ret_targets, size_t room);

/** profile gives this advice where it has nothing to profile. A command that runs profile by itself
 * prints something else. */
#define RP_WALLCLOCK_INSTEAD "; --no-rocprof times the whole process instead"

/** Says when a run is recorded; all 0: from its start to its end. */
struct rp_recording_window {
    int64_t delay_ns;    /**< after the start of the program */
    int64_t duration_ns; /**< then it is over, and the program is asked to end; 0: not limited */
    bool start_paused;   /**< until SIGUSR1 comes; SIGUSR2 pauses it in any case */
};

/* One run of the program has a request and a result. It runs under the built-in collector, or
 * untraced for the wall clock; other tracers are below. */

struct rp_run_request {
    const struct rp_environment *env;
    const struct rp_run_options *options; /**< resolved; who traces says where */
    char *const *argv;
    int pid; /**< of a process that runs already, as argv: it is recorded and goes on; 0: none.
              * The tracer's check_attach has accepted it */
    bool traced;
    bool log;           /**< the collector writes tracer.log into out_dir */
    const char *run_id; /**< of a run of which this is a part, as one rank; NULL: of none */
    uint32_t ranks;     /**< that run has so many; 0: it is of none */
    struct rp_recording_window window; /**< the tracer's check_window has accepted it */
    bool survives_signals;   /**< a signal that asks to stop ends the program alone (ret->end) */
    const char *out_dir;     /**< where the databases go */
    const char *db_prefix;   /**< "trace": trace_results.db, trace_2_results.db, ... */
    int stdin_fd, stdout_fd; /**< for the program; 0 = inherit */
    int stderr_fd;           /**< the same, and for its tracer; 0 = inherit */
    int64_t timeout_ns;      /**< 0 = none */
    const struct rp_proc_limits *limits; /**< of the program; NULL: none */
    struct rp_kept_counters *kept; /**< takes counters of the built-in tracer; NULL: databases do */
};

/** Release it with rp_run_free. */
struct rp_run {
    struct rp_proc_end end;
    char **db_paths; /**< one per process that used the GPU, in order of start */
    size_t db_count;
    size_t threads_elsewhere; /**< thread traces of GPUs that options leave out */
    char *thread_trace;       /**< folder with decoded thread traces; NULL: none */
    char *decoder_said;       /**< why these may be empty; NULL: nothing */
    bool trace_is_whole;      /**< rocprofv3 had written all before a signal killed the process */
    bool window_over;         /**< it was asked to end because recording was over */
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

/**
 * Turns the records that a rocm-perf has left in @p folder, which was killed before it did so
 * itself, into databases in that folder, trace_results.db the first. Without records it makes
 * nothing.
 * @return 0; RP_ENVIRONMENT; RP_BAD_INPUT (damaged record file)
 */
int rp_convert_left_records(const struct rp_environment *env, const char *folder,
                            struct rp_err *err);

/** Returns RP_STORE_PART_TAG of a run, or NULL: a --duration that the program did not reach cuts
 * nothing. */
const char *rp_recorded_part(const struct rp_recording_window *window, const struct rp_run *run);

/** Who ends under rocprofv3 may write for so long. */
#define RP_MOST_WRITING_NS (INT64_C(180) * 1000000000)

/** Asks the program to end when recording is over: as Ctrl-C would, then more clearly. Times are
 * since its start. */
struct rp_recording_end {
    int64_t at_ns;       /**< when recording is over */
    size_t asked;        /**< how often it was */
    int64_t asked_at_ns; /**< for the last time */
    int64_t busy_at_ns;  /**< then a tracer that must not be disturbed still worked; 0: none does */
};

/** This is rp_proc.waiting with a struct rp_recording_end. */
void rp_recording_end(void *context, int64_t elapsed_ns);

enum rp_tracer_request {
    RP_TRACER_AUTO = 0,
#define TRACER(id, name) RP_TRACER_##id,
#include "run/tracers.def"
#undef TRACER
};

struct rp_tracer {
    const char *name;
    bool shows_log; /**< its log is on standard error already */
    bool switched;  /**< SIGUSR1 and SIGUSR2 switch what it records */
    /** Returns the version, owned by the caller; NULL when it is unknown. A NULL function stands
     * for the version of this program. */
    char *(*version)(const struct rp_environment *env);
    /** Runs the program once.
     * @return as rp_run_program */
    int (*trace)(const struct rp_run_request *request, struct rp_run *ret, struct rp_err *err);
    /** Says whether it can record such a part of a run.
     * @return 0; RP_USAGE with the option and the remedy. A NULL function stands for any part. */
    int (*check_window)(const struct rp_recording_window *window,
                        const struct rp_run_options *options, struct rp_err *err);
    /** Says whether it can record a process that runs already.
     * @return 0; RP_ENVIRONMENT with the remedy. A tracer that never can has NULL. */
    int (*check_attach)(const struct rp_environment *env, struct rp_err *err);
    /** Runs it with hardware counters: one pass, NULL-terminated. A tracer that
     * cannot do it has NULL. */
    int (*count)(const struct rp_run_request *request, const char *const *counters,
                 struct rp_run *ret, struct rp_err *err);
    /** Says in advance that there will be no thread trace, and why, in the words of RP_ENVIRONMENT.
     * NULL: nothing can be said. */
    int (*check_threads)(const struct rp_environment *env,
                         const struct rp_thread_trace_options *options, struct rp_err *err);
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

/** Returns "off", "counts", "detailed" or "warm", and "" for an unset choice. */
static inline const char *rp_timing_word(enum rp_timing_choice timing)
{
    static const char *const words[] = {[RP_TIMING_UNSAID] = "",
                                        [RP_TIMING_OFF] = "off",
                                        [RP_TIMING_COUNTS] = "counts",
                                        [RP_TIMING_DETAILED] = "detailed",
                                        [RP_TIMING_WARM] = "warm"};

    return words[timing];
}

/** Returns "hardware" or "software", as it stands in results. */
static inline const char *rp_device_label(enum rp_device device)
{
    return device == RP_DEVICE_SOFTWARE ? "software" : "hardware";
}

/** Makes "DIR/PREFIX_results.db", "DIR/PREFIX_2_results.db" ...: the database of the n-th process.
 */
static inline char *rp_run_db_path(const struct rp_run_request *request, size_t number)
{
    if (number == 1)
        return rp_format("%s/%s_results.db", request->out_dir, request->db_prefix);
    return rp_format("%s/%s_%zu_results.db", request->out_dir, request->db_prefix, number);
}

#endif
