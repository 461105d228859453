/* The packet processor over plain memory (GPU address = host address) and a scripted executor. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/driver/command_processor.h"
#include "device/driver/gpu_registers.h"
#include "device/isa/wave_state.h"
#include "fake_exec.h"

#include "device/driver/aql_queues.c"

enum { PACKETS = 8, SIGNALS = 8 };

struct bench {
    union rp_aql_packet ring[PACKETS] __attribute__((aligned(64)));
    struct rp_amd_signal signals[SIGNALS] __attribute__((aligned(64)));
    struct rp_amd_signal inactive __attribute__((aligned(64)));
    struct rp_amd_queue shared __attribute__((aligned(64)));
    uint32_t commands[16];
    struct rp_exec_host host;
    struct rp_clock clock;
    struct rp_events events;
    struct rp_registers registers;
    struct rp_cp cp;
    struct rp_cp_queue queue;
    int report[2]; /* pipe that catches the fault lines */
};

static uint64_t test_va(const void *p)
{
    return (uintptr_t)p;
}

/* Only the bench is GPU memory. */
static void *test_translate(void *ctx, uint64_t gpu_va, uint64_t bytes, int write)
{
    (void)write;
    uint64_t begin = test_va(ctx), end = begin + sizeof(struct bench);
    return gpu_va >= begin && gpu_va + bytes <= end ? (void *)(uintptr_t)gpu_va : NULL;
}

static int set_up(void **state)
{
    struct bench *b = aligned_alloc(64, (sizeof *b + 63) / 64 * 64);
    if (!b)
        return -1;
    memset(b, 0, sizeof *b);
    fake_exec = (struct fake_exec){.turns = 1, .ticks = 100};
    rp_events_init(&b->events);
    rp_registers_init(&b->registers, 1);
    b->clock.ticks = 1000;
    b->host = (struct rp_exec_host){.ctx = b, .translate = test_translate};
    if (pipe(b->report) < 0)
        return -1;
    b->cp = (struct rp_cp){.host = &b->host,
                           .clock = &b->clock,
                           .events = &b->events,
                           .report_fd = b->report[1],
                           .registers = &b->registers,
                           .patience_ns = INT64_MAX};
    for (int i = 0; i < PACKETS; i++)
        b->ring[i].header = RP_AQL_INVALID;
    for (int i = 0; i < SIGNALS; i++)
        b->signals[i].value = 1;
    b->shared.inactive_signal_va = test_va(&b->inactive);
    b->queue.enabled = true;
    *state = b;
    return cp_queue_init(&b->cp, &b->queue, test_va(b->ring), sizeof b->ring,
                         test_va(&b->shared.read_dispatch_id),
                         test_va(&b->shared.write_dispatch_id));
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    cp_queue_release(&b->queue);
    rp_registers_release(&b->registers);
    close(b->report[0]);
    close(b->report[1]);
    free(b);
    return 0;
}

/* As a producer does it: the body first, the header last. */
static union rp_aql_packet *reserve(struct bench *b)
{
    union rp_aql_packet *packet = &b->ring[b->shared.write_dispatch_id++ % PACKETS];
    memset((char *)packet + 2, 0, sizeof *packet - 2);
    return packet;
}

static void submit_dispatch(struct bench *b, struct rp_amd_signal *completion)
{
    union rp_aql_packet *p = reserve(b);
    p->dispatch.setup = 1;
    p->dispatch.workgroup_size[0] = 64;
    p->dispatch.grid_size[0] = 640;
    p->dispatch.kernel_object = 0x5000;
    p->dispatch.completion = completion ? test_va(completion) : 0;
    p->header = RP_AQL_DISPATCH | 1 << 8;
}

static void submit_barrier(struct bench *b, enum rp_aql_type type, struct rp_amd_signal *first,
                           struct rp_amd_signal *second, struct rp_amd_signal *completion)
{
    union rp_aql_packet *p = reserve(b);
    p->barrier.dependency[0] = first ? test_va(first) : 0;
    p->barrier.dependency[4] = second ? test_va(second) : 0;
    p->barrier.completion = test_va(completion);
    p->header = (uint16_t)type;
}

static enum rp_cp_progress test_step(struct bench *b)
{
    return cp_step(&b->cp, &b->queue, 1000);
}

