/**
 * @file space_file.h
 * @brief Reads search_space.json, as users write it (docs/format/search-space.md).
 */
#ifndef RP_TUNE_SPACE_FILE_H
#define RP_TUNE_SPACE_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tune/expression.h"
#include "tune/space.h"

struct rp_buf;
struct rp_err;

/* enumerate.c finds the configurations of parameters under conditions and constraints. */

/** Says when a parameter counts. */
struct rp_space_condition {
    struct rp_expression *when; /**< NULL: always */
    uint16_t own;       /**< with it, the parameter has one of its first own values; 0: of all */
    uint16_t otherwise; /**< value it has without; RP_NO_VALUE: none */
};

/** Initialise it with zeros, and release it with rp_rules_free. Parameters without a condition need
 * none. */
struct rp_rules {
    struct rp_space_condition conditions[RP_MAX_PARAMETERS];
    struct rp_expression **constraints;
    size_t constraint_count;
};

void rp_rules_free(struct rp_rules *rules);

/**
 * Adds a constraint.
 * @return 0; RP_BAD_INPUT: it cannot be parsed, or no parameter stands in it; RP_ENVIRONMENT
 */
int rp_rules_constrain(struct rp_rules *rules, const struct rp_space *space, const char *text,
                       struct rp_err *err);

/** It is called about ten times a second during a long enumeration. */
struct rp_enumerate_watch {
    /** @param tried partial combinations, of at most `most`
     * @param found configurations so far */
    void (*tried)(void *context, uint64_t tried, uint64_t most, size_t found);
    void *context;
};

/**
 * Adds to space, which has parameters only, each configuration in which all constraints hold. A
 * constraint is ignored where one of its parameters has no value. A constraint that cannot be
 * computed (division by zero) does not hold, and such a condition is not met.
 * @param notes lines about what could not be computed; may be NULL
 * @param watch may be NULL
 * @return 0; RP_BAD_INPUT: none, and which constraints are to blame; too many; conditions that
 * depend on each other; RP_ENVIRONMENT; RP_INTERRUPTED
 */
int rp_enumerate(const struct rp_rules *rules, struct rp_space *space, struct rp_buf *notes,
                 const struct rp_enumerate_watch *watch, struct rp_err *err);

/**
 * Reads a space: a list of configurations, parameters with constraints, or T1; plain or compressed
 * by gzip.
 * @param notes  gets a line for each thing that deserves a warning; may be NULL
 * @param ret    owned by the caller; at least one configuration, all different
 * @param ret_rules  what it was made by, for an export; may be NULL; none in a list
 * @param watch  hears of a long enumeration; may be NULL
 * @return 0; RP_BAD_INPUT: what is wrong and where; RP_ENVIRONMENT; RP_INTERRUPTED
 */
int rp_space_read(const char *path, struct rp_buf *notes, const struct rp_enumerate_watch *watch,
                  struct rp_space **ret, struct rp_rules *ret_rules, struct rp_err *err);

/* T1 is the format in which the tuning community describes what is to be tuned. Only the search
 * space is used: parameters with lists of values, and conditions. */

/**
 * Writes a space with the rules that made it. Further fields that T1 demands (language, sizes) get
 * values without a meaning, because a command has nothing of that kind.
 * @param ret JSON, owned by the caller; read back, it gives the same configurations
 * @return 0; RP_BAD_INPUT: T1 cannot say it; RP_ENVIRONMENT
 */
int rp_fair_t1_text(const struct rp_space *space, const struct rp_rules *rules, const char *name,
                    char **ret, struct rp_err *err);

#endif
