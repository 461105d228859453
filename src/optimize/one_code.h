/**
 * @file one_code.h
 * @brief Is a name one kernel? Functions that are static, or in a namespace without a name, may
 * have the same name in several files; traces, captures and comparisons go by names.
 */
#ifndef RP_OPTIMIZE_ONE_CODE_H
#define RP_OPTIMIZE_ONE_CODE_H

#include <stdbool.h>

struct rp_err;

/** Is a name, as code objects have it ("_Z4workPf.kd"), that symbol's? */
bool rp_symbol_is(const char *name, const char *symbol);

/**
 * @param profile  folder of one, of whose databases all dispatches are looked at
 * @return 0; RP_VERDICT when dispatches of that name are of two code objects; RP_ENVIRONMENT,
 *         RP_BAD_INPUT
 */
int rp_one_code_check(const char *profile, const char *symbol, struct rp_err *err);

#endif
