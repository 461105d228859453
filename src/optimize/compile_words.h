/**
 * @file compile_words.h
 * @brief What the words of a compiler's command line mean (compile_options.def).
 */
#ifndef RP_OPTIMIZE_COMPILE_WORDS_H
#define RP_OPTIMIZE_COMPILE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct rp_words;

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

/** Whether a program is a compiler of the host's, which may link what a HIP compiler has compiled.
 */
bool rp_is_host_compiler(const char *program);

/** Takes a cache away that stands in front of the compiler: it would only keep candidates. */
void rp_words_drop_launcher(struct rp_words *words);

/** Whether a word is a file rather than an option. */
bool rp_word_is_input(const char *word);

/** -c and its like. */
bool rp_words_stop_before_link(const struct rp_words *words);

bool rp_words_have(const struct rp_words *words, const char *word);

/**
 * The file that a word means, absolute and without links as far as it is there. Free it.
 * @param directory  of relative ones; NULL: here
 */
char *rp_word_file(const char *directory, const char *word);

/** What stands behind the last slash. */
const char *rp_base_name(const char *path);

#endif
