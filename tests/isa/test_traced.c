/*
 * Thread traces where several threads have to do with them: those that ask for a trace and take it,
 * as threads of a traced program do, the one that executes dispatches for all of them, and those
 * that help it. Made for ThreadSanitizer; the traces must be the same anyway.
 */
#include <pthread.h>

#include "device/driver/command_processor.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/timing_model.h"
#include "kernels_test.h"
#include "trace/records.h"

enum {
    ASKING = 3,
    ROUNDS = 4,
    WISHES = 2,
    START_TICKS = 1000,
    BLOCKS = 24,
    WAVES = 4,
    MEETINGS = 3
};

static const struct rp_threads_request wish[WISHES] = {
    {.cu = RP_THREADS_ANY_CU, .engines = UINT32_MAX, .simds = 0xf, .rows = UINT32_MAX},
    {.cu = RP_THREADS_ANY_CU, .engines = 3, .simds = 0x5, .rows = 60},
};

struct bytes {
    void *at;
    size_t count;
};

/** A launch that somebody waits for. */
struct job {
    struct job *next;
    uint64_t signal_va, end_ticks;
    bool done;
};

struct office {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *jobs;
    struct rp_trace_requests traced;
    uint64_t kernel_va;
    struct bytes expected[WISHES];
    struct job *current; /* of the thread that executes */
};

/** One that asks; what it finds is looked at when it has ended. */
struct asking {
    struct office *office;
    unsigned number, refused, missing, different;
};

static void ask(struct asking *me, unsigned round)
{
    struct office *o = me->office;
    const unsigned kind = (me->number + round) % WISHES;
    struct job job = {.signal_va = 0x10000u * (me->number + 1) + 64u * round};
    void *bytes = NULL;
    size_t count = 0;

    if (!rp_trace_requests_add(&o->traced, job.signal_va, o->kernel_va, &wish[kind]))
        me->refused++;
    pthread_mutex_lock(&o->lock);
    job.next = o->jobs;
    o->jobs = &job;
    pthread_cond_broadcast(&o->changed);
    while (!job.done)
        pthread_cond_wait(&o->changed, &o->lock);
    pthread_mutex_unlock(&o->lock);
    if (!rp_trace_requests_take(&o->traced, job.signal_va, START_TICKS, job.end_ticks, &bytes,
                                &count))
        me->missing++;
    else if (count != o->expected[kind].count || memcmp(bytes, o->expected[kind].at, count) != 0)
        me->different++;
    free(bytes);
}

static void *ask_for_all(void *ctx)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        ask(ctx, round);
    return NULL;
}

/* The launch has been executed: as for any packet, if somebody wants its trace. */
static void trace(struct sim *s, struct rp_dispatch *d)
{
    struct office *o = s->done_arg;
    struct rp_threads_request wanted;
    uint64_t ticks;

    assert_true(rp_trace_requests_has(&o->traced, o->current->signal_va, o->kernel_va, &wanted));
    rp_trace_requests_begin(s->arch, d, &wanted);
    assert_int_equal(rp_dispatch_ticks(d, s->arch, &ticks), 0);
    o->current->end_ticks = START_TICKS + ticks;
    rp_trace_requests_keep(&o->traced, s->arch, d, &wanted, o->current->signal_va, START_TICKS,
                           o->current->end_ticks);
}

static void execute(struct fixture *f, void *out, struct job *job, unsigned threads)
{
    struct office *o = f->sim.done_arg;
    const struct {
        void *out;
        int rounds, work;
    } args = {out, MEETINGS, 5};

    o->current = job;
    rp_exec_set_threads(threads);
    run_ok(f, "meet", BLOCKS, 64 * WAVES, &args, sizeof args);
}

/* What they are to be: of one thread for everything. */
static void expect_traces(struct fixture *f, struct office *o, void *out)
{
    for (unsigned k = 0; k < WISHES; k++) {
        struct job job = {.signal_va = 64 * (k + 1)};
        const struct rp_threads_header *header;

        assert_true(rp_trace_requests_add(&o->traced, job.signal_va, o->kernel_va, &wish[k]));
        execute(f, out, &job, 1);
        assert_true(rp_trace_requests_take(&o->traced, job.signal_va, START_TICKS, job.end_ticks,
                                           &o->expected[k].at, &o->expected[k].count));
        header = o->expected[k].at;
        assert_memory_equal(header->magic, RP_THREADS_MAGIC, sizeof header->magic);
        assert_int_equal(header->group_count, BLOCKS);
        assert_int_equal(header->groups, BLOCKS);
        assert_int_equal(!!(header->flags & RP_THREADS_CUT), k);
        assert_true(header->wave_count > 0 && header->row_count > 0);
    }
}

static struct job *next_job(struct office *o)
{
    pthread_mutex_lock(&o->lock);
    while (!o->jobs)
        pthread_cond_wait(&o->changed, &o->lock);
    struct job *job = o->jobs;
    o->jobs = job->next;
    pthread_mutex_unlock(&o->lock);
    return job;
}

static void tell(struct office *o, struct job *job)
{
    pthread_mutex_lock(&o->lock);
    job->done = true;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
}

static void several_threads_get_the_same_traces(void **state)
{
    struct fixture *f = *state;
    struct office o = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct asking asking[ASKING];
    pthread_t thread[ASKING];
    void *out = sim_alloc(&f->sim, (size_t)BLOCKS * MEETINGS * WAVES * 16);

    rp_trace_requests_init(&o.traced);
    rp_timing_set_mode(RP_TIMING_DETAILED);
    rp_exec_set_help_after(0);
    f->sim.done = trace;
    f->sim.done_arg = &o;
    o.kernel_va = sim_kernel(&f->code, "meet");
    expect_traces(f, &o, out);
    for (unsigned i = 0; i < ASKING; i++) {
        asking[i] = (struct asking){.office = &o, .number = i};
        assert_int_equal(pthread_create(&thread[i], NULL, ask_for_all, &asking[i]), 0);
    }
    for (unsigned i = 0; i < ASKING * ROUNDS; i++) {
        struct job *job = next_job(&o);

        f->sim.budget = i % 3 ? 5000 : 0;
        execute(f, out, job, 1 + i % 4);
        tell(&o, job);
    }
    for (unsigned i = 0; i < ASKING; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(asking[i].refused, 0);
        assert_int_equal(asking[i].missing, 0);
        assert_int_equal(asking[i].different, 0);
    }
    assert_int_equal(o.traced.pending, 0);
    for (unsigned k = 0; k < WISHES; k++)
        free(o.expected[k].at);
    rp_trace_requests_release(&o.traced);
    rp_exec_set_threads(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(several_threads_get_the_same_traces, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
