/* Buffers, handles, mappings, sharing, and the store below them. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/driver/device_context.h"
#include "device/driver/device_memory.h"
#include "fake_exec.h"

enum { MIB = 1 << 20 };

static const uint64_t va0 = 0x100000000ull;

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

static struct rp_kfd_alloc alloc(struct rp_memory *memory, uint64_t va, uint64_t bytes,
                                 uint32_t flags)
{
    struct rp_kfd_alloc args = {.va = va, .bytes = bytes, .gpu_id = 2, .flags = flags};
    assert_int_equal(rp_memory_alloc(memory, 0, &args), 0);
    assert_int_not_equal(args.handle, 0);
    return args;
}

static const uint32_t vram = RP_KFD_MEM_VRAM | RP_KFD_MEM_WRITABLE;

static void one_memory_from_both_sides(void **state)
{
    struct rp_memory *memory = *state;
    struct rp_kfd_alloc args = alloc(memory, va0, 3 * MIB, vram);
    assert_null(rp_memory_translate(memory, 0, va0, 8, 1)); /* not mapped yet */
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    uint64_t *gpu = rp_memory_translate(memory, 0, va0 + 4096, 8, 1);
    assert_non_null(gpu);
    /* The runtime maps the device file where it wants the same bytes. */
    uint8_t *cpu = mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, memory->store.fd,
                        (off_t)args.mmap_offset);
    assert_ptr_not_equal(cpu, MAP_FAILED);
    *gpu = 0x1122334455667788ull;
    assert_memory_equal(cpu + 4096, gpu, 8);
    munmap(cpu, 3 * MIB);
    assert_null(rp_memory_translate(memory, 0, va0 + 3 * MIB - 4, 8, 0)); /* beyond the end */
    assert_int_equal(rp_memory_unmap(memory, args.handle, 1), 0);
    assert_null(rp_memory_translate(memory, 0, va0, 8, 0));
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    assert_int_equal(rp_memory_free(memory, args.handle), -EINVAL);
}

static void freed_memory_reads_as_zero(void **state)
{
    struct rp_memory *memory = *state;
    for (int round = 0; round < 3; round++) {
        struct rp_kfd_alloc args = alloc(memory, va0, MIB, vram);
        assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
        uint8_t *gpu = rp_memory_translate(memory, 0, va0, MIB, 1);
        for (int i = 0; i < MIB; i += 1000)
            assert_int_equal(gpu[i], 0);
        memset(gpu, 0xff, MIB);
        assert_int_equal(rp_memory_free(memory, args.handle), 0); /* unmaps, too */
    }
}

static void modelled_memory_runs_out(void **state)
{
    struct rp_memory *memory = *state;
    struct rp_kfd_alloc big = {.va = va0, .bytes = 65 * MIB, .flags = vram};
    assert_int_equal(rp_memory_alloc(memory, 0, &big), -ENOMEM);
    struct rp_kfd_alloc most = alloc(memory, va0, 60 * MIB, vram);
    assert_int_equal(rp_memory_available_vram(memory, 0), 4 * MIB);
    big.bytes = 5 * MIB;
    assert_int_equal(rp_memory_alloc(memory, 0, &big), -ENOMEM);
    big.flags = RP_KFD_MEM_GTT; /* another memory */
    assert_int_equal(rp_memory_alloc(memory, 0, &big), 0);
    assert_int_equal(rp_memory_free(memory, most.handle), 0);
    assert_int_equal(rp_memory_available_vram(memory, 0), 64 * MIB);
    struct rp_kfd_alloc none = {.va = va0, .bytes = 0, .flags = vram};
    assert_int_equal(rp_memory_alloc(memory, 0, &none), -EINVAL);
    none = (struct rp_kfd_alloc){.va = va0, .bytes = 4096, .flags = 0};
    assert_int_equal(rp_memory_alloc(memory, 0, &none), -EINVAL);
}

static void user_pages_and_read_only(void **state)
{
    struct rp_memory *memory = *state;
    int mine[1024];
    struct rp_kfd_alloc args = {.va = va0,
                                .bytes = sizeof mine,
                                .mmap_offset = (uintptr_t)mine,
                                .flags = RP_KFD_MEM_USERPTR};
    assert_int_equal(rp_memory_alloc(memory, 0, &args), 0);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    assert_ptr_equal(rp_memory_translate(memory, 0, va0 + 4, 4, 0), &mine[1]);
    assert_null(rp_memory_translate(memory, 0, va0 + 4, 4, 1));
    uint64_t begin, end;
    int64_t delta;
    assert_true(rp_memory_range(memory, 0, va0 + 8, 0, &begin, &end, &delta));
    assert_int_equal(begin, va0);
    assert_int_equal(end, va0 + sizeof mine);
    assert_int_equal(va0 + (uint64_t)delta, (uintptr_t)mine);
    assert_false(rp_memory_range(memory, 0, va0 + 8, 1, &begin, &end, &delta));
    assert_false(rp_memory_range(memory, 0, end, 0, &begin, &end, &delta));
}

