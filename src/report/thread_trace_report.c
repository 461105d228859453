#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/thread_trace.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/report.h"
#include "report/report_text.h"

/* Keys are in alphabetical order in every object. What is not known is null. */

static void key(struct rp_buf *buf, const char *name, uint64_t value)
{
    rp_buf_printf(buf, ", \"%s\": %" PRIu64, name, value);
}

static void key_if(struct rp_buf *buf, const char *name, bool known, double value)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    if (known)
        rp_text_json_number(buf, rp_text_round6(value));
    else
        rp_buf_puts(buf, "null");
}

static void key_text(struct rp_buf *buf, const char *name, const char *text)
{
    rp_buf_printf(buf, ", \"%s\": ", name);
    rp_text_json(buf, text);
}

/* --- amounts ------------------------------------------------------------------------------- */

static void put_sums(struct rp_buf *buf, const struct rp_att_sums *sums)
{
    double fraction = 0;
    bool known = rp_thread_trace_stall_fraction(sums, &fraction);

    rp_buf_printf(buf, "{\"executed\": %" PRIu64, sums->executed);
    key(buf, "idle_cycles", sums->idle_cycles);
    key(buf, "latency_cycles", sums->latency_cycles);
    key(buf, "stall_cycles", sums->stall_cycles);
    key_if(buf, "stall_fraction", known, fraction);
    rp_buf_puts(buf, "}");
}

/* Enumerations in the alphabetical order of their names. */
static void sort_names(const char *(*name)(unsigned), unsigned count, unsigned *ret)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;

        for (; at > 0 && strcmp(name(ret[at - 1]), name(i)) > 0; at--)
            ret[at] = ret[at - 1];
        ret[at] = i;
    }
}

static const char *kind_name(unsigned kind)
{
    return rp_att_kind_name((enum rp_att_kind)kind);
}

static const char *reason_name(unsigned reason)
{
    return rp_att_reason_name((enum rp_att_reason)reason);
}

static const char *sample_name(unsigned sample)
{
    return rp_att_sample_name((enum rp_att_sample)sample);
}

static const char *state_name(unsigned state)
{
    return rp_att_state_name((enum rp_att_state)state);
}

enum { MOST_NAMES = 32 };

/* Those that are not 0. */
static void put_named(struct rp_buf *buf, const uint64_t *values, unsigned count,
                      const char *(*name)(unsigned))
{
    unsigned order[MOST_NAMES];
    const char *comma = "";

    sort_names(name, count, order);
    rp_buf_puts(buf, "{");
    for (unsigned i = 0; i < count; i++)
        if (values[order[i]]) {
            rp_buf_printf(buf, "%s\"%s\": %" PRIu64, comma, name(order[i]), values[order[i]]);
            comma = ", ";
        }
    rp_buf_puts(buf, "}");
}

static void put_samples(struct rp_buf *buf, const struct rp_att_samples *samples, bool sampled)
{
    if (!sampled) {
        rp_buf_puts(buf, "null");
        return;
    }
    rp_buf_printf(buf, "{\"issued\": %" PRIu64 ", \"not_issued\": ", samples->issued);
    put_named(buf, samples->by_reason, RP_ATT_SAMPLE_COUNT, sample_name);
    key(buf, "stalled", samples->stalled);
    rp_buf_puts(buf, "}");
}

static bool has_samples(const struct rp_thread_trace *t)
{
    return t->sampled || t->samples.issued || t->samples.stalled;
}

/* --- parts --------------------------------------------------------------------------------- */

static void put_instruction(struct rp_buf *buf, const struct rp_thread_trace *t,
                            const struct rp_att_instruction *in)
{
    rp_buf_printf(buf, "{\"address\": %" PRIu64, in->address);
    key(buf, "code_object", in->code_object);
    key_text(buf, "isa", in->isa);
    rp_buf_puts(buf, ", \"kernel\": ");
    if (in->kernel < t->kernel_count)
        rp_buf_printf(buf, "%" PRIu32, in->kernel);
    else
        rp_buf_puts(buf, "null");
    key_text(buf, "kind", rp_att_kind_name(in->kind));
    rp_buf_puts(buf, ", \"samples\": ");
    put_samples(buf, &in->samples, has_samples(t));
    key_text(buf, "source", in->source[0] ? in->source : NULL);
    rp_buf_puts(buf, ", \"stall_reasons\": ");
    put_named(buf, in->waited_cycles, RP_ATT_REASON_COUNT, reason_name);
    rp_buf_puts(buf, ", \"sums\": ");
    put_sums(buf, &in->sums);
    rp_buf_puts(buf, "}");
}

