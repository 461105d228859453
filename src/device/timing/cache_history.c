#include "device/timing/cache_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

enum {
    MOST_DISPATCHES = 32, /**< that are remembered */
    PAGE_LINES = 32,
    PAGE_BYTES = PAGE_LINES * RP_REC_LINE_BYTES,
    NEAR_PAGES = 64, /**< pages that lie so near to each other belong to one run */
    DIE_BITS = 8,    /**< of a key below */
    HARDLY = 16,     /**< one of so many, or less */
    MANY_TIMES = 4,  /**< the first of them does not count */
    MOST_DIES = 1 << DIE_BITS,
};

/** These pages follow each other. */
struct run {
    uint64_t first, end;
};

/** This is what a dispatch touched. */
struct rp_footprint {
    uint64_t key;
    struct run *run;
    uint64_t run_count;
    double bytes, die_bytes; /**< of all dies, of one die: estimates if it was sampled */
    bool complete;           /**< hardly a line is missing below, if there are any */
    double times;            /**< how often the workgroups of a die are those of its sample */
    /* Lines with the die that touched them, and whether it wrote; none if a die touched more than
     * its L2 holds. */
    struct reached_line {
        uint64_t line;
        uint16_t die;
        bool wrote;
    } * line;
    uint64_t line_count;
};

struct rp_cache_history {
    struct rp_footprint *dispatch[MOST_DISPATCHES]; /**< latest first */
    unsigned count;
};

void rp_footprint_free(struct rp_footprint *f)
{
    if (!f)
        return;
    free(f->run);
    free(f->line);
    free(f);
}

struct rp_cache_history *rp_cache_history_new(void)
{
    return calloc(1, sizeof(struct rp_cache_history));
}

static void forget(struct rp_cache_history *h, unsigned from)
{
    for (unsigned i = from; i < h->count; i++)
        rp_footprint_free(h->dispatch[i]);
    if (from < h->count)
        h->count = from;
}

void rp_cache_history_free(struct rp_cache_history *h)
{
    if (!h)
        return;
    forget(h, 0);
    free(h);
}

uint64_t rp_cache_history_state(const struct rp_cache_history *h)
{
    uint64_t state = 0;
    for (unsigned i = 0; h && i < h->count; i++) {
        state = (state ^ h->dispatch[i]->key) * 0x9e3779b97f4a7c15u;
        state ^= state >> 29;
    }
    return h && h->count && !state ? 1 : state;
}

/* ---- what a record touches ----------------------------------------------------------------- */

/** A line that main workgroups touch, and which of them was the first and the last. */
struct reached {
    uint64_t line; /**< and its die: number << DIE_BITS | die, + 1; 0 = free */
    uint32_t group, last;
    bool wrote;
};

struct reached_set {
    struct reached *at;
    uint64_t size, count;
};

static struct reached *reached_place(const struct reached_set *s, uint64_t line)
{
    const uint64_t number = line >> DIE_BITS;
    uint64_t i = ((number / PAGE_LINES * 0x9e3779b97f4a7c15u >> 20) + number % PAGE_LINES +
                  (line & (MOST_DIES - 1)) * 0x85ebca6bu) &
                 (s->size - 1);
    while (s->at[i].line && s->at[i].line != line + 1)
        i = (i + 1) & (s->size - 1);
    return &s->at[i];
}

static bool reached_grow(struct reached_set *s)
{
    struct reached_set larger = {.size = s->size ? 2 * s->size : 1024, .count = s->count};
    larger.at = calloc(larger.size, sizeof *larger.at);
    if (!larger.at)
        return false;
    for (uint64_t i = 0; i < s->size; i++)
        if (s->at[i].line)
            *reached_place(&larger, s->at[i].line - 1) = s->at[i];
    free(s->at);
    *s = larger;
    return true;
}

