#include "device/timing/timing_counters.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "device/exec/kernel_launch.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_engine.h"

/* These apply where an architecture's data do not say. The ways of the scalar L1 are those of
 * earlier GCN documents, and those of the L2 are of CDNA3 (white paper); those of the vector L1
 * are assumed.
 */
enum { L1_WAYS = 16, SCALAR_WAYS = 4, L2_WAYS = 16, SQC_PER_DIE = 20, SECTORS = 4, ALL = 0xf };

/* rp_tag.dirty has the sectors that are not in memory yet, and above them those that are valid. */
enum { VALID = SECTORS };

/* These are the sizes of the caches of one architecture. */
struct cache_shape {
    uint32_t dies, cus_per_die, scalar_caches_per_die;
    uint32_t l1_lines, l1_ways, scalar_lines, scalar_ways, l2_lines, l2_ways;
    uint32_t read_bytes; /**< of a vector L1's read request: 128, gfx90a 64 */
};

/* Returns the caches of a GPU, or of what a CU mask leaves of it; CUs are numbered as in
 * timing_engine.h. An MI300X has 20 scalar caches a die (rocprof-compute's sysinfo).
 */
static struct cache_shape shape_of(const struct rp_arch *arch)
{
    const uint32_t cus = arch->compute_units ? arch->compute_units : 1;
    const uint32_t all = arch->xcc_count ? arch->xcc_count : 1, dies = cus < all ? cus : all;
    const struct rp_arch_timing *t = arch->timing;

    return (struct cache_shape){
        .dies = dies,
        .cus_per_die = cus / dies,
        .scalar_caches_per_die = t ? t->sqcs_per_xcc : SQC_PER_DIE,
        .l1_lines = arch->l1_bytes / RP_REC_LINE_BYTES,
        .l1_ways = t ? t->l1_ways : L1_WAYS,
        .scalar_lines = arch->scalar_l1_bytes / arch->scalar_l1_line_bytes,
        .scalar_ways = t ? t->scalar_l1_ways : SCALAR_WAYS,
        .l2_lines = arch->l2_bytes / RP_REC_LINE_BYTES,
        .l2_ways = t ? t->l2_ways : L2_WAYS,
        .read_bytes = arch->gfx_target_version < 90400 ? 64 : 128,
    };
}

/* ---- the machine ---- */

struct caches {
    struct cache_shape shape;
    struct rp_cache_result sum;
    struct rp_tags *l1, *scalar, *l2; /**< per CU, scalar cache and die; used ones have tags */
};

static void release(struct rp_tags *tags, uint32_t count)
{
    for (uint32_t i = 0; tags && i < count; i++)
        rp_tags_release(&tags[i]);
    free(tags);
}

static void caches_free(struct caches *c)
{
    if (!c)
        return;
    release(c->l1, c->shape.dies * c->shape.cus_per_die);
    release(c->scalar, c->shape.dies * c->shape.scalar_caches_per_die);
    release(c->l2, c->shape.dies);
    free(c);
}

static struct caches *caches_new(const struct cache_shape *s)
{
    struct caches *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->shape = *s;
    c->l1 = calloc((size_t)s->dies * s->cus_per_die, sizeof *c->l1);
    c->scalar = calloc((size_t)s->dies * s->scalar_caches_per_die, sizeof *c->scalar);
    c->l2 = calloc(s->dies, sizeof *c->l2);
    if (c->l1 && c->scalar && c->l2)
        return c;
    caches_free(c);
    return NULL;
}

static struct rp_tags *scalar_cache(const struct caches *c, uint32_t cu)
{
    const struct cache_shape *s = &c->shape;

    return &c->scalar[rp_sqc_of(cu, s->cus_per_die, s->scalar_caches_per_die)];
}

static int open_tags(struct rp_tags *t, uint32_t lines, uint32_t ways)
{
    return t->tag ? 0 : rp_tags_init(t, lines, ways);
}

/* Opens caches before a compute unit's first access, because a small dispatch uses few of a GPU's
 * caches.
 */
static int open_caches(const struct caches *c, uint32_t cu)
{
    const struct cache_shape *s = &c->shape;

    return open_tags(&c->l1[cu], s->l1_lines, s->l1_ways) < 0 ||
                   open_tags(scalar_cache(c, cu), s->scalar_lines, s->scalar_ways) < 0 ||
                   open_tags(&c->l2[cu / s->cus_per_die], s->l2_lines, s->l2_ways) < 0
               ? -ENOMEM
               : 0;
}

/* The line's tag, made when it is not there; *ret_old is what gave way to it then. */
static struct rp_tag *look_up(struct rp_tags *t, uint64_t line, bool *ret_there,
                              struct rp_tag *ret_old)
{
    struct rp_tag *tag = rp_tags_find(t, line);

    *ret_there = tag;
    return tag ? tag : rp_tags_replace(t, line, 0, ret_old);
}

static bool has(const struct rp_tag *tag, unsigned sectors)
{
    return (tag->dirty >> VALID & sectors) == sectors;
}

static void fill(struct rp_tag *tag, unsigned sectors)
{
    tag->dirty |= sectors << VALID;
}

/* ---- L2 ---- */

