/**
 * @file test_tracer.c
 * @brief The collector's life: loading, unloading, forks, full disks, many threads at once.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/blocked_thread.h"
#include "tracer/tracer.h"
#include "unit/cmocka_all.h"
#include "unit/tracer/harness.h"

static void without_folder_it_is_inert(void **state)
{
    void *before[128];

    (void)state;
    unsetenv("ROCM_PERF_TRACE_DIR");
    fake_reset();
    memcpy(before, fake.core->fn, sizeof(before));
    assert_true(OnLoad(&fake.root, 3, 0, NULL));
    assert_memory_equal(before, fake.core->fn, sizeof(before));
    assert_int_equal(fake.signals_alive, 0);
    OnUnload();
    fake_free();
}

static void with_a_short_table_it_is_inert(void **state)
{
    void *before[128];

    (void)state;
    snprintf(tool_folder, sizeof(tool_folder), "/tmp/rp-test-tool-XXXXXX");
    assert_non_null(mkdtemp(tool_folder));
    setenv("ROCM_PERF_TRACE_DIR", tool_folder, 1);
    fake_reset();
    fake.core->version.minor_id = 16 + 123 * sizeof(void *); /* one entry short */
    memcpy(before, fake.core->fn, sizeof(before));
    assert_true(OnLoad(&fake.root, 3, 0, NULL));
    assert_memory_equal(before, fake.core->fn, sizeof(before));
    OnUnload();
    fake_free();
    assert_int_equal(rmdir(tool_folder), 0); /* nothing was created */
}

static void forked_child_leaves_the_file_alone(void **state)
{
    struct fake_queue *queue = create_queue();
    uint64_t before;
    pid_t child;
    int status;

    (void)state;
    before = header_now().committed_records;
    child = fork();
    if (child == 0) {
        submit_one(queue, 0);
        _exit(queue->packets[0].completion == 0 ? 0 : 1); /* passed through */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(header_now().committed_records, before);
    submit_one(queue, 0); /* the parent goes on */
    fake_execute(queue, 1);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), 1);
    destroy_queue(queue);
}

static void full_disk_is_counted(void **state)
{
    enum { MANY = 20000 };
    struct fake_queue *queue = create_queue();
    struct rlimit before, small;
    struct rp_trace_header header;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1500 * 1024; /* one window fits, two do not */
    setrlimit(RLIMIT_FSIZE, &small);
    for (size_t i = 0; i < MANY; i++) {
        submit_one(queue, 0);
        fake_execute(queue, 1);
        if (i % 100 == 99)
            wait_something();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    header = header_now();
    assert_true(header.lost_records > MANY / 2);
    assert_int_equal(recorded(RP_REC_DISPATCH) + header.lost_records, MANY);
    destroy_queue(queue);
}

static void submit_many(struct fake_queue *queue, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        submit_one(queue, 0);
        fake_execute(queue, 1);
        if (i % 100 == 99)
            wait_something();
    }
}

/* Kernels and a queue come while the disk is full; when it is not any more, dispatches of them are
 * recorded, and the trace can be read. */
static void full_disk_recovers(void **state)
{
    enum { MANY = 10000 };
    struct fake_queue *before_full = create_queue(), *queue;
    struct rlimit before, small;
    struct rp_record_file *file;
    const struct rp_rec_dispatch *last;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1500 * 1024; /* one window fits, two do not */
    setrlimit(RLIMIT_FSIZE, &small);
    submit_many(before_full, MANY);
    CORE(86, hsa_executable_freeze)(FAKE_EXECUTABLE, NULL);
    queue = create_queue();
    setrlimit(RLIMIT_FSIZE, &before);
    submit_many(queue, MANY);
    file = read_trace();
    assert_int_equal(count_kind(file, RP_REC_KERNEL), 0);
    assert_int_equal(count_kind(file, RP_REC_QUEUE), 1);
    last = &nth(file, RP_REC_DISPATCH, count_kind(file, RP_REC_DISPATCH) - 1)->u.dispatch;
    assert_int_equal(last->dispatch_id, 2 * MANY);
    assert_int_equal(last->kernel_id, 1);
    assert_int_equal(last->queue_index, 1);
    assert_false(rp_record_file_complete(file));
    rp_record_file_close(file);
    destroy_queue(before_full);
    destroy_queue(queue);
}

static void unload_closes(void **state)
{
    struct fake_queue *queue;
    struct rp_record_file *file;

    tool_load(state);
    queue = create_queue();
    submit_one(queue, 0);
    fake_execute(queue, 1);
    destroy_queue(queue);
    CORE(1, hsa_shut_down)();
    assert_int_equal(fake.signals_alive, 0); /* the pools were given back in time */
    OnUnload();
    file = read_trace();
    assert_true(rp_record_file_complete(file));
    assert_int_equal(count_kind(file, RP_REC_DISPATCH), 1);
    assert_true(rp_record_file_header(file)->fini_ns >= rp_record_file_header(file)->init_ns);
    rp_record_file_close(file);
    OnUnload(); /* twice is once */
    tool_unload(state);
}

