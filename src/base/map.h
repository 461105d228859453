/**
 * @file map.h
 * @brief Hash maps. A map numbers its keys 0, 1, 2 ... in the order in which they came; what
 * belongs to a key stands in an array of the caller at that number.
 *
 *     struct rp_map names = {0};
 *     struct { RP_VEC(uint64_t); } totals = {0};
 *     ...
 *     uint32_t n = rp_map_add_text(&names, name);
 *     if (n == totals.count)
 *         rp_vec_push(&totals, 0);
 *     totals.items[n] += bytes;
 *     ...
 *     for (uint32_t i = 0; i < names.count; i++)
 *         printf("%s %" PRIu64 "\n", names.keys[i].bytes, totals.items[i]);
 *     rp_map_free(&names);
 *
 * Where memory may end without the program (alloc.h), n can be RP_NO_NUMBER. A set is a map without
 * such an array. libc only; not for several threads.
 */
#ifndef RP_BASE_MAP_H
#define RP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** This is no number: it is returned by add in a library when memory ended, and by find for a key
 * that is absent. */
enum { RP_NO_NUMBER = UINT32_MAX };

struct rp_map_key {
    const char *bytes; /**< the map's own are terminated by a zero byte */
    size_t length;
};

/** Initialise it with zeros, and release it with rp_map_free. */
struct rp_map {
    struct rp_map_key *keys; /**< by number */
    uint32_t count;
    bool borrows; /**< set it at the beginning: keys are not copied, and outlive the map */
    size_t room;
    struct rp_map_slot *slots; /**< at most half of them are in use */
    size_t slot_count;
    struct rp_map_chunk *chunks; /**< memory of own keys */
};

/** Returns the number of a key. A key that was absent is added, and its number is the count before.
 */
uint32_t rp_map_add(struct rp_map *map, const void *key, size_t length);
uint32_t rp_map_find(const struct rp_map *map, const void *key, size_t length);
void rp_map_free(struct rp_map *map);

/** Initialise it with zeros, and release it with rp_idmap_free. */
struct rp_idmap {
    uint64_t *keys; /**< by number */
    uint32_t count;
    uint32_t last;   /**< number added or found last: rows of one kind often have the same key */
    uint32_t *slots; /**< hashed: number + 1, 0 = free; at most half of them are in use */
    size_t slot_count;
};

uint32_t rp_idmap_add(struct rp_idmap *map, uint64_t key);
uint32_t rp_idmap_find(const struct rp_idmap *map, uint64_t key);
void rp_idmap_free(struct rp_idmap *map);

/* Keeps each text that a trace has many times only once. */

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

static inline uint32_t rp_map_add_text(struct rp_map *map, const char *text)
{
    return rp_map_add(map, text, strlen(text));
}

static inline uint32_t rp_map_find_text(const struct rp_map *map, const char *text)
{
    return rp_map_find(map, text, strlen(text));
}

#endif
