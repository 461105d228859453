/* From what is stored back to what it is computed from: the kernel is gone through until no more
 * variables are found to matter. */
#include "optimize/arithmetic.h"

#include <string.h>

#include "base/err.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/places.h"

struct walk {
    const struct rp_places *places;
    struct rp_arithmetic *found;
    size_t bytes;
    struct rp_place_set matters; /* local variables whose values reach memory */
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

static void note(struct walk *walk, enum rp_operation operation, const struct rp_ast_node *node)
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

/** @return whether it computes something of its operands */
static bool note_operator(struct walk *walk, const struct rp_ast_node *node, const char *opcode)
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

static void note_conversion(struct walk *walk, const struct rp_ast_node *node)
{
    enum rp_number to = RP_NUMBER_INTEGER, from = RP_NUMBER_INTEGER;
    unsigned bits = width_of(rp_ast_type(node), &to);

    if (node->count && bits && bits < width_of(rp_ast_type(&node->children[0]), &from) &&
        to == from)
        note(walk, RP_OPERATION_CONVERT, node);
}

/** What an lvalue stands for reaches memory. */
static void mark(struct walk *walk, const struct rp_ast_node *lvalue)
{
    struct rp_place_set set = {0};

    rp_places_of_lvalue(walk->places, lvalue, &set);
    for (size_t i = 0; i < RP_PLACE_WORDS; i++) {
        walk->grown |= (set.words[i] & ~walk->matters.words[i]) != 0;
        walk->matters.words[i] |= set.words[i];
    }
}

static bool has_opcode(const struct rp_ast_node *node, const char *opcode)
{
    return node->opcode && strcmp(node->opcode, opcode) == 0;
}

static void value(struct walk *walk, const struct rp_ast_node *node);

/** A call's arguments, and the object of a member. */
static void value_of_call(struct walk *walk, const struct rp_ast_node *node,
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

/** A value that reaches memory, and what it is computed from. */
static void value(struct walk *walk, const struct rp_ast_node *node)
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

static bool reaches(const struct walk *walk, const struct rp_place_set *set)
{
    for (size_t i = 0; i < rp_places_count(walk->places); i++)
        if (rp_place_in(set, i) &&
            (rp_place_name(walk->places, i) || rp_place_in(&walk->matters, i)))
            return true;
    return false;
}

static bool lvalue_reaches(const struct walk *walk, const struct rp_ast_node *lvalue)
{
    struct rp_place_set set = {0};

    rp_places_of_lvalue(walk->places, lvalue, &set);
    return reaches(walk, &set);
}

static void visit_call(struct walk *walk, const struct rp_ast_node *node,
                       const struct rp_ast_node *target)
{
    const char *name = rp_ast_callee(target);
    bool vector = rp_ast_is_vector_call(target);

    if (vector && node->count > 2 && node->lvalue && name[strlen(name) - 1] == '=' &&
        lvalue_reaches(walk, &node->children[1])) {
        note_operator(walk, node, name + strlen("operator"));
        value(walk, &node->children[2]);
    } else if (!vector && rp_callee_effect(name) != RP_CALLEE_PURE) {
        for (size_t i = 1; i < node->count; i++)
            value(walk, &node->children[i]);
    }
}

static void visit(struct walk *walk, const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);
    bool compound = rp_ast_is(node, "CompoundAssignOperator");
    bool assigns = compound || (rp_ast_is(node, "BinaryOperator") && has_opcode(node, "="));
    bool steps = has_opcode(node, "++") || has_opcode(node, "--");

    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node))
        return;
    if (rp_ast_is(node, "VarDecl") && rp_places_declared(walk->places, node, &walk->matters))
        for (size_t i = 0; i < node->count; i++)
            value(walk, &node->children[i]);
    if ((assigns || steps) && node->count && lvalue_reaches(walk, &node->children[0])) {
        if (node->opcode) /* nothing is certain to be in a dump */
            note_operator(walk, node, node->opcode);
        if (assigns && node->count == 2)
            value(walk, &node->children[1]);
    }
    if (target)
        visit_call(walk, node, target);
    for (size_t i = 0; rp_ast_is(node, "AtomicExpr") && i < node->count; i++)
        value(walk, &node->children[i]);
    for (size_t i = 0; i < node->count; i++)
        if (i != 3 || !rp_ast_is(node, "ForStmt")) /* the step of its counter */
            visit(walk, &node->children[i]);
}

void rp_arithmetic_find(const struct rp_ast_node *function, const struct rp_places *places,
                        size_t bytes, struct rp_arithmetic *ret)
{
    struct walk walk = {.places = places, .found = ret, .bytes = bytes};

    *ret = (struct rp_arithmetic){0};
    do {
        walk.grown = false;
        visit(&walk, function);
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

/** Whether the original has nothing as narrow as that, or the candidate nothing as wide. */
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
                /* Of conversions it matters that anything of that width is computed. */
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
