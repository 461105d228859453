#include "collect/hip_handles.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Place of the handle, or where it belongs. */
static size_t place_of(const struct rp_handles *handles, uint64_t handle)
{
    size_t low = 0, high = handles->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (handles->list[middle].handle < handle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool rp_handles_get(const struct rp_handles *handles, uint64_t handle, int64_t *ret)
{
    size_t at = place_of(handles, handle);

    if (at == handles->count || handles->list[at].handle != handle)
        return false;
    *ret = handles->list[at].value;
    return true;
}

int rp_handles_set(struct rp_handles *handles, uint64_t handle, int64_t value, struct rp_err *err)
{
    size_t at = place_of(handles, handle);

    if (at < handles->count && handles->list[at].handle == handle) {
        handles->list[at].value = value;
        return 0;
    }
    if (handles->count == handles->room) {
        size_t room = handles->room ? 2 * handles->room : 64;
        struct rp_handle *bigger = realloc(handles->list, room * sizeof(*bigger));

        if (!bigger)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        handles->list = bigger;
        handles->room = room;
    }
    memmove(&handles->list[at + 1], &handles->list[at],
            (handles->count - at) * sizeof(*handles->list));
    handles->list[at] = (struct rp_handle){handle, value};
    handles->count++;
    return 0;
}

void rp_handles_free(struct rp_handles *handles)
{
    free(handles->list);
    *handles = (struct rp_handles){0};
}
