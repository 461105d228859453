/* The GPU's page table: edges by hand, everything else by random operations against a bitmap. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/driver/device_context.h"
#include "device/driver/device_memory.h"
#include "device/isa/wave_state.h"
#include "fake_exec.h"

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
    assert_null(vm_find(&vm, 99));
    assert_non_null(vm_find(&vm, 100));
    assert_null(vm_find(&vm, 400));
    assert_ptr_equal(vm_translate(&vm, 100, 1, true), (void *)1100);
    assert_ptr_equal(vm_translate(&vm, 150, 100, false), (void *)1150); /* same delta */
    assert_null(vm_translate(&vm, 150, 100, true));                     /* half read-only */
    assert_null(vm_translate(&vm, 250, 100, false));                    /* delta changes */
    assert_null(vm_translate(&vm, 399, 2, false));
    assert_null(vm_translate(&vm, 100, 0, false));
    assert_null(vm_translate(&vm, UINT64_MAX, 2, false));
    assert_int_equal(rp_vm_unmap(&vm, 150, 150), -EINVAL);
    assert_int_equal(rp_vm_unmap(&vm, 150, 160), 0); /* a hole in the middle */
    assert_non_null(vm_find(&vm, 149));
    assert_null(vm_find(&vm, 150));
    assert_non_null(vm_find(&vm, 160));
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
            void *host = vm_translate(&vm, at, bytes, write);
            assert_ptr_equal(host, expected(cells, at, at + bytes, write));
            hits += host != NULL;
            assert_int_equal(vm_find(&vm, at) != NULL, cells[at].mapped);
        }
    }
    assert_true(maps > 1000 && refused > 1000 && hits > 1000); /* the test did exercise them */
    rp_vm_release(&vm);
}

/* The program's own memory as XNACK lets a GPU see it. */

enum { PAGE = 4096, MIB = 1 << 20 };

static int memory_open(void **state)
{
    struct rp_memory *memory = malloc(sizeof *memory);
    *state = memory;
    return memory ? rp_memory_open(memory, 2, 64 * MIB, 32 * MIB) : -1;
}

static int memory_close(void **state)
{
    rp_memory_close(*state);
    free(*state);
    return 0;
}

static uint8_t *map_pages(size_t pages)
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
    uint8_t *p = map_pages(4);
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
    uint8_t *p = map_pages(6);
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
    uint8_t *later = map_pages(1);
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
    uint8_t *p = map_pages(6), *other = map_pages(1);
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
    uint8_t *p = map_pages(1);
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

/* The modelled memories, as the runtimes map_pages them, are not the program's memory. */
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

/* SVM attributes: what is set is what is answered, page by page; expected values are a plain table
 * of pages kept here. */

enum { PAGES = 24, GPUS = 2, GPU0 = 2 };
enum { PREFERRED, PREFETCH, ACCESS, IN_PLACE, NO_ACCESS, SET_FLAGS, CLEAR_FLAGS, GRANULARITY };
enum { HOST_ACCESS = 1, COHERENT = 2, GPU_READ_ONLY = 8, READ_MOSTLY = 32 };

static const uint32_t undefined = 0xffffffff;

struct fixture {
    struct rp_memory memory;
    uint8_t *pages;
};

static int ranges_open(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || rp_memory_open(&f->memory, GPUS, 64 * MIB, 32 * MIB) < 0)
        return -1;
    f->pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return f->pages == MAP_FAILED ? -1 : 0;
}

static int ranges_close(void **state)
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

/* Large host pages for the store: what becomes one, what does not, and that nothing is lost. Where
 * the host has no MADV_COLLAPSE only the latter is tested.
 */

enum { CHUNKS = 64 };

/* Not the device's own way of asking: a file of the test's. */
static bool host_can(void)
{
    const size_t bytes = 2 * RP_LARGE_PAGE;
    char *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(room, MAP_FAILED);
    const size_t before = RP_LARGE_PAGE - (uintptr_t)room % RP_LARGE_PAGE;
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, RP_LARGE_PAGE), 0);
    char *at = mmap(room + before % RP_LARGE_PAGE, RP_LARGE_PAGE, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_FIXED, fd, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    at[0] = 1;
    bool can = madvise(at, RP_LARGE_PAGE, 25 /* MADV_COLLAPSE */) == 0;
    munmap(room, bytes);
    close(fd);
    return can;
}

