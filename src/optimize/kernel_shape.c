/* Each function is walked through once. What is found goes to its class's list in the order of the
 * text. */
#include "optimize/kernel_shape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "optimize/ast.h"
#include "optimize/memory_effects.h"
#include "optimize/source_text.h"

/* Each item is a text, by which two functions are compared. */

/** Adds two words, of which only the first is for a reader. */
static void shape_add_two(struct rp_shape_walk *walk, enum rp_shape_class class,
                          const struct rp_ast_node *node, const char *first, const char *second)
{
    rp_autobuf text = {0};

    rp_buf_printf(&text, "%s\t%s", first ? first : "?", second ? second : "");
    rp_shape_add(walk, class, node, rp_buf_text(&text));
}

/** Writes the tokens of a node with one blank between two; for the result of a macro it writes a
 * name. */
static void shape_source(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
                         struct rp_buf *out)
{
    struct rp_tokens tokens = {0};
    size_t begin = node->begin.offset, end = node->end.offset + node->end.bytes;

    rp_buf_puts(out, "");
    if (!node->begin.in_file || !node->end.in_file || node->begin.macro || node->end.macro ||
        begin > end || end > walk->bytes ||
        rp_tokens_read(walk->text + begin, end - begin, &tokens, NULL) < 0) {
        rp_buf_puts(out, node->ref_name ? node->ref_name : node->name ? node->name : "");
        return;
    }
    for (size_t i = 0; i < tokens.count; i++)
        rp_buf_printf(out, "%s%.*s", i ? " " : "", (int)(tokens.list[i].end - tokens.list[i].begin),
                      walk->text + begin + tokens.list[i].begin);
    rp_tokens_free(&tokens);
}

static bool is_in_lds(const struct rp_ast_node *variable)
{
    for (size_t i = 0; i < variable->count; i++)
        if (rp_ast_is(&variable->children[i], "CUDASharedAttr"))
            return !variable->storage || strcmp(variable->storage, "extern") != 0;
    return false;
}

/** Returns the bytes of a type's text before the bounds of an array: 5 of "float[64][65]". */
static size_t element_type(const char *type)
{
    size_t bytes = strlen(type);

    while (bytes && type[bytes - 1] == ']') {
        size_t begin = bytes - 1;

        while (begin && type[begin] != '[')
            begin--;
        if (!begin)
            break;
        bytes = begin;
    }
    return bytes;
}

/** Adds a variable of the function, if it is more than a plain one. An array in LDS may become
 * larger, such as by padded rows. */
static void shape_add_local(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    rp_autobuf text = {0};
    bool special = node->storage || node->tls || (node->type && strstr(node->type, "volatile"));
    const char *type = node->type ? node->type : "";
    const size_t bytes = is_in_lds(node) ? element_type(type) : strlen(type);

    rp_buf_printf(&text, "the variable %s\t%s %s %.*s", node->name ? node->name : "?",
                  node->storage ? node->storage : "", node->tls ? node->tls : "", (int)bytes, type);
    for (size_t i = 0; i < node->count; i++) {
        const char *kind = node->children[i].kind;
        size_t length = kind ? strlen(kind) : 0;

        if (length < 4 || strcmp(kind + length - 4, "Attr") != 0)
            continue;
        rp_buf_printf(&text, " %s ", kind);
        shape_source(walk, &node->children[i], &text);
        special = true;
    }
    if (!special)
        return;
    rp_shape_add(walk, RP_SHAPE_LOCAL, node, rp_buf_text(&text));
    walk->function->items[walk->function->count - 1].bounds = rp_strdup(type + bytes);
}

/** Adds a use of a variable from outside. */
static void shape_add_global(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads)
{
    rp_autobuf text = {0};

    if (rp_shape_local_declaration(walk, node->ref_id) ||
        strcmp(node->ref_name ? node->ref_name : "", "warpSize") == 0)
        return;
    shape_source(walk, node, &text);
    rp_buf_printf(&text, "\t%s %s", node->ref_type ? node->ref_type : "",
                  reads ? "is read" : "is read or written");
    rp_shape_add(walk, RP_SHAPE_GLOBAL, node, rp_buf_text(&text));
}

static void shape_add_call(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    rp_autobuf text = {0};
    enum rp_known_function_effect effect = rp_known_function_effect(rp_ast_callee(node));
    const char *name = rp_ast_callee(node);
    bool member = rp_ast_is(node, "MemberExpr");
    bool construct = name && strcmp(name, "constructor") == 0;

    /* The ranges of members and operators include the object and the arguments, too. */
    if (name && (member || construct || strncmp(name, "operator", strlen("operator")) == 0))
        rp_buf_puts(&text, name);
    else
        shape_source(walk, node, &text);
    rp_buf_printf(&text, "()\t%s", node->ref_type ? node->ref_type : node->type ? node->type : "");
    if (member && node->count && node->children[0].type)
        rp_buf_printf(&text, " of %s", node->children[0].type);
    rp_shape_add(walk, RP_SHAPE_CALL, node, rp_buf_text(&text));
    if (effect != RP_KNOWN_FUNCTION_PURE && !construct)
        rp_shape_add(walk, RP_SHAPE_ORDERED, node, rp_buf_text(&text));
}

/** Adds a node that may be neither added nor removed.
 * @return whether it is one */
