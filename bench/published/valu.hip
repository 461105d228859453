// Chains of one vector operation in each wave, 4096 times LOOPS and then twice as often. In OP the digit is the number
// of operands in vector registers: add1 is a + 3, fma3 a * b + c with all of a, b, c in them.
#include "common.h"

#include <hip/hip_fp16.h>

enum { CHAIN = 4096 };

#define OPERATION(name, expression)                                                                \
    template <class T> struct name {                                                               \
        static __device__ T next(T a, T b, T c, T s, T t)                                          \
        {                                                                                          \
            return expression;                                                                     \
        }                                                                                          \
    };
OPERATION(add1, a + s)
OPERATION(add2, a + b)
OPERATION(mul1, a * s)
OPERATION(mul2, a * b)
OPERATION(fma1, a * s + t)
OPERATION(fma2, a * s + b)
OPERATION(fma3, a * b + c)

template <class T, template <class> class OP> __global__ void chain(T *data, T s, T t, int loops)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    T a = data[i], b = data[i + all], c = data[i + 2 * all];
#pragma unroll 1
    for (int loop = 0; loop < loops; loop++) {
#pragma unroll
        for (int k = 0; k < CHAIN; k++)
            a = OP<T>::next(a, b, c, s, t);
    }
    data[i] = a;
}

template <class T, template <class> class OP> static void run(int waves, int groups, int loops)
{
    T *data = device<T>((size_t)3 * groups * waves * 64);
    OK(hipMemset(data, 0, (size_t)3 * groups * waves * 64 * sizeof(T)));
    for (int times = 1; times <= 2; times++) {
        chain<T, OP><<<groups, waves * 64>>>(data, T(3), T(5), loops * times);
        finish();
    }
}

template <class T> static void choose(const char *op, int waves, int groups, int loops)
{
    const struct {
        const char *name;
        void (*run)(int, int, int);
    } all[] = {{"add1", run<T, add1>}, {"add2", run<T, add2>}, {"mul1", run<T, mul1>}, {"mul2", run<T, mul2>},
               {"fma1", run<T, fma1>}, {"fma2", run<T, fma2>}, {"fma3", run<T, fma3>}};
    for (const auto &each : all) {
        if (strcmp(each.name, op) == 0)
            each.run(waves, groups, loops);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6)
        usage("valu f16|f32|f64 OP WAVES WORKGROUPS LOOPS");
    const int waves = atoi(argv[3]), groups = atoi(argv[4]), loops = atoi(argv[5]);
    if (strcmp(argv[1], "f16") == 0)
        choose<__half>(argv[2], waves, groups, loops);
    else if (strcmp(argv[1], "f32") == 0)
        choose<float>(argv[2], waves, groups, loops);
    else
        choose<double>(argv[2], waves, groups, loops);
}
