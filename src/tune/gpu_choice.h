/**
 * @file gpu_choice.h
 * @brief What `--gpus all` means: a worker for each GPU, all of one model.
 */
#ifndef RP_TUNE_GPU_CHOICE_H
#define RP_TUNE_GPU_CHOICE_H

#include <stddef.h>

#include "collect/environment.h"

struct rp_err;
struct rp_gpu;

/**
 * All GPUs of this machine that we may use, or of the software device (ROCM_PERF_DEVICE_GPUS), as a
 * list: "0,1,2". Those that ROCR_VISIBLE_DEVICES leaves.
 * @param ret  owned
 * @return 0; RP_ENVIRONMENT: there is none, or they are of several models, which are named
 */
int rp_gpu_choice(enum rp_device wish, char **ret, struct rp_err *err);

/** The same of a list of GPUs. @param visible  ROCR_VISIBLE_DEVICES; NULL or "": all */
int rp_gpu_choice_of(const struct rp_gpu *gpus, size_t count, const char *visible, char **ret,
                     struct rp_err *err);

/**
 * Whether the software device has all of these.
 * @param gpus  numbers, NULL-terminated
 * @return 0; RP_USAGE: which one it has not
 */
int rp_gpu_choice_check_software(const char *const *gpus, struct rp_err *err);

#endif
