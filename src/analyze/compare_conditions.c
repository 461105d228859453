/* Conditions on a comparison, for CI: what they say, and whether they hold. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/err.h"

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

/* Names of kernels may have all of the signs, bounds have none: the last one is the gate's. */
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

static int parse_metric(const char *word, size_t len, struct rp_versus_condition *gate,
                        struct rp_err *err)
{
    gate->runtime = len == strlen("runtime") && strncmp(word, "runtime", len) == 0;
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
                   "--gate %s: nothing is called '%.*s'; use runtime, vgprs, agprs, sgprs, "
                   "lds_bytes, scratch_bytes, occupancy, bytes, dispatches or cv",
                   gate->text, (int)len, word);
}

static bool is_end(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return !*text;
}

/* NUMBER, before, NUMBER*before */
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
    return strncmp(text, word, strlen(word)) == 0 && is_end(text + strlen(word));
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
                       "--gate %s: '%s' is no bound; use a number, before, or NUMBER*before", text,
                       sign + sign_len);
    if (gate->runtime && gate->of_before)
        return rp_fail(err, RP_USAGE,
                       "--gate %s: runtime is a ratio to before already; use a number", text);
    if (gate->runtime && gate->relation == RP_EXACTLY)
        return rp_fail(err, RP_USAGE,
                       "--gate %s: a ratio of times is never exactly that; use <= and >=", text);
    return 0;
}

int rp_versus_condition_parse(const char *text, struct rp_versus_condition *ret, struct rp_err *err)
{
    struct rp_versus_condition gate = {.text = strdup(text)};
    int rc = gate.text ? parse(text, &gate, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");

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

/* It holds, or does not, everywhere in the interval. */
static void judge_time(const struct rp_versus_condition *gate, const struct rp_versus_time *time,
                       struct rp_versus_outcome *ret)
{
    bool at_low = holds(time->low, gate->relation, gate->bound);
    bool at_high = holds(time->high, gate->relation, gate->bound);

    ret->value = (struct rp_quantity){.known = !isnan(time->ratio), .value = time->ratio};
    ret->limit = (struct rp_quantity){.known = true, .value = gate->bound};
    if (!time->bounded)
        end_with(ret, RP_COMPARE_OPEN, time->reason ? time->reason : "there is no interval");
    else if (at_low != at_high)
        end_with(ret, RP_COMPARE_OPEN, "the bound is within the interval");
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
        limit =
            (struct rp_quantity){.known = before && before[gate->metric].known,
                                 .value = before ? gate->bound * before[gate->metric].value : 0};
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

/* The whole name, or what is before arguments of templates and functions, or before what tells
 * kernels of one name apart. */
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

/* Work that is not done takes no time. @return the first kernel of the program that ran before and
 * does not run after; NULL: there is none */
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

    judge_time(gate, &compared->whole, ret);
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
}
