/**
 * @file offload.h
 * @brief Which GPUs a program file has device code for.
 */
#ifndef RP_COLLECT_OFFLOAD_H
#define RP_COLLECT_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/offload_bundle.h"

/**
 * Whether a program's device code is surely for something else than @p gfx ("gfx942") with XNACK on
 * or off.
 * @param ret_targets  written with OTHER_GPU: the GPUs it is for, separated by ", "
 */
enum rp_offload_fit rp_program_fits_gpu(const char *path, const char *gfx, bool xnack,
                                        char *ret_targets, size_t room);

#endif
