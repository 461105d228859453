#include "machines.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/extdata.h"
#include "base/err.h"

const char *rp_dag_disturbance_name(unsigned bit)
{
    return bit == RP_DAG_COUNTERS       ? "counters"
           : bit == RP_DAG_THREAD_TRACE ? "thread_trace"
                                        : "pc_sampling";
}

/* --- what the process row says ---------------------------------------------------------------- */

/* Launchers say the rank in the environment: Open MPI, MPICH and Intel MPI, Slurm, torchrun. */
static const char *const rank_variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                             "RANK"};

static void find_rank(const json_t *environment, struct rp_dag_process_fact *fact)
{
    for (size_t i = 0; i < sizeof rank_variables / sizeof rank_variables[0]; i++) {
        const json_t *value = json_object_get(environment, rank_variables[i]);
        const char *text = json_string_value(value);
        char *end = NULL;
        int64_t rank = text                     ? strtoll(text, &end, 10)
                       : json_is_integer(value) ? json_integer_value(value)
                                                : -1;

        if (rank < 0 || (text && (end == text || *end)))
            continue;
        fact->rank = rank;
        fact->rank_known = true;
        return;
    }
}

static bool is_on(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);

    if (!text)
        return json_is_true(value) || json_integer_value(value) > 0;
    return *text && strcmp(text, "0") != 0 && strcasecmp(text, "false") != 0 &&
           strcasecmp(text, "off") != 0 && strcasecmp(text, "no") != 0 &&
           strcasecmp(text, "none") != 0;
}

/* What rocprofv3 was asked for: its variables, or its own configuration in extdata. */
static unsigned find_disturbance(const json_t *environment, const json_t *extdata)
{
    unsigned disturbed = 0;

    if (is_on(environment, "ROCPROF_COUNTER_COLLECTION") || is_on(environment, "ROCPROF_COUNTERS"))
        disturbed |= RP_DAG_COUNTERS;
    if (is_on(environment, "ROCPROF_ADVANCED_THREAD_TRACE") ||
        is_on(extdata, "advanced_thread_trace"))
        disturbed |= RP_DAG_THREAD_TRACE;
    if (is_on(environment, "ROCPROF_PC_SAMPLING_METHOD") ||
        is_on(extdata, "pc_sampling_host_trap") || is_on(extdata, "pc_sampling_stochastic"))
        disturbed |= RP_DAG_PC_SAMPLING;
    return disturbed;
}

static int read_process(const struct rp_row_process *row, struct rp_dag_process_fact *fact,
                        struct rp_err *err)
{
    json_t *environment = NULL, *extdata = NULL;
    int rc = rp_extdata_load(row->environment, &environment, err);

    if (rc == 0)
        rc = rp_extdata_load(row->extdata, &extdata, err);
    if (rc == 0) {
        fact->pid = row->pid;
        find_rank(environment, fact);
        fact->disturbed |= find_disturbance(environment, extdata);
    }
    json_decref(environment);
    json_decref(extdata);
    return rc;
}

/* --- counters --------------------------------------------------------------------------------- */

/* Reading them on a GPU makes kernels run one at a time; the software device counts beside. */
static int find_counters(const struct rp_dag_process *p, struct rp_dag_process_fact *fact,
                         struct rp_err *err)
{
    const char *device = rp_store_metadata(p->from.store, "rocm_perf_device");
    const struct rp_row_counter *rows;
    size_t count;
    int rc = 0;

    if (device && strcmp(device, "software") == 0)
        return 0;
    rc = rp_store_counters(p->from.store, &rows, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++)
        if (rows[i].guid_index == p->from.guid_index) {
            fact->disturbed |= RP_DAG_COUNTERS;
            break;
        }
    return rc;
}

/* --- machines --------------------------------------------------------------------------------- */

/* The node row of a process, else the trace's only one. */
static int find_node(const struct rp_dag_process *p, struct rp_dag_machine *ret, struct rp_err *err)
{
    const struct rp_row_node *rows, *found = NULL;
    size_t count;
    int rc = rp_store_nodes(p->from.store, &rows, &count, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count && !found; i++)
        if (rows[i].guid_index == p->from.guid_index)
            found = &rows[i];
    if (!found && count == 1)
        found = rows;
    *ret = (struct rp_dag_machine){.machine_id = found ? found->machine_id : "",
                                   .hostname = found ? found->hostname : ""};
    return 0;
}

/* A trace that does not say where it is from is taken to be from where the others are. */
static bool same_machine(const struct rp_dag_machine *a, const struct rp_dag_machine *b)
{
    return !*a->machine_id || !*b->machine_id || strcmp(a->machine_id, b->machine_id) == 0;
}

static int add_machine(struct rp_dag_process *p, struct rp_dag_result *r, struct rp_err *err)
{
    struct rp_dag_machine machine;
    size_t k = 0;
    int rc = find_node(p, &machine, err);

    if (rc < 0)
        return rc;
    while (k < r->machine_count && !same_machine(&r->machines[k], &machine))
        k++;
    if (k == r->machine_count)
        r->machines[r->machine_count++] = machine;
    else if (!*r->machines[k].machine_id)
        r->machines[k] = machine;
    p->machine = (uint32_t)k;
    return 0;
}

int rp_dag_machines(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err)
{
    int rc = 0;

    ret->machines = calloc(trace->process_count + 1, sizeof *ret->machines);
    ret->processes = calloc(trace->process_count + 1, sizeof *ret->processes);
    if (!ret->machines || !ret->processes)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < trace->process_count && rc == 0; i++) {
        struct rp_dag_process *p = &trace->processes[i];
        struct rp_dag_process_fact *fact = &ret->processes[ret->process_count++];
        const struct rp_row_process *rows;
        size_t count;

        rc = rp_store_processes(p->from.store, &rows, &count, err);
        fact->store = p->from.store;
        fact->guid_index = p->from.guid_index;
        fact->guid = p->guid;
        for (size_t k = 0; rc == 0 && k < count; k++)
            if (rows[k].guid_index == p->from.guid_index)
                rc = read_process(&rows[k], fact, err);
        if (rc == 0)
            rc = find_counters(p, fact, err);
        if (rc == 0)
            rc = add_machine(p, ret, err);
        fact->machine = p->machine;
        ret->disturbed |= fact->disturbed;
    }
    return rc;
}
