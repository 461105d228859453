/* Records of sampled workgroups. Their addresses must not depend on the process, so pages are
 * numbered in the order of their first use.
 */
#include "device/timing/wave_record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/isa/instruction.h"

enum {
    PAGE_LINES = 4096 / RP_REC_LINE_BYTES,
    BLOCK_PAGES = RP_REC_BLOCK_BYTES / 4096,
    FIRST_SIZE = 64
};

static struct rp_rec_number *find(const struct rp_rec_numbers *n, uint64_t old)
{
    uint64_t i = (old * 0x9e3779b97f4a7c15u >> 20) & (n->size - 1);
    while (n->at[i].old && n->at[i].old != old + 1)
        i = (i + 1) & (n->size - 1);
    return &n->at[i];
}

static int grow(struct rp_rec_numbers *n)
{
    struct rp_rec_numbers larger = {.size = n->size ? 2 * n->size : FIRST_SIZE, .count = n->count};
    larger.at = calloc(larger.size, sizeof *larger.at);
    if (!larger.at)
        return -ENOMEM;
    for (uint64_t i = 0; i < n->size; i++)
        if (n->at[i].old)
            *find(&larger, n->at[i].old - 1) = n->at[i];
    free(n->at);
    *n = larger;
    return 0;
}

/* Returns the number, which may be the next one; NULL: no memory. */
static const struct rp_rec_number *number(struct rp_rec_numbers *n, uint64_t old)
{
    if (2 * n->count >= n->size && grow(n) < 0)
        return NULL;
    struct rp_rec_number *at = find(n, old);
    if (!at->old)
        *at = (struct rp_rec_number){.old = old + 1, .now = n->count++};
    return at;
}

/* The page has the next number. @return false: no memory */
static bool add_page(struct rp_rec_pages *p, uint64_t old)
{
    struct rp_rec_blocks *b = &p->blocks;
    const struct rp_rec_number *block = number(&p->block, old / BLOCK_PAGES);
    if (b->pages == b->room) {
        const uint64_t room = b->room ? 2 * b->room : FIRST_SIZE;
        uint32_t *larger = realloc(b->of_page, room * sizeof *larger);
        if (!larger)
            return false;
        b->of_page = larger;
        b->room = room;
    }
    if (block)
        b->of_page[b->pages++] = (uint32_t)block->now;
    return block;
}

int rp_rec_pages_place(struct rp_rec_pages *p, struct rp_rec_line *line)
{
    const uint64_t before = line->number, old = before / PAGE_LINES;
    /* The address is made up, and the same in every process. */
    if (before >= RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES)
        return 0;
    if (p->latest.old != old + 1) {
        const struct rp_rec_number *page = number(&p->page, old);
        if (!page || (page->now == p->blocks.pages && !add_page(p, old)))
            return -ENOMEM;
        p->latest = *page;
    }
    line->number = p->latest.now * PAGE_LINES + before % PAGE_LINES;
    return 0;
}

void rp_rec_pages_release(struct rp_rec_pages *p)
{
    free(p->page.at);
    free(p->block.at);
    free(p->blocks.of_page);
    *p = (struct rp_rec_pages){0};
}

/* ---- patterns ------------------------------------------------------------------------------ */

struct rp_rec_patterns *rp_rec_patterns_new(void)
{
    /* It is global because threads keep patterns from one record to the next, and must tell them
     * apart, though one may lie where another one has been. */
    static uint64_t serials;
    struct rp_rec_patterns *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
    return p;
}

static void patterns_free(struct rp_rec_patterns *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->count; i++)
        free(p->at[i].line);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

int rp_rec_pattern_add(struct rp_rec_patterns *p, const struct rp_rec_line *line,
                       uint32_t line_count, uint64_t first)
{
    struct rp_rec_line *copy = malloc(line_count * sizeof *copy);
    int number = -1;
    if (!copy)
        return -1;
    for (uint32_t i = 0; i < line_count; i++) {
        copy[i] = line[i];
        copy[i].number = (line[i].number - first) & RP_REC_LINE_NUMBERS;
    }
    pthread_mutex_lock(&p->lock);
    if (p->count < RP_REC_PATTERNS) {
        number = (int)p->count++;
        p->at[number] = (struct rp_rec_pattern){.line = copy, .line_count = line_count};
    }
    pthread_mutex_unlock(&p->lock);
    if (number < 0)
        free(copy);
    return number;
}

