/* This file draws the pictures of a report: kernels below their ceilings, and the timeline. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "report/report.h"

/* Pictures share their frame, text, colours and axes. They have white below all, so that they look
 * the same on dark pages. */

/* These are colours of Okabe and Ito, which people with any kind of colour vision can tell apart.
 * The last one is for all others. */
enum { SVG_COLOURS = 7 };
enum { SVG_TITLE_HEIGHT = 56 };

struct svg_text {
    double x, y;
    const char *anchor; /**< "start", "middle", "end" */
    unsigned size;      /**< pixels */
    unsigned cells;     /**< that it has room for */
    double turned;      /**< degrees */
    bool whole;         /**< a tooltip has the text that has no room */
};

static const char *svg_colour(size_t index)
{
    static const char *const colours[SVG_COLOURS + 1] = {
        "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"};

    return colours[index < SVG_COLOURS ? index : SVG_COLOURS];
}

/* Formats a coordinate with two decimals. */
static struct rp_number_text svg_at(double value)
{
    return rp_number_fixed(value, 2);
}

/* White around the letters keeps them readable over lines. */
static void svg_text(struct rp_buf *buf, struct svg_text how, const char *text)
{
    rp_buf_printf(buf, "<text x=\"%s\" y=\"%s\" font-size=\"%u\" text-anchor=\"%s\"",
                  svg_at(how.x).text, svg_at(how.y).text, how.size, how.anchor);
    if (how.turned < 0 || how.turned > 0)
        rp_buf_printf(buf, " transform=\"rotate(%s %s %s)\"", svg_at(how.turned).text,
                      svg_at(how.x).text, svg_at(how.y).text);
    rp_buf_puts(buf, ">");
    if (how.whole && rp_text_cells(text) > how.cells) {
        rp_buf_puts(buf, "<title>");
        rp_xml_text(buf, text, UINT_MAX);
        rp_buf_puts(buf, "</title>");
    }
    rp_xml_text(buf, text, how.cells);
    rp_buf_puts(buf, "</text>\n");
}

/* Begins a picture with its title, and says what its times are if they are modelled. */
static void svg_begin(struct rp_buf *buf, const struct rp_report_parts *parts, const char *what,
                      double width, double height)
{
    rp_autobuf title = {0}, mark = {0};
    struct rp_number_text w = svg_at(width), h = svg_at(height);

    rp_buf_printf(&title, "%s: %s", what, parts->title);
    rp_form_put_mark(&mark, parts);
    rp_buf_printf(
        buf,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" viewBox=\"0 0 "
        "%s %s\" font-family=\"sans-serif\" role=\"img\">\n<title>",
        w.text, h.text, w.text, h.text);
    rp_xml_text(buf, rp_buf_text(&title), 200);
    rp_buf_printf(
        buf,
        "</title>\n<style>text{fill:#000;paint-order:stroke;stroke:#fff;stroke-width:3px;"
        "stroke-linejoin:round}</style>\n<rect width=\"%s\" height=\"%s\" fill=\"#fff\"/>\n",
        w.text, h.text);
    svg_text(buf,
             (struct svg_text){
                 .x = 12, .y = 24, .anchor = "start", .size = 16, .cells = (unsigned)(width / 9.5)},
             rp_buf_text(&title));
    if (mark.len)
        svg_text(buf,
                 (struct svg_text){.x = 12, .y = 44, .anchor = "start", .size = 13, .cells = 100},
                 rp_buf_text(&mark));
    buf->failed |= title.failed || mark.failed;
}

static void svg_end(struct rp_buf *buf)
{
    rp_buf_puts(buf, "</svg>\n");
}

/* Kernels are drawn below the ceilings of memories and units, GPU by GPU. Both axes are
 * logarithmic. */

enum {
    WIDTH = 960,
    PLOT_HEIGHT = 440,
    LEFT = 76,
    RIGHT = 24,
    PANEL_TOP = 30,    /**< the name of the GPU */
    PANEL_BOTTOM = 56, /**< numbers of the axis and its name */
    LEGEND_ROW = 18,
    MOST_NAMED = 20,
    LABEL_APART = 15
};

/* This is one chart. Its ranges are powers of ten. */
struct panel {
    const struct rp_roofline *roofline;
    uint32_t device;
    double top; /**< of the plot */
    double x_low, x_high, y_low, y_high;
    double fastest_gbps, highest_gflops; /**< 0: not known */
};

struct point {
    enum rp_level level;
    double x, y;
    bool known;
};

/* The bytes of memory give the place, or those of the first cache with known bytes. */
static struct point point_of(const struct rp_roofline_kernel *k)
{
    for (unsigned i = 0; i < RP_LEVEL_COUNT && k->gflops.known && k->gflops.value > 0; i++)
        if (k->intensity[i].known && k->intensity[i].value > 0 && isfinite(k->intensity[i].value))
            return (struct point){.level = (enum rp_level)i,
                                  .x = log10(k->intensity[i].value),
                                  .y = log10(k->gflops.value),
                                  .known = true};
    return (struct point){0};
}

