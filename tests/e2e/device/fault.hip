// A kernel that cannot go on: the program gets an error from HIP, or is ended by it, but never
// hangs and never sees a result.
#include "check.h"

#include <cstring>

__global__ void wild_store(int *where)
{
    where[threadIdx.x] = 1;
}

__global__ void wild_load(const int *where, int *out)
{
    *out = where[threadIdx.x];
}

__global__ void bad_opcode(int *out)
{
    asm volatile(".long 0xbfff0000\n"); // SOPP opcode 127 has no meaning on gfx9
    *out = 1;
}

__global__ void trap(int *out)
{
    __builtin_trap();
    *out = 1;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    int *out;
    HIP(hipMalloc(&out, 4096));
    if (strcmp(argv[1], "store") == 0)
        wild_store<<<1, 64>>>((int *)0x123456789000);
    else if (strcmp(argv[1], "load") == 0)
        wild_load<<<1, 64>>>((const int *)0x10, out);
    else if (strcmp(argv[1], "opcode") == 0)
        bad_opcode<<<1, 64>>>(out);
    else if (strcmp(argv[1], "trap") == 0)
        trap<<<1, 64>>>(out);
    else
        return 2;
    hipError_t error = hipDeviceSynchronize();
    printf("hipDeviceSynchronize: %s\n", hipGetErrorName(error));
    return error == hipSuccess ? 0 : 42;
}
