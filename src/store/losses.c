#include "store/losses.h"

#include <stdlib.h>

#include "rocm-perf/store.h"

static uint64_t count_in(const struct rp_store *store, const char *tag)
{
    const char *value = rp_store_metadata(store, tag);

    return value ? strtoull(value, NULL, 10) : 0;
}

void rp_losses_add(struct rp_losses *sum, const struct rp_store *store)
{
    sum->incomplete_traces += rp_store_metadata(store, "rocm_perf_incomplete") != NULL;
    sum->lost_records += count_in(store, "rocm_perf_lost_records");
    sum->lost_dispatches += count_in(store, "rocm_perf_lost_dispatches");
    sum->untraced_queues += count_in(store, "rocm_perf_untraced_queues");
}

bool rp_losses_none(const struct rp_losses *losses)
{
    return !losses->incomplete_traces && !losses->lost_records && !losses->lost_dispatches &&
           !losses->untraced_queues;
}
