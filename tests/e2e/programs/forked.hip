// Forks before it uses the GPU, as workers of a launcher do. argv[1]: how many children; argv[2]: exit or _exit.
// Child r has RANK r and launches r + 1 kernels; the parent launches 4.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void work(int *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static int launch(int times)
{
    int *data;

    if (hipMalloc(&data, 1024 * sizeof *data) != hipSuccess)
        return 1;
    for (int i = 0; i < times; i++)
        work<<<4, 256>>>(data);
    return hipDeviceSynchronize() != hipSuccess;
}

int main(int argc, char **argv)
{
    const int children = argc > 1 ? atoi(argv[1]) : 1;
    const bool by_exit = argc < 3 || strcmp(argv[2], "exit") == 0;
    int bad = 0, status;

    for (int rank = 1; rank <= children; rank++) {
        char number[16];

        if (fork() != 0)
            continue;
        snprintf(number, sizeof number, "%d", rank);
        setenv("RANK", number, 1);
        bad = launch(rank + 1);
        if (by_exit)
            exit(bad);
        _exit(bad);
    }
    bad = launch(4);
    while (wait(&status) > 0)
        bad |= status;
    return bad;
}
