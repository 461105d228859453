/* What comes of a judgement: its verdict by all kernels and the program, judge.json, and the record
 * by which others can check what was judged with what. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "base/units.h"
#include "optimize/judgement_parts.h"

static const struct {
    const char *word;
    int status;
} verdicts[] = {
#define RP_VERDICT_ROW(id, word, status) [RP_JUDGED_##id] = {word, status},
#include "optimize/judgement_verdicts.def"
#undef RP_VERDICT_ROW
};

const char *rp_judgement_word(enum rp_judgement_verdict verdict)
{
    return verdicts[verdict].word;
}

int rp_judgement_status(enum rp_judgement_verdict verdict)
{
    return verdicts[verdict].status;
}

void judging_end(struct judging *j, enum rp_judgement_verdict verdict, const char *fmt, ...)
{
    va_list ap;

    j->ended = true;
    j->verdict = verdict;
    va_start(ap, fmt);
    vsnprintf(j->reason, sizeof j->reason, fmt, ap);
    va_end(ap);
}

json_t *judging_text(const char *text)
{
    return text ? rp_journal_string(text, strlen(text)) : json_null();
}

/* --- the verdict ---------------------------------------------------------------------------- */

static enum rp_judgement_verdict verdict_of(enum rp_outcome outcome)
{
    switch (outcome) {
    case RP_OUTCOME_WRONG:
        return RP_JUDGED_WRONG;
    case RP_OUTCOME_UNSAFE:
        return RP_JUDGED_UNSAFE;
    case RP_OUTCOME_IMPOSSIBLE:
        return RP_JUDGED_IMPOSSIBLE;
    case RP_OUTCOME_SLOWER:
        return RP_JUDGED_SLOWER;
    case RP_OUTCOME_EQUAL:
        return RP_JUDGED_EQUAL;
    case RP_OUTCOME_FASTER:
        return RP_JUDGED_FASTER;
    default:
        return RP_JUDGED_UNDECIDED;
    }
}

/** Returns the kernel with the most serious verdict, the first of these; NULL: each is right and
 * not slower. */
static const struct judged_kernel *worst_kernel(const struct judging *j,
                                                enum rp_judgement_verdict *ret)
{
    const struct judged_kernel *worst = NULL;

    *ret = RP_JUDGED_SAME;
    for (size_t i = 0; i < j->kernel_count; i++) {
        const enum rp_judgement_verdict verdict = verdict_of(j->kernels[i].decision.outcome);

        if (verdict < *ret) {
            *ret = verdict;
            worst = &j->kernels[i];
        }
    }
    return worst;
}

/** With the arguments of --sizes it must be right and not slower; what it gains is that of the
 * command line's. */
static void weigh(struct judging *j)
{
    rp_autofree struct rp_part *parts = rp_alloc_zero(j->kernel_count + 1, sizeof *parts);
    struct rp_part whole;
    size_t count = 0;
    bool known = true;

    for (size_t i = 0; i < j->kernel_count; i++) {
        const struct judged_kernel *k = &j->kernels[i];
        const struct rp_decision *d = &k->decision;

        j->error += d->error;
        if (k->arguments)
            continue;
        known = known && d->ratio_known;
        parts[count++] =
            (struct rp_part){k->time_ns > 0 ? k->time_ns : d->weight_ns, d->ratio, d->low, d->high};
    }
    j->ratio_known = known && count > 0;
    if (!j->ratio_known)
        return;
    whole = rp_weigh_parts(parts, count);
    j->ratio = whole.ratio;
    j->low = whole.low;
    j->high = whole.high;
}

/** Where all kernels are right and none is slower, the whole has to gain what was asked for. */
static enum rp_judgement_verdict whole_verdict(const struct judging *j)
{
    const double asked = 1 + j->o->least_improvement;
    bool gains = false;

    for (size_t i = 0; i < j->kernel_count; i++)
        gains |= !j->kernels[i].arguments && j->kernels[i].decision.outcome == RP_OUTCOME_FASTER;
    if (!j->ratio_known)
        return RP_JUDGED_UNDECIDED;
    if (!gains || j->high < asked)
        return RP_JUDGED_EQUAL;
    return j->low > asked ? RP_JUDGED_FASTER : RP_JUDGED_UNDECIDED;
}

