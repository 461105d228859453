/**
 * @file objective.h
 * @brief The runtime of one run: of its dispatches, or what it printed.
 */
#ifndef RP_TUNE_OBJECTIVE_H
#define RP_TUNE_OBJECTIVE_H

#include "collect/environment.h"
#include <stdbool.h>

struct rp_err;
struct rp_run;

/** Can the expression be searched for? To be asked before anything runs. @return 0 or RP_USAGE */
int rp_objective_check_pattern(const char *pattern, struct rp_err *err);

/**
 * The sum over all dispatches of all processes.
 * @param ret_why  owned; why there is none: then it is not NULL, and ret_ns is not written
 * @param ret_failed  because launches of it failed
 * @return 0; RP_ENVIRONMENT: it ran on another device than this one; RP_BAD_INPUT
 */
int rp_objective_dispatch(const struct rp_run *run, enum rp_device device, double *ret_ns,
                          char **ret_why, bool *ret_failed, struct rp_err *err);

/**
 * Whether launches of a run failed, where its time is not that of its dispatches.
 * @param ret_why  owned; NULL: none is known to
 * @return 0; RP_BAD_INPUT: what was recorded cannot be read; RP_ENVIRONMENT
 */
int rp_objective_launches(const struct rp_run *run, char **ret_why, struct rp_err *err);

/**
 * The number in the last match of the expression.
 * @param path     what the program printed
 * @param ret_why  as above
 * @return 0, RP_ENVIRONMENT
 */
int rp_objective_output(const char *path, const char *pattern, double unit_ns, double *ret_ns,
                        char **ret_why, struct rp_err *err);

#endif
