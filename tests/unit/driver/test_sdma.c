/* The DMA engine over plain memory (GPU address = host address). */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "device/driver/command_processor.h"
#include "device/isa/wave_state.h"

enum { RING_BYTES = 1024, DATA_BYTES = 64 << 10 };

struct bench {
    uint32_t ring[RING_BYTES / 4] __attribute__((aligned(256)));
    uint64_t read_pointer, write_pointer;
    struct rp_amd_signal signals[4] __attribute__((aligned(64)));
    uint64_t words[8];
    uint8_t source[DATA_BYTES], target[DATA_BYTES], expected[DATA_BYTES];
    /* From here on nothing is GPU memory. */
    struct rp_exec_host host;
    struct rp_clock clock;
    struct rp_events events;
    struct rp_store_times stores;
    struct rp_cp cp;
    struct rp_sdma_queue queue;
    bool target_is_host;
    int report[2];
};

static uint64_t va(const void *p)
{
    return (uintptr_t)p;
}

static void *translate(void *ctx, uint64_t gpu_va, uint64_t bytes, int write)
{
    (void)write;
    uint64_t begin = va(ctx), end = begin + offsetof(struct bench, host);
    return gpu_va >= begin && gpu_va + bytes <= end ? (void *)(uintptr_t)gpu_va : NULL;
}

/* In pieces of 16 KiB, so that copies cross mappings. */
static int range(void *ctx, uint64_t gpu_va, int write, uint64_t *ret_begin, uint64_t *ret_end,
                 int64_t *ret_delta)
{
    uint64_t end = va(ctx) + offsetof(struct bench, host);
    if (!translate(ctx, gpu_va, 1, write))
        return 0;
    *ret_begin = gpu_va & ~0x3fffull;
    if (*ret_begin < va(ctx))
        *ret_begin = va(ctx);
    *ret_end = (gpu_va | 0x3fff) + 1 < end ? (gpu_va | 0x3fff) + 1 : end;
    *ret_delta = 0;
    return 1;
}

static enum rp_memory_location place(void *ctx, uint64_t gpu_va)
{
    const struct bench *b = ctx;
    bool target = gpu_va >= va(b->target) && gpu_va < va(b->target) + sizeof b->target;
    return target && b->target_is_host ? RP_PLACE_HOST : RP_PLACE_LOCAL;
}

static int set_up(void **state)
{
    struct bench *b = aligned_alloc(256, (sizeof *b + 255) / 256 * 256);
    if (!b)
        return -1;
    memset(b, 0, sizeof *b);
    for (size_t i = 0; i < DATA_BYTES; i++)
        b->source[i] = (uint8_t)(i * 7 + (i >> 8));
    rp_events_init(&b->events);
    rp_store_times_init(&b->stores);
    b->clock.ticks = 1000;
    b->host =
        (struct rp_exec_host){.ctx = b, .translate = translate, .range = range, .place = place};
    if (pipe(b->report) < 0)
        return -1;
    b->cp = (struct rp_cp){.host = &b->host,
                           .arch = rp_arch_find("gfx942"),
                           .clock = &b->clock,
                           .events = &b->events,
                           .report_fd = b->report[1],
                           .stores = &b->stores};
    b->queue.enabled = true;
    *state = b;
    return rp_sdma_queue_init(&b->cp, &b->queue, va(b->ring), RING_BYTES, va(&b->read_pointer),
                              va(&b->write_pointer));
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    close(b->report[0]);
    close(b->report[1]);
    rp_store_times_release(&b->stores);
    free(b);
    return 0;
}

static void submit(struct bench *b, const uint32_t *dwords, size_t count)
{
    for (size_t i = 0; i < count; i++)
        b->ring[(b->write_pointer / 4 + i) % (RING_BYTES / 4)] = dwords[i];
    b->write_pointer += count * 4;
}

#define SUBMIT(b, ...)                                                                             \
    do {                                                                                           \
        const uint32_t packet_[] = {__VA_ARGS__};                                                  \
        submit(b, packet_, sizeof packet_ / sizeof *packet_);                                      \
    } while (0)
#define ADDRESS(p) (uint32_t) va(p), (uint32_t)(va(p) >> 32)

