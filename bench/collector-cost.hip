// Launches empty kernels and prints what a launch costs the launching thread: batches that fit the
// queue, each followed by an untimed synchronisation. Run by bench/collector-cost.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void nothing(void) {}

static double now_ns(clockid_t clock)
{
    timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int argc, char **argv)
{
    const int total = argc > 1 ? atoi(argv[1]) : 100000, batch = 1000;
    double wall = 0, cpu = 0, end_to_end;

    nothing<<<1, 64>>>();
    if (hipDeviceSynchronize() != hipSuccess)
        return 1;
    end_to_end = now_ns(CLOCK_MONOTONIC);
    for (int done = 0; done < total; done += batch) {
        double wall0 = now_ns(CLOCK_MONOTONIC), cpu0 = now_ns(CLOCK_THREAD_CPUTIME_ID);

        for (int i = 0; i < batch; i++)
            nothing<<<1, 64>>>();
        cpu += now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu0;
        wall += now_ns(CLOCK_MONOTONIC) - wall0;
        if (hipDeviceSynchronize() != hipSuccess)
            return 1;
    }
    end_to_end = now_ns(CLOCK_MONOTONIC) - end_to_end;
    printf("%.0f %.0f %.0f\n", cpu / total, wall / total, end_to_end / total);
    return 0;
}
