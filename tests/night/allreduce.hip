// Sums over all GPUs of the process with RCCL, checked. usage: allreduce GPUS FLOATS
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// rccl.h is in a package for developers; of RCCL's interface this much is used.
extern "C" {
typedef struct ncclComm *ncclComm_t;
int ncclCommInitAll(ncclComm_t *comms, int count, const int *devices);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *in, void *out, size_t count, int type, int op, ncclComm_t comm, hipStream_t stream);
int ncclCommDestroy(ncclComm_t comm);
}
enum { NCCL_FLOAT = 7, NCCL_SUM = 0 };

#define OK(call)                                                                                   \
    do {                                                                                           \
        const int status_ = (int)(call);                                                           \
        if (status_) {                                                                             \
            printf("%s: %d\n", #call, status_);                                                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static float value_of(size_t i, int gpu)
{
    return (float)((i * 7 + (size_t)gpu * 3) % 17);
}

int main(int argc, char **argv)
{
    const int gpus = argc > 1 ? atoi(argv[1]) : 2;
    const size_t count = argc > 2 ? strtoull(argv[2], 0, 0) : 65536;
    std::vector<ncclComm_t> comm(gpus);
    std::vector<hipStream_t> stream(gpus);
    std::vector<float *> in(gpus), out(gpus);
    std::vector<float> host(count);

    OK(ncclCommInitAll(comm.data(), gpus, nullptr));
    for (int g = 0; g < gpus; g++) {
        OK(hipSetDevice(g));
        OK(hipStreamCreate(&stream[g]));
        OK(hipMalloc(&in[g], count * sizeof(float)));
        OK(hipMalloc(&out[g], count * sizeof(float)));
        for (size_t i = 0; i < count; i++)
            host[i] = value_of(i, g);
        OK(hipMemcpy(in[g], host.data(), count * sizeof(float), hipMemcpyHostToDevice));
    }
    OK(ncclGroupStart());
    for (int g = 0; g < gpus; g++)
        OK(ncclAllReduce(in[g], out[g], count, NCCL_FLOAT, NCCL_SUM, comm[g], stream[g]));
    OK(ncclGroupEnd());
    size_t wrong = 0;
    for (int g = 0; g < gpus; g++) {
        OK(hipSetDevice(g));
        OK(hipStreamSynchronize(stream[g]));
        OK(hipMemcpy(host.data(), out[g], count * sizeof(float), hipMemcpyDeviceToHost));
        for (size_t i = 0; i < count; i++) {
            float want = 0;
            for (int k = 0; k < gpus; k++)
                want += value_of(i, k);
            wrong += host[i] != want;
        }
    }
    printf("%zu of %zu sums wrong\n", wrong, count * (size_t)gpus);
    for (int g = 0; g < gpus; g++)
        OK(ncclCommDestroy(comm[g]));
    return wrong != 0;
}
