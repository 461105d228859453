#include "mode.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/* The one context of this file: the mode, -1 = not asked for yet. */
static int chosen = -1;

int rp_timing_mode_of(const char *text)
{
    static const char *const names[] = {
        [RP_TIMING_FAST] = "fast",
        [RP_TIMING_DETAILED] = "detailed",
        [RP_TIMING_OFF] = "off",
    };
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(text, names[i]))
            return i;
    return -1;
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
