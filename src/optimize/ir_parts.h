/**
 * @file ir_parts.h
 * @brief LLVM's text taken apart; for ir.c, which reads it, and ir_effects.c, which judges it.
 */
#ifndef RP_OPTIMIZE_IR_PARTS_H
#define RP_OPTIMIZE_IR_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A part of the text; no terminator. */
struct rp_ir_span {
    const char *at;
    size_t bytes;
};

struct rp_ir_function {
    struct rp_ir_span name; /**< without @ and quotes */
    struct rp_ir_span head; /**< its line of `define` or `declare` */
    struct rp_ir_span body; /**< the lines between braces; at == NULL: it is declared only */
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

/** The next line of a span, which is shortened by it. @return whether there was one */
bool rp_ir_line(struct rp_ir_span *rest, struct rp_ir_span *ret);
bool rp_ir_begins(struct rp_ir_span span, const char *with);
/** Whether a text stands in a span. */
bool rp_ir_has(struct rp_ir_span span, const char *text);
bool rp_ir_is(struct rp_ir_span span, const char *text);

/**
 * The name that begins at a sigil (@ or %), without it and without quotes.
 * @return the bytes of all of it in the text; 0: no name begins there
 */
size_t rp_ir_name(struct rp_ir_span at, struct rp_ir_span *ret);
/** The name, with @ or %, that is called in a line or a head: a ( follows it. *ret_sigil is 0 when
 *  there is none. */
struct rp_ir_span rp_ir_called(struct rp_ir_span line, char *ret_sigil);

/** The number behind the last occurrence of a text, `!dbg !`; -1: it is not there. */
int64_t rp_ir_number(struct rp_ir_span span, const char *behind);
/** The number behind the first occurrence. */
int64_t rp_ir_field(struct rp_ir_span span, const char *behind);

/** NULL: there is none */
const struct rp_ir_function *rp_ir_function(const struct rp_ir *ir, struct rp_ir_span name);
bool rp_ir_is_constant(const struct rp_ir *ir, struct rp_ir_span name);
/** Empty when there is none. */
struct rp_ir_span rp_ir_metadata(const struct rp_ir *ir, int64_t number);
struct rp_ir_span rp_ir_attributes(const struct rp_ir *ir, int64_t number);

#endif
