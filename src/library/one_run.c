#include "library/one_run.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "library/notes.h"
#include "rocm-perf/store.h"

/* A process as its trace describes it. */
struct life {
    const char *path, *machine;
    const struct rp_row_process *process;
    int64_t start_ns, end_ns;
};

static const char *machine_of(const struct rp_row_node *nodes, size_t count, uint32_t guid_index)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i].guid_index == guid_index)
            return *nodes[i].machine_id ? nodes[i].machine_id : nodes[i].hostname;
    return "";
}

/* The first process of a trace; a merged one was merged on purpose. A trace that lacks a command or
 * times, as CSV does, is left out. */
static int first_life(struct rp_store *store, struct life *ret, bool *ret_known, struct rp_err *err)
{
    const struct rp_row_process *processes;
    const struct rp_row_node *nodes;
    size_t count, node_count;
    int rc = rp_store_processes(store, &processes, &count, err);

    if (rc == 0)
        rc = rp_store_nodes(store, &nodes, &node_count, err);
    *ret_known = false;
    if (rc < 0 || count == 0)
        return rc;
    *ret = (struct life){
        .path = rp_store_path(store),
        .machine = machine_of(nodes, node_count, processes->guid_index),
        .process = processes,
        .start_ns = processes->start_ns > 0 ? processes->start_ns : processes->init_ns,
        .end_ns = processes->end_ns > 0 ? processes->end_ns : processes->fini_ns,
    };
    *ret_known = *processes->command && ret->start_ns > 0 && ret->end_ns > ret->start_ns;
    return 0;
}

/* Clocks of different machines are not comparable, and what one script starts is one run. */
static bool are_of_two_runs(const struct life *a, const struct life *b)
{
    const struct rp_row_process *p = a->process, *q = b->process;

    if (a->end_ns > b->start_ns && b->end_ns > a->start_ns)
        return false;
    if (p->ppid == q->ppid || p->ppid == q->pid || p->pid == q->ppid)
        return false;
    return strcmp(p->command, q->command) != 0 && strcmp(a->machine, b->machine) == 0;
}

int rp_warn_of_other_runs(struct rp_store *const *stores, size_t count,
                          const struct rp_note_sink *notes, struct rp_err *err)
{
    rp_autofree struct life *lives = calloc(count + 1, sizeof *lives);
    size_t known = 0;

    if (!lives)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        bool usable;
        int rc = first_life(stores[i], &lives[known], &usable, err);

        if (rc < 0)
            return rc;
        known += usable;
    }
    for (size_t i = 0; i < known; i++)
        for (size_t j = 0; j < i; j++)
            if (are_of_two_runs(&lives[j], &lives[i])) {
                rp_note(notes,
                        "%s ('%.60s') and %s ('%.60s') ran one after the other: results only"
                        " hold for traces of one run, analyse each run by itself",
                        lives[j].path, lives[j].process->command, lives[i].path,
                        lives[i].process->command);
                return 0;
            }
    return 0;
}
