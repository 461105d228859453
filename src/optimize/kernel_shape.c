/* Values of arguments and sizes are varied when a candidate is measured, but not all of them, nor
 * pointers that are null, nor sizes of workgroups: a kernel that has those of one capture built in
 * looks right. So each one that the original uses must be used. */
#include "optimize/kernel_shape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "optimize/arithmetic_width.h"
#include "optimize/ast.h"

struct use {
    char *text;    /**< "n", "blockDim.x", "whether p is null" */
    size_t offset; /**< in the file; 0: not known */
};

struct shape_function {
    char *symbol; /**< mangled; "" is the template itself */
    struct use *uses;
    size_t count;
    struct rp_arithmetic arithmetic; /**< The template itself has none, because it has no types. */
};

struct rp_kernel_shape {
    struct shape_function *functions;
    size_t count;
};

struct shape_walk {
    const struct rp_ast_node *function;
    struct shape_function *ret;
    size_t capacity;
    size_t bytes;                      /**< of the file */
    const struct rp_ast_node **locals; /**< declarations of the function */
    size_t local_count, local_capacity;
};

static bool is_local(const struct shape_walk *walk, uint64_t id)
{
    for (size_t i = 0; i < walk->local_count; i++)
        if (walk->locals[i]->id == id)
            return true;
    return false;
}

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

static bool is_parameter(struct shape_walk *walk, uint64_t id)
{
    for (size_t i = 0; i < walk->function->count; i++)
        if (rp_ast_is(&walk->function->children[i], "ParmVarDecl") &&
            walk->function->children[i].id == id)
            return true;
    return false;
}

/** Variables from outside may change from launch to launch, if they are no constants. */
static bool is_outside(struct shape_walk *walk, const struct rp_ast_node *node)
{
    return node->ref_kind && strcmp(node->ref_kind, "VarDecl") == 0 && !rp_ast_is_index(node) &&
           !is_local(walk, node->ref_id) &&
           strcmp(node->ref_name ? node->ref_name : "", "warpSize") != 0 &&
           strncmp(node->ref_type ? node->ref_type : "", "const ", strlen("const ")) != 0;
}

static bool is_named(struct shape_walk *walk, const struct rp_ast_node *node)
{
    return rp_ast_is(node, "DeclRefExpr") && node->ref_id && node->ref_name &&
           (is_parameter(walk, node->ref_id) || is_outside(walk, node));
}

/** Adds names as "p" and "p.width".
 * @return whether it is one of these */
static bool add_name(struct shape_walk *walk, const struct rp_ast_node *node, struct rp_buf *out)
{
    const struct rp_ast_node *base;

    node = below_casts(node);
    base = rp_ast_is(node, "MemberExpr") && node->count ? below_casts(&node->children[0]) : NULL;
    if (base && is_named(walk, base)) {
        rp_buf_printf(out, "%s.%s", base->ref_name, node->name ? node->name : "?");
        return true;
    }
    if (!is_named(walk, node))
        return false;
    rp_buf_puts(out, node->ref_name);
    return true;
}

static void add(struct shape_walk *walk, const struct rp_ast_node *node, struct rp_buf *text)
{
    struct shape_function *ret = walk->ret;

    rp_vec_grow(&ret->uses, &walk->capacity, ret->count, 1, sizeof *ret->uses);
    ret->uses[ret->count++] = (struct use){
        rp_buf_steal(text),
        node->begin.in_file && node->begin.offset < walk->bytes ? node->begin.offset : 0};
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
static bool add_index(struct shape_walk *walk, const struct rp_ast_node *node)
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
    add(walk, node, &text);
    return true;
}

/** Adds tests of a pointer p: p, p == nullptr. */
static void add_test(struct shape_walk *walk, const struct rp_ast_node *node)
{
    const struct rp_ast_node *pointer = NULL;
    rp_autobuf name = {0};
    rp_autobuf text = {0};

    if (has_cast(node, "PointerToBoolean") && node->count)
        pointer = &node->children[0];
    for (size_t i = 0; rp_ast_is(node, "BinaryOperator") && node->count == 2 && i < 2; i++)
        if (has_cast(&node->children[i], "NullToPointer"))
            pointer = &node->children[1 - i];
    if (!pointer || !add_name(walk, pointer, &name))
        return;
    rp_buf_printf(&text, "whether %s is null", rp_buf_text(&name));
    add(walk, node, &text);
}

