#include "optimize/rank.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "optimize/facts.h"

struct rp_rank_limits rp_rank_usual_limits(void)
{
    /* With less than a fifth of the time, or a tenth of its own to gain, a kernel could make the
     * program faster by 2 % at most. */
    return (struct rp_rank_limits){.least_weight = 0.20, .least_headroom = 0.10};
}

static double sum_of_times(const struct rp_facts *facts)
{
    double sum = 0;

    for (size_t i = 0; i < facts->count; i++)
        sum += facts->kernels[i].time_ns.known ? facts->kernels[i].time_ns.value : 0;
    return sum;
}

/** The analysis knows what remains when the headroom is gone; else the other part of the time. */
static struct rp_quantity amdahl(const struct rp_rank_entry *entry,
                                 const struct rp_kernel_facts *kernel)
{
    const double gone = entry->weight.value * entry->headroom.value;

    if (kernel->end_to_end_bound.known)
        return kernel->end_to_end_bound;
    if (!entry->weight.known || !entry->headroom.known || gone >= 1)
        return (struct rp_quantity){0};
    return (struct rp_quantity){true, 1 / (1 - gone)};
}

static void weigh(const struct rp_kernel_facts *kernel, double sum_ns, struct rp_rank_entry *entry)
{
    entry->weight = kernel->weight;
    entry->weight_of_kernel_time = !kernel->weight.known || !kernel->weight_basis ||
                                   strcmp(kernel->weight_basis, "critical_path") != 0;
    if (!entry->weight.known && kernel->time_ns.known && sum_ns > 0)
        entry->weight = (struct rp_quantity){true, kernel->time_ns.value / sum_ns};
    entry->headroom = kernel->headroom;
    if (entry->weight.known)
        entry->priority = (struct rp_quantity){
            true, entry->weight.value * (entry->headroom.known ? entry->headroom.value : 1)};
    entry->bound = amdahl(entry, kernel);
}

static char *percent_text(const char *what, double part, double least)
{
    return rp_format("%s %.1f %%, less than %.0f %%", what, 100 * part, 100 * least);
}

/** @return false when out of memory */
static bool set_stop(const struct rp_kernel_facts *kernel, const struct rp_rank_limits *limits,
                     bool is_named, bool others_named, struct rp_rank_entry *entry)
{
    const char *why = NULL;

    if (kernel->runtime_internal)
        why = "it belongs to the HIP runtime";
    else if (!kernel->symbol || !*kernel->symbol)
        why = "the trace does not name its symbol";
    else if (others_named && !is_named)
        why = "--kernel does not name it";
    else if (is_named)
        return true;
    else if (!entry->weight.known)
        why = "its part of the time is not known";
    else if (kernel->bottleneck && strcmp(kernel->bottleneck, "launch_host_bound") == 0)
        why = "its launches take the time, not its code";
    if (why)
        entry->stop = strdup(why);
    else if (entry->weight.value < limits->least_weight)
        entry->stop =
            percent_text("its part of the time is", entry->weight.value, limits->least_weight);
    else if (entry->headroom.known && entry->headroom.value < limits->least_headroom)
        entry->stop =
            percent_text("what it could gain is", entry->headroom.value, limits->least_headroom);
    else
        return true;
    return entry->stop != NULL;
}

static int by_number(struct rp_quantity a, struct rp_quantity b)
{
    if (a.known != b.known)
        return a.known ? -1 : 1;
    return a.value > b.value ? -1 : a.value < b.value;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct rp_rank_entry *a = left, *b = right;
    const struct rp_facts *facts = context;
    const char *x = facts->kernels[a->kernel].symbol, *y = facts->kernels[b->kernel].symbol;
    int order;

    if (!a->stop != !b->stop)
        return a->stop ? 1 : -1;
    order = by_number(a->priority, b->priority);
    if (order == 0)
        order = by_number(a->weight, b->weight);
    if (order == 0)
        order = strcmp(x ? x : "", y ? y : "");
    return order ? order : a->kernel < b->kernel ? -1 : 1;
}

int rp_rank_kernels(const struct rp_facts *facts, const struct rp_rank_limits *limits,
                    const bool *wanted, struct rp_rank *ret, struct rp_err *err)
{
    struct rp_rank rank = {.entries = calloc(facts->count + 1, sizeof *rank.entries),
                           .count = facts->count};
    const double sum_ns = sum_of_times(facts);

    if (!rank.entries)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < facts->count; i++) {
        struct rp_rank_entry *entry = &rank.entries[i];

        entry->kernel = i;
        weigh(&facts->kernels[i], sum_ns, entry);
        if (!set_stop(&facts->kernels[i], limits, wanted && wanted[i], wanted != NULL, entry)) {
            rp_rank_free(&rank);
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        }
        rank.tried += !entry->stop;
    }
    qsort_r(rank.entries, rank.count, sizeof *rank.entries, compare,
            (void *)(uintptr_t)(const void *)facts);
    *ret = rank;
    return 0;
}

void rp_rank_free(struct rp_rank *rank)
{
    for (size_t i = 0; i < rank->count; i++)
        free(rank->entries[i].stop);
    free(rank->entries);
    *rank = (struct rp_rank){0};
}
