/* Writes the page of a history: all of it is there without a script. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/history_text.h"
#include "report/report.h"

enum {
    MOST_CHARTS = 100,
    MOST_ROWS = 1000,  /**< of the table of series */
    MOST_CHANGES = 20, /**< of a series */
    MOST_RESULTS = 30, /**< of the table of a series */
    MOST_NAME = 160    /**< cells; names of generated kernels have thousands */
};

/* --- sentences ----------------------------------------------------------------------------- */

void rp_history_put_change(struct rp_buf *to, const struct rp_series *s, const struct rp_change *c,
                           const char *name)
{
    const struct rp_history_result *r = s->points[c->at].result;
    const size_t points = c->found - c->at + 1;
    rp_autobuf since = {0};
    double sum = 0, after;

    /* The ratio was found with the mean of the logarithms of these. */
    for (size_t i = c->at; i <= c->found; i++)
        sum += log(s->points[i].ms) / (double)points;
    after = points == 1 ? s->points[c->at].ms : exp(sum);
    rp_buf_puts(&since, "since ");
    if (r->commit)
        rp_history_put_commit(&since, r->commit);
    else
        rp_buf_printf(&since, "result %" PRId64, r->id);
    rp_buf_printf(to, "%s: ", name);
    rp_change_text(to, c->ratio, after / c->ratio, after, rp_buf_text(&since));
    to->failed |= since.failed;
}

static const struct rp_change *last_change(const struct rp_series *s)
{
    return s->change_count ? &s->changes[s->change_count - 1] : NULL;
}

static const char *word_of(const struct rp_change *c)
{
    return c->ratio > 1 ? "slower" : "faster";
}

static const char *mark_of(enum rp_series_state state)
{
    return state == RP_SERIES_SLOWER ? "▼ " : state == RP_SERIES_FASTER ? "▲ " : "";
}

static void put_state(struct rp_buf *to, const struct rp_series *s)
{
    const char *state = rp_series_state_names[s->state];

    rp_buf_printf(to, "<span class=\"verdict %s\">%s%s</span>", state, mark_of(s->state), state);
}

/* --- the order ----------------------------------------------------------------------------- */

/** A series in its place on the page. */
struct placed {
    const struct rp_series *s;
    const char *name; /**< short */
    size_t at;        /**< in the list */
};

/* Results stand in the order of time, and so do pointers to them. */
static int by_last_change(const void *a, const void *b)
{
    const struct placed *of[] = {a, b};
    const struct rp_history_result *since[2];
    bool ended[2];

    for (int i = 0; i < 2; i++) {
        const struct rp_change *c = last_change(of[i]->s);

        since[i] = c ? of[i]->s->points[c->at].result : NULL;
        ended[i] = of[i]->s->state == RP_SERIES_ENDED;
    }
    if (since[0] != since[1])
        return !since[0] || (since[1] && since[0] < since[1]) ? 1 : -1;
    if (ended[0] != ended[1])
        return ended[0] ? 1 : -1;
    return of[0]->at < of[1]->at ? -1 : of[0]->at > of[1]->at;
}

/* --- text ---------------------------------------------------------------------------------- */

static void put_text(struct rp_buf *to, const char *text)
{
    rp_xml_text(to, text, UINT_MAX);
}

/** Writes a name, which is whole under the pointer where it is cut. */
static void put_name(struct rp_buf *to, const char *name, const char *whole)
{
    if (strcmp(name, whole) != 0 || rp_text_cells(name) > MOST_NAME) {
        rp_buf_puts(to, "<span title=\"");
        rp_xml_text(to, whole, 2000);
        rp_buf_puts(to, "\">");
        rp_xml_text(to, name, MOST_NAME);
        rp_buf_puts(to, "</span>");
    } else {
        rp_xml_text(to, name, MOST_NAME);
    }
}

static void put_program(struct rp_buf *to, const struct rp_series *s)
{
    rp_autobuf text = {0};

    rp_history_put_program(&text, s->program, s->config);
    rp_xml_text(to, rp_buf_text(&text), MOST_NAME);
    to->failed |= text.failed;
}

static void put_commit_cell(struct rp_buf *to, const struct rp_history_result *r,
                            const struct rp_commit_names *names)
{
    const char *subject = rp_commit_name(names, r->commit);
    rp_autobuf commit = {0};

    rp_history_put_commit(&commit, r->commit);
    rp_buf_puts(to, "<td class=\"code\">");
    rp_xml_text(to, rp_buf_text(&commit), 40);
    rp_buf_puts(to, "</td><td class=\"name\">");
    rp_xml_text(to, subject ? subject : "", 100);
    rp_buf_puts(to, "</td>");
    to->failed |= commit.failed;
}

