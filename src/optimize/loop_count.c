#include "optimize/loop_count.h"

#include <stdlib.h>
#include <string.h>

#include "optimize/ast.h"

/* This bounds a loop's numbers, because constants of two constants of two constants ... have no end
 * otherwise. */
enum { MOST_NODES = 1024 };

static bool evaluate(const struct rp_ast_node *node, const struct rp_ast_node *function,
                     unsigned *left, int64_t *ret);

bool rp_compute(const char *opcode, int64_t a, int64_t b, int64_t *ret)
{
    if (rp_is_text(opcode, "+"))
        return !__builtin_add_overflow(a, b, ret);
    if (rp_is_text(opcode, "-"))
        return !__builtin_sub_overflow(a, b, ret);
    if (rp_is_text(opcode, "*"))
        return !__builtin_mul_overflow(a, b, ret);
    if (rp_is_text(opcode, "/") && b > 0 && a >= 0) {
        *ret = a / b;
        return true;
    }
    if (rp_is_text(opcode, "<<") && a >= 0 && a < 1 << 30 && b >= 0 && b < 31) {
        *ret = a << b;
        return true;
    }
    return false;
}

static bool evaluate_binary(const struct rp_ast_node *node, const struct rp_ast_node *function,
                            unsigned *left, int64_t *ret)
{
    int64_t a, b;

    if (node->count != 2 || !node->opcode || !evaluate(&node->children[0], function, left, &a) ||
        !evaluate(&node->children[1], function, left, &b))
        return false;
    return rp_compute(node->opcode, a, b, ret);
}

/** Returns the initial value of a variable that keeps it. */
static bool evaluate_constant(const struct rp_ast_node *node, const struct rp_ast_node *function,
                              unsigned *left, int64_t *ret)
{
    const struct rp_ast_node *variable = rp_ast_declaration(function, rp_ast_variable(node));

    return variable && variable->count == 1 &&
           (variable->constant ||
            (variable->type && strncmp(variable->type, "const ", strlen("const ")) == 0 &&
             !strchr(variable->type, '*'))) &&
           evaluate(&variable->children[0], function, left, ret);
}

static bool evaluate(const struct rp_ast_node *node, const struct rp_ast_node *function,
                     unsigned *left, int64_t *ret)
{
    char *end;

    node = rp_ast_bare(node);
    if (*left == 0)
        return false;
    --*left;
    if (rp_ast_is(node, "IntegerLiteral") && node->value) {
        *ret = strtoll(node->value, &end, 10);
        return *end == '\0' && *ret != INT64_MAX;
    }
    if ((rp_ast_is(node, "SubstNonTypeTemplateParmExpr") || rp_ast_is(node, "ConstantExpr")) &&
        node->count)
        return evaluate(&node->children[node->count - 1], function, left, ret);
    if (rp_ast_is(node, "BinaryOperator"))
        return evaluate_binary(node, function, left, ret);
    if (rp_ast_is(node, "UnaryOperator") && rp_is_text(node->opcode, "-") && node->count == 1) {
        return evaluate(&node->children[0], function, left, ret) &&
               !__builtin_sub_overflow(0, *ret, ret);
    }
    return rp_ast_variable(node) && evaluate_constant(node, function, left, ret);
}

bool rp_constant(const struct rp_ast_node *node, const struct rp_ast_node *function, int64_t *ret)
{
    unsigned left = MOST_NODES;

    return evaluate(node, function, &left, ret);
}

/** Says whether a variable in an expression is changed in the loop. */
static bool varies(const struct rp_ast_node *node, const struct rp_ast_node *loop)
{
    uint64_t variable = rp_ast_variable(node);

    if (variable && (rp_ast_changes(&loop->children[RP_FOR_BODY], variable) ||
                     rp_ast_changes(&loop->children[RP_FOR_STEP], variable)))
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (varies(&node->children[i], loop))
            return true;
    return false;
}

struct step {
    uint64_t variable;
    const struct rp_ast_node *by; /**< NULL: 1 */
    bool down;
};

/** Reads i++, --i, i += 2; of several with commas it takes the one with the wanted variable. */
static bool read_step(const struct rp_ast_node *node, const struct rp_ast_node *condition,
                      struct step *ret)
{
    bool plus, minus;

