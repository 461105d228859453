#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/history_text.h"
#include "report/report.h"

/* Keys are in alphabetical order in every object, and unknown values are null. */

/* Writes "KEY=VALUE" lines as an object. */
static void add_config(struct rp_json_writer *json, const char *lines)
{
    rp_json_add_object(json, "config");
    while (*lines) {
        const size_t length = strcspn(lines, "\n"), end = strcspn(lines, "=\n");
        rp_autobuf key = {0}, value = {0};

        rp_buf_add(&key, lines, end);
        if (end < length)
            rp_buf_add(&value, lines + end + 1, length - end - 1);
        rp_json_add_text(json, rp_buf_text(&key), rp_buf_text(&value));
        json->out->failed |= key.failed || value.failed;
        lines += length + (lines[length] == '\n');
    }
    rp_json_end(json);
}

/* --- results ------------------------------------------------------------------------------- */

static void add_times(struct rp_json_writer *json, const struct rp_history_times *times)
{
    rp_json_add_text(json, "kernel", times->kernel);
    rp_json_add_count_if(json, "launches", times->launches, times->launches);
    rp_json_add_array(json, "runs_ms");
    for (size_t i = 0; i < times->run_count; i++)
        rp_json_add_number(json, NULL, times->runs_ms[i]);
    rp_json_end(json);
    rp_json_add_bool(json, "runtime_internal", times->runtime_internal);
    rp_json_end(json);
}

/* In a list of lines each result is one line; otherwise its times have lines of their own. */
static void add_result(struct rp_json_writer *json, const struct rp_history_result *r, bool times,
                       bool line)
{
    const size_t shown = times ? r->times_count : r->times_count > 0;

    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "added", r->added);
    rp_json_add_text(json, "commit", r->commit);
    rp_json_add_bool(json, "complete", r->complete);
    add_config(json, r->config);
    rp_json_add_text(json, "device", r->device);
    rp_json_add_text(json, "hash", r->hash);
    rp_json_add_int(json, "id", r->id);
    rp_json_add_text(json, "program", r->program);
    rp_json_add_text(json, "rocm_version", r->rocm_version);
    rp_json_add_bool(json, "software", r->software);
    rp_json_add_array(json, "times");
    for (size_t i = 0; i < shown; i++) {
        if (!line)
            rp_json_break(json, 6);
        json->compact = line; /* Exported lines have no blank behind this comma. */
        rp_json_add_object(json, NULL);
        json->compact = false;
        add_times(json, &r->times[i]);
    }
    rp_json_end(json);
    rp_json_add_text(json, "tracer", r->tracer);
    rp_json_add_bool(json, "wall", r->wall);
    rp_json_end(json);
}

int rp_report_history_json(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_buf *buf, struct rp_err *err)
{
    struct rp_json_writer json = rp_report_json(buf);

    rp_json_add_array(&json, "results");
    for (size_t i = 0; i < count; i++) {
        rp_json_break(&json, 4);
        add_result(&json, results[i], times, false);
    }
    rp_json_end(&json);
    rp_json_add_text(&json, "schema_version", "1.0");
    return rp_report_json_end(&json, err);
}

int rp_report_history_lines(const struct rp_history_result *const *results, size_t count,
                            struct rp_buf *buf, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct rp_json_writer json = {.out = buf};

        add_result(&json, results[i], true, true);
        rp_buf_puts(buf, "\n");
    }
    return rp_report_end(buf, err);
}

/* --- CSV (RFC 4180) ------------------------------------------------------------------------ */

static void put_cell(struct rp_buf *buf, const char *text)
{
    rp_csv_cell(buf, text ? text : "");
    rp_buf_puts(buf, ",");
}

/* A cell is one line, so keys are separated by semicolons there. */
static void put_config_cell(struct rp_buf *buf, const char *lines)
{
    rp_autobuf text = {0};

    for (; *lines; lines++)
        rp_buf_add(&text, *lines == '\n' ? ";" : lines, 1);
    put_cell(buf, rp_buf_text(&text));
    buf->failed |= text.failed;
}