static double x_of(const struct panel *p, double log_x)
{
    return LEFT + (log_x - p->x_low) / (p->x_high - p->x_low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct panel *p, double log_y)
{
    return p->top + (p->y_high - log_y) / (p->y_high - p->y_low) * PLOT_HEIGHT;
}

static void widen(struct panel *p, double x, double y)
{
    p->x_low = fmin(p->x_low, floor(x - 0.15));
    p->x_high = fmax(p->x_high, ceil(x + 0.15));
    p->y_low = fmin(p->y_low, floor(y - 0.15));
    p->y_high = fmax(p->y_high, ceil(y + 0.15));
}

static struct panel panel_of(const struct rp_roofline *r, uint32_t device, double top)
{
    const struct rp_ceilings *c = &r->devices[device].ceilings;
    struct panel p = {.roofline = r,
                      .device = device,
                      .top = top + PANEL_TOP,
                      .x_low = -1,
                      .x_high = 2,
                      .y_low = HUGE_VAL,
                      .y_high = -HUGE_VAL};

    for (unsigned i = 0; i < RP_FLOP_COUNT; i++)
        if (c->gflops[i].known && c->gflops[i].value > 0) {
            p.highest_gflops = fmax(p.highest_gflops, c->gflops[i].value);
            p.y_high = fmax(p.y_high, ceil(log10(c->gflops[i].value) + 0.15));
            p.y_low = fmin(p.y_low, floor(log10(c->gflops[i].value) - 2));
        }
    for (unsigned i = 0; i < RP_LEVEL_COUNT; i++)
        if (c->gbps[i].known && c->gbps[i].value > 0) {
            p.fastest_gbps = fmax(p.fastest_gbps, c->gbps[i].value);
            if (p.highest_gflops > 0)
                p.x_high = fmax(p.x_high, ceil(log10(p.highest_gflops / c->gbps[i].value)));
        }
    for (size_t i = 0; i < r->kernel_count; i++) {
        struct point at = point_of(&r->kernels[i]);

        if (at.known && r->kernels[i].device == device)
            widen(&p, at.x, at.y);
    }
    if (!(p.y_low < p.y_high)) {
        p.y_low = isfinite(p.y_low) ? p.y_low : 0;
        p.y_high = p.y_low + 3;
    }
    return p;
}

/* --- axes ----------------------------------------------------------------------------------- */

static void put_power(struct rp_buf *buf, const struct panel *p, bool is_x, int power)
{
    double at = is_x ? x_of(p, power) : y_of(p, power);
    struct rp_number_text a = svg_at(at);
    struct svg_text how = {.x = is_x ? at : LEFT - 6,
                           .y = is_x ? p->top + PLOT_HEIGHT + 18 : at + 4,
                           .anchor = is_x ? "middle" : "end",
                           .size = 12,
                           .cells = 20};
    rp_autobuf text = {0};

    if (is_x)
        rp_buf_printf(buf, "<path d=\"M%s %sV%s\" stroke=\"#ddd\"/>\n", a.text, svg_at(p->top).text,
                      svg_at(p->top + PLOT_HEIGHT).text);
    else
        rp_buf_printf(buf, "<path d=\"M%d %sH%d\" stroke=\"#ddd\"/>\n", LEFT, a.text,
                      WIDTH - RIGHT);
    if (power >= -3 && power <= 6)
        rp_buf_puts(&text, rp_number_fixed(pow(10, power), power < 0 ? (unsigned)-power : 0).text);
    else
        rp_buf_printf(&text, "1e%d", power);
    svg_text(buf, how, rp_buf_text(&text));
    buf->failed |= text.failed;
}

/* There are at most about ten lines each way, however wide the ranges are. */
static void put_axes(struct rp_buf *buf, const struct panel *p)
{
    int x_step = (int)fmax(1, ceil((p->x_high - p->x_low) / 10));
    int y_step = (int)fmax(1, ceil((p->y_high - p->y_low) / 10));

    for (int power = (int)p->x_low; power <= (int)p->x_high; power += x_step)
        put_power(buf, p, true, power);
    for (int power = (int)p->y_low; power <= (int)p->y_high; power += y_step)
        put_power(buf, p, false, power);
    svg_text(buf,
             (struct svg_text){.x = (LEFT + WIDTH - RIGHT) / 2.0,
                               .y = p->top + PLOT_HEIGHT + 40,
                               .anchor = "middle",
                               .size = 13,
                               .cells = 60},
             "FLOPs for each byte");
    svg_text(buf,
             (struct svg_text){.x = 18,
                               .y = p->top + PLOT_HEIGHT / 2.0,
                               .anchor = "middle",
                               .size = 13,
                               .cells = 40,
                               .turned = -90},
             "GFLOP/s");
}

/* --- ceilings ------------------------------------------------------------------------------- */

static void put_line(struct rp_buf *buf, const double from[2], const double to[2],
                     const char *style)
{
    rp_buf_printf(buf, "<path d=\"M%s %sL%s %s\" fill=\"none\" stroke=\"#000\"%s/>\n",
                  svg_at(from[0]).text, svg_at(from[1]).text, svg_at(to[0]).text,
                  svg_at(to[1]).text, style);
}

/* Levels with the same rate share one line. */
static bool is_same_rate(const struct panel *p, enum rp_level a, enum rp_level b)
{
    const struct rp_quantity *gbps = p->roofline->devices[p->device].ceilings.gbps;

    return gbps[a].known && gbps[b].known &&
           fabs(gbps[a].value - gbps[b].value) <= 1e-9 * gbps[a].value;
}

static bool is_drawn(const struct panel *p, enum rp_level level)
{
    for (unsigned i = 0; i < level; i++)
        if (is_same_rate(p, (enum rp_level)i, level))
            return true;
    return false;
}

/* The line is clipped to the plot: it shows what a memory can feed, up to the highest unit. */
static void put_memory(struct rp_buf *buf, const struct panel *p, enum rp_level level, double gbps)
{
    static const char *const styles[RP_LEVEL_COUNT] = {
        " stroke-width=\"2\"", " stroke-dasharray=\"10 4\"", " stroke-dasharray=\"4 4\"",
        " stroke-dasharray=\"2 3\""};
    double rate = log10(gbps);
    double most = p->highest_gflops > 0 ? log10(p->highest_gflops) : p->y_high;
    double x0 = fmax(p->x_low, p->y_low - rate), x1 = fmin(p->x_high, most - rate);
    const double from[2] = {x_of(p, x0), y_of(p, x0 + rate)},
                 to[2] = {x_of(p, x1), y_of(p, x1 + rate)};
    double turned = -atan2(from[1] - to[1], to[0] - from[0]), along = 30 + 10 * (double)level;
    rp_autobuf text = {0};

    if (x0 >= x1)
        return;
    put_line(buf, from, to, styles[level]);
    for (unsigned i = level; i < RP_LEVEL_COUNT; i++)
        if (is_same_rate(p, level, (enum rp_level)i))
            rp_buf_printf(&text, "%s%s", text.len ? ", " : "", rp_level_names[i]);
    rp_buf_printf(&text, " %s GB/s", rp_number_fixed(gbps, 0).text);
    svg_text(buf,
             (struct svg_text){.x = from[0] + along * cos(turned) + 5 * sin(turned),
                               .y = from[1] + along * sin(turned) - 5 * cos(turned),
                               .anchor = "start",
                               .size = 11,
                               .cells = 60,
                               .turned = turned * 180 / acos(-1)},
             rp_buf_text(&text));
    buf->failed |= text.failed;
}

/* Units of the same height share one line. @p label_y is that of the line above. */
static void put_unit(struct rp_buf *buf, const struct panel *p, double gflops, double *label_y)
{
    const struct rp_ceilings *c = &p->roofline->devices[p->device].ceilings;
    double y = y_of(p, log10(gflops)), label;
    double x = p->fastest_gbps > 0 ? fmax(p->x_low, log10(gflops / p->fastest_gbps)) : p->x_low;
    const double from[2] = {x_of(p, x), y}, to[2] = {WIDTH - RIGHT, y};
    rp_autobuf text = {0};

    put_line(buf, from, to, "");
    for (unsigned i = 0; i < RP_FLOP_COUNT; i++)
        if (c->gflops[i].known && fabs(c->gflops[i].value - gflops) <= 1e-9 * gflops)
            rp_buf_printf(&text, "%s%s", text.len ? ", " : "", rp_flop_names[i]);
    rp_buf_printf(&text, ": %s GFLOP/s", rp_number_fixed(gflops, 0).text);
    label = fmax(y - 4, *label_y + LABEL_APART);
    *label_y = label;
    svg_text(buf,
             (struct svg_text){
                 .x = WIDTH - RIGHT - 4, .y = label, .anchor = "end", .size = 11, .cells = 90},
             rp_buf_text(&text));
    buf->failed |= text.failed;
}

static void put_ceilings(struct rp_buf *buf, const struct panel *p)
{
    const struct rp_ceilings *c = &p->roofline->devices[p->device].ceilings;
    double below = HUGE_VAL, label_y = -HUGE_VAL;

    for (unsigned i = 0; i < RP_LEVEL_COUNT; i++)
        if (c->gbps[i].known && c->gbps[i].value > 0 && !is_drawn(p, (enum rp_level)i))
            put_memory(buf, p, (enum rp_level)i, c->gbps[i].value);
    for (;;) {
        double next = 0;

        for (unsigned i = 0; i < RP_FLOP_COUNT; i++)
            if (c->gflops[i].known && c->gflops[i].value < below * (1 - 1e-9))
                next = fmax(next, c->gflops[i].value);
        if (next <= 0)
            return;
        put_unit(buf, p, next, &label_y);
        below = next;
    }
}

/* --- kernels -------------------------------------------------------------------------------- */

static void put_marker(struct rp_buf *buf, enum rp_level level, double x, double y, size_t index)
{
    /* HBM is a circle, L2 a square, L1 a triangle, and LDS a diamond. */
    static const char *const shapes[RP_LEVEL_COUNT] = {"M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z",
                                                       "M-5-5h10v10h-10z", "M0-7l6 11h-12z",
                                                       "M0-7l7 7l-7 7l-7-7z"};

    rp_buf_printf(buf,
                  "<path transform=\"translate(%s %s)\" d=\"%s\" fill=\"%s\" stroke=\"#000\"/>\n",
                  svg_at(x).text, svg_at(y).text, shapes[level], svg_colour(index));
}

static void put_legend(struct rp_buf *buf, const struct panel *p,
                       const struct rp_roofline_kernel *k, const struct point *at, size_t index)
{
    double y = p->top + PLOT_HEIGHT + PANEL_BOTTOM + LEGEND_ROW * (double)index;
    rp_autobuf text = {0};

    put_marker(buf, at->level, LEFT, y, index);
    rp_buf_printf(&text, "%zu: %s GFLOP/s, %s FLOPs for each byte of %s: ", index + 1,
                  rp_number_fixed(k->gflops.value, 2).text,
                  rp_number_fixed(k->intensity[at->level].value, 3).text,
                  rp_level_names[at->level]);
    rp_utf8_fix(&text, k->name, strlen(k->name));
    svg_text(
        buf,
        (struct svg_text){
            .x = LEFT + 14, .y = y + 4, .anchor = "start", .size = 12, .cells = 118, .whole = true},
        rp_buf_text(&text));
    buf->failed |= text.failed;
}

static bool is_shown(const struct panel *p, const struct rp_roofline_kernel *k)
{
    return k->device == p->device && point_of(k).known;
}

/* The last are drawn first, so that kernels with most time lie above the others. */
static void put_points(struct rp_buf *buf, const struct panel *p)
{
    size_t shown = 0;

    for (size_t i = 0; i < p->roofline->kernel_count; i++)
        shown += is_shown(p, &p->roofline->kernels[i]);
    for (size_t i = p->roofline->kernel_count, n = shown; i-- > 0;) {
        const struct rp_roofline_kernel *k = &p->roofline->kernels[i];
        const struct point at = point_of(k);
        rp_autobuf number = {0};

        if (!is_shown(p, k))
            continue;
        n--;
        put_marker(buf, at.level, x_of(p, at.x), y_of(p, at.y), n);
        if (n >= MOST_NAMED)
            continue;
        rp_buf_printf(&number, "%zu", n + 1);
        svg_text(buf,
                 (struct svg_text){.x = x_of(p, at.x) + 9,
                                   .y = y_of(p, at.y) + 4,
                                   .anchor = "start",
                                   .size = 11,
                                   .cells = 10},
                 rp_buf_text(&number));
        put_legend(buf, p, k, &at, n);
        buf->failed |= number.failed;
    }
}

static size_t legend_rows(const struct rp_roofline *r, uint32_t device)
{
    const struct panel p = {.roofline = r, .device = device};
    size_t rows = 0;

    for (size_t i = 0; i < r->kernel_count; i++)
        rows += is_shown(&p, &r->kernels[i]);
    return rows < MOST_NAMED ? rows : MOST_NAMED + (rows > MOST_NAMED);
}

static double panel_height(const struct rp_roofline *r, uint32_t device)
{
    return PANEL_TOP + PLOT_HEIGHT + PANEL_BOTTOM +
           LEGEND_ROW * (double)(legend_rows(r, device) + 1);
}

/* Their time, FLOPs or bytes were not counted, or are 0. */
static void put_not_drawn(struct rp_buf *buf, const struct panel *p)
{
    size_t hidden = 0;
    rp_autobuf text = {0};

    for (size_t i = 0; i < p->roofline->kernel_count; i++)
        hidden += p->roofline->kernels[i].device == p->device &&
                  !point_of(&p->roofline->kernels[i]).known;
    if (hidden == 0)
        return;
    rp_buf_printf(&text, "%zu kernel%s without time, FLOPs or bytes that are known: not drawn",
                  hidden, rp_plural(hidden));
    svg_text(buf,
             (struct svg_text){.x = LEFT + 14,
                               .y = p->top + PLOT_HEIGHT + PANEL_BOTTOM + 4 +
                                    LEGEND_ROW * (double)legend_rows(p->roofline, p->device),
                               .anchor = "start",
                               .size = 12,
                               .cells = 100},
             rp_buf_text(&text));
    buf->failed |= text.failed;
}

static void put_panel(struct rp_buf *buf, const struct rp_roofline *r, uint32_t device, double top)
{
    const struct rp_roofline_device *d = &r->devices[device];
    const struct panel p = panel_of(r, device, top);
    rp_autobuf name = {0};

    rp_buf_printf(&name, "GPU %" PRId64 ": %s%s", d->id,
                  d->product
                      ?: *d->arch ? d->product ?: d->arch
                                  : "unknown",
                  p.highest_gflops > 0 ? "" : ", whose ceilings are not known (--arch)");
    if (d->modelled_clock_mhz)
        rp_buf_printf(&name, ", at %u MHz", d->modelled_clock_mhz);
    svg_text(
        buf,
        (struct svg_text){.x = LEFT, .y = top + 18, .anchor = "start", .size = 13, .cells = 100},
        rp_buf_text(&name));
    put_axes(buf, &p);
    put_ceilings(buf, &p);
    put_points(buf, &p);
    put_not_drawn(buf, &p);
    if (legend_rows(r, device) > MOST_NAMED)
        svg_text(
            buf,
            (struct svg_text){.x = LEFT + 14,
                              .y = p.top + PLOT_HEIGHT + PANEL_BOTTOM + LEGEND_ROW * MOST_NAMED + 4,
                              .anchor = "start",
                              .size = 12,
                              .cells = 100},
            "the others, grey, have less time each");
    buf->failed |= name.failed;
}

int rp_form_svg_roofline(const struct rp_report_parts *parts, struct rp_buf *buf,
                         struct rp_err *err)
{
    const struct rp_roofline *r = parts->roofline;
    double height = SVG_TITLE_HEIGHT, top = SVG_TITLE_HEIGHT;

    if (!r || r->reason || r->device_count == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "svg-roofline: there is no roofline%s%s; profile --roofline "
                       "counts what it needs",
                       r && r->reason ? ": " : "", r && r->reason ? r->reason : "");
    for (size_t i = 0; i < r->device_count; i++)
        height += panel_height(r, (uint32_t)i);
    svg_begin(buf, parts, "roofline", WIDTH, height);
    for (size_t i = 0; i < r->device_count; i++) {
        put_panel(buf, r, (uint32_t)i, top);
        top += panel_height(r, (uint32_t)i);
    }
    svg_end(buf);
    return rp_report_end(buf, err);
}

/* Kernels and copies are drawn by GPU, queue and stream, with the critical path. */

enum {
    TIMELINE_WIDTH = 1200,
    TIMELINE_LEFT = 230,
    TIMELINE_RIGHT = 20,
    COLUMNS = TIMELINE_WIDTH - TIMELINE_LEFT - TIMELINE_RIGHT,
    AXIS = 26,
    LANE = 34, /**< from one to the next */
    BAR = 24,
    TIMELINE_LEGEND_ROW = 18,
    MOST_LANES = 64,
    STEPS = 8,        /**< heights of a column */
    MOST_JUMPS = 400, /**< of the path, before it gets pale */
    LETTER = 8,       /**< pixels */
    FRAMED = 8        /**< from this width on */
};

struct picture {
    struct rp_buf *buf;
    const struct rp_dag_result *dag;
    const struct rp_timeline *timeline;
    size_t lanes;           /**< number of drawn lanes */
    double top;             /**< of the first */
    double low_ns, span_ns; /**< since the run began; from the first operation to the last */
    const char *named[SVG_COLOURS];
    size_t named_count;
};

static double x_of_time(const struct picture *p, int64_t ns)
{
    double part = ((double)(ns - p->dag->start_ns) - p->low_ns) / p->span_ns;

    return TIMELINE_LEFT + COLUMNS * fmin(fmax(part, 0), 1);
}

/* The host's time before and after is left out, because it would take the room of the rest. */
static void choose_range(struct picture *p)
{
    double high = 0;

    p->low_ns = p->dag->step_count ? HUGE_VAL : 0;
    for (size_t i = 0; i < p->dag->step_count; i++) {
        const struct rp_dag_step *s = &p->dag->steps[i];
        double start = (double)(s->start_ns - p->dag->start_ns);

        p->low_ns = fmin(p->low_ns, start);
        high = fmax(high, start + (double)s->duration_ns);
    }
    p->span_ns = fmax(high - p->low_ns, 1);
}

static double y_of_lane(const struct picture *p, uint32_t lane)
{
    return p->top + LANE * (double)lane;
}

/* --- colours -------------------------------------------------------------------------------- */

struct total {
    const char *name;
    int64_t ns;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct total *)a)->name, ((const struct total *)b)->name);
}