static bool shape_add_other(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    static const struct {
        const char *kind, *word;
    } others[] = {{"LambdaExpr", "a lambda"},
                  {"CXXRecordDecl", "a class in the kernel"},
                  {"RecordDecl", "a class in the kernel"},
                  {"EnumDecl", "an enumeration in the kernel"},
                  {"FunctionDecl", "a declaration of a function in the kernel"},
                  {"UsingDecl", "using"},
                  {"UsingDirectiveDecl", "using"},
                  {"UsingEnumDecl", "using"},
                  {"NamespaceAliasDecl", "namespace"},
                  {"TypedefDecl", "typedef"},
                  {"TypeAliasDecl", "using"},
                  {"CXXNewExpr", "new"},
                  {"CXXDeleteExpr", "delete"},
                  {"CXXThrowExpr", "throw"},
                  {"CXXTryStmt", "try"},
                  {"StmtExpr", "a statement in an expression"},
                  {"BlockExpr", "a block"},
                  {"AddrLabelExpr", "an address of a label"},
                  {"CoroutineBodyStmt", "a coroutine"}};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (rp_ast_is(node, others[i].kind) && !node->implicit) {
            rp_autobuf text = {0};

            rp_buf_puts(&text, node->name ? node->name : "");
            if (rp_ast_is(node, "CXXRecordDecl")) /* Its contents are not looked at. */
                shape_source(walk, node, &text);
            shape_add_two(walk, RP_SHAPE_OTHER, node, others[i].word, rp_buf_text(&text));
            return true;
        }
    return false;
}

/** A class may have a destructor, which is called without being named. */
static void shape_add_classes(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    const char *name = NULL;
    size_t at = 0, bytes;

    while ((bytes = rp_ast_class_name(node, &at, &name))) {
        rp_autobuf text = {0};

        rp_buf_add(&text, name, bytes);
        rp_shape_add(walk, RP_SHAPE_TYPE, node, rp_buf_text(&text));
    }
}

/* Loops and branches are kept when something in them must keep its order. */

/** The texts are "loop {", "}" ... */
static bool shape_is_bracket(const struct rp_shape_item *item)
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

/** Says whether it leaves all loops. */
static bool is_exit(const struct rp_shape_item *item)
{
    return is(item, "goto") || is(item, "return") || is(item, "return with a value");
}

/** @return what shape_close_block needs */
static size_t shape_open_block(struct rp_shape_walk *walk, const char *bracket,
                               const struct rp_ast_node *node)
{
    rp_shape_add(walk, RP_SHAPE_ORDERED, node, bracket);
    return walk->function->count - 1;
}

/** Says whether there is something besides brackets and jumps. */
static bool has_order(const struct rp_shape_function *function, size_t from)
{
    for (size_t i = from; i < function->count; i++) {
        const struct rp_shape_item *item = &function->items[i];

        if (item->class == RP_SHAPE_ORDERED && !shape_is_bracket(item) && !is_break(item) &&
            !is_continue(item))
            return true;
    }
    return false;
}

/** Returns the last item in order between two places, or NULL. */
static struct rp_shape_item *last_ordered(const struct rp_shape_function *function, size_t count,
                                          size_t from)
{
    while (count > from)
        if (function->items[--count].class == RP_SHAPE_ORDERED)
            return &function->items[count];
    return NULL;
}

/** Finds the item that a closing bracket closes, if nothing in order stands between them. */
static struct rp_shape_item *opening_of(const struct rp_shape_function *function, size_t kept,
                                        size_t from, const struct rp_shape_item *closing)
{
    struct rp_shape_item *before = is(closing, "}") ? last_ordered(function, kept, from) : NULL;

    return before && shape_is_bracket(before) && !is(before, "}") ? before : NULL;
}

/** Also drops the branches in which there was only a jump. */
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

