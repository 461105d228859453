/**
 * @file other_launch.h
 * @brief A kernel that takes the captured one's place with workgroups of another size: how it is
 * launched is read from a capture of the program that launches it so.
 */
#ifndef RP_REPLAY_OTHER_LAUNCH_H
#define RP_REPLAY_OTHER_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/launch_changes.h"
#include "trace/capture.h"

struct rp_code_arg;
struct rp_code_kernel;
struct rp_err;
struct rp_replay;
struct rp_replay_launch_change;

/** This is a launch, with which a candidate must be compatible. */
struct rp_abi_dispatch {
    const char *gpu; /**< "gfx942" */
    uint32_t workgroup[3], grid[3];
    uint32_t dimensions;
    uint32_t group_bytes; /**< of LDS, what the launch has added to the kernel's own included */
    uint32_t dynamic_group_bytes; /**< ... what it has added */
    uint32_t kernarg_bytes;       /**< of the captured launch */
};

struct rp_abi_dispatch rp_abi_dispatch_of(const struct rp_snapshot_dispatch *d, const char *gpu);

/** Finds the number of a launch that the runtime would write for an argument.
 * @return false: it is no number of the launch alone */
bool rp_launch_number(const struct rp_code_arg *arg, const struct rp_abi_dispatch *d,
                      uint32_t *ret);

/**
 * Reads the launch of another capture, which has to be one of the same kernel with the same
 * arguments: then only its workgroups are others.
 * @param original  the captured kernel
 * @param kernarg   its arguments
 * @return 0; RP_VERDICT: it differs in more than its workgroups; RP_BAD_INPUT: it cannot be read
 */
int rp_other_launch_read(const struct rp_replay *r, const char *folder,
                         const struct rp_code_kernel *original, const uint8_t *kernarg,
                         struct rp_snapshot_dispatch *ret, struct rp_err *err);

/** Makes what is to be changed of the captured launch for a kernel that is launched so. */
void rp_other_launch_make(const struct rp_code_kernel *kernel,
                          const struct rp_abi_dispatch *dispatch,
                          const struct rp_snapshot_dispatch *launch,
                          struct rp_replay_launch_change *ret);

/**
 * Makes grids of fewer workgroups for both launches, of the captured kernel and of the other one,
 * that have as much to do: so many workgroups of the one stand for one of the other.
 * @param d  the captured launch
 * @return NULL; or why there are none
 */
const char *rp_other_launch_fewer(const struct rp_snapshot_dispatch *d,
                                  const struct rp_replay_launch_change *launch,
                                  enum rp_grid_way way, uint32_t ret_grid[3],
                                  uint32_t ret_other[3]);

/** Says whether both launches have as many work-items: then sizes for which memory has room are for
 * both. */
bool rp_other_launch_has_same_items(const struct rp_snapshot_dispatch *d,
                                    const struct rp_replay_launch_change *launch);

/** Writes the runtime's arguments of the launch. @param ret_was  what was there, to be put back */
void rp_other_launch_put(const struct rp_replay_launch_change *launch, uint8_t *kernarg,
                         uint32_t ret_was[]);
void rp_other_launch_put_back(const struct rp_replay_launch_change *launch, uint8_t *kernarg,
                              const uint32_t was[]);

#endif