static enum rp_cp_progress drain(struct bench *b, uint64_t budget)
{
    enum rp_cp_progress last;
    for (int i = 0; i < 100000; i++)
        if ((last = rp_sdma_step(&b->cp, &b->queue, budget)) != RP_CP_PROGRESS)
            return last;
    fail_msg("no end");
    return RP_CP_IDLE;
}

static void submit_copy(struct bench *b, const void *to, const void *from, uint32_t bytes)
{
    SUBMIT(b, 1, bytes - 1, 0, ADDRESS(from), ADDRESS(to));
}

/* Facts sheet, point 31: the packets ROCr emits, in the order in which it emits them. */
static void point_31_copy_as_the_runtime_submits_it(void **state)
{
    struct bench *b = *state;
    uint32_t id, result;
    assert_int_equal(rp_events_create(&b->events, RP_KFD_EVENT_SIGNAL, true, &id), 0);
    b->signals[0].value = 1; /* depends on this one */
    b->signals[1].value = 1; /* completes that one */
    SUBMIT(b, 8 | 3u << 28 | 1u << 31, ADDRESS(&b->signals[0].value), 0, UINT32_MAX,
           4 | 0xfff << 16);
    SUBMIT(b, 13 | 2 << 8, ADDRESS(&b->words[0]));
    SUBMIT(b, 8, 0, 0x80000000, 0, 0, 0); /* flush of the host data path */
    submit_copy(b, b->target, b->source, 5000);
    SUBMIT(b, 13 | 2 << 8, ADDRESS(&b->words[1]));
    SUBMIT(b, 10 | 47u << 25, ADDRESS(&b->signals[1].value), UINT32_MAX, UINT32_MAX, 0, 0, 0);
    SUBMIT(b, 5, ADDRESS(&b->words[2]), id);
    SUBMIT(b, 6, id);
    assert_int_equal(drain(b, 1 << 20), RP_CP_WAITING);
    assert_int_equal(b->target[1], 0);
    b->signals[0].end_ticks = 1700;
    rp_clock_advance(&b->clock, 2000);
    b->signals[0].value = 0;
    assert_int_equal(drain(b, 1 << 20), RP_CP_IDLE);
    assert_memory_equal(b->target, b->source, 5000);
    assert_int_equal(b->target[5000], 0);
    assert_int_equal(b->words[0], 1700); /* not before what it waited for */
    assert_true(b->words[1] > b->words[0]);
    assert_int_equal(b->words[2], id);
    assert_int_equal(b->signals[1].value, 0);
    assert_int_equal(b->read_pointer, b->write_pointer);
    assert_int_equal(rp_signal_end_ticks(&b->cp, va(&b->signals[1].value)), b->words[1]);
    struct rp_kfd_event_data data = {.event_id = id};
    assert_int_equal(rp_events_wait(&b->events, &data, 1, true, 0, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_COMPLETE);
}

static void linear_copies_of_all_shapes(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 63, 4096, 4097, 16384, 40000};
    struct bench *b = *state;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned shift = 0; shift < 5; shift++) {
            for (uint64_t budget = 1000; budget < 1 << 20; budget *= 100) {
                memset(b->target, 0xee, DATA_BYTES);
                memset(b->expected, 0xee, DATA_BYTES);
                memcpy(b->expected + 2 * shift, b->source + shift, sizes[i]);
                submit_copy(b, b->target + 2 * shift, b->source + shift, sizes[i]);
                assert_int_equal(drain(b, budget), RP_CP_IDLE);
                assert_memory_equal(b->target, b->expected, DATA_BYTES);
            }
        }
    }
}

static void broadcast_copy_has_two_targets(void **state)
{
    struct bench *b = *state;
    SUBMIT(b, 1 | 1 << 27, 9999, 0, ADDRESS(b->source), ADDRESS(b->target),
           ADDRESS(b->target + 20000));
    assert_int_equal(drain(b, 700), RP_CP_IDLE);
    assert_memory_equal(b->target, b->source, 10000);
    assert_memory_equal(b->target + 20000, b->source, 10000);
    assert_int_equal(b->target[10000], 0);
}

