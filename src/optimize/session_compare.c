/* A candidate and the best so far on each captured geometry, in a process for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/code_functions.h"
#include "optimize/session_parts.h"

static void free_compared(struct rp_compared **list)
{
    for (struct rp_compared *c = *list; c && c->comparison.margin >= 0; c++)
        rp_compared_free(c);
    free(*list);
}

/**
 * One geometry. By chance the kernel differs from itself in 2 % of the sessions of a steady
 * machine: such a session has not measured the candidate, and is made once more.
 * @param ret_first  the JSON of one that was repeated; else NULL
 */
static int compare_geometry(struct rp_kernel_run *run, const struct rp_captured *c,
                            const char *hsaco, struct rp_compared *ret, json_t **ret_first,
                            struct rp_err *err)
{
    struct rp_compared first = {0};
    int rc = rp_compare(&run->s->measure, c, run->hsaco, hsaco, &first, err);

    *ret_first = NULL;
    if (rc < 0 || !rp_comparison_is_unsteady(&first.comparison)) {
        *ret = first;
        return rc;
    }
    rp_session_say(run->s, "  %s: the kernel is not as fast as itself: measured once more",
                   c->name);
    rc = rp_compare(&run->s->measure, c, run->hsaco, hsaco, ret, err);
    if (rc == 0) {
        rp_comparison_repeats(&ret->comparison, &first.comparison);
        *ret_first = json_incref(first.json);
    }
    rp_compared_free(&first);
    return rc;
}

static json_t *geometry_json(const struct rp_captured *c, const struct rp_compared *compared,
                             json_t *first)
{
    return json_pack("{s:s, s:f, s:O?, s:o, s:o*}", "geometry", c->name, "weight_ns", c->weight,
                     "comparison", compared->json, "reason", rp_session_text(compared->reason),
                     "unsteady_comparison", first);
}

/* --- other kernels that it changes --------------------------------------------------------- */

static const struct rp_kernel_facts *find_profiled(const struct rp_session *s, const char *symbol)
{
    for (size_t i = 0; s->profiled && i < s->profiled->count; i++)
        if (s->profiled->kernels[i].symbol && strcmp(s->profiled->kernels[i].symbol, symbol) == 0)
            return &s->profiled->kernels[i];
    return NULL;
}

static void not_captured(const char *name, const char *why, struct rp_decision *ret)
{
    ret->outcome = RP_OUTCOME_UNDECIDED;
    snprintf(ret->reason, sizeof ret->reason,
             "it also changes %.120s, which was not captured: %.200s", name, why);
}