static void unload_with_running_kernel(void **state)
{
    struct fake_queue *queue;
    struct rp_record_file *file;

    tool_load(state);
    queue = create_queue();
    submit_one(queue, 0);
    CORE(1, hsa_shut_down)(); /* waits, but not for ever */
    OnUnload();
    file = read_trace();
    assert_true(rp_record_file_header(file)->flags & RP_TRACE_CLOSED);
    assert_int_equal(rp_record_file_header(file)->lost_dispatches, 1);
    assert_false(rp_record_file_complete(file));
    rp_record_file_close(file);
    submit_one(queue, 0); /* late, into hooks of an unloaded tool */
    assert_int_equal(queue->packets[1].completion, 0);
    destroy_queue(queue);
    tool_unload(state);
}

enum { THREADS = 4, PER_THREAD = 3000 };

static void *submit_and_wait(void *data)
{
    struct fake_queue *queue = create_queue();
    rp_hsa_signal signal = fake_signal(1);

    (void)data;
    for (int i = 0; i < PER_THREAD; i++) {
        bool with_signal = i % 7 == 6;

        submit_one(queue, with_signal ? signal : 0);
        if (!with_signal && i % 5 != 0)
            continue;
        fake_execute(queue, queue->count);
        if (with_signal) {
            if (i % 2)
                CORE(44, hsa_signal_wait_scacquire)(signal, RP_HSA_CONDITION_LT, 1, 1, 0);
            CORE(102, hsa_signal_silent_store_relaxed)(signal, 1);
        }
    }
    fake_execute(queue, queue->count);
    CORE(38, hsa_signal_destroy)(signal);
    destroy_queue(queue);
    return NULL;
}

static void many_threads(void **state)
{
    pthread_t threads[THREADS];
    struct rp_record_file *file;
    size_t count;
    const struct rp_record *records;
    static uint8_t seen[THREADS * PER_THREAD + 1];

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_and_wait, NULL), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    file = read_trace();
    records = rp_record_file_records(file, &count);
    memset(seen, 0, sizeof(seen));
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_dispatch *d = &records[i].u.dispatch;

        if (records[i].kind != RP_REC_DISPATCH)
            continue;
        assert_in_range(d->dispatch_id, 1, THREADS * PER_THREAD);
        assert_int_equal(d->end_ns > d->start_ns, 1);
        assert_int_equal(seen[d->dispatch_id]++, 0);
    }
    assert_int_equal(count_kind(file, RP_REC_QUEUE), THREADS);
    for (size_t i = 1; i <= THREADS * PER_THREAD; i++)
        assert_int_equal(seen[i], 1);
    rp_record_file_close(file);
}

static uint32_t giver_tid; /* atomic */

static void *give_back(void *tool)
{
    __atomic_store_n(&giver_tid, rp_tool_tid(), __ATOMIC_SEQ_CST);
    rp_queues_give_back(tool);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The end of the program gives a queue's signals back while another thread launches. The pool's
 * lock is held between the two steps of the former; this thread may enter it nevertheless. */
static void a_launch_at_the_end_takes_other_signals(void **state)
{
    enum { LAUNCHES = 200 };
    struct rp_signal_pool *pool = &rp_the_tool.quiet_signals;
    struct fake_queue *queue = create_queue();
    rp_hsa_signal used[LAUNCHES];
    pthread_mutexattr_t recursive;
    pthread_t thread;
    uint32_t tid;

    (void)state;
    rp_completions_end(&rp_the_tool, 0); /* its thread takes signals, too */
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&pool->lock, &recursive);
    submit_one(queue, 0); /* now the queue has some */
    giver_tid = 0;
    pthread_mutex_lock(&pool->lock);
    assert_int_equal(pthread_create(&thread, NULL, give_back, &rp_the_tool), 0);
    while (!(tid = __atomic_load_n(&giver_tid, __ATOMIC_SEQ_CST)) || !rp_thread_asleep(tid))
        usleep(1000);
    submit_one(queue, 0);
    pthread_mutex_unlock(&pool->lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (queue->count < LAUNCHES)
        submit_one(queue, 0);
    for (size_t i = 0; i < LAUNCHES; i++)
        used[i] = queue->packets[i].completion;
    qsort(used, LAUNCHES, sizeof(used[0]), by_value);
    assert_int_not_equal(used[0], 0);
    for (size_t i = 1; i < LAUNCHES; i++)
        assert_int_not_equal(used[i], used[i - 1]);
    fake_execute(queue, LAUNCHES);
    wait_something();
    assert_int_equal(recorded(RP_REC_DISPATCH), LAUNCHES);
    destroy_queue(queue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tool_load, tool_unload)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_folder_it_is_inert),
        cmocka_unit_test(with_a_short_table_it_is_inert),
        TEST(forked_child_leaves_the_file_alone),
        TEST(full_disk_is_counted),
        TEST(full_disk_recovers),
        cmocka_unit_test(unload_closes),
        cmocka_unit_test(unload_with_running_kernel),
        TEST(many_threads),
        TEST(a_launch_at_the_end_takes_other_signals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