static int by_time(const void *a, const void *b)
{
    const struct total *x = a, *y = b;

    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

/* Kernels with most time have a colour of their own. */
static int choose_colours(struct picture *p, struct rp_err *err)
{
    rp_autofree struct total *totals = malloc((p->dag->step_count + 1) * sizeof *totals);
    size_t count = 0, kept = 0;

    if (!totals)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < p->dag->step_count; i++)
        if (!p->dag->steps[i].is_copy)
            totals[count++] = (struct total){p->dag->steps[i].name, p->dag->steps[i].duration_ns};
    qsort(totals, count, sizeof *totals, by_name);
    for (size_t i = 0; i < count; i++)
        if (kept && strcmp(totals[kept - 1].name, totals[i].name) == 0)
            totals[kept - 1].ns += totals[i].ns;
        else
            totals[kept++] = totals[i];
    qsort(totals, kept, sizeof *totals, by_time);
    for (; p->named_count < kept && p->named_count < SVG_COLOURS; p->named_count++)
        p->named[p->named_count] = totals[p->named_count].name;
    return 0;
}

static const char *fill_of(const struct picture *p, const struct rp_dag_step *s)
{
    size_t i = 0;

    if (s->is_copy)
        return "url(#copy)";
    while (i < p->named_count && strcmp(p->named[i], s->name) != 0)
        i++;
    return svg_colour(i < p->named_count ? i : SVG_COLOURS);
}

