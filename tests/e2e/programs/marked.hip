// With "left" a thread ends within a range, and nothing else is done.
// Five steps of two kernels, each in a ROCTx range of its number; the third is between roctxProfilerResume and
// roctxProfilerPause. With a number, a kernel before them is in the last of so many ranges "many", which were all open.
// Link it with a library that has the functions of ROCTx.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

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

static void in_last_of(int count, int *data, hipStream_t stream)
{
    std::vector<uint64_t> ids;

    for (int i = 0; i < count; i++)
        ids.push_back(roctxRangeStartA("many"));
    for (int i = 0; i + 1 < count; i++)
        roctxRangeStop(ids[i]);
    forward<<<1, 64, 0, stream>>>(data);
    (void)hipStreamSynchronize(stream);
    roctxRangeStop(ids.back());
}

// A thread ends in its range; then the main thread launches.
static int after_a_thread_in_a_range(int *data, hipStream_t stream)
{
    std::thread([=] {
        roctxRangePushA("left");
        forward<<<1, 64, 0, stream>>>(data);
        (void)hipStreamSynchronize(stream);
    }).join();
    backward<<<1, 64, 0, stream>>>(data);
    return hipStreamSynchronize(stream) != hipSuccess;
}

int main(int argc, char **argv)
{
    hipStream_t stream;
    int *data, host[64];

    if (hipMalloc(&data, sizeof host) != hipSuccess || hipStreamCreate(&stream) != hipSuccess)
        return 1;
    if (argc > 1 && strcmp(argv[1], "left") == 0)
        return after_a_thread_in_a_range(data, stream);
    if (argc > 1)
        in_last_of(atoi(argv[1]), data, stream);
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
