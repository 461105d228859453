/**
 * @file intern.h
 * @brief Texts that a trace has many times.
 */
#ifndef RP_BASE_INTERN_H
#define RP_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
