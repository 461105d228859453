/* Each item is a text: two functions are compared by these. */
#include "optimize/shape_items.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "optimize/ast.h"
#include "optimize/tokens.h"

/** Lambdas and unnamed classes have the place in their names, which moves. */
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

    if (function->count == walk->capacity) {
        size_t capacity = walk->capacity ? 2 * walk->capacity : 32;
        struct rp_shape_item *more = realloc(function->items, capacity * sizeof *more);

        if (!more) {
            walk->failed = true;
            return;
        }
        function->items = more;
        walk->capacity = capacity;
    }
    rp_buf_puts(&clean, "");
    add_without_places(&clean, text);
    function->items[function->count] = (struct rp_shape_item){.class = class};
    function->items[function->count].offset =
        node && node->begin.in_file && node->begin.offset < walk->bytes ? node->begin.offset : 0;
    function->items[function->count].text = rp_buf_steal(&clean);
    walk->failed |= !function->items[function->count++].text;
}

void rp_shape_add_two(struct rp_shape_walk *walk, enum rp_shape_class class,
                      const struct rp_ast_node *node, const char *first, const char *second)
{
    rp_autobuf text = {0};

    rp_buf_printf(&text, "%s\t%s", first ? first : "?", second ? second : "");
    walk->failed |= text.failed;
    rp_shape_add(walk, class, node, rp_buf_text(&text));
}

void rp_shape_source(const struct rp_shape_walk *walk, const struct rp_ast_node *node,
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

void rp_shape_add_local(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    rp_autobuf text = {0};
    bool special = node->storage || node->tls || (node->type && strstr(node->type, "volatile"));

    rp_buf_printf(&text, "the variable %s\t%s %s %s", node->name ? node->name : "?",
                  node->storage ? node->storage : "", node->tls ? node->tls : "",
                  node->type ? node->type : "");
    for (size_t i = 0; i < node->count; i++) {
        const char *kind = node->children[i].kind;
        size_t length = kind ? strlen(kind) : 0;

        if (length < 4 || strcmp(kind + length - 4, "Attr") != 0)
            continue;
        rp_buf_printf(&text, " %s ", kind);
        rp_shape_source(walk, &node->children[i], &text);
        special = true;
    }
    walk->failed |= text.failed;
    if (special)
        rp_shape_add(walk, RP_SHAPE_LOCAL, node, rp_buf_text(&text));
}

const struct rp_ast_node *rp_shape_local(const struct rp_shape_walk *walk, uint64_t id)
{
    for (size_t i = 0; i < walk->local_count; i++)
        if (walk->locals[i]->id == id)
            return walk->locals[i];
    return NULL;
}

void rp_shape_add_global(struct rp_shape_walk *walk, const struct rp_ast_node *node, bool reads)
{
    rp_autobuf text = {0};

    if (rp_shape_local(walk, node->ref_id) ||
        strcmp(node->ref_name ? node->ref_name : "", "warpSize") == 0)
        return;
    rp_shape_source(walk, node, &text);
    rp_buf_printf(&text, "\t%s %s", node->ref_type ? node->ref_type : "",
                  reads ? "is read" : "is read or written");
    walk->failed |= text.failed;
    rp_shape_add(walk, RP_SHAPE_GLOBAL, node, rp_buf_text(&text));
}

void rp_shape_add_call(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    rp_autobuf text = {0};
    enum rp_callee_effect effect = rp_callee_effect(rp_ast_callee(node));
    const char *name = rp_ast_callee(node);
    bool member = rp_ast_is(node, "MemberExpr");
    bool construct = name && strcmp(name, "constructor") == 0;

    /* The ranges of members and operators hold the object and the arguments, too. */
    if (name && (member || construct || strncmp(name, "operator", strlen("operator")) == 0))
        rp_buf_puts(&text, name);
    else
        rp_shape_source(walk, node, &text);
    rp_buf_printf(&text, "()\t%s", node->ref_type ? node->ref_type : node->type ? node->type : "");
    if (member && node->count && node->children[0].type)
        rp_buf_printf(&text, " of %s", node->children[0].type);
    walk->failed |= text.failed;
    rp_shape_add(walk, RP_SHAPE_CALL, node, rp_buf_text(&text));
    if (effect != RP_CALLEE_PURE && !construct)
        rp_shape_add(walk, RP_SHAPE_ORDERED, node, rp_buf_text(&text));
}

bool rp_shape_add_other(struct rp_shape_walk *walk, const struct rp_ast_node *node)
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
            if (rp_ast_is(node, "CXXRecordDecl")) /* nothing in it is looked at */
                rp_shape_source(walk, node, &text);
            walk->failed |= text.failed;
            rp_shape_add_two(walk, RP_SHAPE_OTHER, node, others[i].word, rp_buf_text(&text));
            return true;
        }
    return false;
}

void rp_shape_add_classes(struct rp_shape_walk *walk, const struct rp_ast_node *node)
{
    const char *name = NULL;
    size_t at = 0, bytes;

    while ((bytes = rp_ast_class_name(node, &at, &name))) {
        rp_autobuf text = {0};

        rp_buf_add(&text, name, bytes);
        walk->failed |= text.failed;
        rp_shape_add(walk, RP_SHAPE_TYPE, node, rp_buf_text(&text));
    }
}
