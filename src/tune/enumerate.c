/* The search backtracks: parameters get values one after the other, and each constraint is tested
 * as soon as the last of its parameters has a value. It does not recurse, and it tries a limited
 * number of combinations. */
#include "tune/space_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "base/vec.h"

/* These take some 30 s and a third of a second; fuzzing sets less. */
#ifndef RP_ENUMERATE_MOST_TRIED
#define RP_ENUMERATE_MOST_TRIED 300000000
#endif
enum {
    MOST_TRIED = RP_ENUMERATE_MOST_TRIED,
    MOST_TRIED_TO_BLAME = MOST_TRIED / 100,
};

void rp_rules_free(struct rp_rules *rules)
{
    for (size_t i = 0; i < RP_MAX_PARAMETERS; i++)
        rp_expression_free(rules->conditions[i].when);
    for (size_t i = 0; i < rules->constraint_count; i++)
        rp_expression_free(rules->constraints[i]);
    free(rules->constraints);
    *rules = (struct rp_rules){0};
}

int rp_rules_constrain(struct rp_rules *rules, const struct rp_space *space, const char *text,
                       struct rp_err *err)
{
    struct rp_expression *constraint;

    if (rp_expression_parse(text, space, &constraint, err) < 0)
        return -(int)err->code;
    if (constraint->parameter_count == 0) {
        rp_expression_free(constraint);
        return rp_fail(err, RP_BAD_INPUT, "no parameter stands in it");
    }
    *rp_array_add(&rules->constraints, &rules->constraint_count) = constraint;
    return 0;
}

/* --- the order in which parameters get values ------------------------------------------------- */

/** Counts what could not be computed. */
struct failures {
    uint64_t computed, failed;
    const char *why; /**< of the last one */
};

struct search {
    const struct rp_rules *rules;
    const struct rp_space *space;
    const bool *without; /**< constraints that do not count; NULL: all do */
    uint64_t most, tried;
    const struct rp_enumerate_watch *watch; /**< NULL: nobody */
    size_t order[RP_MAX_PARAMETERS];        /**< parameter at each level */
    size_t *due;                            /**< constraints, by the level that completes them */
    size_t due_begin[RP_MAX_PARAMETERS + 1];
    struct failures *of_constraint;
    struct failures of_condition[RP_MAX_PARAMETERS];
};

static bool counts(const struct search *s, size_t constraint)
{
    return !s->without || !s->without[constraint];
}

static bool all_placed(const struct rp_expression *expression, const bool *placed)
{
    for (size_t i = 0; i < expression->parameter_count; i++)
        if (!placed[expression->parameters[i]])
            return false;
    return true;
}

/** Looks at the constraints that the parameter stands in, and returns the fewest parameters that
 * must still be placed before one of them is complete. */
static size_t still_open(const struct search *s, size_t parameter, const bool *placed)
{
    size_t least = RP_MAX_PARAMETERS + 1;

    for (size_t c = 0; c < s->rules->constraint_count; c++) {
        const struct rp_expression *constraint = s->rules->constraints[c];
        size_t open = 0;
        bool here = false;

        for (size_t i = 0; counts(s, c) && i < constraint->parameter_count; i++) {
            open += !placed[constraint->parameters[i]];
            here = here || constraint->parameters[i] == parameter;
        }
        if (here && open < least)
            least = open;
    }
    return least;
}

/** Chooses the parameter that completes a constraint soonest, and the first of several. Parameters
 * without a constraint come last.
 * @return -1: no parameter has a complete condition */
static int choose_next(const struct search *s, const bool *placed)
{
    size_t least = SIZE_MAX;
    int best = -1;

    for (size_t i = 0; i < s->space->parameter_count; i++) {
        const struct rp_expression *when = s->rules->conditions[i].when;
        size_t open;

        if (placed[i] || (when && !all_placed(when, placed)))
            continue;
        if ((open = still_open(s, i, placed)) < least) {
            least = open;
            best = (int)i;
        }
    }
    return best;
}

static int fail_in_circle(const struct search *s, const bool *placed, struct rp_err *err)
{
    rp_autobuf names = {0};

    for (size_t i = 0; i < s->space->parameter_count; i++)
        if (!placed[i])
            rp_buf_printf(&names, "%s%.60s", names.len ? ", " : "", s->space->parameters[i].name);
    return rp_fail(err, RP_BAD_INPUT,
                   "conditions (\"when\") depend on each other in a circle: %.300s",
                   rp_buf_text(&names));
}

