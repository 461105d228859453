/* Points-to sets that do not look at the order of statements (Andersen): the assignments of a
 * kernel are gone through until nothing is added. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/places.h"
#include "optimize/places_parts.h"

RP_DEFINE_CLEANUP(struct rp_places, rp_places_free)

/* What there is. */

static size_t new_place(struct rp_places *places, char *name, bool number)
{
    if (places->count == RP_PLACES_MOST) {
        free(name);
        return RP_PLACE_UNKNOWN;
    }
    places->places[places->count] = (struct rp_place){.name = name, .number = number};
    return places->count++;
}

static size_t new_memory(struct rp_places *places, char *name)
{
    size_t place = new_place(places, name, false);

    places->failed |= !name;
    rp_place_set_add(&places->places[place].points,
                     place); /* what it points to is told by its name, too */
    return place;
}

/** Two variables of LDS may have one name: they are told apart by their order. */
static size_t shared_place(struct rp_places *places, const struct rp_ast_node *node)
{
    bool dynamic = node->storage && strcmp(node->storage, "extern") == 0;
    const char *name = dynamic ? "the dynamic LDS" : node->name ? node->name : "?";
    char *own = strdup(name);

    for (size_t i = 0, same = 1; own && i < places->count; i++) {
        if (!places->places[i].name || strcmp(places->places[i].name, own) != 0)
            continue;
        free(own);
        if (dynamic)
            return i; /* all of it begins at one place */
        own = rp_format("%s (%zu)", name, ++same);
    }
    return new_memory(places, own);
}

static bool is_shared(const struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        if (rp_ast_is(&node->children[i], "CUDASharedAttr"))
            return true;
    return false;
}

static void add_variable(struct rp_places *places, uint64_t id, size_t place, bool reference)
{
    if (places->variable_count == places->variable_capacity) {
        size_t capacity = places->variable_capacity ? 2 * places->variable_capacity : 64;
        struct rp_place_variable *more = realloc(places->variables, capacity * sizeof *more);

        if (!more) {
            places->failed = true;
            return;
        }
        places->variables = more;
        places->variable_capacity = capacity;
    }
    places->variables[places->variable_count++] = (struct rp_place_variable){id, place, reference};
}

/** A parameter, and what it points to: of a lambda's, nothing is known. */
static void add_parameter(struct rp_places *places, const struct rp_ast_node *node, bool of_kernel)
{
    bool number = rp_ast_is_plain_type(rp_ast_type(node)) && !rp_ast_is_reference(node);
    size_t place = new_place(places, NULL, number), to = RP_PLACE_UNKNOWN;

    if (of_kernel && !number)
        to = new_memory(places, rp_format("what %s points to", node->name ? node->name : "?"));
    if (!number)
        rp_place_set_add(&places->places[place].points, to);
    add_variable(places, node->id, place, rp_ast_is_reference(node));
}

static void collect_local(struct rp_places *places, const struct rp_ast_node *node, unsigned depth)
{
    if (node->id && rp_ast_is(node, "ParmVarDecl"))
        add_parameter(places, node, depth == 1);
    else if (node->id && rp_ast_is(node, "VarDecl") && is_shared(node))
        add_variable(places, node->id, shared_place(places, node), false);
    else if (node->id && (rp_ast_is(node, "VarDecl") || rp_ast_is(node, "DecompositionDecl") ||
                          rp_ast_is(node, "BindingDecl")))
        add_variable(places, node->id,
                     new_place(places, NULL, rp_ast_is_plain_type(rp_ast_type(node))),
                     rp_ast_is_reference(node));
    for (size_t i = 0; i < node->count; i++)
        collect_local(places, &node->children[i], depth + 1);
}