static int compare_captures(struct rp_kernel_run *run, const struct rp_captures *captures,
                            const char *name, const char *hsaco, struct rp_decision *decision,
                            json_t *json, struct rp_err *err)
{
    rp_cleanup(free_compared) struct rp_compared *list = calloc(captures->count + 1, sizeof *list);
    rp_autofree struct rp_weighed *weighed = calloc(captures->count + 1, sizeof *weighed);
    int rc = 0;

    if (!list || !weighed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    list[captures->count].comparison.margin = -1;
    for (size_t i = 0; i < captures->count && rc == 0; i++) {
        const struct rp_captured *c = &captures->list[i];
        json_t *first = NULL, *one;

        rc = compare_geometry(run, c, hsaco, &list[i], &first, err);
        if (rc < 0)
            break;
        weighed[i] = (struct rp_weighed){list[i].comparison, 1, c->name};
        one = geometry_json(c, &list[i], first);
        json_object_set_new(one, "kernel", json_string(name));
        json_array_append_new(json, one);
    }
    if (rc == 0)
        rp_decide_by_another(weighed, captures->count, name, decision);
    return rc;
}

/** On its own dispatches, if the program has any. */
static int compare_another(struct rp_kernel_run *run, const char *symbol, const char *hsaco,
                           struct rp_decision *decision, json_t *json, struct rp_err *err)
{
    const struct rp_session *s = run->s;
    const struct rp_kernel_facts *k = find_profiled(s, symbol);
    rp_cleanup(rp_captures_free) struct rp_captures captures = {0};
    rp_autofree char *parent = rp_path_join(run->folder, "others");
    rp_autofree char *folder = NULL;
    char hash[RP_SHA256_TEXT];
    struct rp_err why = RP_ERR_INIT;
    int rc;

    if (!k) {
        not_captured(symbol, "the program does not run it", decision);
        return 0;
    }
    rp_sha256(symbol, strlen(symbol), hash); /* a mangled name may be too long for a file */
    folder = parent ? rp_path_join(parent, hash) : NULL;
    rc = folder ? rp_mkdirs_private(parent, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc < 0)
        return rc;
    rc = rp_captures_make(&s->measure, s->program, k->name, symbol, run->profile, folder, &captures,
                          &why);
    /* what the end of the budget cuts off is no verdict, and is tried again by --resume */
    if (rc < 0 && !s->patience.over &&
        (why.code == RP_VERDICT || why.code == RP_PROGRAM || why.code == RP_BAD_INPUT)) {
        not_captured(k->name, why.text, decision);
        return 0;
    }
    if (rc < 0) {
        *err = why;
        return rc;
    }
    rp_session_say(s, "  %s is changed as well: it is compared, too", k->name);
    return compare_captures(run, &captures, k->name, hsaco, decision, json, err);
}

/** What is faster is no gain if another kernel pays for it. */
static int compare_others(struct rp_kernel_run *run, const char *hsaco,
                          struct rp_decision *decision, json_t *json, struct rp_err *err)
{
    rp_cleanup(rp_code_object_free) struct rp_code_object after = {0};
    char **names = NULL;
    int rc = rp_code_object_read(hsaco, run->facts->symbol, &after, err);

    if (rc == 0)
        rc = rp_code_changed_kernels(&run->object, &after, run->facts->symbol, &names, err);
    for (size_t i = 0; rc == 0 && names[i] && decision->outcome == RP_OUTCOME_FASTER; i++)
        rc = compare_another(run, names[i], hsaco, decision, json, err);
    rp_code_names_free(names);
    return rc;
}

/* --- all geometries ------------------------------------------------------------------------ */

int rp_session_compare(struct rp_kernel_run *run, const char *hsaco, struct rp_decision *ret,
                       json_t **ret_json, struct rp_err *err)
{
    const struct rp_captures *captures = &run->captures;
    const size_t count = captures->count;
    rp_cleanup(free_compared) struct rp_compared *list = calloc(count + 1, sizeof *list);
    rp_autofree struct rp_weighed *weighed = calloc(count, sizeof *weighed);
    json_t *json = json_array();

    if (!list || !weighed || !json) {
        json_decref(json);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    list[count].comparison.margin = -1; /* the end of the list */
    for (size_t i = 0; i < count; i++) {
        const struct rp_captured *c = &captures->list[i];
        json_t *first;
        int rc = compare_geometry(run, c, hsaco, &list[i], &first, err);

        if (rc < 0) {
            json_decref(json);
            return rc;
        }
        weighed[i] =
            (struct rp_weighed){list[i].comparison, captures->covered > 0 ? c->weight : 1, c->name};
        json_array_append_new(json, geometry_json(c, &list[i], first));
        if (list[i].comparison.verdict == RP_COMPARED_DIFFERENT) {
            rp_decide(weighed, i + 1, run->s->o->least_improvement, ret);
            *ret_json = json;
            return 0;
        }
    }
    rp_decide(weighed, count, run->s->o->least_improvement, ret);
    if (run->s->o->scope == RP_EDIT_BODY)
        rp_decide_by_inputs(weighed, count, ret);
    if (ret->outcome == RP_OUTCOME_FASTER &&
        rp_below_floor(&run->floor, weighed, count, ret->reason))
        ret->outcome = RP_OUTCOME_IMPOSSIBLE;
    if (run->s->o->scope == RP_EDIT_BODY && ret->outcome == RP_OUTCOME_FASTER) {
        int rc = compare_others(run, hsaco, ret, json, err);

        if (rc < 0) {
            json_decref(json);
            return rc;
        }
    }
    *ret_json = json;
    return 0;
}
