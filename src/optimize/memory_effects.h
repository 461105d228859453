/**
 * @file memory_effects.h
 * @brief Finds what a function may read and write: which memory its pointers may reach, which
 * places it accesses, and in which order it calculates.
 */
#ifndef RP_OPTIMIZE_MEMORY_EFFECTS_H
#define RP_OPTIMIZE_MEMORY_EFFECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "optimize/ast.h"

struct rp_ast_node;
struct rp_err;
struct rp_kernel_shape;
struct rp_points_to;
struct rp_shape_text;

struct rp_points_to {
    struct rp_memory_variable *variables; /**< by id, once they are all there */
    size_t variable_count, variable_capacity;
    struct rp_place *places;
    size_t count;
    bool grown;
};

enum {
    RP_MEMORY_OBJECT_UNKNOWN = 0, /**< whatever cannot be told */
    RP_MEMORY_SET_WORDS = 16,     /**< of a set */
    RP_MEMORY_OBJECTS_MAX = 1024, /**< what more there is, is unknown */
};

struct rp_memory_set {
    uint64_t words[RP_MEMORY_SET_WORDS];
};

/** This is the name of RP_MEMORY_OBJECT_UNKNOWN. */
extern const char rp_unknown_memory[];

/** @param function with a body, not a template itself */
struct rp_points_to *rp_points_to_make(const struct rp_ast_node *function);
void rp_points_to_free(struct rp_points_to *places);

/** Returns the name of memory that other work-items see, or NULL for a local variable. It is the
 * same in two texts of a kernel that declare the same LDS. */
const char *rp_memory_object_name(const struct rp_points_to *places, size_t place);

/** Adds the places of which an lvalue is a part. */
void rp_points_to_of_lvalue(const struct rp_points_to *places, const struct rp_ast_node *node,
                            struct rp_memory_set *set);
/** Adds the places into which a value may point. */
void rp_points_to_of_value(const struct rp_points_to *places, const struct rp_ast_node *node,
                           struct rp_memory_set *set);

/**
 * Says whether two operands hold pointers into different memory.
 * @param pointers they are pointers: unknown ones are different, too
 */
bool rp_points_to_disjoint(const struct rp_points_to *places, const struct rp_ast_node *a,
                           const struct rp_ast_node *b, bool pointers);

/** Says whether an expression's value is a pointer. */
bool rp_ast_is_pointer(const struct rp_ast_node *node);
/** Returns the type without the names given to it; it is never NULL. */
const char *rp_ast_type(const struct rp_ast_node *node);
/** Returns what is called, below its casts. It is NULL when the node is no call. */
const struct rp_ast_node *rp_ast_call_target(const struct rp_ast_node *node);

struct rp_memory_variable {
    uint64_t id;
    size_t place;
    bool reference; /**< stands for what its place points to */
};

struct rp_place {
    char *name;  /**< of memory; NULL: a local variable */
    bool number; /**< holds no pointers, if it has a plain type */
    struct rp_memory_set points;
};
/** Says whether a declaration is that of a reference. */
bool rp_ast_is_reference(const struct rp_ast_node *node);

/* This section finds what a kernel reads and writes between which of its barriers, fences and
 * atomics. The text is cut behind each barrier, fence, atomic or volatile access, inline assembly
 * and call of a function whose effects are not known, and where a loop or branch with one of these
 * begins and ends. */

/** Holds a shape and the text whose lines are named; they are counted from the kernel's beginning.
 */
struct rp_shape_text {
    const struct rp_kernel_shape *shape;
    const char *text; /**< of the file */
    size_t begin;     /**< of the kernel */
    unsigned line;    /**< as which it counts */
};

enum rp_access_kind {
    RP_ACCESS_READ,
    RP_ACCESS_WRITE,
    RP_ACCESS_ATOMIC,
    RP_ACCESS_VOLATILE_READ,
    RP_ACCESS_VOLATILE_WRITE,
};

/** This stands for all accesses of the same kind to the same memory in an interval. */
struct rp_access {
    size_t interval; /**< from 0 on, in the order of the text */
    enum rp_access_kind kind;
    char *name;    /**< of the memory */
    size_t offset; /**< of the first one in the file; 0: not known */
};

struct rp_accesses {
    struct rp_access *list; /**< by interval */
    size_t count;
    size_t intervals;
};

/** @param bytes  of the file */
void rp_accesses_find(const struct rp_ast_node *function, const struct rp_points_to *places,
                      size_t bytes, struct rp_accesses *ret);
void rp_accesses_free(struct rp_accesses *accesses);

/* How wide a kernel computes the values that reach memory.
 *
 * A value reaches memory when it is stored there or given to a function whose effects are not
 * known, and when one that does is computed from it. Indices, and what conditions compare, do not.
 */

enum rp_number { RP_NUMBER_INTEGER, RP_NUMBER_FLOATING, RP_NUMBERS };
enum rp_operation {
    RP_OPERATION_ADD, /**< and subtract */
    RP_OPERATION_MULTIPLY,
    RP_OPERATION_DIVIDE,
    RP_OPERATION_CONVERT, /**< to that width, from a larger one */
    RP_OPERATIONS
};
enum { RP_WIDTHS = 4 }; /**< 8, 16, 32 and 64 bits */

struct rp_arithmetic {
    struct {
        bool is;       /**< there is one */
        size_t offset; /**< of the first in the file; 0: not known */
    } kinds[RP_NUMBERS][RP_OPERATIONS][RP_WIDTHS];
};

/** @param bytes  of the file */
void rp_arithmetic_find(const struct rp_ast_node *function, const struct rp_points_to *places,
                        size_t bytes, struct rp_arithmetic *ret);

/** @return 0, or RP_VERDICT when something that the original computes is computed with fewer bits
 */
int rp_arithmetic_compare(const struct rp_arithmetic *was, const struct rp_shape_text *candidate,
                          const struct rp_arithmetic *is, struct rp_err *err);

/** Returns the line of a place, or the kernel's first line when the place is not known. */
unsigned rp_shape_line(const struct rp_shape_text *in, size_t offset);

static inline bool rp_memory_set_has(const struct rp_memory_set *set, size_t place)
{
    return set->words[place / 64] >> (place % 64) & 1;
}

static inline const struct rp_ast_node *rp_ast_child(const struct rp_ast_node *node, size_t at)
{
    static const struct rp_ast_node none = {0};

    return at < node->count ? &node->children[at] : &none;
}

#endif