static void put_lane_legend(const struct picture *p, double y)
{
    static const char *const others[] = {
        "other kernels, and columns of what is narrower than a pixel", "copies"};
    static const char *const fills[] = {"#999999", "url(#copy)"};
    rp_autobuf note = {0};

    for (size_t i = 0; i < p->named_count + 2; i++, y += TIMELINE_LEGEND_ROW) {
        bool is_named = i < p->named_count;

        rp_buf_printf(
            p->buf,
            "<rect x=\"%d\" y=\"%s\" width=\"14\" height=\"12\" fill=\"%s\" stroke=\"#666\"/>\n",
            TIMELINE_LEFT, svg_at(y).text, is_named ? svg_colour(i) : fills[i - p->named_count]);
        svg_text(p->buf,
                 (struct svg_text){.x = TIMELINE_LEFT + 20,
                                   .y = y + 11,
                                   .anchor = "start",
                                   .size = 12,
                                   .cells = 130,
                                   .whole = true},
                 is_named ? p->named[i] : others[i - p->named_count]);
    }
    rp_buf_printf(&note,
                  "framed or with black below, and joined: the critical path; light grey behind an "
                  "operation: its "
                  "slack; times since the run began, which takes %s ms end to end",
                  rp_number_fixed((double)p->dag->makespan_ns * 1e-6, 4).text);
    svg_text(p->buf,
             (struct svg_text){.x = 12, .y = y + 11, .anchor = "start", .size = 12, .cells = 200},
             rp_buf_text(&note));
    p->buf->failed |= note.failed;
}