static void put_instructions(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    const char *comma = "";

    rp_buf_puts(buf, ",\n     \"instructions\": [");
    for (size_t i = 0; i < t->instruction_count; i++) {
        const struct rp_att_instruction *in = &t->instructions[i];

        if (!in->sums.executed && !in->samples.issued && !in->samples.stalled)
            continue;
        rp_buf_printf(buf, "%s\n      ", comma);
        put_instruction(buf, t, in);
        comma = ",";
    }
    rp_buf_puts(buf, "]");
}

static void put_kernels(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    rp_buf_puts(buf, ",\n     \"kernels\": [");
    for (size_t k = 0; k < t->kernel_count; k++) {
        rp_buf_printf(buf, "%s{\"name\": ", k ? ", " : "");
        rp_text_json(buf, t->kernels[k].name);
        rp_buf_puts(buf, ", \"samples\": ");
        put_samples(buf, &t->kernels[k].samples, has_samples(t));
        rp_buf_puts(buf, ", \"sums\": ");
        put_sums(buf, &t->kernels[k].sums);
        key_text(buf, "symbol", t->kernels[k].symbol);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "]");
}

static void put_latencies(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    unsigned order[MOST_NAMES];
    const char *comma = "";

    sort_names(kind_name, RP_ATT_KIND_COUNT, order);
    rp_buf_puts(buf, ",\n     \"memory_latency\": {");
    for (unsigned i = 0; i < RP_ATT_KIND_COUNT; i++) {
        const struct rp_att_latency *l = &t->latency[order[i]];

        if (!l->count)
            continue;
        rp_buf_printf(buf, "%s\"%s\": {\"count\": %" PRIu64, comma, kind_name(order[i]), l->count);
        key(buf, "least_cycles", l->least_cycles);
        key_if(buf, "mean_cycles", true, (double)l->sum_cycles / (double)l->count);
        key(buf, "median_cycles", l->median_cycles);
        key(buf, "most_cycles", l->most_cycles);
        rp_buf_puts(buf, "}");
        comma = ", ";
    }
    rp_buf_puts(buf, "}");
}

static void put_mix(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    unsigned order[MOST_NAMES];

    sort_names(kind_name, RP_ATT_KIND_COUNT, order);
    rp_buf_puts(buf, ",\n     \"mix\": {");
    for (unsigned i = 0; i < RP_ATT_KIND_COUNT; i++) {
        rp_buf_printf(buf, "%s\"%s\": ", i ? ", " : "", kind_name(order[i]));
        put_sums(buf, &t->by_kind[order[i]]);
    }
    rp_buf_puts(buf, "}");
}

static void put_engine(struct rp_buf *buf, const struct rp_att_engine *e)
{
    rp_buf_printf(buf, "{\"busy_cycles\": %" PRIu64 ", \"cus\": %" PRIu32, e->busy_cycles, e->cus);
    rp_buf_printf(buf, ", \"first_cycle\": %" PRId64 ", \"last_cycle\": %" PRId64, e->first_cycle,
                  e->last_cycle);
    rp_buf_puts(buf, ", \"mean_waves\": [");
    for (size_t b = 0; b < RP_ATT_BINS; b++) {
        rp_buf_puts(buf, b ? ", " : "");
        rp_text_json_number(buf, rp_text_round6(e->mean_waves[b]));
    }
    rp_buf_puts(buf, "]");
    key_if(buf, "mean_waves_per_simd", e->simd_busy_cycles > 0,
           (double)e->wave_cycles / (double)(e->simd_busy_cycles ? e->simd_busy_cycles : 1));
    key(buf, "peak_waves_per_simd", e->peak_waves_per_simd);
    key(buf, "shader_engine", e->id);
    key(buf, "simd_busy_cycles", e->simd_busy_cycles);
    key(buf, "simds", e->simds);
    key(buf, "unended_waves", e->unended);
    key(buf, "wave_cycles", e->wave_cycles);
    key(buf, "waves", e->waves);
    rp_buf_puts(buf, "}");
}

