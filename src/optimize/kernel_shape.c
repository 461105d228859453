/* One walk through each function; what is found goes to its class's list in the order of the text.
 */
#include "optimize/kernel_shape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "optimize/ast.h"
#include "optimize/tokens.h"

RP_DEFINE_CLEANUP(struct rp_kernel_shape, rp_kernel_shape_free)

struct walk {
    const char *text; /* of the file */
    size_t bytes;
    struct rp_shape_function *function;
    size_t capacity;
    uint64_t *locals; /* ids of what the function declares */
    size_t local_count, local_capacity;
    bool failed; /* out of memory */
};

static void visit(struct walk *walk, const struct rp_ast_node *node, bool reads);

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

static void add_item(struct walk *walk, enum rp_shape_class class, const struct rp_ast_node *node,
                     const char *text)
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
    function->items[function->count].class = class;
    function->items[function->count].offset =
        node && node->begin.in_file && node->begin.offset < walk->bytes ? node->begin.offset : 0;
    function->items[function->count].text = rp_buf_steal(&clean);
    walk->failed |= !function->items[function->count++].text;
}

static void add_two(struct walk *walk, enum rp_shape_class class, const struct rp_ast_node *node,
                    const char *first, const char *second)
{
    rp_autobuf text = {0};

    rp_buf_printf(&text, "%s\t%s", first ? first : "?", second ? second : "");
    walk->failed |= text.failed;
    add_item(walk, class, node, rp_buf_text(&text));
}

/** The tokens of a node, one blank between two; a name when it comes out of a macro. */
static void source_of(const struct walk *walk, const struct rp_ast_node *node, struct rp_buf *out)
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

/* A bracket that nothing came into is taken back. */
static void visit_in(struct walk *walk, const char *bracket, const struct rp_ast_node *node,
                     bool reads)
{
    struct rp_shape_function *function = walk->function;
    size_t opened = function->count;
    bool any = false;

    add_item(walk, RP_SHAPE_ORDERED, node, bracket);
    visit(walk, node, reads);
    for (size_t i = opened + 1; i < function->count; i++)
        any |= function->items[i].class == RP_SHAPE_ORDERED;
    if (any) {
        add_item(walk, RP_SHAPE_ORDERED, node, "}");
    } else if (function->count > opened) {
        free(function->items[opened].text);
        memmove(&function->items[opened], &function->items[opened + 1],
                (--function->count - opened) * sizeof *function->items);
    }
}

static void visit_all(struct walk *walk, const struct rp_ast_node *node, bool reads)
{
    for (size_t i = 0; i < node->count; i++)
        visit(walk, &node->children[i], reads);
}

/** What runs each time round stands in the bracket: all but the beginning of a for. */
static void visit_loop(struct walk *walk, const struct rp_ast_node *node)
{
    struct rp_ast_node rest = *node;
    bool is_for = rp_ast_is(node, "ForStmt") && node->count > 0;

    if (is_for)
        visit(walk, &node->children[0], false);
    rest.kind = "loop";
    rest.children += is_for;
    rest.count -= is_for;
    visit_in(walk, "loop {", &rest, false);
}

/** if (a) b else c, a ? b : c, a && b, a || b: behind the condition. */
static void visit_branches(struct walk *walk, const struct rp_ast_node *node, size_t branches)
{
    size_t first = node->count > branches ? node->count - branches : 0;

    for (size_t i = 0; i < first; i++)
        visit(walk, &node->children[i], false);
    for (size_t i = first; i < node->count; i++)
        visit_in(walk, i == first ? "if {" : "else {", &node->children[i], false);
}

static void add_local(struct walk *walk, const struct rp_ast_node *node)
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
        source_of(walk, &node->children[i], &text);
        special = true;
    }
    walk->failed |= text.failed;
    if (special)
        add_item(walk, RP_SHAPE_LOCAL, node, rp_buf_text(&text));
}

