/* What the software device's times are from. */
#include "analysis/parts.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

void rp_replayed_add(struct rp_replayed *sum, uint64_t *sum_ns, const struct rp_replayed *more,
                     uint64_t ns)
{
    if (!more->calls)
        return;
    const double all_ns = (double)*sum_ns + (double)ns;
    if (!sum->calls)
        sum->error_share = more->error_share;
    else if (all_ns > 0)
        sum->error_share =
            (sum->error_share * (double)*sum_ns + more->error_share * (double)ns) / all_ns;
    sum->fast_clocks_known = more->fast_clocks_known && (!sum->calls || sum->fast_clocks_known);
    sum->fast_clock_waves += more->fast_clock_waves;
    sum->calls += more->calls;
    sum->waves += more->waves;
    sum->replayed_waves += more->replayed_waves;
    *sum_ns += ns;
}

static int take(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_replay *replay = row;
    struct rp_replays *r = ctx;
    struct rp_row_replay *grown;

    if (replay->waves < replay->replayed_waves || replay->replayed_waves < 0 ||
        replay->waves > UINT32_MAX * 4096ll || replay->fast_clock_waves > replay->waves ||
        !(replay->error_share >= 0))
        return rp_fail(err, RP_BAD_INPUT, "the replay of dispatch %lld says what cannot be",
                       (long long)replay->id);
    grown = rp_grow(r->rows, r->count, &r->capacity, sizeof *grown);
    if (!grown)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    r->rows = grown;
    grown[r->count++] = *replay;
    return 0;
}

static int by_dispatch(const void *a, const void *b)
{
    const struct rp_row_replay *x = a, *y = b;

    if (x->guid_index != y->guid_index)
        return x->guid_index < y->guid_index ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

int rp_replays_read(struct rp_store *store, struct rp_replays *ret, struct rp_err *err)
{
    struct rp_replays r = {0};
    int rc = rp_store_each_replay(store, take, &r, err);

    if (rc < 0) {
        free(r.rows);
        return rc;
    }
    if (r.count)
        qsort(r.rows, r.count, sizeof *r.rows, by_dispatch);
    *ret = r;
    return 0;
}

struct rp_replayed rp_replays_of(const struct rp_replays *r, const struct rp_row_dispatch *row)
{
    const struct rp_row_replay key = {.id = row->id, .guid_index = row->guid_index};
    const struct rp_row_replay *found =
        r->count ? bsearch(&key, r->rows, r->count, sizeof *r->rows, by_dispatch) : NULL;

    return !found ? (struct rp_replayed){0}
                  : (struct rp_replayed){
                        .calls = 1,
                        .waves = (uint64_t)found->waves,
                        .replayed_waves = (uint64_t)found->replayed_waves,
                        .error_share = found->error_share,
                        .fast_clocks_known = found->fast_clock_waves >= 0,
                        .fast_clock_waves =
                            found->fast_clock_waves > 0 ? (uint64_t)found->fast_clock_waves : 0,
                    };
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int rp_profile_timing(struct rp_profile *profile, struct rp_store *const *stores, size_t count,
                      struct rp_err *err)
{
    const char *model = count ? rp_store_metadata(stores[0], RP_STORE_TIMING_TAG) : NULL;
    const char *version = count ? rp_store_metadata(stores[0], RP_STORE_TIMING_VERSION_TAG) : NULL;

    for (size_t i = 1; i < count; i++)
        if (!is_same(rp_store_metadata(stores[i], RP_STORE_TIMING_TAG), model) ||
            !is_same(rp_store_metadata(stores[i], RP_STORE_TIMING_VERSION_TAG), version))
            return rp_fail(err, RP_BAD_INPUT,
                           "the traces are of several models of time, and do not compare");
    if (!model)
        return 0;
    profile->timing_model = rp_profile_keep(profile->memory, model, strlen(model));
    profile->timing_version = version ? (uint32_t)strtoul(version, NULL, 10) : 0;
    return profile->timing_model ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}
