/**
 * @file names.h
 * @brief Kernels of a side by name: a hash table over side->kernels. Programs of many template
 * instances have ten thousands of kernels.
 */
#ifndef RP_ANALYSIS_COMPARE_NAMES_H
#define RP_ANALYSIS_COMPARE_NAMES_H

#include <stdbool.h>

struct rp_versus_side;

/** Of the kernel that was appended last. @return false: out of memory */
bool rp_versus_names_add(struct rp_versus_side *side);
/** Anew, in another order of the kernels. */
void rp_versus_names_again(struct rp_versus_side *side);

#endif
