/**
 * @file strategy.h
 * @brief Who says which configuration is run next.
 *
 * A strategy is asked for a configuration, and told what came of it. Several may be out at a time.
 * It is deterministic: the same seed, the same order of asks and tells and the same times give the
 * same configurations, whatever the machine (tune/random.h, tune/numeric.h). It keeps no promise
 * about how many are run but never to say one twice; the limit is the caller's.
 */
#ifndef RP_TUNE_STRATEGY_H
#define RP_TUNE_STRATEGY_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_space;

struct rp_strategy_options {
    uint64_t seed;
    size_t most_evaluations; /**< how many will be asked for at most: what to plan with */
    unsigned workers;        /**< how many are out at the same time at most */
};

enum rp_told {
    RP_TOLD_OK,
    RP_TOLD_FAILED,
    RP_TOLD_CENSORED, /**< it was stopped: it takes at least that long */
};

/** What ask answers instead of a configuration. Below: out of memory. */
enum { RP_ASK_NONE_LEFT = -1, RP_ASK_WAIT = -2, RP_ASK_NO_MEMORY = -3 };

struct rp_strategy {
    const char *name, *summary;
    /** @param space  has to live until close */
    int (*open)(const struct rp_space *space, const struct rp_strategy_options *options,
                void **ret_state, struct rp_err *err);
    /**
     * @return a configuration not asked for before; RP_ASK_NONE_LEFT; RP_ASK_WAIT: nothing until
     *         one that is out has been told
     */
    int64_t (*ask)(void *state);
    /** Also of a configuration that was not asked for, while none is out: it never will be. */
    void (*tell)(void *state, size_t config, enum rp_told told, double ms);
    /** Of the last ask: "seed" (from nothing that was told) or "predict". */
    const char *(*phase)(const void *state);
    void (*close)(void *state); /**< accepts NULL */
};

/** NULL: none of that name. */
const struct rp_strategy *rp_strategy_find(const char *name);
/** NULL: there are not that many. The first one is the one that is taken without being named. */
const struct rp_strategy *rp_strategy_number(size_t number);

#endif
