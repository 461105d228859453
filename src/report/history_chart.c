/* Draws series of a history: in a picture of their own, and for the page. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "report/history_text.h"
#include "report/report.h"

/* These are colours of Okabe and Ito, which the picture of a search has, too. */
#define POINT  "#0072b2"
#define SLOWER "#d55e00"
#define FASTER "#009e73"

const char rp_history_chart_style[] =
    ".d{stroke:" POINT ";stroke-width:6;stroke-linecap:round;fill:none}.l{stroke:" POINT
    ";stroke-opacity:.4;fill:none}.b{stroke:" POINT ";stroke-opacity:.3;stroke-width:2;fill:none}"
    ".s{stroke:" SLOWER ";stroke-width:1.5}.f{stroke:" FASTER
    ";stroke-width:1.5;stroke-dasharray:5 3}.st{fill:" SLOWER "}.ft{fill:" FASTER
    "}.g{stroke:#ddd}.a{stroke:#333;fill:none}.n{font-size:12px}.h{fill-opacity:0}";

enum {
    WIDTH = RP_HISTORY_CHART_WIDTH,
    LEFT = 90,
    RIGHT = 40,
    HEIGHT = RP_HISTORY_CHART_HEIGHT,
    TOP = 20,
    BOTTOM = 44,
    MOST_TICKS = 12,
    MOST_COLUMNS = 380, /**< more results than these share columns, two pixels wide */
    MOST_HINTS = 120, /**< of more results only the newest and those of changes say what they are */
    NEWEST_HINTS = 40,
    LABEL_ROOM = 82,  /**< of a commit on the axis */
    LABEL_CELLS = 11, /**< that are in it */
    MOST_LABELS = 10,
    CHANGE_ROOM = 60,
    EDGE = 10 /**< between the axis and the first point */
};

struct axes {
    const struct rp_series *series;
    const struct rp_commit_names *names;
    struct rp_unit unit;
    double low, high;
    int top, floor;
};

static double x_of(const struct axes *axes, double at)
{
    const size_t count = axes->series->point_count;

    if (count < 2)
        return (LEFT + WIDTH - RIGHT) / 2.0;
    return LEFT + EDGE + at / (double)(count - 1) * (WIDTH - LEFT - RIGHT - 2 * EDGE);
}

static double y_of(const struct axes *axes, double ms)
{
    const double share = (axes->high - ms) / (axes->high - axes->low);

    return axes->top + (isfinite(share) ? share : 0.5) * (axes->floor - axes->top);
}

static struct axes axes_of(const struct rp_series *s, int top, const struct rp_commit_names *names)
{
    struct axes axes = {.series = s,
                        .names = names,
                        .low = INFINITY,
                        .top = top + TOP,
                        .floor = top + HEIGHT - BOTTOM};
    struct rp_unit_span span = {0};
    double margin;

    for (size_t i = 0; i < s->point_count; i++) {
        axes.low = fmin(axes.low, s->points[i].low);
        axes.high = fmax(axes.high, s->points[i].high);
    }
    rp_unit_span_add(&span, axes.high * 1e6);
    axes.unit = rp_unit_of(RP_UNIT_TIME, span, false);
    /* The axis covers at least some per cent, so that noise does not look like mountains. */
    margin = fmax(0.1 * (axes.high - axes.low), 0.02 * axes.high);
    axes.low -= margin;
    axes.high += margin;
    return axes;
}

/* --- axes ---------------------------------------------------------------------------------- */

static void put_times_axis(struct rp_buf *to, const struct axes *axes)
{
    const double in_unit = 1e6 / axes->unit.scale;
    const double step = rp_svg_round_step((axes->high - axes->low) * in_unit / 4);
    const double first = ceil(axes->low * in_unit / step);

    for (int i = 0; i < MOST_TICKS && (first + i) * step <= axes->high * in_unit; i++) {
        const double y = y_of(axes, (first + i) * step / in_unit);

        rp_buf_printf(to,
                      "<path class=\"g\" d=\"M%d %.1fH%d\"/><text class=\"n\" x=\"%d\" "
                      "y=\"%.1f\" text-anchor=\"end\">%.6g %s</text>\n",
                      LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 4, (first + i) * step, axes->unit.name);
    }
    rp_buf_printf(to, "<path class=\"a\" d=\"M%d %dV%dH%d\"/>\n", LEFT, axes->top, axes->floor,
                  WIDTH - RIGHT);
}

/** Places of the labels of commits, so far. */
struct labels {
    double x[MOST_LABELS];
    size_t count;
};

