/* The executor's face: a dispatch from launch to end. */
#include "device/exec/dispatch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/exec/code_cache.h"
#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"

/* The executor's services to instruction handlers. */

static int read_clock(struct rp_wave *w)
{
    bool told = false;
    const int step = w->record ? rp_observer_of(w)->on_clock(w, &told) : RP_STEP_NEXT;
    if (step == RP_STEP_NEXT && !told && !w->fast_clock) {
        w->fast_clock = true;
        w->group->env->counts.fast_clock_waves++;
    }
    return step;
}

/* Shader clocks since the start of the dispatch, as modelled for this wave. */
static uint64_t clock_cycles(const struct rp_wave *w)
{
    return w->group->start_cycles + w->cycles + (uint64_t)w->clock_lead;
}

static uint64_t clock_ticks(const struct rp_wave *w)
{
    const struct rp_dispatch *d = w->group->dispatch;
    return d->start_ticks + clock_cycles(w) * d->arch->timestamp_mhz / d->arch->engine_clock_mhz;
}

static uint64_t memtime_cycles(const struct rp_wave *w)
{
    const struct rp_dispatch *d = w->group->dispatch;
    return d->start_ticks * d->arch->engine_clock_mhz / d->arch->timestamp_mhz + clock_cycles(w);
}

static uint32_t xcc_of(const struct rp_wave *w)
{
    const struct rp_arch *arch = w->group->dispatch->arch;
    return arch && arch->xcc_count ? (uint32_t)(w->group->linear_id % arch->xcc_count) : 0;
}

static void rp_wave_host_flush(struct rp_dispatch *d);

static void interrupt(struct rp_wave *w, uint32_t m0)
{
    struct rp_dispatch *d = w->group->dispatch;
    if (d->interrupt_count == RP_INTERRUPTS)
        rp_wave_host_flush(d);
    d->interrupt[d->interrupt_count++] = m0;
}

/** Passes on what interrupt has kept. */
static void rp_wave_host_flush(struct rp_dispatch *d)
{
    for (unsigned i = 0; i < d->interrupt_count; i++)
        if (d->host->send_interrupt)
            d->host->send_interrupt(d->host->ctx, d->interrupt[i]);
    d->interrupt_count = 0;
}

const struct rp_wave_services rp_exec_services = {.read_clock = read_clock,
                                                  .clock_ticks = clock_ticks,
                                                  .memtime_cycles = memtime_cycles,
                                                  .xcc = xcc_of,
                                                  .interrupt = interrupt};

struct rp_dispatch *rp_dispatch_new(const struct rp_exec_host *host, const struct rp_arch *arch,
                                    const struct rp_launch *launch)
{
    struct rp_dispatch *d = rp_cache_lines_new(1, sizeof *d);
    if (!d)
        return NULL;
    d->host = host;
    d->arch = arch;
    rp_isa_target_set(arch->name);
    d->launch = *launch;
    d->start_ticks = launch->start_ticks;
    d->translates = host->translator && host->translator->available();
    d->tallies = rp_exec_counts() != RP_COUNT_NOTHING;
    d->leftovers = rp_exec_poison();
    d->wave_order = rp_wave_order();
    d->bound = rp_bound();
    d->workers[0] = rp_exec_worker_new(d);
    if (!d->workers[0]) {
        free(d);
        return NULL;
    }
    rp_sched_init(d);
    if (rp_kernel_resolve(&d->workers[0]->env.mem, arch, launch, &d->kernel, &d->fault) < 0)
        d->state = RP_RUN_FAULT;
    if (d->state != RP_RUN_FAULT && host->observer && host->observer->on_dispatch(d) < 0) {
        rp_dispatch_free(d);
        return NULL;
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
    d->workers[0]->share_left = d->budget / rp_exec_threads() + 1;
    d->outside = false;
    __atomic_store_n(&d->stop, 0, __ATOMIC_RELAXED);
    int64_t begin_ns = d->timed ? rp_pool_thread_ns() : 0;
    d->longest_ns = 0;
    rp_sched_work(d, d->workers[0]);
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
    for (unsigned i = 0; i < RP_EXEC_WORKERS; i++)
        rp_exec_worker_free(d->workers[i]);
    if (d->observed)
        d->host->observer->on_dispatch_end(d);
    free(d);
}

/* The instructions before a fault, for its message. */

enum { FARTHEST_BYTES = 1 << 20, MOST_LINES = 16 };

/* Decodes the instruction at va; 0 when it is none or not mapped. */
static unsigned decode_at(const struct rp_exec_host *host, uint64_t va, struct rp_insn *ret)
{
    uint32_t words[3] = {0};
    size_t count = 0;
    for (; count < 3; count++) {
        const void *at = host->translate(host->ctx, va + 4 * count, 4, 0);
        if (!at)
            break;
        memcpy(&words[count], at, 4);
    }
    return rp_isa_decode(words, count, ret);
}

static size_t put_line(const struct rp_exec_host *host, uint64_t from_va, uint64_t va, bool last,
                       char *text, size_t room)
{
    struct rp_insn in;
    char insn[160];
    decode_at(host, va, &in);
    rp_isa_print(&in, va, insn, sizeof insn);
    int n = snprintf(text, room, "  %s +0x%04llx  %s\n", last ? "->" : "  ",
                     (unsigned long long)(va - from_va), insn);
    return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

size_t rp_exec_listing(const struct rp_exec_host *host, uint64_t from_va, uint64_t pc,
                       unsigned lines, char *text, size_t room)
{
    uint64_t latest[MOST_LINES], va = from_va;
    size_t count = 0, used = 0;
    if (lines > MOST_LINES || pc < from_va || pc - from_va > FARTHEST_BYTES || !lines)
        return 0;
    for (;;) {
        struct rp_insn in;
        latest[count++ % lines] = va;
        if (va == pc)
            break;
        unsigned bytes = decode_at(host, va, &in);
        if (!bytes || va > pc)
            return 0;
        va += bytes;
    }
    size_t first = count > lines ? count - lines : 0;
    for (size_t i = first; i < count; i++) {
        size_t n =
            put_line(host, from_va, latest[i % lines], i + 1 == count, text + used, room - used);
        if (!n)
            break;
        used += n;
    }
    return used;
}