static int unpack(struct rp_rec_wave *w)
{
    const uint32_t count = w->line_count + w->packed_lines;
    struct rp_rec_line *line = w->packed_lines ? malloc(count * sizeof *line) : NULL;
    uint32_t used = 0;
    if (!w->packed_lines)
        return 0;
    if (!line)
        return -ENOMEM;
    for (uint32_t i = 0; i < w->access_count; i++) {
        struct rp_rec_access *a = &w->access[i];
        const uint32_t first = used;
        for (uint32_t k = 0; k < a->line_count; k++)
            line[used++] = rp_rec_line_of(w, a, k);
        a->first_line = first;
        a->space &= (uint8_t)~RP_REC_PACKED;
    }
    free(w->line);
    w->line = line;
    w->line_count = used;
    w->line_room = count;
    w->packed_lines = 0;
    return 0;
}

int rp_record_unpack(struct rp_wave_record *r)
{
    int status = 0;
    for (uint64_t g = 0; g < r->plan.count + r->plan.probes && !status; g++)
        for (uint32_t w = 0; w < r->group[g].wave_count && !status; w++)
            status = unpack(&r->group[g].wave[w]);
    return status;
}

/* ---- pages --------------------------------------------------------------------------------- */

static int by_age(const void *a, const void *b)
{
    const struct rp_rec_warm_line *x = a, *y = b;
    if (x->age != y->age)
        return x->age > y->age ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->die < y->die ? -1 : x->die > y->die;
}

/* Pages that the record does not touch are left out. */
static int place_warm(struct rp_rec_warm *warm, const struct rp_rec_pages *pages)
{
    uint64_t count = 0;
    warm->page = calloc(pages->page.count ? pages->page.count : 1, sizeof *warm->page);
    if (!warm->page)
        return -ENOMEM;
    warm->page_count = pages->page.count;
    for (uint64_t i = 0; i < pages->page.size; i++)
        if (pages->page.at[i].old)
            warm->page[pages->page.at[i].now] = warm->in_mall(warm, pages->page.at[i].old - 1);
    for (uint64_t i = 0; i < warm->line_count && pages->page.size; i++) {
        struct rp_rec_warm_line line = warm->line[i];
        const struct rp_rec_number *page = find(&pages->page, line.number / PAGE_LINES);
        if (!page->old)
            continue;
        line.number = page->now * PAGE_LINES + line.number % PAGE_LINES;
        warm->line[count++] = line;
    }
    warm->line_count = count;
    qsort(warm->line, count, sizeof *warm->line, by_age);
    return 0;
}

static void warm_free(struct rp_rec_warm *warm)
{
    if (!warm)
        return;
    free(warm->page);
    free(warm->line);
    free(warm);
}

int rp_record_renumber_pages(struct rp_wave_record *r)
{
    struct rp_rec_pages pages = {0};
    const uint64_t groups = r->plan.count + r->plan.probes;
    if (r->placed)
        return 0;
    int status = rp_record_unpack(r);
    for (uint64_t g = 0; g < groups && !status; g++)
        for (uint32_t w = 0; w < r->group[g].wave_count && !status; w++) {
            struct rp_rec_wave *wave = &r->group[g].wave[w];
            for (uint32_t i = 0; i < wave->line_count && !status; i++)
                status = rp_rec_pages_place(&pages, &wave->line[i]);
        }
    if (!status && r->warm)
        status = place_warm(r->warm, &pages);
    if (!status) {
        r->blocks = pages.blocks;
        pages.blocks = (struct rp_rec_blocks){0};
    }
    rp_rec_pages_release(&pages);
    r->placed = !status;
    return status;
}

/* Which workgroups are recorded, and the memory of records. */

/**
 * Registers that an instruction reads or writes are numbers of one file: 0 to 127 as in
 * rp_wave.sgpr (VCC, M0 and EXEC among them), then SCC, then the vector registers.
 */