/* A half is written in one request, of 64 bytes when both of its sectors are dirty. */
static void write_back(struct rp_cache_result *sum, unsigned dirty)
{
    for (unsigned half = 0; half < 2; half++) {
        const unsigned sectors = dirty >> 2 * half & 3;
        sum->writes_64 += sectors == 3;
        sum->writes_32 += sectors == 1 || sectors == 2;
    }
}

static struct rp_tag *in_l2(struct caches *c, uint32_t die, uint64_t number, bool *ret_there)
{
    struct rp_tag old = {0}, *tag = look_up(&c->l2[die], number, ret_there, &old);

    c->sum.replaced_lines += old.line != 0;
    if (old.dirty & ALL) {
        write_back(&c->sum, old.dirty & ALL);
        c->sum.evicted_lines++;
    }
    return tag;
}

/* A read of a whole line, or of one half of it. */
static void read_l2(struct caches *c, uint32_t die, uint64_t number, unsigned sectors,
                    struct rp_cache_sums *sum)
{
    bool there;
    struct rp_tag *tag = in_l2(c, die, number, &there);

    sum->requests++;
    if (there && has(tag, sectors)) {
        sum->hits++;
        return;
    }
    sum->misses++;
    sum->reads_128 += sectors == ALL;
    sum->reads_64 += sectors != ALL;
    fill(tag, sectors);
}

/* Counts one request for each half that is written; nothing is read for it. */
static void write_l2(struct caches *c, uint32_t die, const struct rp_rec_line *l, bool reads,
                     struct rp_cache_sums *sum)
{
    for (unsigned half = 0; half < 2; half++) {
        const unsigned sectors = l->sectors & 3u << 2 * half;
        bool there;
        struct rp_tag *tag;
        if (!sectors)
            continue;
        tag = in_l2(c, die, l->number, &there);
        sum->requests++;
        sum->hits += there;
        sum->misses += !there;
        if (reads && !has(tag, sectors))
            sum->reads_64++;
        fill(tag, sectors);
        tag->dirty |= sectors;
    }
}

static void flush(struct caches *c)
{
    for (uint32_t die = 0; die < c->shape.dies; die++) {
        const struct rp_tags *l2 = &c->l2[die];
        for (size_t i = 0; l2->tag && i < (size_t)l2->sets * l2->ways; i++)
            if (l2->tag[i].dirty & ALL) {
                write_back(&c->sum, l2->tag[i].dirty & ALL);
                c->sum.flushed_lines++;
            }
    }
}

/* ---- accesses ---- */

/* Returns the lookups of a line: the address unit takes 16 lanes of a dword at a time, and 4 lanes
 * of more (on a real MI300X 64 lanes of two dwords side by side need 16).
 */
static uint64_t lookups_of(const struct rp_rec_access *a, const struct rp_rec_line *l)
{
    const unsigned lanes = a->lane_bytes > 4 ? 4 : 16;
    return (l->lanes + lanes - 1) / lanes;
}

static void load(struct caches *c, uint32_t cu, const struct rp_rec_access *a,
                 const struct rp_rec_line *l, struct rp_cache_sums *sum)
{
    const uint32_t die = cu / c->shape.cus_per_die;
    struct rp_tag *tag;
    bool there;

    sum->lookups += lookups_of(a, l);
    tag = look_up(&c->l1[cu], l->number, &there, NULL);
    if (c->shape.read_bytes == RP_REC_LINE_BYTES) {
        if (!there || a->flags & RP_REC_PAST_L1)
            read_l2(c, die, l->number, ALL, sum);
        fill(tag, ALL);
        return;
    }
    for (unsigned half = 0; half < 2; half++) { /* Requests have 64 bytes. */
        const unsigned sectors = 3u << 2 * half;
        if (!(l->sectors & sectors))
            continue;
        if (!has(tag, sectors) || a->flags & RP_REC_PAST_L1)
            read_l2(c, die, l->number, sectors, sum);
        fill(tag, sectors);
    }
}

static void scalar(struct caches *c, uint32_t cu, const struct rp_rec_line *l,
                   struct rp_cache_sums *sum)
{
    for (unsigned half = 0; half < 2; half++) {
        const unsigned sectors = 3u << 2 * half;
        bool there;
        if (!(l->sectors & sectors))
            continue;
        look_up(scalar_cache(c, cu), 2 * l->number + half, &there, NULL);
        sum->scalar_misses += !there;
        if (!there)
            read_l2(c, cu / c->shape.cus_per_die, l->number, sectors, sum);
    }
}

static enum rp_cache_kind kind_of(const struct rp_rec_access *a)
{
    if (a->space == RP_REC_SHARED)
        return RP_CACHE_LDS;
    if (a->space == RP_REC_SCALAR)
        return RP_CACHE_SCALAR;
    if (a->flags & RP_REC_ATOMIC)
        return a->flags & RP_REC_READS ? RP_CACHE_FETCH : RP_CACHE_ATOMIC;
    return a->flags & RP_REC_WRITES ? RP_CACHE_STORE : RP_CACHE_LOAD;
}

/*
 * A wave on compute unit @p cu, numbered over all dies, accesses memory.
 * @return 0; 1 when a vector access waits for the L2; or -ENOMEM: nothing was counted
 */