static bool is_local(const struct walk *walk, uint64_t id)
{
    for (size_t i = 0; i < walk->local_count; i++)
        if (walk->locals[i] == id)
            return true;
    return false;
}

static void add_global(struct walk *walk, const struct rp_ast_node *node, bool reads)
{
    rp_autobuf text = {0};

    if (is_local(walk, node->ref_id) ||
        strcmp(node->ref_name ? node->ref_name : "", "warpSize") == 0)
        return;
    source_of(walk, node, &text);
    rp_buf_printf(&text, "\t%s %s", node->ref_type ? node->ref_type : "",
                  reads ? "is read" : "is read or written");
    walk->failed |= text.failed;
    add_item(walk, RP_SHAPE_GLOBAL, node, rp_buf_text(&text));
}

/** Constants among the arguments say which order and scope. */
static void add_constants(const struct rp_ast_node *node, struct rp_buf *out)
{
    if ((rp_ast_is(node, "IntegerLiteral") || rp_ast_is(node, "StringLiteral")) && node->value)
        rp_buf_printf(out, " %s", node->value);
    if (rp_ast_is(node, "IntegerLiteral") || rp_ast_is(node, "StringLiteral") ||
        rp_ast_is(node, "ImplicitCastExpr") || rp_ast_is(node, "ParenExpr"))
        for (size_t i = 0; i < node->count; i++)
            add_constants(&node->children[i], out);
}

static void add_call(struct walk *walk, const struct rp_ast_node *node)
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
        source_of(walk, node, &text);
    rp_buf_printf(&text, "()\t%s", node->ref_type ? node->ref_type : node->type ? node->type : "");
    if (member && node->count && node->children[0].type)
        rp_buf_printf(&text, " of %s", node->children[0].type);
    walk->failed |= text.failed;
    add_item(walk, RP_SHAPE_CALL, node, rp_buf_text(&text));
    if (effect != RP_CALLEE_PURE && !construct)
        add_item(walk, RP_SHAPE_ORDERED, node, rp_buf_text(&text));
}

/** A call's constants, behind the call itself. */
static void visit_call(struct walk *walk, const struct rp_ast_node *node)
{
    struct rp_shape_function *function = walk->function;
    size_t before = function->count;
    rp_autobuf constants = {0};

    if (node->count && rp_ast_is(&node->children[0], "CXXDependentScopeMemberExpr"))
        add_call(walk, &node->children[0]);
    visit_all(walk, node, false);
    if (function->count == before || function->items[before].class != RP_SHAPE_CALL ||
        node->count == 0)
        return;
    if (function->count > before + 1 && function->items[before + 1].class == RP_SHAPE_ORDERED) {
        struct rp_shape_item *item = &function->items[before + 1];

        for (size_t i = 1; i < node->count; i++)
            add_constants(&node->children[i], &constants);
        if (constants.len && rp_callee_effect(item->text) == RP_CALLEE_SYNC) {
            rp_autobuf longer = {0};

            rp_buf_printf(&longer, "%s with%s", item->text, rp_buf_text(&constants));
            free(item->text);
            item->text = rp_buf_steal(&longer);
            walk->failed |= !item->text || constants.failed;
        }
    }
}