static void descriptors_keep_buffers_alive(void **state)
{
    struct rp_memory *memory = *state;
    struct rp_buffer_object *buffer;
    int fd;
    struct rp_kfd_alloc args = alloc(memory, 0, 2 * MIB, vram); /* physical memory only */
    assert_int_equal(rp_memory_map(memory, args.handle, 1), -EINVAL);
    assert_int_equal(rp_memory_export(memory, args.handle, O_CLOEXEC, &fd), 0);
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    assert_int_equal(rp_memory_available_vram(memory, 0), 62 * MIB); /* the descriptor holds it */
    assert_int_equal(rp_memory_buffer_from_fd(memory, STDERR_FILENO, &buffer), -EINVAL);
    assert_int_equal(rp_memory_buffer_from_fd(memory, fd, &buffer), 0);
    assert_int_equal(buffer->bytes, 2 * MIB);
    close(fd);
    assert_int_equal(rp_memory_buffer_map(memory, 0, buffer, MIB, MIB, va0, true, false), 0);
    assert_int_equal(rp_memory_buffer_map(memory, 0, buffer, MIB, 2 * MIB, va0, true, false),
                     -EINVAL);
    assert_int_equal(rp_memory_buffer_map(memory, 0, buffer, 0, MIB, va0, true, false), -EEXIST);
    assert_int_equal(rp_memory_buffer_map(memory, 0, buffer, 0, MIB, va0, true, true), 0);
    assert_ptr_equal(rp_memory_translate(memory, 0, va0, 4, 1), buffer->host);
    assert_int_equal(rp_memory_va_unmap(memory, 0, va0, MIB), 0);
    rp_memory_buffer_unref(memory, buffer);
    alloc(memory, va0, 4096, vram); /* any call notices the closed descriptor */
    assert_int_equal(rp_memory_available_vram(memory, 0), 64 * MIB - 4096);
}

static void imports_are_second_handles(void **state)
{
    struct rp_memory *memory = *state;
    uint64_t second;
    int fd;
    struct rp_kfd_alloc args = alloc(memory, va0, MIB, vram);
    assert_int_equal(rp_memory_export(memory, args.handle, 0, &fd), 0);
    assert_int_equal(rp_memory_import(memory, 0, fd, va0 + 16 * MIB, &second), 0);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    assert_int_equal(rp_memory_map(memory, second, 1), 0);
    assert_ptr_equal(rp_memory_translate(memory, 0, va0, 4, 1),
                     rp_memory_translate(memory, 0, va0 + 16 * MIB, 4, 1));
    close(fd);
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    assert_int_equal(rp_memory_available_vram(memory, 0), 63 * MIB);
    assert_int_equal(rp_memory_free(memory, second), 0);
    assert_int_equal(rp_memory_available_vram(memory, 0), 64 * MIB);
}

