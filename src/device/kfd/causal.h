/**
 * @file causal.h
 * @brief When, in modelled time, the host submitted a packet.
 *
 * The host is infinitely fast: what it submits, it submits at the end of the latest piece of work
 * that it had waited for or seen complete by then, in modelled time. What has happened to end by
 * the host's clock, and so depends on how busy the machine is, does not count.
 *
 * Nobody sees the doorbells, so the submission is told from the queues' write indices: before the
 * host learns of an end, a stamp is put behind everything that stands in the queues by then.
 *
 * While a call is open whose packets may get a later time when it closes, packets that came since
 * it was opened are held.
 *
 * Not active (a program whose HSA functions are not seen, see seen.h): a packet is submitted when
 * the device sees it, at the latest end so far.
 */
#ifndef RP_DEVICE_KFD_CAUSAL_H
#define RP_DEVICE_KFD_CAUSAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Packets below the index, and not below that of the stamp before, were submitted at .ticks. */
struct rp_causal_stamp {
    uint64_t index, ticks;
};

/** One queue, of packets or bytes. */
struct rp_causal_line {
    const uint64_t *written; /**< the queue's write index */
    uint64_t stamped;        /**< below this everything has a stamp */
    struct rp_causal_stamp *stamps;
    size_t first, count, capacity; /**< [first, count) are in use */
    struct rp_causal_line *next;
};

struct rp_causal {
    pthread_mutex_t lock;
    bool active;
    uint64_t known; /**< the latest end that the host knows of */
    uint32_t open;  /**< calls */
    uint64_t floor; /**< of those that have closed while others are open */
    int64_t opened_ns;
    uint32_t hold_nothing; /**< how many times that was asked for */
    struct rp_causal_line *lines;
};

/** @param now_ticks  where modelled time begins */
void rp_causal_init(struct rp_causal *causal, uint64_t now_ticks);

/** From now on; for good. */
void rp_causal_activate(struct rp_causal *causal);
bool rp_causal_active(const struct rp_causal *causal);

/** Before the queue's first packet. */
void rp_causal_add(struct rp_causal *causal, struct rp_causal_line *line, const uint64_t *written,
                   uint64_t read);
/** Also for a line that was never added. */
void rp_causal_remove(struct rp_causal *causal, struct rp_causal_line *line);

/** The host knows of an end. Returns whether that is news. */
bool rp_causal_learn(struct rp_causal *causal, uint64_t ticks);

uint64_t rp_causal_known(const struct rp_causal *causal);

/** Around a call of the host that may submit packets: they are held until it is over, */
void rp_causal_open(struct rp_causal *causal);
/** and then were submitted at @p floor_ticks at the earliest. */
void rp_causal_close(struct rp_causal *causal, uint64_t floor_ticks);

/** Calls that are open wait for who now submits: between the two calls nothing is held. */
void rp_causal_hold_nothing(struct rp_causal *causal, bool begins);

/**
 * When the packet at @p index, the oldest of its queue, was submitted.
 * @return false while it is held
 */
bool rp_causal_submitted(struct rp_causal *causal, struct rp_causal_line *line, uint64_t index,
                         uint64_t *ret_ticks);

#endif
