// Compiled with the installed ROCm headers by test_abi: what src/tracer/tracer.h and
// src/trace/hip_calls.def say about the reports of the HIP runtime must be what its headers say.
// It is only compiled, never run.
#include <cstddef>
#include <hip/hip_runtime_api.h>
#include <hip/amd_detail/hip_prof_str.h>

extern "C" {
#include "trace/records.h"
}

// hip_api_trace_data_t stands in no installed header; its first member does.
static_assert(sizeof(hip_api_data_t) == 1520 && offsetof(hip_api_data_t, args) == 16, "");
static_assert(sizeof(((hip_api_data_t *)0)->args.hipChooseDeviceR0600) == 1520 - 16 - 8, "");
static_assert(HIP_API_ID_LAST < 1024, "RP_HIP_OPERATIONS");

#define BYTES_RP_HIP_PTR       8
#define BYTES_RP_HIP_U64       8
#define BYTES_RP_HIP_I64       8
#define BYTES_RP_HIP_U32       4
#define BYTES_RP_HIP_I32       4
#define BYTES_RP_HIP_U16       2
#define BYTES_RP_HIP_U8        1
#define BYTES_RP_HIP_DIM3      12
#define BYTES_RP_HIP_COPY_KIND 4

#define RP_HIP_CALL(name, bytes, kind)                                                             \
    static_assert(HIP_API_ID_##name != HIP_API_ID_NONE && (bytes) <= RP_REC_ARG_BYTES, #name);
#define RP_HIP_ARG(call, position, off, form, name, type)                                          \
    static_assert(offsetof(hip_api_data_t, args.call.name) ==                                      \
                          offsetof(hip_api_data_t, args) + (off) &&                                \
                      sizeof(((hip_api_data_t *)0)->args.call.name) == BYTES_RP_HIP_##form,        \
                  #call ": " #name);
#include "trace/hip_calls.def"

// Where src/tracer/hip_launches.def finds function, geometry and dynamic LDS.
#define AT(call, member, off)                                                                      \
    static_assert(offsetof(hip_api_data_t, args.call.member) == offsetof(hip_api_data_t, args) + (off), \
                  #call ": " #member)
AT(hipLaunchKernel, numBlocks, 8);
AT(hipLaunchKernel, sharedMemBytes, 48);
AT(hipExtLaunchKernel, numBlocks, 8);
AT(hipExtLaunchKernel, sharedMemBytes, 48);
AT(hipLaunchCooperativeKernel, gridDim, 8);
AT(hipLaunchCooperativeKernel, sharedMemBytes, 48);
AT(hipLaunchByPtr, hostFunction, 0);
AT(hipModuleLaunchKernel, gridDimX, 8);
AT(hipModuleLaunchKernel, sharedMemBytes, 32);
AT(hipModuleLaunchCooperativeKernel, gridDimX, 8);
AT(hipModuleLaunchCooperativeKernel, sharedMemBytes, 32);
AT(hipExtModuleLaunchKernel, globalWorkSizeX, 8);
AT(hipExtModuleLaunchKernel, localWorkSizeX, 20);
AT(hipExtModuleLaunchKernel, sharedMemBytes, 32);
AT(hipHccModuleLaunchKernel, globalWorkSizeX, 8);
AT(hipHccModuleLaunchKernel, sharedMemBytes, 32);
AT(hipLaunchKernelExC, fPtr, 64);
AT(hipDrvLaunchKernelEx, f, 64);
static_assert(offsetof(hipLaunchConfig_t, blockDim) == 12 &&
                  offsetof(hipLaunchConfig_t, dynamicSmemBytes) == 24,
              "hipLaunchConfig_t");
static_assert(offsetof(HIP_LAUNCH_CONFIG, blockDimX) == 12 &&
                  offsetof(HIP_LAUNCH_CONFIG, sharedMemBytes) == 24,
              "HIP_LAUNCH_CONFIG");
static_assert(offsetof(hipLaunchParams, gridDim) == 8 && offsetof(hipLaunchParams, sharedMem) == 40,
              "hipLaunchParams");
static_assert(offsetof(hipFunctionLaunchParams, gridDimX) == 8 &&
                  offsetof(hipFunctionLaunchParams, sharedMemBytes) == 32,
              "hipFunctionLaunchParams");

static_assert(hipMemcpyHostToHost == 0 && hipMemcpyDeviceToDevice == 3 && hipMemcpyDefault == 4 &&
                  hipMemcpyDeviceToDeviceNoCU == 1024,
              "");
static_assert(hipStreamNonBlocking == 1, "");

// Pointers made of 1 and 2 are no constants to the compiler: their text is compared.
#define TEXT_OF(macro) TEXT(macro)
#define TEXT(text)     #text
static_assert(__builtin_strcmp(TEXT_OF(hipStreamLegacy), "((hipStream_t)1)") == 0 &&
                  __builtin_strcmp(TEXT_OF(hipStreamPerThread), "((hipStream_t)2)") == 0,
              "");
