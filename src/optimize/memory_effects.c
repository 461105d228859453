/* Finds what expressions mean, once it is known what variables may point to. */
#include "optimize/memory_effects.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/path.h"
#include "base/vec.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"

static inline void memory_set_add(struct rp_memory_set *set, size_t place)
{
    set->words[place / 64] |= (uint64_t)1 << (place % 64);
}

static inline bool memory_set_join(struct rp_memory_set *set, const struct rp_memory_set *more)
{
    bool grown = false;

    for (size_t i = 0; i < RP_MEMORY_SET_WORDS; i++) {
        grown |= (more->words[i] & ~set->words[i]) != 0;
        set->words[i] |= more->words[i];
    }
    return grown;
}

static inline bool memory_set_is_empty(const struct rp_memory_set *set)
{
    for (size_t i = 0; i < RP_MEMORY_SET_WORDS; i++)
        if (set->words[i])
            return false;
    return true;
}

/** Returns the first place of a set from one on; RP_MEMORY_OBJECTS_MAX: there is none. */
static inline size_t memory_set_next(const struct rp_memory_set *set, size_t from)
{
    for (; from < RP_MEMORY_OBJECTS_MAX; from = (from / 64 + 1) * 64) {
        uint64_t left = set->words[from / 64] >> (from % 64);

        if (left)
            return from + (size_t)__builtin_ctzll(left);
    }
    return RP_MEMORY_OBJECTS_MAX;
}

static inline bool ast_has_opcode(const struct rp_ast_node *node, const char *opcode)
{
    return node->opcode && strcmp(node->opcode, opcode) == 0;
}

static inline bool ast_has_cast(const struct rp_ast_node *node, const char *cast)
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

const char *rp_memory_object_name(const struct rp_points_to *places, size_t place)
{
    return places->places[place].name;
}

/** Returns the variable of a declaration, or NULL when it is not a known one. */
static const struct rp_memory_variable *points_to_find(const struct rp_points_to *places,
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

/** Says whether a declaration is that of a variable whose place is in a set. */
static bool points_to_declared(const struct rp_points_to *places, const struct rp_ast_node *node,
                               const struct rp_memory_set *in)
{
    const struct rp_memory_variable *variable = points_to_find(places, node->id);

    return variable && rp_memory_set_has(in, variable->place);
}

static void point_into(const struct rp_points_to *places, const struct rp_ast_node *pointer,
                       struct rp_memory_set *set)
{
    struct rp_memory_set to = {0};

    rp_points_to_of_value(places, pointer, &to);
    if (memory_set_is_empty(&to))
        memory_set_add(&to, RP_MEMORY_OBJECT_UNKNOWN);
    memory_set_join(set, &to);
}

/** Adds what the variables of a set hold. A number in memory is no pointer, but one in a variable
 * may be. */
static void add_held(const struct rp_points_to *places, const struct rp_memory_set *in, bool number,
                     struct rp_memory_set *set)
{
    for (size_t i = memory_set_next(in, 0); i < places->count; i = memory_set_next(in, i + 1))
        if (!(number && places->places[i].name))
            memory_set_join(set, &places->places[i].points);
}

/** Adds what a variable or memory holds. */
static void points_to_add_loaded(const struct rp_points_to *places,
                                 const struct rp_ast_node *lvalue, bool number,
                                 struct rp_memory_set *set)
{
    struct rp_memory_set in = {0};

    rp_points_to_of_lvalue(places, lvalue, &in);
    add_held(places, &in, number, set);
}

/** Adds what an operand gives: as a value, or, bound to a reference, as itself. */
static void add_operand(const struct rp_points_to *places, const struct rp_ast_node *node,
                        struct rp_memory_set *set)
{
    struct rp_memory_set in = {0};

    if (!node->lvalue) {
        rp_points_to_of_value(places, node, set);
        return;
    }
    rp_points_to_of_lvalue(places, node, &in);
    memory_set_join(set, &in);
    add_held(places, &in, rp_ast_is_plain_type(rp_ast_type(node)), set);
}

bool rp_points_to_disjoint(const struct rp_points_to *places, const struct rp_ast_node *a,
                           const struct rp_ast_node *b, bool pointers)
{
    struct rp_memory_set in_a = {0}, in_b = {0};
    bool number = !pointers;
    size_t first;

    if (a->lvalue)
        points_to_add_loaded(places, a, number, &in_a);
    else
        rp_points_to_of_value(places, a, &in_a);
    if (b->lvalue)
        points_to_add_loaded(places, b, number, &in_b);
    else
        rp_points_to_of_value(places, b, &in_b);
    if (memory_set_is_empty(&in_a) || memory_set_is_empty(&in_b))
        return pointers;
    first = memory_set_next(&in_a, 0);
    return memcmp(&in_a, &in_b, sizeof in_a) != 0 || first == RP_MEMORY_OBJECT_UNKNOWN ||
           memory_set_next(&in_a, first + 1) < RP_MEMORY_OBJECTS_MAX;
}

/** Adds what a call may return. */
/** A call may return any of its arguments, and an unknown function may return anything. */
static void points_to_add_call(const struct rp_points_to *places, const struct rp_ast_node *call,
                               struct rp_memory_set *set)
{
    const struct rp_ast_node *target = rp_ast_call_target(call);

    if (rp_ast_is(target, "MemberExpr"))
        add_operand(places, rp_ast_child(target, 0), set);
    for (size_t i = 1; i < call->count; i++)
        add_operand(places, &call->children[i], set);
    if (!rp_ast_is_vector_call(target) &&
        rp_known_function_effect(rp_ast_callee(target)) != RP_KNOWN_FUNCTION_PURE)
        memory_set_add(set, RP_MEMORY_OBJECT_UNKNOWN);
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
        const struct rp_memory_variable *variable = points_to_find(places, node->ref_id);

        if (variable && variable->reference)
            memory_set_join(set, &places->places[variable->place].points);
        else if (variable)
            memory_set_add(set, variable->place);
    } else if (rp_ast_is(node, "ArraySubscriptExpr")) {
        const struct rp_ast_node *base =
            !rp_ast_is_pointer(first) && rp_ast_is_pointer(second) ? second : first;

        if (rp_ast_is_pointer(base))
            point_into(places, base, set);
        else
            rp_points_to_of_lvalue(places, base, set);
    } else if (rp_ast_is(node, "MemberExpr") && rp_ast_is_pointer(first)) {
        point_into(places, first, set);
    } else if (rp_ast_is(node, "UnaryOperator") && ast_has_opcode(node, "*")) {
        point_into(places, first, set);
    } else if (rp_ast_is(node, "CompoundAssignOperator") ||
               (rp_ast_is(node, "BinaryOperator") && ast_has_opcode(node, "="))) {
        rp_points_to_of_lvalue(places, first, set);
    } else if (rp_ast_is(node, "BinaryOperator")) { /* The node is a comma operator. */
        rp_points_to_of_lvalue(places, second, set);
    } else if (rp_ast_call_target(node)) {
        points_to_add_call(places, node, set);
    } else {
        lvalue_of_children(places, node, rp_ast_is(node, "ConditionalOperator"), set);
    }
}

