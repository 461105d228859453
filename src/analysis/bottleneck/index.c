#include "analysis/bottleneck/index.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/bottleneck/parts.h"

/* The part of a name that rp_same_kernel compares: without one ".kd", unless that leaves nothing or
 * another one. */
static struct rp_indexed_name key_of(const char *name, size_t at)
{
    size_t length = strlen(name), rest = length > 3 ? length - 3 : 0;
    bool strips = rest > 0 && memcmp(name + rest, ".kd", 3) == 0 &&
                  !(rest > 3 && memcmp(name + rest - 3, ".kd", 3) == 0);

    return (struct rp_indexed_name){.name = name, .length = strips ? rest : length, .at = at};
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

const struct rp_indexed_name *rp_name_index_find(const struct rp_name_index *index,
                                                 const char *name, size_t *ret_count)
{
    struct rp_indexed_name key;
    size_t low = 0, high = index->count, end;

    *ret_count = 0;
    if (!name)
        return NULL;
    key = key_of(name, 0);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(&index->list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < index->count && compare_names(&index->list[end], &key) == 0;)
        end++;
    *ret_count = end - low;
    return end > low ? &index->list[low] : NULL;
}

void rp_name_index_free(struct rp_name_index *index)
{
    free(index->list);
    *index = (struct rp_name_index){0};
}

/* --- the lists ----------------------------------------------------------------------------- */

static const char *name_in_profile(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].name;
}

static const char *symbol_in_profile(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].symbol;
}

static const char *name_in_roofline(const void *list, size_t at)
{
    return ((const struct rp_roofline_kernel *)list)[at].name;
}

static const char *name_in_counters(const void *list, size_t at)
{
    return ((const char *const *)list)[at];
}

static const char *name_of_share(const void *list, size_t at)
{
    const struct rp_dag_share *share = &((const struct rp_dag_share *)list)[at];

    return share->is_kernel ? share->name : NULL;
}

/* The question what the program takes without the kernel. */
static const char *name_of_what_if(const void *list, size_t at)
{
    const struct rp_dag_what_if *w = &((const struct rp_dag_what_if *)list)[at];

    return w->num == 0 ? w->symbol : NULL;
}

bool rp_bottleneck_index_make(struct rp_bottleneck_index *ret,
                              const struct rp_bottleneck_inputs *in)
{
    struct rp_bottleneck_index x = {0};
    bool ok = true;

    if (in->profile) {
        size_t count = in->profile->kernel_count;
        ok = rp_name_index_make(&x.names, in->profile->kernels, count, name_in_profile) &&
             rp_name_index_make(&x.symbols, in->profile->kernels, count, symbol_in_profile);
    }
    if (ok && in->roofline)
        ok = rp_name_index_make(&x.roofline, in->roofline->kernels, in->roofline->kernel_count,
                                name_in_roofline);
    if (ok && in->counters)
        ok = rp_name_index_make(&x.counters, in->counters->kernels, in->counters->kernel_count,
                                name_in_counters);
    if (ok && in->dag)
        ok = rp_name_index_make(&x.shares, in->dag->shares, in->dag->share_count, name_of_share) &&
             rp_name_index_make(&x.what_ifs, in->dag->what_ifs, in->dag->what_if_count,
                                name_of_what_if);
    if (ok)
        *ret = x;
    else
        rp_bottleneck_index_free(&x);
    return ok;
}

void rp_bottleneck_index_free(struct rp_bottleneck_index *index)
{
    rp_name_index_free(&index->names);
    rp_name_index_free(&index->symbols);
    rp_name_index_free(&index->roofline);
    rp_name_index_free(&index->counters);
    rp_name_index_free(&index->shares);
    rp_name_index_free(&index->what_ifs);
}