static void put_occupancy(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    double waves = 0;
    bool known = rp_thread_trace_occupancy(t, &waves);

    rp_buf_puts(buf, ",\n     \"occupancy\": {\"engines\": [");
    for (size_t i = 0; i < t->engine_count; i++) {
        rp_buf_printf(buf, "%s\n      ", i ? "," : "");
        put_engine(buf, &t->engines[i]);
    }
    rp_buf_printf(buf, "], \"of_kernel_only\": %s",
                  t->engine_count == 0   ? "null"
                  : t->engines_of_kernel ? "true"
                                         : "false");
    key_if(buf, "waves_per_simd", known, waves);
    rp_buf_puts(buf, "}");
}

static void put_problems(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    rp_buf_puts(buf, ",\n     \"problems\": [");
    for (size_t i = 0; i < t->problem_count; i++) {
        rp_buf_printf(buf, "%s\n      {\"file\": ", i ? "," : "");
        rp_text_json(buf, t->problems[i].file);
        key_text(buf, "kind", t->problems[i].damage ? "damaged" : "missing");
        key_text(buf, "text", t->problems[i].text);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "]");
}

static void put_waves(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    rp_buf_puts(buf, ",\n     \"waves\": [");
    for (size_t i = 0; i < t->wave_count; i++) {
        const struct rp_att_wave *w = &t->waves[i];

        rp_buf_printf(buf, "%s\n      {\"begin_cycle\": %" PRId64, i ? "," : "", w->begin_cycle);
        key(buf, "cu", w->cu);
        rp_buf_printf(buf, ", \"end_cycle\": %" PRId64, w->end_cycle);
        key(buf, "id", w->id);
        key(buf, "instructions", w->instructions);
        key(buf, "shader_engine", w->shader_engine);
        key(buf, "simd", w->simd);
        key(buf, "slot", w->slot);
        rp_buf_puts(buf, ", \"state_cycles\": ");
        put_named(buf, w->state_cycles, RP_ATT_STATE_COUNT, state_name);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "]");
}

/* --- source lines -------------------------------------------------------------------------- */

struct source_line {
    const char *source;
    struct rp_att_sums sums;
};

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const struct source_line *)a)->source, ((const struct source_line *)b)->source);
}

static int compare_cycles(const void *a, const void *b)
{
    const struct source_line *l = a, *r = b;
    uint64_t left = l->sums.latency_cycles + l->sums.idle_cycles;
    uint64_t right = r->sums.latency_cycles + r->sums.idle_cycles;

    if (left != right)
        return left > right ? -1 : 1;
    return strcmp(l->source, r->source);
}

static void put_lines(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    rp_autofree struct source_line *lines = calloc(t->instruction_count + 1, sizeof *lines);
    size_t count = 0, kept = 0;

    rp_buf_puts(buf, ",\n     \"source_lines\": [");
    if (!lines) {
        buf->failed = true;
        return;
    }
    for (size_t i = 0; i < t->instruction_count; i++)
        if (t->instructions[i].source[0] && t->instructions[i].sums.executed)
            lines[count++] =
                (struct source_line){t->instructions[i].source, t->instructions[i].sums};
    qsort(lines, count, sizeof *lines, compare_sources);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || strcmp(lines[kept - 1].source, lines[i].source) != 0) {
            lines[kept++] = lines[i];
            continue;
        }
        lines[kept - 1].sums.executed += lines[i].sums.executed;
        lines[kept - 1].sums.latency_cycles += lines[i].sums.latency_cycles;
        lines[kept - 1].sums.stall_cycles += lines[i].sums.stall_cycles;
        lines[kept - 1].sums.idle_cycles += lines[i].sums.idle_cycles;
    }
    qsort(lines, kept, sizeof *lines, compare_cycles);
    for (size_t i = 0; i < kept; i++) {
        rp_buf_printf(buf, "%s\n      {\"source\": ", i ? "," : "");
        rp_text_json(buf, lines[i].source);
        rp_buf_puts(buf, ", \"sums\": ");
        put_sums(buf, &lines[i].sums);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "]");
}

