/* Kernels below the ceilings of memories and units, GPU by GPU; both axes are logarithmic. */
#include "report/svg_roofline.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "report/report_forms.h"
#include "report/report_text.h"

enum {
    WIDTH = 960,
    PLOT_HEIGHT = 440,
    LEFT = 76,
    RIGHT = 24,
    PANEL_TOP = 30,    /* the name of the GPU */
    PANEL_BOTTOM = 56, /* numbers of the axis and its name */
    LEGEND_ROW = 18,
    MOST_NAMED = 20,
    LABEL_APART = 15
};

/* One chart. Ranges are powers of ten. */
struct panel {
    const struct rp_roofline *roofline;
    uint32_t device;
    double top; /* of the plot */
    double x_low, x_high, y_low, y_high;
    double fastest_gbps, highest_gflops; /* 0: not known */
};

struct point {
    enum rp_level level;
    double x, y;
    bool known;
};

/* By the bytes of memory; of the first cache whose bytes are known, where those are not. */
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
    struct rp_number_text a = rp_svg_at(at);
    struct rp_svg_text how = {.x = is_x ? at : LEFT - 6,
                              .y = is_x ? p->top + PLOT_HEIGHT + 18 : at + 4,
                              .anchor = is_x ? "middle" : "end",
                              .size = 12,
                              .cells = 20};
    rp_autobuf text = {0};

    if (is_x)
        rp_buf_printf(buf, "<path d=\"M%s %sV%s\" stroke=\"#ddd\"/>\n", a.text,
                      rp_svg_at(p->top).text, rp_svg_at(p->top + PLOT_HEIGHT).text);
    else
        rp_buf_printf(buf, "<path d=\"M%d %sH%d\" stroke=\"#ddd\"/>\n", LEFT, a.text,
                      WIDTH - RIGHT);
    if (power >= -3 && power <= 6)
        rp_buf_puts(&text, rp_number_fixed(pow(10, power), power < 0 ? (unsigned)-power : 0).text);
    else
        rp_buf_printf(&text, "1e%d", power);
    rp_svg_text(buf, how, rp_buf_text(&text));
    buf->failed |= text.failed;
}

/* At most about ten lines each way, however wide the ranges are. */
static void put_axes(struct rp_buf *buf, const struct panel *p)
{
    int x_step = (int)fmax(1, ceil((p->x_high - p->x_low) / 10));
    int y_step = (int)fmax(1, ceil((p->y_high - p->y_low) / 10));

    for (int power = (int)p->x_low; power <= (int)p->x_high; power += x_step)
        put_power(buf, p, true, power);
    for (int power = (int)p->y_low; power <= (int)p->y_high; power += y_step)
        put_power(buf, p, false, power);
    rp_svg_text(buf,
                (struct rp_svg_text){.x = (LEFT + WIDTH - RIGHT) / 2.0,
                                     .y = p->top + PLOT_HEIGHT + 40,
                                     .anchor = "middle",
                                     .size = 13,
                                     .cells = 60},
                "FLOPs for each byte");
    rp_svg_text(buf,
                (struct rp_svg_text){.x = 18,
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
                  rp_svg_at(from[0]).text, rp_svg_at(from[1]).text, rp_svg_at(to[0]).text,
                  rp_svg_at(to[1]).text, style);
}

/* Levels as fast as each other are one line. */
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

/* Clipped to the plot: what a memory feeds, up to the highest unit. */
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
    rp_svg_text(buf,
                (struct rp_svg_text){.x = from[0] + along * cos(turned) + 5 * sin(turned),
                                     .y = from[1] + along * sin(turned) - 5 * cos(turned),
                                     .anchor = "start",
                                     .size = 11,
                                     .cells = 60,
                                     .turned = turned * 180 / acos(-1)},
                rp_buf_text(&text));
    buf->failed |= text.failed;
}

