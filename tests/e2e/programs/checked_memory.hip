// Kernels that leave their allocations (out_*), read what nothing has written (unset_*), or neither (clean_*).
// check_labels.py compares what `run --check bounds,uninit` finds with these names.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

struct padded {
    char c; // what lies behind it is never written
    int d;
};
struct arguments {
    struct padded *padded; // 16384 of them, which clean_padded writes
    int *a, *b;  // 1000 ints each; a is written, b is zeroed before each kernel
    int *fresh;  // 1024 ints that nobody has written, and 3072 that clean_bools writes
    char *bytes; // 13 bytes
    float4 *wide; // 10 of them
    int *pooled, *managed; // 1000 ints each of a pool, and shared with the host
    int *freed, *again; // 1000 ints that were freed; 1000 that were allocated after that, and are zeroed
};
typedef void kernel_fn(arguments);
struct test_case {
    const char *name;
    kernel_fn *fn;
    int grid, block, lds;
};
static std::vector<test_case> &cases()
{
    static std::vector<test_case> all;
    return all;
}
struct registered {
    registered(const char *name, kernel_fn *fn, int grid, int block, int lds)
    {
        cases().push_back({name, fn, grid, block, lds});
    }
};
#define CASE_OF(name, grid, block, lds)                                                            \
    __global__ void name(arguments);                                                               \
    static registered name##_case(#name, name, grid, block, lds);                                  \
    __global__ void name(arguments p)
#define CASE(name) CASE_OF(name, 4, 256, 0)
#define ALL        ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define I          ((int)threadIdx.x)
enum { N = 1000 };

// ---- bounds ----

CASE(clean_guarded)
{
    if (ALL < N)
        p.b[ALL] = p.a[ALL];
}
CASE(out_unguarded_read)
{
    p.b[ALL % N] = p.a[ALL];
}
CASE(out_unguarded_write)
{
    p.b[ALL] = ALL;
}
CASE(out_pooled)
{
    p.pooled[ALL % (N + 1)] = 1;
}
CASE(out_managed)
{
    p.managed[ALL % (N + 1)] = 1;
}
CASE(clean_pooled_and_managed)
{
    p.pooled[ALL % N] = p.managed[ALL % N];
}
CASE(out_freed_read)
{
    if (ALL < N)
        p.b[ALL] = p.freed[ALL];
}
CASE(out_freed_write)
{
    if (ALL == 70)
        p.freed[3] = 1;
}
CASE(out_freed_atomic)
{
    if (ALL == 70)
        atomicAdd(p.freed, 1);
}
CASE(clean_again)
{
    if (ALL < N)
        p.again[ALL] = ALL;
}
CASE(clean_between_buffers)
{
    const int *from = blockIdx.x & 1 ? p.a : p.again;
    if (ALL < N)
        p.b[ALL] = from[ALL];
}
CASE(out_by_one)
{
    if (ALL <= N)
        p.b[ALL] = 1;
}
CASE(clean_neighbour)
{
    if (ALL > 0 && ALL < N)
        p.b[ALL] = p.a[ALL - 1];
}
CASE(out_bytes)
{
    if (ALL < 14)
        p.bytes[ALL] = 1;
}
CASE(clean_bytes)
{
    if (ALL < 13)
        p.bytes[ALL] = 1;
}
CASE(out_wide)
{
    if (ALL < 11)
        p.wide[ALL] = make_float4(1, 2, 3, 4);
}
CASE(clean_wide)
{
    if (ALL < 10)
        p.wide[ALL] = make_float4(1, 2, 3, 4);
}
CASE(out_half_of_a_vector) // The last two ints are behind the end.
{
    if (ALL == 0)
        *(int4 *)(p.b + N - 2) = make_int4(1, 2, 3, 4);
}
CASE(out_atomic)
{
    if (ALL == 0)
        atomicAdd(p.b + N, 1);
}
CASE_OF(out_lds, 1, 64, 256)
{
    extern __shared__ int s[];
    s[I + 1] = p.a[I];
    __syncthreads();
    p.b[I] = s[I];
}
CASE_OF(clean_lds, 1, 64, 256)
{
    extern __shared__ int s[];
    s[I] = p.a[I];
    __syncthreads();
    p.b[I] = s[63 - I];
}
CASE_OF(out_lds_too_small, 1, 128, 256)
{
    extern __shared__ int s[];
    s[I] = p.a[I];
    __syncthreads();
    p.b[I] = s[127 - I];
}

