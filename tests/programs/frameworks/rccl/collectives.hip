// All-reduce, all-gather and reduce-scatter over all GPUs of the process, of several sizes, compared with plain loops.
// usage: collectives GPUS [COUNT...]
#include <hip/hip_runtime.h>
#include <rccl/rccl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

[[noreturn]] void fail(const char *what, const char *why) {
    std::printf("WRONG %s: %s\n", what, why);
    std::exit(1);
}

void ok(hipError_t status, const char *what) {
    if (status != hipSuccess) fail(what, hipGetErrorString(status));
}

void ok(ncclResult_t status, const char *what) {
    if (status != ncclSuccess) fail(what, ncclGetErrorString(status));
}

#define OK(call) ok(call, #call)

// Small integers: sums are exact in any order.
float value_of(size_t i, size_t gpu) { return float((i * 7 + gpu * 3 + i / 1000) % 17) - 8; }

struct Gpu {
    ncclComm_t comm = nullptr;
    hipStream_t stream = nullptr;
    float *in = nullptr, *out = nullptr;
};

struct Gpus {
    std::vector<Gpu> at;
    size_t most;

    Gpus(size_t count, size_t most_floats) : at(count), most(most_floats) {
        std::vector<ncclComm_t> comms(count);
        OK(ncclCommInitAll(comms.data(), int(count), nullptr));
        for (size_t g = 0; g < count; g++) {
            at[g].comm = comms[g];
            OK(hipSetDevice(int(g)));
            OK(hipStreamCreate(&at[g].stream));
            OK(hipMalloc(&at[g].in, count * most * sizeof(float)));
            OK(hipMalloc(&at[g].out, count * most * sizeof(float)));
            fill(g);
        }
    }
    ~Gpus() {
        for (Gpu &gpu : at) OK(ncclCommDestroy(gpu.comm));
    }
    void fill(size_t g) {
        std::vector<float> host(at.size() * most);
        for (size_t i = 0; i < host.size(); i++) host[i] = value_of(i, g);
        OK(hipMemcpy(at[g].in, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice));
    }
    // One collective on every GPU, from results that would be wrong without it.
    template <typename Call>
    void run(Call call) {
        for (size_t g = 0; g < at.size(); g++) {
            OK(hipSetDevice(int(g)));
            OK(hipMemsetAsync(at[g].out, 0xff, at.size() * most * sizeof(float), at[g].stream));
        }
        OK(ncclGroupStart());
        for (Gpu &gpu : at) OK(call(gpu));
        OK(ncclGroupEnd());
        for (size_t g = 0; g < at.size(); g++) {
            OK(hipSetDevice(int(g)));
            OK(hipStreamSynchronize(at[g].stream));
        }
    }
    template <typename Expected>
    void check(const char *what, size_t count, Expected expected) {
        std::vector<float> host(count);
        for (size_t g = 0; g < at.size(); g++) {
            OK(hipSetDevice(int(g)));
            OK(hipMemcpy(host.data(), at[g].out, count * sizeof(float), hipMemcpyDeviceToHost));
            for (size_t i = 0; i < count; i++)
                if (!(host[i] == expected(g, i))) {
                    std::printf("WRONG %s: element %zu of GPU %zu is %g instead of %g\n", what, i, g, host[i], expected(g, i));
                    std::exit(1);
                }
        }
    }
};

float sum_of(size_t i, size_t gpus) {
    float sum = 0;
    for (size_t g = 0; g < gpus; g++) sum += value_of(i, g);
    return sum;
}

void test(Gpus &gpus, size_t count) {
    const size_t n = gpus.at.size();
    gpus.run([&](Gpu &g) { return ncclAllReduce(g.in, g.out, count, ncclFloat, ncclSum, g.comm, g.stream); });
    gpus.check("all-reduce", count, [&](size_t, size_t i) { return sum_of(i, n); });
    gpus.run([&](Gpu &g) { return ncclAllGather(g.in, g.out, count, ncclFloat, g.comm, g.stream); });
    gpus.check("all-gather", count * n, [&](size_t, size_t i) { return value_of(i % count, i / count); });
    gpus.run([&](Gpu &g) { return ncclReduceScatter(g.in, g.out, count, ncclFloat, ncclSum, g.comm, g.stream); });
    gpus.check("reduce-scatter", count, [&](size_t gpu, size_t i) { return sum_of(gpu * count + i, n); });
}

}  // namespace

int main(int words, char **word) {
    const size_t count = words > 1 ? strtoull(word[1], nullptr, 10) : 2;
    std::vector<size_t> sizes;
    for (int i = 2; i < words; i++) sizes.push_back(strtoull(word[i], nullptr, 10));
    if (sizes.empty()) sizes = {1000, 65537};
    size_t most = 0;
    for (size_t size : sizes) most = size > most ? size : most;
    Gpus gpus(count, most);
    for (size_t size : sizes) test(gpus, size);
    std::printf("PASS all-reduce, all-gather and reduce-scatter on %zu GPUs, largest error 0\n", count);
    return 0;
}
