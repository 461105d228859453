#include "device/driver/device_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/check/check.h"
#include "device/exec/exec_settings.h"
#include "device/isa/wave_state.h"
#include "device/jit/jit_translate.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/timing_model.h"
#include "trace/records.h"

#define RP_WAVE_ORDER_VARIABLE "ROCM_PERF_DEVICE_ORDER"

#define RP_EXEC_POISON_VARIABLE "ROCM_PERF_DEVICE_LEFTOVERS"

/** ROCr treats a timestamp of 0 as missing: the clock starts one second in. */
static inline void clock_init(struct rp_clock *clock, uint32_t mhz)
{
    *clock = (struct rp_clock){.mhz = mhz, .ticks = mhz * 1000000ull};
}

/** File positions of descriptors on cards begin here, and those of render nodes are below. */
enum { FIRST_CARD = 64 };

/* This is the library's only mutable global, because the hooks of libc's functions cannot be given
 * a context. A forked child replaces it without freeing it.
 */
static struct rp_device *the_device;

static const char *device_said(void)
{
    return getenv("ROCM_PERF_DEVICE");
}

static const char *samples_said(void)
{
    return getenv("ROCM_PERF_DEVICE_PC_SAMPLING");
}

static const char *gpus_said(void)
{
    return getenv("ROCM_PERF_DEVICE_GPUS");
}

static const char *clock_said(void)
{
    return getenv("ROCM_PERF_DEVICE_CLOCK");
}

static int chosen(struct rp_arch *ret)
{
    const char *value = device_said();
    return rp_arch_select(value && *value ? value : NULL, ret);
}

bool rp_device_wanted(void)
{
    const char *value = device_said();
    struct rp_arch arch;
    return !value || (strcmp(value, "off") != 0 && chosen(&arch) == 0);
}

struct rp_arch rp_device_arch(void)
{
    struct rp_arch arch;
    /* A choice that cannot be modelled gives no device, so nobody asks this then. */
    return chosen(&arch) == 0 ? arch : *rp_arch_default();
}

uint32_t rp_device_clock_mhz(void)
{
    const char *said = clock_said();
    uint32_t mhz;
    if (!said || !*said)
        return 0;
    const struct rp_arch arch = rp_device_arch();
    return rp_arch_clock_parse(&arch, said, &mhz) && mhz != arch.engine_clock_mhz ? mhz : 0;
}

/** The command line refuses a wrong choice; this is for those who set the variable themselves. */
__attribute__((constructor)) static void tell_wrong_choice(void)
{
    const char *value = device_said();
    char choices[512];
    if (!value || strcmp(value, "off") == 0 || rp_device_wanted())
        return;
    rp_arch_choices(RP_ARCH_SOFTWARE, choices, sizeof choices);
    dprintf(STDERR_FILENO, "rocm-perf-device: ROCM_PERF_DEVICE=%s: no device; choose off, %s\n",
            value, choices);
}

/** Returns the number in the text, or 0 if it is not a valid one. */
static unsigned gpu_count_of(const char *text)
{
    bool is = text[0] >= '1' && text[0] <= '0' + RP_GPU_LIMIT && !text[1];
    return is ? (unsigned)(text[0] - '0') : 0;
}

