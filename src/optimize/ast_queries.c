/* What a node of the tree calls, and what is known of that by its name. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/memory_effects.h"

enum match { EXACT, PREFIX };

/** Items of a shape go on with "()". */
static bool is_end(char c)
{
    return c == '\0' || c == '(';
}

enum rp_known_function_effect rp_known_function_effect(const char *name)
{
    static const struct {
        const char *name;
        enum match match;
        enum rp_known_function_effect effect;
    } known[] = {
#define RP_KNOWN_FUNCTION(name, match, effect) {name, match, RP_KNOWN_FUNCTION_##effect},
#include "optimize/known_functions.def"
#undef RP_KNOWN_FUNCTION
    };

    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strncmp(name, known[i].name, strlen(known[i].name)) == 0 &&
            (known[i].match == PREFIX || is_end(name[strlen(known[i].name)])))
            return known[i].effect;
    return RP_KNOWN_FUNCTION_UNKNOWN;
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

static bool makes_object(const struct rp_ast_node *node)
{
    static const char *const kinds[] = {"VarDecl",
                                        "InitListExpr",
                                        "CXXParenListInitExpr",
                                        "CXXConstructExpr",
                                        "CXXTemporaryObjectExpr",
                                        "CXXUnresolvedConstructExpr",
                                        "CXXBindTemporaryExpr",
                                        "MaterializeTemporaryExpr",
                                        "CXXScalarValueInitExpr",
                                        "CompoundLiteralExpr"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (rp_ast_is(node, kinds[i]))
            return true;
    return false;
}

/** Names in types that are no classes of the program. */
static bool is_plain_name(const char *name, size_t bytes)
{
    static const char *const plain[] = {
        "const",  "volatile", "restrict", "__restrict", "unsigned",        "signed",
        "char",   "short",    "int",      "long",       "float",           "double",
        "bool",   "void",     "auto",     "_Bool",      "__int128",        "_Float16",
        "__fp16", "__bf16",   "char8_t",  "char16_t",   "char32_t",        "wchar_t",
        "struct", "class",    "union",    "enum",       "HIP_vector_type", "__attribute__"};

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strlen(plain[i]) == bytes && memcmp(plain[i], name, bytes) == 0)
            return true;
    return false;
}

static bool is_name_byte(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

/** Bytes of a name with its namespaces. */
static size_t name_length(const char *name)
{
    size_t length = 0;

    while (is_name_byte(name[length]) ||
           (name[length] == ':' && name[length + 1] == ':' && is_name_byte(name[length + 2])))
        length += name[length] == ':' ? 2 : 1;
    return length;
}

size_t rp_ast_class_name(const struct rp_ast_node *node, size_t *at, const char **ret)
{
    const char *type = node->desugared ? node->desugared : node->type;

    /* Lambdas and unnamed classes are compared as such. */
    if (!type || !makes_object(node) || type[0] == '<' || strstr(type, " at "))
        return 0;
    while (type[*at]) {
        const char *name = type + *at;
        size_t length = name_length(name);

        *at += length ? length : 1;
        if (length == 0 || (name[0] >= '0' && name[0] <= '9') || is_plain_name(name, length))
            continue;
        *ret = name;
        return length;
    }
    return 0;
}

bool rp_ast_is_plain_type(const char *type)
{
    if (strpbrk(type, "*&(<") && !is_vector(type))
        return false;
    while (*type) {
        size_t length = name_length(type);

        if (length && !(type[0] >= '0' && type[0] <= '9') && !is_plain_name(type, length))
            return false;
        type += length ? length : 1;
    }
    return true;
}

bool rp_ast_calls_pointer(const struct rp_ast_node *call)
{
    const struct rp_ast_node *callee = call->count ? &call->children[0] : NULL;

    while (callee && callee->count == 1 && (callee->cast || rp_ast_is(callee, "ParenExpr")) &&
           !rp_ast_callee(callee))
        callee = &callee->children[0];
    return callee && !rp_ast_callee(callee) && !rp_ast_is(callee, "CXXDependentScopeMemberExpr") &&
           !rp_ast_is(callee, "CXXPseudoDestructorExpr");
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

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

void rp_ast_expression_text(struct rp_buf *out, const struct rp_ast_node *node)
{
    bool typed = node->cast || rp_ast_is(node, "VarDecl");

    if (rp_ast_is(node, "ParenExpr") && node->count) {
        rp_ast_expression_text(out, &node->children[node->count - 1]);
        return;
    }
    rp_buf_printf(out, "(%s %s %s %s %s %s %s", or_nothing(node->kind), or_nothing(node->opcode),
                  or_nothing(node->name), or_nothing(node->ref_name), or_nothing(node->value),
                  or_nothing(node->cast), typed ? rp_ast_type(node) : "");
    for (size_t i = 0; i < node->count; i++)
        rp_ast_expression_text(out, &node->children[i]);
    rp_buf_puts(out, ")");
}
