/**
 * @file demangle.h
 * @brief Kernel symbol -> name for people.
 *
 * LLVM's demangler gives the names, as it does inside of ROCm: that of a C++ runtime may be years
 * older than the compiler, and does not know _Float16, or names of thousands of characters. It is a
 * program of ROCm (llvm-cxxfilt) that runs beside this one: ROCm's libraries are for another libc.
 */
#ifndef RP_RUN_DEMANGLE_H
#define RP_RUN_DEMANGLE_H

#include <stdint.h>
#include <sys/types.h>

struct rp_environment;

/** A zeroed one knows no demangler. Used by one thread at a time. */
struct rp_demangler {
    char *program;       /**< NULL: there is none */
    pid_t child;         /**< 0: not started */
    int fd;              /**< its input and output */
    int64_t patience_ms; /**< for one name */
    unsigned failures;   /**< after a few of them it is not asked again */
};

/** Finds llvm-cxxfilt of ROCm, else of $PATH; it starts with the first name that needs it. */
void rp_demangler_open(const struct rp_environment *env, struct rp_demangler *ret);

/** Starts it now: what is started while a program runs would be taken for the program's. */
void rp_demangler_start(struct rp_demangler *demangler);

/** Accepts a zeroed one. */
void rp_demangler_close(struct rp_demangler *demangler);

/**
 * Drops ".kd" and demangles C++ names: "_Z3addPf.kd" -> "add(float*)". Without a demangler, and for
 * names that it does not know or takes too long for, the mangled name comes back: rather that than
 * a wrong one.
 * @param demangler  NULL: none
 * @return owned by the caller (free); NULL when out of memory
 */
char *rp_demangle_kernel(struct rp_demangler *demangler, const char *symbol);

#endif
