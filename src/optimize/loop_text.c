#include "optimize/loop_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "optimize/ast.h"
#include "optimize/kernel_source.h"

/* --- text ---------------------------------------------------------------------------------- */

static bool same(const struct rp_loop_text *loop, size_t a, size_t b)
{
    return b < loop->tokens.count &&
           rp_token_same(loop->text, &loop->tokens.list[a], loop->text, &loop->tokens.list[b]);
}

size_t rp_loop_find(const struct rp_loop_text *loop, struct rp_span in, const char *word)
{
    int depth = 0;

    for (size_t at = in.begin; at < in.end; at++) {
        if (depth == 0 && rp_loop_is(loop, at, word))
            return at;
        depth +=
            rp_loop_is(loop, at, "(") || rp_loop_is(loop, at, "[") || rp_loop_is(loop, at, "{");
        depth -=
            rp_loop_is(loop, at, ")") || rp_loop_is(loop, at, "]") || rp_loop_is(loop, at, "}");
    }
    return in.end;
}

bool rp_loop_is_counter(const struct rp_loop_text *loop, size_t at)
{
    const bool member = at > 0 && (rp_loop_is(loop, at - 1, ".") || rp_loop_is(loop, at - 1, "->"));

    return !member && same(loop, loop->counter, at);
}

bool rp_loop_has_word(const struct rp_loop_text *loop, const char *name)
{
    for (size_t at = 0; at < loop->tokens.count; at++)
        if (rp_loop_is(loop, at, name))
            return true;
    return false;
}

static bool read_head(struct rp_loop_text *loop)
{
    const size_t begin = loop->begin;
    const struct rp_span rest = {begin + 2, loop->end};
    const size_t first = rp_loop_find(loop, rest, ";");
    const size_t second = rp_loop_find(loop, (struct rp_span){first + 1, loop->end}, ";");
    const size_t close = rp_loop_find(loop, (struct rp_span){second + 1, loop->end}, ")");
    const size_t equals = rp_loop_find(loop, (struct rp_span){begin + 2, first}, "=");

    if (!rp_loop_is(loop, begin, "for") || !rp_loop_is(loop, begin + 1, "(") ||
        close >= loop->end || equals < begin + 4 || equals >= first ||
        rp_loop_find(loop, (struct rp_span){begin + 2, first}, ",") < first)
        return false;
    loop->init = (struct rp_span){begin + 2, first};
    loop->value = (struct rp_span){equals + 1, first};
    loop->counter = equals - 1;
    loop->bound = (struct rp_span){first + 3, second};
    if (!same(loop, loop->counter, first + 1) || !rp_loop_is(loop, first + 2, "<") ||
        second <= first + 3 || first == equals + 1 ||
        rp_loop_find(loop, loop->bound, "&&") < second ||
        rp_loop_find(loop, loop->bound, "||") < second)
        return false;
    loop->step_is_one =
        close == second + 3 &&
        ((same(loop, loop->counter, second + 1) && rp_loop_is(loop, second + 2, "++")) ||
         (rp_loop_is(loop, second + 1, "++") && same(loop, loop->counter, second + 2)));
    loop->step = (struct rp_span){second + 3, close};
    loop->body = (struct rp_span){close + 1, loop->end};
    return loop->step_is_one ||
           (same(loop, loop->counter, second + 1) && rp_loop_is(loop, second + 2, "+=") &&
            close > second + 3 && rp_loop_find(loop, loop->step, ",") == close);
}

bool rp_loop_text_read(const struct rp_kernel_source *source, const struct rp_source_loop *of,
                       struct rp_loop_text *ret)
{
    struct rp_loop_text loop = {.text = source->text + source->begin};
    const size_t to = of->end - source->begin;
    bool other_lines = false;

