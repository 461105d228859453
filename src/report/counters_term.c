#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/report.h"
#include "rocm-perf/roofline.h"
#include "trace/counter_set.h"

/* The table kernel x counter: a block for each kernel. A terminal shows the first ones; what is
 * written to a file or a pipe is complete. */

enum { MOST_KERNELS = 6, MOST_COUNTERS = 16, NUMBER = 15, LEAST_NAME = 30 };

static bool has_derived(const struct rp_roofline_kernel *k)
{
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++)
        if (k->derived[i].asked)
            return true;
    return false;
}

/* Counts are whole numbers; means and metrics of rocprofv3 may be fractions. */
static const char *number(double value, char room[32])
{
    if (value == floor(value) && value < 1e15)
        snprintf(room, 32, "%.0f", value);
    else
        snprintf(room, 32, fabs(value) >= 1000 && value < 1e15 ? "%.1f" : "%.6g", value);
    return room;
}

static int name_width(const struct rp_roofline_kernel *k, size_t shown)
{
    size_t width = LEAST_NAME;

    for (size_t i = 0; i < shown; i++)
        if (rp_text_cells(k->counts[i].name) > width)
            width = rp_text_cells(k->counts[i].name);
    return (int)width;
}

static void put_derived(const struct rp_page *page, const struct rp_derived_value *d,
                        const struct rp_derived_info *info, int width)
{
    bool percent = strcmp(info->unit, "%") == 0;
    rp_autobuf why = {0};
    char value[32] = "-";

    if (d->q.known && percent)
        snprintf(value, sizeof value, "%.1f", d->q.value * 100);
    else if (d->q.known && fabs(d->q.value) < 10000)
        snprintf(value, sizeof value, "%.4g", d->q.value);
    else if (d->q.known) /* beside counters that are written out */
        number(d->q.value, value);
    for (size_t i = 0; i < RP_DERIVED_COUNTERS && d->missing[i]; i++)
        rp_buf_printf(&why, "%s%s", i ? ", " : "needs ", d->missing[i]);
    if (!d->q.known && d->reason)
        rp_buf_puts(&why, d->reason);
    rp_page_words(page, RP_INK_PLAIN, 4, 4, "%-*s %*s %s", width, info->title, NUMBER, value,
                  d->q.known ? info->unit : rp_buf_text(&why));
    page->out->failed |= why.failed;
}

static void put_count(const struct rp_page *page, const struct rp_roofline_kernel *k,
                      const struct rp_kernel_count *c, int width)
{
    int pad = width - (int)rp_text_cells(c->name);
    char sum[32] = "-", mean[32], of[64] = "";

    if (c->dispatches < k->calls)
        snprintf(of, sizeof of, "  %" PRIu64 " of %" PRIu64, c->dispatches, k->calls);
    if (rp_counter_adds_up(c->name))
        number(c->sum, sum);
    rp_page_words(page, RP_INK_PLAIN, 4, 4, "%s%*s %*s %*s%s", c->name, pad > 0 ? pad : 0, "",
                  NUMBER, sum, NUMBER, number(c->sum / (double)c->dispatches, mean), of);
}

static void put_kernel(const struct rp_page *page, const struct rp_roofline *r,
                       const struct rp_roofline_kernel *k, bool raw, size_t most)
{
    size_t shown = !raw ? 0 : k->count_count < most ? k->count_count : most;
    int width = name_width(k, shown);
    char gpu[40] = "";

    if (r->device_count > 1)
        snprintf(gpu, sizeof gpu, ", GPU %" PRId64, r->devices[k->device].id);
    rp_page_words(page, RP_INK_BOLD, 2, 2, "%s", k->name);
    rp_page_words(page, RP_INK_DIM, 4, 4, "%" PRIu64 " dispatch%s%s", k->calls,
                  k->calls == 1 ? "" : "es", gpu);
    for (unsigned i = 0; i < RP_DERIVED_COUNT; i++)
        if (k->derived[i].asked)
            put_derived(page, &k->derived[i], rp_derived_info((enum rp_derived)i), width);
    if (shown)
        rp_page_words(page, RP_INK_DIM, 4, 4, "%-*s %*s %*s", width, "counter", NUMBER, "sum",
                      NUMBER, "per dispatch");
    for (size_t i = 0; i < shown; i++)
        put_count(page, k, &k->counts[i], width);
    if (raw && shown < k->count_count)
        rp_page_words(page, RP_INK_DIM, 4, 4,
                      "and %zu more counters: in roofline.json (analyze --roofline), or in a pipe",
                      k->count_count - shown);
}

int rp_report_counters_term(const struct rp_roofline *r, bool raw, struct rp_term_style style,
                            struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = rp_page_of_words(buf, style);
    size_t most = style.width ? MOST_KERNELS : r->kernel_count, shown = 0, more = 0;

    for (size_t i = 0; i < r->kernel_count; i++) {
        const struct rp_roofline_kernel *k = &r->kernels[i];

        if (k->count_count == 0 || (!raw && !has_derived(k)))
            continue;
        if (shown == most) {
            more++;
            continue;
        }
        if (shown++ == 0)
            rp_page_words(&page, RP_INK_BOLD, 0, 0, "Counters of each kernel");
        put_kernel(&page, r, k, raw, style.width ? MOST_COUNTERS : k->count_count);
    }
    if (more)
        rp_page_words(&page, RP_INK_DIM, 2, 2,
                      "and %zu more kernels: in roofline.json (analyze --roofline), or in a pipe",
                      more);
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