static void put_csv(struct rp_buf *buf, const struct rp_history_result *r,
                    const struct rp_history_times *times)
{
    for (size_t i = 0; i < times->run_count; i++) {
        rp_buf_printf(buf, "%" PRId64 ",", r->id);
        put_cell(buf, r->added);
        put_cell(buf, r->commit);
        put_config_cell(buf, r->config);
        put_cell(buf, r->program);
        put_cell(buf, r->device);
        rp_buf_printf(buf, "%d,", r->complete);
        put_cell(buf, times->kernel);
        rp_buf_printf(buf, "%d,", times->runtime_internal);
        if (times->launches)
            rp_buf_printf(buf, "%" PRIu64, times->launches);
        rp_buf_printf(buf, ",%zu,", i + 1);
        rp_buf_number(buf, times->runs_ms[i]);
        rp_buf_puts(buf, "\n");
    }
}

int rp_report_history_csv(const struct rp_history_result *const *results, size_t count,
                          struct rp_buf *buf, struct rp_err *err)
{
    rp_buf_puts(buf, "result,added,commit,config,program,device,complete,kernel,runtime_internal,"
                     "launches,run,ms\n");
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < results[i]->times_count; j++)
            put_csv(buf, results[i], &results[i]->times[j]);
    return rp_report_end(buf, err);
}

/* --- series -------------------------------------------------------------------------------- */

static void add(struct rp_json_writer *json, const char *key, double value)
{
    rp_json_add_number(json, key, rp_round6(value));
}

static void add_change(struct rp_json_writer *json, const struct rp_series *s,
                       const struct rp_change *c)
{
    rp_json_add_object(json, NULL);
    rp_json_add_text(json, "commit", s->points[c->at].result->commit);
    rp_json_add_int(json, "found_in", s->points[c->found].result->id);
    add(json, "ratio", c->ratio);
    rp_json_add_int(json, "since", s->points[c->at].result->id);
    rp_json_end(json);
}

/* Smaller ratios tell nothing: six digits have no more, and JSON has no infinity. */
static const double least_ratio = 1e-5;

static void add_newest(struct rp_json_writer *json, const struct rp_change_newest *is)
{
    if (is->odd) {
        rp_json_add_object(json, "newest_odd");
        rp_json_add_int(json, "id", is->odd->result->id);
        add(json, "ratio", is->odd_ratio);
        rp_json_end(json);
    } else {
        rp_json_add_null(json, "newest_odd");
    }
    if (is->low >= least_ratio && is->high <= 1 / least_ratio) {
        rp_json_add_array(json, "newest_range");
        add(json, NULL, is->low);
        add(json, NULL, is->high);
        rp_json_end(json);
    } else {
        rp_json_add_null(json, "newest_range");
    }
}

static void add_series(struct rp_json_writer *json, const struct rp_series *s)
{
    rp_json_add_object(json, NULL);
    rp_json_add_bool(json, "bounds", s->bounds);
    rp_json_add_array(json, "changes");
    for (size_t i = 0; i < s->change_count; i++)
        add_change(json, s, &s->changes[i]);
    rp_json_end(json);
    add_config(json, s->config);
    rp_json_add_text(json, "device", s->device);
    rp_json_add_bool(json, "exact", s->exact);
    rp_json_add_count(json, "inexact", s->inexact);
    rp_json_add_text(json, "kernel", s->kernel);
    rp_json_add_count(json, "missing", s->missing);
    add_newest(json, &s->newest_is);
    rp_json_add_array(json, "points");
    for (size_t i = 0; i < s->point_count; i++) {
        rp_json_add_array(json, NULL);
        rp_json_add_int(json, NULL, s->points[i].result->id);
        add(json, NULL, s->points[i].ms);
        rp_json_end(json);
    }
    rp_json_end(json);
    rp_json_add_text(json, "program", s->program);
    rp_json_add_bool(json, "replaced", s->replaced);
    rp_json_add_bool(json, "runtime_internal", s->runtime_internal);
    rp_json_add_bool(json, "software", s->software);
    rp_json_add_text(json, "state", rp_series_state_names[s->state]);
    rp_json_add_bool(json, "taken_back", s->taken_back);
    rp_json_end(json);
}

