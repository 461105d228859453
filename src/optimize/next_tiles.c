/* Finds loops over tiles that fill arrays in LDS from memory, wait, use them and wait, and writes
 * them so that the loads of the next tile are on their way while one is used:
 *
 *     for (int t = 0; t < n; t += 16) {
 *         a[y][x] = in[y * n + t + x];
 *         __syncthreads();
 *         ... use of a ...
 *         __syncthreads();
 *     }
 *
 * gets a first load before the loop, stores what was loaded to LDS, and loads from t + 16 on behind
 * the first barrier, if there is a next tile. What fills the arrays must depend on nothing but the
 * counter and what stays as it is in the loop. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/kernel_source.h"
#include "optimize/loop_count.h"
#include "optimize/loop_lanes.h"
#include "optimize/loop_text.h"

/* Each tile is in so many registers of a lane at most. */
enum { MOST_STAGED = 16, MOST_ROUNDS = 16, MOST_BYTES = 128 };

/* The number of a work-item in its workgroup is lower than this, whose square is no overflow. */
enum { MOST_WORK_ITEMS = 1024, MOST_DEPTH = 16 };

/** a[y][x] = value */
struct staged {
    const struct rp_ast_node *place, *value, *base;
    size_t inner; /**< which inner loop it is in; SIZE_MAX: none */
};

/** for (int e = lane; e < 1024; e += 256), which fills more than one element. */
struct inner {
    const struct rp_source_loop *of;
    struct rp_loop_text text;
    uint64_t rounds;
    bool named; /**< constants outside of the kernel say how many */
};

struct tile_loop {
    struct rp_kernel_source *source;
    const struct rp_ast_node *function, *loop, *body, *counter;
    struct rp_loop_text text;
    struct staged staged[MOST_STAGED];
    size_t staged_count;
    struct inner inner[MOST_STAGED];
    size_t inner_count;
    size_t first, barrier; /**< statements of the body: what fills begins, and has ended */
    bool reads_memory;
};

/* --- what the loop does ---------------------------------------------------------------------- */

static bool is_barrier(const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);

    return target && rp_is_text(rp_ast_callee(target), "__syncthreads");
}

static bool is_memory_read(const struct tile_loop *tile, const struct rp_ast_node *node)
{
    const struct rp_ast_node *base = rp_place_variable(node);
    const struct rp_ast_node *found =
        base ? rp_ast_declaration(tile->function, base->ref_id) : NULL;

    return base && (!found || strchr(rp_ast_type(found), '*'));
}

/** A variable that a value is made of must be the same in all rounds, or be made anew. */
static bool is_known_variable(const struct tile_loop *tile, const struct rp_ast_node *node)
{
    const struct rp_ast_node *found = rp_ast_declaration(tile->function, node->ref_id);

    /* Within a macro it cannot be moved to the next round. */
    if (node->ref_id == tile->counter->id)
        return node->begin.in_file && (!node->begin.macro || node->begin.argument);
    if (rp_ast_changes(tile->loop, node->ref_id) && !rp_ast_declaration(tile->loop, node->ref_id))
        return false;
    if (!found)
        return true;
    for (size_t i = 0; i < found->count; i++)
        if (rp_ast_is(&found->children[i], "CUDASharedAttr"))
            return false;
    return found->constant || !(strchr(rp_ast_type(found), '[') || rp_ast_is_reference(found));
}

/** Says whether an expression could be computed a round earlier. */
static bool is_value(struct tile_loop *tile, const struct rp_ast_node *node)
{
    if (rp_ast_is_index(node))
        return true;
    if (rp_is_assignment(node) || strstr(rp_ast_type(node), "volatile") ||
        (rp_ast_is(node, "UnaryOperator") && rp_is_text(node->opcode, "&")) ||
        (rp_ast_is(node, "DeclRefExpr") && rp_ast_variable(node) && !is_known_variable(tile, node)))
        return false;
    tile->reads_memory |= is_memory_read(tile, node);
    for (size_t i = 0; i < node->count; i++)
        if (!is_value(tile, &node->children[i]))
            return false;
    return true;
}

