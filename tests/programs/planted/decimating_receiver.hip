// decimating_receiver: a lane filters every 16th sample, so a wave's reads of the staged samples
// hit two of the 32 banks of LDS. The fix leaves a word free after each 32 staged samples.
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

enum { TAPS = 128, DECIMATION = 16, THREADS = 256, OUTPUTS = 2432 * THREADS };
enum { STAGED = THREADS * DECIMATION + TAPS - DECIMATION, SAMPLES = OUTPUTS * DECIMATION + TAPS };

// Where a staged sample lies in LDS; 16 samples from a multiple of 16 are always consecutive.
__device__ inline int slot(int sample)
{
#ifdef FIXED
    return sample + sample / 32;
#else
    return sample;
#endif
}

__global__ void __launch_bounds__(THREADS)
    decimate(const int16_t *samples, const float *taps, float *channel)
{
    __shared__ float staged[STAGED + STAGED / 32 + 1];
    const int16_t *first = samples + (size_t)blockIdx.x * THREADS * DECIMATION;
    for (int i = threadIdx.x; i < STAGED; i += THREADS)
        staged[slot(i)] = first[i];
    __syncthreads();
    float sum = 0;
    for (int run = 0; run < TAPS / DECIMATION; run++) {
        const float *window = staged + slot((threadIdx.x + run) * DECIMATION);
        for (int i = 0; i < DECIMATION; i++)
            sum += taps[run * DECIMATION + i] * window[i]; // planted: lds_bank_conflicts
    }
    channel[blockIdx.x * THREADS + threadIdx.x] = sum;
}

int main()
{
    std::vector<int16_t> samples(SAMPLES);
    std::vector<float> taps(TAPS), got(OUTPUTS);
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = (int16_t)((unsigned)i * 2654435761u >> 24) - 128;
    for (int i = 0; i < TAPS; i++)
        taps[i] = (float)((i < TAPS / 2 ? i : TAPS - 1 - i) % 19 - 9);
    int16_t *samples_in;
    float *taps_in, *channel;
    CHECK(hipMalloc(&samples_in, SAMPLES * sizeof(int16_t)));
    CHECK(hipMalloc(&taps_in, TAPS * sizeof(float)));
    CHECK(hipMalloc(&channel, OUTPUTS * sizeof(float)));
    CHECK(hipMemcpy(samples_in, samples.data(), SAMPLES * sizeof(int16_t), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(taps_in, taps.data(), TAPS * sizeof(float), hipMemcpyHostToDevice));
    decimate<<<OUTPUTS / THREADS, THREADS>>>(samples_in, taps_in, channel);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), channel, OUTPUTS * sizeof(float), hipMemcpyDeviceToHost));
    for (int output = 0; output < OUTPUTS; output++) {
        float want = 0;
        for (int i = 0; i < TAPS; i++)
            want += taps[i] * samples[output * DECIMATION + i];
        if (got[output] != want) {
            fprintf(stderr, "output %d: %g, not %g\n", output, got[output], want);
            return 1;
        }
    }
    CHECK(hipFree(samples_in));
    CHECK(hipFree(taps_in));
    CHECK(hipFree(channel));
    puts("ok");
    return 0;
}
