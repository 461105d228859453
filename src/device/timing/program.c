#include "program.h"

#include <errno.h>
#include <stdlib.h>

enum { SLOT_CLOCKS = 4 };

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void find_lines(struct rp_program *p, const struct rp_wave_record *r)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->code_count; i++)
        p->line[i] = r->code[i].pc / RP_REC_LINE_BYTES;
    qsort(p->line, r->code_count, sizeof *p->line, by_number);
    for (uint32_t i = 0; i < r->code_count; i++)
        if (!count || p->line[count - 1] != p->line[i])
            p->line[count++] = p->line[i];
    p->line_count = count < RP_PROGRAM_LINES ? count : RP_PROGRAM_LINES;
}

static uint16_t line_of(const struct rp_program *p, uint64_t line)
{
    const uint64_t *at = bsearch(&line, p->line, p->line_count, sizeof *p->line, by_number);
    return (uint16_t)(at ? (uint64_t)(at - p->line) : line % RP_PROGRAM_LINES);
}

static struct rp_program_code code_of(const struct rp_rec_code *c, uint16_t line)
{
    struct rp_program_code code = {
        .pc_dwords = (uint32_t)(c->pc / 4),
        .line = line,
        .value = c->value,
        .unit = c->unit,
        .port = c->unit == RP_REC_SMEM ? RP_REC_SALU : c->unit,
        .misc = c->misc,
        .port_clocks = c->unit == RP_REC_VALU ? c->issue_clocks : SLOT_CLOCKS,
        .clocks = c->issue_clocks,
        .vm = c->vm,
        .lgkm = c->lgkm,
        .flags =
            (uint8_t)((c->counts_vm ? RP_PROGRAM_VM : 0) | (c->counts_lgkm ? RP_PROGRAM_LGKM : 0) |
                      (c->in_order ? RP_PROGRAM_IN_ORDER : 0)),
        .size_dwords = (uint8_t)(c->size_bytes / 4),
    };
    if (c->unit == RP_REC_MFMA)
        code.port_clocks = (uint8_t)(SLOT_CLOCKS * c->mfma_passes);
    return code;
}

int rp_program_init(struct rp_program *p, const struct rp_wave_record *r)
{
    const uint32_t count = r->code_count ? r->code_count : 1;
    *p = (struct rp_program){.code = calloc(count, sizeof *p->code),
                             .line = calloc(count, sizeof *p->line)};
    if (!p->code || !p->line) {
        rp_program_release(p);
        return -ENOMEM;
    }
    find_lines(p, r);
    for (uint32_t i = 0; i < r->code_count; i++)
        p->code[i] = code_of(&r->code[i], line_of(p, r->code[i].pc / RP_REC_LINE_BYTES));
    return 0;
}

struct rp_program_code rp_program_add(const struct rp_rec_code *code, uint64_t entry_va)
{
    return code_of(code, (uint16_t)(code->pc / RP_REC_LINE_BYTES - entry_va / RP_REC_LINE_BYTES));
}

void rp_program_release(struct rp_program *p)
{
    free(p->code);
    free(p->line);
    *p = (struct rp_program){0};
}
