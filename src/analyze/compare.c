/* Compares two results: it checks that they can be compared, pairs kernels by name, and gives
 * verdicts. */
#include "analyze/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "trace/counter_set.h"

const char *const rp_versus_verdict_names[] = {[RP_COMPARE_FASTER] = "faster",
                                               [RP_COMPARE_SLOWER] = "slower",
                                               [RP_COMPARE_EQUAL] = "equal",
                                               [RP_COMPARE_UNDECIDED] = "undecided"};

const char *const rp_versus_basis_names[] = {[RP_COMPARE_NOT_TIMED] = "none",
                                             [RP_COMPARE_INCOMPLETE] = "incomplete",
                                             [RP_COMPARE_FAILED_LAUNCHES] = "failed launches",
                                             [RP_COMPARE_TOO_FEW] = "too few runs",
                                             [RP_COMPARE_MEASURED] = "runs",
                                             [RP_COMPARE_MODELLED] = "modelled",
                                             [RP_COMPARE_BY_REPLAY] = "replay"};

/* --- whether they compare ------------------------------------------------------------------ */

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static const char *or_unknown(const char *text)
{
    return text ? text : "unknown";
}

static bool is_same_gpu(const struct rp_versus_gpu *a, const struct rp_versus_gpu *b)
{
    return is_same(a->architecture, b->architecture) && is_same(a->product, b->product) &&
           a->compute_units == b->compute_units && a->engine_clock_mhz == b->engine_clock_mhz;
}

/* Finds a GPU that @p of has and @p other has not. */
static const struct rp_versus_gpu *lacking(const struct rp_versus_side *of,
                                           const struct rp_versus_side *other)
{
    for (size_t i = 0; i < of->gpu_count; i++) {
        bool found = false;

        for (size_t j = 0; j < other->gpu_count && !found; j++)
            found = is_same_gpu(&of->gpus[i], &other->gpus[j]);
        if (!found)
            return &of->gpus[i];
    }
    return NULL;
}

static int refuse_gpus(const struct rp_versus_side *before, const struct rp_versus_side *after,
                       struct rp_err *err)
{
    const struct rp_versus_side *of = lacking(before, after) ? before : after;
    const struct rp_versus_side *other = of == before ? after : before;
    const struct rp_versus_gpu *gpu = lacking(of, other);

    if (!gpu)
        return 0;
    if (is_same(of->tracer, gpu->architecture)) /* JSON of a benchmark tool names no more. */
        return rp_fail(err, RP_BAD_INPUT,
                       "%s was measured by %s%s%s, which %s was not: only results of the same tool "
                       "on the same kind of GPU compare",
                       of->path, gpu->architecture, gpu->product ? " on " : "",
                       gpu->product ? gpu->product : "", other->path);
    if (before->clock_mhz != after->clock_mhz && other->gpu_count &&
        is_same(gpu->product, other->gpus[0].product))
        return rp_refuse_clocks(before->path, before->clock_mhz, after->path, after->clock_mhz,
                                "profile both with the same --clock", err);
    return rp_fail(err, RP_BAD_INPUT,
                   "%s ran on %s (%s, %llu CUs, %llu MHz), which %s did not: only "
                   "results of the same kind of GPU compare",
                   of->path, or_unknown(gpu->product), or_unknown(gpu->architecture),
                   (unsigned long long)gpu->compute_units,
                   (unsigned long long)gpu->engine_clock_mhz, other->path);
}

/* Writes how the side whose model of time is the older one, or else the base, is made again with
 * the other's. Modelled times need no more than the program. */
static void put_remedy(const struct rp_versus_side *before, const struct rp_versus_side *after,
                       struct rp_buf *to)
{
    const bool is_base = !is_same(before->timing_model, after->timing_model) ||
                         before->timing_version < after->timing_version;
    const struct rp_versus_side *again = is_base ? before : after;

    rp_buf_printf(to, "make %s again: rocm-perf profile --timing %s %s", again->path,
                  (is_base ? after : before)->timing_model,
                  again->command ? again->command : "PROGRAM");
}

static int refuse_models(const struct rp_versus_side *before, const struct rp_versus_side *after,
                         struct rp_err *err)
{
    const struct rp_versus_side *const sides[] = {before, after};

    for (int i = 0; i < 2; i++) {
        if (sides[i]->wall)
            return rp_fail(err, RP_BAD_INPUT,
                           "%s has wall clocks of the software device, which say nothing of a "
                           "GPU: profile it without --no-rocprof",
                           sides[i]->path);
        if (!sides[i]->timing_model)
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is of the software device and does not say by which model of time:"
                           " profile again",
                           sides[i]->path);
        if (strcmp(sides[i]->timing_model, "off") == 0)
            return rp_fail(err, RP_BAD_INPUT, "%s was made with --timing off: it has no times",
                           sides[i]->path);
    }
    if (is_same(before->timing_model, after->timing_model) &&
        before->timing_version == after->timing_version)
        return 0;
    rp_autobuf remedy = {0};
    put_remedy(before, after, &remedy);
    return rp_fail(err, RP_BAD_INPUT,
                   "%s is of %s timing, version %u, and %s of %s timing, version %u: only times "
                   "of one model compare; %s",
                   before->path, before->timing_model, before->timing_version, after->path,
                   after->timing_model, after->timing_version, rp_buf_text(&remedy));
}

