/**
 * @file runtime_hooks.c
 * @brief The functions of the HSA and HIP runtimes that this library stands in front of, and those
 * by which the collector asks the device. The file has, in this order:
 *
 * Waits for HSA signals, which leave the processor to the device. The HIP runtime waits actively,
 * and the HSA runtime polls a signal without an interrupt in any case: on a GPU that costs a
 * processor that has nothing else to do. Here the processors are the device, and the poll would
 * take one of them from the kernel it waits for. So the wait of the runtime gets the first moments,
 * in which short kernels end, and after it the thread sleeps until the device stores to a signal. A
 * signal that something else stores to (another thread, a kernel) is looked at every SLICE_NS.
 * While it sleeps the runtime does not know of the wait, and a signal may be destroyed meanwhile:
 * its handle must not be used again. So destruction is seen here first, and ends such waits as the
 * runtime ends its own, with 0. What the host learns by a wait is in signal_hooks.h.
 *
 * The runtime's copies, whose packets are held while the runtime decides what they wait for, and
 * those copies and fills in which it waits itself.
 *
 * Messages that name a library whose kernels cannot start because its code is for other GPUs or the
 * other XNACK mode. The HIP functions that get a kernel look for that first: launches, attributes
 * and occupancy.
 *
 * rocm_perf_device_abi(), which says that a software device answers, and rocm_perf_device_table(),
 * by which the collector takes counters and thread traces of a dispatch, learns how times are
 * modelled, and sets how waves are run.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/utf8.h"
#include "device/check/check.h"
#include "device/driver/command_processor.h"
#include "device/driver/device_context.h"
#include "device/driver/libc_hooks.h"
#include "device/driver/signal_hooks.h"
#include "device/exec/exec_settings.h"
#include "device/timing/timing_model.h"
#include "trace/code_object.h"
#include "trace/records.h"

/* A wait that is shorter than LOOK_NS is not one: whether it succeeds says how fast this host is.
 */
enum { SPIN_NS = 100 * 1000, SLICE_NS = 1000 * 1000, LOOK_NS = 50 * 1000 };

typedef int64_t (*wait_fn)(hsa_signal_t signal, int condition, int64_t compare, uint64_t timeout,
                           int hint);

RP_EXPORT int64_t hsa_signal_wait_scacquire(hsa_signal_t signal, int condition, int64_t compare,
                                            uint64_t timeout, int hint);
RP_EXPORT int64_t hsa_signal_wait_acquire(hsa_signal_t signal, int condition, int64_t compare,
                                          uint64_t timeout, int hint);
RP_EXPORT int64_t hsa_signal_wait_relaxed(hsa_signal_t signal, int condition, int64_t compare,
                                          uint64_t timeout, int hint);

RP_EXPORT int hsa_signal_destroy(hsa_signal_t signal);

/* These threads sleep in a wait; a thread that finds no place leaves the whole wait to the
 * runtime. They belong to the process, because whoever destroys a signal knows its handle only.
 */
enum { SLEEPERS = 256, YIELDS = 100000 };

struct sleeper {
    uint64_t signal; /**< 0 = free */
    uint32_t destroyed;
    uint32_t looking; /**< it is in the runtime with the handle, for a short time */
};

static struct sleeper sleepers[SLEEPERS];

