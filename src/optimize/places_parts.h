/* What the files of places share: the sets, and how a tree is asked. */
#ifndef RP_OPTIMIZE_PLACES_PARTS_H
#define RP_OPTIMIZE_PLACES_PARTS_H

#include <string.h>

#include "base/cleanup.h"
#include "optimize/ast.h"
#include "optimize/places.h"

struct rp_place_variable {
    uint64_t id;
    size_t place;
    bool reference; /* stands for what its place points to */
};

struct rp_place {
    char *name;  /* of memory; NULL: a local variable */
    bool number; /* holds no pointers, if it has a plain type */
    struct rp_place_set points;
};

struct rp_places {
    struct rp_place_variable *variables; /* by id, once they are all there */
    size_t variable_count, variable_capacity;
    struct rp_place *places;
    size_t count;
    bool failed, grown;
};

static inline void rp_place_set_add(struct rp_place_set *set, size_t place)
{
    set->words[place / 64] |= (uint64_t)1 << (place % 64);
}

static inline bool rp_place_set_join(struct rp_place_set *set, const struct rp_place_set *more)
{
    bool grown = false;

    for (size_t i = 0; i < RP_PLACE_WORDS; i++) {
        grown |= (more->words[i] & ~set->words[i]) != 0;
        set->words[i] |= more->words[i];
    }
    return grown;
}

static inline bool rp_place_set_is_empty(const struct rp_place_set *set)
{
    for (size_t i = 0; i < RP_PLACE_WORDS; i++)
        if (set->words[i])
            return false;
    return true;
}

/** The first place of a set from one on; RP_PLACES_MOST: there is none. */
static inline size_t rp_place_set_next(const struct rp_place_set *set, size_t from)
{
    for (; from < RP_PLACES_MOST; from = (from / 64 + 1) * 64) {
        uint64_t left = set->words[from / 64] >> (from % 64);

        if (left)
            return from + (size_t)__builtin_ctzll(left);
    }
    return RP_PLACES_MOST;
}

static inline const struct rp_ast_node *rp_ast_child(const struct rp_ast_node *node, size_t at)
{
    static const struct rp_ast_node none = {0};

    return at < node->count ? &node->children[at] : &none;
}

static inline bool rp_ast_has_opcode(const struct rp_ast_node *node, const char *opcode)
{
    return node->opcode && strcmp(node->opcode, opcode) == 0;
}

static inline bool rp_ast_has_cast(const struct rp_ast_node *node, const char *cast)
{
    return node->cast && strcmp(node->cast, cast) == 0;
}

/** The variable of a declaration; NULL: it is none that is known. */
const struct rp_place_variable *rp_places_find(const struct rp_places *places, uint64_t id);
/** Adds what a variable or memory holds. */
void rp_places_add_loaded(const struct rp_places *places, const struct rp_ast_node *lvalue,
                          bool number, struct rp_place_set *set);
/** Adds what may come out of a call. */
void rp_places_add_call(const struct rp_places *places, const struct rp_ast_node *call,
                        struct rp_place_set *set);
/** Whether a declaration is that of a reference. */
bool rp_ast_is_reference(const struct rp_ast_node *node);

#endif