static void value_of_cast(const struct rp_points_to *places, const struct rp_ast_node *node,
                          struct rp_memory_set *set)
{
    const struct rp_ast_node *first = rp_ast_child(node, 0);

    if (ast_has_cast(node, "LValueToRValue") || ast_has_cast(node, "LValueToRValueBitCast"))
        points_to_add_loaded(places, first, rp_ast_is_plain_type(rp_ast_type(node)), set);
    else if (ast_has_cast(node, "ArrayToPointerDecay"))
        rp_points_to_of_lvalue(places, first, set);
    else if (ast_has_cast(node, "IntegralToPointer"))
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
        if (ast_has_opcode(node, truths[i]))
            return;
    if (rp_ast_is_pointer(first) && rp_ast_is_pointer(second) && !ast_has_opcode(node, ","))
        return; /* The node computes the difference of two pointers. */
    if (!ast_has_opcode(node, ",") && (!pointer || rp_ast_is_pointer(first)))
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
    } else if (rp_ast_is(node, "UnaryOperator") && ast_has_opcode(node, "&")) {
        rp_points_to_of_lvalue(places, rp_ast_child(node, 0), set);
    } else if (rp_ast_is(node, "BinaryOperator")) {
        value_of_binary(places, node, set);
    } else if (rp_ast_call_target(node) || rp_ast_is(node, "AtomicExpr")) {
        if (!rp_ast_is_plain_type(rp_ast_type(node)))
            rp_ast_call_target(node) ? points_to_add_call(places, node, set)
                                     : memory_set_add(set, RP_MEMORY_OBJECT_UNKNOWN);
    } else {
        for (size_t i = from; i < node->count; i++)
            add_operand(places, &node->children[i], set);
    }
}

/* Points-to sets ignore the order of statements (Andersen): the assignments of a kernel are
 * repeated until nothing is added. */

/* This section collects the places. */

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

    memory_set_add(&places->places[place].points,
                   place); /* Its name also says what it points to. */
    return place;
}

