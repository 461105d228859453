/* The walk goes from stored values back to their operands, and is repeated until no more variables
 * are found to matter. What a pointer leads to is memory; a variable whose address is taken
 * matters. */
#include "optimize/arithmetic_width.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "optimize/ast.h"

struct arithmetic_walk {
    const struct rp_ast_node *const *locals;
    size_t local_count;
    bool *matters; /**< of each local: its value reaches memory */
    struct rp_arithmetic *found;
    size_t bytes;
    bool grown;
};

/* References to references to themselves are nothing that a compiler makes. */
enum { MOST_DEPTH = 64 };

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

static bool is_shared(const struct rp_ast_node *variable)
{
    for (size_t i = 0; i < variable->count; i++)
        if (rp_ast_is(&variable->children[i], "CUDASharedAttr"))
            return true;
    return false;
}

/** Finds a declaration of the function. @return local_count: there is none */
static size_t declared(const struct arithmetic_walk *walk, uint64_t id)
{
    size_t at = 0;

    while (at < walk->local_count && (!id || walk->locals[at]->id != id))
        at++;
    return at;
}

/** Returns the part that decides which object an lvalue is of. NULL: none does. */
static const struct rp_ast_node *whole_of(const struct rp_ast_node *node)
{
    static const char *const first[] = {"ParenExpr",
                                        "MemberExpr",
                                        "ExtVectorElementExpr",
                                        "ArraySubscriptExpr",
                                        "BinaryOperator",
                                        "CompoundAssignOperator",
                                        "MaterializeTemporaryExpr",
                                        "ExprWithCleanups"};
    const struct rp_ast_node *target = rp_ast_call_target(node);

    if (target && rp_ast_is(target, "MemberExpr"))
        return rp_ast_child(target, 0);
    if (target)
        return rp_ast_is_vector_call(target) ? rp_ast_child(node, 1) : NULL;
    if (node->opcode && (strcmp(node->opcode, "++") == 0 || strcmp(node->opcode, "--") == 0))
        return rp_ast_child(node, 0);
    if (node->cast)
        return rp_ast_child(node, 0);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (rp_ast_is(node, first[i]))
            return rp_ast_child(node, node->opcode && strcmp(node->opcode, ",") == 0);
    return NULL;
}

/** Finds the local variable that an lvalue is a part of. @return local_count: it is in memory */
static size_t local_of(const struct arithmetic_walk *walk, const struct rp_ast_node *node)
{
    for (unsigned depth = 0; node && depth < MOST_DEPTH; depth++) {
        const struct rp_ast_node *variable;
        size_t at;

        if (!rp_ast_is(node, "DeclRefExpr")) {
            const bool loads = node->cast && strcmp(node->cast, "LValueToRValue") == 0;

            node = loads ? NULL : whole_of(node);
            continue;
        }
        at = declared(walk, node->ref_id);
        if (at == walk->local_count)
            return at;
        variable = walk->locals[at];
        if (!rp_ast_is_reference(variable))
            return is_shared(variable) || variable->storage ? walk->local_count : at;
        node = variable->count ? &variable->children[0] : NULL;
    }
    return walk->local_count;
}

/** The object that an lvalue stands for reaches memory. */
static void mark(struct arithmetic_walk *walk, const struct rp_ast_node *lvalue)
{
    const size_t at = local_of(walk, lvalue);

    if (at == walk->local_count || walk->matters[at])
        return;
    walk->matters[at] = walk->grown = true;
}

