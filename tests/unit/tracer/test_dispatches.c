/**
 * @file test_dispatches.c
 * @brief The collector against a fake runtime: what it records, and what it must leave alone.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tracer/completions.h"
#include "unit/cmocka_all.h"
#include "unit/tracer/harness.h"

static void agents_are_recorded(void **state)
{
    struct rp_record_file *file = read_trace();
    const struct rp_rec_agent *gpu = &nth(file, RP_REC_AGENT, 1)->u.agent;
    const struct rp_record *prop;
    uint64_t simds = 0;

    (void)state;
    assert_int_equal(count_kind(file, RP_REC_AGENT), 2);
    assert_int_equal(gpu->handle, FAKE_GPU);
    assert_int_equal(gpu->type, 1);
    assert_int_equal(gpu->node_id, 90001);
    assert_int_equal(gpu->logical_index, 1);
    assert_int_equal(gpu->type_index, 0);
    assert_string_equal(rp_record_file_string(file, gpu->name_id), "gfx942");
    for (size_t i = 0; (prop = nth(file, RP_REC_AGENT_PROP, i)); i++)
        if (strcmp(rp_record_file_string(file, prop->u.agent_prop.key_id), "simd_count") == 0)
            simds = prop->u.agent_prop.value;
    assert_int_equal(simds, 304 * 4);
    rp_record_file_close(file);
}

static void kernels_are_recorded(void **state)
{
    struct rp_record_file *file;
    const struct rp_rec_kernel *kernel;
    const struct rp_rec_code_object *object;

    (void)state;
    fake.refuse_freeze = true;
    assert_int_not_equal(CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL), RP_HSA_SUCCESS);
    assert_int_equal(recorded(RP_REC_KERNEL), 0);
    fake.refuse_freeze = false;
    assert_int_equal(CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL), RP_HSA_SUCCESS);
    file = read_trace();
    object = &nth(file, RP_REC_CODE_OBJECT, 0)->u.code_object;
    assert_int_equal(object->id, 1);
    assert_int_equal(object->load_delta, -64);
    assert_string_equal(rp_record_file_string(file, object->uri_id),
                        "memory://1#offset=0x10&size=32");
    kernel = &nth(file, RP_REC_KERNEL, 0)->u.kernel;
    assert_string_equal(rp_record_file_string(file, kernel->name_id), "_Z3addPf.kd");
    assert_int_equal(kernel->code_object_id, 1);
    assert_int_equal(kernel->kernarg_bytes, 288);
    assert_int_equal(kernel->arch_vgpr_count, 12);
    assert_int_equal(kernel->accum_vgpr_count, 4);
    assert_int_equal(kernel->sgpr_count, 32);
    kernel = &nth(file, RP_REC_KERNEL, 1)->u.kernel;
    assert_int_equal(kernel->arch_vgpr_count, 128);
    assert_int_equal(kernel->accum_vgpr_count, 384);
    assert_int_equal(kernel->sgpr_count, 112);
    rp_record_file_close(file);
}

static void packet_without_signal(void **state)
{
    struct fake_queue *queue = create_queue();
    struct rp_record_file *file;
    const struct rp_rec_dispatch *d;

    (void)state;
    CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL);
    submit_one(queue, 0);
    assert_int_equal(queue->count, 1);
    assert_int_not_equal(queue->packets[0].completion, 0);
    fake_execute(queue, 1);
    wait_something(); /* from here on it must be in the file, whatever happens */
    file = read_trace();
    d = &nth(file, RP_REC_DISPATCH, 0)->u.dispatch;
    assert_int_equal(d->dispatch_id, 1);
    assert_int_equal(d->kernel_id, 1);
    assert_int_equal(d->agent, FAKE_GPU);
    assert_int_equal(d->start_ns, 1010);
    assert_int_equal(d->end_ns, 1020);
    assert_int_equal(d->grid[0], 640);
    assert_int_equal(d->grid[2], 3);
    assert_int_equal(d->workgroup[1], 2);
    assert_int_equal(d->group_bytes, 1024);
    assert_int_equal(d->private_bytes, 16);
    assert_int_equal(d->barrier_bit, 1);
    assert_int_equal(d->tid, gettid());
    assert_false(rp_record_file_complete(file)); /* not unloaded yet */
    rp_record_file_close(file);
    destroy_queue(queue);
}

