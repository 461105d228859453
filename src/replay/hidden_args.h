/**
 * @file hidden_args.h
 * @brief Arguments that the runtime of the captured process has added, and that mean nothing here.
 */
#ifndef RP_REPLAY_HIDDEN_ARGS_H
#define RP_REPLAY_HIDDEN_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_code_kernel;
struct rp_err;

struct rp_kernarg {
    const uint8_t *bytes;
    size_t size;
    /** Whether memory at an address is in the capture. */
    bool (*is_captured)(const void *data, uint64_t address);
    const void *data;
};

/**
 * Looks among the arguments of a kernel for what it wants of the process that was captured.
 * @return 0; RP_VERDICT: such an argument is set, so that the kernel would wait for the host for
 *         ever, or reach for memory that is not here; RP_BAD_INPUT: the metadata is damaged
 */
int rp_replay_check_hidden_args(const struct rp_code_kernel *kernel,
                                const struct rp_kernarg *kernarg, struct rp_err *err);

#endif
