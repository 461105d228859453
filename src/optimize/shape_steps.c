/* Variables are found in the heads that are left, then whatever is put into them. */
#include "optimize/shape_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "optimize/ast.h"
#include "optimize/places.h"
#include "optimize/shape_brackets.h"
#include "optimize/shape_items.h"

struct ids {
    uint64_t *list;
    size_t count, capacity;
    bool failed;
};

/** Sums and the like are what a kernel computes; which memory holds what is compared elsewhere. */
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
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity ? 2 * ids->capacity : 16;
        uint64_t *more = realloc(ids->list, capacity * sizeof *more);

        if (!more) {
            ids->failed = true;
            return;
        }
        ids->list = more;
        ids->capacity = capacity;
    }
    ids->list[ids->count++] = id;
}

static void collect(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                    struct ids *ids)
{
    const struct rp_ast_node *variable =
        rp_ast_is(node, "DeclRefExpr") ? rp_shape_local(walk, node->ref_id) : NULL;

    if (variable && is_counter(variable))
        add_id(ids, variable->id);
    for (size_t i = 0; i < node->count; i++)
        collect(walk, &node->children[i], ids);
}

/** Whether an operator changes its first operand, or gives its address away. */
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

/** Of which variable, if a node gives one a value or makes another name for it. */
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
        const struct rp_ast_node *variable = rp_shape_local(walk, id);
        rp_autobuf text = {0};

        rp_buf_printf(&text, "a value of %s, on which barriers depend,\t",
                      variable && variable->name ? variable->name : "?");
        rp_shape_tree(&text, node);
        walk->failed |= text.failed;
        rp_shape_add(walk, RP_SHAPE_STEP, node, rp_buf_text(&text));
    }
    for (size_t i = 0; i < node->count; i++)
        add_steps(walk, &node->children[i], ids);
}

void rp_shape_add_steps(struct rp_shape_walk *walk)
{
    const struct rp_shape_function *function = walk->function;
    struct ids ids = {0};

    for (size_t i = 0; i < function->count; i++)
        for (size_t j = 0; j < function->items[i].head_count; j++)
            collect(walk, &function->items[i].head[j], &ids);
    if (walk->body && ids.count)
        add_steps(walk, walk->body, &ids);
    walk->failed |= ids.failed;
    free(ids.list);
}
