#include "device/timing/timing_model.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_engine.h"

/* This is the only context of the file: the mode, -1 before it is read. It is global because the
 * mode is that of the process: its variable is read once, and every kernel and copy asks for it.
 */
static int chosen = -1;

int rp_timing_mode_of(const char *text)
{
    static const char *const names[] = {
        [RP_TIMING_COUNTS] = "counts",
        [RP_TIMING_DETAILED] = "detailed",
        [RP_TIMING_OFF] = "off",
    };
    if (!strcmp(text, "warm"))
        return RP_TIMING_DETAILED;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(rp_timing_model_today(text), names[i]))
            return i;
    return -1;
}

static const char *timing_said(void)
{
    return getenv("ROCM_PERF_DEVICE_TIMING");
}

bool rp_timing_keeps_caches(void)
{
    return timing_said() && !strcmp(timing_said(), "warm");
}

enum rp_timing_mode rp_timing_mode(void)
{
    int mode = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (mode >= 0)
        return (enum rp_timing_mode)mode;
    const char *text = timing_said();
    mode = text ? rp_timing_mode_of(text) : -1;
    if (mode < 0)
        mode = RP_TIMING_DETAILED;
    __atomic_store_n(&chosen, mode, __ATOMIC_RELAXED);
    return (enum rp_timing_mode)mode;
}

enum rp_timing_mode rp_timing_mode_for(const struct rp_arch *arch)
{
    const enum rp_timing_mode mode = rp_timing_mode();
    return mode == RP_TIMING_DETAILED && !arch->timing ? RP_TIMING_COUNTS : mode;
}

void rp_timing_set_mode(enum rp_timing_mode mode)
{
    __atomic_store_n(&chosen, (int)mode, __ATOMIC_RELAXED);
}

void rp_timing_set_timed(bool timed)
{
    __atomic_store_n(&chosen, timed ? -1 : RP_TIMING_OFF, __ATOMIC_RELAXED);
}

/**
 * Returns the payload over the link to such memory in one direction; 0 means that no link is
 * crossed, or that it is unknown.
 */
static inline double timing_link_gbps(const struct rp_arch *arch, enum rp_memory_location place)
{
    if (place == RP_PLACE_LOCAL || (place == RP_PLACE_HOST && arch->apu))
        return 0; /* An APU's processor has the same memory. */
    bool direct = place == RP_PLACE_PEER && arch->peer_link_gbps > 0;
    /* Otherwise the copy goes through the host. */
    return direct ? arch->peer_link_gbps : arch->host_link_gbps;
}

/* These are fallbacks for architectures whose data file does not say; the sources are in
 * arch/gfx942.c.
 */
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
        gbps = slower(gbps, timing_link_gbps(arch, source));
    gbps = slower(gbps, timing_link_gbps(arch, destination));
    double seconds = gbps > 0 ? (double)bytes / (gbps * 1e9) : 0;
    if (!follows && arch->engine_clock_mhz) {
        double latency = arch->hbm_latency_cycles ? arch->hbm_latency_cycles : HBM_LATENCY_CYCLES;
        seconds += latency / (arch->engine_clock_mhz * 1e6);
    }
    return (uint64_t)(seconds * arch->timestamp_mhz * 1e6 + 0.5) + 1;
}

