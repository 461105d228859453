/**
 * @file offload.h
 * @brief Which GPUs a program file has device code for.
 */
#ifndef RP_COLLECT_OFFLOAD_H
#define RP_COLLECT_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Whether a program's device code is surely for other GPUs only: its code bundles can be read, and
 * none of their entries is for @p gfx ("gfx942"), for a generic target or for SPIR-V. Compressed
 * bundles, and files that cannot be read, give false.
 * @param ret_targets  written when true: the GPUs it is for, separated by ", "
 */
bool rp_offload_lacks(const char *path, const char *gfx, char *ret_targets, size_t room);

#endif