/** Takes a[y][x] = value, where a is an array of numbers in LDS. */
static bool take_staged(struct tile_loop *tile, const struct rp_ast_node *node, size_t inner)
{
    const struct rp_ast_node *place = &node->children[0];
    const struct rp_ast_node *base = place->cast ? NULL : rp_place_variable(place);

    if (!base || tile->staged_count == MOST_STAGED || !rp_is_lds(tile->function, base->ref_id) ||
        !rp_is_written_out(tile->source, place) ||
        !rp_is_written_out(tile->source, &node->children[1]) ||
        rp_number_bytes(rp_ast_type(place)) == 0 || !is_value(tile, &node->children[1]))
        return false;
    /* The indices: the array itself is no value. */
    for (const struct rp_ast_node *at = rp_ast_bare(place); at != base;
         at = rp_ast_bare(&at->children[0]))
        if (at->count > 1 && !is_value(tile, &at->children[1]))
            return false;
    tile->staged[tile->staged_count++] = (struct staged){place, &node->children[1], base, inner};
    return true;
}

static bool is_declaration(struct tile_loop *tile, const struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct rp_ast_node *variable = &node->children[i];

        if (!rp_ast_is(variable, "VarDecl") || variable->storage || rp_ast_is_reference(variable) ||
            rp_is_text(variable->name, tile->counter->name) || !is_value(tile, variable))
            return false;
    }
    return true;
}

static bool take(struct tile_loop *tile, const struct rp_ast_node *node, size_t inner);

/** Returns the number of a constant that is declared outside of the kernel, where exactly one
 * place of the file gives that name a plain number. */
static bool outer_number(const struct tile_loop *tile, const char *name, int64_t *ret)
{
    const char *text = tile->source->text;
    struct rp_tokens tokens = {0};
    size_t places = 0;
    bool plain = false;

    if (rp_tokens_read(text, tile->source->bytes, &tokens, NULL) < 0)
        return false;
    for (size_t i = 0; i + 3 < tokens.count; i++) {
        const struct rp_token *number = &tokens.list[i + 2];
        char *end;

        if (!rp_token_is(text, &tokens.list[i], name) ||
            !rp_token_is(text, &tokens.list[i + 1], "="))
            continue;
        places++;
        *ret = strtoll(text + number->begin, &end, 0);
        plain = number->kind == RP_TOKEN_NUMBER && end == text + number->end && *ret < INT32_MAX &&
                (rp_token_is(text, &tokens.list[i + 3], ";") ||
                 rp_token_is(text, &tokens.list[i + 3], ",") ||
                 rp_token_is(text, &tokens.list[i + 3], "}"));
    }
    rp_tokens_free(&tokens);
    return places == 1 && plain;
}

/** Computes a constant, also of such that are declared outside of the kernel.
 * @param ret_outer set where there are some */
static bool constant_of(const struct tile_loop *tile, const struct rp_ast_node *node, int64_t *ret,
                        bool *ret_outer)
{
    const char *name = rp_outer_constant(node, tile->function);
    int64_t a, b;

    node = rp_ast_bare(node);
    if (rp_constant(node, tile->function, ret))
        return true;
    *ret_outer |= name != NULL;
    if (name)
        return outer_number(tile, name, ret);
    if (!rp_ast_is(node, "BinaryOperator") || node->count != 2 ||
        !constant_of(tile, &node->children[0], &a, ret_outer) ||
        !constant_of(tile, &node->children[1], &b, ret_outer))
        return false;
    return rp_compute(node->opcode, a, b, ret);
}

/** Says whether a whole number is never below 0, and finds one above which it never is: it is made
 * of work-items' numbers, sizes of workgroups and constants. */