static void other_processes_import(void **state)
{
    struct rp_memory *memory = *state, other;
    assert_int_equal(rp_memory_open(&other, 2, 64 * MIB, 32 * MIB), 0);
    for (int gtt = 0; gtt < 2; gtt++) { /* two memories have in common what two processes have */
        struct rp_buffer_object *buffer, *again;
        uint64_t handle, available = rp_memory_available_vram(&other, 0);
        int fd;
        struct rp_kfd_alloc args =
            alloc(memory, va0, MIB, (gtt ? RP_KFD_MEM_GTT : RP_KFD_MEM_VRAM) | RP_KFD_MEM_WRITABLE);
        assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
        uint32_t *theirs = rp_memory_translate(memory, 0, va0, MIB, 1);
        theirs[5] = 1234;
        assert_int_equal(rp_memory_export(memory, args.handle, O_CLOEXEC, &fd), 0);
        for (int round = 0; round < 2; round++) { /* looking does not use the descriptor up */
            assert_int_equal(rp_memory_buffer_from_fd(&other, fd, &buffer), 0);
            assert_int_equal(buffer->bytes, MIB);
            assert_int_equal(buffer->flags, args.flags);
            rp_memory_buffer_unref(&other, buffer);
        }
        assert_int_equal(rp_memory_import(&other, 1, fd, 2 * va0, &handle), 0);
        assert_int_equal(rp_memory_buffer_from_fd(&other, fd, &again), 0);
        close(fd);
        assert_int_equal(rp_memory_map(&other, handle, 2), 0);
        uint32_t *ours = rp_memory_translate(&other, 1, 2 * va0, MIB, 1);
        assert_ptr_equal(ours, again->host);
        assert_ptr_not_equal(ours, theirs);
        assert_int_equal(ours[5], 1234);
        ours[6] = 99;
        assert_int_equal(theirs[6], 99);
        assert_int_equal(rp_memory_available_vram(&other, 0), available);
        assert_int_equal(rp_memory_free(memory, args.handle), 0);
        args = alloc(memory, va0, MIB, args.flags); /* not the same bytes: they are in use */
        assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
        *(uint32_t *)rp_memory_translate(memory, 0, va0 + 20, 4, 1) = 77;
        assert_int_equal(ours[5], 1234);
        assert_int_equal(rp_memory_free(memory, args.handle), 0);
        rp_memory_buffer_unref(&other, again);
        const uint64_t *used = gtt ? &memory->gtt_used_bytes : &memory->vram_used_bytes[0];
        assert_int_equal(*used, MIB);
        assert_int_equal(rp_memory_free(&other, handle), 0);
        args = alloc(memory, va0, MIB, vram); /* the exporter looks for closed descriptors */
        assert_int_equal(rp_memory_free(memory, args.handle), 0);
        assert_int_equal(*used, 0);
    }
    rp_memory_close(&other);
}

static void strange_descriptors_are_refused(void **state)
{
    struct rp_memory *memory = *state;
    struct rp_buffer_object *buffer;
    char junk[4096];
    int ends[2];
    memset(junk, 0x5a, sizeof junk);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(rp_memory_buffer_from_fd(memory, ends[1], &buffer), -EINVAL); /* empty */
    assert_int_equal(write(ends[1], junk, sizeof junk), (int)sizeof junk);
    assert_int_equal(rp_memory_buffer_from_fd(memory, ends[1], &buffer), -EINVAL);
    assert_int_equal(read(ends[0], junk, sizeof junk), (int)sizeof junk); /* nothing was taken */
    assert_int_equal(rp_memory_buffer_from_fd(memory, -1, &buffer), -EINVAL);
    assert_int_equal(rp_memory_buffer_from_fd(memory, memory->store.fd, &buffer), -EINVAL);
    close(ends[0]);
    close(ends[1]);
}

/* Two GPUs: sizes and page tables of their own. */
static void each_gpu_has_its_own(void **state)
{
    struct rp_memory *memory = *state;
    struct rp_kfd_alloc args = {.va = va0, .bytes = 60 * MIB, .flags = vram};
    assert_int_equal(rp_memory_alloc(memory, 1, &args), 0);
    assert_int_equal(args.handle >> 32, 3); /* the driver's name of GPU 1 */
    assert_int_equal(rp_memory_available_vram(memory, 0), 64 * MIB);
    assert_int_equal(rp_memory_available_vram(memory, 1), 4 * MIB);
    assert_int_equal(rp_memory_map(memory, args.handle, 1u << 1), 0);
    assert_null(rp_memory_translate(memory, 0, va0, 8, 0));
    void *own = rp_memory_translate(memory, 1, va0, 8, 1);
    assert_non_null(own);
    assert_int_equal(rp_memory_map(memory, args.handle, 3), 0); /* opened to the peer */
    assert_ptr_equal(rp_memory_translate(memory, 0, va0, 8, 1), own);
    assert_int_equal(rp_memory_unmap(memory, args.handle, 1u << 0), 0);
    assert_null(rp_memory_translate(memory, 0, va0, 8, 0));
    assert_ptr_equal(rp_memory_translate(memory, 1, va0, 8, 1), own);
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    assert_null(rp_memory_translate(memory, 1, va0, 8, 0));
    assert_int_equal(rp_memory_available_vram(memory, 1), 64 * MIB);
}

