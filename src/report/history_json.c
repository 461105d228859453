#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/csv.h"
#include "report/text.h"
#include "rocm-perf/report.h"

/* Keys are in alphabetical order in every object. What is not known is null. */

static void key_text(struct rp_buf *buf, const char *name, const char *text)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    rp_text_json(buf, text);
}

static void key_number(struct rp_buf *buf, const char *name, double value)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    rp_text_json_number(buf, rp_text_round6(value));
}

/* "KEY=VALUE" lines as an object. */
static void put_config(struct rp_buf *buf, const char *lines)
{
    const char *comma = "";

    rp_buf_puts(buf, "{");
    while (*lines) {
        const size_t length = strcspn(lines, "\n"), key = strcspn(lines, "=\n");
        rp_autobuf part = {0};

        rp_buf_puts(buf, comma);
        rp_buf_add(&part, lines, key);
        rp_text_json(buf, rp_buf_text(&part));
        rp_buf_puts(buf, ": ");
        rp_buf_free(&part);
        part = (struct rp_buf){0};
        if (key < length)
            rp_buf_add(&part, lines + key + 1, length - key - 1);
        rp_text_json(buf, rp_buf_text(&part));
        buf->failed |= part.failed;
        comma = ", ";
        lines += length + (lines[length] == '\n');
    }
    rp_buf_puts(buf, "}");
}

/* --- results ------------------------------------------------------------------------------- */

static void put_runs(struct rp_buf *buf, const struct rp_history_times *times)
{
    rp_buf_puts(buf, "[");
    for (size_t i = 0; i < times->run_count; i++) {
        rp_buf_puts(buf, i ? ", " : "");
        rp_text_json_number(buf, times->runs_ms[i]);
    }
    rp_buf_puts(buf, "]");
}

static void put_times(struct rp_buf *buf, const struct rp_history_times *times)
{
    rp_buf_puts(buf, "{\"kernel\": ");
    rp_text_json(buf, times->kernel);
    rp_buf_puts(buf, ", \"launches\": ");
    if (times->launches)
        rp_buf_printf(buf, "%" PRIu64, times->launches);
    else
        rp_buf_puts(buf, "null");
    rp_buf_puts(buf, ", \"runs_ms\": ");
    put_runs(buf, times);
    rp_buf_printf(buf, ", \"runtime_internal\": %s}", times->runtime_internal ? "true" : "false");
}

static void put_result(struct rp_buf *buf, const struct rp_history_result *r, bool times,
                       const char *before)
{
    const size_t shown = times ? r->times_count : r->times_count > 0;

    rp_buf_puts(buf, "{\"added\": ");
    rp_text_json(buf, r->added);
    key_text(buf, "commit", r->commit);
    rp_buf_printf(buf, ", \"complete\": %s, \"config\": ", r->complete ? "true" : "false");
    put_config(buf, r->config);
    key_text(buf, "device", r->device);
    key_text(buf, "hash", r->hash);
    rp_buf_printf(buf, ", \"id\": %" PRId64, r->id);
    key_text(buf, "program", r->program);
    key_text(buf, "rocm_version", r->rocm_version);
    rp_buf_printf(buf, ", \"software\": %s, \"times\": [", r->software ? "true" : "false");
    for (size_t i = 0; i < shown; i++) {
        rp_buf_printf(buf, "%s%s", i ? "," : "", before);
        put_times(buf, &r->times[i]);
    }
    rp_buf_puts(buf, "]");
    key_text(buf, "tracer", r->tracer);
    rp_buf_printf(buf, ", \"wall\": %s}", r->wall ? "true" : "false");
}

static int end(const struct rp_buf *buf, struct rp_err *err)
{
    return buf->failed ? rp_out_of_memory(err) : 0;
}

int rp_report_history_json(const struct rp_history_result *const *results, size_t count, bool times,
                           struct rp_buf *buf, struct rp_err *err)
{
    rp_buf_puts(buf, "{\n  \"results\": [");
    for (size_t i = 0; i < count; i++) {
        rp_buf_puts(buf, i ? ",\n    " : "\n    ");
        put_result(buf, results[i], times, "\n      ");
    }
    rp_buf_puts(buf, "],\n  \"schema_version\": \"1.0\"\n}\n");
    return end(buf, err);
}

int rp_report_history_lines(const struct rp_history_result *const *results, size_t count,
                            struct rp_buf *buf, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        put_result(buf, results[i], true, "");
        rp_buf_puts(buf, "\n");
    }
    return end(buf, err);
}