/** Two variables of LDS may have one name, so they are distinguished by their order. */
static size_t shared_place(struct rp_points_to *places, const struct rp_ast_node *node)
{
    bool dynamic = node->storage && strcmp(node->storage, "extern") == 0;
    const char *name = dynamic ? "the dynamic LDS" : node->name ? node->name : "?";
    char *own = rp_strdup(name);

    for (size_t i = 0, same = 1; i < places->count; i++) {
        if (!places->places[i].name || strcmp(places->places[i].name, own) != 0)
            continue;
        free(own);
        if (dynamic)
            return i; /* All of it begins at one place. */
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
    rp_vec_grow(&places->variables, &places->variable_capacity, places->variable_count, 1,
                sizeof *places->variables);
    places->variables[places->variable_count++] = (struct rp_memory_variable){id, place, reference};
}

/** Adds a parameter and its target. Nothing is known of a lambda's target. */
static void add_parameter(struct rp_points_to *places, const struct rp_ast_node *node,
                          bool of_kernel)
{
    bool number = rp_ast_is_plain_type(rp_ast_type(node)) && !rp_ast_is_reference(node);
    size_t place = new_place(places, NULL, number), to = RP_MEMORY_OBJECT_UNKNOWN;

    if (of_kernel && !number)
        to = new_memory(places, rp_format("what %s points to", node->name ? node->name : "?"));
    if (!number)
        memory_set_add(&places->places[place].points, to);
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

/** Variables from outside are known when they are named. */
static void collect_outside(struct rp_points_to *places, const struct rp_ast_node *node)
{
    if (rp_ast_is(node, "DeclRefExpr") && node->ref_id && node->ref_kind &&
        strcmp(node->ref_kind, "VarDecl") == 0 && !rp_ast_is_index(node) &&
        !points_to_find(places, node->ref_id)) {
        add_variable(places, node->ref_id,
                     new_memory(places, rp_strdup(node->ref_name ? node->ref_name : "?")), false);
        qsort(places->variables, places->variable_count, sizeof *places->variables, by_id);
    }
    for (size_t i = 0; i < node->count; i++)
        collect_outside(places, &node->children[i]);
}

/* This section records what is put where. */

static void put(struct rp_points_to *places, size_t place, const struct rp_memory_set *what)
{
    places->grown |= memory_set_join(&places->places[place].points, what);
}

static void put_lvalue(struct rp_points_to *places, const struct rp_ast_node *lvalue,
                       const struct rp_memory_set *what)
{
    struct rp_memory_set to = {0};

    rp_points_to_of_lvalue(places, lvalue, &to);
    for (size_t i = memory_set_next(&to, 0); i < places->count; i = memory_set_next(&to, i + 1))
        put(places, i, what);
}

static void follow_variable(struct rp_points_to *places, const struct rp_ast_node *node)
{
    const struct rp_memory_variable *variable = points_to_find(places, node->id);
    struct rp_memory_set what = {0};

    for (size_t i = 0; variable && i < node->count; i++) {
        const struct rp_ast_node *init = &node->children[i];

        if (variable->reference)
            rp_points_to_of_lvalue(places, init, &what);
        else if (init->lvalue)
            points_to_add_loaded(places, init, places->places[variable->place].number, &what);
        else
            rp_points_to_of_value(places, init, &what);
    }
    if (variable)
        put(places, variable->place, &what);
}

/** A function may put its arguments into local variables that it can reach. */
static void follow_call(struct rp_points_to *places, const struct rp_ast_node *call)
{
    struct rp_memory_set given = {0};

    points_to_add_call(places, call, &given);
    if (rp_ast_is_vector_call(rp_ast_call_target(call)))
        return;
    for (size_t i = memory_set_next(&given, 0); i < places->count;
         i = memory_set_next(&given, i + 1))
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
    } else if (rp_ast_is(node, "BinaryOperator") && ast_has_opcode(node, "=")) {
        struct rp_memory_set what = {0};

        if (rp_ast_child(node, 1)->lvalue)
            points_to_add_loaded(places, rp_ast_child(node, 1),
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

struct rp_points_to *rp_points_to_make(const struct rp_ast_node *function)
{
    struct rp_points_to *places = rp_new(struct rp_points_to);

    places->places = rp_alloc_zero(RP_MEMORY_OBJECTS_MAX, sizeof *places->places);
    new_memory(places, rp_strdup(rp_unknown_memory));
    collect_local(places, function, 0);
    if (places->variable_count)
        qsort(places->variables, places->variable_count, sizeof *places->variables, by_id);
    collect_outside(places, function);
    do {
        places->grown = false;
        follow(places, function);
    } while (places->grown);
    return places;
}

/* The walk goes once through the code, in the order in which it runs. */

struct walk {
    const struct rp_points_to *places;
    struct rp_accesses *accesses;
    size_t capacity, bytes;
    size_t first; /**< of the interval's accesses */
};

static void visit(struct walk *walk, const struct rp_ast_node *node);

static bool is_one_of(const struct rp_ast_node *node, const char *const *kinds)
{
    for (; *kinds; kinds++)
        if (rp_ast_is(node, *kinds))
            return true;
    return false;
}

static bool is_assignment(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "CompoundAssignOperator") ||
           (rp_ast_is(node, "BinaryOperator") && node->opcode && strcmp(node->opcode, "=") == 0);
}

static bool is_step(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "UnaryOperator") && node->opcode &&
           (strcmp(node->opcode, "++") == 0 || strcmp(node->opcode, "--") == 0);
}

/** Says whether a node is not run, or stands a second time in the tree. */
static bool is_left_out(const struct rp_ast_node *node)
{
    static const char *const kinds[] = {"CXXDefaultArgExpr",
                                        "CXXRecordDecl",
                                        "UnaryExprOrTypeTraitExpr",
                                        "CXXNoexceptExpr",
                                        "CXXTypeidExpr",
                                        "StaticAssertDecl",
                                        NULL};

    return !node->kind || is_one_of(node, kinds) || rp_ast_is_index(node);
}

/** The body of a lambda runs where it is called, so it is a part of its own. */
static bool is_lambda(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "LambdaExpr");
}

/** Says whether a node itself orders memory, once its operands are computed. */
static bool is_cut(const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);

    if (rp_ast_is(node, "AtomicExpr") || rp_ast_is(node, "GCCAsmStmt") || is_lambda(node) ||
        rp_ast_is(node, "MSAsmStmt") || rp_ast_accesses_volatile(node))
        return true;
    if (!target || rp_ast_is_vector_call(target))
        return false;
    return rp_known_function_effect(rp_ast_callee(target)) == RP_KNOWN_FUNCTION_UNKNOWN ||
           rp_known_function_effect(rp_ast_callee(target)) == RP_KNOWN_FUNCTION_SYNC;
}

