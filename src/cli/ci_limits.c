/* Holds the profiles of both sides of a program to its limits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/units.h"
#include "cli/ci.h"
#include "report/report.h"

static const struct rp_versus_rule rule = {.margin = 0.01, .alpha = 0.01};

/** Both sides, and what they come to. */
struct compared {
    struct rp_ci_job *job;
    const struct rp_ci_program *p;
    struct rp_versus_side base, head;
    struct rp_versus_found found;
    bool has_base;
    struct rp_versus_condition *conditions; /**< of the gates below, for the page */
    struct rp_versus_outcome *outcomes;
    size_t count;
};

static void free_compared(struct compared *c)
{
    for (size_t i = 0; i < c->count; i++)
        rp_versus_condition_free(&c->conditions[i]);
    free(c->conditions);
    free(c->outcomes);
    rp_versus_found_free(&c->found);
    rp_versus_side_free(&c->base);
    rp_versus_side_free(&c->head);
}

/* --- words --------------------------------------------------------------------------------- */

static const double least_percent = 0.05;

/** Writes "14.2 % slower than base (6.35 -> 7.25 us)". */
static void put_change(struct rp_buf *to, const struct rp_versus_time *t)
{
    if (fabs(100 * (t->ratio - 1)) < least_percent) {
        struct rp_unit_span span = {0};
        struct rp_unit unit;

        rp_unit_span_add_both(&span, t->before_ms * 1e6, t->after_ms * 1e6);
        unit = rp_unit_of(RP_UNIT_TIME, span, false);
        rp_buf_printf(to, "as fast as base (%s -> %s %s)",
                      rp_unit_number(unit, t->before_ms * 1e6).text,
                      rp_unit_number(unit, t->after_ms * 1e6).text, unit.name);
    } else {
        rp_change_text(to, t->ratio, t->before_ms, t->after_ms, "than base");
    }
    if (t->basis == RP_COMPARE_MEASURED && t->bounded)
        rp_buf_printf(to, ", %s with %s %% confidence",
                      rp_speed_range(1 / t->high, 1 / t->low).text,
                      rp_number_fixed(100 * t->level, 1).text);
}

static const char *subject_of(enum rp_versus_metric metric)
{
    static const char *const words[] = {[RP_COMPARE_VGPRS] = "vector registers",
                                        [RP_COMPARE_AGPRS] = "accumulation registers",
                                        [RP_COMPARE_SGPRS] = "scalar registers",
                                        [RP_COMPARE_LDS_BYTES] = "bytes of LDS",
                                        [RP_COMPARE_SCRATCH_BYTES] = "bytes of scratch memory",
                                        [RP_COMPARE_OCCUPANCY] = "occupancy",
                                        [RP_COMPARE_BYTES] = "bytes of memory traffic",
                                        [RP_COMPARE_DISPATCHES] = "launches",
                                        [RP_COMPARE_CV] = "variation of the runs"};

    return words[metric];
}

static void put_quantity(struct rp_buf *to, enum rp_versus_metric metric, struct rp_quantity q)
{
    const bool share = metric == RP_COMPARE_OCCUPANCY || metric == RP_COMPARE_CV;

    rp_buf_puts(to, q.known ? rp_number_fixed(q.value, share ? 3 : 0).text : "an unknown number");
}

/* --- one gate ------------------------------------------------------------------------------ */

static enum rp_ci_outcome outcome_of(enum rp_versus_passed passed)
{
    return passed == RP_COMPARE_PASSED   ? RP_CI_HOLDS
           : passed == RP_COMPARE_FAILED ? RP_CI_FAILS
                                         : RP_CI_UNDECIDED;
}

/* Finds the pair that a gate of kernels has decided by. */
static const struct rp_versus_pair *pair_of(const struct rp_versus_found *found, const char *name)
{
    for (size_t i = 0; name && i < found->kernel_count; i++) {
        const struct rp_versus_pair *k = &found->kernels[i];

        if ((k->after && strcmp(k->after->name, name) == 0) ||
            (k->before && strcmp(k->before->name, name) == 0))
            return k;
    }
    return NULL;
}

