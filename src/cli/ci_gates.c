/* Decides the gates of `rocm-perf ci`: what the steps of both sides have found, held to the limits
 * of the configuration. */
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
#include "experiment/build_command.h"
#include "experiment/judge.h"
#include "experiment/output_compare.h"
#include "report/report.h"

RP_DEFINE_CLEANUP(json_t, json_decref)

/* --- which gates there are ----------------------------------------------------------------- */

static void list_program(struct rp_ci_job *job, const struct rp_ci_program *p)
{
    static const char later[] = "not tried";
    struct rp_ci_result *to = &job->result;

    rp_ci_gate_add(to, p->name, "run", later);
    if (p->output || p->outputs.count)
        rp_ci_gate_add(to, p->name, "output", later);
    for (size_t i = 0; i < RP_CI_CHECKS; i++)
        if (p->checks[i])
            rp_ci_gate_add(to, p->name, rp_ci_check_names[i], later);
    if (p->sources.count)
        rp_ci_gate_add(to, p->name, "kernels", later);
#define RP_CI_LIMIT(member, most, kind, condition, what)                                           \
    if (!isnan(p->limits.member))                                                                  \
        rp_ci_gate_add(to, p->name, #member, later);
#include "cli/ci_limits.def"
#undef RP_CI_LIMIT
    for (size_t i = 0; i < p->gates.count; i++)
        rp_ci_gate_add(to, p->name, p->gates.at[i], later);
}

void rp_ci_list_gates(struct rp_ci_job *job)
{
    if (job->build) {
        rp_ci_gate_add(&job->result, NULL, "build base", "not tried");
        rp_ci_gate_add(&job->result, NULL, "build head", "not tried");
    }
    for (size_t i = 0; i < job->config->program_count; i++)
        list_program(job, &job->config->programs[i]);
}

/* --- builds -------------------------------------------------------------------------------- */

/* Colours of a compiler are not its words. */
static void drop_colours(char *text)
{
    char *to = text;

    for (const char *at = text; *at;) {
        if (at[0] == '\x1b' && at[1] == '[') {
            at += 2;
            at += strspn(at, "0123456789;");
            at += *at ? 1 : 0;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
}

/* Paths of the tree become those of the repository. */
static char *without_tree(const struct rp_ci_side *side, const char *text, size_t bytes)
{
    rp_autofree char *path = rp_strndup(text, bytes);
    const size_t tree = strlen(side->tree.path);
    rp_autobuf ret = {0};
    const char *at = path;

    for (const char *found; (found = strstr(at, side->tree.path));) {
        const bool inside = found[tree] == '/';

        rp_buf_add(&ret, at, (size_t)(found - at) + (inside ? 0 : tree));
        at = found + tree + (inside ? 1 : 0);
    }
    rp_buf_puts(&ret, at);
    return rp_buf_steal(&ret);
}

/* The first error stands beside its line; what the build said last is evidence. */
static void note_error(const struct rp_ci_side *side, char *log, struct rp_ci_gate *gate)
{
    struct rp_compiler_error error = {0};
    rp_autofree char *line = NULL, *file = NULL;

    drop_colours(log);
    if (!rp_compiler_first_error(log, &error))
        return;
    line = without_tree(side, error.line, error.line_bytes);
    if (error.file)
        file = without_tree(side, error.file, error.file_bytes);
    if (file && strncmp(file, "./", 2) == 0)
        memmove(file, file + 2, strlen(file + 2) + 1);
    rp_ci_gate_note(gate, line, file && *file != '/' ? file : NULL, error.number);
}

static int decide_build(struct rp_ci_job *job, struct rp_ci_side *side, enum rp_ci_outcome if_not,
                        struct rp_err *err)
{
    rp_cleanup(rp_ci_step_free) struct rp_ci_step step = {0};
    rp_autofree char *log = NULL, *name = rp_format("build %s", side->word);
    struct rp_ci_gate *gate = rp_ci_gate_find(&job->result, NULL, name);
    int rc = rp_ci_build(job, side, &step, &log, err);

    if (rc < 0)
        return rc;
    if (side->built) {
        rp_ci_gate_decide(gate, RP_CI_HOLDS, "the %s is built", side->word);
        return 0;
    }
    rp_ci_gate_decide(gate, if_not, "the %s does not build: %s%s", side->word, step.failure,
                      side == &job->base ? " (this is the base, not the change)" : "");
    if (log)
        note_error(side, log, gate);
    gate->evidence = rp_steal(step.evidence);
    return 0;
}

int rp_ci_decide_builds(struct rp_ci_job *job, struct rp_err *err)
{
    int rc;

    if (!job->build) {
        job->base.built = job->head.built = true;
        return 0;
    }
    rc = decide_build(job, &job->head, RP_CI_FAILS, err);
    return rc < 0 ? rc : decide_build(job, &job->base, RP_CI_UNDECIDED, err);
}

/* --- one program --------------------------------------------------------------------------- */

/** What is known of a program while its gates are decided. */
struct trial {
    struct rp_ci_job *job;
    const struct rp_ci_program *p;
    bool has_base;       /**< the base has such a program, and it runs */
    const char *no_base; /**< else why not, in our own words */
    bool base_undecided; /**< because of a fault of the base */
    struct rp_ci_outputs base_outputs, head_outputs;
};

static void free_trial(struct trial *t)
{
    rp_ci_outputs_free(&t->base_outputs);
    rp_ci_outputs_free(&t->head_outputs);
}

static struct rp_ci_gate *gate(const struct trial *t, const char *name)
{
    return rp_ci_gate_find(&t->job->result, t->p->name, name);
}

/* Decides that there is nothing to compare with. */
static void leave_open(const struct trial *t, struct rp_ci_gate *of)
{
    rp_ci_gate_decide(of, t->base_undecided ? RP_CI_UNDECIDED : RP_CI_SKIPPED,
                      "nothing to compare with: %s", t->no_base);
}

static bool fails_so_far(const struct trial *t)
{
    bool fails = false;

    for (size_t i = 0; i < t->job->result.gates.count; i++) {
        const struct rp_ci_gate *one = &t->job->result.gates.items[i];

        fails |=
            one->program && strcmp(one->program, t->p->name) == 0 && one->outcome == RP_CI_FAILS;
    }
    return fails;
}

/* --- it runs ------------------------------------------------------------------------------- */

static void fail_run(const struct trial *t, struct rp_ci_step *step)
{
    struct rp_ci_gate *of = gate(t, "run");

    rp_ci_gate_decide(of, RP_CI_FAILS, "it does not run as it should: %s", step->failure);
    of->evidence = rp_steal(step->evidence);
}

static int run_head(struct trial *t, bool *ret_goes_on, struct rp_err *err)
{
    rp_cleanup(rp_ci_step_free) struct rp_ci_step step = {0};
    int rc = rp_ci_has_program(&t->job->head, t->p)
                 ? rp_ci_run(t->job, &t->job->head, t->p, &step, &t->head_outputs, err)
                 : 0;

    if (rc < 0)
        return rc;
    if (!t->head_outputs.count)
        step.failure = rp_strdup("its program is not there after the build");
    *ret_goes_on = !step.failure;
    if (step.failure)
        fail_run(t, &step);
    else
        rp_ci_gate_decide(gate(t, "run"), RP_CI_HOLDS, "it runs to its end");
    return 0;
}

static int run_base(struct trial *t, struct rp_err *err)
{
    rp_cleanup(rp_ci_step_free) struct rp_ci_step step = {0};
    int rc;

    if (!t->job->base.built) {
        t->no_base = "the base does not build";
        t->base_undecided = true;
        return 0;
    }
    if (!rp_ci_has_program(&t->job->base, t->p)) {
        t->no_base = "the base has no such program";
        return 0;
    }
    rc = rp_ci_run(t->job, &t->job->base, t->p, &step, &t->base_outputs, err);
    t->has_base = rc == 0 && !step.failure;
    if (rc == 0 && step.failure) {
        t->no_base = "the base's program does not run as it should";
        t->base_undecided = true;
    }
    return rc;
}

/* --- its output ---------------------------------------------------------------------------- */

static struct rp_output_text text_of(const struct rp_buf *buf)
{
    return (struct rp_output_text){.text = rp_buf_text(buf), .bytes = buf->len};
}

/** Where two runs differ first. */
struct difference {
    size_t output; /**< 0: standard output; else the file + 1 */
    size_t line;   /**< 0: they agree */
};

static struct difference first_difference(const struct trial *t, const struct rp_ci_outputs *a,
                                          const struct rp_ci_outputs *b)
{
    for (size_t i = t->p->output ? 0 : 1; i < a->count; i++) {
        size_t line = rp_output_first_difference(text_of(&a->texts[i]), text_of(&b->texts[i]),
                                                 &t->p->tolerance);

        if (!line && a->there[i] != b->there[i])
            line = 1;
        if (line)
            return (struct difference){i, line};
    }
    return (struct difference){0};
}

static struct rp_output_text line_of(const struct rp_ci_outputs *outputs, struct difference d)
{
    return rp_output_line(text_of(&outputs->texts[d.output]), d.line);
}

/* Of long lines the place is shown where they differ. */
static size_t begin_of(struct rp_output_text a, struct rp_output_text b)
{
    enum { BEFORE = 100 };
    size_t same = 0;

    while (same < a.bytes && same < b.bytes && a.text[same] == b.text[same])
        same++;
    return same > 2 * BEFORE ? same - BEFORE : 0;
}

/* A zero byte would end the evidence. */
static void put_line(struct rp_buf *to, const char *side, const struct rp_ci_outputs *outputs,
                     struct difference d, size_t begin)
{
    enum { MOST_BYTES = 300 };
    const struct rp_output_text line = line_of(outputs, d);
    const size_t end = line.bytes - begin < MOST_BYTES ? line.bytes : begin + MOST_BYTES;

    rp_buf_printf(to, "%s: ", side);
    if (begin)
        rp_buf_printf(to, "(from byte %zu on) ", begin + 1);
    for (size_t i = begin; i < end; i++)
        if (line.text[i])
            rp_buf_add(to, line.text + i, 1);
        else
            rp_buf_puts(to, "\\x00");
    if (!outputs->there[d.output])
        rp_buf_puts(to, "there is no such file");
    rp_buf_puts(to, "\n");
}

static void note_difference(const struct trial *t, struct difference d, struct rp_ci_gate *of)
{
    const char *file = d.output ? t->p->outputs.at[d.output - 1] : "standard output";
    rp_autofree char *note = rp_format("%s, line %zu", file, d.line);
    const size_t begin = begin_of(line_of(&t->base_outputs, d), line_of(&t->head_outputs, d));
    rp_autobuf text = {0};

    put_line(&text, "base", &t->base_outputs, d, begin);
    put_line(&text, "head", &t->head_outputs, d, begin);
    rp_ci_gate_note(of, note, NULL, 0);
    of->evidence = rp_buf_steal(&text);
}

/* A file that nobody writes is the same on both sides: its name is wrong, and nothing was compared.
 * @return which one; 0: there is none */
static size_t unwritten(const struct trial *t)
{
    for (size_t i = 1; i < t->head_outputs.count; i++)
        if (!t->head_outputs.there[i] && !t->base_outputs.there[i])
            return i;
    return 0;
}

static void decide_same(const struct trial *t, struct rp_ci_gate *of)
{
    const size_t missing = unwritten(t);

    if (!missing) {
        rp_ci_gate_decide(of, RP_CI_HOLDS, "its output is the same as that of base");
        return;
    }
    rp_ci_gate_decide(of, RP_CI_UNDECIDED, "neither base nor head writes this file of its outputs");
    rp_ci_gate_note(of, t->p->outputs.at[missing - 1], NULL, 0);
}

/* A program that prints something else each time says nothing about a change. */
static int decide_output(struct trial *t, struct rp_err *err)
{
    rp_cleanup(rp_ci_outputs_free) struct rp_ci_outputs again = {0};
    rp_cleanup(rp_ci_step_free) struct rp_ci_step step = {0};
    struct rp_ci_gate *of = gate(t, "output");
    struct difference d, own;
    int rc;

    if (!of)
        return 0;
    if (!t->has_base) {
        leave_open(t, of);
        return 0;
    }
    d = first_difference(t, &t->base_outputs, &t->head_outputs);
    if (!d.line) {
        decide_same(t, of);
        return 0;
    }
    rc = rp_ci_run(t->job, &t->job->base, t->p, &step, &again, err);
    if (rc < 0)
        return rc;
    own = first_difference(t, &t->base_outputs, &again);
    if (own.line)
        rp_ci_gate_decide(
            of, RP_CI_UNDECIDED,
            "the base's own output is another one each time: name a tolerance, or set "
            "output to false");
    else
        rp_ci_gate_decide(of, RP_CI_FAILS, "its output is not that of base");
    note_difference(t, d, of);
    return 0;
}

/* --- its memory accesses ------------------------------------------------------------------- */

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Lines move with a change, so a finding is known again by what it is, and in which kernel. */
static bool is_alike(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"kind", "memory", "kernel", "why"};
    bool alike = true;

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        alike &= strcmp(text_at(a, keys[i]), text_at(b, keys[i])) == 0;
    return alike;
}

static size_t count_alike(const json_t *findings, size_t before, const json_t *wanted)
{
    const json_t *one;
    size_t i, count = 0;

    json_array_foreach(findings, i, one) if (i < before) count += is_alike(one, wanted);
    return count;
}

static bool is_of_check(const json_t *finding, size_t check)
{
    static const char *const kinds[] = {
#define RP_CI_CHECK(id, name, kinds, preset, what) kinds,
#include "cli/ci_checks.def"
#undef RP_CI_CHECK
    };
    const char *kind = text_at(finding, "kind");
    const size_t len = strlen(kind);

    for (const char *at = kinds[check]; len && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == len && strncmp(at, kind, len) == 0)
            return true;
    return false;
}

/* Takes "file:line" apart; of inlined code the place where it is. */
static void note_finding(const struct trial *t, const json_t *finding, struct rp_ci_gate *of)
{
    const json_t *second = json_object_get(finding, "second");
    const char *source =
        text_at(json_is_object(second) ? second : json_object_get(finding, "first"), "source");
    const size_t len = strcspn(source, " ");
    const char *colon = memrchr(source, ':', len);
    rp_autofree char *file =
        colon ? without_tree(&t->job->head, source, (size_t)(colon - source)) : NULL;
    rp_autofree char *text =
        rp_format("%s in %s of %s: %s", text_at(finding, "kind"), text_at(finding, "memory"),
                  *text_at(finding, "kernel") ? text_at(finding, "kernel") : "an unknown kernel",
                  text_at(finding, "why"));

    rp_ci_gate_note(of, text, file && *file != '/' ? file : NULL,
                    colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0);
}

/** Findings of both sides. */
struct findings {
    const json_t *head, *base;
    const char *open;      /**< what was not checked of the head, or NULL */
    const char *base_open; /**< why it is not known what the base has; NULL: it is known */
};

static void decide_check(const struct trial *t, const struct findings *f, size_t check)
{
    struct rp_ci_gate *of = gate(t, rp_ci_check_names[check]);
    const json_t *one;
    size_t i, fresh = 0, all = 0;

    json_array_foreach(f->head, i, one)
    {
        if (!is_of_check(one, check))
            continue;
        all++;
        if (count_alike(f->head, i, one) < count_alike(f->base, SIZE_MAX, one))
            continue;
        fresh++;
        note_finding(t, one, of);
    }
    if (!fresh && f->open)
        rp_ci_gate_decide(of, RP_CI_UNDECIDED, "no finding that base has not, but %s", f->open);
    else if (!fresh && all)
        rp_ci_gate_decide(of, RP_CI_HOLDS, "%zu finding%s, which the base has, too", all,
                          rp_plural(all));
    else if (!fresh)
        rp_ci_gate_decide(of, RP_CI_HOLDS, "no findings");
    else if (f->base_open)
        rp_ci_gate_decide(of, RP_CI_UNDECIDED, "%zu finding%s, and %s", fresh, rp_plural(fresh),
                          f->base_open);
    else
        rp_ci_gate_decide(of, RP_CI_FAILS, "%zu finding%s that base has not", fresh,
                          rp_plural(fresh));
}

static void open_checks(const struct trial *t, struct rp_ci_step *step)
{
    for (size_t i = 0; i < RP_CI_CHECKS; i++) {
        struct rp_ci_gate *of = gate(t, rp_ci_check_names[i]);

        if (!t->p->checks[i])
            continue;
        rp_ci_gate_decide(of, RP_CI_UNDECIDED, "its checks came to no end: %s",
                          step->failure ? step->failure : "they wrote nothing");
        of->evidence = step->evidence ? rp_strdup(step->evidence) : NULL;
    }
}

static int decide_checks(const struct trial *t, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_json_decref) json_t *head = NULL;
    rp_cleanup(rp_cleanup_json_decref) json_t *base = NULL;
    rp_cleanup(rp_ci_step_free) struct rp_ci_step step = {0}, of_base = {0};
    struct findings f = {0};
    bool wanted = false;
    int rc;

    for (size_t i = 0; i < RP_CI_CHECKS; i++)
        wanted |= t->p->checks[i];
    if (!wanted)
        return 0;
    rc = rp_ci_check(t->job, &t->job->head, t->p, &step, &head, err);
    if (rc < 0)
        return rc;
    if (step.failure || !head) {
        open_checks(t, &step);
        return 0;
    }
    f.head = json_object_get(head, "findings");
    if (json_integer_value(json_object_get(head, "not_compared")))
        f.open = "there was no room to check all that it does";
    else if (strcmp(text_at(head, "verdict"), "nothing-ran") == 0)
        f.open = "no kernel ran";
    f.base_open = t->base_undecided ? t->no_base : NULL;
    /* What the base does is only asked where it may excuse something. */
    if (json_array_size(f.head) && t->has_base) {
        rc = rp_ci_check(t->job, &t->job->base, t->p, &of_base, &base, err);
        if (of_base.failure || !base)
            f.base_open = "the base's own checks came to no end";
        else if (json_integer_value(json_object_get(base, "not_compared")))
            f.base_open = "there was no room to check all that the base does";
    }
    f.base = json_object_get(base, "findings");
    for (size_t i = 0; rc == 0 && i < RP_CI_CHECKS; i++)
        if (t->p->checks[i])
            decide_check(t, &f, i);
    return rc;
}

/* --- its kernels one by one ---------------------------------------------------------------- */

/** What is known of a source before anything is judged. */
enum source_state { SAME, CHANGED, ONLY_BASE, ONLY_HEAD, NOWHERE };

static int state_of(const struct trial *t, size_t source, enum source_state *ret,
                    struct rp_err *err)
{
    rp_autofree char *before = rp_path_join(t->job->base.tree.path, t->p->sources.at[source]);
    rp_autofree char *after = rp_path_join(t->job->head.tree.path, t->p->sources.at[source]);
    rp_autofree void *a = NULL, *b = NULL;
    size_t bytes = 0, others = 0;
    const bool there = rp_path_exists(before), still = rp_path_exists(after);

    *ret = there ? ONLY_BASE : still ? ONLY_HEAD : NOWHERE;
    if (!there || !still)
        return 0;
    if (rp_read_file(before, SIZE_MAX / 2, RP_ENVIRONMENT, &a, &bytes, err) < 0 ||
        rp_read_file(after, SIZE_MAX / 2, RP_ENVIRONMENT, &b, &others, err) < 0)
        return -(int)RP_ENVIRONMENT;
    *ret = bytes == others && memcmp(a, b, bytes) == 0 ? SAME : CHANGED;
    return 0;
}

static bool condemns(const char *verdict)
{
    static const char *const words[] = {"wrong", "unsafe", "not believable", "does not compile"};
    bool found = false;

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found |= strcmp(verdict, words[i]) == 0;
    return found;
}

static enum rp_ci_outcome outcome_of(const json_t *judgement)
{
    const char *verdict = text_at(judgement, "verdict");

    if (!judgement)
        return RP_CI_UNDECIDED;
    if (condemns(verdict))
        return RP_CI_FAILS;
    if (strcmp(verdict, "undecided") != 0)
        return RP_CI_HOLDS;
    return json_array_size(json_object_get(judgement, "kernels")) ? RP_CI_UNDECIDED : RP_CI_SKIPPED;
}

/** How often and in which way both profiles launch each kernel. Empty: not known. */
struct launches {
    struct rp_launch_counts base, head;
};

static void free_launches(struct launches *l)
{
    rp_launch_counts_free(&l->base);
    rp_launch_counts_free(&l->head);
}

static void read_launches(const struct trial *t, struct launches *ret)
{
    rp_autofree char *base = rp_ci_path(t->job, t->p, t->job->base.word);
    rp_autofree char *head = rp_ci_path(t->job, t->p, t->job->head.word);
    struct rp_err none = RP_ERR_INIT;

    /* Where there is no profile its own gates say so, and the judgement stands. */
    if (rp_launch_counts_read(base, &ret->base, &none) == 0)
        (void)rp_launch_counts_read(head, &ret->head, &none);
}

/** What judge says against kernels, and why that is nothing against the change. */
struct excuse {
    const char *sentence; /**< NULL: there is none */
    const char *kernel;
};

/* Judge launches the head's kernel as the base launches its own. Where the host's code has changed
 * along, as with workgroups of another size, that is a launch that the head never makes, and what
 * comes of it says nothing. A kernel that may be gone need not be there. */
static const char *excuse_of(const struct trial *t, const json_t *kernel, const struct launches *l)
{
    const char *symbol = text_at(kernel, "symbol");
    const struct rp_launch_count *base = rp_launch_counts_find(&l->base, symbol);
    const struct rp_launch_count *head = rp_launch_counts_find(&l->head, symbol);

    if (base && !head && l->head.count && t->p->allow_missing)
        return "not judged: the head does not launch it any more";
    if (base && head && condemns(text_at(kernel, "outcome")) &&
        !rp_launch_count_includes(head, base))
        return "not judged: the head launches it with another grid, workgroup or dynamic LDS than "
               "base, and rocm-perf judge launches it as base does";
    return NULL;
}

static struct excuse excuse_all(const struct trial *t, const json_t *judgement,
                                const struct launches *l)
{
    bool explained = !condemns(text_at(judgement, "verdict"));
    struct excuse ret = {0};
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(judgement, "kernels"), i, one)
    {
        const char *outcome = text_at(one, "outcome");

        if (!condemns(outcome) && strcmp(outcome, "undecided") != 0)
            continue;
        ret = (struct excuse){excuse_of(t, one, l), text_at(one, "name")};
        if (!ret.sentence)
            return ret;
        explained |= condemns(outcome);
    }
    return explained ? ret : (struct excuse){0};
}

