/**
 * @file judging.c
 * @brief While the software device reads a library's bundles, another library is loaded and a child
 *        is forked: nobody waits for anybody for ever.
 *
 * Compiled once for each PART: a program, two libraries that register bundles of device code as
 * compiled HIP code does, and what stands in for HIP and for zstd. The latter is called in the
 * middle of the reading, so that the order of things is always the same.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM 0
#define FIRST   1 /* the library whose kernel is launched */
#define SECOND  2 /* the one that is loaded meanwhile */
#define HIP     3
#define ZSTD    4

struct dim3 {
    unsigned x, y, z;
};

void **__hipRegisterFatBinary(const void *data);
int hipLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t lds,
                    void *stream);
int launch_first(void);
void *ZSTD_createDStream(void);
size_t ZSTD_decompressStream(void *stream, void *out, void *in);
size_t ZSTD_freeDStream(void *stream);
extern int second_began, judged_meanwhile;

#if PART == HIP
void **__hipRegisterFatBinary(const void *data)
{
    static void *handle;
    (void)data;
    return &handle;
}

int hipLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t lds,
                    void *stream)
{
    (void)f, (void)grid, (void)block, (void)args, (void)lds, (void)stream;
    return 0;
}

int second_began, judged_meanwhile;
#endif

#if PART == FIRST || PART == SECOND
/* Compressed by zstd, 64 bytes in all. */
static const uint8_t bundle[64] = {'C', 'C', 'O', 'B', 2, 0, 1, 0, 64};

static const struct {
    uint32_t magic, version;
    const void *bundle;
    void *unused;
} wrapper = {0x48495046, 1, bundle, NULL};

__attribute__((constructor)) static void register_bundle(void)
{
#if PART == SECOND
    __atomic_store_n(&second_began, 1, __ATOMIC_SEQ_CST); /* dlopen() holds the loader's lock */
#endif
    __hipRegisterFatBinary(&wrapper);
}
#endif

#if PART == FIRST
static int kernel;

int launch_first(void)
{
    const struct dim3 one = {1, 1, 1};
    return hipLaunchKernel(&kernel, one, one, NULL, 0, NULL);
}
#endif

#if PART == ZSTD
static void *load_second(void *unused)
{
    (void)unused;
    return dlopen("libsecond.so", RTLD_NOW);
}

/* The first thing that is asked of zstd. */
void *ZSTD_createDStream(void)
{
    pthread_t loader;
    int status = 0;

    if (__atomic_exchange_n(&judged_meanwhile, 1, __ATOMIC_SEQ_CST))
        return NULL;
    const pid_t child = fork();
    if (child == 0)
        _exit(launch_first());
    if (waitpid(child, &status, 0) == child && status == 0)
        puts("child launched");
    if (pthread_create(&loader, NULL, load_second, NULL) == 0)
        pthread_detach(loader);
    while (!__atomic_load_n(&second_began, __ATOMIC_SEQ_CST))
        usleep(1000);
    return NULL;
}

size_t ZSTD_decompressStream(void *stream, void *out, void *in)
{
    (void)stream, (void)out, (void)in;
    return 0;
}

size_t ZSTD_freeDStream(void *stream)
{
    (void)stream;
    return 0;
}
#endif

#if PART == PROGRAM
/* Waits for the other thread: the loader's lock is free again. */
int main(void)
{
    if (launch_first() == 0 && judged_meanwhile && dlopen("libsecond.so", RTLD_NOW))
        puts("PASS");
    return 0;
}
#endif