/** All waves of a workgroup may have to reach these items; others each wave executes alone. */
static bool is_barrier(const struct rp_shape_item *item)
{
    if (item->class != RP_SHAPE_ORDERED)
        return false;
    if (strncmp(item->text, "asm\t", 4) == 0 || is(item, "a call through a pointer"))
        return true;
    if (!strstr(item->text, "()"))
        return false;
    switch (rp_known_function_effect(item->text)) {
    case RP_KNOWN_FUNCTION_UNKNOWN:
        return true;
    case RP_KNOWN_FUNCTION_SYNC:
        return !is_alone(item->text);
    case RP_KNOWN_FUNCTION_LANES:
    case RP_KNOWN_FUNCTION_MATRIX:
    case RP_KNOWN_FUNCTION_PURE:
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
        if (function->items[i].class == RP_SHAPE_LOOP_CONDITION)
            free(function->items[i].text);
        else
            function->items[kept++] = function->items[i];
    function->count = kept;
}

/** Where nothing is in order, brackets are removed, and so are jumps that end here. */
static void shape_close_block(struct rp_shape_walk *walk, size_t opened, enum rp_shape_jumps jumps)
{
    struct rp_shape_function *function = walk->function;

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

/**
 * Adds what decides how often something runs, if there is a barrier in it, or a way past one:
 * break, continue, return, goto.
 * @param head each child of it counts
 * @param from number of the function's items before it
 */
static void shape_add_condition(struct rp_shape_walk *walk, const char *what,
                                const struct rp_ast_node *head, size_t from)
{
    struct rp_shape_function *function = walk->function;
    rp_autobuf tree = {0};

    if (!has(function, from, is_barrier) && !has(function, from, is_exit) &&
        !has(function, from, is_break) && !has(function, from, is_continue))
        return;
    for (size_t i = 0; i < head->count; i++)
        rp_ast_expression_text(&tree, &head->children[i]);
    shape_add_two(walk, RP_SHAPE_LOOP_CONDITION, head, what, rp_buf_text(&tree));
    function->items[function->count - 1].head = head->children;
    function->items[function->count - 1].head_count = head->count;
}

/** Call it at the end of a function: without barriers nothing depends on any. */
static void shape_end_conditions(struct rp_shape_walk *walk)
{
    if (!has(walk->function, 0, is_barrier))
        drop_heads(walk->function, 0);
}

RP_DEFINE_CLEANUP(struct rp_points_to, rp_points_to_free)

static void visit(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads);

static void visit_in(struct rp_shape_walk *walk, const char *bracket,
                     const struct rp_ast_node *node, bool reads)
{
    size_t opened = shape_open_block(walk, bracket, node);

    visit(walk, node, reads);
    shape_close_block(walk, opened, RP_SHAPE_NO_JUMPS);
}

static void visit_all(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads)
{
    for (size_t i = 0; i < node->count; i++)
        visit(walk, &node->children[i], reads);
}

/** The bracket has what runs in each round: everything but the beginning of a for. */
static void visit_loop(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    struct rp_ast_node head = *node;
    size_t from = rp_ast_is(node, "ForStmt") && node->count > 0, opened;

    if (from)
        visit(walk, &node->children[0], false);
    opened = shape_open_block(walk, "loop {", node);
    for (size_t i = from; i < node->count; i++)
        visit(walk, &node->children[i], false);
    head.count -= head.count > 0; /* The body is last. */
    if (rp_ast_is(node, "DoStmt") && head.count)
        head.children++;
    shape_add_condition(walk, "the head of a loop that barriers depend on", &head, opened);
    shape_close_block(walk, opened, RP_SHAPE_BREAK_AND_CONTINUE);
}

/** This is for if (a) b else c, a ? b : c, a && b and a || b, behind the condition. */
static void visit_branches(struct rp_shape_walk *walk, const struct rp_ast_node *node,
                           size_t branches)
{
    size_t first = node->count > branches ? node->count - branches : 0, behind;
    struct rp_ast_node head = *node;

    for (size_t i = 0; i < first; i++)
        visit(walk, &node->children[i], false);
    behind = walk->function->count;
    for (size_t i = first; i < node->count; i++)
        visit_in(walk, i == first ? "if {" : "else {", &node->children[i], false);
    head.count = first;
    shape_add_condition(walk, "a condition that barriers depend on", &head, behind);
}

/** The body of a lambda runs where it is called, and as often. */
static void visit_lambda(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    size_t opened = shape_open_block(walk, "lambda {", node);

    visit_all(walk, node, false);
    shape_close_block(walk, opened, RP_SHAPE_NO_JUMPS);
}

/** The breaks of a switch lead no further than to its end. */
static void visit_switch(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    size_t opened = shape_open_block(walk, "switch {", node);

    visit_branches(walk, node, 1);
    shape_close_block(walk, opened, RP_SHAPE_BREAK);
}

/** Adds the memory that a pointer or an lvalue means, but nothing in the template itself. */
static void add_memory(struct rp_shape_walk *walk, const struct rp_ast_node *node,
                       struct rp_buf *out)
{
    struct rp_memory_set set = {0};
    const char *between = " on";

    if (!walk->places)
        return;
    if (node->lvalue)
        rp_points_to_of_lvalue(walk->places, node, &set);
    else
        rp_points_to_of_value(walk->places, node, &set);
    for (size_t i = 0; i < walk->places->count; i++)
        if (rp_memory_set_has(&set, i) && rp_memory_object_name(walk->places, i)) {
            rp_buf_printf(out, "%s %s", between, rp_memory_object_name(walk->places, i));
            between = " or";
        }
}

/** Adds the target of an atomic operation, which is its first pointer. */
static void add_target(struct rp_shape_walk *walk, const struct rp_ast_node *node, size_t from,
                       struct rp_buf *out)
{
    while (from < node->count && !rp_ast_is_pointer(&node->children[from]))
        from++;
    if (from < node->count)
        add_memory(walk, &node->children[from], out);
}

/** An order that is no constant may depend on all of the kernel, so it must stay as it is. */
static void add_order(struct rp_shape_walk *walk, const struct rp_ast_node *order,
                      struct rp_buf *out)
{
    rp_autobuf body = {0};

    if (rp_shape_constant(walk, order, out) || !walk->places)
        return;
    shape_source(walk, walk->body, &body);
    rp_buf_printf(out, " an order that is no constant in %s", rp_buf_text(&body));
}

/** Adds the target of a barrier, fence or atomic operation, and its constants, behind its name. */
static void visit_call(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    struct rp_shape_function *function = walk->function;
    size_t before = function->count, name;
    struct rp_shape_item *item;
    rp_autobuf text = {0};

    if (node->count && rp_ast_is(&node->children[0], "CXXDependentScopeMemberExpr"))
        shape_add_call(walk, &node->children[0]);
    visit_all(walk, node, false);
    if (function->count < before + 2 || function->items[before].class != RP_SHAPE_CALL ||
        function->items[before + 1].class != RP_SHAPE_ORDERED)
        return;
    item = &function->items[before + 1];
    if (rp_known_function_effect(item->text) == RP_KNOWN_FUNCTION_UNKNOWN)
        return;
    name = strcspn(item->text, "\t");
    rp_buf_add(&text, item->text, name);
    add_target(walk, node, 1, &text);
    rp_buf_printf(&text, "%s with", item->text + name);
    for (size_t i = 1; i < node->count; i++)
        if (strncmp(item->text, "__builtin_amdgcn_fence(", strlen("__builtin_amdgcn_fence(")) == 0)
            add_order(walk, &node->children[i], &text);
        else
            rp_shape_constant(walk, &node->children[i], &text);
    free(item->text);
    item->text = rp_buf_steal(&text);
}

/** Atomic operations have a pointer, an order and a value. Those that compare have a second order
 * behind it, and those with a scope have it at their end. */
static bool is_order(const char *name, size_t at, size_t count)
{
    static const char *const scoped[] = {"__hip_atomic_", "__scoped_atomic_", "__opencl_atomic_"};

    for (size_t i = 0; i < sizeof scoped / sizeof *scoped; i++)
        if (at == count - 1 && strncmp(name, scoped[i], strlen(scoped[i])) == 0)
            return true;
    return at == 1 || (at == 3 && strstr(name, "compare_exchange"));
}

/** __hip_atomic_fetch_add and the like are no calls for the compiler. */
static void visit_atomic(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    rp_autobuf name = {0};
    rp_autobuf text = {0};
    struct rp_ast_node place = *node;

    place.end = place.begin;
    if (node->name)
        rp_buf_puts(&name, node->name);
    else
        shape_source(walk, &place, &name);
    rp_buf_puts(&name, "()");
    rp_shape_add(walk, RP_SHAPE_CALL, node, rp_buf_text(&name));
    rp_buf_puts(&text, rp_buf_text(&name));
    add_target(walk, node, 0, &text);
    rp_buf_puts(&text, "\twith");
    for (size_t i = 1; i < node->count; i++)
        if (is_order(rp_buf_text(&name), i, node->count))
            add_order(walk, &node->children[i], &text);
        else
            rp_shape_constant(walk, &node->children[i], &text);
    rp_shape_add(walk, RP_SHAPE_ORDERED, node, rp_buf_text(&text));
    visit_all(walk, node, false);
}

/** Adds the distance from one place to another, because code can reach it without naming it. */
static void add_distance(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    static const char *const other[] = {
        "=", ",", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "<=>", NULL};
    bool pointers;

    if (!walk->places || node->count != 2 || !node->opcode ||
        !(rp_ast_is(node, "BinaryOperator") || rp_ast_is(node, "CompoundAssignOperator")))
        return;
    for (const char *const *opcode = other; *opcode; opcode++)
        if (strcmp(node->opcode, *opcode) == 0)
            return;
    pointers = rp_ast_is_pointer(&node->children[0]) && rp_ast_is_pointer(&node->children[1]);
    if (!rp_points_to_disjoint(walk->places, &node->children[0], &node->children[1], pointers))
        return;
    rp_shape_add(walk, RP_SHAPE_POINTER, node,
                 "a number of pointers that may point into different memory");
}

/** Adds the kind of a volatile access, and its target. */
static void add_volatile(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    bool changes = rp_ast_is(node, "CompoundAssignOperator") || rp_ast_is(node, "UnaryOperator");
    rp_autobuf text = {0};

    rp_buf_printf(&text, "a volatile %s", node->cast ? "read" : changes ? "change" : "write");
    add_memory(walk, &node->children[0], &text);
    rp_shape_add(walk, RP_SHAPE_ORDERED, node, rp_buf_text(&text));
}

static bool is_one_of(const struct rp_ast_node *node, const char *const *kinds)
{
    for (; *kinds; kinds++)
        if (rp_ast_is(node, *kinds))
            return true;
    return false;
}

static bool sees_otherwise(const struct rp_ast_node *node)
{
    static const char *const casts[] = {"BitCast",
                                        "LValueBitCast",
                                        "IntegralToPointer",
                                        "PointerToIntegral",
                                        "AddressSpaceConversion",
                                        "LValueToRValueBitCast",
                                        "ReinterpretMemberPointer",
                                        NULL};
    static const char *const always[] = {"CXXReinterpretCastExpr", "CXXConstCastExpr",
                                         "BuiltinBitCastExpr", "CXXAddrspaceCastExpr", NULL};
    static const char *const written[] = {"CStyleCastExpr", "CXXFunctionalCastExpr",
                                          "CXXStaticCastExpr", NULL};

    if (is_one_of(node, always))
        return true;
    if (!node->cast || !(is_one_of(node, written) || node->part_of_cast))
        return false;
    for (const char *const *cast = casts; *cast; cast++)
        if (strcmp(node->cast, *cast) == 0)
            return true;
    return strcmp(node->cast, "Dependent") == 0 && node->type && strpbrk(node->type, "*&");
}

static void visit_cast(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads)
{
    if (sees_otherwise(node))
        shape_add_two(walk, RP_SHAPE_CAST, node, node->type, node->cast ? node->cast : node->kind);
    if (node->cast && strcmp(node->cast, "LValueToRValue") == 0)
        reads = true;
    else if (!node->cast ||
             (strcmp(node->cast, "NoOp") != 0 && strcmp(node->cast, "ArrayToPointerDecay") != 0))
        reads = false;
    visit_all(walk, node, reads);
}

static void visit_attributed(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct rp_ast_node *child = &node->children[i];
        size_t length = child->kind ? strlen(child->kind) : 0;
        rp_autobuf text = {0};

        if (rp_ast_is(child, "LoopHintAttr"))
            continue;
        if (length > 4 && strcmp(child->kind + length - 4, "Attr") == 0) {
            shape_source(walk, child, &text);
            shape_add_two(walk, RP_SHAPE_OTHER, child, "an attribute of a statement",
                          rp_buf_text(&text));
        } else {
            visit(walk, child, false);
        }
    }
}

/** @return whether the node and everything below it need no further visit */
static bool visit_control(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    static const char *const loops[] = {"ForStmt", "WhileStmt", "DoStmt", "CXXForRangeStmt", NULL};
    static const char *const unevaluated[] = {
        "UnaryExprOrTypeTraitExpr", "CXXNoexceptExpr",  "CXXTypeidExpr",
        "GenericSelectionExpr",     "StaticAssertDecl", NULL};
    bool shortcut = rp_ast_is(node, "BinaryOperator") && node->opcode &&
                    (strcmp(node->opcode, "&&") == 0 || strcmp(node->opcode, "||") == 0);

    if (is_one_of(node, loops))
        visit_loop(walk, node);
    else if (rp_ast_is(node, "IfStmt"))
        visit_branches(walk, node, node->has_else ? 2 : 1);
    else if (rp_ast_is(node, "ConditionalOperator"))
        visit_branches(walk, node, 2);
    else if (rp_ast_is(node, "SwitchStmt"))
        visit_switch(walk, node);
    else if (shortcut || rp_ast_is(node, "BinaryConditionalOperator") ||
             is_one_of(node, unevaluated))
        visit_branches(walk, node, 1);
    else if (rp_ast_is(node, "CaseStmt") || rp_ast_is(node, "DefaultStmt"))
        visit_branches(walk, node, 1);
    else if (rp_ast_is(node, "LambdaExpr"))
        visit_lambda(walk, node);
    else if (rp_ast_is(node, "AttributedStmt"))
        visit_attributed(walk, node);
    else
        return false;
    return true;
}

static void visit_reference(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads)
{
    if (rp_ast_callee(node)) {
        if (!rp_ast_is_vector_call(node))
            shape_add_call(walk, node);
    } else if (node->ref_kind && strcmp(node->ref_kind, "VarDecl") == 0) {
        shape_add_global(walk, node, reads);
    }
}

static void visit_plain(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads)
{
    static const char *const passing[] = {"ParenExpr", "ArraySubscriptExpr", "MemberExpr", NULL};
    rp_autobuf text = {0};

    if (rp_ast_is(node, "GotoStmt") || rp_ast_is(node, "IndirectGotoStmt"))
        rp_shape_add(walk, RP_SHAPE_ORDERED, node, "goto");
    if (rp_ast_is(node, "LabelStmt"))
        rp_shape_add(walk, RP_SHAPE_ORDERED, node, "a label");
    if (rp_ast_is(node, "BreakStmt"))
        rp_shape_add(walk, RP_SHAPE_ORDERED, node, "break");
    if (rp_ast_is(node, "ContinueStmt"))
        rp_shape_add(walk, RP_SHAPE_ORDERED, node, "continue");
    if (rp_ast_accesses_volatile(node))
        add_volatile(walk, node);
    add_distance(walk, node);
    if (rp_ast_is(node, "ReturnStmt")) {
        visit_all(walk, node, false);
        rp_shape_add(walk, RP_SHAPE_ORDERED, node, node->count ? "return with a value" : "return");
    } else if (rp_ast_is(node, "GCCAsmStmt") || rp_ast_is(node, "MSAsmStmt")) {
        shape_source(walk, node, &text);
        shape_add_two(walk, RP_SHAPE_ORDERED, node, "asm", rp_buf_text(&text));
    } else if (rp_ast_is(node, "AtomicExpr")) {
        visit_atomic(walk, node);
    } else if (rp_ast_is(node, "CallExpr") || rp_ast_is(node, "CXXMemberCallExpr")) {
        if (rp_ast_calls_pointer(node))
            rp_shape_add(walk, RP_SHAPE_ORDERED, node, "a call through a pointer");
        visit_call(walk, node);
    } else if (node->cast) {
        visit_cast(walk, node, reads);
    } else {
        visit_all(walk, node, reads && is_one_of(node, passing));
    }
}

static void visit(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads)
{
    bool record = rp_ast_is(node, "CXXRecordDecl"); /* The same body stands beside it. */

    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node))
        return;
    if (shape_add_other(walk, node) && record)
        return;
    if (record && node->implicit)
        return;
    if (rp_ast_is(node, "VarDecl"))
        shape_add_local(walk, node);
    shape_add_classes(walk, node);
    visit_reference(walk, node, reads);
    if (!visit_control(walk, node))
        visit_plain(walk, node, reads);
}

