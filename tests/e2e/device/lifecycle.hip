// Ways for a process to end or to divide: fork, exec, early exit with work in flight.
#include "check.h"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(int *data, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = value;
}

static const int N = 4096;

static int *submit(int value)
{
    static int *data;
    if (!data)
        HIP(hipMalloc(&data, N * sizeof(int)));
    fill<<<N / 256, 256>>>(data, N, value);
    HIP(hipGetLastError());
    return data;
}

static void check(const int *data, int value)
{
    int out[N];
    HIP(hipMemcpy(out, data, sizeof out, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        CHECK(out[i] == value);
}

static int wait_for(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

// The child lives on without the device and must neither hang nor disturb the parent.
static void forks()
{
    check(submit(1), 1);
    for (int i = 0; i < 3; i++) {
        int *data = submit(10 + i);
        pid_t pid = fork();
        if (pid == 0)
            _exit(7);
        CHECK(wait_for(pid) == 7);
        check(data, 10 + i);
    }
}

// A child that becomes another program may use the device again.
static void execs(char *self)
{
    check(submit(2), 2);
    pid_t pid = fork();
    if (pid == 0) {
        execl(self, self, "forks", (char *)nullptr);
        _exit(99);
    }
    CHECK(wait_for(pid) == 0);
    check(submit(3), 3);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "forks") == 0)
        forks();
    else if (strcmp(argv[1], "execs") == 0)
        execs(argv[0]);
    else if (strcmp(argv[1], "exit") == 0)
        (submit(5), exit(3));
    else if (strcmp(argv[1], "_exit") == 0)
        (submit(5), _exit(4));
    else if (strcmp(argv[1], "reset") == 0) {
        check(submit(6), 6);
        HIP(hipDeviceReset());
    } else
        return 2;
    return 0;
}
