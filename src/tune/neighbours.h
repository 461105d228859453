/**
 * @file neighbours.h
 * @brief Configurations of a space that differ from one in a single parameter.
 */
#ifndef RP_TUNE_NEIGHBOURS_H
#define RP_TUNE_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_space;

/** Zero-initialise; release with rp_neighbours_free. */
struct rp_neighbours {
    uint32_t *configs;
    size_t count, capacity;
    bool failed; /**< out of memory: some are missing */
};

/** Of parameters with many values only those this many places away in the file are neighbours. */
enum { RP_NEIGHBOUR_PLACES = 64 };

/**
 * Finds them, in the order of parameters and values. Where the other value decides whether a
 * conditional parameter has one, the configurations in which that one follows count as well.
 */
void rp_neighbours_of(const struct rp_space *space, size_t config, struct rp_neighbours *ret);
void rp_neighbours_free(struct rp_neighbours *neighbours);

#endif