static struct sleeper *take_sleeper(uint64_t signal)
{
    for (unsigned i = 0; i < SLEEPERS; i++) {
        uint64_t nobody = 0;
        if (__atomic_load_n(&sleepers[i].signal, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&sleepers[i].signal, &nobody, signal, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
            return &sleepers[i];
    }
    return NULL;
}

static void give_sleeper(struct sleeper *sleeper)
{
    __atomic_store_n(&sleeper->destroyed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&sleeper->signal, 0, __ATOMIC_RELEASE);
}

static void tell_sleepers(uint64_t signal)
{
    bool any = false;
    for (unsigned i = 0; signal && i < SLEEPERS; i++)
        if (__atomic_load_n(&sleepers[i].signal, __ATOMIC_SEQ_CST) == signal) {
            __atomic_store_n(&sleepers[i].destroyed, 1, __ATOMIC_SEQ_CST);
            any = true;
            /* The loop must end, because a forked child has places of threads that do not exist
             * there.
             */
            for (unsigned n = 0; n < YIELDS; n++) {
                if (!__atomic_load_n(&sleepers[i].looking, __ATOMIC_SEQ_CST))
                    break;
                sched_yield();
            }
        }
    if (any)
        rp_host_wake();
}

static bool holds(int condition, int64_t value, int64_t compare)
{
    switch (condition) {
    case RP_HSA_EQ:
        return value == compare;
    case RP_HSA_NE:
        return value != compare;
    case RP_HSA_LT:
        return value < compare;
    default:
        return value >= compare;
    }
}

struct wait {
    struct sleeper *self;
    wait_fn next;
    hsa_signal_t signal;
    int condition, hint;
    int64_t compare;
};

/** Waits in the runtime for a short time. @return false when the signal does not exist any more */
static bool look(const struct wait *w, uint64_t timeout, int64_t *ret_value)
{
    __atomic_store_n(&w->self->looking, 1, __ATOMIC_SEQ_CST);
    bool there = !__atomic_load_n(&w->self->destroyed, __ATOMIC_SEQ_CST);
    if (there)
        *ret_value = w->next(w->signal, w->condition, w->compare, timeout, w->hint);
    __atomic_store_n(&w->self->looking, 0, __ATOMIC_SEQ_CST);
    return there;
}

static int64_t sleep_until(const struct wait *w, uint64_t spin, double limit_ns, bool *ret_gone)
{
    int64_t start = rp_now_ns();
    uint64_t timeout = spin;
    int64_t value = 0;
    for (;;) {
        uint32_t seen = rp_host_wakeups();
        *ret_gone = !look(w, timeout, &value);
        if (*ret_gone)
            return 0;
        double left_ns = limit_ns - (double)(rp_now_ns() - start);
        if (holds(w->condition, value, w->compare) || left_ns <= 0)
            return value;
        if (timeout == 0)
            rp_host_sleep(seen, left_ns < SLICE_NS ? (uint64_t)left_ns : SLICE_NS);
        timeout = 0;
    }
}

static int64_t patient(wait_fn next, hsa_signal_t signal, int condition, int64_t compare,
                       uint64_t timeout, int hint, bool *ret_gone)
{
    uint64_t hz = rp_device_get() ? rp_runtime_hz() : 0, spin = hz / (1000000000 / SPIN_NS);
    /* Without our device nobody wakes this thread, and a poll costs nothing. */
    if (timeout <= spin || hz == 0)
        return next(signal, condition, compare, timeout, hint);
    struct sleeper *self = take_sleeper(signal.handle);
    if (!self)
        return next(signal, condition, compare, timeout, hint);
    const struct wait w = {self, next, signal, condition, hint, compare};
    int64_t value = sleep_until(&w, spin, (double)timeout * 1e9 / (double)hz, ret_gone);
    give_sleeper(self);
    return value;
}

static int64_t patient_wait(wait_fn next, hsa_signal_t signal, int condition, int64_t compare,
                            uint64_t timeout, int hint)
{
    struct rp_device *device = rp_device_get();
    bool gone = false;
    int64_t value = patient(next, signal, condition, compare, timeout, hint, &gone);
    if (!device || gone || !holds(condition, value, compare))
        return value;
    if (timeout < rp_runtime_hz() / (1000000000 / LOOK_NS))
        return rp_host_view_look(device, signal.handle, value);
    rp_host_view_wait(device, signal.handle, condition, value);
    return value;
}

int64_t hsa_signal_wait_scacquire(hsa_signal_t signal, int condition, int64_t compare,
                                  uint64_t timeout, int hint)
{
    return patient_wait(RP_RUNTIME(hsa_signal_wait_scacquire), signal, condition, compare, timeout,
                        hint);
}

int64_t hsa_signal_wait_acquire(hsa_signal_t signal, int condition, int64_t compare,
                                uint64_t timeout, int hint)
{
    return patient_wait(RP_RUNTIME(hsa_signal_wait_acquire), signal, condition, compare, timeout,
                        hint);
}

int64_t hsa_signal_wait_relaxed(hsa_signal_t signal, int condition, int64_t compare,
                                uint64_t timeout, int hint)
{
    return patient_wait(RP_RUNTIME(hsa_signal_wait_relaxed), signal, condition, compare, timeout,
                        hint);
}

int hsa_signal_destroy(hsa_signal_t signal)
{
    rp_callbacks_settle(false);
    tell_sleepers(signal.handle);
    return RP_RUNTIME(hsa_signal_destroy)(signal);
}

/* ---- copies -------------------------------------------------------------------------------- */

/* The runtime's copies are hooked, as far as it decides by what the device has done. It leaves out
 * what a copy has to wait for when that is over. So the copy's packets are held while it decides
 * (command_processor.h), and do not start before the end of what was over then.
 */

typedef struct {
    uint64_t handle;
} hsa_agent_t;

RP_EXPORT int hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from,
                                        hsa_agent_t from_agent, size_t bytes, uint32_t wait_count,
                                        const hsa_signal_t *waits, hsa_signal_t completion);
RP_EXPORT int hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
                                                  hsa_agent_t from_agent, size_t bytes,
                                                  uint32_t wait_count, const hsa_signal_t *waits,
                                                  hsa_signal_t completion, int engine, bool force);