static int caches_access(struct caches *c, uint32_t cu, const struct rp_rec_wave *w,
                         const struct rp_rec_access *a)
{
    const enum rp_cache_kind kind = kind_of(a);
    struct rp_cache_sums *sum = &c->sum.of[kind];
    uint64_t before;

    if (kind != RP_CACHE_LDS && !(a->flags & (RP_REC_READS | RP_REC_WRITES)))
        return 0;
    if (open_caches(c, cu) < 0)
        return -ENOMEM;
    before = sum->requests;
    sum->insts++;
    sum->lanes += a->lanes;
    if (!(a->flags & RP_REC_TO_LDS)) { /* These clocks do not belong to an indexed operation. */
        sum->lds_clocks += a->lds_clocks;
        sum->lds_conflict_clocks += a->lds_conflict_clocks;
        if (a->flags & RP_REC_ATOMIC && a->flags & RP_REC_READS)
            sum->lds_return_clocks += a->lds_clocks;
    }
    for (uint32_t i = 0; i < a->line_count; i++) {
        const struct rp_rec_line *l = &w->line[a->first_line + i];
        if (kind == RP_CACHE_SCALAR) {
            scalar(c, cu, l, sum);
        } else if (kind == RP_CACHE_LOAD) {
            load(c, cu, a, l, sum);
        } else {
            sum->lookups += lookups_of(a, l);
            write_l2(c, cu / c->shape.cus_per_die, l, kind != RP_CACHE_STORE, sum);
        }
    }
    if (a->flags & RP_REC_STREAM)
        sum->streaming += sum->requests - before;
    return sum->requests > before && (kind == RP_CACHE_LOAD || kind == RP_CACHE_FETCH);
}

/* The end of the dispatch; frees them. */
static void caches_end(struct caches *c, struct rp_cache_result *ret)
{
    flush(c);
    *ret = c->sum;
    caches_free(c);
}

/* ---- turns ---- */

/* This is a resident workgroup. */
struct seat {
    const struct rp_rec_group *group; /**< NULL: empty */
    uint32_t *next;                   /**< per wave: its next access */
    uint32_t cu;
};

struct turns {
    const struct rp_wave_record *record;
    struct seat *seat;
    uint64_t seats;
    uint64_t *waiting; /**< per die: index of the next group to look at */
    uint64_t taken;    /**< groups that got a seat */
};

/* The next workgroup of the die takes the seat. False: there is none, or no memory. */
static int sit_down(struct turns *t, const struct caches *c, struct seat *s)
{
    const struct rp_rec_plan *plan = &t->record->plan;
    const uint32_t die = s->cu / c->shape.cus_per_die;

    free(s->next);
    s->next = NULL;
    s->group = NULL;
    for (uint64_t *at = &t->waiting[die]; *at < plan->count; ++*at) {
        const struct rp_rec_group *g = &t->record->group[*at];
        if (rp_rec_linear_id(plan, *at) % c->shape.dies != die || !g->wave || g->lost)
            continue;
        s->next = calloc(g->wave_count, sizeof *s->next);
        if (!s->next)
            return -ENOMEM;
        s->group = g;
        ++*at;
        return 0;
    }
    return 0;
}

/* Each wave of the seat makes an access. */
static int take_turn(struct caches *c, struct seat *s, bool *ret_any)
{
    *ret_any = false;

    for (uint32_t i = 0; s->group && i < s->group->wave_count; i++) {
        const struct rp_rec_wave *w = &s->group->wave[i];
        if (s->next[i] == w->access_count)
            continue;
        if (caches_access(c, s->cu, w, &w->access[s->next[i]++]) < 0)
            return -ENOMEM;
        *ret_any = true;
    }
    return 0;
}

/* Seats are numbered so that groups come to the CUs of a die one after the other. */
static int take_turns(struct turns *t, struct caches *c)
{
    int rc = 0;

    while (t->seats && rc == 0) {
        uint64_t kept = 0;
        for (uint64_t i = 0; i < t->seats && rc == 0; i++) {
            struct seat *s = &t->seat[i];
            for (bool any = false; s->group && rc == 0 && !any;) {
                rc = take_turn(c, s, &any);
                if (rc == 0 && !any) /* The workgroup has ended, so the next one begins. */
                    rc = sit_down(t, c, s);
            }
            if (s->group) {
                const struct seat empty = t->seat[kept];
                t->seat[kept++] = *s;
                if (kept - 1 != i)
                    *s = empty;
            }
        }
        if (rc == 0)
            t->seats = kept; /* No workgroup comes for the other seats. */
    }
    return rc;
}

static int run(struct turns *t, struct caches *c)
{
    const struct cache_shape *s = &c->shape;
    const uint32_t cus = s->dies * s->cus_per_die;
    const uint32_t rounds = t->record->shape.groups_per_cu ? t->record->shape.groups_per_cu : 1;
    int rc = 0;

    t->seats = (uint64_t)cus * rounds;
    t->seat = calloc(t->seats, sizeof *t->seat);
    t->waiting = calloc(s->dies, sizeof *t->waiting);
    if (!t->seat || !t->waiting)
        rc = -ENOMEM;
    for (uint64_t i = 0; rc == 0 && i < t->seats; i++) {
        t->seat[i].cu = (uint32_t)(i % cus);
        rc = sit_down(t, c, &t->seat[i]);
    }
    if (rc == 0)
        rc = take_turns(t, c);
    for (uint64_t i = 0; t->seat && i < t->seats; i++)
        free(t->seat[i].next);
    free(t->seat);
    free(t->waiting);
    return rc;
}

