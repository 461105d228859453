/**
 * @file apart.h
 * @brief Outputs that are not to take the place of what is read.
 */
#ifndef RP_LIBRARY_APART_H
#define RP_LIBRARY_APART_H

#include <stddef.h>

struct rp_err;

/**
 * Refuses an output that is one of the inputs, or of the files that are read in a folder among
 * them. Others in such a folder (the page of the last time) may be written again.
 * @param option  that names the output, "-o"
 * @param output  NULL and "-": there is none
 * @return 0; RP_USAGE
 */
int rp_keep_apart(const char *option, const char *output, char *const *inputs, size_t count,
                  struct rp_err *err);

#endif