/* --- CSV (RFC 4180) ------------------------------------------------------------------------ */

static void put_cell(struct rp_buf *buf, const char *text)
{
    rp_csv_cell(buf, text ? text : "");
    rp_buf_puts(buf, ",");
}

/* One line: what comes between two keys is a semicolon there. */
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
        rp_text_json_number(buf, times->runs_ms[i]);
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
    return end(buf, err);
}

/* --- series -------------------------------------------------------------------------------- */

static void put_change(struct rp_buf *buf, const struct rp_series *s, const struct rp_change *c)
{
    rp_buf_printf(buf, "{\"found_in\": %" PRId64, s->points[c->found].result->id);
    key_number(buf, "ratio", c->ratio);
    rp_buf_printf(buf, ", \"since\": %" PRId64 "}", s->points[c->at].result->id);
}

/* Of times that tell nothing: six digits have no more, and JSON no infinity. */
static const double least_ratio = 1e-5;

static void put_newest(struct rp_buf *buf, const struct rp_change_newest *is)
{
    rp_buf_puts(buf, ", \"newest_odd\": ");
    if (is->odd) {
        rp_buf_printf(buf, "{\"id\": %" PRId64, is->odd->result->id);
        key_number(buf, "ratio", is->odd_ratio);
        rp_buf_puts(buf, "}");
    } else {
        rp_buf_puts(buf, "null");
    }
    rp_buf_puts(buf, ", \"newest_range\": ");
    if (is->low >= least_ratio && is->high <= 1 / least_ratio) {
        rp_buf_puts(buf, "[");
        rp_text_json_number(buf, rp_text_round6(is->low));
        rp_buf_puts(buf, ", ");
        rp_text_json_number(buf, rp_text_round6(is->high));
        rp_buf_puts(buf, "]");
    } else {
        rp_buf_puts(buf, "null");
    }
}

static void put_series(struct rp_buf *buf, const struct rp_series *s)
{
    rp_buf_puts(buf, "{\"changes\": [");
    for (size_t i = 0; i < s->change_count; i++) {
        rp_buf_puts(buf, i ? ", " : "");
        put_change(buf, s, &s->changes[i]);
    }
    rp_buf_puts(buf, "], \"config\": ");
    put_config(buf, s->config);
    key_text(buf, "device", s->device);
    rp_buf_printf(buf, ", \"exact\": %s, \"inexact\": %zu", s->exact ? "true" : "false",
                  s->inexact);
    key_text(buf, "kernel", s->kernel);
    rp_buf_printf(buf, ", \"missing\": %zu", s->missing);
    put_newest(buf, &s->newest_is);
    rp_buf_puts(buf, ", \"points\": [");
    for (size_t i = 0; i < s->point_count; i++) {
        rp_buf_printf(buf, "%s[%" PRId64 ", ", i ? ", " : "", s->points[i].result->id);
        rp_text_json_number(buf, rp_text_round6(s->points[i].ms));
        rp_buf_puts(buf, "]");
    }
    rp_buf_puts(buf, "]");
    key_text(buf, "program", s->program);
    rp_buf_printf(buf, ", \"runtime_internal\": %s, \"software\": %s",
                  s->runtime_internal ? "true" : "false", s->software ? "true" : "false");
    key_text(buf, "state", rp_series_state_name(s->state));
    rp_buf_printf(buf, ", \"taken_back\": %s", s->taken_back ? "true" : "false");
    rp_buf_puts(buf, "}");
}

int rp_report_changes_json(const struct rp_series_list *list, const struct rp_change_rule *rule,
                           struct rp_buf *buf, struct rp_err *err)
{
    rp_buf_printf(buf, "{\n  \"rule\": {\"alpha\": %g, \"least_after\": %d, \"least_before\": %d",
                  rule->alpha, RP_CHANGE_LEAST_AFTER, RP_CHANGE_LEAST_BEFORE);
    key_number(buf, "margin", rule->margin);
    key_number(buf, "margin_modelled", rule->exact);
    rp_buf_printf(buf, ", \"recent\": %zu},\n  \"schema_version\": \"1.0\",\n  \"series\": [",
                  rule->recent);
    for (size_t i = 0; i < list->count; i++) {
        rp_buf_puts(buf, i ? ",\n    " : "\n    ");
        put_series(buf, &list->list[i]);
    }
    rp_buf_puts(buf, "]\n}\n");
    return end(buf, err);
}