/** Reports wrong values once a process, when the device is made, because they are ignored. */
static void tell_wrong_values(void)
{
    const char *jit = getenv("ROCM_PERF_DEVICE_JIT");
    const char *threads = getenv("ROCM_PERF_DEVICE_THREADS");
    const char *gpus = gpus_said();
    const char *timing = getenv("ROCM_PERF_DEVICE_TIMING");
    const char *leftovers = getenv(RP_EXEC_POISON_VARIABLE);
    uint32_t seed;
    if (threads && *threads && rp_exec_threads_of(threads) == 0)
        dprintf(STDERR_FILENO,
                "rocm-perf-device: ROCM_PERF_DEVICE_THREADS=%s is not a whole number from 1 to %u: "
                "using all processors\n",
                threads, RP_EXEC_MOST_THREADS);
    if (gpus && *gpus && gpu_count_of(gpus) == 0)
        dprintf(STDERR_FILENO,
                "rocm-perf-device: ROCM_PERF_DEVICE_GPUS=%s is not a whole number from 1 to %u: "
                "there is one GPU\n",
                gpus, RP_GPU_LIMIT);
    if (jit && *jit && strcmp(jit, "on") != 0 && strcmp(jit, "off") != 0)
        dprintf(STDERR_FILENO,
                "rocm-perf-device: ROCM_PERF_DEVICE_JIT=%s is neither on nor off: hot code is "
                "translated\n",
                jit);
    if (timing && *timing && rp_timing_mode_of(timing) < 0)
        dprintf(STDERR_FILENO,
                "rocm-perf-device: ROCM_PERF_DEVICE_TIMING=%s is not off, counts, detailed or "
                "warm: timing "
                "is the usual one\n",
                timing);
    if (leftovers && *leftovers && !rp_exec_poison_parse(leftovers, &seed))
        dprintf(STDERR_FILENO,
                "rocm-perf-device: " RP_EXEC_POISON_VARIABLE "=%s is not a whole number from 1 to "
                "%d: LDS, scratch and registers begin as zeros\n",
                leftovers, INT32_MAX);
    const char *order = getenv(RP_WAVE_ORDER_VARIABLE);
    if (order && *order && !rp_wave_order_parse(order, &seed))
        dprintf(STDERR_FILENO,
                "rocm-perf-device: " RP_WAVE_ORDER_VARIABLE "=%s is not forward, reversed, "
                "shuffled:N or interleaved:N: it is forward\n",
                order);
    if (samples_said() && *samples_said() && strcmp(samples_said(), "on") != 0 &&
        strcmp(samples_said(), "off") != 0)
        dprintf(STDERR_FILENO,
                "rocm-perf-device: ROCM_PERF_DEVICE_PC_SAMPLING=%s is neither on nor off: it is "
                "off\n",
                samples_said());
    struct rp_arch arch = rp_device_arch();
    uint32_t mhz;
    if (clock_said() && *clock_said() && !rp_arch_clock_parse(&arch, clock_said(), &mhz))
        dprintf(STDERR_FILENO,
                "rocm-perf-device: ROCM_PERF_DEVICE_CLOCK=%s is not a whole number from %d to %u: "
                "it is %u MHz\n",
                clock_said(), RP_ARCH_LOWEST_CLOCK_MHZ, arch.engine_clock_mhz,
                arch.engine_clock_mhz);
    if (rp_timing_mode() != rp_timing_mode_for(&arch))
        dprintf(STDERR_FILENO,
                "rocm-perf-device: there is no detailed timing of %s:%s: timing is counts\n",
                arch.name, arch.product);
}

/* Asked for by itself, or by what rocprofv3 tells AMD's rocprofiler-sdk. */
bool rp_device_samples(void)
{
    const char *own = samples_said();
    const char *tool = getenv("ROCPROFILER_PC_SAMPLING_BETA_ENABLED");
    if (own && *own)
        return strcmp(own, "on") == 0;
    return tool && *tool && strcmp(tool, "0") != 0 && strcasecmp(tool, "off") != 0;
}

unsigned rp_device_gpu_count(void)
{
    const char *value = gpus_said();
    unsigned count = value ? gpu_count_of(value) : 1;
    return count ? count : 1;
}

struct rp_device *rp_device_get(void)
{
    struct rp_device *device = __atomic_load_n(&the_device, __ATOMIC_ACQUIRE);
    return device && device->pid == getpid() ? device : NULL;
}

