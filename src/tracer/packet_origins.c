/**
 * @file packet_origins.c
 * @brief Keeps, for each place of a queue, the thread that took it.
 *
 * A program takes places with hsa_queue_add_write_index and the like, and writes its packets only
 * then. So what is kept of a place is there before its packet can be handed over, by any thread.
 */
#include "tracer/packet_origins.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "tracer/tracer.h"

enum { BUCKETS = 64 };

static const uint64_t FILLING = UINT64_MAX; /**< in place of .upto */

struct place {
    uint64_t upto; /**< atomic: 1 more than the packet's index; 0: free */
    struct rp_packet_origin origin;
};

/** A place that was taken before the packet one turn of the ring earlier was handed over. */
struct early {
    struct early *next;
    uint64_t index;
    struct rp_packet_origin origin;
};

struct rp_packet_origins {
    struct rp_packet_origins *next;   /**< of the bucket */
    const struct rp_hsa_queue *queue; /**< atomic; NULL: free for another queue */
    struct place *places;
    uint64_t place_count;
    pthread_mutex_t lock; /**< of what follows */
    struct early *early;
};

/* Whoever takes a place looks its queue up without a lock. So what is in a bucket stays for good
 * and is used again, also when the tool is loaded again: threads of the earlier load may be
 * looking. */
static struct {
    pthread_mutex_t lock; /**< for begin and end */
    struct rp_packet_origins *buckets[BUCKETS];
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct rp_packet_origin rp_packet_origin_now(struct rp_tool *tool)
{
    return (struct rp_packet_origin){
        .correlation_id = rp_hip_current(),
        .stream = rp_hip_stream_handle(),
        .submit_ns = rp_tool_now_ns(tool),
        .tid = rp_tool_tid(),
        .recorded = rp_hip_recorded(tool),
    };
}

/** The queue of what an earlier one at the same address left. */
static const struct rp_hsa_queue gone_queue;

static struct rp_packet_origins **bucket_of(const struct rp_hsa_queue *queue)
{
    return &known.buckets[((uintptr_t)queue >> 6) * 0x9e3779b97f4a7c15u >> 32 & (BUCKETS - 1)];
}

/** @return what is known of @p queue; NULL as queue finds one that is free */
static struct rp_packet_origins *find(struct rp_packet_origins *const *bucket,
                                      const struct rp_hsa_queue *queue)
{
    struct rp_packet_origins *origins = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);

    while (origins && __atomic_load_n(&origins->queue, __ATOMIC_ACQUIRE) != queue)
        origins = origins->next;
    return origins;
}

static struct rp_packet_origins *make(struct rp_packet_origins **bucket)
{
    struct rp_packet_origins *origins = calloc(1, sizeof(*origins));

    if (!origins)
        return NULL;
    pthread_mutex_init(&origins->lock, NULL);
    origins->next = *bucket;
    __atomic_store_n(bucket, origins, __ATOMIC_RELEASE);
    return origins;
}

struct rp_packet_origins *rp_packet_origins_begin(const struct rp_hsa_queue *queue)
{
    struct rp_packet_origins **bucket = bucket_of(queue), *origins, *earlier;
    struct place *places = calloc(queue->size_packets, sizeof(*places));

    if (!places)
        return NULL;
    pthread_mutex_lock(&known.lock);
    /* Whoever has destroyed it has not come to its end yet, or the runtime has ended before. */
    earlier = find(bucket, queue);
    if (earlier)
        __atomic_store_n(&earlier->queue, &gone_queue, __ATOMIC_RELEASE);
    origins = find(bucket, NULL);
    if (!origins)
        origins = make(bucket);
    if (origins) {
        origins->places = places;
        origins->place_count = queue->size_packets;
        __atomic_store_n(&origins->queue, queue, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&known.lock);
    if (!origins)
        free(places);
    return origins;
}

void rp_packet_origins_end(struct rp_packet_origins *origins)
{
    if (!origins)
        return;
    pthread_mutex_lock(&known.lock);
    free(origins->places);
    origins->places = NULL;
    while (origins->early) {
        struct early *gone = origins->early;

        origins->early = gone->next;
        free(gone);
    }
    __atomic_store_n(&origins->queue, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&known.lock);
}

static void keep_early(struct rp_packet_origins *origins, uint64_t index,
                       const struct rp_packet_origin *origin)
{
    struct early *early = malloc(sizeof(*early));

    if (!early)
        return; /* It counts as that of the thread that hands the packet over. */
    early->index = index;
    early->origin = *origin;
    pthread_mutex_lock(&origins->lock);
    early->next = origins->early;
    origins->early = early;
    pthread_mutex_unlock(&origins->lock);
}

/* A program may take more places than the queue has, and wait for room only then. */
static void keep(struct rp_packet_origins *origins, uint64_t index,
                 const struct rp_packet_origin *origin)
{
    struct place *place = &origins->places[index % origins->place_count];
    uint64_t is_free = 0;

    if (!__atomic_compare_exchange_n(&place->upto, &is_free, FILLING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED)) {
        keep_early(origins, index, origin);
        return;
    }
    place->origin = *origin;
    __atomic_store_n(&place->upto, index + 1, __ATOMIC_RELEASE);
}

static bool take_early(struct rp_packet_origins *origins, uint64_t index,
                       struct rp_packet_origin *ret)
{
    struct early **at, *found;