/* The worst of several sources stays.
 * @return whether this one is among the worst */
static bool take(const struct trial *t, size_t source, enum rp_ci_outcome outcome,
                 const char *sentence, const char *why, struct rp_ci_gate *of)
{
    rp_autofree char *note = rp_format("%s: %s", t->p->sources.at[source], why);

    if (outcome < of->outcome)
        return false;
    if (outcome > of->outcome)
        rp_ci_gate_drop_notes(of);
    rp_ci_gate_decide(of, outcome, "%s", sentence);
    rp_ci_gate_note(of, note, t->p->sources.at[source], 0);
    return true;
}

static void take_judgement(const struct trial *t, size_t source, const json_t *judgement,
                           const struct launches *launches, struct rp_ci_step *step,
                           struct rp_ci_gate *of)
{
    static const char *const sentences[] = {
        [RP_CI_SKIPPED] = "rocm-perf judge had no kernels to compare",
        [RP_CI_HOLDS] = "rocm-perf judge has nothing against its kernels",
        [RP_CI_UNDECIDED] = "rocm-perf judge cannot decide about its kernels",
        [RP_CI_FAILS] = "rocm-perf judge refuses its kernels"};
    const struct excuse excuse = excuse_all(t, judgement, launches);
    const enum rp_ci_outcome outcome = excuse.sentence ? RP_CI_SKIPPED : outcome_of(judgement);
    const char *said = judgement ? text_at(judgement, "sentence") : step->failure;
    rp_autofree char *of_head = without_tree(&t->job->head, said, strlen(said));
    rp_autofree char *of_both = without_tree(&t->job->base, of_head, strlen(of_head));

