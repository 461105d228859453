#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/source_texts.h"
#include "analyze/thread_trace.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"
#include "report/report.h"

/* Keys are in alphabetical order in every object, and unknown values are null. */

static void add_if(struct rp_json_writer *json, const char *key, bool known, double value)
{
    rp_json_add_number(json, key, known ? rp_round6(value) : NAN);
}

/* --- amounts ------------------------------------------------------------------------------- */

static void add_sums(struct rp_json_writer *json, const char *key, const struct rp_att_sums *sums)
{
    double fraction = 0;
    bool known = rp_thread_trace_stall_fraction(sums, &fraction);

    rp_json_add_object(json, key);
    rp_json_add_count(json, "executed", sums->executed);
    rp_json_add_count(json, "idle_cycles", sums->idle_cycles);
    rp_json_add_count(json, "latency_cycles", sums->latency_cycles);
    rp_json_add_count(json, "stall_cycles", sums->stall_cycles);
    add_if(json, "stall_fraction", known, fraction);
    rp_json_end(json);
}

/* Writes those that are not 0. */
static void add_named(struct rp_json_writer *json, const char *key, const uint64_t *values,
                      unsigned count, const char *const *names)
{
    unsigned order[RP_MOST_BY_NAME];

    rp_by_name(names, count, order);
    rp_json_add_object(json, key);
    for (unsigned i = 0; i < count; i++)
        if (values[order[i]])
            rp_json_add_count(json, names[order[i]], values[order[i]]);
    rp_json_end(json);
}

static bool knows_issue(const struct rp_thread_trace *t)
{
    return t->method != RP_PC_HOST_TRAP;
}

/* The share is of all samples of the trace. */
static void add_samples(struct rp_json_writer *json, const struct rp_thread_trace *t,
                        const struct rp_att_samples *samples)
{
    const double all = (double)(t->samples.taken ? t->samples.taken : 1);
    struct rp_interval share = {0};

    if (!t->sampled && !t->samples.taken) {
        rp_json_add_null(json, "samples");
        return;
    }
    if (t->samples.taken)
        share = rp_share_interval(samples->taken, t->samples.taken);
    rp_json_add_object(json, "samples");
    add_if(json, "active_lanes", t->lanes_known && samples->taken,
           (double)samples->lanes / (double)(samples->taken ? samples->taken : 1));
    rp_json_add_count_if(json, "issued", knows_issue(t), samples->issued);
    add_named(json, "not_issued", samples->by_reason, RP_ATT_SAMPLE_COUNT, rp_att_sample_names);
    add_if(json, "share", t->samples.taken > 0, (double)samples->taken / all);
    add_if(json, "share_high", t->samples.taken > 0, share.high);
    add_if(json, "share_low", t->samples.taken > 0, share.low);
    rp_json_add_count_if(json, "stalled", knows_issue(t), samples->stalled);
    rp_json_add_count(json, "taken", samples->taken);
    rp_json_end(json);
}

/* --- parts --------------------------------------------------------------------------------- */

static void add_instruction(struct rp_json_writer *json, const struct rp_thread_trace *t,
                            const struct rp_att_instruction *in)
{
    rp_json_add_object(json, NULL);
    /* CSV files of PC samples say no place, and no code object is called 0. */
    rp_json_add_count_if(json, "address", !t->method || in->code_object, in->address);
    rp_json_add_count_if(json, "code_object", !t->method || in->code_object, in->code_object);
    rp_json_add_text(json, "isa", in->isa);
    rp_json_add_count_if(json, "kernel", in->kernel < t->kernel_count, in->kernel);
    rp_json_add_text(json, "kind", rp_att_kind_names[in->kind]);
    add_samples(json, t, &in->samples);
    rp_json_add_text(json, "source", in->source[0] ? in->source : NULL);
    add_named(json, "stall_reasons", in->waited_cycles, RP_ATT_REASON_COUNT, rp_att_reason_names);
    add_sums(json, "sums", &in->sums);
    rp_json_end(json);
}

/* The larger parts of a trace begin lines. */
static void add_part(struct rp_json_writer *json, const char *key)
{
    rp_json_break(json, 5);
    rp_json_add_array(json, key);
}

static void add_instructions(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    add_part(json, "instructions");
    for (size_t i = 0; i < t->instruction_count; i++) {
        const struct rp_att_instruction *in = &t->instructions[i];

        if (!in->sums.executed && !in->samples.taken)
            continue;
        rp_json_break(json, 6);
        add_instruction(json, t, in);
    }
    rp_json_end(json);
}

