#include "wave_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"

static bool code_fits(const struct rp_arch *arch, const struct rp_wave_record *r)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < r->code_count; i++)
        bytes += r->code[i].size_bytes;
    return bytes <= arch->timing->inst_l1_bytes;
}

int rp_wave_meter_init(struct rp_wave_meter *m, const struct rp_wave_record *r, uint32_t cus)
{
    const uint64_t waves = r->plan.count * r->shape.waves_per_group;

    *m = (struct rp_wave_meter){.waves_per_group = r->shape.waves_per_group};
    m->cu = calloc(cus ? cus : 1, sizeof *m->cu);
    m->code_end = calloc(waves ? waves : 1, sizeof *m->code_end);
    if (m->cu && m->code_end)
        return 0;
    rp_wave_meter_release(m);
    return -ENOMEM;
}

struct rp_wave_sums rp_wave_meter_end(struct rp_wave_meter *m, const struct rp_arch *arch,
                                      const struct rp_wave_record *record)
{
    m->sums.code_fits = code_fits(arch, record);
    return m->sums;
}

void rp_wave_meter_release(struct rp_wave_meter *m)
{
    free(m->cu);
    free(m->code_end);
    m->cu = NULL;
    m->code_end = NULL;
}

/* What the interval adds to those before, none of which begins much later. */
static uint64_t not_yet(uint64_t *until, uint64_t begin, uint64_t end)
{
    const uint64_t from = begin > *until ? begin : *until;

    if (end <= from)
        return 0;
    *until = end;
    return end - from;
}

/* A wave fetches on; where it jumps, what it had fetched is of no use. */
static uint64_t fetches(uint64_t *code_end, const struct rp_rec_code *code)
{
    const uint64_t first = code->pc / RP_FETCH_BYTES;
    const uint64_t last = (code->pc + code->size_bytes - 1) / RP_FETCH_BYTES;
    const uint64_t before = (*code_end - 1) / RP_FETCH_BYTES;
    const bool goes_on = *code_end == code->pc;

    *code_end = code->pc + code->size_bytes;
    return goes_on ? last - before : last - first + 1;
}

void rp_wave_meter_issued(struct rp_wave_meter *m, const struct rp_wave_place *where, uint32_t cu,
                          const struct rp_rec_code *code, const struct rp_issue_times *times,
                          bool memory, bool past_l1)
{
    struct rp_meter_cu *unit = &m->cu[cu];
    struct rp_wave_sums *s = &m->sums;

    s->level_clocks[code->unit] += times->done - times->issued;
    s->fetches +=
        fetches(&m->code_end[(uint64_t)where->group * m->waves_per_group + where->wave], code);
    if (memory)
        s->vmem_clocks += not_yet(&unit->vmem_until, times->issued, times->done);
    if (past_l1)
        s->pending_clocks += not_yet(&unit->pending_until, times->issued, times->done);
}
