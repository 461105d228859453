#include "report/kernel_counters.h"

#include <stdlib.h>
#include <string.h>

#include "rocm-perf/analysis.h"
#include "trace/counter_set.h"

static int by_kernel_and_device(const void *a, const void *b)
{
    const struct rp_counted_dispatch *x = *(const struct rp_counted_dispatch *const *)a;
    const struct rp_counted_dispatch *y = *(const struct rp_counted_dispatch *const *)b;

    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x > y) - (x < y);
}

static const char *name_of_counted(const void *list, size_t at)
{
    return ((const char *const *)list)[at];
}

static const char *name_of_profiled(const void *list, size_t at)
{
    return ((const struct rp_kernel_summary *)list)[at].name;
}

bool rp_kernel_counters_make(struct rp_kernel_counters *ret, const struct rp_profile *profile,
                             const struct rp_counters *set)
{
    struct rp_kernel_counters c = {.set = set, .profile = profile};
    bool ok;

    *ret = c;
    if (!set)
        return true;
    c.order = malloc((set->dispatch_count + 1) * sizeof(*c.order));
    ok = c.order &&
         rp_name_index_make(&c.counted, set->kernels, set->kernel_count, name_of_counted) &&
         rp_name_index_make(&c.profiled, profile->kernels, profile->kernel_count, name_of_profiled);
    if (!ok) {
        rp_kernel_counters_free(&c);
        return false;
    }
    for (size_t i = 0; i < set->dispatch_count; i++)
        c.order[i] = &set->dispatches[i];
    qsort(c.order, set->dispatch_count, sizeof(*c.order), by_kernel_and_device);
    *ret = c;
    return true;
}

void rp_kernel_counters_free(struct rp_kernel_counters *counters)
{
    rp_name_index_free(&counters->counted);
    rp_name_index_free(&counters->profiled);
    free(counters->order);
    *counters = (struct rp_kernel_counters){0};
}

/* First dispatch of the kernel on the device. */
static size_t first_counted(const struct rp_kernel_counters *c, uint32_t kernel, uint32_t device)
{
    size_t low = 0, high = c->set->dispatch_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rp_counted_dispatch *d = c->order[middle];
        if (d->kernel < kernel || (d->kernel == kernel && d->device < device))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_namesake(const struct rp_kernel_counters *c, const struct rp_kernel_summary *k)
{
    size_t count;
    const struct rp_indexed_name *same = rp_name_index_find(&c->profiled, k->name, &count);

    for (size_t i = 0; i < count; i++) {
        const struct rp_kernel_summary *other = &c->profile->kernels[same[i].at];
        if (other != k && other->agent == k->agent)
            return true;
    }
    return false;
}

bool rp_kernel_counters_sum(const struct rp_kernel_counters *c, const struct rp_kernel_summary *k,
                            double *ret_sums, bool *ret_known)
{
    const struct rp_counters *set = c->set;
    const struct rp_indexed_name *kernel;
    size_t namesakes, device = 0, first, end;

    if (!set)
        return false;
    kernel = rp_name_index_find(&c->counted, k->name, &namesakes);
    while (device < set->device_count &&
           set->devices[device].id != c->profile->agents[k->agent].trace_id)
        device++;
    if (namesakes != 1 || device == set->device_count || is_namesake(c, k))
        return false;
    memset(ret_sums, 0, set->name_count * sizeof *ret_sums);
    first = end = first_counted(c, (uint32_t)kernel->at, (uint32_t)device);
    for (; end < set->dispatch_count && c->order[end]->kernel == kernel->at &&
           c->order[end]->device == device;
         end++)
        for (uint32_t j = 0; j < c->order[end]->value_count; j++)
            ret_sums[c->order[end]->values[j].counter] += c->order[end]->values[j].value;
    for (uint32_t n = 0; n < set->name_count; n++) {
        double value;
        ret_known[n] = end > first;
        for (size_t i = first; ret_known[n] && i < end; i++)
            ret_known[n] = rp_counters_value(c->order[i], n, &value);
    }
    return true;
}
