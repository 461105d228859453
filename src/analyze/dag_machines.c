/* Finds where and how each process of a run was recorded. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/dag_graph.h"
#include "analyze/profile.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"
#include "trace/ranks.h"
#include "trace/rocpd.h"

const char *rp_dag_disturbance_name(unsigned bit)
{
    return bit == RP_DAG_COUNTERS       ? "counters"
           : bit == RP_DAG_THREAD_TRACE ? "thread_trace"
                                        : "pc_sampling";
}

/* --- what the process row says ---------------------------------------------------------------- */

struct variables {
    const json_t *environment;
    char number[24]; /**< of one that is no string there */
};

static const char *variable(void *ctx, const char *name)
{
    struct variables *v = ctx;
    const json_t *value = json_object_get(v->environment, name);

    if (!json_is_integer(value))
        return json_string_value(value);
    snprintf(v->number, sizeof v->number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return v->number;
}

bool rp_environment_rank(const json_t *environment, int64_t *ret)
{
    struct variables variables = {.environment = environment};
    const struct rp_rank found = rp_rank_find(variable, &variables);

    *ret = found.rank;
    return found.variable != NULL;
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

/* Reads what rocprofv3 was asked for from its variables, or from its own configuration in extdata.
 */
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
        fact->rank_known = rp_environment_rank(environment, &fact->rank);
        fact->disturbed |= find_disturbance(environment, extdata);
    }
    json_decref(environment);
    json_decref(extdata);
    return rc;
}

/* --- counters --------------------------------------------------------------------------------- */

/* Reading counters on a GPU makes kernels run one at a time; the software device counts without
 * that. */
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

/* Finds the node row of a process, or the trace's only one. */
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

/* A trace that does not name its machine is taken to be from that of the others. */
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
        return rp_out_of_memory(err);
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

/* So many collectives, spread evenly, give the drift, because every pair of them is looked at. */
enum { MOST_FOR_DRIFT = 400 };

/* Quartz clocks are off by less than 100 ppm, so a difference of ten times that is no clock. */
#define MOST_DRIFT 1e-3

/* A smaller drift over the whole trace is not worth correcting. */
enum { LEAST_DRIFT_NS = 1000 };

/* This is one collective on one machine: its last rank began, its first rank ended. No rank ends
 * before all have begun. */
struct meeting {
    int64_t start_ns, end_ns;
};

/* Holds all collectives, machine by machine. */
struct meetings {
    struct meeting *list; /**< list[machine * count + k] */
    size_t count;
};

/* --- which collectives belong together -------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Lists collectives of one name in a process, by start. */
static size_t collectives_of(const struct rp_dag_process *p, uint32_t symbol, struct meeting *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < p->op_count; i++) {
        const struct rp_dag_op *op = &p->ops[i];
        if (op->symbol != symbol || op->is_copy)
            continue;
        if (ret)
            ret[count] = (struct meeting){op->start_ns, op->end_ns};
        count++;
    }
    if (ret)
        qsort(ret, count, sizeof *ret, by_start);
    return count;
}

/* Returns how often every process calls the collective, or 0 when they do not agree: then the k-th
 * ones do not belong together. */
static size_t common_count(const struct rp_dag_trace *trace, uint32_t symbol)
{
    size_t common = collectives_of(&trace->processes[0], symbol, NULL);

    for (size_t i = 1; i < trace->process_count && common; i++)
        if (collectives_of(&trace->processes[i], symbol, NULL) != common)
            common = 0;
    return common;
}

static void meet(struct meeting *all, const struct meeting *rank, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (rank[k].start_ns > all[k].start_ns)
            all[k].start_ns = rank[k].start_ns;
        if (rank[k].end_ns < all[k].end_ns)
            all[k].end_ns = rank[k].end_ns;
    }
}

static int find_meetings(const struct rp_dag_trace *trace, size_t machines, struct meetings *ret,
                         struct rp_err *err)
{
    rp_autofree size_t *counts = calloc(trace->symbol_count + 1, sizeof *counts);
    rp_autofree struct meeting *rank = NULL;
    size_t first = 0;

