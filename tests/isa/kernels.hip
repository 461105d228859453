// Test kernels, compiled for gfx942 when the tests are built. Plain HIP as a user writes it.
#include <hip/hip_runtime.h>

extern "C" __global__ void vadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy(float alpha, const float *x, float *y, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = alpha * x[i] + y[i];
}

// Sum of each block's 256 elements by a tree in LDS.
extern "C" __global__ void reduce_lds(const int *in, int *out, int n)
{
    __shared__ int part[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}

// Reads LDS behind a barrier and writes it again without another one, as many block reductions do:
// a race by the rules that hardware decides for the readers.
extern "C" __global__ void reuse_lds(int *out)
{
    __shared__ int part[4];
    int t = threadIdx.x, wave = t / 64;
    for (int round = 0; round < 3; round++) {
        if (t % 64 == 0)
            part[wave] = 100 * round + wave + 1;
        __syncthreads();
        out[round * 256 + t] = part[0] + part[3];
    }
}

// Sum of all elements: shuffles within waves, LDS between them, one atomic per block.
extern "C" __global__ void reduce_shfl(const int *in, int *total, int n)
{
    __shared__ int part[16];
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = i < n ? in[i] : 0;
    for (int d = 32; d > 0; d >>= 1)
        v += __shfl_down(v, d);
    if (threadIdx.x % 64 == 0)
        part[threadIdx.x / 64] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (unsigned w = 0; w < blockDim.x / 64; w++)
            sum += part[w];
        atomicAdd(total, sum);
    }
}

extern "C" __global__ void sgemm16(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += 16) {
        ta[y][x] = a[row * n + k0 + x];
        tb[y][x] = b[(k0 + y) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += ta[y][k] * tb[k][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// One block of 256 per row.
extern "C" __global__ void softmax(const float *in, float *out, int n)
{
    __shared__ float part[256];
    const float *row = in + blockIdx.x * n;
    int t = threadIdx.x;
    float m = -INFINITY;
    for (int i = t; i < n; i += 256)
        m = fmaxf(m, row[i]);
    part[t] = m;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s)
            part[t] = fmaxf(part[t], part[t + s]);
        __syncthreads();
    }
    m = part[0];
    __syncthreads();
    float sum = 0;
    for (int i = t; i < n; i += 256)
        sum += expf(row[i] - m);
    part[t] = sum;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    for (int i = t; i < n; i += 256)
        out[blockIdx.x * n + i] = expf(row[i] - m) / part[0];
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Indexed by data: the array has to live in scratch.
extern "C" __global__ void scratch(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    volatile int a[37];
    for (int k = 0; k < 37; k++)
        a[k] = i * k;
    a[in[i] % 37] += 1000;
    int sum = 0;
    for (int k = 0; k < 37; k++)
        sum += a[(k + in[i]) % 37] ^ k;
    out[i] = sum;
}

// A generic pointer that is private, LDS or global depending on data.
static __device__ __attribute__((noinline)) int bump(int *p, int by)
{
    *p += by;
    return *p * 3;
}

extern "C" __global__ void flat(int *g, int *out, int n)
{
    __shared__ int shared[64];
    int own = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = 100 + threadIdx.x;
    __syncthreads();
    if (i >= n)
        return;
    int *p = i % 3 == 0 ? &own : i % 3 == 1 ? &shared[threadIdx.x] : &g[i];
    int r = bump(p, 5);
    out[i] = r + own * 7 + shared[threadIdx.x] * 11;
}

extern "C" __global__ void divide(const int *a, const int *b, int *q, int *r, unsigned *uq, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        q[i] = a[i] / b[i];
        r[i] = a[i] % b[i];
        uq[i] = (unsigned)a[i] / (unsigned)b[i];
    }
}

extern "C" __global__ void divide64(const long *a, const long *b, long *q, long *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        q[i] = a[i] / b[i];
        r[i] = a[i] % b[i];
    }
}

