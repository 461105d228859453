/**
 * @file ioctls.h
 * @brief Shared virtual memory: the program's own pages become visible to the GPU.
 *
 * Pages do not migrate: CPU and GPU see the same ones. The location attributes are remembered
 * for those who ask, and change nothing.
 */
#ifndef RP_DEVICE_DRIVER_IOCTLS_H
#define RP_DEVICE_DRIVER_IOCTLS_H

#include <stdint.h>

#include "device/driver/device_memory.h"

/** The SVM ioctl; @p bytes is the size of the argument. 0 or -errno. */
int rp_svm_ioctl(struct rp_memory *memory, void *user, uint32_t bytes);

#endif