static int refuse(const struct rp_versus_side *before, const struct rp_versus_side *after,
                  struct rp_err *err)
{
    const struct rp_versus_side *told = before->told.is ? before : after;
    int rc;

    if (told->told.is)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is of `replay compare`, which has compared two kernels already: give "
                       "it alone",
                       told->path);
    if (before->software != after->software)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is of %s and %s of %s: modelled and measured times do not compare",
                       before->path, before->software ? "the software device" : "hardware",
                       after->path, after->software ? "the software device" : "hardware");
    rc = before->software ? refuse_models(before, after, err) : 0;
    if (rc == 0 && before->wall != after->wall)
        rc = rp_fail(err, RP_BAD_INPUT,
                     "%s has the wall clock of the whole process, and %s times of kernels: "
                     "profile both in the same way",
                     before->wall ? before->path : after->path,
                     before->wall ? after->path : before->path);
    return rc < 0 ? rc : refuse_gpus(before, after, err);
}

/* --- times --------------------------------------------------------------------------------- */

/* Copies the usable times, with NAN in the place of others, and computes their geometric mean.
 * @return how many there are */
static size_t usable(const struct rp_versus_runs *runs, double *ret_ms, double *ret_mean)
{
    size_t count = 0;
    double sum = 0;

    for (size_t i = 0; i < runs->count; i++) {
        ret_ms[i] = isfinite(runs->ms[i]) && runs->ms[i] > 0 ? runs->ms[i] : NAN;
        if (!isnan(ret_ms[i])) {
            sum += log(ret_ms[i]);
            count++;
        }
    }
    *ret_mean = count ? exp(sum / (double)count) : NAN;
    return count;
}

/* @return the time of all runs that have one; NAN: they differ */
static double same_in_all(const double *ms, size_t count)
{
    double same = NAN;

    for (size_t i = 0; i < count; i++) {
        if (isnan(same))
            same = ms[i];
        else if (!isnan(ms[i]) && ms[i] != same)
            return NAN;
    }
    return same;
}

static enum rp_versus_verdict verdict(const struct rp_versus_time *t, double margin)
{
    const double most = 1 + margin, least = 1 / most;

    if (!t->bounded)
        return RP_COMPARE_UNDECIDED;
    if (t->low > most)
        return RP_COMPARE_SLOWER;
    if (t->high < least)
        return RP_COMPARE_FASTER;
    return t->low >= least && t->high <= most ? RP_COMPARE_EQUAL : RP_COMPARE_UNDECIDED;
}

static void bound_by(struct rp_versus_time *t, const struct rp_versus_shift *shift, double alpha,
                     double margin)
{
    const double half = rp_versus_half_interval(shift, alpha);

    t->bounded = true;
    t->low = exp(shift->log_ratio - half);
    t->high = exp(shift->log_ratio + half);
    t->level = 1 - alpha;
    t->drift = exp(shift->drift) - 1;
    t->verdict = verdict(t, margin);
    t->reason = t->verdict != RP_COMPARE_UNDECIDED ? NULL
                : shift->drift > half / 2
                    ? "drift: the times of a side grow or fall from run to run"
                    : "noise: more runs would narrow the interval";
}

static void bound_exactly(struct rp_versus_time *t, double ratio, double margin)
{
    t->ratio = t->low = t->high = ratio;
    t->level = 1;
    t->bounded = true;
    t->verdict = verdict(t, margin);
}

/* The true times lie anywhere between the bounds of each side. A side of detailed timing without
 * bounds has one time for both. */
static void bound_by_counts(struct rp_versus_time *t, const struct rp_versus_runs *before,
                            const struct rp_versus_runs *after, double margin)
{
    const bool known[] = {before->longest_ms > 0, after->longest_ms > 0};
    const double least = known[0] ? before->shortest_ms : t->before_ms;

    t->low = (known[1] ? after->shortest_ms : t->after_ms) /
             (known[0] ? before->longest_ms : t->before_ms);
    t->high = least > 0 ? (known[1] ? after->longest_ms : t->after_ms) / least : INFINITY;
    t->level = 1;
    t->bounded = isfinite(t->high);
    t->verdict = verdict(t, margin);
    if (t->verdict == RP_COMPARE_UNDECIDED)
        t->reason = "intervals overlap: use --timing detailed";
}

/* Says by how much both clocks may be wrong about a mean launch, in logarithms. */
static double ticks(const struct rp_quantity *dispatches, double ms)
{
    return dispatches->known ? RP_COMPARE_TICK_MS * dispatches->value / ms : 0;
}

/* A series is judged by these: for the whole, or for a kernel. */
struct timed {
    const struct rp_versus_runs *before, *after;
    const struct rp_quantity *dispatches_before, *dispatches_after;
    bool software, counts, wall, incomplete, failed;
    bool parts; /**< how much of a side was recorded is left to time, a hand or a signal */
};

