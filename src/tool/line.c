/**
 * @file line.c
 * @brief Pending entries of one queue in order of submission: chunks of a single-producer list.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tool/harvest.h"

int rp_line_init(struct rp_pending_list *line)
{
    memset(line, 0, sizeof(*line));
    line->tail = line->head = calloc(1, sizeof(*line->head));
    return line->head ? 0 : -1;
}

void rp_line_free(struct rp_pending_list *line)
{
    while (line->head) {
        struct rp_line_chunk *next = line->head->next;

        free(line->head);
        line->head = next;
    }
    free(line->spare);
    memset(line, 0, sizeof(*line));
}

/* In steady state the consumer's emptied chunks come back here and nothing is allocated. */
static struct rp_line_chunk *another_chunk(struct rp_pending_list *line)
{
    struct rp_line_chunk *chunk = __atomic_exchange_n(&line->spare, NULL, __ATOMIC_ACQUIRE);

    if (!chunk)
        chunk = malloc(sizeof(*chunk));
    if (chunk) {
        chunk->next = NULL;
        chunk->filled = 0;
    }
    return chunk;
}

struct rp_pending *rp_line_next(struct rp_pending_list *line)
{
    struct rp_line_chunk *chunk = line->tail;
    uint32_t filled;

    if (!chunk)
        return NULL;
    filled = __atomic_load_n(&chunk->filled, __ATOMIC_RELAXED);
    if (filled == RP_LINE_CHUNK) {
        struct rp_line_chunk *next = another_chunk(line);

        if (!next)
            return NULL;
        __atomic_store_n(&chunk->next, next, __ATOMIC_RELEASE);
        line->tail = chunk = next;
        filled = 0;
    }
    memset(&chunk->entries[filled], 0, offsetof(struct rp_pending, rec));
    return &chunk->entries[filled];
}
