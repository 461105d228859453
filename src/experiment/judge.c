#include "experiment/judge.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/box.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/journal.h"
#include "base/path.h"
#include "experiment/child_run.h"
#include "trace/rocpd.h"

enum { MOST_JSON = 64 << 20, COMPARE_MOST_MESSAGE = 4096 };

void rp_compared_free(struct rp_compared *compared)
{
    free(compared->reason);
    json_decref(compared->json);
    *compared = (struct rp_compared){0};
}

static bool number(const json_t *object, const char *key, double *ret)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_number(value))
        *ret = json_number_value(value);
    return json_is_number(value);
}

static bool read_verdict(const json_t *json, enum rp_comparison_verdict *ret)
{
    static const char *const words[] = {[RP_COMPARED_FASTER] = "faster",
                                        [RP_COMPARED_SLOWER] = "slower",
                                        [RP_COMPARED_EQUAL] = "equal",
                                        [RP_COMPARED_UNDECIDED] = "undecided",
                                        [RP_COMPARED_DIFFERENT] = "different output"};
    const char *word = json_string_value(json_object_get(json, "verdict"));

    for (unsigned i = 0; word && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], word) == 0) {
            *ret = (enum rp_comparison_verdict)i;
            return true;
        }
    return false;
}

/** A comparison that is undecided and does not say why is so because of noise, as replay compare
 * reports it. */
static enum rp_undecided_by read_cause(const json_t *json)
{
    const char *cause = json_string_value(json_object_get(json, "undecided_by"));

    return !cause                           ? RP_BY_NOISE
           : strcmp(cause, "unsteady") == 0 ? RP_BY_UNSTEADY
           : strcmp(cause, "blind") == 0    ? RP_BY_BLIND
           : strcmp(cause, "values") == 0   ? RP_BY_VALUES
           : strcmp(cause, "bounds") == 0   ? RP_BY_BOUNDS
                                            : RP_BY_NOISE;
}

/** The gain is that of the values with the least gain, among those that count. Where it holds with
 * all of them, overlapping intervals differ by noise, so only an interval that is all below is
 * worse. */
static void read_demanded(const json_t *one, struct rp_comparison *c)
{
    const bool holds = c->verdict == RP_COMPARED_FASTER;
    double low, high;

    if (!c->ratio_known || !number(one, "low", &low) || !number(one, "high", &high) ||
        !((holds ? high : low) < c->low))
        return;
    c->low = low;
    c->high = high;
    number(one, "estimate", &c->estimate);
}

static void read_others(const json_t *json, struct rp_comparison *c)
{
    const json_t *one;
    double low;
    size_t i;

    json_array_foreach(json_object_get(json, "other_ratios"), i, one)
    {
        if (json_is_true(json_object_get(one, "demanded"))) {
            read_demanded(one, c);
            continue;
        }
        if (!number(one, "low", &low) || (c->slowest_other > 0 && low >= c->slowest_other))
            continue;
        c->slowest_other = low;
        c->slowest_inputs = json_string_value(json_object_get(one, "inputs"));
    }
}

static bool read_numbers(const json_t *json, struct rp_comparison *c)
{
    const json_t *ratio = json_object_get(json, "ratio"), *rule = json_object_get(json, "rule");
    const json_t *inputs = json_object_get(json_object_get(json, "b"), "other_inputs");

    c->ratio_known = number(ratio, "estimate", &c->estimate) && number(ratio, "low", &c->low) &&
                     number(ratio, "high", &c->high);
    number(json_object_get(json, "a"), "median_us", &c->before_us);
    number(json_object_get(json, "b"), "median_us", &c->after_us);
    number(json_object_get(json, "memory"), "written_bytes", &c->written_bytes);
    c->inputs_untried = json_string_value(json_object_get(inputs, "reason"));
    number(rule, "noise", &c->noise);
    number(json_object_get(rule, "rounding"), "largest", &c->rounding);
    number(json_object_get(rule, "rounding"), "allowed", &c->rounding_allowed);
    read_others(json, c);
    return number(rule, "margin", &c->margin) && number(rule, "alpha", &c->alpha);
}

