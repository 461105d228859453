/**
 * @file intern.h
 * @brief Kernels of a side by name: a hash table over side->kernels. Programs of many template
 * instances have ten thousands of kernels.
 */
#ifndef RP_ANALYSIS_COMPARE_NAMES_H
#define RP_ANALYSIS_COMPARE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct rp_versus_pair;
struct rp_versus_side;

/** Of the kernel that was appended last. @return false: out of memory */
bool rp_versus_names_add(struct rp_versus_side *side);
/** Anew, in another order of the kernels. */
void rp_versus_names_again(struct rp_versus_side *side);

/**
 * Pairs the kernels of two sides, first by name; then of those that are left, where kernels of one
 * name are told apart on a side, by what they consist of, and where one is left on each side,
 * these.
 * @param ret  room for all; those of before come first
 * @return how many; SIZE_MAX: out of memory
 */
size_t rp_versus_names_pair(const struct rp_versus_side *before, const struct rp_versus_side *after,
                            struct rp_versus_pair *ret);

#endif
