/**
 * @file nesting.h
 * @brief Which call made another, where a trace does not say: a call of a thread during which
 *        another one runs has made it.
 */
#ifndef RP_STORE_NESTING_H
#define RP_STORE_NESTING_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;

struct rp_call {
    int64_t thread, start_ns, end_ns, correlation;
    int64_t parent; /**< correlation id of the call that made it; 0 = none */
    int64_t name;   /**< string */
    int64_t event;  /**< its row, if it has one already */
};

struct rp_calls {
    struct rp_call *at;
    size_t count, room;
};

/** @return 0 or RP_ENVIRONMENT */
int rp_calls_add(struct rp_calls *calls, const struct rp_call *call, struct rp_err *err);
/** Finds the parents, and leaves the calls sorted by correlation id. @return 0 or RP_ENVIRONMENT */
int rp_calls_nest(struct rp_calls *calls, struct rp_err *err);
void rp_calls_free(struct rp_calls *calls);

#endif