/* --- axis and lanes ------------------------------------------------------------------------- */

struct unit {
    double ns;
    const char *name;
};

/* The step is 2, 5 or 10 times a power of ten, so that there are about eight. */
static double tick_step(double span_ns)
{
    double power = pow(10, floor(log10(span_ns / 8))), digits = span_ns / 8 / power;

    return fmax((digits <= 2 ? 2 : digits <= 5 ? 5 : 10) * power, 1);
}

static void put_axis(const struct picture *p)
{
    static const struct unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    double step = tick_step(p->span_ns), high = p->low_ns + p->span_ns;
    const struct unit *unit = units;
    unsigned decimals;

    while (unit->ns > 1 && unit->ns > high / 2)
        unit++;
    decimals = (unsigned)fmax(0, ceil(log10(unit->ns / step) - 1e-9));
    for (double n = ceil(p->low_ns / step); n * step <= high; n++) {
        double x = TIMELINE_LEFT + COLUMNS * (n * step - p->low_ns) / p->span_ns;
        rp_autobuf text = {0};

        rp_buf_printf(p->buf, "<path d=\"M%s %sV%s\" stroke=\"#ddd\"/>\n", svg_at(x).text,
                      svg_at(p->top - 6).text, svg_at(y_of_lane(p, (uint32_t)p->lanes)).text);
        rp_buf_printf(&text, "%s %s", rp_number_fixed(n * step / unit->ns, decimals).text,
                      unit->name);
        svg_text(p->buf,
                 (struct svg_text){
                     .x = x, .y = p->top - 10, .anchor = "middle", .size = 12, .cells = 30},
                 rp_buf_text(&text));
        p->buf->failed |= text.failed;
    }
}

