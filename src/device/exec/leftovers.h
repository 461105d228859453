/**
 * @file leftovers.h
 * @brief What LDS, scratch and registers hold before a workgroup has written there.
 *
 * Hardware leaves what was there before. Here all of it begins as zero, so that a program that
 * reads it too early gives the same result every time; or, to find such programs, with words that
 * follow from a seed.
 */
#ifndef RP_DEVICE_EXEC_LEFTOVERS_H
#define RP_DEVICE_EXEC_LEFTOVERS_H

#include <stdbool.h>
#include <stdint.h>

struct rp_resident_group;
struct rp_wave;

#define RP_LEFTOVERS_VARIABLE "ROCM_PERF_DEVICE_LEFTOVERS"

/** Of dispatches that begin from now on. 0: zeros. */
void rp_leftovers_set(uint32_t seed);
uint32_t rp_leftovers(void);
/** @return false: it is not a whole number from 1 to 2^31 - 1 */
bool rp_leftovers_parse(const char *text, uint32_t *ret);

/** LDS and scratch, which are zero. */
void rp_leftovers_in_group(uint32_t seed, struct rp_resident_group *slot);
/**
 * Registers of a wave that is ready to start: but the first row, which holds work-item ids.
 * @param first_sgpr  behind those that the launch sets
 */
void rp_leftovers_in_wave(uint32_t seed, uint32_t vgpr_rows, unsigned first_sgpr,
                          struct rp_wave *w);

#endif
