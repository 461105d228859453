/* Which of several traces are of one run, and which are runs of the same command. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "library/library.h"
#include "trace/rocpd.h"

/* A trace, and the run that it is of. */
struct member {
    struct rp_lifetime life;
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
static bool are_apart(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    const bool siblings =
        (a->ppid > 0 || b->ppid > 0) && a->pid != b->pid && rp_lifetimes_related(a, b);

    if (a->own_clock || b->own_clock)
        return !siblings;
    return rp_lifetimes_disjoint(a, b) && !(siblings && (a->by_kernels || b->by_kernels));
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
        if (!rp_lifetimes_on_one_machine(&members[0].life, &members[i].life))
            return false;
    return true;
}

/* Two that are neither of the same time nor a script's; NULL: there are none. */
static const struct member *stranger(const struct member *members, size_t count,
                                     const struct member **ret_other)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct rp_lifetime *a = &members[k].life, *b = &members[i].life;

            if (!rp_lifetimes_on_one_machine(a, b) || !are_apart(a, b))
                continue;
            if (!a->command[0] || strcmp(a->command, b->command) == 0 ||
                !rp_lifetimes_related(a, b)) {
                *ret_other = &members[i];
                return &members[k];
            }
        }
    return NULL;
}

static int refuse(const struct rp_lifetime *a, const struct rp_lifetime *b, struct rp_err *err)
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
        int rc = rp_lifetime_of(stores[i], &members[i].life, err);

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

static const char *machine_of(const struct rp_row_node *nodes, size_t count, uint32_t guid_index)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].guid_index == guid_index)
            return *nodes[i].machine_id ? nodes[i].machine_id : nodes[i].hostname;
    return "";
}

/* CSV does not say when a process began and ended: its kernels do. */
static int times_of_kernels(struct rp_store *store, struct rp_lifetime *life, struct rp_err *err)
{
    const struct rp_row_dispatch *rows;
    size_t count;
    int rc = rp_store_dispatches(store, &rows, &count, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].start_ns <= 0 || rows[i].end_ns < rows[i].start_ns)
            continue;
        if (life->start_ns == 0 || rows[i].start_ns < life->start_ns)
            life->start_ns = rows[i].start_ns;
        if (rows[i].end_ns > life->end_ns)
            life->end_ns = rows[i].end_ns;
    }
    return 0;
}

int rp_lifetime_of(struct rp_store *store, struct rp_lifetime *ret, struct rp_err *err)
{
    const struct rp_row_process *p;
    const struct rp_row_node *nodes;
    const char *device;
    size_t count, node_count;
    int rc = rp_store_processes(store, &p, &count, err);

    if (rc == 0)
        rc = rp_store_nodes(store, &nodes, &node_count, err);
    if (rc < 0)
        return rc;
    *ret = (struct rp_lifetime){.path = rp_store_path(store),
                                .machine = "",
                                .command = "",
                                .guid = rp_store_guid(store, 0)};
    ret->guid = ret->guid ? ret->guid : "";
    device = rp_store_metadata(store, "rocm_perf_device");
    ret->own_clock = device && strcmp(device, "software") == 0;
    if (count) {
        ret->machine = machine_of(nodes, node_count, p->guid_index);
        ret->command = p->command ? p->command : "";
        ret->pid = p->pid;
        ret->ppid = p->ppid;
        ret->start_ns = p->start_ns > 0 ? p->start_ns : p->init_ns;
        ret->end_ns = p->end_ns > 0 ? p->end_ns : p->fini_ns;
    }
    if (ret->start_ns > 0 && ret->end_ns > ret->start_ns && !ret->own_clock)
        return 0;
    ret->start_ns = ret->end_ns = 0;
    if (ret->own_clock)
        return 0;
    ret->by_kernels = true;
    return times_of_kernels(store, ret, err);
}

bool rp_lifetimes_on_one_machine(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return strcmp(a->machine, b->machine) == 0;
}

bool rp_lifetimes_disjoint(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return a->end_ns && b->end_ns && (a->end_ns <= b->start_ns || b->end_ns <= a->start_ns);
}

bool rp_lifetimes_related(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return a->ppid == b->ppid || a->ppid == b->pid || a->pid == b->ppid;
}

void rp_note(const struct rp_note_sink *sink, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    if (!sink->put)
        return;
    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    if (!text.failed)
        sink->put(sink->ctx, rp_buf_text(&text));
}
