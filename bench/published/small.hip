// b[i] = a[i] / 4 over ELEMENTS doubles, and back, 32 launches one behind the other: gpu-small-kernels.
#include "common.h"

__global__ void small(double *to, const double *from, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = from[i] * 0.25;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("small ELEMENTS WORKGROUP_SIZE");
    const int count = atoi(argv[1]), size = atoi(argv[2]);
    double *a = device<double>(count), *b = device<double>(count);
    OK(hipMemset(a, 0, (size_t)count * 8));
    OK(hipMemset(b, 0, (size_t)count * 8));
    for (int launch = 0; launch < 16; launch++) {
        small<<<(count + size - 1) / size, size>>>(a, b, count);
        small<<<(count + size - 1) / size, size>>>(b, a, count);
    }
    finish();
}