/** replay compare calls them A and B, which the user of a session does not know. The caller owns
 * the text. */
static char *in_words(const char *reason)
{
    rp_autobuf text = {0};

    for (const char *at = reason; *at;) {
        const char *end = at + strcspn(at, " ");
        const bool is_name = end - at == 1 && (*at == 'A' || *at == 'B');

        if (is_name)
            rp_buf_puts(&text, *at == 'A' ? "the original" : "the candidate");
        else
            rp_buf_add(&text, at, (size_t)(end - at));
        if (*end)
            rp_buf_puts(&text, " ");
        at = *end ? end + 1 : end;
    }
    return rp_buf_steal(&text);
}

/** Says whether only the checks of accesses and of atomics have found a fault, which no output
 * shows here. */
static bool is_unsafe(const json_t *json)
{
    const json_t *b = json_object_get(json, "b"), *checks = json_object_get(json, "checks");

    return (json_array_size(json_object_get(checks, "new")) > 0 ||
            json_is_object(json_object_get(checks, "atomics")) ||
            json_is_true(json_object_get(checks, "clock"))) &&
           json_integer_value(json_object_get(b, "wrong_runs")) == 0 &&
           !json_is_false(json_object_get(json_object_get(b, "other_inputs"), "equal"));
}

/** Reads what `replay compare --json` has printed.
 * @return 0 or RP_BAD_INPUT */
static int compared_read(const char *text, struct rp_compared *ret, struct rp_err *err)
{
    struct rp_compared compared = {.json = json_loads(text, JSON_REJECT_DUPLICATES, NULL)};
    const char *reason = json_string_value(json_object_get(compared.json, "reason"));

    compared.reason = reason ? in_words(reason) : NULL;
    if (!read_verdict(compared.json, &compared.comparison.verdict) ||
        !read_numbers(compared.json, &compared.comparison)) {
        rp_compared_free(&compared);
        return rp_fail(err, RP_BAD_INPUT, "replay compare printed something else than its JSON");
    }
    compared.comparison.undecided_by = read_cause(compared.json);
    compared.comparison.unsafe = is_unsafe(compared.json);
    compared.comparison.reason = compared.reason;
    *ret = compared;
    return 0;
}

/** Returns the last line of a command's messages, without the name of the program. The caller owns
 * it. */
static char *last_message(const char *path)
{
    static const char prefix[] = "rocm-perf: ";
    rp_autofree char *text = rp_child_text(path, COMPARE_MOST_MESSAGE);
    char *line;

    if (!text)
        return NULL;
    for (size_t n = strlen(text); n && text[n - 1] == '\n'; n--)
        text[n - 1] = 0;
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (strncmp(line, prefix, sizeof prefix - 1) == 0)
        line += sizeof prefix - 1;
    return rp_strdup(line);
}

/** Returns what the message says of one of the two, or NULL when it is about something else. */
static const char *said_of(const char *message, char letter, const char *path)
{
    const char first[] = {letter, ':', ' ', 0}, later[] = {':', ' ', letter, ':', ' ', 0};
    const char *at = strstr(message, later);

    if (strncmp(message, first, sizeof first - 1) == 0)
        return message + sizeof first - 1;
    if (at)
        return at + sizeof later - 1;
    return strncmp(message, path, strlen(path)) == 0 ? message : NULL;
}

