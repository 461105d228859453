/**
 * @file tags.h
 * @brief Tags of a set-associative cache whose lines arrive some time after they were asked for.
 */
#ifndef RP_DEVICE_TIMING_TAGS_H
#define RP_DEVICE_TIMING_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_tag {
    uint64_t line;  /**< number + 1; 0 = empty */
    uint64_t ready; /**< clock at which its data is there */
    uint32_t dirty; /**< what of it has been written, for the owner */
};

struct rp_tags {
    struct rp_tag *tag;
    /* For each set, keys of its tags, a cache line of the host for 16 ways, and when each was used
     * last: the least goes first. */
    uint32_t *set; /**< in memory */
    void *memory;
    uint32_t sets, ways; /**< sets: a power of two */
    uint32_t row;        /**< ways, rounded up to what is compared at once */
    uint32_t way_bits;
    uint32_t uses; /**< so many; below 2^(31 - way_bits), else all are numbered anew */
};

/** 0 or -ENOMEM. The number of sets is rounded down to a power of two. */
int rp_tags_init(struct rp_tags *t, uint64_t lines, uint32_t ways);
void rp_tags_release(struct rp_tags *t);

/** The line's tag, now the latest used, or NULL. */
struct rp_tag *rp_tags_find(struct rp_tags *t, uint64_t line);

/** Whether it is in; that does not count as a use. */
bool rp_tags_has(const struct rp_tags *t, uint64_t line);

/**
 * Puts a line that is not in, in the place of the least recently used of its set.
 * @param ret_old  what that was; line 0: nothing. NULL: of no interest
 */
struct rp_tag *rp_tags_replace(struct rp_tags *t, uint64_t line, uint64_t ready,
                               struct rp_tag *ret_old);

/** The line of the tag is not in any more. */
void rp_tags_drop(struct rp_tags *t, struct rp_tag *tag);

static inline struct rp_tag *rp_tags_insert(struct rp_tags *t, uint64_t line, uint64_t ready)
{
    return rp_tags_replace(t, line, ready, NULL);
}

/** Which of a die's scalar and instruction caches a CU uses: neighbours share one. */
static inline uint32_t rp_sqc_of(uint32_t cu, uint32_t cus_per_die, uint32_t sqcs_per_die)
{
    return cu / cus_per_die * sqcs_per_die + cu % cus_per_die * sqcs_per_die / cus_per_die;
}

#endif
