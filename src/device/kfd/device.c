#include "device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "signal.h"

/* The single mutable global of the library. Replaced (never freed) in a forked child. */
static struct rp_device *the_device;

bool rp_device_wanted(void)
{
    const char *value = getenv("ROCM_PERF_DEVICE");
    return !value || strcmp(value, "off") != 0;
}

const struct rp_arch *rp_device_arch(void)
{
    return rp_arch_find("gfx942");
}

struct rp_topology_host rp_device_host_facts(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    return (struct rp_topology_host){
        .cores = cores > 0 ? (uint32_t)cores : 1,
        .memory_bytes = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 1ull << 30,
    };
}

struct rp_device *rp_device_get(void)
{
    struct rp_device *device = __atomic_load_n(&the_device, __ATOMIC_ACQUIRE);
    return device && device->pid == getpid() ? device : NULL;
}

/* ---- what the executor asks --------------------------------------------------------------- */

static void *translate(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    return rp_memory_translate(&((struct rp_device *)ctx)->memory, va, bytes, write);
}

static int range(void *ctx, uint64_t va, int write, uint64_t *ret_begin, uint64_t *ret_end,
                 int64_t *ret_delta)
{
    struct rp_device *device = ctx;
    return rp_memory_range(&device->memory, va, write, ret_begin, ret_end, ret_delta);
}

static void send_interrupt(void *ctx, uint32_t m0)
{
    rp_signal_interrupt(&((struct rp_device *)ctx)->events, m0);
}

static uint64_t clock_ticks(void *ctx)
{
    return rp_clock_now(&((struct rp_device *)ctx)->clock);
}

/* ---- life --------------------------------------------------------------------------------- */

static int device_new(struct rp_device **ret_device)
{
    struct stat st;
    struct rp_device *device = calloc(1, sizeof *device);
    if (!device)
        return -ENOMEM;
    device->pid = getpid();
    device->arch = rp_device_arch();
    device->clock.ticks = RP_CLOCK_FIRST_TICK;
    int rc = device->arch ? rp_memory_open(&device->memory, device->arch->memory_bytes,
                                           rp_device_host_facts().memory_bytes)
                          : -ENODEV;
    if (rc == 0 && fstat(device->memory.store.fd, &st) < 0)
        rc = -errno;
    if (rc < 0) {
        free(device);
        return rc;
    }
    device->file_dev = st.st_dev;
    device->file_ino = st.st_ino;
    rp_events_init(&device->events);
    device->host = (struct rp_exec_host){
        .ctx = device,
        .translate = translate,
        .range = range,
        .generation = &device->memory.vm.generation,
        .send_interrupt = send_interrupt,
        .clock_ticks = clock_ticks,
        .lds_aperture = RP_LDS_BASE,
        .scratch_aperture = RP_SCRATCH_BASE,
    };
    device->cp = (struct rp_cp){
        .host = &device->host,
        .arch = device->arch,
        .clock = &device->clock,
        .events = &device->events,
        .report_fd = STDERR_FILENO,
    };
    rp_queues_init(&device->queues, &device->cp);
    *ret_device = device;
    return 0;
}

/**
 * Runs when the program calls exit(), before the runtimes' own destructors. HIP 7.2 takes its
 * objects down while ROCr's thread may still be in a callback that uses them; on hardware that
 * thread is long done by then. Give it the chance, but never keep a program from ending.
 */
static void settle_at_exit(void)
{
    enum { STEP_NS = 200 * 1000, STEPS = 1500 };
    const struct timespec step = {.tv_nsec = STEP_NS};
    struct rp_device *device = rp_device_get();
    for (int i = 0; device && i < STEPS; i++) {
        if (rp_queues_idle(&device->queues) && rp_events_quiet(&device->events))
            return;
        nanosleep(&step, NULL);
    }
}

/** Lock-free, because a lock could be held by another thread at the time of a fork. */
static int device_make(struct rp_device **ret_device)
{
    struct rp_device *seen = __atomic_load_n(&the_device, __ATOMIC_ACQUIRE);
    struct rp_device *fresh;
    int rc = device_new(&fresh);
    if (rc < 0) {
        dprintf(STDERR_FILENO, "rocm-perf-device: no device: %s\n", strerror(-rc));
        return rc;
    }
    if (__atomic_compare_exchange_n(&the_device, &seen, fresh, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        *ret_device = fresh;
        atexit(settle_at_exit);
        rp_log("device made: %s", fresh->arch->product);
        return 0;
    }
    rp_memory_close(&fresh->memory); /* another thread was first */
    free(fresh);
    *ret_device = seen;
    return 0;
}

int rp_device_open(bool close_on_exec)
{
    struct rp_device *device = rp_device_get();
    int rc = device ? 0 : device_make(&device);
    if (rc < 0)
        return rc;
    if (!rp_device_owns(device, device->memory.store.fd))
        return -ENODEV; /* the program closed our descriptor */
    int fd = fcntl(device->memory.store.fd, close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
    return fd < 0 ? -errno : fd;
}

bool rp_device_owns(const struct rp_device *device, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_ino == device->file_ino && st.st_dev == device->file_dev;
}
