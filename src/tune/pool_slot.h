/**
 * @file pool_slot.h
 * @brief One worker of a pool: its process, what it is running, what is on its way to it.
 */
#ifndef RP_TUNE_POOL_SLOT_H
#define RP_TUNE_POOL_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "tune/launcher.h"
#include "tune/worker.h"

struct rp_evaluation;

/** A request on its way. Owned; release with rp_job_free. */
struct rp_job {
    uint64_t id;
    char *line;
    size_t bytes;
    unsigned deaths; /**< workers that have died with it */
    struct rp_job *next;
};

void rp_job_free(struct rp_job *job);

enum rp_slot_state {
    RP_SLOT_GONE = 0, /**< it is not started again */
    RP_SLOT_STARTING, /**< it has not said hello */
    RP_SLOT_IDLE,
    RP_SLOT_BUSY,
};

/** What came from a worker. */
enum rp_slot_event {
    RP_SLOT_NOTHING = 0,
    RP_SLOT_HELLO,  /**< slot->hello */
    RP_SLOT_ANSWER, /**< its job is done */
    RP_SLOT_DIED,   /**< slot->why */
};

struct rp_slot {
    enum rp_slot_state state;
    struct rp_launched child;
    struct rp_line_reader reader;
    struct rp_worker_hello hello;
    struct rp_job *job; /**< BUSY */
    size_t sent;        /**< bytes of job->line */
    unsigned deaths;    /**< since its last answer */
    char *why;          /**< how it ended, half a sentence; NULL */
};

/** The child of a slot that was just started. */
void rp_slot_begin(struct rp_slot *slot, const struct rp_launched *child);
void rp_slot_free(struct rp_slot *slot);

/** Hands the job to an idle worker. */
void rp_slot_give(struct rp_slot *slot, struct rp_job *job);

/** What poll() is to look at: POLLIN, and POLLOUT while the request is not sent. */
short rp_slot_events(const struct rp_slot *slot);

/**
 * After poll: sends, receives, and understands at most one line.
 * @param ret  with RP_SLOT_ANSWER: owned by the caller
 * @return an event; DIED also when it does not keep to the protocol: the child is still there
 */
enum rp_slot_event rp_slot_look(struct rp_slot *slot, short revents, struct rp_evaluation *ret);

/** Is there a line that has come already? poll() does not know. */
bool rp_slot_has_line(struct rp_slot *slot);

/** Ends its process, reaps it, and completes slot->why. The job stays. */
void rp_slot_bury(struct rp_slot *slot);

#endif