/* Counts the main workgroups of a record. @return 0 or -ENOMEM */
static int run_turns(const struct cache_shape *shape, const struct rp_wave_record *record,
                     struct rp_cache_result *ret)
{
    struct caches *c = caches_new(shape);
    struct turns t = {.record = record};
    int rc = c ? run(&t, c) : -ENOMEM;

    if (rc < 0)
        caches_free(c);
    else
        caches_end(c, ret);
    return rc;
}

/* This is needed to add up waves. */
struct wave_meter {
    struct rp_wave_sums sums;
    struct meter_cu {
        uint64_t vmem_until, pending_until;
    } * cu;
    uint64_t *code_end; /**< per wave: behind its latest instruction; 0 = none yet */
    uint32_t waves_per_group;
};

/**
 * A wave fetches this many bytes of its code at a time: a real MI300X (and MI100, MI200, MI350)
 * counts four requests for each wave of a copy of 100 to 128 bytes.
 */
enum { RP_FETCH_BYTES = 32 };

static bool code_fits(const struct rp_arch *arch, const struct rp_wave_record *r)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < r->code_count; i++)
        bytes += r->code[i].size_bytes;
    return bytes <= arch->timing->inst_l1_bytes;
}

static void meter_release(struct wave_meter *m)
{
    free(m->cu);
    free(m->code_end);
    m->cu = NULL;
    m->code_end = NULL;
}

/* Initialises a meter. @p cus counts over all dies. @return 0 or -ENOMEM */
static int meter_init(struct wave_meter *m, const struct rp_wave_record *r, uint32_t cus)
{
    const uint64_t waves = r->plan.count * r->shape.waves_per_group;

    *m = (struct wave_meter){.waves_per_group = r->shape.waves_per_group};
    m->cu = calloc(cus ? cus : 1, sizeof *m->cu);
    m->code_end = calloc(waves ? waves : 1, sizeof *m->code_end);
    if (m->cu && m->code_end)
        return 0;
    meter_release(m);
    return -ENOMEM;
}

/* All sums, when the replay is over. */
static struct rp_wave_sums meter_end(struct wave_meter *m, const struct rp_arch *arch,
                                     const struct rp_wave_record *record)
{
    m->sums.code_fits = code_fits(arch, record);
    return m->sums;
}

/* Returns what the interval adds to those before, none of which begins much later. */
static uint64_t not_yet(uint64_t *until, uint64_t begin, uint64_t end)
{
    const uint64_t from = begin > *until ? begin : *until;

    if (end <= from)
        return 0;
    *until = end;
    return end - from;
}

/* Returns how much code a wave fetches. Where it jumps, what it had fetched is useless. */
static uint64_t fetches(uint64_t *code_end, const struct rp_rec_code *code)
{
    const uint64_t first = code->pc / RP_FETCH_BYTES;
    const uint64_t last = (code->pc + code->size_bytes - 1) / RP_FETCH_BYTES;
    const uint64_t before = (*code_end - 1) / RP_FETCH_BYTES;
    const bool goes_on = *code_end == code->pc;

    *code_end = code->pc + code->size_bytes;
    return goes_on ? last - before : last - first + 1;
}

/*
 * An instruction was issued; on each compute unit about in the order of time.
 * @param cu        numbered over all dies
 * @param memory    vector memory: it touches lines
 * @param past_l1   some of them were not in the vector L1
 */
static void meter_issued(struct wave_meter *m, const struct rp_wave_placement *where, uint32_t cu,
                         const struct rp_rec_code *code, const struct rp_issue_times *times,
                         bool memory, bool past_l1)
{
    struct meter_cu *unit = &m->cu[cu];
    struct rp_wave_sums *s = &m->sums;

    s->level_clocks[code->unit] += times->done - times->issued;
    s->fetches +=
        fetches(&m->code_end[(uint64_t)where->group * m->waves_per_group + where->wave], code);
    if (memory)
        s->vmem_clocks += not_yet(&unit->vmem_until, times->issued, times->done);
    if (past_l1)
        s->pending_clocks += not_yet(&unit->pending_until, times->issued, times->done);
}

static void meter_ended(struct wave_meter *m, uint64_t clock)
{
    m->sums.last_clock = clock > m->sums.last_clock ? clock : m->sums.last_clock;
}

/* ---- what a replay is told to ---- */

/* This receives what comes to the caches, in the order in which the modelled machine issues it. */
struct rp_count_watch {
    const struct rp_wave_record *record;
    struct caches *caches;
    uint32_t cus_per_die;
    uint32_t *next; /**< access of each wave */
    struct wave_meter meter;
    bool failed;
};

static void count_issued(void *ctx, const struct rp_wave_placement *where, uint32_t step,
                         const struct rp_issue_times *times)
{
    struct rp_count_watch *c = ctx;
    const struct rp_rec_wave *w = &c->record->group[where->group].wave[where->wave];
    uint32_t *next = &c->next[where->group * c->record->shape.waves_per_group + where->wave];

    const uint32_t cu = where->xcc * c->cus_per_die + where->cu;
    const struct rp_rec_code *code = &c->record->code[w->step[step]];
    bool memory = false, past_l1 = false;

    if (*next < w->access_count && w->access[*next].step == step) {
        const struct rp_rec_access *a = &w->access[(*next)++];
        const int beyond = caches_access(c->caches, cu, w, a);
        c->failed |= beyond < 0;
        past_l1 = beyond > 0;
        memory = code->unit == RP_REC_VMEM && a->line_count;
    }
    meter_issued(&c->meter, where, cu, code, times, memory, past_l1);
}

