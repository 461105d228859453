/**
 * @file abi_gate.h
 * @brief Whether another kernel can take the place of the captured one: it reads the arguments as
 * they were written, and what it needs is there.
 */
#ifndef RP_REPLAY_ABI_GATE_H
#define RP_REPLAY_ABI_GATE_H

#include <stdint.h>

struct rp_code_kernel;
struct rp_err;

/** The captured launch. */
struct rp_abi_dispatch {
    const char *gpu; /**< "gfx942" */
    uint32_t workgroup[3], grid[3];
    uint32_t group_bytes; /**< of LDS, what the launch has added to the kernel's own included */
    uint32_t kernarg_bytes;
};

/** LDS that the launch has added to what the kernel declares. */
uint32_t rp_abi_dynamic_group_bytes(const struct rp_code_kernel *original,
                                    const struct rp_abi_dispatch *dispatch);

/** @return 0; RP_VERDICT naming the first difference */
int rp_abi_check(const struct rp_code_kernel *original, const struct rp_code_kernel *candidate,
                 const struct rp_abi_dispatch *dispatch, struct rp_err *err);

#endif