/* Units of the same height are one line. @p label_y: of the line above */
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
    rp_svg_text(buf,
                (struct rp_svg_text){
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
    /* HBM: circle; L2: square; L1: triangle; LDS: diamond */
    static const char *const shapes[RP_LEVEL_COUNT] = {"M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z",
                                                       "M-5-5h10v10h-10z", "M0-7l6 11h-12z",
                                                       "M0-7l7 7l-7 7l-7-7z"};

    rp_buf_printf(buf,
                  "<path transform=\"translate(%s %s)\" d=\"%s\" fill=\"%s\" stroke=\"#000\"/>\n",
                  rp_svg_at(x).text, rp_svg_at(y).text, shapes[level], rp_svg_colour(index));
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
    rp_svg_text(
        buf,
        (struct rp_svg_text){
            .x = LEFT + 14, .y = y + 4, .anchor = "start", .size = 12, .cells = 118, .whole = true},
        rp_buf_text(&text));
    buf->failed |= text.failed;
}

static bool is_shown(const struct panel *p, const struct rp_roofline_kernel *k)
{
    return k->device == p->device && point_of(k).known;
}

/* The last first: kernels with most time are above the others. */
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
        rp_svg_text(buf,
                    (struct rp_svg_text){.x = x_of(p, at.x) + 9,
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

/* Their time, FLOPs or bytes were not counted, or are none. */
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
                  hidden, hidden == 1 ? "" : "s");
    rp_svg_text(buf,
                (struct rp_svg_text){.x = LEFT + 14,
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
    rp_svg_text(
        buf,
        (struct rp_svg_text){.x = LEFT, .y = top + 18, .anchor = "start", .size = 13, .cells = 100},
        rp_buf_text(&name));
    put_axes(buf, &p);
    put_ceilings(buf, &p);
    put_points(buf, &p);
    put_not_drawn(buf, &p);
    if (legend_rows(r, device) > MOST_NAMED)
        rp_svg_text(buf,
                    (struct rp_svg_text){.x = LEFT + 14,
                                         .y = p.top + PLOT_HEIGHT + PANEL_BOTTOM +
                                              LEGEND_ROW * MOST_NAMED + 4,
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
    double height = RP_SVG_TITLE_HEIGHT, top = RP_SVG_TITLE_HEIGHT;

    if (!r || r->reason || r->device_count == 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "svg-roofline: there is no roofline%s%s; profile --roofline "
                       "counts what it needs",
                       r && r->reason ? ": " : "", r && r->reason ? r->reason : "");
    for (size_t i = 0; i < r->device_count; i++)
        height += panel_height(r, (uint32_t)i);
    rp_svg_begin(buf, parts, "roofline", WIDTH, height);
    for (size_t i = 0; i < r->device_count; i++) {
        put_panel(buf, r, (uint32_t)i, top);
        top += panel_height(r, (uint32_t)i);
    }
    rp_svg_end(buf);
    return rp_report_end(buf, err);
}

const char *rp_svg_colour(size_t index)
{
    static const char *const colours[RP_SVG_COLOURS + 1] = {
        "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999"};

    return colours[index < RP_SVG_COLOURS ? index : RP_SVG_COLOURS];
}

struct rp_number_text rp_svg_at(double value)
{
    return rp_number_fixed(value, 2);
}

void rp_svg_text(struct rp_buf *buf, struct rp_svg_text how, const char *text)
{
    rp_buf_printf(buf, "<text x=\"%s\" y=\"%s\" font-size=\"%u\" text-anchor=\"%s\"",
                  rp_svg_at(how.x).text, rp_svg_at(how.y).text, how.size, how.anchor);
    if (how.turned < 0 || how.turned > 0)
        rp_buf_printf(buf, " transform=\"rotate(%s %s %s)\"", rp_svg_at(how.turned).text,
                      rp_svg_at(how.x).text, rp_svg_at(how.y).text);
    rp_buf_puts(buf, ">");
    if (how.whole && rp_text_cells(text) > how.cells) {
        rp_buf_puts(buf, "<title>");
        rp_xml_text(buf, text, UINT_MAX);
        rp_buf_puts(buf, "</title>");
    }
    rp_xml_text(buf, text, how.cells);
    rp_buf_puts(buf, "</text>\n");
}

void rp_svg_begin(struct rp_buf *buf, const struct rp_report_parts *parts, const char *what,
                  double width, double height)
{
    rp_autobuf title = {0}, mark = {0};
    struct rp_number_text w = rp_svg_at(width), h = rp_svg_at(height);

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
    rp_svg_text(
        buf,
        (struct rp_svg_text){
            .x = 12, .y = 24, .anchor = "start", .size = 16, .cells = (unsigned)(width / 9.5)},
        rp_buf_text(&title));
    if (mark.len)
        rp_svg_text(
            buf,
            (struct rp_svg_text){.x = 12, .y = 44, .anchor = "start", .size = 13, .cells = 100},
            rp_buf_text(&mark));
    buf->failed |= title.failed || mark.failed;
}

void rp_svg_end(struct rp_buf *buf)
{
    rp_buf_puts(buf, "</svg>\n");
}
