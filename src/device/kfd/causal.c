#include "causal.h"

#include <stdlib.h>
#include <string.h>

#include "host_ns.h"

/* A call that waits for packets which are held would wait for ever: none does, as far as is known,
 * and this is what one would lose. A call that makes a queue takes long on a busy machine. */
#define HOLD_NS 10000000000ll

void rp_causal_init(struct rp_causal *causal, uint64_t now_ticks)
{
    *causal = (struct rp_causal){.known = now_ticks};
    pthread_mutex_init(&causal->lock, NULL);
}

void rp_causal_activate(struct rp_causal *causal)
{
    __atomic_store_n(&causal->active, true, __ATOMIC_RELEASE);
}

bool rp_causal_active(const struct rp_causal *causal)
{
    return __atomic_load_n(&causal->active, __ATOMIC_ACQUIRE);
}

void rp_causal_add(struct rp_causal *causal, struct rp_causal_line *line, const uint64_t *written,
                   uint64_t read)
{
    pthread_mutex_lock(&causal->lock);
    *line = (struct rp_causal_line){.written = written, .stamped = read, .next = causal->lines};
    causal->lines = line;
    pthread_mutex_unlock(&causal->lock);
}

void rp_causal_remove(struct rp_causal *causal, struct rp_causal_line *line)
{
    pthread_mutex_lock(&causal->lock);
    for (struct rp_causal_line **at = &causal->lines; *at; at = &(*at)->next)
        if (*at == line) {
            *at = line->next;
            break;
        }
    pthread_mutex_unlock(&causal->lock);
    free(line->stamps);
    *line = (struct rp_causal_line){0};
}

/** False without memory: what would have the stamp gets the next one, which is no earlier. */
static bool make_room(struct rp_causal_line *line)
{
    if (line->first > 0 &&
        line->first >= line->count - line->first) { /* most are used up, or all: free these */
        line->count -= line->first;
        memmove(line->stamps, line->stamps + line->first, line->count * sizeof *line->stamps);
        line->first = 0;
    }
    if (line->count < line->capacity)
        return true;
    size_t capacity = line->capacity ? line->capacity * 2 : 16;
    struct rp_causal_stamp *stamps = realloc(line->stamps, capacity * sizeof *stamps);
    if (!stamps)
        return false;
    line->stamps = stamps;
    line->capacity = capacity;
    return true;
}

/** Everything in the queues that has no stamp was submitted at @p ticks. */
static void stamp_all(struct rp_causal *causal, uint64_t ticks)
{
    for (struct rp_causal_line *line = causal->lines; line; line = line->next) {
        uint64_t written = __atomic_load_n(line->written, __ATOMIC_ACQUIRE);
        if (written <= line->stamped || !make_room(line))
            continue;
        line->stamps[line->count++] = (struct rp_causal_stamp){written, ticks};
        line->stamped = written;
    }
}

bool rp_causal_learn(struct rp_causal *causal, uint64_t ticks)
{
    pthread_mutex_lock(&causal->lock);
    bool news = ticks > causal->known;
    if (news) {
        if (causal->open == 0)
            stamp_all(causal, causal->known);
        __atomic_store_n(&causal->known, ticks, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&causal->lock);
    return news;
}

uint64_t rp_causal_known(const struct rp_causal *causal)
{
    return __atomic_load_n(&causal->known, __ATOMIC_ACQUIRE);
}

void rp_causal_open(struct rp_causal *causal)
{
    pthread_mutex_lock(&causal->lock);
    if (causal->open++ == 0) {
        stamp_all(causal, causal->known);
        causal->floor = 0;
        causal->opened_ns = rp_host_ns();
    }
    pthread_mutex_unlock(&causal->lock);
}

void rp_causal_close(struct rp_causal *causal, uint64_t floor_ticks)
{
    pthread_mutex_lock(&causal->lock);
    if (floor_ticks > causal->floor)
        causal->floor = floor_ticks;
    if (--causal->open == 0)
        stamp_all(causal, causal->floor > causal->known ? causal->floor : causal->known);
    pthread_mutex_unlock(&causal->lock);
}

void rp_causal_hold_nothing(struct rp_causal *causal, bool begins)
{
    pthread_mutex_lock(&causal->lock);
    causal->hold_nothing += begins ? 1u : -1u;
    causal->opened_ns = rp_host_ns(); /* the open calls have just begun to get on */
    pthread_mutex_unlock(&causal->lock);
}

bool rp_causal_submitted(struct rp_causal *causal, struct rp_causal_line *line, uint64_t index,
                         uint64_t *ret_ticks)
{
    pthread_mutex_lock(&causal->lock);
    while (line->first < line->count && line->stamps[line->first].index <= index)
        line->first++;
    bool stamped = line->first < line->count;
    bool held = !stamped && causal->open > 0 && causal->hold_nothing == 0 &&
                rp_host_ns() - causal->opened_ns < HOLD_NS;
    if (!held)
        *ret_ticks = stamped ? line->stamps[line->first].ticks : causal->known;
    pthread_mutex_unlock(&causal->lock);
    return !held;
}
