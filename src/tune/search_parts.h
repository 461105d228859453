/* What the files of a search share. */
#ifndef RP_TUNE_SEARCH_PARTS_H
#define RP_TUNE_SEARCH_PARTS_H

#include "base/sha256.h"
#include "tune/search.h"
#include "tune/strategy.h"

struct rp_tune_task {
    uint64_t job;     /**< 0: free */
    bool drift;       /**< the best one once more, not a configuration to be judged */
    size_t at;        /**< confirm: the finalist */
    double warmup_ms; /**< one warm-up of it by the clock; 0: not known */
    struct rp_tuned tuned;
};

struct rp_search {
    const struct rp_search_options *o;
    const struct rp_runner *runner;
    struct rp_search_result *result;
    void *strategy;
    struct rp_tune_task *tasks; /**< one per worker */
    size_t out;                 /**< tasks that are not free */
    uint64_t jobs;              /**< submitted */
    size_t begun;               /**< configurations that were submitted */
    int64_t best;               /**< number in result->tuned, or -1 */
    double best_run_ms;         /**< one run of it by the clock; below 0: not known */
    double best_warmup_ms;      /**< one warm-up of it; 0: not known */
    size_t best_at;             /**< evaluations when it was found */
    size_t drift_at;            /**< evaluations when it was last run again */
    size_t ranked; /**< all that work, in result->finalists when it is chosen from them */
    struct rp_noise noise;
    char contest[RP_SHA256_TEXT]; /**< confirm: who runs in it; "" before */
    double now_ms, confirm_began_ms;
    bool stopped;
};

/** Adds the answer's samples to those of *to. @return 0; RP_ENVIRONMENT */
int rp_search_take_samples(double **to, size_t *count, const struct rp_run_answer *answer,
                           struct rp_err *err);

/** @return 0; RP_ENVIRONMENT */
int rp_search_submit(struct rp_search *s, struct rp_tune_task *task, unsigned warmups,
                     unsigned samples, struct rp_err *err);

/** The next answer, and whose it is. @return 0; RP_ENVIRONMENT; RP_INTERRUPTED */
int rp_search_next(struct rp_search *s, struct rp_run_answer *ret, struct rp_tune_task **ret_task,
                   struct rp_err *err);
struct rp_tune_task *rp_search_free_task(struct rp_search *s);

/** Whether running it again can tell anything. */
static inline bool rp_search_noisy(const struct rp_search *s)
{
    return !s->runner->exact && s->o->most_samples > 1;
}

/** The fastest ones as the search has seen them, fastest first. @return 0; RP_ENVIRONMENT */
int rp_search_choose(struct rp_search *s, struct rp_err *err);
/** Runs the best ones again, orders them, and names ties. @return as rp_search */
int rp_search_confirm(struct rp_search *s, struct rp_err *err);

#endif