static int plan(struct search *s, struct rp_err *err)
{
    rp_autofree bool *done = rp_alloc_zero(s->rules->constraint_count + 1, sizeof *done);
    bool placed[RP_MAX_PARAMETERS] = {0};
    size_t due = 0;

    s->due = rp_alloc_zero(s->rules->constraint_count + 1, sizeof *s->due);
    s->of_constraint = rp_alloc_zero(s->rules->constraint_count + 1, sizeof *s->of_constraint);
    for (size_t level = 0; level < s->space->parameter_count; level++) {
        const int next = choose_next(s, placed);

        if (next < 0)
            return fail_in_circle(s, placed, err);
        s->order[level] = (size_t)next;
        placed[next] = true;
        s->due_begin[level] = due;
        for (size_t c = 0; c < s->rules->constraint_count; c++)
            if (!done[c] && counts(s, c) && all_placed(s->rules->constraints[c], placed)) {
                done[c] = true;
                s->due[due++] = c;
            }
    }
    s->due_begin[s->space->parameter_count] = due;
    return 0;
}

static void free_search(struct search *s)
{
    free(s->due);
    free(s->of_constraint);
}

/* --- trying ----------------------------------------------------------------------------------- */

/** @param if_absent result when a value that it needs is absent */
static bool holds(const struct search *s, const struct rp_expression *expression,
                  const uint16_t *row, bool if_absent, struct failures *failures)
{
    struct rp_value value;

    failures->computed++;
    switch (rp_expression_evaluate(expression, s->space, row, &value, &failures->why)) {
    case RP_EVALUATED:
        return rp_value_truth(&value);
    case RP_EVALUATED_ABSENT:
        return if_absent;
    case RP_EVALUATED_FAILED:
        break;
    }
    failures->failed++;
    return false;
}

static bool allowed(struct search *s, size_t level, const uint16_t *row)
{
    for (size_t i = s->due_begin[level]; i < s->due_begin[level + 1]; i++)
        if (!holds(s, s->rules->constraints[s->due[i]], row, true, &s->of_constraint[s->due[i]]))
            return false;
    return true;
}

/** The values from next on and before end are still to be tried. */
struct level {
    uint32_t next, end;
};

static struct level open_level(struct search *s, size_t level, const uint16_t *row)
{
    const size_t parameter = s->order[level];
    const struct rp_space_condition *condition = &s->rules->conditions[parameter];
    const uint32_t count = (uint32_t)s->space->parameters[parameter].count;

    if (!condition->when)
        return (struct level){0, count};
    if (holds(s, condition->when, row, false, &s->of_condition[parameter]))
        return (struct level){0, condition->own ? condition->own : count};
    return (struct level){condition->otherwise, (uint32_t)condition->otherwise + 1};
}

/** Reports progress now and then to whoever waits, and notices a signal. */
static int look_up(const struct search *s, const struct rp_space *to, struct rp_err *err)
{
    enum { EVERY = 1 << 20 }; /* This many take about a tenth of a second. */

    if (s->tried % EVERY != 0)
        return 0;
    if (s->watch)
        s->watch->tried(s->watch->context, s->tried, s->most, to ? to->count : 0);
    return rp_proc_interrupted(err);
}

enum found { FOUND_ALL, FOUND_ONE, FOUND_TOO_MUCH /**< more than may be tried */ };

/** @param to gets what is found; NULL: the first one is enough
 * @return enum found, or < 0 */
static int try_all(struct search *s, struct rp_space *to, struct rp_err *err)
{
    const size_t last = s->space->parameter_count - 1;
    struct level levels[RP_MAX_PARAMETERS];
    uint16_t row[RP_MAX_PARAMETERS] = {0};
    size_t at = 0;
    int rc;

    levels[0] = open_level(s, 0, row);
    for (;;) {
        if (levels[at].next == levels[at].end) {
            if (at-- == 0)
                return FOUND_ALL;
            continue;
        }
        row[s->order[at]] = (uint16_t)levels[at].next++;
        if (++s->tried > s->most)
            return FOUND_TOO_MUCH;
        if ((rc = look_up(s, to, err)) < 0)
            return rc;
        if (!allowed(s, at, row))
            continue;
        if (at < last) {
            at++;
            levels[at] = open_level(s, at, row);
        } else if (!to) {
            return FOUND_ONE;
        } else if ((rc = rp_space_add(to, row, err)) < 0) {
            return rc;
        }
    }
}

/* --- whom to blame ---------------------------------------------------------------------------- */

/** @return whether certainly no configuration is left without these constraints, or < 0 */
static int is_empty_without(const struct search *of, const bool *without, struct failures *ret,
                            struct rp_err *err)
{
    rp_cleanup(free_search) struct search s = {
        .rules = of->rules, .space = of->space, .without = without, .most = MOST_TRIED_TO_BLAME};
    int rc = plan(&s, err);

