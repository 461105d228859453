/* A loop or branch is of interest when something is in it that must keep its order. */
#include "optimize/shape_brackets.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "optimize/ast.h"
#include "optimize/places.h"
#include "optimize/shape_items.h"

bool rp_shape_is_bracket(const struct rp_shape_item *item)
{
    size_t length = strlen(item->text);

    return length && (item->text[length - 1] == '{' || strcmp(item->text, "}") == 0);
}

static bool is(const struct rp_shape_item *item, const char *text)
{
    return item->class == RP_SHAPE_ORDERED && strcmp(item->text, text) == 0;
}

static bool is_break(const struct rp_shape_item *item)
{
    return is(item, "break");
}

static bool is_continue(const struct rp_shape_item *item)
{
    return is(item, "continue");
}

/** Out of all loops. */
static bool is_exit(const struct rp_shape_item *item)
{
    return is(item, "goto") || is(item, "return") || is(item, "return with a value");
}

size_t rp_shape_open(struct rp_shape_walk *walk, const char *bracket,
                     const struct rp_ast_node *node)
{
    rp_shape_add(walk, RP_SHAPE_ORDERED, node, bracket);
    return walk->function->count - 1;
}

/** Something besides brackets and jumps. */
static bool has_order(const struct rp_shape_function *function, size_t from)
{
    for (size_t i = from; i < function->count; i++) {
        const struct rp_shape_item *item = &function->items[i];

        if (item->class == RP_SHAPE_ORDERED && !rp_shape_is_bracket(item) && !is_break(item) &&
            !is_continue(item))
            return true;
    }
    return false;
}

/** The last one in order, between two places; NULL: there is none. */
static struct rp_shape_item *last_ordered(const struct rp_shape_function *function, size_t count,
                                          size_t from)
{
    while (count > from)
        if (function->items[--count].class == RP_SHAPE_ORDERED)
            return &function->items[count];
    return NULL;
}

/** What a closing bracket closes, if nothing in order stands between them. */
static struct rp_shape_item *opening_of(const struct rp_shape_function *function, size_t kept,
                                        size_t from, const struct rp_shape_item *closing)
{
    struct rp_shape_item *before = is(closing, "}") ? last_ordered(function, kept, from) : NULL;

    return before && rp_shape_is_bracket(before) && !is(before, "}") ? before : NULL;
}

/** Also the branches in which nothing but a jump was. */
static void drop_jumps(struct rp_shape_function *function, size_t from, enum rp_shape_jumps jumps)
{
    size_t kept = from;

    for (size_t i = from; i < function->count; i++) {
        struct rp_shape_item item = function->items[i];
        struct rp_shape_item *opening = opening_of(function, kept, from, &item);

        if (is_break(&item) || (jumps == RP_SHAPE_BREAK_AND_CONTINUE && is_continue(&item))) {
            free(item.text);
        } else if (opening) {
            size_t at = (size_t)(opening - function->items);

            free(opening->text);
            free(item.text);
            memmove(opening, opening + 1, (--kept - at) * sizeof *opening);
        } else {
            function->items[kept++] = item;
        }
    }
    function->count = kept;
}

