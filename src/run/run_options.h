/**
 * @file run_options.h
 * @brief How a program runs: on which device, with which model of time, and what the injected
 *        libraries are told. What no option says comes from the variables ROCM_PERF_*; all of it
 *        becomes variables of the program once, when that starts.
 */
#ifndef RP_RUN_RUN_OPTIONS_H
#define RP_RUN_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/process.h"
#include "run/machine.h"

struct rp_err;
struct rp_thread_trace_options;

enum rp_device { RP_DEVICE_AUTO = 0, RP_DEVICE_GPU, RP_DEVICE_SOFTWARE };

/** Says how the software device finds out how long kernels take. */
enum rp_timing_choice { RP_TIMING_UNSAID = 0, RP_TIMING_OFF, RP_TIMING_FAST, RP_TIMING_DETAILED };

/** Zeros mean that nothing was chosen, and a program gets what this process has inherited. The
 * struct owns nothing. */
struct rp_run_options {
    enum rp_device device;    /**< the user's wish; rp_device_resolve makes it GPU or SOFTWARE */
    const char *target;       /**< what the software device is: "gfx942:mi325x". NULL: not said */
    const char *usual_target; /**< what it is where the variable does not say so, either */
    enum rp_timing_choice timing; /**< of the software device */
    uint32_t threads, gpus;       /**< of the software device; 0: not said */
    bool no_hip_calls;            /**< calls of the program to HIP are not recorded */
    bool target_said;             /**< the user knows already that the program has no code for it */
    const char *counters;         /**< of the software device, with commas; "": it counts none */
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

/** Returns "off", "fast" or "detailed", and "" for an unset choice. */
static inline const char *rp_timing_word(enum rp_timing_choice timing)
{
    static const char *const words[] = {[RP_TIMING_UNSAID] = "",
                                        [RP_TIMING_OFF] = "off",
                                        [RP_TIMING_FAST] = "fast",
                                        [RP_TIMING_DETAILED] = "detailed"};

    return words[timing];
}

/** @return UNSAID for any other word */
enum rp_timing_choice rp_timing_parse(const char *word);

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

/** Returns "hardware" or "software", as it stands in results. */
static inline const char *rp_device_label(enum rp_device device)
{
    return device == RP_DEVICE_SOFTWARE ? "software" : "hardware";
}

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

/** Returns "AMD Instinct MI300X (software device, gfx942, 304 CUs)", which the caller frees. NULL
 * means that memory has ended. */
char *rp_device_identity_gpu(const struct rp_device_identity *identity);

/** Returns "fast (version 2)", or "" on a GPU; the caller frees it. NULL means that memory has
 * ended. */
char *rp_device_identity_timing(const struct rp_device_identity *identity);

/** Holds variables for a program. Release it with rp_run_env_free. */
struct rp_run_env {
    struct rp_env_change *list; /**< ended by a NULL name */
    char *values[5];            /**< of those that are made here */
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

#endif
