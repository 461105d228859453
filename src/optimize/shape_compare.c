/* Two shapes beside each other. The first difference is what a reader hears of. */
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "optimize/kernel_shape.h"
#include "optimize/memory_effects.h"
#include "optimize/points_to.h"
#include "optimize/shape_values.h"

/* Two texts of a kernel, interval by interval. */

static const struct rp_access *find(const struct rp_accesses *in, size_t interval, const char *name,
                                    enum rp_access_kind kind)
{
    for (size_t i = 0; i < in->count; i++)
        if (in->list[i].interval == interval && in->list[i].kind == kind &&
            strcmp(in->list[i].name, name) == 0)
            return &in->list[i];
    return NULL;
}

static bool is_unknown(const struct rp_access *access)
{
    return strcmp(access->name, rp_unknown_memory) == 0;
}

/** Whether nothing but plain reads of it is in the original; what cannot be told may be it. */
static bool is_only_read(const struct rp_accesses *was, const struct rp_access *access)
{
    if (is_unknown(access))
        return false;
    for (size_t i = 0; i < was->count; i++)
        if (was->list[i].kind != RP_ACCESS_READ &&
            (is_unknown(&was->list[i]) || strcmp(was->list[i].name, access->name) == 0))
            return false;
    return true;
}

static const char *verb(enum rp_access_kind kind)
{
    static const char *const verbs[] = {
        [RP_ACCESS_READ] = "read",
        [RP_ACCESS_WRITE] = "written",
        [RP_ACCESS_ATOMIC] = "changed by an atomic operation",
        [RP_ACCESS_VOLATILE_READ] = "read as volatile",
        [RP_ACCESS_VOLATILE_WRITE] = "written as volatile",
    };

    return verbs[kind];
}

/**
 * The same accesses in the same intervals. Memory that the original only reads may be read
 * anywhere; of what it writes in an interval, reads in there may be left out.
 * @return 0, or RP_VERDICT with the first difference
 */
static int rp_accesses_compare(const struct rp_shape_text *original, const struct rp_accesses *was,
                               const struct rp_shape_text *candidate, const struct rp_accesses *is,
                               struct rp_err *err)
{
    static const char rule[] =
        "what a kernel writes is read and written between the same barriers, "
        "fences and atomics as in the original";

    if (was->intervals != is->intervals)
        return rp_fail(err, RP_VERDICT,
                       "barriers, fences, atomics and volatile accesses divide the kernel into %zu "
                       "parts, and the original into %zu: leave them as they are",
                       is->intervals, was->intervals);
    for (size_t i = 0; i < is->count; i++) {
        const struct rp_access *new = &is->list[i];

        if (find(was, new->interval, new->name, new->kind) ||
            (new->kind == RP_ACCESS_READ &&is_only_read(was, new)))
            continue;
        return rp_fail(err, RP_VERDICT,
                       "line %u: %s is %s here, and not in this part of the original: %s",
                       rp_shape_line(candidate, new->offset), new->name, verb(new->kind), rule);
    }
    for (size_t i = 0; i < was->count; i++) {
        const struct rp_access *old = &was->list[i];

        if (find(is, old->interval, old->name, old->kind) ||
            (old->kind == RP_ACCESS_READ &&
             (is_only_read(was, old) || find(was, old->interval, old->name, RP_ACCESS_WRITE))))
            continue;
        return rp_fail(err, RP_VERDICT,
                       "line %u of the original: %s is %s there, and not in this part any more: %s",
                       rp_shape_line(original, old->offset), old->name, verb(old->kind), rule);
    }
    return 0;
}

/** The item of a class behind `at`; NULL: there is none. */
static const struct rp_shape_item *next_of(const struct rp_shape_function *function,
                                           enum rp_shape_class class, size_t *at)
{
    while (*at < function->count) {
        const struct rp_shape_item *item = &function->items[(*at)++];

        if (item->class == class)
            return item;
    }
    return NULL;
}

static size_t count_of(const struct rp_shape_function *function, const struct rp_shape_item *like)
{
    size_t count = 0;

    for (size_t i = 0; i < function->count; i++)
        count += function->items[i].class == like->class &&
                 strcmp(function->items[i].text, like->text) == 0;
    return count;
}