/* The formula of counts timing alone tells no times apart. Without bounds it shows at most that
 * both sides executed the same.
 * @param exactly the ratio of times that are the same in all runs; NAN: they differ */
static void bound_modelled(const struct timed *of, double exactly, double margin,
                           struct rp_versus_time *t)
{
    const bool before = of->before->longest_ms > 0, after = of->after->longest_ms > 0;

    t->basis = RP_COMPARE_MODELLED;
    if (of->counts ? before && after : before || after)
        bound_by_counts(t, of->before, of->after, margin);
    else if (!of->counts || (exactly == 1 && !before && !after))
        bound_exactly(t, exactly, margin);
    else
        t->reason = "bounds unknown: profile again, or use --timing detailed";
}

static bool same_dispatches(const struct timed *of)
{
    return of->dispatches_before->known && of->dispatches_after->known &&
           of->dispatches_before->value == of->dispatches_after->value;
}

/* @return whether the verdict depends on the spread of the runs */
static bool time_of(const struct timed *of, double margin, double *a, double *b,
                    struct rp_versus_time *t, struct rp_versus_shift *shift)
{
    double exactly;

    *t = (struct rp_versus_time){.verdict = RP_COMPARE_UNDECIDED, .ratio = NAN};
    t->before_runs = usable(of->before, a, &t->before_ms);
    t->after_runs = usable(of->after, b, &t->after_ms);
    if (t->before_runs == 0 || t->after_runs == 0) {
        t->reason = "there are no usable times on both sides";
        return false;
    }
    t->ratio = t->after_ms / t->before_ms;
    if (of->incomplete) { /* A dispatch that was lost took no time. */
        t->basis = RP_COMPARE_INCOMPLETE;
        t->reason = "incomplete: dispatches of a side were lost, a trace was not closed, a rank is "
                    "missing, or a benchmark failed";
        return false;
    }
    if (of->parts && !same_dispatches(of)) { /* Whoever recorded longer is not slower. */
        t->basis = RP_COMPARE_INCOMPLETE;
        t->reason = "a side is a part of a run that time or a signal ended: compare whole runs, or "
                    "parts by --roctx-range";
        return false;
    }
    if (of->failed) { /* A dispatch that never ran took none, either. */
        t->basis = RP_COMPARE_FAILED_LAUNCHES;
        t->reason = "HIP refused launches of one side, which did less work for that";
        return false;
    }
    exactly = same_in_all(b, of->after->count) / same_in_all(a, of->before->count);
    if (of->software && (of->counts || !isnan(exactly) || of->before->longest_ms > 0 ||
                         of->after->longest_ms > 0)) {
        bound_modelled(of, exactly, margin, t);
        return false;
    }
    if (t->before_runs < RP_COMPARE_LEAST_RUNS || t->after_runs < RP_COMPARE_LEAST_RUNS) {
        t->basis = RP_COMPARE_TOO_FEW;
        t->reason = "too few runs: a verdict needs 6 of each side (profile --runs 10)";
        return false;
    }
    t->basis = RP_COMPARE_MEASURED;
    t->before_step = rp_versus_step_of(of->before);
    t->after_step = rp_versus_step_of(of->after);
    *shift = rp_versus_shift_of(a, of->before->count, b, of->after->count);
    if (!of->software && !of->wall)
        shift->drift +=
            ticks(of->dispatches_before, t->before_ms) + ticks(of->dispatches_after, t->after_ms);
    return true;
}

/* --- all kernels --------------------------------------------------------------------------- */

/* The verdict of such a kernel is by its runs. */
struct candidate {
    struct rp_versus_time *time;
    struct rp_versus_shift shift;
    double p;
};

static int by_p(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return (a->time > b->time) - (a->time < b->time);
}

/* By Holm's method each has to be surer the more there are; after a verdict fewer are left. */
static void judge(struct candidate *list, size_t count, double alpha, double margin)
{
    bool told = true;
    double level = alpha;

    if (count)
        qsort(list, count, sizeof *list, by_p);
    for (size_t i = 0; i < count; i++) {
        if (told)
            level = alpha / (double)(count - i);
        told = told && list[i].p <= level;
        bound_by(list[i].time, &list[i].shift, level, margin);
    }
}

static size_t max_runs(const struct rp_versus_side *side)
{
    size_t most = side->runs.count;

    for (size_t i = 0; i < side->kernel_count; i++)
        if (side->kernels[i].runs.count > most)
            most = side->kernels[i].runs.count;
    return most;
}

/* A program may try whether a launch is possible, and then the same launches fail on both sides. */
static bool failed_differently(const struct rp_versus_found *c)
{
    return c->before->failed != c->after->failed ||
           !is_same(c->before->failed_launches, c->after->failed_launches);
}

static bool is_of_counts(const struct rp_versus_side *side)
{
    return side->timing_model && strcmp(side->timing_model, "counts") == 0;
}