int rp_report_changes_json(const struct rp_series_list *list, const struct rp_change_rule *rule,
                           struct rp_buf *buf, struct rp_err *err)
{
    struct rp_json_writer json = rp_report_json(buf);

    rp_json_add_object(&json, "rule");
    rp_json_add_number(&json, "alpha", rule->alpha);
    rp_json_add_int(&json, "least_after", RP_CHANGE_LEAST_AFTER);
    rp_json_add_int(&json, "least_before", RP_CHANGE_LEAST_BEFORE);
    add(&json, "margin", rule->margin);
    add(&json, "margin_modelled", rule->exact);
    rp_json_add_count(&json, "recent", rule->recent);
    rp_json_end(&json);
    rp_json_add_text(&json, "schema_version", "1.0");
    rp_json_add_array(&json, "series");
    for (size_t i = 0; i < list->count; i++) {
        rp_json_break(&json, 4);
        add_series(&json, &list->list[i]);
    }
    rp_json_end(&json);
    return rp_report_json_end(&json, err);
}

enum { LEAST_WIDTH = 60, COMMIT = 8 };

/* Writes as many digits as git shows, and whether there were changes that no commit has. What is no
 * hash is a name, of which all tells. */
void rp_history_put_commit(struct rp_buf *to, const char *commit)
{
    enum { HASH = 20 };
    const size_t length = commit ? strlen(commit) : 0;
    const bool dirty = length > 6 && strcmp(commit + length - 6, "-dirty") == 0;
    const size_t digits = length ? strspn(commit, "0123456789abcdef") : 0;

    if (digits < HASH || digits != length - (dirty ? strlen("-dirty") : 0))
        rp_buf_puts(to, length ? commit : "-");
    else
        rp_buf_printf(to, "%.*s%s", COMMIT, commit, dirty ? "+" : "");
}

void rp_history_put_program(struct rp_buf *to, const char *program, const char *lines)
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

/** Makes the names short that are printed beside each other, but whole ones where all is told. */
static int name_kernels(const struct rp_page *page, const char **names, size_t count,
                        struct rp_short_names *ret, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        names[i] = names[i] ? names[i] : "all kernels";
    if (!page->verbose)
        return rp_short_names_make(names, count, ret, err);
    *ret = (struct rp_short_names){.at = calloc(count + 1, sizeof *ret->at), .count = count};
    for (size_t i = 0; i < count && ret->at && rc == 0; i++)
        rc = (ret->at[i] = strdup(names[i])) ? 0 : -1;
    if (ret->at && rc == 0)
        return 0;
    rp_short_names_free(ret);
    return rp_out_of_memory(err);
}

/** Makes names of all kernels of these results, one result after the other. */
static int name_times(const struct rp_page *page, const struct rp_history_result *const *results,
                      size_t count, struct rp_short_names *ret, struct rp_err *err)
{
    rp_autofree const char **names = NULL;
    size_t times = 0;

    for (size_t i = 0; i < count; i++)
        times += results[i]->times_count;
    names = calloc(times + 1, sizeof *names);
    if (!names)
        return rp_out_of_memory(err);
    times = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < results[i]->times_count; j++)
            names[times++] = results[i]->times[j].kernel;
    return name_kernels(page, names, times, ret, err);
}

/** @param names of its times */
static void put_kernels(const struct rp_page *page, const struct rp_history_result *r,
                        char *const *names)
{
    const struct rp_unit unit = unit_of_kernels(page, r);

    for (size_t i = 1; i < r->times_count; i++)
        rp_page_named(page, r->times[i].runtime_internal ? RP_INK_DIM : RP_INK_PLAIN, 6, names[i],
                      "%12s %s  %zu run%s  ", rp_unit_number(unit, median_ns(&r->times[i])).text,
                      unit.name, r->times[i].run_count, rp_plural(r->times[i].run_count));
}