static void programs_signal_stays(void **state)
{
    struct fake_queue *queue = create_queue();
    rp_hsa_signal signal = fake_signal(1);
    struct rp_record_file *file;

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        submit_one(queue, signal);
        assert_int_equal(queue->packets[0].completion, signal);
        fake_execute(queue, 1);
        assert_int_equal(((struct rp_amd_signal *)signal)->value, 0);
        /* The program reuses the signal at once: its times must have been taken. */
        if (i == 0)
            CORE(41, hsa_signal_store_relaxed)(signal, 1);
        else if (i == 1)
            CORE(57, hsa_signal_exchange_relaxed)(signal, 1);
        else
            CORE(38, hsa_signal_destroy)(signal);
    }
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_DISPATCH), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(nth(file, RP_REC_DISPATCH, i)->u.dispatch.start_ns, 1010 + 20 * i);
    assert_int_equal(rp_record_file_header(file)->lost_dispatches, 0);
    rp_record_file_close(file);
    destroy_queue(queue);
}

static void value_reset_behind_our_back(void **state)
{
    struct fake_queue *queue = create_queue();
    rp_hsa_signal signal = fake_signal(1);

    (void)state;
    submit_one(queue, signal);
    fake_execute(queue, 1);
    /* Through hsa_amd_signal_value_pointer. */
    __atomic_store_n(&((struct rp_amd_signal *)signal)->value, 1, __ATOMIC_RELAXED);
    submit_one(queue, signal);
    assert_int_equal(queue->packets[0].completion, signal);
    fake_execute(queue, 1);
    CORE(38, hsa_signal_destroy)(signal);
    assert_int_equal(recorded(RP_REC_DISPATCH), 2);
    destroy_queue(queue);
}

static void shared_signal_is_forwarded(void **state)
{
    struct fake_queue *queue = create_queue();
    rp_hsa_signal signal = fake_signal(2);
    struct rp_amd_signal *raw = (struct rp_amd_signal *)signal;

    (void)state;
    submit_one(queue, signal);
    submit_one(queue, signal);
    assert_int_not_equal(queue->packets[0].completion, signal);
    assert_int_not_equal(queue->packets[1].completion, queue->packets[0].completion);
    fake_execute(queue, 1);
    wait_something(); /* must not finish it without telling the program's signal */
    assert_int_equal(raw->value, 2);
    assert_int_equal(fake_run_handlers(), 1);
    assert_int_equal(raw->value, 1);
    assert_int_equal(raw->start_ts, 1010);
    assert_int_equal(raw->end_ts, 1020);
    fake_execute(queue, 1);
    assert_int_equal(fake_run_handlers(), 1);
    assert_int_equal(raw->value, 0);
    assert_int_equal(raw->end_ts, 1040);
    assert_int_equal(recorded(RP_REC_DISPATCH), 2);
    CORE(38, hsa_signal_destroy)(signal);
    destroy_queue(queue);
}

static void signal_pending_twice_is_forwarded(void **state)
{
    struct fake_queue *one = create_queue(), *two = create_queue();
    rp_hsa_signal signal = fake_signal(1);
    struct rp_record_file *file;

    (void)state;
    submit_one(one, signal);
    submit_one(two, signal);
    assert_int_equal(one->packets[0].completion, signal);
    assert_int_not_equal(two->packets[0].completion, signal);
    fake_execute(one, 1);
    fake_execute(two, 1);
    assert_int_equal(fake_run_handlers(), 1);
    assert_int_equal(((struct rp_amd_signal *)signal)->value, -1); /* as without the tool */
    file = read_trace();
    assert_int_equal(nth(file, RP_REC_DISPATCH, 0)->u.dispatch.start_ns, 1010);
    assert_int_equal(nth(file, RP_REC_DISPATCH, 1)->u.dispatch.start_ns, 1030);
    rp_record_file_close(file);
    CORE(38, hsa_signal_destroy)(signal);
    destroy_queue(one);
    destroy_queue(two);
}

static bool is_dispatch(const struct rp_hsa_packet *packet)
{
    return (packet->header & RP_AQL_TYPE_MASK) == RP_AQL_KERNEL_DISPATCH;
}

