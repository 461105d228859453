/**
 * @file varied.h
 * @brief Does another kernel give what the captured one gives, from inputs that are not the
 * captured ones? One that has the captured answer in itself does not.
 */
#ifndef RP_REPLAY_VARIED_H
#define RP_REPLAY_VARIED_H

#include "replay/candidate.h"
#include "replay/inputs.h"

/** A page that the captured kernel has changed. */
struct rp_varied_page {
    size_t region;
    uint64_t page;
    uint8_t contents[RP_PAGE_BYTES];
};

struct rp_varied {
    struct rp_replay_trial *trial;
    const char *inputs; /**< see inputs.h */
    struct rp_inputs_rule rule;
    struct rp_varied_page *pages; /**< in rising order */
    size_t count, capacity;
    uint64_t changed_numbers; /**< of the inputs */
    uint64_t telling_bytes;   /**< of results: other ones than in the capture */
    const char *reason;       /**< why it cannot be tried; NULL: it can */
    bool broke;               /**< the captured kernel does not end with such inputs */
};

/** Runs the captured kernel twice. Zero-initialise with .trial (prepared) and .inputs set. */
int rp_varied_prepare(struct rp_varied *v, struct rp_err *err);

/** Runs r->kernel once, and judges. Only if there is no reason against it. */
int rp_varied_check(struct rp_varied *v, struct rp_replay_outcome *ret, struct rp_err *err);

#endif
