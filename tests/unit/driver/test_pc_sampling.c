/* PC sampling over plain memory (GPU address = host address): the driver's sessions, and records as
 * the runtime's trap handler would write them. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/driver/command_processor.h"
#include "device/isa/wave_state.h"
#include "device/timing/timing_model.h"
#include "fake_exec.h"

#include "device/driver/pc_sampling.c"

enum { ROOM = 4, WATERMARK = 2 };

struct bench {
    uint64_t handler[2];
    struct {
        struct buffers head;
        struct record record[2][ROOM];
    } memory;
    struct rp_amd_signal signals[2];
    struct rp_exec_host host;
    struct rp_events events;
    struct rp_clock clock;
    struct rp_arch arch;
    struct rp_pc_sampling sampling;
    struct rp_cp cp;
    struct rp_cp_queue queue;
};

static uint64_t test_va(const void *p)
{
    return (uintptr_t)p;
}

/* Only the bench is GPU memory. */
static void *test_translate(void *ctx, uint64_t gpu_va, uint64_t bytes, int write)
{
    const uint64_t begin = test_va(ctx), end = begin + sizeof(struct bench);

    (void)write;
    return gpu_va >= begin && gpu_va <= end && bytes <= end - gpu_va ? (void *)(uintptr_t)gpu_va
                                                                     : NULL;
}

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);

    if (!b)
        return -1;
    rp_timing_set_mode(RP_TIMING_DETAILED);
    b->arch = *rp_arch_find("gfx942");
    b->clock.ticks = 5000;
    b->host = (struct rp_exec_host){.ctx = b, .translate = test_translate};
    rp_events_init(&b->events);
    rp_pc_sampling_init(&b->sampling);
    b->cp = (struct rp_cp){.host = &b->host,
                           .arch = &b->arch,
                           .clock = &b->clock,
                           .events = &b->events,
                           .sampling = &b->sampling,
                           .patience_ns = INT64_MAX,
                           .report_fd = STDERR_FILENO};
    b->queue = (struct rp_cp_queue){.id = 3, .cp = &b->cp, .read_index = 9, .ring_packets = 8};
    b->handler[0] = test_va(&b->memory);
    b->memory.head.size = ROOM;
    for (int i = 0; i < 2; i++) {
        b->signals[i].value = 1;
        b->memory.head.use[i] =
            (struct buffer_use){.watermark = WATERMARK, .signal_va = test_va(&b->signals[i])};
    }
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static int call(struct bench *b, uint32_t operation, uint32_t trace_id)
{
    struct rp_kfd_pc_sample args = {.operation = operation, .trace_id = trace_id};

    return rp_pc_sampling_call(&b->sampling, &b->arch, &b->clock, &args);
}

/* @return the id of the session, or -errno */
static int create_session(struct bench *b, uint64_t interval, uint32_t method, uint32_t type)
{
    struct info info = {.interval = interval, .method = method, .type = type};
    struct rp_kfd_pc_sample args = {
        .operation = CREATE, .infos_ptr = test_va(&info), .info_count = 1};
    const int status = rp_pc_sampling_call(&b->sampling, &b->arch, &b->clock, &args);

    return status < 0 ? status : (int)args.trace_id;
}

static void begin_session(struct bench *b)
{
    assert_int_equal(create_session(b, 2, METHOD_HOST_TRAP, TYPE_MICROSECONDS), 1);
    assert_int_equal(call(b, START, 1), 0);
    rp_pc_sampling_set_handler(&b->sampling, test_va(b->handler));
}

static struct rp_pc_delivery samples(size_t count)
{
    struct rp_pc_delivery delivery = {.count = count, .end_ticks = 77};

    fake_exec = (struct fake_exec){.samples = count};
    assert_int_equal(rp_dispatch_sample(NULL, NULL, &(struct rp_pc_sampler_times){0, 200}, 1000,
                                        &delivery.samples, &delivery.count, &delivery.lost),
                     0);
    return delivery;
}

static bool deliver_some(struct bench *b, struct rp_pc_delivery *delivery)
{
    return rp_pc_sampling_deliver(&b->sampling, &b->cp, &b->queue, delivery);
}

/* ---- sessions ------------------------------------------------------------------------------ */

static void a_query_tells_one_method(void **state)
{
    struct bench *b = *state;
    struct info infos[2] = {{0}};
    struct rp_kfd_pc_sample args = {.operation = QUERY};

    assert_int_equal(rp_pc_sampling_call(&b->sampling, &b->arch, &b->clock, &args), 0);
    assert_int_equal(args.info_count, 1);
    assert_int_equal(args.version, 0x10002);
    args.infos_ptr = test_va(infos);
    args.info_count = 2;
    assert_int_equal(rp_pc_sampling_call(&b->sampling, &b->arch, &b->clock, &args), 0);
    assert_int_equal(args.info_count, 1);
    assert_int_equal(infos[0].method, METHOD_HOST_TRAP);
    assert_int_equal(infos[0].type, TYPE_MICROSECONDS);
    assert_int_equal(infos[0].least, 1);
    assert_true(infos[0].most == UINT64_MAX && infos[0].interval == 0 && infos[1].method == 0);
    create_session(b, 9, METHOD_HOST_TRAP, TYPE_MICROSECONDS);
    assert_int_equal(rp_pc_sampling_call(&b->sampling, &b->arch, &b->clock, &args), 0);
    assert_int_equal(infos[0].interval, 9);
}

