#include "rocm-perf/store.h"

#include <stdlib.h>

#include "store/reader.h"

void rp_store_set_ends(struct rp_store *s, struct rp_store_end *ends, size_t count)
{
    free(s->ends);
    s->ends = ends;
    s->end_count = count;
    s->ends_known = true;
}

bool rp_store_ends(const struct rp_store *s, const struct rp_store_end **ret, size_t *ret_count)
{
    *ret = s->ends;
    *ret_count = s->end_count;
    return s->ends_known;
}

static int by_row(const void *a, const void *b)
{
    const struct rp_store_end *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

const struct rp_store_end *rp_store_end_of(const struct rp_store *s, uint32_t guid_index,
                                           int64_t id)
{
    const struct rp_store_end key = {.id = id, .guid_index = guid_index};

    return s->end_count ? bsearch(&key, s->ends, s->end_count, sizeof key, by_row) : NULL;
}