static void count_wave_end(void *ctx, const struct rp_wave_placement *where, uint64_t clock)
{
    (void)where;
    meter_ended(&((struct rp_count_watch *)ctx)->meter, clock);
}

static void watch_free(struct rp_count_watch *c)
{
    caches_free(c->caches);
    meter_release(&c->meter);
    free(c->next);
    free(c);
}

struct rp_count_watch *rp_count_watch_begin(const struct rp_arch *arch,
                                            const struct rp_wave_record *record,
                                            struct rp_engine_watch *ret_watch)
{
    const struct cache_shape shape = shape_of(arch);
    struct rp_count_watch *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->record = record;
    c->cus_per_die = shape.cus_per_die;
    c->caches = caches_new(&shape);
    c->next = calloc(record->plan.count * record->shape.waves_per_group + 1, sizeof *c->next);
    c->failed =
        meter_init(&c->meter, record, shape.dies * shape.cus_per_die) < 0 || !c->caches || !c->next;
    if (c->failed) {
        watch_free(c);
        return NULL;
    }
    *ret_watch =
        (struct rp_engine_watch){.ctx = c, .issued = count_issued, .wave_ends = count_wave_end};
    return c;
}

bool rp_count_watch_end(struct rp_count_watch *c, const struct rp_arch *arch, bool replayed,
                        struct rp_cache_result *ret_caches, struct rp_wave_sums *ret_waves)
{
    if (!c)
        return false;
    const bool known = replayed && !c->failed;
    if (known) {
        caches_end(c->caches, ret_caches);
        c->caches = NULL;
        *ret_waves = meter_end(&c->meter, arch, c->record);
    }
    watch_free(c);
    return known;
}

/* ---- counters of waves and units ---- */

enum { QUAD = 4 };

/* This is what was simulated, and how it is extrapolated to the whole dispatch. */
struct replayed {
    const struct rp_arch *arch;
    const struct rp_timing_stats *s;
    const struct rp_wave_sums *sums;
    double waves; /**< factor for what a wave has once */
    double insts; /**< for what its instructions do: of waves that were not kept whole a part is */
    double dies;  /**< for what a die has once */
    double time;  /**< for what goes on all the time */
};

struct row {
    unsigned counter;
    double value;
};

static void set(uint64_t *values, const struct row *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        values[rows[i].counter] = (uint64_t)(rows[i].value + 0.5);
}

#define SET(values, rows) set(values, rows, sizeof rows / sizeof rows[0])

static uint64_t sum(const uint64_t of[RP_REC_UNITS])
{
    uint64_t all = 0;

    for (unsigned i = 0; i < RP_REC_UNITS; i++)
        all += of[i];
    return all;
}

/*
 * Scaling is that of a real MI300X (rocprof-compute's sample vcopy_MI300X_A1_rocpd): SQ_LEVEL_WAVES
 * is 4.03 times SQ_WAVE_CYCLES, so the latter counts quad-cycles and the former cycles;
 * SQ_BUSY_CYCLES / 32 shader engines is 7,672 and SQ_BUSY_CU_CYCLES / 304 CUs 7,717 for the same
 * dispatch, so both count cycles, and SPI_CSN_BUSY / 32 is 8,952, GRBM_SPI_BUSY / 8 dies 9,521;
 * SQ_INST_LEVEL_VMEM / SQ_INSTS_VMEM is 964, a latency in cycles.
 */
static void count_waves(const struct replayed *r, uint64_t *values)
{
    const struct rp_timing_stats *s = r->s;
    const uint64_t there = r->arch->shader_engines ? r->arch->shader_engines : 1;
    const uint64_t engines = there < s->group_count ? there : s->group_count;
    const uint64_t dies = s->all_dies < s->group_count ? s->all_dies : s->group_count;
    /* The simulation goes on until memory has written everything, but the part that was not
     * simulated comes before that.
     */
    const double busy = s->clocks - (double)(s->replay_clocks - r->sums->last_clock);
    const uint64_t *level = r->sums->level_clocks;
    const struct row rows[] = {
        /* Workgroups go round the engines, which are busy from the first to the last. */
        {RP_COUNTER_SQ_BUSY_CYCLES, busy * (double)engines},
        {RP_COUNTER_SPI_CSN_BUSY, busy * (double)engines},
        {RP_COUNTER_GRBM_SPI_BUSY, busy * (double)dies},
        {RP_COUNTER_SQ_BUSY_CU_CYCLES, r->waves * (double)s->cu_busy_clocks},
        {RP_COUNTER_SQ_WAVE_CYCLES, r->waves * (double)s->wave_clocks / QUAD},
        {RP_COUNTER_SQ_LEVEL_WAVES, r->waves * (double)s->wave_clocks},
        {RP_COUNTER_SQ_WAIT_ANY, r->insts * (double)sum(s->wait_clocks) / QUAD},
        {RP_COUNTER_SQ_WAIT_INST_ANY, r->insts * (double)sum(s->stall_clocks) / QUAD},
        {RP_COUNTER_SQ_WAIT_INST_LDS, r->insts * (double)s->stall_clocks[RP_REC_LDS] / QUAD},
        {RP_COUNTER_SQ_INST_LEVEL_VMEM, r->insts * (double)level[RP_REC_VMEM]},
        {RP_COUNTER_SQ_INST_LEVEL_SMEM, r->insts * (double)level[RP_REC_SMEM]},
        {RP_COUNTER_SQ_INST_LEVEL_LDS, r->insts * (double)level[RP_REC_LDS]},
        {RP_COUNTER_SQC_DCACHE_INFLIGHT_LEVEL, r->insts * (double)level[RP_REC_SMEM]},
    };
    SET(values, rows);
}

