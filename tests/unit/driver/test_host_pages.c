/* The program's own memory as XNACK lets a GPU see it. */
#include "fake_exec.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/driver/device_memory.h"
#include "device/isa/wave_state.h"

enum { PAGE = 4096, MIB = 1 << 20 };

static int set_up(void **state)
{
    struct rp_memory *memory = malloc(sizeof *memory);
    *state = memory;
    return memory ? rp_memory_open(memory, 2, 64 * MIB, 32 * MIB) : -1;
}

static int tear_down(void **state)
{
    rp_memory_close(*state);
    free(*state);
    return 0;
}

static uint8_t *map(size_t pages)
{
    uint8_t *p =
        mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

struct range {
    int found;
    uint64_t begin, end;
    int64_t delta;
};

static struct range look(struct rp_memory *memory, const void *at, int write)
{
    struct range r = {.delta = 77};
    r.found = rp_memory_range(memory, 0, (uintptr_t)at, write, &r.begin, &r.end, &r.delta);
    return r;
}

static void only_with_xnack(void **state)
{
    struct rp_memory *memory = *state;
    uint8_t *p = map(4);
    assert_false(look(memory, p, 0).found);
    assert_true(rp_memory_is_programs(memory, (uintptr_t)p, true));
    memory->xnack = true;
    struct range r = look(memory, p + 100, 1);
    assert_true(r.found && r.begin <= (uintptr_t)p && r.end >= (uintptr_t)p + 4 * PAGE);
    assert_int_equal(r.delta, 0);
    assert_true(fake_exec.lent_begin == r.begin && fake_exec.lent_end == r.end);
    /* Packets, signals and code lie in the GPU's own memory only. */
    assert_null(rp_memory_translate(memory, 0, (uintptr_t)p, 8, 0));
    assert_int_equal(rp_memory_place(memory, 0, (uintptr_t)p), RP_PLACE_HOST);
    munmap(p, 4 * PAGE);
}

static void protections_count(void **state)
{
    struct rp_memory *memory = *state;
    memory->xnack = true;
    uint8_t *p = map(6);
    /* rw r- rw -- rw rw */
    mprotect(p + PAGE, PAGE, PROT_READ);
    mprotect(p + 3 * PAGE, PAGE, PROT_NONE);
    struct range r = look(memory, p, 0);
    assert_true(r.found && r.end == (uintptr_t)p + 3 * PAGE); /* readable ones are one range */
    r = look(memory, p, 1);
    assert_true(r.found && r.end == (uintptr_t)p + PAGE);
    assert_false(look(memory, p + PAGE, 1).found);
    assert_true(look(memory, p + PAGE, 0).found);
    assert_false(look(memory, p + 3 * PAGE, 0).found);
    assert_true(look(memory, p + 4 * PAGE, 1).found);
    assert_false(look(memory, (void *)8, 0).found);
    /* What becomes accessible later is found, too. */
    mprotect(p + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE);
    assert_true(look(memory, p + 3 * PAGE, 1).found);
    uint8_t *later = map(1);
    *later = 1;
    assert_true(look(memory, later, 1).found);
    munmap(later, PAGE);
    munmap(p, 6 * PAGE);
}

/* The page table goes first: a range of the program's memory ends where it has something to say. */
static void the_page_table_goes_first(void **state)
{
    struct rp_memory *memory = *state;
    memory->xnack = true;
    uint8_t *p = map(6), *other = map(1);
    struct rp_kfd_alloc args = {.va = (uintptr_t)p + 2 * PAGE,
                                .bytes = PAGE,
                                .gpu_id = 2,
                                .mmap_offset = (uintptr_t)other,
                                .flags = RP_KFD_MEM_USERPTR};
    assert_int_equal(rp_memory_alloc(memory, 0, &args), 0);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    struct range r = look(memory, p + PAGE, 1);
    assert_true(r.found && r.end == (uintptr_t)p + 2 * PAGE);
    r = look(memory, p + 3 * PAGE, 1);
    assert_true(r.found && r.begin == (uintptr_t)p + 3 * PAGE);
    assert_true(r.end >= (uintptr_t)p + 6 * PAGE);
    r = look(memory, p + 2 * PAGE, 0);
    assert_true(r.found && (uintptr_t)p + 2 * PAGE + (uint64_t)r.delta == (uintptr_t)other);
    assert_false(look(memory, p + 2 * PAGE, 1).found); /* mapped read-only: that is the answer */
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    munmap(p, 6 * PAGE);
    munmap(other, PAGE);
}

/* What the page table shows of the program's own pages may vanish like what it says nothing of. */
static void registered_pages_are_lent(void **state)
{
    struct rp_memory *memory = *state;
    uint8_t *p = map(1);
    struct rp_kfd_alloc args = {.va = (uintptr_t)p,
                                .bytes = PAGE,
                                .gpu_id = 2,
                                .mmap_offset = (uintptr_t)p,
                                .flags = RP_KFD_MEM_USERPTR};
    fake_exec = (struct fake_exec){0};
    assert_int_equal(rp_memory_alloc(memory, 0, &args), 0);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    assert_true(look(memory, p, 0).found);
    assert_int_equal(fake_exec.lent_end, 0); /* nothing is guarded without XNACK */
    memory->xnack = true;
    assert_true(look(memory, p, 0).found);
    assert_true(fake_exec.lent_begin == (uintptr_t)p && fake_exec.lent_end == (uintptr_t)p + PAGE);
    fake_exec = (struct fake_exec){0};
    assert_non_null(rp_memory_translate(memory, 0, (uintptr_t)p, PAGE, 0));
    assert_true(fake_exec.lent_begin == (uintptr_t)p && fake_exec.lent_end == (uintptr_t)p + PAGE);
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    munmap(p, PAGE);
}

/* The modelled memories, as the runtimes map them, are not the program's memory. */
static void device_memory_is_not_the_programs(void **state)
{
    struct rp_memory *memory = *state;
    memory->xnack = true;
    struct rp_kfd_alloc args = {.va = 0x100000000ull,
                                .bytes = PAGE,
                                .gpu_id = 2,
                                .flags = RP_KFD_MEM_VRAM | RP_KFD_MEM_WRITABLE};
    assert_int_equal(rp_memory_alloc(memory, 0, &args), 0);
    void *cpu = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, memory->store.fd,
                     (off_t)args.mmap_offset);
    assert_ptr_not_equal(cpu, MAP_FAILED);
    assert_false(look(memory, cpu, 0).found);
    munmap(cpu, PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_with_xnack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(registered_pages_are_lent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(protections_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_page_table_goes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(device_memory_is_not_the_programs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
