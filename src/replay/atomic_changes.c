#include "replay/atomic_changes.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "trace/records.h"

static int by_address(const void *a, const void *b)
{
    const struct rp_check_update *x = a, *y = b;

    return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
                                    : (x->what > y->what) - (x->what < y->what);
}

void rp_updates_of_run(const struct rp_device_table *device, struct rp_updates *ret)
{
    struct rp_check_update one;
    size_t room = ret->count;

    while (device->take_update(&one, &ret->incomplete)) {
        if (ret->count == room) {
            room = room ? 2 * room : 64;
            ret->at = rp_realloc_array(ret->at, room, sizeof *ret->at);
        }
        ret->at[ret->count++] = one;
    }
}

void rp_updates_move(struct rp_updates *updates, uint64_t from, uint64_t bytes, uint64_t to)
{
    for (size_t i = 0; i < updates->count; i++)
        if (updates->at[i].address - from < bytes)
            updates->at[i].address += to - from;
}

static void sort(struct rp_updates *updates)
{
    if (updates->count)
        qsort(updates->at, updates->count, sizeof *updates->at, by_address);
}

/* --- one address --------------------------------------------------------------------------- */

/** All that atomics of a kernel did there. */
struct place {
    const struct rp_check_update *at;
    size_t count;
};

static const struct rp_check_update *find(const struct place *p, unsigned what)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->at[i].what == what)
            return &p->at[i];
    return NULL;
}

/* Sums of floating point numbers depend on how operands were rounded. */
static bool is_same_sum(const struct rp_check_update *a, const struct rp_check_update *b)
{
    static const struct rp_check_update nothing;
    const double NEAR = 1e-2;

    b = b ? b : &nothing;
    return a->what == RP_CHECK_ADDS_FLOATS
               ? !(fabs(a->total - b->total) > NEAR * fmax(a->size, b->size))
               : a->sum == b->sum;
}

static bool any(const struct place *p, bool (*is)(const struct rp_check_update *))
{
    for (size_t i = 0; i < p->count; i++)
        if (is(&p->at[i]))
            return true;
    return false;
}

static bool draws(const struct rp_check_update *u)
{
    return u->draws;
}

static bool is_narrow(const struct rp_check_update *u)
{
    return u->narrow;
}

static bool is_unordered(const struct rp_check_update *u)
{
    return u->unordered;
}

/* Whose result is used may draw several at a time, or try again. Where nothing is drawn a kernel
 * may do without atomics: if several wavefronts then store to one place, that is a race, or a lost
 * update, and memory shows the rest. Atomics of the system say that others, which are not here,
 * store there as well. */
static const char *lacks(const struct rp_check_update *a, const struct place *b)
{
    const bool free_sum =
        a->draws || a->what == RP_CHECK_REPLACES || any(b, draws) || find(b, RP_CHECK_REPLACES);

    if (!b->count)
        return a->draws || !a->narrow ? "is not updated by atomics" : NULL;
    if (!free_sum && !is_same_sum(a, find(b, a->what)))
        return "gets another sum by atomics";
    if (!a->narrow && any(b, is_narrow))
        return "is updated by atomics of a narrower scope";
    if (a->ordered && !a->unordered && any(b, is_unordered))
        return "is updated by atomics before what was stored is released (no fence)";
    return NULL;
}

void rp_updates_compare(struct rp_updates *base, struct rp_updates *other,
                        struct rp_update_change *ret)
{
    uint64_t counted = 0;
    size_t at = 0;

    *ret = (struct rp_update_change){0};
    if (base->incomplete || other->incomplete)
        return;
    sort(base);
    sort(other);
    for (size_t i = 0; i < base->count; i++) {
        const struct rp_check_update *a = &base->at[i];
        struct place b = {0};

        while (at < other->count && other->at[at].address < a->address)
            at++;
        b.at = other->at ? other->at + at : NULL; /* Without updates there is no array of them. */
        while (at + b.count < other->count && b.at[b.count].address == a->address)
            b.count++;
        const char *why = lacks(a, &b);
        if (!why || (ret->addresses && counted == a->address))
            continue;
        if (!ret->addresses++)
            *ret = (struct rp_update_change){.address = a->address, .why = why, .addresses = 1};
        counted = a->address;
    }
}
