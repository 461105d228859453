#include "device/timing/shared_simulations.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/isa/wave_state.h"

/* ---- hashes -------------------------------------------------------------------------------- */

/* Two multiplicative hashes of 64 bits that have different constants: a record of some megabytes is
 * read at the speed of memory. Equal keys of different work are as good as impossible, and nobody
 * who could make them gains anything. */
struct hash {
    uint64_t value[2];
};

static uint64_t rotated(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static inline void hash_word(struct hash *h, uint64_t word)
{
    h->value[0] = rotated(h->value[0] + word * 0xc2b2ae3d27d4eb4fu, 31) * 0x9e3779b185ebca87u;
    h->value[1] = rotated((h->value[1] ^ word) * 0xff51afd7ed558ccdu, 29) + 0x165667b19e3779f9u;
}

static void hash_bytes(struct hash *h, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    for (; count >= sizeof(uint64_t); count -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        hash_word(h, word);
    }
    uint64_t rest = 0;
    if (count)
        memcpy(&rest, at, count);
    hash_word(h, rest ^ (uint64_t)count << 56);
}

static void hash_end(const struct hash *h, uint64_t ret[2])
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t x = h->value[i] ^ h->value[1 - i] >> 32;
        x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
        x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
        ret[i] = x ^ x >> 33;
    }
}

/* ---- keys ---------------------------------------------------------------------------------- */

static void hash_machine(const struct rp_arch *a, uint64_t ret[2])
{
    struct hash h = {{0}};
    const uint64_t of[] = {(uintptr_t)a->timing,
                           a->compute_units,
                           a->xcc_count,
                           a->l1_bytes,
                           a->l2_bytes,
                           a->mall_bytes,
                           a->scalar_l1_bytes,
                           a->l2_channels_per_xcc,
                           a->engine_clock_mhz,
                           a->shader_engines,
                           (uint64_t)(a->hbm_peak_gbps * 1e3)};
    hash_bytes(&h, of, sizeof of);
    hash_end(&h, ret);
}

static void hash_geometry(const struct rp_wave_record *r, uint64_t ret[2])
{
    struct hash h = {{0}};
    const struct rp_rec_plan *p = &r->plan;
    const struct rp_rec_shape *s = &r->shape;
    const uint64_t of[] = {p->group_count,     p->first,         p->stride,         p->count,
                           p->probe_every,     p->probes,        p->steps_limit,    s->limits,
                           s->waves_per_group, s->groups_per_cu, s->lds_bytes,      s->vgprs,
                           r->total_waves,     r->total_insts,   r->keeps_accesses, r->placed};
    hash_bytes(&h, of, sizeof of);
    hash_end(&h, ret);
}

/* Fields are named one by one, because what lies between them may be anything. */
static void hash_code(const struct rp_wave_record *r, uint64_t ret[2])
{
    struct hash h = {{0}};
    for (uint32_t i = 0; i < r->code_count; i++) {
        const struct rp_rec_code *c = &r->code[i];
        const uint8_t small[] = {c->unit,        c->misc,        c->valu,        c->issue_clocks,
                                 c->mfma_passes, c->size_bytes,  c->vm,          c->exp,
                                 c->lgkm,        c->counts_vm,   c->counts_lgkm, c->in_order,
                                 c->read_count,  c->write_count, c->accumulator};
        hash_word(&h, c->pc);
        hash_word(&h, (uint64_t)c->op << 16 | c->value);
        hash_bytes(&h, small, sizeof small);
        hash_bytes(&h, c->read, c->read_count * sizeof *c->read);
        hash_bytes(&h, c->write, c->write_count * sizeof *c->write);
    }
    hash_end(&h, ret);
}

/* Waves that go the same way share their steps, which are read once. */
enum { WAYS = 64 };

struct ways {
    struct way {
        const uint32_t *step;
        uint64_t hash;
    } way[WAYS];
    uint32_t count;
};

