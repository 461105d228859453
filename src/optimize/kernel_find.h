/**
 * @file kernel_find.h
 * @brief The definition of a kernel among the declarations of its name.
 */
#ifndef RP_OPTIMIZE_KERNEL_FIND_H
#define RP_OPTIMIZE_KERNEL_FIND_H

#include <stddef.h>

struct rp_ast;
struct rp_ast_node;
struct rp_err;

/** Release with rp_symbol_parts_free. */
struct rp_symbol_parts {
    char *symbol; /**< without .kd and what the compiler adds to names of one file */
    char *name;   /**< without namespaces */
    char *filter; /**< with them, as the compiler writes it */
};

/** Takes a mangled name apart. @return 0; RP_BAD_INPUT when it is no function's of namespaces */
int rp_symbol_parts(const char *symbol, struct rp_symbol_parts *ret, struct rp_err *err);
void rp_symbol_parts_free(struct rp_symbol_parts *parts);

/** Nodes live as long as the tree. Release with rp_kernel_found_free. */
struct rp_kernel_found {
    const struct rp_ast_node *function;   /**< the one with the symbol */
    const struct rp_ast_node **functions; /**< all of its text: template, other instances */
    size_t count;
    size_t begin, end, body_begin, body_end; /**< bytes in the file; end: behind } */
};

/**
 * @param text  of the file
 * @return 0; RP_BAD_INPUT when it is not there, in another file, or comes out of a macro
 */
int rp_kernel_find(const struct rp_ast *ast, const char *symbol, const char *text, size_t bytes,
                   struct rp_kernel_found *ret, struct rp_err *err);
void rp_kernel_found_free(struct rp_kernel_found *found);

#endif
