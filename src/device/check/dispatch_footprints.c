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

enum use { WRITES, UPDATES, READS, USES };

struct footprint_page {
    uint64_t number;
    uint64_t used[USES][WORDS];       /**< a bit for each dword */
    uint8_t (*part)[RP_SHADOW_CELLS]; /**< of each use its bytes; NULL: of each dword, all */
    struct rp_past by[USES];          /**< the first access of each kind */
};

/* A place that waves synchronise at: its address in dwords, and whether they published something
 * there, looked for what others did, and waited in a loop. */
struct meeting {
    uint64_t address : 61, published : 1, taken : 1, waited : 1;
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
    const uint64_t bit = 1ull << cell % 64;
    const bool again = p->used[use][cell / 64] & bit;
    p->used[use][cell / 64] |= bit;
    if (!p->by[use].wave)
        p->by[use] = *t;
    if (t->mask != 15 && !p->part && (p->part = malloc(USES * sizeof *p->part)))
        memset(p->part, 15, USES * sizeof *p->part);
    if (p->part)
        p->part[use][cell] = (uint8_t)(t->mask | (again ? p->part[use][cell] : 0));
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
            if (!(cells[i].read[r].kind & RP_PAST_ATOMIC))
                note(p, READS, i, &cells[i].read[r]);
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
    f->syncs[f->sync_count++] = (struct meeting){.address = sync->address,
                                                 .published = sync->told != NULL,
                                                 .taken = sync->taken,
                                                 .waited = sync->waited};
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

static unsigned bytes_of(const struct footprint_page *p, enum use use, unsigned cell)
{
    return p->part ? p->part[use][cell] : 15;
}

/* Reports the first dword of two kinds of uses of which both have a byte. */
static void compare_uses(const struct pair *pair, const struct footprint_page *a, enum use of_a,
                         const struct footprint_page *b, enum use of_b)
{
    for (unsigned i = 0; i < WORDS; i++)
        for (uint64_t both = a->used[of_a][i] & b->used[of_b][i]; both; both &= both - 1) {
            const unsigned cell = 64 * i + (unsigned)__builtin_ctzll(both);
            if (!(bytes_of(a, of_a, cell) & bytes_of(b, of_b, cell)))
                continue;
            report(pair, a, of_a, b, of_b, cell);
            return;
        }
}

static void compare_pages(const struct pair *pair, const struct footprint_page *a,
                          const struct footprint_page *b)
{
    for (unsigned of_a = 0; of_a < USES; of_a++)
        for (unsigned of_b = 0; of_b < USES; of_b++) {
            const bool writes = of_a != READS || of_b != READS;
            if (writes && !(of_a == UPDATES && of_b == UPDATES))
                compare_uses(pair, a, (enum use)of_a, b, (enum use)of_b);
        }
}

static bool stores(const struct footprint *f, uint64_t dword)
{
    const struct footprint_page wanted = {.number = 4 * dword / RP_SHADOW_PAGE};
    const struct footprint_page *p =
        f->count ? bsearch(&wanted, f->pages, f->count, sizeof *f->pages, by_number) : NULL;
    const unsigned cell = dword % RP_SHADOW_CELLS;
    return p && (p->used[WRITES][cell / 64] | p->used[UPDATES][cell / 64]) >> cell % 64 & 1;
}

/* Tests whether one waits in a loop for what the other stores, be it without an atomic, as messages
 * of data and flag are. */
static bool waits_for(const struct footprint *a, const struct footprint *b)
{
    for (size_t i = 0; i < a->sync_count; i++)
        if (a->syncs[i].waited && stores(b, a->syncs[i].address))
            return true;
    return false;
}

/* Tests whether one looks by an atomic for what the other stores by one. */
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

static void compare(const struct pair *pair)
{
    const struct footprint *a = pair->before, *b = pair->after;
    if (meet(a, b) || waits_for(a, b) || waits_for(b, a))
        return;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const uint64_t left = a->pages[i].number, right = b->pages[j].number;
        if (left == right)
            compare_pages(pair, &a->pages[i], &b->pages[j]);
        i += left <= right;
        j += right <= left;
    }
}

void rp_footprint_add(struct rp_check_dispatch *c, const struct rp_kernel *kernel, uint64_t queue,
                      uint64_t start, uint64_t end)
{
    struct footprint *f = &kept.at[kept.next++ % MOST_KEPT];
    for (size_t i = 0; i < f->count; i++)
        free(f->pages[i].part);
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
