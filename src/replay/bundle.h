/**
 * @file bundle.h
 * @brief Code objects of several GPUs in one file, as hipcc --genco writes them (clang's offload
 *        bundle).
 */
#ifndef RP_REPLAY_BUNDLE_H
#define RP_REPLAY_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;

/**
 * The code object for a GPU; that is the whole file where it is not a bundle.
 * @param gpu  "gfx942"
 * @return 0; RP_VERDICT: there is none for that GPU; RP_BAD_INPUT: it is damaged, or packed
 */
int rp_bundle_find(const uint8_t *file, size_t bytes, const char *gpu, const uint8_t **ret,
                   size_t *ret_bytes, struct rp_err *err);

#endif