static bool highest_of(const struct tile_loop *tile, const struct rp_ast_node *node, int depth,
                       int64_t *ret)
{
    static const char *const indices[] = {"threadIdx", "blockDim"};
    const struct rp_ast_node *variable;
    bool outer = false, computes;
    int64_t a, b;

    if (depth > MOST_DEPTH)
        return false;
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++)
        for (char axis = 'x'; axis <= 'z'; axis++)
            if (rp_ast_is_index_of(node, indices[i], axis)) {
                *ret = MOST_WORK_ITEMS;
                return true;
            }
    if (constant_of(tile, node, ret, &outer))
        return *ret >= 0 && *ret <= INT32_MAX;
    /* A cast to a narrow type may make it negative. */
    if (rp_number_bytes(rp_ast_type(node)) < 4)
        return false;
    if (node->count == 1 && (node->cast || rp_ast_is(node, "ParenExpr")))
        return highest_of(tile, &node->children[0], depth, ret);
    variable =
        rp_ast_variable(node) ? rp_ast_declaration(tile->function, rp_ast_variable(node)) : NULL;
    if (variable)
        return variable->count == 1 && !variable->storage && !rp_ast_is_reference(variable) &&
               rp_number_bytes(rp_ast_type(variable)) >= 4 &&
               !rp_ast_changes(tile->function, variable->id) &&
               highest_of(tile, &variable->children[0], depth + 1, ret);
    computes = rp_ast_is(node, "BinaryOperator") && node->count == 2 && !rp_is_assignment(node);
    if (!computes || !highest_of(tile, &node->children[0], depth + 1, &a) ||
        !highest_of(tile, &node->children[1], depth + 1, &b))
        return false;
    if (rp_is_text(node->opcode, "+"))
        *ret = a + b;
    else if (rp_is_text(node->opcode, "*"))
        *ret = a * b;
    else if (strchr("/%&", node->opcode[0]) && node->opcode[1] == '\0')
        *ret = a;
    else
        return false;
    return *ret <= INT32_MAX;
}

/** Counts the rounds of a loop up to a constant, at most: from 0 if it begins at a number that is
 * known not to be below. */
static bool count_rounds(const struct tile_loop *tile, const struct rp_ast_node *loop,
                         const struct rp_ast_node *value, struct inner *inner)
{
    const struct rp_ast_node *bound =
        rp_ast_child(rp_ast_bare(&loop->children[RP_FOR_CONDITION]), 1);
    const struct rp_ast_node *step = rp_ast_child(rp_ast_bare(&loop->children[RP_FOR_STEP]), 1);
    int64_t from = 0, to, by = 1, highest;

    if (!rp_constant(value, tile->function, &from)) {
        from = 0;
        if (!highest_of(tile, value, 0, &highest))
            return false;
    }
    if (!constant_of(tile, bound, &to, &inner->named) ||
        (!inner->text.step_is_one && !constant_of(tile, step, &by, &inner->named)) || from < 0 ||
        by <= 0 || by > INT32_MAX || to > INT32_MAX || to <= from || to - from > MOST_ROUNDS * by ||
        (inner->named && from != 0))
        return false;
    inner->rounds = (uint64_t)((to - from + by - 1) / by);
    return true;
}

/** Takes a loop whose number of rounds is known, up to where it begins. */
static bool take_loop(struct tile_loop *tile, const struct rp_ast_node *node)
{
    const struct rp_source_loop *of =
        node->count == RP_FOR_CHILDREN ? rp_loop_of(tile->source, node) : NULL;
    const struct rp_ast_node *init = of ? &node->children[RP_FOR_INIT] : NULL;
    struct inner *inner = &tile->inner[tile->inner_count];

    if (!of || tile->inner_count == MOST_STAGED || !rp_ast_is(init, "DeclStmt") ||
        init->count != 1 || init->children[0].count != 1 || !is_declaration(tile, init) ||
        !rp_loop_text_read(tile->source, of, &inner->text))
        return false;
    inner->of = of;
    tile->inner_count++;
    if (!count_rounds(tile, node, &init->children[0].children[0], inner))
        return false;
    return take(tile, &node->children[RP_FOR_BODY], tile->inner_count - 1);
}

