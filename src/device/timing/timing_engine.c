#include "device/timing/timing_engine.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

enum { RP_EVENT_QUEUE_CLOCKS = 4096, RP_EVENT_QUEUE_EMPTY = UINT32_MAX };

struct rp_event_queue {
    uint64_t base; /**< begin of the lap: a bucket for each clock of it */
    uint32_t at;   /**< bucket that is looked at next */
    uint64_t set[RP_EVENT_QUEUE_CLOCKS / 64];
    uint32_t head[RP_EVENT_QUEUE_CLOCKS], tail[RP_EVENT_QUEUE_CLOCKS];
    uint32_t far_head, far_tail; /**< beyond the lap */
    uint64_t far_first;          /**< the earliest of these */
    uint32_t *next;              /**< by number */
    uint64_t *time;
};

/**
 * Returns the status of everything that has been asked for so far.
 * @return 0; -ENOMEM: the answers mean nothing
 */
static inline int hierarchy_status(const struct rp_hierarchy *h)
{
    return h->no_memory ? -ENOMEM : 0;
}

static void event_queue_release(struct rp_event_queue *e);

/**
 * Initialises a queue for numbers below @p count, each of which is in it at most once.
 * @return 0 or -ENOMEM
 */
static int event_queue_init(struct rp_event_queue *e, uint32_t count)
{
    memset(e, 0, sizeof *e);
    e->far_head = e->far_tail = RP_EVENT_QUEUE_EMPTY;
    e->far_first = UINT64_MAX;
    e->next = calloc(count ? count : 1, sizeof *e->next);
    e->time = calloc(count ? count : 1, sizeof *e->time);
    if (e->next && e->time)
        return 0;
    event_queue_release(e);
    return -ENOMEM;
}

static void event_queue_release(struct rp_event_queue *e)
{
    free(e->next);
    free(e->time);
    e->next = NULL;
    e->time = NULL;
}

static void append(struct rp_event_queue *e, uint32_t *head, uint32_t *tail, bool empty,
                   uint32_t number)
{
    e->next[number] = RP_EVENT_QUEUE_EMPTY;
    if (empty)
        *head = number;
    else
        e->next[*tail] = number;
    *tail = number;
}

/**
 * Puts an event into the queue. @p time must not be before that of the latest
 * event_queue_take().
 */
static void event_queue_put(struct rp_event_queue *e, uint32_t number, uint64_t time)
{
    e->time[number] = time;
    if (time - e->base >= RP_EVENT_QUEUE_CLOCKS) {
        append(e, &e->far_head, &e->far_tail, e->far_head == RP_EVENT_QUEUE_EMPTY, number);
        if (time < e->far_first)
            e->far_first = time;
        return;
    }
    const uint32_t b = (uint32_t)(time - e->base);
    const uint64_t bit = 1ull << b % 64;
    append(e, &e->head[b], &e->tail[b], !(e->set[b / 64] & bit), number);
    e->set[b / 64] |= bit;
    if (b < e->at)
        e->at = b;
}

/* The lap is over: the next one begins with the earliest of those beyond. */
static void next_lap(struct rp_event_queue *e)
{
    uint32_t number = e->far_head;
    e->base = e->far_first;
    e->at = 0;
    e->far_head = e->far_tail = RP_EVENT_QUEUE_EMPTY;
    e->far_first = UINT64_MAX;
    while (number != RP_EVENT_QUEUE_EMPTY) {
        const uint32_t next = e->next[number];
        event_queue_put(e, number, e->time[number]);
        number = next;
    }
}