/** No JSON was printed: `after` does not fit, crashes or hangs, or the capture tells nothing. */
static int read_failure(const struct rp_proc_end *end, const char *messages, const char *before,
                        const char *after, struct rp_compared *ret, struct rp_err *err)
{
    rp_autofree char *message = last_message(messages);
    rp_autofree char *how = rp_child_end_sentence(end);
    const bool verdict = !end->signaled && end->status == RP_VERDICT;
    const char *said = message ? said_of(message, 'B', after) : NULL;
    char *reason;

    if (!message)
        return rp_fail(err, RP_ENVIRONMENT, "replay compare: cannot read %s (%s)", messages, how);
    if (end->over_limits) {
        *ret = (struct rp_compared){
            .comparison = {.verdict = RP_COMPARED_UNDECIDED, .undecided_by = RP_BY_LIMITS},
            .reason = rp_steal(how)};
    } else if (verdict && !said_of(message, 'A', before)) {
        reason = rp_strdup(said ? said : message);
        *ret = (struct rp_compared){
            .comparison = {.verdict = said ? RP_COMPARED_DIFFERENT : RP_COMPARED_UNDECIDED,
                           .undecided_by = RP_BY_BLIND,
                           .no_output = said != NULL},
            .reason = reason};
    } else {
        return rp_fail(
            err, !end->signaled && end->status == RP_ENVIRONMENT ? RP_ENVIRONMENT : RP_BAD_INPUT,
            "replay compare: %s (%s)", message, how);
    }
    ret->comparison.reason = ret->reason;
    return 0;
}

int rp_compare(const struct rp_child_context *measure, const struct rp_captured *captured,
               const char *before, const char *after, bool again, struct rp_compared *ret,
               struct rp_err *err)
{
    rp_autofree char *out = rp_path_join(measure->folder, "compare.json");
    rp_autofree char *messages = rp_path_join(measure->folder, "compare.log");
    rp_autofree char *margin =
        rp_format("%.4f", 100 * rp_max_allowed_slowdown(measure->least_improvement));
    rp_autofree char *text = NULL;
    const char *words[16] = {"replay",         "compare",  before, after,   "--capture-dir",
                             captured->folder, "--margin", margin, "--json"};
    size_t count = 9;
    struct rp_proc_end end;
    int rc;

    if (measure->compare) {
        words[count++] = "--compare";
        words[count++] = measure->compare;
    }
    if (again) {
        words[count++] = "--inputs=none";
        words[count++] = "--check=none";
    }
    if (captured->launch) {
        words[count++] = "--launch-of";
        words[count++] = captured->launch;
    }
    rc = rp_own_command_run(measure,
                            &(struct rp_own_command){.words = words,
                                                     .stdout_path = out,
                                                     .stderr_path = messages,
                                                     .what = RP_RUN_KIND_REPLAY},
                            &end, err);
    if (rc < 0)
        return rc;
    text = rp_read_text(out, MOST_JSON);
    if (end.signaled || end.timed_out || end.status > 1 || !text || !*text)
        return read_failure(&end, messages, before, after, ret, err);
    return compared_read(text, ret, err);
}

/* --- all geometries ------------------------------------------------------------------------ */

/** These are the comparisons of a kernel. Release them with free_comparisons. */
struct comparisons {
    struct rp_compared *list;
    struct rp_weighted_comparison *weighed; /**< of the same, by which it is decided */
    size_t count;
};

static void free_comparisons(struct comparisons *made)
{
    for (size_t i = 0; i < made->count; i++)
        rp_compared_free(&made->list[i]);
    free(made->list);
    free(made->weighed);
}

/**
 * Compares one geometry. On a steady machine the kernel differs from itself by chance in 2 % of the
 * sessions. Such a session has not measured the candidate, and is repeated once.
 * @param ret_first the JSON of one that was repeated; else NULL
 */
static int compare_geometry(const struct rp_judged_kernel *kernel, const struct rp_captured *c,
                            const char *candidate, struct rp_compared *ret, json_t **ret_first,
                            struct rp_err *err)
{
    struct rp_compared first = {0};
    int rc = rp_compare(kernel->measure, c, kernel->before, candidate, kernel->again, &first, err);