static void rectangles_equal_a_plain_loop(void **state)
{
    struct bench *b = *state;
    for (unsigned element_log2 = 0; element_log2 <= 4; element_log2++) {
        uint32_t w = 5, h = 4, d = 3, sx = 1, sy = 2, sz = 1, tx = 2, ty = 1, tz = 0;
        uint32_t spitch = 11, sslice = 90, tpitch = 13, tslice = 101, e = 1u << element_log2;
        memset(b->target, 0, DATA_BYTES);
        memset(b->expected, 0, DATA_BYTES);
        for (uint32_t z = 0; z < d; z++)
            for (uint32_t y = 0; y < h; y++)
                for (uint32_t x = 0; x < w * e; x++)
                    b->expected[((z + tz) * tslice + (y + ty) * tpitch + tx) * e + x] =
                        b->source[((z + sz) * sslice + (y + sy) * spitch + sx) * e + x];
        SUBMIT(b, 1 | 4 << 8 | element_log2 << 29, ADDRESS(b->source), sx | sy << 16,
               sz | (spitch - 1) << 13, sslice - 1, ADDRESS(b->target), tx | ty << 16,
               tz | (tpitch - 1) << 13, tslice - 1, (w - 1) | (h - 1) << 16, d - 1);
        assert_int_equal(drain(b, 16), RP_CP_IDLE);
        assert_memory_equal(b->target, b->expected, DATA_BYTES);
    }
}

static void fills_repeat_their_element(void **state)
{
    static const uint32_t sizes[] = {4, 8, 4096, 4100, 20004};
    struct bench *b = *state;
    const uint32_t value = 0x87654321;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned log2 = 0; log2 <= 2; log2++) {
            memset(b->target, 0xee, DATA_BYTES);
            memset(b->expected, 0xee, DATA_BYTES);
            for (uint32_t j = 0; j < sizes[i]; j++)
                b->expected[4 + j] = (uint8_t)(value >> 8 * (j % (1u << log2)));
            SUBMIT(b, 11 | log2 << 30, ADDRESS(b->target + 4), value, sizes[i] - (1u << log2));
            assert_int_equal(drain(b, 3000), RP_CP_IDLE);
            assert_memory_equal(b->target, b->expected, DATA_BYTES);
        }
    }
}

static void atomics_of_both_widths(void **state)
{
    static const struct {
        unsigned operation; /* 64-bit */
        uint64_t old, source, compare, fresh;
    } cases[] = {
        {0x27, 5, 9, 0, 9},
        {0x28, 5, 9, 5, 9},
        {0x28, 5, 9, 6, 5},
        {0x2f, 5, 9, 0, 14},
        {0x30, 5, 2, 0, 3},
        {0x31, 5, (uint64_t)-2, 0, (uint64_t)-2},
        {0x32, 5, (uint64_t)-2, 0, 5},
        {0x33, 5, (uint64_t)-2, 0, 5},
        {0x34, 5, (uint64_t)-2, 0, (uint64_t)-2},
        {0x35, 12, 10, 0, 8},
        {0x36, 12, 10, 0, 14},
        {0x37, 12, 10, 0, 6},
        {0x38, 5, 5, 0, 0},
        {0x38, 4, 5, 0, 5},
        {0x39, 0, 5, 0, 5},
        {0x39, 4, 5, 0, 3},
        {0x39, 9, 5, 0, 5},
    };
    struct bench *b = *state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t s[] = {(uint32_t)cases[i].source, (uint32_t)(cases[i].source >> 32)};
        b->words[0] = b->words[1] = cases[i].old;
        b->words[1] |= 0xabcdull << 32;
        SUBMIT(b, 10 | cases[i].operation << 25, ADDRESS(&b->words[0]), s[0], s[1],
               (uint32_t)cases[i].compare, 0, 0);
        SUBMIT(b, 10 | (cases[i].operation - 0x20) << 25, ADDRESS(&b->words[1]), s[0], 0x1234,
               (uint32_t)cases[i].compare, 0x5678, 0);
        assert_int_equal(drain(b, 100), RP_CP_IDLE);
        assert_int_equal(b->words[0], cases[i].fresh);
        assert_int_equal(b->words[1], 0xabcdull << 32 | (uint32_t)cases[i].fresh);
    }
}

