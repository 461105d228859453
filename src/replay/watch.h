/**
 * @file watch.h
 * @brief What another kernel can write beside the captured memory: the margins of its pages,
 * and the packets that start it.
 *
 * Both have the same contents before each run, so that nothing can be kept there for the next one;
 * margins are looked at after each. What the captured kernel itself changes is
 * not held against another.
 */
#ifndef RP_REPLAY_WATCH_H
#define RP_REPLAY_WATCH_H

#include <stdint.h>

struct rp_replay;
struct rp_err;

struct rp_watch;

/** Bytes that a kernel has changed. */
struct rp_beyond {
    uint64_t bytes;
    uint64_t first_address;
    uint8_t got, expected;
};

/** Begins to watch; kernels have been loaded. Kept in @p r for as long as the process lives. */
int rp_watch_begin(struct rp_replay *r, struct rp_err *err);

/** Before a run. Does nothing if nothing is watched. */
int rp_watch_prepare(struct rp_replay *r, struct rp_err *err);

/** After a run of r->kernel. */
int rp_watch_look(struct rp_replay *r, struct rp_err *err);

/** What kernels other than the captured one have changed since the last call. */
struct rp_beyond rp_watch_take(struct rp_replay *r);

#endif
