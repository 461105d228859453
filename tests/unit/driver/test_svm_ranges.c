/* SVM attributes: what is set is what is answered, page by page; expected values are a plain table
 * of pages kept here. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/driver/device_context.h"
#include "device/driver/device_memory.h"

enum { PAGE = 4096, PAGES = 24, MIB = 1 << 20, GPUS = 2, GPU0 = 2 };
enum { PREFERRED, PREFETCH, ACCESS, IN_PLACE, NO_ACCESS, SET_FLAGS, CLEAR_FLAGS, GRANULARITY };
enum { HOST_ACCESS = 1, COHERENT = 2, GPU_READ_ONLY = 8, READ_MOSTLY = 32 };

static const uint32_t undefined = 0xffffffff;

struct fixture {
    struct rp_memory memory;
    uint8_t *pages;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || rp_memory_open(&f->memory, GPUS, 64 * MIB, 32 * MIB) < 0)
        return -1;
    f->pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return f->pages == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    munmap(f->pages, PAGES * PAGE);
    rp_memory_close(&f->memory);
    free(f);
    return 0;
}

/* The call as the thunk makes it, with one attribute. */
static int call(struct fixture *f, uint32_t op, unsigned first, unsigned count, uint32_t *type,
                uint32_t *value)
{
    struct {
        uint64_t start, bytes;
        uint32_t op, count, type, value;
    } args = {(uintptr_t)f->pages + first * PAGE, (uint64_t)count * PAGE, op, 1, *type, *value};
    int rc = rp_svm_ioctl(&f->memory, &args, sizeof args);
    *type = args.type;
    *value = args.value;
    return rc;
}

static void set(struct fixture *f, unsigned first, unsigned count, uint32_t type, uint32_t value)
{
    assert_int_equal(call(f, 0, first, count, &type, &value), 0);
}

static uint32_t get(struct fixture *f, unsigned first, unsigned count, uint32_t type)
{
    uint32_t value = 0;
    assert_int_equal(call(f, 1, first, count, &type, &value), 0);
    return value;
}

static uint32_t access_of(struct fixture *f, unsigned first, unsigned count, unsigned gpu)
{
    uint32_t type = ACCESS, value = GPU0 + gpu;
    assert_int_equal(call(f, 1, first, count, &type, &value), 0);
    return type;
}

static void *seen(struct fixture *f, unsigned gpu, unsigned page, int write)
{
    return rp_memory_translate(&f->memory, gpu, (uintptr_t)f->pages + page * PAGE, PAGE, write);
}

static void defaults(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(get(f, 0, PAGES, PREFERRED), undefined);
    assert_int_equal(get(f, 0, PAGES, PREFETCH), undefined);
    assert_int_equal(get(f, 0, PAGES, SET_FLAGS), HOST_ACCESS | COHERENT);
    assert_int_equal(get(f, 0, PAGES, CLEAR_FLAGS), ~(uint32_t)(HOST_ACCESS | COHERENT));
    assert_int_equal(get(f, 0, PAGES, GRANULARITY), 9);
    assert_int_equal(access_of(f, 0, PAGES, 1), NO_ACCESS);
    f->memory.xnack = true;
    assert_int_equal(access_of(f, 0, PAGES, 1), ACCESS);
}

