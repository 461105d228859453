#include "tune/import.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tune/recorded.h"
#include "tune/simulated.h"
#include "tune/space.h"

struct known {
    double ms;
    uint32_t config;
};

static int by_config(const void *left, const void *right)
{
    const struct known *a = left, *b = right;

    if (a->config != b->config)
        return a->config < b->config ? -1 : 1;
    return (a->ms > b->ms) - (a->ms < b->ms);
}

static int by_time(const void *left, const void *right)
{
    const struct known *a = left, *b = right;

    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return (a->config > b->config) - (a->config < b->config);
}

/** Which of ours is its configuration? By names and values. @return -1: none */
static int64_t find(const struct rp_space *space, const struct rp_space *its, const int *places,
                    size_t config)
{
    uint16_t row[RP_MOST_PARAMETERS];

    for (size_t i = 0; i < space->parameter_count; i++) {
        const struct rp_value *value =
            places[i] < 0 ? NULL : rp_space_value(its, config, (size_t)places[i]);
        const int number = value ? rp_parameter_value(&space->parameters[i], value) : 0;

        if (number < 0)
            return -1;
        row[i] = value ? (uint16_t)number : RP_NO_VALUE;
    }
    return rp_space_find(space, row);
}

static size_t collect(const struct rp_recorded *from, const struct rp_space *space,
                      struct known *known)
{
    int places[RP_MOST_PARAMETERS];
    size_t count = 0;

    for (size_t i = 0; i < space->parameter_count; i++)
        places[i] = rp_space_parameter(from->space, space->parameters[i].name);
    for (size_t i = 0; i < from->space->count; i++) {
        const int64_t config = from->runs[i].ok ? find(space, from->space, places, i) : -1;

        if (config >= 0)
            known[count++] =
                (struct known){.ms = rp_simulated_ms(from, i), .config = (uint32_t)config};
    }
    return count;
}

/**
 * Rows that differ in a parameter which this space does not have are one configuration: its time is
 * the lowest of theirs. That parameter may be what this space has fixed at its best, and if not,
 * one run shows it.
 */
static size_t keep_fastest_of_each(struct known *known, size_t count)
{
    size_t kept = 0;

    qsort(known, count, sizeof *known, by_config);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || known[kept - 1].config != known[i].config)
            known[kept++] = known[i];
    return kept;
}

int rp_import(const char *path, const struct rp_space *space, struct rp_imported *ret,
              struct rp_err *err)
{
    rp_cleanup(rp_recorded_free) struct rp_recorded recorded = {0};
    rp_autofree struct known *known = NULL;
    uint32_t *fastest;
    size_t count, kept;
    int rc = rp_recorded_read(path, &recorded, err);

    if (rc < 0)
        return rc;
    known = calloc(recorded.space->count + 1, sizeof *known);
    fastest = calloc(RP_IMPORT_MOST, sizeof *fastest);
    if (!known || !fastest) {
        free(fastest);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    count = collect(&recorded, space, known);
    if (count == 0) {
        free(fastest);
        return rp_fail(err, RP_BAD_INPUT,
                       "%s: no configuration that ran there is in this space: names and values "
                       "must be the same",
                       path);
    }
    count = keep_fastest_of_each(known, count);
    qsort(known, count, sizeof *known, by_time);
    for (kept = 0; kept < count && kept < RP_IMPORT_MOST; kept++)
        fastest[kept] = known[kept].config;
    *ret = (struct rp_imported){.fastest = fastest, .fastest_count = kept, .known = count};
    return 0;
}

void rp_imported_free(struct rp_imported *imported)
{
    free(imported->fastest);
    *imported = (struct rp_imported){0};
}
