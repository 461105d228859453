/* The executor's services to instruction handlers. */
#include "wave_host.h"

#include <stdarg.h>
#include <stdio.h>

#include "arch/arch.h"
#include "dispatch.h"
#include "group_clock.h"

const struct rp_exec_host *rp_wave_host(const struct rp_wave *w)
{
    return w->group->dispatch->host;
}

int rp_wave_read_clock(struct rp_wave *w)
{
    bool told = false;
    const int step = rp_group_clock_reads(w) ? rp_group_clock_read(w, &told) : RP_STEP_NEXT;
    if (step == RP_STEP_NEXT && !told && !w->fast_clock) {
        w->fast_clock = true;
        w->group->hand->counts.fast_clock_waves++;
    }
    return step;
}

/* Shader clocks since the start of the dispatch, as modelled for this wave. */
static uint64_t clock_cycles(const struct rp_wave *w)
{
    return w->group->start_cycles + w->cycles + (uint64_t)w->clock_lead;
}

uint64_t rp_wave_clock_ticks(const struct rp_wave *w)
{
    const struct rp_dispatch *d = w->group->dispatch;
    return d->start_ticks + clock_cycles(w) * d->arch->timestamp_mhz / d->arch->engine_clock_mhz;
}

uint64_t rp_wave_memtime_cycles(const struct rp_wave *w)
{
    const struct rp_dispatch *d = w->group->dispatch;
    return d->start_ticks * d->arch->engine_clock_mhz / d->arch->timestamp_mhz + clock_cycles(w);
}

uint32_t rp_wave_xcc(const struct rp_wave *w)
{
    const struct rp_arch *arch = w->group->dispatch->arch;
    return arch && arch->xcc_count ? (uint32_t)(w->group->linear_id % arch->xcc_count) : 0;
}

int rp_wave_fault(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                  const char *fmt, ...)
{
    char reason[110], text[80];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    uint64_t pc = w->pc - in->size_bytes;
    rp_isa_print(in, pc, text, sizeof text);
    w->fault = (struct rp_fault){.kind = kind, .pc = pc, .lane = -1};
    snprintf(w->fault.text, sizeof w->fault.text, "%s: %s", text, reason);
    return RP_STEP_FAULT;
}

int rp_wave_fault_address(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                          int lane, uint64_t address, const char *what)
{
    if (lane < 0)
        rp_wave_fault(w, in, kind, "%s 0x%llx", what, (unsigned long long)address);
    else
        rp_wave_fault(w, in, kind, "%s 0x%llx (lane %d)", what, (unsigned long long)address, lane);
    w->fault.address = address;
    w->fault.lane = lane;
    return RP_STEP_FAULT;
}

void rp_wave_interrupt(struct rp_wave *w, uint32_t m0)
{
    struct rp_dispatch *d = w->group->dispatch;
    if (d->interrupt_count == RP_INTERRUPTS)
        rp_wave_host_flush(d);
    d->interrupt[d->interrupt_count++] = m0;
}

void rp_wave_host_flush(struct rp_dispatch *d)
{
    for (unsigned i = 0; i < d->interrupt_count; i++)
        if (d->host->send_interrupt)
            d->host->send_interrupt(d->host->ctx, d->interrupt[i]);
    d->interrupt_count = 0;
}
