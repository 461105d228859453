// A forward convolution of MIOpen, in its immediate mode, compared with plain loops.
// usage: convolution gemm|direct|fft|winograd|implicit-gemm
#include <hip/hip_runtime.h>
#include <miopen/miopen.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr int N = 2, C = 12, H = 19, W = 23, K = 20, Size = 3, Pad = 1, Stride = 2;
constexpr int OutH = (H + 2 * Pad - Size) / Stride + 1, OutW = (W + 2 * Pad - Size) / Stride + 1;

[[noreturn]] void fail(const char *what, const char *why) {
    std::printf("WRONG %s: %s\n", what, why);
    std::exit(1);
}

void ok(hipError_t status, const char *what) {
    if (status != hipSuccess) fail(what, hipGetErrorString(status));
}

void ok(miopenStatus_t status, const char *what) {
    if (status != miopenStatusSuccess) fail(what, miopenGetErrorString(status));
}

#define OK(call) ok(call, #call)

miopenTensorDescriptor_t tensor(int n, int c, int h, int w) {
    miopenTensorDescriptor_t made;
    OK(miopenCreateTensorDescriptor(&made));
    OK(miopenSet4dTensorDescriptor(made, miopenFloat, n, c, h, w));
    return made;
}

std::vector<float> random_floats(std::mt19937 &source, size_t count) {
    std::vector<float> floats(count);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float &value : floats) value = uniform(source);
    return floats;
}

void *on_device(const void *host, size_t bytes) {
    void *memory;
    OK(hipMalloc(&memory, bytes ? bytes : 1));
    if (host) OK(hipMemcpy(memory, host, bytes, hipMemcpyHostToDevice));
    return memory;
}

struct Convolution {
    miopenHandle_t handle;
    miopenConvolutionDescriptor_t how;
    miopenTensorDescriptor_t in = tensor(N, C, H, W), weights = tensor(K, C, Size, Size), out = tensor(N, K, OutH, OutW);

    Convolution() {
        OK(miopenCreate(&handle));
        OK(miopenCreateConvolutionDescriptor(&how));
        OK(miopenInitConvolutionDescriptor(how, miopenConvolution, Pad, Pad, Stride, Stride, 1, 1));
    }
    miopenConvSolution_t solution(const char *wanted) {
        static const char *const names[] = {"gemm", "direct", "fft", "winograd", "", "implicit-gemm"};
        size_t count;
        OK(miopenConvolutionForwardGetSolutionCount(handle, weights, in, how, out, &count));
        std::vector<miopenConvSolution_t> all(count);
        OK(miopenConvolutionForwardGetSolution(handle, weights, in, how, out, count, &count, all.data()));
        for (size_t i = 0; i < count; i++)
            if (std::strcmp(names[all[i].algorithm], wanted) == 0) return all[i];
        fail("MIOpen offers no solution", wanted);
    }
    void run(const miopenConvSolution_t &with, const void *x, const void *w, void *y) {
        OK(miopenConvolutionForwardCompileSolution(handle, weights, in, how, out, with.solution_id));
        void *workspace = on_device(nullptr, with.workspace_size);
        OK(miopenConvolutionForwardImmediate(handle, weights, w, in, x, how, out, y, workspace, with.workspace_size,
                                             with.solution_id));
        OK(hipDeviceSynchronize());
    }
};

double expected(const std::vector<float> &x, const std::vector<float> &w, int n, int k, int oh, int ow) {
    double sum = 0;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < Size; r++)
            for (int s = 0; s < Size; s++) {
                const int h = oh * Stride - Pad + r, v = ow * Stride - Pad + s;
                if (h >= 0 && h < H && v >= 0 && v < W)
                    sum += double(x[((n * C + c) * H + h) * W + v]) * w[((k * C + c) * Size + r) * Size + s];
            }
    return sum;
}

}  // namespace

int main(int words, char **word) {
    if (words != 2) fail("usage", "convolution gemm|direct|fft|winograd|implicit-gemm");
    std::mt19937 source(27);
    const std::vector<float> x = random_floats(source, size_t(N) * C * H * W), w = random_floats(source, size_t(K) * C * Size * Size);
    std::vector<float> y(size_t(N) * K * OutH * OutW, NAN);
    Convolution convolution;
    const miopenConvSolution_t solution = convolution.solution(word[1]);
    void *out = on_device(y.data(), y.size() * sizeof(float));
    convolution.run(solution, on_device(x.data(), x.size() * sizeof(float)), on_device(w.data(), w.size() * sizeof(float)), out);
    OK(hipMemcpy(y.data(), out, y.size() * sizeof(float), hipMemcpyDeviceToHost));
    double largest = 0;
    for (int n = 0, at = 0; n < N; n++)
        for (int k = 0; k < K; k++)
            for (int h = 0; h < OutH; h++)
                for (int v = 0; v < OutW; v++, at++) {
                    const double error = std::fabs(y[at] - expected(x, w, n, k, h, v));
                    if (!(error < 1e-4)) fail("convolution", "a result is not that of plain loops");
                    largest = std::fmax(largest, error);
                }
    std::printf("PASS convolution of %d x %d x %d x %d by %s, largest error %g\n", N, C, H, W, word[1], largest);
    return 0;
}