static uint64_t way_of(struct ways *ways, const struct rp_rec_wave *w)
{
    struct hash h = {{0}};
    uint64_t value[2];
    for (uint32_t i = 0; i < ways->count && w->same_step; i++)
        if (ways->way[i].step == w->step)
            return ways->way[i].hash;
    hash_bytes(&h, w->step, w->step_count * sizeof *w->step);
    hash_end(&h, value);
    if (!w->same_step && ways->count < WAYS)
        ways->way[ways->count++] = (struct way){w->step, value[0] ^ value[1]};
    return value[0] ^ value[1];
}

static uint64_t hash_of_lines(const struct rp_rec_line *line, uint32_t count, uint64_t first)
{
    struct hash h = {{0}};
    uint64_t value[2];
    for (uint32_t i = 0; i < count; i++) {
        struct rp_rec_line distant = line[i];
        uint64_t word;
        distant.number = (distant.number - first) & RP_REC_LINE_NUMBERS;
        memcpy(&word, &distant, sizeof word);
        hash_word(&h, word);
    }
    hash_end(&h, value);
    return value[0];
}

static void hash_patterns(const struct rp_wave_record *r)
{
    for (uint32_t i = 0; r->patterns && i < r->patterns->count; i++) {
        struct rp_rec_pattern *p = &r->patterns->at[i];
        p->hash = hash_of_lines(p->line, p->line_count, 0);
    }
}

/* The first line of an access is where its pattern begins. Which accesses are packed, and which
 * number a pattern has, depends on which thread came first: neither is a part of the hash. */
static void hash_lines(struct hash *h, const struct rp_rec_wave *w, const struct rp_rec_access *a)
{
    const struct rp_rec_line *line = &w->line[a->first_line];
    struct rp_rec_repeat repeat;
    memcpy(&repeat, line, sizeof repeat);
    const bool packed = a->space & RP_REC_PACKED;
    const uint64_t first = packed ? repeat.first : line->number;
    hash_word(h, first);
    hash_word(h, packed ? w->patterns->at[repeat.pattern].hash
                        : hash_of_lines(line, a->line_count, first));
}

static void hash_accesses(struct hash *h, const struct rp_rec_wave *w)
{
    for (uint32_t i = 0; i < w->access_count; i++) {
        const struct rp_rec_access *a = &w->access[i];
        const uint64_t space = a->space & ~(unsigned)RP_REC_PACKED;
        hash_word(h,
                  (uint64_t)a->step | (uint64_t)a->line_count << 32 | (uint64_t)a->lookups << 48);
        hash_word(h, (uint64_t)a->lds_clocks | (uint64_t)a->lds_conflict_clocks << 16 |
                         (uint64_t)a->lanes << 32 | (uint64_t)a->lane_bytes << 40 | space << 48 |
                         (uint64_t)a->flags << 56);
        if (a->line_count)
            hash_lines(h, w, a);
    }
}

static void hash_wave(struct hash *h, struct ways *ways, const struct rp_rec_wave *w)
{
    const uint64_t of[] = {
        w->insts,     w->bytes, w->step_count, w->access_count, w->line_count + w->packed_lines,
        w->lines_only};
    hash_bytes(h, of, sizeof of);
    hash_word(h, w->step_count ? way_of(ways, w) : 0);
    hash_accesses(h, w);
}

static void hash_work(const struct rp_wave_record *r, uint64_t ret[2])
{
    struct hash h = {{0}};
    struct ways ways = {.count = 0};
    hash_patterns(r);
    for (uint64_t g = 0; g < r->plan.count + r->plan.probes; g++) {
        hash_word(&h, r->group[g].wave_count);
        for (uint32_t w = 0; w < r->group[g].wave_count; w++)
            hash_wave(&h, &ways, &r->group[g].wave[w]);
    }
    hash_end(&h, ret);
}

