/** @file index.h @brief Where the sources name a kernel, found without looking at every name. */
#ifndef RP_ANALYSIS_BOTTLENECK_INDEX_H
#define RP_ANALYSIS_BOTTLENECK_INDEX_H

#include <stdbool.h>
#include <stddef.h>

struct rp_bottleneck_inputs;

/** A name, without the ".kd" that does not count, and its place in the source's list. */
struct rp_indexed_name {
    const char *name;
    size_t length, at;
};

/** Sorted by name, then place. */
struct rp_name_index {
    struct rp_indexed_name *list;
    size_t count;
};

/** One for each list of names. */
struct rp_bottleneck_index {
    struct rp_name_index names, symbols; /**< of the profile */
    struct rp_name_index roofline, counters;
    struct rp_name_index shares, what_ifs; /**< of the graph */
};

/** The name's place in the list; NULL names nothing. */
typedef const char *(*rp_name_of)(const void *list, size_t at);

/** @return false: out of memory */
bool rp_name_index_make(struct rp_name_index *ret, const void *list, size_t count, rp_name_of name);
/** The places of those that rp_same_kernel calls the same, in ascending order. */
const struct rp_indexed_name *rp_name_index_find(const struct rp_name_index *index,
                                                 const char *name, size_t *ret_count);
void rp_name_index_free(struct rp_name_index *index);

/** @return false: out of memory */
bool rp_bottleneck_index_make(struct rp_bottleneck_index *ret,
                              const struct rp_bottleneck_inputs *in);
void rp_bottleneck_index_free(struct rp_bottleneck_index *index);

#endif
