#include "library/life.h"

#include <string.h>

#include "trace/rocpd.h"

static const char *machine_of(const struct rp_row_node *nodes, size_t count, uint32_t guid_index)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].guid_index == guid_index)
            return *nodes[i].machine_id ? nodes[i].machine_id : nodes[i].hostname;
    return "";
}

/* CSV does not say when a process began and ended: its kernels do. */
static int times_of_kernels(struct rp_store *store, struct rp_life *life, struct rp_err *err)
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

int rp_life_of(struct rp_store *store, struct rp_life *ret, struct rp_err *err)
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
    *ret = (struct rp_life){.path = rp_store_path(store),
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

bool rp_lives_on_one_machine(const struct rp_life *a, const struct rp_life *b)
{
    return strcmp(a->machine, b->machine) == 0;
}

bool rp_lives_apart(const struct rp_life *a, const struct rp_life *b)
{
    return a->end_ns && b->end_ns && (a->end_ns <= b->start_ns || b->end_ns <= a->start_ns);
}

bool rp_lives_related(const struct rp_life *a, const struct rp_life *b)
{
    return a->ppid == b->ppid || a->ppid == b->pid || a->pid == b->ppid;
}
