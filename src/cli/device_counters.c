#include "cli/device_counters.h"

#include <stdlib.h>
#include <string.h>

#include "arch/device_counters.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cli.h"
#include "rocm-perf/bottleneck.h"

bool rp_device_counts(const struct rp_profile_session *session)
{
    return session->device == RP_DEVICE_SOFTWARE && session->tracer && !session->tracer->count;
}

/* --- the list ------------------------------------------------------------------------------ */

int rp_list_device_counters(void)
{
    size_t count;
    const struct rp_device_counter_row *rows = rp_device_counter_rows(&count);
    rp_autobuf text = {0};

    rp_buf_puts(&text,
                "Hardware counters of the software device. exact: counted as instructions execute; "
                "caches: from\na model of caches and LDS, of what sampled workgroups access; time: "
                "from modelled time; waves:\nwith --timing detailed only, from the replay of "
                "sampled workgroups. Those of TA, TD, TCP and TCC\nmay be given as NAME_sum, "
                "too.\n\n");
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind != RP_COUNTER_NONE)
            rp_buf_printf(&text, "%-34s %-6s  %s\n", rows[i].name,
                          rp_device_counter_kind_name(rows[i].kind), rows[i].text);
    rp_buf_puts(&text, "\nIt does not have:\n\n");
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == RP_COUNTER_NONE)
            rp_buf_printf(&text, "%-34s %s\n", rows[i].name, rows[i].text);
    return rp_cli_result(rp_buf_text(&text));
}

/* --- what is asked for ---------------------------------------------------------------------- */

static bool is_counted(const struct rp_device_counter_row *row)
{
    return row->kind == RP_COUNTER_WAVES ? rp_device_timing_detailed()
                                         : row->kind != RP_COUNTER_NONE;
}

int rp_check_device_counters(const struct rp_profile_options *options, struct rp_err *err)
{
    for (size_t i = 0; i < options->counter_count; i++) {
        const char *name = options->counters[i];
        const struct rp_device_counter_row *row = rp_device_counter_find(name);
        const char *nearest = row ? NULL : rp_device_counter_nearest(name);

        if (row && is_counted(row))
            continue;
        if (row && row->kind == RP_COUNTER_WAVES)
            return rp_fail(err, RP_USAGE,
                           "--pmc %s: the software device counts it with --timing detailed only, "
                           "which follows waves through time",
                           name);
        if (row)
            return rp_fail(err, RP_USAGE,
                           "--pmc %s: the software device cannot count it: %s (--list-counters "
                           "lists what it can)",
                           name, row->text);
        return rp_fail(err, RP_USAGE,
                       "--pmc %s: the software device has no such counter%s%s%s; --list-counters "
                       "lists them",
                       name, nearest ? ", did you mean " : "", nearest ? nearest : "",
                       nearest ? "?" : "");
    }
    return 0;
}

static void add(struct rp_buf *names, const char *name)
{
    const struct rp_device_counter_row *row = rp_device_counter_find(name);

    if (row && is_counted(row)) /* of a roofline's needs some may be missing */
        rp_buf_printf(names, "%s%s", names->len ? "," : "", name);
}

int rp_ask_device_counters(const struct rp_profile_options *options, struct rp_err *err)
{
    enum { MOST_NEEDS = 128 };
    struct rp_roofline_need needs[MOST_NEEDS];
    const char *gfx, *product;
    rp_autobuf names = {0};
    size_t count = 0;

    rp_device_software(&gfx, &product);
    if (options->roofline || options->deep_analysis)
        count = rp_roofline_needs(gfx, needs, MOST_NEEDS);
    if (options->deep_analysis)
        count += rp_bottleneck_needs(gfx, MOST_NEEDS, needs + count, MOST_NEEDS - count);
    for (size_t i = 0; i < count; i++)
        add(&names, needs[i].name);
    for (size_t i = 0; i < options->counter_count; i++)
        add(&names, options->counters[i]);
    if (!names.len) {
        rp_ask_no_counters();
        return 0;
    }
    if (names.failed || setenv("ROCM_PERF_DEVICE_COUNTERS", rp_buf_text(&names), 1) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

void rp_ask_no_counters(void)
{
    unsetenv("ROCM_PERF_DEVICE_COUNTERS");
}
