/**
 * @file kernel_pattern.h
 * @brief Which names a --kernel-include-regex finds, where this program has to know.
 */
#ifndef RP_RUN_KERNEL_PATTERN_H
#define RP_RUN_KERNEL_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_err;

/**
 * An ECMAScript regular expression that rp_kernel_regex_check accepts, in the C library's dialect;
 * for regexec without places of a match, and regfree. It finds a name exactly when
 * std::regex_search does.
 * @param option  that gave it, for messages
 * @return 0; RP_USAGE for what that dialect cannot say: looking ahead, control characters;
 *         for what takes no bounded time and memory: large repetitions, back-references
 */
int rp_kernel_regex_compile(const char *option, const char *text, regex_t *ret, struct rp_err *err);

/**
 * What a --kernel says: a regular expression that is found in the demangled name, or the whole name
 * or symbol as it stands in a table, whatever its characters mean in an expression. The names of
 * descriptors that other tools print ("NAME.kd", "NAME [clone .kd]", "NAME (.kd)") are those of
 * their kernels.
 */
struct rp_kernel_pattern {
    char *text;       /**< without what names the descriptor */
    char *translated; /**< in the dialect of the C library */
    regex_t regex;
    bool compiled;         /**< regex is one */
    bool whole;            /**< it is searched for at the beginning only: names of any length */
    size_t searched_bytes; /**< by this regex */
};

/** @return as rp_kernel_regex_compile, RP_ENVIRONMENT */
int rp_kernel_pattern_compile(const char *option, const char *text, struct rp_kernel_pattern *ret,
                              struct rp_err *err);
/** To be asked before anything runs. @return as rp_kernel_pattern_compile */
int rp_kernel_pattern_check(const char *option, const char *text, struct rp_err *err);
/** @param name  demangled; @param symbol  mangled, with .kd or without; NULL: not known */
bool rp_kernel_pattern_finds(struct rp_kernel_pattern *pattern, const char *name,
                             const char *symbol);
/** Accepts a zeroed one. */
void rp_kernel_pattern_free(struct rp_kernel_pattern *pattern);

/* Which kernels and launches rocprofv3 is to trace: what it would refuse in the middle of a
 *        run, or take for none at all, is refused before.
 */

/**
 * An ECMAScript regular expression, as std::regex of libstdc++ reads it. Only what it surely
 * refuses is refused: groups and classes that are not closed, a repeat of nothing, and the like.
 * @param option  that gave it, for messages
 * @return 0 or RP_USAGE
 */
int rp_kernel_regex_check(const char *option, const char *text, struct rp_err *err);

/** "[2-3],[7]": numbers and ranges with their smaller end first. @return 0 or RP_USAGE */
int rp_kernel_ranges_check(const char *text, struct rp_err *err);

#endif
