/**
 * @file tally.h
 * @brief How often each instruction of a dispatch has been executed.
 *
 * Executions are noted as runs of instructions that follow one another: a run adds 1 where it
 * begins and takes 1 away behind its end, so that a run costs the same however long it is, and
 * counters cost nothing each. In the end the differences are summed up to executions. Each thread
 * notes its own; sums do not depend on who did what.
 */
#ifndef RP_DEVICE_EXEC_TALLY_H
#define RP_DEVICE_EXEC_TALLY_H

#include "code.h"

struct rp_hand;

/** A run may end behind the page, with an instruction that reaches beyond it. */
enum { RP_TALLY_SLOTS = RP_CODE_PAGE_INSNS + RP_CODE_REACH / 4 + 1 };

/** Of one page of code. */
struct rp_tally {
    struct rp_tally *next;
    struct rp_code_page *page;     /**< a reference */
    int64_t runs[RP_TALLY_SLOTS];  /**< differences of executions */
    int64_t lanes[RP_TALLY_SLOTS]; /**< of active lanes, less RP_LANES, over all executions */
};

/** The hand's tally of a page, made when there is none; NULL when the host is out of memory. */
struct rp_tally *rp_tally_of(struct rp_hand *h, struct rp_code_page *page);

/** An execution of the instruction at @p slot, which is @p dwords long; @p times may be -1. */
static inline void rp_tally_insn(struct rp_tally *t, size_t slot, unsigned dwords, int64_t times)
{
    t->runs[slot] += times;
    t->runs[slot + dwords] -= times;
}

static inline void rp_tally_lanes(struct rp_tally *t, size_t slot, unsigned dwords, unsigned active)
{
    t->lanes[slot] += (int64_t)active - RP_LANES;
    t->lanes[slot + dwords] -= (int64_t)active - RP_LANES;
}

/** Adds what the hand has executed to the counters, indexed by enum rp_device_counter. */
void rp_tally_count(const struct rp_hand *h, uint64_t *values);

void rp_tally_release(struct rp_hand *h);

#endif