static const char *name_of(const struct rp_versus_pair *k)
{
    return (k->after ? k->after : k->before)->name;
}

/** Finds the kernel that lost most time. */
static const struct rp_versus_pair *slowest_change(const struct rp_versus_found *found)
{
    const struct rp_versus_pair *worst = NULL;
    double most = 0;

    for (size_t i = 0; i < found->kernel_count; i++) {
        const struct rp_versus_pair *k = &found->kernels[i];
        const double lost = k->before && k->after ? k->time.after_ms - k->time.before_ms : 0;

        if (lost > most) {
            most = lost;
            worst = k;
        }
    }
    return worst;
}

/* The word by which sources call a kernel: without types, namespaces and arguments. */
static char *word_of(const char *name)
{
    static const char nameless[] = "(anonymous namespace)::";
    const char *inside = strstr(name, nameless);
    size_t len, begin;

    if (inside)
        name = inside + sizeof nameless - 1;
    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    len = strcspn(name, "(<[ ");
    for (begin = len; begin && name[begin - 1] != ':'; begin--)
        ;
    return rp_strndup(name + begin, len - begin);
}

/* Finds where the kernel is defined: the first line with its name and __global__, or else with its
 * name at all. */
static int note_kernel(const struct compared *c, const char *name, const char *text,
                       struct rp_ci_gate *gate, struct rp_err *err)
{
    rp_autofree char *word = word_of(name), *file = NULL;
    rp_autobuf lines = {0};
    unsigned line = 0;
    int rc = *word ? rp_git_find_word(c->job->head.tree.path, word, &lines, err) : 0;
    const char *end = rp_buf_text(&lines) + lines.len;

    for (const char *at = rp_buf_text(&lines); rc == 0 && at < end;) {
        const char *number = at + strlen(at) + 1, *code;
        size_t len;

        code = number < end ? number + strlen(number) + 1 : end;
        if (code >= end)
            break;
        len = strcspn(code, "\n");
        const bool defines = memmem(code, len, "__global__", 10);

        if (defines || !file) {
            free(file);
            file = rp_strdup(at);
            line = (unsigned)strtoul(number, NULL, 10);
        }
        at = defines ? end : code + len + 1;
    }
    if (rc == 0)
        rp_ci_gate_note(gate, text, file, line);
    return rc;
}

static void put_kernels(struct rp_buf *to, const struct rp_versus_found *found)
{
    enum { MOST_ROWS = 12 };

    for (size_t i = 0, shown = 0; i < found->kernel_count && shown < MOST_ROWS; i++) {
        const struct rp_versus_pair *k = &found->kernels[i];
        rp_autobuf changes = {0};

        if (!k->before || !k->after) {
            rp_buf_printf(to, "%s: only in %s\n", name_of(k), k->before ? "base" : "head");
            shown++;
            continue;
        }
        rp_versus_changes_text(&changes, k);
        if (k->time.verdict == RP_COMPARE_EQUAL && !changes.len)
            continue;
        rp_buf_printf(to, "%s: ", k->after->name);
        put_change(to, &k->time);
        rp_buf_printf(to, "%s%s\n", changes.len ? "; " : "", rp_buf_text(&changes));
        shown++;
    }
}

/* Names of kernels are text of others, which the sentence of a gate has not. */
static void note_near(const struct rp_versus_outcome *outcome, struct rp_ci_gate *gate)
{
    rp_autobuf text = {0};

    if (!outcome->near[0])
        return;
    rp_buf_printf(&text, "near: %s", outcome->near);
    rp_ci_gate_note(gate, rp_buf_text(&text), NULL, 0);
}

/* Says of a time what it is, and how far from its limit. */
static int decide_time(const struct compared *c, const struct rp_versus_condition *condition,
                       const struct rp_versus_outcome *outcome, struct rp_ci_gate *gate,
                       struct rp_err *err)
{
    const struct rp_versus_pair *of =
        condition->kernel ? pair_of(&c->found, outcome->kernel) : NULL;
    const struct rp_versus_time *t = of                ? &of->time
                                     : condition->span ? &c->found.span
                                                       : &c->found.whole;
    const struct rp_versus_pair *worst = of ? of : slowest_change(&c->found);
    rp_autobuf text = {0};

