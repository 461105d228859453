#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

int rp_lock_path(const char *path, unsigned flags)
{
    const int no_link = flags & RP_LOCK_NO_LINK ? O_NOFOLLOW : 0;
    const int how = flags & RP_LOCK_FOLDER   ? O_RDONLY | O_DIRECTORY
                    : flags & RP_LOCK_SHARED ? O_RDONLY | O_NONBLOCK
                                             : O_RDWR | O_CREAT;
    const int kind = flags & RP_LOCK_SHARED ? LOCK_SH : LOCK_EX;
    const int fd = open(path, how | no_link | O_CLOEXEC, 0600);

    if (fd >= 0 && flock(fd, flags & RP_LOCK_WAIT ? kind : kind | LOCK_NB) != 0) {
        const int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* All fork locks that were ever taken are listed here, because pthread_atfork() gives its function
 * no argument. */
static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    struct rp_fork_lock *first;
} watched = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

/* The child has only one thread, so no lock protects the list here. The list is whole at any time:
 * a lock is in it as soon as first is set. */
static void forget_parent(void)
{
    pthread_mutex_init(&watched.lock, NULL);
    for (struct rp_fork_lock *lock = watched.first; lock; lock = lock->next) {
        pthread_mutex_init(&lock->mutex, NULL);
        if (lock->forget)
            lock->forget();
    }
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

static void watch(struct rp_fork_lock *lock)
{
    pthread_once(&watched.once, watch_forks);
    pthread_mutex_lock(&watched.lock);
    if (!lock->watched) {
        lock->next = watched.first;
        __atomic_store_n(&watched.first, lock, __ATOMIC_RELEASE);
        __atomic_store_n(&lock->watched, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&watched.lock);
}

void rp_fork_lock_take(struct rp_fork_lock *lock)
{
    if (!__atomic_load_n(&lock->watched, __ATOMIC_ACQUIRE))
        watch(lock);
    pthread_mutex_lock(&lock->mutex);
}

void rp_fork_lock_release(struct rp_fork_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}
