// Start-up and shutdown of the runtimes, with the device in use but without a kernel of our own.
#include "check.h"

#include <cstring>

int main()
{
    hipDeviceProp_t props;
    HIP(hipGetDeviceProperties(&props, 0));
    CHECK(strstr(props.gcnArchName, "gfx942") == props.gcnArchName);
    CHECK(props.multiProcessorCount == 304);
    CHECK(props.warpSize == 64);
    CHECK(props.sharedMemPerBlock == 65536);
    HIP(hipDeviceSynchronize());
    printf("%s\n", props.name);
}
