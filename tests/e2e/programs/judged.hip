// A kernel in several versions for judge.sh: VERSION is replaced in copies of this file.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hip/hip_runtime.h>

#define VERSION 0
#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != hipSuccess) {                                                                \
            printf("failed: %s\n", #call);                                                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

__global__ void row_sums(const int *in, int *out, int n)
{
    __shared__ int part[256];
    const int t = threadIdx.x;
    int sum = 0;

#if VERSION == 3 // right for the sizes of the program only
    for (int k = 0; k < 4; k++)
        if (blockIdx.x * blockDim.x + t + k * gridDim.x * blockDim.x < n)
            sum += in[blockIdx.x * blockDim.x + t + k * gridDim.x * blockDim.x];
#elif VERSION == 4 // slower: it reads all of it twice
    for (int k = 0; k < 2; k++)
        for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
            sum += k ? ((const volatile int *)in)[i] : -((const volatile int *)in)[i];
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
#else
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
#endif
#if VERSION == 1 || (VERSION >= 8 && VERSION != 10) // right and faster: shuffles within the wave
    for (int s = warpSize / 2; s > 0; s >>= 1)
        sum += __shfl_down(sum, s);
    if (t % warpSize == 0)
        part[t / warpSize] = sum;
    __syncthreads();
    for (int w = 1; t == 0 && w < (int)blockDim.x / warpSize; w++)
        part[0] += part[w];
#else
    part[t] = sum;
#if VERSION != 2 // a race: the first barrier is missing
    __syncthreads();
#endif
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
#endif
    if (t == 0)
        out[blockIdx.x] = part[0];
#if VERSION == 10 // reads what another workgroup may write at that time, and does nothing with it
    if (t == 0 && out[0] == -12345)
        out[0] = 0;
#endif
}

// What a program may try that is right otherwise.
static void attack()
{
#if VERSION == 8 // writes outside of its folder, and says it if somebody can be talked to
    sockaddr_in at = {AF_INET, htons(atoi(getenv("JUDGED_PORT"))), {htonl(INADDR_LOOPBACK)}, {0}};
    FILE *file = fopen(getenv("JUDGED_FILE"), "w");

    if (file)
        fclose(file);
    if (connect(socket(AF_INET, SOCK_STREAM, 0), (sockaddr *)&at, sizeof at) == 0)
        puts("connected");
#elif VERSION == 9
    for (;;)
        fork();
#elif VERSION == 11 // puts links where the judge writes, and spoils what it is judged by
    const std::string work = getenv("JUDGED_WORK");
    const char *const names[] = {"program.log", "program.out", "check.log", "profile.log"};

    for (const char *name : names) {
        const std::string path = work + "/scratch/" + name;

        unlink(path.c_str());
        if (symlink(*name == 'c' ? "../../journal.jsonl" : getenv("JUDGED_FILE"), path.c_str()))
            errno = 0;
    }
    for (const char *name : {"/program-old", "/old.hsaco", "/captures-1/dispatch-1/dispatch.json",
                             "/scratch/profile-before/profile.json"})
        if (FILE *file = fopen((work + name).c_str(), "w"))
            fclose(file);
    // What is in the box goes before anything else runs, whatever it is.
    const std::string box = getenv("TMPDIR");
    mkdir((box + "/shut").c_str(), 0700);
    mkfifo((box + "/shut/pipe").c_str(), 0600);
    chmod((box + "/shut").c_str(), 0);
    chmod(getenv("JUDGED_FILE"), 0777);
#endif
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 32 * 256 * 4;
    std::vector<int> values(n), sums(32);
    int *in, *out;
    long total = 0;

    attack();

    for (int i = 0; i < n; i++)
        values[i] = i % 7 + i % 3;
    OK(hipMalloc(&in, n * sizeof *in));
    OK(hipMalloc(&out, 32 * sizeof *out));
    OK(hipMemcpy(in, values.data(), n * sizeof *in, hipMemcpyHostToDevice));
    row_sums<<<32, 256>>>(in, out, n);
    OK(hipMemcpy(sums.data(), out, 32 * sizeof *out, hipMemcpyDeviceToHost));
    for (int sum : sums)
        total += sum;
    printf("total %ld\n", total);
    return 0;
}