/*
 * The model has one unit for TA and TCP, through which addresses go one after another, and none for
 * TD: data of an instruction comes back when it is there. On the real MI300X TD_TC_STALL is
 * TD_TD_BUSY less 8 cycles for each of the copy's instructions, which move 512 bytes; and
 * TCP_GATE_EN2 is TD_TD_BUSY within 1.4 %.
 */
static void count_vector_memory(const struct replayed *r, uint64_t *values)
{
    const struct rp_timing_stats *s = r->s;
    const struct rp_level_stats *l2 = &s->level[RP_LEVEL_L2], *mall = &s->level[RP_LEVEL_MALL];
    const double address = (double)s->level[RP_LEVEL_L1].busy_clocks;
    const double flight = (double)r->sums->vmem_clocks;
    const struct row rows[] = {
        {RP_COUNTER_TA_TA_BUSY, r->insts * address},
        {RP_COUNTER_TD_TD_BUSY, r->insts * flight},
        {RP_COUNTER_TD_TC_STALL, flight > address ? r->insts * (flight - address) : 0},
        {RP_COUNTER_TCP_GATE_EN1, r->waves * (double)s->cu_busy_clocks},
        {RP_COUNTER_TCP_GATE_EN2, r->insts * flight},
        {RP_COUNTER_TCP_PENDING_STALL_CYCLES, r->insts * (double)r->sums->pending_clocks},
        {RP_COUNTER_TCC_BUSY, r->dies * r->time * (double)l2->pending_clocks},
        {RP_COUNTER_TCC_EA0_RDREQ_LEVEL, r->insts * (double)mall->read_clocks},
    };
    SET(values, rows);
}

/* A miss takes a line, which others may want before it is there: a request has one of three ends.
 */
static void count_scalar_caches(const struct replayed *r, uint64_t *values)
{
    const struct rp_level_stats *code = &r->s->level[RP_LEVEL_INST_L1];
    const struct rp_level_stats *data = &r->s->level[RP_LEVEL_SCALAR_L1];
    /* A program that fits is fetched once by each cache, however many waves there are. */
    const double factor = r->sums->code_fits ? r->dies : r->insts;
    const double fetches = r->insts * (double)r->sums->fetches;
    const double misses = factor * (double)(code->reads - code->read_hits);
    const double late = factor * (double)code->late_hits;
    const double requests = (double)values[RP_COUNTER_SQC_DCACHE_REQ];
    const double part = data->reads ? requests / (double)data->reads : 0;
    const struct row rows[] = {
        {RP_COUNTER_SQ_IFETCH, fetches},
        {RP_COUNTER_SQC_ICACHE_REQ, fetches},
        {RP_COUNTER_SQC_ICACHE_MISSES, misses},
        {RP_COUNTER_SQC_ICACHE_MISSES_DUPLICATE, late},
        {RP_COUNTER_SQC_ICACHE_HITS, fetches > misses + late ? fetches - misses - late : 0},
        {RP_COUNTER_SQC_DCACHE_HITS, part * (double)(data->read_hits - data->late_hits)},
        {RP_COUNTER_SQC_DCACHE_MISSES_DUPLICATE, part * (double)data->late_hits},
    };
    SET(values, rows);
}

/*
 * While the next workgroup finds no room, each of the die's shader engines waits, and all compute
 * units are full of what limits them.
 */
static void count_room(const struct replayed *r, const struct rp_rec_shape *shape, uint64_t *values)
{
    const struct rp_timing_stats *s = r->s;
    const double dies = s->all_dies ? s->all_dies : 1;
    /* The part of a sample that was not simulated comes while others wait. */
    const double more = s->sampled && s->no_room_clocks ? s->clocks - (double)s->replay_clocks : 0;
    const double clocks = r->dies * (double)s->no_room_clocks + (more > 0 ? more * dies : 0);
    const double engines = clocks * r->arch->shader_engines / dies;
    const double cus = clocks * r->arch->compute_units / dies;
    const double simds = cus * r->arch->simds_per_cu;
    const unsigned by = shape->limits;
    const struct row rows[] = {
        {RP_COUNTER_SPI_RA_REQ_NO_ALLOC, engines},
        {RP_COUNTER_SPI_RA_REQ_NO_ALLOC_CSN, engines},
        {RP_COUNTER_SPI_RA_RES_STALL_CSN, engines},
        {RP_COUNTER_SPI_RA_WAVE_SIMD_FULL_CSN, by & RP_REC_BY_SLOTS ? simds : 0},
        {RP_COUNTER_SPI_RA_VGPR_SIMD_FULL_CSN, by & RP_REC_BY_VGPRS ? simds : 0},
        {RP_COUNTER_SPI_RA_SGPR_SIMD_FULL_CSN, by & RP_REC_BY_SGPRS ? simds : 0},
        {RP_COUNTER_SPI_RA_LDS_CU_FULL_CSN, by & RP_REC_BY_LDS ? cus : 0},
        {RP_COUNTER_SPI_RA_BAR_CU_FULL_CSN, by & RP_REC_BY_BARRIERS ? cus : 0},
    };
    SET(values, rows);
}

