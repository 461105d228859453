/**
 * @file monotonic_clock.h
 * @brief The clock that nobody sets.
 */
#ifndef RP_BASE_MONOTONIC_CLOCK_H
#define RP_BASE_MONOTONIC_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t rp_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#endif