/* CDNA3 has 128 bytes per clock and compute unit (LDS of 32 banks of 4 bytes). */
static double lds_bytes_per_clock(const struct rp_arch *arch)
{
    return arch->lds_banks ? arch->lds_banks * 4.0 : 128.0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Both directions work at once, each at the link's rate. All peers count as one. */
static double link_seconds(const struct rp_arch *arch, const struct rp_counts *c,
                           enum rp_memory_location place)
{
    double gbps = timing_link_gbps(arch, place);
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

/* ---- the floor ----------------------------------------------------------------------------- */

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* How much more the dispatch did than what was replayed of it. Where waves differ, the lower of two
 * estimates is taken, because a floor must hold. */
static double scale_of(const struct rp_counts *c, const struct rp_timing_stats *stats)
{
    if (!stats->waves || !stats->insts || (!stats->sampled && !stats->cut_waves))
        return 1;
    const double waves = (double)c->waves / (double)stats->waves;
    const double insts = (double)c->wave_insts / (double)stats->insts;
    return larger(1, smaller(waves, insts));
}

/* Returns the clocks of a unit that each compute unit has, or each SIMD. */
static double spread(double clocks, uint64_t units, uint64_t users)
{
    const uint64_t used = users < units ? users : units;
    return used ? clocks / (double)used : 0;
}

static uint64_t scalar_caches(const struct rp_arch *arch)
{
    return (uint64_t)arch->xcc_count * arch->timing->sqcs_per_xcc;
}

/* Returns what the longest wave takes, which may not be in the sample. Passes of matrix
 * instructions go on beside its other instructions. */
static double longest_wave(const struct rp_counts *c, const struct rp_timing_stats *stats,
                           double scale)
{
    const double all = (double)c->issue_cycles;
    const double matrix = smaller(scale * (double)stats->port_clocks[RP_REC_MFMA], all);
    if (!stats->sampled && !stats->cut_waves)
        return 0;
    return (double)c->max_wave_cycles * (all > 0 ? larger(matrix, all - matrix) / all : 1);
}

/* Returns clocks of the VALU, summed over SIMDs. Its two halves work at once. */
static double valu_clocks(const struct rp_timing_stats *stats)
{
    return (double)stats->port_clocks[RP_REC_VALU] + (double)stats->half_clocks / 2;
}

double rp_timing_floor_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                              const struct rp_timing_stats *stats, enum rp_timing_floor resource)
{
    const double scale = scale_of(c, stats), engine_hz = arch->engine_clock_mhz * 1e6;
    const uint64_t cus = arch->compute_units, simds = cus * arch->simds_per_cu;
    const uint64_t groups = stats->group_count;
    switch (resource) {
    case RP_FLOOR_HBM:
        return stats->level_clocks[RP_LEVEL_HBM];
    case RP_FLOOR_MALL:
        return stats->level_clocks[RP_LEVEL_MALL];
    case RP_FLOOR_L2:
        return stats->level_clocks[RP_LEVEL_L2];
    case RP_FLOOR_L1:
        return spread(scale * (double)stats->level[RP_LEVEL_L1].busy_clocks, cus, groups);
    case RP_FLOOR_L1_BYTES:
        return spread(larger((double)c->read_bytes, (double)c->write_bytes) /
                          arch->timing->l1_bytes_per_clock,
                      cus, groups);
    case RP_FLOOR_SCALAR:
        return spread(scale * (double)stats->level[RP_LEVEL_SCALAR_L1].busy_clocks,
                      scalar_caches(arch), groups);
    case RP_FLOOR_LDS:
        return spread(scale * (double)stats->lds_busy_clocks, cus, groups);
    case RP_FLOOR_VALU:
        return spread(scale * valu_clocks(stats), simds, c->waves);
    case RP_FLOOR_MATRIX:
        return spread(scale * (double)stats->port_clocks[RP_REC_MFMA], simds, c->waves);
    case RP_FLOOR_ATOMICS:
        return stats->atomic_clocks;
    case RP_FLOOR_WAVE:
        return longest_wave(c, stats, scale);
    case RP_FLOOR_PEER_LINK:
        return link_seconds(arch, c, RP_PLACE_PEER) * engine_hz;
    case RP_FLOOR_HOST_LINK:
        return link_seconds(arch, c, RP_PLACE_HOST) * engine_hz;
    default:
        return 0;
    }
}

void rp_timing_needs(const struct rp_arch *arch, const struct rp_counts *c,
                     const struct rp_timing_stats *stats, uint32_t waves_per_cu,
                     double ret_ns[RP_SHARED_RESOURCES])
{
    const double scale = scale_of(c, stats), ns = 1e3 / arch->engine_clock_mhz;
    const double cus = arch->compute_units, simds = cus * arch->simds_per_cu;
    for (unsigned i = 0; i < RP_SHARED_RESOURCES; i++)
        ret_ns[i] = 0;
    if (waves_per_cu)
        ret_ns[RP_SHARED_ROOM] = ns * scale * (double)stats->wave_clocks / (cus * waves_per_cu);
    ret_ns[RP_SHARED_HBM] = ns * stats->level_clocks[RP_LEVEL_HBM];
    ret_ns[RP_SHARED_MALL] = ns * stats->level_clocks[RP_LEVEL_MALL];
    ret_ns[RP_SHARED_L2] = ns * stats->level_clocks[RP_LEVEL_L2];
    ret_ns[RP_SHARED_LDS] = ns * scale * (double)stats->lds_busy_clocks / cus;
    ret_ns[RP_SHARED_VALU] = ns * scale * valu_clocks(stats) / simds;
    ret_ns[RP_SHARED_MATRIX] = ns * scale * (double)stats->port_clocks[RP_REC_MFMA] / simds;
    const double gbps = timing_link_gbps(arch, RP_PLACE_HOST);
    for (unsigned written = 0; written < 2 && gbps > 0; written++)
        ret_ns[written ? RP_SHARED_TO_HOST : RP_SHARED_FROM_HOST] =
            (double)c->link_bytes[RP_PLACE_HOST][written] / gbps;
}

double rp_timing_simulated_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                                  const struct rp_timing_stats *stats)
{
    double clocks = stats->clocks;
    for (unsigned i = 0; i < RP_FLOORS; i++)
        clocks = larger(clocks, rp_timing_floor_clocks(arch, c, stats, (enum rp_timing_floor)i));
    return clocks;
}

