/**
 * @file unit_includes.h
 * @brief Whether the file that is compiled (--unit) includes the header whose kernels are changed.
 */
#ifndef RP_OPTIMIZE_UNIT_INCLUDES_H
#define RP_OPTIMIZE_UNIT_INCLUDES_H

struct rp_compile_command;
struct rp_err;

/**
 * Asks the compiler, which takes a second: for where a kernel was not found.
 * @param source  the header
 * @param arch    "gfx942"
 * @return 0: the source is compiled itself, or included; RP_BAD_INPUT with the remedy: it is not;
 *         RP_ENVIRONMENT
 */
int rp_unit_check_includes(const struct rp_compile_command *command, const char *source,
                           const char *arch, struct rp_err *err);

#endif