static void find_locals(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    static const char *const kinds[] = {"VarDecl", "ParmVarDecl", "BindingDecl",
                                        "DecompositionDecl", NULL};

    if (is_one_of(node, kinds) && node->id) {
        rp_vec_grow(&walk->locals, &walk->local_capacity, walk->local_count, 1,
                    sizeof *walk->locals);
        walk->locals[walk->local_count++] = node;
    }
    for (size_t i = 0; i < node->count; i++)
        find_locals(walk, &node->children[i]);
}

static void fill(const struct rp_ast_node *function, const char *text, size_t bytes,
                 struct rp_shape_function *ret)
{
    rp_cleanup(rp_cleanup_rp_points_to_free) struct rp_points_to *places = NULL;
    struct rp_shape_walk walk = {.text = text, .bytes = bytes, .function = ret};

    ret->symbol = rp_strdup(function->mangled ? function->mangled : "");
    if (function->mangled) {
        walk.places = places = rp_points_to_make(function);
        rp_accesses_find(function, places, bytes, &ret->accesses);
        rp_arithmetic_find(function, places, bytes, &ret->arithmetic);
    }
    find_locals(&walk, function);
    for (size_t i = 0; i < function->count; i++)
        if (rp_ast_is(&function->children[i], "CompoundStmt"))
            visit(&walk, walk.body = &function->children[i], false);
    shape_end_conditions(&walk);
    rp_shape_add_loop_updates(&walk);
    rp_shape_add_uses(&walk, function);
    free(walk.locals);
}

