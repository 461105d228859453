/* What a node of the tree calls, and what is known of that by its name. */
#include <string.h>

#include "optimize/ast.h"
#include "optimize/kernel_shape.h"

enum match { EXACT, PREFIX };

enum rp_callee_effect rp_callee_effect(const char *name)
{
    static const struct {
        const char *name;
        enum match match;
        enum rp_callee_effect effect;
    } known[] = {
#define RP_CALLEE(name, match, effect) {name, match, RP_CALLEE_##effect},
#include "optimize/callees.def"
#undef RP_CALLEE
    };

    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (known[i].match == EXACT ? strcmp(name, known[i].name) == 0
                                    : strncmp(name, known[i].name, strlen(known[i].name)) == 0)
            return known[i].effect;
    return RP_CALLEE_UNKNOWN;
}

static bool is_text(const char *text, const char *is)
{
    return text && strcmp(text, is) == 0;
}

const char *rp_ast_callee(const struct rp_ast_node *node)
{
    static const char *const functions[] = {"FunctionDecl", "CXXMethodDecl", "CXXConversionDecl",
                                            "FunctionTemplateDecl"};

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (rp_ast_is(node, "DeclRefExpr") && is_text(node->ref_kind, functions[i]))
            return node->ref_name ? node->ref_name : "?";
    if (rp_ast_is(node, "MemberExpr") && node->type &&
        (is_text(node->type, "<bound member function type>") || strchr(node->type, '(')))
        return node->name ? node->name : "?";
    if (rp_ast_is(node, "UnresolvedLookupExpr") || rp_ast_is(node, "UnresolvedMemberExpr") ||
        rp_ast_is(node, "DependentScopeDeclRefExpr"))
        return node->name ? node->name : "?";
    if (rp_ast_is(node, "CXXConstructExpr") || rp_ast_is(node, "CXXTemporaryObjectExpr") ||
        rp_ast_is(node, "CXXUnresolvedConstructExpr") ||
        rp_ast_is(node, "CXXInheritedCtorInitExpr"))
        return "constructor";
    return NULL;
}

bool rp_ast_is_index(const struct rp_ast_node *node)
{
    static const char type[] = "const __hip_builtin_";

    if (rp_ast_is(node, "DeclRefExpr"))
        return node->ref_type && strncmp(node->ref_type, type, sizeof type - 1) == 0;
    return (rp_ast_is(node, "PseudoObjectExpr") || rp_ast_is(node, "MSPropertyRefExpr") ||
            rp_ast_is(node, "OpaqueValueExpr")) &&
           node->count && rp_ast_is_index(&node->children[0]);
}

/** HIP_vector_type<float, 4>, float4, with or without const. */
static bool is_vector(const char *type)
{
    static const char *const scalars[] = {"char",     "uchar",     "short", "ushort",
                                          "int",      "uint",      "long",  "ulong",
                                          "longlong", "ulonglong", "float", "double"};

    if (!type)
        return false;
    if (strncmp(type, "const ", strlen("const ")) == 0)
        type += strlen("const ");
    if (strncmp(type, "HIP_vector_type<", strlen("HIP_vector_type<")) == 0)
        return strchr(type, '>') && strchr(type, '>')[1] == '\0';
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        size_t length = strlen(scalars[i]);

        if (strncmp(type, scalars[i], length) == 0 && type[length] >= '1' && type[length] <= '4' &&
            !type[length + 1])
            return true;
    }
    return false;
}

bool rp_ast_is_vector_call(const struct rp_ast_node *node)
{
    const char *name = rp_ast_callee(node);

    if (is_text(name, "constructor"))
        return is_vector(node->type);
    return name && strncmp(name, "operator", strlen("operator")) == 0 && node->ref_type &&
           strstr(node->ref_type, "HIP_vector_type<");
}

/** Whether the thing itself is volatile, not what it points to. */
static bool is_volatile(const char *type)
{
    const char *star = type ? strrchr(type, '*') : NULL;

    return type && strstr(star ? star : type, "volatile");
}

bool rp_ast_accesses_volatile(const struct rp_ast_node *node)
{
    const struct rp_ast_node *operand = node->count ? &node->children[0] : NULL;

    if (!operand)
        return false;
    if (is_text(node->cast, "LValueToRValue"))
        return is_volatile(operand->type);
    if (rp_ast_is(node, "CompoundAssignOperator") ||
        (rp_ast_is(node, "BinaryOperator") && is_text(node->opcode, "=")) ||
        (rp_ast_is(node, "UnaryOperator") &&
         (is_text(node->opcode, "++") || is_text(node->opcode, "--"))))
        return is_volatile(operand->type);
    return false;
}
