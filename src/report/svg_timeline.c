/* Kernels and copies by GPU, queue and stream, with the critical path. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dag.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report_forms.h"
#include "report/report_text.h"
#include "report/svg_roofline.h"

enum {
    WIDTH = 1200,
    LEFT = 230,
    RIGHT = 20,
    COLUMNS = WIDTH - LEFT - RIGHT,
    AXIS = 26,
    LANE = 34, /* from one to the next */
    BAR = 24,
    LEGEND_ROW = 18,
    MOST_LANES = 64,
    STEPS = 8,        /* heights of a column */
    MOST_JUMPS = 400, /* of the path, before it gets pale */
    LETTER = 8,       /* pixels */
    FRAMED = 8        /* from this width on */
};

struct picture {
    struct rp_buf *buf;
    const struct rp_dag_result *dag;
    const struct rp_timeline *timeline;
    size_t lanes;           /* that are drawn */
    double top;             /* of the first */
    double low_ns, span_ns; /* since the run began; from the first operation to the last */
    const char *named[RP_SVG_COLOURS];
    size_t named_count;
};

static double x_of(const struct picture *p, int64_t ns)
{
    double part = ((double)(ns - p->dag->start_ns) - p->low_ns) / p->span_ns;

    return LEFT + COLUMNS * fmin(fmax(part, 0), 1);
}

/* What the host does before and after would take the room of what is drawn. */
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

static double y_of(const struct picture *p, uint32_t lane)
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
    for (; p->named_count < kept && p->named_count < RP_SVG_COLOURS; p->named_count++)
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
    return rp_svg_colour(i < p->named_count ? i : RP_SVG_COLOURS);
}

