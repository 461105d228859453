#include "optimize/patience.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

static const int64_t SECOND = 1000000000;

/* A candidate that is kept is faster: what takes ten times as long hangs, or the machine does. The
 * minute is for machines that are busy with something else now, and were not before. Where times
 * are modelled nothing else may depend on that, either: only what hangs is to be ended. */
enum {
    TIMES_AS_LONG = 10,
    LEAST_S = 60,
    LEAST_MODELLED_S = 600,
    MOST_S = 4 * 3600,
    REPLAY_S = 3600
};

int64_t rp_patience_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * SECOND + ts.tv_nsec;
}

static bool by_original(const struct rp_patience *p, enum rp_runs what)
{
    return what == RP_RUNS_CANDIDATE && p->longest_ns > 0 &&
           p->longest_ns < MOST_S * SECOND / TIMES_AS_LONG;
}

static int least_s(const struct rp_patience *p)
{
    return p->modelled ? LEAST_MODELLED_S : LEAST_S;
}

static int64_t usual_limit(const struct rp_patience *p, enum rp_runs what)
{
    if (what == RP_RUNS_REPLAY)
        return p->timeout_ns > REPLAY_S * SECOND ? p->timeout_ns : REPLAY_S * SECOND;
    if (p->timeout_ns)
        return p->timeout_ns;
    if (!by_original(p, what))
        return MOST_S * SECOND;
    return p->longest_ns * TIMES_AS_LONG > least_s(p) * SECOND ? p->longest_ns * TIMES_AS_LONG
                                                               : least_s(p) * SECOND;
}

int64_t rp_patience_for(struct rp_patience *patience, enum rp_runs what)
{
    const int64_t limit_ns = usual_limit(patience, what);
    const int64_t left_ns = patience->end_ns ? patience->end_ns - rp_patience_now_ns() : limit_ns;

    patience->by_budget = left_ns < limit_ns;
    return left_ns >= limit_ns ? limit_ns : left_ns > 0 ? left_ns : 1;
}

int rp_patience_note(struct rp_patience *patience, enum rp_runs what, const struct rp_proc_end *end,
                     struct rp_err *err)
{
    if (end->timed_out && patience->by_budget) {
        patience->over = true;
        return rp_fail(err, RP_VERDICT, "the time of --budget was over before it had ended");
    }
    /* Each of its kernels has an end of its own: what takes so long all the same is the machine. */
    if (what == RP_RUNS_REPLAY && end->timed_out)
        return rp_fail(err, RP_ENVIRONMENT,
                       "a comparison did not end within %g s, which says nothing about the "
                       "candidate: this machine is too slow, or too busy; --resume with more of "
                       "--timeout goes on",
                       (double)usual_limit(patience, what) / (double)SECOND);
    if (what == RP_RUNS_ORIGINAL && !end->timed_out && end->wall_ns > patience->longest_ns)
        patience->longest_ns = end->wall_ns;
    return 0;
}

char *rp_patience_text(const struct rp_patience *patience, enum rp_runs what)
{
    if (patience->timeout_ns)
        return rp_format("within the %g s of --timeout",
                         (double)patience->timeout_ns / (double)SECOND);
    if (by_original(patience, what))
        return rp_format("within %d times the time of the program as it is, and %d s at least "
                         "(--timeout gives it another time)",
                         TIMES_AS_LONG, least_s(patience));
    return rp_format("within %d h (--timeout gives it another time)", MOST_S / 3600);
}