void rp_wave_counters(const struct rp_arch *arch, const struct rp_timing_stats *s,
                      const struct rp_wave_sums *sums, const struct rp_rec_shape *shape,
                      const struct rp_counts *counts, uint64_t *values)
{
    const struct replayed r = {
        .arch = arch,
        .s = s,
        .sums = sums,
        .waves = s->waves ? (double)counts->waves / (double)s->waves : 0,
        .insts = s->insts ? (double)counts->wave_insts / (double)s->insts : 0,
        .dies = s->dies ? (double)s->all_dies / s->dies : 1,
        .time = s->replay_clocks ? s->clocks / (double)s->replay_clocks : 1,
    };

    count_waves(&r, values);
    count_vector_memory(&r, values);
    count_scalar_caches(&r, values);
    count_room(&r, shape, values);
}

/* ---- counters of memory ---- */

/* These say how much more was executed than simulated. */
struct factors {
    double of[RP_CACHE_KINDS];
    double writes; /**< of stores and atomics, whose lines nobody can tell apart any more */
};

static int find_factors(const struct rp_cache_result *r, const uint64_t *values, struct factors *f)
{
    const uint64_t loads =
        values[RP_COUNTER_TA_FLAT_READ_WAVEFRONTS] + values[RP_COUNTER_TA_BUFFER_READ_WAVEFRONTS];
    const uint64_t stores =
        values[RP_COUNTER_TA_FLAT_WRITE_WAVEFRONTS] + values[RP_COUNTER_TA_BUFFER_WRITE_WAVEFRONTS];
    const uint64_t executed[RP_CACHE_KINDS] = {
        [RP_CACHE_LOAD] = loads,
        [RP_CACHE_STORE] = stores,
        [RP_CACHE_ATOMIC] = values[RP_COUNTER_SQ_INSTS_VMEM_WR] - stores,
        [RP_CACHE_FETCH] = values[RP_COUNTER_SQ_INSTS_VMEM_RD] - loads,
        [RP_CACHE_SCALAR] = values[RP_COUNTER_SQC_DCACHE_REQ],
        [RP_CACHE_LDS] = values[RP_COUNTER_SQ_INSTS_LDS],
    };
    uint64_t writes = 0, replayed_writes = 0;

    for (unsigned k = 0; k < RP_CACHE_KINDS; k++) {
        const uint64_t replayed = r->of[k].insts;
        if (executed[k] && !replayed)
            return -ENODATA;
        f->of[k] = replayed ? (double)executed[k] / (double)replayed : 0;
        if (k == RP_CACHE_STORE || k == RP_CACHE_ATOMIC || k == RP_CACHE_FETCH) {
            writes += executed[k];
            replayed_writes += replayed;
        }
    }
    f->writes = replayed_writes ? (double)writes / (double)replayed_writes : 0;
    return 0;
}

static uint64_t scaled(uint64_t value, double factor)
{
    return (uint64_t)((double)value * factor + 0.5);
}

