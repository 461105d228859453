/**
 * @file compile.h
 * @brief Runs compile commands: the user's program from another source, and code objects, each
 *        built twice.
 */
#ifndef RP_EXPERIMENT_COMPILE_H
#define RP_EXPERIMENT_COMPILE_H

#include <stdbool.h>

struct rp_compile_command;
struct rp_err;

/** Says how a build ended. Release it with rp_build_result_free. */
struct rp_build_result {
    bool ok;
    char *output; /**< of the compiler, cut to what a person reads; never NULL */
    char *why;    /**< not ok: half a sentence */
};
void rp_build_result_free(struct rp_build_result *built);

/** Says why it failed, with the first error that the compiler names. The caller frees it. */
char *rp_build_result_reason(const struct rp_build_result *built);

/**
 * Compiles a source.
 * @param arch "gfx942": a code object of its device code; NULL: the whole program
 * @return 0, also when the compiler refuses (ret->ok says so); RP_ENVIRONMENT, RP_USAGE,
 * RP_INTERRUPTED
 */
int rp_compile(const struct rp_compile_command *command, const char *source, const char *arch,
               const char *output, struct rp_build_result *ret, struct rp_err *err);

/**
 * Builds a code object twice.
 * @param ret_same  both files are equal to the byte
 */
int rp_compile_twice(const struct rp_compile_command *command, const char *source, const char *arch,
                     const char *output, struct rp_build_result *ret, bool *ret_same,
                     struct rp_err *err);

/* A virtual file system of clang (-ivfsoverlay) gives another text of a header to everything that
 * includes it, without touching the header. */

#endif
