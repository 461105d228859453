#include "analysis/att/parts.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool rp_att_problem(struct rp_thread_trace *trace, bool damage, const char *file, const char *fmt,
                    ...)
{
    struct rp_att_problem *grown =
        realloc(trace->problems, (trace->problem_count + 1) * sizeof *grown);
    struct rp_att_problem *p;
    va_list ap;

    if (!grown)
        return false;
    trace->problems = grown;
    p = &grown[trace->problem_count];
    *p = (struct rp_att_problem){.damage = damage, .file = strdup(file)};
    va_start(ap, fmt);
    if (vasprintf(&p->text, fmt, ap) < 0)
        p->text = NULL;
    va_end(ap);
    if (!p->file || !p->text) {
        free(p->file);
        free(p->text);
        return false;
    }
    trace->problem_count++;
    return true;
}

/* --- lines --------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b, void *context)
{
    const struct rp_att_instruction *instructions = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    if (instructions[left].line != instructions[right].line)
        return instructions[left].line < instructions[right].line ? -1 : 1;
    return left < right ? -1 : left > right;
}

uint32_t rp_att_find_line(const struct rp_att_build *build, int64_t line)
{
    const struct rp_thread_trace *trace = build->trace;
    size_t low = 0, high = trace->instruction_count;

    if (!build->has_lines || line < 0 || line > UINT32_MAX)
        return UINT32_MAX;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (trace->instructions[build->by_line[middle]].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == trace->instruction_count || trace->instructions[build->by_line[low]].line != line)
        return UINT32_MAX;
    return build->by_line[low];
}

int rp_att_index(struct rp_att_build *build, struct rp_err *err)
{
    struct rp_thread_trace *trace = build->trace;
    size_t count = trace->instruction_count;

    build->meanings = calloc(count + 1, sizeof *build->meanings);
    build->from_waves = calloc(count + 1, sizeof *build->from_waves);
    build->by_line = calloc(count + 1, sizeof *build->by_line);
    build->begun = calloc(trace->kernel_count + 1, sizeof *build->begun);
    if (!build->meanings || !build->from_waves || !build->by_line || !build->begun)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct rp_att_instruction *instruction = &trace->instructions[i];

        rp_att_decode(instruction->isa, trace->gfx_ip, &build->meanings[i]);
        instruction->kind = build->meanings[i].kind;
        build->by_line[i] = (uint32_t)i;
    }
    qsort_r(build->by_line, count, sizeof *build->by_line, compare_lines, trace->instructions);
    return 0;
}

void rp_att_build_free(struct rp_att_build *build)
{
    free(build->meanings);
    free(build->from_waves);
    free(build->by_line);
    free(build->begun);
    for (size_t k = 0; k < RP_ATT_KIND_COUNT; k++)
        free(build->latencies[k].at);
}

/* --- sums ---------------------------------------------------------------------------------- */

static void add(struct rp_att_sums *to, const struct rp_att_sums *from)
{
    to->executed += from->executed;
    to->latency_cycles += from->latency_cycles;
    to->stall_cycles += from->stall_cycles;
    to->idle_cycles += from->idle_cycles;
}

static void add_samples(struct rp_att_samples *to, const struct rp_att_samples *from)
{
    to->issued += from->issued;
    to->stalled += from->stalled;
    for (size_t r = 0; r < RP_ATT_SAMPLE_COUNT; r++)
        to->by_reason[r] += from->by_reason[r];
}

/* What the waves did not explain is explained by the kind of the instruction. */
static void explain_stall(struct rp_att_instruction *instruction,
                          const struct rp_att_meaning *meaning)
{
    uint64_t known = 0;

    for (size_t r = 0; r < RP_ATT_REASON_COUNT; r++)
        known += instruction->waited_cycles[r];
    if (instruction->sums.stall_cycles > known)
        instruction->waited_cycles[rp_att_reason_of(meaning)] +=
            instruction->sums.stall_cycles - known;
}