static void add_kernels(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    add_part(json, "kernels");
    for (size_t k = 0; k < t->kernel_count; k++) {
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "name", t->kernels[k].name);
        add_samples(json, t, &t->kernels[k].samples);
        add_sums(json, "sums", &t->kernels[k].sums);
        rp_json_add_text(json, "symbol", t->kernels[k].symbol);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* Writes latencies by kind of instruction. */
static void add_latencies(struct rp_json_writer *json, const struct rp_thread_trace *t,
                          const unsigned *kinds)
{
    rp_json_break(json, 5);
    rp_json_add_object(json, "memory_latency");
    for (unsigned i = 0; i < RP_ATT_KIND_COUNT; i++) {
        const struct rp_att_latency *l = &t->latency[kinds[i]];

        if (!l->count)
            continue;
        rp_json_add_object(json, rp_att_kind_names[kinds[i]]);
        rp_json_add_count(json, "count", l->count);
        rp_json_add_count(json, "least_cycles", l->least_cycles);
        add_if(json, "mean_cycles", true, (double)l->sum_cycles / (double)l->count);
        rp_json_add_count(json, "median_cycles", l->median_cycles);
        rp_json_add_count(json, "most_cycles", l->most_cycles);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_kinds(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    unsigned kinds[RP_ATT_KIND_COUNT];

    rp_by_name(rp_att_kind_names, RP_ATT_KIND_COUNT, kinds);
    add_latencies(json, t, kinds);
    rp_json_break(json, 5);
    rp_json_add_object(json, "mix");
    for (unsigned i = 0; i < RP_ATT_KIND_COUNT; i++)
        add_sums(json, rp_att_kind_names[kinds[i]], &t->by_kind[kinds[i]]);
    rp_json_end(json);
}

static void add_engine(struct rp_json_writer *json, const struct rp_att_engine *e)
{
    rp_json_add_object(json, NULL);
    rp_json_add_count(json, "busy_cycles", e->busy_cycles);
    rp_json_add_count(json, "cus", e->cus);
    rp_json_add_int(json, "first_cycle", e->first_cycle);
    rp_json_add_int(json, "last_cycle", e->last_cycle);
    rp_json_add_array(json, "mean_waves");
    for (size_t b = 0; b < RP_ATT_BINS; b++)
        add_if(json, NULL, true, e->mean_waves[b]);
    rp_json_end(json);
    add_if(json, "mean_waves_per_simd", e->simd_busy_cycles > 0,
           (double)e->wave_cycles / (double)(e->simd_busy_cycles ? e->simd_busy_cycles : 1));
    rp_json_add_count(json, "peak_waves_per_simd", e->peak_waves_per_simd);
    rp_json_add_count(json, "shader_engine", e->id);
    rp_json_add_count(json, "simd_busy_cycles", e->simd_busy_cycles);
    rp_json_add_count(json, "simds", e->simds);
    rp_json_add_count(json, "unended_waves", e->unended);
    rp_json_add_count(json, "wave_cycles", e->wave_cycles);
    rp_json_add_count(json, "waves", e->waves);
    rp_json_end(json);
}

static void add_occupancy(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    double waves = 0;
    bool known = rp_thread_trace_occupancy(t, &waves);

    rp_json_break(json, 5);
    rp_json_add_object(json, "occupancy");
    rp_json_add_array(json, "engines");
    for (size_t i = 0; i < t->engine_count; i++) {
        rp_json_break(json, 6);
        add_engine(json, &t->engines[i]);
    }
    rp_json_end(json);
    if (t->engine_count)
        rp_json_add_bool(json, "of_kernel_only", t->engines_of_kernel);
    else
        rp_json_add_null(json, "of_kernel_only");
    add_if(json, "waves_per_simd", known, waves);
    rp_json_end(json);
}

static void add_problems(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    add_part(json, "problems");
    for (size_t i = 0; i < t->problem_count; i++) {
        rp_json_break(json, 6);
        rp_json_add_object(json, NULL);
        rp_json_add_text(json, "file", t->problems[i].file);
        rp_json_add_text(json, "kind", t->problems[i].damage ? "damaged" : "missing");
        rp_json_add_text(json, "text", t->problems[i].text);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_waves(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    add_part(json, "waves");
    for (size_t i = 0; i < t->wave_count; i++) {
        const struct rp_att_wave *w = &t->waves[i];

        rp_json_break(json, 6);
        rp_json_add_object(json, NULL);
        rp_json_add_int(json, "begin_cycle", w->begin_cycle);
        rp_json_add_count(json, "cu", w->cu);
        rp_json_add_int(json, "end_cycle", w->end_cycle);
        rp_json_add_count(json, "id", w->id);
        rp_json_add_count(json, "instructions", w->instructions);
        rp_json_add_count(json, "shader_engine", w->shader_engine);
        rp_json_add_count(json, "simd", w->simd);
        rp_json_add_count(json, "slot", w->slot);
        add_named(json, "state_cycles", w->state_cycles, RP_ATT_STATE_COUNT, rp_att_state_names);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* --- source lines -------------------------------------------------------------------------- */

struct source_line {
    const char *source;
    struct rp_att_sums sums;
    struct rp_att_samples samples;
};

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const struct source_line *)a)->source, ((const struct source_line *)b)->source);
}

static int compare_cycles(const void *a, const void *b)
{
    const struct source_line *l = a, *r = b;
    uint64_t left = l->sums.latency_cycles + l->sums.idle_cycles + l->samples.taken;
    uint64_t right = r->sums.latency_cycles + r->sums.idle_cycles + r->samples.taken;

    if (left != right)
        return left > right ? -1 : 1;
    return strcmp(l->source, r->source);
}

static void add_to_line(struct source_line *to, const struct source_line *from)
{
    to->sums.executed += from->sums.executed;
    to->sums.latency_cycles += from->sums.latency_cycles;
    to->sums.stall_cycles += from->sums.stall_cycles;
    to->sums.idle_cycles += from->sums.idle_cycles;
    to->samples.taken += from->samples.taken;
    to->samples.lanes += from->samples.lanes;
    to->samples.issued += from->samples.issued;
    to->samples.stalled += from->samples.stalled;
    for (size_t r = 0; r < RP_ATT_SAMPLE_COUNT; r++)
        to->samples.by_reason[r] += from->samples.by_reason[r];
}

/* Returns lines, that with most cycles or samples first. NULL: memory has ended. */
static struct source_line *list_lines(const struct rp_thread_trace *t, size_t *ret_count)
{
    struct source_line *lines = calloc(t->instruction_count + 1, sizeof *lines);
    size_t count = 0, kept = 0;

    for (size_t i = 0; lines && i < t->instruction_count; i++) {
        const struct rp_att_instruction *in = &t->instructions[i];

        if (in->source[0] && (in->sums.executed || in->samples.taken))
            lines[count++] = (struct source_line){in->source, in->sums, in->samples};
    }
    if (!lines)
        return NULL;
    qsort(lines, count, sizeof *lines, compare_sources);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(lines[kept - 1].source, lines[i].source) != 0)
            lines[kept++] = lines[i];
        else
            add_to_line(&lines[kept - 1], &lines[i]);
    qsort(lines, kept, sizeof *lines, compare_cycles);
    *ret_count = kept;
    return lines;
}

static void add_lines(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    size_t count = 0;
    rp_autofree struct source_line *lines = list_lines(t, &count);

    add_part(json, "source_lines");
    json->out->failed |= !lines;
    for (size_t i = 0; i < count; i++) {
        rp_json_break(json, 6);
        rp_json_add_object(json, NULL);
        add_samples(json, t, &lines[i].samples);
        rp_json_add_text(json, "source", lines[i].source);
        add_sums(json, "sums", &lines[i].sums);
        rp_json_end(json);
    }
    rp_json_end(json);
}

/* --- a trace ------------------------------------------------------------------------------- */

static void add_clocks(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->clock_count; i++)
        sum += t->clocks[i].mhz;
    add_if(json, "clock_mhz", t->clock_count > 0,
           sum / (double)(t->clock_count ? t->clock_count : 1));
    rp_json_add_array(json, "clocks");
    for (size_t i = 0; i < t->clock_count; i++) {
        rp_json_add_object(json, NULL);
        add_if(json, "mhz", true, t->clocks[i].mhz);
        rp_json_add_count(json, "shader_engine", t->clocks[i].shader_engine);
        rp_json_end(json);
    }
    rp_json_end(json);
}

static void add_rates(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    double executed = (double)t->sums.executed;
    bool complete = t->wave_count > 0 && t->wave_count >= t->listed_waves + t->lost_waves;

    rp_json_add_object(json, "ipc");
    add_if(json, "per_simd", complete && t->issue.simd_busy_cycles,
           executed / (double)(t->issue.simd_busy_cycles ? t->issue.simd_busy_cycles : 1));
    add_if(json, "per_wave", complete && t->issue.wave_cycles > 0,
           executed / (double)(t->issue.wave_cycles ? t->issue.wave_cycles : 1));
    rp_json_end(json);
}

static void add_branches(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    if (!t->wave_count) {
        rp_json_add_null(json, "branches");
        return;
    }
    rp_json_add_object(json, "branches");
    rp_json_add_count(json, "not_taken", t->branches_not_taken);
    rp_json_add_count(json, "taken", t->branches_taken);
    rp_json_end(json);
}

static void add_sampling(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    if (!t->sampled) {
        rp_json_add_null(json, "sampling");
        return;
    }
    rp_json_add_object(json, "sampling");
    rp_json_add_count_if(json, "dispatches", t->sampled_dispatches > 0, t->sampled_dispatches);
    rp_json_add_text(json, "method", rp_pc_method_names[t->method]);
    rp_json_add_count(json, "undecoded", t->undecoded_samples);
    rp_json_end(json);
}

static void add_trace(struct rp_json_writer *json, const struct rp_thread_trace *t)
{
    rp_json_break(json, 4);
    rp_json_add_object(json, NULL);
    rp_json_add_count_if(json, "agent", t->identified, t->agent);
    add_branches(json, t);
    add_clocks(json, t);
    rp_json_add_text(json, "completeness", rp_att_completeness_names[t->completeness]);
    rp_json_add_text(json, "device", t->software ? "software" : NULL);
    rp_json_add_count_if(json, "dispatch", t->identified, t->dispatch);
    rp_json_add_count_if(json, "gfx_ip", t->gfx_ip > 0, t->gfx_ip);
    add_instructions(json, t);
    add_rates(json, t);
    rp_json_add_text(json, "kernel",
                     t->kernel < t->kernel_count ? t->kernels[t->kernel].name : t->launched);
    add_kernels(json, t);
    rp_json_add_count(json, "listed_waves", t->listed_waves);
    add_kinds(json, t);
    add_occupancy(json, t);
    rp_json_add_text(json, "path", t->path);
    add_problems(json, t);
    add_samples(json, t, &t->samples);
    add_sampling(json, t);
    add_lines(json, t);
    rp_json_break(json, 5);
    add_named(json, "stall_reasons", t->waited_cycles, RP_ATT_REASON_COUNT, rp_att_reason_names);
    add_named(json, "state_cycles", t->state_cycles, RP_ATT_STATE_COUNT, rp_att_state_names);
    if (t->sums_known)
        add_sums(json, "sums", &t->sums);
    else
        rp_json_add_null(json, "sums");
    add_waves(json, t);
    rp_json_add_count_if(json, "waves_cut_short", t->cuts_known, t->cut_waves);
    rp_json_add_count_if(json, "waves_lost", t->cuts_known, t->lost_waves);
    rp_json_end(json);
}

int rp_report_thread_trace_json(const struct rp_thread_traces *set, struct rp_buf *buf,
                                struct rp_err *err)
{
    struct rp_json_writer json = rp_report_json(buf);

    rp_json_add_text(&json, "schema_version", "1.0");
    rp_json_add_array(&json, "thread_trace");
    for (size_t i = 0; i < set->count; i++)
        add_trace(&json, &set->traces[i]);
    rp_json_end(&json);
    return rp_report_json_end(&json, err);
}

static void add_hot_lines(struct rp_json_writer *json, const struct rp_source_trace *trace)
{
    rp_json_break(json, 4);
    rp_json_add_object(json, NULL);
    rp_json_add_number(json, "cycles", round(trace->cycles));
    rp_json_add_array(json, "lines");
    for (size_t i = 0; i < trace->line_count; i++) {
        const struct rp_source_hot *hot = &trace->lines[i];

        rp_json_break(json, 6);
        rp_json_add_array(json, NULL);
        rp_json_add_count(json, NULL, hot->file);
        rp_json_add_count(json, NULL, hot->line);
        rp_json_add_number(json, NULL, round(hot->cycles));
        rp_json_add_number(json, NULL, hot->executed);
        rp_json_add_text(json, NULL, hot->part);
        rp_json_end(json);
    }
    rp_json_end(json);
    rp_json_end(json);
}

/* Lines are pairs of number and text, for a page has hundreds of them. */
int rp_report_sources_json(const struct rp_source_texts *texts, struct rp_buf *buf,
                           struct rp_err *err)
{
    struct rp_json_writer json = rp_report_json(buf);

    rp_json_add_array(&json, "files");
    for (size_t i = 0; i < texts->file_count; i++) {
        const struct rp_source_file *file = &texts->files[i];

        rp_json_break(&json, 4);
        rp_json_add_object(&json, NULL);
        rp_json_add_array(&json, "lines");
        for (size_t k = 0; k < file->line_count; k++) {
            rp_json_break(&json, 6);
            rp_json_add_array(&json, NULL);
            rp_json_add_count(&json, NULL, file->lines[k].line);
            rp_json_add_text(&json, NULL, file->lines[k].text);
            rp_json_end(&json);
        }
        rp_json_end(&json);
        rp_json_add_text(&json, "path", file->path);
        rp_json_end(&json);
    }
    rp_json_end(&json);
    rp_json_add_text(&json, "schema_version", "1.0");
    rp_json_add_array(&json, "traces");
    for (size_t i = 0; i < texts->trace_count; i++)
        add_hot_lines(&json, &texts->traces[i]);
    rp_json_end(&json);
    return rp_report_json_end(&json, err);
}

enum {
    LEAST_WIDTH = 60,
    MOST_HOT = 10,     /**< instructions shown; thread_trace.json has them all */
    MOST_PROBLEMS = 8, /**< the same */
};

static struct rp_number_text percent(uint64_t part, uint64_t whole)
{
    static const struct rp_number_text unknown = {"-"}, little = {"<0.1"};

    if (part && 2000.0 * (double)part < (double)whole)
        return little;
    return whole ? rp_number_fixed(100.0 * (double)part / (double)whole, 1) : unknown;
}

/* --- tables -------------------------------------------------------------------------------- */

static void thread_trace_term_put_mix(const struct rp_page *page, const struct rp_thread_trace *t)
{
    uint64_t all = t->sums.latency_cycles + t->sums.idle_cycles;

    rp_page_line(page, RP_INK_BOLD, 2, "%-8s %14s %9s %8s %8s", "kind", "executed", "% of all",
                 "% time", "% stall");
    for (unsigned k = 0; k < RP_ATT_KIND_COUNT; k++) {
        const struct rp_att_sums *s = &t->by_kind[k];

        if (s->executed)
            rp_page_line(page, RP_INK_PLAIN, 2, "%-8s %14" PRIu64 " %9s %8s %8s",
                         rp_att_kind_names[k], s->executed,
                         percent(s->executed, t->sums.executed).text,
                         percent(s->latency_cycles + s->idle_cycles, all).text,
                         percent(s->stall_cycles, all).text);
    }
}

/* The reasons follow, most cycles first. */
static void put_reasons(const struct rp_page *page, const struct rp_thread_trace *t)
{
    uint64_t all = t->sums.latency_cycles + t->sums.idle_cycles;
    rp_autobuf text = {0};
    bool shown[RP_ATT_REASON_COUNT] = {0};

    if (!t->sums.stall_cycles)
        return;
    for (;;) {
        unsigned best = RP_ATT_REASON_COUNT;

        for (unsigned r = 0; r < RP_ATT_REASON_COUNT; r++)
            if (!shown[r] && t->waited_cycles[r] &&
                (best == RP_ATT_REASON_COUNT || t->waited_cycles[r] > t->waited_cycles[best]))
                best = r;
        if (best == RP_ATT_REASON_COUNT)
            break;
        shown[best] = true;
        rp_buf_printf(&text, "%s%s %s %%", text.len ? ", " : " (", rp_att_reason_names[best],
                      percent(t->waited_cycles[best], all).text);
    }
    page->out->failed |= text.failed;
    rp_page_words(page, RP_INK_PLAIN, 2, 4, "stalled %s %% of wave cycles%s%s",
                  percent(t->sums.stall_cycles, all).text, rp_buf_text(&text), text.len ? ")" : "");
}

static void thread_trace_term_put_latencies(const struct rp_page *page,
                                            const struct rp_thread_trace *t)
{
    for (unsigned k = 0; k < RP_ATT_KIND_COUNT; k++) {
        const struct rp_att_latency *l = &t->latency[k];

        if (l->count)
            rp_page_line(page, RP_INK_PLAIN, 2,
                         "latency of %s: median %" PRIu64 ", %" PRIu64 " to %" PRIu64
                         " cycles (%" PRIu64 " waits)",
                         rp_att_kind_names[k], l->median_cycles, l->least_cycles, l->most_cycles,
                         l->count);
    }
}

static uint64_t weight(const struct rp_att_instruction *in)
{
    return in->sums.latency_cycles + in->sums.idle_cycles + in->samples.taken;
}

static int compare_weights(const void *a, const void *b)
{
    const struct rp_att_instruction *l = *(const struct rp_att_instruction *const *)a;
    const struct rp_att_instruction *r = *(const struct rp_att_instruction *const *)b;

    if (weight(l) != weight(r))
        return weight(l) > weight(r) ? -1 : 1;
    return l < r ? -1 : l > r;
}

/** Appends a file and line without its folders. */
static void put_file(struct rp_buf *to, const char *begin, const char *end)
{
    for (const char *at = begin; at < end; at++)
        if (*at == '/')
            begin = at + 1;
    rp_buf_add(to, begin, (size_t)(end - begin));
}

/* "a.h:3 -> b.hip:9" is inlined into b.hip, which is what the user wrote: "b.hip:9 (a.h:3)". */
static void put_source(struct rp_buf *to, const char *source)
{
    static const char arrow[] = " -> ";
    const char *first = strstr(source, arrow), *last = source;

    for (const char *at = source; (at = strstr(at, arrow)) != NULL;)
        last = at += sizeof arrow - 1;
    put_file(to, last, last + strlen(last));
    if (!first)
        return;
    rp_buf_puts(to, " (");
    put_file(to, source, first);
    rp_buf_puts(to, ")");
}

/* As a comment behind an instruction, if its source is known. */
static void put_place(struct rp_buf *to, const char *source)
{
    if (!*source)
        return;
    rp_buf_puts(to, "  ; ");
    put_source(to, source);
}

/* What a list of the hottest leaves out is in the file. */
static void put_more(const struct rp_page *page, size_t count)
{
    if (count > MOST_HOT)
        rp_page_line(page, RP_INK_PLAIN, 2, "and %zu more in thread_trace.json", count - MOST_HOT);
}

/* Returns all instructions, those with most cycles or samples first. NULL: memory has ended. */
static const struct rp_att_instruction **by_weight(const struct rp_thread_trace *t,
                                                   size_t *ret_count)
{
    const struct rp_att_instruction **hot = calloc(t->instruction_count + 1, sizeof *hot);
    size_t count = 0;

    for (size_t i = 0; hot && i < t->instruction_count; i++)
        if (weight(&t->instructions[i]))
            hot[count++] = &t->instructions[i];
    if (hot)
        qsort(hot, count, sizeof *hot, compare_weights);
    *ret_count = count;
    return hot;
}

static int put_hot(const struct rp_page *page, const struct rp_thread_trace *t)
{
    size_t count = 0;
    rp_autofree const struct rp_att_instruction **hot = by_weight(t, &count);
    uint64_t all = t->sums.latency_cycles + t->sums.idle_cycles + t->samples.taken;

    if (!hot)
        return -1;
    for (size_t i = 0; i < count && i < MOST_HOT; i++) {
        if (i == 0)
            rp_page_line(page, RP_INK_BOLD, 2, "%8s %12s  %s", "% time", "executed", "instruction");
        rp_autobuf where = {0};
        put_place(&where, hot[i]->source);
        page->out->failed |= where.failed;
        rp_page_line(page, RP_INK_PLAIN, 2, "%8s %12" PRIu64 "  %s%s",
                     percent(weight(hot[i]), all).text, hot[i]->sums.executed, hot[i]->isa,
                     rp_buf_text(&where));
    }
    put_more(page, count);
    return 0;
}

/* --- PC samples ---------------------------------------------------------------------------- */

static void put_sample_row(const struct rp_page *page, const struct rp_thread_trace *t,
                           const struct rp_att_samples *of, const char *what, const char *where)
{
    const struct rp_interval share = rp_share_interval(of->taken, t->samples.taken);
    rp_autobuf line = {0};

    rp_buf_printf(&line, "%9s %5s to %5s %9" PRIu64, percent(of->taken, t->samples.taken).text,
                  rp_number_fixed(100 * share.low, 1).text,
                  rp_number_fixed(100 * share.high, 1).text, of->taken);
    if (knows_issue(t))
        rp_buf_printf(&line, " %12s", percent(of->stalled, of->issued + of->stalled).text);
    if (t->lanes_known)
        rp_buf_printf(&line, " %6s",
                      rp_number_fixed((double)of->lanes / (double)of->taken, 1).text);
    page->out->failed |= line.failed;
    rp_page_line(page, RP_INK_PLAIN, 2, "%s  %s%s", rp_buf_text(&line), what, where);
}

static void put_sample_columns(const struct rp_page *page, const struct rp_thread_trace *t,
                               const char *what)
{
    rp_page_line(page, RP_INK_BOLD, 2, "%9s %14s %9s%s%s  %s", "% samples", "(95 %)", "samples",
                 knows_issue(t) ? " % not issued" : "", t->lanes_known ? "  lanes" : "", what);
}

static int put_hot_samples(const struct rp_page *page, const struct rp_thread_trace *t)
{
    size_t count = 0;
    rp_autofree const struct rp_att_instruction **hot = by_weight(t, &count);

    if (!hot)
        return -1;
    put_sample_columns(page, t, "instruction");
    for (size_t i = 0; i < count && i < MOST_HOT; i++) {
        rp_autobuf where = {0};

        put_place(&where, hot[i]->source);
        page->out->failed |= where.failed;
        put_sample_row(page, t, &hot[i]->samples, hot[i]->isa, rp_buf_text(&where));
    }
    put_more(page, count);
    return 0;
}

static int put_hot_lines(const struct rp_page *page, const struct rp_thread_trace *t)
{
    size_t count = 0;
    rp_autofree struct source_line *lines = list_lines(t, &count);

    if (!lines)
        return -1;
    if (count)
        put_sample_columns(page, t, "source line");
    for (size_t i = 0; i < count && i < MOST_HOT; i++) {
        rp_autobuf where = {0};

        put_source(&where, lines[i].source);
        page->out->failed |= where.failed;
        put_sample_row(page, t, &lines[i].samples, rp_buf_text(&where), "");
    }
    put_more(page, count);
    return 0;
}

/* The reasons follow, most samples first. */
static void put_not_issued(const struct rp_page *page, const struct rp_thread_trace *t)
{
    const uint64_t all = t->samples.issued + t->samples.stalled;
    rp_autobuf text = {0};
    bool shown[RP_ATT_SAMPLE_COUNT] = {0};

    if (!knows_issue(t) || !all)
        return;
    for (;;) {
        unsigned best = RP_ATT_SAMPLE_COUNT;

        for (unsigned r = 0; r < RP_ATT_SAMPLE_COUNT; r++)
            if (!shown[r] && t->samples.by_reason[r] &&
                (best == RP_ATT_SAMPLE_COUNT ||
                 t->samples.by_reason[r] > t->samples.by_reason[best]))
                best = r;
        if (best == RP_ATT_SAMPLE_COUNT)
            break;
        shown[best] = true;
        rp_buf_printf(&text, "%s%s %s %%", text.len ? ", " : " (", rp_att_sample_names[best],
                      percent(t->samples.by_reason[best], all).text);
    }
    page->out->failed |= text.failed;
    rp_page_words(page, RP_INK_PLAIN, 2, 4, "not issued in %s %% of the samples%s%s",
                  percent(t->samples.stalled, all).text, rp_buf_text(&text), text.len ? ")" : "");
}

static void put_sampled(const struct rp_page *page, const struct rp_thread_trace *t)
{
    rp_autobuf text = {0};

    rp_buf_printf(&text, "%" PRIu64 " sample%s", t->samples.taken,
                  t->samples.taken == 1 ? "" : "s");
    if (t->sampled_dispatches)
        rp_buf_printf(&text, " of %" PRIu64 " dispatch%s", t->sampled_dispatches,
                      t->sampled_dispatches == 1 ? "" : "es");
    if (t->lanes_known && t->samples.taken)
        rp_buf_printf(&text, ", %s lanes active on average",
                      rp_number_fixed((double)t->samples.lanes / (double)t->samples.taken, 1).text);
    page->out->failed |= text.failed;
    rp_page_line(page, RP_INK_PLAIN, 2, "%s", rp_buf_text(&text));
    if (t->undecoded_samples)
        rp_page_line(page, RP_INK_DIM, 2,
                     "%" PRIu64 " of them in code that the profiler could not decode",
                     t->undecoded_samples);
    put_not_issued(page, t);
}

/* --- head ---------------------------------------------------------------------------------- */

static void put_head(const struct rp_page *page, const struct rp_thread_trace *t)
{
    const char *kernel = t->kernel < t->kernel_count ? t->kernels[t->kernel].name
                         : t->launched               ? t->launched
                                                     : "unknown kernel";
    double mhz = 0;

    if (t->method)
        rp_page_line(page, RP_INK_BOLD, 0, "PC samples (%s) of %s", rp_pc_method_names[t->method],
                     t->path);
    else if (t->identified)
        rp_page_line(page, RP_INK_BOLD, 0, "Thread trace of dispatch %" PRIu64 ", agent %" PRIu64,
                     t->dispatch, t->agent);
    else
        rp_page_line(page, RP_INK_BOLD, 0, "Thread trace %s", t->path);
    rp_page_text(page, RP_INK_PLAIN, 2, kernel);
    if (t->method)
        return;
    rp_page_line(page, t->completeness == RP_ATT_COMPLETE ? RP_INK_PLAIN : RP_INK_YELLOW, 2,
                 "%s%s: %zu of %zu waves", rp_att_completeness_names[t->completeness],
                 t->sampled ? ", PC samples" : "", t->wave_count, t->listed_waves + t->lost_waves);
    for (size_t i = 0; i < t->clock_count; i++)
        mhz += t->clocks[i].mhz / (double)t->clock_count;
    if (t->clock_count)
        rp_page_line(page, RP_INK_PLAIN, 2, "clock %s MHz", rp_number_fixed(mhz, 0).text);
}

static void thread_trace_term_put_occupancy(const struct rp_page *page,
                                            const struct rp_thread_trace *t)
{
    uint32_t peak = 0;
    double waves;

    for (size_t i = 0; i < t->engine_count; i++)
        peak = t->engines[i].peak_waves_per_simd > peak ? t->engines[i].peak_waves_per_simd : peak;
    if (!rp_thread_trace_occupancy(t, &waves))
        return;
    if (peak)
        rp_page_line(page, RP_INK_PLAIN, 2, "average waves per busy SIMD %s (max %" PRIu32 ")%s",
                     rp_number_fixed(waves, 2).text, peak,
                     t->engines_of_kernel ? "" : ", of all kernels");
    else
        rp_page_line(page, RP_INK_PLAIN, 2, "average waves per busy SIMD %s",
                     rp_number_fixed(waves, 2).text);
}

static void thread_trace_term_put_problems(const struct rp_page *page,
                                           const struct rp_thread_trace *t)
{
    for (size_t i = 0; i < t->problem_count && i < MOST_PROBLEMS; i++)
        rp_page_line(page, RP_INK_YELLOW, 2, "%s: %s", t->problems[i].file, t->problems[i].text);
    if (t->problem_count > MOST_PROBLEMS)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more in thread_trace.json",
                     t->problem_count - MOST_PROBLEMS);
}

