/**
 * @file identify.c
 * @brief Lets the collector see that a software device answers, so that it marks times as modelled.
 */
#include <stddef.h>

#include "device/kfd/device.h"
#include "device/kfd/export.h"

/** Version of what the device library offers to others by name; NULL while it is switched off. */
RP_EXPORT const char *rocm_perf_device_abi(void);

const char *rocm_perf_device_abi(void)
{
    return rp_device_wanted() ? "1" : NULL;
}
