#include "base/map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/utf8.h"

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
static const char **place_of(struct rp_string_pool *text, const char *bytes, size_t len)
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
    place = place_of(text, bytes, len);
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