/** Writes "1.26 times as fast (1.25 to 1.27)". */
static void put_speed(double ratio, double low, double high, struct rp_buf *to)
{
    if (ratio >= 1)
        rp_buf_printf(to, "%.4g times as fast (%.4g to %.4g)", ratio, low, high);
    else
        rp_buf_printf(to, "it takes %.4g times as long (%.4g to %.4g)", 1 / ratio, 1 / high,
                      1 / low);
}

static void put_place(const struct judging *j, const struct judged_kernel *k, struct rp_buf *to)
{
    if (j->kernel_count > 1)
        rp_buf_printf(to, "%s, ", k->name);
    if (k->arguments)
        rp_buf_printf(to, "with the arguments '%s', ", k->arguments);
}

static void put_whole(const struct judging *j, enum rp_judgement_verdict verdict, struct rp_buf *to)
{
    if (!j->ratio_known) {
        rp_buf_puts(to, "with its own arguments the program launches no kernel that differs, and a "
                        "gain with those of --sizes does not count");
        return;
    }
    put_speed(j->ratio, j->low, j->high, to);
    if (verdict != RP_JUDGED_FASTER)
        rp_buf_printf(to, "; more than %.4g times as fast is asked for",
                      1 + j->o->least_improvement);
}

static void put_kernel(const struct judging *j, const struct judged_kernel *k,
                       enum rp_judgement_verdict verdict, struct rp_buf *to)
{
    const struct rp_decision *d = &k->decision;

    put_place(j, k, to);
    if (verdict == RP_JUDGED_SLOWER && d->ratio_known)
        put_speed(d->ratio, d->low, d->high, to);
    else
        rp_buf_puts(to, d->reason);
}

void judging_decide(struct judging *j)
{
    enum rp_judgement_verdict verdict;
    const struct judged_kernel *k;
    rp_autobuf text = {0};

    weigh(j);
    k = worst_kernel(j, &verdict);
    if (k) {
        put_kernel(j, k, verdict, &text);
    } else {
        verdict = whole_verdict(j);
        put_whole(j, verdict, &text);
    }
    judging_end(j, verdict, "%s", rp_buf_text(&text));
}

bool judging_tries_program(const struct judging *j)
{
    switch (j->verdict) {
    case RP_JUDGED_FASTER:
    case RP_JUDGED_EQUAL:
    case RP_JUDGED_SLOWER:
    case RP_JUDGED_SAME: /* The rest of the source may be another one. */
        return true;
    case RP_JUDGED_UNDECIDED:
        return !j->kernel_count;
    default:
        return false;
    }
}

/** Returns the largest difference that other rounding was allowed to make of any kernel; 0: in none
 * rounding changed. */
static double allowed_rounding(const struct judging *j)
{
    double most = 0;
    const json_t *one;
    size_t n;

    for (size_t i = 0; i < j->kernel_count; i++)
        json_array_foreach(j->kernels[i].comparisons, n, one)
        {
            const json_t *rule = json_object_get(json_object_get(one, "comparison"), "rule");

            most = fmax(most, json_number_value(
                                  json_object_get(json_object_get(rule, "rounding"), "allowed")));
        }
    return most;
}

/** Says whether the program is wrong only by digits that other rounding explains.
 * @param reason as of rp_output_differs */
static bool is_by_rounding(const struct judging *j, const char *reason)
{
    static const char begin[] = "it prints something else";
    const double allowed = allowed_rounding(j);

    return allowed > 0 && strncmp(reason, begin, sizeof begin - 1) == 0 &&
           rp_output_differs_by_digits(&j->measure, allowed);
}

