#include "bound.h"

#include <stdatomic.h>

static _Atomic uint64_t now, last_work;
static _Atomic bool last_exceeded;

void rp_bound_set(uint64_t work)
{
    atomic_store(&now, work);
}

uint64_t rp_bound(void)
{
    return atomic_load(&now);
}

void rp_bound_note(uint64_t work, bool exceeded)
{
    atomic_store(&last_work, work);
    atomic_store(&last_exceeded, exceeded);
}

bool rp_bound_last(uint64_t *ret_work)
{
    *ret_work = atomic_load(&last_work);
    return atomic_load(&last_exceeded);
}