/* @param names of its times; NULL: they are not shown
 * @param unit of the times of all results */
static void history_term_put_result(const struct rp_page *page, const struct rp_history_result *r,
                                    char *const *names, struct rp_unit unit)
{
    rp_autobuf commit = {0}, name = {0};

    rp_history_put_commit(&commit, r->commit);
    rp_history_put_program(&name, r->program, r->config);
    rp_page_named(page, names ? RP_INK_BOLD : RP_INK_PLAIN, 0, rp_buf_text(&name),
                  "%4" PRId64 "  %s  %-9s %10s %s  %s%s  ", r->id, r->added, rp_buf_text(&commit),
                  r->times_count ? rp_unit_number(unit, median_ns(&r->times[0])).text : "?",
                  unit.name, r->software ? "software" : "hardware",
                  r->complete ? "" : " INCOMPLETE");
    if (names) {
        rp_page_text(page, r->software ? RP_INK_YELLOW : RP_INK_DIM, 6, r->device);
        put_kernels(page, r, names);
    }
    page->out->failed |= commit.failed | name.failed;
}

int rp_report_history_term(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_term_style style, struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);
    struct rp_unit_span span = {0};
    struct rp_short_names names;
    size_t at = 0;

    if (name_times(&page, results, count, &names, err) < 0)
        return -(int)RP_ENVIRONMENT;
    for (size_t i = 0; i < count; i++)
        if (results[i]->times_count)
            rp_unit_span_add(&span, median_ns(&results[i]->times[0]));
    for (size_t i = 0; i < count; at += results[i++]->times_count)
        history_term_put_result(&page, results[i], times ? names.at + at : NULL,
                                rp_unit_of(RP_UNIT_TIME, span, page.utf8));
    rp_short_names_free(&names);
    if (!count)
        rp_page_text(&page, RP_INK_DIM, 0, "no results");
    return rp_report_end(buf, err);
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

static void put_group(const struct rp_page *page, const struct rp_series *s)
{
    rp_autobuf text = {0};

    rp_history_put_program(&text, s->program, s->config);
    rp_page_text(page, RP_INK_BOLD, 0, rp_buf_text(&text));
    rp_page_text(page, s->software ? RP_INK_YELLOW : RP_INK_DIM, 2, s->device);
    page->out->failed |= text.failed;
}

static void history_term_put_change(const struct rp_page *page, const struct rp_series *s,
                                    const struct rp_change *c)
{
    const struct rp_history_result *r = s->points[c->at].result;
    rp_autobuf commit = {0};

    rp_history_put_commit(&commit, r->commit);
    rp_page_line(page, c->ratio > 1 ? RP_INK_RED : RP_INK_GREEN, 12,
                 "%s since result %" PRId64 ", commit %s, %s", rp_speed_change(1 / c->ratio).text,
                 r->id, rp_buf_text(&commit), r->added);
    page->out->failed |= commit.failed;
}

static double newest_ns(const struct rp_series *s)
{
    return s->points[s->point_count - 1].ms * 1e6;
}

/* Writes a ratio as "+1.2". */
static void put_per_cent(struct rp_buf *to, double ratio)
{
    rp_buf_puts(to, rp_number_signed(100 * (ratio - 1), 2).text);
}

void rp_history_put_undecided(struct rp_buf *to, const struct rp_series *s)
{
    const struct rp_change_newest *is = &s->newest_is;

    if (s->taken_back) {
        rp_buf_puts(to, "as before the last change: taken back? add results to be sure");
    } else if (s->missing && s->exact && s->inexact) {
        rp_buf_puts(to, "the runs of the newest result differ: profile and add it again");
    } else if (s->missing) {
        rp_buf_printf(to, "%zu more result%s needed%s", s->missing,
                      s->missing == 1 ? " is" : "s are",
                      s->change_count ? " since the last change" : "");
    } else if (is->odd) {
        rp_buf_printf(to, "result %" PRId64 " is ", is->odd->result->id);
        put_per_cent(to, is->odd_ratio);
        if (is->odd == &s->points[s->point_count - 1])
            rp_buf_puts(to, " % off, one alone: add another of the same commit");
        else
            rp_buf_puts(to, " % off, the next is not: add results, or remove it");
    } else {
        rp_buf_puts(to, "newest ");
        put_per_cent(to, is->low);
        rp_buf_puts(to, " to ");
        put_per_cent(to, is->high);
        rp_buf_puts(to, " %: add results, or allow more with --margin");
    }
}

