/**
 * @file work_progress.h
 * @brief Tells how far a long computation is, for callers that show that.
 */
#ifndef RP_BASE_WORK_PROGRESS_H
#define RP_BASE_WORK_PROGRESS_H

enum rp_work_step {
#define RP_WORK_STEP(name, words, weight) RP_WORK_##name,
#include "base/work_steps.def"
#undef RP_WORK_STEP
    RP_WORK_STEP_COUNT
};

struct rp_work {
    /** The thread that works calls this often.
     * @param share of the step that is done, 0 to 1 */
    void (*at)(void *ctx, enum rp_work_step step, double share);
    void *ctx;
};

/** @param work NULL, or all 0: nobody wants to know */
static inline void rp_work_at(const struct rp_work *work, enum rp_work_step step, double share)
{
    if (work && work->at)
        work->at(work->ctx, step, share);
}

#endif
