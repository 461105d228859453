#include "store/reader.h"

#include "base/err.h"
#include "rocm-perf/counters.h"
#include "rocm-perf/store.h"

#include <inttypes.h>
#include <math.h>
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

/* A sum would hide the one instance that cannot be. */
static int check_value(const struct rp_row_pmc_event *v, const char *name, struct rp_err *err)
{
    const char *refusal = rp_counter_refusal(name, v->value);

    return !refusal ? 0
                    : rp_fail(err, RP_BAD_INPUT,
                              "event %" PRId64 ": %.17g is no value of the counter %.60s: %s",
                              v->event_id, v->value, name, refusal);
}

/* A full register makes the sum of its dispatch unknown. */
static double usable(double value)
{
    return rp_counter_is_full(value) ? NAN : value;
}

/* Rows of one dispatch and counter mostly follow each other: adding them up at once keeps the
 * array small. @p ret_count: how many are left. */
static int take_values(struct rp_store *s, const struct rp_rowset *set, struct rp_row_counter *ret,
                       size_t *ret_count, struct rp_err *err)
{
    const struct rp_row_pmc_event *values = set->rows, *last = NULL;
    const char *name = "";
    size_t used = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct rp_row_pmc_event *v = &values[i];
        const struct rp_row_pmc *pmc;
        bool same;

        if (v->sample_id >= 0 || v->event_id < 0)
            continue;
        same = last && last->event_id == v->event_id && last->pmc_id == v->pmc_id &&
               last->guid_index == v->guid_index;
        if (!same) {
            pmc = rp_find_row(s, RP_ROWS_pmc, v->guid_index, v->pmc_id);
            if (!pmc || !*pmc->name)
                continue;
            name = pmc->name;
        }
        if (check_value(v, name, err) < 0)
            return -RP_BAD_INPUT;
        if (!isfinite(v->value)) /* of a metric: the same as not counted */
            continue;
        if (!same) {
            last = v;
            ret[used++] = (struct rp_row_counter){
                .event_id = v->event_id, .name = name, .guid_index = v->guid_index};
        }
        ret[used - 1].value += usable(v->value);
    }
    *ret_count = used;
    return 0;
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

static int load(struct rp_store *s, struct rp_err *err)
{
    struct rp_rowset *values = &s->rows[RP_ROWS_pmc_event];
    struct rp_row_counter *rows, *fitting;
    size_t used = 0;
    int result = rp_load_rows(s, RP_ROWS_pmc, err);

    if (result == 0)
        result = rp_load_rows(s, RP_ROWS_pmc_event, err);
    if (result < 0)
        return result;
    rows = calloc(values->count + 1, sizeof *rows);
    if (!rows)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (take_values(s, values, rows, &used, err) < 0) {
        free(rows);
        return rp_wrap(err, "read counters %s", rp_store_path(s));
    }
    /* There may be a hundred times more of them than sums. */
    free(values->rows);
    *values = (struct rp_rowset){0};
    qsort(rows, used, sizeof *rows, in_order);
    used = add_up(rows, used);
    fitting = realloc(rows, (used + 1) * sizeof *rows);
    s->counters =
        (struct rp_rowset){.rows = fitting ? fitting : rows, .count = used, .loaded = true};
    return 0;
}

int rp_store_counters(struct rp_store *s, const struct rp_row_counter **ret, size_t *ret_count,
                      struct rp_err *err)
{
    int result = s->counters.loaded ? 0 : load(s, err);

    if (result < 0)
        return result;
    *ret = s->counters.rows;
    *ret_count = s->counters.count;
    return 0;
}
