/* The GPU's page table: edges by hand, everything else by random operations against a bitmap. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "device/driver/device_memory.h"

#include "device/driver/page_tables.c"

static int map(struct rp_vm *vm, uint64_t begin, uint64_t end, int64_t delta, bool writable)
{
    struct rp_vm_range range = {.begin = begin, .end = end, .delta = delta, .writable = writable};
    return rp_vm_map(vm, &range);
}

static void edges(void **state)
{
    (void)state;
    struct rp_vm vm = {0};
    assert_int_equal(map(&vm, 100, 100, 0, true), -EINVAL);
    assert_int_equal(map(&vm, 200, 100, 0, true), -EINVAL);
    assert_int_equal(map(&vm, 100, 200, 1000, true), 0);
    assert_int_equal(map(&vm, 199, 300, 0, true), -EEXIST);
    assert_int_equal(map(&vm, 50, 101, 0, true), -EEXIST);
    assert_int_equal(map(&vm, 120, 130, 0, true), -EEXIST);
    assert_int_equal(map(&vm, 200, 300, 1000, false), 0);
    assert_int_equal(map(&vm, 300, 400, 9000, true), 0);
    assert_null(rp_vm_find(&vm, 99));
    assert_non_null(rp_vm_find(&vm, 100));
    assert_null(rp_vm_find(&vm, 400));
    assert_ptr_equal(rp_vm_translate(&vm, 100, 1, true), (void *)1100);
    assert_ptr_equal(rp_vm_translate(&vm, 150, 100, false), (void *)1150); /* same delta */
    assert_null(rp_vm_translate(&vm, 150, 100, true));                     /* half read-only */
    assert_null(rp_vm_translate(&vm, 250, 100, false));                    /* delta changes */
    assert_null(rp_vm_translate(&vm, 399, 2, false));
    assert_null(rp_vm_translate(&vm, 100, 0, false));
    assert_null(rp_vm_translate(&vm, UINT64_MAX, 2, false));
    assert_int_equal(rp_vm_unmap(&vm, 150, 150), -EINVAL);
    assert_int_equal(rp_vm_unmap(&vm, 150, 160), 0); /* a hole in the middle */
    assert_non_null(rp_vm_find(&vm, 149));
    assert_null(rp_vm_find(&vm, 150));
    assert_non_null(rp_vm_find(&vm, 160));
    assert_int_equal(rp_vm_next(&vm, 150)->begin, 160);
    assert_null(rp_vm_next(&vm, 400));
    rp_vm_release(&vm);
}

static void test_generation(void **state)
{
    (void)state;
    struct rp_vm vm = {0};
    uint64_t before = vm.generation;
    assert_int_equal(map(&vm, 0, 10, 0, true), 0);
    assert_int_not_equal(vm.generation, before);
    before = vm.generation;
    assert_int_equal(map(&vm, 5, 10, 0, true), -EEXIST);
    assert_int_equal(rp_vm_unmap(&vm, 20, 30), 0);
    assert_int_equal(vm.generation, before); /* nothing changed */
    assert_int_equal(rp_vm_unmap(&vm, 0, 5), 0);
    assert_int_not_equal(vm.generation, before);
    rp_vm_release(&vm);
}

/* The model: one entry per address of a small space. 0 = not mapped. */
enum { SPACE = 256, ROUNDS = 20000 };

struct cell {
    bool mapped, writable;
    int64_t delta;
};

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static bool any_mapped(const struct cell *cells, unsigned begin, unsigned end)
{
    for (unsigned i = begin; i < end; i++)
        if (cells[i].mapped)
            return true;
    return false;
}

static void *expected(const struct cell *cells, unsigned begin, unsigned end, bool write)
{
    for (unsigned i = begin; i < end; i++)
        if (i >= SPACE || !cells[i].mapped || cells[i].delta != cells[begin].delta ||
            (write && !cells[i].writable))
            return NULL;
    return (void *)(uintptr_t)(begin + (uint64_t)cells[begin].delta);
}

static void random_operations(void **state)
{
    (void)state;
    struct rp_vm vm = {0};
    struct cell cells[SPACE] = {0};
    uint32_t seed = 12345;
    unsigned maps = 0, refused = 0, hits = 0;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned begin = next_random(&seed) % SPACE;
        unsigned end = begin + 1 + next_random(&seed) % 24;
        if (end > SPACE)
            end = SPACE;
        if (next_random(&seed) % 2) {
            bool writable = next_random(&seed) % 3 != 0;
            int64_t delta = 0x10000 * (int64_t)(1 + next_random(&seed) % 2);
            int rc = map(&vm, begin, end, delta, writable);
            assert_int_equal(rc, any_mapped(cells, begin, end) ? -EEXIST : 0);
            refused += rc != 0;
            maps += rc == 0;
            for (unsigned i = begin; rc == 0 && i < end; i++)
                cells[i] = (struct cell){.mapped = true, .writable = writable, .delta = delta};
        } else {
            assert_int_equal(rp_vm_unmap(&vm, begin, end), 0);
            memset(&cells[begin], 0, (end - begin) * sizeof *cells);
        }
        for (int probe = 0; probe < 4; probe++) {
            unsigned at = next_random(&seed) % SPACE, bytes = 1 + next_random(&seed) % 16;
            bool write = next_random(&seed) % 2;
            void *host = rp_vm_translate(&vm, at, bytes, write);
            assert_ptr_equal(host, expected(cells, at, at + bytes, write));
            hits += host != NULL;
            assert_int_equal(rp_vm_find(&vm, at) != NULL, cells[at].mapped);
        }
    }
    assert_true(maps > 1000 && refused > 1000 && hits > 1000); /* the test did exercise them */
    rp_vm_release(&vm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
