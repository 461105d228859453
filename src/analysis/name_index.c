#include "analysis/name_index.h"

#include "trace/rocpd.h"

#include <stdlib.h>
#include <string.h>

static struct rp_indexed_name key_of(const char *name, size_t at)
{
    return (struct rp_indexed_name){.name = name, .length = rp_kernel_name_length(name), .at = at};
}

static int compare_names(const struct rp_indexed_name *x, const struct rp_indexed_name *y)
{
    size_t both = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->name, y->name, both);

    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int compare(const void *a, const void *b)
{
    const struct rp_indexed_name *x = a, *y = b;
    int order = compare_names(x, y);

    return order ? order : (x->at > y->at) - (x->at < y->at);
}

bool rp_name_index_make(struct rp_name_index *ret, const void *list, size_t count, rp_name_of name)
{
    struct rp_name_index index = {.list = malloc((count + 1) * sizeof *index.list)};

    if (!index.list)
        return false;
    for (size_t i = 0; i < count; i++)
        if (name(list, i))
            index.list[index.count++] = key_of(name(list, i), i);
    qsort(index.list, index.count, sizeof *index.list, compare);
    *ret = index;
    return true;
}

/* First name that is not below the key, or, with @p after 1, the first above it. */
static size_t first_at(const struct rp_name_index *index, const struct rp_indexed_name *key,
                       int after)
{
    size_t low = 0, high = index->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(&index->list[middle], key) < after)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct rp_indexed_name *rp_name_index_find(const struct rp_name_index *index,
                                                 const char *name, size_t *ret_count)
{
    struct rp_indexed_name key;
    size_t low, end;

    *ret_count = 0;
    if (!name)
        return NULL;
    key = key_of(name, 0);
    low = first_at(index, &key, 0);
    end = first_at(index, &key, 1);
    *ret_count = end - low;
    return end > low ? &index->list[low] : NULL;
}

void rp_name_index_free(struct rp_name_index *index)
{
    free(index->list);
    *index = (struct rp_name_index){0};
}
