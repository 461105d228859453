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
    return r && !r->closed;
}

/**
 * Notes what a memory instruction that @p w is about to execute accesses.
 * @return false when the host is out of memory: nothing is noted
 */
bool rp_rec_observe_access(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in);

/**
 * Notes the instruction @p in at @p pc before @p w executes it. Steps hold the distance from the
 * kernel's entry until rp_record_resolve has been called.
 */
void rp_rec_observe(struct rp_rec_wave *r, struct rp_wave *w, const struct rp_insn *in,
                    uint64_t pc);

#endif