static void begin_table(struct rp_buf *to, const char *caption, const char *const *heads)
{
    rp_buf_printf(to,
                  "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s; scrolls\">"
                  "<table><caption>%s</caption><thead><tr>",
                  caption, caption);
    for (; *heads; heads++)
        rp_buf_printf(to, "<th scope=\"col\"%s>%s</th>", **heads == '>' ? " class=\"n\"" : "",
                      *heads + (**heads == '>'));
    rp_buf_puts(to, "</tr></thead><tbody>\n");
}

static void end_table(struct rp_buf *to)
{
    rp_buf_puts(to, "</tbody></table></div>\n");
}

/* --- one series ---------------------------------------------------------------------------- */

static void put_change_lines(struct rp_buf *to, const struct placed *p,
                             const struct rp_commit_names *names)
{
    const struct rp_series *s = p->s;
    const size_t first = s->change_count > MOST_CHANGES ? s->change_count - MOST_CHANGES : 0;

    if (!s->change_count)
        return;
    rp_buf_puts(to, "<ul class=\"changes\">\n");
    for (size_t i = s->change_count; i-- > first;) {
        const struct rp_change *c = &s->changes[i];
        const struct rp_history_result *r = s->points[c->at].result;
        const char *subject = rp_commit_name(names, r->commit);
        rp_autobuf text = {0}, more = {0};

        rp_history_put_change(&text, s, c, p->name);
        rp_buf_printf(&more, "%s%sresult %" PRId64 " of %s", subject ? subject : "",
                      subject ? "; " : "", r->id, r->added);
        rp_buf_printf(to, "<li class=\"verdict %s\">%s", word_of(c),
                      mark_of(c->ratio > 1 ? RP_SERIES_SLOWER : RP_SERIES_FASTER));
        put_text(to, rp_buf_text(&text));
        rp_buf_puts(to, " <span class=\"dim\">");
        rp_xml_text(to, rp_buf_text(&more), MOST_NAME);
        rp_buf_puts(to, "</span></li>\n");
        to->failed |= text.failed | more.failed;
    }
    if (first)
        rp_buf_printf(to, "<li class=\"dim\">and %zu earlier change%s</li>\n", first,
                      rp_plural(first));
    rp_buf_puts(to, "</ul>\n");
}

static void put_results(struct rp_buf *to, const struct rp_series *s,
                        const struct rp_commit_names *names)
{
    static const char *const heads[] = {">result", "added",        "commit",       "subject",
                                        ">time",   ">fastest run", ">slowest run", NULL};
    const size_t shown = s->point_count < MOST_RESULTS ? s->point_count : MOST_RESULTS;
    struct rp_unit_span span = {0};
    struct rp_unit unit;
    rp_autobuf caption = {0};

    for (size_t i = 0; i < shown; i++)
        rp_unit_span_add(&span, s->points[s->point_count - 1 - i].high * 1e6);
    unit = rp_unit_of(RP_UNIT_TIME, span, true);
    rp_buf_printf(&caption, "Newest first%s, times in %s",
                  shown < s->point_count ? "; earlier ones are in history show" : "", unit.name);
    rp_buf_puts(to, "<details><summary>");
    if (shown < s->point_count)
        rp_buf_printf(to, "The newest %zu of %zu results", shown, s->point_count);
    else
        rp_buf_printf(to, "%zu result%s", shown, rp_plural(shown));
    rp_buf_puts(to, "</summary>");
    begin_table(to, rp_buf_text(&caption), heads);
    for (size_t i = 0; i < shown; i++) {
        const struct rp_history_point *p = &s->points[s->point_count - 1 - i];

        rp_buf_printf(to, "<tr><td class=\"n\">%" PRId64 "</td><td>", p->result->id);
        rp_xml_text(to, p->result->added, 40);
        rp_buf_puts(to, "</td>");
        put_commit_cell(to, p->result, names);
        rp_buf_printf(to, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>",
                      rp_unit_number(unit, p->ms * 1e6).text,
                      rp_unit_number(unit, p->low * 1e6).text,
                      rp_unit_number(unit, p->high * 1e6).text);
        rp_buf_puts(to, "</tr>\n");
    }
    end_table(to);
    rp_buf_puts(to, "</details>\n");
    to->failed |= caption.failed;
}

