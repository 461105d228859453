#include "device/timing/unlike_dies.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Dies whose waves differ by less are alike: the sample of one stands for all of them. */
#define ALIKE 1.1

/* Nothing is said of a die before so many of its workgroups have ended. */
enum { TELLING_GROUPS = 2 };

static double length(const struct rp_die_work *w)
{
    return w->waves ? (double)w->wave_insts / (double)w->waves : 0;
}

static bool is_unlike(const struct rp_die_work *die, unsigned other)
{
    const double a = length(&die[0]), b = length(&die[other]);
    return a > ALIKE * b || b > ALIKE * a;
}

/* Returns -1 where all are about as long as those of the first die, or too little is known. */
static int unlike_die(const struct rp_die_work *die, unsigned dies)
{
    unsigned longest = 0, shortest = 0;
    for (unsigned i = 0; i < dies; i++) {
        if (die[i].groups < TELLING_GROUPS)
            return -1;
        longest = length(&die[i]) > length(&die[longest]) ? i : longest;
        shortest = length(&die[i]) < length(&die[shortest]) ? i : shortest;
    }
    if (is_unlike(die, longest))
        return (int)longest;
    return is_unlike(die, shortest) ? (int)shortest : -1;
}

double rp_unlike_share(const struct rp_die_work *die, unsigned dies)
{
    struct rp_die_work all = {0};
    double most = 0;
    for (unsigned i = 0; i < dies && dies <= RP_EXEC_DIES; i++) {
        if (die[i].groups < TELLING_GROUPS)
            return 1;
        most = fmax(most, length(&die[i]));
        rp_die_work_add(&all, &die[i]);
    }
    return most > ALIKE * length(&all) && length(&all) > 0 ? most / length(&all) : 1;
}

/* The same part of the grid, on another die. */
static struct rp_rec_plan other_plan(const struct rp_rec_plan *first, unsigned other)
{
    struct rp_rec_plan p = *first;
    p.first += other;
    if (p.first >= p.group_count)
        p.count = 0;
    else if (p.count > (p.group_count - p.first + p.stride - 1) / p.stride)
        p.count = (p.group_count - p.first + p.stride - 1) / p.stride;
    p.probes = p.probe_every ? p.count / p.probe_every : 0;
    return p;
}

static struct rp_wave_record *other_new(const struct rp_wave_record *first, unsigned die)
{
    const struct rp_rec_plan plan = other_plan(&first->plan, die);
    struct rp_wave_record *r = rp_record_new(&plan, &first->shape);
    if (r) {
        r->keeps_steps = true;
        r->keeps_accesses = first->keeps_accesses;
        r->patterns = rp_rec_patterns_new();
    }
    return r;
}

int rp_unlike_look(struct rp_unlike *u, const struct rp_wave_record *first,
                   const struct rp_die_work *known)
{
    const uint64_t dies = first->plan.stride;
    if (!first->keeps_steps || dies < 2 || dies > RP_EXEC_DIES || u->no_memory)
        return -1;
    const int die = u->record ? (int)u->die : unlike_die(known, (unsigned)dies);
    if (die < 0 || !is_unlike(known, (unsigned)die))
        return -1;
    if (!u->record) {
        u->record = other_new(first, (unsigned)die);
        u->no_memory = !u->record;
        u->die = (unsigned)die;
    }
    return u->record ? die : -1;
}

/* ---- copies -------------------------------------------------------------------------------- */

/* In lines: a quarter of a terabyte. So many turns reach to private lines; later ones lie between
 * them, 16 gigabytes apart. */
enum { AWAY_BITS = 31, NEAR_BITS = 27, FAR_TURNS = 1 << 9, TURNS = 1 << 13 };

/* Where the copies of a turn lie differs from where the original does by these bits. */
static uint64_t away(uint64_t turn)
{
    const uint64_t by = turn % FAR_TURNS << AWAY_BITS | turn / FAR_TURNS << NEAR_BITS;
    assert(turn < TURNS && by < RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES);
    return by;
}

/* Returns NULL when there is no memory, even for nothing. */
static void *copy(const void *from, size_t count, size_t size)
{
    void *to = malloc(count ? count * size : 1);
    return to && count ? memcpy(to, from, count * size) : to;
}

/* Lines of atomics stay, so that they meet on them; and so do lines at made-up addresses. */
static void move_away(struct rp_rec_wave *w, uint64_t by)
{
    const uint64_t own = RP_REC_OWN_VA / RP_REC_LINE_BYTES;
    for (uint32_t i = 0; i < w->access_count; i++) {
        const struct rp_rec_access *a = &w->access[i];
        for (uint32_t k = 0; k < a->line_count && !(a->flags & RP_REC_ATOMIC); k++) {
            struct rp_rec_line *line = &w->line[a->first_line + k];
            if (line->number < own)
                line->number = (line->number ^ by) & RP_REC_LINE_NUMBERS;
        }
    }
}

