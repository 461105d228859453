/**
 * @file kernel_match.h
 * @brief Which names a --kernel-include-regex finds, where this program has to know.
 */
#ifndef RP_COLLECT_KERNEL_MATCH_H
#define RP_COLLECT_KERNEL_MATCH_H

#include <regex.h>

struct rp_err;

/**
 * An ECMAScript regular expression that rp_kernel_regex_check accepts, in the C library's dialect;
 * for regexec, and regfree. It finds a name exactly when std::regex_search does.
 * @param option  that gave it, for messages
 * @return 0; RP_USAGE for what that dialect cannot say: looking ahead, control characters
 */
int rp_kernel_regex_compile(const char *option, const char *text, regex_t *ret, struct rp_err *err);

#endif