static bool has_decoders_word(const struct rp_thread_trace *t)
{
    for (size_t i = 0; i < t->problem_count; i++)
        if (strcmp(t->problems[i].file, "decoder") == 0)
            return true;
    return false;
}

static void put_skid(const struct rp_page *page, const struct rp_thread_traces *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->traces[i].method == RP_PC_HOST_TRAP) {
            rp_page_words(
                page, RP_INK_DIM, 0, 2,
                "Host traps are late: what takes the time may stand up to two instructions"
                " before or behind the one that is named.");
            return;
        }
}

static int thread_trace_term_put_trace(const struct rp_page *page, const struct rp_thread_trace *t)
{
    put_head(page, t);
    thread_trace_term_put_problems(page, t);
    if (t->sampled && t->samples.taken) {
        put_sampled(page, t);
        return put_hot_samples(page, t) < 0 ? -1 : put_hot_lines(page, t);
    }
    if (t->completeness == RP_ATT_NOTHING) {
        rp_page_line(page, RP_INK_YELLOW, 2,
                     has_decoders_word(t) ? "no instruction was traced: see above, or no wave ran"
                                          : "no instruction was traced: no wave of the kernel ran");
        rp_page_line(page, RP_INK_YELLOW, 2,
                     "on the target CU of a traced shader engine, or data was lost");
        thread_trace_term_put_occupancy(page, t);
        return 0;
    }
    thread_trace_term_put_occupancy(page, t);
    if (t->wave_count && t->wave_count >= t->listed_waves + t->lost_waves &&
        t->issue.simd_busy_cycles)
        rp_page_line(
            page, RP_INK_PLAIN, 2, "instructions per cycle of a busy SIMD %s",
            rp_number_fixed((double)t->sums.executed / (double)t->issue.simd_busy_cycles, 3).text);
    if (t->sums_known) {
        thread_trace_term_put_mix(page, t);
        put_reasons(page, t);
        thread_trace_term_put_latencies(page, t);
    }
    return put_hot(page, t);
}

int rp_report_thread_trace_term(const struct rp_thread_traces *set, struct rp_term_style style,
                                struct rp_buf *buf, struct rp_err *err)
{
    struct rp_page page = rp_page_of(buf, style, LEAST_WIDTH);

    for (size_t i = 0; i < set->count; i++)
        if (set->traces[i].software) {
            /* These values are made of the thread trace alone. */
            rp_software_line(&page, "detailed");
            break;
        }
    put_skid(&page, set);
    for (size_t i = 0; i < set->count; i++)
        if (thread_trace_term_put_trace(&page, &set->traces[i]) < 0)
            return rp_out_of_memory(err);
    return rp_report_end(buf, err);
}
