/*
 * What has been accessed, dword by dword: accesses of different waves to the same bytes, one of
 * which writes, must be ordered (access_history.c) or be atomics.
 *
 * A dword keeps its latest write and two reads since. Reads that have happened before a later one
 * need not be kept; of those that are left, two by different waves are kept, and if there are any,
 * of different workgroups: a write that is ordered with these two and with no third one is not
 * found.
 */
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "device/exec/executor.h"
#include "device/isa/lane.h"
#include "device/isa/mem_access.h"

/* ---- a dispatch ---- */

enum { PAGE_BUCKETS = 1 << 12, SYNC_BUCKETS = 1 << 12, LATEST_PAGES = 64 };

struct page {
    uint64_t number;
    struct page *next;
    struct rp_shadow cell[RP_SHADOW_CELLS];
};

struct sync_entry {
    struct rp_sync sync;
    struct sync_entry *next;
};

struct rp_check_dispatch {
    const struct rp_dispatch *dispatch;
    uint64_t number; /**< which one of the process */
    struct page *latest[LATEST_PAGES];
    struct page *pages[PAGE_BUCKETS];
    struct sync_entry *syncs[SYNC_BUCKETS];
};

/* Pages and groups are used again: this is the process's, under the lock of watch_waves.c. */
static struct {
    struct page *pages;
    struct rp_check_group *groups;
    uint64_t dispatches;
} spare;

struct rp_check_dispatch *rp_check_dispatch_new(struct rp_dispatch *d)
{
    struct rp_check_dispatch *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->dispatch = d;
    c->number = ++spare.dispatches;
    return c;
}

const struct rp_dispatch *rp_check_dispatch_of(const struct rp_check_group *g, uint64_t *ret_number)
{
    *ret_number = g->dispatch->number;
    return g->dispatch->dispatch;
}

static void free_syncs(struct rp_check_dispatch *c)
{
    for (unsigned b = 0; b < SYNC_BUCKETS; b++)
        for (struct sync_entry *s = c->syncs[b], *next; s; s = next) {
            next = s->next;
            rp_known_drop(s->sync.told);
            free(s);
        }
}

void rp_check_dispatch_free(struct rp_check_dispatch *c)
{
    if (!c)
        return;
    for (unsigned b = 0; b < PAGE_BUCKETS; b++)
        for (struct page *p = c->pages[b], *next; p; p = next) {
            next = p->next;
            p->next = spare.pages;
            spare.pages = p;
        }
    free_syncs(c);
    free(c);
}

static unsigned bucket_of(uint64_t number)
{
    return (unsigned)(number * 0x9e3779b97f4a7c15u >> 52);
}

static struct page *page_slow(struct rp_check_dispatch *c, uint64_t number)
{
    struct page **bucket = &c->pages[bucket_of(number)];
    struct page *p = *bucket;
    while (p && p->number != number)
        p = p->next;
    if (!p) {
        p = spare.pages ? spare.pages : malloc(sizeof *p);
        if (!p)
            return NULL;
        if (p == spare.pages)
            spare.pages = p->next;
        memset(p, 0, sizeof *p);
        p->number = number;
        p->next = *bucket;
        *bucket = p;
    }
    return c->latest[number % LATEST_PAGES] = p;
}

/* Returns NULL where memory has ended: then the access is not compared. */
static inline struct page *page_of(struct rp_check_dispatch *c, uint64_t number)
{
    struct page *p = c->latest[number % LATEST_PAGES];
    return p && p->number == number ? p : page_slow(c, number);
}

static struct rp_sync *sync_find(struct rp_check_dispatch *c, uint64_t dword, bool make)
{
    struct sync_entry **bucket = &c->syncs[bucket_of(dword)], *s = *bucket;
    while (s && s->sync.address != dword)
        s = s->next;
    if (!s && make && (s = calloc(1, sizeof *s))) {
        s->sync.address = dword;
        s->next = *bucket;
        *bucket = s;
    }
    return s ? &s->sync : NULL;
}

/* No dword has such a number. */
enum { GRID_BARRIER_BIT = 63 };

struct rp_sync *rp_check_grid_barrier(struct rp_check_dispatch *c, unsigned resource,
                                      uint32_t phase)
{
    return sync_find(c, 1ull << GRID_BARRIER_BIT | (uint64_t)phase << 8 | resource, true);
}

/* ---- a workgroup ---- */

static struct rp_check_group *group_new(uint32_t cells)
{
    struct rp_check_group **link = &spare.groups;
    while (*link && (*link)->cells < cells)
        link = &(*link)->next;
    struct rp_check_group *g = *link;
    if (g) {
        *link = g->next;
        return g;
    }
    g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->cells = cells;
    g->lds = malloc((cells ? cells : 1) * sizeof *g->lds);
    g->lds_sync = calloc(cells ? cells : 1, sizeof *g->lds_sync);
    if (g->lds && g->lds_sync)
        return g;
    free(g->lds);
    free(g->lds_sync);
    free(g);
    return NULL;
}

