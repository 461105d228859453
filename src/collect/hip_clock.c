#include "collect/hip_clock.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/hip_handles.h"
#include "trace/records.h"

/* The device's clock starts one second in (src/device/kfd/clock.h): where nothing ran on it, all
 * calls happen then. */
enum { CLOCK_START_NS = 1000000000 };

/** Kernel or copy. */
struct work {
    uint64_t correlation_id;
    int64_t queue; /* of a kernel; NO_QUEUE: of a copy it is not known */
    int64_t start_ns, end_ns;
};

struct rp_hip_clock {
    struct work *work; /* in the order of the calls that started it */
    size_t work_count, next_work;
    int64_t *tail_ns; /* per stream: end of all that was put on it so far */
    bool *blocking;   /* per stream: takes part in the default stream's ordering */
    int64_t stream_count;
    struct rp_handles events;  /* end of what each one's last record stands behind */
    struct rp_handles threads; /* end of each one's last call */
    struct rp_handles queues;  /* end of the last kernel of each */
    struct rp_handles learned; /* by when a call has waited until then: its thread, or SEVERAL */
    int64_t start_ns;          /* of the first work */
};

enum { SEVERAL = -1, NO_QUEUE = -1 };

void rp_hip_clock_free(struct rp_hip_clock *clock)
{
    if (!clock)
        return;
    free(clock->work);
    free(clock->tail_ns);
    free(clock->blocking);
    rp_handles_free(&clock->events);
    rp_handles_free(&clock->threads);
    rp_handles_free(&clock->queues);
    rp_handles_free(&clock->learned);
    free(clock);
}

RP_DEFINE_CLEANUP(struct rp_hip_clock, rp_hip_clock_free)

static int by_call(const void *a, const void *b)
{
    uint64_t x = ((const struct work *)a)->correlation_id;
    uint64_t y = ((const struct work *)b)->correlation_id;

    return (x > y) - (x < y);
}

static void add_work(struct rp_hip_clock *clock, uint64_t correlation_id, int64_t queue,
                     uint64_t start_ns, uint64_t end_ns)
{
    if (clock->work_count == 0 || (int64_t)start_ns < clock->start_ns)
        clock->start_ns = (int64_t)start_ns;
    clock->work[clock->work_count++] =
        (struct work){correlation_id, queue, (int64_t)start_ns, (int64_t)end_ns};
}

static int read_work(struct rp_hip_clock *clock, const struct rp_record_file *file,
                     struct rp_err *err)
{
    size_t count, room = 1;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (size_t i = 0; i < count; i++)
        room += records[i].kind == RP_REC_DISPATCH || records[i].kind == RP_REC_COPY;
    clock->work = malloc(room * sizeof(*clock->work));
    if (!clock->work)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_dispatch *d = &records[i].u.dispatch;
        const struct rp_rec_copy *c = &records[i].u.copy;

        if (records[i].kind == RP_REC_DISPATCH)
            add_work(clock, d->correlation_id, d->queue_index, d->start_ns, d->end_ns);
        else if (records[i].kind == RP_REC_COPY)
            add_work(clock, c->correlation_id, NO_QUEUE, c->start_ns, c->end_ns);
    }
    qsort(clock->work, clock->work_count, sizeof(*clock->work), by_call);
    return 0;
}

int rp_hip_clock_new(const struct rp_record_file *file, int64_t stream_count,
                     struct rp_hip_clock **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_hip_clock_free) struct rp_hip_clock *clock = calloc(1, sizeof(*clock));
    int status;

    if (!clock)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    clock->start_ns = CLOCK_START_NS;
    clock->stream_count = stream_count + 1;
    clock->tail_ns = malloc((size_t)clock->stream_count * sizeof(*clock->tail_ns));
    clock->blocking = malloc((size_t)clock->stream_count * sizeof(*clock->blocking));
    if (!clock->tail_ns || !clock->blocking)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    status = read_work(clock, file, err);
    if (status < 0)
        return status;
    for (int64_t i = 0; i < clock->stream_count; i++) {
        clock->tail_ns[i] = clock->start_ns;
        clock->blocking[i] = true;
    }
    *ret = rp_steal(clock);
    return 0;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* End of everything that a marker put on the stream now would stand behind: on the default stream
 * also what is on all blocking ones. */
static int64_t tail_of(const struct rp_hip_clock *clock, int64_t stream)
{
    int64_t end_ns = clock->tail_ns[stream];

    for (int64_t i = 1; i < clock->stream_count && stream == 0; i++)
        if (clock->blocking[i])
            end_ns = later(end_ns, clock->tail_ns[i]);
    return end_ns;
}

/* End of everything that work put on the stream now would stand behind. */
static int64_t behind(const struct rp_hip_clock *clock, int64_t stream)
{
    int64_t end_ns = tail_of(clock, stream);

    return clock->blocking[stream] ? later(end_ns, clock->tail_ns[0]) : end_ns;
}

static int64_t last_tail(const struct rp_hip_clock *clock)
{
    int64_t end_ns = clock->start_ns;

    for (int64_t i = 0; i < clock->stream_count; i++)
        end_ns = later(end_ns, clock->tail_ns[i]);
    return end_ns;
}

/* What a call started. */
struct started {
    int64_t first_ns; /* when the first of it began; INT64_MAX: the call started nothing */
    int64_t queue_ns; /* when what was before that in its queue had ended */
    int64_t end_ns;
};