    if (!counts)
        return rp_out_of_memory(err);
    for (uint32_t s = 0; s < trace->symbol_count; s++)
        if (rp_dag_is_collective(trace->symbols[s]))
            ret->count += counts[s] = common_count(trace, s);
    ret->list = malloc((machines * ret->count + 1) * sizeof *ret->list);
    rank = malloc((ret->count + 1) * sizeof *rank);
    if (!ret->list || !rank)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < machines * ret->count; i++)
        ret->list[i] = (struct meeting){INT64_MIN, INT64_MAX};
    for (uint32_t s = 0; s < trace->symbol_count; first += counts[s++])
        for (size_t i = 0; i < trace->process_count && counts[s]; i++) {
            const struct rp_dag_process *p = &trace->processes[i];
            collectives_of(p, s, rank);
            meet(ret->list + p->machine * ret->count + first, rank, counts[s]);
        }
    return 0;
}

/* --- offset and drift ---------------------------------------------------------------------- */

/* Says when a collective ended on the machine, and by how much later than on the first. */
struct ends {
    double at_ns, apart_ns;
};

/* This is the Theil-Sen estimate: the median slope of all pairs. */
static double slope(const struct ends *ends, size_t count, double *scratch)
{
    size_t n = 0, step = (count + MOST_FOR_DRIFT - 1) / MOST_FOR_DRIFT;

    for (size_t i = 0; i < count; i += step)
        for (size_t k = i + step; k < count; k += step)
            if (ends[k].at_ns != ends[i].at_ns)
                scratch[n++] =
                    (ends[k].apart_ns - ends[i].apart_ns) / (ends[k].at_ns - ends[i].at_ns);
    return n ? rp_median(scratch, n) : 0;
}

/* Returns the offset with a given drift, and its median error. */
static double middle(const struct ends *ends, size_t count, double drift, double *scratch,
                     double *ret_spread)
{
    double offset;

    for (size_t i = 0; i < count; i++)
        scratch[i] = ends[i].apart_ns - drift * ends[i].at_ns;
    offset = rp_median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(ends[i].apart_ns - drift * ends[i].at_ns - offset);
    *ret_spread = rp_median(scratch, count);
    return offset;
}

/* The drift is believed when it is large enough and explains most of the scatter. */
static void estimate(const struct ends *ends, size_t count, double *scratch,
                     struct rp_dag_machine *ret)
{
    double still_spread, spread, span_ns = 0;
    double still = middle(ends, count, 0, scratch, &still_spread);
    double drift = slope(ends, count, scratch),
           offset = middle(ends, count, drift, scratch, &spread);

    for (size_t i = 0; i < count; i++)
        span_ns = ends[i].at_ns > span_ns ? ends[i].at_ns : span_ns;
    if (fabs(drift) * span_ns < LEAST_DRIFT_NS || fabs(drift) > MOST_DRIFT ||
        spread * 2 > still_spread) {
        drift = 0;
        offset = still;
    }
    ret->drift = drift;
    ret->offset_ns = llround(offset);
}

static int64_t to_first_clock(const struct rp_dag_machine *m, int64_t origin_ns, int64_t time_ns)
{
    int64_t there_ns = time_ns - origin_ns - m->offset_ns;

    /* The drift counts nanoseconds of the first clock. */
    return origin_ns + (m->drift ? llround((double)there_ns / (1 + m->drift)) : there_ns);
}

/* No rank ends before all have begun, which bounds how much the offset may still be moved, up and
 * down. */
static int check_bounds(const struct meeting *first, const struct meeting *there, size_t count,
                        int64_t origin_ns, const struct rp_dag_machine *reference,
                        struct rp_dag_machine *m, struct rp_err *err)
{
    int64_t least_ns = INT64_MIN, most_ns = INT64_MAX;