/** Takes the next event and its time, or returns RP_EVENT_QUEUE_EMPTY. */
static uint32_t event_queue_take(struct rp_event_queue *e, uint64_t *ret_time)
{
    for (;;) {
        uint32_t word = e->at / 64;
        uint64_t left = word < RP_EVENT_QUEUE_CLOCKS / 64 ? e->set[word] & ~0ull << e->at % 64 : 0;
        while (!left && ++word < RP_EVENT_QUEUE_CLOCKS / 64)
            left = e->set[word];
        if (left) {
            e->at = 64 * word + (uint32_t)__builtin_ctzll(left);
            break;
        }
        if (e->far_head == RP_EVENT_QUEUE_EMPTY)
            return RP_EVENT_QUEUE_EMPTY;
        next_lap(e);
    }
    const uint32_t b = e->at, number = e->head[b];
    if (number == e->tail[b])
        e->set[b / 64] &= ~(1ull << b % 64);
    else
        e->head[b] = e->next[number];
    *ret_time = e->base + b;
    return number;
}

/** This records when the simulated workgroups ended, in order, and what they had asked for. */
struct rp_completions {
    struct rp_completion {
        uint64_t clock;
        uint64_t work_64ths[RP_LEVELS]; /**< of this workgroup and those before it */
    } * at;
    uint64_t count, room; /**< room: as many as can be noted */
};

static void completions_note(struct rp_completions *c, uint64_t clock,
                             const struct rp_cu_group *group)
{
    if (c->count >= c->room)
        return;
    struct rp_completion *at = &c->at[c->count];
    at->clock = clock;
    for (unsigned level = 0; level < RP_LEVELS; level++)
        at->work_64ths[level] =
            group->work_64ths[level] + (c->count ? at[-1].work_64ths[level] : 0);
    c->count++;
}

/* ---- time ---------------------------------------------------------------------------------- */

/* Returns the average length of waves that are not simulated, in instructions, divided by that of
 * waves that are.
 */
static double longer(const struct rp_wave_record *r)
{
    double insts = 0, waves = 0;
    for (uint64_t g = 0; g < r->plan.count; g++) {
        waves += r->group[g].wave_count;
        for (uint32_t w = 0; w < r->group[g].wave_count; w++)
            insts += (double)r->group[g].wave[w].insts;
    }
    const double other_waves = (double)r->total_waves - waves;
    const double other_insts = (double)r->total_insts - insts;
    if (insts <= 0 || other_waves <= 0 || other_insts <= 0)
        return 1;
    return other_insts / other_waves / (insts / waves);
}

/* Returns how many servers a level of memory has. */
static uint32_t servers_of(const struct rp_machine *m, enum rp_level level)
{
    switch (level) {
    case RP_LEVEL_L2: /* Reads and writes have their own. */
        return 2 * m->dies * m->arch->l2_channels_per_xcc;
    case RP_LEVEL_MALL:
        return m->dies;
    case RP_LEVEL_HBM:
        return m->memory_channels;
    default:
        return 0;
    }
}

/* Returns the clocks that a level needs, all of its servers sharing the work between two ends. */
static double work_clocks(const struct rp_completions *done, const struct rp_machine *m,
                          enum rp_level level, uint64_t from, uint64_t to)
{
    const uint32_t servers = servers_of(m, level);
    const uint64_t work = done->at[to].work_64ths[level] - done->at[from].work_64ths[level];
    return servers ? (double)work / RP_SERVER_SCALE / servers : 0;
}

/* Returns the clocks of a workgroup between two ends: as often as workgroups ended, but no less
 * than memory needs for what they asked of it, nor than their launch takes. A short run of ends can
 * be ahead of memory, whose queues hold what is written for about one latency, and of launches,
 * if the first workgroups took longer; many fills of the GPU cannot. */
static double clocks_each(const struct rp_completions *done, const struct rp_machine *m,
                          uint64_t from, uint64_t to)
{
    double clocks = (double)(done->at[to].clock - done->at[from].clock);
    for (unsigned level = 0; level < RP_LEVELS; level++)
        clocks = fmax(clocks, work_clocks(done, m, level, from, to));
    return fmax(clocks / (double)(to - from), m->launch_each);
}

