/**
 * @file device_context.h
 * @brief The injected library has one context: the software GPUs of this
 * process.
 *
 * Made when a device file is first opened; it lives until the process ends. A forked child has
 * no device (its threads and mappings are not there) until it opens one, which makes a new one.
 */
#ifndef RP_DEVICE_DRIVER_DEVICE_CONTEXT_H
#define RP_DEVICE_DRIVER_DEVICE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "device/driver/command_processor.h"
#include "device/driver/device_memory.h"
#include "device/driver/gpu_registers.h"
#include "device/driver/pc_sampling.h"
#include "device/driver/performance_counters.h"
#include "device/driver/thread_trace_registers.h"
#include "device/driver/vfs.h"
#include "device/isa/wave_state.h"

#define RP_LDS_BASE     0x1000000000000ull
#define RP_SCRATCH_BASE 0x2000000000000ull

/** This is one GPU. Its page table and memory size are in rp_memory, under its index. */
struct rp_gpu {
    struct rp_device *device;
    unsigned index;
    uint32_t id; /**< KFD's gpu_id */
    int fd;      /**< its render node */
    struct rp_gws gws;
    struct rp_exec_host host;
    struct rp_registers registers;
    struct rp_performance_counters performance;
    struct rp_thread_trace thread_trace;
    struct rp_pc_sampling sampling;
    struct rp_cp cp;
};

struct rp_device {
    pid_t pid;
    dev_t file_dev; /**< identity of the device files: every descriptor on the store */
    ino_t file_ino;
    struct rp_arch arch;                   /**< at the clock that is modelled */
    struct rp_arch_timing timing_at_clock; /**< its, where that is not the highest */
    struct rp_clock clock; /**< of all GPUs: they are driven by one reference clock */
    struct rp_memory memory;
    struct rp_events events;
    struct rp_queues queues;
    struct rp_store_times stores;
    struct rp_happens_before causal;
    struct rp_callbacks *callbacks; /**< signal_hooks.h; NULL: there was none yet */
    void (*settle)(bool all);       /**< rp_callbacks_settle, or NULL: nothing is put off */
    struct rp_counter_results counted;
    struct rp_trace_requests traced;
    unsigned gpu_count;
    struct rp_gpu gpus[RP_GPU_LIMIT];
};

/**
 * Tests whether the device is neither switched off (ROCM_PERF_DEVICE=off) nor asked to be what it
 * cannot model.
 */
bool rp_device_wanted(void);

/** Returns this process's device, or NULL if it has none. */
struct rp_device *rp_device_get(void);

/**
 * Opens a descriptor on a GPU, and makes the device if there is none.
 * @param card  of /dev/dri/card*, else of the render node
 * @return -errno on failure
 */
int rp_device_open(unsigned gpu, bool card, bool close_on_exec);

/** Tests whether @p fd is a descriptor on the device, however it was duplicated. */
bool rp_device_owns(const struct rp_device *device, int fd);

/** Returns the number in /dev/dri of the device's file @p fd; for /dev/kfd it is GPU 0's. */
unsigned rp_device_minor_of_fd(int fd);

/** The GPU whose device file @p fd, one of the device's, was opened as; 0 for /dev/kfd. */
static inline unsigned rp_device_gpu_of_fd(int fd)
{
    const unsigned minor = rp_device_minor_of_fd(fd);
    return minor >= RP_TOPOLOGY_RENDER_MINOR ? minor - RP_TOPOLOGY_RENDER_MINOR : minor;
}

/** Returns the GPU that KFD calls @p gpu_id, or NULL. */
static inline struct rp_gpu *rp_device_gpu(struct rp_device *device, uint32_t gpu_id)
{
    uint32_t index = gpu_id - RP_TOPOLOGY_GPU_ID;
    return index < device->gpu_count ? &device->gpus[index] : NULL;
}

/**
 * Returns the GPU that the environment asks for (ROCM_PERF_DEVICE, as rp_arch_select() reads it;
 * MI300X by default).
 */
struct rp_arch rp_device_arch(void);

/**
 * Returns the engine clock that the environment asks for (ROCM_PERF_DEVICE_CLOCK), if that is not
 * the GPU's highest one; else 0.
 */
uint32_t rp_device_clock_mhz(void);

/**
 * Returns how many GPUs the environment asks for (ROCM_PERF_DEVICE_GPUS), from 1 to RP_GPU_LIMIT.
 */
unsigned rp_device_gpu_count(void);

/**
 * Tests whether the program may sample program counters. ROCr does so only on a GPU that reports
 * queue errors as exceptions, which takes another way through it, so it has to be asked for.
 */
bool rp_device_samples(void);

/** Returns the GPUs and this machine as the driver describes them. */
struct rp_topology rp_device_topology(void);

/** Executes an ioctl of /dev/kfd. @return 0 or -errno */
int rp_kfd_ioctl(struct rp_device *device, unsigned long request, void *user);

/** Executes the SVM ioctl of /dev/kfd; @p bytes is the size of the argument. @return 0 or -errno */
int rp_svm_ioctl(struct rp_memory *memory, void *user, uint32_t bytes);

/** Executes an ioctl of /dev/dri. @return 0 or -errno */
int rp_drm_ioctl(struct rp_device *device, int fd, unsigned long request, void *user);

/** Takes the id of a buffer (32 bits) and returns its offset for mmap(). @return 0 or -errno */
int rp_drm_gem_mmap(struct rp_device *device, uint64_t *id_and_offset);

#endif
