/**
 * @file words.h
 * @brief A list of words: arguments of a program, or a command line taken apart.
 */
#ifndef RP_OPTIMIZE_WORDS_H
#define RP_OPTIMIZE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct rp_err;

/** Zero-initialise; release with rp_words_free. */
struct rp_words {
    char **list; /**< NULL-terminated; NULL before the first */
    size_t count;
    bool failed; /**< an addition did not fit in memory */
};

void rp_words_add(struct rp_words *words, const char *text);
void rp_words_addf(struct rp_words *words, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rp_words_free(struct rp_words *words);

#define rp_autowords rp_cleanup(rp_words_free) struct rp_words

/** How much of a shell a text may need. */
enum rp_words_rule {
    RP_WORDS_PLAIN,  /**< what a shell would expand, or take for an operator, is an error */
    RP_WORDS_QUOTES, /**< only quotes and backslashes mean something, as in compile_commands.json */
};

/** As a shell would without expanding anything. @return 0 or RP_USAGE */
int rp_words_split(const char *text, enum rp_words_rule rule, struct rp_words *ret,
                   struct rp_err *err);

#endif
