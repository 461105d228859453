#include "cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/*
 * Sets and ways: vector L1 of 64 sets of 4 lines and the L2's 16 ways are AMD's (CDNA3 ISA guide
 * and white paper); the scalar L1's 4 ways are those of earlier GCN documents.
 */
enum { L1_WAYS = 4, SCALAR_WAYS = 4, L2_WAYS = 16, SQC_PER_DIE = 20, SECTORS = 4, ALL = 0xf };

struct rp_cache_shape rp_cache_shape_of(const struct rp_arch *arch)
{
    const uint32_t dies = arch->xcc_count ? arch->xcc_count : 1;

    return (struct rp_cache_shape){
        .dies = dies,
        .cus_per_die = arch->compute_units / dies,
        .scalar_caches_per_die = SQC_PER_DIE,
        .l1_lines = arch->l1_bytes / RP_REC_LINE_BYTES,
        .l1_ways = L1_WAYS,
        .scalar_lines = arch->scalar_l1_bytes / arch->scalar_l1_line_bytes,
        .scalar_ways = SCALAR_WAYS,
        .l2_lines = arch->l2_bytes / RP_REC_LINE_BYTES,
        .l2_ways = L2_WAYS,
        .read_bytes = arch->gfx_target_version < 90400 ? 64 : 128,
    };
}

/* ---- tags ---- */

struct line {
    uint64_t number; /* + 1; 0 = empty */
    uint64_t used;   /* the least goes first */
    uint8_t valid;   /* sectors that are there */
    uint8_t dirty;   /* of these, not yet in memory */
};

struct cache {
    struct line *line; /* NULL: not used yet */
    uint32_t sets, ways;
    uint64_t clock;
};

static void cache_init(struct cache *c, uint32_t lines, uint32_t ways)
{
    c->sets = 1;
    c->ways = ways;
    while (c->sets * 2 * ways <= lines)
        c->sets *= 2;
}

/* Gives a cache its lines before its first access: a small dispatch uses few of a GPU's caches. */
static int cache_open(struct cache *c)
{
    if (!c->line)
        c->line = calloc((size_t)c->sets * c->ways, sizeof *c->line);
    return c->line ? 0 : -ENOMEM;
}

/* Upper bits are mixed in: arrays that are a power of two apart do not share sets only. */
static struct line *set_of(const struct cache *c, uint64_t number)
{
    const uint64_t mixed = number ^ number >> 11 ^ number >> 23;
    return c->line + (mixed & (c->sets - 1)) * c->ways;
}

/* The line, or the one that gives way to it, which *ret_old then holds. */
static struct line *look_up(struct cache *c, uint64_t number, bool *ret_there, struct line *ret_old)
{
    struct line *set = set_of(c, number), *oldest = set;

    for (uint32_t i = 0; i < c->ways; i++) {
        if (set[i].number == number + 1) {
            set[i].used = ++c->clock;
            *ret_there = true;
            return &set[i];
        }
        if (set[i].used < oldest->used)
            oldest = &set[i];
    }
    *ret_there = false;
    *ret_old = *oldest;
    *oldest = (struct line){.number = number + 1, .used = ++c->clock};
    return oldest;
}

/* ---- the machine ---- */

struct machine {
    const struct rp_cache_shape *shape;
    struct rp_cache_result *sum;
    struct cache *l1, *scalar, *l2; /* per CU, scalar cache and die */
};

static void machine_release(struct machine *m)
{
    for (uint32_t i = 0; m->l1 && i < m->shape->dies * m->shape->cus_per_die; i++)
        free(m->l1[i].line);
    for (uint32_t i = 0; m->scalar && i < m->shape->dies * m->shape->scalar_caches_per_die; i++)
        free(m->scalar[i].line);
    for (uint32_t i = 0; m->l2 && i < m->shape->dies; i++)
        free(m->l2[i].line);
    free(m->l1);
    free(m->scalar);
    free(m->l2);
}

static int caches_new(struct cache **ret, uint32_t count, uint32_t lines, uint32_t ways)
{
    *ret = calloc(count, sizeof **ret);
    for (uint32_t i = 0; *ret && i < count; i++)
        cache_init(&(*ret)[i], lines, ways);
    return *ret ? 0 : -ENOMEM;
}

static int machine_init(struct machine *m, const struct rp_cache_shape *s)
{
    int rc = caches_new(&m->l1, s->dies * s->cus_per_die, s->l1_lines, s->l1_ways);

    if (rc == 0)
        rc = caches_new(&m->scalar, s->dies * s->scalar_caches_per_die, s->scalar_lines,
                        s->scalar_ways);
    return rc < 0 ? rc : caches_new(&m->l2, s->dies, s->l2_lines, s->l2_ways);
}

