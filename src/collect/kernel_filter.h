/**
 * @file kernel_filter.h
 * @brief Which kernels and launches rocprofv3 is to trace: what it would refuse in the middle of a
 *        run, or take for none at all, is refused before.
 */
#ifndef RP_COLLECT_KERNEL_FILTER_H
#define RP_COLLECT_KERNEL_FILTER_H

struct rp_err;

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