CASE_OF(clean_lds_zeros, 1, 64, 256) // as rocBLAS's GEMMs get them
{
    int x;
    asm volatile("ds_read_b32 %0, %1\ns_waitcnt lgkmcnt(0)" : "=v"(x) : "v"(0xf00000));
    p.b[I] = x;
}
CASE_OF(out_lds_far, 1, 64, 256)
{
    int x;
    asm volatile("ds_read_b32 %0, %1\ns_waitcnt lgkmcnt(0)" : "=v"(x) : "v"(0xf00000 + 4 * I));
    p.b[I] = x;
}

// ---- unwritten memory ----

CASE(unset_fresh)
{
    if (ALL < N)
        p.b[ALL] = p.fresh[ALL];
}
CASE(clean_fresh_written)
{
    if (ALL < N)
        p.fresh[ALL] = p.a[ALL];
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    if (ALL < N)
        p.b[ALL] = p.fresh[ALL];
}
struct gapped { // Nothing writes its second int.
    int a;
    long b;
};
CASE(clean_gap_copied)
{
    gapped *g = (gapped *)p.fresh;
    if (ALL < N / 8) {
        g[ALL].a = p.a[ALL];
        g[ALL].b = ALL;
    }
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    if (ALL < N / 8)
        ((gapped *)p.b)[ALL] = g[ALL];
}
CASE(unset_struct_copied) // All of it, behind what clean_fresh_written writes.
{
    if (ALL < 2)
        ((gapped *)p.b)[ALL] = ((gapped *)(p.fresh + 1008))[ALL];
}
CASE(unset_last) // Written up to 1000; 1024 are read.
{
    p.b[ALL % N] = p.fresh[ALL];
}
CASE(unset_sum)
{
    if (ALL < 8)
        atomicAdd(p.fresh + N + ALL, 1);
}
CASE(clean_zeroed)
{
    if (ALL < N)
        p.b[ALL] += p.a[ALL];
}
CASE_OF(unset_lds, 1, 256, 0)
{
    __shared__ int s[256];
    if (I < 128)
        s[I] = p.a[I];
    __syncthreads();
    p.b[I] = s[I] + 1;
}
CASE_OF(clean_lds_written, 1, 256, 0)
{
    __shared__ int s[256];
    s[I] = p.a[I];
    __syncthreads();
    p.b[I] = s[255 - I] + 1;
}
CASE_OF(unset_lds_histogram, 1, 256, 0)
{
    __shared__ int s[64];
    atomicAdd(&s[I & 63], 1);
    __syncthreads();
    if (I < 64)
        p.b[I] = s[I];
}
CASE_OF(clean_lds_select, 1, 256, 0) // What is loaded beyond is not used.
{
    __shared__ int s[256];
    if (I < 128)
        s[I] = p.a[I];
    __syncthreads();
    int v = 0;
    if (I < 128)
        v = s[I];
    p.b[I] = v;
}
CASE_OF(unset_lds_neighbour, 1, 256, 0) // The last one reads what no thread has written.
{
    __shared__ int s[257];
    s[I] = p.a[I];
    __syncthreads();
    p.b[I] = s[I + 1] * 3;
}
CASE_OF(unset_local, 1, 64, 0)
{
    volatile int x[16];
    for (int k = 0; k < 16; k += 2)
        x[(k + p.a[I]) & 15] = I + k;
    asm volatile("" ::: "memory");
    p.b[I] = x[(p.a[I] + 1) & 15] + 1;
}
CASE_OF(clean_local, 1, 64, 0)
{
    volatile int x[16];
    for (int k = 0; k < 16; k++)
        x[(k + p.a[I]) & 15] = I + k;
    asm volatile("" ::: "memory");
    p.b[I] = x[(p.a[I] + 1) & 15] + 1;
}