static unsigned line_of(const struct rp_shape_text *in, const struct rp_shape_item *item)
{
    return rp_shape_line(in, item->offset);
}

/** What a reader needs of an item's text. */
static int name_bytes(const struct rp_shape_item *item)
{
    size_t bytes = strcspn(item->text, "\t");

    return bytes < 200 ? (int)bytes : 200;
}

static int refuse_ordered(const struct rp_shape_text *original, const struct rp_shape_item *was,
                          const struct rp_shape_text *candidate, const struct rp_shape_item *is,
                          bool is_new, struct rp_err *err)
{
    static const char rule[] = "barriers, atomics, operations between lanes, volatile accesses, "
                               "returns, gotos, breaks and "
                               "continues of loops with any of these, inline assembly and calls of "
                               "functions whose effects are not known keep kind, order, loop and "
                               "branch";

    if (is && is_new)
        return rp_fail(err, RP_VERDICT, "line %u: %.*s is added: %s", line_of(candidate, is),
                       name_bytes(is), is->text, rule);
    if (was)
        return rp_fail(err, RP_VERDICT,
                       "line %u of the original: %.*s is missing, or stands elsewhere: %s",
                       line_of(original, was), name_bytes(was), was->text, rule);
    return rp_fail(err, RP_VERDICT, "line %u: %.*s stands elsewhere than in the original: %s",
                   is ? line_of(candidate, is) : 1, is ? name_bytes(is) : 0, is ? is->text : "",
                   rule);
}

/** The first thing from an item on that is not only a bracket. */
static const struct rp_shape_item *named(const struct rp_shape_function *function,
                                         const struct rp_shape_item *from)
{
    size_t at = from ? (size_t)(from - function->items) : function->count;
    const struct rp_shape_item *item = from;

    while (item && rp_shape_is_bracket(item))
        item = next_of(function, from->class, &at);
    return item;
}

static int refuse_same(const struct rp_shape_text *original, const struct rp_shape_item *was,
                       const struct rp_shape_text *candidate, const struct rp_shape_item *is,
                       struct rp_err *err)
{
    if (is)
        return rp_fail(err, RP_VERDICT,
                       "line %u: %.*s is added or changed: leave it as it is in the original",
                       line_of(candidate, is), name_bytes(is), is->text);
    return rp_fail(err, RP_VERDICT, "line %u of the original: %.*s is missing: put it back",
                   line_of(original, was), name_bytes(was), was->text);
}

/** The same items in the same order. */
static int compare_ordered(const struct rp_shape_text *original,
                           const struct rp_shape_function *was,
                           const struct rp_shape_text *candidate,
                           const struct rp_shape_function *is, enum rp_shape_class class,
                           struct rp_err *err)
{
    size_t at_was = 0, at_is = 0;

    for (;;) {
        const struct rp_shape_item *a = next_of(was, class, &at_was);
        const struct rp_shape_item *b = next_of(is, class, &at_is);

        if (!a && !b)
            return 0;
        if (a && b && strcmp(a->text, b->text) == 0)
            continue;
        if (class != RP_SHAPE_ORDERED)
            return refuse_same(original, a, candidate, b, err);
        b = named(is, b);
        return refuse_ordered(original, named(was, a), candidate, b,
                              b && count_of(is, b) > count_of(was, b), err);
    }
}

static int refuse_new(const struct rp_shape_text *candidate, const struct rp_shape_item *item,
                      struct rp_err *err)
{
    unsigned line = line_of(candidate, item);

    if (item->class == RP_SHAPE_CALL)
        return rp_fail(err, RP_VERDICT,
                       "line %u: %.*s is not called in the original: call only what it calls", line,
                       name_bytes(item), item->text);
    if (item->class == RP_SHAPE_GLOBAL)
        return rp_fail(err, RP_VERDICT,
                       "line %u: the variable %.*s of outside the kernel is not used so in the "
                       "original: use parameters and local variables",
                       line, name_bytes(item), item->text);
    if (item->class == RP_SHAPE_TYPE)
        return rp_fail(err, RP_VERDICT,
                       "line %u: the original makes no object of %.*s: use only types of its own",
                       line, name_bytes(item), item->text);
    if (item->class == RP_SHAPE_POINTER)
        return rp_fail(err, RP_VERDICT,
                       "line %u: %.*s is computed here, and not in the original: how memory lies "
                       "to other memory is not known",
                       line, name_bytes(item), item->text);
    return rp_fail(err, RP_VERDICT,
                   "line %u: a cast to %.*s that is not in the original sees a value as another "
                   "type: leave types as they are",
                   line, name_bytes(item), item->text);
}

