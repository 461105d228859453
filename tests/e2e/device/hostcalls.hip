// The kernel talks: every kind of printf conversion, from many lanes; what it prints is compared.
// (HIP 7.2 itself loses its place after a string with a precision, or with a width beyond the
// string's own words, so there is none in the middle here.)
#include "check.h"

__global__ void conversions()
{
    printf("int %d %5d|%-5d|%05d|%+d %i\n", -42, 42, 42, 42, 42, 7);
    printf("unsigned %u %x %X %#x %o %#o\n", 4000000000u, 0xbeefu, 0xbeefu, 0xbeefu, 8u, 8u);
    printf("long %ld %lu %llx %lld\n", -5000000000l, 18446744073709551615ul, 0x123456789abcdefull, -1ll);
    printf("short %hd %hhd %hu\n", (short)-3, (char)-4, (unsigned short)65535);
    printf("float %f %.3f %10.2e|%-10.1f|%g %G\n", 3.5, 2.0 / 3, 12345.678, 1.25, 1e-10, 1e20);
    printf("special %f %f %g\n", __builtin_inf(), -__builtin_inf(), 0.1f);
    printf("text [%s] [%s] %c %% [%8s]\n", "abc", "a longer text", 'x', "right");
    printf("width %*d %-*d| %.*f\n", 6, 42, 6, 42, 2, 1.23456);
    printf("none\n");
}

__global__ void lanes()
{
    if (threadIdx.x % 16 == 3)
        printf("lane %u of block %u\n", threadIdx.x, blockIdx.x);
}

__global__ void result(int *out)
{
    *out = printf("%s", "");
}

int main()
{
    conversions<<<1, 1>>>();
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < 2; i++) {
        lanes<<<1, 64>>>();
        HIP(hipDeviceSynchronize());
    }
    int *out, host = 77;
    HIP(hipMalloc(&out, sizeof *out));
    result<<<1, 1>>>(out);
    HIP(hipMemcpy(&host, out, sizeof host, hipMemcpyDeviceToHost));
    CHECK(host >= 0);
    HIP(hipFree(out));
    fflush(stdout);
    // The same by the host's printf, for comparison by the test.
    printf("--\n");
    printf("int %d %5d|%-5d|%05d|%+d %i\n", -42, 42, 42, 42, 42, 7);
    printf("unsigned %u %x %X %#x %o %#o\n", 4000000000u, 0xbeefu, 0xbeefu, 0xbeefu, 8u, 8u);
    printf("long %ld %lu %llx %lld\n", -5000000000l, 18446744073709551615ul, 0x123456789abcdefull, -1ll);
    printf("short %hd %hhd %hu\n", (short)-3, (char)-4, (unsigned short)65535);
    printf("float %f %.3f %10.2e|%-10.1f|%g %G\n", 3.5, 2.0 / 3, 12345.678, 1.25, 1e-10, 1e20);
    printf("special %f %f %g\n", __builtin_inf(), -__builtin_inf(), 0.1f);
    printf("text [%s] [%s] %c %% [%8s]\n", "abc", "a longer text", 'x', "right");
    printf("width %*d %-*d| %.*f\n", 6, 42, 6, 42, 2, 1.23456);
    printf("none\n");
    for (int i = 0; i < 2; i++)
        for (int lane = 3; lane < 64; lane += 16)
            printf("lane %d of block 0\n", lane);
}
