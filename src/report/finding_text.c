#include "report/finding_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/utf8.h"
#include "trace/records.h"

static const struct feature_words {
    const char *words, *unit;
    double scale;
    unsigned decimals;
} feature_words[] = {
#define RP_FEATURE_WORDS(id, words, unit, scale, decimals)                                         \
    [RP_FEATURE_##id] = {words, unit, scale, decimals},
#include "report/finding_words.def"
#undef RP_FEATURE_WORDS
};

enum {
#define RP_FEATURE_WORDS(id, words, unit, scale, decimals) ROW_##id,
#include "report/finding_words.def"
#undef RP_FEATURE_WORDS
    ROWS
};

_Static_assert((int)ROWS == (int)RP_FEATURE_COUNT, "each feature has one row in finding_words.def");

int rp_finding_texts_make(const struct rp_bottlenecks *of, struct rp_finding_texts *ret,
                          struct rp_err *err)
{
    rp_autofree const char **names = calloc(of->kernel_count + 1, sizeof *names);

    *ret = (struct rp_finding_texts){.of = of};
    if (!names)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < of->kernel_count; i++)
        names[i] = of->kernels[i].name;
    return rp_short_names_make(names, of->kernel_count, &ret->names, err);
}

void rp_finding_texts_free(struct rp_finding_texts *texts)
{
    rp_short_names_free(&texts->names);
}

/* --- parts of sentences --------------------------------------------------------------------- */

static void put_name(const struct rp_finding_texts *t, size_t kernel, struct rp_buf *to)
{
    if (t->put_code) {
        t->put_code(to, t->names.at[kernel]);
    } else {
        rp_buf_puts(to, "`");
        rp_escape(to, t->names.at[kernel]);
        rp_buf_puts(to, "`");
    }
}

/** Appends a place without its folders. */
static void put_line(const struct rp_finding_texts *t, const char *line, struct rp_buf *to)
{
    const char *slash = strrchr(line, '/');
    const char *place = slash ? slash + 1 : line;

    if (t->put_code)
        t->put_code(to, place);
    else
        rp_escape(to, place);
}

static struct rp_number_text per_cent(double share)
{
    const double value = share * 100;

    return rp_number_fixed(value, value >= 9.95 && value < 99.95 ? 0 : value >= 99.95 ? 0 : 1);
}

static const char *basis_words(const struct rp_bottlenecks *b)
{
    return b->basis == RP_RANK_CRITICAL_PATH ? "the critical path" : "the kernel time";
}

/** The words follow "is". */
static const char *label_words(enum rp_bottleneck label)
{
    static const char *const words[] = {
        [RP_BOTTLENECK_UNKNOWN] = "limited by an unknown cause",
        [RP_BOTTLENECK_MEMORY_BANDWIDTH] = "memory-bandwidth bound",
        [RP_BOTTLENECK_LATENCY] = "latency bound",
        [RP_BOTTLENECK_UNDER_OCCUPIED] = "under-occupied",
        [RP_BOTTLENECK_DIVERGENCE] = "limited by divergence",
        [RP_BOTTLENECK_COMPUTE] = "compute bound",
        [RP_BOTTLENECK_LDS] = "LDS bound",
        [RP_BOTTLENECK_LAUNCH] = "bound by launches, host or copies",
        [RP_BOTTLENECK_MIXED] = "balanced",
    };

    return words[label];
}

static void put_capital(const char *text, struct rp_buf *to)
{
    rp_buf_printf(to, "%c%s", toupper((unsigned char)*text), text + 1);
}

static bool is_condition(const struct rp_rule *rule, enum rp_feature feature)
{
    for (size_t i = 0; i < rule->count; i++)
        if (rule->when[i].feature == feature && rule->when[i].sense != RP_SENSE_UNKNOWN)
            return true;
    return false;
}

/** Says which feature made the rule fire, where its cause's evidence has none of its conditions:
 * the one that must be largest. RP_FEATURE_COUNT: the evidence has one. */
static enum rp_feature what_fired(const struct rp_finding *f)
{
    const struct rp_cause_facts *facts = rp_cause_facts(f->cause);
    enum rp_feature found = RP_FEATURE_COUNT;
    double most = 0;

    for (size_t i = 0; f->rule && i < RP_CAUSE_EVIDENCE; i++)
        if (is_condition(f->rule, facts->evidence[i]))
            return RP_FEATURE_COUNT;
    for (size_t i = 0; f->rule && i < f->rule->count; i++)
        if (f->rule->when[i].sense == RP_SENSE_AT_LEAST && f->rule->when[i].value > most) {
            found = f->rule->when[i].feature;
            most = f->rule->when[i].value;
        }
    return found;
}

static bool tell(const struct rp_bottleneck_kernel *kernel, enum rp_feature feature,
                 struct rp_finding_evidence *ret)
{
    const struct rp_quantity *q = &kernel->features.of[feature];
    const struct feature_words *w = &feature_words[feature];

