// The only kernel of the program faults, behind one of the runtime's own (device malloc makes it
// start one that prepares a heap); the program goes on and ends well.
#include <hip/hip_runtime.h>

__global__ void store_to_null(int *where, int n)
{
    int *mine = (int *)malloc(n);
    *where = mine ? 1 : 2;
    free(mine);
}

int main()
{
    store_to_null<<<1, 1>>>(nullptr, 16);
    (void)hipDeviceSynchronize();
    return 0;
}
