/**
 * @file observe.h
 * @brief Writes down what a wave is about to execute.
 */
#ifndef RP_DEVICE_TIMING_OBSERVE_H
#define RP_DEVICE_TIMING_OBSERVE_H

#include "record.h"

struct rp_insn;
struct rp_wave;

/** Whether the wave's record has room for more, or the rest of what it does is not kept. */
static inline bool rp_rec_open(const struct rp_rec_wave *r)
{
    return r && !(r->closed && r->full);
}

/**
 * Notes the instruction @p in at @p pc before @p w executes it. Steps hold the distance from the
 * kernel's entry until rp_record_resolve has been called.
 */
void rp_rec_observe(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in,
                    uint64_t pc);

/**
 * Notes the instructions in a row of a page of code at @p base_va, from slot @p first up to @p end,
 * but not what they access.
 */
void rp_rec_observe_run(struct rp_rec_wave *r, const struct rp_insn *page, uint32_t first,
                        uint32_t end, int64_t distance);

/** What the latest of these, @p in, accesses, before it is executed. */
void rp_rec_observe_access(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in);

#endif
