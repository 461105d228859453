/* Source files of a test in its folder, and the command for them. */
#ifndef RP_TEST_OPTIMIZE_SOURCES_H
#define RP_TEST_OPTIMIZE_SOURCES_H

#include "base/err.h"
#include "experiment/build_command.h"
#include "optimize/kernel_source.h"

#include "unit/scratch.h"

/* What takes the place of HIP's headers, with -nogpuinc: a dump takes 30 ms instead of 2 s. */
static const char sources_hip[] =
    "#define __global__ __attribute__((global))\n"
    "#define __device__ __attribute__((device))\n"
    "#define __shared__ __attribute__((shared))\n"
    "#define __launch_bounds__(n, ...) __attribute__((amdgpu_flat_work_group_size(1, n)))\n"
    "struct __hip_builtin_threadIdx_t { unsigned x, y, z; };\n"
    "extern \"C\" __device__ const __attribute__((weak)) __hip_builtin_threadIdx_t threadIdx;\n"
    "extern \"C\" __device__ const __attribute__((weak)) __hip_builtin_threadIdx_t blockDim;\n"
    "extern \"C\" __device__ const __attribute__((weak)) __hip_builtin_threadIdx_t blockIdx;\n"
    "extern \"C\" __device__ const __attribute__((weak)) __hip_builtin_threadIdx_t gridDim;\n"
    "extern \"C\" __device__ void __syncthreads();\n"
    "extern \"C\" __device__ void __threadfence();\n"
    "extern \"C\" __device__ int printf(const char *, ...);\n"
    "__device__ float atomicAdd(float *, float);\n"
    "__device__ float sqrtf(float);\n"
    "__device__ float expf(float);\n"
    "__device__ float fmaxf(float, float);\n"
    "__device__ float __shfl_down(float, int);\n"
    "__device__ int __ballot(int);\n"
    "namespace evil { __device__ float sqrtf(float); }\n";

/** A new folder, with that header in it. */
static inline int sources_begin(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    free(scratch_put("hip_small.h", sources_hip));
    return 0;
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