    if (!q->known)
        return false;
    *ret = (struct rp_finding_evidence){
        .name = rp_feature_name(feature), .words = w->words, .unit = w->unit};
    memcpy(ret->value, rp_number_small(q->value * w->scale, w->decimals).text, sizeof ret->value);
    return true;
}

size_t rp_finding_evidence(const struct rp_bottleneck_kernel *kernel,
                           struct rp_finding_evidence ret[RP_CAUSE_EVIDENCE])
{
    const struct rp_cause_facts *facts = rp_cause_facts(kernel->finding.cause);
    const enum rp_feature fired = what_fired(&kernel->finding);
    size_t count = fired < RP_FEATURE_COUNT && tell(kernel, fired, &ret[0]);

    for (size_t i = 0; i < RP_CAUSE_EVIDENCE && count < RP_CAUSE_EVIDENCE; i++) {
        bool told = false;

        for (size_t j = 0; j < i; j++)
            told |= facts->evidence[j] == facts->evidence[i];
        count += !told && tell(kernel, facts->evidence[i], &ret[count]);
    }
    return count;
}

static void put_evidence(const struct rp_finding_evidence *e, struct rp_buf *to)
{
    rp_buf_printf(to, "%s%s%s %s", e->words, *e->words ? " " : "", e->value, e->unit);
}

/** A forecast has no more digits than it is worth: two, or one behind the point from 1.1 on. */
static struct rp_number_text forecast(double factor)
{
    return rp_number_fixed(factor, factor < 1.095 ? 2 : factor < 9.95 ? 1 : 0);
}

/** Says whether times are known between bounds only: of such times nobody can tell what they would
 * become. */
static bool has_intervals(const struct rp_bottlenecks *b)
{
    const char *model = rp_timing_model_today(b->origin.timing_model);

    return model && strcmp(model, rp_timing_model_today(RP_TIMING_COUNTS_WAS)) == 0;
}

/** Appends "low to high faster" of the program, or of the kernel where that of the program is not
 * known. What would be no gain is not said.
 * @param before  stands before it */
static void put_gain(const struct rp_finding_texts *t, const struct rp_finding *f,
                     const char *before, struct rp_buf *to)
{
    const struct rp_factor_range *r = f->program_gain.known ? &f->program_gain : &f->gain;
    const struct rp_number_text low = forecast(r->low), high = forecast(r->high);

    if (!r->known || r->high < 1.005 || has_intervals(t->of))
        return;
    rp_buf_puts(to, before);
    if (r->low < 1.005)
        rp_buf_printf(to, "up to %sx faster", high.text);
    else if (strcmp(low.text, high.text) == 0)
        rp_buf_printf(to, "about %sx faster", high.text);
    else
        rp_buf_printf(to, "%sx to %sx faster", low.text, high.text);
    rp_buf_puts(to, f->program_gain.known ? " end to end" : " for the kernel");
}

/** A unit at its ceiling gains nothing from other ways to do the same work. */
static bool needs_less_work(const struct rp_finding *f)
{
    return f->rule && f->rule->gain == RP_GAIN_LESS_WORK;
}

/** Appends "HBM bandwidth at saxpy.hip:12", or two causes that today's evidence cannot tell apart.
 */
static void put_cause(const struct rp_finding_texts *t, const struct rp_finding *f,
                      struct rp_buf *to)
{
    rp_buf_puts(to, rp_finding_title(f));
    if (f->or_cause != RP_CAUSE_UNKNOWN)
        rp_buf_printf(to, " or %s", rp_cause_facts(f->or_cause)->title);
    if (f->line) {
        rp_buf_puts(to, " at ");
        put_line(t, f->line, to);
    }
    if (f->waits_at) {
        rp_buf_puts(to, " (waves wait at ");
        put_line(t, f->waits_at, to);
        rp_buf_puts(to, ")");
    }
}

/* --- sentences ------------------------------------------------------------------------------ */

/** Appends what would make an unknown cause known. */
static void put_unknown(const struct rp_bottleneck_kernel *k, struct rp_buf *to)
{
    const bool traced = k->features.of[RP_FEATURE_STALL].known;
    const bool counted = k->features.of[RP_FEATURE_BOUND_SHARE].known;

    rp_buf_puts(to, "; what limits it is unknown");
    if (!traced || !counted)
        rp_buf_printf(to, " without %s%s%s", counted ? "" : "hardware counters",
                      traced || counted ? "" : " and ", traced ? "" : "a thread trace");
}

