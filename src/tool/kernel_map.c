/**
 * @file kernel_map.c
 * @brief Kernel object address -> kernel id.
 */
#include "tool/kernel_map.h"

#include <stddef.h>
#include <stdlib.h>

enum { FIRST_SIZE = 256 };

struct slot {
    uint64_t key; /* 0 = free; stored after the id, so a reader that sees it sees the id */
    uint32_t id;
};

struct rp_kernel_table {
    struct rp_kernel_table *older;
    uint32_t size; /* power of two */
    struct slot slots[];
};

/* Kernel objects are 64-byte aligned, so the low bits carry nothing. */
static uint32_t slot_of(uint64_t key, uint32_t size)
{
    return (uint32_t)((key >> 6) * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
}

/* The table is at most half full, so that every probe ends. */
static struct slot *probe(struct rp_kernel_table *table, uint64_t key)
{
    for (uint32_t i = slot_of(key, table->size);; i = (i + 1) & (table->size - 1)) {
        uint64_t found = __atomic_load_n(&table->slots[i].key, __ATOMIC_ACQUIRE);

        if (found == key || found == 0)
            return &table->slots[i];
    }
}

static struct rp_kernel_table *grow(const struct rp_kernel_map *map)
{
    struct rp_kernel_table *old = map->table;
    uint32_t size = old ? old->size * 2 : FIRST_SIZE;
    struct rp_kernel_table *table = calloc(1, sizeof(*table) + size * sizeof(table->slots[0]));

    if (!table)
        return NULL;
    table->size = size;
    table->older = old;
    for (uint32_t i = 0; old && i < old->size; i++)
        if (old->slots[i].key)
            *probe(table, old->slots[i].key) = old->slots[i];
    return table;
}

int rp_kernel_map_put(struct rp_kernel_map *map, uint64_t kernel_object, uint32_t id)
{
    struct slot *slot = kernel_object && map->table ? probe(map->table, kernel_object) : NULL;

    if (!kernel_object)
        return 0;
    if (!slot || (!slot->key && map->used * 2 >= map->table->size)) {
        struct rp_kernel_table *table = grow(map);

        if (!table)
            return -1;
        __atomic_store_n(&map->table, table, __ATOMIC_RELEASE);
    }
    slot = probe(map->table, kernel_object);
    if (!slot->key)
        map->used++;
    __atomic_store_n(&slot->id, id, __ATOMIC_RELEASE); /* of one that was there before, too */
    __atomic_store_n(&slot->key, kernel_object, __ATOMIC_RELEASE);
    return 0;
}

uint32_t rp_kernel_map_get(const struct rp_kernel_map *map, uint64_t kernel_object)
{
    struct rp_kernel_table *table = __atomic_load_n(&map->table, __ATOMIC_ACQUIRE);
    struct slot *slot;

    if (!table || !kernel_object)
        return 0;
    slot = probe(table, kernel_object);
    if (__atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) != kernel_object)
        return 0;
    return __atomic_load_n(&slot->id, __ATOMIC_ACQUIRE);
}

void rp_kernel_map_free(struct rp_kernel_map *map)
{
    while (map->table) {
        struct rp_kernel_table *older = map->table->older;

        free(map->table);
        map->table = older;
    }
    map->used = 0;
}