/* --- a trace ------------------------------------------------------------------------------- */

static void put_clocks(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->clock_count; i++)
        sum += t->clocks[i].mhz;
    key_if(buf, "clock_mhz", t->clock_count > 0,
           sum / (double)(t->clock_count ? t->clock_count : 1));
    rp_buf_puts(buf, ", \"clocks\": [");
    for (size_t i = 0; i < t->clock_count; i++) {
        rp_buf_printf(buf, "%s{\"mhz\": ", i ? ", " : "");
        rp_text_json_number(buf, rp_text_round6(t->clocks[i].mhz));
        key(buf, "shader_engine", t->clocks[i].shader_engine);
        rp_buf_puts(buf, "}");
    }
    rp_buf_puts(buf, "]");
}

static void put_rates(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    double executed = (double)t->sums.executed;
    bool complete = t->wave_count > 0 && t->wave_count >= t->listed_waves + t->lost_waves;

    rp_buf_puts(buf, ", \"ipc\": {\"per_simd\": ");
    if (complete && t->issue.simd_busy_cycles)
        rp_text_json_number(buf, rp_text_round6(executed / (double)t->issue.simd_busy_cycles));
    else
        rp_buf_puts(buf, "null");
    key_if(buf, "per_wave", complete && t->issue.wave_cycles > 0,
           executed / (double)(t->issue.wave_cycles ? t->issue.wave_cycles : 1));
    rp_buf_puts(buf, "}");
}

static void put_trace(struct rp_buf *buf, const struct rp_thread_trace *t)
{
    rp_buf_puts(buf, "\n    {\"agent\": ");
    if (t->identified)
        rp_buf_printf(buf, "%" PRIu64, t->agent);
    else
        rp_buf_puts(buf, "null");
    if (t->wave_count)
        rp_buf_printf(buf, ", \"branches\": {\"not_taken\": %" PRIu64 ", \"taken\": %" PRIu64 "}",
                      t->branches_not_taken, t->branches_taken);
    else
        rp_buf_puts(buf, ", \"branches\": null");
    put_clocks(buf, t);
    key_text(buf, "completeness", rp_att_completeness_name(t->completeness));
    key_text(buf, "device", t->software ? "software" : NULL);
    key_if(buf, "dispatch", t->identified, (double)t->dispatch);
    key_if(buf, "gfx_ip", t->gfx_ip > 0, t->gfx_ip);
    put_instructions(buf, t);
    put_rates(buf, t);
    key_text(buf, "kernel", t->kernel < t->kernel_count ? t->kernels[t->kernel].name : t->launched);
    put_kernels(buf, t);
    key(buf, "listed_waves", t->listed_waves);
    put_latencies(buf, t);
    put_mix(buf, t);
    put_occupancy(buf, t);
    key_text(buf, "path", t->path);
    put_problems(buf, t);
    rp_buf_puts(buf, ", \"samples\": ");
    put_samples(buf, &t->samples, has_samples(t));
    put_lines(buf, t);
    rp_buf_puts(buf, ",\n     \"stall_reasons\": ");
    put_named(buf, t->waited_cycles, RP_ATT_REASON_COUNT, reason_name);
    rp_buf_puts(buf, ", \"state_cycles\": ");
    put_named(buf, t->state_cycles, RP_ATT_STATE_COUNT, state_name);
    rp_buf_puts(buf, ", \"sums\": ");
    if (t->sums_known)
        put_sums(buf, &t->sums);
    else
        rp_buf_puts(buf, "null");
    put_waves(buf, t);
    key_if(buf, "waves_cut_short", t->cuts_known, (double)t->cut_waves);
    key_if(buf, "waves_lost", t->cuts_known, (double)t->lost_waves);
    rp_buf_puts(buf, "}");
}