/* Nothing is packed, and no steps are shared. @return 0 or -ENOMEM */
static int copy_group(struct rp_rec_group *to, const struct rp_rec_group *from, uint64_t by)
{
    if (!rp_rec_begin(to, from->wave_count, 0))
        return -ENOMEM;
    for (uint32_t i = 0; i < to->wave_count; i++) {
        struct rp_rec_wave w = from->wave[i];
        w.step = copy(w.step, w.step_count, sizeof *w.step);
        w.access = copy(w.access, w.access_count, sizeof *w.access);
        w.line = copy(w.line, w.line_count, sizeof *w.line);
        w.mask = copy(w.mask, w.mask_count, sizeof *w.mask);
        w.step_room = w.step_count;
        w.access_room = w.access_count;
        w.line_room = w.line_count;
        w.mask_room = w.mask_count;
        to->wave[i] = w;
        if (!w.step || !w.access || !w.line || !w.mask) {
            to->wave[i].step_count = to->wave[i].access_count = 0;
            return -ENOMEM;
        }
        if (by)
            move_away(&to->wave[i], by);
    }
    return 0;
}

/* Fills a part of the record. */
static int fill_part(struct rp_rec_group *g, uint64_t count, bool moves)
{
    uint64_t recorded = 0, filled = 0;
    uint64_t *index = malloc((count ? count : 1) * sizeof *index);
    int status = index ? 0 : -ENOMEM;
    for (uint64_t i = 0; i < count && index; i++)
        if (g[i].wave_count)
            index[recorded++] = i;
    if (!status && !recorded)
        status = -ENODATA;
    for (uint64_t i = 0; i < count && !status; i++)
        if (!g[i].wave_count && !g[i].lost) {
            const uint64_t turn = moves ? filled / recorded + 1 : 0;
            status = copy_group(&g[i], &g[index[filled++ % recorded]], away(turn));
        }
    free(index);
    return status;
}

/* @return 0; -ENODATA: none was recorded; -ENOMEM */
static int fill(struct rp_wave_record *r)
{
    int status = rp_record_status(r);
    if (!status)
        status = rp_record_unpack(r);
    if (!status)
        status = fill_part(r->group, r->plan.count, true);
    if (!status && r->plan.probes)
        status = fill_part(r->group + r->plan.count, r->plan.probes, false);
    if (status == -ENODATA && r->plan.probes && r->group[0].wave_count)
        status = 0; /* Without probes nothing is said of how dies share memory. */
    return status;
}

/* ---- kinds --------------------------------------------------------------------------------- */

/* A simulation of a kind of dies, as though all were of it. */
struct kind {
    struct rp_timing_stats stats;
    unsigned dies; /* of this kind */
};

/* Lets a record stand for a dispatch of which all dies do what those do that are more like @p self
 * than @p other. @return how many these are */
static unsigned stand_for(struct rp_wave_record *r, const struct rp_die_work *die, unsigned self,
                          unsigned other)
{
    const unsigned dies = (unsigned)r->plan.stride;
    const double own = length(&die[self]), others = length(&die[other]);
    double longest = own;
    unsigned like = 0;
    for (unsigned i = 0; i < dies; i++) {
        const double at = length(&die[i]);
        if (i != self && (i == other || fabs(at - own) > fabs(at - others)))
            continue;
        like++;
        longest = fmax(longest, at);
    }
    r->plan.group_count = dies * die[self].groups;
    r->total_waves = dies * die[self].waves;
    r->total_insts = (uint64_t)(longest * (double)r->total_waves + 0.5);
    return like;
}

int rp_unlike_settle(struct rp_unlike *u, struct rp_wave_record *first,
                     const struct rp_die_work *die)
{
    int status = u->no_memory ? -ENOMEM : -ENODATA;
    if (u->record && is_unlike(die, u->die))
        status = fill(u->record);
    if (status) {
        rp_record_free(u->record);
        u->record = NULL;
        return status == -ENODATA ? 0 : status;
    }
    u->group_count = first->plan.group_count;
    u->first_dies = stand_for(first, die, 0, u->die);
    stand_for(u->record, die, u->die, 0); /* One that is like both is of the first kind. */
    u->other_dies = (unsigned)first->plan.stride - u->first_dies;
    if (length(&die[u->die]) > length(&die[0])) {
        /* Whoever watches has been told which record is the first. */
        const struct rp_wave_record other = *u->record;
        const unsigned dies = u->other_dies;
        *u->record = *first;
        *first = other;
        u->other_dies = u->first_dies;
        u->first_dies = dies;
    }
    return 0;
}