/** Their order is free. */
static int compare_steps(const struct rp_shape_text *original, const struct rp_shape_function *was,
                         const struct rp_shape_text *candidate, const struct rp_shape_function *is,
                         struct rp_err *err)
{
    for (size_t i = 0; i < is->count; i++)
        if (is->items[i].class == RP_SHAPE_LOOP_UPDATE &&
            count_of(is, &is->items[i]) > count_of(was, &is->items[i]))
            return refuse_same(original, NULL, candidate, &is->items[i], err);
    for (size_t i = 0; i < was->count; i++)
        if (was->items[i].class == RP_SHAPE_LOOP_UPDATE &&
            count_of(is, &was->items[i]) < count_of(was, &was->items[i]))
            return refuse_same(original, &was->items[i], candidate, NULL, err);
    return 0;
}

/** None is left out: what it was in the capture is no matter. */
static int compare_uses(const struct rp_shape_text *original, const struct rp_shape_function *was,
                        const struct rp_shape_function *is, struct rp_err *err)
{
    for (size_t i = 0; i < was->count; i++) {
        const struct rp_shape_item *use = &was->items[i];
        bool found = use->class != RP_SHAPE_USE;

        for (size_t j = 0; j < is->count && !found; j++)
            found = is->items[j].class == RP_SHAPE_USE &&
                    rp_shape_use_covers(is->items[j].text, use->text);
        if (!found)
            return rp_fail(
                err, RP_VERDICT,
                "line %u of the original uses %s, and nothing here does: a kernel must be "
                "right for all arguments and sizes, not only for those of this program",
                line_of(original, use), use->text);
    }
    return 0;
}

static int compare_function(const struct rp_shape_text *original,
                            const struct rp_shape_function *was,
                            const struct rp_shape_text *candidate,
                            const struct rp_shape_function *is, struct rp_err *err)
{
    for (size_t i = 0; i < is->count; i++)
        if (is->items[i].class >= RP_SHAPE_CALL && count_of(was, &is->items[i]) == 0)
            return refuse_new(candidate, &is->items[i], err);
    for (int class = RP_SHAPE_LOCAL; class < RP_SHAPE_LOOP_CONDITION; class ++) {
        int rc = compare_ordered(original, was, candidate, is, (enum rp_shape_class) class, err);

        if (rc < 0)
            return rc;
    }
    if (compare_ordered(original, was, candidate, is, RP_SHAPE_ORDERED, err) < 0 ||
        compare_ordered(original, was, candidate, is, RP_SHAPE_LOOP_CONDITION, err) < 0 ||
        compare_steps(original, was, candidate, is, err) < 0)
        return -RP_VERDICT;
    if (rp_accesses_compare(original, &was->accesses, candidate, &is->accesses, err) < 0)
        return -RP_VERDICT;
    if (rp_arithmetic_compare(&was->arithmetic, candidate, &is->arithmetic, err) < 0)
        return -RP_VERDICT;
    return compare_uses(original, was, is, err);
}

int rp_kernel_shape_compare(const struct rp_shape_text *original,
                            const struct rp_shape_text *candidate, struct rp_err *err)
{
    if (original->shape->count != candidate->shape->count)
        return rp_fail(err, RP_VERDICT,
                       "the kernel has %zu instances, and had %zu: leave its templates alone",
                       candidate->shape->count, original->shape->count);
    for (size_t i = 0; i < original->shape->count; i++) {
        const struct rp_shape_function *was = &original->shape->functions[i], *is = NULL;
        int rc;

        for (size_t j = 0; j < candidate->shape->count; j++)
            if (strcmp(candidate->shape->functions[j].symbol, was->symbol) == 0)
                is = &candidate->shape->functions[j];
        if (!is)
            return rp_fail(err, RP_VERDICT, "the kernel %s is gone: leave its templates alone",
                           was->symbol);
        rc = compare_function(original, was, candidate, is, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