static void other_packets_pass_untouched(void **state)
{
    enum { COUNT = 200 };
    struct fake_queue *queue = create_queue();
    struct rp_hsa_packet packets[COUNT];
    size_t dispatches = 0;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        static const uint16_t types[] = {0, 3, 5, RP_AQL_KERNEL_DISPATCH}; /* vendor, barriers */

        memset(&packets[i], (int)(i + 1), sizeof(packets[i]));
        packets[i].header = types[i % 4];
        if (is_dispatch(&packets[i]))
            packets[i] = fake_dispatch(fake_kernel_object(0), 0);
        else if (packets[i].header != 0)
            packets[i].completion = 0; /* the pattern is no signal */
        dispatches += is_dispatch(&packets[i]);
    }
    fake_submit(queue, packets, COUNT);
    assert_int_equal(queue->count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        struct rp_hsa_packet got = queue->packets[i];

        if (is_dispatch(&got)) {
            assert_int_not_equal(got.completion, 0);
            got.completion = 0; /* the only change */
        } else {
            queue->packets[i].completion = 0; /* the pattern is no signal to execute with */
        }
        assert_memory_equal(&got, &packets[i], sizeof(got));
    }
    fake_execute(queue, COUNT);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), dispatches);
    destroy_queue(queue);
}

static void nothing_is_lost_when_the_pool_is_empty(void **state)
{
    enum { MANY = 5000 };
    struct fake_queue *queue = create_queue();

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        submit_one(queue, 0);
    for (size_t i = 1; i < MANY; i++) /* all waiting signals differ */
        assert_int_not_equal(queue->packets[i].completion, queue->packets[i - 1].completion);
    fake_execute(queue, MANY);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), MANY);
    assert_int_equal(header_now().lost_dispatches, 0);
    destroy_queue(queue);
}

struct slow_device {
    struct fake_queue *queue;
    pthread_mutex_t lock;
    size_t most; /* packets ever waiting */
    bool stop;
};

static struct slow_device slow;

static void *execute_slowly(void *data)
{
    (void)data;
    for (;;) {
        bool stop;

        pthread_mutex_lock(&slow.lock);
        if (slow.queue->count > slow.most)
            slow.most = slow.queue->count;
        if (slow.queue->count > 0)
            fake_execute(slow.queue, 1);
        stop = slow.stop && slow.queue->count == 0;
        pthread_mutex_unlock(&slow.lock);
        if (stop)
            return NULL;
        usleep(50);
    }
}

/* Stands for the hardware queue's own ordering of writer and packet processor. */
static void write_to_slow(const void *packets, uint64_t count)
{
    pthread_mutex_lock(&slow.lock);
    memcpy(slow.queue->packets + slow.queue->count, packets, count * sizeof(struct rp_hsa_packet));
    slow.queue->count += count;
    pthread_mutex_unlock(&slow.lock);
}

static void a_full_queue_is_waited_for(void **state)
{
    enum { SIZE = 64, MANY = 600 };
    const struct rp_hsa_packet packet = fake_dispatch(fake_kernel_object(0), 0);
    pthread_t device;

    (void)state;
    fake.queue_packets = SIZE;
    slow = (struct slow_device){.queue = create_queue(), .lock = PTHREAD_MUTEX_INITIALIZER};
    slow.queue->packets = calloc(2 * SIZE, sizeof(packet));
    assert_int_equal(pthread_create(&device, NULL, execute_slowly, NULL), 0);
    for (size_t i = 0; i < MANY; i++)
        slow.queue->callback(&packet, 1, i, slow.queue->callback_data, write_to_slow);
    pthread_mutex_lock(&slow.lock);
    slow.stop = true;
    pthread_mutex_unlock(&slow.lock);
    pthread_join(device, NULL);
    assert_in_range(slow.most, SIZE / 2, SIZE - 1); /* it was filled, never quite */
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), MANY);
    destroy_queue(slow.queue);
}

/* Nothing is known of barriers: a queue full of them must not be waited for. */
static void barriers_are_not_waited_for(void **state)
{
    struct rp_hsa_packet barrier = {.header = 3};
    struct fake_queue *queue;

    (void)state;
    fake.queue_packets = 64;
    queue = create_queue();
    for (size_t i = 0; i < 1000; i++)
        fake_submit(queue, &barrier, 1);
    assert_int_equal(queue->count, 1000);
    submit_one(queue, 0);
    fake_execute(queue, 1001);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), 1);
    destroy_queue(queue);
}