/* @param unit of the times of the group */
static void history_term_put_series(const struct rp_page *page, const struct rp_series *s,
                                    const char *name, struct rp_unit unit)
{
    rp_page_named(page, ink_of(s->state), 2, name, "%-9s %12s %s %4zu result%-1s  ",
                  rp_series_state_names[s->state], rp_unit_number(unit, newest_ns(s)).text,
                  unit.name, s->point_count, rp_plural(s->point_count));
    for (size_t i = 0; i < s->change_count; i++)
        history_term_put_change(page, s, &s->changes[i]);
    if (s->inexact)
        rp_page_line(page, RP_INK_YELLOW, 12,
                     "the runs of %zu modelled result%s differ: no change begins with one",
                     s->inexact, rp_plural(s->inexact));
    /* Of bounds the line of their group says why. */
    if (s->state == RP_SERIES_UNDECIDED && !s->bounds) {
        rp_autobuf why = {0};

        rp_history_put_undecided(&why, s);
        rp_page_words(page, RP_INK_DIM, 12, 2, "%s", rp_buf_text(&why));
        page->out->failed |= why.failed;
    }
}

/* Says where the times of another model begin, that those before are not judged any more, and until
 * there are enough of the new ones how many there are. */
static void put_model_change(struct rp_buf *to, const struct rp_series_group *group,
                             const struct rp_series *s)
{
    const size_t needed = s->exact ? 2 : RP_CHANGE_LEAST;

    rp_buf_printf(to, "the model of time changed with result %" PRId64 ", commit ",
                  group->first->id);
    rp_history_put_commit(to, group->first->commit);
    rp_buf_printf(to, ": results of the model before (%s) are not judged any more",
                  group->model_before);
    if (!group->bounds && s->point_count < needed)
        rp_buf_printf(to, "; %zu of the %zu results of the new one that a verdict needs",
                      s->point_count, needed);
}

bool rp_history_put_note(struct rp_buf *to, const struct rp_series_group *group,
                         const struct rp_series *s, unsigned number)
{
    const size_t before = to->len;

    if (number == 0 && group->replaced)
        rp_buf_puts(to,
                    "an old series: times of another model took its place, and it is not judged "
                    "any more");
    if (number == 1 && group->model_before)
        put_model_change(to, group, s);
    if (number == 2 && group->bounds && !group->replaced)
        rp_buf_puts(to, "times of counts timing are bounds, on which no verdict is given: add "
                        "results of `profile --timing detailed`");
    return to->len > before;
}

/** @param s its first series */
static void put_group_notes(const struct rp_page *page, const struct rp_series_group *group,
                            const struct rp_series *s)
{
    for (unsigned i = 0; i < RP_HISTORY_NOTES; i++) {
        rp_autobuf text = {0};

        if (rp_history_put_note(&text, group, s, i))
            rp_page_words(page, i ? RP_INK_YELLOW : RP_INK_DIM, 2, 2, "%s", rp_buf_text(&text));
        page->out->failed |= text.failed;
    }
}

/**
 * @param names of all series
 * @param places of the group's series in the list
 */
