#include "clocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "build.h"

/* So many collectives, spread evenly, give the drift: every pair of them is looked at. */
enum { MOST_FOR_DRIFT = 400 };

/* Quartz clocks are off by less than 100 ppm; what differs by ten times that is no clock. */
#define MOST_DRIFT 1e-3

/* A drift below this over the whole trace is not worth correcting. */
enum { LEAST_DRIFT_NS = 1000 };

/* One collective on one machine: its last rank began, its first rank ended. No rank ends before
 * all have begun. */
struct meeting {
    int64_t start_ns, end_ns;
};

/* All collectives, machine by machine. */
struct meetings {
    struct meeting *list; /* list[machine * count + k] */
    size_t count;
};

/* --- which collectives belong together -------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;

    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Collectives of one name in a process, by start. */
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

/* How often every process calls the collective, 0 when they do not agree: then the k-th ones do
 * not belong together. */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (uint32_t s = 0; s < trace->symbol_count; s++)
        if (rp_dag_is_collective(trace->symbols[s]))
            ret->count += counts[s] = common_count(trace, s);
    ret->list = malloc((machines * ret->count + 1) * sizeof *ret->list);
    rank = malloc((ret->count + 1) * sizeof *rank);
    if (!ret->list || !rank)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

/* --- offset and drift ---------------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_number);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* When a collective ended on the machine, by which much later than on the first. */
struct ends {
    double at_ns, apart_ns;
};

/* Theil-Sen: the median slope of all pairs. */
static double slope(const struct ends *ends, size_t count, double *scratch)
{
    size_t n = 0, step = (count + MOST_FOR_DRIFT - 1) / MOST_FOR_DRIFT;

    for (size_t i = 0; i < count; i += step)
        for (size_t k = i + step; k < count; k += step)
            if (ends[k].at_ns != ends[i].at_ns)
                scratch[n++] =
                    (ends[k].apart_ns - ends[i].apart_ns) / (ends[k].at_ns - ends[i].at_ns);
    return n ? median(scratch, n) : 0;
}

/* Offset with a given drift, and how far off it is in the middle. */
static double middle(const struct ends *ends, size_t count, double drift, double *scratch,
                     double *ret_spread)
{
    double offset;

    for (size_t i = 0; i < count; i++)
        scratch[i] = ends[i].apart_ns - drift * ends[i].at_ns;
    offset = median(scratch, count);
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(ends[i].apart_ns - drift * ends[i].at_ns - offset);
    *ret_spread = median(scratch, count);
    return offset;
}

/* The drift is believed when it amounts to something and explains most of the scatter. */
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

/* No rank ends before all have begun: how much the offset may still be moved, up and down. */
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
    if (least_ns > 0 || most_ns < 0) { /* the middle of the ends is not among what is possible */
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    origin_ns = origin_of(first, count);
    apart_ns = there[0].end_ns - first[0].end_ns; /* may be more than a double holds exactly */
    for (size_t k = 0; k < count; k++)
        ends[k] = (struct ends){(double)(first[k].end_ns - origin_ns),
                                (double)(there[k].end_ns - first[k].end_ns - apart_ns)};
    estimate(ends, count, scratch, m);
    m->offset_ns += apart_ns;
    return check_bounds(first, there, count, origin_ns, machines, m, err);
}

/* --- moving -------------------------------------------------------------------------------------
 */

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

/* --- times that are none -----------------------------------------------------------------------
 */

enum { LONGEST_DAYS = 366 };

/* A clock that was moved may show what was before its zero. */
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

/* With the times of a process that any of these is of, those of machines are not put together. */
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

/* --- the whole ---------------------------------------------------------------------------------
 */

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
