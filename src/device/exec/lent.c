#include "lent.h"

bool rp_lent_has(const struct rp_lent *lent, uint64_t address)
{
    uint32_t count = __atomic_load_n(&lent->count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (__atomic_load_n(&lent->span[i].begin, __ATOMIC_RELAXED) <= address &&
            address < __atomic_load_n(&lent->span[i].end, __ATOMIC_RELAXED))
            return true;
    return false;
}

/** Bytes between the span and [begin, end); 0 = they touch. */
static uint64_t distance(const struct rp_lent *lent, uint32_t i, uint64_t begin, uint64_t end)
{
    if (end < lent->span[i].begin)
        return lent->span[i].begin - end;
    return begin > lent->span[i].end ? begin - lent->span[i].end : 0;
}

/* A reader sees each bound before or after: both are right, since spans only grow. */
static void stretch(struct rp_lent *lent, uint32_t i, uint64_t begin, uint64_t end)
{
    if (begin < lent->span[i].begin)
        __atomic_store_n(&lent->span[i].begin, begin, __ATOMIC_RELAXED);
    if (end > lent->span[i].end)
        __atomic_store_n(&lent->span[i].end, end, __ATOMIC_RELAXED);
}

void rp_lent_add(struct rp_lent *lent, uint64_t begin, uint64_t end)
{
    uint32_t count = lent->count, nearest = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < count && least; i++) {
        uint64_t gap = distance(lent, i, begin, end);
        if (gap < least) {
            least = gap;
            nearest = i;
        }
    }
    if (least == 0 || count == RP_LENT_SPANS) {
        stretch(lent, nearest, begin, end);
        return;
    }
    lent->span[count].begin = begin;
    lent->span[count].end = end;
    __atomic_store_n(&lent->count, count + 1, __ATOMIC_RELEASE);
}
