// Five steps of two kernels, each in a ROCTx range of its number; the third is between roctxProfilerResume and
// roctxProfilerPause. Link it with a library that has the functions of ROCTx.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>

extern "C" {
int roctxProfilerPause(uint64_t tid);
int roctxProfilerResume(uint64_t tid);
int roctxRangePushA(const char *message);
int roctxRangePop(void);
uint64_t roctxRangeStartA(const char *message);
void roctxRangeStop(uint64_t id);
}

__global__ void forward(int *data)
{
    data[threadIdx.x] += 1;
}

__global__ void backward(int *data)
{
    data[threadIdx.x] -= 2;
}

int main()
{
    hipStream_t stream;
    int *data, host[64];

    if (hipMalloc(&data, sizeof host) != hipSuccess || hipStreamCreate(&stream) != hipSuccess)
        return 1;
    for (int step = 1; step <= 5; step++) {
        char name[16];
        uint64_t id;

        snprintf(name, sizeof name, "step-%d", step);
        if (step == 3)
            roctxProfilerResume(0);
        roctxRangePushA(name);
        forward<<<1, 64, 0, stream>>>(data);
        roctxRangePushA("inner");
        id = roctxRangeStartA("backward");
        backward<<<1, 64, 0, stream>>>(data);
        roctxRangeStop(id);
        roctxRangePop();
        (void)hipMemcpyAsync(host, data, sizeof host, hipMemcpyDeviceToHost, stream);
        if (hipStreamSynchronize(stream) != hipSuccess)
            return 1;
        roctxRangePop();
        if (step == 3)
            roctxProfilerPause(0);
    }
    return hipStreamDestroy(stream) != hipSuccess;
}