static void add_up(struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;

    for (size_t i = 0; i < trace->instruction_count; i++) {
        struct rp_att_instruction *in = &trace->instructions[i];

        if (!trace->sums_known && trace->wave_count)
            in->sums = build->from_waves[i];
        explain_stall(in, &build->meanings[i]);
        add(&trace->sums, &in->sums);
        add(&trace->by_kind[in->kind], &in->sums);
        add_samples(&trace->samples, &in->samples);
        for (size_t r = 0; r < RP_ATT_REASON_COUNT; r++)
            trace->waited_cycles[r] += in->waited_cycles[r];
        if (in->kernel < trace->kernel_count) {
            add(&trace->kernels[in->kernel].sums, &in->sums);
            add_samples(&trace->kernels[in->kernel].samples, &in->samples);
        }
    }
    if (trace->instruction_count == 0)
        for (size_t k = 0; k < RP_ATT_KIND_COUNT; k++) {
            trace->by_kind[k] = build->loose[k];
            add(&trace->sums, &build->loose[k]);
        }
    trace->sums_known |= trace->wave_count > 0;
}

/* The kernel in which most waves begin: what it calls may take more cycles. Without waves that with
 * most cycles, or samples. */
static void choose_kernel(const struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;
    uint64_t most = 0, most_begun = 0;

    trace->kernel = trace->kernel_count;
    for (size_t k = 0; k < trace->kernel_count; k++) {
        const struct rp_att_kernel *kernel = &trace->kernels[k];
        uint64_t weight = kernel->sums.latency_cycles + kernel->sums.idle_cycles +
                          kernel->samples.issued + kernel->samples.stalled;

        if (build->begun[k] < most_begun || (build->begun[k] == most_begun && weight <= most))
            continue;
        trace->kernel = k;
        most = weight;
        most_begun = build->begun[k];
    }
}