struct rp_topology rp_device_topology(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    struct rp_topology topology = {
        .arch = rp_device_arch(),
        .clock_mhz = rp_device_clock_mhz(),
        .gpu_count = rp_device_gpu_count(),
        .reports_exceptions = rp_device_samples(),
        .host.cores = cores > 0 ? (uint32_t)cores : 1,
        .host.memory_bytes =
            pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 1ull << 30,
    };
    const struct rp_device *device = rp_device_get();
    for (unsigned gpu = 0; device && gpu < device->gpu_count; gpu++)
        topology.memory_used_bytes[gpu] =
            __atomic_load_n(&device->memory.vram_used_bytes[gpu], __ATOMIC_RELAXED);
    return topology;
}

/* ---- what the executor asks --------------------------------------------------------------- */

static void *translate(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    struct rp_gpu *gpu = ctx;
    return rp_memory_translate(&gpu->device->memory, gpu->index, va, bytes, write);
}

static int range(void *ctx, uint64_t va, int write, uint64_t *ret_begin, uint64_t *ret_end,
                 int64_t *ret_delta)
{
    struct rp_gpu *gpu = ctx;
    return rp_memory_range(&gpu->device->memory, gpu->index, va, write, ret_begin, ret_end,
                           ret_delta);
}

static void send_interrupt(void *ctx, uint32_t m0)
{
    rp_signal_interrupt(&((struct rp_gpu *)ctx)->device->events, m0);
}

static uint64_t clock_ticks(void *ctx)
{
    return rp_clock_now(&((struct rp_gpu *)ctx)->device->clock);
}

static enum rp_memory_location place(void *ctx, uint64_t va)
{
    struct rp_gpu *gpu = ctx;
    return rp_memory_place(&gpu->device->memory, gpu->index, va);
}

static bool is_programs(void *ctx, uint64_t va)
{
    struct rp_gpu *gpu = ctx;
    struct rp_memory *memory = &gpu->device->memory;
    return !memory->xnack && rp_memory_is_programs(memory, va, false);
}

/* ---- life --------------------------------------------------------------------------------- */

/**
 * A descriptor of its own on the store. All device files are that one file; which GPU's render
 * node or card a descriptor stands for is told by the file position, which nothing else uses
 * (device memory is mapped, never read) and which duplicates of the descriptor share.
 */
static int open_at(const struct rp_device *device, off_t position, bool close_on_exec)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", device->memory.store.fd);
    /* A direct call: open() is one of our own hooks. */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | (close_on_exec ? O_CLOEXEC : 0));
    if (fd >= 0 && lseek(fd, position, SEEK_SET) == position)
        return fd;
    int rc = -errno;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int open_render_node(const struct rp_device *device, unsigned gpu)
{
    return gpu ? open_at(device, gpu, true) : device->memory.store.fd;
}

static int gpu_init(struct rp_device *device, unsigned index)
{
    struct rp_gpu *gpu = &device->gpus[index];
    *gpu = (struct rp_gpu){
        .device = device,
        .index = index,
        .id = rp_topology_gpu_id(index),
        .fd = open_render_node(device, index),
        .host =
            {
                .ctx = gpu,
                .translate = translate,
                .range = range,
                .place = place,
                .borrows = &device->memory.xnack,
                .observer = &rp_timing_observer,
                .translator = &rp_jit_translator,
                .generation = &device->memory.vm[index].generation,
                .send_interrupt = send_interrupt,
                .clock_ticks = clock_ticks,
                .lds_aperture = RP_LDS_BASE,
                .scratch_aperture = RP_SCRATCH_BASE,
                .gws = &gpu->gws,
            },
        .cp =
            {
                .host = &gpu->host,
                .arch = &device->arch,
                .clock = &device->clock,
                .events = &device->events,
                .report_fd = STDERR_FILENO,
                .patience_ns = 10ll * 1000 * 1000 * 1000,
                .gpu_id = gpu->id,
                .is_programs = is_programs,
                .stores = &device->stores,
                .causal = &device->causal,
                .counted = &device->counted,
                .traced = &device->traced,
                .registers = &gpu->registers,
                .performance = &gpu->performance,
                .thread_trace = &gpu->thread_trace,
                .sampling = &gpu->sampling,
                .warm_caches = rp_timing_keeps_caches(),
                .reports_exceptions = rp_device_samples(),
            },
    };
    rp_registers_init(&gpu->registers, device->arch.xcc_count);
    rp_pc_sampling_init(&gpu->sampling);
    rp_performance_counters_init(&gpu->performance, &gpu->cp);
    rp_thread_trace_init(&gpu->thread_trace, &device->arch, &gpu->host, &gpu->registers,
                         gpu->cp.report_fd);
    if (device->gpu_count > 1)
        snprintf(gpu->cp.label, sizeof gpu->cp.label, "GPU %u, ", index);
    return gpu->fd < 0 ? gpu->fd : 0;
}

