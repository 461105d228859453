/**
 * @file counter_plan.h
 * @brief Which hardware counters are collected in which run of the program.
 *
 * A run (pass) never asks for more than the blocks of the GPU can count at once. Counters of one
 * group belong to one formula and stay in one pass where they fit.
 */
#ifndef RP_RUN_COUNTER_PLAN_H
#define RP_RUN_COUNTER_PLAN_H

#include <stddef.h>

struct rp_err;

struct rp_counter_request {
    const char *name; /**< as rocprofv3 knows it: "TCC_HIT_sum", "FETCH_SIZE" */
    unsigned group;
};

struct rp_counter_pass {
    char **names; /**< NULL-terminated */
    size_t count;
};

/** Owned; release with rp_counter_plan_free. */
struct rp_counter_plan {
    struct rp_counter_pass *passes;
    size_t count;
};

/**
 * @param gfx  "gfx942". Of a GPU that is not in the table every counter gets a pass of its own,
 *             and so does a derived counter whose inputs are not known.
 * @return 0; RP_USAGE for a name that cannot be one, or a counter that no pass can hold
 */
int rp_counter_plan_make(const char *gfx, const struct rp_counter_request *wishes, size_t count,
                         struct rp_counter_plan *ret, struct rp_err *err);

/** Makes two of a pass of two or more counters, when the tracer says that it is too much. */
void rp_counter_plan_split(struct rp_counter_plan *plan, size_t at);

void rp_counter_plan_free(struct rp_counter_plan *plan);

#endif
