// Each load's address comes from another load, and there are few wavefronts: all of the time is
// waiting. The indices do not depend on what was summed, so copies of the body wait together.
#include "check.h"

#include <vector>

__global__ void gather(const unsigned *index, const int *table, int *out, int steps)
{
    const int lane = blockIdx.x * 64 + threadIdx.x;
    int sum = 0;
    for (int i = 0; i < steps; i++)
        sum = sum * 3 + table[index[i * 256 + lane]];
    out[lane] = sum;
}

int main()
{
    constexpr int lanes = 256, steps = 96, entries = 4096;
    std::vector<unsigned> index(lanes * steps);
    std::vector<int> table(entries), out(lanes);
    Random random;
    for (unsigned &value : index)
        value = random.next() >> 8 & (entries - 1);
    for (int &value : table)
        value = static_cast<int>(random.next() >> 16);
    unsigned *dindex;
    int *dtable, *dout;
    HIP_CHECK(hipMalloc(&dindex, index.size() * sizeof(unsigned)));
    HIP_CHECK(hipMalloc(&dtable, entries * sizeof(int)));
    HIP_CHECK(hipMalloc(&dout, lanes * sizeof(int)));
    HIP_CHECK(
        hipMemcpy(dindex, index.data(), index.size() * sizeof(unsigned), hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(dtable, table.data(), entries * sizeof(int), hipMemcpyHostToDevice));
    gather<<<lanes / 64, 64>>>(dindex, dtable, dout, steps);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipMemcpy(out.data(), dout, lanes * sizeof(int), hipMemcpyDeviceToHost));
    bool ok = true;
    for (int lane = 0; lane < lanes; lane++) {
        unsigned sum = 0;
        for (int i = 0; i < steps; i++)
            sum = sum * 3 + static_cast<unsigned>(table[index[i * lanes + lane]]);
        ok = ok && static_cast<unsigned>(out[lane]) == sum;
    }
    return report("latency", ok);
}