static void put_id(struct rp_buf *buf, const char *name, int64_t id)
{
    if (id >= 0)
        rp_buf_printf(buf, "%s%s %" PRId64, buf->len ? ", " : "", name, id);
}

static void put_lane_name(const struct picture *p, uint32_t lane)
{
    const struct rp_timeline_track *l = &p->timeline->lanes[lane];
    rp_autobuf text = {0};

    if (p->dag->process_count > 1)
        put_id(&text, "process", p->dag->processes[l->process].pid);
    put_id(&text, "agent", l->agent);
    put_id(&text, "queue", l->queue);
    put_id(&text, "stream", l->stream);
    svg_text(p->buf,
             (struct svg_text){.x = TIMELINE_LEFT - 8,
                               .y = y_of_lane(p, lane) + 16,
                               .anchor = "end",
                               .size = 12,
                               .cells = 34},
             text.len ? rp_buf_text(&text) : "not known");
    p->buf->failed |= text.failed;
}

/* --- operations ----------------------------------------------------------------------------- */

/* Operations that are narrower than a pixel are added up by column. */
struct columns {
    double busy[COLUMNS]; /**< pixels */
    bool any[COLUMNS];    /**< also operations without a length */
    bool on_path[COLUMNS];
};

static bool is_wide(const struct picture *p, const struct rp_dag_step *s)
{
    return x_of_time(p, s->start_ns + s->duration_ns) - x_of_time(p, s->start_ns) >= 1;
}

