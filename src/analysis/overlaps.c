/* Which dispatches ran at the same time on one device. */
#include "analysis/parts.h"

#include "base/err.h"

#include <stdlib.h>

bool rp_overlaps_add(struct rp_overlaps *o, const struct rp_row_dispatch *row)
{
    struct rp_overlaps_row *grown = rp_grow(o->rows, o->count, &o->capacity, sizeof *grown);

    if (!grown)
        return false;
    o->rows = grown;
    grown[o->count++] = (struct rp_overlaps_row){
        .agent_id = row->agent_id,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
        .guid_index = row->guid_index,
    };
    return true;
}

static bool is_same_device(const struct rp_overlaps_row *a, const struct rp_overlaps_row *b)
{
    return a->guid_index == b->guid_index && a->agent_id == b->agent_id;
}

static int by_device_and_start(const void *a, const void *b)
{
    const struct rp_overlaps_row *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    if (x->agent_id != y->agent_id)
        return x->agent_id < y->agent_id ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Of one device: whoever starts before the latest end of those before it overlaps that one, and
 * so does whoever ends after the next one's start. */
static int add_device(const struct rp_overlaps_row *rows, size_t count, struct rp_overlapped *sum,
                      struct rp_err *err)
{
    int64_t latest_ns = INT64_MIN,
            counted_ns = INT64_MIN; /* ends: of all; of what has been added */

    for (size_t i = 0; i < count; i++) {
        const struct rp_overlaps_row *row = &rows[i];
        const bool with_earlier = row->start_ns < latest_ns;
        const bool with_later = i + 1 < count && rows[i + 1].start_ns < row->end_ns;
        const int64_t until_ns = row->end_ns < latest_ns ? row->end_ns : latest_ns;
        const int64_t from_ns = row->start_ns > counted_ns ? row->start_ns : counted_ns;

        sum->dispatches += with_earlier || with_later;
        if (until_ns > from_ns) {
            if (__builtin_add_overflow(sum->ns, (uint64_t)until_ns - (uint64_t)from_ns, &sum->ns))
                return rp_refuse_sum(NULL, err);
            counted_ns = until_ns;
        }
        if (row->end_ns > latest_ns)
            latest_ns = row->end_ns;
    }
    return 0;
}

/* What takes no time overlaps nothing. */
static size_t leave_out_empty(struct rp_overlaps_row *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (rows[i].end_ns > rows[i].start_ns)
            rows[kept++] = rows[i];
    return kept;
}

int rp_overlaps_sum(struct rp_overlaps *o, struct rp_overlapped *sum, struct rp_err *err)
{
    o->count = leave_out_empty(o->rows, o->count);
    if (o->count)
        qsort(o->rows, o->count, sizeof *o->rows, by_device_and_start);
    for (size_t first = 0, next; first < o->count; first = next) {
        int rc;

        for (next = first + 1; next < o->count; next++)
            if (!is_same_device(&o->rows[first], &o->rows[next]))
                break;
        rc = add_device(&o->rows[first], next - first, sum, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