/* Steps until there is no progress; returns the last test_step. */
static enum rp_cp_progress drain(struct bench *b)
{
    enum rp_cp_progress last;
    for (int i = 0; i < 1000; i++)
        if ((last = test_step(b)) != RP_CP_PROGRESS)
            return last;
    fail_msg("no end");
    return RP_CP_IDLE;
}

static void read_report(struct bench *b, char *text, size_t room)
{
    close(b->report[1]);
    b->report[1] = dup(STDERR_FILENO);
    ssize_t n = read(b->report[0], text, room - 1);
    assert_true(n > 0);
    text[n] = '\0';
}

static void point_29_completion_order(void **state)
{
    struct bench *b = *state;
    fake_exec.turns = 3;
    submit_dispatch(b, &b->signals[0]);
    assert_int_equal(test_step(b), RP_CP_PROGRESS);
    assert_int_equal(b->signals[0].value, 1);
    assert_int_equal(b->shared.read_dispatch_id, 0); /* the packet stays while its kernel runs */
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
    assert_int_equal(b->signals[0].start_ticks, 1000);
    assert_int_equal(b->signals[0].end_ticks, 1100);
    assert_int_equal(b->shared.read_dispatch_id, 1);
    assert_int_equal(b->ring[0].header, RP_AQL_INVALID);
    assert_int_equal(rp_clock_now(&b->clock), 1100);
    assert_int_equal(fake_exec.launch.kernel_object_va, 0x5000);
    assert_int_equal(fake_exec.launch.grid_size[0], 640);
    assert_int_equal(fake_exec.launch.packet_va, test_va(&b->ring[0]));
    assert_int_equal(fake_exec.launch.queue_va, test_va(&b->shared));
    assert_int_equal(fake_exec.freed, 1);
}

static void packets_follow_each_other(void **state)
{
    struct bench *b = *state;
    for (int round = 0; round < 5; round++) { /* more packets than the ring has slots */
        for (int i = 0; i < 4; i++) {
            b->signals[i].value = 1;
            submit_dispatch(b, &b->signals[i]);
        }
        assert_int_equal(drain(b), RP_CP_IDLE);
        for (int i = 1; i < 4; i++)
            assert_int_equal(b->signals[i].start_ticks, b->signals[i - 1].end_ticks);
    }
    assert_int_equal(fake_exec.launched, 20);
    assert_int_equal(b->shared.read_dispatch_id, 20);
}

static void reserved_slot_waits_for_its_header(void **state)
{
    struct bench *b = *state;
    union rp_aql_packet *first = reserve(b);
    submit_dispatch(b, &b->signals[1]); /* a later packet does not overtake */
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[1].value, 1);
    first->dispatch.completion = test_va(&b->signals[0]);
    first->header = RP_AQL_DISPATCH;
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
    assert_int_equal(b->signals[1].value, 0);
}

static void completion_wakes_its_event(void **state)
{
    struct bench *b = *state;
    uint32_t id, result;
    uint64_t mailbox_inside_bench = test_va(&b->commands[0]);
    assert_int_equal(rp_events_create(&b->events, RP_KFD_EVENT_SIGNAL, true, &id), 0);
    b->signals[0].event_id = id;
    b->signals[0].mailbox_va = mailbox_inside_bench;
    submit_dispatch(b, &b->signals[0]);
    drain(b);
    assert_int_equal(b->commands[0], id);
    struct rp_kfd_event_data data = {.event_id = id};
    assert_int_equal(rp_events_wait(&b->events, &data, 1, true, 0, &result), 0);
    assert_int_equal(result, RP_KFD_WAIT_COMPLETE);
}

static void barrier_and_waits_for_all(void **state)
{
    struct bench *b = *state;
    submit_barrier(b, RP_AQL_BARRIER_AND, &b->signals[1], &b->signals[2], &b->signals[0]);
    assert_int_equal(drain(b), RP_CP_WAITING);
    b->signals[1].value = 0;
    assert_int_equal(drain(b), RP_CP_WAITING);
    rp_clock_advance(&b->clock, 9000);
    b->signals[2].end_ticks = 5000;
    b->signals[2].value = 0;
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
    assert_int_equal(b->signals[0].start_ticks, 5000); /* the end of what it waited for */
    assert_int_equal(b->signals[0].end_ticks, 5000);
}