static void put_group_series(const struct rp_page *page, const struct rp_series_list *list,
                             char *const *names, const size_t *places, size_t count)
{
    struct rp_unit_span span = {0};
    const struct rp_series *first;
    struct rp_unit unit;

    if (!count)
        return;
    first = &list->list[places[0]];
    for (size_t i = 0; i < count; i++)
        rp_unit_span_add(&span, newest_ns(&list->list[places[i]]));
    unit = rp_unit_of(RP_UNIT_TIME, span, page->utf8);
    put_group(page, first);
    put_group_notes(page, &list->groups[first->group], first);
    for (size_t i = 0; i < count; i++)
        history_term_put_series(page, &list->list[places[i]], names[places[i]], unit);
}

/** Places of series, group by group.
 * @param ends of each group in them
 * @return false: memory has ended */
static bool place_series(const struct rp_series_list *list, size_t **ret_places, size_t **ret_ends)
{
    size_t *places = calloc(list->count + 1, sizeof *places);
    size_t *ends = calloc(list->group_count + 2, sizeof *ends);

    *ret_places = places;
    *ret_ends = ends;
    if (!places || !ends)
        return false;
    for (size_t i = 0; i < list->count; i++)
        ends[list->list[i].group + 1]++;
    for (size_t g = 0; g < list->group_count; g++)
        ends[g + 1] += ends[g];
    /* Each is where its group begins, and goes on to where it ends. */
    for (size_t i = 0; i < list->count; i++)
        places[ends[list->list[i].group]++] = i;
    return true;
}

/* --- the verdict --------------------------------------------------------------------------- */

/** Counts series of each state, and finds of each state one to be named: of those that changed the
 * one that changed most. */
struct states {
    size_t counts[RP_SERIES_ENDED + 1];
    size_t all;    /**< that have not ended */
    size_t bounds; /**< of the undecided: those that more results do not decide */
    size_t named[RP_SERIES_ENDED + 1];
    double changed[RP_SERIES_ENDED + 1];
};

static struct states count_states(const struct rp_series_list *list)
{
    struct states states = {0};

    for (size_t i = 0; i < list->count; i++) {
        const struct rp_series *s = &list->list[i];
        const double changed =
            s->change_count ? fabs(log(s->changes[s->change_count - 1].ratio)) : 0;

        if (!states.counts[s->state]++ || changed > states.changed[s->state]) {
            states.named[s->state] = i;
            states.changed[s->state] = changed;
        }
        states.all += s->state != RP_SERIES_ENDED;
        states.bounds += s->state == RP_SERIES_UNDECIDED && s->bounds;
    }
    return states;
}

/** Appends "reduce of ./app n=64 is 1.033x slower since result 13, commit c13". */
static void put_changed(const struct rp_series *s, const char *name, struct rp_buf *to)
{
    const struct rp_change *change = s->change_count ? &s->changes[s->change_count - 1] : NULL;

    rp_buf_printf(to, "%s of %s", name, s->program[0] ? s->program : "-");
    for (const char *c = s->config; *c; c++)
        rp_buf_printf(to, "%s%c", c == s->config ? " " : "", *c == '\n' ? ' ' : *c);
    if (!change) {
        rp_buf_printf(to, " is %s", rp_series_state_names[s->state]);
        return;
    }
    rp_buf_printf(to, " %s %s since result %" PRId64 ", commit ", s->kernel ? "is" : "are",
                  rp_speed_change(1 / change->ratio).text, s->points[change->at].result->id);
    rp_history_put_commit(to, s->points[change->at].result->commit);
}

/** Appends "Undecided: 2 of 5 series need more results, 1 detailed timing". */
static void put_all_undecided(const struct states *states, struct rp_buf *to)
{
    const size_t few = states->counts[RP_SERIES_UNDECIDED] - states->bounds;

    rp_buf_puts(to, "Undecided: ");
    if (few)
        rp_buf_printf(to, "%zu of %zu series need%s more results", few, states->all,
                      few == 1 ? "s" : "");
    if (few && states->bounds)
        rp_buf_printf(to, ", %zu detailed timing", states->bounds);
    else if (states->bounds)
        rp_buf_printf(to, "%zu of %zu series need%s detailed timing", states->bounds, states->all,
                      states->bounds == 1 ? "s" : "");
}