static bool reached_add(struct reached_set *s, uint64_t line, uint32_t group, bool wrote)
{
    if (2 * s->count >= s->size && !reached_grow(s))
        return false;
    struct reached *e = reached_place(s, line);
    s->count += !e->line;
    if (!e->line)
        *e = (struct reached){.line = line + 1, .group = group};
    e->last = group; /* They come in order. */
    e->wrote |= wrote;
    return true;
}

/* Scratch is not shared by dispatches. */
static bool reached_add_wave(struct reached_set *s, const struct rp_rec_wave *w, uint32_t group,
                             uint32_t die)
{
    for (uint32_t i = 0; i < w->access_count; i++) {
        const struct rp_rec_access *a = &w->access[i];
        const bool wrote = a->flags & (RP_REC_WRITES | RP_REC_ATOMIC);
        for (uint32_t k = 0; k < a->line_count; k++) {
            const uint64_t line = rp_rec_line_of(w, a, k).number;
            if (line < RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES &&
                !reached_add(s, line << DIE_BITS | die, group, wrote))
                return false;
        }
    }
    return true;
}

static bool is_sampled(const struct rp_wave_record *r)
{
    return r->plan.count < r->plan.group_count;
}

/* Where all workgroups are recorded, dies take turns; else all main ones are of one die. */
static bool reached_add_groups(struct reached_set *s, const struct rp_wave_record *r, uint64_t from,
                               uint64_t end, uint32_t dies)
{
    for (uint64_t g = from; g < end; g++) {
        const uint32_t die = is_sampled(r) ? 0 : (uint32_t)(g % dies);
        for (uint32_t w = 0; w < r->group[g].wave_count; w++)
            if (!reached_add_wave(s, &r->group[g].wave[w], (uint32_t)g, die))
                return false;
    }
    return true;
}

/* Returns which part of the probes' lines the main workgroups touch as well. */
static double share_of(const struct reached_set *mains, const struct rp_wave_record *r,
                       bool *ret_fits)
{
    struct reached_set probes = {0};
    uint64_t shared = 0;
    *ret_fits = reached_add_groups(&probes, r, r->plan.count, r->plan.count + r->plan.probes, 1);
    for (uint64_t i = 0; *ret_fits && i < probes.size; i++)
        shared += probes.at[i].line && reached_place(mains, probes.at[i].line - 1)->line;
    free(probes.at);
    return probes.count ? (double)shared / (double)probes.count : 0;
}

/* Tests whether the end of a sample touches hardly any lines that were not touched long before, of
 * those that it reads and of those that it writes: the grid goes through the same lines again and
 * again, and the sample has all of them. Long before is by more workgroups than the end has:
 * neighbours have lines in common. So what is new there came in by so many ends. */
static bool repeats(const struct reached_set *s, uint64_t count)
{
    enum { ENDS = 3 };
    const uint64_t tail = (count + 7) / 8, young = count > ENDS * tail ? count - ENDS * tail : 0;
    uint64_t all[2] = {0}, young_ones[2] = {0};
    for (uint64_t i = 0; i < s->size; i++) {
        const struct reached *e = &s->at[i];
        if (!e->line || e->last < count - tail)
            continue;
        all[e->wrote]++;
        young_ones[e->wrote] += e->group >= young;
    }
    return young_ones[0] * HARDLY <= all[0] * ENDS && young_ones[1] * HARDLY <= all[1] * ENDS;
}

/* Returns how many new lines each workgroup touches that is not recorded: as many as those in the
 * second half of the sample, unless it has all. */
static double growth_of(const struct reached_set *s, const struct rp_wave_record *r)
{
    const uint64_t count = r->plan.count, half = count / 2;
    uint64_t late = 0;
    if (!is_sampled(r) || !count || repeats(s, count))
        return 0;
    for (uint64_t i = 0; i < s->size; i++)
        late += s->at[i].line && s->at[i].group >= half;
    return (double)late / (double)(count - half);
}

