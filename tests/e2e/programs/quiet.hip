// quiet STATUS: prints nothing, leaves its sums in result.txt, and ends with that exit status; for
// optimize-quiet.sh.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

__global__ void column_sums(const float *in, float *out, int n)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += in[i * 256 + threadIdx.x];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

int main(int argc, char **argv)
{
    const int n = 256;
    std::vector<float> host(256 * (size_t)n), result(1024);
    float *in, *out;
    FILE *file;

    for (size_t i = 0; i < host.size(); i++)
        host[i] = 0.25f * (float)(i % 31);
    if (hipMalloc(&in, host.size() * sizeof(float)) != hipSuccess ||
        hipMalloc(&out, result.size() * sizeof(float)) != hipSuccess ||
        hipMemcpy(in, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice) !=
            hipSuccess)
        return 101;
    column_sums<<<4, 256>>>(in, out, n);
    if (hipMemcpy(result.data(), out, result.size() * sizeof(float), hipMemcpyDeviceToHost) !=
        hipSuccess)
        return 102;
    file = fopen("result.txt", "w");
    if (!file)
        return 103;
    for (size_t i = 0; i < result.size(); i += 111)
        fprintf(file, "%g\n", result[i]);
    return fclose(file) == 0 && argc > 1 ? atoi(argv[1]) : 104;
}