RP_EXPORT int hsa_amd_memory_async_copy_rect(const void *to, const void *to_offset,
                                             const void *from, const void *from_offset,
                                             const void *range, hsa_agent_t agent, int direction,
                                             uint32_t wait_count, const hsa_signal_t *waits,
                                             hsa_signal_t completion);
RP_EXPORT int hsa_memory_copy(void *to, const void *from, size_t bytes);
RP_EXPORT int hsa_amd_memory_fill(void *to, uint32_t value, size_t count);

/* A copy's submission takes the host so long at least. Without it copies of several streams would
 * begin at once, and share their link, where on a machine the first one is ahead of the others. */
enum { SUBMIT_COPY_US = 2 };

static struct rp_device *begin(void)
{
    struct rp_device *device = rp_device_get();
    if (!device || !rp_happens_before_is_active(&device->causal))
        return NULL;
    rp_happens_before_open(&device->causal);
    return device;
}

/** The latest end of those that are over. */
static uint64_t over(struct rp_device *device, uint32_t count, const hsa_signal_t *signals)
{
    uint64_t latest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct rp_amd_signal *raw = (const void *)(uintptr_t)signals[i].handle;
        uint64_t ticks;
        if (!raw || __atomic_load_n(&raw->value, __ATOMIC_ACQUIRE) > 0)
            continue;
        if (!rp_host_view_end(device, signals[i].handle, &ticks))
            ticks = rp_clock_now(&device->clock);
        if (ticks > latest)
            latest = ticks;
    }
    return latest;
}

static void end(struct rp_device *device, uint32_t count, const hsa_signal_t *signals)
{
    if (!device)
        return;
    rp_happens_before_close(&device->causal, over(device, count, signals));
    rp_happens_before_spend(&device->causal, device->arch.timestamp_mhz * SUBMIT_COPY_US);
    rp_queues_kick(&device->queues);
}

int hsa_amd_memory_async_copy(void *to, hsa_agent_t to_agent, const void *from,
                              hsa_agent_t from_agent, size_t bytes, uint32_t wait_count,
                              const hsa_signal_t *waits, hsa_signal_t completion)
{
    struct rp_device *device = begin();
    int status = RP_RUNTIME(hsa_amd_memory_async_copy)(to, to_agent, from, from_agent, bytes,
                                                       wait_count, waits, completion);
    end(device, wait_count, waits);
    return status;
}

int hsa_amd_memory_async_copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
                                        hsa_agent_t from_agent, size_t bytes, uint32_t wait_count,
                                        const hsa_signal_t *waits, hsa_signal_t completion,
                                        int engine, bool force)
{
    struct rp_device *device = begin();
    int status = RP_RUNTIME(hsa_amd_memory_async_copy_on_engine)(
        to, to_agent, from, from_agent, bytes, wait_count, waits, completion, engine, force);
    end(device, wait_count, waits);
    return status;
}

int hsa_amd_memory_async_copy_rect(const void *to, const void *to_offset, const void *from,
                                   const void *from_offset, const void *range, hsa_agent_t agent,
                                   int direction, uint32_t wait_count, const hsa_signal_t *waits,
                                   hsa_signal_t completion)
{
    struct rp_device *device = begin();
    int status = RP_RUNTIME(hsa_amd_memory_async_copy_rect)(
        to, to_offset, from, from_offset, range, agent, direction, wait_count, waits, completion);
    end(device, wait_count, waits);
    return status;
}