struct rp_kernel_shape *rp_kernel_shape_make(const struct rp_ast_node *const *functions,
                                             size_t count, const char *text, size_t bytes)
{
    struct rp_kernel_shape *shape = rp_new(struct rp_kernel_shape);

    shape->functions = rp_alloc_zero(count + 1, sizeof *shape->functions);
    for (size_t i = 0; i < count; i++)
        fill(functions[i], text, bytes, &shape->functions[shape->count++]);
    return shape;
}

void rp_kernel_shape_free(struct rp_kernel_shape *shape)
{
    if (!shape)
        return;
    for (size_t i = 0; i < shape->count; i++) {
        for (size_t j = 0; j < shape->functions[i].count; j++) {
            free(shape->functions[i].items[j].text);
            free(shape->functions[i].items[j].bounds);
        }
        free(shape->functions[i].items);
        rp_accesses_free(&shape->functions[i].accesses);
        free(shape->functions[i].symbol);
    }
    free(shape->functions);
    free(shape);
}

/* Two shapes are compared side by side. A reader gets only the first difference. */

/* This section compares two texts of a kernel, interval by interval. */

static const struct rp_access *find(const struct rp_accesses *in, size_t interval, const char *name,
                                    enum rp_access_kind kind)
{
    for (size_t i = 0; i < in->count; i++)
        if (in->list[i].interval == interval && in->list[i].kind == kind &&
            strcmp(in->list[i].name, name) == 0)
            return &in->list[i];
    return NULL;
}

