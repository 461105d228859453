/* What expressions mean, once it is known what variables may point to (places_make.c). */
#include "optimize/places.h"

#include <stdlib.h>
#include <string.h>

#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/places_parts.h"

const char rp_places_unknown[] = "memory of which it cannot be told";

void rp_places_free(struct rp_places *places)
{
    if (!places)
        return;
    for (size_t i = 0; i < places->count; i++)
        free(places->places[i].name);
    free(places->places);
    free(places->variables);
    free(places);
}

size_t rp_places_count(const struct rp_places *places)
{
    return places->count;
}

const char *rp_place_name(const struct rp_places *places, size_t place)
{
    return places->places[place].name;
}

const char *rp_ast_type(const struct rp_ast_node *node)
{
    return node->desugared ? node->desugared : node->type ? node->type : "";
}

/** A letter of a type that is not in the arguments of a template. */
static const char *outside(const char *type, char letter)
{
    int depth = 0;

    for (; *type; type++) {
        depth += (*type == '<') - (*type == '>');
        if (*type == letter && depth == 0)
            return type;
    }
    return NULL;
}

bool rp_ast_is_pointer(const struct rp_ast_node *node)
{
    return !node->lvalue && outside(rp_ast_type(node), '*');
}

/** "float &", "float (&)[4]" and, for auto &, "float &[4]", but not "void (*)(float &)". */
bool rp_ast_is_reference(const struct rp_ast_node *node)
{
    const char *type = rp_ast_type(node);

    return rp_ast_is(node, "BindingDecl") ||
           (outside(type, '&') && (!strstr(type, "(*") || strstr(type, "(*&")));
}

const struct rp_ast_node *rp_ast_call_target(const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_child(node, 0);

    if (!rp_ast_is(node, "CallExpr") && !rp_ast_is(node, "CXXMemberCallExpr") &&
        !rp_ast_is(node, "CXXOperatorCallExpr") && !rp_ast_is(node, "UserDefinedLiteral"))
        return NULL;
    while (target->count == 1 && (target->cast || rp_ast_is(target, "ParenExpr")) &&
           !rp_ast_callee(target))
        target = &target->children[0];
    return target;
}

const struct rp_place_variable *rp_places_find(const struct rp_places *places, uint64_t id)
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

bool rp_places_declared(const struct rp_places *places, const struct rp_ast_node *node,
                        const struct rp_place_set *in)
{
    const struct rp_place_variable *variable = rp_places_find(places, node->id);

    return variable && rp_place_in(in, variable->place);
}

static void point_into(const struct rp_places *places, const struct rp_ast_node *pointer,
                       struct rp_place_set *set)
{
    struct rp_place_set to = {0};

    rp_places_of_value(places, pointer, &to);
    if (rp_place_set_is_empty(&to))
        rp_place_set_add(&to, RP_PLACE_UNKNOWN);
    rp_place_set_join(set, &to);
}

/** What the variables of a set hold. A number in memory is no pointer, one in a variable may be. */
static void add_held(const struct rp_places *places, const struct rp_place_set *in, bool number,
                     struct rp_place_set *set)
{
    for (size_t i = rp_place_set_next(in, 0); i < places->count; i = rp_place_set_next(in, i + 1))
        if (!(number && places->places[i].name))
            rp_place_set_join(set, &places->places[i].points);
}

void rp_places_add_loaded(const struct rp_places *places, const struct rp_ast_node *lvalue,
                          bool number, struct rp_place_set *set)
{
    struct rp_place_set in = {0};

    rp_places_of_lvalue(places, lvalue, &in);
    add_held(places, &in, number, set);
}

/** What an operand gives: as a value, or, bound to a reference, as itself. */
static void add_operand(const struct rp_places *places, const struct rp_ast_node *node,
                        struct rp_place_set *set)
{
    struct rp_place_set in = {0};

    if (!node->lvalue) {
        rp_places_of_value(places, node, set);
        return;
    }
    rp_places_of_lvalue(places, node, &in);
    rp_place_set_join(set, &in);
    add_held(places, &in, rp_ast_is_plain_type(rp_ast_type(node)), set);
}

bool rp_places_apart(const struct rp_places *places, const struct rp_ast_node *a,
                     const struct rp_ast_node *b, bool pointers)
{
    struct rp_place_set in_a = {0}, in_b = {0};
    bool number = !pointers;
    size_t first;

    if (a->lvalue)
        rp_places_add_loaded(places, a, number, &in_a);
    else
        rp_places_of_value(places, a, &in_a);
    if (b->lvalue)
        rp_places_add_loaded(places, b, number, &in_b);
    else
        rp_places_of_value(places, b, &in_b);
    if (rp_place_set_is_empty(&in_a) || rp_place_set_is_empty(&in_b))
        return pointers;
    first = rp_place_set_next(&in_a, 0);
    return memcmp(&in_a, &in_b, sizeof in_a) != 0 || first == RP_PLACE_UNKNOWN ||
           rp_place_set_next(&in_a, first + 1) < RP_PLACES_MOST;
}