/** The runtime has waited inside, for what nobody sees: at the latest end there is. */
static int over_now(int status)
{
    struct rp_device *device = rp_device_get();
    if (device && rp_happens_before_is_active(&device->causal))
        rp_host_view_learn(device, rp_clock_now(&device->clock));
    return status;
}

int hsa_memory_copy(void *to, const void *from, size_t bytes)
{
    return over_now(RP_RUNTIME(hsa_memory_copy)(to, from, bytes));
}

int hsa_amd_memory_fill(void *to, uint32_t value, size_t count)
{
    return over_now(RP_RUNTIME(hsa_amd_memory_fill)(to, value, count));
}

/* ---- allocations, while accesses are checked ---------------------------------------------- */

typedef struct {
    uint64_t handle;
} hsa_pool_t;

RP_EXPORT int hsa_amd_memory_pool_allocate(hsa_pool_t pool, size_t bytes, uint32_t flags,
                                           void **ret);
RP_EXPORT int hsa_amd_memory_pool_free(void *at);
RP_EXPORT int hsa_amd_ipc_memory_create(void *at, size_t bytes, void *ret_handle);

/* Fills memory of a GPU, page by page; that of the host is written by the host anyway. */
static bool fill_pages(struct rp_device *device, uint64_t begin, uint64_t bytes)
{
    enum { PAGE = 4096 };
    if (rp_memory_place(&device->memory, 0, begin) == RP_PLACE_HOST)
        return false;
    for (uint64_t at = begin; at < begin + bytes; at += PAGE) {
        uint32_t *to = rp_memory_translate(&device->memory, 0, at, PAGE, 1);
        if (!to)
            return false;
        for (unsigned i = 0; i < PAGE / 4; i++)
            to[i] = rp_allocation_word(at + 4 * i);
    }
    return true;
}

int hsa_amd_memory_pool_allocate(hsa_pool_t pool, size_t bytes, uint32_t flags, void **ret)
{
    struct rp_device *device = rp_device_get();
    const bool checks = device && rp_check_what();
    const size_t padding = checks ? rp_allocation_padding(bytes) : 0;
    const int rc = RP_RUNTIME(hsa_amd_memory_pool_allocate)(pool, bytes + padding, flags, ret);
    if (!rc && checks) {
        const uint64_t begin = (uint64_t)(uintptr_t)*ret;
        const bool filled = rp_allocation_is_filled(bytes) && fill_pages(device, begin, bytes);
        rp_allocation_add(
            &(struct rp_allocation){.begin = begin, .bytes = bytes, .filled = filled});
    }
    return rc;
}

int hsa_amd_memory_pool_free(void *at)
{
    uint64_t begin;
    int rc = 0;
    if (!rp_check_what() || !rp_allocation_free((uint64_t)(uintptr_t)at))
        return RP_RUNTIME(hsa_amd_memory_pool_free)(at);
    while ((begin = rp_allocation_release())) {
        const int failed = RP_RUNTIME(hsa_amd_memory_pool_free)((void *)(uintptr_t)begin);
        rc = rc ? rc : failed;
    }
    return rc;
}

/* The runtime gives another process only whole allocations, and knows how large this one is. */
int hsa_amd_ipc_memory_create(void *at, size_t bytes, void *ret_handle)
{
    const uint64_t padding =
        rp_check_what() ? rp_allocation_padding_of((uint64_t)(uintptr_t)at) : 0;
    return RP_RUNTIME(hsa_amd_ipc_memory_create)(at, bytes + padding, ret_handle);
}

/* ---- libraries with code for other GPUs --------------------------------------------------- */

/* This part names a library whose kernels cannot start because its device code is for other GPUs.
 * HIP then says "invalid device function", or crashes at the launch (7.2 does), and neither tells
 * which of the program's libraries it was. Each library hands its bundles of device code to HIP
 * when it is loaded. They are noted here, and read when the library first asks HIP for one of its
 * kernels. A library that only happens to be loaded is not reported.
 */

/* The number is a hipError_t of hip_runtime_api.h, because there may be no HIP to ask. */
enum { HIP_ERROR_NOT_INITIALIZED = 3 };

/* The compiler makes this of each object file with kernels (clang, CGCUDANV.cpp). */
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

