/**
 * @file build_cache.h
 * @brief Programs that build commands make, kept by what was asked of the compiler: configurations
 *        that differ only in what the program is told when it runs share one.
 */
#ifndef RP_TUNE_BUILD_CACHE_H
#define RP_TUNE_BUILD_CACHE_H

struct rp_command;
struct rp_err;
struct rp_evaluation;
struct rp_evaluation_request;
struct rp_evaluator;

/**
 * Where the program of a build command goes: FOLDER/<sha256 of its words and variables>/program.
 * @param folder   absolute, and not for builds from sources that may have changed since
 * @param command  filled with a text for {output} that is the same for all (RP_TEMPLATE_OUTPUT)
 * @return owned; NULL: out of memory
 */
char *rp_build_output(const char *folder, const struct rp_command *command);

/**
 * Builds the program of a request unless it is there; another worker that is at it is waited for. A
 * build that failed is not kept.
 * @param ret  its outcome becomes NOT_BUILT when there is none then; build times are added
 * @return as rp_evaluate
 */
int rp_build_program(const struct rp_evaluator *evaluator,
                     const struct rp_evaluation_request *request, struct rp_evaluation *ret,
                     struct rp_err *err);

#endif