    if (outcome->passed == RP_COMPARE_FAILED && outcome->kernel && !(of && of->after)) {
        rp_ci_gate_decide(gate, RP_CI_FAILS,
                          "a kernel of base does not run any more (\"allow_missing\": "
                          "true in the configuration accepts that)");
        rp_ci_gate_note(gate, outcome->kernel, NULL, 0);
        return 0;
    }
    if (condition->span)
        rp_buf_puts(&text, "end to end on the GPU ");
    if (isnan(t->ratio))
        rp_buf_puts(&text, "there is no time to compare");
    else
        put_change(&text, t);
    rp_buf_puts(&text, ", limit ");
    rp_buf_number(&text, rp_round6(100 * (condition->bound - 1)));
    rp_buf_puts(&text, " %");
    if (outcome->passed == RP_COMPARE_OPEN)
        rp_buf_printf(&text, "; undecided, as %s", outcome->reason);
    rp_ci_gate_decide(gate, outcome_of(outcome->passed), "%s", rp_buf_text(&text));
    note_near(outcome, gate);
    if (outcome->passed == RP_COMPARE_PASSED || !worst || outcome->near[0])
        return 0;
    rp_buf_free(&text);
    put_kernels(&text, &c->found);
    gate->evidence = rp_buf_steal(&text);
    return note_kernel(c, name_of(worst), name_of(worst), gate, err);
}

/* What is new needs no base. But a kernel that was renamed is new, too, and nobody has said that it
 * may be. */
static void decide_new(const struct compared *c, const struct rp_versus_pair *k,
                       struct rp_ci_gate *gate)
{
    bool gone = false;

    for (size_t i = 0; i < c->found.kernel_count; i++)
        gone |= !c->found.kernels[i].after && !c->found.kernels[i].before->runtime_internal;
    rp_ci_gate_decide(gate, gone && !c->p->allow_missing ? RP_CI_UNDECIDED : RP_CI_SKIPPED,
                      "nothing to compare with: the base has no such kernel");
    rp_ci_gate_note(gate, k->after->name, NULL, 0);
}

static int decide_metric(const struct compared *c, const struct rp_versus_condition *condition,
                         const struct rp_versus_outcome *outcome, struct rp_ci_gate *gate,
                         struct rp_err *err)
{
    const struct rp_versus_pair *k = pair_of(&c->found, outcome->kernel);
    rp_autobuf text = {0};

    if (k && !k->before && condition->of_before) {
        decide_new(c, k, gate);
        return 0;
    }
    rp_buf_printf(&text, "%s ", subject_of(condition->metric));
    if (k && k->before && k->before->metrics[condition->metric].known) {
        put_quantity(&text, condition->metric, k->before->metrics[condition->metric]);
        rp_buf_puts(&text, " -> ");
    }
    put_quantity(&text, condition->metric, outcome->value);
    rp_buf_puts(&text, ", limit ");
    put_quantity(&text, condition->metric, outcome->limit);
    if (outcome->passed == RP_COMPARE_OPEN)
        rp_buf_printf(&text, "; undecided, as %s", outcome->reason);
    rp_ci_gate_decide(gate, outcome_of(outcome->passed), "%s", rp_buf_text(&text));
    note_near(outcome, gate);
    if (!outcome->kernel || outcome->passed == RP_COMPARE_PASSED)
        return 0;
    return note_kernel(c, outcome->kernel, outcome->kernel, gate, err);
}

/* A kernel that only one side has is not held to what it was before. Where there are no others, all
 * are asked, so that it is said which one that is. */
static void judge(const struct compared *c, const struct rp_versus_condition *condition,
                  struct rp_versus_outcome *ret)
{
    struct rp_versus_found shared = c->found;