static void polls_compare(void **state)
{
    static const struct {
        unsigned function, waits, opens;
    } cases[] = {{1, 5, 4}, {2, 6, 5}, {3, 4, 5}, {4, 5, 4}, {5, 4, 5}, {6, 5, 6}};
    struct bench *b = *state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        b->words[0] = 0x7700 | cases[i].waits; /* the mask takes the rest away */
        SUBMIT(b, 8 | cases[i].function << 28 | 1u << 31, ADDRESS(&b->words[0]), 5, 0xff,
               0xfff << 16);
        SUBMIT(b, 5, ADDRESS(&b->words[1]), i + 1);
        assert_int_equal(drain(b, 100), RP_CP_WAITING);
        b->words[0] = cases[i].opens;
        assert_int_equal(drain(b, 100), RP_CP_IDLE);
        assert_int_equal(b->words[1], i + 1);
    }
}

static void nops_writes_and_wrapping(void **state)
{
    struct bench *b = *state;
    for (uint32_t round = 0; round < 200; round++) { /* many times around the ring */
        SUBMIT(b, (round % 5) << 16);
        for (uint32_t i = 0; i < round % 5; i++)
            SUBMIT(b, 0xffffffff); /* a NOP's own dwords are no packets */
        SUBMIT(b, 2, ADDRESS(b->target), 2, round, round + 1, round + 2);
        SUBMIT(b, 17 | 1 << 8, 0, 0, 0, 0);
        assert_int_equal(drain(b, 100), RP_CP_IDLE);
        assert_int_equal(b->read_pointer, b->write_pointer);
        uint32_t written[4];
        memcpy(written, b->target, sizeof written);
        assert_int_equal(written[0], round);
        assert_int_equal(written[2], round + 2);
        assert_int_equal(written[3], 0);
    }
    assert_true(b->read_pointer > 5 * RING_BYTES);
}

static void half_a_packet_waits_for_the_rest(void **state)
{
    struct bench *b = *state;
    submit_copy(b, b->target, b->source, 100);
    b->write_pointer -= 8;
    assert_int_equal(drain(b, 100), RP_CP_IDLE);
    assert_int_equal(b->read_pointer, 0);
    b->write_pointer += 8;
    assert_int_equal(drain(b, 100), RP_CP_IDLE);
    assert_memory_equal(b->target, b->source, 100);
}

static uint64_t copy_ticks(struct bench *b, uint32_t bytes)
{
    SUBMIT(b, 13 | 2 << 8, ADDRESS(&b->words[0]));
    submit_copy(b, b->target, b->source, bytes);
    SUBMIT(b, 13 | 2 << 8, ADDRESS(&b->words[1]));
    assert_int_equal(drain(b, 1 << 20), RP_CP_IDLE);
    return b->words[1] - b->words[0];
}

/* 57.6 GB/s over the link and a latency of 0.43 us: 48000 bytes take 0.83 + 0.43 us. */
static void copies_take_the_time_of_their_link(void **state)
{
    struct bench *b = *state;
    uint64_t local = copy_ticks(b, 48000);
    b->target_is_host = true;
    uint64_t host = copy_ticks(b, 48000);
    assert_in_range(host, 125, 128);
    assert_in_range(local, 44, 47);
    assert_int_equal(copy_ticks(b, 48000), host);
    assert_in_range(copy_ticks(b, 1), 43, 45);
}

