/**
 * @file code_functions.h
 * @brief Which kernels of a code object do something else in another build: a change of one kernel
 *        may be one of others (a template's other instances).
 *
 * The code of a kernel is its descriptor, its instructions, and all that these refer to: functions
 * that are called, tables, variables. Addresses are taken for what is there, so that kernels that
 * only lie elsewhere are the same.
 */
#ifndef RP_OPTIMIZE_CODE_FUNCTIONS_H
#define RP_OPTIMIZE_CODE_FUNCTIONS_H

#include "optimize/code_object.h"

/**
 * @param symbol  of the kernel that is meant to change, mangled, without .kd
 * @param ret     mangled names of others that have changed, or are gone, in their order; ends with
 *                NULL; free with rp_code_names_free
 * @return 0; RP_BAD_INPUT: symbols or sections of a code object cannot be read
 */
int rp_code_changed_kernels(const struct rp_code_object *before, const struct rp_code_object *after,
                            const char *symbol, char ***ret, struct rp_err *err);
void rp_code_names_free(char **names);

#endif