    /* It is to be known before the verdict is trusted, unless the configuration asks for it. */
    if (excuse.sentence && !t->p->allow_missing)
        rp_vec_push(&t->job->result.remarks,
                    rp_format("%s: %s: %s", t->p->name, excuse.sentence, excuse.kernel));
    if (take(t, source, outcome, excuse.sentence ? excuse.sentence : sentences[outcome],
             excuse.sentence ? excuse.kernel : of_both, of) &&
        !judgement && !of->evidence)
        of->evidence = rp_steal(step->evidence);
}

/* A new file has nothing to be compared with; one that is not there was not looked at. */
static void take_missing(const struct trial *t, size_t source, enum source_state state,
                         struct rp_ci_gate *of)
{
    if (state == ONLY_HEAD)
        take(t, source, RP_CI_SKIPPED, "nothing to compare with", "the base has no such file", of);
    else
        take(t, source, RP_CI_UNDECIDED, "not all of its sources are there",
             state == ONLY_BASE ? "the head has no such file" : "neither base nor head has it", of);
}

static int judge_source(const struct trial *t, size_t source, const struct launches *launches,
                        struct rp_ci_gate *of, struct rp_err *err)
{
    rp_cleanup(rp_ci_step_free) struct rp_ci_step step = {0};
    rp_cleanup(rp_cleanup_json_decref) json_t *judgement = NULL;
    int rc = rp_ci_judge(t->job, t->p, source, &step, &judgement, err);