static bool has_cut(const struct rp_ast_node *node)
{
    if (is_left_out(node))
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (has_cut(&node->children[i]))
            return true;
    return is_cut(node);
}

static void cut(struct walk *walk)
{
    walk->accesses->intervals++;
    walk->first = walk->accesses->count;
}

static void add_one(struct walk *walk, const char *name, enum rp_access_kind kind,
                    const struct rp_ast_node *node)
{
    struct rp_accesses *to = walk->accesses;

    for (size_t i = walk->first; i < to->count; i++)
        if (to->list[i].kind == kind && strcmp(to->list[i].name, name) == 0)
            return;
    rp_vec_grow(&to->list, &walk->capacity, to->count, 1, sizeof *to->list);
    to->list[to->count++] = (struct rp_access){
        .interval = to->intervals,
        .kind = kind,
        .name = rp_strdup(name),
        .offset = node->begin.in_file && node->begin.offset < walk->bytes ? node->begin.offset : 0};
}

static void add(struct walk *walk, const struct rp_memory_set *set, enum rp_access_kind kind,
                const struct rp_ast_node *node)
{
    for (size_t i = 0; i < walk->places->count; i++)
        if (rp_memory_set_has(set, i) && rp_memory_object_name(walk->places, i))
            add_one(walk, rp_memory_object_name(walk->places, i), kind, node);
}

static void add_lvalue(struct walk *walk, const struct rp_ast_node *lvalue, bool reads, bool writes,
                       bool is_volatile)
{
    struct rp_memory_set set = {0};

    rp_points_to_of_lvalue(walk->places, lvalue, &set);
    if (reads)
        add(walk, &set, is_volatile ? RP_ACCESS_VOLATILE_READ : RP_ACCESS_READ, lvalue);
    if (writes)
        add(walk, &set, is_volatile ? RP_ACCESS_VOLATILE_WRITE : RP_ACCESS_WRITE, lvalue);
}

static bool is_const(const struct rp_ast_node *node)
{
    return strncmp(rp_ast_type(node), "const ", strlen("const ")) == 0;
}

/** Adds what a function or constructor may do to an object or array that it gets. */
static void add_argument(struct walk *walk, const struct rp_ast_node *node, bool only_written)
{
    struct rp_memory_set set = {0};

    if (node->lvalue) {
        add_lvalue(walk, node, !only_written, !is_const(node), false);
    } else if (rp_ast_is_pointer(node)) {
        rp_points_to_of_value(walk->places, node, &set);
        add(walk, &set, RP_ACCESS_READ, node);
        if (!is_const(node))
            add(walk, &set, RP_ACCESS_WRITE, node);
    }
}

