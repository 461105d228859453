/*
 * Dispatches of different queues that nothing orders: what each has accessed, page by page, is kept
 * for a while, and compared with the next ones.
 *
 * Ordered are dispatches of which one began, in the device's own time, when the other had ended:
 * that time goes on where somebody waits, a queue, a barrier packet or the host. So two that
 * overlap in it are surely not ordered as wholes; two that do not may be not ordered either. Those
 * that hand each other something while they run, as collectives on several GPUs do, are left out:
 * nobody has followed in which order that was.
 */
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "device/exec/executor.h"

enum { MOST_KEPT = 16, WORDS = RP_SHADOW_CELLS / 64, MOST_PAGES = 1 << 14, MOST_SYNCS = 1 << 16 };

/* What a dispatch has done to a dword. Polls are reads too. */
enum use { WRITES, UPDATES, READS, POLLS, USES };

struct footprint_page {
    uint64_t number;
    uint64_t used[USES][WORDS]; /**< a bit for each dword */
    struct rp_past by[USES];    /**< the first access of each kind */
};

/* A place that waves synchronise at: its address in dwords, and whether they published something
 * there and looked for what others did. */
struct meeting {
    uint64_t address : 62, published : 1, taken : 1;
};

struct footprint {
    uint64_t queue, start, end;
    uint32_t groups[3];
    struct footprint_page *pages; /**< in the order of their numbers */
    size_t count, room;
    struct meeting *syncs; /**< in the order of their addresses */
    size_t sync_count, sync_room;
};

/* Of the process, under the lock of watch_waves.c. */
static struct {
    struct footprint at[MOST_KEPT]; /**< a ring */
    unsigned next;
} kept;

static void note(struct footprint_page *p, enum use use, unsigned cell, const struct rp_past *t)
{
    if (!t->wave)
        return;
    p->used[use][cell / 64] |= 1ull << cell % 64;
    if (!p->by[use].wave)
        p->by[use] = *t;
}

/* Reads of an atomic's kind are ordered with atomics. */
static void note_page(void *data, uint64_t number, const struct rp_shadow *cells)
{
    struct footprint *f = data;
    if (f->count == f->room) {
        const size_t room = f->room ? 2 * f->room : 64;
        struct footprint_page *grown =
            f->count < MOST_PAGES ? realloc(f->pages, room * sizeof *grown) : NULL;
        if (!grown)
            return;
        f->pages = grown;
        f->room = room;
    }
    struct footprint_page *p = &f->pages[f->count++];
    memset(p, 0, sizeof *p);
    p->number = number;
    for (unsigned i = 0; i < RP_SHADOW_CELLS; i++) {
        note(p, WRITES, i, &cells[i].write);
        note(p, UPDATES, i, &cells[i].update);
        for (unsigned r = 0; r < 2; r++)
            if (!(cells[i].read[r].kind & RP_PAST_ATOMIC)) {
                note(p, READS, i, &cells[i].read[r]);
                if (cells[i].read[r].kind & RP_PAST_POLLS)
                    note(p, POLLS, i, &cells[i].read[r]);
            }
    }
}

static void note_sync(void *data, const struct rp_sync *sync)
{
    struct footprint *f = data;
    if (f->sync_count == f->sync_room) {
        const size_t room = f->sync_room ? 2 * f->sync_room : 64;
        struct meeting *grown =
            f->sync_count < MOST_SYNCS ? realloc(f->syncs, room * sizeof *grown) : NULL;
        if (!grown)
            return;
        f->syncs = grown;
        f->sync_room = room;
    }
    f->syncs[f->sync_count++] = (struct meeting){
        .address = sync->address, .published = sync->told != NULL, .taken = sync->taken};
}