void judging_decide_by_program(struct judging *j)
{
    const char *reason = json_string_value(json_object_get(j->program_json, "reason"));
    const bool untried = json_is_false(json_object_get(j->program_json, "tried"));

    if (j->in_program == RP_OUTCOME_PROGRAM_WRONG && reason && is_by_rounding(j, reason)) {
        j->in_program = RP_OUTCOME_UNDECIDED;
        json_object_set_new(j->program_json, "outcome",
                            json_string(rp_outcome_word(RP_OUTCOME_UNDECIDED)));
        judging_end(j, RP_JUDGED_UNDECIDED,
                    "the program prints other digits, as sums in another order round differently: "
                    "say with --check which command tells right from wrong (%.400s)",
                    reason);
    } else if (j->in_program == RP_OUTCOME_PROGRAM_WRONG)
        judging_end(j, RP_JUDGED_WRONG, "in the program: %s", reason ? reason : "");
    else if (j->verdict != RP_JUDGED_FASTER)
        return;
    else if (j->in_program == RP_OUTCOME_UNDECIDED && untried) {
        rp_autobuf text = {0};

        put_whole(j, RP_JUDGED_FASTER, &text);
        judging_end(j, RP_JUDGED_UNDECIDED,
                    "the kernels are right and %s, but the program could not be tried: %s",
                    rp_buf_text(&text), reason ? reason : "");
    } else if (j->in_program == RP_OUTCOME_PROGRAM_SLOWER)
        judging_end(j, RP_JUDGED_EQUAL, "%s", reason ? reason : "");
    else if (j->in_program == RP_OUTCOME_UNDECIDED)
        judging_end(j, RP_JUDGED_UNDECIDED, "%s", reason ? reason : "");
}

/** What was left out may be wrong, so nothing is said of the whole then. */
static char *right_sentence(const struct judging *j, const char *verdict)
{
    const size_t left_out = json_array_size(j->not_judged);

    return left_out ? rp_format("what was judged is %s%s; %zu kernel%s differ%s and %s not judged",
                                verdict, j->reason, left_out, left_out == 1 ? "" : "s",
                                left_out == 1 ? "s" : "", left_out == 1 ? "was" : "were")
                    : rp_format("%s%s", verdict, j->reason);
}

char *judging_sentence(const struct judging *j)
{
    switch (j->verdict) {
    case RP_JUDGED_FASTER:
        return right_sentence(j, "right and ");
    case RP_JUDGED_EQUAL:
        return right_sentence(j, "right, but not faster: ");
    case RP_JUDGED_SLOWER:
        return right_sentence(j, "right, but slower: ");
    case RP_JUDGED_SAME:
        return rp_format("same code: %s, so they are as right and as fast as before", j->reason);
    case RP_JUDGED_IMPOSSIBLE:
        return rp_format("not believable: %s", j->reason);
    default:
        return rp_format("%s: %s", rp_judgement_word(j->verdict), j->reason);
    }
}

/* --- judge.json ----------------------------------------------------------------------------- */

static json_t *version_json(const struct rp_version *v)
{
    return json_pack("{s:o, s:o, s:s, s:s, s:o}", "path", judging_text(v->path), "file",
                     judging_text(v->file), "kind", v->is_source ? "source" : "code object",
                     "sha256", v->file_sha256, "code_object_sha256",
                     v->hsaco ? json_string(v->hsaco_sha256) : json_null());
}

static json_t *ratio_json(bool known, double ratio, double low, double high)
{
    return known ? json_pack("{s:f, s:f, s:f}", "estimate", ratio, "low", low, "high", high)
                 : json_null();
}

static json_t *capture_json(const struct rp_captured *c, const json_t *comparison)
{
    const json_t *least_us = json_object_get(comparison, "least_us");

    return json_pack("{s:o, s:s, s:o, s:O?}", "folder", judging_text(c->folder), "geometry",
                     c->name, "checksums_sha256",
                     *c->sums_sha256 ? json_string(c->sums_sha256) : json_null(), "least_us",
                     least_us);
}

static json_t *kernel_json(const struct judged_kernel *k)
{
    const struct rp_decision *d = &k->decision;
    json_t *captures = json_array();

    for (size_t i = 0; i < k->captures.count; i++)
        json_array_append_new(
            captures, capture_json(&k->captures.list[i], json_array_get(k->comparisons, i)));
    return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:O*}", "name", judging_text(k->name),
                     "symbol", judging_text(k->symbol), "arguments", judging_text(k->arguments),
                     "outcome", rp_outcome_word(d->outcome), "reason", judging_text(d->reason),
                     "ratio", ratio_json(d->ratio_known, d->ratio, d->low, d->high), "captures",
                     captures, "comparisons", k->comparisons);
}

static json_t *kernels_json(const struct judging *j)
{
    json_t *list = json_array();

    for (size_t i = 0; i < j->kernel_count; i++)
        json_array_append_new(list, kernel_json(&j->kernels[i]));
    return list;
}

static json_t *changed_json(const struct judging *j)
{
    json_t *list = json_array();

    for (char **at = j->changed; at && *at; at++)
        json_array_append_new(list, judging_text(*at));
    return list;
}

