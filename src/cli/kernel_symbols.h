/**
 * @file kernel_symbols.h
 * @brief Kernels that a run has launched, by their symbols.
 */
#ifndef RP_CLI_KERNEL_SYMBOLS_H
#define RP_CLI_KERNEL_SYMBOLS_H

#include "cli/profile_session.h"

/**
 * Of the base run's kernels those whose name the expression finds.
 * @param regex  NULL: those that are called @p name
 * @param ret    NULL-terminated; of the stores; free the array alone
 * @return 0; RP_USAGE (the expression), RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_kernel_symbols(const struct rp_profile_session *session, const char *regex, const char *name,
                      const char ***ret, struct rp_err *err);

#endif
