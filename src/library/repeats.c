#include "library/repeats.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "library/life.h"

/* A trace, and the run that it is of. */
struct member {
    struct rp_life life;
    struct rp_store *store;
    size_t group;
};

void rp_repeats_free(struct rp_repeats *repeats)
{
    free(repeats->stores);
    free(repeats->counts);
    *repeats = (struct rp_repeats){0};
}

static int by_start(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int guids = strcmp(a->life.guid, b->life.guid);

    if (a->life.start_ns != b->life.start_ns)
        return a->life.start_ns < b->life.start_ns ? -1 : 1;
    return guids ? guids : strcmp(a->life.path, b->life.path);
}

static int by_group_and_command(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int commands = strcmp(a->life.command, b->life.command);

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return commands ? commands : by_start(left, right);
}

/* Where it is not known how long a process was there, those of one parent are taken to be of one
 * run; but for those of one pid, as each has that is the first of a container. CSV says nothing of
 * parents. */
static bool are_apart(const struct rp_life *a, const struct rp_life *b)
{
    const bool siblings =
        (a->ppid > 0 || b->ppid > 0) && a->pid != b->pid && rp_lives_related(a, b);

    if (a->own_clock || b->own_clock)
        return !siblings;
    return rp_lives_apart(a, b) && !(siblings && (a->by_kernels || b->by_kernels));
}

/* Those of one run get the number of its first trace. */
static void group(struct member *members, size_t count)
{
    qsort(members, count, sizeof *members, by_start);
    for (size_t i = 0; i < count; i++) {
        members[i].group = i;
        for (size_t k = 0; k < i; k++) {
            const size_t from = members[k].group, to = members[i].group;

            if (from == to || are_apart(&members[k].life, &members[i].life))
                continue;
            for (size_t j = 0; j <= i; j++)
                if (members[j].group == (from > to ? from : to))
                    members[j].group = from > to ? to : from;
        }
    }
    qsort(members, count, sizeof *members, by_group_and_command);
}

/* Members of a group stand together, sorted by command. */
static size_t size_of_group(const struct member *members, size_t count, size_t first)
{
    size_t size = 1;

    while (first + size < count && members[first + size].group == members[first].group)
        size++;
    return size;
}

/* The commands of both, where all are known. */
static bool same_commands(const struct member *a, size_t a_size, const struct member *b,
                          size_t b_size)
{
    if (a_size != b_size)
        return false;
    for (size_t i = 0; i < a_size; i++)
        if (!a[i].life.command[0] || strcmp(a[i].life.command, b[i].life.command) != 0)
            return false;
    return true;
}

static bool all_on_one_machine(const struct member *members, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!rp_lives_on_one_machine(&members[0].life, &members[i].life))
            return false;
    return true;
}

/* Two that are neither of the same time nor a script's; NULL: there are none. */
static const struct member *stranger(const struct member *members, size_t count,
                                     const struct member **ret_other)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct rp_life *a = &members[k].life, *b = &members[i].life;

            if (!rp_lives_on_one_machine(a, b) || !are_apart(a, b))
                continue;
            if (!a->command[0] || strcmp(a->command, b->command) == 0 || !rp_lives_related(a, b)) {
                *ret_other = &members[i];
                return &members[k];
            }
        }
    return NULL;
}

static int refuse(const struct rp_life *a, const struct rp_life *b, struct rp_err *err)
{
    if (!a->command[0] || !b->command[0])
        return rp_fail(err, RP_BAD_INPUT,
                       "%s and %s ran one after the other, and do not say of which command they "
                       "are: give one of them, or traces that do (rocprofv3 --output-format rocpd)",
                       a->path, b->path);
    if (strcmp(a->command, b->command) == 0)
        return rp_fail(
            err, RP_BAD_INPUT,
            "%s and %s are of different runs of '%.60s', but beside them there are other "
            "commands, other machines, or runs of fewer processes: put the traces of "
            "each run into a folder of its own, and give one",
            a->path, b->path, a->command);
    return rp_fail(err, RP_BAD_INPUT,
                   "%s ('%.60s') and %s ('%.60s') are neither processes of one run nor runs of the "
                   "same command: put traces of each program into a folder of its own",
                   a->path, a->command, b->path, b->command);
}

/* Are all groups runs of the same commands? Told of one group: it is one run. */
static bool are_repeats(const struct member *members, size_t count)
{
    const size_t size = size_of_group(members, count, 0);

    for (size_t i = size; i < count; i += size)
        if (!same_commands(members, size, members + i, size_of_group(members, count, i)))
            return false;
    return true;
}

static int fill(const struct member *members, size_t count, bool repeats, struct rp_repeats *ret,
                struct rp_err *err)
{
    const size_t size = repeats ? size_of_group(members, count, 0) : count;

    ret->stores = calloc(count + 1, sizeof(struct rp_store *));
    ret->counts = calloc(count + 1, sizeof *ret->counts);
    if (!ret->stores || !ret->counts) {
        rp_repeats_free(ret);
        return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        ret->stores[i] = members[i].store;
    ret->count = size ? count / size : 0;
    for (size_t i = 0; i < ret->count; i++)
        ret->counts[i] = size;
    return 0;
}

int rp_repeats_of(struct rp_store *const *stores, size_t count, struct rp_repeats *ret,
                  struct rp_err *err)
{
    rp_autofree struct member *members = calloc(count + 1, sizeof *members);
    const struct member *a, *b = NULL;
    bool repeats;

    if (!members)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        int rc = rp_life_of(stores[i], &members[i].life, err);

        if (rc < 0)
            return rc;
        members[i].store = stores[i];
    }
    repeats = all_on_one_machine(members, count);
    if (repeats)
        group(members, count);
    repeats = repeats && are_repeats(members, count);
    a = repeats ? NULL : stranger(members, count, &b);
    return a ? refuse(&a->life, &b->life, err) : fill(members, count, repeats, ret, err);
}