struct rp_check_group *rp_check_group_new(struct rp_check_dispatch *c, struct rp_group *group)
{
    const uint32_t cells = (group->lds_bytes + 3) / 4;
    struct rp_check_group *g = group_new(cells);
    if (!g)
        return NULL;
    memset(g->lds, 0, cells * sizeof *g->lds);
    rp_order_group_begin(&g->order, (uint32_t)group->linear_id, c->dispatch->kernel.group_count,
                         group->wave_count);
    g->dispatch = c;
    g->group = group;
    return g;
}

void rp_check_group_free(struct rp_check_group *g)
{
    if (!g)
        return;
    rp_order_group_end(&g->order);
    for (uint32_t i = 0; i < g->cells; i++)
        if (g->lds_sync[i]) {
            free(g->lds_sync[i]);
            g->lds_sync[i] = NULL;
        }
    g->next = spare.groups;
    spare.groups = g;
}

/* ---- order ---- */

static inline unsigned wave_of(uint32_t wave)
{
    return (wave - 1) % RP_CHECK_WAVES;
}

static inline uint32_t group_of(uint32_t wave)
{
    return (wave - 1) / RP_CHECK_WAVES;
}

static bool happened_elsewhere(const struct rp_watch *a, const struct rp_past *t)
{
    const bool reads = !(a->kind & RP_PAST_WRITE);
    const bool past_cache = a->kind & RP_PAST_ATOMIC;
    const bool needs_fresh = reads && !past_cache && !a->through_pointer;
    const struct rp_known *k =
        rp_known_find(needs_fresh ? a->order->fresh : a->order->met, group_of(t->wave));
    if (!k)
        return false;
    const unsigned wave = wave_of(t->wave);
    const bool visible = !(t->kind & RP_PAST_WRITE) || t->kind & RP_PAST_ATOMIC;
    return k->released[wave] >= t->number || (visible && k->done[wave] >= t->number);
}

/* Tests whether the access before has happened before this one. Those of one wave are in order. */
static inline bool happened(const struct rp_watch *a, const struct rp_past *t, uint32_t me)
{
    if (t->wave == me)
        return true;
    const struct rp_known *k = &a->order->known;
    if (a->lds)
        return (t->kind & RP_PAST_BY_DMA ? k->done : k->lds)[wave_of(t->wave)] >= t->number;
    if ((t->wave - 1) / RP_CHECK_WAVES == (me - 1) / RP_CHECK_WAVES)
        return k->issued[wave_of(t->wave)] >= t->number;
    return happened_elsewhere(a, t);
}

/* ---- conflicts ---- */

static bool is_atomic(const struct rp_watch *a, const struct rp_past *t, uint8_t kind)
{
    if (kind & (RP_PAST_ATOMIC | RP_PAST_BOTH))
        return true;
    const bool near = group_of(t->wave) == a->group->order.index;
    return kind & RP_PAST_LOCAL && near;
}

/* A plain access may be one half of an atomic one, where instructions do not tell: a load that
 * waits for what another wave writes, or begins a loop of compare and swap; on gfx90a, a store to
 * what others access by atomics.
 */
static bool counts_as_atomic(struct rp_watch *a, const struct rp_past *t, uint8_t kind,
                             uint32_t site, uint64_t address)
{
    if (is_atomic(a, t, kind))
        return true;
    if (kind & RP_PAST_WRITE) {
        const struct rp_sync *sync =
            kind & RP_PAST_MAYBE ? sync_find(a->group->dispatch, address / 4, false) : NULL;
        return sync && sync->atomic;
    }
    return rp_site_polls(site, a->wave) || rp_site_begins_atomic(site, a->wave);
}

static struct rp_finding_side side_of(const struct rp_past *t)
{
    return (struct rp_finding_side){.site = t->site,
                                    .group = group_of(t->wave),
                                    .wave = wave_of(t->wave),
                                    .lane = t->lane,
                                    .kind = t->kind};
}

static const char *what_lacks(const struct rp_watch *a, const struct rp_past *t)
{
    const struct rp_known *k = &a->order->known;
    const unsigned wave = wave_of(t->wave);
    const bool near = group_of(t->wave) == a->group->order.index;
    if (near && a->lds && k->issued[wave] >= t->number)
        return t->kind & RP_PAST_BY_DMA
                   ? "the load to LDS was not waited for (s_waitcnt vmcnt) before the barrier"
                   : "it was not waited for (s_waitcnt lgkmcnt) before the barrier";
    if (near)
        return "no barrier between them";
    const struct rp_known *met = rp_known_find(a->order->met, group_of(t->wave));
    if (!met)
        return "workgroups are not ordered";
    if (met->done[wave] < t->number)
        return "it was not complete (no fence) when its workgroup released it";
    if (met->released[wave] < t->number && t->kind & RP_PAST_WRITE && !(t->kind & RP_PAST_ATOMIC))
        return "its fence was not of the agent's scope (no buffer_wbl2 sc1)";
    return "the second one is not behind an acquire (no buffer_inv sc1)";
}

static struct rp_finding_side own_side(const struct rp_watch *a, unsigned lane)
{
    return (struct rp_finding_side){.site = a->site,
                                    .group = a->group->order.index,
                                    .wave = (uint32_t)(a->order - a->group->order.wave),
                                    .lane = lane,
                                    .kind = a->kind};
}

