/**
 * @file ci_config.h
 * @brief What a repository asks of `rocm-perf ci`: its programs and their limits (docs/ci.md).
 */
#ifndef RP_CLI_CI_CONFIG_H
#define RP_CLI_CI_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "experiment/output_compare.h"

struct rp_err;

enum rp_ci_check {
#define RP_CI_CHECK(id, name, kinds, preset, what) RP_CI_CHECK_##id,
#include "cli/ci_checks.def"
#undef RP_CI_CHECK
    RP_CI_CHECKS
};
extern const char *const rp_ci_check_names[];

/** How much worse than the base a program may be; NAN: as much as it likes. */
struct rp_ci_limits {
#define RP_CI_LIMIT(member, most, kind, condition, what) double member;
#include "cli/ci_limits.def"
#undef RP_CI_LIMIT
};

/** Texts are those of the file. */
struct rp_ci_program {
    const char *name;
    char *folder; /**< a name for its folder: that of the program, or one that is like it */
    struct rp_word_list command;
    struct rp_word_list sources; /**< whose kernels judge compares */
    struct rp_word_list outputs; /**< files that it writes */
    struct rp_word_list gates;   /**< as of `compare --gate` */
    const char *flags;           /**< how the sources are compiled; NULL: not said */
    struct rp_ci_limits limits;
    bool checks[RP_CI_CHECKS];
    struct rp_output_bound tolerance;
    bool output;        /**< what it prints must be the same */
    bool allow_missing; /**< kernels of the base may be gone */
    double status;      /**< with which it ends when nothing is wrong */
};

enum { RP_CI_TIMINGS = 3 };
/** What "timing" may be, in the order of the option's choices. */
extern const char *const rp_ci_timings[];

/** Initialise it with zeros, and release it with rp_ci_config_free. */
struct rp_ci_config {
    const char *path; /**< for messages */
    const char *build, *device, *timing;
    double runs; /**< of each side; 0: one on the software device, ten on a GPU */
    double timeout_s;
    struct rp_ci_program *programs;
    size_t program_count;
    json_t *root;
};

/**
 * Reads the text of a configuration. All that is wrong with it is one error, with the key and what
 * to write.
 * @param path for messages; borrowed
 * @return 0; RP_USAGE
 */
int rp_ci_config_parse(const char *text, const char *path, struct rp_ci_config *ret,
                       struct rp_err *err);
void rp_ci_config_free(struct rp_ci_config *config);

#endif