/** Takes what fills arrays. @param inner the loop around it; SIZE_MAX: none */
static bool take(struct tile_loop *tile, const struct rp_ast_node *node, size_t inner)
{
    if (rp_ast_is(node, "BinaryOperator") && rp_is_text(node->opcode, "=") && node->count == 2)
        return take_staged(tile, node, inner);
    if (rp_ast_is(node, "DeclStmt"))
        return is_declaration(tile, node);
    if (rp_ast_is(node, "ForStmt") && inner == SIZE_MAX)
        return take_loop(tile, node);
    if (rp_ast_is(node, "AttributedStmt") && node->count && inner == SIZE_MAX)
        return take(tile, &node->children[node->count - 1], inner);
    if (rp_ast_is(node, "IfStmt") && !node->has_init && !node->has_var && node->count >= 2 &&
        is_value(tile, &node->children[0])) {
        for (size_t i = 1; i < node->count; i++)
            if (!take(tile, &node->children[i], inner))
                return false;
        return true;
    }
    if (!rp_ast_is(node, "CompoundStmt"))
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (!take(tile, &node->children[i], inner))
            return false;
    return true;
}

/** Says whether what fills names a pointer. */
static bool fills_from(const struct tile_loop *tile, uint64_t pointer)
{
    for (size_t i = tile->first; i < tile->barrier; i++)
        if (rp_ast_names(&tile->body->children[i], pointer))
            return true;
    return false;
}

/** Each round must fill, wait, use and wait, in this order, and write nothing that is filled from.
 */
static bool are_rounds_plain(const struct tile_loop *tile)
{
    struct rp_effects effects = {0};
    bool plain;

    rp_effects_find(tile->body, tile->function, &effects);
    plain = !effects.jumps && !effects.calls && effects.barriers >= 2;
    for (size_t i = 0; i < effects.write_count; i++) {
        const struct rp_ast_node *base = rp_place_variable(effects.writes[i]);

        plain = plain && base &&
                (rp_is_lds(tile->function, base->ref_id) || !fills_from(tile, base->ref_id));
    }
    rp_effects_free(&effects);
    return plain;
}

static uint64_t register_bytes(const struct tile_loop *tile)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < tile->staged_count; i++) {
        const struct staged *staged = &tile->staged[i];
        const uint64_t size = rp_number_bytes(rp_ast_type(staged->place));

        bytes += (size < 4 ? 4 : size) *
                 (staged->inner == SIZE_MAX ? 1 : tile->inner[staged->inner].rounds);
    }
    return bytes;
}

static bool read_body(struct tile_loop *tile)
{
    const struct rp_ast_node *body = tile->body;

    if (!rp_ast_is(body, "CompoundStmt") || body->count < 3)
        return false;
    tile->first = is_barrier(&body->children[0]);
    for (tile->barrier = tile->first;
         tile->barrier < body->count && !is_barrier(&body->children[tile->barrier]);
         tile->barrier++)
        if (!take(tile, &body->children[tile->barrier], SIZE_MAX))
            return false;
    return tile->barrier + 1 < body->count && tile->staged_count > 0 && tile->reads_memory &&
           rp_is_written_out(tile->source, &body->children[tile->barrier]) &&
           (tile->first == 1 || is_barrier(&body->children[body->count - 1])) &&
           register_bytes(tile) <= MOST_BYTES && are_rounds_plain(tile);
}

/* --- text ------------------------------------------------------------------------------------ */

/** Adds the name of the register for an element: that of the array, with a number where there are
 * several. */
static void add_name(const struct tile_loop *tile, size_t index, struct rp_buf *out)
{
    unsigned number = 1;

    for (size_t i = 0; i < index; i++)
        number += tile->staged[i].base->ref_id == tile->staged[index].base->ref_id;
    rp_buf_printf(out, "%s_next", tile->staged[index].base->ref_name);
    if (number > 1)
        rp_buf_printf(out, "%u", number);
}

/** Adds the number of rounds: as a number, or as the constants have it. */
static void add_rounds(const struct inner *inner, struct rp_buf *out)
{
    const struct rp_loop_text *text = &inner->text;

    if (!inner->named) {
        rp_buf_printf(out, "%" PRIu64, inner->rounds);
        return;
    }
    rp_buf_puts(out, text->step_is_one ? "" : "(");
    rp_loop_add_operand(text, text->bound, out);
    if (text->step_is_one)
        return;
    rp_buf_puts(out, " + ");
    rp_loop_add_operand(text, text->step, out);
    rp_buf_puts(out, " - 1) / ");
    rp_loop_add_operand(text, text->step, out);
}