    *ret_first = NULL;
    if (rc < 0 || !rp_comparison_is_unsteady(&first.comparison)) {
        *ret = first;
        return rc;
    }
    if (kernel->progress) {
        rp_autofree char *text =
            rp_format("  %s: the kernel is not as fast as itself: measured once more", c->name);

        kernel->progress(kernel->context, text);
    }
    rc = rp_compare(kernel->measure, c, kernel->before, candidate, kernel->again, ret, err);
    if (rc == 0) {
        rp_comparison_repeats(&ret->comparison, &first.comparison);
        *ret_first = json_incref(first.json);
    }
    rp_compared_free(&first);
    return rc;
}

static json_t *geometry_json(const struct rp_captured *c, double weight_ns,
                             const struct rp_compared *compared, json_t *first)
{
    const char *reason = compared->reason;

    return json_pack("{s:s, s:f, s:O?, s:o, s:o*}", "geometry", c->name, "weight_ns", weight_ns,
                     "comparison", compared->json, "reason",
                     reason ? rp_journal_string(reason, strlen(reason)) : json_null(),
                     "unsteady_comparison", first);
}

/** A dispatch that no profile tells of, as where captures were given, counts as what it took. */
static double weight_of(const struct rp_captured *c, const struct rp_comparison *comparison)
{
    return c->weight > 0 ? c->weight : 1e3 * comparison->before_us;
}

/**
 * @param another the kernel is not the one that was changed on purpose: all its geometries are
 * compared, and its name stands with each
 */
static int compare_all(const struct rp_judged_kernel *kernel, const char *candidate, bool another,
                       struct comparisons *ret, json_t *json, struct rp_err *err)
{
    const struct rp_captures *captures = kernel->captures;

    *ret =
        (struct comparisons){.list = rp_alloc_zero(captures->count + 1, sizeof *ret->list),
                             .weighed = rp_alloc_zero(captures->count + 1, sizeof *ret->weighed)};
    for (size_t i = 0; i < captures->count; i++) {
        const struct rp_captured *c = &captures->list[i];
        struct rp_compared *made = &ret->list[i];
        double weight_ns;
        json_t *first, *one;
        int rc = compare_geometry(kernel, c, candidate, made, &first, err);

        ret->count++;
        if (rc < 0)
            return rc;
        weight_ns = weight_of(c, &made->comparison);
        ret->weighed[i] = (struct rp_weighted_comparison){made->comparison, weight_ns, c->name};
        one = geometry_json(c, weight_ns, made, first);
        if (another)
            json_object_set_new(one, "kernel", json_string(kernel->name));
        json_array_append_new(json, one);
        if (!another && made->comparison.verdict == RP_COMPARED_DIFFERENT)
            return 0;
    }
    return 0;
}

/* --- the physics floor ---------------------------------------------------------------------- */

/** Both versions are loaded, so the one that ran may be called "NAME [code 1a2b3c4d]". */
static bool is_called(const char *kernel, const char *name)
{
    static const char code[] = " [code ";
    const size_t length = strlen(name);

    return kernel && strncmp(kernel, name, length) == 0 &&
           (!kernel[length] || strncmp(kernel + length, code, sizeof code - 1) == 0);
}

/** Reads how long the kernel's counted bytes and operations need at the GPU's peak, whichever needs
 * longest. */
static void read_least_us(const char *folder, const char *name, double *ret)
{
    rp_autofree char *path = rp_path_join(folder, "roofline.json");
    json_t *json = json_load_file(path, 0, NULL), *one;
    size_t i;

    json_array_foreach(json_object_get(json, "kernels"), i, one)
    {
        const char *called = json_string_value(json_object_get(one, "name"));
        double share, time_ns;

        if (is_called(called, name) && number(one, "bound_share", &share) &&
            number(one, "time_ns", &time_ns))
            *ret = share * time_ns / 1e3;
    }
    json_decref(json);
}