/* This is the only context of the file, because the hooked functions have no place for one. */
static struct {
    struct rp_fork_lock lock;
    struct fat_binary *first;
    unsigned pending; /**< that have not been judged; atomic */
} loaded = {.lock = RP_FORK_LOCK(NULL)};

static void note(void *handle, const struct wrapper *wrapper)
{
    struct fat_binary *f = malloc(sizeof *f);
    Dl_info where;

    if (!f || !wrapper || !dladdr(wrapper, &where)) {
        free(f);
        return;
    }
    *f = (struct fat_binary){.handle = handle, .wrapper = wrapper, .library = where.dli_fbase};
    rp_fork_lock_take(&loaded.lock);
    f->next = loaded.first;
    loaded.first = f;
    __atomic_add_fetch(&loaded.pending, 1, __ATOMIC_RELAXED);
    rp_fork_lock_release(&loaded.lock);
}

static void forget(void *handle)
{
    rp_fork_lock_take(&loaded.lock);
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
    rp_fork_lock_release(&loaded.lock);
}

/* Takes all of a library's bundles that have not been judged, and marks them as judged. @return
 * how many there are
 */
static size_t take(const void *library, const uint8_t ***ret_bundles)
{
    const uint8_t **bundles;
    size_t count = 0;

    rp_fork_lock_take(&loaded.lock);
    bundles = malloc(__atomic_load_n(&loaded.pending, __ATOMIC_RELAXED) * sizeof *bundles);
    for (struct fat_binary *f = loaded.first; f && bundles; f = f->next) {
        if (f->library != library || f->judged)
            continue;
        bundles[count++] = f->wrapper->bundle;
        f->judged = true;
        __atomic_sub_fetch(&loaded.pending, 1, __ATOMIC_RELAXED);
    }
    rp_fork_lock_release(&loaded.lock);
    *ret_bundles = bundles;
    return count;
}

/* Returns whether there were any. Reading them loads zstd or zlib, which takes the loader's lock.
 * A thread that loads a library with kernels holds that lock and waits for ours, so ours must be
 * free here. The library with the bundles stays loaded, because a kernel of it is being asked for.
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
        if (rp_arch_find(fit->targets)) /* There is only one target, and it can be modelled. */
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

/* Returns a HIP function of the same type, or NULL. */
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

/* FUNCTION(name, types of the arguments, their names) defines a hook, in which the kernel is
 * called f.
 */
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

/* ---- allocations of HIP's own, while accesses are checked ---------------------------------- */

/* HIP makes them of pools that it keeps, and of memory that it shares with the host. */
static int note_allocation(int rc, void **ret, size_t bytes)
{
    if (rc == 0 && rp_check_what() & RP_CHECK_BOUNDS)
        rp_allocation_add(&(struct rp_allocation){
            .begin = (uint64_t)(uintptr_t)*ret, .bytes = bytes, .of_hip = true});
    return rc;
}

#define ALLOCATION(name, types, names)                                                             \
    int name types;                                                                                \
    RP_EXPORT int name types                                                                       \
    {                                                                                              \
        int(*next) types = HIP(name);                                                              \
        const size_t asked = bytes;                                                                \
        if (bytes && rp_device_get()) /* Before it is made nothing knows of checks. */             \
            bytes += rp_allocation_padding(bytes);                                                 \
        return next ? note_allocation(next names, ret, asked) : HIP_ERROR_NOT_INITIALIZED;         \
    }
ALLOCATION(hipMallocManaged, (void **ret, size_t bytes, unsigned flags), (ret, bytes, flags))
ALLOCATION(hipMallocAsync, (void **ret, size_t bytes, void *stream), (ret, bytes, stream))
ALLOCATION(hipMallocFromPoolAsync, (void **ret, size_t bytes, void *pool, void *stream),
           (ret, bytes, pool, stream))

int hipFree(void *at);
RP_EXPORT int hipFree(void *at)
{
    int (*next)(void *) = HIP(hipFree);
    if (rp_check_what())
        rp_allocation_forget((uint64_t)(uintptr_t)at);
    return next ? next(at) : HIP_ERROR_NOT_INITIALIZED;
}

/* ---- what the collector finds by name ------------------------------------------------------ */

/**
 * Returns the version of what the device library offers to others by name, or NULL while it is
 * switched off.
 */
