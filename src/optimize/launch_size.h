/**
 * @file launch_size.h
 * @brief The named constants of a source file that decide how large the workgroups of a kernel are
 * where it is launched, and the file with another value of one.
 *
 * A constant is found by the tokens of the file: it has a plain number for its value, as in
 * `enum { BLOCK = 64 };`, `constexpr int BLOCK = 64;` or `#define BLOCK 64`, and its name stands in
 * the size of workgroups of a launch, `kernel<<<grid, BLOCK>>>` or hipLaunchKernelGGL, or in the
 * declaration of what stands there, `dim3 threads(16, ROWS)`. What the change does is not decided
 * here: the program is built with it, and shows how the kernel is launched then.
 */
#ifndef RP_OPTIMIZE_LAUNCH_SIZE_H
#define RP_OPTIMIZE_LAUNCH_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_compile_command;
struct rp_err;
struct rp_kernel_source;
struct rp_proposal;
struct rp_proposer_input;

struct rp_launch_constant {
    char *name;
    uint64_t value;
    size_t begin, end; /**< of the number in the file */
    uint32_t line;
    bool in_grid;   /**< the number of workgroups depends on it, too */
    unsigned times; /**< that it stands in the size of workgroups: `dim3(SIDE, SIDE)` */
};

/**
 * Finds them for a kernel that was read, those first on which the number of workgroups depends,
 * too; the source gets them. Of what stands between #if and #endif only that counts which the
 * compiler takes.
 * @return 0, also with none; RP_INTERRUPTED, RP_ENVIRONMENT
 */
int rp_launch_constants_find(const struct rp_compile_command *command, const char *arch,
                             struct rp_kernel_source *source, struct rp_err *err);

/** Makes the whole file with another value of a constant. Free it. */
char *rp_launch_size_text(const struct rp_kernel_source *source,
                          const struct rp_launch_constant *constant, uint64_t value);

/**
 * Proposes workgroups of 256 work-items, and then of other sizes. Four sizes are tried at most, and
 * no further one of a constant with which the program does something else.
 * @param partly_empty_only  only where workgroups do not fill their waves
 * @return as propose() of struct rp_proposer, with .workgroup set and the whole file as text
 */
int rp_launch_size_propose(const struct rp_proposer_input *input, bool partly_empty_only,
                           struct rp_proposal *ret);

/** This is the change of a constant. */
struct rp_launch_size {
    const struct rp_launch_constant *constant;
    uint64_t value; /**< the new one */
};

/**
 * Checks that a text is the whole file with another number for one of the constants.
 * @return 0; RP_VERDICT: it is not
 */
int rp_launch_size_check(const struct rp_kernel_source *source, const char *text, size_t bytes,
                         struct rp_launch_size *ret, struct rp_err *err);

#endif