struct bed {
    struct rp_backing store;
    uint64_t offset, bytes;
    bool can;
};

static void bed_open(struct bed *bed, uint64_t bytes)
{
    memset(bed, 0, sizeof *bed);
    assert_int_equal(rp_backing_open(&bed->store, 4096ull * MIB, 65536), 0);
    assert_int_equal(rp_backing_alloc(&bed->store, bytes, &bed->offset), 0);
    bed->bytes = bytes;
    bed->can = host_can() && !bed->store.strict;
}

static unsigned present(const struct bed *bed, uint64_t offset, uint64_t bytes)
{
    static unsigned char page[1024 * MIB / SMALL_PAGE];
    unsigned count = 0;
    assert_int_equal(mincore(bed->store.window + offset, bytes, page), 0);
    for (size_t i = 0; i < bytes / SMALL_PAGE; i++)
        count += page[i] & 1;
    return count;
}

/* As a look-up of the device does. Returns the range that needs no further look-up. */
static void bed_use(struct bed *bed, uint64_t offset, uint64_t *begin, uint64_t *end)
{
    *begin = bed->offset;
    *end = bed->offset + bed->bytes;
    if (large_pages_arrive(&bed->store.large, offset, begin, end))
        rp_large_pages_make(&bed->store.large, offset);
    assert_true(*begin <= offset && offset < *end);
    assert_true(*begin >= bed->offset && *end <= bed->offset + bed->bytes);
}

static void the_window_is_aligned(void **state)
{
    (void)state;
    struct bed bed;
    bed_open(&bed, RP_LARGE_PAGE);
    assert_int_equal((uintptr_t)bed.store.window % RP_LARGE_PAGE, 0);
    rp_backing_close(&bed.store);
}

static void with_ample_memory_the_first_use_makes_it_large(void **state)
{
    (void)state;
    struct bed bed;
    uint64_t begin, end;
    bed_open(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = bed.bytes;
    const uint64_t third = bed.offset + 3 * RP_LARGE_PAGE;
    uint8_t *at = bed.store.window + third;
    memset(at + 5 * SMALL_PAGE, 0x5a, SMALL_PAGE); /* the program was there before */
    bed_use(&bed, third + 77, &begin, &end);
    assert_int_equal(begin, third);
    assert_int_equal(end, third + RP_LARGE_PAGE);
    assert_int_equal(present(&bed, bed.offset, bed.bytes), bed.can ? 512 : 1 + 1);
    for (size_t i = 0; i < RP_LARGE_PAGE; i++)
        assert_int_equal(at[i], i / SMALL_PAGE == 5 ? 0x5a : 0);
    rp_backing_close(&bed.store);
}

static void what_is_used_up_to_its_ends_is_one_range(void **state)
{
    (void)state;
    struct bed bed;
    uint64_t begin, end;
    bed_open(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE + 3 * SMALL_PAGE);
    for (unsigned i = 0; i < CHUNKS; i++) {
        const unsigned chunk = i * 5 % CHUNKS; /* in some order */
        bed_use(&bed, bed.offset + chunk * (uint64_t)RP_LARGE_PAGE + 8, &begin, &end);
    }
    assert_int_equal(begin, bed.offset);
    assert_int_equal(end, bed.offset + bed.bytes);
    bed_use(&bed, bed.offset + bed.bytes - 1, &begin, &end); /* not a whole chunk */
    assert_int_equal(begin, bed.offset);
    rp_backing_close(&bed.store);
}

/* Goes through the buffer, upwards or downwards, and fills each range that it is given. */
static unsigned fill_in_order(struct bed *bed, bool downwards)
{
    unsigned look_ups = 0;
    uint64_t begin = 0, end = 0;
    for (uint64_t i = 0; i < bed->bytes / SMALL_PAGE; i++) {
        const uint64_t at =
            bed->offset + (downwards ? bed->bytes / SMALL_PAGE - 1 - i : i) * SMALL_PAGE;
        if (at < begin || at >= end) {
            bed_use(bed, at, &begin, &end);
            look_ups++;
        }
        bed->store.window[at] = (uint8_t)(1 + i % 251);
    }
    for (uint64_t i = 0; i < bed->bytes / SMALL_PAGE; i++) {
        const uint64_t at =
            bed->offset + (downwards ? bed->bytes / SMALL_PAGE - 1 - i : i) * SMALL_PAGE;
        assert_int_equal(bed->store.window[at], 1 + i % 251);
        assert_int_equal(bed->store.window[at + 1], 0);
    }
    return look_ups;
}

static unsigned large_ones(const struct bed *bed)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CHUNKS; i++) {
        /* A page that is present where nobody wrote tells: only a large one has it. */
        const uint64_t chunk = bed->offset + i * (uint64_t)RP_LARGE_PAGE;
        count += present(bed, chunk, RP_LARGE_PAGE) == 512;
    }
    return count;
}

