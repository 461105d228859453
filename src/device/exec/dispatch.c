/*
 * A dispatch: its workgroups in turn.
 *
 * Scheduling. Workgroups start in linear order. Few are kept resident while they end within their
 * slice, because that is fastest on a CPU; when a whole round of slices ends without one of them
 * finishing, twice as many are made resident, up to what the hardware would hold, so that
 * workgroups that wait for one another always make progress. Slices grow with every visit: short
 * for one that spins, long for one that computes. Nothing depends on host time, nor on how the
 * caller cuts its budgets.
 */
#include <stdlib.h>
#include <string.h>

#include "../isa/mem_lanes.h"
#include "dispatch.h"
#include "run.h"
#include "slot.h"
#include "wave_host.h"

enum { FIRST_SLICE = 4096, SLICE_DOUBLINGS = 8 };

/* Idle visits of every workgroup before the outside gets a turn: by then each of its waves has gone
 * round its loop often enough for what it does to be known (see wait.h). */
enum { LOOKS = 4 };

struct rp_dispatch *rp_dispatch_new(const struct rp_exec_host *host, const struct rp_arch *arch,
                                    const struct rp_launch *launch)
{
    struct rp_dispatch *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->host = host;
    d->arch = arch;
    d->launch = *launch;
    rp_mem_init(&d->mem, host);
    d->lanes = rp_mem_lanes_best();
    d->resident_target = 1;
    if (rp_kernel_resolve(&d->mem, arch, launch, &d->kernel, &d->fault) < 0)
        d->state = RP_RUN_FAULT;
    return d;
}

static enum rp_run_state no_memory(struct rp_dispatch *d)
{
    d->fault = (struct rp_fault){.kind = RP_FAULT_NO_MEMORY,
                                 .pc = d->kernel.entry_va,
                                 .lane = -1,
                                 .text = "out of host memory for the state of a workgroup"};
    return d->state = RP_RUN_FAULT;
}

static void enqueue(struct rp_dispatch *d, struct rp_slot *slot)
{
    slot->next = NULL;
    if (d->queue_tail)
        d->queue_tail->next = slot;
    else
        d->queue_head = slot;
    d->queue_tail = slot;
}

static struct rp_slot *dequeue(struct rp_dispatch *d)
{
    struct rp_slot *slot = d->queue_head;
    d->queue_head = slot->next;
    if (!d->queue_head)
        d->queue_tail = NULL;
    slot->next = NULL;
    return slot;
}

/* A round is one slice for each resident workgroup. */
static void begin_round(struct rp_dispatch *d)
{
    uint64_t limit = d->kernel.resident_groups;
    if (d->resident && !d->round_finished_one && d->resident >= d->resident_target)
        d->resident_target = d->resident_target * 2 < limit ? d->resident_target * 2 : limit;
    d->round_finished_one = false;
    d->round_left = d->resident_target;
}

/* Chooses the next workgroup; new ones go first until the target is reached. False: no memory. */
static bool choose(struct rp_dispatch *d)
{
    if (!d->round_left)
        begin_round(d);
    d->round_left--;
    if (d->resident < d->resident_target && d->next_group < d->kernel.group_count) {
        struct rp_slot *slot = rp_slot_take(d);
        if (!slot)
            return false;
        rp_slot_start_group(d, slot, d->next_group++);
        d->resident++;
        d->current = slot;
    } else {
        d->current = dequeue(d);
    }
    struct rp_group *g = &d->current->group;
    unsigned doublings = g->visits < SLICE_DOUBLINGS ? g->visits : SLICE_DOUBLINGS;
    g->visits++;
    g->idle_turns = 0;
    g->waiting = false;
    g->slice_budget = (uint64_t)FIRST_SLICE << doublings;
    return true;
}

static enum rp_run_state run_current(struct rp_dispatch *d, uint64_t *budget)
{
    struct rp_slot *slot = d->current;
    switch (rp_group_run(d, &slot->group, budget)) {
    case RP_GROUP_ENDED:
        d->idle_visits = 0;
        d->current = NULL;
        d->resident--;
        d->round_finished_one = true;
        rp_slot_release(d, slot);
        if (!d->resident && d->next_group == d->kernel.group_count)
            d->state = RP_RUN_DONE;
        break;
    case RP_GROUP_FAULT:
        d->state = RP_RUN_FAULT;
        break;
    case RP_GROUP_MORE:
        if (!slot->group.slice_budget) {
            d->current = NULL;
            d->idle_visits = slot->group.waiting ? d->idle_visits + 1 : 0;
            enqueue(d, slot);
        }
        break;
    }
    return d->state;
}

/* Nobody resident can go on and nobody else can start: only the outside can change that. */
static bool all_wait(const struct rp_dispatch *d)
{
    return d->idle_visits > LOOKS * d->resident &&
           (d->next_group == d->kernel.group_count || d->resident == d->kernel.resident_groups);
}

enum rp_run_state rp_dispatch_run(struct rp_dispatch *d, uint64_t budget)
{
    if (d->state != RP_RUN_MORE)
        return d->state;
    if (!d->started) {
        d->started = true;
        d->start_ticks = d->host->clock_ticks ? d->host->clock_ticks(d->host->ctx) : 0;
    }
    d->idle_visits = 0;
    while (d->state == RP_RUN_MORE && budget && !all_wait(d)) {
        rp_mem_refresh(&d->mem);
        if (!d->current && !choose(d))
            return no_memory(d);
        run_current(d, &budget);
    }
    rp_wave_host_flush(d);
    return d->state;
}

const struct rp_counts *rp_dispatch_counts(const struct rp_dispatch *d)
{
    return &d->counts;
}

const struct rp_fault *rp_dispatch_fault(const struct rp_dispatch *d)
{
    return &d->fault;
}

void rp_dispatch_free(struct rp_dispatch *d)
{
    if (!d)
        return;
    rp_slot_free_all(d);
    for (unsigned i = 0; i < RP_CODE_WAYS; i++)
        rp_code_page_put(d->code[i]);
    free(d);
}