static int compare_values(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

static void measure_latencies(struct rp_att_build *build)
{
    for (size_t k = 0; k < RP_ATT_KIND_COUNT; k++) {
        const struct rp_att_values *values = &build->latencies[k];
        struct rp_att_latency *latency = &build->trace->latency[k];

        if (values->count == 0)
            continue;
        qsort(values->at, values->count, sizeof *values->at, compare_values);
        latency->count = values->count;
        latency->least_cycles = values->at[0];
        latency->median_cycles = values->at[(values->count - 1) / 2];
        latency->most_cycles = values->at[values->count - 1];
        for (size_t i = 0; i < values->count; i++)
            latency->sum_cycles += values->at[i];
    }
}

/* --- waves --------------------------------------------------------------------------------- */

static int compare_waves(const void *a, const void *b)
{
    const struct rp_att_wave *l = a, *r = b;

    if (l->shader_engine != r->shader_engine)
        return l->shader_engine < r->shader_engine ? -1 : 1;
    if (l->cu != r->cu)
        return l->cu < r->cu ? -1 : 1;
    if (l->simd != r->simd)
        return l->simd < r->simd ? -1 : 1;
    if (l->begin_cycle != r->begin_cycle)
        return l->begin_cycle < r->begin_cycle ? -1 : 1;
    if (l->slot != r->slot)
        return l->slot < r->slot ? -1 : 1;
    return l->id < r->id ? -1 : l->id > r->id;
}

static bool same_simd(const struct rp_att_wave *a, const struct rp_att_wave *b)
{
    return a->shader_engine == b->shader_engine && a->cu == b->cu && a->simd == b->simd;
}

static void measure_issue(struct rp_thread_trace *trace)
{
    struct rp_att_issue *issue = &trace->issue;

    if (trace->wave_count)
        qsort(trace->waves, trace->wave_count, sizeof *trace->waves, compare_waves);
    for (size_t i = 0; i < trace->wave_count;) {
        const struct rp_att_wave *first = &trace->waves[i];
        int64_t covered = first->begin_cycle;

        for (; i < trace->wave_count && same_simd(first, &trace->waves[i]); i++) {
            const struct rp_att_wave *w = &trace->waves[i];
            int64_t begin = w->begin_cycle > covered ? w->begin_cycle : covered;

            issue->wave_cycles += (uint64_t)(w->end_cycle - w->begin_cycle);
            if (w->end_cycle > begin)
                issue->simd_busy_cycles += (uint64_t)(w->end_cycle - begin);
            if (w->end_cycle > covered)
                covered = w->end_cycle;
            for (size_t s = 0; s < RP_ATT_STATE_COUNT; s++)
                trace->state_cycles[s] += w->state_cycles[s];
        }
        issue->simd_span_cycles += (uint64_t)(covered - first->begin_cycle);
        issue->simds++;
    }
}

/* --- checks -------------------------------------------------------------------------------- */

static bool equal(const struct rp_att_sums *a, const struct rp_att_sums *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool within(const struct rp_att_sums *part, const struct rp_att_sums *whole)
{
    return part->executed <= whole->executed && part->latency_cycles <= whole->latency_cycles &&
           part->stall_cycles <= whole->stall_cycles && part->idle_cycles <= whole->idle_cycles;
}

/* The sums of code.json are those of all waves: with some of them missing, at least theirs. */
static bool check_sums(const struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;
    bool all = trace->wave_count >= trace->listed_waves && trace->problem_count == 0;
    size_t wrong = 0;

    if (!trace->sums_known || trace->wave_count == 0 || !build->has_lines)
        return true;
    for (size_t i = 0; i < trace->instruction_count; i++) {
        const struct rp_att_sums *listed = &trace->instructions[i].sums;

        wrong +=
            all ? !equal(&build->from_waves[i], listed) : !within(&build->from_waves[i], listed);
    }
    return wrong == 0 ||
           rp_att_problem(trace, true, "code.json",
                          "sums of %zu instructions do not agree with the wave files", wrong);
}

static bool cut(struct rp_thread_trace *t, uint64_t waves, const char *how)
{
    return !waves || rp_att_problem(t, false, "filenames.json", "%" PRIu64 " wave%s %s", waves,
                                    waves == 1 ? "" : "s", how);
}

/* Texts fit a line of the terminal. */
static bool check_cuts(struct rp_thread_trace *t)
{
    return cut(t, t->cut_waves - t->cut_by_buffer, "cut short: too many instructions to record") &&
           cut(t, t->cut_by_buffer, "cut short: buffer full, see --att-buffer-size") &&
           cut(t, t->lost_waves, "not kept: buffer full, see --att-buffer-size");
}

static bool check_waves(const struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;

    if (build->unknown_lines && build->has_lines &&
        !rp_att_problem(trace, true, "code.json",
                        "%llu executed instructions are not in the listing",
                        (unsigned long long)build->unknown_lines))
        return false;
    if (build->unstitched &&
        !rp_att_problem(trace, false, "se*_wv*.json",
                        "%llu executed instructions could not be placed by the decoder",
                        (unsigned long long)build->unstitched))
        return false;
    return build->bad_timelines == 0 ||
           rp_att_problem(trace, true, "se*_wv*.json",
                          "states of %llu waves do not add up to the time that the waves lived",
                          (unsigned long long)build->bad_timelines);
}

enum rp_att_completeness rp_att_completeness(const struct rp_thread_trace *trace)
{
    bool damage = false;

    for (size_t i = 0; i < trace->problem_count; i++)
        damage |= trace->problems[i].damage;
    if (damage)
        return RP_ATT_DAMAGED;
    if (trace->sums.executed == 0 && trace->samples.issued == 0 && trace->samples.stalled == 0)
        return RP_ATT_NOTHING;
    return trace->problem_count ? RP_ATT_PARTIAL : RP_ATT_COMPLETE;
}

int rp_att_finish(struct rp_att_build *build, struct rp_err *err)
{
    struct rp_thread_trace *trace = build->trace;

    if (!check_sums(build) || !check_waves(build) || !check_cuts(trace))
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    add_up(build);
    choose_kernel(build);
    measure_latencies(build);
    measure_issue(trace);
    return 0;
}
