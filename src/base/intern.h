/**
 * @file intern.h
 * @brief Keeps each text that a trace has many times only once.
 */
#ifndef RP_BASE_INTERN_H
#define RP_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The strings of one pool are freed together, and bounded in total. */

/** Initialise it with zeros and set limit_bytes; release it with rp_string_pool_free. */
struct rp_string_pool {
    struct rp_string_pool_chunk *chunks;
    uint64_t used_bytes, limit_bytes;
    const char *recent[1024]; /**< by hash: traces repeat names and handles row after row */
};

/** Copies the text up to its first zero byte, and makes it UTF-8. It returns NULL when memory or
 * the limit is exhausted. */
const char *rp_string_pool_add(struct rp_string_pool *text, const char *bytes, size_t len);
void rp_string_pool_free(struct rp_string_pool *text);

#endif
