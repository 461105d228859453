/**
 * @file loop_rest.h
 * @brief What the rest of a kernel does around a loop whose rounds lanes share: whether it stays
 *        right when a round goes to another lane.
 */
#ifndef RP_OPTIMIZE_LOOP_REST_H
#define RP_OPTIMIZE_LOOP_REST_H

#include <stdbool.h>
#include <stdint.h>

struct rp_ast_node;
struct rp_loop_lanes;

/** Says whether all lanes that share the rounds come to the loop, equally often: the conditions and
 * loops around it, and those of jumps that could leave it out, are the same for them. */
bool rp_loop_comes_to_all(const struct rp_loop_lanes *lanes);

/** Says whether barriers part the loop from all that the rest of the kernel does with its memory,
 * where one of the two writes it. */
bool rp_loop_is_parted(const struct rp_loop_lanes *lanes);

/** Says whether nothing but an exchange between lanes uses what each of them has added up.
 * @param adds the assignment in the loop */
bool rp_loop_sum_is_exchanged(const struct rp_loop_lanes *lanes, uint64_t sum,
                              const struct rp_ast_node *adds);

/** Reads fmaxf(sum, term). @return term, or NULL */
const struct rp_ast_node *rp_extremum_term(const struct rp_ast_node *value, uint64_t sum);

#endif
