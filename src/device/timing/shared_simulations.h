/**
 * @file shared_simulations.h
 * @brief This header lets launches that do the same have one simulation.
 *
 * A simulation depends on nothing but its key: the code, the geometry, what was executed, what the
 * recorded waves did and touched (so lines of each level, conflicts of the LDS and atomics are
 * equal, too), the machine, and what its caches hold at the start. The time is therefore the same
 * whether a launch finds another one's simulation or not. The floor of the time
 * (timing_model.h) is not shared: each launch has its own counts.
 */
#ifndef RP_DEVICE_TIMING_SHARED_SIMULATIONS_H
#define RP_DEVICE_TIMING_SHARED_SIMULATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/timing/timing_counters.h"
#include "device/timing/timing_engine.h"
#include "device/timing/wave_record.h"

struct rp_arch;
struct rp_counts;

/** What the modelled caches hold when a dispatch starts is a number: this one for nothing. */
enum { RP_CACHES_COLD = 0 };

/** Launches with equal keys do the same on the modelled machine. It has no padding. */
struct rp_simulation_key {
    uint64_t caches;      /**< what they hold at the start */
    uint64_t machine[2];  /**< hash of what differs among GPUs and CU masks */
    uint64_t geometry[2]; /**< of the plan of the record, and of what a workgroup holds */
    uint64_t code[2];     /**< of the instructions that were executed */
    uint64_t counts[2];   /**< of what was executed of the whole dispatch */
    uint64_t work[2];     /**< of what recorded waves executed and accessed, line by line */
};

/** This is what a simulation gives. */
struct rp_shared_simulation {
    struct rp_timing_stats stats;
    bool counted; /**< the rest is known */
    struct rp_cache_result cache_result;
    struct rp_wave_sums wave_sums;
};

/** Makes the key of a record whose code is resolved. */
struct rp_simulation_key rp_simulation_key_of(const struct rp_arch *arch,
                                              const struct rp_counts *counts,
                                              const struct rp_wave_record *record, uint64_t caches);

/** Returns the number of what a renumbered record has in the caches. */
uint64_t rp_simulation_caches(const struct rp_wave_record *record);

/** Returns a number for what a key's launch does, whatever is in the caches. */
uint64_t rp_simulation_work(const struct rp_simulation_key *key);

/**
 * Finds a simulation with that key.
 * @param counted  one that has counted
 * @return false: there is none
 */
bool rp_shared_simulation_find(const struct rp_simulation_key *key, bool counted,
                               struct rp_shared_simulation *ret);

/** Keeps a simulation for later launches. Without memory for it these are simulated. */
void rp_shared_simulation_keep(const struct rp_simulation_key *key,
                               const struct rp_shared_simulation *simulation);

/** Forgets all, and frees their memory. */
void rp_shared_simulations_forget(void);

#endif
