// One workgroup of 1024 reads the same few lines of its L1 again and again, LOOPS times and then twice as often: "stride" with
// SPACING elements between work-items, "block" in blocks of SPACING work-items side by side, 4098 elements apart: gpu-strides.
#include "common.h"

template <class T> __global__ __launch_bounds__(1024) void strides(T *a, T *out, int stay, int first, int row, int loops)
{
    T sum = 0;
    a += threadIdx.x % 64 * first + threadIdx.y % 32 * row + row;
#pragma unroll 1
    for (int loop = 0; loop < loops; loop++) {
        a += stay;
        sum += a[0] * a[4];
        sum += a[8] * a[12];
        sum += a[16] * a[20];
        sum += a[24] * a[28];
    }
    if (sum == T(1.25))
        out[threadIdx.x] = sum;
}

template <class T> static void run(bool stride, int spacing, int loops)
{
    T *a = device<T>(1 << 20), *out = device<T>(1024);
    OK(hipMemset(a, 0, sizeof(T) << 20));
    for (int times = 1; times <= 2; times++) {
        strides<T><<<1, stride ? dim3(1024) : dim3(spacing, 1024 / spacing)>>>(a, out, 0, stride ? spacing : 1, stride ? 0 : 4098, loops * times);
        finish();
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        usage("strides f32|f64 stride|block SPACING LOOPS");
    const bool stride = argv[2][0] == 's';
    if (argv[1][1] == '3')
        run<float>(stride, atoi(argv[3]), atoi(argv[4]));
    else
        run<double>(stride, atoi(argv[3]), atoi(argv[4]));
}