// Every block waits for its neighbour on one side: decoupled look-back, and the same reversed.
extern "C" __global__ void lookback(int *flag, int reverse)
{
    if (threadIdx.x)
        return;
    int me = reverse ? (int)(gridDim.x - 1 - blockIdx.x) : (int)blockIdx.x;
    int before = 0;
    if (me > 0)
        while (!(before = __hip_atomic_load(&flag[me - 1], __ATOMIC_ACQUIRE,
                                            __HIP_MEMORY_SCOPE_AGENT)))
            ;
    __hip_atomic_store(&flag[me], before + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// Waves of one block waiting for one another, sleeping between looks.
extern "C" __global__ void chain(int *out)
{
    __shared__ volatile int turn;
    int wave = threadIdx.x / 64, waves = blockDim.x / 64;
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    while (turn != waves - 1 - wave)
        __builtin_amdgcn_s_sleep(1);
    if (threadIdx.x % 64 == 0) {
        out[waves - 1 - wave] = wave;
        turn = turn + 1;
    }
}

extern "C" __global__ void narrow(const signed char *a, const unsigned short *b, short *c,
                                  unsigned char *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = (short)(a[i] * 3 + b[i]);
        d[i] = (unsigned char)(b[i] >> 4);
    }
}

extern "C" __global__ void wide(const double4 *a, double4 *b, const int3 *c, int3 *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double4 v = a[i];
        b[i] = make_double4(v.w, v.z, v.y, v.x);
        int3 u = c[i];
        d[i] = make_int3(u.z, u.x, u.y);
    }
}

extern "C" __global__ void atomics(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], t);
    atomicSub(&i[1], t);
    atomicMin(&i[2], -t);
    atomicMax(&i[3], t);
    atomicAnd(&u[0], ~(1u << (t % 32)));
    atomicOr(&u[1], 1u << (t % 32));
    atomicXor(&u[2], (unsigned)t);
    atomicInc(&u[3], 9u);
    atomicDec(&u[4], 9u);
    atomicAdd(&l[0], (unsigned long long)t << 32);
    atomicMax(&l[1], (unsigned long long)t << 20);
    atomicAdd(&f[0], 0.25f);
    atomicAdd(&d[0], 0.125);
    unsigned long long seen = l[2], old;
    do {
        old = seen;
        seen = atomicCAS(&l[2], old, old + 3);
    } while (seen != old);
    u[8 + t] = atomicExch(&u[5], (unsigned)t + 1);
}

extern "C" __global__ void lds_atomics(int *out)
{
    __shared__ int s[4];
    __shared__ float f;
    __shared__ unsigned long long l;
    if (threadIdx.x == 0) {
        s[0] = s[1] = s[2] = s[3] = 0;
        f = 0;
        l = 0;
    }
    __syncthreads();
    int old = atomicAdd(&s[0], 1);
    atomicMax(&s[1], (int)threadIdx.x);
    atomicOr(&s[2], 1 << (threadIdx.x % 31));
    atomicAdd(&s[3], old);
    atomicAdd(&f, 1.0f);
    atomicAdd(&l, (unsigned long long)threadIdx.x << 33);
    __syncthreads();
    if (threadIdx.x < 4)
        out[threadIdx.x] = s[threadIdx.x];
    if (threadIdx.x == 4)
        out[4] = (int)f;
    if (threadIdx.x == 5)
        out[5] = (int)(l >> 33);
}

extern "C" __global__ void clocks(unsigned long long *out)
{
    unsigned long long a = wall_clock64(), c = clock64();
    while (wall_clock64() < a + 100)
        ;
    out[2 * threadIdx.x] = wall_clock64() - a;
    out[2 * threadIdx.x + 1] = clock64() - c;
}

extern "C" __global__ void ids(unsigned *out)
{
    unsigned n = gridDim.x * blockDim.x, m = gridDim.y * blockDim.y;
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    out[(z * m + y) * n + x] = x | y << 10 | z << 20;
}