static int by_address(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static int by_number(const void *a, const void *b)
{
    const struct footprint_page *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* ---- two dispatches ---- */

struct pair {
    const struct rp_check_dispatch *now;
    const struct footprint *before, *after;
};

static void report(const struct pair *pair, const struct footprint_page *a, enum use of_a,
                   const struct footprint_page *b, enum use of_b, unsigned cell)
{
    rp_shadow_report_between(pair->now, &a->by[of_a], pair->before->groups, &b->by[of_b],
                             b->number * RP_SHADOW_PAGE + 4ull * cell);
}

/* Reports the first dword of two kinds of uses. */
static void compare_uses(const struct pair *pair, const struct footprint_page *a, enum use of_a,
                         const struct footprint_page *b, enum use of_b)
{
    for (unsigned i = 0; i < WORDS; i++) {
        const uint64_t both = a->used[of_a][i] & b->used[of_b][i];
        if (!both)
            continue;
        report(pair, a, of_a, b, of_b, 64 * i + (unsigned)__builtin_ctzll(both));
        return;
    }
}

static bool compare_pages(const struct pair *pair, const struct footprint_page *a,
                          const struct footprint_page *b)
{
    for (unsigned of_a = 0; of_a < POLLS; of_a++)
        for (unsigned of_b = 0; of_b < POLLS; of_b++) {
            const bool writes = of_a != READS || of_b != READS;
            if (writes && !(of_a == UPDATES && of_b == UPDATES))
                compare_uses(pair, a, (enum use)of_a, b, (enum use)of_b);
        }
    return false;
}

/* Tests whether one has waited in this page for what the other stored, be it without an atomic, as
 * messages of data and flag are. */
static bool waits_for(const struct footprint_page *a, const struct footprint_page *b)
{
    for (unsigned i = 0; i < WORDS; i++)
        if (a->used[POLLS][i] & (b->used[WRITES][i] | b->used[UPDATES][i]))
            return true;
    return false;
}

static bool page_talks(const struct pair *pair, const struct footprint_page *a,
                       const struct footprint_page *b)
{
    (void)pair;
    return waits_for(a, b) || waits_for(b, a);
}

/* Tests whether one has looked for what the other published. */
static bool meet(const struct footprint *a, const struct footprint *b)
{
    for (size_t i = 0, j = 0; i < a->sync_count && j < b->sync_count;) {
        const struct meeting *x = &a->syncs[i], *y = &b->syncs[j];
        if (x->address == y->address && ((x->published && y->taken) || (x->taken && y->published)))
            return true;
        i += x->address <= y->address;
        j += y->address <= x->address;
    }
    return false;
}

/* Goes through the pages that both have accessed until @p visit returns true, and returns whether
 * it has. */
static bool visit_common(const struct pair *pair,
                         bool (*visit)(const struct pair *, const struct footprint_page *,
                                       const struct footprint_page *))
{
    const struct footprint *a = pair->before, *b = pair->after;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const uint64_t left = a->pages[i].number, right = b->pages[j].number;
        if (left == right && visit(pair, &a->pages[i], &b->pages[j]))
            return true;
        i += left <= right;
        j += right <= left;
    }
    return false;
}

static void compare(const struct pair *pair)
{
    if (!meet(pair->before, pair->after) && !visit_common(pair, page_talks))
        visit_common(pair, compare_pages);
}

void rp_footprint_add(struct rp_check_dispatch *c, const struct rp_kernel *kernel, uint64_t queue,
                      uint64_t start, uint64_t end)
{
    struct footprint *f = &kept.at[kept.next++ % MOST_KEPT];
    f->queue = queue;
    f->start = start;
    f->end = end;
    f->count = f->sync_count = 0;
    memcpy(f->groups, kernel->groups, sizeof f->groups);
    rp_shadow_visit(c, note_page, f);
    rp_shadow_visit_syncs(c, note_sync, f);
    if (f->count)
        qsort(f->pages, f->count, sizeof *f->pages, by_number);
    if (f->sync_count)
        qsort(f->syncs, f->sync_count, sizeof *f->syncs, by_address);
    for (unsigned i = 0; i < MOST_KEPT; i++) {
        const struct footprint *other = &kept.at[i];
        const struct pair pair = {.now = c, .before = other, .after = f};
        if (other->queue != queue && other->start < end && start < other->end)
            compare(&pair);
    }
}