/** This says how what the replayed workgroups did is taken for all of their die. */
struct rest {
    double whole;      /**< a die that was replayed as a whole: times what it did */
    double more;       /**< workgroups like those between two ends, besides those replayed; */
    uint64_t from, to; /**< equal: there are too few ends */
};

/* The rate is taken from the end of the first fill to where nothing is left to start. */
static struct rest rest_of(const struct rp_wave_record *r, const struct rp_completions *done,
                           uint64_t resident)
{
    const uint64_t of_die = (r->plan.group_count + r->plan.stride - 1) / r->plan.stride;
    if (r->plan.stride > 1 && of_die <= r->plan.count) /* The slowest die ends the dispatch. */
        return (struct rest){.whole = fmax(longer(r), 1)};
    if (of_die <= done->count || !done->count)
        return (struct rest){.whole = 1};
    struct rest rest = {.from = resident - 1, .to = done->count - resident - 1};
    if (done->count < 3 * resident) {
        rest.from = done->count / 4;
        rest.to = done->count - 1 - done->count / 4;
    }
    if (rest.to <= rest.from)
        return (struct rest){.whole = (double)of_die / (double)done->count};
    rest.whole = 1;
    rest.more = longer(r) * (double)(of_die - done->count);
    return rest;
}

/**
 * Extrapolates to the clocks of the whole dispatch. With a sample these are the simulation's, plus
 * the time of all other workgroups of the die: the rate at which workgroups ended while the die
 * was full, times how much longer the others are on average. If a die was simulated as a whole,
 * its clocks are multiplied by how much longer the waves of other dies are, if they are.
 * @param end  of the replay
 * @param ret_error  estimate of the relative error: how far the two halves of that time disagree;
 *         how far waves of other dies are longer or shorter
 */
static double extrapolate(const struct rp_wave_record *r, const struct rp_completions *done,
                          const struct rp_machine *m, uint64_t end, const struct rest *rest,
                          double *ret_error)
{
    const uint64_t of_die = (r->plan.group_count + r->plan.stride - 1) / r->plan.stride;
    *ret_error = 0;
    if (!(rest->more > 0)) {
        if (r->plan.stride > 1 && of_die <= r->plan.count)
            *ret_error = fabs(longer(r) - 1);
        else if (rest->whole > 1)
            *ret_error = 1;
        return (double)end * rest->whole;
    }
    const uint64_t middle = rest->from + (rest->to - rest->from) / 2;
    const double first = clocks_each(done, m, rest->from, middle == rest->from ? rest->to : middle);
    const double second = clocks_each(done, m, middle, rest->to);
    const double more = clocks_each(done, m, rest->from, rest->to) * rest->more;
    const double clocks = (double)end + more;
    if (first + second > 0 && clocks > 0)
        *ret_error = fabs(first - second) / (first + second) * more / clocks;
    return clocks;
}

/* Returns what a level of memory needs for the whole dispatch. */
static double level_clocks(const struct rp_completions *done, const struct rp_machine *m,
                           enum rp_level level, const struct rest *rest)
{
    const uint32_t servers = servers_of(m, level);
    if (!servers || !done->count)
        return 0;
    const uint64_t all = done->at[done->count - 1].work_64ths[level];
    const double clocks = (double)all / RP_SERVER_SCALE / servers * rest->whole;
    return rest->more > 0 ? clocks + work_clocks(done, m, level, rest->from, rest->to) /
                                         (double)(rest->to - rest->from) * rest->more
                          : clocks;
}

/* ---- sharing ------------------------------------------------------------------------------- */

/* A moment says roughly when a line is touched: how many times a die has been filled before the
 * workgroup, and how far its wave is, of 2^MOMENT_BITS. Two moments are about the same within SAME
 * of it.
 */
enum { MOMENT_BITS = 14, MOST_FILLS = 3, SAME = (1 << MOMENT_BITS) / 20, PAGE_LINES = 32 };

struct set {
    struct entry {
        uint64_t line; /**< number + 1; 0 = free */
        uint64_t moment;
    } * at;
    uint64_t size, count;
};