static void device_free(struct rp_device *device)
{
    for (unsigned i = 1; i < device->gpu_count; i++)
        if (device->gpus[i].fd > 0)
            close(device->gpus[i].fd);
    for (unsigned i = 0; i < device->gpu_count; i++) {
        rp_performance_counters_release(&device->gpus[i].performance);
        rp_thread_trace_release(&device->gpus[i].thread_trace);
        rp_registers_release(&device->gpus[i].registers);
    }
    rp_counter_results_release(&device->counted);
    rp_trace_requests_release(&device->traced);
    rp_store_times_release(&device->stores);
    rp_memory_close(&device->memory);
    free(device);
}

static void init_leftovers(void)
{
    const char *text = getenv(RP_EXEC_POISON_VARIABLE);
    uint32_t seed;
    if (text && *text && rp_exec_poison_parse(text, &seed))
        rp_exec_poison_set(seed);
}

static void init_check(void)
{
    const char *what = getenv(RP_CHECK_VARIABLE), *folder = getenv(RP_CHECK_FOLDER_VARIABLE);
    const unsigned bits = what ? rp_check_parse(what) : 0;
    if (bits && folder && *folder)
        rp_check_begin(bits, folder);
}

static void init_order(void)
{
    const char *text = getenv(RP_WAVE_ORDER_VARIABLE);
    uint32_t order;
    if (text && *text && rp_wave_order_parse(text, &order))
        rp_wave_order_set(order);
}

static int device_new(struct rp_device **ret_device)
{
    struct stat st;
    struct rp_device *device = calloc(1, sizeof *device);
    if (!device)
        return -ENOMEM;
    device->pid = getpid();
    device->arch = rp_device_arch();
    if (rp_device_clock_mhz())
        rp_arch_set_clock(&device->arch, rp_device_clock_mhz(), &device->timing_at_clock);
    clock_init(&device->clock, device->arch.timestamp_mhz);
    rp_store_times_init(&device->stores);
    rp_happens_before_init(&device->causal, rp_clock_now(&device->clock));
    rp_counter_results_init(&device->counted, getenv(RP_DEVICE_COUNTERS_VARIABLE));
    rp_trace_requests_init(&device->traced);
    init_leftovers();
    init_order();
    init_check();
    device->gpu_count = rp_device_gpu_count();
    int rc = rp_memory_open(&device->memory, device->gpu_count, device->arch.memory_bytes,
                            rp_device_topology().host.memory_bytes);
    if (rc < 0) {
        rp_counter_results_release(&device->counted);
        free(device);
        return rc;
    }
    rp_events_init(&device->events);
    if (rp_backing_stat(device->memory.store.fd, &st) < 0)
        rc = -errno;
    for (unsigned i = 0; rc == 0 && i < device->gpu_count; i++)
        rc = gpu_init(device, i);
    if (rc < 0) {
        device_free(device);
        return rc;
    }
    device->file_dev = st.st_dev;
    device->file_ino = st.st_ino;
    rp_queues_init(&device->queues);
    *ret_device = device;
    return 0;
}

