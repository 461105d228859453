/**
 * @file replay.h
 * @brief Which memory an expression of a kernel means: followed through its pointers, references,
 *        arrays and members.
 *
 * A place is a variable of LDS, what a parameter points to (all of it, however deep), a variable of
 * outside, or a local variable. What a local variable may point to is all that is ever put into it,
 * in whatever order. Parameters are taken to point to different memory.
 */
#ifndef RP_OPTIMIZE_PLACES_H
#define RP_OPTIMIZE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_ast_node;
struct rp_err;

enum {
    RP_PLACE_UNKNOWN = 0,  /**< whatever cannot be told */
    RP_PLACE_WORDS = 16,   /**< of a set */
    RP_PLACES_MOST = 1024, /**< what more there is, is unknown */
};

struct rp_place_set {
    uint64_t words[RP_PLACE_WORDS];
};

static inline bool rp_place_in(const struct rp_place_set *set, size_t place)
{
    return set->words[place / 64] >> (place % 64) & 1;
}

/** The name of RP_PLACE_UNKNOWN. */
extern const char rp_places_unknown[];

/** Release with rp_places_free. It points into the tree. */
struct rp_places;

/** @param function  with a body, no template itself */
int rp_places_make(const struct rp_ast_node *function, struct rp_places **ret, struct rp_err *err);
void rp_places_free(struct rp_places *places);

size_t rp_places_count(const struct rp_places *places);
/** Of memory that other work-items see. NULL: a local variable. The same in two texts of a kernel
 *  that declare the same LDS. */
const char *rp_place_name(const struct rp_places *places, size_t place);

/** Adds the places of which an lvalue is a part. */
void rp_places_of_lvalue(const struct rp_places *places, const struct rp_ast_node *node,
                         struct rp_place_set *set);
/** Adds the places into which a value may point. */
void rp_places_of_value(const struct rp_places *places, const struct rp_ast_node *node,
                        struct rp_place_set *set);

/**
 * Whether two operands hold pointers into different memory.
 * @param pointers  they are pointers: those of which nothing is known are apart, too
 */
bool rp_places_apart(const struct rp_places *places, const struct rp_ast_node *a,
                     const struct rp_ast_node *b, bool pointers);
/** Whether a declaration is that of a variable whose place is in a set. */
bool rp_places_declared(const struct rp_places *places, const struct rp_ast_node *node,
                        const struct rp_place_set *in);

/** Whether an expression's value is a pointer. */
bool rp_ast_is_pointer(const struct rp_ast_node *node);
/** Without the names given to it; never NULL. */
const char *rp_ast_type(const struct rp_ast_node *node);
/** What is called, below its casts; NULL: the node is no call. */
const struct rp_ast_node *rp_ast_call_target(const struct rp_ast_node *node);

#endif
