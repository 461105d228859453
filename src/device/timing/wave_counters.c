#include "wave_counters.h"

#include "../exec/wave.h"
#include "arch/arch.h"
#include "arch/device_counters.h"

enum { QUAD = 4 };

/*
 * Scaling is that of a real MI300X (rocprof-compute's sample vcopy_MI300X_A1_rocpd): SQ_LEVEL_WAVES
 * is 4.03 times SQ_WAVE_CYCLES, so the latter counts quad-cycles and the former cycles;
 * SQ_BUSY_CYCLES / 32 shader engines is 7,672 and SQ_BUSY_CU_CYCLES / 304 CUs 7,717 for the same
 * dispatch, so both count cycles; SQ_INST_LEVEL_VMEM / SQ_INSTS_VMEM is 964, a latency in cycles.
 */
void rp_wave_counters(const struct rp_arch *arch, const struct rp_timing_stats *s,
                      const struct rp_wave_sums *sums, const struct rp_counts *counts,
                      uint64_t *values)
{
    const double all = s->waves ? (double)counts->waves / (double)s->waves : 0;
    /* Waves that were not kept whole last to their end, but their instructions are not replayed. */
    const double insts = s->insts ? (double)counts->wave_insts / (double)s->insts : 0;
    const uint64_t there = arch->shader_engines ? arch->shader_engines : 1;
    const uint64_t engines = there < s->group_count ? there : s->group_count;
    /* The replay goes on until memory has written all; what was not replayed comes before that. */
    const double busy_clocks = s->clocks - (double)(s->replay_clocks - sums->last_clock);
    uint64_t wait_clocks = 0;

    for (unsigned i = 0; i < RP_REC_UNITS; i++)
        wait_clocks += s->wait_clocks[i];
    const struct {
        unsigned counter;
        double value;
    } rows[] = {
        /* Workgroups go round the engines, which are busy from the first to the last. */
        {RP_COUNTER_SQ_BUSY_CYCLES, busy_clocks * (double)engines},
        {RP_COUNTER_SQ_BUSY_CU_CYCLES, all * (double)s->cu_busy_clocks},
        {RP_COUNTER_SQ_WAVE_CYCLES, all * (double)s->wave_clocks / QUAD},
        {RP_COUNTER_SQ_LEVEL_WAVES, all * (double)s->wave_clocks},
        {RP_COUNTER_SQ_WAIT_ANY, insts * (double)wait_clocks / QUAD},
        {RP_COUNTER_SQ_WAIT_INST_ANY, insts * (double)s->stall_clocks / QUAD},
        {RP_COUNTER_SQ_INST_LEVEL_VMEM, insts * (double)sums->level_clocks[RP_REC_VMEM]},
        {RP_COUNTER_SQ_INST_LEVEL_SMEM, insts * (double)sums->level_clocks[RP_REC_SMEM]},
        {RP_COUNTER_SQ_INST_LEVEL_LDS, insts * (double)sums->level_clocks[RP_REC_LDS]},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        values[rows[i].counter] = (uint64_t)(rows[i].value + 0.5);
}
