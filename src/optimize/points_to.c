/* What expressions mean, once it is known what variables may point to (points_to.c). */
#include "optimize/points_to.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"

static inline void rp_memory_set_add(struct rp_memory_set *set, size_t place)
{
    set->words[place / 64] |= (uint64_t)1 << (place % 64);
}

static inline bool rp_memory_set_join(struct rp_memory_set *set, const struct rp_memory_set *more)
{
    bool grown = false;

    for (size_t i = 0; i < RP_MEMORY_SET_WORDS; i++) {
        grown |= (more->words[i] & ~set->words[i]) != 0;
        set->words[i] |= more->words[i];
    }
    return grown;
}

static inline bool rp_memory_set_is_empty(const struct rp_memory_set *set)
{
    for (size_t i = 0; i < RP_MEMORY_SET_WORDS; i++)
        if (set->words[i])
            return false;
    return true;
}

/** The first place of a set from one on; RP_MEMORY_OBJECTS_MAX: there is none. */
static inline size_t rp_memory_set_next(const struct rp_memory_set *set, size_t from)
{
    for (; from < RP_MEMORY_OBJECTS_MAX; from = (from / 64 + 1) * 64) {
        uint64_t left = set->words[from / 64] >> (from % 64);

        if (left)
            return from + (size_t)__builtin_ctzll(left);
    }
    return RP_MEMORY_OBJECTS_MAX;
}

static inline bool rp_ast_has_opcode(const struct rp_ast_node *node, const char *opcode)
{
    return node->opcode && strcmp(node->opcode, opcode) == 0;
}

static inline bool rp_ast_has_cast(const struct rp_ast_node *node, const char *cast)
{
    return node->cast && strcmp(node->cast, cast) == 0;
}

const char rp_unknown_memory[] = "memory of which it cannot be told";

void rp_points_to_free(struct rp_points_to *places)
{
    if (!places)
        return;
    for (size_t i = 0; i < places->count; i++)
        free(places->places[i].name);
    free(places->places);
    free(places->variables);
    free(places);
}

size_t rp_points_to_count(const struct rp_points_to *places)
{
    return places->count;
}

const char *rp_memory_object_name(const struct rp_points_to *places, size_t place)
{
    return places->places[place].name;
}

