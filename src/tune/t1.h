/**
 * @file t1.h
 * @brief T1, the format in which the tuning community describes what is to be tuned; of it, the
 *        search space: parameters with lists of values, and conditions.
 */
#ifndef RP_TUNE_T1_H
#define RP_TUNE_T1_H

#include <jansson.h>
#include <stdbool.h>

struct rp_err;
struct rp_rules;
struct rp_space;

bool rp_is_t1(const json_t *root);

/**
 * Adds parameters to space and constraints to rules; configurations are enumerated by the caller.
 * @return 0; RP_BAD_INPUT; RP_ENVIRONMENT
 */
int rp_t1_read(const json_t *root, struct rp_space *space, struct rp_rules *rules,
               struct rp_err *err);

/**
 * Writes a space with the rules it was enumerated by. What T1 asks for beside it (language, sizes)
 * is filled in without a meaning: a command has nothing of that kind.
 * @param ret  JSON, owned by the caller; read back, it gives the same configurations
 * @return 0; RP_BAD_INPUT: T1 cannot say it; RP_ENVIRONMENT
 */
int rp_t1_text(const struct rp_space *space, const struct rp_rules *rules, const char *name,
               char **ret, struct rp_err *err);

#endif
