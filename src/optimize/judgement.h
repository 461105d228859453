/**
 * @file judgement.h
 * @brief The verdict on a new version of kernels against an old one: is it right, is it faster, by
 *        how much, how sure. docs/judge.md describes the steps.
 */
#ifndef RP_OPTIMIZE_JUDGEMENT_H
#define RP_OPTIMIZE_JUDGEMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "experiment/build_command.h"
#include "experiment/child_run.h"
#include "run/run_program.h"

struct rp_device_identity;
struct rp_err;

enum rp_judgement_verdict {
#define RP_VERDICT_ROW(id, word, status) RP_JUDGED_##id,
#include "optimize/judgement_verdicts.def"
#undef RP_VERDICT_ROW
    RP_JUDGED_COUNT
};

struct rp_judgement_options {
    const char *self;         /**< path of rocm-perf */
    const char *old_version;  /**< a source, a code object, or a folder with one */
    const char *new_version;  /**< the same */
    char *const *program;     /**< the command line that launches it; NULL: captures are there */
    const char *program_path; /**< where its first word was found */
    const char *captures;     /**< a folder of isolate; NULL: of the program */
    struct rp_build_choice build;
    const char *kernel;  /**< a regular expression; NULL: all that differ */
    const char *sizes;   /**< 'ARGS;ARGS': further arguments of the program; NULL */
    const char *compare; /**< as of replay compare; NULL: not said */
    const char *check;   /**< as of rp_program_test_run; NULL: the same output */
    unsigned most_geometries;
    double least_improvement; /**< 0.01 */
    double timeout_s;         /**< of each run of the program; 0: docs/optimize.md */
    const char *device, *timing;
    struct rp_run_options run;           /**< the same, and what else options say of programs */
    const struct rp_device_identity *on; /**< what that, and the environment, come to */
    struct rp_sandbox_choice sandbox;
    const char *folder;                                 /**< of the result and the record */
    void (*progress)(void *context, const char *line);  /**< may be NULL */
    void (*waiting)(void *context, int64_t elapsed_ns); /**< as of struct rp_session_options */
    void *context;
};

/** Release it with rp_judgement_free. */
struct rp_judgement {
    enum rp_judgement_verdict verdict;
    json_t *json;                     /**< judge.json ... */
    char *text;                       /**< ... as it was written, without the newline at its end */
    size_t records;                   /**< that the journal has by now ... */
    char head_sha256[RP_SHA256_TEXT]; /**< ... and the hash of the last, which covers all */
};

/** Returns the word of a verdict: "right and faster". */
const char *rp_judgement_word(enum rp_judgement_verdict verdict);
/** Returns the exit status that stands for it. */
int rp_judgement_status(enum rp_judgement_verdict verdict);

/**
 * Judges, writes judge.json, and adds a record to journal.jsonl, in which each line has the hash of
 * the one before.
 * @return 0 with whatever verdict; RP_USAGE, RP_BAD_INPUT (the old version is not what was
 * captured, or does not compile), RP_ENVIRONMENT, RP_PROGRAM (the program fails as it is),
 * RP_INTERRUPTED
 */
int rp_judgement_make(const struct rp_judgement_options *options, struct rp_judgement *ret,
                      struct rp_err *err);
void rp_judgement_free(struct rp_judgement *judgement);

/* One version of the kernels, as a file of instructions. */

struct rp_version {
    const char *path;   /**< as it was given */
    const char *option; /**< that gave it: "--old" */
    char *file;         /**< the source, or the code object; absolute */
    bool is_source;
    char *hsaco; /**< the code object of one GPU */
    char file_sha256[RP_SHA256_TEXT], hsaco_sha256[RP_SHA256_TEXT];
};

/** Looks at what was given. A folder is one of Triton's cache, or any with one code object.
 * @return 0; RP_BAD_INPUT */
int rp_version_read(const char *option, const char *path, struct rp_version *ret,
                    struct rp_err *err);
/**
 * Makes the code object.
 * @param command of a source
 * @param gpu "gfx942"
 * @param hsaco where it is put
 * @return 0; RP_VERDICT: the source does not compile, or there is no code for that GPU, with the
 * reason; RP_BAD_INPUT ...
 */
int rp_version_make(struct rp_version *version, const struct rp_compile_command *command,
                    const char *gpu, const char *hsaco, struct rp_err *err);
/** Says whether its file is still the one that was read. It is looked at after each use.
 * @return 0; RP_BAD_INPUT */
int rp_version_check(const struct rp_version *version, struct rp_err *err);
/** Accepts zeros. */
void rp_version_free(struct rp_version *version);

#endif