    if (rp_tokens_read(loop.text, source->end - source->begin, &loop.tokens, NULL) < 0)
        return false;
    while (loop.begin < loop.tokens.count &&
           loop.tokens.list[loop.begin].begin + source->begin < of->begin)
        loop.begin++;
    for (loop.end = loop.begin;
         loop.end < loop.tokens.count && loop.tokens.list[loop.end].begin < to; loop.end++)
        other_lines |= loop.tokens.list[loop.end].kind == RP_TOKEN_DIRECTIVE &&
                       rp_tokens_unroll(loop.text, &loop.tokens, loop.end, NULL) != 1;
    /* The compiler does not count the semicolon of a body without braces. */
    loop.end +=
        loop.end > 0 && rp_loop_is(&loop, loop.end, ";") && !rp_loop_is(&loop, loop.end - 1, "}");
    if (other_lines || !read_head(&loop)) {
        rp_tokens_free(&loop.tokens);
        return false;
    }
    *ret = loop;
    return true;
}

void rp_loop_add_part(const struct rp_loop_text *loop, struct rp_span part, unsigned steps,
                      struct rp_buf *out)
{
    const char *from = loop->text + loop->tokens.list[part.begin].begin;

    for (size_t at = part.begin; at < part.end; at++) {
        const struct rp_token *token = &loop->tokens.list[at];
        const bool moved = steps > 0 && rp_loop_is_counter(loop, at);

        if (at > part.begin)
            rp_buf_add(out, from, (size_t)(loop->text + token->begin - from));
        from = loop->text + token->end;
        rp_buf_puts(out, moved ? "(" : "");
        rp_buf_add(out, loop->text + token->begin, token->end - token->begin);
        if (!moved)
            continue;
        rp_buf_puts(out, " + ");
        rp_loop_add_steps(loop, steps, out);
        rp_buf_puts(out, ")");
    }
}

void rp_loop_add_operand(const struct rp_loop_text *loop, struct rp_span part, struct rp_buf *out)
{
    const bool one = part.end == part.begin + 1;

    rp_buf_puts(out, one ? "" : "(");
    rp_loop_add_part(loop, part, 0, out);
    rp_buf_puts(out, one ? "" : ")");
}

void rp_loop_add_steps(const struct rp_loop_text *loop, unsigned count, struct rp_buf *out)
{
    if (count > 1 || loop->step_is_one)
        rp_buf_printf(out, "%u", count);
    if (loop->step_is_one)
        return;
    rp_buf_puts(out, count > 1 ? " * " : "");
    rp_loop_add_operand(loop, loop->step, out);
}

void rp_loop_add_begins(const struct rp_loop_text *loop, struct rp_buf *out)
{
    const struct rp_span type = {loop->init.begin, loop->counter};
    const bool is_auto = type.end == type.begin + 1 && rp_loop_is(loop, type.begin, "auto");
    const bool is_int = type.end == type.begin + 1 && rp_loop_is(loop, type.begin, "int") &&
                        loop->value.end == loop->value.begin + 1 &&
                        loop->tokens.list[loop->value.begin].kind == RP_TOKEN_NUMBER;

    /* The value is compared as the counter is: in its type. */
    if (type.end == type.begin) {
        rp_buf_puts(out, "(decltype(");
        rp_loop_add_part(loop, (struct rp_span){loop->counter, loop->counter + 1}, 0, out);
        rp_buf_puts(out, "))");
    } else if (!is_auto && !is_int) {
        rp_buf_puts(out, "(");
        rp_loop_add_part(loop, type, 0, out);
        rp_buf_puts(out, ")");
    }
    rp_loop_add_operand(loop, loop->value, out);
    rp_buf_puts(out, " < ");
    rp_loop_add_operand(loop, loop->bound, out);
}

char *rp_indent_of(const char *text, size_t at)
{
    size_t line = at, blanks = 0;

    while (line > 0 && text[line - 1] != '\n')
        line--;
    while (text[line + blanks] == ' ' || text[line + blanks] == '\t')
        blanks++;
    return rp_strndup(text + line, blanks);
}

const struct rp_source_loop *rp_loop_of(const struct rp_kernel_source *source,
                                        const struct rp_ast_node *node)
{
    for (size_t i = 0; i < source->loop_count; i++) {
        const struct rp_source_loop *loop = &source->loops[i];

        if (loop->begin == node->begin.offset && node->begin.in_file && !node->begin.macro &&
            !node->end.macro && loop->counted)
            return loop;
    }
    return NULL;
}

