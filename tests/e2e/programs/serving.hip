// Works until a signal comes, as a server does, and then ends in order.
// argv[1]: what to do with SIGINT and SIGTERM: end, count (say how many came, and end a second later), or leave.
#include <hip/hip_runtime.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_signal(int)
{
    stop = stop + 1;
}

__global__ void serve(int *data)
{
    data[threadIdx.x] += 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "end";
    int *data, served = 0;

    if (strcmp(how, "leave") != 0) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
    }
    if (hipMalloc(&data, 64 * sizeof *data) != hipSuccess)
        return 1;
    while (!stop) {
        serve<<<1, 64>>>(data);
        if (hipDeviceSynchronize() != hipSuccess)
            return 1;
        if (++served == 3) {
            printf("serving\n");
            fflush(stdout);
        }
        usleep(20000);
    }
    if (strcmp(how, "count") == 0)
        sleep(1);
    printf("served %d, signals %d\n", served, (int)stop);
    return 0;
}