static int by_id(const void *a, const void *b)
{
    const struct rp_place_variable *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/** Variables of outside are known when they are named. */
static void collect_outside(struct rp_places *places, const struct rp_ast_node *node)
{
    if (rp_ast_is(node, "DeclRefExpr") && node->ref_id && node->ref_kind &&
        strcmp(node->ref_kind, "VarDecl") == 0 && !rp_ast_is_index(node) &&
        !rp_places_find(places, node->ref_id)) {
        add_variable(places, node->ref_id,
                     new_memory(places, strdup(node->ref_name ? node->ref_name : "?")), false);
        qsort(places->variables, places->variable_count, sizeof *places->variables, by_id);
    }
    for (size_t i = 0; i < node->count; i++)
        collect_outside(places, &node->children[i]);
}

/* What is put where. */

static void put(struct rp_places *places, size_t place, const struct rp_place_set *what)
{
    places->grown |= rp_place_set_join(&places->places[place].points, what);
}

static void put_lvalue(struct rp_places *places, const struct rp_ast_node *lvalue,
                       const struct rp_place_set *what)
{
    struct rp_place_set to = {0};

    rp_places_of_lvalue(places, lvalue, &to);
    for (size_t i = rp_place_set_next(&to, 0); i < places->count; i = rp_place_set_next(&to, i + 1))
        put(places, i, what);
}

static void follow_variable(struct rp_places *places, const struct rp_ast_node *node)
{
    const struct rp_place_variable *variable = rp_places_find(places, node->id);
    struct rp_place_set what = {0};

    for (size_t i = 0; variable && i < node->count; i++) {
        const struct rp_ast_node *init = &node->children[i];

        if (variable->reference)
            rp_places_of_lvalue(places, init, &what);
        else if (init->lvalue)
            rp_places_add_loaded(places, init, places->places[variable->place].number, &what);
        else
            rp_places_of_value(places, init, &what);
    }
    if (variable)
        put(places, variable->place, &what);
}

/** A function may put what it is given into local variables that it can reach. */
static void follow_call(struct rp_places *places, const struct rp_ast_node *call)
{
    struct rp_place_set given = {0};

    rp_places_add_call(places, call, &given);
    if (rp_ast_is_vector_call(rp_ast_call_target(call)))
        return;
    for (size_t i = rp_place_set_next(&given, 0); i < places->count;
         i = rp_place_set_next(&given, i + 1))
        if (!places->places[i].name && !places->places[i].number)
            put(places, i, &given);
}

static void follow(struct rp_places *places, const struct rp_ast_node *node)
{
    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node))
        return;
    if (rp_ast_is(node, "VarDecl") || rp_ast_is(node, "DecompositionDecl") ||
        rp_ast_is(node, "BindingDecl")) {
        follow_variable(places, node);
    } else if (rp_ast_is(node, "BinaryOperator") && rp_ast_has_opcode(node, "=")) {
        struct rp_place_set what = {0};

        if (rp_ast_child(node, 1)->lvalue)
            rp_places_add_loaded(places, rp_ast_child(node, 1),
                                 rp_ast_is_plain_type(rp_ast_type(node)), &what);
        else
            rp_places_of_value(places, rp_ast_child(node, 1), &what);
        put_lvalue(places, rp_ast_child(node, 0), &what);
    } else if (rp_ast_call_target(node)) {
        follow_call(places, node);
    }
    for (size_t i = 0; i < node->count; i++)
        follow(places, &node->children[i]);
}

int rp_places_make(const struct rp_ast_node *function, struct rp_places **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_places_free) struct rp_places *places = calloc(1, sizeof *places);

    if (places)
        places->places = calloc(RP_PLACES_MOST, sizeof *places->places);
    if (!places || !places->places)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    new_memory(places, strdup(rp_places_unknown));
    collect_local(places, function, 0);
    if (places->variable_count)
        qsort(places->variables, places->variable_count, sizeof *places->variables, by_id);
    collect_outside(places, function);
    if (places->failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    do {
        places->grown = false;
        follow(places, function);
    } while (places->grown);
    *ret = rp_steal(places);
    return 0;
}
