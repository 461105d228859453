/* One walk in the order in which things run. */
#include "optimize/accesses.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/places.h"

struct walk {
    const struct rp_places *places;
    struct rp_accesses *accesses;
    size_t capacity, bytes;
    size_t first; /* of the interval's accesses */
    bool failed;
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

/** What is not run, and what stands a second time in the tree. */
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

/** What is in it is done where it is called: it is a part of its own. */
static bool is_lambda(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "LambdaExpr");
}

/** Whether what a node itself does, once its operands are there, orders memory. */
static bool is_cut(const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);

    if (rp_ast_is(node, "AtomicExpr") || rp_ast_is(node, "GCCAsmStmt") || is_lambda(node) ||
        rp_ast_is(node, "MSAsmStmt") || rp_ast_accesses_volatile(node))
        return true;
    if (!target || rp_ast_is_vector_call(target))
        return false;
    return rp_callee_effect(rp_ast_callee(target)) == RP_CALLEE_UNKNOWN ||
           rp_callee_effect(rp_ast_callee(target)) == RP_CALLEE_SYNC;
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
    if (to->count == walk->capacity) {
        size_t capacity = walk->capacity ? 2 * walk->capacity : 32;
        struct rp_access *more = realloc(to->list, capacity * sizeof *more);

        if (!more) {
            walk->failed = true;
            return;
        }
        to->list = more;
        walk->capacity = capacity;
    }
    to->list[to->count] = (struct rp_access){
        .interval = to->intervals,
        .kind = kind,
        .name = strdup(name),
        .offset = node->begin.in_file && node->begin.offset < walk->bytes ? node->begin.offset : 0};
    if (to->list[to->count].name)
        to->count++;
    else
        walk->failed = true;
}

static void add(struct walk *walk, const struct rp_place_set *set, enum rp_access_kind kind,
                const struct rp_ast_node *node)
{
    for (size_t i = 0; i < rp_places_count(walk->places); i++)
        if (rp_place_in(set, i) && rp_place_name(walk->places, i))
            add_one(walk, rp_place_name(walk->places, i), kind, node);
}

static void add_lvalue(struct walk *walk, const struct rp_ast_node *lvalue, bool reads, bool writes,
                       bool is_volatile)
{
    struct rp_place_set set = {0};

    rp_places_of_lvalue(walk->places, lvalue, &set);
    if (reads)
        add(walk, &set, is_volatile ? RP_ACCESS_VOLATILE_READ : RP_ACCESS_READ, lvalue);
    if (writes)
        add(walk, &set, is_volatile ? RP_ACCESS_VOLATILE_WRITE : RP_ACCESS_WRITE, lvalue);
}

static bool is_const(const struct rp_ast_node *node)
{
    return strncmp(rp_ast_type(node), "const ", strlen("const ")) == 0;
}

/** An object or array that a function or constructor is given: what may it do to it? */
static void add_argument(struct walk *walk, const struct rp_ast_node *node, bool only_written)
{
    struct rp_place_set set = {0};

    if (node->lvalue) {
        add_lvalue(walk, node, !only_written, !is_const(node), false);
    } else if (rp_ast_is_pointer(node)) {
        rp_places_of_value(walk->places, node, &set);
        add(walk, &set, RP_ACCESS_READ, node);
        if (!is_const(node))
            add(walk, &set, RP_ACCESS_WRITE, node);
    }
}

/** The first pointer of an atomic operation is what it is done to. */
static bool add_atomic(struct walk *walk, const struct rp_ast_node *argument)
{
    struct rp_place_set set = {0};

    if (argument->lvalue || !rp_ast_is_pointer(argument))
        return false;
    rp_places_of_value(walk->places, argument, &set);
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
            continue; /* what is done to the element counts */
        if (!vector && !atomic && rp_callee_effect(name) == RP_CALLEE_SYNC)
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

/** @return whether the node and what is below it are done with */
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
        visit(walk, &node->children[1]); /* it comes first */
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
    if (is_left_out(node) || walk->failed || visit_control(walk, node))
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

int rp_accesses_find(const struct rp_ast_node *function, const struct rp_places *places,
                     size_t bytes, struct rp_accesses *ret, struct rp_err *err)
{
    struct rp_accesses found = {0};
    struct walk walk = {.places = places, .accesses = &found, .bytes = bytes};

    for (size_t i = 0; i < function->count; i++)
        if (rp_ast_is(&function->children[i], "CompoundStmt"))
            visit(&walk, &function->children[i]);
    found.intervals++;
    if (walk.failed) {
        rp_accesses_free(&found);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = found;
    return 0;
}

void rp_accesses_free(struct rp_accesses *accesses)
{
    for (size_t i = 0; i < accesses->count; i++)
        free(accesses->list[i].name);
    free(accesses->list);
    *accesses = (struct rp_accesses){0};
}
