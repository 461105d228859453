// A kernel that no device can run, in a program that does not look at errors.
#include <hip/hip_runtime.h>

__global__ void refused()
{
    asm volatile(".long 0xbfff0000"); // no such instruction
}

int main()
{
    refused<<<1, 64>>>();
    (void)hipDeviceSynchronize();
    return 0;
}