static void put_slack(const struct picture *p, uint32_t lane, const struct rp_dag_step *s)
{
    double from = x_of_time(p, s->start_ns + s->duration_ns), to;
    int64_t room = p->dag->makespan_ns; /* More would leave the picture. */

    to = x_of_time(p, s->start_ns + s->duration_ns + (s->slack_ns < room ? s->slack_ns : room));
    if (is_wide(p, s) && to - from >= 1)
        rp_buf_printf(p->buf, "<path d=\"M%s %sH%s\" stroke=\"#ccc\" stroke-width=\"6\"/>\n",
                      svg_at(from).text, svg_at(y_of_lane(p, lane) + BAR / 2.0).text,
                      svg_at(to).text);
}

static void put_bar(const struct picture *p, uint32_t lane, const struct rp_dag_step *s)
{
    double x = x_of_time(p, s->start_ns), width = x_of_time(p, s->start_ns + s->duration_ns) - x;
    unsigned letters = (unsigned)(width / LETTER);
    struct rp_number_text y = svg_at(y_of_lane(p, lane));

    rp_buf_printf(
        p->buf,
        "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%d\" fill=\"%s\" stroke=\"%s\"><title>",
        svg_at(x).text, y.text, svg_at(width).text, BAR, fill_of(p, s),
        s->on_path && width >= FRAMED ? "#000\" stroke-width=\"2" : "#fff\" stroke-width=\"0.3");
    rp_xml_text(p->buf, s->name, 120);
    rp_buf_printf(p->buf, "; %s us; slack %s us</title></rect>\n",
                  rp_number_fixed((double)s->duration_ns * 1e-3, 3).text,
                  rp_number_fixed((double)s->slack_ns * 1e-3, 3).text);
    if (s->on_path && width < FRAMED) /* A frame would hide its colour. */
        rp_buf_printf(p->buf, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"4\" fill=\"#000\"/>\n",
                      svg_at(x).text, svg_at(y_of_lane(p, lane) + BAR).text, svg_at(width).text);
    if (letters >= 6)
        svg_text(p->buf,
                 (struct svg_text){.x = x + 4,
                                   .y = y_of_lane(p, lane) + 16,
                                   .anchor = "start",
                                   .size = 11,
                                   .cells = letters - 1},
                 s->name);
}

static void add_narrow(const struct picture *p, const struct rp_dag_step *s, struct columns *c)
{
    double x = x_of_time(p, s->start_ns) - TIMELINE_LEFT;
    size_t at = x >= COLUMNS - 1 ? COLUMNS - 1 : (size_t)x;

    c->busy[at] += x_of_time(p, s->start_ns + s->duration_ns) - TIMELINE_LEFT - x;
    c->any[at] = true;
    c->on_path[at] |= s->on_path;
}

/* Heights are eighths, and everything that ran is visible. */
static unsigned height_of(const struct columns *c, size_t at)
{
    double part = fmin(c->busy[at], 1);

    return c->any[at] ? (unsigned)fmax(1, round(part * STEPS)) : 0;
}

/* Neighbours of the same height become one. */
static void put_columns(const struct picture *p, uint32_t lane, const struct columns *c)
{
    for (size_t i = 0, next; i < COLUMNS; i = next) {
        unsigned height = height_of(c, i);
        double pixels = BAR * (double)height / STEPS;

        for (next = i + 1;
             next < COLUMNS && height_of(c, next) == height && c->on_path[next] == c->on_path[i];)
            next++;
        if (height)
            rp_buf_printf(p->buf,
                          "<rect x=\"%zu\" y=\"%s\" width=\"%zu\" height=\"%s\" fill=\"%s\"/>\n",
                          TIMELINE_LEFT + i, svg_at(y_of_lane(p, lane) + BAR - pixels).text,
                          next - i, svg_at(pixels).text, c->on_path[i] ? "#333" : "#999");
    }
}

static void put_operations(const struct picture *p, struct columns *columns)
{
    const struct rp_dag_result *dag = p->dag;

    for (size_t i = 0; i < dag->step_count; i++)
        if (p->timeline->track_of_step[i] < p->lanes)
            put_slack(p, p->timeline->track_of_step[i], &dag->steps[i]);
    for (unsigned path = 0; path < 2; path++) /* Frames of the path lie above the others. */
        for (size_t i = 0; i < dag->step_count; i++) {
            uint32_t lane = p->timeline->track_of_step[i];

            if (lane >= p->lanes || dag->steps[i].on_path != (path == 1))
                continue;
            if (is_wide(p, &dag->steps[i]))
                put_bar(p, lane, &dag->steps[i]);
            else
                add_narrow(p, &dag->steps[i], &columns[lane]);
        }
    for (uint32_t lane = 0; lane < p->lanes; lane++)
        put_columns(p, lane, &columns[lane]);
}

