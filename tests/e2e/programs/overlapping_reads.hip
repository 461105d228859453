// Eight streams, in each of which a kernel reads 32 MiB: nothing else limits any of them.
#include "check.h"

static const size_t N = 4 << 20;
static const int STREAMS = 8;

__global__ void read(const double *from, double *to)
{
    const size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x;
    const double value = from[i];
    if (value == 123.0)
        to[i] = value;
}

int main()
{
    double *from[STREAMS], *to;
    hipStream_t stream[STREAMS];
    HIP_CHECK(hipMalloc(&to, N * sizeof *to));
    for (int i = 0; i < STREAMS; i++) {
        HIP_CHECK(hipMalloc(&from[i], N * sizeof **from));
        HIP_CHECK(hipStreamCreate(&stream[i]));
    }
    HIP_CHECK(hipDeviceSynchronize());
    for (int i = 0; i < STREAMS; i++)
        read<<<N / 1024, 1024, 0, stream[i]>>>(from[i], to);
    HIP_CHECK(hipDeviceSynchronize());
}
