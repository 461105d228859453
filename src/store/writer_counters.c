#include "rocm-perf/store_counters.h"

#include "base/err.h"
#include "store/sqlerr.h"
#include "store/writer.h"

/* The columns that rocprofv3 fills; symbol is the name where a counter has no other. */
static int prepare(struct rp_store_writer *w, struct rp_err *err)
{
    int result = 0;

    if (!w->insert_counter)
        result = rp_writer_prepare_insert(
            w, RP_TABLE_info_pmc,
            "id, nid, pid, agent_id, target_arch, event_code, instance_id, name, symbol,"
            " description, component, value_type, block, is_constant, is_derived",
            15, &w->insert_counter, err);
    if (result == 0 && !w->insert_counter_value)
        result = rp_writer_prepare_insert(w, RP_TABLE_pmc_event, "event_id, pmc_id, value", 3,
                                          &w->insert_counter_value, err);
    return result;
}

static int bind_texts(struct rp_store_writer *w, const struct rp_row_counter_info *row,
                      struct rp_err *err)
{
    const struct {
        int at;
        const char *text;
    } texts[] = {
        {5, "GPU"},   {8, row->name}, {9, row->name},   {10, row->description},
        {11, "rocm"}, {12, "ABS"},    {13, row->block},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int result = rp_writer_bind_text(w, w->insert_counter, texts[i].at, texts[i].text, err);
        if (result < 0)
            return result;
    }
    return 0;
}

int rp_store_put_counter(struct rp_store_writer *w, const struct rp_row_counter_info *row,
                         struct rp_err *err)
{
    int result = prepare(w, err);

    if (result == 0)
        result = bind_texts(w, row, err);
    if (result < 0)
        return result;
    sqlite3_bind_int64(w->insert_counter, 1, row->id);
    sqlite3_bind_int64(w->insert_counter, 2, RP_STORE_NODE_ID);
    sqlite3_bind_int64(w->insert_counter, 3, w->pid);
    sqlite3_bind_int64(w->insert_counter, 4, row->agent_id);
    sqlite3_bind_int64(w->insert_counter, 6, 0);
    sqlite3_bind_int64(w->insert_counter, 7, 0);
    sqlite3_bind_int64(w->insert_counter, 14, 0);
    sqlite3_bind_int64(w->insert_counter, 15, 0);
    return rp_writer_step(w, w->insert_counter, "counter", row->id, err);
}

int rp_store_put_counter_value(struct rp_store_writer *w, int64_t counter_id, double value,
                               struct rp_err *err)
{
    int result = prepare(w, err);

    if (result < 0)
        return result;
    if (w->next_event == 0)
        return rp_fail(err, RP_BAD_INPUT, "a counter value comes before the first dispatch");
    sqlite3_bind_int64(w->insert_counter_value, 1, w->next_event);
    sqlite3_bind_int64(w->insert_counter_value, 2, counter_id);
    sqlite3_bind_double(w->insert_counter_value, 3, value);
    return rp_writer_step(w, w->insert_counter_value, "counter value", counter_id, err);
}
