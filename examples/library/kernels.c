/* Prints the kernels of a trace, the one to look at first before the others.
 *
 *     cc profile.c $(pkg-config --cflags --libs rocm-perf) -o kernels && ./kernels TRACE... */
#include <stdio.h>

#include <rocm-perf/rocm-perf.h>

int main(int argc, char **argv)
{
    struct rocm_perf_error error = {0};
    struct rocm_perf *run = NULL;

    if (rocm_perf_open((const char *const *)argv + 1, (size_t)(argc - 1), &run, &error) < 0 ||
        rocm_perf_analyze(run, &error) < 0) {
        fprintf(stderr, "kernels: %s\n", error.text);
        rocm_perf_close(run);
        return error.code;
    }
    for (size_t i = 0; i < rocm_perf_kernel_count(run); i++) {
        double ns, occupancy;

        printf("%s: %s", rocm_perf_kernel_text(run, i, ROCM_PERF_KERNEL_NAME),
               rocm_perf_kernel_text(run, i, ROCM_PERF_KERNEL_BOTTLENECK));
        if (rocm_perf_kernel_number(run, i, ROCM_PERF_KERNEL_TIME_NS, &ns) > 0)
            printf(", %.3f ms", ns / 1e6);
        if (rocm_perf_kernel_number(run, i, ROCM_PERF_KERNEL_OCCUPANCY, &occupancy) > 0)
            printf(", occupancy %.2f", occupancy);
        printf("\n");
    }
    rocm_perf_close(run);
    return 0;
}
