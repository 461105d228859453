/* Finds variables in the heads that are left, and then everything that is assigned to them. */
#include "optimize/kernel_shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "optimize/ast.h"
#include "optimize/memory_effects.h"
#include "optimize/source_text.h"

struct ids {
    uint64_t *list;
    size_t count, capacity;
};

/** Sums and the like are what a kernel computes. Which memory holds what is compared elsewhere. */
static bool is_counter(const struct rp_ast_node *variable)
{
    static const char *const types[] = {"int",  "unsigned", "long",  "short",
                                        "bool", "char",     "signed"};
    const char *type = rp_ast_type(variable);

    for (size_t i = 0; i < variable->count; i++)
        if (rp_ast_is(&variable->children[i], "CUDASharedAttr"))
            return false;
    if (strncmp(type, "const ", strlen("const ")) == 0)
        type += strlen("const ");
    if (strpbrk(type, "*&[("))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strncmp(type, types[i], strlen(types[i])) == 0)
            return true;
    return false;
}

static bool is_in(const struct ids *ids, uint64_t id)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->list[i] == id)
            return true;
    return false;
}

static void add_id(struct ids *ids, uint64_t id)
{
    if (is_in(ids, id))
        return;
    rp_vec_grow(&ids->list, &ids->capacity, ids->count, 1, sizeof *ids->list);
    ids->list[ids->count++] = id;
}

static void collect(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                    struct ids *ids)
{
    const struct rp_ast_node *variable =
        rp_ast_is(node, "DeclRefExpr") ? rp_shape_local_declaration(walk, node->ref_id) : NULL;

    if (variable && is_counter(variable))
        add_id(ids, variable->id);
    for (size_t i = 0; i < node->count; i++)
        collect(walk, &node->children[i], ids);
}

/** Says whether an operator changes its first operand, or gives its address away. */
static bool is_change(const struct rp_ast_node *node)
{
    static const char *const opcodes[] = {"=", "++", "--", "&"};

    if (rp_ast_is(node, "CompoundAssignOperator"))
        return true;
    for (size_t i = 0; node->opcode && i < sizeof opcodes / sizeof *opcodes; i++)
        if (strcmp(node->opcode, opcodes[i]) == 0)
            return true;
    return false;
}

/** Returns the variable to which a node gives a value or another name. */
static uint64_t changed(const struct rp_ast_node *node, const struct ids *ids)
{
    const struct rp_ast_node *to = node->count ? &node->children[0] : NULL;

    if (rp_ast_is(node, "VarDecl") && is_in(ids, node->id))
        return node->id;
    if (!to || !(is_change(node) || (rp_ast_is(node, "VarDecl") && to->lvalue)))
        return 0;
    while (rp_ast_is(to, "ParenExpr") && to->count)
        to = &to->children[0];
    return rp_ast_is(to, "DeclRefExpr") && is_in(ids, to->ref_id) ? to->ref_id : 0;
}

static void add_steps(struct rp_shape_walk *walk, const struct rp_ast_node *node,
                      const struct ids *ids)
{
    uint64_t id = changed(node, ids);

    if (id) {
        const struct rp_ast_node *variable = rp_shape_local_declaration(walk, id);
        rp_autobuf text = {0};

        rp_buf_printf(&text, "a value of %s, on which barriers depend,\t",
                      variable && variable->name ? variable->name : "?");
        rp_ast_expression_text(&text, node);
        rp_shape_add(walk, RP_SHAPE_LOOP_UPDATE, node, rp_buf_text(&text));
    }
    for (size_t i = 0; i < node->count; i++)
        add_steps(walk, &node->children[i], ids);
}

void rp_shape_add_loop_updates(struct rp_shape_walk *walk)
{
    const struct rp_shape_function *function = walk->function;
    struct ids ids = {0};

    for (size_t i = 0; i < function->count; i++)
        for (size_t j = 0; j < function->items[i].head_count; j++)
            collect(walk, &function->items[i].head[j], &ids);
    if (walk->body && ids.count)
        add_steps(walk, walk->body, &ids);
    free(ids.list);
}

/* Values of arguments are varied when a candidate is measured, but not 0 and 1, nor members of
 * structures, pointers that are null and sizes of workgroups: a kernel that has those of one
 * capture built in looks right. */

struct uses {
    struct rp_shape_walk *walk;
    const struct rp_ast_node *function;
};

static bool has_cast(const struct rp_ast_node *node, const char *cast)
{
    return node->cast && strcmp(node->cast, cast) == 0;
}

