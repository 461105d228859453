#include "optimize/source_loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/ast_dump.h"
#include "optimize/ir.h"
#include "optimize/kernel_shape.h"
#include "optimize/kernel_source.h"
#include "optimize/loop_count.h"
#include "optimize/tokens.h"

struct walk {
    const struct rp_ast_node *function;
    struct rp_kernel_source *source;
    struct rp_tokens tokens; /* of the kernel; places from its beginning */
    size_t capacity;
    bool failed;
    const struct rp_compile_command *command; /* NULL: the compiler is not asked */
    const char *arch;
    struct rp_ir *ir; /* NULL: it was not asked, or says nothing */
    bool asked;
};

static bool is_loop(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "ForStmt") || rp_ast_is(node, "WhileStmt") ||
           rp_ast_is(node, "DoStmt") || rp_ast_is(node, "CXXForRangeStmt");
}

/** Of statements, by their kind. NULL: none. */
static const char *kind_obstacle(const struct rp_ast_node *node)
{
    static const struct {
        const char *kind, *why;
    } kinds[] = {{"ReturnStmt", "a return is in it"},
                 {"GotoStmt", "a goto is in it"},
                 {"IndirectGotoStmt", "a goto is in it"},
                 {"LabelStmt", "a label is in it"},
                 {"GCCAsmStmt", "inline assembly is in it"},
                 {"MSAsmStmt", "inline assembly is in it"},
                 {"AtomicExpr", "an atomic operation is in it"},
                 {"CXXThrowExpr", "a throw is in it"}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (rp_ast_is(node, kinds[i].kind))
            return kinds[i].why;
    return NULL;
}

/**
 * A reason against unrolling below a node; NULL: none is seen.
 * @param unknown  set to the name of something that is called and of which nothing is known by that
 */
static char *obstacle(const struct rp_ast_node *node, bool in_switch, const char **unknown)
{
    const char *callee = rp_ast_callee(node), *why = kind_obstacle(node);
    enum rp_callee_effect effect = rp_callee_effect(callee);

    if (why)
        return strdup(why);
    if (rp_ast_is(node, "BreakStmt") && !in_switch)
        return strdup("a break is in it");
    if (rp_ast_accesses_volatile(node))
        return strdup("it accesses something volatile");
    if (is_loop(node))
        return strdup("another loop is in it");
    if (rp_ast_is_index(node))
        return NULL;
    if (effect == RP_CALLEE_SYNC || effect == RP_CALLEE_LANES)
        return rp_format("%s() is in it, which orders memory or meets other lanes", callee);
    if (rp_ast_is(node, "CallExpr") && rp_ast_calls_pointer(node))
        return strdup("a call through a pointer is in it");
    if (callee && effect == RP_CALLEE_UNKNOWN && !rp_ast_is_vector_call(node))
        *unknown = callee;
    if (rp_ast_is(node, "LambdaExpr")) { /* what is in it is done where it is called */
        *unknown = "a lambda's operator";
        return NULL;
    }
    for (size_t i = 0; i < node->count; i++) {
        char *found =
            obstacle(&node->children[i], in_switch || rp_ast_is(node, "SwitchStmt"), unknown);

        if (found)
            return found;
    }
    return NULL;
}

static bool has_loop(const struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        if (is_loop(&node->children[i]) || has_loop(&node->children[i]))
            return true;
    return false;
}

/* --- what is called ------------------------------------------------------------------------ */

static uint32_t line_of(const struct rp_kernel_source *source, size_t at, uint32_t *ret_column)
{
    uint32_t line = 1;
    size_t begin = 0;

    for (size_t i = 0; i < at; i++)
        if (source->text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    *ret_column = (uint32_t)(at - begin) + 1;
    return line;
}

/** Whether lines of the kernel are not counted as we do: #line, and line breaks of old Macs. */
static bool renames_lines(const struct walk *walk)
{
    const struct rp_kernel_source *source = walk->source;

    for (size_t i = 0; i < walk->tokens.count; i++) {
        const struct rp_token *token = &walk->tokens.list[i];
        const char *at = source->text + source->begin + token->begin + 1;

        at += strspn(at, " \t");
        if (token->kind == RP_TOKEN_DIRECTIVE &&
            ((*at >= '0' && *at <= '9') || strncmp(at, "line", strlen("line")) == 0))
            return true;
    }
    for (size_t i = source->begin; i < source->end; i++)
        if (source->text[i] == '\r' && source->text[i + 1] != '\n')
            return true;
    return false;
}

/** The compiler is asked once, when the first loop needs it. */
static const struct rp_ir *ir_of(struct walk *walk)
{
    struct rp_err ignored = RP_ERR_INIT;

    if (!walk->asked && walk->command &&
        rp_ir_dump(walk->command, walk->source->path, walk->arch, &walk->ir, &ignored) < 0)
        walk->ir = NULL;
    walk->asked = true;
    return walk->ir;
}

/** What hinders of that which is called in a loop (constructors, destructors and conversions, too),
 * all of it followed as far as it goes.
 *  @param unknown  what counts when the compiler cannot be asked; NULL: nothing hinders then */
static char *callee_obstacle(struct walk *walk, const struct rp_source_loop *loop,
                             const char *unknown)
{
    const struct rp_kernel_source *source = walk->source;
    const struct rp_ir *ir = ir_of(walk);
    struct rp_ir_range part;
    uint32_t column, body = line_of(source, source->body_begin, &column);
    struct rp_err ignored = RP_ERR_INIT;
    char *why;

    part.first_line = line_of(source, loop->begin, &part.first_column);
    part.last_line = line_of(source, loop->end, &part.last_column);
    if (ir && rp_ir_obstacle(ir, source->symbol, renames_lines(walk) ? 0 : body, &part, &why,
                             &ignored) == 0)
        return why;
    return unknown ? rp_format("%s() is in it, and what that does is not known", unknown) : NULL;
}

/** Why it may not be unrolled; NULL: it may. */
static char *why_not(struct walk *walk, const struct rp_ast_node *node,
                     const struct rp_source_loop *loop, const struct rp_loop_count *count)
{
    const char *unknown = NULL;

    if (node->begin.macro)
        return strdup("it comes out of a macro");
    if (!loop->innermost)
        return strdup("another loop is in it");
    if (!loop->counted)
        return strdup(count->why_not);
    for (size_t i = 0; i < node->count; i++) {
        char *found = obstacle(&node->children[i], false, &unknown);

        if (found)
            return found;
    }
    return callee_obstacle(walk, loop, unknown);
}

/* --- pragmas ------------------------------------------------------------------------------- */

/** The unroll pragmas right in front of a loop; the loop's beginning twice when there are none. Of
 * the tokens, that of `for` and the first of the pragmas. */
static void find_pragmas(const struct walk *walk, struct rp_source_loop *loop, size_t *ret_at,
                         size_t *ret_first)
{
    const struct rp_kernel_source *source = walk->source;
    const char *text = source->text + source->begin;
    size_t at = 0, first;

    loop->pragma_begin = loop->pragma_end = loop->begin;
    while (at < walk->tokens.count && walk->tokens.list[at].begin + source->begin < loop->begin)
        at++;
    for (first = at; first > 0;) {
        size_t one = rp_tokens_unroll(text, &walk->tokens, first - 1, NULL);
        size_t four = first >= 4 ? rp_tokens_unroll(text, &walk->tokens, first - 4, NULL) : 0;

        if (one != 1 && four != 4)
            break;
        first -= one == 1 ? 1 : 4;
    }
    *ret_at = at;
    *ret_first = first;
    if (first == at)
        return;
    loop->pragma_begin = source->begin + walk->tokens.list[first].begin;
    loop->pragma_end = source->begin + walk->tokens.list[at - 1].end;
}

/** An unroll pragma among the lines of the preprocessor that end right in front of a token. */
static bool has_pragma_before(const struct walk *walk, size_t at)
{
    const char *text = walk->source->text + walk->source->begin;

    while (at > 0) {
        size_t group = at >= 4 ? rp_tokens_unroll(text, &walk->tokens, at - 4, NULL) : 0;

        if (group == 4 || rp_tokens_unroll(text, &walk->tokens, at - 1, NULL) == 1)
            return true;
        if (walk->tokens.list[--at].kind != RP_TOKEN_DIRECTIVE)
            return false;
    }
    return false;
}

/** Of a hint that the compiler sees: why it cannot be another one; NULL: it is no matter. */
static const char *hint_obstacle(const struct walk *walk, const struct rp_ast_node *hint,
                                 const struct rp_source_loop *loop)
{
    const struct rp_kernel_source *source = walk->source;
    const char *text = source->text + source->begin;
    const struct rp_token *token = NULL;

    if (hint->begin.in_file && hint->begin.offset >= loop->pragma_begin &&
        hint->begin.offset < loop->pragma_end)
        return NULL;
    for (size_t i = 0; i < walk->tokens.count && hint->begin.in_file; i++)
        if (hint->begin.offset >= source->begin + walk->tokens.list[i].begin &&
            hint->begin.offset < source->begin + walk->tokens.list[i].end)
            token = &walk->tokens.list[i];
    if (!token || token->kind != RP_TOKEN_DIRECTIVE)
        return "its pragma comes out of a macro";
    return memmem(text + token->begin, token->end - token->begin, "unroll", strlen("unroll"))
               ? "its pragma asks for something else, too"
               : NULL;
}

/** Finds a loop's pragmas. @return why they cannot be replaced, or another one not be added */
static const char *pragma_obstacle(const struct walk *walk, const struct rp_ast_node *parent,
                                   struct rp_source_loop *loop)
{
    size_t at, first;
    const char *why = NULL;

    find_pragmas(walk, loop, &at, &first);
    if (has_pragma_before(walk, first))
        return "an unroll pragma stands in front of it with other lines of the preprocessor in "
               "between";
    for (size_t i = 0; rp_ast_is(parent, "AttributedStmt") && !why && i < parent->count; i++)
        if (rp_ast_is(&parent->children[i], "LoopHintAttr"))
            why = hint_obstacle(walk, &parent->children[i], loop);
    return why;
}

/** Of a loop whose last token comes out of a macro, the compiler says where that is named: up to
 * the end of its arguments, if there are any. */
static size_t end_of_macro(const struct walk *walk, size_t end)
{
    const struct rp_kernel_source *source = walk->source;
    const char *text = source->text + source->begin;
    size_t at = 0, depth = 0;

    while (at < walk->tokens.count && walk->tokens.list[at].begin + source->begin < end)
        at++;
    if (at == walk->tokens.count || !rp_token_is(text, &walk->tokens.list[at], "("))
        return end;
    for (; at < walk->tokens.count; at++) {
        depth += rp_token_is(text, &walk->tokens.list[at], "(");
        depth -= rp_token_is(text, &walk->tokens.list[at], ")");
        if (depth == 0)
            return walk->tokens.list[at].end + source->begin;
    }
    return end;
}

/* --- loops --------------------------------------------------------------------------------- */

static void add_loop(struct walk *walk, const struct rp_ast_node *node,
                     const struct rp_ast_node *parent, uint32_t depth)
{
    struct rp_kernel_source *source = walk->source;
    struct rp_loop_count count = rp_loop_count(node, walk->function);
    struct rp_source_loop *loop;
    const char *pragma;

    if (source->loop_count == walk->capacity) {
        size_t capacity = walk->capacity ? 2 * walk->capacity : 16;
        struct rp_source_loop *more = realloc(source->loops, capacity * sizeof *more);

        if (!more) {
            walk->failed = true;
            return;
        }
        source->loops = more;
        walk->capacity = capacity;
    }
    loop = &source->loops[source->loop_count];
    *loop = (struct rp_source_loop){.begin = node->begin.offset,
                                    .end = node->end.offset + node->end.bytes,
                                    .line = 1,
                                    .depth = depth,
                                    .innermost = !has_loop(node),
                                    .counted = count.counted,
                                    .trip_count_known = count.known,
                                    .trip_count = count.trips};
    for (size_t i = 0; i < loop->begin; i++)
        loop->line += source->text[i] == '\n';
    if (loop->end > source->end || loop->end < loop->begin)
        loop->end = source->end; /* no compiler says so */
    else if (node->end.macro)
        loop->end = end_of_macro(walk, loop->end);
    pragma = pragma_obstacle(walk, parent, loop);
    loop->why_not = why_not(walk, node, loop, &count);
    if (!loop->why_not && pragma) {
        loop->why_not = strdup(pragma);
        walk->failed |= !loop->why_not;
    }
    source->loop_count++;
}

/** Only loops whose beginning stands in the kernel's own text. */
static void visit(struct walk *walk, const struct rp_ast_node *node,
                  const struct rp_ast_node *parent, uint32_t depth)
{
    const struct rp_kernel_source *source = walk->source;
    bool loop = is_loop(node);

    if (walk->failed || rp_ast_is(node, "CXXRecordDecl"))
        return;
    if (loop && node->begin.in_file && node->begin.offset >= source->begin &&
        node->begin.offset < source->end && node->end.offset < source->end)
        add_loop(walk, node, parent, depth);
    for (size_t i = 0; i < node->count; i++)
        visit(walk, &node->children[i], node, depth + loop);
}

int rp_source_loops_find(const struct rp_ast_node *function, struct rp_kernel_source *source,
                         const struct rp_compile_command *command, const char *arch,
                         struct rp_err *err)
{
    struct walk walk = {.function = function, .source = source, .command = command, .arch = arch};
    int rc = rp_tokens_read(source->text + source->begin, source->end - source->begin, &walk.tokens,
                            err);

    if (rc < 0)
        return rp_fail(err, RP_BAD_INPUT, "%s cannot be taken apart: its text has no closed tokens",
                       source->name);
    visit(&walk, function, function, 0);
    rp_ir_free(walk.ir);
    rp_tokens_free(&walk.tokens);
    return walk.failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
