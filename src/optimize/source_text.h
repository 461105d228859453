/**
 * @file source_text.h
 * @brief Reads C++ text as tokens, so that two texts can be compared without their comments and
 * blanks.
 */
#ifndef RP_OPTIMIZE_SOURCE_TEXT_H
#define RP_OPTIMIZE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct rp_buf;
struct rp_err;
struct rp_kernel_source;

enum rp_token_kind {
    RP_TOKEN_IDENTIFIER,
    RP_TOKEN_NUMBER,
    RP_TOKEN_STRING, /**< with its prefix; raw ones, too */
    RP_TOKEN_CHARACTER,
    RP_TOKEN_PUNCTUATOR,
    RP_TOKEN_DIRECTIVE, /**< a line of the preprocessor, without its line break */
    RP_TOKEN_OTHER,     /**< a byte that begins none of these */
};

struct rp_token {
    enum rp_token_kind kind;
    size_t begin, end; /**< bytes in the text */
    uint32_t line;     /**< 1 = first */
};

/** Initialise it with zeros, and release it with rp_tokens_free. */
struct rp_tokens {
    struct rp_token *list;
    size_t count;
};

/** Indices of tokens; the end is behind. */
struct rp_span {
    size_t begin, end;
};

/** @return 0, or RP_VERDICT when a comment, a string or a character is not closed */
int rp_tokens_read(const char *text, size_t bytes, struct rp_tokens *ret, struct rp_err *err);

/** Says whether two tokens are the same. Blanks and comments in directives do not count. */
bool rp_token_same(const char *text_a, const struct rp_token *a, const char *text_b,
                   const struct rp_token *b);

/** Says what an unroll pragma asks for. */
struct rp_unroll_pragma {
    bool disables;    /**< nounroll, unroll(disable) */
    bool count_known; /**< a number stands in it */
    uint32_t count;
    bool other_count; /**< something other than a number stands in it */
};

/**
 * Finds out whether an unroll pragma begins at a token: `#pragma unroll`, `#pragma nounroll`,
 * `#pragma clang loop unroll...`, or _Pragma of one.
 * @return how many tokens it has; 0: none begins there; ret may be NULL
 */
size_t rp_tokens_unroll(const char *text, const struct rp_tokens *tokens, size_t at,
                        struct rp_unroll_pragma *ret);

/**
 * Finds the next line of the preprocessor that is no unroll pragma, from a token on. A _Pragma
 * counts as a line.
 * @return its token; tokens->count: there is none
 */
size_t rp_tokens_next_line(const char *text, const struct rp_tokens *tokens, size_t at);

/**
 * Checks that a text has nothing that makes it look different: bytes that are not UTF-8, control
 * characters, characters that change the direction of writing, trigraphs, joined lines, digraphs.
 * @return 0, or RP_VERDICT naming the line
 */
int rp_text_check_plain(const char *text, size_t bytes, struct rp_err *err);

/* Texts that are not UTF-8, or that are not for terminals, made so. */

/**
 * Adds the text. Bytes that are not UTF-8, control characters but tab and line feed, and characters
 * that are not seen or change the direction of writing become U+FFFD. A carriage return before a
 * line feed is left out.
 */
void rp_buf_add_model_text(struct rp_buf *out, const char *text, size_t bytes);

/* Finds what a kernel's text refers to in its source file: constants, types, device functions. */

/** Bytes of the file. */
struct rp_text_range {
    size_t begin, end;
};

/**
 * Finds declarations by names alone, as a reader would look them up, so sometimes more than needed:
 * the includes, and every declaration outside functions whose name stands in the kernel or in a
 * declaration that was found. Other kernels are left out. The ranges are in the order of the file.
 * @param ret free it; empty when the file cannot be read as tokens
 */
void rp_declarations_of(const struct rp_kernel_source *source, struct rp_text_range **ret,
                        size_t *ret_count);

static inline void rp_tokens_free(struct rp_tokens *tokens)
{
    free(tokens->list);
    *tokens = (struct rp_tokens){0};
}

/** Says whether a token is this text. */
static inline bool rp_token_is(const char *text, const struct rp_token *token, const char *is)
{
    return strlen(is) == token->end - token->begin &&
           memcmp(text + token->begin, is, strlen(is)) == 0;
}

#endif
