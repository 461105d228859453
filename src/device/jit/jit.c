/* Whether there is translation. */
#include "jit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../isa/lane.h"
#include "memory.h"

/* The one context of the translator. */
static struct {
    pthread_once_t once;
    bool possible, on, counts;
} jit = {.once = PTHREAD_ONCE_INIT};

/* A function that returns 42, to see whether the system lets new code be executed. */
static bool system_allows(void)
{
    static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3};
    void *memory = rp_jit_memory_new(code, sizeof code);
    if (!memory)
        return false;
    int (*function)(void) = (int (*)(void))(uintptr_t)memory;
    const bool works = function() == 42;
    rp_jit_memory_free(memory, sizeof code);
    return works;
}

static void look(void)
{
    const char *text = getenv("ROCM_PERF_DEVICE_JIT");
    /* The handlers with AVX-512 say what may be translated. */
    jit.possible = rp_lane_find_level("v_mov_b32", RP_LANE_V4) && system_allows();
    __atomic_store_n(&jit.on, jit.possible && !(text && !strcmp(text, "off")), __ATOMIC_RELAXED);
}

bool rp_jit_available(void)
{
    pthread_once(&jit.once, look);
    return __atomic_load_n(&jit.on, __ATOMIC_RELAXED);
}

void rp_jit_set_counts(bool on)
{
    __atomic_store_n(&jit.counts, on, __ATOMIC_RELAXED);
}

bool rp_jit_counts(void)
{
    return __atomic_load_n(&jit.counts, __ATOMIC_RELAXED);
}

void rp_jit_set(bool on)
{
    pthread_once(&jit.once, look);
    __atomic_store_n(&jit.on, on && jit.possible, __ATOMIC_RELAXED);
}
