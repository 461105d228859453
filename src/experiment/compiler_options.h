/**
 * @file compiler_options.h
 * @brief A list of words: arguments of a program, or a command line taken apart.
 */
#ifndef RP_EXPERIMENT_COMPILER_OPTIONS_H
#define RP_EXPERIMENT_COMPILER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct rp_err;
struct rp_words;

/** Zero-initialise; release with rp_words_free. */
struct rp_words {
    char **list; /**< NULL-terminated; NULL before the first */
    size_t count;
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

/* What the words of a compiler's command line mean (hip_compiler_options.def). */

enum rp_option_match { RP_OPTION_EXACT, RP_OPTION_PREFIX };

struct rp_compile_option {
    const char *text; /**< "" for all that is not in the list */
    enum rp_option_match match;
    bool value, side_output, link, device;
};

/** Never NULL. */
const struct rp_compile_option *rp_compile_option_of(const char *word);

/** How many words name the compiler: 1, 2 for `rocm-perf hipcc`; 0: it is none that we know. */
size_t rp_compiler_words(const struct rp_words *words);

/** Takes a cache away that stands in front of the compiler: it would only keep candidates. */
void rp_words_drop_compiler_cache(struct rp_words *words);

/** Whether a word is a file rather than an option. */
bool rp_word_is_input(const char *word);

/** -c and its like. */
bool rp_words_stop_before_link(const struct rp_words *words);

bool rp_words_have(const struct rp_words *words, const char *word);

/**
 * The file that a word means, absolute and without links as far as it is there. Free it.
 * @param directory  of relative ones; NULL: here
 */
char *rp_word_absolute_path(const char *directory, const char *word);

/** What stands behind the last slash. */
const char *rp_base_name(const char *path);

#endif
