#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* The function is in alloc_dies.c, and absent where that file is not linked. It is hidden, so that
 * no other program which loads one of our libraries can put its own in this place. */
extern void rp_die_of_memory(void) __attribute__((weak, visibility("hidden")));

void rp_memory_ended(void)
{
    if (rp_die_of_memory)
        rp_die_of_memory();
}

void *rp_not_null(void *ptr)
{
    if (!ptr)
        rp_memory_ended();
    return ptr;
}

void *rp_alloc(size_t bytes)
{
    return rp_not_null(malloc(bytes ? bytes : 1));
}

void *rp_alloc_zero(size_t count, size_t item_bytes)
{
    return rp_not_null(count && item_bytes ? calloc(count, item_bytes) : calloc(1, 1));
}

void *rp_realloc(void *old, size_t bytes)
{
    return rp_not_null(realloc(old, bytes ? bytes : 1));
}

void *rp_realloc_array(void *old, size_t count, size_t item_bytes)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, item_bytes, &bytes)) {
        rp_memory_ended();
        return NULL;
    }
    return rp_realloc(old, bytes);
}

char *rp_strdup(const char *text)
{
    return rp_not_null(strdup(text));
}

char *rp_strndup(const char *text, size_t len)
{
    return rp_not_null(strndup(text, len));
}

void *rp_memdup(const void *bytes, size_t len)
{
    void *copy = rp_alloc(len);

    if (copy && len)
        memcpy(copy, bytes, len);
    return copy;
}

int rp_vec_grow(void *items, size_t *room, size_t count, size_t extra, size_t item_bytes)
{
    const size_t most = PTRDIFF_MAX / item_bytes;
    size_t wanted = *room < most / 2 ? *room * 2 : most;
    void *old, *grown;

    if (extra <= *room - count)
        return 0;
    if (count > most || extra > most - count) {
        rp_memory_ended();
        return -1;
    }
    if (wanted < count + extra)
        wanted = count + extra;
    if (wanted < 8 && most >= 8)
        wanted = 8;
    /* The slot is a pointer to some type and not a void pointer, so its bytes are copied. */
    memcpy(&old, items, sizeof old);
    grown = rp_realloc_array(old, wanted, item_bytes);
    if (!grown)
        return -1;
    memcpy(items, &grown, sizeof grown);
    *room = wanted;
    return 0;
}

void *rp_array_next(void *items, size_t *count, size_t item_bytes)
{
    const size_t n = *count;
    char *rows;

    memcpy(&rows, items, sizeof rows);
    if ((n & (n - 1)) == 0) {
        rows = rp_realloc_array(rows, n ? n * 2 : 1, item_bytes);
        if (!rows)
            return NULL;
        memcpy(items, &rows, sizeof rows);
    }
    (*count)++;
    return rows + n * item_bytes;
}