static struct rp_hsa_packet barrier(uint16_t header, rp_hsa_signal first, rp_hsa_signal last,
                                    rp_hsa_signal completion)
{
    struct rp_hsa_barrier_packet b = {
        .header = header, .waits = {first, 0, 0, 0, last}, .completion = completion};
    struct rp_hsa_packet packet;

    if ((header & RP_AQL_TYPE_MASK) == RP_AQL_VENDOR)
        b.amd_format = RP_AMD_FORMAT_BARRIER_VALUE;
    memcpy(&packet, &b, sizeof(packet));
    return packet;
}

/* Signals are used again: what counts is who was to complete them when the wait was submitted. */
static void waits_name_their_producers(void **state)
{
    struct fake_queue *one = create_queue(), *two = create_queue();
    rp_hsa_signal a = fake_signal(1), b = fake_signal(1), c = fake_signal(1), host = fake_signal(1);
    const struct rp_hsa_packet first[] = {
        fake_dispatch(fake_kernel_object(0), a),                  /* 1 */
        barrier(RP_AQL_VENDOR | RP_AQL_BARRIER_BIT, a, 0x666, b), /* 2 */
        barrier(RP_AQL_BARRIER_AND, a, host, 0),                  /* 3 */
    };
    const struct rp_hsa_packet second[] = {
        barrier(RP_AQL_BARRIER_OR, a, b, 0),     /* 4 */
        fake_dispatch(fake_kernel_object(0), 0), /* 5 */
    };
    static const struct {
        uint64_t order, waits[2];
        uint16_t type, bit, count, unknown;
        uint32_t queue;
    } wanted[] = {{2, {1}, RP_BARRIER_VALUE, 1, 1, 0, 0},
                  {3, {1}, RP_BARRIER_AND, 0, 1, 1, 0},
                  {4, {1, 2}, RP_BARRIER_OR, 0, 2, 0, 1},
                  {7, {6, 2}, RP_BARRIER_AND, 0, 2, 0, 1},
                  {9, {2}, RP_BARRIER_AND, 0, 1, 1, 0}};
    const rp_hsa_signal deps[] = {b, c};
    struct rp_hsa_packet late;
    struct rp_record_file *file;
    unsigned orders = 0;
    char from[8] = "", to[8];

    (void)state;
    fake_submit(one, first, 3);
    fake_submit(two, second, 2);
    fake_execute(one, 3);
    fake_execute(two, 2);
    CORE(41, hsa_signal_store_relaxed)(a, 1);
    submit_one(one, a);                          /* 6 */
    late = barrier(RP_AQL_BARRIER_AND, a, b, 0); /* 7: the old b, the new a */
    fake_submit(two, &late, 1);
    fake_execute(one, 1);
    fake_execute(two, 1);
    assert_int_equal(AMD(15, hsa_amd_memory_async_copy)(to, FAKE_GPU, from, FAKE_CPU, 8, 2, deps,
                                                        c), /* 8, waits for b; nobody for c yet */
                     RP_HSA_SUCCESS);
    CORE(38, hsa_signal_destroy)(a);
    late = barrier(RP_AQL_BARRIER_AND, a, b, 0); /* 9: what was destroyed is nobody's */
    fake_submit(one, &late, 1);
    fake_execute(one, 1);
    wait_something();
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_BARRIER), 5);
    for (size_t i = 0; i < 5; i++) {
        const struct rp_rec_barrier *got = &nth(file, RP_REC_BARRIER, i)->u.barrier;

        assert_int_equal(got->order, wanted[i].order);
        assert_int_equal(got->queue_index, wanted[i].queue);
        assert_int_equal(got->type, wanted[i].type);
        assert_int_equal(got->barrier_bit, wanted[i].bit);
        assert_int_equal(got->wait_count, wanted[i].count);
        assert_int_equal(got->unknown_count, wanted[i].unknown);
        assert_memory_equal(got->waits, wanted[i].waits, 8 * wanted[i].count);
    }
    assert_int_equal(count_kind(file, RP_REC_DISPATCH), 3);
    for (size_t i = 0; i < 3; i++) /* in any order: they are recorded when they are seen to end */
        orders |= 1u << nth(file, RP_REC_DISPATCH, i)->u.dispatch.order;
    assert_int_equal(orders, 1u << 1 | 1u << 5 | 1u << 6);
    assert_int_equal(nth(file, RP_REC_COPY, 0)->u.copy.order, 8);
    assert_int_equal(count_kind(file, RP_REC_WAIT), 1);
    assert_int_equal(nth(file, RP_REC_WAIT, 0)->u.wait.order, 8);
    assert_int_equal(nth(file, RP_REC_WAIT, 0)->u.wait.wait_count, 1);
    assert_int_equal(nth(file, RP_REC_WAIT, 0)->u.wait.unknown_count, 1);
    assert_int_equal(nth(file, RP_REC_WAIT, 0)->u.wait.waits[0], 2);
    rp_record_file_close(file);
    destroy_queue(one);
    destroy_queue(two);
    CORE(38, hsa_signal_destroy)(b);
    CORE(38, hsa_signal_destroy)(c);
    CORE(38, hsa_signal_destroy)(host);
}