/* Lines of a page lie side by side: neighbours are mostly touched soon. */
static struct entry *place(const struct set *s, uint64_t line)
{
    uint64_t i =
        ((line / PAGE_LINES * 0x9e3779b97f4a7c15u >> 20) + line % PAGE_LINES) & (s->size - 1);
    while (s->at[i].line && s->at[i].line != line + 1)
        i = (i + 1) & (s->size - 1);
    return &s->at[i];
}

/* Makes room for so many lines. */
static bool init_set(struct set *s, uint64_t lines)
{
    s->size = 16;
    while (s->size < 2 * lines)
        s->size *= 2;
    s->at = calloc(s->size, sizeof *s->at);
    return s->at;
}

static void add(struct set *s, uint64_t line, uint64_t moment)
{
    struct entry *e = place(s, line);
    if (!e->line)
        s->count++;
    if (!e->line || moment < e->moment)
        *e = (struct entry){.line = line + 1, .moment = moment};
}

/* More probes than main workgroups may have been kept, so only as many are used. */
static void add_wave(struct set *s, const struct rp_rec_wave *w, uint64_t fills, uint32_t limit)
{
    for (uint32_t i = 0; i < w->access_count && w->access[i].step < limit; i++) {
        const struct rp_rec_access *a = &w->access[i];
        const uint64_t moment =
            (fills << MOMENT_BITS) + ((uint64_t)a->step << MOMENT_BITS) / w->insts;
        for (uint32_t k = 0; k < a->line_count; k++) {
            const uint64_t line = w->line[a->first_line + k].number;
            if (line < RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES)
                add(s, line, moment);
        }
    }
}

/* Adds groups. @p every is the distance between two of them among their die's workgroups. */
static bool add_groups(struct set *s, const struct rp_rec_group *g, uint64_t count, uint64_t every,
                       uint64_t resident, uint32_t limit)
{
    uint64_t lines = 0;
    for (uint64_t i = 0; i < count; i++)
        for (uint32_t w = 0; w < g[i].wave_count; w++)
            lines += g[i].wave[w].line_count;
    if (!init_set(s, lines))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t fills = i * every / resident;
        for (uint32_t w = 0; w < g[i].wave_count; w++)
            add_wave(s, &g[i].wave[w], fills < MOST_FILLS ? fills : MOST_FILLS, limit);
    }
    return true;
}

/* Notes clocks of atomics in place of a moment: lanes that mean one dword follow one another. */
static void add_atomics(struct set *s, const struct rp_rec_wave *w, uint32_t most_steps)
{
    const uint32_t limit = w->lines_only ? most_steps : w->step_count;
    for (uint32_t i = 0; i < w->access_count && w->access[i].step < limit; i++) {
        const struct rp_rec_access *a = &w->access[i];
        for (uint32_t k = 0; k < a->line_count && a->flags & RP_REC_ATOMIC; k++) {
            const struct rp_rec_line *line = &w->line[a->first_line + k];
            struct entry *e = place(s, line->number);
            s->count += !e->line;
            *e = (struct entry){line->number + 1, e->moment + (line->deepest ? line->deepest : 1)};
        }
    }
}

static struct rp_sharing compare(const struct set *mains, const struct set *probes)
{
    uint64_t shared = 0, together = 0;
    for (uint64_t i = 0; i < probes->size; i++) {
        if (!probes->at[i].line)
            continue;
        const struct entry *e = place(mains, probes->at[i].line - 1);
        const uint64_t a = e->moment, b = probes->at[i].moment;
        shared += e->line != 0;
        together += e->line && (a < b ? b - a : a - b) <= SAME;
    }
    return (struct rp_sharing){
        .lines = mains->count,
        .share = probes->count ? (double)shared / (double)probes->count : 0,
        .together = shared ? (double)together / (double)shared : 0,
    };
}

/**
 * Estimates sharing from what main workgroups and probes access; without probes all is 0.
 * @return 0 or -ENOMEM
 */
