/**
 * @file host_ns.h
 * @brief The host's clock, for patience alone: modelled time never reads it.
 */
#ifndef RP_DEVICE_KFD_HOST_NS_H
#define RP_DEVICE_KFD_HOST_NS_H

#include <stdint.h>
#include <time.h>

/** CLOCK_MONOTONIC. */
static inline int64_t rp_host_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
