/* Growing arrays and maps, in the form that libraries have: where memory ends they say so. */
#include "unit/cmocka_all.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"

struct point {
    int x, y;
};

struct points {
    RP_VEC(struct point);
    int total;
};

static void sizes_of_nothing_are_memory_too(void **state)
{
    void *none = rp_alloc(0), *zeroed = rp_alloc_zero(0, 8), *copy = rp_memdup("", 0);

    (void)state;
    assert_non_null(none);
    assert_non_null(zeroed);
    assert_non_null(copy);
    none = rp_realloc(none, 0);
    assert_non_null(none);
    zeroed = rp_realloc_array(zeroed, 0, 16);
    assert_non_null(zeroed);
    free(none);
    free(zeroed);
    free(copy);
}

static void sizes_that_overflow_are_refused(void **state)
{
    struct points points = {0};

    (void)state;
    assert_null(rp_realloc_array(NULL, SIZE_MAX / 2, 4));
    assert_int_equal(rp_vec_reserve(&points, SIZE_MAX), -1);
    assert_int_equal(rp_vec_reserve(&points, PTRDIFF_MAX / sizeof(struct point) + 1), -1);
    assert_int_equal(rp_vec_push(&points, (struct point){1, 2}), 0);
    assert_int_equal(rp_vec_reserve(&points, SIZE_MAX), -1);
    assert_int_equal(points.count, 1);
    assert_int_equal(points.items[0].y, 2);
    rp_vec_free(&points);
}

static void texts_are_copied(void **state)
{
    rp_autofree char *text = rp_strdup("abc"), *part = rp_strndup("abcdef", 4);
    rp_autofree char *bytes = rp_memdup("a\0b", 3);

    (void)state;
    assert_string_equal(text, "abc");
    assert_string_equal(part, "abcd");
    assert_memory_equal(bytes, "a\0b", 3);
}

static void vecs_grow(void **state)
{
    struct points points = {.total = 7};
    struct point *added;

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(rp_vec_push(&points, (struct point){.x = i, .y = -i}), 0);
    /* One of its own items may be pushed, although they move. */
    for (int i = 0; i < 100; i++)
        assert_int_equal(rp_vec_push(&points, points.items[i]), 0);
    added = rp_vec_add(&points);
    assert_non_null(added);
    assert_int_equal(added->x | added->y, 0);
    assert_int_equal(points.count, 1101);
    assert_true(points.room >= points.count);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(points.items[i].y, -i);
    for (int i = 0; i < 100; i++)
        assert_int_equal(points.items[1000 + i].x, i);
    assert_int_equal(points.total, 7);
    assert_int_equal(rp_vec_reserve(&points, 5000), 0);
    assert_true(points.room >= 6101);
    rp_vec_free(&points);
    assert_null(points.items);
    assert_int_equal(points.count + points.room, 0);
}

static void arrays_of_other_structs_grow(void **state)
{
    struct {
        size_t row_count, row_room;
        char **rows;
    } table = {0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(
            rp_vec_grow(&table.rows, &table.row_room, table.row_count, 1, sizeof *table.rows), 0);
        table.rows[table.row_count++] = (char *)(uintptr_t)(i + 1);
    }
    assert_ptr_equal(table.rows[99], (void *)(uintptr_t)100);
    free(table.rows);
}

/* Keys of every length from nothing, alike in their beginnings, some with zero bytes. */
static size_t nth_bytes(uint32_t i, char ret[64])
{
    memset(ret, 'a', 64);
    memcpy(ret + i % 57, &i, sizeof i);
    return i == 0 ? 0 : i % 57 + sizeof i;
}

static void check_bytes(struct rp_map *map, char (*keys)[64])
{
    for (uint32_t i = 0; i < 3000; i++) {
        const size_t length = nth_bytes(i, keys[i]);

        assert_int_equal(rp_map_find(map, keys[i], length), RP_NO_NUMBER);
        assert_int_equal(rp_map_add(map, keys[i], length), i);
        assert_int_equal(rp_map_add(map, keys[i / 2], nth_bytes(i / 2, keys[i / 2])), i / 2);
    }
    assert_int_equal(map->count, 3000);
    for (uint32_t i = 0; i < 3000; i++) {
        char key[64];
        const size_t length = nth_bytes(i, key);

        assert_int_equal(rp_map_find(map, key, length), i);
        assert_int_equal(map->keys[i].length, length);
        assert_memory_equal(map->keys[i].bytes, key, length);
        assert_int_equal(map->keys[i].bytes == keys[i], map->borrows);
        if (!map->borrows)
            assert_int_equal(map->keys[i].bytes[length], 0);
    }
    rp_map_free(map);
    assert_int_equal(rp_map_find_text(map, "a"), RP_NO_NUMBER);
}

static void bytes_are_numbered_in_their_order(void **state)
{
    struct rp_map owns = {0}, borrows = {.borrows = true};
    rp_autofree void *keys = calloc(3000, 64);

    (void)state;
    check_bytes(&owns, keys);
    check_bytes(&borrows, keys);
    assert_true(borrows.borrows);
}

static void texts_are_numbered(void **state)
{
    struct rp_map names = {0};
    rp_autofree char *large = calloc(1, 200001);
    char small[32];

    (void)state;
    memset(large, 'x', 200000);
    assert_int_equal(rp_map_add_text(&names, "one"), 0);
    assert_int_equal(rp_map_add_text(&names, large),
                     1); /* larger than the memory that keys share */
    for (int i = 0; i < 200; i++) {
        snprintf(small, sizeof small, "name %d", i);
        assert_int_equal(rp_map_add_text(&names, small), i + 2);
    }
    assert_int_equal(rp_map_add_text(&names, ""), 202);
    assert_int_equal(rp_map_find_text(&names, "one"), 0);
    assert_int_equal(rp_map_find(&names, "one two", 3), 0);
    assert_int_equal(rp_map_find_text(&names, "on"), RP_NO_NUMBER);
    assert_int_equal(rp_map_find_text(&names, large), 1);
    assert_string_equal(names.keys[1].bytes, large);
    assert_string_equal(names.keys[201].bytes, "name 199");
    rp_map_free(&names);
}

/* Keys that differ only in high bits, in low ones, and 0 and the largest. */
static uint64_t nth_key(uint32_t i)
{
    return i == 0 ? 0 : i == 1 ? UINT64_MAX : i % 2 ? (uint64_t)i << 40 : i * 4096u;
}

static void keys_are_numbered_in_their_order(void **state)
{
    struct rp_idmap n = {0};

    (void)state;
    assert_int_equal(rp_idmap_find(&n, 0), RP_NO_NUMBER);
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 3000; i++) {
            assert_int_equal(rp_idmap_add(&n, nth_key(i)), i);
            assert_int_equal(rp_idmap_add(&n, nth_key(i / 2)), i / 2);
        }
    assert_int_equal(n.count, 3000);
    for (uint32_t i = 0; i < 3000; i++) {
        assert_int_equal(n.keys[i], nth_key(i));
        assert_int_equal(rp_idmap_find(&n, nth_key(i)), i);
        assert_int_equal(rp_idmap_find(&n, nth_key(i) ^ 5), RP_NO_NUMBER);
    }
    rp_idmap_free(&n);
    assert_int_equal(rp_idmap_find(&n, 0), RP_NO_NUMBER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_nothing_are_memory_too),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(vecs_grow),
        cmocka_unit_test(arrays_of_other_structs_grow),
        cmocka_unit_test(bytes_are_numbered_in_their_order),
        cmocka_unit_test(texts_are_numbered),
        cmocka_unit_test(keys_are_numbered_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