/** What comes out of a call may be any of its arguments, and of unknown functions anything. */
void rp_places_add_call(const struct rp_places *places, const struct rp_ast_node *call,
                        struct rp_place_set *set)
{
    const struct rp_ast_node *target = rp_ast_call_target(call);

    if (rp_ast_is(target, "MemberExpr"))
        add_operand(places, rp_ast_child(target, 0), set);
    for (size_t i = 1; i < call->count; i++)
        add_operand(places, &call->children[i], set);
    if (!rp_ast_is_vector_call(target) && rp_callee_effect(rp_ast_callee(target)) != RP_CALLEE_PURE)
        rp_place_set_add(set, RP_PLACE_UNKNOWN);
}

static void lvalue_of_children(const struct rp_places *places, const struct rp_ast_node *node,
                               size_t from, struct rp_place_set *set)
{
    for (size_t i = from; i < node->count; i++)
        if (node->children[i].lvalue)
            rp_places_of_lvalue(places, &node->children[i], set);
}

void rp_places_of_lvalue(const struct rp_places *places, const struct rp_ast_node *node,
                         struct rp_place_set *set)
{
    const struct rp_ast_node *first = rp_ast_child(node, 0), *second = rp_ast_child(node, 1);

    if (rp_ast_is(node, "DeclRefExpr")) {
        const struct rp_place_variable *variable = rp_places_find(places, node->ref_id);

        if (variable && variable->reference)
            rp_place_set_join(set, &places->places[variable->place].points);
        else if (variable)
            rp_place_set_add(set, variable->place);
    } else if (rp_ast_is(node, "ArraySubscriptExpr")) {
        const struct rp_ast_node *base =
            !rp_ast_is_pointer(first) && rp_ast_is_pointer(second) ? second : first;

        if (rp_ast_is_pointer(base))
            point_into(places, base, set);
        else
            rp_places_of_lvalue(places, base, set);
    } else if (rp_ast_is(node, "MemberExpr") && rp_ast_is_pointer(first)) {
        point_into(places, first, set);
    } else if (rp_ast_is(node, "UnaryOperator") && rp_ast_has_opcode(node, "*")) {
        point_into(places, first, set);
    } else if (rp_ast_is(node, "CompoundAssignOperator") ||
               (rp_ast_is(node, "BinaryOperator") && rp_ast_has_opcode(node, "="))) {
        rp_places_of_lvalue(places, first, set);
    } else if (rp_ast_is(node, "BinaryOperator")) { /* a comma */
        rp_places_of_lvalue(places, second, set);
    } else if (rp_ast_call_target(node)) {
        rp_places_add_call(places, node, set);
    } else {
        lvalue_of_children(places, node, rp_ast_is(node, "ConditionalOperator"), set);
    }
}

static void value_of_cast(const struct rp_places *places, const struct rp_ast_node *node,
                          struct rp_place_set *set)
{
    const struct rp_ast_node *first = rp_ast_child(node, 0);

    if (rp_ast_has_cast(node, "LValueToRValue") || rp_ast_has_cast(node, "LValueToRValueBitCast"))
        rp_places_add_loaded(places, first, rp_ast_is_plain_type(rp_ast_type(node)), set);
    else if (rp_ast_has_cast(node, "ArrayToPointerDecay"))
        rp_places_of_lvalue(places, first, set);
    else if (rp_ast_has_cast(node, "IntegralToPointer"))
        point_into(places, first, set);
    else
        add_operand(places, first, set);
}

static void value_of_binary(const struct rp_places *places, const struct rp_ast_node *node,
                            struct rp_place_set *set)
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

void rp_places_of_value(const struct rp_places *places, const struct rp_ast_node *node,
                        struct rp_place_set *set)
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
        rp_places_of_lvalue(places, rp_ast_child(node, 0), set);
    } else if (rp_ast_is(node, "BinaryOperator")) {
        value_of_binary(places, node, set);
    } else if (rp_ast_call_target(node) || rp_ast_is(node, "AtomicExpr")) {
        if (!rp_ast_is_plain_type(rp_ast_type(node)))
            rp_ast_call_target(node) ? rp_places_add_call(places, node, set)
                                     : rp_place_set_add(set, RP_PLACE_UNKNOWN);
    } else {
        for (size_t i = from; i < node->count; i++)
            add_operand(places, &node->children[i], set);
    }
}
