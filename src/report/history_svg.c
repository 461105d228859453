#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "report/text.h"
#include "report/xml.h"
#include "rocm-perf/report.h"

/* Colours of Okabe and Ito, as the picture of a search has. */
#define POINT  "#0072b2"
#define SLOWER "#d55e00"
#define FASTER "#009e73"

/* One panel for each series, below each other. */
enum {
    WIDTH = 900,
    LEFT = 90,
    RIGHT = 30,
    HEAD = 50,
    PANEL = 190,
    TOP = 44,
    BOTTOM = 34,
    MOST_PANELS = 24,
    MOST_TITLE = 100, /**< characters */
    MOST_TICKS = 12,
};

struct axes {
    const struct rp_series *series;
    double low, high;
    int top, floor;
};

static double x_of(const struct axes *axes, size_t at)
{
    const size_t count = axes->series->point_count;

    if (count < 2)
        return (LEFT + WIDTH - RIGHT) / 2.0;
    return LEFT + 10 + (double)at / (double)(count - 1) * (WIDTH - LEFT - RIGHT - 20);
}

static double y_of(const struct axes *axes, double ms)
{
    return axes->top + (axes->high - ms) / (axes->high - axes->low) * (axes->floor - axes->top);
}

static struct axes axes_of(const struct rp_series *s, size_t panel)
{
    const int at = HEAD + (int)panel * PANEL;
    struct axes axes = {
        .series = s, .low = HUGE_VAL, .top = at + TOP, .floor = at + PANEL - BOTTOM};
    double margin;

    for (size_t i = 0; i < s->point_count; i++) {
        axes.low = fmin(axes.low, s->points[i].ms);
        axes.high = fmax(axes.high, s->points[i].ms);
    }
    /* At least some per cent: noise is not to look like mountains. */
    margin = fmax(0.1 * (axes.high - axes.low), 0.02 * axes.high);
    axes.low -= margin;
    axes.high += margin;
    return axes;
}

static void put_axes(struct rp_buf *to, const struct axes *axes)
{
    const double step = rp_svg_round_step((axes->high - axes->low) / 4);
    const double first = ceil(axes->low / step);
    const struct rp_series *s = axes->series;

    for (int i = 0; i < MOST_TICKS && (first + i) * step <= axes->high; i++)
        rp_buf_printf(to,
                      "<path class=\"g\" d=\"M%d %.1fH%d\"/><text class=\"n\" x=\"%d\" "
                      "y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
                      LEFT, y_of(axes, (first + i) * step), WIDTH - RIGHT, LEFT - 8,
                      y_of(axes, (first + i) * step) + 4, (first + i) * step);
    rp_buf_printf(to,
                  "<path class=\"a\" d=\"M%d %dV%dH%d\"/>\n"
                  "<text class=\"n\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">result %" PRId64
                  "</text>\n",
                  LEFT, axes->top, axes->floor, WIDTH - RIGHT, x_of(axes, 0), axes->floor + 16,
                  s->points[0].result->id);
    if (s->point_count > 1)
        rp_buf_printf(
            to, "<text class=\"n\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%" PRId64 "</text>\n",
            x_of(axes, s->point_count - 1), axes->floor + 16,
            s->points[s->point_count - 1].result->id);
}