static void time_kernels(struct rp_versus_found *c, const struct rp_versus_rule *rule, double *a,
                         double *b, struct candidate *candidates)
{
    size_t count = 0;

    for (size_t i = 0; i < c->kernel_count; i++) {
        struct rp_versus_pair *k = &c->kernels[i];
        struct timed timed = {.software = c->before->software,
                              .counts = is_of_counts(c->before),
                              .incomplete = c->before->incomplete || c->after->incomplete,
                              .parts = c->before->part || c->after->part,
                              .failed = failed_differently(c)};

        k->time = (struct rp_versus_time){.verdict = RP_COMPARE_UNDECIDED,
                                          .before_ms = NAN,
                                          .after_ms = NAN,
                                          .ratio = NAN,
                                          .reason = "the other side does not run it"};
        if (!k->before || !k->after)
            continue;
        timed.before = &k->before->runs;
        timed.after = &k->after->runs;
        timed.dispatches_before = &k->before->metrics[RP_COMPARE_DISPATCHES];
        timed.dispatches_after = &k->after->metrics[RP_COMPARE_DISPATCHES];
        if (!time_of(&timed, rule->margin, a, b, &k->time, &candidates[count].shift))
            continue;
        candidates[count].time = &k->time;
        candidates[count].p = rp_versus_p_value(&candidates[count].shift, 1 + rule->margin);
        count++;
    }
    judge(candidates, count, rule->alpha / 2, rule->margin);
}

static void time_whole(struct rp_versus_found *c, const struct rp_versus_rule *rule, double *a,
                       double *b)
{
    const struct timed timed = {
        .before = &c->before->runs,
        .after = &c->after->runs,
        .dispatches_before = &c->before->metrics[RP_COMPARE_DISPATCHES],
        .dispatches_after = &c->after->metrics[RP_COMPARE_DISPATCHES],
        .software = c->before->software,
        .counts = is_of_counts(c->before),
        .wall = c->before->wall,
        .incomplete = c->before->incomplete || c->after->incomplete,
        .parts = c->before->part || c->after->part,
        .failed = failed_differently(c),
    };
    struct rp_versus_shift shift;

    if (time_of(&timed, rule->margin, a, b, &c->whole, &shift))
        bound_by(&c->whole, &shift, rule->alpha / 2, rule->margin);
}

/* Bounds of counts timing are of kernels, so with them the span is not known. */
static void time_span(struct rp_versus_found *c, const struct rp_versus_rule *rule, double *a,
                      double *b)
{
    static const struct rp_quantity unknown = {0};
    const struct timed timed = {
        .before = &c->before->spans,
        .after = &c->after->spans,
        .dispatches_before = &unknown, /* Two ticks of the clock do not matter. */
        .dispatches_after = &unknown,
        .software = c->before->software,
        .incomplete = c->before->incomplete || c->after->incomplete,
        .parts = c->before->part || c->after->part,
        .failed = failed_differently(c),
    };
    const bool counts = is_of_counts(c->before) || is_of_counts(c->after) ||
                        c->before->runs.longest_ms > 0 || c->after->runs.longest_ms > 0;
    struct rp_versus_shift shift;

    c->span = (struct rp_versus_time){
        .verdict = RP_COMPARE_UNDECIDED, .before_ms = NAN, .after_ms = NAN, .ratio = NAN};
    if (!counts && time_of(&timed, rule->margin, a, b, &c->span, &shift))
        bound_by(&c->span, &shift, rule->alpha / 2, rule->margin);
    if (c->span.basis == RP_COMPARE_NOT_TIMED)
        c->span.reason = counts ? "counts timing does not know it: use --timing detailed"
                                : "a result does not say how long it takes end to end";
}

/* --- reasons with numbers ------------------------------------------------------------------ */

/* Keeps the text as the reason of the time; without memory the reason stays. */
static void give_reason(struct rp_versus_found *c, struct rp_buf *text, struct rp_versus_time *t)
{
    char **grown = reallocarray(c->texts, c->text_count + 1, sizeof *grown);
    char *kept = grown ? rp_buf_steal(text) : NULL;

    c->texts = grown ? grown : c->texts;
    if (!kept)
        return;
    c->texts[c->text_count++] = kept;
    t->reason = kept;
}

static void put_step(struct rp_buf *to, const char *what, const char *side,
                     const struct rp_versus_step *step)
{
    if (!step->at)
        return;
    rp_buf_printf(to, "%sa step %s: %s up to %s %zu, ", to->len ? "; " : "", side,
                  rp_unit_one(RP_UNIT_TIME, step->from_ms * 1e6, false).text, what, step->at - 1);
    rp_buf_printf(to, "%s from %s %zu on", rp_unit_one(RP_UNIT_TIME, step->to_ms * 1e6, false).text,
                  what, step->at);
}

static void put_steps(struct rp_buf *to, const char *what, const struct rp_versus_time *t)
{
    put_step(to, what, "before", &t->before_step);
    put_step(to, what, "after", &t->after_step);
    if (t->before_step.at && t->after_step.at)
        rp_buf_printf(to, "; behind the steps: %s",
                      rp_speed_change(t->before_step.to_ms / t->after_step.to_ms).text);
}

