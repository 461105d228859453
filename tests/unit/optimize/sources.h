/* Source files of a test in a folder of their own, and the command for them. */
#ifndef RP_TEST_OPTIMIZE_SOURCES_H
#define RP_TEST_OPTIMIZE_SOURCES_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"
#include "optimize/kernel_source.h"

#include "unit/cmocka_all.h"

/* What takes the place of HIP's headers, with -nogpuinc: a dump takes 30 ms instead of 2 s. */
static const char sources_hip[] =
    "#define __global__ __attribute__((global))\n"
    "#define __device__ __attribute__((device))\n"
    "#define __shared__ __attribute__((shared))\n"
    "#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))\n"
    "struct __hip_builtin_threadIdx_t { unsigned x, y, z; };\n"
    "extern \"C\" __device__ const __attribute__((weak)) __hip_builtin_threadIdx_t threadIdx;\n"
    "extern \"C\" __device__ const __attribute__((weak)) __hip_builtin_threadIdx_t blockDim;\n"
    "extern \"C\" __device__ void __syncthreads();\n"
    "extern \"C\" __device__ void __threadfence();\n"
    "extern \"C\" __device__ int printf(const char *, ...);\n"
    "__device__ float atomicAdd(float *, float);\n"
    "__device__ float sqrtf(float);\n"
    "__device__ float expf(float);\n"
    "namespace evil { __device__ float sqrtf(float); }\n";

static char *sources_dir;

static inline int sources_begin(void **state)
{
    (void)state;
    sources_dir = strdup("/tmp/rp-sources-XXXXXX");
    return sources_dir && mkdtemp(sources_dir) ? 0 : -1;
}

static inline int sources_end(void **state)
{
    (void)state;
    rp_remove_tree(sources_dir);
    free(sources_dir);
    return 0;
}

/** @return the path; the caller's to free */
static inline char *sources_put(const char *name, const char *text)
{
    char *path = rp_path_join(sources_dir, name);

    assert_int_equal(rp_write_file(path, text, strlen(text), NULL), 0);
    return path;
}

/** @param build  NULL: nothing is said of it */
static inline struct rp_compile_command *sources_command(const char *build, const char *path)
{
    struct rp_build_choice choice = {.build = build};
    struct rp_compile_command *command;
    struct rp_err err = RP_ERR_INIT;

    if (rp_compile_command_read(&choice, path, &command, &err) < 0)
        fail_msg("%s", err.text);
    return command;
}

/** Reads a kernel that must be readable. */
static inline struct rp_kernel_source *sources_kernel(const struct rp_compile_command *command,
                                                      const char *path, const char *symbol)
{
    struct rp_kernel_source *source;
    struct rp_err err = RP_ERR_INIT;

    if (rp_kernel_source_read(command, path, symbol, "gfx942", &source, &err) < 0)
        fail_msg("%s", err.text);
    return source;
}

#endif
