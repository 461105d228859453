#include "store/reader.h"

#include "base/err.h"
#include "rocm-perf/store.h"

#include <stdlib.h>
#include <string.h>

/* A dispatch has one row for every counter and instance of the hardware that counted (a shader
 * engine, a cache channel); what a formula wants is their sum. */

/* Names of one counter may come from several rows of info_pmc, one for each GPU. */
static int in_order(const void *left, const void *right)
{
    const struct rp_row_counter *a = left, *b = right;

    if (a->guid_index != b->guid_index)
        return a->guid_index < b->guid_index ? -1 : 1;
    if (a->event_id != b->event_id)
        return a->event_id < b->event_id ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Rows of one dispatch and counter mostly follow each other: adding them up at once keeps the
 * array small. Returns how many are left. */
static size_t take_values(struct rp_store *s, const struct rp_row_pmc_event *values, size_t count,
                          struct rp_row_counter *ret)
{
    const struct rp_row_pmc_event *last = NULL;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        const struct rp_row_pmc_event *v = &values[i];
        const struct rp_row_pmc *pmc;

        if (v->sample_id >= 0 || v->event_id < 0)
            continue;
        if (last && last->event_id == v->event_id && last->pmc_id == v->pmc_id &&
            last->guid_index == v->guid_index) {
            ret[used - 1].value += v->value;
            continue;
        }
        pmc = rp_find_row(s, RP_ROWS_pmc, v->guid_index, v->pmc_id);
        if (!pmc || !*pmc->name)
            continue;
        ret[used++] = (struct rp_row_counter){.event_id = v->event_id,
                                              .name = pmc->name,
                                              .value = v->value,
                                              .guid_index = v->guid_index};
        last = v;
    }
    return used;
}

static size_t add_up(struct rp_row_counter *rows, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (used && in_order(&rows[used - 1], &rows[i]) == 0)
            rows[used - 1].value += rows[i].value;
        else
            rows[used++] = rows[i];
    }
    return used;
}

int rp_store_counters(struct rp_store *s, const struct rp_row_counter **ret, size_t *ret_count,
                      struct rp_err *err)
{
    const struct rp_row_pmc *pmcs;
    const struct rp_row_pmc_event *values;
    size_t pmc_count, value_count, used;
    int result;

    if (!s->counters.loaded) {
        struct rp_row_counter *rows;

        result = rp_store_pmcs(s, &pmcs, &pmc_count, err);
        if (result == 0)
            result = rp_store_pmc_events(s, &values, &value_count, err);
        if (result < 0)
            return result;
        rows = calloc(value_count + 1, sizeof *rows);
        if (!rows)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        used = take_values(s, values, value_count, rows);
        qsort(rows, used, sizeof *rows, in_order);
        s->counters = (struct rp_rowset){.rows = rows, .count = add_up(rows, used), .loaded = true};
    }
    *ret = s->counters.rows;
    *ret_count = s->counters.count;
    return 0;
}