/* What keeps a verdict from being the last word. */
static void put_notes(struct rp_buf *to, const struct rp_series_list *list,
                      const struct rp_series *s)
{
    rp_autobuf text = {0};

    for (unsigned i = 0; i < RP_HISTORY_NOTES; i++) {
        rp_buf_free(&text);
        if (!rp_history_put_note(&text, &list->groups[s->group], s, i))
            continue;
        rp_buf_puts(to, "<p class=\"dim\">");
        put_text(to, rp_buf_text(&text));
        rp_buf_puts(to, "</p>\n");
    }
    rp_buf_free(&text);
    if (s->inexact)
        rp_buf_printf(&text, "the runs of %zu modelled result%s differ: no change begins with one",
                      s->inexact, rp_plural(s->inexact));
    if (s->state == RP_SERIES_UNDECIDED && !s->bounds) {
        rp_buf_puts(&text, text.len ? "; undecided: " : "undecided: ");
        rp_history_put_undecided(&text, s);
    }
    if (text.len) {
        rp_buf_puts(to, "<p class=\"dim\">");
        put_text(to, rp_buf_text(&text));
        rp_buf_puts(to, "</p>\n");
    }
    to->failed |= text.failed;
}

static void put_series(struct rp_buf *to, const struct rp_series_list *list, const struct placed *p,
                       size_t number, const struct rp_commit_names *names)
{
    const struct rp_series *s = p->s;
    const struct rp_history_point *newest = &s->points[s->point_count - 1];

    rp_buf_printf(to,
                  "<section class=\"half series\" id=\"s%zu\" aria-labelledby=\"s%zu-title\"><h3 "
                  "id=\"s%zu-title\">",
                  number, number, number);
    put_name(to, p->name, s->kernel ? s->kernel : p->name);
    rp_buf_puts(to, " ");
    put_state(to, s);
    rp_buf_puts(to, "</h3>\n<p class=\"dim\">");
    put_program(to, s);
    rp_buf_puts(to, "<br>");
    rp_xml_text(to, s->device, MOST_NAME);
    rp_buf_puts(to, "</p>\n");
    put_change_lines(to, p, names);
    put_notes(to, list, s);
    rp_buf_printf(to,
                  "<div class=\"wide\"><svg class=\"times\" viewBox=\"0 0 %d %d\" role=\"img\" "
                  "aria-label=\"",
                  RP_HISTORY_CHART_WIDTH, RP_HISTORY_CHART_HEIGHT);
    rp_xml_text(to, p->name, MOST_NAME);
    rp_buf_printf(to, ": %zu result%s, the newest %s; the table below has its numbers\">\n",
                  s->point_count, rp_plural(s->point_count),
                  rp_unit_one(RP_UNIT_TIME, newest->ms * 1e6, true).text);
    rp_history_put_chart(to, s, 0, names);
    rp_buf_puts(to, "</svg></div>\n");
    put_results(to, s, names);
    rp_buf_puts(to, "</section>\n");
}

/* --- all series ---------------------------------------------------------------------------- */

static void put_row(struct rp_buf *to, const struct placed *p, size_t number)
{
    const struct rp_series *s = p->s;
    const struct rp_change *c = last_change(s);
    rp_autobuf text = {0};

    rp_buf_puts(to, "<tr><td class=\"name\">");
    if (number <= MOST_CHARTS)
        rp_buf_printf(to, "<a href=\"#s%zu\">", number);
    put_name(to, p->name, s->kernel ? s->kernel : p->name);
    rp_buf_puts(to, number <= MOST_CHARTS ? "</a></td><td class=\"name\">"
                                          : "</td><td class=\"name\">");
    put_program(to, s);
    rp_buf_puts(to, "</td><td>");
    put_state(to, s);
    rp_buf_printf(to, "</td><td class=\"n\">%s</td><td class=\"n\">%zu</td><td>",
                  rp_unit_one(RP_UNIT_TIME, s->points[s->point_count - 1].ms * 1e6, true).text,
                  s->point_count);
    if (c) {
        rp_history_put_change(&text, s, c, p->name);
        put_text(to, rp_buf_text(&text) + strlen(p->name) + strlen(": "));
    }
    rp_buf_puts(to, "</td></tr>\n");
    to->failed |= text.failed;
}