uint64_t rp_timing_simulated_ticks(const struct rp_arch *arch, const struct rp_counts *c,
                                   const struct rp_timing_stats *stats)
{
    const double clocks = rp_timing_simulated_clocks(arch, c, stats) + arch->timing->launch_clocks;
    const double seconds = clocks / (arch->engine_clock_mhz * 1e6);
    return (uint64_t)(seconds * arch->timestamp_mhz * 1e6 + 0.5) + 1;
}

/* ---- bounds from counts -------------------------------------------------------------------- */

/* These bounds are of the machine that detailed timing simulates, whose rules the comments name. */
enum {
    SLOT_CLOCKS = 4, /* of a port, for an instruction: a wave's next one comes no earlier */
    DWORD_BYTES = 4, /* what lanes move at least, but for bytes and halves, which are rare */
    HALF_LINE_BYTES = 64,
    LINE_BYTES = 128,
    FETCHED_TOGETHER = 16, /* instructions of a line of code, if all have 8 bytes */
    /* Vector, matrix and other instructions of a wave each take at least their clocks, and may go
     * on beside one another. */
    AT_ONCE = 3,
    /* What may delay the instruction behind a matrix instruction, whose result it needs, and behind
     * a branch: no more than twice the clocks of either. */
    MATRIX_DELAY = 16,
    BRANCH_DELAY = 8,
    MOST_DELAY = 2,
};

/* What is known of a dispatch's instructions, or the most that they can have been. */
struct instructions {
    double vector_loads, vector_stores, scalar, lds, atomics;
    double delays; /* clocks */
};

static struct instructions max_instructions(const struct rp_counts *c)
{
    const double all = (double)c->wave_insts, read = (double)c->read_bytes,
                 written = (double)c->write_bytes;
    return (struct instructions){.vector_loads = smaller(all, read),
                                 .vector_stores = smaller(all, written),
                                 .lds = smaller(all, (double)c->lds_bytes),
                                 .delays = MOST_DELAY * (double)c->issue_cycles,
                                 .atomics = smaller(smaller(all, read), written)};
}

/* Counters have every turn of a loop that polls, which counts leave out where it changed nothing:
 * there were no more than counts allow. */
