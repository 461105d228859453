// Work that has ended long ago is over for who looks once: what a program that sleeps hears.
#include <unistd.h>

#include "check.h"

__global__ void work(float *data)
{
    data[threadIdx.x] = data[threadIdx.x] * 0.5f + 1.0f;
}

int main()
{
    enum { LONG_US = 3 * 1000 * 1000 };
    float *data;
    hipStream_t stream;
    hipEvent_t event;
    HIP(hipMalloc(&data, 256 * sizeof(float)));
    HIP(hipMemset(data, 0, 256 * sizeof(float)));
    HIP(hipDeviceSynchronize());
    HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP(hipEventCreate(&event));
    work<<<1, 256, 0, stream>>>(data);
    HIP(hipEventRecord(event, stream));
    usleep(LONG_US);
    const hipError_t of_event = hipEventQuery(event), of_stream = hipStreamQuery(stream);
    HIP(hipStreamSynchronize(stream));
    HIP(hipEventDestroy(event));
    HIP(hipStreamDestroy(stream));
    HIP(hipFree(data));
    CHECK(of_event == hipSuccess && of_stream == hipSuccess);
}