RP_EXPORT const char *rocm_perf_device_abi(void);
RP_EXPORT rp_device_table_fn rocm_perf_device_table;

const char *rocm_perf_device_abi(void)
{
    return rp_device_wanted() ? "1" : NULL;
}

/* A child of fork has no device until it opens one. */
static uint32_t counter_count(void)
{
    const struct rp_device *device = rp_device_get();

    return device ? device->counted.count : 0;
}

static const char *counter_name(uint32_t index)
{
    return rp_device_get()->counted.name[index];
}

static bool take_counters(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks,
                          double *ret_values, struct rp_rec_simulation *ret_replay)
{
    struct rp_device *device = rp_device_get();

    return device && rp_counter_results_take(&device->counted, signal, start_ticks, end_ticks,
                                             ret_values, ret_replay);
}

static uint32_t timing(uint32_t *ret_version)
{
    const struct rp_arch arch = rp_device_arch();

    switch (rp_timing_mode_for(&arch)) {
    case RP_TIMING_OFF:
        *ret_version = RP_TIMING_OFF_VERSION;
        return RP_TRACE_TIMING_OFF;
    case RP_TIMING_DETAILED:
        *ret_version = RP_TIMING_DETAILED_VERSION;
        return rp_timing_keeps_caches() ? RP_TRACE_TIMING_WARM : RP_TRACE_TIMING_DETAILED;
    default:
        *ret_version = RP_TIMING_COUNTS_VERSION;
        return RP_TRACE_TIMING_COUNTS;
    }
}

static bool trace_threads(uint64_t signal, uint64_t kernel_object,
                          const struct rp_threads_request *wish)
{
    struct rp_device *device = rp_device_get();

    return device && rp_timing_mode_for(&device->arch) == RP_TIMING_DETAILED &&
           rp_trace_requests_add(&device->traced, signal, kernel_object, wish);
}

static bool take_threads(uint64_t signal, uint64_t start_ticks, uint64_t end_ticks,
                         void **ret_bytes, size_t *ret_count)
{
    struct rp_device *device = rp_device_get();

    return device && rp_trace_requests_take(&device->traced, signal, start_ticks, end_ticks,
                                            ret_bytes, ret_count);
}

static void hold_nothing(bool begins)
{
    struct rp_device *device = rp_device_get();

    if (!device)
        return;
    rp_happens_before_hold_nothing(&device->causal, begins);
    rp_queues_kick(&device->queues);
}

static int64_t only_waits_ns(void)
{
    struct rp_device *device = rp_device_get();

    return device ? rp_queues_only_wait_ns(&device->queues) : 0;
}

static bool check_from_now(const char *what)
{
    const unsigned bits = what ? rp_check_parse(what) : 0;

    if (rp_check_what())
        rp_check_end();
    if (bits)
        rp_check_begin(bits, NULL);
    return bits || !what;
}

static void check_allocation(uint64_t begin, uint64_t bytes)
{
    rp_allocation_add(&(struct rp_allocation){.begin = begin, .bytes = bytes});
}

const struct rp_device_table *rocm_perf_device_table(void)
{
    static const struct rp_device_table table = {
        .version = RP_DEVICE_TABLE_VERSION,
        .counter_count = counter_count,
        .counter_name = counter_name,
        .take = take_counters,
        .timing = timing,
        .clock_mhz = rp_device_clock_mhz,
        .trace_threads = trace_threads,
        .take_threads = take_threads,
        .settle_callbacks = rp_callbacks_settle,
        .hold_nothing = hold_nothing,
        .set_poison = rp_exec_poison_set,
        .set_order = rp_wave_order_set,
        .set_fault_ends = rp_fault_ends_set,
        .set_bound = rp_bound_set,
        .last_work = rp_bound_last,
        .last_faulted = rp_fault_ended_last,
        .only_waits_ns = only_waits_ns,
        .fault_address = rp_fault_last_address,
        .check = check_from_now,
        .check_allocation = check_allocation,
        .take_finding = rp_finding_take,
        .take_update = rp_updates_take,
        .take_not_compared = rp_check_take_not_compared,
        .set_timed = rp_timing_set_timed,
        .take_clock_read = rp_clock_read_take,
    };

    return rp_device_wanted() ? &table : NULL;
}