static void without_it_filled_neighbours_tell(void **state)
{
    (void)state;
    for (int downwards = 0; downwards < 2; downwards++) {
        struct bed bed;
        uint64_t begin, end;
        unsigned made = 0;
        bed_open(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
        bed.store.large.ample_bytes = 0;
        assert_int_equal(fill_in_order(&bed, downwards), CHUNKS);
        rp_backing_free(&bed.store, bed.offset, bed.bytes);
        assert_int_equal(rp_backing_alloc(&bed.store, bed.bytes, &bed.offset), 0);
        /* Again, and each chunk is looked at as soon as it is reached. */
        for (unsigned i = 0; i < CHUNKS; i++) {
            const unsigned n = downwards ? CHUNKS - 1 - i : i;
            const uint64_t chunk = bed.offset + n * (uint64_t)RP_LARGE_PAGE;
            bed_use(&bed, chunk, &begin, &end);
            made += present(&bed, chunk, RP_LARGE_PAGE) == 512;
            for (unsigned page = 0; page < 512; page++)
                bed.store.window[chunk + page * SMALL_PAGE] = 1;
        }
        assert_int_equal(made, bed.can ? CHUNKS - CHUNKS / 16 : 0);
        rp_backing_close(&bed.store);
    }
}

static void sparse_use_stays_sparse(void **state)
{
    (void)state;
    struct bed bed;
    uint64_t begin = 0, end = 0;
    unsigned look_ups = 0;
    bed_open(&bed, 1024ull * MIB);
    bed.store.large.ample_bytes = 0;
    for (unsigned i = 0; i < 512; i++) {
        const uint64_t at = bed.offset + (i * 129ull % 512) * RP_LARGE_PAGE;
        if (at < begin || at >= end) {
            bed_use(&bed, at, &begin, &end);
            look_ups++;
        }
        bed.store.window[at] = 1;
    }
    assert_int_equal(present(&bed, bed.offset, bed.bytes), 512);
    assert_in_range(look_ups, 1, 100); /* it gives up before 512 */
    assert_int_equal(begin, bed.offset);
    assert_int_equal(end, bed.offset + bed.bytes);
    rp_backing_close(&bed.store);
}

static void one_filled_chunk_does_not_fill_the_rest(void **state)
{
    (void)state;
    struct bed bed;
    uint64_t begin, end;
    bed_open(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = 0;
    for (unsigned i = 0; i < CHUNKS; i++) {
        const uint64_t at = bed.offset + i * (uint64_t)RP_LARGE_PAGE;
        bed_use(&bed, at, &begin, &end);
        memset(bed.store.window + at, 1, i == 0 ? RP_LARGE_PAGE : 1);
    }
    assert_in_range(large_ones(&bed), 1, 16);
    rp_backing_close(&bed.store);
}

static void what_was_freed_reads_as_zero(void **state)
{
    (void)state;
    struct bed bed;
    uint64_t begin, end, again;
    bed_open(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = bed.bytes;
    bed_use(&bed, bed.offset + 1, &begin, &end);
    memset(bed.store.window + bed.offset, 0xff, RP_LARGE_PAGE);
    rp_backing_free(&bed.store, bed.offset, bed.bytes);
    assert_int_equal(present(&bed, bed.offset, bed.bytes), bed.store.strict ? 512 * CHUNKS : 0);
    assert_int_equal(rp_backing_alloc(&bed.store, bed.bytes, &again), 0);
    assert_int_equal(again, bed.offset);
    bed_use(&bed, bed.offset + 1, &begin, &end);
    assert_int_equal(end - begin, RP_LARGE_PAGE); /* noticed anew */
    for (size_t i = 0; i < RP_LARGE_PAGE; i++)
        assert_int_equal(bed.store.window[bed.offset + i], 0);
    rp_backing_close(&bed.store);
}

struct worker {
    struct bed *bed;
    pthread_mutex_t *lock;
    unsigned id;
};

/* Each thread has every second page of all chunks. */
static void *fill_half(void *arg)
{
    struct worker *worker = arg;
    struct bed *bed = worker->bed;
    for (unsigned i = 0; i < CHUNKS; i++) {
        const uint64_t at = bed->offset + i * (uint64_t)RP_LARGE_PAGE;
        uint64_t begin = bed->offset, end = bed->offset + bed->bytes;
        pthread_mutex_lock(worker->lock);
        bool make = large_pages_arrive(&bed->store.large, at, &begin, &end);
        pthread_mutex_unlock(worker->lock);
        if (make)
            rp_large_pages_make(&bed->store.large, at);
        for (unsigned page = worker->id; page < 512; page += 2)
            memset(bed->store.window + at + page * SMALL_PAGE, (int)(1 + worker->id), SMALL_PAGE);
    }
    return NULL;
}

static void two_threads_lose_nothing(void **state)
{
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct bed bed;
    pthread_t thread;
    bed_open(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = bed.bytes;
    struct worker workers[2] = {{&bed, &lock, 0}, {&bed, &lock, 1}};
    assert_int_equal(pthread_create(&thread, NULL, fill_half, &workers[1]), 0);
    fill_half(&workers[0]);
    pthread_join(thread, NULL);
    for (uint64_t i = 0; i < bed.bytes; i += 512)
        assert_int_equal(bed.store.window[bed.offset + i], 1 + i / SMALL_PAGE % 2);
    rp_backing_close(&bed.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(random_operations),
        cmocka_unit_test_setup_teardown(only_with_xnack, memory_open, memory_close),
        cmocka_unit_test_setup_teardown(registered_pages_are_lent, memory_open, memory_close),
        cmocka_unit_test_setup_teardown(protections_count, memory_open, memory_close),
        cmocka_unit_test_setup_teardown(the_page_table_goes_first, memory_open, memory_close),
        cmocka_unit_test_setup_teardown(device_memory_is_not_the_programs, memory_open,
                                        memory_close),
        cmocka_unit_test_setup_teardown(defaults, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(bad_calls, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(ranges_split_and_mix, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(access_is_what_the_gpu_sees, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(registered_memory_stays, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(unmapped_memory_is_forgotten, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(unmapping_takes_whole_pages, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(no_access_with_xnack, ranges_open, ranges_close),
        cmocka_unit_test_setup_teardown(against_a_table, ranges_open, ranges_close),
        cmocka_unit_test(the_window_is_aligned),
        cmocka_unit_test(with_ample_memory_the_first_use_makes_it_large),
        cmocka_unit_test(what_is_used_up_to_its_ends_is_one_range),
        cmocka_unit_test(without_it_filled_neighbours_tell),
        cmocka_unit_test(sparse_use_stays_sparse),
        cmocka_unit_test(one_filled_chunk_does_not_fill_the_rest),
        cmocka_unit_test(what_was_freed_reads_as_zero),
        cmocka_unit_test(two_threads_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