/* ---- simulation ---------------------------------------------------------------------------- */

static double clocks_of(const struct kind *k)
{
    const struct rp_timing_stats *s = &k->stats;
    return fmax(s->clocks, fmax(s->level_clocks[RP_LEVEL_L2], s->level_clocks[RP_LEVEL_MALL]));
}

static unsigned slower_of(const struct kind kind[2])
{
    return clocks_of(&kind[1]) > clocks_of(&kind[0]);
}

/* Returns the mean of all dies. */
static double mean(const struct kind *a, double of_a, const struct kind *b, double of_b)
{
    return (a->dies * of_a + b->dies * of_b) / (a->dies + b->dies);
}

/* Returns the clocks of the memory that all dies need. Each kind was simulated with its die's part
 * of it. */
static double memory_clocks(const struct kind *a, const struct kind *b)
{
    return mean(a, a->stats.level_clocks[RP_LEVEL_HBM], b, b->stats.level_clocks[RP_LEVEL_HBM]);
}

/* A die that waits for memory most of the time has more of it where others need less. Returns which
 * part, or 0: as much as others. */
static double memory_part(const struct kind *slower, const struct kind *faster)
{
    const double need = slower->stats.level_clocks[RP_LEVEL_HBM];
    const double all = memory_clocks(slower, faster);
    if (need < 0.5 * clocks_of(slower) || all > need / ALIKE)
        return 0;
    return fmin(need / (all * (slower->dies + faster->dies)), 1);
}

#define MEAN(field)                                                                                \
    s->field = (uint64_t)(mean(a, (double)a->stats.field, b, (double)b->stats.field) + 0.5)

/* What is replayed, and what that needs of units, is of a die like the mean of all, so that it goes
 * with the dispatch's counts (timing_model.c). */
static void take_mean(struct rp_timing_stats *s, const struct kind *a, const struct kind *b)
{
    MEAN(waves);
    MEAN(insts);
    MEAN(wave_clocks);
    MEAN(lds_busy_clocks);
    MEAN(half_clocks);
    MEAN(level[RP_LEVEL_L1].busy_clocks);
    MEAN(level[RP_LEVEL_SCALAR_L1].busy_clocks);
    for (unsigned i = 0; i < RP_REC_UNITS; i++)
        MEAN(port_clocks[i]);
}

#undef MEAN

static struct rp_timing_stats join(const struct kind *slower, const struct kind *faster,
                                   double memory)
{
    struct rp_timing_stats s = slower->stats;
    const struct rp_timing_stats *f = &faster->stats;
    s.level_clocks[RP_LEVEL_HBM] = memory;
    s.level_clocks[RP_LEVEL_L2] = fmax(s.level_clocks[RP_LEVEL_L2], f->level_clocks[RP_LEVEL_L2]);
    s.level_clocks[RP_LEVEL_MALL] =
        fmax(s.level_clocks[RP_LEVEL_MALL], f->level_clocks[RP_LEVEL_MALL]);
    s.atomic_clocks = fmax(s.atomic_clocks, f->atomic_clocks);
    take_mean(&s, slower, faster);
    return s;
}

int rp_unlike_run(const struct rp_unlike *u, const struct rp_arch *arch,
                  struct rp_wave_record *first, const struct rp_engine_watch *watch,
                  struct rp_timing_stats *ret)
{
    struct kind kind[2] = {{.dies = u->first_dies}, {.dies = u->other_dies}};
    struct rp_wave_record *record[2] = {first, u->record};
    int status = 0;
    for (unsigned i = 0; i < 2 && !status; i++) {
        record[i]->memory_part = 0;
        status = rp_engine_run(arch, record[i], NULL, &kind[i].stats);
    }
    if (status)
        return status;
    unsigned slower = slower_of(kind);
    const double memory = memory_clocks(&kind[0], &kind[1]);
    record[slower]->memory_part = memory_part(&kind[slower], &kind[!slower]);
    if (record[slower]->memory_part > 0)
        status = rp_engine_run(arch, record[slower], NULL, &kind[slower].stats);
    slower = slower_of(kind); /* With more memory it may be faster than the other kind. */
    if (!status && watch) {
        struct rp_timing_stats unused;
        status = rp_engine_run(arch, first, watch, &unused);
    }
    *ret = join(&kind[slower], &kind[!slower], memory);
    ret->group_count = u->group_count;
    return status;
}