static void add_counter_of(const struct inner *inner, struct rp_buf *out)
{
    rp_loop_add_part(&inner->text, (struct rp_span){inner->text.counter, inner->text.counter + 1},
                     0, out);
}

static void add_register(const struct tile_loop *tile, size_t index, struct rp_buf *out)
{
    const size_t inner = tile->staged[index].inner;

    add_name(tile, index, out);
    if (inner == SIZE_MAX)
        return;
    rp_buf_puts(out, "[");
    add_counter_of(&tile->inner[inner], out);
    rp_buf_puts(out, "_round]");
}

/** Adds the head of an inner loop whose rounds have numbers, so that each element has its register.
 */
static void add_inner_head(const struct tile_loop *tile, const struct inner *inner,
                           struct rp_buf *out)
{
    const struct rp_loop_text *text = &inner->text;
    rp_autobuf name = {0}, round = {0};
    rp_autofree char *indent = rp_indent_of(tile->source->text, inner->of->begin);

    add_counter_of(inner, &name);
    rp_buf_printf(&round, "%s_round", rp_buf_text(&name));
    rp_buf_printf(out, "#pragma unroll\n%sfor (int %s = 0; %s < ", indent, rp_buf_text(&round),
                  rp_buf_text(&round));
    add_rounds(inner, out);
    rp_buf_printf(out, "; %s++) {\n%s    if (const ", rp_buf_text(&round), indent);
    rp_loop_add_part(text, (struct rp_span){text->init.begin, text->value.begin}, 0, out);
    rp_buf_puts(out, " (");
    rp_loop_add_part(text, text->value, 0, out);
    rp_buf_printf(out, ") + %s", rp_buf_text(&round));
    if (!text->step_is_one) {
        rp_buf_puts(out, " * ");
        rp_loop_add_operand(text, text->step, out);
    }
    rp_buf_printf(out, "; %s < ", rp_buf_text(&name));
    rp_loop_add_operand(text, text->bound, out);
    rp_buf_puts(out, ") ");
}

static bool ends_line(const struct rp_buf *out)
{
    return out->len > 0 && out->data[out->len - 1] == '\n';
}

/** Takes letters off the end. */
static void trim(const char *letters, struct rp_buf *out)
{
    while (out->len && strchr(letters, out->data[out->len - 1]))
        out->len--;
}

enum copy {
    LOADS, /**< the registers take the places of the elements */
    STORES /**< ... and of the values */
};

/** Adds the text that stands at a token instead of it. @return the offset behind it in the file; 0:
 * the token stays */
static size_t add_instead(const struct tile_loop *tile, size_t offset, enum copy copy,
                          struct rp_buf *out)
{
    for (size_t i = 0; i < tile->inner_count; i++) {
        const struct inner *inner = &tile->inner[i];
        const struct rp_source_loop *of = inner->of;

        if (offset != (of->pragma_end > of->pragma_begin ? of->pragma_begin : of->begin))
            continue;
        trim(" \t", out);
        if (!ends_line(out))
            rp_buf_puts(out, "\n");
        add_inner_head(tile, inner, out);
        return tile->source->begin + inner->text.tokens.list[inner->text.body.begin].begin;
    }
    for (size_t i = 0; i < tile->staged_count; i++) {
        const struct staged *staged = &tile->staged[i];
        const struct rp_ast_node *gone = copy == LOADS ? staged->place : staged->value;

        if (offset != gone->begin.offset)
            continue;
        add_register(tile, i, out);
        return rp_end_of(gone);
    }
    return 0;
}

/** Adds the brace that ends an inner loop: without braces an else behind it would belong to the
 * loop's new if. */
static void add_inner_end(const struct tile_loop *tile, size_t offset, struct rp_buf *out)
{
    for (size_t i = 0; i < tile->inner_count; i++) {
        const struct inner *inner = &tile->inner[i];
        rp_autofree char *indent = rp_indent_of(tile->source->text, inner->of->begin);

        if (offset == tile->source->begin + inner->text.tokens.list[inner->text.end - 1].end)
            rp_buf_printf(out, "\n%s}", indent);
    }
}

