#include "base/map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "base/vec.h"

/* --- keys of bytes ------------------------------------------------------------------------- */

struct rp_map_slot {
    uint32_t hash;
    uint32_t number; /**< one more than the number; 0: free */
};

/* Keys are copied one behind the other, and freed together. */
struct rp_map_chunk {
    struct rp_map_chunk *next;
    size_t used, room;
    char bytes[];
};

enum { FIRST_SLOTS = 32, FIRST_CHUNK_BYTES = 1024, LAST_CHUNK_BYTES = 64 * 1024 };

/* Takes eight bytes a step. The upper half of a product depends on all bits of its factors. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    const unsigned __int128 product =
        (unsigned __int128)(hash ^ word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_of(const char *key, size_t length)
{
    uint64_t hash = length, word;
    size_t at = 0;

    for (; length - at >= sizeof word; at += sizeof word) {
        memcpy(&word, key + at, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, key + at, length - at);
    hash = mix(hash, word);
    return (uint32_t)(hash ^ hash >> 32);
}

/* Finds the slot of a key, or the free one where it belongs. */
static struct rp_map_slot *slot_of(const struct rp_map *map, uint32_t hash, const char *key,
                                   size_t length)
{
    size_t at = hash & (map->slot_count - 1);

    for (;; at = (at + 1) & (map->slot_count - 1)) {
        struct rp_map_slot *slot = &map->slots[at];
        const struct rp_map_key *has = slot->number ? &map->keys[slot->number - 1] : NULL;

        if (!has ||
            (slot->hash == hash && has->length == length && memcmp(has->bytes, key, length) == 0))
            return slot;
    }
}

static bool grow_map(struct rp_map *map)
{
    const size_t slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS;
    struct rp_map_slot *slots = rp_alloc_zero(slot_count, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < map->slot_count; i++) {
        size_t at = map->slots[i].hash & (slot_count - 1);

        if (!map->slots[i].number)
            continue;
        while (slots[at].number)
            at = (at + 1) & (slot_count - 1);
        slots[at] = map->slots[i];
    }
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    return true;
}

static const char *own_copy(struct rp_map *map, const char *key, size_t length)
{
    struct rp_map_chunk *chunk = map->chunks;
    char *copy;

    if (!chunk || length >= chunk->room - chunk->used) {
        size_t room = chunk ? chunk->room * 2 : FIRST_CHUNK_BYTES;

        room = room < LAST_CHUNK_BYTES ? room : LAST_CHUNK_BYTES;
        room = room > length ? room : length + 1;
        chunk = rp_alloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        *chunk = (struct rp_map_chunk){.next = map->chunks, .room = room};
        map->chunks = chunk;
    }
    copy = chunk->bytes + chunk->used;
    memcpy(copy, key, length);
    copy[length] = '\0';
    chunk->used += length + 1;
    return copy;
}

uint32_t rp_map_add(struct rp_map *map, const void *key, size_t length)
{
    const uint32_t hash = hash_of(key, length);
    struct rp_map_slot *slot;
    const char *bytes = key;

    if ((size_t)map->count * 2 >= map->slot_count && !grow_map(map))
        return RP_NO_NUMBER;
    slot = slot_of(map, hash, key, length);
    if (slot->number)
        return slot->number - 1;
    if (map->count >= RP_NO_NUMBER - 1u) {
        rp_memory_ended();
        return RP_NO_NUMBER;
    }
    if (rp_vec_grow(&map->keys, &map->room, map->count, 1, sizeof *map->keys) < 0 ||
        (!map->borrows && !(bytes = own_copy(map, key, length))))
        return RP_NO_NUMBER;
    map->keys[map->count] = (struct rp_map_key){bytes, length};
    *slot = (struct rp_map_slot){hash, ++map->count};
    return map->count - 1;
}

uint32_t rp_map_find(const struct rp_map *map, const void *key, size_t length)
{
    /* A free slot, 0, becomes RP_NO_NUMBER, too. */
    return map->slot_count ? slot_of(map, hash_of(key, length), key, length)->number - 1
                           : RP_NO_NUMBER;
}

void rp_map_free(struct rp_map *map)
{
    while (map->chunks) {
        struct rp_map_chunk *next = map->chunks->next;

        free(map->chunks);
        map->chunks = next;
    }
    free(map->keys);
    free(map->slots);
    *map = (struct rp_map){.borrows = map->borrows};
}

/* --- keys of 64 bits ----------------------------------------------------------------------- */