static int sharing_of(const struct rp_wave_record *r, uint64_t resident, struct rp_sharing *ret)
{
    struct set mains = {0}, probes = {0};
    *ret = (struct rp_sharing){0};
    if (!r->plan.probes)
        return 0;
    const bool fits =
        add_groups(&mains, r->group, r->plan.count, 1, resident, r->plan.steps_limit) &&
        add_groups(&probes, r->group + r->plan.count, r->plan.probes, r->plan.probe_every, resident,
                   r->plan.steps_limit);
    if (fits)
        *ret = compare(&mains, &probes);
    free(mains.at);
    free(probes.at);
    return fits ? 0 : -ENOMEM;
}

/* ---- atomics ------------------------------------------------------------------------------- */

/* A line is in one L2 at a time, so atomics on it follow one another, whichever dies send them.
 * These are the clocks of a line in a part of the record.
 */
static int count_atomics(const struct rp_wave_record *r, uint64_t first, uint64_t end,
                         struct set *ret)
{
    uint64_t lines = 0;
    for (uint64_t g = first; g < end; g++)
        for (uint32_t w = 0; w < r->group[g].wave_count; w++)
            for (uint32_t i = 0; i < r->group[g].wave[w].access_count; i++)
                if (r->group[g].wave[w].access[i].flags & RP_REC_ATOMIC)
                    lines += r->group[g].wave[w].access[i].line_count;
    if (!lines)
        return 0;
    if (!init_set(ret, lines))
        return -ENOMEM;
    for (uint64_t g = first; g < end; g++)
        for (uint32_t w = 0; w < r->group[g].wave_count; w++)
            add_atomics(ret, &r->group[g].wave[w], r->plan.steps_limit);
    return 0;
}

static double clocks_of(const struct set *s, uint64_t line, uint64_t groups)
{
    return s->count ? (double)place(s, line)->moment / (double)groups : 0;
}

/* Returns the most clocks a workgroup that any line is busy with. What lies between two halves of
 * the sample, and between dies, is taken to be as busy as the idler of them: a line may be busy
 * in a part of the grid only. */
static double busiest(const struct set part[3], const uint64_t groups[3], unsigned parts)
{
    double most = 0;
    for (uint64_t i = 0; i < part[0].size && part[0].count; i++) {
        if (!part[0].at[i].line)
            continue;
        double least = INFINITY;
        for (unsigned k = 0; k < parts; k++)
            least = fmin(least, clocks_of(&part[k], part[0].at[i].line - 1, groups[k]));
        most = fmax(most, least);
    }
    return most;
}

/**
 * Estimates the clocks of the line that has most atomics.
 * @return 0 or -ENOMEM
 */
static int atomics_of(const struct rp_wave_record *r, double *ret_clocks)
{
    struct set part[3] = {{0}};
    const uint64_t count = r->plan.count, probes = r->plan.probes;
    const bool all = count == r->plan.group_count || count < 2;
    const uint64_t half = all ? count : count / 2;
    const uint64_t end[3] = {half, count, count + probes};
    const uint64_t groups[3] = {half, count - half, probes};
    int status = 0;
    for (unsigned k = 0; k < 3 && !status; k++)
        if (groups[k])
            status = count_atomics(r, k ? end[k - 1] : 0, end[k], &part[k]);
    const unsigned parts = all ? 1 : probes ? 3 : 2;
    *ret_clocks = status ? 0 : busiest(part, groups, parts) * (double)r->plan.group_count;
    for (unsigned k = 0; k < 3; k++)
        free(part[k].at);
    return status;
}

/* The machine gives workgroups to dies and compute units (compute_unit.c). These run ahead of each
 * other as far as they share nothing; what they share (memory_hierarchy.c) happens in the order of
 * time.
 */

enum { MOST_ENGINES = 8 /**< of a die; gfx90a has so many */ };

