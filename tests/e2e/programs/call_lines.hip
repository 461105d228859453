// Launches and copies on lines that call-lines.sh finds by their marks. PROGRAM leaves out the part that a library has,
// LIBRARY what is the program's.
#include <hip/hip_runtime.h>

#include <cstdlib>
#include <vector>

#ifndef PROGRAM
__global__ void chain(float *data, int steps)
{
    float value = data[threadIdx.x];

    for (int i = 0; i < steps; i++)
        value = __builtin_fmaf(value, 0.999f, 1.0f / (value + 2.0f));
    data[threadIdx.x] = value;
}

// The grid has one group, so nearly the whole GPU is idle.
extern "C" int one_group(float *data, int steps)
{
    for (int i = 0; i < 3; i++)
        chain<<<dim3(1), // launch
                dim3(64)>>>(data, steps);
    return hipDeviceSynchronize() != hipSuccess;
}
#else
extern "C" int one_group(float *data, int steps);
#endif

#ifndef LIBRARY
static int copy_often(float *data, std::vector<float> &host)
{
    const size_t bytes = host.size() * sizeof(float);
    int failed = 0;

    failed |= hipMemcpy(data, host.data(), bytes, hipMemcpyHostToDevice) != hipSuccess;
    for (int i = 0; i < 20; i++)
        failed |= hipMemcpy(host.data(), data, bytes, hipMemcpyDeviceToHost) != hipSuccess; // copy
    return failed;
}

int main(int argc, char **argv)
{
    std::vector<float> host(1 << 20, 1.0f);
    float *data;
    const int steps = argc > 1 ? atoi(argv[1]) : 1;

    if (hipMalloc(&data, host.size() * sizeof(float)) != hipSuccess)
        return 1;
    if (argc > 2 && copy_often(data, host))
        return 1;
    return one_group(data, steps);
}
#endif
