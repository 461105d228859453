/* Writes what each process of a run did, one beside the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/units.h"
#include "report/report.h"

enum { MOST_PROCESSES = 16, LABEL = 22 };

static double share_of(const struct rp_process_summary *process, const struct rp_profile *p)
{
    const uint64_t all = p->user_ns + p->runtime_internal_ns;

    return all ? (double)process->total_ns / (double)all : 0;
}

static void add_ms(struct rp_json_writer *json, const char *key, uint64_t ns)
{
    rp_json_add_real(json, key, rp_round6((double)ns / 1e6), 15);
}

static void add_process(struct rp_json_writer *json, const struct rp_profile *p,
                        const struct rp_process_summary *process)
{
    rp_json_break(json, 4);
    rp_json_add_object(json, NULL);
    rp_json_add_bool(json, "complete", process->complete);
    rp_json_add_count(json, "dispatches", process->dispatches);
    rp_json_add_text(json, "hostname", process->hostname[0] ? process->hostname : NULL);
    rp_json_add_text(json, "kernel", process->kernel);
    rp_json_add_int_if(json, "rank", process->rank_known, process->rank);
    add_ms(json, "runtime_ms", process->total_ns);
    rp_json_add_real(json, "share", rp_round6(share_of(process, p)), 15);
    add_ms(json, "span_ms", process->span_ns);
    rp_json_end(json);
}

void rp_report_processes(struct rp_json_writer *json, const struct rp_profile *p)
{
    if (!p || p->process_count < 2)
        return;
    rp_json_add_array(json, "processes");
    for (size_t i = 0; i < p->process_count; i++)
        add_process(json, p, &p->processes[i]);
    rp_json_end(json);
}

/* @param hosts whether they ran on several machines */
static char *label_of(const struct rp_process_summary *process, bool hosts)
{
    const char *at = hosts && process->hostname[0] ? "@" : "";
    const char *host = *at ? process->hostname : "";

    return process->rank_known ? rp_format("rank %lld%s%s", (long long)process->rank, at, host)
                               : rp_format("pid %lld%s%s", (long long)process->pid, at, host);
}

static bool on_several_machines(const struct rp_profile *p)
{
    for (size_t i = 1; i < p->process_count; i++)
        if (strcmp(p->processes[i].hostname, p->processes[0].hostname) != 0)
            return true;
    return false;
}

static bool put_row(const struct rp_page *page, const struct rp_profile *p,
                    const struct rp_process_summary *process, struct rp_unit total,
                    struct rp_unit span, const char *name)
{
    rp_autofree char *label = label_of(process, on_several_machines(p));
    rp_autobuf what = {0};

    if (!label)
        return false;
    rp_buf_printf(&what, "%s%s", name ? name : "no kernel",
                  process->complete ? "" : " (the end of its trace may be missing)");
    rp_page_named(page, process->complete ? RP_INK_PLAIN : RP_INK_YELLOW, 0, rp_buf_text(&what),
                  "%6s %10s %10s %8llu  %-*s  ",
                  rp_number_fixed(100 * share_of(process, p), 1).text,
                  rp_unit_number(total, (double)process->total_ns).text,
                  rp_unit_number(span, (double)process->span_ns).text,
                  (unsigned long long)process->dispatches, LABEL - 8, label);
    return true;
}

static int put_rows(const struct rp_page *page, const struct rp_profile *p, size_t shown,
                    struct rp_err *err)
{
    struct rp_unit_span totals = {0}, spans = {0};
    rp_autofree const char **names = calloc(shown + 1, sizeof *names);
    struct rp_short_names short_names;
    struct rp_unit total, span;
    bool ok = true;

    if (!names)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < shown; i++) {
        names[i] = p->processes[i].kernel ? p->processes[i].kernel : "";
        rp_unit_span_add(&totals, (double)p->processes[i].total_ns);
        rp_unit_span_add(&spans, (double)p->processes[i].span_ns);
    }
    if (rp_short_names_make(names, shown, &short_names, err) < 0)
        return -1;
    total = rp_unit_of(RP_UNIT_TIME, totals, page->utf8);
    span = rp_unit_of(RP_UNIT_TIME, spans, page->utf8);
    rp_page_line(page, RP_INK_DIM, 0, "%6s %s %s %8s  %-*s  %s", "% time",
                 rp_unit_heading("total", total, 10).text, rp_unit_heading("span", span, 10).text,
                 "launches", LABEL - 8, "process", "longest kernel");
    for (size_t i = 0; i < shown && ok; i++)
        ok = put_row(page, p, &p->processes[i], total, span,
                     p->processes[i].kernel ? short_names.at[i] : NULL);
    rp_short_names_free(&short_names);
    return ok ? 0 : rp_out_of_memory(err);
}

int rp_report_processes_term(const struct rp_profile *p, struct rp_term_style style,
                             struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = rp_page_of_words(buf, style);
    size_t shown;

    if (!p || p->process_count < 2)
        return 0;
    shown = style.verbose || p->process_count < MOST_PROCESSES ? p->process_count : MOST_PROCESSES;
    rp_page_line(&page, RP_INK_BOLD, 0, "%zu processes, one beside the other%s", p->process_count,
                 p->own_clocks ? ": each has a clock of its own, so no path leads across" : "");
    if (put_rows(&page, p, shown, err) < 0)
        return -1;
    if (shown < p->process_count)
        rp_page_line(&page, RP_INK_DIM, 7, "and %zu more: -v shows all", p->process_count - shown);
    return rp_report_end(buf, err);
}

int rp_form_no_graph(const struct rp_report_parts *parts, const char *form, struct rp_err *err)
{
    if (parts->profile && parts->profile->own_clocks)
        return rp_fail(
            err, RP_BAD_INPUT,
            "%s: each process of the software device has a clock of its own, so they have "
            "no timeline together: give the trace of one process",
            form);
    return rp_fail(err, RP_BAD_INPUT, "%s: none of the files is a trace with kernels or copies",
                   form);
}