/** __hip_atomic_fetch_add and its like are no calls for the compiler. */
static void visit_atomic(struct walk *walk, const struct rp_ast_node *node)
{
    rp_autobuf text = {0};
    struct rp_ast_node name = *node;

    name.end = name.begin;
    if (node->name)
        rp_buf_puts(&text, node->name);
    else
        source_of(walk, &name, &text);
    rp_buf_puts(&text, "()\twith");
    for (size_t i = 0; i < node->count; i++)
        add_constants(&node->children[i], &text);
    walk->failed |= text.failed;
    add_item(walk, RP_SHAPE_CALL, node, rp_buf_text(&text));
    add_item(walk, RP_SHAPE_ORDERED, node, rp_buf_text(&text));
    visit_all(walk, node, false);
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

static void visit_cast(struct walk *walk, const struct rp_ast_node *node, bool reads)
{
    if (sees_otherwise(node))
        add_two(walk, RP_SHAPE_CAST, node, node->type, node->cast ? node->cast : node->kind);
    if (node->cast && strcmp(node->cast, "LValueToRValue") == 0)
        reads = true;
    else if (!node->cast ||
             (strcmp(node->cast, "NoOp") != 0 && strcmp(node->cast, "ArrayToPointerDecay") != 0))
        reads = false;
    visit_all(walk, node, reads);
}

static void visit_attributed(struct walk *walk, const struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct rp_ast_node *child = &node->children[i];
        size_t length = child->kind ? strlen(child->kind) : 0;
        rp_autobuf text = {0};

        if (rp_ast_is(child, "LoopHintAttr"))
            continue;
        if (length > 4 && strcmp(child->kind + length - 4, "Attr") == 0) {
            source_of(walk, child, &text);
            add_two(walk, RP_SHAPE_OTHER, child, "an attribute of a statement", rp_buf_text(&text));
        } else {
            visit(walk, child, false);
        }
    }
}

/** What may be neither added nor taken away. @return whether the node is one */
static bool add_other(struct walk *walk, const struct rp_ast_node *node)
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
            add_two(walk, RP_SHAPE_OTHER, node, others[i].word, node->name);
            return true;
        }
    return false;
}

/** @return whether the node and what is below it are done with */
static bool visit_control(struct walk *walk, const struct rp_ast_node *node)
{
    static const char *const loops[] = {"ForStmt", "WhileStmt", "DoStmt", "CXXForRangeStmt", NULL};
    bool shortcut = rp_ast_is(node, "BinaryOperator") && node->opcode &&
                    (strcmp(node->opcode, "&&") == 0 || strcmp(node->opcode, "||") == 0);

    if (is_one_of(node, loops))
        visit_loop(walk, node);
    else if (rp_ast_is(node, "IfStmt"))
        visit_branches(walk, node, node->has_else ? 2 : 1);
    else if (rp_ast_is(node, "ConditionalOperator"))
        visit_branches(walk, node, 2);
    else if (rp_ast_is(node, "SwitchStmt") || shortcut)
        visit_branches(walk, node, 1);
    else if (rp_ast_is(node, "CaseStmt") || rp_ast_is(node, "DefaultStmt"))
        visit_branches(walk, node, 1);
    else if (rp_ast_is(node, "AttributedStmt"))
        visit_attributed(walk, node);
    else
        return false;
    return true;
}

/** A class may have a destructor, which is called without being named. */
static void add_classes(struct walk *walk, const struct rp_ast_node *node)
{
    const char *name = NULL;
    size_t at = 0, bytes;

    while ((bytes = rp_ast_class_name(node, &at, &name))) {
        rp_autobuf text = {0};

        rp_buf_add(&text, name, bytes);
        walk->failed |= text.failed;
        add_item(walk, RP_SHAPE_TYPE, node, rp_buf_text(&text));
    }
}

static void visit_reference(struct walk *walk, const struct rp_ast_node *node, bool reads)
{
    if (rp_ast_callee(node)) {
        if (!rp_ast_is_vector_call(node))
            add_call(walk, node);
    } else if (node->ref_kind && strcmp(node->ref_kind, "VarDecl") == 0) {
        add_global(walk, node, reads);
    }
}