CASE_OF(unset_kept_lanes, 1, 64, 0) // Banks 1 and 3 keep what nobody has written.
{
    int x = p.fresh[1008 + threadIdx.x % 16];
    x = __builtin_amdgcn_update_dpp(x, p.a[threadIdx.x], 0x111, 0xf, 0x5, false);
    p.b[threadIdx.x] = x * 3;
}
CASE_OF(unset_updated, 1, 64, 0) // It computes in memory, whatever becomes of what it returns.
{
    const int got = atomicAdd(&p.fresh[1008 + threadIdx.x % 16], 1);
    p.b[threadIdx.x] = p.a[threadIdx.x] & 1 ? got : 0;
}
CASE_OF(clean_bools, 1, 64, 0) // What lies beside them in their words has not been written.
{
    volatile bool x[128];
    volatile bool *of_all = (volatile bool *)(p.fresh + 1024);
    for (int k = 2; k < 128; k += 4)
        x[(k + p.a[I]) & 127] = of_all[4 * I + 64 * k] = true;
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    for (int k = 2; k < 128; k += 4)
        p.b[I] += x[(k + p.a[I]) & 127] + of_all[4 * I + 64 * k];
}

CASE_OF(clean_padded, 64, 256, 0) // One byte in 256 is what was there before.
{
    volatile padded *of_all = p.padded;
    of_all[ALL].c = (char)(ALL * 7);
    of_all[ALL].d = ALL;
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    atomicAdd(&p.b[I], of_all[ALL].c + of_all[ALL].d);
}
CASE_OF(unset_bytes, 1, 64, 0)
{
    p.b[I] = ((const char *)p.fresh)[13000 + 3 * I] + 1;
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        hipError_t error_ = (call);                                                                \
        if (error_ != hipSuccess) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error_));                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    arguments p;
    std::vector<int> ints(N);
    OK(hipMalloc(&p.a, N * sizeof(int)));
    OK(hipMalloc(&p.b, N * sizeof(int)));
    OK(hipMalloc(&p.padded, 16384 * sizeof *p.padded));
    OK(hipMalloc(&p.fresh, 4096 * sizeof(int)));
    OK(hipMallocAsync(&p.pooled, N * sizeof(int), 0));
    OK(hipMallocManaged(&p.managed, N * sizeof(int)));
    memset(p.managed, 0, N * sizeof(int));
    OK(hipMalloc(&p.freed, N * sizeof(int)));
    OK(hipMemset(p.freed, 0, N * sizeof(int)));
    OK(hipFree(p.freed));
    OK(hipMalloc(&p.again, N * sizeof(int)));
    OK(hipMemset(p.again, 0, N * sizeof(int)));
    OK(hipMalloc(&p.bytes, 13));
    OK(hipMalloc(&p.wide, 10 * sizeof(float4)));
    hipIpcMemHandle_t shared; // The runtime compares the size with that of the allocation.
    OK(hipIpcGetMemHandle(&shared, p.a));
    OK(hipMemcpy(p.a, ints.data(), N * sizeof(int), hipMemcpyHostToDevice));
    OK(hipMemset(p.bytes, 0, 13));
    for (const test_case &c : cases()) {
        if (argc > 1 && strcmp(argv[1], c.name) != 0)
            continue;
        OK(hipMemset(p.b, 0, N * sizeof(int)));
        c.fn<<<c.grid, c.block, c.lds>>>(p);
        OK(hipDeviceSynchronize());
        puts(c.name);
    }
    return 0;
}