static void put_titles(struct rp_buf *to, const struct axes *axes)
{
    const struct rp_series *s = axes->series;
    rp_autobuf where = {0};

    rp_buf_printf(to, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", LEFT, axes->top - 24);
    rp_xml_text(to, s->kernel ? s->kernel : "all kernels", MOST_TITLE);
    rp_buf_printf(to, "</text>\n<text class=\"n\" x=\"%d\" y=\"%d\">", LEFT, axes->top - 8);
    rp_buf_printf(&where, "%s  %s  %s", s->software ? "modelled ms" : "ms", s->device, s->program);
    if (s->config[0])
        rp_buf_printf(&where, "  %s", s->config);
    for (size_t i = 0; i < where.len; i++)
        if (where.data[i] == '\n')
            where.data[i] = ' ';
    rp_xml_text(to, rp_buf_text(&where), 130);
    rp_buf_puts(to, "</text>\n");
    to->failed |= where.failed;
}

/* Between the last result before and the first one after. */
static void put_change(struct rp_buf *to, const struct axes *axes, const struct rp_change *c)
{
    const double x = (x_of(axes, c->at) + x_of(axes, c->at - 1)) / 2;
    const char kind = c->ratio > 1 ? 's' : 'f';

    rp_buf_printf(to,
                  "<path class=\"%c\" d=\"M%.1f %dV%d\"/><text class=\"n\" x=\"%.1f\" y=\"%d\" "
                  "fill=\"%s\">%s %%</text>\n",
                  kind, x, axes->top, axes->floor, x + 4, axes->top + 12,
                  kind == 's' ? SLOWER : FASTER, rp_number_signed(100 * (c->ratio - 1), 1).text);
}

static void put_points(struct rp_buf *to, const struct axes *axes)
{
    const struct rp_series *s = axes->series;

    rp_buf_puts(to, "<path class=\"l\" d=\"");
    for (size_t i = 0; i < s->point_count; i++)
        rp_buf_printf(to, "%c%.1f %.1f", i ? 'L' : 'M', x_of(axes, i), y_of(axes, s->points[i].ms));
    rp_buf_puts(to, "\"/>\n");
    for (size_t i = 0; i < s->point_count; i++) {
        const struct rp_history_result *r = s->points[i].result;

        rp_buf_printf(to,
                      "<circle class=\"p\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>result %" PRId64
                      ", %.6g ms, ",
                      x_of(axes, i), y_of(axes, s->points[i].ms), r->id, s->points[i].ms);
        rp_xml_text(to, r->added, 40);
        rp_buf_puts(to, ", commit ");
        rp_xml_text(to, r->commit ? r->commit : "-", 50);
        rp_buf_puts(to, "</title></circle>\n");
    }
}

static void put_panel(struct rp_buf *to, const struct rp_series *s, size_t panel)
{
    const struct axes axes = axes_of(s, panel);

    put_axes(to, &axes);
    put_titles(to, &axes);
    for (size_t i = 0; i < s->change_count; i++)
        put_change(to, &axes, &s->changes[i]);
    put_points(to, &axes);
}

int rp_report_changes_svg(const struct rp_series_list *list, struct rp_buf *buf, struct rp_err *err)
{
    const size_t shown = list->count < MOST_PANELS ? list->count : MOST_PANELS;
    const int height = HEAD + (int)(shown ? shown : 1) * PANEL;

    rp_buf_printf(buf,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"13\">\n"
                  "<style>.p{fill:" POINT "}.l{stroke:" POINT ";stroke-opacity:.4;fill:none}"
                  ".s{stroke:" SLOWER ";stroke-width:1.5}.f{stroke:" FASTER
                  ";stroke-width:1.5;stroke-dasharray:5 3}.g{stroke:#ddd}"
                  ".a{stroke:#333;fill:none}.n{font-size:12px}</style>\n"
                  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
                  "<text x=\"%d\" y=\"28\" font-size=\"16\">Median time of each result, in the "
                  "order of time; lines where it has changed</text>\n",
                  WIDTH, height, WIDTH, height, WIDTH, height, LEFT);
    for (size_t i = 0; i < shown; i++)
        put_panel(buf, &list->list[i], i);
    if (list->count > shown)
        rp_buf_printf(buf,
                      "<text x=\"%d\" y=\"45\" class=\"n\">the first %zu of %zu series</text>\n",
                      LEFT, shown, list->count);
    rp_buf_puts(buf, "</svg>\n");
    return buf->failed ? rp_out_of_memory(err) : 0;
}