    if (condition->runtime || !condition->of_before) {
        rp_versus_condition_judge(condition, &c->found, ret);
        return;
    }
    shared.kernels = rp_alloc_zero(c->found.kernel_count + 1, sizeof *shared.kernels);
    shared.kernel_count = 0;
    for (size_t i = 0; i < c->found.kernel_count; i++)
        if (c->found.kernels[i].before && c->found.kernels[i].after)
            shared.kernels[shared.kernel_count++] = c->found.kernels[i];
    rp_versus_condition_judge(condition, &shared, ret);
    free(shared.kernels);
    if (ret->passed == RP_COMPARE_OPEN && !ret->kernel)
        rp_versus_condition_judge(condition, &c->found, ret);
}

static int decide(struct compared *c, const char *name, const char *text, struct rp_err *err)
{
    struct rp_ci_gate *gate = rp_ci_gate_find(&c->job->result, c->p->name, name);
    struct rp_versus_condition *condition = &c->conditions[c->count];
    struct rp_versus_outcome *outcome = &c->outcomes[c->count];
    int rc = rp_versus_condition_parse(text, condition, err);

    if (rc < 0)
        return rc;
    c->count++;
    condition->may_miss = c->p->allow_missing;
    judge(c, condition, outcome);
    gate->value = outcome->value;
    gate->limit = outcome->limit;
    return condition->runtime ? decide_time(c, condition, outcome, gate, err)
                              : decide_metric(c, condition, outcome, gate, err);
}

enum limit_kind { MORE, LESS, PLAIN };

static double bound_of(enum limit_kind kind, double limit)
{
    return kind == MORE ? 1 + limit / 100 : kind == LESS ? 1 - limit / 100 : limit;
}

static int decide_limit(struct compared *c, const char *name, double limit, enum limit_kind kind,
                        const char *condition, struct rp_err *err)
{
    const char *place = strstr(condition, "%s");
    rp_autobuf text = {0};

    if (isnan(limit))
        return 0;
    rp_buf_add(&text, condition, (size_t)(place - condition));
    rp_buf_number(&text, bound_of(kind, limit));
    rp_buf_puts(&text, place + 2);
    return decide(c, name, rp_buf_text(&text), err);
}