static struct instructions instructions_of(const struct rp_counts *c, const uint64_t *counters)
{
    struct instructions i = max_instructions(c);
    if (!counters)
        return i;
    const double scalar = (double)counters[RP_COUNTER_SQ_INSTS_SMEM];
    const double atomics = (double)counters[RP_COUNTER_TA_FLAT_ATOMIC_WAVEFRONTS] +
                           (double)counters[RP_COUNTER_TA_BUFFER_ATOMIC_WAVEFRONTS];
    i.vector_loads = smaller(i.vector_loads, (double)counters[RP_COUNTER_SQ_INSTS_VMEM_RD]);
    i.vector_stores = smaller(i.vector_stores, (double)counters[RP_COUNTER_SQ_INSTS_VMEM_WR]);
    i.vector_loads += smaller(i.atomics, atomics);
    i.vector_stores += smaller(i.atomics, atomics);
    i.atomics = smaller(i.atomics, atomics);
    i.scalar = smaller((double)c->wave_insts, scalar);
    i.delays = smaller(i.delays, MATRIX_DELAY * (double)counters[RP_COUNTER_SQ_INSTS_MFMA] +
                                     BRANCH_DELAY * (double)counters[RP_COUNTER_SQ_INSTS_BRANCH]);
    /* Flat instructions may mean the LDS. */
    i.lds = smaller(i.lds, (double)counters[RP_COUNTER_SQ_INSTS_LDS] +
                               (double)counters[RP_COUNTER_SQ_INSTS_FLAT]);
    return i;
}

static double engine_clocks(const struct rp_arch *arch, double seconds)
{
    return seconds * arch->engine_clock_mhz * 1e6;
}

/* Returns how many VALU instructions may have been issued beside another (wave_record.c), at most.
 */
static double max_pairs(const uint64_t *counters)
{
    static const enum rp_device_counter kinds[] = {
        RP_COUNTER_SQ_INSTS_VALU_ADD_F16, RP_COUNTER_SQ_INSTS_VALU_MUL_F16,
        RP_COUNTER_SQ_INSTS_VALU_ADD_F32, RP_COUNTER_SQ_INSTS_VALU_MUL_F32,
        RP_COUNTER_SQ_INSTS_VALU_FMA_F32, RP_COUNTER_SQ_INSTS_VALU_ADD_F64,
        RP_COUNTER_SQ_INSTS_VALU_MUL_F64};
    double instructions = 0;
    for (size_t i = 0; i < RP_COUNT(kinds); i++)
        instructions += (double)counters[kinds[i]];
    return instructions / 2;
}

/* Returns clocks of the ports of a SIMD, which serve one instruction after another. */
static double busiest_port(const struct rp_arch *arch, const uint64_t *counters)
{
    double most = SLOT_CLOCKS * (double)counters[RP_COUNTER_SQ_ACTIVE_INST_VALU];
    if (arch->timing && arch->timing->valu_ports == 2)
        most -= SLOT_CLOCKS * max_pairs(counters);
    const double others = larger((double)counters[RP_COUNTER_SQ_INSTS_SALU] +
                                     (double)counters[RP_COUNTER_SQ_INSTS_SMEM],
                                 (double)counters[RP_COUNTER_SQ_INSTS_BRANCH]);
    most = larger(most, (double)counters[RP_COUNTER_SQ_VALU_MFMA_BUSY_CYCLES]);
    return larger(most, SLOT_CLOCKS * others);
}

/* Returns clocks of the scalar caches, each of whose loads takes a line at least. */
static double scalar_cache_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                                  const uint64_t *counters)
{
    const double loads =
        smaller((double)counters[RP_COUNTER_SQC_DCACHE_REQ], (double)c->wave_insts);
    return loads * arch->scalar_l1_line_bytes / arch->timing->scalar_l1_bytes_per_clock;
}

/* Bytes that the LDS moves in a clock at most: instructions of gfx950 that load to it take two
 * clocks for 16 bytes of each lane. */
static double max_lds_bytes_per_clock(const struct rp_arch *arch)
{
    return lds_bytes_per_clock(arch) * (arch->isa == RP_ISA_GFX950 ? 2 : 1);
}

static double lowest_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                            const uint64_t *counters, uint64_t groups)
{
    const uint64_t cus = arch->compute_units, simds = cus * arch->simds_per_cu;
    double clocks = (double)c->max_wave_cycles / AT_ONCE;
    clocks = larger(clocks, spread(SLOT_CLOCKS * (double)c->wave_insts,
                                   simds * arch->max_waves_per_simd, c->waves));
    if (counters) /* A loop that polls counts as in instructions_of(). */
        clocks =
            larger(clocks, spread(smaller(busiest_port(arch, counters), (double)c->issue_cycles),
                                  simds, c->waves));
    if (arch->timing)
        clocks = larger(clocks, spread(larger((double)c->read_bytes, (double)c->write_bytes) /
                                           arch->timing->l1_bytes_per_clock,
                                       cus, groups));
    if (arch->timing && counters)
        clocks = larger(
            clocks, spread(scalar_cache_clocks(arch, c, counters), scalar_caches(arch), groups));
    clocks =
        larger(clocks, spread((double)c->lds_bytes / max_lds_bytes_per_clock(arch), cus, groups));
    clocks = larger(clocks, engine_clocks(arch, link_seconds(arch, c, RP_PLACE_PEER)));
    return larger(clocks, engine_clocks(arch, link_seconds(arch, c, RP_PLACE_HOST)));
}

