/*
 * Large host pages for the store: what becomes one, what does not, and that nothing is lost. Where
 * the host has no MADV_COLLAPSE only the latter is tested.
 */
#include "test.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/driver/device_memory.h"

enum { CHUNKS = 64, SMALL = 4096, MIB = 1 << 20 };

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

static void set_up(struct bed *bed, uint64_t bytes)
{
    memset(bed, 0, sizeof *bed);
    assert_int_equal(rp_backing_open(&bed->store, 4096ull * MIB, 65536), 0);
    assert_int_equal(rp_backing_alloc(&bed->store, bytes, &bed->offset), 0);
    bed->bytes = bytes;
    bed->can = host_can() && !bed->store.strict;
}

static unsigned present(const struct bed *bed, uint64_t offset, uint64_t bytes)
{
    static unsigned char page[1024 * MIB / SMALL];
    unsigned count = 0;
    assert_int_equal(mincore(bed->store.window + offset, bytes, page), 0);
    for (size_t i = 0; i < bytes / SMALL; i++)
        count += page[i] & 1;
    return count;
}

/* As a look-up of the device does. Returns the range that needs no further look-up. */
static void use(struct bed *bed, uint64_t offset, uint64_t *begin, uint64_t *end)
{
    *begin = bed->offset;
    *end = bed->offset + bed->bytes;
    if (rp_large_pages_arrive(&bed->store.large, offset, begin, end))
        rp_large_pages_make(&bed->store.large, offset);
    assert_true(*begin <= offset && offset < *end);
    assert_true(*begin >= bed->offset && *end <= bed->offset + bed->bytes);
}

static void the_window_is_aligned(void **state)
{
    (void)state;
    struct bed bed;
    set_up(&bed, RP_LARGE_PAGE);
    assert_int_equal((uintptr_t)bed.store.window % RP_LARGE_PAGE, 0);
    rp_backing_close(&bed.store);
}

static void with_ample_memory_the_first_use_makes_it_large(void **state)
{
    (void)state;
    struct bed bed;
    uint64_t begin, end;
    set_up(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = bed.bytes;
    const uint64_t third = bed.offset + 3 * RP_LARGE_PAGE;
    uint8_t *at = bed.store.window + third;
    memset(at + 5 * SMALL, 0x5a, SMALL); /* the program was there before */
    use(&bed, third + 77, &begin, &end);
    assert_int_equal(begin, third);
    assert_int_equal(end, third + RP_LARGE_PAGE);
    assert_int_equal(present(&bed, bed.offset, bed.bytes), bed.can ? 512 : 1 + 1);
    for (size_t i = 0; i < RP_LARGE_PAGE; i++)
        assert_int_equal(at[i], i / SMALL == 5 ? 0x5a : 0);
    rp_backing_close(&bed.store);
}

static void what_is_used_up_to_its_ends_is_one_range(void **state)
{
    (void)state;
    struct bed bed;
    uint64_t begin, end;
    set_up(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE + 3 * SMALL);
    for (unsigned i = 0; i < CHUNKS; i++) {
        const unsigned chunk = i * 5 % CHUNKS; /* in some order */
        use(&bed, bed.offset + chunk * (uint64_t)RP_LARGE_PAGE + 8, &begin, &end);
    }
    assert_int_equal(begin, bed.offset);
    assert_int_equal(end, bed.offset + bed.bytes);
    use(&bed, bed.offset + bed.bytes - 1, &begin, &end); /* not a whole chunk */
    assert_int_equal(begin, bed.offset);
    rp_backing_close(&bed.store);
}

/* Goes through the buffer, upwards or downwards, and fills each range that it is given. */
static unsigned fill_in_order(struct bed *bed, bool downwards)
{
    unsigned look_ups = 0;
    uint64_t begin = 0, end = 0;
    for (uint64_t i = 0; i < bed->bytes / SMALL; i++) {
        const uint64_t at = bed->offset + (downwards ? bed->bytes / SMALL - 1 - i : i) * SMALL;
        if (at < begin || at >= end) {
            use(bed, at, &begin, &end);
            look_ups++;
        }
        bed->store.window[at] = (uint8_t)(1 + i % 251);
    }
    for (uint64_t i = 0; i < bed->bytes / SMALL; i++) {
        const uint64_t at = bed->offset + (downwards ? bed->bytes / SMALL - 1 - i : i) * SMALL;
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
        set_up(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
        bed.store.large.ample_bytes = 0;
        assert_int_equal(fill_in_order(&bed, downwards), CHUNKS);
        rp_backing_free(&bed.store, bed.offset, bed.bytes);
        assert_int_equal(rp_backing_alloc(&bed.store, bed.bytes, &bed.offset), 0);
        /* Again, and each chunk is looked at as soon as it is reached. */
        for (unsigned i = 0; i < CHUNKS; i++) {
            const unsigned n = downwards ? CHUNKS - 1 - i : i;
            const uint64_t chunk = bed.offset + n * (uint64_t)RP_LARGE_PAGE;
            use(&bed, chunk, &begin, &end);
            made += present(&bed, chunk, RP_LARGE_PAGE) == 512;
            for (unsigned page = 0; page < 512; page++)
                bed.store.window[chunk + page * SMALL] = 1;
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
    set_up(&bed, 1024ull * MIB);
    bed.store.large.ample_bytes = 0;
    for (unsigned i = 0; i < 512; i++) {
        const uint64_t at = bed.offset + (i * 129ull % 512) * RP_LARGE_PAGE;
        if (at < begin || at >= end) {
            use(&bed, at, &begin, &end);
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
    set_up(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = 0;
    for (unsigned i = 0; i < CHUNKS; i++) {
        const uint64_t at = bed.offset + i * (uint64_t)RP_LARGE_PAGE;
        use(&bed, at, &begin, &end);
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
    set_up(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = bed.bytes;
    use(&bed, bed.offset + 1, &begin, &end);
    memset(bed.store.window + bed.offset, 0xff, RP_LARGE_PAGE);
    rp_backing_free(&bed.store, bed.offset, bed.bytes);
    assert_int_equal(present(&bed, bed.offset, bed.bytes), bed.store.strict ? 512 * CHUNKS : 0);
    assert_int_equal(rp_backing_alloc(&bed.store, bed.bytes, &again), 0);
    assert_int_equal(again, bed.offset);
    use(&bed, bed.offset + 1, &begin, &end);
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
        bool make = rp_large_pages_arrive(&bed->store.large, at, &begin, &end);
        pthread_mutex_unlock(worker->lock);
        if (make)
            rp_large_pages_make(&bed->store.large, at);
        for (unsigned page = worker->id; page < 512; page += 2)
            memset(bed->store.window + at + page * SMALL, (int)(1 + worker->id), SMALL);
    }
    return NULL;
}

static void two_threads_lose_nothing(void **state)
{
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct bed bed;
    pthread_t thread;
    set_up(&bed, CHUNKS * (uint64_t)RP_LARGE_PAGE);
    bed.store.large.ample_bytes = bed.bytes;
    struct worker workers[2] = {{&bed, &lock, 0}, {&bed, &lock, 1}};
    assert_int_equal(pthread_create(&thread, NULL, fill_half, &workers[1]), 0);
    fill_half(&workers[0]);
    pthread_join(thread, NULL);
    for (uint64_t i = 0; i < bed.bytes; i += 512)
        assert_int_equal(bed.store.window[bed.offset + i], 1 + i / SMALL % 2);
    rp_backing_close(&bed.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