static const struct rp_ast_node *below_casts(const struct rp_ast_node *node)
{
    while (node->count == 1 && (node->cast || rp_ast_is(node, "ParenExpr")))
        node = &node->children[0];
    return node;
}

static bool is_parameter(const struct uses *uses, uint64_t id)
{
    for (size_t i = 0; i < uses->function->count; i++)
        if (rp_ast_is(&uses->function->children[i], "ParmVarDecl") &&
            uses->function->children[i].id == id)
            return true;
    return false;
}

/** Variables from outside may change from launch to launch, if they are no constants. */
static bool is_outside(const struct uses *uses, const struct rp_ast_node *node)
{
    return node->ref_kind && strcmp(node->ref_kind, "VarDecl") == 0 && !rp_ast_is_index(node) &&
           !rp_shape_local_declaration(uses->walk, node->ref_id) &&
           strcmp(node->ref_name ? node->ref_name : "", "warpSize") != 0 &&
           strncmp(node->ref_type ? node->ref_type : "", "const ", strlen("const ")) != 0;
}

static bool is_named(const struct uses *uses, const struct rp_ast_node *node)
{
    return rp_ast_is(node, "DeclRefExpr") && node->ref_id && node->ref_name &&
           (is_parameter(uses, node->ref_id) || is_outside(uses, node));
}

/** Adds names as "p" and "p.width".
 * @return whether it is one of these */
static bool add_name(const struct uses *uses, const struct rp_ast_node *node, struct rp_buf *out)
{
    const struct rp_ast_node *base;

    node = below_casts(node);
    base = rp_ast_is(node, "MemberExpr") && node->count ? below_casts(&node->children[0]) : NULL;
    if (base && is_named(uses, base)) {
        rp_buf_printf(out, "%s.%s", base->ref_name, node->name ? node->name : "?");
        return true;
    }
    if (!is_named(uses, node))
        return false;
    rp_buf_puts(out, node->ref_name);
    return true;
}

static void add(const struct uses *uses, const struct rp_ast_node *node, struct rp_buf *text)
{
    rp_shape_add(uses->walk, RP_SHAPE_USE, node, rp_buf_text(text));
}

static const char *first_name(const struct rp_ast_node *node, bool member)
{
    const char *name = member ? node->name : rp_ast_is(node, "DeclRefExpr") ? node->ref_name : NULL;

    if (name && (!member || rp_ast_is(node, "MemberExpr")))
        return name;
    for (size_t i = 0; i < node->count; i++)
        if ((name = first_name(&node->children[i], member)))
            return name;
    return NULL;
}

/** blockDim.x is a property that is read by __get_x().
 * @return whether it is one */
static bool add_index(const struct uses *uses, const struct rp_ast_node *node)
{
    static const char get[] = "__get_";
    bool member = rp_ast_is(node, "MemberExpr") && node->count &&
                  rp_ast_is_index(below_casts(&node->children[0]));
    const char *name, *which;
    rp_autobuf text = {0};

    if (!member && !(rp_ast_is(node, "PseudoObjectExpr") && rp_ast_is_index(node)))
        return false;
    name = first_name(node, false);
    which = first_name(node, true);
    if (!name || !which)
        return true;
    if (strncmp(which, get, sizeof get - 1) == 0)
        which += sizeof get - 1;
    rp_buf_printf(&text, "%s.%s", name, which);
    add(uses, node, &text);
    return true;
}

/** Adds tests of a pointer p: p, p == nullptr. */
static void add_test(const struct uses *uses, const struct rp_ast_node *node)
{
    const struct rp_ast_node *pointer = NULL;
    rp_autobuf name = {0};
    rp_autobuf text = {0};

    if (has_cast(node, "PointerToBoolean") && node->count)
        pointer = &node->children[0];
    for (size_t i = 0; rp_ast_is(node, "BinaryOperator") && node->count == 2 && i < 2; i++)
        if (has_cast(&node->children[i], "NullToPointer"))
            pointer = &node->children[1 - i];
    if (!pointer || !add_name(uses, pointer, &name))
        return;
    rp_buf_printf(&text, "whether %s is null", rp_buf_text(&name));
    add(uses, node, &text);
}