static json_t *gpu_json(const struct judging *j)
{
    const struct rp_device_identity *on = j->o->on;
    rp_autofree char *gpu = rp_device_identity_gpu(on);
    rp_autofree char *timing = rp_device_identity_timing(on);

    return json_pack("{s:o, s:o, s:o}", "gpu", judging_text(gpu), "rocm", judging_text(on->rocm),
                     "timing", judging_text(timing));
}

static json_t *settings_json(const struct judging *j)
{
    const struct rp_judgement_options *o = j->o;
    json_t *program = json_array();

    for (char *const *at = o->program; at && *at; at++)
        json_array_append_new(program, judging_text(*at));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:I}", "program", program,
                     "captures", judging_text(o->captures), "kernel", judging_text(o->kernel),
                     "sizes", judging_text(o->sizes), "compare", judging_text(o->compare), "check",
                     judging_text(o->check), "build",
                     judging_text(j->command ? rp_compile_command_origin(j->command) : NULL),
                     "min_improvement", o->least_improvement, "geometries",
                     (json_int_t)o->most_geometries);
}

static json_t *judgement_json(const struct judging *j)
{
    rp_autofree char *line = judging_sentence(j);
    const bool compared = j->verdict != RP_JUDGED_NOT_BUILT && j->verdict != RP_JUDGED_SAME;

    return json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O?, s:o, s:o, s:o, s:o}",
        "schema_version", "1.0", "device", j->o->on->software ? "software" : "hardware", "verdict",
        rp_judgement_word(j->verdict), "sentence", judging_text(line), "ratio",
        ratio_json(j->ratio_known, j->ratio, j->low, j->high), "error",
        compared && j->ratio_known ? json_real(j->error) : json_null(), "on", gpu_json(j), "old",
        version_json(&j->before), "new", version_json(&j->after), "changed_kernels",
        changed_json(j), "not_judged", j->not_judged, "kernels", kernels_json(j), "program",
        j->program_json ? json_incref(j->program_json) : json_null(), "settings", settings_json(j),
        "sandbox", rp_candidate_sandbox_json(&j->sandbox));
}

/* --- the record ----------------------------------------------------------------------------- */

/** Has the hashes of all that was judged and of what came of it. The comparisons themselves are in
 * judge.json, whose hash is here. */
static json_t *record_json(const json_t *judgement, const char *text)
{
    char hash[RP_SHA256_TEXT];
    json_t *captures = json_array(), *k, *one;
    size_t i, n;

    rp_sha256(text, strlen(text), hash);
    json_array_foreach(json_object_get(judgement, "kernels"), i, k)
    {
        json_array_foreach(json_object_get(k, "captures"), n, one) json_array_append(captures, one);
    }
    return json_pack(
        "{s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:O, s:o, s:s}", "verdict",
        json_object_get(judgement, "verdict"), "sentence", json_object_get(judgement, "sentence"),
        "ratio", json_object_get(judgement, "ratio"), "old", json_object_get(judgement, "old"),
        "new", json_object_get(judgement, "new"), "device", json_object_get(judgement, "device"),
        "on", json_object_get(judgement, "on"), "settings", json_object_get(judgement, "settings"),
        "sandbox", json_object_get(judgement, "sandbox"), "captures", captures, "judge_sha256",
        hash);
}

int judging_write(struct judging *j, struct rp_judgement *ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(j->o->folder, "judge.json");
    rp_autobuf lines = {0};
    int rc;

    ret->verdict = j->verdict;
    ret->json = judgement_json(j);
    if (!ret->json)
        return rp_fail(err, RP_ENVIRONMENT, "the result cannot be written as JSON");
    ret->text = json_dumps(ret->json, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    rp_buf_printf(&lines, "%s\n", ret->text);
    /* The record comes first: a verdict that somebody can read has one. */
    rc = rp_journal_add(j->folder.journal, "judgement", NULL,
                        record_json(ret->json, rp_buf_text(&lines)), err);
    if (rc == 0)
        rc = rp_journal_write_head(j->folder.journal, err);
    if (rc == 0)
        rc = rp_write_private_file(path, rp_buf_text(&lines), lines.len, err);
    ret->records = rp_journal_count(j->folder.journal);
    memcpy(ret->head_sha256, rp_journal_last_hash(j->folder.journal), sizeof ret->head_sha256);
    return rc;
}