static bool is_unknown(const struct rp_access *access)
{
    return strcmp(access->name, rp_unknown_memory) == 0;
}

/** Says whether the original only reads it plainly. An unknown target may be it. */
static bool is_only_read(const struct rp_accesses *was, const struct rp_access *access)
{
    if (is_unknown(access))
        return false;
    for (size_t i = 0; i < was->count; i++)
        if (was->list[i].kind != RP_ACCESS_READ &&
            (is_unknown(&was->list[i]) || strcmp(was->list[i].name, access->name) == 0))
            return false;
    return true;
}

static const char *verb(enum rp_access_kind kind)
{
    static const char *const verbs[] = {
        [RP_ACCESS_READ] = "read",
        [RP_ACCESS_WRITE] = "written",
        [RP_ACCESS_ATOMIC] = "changed by an atomic operation",
        [RP_ACCESS_VOLATILE_READ] = "read as volatile",
        [RP_ACCESS_VOLATILE_WRITE] = "written as volatile",
    };

    return verbs[kind];
}

/**
 * Both must have the same accesses in the same intervals. Memory that the original only reads may
 * be read anywhere; in an interval where it writes memory, reads of that memory may be left out.
 * @return 0, or RP_VERDICT with the first difference
 */
static int accesses_compare(const struct rp_shape_text *original, const struct rp_accesses *was,
                            const struct rp_shape_text *candidate, const struct rp_accesses *is,
                            struct rp_err *err)
{
    static const char rule[] =
        "what a kernel writes is read and written between the same barriers, "
        "fences and atomics as in the original";

    if (was->intervals != is->intervals)
        return rp_fail(err, RP_VERDICT,
                       "barriers, fences, atomics and volatile accesses divide the kernel into %zu "
                       "parts, and the original into %zu: leave them as they are",
                       is->intervals, was->intervals);
    for (size_t i = 0; i < is->count; i++) {
        const struct rp_access *new = &is->list[i];

        if (find(was, new->interval, new->name, new->kind) ||
            (new->kind == RP_ACCESS_READ &&is_only_read(was, new)))
            continue;
        return rp_fail(err, RP_VERDICT,
                       "line %u: %s is %s here, and not in this part of the original: %s",
                       rp_shape_line(candidate, new->offset), new->name, verb(new->kind), rule);
    }
    for (size_t i = 0; i < was->count; i++) {
        const struct rp_access *old = &was->list[i];

        if (find(is, old->interval, old->name, old->kind) ||
            (old->kind == RP_ACCESS_READ &&
             (is_only_read(was, old) || find(was, old->interval, old->name, RP_ACCESS_WRITE))))
            continue;
        return rp_fail(err, RP_VERDICT,
                       "line %u of the original: %s is %s there, and not in this part any more: %s",
                       rp_shape_line(original, old->offset), old->name, verb(old->kind), rule);
    }
    return 0;
}

