/**
 * @file program_test.h
 * @brief Runs the whole program with one build of its kernels or another, and finds whether its
 * output is right, and how long its kernels take.
 */
#ifndef RP_OPTIMIZE_PROGRAM_TEST_H
#define RP_OPTIMIZE_PROGRAM_TEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "experiment/build_command.h"
#include "experiment/child_run.h"
#include "experiment/judge.h"
#include "optimize/kernel_facts.h"

/** Holds what a run has printed to stdout, and how it ended. Release it with rp_output_free. */
struct rp_output {
    int status; /**< exit status, or 128 + signal */
    char sha256[RP_SHA256_TEXT];
    uint64_t bytes;
    bool checked;    /**< by the user's own command ... */
    bool right;      /**< ... which said yes */
    char *why;       /**< the program did not come to its end; NULL */
    char *check_why; /**< the command said no, or could not say anything; NULL */
    char *said;      /**< last lines: of the command when it did not say yes, else the program's
                          stderr. It may be another text each time. NULL: taken from the journal */
};
void rp_output_free(struct rp_output *output);

/**
 * Runs the program on the device.
 * @param program instead of the first word of measure->program
 * @param what RP_RUN_KIND_ORIGINAL: its output is kept, for rp_output_differs to show
 * @param check NULL, or a command for /bin/sh that ends with 0 when the program is right: its
 * standard input is the program's output, $ROCM_PERF_PROGRAM the program, $ROCM_PERF_STATUS its
 * exit status
 * @return 0, however the program ends; RP_ENVIRONMENT, RP_INTERRUPTED; RP_VERDICT: the time of
 * --budget was over
 */
int rp_program_test_run(const struct rp_child_context *measure, const char *program,
                        enum rp_run_kind what, const char *check, struct rp_output *ret,
                        struct rp_err *err);

/** Says why the output of the last run, of another build, is not right. NULL means that it is. The
 * caller frees it. */
char *rp_output_differs(const struct rp_child_context *measure, const struct rp_output *before,
                        const struct rp_output *after);

/** Says whether the first line that differs of these outputs has the same text, and numbers that
 * are another one by at most that much, or by a thousandth: sums of many results round at each
 * step. */
bool rp_output_differs_by_digits(const struct rp_child_context *measure, double allowed);

/**
 * Profiles the program.
 * @param what RP_RUN_KIND_TRACED: with everything for the analysis; else times only
 * @return 0; RP_PROGRAM when it fails; RP_ENVIRONMENT ...; RP_VERDICT: the time of --budget was
 * over
 */
int rp_program_test_profile(const struct rp_child_context *measure, const char *program,
                            enum rp_run_kind what, const char *output, struct rp_facts *ret,
                            struct rp_err *err);

/** Returns "1 of its 2 launch calls started no kernel: HIP refused them", which the caller owns. */
char *rp_program_test_failed_launches(const struct rp_facts *facts);

/** Measures times of both builds by dispatch timestamps, from interleaved runs. */
struct rp_program_times {
    double before_ms, after_ms;               /**< all dispatches; medians of the runs */
    double kernel_before_ns, kernel_after_ns; /**< of the changed kernels together */
    /** With counts timing: minimum and maximum of these; 0s: there are none. */
    struct rp_program_bounds {
        double before_ns[2], after_ns[2];
    } whole, kernel;
    /** The same as ratios of time before / time after, with their intervals. */
    struct rp_program_ratio {
        double ratio, low, high;
    } whole_ratio, kernel_ratio;
    double launches[2]; /**< before and after, of a changed kernel where both differ; else 0s */
    bool measured;      /**< in several pairs of runs, so that these ratios are known */
    bool several;       /**< it may be more than one kernel that has changed */
    bool from_counts;   /**< with counts timing, which tells nothing apart without bounds */
    json_t *runs;       /**< [{"before_ms", "after_ms"}] */
    json_t *slower;     /**< other kernels that take longer by more than the margin */
};
void rp_program_times_free(struct rp_program_times *times);

/**
 * @param symbols of the changed kernels; NULL at the end
 * @param pairs runs of each; 1 where times are modelled
 * @param margin 0.02
 * @param ret_why NULL: there are times; else the reason, that the program `after` fails; to be
 * freed
 * @return 0; negative also when the program `before` fails
 */
int rp_program_times(const struct rp_child_context *measure, const char *before, const char *after,
                     const char *const *symbols, unsigned pairs, double margin,
                     struct rp_program_times *ret, char **ret_why, struct rp_err *err);

/** Says whether bounds of the times are known on both sides. */
bool rp_program_has_bounds(const struct rp_program_bounds *b);

/**
 * Decides by the times whether the program is faster: the kernel is, and all kernels together do
 * not take longer by more than the margin. Measured times have to show it by their intervals.
 * @param why half a sentence with the numbers
 * @return ACCEPTED, PROGRAM_SLOWER, or UNDECIDED, where times are known by their bounds only, or
 * measured with too much noise, or of more or fewer launches
 */
enum rp_outcome rp_program_times_judge(const struct rp_program_times *t, double margin,
                                       char why[200]);

/** This is how a build of the program is tried. All pointers are borrowed. */
struct rp_program_trial {
    const struct rp_child_context *measure; /**< says by how much it is to be faster */
    const struct rp_compile_command *command;
    const struct rp_output *expected; /**< what the program gives as it is */
    const char *check;                /**< as of rp_program_test_run */
    const char *const *symbols;       /**< of rp_program_times, for times */
    bool modelled;                    /**< times are */
};

/**
 * Builds the program of a source, and checks its output.
 * @param runs how often
 * @param ret_why NULL: it is right; else what is wrong with it, to be freed
 */
int rp_program_trial_build(const struct rp_program_trial *trial, const char *source,
                           const char *program, unsigned runs, char **ret_why, struct rp_err *err);

/**
 * Builds it, checks the output of two runs, and takes its times against those of another build.
 * @param ret to be freed in any case
 */
int rp_program_trial_run(const struct rp_program_trial *trial, const char *source,
                         const char *before, const char *program, struct rp_program_times *ret,
                         char **ret_why, struct rp_err *err);

#endif
