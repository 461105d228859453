/** @file shift.h @brief How two clocks differ, from what was certainly before and after what. */
#ifndef RP_ANALYSIS_DAG_SHIFT_H
#define RP_ANALYSIS_DAG_SHIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Conversions between the clocks of GPU and host are off by some microseconds; more is another
 *  clock, or one that nobody converted. */
enum { RP_DAG_CLOCKS_APART_NS = 50000 };

/** At a time of the clock, at least (or at most) so much is to be added to it. */
struct rp_dag_bound {
    int64_t at_ns, by_ns;
};

struct rp_dag_bounds {
    struct rp_dag_bound *list;
    size_t count;
};

/** What is added to a time t of the clock: by_ns + (t - at_ns) * drift. */
struct rp_dag_shift {
    int64_t at_ns, by_ns;
    double drift;
    bool contradicted; /**< neither one shift nor a drift agrees with most of the bounds: all 0 */
};

/** The shift nearest to none that agrees with all bounds (of clocks that are far apart: the most);
 * if none does, a drift that does; else the shift that few of them contradict. Sorts both lists. */
struct rp_dag_shift rp_dag_shift_find(struct rp_dag_bounds *least, struct rp_dag_bounds *most);

static inline int64_t rp_dag_shifted(const struct rp_dag_shift *s, int64_t ns)
{
    return ns + s->by_ns + (s->drift ? (int64_t)((double)(ns - s->at_ns) * s->drift) : 0);
}

#endif