static void put_overview(struct rp_buf *to, const struct placed *places, size_t count)
{
    static const char *const heads[] = {
        "kernel", "program and configuration", "state", ">newest", ">results", "last change", NULL};

    rp_buf_puts(to, "<section id=\"series\" aria-labelledby=\"series-title\"><h2 "
                    "id=\"series-title\">Series</h2>\n");
    begin_table(to, "Series, that of the last change first", heads);
    for (size_t i = 0; i < count && i < MOST_ROWS; i++)
        put_row(to, &places[i], i + 1);
    end_table(to);
    if (count > MOST_ROWS)
        rp_buf_printf(to, "<p>The table has the first %d of %zu series.</p>\n", MOST_ROWS, count);
    if (count > MOST_CHARTS)
        rp_buf_printf(to,
                      "<p>The first %d series have charts: --program, --config, --kernel and "
                      "--device choose others.</p>\n",
                      MOST_CHARTS);
    rp_buf_puts(to, "</section>\n");
}

static void put_modelled(struct rp_buf *to, const struct rp_series_list *list)
{
    size_t modelled = 0;

    for (size_t i = 0; i < list->count; i++)
        modelled += list->list[i].software;
    if (!modelled)
        return;
    rp_buf_puts(to, "<p id=\"device\" role=\"note\">");
    if (modelled == list->count)
        rp_buf_puts(to, "Modelled time: all results are of the software device. No time on this "
                        "page was measured on hardware.");
    else
        rp_buf_printf(to,
                      "Modelled time: %zu of %zu series %s of the software device, and %s times "
                      "were not measured on hardware.",
                      modelled, list->count, modelled == 1 ? "is" : "are",
                      modelled == 1 ? "its" : "their");
    rp_buf_puts(to, "</p>\n");
}

static void put_head(struct rp_buf *to, const struct rp_series_list *list,
                     const struct rp_short_names *names, const char *history)
{
    const struct rp_history_result *first = NULL, *last = NULL;
    rp_autobuf verdict = {0};
    const enum rp_series_state state = rp_history_put_verdict(&verdict, list, names->at);

    for (size_t i = 0; i < list->count; i++) {
        const struct rp_series *s = &list->list[i];
        const struct rp_history_result *begin = s->points[0].result;
        const struct rp_history_result *end = s->points[s->point_count - 1].result;

        first = !first || begin < first ? begin : first;
        last = !last || end > last ? end : last;
    }
    rp_buf_printf(to, "<p class=\"first-finding %s\">",
                  state == RP_SERIES_STEADY ? "equal" : rp_series_state_names[state]);
    put_text(to, rp_buf_text(&verdict));
    rp_buf_puts(to, "</p>\n<p class=\"dim\">");
    rp_xml_text(to, history, MOST_NAME);
    rp_buf_printf(to, ": %zu series", list->count);
    if (first) {
        rp_buf_puts(to, ", results of ");
        put_text(to, first->added);
        rp_buf_puts(to, " to ");
        put_text(to, last->added);
    }
    rp_buf_puts(to, ". A point is the median of the runs of one result, the bar behind it reaches "
                    "from the fastest run to the slowest; results stand in the order of time. A "
                    "line stands where the times have changed: solid to slower, dashed to "
                    "faster.</p>\n");
    to->failed |= verdict.failed;
}

static int name_all(const struct rp_series_list *list, struct rp_short_names *ret,
                    struct rp_err *err)
{
    rp_autofree const char **names = calloc(list->count + 1, sizeof *names);

    if (!names)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < list->count; i++)
        names[i] = list->list[i].kernel ? list->list[i].kernel : "all kernels";
    return rp_short_names_make(names, list->count, ret, err);
}

int rp_report_changes_html(const struct rp_series_list *list, const char *history,
                           const struct rp_commit_names *commits, struct rp_buf *buf,
                           struct rp_err *err)
{
    rp_autofree struct placed *places = calloc(list->count + 1, sizeof *places);
    rp_cleanup(rp_short_names_free) struct rp_short_names names = {0};
    int rc = places ? name_all(list, &names, err) : rp_out_of_memory(err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < list->count; i++)
        places[i] = (struct placed){.s = &list->list[i], .name = names.at[i], .at = i};
    qsort(places, list->count, sizeof *places, by_last_change);
    rp_buf_add(buf, rp_history_html_begin, rp_history_html_begin_bytes);
    rp_buf_puts(buf, "History of ");
    rp_xml_text(buf, history, MOST_NAME);
    rp_buf_add(buf, rp_history_html_middle, rp_history_html_middle_bytes);
    put_modelled(buf, list);
    put_head(buf, list, &names, history);
    put_overview(buf, places, list->count);
    for (size_t i = 0; i < list->count && i < MOST_CHARTS; i++)
        put_series(buf, list, &places[i], i + 1, commits);
    rp_buf_add(buf, rp_history_html_end, rp_history_html_end_bytes);
    return rp_report_end(buf, err);
}
