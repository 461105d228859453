// light_materials: hits of three materials lie mixed, so each wave runs the shading of all three one after the other. The fix visits the hits sorted by material, so that a wave runs one.
#include <algorithm>
#include <cmath>
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

enum { MATTE, CLOTH, METAL, MATERIALS, LIGHTS = 48 };

struct Hit {
    float normal_z, roughness;
    int material, pixel;
};

// cosines[l] says how light l stands to the surface.
__host__ __device__ inline float matte(const float *cosines, float z, float rough)
{
    float sum = 0;
    for (int l = 0; l < LIGHTS; l++) {
        const float c = cosines[l] * z, b = 0.45f * rough / (rough + 0.09f);
        sum += c * (1 - 0.5f * rough + b * (1 - c * c));
    }
    return sum;
}

__host__ __device__ inline float cloth(const float *cosines, float z, float rough)
{
    float sum = 0;
    for (int l = 0; l < LIGHTS; l++) {
        const float c = fabsf(cosines[l] - z), s = 1 - c * c * 0.9f;
        sum += (1 + 4 * s * s * rough) * cosines[l] / (4 * (c + z + 0.1f));
    }
    return sum * 0.7f;
}

__host__ __device__ inline float metal(const float *cosines, float z, float rough)
{
    float sum = 0;
    const float a = rough * rough + 0.01f;
    for (int l = 0; l < LIGHTS; l++) {
        const float h = 0.5f * (cosines[l] + z), d = h * h * (a - 1) + 1, f = 1 - h;
        sum += a / (3.14159f * d * d) * (0.6f + 0.4f * f * f * f * f * f);
    }
    return sum;
}

__host__ __device__ inline float shade(const float *cosines, const Hit &hit)
{
    switch (hit.material) { // planted: divergence
    case MATTE:
        return matte(cosines, hit.normal_z, hit.roughness);
    case CLOTH:
        return cloth(cosines, hit.normal_z, hit.roughness);
    default:
        return metal(cosines, hit.normal_z, hit.roughness);
    }
}

__global__ void shade_hits(const Hit *hits, const float *__restrict__ cosines,
                           float *__restrict__ image)
{
    const Hit hit = hits[blockIdx.x * blockDim.x + threadIdx.x];
    image[hit.pixel] = shade(cosines, hit);
}

int main()
{
    const int n = 384 * 1024;
    std::vector<Hit> hits(n);
    std::vector<float> cosines(LIGHTS), got(n);
    for (int i = 0; i < n; i++) {
        const uint32_t h = (uint32_t)i * 2654435761u;
        hits[i] = {0.2f + (float)(h >> 24) / 400, 0.1f + (float)(i % 8) / 10,
                   (int)((h ^ h >> 13) >> 9) % MATERIALS, i};
    }
#ifdef FIXED
    std::stable_sort(hits.begin(), hits.end(),
                     [](const Hit &a, const Hit &b) { return a.material < b.material; });
#endif
    for (int l = 0; l < LIGHTS; l++)
        cosines[l] = (float)(l * 7 % LIGHTS + 1) / (LIGHTS + 1);
    Hit *dh;
    float *dc, *image;
    CHECK(hipMalloc(&dh, n * sizeof(Hit)));
    CHECK(hipMalloc(&dc, LIGHTS * sizeof(float)));
    CHECK(hipMalloc(&image, n * sizeof(float)));
    CHECK(hipMemcpy(dh, hits.data(), n * sizeof(Hit), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dc, cosines.data(), LIGHTS * sizeof(float), hipMemcpyHostToDevice));
    shade_hits<<<n / 256, 256>>>(dh, dc, image);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(got.data(), image, n * sizeof(float), hipMemcpyDeviceToHost));
    for (const Hit &hit : hits) {
        const float want = shade(cosines.data(), hit);
        if (!(fabsf(got[hit.pixel] - want) <= 1e-3f * fabsf(want))) {
            fprintf(stderr, "pixel %d: %g, not %g\n", hit.pixel, got[hit.pixel], want);
            return 1;
        }
    }
    for (void *p : {(void *)dh, (void *)dc, (void *)image})
        CHECK(hipFree(p));
    puts("ok");
    return 0;
}
