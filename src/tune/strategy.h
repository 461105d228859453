/**
 * @file strategy.h
 * @brief Chooses which configuration is run next.
 *
 * A strategy is asked for a configuration, and told what came of it. Several may be out at a time.
 * It is deterministic: the same seed, the same order of asks and tells and the same times give the
 * same configurations, whatever the machine (base/stats.h, experiment/judge.h). It keeps no
 * promise about how many are run but never to say one twice; the limit is the caller's.
 */
#ifndef RP_TUNE_STRATEGY_H
#define RP_TUNE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/stats.h"
#include "base/vec.h"
#include "tune/surrogate.h"

struct rp_space;

struct rp_strategy_options {
    uint64_t seed;
    size_t most_evaluations; /**< how many will be asked for at most: what to plan with */
    unsigned workers;        /**< how many are out at the same time at most */
    size_t seeds;            /**< how many are spread over the space first; 0: as it sees fit */
};

/** ask answers these instead of a configuration. */
enum { RP_ASK_NONE_LEFT = -1, RP_ASK_WAIT = -2 };

struct rp_strategy {
    const char *name, *summary;
    /** @param space  has to live until close */
    void *(*open)(const struct rp_space *space, const struct rp_strategy_options *options);
    /**
     * @return a configuration not asked for before; RP_ASK_NONE_LEFT; RP_ASK_WAIT: nothing until a
     * running one has a result
     */
    int64_t (*ask)(void *state);
    /** It is also called for a configuration that was not asked for, while none is running: it
     * never will be asked for. */
    void (*tell)(void *state, size_t config, enum rp_reported told, double ms);
    /** Tells that one ran well, by the logarithm of what is minimised. Of several objectives that
     * is not the same during all of the search: then retell comes, where log_of has it of each
     * configuration that was told so. Both are NULL where the strategy does not look at times. */
    void (*tell_log)(void *state, size_t config, double log_cost);
    void (*retell)(void *state, double (*log_of)(const void *context, size_t config),
                   const void *context);
    /** Says how the last answer was found: "seed" (without any result) or "predict". */
    const char *(*phase)(const void *state);
    void (*close)(void *state);
};

/** Returns NULL when there are fewer. The first one is used when none is named. */
const struct rp_strategy *rp_strategy_number(size_t number);

/** Returns NULL when no strategy has that name. */
static inline const struct rp_strategy *rp_strategy_find(const char *name)
{
    const struct rp_strategy *strategy;

    for (size_t i = 0; (strategy = rp_strategy_number(i)) != NULL; i++)
        if (strcmp(strategy->name, name) == 0)
            return strategy;
    return NULL;
}

/* Neighbours are configurations of a space that differ from one in a single parameter. */

/** Initialise it with zeros, and release it with rp_vec_free. */
struct rp_neighbours {
    RP_VEC(uint32_t);
};

/**
 * Finds neighbours in the order of parameters and values. Where the other value decides whether a
 * conditional parameter has one, the configurations that follow from it count as well.
 */
void rp_neighbours_of(const struct rp_space *space, size_t config, struct rp_neighbours *ret);

/** Draws any free configuration, each with the same probability or nearly so.
 * @return -1: none is */
int64_t rp_fill_in_random(const struct rp_space *space, const uint8_t *taken,
                          struct rp_random *random);

#endif
