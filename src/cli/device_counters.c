#include "cli/device_counters.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "arch/hardware_counters.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "cli/cli.h"
#include "trace/counter_set.h"

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

/* What --pmc and the results need, with commas. */
static void list_asked(const struct rp_profile_options *options, struct rp_buf *names)
{
    enum { MOST_NEEDS = 128 };
    struct rp_roofline_need needs[MOST_NEEDS];
    const char *gfx, *product;
    size_t count = 0;

    rp_device_software(&gfx, &product);
    if (options->roofline || options->deep_analysis)
        count = rp_roofline_needs(gfx, needs, MOST_NEEDS);
    if (options->deep_analysis)
        count += rp_bottleneck_needs(gfx, MOST_NEEDS, needs + count, MOST_NEEDS - count);
    for (size_t i = 0; i < count; i++)
        add(names, needs[i].name);
    for (size_t i = 0; i < options->counter_count; i++)
        add(names, options->counters[i]);
}

int rp_ask_device_counters(const struct rp_profile_options *options, struct rp_err *err)
{
    rp_autobuf names = {0};

    list_asked(options, &names);
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

/* --- what is missing ------------------------------------------------------------------------ */

/* The first of these that needs recorded accesses, and how many there are: a launch has all of them
 * or none. @p names is cut into pieces */
static const char *first_of_caches(char *names, size_t *ret_count)
{
    const char *first = NULL;
    char *rest = names;

    *ret_count = 0;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        const struct rp_device_counter_row *row = rp_device_counter_find(name);

        if (!row || row->kind != RP_COUNTER_CACHES)
            continue;
        first = first ? first : name;
        ++*ret_count;
    }
    return first;
}

static bool has_counter(const struct rp_counters *set, const struct rp_counted_dispatch *d,
                        const char *name)
{
    double value;

    for (uint32_t i = 0; i < set->name_count; i++)
        if (strcmp(set->names[i], name) == 0)
            return rp_counters_value(d, i, &value);
    return false;
}

int rp_warn_of_missing_counters(const struct rp_profile_options *options,
                                const struct rp_counters *set, struct rp_err *err)
{
    rp_autofree uint64_t *lacking = calloc(set->kernel_count + 1, sizeof *lacking);
    rp_autobuf names = {0}, others = {0}, more = {0};
    size_t asked = 0, kernels = 0, first = 0;
    const char *name;

    list_asked(options, &names);
    if (!lacking || names.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    name = names.len ? first_of_caches(names.data, &asked) : NULL;
    for (size_t i = 0; name && i < set->dispatch_count; i++)
        if (!has_counter(set, &set->dispatches[i], name))
            lacking[set->dispatches[i].kernel]++;
    for (size_t k = set->kernel_count; k-- > 0;)
        if (lacking[k]) {
            first = k;
            kernels++;
        }
    if (!kernels)
        return 0;
    if (asked > 1)
        rp_buf_printf(&others, " and %zu other counters of caches and LDS", asked - 1);
    if (kernels > 1)
        rp_buf_printf(&more, " and of %zu other kernels", kernels - 1);
    rp_cli_note("warning: %s%s are missing for %llu launch%s of %s%s: of what their sampled "
                "workgroups access too little was recorded (--list-counters: caches)",
                name, rp_buf_text(&others), (unsigned long long)lacking[first],
                lacking[first] > 1 ? "es" : "", set->kernels[first], rp_buf_text(&more));
    return 0;
}