    node = rp_ast_bare(node);
    if (rp_ast_is(node, "BinaryOperator") && rp_is_text(node->opcode, ",") && node->count == 2)
        return read_step(&node->children[0], condition, ret) ||
               read_step(&node->children[1], condition, ret);
    plus = rp_is_text(node->opcode, "++") || rp_is_text(node->opcode, "+=");
    minus = rp_is_text(node->opcode, "--") || rp_is_text(node->opcode, "-=");
    if (!(plus || minus) || node->count == 0)
        return false;
    ret->variable = rp_ast_variable(&node->children[0]);
    ret->by = node->count == 2 ? &node->children[1] : NULL;
    ret->down = minus;
    return ret->variable && (rp_ast_variable(&condition->children[0]) == ret->variable ||
                             rp_ast_variable(&condition->children[1]) == ret->variable);
}

static const struct rp_ast_node *initial_value(const struct rp_ast_node *init, uint64_t variable)
{
    if (rp_ast_is(init, "VarDecl") && init->id == variable && init->count)
        return &init->children[init->count - 1];
    if (rp_ast_is(init, "BinaryOperator") && rp_is_text(init->opcode, "=") && init->count == 2 &&
        rp_ast_variable(&init->children[0]) == variable)
        return &init->children[1];
    for (size_t i = 0; i < init->count; i++) {
        const struct rp_ast_node *found = initial_value(&init->children[i], variable);

        if (found)
            return found;
    }
    return NULL;
}

/** Turns the operator round, as if the variable stood at the left. */
static const char *turned(const char *opcode)
{
    static const char *const pairs[][2] = {{"<", ">"}, {"<=", ">="}, {">", "<"}, {">=", "<="}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (rp_is_text(opcode, pairs[i][0]))
            return pairs[i][1];
    return opcode;
}

static void count_trips(int64_t from, int64_t to, int64_t by, bool down, const char *opcode,
                        struct rp_loop_count *ret)
{
    int64_t distance,
        limit = (int64_t)1 << 40; /**< no kernel counts that far, and sums stay small */
    bool up_to = rp_is_text(opcode, "<") || rp_is_text(opcode, "<=");

    if (by <= 0 || from < -limit || from > limit || to < -limit || to > limit || by > limit)
        return;
    distance = down ? from - to : to - from;
    if (rp_is_text(opcode, "!=")) {
        ret->known = distance >= 0 && distance % by == 0;
        ret->trips = ret->known ? (uint64_t)(distance / by) : 0;
        return;
    }
    if (up_to == down)
        return; /* The step leads away from the bound. */
    distance += rp_is_text(opcode, "<=") || rp_is_text(opcode, ">=");
    ret->known = true;
    ret->trips = distance > 0 ? (uint64_t)((distance + by - 1) / by) : 0;
}

static bool is_comparison(const struct rp_ast_node *node)
{
    static const char *const known[] = {"<", "<=", ">", ">=", "!="};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (rp_ast_is(node, "BinaryOperator") && node->count == 2 &&
            rp_is_text(node->opcode, known[i]))
            return true;
    return false;
}

struct rp_loop_count rp_loop_count(const struct rp_ast_node *loop,
                                   const struct rp_ast_node *function)
{
    struct rp_loop_count count = {.why_not = "it is no for loop that counts to a bound"};
    const struct rp_ast_node *condition, *bound, *init;
    struct step step = {0};
    int64_t from, to, by = 1;
    bool first;

    if (!rp_ast_is(loop, "ForStmt") || loop->count != RP_FOR_CHILDREN)
        return count;
    condition = rp_ast_bare(&loop->children[RP_FOR_CONDITION]);
    if (!is_comparison(condition))
        return count;
    count.why_not = "its counter does not change by steps of one size";
    if (!read_step(&loop->children[RP_FOR_STEP], condition, &step))
        return count;
    first = rp_ast_variable(&condition->children[0]) == step.variable;
    bound = &condition->children[first ? 1 : 0];
    count.why_not = "its body changes its counter or its bound";
    if (rp_ast_changes(&loop->children[RP_FOR_BODY], step.variable) || varies(bound, loop) ||
        (step.by && varies(step.by, loop)))
        return count;
    count.counted = true;
    count.why_not = NULL;
    init = initial_value(&loop->children[RP_FOR_INIT], step.variable);
    if (init && rp_constant(init, function, &from) && rp_constant(bound, function, &to) &&
        (!step.by || rp_constant(step.by, function, &by)))
        count_trips(from, to, by, step.down, first ? condition->opcode : turned(condition->opcode),
                    &count);
    return count;
}