/** One thread of a program that shares a queue: it takes places there and says who it is. */
struct taker {
    struct fake_queue *queue;
    enum { BY_ADD, BY_CAS, BY_STORE } how;
    uint64_t count, tid;
};

static void *take_places(void *data)
{
    struct taker *t = data;
    const uint64_t from = CORE(14, hsa_queue_load_write_index_relaxed)(&t->queue->handle);

    t->tid = (uint64_t)gettid();
    switch (t->how) {
    case BY_ADD:
        CORE(24, hsa_queue_add_write_index_screlease)(&t->queue->handle, t->count);
        break;
    case BY_CAS:
        CORE(17, hsa_queue_cas_write_index_scacq_screl)(&t->queue->handle, from, from + t->count);
        CORE(17, hsa_queue_cas_write_index_scacq_screl)
        (&t->queue->handle, from, from + 9); /* late */
        break;
    case BY_STORE:
        CORE(16, hsa_queue_store_write_index_screlease)(&t->queue->handle, from + t->count);
        break;
    }
    return NULL;
}

/* Who rings the doorbell hands over the packets of other threads, too; also where they took more
 * places than the queue has, and on the queue that comes where another one was. */
static void packets_are_of_who_took_their_places(void **state)
{
    struct taker takers[] = {{.how = BY_ADD, .count = 3},
                             {.how = BY_CAS, .count = 2},
                             {.how = BY_STORE, .count = 1},
                             {.how = BY_ADD, .count = 6}};
    const uint64_t all = 12;
    struct rp_record_file *file;
    struct fake_queue *queue;
    size_t n = 0;

    (void)state;
    fake.queue_packets = 4;
    for (unsigned round = 0; round < 2; round++) {
        queue = create_queue();
        for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++) {
            pthread_t thread;

            takers[i].queue = queue;
            assert_int_equal(pthread_create(&thread, NULL, take_places, &takers[i]), 0);
            pthread_join(thread, NULL);
        }
        for (uint64_t i = 0; i < all; i++) {
            submit_one(queue, 0);
            fake_execute(queue, 1);
        }
        wait_something();
        file = read_trace();
        for (size_t i = 0; i < sizeof(takers) / sizeof(*takers); i++)
            for (uint64_t k = 0; k < takers[i].count; k++)
                assert_int_equal(nth(file, RP_REC_DISPATCH, n++)->u.dispatch.tid, takers[i].tid);
        rp_record_file_close(file);
        destroy_queue(queue);
    }
}

/* Where a program was not seen to take a place, who hands the packet over is all that is known. */
static void a_place_that_nobody_took(void **state)
{
    struct rp_record_file *file;
    struct fake_queue *queue = create_queue();

    (void)state;
    submit_one(queue, 0);
    fake_execute(queue, 1);
    wait_something();
    file = read_trace();
    assert_int_equal(nth(file, RP_REC_DISPATCH, 0)->u.dispatch.tid, gettid());
    rp_record_file_close(file);
    destroy_queue(queue);
}

static void out_of_order_completion(void **state)
{
    struct fake_queue *queue = create_queue();

    (void)state;
    for (size_t i = 0; i < 300; i++)
        submit_one(queue, 0);
    for (size_t i = 299; i >= 1; i--)
        fake_execute_at(queue, i);
    fake_execute(queue, 1);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), 300);
    destroy_queue(queue);
}