    pthread_mutex_lock(&origins->lock);
    for (at = &origins->early; *at && (*at)->index != index; at = &(*at)->next)
        ;
    found = *at;
    if (found) {
        *at = found->next;
        *ret = found->origin;
    }
    pthread_mutex_unlock(&origins->lock);
    free(found);
    return found != NULL;
}

struct rp_packet_origin rp_packet_origins_take(struct rp_packet_origins *origins, uint64_t index)
{
    struct place *place = origins ? &origins->places[index % origins->place_count] : NULL;
    struct rp_packet_origin origin;

    if (place && __atomic_load_n(&place->upto, __ATOMIC_ACQUIRE) == index + 1) {
        origin = place->origin;
        __atomic_store_n(&place->upto, 0, __ATOMIC_RELEASE);
        return origin;
    }
    if (origins && take_early(origins, index, &origin))
        return origin;
    return rp_packet_origin_now(&rp_the_tool);
}

/* --- hooks ----------------------------------------------------------------------------------- */

static void note_places(const struct rp_hsa_queue *queue, uint64_t index, uint64_t count)
{
    struct rp_tool *tool = &rp_the_tool;
    struct rp_packet_origins *origins =
        rp_tool_active(tool) && queue && count > 0 ? find(bucket_of(queue), queue) : NULL;
    struct rp_packet_origin origin;

    if (!origins)
        return;
    origin = rp_packet_origin_now(tool);
    for (uint64_t i = 0; i < count; i++)
        keep(origins, index + i, &origin);
}

#define RP_WRITE_INDEX_ADD(index, name)                                                            \
    static uint64_t hook_##name(const struct rp_hsa_queue *queue, uint64_t count)                  \
    {                                                                                              \
        const uint64_t from = rp_the_tool.hsa.name(queue, count);                                  \
                                                                                                   \
        note_places(queue, from, count);                                                           \
        return from;                                                                               \
    }
#define RP_WRITE_INDEX_CAS(index, name)                                                            \
    static uint64_t hook_##name(const struct rp_hsa_queue *queue, uint64_t expected,               \
                                uint64_t value)                                                    \
    {                                                                                              \
        const uint64_t from = rp_the_tool.hsa.name(queue, expected, value);                        \
                                                                                                   \
        if (from == expected && value > from)                                                      \
            note_places(queue, from, value - from);                                                \
        return from;                                                                               \
    }
/* Only the one thread that fills the queue may store. It may have written the packets by now, but
 * rings the doorbell later. */
#define RP_WRITE_INDEX_STORE(index, name)                                                          \
    static void hook_##name(const struct rp_hsa_queue *queue, uint64_t value)                      \
    {                                                                                              \
        const uint64_t from = rp_the_tool.hsa.hsa_queue_load_write_index_relaxed                   \
                                  ? rp_the_tool.hsa.hsa_queue_load_write_index_relaxed(queue)      \
                                  : value;                                                         \
                                                                                                   \
        if (value > from)                                                                          \
            note_places(queue, from, value - from);                                                \
        rp_the_tool.hsa.name(queue, value);                                                        \
    }
#include "tracer/hsa_entries.def"

void rp_packet_origins_hook(const struct rp_hsa_tables *tables)
{
#define RP_WRITE_INDEX_ADD(index, name)   RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_WRITE_INDEX_CAS(index, name)   RP_TOOL_REPLACE(tables->core, name, hook_##name);
#define RP_WRITE_INDEX_STORE(index, name) RP_TOOL_REPLACE(tables->core, name, hook_##name);
#include "tracer/hsa_entries.def"
}