/** The first pointer of an atomic operation is its target. */
static bool add_atomic(struct walk *walk, const struct rp_ast_node *argument)
{
    struct rp_memory_set set = {0};

    if (argument->lvalue || !rp_ast_is_pointer(argument))
        return false;
    rp_points_to_of_value(walk->places, argument, &set);
    add(walk, &set, RP_ACCESS_ATOMIC, argument);
    return true;
}

static void visit_all(struct walk *walk, const struct rp_ast_node *node, size_t from)
{
    for (size_t i = from; i < node->count; i++)
        visit(walk, &node->children[i]);
}

static void visit_call(struct walk *walk, const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);
    const char *name = rp_ast_callee(target);
    bool vector = rp_ast_is_vector_call(target), atomic = false;
    bool assigns = vector && strcmp(name, "operator=") == 0;

    visit_all(walk, node, 0);
    if (rp_ast_is(target, "MemberExpr") && target->count && target->children[0].lvalue)
        add_argument(walk, &target->children[0], false);
    for (size_t i = 1; i < node->count; i++) {
        if (vector && node->lvalue && i == 1 && strcmp(name, "operator[]") == 0)
            continue; /* The access to the element counts. */
        if (!vector && !atomic && rp_known_function_effect(name) == RP_KNOWN_FUNCTION_SYNC)
            atomic = add_atomic(walk, &node->children[i]);
        else
            add_argument(walk, &node->children[i], assigns && i == 1);
    }
}

static void visit_atomic(struct walk *walk, const struct rp_ast_node *node)
{
    visit_all(walk, node, 0);
    for (size_t i = 0; i < node->count; i++)
        if (i > 0 || !add_atomic(walk, &node->children[i]))
            add_argument(walk, &node->children[i], false);
}

static void visit_in(struct walk *walk, const struct rp_ast_node *node, size_t from)
{
    bool cuts = false;

    for (size_t i = from; i < node->count; i++)
        cuts |= has_cut(&node->children[i]);
    if (cuts)
        cut(walk);
    visit_all(walk, node, from);
    if (cuts)
        cut(walk);
}

/** The last children run only under a condition. */
static void visit_branches(struct walk *walk, const struct rp_ast_node *node, size_t branches)
{
    size_t first = node->count > branches ? node->count - branches : 0;

    for (size_t i = 0; i < first; i++)
        visit(walk, &node->children[i]);
    for (size_t i = first; i < node->count; i++) {
        struct rp_ast_node branch = {.children = &node->children[i], .count = 1};

        visit_in(walk, &branch, 0);
    }
}

/** @return whether the node and everything below it need no further visit */
static bool visit_control(struct walk *walk, const struct rp_ast_node *node)
{
    static const char *const loops[] = {"WhileStmt", "DoStmt", "CXXForRangeStmt", NULL};
    static const char *const last[] = {"SwitchStmt", "CaseStmt", "DefaultStmt",
                                       "BinaryConditionalOperator", NULL};
    bool shortcut = rp_ast_is(node, "BinaryOperator") && node->opcode &&
                    (strcmp(node->opcode, "&&") == 0 || strcmp(node->opcode, "||") == 0);

    if (rp_ast_is(node, "ForStmt") && node->count) {
        visit(walk, &node->children[0]);
        visit_in(walk, node, 1);
    } else if (is_one_of(node, loops)) {
        visit_in(walk, node, 0);
    } else if (rp_ast_is(node, "IfStmt") || rp_ast_is(node, "ConditionalOperator")) {
        visit_branches(walk, node,
                       node->has_else || rp_ast_is(node, "ConditionalOperator") ? 2 : 1);
    } else if (shortcut || is_one_of(node, last)) {
        visit_branches(walk, node, 1);
    } else {
        return false;
    }
    return true;
}

static void visit_plain(struct walk *walk, const struct rp_ast_node *node)
{
    static const char *const constructors[] = {"CXXConstructExpr", "CXXTemporaryObjectExpr", NULL};
    bool is_volatile = rp_ast_accesses_volatile(node);

    if (is_assignment(node) && node->count == 2) {
        visit(walk, &node->children[1]); /* It runs first. */
        visit(walk, &node->children[0]);
        add_lvalue(walk, &node->children[0], rp_ast_is(node, "CompoundAssignOperator"), true,
                   is_volatile);
        return;
    }
    visit_all(walk, node, 0);
    if (is_step(node) && node->count)
        add_lvalue(walk, &node->children[0], true, true, is_volatile);
    else if (node->cast && node->count && strncmp(node->cast, "LValueToRValue", 14) == 0)
        add_lvalue(walk, &node->children[0], true, false, is_volatile);
    else if (is_one_of(node, constructors))
        for (size_t i = 0; i < node->count; i++)
            add_argument(walk, &node->children[i], false);
}

