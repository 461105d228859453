/* What the files of places share: the sets, and how a tree is asked. */
#ifndef RP_OPTIMIZE_POINTS_TO_H
#define RP_OPTIMIZE_POINTS_TO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "optimize/ast.h"

struct rp_ast_node;
struct rp_err;
struct rp_points_to;

/* Which memory an expression of a kernel means: followed through its pointers, references,
 *        arrays and members.
 *
 * A place is a variable of LDS, what a parameter points to (all of it, however deep), a variable of
 * outside, or a local variable. What a local variable may point to is all that is ever put into it,
 * in whatever order. Parameters are taken to point to different memory.
 */

enum {
    RP_MEMORY_OBJECT_UNKNOWN = 0, /**< whatever cannot be told */
    RP_MEMORY_SET_WORDS = 16,     /**< of a set */
    RP_MEMORY_OBJECTS_MAX = 1024, /**< what more there is, is unknown */
};

struct rp_memory_set {
    uint64_t words[RP_MEMORY_SET_WORDS];
};

/** The name of RP_MEMORY_OBJECT_UNKNOWN. */
extern const char rp_unknown_memory[];

struct rp_points_to {
    struct rp_memory_variable *variables; /* by id, once they are all there */
    size_t variable_count, variable_capacity;
    struct rp_place *places;
    size_t count;
    bool failed, grown;
};

/** @param function  with a body, no template itself */
int rp_points_to_make(const struct rp_ast_node *function, struct rp_points_to **ret,
                      struct rp_err *err);
void rp_points_to_free(struct rp_points_to *places);

size_t rp_points_to_count(const struct rp_points_to *places);
/** Of memory that other work-items see. NULL: a local variable. The same in two texts of a kernel
 *  that declare the same LDS. */
const char *rp_memory_object_name(const struct rp_points_to *places, size_t place);

/** Adds the places of which an lvalue is a part. */
void rp_points_to_of_lvalue(const struct rp_points_to *places, const struct rp_ast_node *node,
                            struct rp_memory_set *set);
/** Adds the places into which a value may point. */
void rp_points_to_of_value(const struct rp_points_to *places, const struct rp_ast_node *node,
                           struct rp_memory_set *set);

/**
 * Whether two operands hold pointers into different memory.
 * @param pointers  they are pointers: those of which nothing is known are apart, too
 */
bool rp_points_to_disjoint(const struct rp_points_to *places, const struct rp_ast_node *a,
                           const struct rp_ast_node *b, bool pointers);
/** Whether a declaration is that of a variable whose place is in a set. */
bool rp_points_to_declared(const struct rp_points_to *places, const struct rp_ast_node *node,
                           const struct rp_memory_set *in);

/** Whether an expression's value is a pointer. */
bool rp_ast_is_pointer(const struct rp_ast_node *node);
/** Without the names given to it; never NULL. */
const char *rp_ast_type(const struct rp_ast_node *node);
/** What is called, below its casts; NULL: the node is no call. */
const struct rp_ast_node *rp_ast_call_target(const struct rp_ast_node *node);

struct rp_memory_variable {
    uint64_t id;
    size_t place;
    bool reference; /* stands for what its place points to */
};

struct rp_place {
    char *name;  /* of memory; NULL: a local variable */
    bool number; /* holds no pointers, if it has a plain type */
    struct rp_memory_set points;
};
/** Whether a declaration is that of a reference. */
bool rp_ast_is_reference(const struct rp_ast_node *node);

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
