// What a repository of ci.sh has: sums of rows, and how many rows there were. Each change of it is one line.
#include <cstdio>
#include <vector>

#include <hip/hip_runtime.h>

__global__ void row_sums(const float *in, float *out, int *rows, int n)
{
    __shared__ float part[256];
    const int row = blockIdx.x, lane = threadIdx.x;
    float sum = 0;

    for (int i = lane; i < n; i += 256)
        sum += in[row * n + i];
    part[lane] = sum;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (lane < half)
            part[lane] += part[lane + half];
        __syncthreads();
    }
    if (lane == 0) {
        out[row] = part[0];
        atomicAdd(rows, 1);
    }
}

int main()
{
    const int count = 64, n = 1024;
    std::vector<float> in(count * n), out(count);
    float *a, *b, total = 0;
    int *rows, seen = 0;

    for (int i = 0; i < count * n; i++)
        in[i] = i % 7;
    if (hipMalloc(&a, in.size() * 4) || hipMalloc(&b, out.size() * 4) || hipMalloc(&rows, 4))
        return 1;
    hipMemcpy(a, in.data(), in.size() * 4, hipMemcpyHostToDevice);
    hipMemcpy(rows, &seen, 4, hipMemcpyHostToDevice);
    row_sums<<<count, 256>>>(a, b, rows, n);
    hipMemcpy(out.data(), b, out.size() * 4, hipMemcpyDeviceToHost);
    hipMemcpy(&seen, rows, 4, hipMemcpyDeviceToHost);
    for (float sum : out)
        total += sum;
    printf("%d rows, total %.1f\n", seen, total);
    hipFree(a);
    hipFree(b);
    hipFree(rows);
    return 0;
}
