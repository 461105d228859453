#include "optimize/source_loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"
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
};

static bool is_loop(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "ForStmt") || rp_ast_is(node, "WhileStmt") ||
           rp_ast_is(node, "DoStmt") || rp_ast_is(node, "CXXForRangeStmt");
}

/** A reason against unrolling below a node; NULL: none. *broken: a break is of a switch in it. */
static char *obstacle(const struct rp_ast_node *node, bool in_switch)
{
    static const struct {
        const char *kind, *why;
    } kinds[] = {
        {"ReturnStmt", "a return is in it"},        {"GotoStmt", "a goto is in it"},
        {"IndirectGotoStmt", "a goto is in it"},    {"LabelStmt", "a label is in it"},
        {"GCCAsmStmt", "inline assembly is in it"}, {"MSAsmStmt", "inline assembly is in it"},
        {"LambdaExpr", "a lambda is in it"},        {"AtomicExpr", "an atomic operation is in it"},
        {"CXXThrowExpr", "a throw is in it"}};
    const char *callee = rp_ast_callee(node);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (rp_ast_is(node, kinds[i].kind))
            return strdup(kinds[i].why);
    if (rp_ast_is(node, "BreakStmt") && !in_switch)
        return strdup("a break is in it");
    if (rp_ast_accesses_volatile(node))
        return strdup("it accesses something volatile");
    if (is_loop(node))
        return strdup("another loop is in it");
    if (rp_ast_is_index(node))
        return NULL;
    if (callee && strcmp(callee, "constructor") != 0 && !rp_ast_is_vector_call(node) &&
        rp_callee_effect(callee) != RP_CALLEE_PURE)
        return rp_format(rp_callee_effect(callee) == RP_CALLEE_SYNC
                             ? "%s() is in it, which orders memory or meets other lanes"
                             : "%s() is in it, and what that does is not known",
                         callee);
    for (size_t i = 0; i < node->count; i++) {
        char *found = obstacle(&node->children[i], in_switch || rp_ast_is(node, "SwitchStmt"));

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

/** Why it may not be unrolled; NULL: it may. An empty place for what comes out of memory's end. */
static char *why_not(const struct rp_ast_node *node, const struct rp_source_loop *loop,
                     const struct rp_loop_count *count)
{
    if (node->begin.macro || node->end.macro)
        return strdup("it comes out of a macro");
    if (!loop->innermost)
        return strdup("another loop is in it");
    if (!loop->counted)
        return strdup(count->why_not);
    for (size_t i = 0; i < node->count; i++) {
        char *found = obstacle(&node->children[i], false);

        if (found)
            return found;
    }
    return NULL;
}

/** The unroll pragmas right in front of a loop; the loop's beginning twice when there are none. */
static void find_pragmas(const struct walk *walk, struct rp_source_loop *loop)
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
    if (first == at)
        return;
    loop->pragma_begin = source->begin + walk->tokens.list[first].begin;
    loop->pragma_end = source->begin + walk->tokens.list[at - 1].end;
}

static void add_loop(struct walk *walk, const struct rp_ast_node *node, uint32_t depth)
{
    struct rp_kernel_source *source = walk->source;
    struct rp_loop_count count = rp_loop_count(node, walk->function);
    struct rp_source_loop *loop;

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
    find_pragmas(walk, loop);
    loop->why_not = why_not(node, loop, &count);
    source->loop_count++;
}

/** Only loops whose beginning stands in the kernel's own text. */
static void visit(struct walk *walk, const struct rp_ast_node *node, uint32_t depth)
{
    const struct rp_kernel_source *source = walk->source;
    bool loop = is_loop(node);

    if (walk->failed || rp_ast_is(node, "CXXRecordDecl"))
        return;
    if (loop && node->begin.in_file && node->begin.offset >= source->begin &&
        node->begin.offset < source->end && node->end.offset < source->end)
        add_loop(walk, node, depth);
    for (size_t i = 0; i < node->count; i++)
        visit(walk, &node->children[i], depth + loop);
}

int rp_source_loops_find(const struct rp_ast_node *function, struct rp_kernel_source *source,
                         struct rp_err *err)
{
    struct walk walk = {.function = function, .source = source};
    int rc = rp_tokens_read(source->text + source->begin, source->end - source->begin, &walk.tokens,
                            err);

    if (rc < 0)
        return rp_fail(err, RP_BAD_INPUT, "%s cannot be taken apart: its text has no closed tokens",
                       source->name);
    visit(&walk, function, 0);
    rp_tokens_free(&walk.tokens);
    return walk.failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
