/**
 * @file given_twice.h
 * @brief The same process given twice would count twice.
 */
#ifndef RP_LIBRARY_GIVEN_TWICE_H
#define RP_LIBRARY_GIVEN_TWICE_H

#include <stddef.h>

struct rp_err;
struct rp_store;

/**
 * Databases have a name of the process that no other has. JSON and CSV do not, and a file can be
 * copied: two processes never run all of their kernels in the same nanoseconds. Traces without
 * kernels are left to those who read more of them (analysis/dag/twice.h).
 * @return 0; RP_BAD_INPUT names both files
 */
int rp_refuse_given_twice(struct rp_store *const *stores, size_t count, struct rp_err *err);

#endif