static int decide_all(struct compared *c, struct rp_err *err)
{
    int rc = 0;

#define RP_CI_LIMIT(member, most, kind, condition, what)                                           \
    if (rc == 0)                                                                                   \
        rc = decide_limit(c, #member, c->p->limits.member, kind, condition, err);
#include "cli/ci_limits.def"
#undef RP_CI_LIMIT
    for (size_t i = 0; rc == 0 && i < c->p->gates.count; i++)
        rc = decide(c, c->p->gates.at[i], c->p->gates.at[i], err);
    return rc;
}

/* --- both sides ---------------------------------------------------------------------------- */

/* Decides all gates of limits without a comparison. */
static void decide_without(const struct compared *c, enum rp_ci_outcome outcome, const char *why,
                           const char *evidence)
{
    static const char *const names[] = {
#define RP_CI_LIMIT(member, most, kind, condition, what) #member,
#include "cli/ci_limits.def"
#undef RP_CI_LIMIT
    };
    const size_t limits = sizeof names / sizeof *names;

    for (size_t i = 0; i < limits + c->p->gates.count; i++) {
        struct rp_ci_gate *gate = rp_ci_gate_find(
            &c->job->result, c->p->name, i < limits ? names[i] : c->p->gates.at[i - limits]);

        if (!gate)
            continue;
        rp_ci_gate_decide(gate, outcome, "%s", why);
        gate->evidence = evidence ? rp_strdup(evidence) : NULL;
    }
}

static int read_side(const struct compared *c, const char *word, struct rp_versus_side *ret,
                     struct rp_err *err)
{
    rp_autofree char *folder = rp_ci_path(c->job, c->p, word);

    return rp_compare_read_side(folder, ret, err);
}

/* Profiles one side and reads the result.
 * @param ret_there whether there is one; else the gates are decided */
static int profile(struct compared *c, const struct rp_ci_side *side, struct rp_versus_side *ret,
                   bool *ret_there, struct rp_err *err)
{
    rp_cleanup(rp_ci_step_free) struct rp_ci_step step = {0};
    const bool head = side == &c->job->head;
    rp_autobuf why = {0};
    int rc = rp_ci_profile(c->job, side, c->p, &step, err);

    *ret_there = rc == 0 && !step.failure;
    if (rc < 0)
        return rc;
    if (!step.failure)
        return read_side(c, side->word, ret, err);
    rp_buf_printf(&why, "there is no profile of the %s: %s", side->word, step.failure);
    decide_without(c, head ? RP_CI_FAILS : RP_CI_UNDECIDED, rp_buf_text(&why), step.evidence);
    return 0;
}

static void sum_bytes(const struct rp_versus_side *side, struct rp_quantity *ret)
{
    for (size_t i = 0; i < side->kernel_count; i++) {
        const struct rp_quantity q = side->kernels[i].metrics[RP_COMPARE_BYTES];

        ret->known |= q.known;
        ret->value += q.known ? q.value : 0;
    }
}

static void add_numbers(struct compared *c, const char *page)
{
    struct rp_ci_numbers n = {.program = rp_strdup(c->p->name),
                              .page = page ? rp_strdup(page) : NULL};

    if (c->head.runs.count)
        n.head_ms =
            (struct rp_quantity){.known = !isnan(c->head.runs.ms[0]), .value = c->head.runs.ms[0]};
    if (c->has_base) {
        n.base_ms = (struct rp_quantity){.known = !isnan(c->found.whole.before_ms),
                                         .value = c->found.whole.before_ms};
        n.head_ms = (struct rp_quantity){.known = !isnan(c->found.whole.after_ms),
                                         .value = c->found.whole.after_ms};
        sum_bytes(&c->base, &n.base_bytes);
    }
    sum_bytes(&c->head, &n.head_bytes);
    rp_vec_push(&c->job->result.programs, n);
}

static int write_page(const struct compared *c, const char *page, struct rp_err *err)
{
    const struct rp_compare_report report = {.list = &c->found,
                                             .count = 1,
                                             .gates = c->conditions,
                                             .gate_count = c->count,
                                             .gated = c->outcomes,
                                             .rule = rule};
    rp_autofree char *path = rp_path_join(c->job->output, page);
    rp_autobuf html = {0};
    int rc = rp_report_compare_html(&report, &html, err);

    return rc < 0 ? rc : rp_write_file(path, rp_buf_text(&html), html.len, err);
}

static int compare(struct compared *c, struct rp_err *err)
{
    enum { LIMITS = 8 };
    rp_autofree char *page = rp_format("programs/%s/compare.html", c->p->folder);
    int rc = rp_versus(&c->base, &c->head, &rule, &c->found, err);

    if (rc < 0)
        return rc;
    c->has_base = true;
    c->conditions = rp_alloc_zero(c->p->gates.count + LIMITS, sizeof *c->conditions);
    c->outcomes = rp_alloc_zero(c->p->gates.count + LIMITS, sizeof *c->outcomes);
    rc = decide_all(c, err);
    if (rc == 0)
        rc = write_page(c, page, err);
    if (rc == 0)
        add_numbers(c, page);
    return rc;
}

int rp_ci_decide_limits(struct rp_ci_job *job, const struct rp_ci_program *p, const char *no_base,
                        bool undecided, struct rp_err *err)
{
    rp_cleanup(free_compared) struct compared c = {.job = job, .p = p};
    rp_autofree char *why = no_base ? rp_format("nothing to compare with: %s", no_base) : NULL;
    bool head_there, base_there = false;
    int rc = profile(&c, &job->head, &c.head, &head_there, err);

    if (rc < 0 || !head_there)
        return rc;
    if (no_base) {
        decide_without(&c, undecided ? RP_CI_UNDECIDED : RP_CI_SKIPPED, why, NULL);
        add_numbers(&c, NULL);
        return 0;
    }
    rc = profile(&c, &job->base, &c.base, &base_there, err);
    if (rc == 0 && base_there)
        return compare(&c, err);
    if (rc == 0)
        add_numbers(&c, NULL);
    return rc;
}