void rp_source_change_add(struct rp_kernel_source *source, struct rp_source_change change)
{
    source->changes =
        rp_realloc_array(source->changes, source->change_count + 1, sizeof *source->changes);
    source->changes[source->change_count++] = change;
}

size_t rp_end_of(const struct rp_ast_node *node)
{
    return node->end.offset + node->end.bytes;
}

bool rp_is_written_out(const struct rp_kernel_source *source, const struct rp_ast_node *node)
{
    return node->begin.in_file && node->end.in_file && !node->begin.macro && !node->end.macro &&
           node->begin.offset >= source->begin && rp_end_of(node) > node->begin.offset &&
           rp_end_of(node) <= source->end;
}

static size_t token_at(const struct rp_loop_text *loop, size_t offset)
{
    size_t at = 0;

    while (at < loop->tokens.count && loop->tokens.list[at].begin < offset)
        at++;
    return at;
}

char *rp_element_type(const struct rp_loop_text *loop, const struct rp_kernel_source *source,
                      const struct rp_ast_node *declaration)
{
    static const char *const left_out[] = {"const", "__shared__", "static", "extern", NULL};
    rp_autobuf out = {0};
    size_t last = 0, words = 0;

    if (!declaration || !declaration->begin.in_file || declaration->begin.offset < source->begin)
        return NULL;
    for (size_t at = token_at(loop, declaration->begin.offset - source->begin);
         at < loop->tokens.count; at++) {
        const struct rp_token *token = &loop->tokens.list[at];
        bool skip = false;

        if (token->kind != RP_TOKEN_IDENTIFIER && !rp_loop_is(loop, at, "::")) {
            /* The last word before the bounds of an array is its name. */
            if (!rp_loop_is(loop, at, "*"))
                out.len = rp_loop_is(loop, at, "[") ? last : 0;
            break;
        }
        if (rp_loop_is(loop, at, "auto") || rp_loop_is(loop, at, "volatile"))
            return NULL;
        for (size_t i = 0; left_out[i]; i++)
            skip |= rp_loop_is(loop, at, left_out[i]);
        if (skip)
            continue;
        last = out.len;
        rp_buf_puts(&out,
                    words++ && token->kind == RP_TOKEN_IDENTIFIER && !rp_loop_is(loop, at - 1, "::")
                        ? " "
                        : "");
        rp_buf_add(&out, loop->text + token->begin, token->end - token->begin);
    }
    return out.len ? rp_strndup(rp_buf_text(&out), out.len) : NULL;
}

unsigned rp_number_bytes(const char *type)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"char", 1},           {"signed char", 1},
                 {"unsigned char", 1},  {"short", 2},
                 {"unsigned short", 2}, {"_Float16", 2},
                 {"__bf16", 2},         {"int", 4},
                 {"unsigned int", 4},   {"float", 4},
                 {"long", 8},           {"unsigned long", 8},
                 {"long long", 8},      {"unsigned long long", 8},
                 {"double", 8}};

    if (strncmp(type, "const ", strlen("const ")) == 0)
        type += strlen("const ");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            return types[i].bytes;
    return 0;
}

void rp_add_indented(const char *text, size_t bytes, unsigned columns, struct rp_buf *out)
{
    const bool raw = memmem(text, bytes, "R\"", 2) || memmem(text, bytes, "\\\n", 2);

    for (size_t i = 0; i < bytes; i++) {
        rp_buf_add(out, text + i, 1);
        if (!raw && text[i] == '\n' && i + 1 < bytes && text[i + 1] != '\n' && text[i + 1] != '#')
            rp_buf_printf(out, "%*s", (int)columns, "");
    }
}

/* --- effects ------------------------------------------------------------------------------- */

static bool is_one_of(const struct rp_ast_node *node, const char *const *kinds)
{
    for (; *kinds; kinds++)
        if (rp_ast_is(node, *kinds))
            return true;
    return false;
}

