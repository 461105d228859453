// One f16 GEMM of composable kernel, with tails in every dimension, compared with plain loops.
#include <hip/hip_runtime.h>

#include "ck/ck.hpp"
#include "ck/tensor_operation/gpu/device/gemm_specialization.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_gemm_xdl_cshuffle_v3.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ck/tensor_operation/gpu/element/element_wise_operation.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

using Row = ck::tensor_layout::gemm::RowMajor;
using Column = ck::tensor_layout::gemm::ColumnMajor;
using Same = ck::tensor_operation::element_wise::PassThrough;
template <ck::index_t... Is>
using S = ck::Sequence<Is...>;

// Tiles of 128 x 128 x 64 by 256 threads, MFMA of 32 x 32; global memory, LDS and MFMA overlap (pipeline v3).
using Gemm = ck::tensor_operation::device::DeviceGemm_Xdl_CShuffleV3<
    Row, Column, Row, ck::half_t, ck::half_t, ck::half_t, float, ck::half_t, Same, Same, Same,
    ck::tensor_operation::device::GemmSpecialization::MNKPadding, 256, 128, 128, 64, 8, 8, 32, 32, 2, 2,
    S<8, 32, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, 0, S<8, 32, 1>, S<1, 0, 2>, S<1, 0, 2>, 2, 8, 8, 0, 1, 1,
    S<1, 32, 1, 8>, 8, ck::BlockGemmPipelineScheduler::Intrawave, ck::BlockGemmPipelineVersion::v3>;

constexpr int M = 300, N = 408, K = 328;  // no multiples of a tile

void ok(hipError_t status) {
    if (status == hipSuccess) return;
    std::printf("WRONG %s\n", hipGetErrorString(status));
    std::exit(1);
}

std::vector<_Float16> random_matrix(std::mt19937 &source, int elements) {
    std::vector<_Float16> matrix(elements);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (_Float16 &value : matrix) value = _Float16(uniform(source));
    return matrix;
}

void *on_device(const std::vector<_Float16> &host) {
    void *memory;
    ok(hipMalloc(&memory, host.size() * sizeof(_Float16)));
    ok(hipMemcpy(memory, host.data(), host.size() * sizeof(_Float16), hipMemcpyHostToDevice));
    return memory;
}

void multiply(void *a, void *b, void *c) {
    Gemm gemm;
    auto argument = gemm.MakeArgument(static_cast<ck::half_t *>(a), static_cast<ck::half_t *>(b),
                                      static_cast<ck::half_t *>(c), M, N, K, K, K, N, 1, Same{}, Same{}, Same{});
    if (!gemm.IsSupportedArgument(argument)) {
        std::printf("WRONG composable kernel does not take these sizes\n");
        std::exit(1);
    }
    gemm.MakeInvoker().Run(argument, StreamConfig{nullptr, false});
    ok(hipDeviceSynchronize());
}

}  // namespace

int main() {
    std::mt19937 source(27);
    const std::vector<_Float16> a = random_matrix(source, M * K), b = random_matrix(source, N * K);
    std::vector<_Float16> c(M * N, _Float16(NAN));
    void *device_c = on_device(c);
    multiply(on_device(a), on_device(b), device_c);
    ok(hipMemcpy(c.data(), device_c, c.size() * sizeof(_Float16), hipMemcpyDeviceToHost));
    double largest = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++) sum += double(a[m * K + k]) * double(b[n * K + k]);
            const double error = std::fabs(double(c[m * N + n]) - sum);
            if (!(error <= 0.002 * std::fabs(sum) + 1e-4)) {  // the result is rounded to f16; NaN is wrong, too
                std::printf("WRONG c[%d][%d] is %g instead of %g\n", m, n, double(c[m * N + n]), sum);
                return 1;
            }
            largest = std::fmax(largest, error);
        }
    std::printf("PASS %d x %d x %d in f16, largest error %g\n", M, N, K, largest);
    return 0;
}