struct engine {
    struct rp_timing_simulation r;
    struct rp_event_queue agenda;
    struct rp_cu *cu;
    struct rp_cu_wave *wave;   /**< RP_CU_SLOTS for each CU */
    struct rp_cu_group *group; /**< of each group in the record */
    struct engine_die {
        uint64_t next_group;                /**< index of the first not started */
        uint64_t launch_free[MOST_ENGINES]; /**< when a shader engine's dispatcher has time */
        uint64_t full_since; /**< when a workgroup began to wait for room; UINT64_MAX: none waits */
        uint32_t next_cu;
    } * die;
    struct rp_completions done;
    int status; /**< 0, or -ENOMEM: it ends early */
};

/* ---- dispatchers --------------------------------------------------------------------------- */

/* Tests whether a CU has room for one more workgroup. */
static bool has_room(const struct engine *e, const struct rp_cu *cu, uint32_t waves)
{
    return cu->groups < e->r.rec->shape.groups_per_cu && cu->waves + waves <= RP_CU_SLOTS;
}

/* Returns the die's next CU with room, or NULL. */
static struct rp_cu *find_room(struct engine *e, uint32_t die, uint32_t waves)
{
    struct rp_cu *cus = &e->cu[die * e->r.m.cus_per_die];
    for (uint32_t tries = 0; tries < e->r.m.cus_per_die; tries++) {
        const uint32_t cu = (e->die[die].next_cu + tries) % e->r.m.cus_per_die;
        if (has_room(e, &cus[cu], waves))
            return &cus[cu];
    }
    return NULL;
}

/* Returns when the shader engine of a compute unit has time to launch: neighbours are in different
 * ones. */
static uint64_t *launch_free_of(struct engine *e, const struct rp_cu *cu)
{
    const uint32_t engines = e->r.m.engines_per_die;
    return &e->die[cu->die].launch_free[cu->number % e->r.m.cus_per_die % engines];
}

static uint64_t first_free(const struct engine *e, const struct engine_die *die)
{
    uint64_t first = die->launch_free[0];
    for (uint32_t i = 1; i < e->r.m.engines_per_die; i++)
        first = die->launch_free[i] < first ? die->launch_free[i] : first;
    return first;
}

/* Starts as many workgroups of a die as there is room for. Where one ends, the machine is at its
 * compute unit's time, so the next one begins in time. Another unit may have had room since
 * earlier, but only if workgroups have different numbers of waves (edges of grids). It may have
 * run ahead then, and the workgroup begins at the time that it has reached. Each die has the
 * workgroups of its number, modulo dies; those that were lost are left out. @p running is not put
 * into the event queue because it is at work.
 */
static void fill(struct engine *e, uint32_t number, const struct rp_cu *running)
{
    const struct rp_arch_timing *t = e->r.m.arch->timing;
    struct engine_die *die = &e->die[number];
    for (; die->next_group < e->r.rec->plan.count; die->next_group += e->r.m.dies) {
        const uint32_t waves = e->r.rec->group[die->next_group].wave_count;
        if (!waves)
            continue;
        struct rp_cu *cu = find_room(e, number, waves);
        if (!cu) {
            /* The workgroup cannot start before it could have been launched. */
            const uint64_t first = first_free(e, die);
            if (die->full_since == UINT64_MAX)
                die->full_since = first > e->r.clock ? first : e->r.clock;
            return;
        }
        if (die->full_since < e->r.clock)
            e->r.stats->no_room_clocks += e->r.clock - die->full_since;
        die->full_since = UINT64_MAX;
        uint64_t *launch_free = launch_free_of(e, cu);
        const uint64_t free = *launch_free > e->r.clock ? *launch_free : e->r.clock;
        *launch_free = free + (uint64_t)(rp_launch_clocks(t, waves) + 0.5);
        die->next_cu = (cu->number % e->r.m.cus_per_die + 1) % e->r.m.cus_per_die;
        if (rp_hierarchy_open(&e->r.memory, cu->number) < 0) {
            e->status = -ENOMEM;
            return;
        }
        const uint64_t begin =
            rp_cu_start(&e->r, cu, &e->group[die->next_group], *launch_free + t->wave_clocks);
        if (cu != running && !cu->listed) {
            cu->listed = true;
            event_queue_put(&e->agenda, cu->number, begin);
        }
    }
}

