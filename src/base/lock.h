/**
 * @file lock.h
 * @brief Locks on files and folders, between processes; and a mutex for libraries in programs that
 * fork. libc only.
 */
#ifndef RP_BASE_LOCK_H
#define RP_BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

enum {
    RP_LOCK_WAIT = 1,    /**< waits while another process has it; a signal ends the wait */
    RP_LOCK_FOLDER = 2,  /**< locks the folder itself, not a file that is made (0600) and stays */
    RP_LOCK_NO_LINK = 4, /**< refuses a symbolic link: the place may be somebody else's */
    RP_LOCK_SHARED = 8   /**< only looks: others may have such a lock, too, and no file is made */
};

/** Locks, for this process alone or shared, until the descriptor is closed or the process ends, in
 * whatever way. Programs that it starts do not inherit the lock.
 * @return descriptor; -1: errno is EWOULDBLOCK (another has it), EINTR (a signal came during the
 * wait), or why the file cannot be opened or locked */
int rp_lock_path(const char *path, unsigned flags);

/**
 * In a forked child it is free: the thread that had it is not there. What it protected may have
 * been in the middle of a change; forget makes it anew before the child goes on. Static or never
 * freed; never destroyed.
 *
 *     static struct rp_fork_lock lock = RP_FORK_LOCK(forget_pages);
 */
struct rp_fork_lock {
    pthread_mutex_t mutex; /**< for pthread_cond_wait, too */
    void (*forget)(void);  /**< may be NULL; runs in the child, with the lock free */
    struct rp_fork_lock *next;
    bool watched;
};

#define RP_FORK_LOCK(forget_function)                                                              \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .forget = (forget_function)                            \
    }

void rp_fork_lock_take(struct rp_fork_lock *lock);
void rp_fork_lock_release(struct rp_fork_lock *lock);

#endif