static struct rp_finding finding_of(const struct rp_watch *a, enum rp_finding_kind kind,
                                    uint64_t address, const char *why)
{
    struct rp_finding f = {.dispatch = a->group->dispatch->dispatch,
                           .dispatch_number = a->group->dispatch->number,
                           .kind = kind,
                           .lds = a->lds,
                           .address = address,
                           .bytes = a->bytes,
                           .why = why};
    if (a->lds)
        f.buffer.bytes = a->group->dispatch->dispatch->launch.group_segment_bytes;
    else if (!rp_allocation_nearest(address, a->bytes, &f.buffer))
        f.buffer = (struct rp_allocation){0};
    return f;
}

static void report_alone(const struct rp_watch *a, enum rp_finding_kind kind, unsigned lane,
                         uint64_t address, const char *why)
{
    struct rp_finding f = finding_of(a, kind, address, why);
    f.alone = true;
    f.first = own_side(a, lane);
    rp_finding_add(&f);
}

static void report(struct rp_watch *a, const struct rp_past *t, enum rp_finding_kind kind,
                   unsigned lane, uint64_t address, const char *why)
{
    struct rp_finding f = finding_of(a, kind, address, why);
    f.first = side_of(t);
    f.second = own_side(a, lane);
    rp_finding_add(&f);
}

/* Returns what the lane is about to store into the dword at @p address: as many bits as @p mask. */
static uint32_t stored(const struct rp_watch *a, unsigned lane, uint64_t address)
{
    const uint64_t va = a->va[lane], base = va & ~3ull;
    const uint32_t word = (uint32_t)((address - base) / 4), shift = 8 * (uint32_t)(va & 3);
    const unsigned words = (a->bytes + 3u) / 4;
    uint64_t low = word < words ? a->value[word * RP_LANES + lane] >> a->value_shift : 0;
    if (!shift)
        return (uint32_t)low;
    const uint64_t before = word ? a->value[(word - 1) * RP_LANES + lane] : 0;
    return (uint32_t)(low << shift | before >> (32 - shift));
}

/* Which bytes of a dword an access has. */
static inline unsigned mask_of(uint64_t va, unsigned bytes, uint64_t dword)
{
    if (va >= dword + 4 || va + bytes <= dword)
        return 0;
    const uint64_t begin = va > dword ? va - dword : 0;
    const uint64_t end = va + bytes - dword < 4 ? va + bytes - dword : 4;
    return (15u << begin) & (15u >> (4 - end));
}

static uint32_t bytes_of_mask(unsigned mask)
{
    return (mask & 1 ? 0xffu : 0) | (mask & 2 ? 0xff00u : 0) | (mask & 4 ? 0xff0000u : 0) |
           (mask & 8 ? 0xff000000u : 0);
}

/* Tests whether the store leaves the dword as it is. */
static bool is_same_value(struct rp_watch *a, unsigned lane, uint64_t address, unsigned mask)
{
    const uint8_t *p = a->lds ? (const uint8_t *)a->wave->group->lds + address
                              : rp_mem_find(rp_mem_of(a->wave), address, 4, 0);
    uint32_t now;
    if (!a->value || !p)
        return false;
    memcpy(&now, p, 4);
    return !((now ^ stored(a, lane, address)) & bytes_of_mask(mask));
}

/* Two lanes of one store write the same bytes. */
static void lanes_collide(struct rp_watch *a, struct rp_past *t, unsigned lane, uint64_t address,
                          unsigned mask)
{
    const unsigned both = mask & mask_of(a->va[t->lane], a->bytes, address);
    if (!a->value || !both ||
        !((stored(a, t->lane, address) ^ stored(a, lane, address)) & bytes_of_mask(both)))
        return;
    report(a, t, RP_FINDING_LANES, lane, address, "lanes of one instruction are not ordered");
}

/* A wave loads with an atomic and stores with another: what others store in between is lost. */
static void atomics_conflict(struct rp_watch *a, const struct rp_shadow *c, unsigned lane,
                             unsigned mask, uint64_t address, uint32_t me)
{
    const struct rp_past *t = &c->update;
    if (!(a->kind & RP_PAST_WRITE) || a->kind & RP_PAST_BOTH || a->lds ||
        is_same_value(a, lane, address, mask))
        return;
    for (unsigned i = 0; i < 2; i++)
        if (c->read[i].wave == me && c->read[i].lane == lane &&
            !rp_site_polls(c->read[i].site, a->wave))
            report(a, t, RP_FINDING_LOST, lane, address, "a load and a store are no atomic update");
}

/* Waves of a workgroup take turns, so that a load sees what the other one has stored: that alone
 * has ordered them. */
static void lucky_reads(struct rp_watch *a, const struct rp_shadow *c, unsigned lane, unsigned mask,
                        uint64_t address, uint32_t me)
{
    for (unsigned i = 0; i < 2; i++)
        if (c->read[i].lucky && c->read[i].wave == me && c->read[i].lane == lane &&
            c->update.wave != me && !rp_site_polls(c->read[i].site, a->wave) &&
            !is_same_value(a, lane, address, mask))
            report(a, &c->update, RP_FINDING_LOST, lane, address,
                   "a load and a store are no atomic update");
}