static void no_signal_to_be_had(void **state)
{
    struct fake_queue *queue = create_queue();
    size_t given = 0;

    (void)state;
    fake.refuse_signals = true;
    for (size_t i = 0; i < 1000; i++)
        submit_one(queue, 0);
    for (size_t i = 0; i < 1000; i++)
        given += queue->packets[i].completion != 0;
    assert_true(given < 1000);
    fake_execute(queue, 1000);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), given);
    assert_int_equal(header_now().lost_dispatches, 1000 - given);
    destroy_queue(queue);
}

static void times_that_were_never_written_are_lost(void **state)
{
    struct fake_queue *queue = create_queue();

    (void)state;
    assert_int_equal(AMD(2, hsa_amd_profiling_set_profiler_enabled)(&queue->handle, 0), 0);
    assert_true(queue->profiled); /* we keep it on */
    queue->profiled = false;      /* hardware that does not write times */
    submit_one(queue, 0);
    fake_execute(queue, 1);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), 0);
    assert_int_equal(header_now().lost_dispatches, 1);
    destroy_queue(queue);
}

static void copies_are_recorded(void **state)
{
    rp_hsa_signal signal = fake_signal(1), shared = fake_signal(3);
    char from[64] = "x", to[64] = "";
    struct rp_record_file *file;
    const struct rp_rec_copy *copy;

    (void)state;
    assert_true(fake.copy_profiling);
    assert_int_equal(AMD(3, hsa_amd_profiling_async_copy_enable)(false), RP_HSA_SUCCESS);
    assert_true(fake.copy_profiling);
    assert_int_not_equal(
        AMD(15, hsa_amd_memory_async_copy)(NULL, FAKE_GPU, from, FAKE_CPU, 64, 0, NULL, signal),
        RP_HSA_SUCCESS);
    assert_int_equal(
        AMD(15, hsa_amd_memory_async_copy)(to, FAKE_GPU, from, FAKE_CPU, 64, 0, NULL, signal),
        RP_HSA_SUCCESS);
    CORE(41, hsa_signal_store_relaxed)(signal, 1);
    assert_int_equal(
        AMD(15, hsa_amd_memory_async_copy)(to, FAKE_GPU, from, FAKE_CPU, 64, 0, NULL, shared),
        RP_HSA_SUCCESS);
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_COPY), 1);
    copy = &nth(file, RP_REC_COPY, 0)->u.copy;
    assert_int_equal(copy->bytes, 64);
    assert_int_equal(copy->dst_agent, FAKE_GPU);
    assert_int_equal(copy->src_agent, FAKE_CPU);
    assert_int_equal(copy->end_ns - copy->start_ns, 10);
    assert_int_equal(rp_record_file_header(file)->lost_records, 1); /* the shared one, honestly */
    rp_record_file_close(file);
    CORE(38, hsa_signal_destroy)(signal);
    CORE(38, hsa_signal_destroy)(shared);
}

static void queue_destroyed_with_work(void **state)
{
    struct fake_queue *queue = create_queue();
    struct rp_trace_header header;

    (void)state;
    submit_one(queue, 0);
    submit_one(queue, 0);
    fake_execute(queue, 1);
    destroy_queue(queue);
    assert_int_equal(recorded(RP_REC_DISPATCH), 1);
    assert_int_equal(recorded(RP_REC_QUEUE_END), 1);
    header = header_now();
    assert_int_equal(header.lost_dispatches, 1);
    queue = create_queue();
    submit_one(queue, 0);
    fake_execute(queue, 1);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), 2);
    destroy_queue(queue);
}

/* The runtime's handler comes when the queue is long gone: its entries must still be there (more
 * than one chunk of them), the program gets its signal, and what was counted as lost stays so. */
