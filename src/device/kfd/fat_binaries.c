/**
 * @file fat_binaries.c
 * @brief Names a library whose kernels cannot start, because its device code is for other GPUs.
 *
 * HIP says "invalid device function" then, or crashes at the launch (7.2 does), and neither says of
 * which of the program's libraries. Each library hands its bundles of device code to HIP when it is
 * loaded: they are noted here, and read when the library first asks HIP for one of its kernels. A
 * library that only happens to be loaded is not worth a word.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "device.h"
#include "export.h"
#include "runtime.h"
#include "trace/offload_bundle.h"

/* hipError_t of hip_runtime_api.h, where there is no HIP to ask. */
enum { HIP_ERROR_NOT_INITIALIZED = 3 };

/* What the compiler makes of each object file with kernels (clang, CGCUDANV.cpp). */
struct wrapper {
    uint32_t magic, version;
    const uint8_t *bundle;
    void *unused;
};

struct fat_binary {
    struct fat_binary *next;
    void *handle; /**< HIP's */
    const struct wrapper *wrapper;
    const void *library; /**< its load address */
    bool judged;
};

/* The one context of this file. */
static struct {
    pthread_mutex_t lock;
    struct fat_binary *first;
    unsigned pending; /**< that have not been judged; atomic */
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In a forked child nobody else holds it any more. */
static void forget_parent(void)
{
    loaded.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

static void lock_loaded(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&loaded.lock);
}

static void note(void *handle, const struct wrapper *wrapper)
{
    struct fat_binary *f = malloc(sizeof *f);
    Dl_info where;

    if (!f || !wrapper || !dladdr(wrapper, &where)) {
        free(f);
        return;
    }
    *f = (struct fat_binary){.handle = handle, .wrapper = wrapper, .library = where.dli_fbase};
    lock_loaded();
    f->next = loaded.first;
    loaded.first = f;
    __atomic_add_fetch(&loaded.pending, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&loaded.lock);
}

static void forget(void *handle)
{
    lock_loaded();
    for (struct fat_binary **at = &loaded.first; *at; at = &(*at)->next) {
        struct fat_binary *f = *at;
        if (f->handle != handle)
            continue;
        *at = f->next;
        if (!f->judged)
            __atomic_sub_fetch(&loaded.pending, 1, __ATOMIC_RELAXED);
        free(f);
        break;
    }
    pthread_mutex_unlock(&loaded.lock);
}

/* All of a library's bundles that have not been judged: they are judged from here on. Returns how
 * many there are. */
static size_t take(const void *library, const uint8_t ***ret_bundles)
{
    const uint8_t **bundles;
    size_t count = 0;

    lock_loaded();
    bundles = malloc(__atomic_load_n(&loaded.pending, __ATOMIC_RELAXED) * sizeof *bundles);
    for (struct fat_binary *f = loaded.first; f && bundles; f = f->next) {
        if (f->library != library || f->judged)
            continue;
        bundles[count++] = f->wrapper->bundle;
        f->judged = true;
        __atomic_sub_fetch(&loaded.pending, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&loaded.lock);
    *ret_bundles = bundles;
    return count;
}

/*
 * Returns whether there were any. Reading them loads zstd or zlib, which takes the loader's lock. A
 * thread that loads a library with kernels holds that one and waits for ours, which must therefore
 * be free again. The library with the bundles stays: a kernel of it is being asked for.
 */
static bool judge(const void *library, struct rp_bundle_fit *fit)
{
    const uint8_t **bundles;
    const size_t count = take(library, &bundles);

    for (size_t i = 0; i < count; i++) {
        rp_bundle_note(fit, bundles[i], RP_BUNDLE_HEAD_BYTES);
        rp_bundle_note_compressed(fit, bundles[i], SIZE_MAX / 2);
    }
    rp_bundle_fit_end(fit);
    free(bundles);
    return count != 0;
}

static void say(const char *library, const struct rp_bundle_fit *fit, enum rp_offload_fit verdict)
{
    const struct rp_arch arch = rp_device_arch();
    char path[512], what[RP_BUNDLE_TARGETS_BYTES + 64], other[RP_BUNDLE_TARGETS_BYTES + 64] = "";

    rp_escape_into(path, sizeof path, library);
    if (verdict == RP_OFFLOAD_OTHER_GPU) {
        snprintf(what, sizeof what, "%s only, but the software device is %s", fit->targets,
                 arch.name);
        if (rp_arch_find(fit->targets)) /* one, and a modelled one */
            snprintf(other, sizeof other, "choose --device software:%s, or ", fit->targets);
    } else {
        snprintf(what, sizeof what, "%s:xnack%c only, but XNACK is %s", arch.name,
                 verdict == RP_OFFLOAD_XNACK_ON ? '+' : '-',
                 verdict == RP_OFFLOAD_XNACK_ON ? "off" : "on");
        snprintf(other, sizeof other, "%s HSA_XNACK%s, or ",
                 verdict == RP_OFFLOAD_XNACK_ON ? "set" : "unset",
                 verdict == RP_OFFLOAD_XNACK_ON ? "=1" : "");
    }
    dprintf(STDERR_FILENO,
            "rocm-perf-device: %s has device code for %s: its kernels cannot start (HIP says "
            "\"invalid device function\", or crashes); %scompile it with --offload-arch=%s\n",
            path, what, other, arch.name);
}

/* `rocm-perf` has said it of the program itself before it started. */
static bool is_said(const struct link_map *map)
{
    return !map->l_name[0] && getenv("ROCM_PERF_DEVICE_TARGET_SAID");
}

/* The program asks HIP for a kernel by the address that stands for it. */
static void look_at(const void *function)
{
    const int errno_before = errno;
    const char *xnack = getenv("HSA_XNACK");
    const struct rp_arch arch = rp_device_arch();
    struct rp_bundle_fit fit = {.gfx = arch.name};
    struct link_map *map;
    Dl_info where;

    if (dladdr1(function, &where, (void **)&map, RTLD_DL_LINKMAP) && judge(where.dli_fbase, &fit)) {
        const enum rp_offload_fit verdict =
            rp_bundle_verdict(&fit, xnack && strcmp(xnack, "1") == 0);
        if (verdict != RP_OFFLOAD_FITS && !is_said(map))
            say(where.dli_fname, &fit, verdict);
    }
    errno = errno_before;
}

static inline void check(const void *function)
{
    if (__builtin_expect(__atomic_load_n(&loaded.pending, __ATOMIC_RELAXED) != 0, 0))
        look_at(function);
}

/* ---- the functions that the library stands in front of ------------------------------------ */

static void *find_next(void **cache, const char *name)
{
    void *found = __atomic_load_n(cache, __ATOMIC_RELAXED);

    if (!found) {
        const int errno_before = errno;
        found = rp_hip_function(name);
        __atomic_store_n(cache, found, __ATOMIC_RELAXED);
        errno = errno_before;
    }
    return found;
}

/* A HIP function of the same type, or NULL. */
#define HIP(name)                                                                                  \
    __extension__({                                                                                \
        static void *cache_;                                                                       \
        union {                                                                                    \
            void *symbol;                                                                          \
            __typeof__(&(name)) call;                                                              \
        } next_ = {.symbol = find_next(&cache_, #name)};                                           \
        next_.call;                                                                                \
    })

struct dim3 {
    uint32_t x, y, z;
};

void **__hipRegisterFatBinary(const void *data);
void __hipUnregisterFatBinary(void **handle);

RP_EXPORT void **__hipRegisterFatBinary(const void *data)
{
    void **(*next)(const void *) = HIP(__hipRegisterFatBinary);
    void **handle = next ? next(data) : NULL;
    if (handle && rp_device_wanted())
        note(handle, data);
    return handle;
}

RP_EXPORT void __hipUnregisterFatBinary(void **handle)
{
    void (*next)(void **) = HIP(__hipUnregisterFatBinary);
    forget(handle);
    if (next)
        next(handle);
}

/* FUNCTION(name, types of the arguments, their names): the kernel is called f. */
#define FUNCTION(name, types, names)                                                               \
    int name types;                                                                                \
    RP_EXPORT int name types                                                                       \
    {                                                                                              \
        int(*next) types = HIP(name);                                                              \
        check(f);                                                                                  \
        return next ? next names : HIP_ERROR_NOT_INITIALIZED;                                      \
    }
FUNCTION(hipLaunchKernel,
         (const void *f, struct dim3 grid, struct dim3 block, void **args, size_t lds,
          void *stream),
         (f, grid, block, args, lds, stream))
FUNCTION(hipLaunchKernel_spt,
         (const void *f, struct dim3 grid, struct dim3 block, void **args, size_t lds,
          void *stream),
         (f, grid, block, args, lds, stream))
FUNCTION(hipLaunchCooperativeKernel,
         (const void *f, struct dim3 grid, struct dim3 block, void **args, unsigned lds,
          void *stream),
         (f, grid, block, args, lds, stream))
FUNCTION(hipLaunchCooperativeKernel_spt,
         (const void *f, struct dim3 grid, struct dim3 block, void **args, unsigned lds,
          void *stream),
         (f, grid, block, args, lds, stream))
FUNCTION(hipExtLaunchKernel,
         (const void *f, struct dim3 grid, struct dim3 block, void **args, size_t lds, void *stream,
          void *begin, void *end, int flags),
         (f, grid, block, args, lds, stream, begin, end, flags))
FUNCTION(hipLaunchKernelExC, (const void *config, const void *f, void **args), (config, f, args))
FUNCTION(hipLaunchByPtr, (const void *f), (f))
FUNCTION(hipGetFuncBySymbol, (void **function, const void *f), (function, f))
FUNCTION(hipFuncGetAttributes, (void *attributes, const void *f), (attributes, f))
FUNCTION(hipFuncSetAttribute, (const void *f, int attribute, int value), (f, attribute, value))
FUNCTION(hipFuncSetCacheConfig, (const void *f, int config), (f, config))
FUNCTION(hipOccupancyMaxActiveBlocksPerMultiprocessor,
         (int *blocks, const void *f, int threads, size_t lds), (blocks, f, threads, lds))
FUNCTION(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
         (int *blocks, const void *f, int threads, size_t lds, unsigned flags),
         (blocks, f, threads, lds, flags))
FUNCTION(hipOccupancyMaxPotentialBlockSize,
         (int *grid, int *block, const void *f, size_t lds, int most), (grid, block, f, lds, most))