static bool is_alone(const char *name)
{
    static const char *const names[] = {"atomic",
                                        "safeAtomic",
                                        "unsafeAtomic",
                                        "__sync_",
                                        "__builtin_amdgcn_ds_",
                                        "__hip_atomic",
                                        "__atomic",
                                        "__c11_atomic",
                                        "__scoped_atomic",
                                        "__opencl_atomic",
                                        "__builtin_amdgcn_global_atomic",
                                        "__builtin_amdgcn_flat_atomic",
                                        "__builtin_amdgcn_atomic"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/** What all wavefronts of a workgroup may have to come to: not what each does alone. */
static bool is_barrier(const struct rp_shape_item *item)
{
    if (item->class != RP_SHAPE_ORDERED)
        return false;
    if (strncmp(item->text, "asm\t", 4) == 0 || is(item, "a call through a pointer"))
        return true;
    if (!strstr(item->text, "()"))
        return false;
    switch (rp_callee_effect(item->text)) {
    case RP_CALLEE_UNKNOWN:
        return true;
    case RP_CALLEE_SYNC:
        return !is_alone(item->text);
    case RP_CALLEE_LANES:
    case RP_CALLEE_MATRIX:
    case RP_CALLEE_PURE:
        break;
    }
    return false;
}

static bool has(const struct rp_shape_function *function, size_t from,
                bool (*is_one)(const struct rp_shape_item *))
{
    for (size_t i = from; i < function->count; i++)
        if (is_one(&function->items[i]))
            return true;
    return false;
}

static void drop_heads(struct rp_shape_function *function, size_t from)
{
    size_t kept = from;

    for (size_t i = from; i < function->count; i++)
        if (function->items[i].class == RP_SHAPE_HEAD)
            free(function->items[i].text);
        else
            function->items[kept++] = function->items[i];
    function->count = kept;
}

void rp_shape_close(struct rp_shape_walk *walk, size_t opened, enum rp_shape_jumps jumps)
{
    struct rp_shape_function *function = walk->function;

    if (walk->failed)
        return;
    if (jumps != RP_SHAPE_NO_JUMPS && !has_order(function, opened + 1))
        drop_jumps(function, opened + 1, jumps);
    if (jumps != RP_SHAPE_NO_JUMPS && !has(function, opened + 1, is_barrier) &&
        !has(function, opened + 1, is_exit) &&
        (jumps == RP_SHAPE_BREAK_AND_CONTINUE || !has(function, opened + 1, is_continue)))
        drop_heads(function, opened + 1);
    if (last_ordered(function, function->count, opened + 1)) {
        rp_shape_add(walk, RP_SHAPE_ORDERED, NULL, "}");
    } else {
        free(function->items[opened].text);
        memmove(&function->items[opened], &function->items[opened + 1],
                (--function->count - opened) * sizeof *function->items);
    }
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

void rp_shape_tree(struct rp_buf *out, const struct rp_ast_node *node)
{
    bool typed = node->cast || rp_ast_is(node, "VarDecl");

    if (rp_ast_is(node, "ParenExpr") && node->count) {
        rp_shape_tree(out, &node->children[node->count - 1]);
        return;
    }
    rp_buf_printf(out, "(%s %s %s %s %s %s %s", or_nothing(node->kind), or_nothing(node->opcode),
                  or_nothing(node->name), or_nothing(node->ref_name), or_nothing(node->value),
                  or_nothing(node->cast), typed ? rp_ast_type(node) : "");
    for (size_t i = 0; i < node->count; i++)
        rp_shape_tree(out, &node->children[i]);
    rp_buf_puts(out, ")");
}

void rp_shape_add_head(struct rp_shape_walk *walk, const char *what, const struct rp_ast_node *head,
                       size_t from)
{
    struct rp_shape_function *function = walk->function;
    rp_autobuf tree = {0};

    if (walk->failed)
        return;
    if (!has(function, from, is_barrier) && !has(function, from, is_exit) &&
        !has(function, from, is_break) && !has(function, from, is_continue))
        return;
    for (size_t i = 0; i < head->count; i++)
        rp_shape_tree(&tree, &head->children[i]);
    walk->failed |= tree.failed;
    rp_shape_add_two(walk, RP_SHAPE_HEAD, head, what, rp_buf_text(&tree));
    if (walk->failed)
        return;
    function->items[function->count - 1].head = head->children;
    function->items[function->count - 1].head_count = head->count;
}

void rp_shape_end_heads(struct rp_shape_walk *walk)
{
    if (!walk->failed && !has(walk->function, 0, is_barrier))
        drop_heads(walk->function, 0);
}
