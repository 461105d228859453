/*
 * What atomics of a dispatch change in memory, address by address: another kernel in the place of
 * this one may order, split and merge them, but has to change the same, by atomics, in the same
 * scope, and not before what was to be released before.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "device/exec/executor.h"
#include "device/isa/lane.h"
#include "device/isa/mem_access.h"
#include "trace/check_record.h"

enum { MOST_UPDATES = 1 << 20, FIRST_SLOTS = 1 << 10 };

/* Of all dispatches that were checked since the last was taken, under the lock of watch_waves.c. */
static struct {
    struct rp_check_update *at; /**< a hash table; .count 0: none */
    size_t slots, used, taken;
    bool wanted, incomplete;
} all;

static size_t slot_of(const struct rp_check_update *table, size_t slots, uint64_t address,
                      unsigned what)
{
    size_t i = (size_t)((address + what) * 0x9e3779b97f4a7c15u >> 32) % slots;
    while (table[i].count && (table[i].address != address || table[i].what != what))
        i = (i + 1) % slots;
    return i;
}

static bool grow(void)
{
    const size_t slots = all.slots ? 2 * all.slots : FIRST_SLOTS;
    struct rp_check_update *table = calloc(slots, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < all.slots; i++)
        if (all.at[i].count)
            table[slot_of(table, slots, all.at[i].address, all.at[i].what)] = all.at[i];
    free(all.at);
    all.at = table;
    all.slots = slots;
    return true;
}

/* Returns NULL where there is no room. The caller counts. */
static struct rp_check_update *update_at(uint64_t address, unsigned what)
{
    if (2 * (all.used + 1) > all.slots && (all.slots >= 2 * MOST_UPDATES || !grow())) {
        all.incomplete = true;
        return NULL;
    }
    struct rp_check_update *u = &all.at[slot_of(all.at, all.slots, address, what)];
    if (!u->count) {
        all.used++;
        *u = (struct rp_check_update){.address = address, .what = (uint8_t)what};
    }
    return u;
}

/* ---- one instruction ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *operation_of(const struct rp_insn *in)
{
    const char *op = strstr(rp_isa_mnemonic(in->op), "atomic_");
    return op ? op + strlen("atomic_") : "";
}

/* What changes nothing when it is done again, as a maximum, is seen in memory. */
static unsigned what_of(const char *op)
{
    if (begins(op, "add_f"))
        return RP_CHECK_ADDS_FLOATS;
    if (begins(op, "add") || begins(op, "sub"))
        return RP_CHECK_ADDS;
    if (begins(op, "xor"))
        return RP_CHECK_XORS;
    if (strstr(op, "min") || strstr(op, "max") || begins(op, "and") || begins(op, "or"))
        return RP_CHECK_SAME_AGAIN;
    return RP_CHECK_REPLACES;
}

static double as_float(uint64_t operand, unsigned bytes)
{
    const uint32_t low = (uint32_t)operand;
    float single;
    double number;
    memcpy(&single, &low, sizeof single);
    memcpy(&number, &operand, sizeof number);
    return bytes == 4 ? (double)single : number;
}

static bool changes_nothing(unsigned what, uint64_t operand, unsigned bytes)
{
    if (what == RP_CHECK_ADDS_FLOATS)
        return as_float(operand, bytes) == 0;
    return what != RP_CHECK_REPLACES && operand == 0;
}

static void add_operand(struct rp_check_update *u, const struct rp_watch *a, uint64_t operand)
{
    if (u->what == RP_CHECK_XORS)
        u->sum ^= operand;
    else if (u->what == RP_CHECK_ADDS)
        u->sum += begins(operation_of(a->in), "sub") ? -operand : operand;
    if (a->bytes == 4)
        u->sum = (uint32_t)u->sum;
    if (u->what != RP_CHECK_ADDS_FLOATS)
        return;
    u->total += as_float(operand, a->bytes);
    u->size += fabs(as_float(operand, a->bytes));
}

void rp_updates_note(const struct rp_watch *a)
{
    const unsigned what = what_of(operation_of(a->in));
    const struct rp_opnd *data = &a->in->src[1];
    const struct rp_order_wave *w = a->order;
    const unsigned self = (unsigned)(w - a->group->order.wave);
    if (!all.wanted || what == RP_CHECK_SAME_AGAIN || a->in->fmt == RP_FMT_SMEM ||
        (data->kind != RP_OPND_VGPR && data->kind != RP_OPND_AGPR))
        return;
    const rp_row *rows = (const rp_row *)rp_rows(a->wave, data);
    const bool draws =
        a->in->fmt == RP_FMT_FLAT ? a->in->dst.kind != RP_OPND_NONE : a->in->flags & RP_IF_SC0;
    const bool released = w->known.released[self] >= w->stored;
    RP_FOR_LANES(lane, a->lanes)
    {
        const uint64_t operand =
            rows[0][lane] | (a->bytes == 8 ? (uint64_t)rows[1][lane] << 32 : 0);
        struct rp_check_update *u =
            changes_nothing(what, operand, a->bytes) ? NULL : update_at(a->va[lane], what);
        if (!u)
            continue;
        u->count++;
        u->draws += draws;
        u->narrow |= !(a->in->flags & RP_IF_SC1);
        u->ordered |= w->stored && released;
        u->unordered |= w->stored && !released;
        add_operand(u, a, operand);
    }
}

/* ---- taken ---- */

void rp_updates_begin(bool wanted)
{
    free(all.at);
    memset(&all, 0, sizeof all);
    all.wanted = wanted;
}

bool rp_updates_take(struct rp_check_update *ret, bool *ret_incomplete)
{
    *ret_incomplete = all.incomplete;
    while (all.taken < all.slots && !all.at[all.taken].count)
        all.taken++;
    if (all.taken < all.slots) {
        *ret = all.at[all.taken++];
        return true;
    }
    rp_updates_begin(all.wanted);
    return false;
}
