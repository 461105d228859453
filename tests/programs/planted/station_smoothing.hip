// station_smoothing: low occupancy by workgroup size, as a workgroup is one station with a thread for each of its 16 sensors, and 48 of the 64 lanes of its wave are empty. The fix gives a workgroup 16 stations.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <hip/hip_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t e_ = (call);                                                                    \
        if (e_ != hipSuccess) {                                                                    \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(e_));                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { SENSORS = 16, TIMES = 24 };
#ifdef FIXED
enum { STATIONS_PER_GROUP = 16 };
#else
enum { STATIONS_PER_GROUP = 1 };
#endif

struct State {
    float level, trend;
};

__host__ __device__ inline float reading(uint32_t channel, uint32_t time)
{
    const uint32_t h = (channel * 64 + time) * 2654435761u;
    return (float)((h ^ h >> 15) & 0xffff) / 65536 + 0.1f * (float)time;
}

__host__ __device__ inline State smooth(State s, float x)
{
    const float level = 0.3f * x + 0.7f * (s.level + s.trend);
    return {level, 0.1f * (level - s.level) + 0.9f * s.trend};
}

__global__ void measure(float *readings, uint32_t channels)
{
    const uint32_t channel = blockIdx.x * blockDim.x + threadIdx.x;
    readings[(size_t)blockIdx.y * channels + channel] = reading(channel, blockIdx.y);
}

// Holt's double exponential smoothing of each channel; the readings of one time lie side by side.
__global__ void holt(const float *readings, float *forecast, uint32_t channels, int times)
{
    const uint32_t station = blockIdx.x * STATIONS_PER_GROUP + threadIdx.y;
    const uint32_t channel = station * SENSORS + threadIdx.x;
    State s = {readings[channel], 0};
    for (int t = 1; t < times; t++)
        s = smooth(s, readings[(size_t)t * channels + channel]);
    forecast[channel] = s.level + s.trend;
}

int main()
{
    const uint32_t stations = 1216 * 16, channels = stations * SENSORS;
    float *readings, *forecast;
    CHECK(hipMalloc(&readings, (size_t)channels * TIMES * sizeof(float)));
    CHECK(hipMalloc(&forecast, channels * sizeof(float)));
    measure<<<dim3(channels / 256, TIMES), 256>>>(readings, channels);
    CHECK(hipGetLastError());
    const dim3 threads(SENSORS, STATIONS_PER_GROUP);
    for (int day = 0; day < 3; day++) {
        holt<<<stations / STATIONS_PER_GROUP, threads>>>(readings, forecast, channels, TIMES); // planted: low_occupancy
        CHECK(hipGetLastError());
    }
    std::vector<float> got(channels);
    CHECK(hipMemcpy(got.data(), forecast, channels * sizeof(float), hipMemcpyDeviceToHost));
    for (uint32_t channel = 0; channel < channels; channel++) {
        State s = {reading(channel, 0), 0};
        for (int t = 1; t < TIMES; t++)
            s = smooth(s, reading(channel, t));
        if (!(fabsf(got[channel] - s.level - s.trend) < 1e-4f)) {
            fprintf(stderr, "channel %u: %g, not %g\n", channel, got[channel], s.level + s.trend);
            return 1;
        }
    }
    CHECK(hipFree(readings));
    CHECK(hipFree(forecast));
    puts("ok");
    return 0;
}