static bool is_element(const struct rp_ast_node *place)
{
    return (rp_ast_is(place, "ArraySubscriptExpr") && place->count == 2) ||
           (rp_ast_is(place, "UnaryOperator") && rp_is_text(place->opcode, "*") &&
            place->count == 1);
}

const struct rp_ast_node *rp_place_variable(const struct rp_ast_node *place)
{
    const struct rp_ast_node *base, *inner;

    place = rp_ast_bare(place);
    if (!is_element(place))
        return NULL;
    base = &place->children[0];
    inner = rp_ast_bare(base);
    if (!rp_ast_is_pointer(base)) /* i[p] */
        return NULL;
    if (rp_ast_variable(inner))
        return inner;
    /* A row of an array is a place in it; a pointer that lies in memory is another matter. */
    return rp_is_text(base->cast, "ArrayToPointerDecay") ? rp_place_variable(inner) : NULL;
}

static bool has_attribute(const struct rp_ast_node *variable, const char *attribute)
{
    for (size_t i = 0; variable && i < variable->count; i++)
        if (rp_ast_is(&variable->children[i], attribute))
            return true;
    return false;
}

bool rp_is_lds(const struct rp_ast_node *function, uint64_t variable)
{
    const struct rp_ast_node *found = rp_ast_declaration(function, variable);

    return has_attribute(found, "CUDASharedAttr") && strchr(rp_ast_type(found), '[');
}

const struct rp_ast_node *rp_place_root(const struct rp_ast_node *place)
{
    place = rp_ast_bare(place);
    while (place->count &&
           ((rp_ast_is(place, "ArraySubscriptExpr") &&
             rp_is_text(place->children[0].cast, "ArrayToPointerDecay")) ||
            (rp_ast_is(place, "MemberExpr") && !rp_ast_is_pointer(&place->children[0]))))
        place = rp_ast_bare(&place->children[0]);
    return place;
}

/** Says whether a place belongs to a variable of this lane alone, which is in registers. */
static bool is_own(const struct rp_ast_node *place, const struct rp_ast_node *function)
{
    const struct rp_ast_node *found;

    place = rp_place_root(place);
    if (rp_ast_variable(place) && rp_is_text(place->ref_kind, "ParmVarDecl"))
        return true;
    found = rp_ast_declaration(function, rp_ast_variable(place));
    return found && !found->storage && !found->tls && !rp_ast_is_reference(found) &&
           !has_attribute(found, "CUDASharedAttr");
}

static void add_write(struct rp_effects *effects, const struct rp_ast_node *place,
                      const struct rp_ast_node *function)
{
    if (is_own(place, function))
        return;
    rp_vec_grow(&effects->writes, &effects->write_capacity, effects->write_count, 1,
                sizeof *effects->writes);
    effects->writes[effects->write_count++] = place;
}

bool rp_is_assignment(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "CompoundAssignOperator") ||
           (rp_ast_is(node, "BinaryOperator") && rp_is_text(node->opcode, "=")) ||
           (rp_ast_is(node, "UnaryOperator") &&
            (rp_is_text(node->opcode, "++") || rp_is_text(node->opcode, "--")));
}

/** Says whether an operator of vectors, "operator+=", changes what stands at its left. */
static bool assigns(const char *operator)
{
    static const char *const others[] = {"operator==", "operator!=", "operator<=", "operator>="};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(operator, others[i]) == 0)
            return false;
    return strchr(operator, '=') || strstr(operator, "++") || strstr(operator, "--");
}

/** A function that gets numbers and returns one has no business with memory. */
static bool is_of_numbers(const struct rp_ast_node *call)
{
    if (!rp_ast_is(call, "CallExpr") || rp_is_text(rp_ast_type(call), "void") ||
        rp_ast_is_pointer(call) || call->lvalue)
        return false;
    for (size_t i = 1; i < call->count; i++)
        if (call->children[i].lvalue || rp_ast_is_pointer(&call->children[i]))
            return false;
    return true;
}

/** Notes a call.
 * @return whether the node is one */
