#include "tool/gate.h"

#include <errno.h>
#include <time.h>

/* Whoever is within may come here again (a callback of the runtime that allocates), and the thread
 * that takes the snapshot, too. */
static __thread unsigned inside;

/* A writer that waits goes before readers that come: else threads that are within by turns keep the
 * gate open for ever. A thread that is within does not take the lock again. */
void rp_gate_init(struct rp_pause *gate, bool in_use)
{
    pthread_rwlockattr_t kind;

    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&gate->lock, &kind);
    pthread_rwlockattr_destroy(&kind);
    __atomic_store_n(&gate->in_use, in_use, __ATOMIC_RELEASE);
}

bool rp_gate_enter(struct rp_pause *gate)
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

void rp_gate_leave(struct rp_pause *gate, bool entered)
{
    int saved_errno = errno;

    if (entered && --inside == 0)
        pthread_rwlock_unlock(&gate->lock);
    errno = saved_errno;
}

bool rp_gate_close(struct rp_pause *gate, int64_t patience_ms)
{
    struct timespec end;

    if (inside) /* this thread itself is within another call: it would wait for itself */
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

void rp_gate_open(struct rp_pause *gate)
{
    inside--;
    pthread_rwlock_unlock(&gate->lock);
}

void rp_gate_lock(struct rp_pause *gate, pthread_mutex_t *lock)
{
    if (pthread_mutex_trylock(lock) == 0)
        return;
    __atomic_add_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(lock);
    __atomic_sub_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
}

bool rp_gate_is_waited_for(const struct rp_pause *gate)
{
    return __atomic_load_n(&gate->waiting, __ATOMIC_RELAXED) > 0;
}

void rp_gate_retire(struct rp_pause *gate)
{
    __atomic_store_n(&gate->in_use, 0, __ATOMIC_RELEASE);
}
