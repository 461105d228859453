/* One walk in the order in which things run. */
#include "optimize/memory_effects.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/points_to.h"
#include "optimize/shape_values.h"

struct walk {
    const struct rp_points_to *places;
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

static void add(struct walk *walk, const struct rp_memory_set *set, enum rp_access_kind kind,
                const struct rp_ast_node *node)
{
    for (size_t i = 0; i < rp_points_to_count(walk->places); i++)
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

/** An object or array that a function or constructor is given: what may it do to it? */
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

/** The first pointer of an atomic operation is what it is done to. */
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
            continue; /* what is done to the element counts */
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

int rp_accesses_find(const struct rp_ast_node *function, const struct rp_points_to *places,
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

/* From what is stored back to what it is computed from: the kernel is gone through until no more
 * variables are found to matter. */

struct arithmetic_walk {
    const struct rp_points_to *places;
    struct rp_arithmetic *found;
    size_t bytes;
    struct rp_memory_set matters; /* local variables whose values reach memory */
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

/** @return whether it computes something of its operands */
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

/** What an lvalue stands for reaches memory. */
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

/** A call's arguments, and the object of a member. */
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

/** A value that reaches memory, and what it is computed from. */
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
    for (size_t i = 0; i < rp_points_to_count(walk->places); i++)
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
    if (rp_ast_is(node, "VarDecl") && rp_points_to_declared(walk->places, node, &walk->matters))
        for (size_t i = 0; i < node->count; i++)
            value(walk, &node->children[i]);
    if ((assigns || steps) && node->count && lvalue_reaches(walk, &node->children[0])) {
        if (node->opcode) /* nothing is certain to be in a dump */
            note_operator(walk, node, node->opcode);
        if (assigns && node->count == 2)
            value(walk, &node->children[1]);
    }
    if (target)
        arithmetic_visit_call(walk, node, target);
    for (size_t i = 0; rp_ast_is(node, "AtomicExpr") && i < node->count; i++)
        value(walk, &node->children[i]);
    for (size_t i = 0; i < node->count; i++)
        if (i != 3 || !rp_ast_is(node, "ForStmt")) /* the step of its counter */
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

unsigned rp_shape_line(const struct rp_shape_text *in, size_t offset)
{
    unsigned line = in->line;

    for (size_t i = in->begin; i < offset; i++)
        line += in->text[i] == '\n';
    return line;
}