static void visit(struct walk *walk, const struct rp_ast_node *node)
{
    if (is_left_out(node) || visit_control(walk, node))
        return;
    if (is_lambda(node))
        cut(walk);
    if (rp_ast_call_target(node))
        visit_call(walk, node);
    else if (rp_ast_is(node, "AtomicExpr"))
        visit_atomic(walk, node);
    else
        visit_plain(walk, node);
    if (is_cut(node))
        cut(walk);
}

void rp_accesses_find(const struct rp_ast_node *function, const struct rp_points_to *places,
                      size_t bytes, struct rp_accesses *ret)
{
    struct walk walk = {.places = places, .accesses = ret, .bytes = bytes};

    *ret = (struct rp_accesses){0};
    for (size_t i = 0; i < function->count; i++)
        if (rp_ast_is(&function->children[i], "CompoundStmt"))
            visit(&walk, &function->children[i]);
    ret->intervals++;
}

void rp_accesses_free(struct rp_accesses *accesses)
{
    for (size_t i = 0; i < accesses->count; i++)
        free(accesses->list[i].name);
    free(accesses->list);
    *accesses = (struct rp_accesses){0};
}

/* The walk goes from stored values back to their operands, and is repeated until no more variables
 * are found to matter. */

struct arithmetic_walk {
    const struct rp_points_to *places;
    struct rp_arithmetic *found;
    size_t bytes;
    struct rp_memory_set matters; /**< local variables whose values reach memory */
    bool grown;
};

/** @return bits; 0: no number */
static unsigned width_of(const char *type, enum rp_number *ret)
{
    static const struct {
        const char *name;
        enum rp_number number;
        unsigned bits;
    } names[] = {{"double", RP_NUMBER_FLOATING, 64},    {"float", RP_NUMBER_FLOATING, 32},
                 {"_Float16", RP_NUMBER_FLOATING, 16},  {"__fp16", RP_NUMBER_FLOATING, 16},
                 {"__bf16", RP_NUMBER_FLOATING, 16},    {"unsigned long", RP_NUMBER_INTEGER, 64},
                 {"long", RP_NUMBER_INTEGER, 64},       {"unsigned int", RP_NUMBER_INTEGER, 32},
                 {"int", RP_NUMBER_INTEGER, 32},        {"unsigned short", RP_NUMBER_INTEGER, 16},
                 {"short", RP_NUMBER_INTEGER, 16},      {"unsigned char", RP_NUMBER_INTEGER, 8},
                 {"signed char", RP_NUMBER_INTEGER, 8}, {"char", RP_NUMBER_INTEGER, 8}};
    static const char *const before[] = {"const ", "volatile ", "HIP_vector_type<"};

    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(type, before[i], strlen(before[i])) == 0)
            type += strlen(before[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(type, names[i].name, strlen(names[i].name)) == 0 && !strpbrk(type, "*&(")) {
            *ret = names[i].number;
            return names[i].bits;
        }
    return 0;
}

static size_t step_of(unsigned bits)
{
    return bits >= 64 ? 3 : bits >= 32 ? 2 : bits >= 16 ? 1 : 0;
}

static void note(struct arithmetic_walk *walk, enum rp_operation operation,
                 const struct rp_ast_node *node)
{
    enum rp_number number = RP_NUMBER_INTEGER;
    unsigned bits = width_of(rp_ast_type(node), &number);
    size_t at = step_of(bits);

    if (bits == 0 || walk->found->kinds[number][operation][at].is)
        return;
    walk->found->kinds[number][operation][at].is = true;
    if (node->begin.in_file && node->begin.offset < walk->bytes)
        walk->found->kinds[number][operation][at].offset = node->begin.offset;
}

