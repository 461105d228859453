#include "analysis/bottleneck/index.h"

#include "analysis/bottleneck/parts.h"

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
