/**
 * @file hierarchy.h
 * @brief The caches and memory behind the modelled compute units: when an access is served.
 *
 * Every part that has a rate is a server: a request occupies it from when it is free. Requests are
 * made in the order in which they leave the compute units, and what they need on their way is
 * reserved at once, ahead of time; so one that comes to a server before another that was made
 * earlier takes the time before that. Latency is what the levels above and below add on the way.
 */
#ifndef RP_DEVICE_TIMING_HIERARCHY_H
#define RP_DEVICE_TIMING_HIERARCHY_H

#include <errno.h>

#include "arch/arch.h"
#include "engine.h"
#include "extrapolate.h"
#include "tags.h"

/** The part of the machine that is replayed. */
struct rp_machine {
    const struct rp_arch *arch;
    uint32_t dies; /**< replayed, of all_dies */
    uint32_t all_dies;
    uint32_t cus_per_die;
    uint32_t memory_channels;  /**< the replayed dies' share */
    struct rp_sharing sharing; /**< with the dies that are not replayed */
};

/** Something that has a rate; times in 1/64 clocks, but for the last. */
struct rp_server {
    uint64_t free;               /**< has nothing to do from then on */
    uint64_t gap_begin, gap_end; /**< nor in between, last before that */
    uint64_t pending_until;      /**< of the L2: requests are under way till then; clocks */
};

struct rp_hierarchy {
    struct rp_machine m;
    struct rp_level_stats *stats; /**< RP_LEVELS of them */
    struct rp_tags *l1;           /**< per CU, numbered over all dies; without tags until opened */
    struct rp_tags *scalar;       /**< per group of CUs */
    struct rp_tags *l2;           /**< per die */
    struct rp_server *l2_channel; /**< per channel of each die */
    struct rp_server *mall_channel, *hbm_channel;
    uint32_t read_64ths[RP_LEVELS], write_64ths[RP_LEVELS]; /**< a line; 64 bytes written */
    /* What has come to the MALL: an open-addressing map; the oldest goes first when it is full. */
    struct rp_mall_line {
        uint64_t line; /**< number + 1; 0 = free */
        uint64_t ready, order;
    } * mall;
    uint64_t mall_size, mall_count, mall_order, mall_lines;
    uint64_t touched; /**< lines, by the one die that is replayed */
    bool no_memory;   /**< for the map: what comes after that means nothing */
};

/** 0 or -ENOMEM. */
int rp_hierarchy_init(struct rp_hierarchy *h, const struct rp_machine *m,
                      struct rp_level_stats stats[RP_LEVELS]);

/** Makes the caches of a compute unit, before it accesses memory. Again: nothing. 0 or -ENOMEM. */
int rp_hierarchy_open(struct rp_hierarchy *h, uint32_t cu);
void rp_hierarchy_release(struct rp_hierarchy *h);

/** A vector access: @p line of it at @p clock. Returns when its data is there, or it is done. */
uint64_t rp_hierarchy_vector(struct rp_hierarchy *h, uint32_t cu, const struct rp_rec_line *line,
                             uint8_t flags, uint64_t clock);

/** Whether a line is in the vector L1 of a CU, or on its way to it. */
static inline bool rp_hierarchy_in_l1(const struct rp_hierarchy *h, uint32_t cu, uint64_t line)
{
    return rp_tags_has(&h->l1[cu], line);
}

/** A scalar one, likewise. */
uint64_t rp_hierarchy_scalar(struct rp_hierarchy *h, uint32_t cu, const struct rp_rec_line *line,
                             uint8_t flags, uint64_t clock);

/** Of what has been asked for so far. 0, or -ENOMEM: the answers mean nothing. */
static inline int rp_hierarchy_status(const struct rp_hierarchy *h)
{
    return h->no_memory ? -ENOMEM : 0;
}

/** The end of a replay: when the memory has written all. Busy clocks are clocks after that. */
uint64_t rp_hierarchy_drained(struct rp_hierarchy *h);

#endif
