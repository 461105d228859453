#include "live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cu.h"
#include "place.h"

struct rp_live {
    struct rp_timing_simulation r;
    struct rp_timing_stats stats;
    struct rp_engine_watch watch;
    struct rp_wave_record rec; /* of the group; its waves' are what has not been replayed */
    struct rp_rec_group group;
    struct rp_cu cu;
    struct rp_cu_group cu_group;
    struct rp_cu_wave *slot;
    struct rp_rec_pages pages;
    uint64_t entry_va;
    uint32_t program_count, program_room;
    uint32_t starved; /* bit for each wave */
    uint64_t issued[RP_CU_GROUP_WAVES];
};

/* ---- set-up -------------------------------------------------------------------------------- */

static void note_issued(void *ctx, const struct rp_wave_place *where, uint32_t step,
                        const struct rp_issue_times *times)
{
    struct rp_live *live = ctx;
    (void)step;
    live->issued[where->wave] = times->issued;
}

/* All of the memory and of the Infinity Cache is there for the one die. */
static struct rp_machine machine_of(const struct rp_arch *arch)
{
    const uint32_t dies = arch->xcc_count ? arch->xcc_count : 1;
    const uint32_t cus = arch->compute_units / dies;
    const uint32_t channels = arch->timing->memory_channels;
    return (struct rp_machine){.arch = arch,
                               .dies = 1,
                               .all_dies = 1,
                               .cus_per_die = cus ? cus : 1,
                               .memory_channels = channels ? channels : 1};
}

static int allocate(struct rp_live *live, uint32_t waves)
{
    struct rp_timing_simulation *r = &live->r;
    const struct rp_arch_timing *t = r->m.arch->timing;
    r->code_slots = t->inst_l1_bytes / RP_REC_LINE_BYTES;
    if (!r->code_slots)
        r->code_slots = 1;
    r->code_slot = calloc((size_t)t->sqcs_per_xcc * r->code_slots, sizeof *r->code_slot);
    live->slot = calloc(waves, sizeof *live->slot);
    live->group.wave = calloc(waves, sizeof *live->group.wave);
    if (!r->code_slot || !live->slot || !live->group.wave)
        return -ENOMEM;
    const int status = rp_hierarchy_init(&r->memory, &r->m, live->stats.level);
    return status ? status : rp_hierarchy_open(&r->memory, 0);
}

struct rp_live *rp_live_new(const struct rp_arch *arch, uint32_t waves, uint64_t entry_va,
                            uint64_t begin)
{
    struct rp_live *live = waves && waves <= RP_CU_GROUP_WAVES ? calloc(1, sizeof *live) : NULL;
    if (!live)
        return NULL;
    live->r.m = machine_of(arch);
    if (allocate(live, waves) < 0) {
        rp_live_free(live);
        return NULL;
    }
    live->entry_va = entry_va;
    live->group.wave_count = waves;
    live->rec.group = &live->group;
    for (uint32_t i = 0; i < waves; i++) {
        live->group.wave[i].grows = true;
        if (!rp_rec_grow(&live->group.wave[i], 1, 1, 1)) {
            rp_live_free(live);
            return NULL;
        }
    }
    live->watch = (struct rp_engine_watch){.ctx = live, .issued = note_issued};
    live->r.program.grows = true;
    live->r.rec = &live->rec;
    live->r.watch = &live->watch;
    live->r.stats = &live->stats;
    rp_cu_init(&live->cu, 0, 0, live->slot);
    rp_cu_start(&live->r, &live->cu, &live->cu_group, begin);
    return live;
}

void rp_live_free(struct rp_live *live)
{
    if (!live)
        return;
    for (uint32_t i = 0; live->group.wave && i < live->group.wave_count; i++) {
        free(live->group.wave[i].step);
        free(live->group.wave[i].access);
        free(live->group.wave[i].line);
    }
    free(live->group.wave);
    rp_hierarchy_release(&live->r.memory);
    rp_program_release(&live->r.program);
    rp_rec_pages_release(&live->pages);
    free(live->r.code_slot);
    free(live->rec.code);
    free(live->slot);
    free(live);
}

struct rp_wave_record *rp_live_record(struct rp_live *live)
{
    return &live->rec;
}

/* ---- what waves did ------------------------------------------------------------------------ */

/* Instructions that have been added to the table. */
static int extend_program(struct rp_live *live)
{
    const uint32_t count = live->rec.code_count;
    if (count > live->program_room) {
        struct rp_program_code *code =
            realloc(live->r.program.code, 2 * (size_t)count * sizeof *code);
        if (!code)
            return -ENOMEM;
        live->r.program.code = code;
        live->program_room = 2 * count;
    }
    for (; live->program_count < count; live->program_count++)
        live->r.program.code[live->program_count] =
            rp_program_add(&live->rec.code[live->program_count], live->entry_va);
    return 0;
}