/** Adds what fills the arrays, as loads into registers or as stores of them. */
static void add_copy(const struct tile_loop *tile, enum copy copy, unsigned steps,
                     struct rp_buf *out)
{
    const struct rp_loop_text *text = &tile->text;
    const size_t base = tile->source->begin;
    const size_t end = tile->body->children[tile->barrier].begin.offset;
    size_t from = tile->body->children[tile->first].begin.offset;

    for (size_t at = 0; at < text->tokens.count; at++) {
        const struct rp_token *token = &text->tokens.list[at];
        size_t behind;

        if (token->begin + base < from || token->begin + base >= end)
            continue;
        rp_buf_add(out, tile->source->text + from, token->begin + base - from);
        from = token->begin + base;
        behind = add_instead(tile, from, copy, out);
        if (behind == 0) {
            rp_loop_add_part(text, (struct rp_span){at, at + 1}, steps, out);
            behind = token->end + base;
        }
        from = behind;
        add_inner_end(tile, from, out);
    }
    trim(" \t\n", out);
}

/** Adds a copy where a statement may begin: a pragma needs a line of its own. */
static void add_copied(const struct rp_buf *copy, unsigned columns, struct rp_buf *out)
{
    const char *text = rp_buf_text(copy);
    size_t skipped = 0;

    if (text[0] == '\n') {
        trim(" \t", out);
        skipped = ends_line(out);
    }
    rp_add_indented(text + skipped, copy->len - skipped, columns, out);
}

static bool add_registers(const struct tile_loop *tile, const char *indent, struct rp_buf *out)
{
    for (size_t i = 0; i < tile->staged_count; i++) {
        const struct staged *staged = &tile->staged[i];
        const struct rp_ast_node *array = rp_ast_declaration(tile->function, staged->base->ref_id);
        rp_autofree char *type = rp_element_type(&tile->text, tile->source, array);

        if (!type)
            return false;
        rp_buf_printf(out, "%s    %s ", indent, type);
        add_name(tile, i, out);
        if (staged->inner != SIZE_MAX) {
            rp_buf_puts(out, "[");
            add_rounds(&tile->inner[staged->inner], out);
            rp_buf_puts(out, "]");
        }
        rp_buf_puts(out, ";\n");
    }
    return true;
}

/** Adds the text between two places of the file, so much further in. */
static void add_text(const struct tile_loop *tile, size_t begin, size_t end, struct rp_buf *out)
{
    if (end > begin)
        rp_add_indented(tile->source->text + begin, end - begin, 4, out);
}

static void add_loads(const struct tile_loop *tile, unsigned steps, const char *indent,
                      struct rp_buf *out)
{
    rp_autobuf loads = {0};

    add_copy(tile, LOADS, steps, &loads);
    rp_buf_printf(out, "%s            ", indent);
    add_copied(&loads, 8, out);
    rp_buf_printf(out, "\n%s        }\n", indent);
}

static bool add_loop(const struct tile_loop *tile, const struct rp_source_loop *of,
                     const char *indent, struct rp_buf *out)
{
    const struct rp_loop_text *text = &tile->text;
    const struct rp_ast_node *barrier = &tile->body->children[tile->barrier];
    const size_t fills = tile->body->children[tile->first].begin.offset;
    const size_t end = tile->source->begin + text->tokens.list[text->end - 1].end;
    size_t behind = rp_end_of(barrier);
    rp_autobuf stores = {0};

    behind += strcspn(tile->source->text + behind, ";") + 1;
    rp_buf_puts(out, "{\n");
    if (!add_registers(tile, indent, out))
        return false;
    rp_buf_printf(out, "%s    {\n%s        ", indent, indent);
    rp_loop_add_part(text, text->init, 0, out);
    rp_buf_printf(out, ";\n%s        if (%s < ", indent, tile->counter->name);
    rp_loop_add_operand(text, text->bound, out);
    rp_buf_puts(out, ") {\n");
    add_loads(tile, 0, indent, out);
    rp_buf_printf(out, "%s    }\n", indent);
    if (of->pragma_end > of->pragma_begin)
        rp_buf_printf(out, "%.*s\n", (int)(of->pragma_end - of->pragma_begin),
                      tile->source->text + of->pragma_begin);
    rp_buf_printf(out, "%s    ", indent);
    add_text(tile, of->begin, fills, out);
    add_copy(tile, STORES, 0, &stores);
    add_copied(&stores, 4, out);
    rp_buf_printf(out, "\n%s        __syncthreads();\n%s        if (", indent, indent);
    rp_loop_add_operand(text, text->bound, out);
    rp_buf_printf(out, " - %s > ", tile->counter->name);
    rp_loop_add_steps(text, 1, out);
    rp_buf_puts(out, ") {\n");
    add_loads(tile, 1, indent, out);
    rp_buf_printf(out, "%s    ", indent);
    behind += strspn(tile->source->text + behind, " \t\n");
    rp_buf_puts(out, "    ");
    add_text(tile, behind, end, out);
    rp_buf_printf(out, "\n%s}", indent);
    return true;
}

