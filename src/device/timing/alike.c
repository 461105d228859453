#include "alike.h"

#include <string.h>

enum { DWORD = 4 };

/* ---- LDS ----------------------------------------------------------------------------------- */

static bool is_same_row(const uint32_t *distance, const uint32_t *row)
{
    const uint32_t first = row[0];
    uint32_t differ = 0;
    for (unsigned i = 0; i < RP_ALIKE_LANES; i++)
        differ |= (row[i] - first) ^ distance[i];
    return !differ;
}

static void touch_row(const uint32_t *row, uint32_t from_row, struct rp_rec_access *a,
                      const struct rp_touch *t)
{
    uint64_t va[RP_ALIKE_LANES];
    struct rp_touch touch = *t;
    touch.va = va;
    for (unsigned i = 0; i < RP_ALIKE_LANES; i++)
        va[i] = (uint32_t)(row[i] + from_row);
    rp_touch_lds(a, &touch);
}

void rp_alike_lds(struct rp_alike *alike, uint32_t key, const uint32_t row[RP_ALIKE_LANES],
                  uint32_t from_row, struct rp_rec_access *a, const struct rp_touch *t)
{
    if (!alike) {
        touch_row(row, from_row, a, t);
        return;
    }
    struct rp_alike_lds *l = &alike->lds[key % RP_ALIKE_LDS];
    const uint8_t part = (row[0] + from_row) % DWORD;
    if (!t->lanes || l->lanes != t->lanes || l->bytes != t->bytes || l->flags != t->flags ||
        l->part != part || !is_same_row(l->distance, row)) {
        struct rp_rec_access only = {0};
        touch_row(row, from_row, &only, t);
        *l = (struct rp_alike_lds){.lanes = t->lanes,
                                   .bytes = t->bytes,
                                   .flags = t->flags,
                                   .part = part,
                                   .clocks = only.lds_clocks,
                                   .conflict_clocks = only.lds_conflict_clocks};
        for (unsigned i = 0; i < RP_ALIKE_LANES; i++)
            l->distance[i] = row[i] - row[0];
    }
    a->lds_clocks = (uint16_t)(a->lds_clocks + l->clocks);
    a->lds_conflict_clocks = (uint16_t)(a->lds_conflict_clocks + l->conflict_clocks);
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Only lanes that take part have addresses. */
static bool is_same_pattern(const struct rp_alike_lines *l, const uint64_t *va, uint64_t lanes)
{
    uint64_t differ = 0;
    if (lanes == ~0ull) {
        for (unsigned i = 0; i < RP_ALIKE_LANES; i++)
            differ |= (va[i] - va[0]) ^ l->distance[i];
        return !differ;
    }
    const uint64_t first = va[__builtin_ctzll(lanes)];
    for (; lanes; lanes &= lanes - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(lanes);
        differ |= (va[lane] - first) ^ l->distance[lane];
    }
    return !differ;
}

static void remember(struct rp_alike_lines *l, const struct rp_rec_wave *w,
                     const struct rp_rec_access *before, const struct rp_rec_access *a,
                     const struct rp_touch *t)
{
    const uint64_t first = t->va[__builtin_ctzll(t->lanes)];
    l->lanes = t->lanes;
    l->bytes = t->bytes;
    l->flags = t->flags;
    l->first = first;
    l->lookups = (uint16_t)(a->lookups - before->lookups);
    l->line_count = a->line_count;
    memcpy(l->line, w->line + a->first_line, a->line_count * sizeof *l->line);
    for (uint64_t left = t->lanes; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctzll(left);
        l->distance[lane] = t->va[lane] - first;
    }
}

bool rp_alike_lines(struct rp_alike *alike, uint32_t key, struct rp_rec_wave *w,
                    struct rp_rec_access *a, const struct rp_touch *t)
{
    if (!alike || !t->lanes)
        return rp_touch_lines(w, a, t);
    struct rp_alike_lines *l = &alike->vmem[key % RP_ALIKE_VMEM];
    const uint64_t from_there = t->va[__builtin_ctzll(t->lanes)] - l->first;
    if (l->lanes != t->lanes || l->bytes != t->bytes || l->flags != t->flags ||
        from_there % RP_REC_LINE_BYTES || !is_same_pattern(l, t->va, t->lanes)) {
        const struct rp_rec_access before = *a;
        if (!rp_touch_lines(w, a, t))
            return false;
        l->lanes = 0;
        if (!before.line_count && a->line_count <= RP_ALIKE_LINES)
            remember(l, w, &before, a, t);
        return true;
    }
    if (!rp_rec_grow(w, 0, 0, l->line_count))
        return false;
    struct rp_rec_line *line = w->line + w->line_count;
    for (unsigned i = 0; i < l->line_count; i++) {
        line[i] = l->line[i];
        line[i].number = (line[i].number + from_there / RP_REC_LINE_BYTES) & ((1ull << 41) - 1);
    }
    w->line_count += l->line_count;
    a->line_count = l->line_count;
    a->lookups = (uint16_t)(a->lookups + l->lookups);
    return true;
}
