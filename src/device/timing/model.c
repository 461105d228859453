#include "model.h"

#include "../exec/wave.h"
#include "arch/arch.h"
#include "copy.h"
#include "engine.h"

/*
 * Fallbacks for architectures whose data file does not say, both measured on MI300X:
 * - sustained share of the HBM peak: mt4g report of 2025-08-08, MI300X VF, read 3,690 GiB/s of
 *   5.3 TB/s = 0.75; AMD's BabelStream acceptance floors are 0.69 to 0.79 of it;
 * - load to use after missing all caches: mt4g, same report, mean 900 clocks at 2.1 GHz.
 */
#define HBM_EFFICIENCY     0.75
#define HBM_LATENCY_CYCLES 900

/* CDNA3: 128 bytes per clock and compute unit (LDS of 32 banks of 4 bytes). */
static double lds_bytes_per_clock(const struct rp_arch *arch)
{
    return arch->lds_banks ? arch->lds_banks * 4.0 : 128.0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Both directions at once, each at the link's rate. All peers count as one. */
static double link_seconds(const struct rp_arch *arch, const struct rp_counts *c,
                           enum rp_memory_location place)
{
    double gbps = rp_timing_link_gbps(arch, place);
    double bytes = larger((double)c->link_bytes[place][0], (double)c->link_bytes[place][1]);
    return gbps > 0 ? bytes / (gbps * 1e9) : 0;
}

uint64_t rp_timing_dispatch_ticks(const struct rp_arch *arch, const struct rp_counts *c)
{
    double engine_hz = arch->engine_clock_mhz * 1e6;
    uint64_t simds = (uint64_t)arch->compute_units * arch->simds_per_cu;
    uint64_t used_simds = c->waves < simds ? c->waves : simds;
    uint64_t used_cus = c->waves < arch->compute_units ? c->waves : arch->compute_units;
    double efficiency = arch->hbm_efficiency > 0 ? arch->hbm_efficiency : HBM_EFFICIENCY;
    double latency = arch->hbm_latency_cycles ? arch->hbm_latency_cycles : HBM_LATENCY_CYCLES;

    double cycles = (double)c->max_wave_cycles;
    if (used_simds)
        cycles = larger(cycles, (double)c->issue_cycles / (double)used_simds);
    if (used_cus)
        cycles =
            larger(cycles, (double)c->lds_bytes / (lds_bytes_per_clock(arch) * (double)used_cus));
    double seconds = cycles / engine_hz;
    if (arch->hbm_peak_gbps > 0)
        seconds = larger(seconds, (double)(c->read_bytes + c->write_bytes) /
                                      (arch->hbm_peak_gbps * 1e9 * efficiency));
    seconds = larger(seconds, link_seconds(arch, c, RP_PLACE_PEER));
    seconds = larger(seconds, link_seconds(arch, c, RP_PLACE_HOST));
    seconds += latency / engine_hz;
    return (uint64_t)(seconds * arch->timestamp_mhz * 1e6 + 0.5) + 1;
}

uint64_t rp_timing_replay_ticks(const struct rp_arch *arch, const struct rp_counts *c,
                                const struct rp_timing_stats *stats)
{
    const double engine_hz = arch->engine_clock_mhz * 1e6;
    const bool whole = !stats->sampled && !stats->cut_waves;
    const double longest = whole ? 0 : (double)c->max_wave_cycles;
    double seconds = larger(stats->clocks, longest) / engine_hz;
    seconds = larger(seconds, link_seconds(arch, c, RP_PLACE_PEER));
    seconds = larger(seconds, link_seconds(arch, c, RP_PLACE_HOST));
    seconds += arch->timing->launch_clocks / engine_hz;
    return (uint64_t)(seconds * arch->timestamp_mhz * 1e6 + 0.5) + 1;
}