/** Says why a replay that was to count has not. The caller frees it. */
static char *not_counted(const struct rp_proc_end *end, const char *log)
{
    rp_autofree char *how = rp_child_end_sentence(end);
    rp_autofree char *said = rp_child_last_lines(log);

    return rp_format("the replay that counts what it does failed: %s%s%s", how ? how : "",
                     said && *said ? ": " : "", said ? said : "");
}

/** Counts what a candidate does on a capture, by a replay of it alone.
 * @param ret unchanged where it cannot be counted: then there is no floor
 * @param ret_why why not; to be freed */
static int count(const struct rp_child_context *measure, const struct rp_captured *c,
                 const char *candidate, double *ret, char **ret_why, struct rp_err *err)
{
    rp_autofree char *folder = rp_path_join(measure->folder, "counted");
    rp_autofree char *made = rp_box_place(measure->sandbox, folder);
    rp_autofree char *log = rp_path_join(measure->folder, "counted.log");
    const char *const words[] = {
        "replay",  "full-vm",    "--capture-dir", c->folder, "--hsaco",
        candidate, "--roofline", "--output",      made,      c->launch ? "--launch-of" : NULL,
        c->launch, NULL};
    struct rp_proc_end end;
    int rc;

    rp_remove_tree(folder);
    rc = rp_own_command_run(
        measure,
        &(struct rp_own_command){
            .words = words, .stdout_path = log, .stderr_path = log, .what = RP_RUN_KIND_REPLAY},
        &end, err);
    if (rc < 0)
        return rc;
    if (end.signaled || end.timed_out || end.status != 0)
        *ret_why = not_counted(&end, log);
    else if (rp_box_take(measure->sandbox, folder, NULL) == 0)
        read_least_us(folder, c->kernel, ret);
    if (!*ret_why && !(*ret > 0))
        *ret_why = rp_strdup("the replay that counts what it does has found nothing to count");
    rp_remove_tree(folder);
    return 0;
}

/** A time below what its bytes and operations need is not that of a kernel which does the work.
 * @param json gets for each geometry what these need */
static int check_counted(const struct rp_judged_kernel *kernel, const char *candidate,
                         const struct comparisons *made, struct rp_decision *ret, json_t *json,
                         struct rp_err *err)
{
    /* Clocks may be a little above those of the data sheet. */
    static const double tolerance = 1.05;
    int rc = 0;

    for (size_t i = 0; i < made->count && rc == 0; i++) {
        const struct rp_captured *c = &kernel->captures->list[i];
        const double us = made->list[i].comparison.after_us;
        rp_autofree char *why = NULL;
        double least_us = 0;

        rc = count(kernel->measure, c, candidate, &least_us, &why, err);
        if (why)
            json_object_set_new(json_array_get(json, i), "no_floor",
                                rp_journal_string(why, strlen(why)));
        else if (rc == 0)
            json_object_set_new(json_array_get(json, i), "least_us", json_real(least_us));
        if (rc < 0 || !(us > 0) || us * tolerance >= least_us)
            continue;
        ret->outcome = RP_OUTCOME_IMPOSSIBLE;
        snprintf(ret->reason, sizeof ret->reason,
                 "%s: it seems to take %.4g us, but its counted bytes and operations need %.4g us "
                 "at the peak of this GPU",
                 c->name, us, least_us);
    }
    return rc;
}

int rp_judge(const struct rp_judged_kernel *kernel, const char *candidate, struct rp_decision *ret,
             json_t **ret_json, struct rp_err *err)
{
    rp_cleanup(free_comparisons) struct comparisons made = {0};
    json_t *json = json_array();
    int rc = compare_all(kernel, candidate, false, &made, json, err);

    if (rc == 0) {
        rp_decide(made.weighed, made.count, kernel->measure->least_improvement, ret);
        if (kernel->any_body && !kernel->again)
            rp_decide_by_inputs(made.weighed, made.count, ret);
        if (ret->outcome == RP_OUTCOME_FASTER &&
            rp_below_floor(kernel->floor, made.weighed, made.count, ret->reason))
            ret->outcome = RP_OUTCOME_IMPOSSIBLE;
        if (ret->outcome == RP_OUTCOME_FASTER && !kernel->again)
            rc = check_counted(kernel, candidate, &made, ret, json, err);
    }
    if (rc < 0)
        json_decref(json);
    else
        *ret_json = json;
    return rc;
}