int rp_report_thread_trace_json(const struct rp_thread_traces *set, struct rp_buf *buf,
                                struct rp_err *err)
{
    rp_buf_puts(buf, "{\n  \"schema_version\": \"1.0\",\n  \"thread_trace\": [");
    for (size_t i = 0; i < set->count; i++) {
        rp_buf_puts(buf, i ? "," : "");
        put_trace(buf, &set->traces[i]);
    }
    rp_buf_puts(buf, "]\n}\n");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

enum {
    DEFAULT_WIDTH = 80,
    LEAST_WIDTH = 60,
    MOST_HOT = 10,     /* instructions shown; thread_trace.json has them all */
    MOST_PROBLEMS = 8, /* the same */
};

static struct rp_number_text percent(uint64_t part, uint64_t whole)
{
    static const struct rp_number_text unknown = {"-"};

    return whole ? rp_number_fixed(100.0 * (double)part / (double)whole, 1) : unknown;
}

/* --- tables -------------------------------------------------------------------------------- */

static void thread_trace_term_put_mix(const struct rp_page *page, const struct rp_thread_trace *t)
{
    uint64_t all = t->sums.latency_cycles + t->sums.idle_cycles;

    rp_page_line(page, RP_INK_BOLD, 2, "%-8s %14s %8s %8s %8s", "kind", "executed", "% of it",
                 "% time", "% stall");
    for (unsigned k = 0; k < RP_ATT_KIND_COUNT; k++) {
        const struct rp_att_sums *s = &t->by_kind[k];

        if (s->executed)
            rp_page_line(page, RP_INK_PLAIN, 2, "%-8s %14" PRIu64 " %8s %8s %8s",
                         rp_att_kind_name((enum rp_att_kind)k), s->executed,
                         percent(s->executed, t->sums.executed).text,
                         percent(s->latency_cycles + s->idle_cycles, all).text,
                         percent(s->stall_cycles, all).text);
    }
}

/* As many to a line as fit, most cycles first. */
static void put_reasons(const struct rp_page *page, const struct rp_thread_trace *t)
{
    uint64_t all = t->sums.latency_cycles + t->sums.idle_cycles;
    rp_autobuf text = {0};
    bool shown[RP_ATT_REASON_COUNT] = {0};

    rp_buf_printf(&text, "stalled %s %%:", percent(t->sums.stall_cycles, all).text);
    for (;;) {
        unsigned best = RP_ATT_REASON_COUNT;
        const char *name;

        for (unsigned r = 0; r < RP_ATT_REASON_COUNT; r++)
            if (!shown[r] && t->waited_cycles[r] &&
                (best == RP_ATT_REASON_COUNT || t->waited_cycles[r] > t->waited_cycles[best]))
                best = r;
        if (best == RP_ATT_REASON_COUNT)
            break;
        shown[best] = true;
        name = rp_att_reason_name((enum rp_att_reason)best);
        if (text.len + strlen(name) + 12 > page->width) {
            rp_page_text(page, RP_INK_PLAIN, 2, rp_buf_text(&text));
            text.len = 0;
            rp_buf_puts(&text, "   ");
        }
        rp_buf_printf(&text, " %s %s %%", name, percent(t->waited_cycles[best], all).text);
    }
    if (t->sums.stall_cycles)
        rp_page_text(page, RP_INK_PLAIN, 2, rp_buf_text(&text));
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
                         rp_att_kind_name((enum rp_att_kind)k), l->median_cycles, l->least_cycles,
                         l->most_cycles, l->count);
    }
}

static uint64_t weight(const struct rp_att_instruction *in)
{
    return in->sums.latency_cycles + in->sums.idle_cycles + in->samples.issued +
           in->samples.stalled;
}

static int compare_weights(const void *a, const void *b)
{
    const struct rp_att_instruction *l = *(const struct rp_att_instruction *const *)a;
    const struct rp_att_instruction *r = *(const struct rp_att_instruction *const *)b;

    if (weight(l) != weight(r))
        return weight(l) > weight(r) ? -1 : 1;
    return l < r ? -1 : l > r;
}

/* "a.py:3 -> b.py:9" is inlined into b.py: the innermost place, without its folders. */
static const char *place(const char *source)
{
    size_t end = strcspn(source, " ");
    const char *name = source;

    for (size_t i = 0; i < end; i++)
        if (source[i] == '/')
            name = source + i + 1;
    return name;
}