static void count_requests(const struct rp_cache_result *r, const struct factors *f,
                           uint64_t *values)
{
    static const int lanes[] = {[RP_CACHE_LOAD] = RP_COUNTER_TCP_TOTAL_READ,
                                [RP_CACHE_STORE] = RP_COUNTER_TCP_TOTAL_WRITE,
                                [RP_CACHE_ATOMIC] = RP_COUNTER_TCP_TOTAL_ATOMIC_WITHOUT_RET,
                                [RP_CACHE_FETCH] = RP_COUNTER_TCP_TOTAL_ATOMIC_WITH_RET};
    static const int from_l1[] = {[RP_CACHE_LOAD] = RP_COUNTER_TCP_TCC_READ_REQ,
                                  [RP_CACHE_STORE] = RP_COUNTER_TCP_TCC_WRITE_REQ,
                                  [RP_CACHE_ATOMIC] = RP_COUNTER_TCP_TCC_ATOMIC_WITHOUT_RET_REQ,
                                  [RP_CACHE_FETCH] = RP_COUNTER_TCP_TCC_ATOMIC_WITH_RET_REQ,
                                  [RP_CACHE_SCALAR] = RP_COUNTER_SQC_TC_DATA_READ_REQ};
    static const int in_l2[] = {[RP_CACHE_LOAD] = RP_COUNTER_TCC_READ,
                                [RP_CACHE_STORE] = RP_COUNTER_TCC_WRITE,
                                [RP_CACHE_ATOMIC] = RP_COUNTER_TCC_ATOMIC,
                                [RP_CACHE_FETCH] = RP_COUNTER_TCC_ATOMIC,
                                [RP_CACHE_SCALAR] = RP_COUNTER_TCC_READ};

    for (unsigned k = RP_CACHE_LOAD; k <= RP_CACHE_SCALAR; k++) {
        const struct rp_cache_sums *s = &r->of[k];
        const uint64_t requests = scaled(s->requests, f->of[k]);
        const uint64_t hits = scaled(s->hits, f->of[k]);
        values[from_l1[k]] += requests;
        values[in_l2[k]] += requests;
        values[RP_COUNTER_TCC_REQ] += requests;
        values[RP_COUNTER_TCC_STREAMING_REQ] += scaled(s->streaming, f->of[k]);
        values[RP_COUNTER_TCC_HIT] += hits;
        values[RP_COUNTER_TCC_MISS] += requests - hits;
        values[RP_COUNTER_TCC_EA0_RDREQ_64B] += scaled(s->reads_64, f->of[k]);
        values[RP_COUNTER_TCC_EA0_RDREQ_128B] += scaled(s->reads_128, f->of[k]);
        if (k == RP_CACHE_SCALAR)
            continue;
        values[lanes[k]] += scaled(s->lanes, f->of[k]);
        values[RP_COUNTER_TCP_TOTAL_ACCESSES] += scaled(s->lanes, f->of[k]);
        values[RP_COUNTER_TCP_TOTAL_CACHE_ACCESSES] += scaled(s->lookups, f->of[k]);
        values[RP_COUNTER_TCP_UTCL1_REQUEST] += scaled(s->lookups, f->of[k]);
    }
    values[RP_COUNTER_SQC_DCACHE_MISSES] =
        scaled(r->of[RP_CACHE_SCALAR].scalar_misses, f->of[RP_CACHE_SCALAR]);
}

/* A line gives way to one that is missing. */
static double misses_factor(const struct rp_cache_result *r, const uint64_t *values)
{
    uint64_t misses = 0;

    for (unsigned k = RP_CACHE_LOAD; k <= RP_CACHE_SCALAR; k++)
        misses += r->of[k].misses;
    return misses ? (double)values[RP_COUNTER_TCC_MISS] / (double)misses : 0;
}

/* On gfx950 TCC_BUBBLE stays 0: reads of 128 bytes have a counter of their own. */
static void count_memory(const struct rp_arch *arch, const struct rp_cache_result *r,
                         const struct factors *f, uint64_t *values)
{
    const uint64_t reads_64 = values[RP_COUNTER_TCC_EA0_RDREQ_64B];
    const uint64_t reads_128 = values[RP_COUNTER_TCC_EA0_RDREQ_128B];
    const uint64_t writes_64 = scaled(r->writes_64, f->writes);
    const uint64_t writes_32 = scaled(r->writes_32, f->writes);

    values[RP_COUNTER_TCC_EA0_RDREQ] = reads_64 + reads_128;
    values[RP_COUNTER_TCC_BUBBLE] = arch->gfx_target_version >= 90500 ? 0 : reads_128;
    values[RP_COUNTER_TCC_EA0_WRREQ] = writes_64 + writes_32;
    values[RP_COUNTER_TCC_EA0_WRREQ_64B] = writes_64;
    values[RP_COUNTER_TCC_NORMAL_WRITEBACK] = scaled(r->evicted_lines, f->writes);
    values[RP_COUNTER_TCC_ALL_TC_OP_WB_WRITEBACK] = scaled(r->flushed_lines, f->writes);
    values[RP_COUNTER_TCC_WRITEBACK] =
        values[RP_COUNTER_TCC_NORMAL_WRITEBACK] + values[RP_COUNTER_TCC_ALL_TC_OP_WB_WRITEBACK];
    values[RP_COUNTER_TCC_NORMAL_EVICT] = scaled(r->replaced_lines, misses_factor(r, values));
    values[RP_COUNTER_FETCH_SIZE] = 64 * reads_64 + 128 * reads_128;
    values[RP_COUNTER_WRITE_SIZE] = 64 * writes_64 + 32 * writes_32;
}

int rp_memory_counters(const struct rp_arch *arch, const struct rp_cache_result *replayed,
                       uint64_t *values)
{
    struct factors f;
    int rc = find_factors(replayed, values, &f);

    if (rc < 0)
        return rc;
    count_requests(replayed, &f, values);
    count_memory(arch, replayed, &f, values);
    for (unsigned k = 0; k < RP_CACHE_KINDS; k++) { /* FLAT may access the LDS as well. */
        values[RP_COUNTER_SQ_LDS_IDX_ACTIVE] += scaled(replayed->of[k].lds_clocks, f.of[k]);
        values[RP_COUNTER_SQ_LDS_BANK_CONFLICT] +=
            scaled(replayed->of[k].lds_conflict_clocks, f.of[k]);
        values[RP_COUNTER_SQ_LDS_ATOMIC_RETURN] +=
            scaled(replayed->of[k].lds_return_clocks, f.of[k]);
    }
    return 0;
}

int rp_memory_counters_by_turns(const struct rp_arch *arch, const struct rp_wave_record *record,
                                uint64_t *values)
{
    const struct cache_shape shape = shape_of(arch);
    struct rp_cache_result result;
    const int status = run_turns(&shape, record, &result);
    return status < 0 ? status : rp_memory_counters(arch, &result, values);
}
