/**
 * @file kernel_launch.h
 * @brief A launch follows from the kernel descriptor: registers, limits,
 * launch state.
 *
 * Layout: LLVM "User Guide for AMDGPU Backend", Kernel Descriptor and Initial Kernel Execution
 * State, gfx90a and gfx942 columns (code object v5 and v6).
 */
#ifndef RP_DEVICE_EXEC_KERNEL_LAUNCH_H
#define RP_DEVICE_EXEC_KERNEL_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "device/isa/wave_state.h"

struct rp_arch;
struct rp_launch;

/** This is a launch that was checked and resolved, with everything that waves need to start. */
struct rp_kernel {
    uint64_t entry_va;
    uint32_t mode;         /**< initial MODE register */
    uint32_t vgpr_rows;    /**< unified allocation: arch + accumulation registers */
    uint32_t accum_offset; /**< first accumulation register */
    uint32_t lds_bytes;    /**< per workgroup, rounded to the granule */
    uint32_t kernarg_bytes;
    uint32_t scratch_lane_bytes;
    uint32_t user_sgpr_count;
    uint32_t sgpr[RP_SGPR_COUNT]; /**< at a wave's start: the user SGPRs, and zeros */
    bool workgroup_id[3];
    bool workgroup_info;
    bool scratch_wave_offset; /**< without architected flat scratch only */
    uint32_t workgroup_size[3];
    uint32_t group_items;     /**< work-items of a full workgroup */
    uint32_t waves_per_group; /**< of a full workgroup */
    uint32_t groups[3];       /**< workgroups per dimension */
    uint64_t group_count;
    uint32_t grid_size[3];
    uint32_t groups_per_cu;   /**< that there is room for, however few there are */
    uint64_t resident_groups; /**< workgroups the hardware would hold at the same time */
    uint32_t resident_waves;  /**< waves of those */
    uint8_t limits;           /**< why a compute unit holds no more: enum rp_rec_limit */
};

/**
 * Checks a launch and resolves it.
 * @return 0, or -1 with *ret_fault filled
 */
int rp_kernel_resolve(struct rp_mem *mem, const struct rp_arch *arch,
                      const struct rp_launch *launch, struct rp_kernel *ret,
                      struct rp_fault *ret_fault);

/** Finds the place of a workgroup in the grid by its number. */
void rp_kernel_group_id(const struct rp_kernel *k, uint64_t linear_id, uint32_t ret_id[3]);

/* What sampled workgroups did, wave by wave: the input of the detailed timing model and of
 * everything else that needs address streams (memory counters, thread traces).
 *
 * Execution stays functional and in any host order. Workgroups that the plan (below) chooses, from
 * the shape of the grid alone, note what they do while they are executed. What a wave did is the
 * same however many threads there are: one wave, one record, written by whoever executes the wave.
 * A record is plain data: nothing in it refers to the executor, so tests can make their own.
 *
 * What was recorded of a dispatch is complete when the dispatch is done. The replay engine
 * (timing_engine.h) turns it into times and counts of requests, hits and conflicts.
 */

/**
 * This says what keeps a compute unit from holding more workgroups; several may do so at the same
 * number.
 */
enum rp_rec_limit {
    RP_REC_BY_SLOTS = 1u << 0, /**< for waves */
    RP_REC_BY_VGPRS = 1u << 1,
    RP_REC_BY_SGPRS = 1u << 2,
    RP_REC_BY_LDS = 1u << 3,
    RP_REC_BY_BARRIERS = 1u << 4,
};

#endif
