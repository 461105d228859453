#include "wait.h"

#include "../timing/record.h"

/* Loads of one address in a row after which a wave is taken to wait for somebody else. */
enum { POLL_LIMIT = 16 };

/* Four chains side by side, because one would wait for its multiplications. count: 4 n. */
static uint64_t mix(uint64_t hash, const uint32_t *words, size_t count)
{
    uint64_t chain[4] = {hash, hash + 1, hash + 2, hash + 3};
    for (size_t i = 0; i < count; i += 4)
        for (unsigned k = 0; k < 4; k++) {
            uint64_t mixed = (chain[k] ^ words[i + k]) * 0x9e3779b97f4a7c15u;
            chain[k] = mixed ^ mixed >> 32;
        }
    for (unsigned k = 1; k < 4; k++) {
        chain[0] = (chain[0] ^ chain[k]) * 0x9e3779b97f4a7c15u;
        chain[0] ^= chain[0] >> 32;
    }
    return chain[0];
}

/* Every register a wave's next instructions can depend on. */
static uint64_t state_hash(const struct rp_wave *w)
{
    const uint32_t rest[8] = {(uint32_t)w->pc, (uint32_t)(w->pc >> 32), w->scc, w->mode,
                              w->gpr_idx};
    uint64_t hash = mix(1, rest, 8);
    hash = mix(hash, w->sgpr, RP_SGPR_COUNT);
    for (uint32_t i = 0; i < w->vgpr_count; i++)
        hash = mix(hash, w->vgpr[i], RP_LANES);
    return hash;
}

void rp_wait_turn(struct rp_wave *w, const struct rp_counts *before, const struct rp_counts *after)
{
    struct rp_counts *cost = &w->wait.cost;
    cost->wave_insts += after->wave_insts - before->wave_insts;
    cost->issue_cycles += after->issue_cycles - before->issue_cycles;
    cost->read_bytes += after->read_bytes - before->read_bytes;
    cost->write_bytes += after->write_bytes - before->write_bytes;
    cost->lds_bytes += after->lds_bytes - before->lds_bytes;
    for (unsigned i = 0; i < 2 * RP_PLACES; i++)
        cost->link_bytes[i / 2][i % 2] +=
            after->link_bytes[i / 2][i % 2] - before->link_bytes[i / 2][i % 2];
}

/* From here on turns of the loop are compared with the wave as it is now. */
static void begin(struct rp_wave *w, uint64_t hash)
{
    w->wait.hash = hash;
    w->wait.cycles = w->cycles;
    w->wait.cost = (struct rp_counts){0};
    w->wait.kept_bytes = 0;
    w->wait.armed = true;
}

static void take_back(struct rp_wave *w, struct rp_counts *counts)
{
    const struct rp_counts *cost = &w->wait.cost;
    counts->wave_insts -= cost->wave_insts;
    counts->issue_cycles -= cost->issue_cycles;
    counts->read_bytes -= cost->read_bytes;
    counts->write_bytes -= cost->write_bytes;
    for (unsigned i = 0; i < 2 * RP_PLACES; i++)
        counts->link_bytes[i / 2][i % 2] -= cost->link_bytes[i / 2][i % 2];
    w->cycles = w->wait.cycles;
    if (w->record)
        rp_rec_cut(w->record, cost->wave_insts);
}

bool rp_wait_poll(struct rp_wave *w, struct rp_counts *counts)
{
    struct rp_wait *wait = &w->wait;
    bool others_first = w->poll_count % POLL_LIMIT == 0;
    /* Comparing is not cheap: a loop that computes is looked at ever more seldom. */
    bool begins = (w->poll_count & (w->poll_count - 1)) == 0;
    if (!wait->armed && !begins)
        return others_first;
    uint64_t hash = state_hash(w);
    if (wait->armed && hash == wait->hash && !wait->cost.lds_bytes &&
        wait->cost.write_bytes == wait->kept_bytes) {
        take_back(w, counts);
        begin(w, hash);
        return wait->idle = true;
    }
    if (wait->idle) /* what it waited for has come */
        w->poll_count = 0;
    wait->armed = wait->idle = false;
    if (begins)
        begin(w, hash);
    return others_first;
}