/**
 * Runs when the program calls exit(), before the runtimes' own destructors. HIP 7.2 destroys its
 * objects while ROCr's thread may still be in a callback that uses them; on hardware that thread
 * has long finished by then. This gives it time to finish, but never keeps a program from ending.
 */
static void settle_queues(struct rp_device *device)
{
    enum { STEP_NS = 200 * 1000, LIMIT_NS = 300 * 1000 * 1000 };
    const struct timespec step = {.tv_nsec = STEP_NS};
    const int64_t begin_ns = rp_now_ns();
    do {
        if (rp_queues_idle(&device->queues) && rp_events_quiet(&device->events))
            return;
        nanosleep(&step, NULL);
    } while (rp_now_ns() - begin_ns < LIMIT_NS);
}

static void settle_at_exit(void)
{
    struct rp_device *device = rp_device_get();
    if (!device)
        return;
    settle_queues(device);
    void (*settle)(bool) = __atomic_load_n(&device->settle, __ATOMIC_ACQUIRE);
    if (settle)
        settle(true);
}

/** Returns the remedy where this process is not allowed enough, or "" for other errors. */
static const char *remedy_of(int errno_value)
{
    struct rlimit limit;

    if (errno_value == EFBIG)
        return " (it keeps its memory in a file of that size: ulimit -f unlimited)";
    if (errno_value == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        return " (it reserves the addresses of all its memory: ulimit -v unlimited)";
    return "";
}

/** Lock-free, because a lock could be held by another thread at the time of a fork. */
static int device_make(struct rp_device **ret_device)
{
    struct rp_device *seen = __atomic_load_n(&the_device, __ATOMIC_ACQUIRE);
    struct rp_device *fresh;
    int rc = device_new(&fresh);
    if (rc < 0) {
        dprintf(STDERR_FILENO, "rocm-perf-device: no device: %s%s\n", strerror(-rc),
                remedy_of(-rc));
        return rc;
    }
    if (__atomic_compare_exchange_n(&the_device, &seen, fresh, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        *ret_device = fresh;
        atexit(settle_at_exit);
        tell_wrong_values();
        /* Bounds of times are far apart where executed instructions are not counted. */
        if (fresh->counted.count || rp_timing_mode_for(&fresh->arch) == RP_TIMING_COUNTS)
            rp_exec_set_counts(fresh->counted.memory ? RP_COUNT_MEMORY : RP_COUNT_INSTRUCTIONS);
        rp_log("device made: %u of %s", fresh->gpu_count, fresh->arch.product);
        return 0;
    }
    device_free(fresh); /* Another thread was first. */
    *ret_device = seen;
    return 0;
}

int rp_device_open(unsigned gpu, bool card, bool close_on_exec)
{
    struct rp_device *device = rp_device_get();
    int rc = device ? 0 : device_make(&device);
    if (rc < 0)
        return rc;
    if (gpu >= device->gpu_count || (!card && !rp_device_owns(device, device->gpus[gpu].fd)))
        return -ENODEV; /* There is no such GPU, or the program has closed our descriptor. */
    if (card)
        return open_at(device, FIRST_CARD + (off_t)gpu, close_on_exec);
    int fd = fcntl(device->gpus[gpu].fd, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
    return fd < 0 ? -errno : fd;
}

bool rp_device_owns(const struct rp_device *device, int fd)
{
    struct stat st;
    return rp_backing_stat(fd, &st) == 0 && st.st_ino == device->file_ino &&
           st.st_dev == device->file_dev;
}

unsigned rp_device_minor_of_fd(int fd)
{
    const off_t position = lseek(fd, 0, SEEK_CUR);
    const bool is_card = position >= FIRST_CARD;
    const off_t gpu = is_card ? position - FIRST_CARD : position;
    return (gpu > 0 && gpu < RP_GPU_LIMIT ? (unsigned)gpu : 0) +
           (is_card ? 0 : RP_TOPOLOGY_RENDER_MINOR);
}