static struct rp_cu_wave *replayed(struct rp_live *live, uint32_t wave)
{
    return &live->slot[live->cu_group.slot[wave]];
}

/* Forgets what has been replayed. */
static void forget(struct rp_rec_wave *kept, const struct rp_cu_wave *w)
{
    const uint32_t steps = (uint32_t)(w->step - kept->step);
    const uint32_t accesses = (uint32_t)(w->access - kept->access);
    const uint32_t lines =
        accesses < kept->access_count ? kept->access[accesses].first_line : kept->line_count;
    kept->step_count -= steps;
    kept->access_count -= accesses;
    kept->line_count -= lines;
    if (kept->step_count)
        memmove(kept->step, kept->step + steps, kept->step_count * sizeof *kept->step);
    if (kept->access_count)
        memmove(kept->access, kept->access + accesses, kept->access_count * sizeof *kept->access);
    if (kept->line_count)
        memmove(kept->line, kept->line + lines, kept->line_count * sizeof *kept->line);
    for (uint32_t i = 0; i < kept->access_count; i++) {
        kept->access[i].step -= steps;
        kept->access[i].first_line -= lines;
    }
}

/* Room has been made for it. */
static int add_access(struct rp_live *live, struct rp_rec_wave *kept, const struct rp_rec_wave *rec,
                      const struct rp_rec_access *access, uint32_t step)
{
    struct rp_rec_access *a = &kept->access[kept->access_count++];
    *a = *access;
    a->step = step;
    a->first_line = kept->line_count;
    for (uint32_t i = 0; i < a->line_count; i++) {
        struct rp_rec_line *line = &kept->line[kept->line_count++];
        *line = rec->line[access->first_line + i];
        if (rp_rec_pages_place(&live->pages, line) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add(struct rp_live *live, struct rp_rec_wave *kept, const struct rp_rec_wave *rec,
               uint32_t first, const uint32_t *step, uint32_t count, uint32_t access)
{
    uint32_t end = access, lines = 0;
    for (; end < rec->access_count && rec->access[end].step < first + count; end++)
        lines += rec->access[end].line_count;
    if (!rp_rec_grow(kept, count, end - access, lines))
        return -ENOMEM;
    for (; access < end; access++) {
        const uint32_t at = rec->access[access].step - first + kept->step_count;
        if (add_access(live, kept, rec, &rec->access[access], at) < 0)
            return -ENOMEM;
    }
    memcpy(kept->step + kept->step_count, step, count * sizeof *step);
    kept->step_count += count;
    return 0;
}

int rp_live_add(struct rp_live *live, uint32_t wave, const struct rp_rec_wave *rec, uint32_t first,
                const uint32_t *step, uint32_t count, uint32_t access)
{
    struct rp_rec_wave *kept = &live->group.wave[wave];
    struct rp_cu_wave *w = replayed(live, wave);
    if (!count || !kept->grows)
        return 0;
    forget(kept, w);
    if (extend_program(live) < 0 || add(live, kept, rec, first, step, count, access) < 0)
        return -ENOMEM;
    kept->grows = live->rec.code[step[count - 1]].misc != RP_REC_END;
    w->step = kept->step;
    w->half = NULL; /* nothing is reckoned from there */
    w->end = kept->step + kept->step_count;
    /* Whether it is taken is not known before the next one. */
    if (kept->grows && live->rec.code[step[count - 1]].unit == RP_REC_BRANCH)
        w->end--;
    w->access = kept->access;
    w->access_end = kept->access + kept->access_count;
    if (live->starved & 1u << wave && w->step < w->end) {
        live->starved &= ~(1u << wave);
        rp_cu_resume(&live->cu, live->cu_group.slot[wave], live->cu.now);
    }
    return 0;
}

/* ---- time ---------------------------------------------------------------------------------- */

enum rp_live_answer rp_live_issued(struct rp_live *live, uint32_t wave, bool alone,
                                   uint64_t *ret_clock)
{
    const struct rp_cu_wave *w = replayed(live, wave);
    for (;;) {
        if (w->step == w->end) {
            *ret_clock = live->issued[wave];
            return RP_LIVE_KNOWN;
        }
        if (live->starved && !alone)
            return RP_LIVE_WAITS;
        switch (rp_cu_run(&live->r, &live->cu)) {
        case RP_CU_STARVES:
            live->starved |= 1u << live->slot[live->cu.starved].place.wave;
            break;
        case RP_CU_WAITS:
            live->r.clock = live->cu.now;
            break;
        case RP_CU_IDLE:
        case RP_CU_HAS_ROOM:
            return RP_LIVE_NEVER;
        }
    }
}
