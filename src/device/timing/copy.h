/**
 * @file copy.h
 * @brief How long a DMA engine's copy takes on the modelled GPU.
 */
#ifndef RP_DEVICE_TIMING_COPY_H
#define RP_DEVICE_TIMING_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

/** Where memory is, seen from the GPU whose engine copies. */
enum rp_memory_location {
    RP_PLACE_LOCAL = 0, /**< its own HBM */
    RP_PLACE_PEER,      /**< another GPU's HBM */
    RP_PLACE_HOST,      /**< behind the host link */
    RP_PLACES,
};

/** Payload over the link to such memory, one direction; 0 = no link is crossed, or not known. */
static inline double rp_timing_link_gbps(const struct rp_arch *arch, enum rp_memory_location place)
{
    if (place == RP_PLACE_LOCAL || (place == RP_PLACE_HOST && arch->apu))
        return 0; /* an APU's processor has the same memory */
    bool direct = place == RP_PLACE_PEER && arch->peer_link_gbps > 0;
    return direct ? arch->peer_link_gbps : arch->host_link_gbps; /* else through the host */
}

/**
 * Modelled duration of one copy or fill command: its bytes over the slowest link they cross, or
 * read and written at the sustained bandwidth of the local memory when they cross none.
 * @param source RP_PLACE_LOCAL for a fill, which reads nothing (@p reads false)
 * @param follows the engine was already copying: the first access's latency is hidden
 * @return ticks of the device clock, at least 1
 */
uint64_t rp_timing_copy_ticks(const struct rp_arch *arch, uint64_t bytes,
                              enum rp_memory_location source, enum rp_memory_location destination,
                              bool reads, bool follows);

#endif
