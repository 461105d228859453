/* Choice of the lane loops for this CPU. */
#include "mem_lanes.h"

#include <stddef.h>

extern const struct rp_mem_lanes rp_lane_base_mem_lanes, rp_lane_v3_mem_lanes, rp_lane_v4_mem_lanes;

const struct rp_mem_lanes *rp_mem_lanes_level(enum rp_lane_level level)
{
    static const struct rp_mem_lanes *const levels[RP_LANE_LEVELS] = {
        [RP_LANE_BASE] = &rp_lane_base_mem_lanes,
        [RP_LANE_V3] = &rp_lane_v3_mem_lanes,
        [RP_LANE_V4] = &rp_lane_v4_mem_lanes,
    };
    /* Any kernel tells whether the CPU has the level. */
    return rp_lane_find_level("v_add_f32", level) ? levels[level] : NULL;
}

const struct rp_mem_lanes *rp_mem_lanes_best(void)
{
    static const struct rp_mem_lanes *best; /* asking the CPU is slow under a hypervisor */
    const struct rp_mem_lanes *lanes = __atomic_load_n(&best, __ATOMIC_RELAXED);
    if (lanes)
        return lanes;
    for (unsigned level = RP_LANE_LEVELS; !lanes && level-- > 0;)
        lanes = rp_mem_lanes_level((enum rp_lane_level)level);
    __atomic_store_n(&best, lanes, __ATOMIC_RELAXED);
    return lanes;
}
