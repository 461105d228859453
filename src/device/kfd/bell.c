#include "bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint32_t count, waiters;

uint32_t rp_bell_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_SEQ_CST);
}

void rp_bell_ring(void)
{
    __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&waiters, __ATOMIC_SEQ_CST) == 0)
        return;
    int error = errno;
    syscall(SYS_futex, &count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = error;
}

void rp_bell_wait(uint32_t seen, uint64_t ns)
{
    struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
    int error = errno;
    __atomic_add_fetch(&waiters, 1, __ATOMIC_SEQ_CST);
    /* The kernel compares with seen again: a ring between the two is not lost. */
    syscall(SYS_futex, &count, FUTEX_WAIT_PRIVATE, seen, &limit, NULL, 0);
    __atomic_sub_fetch(&waiters, 1, __ATOMIC_SEQ_CST);
    errno = error;
}