/* The access conflicts with @p t, which has not happened before. */
static void conflict(struct rp_watch *a, struct rp_shadow *c, struct rp_past *t,
                     const struct rp_past *now, uint64_t address)
{
    const unsigned lane = now->lane;
    const uint32_t me = now->wave;
    const bool writes = a->kind & RP_PAST_WRITE;
    if (is_atomic(a, t, a->kind) && is_atomic(a, t, t->kind)) {
        if (t == &c->update)
            atomics_conflict(a, c, lane, now->mask, address, me);
        return;
    }
    if (counts_as_atomic(a, t, a->kind, a->site, address) &&
        counts_as_atomic(a, t, t->kind, t->site, address))
        return;
    const bool plain_writes =
        writes && t->kind & RP_PAST_WRITE && !(a->kind & RP_PAST_BOTH) && !(t->kind & RP_PAST_BOTH);
    if (!writes && rp_site_polls(a->site, a->wave)) {
        if (group_of(t->wave) == a->group->order.index)
            rp_order_acquire_from(a->order, wave_of(t->wave), t->number);
        return;
    }
    if (writes && !(t->kind & RP_PAST_WRITE) && rp_site_polls(t->site, a->wave))
        return;
    if (plain_writes && is_same_value(a, lane, address, now->mask)) {
        t->same = 1;
        report(a, t, RP_FINDING_SAME_VALUE, lane, address, what_lacks(a, t));
        return;
    }
    t->same = 0;
    report(a, t, RP_FINDING_RACE, lane, address, what_lacks(a, t));
}

/* ---- between dispatches ---- */

void rp_shadow_visit(const struct rp_check_dispatch *c,
                     void (*visit)(void *data, uint64_t page, const struct rp_shadow *cells),
                     void *data)
{
    for (unsigned b = 0; b < PAGE_BUCKETS; b++)
        for (const struct page *p = c->pages[b]; p; p = p->next)
            visit(data, p->number, p->cell);
}

void rp_shadow_visit_syncs(const struct rp_check_dispatch *c,
                           void (*visit)(void *data, const struct rp_sync *sync), void *data)
{
    for (unsigned b = 0; b < SYNC_BUCKETS; b++)
        for (const struct sync_entry *s = c->syncs[b]; s; s = s->next)
            if (!(s->sync.address >> GRID_BARRIER_BIT))
                visit(data, &s->sync);
}

void rp_shadow_report_between(const struct rp_check_dispatch *c, const struct rp_past *first,
                              const uint32_t first_groups[3], const struct rp_past *second,
                              uint64_t address)
{
    struct rp_finding f = {.dispatch = c->dispatch,
                           .dispatch_number = c->number,
                           .kind = RP_FINDING_RACE,
                           .address = address,
                           .bytes = 4,
                           .first_groups = first_groups,
                           .first = side_of(first),
                           .second = side_of(second),
                           .why = "nothing orders the dispatches, which are of different queues"};
    if (!rp_allocation_nearest(address, 4, &f.buffer))
        f.buffer = (struct rp_allocation){0};
    rp_finding_add(&f);
}

/* ---- one dword ---- */

/* Lanes of one instruction access parts of the dword. */
static inline void replace(struct rp_past *t, const struct rp_past *now)
{
    const unsigned more = t->wave == now->wave && t->number == now->number ? t->mask : 0;
    *t = *now;
    t->mask |= more & 15;
}

static inline void keep_read(const struct rp_watch *a, struct rp_shadow *c,
                             const struct rp_past *now)
{
    struct rp_past *r = c->read;
    if (r[0].wave == now->wave || !r[0].wave)
        replace(&r[0], now);
    else if (r[1].wave == now->wave)
        replace(&r[1], now);
    else if (happened(a, &r[0], now->wave))
        r[0] = *now;
    else if (!r[1].wave || happened(a, &r[1], now->wave) ||
             (group_of(r[0].wave) == group_of(r[1].wave) &&
              group_of(r[0].wave) != group_of(now->wave)))
        r[1] = *now;
}

static inline void meet(struct rp_watch *a, struct rp_shadow *c, struct rp_past *t,
                        const struct rp_past *now, uint64_t address)
{
    if (t->wave && t->mask & now->mask && !happened(a, t, now->wave))
        conflict(a, c, t, now, address);
}

static inline void read_dword(struct rp_watch *a, struct rp_shadow *c, const struct rp_past *now,
                              uint64_t address)
{
    meet(a, c, &c->write, now, address);
    if (c->update.wave)
        meet(a, c, &c->update, now, address);
    keep_read(a, c, now);
}

static bool is_plain(const struct rp_past *now)
{
    return !(now->kind & (RP_PAST_ATOMIC | RP_PAST_BOTH));
}

static inline void write_dword(struct rp_watch *a, struct rp_shadow *c, const struct rp_past *now,
                               uint64_t address)
{
    struct rp_past *t = &c->write;
    if (t->number == now->number && t->wave == now->wave && t->mask & now->mask && is_plain(now))
        lanes_collide(a, t, now->lane, address, now->mask);
    meet(a, c, t, now, address);
    if (c->update.wave)
        meet(a, c, &c->update, now, address);
    if (c->update.wave && (now->kind & (RP_PAST_ATOMIC | RP_PAST_BOTH)) == RP_PAST_ATOMIC)
        lucky_reads(a, c, now->lane, now->mask, address, now->wave);
    for (unsigned i = 0; i < 2; i++)
        if (c->read[i].wave)
            meet(a, c, &c->read[i], now, address);
    /* Of waves that store the same, unordered, the first one stands for all. */
    if (t->same && t->wave != now->wave && !happened(a, t, now->wave))
        return;
    c->read[0].wave = c->read[1].wave = 0;
    if (is_plain(now)) {
        replace(t, now);
        c->update.wave = 0;
    } else {
        c->update = *now;
    }
}

