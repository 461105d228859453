// How fast instructions of one kind follow each other: each kernel executes 64 of them n / 64
// times.
#include <hip/hip_runtime.h>
#include <stdint.h>

// Registers that nothing else uses; what is in them does not matter.
#define ISSUE(name, text)                                                                          \
    extern "C" __global__ __launch_bounds__(512) void issue_##name(int n)                          \
    {                                                                                              \
        _Pragma("nounroll") for (int i = 0; i < n; i += 64)                                        \
        {                                                                                          \
            asm volatile(".rept 64\n\t" text "\n\t.endr" ::                                        \
                             : "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "s40",      \
                               "s41", "s42", "s43", "vcc", "scc");                                 \
        }                                                                                          \
    }

ISSUE(fma_f32, "v_fma_f32 v20, v22, v24, v26")
ISSUE(pk_fma_f32, "v_pk_fma_f32 v[20:21], v[22:23], v[24:25], v[26:27]")
ISSUE(fma_f64, "v_fma_f64 v[20:21], v[22:23], v[24:25], v[26:27]")
ISSUE(dot2_f32_f16, "v_dot2_f32_f16 v20, v22, v24, v26")
ISSUE(add_u32, "v_add_u32 v20, v22, v24")
ISSUE(mul_lo_u32, "v_mul_lo_u32 v20, v22, v24")
ISSUE(mad_u64_u32, "v_mad_u64_u32 v[20:21], vcc, v22, v24, v[26:27]")
ISSUE(lshlrev_b64, "v_lshlrev_b64 v[20:21], v22, v[24:25]")
ISSUE(exp_f32, "v_exp_f32 v20, v22")
ISSUE(rcp_f32, "v_rcp_f32 v20, v22")
ISSUE(sqrt_f32, "v_sqrt_f32 v20, v22")
ISSUE(rcp_f64, "v_rcp_f64 v[20:21], v[22:23]")
ISSUE(s_add_u32, "s_add_u32 s40, s42, s43")
ISSUE(branch, "s_branch 0f\n\ts_nop 0\n0:")

// The LDS instruction that a wave of 64 lanes executes, address in v20 = lane * stride of 4 bytes.
#define LDS(name, text)                                                                            \
    extern "C" __global__ __launch_bounds__(512) void lds_##name(int n, int stride)                \
    {                                                                                              \
        __shared__ uint32_t memory[16384];                                                         \
        const uint32_t at = threadIdx.x % 64 * stride * 4 % 65536;                                 \
        asm volatile("" ::"r"(memory) : "memory");                                                 \
        _Pragma("nounroll") for (int i = 0; i < n; i += 64)                                        \
        {                                                                                          \
            asm volatile(".rept 8\n\t.rept 8\n\t" text "\n\t.endr\n\t"                             \
                         "s_waitcnt lgkmcnt(0)\n\t.endr" ::"v"(at)                                 \
                         : "v20", "v21", "v22", "v23", "memory");                                  \
        }                                                                                          \
    }

LDS(read_b32, "ds_read_b32 v20, %0")
LDS(read_b64, "ds_read_b64 v[20:21], %0")
LDS(read_b128, "ds_read_b128 v[20:23], %0")
LDS(write_b32, "ds_write_b32 %0, v20")
LDS(write_b64, "ds_write_b64 %0, v[20:21]")
LDS(write_b128, "ds_write_b128 %0, v[20:23]")
LDS(add_u32, "ds_add_u32 %0, v20")

// Additions in the L2: each lane to its word, stride words from the next; waves side by side, or
// all to the same words.
extern "C" __global__ __launch_bounds__(512) void atomics(uint32_t *words, int n, int stride,
                                                          int apart)
{
    const uint32_t wave = (blockIdx.x * blockDim.x + threadIdx.x) / 64;
    uint32_t *own = words + (size_t)wave * apart + threadIdx.x % 64 * stride;
    for (int i = 0; i < n; i++)
        __hip_atomic_fetch_add(own, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

extern "C" __global__ void empty()
{
}