/** Returns the item of a class behind `at`, or NULL. */
static const struct rp_shape_item *next_of(const struct rp_shape_function *function,
                                           enum rp_shape_class class, size_t *at)
{
    while (*at < function->count) {
        const struct rp_shape_item *item = &function->items[(*at)++];

        if (item->class == class)
            return item;
    }
    return NULL;
}

static size_t count_of(const struct rp_shape_function *function, const struct rp_shape_item *like)
{
    size_t count = 0;

    for (size_t i = 0; i < function->count; i++)
        count += function->items[i].class == like->class &&
                 strcmp(function->items[i].text, like->text) == 0;
    return count;
}

static unsigned line_of(const struct rp_shape_text *in, const struct rp_shape_item *item)
{
    return rp_shape_line(in, item->offset);
}

/** Counts the bytes of an item's text that a reader needs. */
static int name_bytes(const struct rp_shape_item *item)
{
    size_t bytes = strcspn(item->text, "\t");

    return bytes < 200 ? (int)bytes : 200;
}

static int refuse_ordered(const struct rp_shape_text *original, const struct rp_shape_item *was,
                          const struct rp_shape_text *candidate, const struct rp_shape_item *is,
                          bool is_new, struct rp_err *err)
{
    static const char rule[] = "barriers, atomics, operations between lanes, volatile accesses, "
                               "returns, gotos, breaks and "
                               "continues of loops with any of these, inline assembly and calls of "
                               "functions whose effects are not known keep kind, order, loop and "
                               "branch";

    if (is && is_new)
        return rp_fail(err, RP_VERDICT, "line %u: %.*s is added: %s", line_of(candidate, is),
                       name_bytes(is), is->text, rule);
    if (was)
        return rp_fail(err, RP_VERDICT,
                       "line %u of the original: %.*s is missing, or stands elsewhere: %s",
                       line_of(original, was), name_bytes(was), was->text, rule);
    return rp_fail(err, RP_VERDICT, "line %u: %.*s stands elsewhere than in the original: %s",
                   is ? line_of(candidate, is) : 1, is ? name_bytes(is) : 0, is ? is->text : "",
                   rule);
}

/** Returns the first item from one on that is not only a bracket. */
static const struct rp_shape_item *named(const struct rp_shape_function *function,
                                         const struct rp_shape_item *from)
{
    size_t at = from ? (size_t)(from - function->items) : function->count;
    const struct rp_shape_item *item = from;

    while (item && shape_is_bracket(item))
        item = next_of(function, from->class, &at);
    return item;
}

static int refuse_same(const struct rp_shape_text *original, const struct rp_shape_item *was,
                       const struct rp_shape_text *candidate, const struct rp_shape_item *is,
                       struct rp_err *err)
{
    if (is)
        return rp_fail(err, RP_VERDICT,
                       "line %u: %.*s is added or changed: leave it as it is in the original",
                       line_of(candidate, is), name_bytes(is), is->text);
    return rp_fail(err, RP_VERDICT, "line %u of the original: %.*s is missing: put it back",
                   line_of(original, was), name_bytes(was), was->text);
}

/** Says whether an array of these bounds ("[64][65]") holds what one of those does at the same
 * indices: each of as many is at least as large. Bounds that are no numbers are the same ones. */
static bool holds_all(const char *bounds, const char *was)
{
    while (*bounds && *was) {
        char *end, *was_end;
        const unsigned long long is = strtoull(bounds + 1, &end, 10);
        const unsigned long long old = strtoull(was + 1, &was_end, 10);

        if (*end != ']' || *was_end != ']')
            return strcmp(bounds, was) == 0;
        if (is < old)
            return false;
        bounds = end + 1;
        was = was_end + 1;
    }
    return *bounds == *was;
}

static int refuse_smaller(const struct rp_shape_item *was, const struct rp_shape_text *candidate,
                          const struct rp_shape_item *is, struct rp_err *err)
{
    return rp_fail(err, RP_VERDICT,
                   "line %u: %.*s in LDS is %s, and %s in the original: no bound may be smaller",
                   line_of(candidate, is), name_bytes(is), is->text, is->bounds, was->bounds);
}

/** Both must have the same items in the same order. */
static int compare_ordered(const struct rp_shape_text *original,
                           const struct rp_shape_function *was,
                           const struct rp_shape_text *candidate,
                           const struct rp_shape_function *is, enum rp_shape_class class,
                           struct rp_err *err)
{
    size_t at_was = 0, at_is = 0;

    for (;;) {
        const struct rp_shape_item *a = next_of(was, class, &at_was);
        const struct rp_shape_item *b = next_of(is, class, &at_is);

        if (!a && !b)
            return 0;
        if (a && b && a->bounds && b->bounds && strcmp(a->text, b->text) == 0 &&
            !holds_all(b->bounds, a->bounds))
            return refuse_smaller(a, candidate, b, err);
        if (a && b && strcmp(a->text, b->text) == 0)
            continue;
        if (class != RP_SHAPE_ORDERED)
            return refuse_same(original, a, candidate, b, err);
        b = named(is, b);
        return refuse_ordered(original, named(was, a), candidate, b,
                              b && count_of(is, b) > count_of(was, b), err);
    }
}

