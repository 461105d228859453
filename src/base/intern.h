/**
 * @file intern.h
 * @brief Texts that a trace has many times.
 */
#ifndef RP_BASE_INTERN_H
#define RP_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text to id: the contents of rocpd_string while it is written. */

/** Zero-initialise; release with rp_string_ids_free. */
struct rp_string_ids {
    struct rp_string_ids_slot *slots;
    size_t used, capacity;
};

/**
 * Id of @p text, counted from 1 in the order of first appearance.
 * @param ret_new  whether the text was not there before
 * @return 0 when out of memory
 */
int64_t rp_string_ids_add(struct rp_string_ids *names, const char *text, bool *ret_new);
void rp_string_ids_free(struct rp_string_ids *names);

/* Strings of one store: freed together, bounded in total. */

/** Zero-initialise, set limit_bytes; release with rp_string_pool_free. */
struct rp_string_pool {
    struct rp_string_pool_chunk *chunks;
    uint64_t used_bytes, limit_bytes;
    const char *recent[1024]; /**< by hash: traces repeat names and handles row after row */
};

/** Copy of the text up to its first zero byte, made UTF-8; NULL when memory or the limit is out. */
const char *rp_string_pool_add(struct rp_string_pool *text, const char *bytes, size_t len);
void rp_string_pool_free(struct rp_string_pool *text);

#endif