static void visit_plain(struct walk *walk, const struct rp_ast_node *node, bool reads)
{
    static const char *const passing[] = {"ParenExpr", "ArraySubscriptExpr", "MemberExpr", NULL};
    rp_autobuf text = {0};

    if (rp_ast_is(node, "GotoStmt") || rp_ast_is(node, "IndirectGotoStmt"))
        add_item(walk, RP_SHAPE_ORDERED, node, "goto");
    if (rp_ast_is(node, "LabelStmt"))
        add_item(walk, RP_SHAPE_ORDERED, node, "a label");
    if (rp_ast_accesses_volatile(node))
        add_item(walk, RP_SHAPE_ORDERED, node, "an access to something volatile");
    if (rp_ast_is(node, "ReturnStmt")) {
        visit_all(walk, node, false);
        add_item(walk, RP_SHAPE_ORDERED, node, node->count ? "return with a value" : "return");
    } else if (rp_ast_is(node, "GCCAsmStmt") || rp_ast_is(node, "MSAsmStmt")) {
        source_of(walk, node, &text);
        add_two(walk, RP_SHAPE_ORDERED, node, "asm", rp_buf_text(&text));
    } else if (rp_ast_is(node, "AtomicExpr")) {
        visit_atomic(walk, node);
    } else if (rp_ast_is(node, "CallExpr") || rp_ast_is(node, "CXXMemberCallExpr")) {
        if (rp_ast_calls_pointer(node))
            add_item(walk, RP_SHAPE_ORDERED, node, "a call through a pointer");
        visit_call(walk, node);
    } else if (node->cast) {
        visit_cast(walk, node, reads);
    } else {
        visit_all(walk, node, reads && is_one_of(node, passing));
    }
}

static void visit(struct walk *walk, const struct rp_ast_node *node, bool reads)
{
    bool record = rp_ast_is(node, "CXXRecordDecl"); /* the same body stands beside it */

    if (!node->kind || rp_ast_is(node, "CXXDefaultArgExpr") || rp_ast_is_index(node) ||
        walk->failed)
        return;
    if (add_other(walk, node) && record)
        return;
    if (record && node->implicit)
        return;
    if (rp_ast_is(node, "VarDecl"))
        add_local(walk, node);
    add_classes(walk, node);
    visit_reference(walk, node, reads);
    if (!visit_control(walk, node))
        visit_plain(walk, node, reads);
}

static void find_locals(struct walk *walk, const struct rp_ast_node *node)
{
    static const char *const kinds[] = {"VarDecl", "ParmVarDecl", "BindingDecl",
                                        "DecompositionDecl", NULL};

    if (is_one_of(node, kinds) && node->id) {
        if (walk->local_count == walk->local_capacity) {
            size_t capacity = walk->local_capacity ? 2 * walk->local_capacity : 64;
            uint64_t *more = realloc(walk->locals, capacity * sizeof *more);

            if (!more) {
                walk->failed = true;
                return;
            }
            walk->locals = more;
            walk->local_capacity = capacity;
        }
        walk->locals[walk->local_count++] = node->id;
    }
    for (size_t i = 0; i < node->count; i++)
        find_locals(walk, &node->children[i]);
}

int rp_kernel_shape_make(const struct rp_ast_node *const *functions, size_t count, const char *text,
                         size_t bytes, struct rp_kernel_shape **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_kernel_shape_free) struct rp_kernel_shape *shape =
        calloc(1, sizeof *shape);

    if (shape)
        shape->functions = calloc(count + 1, sizeof *shape->functions);
    if (!shape || !shape->functions)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct walk walk = {.text = text, .bytes = bytes, .function = &shape->functions[i]};

        shape->count++;
        walk.function->symbol = strdup(functions[i]->mangled ? functions[i]->mangled : "");
        walk.failed = !walk.function->symbol;
        find_locals(&walk, functions[i]);
        for (size_t j = 0; j < functions[i]->count; j++)
            if (rp_ast_is(&functions[i]->children[j], "CompoundStmt"))
                visit(&walk, &functions[i]->children[j], false);
        free(walk.locals);
        if (walk.failed)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = rp_steal(shape);
    return 0;
}

void rp_kernel_shape_free(struct rp_kernel_shape *shape)
{
    if (!shape)
        return;
    for (size_t i = 0; i < shape->count; i++) {
        for (size_t j = 0; j < shape->functions[i].count; j++)
            free(shape->functions[i].items[j].text);
        free(shape->functions[i].items);
        free(shape->functions[i].symbol);
    }
    free(shape->functions);
    free(shape);
}
