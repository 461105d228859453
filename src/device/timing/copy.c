#include "copy.h"

/* Fallbacks for architectures whose data file does not say; see arch/gfx942.c for the sources. */
#define HBM_EFFICIENCY     0.75
#define HBM_LATENCY_CYCLES 900

static double hbm_gbps(const struct rp_arch *arch)
{
    return arch->hbm_peak_gbps * (arch->hbm_efficiency > 0 ? arch->hbm_efficiency : HBM_EFFICIENCY);
}

static double slower(double gbps, double link_gbps)
{
    return link_gbps > 0 && (gbps <= 0 || link_gbps < gbps) ? link_gbps : gbps;
}

uint64_t rp_timing_copy_ticks(const struct rp_arch *arch, uint64_t bytes,
                              enum rp_memory_location source, enum rp_memory_location destination,
                              bool reads, bool follows)
{
    bool both_local = reads && source == RP_PLACE_LOCAL && destination == RP_PLACE_LOCAL;
    double gbps = both_local ? hbm_gbps(arch) / 2 : hbm_gbps(arch);
    if (reads)
        gbps = slower(gbps, rp_timing_link_gbps(arch, source));
    gbps = slower(gbps, rp_timing_link_gbps(arch, destination));
    double seconds = gbps > 0 ? (double)bytes / (gbps * 1e9) : 0;
    if (!follows && arch->engine_clock_mhz) {
        double latency = arch->hbm_latency_cycles ? arch->hbm_latency_cycles : HBM_LATENCY_CYCLES;
        seconds += latency / (arch->engine_clock_mhz * 1e6);
    }
    return (uint64_t)(seconds * arch->timestamp_mhz * 1e6 + 0.5) + 1;
}