static bool note_call(const struct rp_ast_node *node, const struct rp_ast_node *function,
                      struct rp_effects *ret)
{
    static const char *const others[] = {"GCCAsmStmt",
                                         "MSAsmStmt",
                                         "AtomicExpr",
                                         "LambdaExpr",
                                         "CXXNewExpr",
                                         "CXXDeleteExpr",
                                         "StmtExpr",
                                         "CXXConstructExpr",
                                         "CXXTemporaryObjectExpr",
                                         "CXXRecordDecl",
                                         NULL};
    const struct rp_ast_node *target = rp_ast_call_target(node);

    if (target && rp_is_text(rp_ast_callee(target), "__syncthreads")) {
        ret->barriers++;
        return true;
    }
    if (target && rp_ast_is_vector_call(target) && node->count > 1 &&
        assigns(rp_ast_callee(target)))
        add_write(ret, &node->children[1], function);
    if (target ? rp_ast_is_vector_call(target) || is_of_numbers(node)
               : !is_one_of(node, others) || rp_ast_is_vector_call(node))
        return false;
    ret->calls = true;
    return true;
}

void rp_effects_find(const struct rp_ast_node *part, const struct rp_ast_node *function,
                     struct rp_effects *ret)
{
    static const char *const jumps[] = {
        "BreakStmt",  "ContinueStmt", "ReturnStmt",       "GotoStmt",          "LabelStmt",
        "SwitchStmt", "CXXTryStmt",   "IndirectGotoStmt", "CoroutineBodyStmt", NULL};

    if (rp_ast_is_index(part))
        return;
    ret->jumps |= is_one_of(part, jumps);
    if (rp_is_assignment(part) && part->count)
        add_write(ret, &part->children[0], function);
    if (note_call(part, function, ret))
        return;
    for (size_t i = 0; i < part->count; i++)
        rp_effects_find(&part->children[i], function, ret);
}

void rp_effects_free(struct rp_effects *effects)
{
    free(effects->writes);
    *effects = (struct rp_effects){0};
}

/** Says whether a variable is a number in a register, or a constant. */
static bool is_number(const struct rp_ast_node *node, const struct rp_ast_node *function)
{
    const struct rp_ast_node *found = rp_ast_declaration(function, node->ref_id);

    if (rp_is_text(node->ref_kind, "ParmVarDecl"))
        return true;
    if (!found)
        return node->ref_type && strncmp(node->ref_type, "const ", strlen("const ")) == 0;
    return !rp_ast_is_reference(found) && !has_attribute(found, "CUDASharedAttr") &&
           (!found->storage || found->constant);
}

bool rp_is_fixed(const struct rp_ast_node *node, const struct rp_ast_node *loop,
                 const struct rp_ast_node *function)
{
    static const char *const plain[] = {"DeclRefExpr",
                                        "IntegerLiteral",
                                        "CharacterLiteral",
                                        "ConstantExpr",
                                        "ParenExpr",
                                        "ImplicitCastExpr",
                                        "CStyleCastExpr",
                                        "CXXStaticCastExpr",
                                        "CXXFunctionalCastExpr",
                                        "SubstNonTypeTemplateParmExpr",
                                        NULL};
    const bool variable = rp_ast_is(node, "DeclRefExpr") && rp_ast_variable(node);
    const bool computes = (rp_ast_is(node, "BinaryOperator") && !rp_is_assignment(node)) ||
                          (rp_ast_is(node, "UnaryOperator") && !rp_is_assignment(node) &&
                           !rp_is_text(node->opcode, "*") && !rp_is_text(node->opcode, "&"));

    if (rp_ast_is_index(node) || (rp_ast_is(node, "MemberExpr") && node->count &&
                                  rp_ast_is_index(rp_ast_bare(&node->children[0]))))
        return true;
    if (variable && (rp_ast_changes(loop, node->ref_id) || rp_ast_declaration(loop, node->ref_id) ||
                     !is_number(node, function)))
        return false;
    if (!computes && !is_one_of(node, plain))
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (!rp_is_fixed(&node->children[i], loop, function))
            return false;
    return true;
}