    for (size_t k = 0; k < count; k++) {
        int64_t low = to_first_clock(m, origin_ns, there[k].start_ns) - first[k].end_ns;
        int64_t high = to_first_clock(m, origin_ns, there[k].end_ns) - first[k].start_ns;
        least_ns = low > least_ns ? low : least_ns;
        most_ns = high < most_ns ? high : most_ns;
    }
    if (least_ns > most_ns)
        return rp_fail(err, RP_BAD_INPUT,
                       "the clocks of the machines %s (%s) and %s (%s) do not fit together: of "
                       "their %zu collectives, one allows no offset below %+" PRId64
                       " ns and another none above %+" PRId64
                       " ns. Analyse the traces of each machine apart",
                       reference->machine_id, reference->hostname, m->machine_id, m->hostname,
                       count, m->offset_ns + least_ns, m->offset_ns + most_ns);
    /* The median of the ends is not among the possible offsets. */
    if (least_ns > 0 || most_ns < 0) {
        int64_t by_ns = least_ns > 0 ? least_ns : most_ns;
        m->offset_ns += by_ns;
        least_ns -= by_ns;
        most_ns -= by_ns;
    }
    m->uncertainty_ns = -least_ns > most_ns ? -least_ns : most_ns;
    m->collectives = count;
    return 0;
}

/* Offsets are given, and drifts begin, at the first collective's end on the first machine. */
static int64_t origin_of(const struct meeting *first, size_t count)
{
    int64_t origin_ns = first[0].end_ns;

    for (size_t k = 1; k < count; k++)
        origin_ns = first[k].end_ns < origin_ns ? first[k].end_ns : origin_ns;
    return origin_ns;
}

static int align(const struct meetings *all, size_t machine, struct rp_dag_machine *machines,
                 struct rp_err *err)
{
    const struct meeting *first = all->list, *there = all->list + machine * all->count;
    size_t count = all->count, few = count < MOST_FOR_DRIFT ? count : MOST_FOR_DRIFT;
    rp_autofree struct ends *ends = malloc((count + 1) * sizeof *ends);
    rp_autofree double *scratch = malloc((count + few * few / 2 + 1) * sizeof *scratch);
    struct rp_dag_machine *m = &machines[machine];
    int64_t origin_ns, apart_ns;

    if (!count)
        return rp_fail(
            err, RP_BAD_INPUT,
            "the traces are of the machines %s (%s) and %s (%s), whose clocks differ, and "
            "no collective that all processes call equally often relates them. Analyse "
            "the traces of each machine apart",
            machines->machine_id, machines->hostname, m->machine_id, m->hostname);
    if (!ends || !scratch)
        return rp_out_of_memory(err);
    origin_ns = origin_of(first, count);
    apart_ns = there[0].end_ns - first[0].end_ns; /* It may be more than a double holds exactly. */
    for (size_t k = 0; k < count; k++)
        ends[k] = (struct ends){(double)(first[k].end_ns - origin_ns),
                                (double)(there[k].end_ns - first[k].end_ns - apart_ns)};
    estimate(ends, count, scratch, m);
    m->offset_ns += apart_ns;
    return check_bounds(first, there, count, origin_ns, machines, m, err);
}

/* --- moving -------------------------------------------------------------------------------- */

static void move(struct rp_dag_process *p, const struct rp_dag_machine *m, int64_t origin_ns)
{
    for (size_t i = 0; i < p->call_count; i++) {
        p->call_rows[i].start_ns = to_first_clock(m, origin_ns, p->call_rows[i].start_ns);
        p->call_rows[i].end_ns = to_first_clock(m, origin_ns, p->call_rows[i].end_ns);
    }
    for (size_t i = 0; i < p->op_count; i++) {
        p->ops[i].start_ns = to_first_clock(m, origin_ns, p->ops[i].start_ns);
        p->ops[i].end_ns = to_first_clock(m, origin_ns, p->ops[i].end_ns);
    }
    for (size_t i = 0; i < p->range_count; i++) {
        p->ranges[i].start_ns = to_first_clock(m, origin_ns, p->ranges[i].start_ns);
        p->ranges[i].end_ns = to_first_clock(m, origin_ns, p->ranges[i].end_ns);
    }
    for (size_t i = 0; i < p->mark_count; i++)
        p->marks[i].end_ns = to_first_clock(m, origin_ns, p->marks[i].end_ns);
}

/* --- times that are none ------------------------------------------------------------------- */

enum { LONGEST_DAYS = 366 };

/* A clock that was moved may show times before its zero. */
static const int64_t before_zero_ns = (int64_t)LONGEST_DAYS * 24 * 3600 * 1000000000;

static int64_t limited(int64_t time_ns)
{
    return time_ns < RP_DAG_LATEST_NS ? time_ns : RP_DAG_LATEST_NS;
}

