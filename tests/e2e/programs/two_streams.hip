// Two streams of equal kernels that have nothing to do with each other.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void turn(int *word, int rounds)
{
    int v = *word;
    for (int i = 0; i < rounds; i++)
        v = v * 5 + 1;
    *word = v;
}

int main()
{
    int *words;
    hipStream_t streams[2];
    bool good = hipMalloc(&words, 512) == hipSuccess;

    for (hipStream_t &s : streams)
        good = good && hipStreamCreateWithFlags(&s, hipStreamNonBlocking) == hipSuccess;
    for (int i = 0; good && i < 20; i++)
        for (int k = 0; k < 2; k++)
            turn<<<1, 64, 0, streams[k]>>>(words + 64 * k, 300);
    good = good && hipDeviceSynchronize() == hipSuccess;
    puts(good ? "done" : "FAILED");
    return good ? 0 : 1;
}