static size_t home_of(const struct rp_idmap *map, uint64_t key)
{
    return (size_t)((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32) & (map->slot_count - 1);
}

/* Finds the place of a key, or the free slot where it belongs. */
static size_t place_of(const struct rp_idmap *map, uint64_t key)
{
    size_t at = home_of(map, key);

    while (map->slots[at] && map->keys[map->slots[at] - 1] != key)
        at = (at + 1) & (map->slot_count - 1);
    return at;
}

static bool grow_idmap(struct rp_idmap *map)
{
    const size_t slot_count = map->slot_count ? map->slot_count * 2 : FIRST_SLOTS;
    uint64_t *keys = rp_realloc_array(map->keys, slot_count / 2, sizeof *keys);
    uint32_t *slots;

    if (!keys)
        return false;
    map->keys = keys;
    slots = rp_alloc_zero(slot_count, sizeof *slots);
    if (!slots)
        return false;
    free(map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    for (uint32_t i = 0; i < map->count; i++)
        map->slots[place_of(map, map->keys[i])] = i + 1;
    return true;
}

uint32_t rp_idmap_add(struct rp_idmap *map, uint64_t key)
{
    uint32_t *slot;

    if (map->count && map->keys[map->last] == key)
        return map->last;
    if ((size_t)map->count * 2 >= map->slot_count) {
        if (map->count >= RP_NO_NUMBER - 1u) {
            rp_memory_ended();
            return RP_NO_NUMBER;
        }
        if (!grow_idmap(map))
            return RP_NO_NUMBER;
    }
    slot = &map->slots[place_of(map, key)];
    if (!*slot) {
        map->keys[map->count] = key;
        *slot = ++map->count;
    }
    return map->last = *slot - 1;
}

uint32_t rp_idmap_find(const struct rp_idmap *map, uint64_t key)
{
    return map->slot_count ? map->slots[place_of(map, key)] - 1 : RP_NO_NUMBER;
}

void rp_idmap_free(struct rp_idmap *map)
{
    free(map->keys);
    free(map->slots);
    *map = (struct rp_idmap){0};
}

/* ---- pools of strings ---- */

struct rp_string_pool_chunk {
    struct rp_string_pool_chunk *next;
    size_t used, capacity;
    char bytes[];
};

enum { CHUNK_BYTES = 64 * 1024 };

static struct rp_string_pool_chunk *room_for(struct rp_string_pool *text, size_t bytes)
{
    struct rp_string_pool_chunk *chunk = text->chunks;
    size_t capacity = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

    if (chunk && chunk->capacity - chunk->used >= bytes)
        return chunk;
    if (text->used_bytes + bytes > text->limit_bytes)
        return NULL;
    chunk = rp_alloc(sizeof *chunk + capacity);
    if (!chunk)
        return NULL;
    *chunk = (struct rp_string_pool_chunk){.next = text->chunks, .capacity = capacity};
    text->chunks = chunk;
    text->used_bytes += capacity;
    return chunk;
}

/* Hashes the text by FNV-1a, and reduces the hash to a place in recent. */
static const char **text_place_of(struct rp_string_pool *text, const char *bytes, size_t len)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return &text->recent[(hash ^ hash >> 15) % (sizeof text->recent / sizeof text->recent[0])];
}

const char *rp_string_pool_add(struct rp_string_pool *text, const char *bytes, size_t len)
{
    rp_autobuf mended = {0};
    struct rp_string_pool_chunk *chunk;
    const char **place;
    char *copy;

    len = strnlen(bytes, len);
    place = text_place_of(text, bytes, len);
    if (*place && strncmp(*place, bytes, len) == 0 && (*place)[len] == '\0')
        return *place;
    if (!rp_utf8_is_valid(bytes, len)) {
        rp_utf8_fix(&mended, bytes, len);
        if (mended.failed)
            return NULL;
        bytes = rp_buf_text(&mended);
        len = mended.len;
    }
    chunk = room_for(text, len + 1);
    if (!chunk)
        return NULL;
    copy = chunk->bytes + chunk->used;
    memcpy(copy, bytes, len);
    copy[len] = '\0';
    chunk->used += len + 1;
    *place = copy;
    return copy;
}

void rp_string_pool_free(struct rp_string_pool *text)
{
    while (text->chunks) {
        struct rp_string_pool_chunk *next = text->chunks->next;
        free(text->chunks);
        text->chunks = next;
    }
}