/* ---- a replay ------------------------------------------------------------------------------ */

/* A compute unit goes on, the machine being at its time. */
static void go_on(struct engine *e, struct rp_cu *cu)
{
    cu->listed = false;
    for (;;)
        switch (rp_cu_run(&e->r, cu)) {
        case RP_CU_IDLE:
        case RP_CU_STARVES: /* This never happens, because the record is finished. */
            return;
        case RP_CU_WAITS:
            cu->listed = true;
            event_queue_put(&e->agenda, cu->number, cu->now);
            return;
        case RP_CU_HAS_ROOM:
            completions_note(&e->done, e->r.clock, cu->ended);
            fill(e, cu->die, cu);
        }
}

static void run(struct engine *e)
{
    for (uint32_t die = 0; die < e->r.m.dies; die++) {
        e->die[die].next_group = die;
        e->die[die].full_since = UINT64_MAX;
        fill(e, die, NULL);
    }
    for (uint32_t n;
         !e->status && (n = event_queue_take(&e->agenda, &e->r.clock)) != RP_EVENT_QUEUE_EMPTY;
         e->status = hierarchy_status(&e->r.memory))
        go_on(e, &e->cu[n]);
}

static void count_insts(const struct engine *e, struct rp_timing_stats *s)
{
    for (uint32_t i = 0; i < e->r.m.dies * e->r.m.cus_per_die; i++)
        for (uint32_t unit = 0; unit < RP_REC_UNITS; unit++) {
            s->unit_insts[unit] += e->cu[i].insts[unit];
            s->insts += e->cu[i].insts[unit];
        }
}

/* Describes the machine that is simulated. @return 0 or -ENOMEM */
static int machine_of(const struct rp_arch *arch, const struct rp_wave_record *rec,
                      struct rp_machine *ret)
{
    struct rp_machine m = {.arch = arch};
    int status = 0;
    m.all_dies = arch->xcc_count ? arch->xcc_count : 1;
    if (arch->compute_units < m.all_dies)
        m.all_dies = arch->compute_units ? arch->compute_units : 1;
    m.cus_per_die = arch->compute_units / m.all_dies ? arch->compute_units / m.all_dies : 1;
    m.dies = rec->plan.stride > 1 ? 1 : m.all_dies;
    m.warm = rec->warm;
    m.blocks = rec->placed ? &rec->blocks : NULL;
    m.engines_per_die = arch->shader_engines / m.all_dies;
    if (!m.engines_per_die)
        m.engines_per_die = 1;
    if (m.engines_per_die > MOST_ENGINES)
        m.engines_per_die = MOST_ENGINES;
    if (rec->plan.group_count)
        m.launch_each = rp_launch_clocks(arch->timing,
                                         (double)rec->total_waves / (double)rec->plan.group_count) /
                        m.engines_per_die / m.dies;
    m.memory_channels = arch->timing->memory_channels * m.dies / m.all_dies;
    if (rec->memory_part > 0)
        m.memory_channels = (uint32_t)(arch->timing->memory_channels * rec->memory_part + 0.5);
    if (!m.memory_channels)
        m.memory_channels = 1;
    if (m.dies < m.all_dies)
        status = sharing_of(rec, (uint64_t)m.cus_per_die * rec->shape.groups_per_cu, &m.sharing);
    *ret = m;
    return status;
}