static int limit_ops(struct rp_dag_process *p, struct rp_err *err)
{
    for (size_t k = 0; k < p->op_count; k++) {
        struct rp_dag_op *op = &p->ops[k];
        int rc;
        if (op->start_ns <= RP_DAG_LATEST_NS && op->end_ns <= RP_DAG_LATEST_NS)
            continue;
        rc = rp_dag_keep_recorded(p, err);
        if (rc < 0)
            return rc;
        op->start_ns = limited(op->start_ns);
        op->end_ns = limited(op->end_ns);
    }
    return 0;
}

int rp_dag_limit_times(struct rp_dag_trace *trace, struct rp_err *err)
{
    for (size_t i = 0; i < trace->process_count; i++) {
        struct rp_dag_process *p = &trace->processes[i];
        int rc = limit_ops(p, err);
        if (rc < 0)
            return rc;
        for (size_t k = 0; k < p->call_count; k++) {
            p->call_rows[k].start_ns = limited(p->call_rows[k].start_ns);
            p->call_rows[k].end_ns = limited(p->call_rows[k].end_ns);
        }
        for (size_t k = 0; k < p->range_count; k++) {
            p->ranges[k].start_ns = limited(p->ranges[k].start_ns);
            p->ranges[k].end_ns = limited(p->ranges[k].end_ns);
        }
        for (size_t k = 0; k < p->mark_count; k++)
            p->marks[k].end_ns = limited(p->marks[k].end_ns);
    }
    return 0;
}

static bool is_beyond(int64_t time_ns)
{
    return time_ns >= RP_DAG_LATEST_NS || time_ns < -before_zero_ns;
}

/* If a process has such a time, times of machines are not combined. */
static bool has_beyond(const struct rp_dag_process *p)
{
    for (size_t k = 0; k < p->call_count; k++)
        if (is_beyond(p->call_rows[k].start_ns) || is_beyond(p->call_rows[k].end_ns))
            return true;
    for (size_t k = 0; k < p->op_count; k++)
        if (is_beyond(p->ops[k].start_ns) || is_beyond(p->ops[k].end_ns))
            return true;
    for (size_t k = 0; k < p->mark_count; k++)
        if (is_beyond(p->marks[k].end_ns))
            return true;
    return false;
}

static int check_times(const struct rp_dag_trace *trace, struct rp_err *err)
{
    for (size_t i = 0; i < trace->process_count; i++)
        if (has_beyond(&trace->processes[i]))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s has a time beyond %" PRId64
                           " ns: its times are damaged. Record the program again",
                           rp_store_path(trace->processes[i].from.store), RP_DAG_LATEST_NS);
    return 0;
}

/* --- the whole ----------------------------------------------------------------------------- */

int rp_dag_clocks(struct rp_dag_trace *trace, struct rp_dag_result *ret, struct rp_err *err)
{
    struct meetings all = {0};
    int64_t origin_ns = 0;
    int rc;

    if (ret->machine_count < 2)
        return 0;
    rc = check_times(trace, err);
    if (rc == 0)
        rc = find_meetings(trace, ret->machine_count, &all, err);
    for (size_t i = 1; i < ret->machine_count && rc == 0; i++)
        rc = align(&all, i, ret->machines, err);
    if (rc == 0)
        origin_ns = origin_of(all.list, all.count);
    for (size_t i = 0; i < trace->process_count && rc == 0; i++)
        if (trace->processes[i].machine)
            move(&trace->processes[i], &ret->machines[trace->processes[i].machine], origin_ns);
    free(all.list);
    return rc;
}

/* A clock that is corrected over the network runs up to 500 ppm faster or slower than an
 * uncorrected one of a GPU. A larger difference is no clock. */
#define SHIFT_MOST_DRIFT 5e-4

/* One bound in so many may be wrong. */
enum { FEW = 8, STEPS = 80 };

/* A clock is not believed, either, if only some starts show it to be behind by this much. */
enum { NO_CLOCK_NS = 10000000 };

/* Returns the largest lower bound, or the smallest upper bound. */
static int64_t extreme(const struct rp_dag_bounds *b, bool most)
{
    int64_t found = most ? INT64_MAX : INT64_MIN;

    for (size_t i = 0; i < b->count; i++)
        if (most ? b->list[i].by_ns < found : b->list[i].by_ns > found)
            found = b->list[i].by_ns;
    return found;
}