static void bad_calls(void **state)
{
    struct fixture *f = *state;
    const struct {
        uint32_t op, type, value;
    } bad[] = {
        {0, 8, 0},         {0, ACCESS, 99},     {0, PREFERRED, 99}, {0, PREFETCH, GPU0 + GPUS},
        {0, NO_ACCESS, 0}, {1, IN_PLACE, GPU0}, {1, ACCESS, 99},    {2, PREFERRED, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t type = bad[i].type, value = bad[i].value;
        assert_int_equal(call(f, bad[i].op, 0, 2, &type, &value), -EINVAL);
    }
    uint32_t type = PREFERRED, value = 0;
    assert_int_equal(call(f, 0, 0, 0, &type, &value), -EINVAL);
    f->pages += 8;
    assert_int_equal(call(f, 0, 0, 1, &type, &value), -EINVAL);
    f->pages -= 8;
}

static void ranges_split_and_mix(void **state)
{
    struct fixture *f = *state;
    set(f, 4, 8, PREFERRED, GPU0 + 1);
    set(f, 6, 2, PREFERRED, 0);
    assert_int_equal(get(f, 4, 2, PREFERRED), GPU0 + 1);
    assert_int_equal(get(f, 6, 2, PREFERRED), 0);
    assert_int_equal(get(f, 8, 4, PREFERRED), GPU0 + 1);
    assert_int_equal(get(f, 5, 2, PREFERRED), undefined); /* no one answer */
    assert_int_equal(get(f, 6, 1, PREFETCH), undefined);
    set(f, 4, 8, PREFETCH, GPU0);
    assert_int_equal(get(f, 4, 8, PREFETCH), GPU0);
    assert_int_equal(get(f, 6, 2, PREFERRED), 0); /* as before */
    set(f, 5, 1, SET_FLAGS, READ_MOSTLY);
    assert_int_equal(get(f, 5, 1, SET_FLAGS), HOST_ACCESS | COHERENT | READ_MOSTLY);
    assert_int_equal(get(f, 4, 2, SET_FLAGS), HOST_ACCESS | COHERENT); /* in all */
    assert_int_equal(get(f, 4, 2, CLEAR_FLAGS) & READ_MOSTLY, 0);      /* in none */
    assert_int_equal(get(f, 6, 2, CLEAR_FLAGS) & READ_MOSTLY, READ_MOSTLY);
    set(f, 5, 1, CLEAR_FLAGS, READ_MOSTLY);
    assert_int_equal(get(f, 5, 1, SET_FLAGS), HOST_ACCESS | COHERENT);
    set(f, 7, 1, GRANULARITY, 3);
    set(f, 8, 1, GRANULARITY, 200);
    assert_int_equal(get(f, 7, 2, GRANULARITY), 3);
    assert_int_equal(get(f, 8, 1, GRANULARITY), 63);
}

static void access_is_what_the_gpu_sees(void **state)
{
    struct fixture *f = *state;
    set(f, 0, 6, ACCESS, GPU0);
    set(f, 2, 2, IN_PLACE, GPU0);
    set(f, 3, 2, ACCESS, GPU0 + 1);
    assert_int_equal(access_of(f, 0, 2, 0), ACCESS);
    assert_int_equal(access_of(f, 2, 2, 0), IN_PLACE);
    assert_int_equal(access_of(f, 1, 2, 0), NO_ACCESS); /* not the same everywhere */
    assert_int_equal(access_of(f, 3, 2, 1), ACCESS);
    assert_int_equal(access_of(f, 0, 3, 1), NO_ACCESS);
    assert_ptr_equal(seen(f, 0, 5, 1), f->pages + 5 * PAGE);
    assert_null(seen(f, 0, 6, 0));
    assert_null(seen(f, 1, 2, 0));
    assert_non_null(seen(f, 1, 4, 1));
    set(f, 1, 3, NO_ACCESS, GPU0);
    assert_non_null(seen(f, 0, 0, 1));
    assert_null(seen(f, 0, 1, 0));
    assert_null(seen(f, 0, 3, 0));
    assert_non_null(seen(f, 0, 4, 1));
    assert_non_null(seen(f, 1, 3, 1));
    set(f, 4, 1, SET_FLAGS, GPU_READ_ONLY);
    assert_non_null(seen(f, 0, 4, 0));
    assert_null(seen(f, 0, 4, 1));
    assert_non_null(seen(f, 0, 5, 1));
    set(f, 4, 1, CLEAR_FLAGS, GPU_READ_ONLY);
    assert_non_null(seen(f, 0, 4, 1));
}

/* What the program registered (userptr) does not go when something is said about it. */
static void registered_memory_stays(void **state)
{
    struct fixture *f = *state;
    struct rp_kfd_alloc args = {.va = (uintptr_t)f->pages,
                                .bytes = 4 * PAGE,
                                .gpu_id = GPU0,
                                .mmap_offset = (uintptr_t)f->pages,
                                .flags = RP_KFD_MEM_USERPTR | RP_KFD_MEM_WRITABLE};
    assert_int_equal(rp_memory_alloc(&f->memory, 0, &args), 0);
    assert_int_equal(rp_memory_map(&f->memory, args.handle, 1), 0);
    set(f, 0, 4, SET_FLAGS, READ_MOSTLY);
    set(f, 0, 4, NO_ACCESS, GPU0);
    assert_non_null(seen(f, 0, 2, 1));
}

static void unmapped_memory_is_forgotten(void **state)
{
    struct fixture *f = *state;
    set(f, 0, PAGES, PREFERRED, GPU0);
    set(f, 0, PAGES, ACCESS, GPU0);
    rp_memory_host_unmapped(&f->memory, (uintptr_t)f->pages + 3 * PAGE, 2 * PAGE);
    assert_int_equal(get(f, 3, 2, PREFERRED), undefined);
    assert_int_equal(access_of(f, 3, 2, 0), NO_ACCESS);
    assert_int_equal(get(f, 2, 1, PREFERRED), GPU0);
    assert_int_equal(get(f, 5, PAGES - 5, PREFERRED), GPU0);
    assert_null(seen(f, 0, 3, 0));
}

/* As munmap() has it: any part of a last page is the page; what does not begin a page is refused.
 */
static void unmapping_takes_whole_pages(void **state)
{
    struct fixture *f = *state;
    set(f, 0, PAGES, ACCESS, GPU0);
    rp_memory_host_unmapped(&f->memory, (uintptr_t)f->pages + 3 * PAGE, PAGE + 1);
    assert_int_equal(access_of(f, 3, 2, 0), NO_ACCESS);
    assert_null(seen(f, 0, 3, 0));
    assert_null(seen(f, 0, 4, 0));
    rp_memory_host_unmapped(&f->memory, (uintptr_t)f->pages + 100, PAGE);
    rp_memory_host_unmapped(&f->memory, (uintptr_t)f->pages, 0);
    rp_memory_host_unmapped(&f->memory, (uintptr_t)f->pages, SIZE_MAX);
    assert_non_null(seen(f, 0, 0, 0));
    assert_non_null(seen(f, 0, 5, 0));
}

/* With XNACK all is seen, but for what was said not to be. */
static void no_access_with_xnack(void **state)
{
    struct fixture *f = *state;
    uint64_t begin, end;
    int64_t delta;
    f->memory.xnack = true;
    set(f, 4, 2, NO_ACCESS, GPU0);
    uint64_t at = (uintptr_t)f->pages;
    assert_true(rp_memory_range(&f->memory, 0, at + 3 * PAGE, 1, &begin, &end, &delta));
    assert_int_equal(end, at + 4 * PAGE);
    assert_false(rp_memory_range(&f->memory, 0, at + 4 * PAGE, 0, &begin, &end, &delta));
    assert_true(rp_memory_range(&f->memory, 0, at + 6 * PAGE, 1, &begin, &end, &delta));
    assert_int_equal(begin, at + 6 * PAGE);
    assert_true(rp_memory_range(&f->memory, 1, at + 5 * PAGE, 1, &begin, &end, &delta));
}

/* Random settings against a table of pages. */
static void against_a_table(void **state)
{
    struct fixture *f = *state;
    uint32_t preferred[PAGES], granularity[PAGES], seed = 11;
    bool said[PAGES] = {0};
    for (unsigned i = 0; i < PAGES; i++) {
        preferred[i] = undefined;
        granularity[i] = 9;
    }
    for (unsigned round = 0; round < 3000; round++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned first = (seed >> 8) % PAGES, count = 1 + (seed >> 16) % (PAGES - first);
        unsigned value = (seed >> 24) % 3, what = seed >> 29 & 3;
        if (what == 3)
            rp_memory_host_unmapped(&f->memory, (uintptr_t)f->pages + first * PAGE, count * PAGE);
        else
            set(f, first, count, what == 2 ? GRANULARITY : PREFERRED, value ? GPU0 - 1 + value : 0);
        for (unsigned i = first; i < first + count; i++) {
            said[i] = what != 3;
            if (what == 3)
                preferred[i] = undefined, granularity[i] = 9;
            else
                *(what == 2 ? &granularity[i] : &preferred[i]) = value ? GPU0 - 1 + value : 0;
        }
        unsigned from = (seed >> 4) % PAGES, to = from + 1 + (seed >> 12) % (PAGES - from);
        uint32_t expected_preferred = undefined, expected_granularity = 9;
        bool any = false;
        for (unsigned i = from; i < to; i++) {
            if (!said[i])
                continue;
            if (!any)
                expected_preferred = preferred[i], expected_granularity = granularity[i];
            else if (expected_preferred != preferred[i])
                expected_preferred = undefined;
            if (expected_granularity > granularity[i])
                expected_granularity = granularity[i];
            any = true;
        }
        assert_int_equal(get(f, from, to - from, PREFERRED), expected_preferred);
        assert_int_equal(get(f, from, to - from, GRANULARITY), expected_granularity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_split_and_mix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(access_is_what_the_gpu_sees, set_up, tear_down),
        cmocka_unit_test_setup_teardown(registered_memory_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unmapped_memory_is_forgotten, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unmapping_takes_whole_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_access_with_xnack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(against_a_table, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