int rp_judge_another(const struct rp_judged_kernel *kernel, const char *candidate,
                     struct rp_decision *decision, json_t *json, struct rp_err *err)
{
    rp_cleanup(free_comparisons) struct comparisons made = {0};
    int rc = compare_all(kernel, candidate, true, &made, json, err);

    if (rc == 0)
        rp_decide_by_another(made.weighed, made.count, kernel->name, decision);
    return rc;
}

struct search {
    const char *symbol;
    const struct rp_store *store;
    const struct rp_row_code_object *objects;
    size_t object_count;
    char *first;  /**< the place of the code that was seen first, over all databases */
    char *second; /**< of another one */
};

bool rp_symbol_is(const char *name, const char *symbol)
{
    const size_t length = strlen(symbol);

    return name && strncmp(name, symbol, length) == 0 &&
           (!name[length] || strcmp(name + length, ".kd") == 0);
}

/** Returns NULL when the row is of another kernel, or its code object is not known. */
static const char *uri_of(const struct search *s, const struct rp_row_dispatch *row)
{
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(s->store, row->guid_index, row->kernel_id);

    if (!kernel || !rp_symbol_is(kernel->kernel_name, s->symbol))
        return NULL;
    for (size_t i = 0; i < s->object_count; i++)
        if (s->objects[i].id == kernel->code_object_id &&
            s->objects[i].guid_index == row->guid_index)
            return s->objects[i].uri;
    return NULL;
}

/**
 * "file:///app#offset=8192&size=3672" is the same for each GPU and process. For memory
 * ("memory://PID#offset=0x7f..&size=3672") the addresses differ where a program loads a module
 * again, so only the size is compared.
 */
static char *place_of(const char *uri)
{
    const char *size = strstr(uri, "size=");

    return strncmp(uri, "memory:", 7) == 0 && size ? rp_format("memory, %s", size) : rp_strdup(uri);
}

static int look(void *context, const void *at, struct rp_err *err)
{
    struct search *s = context;
    const char *uri = uri_of(s, at);
    rp_autofree char *place = uri && *uri ? place_of(uri) : NULL;

    (void)err;
    if (!uri || !*uri)
        return 0;
    if (!s->first)
        s->first = rp_steal(place);
    else if (!s->second && strcmp(s->first, place) != 0)
        s->second = rp_steal(place);
    return 0;
}

static int look_into(const char *path, struct search *s, struct rp_err *err)
{
    const struct rp_row_kernel *kernels; /**< rp_store_find_kernel searches them */
    struct rp_store *store;
    size_t count;
    int rc = rp_store_open(path, &store, err);

    if (rc < 0)
        return rc;
    s->store = store;
    rc = rp_store_kernels(store, &kernels, &count, err);
    if (rc == 0)
        rc = rp_store_code_objects(store, &s->objects, &s->object_count, err);
    if (rc == 0)
        rc = rp_store_each_work(store, look, s, err);
    rp_store_close(store);
    return rc;
}

int rp_check_single_code_object(const char *profile, const char *symbol, struct rp_err *err)
{
    struct search s = {.symbol = symbol};
    rp_autofree char *pattern = rp_path_pattern(profile, "*.db");
    glob_t found;
    int rc = 0;

    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = look_into(found.gl_pathv[i], &s, err);
    globfree(&found);
    if (rc == 0 && s.second)
        rc = rp_fail(err, RP_VERDICT,
                     "two kernels of the program have this name, and what one takes is not told "
                     "from the other: give one of them another name (%s, %s)",
                     s.first, s.second);
    free(s.first);
    free(s.second);
    return rc;
}