/* --- a drift -------------------------------------------------------------------------------- */

struct gap {
    double low, high; /**< bounds for the time that is added at the origin */
};

static struct gap gap_with(const struct rp_dag_bounds *least, const struct rp_dag_bounds *most,
                           const struct rp_dag_clock_shift *origin, double drift)
{
    struct gap g = {-INFINITY, INFINITY};

    for (size_t i = 0; i < least->count; i++)
        g.low = fmax(g.low, (double)(least->list[i].by_ns - origin->by_ns) -
                                drift * (double)(least->list[i].at_ns - origin->at_ns));
    for (size_t i = 0; i < most->count; i++)
        g.high = fmin(g.high, (double)(most->list[i].by_ns - origin->by_ns) -
                                  drift * (double)(most->list[i].at_ns - origin->at_ns));
    return g;
}

/* The room between both kinds of bounds is concave in the drift, so its peak is found by thirds. */
static bool find_drift(const struct rp_dag_bounds *least, const struct rp_dag_bounds *most,
                       struct rp_dag_clock_shift *ret)
{
    struct rp_dag_clock_shift origin = {.at_ns = least->list[0].at_ns,
                                        .by_ns = least->list[0].by_ns};
    double low = -SHIFT_MOST_DRIFT, high = SHIFT_MOST_DRIFT;
    struct gap g;

    for (int i = 0; i < STEPS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        struct gap at_a = gap_with(least, most, &origin, a);
        struct gap at_b = gap_with(least, most, &origin, b);
        if (at_a.high - at_a.low < at_b.high - at_b.low)
            low = a;
        else
            high = b;
    }
    g = gap_with(least, most, &origin, (low + high) / 2);
    if (g.high < g.low)
        return false;
    origin.drift = (low + high) / 2;
    origin.by_ns += llround((g.low + g.high) / 2);
    *ret = origin;
    return true;
}

/* --- some bounds are wrong ------------------------------------------------------------------ */

static int by_amount(const void *a, const void *b)
{
    const struct rp_dag_bound *x = a, *y = b;

    return (x->by_ns > y->by_ns) - (x->by_ns < y->by_ns);
}

static uint64_t magnitude(int64_t ns)
{
    return ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
}

/* Counts how many bounds of both lists contradict a shift. */
struct vote {
    size_t against;
    int64_t by_ns;
};

static void take_better(struct vote *best, size_t against, int64_t by_ns)
{
    if (against < best->against ||
        (against == best->against && magnitude(by_ns) < magnitude(best->by_ns)))
        *best = (struct vote){against, by_ns};
}

/* Both lists are sorted. Only bounds themselves, and no shift at all, can be the best. */
static struct vote fewest_against(const struct rp_dag_bounds *least,
                                  const struct rp_dag_bounds *most)
{
    struct vote best = {SIZE_MAX, 0};
    size_t below = 0, over = 0, i = 0, k = 0;
    bool zero = false;

    while (i < least->count || k < most->count || !zero) {
        int64_t by_ns = zero ? INT64_MAX : 0;
        if (i < least->count && least->list[i].by_ns < by_ns)
            by_ns = least->list[i].by_ns;
        if (k < most->count && most->list[k].by_ns < by_ns)
            by_ns = most->list[k].by_ns;
        zero |= by_ns == 0;
        while (below < least->count && least->list[below].by_ns <= by_ns)
            below++;
        while (over < most->count && most->list[over].by_ns < by_ns)
            over++;
        take_better(&best, least->count - below + over, by_ns);
        while (i < least->count && least->list[i].by_ns <= by_ns)
            i++;
        while (k < most->count && most->list[k].by_ns <= by_ns)
            k++;
    }
    return best;
}

/* One shift may agree with all bounds; but if it is only needed for a few of them, these are wrong.
 * A clock that is a little behind shows in few starts, too: of many in a row, only in the first. */
