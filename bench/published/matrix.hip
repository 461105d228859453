// A chain of one matrix instruction of 16 x 16 in each wave, each adding to the result of the one before: 256 times LOOPS,
// and then twice as often. gfx942 only.
#include "common.h"

enum { CHAIN = 256 };

typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f2 __attribute__((ext_vector_type(2)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));

#ifdef __gfx942__
#define INSTRUCTION(call) call
#else
#define INSTRUCTION(call) c
#endif
#define MATRIX(name, operand, result, call)                                                        \
    __global__ void name(const operand *in, result *out, int loops)                                \
    {                                                                                              \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
        const operand a = in[threadIdx.x], b = in[threadIdx.x + 64];                               \
        result c = {};                                                                             \
        _Pragma("unroll 1") for (int loop = 0; loop < loops; loop++)                               \
        {                                                                                          \
            _Pragma("unroll") for (int k = 0; k < CHAIN; k++) c = INSTRUCTION(call);               \
        }                                                                                          \
        out[i] = c;                                                                                \
    }
MATRIX(f16, h4, f4, __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0))
MATRIX(bf16, s4, f4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0))
MATRIX(f32, float, f4, __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0))
MATRIX(f64, double, d4, __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 0))
MATRIX(xf32, f2, f4, __builtin_amdgcn_mfma_f32_16x16x8_xf32(a, b, c, 0, 0, 0))
MATRIX(fp8, long, f4, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
MATRIX(bf8, long, f4, __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(a, b, c, 0, 0, 0))
MATRIX(i8, long, i4, __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0))

template <class A, class C> static void run(void (*kernel)(const A *, C *, int), int waves, int groups, int loops)
{
    A *in = device<A>(1024 + 64);
    C *out = device<C>((size_t)groups * waves * 64);
    OK(hipMemset(in, 0, (1024 + 64) * sizeof(A)));
    for (int times = 1; times <= 2; times++) {
        kernel<<<groups, waves * 64>>>(in, out, loops * times);
        finish();
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        usage("matrix f16|bf16|f32|f64|xf32|fp8|bf8|i8 WAVES WORKGROUPS LOOPS");
    const int waves = atoi(argv[2]), groups = atoi(argv[3]), loops = atoi(argv[4]);
#define CASE(name)                                                                                 \
    if (strcmp(argv[1], #name) == 0)                                                               \
        run(name, waves, groups, loops);
    CASE(f16) CASE(bf16) CASE(f32) CASE(f64) CASE(xf32) CASE(fp8) CASE(bf8) CASE(i8)
}
