/**
 * @file device.h
 * @brief The one context of the injected library: the software device of this process.
 *
 * Made when a device file is first opened; it lives until the process ends. A forked child has
 * no device (its threads and mappings are not there) until it opens one, which makes a new one.
 */
#ifndef RP_DEVICE_KFD_DEVICE_H
#define RP_DEVICE_KFD_DEVICE_H

#include <sys/types.h>

#include "clock.h"
#include "event.h"
#include "memory.h"
#include "packet.h"
#include "queue.h"
#include "topology.h"

/* Apertures that ROCr accepts on 48-bit parts; a GPU VM limit of 2^47-1 makes the runtime use
 * the same addresses on both sides (measured with ROCr 7.2.4). */
#define RP_GPUVM_BASE   0x1000000ull
#define RP_GPUVM_LIMIT  0x7fffffffffffull
#define RP_LDS_BASE     0x1000000000000ull
#define RP_SCRATCH_BASE 0x2000000000000ull
#define RP_APERTURE_4G  0xffffffffull

struct rp_device {
    pid_t pid;
    dev_t file_dev; /**< identity of the device files: every descriptor on the store */
    ino_t file_ino;
    const struct rp_arch *arch;
    struct rp_clock clock;
    struct rp_memory memory;
    struct rp_events events;
    struct rp_queues queues;
    struct rp_exec_host host;
    struct rp_cp cp;
};

/** The software device was not switched off (ROCM_PERF_DEVICE=off). */
bool rp_device_wanted(void);

/** This process's device, or NULL if it has none. */
struct rp_device *rp_device_get(void);

/** A descriptor on the device, making the device if there is none. -errno on failure. */
int rp_device_open(bool close_on_exec);

/** True if @p fd is a descriptor on the device (however it was duplicated). */
bool rp_device_owns(const struct rp_device *device, int fd);

const struct rp_arch *rp_device_arch(void);

/** Facts about this machine for the topology. */
struct rp_topology_host rp_device_host_facts(void);

/** /dev/kfd. Returns 0 or -errno. */
int rp_kfd_ioctl(struct rp_device *device, unsigned long request, void *user);

#endif
