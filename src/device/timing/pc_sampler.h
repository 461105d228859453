/**
 * @file pc_sampler.h
 * @brief Samples the program counters of a dispatch at modelled times, as the driver's host traps
 * do.
 *
 * The driver traps at equal intervals, each time all waves that are in one slot of one SIMD of
 * every compute unit; the next time it is the turn of the next slot, and behind the last one of the
 * next SIMD (kgd_gfx_v9_trigger_pc_sample_trap of AMD's public driver). What is sampled is the
 * instruction that the wave has come to, until it comes to the next one: hardware, which is late,
 * may name one of the next two.
 */
#ifndef RP_DEVICE_TIMING_PC_SAMPLER_H
#define RP_DEVICE_TIMING_PC_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

struct rp_arch;
struct rp_dispatch;

/** Says when traps come: at epoch, epoch + interval ... in ticks of the device clock. */
struct rp_pc_sampler_times {
    uint64_t epoch_ticks, interval_ticks; /**< interval 0: nobody samples */
};

struct rp_pc_sample {
    uint64_t ticks;
    uint64_t pc, exec;
    uint32_t group_id[3];
    uint32_t wave;            /**< in its workgroup */
    uint16_t xcc, engine, cu; /**< the engine of its die, the unit of its engine */
    uint8_t simd, slot;
};

/**
 * Simulates a dispatch that is done and was recorded with launch.keeps_masks. Of a sample of
 * workgroups only these are sampled.
 * @param arch  the GPU, or what a queue's CU mask leaves of it
 * @param start_ticks  when it began
 * @param ret  by time, for free(); may be NULL with a count of 0
 * @param ret_lost  how many more there would be: only the first four million are kept
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
int rp_dispatch_sample(struct rp_dispatch *d, const struct rp_arch *arch,
                       const struct rp_pc_sampler_times *times, uint64_t start_ticks,
                       struct rp_pc_sample **ret, size_t *ret_count, uint64_t *ret_lost);

#endif
