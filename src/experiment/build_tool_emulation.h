/**
 * @file build_tool_emulation.h
 * @brief Which commands a build tool would run to make the program of a source file. The tool lists
 *        them; nothing of the build is run, nothing in the user's tree is written.
 */
#ifndef RP_EXPERIMENT_BUILD_TOOL_EMULATION_H
#define RP_EXPERIMENT_BUILD_TOOL_EMULATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "experiment/compiler_options.h"

struct rp_err;

/** A call of a compiler, ar or ranlib. */
struct rp_build_step {
    char *directory; /**< in which it runs; absolute */
    char *output;    /**< absolute: what it writes */
    struct rp_words words;
};

/** Release with rp_build_steps_free. */
struct rp_build_steps {
    struct rp_build_step *list;
    size_t count;
};

void rp_build_steps_free(struct rp_build_steps *steps);

/** Whether a command is one of make, ninja and cmake --build. */
bool rp_build_is_tool(const struct rp_words *build);

/**
 * Asks the tool.
 * @param source  absolute
 * @param all     make: all commands of the build, else those that a change of the source needs
 * (which makes of makes do not find)
 * @return 0; RP_USAGE with what the tool says when it refuses; RP_ENVIRONMENT
 */
int rp_build_steps_list(const struct rp_words *build, const char *source, bool all,
                        struct rp_build_steps *ret, struct rp_err *err);

/**
 * Leaves those that make the program of the source, one after the other: the first compiles it.
 * @param program  absolute; NULL, or made by none of them: the only one that is linked
 * @return whether there are any; when the program is not among what they make, only the first
 */
bool rp_build_steps_keep(struct rp_build_steps *steps, const char *source, const char *program);

#endif