static void visit(const struct uses *uses, const struct rp_ast_node *node)
{
    static const char *const unused[] = {"UnaryExprOrTypeTraitExpr", "CXXNoexceptExpr",
                                         "CXXTypeidExpr", "CXXRecordDecl"};
    rp_autobuf name = {0};

    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (rp_ast_is(node, unused[i]))
            return;
    if (!node->kind || has_cast(node, "ToVoid") || add_index(uses, node))
        return;
    add_test(uses, node);
    if ((rp_ast_is(node, "MemberExpr") || rp_ast_is(node, "DeclRefExpr")) &&
        add_name(uses, node, &name)) {
        add(uses, node, &name);
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        visit(uses, &node->children[i]);
}

void rp_shape_add_uses(struct rp_shape_walk *walk, const struct rp_ast_node *function)
{
    const struct uses uses = {.walk = walk, .function = function};

    if (walk->body)
        visit(&uses, walk->body);
}

bool rp_shape_use_covers(const char *use, const char *other)
{
    const size_t a = strcspn(use, "."), b = strcspn(other, ".");

    if (strcmp(use, other) == 0)
        return true;
    return (!use[a] || !other[b]) && a == b && strncmp(use, other, a) == 0;
}

/* Arguments may be constants, which are evaluated as the compiler does. */

/* Constants of constants of constants ... are many when each has two, so this is bounded. */
enum { MOST_DEPTH = 32, MOST_NODES = 1024 };

struct integer {
    unsigned bits;
    bool is_signed;
};

/** @return false: it is no known integer */
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
 * Converts a value to the type of a node. A result that the language leaves open or that is larger
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

/** Returns the value of a constant variable of the kernel. NULL means that it is none. */
static const struct rp_ast_node *initial(const struct rp_shape_walk *walk,
                                         const struct rp_ast_node *node)
{
    const struct rp_ast_node *variable =
        rp_ast_is(node, "DeclRefExpr") ? rp_shape_local_declaration(walk, node->ref_id) : NULL;

    return variable && rp_ast_is(variable, "VarDecl") && variable->type && variable->count &&
                   strncmp(variable->type, "const ", strlen("const ")) == 0
               ? &variable->children[0]
               : NULL;
}

/** Returns the operand that a node stands for unchanged. NULL means none. */
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

/** Removes nodes that change no value, and constant variables of the kernel. */
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

/** Evaluates each node in its own type, as the language does. */
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

/** Constants from outside and parameters of templates have the same value if they are the same. */
static bool is_named_constant(const struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    if (!rp_ast_is(node, "DeclRefExpr") || !node->ref_kind || !node->ref_name)
        return false;
    if (strcmp(node->ref_kind, "EnumConstantDecl") == 0 ||
        strcmp(node->ref_kind, "NonTypeTemplateParmDecl") == 0)
        return true;
    return strcmp(node->ref_kind, "VarDecl") == 0 &&
           !rp_shape_local_declaration(walk, node->ref_id) && node->ref_type &&
           strncmp(node->ref_type, "const ", strlen("const ")) == 0;
}

/** Adds the types that it is converted to, because they may change its value. */
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

/** Lambdas and unnamed classes have their place in their names, which moves, so it is left out. */
static void add_without_places(struct rp_buf *out, const char *text)
{
    static const char *const marks[] = {"(lambda at ", "(unnamed at ", "(anonymous at "};

    while (*text) {
        const char *mark = NULL, *end;

        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (strncmp(text, marks[i], strlen(marks[i])) == 0)
                mark = marks[i];
        end = mark ? strchr(text, ')') : NULL;
        if (end) {
            rp_buf_add(out, mark, strlen(mark) - strlen(" at "));
            text = end;
        } else {
            rp_buf_add(out, text++, 1);
        }
    }
}

void rp_shape_add(struct rp_shape_walk *walk, enum rp_shape_class class,
                  const struct rp_ast_node *node, const char *text)
{
    struct rp_shape_function *function = walk->function;
    rp_autobuf clean = {0};

    rp_vec_grow(&function->items, &walk->capacity, function->count, 1, sizeof *function->items);
    rp_buf_puts(&clean, "");
    add_without_places(&clean, text);
    function->items[function->count] = (struct rp_shape_item){.class = class};
    function->items[function->count].offset =
        node && node->begin.in_file && node->begin.offset < walk->bytes ? node->begin.offset : 0;
    function->items[function->count].text = rp_buf_steal(&clean);
    function->count++;
}

const struct rp_ast_node *rp_shape_local_declaration(const struct rp_shape_walk *walk, uint64_t id)
{
    for (size_t i = 0; i < walk->local_count; i++)
        if (walk->locals[i]->id == id)
            return walk->locals[i];
    return NULL;
}
