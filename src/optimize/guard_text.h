/**
 * @file guard_text.h
 * @brief What the guards see in the text alone, before any compiler does.
 */
#ifndef RP_OPTIMIZE_GUARD_TEXT_H
#define RP_OPTIMIZE_GUARD_TEXT_H

#include <stddef.h>

#include "optimize/guard.h"

struct rp_err;
struct rp_kernel_source;

/** The part of a candidate that takes the kernel's place. */
struct rp_guard_part {
    size_t begin, end; /**< of the definition in the candidate's text: first to last token */
    unsigned line;     /**< of begin */
    size_t body_begin; /**< its { */
};

/** @return 0, or RP_VERDICT with the reason; lines are counted from the candidate's beginning */
int rp_guard_text(const struct rp_kernel_source *original, const char *text, size_t bytes,
                  enum rp_edit_scope scope, struct rp_guard_part *ret, struct rp_err *err);

#endif
