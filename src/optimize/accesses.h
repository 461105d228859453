/**
 * @file accesses.h
 * @brief What a kernel reads and writes between which of its barriers, fences and atomics.
 *
 * The text is cut behind each barrier, fence, atomic or volatile access, inline assembly and call
 * of a function whose effects are not known, and where a loop or branch with one of these begins
 * and ends.
 */
#ifndef RP_OPTIMIZE_ACCESSES_H
#define RP_OPTIMIZE_ACCESSES_H

#include <stddef.h>

struct rp_ast_node;
struct rp_err;
struct rp_places;
struct rp_shape_text;
struct rp_shape_function;

enum rp_access_kind {
    RP_ACCESS_READ,
    RP_ACCESS_WRITE,
    RP_ACCESS_ATOMIC,
    RP_ACCESS_VOLATILE_READ,
    RP_ACCESS_VOLATILE_WRITE,
};

/** One for all of the same kind to the same memory in an interval. */
struct rp_access {
    size_t interval; /**< from 0 on, in the order of the text */
    enum rp_access_kind kind;
    char *name;    /**< of the memory (replay.h) */
    size_t offset; /**< of the first one in the file; 0: not known */
};

struct rp_accesses {
    struct rp_access *list; /**< by interval */
    size_t count;
    size_t intervals;
};

/** @param bytes  of the file */
int rp_accesses_find(const struct rp_ast_node *function, const struct rp_places *places,
                     size_t bytes, struct rp_accesses *ret, struct rp_err *err);
void rp_accesses_free(struct rp_accesses *accesses);

/**
 * The same accesses in the same intervals. Memory that the original only reads may be read
 * anywhere; of what it writes in an interval, reads in there may be left out.
 * @return 0, or RP_VERDICT with the first difference
 */
int rp_accesses_compare(const struct rp_shape_text *original, const struct rp_accesses *was,
                        const struct rp_shape_text *candidate, const struct rp_accesses *is,
                        struct rp_err *err);

#endif