static void put_kernel_sentence(const struct rp_finding_texts *t, struct rp_buf *to)
{
    const size_t at = t->of->program_kernel;
    const struct rp_bottleneck_kernel *k = &t->of->kernels[at];
    const struct rp_finding *f = &t->of->program;
    struct rp_finding_evidence evidence[RP_CAUSE_EVIDENCE];
    const bool weighed = k->weight.known && t->of->basis != RP_RANK_NOTHING;

    put_name(t, at, to);
    if (weighed)
        rp_buf_printf(to, " takes %s %% of %s", per_cent(k->weight.value).text, basis_words(t->of));
    if (f->cause == RP_CAUSE_UNKNOWN) {
        put_unknown(k, to);
    } else if (f->cause == RP_CAUSE_BALANCED) {
        rp_buf_printf(to, "%s no single resource limits it", weighed ? ", and" : ":");
    } else if (f->cause == RP_CAUSE_RUNTIME) {
        rp_buf_printf(to, "%s is %s", weighed ? " and" : "", rp_cause_facts(f->cause)->title);
    } else {
        rp_buf_printf(to, "%s is %s: ", weighed ? " and" : "",
                      label_words(rp_cause_facts(f->cause)->label));
        put_cause(t, f, to);
        if (rp_finding_evidence(k, evidence)) {
            /* What the title says already is not repeated. */
            if (strcmp(evidence[0].words, rp_cause_facts(f->cause)->title) == 0)
                evidence[0].words = "";
            rp_buf_puts(to, " (");
            put_evidence(&evidence[0], to);
            rp_buf_puts(to, ")");
        }
    }
    rp_buf_puts(to, ".");
}

static void put_program_sentence(const struct rp_finding_texts *t, struct rp_buf *to)
{
    const enum rp_cause cause = t->of->program.cause;
    const bool plural = cause == RP_CAUSE_LAUNCH || cause == RP_CAUSE_COPY;

    put_capital(rp_cause_facts(cause)->title, to);
    if (t->of->program.line) {
        rp_buf_puts(to, " at ");
        put_line(t, t->of->program.line, to);
    }
    rp_buf_puts(to, plural ? " limit the program" : " limits the program");
    if (t->of->program_share.known)
        rp_buf_printf(to, ": %s %% of the critical path",
                      per_cent(t->of->program_share.value).text);
    rp_buf_puts(to, ".");
}

/** Says why a traced kernel has no line. */
static bool lacks_line_information(const struct rp_bottleneck_kernel *k, const struct rp_finding *f)
{
    const bool has_cause = f->cause != RP_CAUSE_UNKNOWN && f->cause != RP_CAUSE_BALANCED &&
                           f->cause != RP_CAUSE_RUNTIME;

    return has_cause && !f->line && k->waves.cycles > 0 && !k->waves.has_lines;
}

void rp_finding_put_program(const struct rp_finding_texts *t, struct rp_buf *to)
{
    const struct rp_finding *f = &t->of->program;
    const char *advice = rp_finding_advice(f);

    if (t->of->program_is_kernel ? !t->of->kernel_count : f->cause == RP_CAUSE_UNKNOWN)
        return;
    if (t->of->program_is_kernel)
        put_kernel_sentence(t, to);
    else
        put_program_sentence(t, to);
    if (advice) {
        rp_buf_printf(to, " Try: %s", advice);
        put_gain(t, f, needs_less_work(f) ? "; with half of the work, expect " : "; expect ", to);
        rp_buf_puts(to, ".");
    }
    if (t->of->program_is_kernel &&
        lacks_line_information(&t->of->kernels[t->of->program_kernel], f))
        rp_buf_puts(to, " Its code has no line information: compile it with -g to know the line.");
    if (has_intervals(t->of))
        rp_buf_puts(to, " Counts timing knows times between bounds only: shares of them are "
                        "guesses, and --timing detailed says what to expect.");
}

/** Appends the kernel's further mistakes. */
static void put_also(const struct rp_finding_texts *t, const struct rp_bottleneck_kernel *k,
                     struct rp_buf *to)
{
    for (size_t i = 0; i < k->also_count; i++) {
        rp_buf_puts(to, "; also ");
        put_cause(t, &k->also[i], to);
    }
}

void rp_finding_put_kernel(const struct rp_finding_texts *t, size_t kernel, struct rp_buf *to)
{
    const struct rp_finding *f = &t->of->kernels[kernel].finding;

    put_cause(t, f, to);
    put_gain(t, f, needs_less_work(f) ? "; half of the work: " : "; ", to);
    put_also(t, &t->of->kernels[kernel], to);
}

void rp_finding_put_advice(const struct rp_finding_texts *t, size_t kernel, struct rp_buf *to)
{
    const char *advice = rp_finding_advice(&t->of->kernels[kernel].finding);

    rp_buf_puts(to, advice ? advice : "");
}

int rp_report_verdict_term(const struct rp_bottlenecks *bottlenecks, struct rp_term_style style,
                           struct rp_buf *buf, struct rp_err *err)
{
    const struct rp_page page = rp_page_of_words(buf, style);
    struct rp_finding_texts texts;
    rp_autobuf text = {0};

    if (rp_finding_texts_make(bottlenecks, &texts, err) < 0)
        return -(int)RP_ENVIRONMENT;
    rp_finding_put_program(&texts, &text);
    rp_finding_texts_free(&texts);
    if (text.len) {
        rp_page_words(&page, RP_INK_BOLD, 0, 0, "%s", rp_buf_text(&text));
        rp_buf_puts(buf, "\n");
    }
    buf->failed |= text.failed;
    return rp_report_end(buf, err);
}
