// splitting_through_host: the field between the two kernels of each step is copied to the host and
// back, where nobody looks at it. The fix leaves it on the GPU.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

const int width = 1024, height = 1024, steps = 4;

// The two kernels of a step of a splitting method: one along the rows, one at each point.
__host__ __device__ inline float shift(float here, float left)
{
    return here + 0.25f * (left - here);
}

__host__ __device__ inline float react(float u)
{
    return u + 0.0625f * u * (1.0f - u);
}

__global__ __launch_bounds__(256) void advect(const float *__restrict__ from,
                                              float *__restrict__ to)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = i % width;
    to[i] = shift(from[i], from[x > 0 ? i - 1 : i + width - 1]);
}

__global__ __launch_bounds__(256) void reaction(float *field)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    field[i] = react(field[i]);
}

int main()
{
    const int n = width * height;
    const size_t bytes = n * sizeof(float);
    float *field, *a, *b;
    CHECK(hipHostMalloc((void **)&field, bytes));
    CHECK(hipMalloc(&a, bytes));
    CHECK(hipMalloc(&b, bytes));
    std::vector<float> want(n);
    for (int i = 0; i < n; i++)
        field[i] = want[i] = (float)(i * 2654435761u >> 8) / 16777216.0f;
    CHECK(hipMemcpy(a, field, bytes, hipMemcpyHostToDevice));
    for (int step = 0; step < steps; step++) {
        advect<<<n / 256, 256>>>(a, b);
        CHECK(hipGetLastError());
#ifdef FIXED
        reaction<<<n / 256, 256>>>(b);
        CHECK(hipGetLastError());
        float *swap = a;
        a = b;
        b = swap;
#else
        CHECK(hipMemcpy(field, b, bytes, hipMemcpyDeviceToHost)); // planted: copy_bound
        CHECK(hipMemcpy(a, field, bytes, hipMemcpyHostToDevice));
        reaction<<<n / 256, 256>>>(a);
        CHECK(hipGetLastError());
#endif
    }
    CHECK(hipMemcpy(field, a, bytes, hipMemcpyDeviceToHost));
    for (int step = 0; step < steps; step++)
        for (int y = 0; y < height; y++) {
            float *p = &want[y * width], before = p[width - 1];
            for (int x = 0; x < width; x++) {
                float here = p[x];
                p[x] = react(shift(here, before));
                before = here;
            }
        }
    for (int i = 0; i < n; i++)
        if (std::fabs(field[i] - want[i]) > 1e-4f) {
            std::fprintf(stderr, "point %d: %g, not %g\n", i, field[i], want[i]);
            return 1;
        }
    CHECK(hipHostFree(field));
    CHECK(hipFree(a));
    CHECK(hipFree(b));
    std::puts("ok");
    return 0;
}
