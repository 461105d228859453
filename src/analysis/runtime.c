#include "analysis/parts.h"

#include "base/err.h"

bool rp_dispatch_duration_ns(const struct rp_store *store, const struct rp_row_dispatch *row,
                             uint64_t *ret_ns)
{
    const struct rp_corrected_end *end;

    if (row->start_ns <= 0 || row->end_ns < row->start_ns)
        return false;
    end = rp_store_find_corrected_end(store, row->guid_index, row->id);
    *ret_ns = (uint64_t)(end ? end->took_ns : row->end_ns - row->start_ns);
    return true;
}

uint32_t rp_column_u32(int64_t value)
{
    if (value < 0)
        return 0;
    return value > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

int rp_refuse_sum(const struct rp_store *store, struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "%s%sthe times of the kernels add up to more than 584 years: they are damaged. "
                   "Record the program again",
                   store ? rp_store_path(store) : "", store ? ": " : "");
}

struct sum {
    const struct rp_store *store;
    uint64_t total_ns, count, bad;
};

static int add(void *ctx, const void *row, struct rp_err *err)
{
    struct sum *sum = ctx;
    uint64_t ns;

    sum->count++;
    if (!rp_dispatch_duration_ns(sum->store, row, &ns))
        sum->bad++;
    else if (__builtin_add_overflow(sum->total_ns, ns, &sum->total_ns))
        return rp_refuse_sum(sum->store, err);
    return 0;
}

int rp_store_runtime_ns(struct rp_store *store, uint64_t *ret_total_ns, uint64_t *ret_dispatches,
                        uint64_t *ret_bad, struct rp_err *err)
{
    struct sum sum = {.store = store};
    int rc = rp_store_each_work(store, add, &sum, err);

    if (rc < 0)
        return rc;
    *ret_total_ns = sum.total_ns;
    *ret_dispatches = sum.count;
    *ret_bad = sum.bad;
    return 0;
}