/* All of eight large GPUs' memory together: addresses only, no page is touched. */
static void eight_full_gpus(void **state)
{
    (void)state;
    const uint64_t each = 192ull << 30;
    struct rp_memory memory;
    assert_int_equal(rp_memory_open(&memory, 8, each, MIB), 0);
    for (unsigned gpu = 0; gpu < 8; gpu++) {
        struct rp_kfd_alloc args = {.va = va0 + gpu * each, .bytes = each, .flags = vram};
        assert_int_equal(rp_memory_alloc(&memory, gpu, &args), 0);
        assert_int_equal(rp_memory_available_vram(&memory, gpu), 0);
    }
    rp_memory_close(&memory);
}

/* The SVM call as the thunk makes it. */
static int svm(struct rp_memory *memory, uint32_t op, void *start, uint64_t bytes, uint32_t *type,
               uint32_t value)
{
    struct {
        uint64_t start, bytes;
        uint32_t op, count, type, value;
    } args = {(uintptr_t)start, bytes, op, 1, *type, value};
    int rc = rp_svm_ioctl(memory, &args, sizeof args);
    *type = args.type;
    return rc;
}

static void shared_pages(void **state)
{
    struct rp_memory *memory = *state;
    const uint64_t page = 4096;
    uint8_t *pages =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t at = (uintptr_t)pages;
    uint32_t access = 2, in_place = 3, no_access = 4, bad = 8;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(svm(memory, 0, pages, 4 * page, &bad, 0), -EINVAL);
    assert_int_equal(svm(memory, 0, pages, 4 * page, &access, 99), -EINVAL); /* no such GPU */
    assert_int_equal(svm(memory, 1, pages, 4 * page, &access, 2), 0);
    assert_int_equal(access, no_access);
    assert_int_equal(svm(memory, 0, pages, 2 * page, &in_place, 2), 0);
    assert_int_equal(svm(memory, 0, pages, 4 * page, &in_place, 2), 0); /* only the rest is new */
    access = 2;
    assert_int_equal(svm(memory, 1, pages, 4 * page, &access, 2), 0);
    assert_int_equal(access, in_place);
    assert_ptr_equal(rp_memory_translate(memory, 0, at + page, page, 1), pages + page);
    rp_memory_host_unmapped(memory, at + page, page);
    assert_null(rp_memory_translate(memory, 0, at + page, 1, 0));
    assert_non_null(rp_memory_translate(memory, 0, at + 2 * page, 1, 0));
    /* A buffer at the same address takes the place of what the program left behind. */
    struct rp_kfd_alloc args = alloc(memory, at, 4 * page, vram);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    assert_ptr_not_equal(rp_memory_translate(memory, 0, at, 4 * page, 1), pages);
    rp_memory_host_unmapped(memory, at, 4 * page); /* does not touch buffers */
    assert_non_null(rp_memory_translate(memory, 0, at, 4 * page, 1));
    munmap(pages, 4 * page);
}

struct settling {
    struct rp_memory *memory;
    unsigned calls;
    uint64_t available_bytes; /* while running work was waited for */
    bool visible;
};

static void on_settle(void *ctx)
{
    struct settling *s = ctx;
    s->calls++;
    s->available_bytes = rp_memory_available_vram(s->memory, 0);
    s->visible = rp_memory_translate(s->memory, 0, va0, 8, 0) != NULL;
}

/* A kernel may be using memory that is freed: nobody else gets it before that has ended. */
static void freeing_waits_for_running_work(void **state)
{
    struct rp_memory *memory = *state;
    struct settling s = {.memory = memory};
    struct rp_kfd_alloc args = alloc(memory, va0, MIB, vram);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    fake_exec.on_settle = on_settle;
    fake_exec.settle_ctx = &s;
    assert_int_equal(rp_memory_unmap(memory, args.handle, 1), 0);
    assert_int_equal(s.calls, 1);
    assert_false(s.visible);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    fake_exec.on_settle = NULL;
    assert_int_equal(s.calls, 2);
    assert_false(s.visible);
    assert_int_equal(s.available_bytes, 63 * MIB); /* still taken */
    assert_int_equal(rp_memory_available_vram(memory, 0), 64 * MIB);
}

/* Registered pages that the program unmapped and mapped anew are there again when the runtime maps
 * its handle again. */