static void only_host_traps_in_microseconds_are_created(void **state)
{
    struct bench *b = *state;

    assert_int_equal(create_session(b, 256, 2, 1), -EINVAL);
    assert_int_equal(create_session(b, 256, METHOD_HOST_TRAP, 1), -EINVAL);
    assert_int_equal(create_session(b, 0, METHOD_HOST_TRAP, TYPE_MICROSECONDS), -EINVAL);
    assert_int_equal(create_session(b, 7, METHOD_HOST_TRAP, TYPE_MICROSECONDS), 1);
    assert_int_equal(create_session(b, 7, METHOD_HOST_TRAP, TYPE_MICROSECONDS), 2);
    assert_int_equal(create_session(b, 8, METHOD_HOST_TRAP, TYPE_MICROSECONDS), -EEXIST);
    assert_int_equal(call(b, CREATE, 0), -EINVAL);
    for (int i = 3; i <= RP_PC_SAMPLING_SESSIONS; i++)
        assert_int_equal(create_session(b, 7, METHOD_HOST_TRAP, TYPE_MICROSECONDS), i);
    assert_int_equal(create_session(b, 7, METHOD_HOST_TRAP, TYPE_MICROSECONDS), -ENOMEM);
}

static void sessions_begin_and_end_in_order(void **state)
{
    struct bench *b = *state;

    assert_int_equal(call(b, START, 1), -EINVAL);
    assert_int_equal(call(b, START, 0), -EINVAL);
    assert_int_equal(call(b, STOP, 12345), -EINVAL);
    create_session(b, 2, METHOD_HOST_TRAP, TYPE_MICROSECONDS);
    assert_int_equal(rp_pc_sampling_times(&b->sampling).interval_ticks, 0);
    assert_int_equal(call(b, STOP, 1), -EALREADY);
    assert_int_equal(call(b, START, 1), 0);
    assert_int_equal(call(b, START, 1), -EALREADY);
    assert_int_equal(call(b, DESTROY, 1), -EBUSY);
    assert_int_equal(rp_pc_sampling_times(&b->sampling).interval_ticks, 2 * b->arch.timestamp_mhz);
    assert_int_equal(rp_pc_sampling_times(&b->sampling).epoch_ticks, 5000);
    assert_int_equal(call(b, STOP, 1), 0);
    assert_int_equal(rp_pc_sampling_times(&b->sampling).interval_ticks, 0);
    assert_int_equal(call(b, DESTROY, 1), 0);
    assert_int_equal(call(b, DESTROY, 1), -EINVAL);
    assert_int_equal(call(b, 99, 1), -EINVAL);
}

static void the_longest_interval_does_not_overflow(void **state)
{
    struct bench *b = *state;

    create_session(b, UINT64_MAX, METHOD_HOST_TRAP, TYPE_MICROSECONDS);
    assert_int_equal(call(b, START, 1), 0);
    assert_true(rp_pc_sampling_times(&b->sampling).interval_ticks == UINT64_C(1) << 40);
}

static void counts_timing_is_refused(void **state)
{
    struct bench *b = *state;

    rp_timing_set_mode(RP_TIMING_COUNTS);
    assert_int_equal(call(b, QUERY, 0), -EOPNOTSUPP);
    rp_timing_set_mode(RP_TIMING_DETAILED);
}

/* ---- records ------------------------------------------------------------------------------- */

static void a_record_is_as_the_trap_handler_writes_it(void **state)
{
    struct bench *b = *state;
    struct rp_pc_delivery delivery = samples(2);
    const struct record *r = &b->memory.record[0][1];

    begin_session(b);
    assert_true(deliver_some(b, &delivery));
    assert_null(delivery.samples);
    assert_int_equal(delivery.end_ticks, 77);
    assert_int_equal(b->memory.head.next, 2);
    assert_int_equal(b->memory.head.use[0].written, 2);
    assert_int_equal(r->pc, 0x1004);
    assert_int_equal(r->exec, 1);
    assert_int_equal(r->group_id[0], 1);
    assert_int_equal(r->group_id[1], 2);
    assert_int_equal(r->group_id[2], 3);
    assert_int_equal(r->wave_and_xcc, 5 | 6 << 8);
    /* Slot 7, SIMD 2, unit 9, engine 3, VMID 8, queue 3, compute. */
    assert_int_equal(r->hw_id, 7 | 2 << 4 | 9 << 8 | 3 << 13 | 8 << 20 | 3 << 24 | 1 << 30);
    assert_int_equal(r->ticks, 1200);
    assert_true(r->correlation == (1 | UINT64_C(3) << 32)); /* Packet 9 of a ring of 8. */
    assert_int_equal(b->signals[0].value, 1);
}

