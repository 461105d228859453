/**
 * @file strategy.h
 * @brief Who says which configuration is run next.
 *
 * A strategy is asked for a configuration, and told what came of it. Several may be out at a time.
 * It is deterministic: the same seed, the same order of asks and tells and the same times give the
 * same configurations, whatever the machine (tune/surrogate.h, experiment/verdict.h). It keeps no
 * promise about how many are run but never to say one twice; the limit is the caller's.
 */
#ifndef RP_TUNE_STRATEGY_H
#define RP_TUNE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "tune/surrogate.h"

struct rp_sequential;
struct rp_space;

struct rp_strategy_options {
    uint64_t seed;
    size_t most_evaluations; /**< how many will be asked for at most: what to plan with */
    unsigned workers;        /**< how many are out at the same time at most */
};

/** What ask answers instead of a configuration. */
enum { RP_ASK_NONE_LEFT = -1, RP_ASK_WAIT = -2 };

struct rp_strategy {
    const char *name, *summary;
    /** @param space  has to live until close */
    void *(*open)(const struct rp_space *space, const struct rp_strategy_options *options);
    /**
     * @return a configuration not asked for before; RP_ASK_NONE_LEFT; RP_ASK_WAIT: nothing until
     *         one that is out has been told
     */
    int64_t (*ask)(void *state);
    /** Also of a configuration that was not asked for, while none is out: it never will be. */
    void (*tell)(void *state, size_t config, enum rp_reported told, double ms);
    /** Of the last ask: "seed" (from nothing that was told) or "predict". */
    const char *(*phase)(const void *state);
    void (*close)(void *state);
};

/** NULL: none of that name. */
const struct rp_strategy *rp_strategy_find(const char *name);
/** NULL: there are not that many. The first one is the one that is taken without being named. */
const struct rp_strategy *rp_strategy_number(size_t number);

/* For strategies that want one result before they say what is next: asks and tells, and the
 *        memory of what was told, so that a configuration met again is not run again.
 */

struct rp_sequential {
    const struct rp_space *space;
    const struct rp_algorithm *algorithm;
    struct rp_strategy_options options;
    struct rp_random random;
    void *state;
    uint8_t *taken; /**< per configuration: was asked for */
    double *costs;  /**< per configuration: below 0 until it was told */
    size_t taken_count;
    int64_t out;
    bool predicts; /**< what the algorithm says it does */
};

/** The algorithm itself. Costs are milliseconds, HUGE_VAL for what failed. */
struct rp_algorithm {
    size_t state_bytes;                              /**< zeroed */
    void (*begin)(struct rp_sequential *sequential); /**< NULL: nothing to do */
    /** The next one, asked for before or not; below 0: the algorithm has come to its end. */
    int64_t (*next)(struct rp_sequential *sequential);
    /** What it costs; called once after each next. NULL: not wanted */
    void (*learn)(struct rp_sequential *sequential, size_t config, double cost);
    void (*end)(struct rp_sequential *sequential); /**< NULL: nothing to release */
};

void *rp_sequential_open(const struct rp_space *space, const struct rp_strategy_options *options,
                         const struct rp_algorithm *algorithm);
int64_t rp_sequential_ask(void *state);
void rp_sequential_tell(void *state, size_t config, enum rp_reported told, double ms);
const char *rp_sequential_phase(const void *state);
void rp_sequential_close(void *state);

/** Any configuration of the space, asked for before or not. */
uint32_t rp_sequential_any(struct rp_sequential *sequential);

/** Defines <id>_strategy around an algorithm of the file. */
#define RP_SEQUENTIAL_STRATEGY(id, text_name, text, its_algorithm)                                 \
    static void *open_##id(const struct rp_space *space,                                           \
                           const struct rp_strategy_options *options)                              \
    {                                                                                              \
        return rp_sequential_open(space, options, &(its_algorithm));                               \
    }                                                                                              \
    static const struct rp_strategy id##_strategy = {                                              \
        .name = text_name,                                                                         \
        .summary = text,                                                                           \
        .open = open_##id,                                                                         \
        .ask = rp_sequential_ask,                                                                  \
        .tell = rp_sequential_tell,                                                                \
        .phase = rp_sequential_phase,                                                              \
        .close = rp_sequential_close,                                                              \
    }

/* Configurations of a space that differ from one in a single parameter. */

/** Zero-initialise; release with rp_vec_free. */
struct rp_neighbours {
    RP_VEC(uint32_t);
};

/**
 * Finds them, in the order of parameters and values. Where the other value decides whether a
 * conditional parameter has one, the configurations in which that one follows count as well.
 */
void rp_neighbours_of(const struct rp_space *space, size_t config, struct rp_neighbours *ret);

/** Any free configuration, each as likely as the other or nearly so. @return -1: none is */
int64_t rp_fill_in_random(const struct rp_space *space, const uint8_t *taken,
                          struct rp_random *random);

#endif