    if (rc == 0)
        take_judgement(t, source, judgement, launches, &step, of);
    return rc;
}

/** @param fails another gate of the program does, those of limits apart */
static int decide_kernels(const struct trial *t, bool fails, struct rp_err *err)
{
    rp_cleanup(free_launches) struct launches launches = {0};
    struct rp_ci_gate *of = gate(t, "kernels");
    bool changed = false;
    int rc = 0;

    if (!of)
        return 0;
    if (!t->has_base) {
        leave_open(t, of);
        return 0;
    }
    if (fails) {
        rp_ci_gate_decide(of, RP_CI_SKIPPED, "not judged: another gate of it fails");
        return 0;
    }
    read_launches(t, &launches);
    for (size_t i = 0; rc == 0 && i < t->p->sources.count; i++) {
        enum source_state state;

        rc = state_of(t, i, &state, err);
        if (rc < 0 || state == SAME)
            continue;
        changed = true;
        if (state == CHANGED)
            rc = judge_source(t, i, &launches, of, err);
        else
            take_missing(t, i, state, of);
    }
    if (rc == 0 && !changed)
        rp_ci_gate_decide(of, RP_CI_HOLDS, "its sources are those of base");
    return rc;
}

int rp_ci_decide_program(struct rp_ci_job *job, const struct rp_ci_program *p, struct rp_err *err)
{
    rp_cleanup(free_trial) struct trial t = {.job = job, .p = p};
    bool goes_on = false, fails;
    int rc;

    if (!job->head.built) {
        for (size_t i = 0; i < job->result.gates.count; i++)
            if (job->result.gates.items[i].program &&
                strcmp(job->result.gates.items[i].program, p->name) == 0)
                rp_ci_gate_decide(&job->result.gates.items[i], RP_CI_SKIPPED,
                                  "not tried: the head does not build");
        return 0;
    }
    rc = run_head(&t, &goes_on, err);
    if (rc == 0 && goes_on)
        rc = run_base(&t, err);
    if (rc == 0 && goes_on)
        rc = decide_output(&t, err);
    if (rc == 0 && goes_on)
        rc = decide_checks(&t, err);
    fails = fails_so_far(&t);
    if (rc == 0 && goes_on)
        rc = rp_ci_decide_limits(job, p, t.has_base ? NULL : t.no_base, t.base_undecided, err);
    if (rc == 0 && goes_on) /* Last, as the profiles say how kernels are launched. */
        rc = decide_kernels(&t, fails, err);
    return rc;
}
