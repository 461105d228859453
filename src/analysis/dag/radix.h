/** @file radix.h @brief Sorts numbers, such as times, in a few passes over them. */
#ifndef RP_ANALYSIS_DAG_RADIX_H
#define RP_ANALYSIS_DAG_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;

/** Ascending; takes room for another array of the same size. @return 0 or RP_ENVIRONMENT */
int rp_dag_radix_sort(uint64_t *keys, size_t count, struct rp_err *err);

#endif
