// Kernels in assembly that use registers before a load has filled them (early_*), and that wait (clean_*).
// check_labels.py compares what `run --check waits` finds with these names.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

typedef void kernel_fn(int *a, int *b);
struct test_case {
    const char *name;
    kernel_fn *fn;
};
#define LOAD(n)  "global_load_dword %" #n ", %[at], off\n"
#define WAIT(n)  "s_waitcnt " n "\n"
#define IN       [at] "v"(a + threadIdx.x)
#define B        b[threadIdx.x]
#define KERNEL(name) __global__ void name(int *a, int *b)

KERNEL(early_read)
{
    int x, y;
    asm volatile(LOAD(0) "v_add_u32 %1, %0, %0\n" WAIT("vmcnt(0)") : "=&v"(x), "=&v"(y) : IN);
    B = x + y;
}
KERNEL(clean_read)
{
    int x, y;
    asm volatile(LOAD(0) WAIT("vmcnt(0)") "v_add_u32 %1, %0, %0\n" : "=&v"(x), "=&v"(y) : IN);
    B = x + y;
}
KERNEL(early_second)
{
    int x, y, z;
    asm volatile(LOAD(0) LOAD(1) WAIT("vmcnt(1)") "v_add_u32 %2, %0, %1\n" WAIT("vmcnt(0)")
                 : "=&v"(x), "=&v"(y), "=&v"(z) : IN);
    B = x + y + z;
}
KERNEL(clean_first)
{
    int x, y, z;
    asm volatile(LOAD(0) LOAD(1) WAIT("vmcnt(1)") "v_add_u32 %2, %0, %0\n" WAIT("vmcnt(0)")
                 : "=&v"(x), "=&v"(y), "=&v"(z) : IN);
    B = x + y + z;
}
KERNEL(early_write)
{
    int x;
    asm volatile(LOAD(0) "v_mov_b32 %0, 7\n" WAIT("vmcnt(0)") : "=&v"(x) : IN);
    B = x;
}
KERNEL(clean_two_into_one)
{
    int x;
    asm volatile(LOAD(0) LOAD(0) WAIT("vmcnt(0)") : "=&v"(x) : IN);
    B = x;
}
KERNEL(early_store)
{
    int x;
    asm volatile(LOAD(0) "global_store_dword %[to], %0, off\n" WAIT("vmcnt(0)")
                 : "=&v"(x) : IN, [to] "v"(&B) : "memory");
}
KERNEL(early_wrong_counter)
{
    int x, y;
    asm volatile(LOAD(0) WAIT("lgkmcnt(0)") "v_add_u32 %1, %0, %0\n" WAIT("vmcnt(0)")
                 : "=&v"(x), "=&v"(y) : IN);
    B = x + y;
}
KERNEL(early_lds)
{
    __shared__ int s[64];
    int x, y;
    s[threadIdx.x] = a[threadIdx.x];
    asm volatile("ds_read_b32 %0, %2\nv_add_u32 %1, %0, %0\n" WAIT("lgkmcnt(0)")
                 : "=&v"(x), "=&v"(y) : "v"(4 * (int)threadIdx.x), "v"(s) : "memory");
    B = x + y;
}
KERNEL(clean_lds)
{
    __shared__ int s[64];
    int x, y;
    s[threadIdx.x] = a[threadIdx.x];
    asm volatile("ds_read_b32 %0, %2\n" WAIT("lgkmcnt(0)") "v_add_u32 %1, %0, %0\n"
                 : "=&v"(x), "=&v"(y) : "v"(4 * (int)threadIdx.x), "v"(s) : "memory");
    B = x + y;
}
KERNEL(early_scalar)
{
    int x;
    asm volatile("s_load_dword s20, %1, 0x0\ns_load_dword s21, %1, 0x4\n" WAIT("lgkmcnt(1)") "v_mov_b32 %0, s20\n"
                 WAIT("lgkmcnt(0)") : "=&v"(x) : "s"(a) : "s20", "s21");
    B = x;
}
KERNEL(clean_scalar)
{
    int x;
    asm volatile("s_load_dword s20, %1, 0x0\n" WAIT("lgkmcnt(0)") "v_mov_b32 %0, s20\n" : "=&v"(x) : "s"(a) : "s20");
    B = x;
}
KERNEL(early_atomic)
{
    int x, y;
    asm volatile("global_atomic_add %0, %[at], %2, off sc0\nv_add_u32 %1, %0, %0\n" WAIT("vmcnt(0)")
                 : "=&v"(x), "=&v"(y) : "v"(1), IN : "memory");
    B = x + y;
}
KERNEL(clean_write_back) // A write-back fills no register, also as the 65th that vmcnt counts.
{
    int x, y;
    asm volatile(".rept 64\n" LOAD(0) WAIT("vmcnt(0)") ".endr\nbuffer_wbl2 sc1\nv_add_u32 %1, %0, %0\n" WAIT("vmcnt(0)")
                 : "=&v"(x), "=&v"(y) : IN : "memory");
    B = x + y;
}
// In loops, which are translated.
KERNEL(early_in_a_loop) // In its last turn.
{
    int x, y;
    asm volatile("v_mov_b32 %0, 0\ns_movk_i32 s20, 3000\n1:\ns_cmp_lg_u32 s20, 1\ns_cbranch_scc1 2f\n" LOAD(0) "s_branch 2f\n"
                 "2:\nv_add_u32 %1, %0, %0\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 1b\n" WAIT("vmcnt(0)")
                 : "=&v"(x), "=&v"(y) : IN : "s20", "scc");
    B = x + y;
}
KERNEL(clean_indexed) // A register that an index chooses: main() looks whether it was the right one.
{
    int sum;
    asm volatile("s_movk_i32 s20, 3000\nv_mov_b32 %0, 0\nv_mov_b32 v20, 1\nv_mov_b32 v21, 2\n1:\ns_and_b32 s21, s20, 1\n"
                 "s_set_gpr_idx_on s21, gpr_idx(SRC0)\nv_mov_b32 v22, v20\ns_set_gpr_idx_off\nv_add_u32 %0, %0, v22\n"
                 "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 1b\n"
                 : "=&v"(sum) : : "s20", "s21", "v20", "v21", "v22", "scc");
    B = sum;
}
KERNEL(clean_compiled)
{
    __shared__ int s[64];
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        s[threadIdx.x] = a[(threadIdx.x + i) & 63];
        __syncthreads();
        sum += s[threadIdx.x ^ 1] + atomicAdd(&b[63 - threadIdx.x], 1);
        __syncthreads();
    }
    B = sum;
}

#define CASE(name) {#name, name}
static const test_case cases[] = {
    CASE(early_read), CASE(clean_read), CASE(early_second), CASE(clean_first), CASE(early_write), CASE(clean_two_into_one),
    CASE(early_store), CASE(early_wrong_counter), CASE(early_lds), CASE(clean_lds), CASE(early_scalar), CASE(clean_scalar),
    CASE(early_atomic), CASE(clean_write_back), CASE(early_in_a_loop), CASE(clean_indexed),
    CASE(clean_compiled)};

int main(int argc, char **argv)
{
    int *a, *b;
    if (hipMalloc(&a, 256) != hipSuccess || hipMalloc(&b, 256) != hipSuccess || hipMemset(a, 0, 256) != hipSuccess ||
        hipMemset(b, 0, 256) != hipSuccess)
        return 1;
    for (const test_case &c : cases) {
        if (argc > 1 && strcmp(argv[1], c.name) != 0)
            continue;
        c.fn<<<1, 64>>>(a, b);
        int first;
        if (hipMemcpy(&first, b, sizeof first, hipMemcpyDeviceToHost) != hipSuccess)
            return 1;
        if (c.fn == clean_indexed && first != 4500)
            return 2;
        puts(c.name);
    }
    return 0;
}
