/**
 * @file copy.h
 * @brief How long a DMA engine's copy takes on the modelled GPU.
 */
#ifndef RP_DEVICE_TIMING_COPY_H
#define RP_DEVICE_TIMING_COPY_H

#include <stdbool.h>
#include <stdint.h>

struct rp_arch;

/** Where memory is, seen from the GPU whose engine copies. */
enum rp_place {
    RP_PLACE_LOCAL = 0, /**< its own HBM */
    RP_PLACE_PEER,      /**< another GPU's HBM */
    RP_PLACE_HOST,      /**< behind the host link */
};

/**
 * Modelled duration of one copy or fill command: its bytes over the slowest link they cross, or
 * read and written at the sustained bandwidth of the local memory when they cross none.
 * @param source RP_PLACE_LOCAL for a fill, which reads nothing (@p reads false)
 * @param follows the engine was already copying: the first access's latency is hidden
 * @return ticks of the device clock, at least 1
 */
uint64_t rp_timing_copy_ticks(const struct rp_arch *arch, uint64_t bytes, enum rp_place source,
                              enum rp_place destination, bool reads, bool follows);

#endif