struct rp_simulation_key rp_simulation_key_of(const struct rp_arch *arch,
                                              const struct rp_counts *counts,
                                              const struct rp_wave_record *record, uint64_t caches)
{
    struct rp_simulation_key key = {.caches = caches};
    struct hash h = {{0}};
    _Static_assert(sizeof *counts % sizeof(uint64_t) == 0, "there is no padding");
    hash_machine(arch, key.machine);
    hash_geometry(record, key.geometry);
    hash_code(record, key.code);
    hash_bytes(&h, counts, sizeof *counts);
    hash_end(&h, key.counts);
    hash_work(record, key.work);
    return key;
}

uint64_t rp_simulation_caches(const struct rp_wave_record *record)
{
    const struct rp_rec_warm *warm = record->warm;
    struct hash h = {{0}};
    uint64_t value[2], any = 0;
    if (!warm)
        return RP_CACHES_COLD;
    hash_bytes(&h, warm->page, warm->page_count);
    for (uint64_t i = 0; i < warm->page_count; i++)
        any |= warm->page[i];
    for (uint64_t i = 0; i < warm->line_count; i++)
        hash_word(&h, warm->line[i].number << 9 | warm->line[i].dirty << 8 | warm->line[i].die);
    hash_end(&h, value);
    return any || warm->line_count ? value[0] | 1 : RP_CACHES_COLD;
}

uint64_t rp_simulation_work(const struct rp_simulation_key *key)
{
    struct rp_simulation_key work = *key;
    struct hash h = {{0}};
    uint64_t value[2];
    work.caches = 0;
    hash_bytes(&h, &work, sizeof work);
    hash_end(&h, value);
    return value[0];
}

/* ---- what is kept -------------------------------------------------------------------------- */

enum { KEPT = 512 };

/* This is the only context of the file. It is global because launches of all queues and GPUs of the
 * process share simulations, and none of them lives as long as what it may share. */
static struct {
    pthread_mutex_t lock;
    struct kept {
        struct rp_simulation_key key;
        struct rp_shared_simulation *simulation; /**< NULL: free */
        uint64_t used;                           /**< the least has not been used for longest */
    } kept[KEPT];
    uint64_t uses;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the place of a key, or the one that it should have. */
static struct kept *place_of(const struct rp_simulation_key *key)
{
    struct kept *oldest = &shared.kept[0];
    for (unsigned i = 0; i < KEPT; i++) {
        struct kept *k = &shared.kept[i];
        if (k->simulation && !memcmp(&k->key, key, sizeof *key))
            return k;
        if (k->used < oldest->used)
            oldest = k;
    }
    return oldest;
}

static bool holds(const struct kept *k, const struct rp_simulation_key *key)
{
    return k->simulation && !memcmp(&k->key, key, sizeof *key);
}

bool rp_shared_simulation_find(const struct rp_simulation_key *key, bool counted,
                               struct rp_shared_simulation *ret)
{
    pthread_mutex_lock(&shared.lock);
    struct kept *k = place_of(key);
    const bool found = holds(k, key) && (k->simulation->counted || !counted);
    if (found) {
        k->used = ++shared.uses;
        *ret = *k->simulation;
    }
    pthread_mutex_unlock(&shared.lock);
    return found;
}

void rp_shared_simulation_keep(const struct rp_simulation_key *key,
                               const struct rp_shared_simulation *simulation)
{
    pthread_mutex_lock(&shared.lock);
    struct kept *k = place_of(key);
    if (!k->simulation)
        k->simulation = malloc(sizeof *k->simulation);
    if (k->simulation) {
        k->key = *key;
        k->used = ++shared.uses;
        *k->simulation = *simulation;
    }
    pthread_mutex_unlock(&shared.lock);
}

void rp_shared_simulations_forget(void)
{
    pthread_mutex_lock(&shared.lock);
    for (unsigned i = 0; i < KEPT; i++) {
        free(shared.kept[i].simulation);
        shared.kept[i] = (struct kept){.used = 0};
    }
    pthread_mutex_unlock(&shared.lock);
}