static int64_t nearest(const struct rp_dag_bounds *least, const struct rp_dag_bounds *most,
                       int64_t low_ns, int64_t high_ns)
{
    /* Clocks of two GPUs that are far off are corrected by the same measure: a wake-up. */
    int64_t by_ns = low_ns > RP_DAG_CLOCKS_APART_NS && most->count ? high_ns
                    : low_ns > 0                                   ? low_ns
                    : high_ns < 0                                  ? high_ns
                                                                   : 0;
    const struct rp_dag_bounds *b = by_ns > 0 ? least : most;
    size_t against = 0;

    for (size_t i = 0; i < b->count; i++)
        against += by_ns > 0 ? b->list[i].by_ns > 0 : b->list[i].by_ns < 0;
    return b->count >= FEW && against * FEW <= b->count && (by_ns < 0 || by_ns >= NO_CLOCK_NS)
               ? 0
               : by_ns;
}

struct rp_dag_clock_shift rp_dag_clock_shift_find(struct rp_dag_bounds *least,
                                                  struct rp_dag_bounds *most)
{
    int64_t low_ns = extreme(least, false), high_ns = extreme(most, true);
    struct rp_dag_clock_shift shift = {0};
    struct vote vote;

    if (low_ns <= high_ns) {
        shift.by_ns = nearest(least, most, low_ns, high_ns);
        return shift;
    }
    if (find_drift(least, most, &shift))
        return shift;
    qsort(least->list, least->count, sizeof *least->list, by_amount);
    qsort(most->list, most->count, sizeof *most->list, by_amount);
    vote = fewest_against(least, most);
    shift = (struct rp_dag_clock_shift){
        .by_ns = vote.by_ns,
        .contradicted = vote.against > 1 && vote.against * FEW > least->count + most->count};
    if (shift.contradicted)
        shift.by_ns = 0;
    return shift;
}

static bool same_ops(const struct rp_dag_process *a, const struct rp_dag_process *b)
{
    if (a->op_count != b->op_count)
        return false;
    for (size_t i = 0; i < a->op_count; i++) {
        const struct rp_dag_op *x = &a->ops[i], *y = &b->ops[i];
        if (x->start_ns != y->start_ns || x->end_ns != y->end_ns ||
            rp_dag_row_id(a, i) != rp_dag_row_id(b, i) || x->symbol != y->symbol ||
            x->is_copy != y->is_copy)
            return false;
    }
    return true;
}

static bool same_calls(const struct rp_dag_process *a, const struct rp_dag_process *b)
{
    if (a->call_count != b->call_count)
        return false;
    for (size_t i = 0; i < a->call_count; i++) {
        const struct rp_dag_call_row *x = &a->call_rows[i], *y = &b->call_rows[i];
        if (x->start_ns != y->start_ns || x->end_ns != y->end_ns ||
            a->calls[i].name != b->calls[i].name || a->calls[i].thread != b->calls[i].thread)
            return false;
    }
    return true;
}

/*
 * Databases have a name of the process that no other has. JSON and CSV do not, and a file can be
 * copied, but two processes never do everything in the same nanoseconds.
 */
static bool are_same(const struct rp_dag_trace *trace, const struct rp_dag_process_fact *facts,
                     size_t i, size_t k)
{
    const struct rp_dag_process *a = &trace->processes[i], *b = &trace->processes[k];

    if (a->guid && b->guid && *a->guid && strcmp(a->guid, b->guid) == 0)
        return true;
    return a->machine == b->machine && facts[i].pid == facts[k].pid &&
           a->op_count + a->call_count > 0 && same_ops(a, b) && same_calls(a, b);
}

int rp_dag_refuse_duplicate_processes(const struct rp_dag_trace *trace,
                                      const struct rp_dag_process_fact *facts, struct rp_err *err)
{
    for (size_t i = 0; i < trace->process_count; i++)
        for (size_t k = 0; k < i; k++) {
            const char *guid = trace->processes[i].guid, *other = trace->processes[k].guid;
            if (!are_same(trace, facts, i, k))
                continue;
            if (guid && other && strcmp(guid, other) != 0)
                return rp_fail(err, RP_BAD_INPUT,
                               "process %s is given twice: %s has the same pid, calls and "
                               "operations",
                               other, guid);
            return rp_fail(err, RP_BAD_INPUT, "process %s is given twice", guid ? guid : "");
        }
    return 0;
}
