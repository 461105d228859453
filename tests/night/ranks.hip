// ranks [loop|fail]: each rank doubles ones five times, without end, or until rank 1 has failed; the sum of all ranks is right.
#include <hip/hip_runtime.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        if ((call) != hipSuccess)                                                                                      \
            abort();                                                                                                   \
    } while (0)

__global__ void twice(float *x)
{
    x[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}

int main(int argc, char **argv)
{
    const int n = 1 << 16;
    const bool endless = argc > 1;
    std::vector<float> host(n, 1.0f);
    double sum, all = 0;
    int rank, size;
    float *x;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "fail") == 0 && rank == 1)
        exit(7);
    CHECK(hipMalloc(&x, n * sizeof *x));
    CHECK(hipMemcpy(x, host.data(), n * sizeof *x, hipMemcpyHostToDevice));
    for (int i = 0; endless || i < 5; i++) {
        twice<<<n / 256, 256>>>(x);
        CHECK(hipDeviceSynchronize());
    }
    CHECK(hipMemcpy(host.data(), x, n * sizeof *x, hipMemcpyDeviceToHost));
    sum = host[n - 1];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s\n", all == 32.0 * size ? "PASS" : "FAIL");
    MPI_Finalize();
    return all != 32.0 * size;
}
