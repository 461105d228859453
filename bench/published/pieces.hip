// Workgroups of 1024 each read one of PIECES buffers of 512 KiB: the next workgroup the next one. gpu-l2-cache.
#include "common.h"

enum { SIZE = 1024, LOADS = 64 };

__global__ void pieces(double *out, const double *from, int count)
{
    double sum = 0;
    const size_t first = (size_t)(blockIdx.x % count) * 2 * SIZE + threadIdx.x, row = (size_t)count * 2 * SIZE;
#pragma unroll
    for (int k = 0; k < LOADS / 2; k++)
        sum += from[first + k * row] * from[first + k * row + SIZE];
    if (sum == 1.25)
        out[threadIdx.x] = sum;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        usage("pieces WORKGROUPS PIECES");
    const int count = atoi(argv[2]);
    const size_t elements = (size_t)count * SIZE * LOADS;
    double *out = device<double>(SIZE), *from = device<double>(elements);
    OK(hipMemset(from, 0, elements * sizeof *from));
    pieces<<<atoi(argv[1]), SIZE>>>(out, from, count);
    finish();
}
