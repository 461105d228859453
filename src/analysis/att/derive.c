#include "rocm-perf/thread_trace.h"

/* Numbers that follow from a trace. */

static const char *const state_names[] = {"empty", "idle", "exec", "wait", "stall"};
static const char *const completeness_names[] = {"complete", "partial", "empty", "damaged"};

const char *rp_att_state_name(enum rp_att_state state)
{
    return state_names[state];
}

const char *rp_att_completeness_name(enum rp_att_completeness completeness)
{
    return completeness_names[completeness];
}

bool rp_thread_trace_occupancy(const struct rp_thread_trace *trace, double *ret_waves_per_simd)
{
    uint64_t waves = 0, busy = 0;

    for (size_t i = 0; i < trace->engine_count; i++) {
        waves += trace->engines[i].wave_cycles;
        busy += trace->engines[i].simd_busy_cycles;
    }
    if (busy == 0) {
        waves = trace->issue.wave_cycles;
        busy = trace->issue.simd_busy_cycles;
    }
    if (busy == 0)
        return false;
    *ret_waves_per_simd = (double)waves / (double)busy;
    return true;
}

bool rp_thread_trace_stall_fraction(const struct rp_att_sums *sums, double *ret)
{
    uint64_t all = sums->latency_cycles + sums->idle_cycles;

    if (all == 0)
        return false;
    *ret = (double)sums->stall_cycles / (double)all;
    return true;
}
