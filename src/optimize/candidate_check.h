/**
 * @file candidate_check.h
 * @brief Checks that a changed text of a kernel changes only what may be changed, before anything
 * of it is compiled to code.
 *
 * What is checked is listed in docs/how-it-decides.md, "What a candidate may change".
 */
#ifndef RP_OPTIMIZE_CANDIDATE_CHECK_H
#define RP_OPTIMIZE_CANDIDATE_CHECK_H

#include <stddef.h>
#include <stdlib.h>

struct rp_compile_command;
struct rp_err;
struct rp_kernel_source;

enum rp_edit_scope {
    RP_EDIT_UNROLL, /**< only unroll pragmas of loops that may be unrolled */
    RP_EDIT_BODY,   /**< anything in the body that the guards allow */
};

/** Says how a candidate ended. Release it with rp_guard_result_free. */
struct rp_guard_result {
    char *file_text;       /**< of the whole candidate file: the text instead of the kernel */
    size_t bytes;          /**< of file_text */
    char *compiler_output; /**< the compiler does not accept it: what it says */
};

/**
 * @param kernel_text the complete definition of the kernel
 * @param arch "gfx942"
 * @param scratch_dir an existing folder; a file in it is written and removed
 * @return 0 with file_text; RP_VERDICT: refused, with one sentence that names the line and what to
 * do, and compiler_output when it is the compiler who refuses; others: it could not be checked
 */
int rp_guard_check(const struct rp_kernel_source *original, const char *kernel_text, size_t bytes,
                   enum rp_edit_scope scope, const struct rp_compile_command *command,
                   const char *arch, const char *scratch_dir, struct rp_guard_result *ret,
                   struct rp_err *err);
static inline void rp_guard_result_free(struct rp_guard_result *result)
{
    free(result->file_text);
    free(result->compiler_output);
    *result = (struct rp_guard_result){0};
}

/* The guards check these in the text alone, before any compiler does. */

/** This is the part of a candidate that replaces the kernel. */
struct rp_guard_part {
    size_t begin, end; /**< of the definition in the candidate's text: first to last token */
    unsigned line;     /**< of begin */
    size_t body_begin; /**< its { */
};

/** @return 0, or RP_VERDICT with the reason; lines are counted from the candidate's beginning */
int rp_guard_text(const struct rp_kernel_source *original, const char *text, size_t bytes,
                  enum rp_edit_scope scope, struct rp_guard_part *ret, struct rp_err *err);

#endif