static int allocate_replay(struct rp_timing_simulation *r)
{
    const struct rp_arch_timing *t = r->m.arch->timing;
    const uint32_t caches = r->m.dies * t->sqcs_per_xcc;
    int status = rp_program_init(&r->program, r->rec);
    if (status)
        return status;
    /* There are as many slots as the cache has, or as a small program needs. */
    r->code_slots = t->inst_l1_bytes / RP_REC_LINE_BYTES;
    if (r->program.line_count < r->code_slots)
        r->code_slots = r->program.line_count ? r->program.line_count : 1;
    r->code_slot = calloc((size_t)caches * r->code_slots, sizeof *r->code_slot);
    if (!r->code_slot)
        return -ENOMEM;
    return rp_hierarchy_init(&r->memory, &r->m, r->stats->level);
}

static int allocate(struct engine *e)
{
    const uint32_t cus = e->r.m.dies * e->r.m.cus_per_die;
    const uint64_t groups = e->r.rec->plan.count;
    e->cu = calloc(cus, sizeof *e->cu);
    /* Waves are initialised as they begin. */
    e->wave = malloc((size_t)cus * RP_CU_SLOTS * sizeof *e->wave);
    e->group = calloc(groups ? groups : 1, sizeof *e->group);
    e->die = calloc(e->r.m.dies, sizeof *e->die);
    e->done.at = calloc(groups ? groups : 1, sizeof *e->done.at);
    e->done.room = groups;
    if (!e->cu || !e->wave || !e->group || !e->die || !e->done.at)
        return -ENOMEM;
    for (uint32_t i = 0; i < cus; i++)
        rp_cu_init(&e->cu[i], i, i / e->r.m.cus_per_die, &e->wave[(size_t)i * RP_CU_SLOTS]);
    for (uint64_t i = 0; i < groups; i++)
        e->group[i].index = (uint32_t)i;
    int status = event_queue_init(&e->agenda, cus);
    return status ? status : allocate_replay(&e->r);
}

static void release(struct engine *e)
{
    event_queue_release(&e->agenda);
    rp_hierarchy_release(&e->r.memory);
    rp_program_release(&e->r.program);
    free(e->r.code_slot);
    free(e->cu);
    free(e->wave);
    free(e->group);
    free(e->die);
    free(e->done.at);
}

static void extrapolate_all(const struct engine *e, struct rp_timing_stats *s)
{
    const struct rp_wave_record *r = e->r.rec;
    const uint64_t resident = (uint64_t)e->r.m.cus_per_die * r->shape.groups_per_cu;
    const struct rest rest = rest_of(r, &e->done, resident);
    s->clocks = extrapolate(r, &e->done, &e->r.m, s->replay_clocks, &rest, &s->error_share);
    const double known = e->r.known_bytes, all = known + e->r.unknown_bytes;
    for (unsigned level = 0; level < RP_LEVELS; level++)
        s->level_clocks[level] =
            level_clocks(&e->done, &e->r.m, level, &rest) * (known > 0 ? all / known : 1);
}

int rp_engine_run(const struct rp_arch *arch, const struct rp_wave_record *record,
                  const struct rp_engine_watch *watch, struct rp_timing_stats *ret)
{
    struct rp_timing_stats stats = {.group_count = record->plan.group_count,
                                    .sampled = record->plan.count < record->plan.group_count};
    struct engine e = {.r = {.rec = record, .watch = watch, .stats = &stats}};
    int status = machine_of(arch, record, &e.r.m);
    if (!status)
        status = atomics_of(record, &stats.atomic_clocks);
    if (!status)
        status = allocate(&e);
    if (!status) {
        run(&e);
        status = e.status;
    }
    if (!status) {
        count_insts(&e, &stats);
        stats.dies = e.r.m.dies;
        stats.all_dies = e.r.m.all_dies;
        const uint64_t drained = rp_hierarchy_drained(&e.r.memory);
        stats.replay_clocks = e.r.end > drained ? e.r.end : drained;
        extrapolate_all(&e, &stats);
        if (stats.wave_clocks)
            stats.error_share += stats.unsure_clocks / (double)stats.wave_clocks;
        *ret = stats;
    }
    release(&e);
    return status;
}
