#include "mode.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/* The one context of this file: the mode, -1 = not asked for yet. */
static int chosen = -1;

int rp_timing_mode_of(const char *text)
{
    if (!strcmp(text, "fast"))
        return RP_TIMING_FAST;
    return strcmp(text, "detailed") ? -1 : RP_TIMING_DETAILED;
}

enum rp_timing_mode rp_timing_mode(void)
{
    int mode = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (mode >= 0)
        return (enum rp_timing_mode)mode;
    const char *text = getenv("ROCM_PERF_DEVICE_TIMING");
    mode = text ? rp_timing_mode_of(text) : -1;
    if (mode < 0)
        mode = RP_TIMING_FAST;
    __atomic_store_n(&chosen, mode, __ATOMIC_RELAXED);
    return (enum rp_timing_mode)mode;
}

enum rp_timing_mode rp_timing_mode_for(const struct rp_arch *arch)
{
    const enum rp_timing_mode mode = rp_timing_mode();
    return mode == RP_TIMING_DETAILED && !arch->timing ? RP_TIMING_FAST : mode;
}

void rp_timing_set_mode(enum rp_timing_mode mode)
{
    __atomic_store_n(&chosen, (int)mode, __ATOMIC_RELAXED);
}
