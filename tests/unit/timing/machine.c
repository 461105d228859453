#include "unit/timing/machine.h"

#include <stdlib.h>
#include <string.h>

#include "device/timing/wave_record.c"

struct made *made_planned(const struct rp_rec_plan *plan, uint32_t waves, uint32_t groups_per_cu)
{
    struct made *m = calloc(1, sizeof *m);
    const struct rp_rec_shape shape = {.waves_per_group = waves, .groups_per_cu = groups_per_cu};
    assert_non_null(m);
    m->record = rp_record_new(plan, &shape);
    assert_non_null(m->record);
    for (uint64_t g = 0; g < plan->count + plan->probes; g++)
        assert_true(rp_rec_begin(&m->record->group[g], waves, UINT32_MAX));
    return m;
}

struct made *made_new(uint64_t groups, uint32_t waves)
{
    const struct rp_rec_plan plan = {.group_count = groups, .count = groups, .stride = 1};
    return made_planned(&plan, waves, 32 / waves);
}

void made_free(struct made *m)
{
    m->record->code = NULL; /* the made one's own */
    rp_record_free(m->record);
    free(m);
}

uint32_t made_code(struct made *m, struct rp_rec_code code)
{
    assert_true(m->codes < MADE_CODES);
    if (code.misc != RP_REC_WAITCNT)
        code.vm = code.exp = code.lgkm = 255;
    code.size_bytes = 4;
    code.pc = 0x10000 + 4ull * m->codes;
    if (!code.issue_clocks)
        code.issue_clocks = 4;
    m->code[m->codes] = code;
    return m->codes++;
}

struct rp_rec_code made_described(const struct rp_insn *in)
{
    return rec_describe(in, 0x10000);
}

uint32_t made_valu(struct made *m, uint8_t issue_clocks)
{
    return made_code(m, (struct rp_rec_code){.unit = RP_REC_VALU, .issue_clocks = issue_clocks});
}

uint32_t made_mfma(struct made *m, uint8_t passes, int d, int a, int c, unsigned registers)
{
    struct rp_rec_code code = {.unit = RP_REC_MFMA, .mfma_passes = passes, .write_count = 1};
    code.write[0] = (struct rp_rec_regs){(uint16_t)(RP_REC_VGPR0 + d), (uint16_t)registers};
    if (a >= 0)
        code.read[code.read_count++] = (struct rp_rec_regs){(uint16_t)(RP_REC_VGPR0 + a), 2};
    if (c >= 0) {
        code.accumulator = (uint8_t)(code.read_count + 1);
        code.read[code.read_count++] =
            (struct rp_rec_regs){(uint16_t)(RP_REC_VGPR0 + c), (uint16_t)registers};
    }
    return made_code(m, code);
}

uint32_t made_use(struct made *m, int v)
{
    struct rp_rec_code code = {.unit = RP_REC_VALU, .read_count = 1};
    code.read[0] = (struct rp_rec_regs){(uint16_t)(RP_REC_VGPR0 + v), 1};
    return made_code(m, code);
}

uint32_t made_memory(struct made *m, enum rp_rec_unit unit)
{
    return made_code(m, (struct rp_rec_code){.unit = (uint8_t)unit,
                                             .counts_vm = unit == RP_REC_VMEM,
                                             .counts_lgkm = unit != RP_REC_VMEM,
                                             .in_order = unit == RP_REC_LDS});
}

uint32_t made_wait(struct made *m, uint8_t vm, uint8_t lgkm)
{
    return made_code(
        m, (struct rp_rec_code){
               .unit = RP_REC_MISC, .misc = RP_REC_WAITCNT, .vm = vm, .exp = 7, .lgkm = lgkm});
}

uint32_t made_misc(struct made *m, enum rp_rec_misc misc, uint16_t value)
{
    return made_code(
        m, (struct rp_rec_code){.unit = RP_REC_MISC, .misc = (uint8_t)misc, .value = value});
}

struct rp_rec_wave *made_wave(struct made *m, uint64_t group, uint32_t wave)
{
    return &m->record->group[group].wave[wave];
}

void made_step(struct rp_rec_wave *w, uint32_t code)
{
    assert_true(rp_rec_grow(w, 1, 0, 0));
    w->step[w->step_count++] = code;
    w->insts++;
}

void made_access(struct rp_rec_wave *w, uint32_t code, struct rp_rec_access a, int64_t line,
                 uint32_t lines)
{
    assert_true(rp_rec_grow(w, 1, 1, lines));
    a.step = w->step_count;
    a.first_line = w->line_count;
    a.line_count = line < 0 ? 0 : (uint16_t)lines;
    if (!a.lanes)
        a.lanes = 64;
    if (!a.lookups)
        a.lookups = a.line_count;
    for (uint32_t i = 0; i < a.line_count; i++)
        w->line[w->line_count++] = (struct rp_rec_line){.number = (uint64_t)line + i,
                                                        .sectors = 15,
                                                        .whole = a.flags & RP_REC_WRITES ? 15 : 0,
                                                        .lanes = 32,
                                                        .deepest = 1};
    w->access[w->access_count++] = a;
    made_step(w, code);
}

struct rp_timing_stats made_run(struct made *m)
{
    return made_run_on(m, "gfx942");
}

struct rp_timing_stats made_run_on(struct made *m, const char *gfx)
{
    return made_run_at(m, rp_arch_find(gfx));
}

struct rp_timing_stats made_run_at(struct made *m, const struct rp_arch *arch)
{
    struct rp_timing_stats stats;
    m->record->code = m->code;
    m->record->code_count = m->codes;
    assert_int_equal(rp_engine_run(arch, m->record, NULL, &stats), 0);
    return stats;
}
