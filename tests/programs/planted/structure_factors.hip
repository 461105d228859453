// structure_factors: the structure factors of a crystal take a sine and a cosine for each atom and
// each reflection. The fix takes them once for a row of reflections and turns from one to the next
// with a complex product.
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

const int row = 16;

struct Atom {
    float x, y, z, form;
};

// F(h, k, l) = sum of form * exp(2 pi i (h x + k y + l z)) for 16 neighbours in l in each thread.
// The hardware's sine and cosine count in turns, as the coordinates do.
__global__ __launch_bounds__(256) void factors(const Atom *__restrict__ atoms, int count,
                                               float2 *__restrict__ f)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    float h = (float)(id / 128 % 16), k = (float)(id / 8 % 16), l = (float)(id % 8 * row);
    float2 sum[row] = {};
    for (int a = 0; a < count; a++) {
        float phase = h * atoms[a].x + k * atoms[a].y + l * atoms[a].z;
#ifdef FIXED
        float re = atoms[a].form * __builtin_amdgcn_cosf(phase);
        float im = atoms[a].form * __builtin_amdgcn_sinf(phase);
        float turn_re = __builtin_amdgcn_cosf(atoms[a].z);
        float turn_im = __builtin_amdgcn_sinf(atoms[a].z);
#pragma unroll
        for (int i = 0; i < row; i++) {
            sum[i].x += re;
            sum[i].y += im;
            float next = re * turn_re - im * turn_im;
            im = re * turn_im + im * turn_re;
            re = next;
        }
#else
#pragma unroll
        for (int i = 0; i < row; i++) {
            float turns = phase + (float)i * atoms[a].z, form = atoms[a].form;
            sum[i].x += form * __builtin_amdgcn_cosf(turns); // planted: transcendental_throughput
            sum[i].y += form * __builtin_amdgcn_sinf(turns);
        }
#endif
    }
    for (int i = 0; i < row; i++)
        f[(size_t)i * gridDim.x * blockDim.x + id] = sum[i];
}

int main()
{
    const int count = 32, threads = 304 * 2 * 256;
    std::vector<Atom> atoms(count);
    for (int a = 0; a < count; a++)
        atoms[a] = {(float)(a * 37 % 101) / 101, (float)(a * 53 % 103) / 103,
                    (float)(a * 71 % 107) / 107, (float)(1 + a % 8)};
    std::vector<float2> f((size_t)threads * row);
    Atom *datoms;
    float2 *df;
    CHECK(hipMalloc(&datoms, count * sizeof(Atom)));
    CHECK(hipMalloc(&df, f.size() * sizeof(float2)));
    CHECK(hipMemcpy(datoms, atoms.data(), count * sizeof(Atom), hipMemcpyHostToDevice));
    factors<<<threads / 256, 256>>>(datoms, count, df);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(f.data(), df, f.size() * sizeof(float2), hipMemcpyDeviceToHost));
    CHECK(hipFree(datoms));
    CHECK(hipFree(df));
    for (size_t i = 0; i < f.size(); i += 5001) {
        int id = (int)(i % threads), l = id % 8 * row + (int)(i / threads);
        double re = 0, im = 0;
        for (const Atom &a : atoms) {
            double phase =
                id / 128 % 16 * (double)a.x + id / 8 % 16 * (double)a.y + l * (double)a.z;
            re += a.form * std::cos(2 * M_PI * phase);
            im += a.form * std::sin(2 * M_PI * phase);
        }
        if (std::fabs(f[i].x - re) > 0.1 || std::fabs(f[i].y - im) > 0.1) {
            std::fprintf(stderr, "F[%zu]: %g, %g, not %g, %g\n", i, f[i].x, f[i].y, re, im);
            return 1;
        }
    }
    std::puts("ok");
    return 0;
}