static void explain(struct rp_versus_found *c, struct rp_versus_time *t)
{
    const struct rp_versus_within *within = &t->within;
    const char *reason = t->reason;
    rp_autobuf text = {0};

    if (t->verdict != RP_COMPARE_UNDECIDED)
        return;
    if (within->bounded && within->verdict != RP_COMPARE_UNDECIDED) {
        rp_buf_printf(&text,
                      "%s within one run (%s, %zu launches of each side), which says nothing of "
                      "the noise between runs; %s",
                      rp_versus_verdict_names[within->verdict],
                      rp_speed_range(1 / within->high, 1 / within->low).text, within->launches,
                      reason);
    } else if (t->before_step.at || t->after_step.at) {
        put_steps(&text, t->basis == RP_COMPARE_MEASURED ? "run" : "launch", t);
        if (t->basis == RP_COMPARE_TOO_FEW)
            rp_buf_printf(&text, "; %s", reason);
        /* What is between two levels is no interval of a ratio. */
        t->bounded = false;
    } else if (within->stepping) {
        rp_buf_printf(&text, "launches of %zu kernel%s have a step; %s", within->stepping,
                      rp_plural(within->stepping), reason);
    }
    if (text.len)
        give_reason(c, &text, t);
}

static void explain_all(struct rp_versus_found *c)
{
    explain(c, &c->whole);
    explain(c, &c->span);
    for (size_t i = 0; i < c->kernel_count; i++)
        explain(c, &c->kernels[i].time);
}

bool rp_versus_span_matters(const struct rp_versus_found *c)
{
    return c->span.basis != RP_COMPARE_NOT_TIMED &&
           (c->span.before_ms != c->whole.before_ms || c->span.after_ms != c->whole.after_ms);
}

int rp_versus(const struct rp_versus_side *before, const struct rp_versus_side *after,
              const struct rp_versus_rule *rule, struct rp_versus_found *ret, struct rp_err *err)
{
    const size_t most = before->kernel_count + after->kernel_count;
    rp_autofree double *a = calloc(max_runs(before) + 1, sizeof *a);
    rp_autofree double *b = calloc(max_runs(after) + 1, sizeof *b);
    rp_autofree struct candidate *candidates = calloc(most + 1, sizeof *candidates);
    struct rp_versus_found c = {.before = before, .after = after};
    int rc = refuse(before, after, err);

    if (rc < 0)
        return rc;
    c.kernels = calloc(most + 1, sizeof *c.kernels);
    if (!a || !b || !candidates || !c.kernels) {
        free(c.kernels);
        return rp_out_of_memory(err);
    }
    c.kernel_count = rp_versus_names_pair(before, after, c.kernels);
    if (c.kernel_count == SIZE_MAX) {
        free(c.kernels);
        return rp_out_of_memory(err);
    }
    time_whole(&c, rule, a, b);
    time_span(&c, rule, a, b);
    time_kernels(&c, rule, a, b, candidates);
    rp_versus_find_within(&c, rule);
    explain_all(&c);
    *ret = c;
    return 0;
}

/* --- what replay compare found ------------------------------------------------------------- */

static enum rp_versus_verdict verdict_of(const char *word)
{
    for (int i = RP_COMPARE_FASTER; i < RP_COMPARE_UNDECIDED; i++)
        if (strcmp(word, rp_versus_verdict_names[i]) == 0)
            return (enum rp_versus_verdict)i;
    return RP_COMPARE_UNDECIDED;
}

int rp_versus_find_reported(const struct rp_versus_side *side, struct rp_versus_found *ret,
                            struct rp_err *err)
{
    const struct rp_versus_reported *told = &side->told;

    if (!told->is)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is one result: give what it is to be compared with, too", side->path);
    *ret = (struct rp_versus_found){
        .before = side,
        .after = side,
        .whole = {.basis = RP_COMPARE_BY_REPLAY,
                  .verdict = verdict_of(told->verdict),
                  .before_ms = NAN,
                  .after_ms = NAN,
                  .ratio = told->ratio_known ? told->ratio : NAN,
                  .bounded = told->ratio_known && told->level > 0,
                  .low = told->low,
                  .high = told->high,
                  .level = told->level,
                  .reason = told->reason},
    };
    return 0;
}

void rp_versus_found_free(struct rp_versus_found *compared)
{
    for (size_t i = 0; i < compared->text_count; i++)
        free(compared->texts[i]);
    free(compared->texts);
    free(compared->kernels);
    memset(compared, 0, sizeof *compared);
}

/* Gates are conditions on a comparison, for CI. This section parses and decides them. */

static const struct {
    const char *sign;
    enum rp_versus_relation relation;
} relations[] = {
    {"<=", RP_AT_MOST}, {">=", RP_AT_LEAST}, {"==", RP_EXACTLY}, {"<", RP_BELOW}, {">", RP_ABOVE},
};

const char *const rp_versus_passed_names[] = {[RP_COMPARE_PASSED] = "passed",
                                              [RP_COMPARE_FAILED] = "failed",
                                              [RP_COMPARE_OPEN] = "undecided"};

void rp_versus_condition_free(struct rp_versus_condition *gate)
{
    free(gate->text);
    free(gate->kernel);
    memset(gate, 0, sizeof *gate);
}

/* --- parsing ------------------------------------------------------------------------------- */

/* Names of kernels may have all of the signs, but bounds have none, so the last sign is the gate's.
 */