static int refuse_new(const struct rp_shape_text *candidate, const struct rp_shape_item *item,
                      struct rp_err *err)
{
    unsigned line = line_of(candidate, item);

    if (item->class == RP_SHAPE_CALL)
        return rp_fail(err, RP_VERDICT,
                       "line %u: %.*s is not called in the original: call only what it calls", line,
                       name_bytes(item), item->text);
    if (item->class == RP_SHAPE_GLOBAL)
        return rp_fail(err, RP_VERDICT,
                       "line %u: the variable %.*s of outside the kernel is not used so in the "
                       "original: use parameters and local variables",
                       line, name_bytes(item), item->text);
    if (item->class == RP_SHAPE_TYPE)
        return rp_fail(err, RP_VERDICT,
                       "line %u: the original makes no object of %.*s: use only types of its own",
                       line, name_bytes(item), item->text);
    if (item->class == RP_SHAPE_POINTER)
        return rp_fail(err, RP_VERDICT,
                       "line %u: %.*s is computed here, and not in the original: how memory lies "
                       "to other memory is not known",
                       line, name_bytes(item), item->text);
    return rp_fail(err, RP_VERDICT,
                   "line %u: a cast to %.*s that is not in the original sees a value as another "
                   "type: leave types as they are",
                   line, name_bytes(item), item->text);
}

/** Both must have the same items, but their order is free. */
static int compare_steps(const struct rp_shape_text *original, const struct rp_shape_function *was,
                         const struct rp_shape_text *candidate, const struct rp_shape_function *is,
                         struct rp_err *err)
{
    for (size_t i = 0; i < is->count; i++)
        if (is->items[i].class == RP_SHAPE_LOOP_UPDATE &&
            count_of(is, &is->items[i]) > count_of(was, &is->items[i]))
            return refuse_same(original, NULL, candidate, &is->items[i], err);
    for (size_t i = 0; i < was->count; i++)
        if (was->items[i].class == RP_SHAPE_LOOP_UPDATE &&
            count_of(is, &was->items[i]) < count_of(was, &was->items[i]))
            return refuse_same(original, &was->items[i], candidate, NULL, err);
    return 0;
}

/** No use may be left out, because its value in the capture may be another one elsewhere. */
static int compare_uses(const struct rp_shape_text *original, const struct rp_shape_function *was,
                        const struct rp_shape_function *is, struct rp_err *err)
{
    for (size_t i = 0; i < was->count; i++) {
        const struct rp_shape_item *use = &was->items[i];
        bool found = use->class != RP_SHAPE_USE;

        for (size_t j = 0; j < is->count && !found; j++)
            found = is->items[j].class == RP_SHAPE_USE &&
                    rp_shape_use_covers(is->items[j].text, use->text);
        if (!found)
            return rp_fail(
                err, RP_VERDICT,
                "line %u of the original uses %s, and nothing here does: a kernel must be "
                "right for all arguments and sizes, not only for those of this program",
                line_of(original, use), use->text);
    }
    return 0;
}

static int compare_function(const struct rp_shape_text *original,
                            const struct rp_shape_function *was,
                            const struct rp_shape_text *candidate,
                            const struct rp_shape_function *is, struct rp_err *err)
{
    for (size_t i = 0; i < is->count; i++)
        if (is->items[i].class >= RP_SHAPE_CALL && count_of(was, &is->items[i]) == 0)
            return refuse_new(candidate, &is->items[i], err);
    for (int class = RP_SHAPE_LOCAL; class < RP_SHAPE_LOOP_CONDITION; class ++) {
        int rc = compare_ordered(original, was, candidate, is, (enum rp_shape_class) class, err);

        if (rc < 0)
            return rc;
    }
    if (compare_ordered(original, was, candidate, is, RP_SHAPE_ORDERED, err) < 0 ||
        compare_ordered(original, was, candidate, is, RP_SHAPE_LOOP_CONDITION, err) < 0 ||
        compare_steps(original, was, candidate, is, err) < 0)
        return -RP_VERDICT;
    if (accesses_compare(original, &was->accesses, candidate, &is->accesses, err) < 0)
        return -RP_VERDICT;
    if (rp_arithmetic_compare(&was->arithmetic, candidate, &is->arithmetic, err) < 0)
        return -RP_VERDICT;
    return compare_uses(original, was, is, err);
}

int rp_kernel_shape_compare(const struct rp_shape_text *original,
                            const struct rp_shape_text *candidate, struct rp_err *err)
{
    if (original->shape->count != candidate->shape->count)
        return rp_fail(err, RP_VERDICT,
                       "the kernel has %zu instances, and had %zu: leave its templates alone",
                       candidate->shape->count, original->shape->count);
    for (size_t i = 0; i < original->shape->count; i++) {
        const struct rp_shape_function *was = &original->shape->functions[i], *is = NULL;
        int rc;

        for (size_t j = 0; j < candidate->shape->count; j++)
            if (strcmp(candidate->shape->functions[j].symbol, was->symbol) == 0)
                is = &candidate->shape->functions[j];
        if (!is)
            return rp_fail(err, RP_VERDICT, "the kernel %s is gone: leave its templates alone",
                           was->symbol);
        rc = compare_function(original, was, candidate, is, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