/* The signal tells of the record behind the watermark, and the rest waits for room. */
static void a_full_buffer_is_waited_for(void **state)
{
    struct bench *b = *state;
    struct rp_pc_delivery delivery = samples(6);

    begin_session(b);
    assert_false(deliver_some(b, &delivery));
    assert_int_equal(delivery.next, ROOM);
    assert_int_equal(b->signals[0].value, 0);
    assert_int_equal(b->memory.head.next, ROOM);
    assert_false(deliver_some(b, &delivery));
    b->memory.head.next = UINT64_C(1) << 63; /* The runtime exchanges the buffers. */
    assert_true(deliver_some(b, &delivery));
    assert_true(b->memory.head.next == ((UINT64_C(1) << 63) + 2));
    assert_int_equal(b->memory.head.use[1].written, 2);
    assert_int_equal(b->memory.record[1][1].pc, 0x1000 + 4 * 5);
    assert_int_equal(b->signals[1].value, 1);
}

/* As by the handler, what is lost is counted by the number of the next record. */
static void what_finds_no_room_in_time_is_lost(void **state)
{
    struct bench *b = *state;
    struct rp_pc_delivery delivery = samples(6);

    b->cp.patience_ns = 0;
    begin_session(b);
    assert_true(deliver_some(b, &delivery));
    assert_int_equal(b->memory.head.next, 6);
    assert_int_equal(b->memory.head.use[0].written, ROOM);
}

/* One kernel after the other would wait ten seconds. */
static void who_never_reads_is_waited_for_once(void **state)
{
    struct bench *b = *state;
    struct rp_pc_delivery delivery = samples(6);
    char text[400] = "";
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    b->cp.report_fd = ends[1];
    b->cp.patience_ns = 0;
    begin_session(b);
    assert_true(deliver_some(b, &delivery));
    b->cp.patience_ns = INT64_MAX;
    delivery = samples(3);
    assert_true(deliver_some(b, &delivery));
    assert_int_equal(b->memory.head.next, 9);
    b->memory.head.next = UINT64_C(1) << 63; /* It reads after all. */
    delivery = samples(6);
    assert_false(deliver_some(b, &delivery));
    free(delivery.samples);
    close(ends[1]);
    assert_in_range(read(ends[0], text, sizeof text - 1), 1, sizeof text - 1);
    assert_non_null(strstr(text, "PC sampling: the program does not empty its full buffers"));
    assert_ptr_equal(strchr(text, '\n') + 1, text + strlen(text));
    close(ends[0]);
}

/* Those that were not kept of a long dispatch are counted in the first buffer that is full. */
static void samples_that_were_not_kept_are_lost(void **state)
{
    struct bench *b = *state;
    struct rp_pc_delivery delivery = samples(6);

    delivery.lost = 1000;
    begin_session(b);
    assert_false(deliver_some(b, &delivery));
    assert_int_equal(b->memory.head.next, ROOM + 1000);
    assert_false(deliver_some(b, &delivery));
    assert_int_equal(b->memory.head.next, ROOM + 1000);
    b->memory.head.next = UINT64_C(1) << 63;
    assert_true(deliver_some(b, &delivery));
    assert_true(b->memory.head.next == ((UINT64_C(1) << 63) + 2));
}

static void nobody_gets_samples_of_a_stopped_session(void **state)
{
    struct bench *b = *state;
    struct rp_pc_delivery delivery = samples(6);

    begin_session(b);
    assert_false(deliver_some(b, &delivery));
    assert_int_equal(call(b, STOP, 1), 0);
    assert_true(deliver_some(b, &delivery));
    assert_int_equal(b->memory.head.next, ROOM);
}

static void addresses_that_lead_nowhere_end_it(void **state)
{
    struct bench *b = *state;
    struct rp_pc_delivery delivery = samples(3);

    begin_session(b);
    rp_pc_sampling_set_handler(&b->sampling, 0x1234);
    assert_true(deliver_some(b, &delivery));
    delivery = samples(3);
    rp_pc_sampling_set_handler(&b->sampling, test_va(b->handler));
    b->handler[0] = UINT64_MAX - 7;
    assert_true(deliver_some(b, &delivery));
    delivery = samples(3);
    b->handler[0] = test_va(&b->memory);
    b->memory.head.size = UINT32_MAX;
    b->memory.head.next = UINT64_C(3) << 62; /* Farther than there is memory. */
    b->cp.patience_ns = 0;
    assert_true(deliver_some(b, &delivery));
    assert_int_equal(b->memory.head.use[1].written, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_query_tells_one_method),
        TEST(only_host_traps_in_microseconds_are_created),
        TEST(sessions_begin_and_end_in_order),
        TEST(the_longest_interval_does_not_overflow),
        TEST(counts_timing_is_refused),
        TEST(a_record_is_as_the_trap_handler_writes_it),
        TEST(a_full_buffer_is_waited_for),
        TEST(what_finds_no_room_in_time_is_lost),
        TEST(who_never_reads_is_waited_for_once),
        TEST(samples_that_were_not_kept_are_lost),
        TEST(nobody_gets_samples_of_a_stopped_session),
        TEST(addresses_that_lead_nowhere_end_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
