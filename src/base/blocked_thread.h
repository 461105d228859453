/**
 * @file blocked_thread.h
 * @brief Whether a thread waits for something, or only for a processor.
 *
 * Time alone says nothing of a callback that does not end: on a busy machine its thread may get no
 * processor for longer than the callback takes. It is blocked if it sleeps, or if it has had a
 * processor for long and has not ended: then it spins until another thread goes on.
 */
#ifndef RP_BASE_BLOCKED_THREAD_H
#define RP_BASE_BLOCKED_THREAD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    RP_BLOCKED_LOOK_MS = 100,
    RP_BLOCKED_LOOKS = 10,                  /**< asleep at so many in a row */
    RP_BLOCKED_RAN_NS = 1000 * 1000 * 1000, /**< or has run so long since the first of them */
};

/** What has been seen of a callback. All 0 means that it has not been looked at yet. */
struct rp_blocked_callback {
    uint64_t number;
    uint32_t tid; /**< 0: none was running */
    unsigned asleep_looks;
    bool ran_known;
    int64_t ran_ns; /**< processor time of the thread at the first look */
};

/** Says whether a thread of this process sleeps at this moment. It is true also when that cannot be
 * told. */
static inline bool rp_thread_asleep(uint32_t tid)
{
    char path[64], stat[256];
    const char *name_end;
    size_t count;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%" PRIu32 "/stat", tid);
    file = fopen(path, "re");
    if (!file)
        return true;
    count = fread(stat, 1, sizeof(stat) - 1, file);
    fclose(file);
    stat[count] = 0;
    name_end = strrchr(stat, ')'); /* The name may hold any character, also a parenthesis. */
    return !name_end || strncmp(name_end, ") S", 3) == 0;
}

/** Reads how much processor time a thread of this process has had.
 * @return false when it cannot be told */
static inline bool rp_thread_cpu_ns(uint32_t tid, int64_t *ret_ns)
{
    /* pthread_getcpuclockid makes the number in the same way, but it wants a pthread_t: it is the
     * complement of the thread's number, and CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED of Linux's
     * posix-timers. */
    const clockid_t clock = (clockid_t)(~tid << 3 | 6);
    struct timespec ran;

    if (clock_gettime(clock, &ran) != 0)
        return false;
    *ret_ns = ran.tv_sec * INT64_C(1000000000) + ran.tv_nsec;
    return true;
}

/** Looks once at the callback @p number that runs in thread @p tid, RP_BLOCKED_LOOK_MS after the
 * look before. Without a callback the number is 0.
 * @return true when it waits for something that may not come before it is given up */
static inline bool rp_callback_is_blocked(struct rp_blocked_callback *seen, uint32_t tid,
                                          uint64_t number)
{
    int64_t now_ns;

    if (tid == 0 || tid != seen->tid || number != seen->number) {
        *seen = (struct rp_blocked_callback){.number = number, .tid = tid};
        if (tid == 0)
            return false;
        seen->ran_known = rp_thread_cpu_ns(tid, &seen->ran_ns);
    }
    seen->asleep_looks = rp_thread_asleep(tid) ? seen->asleep_looks + 1 : 0;
    if (seen->asleep_looks >= RP_BLOCKED_LOOKS)
        return true;
    return seen->ran_known && rp_thread_cpu_ns(tid, &now_ns) &&
           now_ns - seen->ran_ns >= RP_BLOCKED_RAN_NS;
}

#endif
