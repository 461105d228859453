// What no compiler writes, or not reliably: instructions that write part of a register, and code that rewrites itself.
#include <hip/hip_runtime.h>

typedef unsigned uint4v __attribute__((ext_vector_type(4)));

// Each result starts as 0xdeadbeef, so that what is kept of it shows; test_assembly.c has the answers in this order.
#define RESULT(text, ...)                                                                           \
    {                                                                                               \
        unsigned d = 0xdeadbeefu;                                                                   \
        asm volatile(text : "+v"(d) : __VA_ARGS__ : "memory", "vcc");                               \
        out[n++ * blockDim.x * gridDim.x + at] = d;                                                 \
    }

// in: 0x81, 0x92, 0xa3, 0xb4. Loads of 16 bits into one half of a register, by every way but scratch memory.
extern "C" __global__ void half_loads(const unsigned char *in, unsigned *out, unsigned rounds)
{
    __shared__ unsigned lds[1024];
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    lds[threadIdx.x] = *(const unsigned *)in;
    __syncthreads();
    const unsigned here = (unsigned)(unsigned long)&lds[threadIdx.x];
    const unsigned long va = (unsigned long)in;
    const uint4v resource = {(unsigned)va, (unsigned)(va >> 32) & 0xffff, 4, 0x00027000};
    const unsigned offset = 0, outside = 64;
    for (unsigned round = 0; round < rounds; round++) { // often enough to be translated
        unsigned n = 0;
#define GLOBAL(name)                                                                                \
    RESULT("global_load_" name " %0, %1, off\n s_waitcnt vmcnt(0)", "v"(in))                        \
    RESULT("flat_load_" name " %0, %1\n s_waitcnt vmcnt(0) lgkmcnt(0)", "v"(in))                    \
    RESULT("buffer_load_" name " %0, %1, %2, 0 offen\n s_waitcnt vmcnt(0)", "v"(offset), "s"(resource))
        GLOBAL("short_d16")
        GLOBAL("short_d16_hi")
        GLOBAL("ubyte_d16")
        GLOBAL("ubyte_d16_hi")
        GLOBAL("sbyte_d16")
        GLOBAL("sbyte_d16_hi")
        RESULT("buffer_load_short_d16_hi %0, %1, %2, 0 offen\n s_waitcnt vmcnt(0)", "v"(outside), "s"(resource))
#define LOCAL(name) RESULT("ds_read_" name " %0, %1\n s_waitcnt lgkmcnt(0)", "v"(here))
        LOCAL("u16_d16")
        LOCAL("u16_d16_hi")
        LOCAL("u8_d16")
        LOCAL("u8_d16_hi")
        LOCAL("i8_d16")
        LOCAL("i8_d16_hi")
    }
}

// a: 2.0 and 1.0, b: 3.0 and 4.0, c: 1.0 twice (f16, upper half first); x: -2.5 (f32).
extern "C" __global__ void half_results(unsigned a, unsigned b, unsigned c, float x, unsigned *out, unsigned rounds)
{
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned round = 0; round < rounds; round++) {
        unsigned n = 0;
        // The older opcodes clear the upper half, in either encoding.
        RESULT("v_add_f16 %0, %1, %2", "v"(a), "v"(b))
        RESULT("v_add_f16_e64 %0, %1, %2", "v"(a), "v"(b))
        RESULT("v_add_u16 %0, %1, %2", "v"(a), "v"(b))
        RESULT("v_lshlrev_b16 %0, 1, %1", "v"(a))
        RESULT("v_cvt_f16_f32 %0, %1", "v"(x))
        RESULT("v_mad_legacy_u16 %0, %1, %2, %3", "v"(a), "v"(b), "v"(c))
        // Those that gfx9 added write the half that op_sel names and keep the other.
        RESULT("v_fma_f16 %0, %1, %2, %3", "v"(a), "v"(b), "v"(c))
        RESULT("v_fma_f16 %0, %1, %2, %3 op_sel:[0,0,0,1]", "v"(a), "v"(b), "v"(c))
        RESULT("v_fma_f16 %0, %1, %2, %3 op_sel:[1,1,0,0]", "v"(a), "v"(b), "v"(c))
        RESULT("v_mad_u16 %0, %1, %2, %3", "v"(a), "v"(b), "v"(c))
        RESULT("v_min3_f16 %0, %1, %2, %3 op_sel:[0,0,0,1]", "v"(a), "v"(b), "v"(c))
        RESULT("v_add_i16 %0, %1, %2", "v"(a), "v"(b))
        RESULT("v_fma_mixlo_f16 %0, %1, %2, %3 op_sel_hi:[1,1,1]", "v"(a), "v"(b), "v"(c))
        RESULT("v_fma_mixhi_f16 %0, %1, %2, %3 op_sel_hi:[1,1,1]", "v"(a), "v"(b), "v"(c))
        RESULT("v_pack_b32_f16 %0, %1, %2", "v"(a), "v"(b))
        // SDWA says itself what becomes of the rest.
        RESULT("v_cvt_f16_f32_sdwa %0, %1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD", "v"(x))
        RESULT("v_cvt_f16_f32_sdwa %0, %1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD", "v"(x))
        RESULT("v_cvt_f16_f32_sdwa %0, %1 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD", "v"(x))
        RESULT("v_mov_b32_sdwa %0, %1 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1", "v"(a))
        RESULT("v_mov_b32_sdwa %0, %1 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_1", "v"(b))
    }
}

// Adds 0x11 in each turn up to turn number "at", which makes it 0x22 for all later ones.
extern "C" __global__ void rewrites_itself(unsigned *out, unsigned turns, unsigned at)
{
    unsigned sum;
    asm volatile("s_mov_b32 s20, 0\n s_mov_b32 s21, 0\n s_getpc_b64 s[22:23]\n"
                 "Lbase%=: s_add_u32 s24, s22, Ladd%=-Lbase%=\n s_addc_u32 s25, s23, 0\n"
                 "Lturn%=:\n"
                 "Ladd%=: s_movk_i32 s26, 0x11\n"
                 " s_add_u32 s20, s20, s26\n"
                 " s_cmp_lg_u32 s21, %2\n s_cbranch_scc1 Lnext%=\n"
                 " v_mov_b32 v10, s24\n v_mov_b32 v11, s25\n v_mov_b32 v12, 0xb01a0022\n"
                 " global_store_dword v[10:11], v12, off\n s_waitcnt vmcnt(0)\n s_icache_inv\n"
                 " s_nop 15\n s_nop 15\n s_nop 15\n s_nop 15\n"
                 "Lnext%=: s_add_u32 s21, s21, 1\n s_cmp_lt_u32 s21, %1\n s_cbranch_scc1 Lturn%=\n"
                 " v_mov_b32 %0, s20\n"
                 : "=v"(sum)
                 : "s"(turns), "s"(at)
                 : "s20", "s21", "s22", "s23", "s24", "s25", "s26", "v10", "v11", "v12", "memory", "scc");
    out[threadIdx.x] = sum;
}