/* --- the path ------------------------------------------------------------------------------- */

struct stop {
    int64_t start_ns, end_ns;
    uint32_t lane;
};

static int by_start(const void *a, const void *b)
{
    const struct stop *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns != y->end_ns ? (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns)
                                  : (x->lane > y->lane) - (x->lane < y->lane);
}

/* Draws lines from the end of each operation to the start of the next. Steps of less than a pixel
 * are left out. */
static int put_path(const struct picture *p, struct rp_err *err)
{
    rp_autofree struct stop *stops = malloc((p->dag->step_count + 1) * sizeof *stops);
    size_t count = 0, jumps = 0;
    rp_autobuf line = {0};
    double last = 0;
    uint32_t lane = UINT32_MAX;

    if (!stops)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < p->dag->step_count; i++) {
        const struct rp_dag_step *s = &p->dag->steps[i];

        if (s->on_path && p->timeline->track_of_step[i] < p->lanes)
            stops[count++] = (struct stop){s->start_ns, s->start_ns + s->duration_ns,
                                           p->timeline->track_of_step[i]};
    }
    qsort(stops, count, sizeof *stops, by_start);
    for (size_t i = 0; i < count; i++) {
        double from = x_of_time(p, stops[i].start_ns), to = x_of_time(p, stops[i].end_ns);
        struct rp_number_text y = svg_at(y_of_lane(p, stops[i].lane) + BAR / 2.0);

        if (i && stops[i].lane == lane && to - last < 1)
            continue;
        rp_buf_printf(&line, "%c%s %s", i ? 'L' : 'M', svg_at(from).text, y.text);
        rp_buf_printf(&line, "M%s %s", svg_at(to).text, y.text);
        jumps++;
        last = to;
        lane = stops[i].lane;
    }
    /* The line is pale where it would cover everything. */
    rp_buf_puts(p->buf, "<path fill=\"none\" stroke=\"#000\"");
    if (jumps > MOST_JUMPS)
        rp_buf_printf(p->buf, " stroke-opacity=\"%s\"",
                      rp_number_fixed(fmax(0.02, (double)MOST_JUMPS / (double)jumps / 4), 3).text);
    rp_buf_printf(p->buf, " d=\"%s\"/>\n", rp_buf_text(&line));
    p->buf->failed |= line.failed;
    return 0;
}

/* -------------------------------------------------------------------------------------------- */

static int draw(struct picture *p, const struct rp_report_parts *parts, struct rp_err *err)
{
    rp_autofree struct columns *columns = calloc(p->lanes + 1, sizeof *columns);
    bool has_more = p->lanes < p->timeline->lane_count;
    double bottom;

    if (!columns)
        return rp_out_of_memory(err);
    choose_range(p);
    if (choose_colours(p, err) < 0)
        return -RP_ENVIRONMENT;
    bottom = y_of_lane(p, (uint32_t)p->lanes) + (has_more ? TIMELINE_LEGEND_ROW : 0) + 8;
    svg_begin(p->buf, parts, "timeline", TIMELINE_WIDTH,
              bottom + TIMELINE_LEGEND_ROW * (double)(p->named_count + 4));
    rp_buf_puts(
        p->buf,
        "<defs><pattern id=\"copy\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"6\" height=\"6\" fill=\"#fff\"/><path d=\"M0 6L6 0\" stroke=\"#666\"/>"
        "</pattern></defs>\n");
    put_axis(p);
    for (uint32_t lane = 0; lane < p->lanes; lane++)
        put_lane_name(p, lane);
    put_operations(p, columns);
    if (put_path(p, err) < 0)
        return -RP_ENVIRONMENT;
    if (has_more) {
        rp_autobuf text = {0};

        rp_buf_printf(&text, "and %zu more streams", p->timeline->lane_count - p->lanes);
        svg_text(
            p->buf,
            (struct svg_text){
                .x = TIMELINE_LEFT, .y = bottom - 12, .anchor = "start", .size = 12, .cells = 60},
            rp_buf_text(&text));
        p->buf->failed |= text.failed;
    }
    put_lane_legend(p, bottom);
    svg_end(p->buf);
    return p->buf->failed ? rp_out_of_memory(err) : 0;
}

int rp_form_svg_timeline(const struct rp_report_parts *parts, struct rp_buf *buf,
                         struct rp_err *err)
{
    struct picture p = {
        .buf = buf, .dag = parts->dag, .timeline = parts->timeline, .top = SVG_TITLE_HEIGHT + AXIS};

    if (!parts->dag || !parts->timeline)
        return rp_form_no_graph(parts, "svg-timeline", err);
    p.lanes = parts->timeline->lane_count < MOST_LANES ? parts->timeline->lane_count : MOST_LANES;
    return draw(&p, parts, err);
}
