/**
 * @file symbols.h
 * @brief Names of kernels and copies to numbers, while a trace is read.
 */
#ifndef RP_ANALYSIS_DAG_SYMBOLS_H
#define RP_ANALYSIS_DAG_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialise; release with rp_dag_symbols_free. */
struct rp_dag_symbols {
    const char **names; /**< lent, in the order of first appearance until they are sorted */
    size_t count, room;
    uint32_t *slots; /**< hash table of numbers, + 1; 0 = free */
    size_t slot_count;
};

/** Number of a name, a new one if it is new. @return UINT32_MAX: out of memory */
uint32_t rp_dag_symbols_add(struct rp_dag_symbols *s, const char *name);
/** Sorts the names. @return the new number of every old one, to be freed; NULL: out of memory */
uint32_t *rp_dag_symbols_sort(struct rp_dag_symbols *s);
void rp_dag_symbols_free(struct rp_dag_symbols *s);

#endif
