/* Two texts of a kernel, interval by interval. */
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "optimize/accesses.h"
#include "optimize/kernel_shape.h"
#include "optimize/places.h"

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
    return strcmp(access->name, rp_places_unknown) == 0;
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

int rp_accesses_compare(const struct rp_shape_text *original, const struct rp_accesses *was,
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
