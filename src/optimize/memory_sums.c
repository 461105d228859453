/* Finds loops that compute with one element of memory in each round, and writes them so that the
 * element is kept in a register: read before the loop, written behind it.
 *
 * The element must be the same in all rounds and be used in each, nothing else in memory may be
 * written, and nobody else may wait for it. What the loop reads through other pointers may be the
 * same place only if the caller says nothing of the kind to anybody: runs with arguments that
 * overlap judge that. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/kernel_source.h"
#include "optimize/loop_text.h"

enum { MOST_USES = 16, FACTOR = 8 };

struct memory_sum {
    const struct rp_kernel_source *source;
    const struct rp_ast_node *function, *loop, *body;
    const struct rp_ast_node *place; /**< as it stands in the first statement that changes it */
    const struct rp_ast_node *base;  /**< p of p[i] */
    const struct rp_ast_node *uses[MOST_USES];
    size_t use_count;
    bool other_use; /**< of base */
};

/* These are the places of a ForStmt's children. */
enum { FOR_BODY = 4, FOR_CHILDREN };

static bool is_same_text(const struct memory_sum *sum, const struct rp_ast_node *node)
{
    const size_t bytes = rp_end_of(sum->place) - sum->place->begin.offset;

    return rp_is_written_out(sum->source, node) && rp_end_of(node) - node->begin.offset == bytes &&
           rp_end_of(node) <= sum->source->end &&
           memcmp(sum->source->text + node->begin.offset,
                  sum->source->text + sum->place->begin.offset, bytes) == 0;
}

/** Each use of the pointer must be one of the element. */
static void find_uses(struct memory_sum *sum, const struct rp_ast_node *node)
{
    const struct rp_ast_node *base = node->cast ? NULL : rp_place_variable(node);

    if (base && base->ref_id == sum->base->ref_id && is_same_text(sum, node)) {
        if (sum->use_count < MOST_USES)
            sum->uses[sum->use_count++] = node;
        else
            sum->other_use = true;
        return;
    }
    sum->other_use |= rp_ast_is(node, "DeclRefExpr") && node->ref_id == sum->base->ref_id;
    for (size_t i = 0; i < node->count; i++)
        find_uses(sum, &node->children[i]);
}

static bool is_use(const struct memory_sum *sum, const struct rp_ast_node *place)
{
    while (rp_ast_is(place, "ParenExpr") && place->count)
        place = &place->children[0];
    for (size_t i = 0; i < sum->use_count; i++)
        if (sum->uses[i] == place)
            return true;
    return false;
}

static bool is_plain_loop(const struct memory_sum *sum)
{
    struct rp_effects effects = {0};
    bool plain;

    rp_effects_find(sum->loop, sum->function, &effects);
    plain = !effects.jumps && !effects.calls && effects.barriers == 0;
    for (size_t i = 0; i < effects.write_count; i++)
        plain = plain && is_use(sum, effects.writes[i]);
    rp_effects_free(&effects);
    return plain;
}