/* ---- synchronisation ---- */

/* A flag is stored by few lanes. */
enum { FLAG_LANES = 4 };

static bool synchronises(const struct rp_watch *a)
{
    return a->kind & (RP_PAST_ATOMIC | RP_PAST_LOCAL | RP_PAST_BOTH) ||
           (a->kind & RP_PAST_MAYBE && rp_lane_count(a->lanes) <= FLAG_LANES);
}

static bool takes_over(const struct rp_watch *a)
{
    return !(a->kind & RP_PAST_WRITE) ||
           (a->kind & RP_PAST_BOTH && a->in->dst.kind != RP_OPND_NONE);
}

static void sync_memory(struct rp_watch *a, uint64_t address)
{
    struct rp_sync *sync = sync_find(a->group->dispatch, address / 4, true);
    if (!sync)
        return;
    sync->atomic |= !(a->kind & RP_PAST_MAYBE);
    if (takes_over(a)) {
        /* A counter that both draw from orders nothing: who waits for another only looks, or
         * compares and swaps, as for a lock. */
        sync->taken |= !(a->kind & RP_PAST_BOTH) ||
                       rp_op_rows[a->in->op].access == RP_ACCESS_CMPSWAP ||
                       rp_site_polls(a->site, a->wave);
        rp_order_acquire(&a->group->order, a->order, sync);
    }
    if (a->kind & RP_PAST_WRITE)
        rp_order_publish(&a->group->order, a->order, sync);
}

/* Remembers which dwords a load waits for, in whatever way others store them. */
static void note_wait(const struct rp_watch *a, uint64_t va)
{
    for (uint64_t dword = va / 4; dword <= (va + a->bytes - 1) / 4; dword++) {
        struct rp_sync *sync = sync_find(a->group->dispatch, dword, true);
        if (sync)
            sync->waited = true;
    }
}

/* Flat instructions tell what is atomic in LDS as well; those of LDS tell it of updates alone. */
static void sync_lds(struct rp_watch *a, uint32_t cell)
{
    struct rp_known **place = &a->group->lds_sync[cell];
    if (!*place && !(*place = calloc(1, sizeof **place)))
        return;
    if (takes_over(a))
        rp_order_acquire_lds(a->order, *place);
    if (a->kind & RP_PAST_WRITE)
        rp_order_publish_lds(&a->group->order, a->order, *place);
}

/* ---- one access ---- */

static inline void one_dword(struct rp_watch *a, struct rp_shadow *c, struct rp_past *now,
                             uint64_t address)
{
    if (a->kind & RP_PAST_WRITE)
        write_dword(a, c, now, address);
    else
        read_dword(a, c, now, address);
}

static struct rp_past past_of(const struct rp_watch *a)
{
    return (struct rp_past){
        .wave = a->group->order.index * RP_CHECK_WAVES +
                (uint32_t)(a->order - a->group->order.wave) + 1,
        .number = a->number,
        .site = a->site & 0xfffff,
        .kind = a->kind,
    };
}

/* ---- bounds and unwritten memory ---- */

static bool checks(unsigned what)
{
    return rp_check_what() & what;
}

static bool reads(const struct rp_watch *a)
{
    return !(a->kind & RP_PAST_WRITE) || a->kind & RP_PAST_BOTH;
}

static bool is_inside(const struct rp_allocation *m, uint64_t va, unsigned bytes)
{
    return va >= m->begin && va - m->begin + bytes <= m->bytes;
}

static void report_outside(const struct rp_watch *a, unsigned lane, const char *why)
{
    report_alone(a, RP_FINDING_BOUNDS, lane, a->va[lane], why);
}

/* Memory that is near no allocation is not the program's: arguments, code, the runtime's own. What
 * is not even mapped will fault, which may be the end of the program. */
static void check_far(const struct rp_watch *a, unsigned lane)
{
    if (rp_mem_find(rp_mem_of(a->wave), a->va[lane], a->bytes, 0))
        return;
    report_outside(a, lane, "nothing is there: it faults");
    rp_findings_flush();
}

/* Tests whether what is just before an allocation is memory of another kind, of which nobody has
 * told: registered or mapped by the program, or the runtime's. What is in one piece with it is not.
 */
static bool is_other_memory(const struct rp_watch *a, const struct rp_allocation *near, uint64_t va)
{
    if (va >= near->begin || rp_allocation_is_padding(va))
        return false;
    const uintptr_t at = (uintptr_t)rp_mem_find(rp_mem_of(a->wave), va, a->bytes, 0);
    const uintptr_t begin = (uintptr_t)rp_mem_find(rp_mem_of(a->wave), near->begin, 1, 0);
    return at && (at == va || begin - at != near->begin - va);
}

