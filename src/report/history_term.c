#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/report.h"

enum { LEAST_WIDTH = 60, USUAL_WIDTH = 80, COMMIT = 8 };

static struct rp_page page_of(struct rp_buf *buf, struct rp_term_style style)
{
    const unsigned width = style.width ? style.width : USUAL_WIDTH;

    return (struct rp_page){.out = buf,
                            .colour = style.colour,
                            .utf8 = style.utf8,
                            .width = width < LEAST_WIDTH ? LEAST_WIDTH : width};
}

static int end(const struct rp_buf *buf, struct rp_err *err)
{
    return buf->failed ? rp_out_of_memory(err) : 0;
}

/* As many digits as git shows, and whether there were changes that no commit has. */
static void put_commit(struct rp_buf *to, const char *commit)
{
    const size_t length = commit ? strlen(commit) : 0;
    const bool dirty = length > 6 && strcmp(commit + length - 6, "-dirty") == 0;

    rp_buf_printf(to, "%.*s%s", COMMIT, commit ? commit : "-", dirty && length > COMMIT ? "+" : "");
}

/* "app  a=1 b=2" */
static void put_program(struct rp_buf *to, const char *program, const char *lines)
{
    rp_buf_printf(to, "%s%s", program[0] ? program : "-", lines[0] ? "  " : "");
    for (; *lines; lines++)
        rp_buf_add(to, *lines == '\n' ? " " : lines, 1);
}

/* --- results ------------------------------------------------------------------------------- */

static double median_ns(const struct rp_history_times *times)
{
    return rp_history_median(times) * 1e6;
}

static struct rp_unit unit_of_kernels(const struct rp_page *page, const struct rp_history_result *r)
{
    struct rp_unit_span span = {0};

    for (size_t i = 1; i < r->times_count; i++)
        rp_unit_span_add(&span, median_ns(&r->times[i]));
    return rp_unit_of(RP_UNIT_TIME, span, page->utf8);
}

static void put_kernels(const struct rp_page *page, const struct rp_history_result *r)
{
    const struct rp_unit unit = unit_of_kernels(page, r);

    for (size_t i = 1; i < r->times_count; i++)
        rp_page_named(page, r->times[i].runtime_internal ? RP_INK_DIM : RP_INK_PLAIN, 6,
                      r->times[i].kernel ? r->times[i].kernel : "all kernels",
                      "%12s %s  %zu run%s  ", rp_unit_number(unit, median_ns(&r->times[i])).text,
                      unit.name, r->times[i].run_count, r->times[i].run_count == 1 ? "" : "s");
}

/* @param unit  of the times of all results */
static void put_result(const struct rp_page *page, const struct rp_history_result *r, bool times,
                       struct rp_unit unit)
{
    rp_autobuf commit = {0}, name = {0};

    put_commit(&commit, r->commit);
    put_program(&name, r->program, r->config);
    rp_page_named(page, times ? RP_INK_BOLD : RP_INK_PLAIN, 0, rp_buf_text(&name),
                  "%4" PRId64 "  %s  %-9s %10s %s  %s%s  ", r->id, r->added, rp_buf_text(&commit),
                  r->times_count ? rp_unit_number(unit, median_ns(&r->times[0])).text : "?",
                  unit.name, r->software ? "software" : "hardware",
                  r->complete ? "" : " INCOMPLETE");
    if (times) {
        rp_page_text(page, r->software ? RP_INK_YELLOW : RP_INK_DIM, 6, r->device);
        put_kernels(page, r);
    }
    page->out->failed |= commit.failed | name.failed;
}

int rp_report_history_term(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_term_style style, struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = page_of(buf, style);
    struct rp_unit_span span = {0};

    for (size_t i = 0; i < count; i++)
        if (results[i]->times_count)
            rp_unit_span_add(&span, median_ns(&results[i]->times[0]));
    for (size_t i = 0; i < count; i++)
        put_result(&page, results[i], times, rp_unit_of(RP_UNIT_TIME, span, page.utf8));
    if (!count)
        rp_page_text(&page, RP_INK_DIM, 0, "no results");
    return end(buf, err);
}

/* --- series -------------------------------------------------------------------------------- */

static enum rp_ink ink_of(enum rp_series_state state)
{
    static const enum rp_ink inks[] = {[RP_SERIES_STEADY] = RP_INK_PLAIN,
                                       [RP_SERIES_SLOWER] = RP_INK_RED,
                                       [RP_SERIES_FASTER] = RP_INK_GREEN,
                                       [RP_SERIES_UNDECIDED] = RP_INK_YELLOW,
                                       [RP_SERIES_ENDED] = RP_INK_DIM};

    return inks[state];
}