static void visit(struct shape_walk *walk, const struct rp_ast_node *node)
{
    static const char *const unused[] = {"UnaryExprOrTypeTraitExpr", "CXXNoexceptExpr",
                                         "CXXTypeidExpr", "CXXRecordDecl"};
    rp_autobuf name = {0};

    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        if (rp_ast_is(node, unused[i]))
            return;
    if (!node->kind || has_cast(node, "ToVoid") || add_index(walk, node))
        return;
    add_test(walk, node);
    if ((rp_ast_is(node, "MemberExpr") || rp_ast_is(node, "DeclRefExpr")) &&
        add_name(walk, node, &name)) {
        add(walk, node, &name);
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        visit(walk, &node->children[i]);
}

/** Says whether a use includes another one, too: "p" of "p.width", and vice versa. */
static bool covers(const char *use, const char *other)
{
    const size_t a = strcspn(use, "."), b = strcspn(other, ".");

    if (strcmp(use, other) == 0)
        return true;
    return (!use[a] || !other[b]) && a == b && strncmp(use, other, a) == 0;
}

static void find_locals(struct shape_walk *walk, const struct rp_ast_node *node)
{
    static const char *const kinds[] = {"VarDecl", "ParmVarDecl", "BindingDecl",
                                        "DecompositionDecl"};

    for (size_t i = 0; node->id && i < sizeof kinds / sizeof *kinds; i++)
        if (rp_ast_is(node, kinds[i])) {
            rp_vec_grow(&walk->locals, &walk->local_capacity, walk->local_count, 1,
                        sizeof *walk->locals);
            walk->locals[walk->local_count++] = node;
        }
    for (size_t i = 0; i < node->count; i++)
        find_locals(walk, &node->children[i]);
}

static void fill(const struct rp_ast_node *function, size_t bytes, struct shape_function *ret)
{
    struct shape_walk walk = {.function = function, .ret = ret, .bytes = bytes};

    ret->symbol = rp_strdup(function->mangled ? function->mangled : "");
    find_locals(&walk, function);
    if (function->mangled)
        rp_arithmetic_find(function, walk.locals, walk.local_count, bytes, &ret->arithmetic);
    for (size_t i = 0; i < function->count; i++)
        if (rp_ast_is(&function->children[i], "CompoundStmt"))
            visit(&walk, &function->children[i]);
    free(walk.locals);
}

struct rp_kernel_shape *rp_kernel_shape_make(const struct rp_ast_node *const *functions,
                                             size_t count, size_t bytes)
{
    struct rp_kernel_shape *shape = rp_new(struct rp_kernel_shape);

    shape->functions = rp_alloc_zero(count + 1, sizeof *shape->functions);
    for (size_t i = 0; i < count; i++)
        fill(functions[i], bytes, &shape->functions[shape->count++]);
    return shape;
}

void rp_kernel_shape_free(struct rp_kernel_shape *shape)
{
    if (!shape)
        return;
    for (size_t i = 0; i < shape->count; i++) {
        for (size_t j = 0; j < shape->functions[i].count; j++)
            free(shape->functions[i].uses[j].text);
        free(shape->functions[i].uses);
        free(shape->functions[i].symbol);
    }
    free(shape->functions);
    free(shape);
}

/* Two shapes are compared side by side. A reader gets only the first difference. */

static unsigned line_of(const struct rp_shape_text *in, size_t offset)
{
    unsigned line = in->line;

    for (size_t i = in->begin; i < offset; i++)
        line += in->text[i] == '\n';
    return line;
}

/** No use may be left out, because its value in the capture may be another one elsewhere. */
static int compare_uses(const struct rp_shape_text *original, const struct shape_function *was,
                        const struct shape_function *is, struct rp_err *err)
{
    for (size_t i = 0; i < was->count; i++) {
        bool found = false;

        for (size_t j = 0; j < is->count && !found; j++)
            found = covers(is->uses[j].text, was->uses[i].text);
        if (!found)
            return rp_fail(err, RP_VERDICT,
                           "nothing uses %s, as line %u of the original does: what one launch has "
                           "must not be built in",
                           was->uses[i].text, line_of(original, was->uses[i].offset));
    }
    return 0;
}

int rp_kernel_shape_compare(const struct rp_shape_text *original,
                            const struct rp_shape_text *candidate, struct rp_err *err)
{
    if (original->shape->count != candidate->shape->count)
        return rp_fail(err, RP_VERDICT,
                       "the kernel has %zu instances, and had %zu: leave its templates alone",
                       candidate->shape->count, original->shape->count);
    for (size_t i = 0; i < original->shape->count; i++) {
        const struct shape_function *was = &original->shape->functions[i], *is = NULL;
        int rc;

        for (size_t j = 0; j < candidate->shape->count; j++)
            if (strcmp(candidate->shape->functions[j].symbol, was->symbol) == 0)
                is = &candidate->shape->functions[j];
        if (!is)
            return rp_fail(err, RP_VERDICT, "the kernel %s is gone: leave its templates alone",
                           was->symbol);
        rc = rp_arithmetic_compare(&was->arithmetic, &is->arithmetic, candidate->text,
                                   candidate->begin, candidate->line, err);
        if (rc < 0 || (rc = compare_uses(original, was, is, err)) < 0)
            return rc;
    }
    return 0;
}