/* Returns the clocks of all waves, one after another: nothing of a wave is hidden by others, each
 * access of memory waits until the memory has served it, and every LDS bank conflict happens. */
static double waves_alone(const struct rp_arch *arch, const struct rp_counts *c,
                          const struct instructions *i)
{
    const double latency = arch->hbm_latency_cycles ? arch->hbm_latency_cycles : HBM_LATENCY_CYCLES;
    const double code = arch->timing ? arch->timing->code_clocks : latency;
    const double lds = arch->timing ? arch->timing->lds_clocks : latency;
    const double accesses = i->vector_loads + i->vector_stores + i->scalar;
    return (double)c->issue_cycles + i->delays + code * (double)c->wave_insts / FETCHED_TOGETHER +
           (latency + RP_LANES) * accesses + lds * i->lds + (double)c->lds_bytes / DWORD_BYTES;
}

/* Returns the most bytes that lanes make the memory move: each dword lies in a line of its own. */
static double max_traffic(double bytes, double vector, double scalar, double line_bytes)
{
    return line_bytes * smaller(bytes / DWORD_BYTES + scalar, RP_LANES * vector + 2 * scalar);
}

/* Returns clocks of what all compute units share, at its sustained rate. */
static double shared_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                            const struct instructions *i)
{
    const double bytes_per_clock = hbm_gbps(arch) * 1e3 / arch->engine_clock_mhz;
    const double moved =
        max_traffic((double)c->read_bytes, i->vector_loads, i->scalar, LINE_BYTES) +
        max_traffic((double)c->write_bytes, i->vector_stores, 0, HALF_LINE_BYTES);
    const double links =
        link_seconds(arch, c, RP_PLACE_PEER) + link_seconds(arch, c, RP_PLACE_HOST);
    /* All lanes of all atomics may mean one dword, whose channel then writes each. */
    const double atomics = i->atomics * (RP_LANES + HALF_LINE_BYTES / (double)DWORD_BYTES);
    return (bytes_per_clock > 0 ? moved / bytes_per_clock : 0) + atomics +
           engine_clocks(arch, links);
}

static double highest_clocks(const struct rp_arch *arch, const struct rp_counts *c,
                             const uint64_t *counters, uint64_t groups)
{
    const struct instructions i = instructions_of(c, counters);
    const double alone = waves_alone(arch, c, &i), issue = (double)c->issue_cycles;
    const uint64_t cus = arch->compute_units, used = groups < cus ? groups : cus;
    const uint64_t simds = used * arch->simds_per_cu;
    /* The longest wave may begin last. It has as much of the waits as of the issue. */
    const double longest = issue > 0 ? alone * ((double)c->max_wave_cycles / issue) : 0;
    return spread(alone - longest, simds ? simds : 1, c->waves) + longest +
           shared_clocks(arch, c, &i);
}

void rp_timing_bounds(const struct rp_arch *arch, const struct rp_counts *c,
                      const uint64_t *counters, uint64_t groups, uint64_t *ret_low,
                      uint64_t *ret_high)
{
    const double latency = arch->hbm_latency_cycles ? arch->hbm_latency_cycles : HBM_LATENCY_CYCLES;
    const double launch = arch->timing ? arch->timing->launch_clocks : 0;
    const double ticks = (double)arch->timestamp_mhz / arch->engine_clock_mhz;
    const double low = lowest_clocks(arch, c, counters, groups) + launch;
    const double high = highest_clocks(arch, c, counters, groups) + launch + latency;
    *ret_low = (uint64_t)(low * ticks) + 1;
    *ret_high = (uint64_t)(larger(low, high) * ticks) + 2;
}
