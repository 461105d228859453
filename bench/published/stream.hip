// Streaming kernels on doubles with a given number of workgroups on each compute unit, which an allocation of LDS
// enforces (0: as many as fit), over arrays of MIB each, which are to be more than caches hold. With ELEMENTS an
// array has only so many, which are gone through again and again, over MIB twice and then over twice as much.
#include "common.h"

struct arrays {
    double *a, *b, *c, *d;
    unsigned count, length, reciprocal; // 2^32 / length, rounded down
};

// The element of a work-item: its number, and AGAIN modulo the length of the arrays.
template <bool AGAIN> static __device__ unsigned element(const arrays &x)
{
    const unsigned first = blockIdx.x * blockDim.x;
    if (!AGAIN)
        return first + threadIdx.x;
    unsigned i = first - __umulhi(first, x.reciprocal) * x.length;
    i = (i < x.length ? i : i - x.length) + threadIdx.x;
    return i < x.length ? i : i - x.length;
}

static __device__ bool beyond(const arrays &x)
{
    return blockIdx.x * blockDim.x + threadIdx.x >= x.count;
}

template <bool AGAIN> __global__ void init(arrays x)
{
    if (!beyond(x))
        x.a[element<AGAIN>(x)] = 0.5;
}

template <bool AGAIN> __global__ void read(arrays x)
{
    if (beyond(x))
        return;
    const unsigned i = element<AGAIN>(x);
    const double value = x.b[i];
    if (value == 1234.5)
        x.a[i] = value;
}

template <bool AGAIN> __global__ void scale(arrays x)
{
    if (beyond(x))
        return;
    const unsigned i = element<AGAIN>(x);
    x.a[i] = 1.5 * x.b[i];
}

template <bool AGAIN> __global__ void multiply_add(arrays x)
{
    if (beyond(x))
        return;
    const unsigned i = element<AGAIN>(x);
    x.a[i] = x.b[i] * x.d[i] + x.c[i];
}

__global__ void stencil3(arrays x)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i + 1 < x.count)
        x.a[i] = 0.5 * (x.b[i - 1] + x.b[i + 1]) - x.b[i];
}

__global__ void stencil5(arrays x)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 2 && i + 2 < x.count)
        x.a[i] = 0.25 * (x.b[i - 2] + x.b[i - 1]) - x.b[i] + 0.5 * (x.b[i + 1] + x.b[i + 2]);
}

// The further kernels of BabelStream.
__global__ void copy(arrays x)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x.c[i] = x.a[i];
}

__global__ void add(arrays x)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x.c[i] = x.a[i] + x.b[i];
}

__global__ void triad(arrays x)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    x.a[i] = x.b[i] + 0.4 * x.c[i];
}

__global__ void dot(arrays x)
{
    __shared__ double part[1024];
    const unsigned stride = gridDim.x * blockDim.x;
    double sum = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < x.count; i += stride)
        sum += x.a[i] * x.b[i];
    part[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        x.d[blockIdx.x] = part[0];
}

static bool wanted(const char *names, const char *name)
{
    const char *at = strstr(names, name);
    const size_t length = strlen(name);
    return at && (at[length] == ',' || !at[length]) && (at == names || at[-1] == ',');
}

int main(int argc, char **argv)
{
    if (argc < 5)
        usage("stream KERNEL[,KERNEL...] WORKGROUP_SIZE PER_COMPUTE_UNIT MIB [ELEMENTS]");
    const unsigned size = atoi(argv[2]), per_unit = atoi(argv[3]);
    const bool again = argc > 5;
    const unsigned count = (unsigned)atoi(argv[4]) << 17, length = again ? atoi(argv[5]) : count;
    // One workgroup more does not fit.
    const unsigned lds = per_unit ? (65536 / (per_unit + 1) + 256) / 256 * 256 : 0;
    arrays x = {device<double>(length + 4), device<double>(length + 4), device<double>(length + 4), device<double>(length + 4),
                count, length, (unsigned)((1ull << 32) / length)};
    const struct {
        const char *name;
        void (*kernel)(arrays);
    } kernels[] = {{"init", again ? init<true> : init<false>}, {"read", again ? read<true> : read<false>},
                   {"scale", again ? scale<true> : scale<false>}, {"multiply_add", again ? multiply_add<true> : multiply_add<false>},
                   {"stencil3", stencil3}, {"stencil5", stencil5}, {"copy", copy}, {"add", add}, {"triad", triad}};
    for (const auto &k : kernels) {
        for (int launch = 0; launch < (again ? 3 : 1) && wanted(argv[1], k.name); launch++) {
            x.count = count << launch / 2;
            k.kernel<<<(x.count + size - 1) / size, size, lds>>>(x);
            finish();
        }
    }
    if (wanted(argv[1], "dot"))
        dot<<<compute_units() * 4, 1024>>>(x);
    finish();
}