static int take(struct rp_hip_clock *clock, const struct work *work, struct started *to,
                struct rp_err *err)
{
    int64_t queue_ns = clock->start_ns;

    if (work->queue != NO_QUEUE)
        rp_handles_get(&clock->queues, (uint64_t)work->queue, &queue_ns);
    if (work->start_ns < to->first_ns) {
        to->first_ns = work->start_ns;
        to->queue_ns = queue_ns;
    }
    to->end_ns = later(to->end_ns, work->end_ns);
    return work->queue == NO_QUEUE ? 0
                                   : rp_handles_set(&clock->queues, (uint64_t)work->queue,
                                                    later(queue_ns, work->end_ns), err);
}

/* Puts what the call started on its stream. Work that no call is known of (below HSA) is no
 * stream's. */
static int take_work(struct rp_hip_clock *clock, const struct rp_hip_step *step,
                     struct started *ret, struct rp_err *err)
{
    int status = 0;

    *ret = (struct started){.first_ns = INT64_MAX, .end_ns = clock->start_ns};
    while (clock->next_work < clock->work_count &&
           clock->work[clock->next_work].correlation_id < step->correlation_id)
        clock->next_work++;
    for (; clock->next_work < clock->work_count && status == 0 &&
           clock->work[clock->next_work].correlation_id == step->correlation_id;
         clock->next_work++)
        status = take(clock, &clock->work[clock->next_work], ret, err);
    clock->tail_ns[step->stream] = later(clock->tail_ns[step->stream], ret->end_ns);
    return status;
}

/*
 * A thread that waits for another one (in pthread_join, for a lock) does so unseen, and what it
 * starts then, the device has started when the other one had heard of an end (device/kfd/causal.h).
 * So work that began when another thread had waited until then, and neither its stream nor its
 * queue was busy, was started no earlier. @return when the call that started it began
 */
static int64_t heard_of(const struct rp_hip_clock *clock, const struct rp_hip_step *step,
                        const struct started *started, int64_t stream_ns, int64_t start_ns)
{
    int64_t thread;
    bool began_freely = started->first_ns != INT64_MAX && started->first_ns > start_ns &&
                        started->first_ns > stream_ns && started->first_ns > started->queue_ns;

    return began_freely && rp_handles_get(&clock->learned, (uint64_t)started->first_ns, &thread) &&
                   thread != (int64_t)step->tid
               ? started->first_ns
               : start_ns;
}

/* The thread has waited until then. */
static int learn(struct rp_hip_clock *clock, int64_t end_ns, uint32_t tid, struct rp_err *err)
{
    int64_t thread;
    bool others = rp_handles_get(&clock->learned, (uint64_t)end_ns, &thread) && thread != tid;

    return rp_handles_set(&clock->learned, (uint64_t)end_ns, others ? SEVERAL : (int64_t)tid, err);
}

static int64_t waited_for(const struct rp_hip_clock *clock, const struct rp_hip_step *step,
                          int64_t own_end_ns)
{
    int64_t event_ns = clock->start_ns;

    switch (step->kind) {
    case RP_HIP_OWN_SYNC:
        return own_end_ns;
    case RP_HIP_STREAM_SYNC:
        return tail_of(clock, step->stream);
    case RP_HIP_DEVICE_SYNC:
        return last_tail(clock);
    case RP_HIP_EVENT_SYNC:
        rp_handles_get(&clock->events, step->event, &event_ns);
        return event_ns;
    case RP_HIP_OTHER:
    case RP_HIP_QUERY:
    case RP_HIP_STREAM_CREATE:
    case RP_HIP_STREAM_DESTROY:
    case RP_HIP_STREAM_WAIT:
    case RP_HIP_EVENT_RECORD:
        break;
    }
    return clock->start_ns;
}

int rp_hip_clock_step(struct rp_hip_clock *clock, const struct rp_hip_step *step,
                      int64_t *ret_start_ns, int64_t *ret_end_ns, struct rp_err *err)
{
    const int64_t stream_ns = behind(clock, step->stream);
    int64_t start_ns = clock->start_ns, event_ns = 0, end_ns;
    struct started started;
    int status = take_work(clock, step, &started, err);

    rp_handles_get(&clock->threads, step->tid, &start_ns);
    start_ns = heard_of(clock, step, &started, stream_ns, start_ns);
    end_ns = later(start_ns, waited_for(clock, step, started.end_ns));
    if (step->kind == RP_HIP_STREAM_CREATE)
        clock->blocking[step->stream] = !step->non_blocking;
    if (status == 0 && end_ns > start_ns)
        status = learn(clock, end_ns, step->tid, err);
    if (status == 0 && step->kind == RP_HIP_EVENT_RECORD)
        status = rp_handles_set(&clock->events, step->event, tail_of(clock, step->stream), err);
    if (step->kind == RP_HIP_STREAM_WAIT && rp_handles_get(&clock->events, step->event, &event_ns))
        clock->tail_ns[step->stream] = later(clock->tail_ns[step->stream], event_ns);
    if (status == 0)
        status = rp_handles_set(&clock->threads, step->tid, end_ns, err);
    *ret_start_ns = start_ns;
    *ret_end_ns = end_ns;
    return status;
}