static void check_inside(struct rp_watch *a, unsigned lane, const struct rp_allocation *in)
{
    /* What HIP's pools free is told to nobody; if they keep it, it is not known to be free. */
    const bool gone = in->of_hip && !rp_mem_find(rp_mem_of(a->wave), a->va[lane], a->bytes, 0);
    if (!in->freed && !gone) {
        a->inside = *in;
        return;
    }
    report_outside(a, lane, "it has been freed");
    rp_findings_flush();
}

static void check_bounds(struct rp_watch *a, unsigned lane)
{
    const uint64_t va = a->va[lane];
    struct rp_allocation near;
    if (is_inside(&a->inside, va, a->bytes))
        return;
    if (!rp_allocation_near(va, a->bytes, &near)) {
        check_far(a, lane);
        return;
    }
    if (is_inside(&near, va, a->bytes))
        check_inside(a, lane, &near);
    else if (!is_other_memory(a, &near, va))
        report_outside(a, lane, "outside of what was allocated");
}

/* A byte alone, as of a bool, may be written without changing the word it lies in. */
static bool could_be_written(const struct rp_watch *a, uint64_t va, uint32_t word)
{
    const uint32_t byte = word >> 8 * (va & 3) & 0xff;
    return a->bytes == 1 && (byte <= 1 || byte == 0xff);
}

static bool is_written(const struct rp_watch *a, uint64_t at)
{
    const uint32_t *word = rp_mem_find(rp_mem_of(a->wave), at, 4, 0);
    struct rp_allocation in;
    return !word || *word != rp_allocation_word(at) || !rp_allocation_near(at, 4, &in) ||
           !in.filled || in.freed || !is_inside(&in, at, 4);
}

/* Reports the first dword of a lane's load that nobody has written, if it is used. Whoever copies a
 * structure copies what lies between its members, too.
 * @param unwritten  a bit for each dword
 */
static void report_unwritten(struct rp_watch *a, unsigned lane, unsigned unwritten)
{
    const uint64_t first = a->va[lane] & ~3ull;
    const unsigned dwords = (unsigned)((a->va[lane] + a->bytes - first + 3) / 4);
    const enum rp_site_use least = unwritten == (1u << dwords) - 1 ? RP_USE_KEEPS : RP_USE_COMPUTES;
    /* Atomics compute with it themselves. */
    const bool computes = a->kind & RP_PAST_BOTH;
    for (unsigned i = 0; i < dwords; i++) {
        if (!(unwritten >> i & 1) ||
            (!computes && rp_site_use(a->site, a->first_dword + i, a->wave) < least))
            continue;
        report_alone(a, RP_FINDING_UNINIT, lane, first + 4 * i, "nothing has written it");
        return;
    }
}

/* Returns a bit for each dword of the lane's load. */
static unsigned unwritten_of(const struct rp_watch *a, unsigned lane)
{
    const uint64_t va = a->va[lane], first = va & ~3ull;
    unsigned unwritten = 0;
    for (uint64_t at = first; at < va + a->bytes; at += 4)
        unwritten |= (unsigned)!is_written(a, at) << (at - first) / 4;
    return unwritten && !could_be_written(a, va, rp_allocation_word(first)) ? unwritten : 0;
}

static void check_written(struct rp_watch *a, unsigned lane)
{
    const unsigned unwritten = unwritten_of(a, lane);
    if (unwritten)
        report_unwritten(a, lane, unwritten);
}

static inline bool same_as(const struct rp_watch *a, unsigned lane, unsigned back)
{
    return lane >= back && a->va[lane] == a->va[lane - back] && a->lanes >> (lane - back) & 1;
}

/* Tests whether a lane before this one reads the same: one beside it, or in the row above, as in
 * tiles of 8 or 16. */
static inline bool is_repeated(const struct rp_watch *a, unsigned lane)
{
    return same_as(a, lane, 1) || same_as(a, lane, 16) || same_as(a, lane, 8);
}

/* One byte in 256 that is written beside padding is what was there before. So less than a dword is
 * unwritten only if it is so of many lanes: which of them others have written by chance is unlikely
 * then.
 * @param unwritten  a bit for each lane
 * @param asked      all lanes that were looked at, likewise */
static bool is_chance(const struct rp_watch *a, uint64_t unwritten, uint64_t asked)
{
    const unsigned count = rp_lane_count(unwritten), least = a->bytes == 1 ? 4 : 2;
    return a->bytes < 4 && (count < least || 2 * count < rp_lane_count(asked));
}

static bool is_unwritten_by_chance(const struct rp_watch *a)
{
    uint64_t unwritten = 0, asked = 0;
    RP_FOR_LANES(lane, a->bytes < 4 ? a->lanes : 0)
    {
        if (is_repeated(a, lane))
            continue;
        asked |= 1ull << lane;
        unwritten |= (uint64_t) !!unwritten_of(a, lane) << lane;
    }
    return is_chance(a, unwritten, asked);
}

