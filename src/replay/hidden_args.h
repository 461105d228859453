/**
 * @file hidden_args.h
 * @brief Arguments that the runtime of the captured process has added, and that mean nothing here.
 */
#ifndef RP_REPLAY_HIDDEN_ARGS_H
#define RP_REPLAY_HIDDEN_ARGS_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;

/**
 * Looks in the AMDGPU metadata of a code object for what a kernel wants of the host while it runs.
 * @param symbol  of the kernel, with .kd
 * @return 0; RP_VERDICT: such an argument is set, so that the kernel would wait for the host for
 *         ever; RP_BAD_INPUT: there is no metadata of that kernel
 */
int rp_replay_check_hidden_args(const uint8_t *elf, size_t elf_bytes, const char *symbol,
                                const uint8_t *kernarg, size_t kernarg_bytes, struct rp_err *err);

#endif