static bool reaches(const struct arithmetic_walk *walk, const struct rp_ast_node *lvalue)
{
    const size_t at = local_of(walk, lvalue);

    return at == walk->local_count || walk->matters[at];
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

/** A function that returns nothing, or gets a pointer to what is no constant, may store what it
 * gets. What others get is in their result. */
static bool may_store(const struct rp_ast_node *call)
{
    if (strcmp(rp_ast_type(call), "void") == 0)
        return true;
    for (size_t i = 1; i < call->count; i++)
        if (rp_ast_is_pointer(&call->children[i]) &&
            strncmp(rp_ast_type(&call->children[i]), "const ", strlen("const ")) != 0)
            return true;
    return false;
}

static void visit_call(struct arithmetic_walk *walk, const struct rp_ast_node *node,
                       const struct rp_ast_node *target)
{
    const char *name = rp_ast_callee(target);
    const bool vector = rp_ast_is_vector_call(target);

    if (vector && node->count > 2 && node->lvalue && name[strlen(name) - 1] == '=' &&
        reaches(walk, &node->children[1])) {
        note_operator(walk, node, name + strlen("operator"));
        value(walk, &node->children[2]);
    } else if (!vector && may_store(node)) {
        for (size_t i = 1; i < node->count; i++)
            value(walk, &node->children[i]);
    }
}

/** Who has the address of a variable may read it anywhere. */
static void visit_address(struct arithmetic_walk *walk, const struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct rp_ast_node *child = &node->children[i];

        if ((rp_ast_is(node, "UnaryOperator") && has_opcode(node, "&")) ||
            (!rp_ast_is(node, "ArraySubscriptExpr") && child->cast &&
             strcmp(child->cast, "ArrayToPointerDecay") == 0))
            mark(walk, child);
    }
}

static void visit(struct arithmetic_walk *walk, const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);
    const bool compound = rp_ast_is(node, "CompoundAssignOperator");
    const bool assigns = compound || (rp_ast_is(node, "BinaryOperator") && has_opcode(node, "="));
    const bool steps = has_opcode(node, "++") || has_opcode(node, "--");
    const size_t at = rp_ast_is(node, "VarDecl") ? declared(walk, node->id) : walk->local_count;

    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node))
        return;
    visit_address(walk, node);
    for (size_t i = 0; at < walk->local_count && walk->matters[at] && i < node->count; i++)
        value(walk, &node->children[i]);
    if ((assigns || steps) && node->count && !rp_ast_is_pointer(node) &&
        reaches(walk, &node->children[0])) {
        if (node->opcode) /* A dump may lack the opcode. */
            note_operator(walk, node, node->opcode);
        if (assigns && node->count == 2)
            value(walk, &node->children[1]);
    }
    if (target)
        visit_call(walk, node, target);
    for (size_t i = 0; rp_ast_is(node, "AtomicExpr") && i < node->count; i++)
        value(walk, &node->children[i]);
    for (size_t i = 0; i < node->count; i++)
        if (i != 3 || !rp_ast_is(node, "ForStmt")) /* This is the step of its counter. */
            visit(walk, &node->children[i]);
}

void rp_arithmetic_find(const struct rp_ast_node *function, const struct rp_ast_node *const *locals,
                        size_t local_count, size_t bytes, struct rp_arithmetic *ret)
{
    struct arithmetic_walk walk = {.locals = locals,
                                   .local_count = local_count,
                                   .matters = rp_alloc_zero(local_count + 1, 1),
                                   .found = ret,
                                   .bytes = bytes};

    *ret = (struct rp_arithmetic){0};
    do {
        walk.grown = false;
        visit(&walk, function);
    } while (walk.grown);
    free(walk.matters);
}

static unsigned line_of(const char *text, size_t begin, unsigned line, size_t offset)
{
    for (size_t i = begin; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

/** Places in a file, and in a text whose lines count otherwise. */
struct lines {
    const char *text;
    size_t begin;
    unsigned line;
};

static int refuse(const struct lines *in, enum rp_number number, enum rp_operation operation,
                  unsigned bits, unsigned before, size_t offset, struct rp_err *err)
{
    static const char *const operations[] = {
        [RP_OPERATION_ADD] = "adds",
        [RP_OPERATION_MULTIPLY] = "multiplies",
        [RP_OPERATION_DIVIDE] = "divides",
        [RP_OPERATION_CONVERT] = "makes narrower to",
    };
    const char *numbers = number == RP_NUMBER_INTEGER ? "integers" : "floating-point numbers";

    return rp_fail(err, RP_VERDICT,
                   "line %u: this %s %s of %u bits, and the original computes with %u: keep the "
                   "width of what is stored",
                   line_of(in->text, in->begin, in->line, offset), operations[operation], numbers,
                   bits, before);
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

int rp_arithmetic_compare(const struct rp_arithmetic *was, const struct rp_arithmetic *is,
                          const char *text, size_t begin, unsigned line, struct rp_err *err)
{
    const struct lines in = {text, begin, line};

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
                        return refuse(&in, (enum rp_number)number, (enum rp_operation)operation,
                                      8U << narrow, 8U << wide,
                                      is->kinds[number][operation][narrow].offset, err);
            }
    return 0;
}
