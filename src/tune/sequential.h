/**
 * @file sequential.h
 * @brief For strategies that want one result before they say what is next: asks and tells, and the
 *        memory of what was told, so that a configuration met again is not run again.
 */
#ifndef RP_TUNE_SEQUENTIAL_H
#define RP_TUNE_SEQUENTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/random.h"
#include "tune/strategy.h"

struct rp_sequential;

/** The algorithm itself. Costs are milliseconds, HUGE_VAL for what failed. */
struct rp_algorithm {
    size_t state_bytes; /**< zeroed */
    /** @return false: out of memory. NULL: nothing to do */
    bool (*begin)(struct rp_sequential *sequential);
    /** The next one, asked for before or not; below 0: the algorithm has come to its end. */
    int64_t (*next)(struct rp_sequential *sequential);
    /** What it costs; called once after each next. NULL: not wanted */
    void (*learn)(struct rp_sequential *sequential, size_t config, double cost);
    void (*end)(struct rp_sequential *sequential); /**< NULL: nothing to release */
};

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
    bool failed;   /**< out of memory */
};

int rp_sequential_open(const struct rp_space *space, const struct rp_strategy_options *options,
                       const struct rp_algorithm *algorithm, void **ret_state, struct rp_err *err);
int64_t rp_sequential_ask(void *state);
void rp_sequential_tell(void *state, size_t config, enum rp_told told, double ms);
const char *rp_sequential_phase(const void *state);
void rp_sequential_close(void *state);

/** Any configuration of the space, asked for before or not. */
uint32_t rp_sequential_any(struct rp_sequential *sequential);

/** Defines rp_strategy_<id> around an algorithm of the file. */
#define RP_SEQUENTIAL_STRATEGY(id, text_name, text, its_algorithm)                                 \
    static int open_##id(const struct rp_space *space, const struct rp_strategy_options *options,  \
                         void **ret_state, struct rp_err *err)                                     \
    {                                                                                              \
        return rp_sequential_open(space, options, &(its_algorithm), ret_state, err);               \
    }                                                                                              \
    const struct rp_strategy rp_strategy_##id = {                                                  \
        .name = text_name,                                                                         \
        .summary = text,                                                                           \
        .open = open_##id,                                                                         \
        .ask = rp_sequential_ask,                                                                  \
        .tell = rp_sequential_tell,                                                                \
        .phase = rp_sequential_phase,                                                              \
        .close = rp_sequential_close,                                                              \
    }

#endif
