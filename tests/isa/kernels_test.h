/* Set-up shared by the programs that run kernels.hip. */
#ifndef RP_TESTS_ISA_KERNELS_TEST_H
#define RP_TESTS_ISA_KERNELS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hsaco.h"

struct fixture {
    struct sim sim;
    struct sim_code code;
};

static int setup(void **state)
{
    const char *path = getenv("RP_ISA_KERNELS");
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f)
        return -1;
    sim_init(&f->sim);
    if (!path || !*path) {
        fprintf(stderr, "RP_ISA_KERNELS is not set: the test kernels are compiled only when CMake "
                        "was given a ROCm user space (-DROCM_PERF_ROCM=..., see ./setup)\n");
        return -1;
    }
    return sim_load(&f->sim, path, &f->code);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    if (f)
        sim_free(&f->sim);
    free(f);
    return 0;
}

/* Small deterministic generator for test data. */
static inline uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static enum rp_run_state launch(struct fixture *f, const char *kernel, uint32_t blocks,
                                uint32_t threads, const void *args, size_t args_bytes)
{
    uint64_t kd = sim_kernel(&f->code, kernel);
    if (!kd)
        fail_msg("no kernel %s in the code object", kernel);
    struct sim_launch l = {.grid = {blocks * threads, 1, 1},
                           .block = {threads, 1, 1},
                           .args = args,
                           .args_bytes = args_bytes};
    return sim_run(&f->sim, kd, &l);
}

static inline void run_ok(struct fixture *f, const char *kernel, uint32_t blocks, uint32_t threads,
                          const void *args, size_t args_bytes)
{
    enum rp_run_state state = launch(f, kernel, blocks, threads, args, args_bytes);
    if (state != RP_RUN_DONE)
        fail_msg("%s: state %d, %s", kernel, state, f->sim.fault.text);
}

#endif