enum { RP_REC_SCC = 128, RP_REC_VGPR0 = 129, RP_REC_AGPR0 = RP_REC_VGPR0 + 256 };
enum { RP_REC_FILE = RP_REC_AGPR0 + 256 };

/* These are bounds of a dispatch's record. It takes all waves up to ALL_WAVES, and for timing
 * TIMED_WAVES, because dies differ little (tests/unit/timing/test_timing_engine.c). Above that it
 * takes FILLS times what one die holds; some of these start while others end, as in the middle of a
 * long kernel.
 *
 * With two fills streams are up to 58 % too fast (bench/model-accuracy), and copies 13 % in
 * test_timing_engine.c, because what is measured is the first and the last fill. With three the
 * errors are about those of four, some larger and some smaller. 32 probes and 64 give times that
 * are within 0.6 % of each other. With STEPS instructions in all, of 4 bytes and in memory-bound
 * code as much again for accesses and lines, a record stays below about 200 MB; that of a usual
 * kernel is a few MB.
 */
enum {
    ALL_WAVES = 4096,
    TIMED_WAVES = 1024,
    WHOLE_WAVES = 8192,
    FILLS = 4,
    STEPS = 1 << 24,
    PROBE_EVERY = 16,
    PROBES = 32
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct rp_rec_plan plan_of(const struct rp_arch *arch, uint64_t group_count,
                                  uint32_t waves_per_group, uint32_t groups_per_cu,
                                  uint32_t all_waves)
{
    const uint64_t dies = arch->xcc_count ? arch->xcc_count : 1;
    struct rp_rec_plan p = {.group_count = group_count, .stride = 1, .count = group_count};
    if (!group_count || !waves_per_group)
        return p;
    if (group_count > all_waves / waves_per_group) {
        /* The first die has the most workgroups. */
        const uint64_t of_die = (group_count + dies - 1) / dies;
        p.count = FILLS * (uint64_t)groups_per_cu * (arch->compute_units / dies);
        p.count = least(p.count, of_die);
        if (!p.count)
            p.count = 1;
        p.stride = dies;
        p.first = (of_die - p.count) / 2 * dies;
        if (dies > 1 && p.count >= PROBE_EVERY) {
            /* Every second or fourth of few workgroups becomes a probe, because fewer than PROBES
             * tell little.
             */
            p.probe_every = PROBE_EVERY;
            while (p.probe_every > 2 && p.count / p.probe_every < PROBES)
                p.probe_every /= 2;
            p.probes = p.count / p.probe_every;
        }
    }
    const uint64_t waves = (p.count + p.probes) * waves_per_group;
    p.steps_limit = (uint32_t)(STEPS / waves);
    if (!p.steps_limit)
        p.steps_limit = 1;
    return p;
}

struct rp_rec_plan rp_rec_plan_of(const struct rp_arch *arch, uint64_t group_count,
                                  uint32_t waves_per_group, uint32_t groups_per_cu)
{
    return plan_of(arch, group_count, waves_per_group, groups_per_cu, ALL_WAVES);
}

struct rp_rec_plan rp_rec_timing_plan_of(const struct rp_arch *arch, uint64_t group_count,
                                         uint32_t waves_per_group, uint32_t groups_per_cu)
{
    return plan_of(arch, group_count, waves_per_group, groups_per_cu, TIMED_WAVES);
}

bool rp_rec_whole_plan_of(const struct rp_arch *arch, const struct rp_rec_plan *sample,
                          uint32_t waves_per_group, uint32_t groups_per_cu, struct rp_rec_plan *ret)
{
    const uint64_t cus = arch->compute_units, groups = sample->group_count;
    if (sample->count == groups || !cus || groups % cus || groups > cus * groups_per_cu ||
        groups > WHOLE_WAVES / waves_per_group)
        return false;
    *ret = (struct rp_rec_plan){
        .group_count = groups,
        .stride = 1,
        .count = groups,
        .steps_limit = (uint32_t)(STEPS / 2 / (groups * waves_per_group)), /* beside the sample's */
    };
    return true;
}

/* The probe behind main one number probe * probe_every is on each of the other dies in turn. */
static uint64_t probe_id(const struct rp_rec_plan *p, uint64_t probe)
{
    return p->first + probe * p->probe_every * p->stride + 1 + probe % (p->stride - 1);
}

int64_t rp_rec_index(const struct rp_rec_plan *p, uint64_t linear_id)
{
    if (linear_id < p->first)
        return -1;
    const uint64_t index = (linear_id - p->first) / p->stride;
    if (index >= p->count)
        return -1;
    if ((linear_id - p->first) % p->stride == 0)
        return (int64_t)index;
    if (!p->probe_every || index % p->probe_every)
        return -1;
    const uint64_t probe = index / p->probe_every;
    return probe < p->probes && probe_id(p, probe) == linear_id ? (int64_t)(p->count + probe) : -1;
}

uint64_t rp_rec_linear_id(const struct rp_rec_plan *p, uint64_t index)
{
    return index < p->count ? p->first + index * p->stride : probe_id(p, index - p->count);
}

struct rp_wave_record *rp_record_new(const struct rp_rec_plan *plan,
                                     const struct rp_rec_shape *shape)
{
    struct rp_wave_record *r = calloc(1, sizeof *r);
    const uint64_t groups = plan->count + plan->probes;
    if (!r)
        return NULL;
    r->plan = *plan;
    r->shape = *shape;
    r->group = calloc(groups ? groups : 1, sizeof *r->group);
    if (!r->group) {
        free(r);
        return NULL;
    }
    for (uint64_t i = 0; i < groups; i++)
        r->group[i].linear_id = rp_rec_linear_id(plan, i);
    return r;
}

static void free_group(struct rp_rec_group *g)
{
    for (uint32_t i = 0; g->wave && i < g->wave_count; i++) {
        if (!g->wave[i].same_step)
            free(g->wave[i].step);
        free(g->wave[i].access);
        free(g->wave[i].line);
        free(g->wave[i].mask);
    }
    free(g->wave);
}

void rp_record_free(struct rp_wave_record *r)
{
    if (!r)
        return;
    for (uint64_t i = 0; i < r->plan.count + r->plan.probes; i++)
        free_group(&r->group[i]);
    patterns_free(r->patterns);
    warm_free(r->warm);
    free(r->blocks.of_page);
    free(r->group);
    free(r->code);
    free(r);
}

struct amount {
    double insts, waves, most;
};

static void add_amount(struct amount *a, const struct rp_rec_group *g)
{
    for (uint32_t i = 0; i < g->wave_count; i++) {
        a->insts += (double)g->wave[i].insts;
        a->most = (double)g->wave[i].insts > a->most ? (double)g->wave[i].insts : a->most;
    }
    a->waves += g->wave_count;
}

/* A difference of five in a hundred is what dies differ by where waves follow their data. */
static bool sample_stands_for_all(const struct rp_wave_record *r)
{
    struct amount all = {0}, main = {0};
    for (uint64_t g = 0; g < r->plan.count; g++)
        add_amount(&all, &r->group[g]);
    for (uint64_t i = 0; i < r->sample.count; i++)
        add_amount(&main, &r->group[rp_rec_linear_id(&r->sample, i)]);
    const double part = all.waves > 0 ? main.waves / all.waves * all.insts : 0;
    return main.insts > 0.95 * part && main.insts < 1.05 * part && main.most > 0.95 * all.most;
}

/* A probe has no steps. */
static void drop_steps(struct rp_rec_group *g)
{
    for (uint32_t i = 0; i < g->wave_count; i++) {
        free(g->wave[i].step);
        g->wave[i].step = NULL;
        g->wave[i].step_count = g->wave[i].step_room = 0;
        g->wave[i].lines_only = true;
    }
}

int rp_record_narrow(struct rp_wave_record *r)
{
    const struct rp_rec_plan *s = &r->sample;
    const uint64_t groups = s->count + s->probes;
    if (!s->count || !sample_stands_for_all(r))
        return 0;
    struct rp_rec_group *group = calloc(groups, sizeof *group);
    if (!group)
        return -ENOMEM;
    for (uint64_t i = 0; i < groups; i++) {
        struct rp_rec_group *from = &r->group[rp_rec_linear_id(s, i)];
        group[i] = *from;
        from->wave = NULL;
        if (i >= s->count)
            drop_steps(&group[i]);
    }
    for (uint64_t g = 0; g < r->plan.count; g++)
        free_group(&r->group[g]);
    free(r->group);
    r->group = group;
    r->plan = *s;
    r->sample.count = 0;
    return 0;
}

int rp_record_status(const struct rp_wave_record *r)
{
    for (uint64_t i = 0; i < r->plan.count + r->plan.probes; i++) {
        const struct rp_rec_group *g = &r->group[i];
        if (g->lost)
            return -ENOMEM;
        for (uint32_t w = 0; w < g->wave_count; w++)
            if (g->wave[w].lost)
                return -ENOMEM;
    }
    return 0;
}

bool rp_rec_begin(struct rp_rec_group *g, uint32_t waves, uint32_t steps_limit)
{
    g->wave = calloc(waves ? waves : 1, sizeof *g->wave);
    g->wave_count = g->wave ? waves : 0;
    g->lost = !g->wave;
    for (uint32_t i = 0; i < g->wave_count; i++)
        g->wave[i] = (struct rp_rec_wave){.limit = steps_limit, .full = true};
    return g->wave;
}

enum { FIRST_ROOM = 64 };

static bool has_room(const void *at, uint32_t room, uint32_t count, uint32_t more)
{
    return at && more <= room - count;
}

/* Returns the array at @p at with room for @p more elements behind @p count, or NULL, which leaves
 * it unchanged.
 */
static void *reserve(void *at, uint32_t *room, uint32_t count, uint32_t more, size_t size)
{
    uint64_t wanted = *room ? 2ull * *room : FIRST_ROOM;
    if (wanted < (uint64_t)count + more)
        wanted = (uint64_t)count + more;
    void *grown = wanted <= UINT32_MAX ? realloc(at, wanted * size) : NULL;
    if (grown)
        *room = (uint32_t)wanted;
    return grown;
}

bool rp_rec_grow(struct rp_rec_wave *w, uint32_t steps, uint32_t accesses, uint32_t lines)
{
    if (!has_room(w->step, w->step_room, w->step_count, steps)) {
        void *step = reserve(w->step, &w->step_room, w->step_count, steps, sizeof *w->step);
        if (!step)
            return false;
        w->step = step;
    }
    if (!has_room(w->access, w->access_room, w->access_count, accesses)) {
        void *access =
            reserve(w->access, &w->access_room, w->access_count, accesses, sizeof *w->access);
        if (!access)
            return false;
        w->access = access;
    }
    if (!has_room(w->line, w->line_room, w->line_count, lines)) {
        void *line = reserve(w->line, &w->line_room, w->line_count, lines, sizeof *w->line);
        if (!line)
            return false;
        w->line = line;
    }
    return true;
}

bool rp_rec_note_mask(struct rp_rec_wave *w, uint64_t exec)
{
    if (w->mask_count && w->mask[w->mask_count - 1].exec == exec)
        return true;
    if (!has_room(w->mask, w->mask_room, w->mask_count, 1)) {
        void *mask = reserve(w->mask, &w->mask_room, w->mask_count, 1, sizeof *w->mask);
        if (!mask)
            return false;
        w->mask = mask;
    }
    w->mask[w->mask_count++] = (struct rp_rec_mask){.exec = exec, .step = w->step_count};
    return true;
}

uint64_t rp_rec_mask_at(const struct rp_rec_wave *w, uint32_t step)
{
    uint32_t low = 0, high = w->mask_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (w->mask[middle].step <= step)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? w->mask[low - 1].exec : ~0ull;
}

/* Forgets masks of steps that are not kept. */
static void drop_masks(struct rp_rec_wave *w)
{
    while (w->mask_count && w->mask[w->mask_count - 1].step >= w->step_count)
        w->mask_count--;
}

/* Forgets the latest access. */
static void drop_access(struct rp_rec_wave *w)
{
    const struct rp_rec_access *a = &w->access[--w->access_count];
    w->line_count = a->first_line;
    if (a->space & RP_REC_PACKED)
        w->packed_lines -= a->line_count - 1u;
}

void rp_rec_keep(struct rp_rec_wave *w, uint32_t steps)
{
    if (w->step_count > steps)
        w->step_count = steps;
    drop_masks(w);
    while (w->access_count && w->access[w->access_count - 1].step >= w->step_count)
        drop_access(w);
}

void rp_rec_cut(struct rp_rec_wave *w, uint64_t insts)
{
    w->insts -= insts < w->insts ? insts : w->insts;
    if (w->step_count > w->insts)
        w->step_count = (uint32_t)w->insts;
    drop_masks(w);
    while (w->access_count && w->access[w->access_count - 1].step >= w->insts)
        drop_access(w);
}

/* Returns what the timing engine needs to know of a decoded instruction. */

static enum rp_rec_unit unit_of(const struct rp_insn *in)
{
    switch (in->fmt) {
    case RP_FMT_SOP1:
    case RP_FMT_SOP2:
    case RP_FMT_SOPC:
    case RP_FMT_SOPK:
        return in->cost_class == RP_COST_BRANCH ? RP_REC_BRANCH : RP_REC_SALU;
    case RP_FMT_SOPP:
        return in->cost_class == RP_COST_BRANCH ? RP_REC_BRANCH : RP_REC_MISC;
    case RP_FMT_SMEM:
        return RP_REC_SMEM;
    case RP_FMT_DS:
        return RP_REC_LDS;
    case RP_FMT_FLAT:
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        return RP_REC_VMEM;
    default:
        return in->cost_class >= RP_COST_MFMA_2 && in->cost_class <= RP_COST_MFMA_16 ? RP_REC_MFMA
                                                                                     : RP_REC_VALU;
    }
}

/* Decodes SIMM16 of s_waitcnt on gfx9 (CDNA3 ISA guide, "S_WAITCNT"). */
static void describe_wait(struct rp_rec_code *c, uint32_t simm16)
{
    c->misc = RP_REC_WAITCNT;
    c->vm = (uint8_t)((simm16 & 15) | (simm16 >> 14 & 3) << 4);
    c->exp = simm16 >> 4 & 7;
    c->lgkm = simm16 >> 8 & 15;
}

static void describe_misc(struct rp_rec_code *c, const struct rp_insn *in)
{
    const uint32_t simm16 = (uint32_t)in->offset & 0xffff;
    switch (in->op) {
    case RP_OP_s_nop: /* It takes that many and one more issue slots of 4 clocks. */
        c->misc = RP_REC_NOP;
        c->value = (uint16_t)(4 * ((simm16 & 15) + 1));
        break;
    case RP_OP_s_waitcnt:
        describe_wait(c, simm16);
        break;
    case RP_OP_s_barrier:
        c->misc = RP_REC_WAVE_BARRIER;
        break;
    case RP_OP_s_sleep: /* It takes about 64 * SIMM16[6:0] clocks (CDNA3 ISA guide). */
        c->misc = RP_REC_SLEEP;
        c->value = (uint16_t)(64 * (simm16 & 127));
        break;
    case RP_OP_s_setprio:
        c->misc = RP_REC_PRIORITY;
        c->value = (uint16_t)(simm16 & (RP_REC_PRIORITIES - 1));
        break;
    case RP_OP_s_endpgm:
    case RP_OP_s_endpgm_saved:
    case RP_OP_s_endpgm_ordered_ps_done:
        c->misc = RP_REC_END;
        break;
    default:
        break;
    }
}

static struct rp_rec_regs regs_of(const struct rp_opnd *o)
{
    struct rp_rec_regs r = {.count = o->dwords};
    switch (o->kind) {
    case RP_OPND_SGPR:
        r.first = o->index;
        break;
    case RP_OPND_VGPR:
        r.first = (uint16_t)(RP_REC_VGPR0 + o->index);
        break;
    case RP_OPND_AGPR:
        r.first = (uint16_t)(RP_REC_AGPR0 + o->index);
        break;
    default:
        r.count = 0;
        break;
    }
    if (r.first + r.count > RP_REC_FILE) /* Code that reaches beyond the register file faults. */
        r.count = (uint16_t)(RP_REC_FILE - r.first);
    return r;
}

static void describe_registers(struct rp_rec_code *c, const struct rp_insn *in)
{
    for (unsigned i = 0; i < 4; i++) {
        const struct rp_rec_regs r = regs_of(&in->src[i]);
        if (!r.count)
            continue;
        if (c->unit == RP_REC_MFMA && i == 2)
            c->accumulator = (uint8_t)(c->read_count + 1);
        c->read[c->read_count++] = r;
    }
    const struct rp_rec_regs dst = regs_of(&in->dst), sdst = regs_of(&in->sdst);
    if (dst.count)
        c->write[c->write_count++] = dst;
    if (sdst.count && in->fmt != RP_FMT_VOP3PX2)
        c->write[c->write_count++] = sdst;
}

/* Tests whether an instruction reads vector registers alone: no scalar register, no constant, and
 * no lane of another one (DPP, SDWA). */
static bool reads_vectors_alone(const struct rp_insn *in)
{
    for (unsigned i = 0; i < 4; i++)
        if (in->src[i].kind != RP_OPND_NONE && in->src[i].kind != RP_OPND_VGPR)
            return false;
    return !(in->flags & (RP_IF_DPP | RP_IF_SDWA));
}

/* Additions, products and multiply-adds that nothing packs leave a second multiply-add unit of each
 * lane idle, which another wave may use (rp_arch_timing.valu_ports). Of f64 there is one for
 * multiply-adds. Others were not measured, and are taken to need the SIMD. */
static enum rp_rec_valu valu_part(const struct rp_insn *in)
{
    if (!reads_vectors_alone(in))
        return RP_REC_VALU_WHOLE;
    switch (in->op) {
    case RP_OP_v_add_f16:
    case RP_OP_v_sub_f16:
    case RP_OP_v_subrev_f16:
    case RP_OP_v_mul_f16:
    case RP_OP_v_add_f32:
    case RP_OP_v_sub_f32:
    case RP_OP_v_subrev_f32:
    case RP_OP_v_mul_f32:
    case RP_OP_v_fma_f32:
    case RP_OP_v_fmac_f32:
        return RP_REC_VALU_HALF;
    case RP_OP_v_add_f64:
    case RP_OP_v_mul_f64:
        return RP_REC_VALU_HALF_F64;
    case RP_OP_v_fma_f64:
    case RP_OP_v_fmac_f64:
        return RP_REC_VALU_WHOLE_F64;
    default:
        return RP_REC_VALU_WHOLE;
    }
}

/** Describes an instruction at @p pc as the engine sees it. */
static struct rp_rec_code rec_describe(const struct rp_insn *in, uint64_t pc)
{
    struct rp_rec_code c = {
        .pc = pc,
        .op = in->op,
        .unit = (uint8_t)unit_of(in),
        .issue_clocks = rp_cost_cycles[in->cost_class],
        .size_bytes = in->size_bytes,
        .vm = 255,
        .exp = 255,
        .lgkm = 255,
    };
    const bool flat = in->fmt == RP_FMT_FLAT && in->seg == RP_SEG_FLAT;
    c.counts_vm = c.unit == RP_REC_VMEM;
    c.counts_lgkm = c.unit == RP_REC_SMEM || c.unit == RP_REC_LDS || flat;
    c.in_order = c.unit == RP_REC_LDS;
    if (c.unit == RP_REC_MFMA) {
        c.mfma_passes = (uint8_t)(c.issue_clocks / 4);
        c.issue_clocks = 4; /* Other instructions go on beside it then. */
    }
    if (c.unit == RP_REC_MISC)
        describe_misc(&c, in);
    if (c.unit == RP_REC_VALU)
        c.valu = (uint8_t)valu_part(in);
    describe_registers(&c, in);
    return c;
}

enum { RESOLVE_FIRST_SIZE = 512 };

static uint64_t pc_of(const struct rp_resolver *m, uint32_t distance)
{
    return m->entry_va + (uint64_t)(4 * (int64_t)(int32_t)distance);
}

static uint32_t *resolve_find(const struct rp_resolver *m, uint64_t pc)
{
    uint32_t i = (uint32_t)(pc / 4 * 2654435761u) & (m->size - 1);
    while (m->slot[i] && m->record->code[m->slot[i] - 1].pc != pc)
        i = (i + 1) & (m->size - 1);
    return &m->slot[i];
}

/* Doubles the slots, with code to fill half of them. */
static int resolve_grow(struct rp_resolver *m)
{
    struct rp_rec_code *code = realloc(m->record->code, m->size * sizeof *code);
    /* It is soon filled again. */
    struct rp_resolver_follower *follower = calloc(m->size, sizeof *follower);
    uint32_t *slot = calloc(2 * (size_t)m->size, sizeof *slot);
    if (code)
        m->record->code = code;
    if (!code || !slot || !follower) {
        free(slot);
        free(follower);
        return -ENOMEM;
    }
    free(m->slot);
    free(m->follower);
    m->slot = slot;
    m->follower = follower;
    m->room = m->size;
    m->size *= 2;
    for (uint32_t i = 0; i < m->record->code_count; i++)
        *resolve_find(m, m->record->code[i].pc) = i + 1;
    return 0;
}

int rp_resolver_init(struct rp_resolver *m, struct rp_wave_record *record, uint64_t entry_va)
{
    *m = (struct rp_resolver){.record = record, .entry_va = entry_va, .size = RESOLVE_FIRST_SIZE};
    return resolve_grow(m);
}

void rp_resolver_release(struct rp_resolver *m)
{
    rp_code_page_put(m->page);
    free(m->slot);
    free(m->follower);
    *m = (struct rp_resolver){0};
}

/* Returns the decoded instruction, or NULL if it is not mapped any more or memory has ended. */
static const struct rp_insn *insn_at(struct rp_resolver *m, struct rp_mem *mem, uint64_t pc)
{
    enum rp_fault_kind kind;
    if (!m->page || pc - m->page->base_va >= RP_CODE_PAGE_BYTES) {
        rp_code_page_put(m->page);
        m->page = rp_code_page_get(mem, pc, rp_exec_counts() != RP_COUNT_NOTHING, &kind);
        if (!m->page) {
            m->no_memory = kind == RP_FAULT_NO_MEMORY;
            return NULL;
        }
    }
    const unsigned index = (unsigned)((pc - m->page->base_va) / 4);
    if (!__atomic_load_n(&m->page->insn[index].fn, __ATOMIC_ACQUIRE))
        rp_code_decode(m->page, index);
    return &m->page->insn[index];
}

/* Resolves addresses. @return 0, -ENOMEM, or -ENOENT: the code is gone */
static int resolve(struct rp_resolver *m, struct rp_mem *mem, uint32_t *step)
{
    const uint64_t pc = pc_of(m, *step);
    uint32_t *slot = resolve_find(m, pc);
    if (!*slot) {
        const struct rp_insn *in = insn_at(m, mem, pc);
        if (!in)
            return m->no_memory ? -ENOMEM : -ENOENT;
        if (m->record->code_count == m->room) {
            if (resolve_grow(m) < 0)
                return -ENOMEM;
            slot = resolve_find(m, pc);
        }
        m->record->code[m->record->code_count++] = rec_describe(in, pc);
        *slot = m->record->code_count;
    }
    *step = *slot - 1;
    return 0;
}

int rp_resolve(struct rp_resolver *m, struct rp_mem *mem, uint32_t *step, uint32_t count,
               uint32_t *ret_count)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++, before = step[i - 1]) {
        const uint32_t distance = step[i];
        if (i && m->follower[before].index && m->follower[before].distance == distance) {
            step[i] = m->follower[before].index - 1;
            continue;
        }
        int status = resolve(m, mem, &step[i]);
        if (!status && i)
            m->follower[before] = (struct rp_resolver_follower){distance, step[i] + 1};
        if (status == -ENOENT) {
            *ret_count = i;
            return 0;
        }
        if (status < 0)
            return status;
    }
    *ret_count = count;
    return 0;
}
