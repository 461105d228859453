/**
 * @file kernel_names.h
 * @brief Names of kernels: a symbol's name for people, and which names an expression finds.
 */
#ifndef RP_RUN_KERNEL_NAMES_H
#define RP_RUN_KERNEL_NAMES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rp_err;
struct rp_environment;

/**
 * LLVM's demangler makes the names, as it does inside of ROCm: that of a C++ runtime may be years
 * older than the compiler, and does not know _Float16, or names of thousands of characters. It is a
 * program of ROCm (llvm-cxxfilt) that runs beside this one, because ROCm's libraries are for
 * another libc. A zeroed struct knows no demangler. Only one thread may use it at a time.
 */
struct rp_demangler {
    char *program;       /**< NULL: there is none */
    pid_t child;         /**< 0: not started */
    int fd;              /**< its input and output */
    int64_t patience_ms; /**< for one name */
    unsigned failures;   /**< after a few of them it is not asked again */
};

/** Finds llvm-cxxfilt of ROCm, or that of $PATH. It starts with the first name that needs it. */
void rp_demangler_open(const struct rp_environment *env, struct rp_demangler *ret);

/** Starts the demangler now, because one that is started while a program runs would be taken for
 * the program's. */
void rp_demangler_start(struct rp_demangler *demangler);

/** Accepts a zeroed one. */
void rp_demangler_close(struct rp_demangler *demangler);

/**
 * Drops ".kd" and demangles C++ names: "_Z3addPf.kd" -> "add(float*)". Without a demangler, and for
 * names that it does not know or takes too long for, the mangled name is returned, which is better
 * than a wrong one.
 * @param demangler NULL: none
 * @return owned by the caller (free)
 */
char *rp_demangle_kernel(struct rp_demangler *demangler, const char *symbol);

/**
 * Compiles an ECMAScript regular expression that rp_kernel_regex_check accepts, in the C library's
 * dialect. It is for regexec without places of a match, and regfree. It finds a name exactly when
 * std::regex_search does.
 * @param option that gave it, for messages
 * @return 0; RP_USAGE for what that dialect cannot say (looking ahead, control characters), and for
 * what takes unbounded time and memory (large repetitions, back-references)
 */
int rp_kernel_regex_compile(const char *option, const char *text, regex_t *ret, struct rp_err *err);

/**
 * --kernel is a regular expression that is found in the demangled name, or the whole name or symbol
 * as it stands in a table, whatever its characters mean in an expression. The names of descriptors
 * that other tools print ("NAME.kd", "NAME [clone .kd]", "NAME (.kd)") are those of their kernels.
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
/** Call it before anything runs.
 * @return as rp_kernel_pattern_compile */
int rp_kernel_pattern_check(const char *option, const char *text, struct rp_err *err);
/** @param name demangled
 * @param symbol mangled, with .kd or without; NULL: not known */
bool rp_kernel_pattern_finds(struct rp_kernel_pattern *pattern, const char *name,
                             const char *symbol);
/** The same, and whether it finds "NAME [code 1a2b3c4d]", as kernels of one name are told apart.
 * @param code first half of the hash of its code; 0: unknown */
bool rp_kernel_pattern_finds_code(struct rp_kernel_pattern *pattern, const char *name,
                                  const char *symbol, uint32_t code);
/** Accepts a zeroed one. */
void rp_kernel_pattern_free(struct rp_kernel_pattern *pattern);

/* This section checks which kernels and launches rocprofv3 is to trace. It refuses beforehand what
 * rocprofv3 would refuse in the middle of a run, or take for no kernel at all. */

/**
 * Checks an ECMAScript regular expression, as std::regex of libstdc++ reads it. Only certain faults
 * are refused: groups and classes that are not closed, a repeat of nothing, and the like.
 * @param option that gave it, for messages
 * @return 0 or RP_USAGE
 */
int rp_kernel_regex_check(const char *option, const char *text, struct rp_err *err);

/** Checks "[2-3],[7]": numbers and ranges with their smaller end first.
 * @return 0 or RP_USAGE */
int rp_kernel_ranges_check(const char *text, struct rp_err *err);

#endif