static struct cache *scalar_cache(const struct machine *m, uint32_t cu)
{
    const struct rp_cache_shape *s = m->shape;

    return &m->scalar[cu / s->cus_per_die * s->scalar_caches_per_die +
                      cu % s->cus_per_die * s->scalar_caches_per_die / s->cus_per_die];
}

/* Before a compute unit's first access. */
static int open_caches(const struct machine *m, uint32_t cu)
{
    return cache_open(&m->l1[cu]) < 0 || cache_open(scalar_cache(m, cu)) < 0 ||
                   cache_open(&m->l2[cu / m->shape->cus_per_die]) < 0
               ? -ENOMEM
               : 0;
}

/* ---- L2 ---- */

/* A half is written in one request, of 64 bytes when both of its sectors are dirty. */
static void write_back(struct rp_cache_result *sum, uint8_t dirty)
{
    for (unsigned half = 0; half < 2; half++) {
        const unsigned sectors = dirty >> 2 * half & 3;
        sum->writes_64 += sectors == 3;
        sum->writes_32 += sectors == 1 || sectors == 2;
    }
}

static struct line *in_l2(struct machine *m, uint32_t die, uint64_t number, bool *ret_there)
{
    struct line old = {0}, *line = look_up(&m->l2[die], number, ret_there, &old);

    if (old.dirty) {
        write_back(m->sum, old.dirty);
        m->sum->evicted_lines++;
    }
    return line;
}

/* A read of a whole line, or of one half of it. */
static void read_l2(struct machine *m, uint32_t die, uint64_t number, uint8_t sectors,
                    struct rp_cache_sums *sum)
{
    bool there;
    struct line *line = in_l2(m, die, number, &there);

    sum->requests++;
    if (there && (line->valid & sectors) == sectors) {
        sum->hits++;
        return;
    }
    sum->misses++;
    sum->reads_128 += sectors == ALL;
    sum->reads_64 += sectors != ALL;
    line->valid |= sectors;
}

/* One request for each half that is written; nothing is read for it. */
static void write_l2(struct machine *m, uint32_t die, const struct rp_rec_line *l, bool reads,
                     struct rp_cache_sums *sum)
{
    for (unsigned half = 0; half < 2; half++) {
        const uint8_t sectors = (uint8_t)(l->sectors & 3u << 2 * half);
        bool there;
        struct line *line;
        if (!sectors)
            continue;
        line = in_l2(m, die, l->number, &there);
        sum->requests++;
        sum->hits += there;
        sum->misses += !there;
        if (reads && (line->valid & sectors) != sectors)
            sum->reads_64++;
        line->valid |= sectors;
        line->dirty |= sectors;
    }
}

static void flush(struct machine *m)
{
    for (uint32_t die = 0; die < m->shape->dies; die++)
        for (size_t i = 0; m->l2[die].line && i < (size_t)m->l2[die].sets * m->l2[die].ways; i++)
            if (m->l2[die].line[i].dirty) {
                write_back(m->sum, m->l2[die].line[i].dirty);
                m->sum->flushed_lines++;
            }
}

/* ---- accesses ---- */

/* Lookups of a line: the address unit takes 16 lanes of a dword at a time, 4 lanes of more (on a
 * real MI300X 64 lanes of two dwords side by side need 16). */
static uint64_t lookups_of(const struct rp_rec_access *a, const struct rp_rec_line *l)
{
    const unsigned lanes = a->lane_bytes > 4 ? 4 : 16;
    return (l->lanes + lanes - 1) / lanes;
}

static void load(struct machine *m, uint32_t cu, const struct rp_rec_access *a,
                 const struct rp_rec_line *l, struct rp_cache_sums *sum)
{
    const uint32_t die = cu / m->shape->cus_per_die;
    struct line old, *line;
    bool there;

    sum->lookups += lookups_of(a, l);
    line = look_up(&m->l1[cu], l->number, &there, &old);
    if (m->shape->read_bytes == RP_REC_LINE_BYTES) {
        if (!there || a->flags & RP_REC_PAST_L1)
            read_l2(m, die, l->number, ALL, sum);
        line->valid = ALL;
        return;
    }
    for (unsigned half = 0; half < 2; half++) { /* requests of 64 bytes */
        const uint8_t sectors = (uint8_t)(3u << 2 * half);
        if (l->sectors & sectors &&
            ((line->valid & sectors) != sectors || a->flags & RP_REC_PAST_L1))
            read_l2(m, die, l->number, sectors, sum);
        line->valid |= (l->sectors & sectors) ? sectors : 0;
    }
}