/* Returns how many workgroups a die has for each that is recorded of it. */
static double times_of(const struct rp_wave_record *r, uint32_t dies)
{
    return is_sampled(r) && r->plan.count
               ? (double)r->plan.group_count / dies / (double)r->plan.count
               : 1;
}

/** A page, and the first workgroup that touches it. */
struct page {
    uint64_t number;
    uint32_t group;
};

static int by_number(const void *a, const void *b)
{
    const struct page *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Adds the run of some pages. What grew from the first half of a sample to all of it has gone on
 * growing before and after it, unless the sample has seen all. */
static void add_run(struct rp_footprint *f, const struct page *page, uint64_t count,
                    const struct rp_wave_record *r)
{
    const uint64_t first = page[0].number, end = page[count - 1].number + 1;
    uint64_t early_first = UINT64_MAX, early_end = 0;
    for (uint64_t i = 0; i < count; i++)
        if (page[i].group < r->plan.count / 2) {
            early_first = page[i].number < early_first ? page[i].number : early_first;
            early_end = page[i].number + 1;
        }
    const uint64_t pages = end - first;
    const uint64_t early = early_end > early_first ? early_end - early_first : 0;
    const bool grows = f->times > 1 && !f->complete && early * 10 < pages * 9;
    const uint64_t before = grows ? (uint64_t)((f->times - 1) / 2 * (double)pages) : 0;
    f->run[f->run_count++] =
        (struct run){.first = first > before ? first - before : 0, .end = end + before};
}

static int by_first(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Runs that have grown may overlap. */
static void merge_runs(struct rp_footprint *f)
{
    uint64_t count = 0;
    qsort(f->run, f->run_count, sizeof *f->run, by_first);
    for (uint64_t i = 0; i < f->run_count; i++) {
        if (!count || f->run[i].first > f->run[count - 1].end)
            f->run[count++] = f->run[i];
        else if (f->run[i].end > f->run[count - 1].end)
            f->run[count - 1].end = f->run[i].end;
    }
    f->run_count = count;
}

static bool add_runs(struct rp_footprint *f, struct page *page, uint64_t count,
                     const struct rp_wave_record *r)
{
    f->run = calloc(count ? count : 1, sizeof *f->run);
    if (!f->run)
        return false;
    qsort(page, count, sizeof *page, by_number);
    for (uint64_t from = 0, to; from < count; from = to) {
        to = from + 1;
        /* Pages of a whole record are known one by one. */
        const uint64_t near = f->times > 1 ? NEAR_PAGES : 1;
        while (to < count && page[to].number - page[to - 1].number <= near)
            to++;
        add_run(f, page + from, to - from, r);
    }
    merge_runs(f);
    return true;
}

static bool add_pages(struct rp_footprint *f, const struct reached_set *s,
                      const struct rp_wave_record *r)
{
    struct page *page = malloc((s->count ? s->count : 1) * sizeof *page);
    uint64_t count = 0;
    if (!page)
        return false;
    for (uint64_t i = 0; i < s->size; i++) {
        if (!s->at[i].line)
            continue;
        const uint64_t number = ((s->at[i].line - 1) >> DIE_BITS) / PAGE_LINES;
        if (count && page[count - 1].number == number) {
            if (s->at[i].group < page[count - 1].group)
                page[count - 1].group = s->at[i].group;
            continue;
        }
        page[count++] = (struct page){number, s->at[i].group};
    }
    const bool added = add_runs(f, page, count, r);
    free(page);
    return added;
}

static int by_line(const void *a, const void *b)
{
    const struct reached_line *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->die < y->die ? -1 : x->die > y->die;
}

static bool add_touches(struct rp_footprint *f, const struct reached_set *s)
{
    f->line = malloc((s->count ? s->count : 1) * sizeof *f->line);
    if (!f->line)
        return false;
    for (uint64_t i = 0; i < s->size; i++)
        if (s->at[i].line) {
            const uint64_t line = s->at[i].line - 1;
            f->line[f->line_count++] = (struct reached_line){
                line >> DIE_BITS, (uint16_t)(line & (MOST_DIES - 1)), s->at[i].wrote};
        }
    qsort(f->line, f->line_count, sizeof *f->line, by_line);
    return true;
}

static uint32_t dies_of(const struct rp_arch *arch)
{
    const uint32_t dies = arch->xcc_count ? arch->xcc_count : 1;
    return dies < MOST_DIES ? dies : MOST_DIES;
}

struct rp_footprint *rp_footprint_of(const struct rp_arch *arch, uint64_t key,
                                     const struct rp_wave_record *r)
{
    const uint32_t dies = dies_of(arch);
    struct rp_footprint *f = calloc(1, sizeof *f);
    struct reached_set s = {0};
    double share = 0;
    bool fits = f && reached_grow(&s) && reached_add_groups(&s, r, 0, r->plan.count, dies);
    if (fits && r->plan.probes)
        share = share_of(&s, r, &fits);
    if (fits) {
        const double growth = growth_of(&s, r), of_die = (double)r->plan.group_count / dies;
        const double lines = is_sampled(r)
                                 ? (double)s.count + growth * (of_die - (double)r->plan.count)
                                 : (double)s.count / dies;
        f->key = key;
        f->complete = growth <= 0;
        f->times = times_of(r, dies);
        f->die_bytes = lines * RP_REC_LINE_BYTES;
        f->bytes = f->die_bytes * dies / (is_sampled(r) ? 1 + share * (dies - 1) : 1);
        fits = add_pages(f, &s, r) && (f->die_bytes > (double)arch->l2_bytes || add_touches(f, &s));
    }
    free(s.at);
    if (fits)
        return f;
    rp_footprint_free(f);
    return NULL;
}

/* ---- what is left in the caches ------------------------------------------------------------ */

static bool has_page(const struct rp_footprint *f, uint64_t page)
{
    uint64_t low = 0, high = f->run_count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (f->run[middle].end <= page)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->run_count && f->run[low].first <= page;
}

/* Returns how many of the latest dispatches a cache of so many bytes still has all of. */
static unsigned remembered(const struct rp_cache_history *h, double bytes, bool of_die)
{
    double sum = 0;
    unsigned count = 0;
    for (; count < h->count; count++) {
        sum += of_die ? h->dispatch[count]->die_bytes : h->dispatch[count]->bytes;
        if (sum > bytes)
            break;
    }
    return count;
}

/* Tests whether one of the latest dispatches touched a page. */
static bool touched(const struct rp_cache_history *h, unsigned dispatches, uint64_t page)
{
    for (unsigned i = 0; i < dispatches; i++)
        if (has_page(h->dispatch[i], page))
            return true;
    return false;
}

static bool warm_page(const struct rp_rec_warm *warm, uint64_t page)
{
    return touched(warm->history, warm->dispatches, page);
}

/* Lines of an L2 that another die has written since are gone. */
static bool written_elsewhere(const struct rp_cache_history *h, unsigned until,
                              const struct reached_line *t)
{
    for (unsigned i = 0; i <= until; i++) {
        const struct rp_footprint *f = h->dispatch[i];
        uint64_t low = 0, high = f->line_count;
        while (low < high) {
            const uint64_t middle = low + (high - low) / 2;
            if (f->line[middle].line < t->line)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < f->line_count && f->line[low].line == t->line; low++)
            if (f->line[low].wrote && f->line[low].die != t->die)
                return true;
    }
    return false;
}

/* Of a dispatch that goes through the same lines again and again, the sample is one time from the
 * middle: what earlier times have left in the L2 is there, and what they have written is not
 * written to memory once more. The first time is left out of account, so this holds only where
 * dispatches of which the L2 has everything touched nearly all pages before. */
static bool has_gone_round(const struct rp_footprint *own, const struct rp_cache_history *h,
                           unsigned in_l2)
{
    uint64_t pages = 0, cold = 0;
    if (!own || !own->complete || own->times < MANY_TIMES)
        return false;
    for (uint64_t i = 0; i < own->run_count; i++)
        for (uint64_t page = own->run[i].first; page < own->run[i].end; page++) {
            pages++;
            cold += !touched(h, in_l2, page);
        }
    return cold * HARDLY <= pages;
}

/* Of what earlier dispatches have left, lines that the dispatch itself left a moment ago are last.
 */
static int add_lines(const struct rp_cache_history *h, unsigned dispatches,
                     const struct rp_footprint *own, struct rp_rec_warm *warm)
{
    uint64_t count = own ? own->line_count : 0;
    for (unsigned i = 0; i < dispatches; i++)
        count += h->dispatch[i]->line_count;
    warm->line = malloc((count ? count : 1) * sizeof *warm->line);
    if (!warm->line)
        return -ENOMEM;
    for (unsigned i = 0; i < dispatches; i++)
        for (uint64_t k = 0; k < h->dispatch[i]->line_count; k++) {
            const struct reached_line *t = &h->dispatch[i]->line[k];
            if (!written_elsewhere(h, i, t))
                warm->line[warm->line_count++] =
                    (struct rp_rec_warm_line){.number = t->line, .die = t->die, .age = i + 1};
        }
    for (uint64_t k = 0; own && k < own->line_count; k++)
        warm->line[warm->line_count++] = (struct rp_rec_warm_line){
            .number = own->line[k].line, .die = own->line[k].die, .dirty = own->line[k].wrote};
    return 0;
}

int rp_cache_history_warm(const struct rp_cache_history *h, const struct rp_arch *arch,
                          const struct rp_footprint *own, struct rp_wave_record *record)
{
    if (!h || !h->count || record->warm || record->placed)
        return 0;
    const unsigned in_mall = remembered(h, (double)arch->mall_bytes, false);
    const unsigned in_l2 = remembered(h, (double)arch->l2_bytes, true);
    struct rp_rec_warm *warm = calloc(1, sizeof *warm);
    if (!warm)
        return -ENOMEM;
    warm->history = h;
    warm->dispatches = in_mall;
    warm->in_mall = warm_page;
    record->warm = warm;
    return add_lines(h, in_l2, has_gone_round(own, h, in_l2) ? own : NULL, warm);
}

/* ---- the history --------------------------------------------------------------------------- */

static unsigned place_of(const struct rp_cache_history *h, uint64_t key)
{
    unsigned i = 0;
    while (i < h->count && h->dispatch[i]->key != key)
        i++;
    return i;
}

const struct rp_footprint *rp_cache_history_find(const struct rp_cache_history *h, uint64_t key)
{
    const unsigned at = h ? place_of(h, key) : 0;
    return h && at < h->count ? h->dispatch[at] : NULL;
}

/* Drops dispatches of which no cache remembers anything. */
static void drop_old(struct rp_cache_history *h, const struct rp_arch *arch)
{
    const double most = (double)arch->mall_bytes + dies_of(arch) * (double)arch->l2_bytes;
    double sum = 0;
    for (unsigned i = 0; i < h->count; i++) {
        if (sum > most) {
            forget(h, i);
            return;
        }
        sum += h->dispatch[i]->bytes;
    }
}

void rp_cache_history_add(struct rp_cache_history *h, const struct rp_arch *arch, uint64_t key,
                          struct rp_footprint *f)
{
    if (!h)
        return;
    unsigned at = place_of(h, key);
    if (at < h->count) {
        rp_footprint_free(f);
        f = h->dispatch[at];
    }
    if (!f) {
        forget(h, 0);
        return;
    }
    if (at == MOST_DISPATCHES) {
        forget(h, MOST_DISPATCHES - 1);
        at = h->count;
    }
    h->count += at == h->count;
    memmove(h->dispatch + 1, h->dispatch, at * sizeof *h->dispatch);
    h->dispatch[0] = f;
    drop_old(h, arch);
}
