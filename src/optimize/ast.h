/**
 * @file ast.h
 * @brief Declarations as clang dumps them (-ast-dump=json -ast-dump-filter), as a tree of plain
 *        structs. Anything may be missing in it: the text is the compiler's, but it is not trusted.
 */
#ifndef RP_OPTIMIZE_AST_H
#define RP_OPTIMIZE_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct rp_ast;
struct rp_ast_node;
struct rp_err;

/** Says where something stands. For the result of a macro, that is where the macro is used. */
struct rp_ast_location {
    bool known;
    bool in_file;         /**< in the file that was asked for, not in one that it includes */
    bool macro;           /**< comes out of a macro */
    bool argument;        /**< ... whose argument it is */
    size_t offset, bytes; /**< of the token */
};

/** Texts live as long as the tree; they are NULL when there are none. */
struct rp_ast_node {
    const char *kind; /**< "ForStmt"; NULL: an empty place, as the condition of for (;;) */
    const char *name, *type, *mangled, *opcode, *value, *cast, *storage, *tls;
    const char *desugared; /**< the type without names given to it; NULL: type is that */
    const char *ref_kind, *ref_name, *ref_type; /**< the declaration that is meant */
    uint64_t id, ref_id;                        /**< 0 = none */
    bool implicit, has_else, has_init, has_var, constant, part_of_cast;
    bool lvalue;      /**< an expression that stands for a place in memory, and not for its value */
    const char *file; /**< of begin, when it is known and not the one that was asked for */
    struct rp_ast_location begin, end;
    struct rp_ast_node *children;
    size_t count;
};

/** These are the places of a ForStmt's children. */
enum { RP_FOR_INIT, RP_FOR_VARIABLE, RP_FOR_CONDITION, RP_FOR_STEP, RP_FOR_BODY, RP_FOR_CHILDREN };

/** This is a file that was compiled. */
struct rp_ast_file {
    const char *path; /**< as it stood in the command */
    /** A header may be spelled in several ways. Then the path is absolute and without links, and
     * the names of files are looked up. */
    bool included;
    const char *directory; /**< of relative names; NULL: here */
};

/**
 * Reads what clang printed: one document for each declaration, one behind the other.
 * @param file only locations in it count
 * @param name only declarations of that name are read; others are many (the filter means any name
 * that contains it)
 * @return 0; RP_BAD_INPUT when it is no such text, or larger than what a kernel can be
 */
int rp_ast_read(const char *json, size_t bytes, const struct rp_ast_file *file, const char *name,
                struct rp_ast **ret, struct rp_err *err);
void rp_ast_free(struct rp_ast *ast);

/** Release it with rp_symbol_parts_free. */
struct rp_symbol_parts {
    char *symbol; /**< without .kd and what the compiler adds to names of one file */
    char *name;   /**< without namespaces */
    char *filter; /**< with them, as the compiler writes it */
};

/** Splits a mangled name.
 * @return 0; RP_BAD_INPUT when it is not that of a function in namespaces */
int rp_symbol_parts(const char *symbol, struct rp_symbol_parts *ret, struct rp_err *err);

/** Nodes live as long as the tree. Release it with rp_kernel_found_free. */
struct rp_kernel_found {
    const struct rp_ast_node *function;   /**< the one with the symbol */
    const struct rp_ast_node **functions; /**< all of its text: template, other instances */
    size_t count;
    size_t begin, end, body_begin, body_end; /**< bytes in the file; end: behind } */
};

/**
 * @param text of the file
 * @return 0; RP_BAD_INPUT when it is not there, in another file, or the result of a macro
 */
int rp_kernel_find(const struct rp_ast *ast, const char *symbol, const char *text, size_t bytes,
                   struct rp_kernel_found *ret, struct rp_err *err);
static inline void rp_symbol_parts_free(struct rp_symbol_parts *parts)
{
    free(parts->symbol);
    free(parts->name);
    free(parts->filter);
    *parts = (struct rp_symbol_parts){0};
}
static inline void rp_kernel_found_free(struct rp_kernel_found *found)
{
    free(found->functions);
    *found = (struct rp_kernel_found){0};
}

/** Returns the function that a node calls, or whose address it takes. NULL means none. */
const char *rp_ast_callee(const struct rp_ast_node *node);
/** Returns what is called, below its casts. It is NULL when the node is no call. */
const struct rp_ast_node *rp_ast_call_target(const struct rp_ast_node *node);
/** Says whether it is threadIdx.x or the like. */
bool rp_ast_is_index(const struct rp_ast_node *node);
/** Says whether an expression is one of these, such as blockDim.x. */
bool rp_ast_is_index_of(const struct rp_ast_node *node, const char *name, char axis);
/** Operators and copies of HIP's vectors (float4) are as good as built in. */
bool rp_ast_is_vector_call(const struct rp_ast_node *node);
/** Returns the type without the names given to it; it is never NULL. */
const char *rp_ast_type(const struct rp_ast_node *node);
/** Says whether an expression's value is a pointer. */
bool rp_ast_is_pointer(const struct rp_ast_node *node);
/** Says whether a declaration is that of a reference. */
bool rp_ast_is_reference(const struct rp_ast_node *node);

/** Removes parentheses and casts that do not change the value. */
const struct rp_ast_node *rp_ast_bare(const struct rp_ast_node *node);
/** Returns the variable that an expression is, without more. 0 means none. */
uint64_t rp_ast_variable(const struct rp_ast_node *node);
/** Finds the declaration of a variable below a node, or returns NULL. */
const struct rp_ast_node *rp_ast_declaration(const struct rp_ast_node *node, uint64_t id);
/** Says whether a variable stands at or below a node. */
bool rp_ast_names(const struct rp_ast_node *node, uint64_t variable);
/** Says whether something below a node changes a variable, or lets others do it. */
bool rp_ast_changes(const struct rp_ast_node *node, uint64_t variable);

static inline const struct rp_ast_node *rp_ast_child(const struct rp_ast_node *node, size_t at)
{
    static const struct rp_ast_node none = {0};

    return at < node->count ? &node->children[at] : &none;
}

/** Says whether a text, which may be NULL, is this one. */
static inline bool rp_is_text(const char *text, const char *is)
{
    return text && __builtin_strcmp(text, is) == 0;
}

static inline bool rp_ast_is(const struct rp_ast_node *node, const char *kind)
{
    return rp_is_text(node->kind, kind);
}

#endif
