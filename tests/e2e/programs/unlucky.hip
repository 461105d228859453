// unlucky: for optimize-ends.sh and optimize-files.sh. It fails while the file or folder $FAIL_IF is there
// and $FAIL_UNLESS is not, and adds a line to the file $ADD_TO. `most` and `next` gain by unrolling; what
// takes most is `most`, until it is unrolled.
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != hipSuccess) {                                                                \
            fprintf(stderr, "%s failed\n", #call);                                                 \
            return 2;                                                                              \
        }                                                                                          \
    } while (0)

__global__ void most(const float *in, float *out, int n)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += in[i * 256 + threadIdx.x];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

__global__ void next(const float *in, float *out, int n)
{
    float total = 1;
    for (int i = 0; i < n; i++)
        total -= in[i * 256 + threadIdx.x];
    out[1024 + blockIdx.x * blockDim.x + threadIdx.x] = total;
}

// None of its loops can be unrolled by a pragma.
__global__ void odd(const float *in, float *out, int n)
{
    while (n > 1)
        n /= 2;
    out[2048 + blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x] + (float)n;
}

static bool is_there(const char *variable)
{
    const char *path = getenv(variable);

    return path && access(path, F_OK) == 0;
}

int main()
{
    constexpr int n = 256;
    std::vector<float> host(256 * n), result(3072);
    float *in, *out;

    if (is_there("FAIL_IF") && !is_there("FAIL_UNLESS")) {
        fprintf(stderr, "no luck\n");
        return 9;
    }
    if (const char *path = getenv("ADD_TO")) {
        FILE *file = fopen(path, "a");

        if (!file || fputs("\n", file) < 0 || fclose(file) != 0)
            return 2;
    }
    for (size_t i = 0; i < host.size(); i++)
        host[i] = 0.25f * (float)(i % 31);
    CHECK(hipMalloc(&in, host.size() * sizeof(float)));
    CHECK(hipMalloc(&out, result.size() * sizeof(float)));
    CHECK(hipMemcpy(in, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice));
    for (int i = 0; i < 4; i++)
        most<<<4, 256>>>(in, out, n);
    for (int i = 0; i < 3; i++)
        next<<<4, 256>>>(in, out, n);
    odd<<<4, 256>>>(in, out, n);
    CHECK(hipMemcpy(result.data(), out, result.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (size_t i = 0; i < result.size(); i += 511)
        printf("%g\n", result[i]);
    return 0;
}
