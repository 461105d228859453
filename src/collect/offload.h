/**
 * @file offload.h
 * @brief Which GPUs a program file has device code for.
 */
#ifndef RP_COLLECT_OFFLOAD_H
#define RP_COLLECT_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>

enum rp_offload_fit {
    RP_OFFLOAD_FITS,      /**< or nobody can tell: no bundles, compressed ones, no such file */
    RP_OFFLOAD_OTHER_GPU, /**< none of the entries is for the GPU, generic, or SPIR-V */
    RP_OFFLOAD_XNACK_ON,  /**< those for the GPU are xnack+ ones, and XNACK is off */
    RP_OFFLOAD_XNACK_OFF, /**< those for the GPU are xnack- ones, and XNACK is on */
};

/**
 * Whether a program's device code is surely for something else than @p gfx ("gfx942") with XNACK on
 * or off.
 * @param ret_targets  written with OTHER_GPU: the GPUs it is for, separated by ", "
 */
enum rp_offload_fit rp_offload_fit(const char *path, const char *gfx, bool xnack, char *ret_targets,
                                   size_t room);

#endif
