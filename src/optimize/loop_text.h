/**
 * @file loop_text.h
 * @brief A for loop as its text has it, by tokens, and what it does, by the compiler's tree: what
 *        proposers need to write it anew.
 */
#ifndef RP_OPTIMIZE_LOOP_TEXT_H
#define RP_OPTIMIZE_LOOP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "optimize/source_text.h"

struct rp_ast_node;
struct rp_buf;
struct rp_kernel_source;
struct rp_source_change;
struct rp_source_loop;

/** for (init; counter < bound; step) body, where init ends with counter = value.
 * Release it with rp_loop_text_free. */
struct rp_loop_text {
    const char *text; /**< of the kernel */
    struct rp_tokens tokens;
    struct rp_span init, value, bound, step, body;
    size_t begin, end, counter; /**< tokens: the first, behind the last, a counter's */
    bool step_is_one;           /**< else step is the size */
};

/** @return false: its head is another one, or lines of the preprocessor that are no unroll pragmas
 * stand in it */
bool rp_loop_text_read(const struct rp_kernel_source *source, const struct rp_source_loop *of,
                       struct rp_loop_text *ret);
static inline void rp_loop_text_free(struct rp_loop_text *loop)
{
    rp_tokens_free(&loop->tokens);
}

static inline bool rp_loop_is(const struct rp_loop_text *loop, size_t at, const char *word)
{
    return at < loop->tokens.count && rp_token_is(loop->text, &loop->tokens.list[at], word);
}

/** Finds a word outside of brackets. @return the end: there is none */
size_t rp_loop_find(const struct rp_loop_text *loop, struct rp_span in, const char *word);
/** Says whether a token is the loop's counter, and no member of that name. */
bool rp_loop_is_counter(const struct rp_loop_text *loop, size_t at);
/** Says whether a name stands anywhere in the kernel. */
bool rp_loop_has_word(const struct rp_loop_text *loop, const char *name);

/** Adds tokens as they stand, but the counter some steps further. */
void rp_loop_add_part(const struct rp_loop_text *loop, struct rp_span part, unsigned steps,
                      struct rp_buf *out);
/** Adds tokens as an operand: one needs no parentheses. */
void rp_loop_add_operand(const struct rp_loop_text *loop, struct rp_span part, struct rp_buf *out);
/** Adds the size of some steps of the counter, as an operand of a sum. */
void rp_loop_add_steps(const struct rp_loop_text *loop, unsigned count, struct rp_buf *out);
/** Adds the condition under which the loop begins: its bound beside the counter's first value. */
void rp_loop_add_begins(const struct rp_loop_text *loop, struct rp_buf *out);

/** Copies the blanks at the beginning of a place's line. */
char *rp_indent_of(const char *text, size_t at);

/** What a part of a kernel does besides computing values. Release it with rp_effects_free. */
struct rp_effects {
    const struct rp_ast_node **writes; /**< places in memory that are assigned, registers apart */
    size_t write_count, write_capacity;
    bool jumps; /**< leaves an order in which each statement follows the one before */
    bool calls; /**< functions that could read or write memory, assembly, atomics */
    size_t barriers;
};

/** @param function with the declarations of the variables */
void rp_effects_find(const struct rp_ast_node *part, const struct rp_ast_node *function,
                     struct rp_effects *ret);
void rp_effects_free(struct rp_effects *effects);

/** Says whether an expression has the same value in each round of a loop, without any reading of
 * memory or call. */
bool rp_is_fixed(const struct rp_ast_node *node, const struct rp_ast_node *loop,
                 const struct rp_ast_node *function);

/** Returns the name of the pointer or array that a place belongs to, p of p[i], *p and of an
 * array's p[i][j], or NULL. */
const struct rp_ast_node *rp_place_variable(const struct rp_ast_node *place);
/** Returns what a place is, or is a part of, without its brackets: v of v, v.x and v[1] that no
 * pointer leads to. */
const struct rp_ast_node *rp_place_root(const struct rp_ast_node *place);
/** Says whether a variable is an array in LDS. */
bool rp_is_lds(const struct rp_ast_node *function, uint64_t variable);

/** Finds the source's loop of a node, if it counts and its pragmas can be replaced. */
const struct rp_source_loop *rp_loop_of(const struct rp_kernel_source *source,
                                        const struct rp_ast_node *node);

/** Adds a change to those of a kernel, and takes both of its texts. */
void rp_source_change_add(struct rp_kernel_source *source, struct rp_source_change change);

/** Says whether a node stands in the kernel's text as it is, and in no macro. */
bool rp_is_written_out(const struct rp_kernel_source *source, const struct rp_ast_node *node);
/** Finds the end of a node's text. */
size_t rp_end_of(const struct rp_ast_node *node);
/** Says whether it is an assignment, of an operator or not, or a step such as i++. */
bool rp_is_assignment(const struct rp_ast_node *node);
/** Returns the type of the elements of an array or behind a pointer, as the declaration spells it,
 * without const and the like. Free it.
 * @return NULL: it does not stand there in plain words */
char *rp_element_type(const struct rp_loop_text *loop, const struct rp_kernel_source *source,
                      const struct rp_ast_node *declaration);
/** Returns the bytes of a number's type, and 0 for other types. */
unsigned rp_number_bytes(const char *type);
/** Adds lines some columns further in, if none of them is within a string. */
void rp_add_indented(const char *text, size_t bytes, unsigned columns, struct rp_buf *out);

#endif