/** The variable of a declaration; NULL: it is none that is known. */
static const struct rp_memory_variable *rp_points_to_find(const struct rp_points_to *places,
                                                          uint64_t id)
{
    size_t low = 0, high = places->variable_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (places->variables[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < places->variable_count && places->variables[low].id == id ? &places->variables[low]
                                                                           : NULL;
}

bool rp_points_to_declared(const struct rp_points_to *places, const struct rp_ast_node *node,
                           const struct rp_memory_set *in)
{
    const struct rp_memory_variable *variable = rp_points_to_find(places, node->id);

    return variable && rp_memory_set_has(in, variable->place);
}

static void point_into(const struct rp_points_to *places, const struct rp_ast_node *pointer,
                       struct rp_memory_set *set)
{
    struct rp_memory_set to = {0};

    rp_points_to_of_value(places, pointer, &to);
    if (rp_memory_set_is_empty(&to))
        rp_memory_set_add(&to, RP_MEMORY_OBJECT_UNKNOWN);
    rp_memory_set_join(set, &to);
}

/** What the variables of a set hold. A number in memory is no pointer, one in a variable may be. */
static void add_held(const struct rp_points_to *places, const struct rp_memory_set *in, bool number,
                     struct rp_memory_set *set)
{
    for (size_t i = rp_memory_set_next(in, 0); i < places->count; i = rp_memory_set_next(in, i + 1))
        if (!(number && places->places[i].name))
            rp_memory_set_join(set, &places->places[i].points);
}

/** Adds what a variable or memory holds. */
static void rp_points_to_add_loaded(const struct rp_points_to *places,
                                    const struct rp_ast_node *lvalue, bool number,
                                    struct rp_memory_set *set)
{
    struct rp_memory_set in = {0};

    rp_points_to_of_lvalue(places, lvalue, &in);
    add_held(places, &in, number, set);
}

/** What an operand gives: as a value, or, bound to a reference, as itself. */
static void add_operand(const struct rp_points_to *places, const struct rp_ast_node *node,
                        struct rp_memory_set *set)
{
    struct rp_memory_set in = {0};

    if (!node->lvalue) {
        rp_points_to_of_value(places, node, set);
        return;
    }
    rp_points_to_of_lvalue(places, node, &in);
    rp_memory_set_join(set, &in);
    add_held(places, &in, rp_ast_is_plain_type(rp_ast_type(node)), set);
}

bool rp_points_to_disjoint(const struct rp_points_to *places, const struct rp_ast_node *a,
                           const struct rp_ast_node *b, bool pointers)
{
    struct rp_memory_set in_a = {0}, in_b = {0};
    bool number = !pointers;
    size_t first;

    if (a->lvalue)
        rp_points_to_add_loaded(places, a, number, &in_a);
    else
        rp_points_to_of_value(places, a, &in_a);
    if (b->lvalue)
        rp_points_to_add_loaded(places, b, number, &in_b);
    else
        rp_points_to_of_value(places, b, &in_b);
    if (rp_memory_set_is_empty(&in_a) || rp_memory_set_is_empty(&in_b))
        return pointers;
    first = rp_memory_set_next(&in_a, 0);
    return memcmp(&in_a, &in_b, sizeof in_a) != 0 || first == RP_MEMORY_OBJECT_UNKNOWN ||
           rp_memory_set_next(&in_a, first + 1) < RP_MEMORY_OBJECTS_MAX;
}

/** Adds what may come out of a call. */
/** What comes out of a call may be any of its arguments, and of unknown functions anything. */
static void rp_points_to_add_call(const struct rp_points_to *places, const struct rp_ast_node *call,
                                  struct rp_memory_set *set)
{
    const struct rp_ast_node *target = rp_ast_call_target(call);

    if (rp_ast_is(target, "MemberExpr"))
        add_operand(places, rp_ast_child(target, 0), set);
    for (size_t i = 1; i < call->count; i++)
        add_operand(places, &call->children[i], set);
    if (!rp_ast_is_vector_call(target) &&
        rp_known_function_effect(rp_ast_callee(target)) != RP_KNOWN_FUNCTION_PURE)
        rp_memory_set_add(set, RP_MEMORY_OBJECT_UNKNOWN);
}

static void lvalue_of_children(const struct rp_points_to *places, const struct rp_ast_node *node,
                               size_t from, struct rp_memory_set *set)
{
    for (size_t i = from; i < node->count; i++)
        if (node->children[i].lvalue)
            rp_points_to_of_lvalue(places, &node->children[i], set);
}

void rp_points_to_of_lvalue(const struct rp_points_to *places, const struct rp_ast_node *node,
                            struct rp_memory_set *set)
{
    const struct rp_ast_node *first = rp_ast_child(node, 0), *second = rp_ast_child(node, 1);

    if (rp_ast_is(node, "DeclRefExpr")) {
        const struct rp_memory_variable *variable = rp_points_to_find(places, node->ref_id);

        if (variable && variable->reference)
            rp_memory_set_join(set, &places->places[variable->place].points);
        else if (variable)
            rp_memory_set_add(set, variable->place);
    } else if (rp_ast_is(node, "ArraySubscriptExpr")) {
        const struct rp_ast_node *base =
            !rp_ast_is_pointer(first) && rp_ast_is_pointer(second) ? second : first;

        if (rp_ast_is_pointer(base))
            point_into(places, base, set);
        else
            rp_points_to_of_lvalue(places, base, set);
    } else if (rp_ast_is(node, "MemberExpr") && rp_ast_is_pointer(first)) {
        point_into(places, first, set);
    } else if (rp_ast_is(node, "UnaryOperator") && rp_ast_has_opcode(node, "*")) {
        point_into(places, first, set);
    } else if (rp_ast_is(node, "CompoundAssignOperator") ||
               (rp_ast_is(node, "BinaryOperator") && rp_ast_has_opcode(node, "="))) {
        rp_points_to_of_lvalue(places, first, set);
    } else if (rp_ast_is(node, "BinaryOperator")) { /* a comma */
        rp_points_to_of_lvalue(places, second, set);
    } else if (rp_ast_call_target(node)) {
        rp_points_to_add_call(places, node, set);
    } else {
        lvalue_of_children(places, node, rp_ast_is(node, "ConditionalOperator"), set);
    }
}

static void value_of_cast(const struct rp_points_to *places, const struct rp_ast_node *node,
                          struct rp_memory_set *set)
{
    const struct rp_ast_node *first = rp_ast_child(node, 0);

    if (rp_ast_has_cast(node, "LValueToRValue") || rp_ast_has_cast(node, "LValueToRValueBitCast"))
        rp_points_to_add_loaded(places, first, rp_ast_is_plain_type(rp_ast_type(node)), set);
    else if (rp_ast_has_cast(node, "ArrayToPointerDecay"))
        rp_points_to_of_lvalue(places, first, set);
    else if (rp_ast_has_cast(node, "IntegralToPointer"))
        point_into(places, first, set);
    else
        add_operand(places, first, set);
}

static void value_of_binary(const struct rp_points_to *places, const struct rp_ast_node *node,
                            struct rp_memory_set *set)
{
    static const char *const truths[] = {"<", ">", "<=", ">=", "==", "!=", "&&", "||", "<=>"};
    const struct rp_ast_node *first = rp_ast_child(node, 0), *second = rp_ast_child(node, 1);
    bool pointer = rp_ast_is_pointer(node);

    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (rp_ast_has_opcode(node, truths[i]))
            return;
    if (rp_ast_is_pointer(first) && rp_ast_is_pointer(second) && !rp_ast_has_opcode(node, ","))
        return; /* their difference */
    if (!rp_ast_has_opcode(node, ",") && (!pointer || rp_ast_is_pointer(first)))
        add_operand(places, first, set);
    if (!pointer || rp_ast_is_pointer(second))
        add_operand(places, second, set);
}

void rp_points_to_of_value(const struct rp_points_to *places, const struct rp_ast_node *node,
                           struct rp_memory_set *set)
{
    static const char *const nothing[] = {"UnaryExprOrTypeTraitExpr", "CXXDefaultArgExpr",
                                          "LambdaExpr", "DeclRefExpr", "CXXNoexceptExpr"};
    size_t from = rp_ast_is(node, "ConditionalOperator");

    if (!node->kind || rp_ast_is_index(node))
        return;
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (rp_ast_is(node, nothing[i]))
            return;
    if (node->cast) {
        value_of_cast(places, node, set);
    } else if (rp_ast_is(node, "UnaryOperator") && rp_ast_has_opcode(node, "&")) {
        rp_points_to_of_lvalue(places, rp_ast_child(node, 0), set);
    } else if (rp_ast_is(node, "BinaryOperator")) {
        value_of_binary(places, node, set);
    } else if (rp_ast_call_target(node) || rp_ast_is(node, "AtomicExpr")) {
        if (!rp_ast_is_plain_type(rp_ast_type(node)))
            rp_ast_call_target(node) ? rp_points_to_add_call(places, node, set)
                                     : rp_memory_set_add(set, RP_MEMORY_OBJECT_UNKNOWN);
    } else {
        for (size_t i = from; i < node->count; i++)
            add_operand(places, &node->children[i], set);
    }
}

/* Points-to sets that do not look at the order of statements (Andersen): the assignments of a
 * kernel are gone through until nothing is added. */

RP_DEFINE_CLEANUP(struct rp_points_to, rp_points_to_free)

/* What there is. */

static size_t new_place(struct rp_points_to *places, char *name, bool number)
{
    if (places->count == RP_MEMORY_OBJECTS_MAX) {
        free(name);
        return RP_MEMORY_OBJECT_UNKNOWN;
    }
    places->places[places->count] = (struct rp_place){.name = name, .number = number};
    return places->count++;
}

static size_t new_memory(struct rp_points_to *places, char *name)
{
    size_t place = new_place(places, name, false);

    places->failed |= !name;
    rp_memory_set_add(&places->places[place].points,
                      place); /* what it points to is told by its name, too */
    return place;
}

/** Two variables of LDS may have one name: they are told apart by their order. */
static size_t shared_place(struct rp_points_to *places, const struct rp_ast_node *node)
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

static void add_variable(struct rp_points_to *places, uint64_t id, size_t place, bool reference)
{
    if (places->variable_count == places->variable_capacity) {
        size_t capacity = places->variable_capacity ? 2 * places->variable_capacity : 64;
        struct rp_memory_variable *more = realloc(places->variables, capacity * sizeof *more);

        if (!more) {
            places->failed = true;
            return;
        }
        places->variables = more;
        places->variable_capacity = capacity;
    }
    places->variables[places->variable_count++] = (struct rp_memory_variable){id, place, reference};
}

/** A parameter, and what it points to: of a lambda's, nothing is known. */
static void add_parameter(struct rp_points_to *places, const struct rp_ast_node *node,
                          bool of_kernel)
{
    bool number = rp_ast_is_plain_type(rp_ast_type(node)) && !rp_ast_is_reference(node);
    size_t place = new_place(places, NULL, number), to = RP_MEMORY_OBJECT_UNKNOWN;

    if (of_kernel && !number)
        to = new_memory(places, rp_format("what %s points to", node->name ? node->name : "?"));
    if (!number)
        rp_memory_set_add(&places->places[place].points, to);
    add_variable(places, node->id, place, rp_ast_is_reference(node));
}

static void collect_local(struct rp_points_to *places, const struct rp_ast_node *node,
                          unsigned depth)
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
    const struct rp_memory_variable *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

/** Variables of outside are known when they are named. */
static void collect_outside(struct rp_points_to *places, const struct rp_ast_node *node)
{
    if (rp_ast_is(node, "DeclRefExpr") && node->ref_id && node->ref_kind &&
        strcmp(node->ref_kind, "VarDecl") == 0 && !rp_ast_is_index(node) &&
        !rp_points_to_find(places, node->ref_id)) {
        add_variable(places, node->ref_id,
                     new_memory(places, strdup(node->ref_name ? node->ref_name : "?")), false);
        qsort(places->variables, places->variable_count, sizeof *places->variables, by_id);
    }
    for (size_t i = 0; i < node->count; i++)
        collect_outside(places, &node->children[i]);
}

/* What is put where. */

static void put(struct rp_points_to *places, size_t place, const struct rp_memory_set *what)
{
    places->grown |= rp_memory_set_join(&places->places[place].points, what);
}

static void put_lvalue(struct rp_points_to *places, const struct rp_ast_node *lvalue,
                       const struct rp_memory_set *what)
{
    struct rp_memory_set to = {0};

    rp_points_to_of_lvalue(places, lvalue, &to);
    for (size_t i = rp_memory_set_next(&to, 0); i < places->count;
         i = rp_memory_set_next(&to, i + 1))
        put(places, i, what);
}

static void follow_variable(struct rp_points_to *places, const struct rp_ast_node *node)
{
    const struct rp_memory_variable *variable = rp_points_to_find(places, node->id);
    struct rp_memory_set what = {0};

    for (size_t i = 0; variable && i < node->count; i++) {
        const struct rp_ast_node *init = &node->children[i];

        if (variable->reference)
            rp_points_to_of_lvalue(places, init, &what);
        else if (init->lvalue)
            rp_points_to_add_loaded(places, init, places->places[variable->place].number, &what);
        else
            rp_points_to_of_value(places, init, &what);
    }
    if (variable)
        put(places, variable->place, &what);
}

/** A function may put what it is given into local variables that it can reach. */
static void follow_call(struct rp_points_to *places, const struct rp_ast_node *call)
{
    struct rp_memory_set given = {0};

    rp_points_to_add_call(places, call, &given);
    if (rp_ast_is_vector_call(rp_ast_call_target(call)))
        return;
    for (size_t i = rp_memory_set_next(&given, 0); i < places->count;
         i = rp_memory_set_next(&given, i + 1))
        if (!places->places[i].name && !places->places[i].number)
            put(places, i, &given);
}

static void follow(struct rp_points_to *places, const struct rp_ast_node *node)
{
    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node))
        return;
    if (rp_ast_is(node, "VarDecl") || rp_ast_is(node, "DecompositionDecl") ||
        rp_ast_is(node, "BindingDecl")) {
        follow_variable(places, node);
    } else if (rp_ast_is(node, "BinaryOperator") && rp_ast_has_opcode(node, "=")) {
        struct rp_memory_set what = {0};

        if (rp_ast_child(node, 1)->lvalue)
            rp_points_to_add_loaded(places, rp_ast_child(node, 1),
                                    rp_ast_is_plain_type(rp_ast_type(node)), &what);
        else
            rp_points_to_of_value(places, rp_ast_child(node, 1), &what);
        put_lvalue(places, rp_ast_child(node, 0), &what);
    } else if (rp_ast_call_target(node)) {
        follow_call(places, node);
    }
    for (size_t i = 0; i < node->count; i++)
        follow(places, &node->children[i]);
}

int rp_points_to_make(const struct rp_ast_node *function, struct rp_points_to **ret,
                      struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_points_to_free) struct rp_points_to *places =
        calloc(1, sizeof *places);

    if (places)
        places->places = calloc(RP_MEMORY_OBJECTS_MAX, sizeof *places->places);
    if (!places || !places->places)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    new_memory(places, strdup(rp_unknown_memory));
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