static bool is_number_type(const char *type)
{
    static const char *const types[] = {"float", "double",        "int",       "unsigned int",
                                        "long",  "unsigned long", "long long", "unsigned long long",
                                        "short", "unsigned short"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/** A private array may be in registers already. */
static bool is_memory(const struct memory_sum *sum)
{
    const struct rp_ast_node *found = rp_ast_declaration(sum->function, sum->base->ref_id);

    return !found || strchr(rp_ast_type(found), '*') || rp_is_lds(sum->function, sum->base->ref_id);
}

/** Says whether all indices and the pointer are the same in each round. */
static bool is_fixed_place(const struct memory_sum *sum, const struct rp_ast_node *node)
{
    node = rp_ast_bare(node);
    if (node == sum->base)
        return !rp_ast_changes(sum->loop, node->ref_id) &&
               !rp_ast_declaration(sum->loop, node->ref_id);
    return is_fixed_place(sum, &node->children[0]) &&
           (node->count < 2 || rp_is_fixed(&node->children[1], sum->loop, sum->function));
}

/** Takes the place that a statement changes. */
static bool take_place(struct memory_sum *sum, const struct rp_ast_node *statement)
{
    const bool assigns = rp_ast_is(statement, "CompoundAssignOperator") ||
                         (rp_ast_is(statement, "BinaryOperator") && statement->opcode &&
                          strcmp(statement->opcode, "=") == 0);

    if (!assigns || statement->count != 2)
        return false;
    sum->place = &statement->children[0];
    sum->base = sum->place->cast ? NULL : rp_place_variable(sum->place);
    sum->use_count = 0;
    sum->other_use = false;
    if (!sum->base || !rp_is_written_out(sum->source, sum->place) ||
        !is_number_type(rp_ast_type(sum->place)) || !is_memory(sum) ||
        !is_fixed_place(sum, sum->place))
        return false;
    find_uses(sum, sum->loop);
    return sum->use_count > 0 && !sum->other_use && is_plain_loop(sum);
}

/** Only a statement of the loop's own is reached in each round. */
static bool find_place(struct memory_sum *sum)
{
    sum->body = &sum->loop->children[FOR_BODY];
    if (!rp_ast_is(sum->body, "CompoundStmt"))
        return take_place(sum, sum->body);
    for (size_t i = 0; i < sum->body->count; i++)
        if (take_place(sum, &sum->body->children[i]))
            return true;
    return false;
}

/** Adds the loop with the element's name in place of the element. */
static void add_loop(const struct memory_sum *sum, const char *name, size_t begin, size_t end,
                     struct rp_buf *out)
{
    const char *text = sum->source->text;

    /* They are in the order of the text, as the tree is, in a for loop's body. */
    for (size_t i = 0; i < sum->use_count; i++) {
        rp_buf_add(out, text + begin, sum->uses[i]->begin.offset - begin);
        rp_buf_puts(out, name);
        begin = rp_end_of(sum->uses[i]);
    }
    rp_buf_add(out, text + begin, end - begin);
}

static bool is_in_order(const struct memory_sum *sum, size_t begin, size_t end)
{
    for (size_t i = 0; i < sum->use_count; i++) {
        if (sum->uses[i]->begin.offset < begin || rp_end_of(sum->uses[i]) > end)
            return false;
        begin = rp_end_of(sum->uses[i]);
    }
    return true;
}

static char *make(const struct memory_sum *sum, const struct rp_source_loop *of,
                  const struct rp_loop_text *text, const char *name, bool unroll)
{
    const struct rp_kernel_source *source = sum->source;
    const bool has_pragma = of->pragma_end > of->pragma_begin;
    const size_t begin = has_pragma ? of->pragma_begin : of->begin;
    const size_t end = source->begin + text->tokens.list[text->end - 1].end;
    const int place_bytes = (int)(rp_end_of(sum->place) - sum->place->begin.offset);
    const char *place = source->text + sum->place->begin.offset;
    rp_autofree char *indent = rp_indent_of(source->text, of->begin);
    rp_autobuf out = {0}, loop = {0};

    rp_buf_add(&out, source->text + source->begin, begin - source->begin);
    if (!of->trip_count_known) {
        rp_buf_puts(&out, "if (");
        rp_loop_add_begins(text, &out);
        rp_buf_puts(&out, ") ");
    }
    rp_buf_printf(&out, "{\n%s    auto %s = %.*s;\n", indent, name, place_bytes, place);
    if (has_pragma)
        rp_buf_printf(&out, "%.*s\n", (int)(of->pragma_end - begin), source->text + begin);
    else if (unroll)
        rp_buf_printf(&out, "#pragma unroll %d\n", FACTOR);
    rp_buf_printf(&out, "%s    ", indent);
    add_loop(sum, name, of->begin, end, &loop);
    rp_add_indented(rp_buf_text(&loop), loop.len, 4, &out);
    rp_buf_printf(&out, "\n%s    %.*s = %s;\n%s}", indent, place_bytes, place, name, indent);
    rp_buf_add(&out, source->text + end, source->end - end);
    return rp_buf_steal(&out);
}

static void propose(const struct memory_sum *sum, const struct rp_source_loop *of,
                    const struct rp_loop_text *text, struct rp_kernel_source *ret)
{
    rp_autofree char *name = rp_format("%s_value", sum->base->ref_name);
    const size_t end = ret->begin + text->tokens.list[text->end - 1].end;
    const bool unroll = of->innermost && of->pragma_begin == of->pragma_end;

    if (rp_loop_has_word(text, name) || !is_in_order(sum, of->begin, end) ||
        (of->trip_count_known && of->trip_count == 0))
        return;
    if (unroll)
        rp_source_change_add(
            ret, (struct rp_source_change){
                     .title = rp_format("keep the element of %s in a register in the loop at line "
                                        "%u, unrolled by %d",
                                        sum->base->ref_name, of->line, FACTOR),
                     .kernel_text = make(sum, of, text, name, true)});
    rp_source_change_add(
        ret, (struct rp_source_change){
                 .title = rp_format("keep the element of %s in a register in the loop at line %u",
                                    sum->base->ref_name, of->line),
                 .kernel_text = make(sum, of, text, name, false)});
}

/** @param in_block the node is a statement of a block, so that an `if` in its place takes no `else`
 */
static void visit(const struct rp_ast_node *node, const struct rp_ast_node *function, bool in_block,
                  struct rp_kernel_source *source)
{
    struct memory_sum sum = {.source = source, .function = function, .loop = node};
    const struct rp_source_loop *of =
        in_block && rp_ast_is(node, "ForStmt") && node->count == FOR_CHILDREN
            ? rp_loop_of(source, node)
            : NULL;
    struct rp_loop_text text;

    if (of && find_place(&sum) && rp_loop_text_read(source, of, &text)) {
        propose(&sum, of, &text, source);
        rp_loop_text_free(&text);
    }
    in_block = rp_ast_is(node, "CompoundStmt") || (in_block && rp_ast_is(node, "AttributedStmt"));
    for (size_t i = 0; i < node->count; i++)
        visit(&node->children[i], function, in_block, source);
}

void rp_memory_sums_find(const struct rp_ast_node *function, struct rp_kernel_source *source)
{
    visit(function, function, false, source);
}
