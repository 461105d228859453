#include "analysis/parts.h"

#include "base/err.h"

bool rp_dispatch_duration_ns(const struct rp_row_dispatch *row, uint64_t *ret_ns)
{
    if (row->start_ns <= 0 || row->end_ns < row->start_ns)
        return false;
    *ret_ns = (uint64_t)(row->end_ns - row->start_ns);
    return true;
}

uint32_t rp_column_u32(int64_t value)
{
    if (value < 0)
        return 0;
    return value > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

int rp_store_runtime_ns(struct rp_store *store, uint64_t *ret_total_ns, uint64_t *ret_dispatches,
                        uint64_t *ret_bad, struct rp_err *err)
{
    const struct rp_row_dispatch *rows;
    size_t count;
    uint64_t total_ns = 0, bad = 0;
    int rc = rp_store_dispatches(store, &rows, &count, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        uint64_t ns;

        if (!rp_dispatch_duration_ns(&rows[i], &ns))
            bad++;
        else if (__builtin_add_overflow(total_ns, ns, &total_ns))
            return rp_fail(err, RP_BAD_INPUT, "the sum of the dispatch times is not a time");
    }
    *ret_total_ns = total_ns;
    *ret_dispatches = count;
    *ret_bad = bad;
    return 0;
}
