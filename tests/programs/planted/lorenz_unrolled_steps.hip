// lorenz_unrolled_steps: a loop of 52 time steps is unrolled into far more code than the
// instruction cache holds. The fix leaves the loop as it is, so that all steps run the same code.
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

const int size = 16, steps_per_frame = 52;

struct State {
    float x[size];
};

// The slope of the Lorenz 96 model.
__host__ __device__ inline State slope(const State &s)
{
    State d;
#pragma unroll
    for (int i = 0; i < size; i++)
        d.x[i] = (s.x[(i + 1) % size] - s.x[(i + size - 2) % size]) * s.x[(i + size - 1) % size] -
                 s.x[i] + 8.0f;
    return d;
}

__host__ __device__ inline State along(const State &s, const State &d, float step)
{
    State t;
#pragma unroll
    for (int i = 0; i < size; i++)
        t.x[i] = s.x[i] + step * d.x[i];
    return t;
}

// One step of the Runge-Kutta method of fourth order.
__host__ __device__ inline State advance(const State &s, float step)
{
    State a = slope(s), b = slope(along(s, a, 0.5f * step));
    State c = slope(along(s, b, 0.5f * step)), d = slope(along(s, c, step));
    return along(along(s, along(a, d, 1.0f), step / 6), along(b, c, 1.0f), step / 3);
}

// Each thread follows one member of an ensemble and writes its first variable once per frame.
__global__ __launch_bounds__(64) void ensemble(const float *__restrict__ start,
                                               float *__restrict__ frame, int frames, float step)
{
    int member = blockIdx.x * blockDim.x + threadIdx.x, members = gridDim.x * blockDim.x;
    State s;
    for (int i = 0; i < size; i++)
        s.x[i] = start[i * members + member];
    for (int at = 0; at < frames; at++) {
#ifdef FIXED
#pragma unroll 1
        for (int i = 0; i < steps_per_frame; i++)
            s = advance(s, step);
#else
#pragma unroll
        for (int i = 0; i < steps_per_frame; i++)
            s = advance(s, step); // planted: instruction_cache_misses
#endif
        frame[at * members + member] = s.x[0];
    }
}

int main()
{
    const int members = 304 * 4 * 64, frames = 2;
    const float step = 0.001f;
    std::vector<float> start(size * members), frame(frames * members);
    for (int i = 0; i < size * members; i++)
        start[i] = 8.0f + (float)(i * 2654435761u >> 16) / 65536.0f;
    float *dstart, *dframe;
    CHECK(hipMalloc(&dstart, start.size() * sizeof(float)));
    CHECK(hipMalloc(&dframe, frame.size() * sizeof(float)));
    CHECK(hipMemcpy(dstart, start.data(), start.size() * sizeof(float), hipMemcpyHostToDevice));
    ensemble<<<members / 64, 64>>>(dstart, dframe, frames, step);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(frame.data(), dframe, frame.size() * sizeof(float), hipMemcpyDeviceToHost));
    CHECK(hipFree(dstart));
    CHECK(hipFree(dframe));
    for (int member = 0; member < members; member += 307) {
        State s;
        for (int i = 0; i < size; i++)
            s.x[i] = start[i * members + member];
        for (int at = 0; at < frames; at++) {
            for (int i = 0; i < steps_per_frame; i++)
                s = advance(s, step);
            if (std::fabs(frame[at * members + member] - s.x[0]) > 1e-3f) {
                std::fprintf(stderr, "member %d: %g, not %g\n", member,
                             frame[at * members + member], s.x[0]);
                return 1;
            }
        }
    }
    std::puts("ok");
    return 0;
}