/* A result without a commit has its number there. */
static void put_label(struct rp_buf *to, const struct axes *axes, size_t at, struct labels *labels)
{
    const struct rp_history_result *r = axes->series->points[at].result;
    const double x = x_of(axes, (double)at);
    rp_autobuf commit = {0}, day = {0};

    for (size_t i = 0; i < labels->count; i++)
        if (fabs(labels->x[i] - x) < LABEL_ROOM)
            return;
    if (labels->count == MOST_LABELS)
        return;
    labels->x[labels->count++] = x;
    if (r->commit)
        rp_history_put_commit(&commit, r->commit);
    else
        rp_buf_printf(&commit, "result %" PRId64, r->id);
    rp_buf_printf(to,
                  "<path class=\"a\" d=\"M%.1f %dv4\"/><text class=\"n\" x=\"%.1f\" y=\"%d\" "
                  "text-anchor=\"middle\">",
                  x, axes->floor, x, axes->floor + 18);
    rp_xml_text(to, rp_buf_text(&commit), LABEL_CELLS);
    rp_buf_printf(to, "</text><text class=\"n\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x,
                  axes->floor + 33);
    rp_buf_add(&day, r->added, strcspn(r->added, "T"));
    rp_xml_text(to, rp_buf_text(&day), LABEL_CELLS);
    rp_buf_puts(to, "</text>\n");
    to->failed |= commit.failed | day.failed;
}

/* The ends come first, then the newest changes, then what has room between. */
static void put_commits_axis(struct rp_buf *to, const struct axes *axes)
{
    const struct rp_series *s = axes->series;
    struct labels labels = {0};

    put_label(to, axes, s->point_count - 1, &labels);
    for (size_t i = s->change_count; i-- > 0 && labels.count < MOST_LABELS - 1;)
        put_label(to, axes, s->changes[i].at, &labels);
    put_label(to, axes, 0, &labels);
    for (size_t i = 1; i < MOST_LABELS; i++)
        put_label(to, axes, (s->point_count - 1) * i / MOST_LABELS, &labels);
}

/* --- times --------------------------------------------------------------------------------- */

/** What stands in one column of pixels: one result, or several. */
struct column {
    double x;
    double low, high; /**< of all runs */
    double middle;    /**< of the medians */
};

/* @return the point behind the column */
static size_t column_of(const struct axes *axes, size_t at, size_t columns, struct column *ret)
{
    const struct rp_series *s = axes->series;
    const size_t first = at * s->point_count / columns;
    const size_t end = (at + 1) * s->point_count / columns;
    double sum = 0;

    *ret = (struct column){.x = x_of(axes, (double)(first + end - 1) / 2), .low = INFINITY};
    for (size_t i = first; i < end; i++) {
        const struct rp_history_point *p = &s->points[i];

        ret->low = fmin(ret->low, p->low);
        ret->high = fmax(ret->high, p->high);
        sum += p->ms / (double)(end - first);
    }
    ret->middle = sum;
    return end;
}

static void put_times(struct rp_buf *to, const struct axes *axes)
{
    const size_t all = axes->series->point_count;
    const size_t columns = all < MOST_COLUMNS ? all : MOST_COLUMNS;
    rp_autobuf spread = {0}, dots = {0};

    rp_buf_puts(to, "<path class=\"l\" d=\"");
    for (size_t i = 0; i < columns; i++) {
        struct column c;

        column_of(axes, i, columns, &c);
        rp_buf_printf(to, "%c%.1f %.1f", i ? 'L' : 'M', c.x, y_of(axes, c.middle));
        if (c.high > c.low)
            rp_buf_printf(&spread, "M%.1f %.1fV%.1f", c.x, y_of(axes, c.high), y_of(axes, c.low));
        rp_buf_printf(&dots, "M%.1f %.1fh0", c.x, y_of(axes, c.middle));
    }
    rp_buf_puts(to, "\"/>\n");
    if (spread.len)
        rp_buf_printf(to, "<path class=\"b\" d=\"%s\"/>\n", rp_buf_text(&spread));
    if (all <= MOST_COLUMNS)
        rp_buf_printf(to, "<path class=\"d\" d=\"%s\"/>\n", rp_buf_text(&dots));
    to->failed |= spread.failed | dots.failed;
}

/* --- what a result is ---------------------------------------------------------------------- */

