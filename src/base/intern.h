/**
 * @file intern.h
 * @brief Numbers 64-bit keys (ids, handles, addresses) 0, 1, 2 ... in the order of their first use.
 */
#ifndef RP_BASE_INTERN_H
#define RP_BASE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Stands for no number: out of memory, or a key that has none. */
enum { RP_NO_NUMBER = UINT32_MAX };

/** Zero-initialise; release with rp_numbering_free. */
struct rp_numbering {
    uint64_t *keys; /**< by number */
    uint32_t count;
    uint32_t last;   /**< number given or found last: rows of one kind often have the same key */
    uint32_t *slots; /**< hashed: number + 1, 0 = free; at most half of them are in use */
    size_t slot_count;
};

/** The number of a key, a new one if it has none. @return RP_NO_NUMBER: out of memory */
uint32_t rp_numbering_add(struct rp_numbering *n, uint64_t key);
/** @return RP_NO_NUMBER: the key was never added */
uint32_t rp_numbering_find(const struct rp_numbering *n, uint64_t key);
void rp_numbering_free(struct rp_numbering *n);

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