/** @return whether it computes something from its operands */
static bool note_operator(struct arithmetic_walk *walk, const struct rp_ast_node *node,
                          const char *opcode)
{
    static const struct {
        const char *opcode;
        enum rp_operation operation;
    } known[] = {
        {"+", RP_OPERATION_ADD},      {"-", RP_OPERATION_ADD},       {"++", RP_OPERATION_ADD},
        {"--", RP_OPERATION_ADD},     {"+=", RP_OPERATION_ADD},      {"-=", RP_OPERATION_ADD},
        {"*", RP_OPERATION_MULTIPLY}, {"*=", RP_OPERATION_MULTIPLY}, {"/", RP_OPERATION_DIVIDE},
        {"%", RP_OPERATION_DIVIDE},   {"/=", RP_OPERATION_DIVIDE},   {"%=", RP_OPERATION_DIVIDE}};
    static const char *const truths[] = {"<", ">", "<=", ">=", "==", "!=", "&&", "||", "<=>", "!"};

    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strcmp(opcode, truths[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(opcode, known[i].opcode) == 0)
            note(walk, known[i].operation, node);
    return true;
}

static void note_conversion(struct arithmetic_walk *walk, const struct rp_ast_node *node)
{
    enum rp_number to = RP_NUMBER_INTEGER, from = RP_NUMBER_INTEGER;
    unsigned bits = width_of(rp_ast_type(node), &to);

    if (node->count && bits && bits < width_of(rp_ast_type(&node->children[0]), &from) &&
        to == from)
        note(walk, RP_OPERATION_CONVERT, node);
}

/** The object that an lvalue stands for reaches memory. */
static void mark(struct arithmetic_walk *walk, const struct rp_ast_node *lvalue)
{
    struct rp_memory_set set = {0};

    rp_points_to_of_lvalue(walk->places, lvalue, &set);
    for (size_t i = 0; i < RP_MEMORY_SET_WORDS; i++) {
        walk->grown |= (set.words[i] & ~walk->matters.words[i]) != 0;
        walk->matters.words[i] |= set.words[i];
    }
}

static bool has_opcode(const struct rp_ast_node *node, const char *opcode)
{
    return node->opcode && strcmp(node->opcode, opcode) == 0;
}

static void value(struct arithmetic_walk *walk, const struct rp_ast_node *node);

/** Visits a call's arguments, and the object of a member. */
static void value_of_call(struct arithmetic_walk *walk, const struct rp_ast_node *node,
                          const struct rp_ast_node *target)
{
    const char *name = rp_ast_callee(target);

    if (rp_ast_is_vector_call(target) && strncmp(name, "operator", strlen("operator")) == 0)
        note_operator(walk, node, name + strlen("operator"));
    if (name && strstr(name, "fma")) {
        note(walk, RP_OPERATION_ADD, node);
        note(walk, RP_OPERATION_MULTIPLY, node);
    }
    for (size_t i = 0; rp_ast_is(target, "MemberExpr") && i < target->count; i++)
        value(walk, &target->children[i]);
    for (size_t i = 1; i < node->count; i++)
        value(walk, &node->children[i]);
}

/** Follows a value that reaches memory, and its operands. */
static void value(struct arithmetic_walk *walk, const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);
    bool shift = has_opcode(node, "<<") || has_opcode(node, ">>");
    size_t first = rp_ast_is(node, "ConditionalOperator") || has_opcode(node, ",");

    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node) ||
        rp_ast_is(node, "UnaryExprOrTypeTraitExpr") || rp_ast_is_pointer(node))
        return;
    if (node->lvalue) {
        mark(walk, node);
        return;
    }
    if (node->opcode && !note_operator(walk, node, node->opcode))
        return;
    if (target) {
        value_of_call(walk, node, target);
        return;
    }
    if (node->cast)
        note_conversion(walk, node);
    for (size_t i = first; i < node->count && !(shift && i > 0); i++)
        value(walk, &node->children[i]);
}

static bool reaches(const struct arithmetic_walk *walk, const struct rp_memory_set *set)
{
    for (size_t i = 0; i < walk->places->count; i++)
        if (rp_memory_set_has(set, i) &&
            (rp_memory_object_name(walk->places, i) || rp_memory_set_has(&walk->matters, i)))
            return true;
    return false;
}

static bool lvalue_reaches(const struct arithmetic_walk *walk, const struct rp_ast_node *lvalue)
{
    struct rp_memory_set set = {0};

    rp_points_to_of_lvalue(walk->places, lvalue, &set);
    return reaches(walk, &set);
}

static void arithmetic_visit_call(struct arithmetic_walk *walk, const struct rp_ast_node *node,
                                  const struct rp_ast_node *target)
{
    const char *name = rp_ast_callee(target);
    bool vector = rp_ast_is_vector_call(target);

    if (vector && node->count > 2 && node->lvalue && name[strlen(name) - 1] == '=' &&
        lvalue_reaches(walk, &node->children[1])) {
        note_operator(walk, node, name + strlen("operator"));
        value(walk, &node->children[2]);
    } else if (!vector && rp_known_function_effect(name) != RP_KNOWN_FUNCTION_PURE) {
        for (size_t i = 1; i < node->count; i++)
            value(walk, &node->children[i]);
    }
}