static const char *find_sign(const char *text, size_t *ret_relation, size_t *ret_len)
{
    const char *end = text + strlen(text), *begin;

    while (end > text && !strchr("<>=", end[-1]))
        end--;
    begin = end;
    while (begin > text && strchr("<>=", begin[-1]))
        begin--;
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++)
        if (strlen(relations[i].sign) == (size_t)(end - begin) &&
            strncmp(relations[i].sign, begin, (size_t)(end - begin)) == 0) {
            *ret_relation = i;
            *ret_len = (size_t)(end - begin);
            return begin;
        }
    return NULL;
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && strncmp(text, word, len) == 0;
}

static int parse_metric(const char *word, size_t len, struct rp_versus_condition *gate,
                        struct rp_err *err)
{
    gate->span = is_word(word, len, "end_to_end");
    gate->within = is_word(word, len, "runtime_within_run");
    gate->runtime = gate->span || gate->within || is_word(word, len, "runtime");
    if (gate->span && gate->kernel)
        return rp_fail(err, RP_USAGE,
                       "--gate %s: end_to_end is of the whole program; use runtime for a kernel",
                       gate->text);
    if (gate->runtime)
        return 0;
    for (unsigned i = 0; i < RP_COMPARE_METRICS; i++) {
        const char *name = rp_versus_metric_names[i];

        if (strlen(name) == len && strncmp(name, word, len) == 0) {
            gate->metric = (enum rp_versus_metric)i;
            return 0;
        }
    }
    return rp_fail(err, RP_USAGE,
                   "--gate %s: nothing is called '%.*s'; use runtime, runtime_within_run, "
                   "end_to_end, vgprs, agprs, sgprs, lds_bytes, scratch_bytes, occupancy, bytes, "
                   "dispatches or cv",
                   gate->text, (int)len, word);
}

static bool is_end(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return !*text;
}

/* Parses a number that ends the text. */
static bool parse_last_number(const char *text, double *ret)
{
    char *end;

    while (isspace((unsigned char)*text))
        text++;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return false;
    *ret = strtod(text, &end);
    return end != text && isfinite(*ret) && is_end(end);
}

/* Parses NUMBER, before, NUMBER*before and before+NUMBER. */
static bool parse_bound(const char *text, struct rp_versus_condition *gate)
{
    static const char word[] = "before";
    char *end;

    while (isspace((unsigned char)*text))
        text++;
    gate->bound = 1;
    if (strncmp(text, word, strlen(word)) != 0) {
        if (!isdigit((unsigned char)*text) && *text != '.')
            return false;
        gate->bound = strtod(text, &end);
        if (end == text || !isfinite(gate->bound))
            return false;
        if (is_end(end))
            return true;
        if (*end != '*')
            return false;
        text = end + 1;
    }
    gate->of_before = true;
    if (strncmp(text, word, strlen(word)) != 0)
        return false;
    text += strlen(word);
    while (isspace((unsigned char)*text))
        text++;
    return *text == '+' ? parse_last_number(text + 1, &gate->more) : !*text;
}

static int parse_left(const char *left, size_t len, struct rp_versus_condition *gate,
                      struct rp_err *err)
{
    static const char prefix[] = "kernel:";
    const size_t prefix_len = strlen(prefix);
    size_t word = len;

    if (strncmp(left, prefix, prefix_len < len ? prefix_len : len) != 0 || len <= prefix_len)
        return parse_metric(left, len, gate, err);
    while (word > prefix_len && left[word - 1] != ':')
        word--;
    if (word <= prefix_len + 1)
        return rp_fail(err, RP_USAGE,
                       "--gate %s: write kernel:NAME:METRIC, as in kernel:vadd:runtime<=1.05",
                       gate->text);
    gate->kernel = strndup(left + prefix_len, word - 1 - prefix_len);
    if (!gate->kernel)
        return rp_out_of_memory(err);
    return parse_metric(left + word, len - word, gate, err);
}

static int parse(const char *text, struct rp_versus_condition *gate, struct rp_err *err)
{
    size_t relation, sign_len, left_len;
    const char *sign = find_sign(text, &relation, &sign_len);
    int rc;

    if (!sign)
        return rp_fail(err, RP_USAGE,
                       "--gate %s: no comparison in it; write METRIC<=NUMBER, with one of"
                       " <= >= < > ==",
                       text);
    left_len = (size_t)(sign - text);
    while (left_len && isspace((unsigned char)text[left_len - 1]))
        left_len--;
    gate->relation = relations[relation].relation;
    rc = parse_left(text, left_len, gate, err);
    if (rc < 0)
        return rc;
    if (!parse_bound(sign + sign_len, gate))
        return rp_fail(err, RP_USAGE,
                       "--gate %s: '%s' is no bound; use a number, before, NUMBER*before or "
                       "before+NUMBER",
                       text, sign + sign_len);
    if (gate->runtime && gate->of_before)
        return rp_fail(err, RP_USAGE, "--gate %s: %s is a ratio to before already; use a number",
                       text,
                       gate->span     ? "end_to_end"
                       : gate->within ? "runtime_within_run"
                                      : "runtime");
    if (gate->runtime && gate->relation == RP_EXACTLY)
        return rp_fail(err, RP_USAGE,
                       "--gate %s: a ratio of times is never exactly that; use <= and >=", text);
    return 0;
}