static void barrier_or_waits_for_one(void **state)
{
    struct bench *b = *state;
    submit_barrier(b, RP_AQL_BARRIER_OR, &b->signals[1], &b->signals[2], &b->signals[0]);
    assert_int_equal(drain(b), RP_CP_WAITING);
    b->signals[2].value = 0;
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
    submit_barrier(b, RP_AQL_BARRIER_OR, NULL, NULL, &b->signals[3]); /* nothing to wait for */
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[3].value, 0);
}

static void barrier_value_compares(void **state)
{
    static const struct {
        uint32_t condition;
        int64_t waits, opens;
    } cases[] = {{0, 6, 5}, {1, 5, 6}, {2, 5, 4}, {3, 4, 5}}; /* eq, ne, lt, gte against 5 */
    struct bench *b = *state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        union rp_aql_packet *p = reserve(b);
        b->signals[0].value = 1;
        b->signals[1].value = 0x7000 | cases[i].waits; /* the mask takes the rest away */
        p->barrier_value.format = RP_AQL_VENDOR_BARRIER_VALUE;
        p->barrier_value.signal = test_va(&b->signals[1]);
        p->barrier_value.value = 5;
        p->barrier_value.mask = 0xff;
        p->barrier_value.condition = cases[i].condition;
        p->barrier_value.completion = test_va(&b->signals[0]);
        p->header = RP_AQL_VENDOR;
        assert_int_equal(drain(b), RP_CP_WAITING);
        b->signals[1].value = cases[i].opens;
        assert_int_equal(drain(b), RP_CP_IDLE);
        assert_int_equal(b->signals[0].value, 0);
    }
}

static void submit_pm4(struct bench *b, unsigned opcode)
{
    union rp_aql_packet *p = reserve(b);
    b->commands[4] = 3u << 30 | 5u << 16 | opcode << 8; /* seven dwords */
    uint64_t at = test_va(&b->commands[4]);
    p->pm4.format = RP_AQL_VENDOR_PM4_IB;
    p->pm4.jump[0] = 3u << 30 | 2u << 16 | 0x3fu << 8;
    p->pm4.jump[1] = (uint32_t)at;
    p->pm4.jump[2] = (uint32_t)(at >> 32);
    p->pm4.jump[3] = 7;
    p->pm4.completion = test_va(&b->signals[0]);
    p->header = RP_AQL_VENDOR;
}

static void pm4_acquire_drops_code(void **state)
{
    struct bench *b = *state;
    submit_pm4(b, 0x58);
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
    assert_int_equal(fake_exec.invalidated, 1);
}

static void pm4_other_is_refused(void **state)
{
    struct bench *b = *state;
    char text[256];
    submit_pm4(b, 0x15);
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 1);
    assert_int_equal(b->inactive.value, RP_QUEUE_ERR_VENDOR_PACKET);
    read_report(b, text, sizeof text);
    assert_non_null(strstr(text, "PM4 command 0x15 is not supported"));
}

/* WAIT_REG_MEM: the queue waits until the host has written what the command asks for. */
static void pm4_waits_for_memory(void **state)
{
    struct bench *b = *state;
    uint32_t *command = &b->commands[4];
    const uint64_t at = test_va(&b->commands[0]);
    submit_pm4(b, 0x3c);
    command[1] = 3 | 1 << 4;
    command[2] = (uint32_t)at;
    command[3] = (uint32_t)(at >> 32);
    command[4] = 5;
    command[5] = 0xff;
    assert_int_equal(drain(b), RP_CP_WAITING);
    assert_int_equal(b->signals[0].value, 1);
    b->commands[0] = 5;
    b->clock.ticks += 1000; /* The kernel that wrote it has taken that long. */
    const uint64_t written = b->clock.ticks;
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
    assert_true(b->signals[0].end_ticks >= written);
}

