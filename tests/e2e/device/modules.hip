// Code that comes at run time: hiprtc, modules from memory, their globals, launches with a packed
// argument buffer, symbols, attributes and occupancy.
#include "check.h"

#include <cstring>
#include <hip/hiprtc.h>
#include <string>
#include <vector>

#define RTC(call)                                                                                  \
    do {                                                                                           \
        hiprtcResult result_ = (call);                                                             \
        if (result_ != HIPRTC_SUCCESS) {                                                           \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hiprtcGetErrorString(result_));   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char source[] = R"(
__constant__ int offset = 100;
__device__ int calls = 0;
template <typename T> __global__ void axpy(T a, const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i] + T(offset) + T(EXTRA);
    if (i == 0)
        atomicAdd(&calls, 1);
}
extern "C" __global__ __launch_bounds__(128) void tile(int *out)
{
    extern __shared__ int shared[];
    __shared__ int fixed[16];
    shared[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16)
        fixed[threadIdx.x] = 1000;
    __syncthreads();
    out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x % 16];
}
)";

static std::vector<char> compile(std::string *ret_axpy)
{
    hiprtcProgram program;
    RTC(hiprtcCreateProgram(&program, source, "run_time.hip", 0, nullptr, nullptr));
    RTC(hiprtcAddNameExpression(program, "axpy<double>"));
    const char *options[] = {"--offload-arch=gfx942", "-DEXTRA=1", "-O3"};
    hiprtcResult result = hiprtcCompileProgram(program, 3, options);
    if (result != HIPRTC_SUCCESS) {
        size_t bytes;
        RTC(hiprtcGetProgramLogSize(program, &bytes));
        std::vector<char> log(bytes + 1);
        RTC(hiprtcGetProgramLog(program, log.data()));
        printf("%s\n", log.data());
        exit(1);
    }
    const char *name;
    size_t bytes;
    RTC(hiprtcGetLoweredName(program, "axpy<double>", &name));
    *ret_axpy = name;
    RTC(hiprtcGetCodeSize(program, &bytes));
    std::vector<char> code(bytes);
    RTC(hiprtcGetCode(program, code.data()));
    RTC(hiprtcDestroyProgram(&program));
    return code;
}

static void run_axpy(hipModule_t module, const char *name)
{
    const int n = 1000;
    double *x, *y;
    std::vector<double> host(n);
    hipFunction_t axpy;
    HIP(hipModuleGetFunction(&axpy, module, name));
    HIP(hipMalloc(&x, n * sizeof *x));
    HIP(hipMalloc(&y, n * sizeof *y));
    for (int i = 0; i < n; i++)
        host[i] = i;
    HIP(hipMemcpy(x, host.data(), n * sizeof *x, hipMemcpyHostToDevice));
    HIP(hipMemset(y, 0, n * sizeof *y));

    hipDeviceptr_t offset;
    size_t bytes;
    HIP(hipModuleGetGlobal(&offset, &bytes, module, "offset"));
    CHECK(bytes == sizeof(int));
    int value = 41;
    HIP(hipMemcpyHtoD(offset, &value, sizeof value));
    struct {
        double a;
        const double *x;
        double *y;
        int n;
    } packed = {2.0, x, y, n};
    size_t packed_bytes = sizeof packed;
    void *config[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                      &packed_bytes, HIP_LAUNCH_PARAM_END};
    HIP(hipModuleLaunchKernel(axpy, (n + 127) / 128, 1, 1, 128, 1, 1, 0, 0, nullptr, config));
    HIP(hipMemcpy(host.data(), y, n * sizeof *y, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++)
        CHECK(host[i] == 2.0 * i + 42);
    hipDeviceptr_t calls;
    HIP(hipModuleGetGlobal(&calls, &bytes, module, "calls"));
    HIP(hipMemcpyDtoH(&value, calls, sizeof value));
    CHECK(value == 1);
    HIP(hipFree(x));
    HIP(hipFree(y));
}

static void run_tile(hipModule_t module)
{
    hipFunction_t tile;
    int *out, host[128], blocks, lds;
    HIP(hipModuleGetFunction(&tile, module, "tile"));
    HIP(hipFuncGetAttribute(&lds, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, tile));
    CHECK(lds == 64);
    // 16 KiB and a bit of LDS each: three workgroups in a compute unit's 64 KiB.
    HIP(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tile, 128, 16384));
    CHECK(blocks == 3);
    HIP(hipMalloc(&out, sizeof host));
    void *args[] = {&out};
    HIP(hipModuleLaunchKernel(tile, 1, 1, 1, 128, 1, 1, 128 * sizeof(int), 0, args, nullptr));
    HIP(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < 128; i++)
        CHECK(host[i] == 127 - i + 1000);
    HIP(hipFree(out));
}

__constant__ int table[4] = {1, 2, 3, 4};
__device__ int counter;

__global__ void count(int *out)
{
    out[threadIdx.x] = table[threadIdx.x % 4];
    atomicAdd(&counter, table[threadIdx.x % 4]);
}

static void symbols()
{
    int *out, host[64], value = 5, replaced[4] = {10, 20, 30, 40};
    void *address;
    size_t bytes;
    HIP(hipMalloc(&out, sizeof host));
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(counter), &value, sizeof value));
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), replaced, 8, 8)); // the last two
    HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
    HIP(hipGetSymbolSize(&bytes, HIP_SYMBOL(table)));
    CHECK(address && bytes == 16);
    count<<<1, 64>>>(out);
    HIP(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
    const int expected[4] = {1, 2, 10, 20};
    for (int i = 0; i < 64; i++)
        CHECK(host[i] == expected[i % 4]);
    HIP(hipMemcpyFromSymbol(&value, HIP_SYMBOL(counter), sizeof value));
    CHECK(value == 5 + 16 * 33);
    hipFuncAttributes attributes;
    HIP(hipFuncGetAttributes(&attributes, (const void *)count));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0);
    HIP(hipFree(out));
}

int main()
{
    std::string axpy;
    std::vector<char> code = compile(&axpy);
    hipModule_t module;
    for (int round = 0; round < 2; round++) { // loading again starts from fresh globals
        HIP(hipModuleLoadData(&module, code.data()));
        run_axpy(module, axpy.c_str());
        run_tile(module);
        HIP(hipModuleUnload(module));
    }
    hipFunction_t none;
    HIP(hipModuleLoadData(&module, code.data()));
    CHECK(hipModuleGetFunction(&none, module, "nothing") == hipErrorNotFound);
    HIP(hipModuleUnload(module));
    std::vector<char> damaged(code.begin(), code.end());
    memset(damaged.data(), 'x', 64);
    CHECK(hipModuleLoadData(&module, damaged.data()) != hipSuccess);
    symbols();
}
