/**
 * @file ir.h
 * @brief Reads LLVM's text, and judges what its functions do.
 */
#ifndef RP_OPTIMIZE_IR_H
#define RP_OPTIMIZE_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_ir;

/* Functions are judged by LLVM's text before it changes anything: what they call, what they access
 * in other ways than by plain loads and stores, and from where in the source. The text is the
 * compiler's, but it is not trusted. */

/** These are lines and columns in the source file from 1; both ends belong to the range. */
struct rp_ir_range {
    uint32_t first_line, first_column, last_line, last_column;
};

struct rp_ir {
    char *text;
    struct rp_ir_function *functions; /**< by name */
    size_t function_count;
    struct rp_ir_span *metadata; /**< of !0, !1, ...: what stands behind = */
    size_t metadata_count;
    struct rp_ir_span *attributes; /**< of #0, #1, ... */
    size_t attribute_count;
    struct rp_ir_span *constants; /**< names of variables that nobody changes, sorted */
    size_t constant_count;
};

/**
 * Reads what clang printed with -S -emit-llvm -gline-tables-only.
 * @return 0; RP_BAD_INPUT when it is too large
 */
int rp_ir_read(const char *text, size_t bytes, struct rp_ir **ret, struct rp_err *err);
void rp_ir_free(struct rp_ir *ir);

/**
 * Says why a part of a function must not be repeated in another order than it is written. The
 * functions that it calls, and those that they call, are followed. Instructions without a location
 * count for each part.
 * @param symbol of the function, mangled
 * @param body_line of its {; where the text says otherwise, its locations are not those of the
 * file, and all of the function counts
 * @param ret half a sentence to free; NULL: there is nothing
 * @return 0; RP_BAD_INPUT when there is no such function
 */
int rp_ir_obstacle(const struct rp_ir *ir, const char *symbol, uint32_t body_line,
                   const struct rp_ir_range *part, char **ret, struct rp_err *err);

#endif