static void unwritten_lds(struct rp_watch *a, uint64_t lanes)
{
    const uint32_t seed = a->group->dispatch->dispatch->settings.poison;
    const uint32_t size = a->wave->group->lds_bytes;
    if (a->bytes < 4 && !checks(RP_CHECK_RACES))
        return; /* Nobody has noted what was stored, and values are no evidence (is_chance). */
    RP_FOR_LANES(lane, lanes)
    {
        const uint64_t va = a->va[lane], first = va & ~3ull;
        unsigned unwritten = 0;
        if (is_repeated(a, lane))
            continue;
        for (uint64_t at = first; at < va + a->bytes && at + 4 <= size; at += 4) {
            const struct rp_shadow *c = &a->group->lds[at / 4];
            uint32_t word;
            if (c->write.wave || c->update.wave)
                continue;
            memcpy(&word, a->wave->group->lds + at, 4);
            if (word == rp_exec_poison_word(seed, at / 4) && seed)
                unwritten |= 1u << (at - first) / 4;
        }
        if (unwritten)
            report_unwritten(a, lane, unwritten);
    }
}

static bool is_unwritten(const struct rp_watch *a, unsigned lane)
{
    const uint32_t seed = a->group->dispatch->dispatch->settings.poison;
    const uint64_t at = a->va[lane] & ~3ull;
    uint32_t word;
    if (at + 4 > (uint64_t)a->wave->scratch_lane_bytes * RP_LANES)
        return false;
    memcpy(&word, a->wave->scratch + at, 4);
    return seed && word == rp_exec_poison_word(seed + 1, at / 4) &&
           !could_be_written(a, a->va[lane], word);
}

void rp_shadow_load_private(struct rp_watch *a, bool fixed)
{
    if (!checks(RP_CHECK_UNINIT) || !reads(a) || !a->lanes)
        return;
    uint64_t unwritten = 0;
    RP_FOR_LANES(lane, a->lanes)
    unwritten |= (uint64_t)is_unwritten(a, lane) << lane;
    if (!unwritten || (fixed && unwritten != a->lanes) || is_chance(a, unwritten, a->lanes) ||
        rp_site_use(a->site, 0, a->wave) < RP_USE_STORES)
        return;
    const unsigned lane = (unsigned)__builtin_ctzll(unwritten);
    struct rp_finding f =
        finding_of(a, RP_FINDING_UNINIT, a->va[lane] / 4 / RP_LANES * 4, "nothing has written it");
    f.scratch = f.alone = true;
    f.buffer = (struct rp_allocation){.bytes = a->wave->scratch_lane_bytes};
    f.first = own_side(a, lane);
    rp_finding_add(&f);
}

/* ---- all lanes ---- */

/* The usual case of an access in LDS: what was before is the wave's own, or simply ordered. */
static inline bool is_usual(const struct rp_past *t, uint32_t me, const uint32_t *lds)
{
    return !t->wave || t->wave == me ||
           (lds[wave_of(t->wave)] >= t->number && !(t->kind & RP_PAST_BY_DMA));
}

/* The processor would wait to load a structure of which it has just stored a part. */
static inline void keep(struct rp_past *to, const struct rp_past *now, unsigned lane)
{
    to->wave = now->wave;
    to->number = now->number;
    to->site = now->site;
    to->lane = lane & 63;
    to->mask = now->mask;
    to->same = to->lucky = 0;
    to->kind = now->kind;
}

static inline bool usual_read(struct rp_shadow *c, const struct rp_past *now, unsigned lane,
                              const uint32_t *lds)
{
    if (c->update.wave || !is_usual(&c->write, now->wave, lds))
        return false;
    struct rp_past *r = c->read;
    if (r[0].wave == now->wave || (r[1].wave != now->wave && is_usual(&r[0], now->wave, lds)))
        keep(&r[0], now, lane);
    else if (is_usual(&r[1], now->wave, lds))
        keep(&r[1], now, lane);
    return true; /* Two others are there, which is enough. */
}

static inline bool usual_write(struct rp_shadow *c, const struct rp_past *now, unsigned lane,
                               const uint32_t *lds)
{
    if (c->update.wave || !is_usual(&c->write, now->wave, lds) || c->write.number == now->number ||
        !is_usual(&c->read[0], now->wave, lds) || !is_usual(&c->read[1], now->wave, lds))
        return false;
    keep(&c->write, now, lane);
    c->read[0].wave = c->read[1].wave = 0;
    return true;
}

/* Most instructions access whole dwords, each for itself, or the same one as the lane before.
 * Returns the lanes that are left.
 * @param ret_unwritten  of the others: those that read what no plain write was to */
static uint64_t usual_lanes(struct rp_watch *a, struct rp_past now, uint64_t *ret_unwritten)
{
    const uint32_t *lds = a->order->known.lds;
    const uint32_t asked = a->group->dispatch->dispatch->launch.group_segment_bytes;
    const bool writes = a->kind & RP_PAST_WRITE;
    struct rp_shadow *const cells = a->group->lds;
    uint64_t left = 0, unwritten = 0;
    now.mask = 15;
    RP_FOR_LANES(lane, a->lanes)
    {
        const uint64_t va = a->va[lane];
        if (!writes && is_repeated(a, lane))
            continue;
        bool usual = !(va & 3) && va + a->bytes <= asked, written = true;
        for (unsigned i = 0; usual && i < a->bytes / 4u; i++) {
            struct rp_shadow *c = &cells[va / 4 + i];
            written = written && c->write.wave;
            usual = writes ? usual_write(c, &now, lane, lds) : usual_read(c, &now, lane, lds);
        }
        left |= (uint64_t)!usual << lane;
        unwritten |= (uint64_t)!written << lane;
    }
    *ret_unwritten = unwritten & ~left;
    return left;
}