static int put_hot(const struct rp_page *page, const struct rp_thread_trace *t)
{
    rp_autofree const struct rp_att_instruction **hot =
        calloc(t->instruction_count + 1, sizeof *hot);
    uint64_t all =
        t->sums.latency_cycles + t->sums.idle_cycles + t->samples.issued + t->samples.stalled;

    if (!hot)
        return -1;
    for (size_t i = 0; i < t->instruction_count; i++)
        hot[i] = &t->instructions[i];
    qsort(hot, t->instruction_count, sizeof *hot, compare_weights);
    for (size_t i = 0; i < t->instruction_count && i < MOST_HOT && weight(hot[i]); i++) {
        if (i == 0)
            rp_page_line(page, RP_INK_BOLD, 2, "%8s %12s  %s", "% time",
                         t->sampled ? "samples" : "executed", "instruction");
        rp_page_line(page, RP_INK_PLAIN, 2, "%8s %12" PRIu64 "  %s%s%s",
                     percent(weight(hot[i]), all).text,
                     t->sampled ? weight(hot[i]) : hot[i]->sums.executed, hot[i]->isa,
                     hot[i]->source[0] ? "  ; " : "", place(hot[i]->source));
    }
    return 0;
}

/* --- head ---------------------------------------------------------------------------------- */

static void put_head(const struct rp_page *page, const struct rp_thread_trace *t)
{
    const char *kernel = t->kernel < t->kernel_count ? t->kernels[t->kernel].name
                         : t->launched               ? t->launched
                                                     : "unknown kernel";
    double mhz = 0;

    if (t->identified)
        rp_page_line(page, RP_INK_BOLD, 0, "Thread trace of dispatch %" PRIu64 ", agent %" PRIu64,
                     t->dispatch, t->agent);
    else
        rp_page_line(page, RP_INK_BOLD, 0, "Thread trace %s", t->path);
    rp_page_text(page, RP_INK_PLAIN, 2, kernel);
    rp_page_line(page, t->completeness == RP_ATT_COMPLETE ? RP_INK_PLAIN : RP_INK_YELLOW, 2,
                 "%s%s: %zu of %zu waves", rp_att_completeness_name(t->completeness),
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
        rp_page_line(page, RP_INK_PLAIN, 2, "waves on a busy SIMD: %s, at most %" PRIu32 "%s",
                     rp_number_fixed(waves, 2).text, peak,
                     t->engines_of_kernel ? "" : " (of all kernels)");
    else
        rp_page_line(page, RP_INK_PLAIN, 2, "waves on a busy SIMD: %s",
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

static int thread_trace_term_put_trace(const struct rp_page *page, const struct rp_thread_trace *t)
{
    put_head(page, t);
    thread_trace_term_put_problems(page, t);
    if (t->completeness == RP_ATT_NOTHING) {
        rp_page_line(page, RP_INK_YELLOW, 2,
                     "no instruction was traced: no wave of the kernel ran");
        rp_page_line(page, RP_INK_YELLOW, 2,
                     "on the target CU of a traced shader engine, or data was lost");
        thread_trace_term_put_occupancy(page, t);
        return 0;
    }
    thread_trace_term_put_occupancy(page, t);
    if (t->wave_count && t->wave_count >= t->listed_waves + t->lost_waves &&
        t->issue.simd_busy_cycles)
        rp_page_line(
            page, RP_INK_PLAIN, 2, "instructions a cycle: %s on a busy SIMD",
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
    struct rp_page page = {.out = buf,
                           .colour = style.colour,
                           .utf8 = style.utf8,
                           .width = style.width == 0            ? DEFAULT_WIDTH
                                    : style.width < LEAST_WIDTH ? LEAST_WIDTH
                                                                : style.width};

    for (size_t i = 0; i < set->count; i++)
        if (set->traces[i].software) {
            rp_software_line(&page, "detailed"); /* they are made of it alone */
            break;
        }
    for (size_t i = 0; i < set->count; i++)
        if (thread_trace_term_put_trace(&page, &set->traces[i]) < 0)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