static void put_legend(const struct picture *p, double y)
{
    static const char *const others[] = {
        "other kernels, and columns of what is narrower than a pixel", "copies"};
    static const char *const fills[] = {"#999999", "url(#copy)"};
    rp_autobuf note = {0};

    for (size_t i = 0; i < p->named_count + 2; i++, y += LEGEND_ROW) {
        bool is_named = i < p->named_count;

        rp_buf_printf(
            p->buf,
            "<rect x=\"%d\" y=\"%s\" width=\"14\" height=\"12\" fill=\"%s\" stroke=\"#666\"/>\n",
            LEFT, rp_svg_at(y).text, is_named ? rp_svg_colour(i) : fills[i - p->named_count]);
        rp_svg_text(p->buf,
                    (struct rp_svg_text){.x = LEFT + 20,
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
    rp_svg_text(
        p->buf,
        (struct rp_svg_text){.x = 12, .y = y + 11, .anchor = "start", .size = 12, .cells = 200},
        rp_buf_text(&note));
    p->buf->failed |= note.failed;
}

/* --- axis and lanes ------------------------------------------------------------------------- */

struct unit {
    double ns;
    const char *name;
};

/* 2, 5 or 10 times a power of ten: about eight of them. */
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
        double x = LEFT + COLUMNS * (n * step - p->low_ns) / p->span_ns;
        rp_autobuf text = {0};

        rp_buf_printf(p->buf, "<path d=\"M%s %sV%s\" stroke=\"#ddd\"/>\n", rp_svg_at(x).text,
                      rp_svg_at(p->top - 6).text, rp_svg_at(y_of(p, (uint32_t)p->lanes)).text);
        rp_buf_printf(&text, "%s %s", rp_number_fixed(n * step / unit->ns, decimals).text,
                      unit->name);
        rp_svg_text(p->buf,
                    (struct rp_svg_text){
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
    rp_svg_text(
        p->buf,
        (struct rp_svg_text){
            .x = LEFT - 8, .y = y_of(p, lane) + 16, .anchor = "end", .size = 12, .cells = 34},
        text.len ? rp_buf_text(&text) : "not known");
    p->buf->failed |= text.failed;
}

/* --- operations ----------------------------------------------------------------------------- */

/* What is narrower than a pixel is added up by column. */
struct columns {
    double busy[COLUMNS]; /* pixels */
    bool any[COLUMNS];    /* also what took no time */
    bool on_path[COLUMNS];
};

static bool is_wide(const struct picture *p, const struct rp_dag_step *s)
{
    return x_of(p, s->start_ns + s->duration_ns) - x_of(p, s->start_ns) >= 1;
}

static void put_slack(const struct picture *p, uint32_t lane, const struct rp_dag_step *s)
{
    double from = x_of(p, s->start_ns + s->duration_ns), to;
    int64_t room = p->dag->makespan_ns; /* more would run over the picture */

    to = x_of(p, s->start_ns + s->duration_ns + (s->slack_ns < room ? s->slack_ns : room));
    if (is_wide(p, s) && to - from >= 1)
        rp_buf_printf(p->buf, "<path d=\"M%s %sH%s\" stroke=\"#ccc\" stroke-width=\"6\"/>\n",
                      rp_svg_at(from).text, rp_svg_at(y_of(p, lane) + BAR / 2.0).text,
                      rp_svg_at(to).text);
}

static void put_bar(const struct picture *p, uint32_t lane, const struct rp_dag_step *s)
{
    double x = x_of(p, s->start_ns), width = x_of(p, s->start_ns + s->duration_ns) - x;
    unsigned letters = (unsigned)(width / LETTER);
    struct rp_number_text y = rp_svg_at(y_of(p, lane));

    rp_buf_printf(
        p->buf,
        "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%d\" fill=\"%s\" stroke=\"%s\"><title>",
        rp_svg_at(x).text, y.text, rp_svg_at(width).text, BAR, fill_of(p, s),
        s->on_path && width >= FRAMED ? "#000\" stroke-width=\"2" : "#fff\" stroke-width=\"0.3");
    rp_xml_text(p->buf, s->name, 120);
    rp_buf_printf(p->buf, "; %s us; slack %s us</title></rect>\n",
                  rp_number_fixed((double)s->duration_ns * 1e-3, 3).text,
                  rp_number_fixed((double)s->slack_ns * 1e-3, 3).text);
    if (s->on_path && width < FRAMED) /* a frame would hide its colour */
        rp_buf_printf(p->buf, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"4\" fill=\"#000\"/>\n",
                      rp_svg_at(x).text, rp_svg_at(y_of(p, lane) + BAR).text,
                      rp_svg_at(width).text);
    if (letters >= 6)
        rp_svg_text(p->buf,
                    (struct rp_svg_text){.x = x + 4,
                                         .y = y_of(p, lane) + 16,
                                         .anchor = "start",
                                         .size = 11,
                                         .cells = letters - 1},
                    s->name);
}

static void add_narrow(const struct picture *p, const struct rp_dag_step *s, struct columns *c)
{
    double x = x_of(p, s->start_ns) - LEFT;
    size_t at = x >= COLUMNS - 1 ? COLUMNS - 1 : (size_t)x;

    c->busy[at] += x_of(p, s->start_ns + s->duration_ns) - LEFT - x;
    c->any[at] = true;
    c->on_path[at] |= s->on_path;
}

/* Eighths; what ran at all is seen. */
static unsigned height_of(const struct columns *c, size_t at)
{
    double part = fmin(c->busy[at], 1);

    return c->any[at] ? (unsigned)fmax(1, round(part * STEPS)) : 0;
}

/* Neighbours of the same height are one. */
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
                          LEFT + i, rp_svg_at(y_of(p, lane) + BAR - pixels).text, next - i,
                          rp_svg_at(pixels).text, c->on_path[i] ? "#333" : "#999");
    }
}

static void put_operations(const struct picture *p, struct columns *columns)
{
    const struct rp_dag_result *dag = p->dag;

    for (size_t i = 0; i < dag->step_count; i++)
        if (p->timeline->track_of_step[i] < p->lanes)
            put_slack(p, p->timeline->track_of_step[i], &dag->steps[i]);
    for (unsigned path = 0; path < 2; path++) /* frames of the path are above the others */
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

/* From the end of each operation to the start of the next; steps of less than a pixel are left out.
 */
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
        double from = x_of(p, stops[i].start_ns), to = x_of(p, stops[i].end_ns);
        struct rp_number_text y = rp_svg_at(y_of(p, stops[i].lane) + BAR / 2.0);

        if (i && stops[i].lane == lane && to - last < 1)
            continue;
        rp_buf_printf(&line, "%c%s %s", i ? 'L' : 'M', rp_svg_at(from).text, y.text);
        rp_buf_printf(&line, "M%s %s", rp_svg_at(to).text, y.text);
        jumps++;
        last = to;
        lane = stops[i].lane;
    }
    /* Pale where it would cover all. */
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
    bottom = y_of(p, (uint32_t)p->lanes) + (has_more ? LEGEND_ROW : 0) + 8;
    rp_svg_begin(p->buf, parts, "timeline", WIDTH,
                 bottom + LEGEND_ROW * (double)(p->named_count + 4));
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
        rp_svg_text(p->buf,
                    (struct rp_svg_text){
                        .x = LEFT, .y = bottom - 12, .anchor = "start", .size = 12, .cells = 60},
                    rp_buf_text(&text));
        p->buf->failed |= text.failed;
    }
    put_legend(p, bottom);
    rp_svg_end(p->buf);
    return p->buf->failed ? rp_out_of_memory(err) : 0;
}

int rp_form_svg_timeline(const struct rp_report_parts *parts, struct rp_buf *buf,
                         struct rp_err *err)
{
    struct picture p = {.buf = buf,
                        .dag = parts->dag,
                        .timeline = parts->timeline,
                        .top = RP_SVG_TITLE_HEIGHT + AXIS};

    if (!parts->dag || !parts->timeline)
        return rp_fail(err, RP_BAD_INPUT,
                       "svg-timeline: none of the files is a trace with kernels or copies");
    p.lanes = parts->timeline->lane_count < MOST_LANES ? parts->timeline->lane_count : MOST_LANES;
    return draw(&p, parts, err);
}