int rp_versus_condition_parse(const char *text, struct rp_versus_condition *ret, struct rp_err *err)
{
    struct rp_versus_condition gate = {.text = strdup(text)};
    int rc = gate.text ? parse(text, &gate, err) : rp_out_of_memory(err);

    if (rc < 0) {
        rp_versus_condition_free(&gate);
        return rc;
    }
    *ret = gate;
    return 0;
}

/* --- judging ------------------------------------------------------------------------------- */

static void end_with(struct rp_versus_outcome *ret, enum rp_versus_passed passed, const char *why)
{
    ret->passed = passed;
    snprintf(ret->reason, sizeof ret->reason, "%s", why);
}

static bool holds(double value, enum rp_versus_relation relation, double bound)
{
    switch (relation) {
    case RP_AT_MOST:
        return value <= bound;
    case RP_AT_LEAST:
        return value >= bound;
    case RP_BELOW:
        return value < bound;
    case RP_ABOVE:
        return value > bound;
    case RP_EXACTLY:
        break;
    }
    return value == bound;
}

/* One run of each side decides a gate that asks for it. Other runs may differ by as much as a
 * verdict within one run leaves room for. */
static struct rp_versus_time judged_time(const struct rp_versus_condition *gate,
                                         const struct rp_versus_time *time)
{
    struct rp_versus_time ret = *time;

    if (!gate->within || time->bounded || !time->within.bounded)
        return ret;
    ret.bounded = true;
    ret.ratio = time->within.ratio;
    ret.low = time->within.low / RP_COMPARE_BETWEEN_RUNS;
    ret.high = time->within.high * RP_COMPARE_BETWEEN_RUNS;
    return ret;
}

/* The condition must hold, or not hold, in the whole interval. */
static void judge_time(const struct rp_versus_condition *gate, const struct rp_versus_time *of,
                       struct rp_versus_outcome *ret)
{
    const struct rp_versus_time judged = judged_time(gate, of), *time = &judged;
    bool at_low = holds(time->low, gate->relation, gate->bound);
    bool at_high = holds(time->high, gate->relation, gate->bound);

    ret->value = (struct rp_quantity){.known = !isnan(time->ratio), .value = time->ratio};
    ret->limit = (struct rp_quantity){.known = true, .value = gate->bound};
    if (!time->bounded)
        end_with(ret, RP_COMPARE_OPEN, time->reason ? time->reason : "there is no interval");
    else if (at_low != at_high)
        end_with(ret, RP_COMPARE_OPEN, "the limit is within the interval");
    else if (time->basis == RP_COMPARE_BY_REPLAY && time->verdict == RP_COMPARE_UNDECIDED &&
             time->reason)
        end_with(ret, RP_COMPARE_OPEN, time->reason);
    else
        end_with(ret, at_low ? RP_COMPARE_PASSED : RP_COMPARE_FAILED, "");
}

static void judge_metric(const struct rp_versus_condition *gate, const struct rp_quantity *before,
                         const struct rp_quantity *after, struct rp_versus_outcome *ret)
{
    struct rp_quantity limit = {.known = true, .value = gate->bound};

    if (gate->of_before)
        limit = (struct rp_quantity){
            .known = before && before[gate->metric].known,
            .value = before ? gate->bound * before[gate->metric].value + gate->more : 0};
    ret->value = after[gate->metric];
    ret->limit = limit;
    if (!ret->value.known)
        end_with(ret, RP_COMPARE_OPEN, "the result after does not say");
    else if (!limit.known)
        end_with(ret, RP_COMPARE_OPEN, "the result before does not say");
    else
        end_with(ret,
                 holds(ret->value.value, gate->relation, limit.value) ? RP_COMPARE_PASSED
                                                                      : RP_COMPARE_FAILED,
                 "");
}

/* Accepts the whole name, the part before arguments of templates and functions, and the part before
 * the suffix that distinguishes kernels of one name. */
static bool is_called(const char *name, const char *wanted)
{
    const size_t len = strlen(wanted);

    if (strcmp(name, wanted) == 0)
        return true;
    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    return strncmp(name, wanted, len) == 0 && (name[len] == '(' || name[len] == '<' || !name[len] ||
                                               strncmp(name + len, " [", 2) == 0);
}

/* Copies what stands before the arguments of a template or function, by which a gate may name a
 * kernel. @return false: it is longer than names that are told */
static bool plain_name(const char *name, char ret[RP_NEAREST_MOST + 1])
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *begin = strncmp(name, "void ", 5) == 0 ? name + 5 : name, *end = begin;

    while (*end && *end != '<' && strncmp(end, " [", 2) != 0) {
        if (strncmp(end, anonymous, strlen(anonymous)) == 0)
            end += strlen(anonymous);
        else if (*end == '(')
            break;
        else
            end++;
    }
    snprintf(ret, RP_NEAREST_MOST + 1, "%.*s", (int)(end - begin), begin);
    return end - begin <= RP_NEAREST_MOST && end > begin;
}

