/* Arguments that are constants, as the compiler would evaluate them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "optimize/ast.h"
#include "optimize/places.h"
#include "optimize/shape_items.h"

/* Constants of constants of constants ...; of two of them each, that are many. */
enum { MOST_DEPTH = 32, MOST_NODES = 1024 };

struct integer {
    unsigned bits;
    bool is_signed;
};

/** @return false: it is none that is known */
static bool integer_of(const struct rp_ast_node *node, struct integer *ret)
{
    static const struct {
        const char *name;
        struct integer is;
    } known[] = {{"bool", {1, false}},
                 {"signed char", {8, true}},
                 {"unsigned char", {8, false}},
                 {"short", {16, true}},
                 {"unsigned short", {16, false}},
                 {"int", {32, true}},
                 {"unsigned int", {32, false}},
                 {"long", {64, true}},
                 {"unsigned long", {64, false}},
                 {"long long", {64, true}},
                 {"unsigned long long", {64, false}}};
    const char *type = rp_ast_type(node);

    if (strncmp(type, "const ", strlen("const ")) == 0)
        type += strlen("const ");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(type, known[i].name) == 0) {
            *ret = known[i].is;
            return true;
        }
    return false;
}

/**
 * What becomes of a value in the type of a node. What the language leaves open and what is larger
 * than int64_t is no constant here.
 */
static bool fit(const struct rp_ast_node *node, int64_t value, int64_t *ret)
{
    struct integer type;
    int64_t limit;

    *ret = value;
    if (!integer_of(node, &type))
        return false;
    if (type.bits == 64)
        return type.is_signed || value >= 0;
    limit = (int64_t)1 << (type.bits - type.is_signed);
    if (type.is_signed)
        return value >= -limit && value < limit;
    *ret = value & (limit - 1);
    return true;
}

/** The value of a constant variable of the kernel. NULL: it is none. */
static const struct rp_ast_node *initial(const struct rp_shape_walk *walk,
                                         const struct rp_ast_node *node)
{
    const struct rp_ast_node *variable =
        rp_ast_is(node, "DeclRefExpr") ? rp_shape_local(walk, node->ref_id) : NULL;

    return variable && rp_ast_is(variable, "VarDecl") && variable->type && variable->count &&
                   strncmp(variable->type, "const ", strlen("const ")) == 0
               ? &variable->children[0]
               : NULL;
}

/** What stands for its operand as it is. NULL: it does not. */
static const struct rp_ast_node *same_value(const struct rp_ast_node *node)
{
    static const char *const kinds[] = {"ParenExpr", "ConstantExpr", "InitListExpr",
                                        "SubstNonTypeTemplateParmExpr"};
    static const char *const casts[] = {"NoOp", "LValueToRValue", "ArrayToPointerDecay"};

    if (node->count == 0)
        return NULL;
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        if (node->cast && strcmp(node->cast, casts[i]) == 0)
            return &node->children[node->count - 1];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (rp_ast_is(node, kinds[i]))
            return &node->children[node->count - 1];
    return NULL;
}

/** Below what changes no value, and the constant variables of the kernel. */
static const struct rp_ast_node *bare(const struct rp_shape_walk *walk,
                                      const struct rp_ast_node *node)
{
    for (unsigned depth = 0; depth < MOST_DEPTH; depth++) {
        const struct rp_ast_node *below = initial(walk, node);

        if (!below && !(below = same_value(node)))
            break;
        node = below;
    }
    return node;
}

