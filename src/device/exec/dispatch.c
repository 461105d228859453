/* The executor's face: a dispatch from launch to end. */
#include "dispatch.h"

#include "arch/arch.h"
#include "arch/hardware_counters.h"

#include <stdlib.h>
#include <string.h>

#include "../isa/mem_lanes.h"
#include "../jit/jit.h"
#include "../timing/memory_counters.h"
#include "../timing/mode.h"
#include "bound.h"
#include "hand.h"
#include "leftovers.h"
#include "pool.h"
#include "recording.h"
#include "sched.h"
#include "tally.h"
#include "threads.h"
#include "wave_host.h"
#include "wave_order.h"

struct rp_dispatch *rp_dispatch_new(const struct rp_exec_host *host, const struct rp_arch *arch,
                                    const struct rp_launch *launch)
{
    struct rp_dispatch *d = rp_lines_new(1, sizeof *d);
    if (!d)
        return NULL;
    d->host = host;
    d->arch = arch;
    rp_isa_target_set(arch->name);
    d->launch = *launch;
    d->start_ticks = launch->start_ticks;
    d->lanes = rp_mem_lanes_best();
    d->translates = rp_jit_available();
    d->tallies = rp_jit_counts();
    d->leftovers = rp_leftovers();
    d->wave_order = rp_wave_order();
    d->bound = rp_bound();
    d->hands[0] = rp_hand_new(d);
    if (!d->hands[0]) {
        free(d);
        return NULL;
    }
    rp_sched_init(d);
    if (rp_kernel_resolve(&d->hands[0]->mem, arch, launch, &d->kernel, &d->fault) < 0)
        d->state = RP_RUN_FAULT;
    const bool timed = rp_timing_mode_for(arch) == RP_TIMING_DETAILED;
    if (d->state != RP_RUN_FAULT && (timed || rp_code_observes())) {
        d->record = rp_recording_new(arch, &d->kernel);
        if (!d->record && timed) {
            rp_dispatch_free(d);
            return NULL;
        }
    }
    return d;
}

enum rp_run_state rp_dispatch_run(struct rp_dispatch *d, uint64_t budget)
{
    if (d->state != RP_RUN_MORE)
        return d->state;
    if (!d->started) {
        d->started = true;
        if (d->start_ticks == 0 && d->host->clock_ticks)
            d->start_ticks = d->host->clock_ticks(d->host->ctx);
    }
    d->budget = budget < INT64_MAX ? (int64_t)budget : INT64_MAX;
    d->hands[0]->share_left = d->budget / rp_exec_threads() + 1;
    d->outside = false;
    __atomic_store_n(&d->stop, 0, __ATOMIC_RELAXED);
    int64_t begin_ns = d->timed ? rp_pool_thread_ns() : 0;
    d->longest_ns = 0;
    rp_sched_work(d, d->hands[0]);
    __atomic_store_n(&d->stop, 1, __ATOMIC_RELAXED);
    rp_pool_withdraw(d);
    if (d->timed) {
        int64_t own_ns = rp_pool_thread_ns() - begin_ns;
        d->busy_ns += own_ns > d->longest_ns ? own_ns : d->longest_ns;
    }
    d->timed = true;
    rp_wave_host_flush(d);
    if (d->state != RP_RUN_MORE)
        rp_bound_note(d->work, d->fault.kind == RP_FAULT_BOUND);
    return d->state;
}

int64_t rp_dispatch_busy_ns(const struct rp_dispatch *d)
{
    return d->busy_ns;
}

const struct rp_counts *rp_dispatch_counts(const struct rp_dispatch *d)
{
    return &d->counts;
}

/* From the replay that told the time, if there was one and it knows: of waves that execute more
 * than is recorded it may lack what they access last, and of their accesses alone far more fits. */
static enum rp_counting count_memory(const struct rp_dispatch *d, uint64_t *values)
{
    const struct rp_cache_shape shape = rp_cache_shape_of(d->arch);
    struct rp_cache_result result;

    if (!rp_code_observes())
        return RP_COUNT_INSTRUCTIONS;
    if (d->cache_result && rp_memory_counters(d->arch, d->cache_result, values) == 0)
        return RP_COUNT_MEMORY;
    if (!d->record || rp_record_status(d->record) < 0 || rp_record_place(d->record) < 0 ||
        rp_cache_run(&shape, d->record, &result) < 0)
        return RP_COUNT_INSTRUCTIONS;
    return rp_memory_counters(d->arch, &result, values) == 0 ? RP_COUNT_MEMORY
                                                             : RP_COUNT_INSTRUCTIONS;
}

enum rp_counting rp_dispatch_count(const struct rp_dispatch *d, uint64_t *values)
{
    if (!d->tallies || d->state != RP_RUN_DONE)
        return RP_COUNT_NOTHING;
    memset(values, 0, RP_DEVICE_COUNTERS * sizeof *values);
    for (unsigned i = 0; i < RP_HANDS; i++)
        if (d->hands[i])
            rp_tally_count(d->hands[i], values);
    values[RP_COUNTER_SQ_WAVES] = values[RP_COUNTER_SPI_CSN_WAVE] = d->counts.waves;
    values[RP_COUNTER_SPI_VWC_CSC_WR] = d->counts.waves;
    values[RP_COUNTER_SQ_ITEMS] = 1;
    for (unsigned i = 0; i < 3; i++)
        values[RP_COUNTER_SQ_ITEMS] *= d->launch.grid_size[i] ? d->launch.grid_size[i] : 1;
    values[RP_COUNTER_SPI_CSN_NUM_THREADGROUPS] = d->totals.groups;
    if (d->stats && d->cache_result) /* the replay was counted */
        rp_wave_counters(d->arch, d->stats, &d->wave_sums, &d->record->shape, &d->counts, values);
    return count_memory(d, values);
}

bool rp_dispatch_waits(const struct rp_dispatch *d)
{
    return d->state == RP_RUN_MORE && d->outside;
}

const struct rp_fault *rp_dispatch_fault(const struct rp_dispatch *d)
{
    return &d->fault;
}

void rp_dispatch_free(struct rp_dispatch *d)
{
    if (!d)
        return;
    rp_sched_release(d);
    for (unsigned i = 0; i < RP_HANDS; i++)
        rp_hand_free(d->hands[i]);
    rp_record_free(d->record);
    free(d->stats);
    free(d->cache_result);
    rp_thread_watch_free(d->threads);
    free(d);
}