static void handlers_outlive_the_queue(void **state)
{
    enum { MANY = 3 * RP_PENDING_CHUNK_ENTRIES };
    struct fake_queue *queue = create_queue();
    rp_hsa_signal signal = fake_signal(MANY + 1);

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        submit_one(queue, signal);
    fake_execute(queue, MANY);
    destroy_queue(queue);
    assert_int_equal(header_now().lost_dispatches, MANY);
    assert_int_equal(fake_run_handlers(), MANY);
    assert_int_equal(((struct rp_amd_signal *)signal)->value, 1);
    assert_in_range(((struct rp_amd_signal *)signal)->end_ts, 1020, 1000 + 20 * MANY);
    assert_int_equal(recorded(RP_REC_DISPATCH), 0);
    assert_int_equal(header_now().lost_dispatches, MANY);

    queue = create_queue(); /* nothing is counted twice: the rest is harvested as ever */
    submit_one(queue, 0);
    fake_execute(queue, 1);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), 1);
    CORE(38, hsa_signal_destroy)(signal);
    destroy_queue(queue);
}

static void queue_that_cannot_be_intercepted(void **state)
{
    struct fake_queue *queue;

    (void)state;
    fake.refuse_intercept = true;
    queue = create_queue();
    assert_false(queue->intercepted);
    submit_one(queue, 0);
    assert_int_equal(queue->packets[0].completion, 0);
    assert_true(header_now().flags & RP_TRACE_UNTRACED_QUEUE);
    destroy_queue(queue);
}

static struct rp_hsa_queue *error_source;
static void on_error(rp_hsa_status status, struct rp_hsa_queue *queue, void *data)
{
    (void)status;
    error_source = queue;
    ++*(int *)data;
}

static void errors_name_the_programs_queue(void **state)
{
    struct rp_hsa_queue *handle = NULL, inner = {0};
    struct fake_queue *queue;
    int calls = 0;

    (void)state;
    CORE(7, hsa_queue_create)(FAKE_GPU, 64, 0, on_error, &calls, 0, 0, &handle);
    queue = (struct fake_queue *)handle;
    queue->on_error(1, &inner, queue->on_error_data);
    assert_int_equal(calls, 1);
    assert_ptr_equal(error_source, handle);
    destroy_queue(queue);
}

/* Its shell outlives the failure, and may report errors of the queue beneath it. */
static void cooperative_queue_that_cannot_be_intercepted(void **state)
{
    enum { COOPERATIVE = RP_HSA_QUEUE_TYPE_COOPERATIVE };
    struct rp_hsa_queue *handle = NULL;
    int calls = 0;

    (void)state;
    mallopt(M_PERTURB, 0xa5); /* freed memory does not look like what it was */
    fake.refuse_register = true;
    CORE(7, hsa_queue_create)(FAKE_GPU, 64, COOPERATIVE, on_error, &calls, 0, 0, &handle);
    assert_ptr_equal(handle, fake.cooperative);
    assert_int_equal(fake.cooperative->users, 1);
    assert_non_null(fake.shell);
    fake.shell->on_error(1, handle, fake.shell->on_error_data);
    assert_int_equal(calls, 0); /* the program hears of it from its own queue */
    fake.cooperative->on_error(1, handle, fake.cooperative->on_error_data);
    assert_int_equal(calls, 1);
    mallopt(M_PERTURB, 0);
    assert_int_equal(CORE(9, hsa_queue_destroy)(handle), RP_HSA_SUCCESS);
    assert_null(fake.cooperative);
    assert_true(header_now().flags & RP_TRACE_UNTRACED_QUEUE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tool_load, tool_unload)
    const struct CMUnitTest tests[] = {
        TEST(cooperative_queue_that_cannot_be_intercepted),
        TEST(agents_are_recorded),
        TEST(kernels_are_recorded),
        TEST(packet_without_signal),
        TEST(programs_signal_stays),
        TEST(value_reset_behind_our_back),
        TEST(shared_signal_is_forwarded),
        TEST(signal_pending_twice_is_forwarded),
        TEST(other_packets_pass_untouched),
        TEST(nothing_is_lost_when_the_pool_is_empty),
        TEST(a_full_queue_is_waited_for),
        TEST(barriers_are_not_waited_for),
        TEST(waits_name_their_producers),
        TEST(packets_are_of_who_took_their_places),
        TEST(a_place_that_nobody_took),
        TEST(out_of_order_completion),
        TEST(no_signal_to_be_had),
        TEST(times_that_were_never_written_are_lost),
        TEST(copies_are_recorded),
        TEST(queue_destroyed_with_work),
        TEST(handlers_outlive_the_queue),
        TEST(queue_that_cannot_be_intercepted),
        TEST(errors_name_the_programs_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
