#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "report/page.h"
#include "report/text.h"
#include "rocm-perf/report.h"
#include "rocm-perf/thread_trace.h"

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

static void put_mix(const struct rp_page *page, const struct rp_thread_trace *t)
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

static void put_latencies(const struct rp_page *page, const struct rp_thread_trace *t)
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

static void put_occupancy(const struct rp_page *page, const struct rp_thread_trace *t)
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

static void put_problems(const struct rp_page *page, const struct rp_thread_trace *t)
{
    for (size_t i = 0; i < t->problem_count && i < MOST_PROBLEMS; i++)
        rp_page_line(page, RP_INK_YELLOW, 2, "%s: %s", t->problems[i].file, t->problems[i].text);
    if (t->problem_count > MOST_PROBLEMS)
        rp_page_line(page, RP_INK_DIM, 2, "and %zu more in thread_trace.json",
                     t->problem_count - MOST_PROBLEMS);
}

static int put_trace(const struct rp_page *page, const struct rp_thread_trace *t)
{
    put_head(page, t);
    put_problems(page, t);
    if (t->completeness == RP_ATT_NOTHING) {
        rp_page_line(page, RP_INK_YELLOW, 2,
                     "no instruction was traced: no wave of the kernel ran");
        rp_page_line(page, RP_INK_YELLOW, 2,
                     "on the target CU of a traced shader engine, or data was lost");
        put_occupancy(page, t);
        return 0;
    }
    put_occupancy(page, t);
    if (t->wave_count && t->wave_count >= t->listed_waves + t->lost_waves &&
        t->issue.simd_busy_cycles)
        rp_page_line(
            page, RP_INK_PLAIN, 2, "instructions a cycle: %s on a busy SIMD",
            rp_number_fixed((double)t->sums.executed / (double)t->issue.simd_busy_cycles, 3).text);
    if (t->sums_known) {
        put_mix(page, t);
        put_reasons(page, t);
        put_latencies(page, t);
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
        if (put_trace(&page, &set->traces[i]) < 0)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return buf->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