    if (rc < 0 || (rc = try_all(&s, NULL, err)) < 0)
        return rc;
    for (size_t c = 0; c < s.rules->constraint_count; c++)
        if (ret && counts(&s, c))
            *ret = s.of_constraint[c];
    return rc == FOUND_ALL;
}

static int blame(const struct search *of, const bool *without, size_t left, struct rp_err *err)
{
    struct failures failures = {0};
    rp_autobuf names = {0};

    for (size_t c = 0, named = 0; c < of->rules->constraint_count && named < 4; c++)
        if (!without[c])
            rp_buf_printf(&names, "%sconstraint %zu \"%.80s\"", named++ ? " and " : "", c + 1,
                          of->rules->constraints[c]->text);
    if (left > 4)
        rp_buf_printf(&names, " and %zu more", left - 4);
    if (left > 1)
        return rp_fail(err, RP_BAD_INPUT, "no configuration is left: %s contradict each other",
                       rp_buf_text(&names));
    if (is_empty_without(of, without, &failures, err) < 0)
        return -(int)err->code;
    if (failures.failed && failures.failed == failures.computed)
        return rp_fail(err, RP_BAD_INPUT, "no configuration is left: %s can never be computed (%s)",
                       rp_buf_text(&names), failures.why);
    return rp_fail(err, RP_BAD_INPUT, "no configuration is left: %s holds for none",
                   rp_buf_text(&names));
}

/** Leaves out one constraint after the other for as long as nothing is left. */
static int fail_empty(const struct search *s, struct rp_err *err)
{
    const size_t count = s->rules->constraint_count;
    rp_autofree bool *without = rp_alloc_zero(count + 1, sizeof *without);
    size_t left = count;

    for (size_t c = count; c-- > 0;) {
        int rc;

        without[c] = true;
        if ((rc = is_empty_without(s, without, NULL, err)) < 0)
            return rc;
        without[c] = rc == 1;
        left -= without[c];
    }
    return blame(s, without, left, err);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void note(struct rp_buf *notes, const char *what, const char *name,
                 const struct failures *failures, const char *meaning)
{
    if (notes && failures->failed)
        rp_buf_printf(notes, "%s %.80s could not be computed %llu times (%s): %s\n", what, name,
                      (unsigned long long)failures->failed, failures->why, meaning);
}

static void note_failures(const struct search *s, struct rp_buf *notes)
{
    for (size_t c = 0; c < s->rules->constraint_count; c++)
        note(notes, "constraint", s->rules->constraints[c]->text, &s->of_constraint[c],
             "such configurations are left out");
    for (size_t i = 0; i < s->space->parameter_count; i++)
        note(notes, "the condition of parameter", s->space->parameters[i].name, &s->of_condition[i],
             "it counts as not met");
}

static double combinations(const struct rp_space *space)
{
    double product = 1;

    for (size_t i = 0; i < space->parameter_count; i++)
        product *= (double)space->parameters[i].count;
    return product;
}

static bool is_bound(const struct rp_rules *rules, size_t parameter_count)
{
    for (size_t i = 0; i < parameter_count; i++)
        if (rules->conditions[i].when)
            return true;
    return rules->constraint_count > 0;
}

int rp_enumerate(const struct rp_rules *rules, struct rp_space *space, struct rp_buf *notes,
                 const struct rp_enumerate_watch *watch, struct rp_err *err)
{
    rp_cleanup(free_search) struct search s = {
        .rules = rules, .space = space, .most = MOST_TRIED, .watch = watch};
    const double product = combinations(space);
    int rc;

    if (space->parameter_count == 0)
        return rp_fail(err, RP_BAD_INPUT, "there is no parameter");
    if (!is_bound(rules, space->parameter_count) && product > RP_MAX_CONFIGS)
        return rp_fail(err, RP_BAD_INPUT,
                       "%.15g configurations, more than %d; add constraints, or give fewer values",
                       product, RP_MAX_CONFIGS);
    if ((rc = plan(&s, err)) < 0)
        return rc;
    if ((rc = try_all(&s, space, err)) < 0)
        return err->code == RP_BAD_INPUT ? rp_wrap(err, "of %.6g combinations", product) : rc;
    if (rc == FOUND_TOO_MUCH)
        return rp_fail(err, RP_BAD_INPUT,
                       "of %.6g combinations, %d were tried without an end (%zu configurations so "
                       "far); add constraints of few parameters each, or give fewer values",
                       product, MOST_TRIED, space->count);
    if (space->count == 0)
        return fail_empty(&s, err);
    note_failures(&s, notes);
    return 0;
}