static void put_states(const struct rp_series_list *list, const struct states *states,
                       char *const *names, struct rp_buf *to)
{
    const size_t undecided = states->counts[RP_SERIES_UNDECIDED];
    const enum rp_series_state state =
        states->counts[RP_SERIES_SLOWER] ? RP_SERIES_SLOWER : RP_SERIES_FASTER;

    if (states->counts[state]) {
        put_changed(&list->list[states->named[state]], names[states->named[state]], to);
        if (states->all > 1)
            rp_buf_printf(to, "; %zu of %zu series %s %s", states->counts[state], states->all,
                          states->counts[state] == 1 ? "is" : "are", rp_series_state_names[state]);
        if (undecided)
            rp_buf_printf(to, ", %zu undecided", undecided);
    } else if (undecided) {
        put_all_undecided(states, to);
    } else {
        rp_buf_printf(to, "No difference: %zu series %s steady", states->all,
                      states->all == 1 ? "is" : "are");
    }
    rp_buf_puts(to, ".");
}

enum rp_series_state rp_history_put_verdict(struct rp_buf *to, const struct rp_series_list *list,
                                            char *const *names)
{
    const struct states states = count_states(list);
    rp_autobuf text = {0};
    const char *said;

    put_states(list, &states, names, &text);
    said = rp_buf_text(&text);
    rp_buf_printf(to, "%s%s", strncmp(said, "all ", 4) == 0 ? "All " : "",
                  said + (strncmp(said, "all ", 4) == 0 ? 4 : 0));
    to->failed |= text.failed;
    return states.counts[RP_SERIES_SLOWER]      ? RP_SERIES_SLOWER
           : states.counts[RP_SERIES_FASTER]    ? RP_SERIES_FASTER
           : states.counts[RP_SERIES_UNDECIDED] ? RP_SERIES_UNDECIDED
                                                : RP_SERIES_STEADY;
}

static void put_verdict(const struct rp_page *page, const struct rp_series_list *list,
                        char *const *names)
{
    rp_autobuf text = {0};

    rp_history_put_verdict(&text, list, names);
    rp_page_words(page, RP_INK_BOLD, 0, 0, "%s", rp_buf_text(&text));
    rp_buf_puts(page->out, "\n");
    page->out->failed |= text.failed;
}

/** Returns the result since which the series is slower that became slower most; NULL: none is. */
static const struct rp_history_result *slower_since(const struct rp_series_list *list,
                                                    const struct states *states)
{
    const struct rp_series *s = &list->list[states->named[RP_SERIES_SLOWER]];

    return states->counts[RP_SERIES_SLOWER] && s->change_count
               ? s->points[s->changes[s->change_count - 1].at].result
               : NULL;
}

static int name_series(const struct rp_page *page, const struct rp_series_list *list,
                       struct rp_short_names *ret, struct rp_err *err)
{
    rp_autofree const char **names = calloc(list->count + 1, sizeof *names);

    if (!names)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < list->count; i++)
        names[i] = list->list[i].kernel;
    return name_kernels(page, names, list->count, ret, err);
}

int rp_report_changes_term(const struct rp_series_list *list, struct rp_term_style style,
                           struct rp_buf *buf, const struct rp_history_result **ret_since,
                           struct rp_err *err)
{
    const struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);
    const struct states states = count_states(list);
    rp_autofree size_t *places = NULL, *ends = NULL;
    struct rp_short_names names;

    if (!place_series(list, &places, &ends))
        return rp_out_of_memory(err);
    if (name_series(&page, list, &names, err) < 0)
        return -(int)RP_ENVIRONMENT;
    put_verdict(&page, list, names.at);
    for (size_t i = 0, begin = 0; i < list->group_count; begin = ends[i++])
        if (page.verbose || !list->groups[i].replaced)
            put_group_series(&page, list, names.at, places + begin, ends[i] - begin);
    rp_short_names_free(&names);
    *ret_since = slower_since(list, &states);
    return rp_report_end(buf, err);
}