static void arithmetic_visit(struct arithmetic_walk *walk, const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);
    bool compound = rp_ast_is(node, "CompoundAssignOperator");
    bool assigns = compound || (rp_ast_is(node, "BinaryOperator") && has_opcode(node, "="));
    bool steps = has_opcode(node, "++") || has_opcode(node, "--");

    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node))
        return;
    if (rp_ast_is(node, "VarDecl") && points_to_declared(walk->places, node, &walk->matters))
        for (size_t i = 0; i < node->count; i++)
            value(walk, &node->children[i]);
    if ((assigns || steps) && node->count && lvalue_reaches(walk, &node->children[0])) {
        if (node->opcode) /* A dump may lack the opcode. */
            note_operator(walk, node, node->opcode);
        if (assigns && node->count == 2)
            value(walk, &node->children[1]);
    }
    if (target)
        arithmetic_visit_call(walk, node, target);
    for (size_t i = 0; rp_ast_is(node, "AtomicExpr") && i < node->count; i++)
        value(walk, &node->children[i]);
    for (size_t i = 0; i < node->count; i++)
        if (i != 3 || !rp_ast_is(node, "ForStmt")) /* This is the step of its counter. */
            arithmetic_visit(walk, &node->children[i]);
}

void rp_arithmetic_find(const struct rp_ast_node *function, const struct rp_points_to *places,
                        size_t bytes, struct rp_arithmetic *ret)
{
    struct arithmetic_walk walk = {.places = places, .found = ret, .bytes = bytes};

    *ret = (struct rp_arithmetic){0};
    do {
        walk.grown = false;
        arithmetic_visit(&walk, function);
    } while (walk.grown);
}

static int refuse(const struct rp_shape_text *candidate, enum rp_number number,
                  enum rp_operation operation, unsigned bits, unsigned before, size_t offset,
                  struct rp_err *err)
{
    static const char *const operations[] = {
        [RP_OPERATION_ADD] = "adds",
        [RP_OPERATION_MULTIPLY] = "multiplies",
        [RP_OPERATION_DIVIDE] = "divides",
        [RP_OPERATION_CONVERT] = "makes narrower to",
    };
    const char *numbers = number == RP_NUMBER_INTEGER ? "integers" : "floating-point numbers";

    return rp_fail(err, RP_VERDICT,
                   "line %u: this %s %s of %u bits, where the original computes with %u: what "
                   "reaches memory keeps the width of its arithmetic",
                   rp_shape_line(candidate, offset), operations[operation], numbers, bits, before);
}

/** Says whether the original has nothing as narrow as that, or the candidate nothing as wide. */
static bool is_narrower(const struct rp_arithmetic *was, const struct rp_arithmetic *is,
                        enum rp_number number, enum rp_operation operation, size_t wide,
                        size_t narrow)
{
    if (!is->kinds[number][operation][narrow].is)
        return false;
    if (!was->kinds[number][operation][narrow].is)
        return true;
    for (size_t at = wide; operation != RP_OPERATION_CONVERT && at < RP_WIDTHS; at++)
        if (is->kinds[number][operation][at].is)
            return false;
    return operation != RP_OPERATION_CONVERT;
}

int rp_arithmetic_compare(const struct rp_arithmetic *was, const struct rp_shape_text *candidate,
                          const struct rp_arithmetic *is, struct rp_err *err)
{
    for (int number = 0; number < RP_NUMBERS; number++)
        for (int operation = 0; operation < RP_OPERATIONS; operation++)
            for (size_t wide = RP_WIDTHS; wide-- > 1;) {
                /* For conversions it matters that anything of that width is computed. */
                bool has = was->kinds[number][operation][wide].is;

                for (int other = 0; operation == RP_OPERATION_CONVERT && other < operation; other++)
                    has |= was->kinds[number][other][wide].is;
                for (size_t narrow = 0; has && narrow < wide; narrow++)
                    if (is_narrower(was, is, (enum rp_number)number, (enum rp_operation)operation,
                                    wide, narrow))
                        return refuse(candidate, (enum rp_number)number,
                                      (enum rp_operation)operation, 8U << narrow, 8U << wide,
                                      is->kinds[number][operation][narrow].offset, err);
            }
    return 0;
}

unsigned rp_shape_line(const struct rp_shape_text *in, size_t offset)
{
    unsigned line = in->line;

    for (size_t i = in->begin; i < offset; i++)
        line += in->text[i] == '\n';
    return line;
}