static void registered_pages_come_back(void **state)
{
    struct rp_memory *memory = *state;
    const uint64_t page = 4096;
    uint8_t *pages =
        mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    struct rp_kfd_alloc args = {.va = (uintptr_t)pages,
                                .bytes = 4 * page,
                                .gpu_id = 2,
                                .mmap_offset = (uintptr_t)pages,
                                .flags = RP_KFD_MEM_USERPTR | RP_KFD_MEM_WRITABLE};
    assert_int_equal(rp_memory_alloc(memory, 0, &args), 0);
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    rp_memory_host_unmapped(memory, args.va + page, 2 * page);
    assert_null(rp_memory_translate(memory, 0, args.va + page, 1, 0));
    assert_int_equal(rp_memory_map(memory, args.handle, 1), 0);
    assert_ptr_equal(rp_memory_translate(memory, 0, args.va, 4 * page, 1), pages);
    assert_int_equal(rp_memory_free(memory, args.handle), 0);
    assert_null(rp_memory_translate(memory, 0, args.va + page, 1, 0));
    munmap(pages, 4 * page);
}

/* The store against a list of what is held: nothing overlaps, everything comes back. */
static void store_never_overlaps(void **state)
{
    (void)state;
    enum { HELD = 64, ROUNDS = 4000 };
    struct {
        uint64_t offset, bytes;
    } held[HELD] = {0};
    struct rp_backing store;
    uint32_t seed = 7;
    unsigned allocated = 0;
    assert_int_equal(rp_backing_open(&store, 1024 * MIB, 65536), 0);
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned slot = seed >> 8 & (HELD - 1);
        if (held[slot].bytes) {
            rp_backing_free(&store, held[slot].offset, held[slot].bytes);
            held[slot].bytes = 0;
            continue;
        }
        uint64_t bytes = 1 + (seed >> 12) % (seed & 0x80 ? 8 * MIB : 40000), offset;
        if (rp_backing_alloc(&store, bytes, &offset) < 0)
            continue;
        allocated++;
        assert_int_equal(offset % RP_BACKING_PAGE, 0);
        assert_true(offset >= 65536 && offset + bytes <= 1024 * MIB);
        for (unsigned i = 0; i < HELD; i++)
            assert_true(!held[i].bytes || offset + bytes <= held[i].offset ||
                        held[i].offset + held[i].bytes <= offset);
        held[slot].offset = offset;
        held[slot].bytes = bytes;
    }
    assert_true(allocated > ROUNDS / 3);
    for (unsigned i = 0; i < HELD; i++)
        if (held[i].bytes)
            rp_backing_free(&store, held[i].offset, held[i].bytes);
    assert_int_equal(store.free.count, 1);
    assert_int_equal(store.free.items[0].begin, 65536);
    assert_int_equal(store.free.items[0].end, 1024 * MIB);
    rp_backing_close(&store);
}

/* Where the host promises nothing it lacks, an allocation takes memory at once, or fails. */
static void strict_hosts_refuse_early(void **state)
{
    (void)state;
    struct rp_backing store;
    struct stat before, during, after;
    uint64_t offset = 0, other = 0;
    assert_int_equal(rp_backing_open(&store, 1024 * MIB, 65536), 0);
    store.strict = true;
    assert_int_equal(fstat(store.fd, &before), 0);
    assert_int_equal(rp_backing_alloc(&store, 8 * MIB, &offset), 0);
    assert_int_equal(fstat(store.fd, &during), 0);
    assert_int_equal((during.st_blocks - before.st_blocks) * 512, 8 * MIB);
    rp_backing_free(&store, offset, 8 * MIB);
    assert_int_equal(fstat(store.fd, &after), 0);
    assert_int_equal(after.st_blocks, before.st_blocks);
    int usable = store.fd;
    store.fd = open("/dev/null", O_RDONLY); /* has no room for anything */
    assert_int_equal(rp_backing_alloc(&store, 8 * MIB, &other), -ENOMEM);
    close(store.fd);
    store.fd = usable;
    assert_int_equal(store.free.count, 1); /* as if nothing had happened */
    assert_int_equal(rp_backing_alloc(&store, 8 * MIB, &other), 0);
    assert_int_equal(other, offset);
    rp_backing_close(&store);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_memory_from_both_sides),
        TEST(freed_memory_reads_as_zero),
        TEST(modelled_memory_runs_out),
        TEST(user_pages_and_read_only),
        TEST(descriptors_keep_buffers_alive),
        TEST(imports_are_second_handles),
        TEST(other_processes_import),
        TEST(strange_descriptors_are_refused),
        TEST(each_gpu_has_its_own),
        cmocka_unit_test(eight_full_gpus),
        TEST(shared_pages),
        TEST(freeing_waits_for_running_work),
        TEST(registered_pages_come_back),
        cmocka_unit_test(store_never_overlaps),
        cmocka_unit_test(strict_hosts_refuse_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