static void refused(struct bench *b, const char *why)
{
    char text[400];
    assert_int_equal(drain(b, 1 << 20), RP_CP_IDLE);
    assert_true(b->queue.faulted);
    assert_true(rp_sdma_queue_idle(&b->queue));
    ssize_t n = read(b->report[0], text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(strncmp(text, "rocm-perf-device: SDMA queue 0, byte 0x0: ", 42), 0);
    if (!strstr(text, why))
        fail_msg("%s", text);
    assert_ptr_equal(strchr(text, '\n'), text + n - 1); /* one line */
}

static void unknown_packets_are_refused(void **state)
{
    struct bench *b = *state;
    SUBMIT(b, 12, 0, 0, 0);
    submit_copy(b, b->target, b->source, 100);
    refused(b, "opcode 12, sub-opcode 0) is not supported");
    assert_int_equal(b->target[1], 0); /* nothing goes on behind it */
    assert_int_equal(b->queue.fault_va, 0);
}

static void unmapped_source_is_refused(void **state)
{
    struct bench *b = *state;
    submit_copy(b, b->target, &b->host, 100);
    refused(b, "copy reads unmapped address 0x");
    assert_int_equal(b->queue.fault_va, va(&b->host));
}

static void unmapped_target_is_refused(void **state)
{
    struct bench *b = *state;
    SUBMIT(b, 11 | 2u << 30, 0x1000, 0, 1, 96);
    refused(b, "writes unmapped or read-only address 0x1000");
}

static void unaligned_atomic_is_refused(void **state)
{
    struct bench *b = *state;
    SUBMIT(b, 10 | 47u << 25, ADDRESS(b->source + 4), 1, 0, 0, 0, 0);
    refused(b, "atomic at unaligned address");
}

static void register_poll_is_refused(void **state)
{
    struct bench *b = *state;
    SUBMIT(b, 8 | 3u << 28, 0x1234, 0, 5, 0xff, 0xfff << 16);
    refused(b, "poll of a register is not supported");
}

static void bad_queues_are_refused(void **state)
{
    struct bench *b = *state;
    struct rp_sdma_queue q = {0};
    uint64_t r = va(&b->read_pointer), w = va(&b->write_pointer), ring = va(b->ring);
    assert_int_equal(rp_sdma_queue_init(&b->cp, &q, ring, 0, r, w), -EINVAL);
    assert_int_equal(rp_sdma_queue_init(&b->cp, &q, ring, 1000, r, w), -EINVAL);
    assert_int_equal(rp_sdma_queue_init(&b->cp, &q, ring + 4, 1024, r, w), -EINVAL);
    assert_int_equal(rp_sdma_queue_init(&b->cp, &q, ring, 1024, r + 4, w), -EINVAL);
    assert_int_equal(rp_sdma_queue_init(&b->cp, &q, 4096, 1024, r, w), -EFAULT);
}

/* However many addresses are stored to, each keeps its entry. */
static void store_times_are_not_lost(void **state)
{
    struct rp_store_times *times = &((struct bench *)*state)->stores;
    enum { COUNT = 20000 };
    const uint64_t base = 0x7f0000000000ull;
    for (uint64_t i = 0; i < COUNT; i++)
        rp_store_time_of(times, base + i * 4096, true)->ticks = i + 1;
    for (uint64_t i = 0; i < COUNT; i += 2) /* again, later */
        rp_store_time_of(times, base + i * 4096, true)->ticks = i + 5;
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(rp_store_time_of(times, base + i * 4096, false)->ticks,
                         i % 2 ? i + 1 : i + 5);
    assert_null(rp_store_time_of(times, base + 8, false));
    assert_null(rp_store_time_of(times, 0, false));
}

/* A value has the time of its store only as long as it is there, and no later one than now. */
static void a_store_time_is_that_of_its_value(void **state)
{
    struct bench *b = *state;
    const uint64_t at = va(&b->words[7]);
    b->clock.ticks = 1000;
    assert_int_equal(rp_signal_end_ticks(&b->cp, at), 0);
    rp_signal_store_begin(&b->cp);
    b->words[7] = 77;
    rp_signal_store_end(&b->cp, at + 4, &b->words[7],
                        300); /* the upper half: the same eight bytes */
    assert_int_equal(rp_signal_end_ticks(&b->cp, at), 300);
    b->clock.ticks = 200;
    assert_int_equal(rp_signal_end_ticks(&b->cp, at), 200);
    b->words[7] = 78; /* by someone who is not seen */
    assert_int_equal(rp_signal_end_ticks(&b->cp, at), 0);
    struct rp_happens_before causal;
    rp_happens_before_init(&causal, 0);
    rp_happens_before_activate(&causal);
    b->cp.causal = &causal; /* the host's submissions have their times: this one must be known */
    assert_int_equal(rp_signal_end_ticks(&b->cp, at), 200);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(point_31_copy_as_the_runtime_submits_it),
        TEST(linear_copies_of_all_shapes),
        TEST(broadcast_copy_has_two_targets),
        TEST(rectangles_equal_a_plain_loop),
        TEST(fills_repeat_their_element),
        TEST(atomics_of_both_widths),
        TEST(polls_compare),
        TEST(nops_writes_and_wrapping),
        TEST(half_a_packet_waits_for_the_rest),
        TEST(copies_take_the_time_of_their_link),
        TEST(unknown_packets_are_refused),
        TEST(unmapped_source_is_refused),
        TEST(unmapped_target_is_refused),
        TEST(unaligned_atomic_is_refused),
        TEST(register_poll_is_refused),
        TEST(bad_queues_are_refused),
        TEST(store_times_are_not_lost),
        TEST(a_store_time_is_that_of_its_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