/** @return false: it is not known here, or has no value */
static bool apply(const char *opcode, int64_t a, int64_t b, int64_t *ret)
{
    bool shift = b >= 0 && b < 32 && a >= 0;

    if (strcmp(opcode, "+") == 0)
        return !__builtin_add_overflow(a, b, ret);
    if (strcmp(opcode, "-") == 0)
        return !__builtin_sub_overflow(a, b, ret);
    if (strcmp(opcode, "*") == 0)
        return !__builtin_mul_overflow(a, b, ret);
    if (strcmp(opcode, "/") == 0 && b > 0)
        *ret = a / b;
    else if (strcmp(opcode, "%") == 0 && b > 0)
        *ret = a % b;
    else if (strcmp(opcode, "<<") == 0 && shift)
        return !__builtin_mul_overflow(a, (int64_t)1 << b, ret);
    else if (strcmp(opcode, ">>") == 0 && shift)
        *ret = a >> b;
    else if (strcmp(opcode, "&") == 0)
        *ret = a & b;
    else if (strcmp(opcode, "|") == 0)
        *ret = a | b;
    else if (strcmp(opcode, "^") == 0)
        *ret = a ^ b;
    else
        return false;
    return true;
}

/** Each node in its own type, as the language does. */
static bool evaluate(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                     unsigned *left, int64_t *ret)
{
    int64_t a, b, value;

    if (*left == 0)
        return false;
    --*left;
    node = bare(walk, node);
    if (rp_ast_is(node, "IntegerLiteral") && node->value) {
        errno = 0;
        value = strtoll(node->value, NULL, 10);
        return errno == 0 && fit(node, value, ret);
    }
    if (node->count == 0 ||
        !evaluate(walk, &node->children[node->cast ? node->count - 1 : 0], left, &a))
        return false;
    if (node->cast && strcmp(node->cast, "IntegralToBoolean") == 0)
        return fit(node, a != 0, ret);
    if (node->cast)
        return strcmp(node->cast, "IntegralCast") == 0 && fit(node, a, ret);
    if (!node->opcode)
        return false;
    if (rp_ast_is(node, "UnaryOperator") && strcmp(node->opcode, "-") == 0)
        return apply("-", 0, a, &value) && fit(node, value, ret);
    if (rp_ast_is(node, "UnaryOperator") && strcmp(node->opcode, "~") == 0)
        return fit(node, ~a, ret);
    return rp_ast_is(node, "BinaryOperator") && node->count == 2 &&
           evaluate(walk, &node->children[1], left, &b) && apply(node->opcode, a, b, &value) &&
           fit(node, value, ret);
}

/** Constants of outside and parameters of templates are what they were, if they are the same. */
static bool is_named_constant(const struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    if (!rp_ast_is(node, "DeclRefExpr") || !node->ref_kind || !node->ref_name)
        return false;
    if (strcmp(node->ref_kind, "EnumConstantDecl") == 0 ||
        strcmp(node->ref_kind, "NonTypeTemplateParmDecl") == 0)
        return true;
    return strcmp(node->ref_kind, "VarDecl") == 0 && !rp_shape_local(walk, node->ref_id) &&
           node->ref_type && strncmp(node->ref_type, "const ", strlen("const ")) == 0;
}

/** With the types that it is turned into: they may change its value. */
static bool add_named_constant(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                               struct rp_buf *out)
{
    rp_autobuf types = {0};

    node = bare(walk, node);
    for (unsigned depth = 0; node->cast && node->count && depth < MOST_DEPTH; depth++) {
        rp_buf_printf(&types, " as %s", rp_ast_type(node));
        node = bare(walk, &node->children[node->count - 1]);
    }
    if (!is_named_constant(walk, node))
        return false;
    rp_buf_printf(out, " %s%s", node->ref_name, rp_buf_text(&types));
    return true;
}

bool rp_shape_constant(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                       struct rp_buf *out)
{
    const struct rp_ast_node *below = bare(walk, node);
    unsigned left = MOST_NODES;
    int64_t value;

    if (evaluate(walk, node, &left, &value)) {
        rp_buf_printf(out, " %lld", (long long)value);
        return true;
    }
    if (rp_ast_is(below, "StringLiteral") && below->value) {
        rp_buf_printf(out, " %s", below->value);
        return true;
    }
    return add_named_constant(walk, node, out);
}