static void scalar(struct machine *m, uint32_t cu, const struct rp_rec_line *l,
                   struct rp_cache_sums *sum)
{
    struct cache *c = scalar_cache(m, cu);
    for (unsigned half = 0; half < 2; half++) {
        const uint8_t sectors = (uint8_t)(3u << 2 * half);
        struct line old;
        bool there;
        if (!(l->sectors & sectors))
            continue;
        look_up(c, 2 * l->number + half, &there, &old);
        sum->scalar_misses += !there;
        if (!there)
            read_l2(m, cu / m->shape->cus_per_die, l->number, sectors, sum);
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

static void access(struct machine *m, uint32_t cu, const struct rp_rec_wave *w,
                   const struct rp_rec_access *a)
{
    const enum rp_cache_kind kind = kind_of(a);
    struct rp_cache_sums *sum = &m->sum->of[kind];

    sum->insts++;
    sum->lanes += a->lanes;
    sum->lds_clocks += a->lds_clocks;
    sum->lds_conflict_clocks += a->lds_conflict_clocks;
    for (uint32_t i = 0; i < a->line_count; i++) {
        const struct rp_rec_line *l = &w->line[a->first_line + i];
        if (kind == RP_CACHE_SCALAR) {
            scalar(m, cu, l, sum);
        } else if (kind == RP_CACHE_LOAD) {
            load(m, cu, a, l, sum);
        } else {
            sum->lookups += lookups_of(a, l);
            write_l2(m, cu / m->shape->cus_per_die, l, kind != RP_CACHE_STORE, sum);
        }
    }
}

/* ---- turns ---- */

/* A resident workgroup. */
struct seat {
    const struct rp_rec_group *group; /* NULL: empty */
    uint32_t *next;                   /* per wave: its next access */
    uint32_t cu;
};

struct turns {
    const struct rp_record *record;
    struct seat *seat;
    uint64_t seats;
    uint64_t *waiting; /* per die: index of the next group to look at */
    uint64_t taken;    /* groups that got a seat */
};

/* The next workgroup of the die takes the seat. False: there is none, or no memory. */
static int sit_down(struct turns *t, const struct machine *m, struct seat *s)
{
    const struct rp_rec_plan *plan = &t->record->plan;
    const uint32_t die = s->cu / m->shape->cus_per_die;

    free(s->next);
    s->next = NULL;
    s->group = NULL;
    for (uint64_t *at = &t->waiting[die]; *at < plan->count; ++*at) {
        const struct rp_rec_group *g = &t->record->group[*at];
        if (rp_rec_linear_id(plan, *at) % m->shape->dies != die || !g->wave || g->lost)
            continue;
        s->next = calloc(g->wave_count, sizeof *s->next);
        if (!s->next || open_caches(m, s->cu) < 0)
            return -ENOMEM;
        s->group = g;
        ++*at;
        return 0;
    }
    return 0;
}

/* Each wave of the seat makes an access. Returns whether any did. */
static bool take_turn(struct machine *m, struct seat *s)
{
    bool any = false;

    for (uint32_t i = 0; s->group && i < s->group->wave_count; i++) {
        const struct rp_rec_wave *w = &s->group->wave[i];
        if (s->next[i] == w->access_count)
            continue;
        access(m, s->cu, w, &w->access[s->next[i]++]);
        any = true;
    }
    return any;
}

/* Seats are numbered so that groups come to the CUs of a die one after the other. */
static int take_turns(struct turns *t, struct machine *m)
{
    int rc = 0;

    while (t->seats && rc == 0) {
        uint64_t kept = 0;
        for (uint64_t i = 0; i < t->seats && rc == 0; i++) {
            struct seat *s = &t->seat[i];
            while (s->group && rc == 0 && !take_turn(m, s)) /* it has ended: the next one */
                rc = sit_down(t, m, s);
            if (s->group) {
                const struct seat empty = t->seat[kept];
                t->seat[kept++] = *s;
                if (kept - 1 != i)
                    *s = empty;
            }
        }
        if (rc == 0)
            t->seats = kept; /* nobody comes for the others */
    }
    return rc;
}

static int run(struct turns *t, struct machine *m)
{
    const struct rp_cache_shape *s = m->shape;
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
        rc = sit_down(t, m, &t->seat[i]);
    }
    if (rc == 0)
        rc = take_turns(t, m);
    for (uint64_t i = 0; t->seat && i < t->seats; i++)
        free(t->seat[i].next);
    free(t->seat);
    free(t->waiting);
    return rc;
}

int rp_cache_run(const struct rp_cache_shape *shape, const struct rp_record *record,
                 struct rp_cache_result *ret)
{
    struct rp_cache_result sum = {0};
    struct machine m = {.shape = shape, .sum = &sum};
    struct turns t = {.record = record};
    int rc = machine_init(&m, shape);

    if (rc == 0)
        rc = run(&t, &m);
    if (rc == 0) {
        flush(&m);
        *ret = sum;
    }
    machine_release(&m);
    return rc;
}