/** The new names must not hide others. */
static bool are_names_free(const struct tile_loop *tile)
{
    for (size_t i = 0; i < tile->staged_count; i++) {
        rp_autobuf name = {0};

        add_name(tile, i, &name);
        if (rp_loop_has_word(&tile->text, rp_buf_text(&name)))
            return false;
    }
    for (size_t i = 0; i < tile->inner_count; i++) {
        rp_autobuf name = {0};

        add_counter_of(&tile->inner[i], &name);
        rp_buf_puts(&name, "_round");
        if (rp_loop_has_word(&tile->text, rp_buf_text(&name)))
            return false;
    }
    return true;
}

static void propose(const struct tile_loop *tile, const struct rp_source_loop *of)
{
    struct rp_kernel_source *source = tile->source;
    const size_t end = source->begin + tile->text.tokens.list[tile->text.end - 1].end;
    rp_autofree char *indent = rp_indent_of(source->text, of->begin);
    rp_autobuf out = {0};

    rp_buf_add(&out, source->text + source->begin, of->pragma_begin - source->begin);
    if (!are_names_free(tile) || !add_loop(tile, of, indent, &out))
        return;
    rp_buf_add(&out, source->text + end, source->end - end);
    rp_source_change_add(
        source,
        (struct rp_source_change){
            .kind = RP_CHANGE_TILE,
            .title = rp_format("load the next tile of %s while one is used in the loop at line %u",
                               tile->staged[0].base->ref_name, of->line),
            .kernel_text = rp_buf_steal(&out)});
}

/** Takes the loop if it counts up with a number of its own. */
static bool read_head(struct tile_loop *tile)
{
    const struct rp_ast_node *init = &tile->loop->children[RP_FOR_INIT];
    const struct rp_ast_node *condition = rp_ast_bare(&tile->loop->children[RP_FOR_CONDITION]);

    if (!rp_ast_is(init, "DeclStmt") || init->count != 1 || init->children[0].count != 1 ||
        condition->count != 2)
        return false;
    tile->counter = &init->children[0];
    tile->body = &tile->loop->children[RP_FOR_BODY];
    return tile->counter->name && rp_is_fixed(&condition->children[1], tile->loop, tile->function);
}

static void visit(const struct rp_ast_node *node, const struct rp_ast_node *function,
                  struct rp_kernel_source *source)
{
    struct tile_loop tile = {.source = source, .function = function, .loop = node};
    const struct rp_source_loop *of = rp_ast_is(node, "ForStmt") && node->count == RP_FOR_CHILDREN
                                          ? rp_loop_of(source, node)
                                          : NULL;

    if (of && !(of->trip_count_known && of->trip_count < 2) &&
        rp_loop_text_read(source, of, &tile.text)) {
        if (read_head(&tile) && read_body(&tile))
            propose(&tile, of);
        for (size_t i = 0; i < tile.inner_count; i++)
            rp_loop_text_free(&tile.inner[i].text);
        rp_loop_text_free(&tile.text);
    }
    for (size_t i = 0; i < node->count; i++)
        visit(&node->children[i], function, source);
}

void rp_next_tiles_find(const struct rp_ast_node *function, struct rp_kernel_source *source)
{
    visit(function, function, source);
}
