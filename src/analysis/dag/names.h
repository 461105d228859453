/** @file intern.h @brief Times added up by name, and the part of the time that an edge stands for.
 */
#ifndef RP_ANALYSIS_DAG_NAMES_H
#define RP_ANALYSIS_DAG_NAMES_H

#include "build.h"

/** Sums by name; {0} is empty. */
struct rp_dag_names {
    struct rp_numbering addresses; /**< of the names; two may be equal */
    struct rp_dag_share *shares;   /**< per address */
    size_t room;
};

/** @return -1 out of memory */
int rp_dag_names_add(struct rp_dag_names *names, const char *name, int64_t ns);
/** Largest first, then by name, each name once. The sums are empty afterwards. */
int rp_dag_names_take(struct rp_dag_names *names, struct rp_dag_share **ret, size_t *ret_count,
                      struct rp_err *err);
/** Likewise, with copies of the names: to be freed with rp_dag_owned_shares_free. */
int rp_dag_names_take_copies(struct rp_dag_names *names, struct rp_dag_share **ret,
                             size_t *ret_count, struct rp_err *err);
void rp_dag_owned_shares_free(struct rp_dag_share *shares, size_t count);
void rp_dag_names_free(struct rp_dag_names *names);

/** Adds up equal names and puts the largest first. @return how many are left */
size_t rp_dag_merge_shares(struct rp_dag_share *shares, size_t count);

/** "[launch]" and the like: what stands for the name of a part without one. */
const char *rp_dag_part_label(enum rp_dag_part part);
/** The part and the name that an edge's time belongs to. */
enum rp_dag_part rp_dag_part_of(const struct rp_dag *dag, const struct rp_dag_trace *trace,
                                uint32_t e, const char **ret_name);
/** The call or operation that an edge is the duration of, or RP_DAG_NONE. */
uint32_t rp_dag_item_of(const struct rp_dag *dag, uint32_t e);

#endif
