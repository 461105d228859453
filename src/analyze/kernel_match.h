/** @file kernel_match.h @brief Where a list names a kernel, found without looking at every name.
 */
#ifndef RP_ANALYZE_KERNEL_MATCH_H
#define RP_ANALYZE_KERNEL_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/** A name, its rp_kernel_name_length, and its place in the source's list. */
struct rp_indexed_name {
    const char *name;
    size_t length, at;
};

/** Sorted by name, then place. */
struct rp_name_index {
    struct rp_indexed_name *list;
    size_t count;
};

/** The name's place in the list; NULL names nothing. */
typedef const char *(*rp_name_of)(const void *list, size_t at);

/** @return false: out of memory */
bool rp_name_index_make(struct rp_name_index *ret, const void *list, size_t count, rp_name_of name);
/** The places of those that rp_same_kernel calls the same, in ascending order. */
const struct rp_indexed_name *rp_name_index_find(const struct rp_name_index *index,
                                                 const char *name, size_t *ret_count);
void rp_name_index_free(struct rp_name_index *index);

#endif