static __device__ __attribute__((noinline)) int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

extern "C" __global__ void recursion(int *out)
{
    out[threadIdx.x] = fib(threadIdx.x % 10);
}

extern "C" __global__ void trap(int *out, int n)
{
    if (out[threadIdx.x] == n)
        __builtin_trap();
    out[threadIdx.x] = 1;
}

// Many independent FMAs: issue-bound.
extern "C" __global__ void fma_chain(float *out, float x, int n)
{
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
    for (int i = 0; i < n; i++) {
        a = a * x + 0.5f;
        b = b * x + 0.25f;
        c = c * x + 0.125f;
        d = d * x + 1.0f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// What arithmetic kernels are made of, in about their proportions: f32 most, then integers,
// compares and selects, conversions, some scalar work and branches, a little f16 and f64.
// test_kernels.c has the same function in C.
extern "C" __global__ void mixed(unsigned *out, float x, int n)
{
#pragma clang fp contract(off)
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned random = t * 2654435761u + 12345, bits = t;
    int k = t & 255, steps = 0;
    float a = t * 0.001f, b = 1, c = x, low = 3, high = 0;
    double sum = 0;
    _Float16 h = 1;
    for (int i = 0; i < n; i++) {
        random = random * 1664525u + 1013904223u;
        float f = (float)(random >> 8) * 0x1p-24f;
        a = __builtin_fmaf(a, x, f);
        b = __builtin_fmaf(b, -0.5f, a * f);
        c = (c + b) * 0.25f - f;
        a = __builtin_fmaf(c, 0.125f, a);
        low = __builtin_fminf(low, __builtin_fabsf(c) + b);
        high = __builtin_fmaxf(high, __builtin_fmaf(f, f, a));
        k += f < 0.5f ? (int)(f * 100) : 3 - (k >> 2);
        bits = (bits << 5 | bits >> 27) ^ ((random & 0xff00) + k);
        bits += (random & 0xffffff) * (bits & 0xffffff);
        b = bits & 1 << (i & 31) ? b * 0.5f : b + 0.75f;
        if (k > 400) {
            k -= i & 0x3f;
            steps++;
        }
        c = c > 2 ? 2 : c;
        if (random < 1u << 23) // in one of 512 rounds of a lane, one of 8 of a wave
            c = a / (high + 1.5f);
        if (i % 8 == 3) {
            sum += (double)a * 0.5;
            h = h * (_Float16)0.75f + (_Float16)f;
        }
    }
    unsigned words[7];
    __builtin_memcpy(words, &a, 4), __builtin_memcpy(words + 1, &b, 4);
    __builtin_memcpy(words + 2, &c, 4), __builtin_memcpy(words + 3, &low, 4);
    __builtin_memcpy(words + 4, &high, 4), __builtin_memcpy(words + 5, &sum, 8);
    float half = (float)h;
    unsigned all = 0, last;
    __builtin_memcpy(&last, &half, 4);
    for (int i = 0; i < 7; i++)
        all = (all ^ words[i]) * 0x9e3779b1u;
    out[t] = ((all ^ bits) * 31 + last) * 31 + k * 7 + steps;
}

// Products of halves into floats; in assembly, as the compiler may widen the halves first.
extern "C" __global__ void half_dot(float *out, float x, int n)
{
    unsigned u = threadIdx.x * 0x10001, v = 0x3c003800;
    float a = 0, b = x, c = 1, d = 2;
    for (int i = 0; i < n; i++)
        asm volatile("v_fma_mix_f32 %0, %4, %5, %0 op_sel_hi:[1,1,0]\n"
                     "v_fma_mix_f32 %1, %4, %5, %1 op_sel:[1,1,0] op_sel_hi:[1,1,0]\n"
                     "v_fma_mix_f32 %2, %4, %5, %2 op_sel:[0,1,0] op_sel_hi:[1,1,0]\n"
                     "v_fma_mix_f32 %3, %4, %5, %3 op_sel:[1,0,0] op_sel_hi:[1,1,0]"
                     : "+v"(a), "+v"(b), "+v"(c), "+v"(d)
                     : "v"(u), "v"(v));
    out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// ---- memory forms the compiler seldom picks by itself ----

typedef int int4v __attribute__((ext_vector_type(4)));

// Copies through a buffer resource of n dwords; what lies beyond reads 0 and is not written.
extern "C" __global__ void raw_buffer(int *in, int *out, int n)
{
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc(in, 0, n * 4, 0x00020000);
    __amdgpu_buffer_rsrc_t w = __builtin_amdgcn_make_buffer_rsrc(out, 0, n * 4, 0x00020000);
    int i = threadIdx.x * 16;
    int4v v = __builtin_amdgcn_raw_buffer_load_b128(r, i, 0, 0);
    __builtin_amdgcn_raw_buffer_store_b128(v + 1, w, i, 0, 0);
}

extern "C" __global__ void load_to_lds(const float *in, float *out)
{
    __shared__ float s[256];
    __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void *)(in + threadIdx.x),
                                     (__attribute__((address_space(3))) void *)(s +
                                                                                threadIdx.x / 64 * 64),
                                     4, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __syncthreads();
    out[threadIdx.x] = s[255 - threadIdx.x];
}

// Lane permutes; odd lanes are off in the second half of the outputs.
extern "C" __global__ void permutes(int *out)
{
    int t = threadIdx.x, v = 1000 + t;
    out[t] = __builtin_amdgcn_ds_swizzle(v, 0x041f);                 // xor 1
    out[64 + t] = __builtin_amdgcn_ds_swizzle(v, 0x801b);            // reverse quads
    out[128 + t] = __builtin_amdgcn_ds_swizzle(v, 0xc000 | 3 << 5);  // rotate by 3
    out[192 + t] = __builtin_amdgcn_ds_bpermute((63 - t) * 4, v);
    out[256 + t] = __builtin_amdgcn_ds_permute(((t + 5) & 63) * 4, v);
    if (t % 2 == 0)
        out[320 + t] = __builtin_amdgcn_ds_bpermute((t ^ 1) * 4, v); // an inactive lane: 0
}

typedef _Float16 half2v __attribute__((ext_vector_type(2)));

extern "C" __global__ void packed_atomic(half2v *p)
{
    half2v v = {(_Float16)1, (_Float16)-2};
    __builtin_amdgcn_global_atomic_fadd_v2f16((__attribute__((address_space(1))) half2v *)p, v);
}

// Waits until the host (or nobody) sets the flag.
extern "C" __global__ void wait_flag(int *flag, int *out)
{
    while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM))
        ;
    out[threadIdx.x] = *flag;
}

// The same with a sleep, like device printf.
extern "C" __global__ void sleep_flag(int *flag, int *out)
{
    while (!__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM))
        __builtin_amdgcn_s_sleep(1);
    out[threadIdx.x] = *flag;
}

// Waits with an atomic that leaves the flag as it is.
extern "C" __global__ void atomic_flag(int *flag, int *out)
{
    while (!atomicOr(flag, 0))
        ;
    out[threadIdx.x] = *flag;
}

// Loads one address over and over, and works: no turn of the loop is like another.
extern "C" __global__ void volatile_sum(volatile int *in, int *out, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 3 + *in;
    out[threadIdx.x] = sum;
}

// One atomic per lane and nothing else.
extern "C" __global__ void one_atomic(int *p)
{
    __hip_atomic_fetch_add(p + threadIdx.x, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Uneven grid: the last workgroup has fewer work-items.
extern "C" __global__ void uneven(unsigned *out)
{
    unsigned i = blockIdx.x * 48 + threadIdx.x;
    out[i] = i + (unsigned)__popcll(__ballot(1)) * 1000;
}
