// Functions of three words, on the GPU and on the host: gfx950 has one instruction for each.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

enum { COUNT = 1000, FUNCTIONS = 9 };

template <typename T> __host__ __device__ void functions(T a, T b, T c, T *out)
{
    out[0] = a ^ b ^ c;
    out[1] = (a | b) & c;
    out[2] = (a & b) ^ c;
    out[3] = (~a & b) | (~b & c);
    out[4] = ~(a | (b ^ c));
    out[5] = (a & b) | (b & c) | (a & c);
    out[6] = (a & 7) | (b ^ c);
    out[7] = ~(a & b & c);
    out[8] = (a ^ 0x5a) & ~(b | c);
}

template <typename T> __global__ void on_gpu(const T *in, T *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < COUNT)
        functions(in[i], in[COUNT + i], in[2 * COUNT + i], out + i * FUNCTIONS);
}

template <typename T> static int differ(const char *name)
{
    std::vector<T> in(3 * COUNT), out(COUNT * FUNCTIONS), expected(COUNT * FUNCTIONS);
    unsigned long long seed = 1;
    for (T &v : in)
        v = (T)((seed = seed * 6364136223846793005ull + 1442695040888963407ull) >> 31);
    T *device_in, *device_out;
    if (hipMalloc(&device_in, in.size() * sizeof(T)) != hipSuccess ||
        hipMalloc(&device_out, out.size() * sizeof(T)) != hipSuccess ||
        hipMemcpy(device_in, in.data(), in.size() * sizeof(T), hipMemcpyHostToDevice) != hipSuccess)
        return 1;
    on_gpu<<<(COUNT + 255) / 256, 256>>>(device_in, device_out);
    if (hipMemcpy(out.data(), device_out, out.size() * sizeof(T), hipMemcpyDeviceToHost) !=
        hipSuccess)
        return 1;
    for (int i = 0; i < COUNT; i++)
        functions(in[i], in[COUNT + i], in[2 * COUNT + i], &expected[i * FUNCTIONS]);
    int wrong = 0;
    for (size_t i = 0; i < out.size(); i++)
        wrong += out[i] != expected[i];
    printf("%s: %d of %zu differ\n", name, wrong, out.size());
    return wrong != 0 || hipFree(device_in) != hipSuccess || hipFree(device_out) != hipSuccess;
}

int main()
{
    return differ<unsigned>("32 bits") + differ<unsigned short>("16 bits") +
           differ<unsigned long long>("64 bits");
}