static bool is_group(const struct rp_series *a, const struct rp_series *b)
{
    return strcmp(a->program, b->program) == 0 && strcmp(a->device, b->device) == 0 &&
           strcmp(a->config, b->config) == 0;
}

static void put_group(const struct rp_page *page, const struct rp_series *s)
{
    rp_autobuf text = {0};

    put_program(&text, s->program, s->config);
    rp_page_text(page, RP_INK_BOLD, 0, rp_buf_text(&text));
    rp_page_text(page, s->software ? RP_INK_YELLOW : RP_INK_DIM, 2, s->device);
    page->out->failed |= text.failed;
}

static void put_change(const struct rp_page *page, const struct rp_series *s,
                       const struct rp_change *c)
{
    const struct rp_history_result *r = s->points[c->at].result;
    rp_autobuf commit = {0};

    put_commit(&commit, r->commit);
    rp_page_line(page, c->ratio > 1 ? RP_INK_RED : RP_INK_GREEN, 12,
                 "%s %% since result %" PRId64 ", commit %s, %s",
                 rp_number_signed(100 * (c->ratio - 1), 2).text, r->id, rp_buf_text(&commit),
                 r->added);
    page->out->failed |= commit.failed;
}

static double newest_ns(const struct rp_series *s)
{
    return s->points[s->point_count - 1].ms * 1e6;
}

/* "+1.2", of a ratio */
static void put_per_cent(struct rp_buf *to, double ratio)
{
    rp_buf_puts(to, rp_number_signed(100 * (ratio - 1), 2).text);
}

/* Why, and what mends it. */
static void put_undecided(const struct rp_page *page, const struct rp_series *s)
{
    const struct rp_change_newest *is = &s->newest_is;
    rp_autobuf text = {0};

    if (s->taken_back) {
        rp_buf_puts(&text, "as before the last change: taken back? add results to be sure");
    } else if (s->missing && s->exact && s->inexact) {
        rp_buf_puts(&text, "the runs of the newest result differ: profile and add it again");
    } else if (s->missing) {
        rp_buf_printf(&text, "%zu more result%s needed%s", s->missing,
                      s->missing == 1 ? " is" : "s are",
                      s->change_count ? " since the last change" : "");
    } else if (is->odd) {
        rp_buf_printf(&text, "result %" PRId64 " is ", is->odd->result->id);
        put_per_cent(&text, is->odd_ratio);
        if (is->odd == &s->points[s->point_count - 1])
            rp_buf_puts(&text, " % off, one alone: add another of the same commit");
        else
            rp_buf_puts(&text, " % off, the next is not: add results, or remove it");
    } else {
        rp_buf_puts(&text, "newest ");
        put_per_cent(&text, is->low);
        rp_buf_puts(&text, " to ");
        put_per_cent(&text, is->high);
        rp_buf_puts(&text, " %: add results, or allow more with --margin");
    }
    rp_page_words(page, RP_INK_DIM, 12, 2, "%s", rp_buf_text(&text));
    page->out->failed |= text.failed;
}

/* @param unit  of the times of the group */
static void put_series(const struct rp_page *page, const struct rp_series *s, struct rp_unit unit)
{
    rp_page_named(page, ink_of(s->state), 2, s->kernel ? s->kernel : "all kernels",
                  "%-9s %12s %s %4zu result%s  ", rp_series_state_name(s->state),
                  rp_unit_number(unit, newest_ns(s)).text, unit.name, s->point_count,
                  s->point_count == 1 ? " " : "s");
    for (size_t i = 0; i < s->change_count; i++)
        put_change(page, s, &s->changes[i]);
    if (s->inexact)
        rp_page_line(page, RP_INK_YELLOW, 12,
                     "the runs of %zu modelled result%s differ: no change begins with one",
                     s->inexact, s->inexact == 1 ? "" : "s");
    if (s->state == RP_SERIES_UNDECIDED)
        put_undecided(page, s);
}

/* @param first  of a program on a device */
static void put_group_series(const struct rp_page *page, const struct rp_series_list *list,
                             size_t first)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    for (size_t i = first; i < list->count; i++)
        if (is_group(&list->list[first], &list->list[i]))
            rp_unit_span_add(&span, newest_ns(&list->list[i]));
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
    put_group(page, &list->list[first]);
    for (size_t i = first; i < list->count; i++)
        if (is_group(&list->list[first], &list->list[i]))
            put_series(page, &list->list[i], unit);
}

int rp_report_changes_term(const struct rp_series_list *list, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = page_of(buf, style);

    for (size_t i = 0; i < list->count; i++) {
        bool told = false;

        for (size_t j = 0; j < i && !told; j++)
            told = is_group(&list->list[i], &list->list[j]);
        if (!told)
            put_group_series(&page, list, i);
    }
    return end(buf, err);
}
