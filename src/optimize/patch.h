/**
 * @file patch.h
 * @brief The difference of two texts as a unified diff, which patch(1) and git apply take.
 */
#ifndef RP_OPTIMIZE_PATCH_H
#define RP_OPTIMIZE_PATCH_H

#include <stddef.h>

#include "base/buf.h"

/**
 * One hunk from the first line that differs to the last one; nothing when the texts are equal.
 * @param name  of the file, without blanks at its ends
 */
void rp_patch_write(const char *name, const char *before, size_t before_bytes, const char *after,
                    size_t after_bytes, struct rp_buf *ret);

#endif
