/**
 * @file snapshot_feed.h
 * @brief The receiving end of snapshot.h: messages of one process into a capture folder.
 *
 * The process may be killed, or be of another version: whatever comes is checked, and ends in a
 * whole capture or in none.
 */
#ifndef RP_CAPTURE_SNAPSHOT_FEED_H
#define RP_CAPTURE_SNAPSHOT_FEED_H

#include <stdbool.h>
#include <stddef.h>

#include "capture/capture_write.h"
#include "capture/snapshot.h"

struct rp_err;
struct rp_snapshot_feed;

struct rp_snapshot_wishes {
    const char *folder; /**< of the capture, made when a dispatch comes */
    bool several;       /**< it gets a folder for each one: RP_CAPTURE_SEVERAL_FOLDER */
    struct rp_capture_origin origin;
    /** Name of a symbol for people; owned by the caller. NULL: out of memory. */
    char *(*name)(const char *symbol, void *data);
    /** Whether dispatches of a kernel are wanted. */
    bool (*wants)(const char *symbol, const char *name, void *data);
    /** The dispatch with this number among those that match takes long. NULL: nobody wants to know
     */
    void (*waits)(uint64_t match, const struct rp_snapshot_waits *waits);
    void *data;
};

/** @param wishes  must outlive the feed */
int rp_snapshot_feed_open(const struct rp_snapshot_wishes *wishes, struct rp_snapshot_feed **ret,
                          struct rp_err *err);

/** The bytes that a message of this header may have; less than it says: refuse it. */
size_t rp_snapshot_most_bytes(uint32_t kind);

/**
 * Takes a message with its bytes, which are aligned to 8.
 * @param ret_reply  for KERNEL: the answer
 * @return 0; RP_BAD_INPUT (not understood), RP_ENVIRONMENT (cannot be written): then it is over
 */
int rp_snapshot_feed_take(struct rp_snapshot_feed *feed, const struct rp_snapshot_message *message,
                          const void *bytes, uint32_t *ret_reply, struct rp_err *err);

/** A capture has begun and is not whole. */
bool rp_snapshot_feed_open_capture(const struct rp_snapshot_feed *feed);
/** Whole captures so far. */
size_t rp_snapshot_feed_done(const struct rp_snapshot_feed *feed);
/** The number of the newest one among the dispatches that match. */
uint64_t rp_snapshot_feed_match(const struct rp_snapshot_feed *feed);
/** Why the tool declined first; NULL: it did not. */
const char *rp_snapshot_feed_declined(const struct rp_snapshot_feed *feed);
/** How often it did. */
size_t rp_snapshot_feed_declines(const struct rp_snapshot_feed *feed);
/** Dispatches that filters left out, one of each kind. */
const struct rp_snapshot_passed *rp_snapshot_feed_passed(const struct rp_snapshot_feed *feed,
                                                         size_t *ret_count);
/** Kernels seen, and those of them that are wanted. */
void rp_snapshot_feed_kernels(const struct rp_snapshot_feed *feed, size_t *ret_seen,
                              size_t *ret_wanted);

/** Accepts NULL. Removes a capture that is not whole. */
void rp_snapshot_feed_close(struct rp_snapshot_feed *feed);

#endif