/* Says how far apart the names are: typing errors, or 1 where the one is a part of the other. */
static size_t far_from(const char *wanted, const char *name)
{
    struct rp_nearest nearest = {.word = wanted};

    rp_nearest_try(&nearest, name);
    if (!nearest.name && strlen(wanted) >= 3 && strstr(name, wanted))
        return 1;
    return nearest.name ? nearest.distance : SIZE_MAX;
}

/* Lists up to three names that the gate may mean, the nearest first. Where names are as near as
 * each other, the kernel with more time is first, as in the list. */
static void put_near(const struct rp_versus_condition *gate, const struct rp_versus_found *compared,
                     struct rp_versus_outcome *ret)
{
    enum { MOST = 3 };
    char wanted[RP_NEAREST_MOST + 1], names[MOST][RP_NEAREST_MOST + 1];
    size_t count = 0;

    if (!plain_name(gate->kernel, wanted))
        return;
    for (size_t least = SIZE_MAX; count < MOST; least = SIZE_MAX) {
        for (size_t i = 0; i < compared->kernel_count; i++) {
            const struct rp_versus_pair *k = &compared->kernels[i];
            char name[RP_NEAREST_MOST + 1];
            bool is_new = plain_name((k->after ? k->after : k->before)->name, name);

            for (size_t j = 0; j < count && is_new; j++)
                is_new = strcmp(names[j], name) != 0;
            if (!is_new || far_from(wanted, name) >= least)
                continue;
            least = far_from(wanted, name);
            memcpy(names[count], name, sizeof name);
        }
        if (least == SIZE_MAX)
            break;
        count++;
    }
    for (size_t i = 0; i < count; i++)
        snprintf(ret->near + strlen(ret->near), sizeof ret->near - strlen(ret->near), "%s%s",
                 i ? ", " : "", names[i]);
}

static bool concerns(const struct rp_versus_condition *gate, const struct rp_versus_pair *k)
{
    const struct rp_versus_kernel *some = k->after ? k->after : k->before;

    return gate->kernel ? is_called(some->name, gate->kernel) : k->after && !some->runtime_internal;
}

static int severity(enum rp_versus_passed passed)
{
    return passed == RP_COMPARE_FAILED ? 2 : passed == RP_COMPARE_OPEN ? 1 : 0;
}

static void judge_kernel(const struct rp_versus_condition *gate, const struct rp_versus_pair *k,
                         struct rp_versus_outcome *ret)
{
    ret->kernel = k->after ? k->after->name : k->before->name;
    if (!k->after && gate->runtime && !gate->may_miss)
        end_with(ret, RP_COMPARE_FAILED,
                 "it ran before and does not run now (--allow-missing allows it)");
    else if (!k->after)
        end_with(ret, RP_COMPARE_OPEN, "the kernel does not run after");
    else if (gate->runtime && !k->before)
        end_with(ret, RP_COMPARE_OPEN, "the kernel does not run before");
    else if (gate->runtime)
        judge_time(gate, &k->time, ret);
    else
        judge_metric(gate, k->before ? k->before->metrics : NULL, k->after->metrics, ret);
}

/* A kernel that does not run takes no time.
 * @return the first kernel of the program that ran before and does not run after; NULL: there is
 * none */
static const char *missing(const struct rp_versus_found *compared)
{
    for (size_t i = 0; i < compared->kernel_count; i++) {
        const struct rp_versus_pair *k = &compared->kernels[i];

        if (k->before && !k->after && !k->before->runtime_internal)
            return k->before->name;
    }
    return NULL;
}

static void judge_whole_time(const struct rp_versus_condition *gate,
                             const struct rp_versus_found *compared, struct rp_versus_outcome *ret)
{
    const char *name = gate->may_miss ? NULL : missing(compared);

    judge_time(gate, gate->span ? &compared->span : &compared->whole, ret);
    if (!name)
        return;
    ret->kernel = name;
    end_with(ret, RP_COMPARE_FAILED,
             "a kernel that ran before does not run now (--allow-missing allows it)");
}

void rp_versus_condition_judge(const struct rp_versus_condition *gate,
                               const struct rp_versus_found *compared,
                               struct rp_versus_outcome *ret)
{
    bool whole = !gate->kernel && (gate->runtime || !rp_versus_metric_per_kernel(gate->metric));
    size_t found = 0;

    *ret = (struct rp_versus_outcome){0};
    if (whole && gate->runtime)
        judge_whole_time(gate, compared, ret);
    else if (whole)
        judge_metric(gate, compared->before->metrics, compared->after->metrics, ret);
    for (size_t i = 0; !whole && i < compared->kernel_count; i++) {
        struct rp_versus_outcome one = {0};

        if (!concerns(gate, &compared->kernels[i]))
            continue;
        judge_kernel(gate, &compared->kernels[i], &one);
        if (found++ == 0 || severity(one.passed) > severity(ret->passed))
            *ret = one;
    }
    if (!whole && found == 0)
        end_with(ret, RP_COMPARE_OPEN,
                 gate->kernel ? "no kernel has this name" : "the results have no kernels");
    if (!whole && found == 0 && gate->kernel)
        put_near(gate, compared, ret);
}
