#include "tracer/isolate.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "tracer/tracer.h"

/* Whoever is within may come here again (a callback of the runtime that allocates), and the thread
 * that takes the snapshot, too. */
static __thread unsigned inside;

/* A writer that waits goes before readers that come later, because otherwise threads that take
 * turns would keep the gate open for ever. A thread that is within does not take the lock again.
 */
void rp_pause_init(struct rp_pause *gate, bool in_use)
{
    pthread_rwlockattr_t kind;

    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&gate->lock, &kind);
    pthread_rwlockattr_destroy(&kind);
    __atomic_store_n(&gate->in_use, in_use, __ATOMIC_RELEASE);
}

bool rp_pause_enter(struct rp_pause *gate)
{
    int saved_errno = errno;

    if (!__atomic_load_n(&gate->in_use, __ATOMIC_ACQUIRE))
        return false;
    if (inside++ == 0 && pthread_rwlock_tryrdlock(&gate->lock) != 0) {
        __atomic_add_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
        pthread_rwlock_rdlock(&gate->lock);
        __atomic_sub_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
    }
    errno = saved_errno;
    return true;
}

void rp_pause_leave(struct rp_pause *gate, bool entered)
{
    int saved_errno = errno;

    if (entered && --inside == 0)
        pthread_rwlock_unlock(&gate->lock);
    errno = saved_errno;
}

bool rp_pause_begin(struct rp_pause *gate, int64_t patience_ms)
{
    struct timespec end;

    if (inside) /* This thread itself is within another call, so it would wait for itself. */
        return false;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += patience_ms / 1000;
    end.tv_nsec += patience_ms % 1000 * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    if (pthread_rwlock_timedwrlock(&gate->lock, &end) != 0)
        return false;
    inside++;
    return true;
}

void rp_pause_end(struct rp_pause *gate)
{
    inside--;
    pthread_rwlock_unlock(&gate->lock);
}

void rp_pause_lock(struct rp_pause *gate, pthread_mutex_t *lock)
{
    if (pthread_mutex_trylock(lock) == 0)
        return;
    __atomic_add_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(lock);
    __atomic_sub_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
}

bool rp_pause_holds_up_others(const struct rp_pause *gate)
{
    return __atomic_load_n(&gate->waiting, __ATOMIC_RELAXED) > 0;
}

void rp_pause_retire(struct rp_pause *gate)
{
    __atomic_store_n(&gate->in_use, 0, __ATOMIC_RELEASE);
}

void rp_shared_copies_init(struct rp_shared_copies *copies)
{
    *copies = (struct rp_shared_copies){0};
    pthread_mutex_init(&copies->lock, NULL);
}

static struct rp_shared_copies *enter(struct rp_tool *tool)
{
    pthread_mutex_lock(&tool->isolate.shared_copies.lock);
    return &tool->isolate.shared_copies;
}

static void leave(struct rp_shared_copies *copies)
{
    pthread_mutex_unlock(&copies->lock);
}

static bool is_empty(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->isolate.shared_copies.count, __ATOMIC_ACQUIRE) == 0;
}

static struct rp_shared_copy *find(struct rp_shared_copies *copies, rp_hsa_signal signal)
{
    for (size_t i = 0; i < copies->count; i++)
        if (copies->entries[i].signal == signal)
            return &copies->entries[i];
    return NULL;
}

static void drop(struct rp_shared_copies *copies, struct rp_shared_copy *entry)
{
    *entry = copies->entries[copies->count - 1];
    __atomic_store_n(&copies->count, copies->count - 1, __ATOMIC_RELEASE);
}

/* A copy is over when its signal is not above zero. If the signal counts something else as well,
 * that is waited for, too.
 */
static bool is_over(const struct rp_tool *tool, const struct rp_shared_copy *entry)
{
    return !entry->unknown &&
           tool->hsa.hsa_signal_load_scacquire(entry->signal) <= (entry->end < 0 ? entry->end : 0);
}

static void drop_those_over(const struct rp_tool *tool, struct rp_shared_copies *copies)
{
    for (size_t i = copies->count; i-- > 0;)
        if (is_over(tool, &copies->entries[i]))
            drop(copies, &copies->entries[i]);
}

static struct rp_shared_copy *another(const struct rp_tool *tool, struct rp_shared_copies *copies)
{
    if (copies->count == copies->capacity)
        drop_those_over(tool, copies);
    if (copies->count == copies->capacity) {
        const size_t capacity = copies->capacity ? copies->capacity * 2 : 16;
        struct rp_shared_copy *bigger = realloc(copies->entries, capacity * sizeof(*bigger));

        if (!bigger)
            return NULL;
        copies->entries = bigger;
        copies->capacity = capacity;
    }
    __atomic_store_n(&copies->count, copies->count + 1, __ATOMIC_RELEASE);
    return &copies->entries[copies->count - 1];
}

bool rp_shared_copies_add(struct rp_tool *tool, rp_hsa_signal signal, unsigned pending)
{
    struct rp_shared_copies *copies = enter(tool);
    struct rp_shared_copy *entry = find(copies, signal);

    /* The program has set the signal again without calling our hooks. */
    const bool fresh = !entry || is_over(tool, entry);

    if (!entry)
        entry = another(tool, copies);
    if (entry && fresh)
        *entry = (struct rp_shared_copy){.signal = signal,
                                         .end = tool->hsa.hsa_signal_load_scacquire(signal) -
                                                (int64_t)pending};
    if (entry)
        entry->end--;
    leave(copies);
    return entry != NULL;
}

void rp_shared_copies_withdraw(struct rp_tool *tool, rp_hsa_signal signal)
{
    struct rp_shared_copies *copies = enter(tool);
    struct rp_shared_copy *entry = find(copies, signal);

    if (entry)
        entry->end++;
    leave(copies);
}

void rp_shared_copies_before_change(struct rp_tool *tool, rp_hsa_signal signal, bool anew)
{
    struct rp_shared_copies *copies;
    struct rp_shared_copy *entry;

    if (is_empty(tool))
        return;
    copies = enter(tool);
    entry = find(copies, signal);
    if (entry && (anew || is_over(tool, entry)))
        drop(copies, entry);
    else if (entry)
        entry->unknown = true;
    leave(copies);
}

bool rp_shared_copies_are_over(struct rp_tool *tool)
{
    struct rp_shared_copies *copies;
    bool over;

    if (is_empty(tool))
        return true;
    copies = enter(tool);
    drop_those_over(tool, copies);
    over = copies->count == 0;
    leave(copies);
    return over;
}
