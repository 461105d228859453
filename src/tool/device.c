/**
 * @file device.c
 * @brief What the software device knows of its dispatches besides their times: hardware counters,
 *        and what the times are from.
 */
#include "tool/device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"
#include "trace/device_table.h"
#include "trace/records.h"

const struct rp_device_table *rp_tool_device_find(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, RP_DEVICE_TABLE_SYMBOL);
    const struct rp_device_table *table;
    rp_device_table_fn *find;

    memcpy(&find, &symbol, sizeof(find));
    table = find ? find() : NULL;
    return table && table->version == RP_DEVICE_TABLE_VERSION ? table : NULL;
}

static void append(struct rp_tool *tool, uint64_t dispatch_id, const double *values, uint32_t count)
{
    struct rp_record record = {.kind = RP_REC_COUNTERS};
    struct rp_rec_counters *c = &record.u.counters;

    c->dispatch_id = dispatch_id;
    for (uint32_t i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            c->name_id[c->count] = rp_trace_string(&tool->trace, tool->device->counter_name(i));
            c->value[c->count++] = values[i];
        }
        if (c->count == RP_REC_COUNTER_VALUES || (c->count && i + 1 == count)) {
            rp_trace_append(&tool->trace, &record);
            c->count = 0;
        }
    }
}

/* Then every dispatch has a row of its replay. */
static bool is_replayed(const struct rp_device_table *device)
{
    uint32_t version;

    return device->timing(&version) == RP_TRACE_TIMING_DETAILED;
}

void rp_tool_device_facts(struct rp_tool *tool, const struct rp_pending *entry)
{
    const struct rp_amd_signal *raw = (const struct rp_amd_signal *)entry->signal;
    const uint64_t dispatch_id = entry->rec.dispatch.dispatch_id;
    struct rp_record record = {.kind = RP_REC_SIMULATION};
    uint32_t count = tool->device ? tool->device->counter_count() : 0;
    double *values;

    if (!tool->device)
        return;
    values = malloc((count + 1) * sizeof(*values));
    if (values &&
        tool->device->take(entry->signal, raw->start_ts, raw->end_ts, values, &record.u.replay)) {
        append(tool, dispatch_id, values, count);
        record.u.replay.dispatch_id = dispatch_id;
        if (record.u.replay.replayed_waves)
            rp_trace_append(&tool->trace, &record);
    } else if (count || is_replayed(tool->device)) {
        rp_trace_count_lost(&tool->trace); /* no memory, here or in the device */
    }
    free(values);
}
