/* Values of arguments are varied when a candidate is measured, but not 0 and 1, nor members of
 * structures, pointers that are null and sizes of workgroups: with those of one capture a kernel
 * that has them built in looks right. */
#include "optimize/shape_uses.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/places.h"
#include "optimize/shape_items.h"

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

/** Variables of outside may change from launch to launch, if they are no constants. */
static bool is_outside(const struct uses *uses, const struct rp_ast_node *node)
{
    return node->ref_kind && strcmp(node->ref_kind, "VarDecl") == 0 && !rp_ast_is_index(node) &&
           !rp_shape_local(uses->walk, node->ref_id) &&
           strcmp(node->ref_name ? node->ref_name : "", "warpSize") != 0 &&
           strncmp(node->ref_type ? node->ref_type : "", "const ", strlen("const ")) != 0;
}

static bool is_named(const struct uses *uses, const struct rp_ast_node *node)
{
    return rp_ast_is(node, "DeclRefExpr") && node->ref_id && node->ref_name &&
           (is_parameter(uses, node->ref_id) || is_outside(uses, node));
}

/** "p", "p.width". @return whether it is one of these */
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
    uses->walk->failed |= text->failed;
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

/** blockDim.x: a property that is read by __get_x(). @return whether it is one */
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

/** p, p == nullptr, where p is a pointer. */
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
    uses->walk->failed |= name.failed;
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