static void fault_stops_the_queue(void **state)
{
    struct bench *b = *state;
    char text[512];
    fake_exec.fault = (struct rp_fault){
        .kind = RP_FAULT_UNIMPLEMENTED, .pc = 0x1234, .lane = 5, .text = "v_frob_b32 v0, v1"};
    submit_dispatch(b, &b->signals[0]);
    submit_dispatch(b, &b->signals[1]);
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 1); /* no result is ever claimed */
    assert_int_equal(b->signals[1].value, 1);
    assert_int_equal(fake_exec.launched, 1);
    assert_int_equal(fake_exec.freed, 1);
    assert_int_equal(b->inactive.value, RP_QUEUE_ERR_ILLEGAL_INSTRUCTION);
    read_report(b, text, sizeof text);
    assert_string_equal(text, "rocm-perf-device: kernel 0x5000: instruction not implemented: "
                              "v_frob_b32 v0, v1, pc 0x1234, lane 5\n");
}

/* Who has set its bound, or that faults end it, asks: the queue goes on, and nothing is said. */
static void ended_work_ends_like_any(struct bench *b, enum rp_fault_kind kind)
{
    fake_exec.fault = (struct rp_fault){.kind = kind, .lane = -1, .text = "too much"};
    submit_dispatch(b, &b->signals[0]);
    submit_dispatch(b, &b->signals[1]);
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
    assert_int_equal(b->signals[1].value, 0);
    assert_int_equal(fake_exec.freed, 2);
    assert_int_equal(b->inactive.value, 0);
}

static void bounded_work_ends_like_any(void **state)
{
    ended_work_ends_like_any(*state, RP_FAULT_BOUND);
}

static void a_fault_that_ends_ends_like_any(void **state)
{
    fake_exec.fault_ends = true;
    ended_work_ends_like_any(*state, RP_FAULT_MEMORY);
}

/* The kernel has run, but nobody can say how long it takes: the signal has no times to tell. */
static void without_memory_for_the_model_it_faults(void **state)
{
    struct bench *b = *state;
    char text[512];
    fake_exec.ticks_status = -1;
    fake_exec.fault = (struct rp_fault){
        .kind = RP_FAULT_NO_MEMORY, .pc = 0x1234, .lane = -1, .text = "none left"};
    submit_dispatch(b, &b->signals[0]);
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 1);
    assert_int_equal(fake_exec.freed, 1);
    assert_int_equal(b->inactive.value, RP_QUEUE_ERR_GROUP_MEMORY);
    read_report(b, text, sizeof text);
    assert_non_null(strstr(text, "out of host memory: none left"));
}

static void point_30_agent_dispatch_is_refused(void **state)
{
    struct bench *b = *state;
    char text[256];
    reserve(b)->header = RP_AQL_AGENT;
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->inactive.value, RP_QUEUE_ERR_PACKET);
    read_report(b, text, sizeof text);
    assert_non_null(strstr(text, "AQL packet type 4 is not supported"));
}

static void bad_signal_is_refused(void **state)
{
    struct bench *b = *state;
    struct rp_amd_signal elsewhere = {.value = 1};
    submit_dispatch(b, &elsewhere);
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(elsewhere.value, 1);
    assert_int_equal(b->inactive.value, RP_QUEUE_ERR_PACKET);
}

static void disabled_queue_rests(void **state)
{
    struct bench *b = *state;
    b->queue.enabled = false;
    submit_dispatch(b, &b->signals[0]);
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(fake_exec.launched, 0);
    b->queue.enabled = true;
    assert_int_equal(drain(b), RP_CP_IDLE);
    assert_int_equal(b->signals[0].value, 0);
}

static void bad_queues_are_refused(void **state)
{
    struct bench *b = *state;
    struct rp_cp_queue q = {0};
    uint64_t rptr = test_va(&b->shared.read_dispatch_id),
             wptr = test_va(&b->shared.write_dispatch_id);
    assert_int_equal(cp_queue_init(&b->cp, &q, test_va(b->ring), 0, rptr, wptr), -EINVAL);
    assert_int_equal(cp_queue_init(&b->cp, &q, test_va(b->ring), 3 * 64, rptr, wptr), -EINVAL);
    assert_int_equal(cp_queue_init(&b->cp, &q, test_va(b->ring), 65, rptr, wptr), -EINVAL);
    assert_int_equal(cp_queue_init(&b->cp, &q, test_va(b->ring), 64, rptr, wptr + 8), -EINVAL);
    assert_int_equal(cp_queue_init(&b->cp, &q, 4096, 64, rptr, wptr), -EFAULT);
}

