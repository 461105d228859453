#include "symbols.h"

#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, 64 bits */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return (size_t)(hash ^ hash >> 32);
}

static uint32_t *slot_of(const struct rp_dag_symbols *s, const char *name)
{
    size_t at = hash_of(name) & (s->slot_count - 1);

    while (s->slots[at] && strcmp(s->names[s->slots[at] - 1], name) != 0)
        at = (at + 1) & (s->slot_count - 1);
    return &s->slots[at];
}

static bool grow(struct rp_dag_symbols *s)
{
    size_t room = s->room ? s->room * 2 : 64;
    const char **names = realloc(s->names, room * sizeof *names);
    uint32_t *slots = calloc(room * 2, sizeof *slots);

    if (names)
        s->names = names;
    if (!names || !slots) {
        free(slots);
        return false;
    }
    free(s->slots);
    s->slots = slots;
    s->slot_count = room * 2;
    s->room = room;
    for (size_t i = 0; i < s->count; i++)
        *slot_of(s, s->names[i]) = (uint32_t)i + 1;
    return true;
}

uint32_t rp_dag_symbols_add(struct rp_dag_symbols *s, const char *name)
{
    uint32_t *slot;

    if (s->count == s->room && !grow(s))
        return UINT32_MAX;
    slot = slot_of(s, name);
    if (!*slot) {
        s->names[s->count++] = name;
        *slot = (uint32_t)s->count;
    }
    return *slot - 1;
}

struct numbered {
    const char *name;
    uint32_t number;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct numbered *)a)->name, ((const struct numbered *)b)->name);
}

uint32_t *rp_dag_symbols_sort(struct rp_dag_symbols *s)
{
    struct numbered *order = malloc((s->count + 1) * sizeof *order);
    uint32_t *numbers = malloc((s->count + 1) * sizeof *numbers);

    if (!order || !numbers) {
        free(order);
        free(numbers);
        return NULL;
    }
    for (size_t i = 0; i < s->count; i++)
        order[i] = (struct numbered){s->names[i], (uint32_t)i};
    qsort(order, s->count, sizeof *order, by_name);
    for (size_t i = 0; i < s->count; i++) {
        s->names[i] = order[i].name;
        numbers[order[i].number] = (uint32_t)i;
    }
    free(order);
    free(s->slots); /* of the old numbers */
    s->slots = NULL;
    s->slot_count = s->room = 0;
    return numbers;
}

void rp_dag_symbols_free(struct rp_dag_symbols *s)
{
    free(s->names);
    free(s->slots);
    *s = (struct rp_dag_symbols){0};
}