const char *rp_commit_name(const struct rp_commit_names *names, const char *commit)
{
    static const char dirty[] = "-dirty";
    const size_t all = commit ? strlen(commit) : 0, end = sizeof dirty - 1;
    const size_t len = all > end && strcmp(commit + all - end, dirty) == 0 ? all - end : all;
    size_t low = 0, high = names && len ? names->count : 0;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct rp_commit_name *at = &names->list[middle];
        int order = strncmp(commit, at->commit, len);

        order = order ? order : at->commit[len] ? -1 : 0;
        if (order == 0)
            return at->subject;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static void put_hint(struct rp_buf *to, const struct axes *axes, size_t at)
{
    const struct rp_history_point *p = &axes->series->points[at];
    const struct rp_history_result *r = p->result;
    const char *subject = rp_commit_name(axes->names, r->commit);
    rp_autobuf text = {0};

    if (r->commit)
        rp_history_put_commit(&text, r->commit);
    rp_buf_printf(&text, "%s%s%sresult %" PRId64 " of %s: %s %s", r->commit ? " " : "",
                  subject ? subject : "", subject ? ", " : "", r->id, r->added,
                  rp_unit_number(axes->unit, p->ms * 1e6).text, axes->unit.name);
    if (p->high > p->low)
        rp_buf_printf(&text, ", runs %s to %s", rp_unit_number(axes->unit, p->low * 1e6).text,
                      rp_unit_number(axes->unit, p->high * 1e6).text);
    rp_buf_printf(to, "<circle class=\"h\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"><title>",
                  x_of(axes, (double)at), y_of(axes, p->ms));
    rp_xml_text(to, rp_buf_text(&text), 160);
    rp_buf_puts(to, "</title></circle>\n");
    to->failed |= text.failed;
}

static void put_hints(struct rp_buf *to, const struct axes *axes)
{
    const struct rp_series *s = axes->series;
    const size_t all = s->point_count, most = s->change_count < MOST_HINTS ? 0 : MOST_HINTS;
    const size_t first = all > MOST_HINTS ? all - NEWEST_HINTS : 0;

    for (size_t i = most ? s->change_count - most : 0; first && i < s->change_count; i++)
        if (s->changes[i].at < first)
            put_hint(to, axes, s->changes[i].at);
    for (size_t i = first; i < all; i++)
        put_hint(to, axes, i);
}

/* Draws it between the last result before and the first one after. Newer ones come first, which
 * leave no room for others. */
static void put_changes(struct rp_buf *to, const struct axes *axes)
{
    const struct rp_series *s = axes->series;
    double line = INFINITY, label = INFINITY;

    for (size_t i = s->change_count; i-- > 0;) {
        const struct rp_change *c = &s->changes[i];
        const double x = x_of(axes, (double)c->at - 0.5);
        const char kind = c->ratio > 1 ? 's' : 'f';

        if (line - x < 2)
            continue;
        line = x;
        rp_buf_printf(to, "<path class=\"%c\" d=\"M%.1f %dV%d\"/>", kind, x, axes->top,
                      axes->floor);
        if (label - x >= CHANGE_ROOM) {
            rp_buf_printf(
                to,
                "<text class=\"n %ct\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s "
                "%%</text>",
                kind, x, axes->top - 6,
                rp_number_signed(100 * (c->ratio - 1), fabs(c->ratio - 1) < 1e-3 ? 3 : 1).text);
            label = x;
        }
        rp_buf_puts(to, "\n");
    }
}

void rp_history_put_chart(struct rp_buf *to, const struct rp_series *s, int top,
                          const struct rp_commit_names *names)
{
    const struct axes axes = axes_of(s, top, names);

    put_times_axis(to, &axes);
    put_commits_axis(to, &axes);
    put_changes(to, &axes);
    put_times(to, &axes);
    put_hints(to, &axes);
}

/* --- a picture of all ---------------------------------------------------------------------- */

/* Each series has a panel, one below the other. */
enum { HEAD = 50, TITLES = 44, PANEL = TITLES + HEIGHT, MOST_PANELS = 24, MOST_TITLE = 100 };

static void put_titles(struct rp_buf *to, const struct rp_series *s, int top)
{
    rp_autobuf where = {0};

    rp_buf_printf(to, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", LEFT, top + 20);
    rp_xml_text(to, s->kernel ? s->kernel : "all kernels", MOST_TITLE);
    rp_buf_printf(to, "</text>\n<text class=\"n\" x=\"%d\" y=\"%d\">", LEFT, top + 36);
    rp_buf_printf(&where, "%s%s  ", s->software ? "modelled, " : "", s->device);
    rp_history_put_program(&where, s->program, s->config);
    rp_xml_text(to, rp_buf_text(&where), 130);
    rp_buf_puts(to, "</text>\n");
    to->failed |= where.failed;
}

int rp_report_changes_svg(const struct rp_series_list *list, struct rp_buf *buf, struct rp_err *err)
{
    const size_t shown = list->count < MOST_PANELS ? list->count : MOST_PANELS;
    const int height = HEAD + (int)(shown ? shown : 1) * PANEL;

    rp_buf_printf(buf,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<style>%s</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"28\" font-size=\"16\">Median time of each result, in the "
                  "order of time; lines where it has changed</text>\n",
                  WIDTH, height, WIDTH, height, rp_history_chart_style, WIDTH, height, LEFT);
    for (size_t i = 0; i < shown; i++) {
        put_titles(buf, &list->list[i], HEAD + (int)i * PANEL);
        rp_history_put_chart(buf, &list->list[i], HEAD + (int)i * PANEL + TITLES, NULL);
    }
    if (list->count > shown)
        rp_buf_printf(buf,
                      "<text x=\"%d\" y=\"45\" class=\"n\">the first %zu of %zu series</text>\n",
                      LEFT, shown, list->count);
    rp_buf_puts(buf, "</svg>\n");
    return rp_report_end(buf, err);
}