/* rocBLAS reads zeros at a whole number of MiB, behind all LDS that there is. */
static bool reads_zeros(const struct rp_watch *a, uint64_t va)
{
    enum { MIB = 1 << 20 };
    return !(a->kind & RP_PAST_WRITE) && va && va % MIB == 0;
}

static void access_lds(struct rp_watch *a)
{
    struct rp_past now = past_of(a);
    const uint32_t size = a->wave->group->lds_bytes;
    const uint32_t asked = a->group->dispatch->dispatch->launch.group_segment_bytes;
    const bool atomic = a->kind & (RP_PAST_BOTH | RP_PAST_ATOMIC | RP_PAST_LOCAL);
    const bool races = checks(RP_CHECK_RACES);
    const bool uninit = checks(RP_CHECK_UNINIT) && reads(a);
    uint64_t lanes = a->lanes, unwritten = 0;
    if (races && a->bytes % 4 == 0 && !(a->kind & ~RP_PAST_WRITE))
        lanes = usual_lanes(a, now, &unwritten);
    if (uninit)
        unwritten_lds(a, lanes | unwritten);
    RP_FOR_LANES(lane, lanes)
    {
        const uint64_t va = a->va[lane];
        if (va + a->bytes > asked && checks(RP_CHECK_BOUNDS) && !reads_zeros(a, va))
            report_alone(a, RP_FINDING_BOUNDS, lane, va, "outside of what was allocated");
        if (va + a->bytes > size)
            continue;
        now.lane = lane & 63;
        for (uint64_t at = va & ~3ull; at < va + a->bytes; at += 4) {
            now.mask = mask_of(va, a->bytes, at) & 15;
            if (atomic && races)
                sync_lds(a, (uint32_t)(at / 4));
            if (races)
                one_dword(a, &a->group->lds[at / 4], &now, at);
        }
    }
}

static void check_lanes(struct rp_watch *a)
{
    const bool uninit = checks(RP_CHECK_UNINIT) && reads(a) && !is_unwritten_by_chance(a);
    const bool bounds = checks(RP_CHECK_BOUNDS);
    a->inside = (struct rp_allocation){0};
    if (!uninit && !bounds)
        return;
    RP_FOR_LANES(lane, a->lanes)
    {
        if (is_repeated(a, lane))
            continue;
        if (bounds)
            check_bounds(a, lane);
        if (uninit)
            check_written(a, lane);
    }
}

/* Tests whether an atomic load meets what another wave of the workgroup has stored, and nothing
 * but this load orders them. */
static bool is_lucky(struct rp_watch *a, uint64_t va, uint32_t me)
{
    struct page *p =
        a->kind == RP_PAST_ATOMIC ? page_of(a->group->dispatch, va / RP_SHADOW_PAGE) : NULL;
    const struct rp_past *t = p ? &p->cell[va % RP_SHADOW_PAGE / 4].update : NULL;
    return t && t->wave && group_of(t->wave) == a->group->order.index && !happened(a, t, me);
}

/* A load through a pointer that the wave has just got from an atomic cannot be before that; no
 * cache has what it reads. HIP's own malloc relies on it. */
static bool is_through_pointer(const struct rp_watch *a)
{
    const uint64_t va = a->va[rp_first_lane(a->lanes)];
    for (unsigned i = 0; i < RP_CHECK_POINTERS; i++)
        if (va - a->order->pointer[i] < RP_CHECK_POINTER_REACH)
            return true;
    return false;
}

static void access_memory(struct rp_watch *a)
{
    struct rp_past now = past_of(a);
    struct rp_check_dispatch *c = a->group->dispatch;
    const bool syncs = synchronises(a);
    uint64_t before = UINT64_MAX;
    if (!a->lanes)
        return;
    check_lanes(a);
    if (!checks(RP_CHECK_RACES))
        return;
    a->through_pointer = is_through_pointer(a);
    if (a->kind & RP_PAST_BOTH)
        rp_updates_note(a);
    else if ((a->kind & (RP_PAST_WRITE | RP_PAST_ATOMIC)) == RP_PAST_WRITE)
        a->order->stored = a->number;
    const bool waits = !(a->kind & RP_PAST_WRITE) && rp_site_polls(a->site, a->wave);
    RP_FOR_LANES(lane, a->lanes)
    {
        const uint64_t va = a->va[lane];
        if (waits && va / 4 != before)
            note_wait(a, va);
        now.lane = lane & 63;
        now.lucky = is_lucky(a, va, now.wave) & 1;
        if (syncs && va / 4 != before)
            sync_memory(a, va);
        if (!(a->kind & RP_PAST_WRITE) && is_repeated(a, lane))
            continue;
        before = va / 4;
        for (uint64_t at = va & ~3ull; at < va + a->bytes; at += 4) {
            struct page *p = page_of(c, at / RP_SHADOW_PAGE);
            now.mask = mask_of(va, a->bytes, at) & 15;
            if (p)
                one_dword(a, &p->cell[at % RP_SHADOW_PAGE / 4], &now, at);
            else
                rp_check_not_compared();
        }
    }
}

void rp_shadow_access(struct rp_watch *a)
{
    if (a->lds)
        access_lds(a);
    else
        access_memory(a);
}
