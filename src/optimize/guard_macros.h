/**
 * @file guard_macros.h
 * @brief The file's macros that hold a word of guard_words.def: their number in a body is compared
 *        as that of the words is.
 */
#ifndef RP_OPTIMIZE_GUARD_MACROS_H
#define RP_OPTIMIZE_GUARD_MACROS_H

#include <stddef.h>

struct rp_guard_macro {
    char *name;
    const char *text; /**< in the file: what stands behind the name, up to the end of its lines */
    size_t bytes;
    const char *word; /**< that it holds, itself or through another macro; NULL: none */
};

struct rp_guard_macros {
    struct rp_guard_macro *list; /**< also those that hold none */
    size_t count;
};

/** Reads the lines that define macros, wherever they stand: also those that do not count.
 *  @return 0; -1: out of memory */
int rp_guard_macros_find(const char *text, size_t bytes, struct rp_guard_macros *ret);
void rp_guard_macros_free(struct rp_guard_macros *macros);

#endif
