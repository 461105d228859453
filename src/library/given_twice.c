#include "library/given_twice.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "library/life.h"
#include "trace/rocpd.h"

/* The name that both have; NULL: none. A merged database has several. */
static const char *common_guid(struct rp_store *a, struct rp_store *b)
{
    for (uint32_t i = 0; i < rp_store_guid_count(a); i++) {
        const char *guid = rp_store_guid(a, i);

        for (uint32_t k = 0; guid && *guid && k < rp_store_guid_count(b); k++) {
            const char *other = rp_store_guid(b, k);

            if (other && strcmp(guid, other) == 0)
                return guid;
        }
    }
    return NULL;
}

static int have_same_kernels(struct rp_store *a, struct rp_store *b, bool *ret, struct rp_err *err)
{
    const struct rp_row_dispatch *x, *y;
    size_t x_count, y_count;
    int rc = rp_store_dispatches(a, &x, &x_count, err);

    if (rc == 0)
        rc = rp_store_dispatches(b, &y, &y_count, err);
    if (rc < 0)
        return rc;
    *ret = x_count > 0 && x_count == y_count;
    for (size_t i = 0; i < x_count && *ret; i++)
        *ret = x[i].start_ns == y[i].start_ns && x[i].end_ns == y[i].end_ns &&
               x[i].queue_id == y[i].queue_id;
    return 0;
}

static int refuse(struct rp_store *a, struct rp_store *b, const char *guid, struct rp_err *err)
{
    const char *first = rp_store_path(a), *second = rp_store_path(b);

    if (strcmp(first, second) == 0)
        return rp_fail(err, RP_BAD_INPUT, "process %s is given twice: give %s once",
                       guid ? guid : rp_store_guid(b, 0), first);
    return rp_fail(err, RP_BAD_INPUT,
                   "process %s is given twice: %s and %s are of the same one; leave out one of"
                   " them",
                   guid ? guid : rp_store_guid(b, 0), first, second);
}

int rp_refuse_given_twice(struct rp_store *const *stores, size_t count, struct rp_err *err)
{
    rp_autofree struct rp_life *lives = calloc(count + 1, sizeof *lives);

    if (!lives)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count && count > 1; i++) {
        int rc = rp_life_of(stores[i], &lives[i], err);

        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            const char *guid = common_guid(stores[k], stores[i]);
            bool same = guid != NULL;

            /* Modelled times of two runs are the same, and in containers so are their pids. */
            if (!guid && lives[i].pid == lives[k].pid && !lives[i].own_clock &&
                rp_lives_on_one_machine(&lives[i], &lives[k])) {
                int rc = have_same_kernels(stores[k], stores[i], &same, err);

                if (rc < 0)
                    return rc;
            }
            if (same)
                return refuse(stores[k], stores[i], guid, err);
        }
    return 0;
}
