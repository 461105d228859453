/**
 * @file hidden_args.h
 * @brief Arguments that the runtime of the captured process has added, and that mean nothing here.
 */
#ifndef RP_REPLAY_HIDDEN_ARGS_H
#define RP_REPLAY_HIDDEN_ARGS_H

#include <stddef.h>
#include <stdint.h>

struct rp_code_kernel;
struct rp_err;

/**
 * Looks among the arguments of a kernel for what it wants of the host while it runs.
 * @return 0; RP_VERDICT: such an argument is set, so that the kernel would wait for the host for
 *         ever
 */
int rp_replay_check_hidden_args(const struct rp_code_kernel *kernel, const uint8_t *kernarg,
                                size_t kernarg_bytes, struct rp_err *err);

#endif