static void waiting_is_known_while_all_wait(void **state)
{
    static struct rp_queues queues;
    struct bench *b = *state;
    rp_queues_init(&queues);
    queues.used = 2; /* the second slot is free */
    queues.slots[0].compute = &b->queue;
    fake_exec.turns = 4;
    fake_exec.waits = true;
    b->cp.patience_ns = INT64_MAX;
    assert_int_equal(rp_queues_only_wait_ns(&queues), 0); /* nothing runs */
    submit_dispatch(b, NULL);
    test_step(b); /* begins */
    assert_int_equal(rp_queues_only_wait_ns(&queues), 0);
    test_step(b);
    b->queue.waits_since_ns -= 7000000000; /* as if it had begun to wait earlier */
    assert_in_range(rp_queues_only_wait_ns(&queues), 7000000000, 700000000000);
    struct rp_cp_queue works = {.dispatch = b->queue.dispatch, .enabled = true};
    queues.slots[1].compute = &works;
    assert_int_equal(rp_queues_only_wait_ns(&queues), 0);
    queues.slots[1].compute = NULL;
    fake_exec.waits = false; /* it goes on */
    test_step(b);
    assert_int_equal(rp_queues_only_wait_ns(&queues), 0);
    fake_exec.waits = true;
    for (unsigned i = 0; i < 4; i++)
        test_step(b);
    assert_int_equal(b->queue.read_index, 1); /* over */
    assert_int_equal(rp_queues_only_wait_ns(&queues), 0);
}

/* What waits or runs for long is mentioned, once, by name and GPU. */
static void long_dispatches_are_mentioned(void **state)
{
    struct bench *b = *state;
    char text[1000] = "";
    fake_exec.turns = 10;
    fake_exec.counts = (struct rp_counts){.waves = 12, .wave_insts = 3456};
    fake_exec.waits = true;
    b->cp.patience_ns = 1; /* over at the second look */
    snprintf(b->cp.label, sizeof b->cp.label, "GPU 3, ");
    submit_dispatch(b, NULL);
    for (unsigned i = 0; i < 12; i++)
        test_step(b);
    fake_exec.waits = false;
    b->cp.patience_ns = 10ll * 1000 * 1000 * 1000;
    fake_exec.busy_ns = b->cp.patience_ns - 1;
    submit_dispatch(b, NULL);
    for (unsigned i = 0; i < 12; i++)
        test_step(b);
    fake_exec.busy_ns = b->cp.patience_ns; /* of any thread; this one has not worked at all */
    submit_dispatch(b, NULL);
    submit_dispatch(b, NULL); /* the same kernel: not again */
    for (unsigned i = 0; i < 24; i++)
        test_step(b);
    assert_int_equal(b->queue.read_index, 4);
    read_report(b, text, sizeof text);
    char *second = strchr(text, '\n');
    assert_non_null(second);
    *second++ = '\0';
    assert_string_equal(text,
                        "rocm-perf-device: GPU 3, kernel 0x5000: has waited for 0 seconds: all its "
                        "waves sleep or poll memory, until the host or another queue changes it");
    assert_string_equal(
        second, "rocm-perf-device: GPU 3, kernel 0x5000: has been running for 10 seconds "
                "of processor time: 12 waves have ended, 3456 instructions were executed\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(point_29_completion_order),
        TEST(packets_follow_each_other),
        TEST(reserved_slot_waits_for_its_header),
        TEST(long_dispatches_are_mentioned),
        TEST(waiting_is_known_while_all_wait),
        TEST(completion_wakes_its_event),
        TEST(barrier_and_waits_for_all),
        TEST(barrier_or_waits_for_one),
        TEST(barrier_value_compares),
        TEST(pm4_acquire_drops_code),
        TEST(pm4_other_is_refused),
        TEST(pm4_waits_for_memory),
        TEST(fault_stops_the_queue),
        TEST(bounded_work_ends_like_any),
        TEST(a_fault_that_ends_ends_like_any),
        TEST(without_memory_for_the_model_it_faults),
        TEST(point_30_agent_dispatch_is_refused),
        TEST(bad_signal_is_refused),
        TEST(disabled_queue_rests),
        TEST(bad_queues_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
