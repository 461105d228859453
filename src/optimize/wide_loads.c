/* Finds loops whose rounds the lanes share one by one, and writes them so that each lane takes
 * neighbours in a round: what it reads of them becomes one load of up to 16 bytes.
 *
 *     for (int i = start; i < n; i += step)
 *         y[i] = x[i];
 *
 * becomes a loop that reads x[first .. first + 3] into an array, and goes through it, and one for
 * what is left. Reads stand before all writes, so that the compiler makes one load of them also
 * where y could be x. Which lane takes an element must make no difference: the body must not ask
 * for the lane, and what it adds up must be added up over the lanes later. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/vec.h"
#include "optimize/ast.h"
#include "optimize/kernel_source.h"
#include "optimize/loop_lanes.h"
#include "optimize/loop_rest.h"
#include "optimize/loop_text.h"

enum { MOST_ACCESSES = 32, MOST_WIDTH = 8, LOAD_BYTES = 16 };

/** x[i] and x[i + offset], where i is the counter. */
struct access {
    const struct rp_ast_node *node, *base, *counter;
    bool hoisted; /**< it is read in each round, and nothing is written through its pointer */
};

struct wide_loop {
    struct rp_kernel_source *source;
    const struct rp_ast_node *function, *loop, *counter;
    struct rp_loop_lanes lanes;
    struct rp_loop_text text;
    struct access accesses[MOST_ACCESSES];
    size_t access_count;
    unsigned width;
    bool adds_floats; /**< in another order */
};

/* --- what the body does ---------------------------------------------------------------------- */

/** Finds the access of a node, if it is one. */
static struct access *access_of(struct wide_loop *wide, const struct rp_ast_node *node)
{
    for (size_t i = 0; i < wide->access_count; i++)
        if (wide->accesses[i].node == node)
            return &wide->accesses[i];
    return NULL;
}

/** Returns the counter in an index to which only what is fixed is added, or NULL. */
static const struct rp_ast_node *counter_in(const struct wide_loop *wide,
                                            const struct rp_ast_node *index)
{
    const struct rp_ast_node *a, *b;

    index = rp_ast_bare(index);
    if (rp_ast_variable(index) == wide->counter->id)
        return index;
    if (!rp_ast_is(index, "BinaryOperator") || index->count != 2 ||
        !(rp_is_text(index->opcode, "+") || rp_is_text(index->opcode, "-")))
        return NULL;
    a = counter_in(wide, &index->children[0]);
    b = rp_is_text(index->opcode, "-") ? NULL : counter_in(wide, &index->children[1]);
    if (!a == !b)
        return NULL;
    return rp_is_fixed(&index->children[a ? 1 : 0], wide->loop, wide->function) ? (a ? a : b)
                                                                                : NULL;
}

/** Returns the counter in an access, or NULL where it is none. */
static const struct rp_ast_node *counter_of_access(const struct wide_loop *wide,
                                                   const struct rp_ast_node *node)
{
    const struct rp_ast_node *counter;
    uint64_t base;

    if (!rp_ast_is(node, "ArraySubscriptExpr") || node->count != 2 ||
        !rp_ast_is_pointer(&node->children[0]))
        return NULL;
    base = rp_ast_variable(&node->children[0]);
    if (!base || rp_ast_declaration(wide->loop, base) || rp_ast_changes(wide->loop, base) ||
        !rp_is_written_out(wide->source, node))
        return NULL;
    counter = counter_in(wide, &node->children[1]);
    return counter && rp_is_written_out(wide->source, counter) ? counter : NULL;
}

/** Notes all accesses of the loop. @return false: there are too many */
static bool find_accesses(struct wide_loop *wide, const struct rp_ast_node *node)
{
    const struct rp_ast_node *counter = counter_of_access(wide, node);

    if (counter && wide->access_count == MOST_ACCESSES)
        return false;
    if (counter)
        wide->accesses[wide->access_count++] =
            (struct access){node, rp_ast_bare(&node->children[0]), counter, false};
    for (size_t i = 0; i < node->count; i++)
        if (!find_accesses(wide, &node->children[i]))
            return false;
    return true;
}

static bool is_same_text(const struct wide_loop *wide, const struct access *a,
                         const struct access *b)
{
    const size_t bytes = rp_end_of(a->node) - a->node->begin.offset;

    return rp_end_of(b->node) - b->node->begin.offset == bytes &&
           memcmp(wide->source->text + a->node->begin.offset,
                  wide->source->text + b->node->begin.offset, bytes) == 0;
}

static size_t uses_of(const struct rp_ast_node *node, uint64_t variable)
{
    size_t count = rp_ast_is(node, "DeclRefExpr") && node->ref_id == variable;

    for (size_t i = 0; i < node->count; i++)
        count += uses_of(&node->children[i], variable);
    return count;
}

/** Each use of a pointer that is written through must be of the lane's own element. */
static bool is_own_element(struct wide_loop *wide, const struct rp_ast_node *place)
{
    const struct access *access = access_of(wide, rp_ast_bare(place));
    size_t count = 0;

    if (!access)
        return false;
    for (size_t i = 0; i < wide->access_count; i++)
        count += wide->accesses[i].base->ref_id == access->base->ref_id &&
                 is_same_text(wide, &wide->accesses[i], access);
    return uses_of(wide->loop, access->base->ref_id) == count;
}

static bool is_float(const char *type)
{
    return strcmp(type, "float") == 0 || strcmp(type, "double") == 0 ||
           strcmp(type, "_Float16") == 0 || strcmp(type, "__bf16") == 0;
}

/** Says whether a statement adds to a variable, in an order that nobody else sees. */
static bool is_sum(struct wide_loop *wide, const struct rp_ast_node *node, uint64_t sum)
{
    static const char *const opcodes[] = {"+=", "-=", "*=", "&=", "|=", "^=", "++", "--"};
    const struct rp_ast_node *declaration = rp_ast_declaration(wide->function, sum);
    const char *type = declaration ? rp_ast_type(declaration) : "";

    if (!declaration || declaration->storage || rp_number_bytes(type) == 0)
        return false;
    if (rp_is_text(node->opcode, "="))
        return rp_extremum_term(&node->children[1], sum) && uses_of(wide->loop, sum) == 2;
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (rp_is_text(node->opcode, opcodes[i])) {
            wide->adds_floats |= is_float(type);
            return uses_of(wide->loop, sum) == 1;
        }
    return false;
}

/** @return whether the assignment may be made by any lane, in any order */
static bool may_assign(struct wide_loop *wide, const struct rp_ast_node *node)
{
    const struct rp_ast_node *place = rp_ast_bare(&node->children[0]);
    const uint64_t variable = rp_ast_variable(place), root = rp_ast_variable(rp_place_root(place));
    const struct rp_ast_node *own = root ? rp_ast_declaration(wide->loop, root) : NULL;

    if (own)
        return root != wide->counter->id && !rp_ast_is_reference(own) && !own->storage;
    if (variable)
        return is_sum(wide, node, variable) &&
               rp_loop_sum_is_exchanged(&wide->lanes, variable, node);
    return is_own_element(wide, place);
}

/** These see the other lanes, which have other elements now. */
static bool is_across_lanes(const struct rp_ast_node *node)
{
    static const char *const names[] = {"__shfl", "__ballot",         "__any",
                                        "__all",  "__match",          "__active",
                                        "__lane", "__builtin_amdgcn", "__reduce"};
    const struct rp_ast_node *target = rp_ast_call_target(node);
    const char *name = target ? rp_ast_callee(target) : NULL;

    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool is_index(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "PseudoObjectExpr") ||
           (rp_ast_is(node, "MemberExpr") && node->count &&
            rp_ast_is_index(rp_ast_bare(&node->children[0])));
}

static bool is_of_any_lane(struct wide_loop *wide, const struct rp_ast_node *node);

/** The same of what is added, where sum is an argument of a maximum. */
static bool is_term_of_any_lane(struct wide_loop *wide, const struct rp_ast_node *node,
                                uint64_t sum)
{
    const struct rp_ast_node *term = sum ? rp_extremum_term(node, sum) : NULL;

    return is_of_any_lane(wide, term ? term : node);
}

/** Says whether it makes no difference which lane does what stands here. */
static bool is_of_any_lane(struct wide_loop *wide, const struct rp_ast_node *node)
{
    const bool assigns = rp_is_assignment(node) && node->count;
    uint64_t sum = 0;

    if (is_across_lanes(node) || strstr(rp_ast_type(node), "volatile") ||
        (rp_ast_is(node, "VarDecl") && (rp_ast_is_reference(node) || node->storage)) ||
        (rp_ast_is(node, "UnaryOperator") && rp_is_text(node->opcode, "&")))
        return false;
    if (node->count == 0 || is_index(node) || rp_is_group_number(&wide->lanes, node))
        return rp_is_same_in_lanes(&wide->lanes, node);
    if (assigns && !may_assign(wide, node))
        return false;
    /* What is added up is another value in each lane. */
    if (assigns && rp_ast_variable(&node->children[0])) {
        sum = rp_ast_variable(&node->children[0]);
        if (rp_ast_declaration(wide->loop, sum))
            sum = 0;
    }
    for (size_t i = 0; i < node->count; i++)
        if (!(sum && i == 0) && !is_term_of_any_lane(wide, &node->children[i], sum))
            return false;
    return true;
}

/** Marks what is read in each round: the parts of a statement that are always computed. */
static void find_reads(struct wide_loop *wide, const struct rp_ast_node *node)
{
    const bool logical = rp_is_text(node->opcode, "&&") || rp_is_text(node->opcode, "||");
    struct access *access = access_of(wide, node);
    size_t count = node->count;

    if (access && rp_number_bytes(rp_ast_type(node)) > 0 &&
        !rp_is_lds(wide->function, access->base->ref_id) && !strchr(rp_ast_type(access->base), '['))
        access->hoisted = true;
    if (rp_ast_is(node, "UnaryExprOrTypeTraitExpr"))
        return;
    if ((rp_ast_is(node, "IfStmt") || rp_ast_is(node, "ConditionalOperator") || logical) &&
        count > 1)
        count = 1;
    for (size_t i = 0; i < count; i++)
        find_reads(wide, &node->children[i]);
}

static bool is_written(const struct rp_effects *effects, uint64_t pointer)
{
    for (size_t i = 0; i < effects->write_count; i++) {
        const struct rp_ast_node *base = rp_place_variable(effects->writes[i]);

        if (base && base->ref_id == pointer)
            return true;
    }
    return false;
}

static bool read_body(struct wide_loop *wide)
{
    const struct rp_ast_node *body = &wide->loop->children[RP_FOR_BODY];
    struct rp_effects effects = {0};
    unsigned bytes = 0;
    bool fits;

    rp_effects_find(body, wide->function, &effects);
    fits = !effects.jumps && !effects.calls && effects.barriers == 0 && find_accesses(wide, body) &&
           is_of_any_lane(wide, body) && rp_loop_is_parted(&wide->lanes);
    find_reads(wide, body);
    for (size_t i = 0; i < wide->access_count; i++) {
        struct access *access = &wide->accesses[i];
        const unsigned size = rp_number_bytes(rp_ast_type(access->node));

        /* The elements of one pointer do not overlap: what is written is left as it is. */
        if (is_written(&effects, access->base->ref_id))
            access->hoisted = false;
        if (access->hoisted && size > bytes)
            bytes = size;
    }
    rp_effects_free(&effects);
    wide->width = bytes == 0 || LOAD_BYTES / bytes > MOST_WIDTH ? MOST_WIDTH : LOAD_BYTES / bytes;
    return fits && bytes > 0;
}

/* --- text ------------------------------------------------------------------------------------ */

/** Adds the type of the counter. */
static void add_type(const struct wide_loop *wide, struct rp_buf *out)
{
    const struct rp_span type = {wide->text.init.begin, wide->text.counter};

    if (rp_loop_is(&wide->text, type.begin, "auto"))
        rp_buf_puts(out, rp_ast_type(wide->counter));
    else
        rp_loop_add_part(&wide->text, type, 0, out);
}

/** Returns the first hoisted access of the same text. */
static size_t first_of(const struct wide_loop *wide, size_t index)
{
    size_t first = 0;

    while (!wide->accesses[first].hoisted ||
           !is_same_text(wide, &wide->accesses[first], &wide->accesses[index]))
        first++;
    return first;
}

/** Adds the name of the array for what is read: that of the pointer, with a number where it is read
 * in several places. */
static void add_name(const struct wide_loop *wide, size_t index, struct rp_buf *out)
{
    const size_t first = first_of(wide, index);
    unsigned number = 1;

    for (size_t i = 0; i < first; i++)
        number += wide->accesses[i].hoisted && first_of(wide, i) == i &&
                  wide->accesses[i].base->ref_id == wide->accesses[first].base->ref_id;
    rp_buf_printf(out, "%s_near", wide->accesses[first].base->ref_name);
    if (number > 1)
        rp_buf_printf(out, "%u", number);
}

/** Adds an access with something in place of the counter. */
static void add_moved(const struct wide_loop *wide, const struct access *access, const char *moved,
                      struct rp_buf *out)
{
    const char *text = wide->source->text;
    const struct rp_ast_node *index = &access->node->children[1];
    const bool alone = rp_ast_bare(index) == access->counter || !strchr(moved, ' ');
    const size_t begin = access->node->begin.offset, at = access->counter->begin.offset;

    rp_buf_add(out, text + begin, at - begin);
    rp_buf_printf(out, alone ? "%s" : "(%s)", moved);
    rp_buf_add(out, text + rp_end_of(access->counter),
               rp_end_of(access->node) - rp_end_of(access->counter));
}

static const struct rp_ast_node *declaration_of(const struct wide_loop *wide, uint64_t variable)
{
    for (size_t i = 0; i < wide->function->count; i++)
        if (wide->function->children[i].id == variable)
            return &wide->function->children[i];
    return rp_ast_declaration(wide->function, variable);
}

/** Adds an array of what is read in each place. @return false: a type is not known */
static bool add_reads(const struct wide_loop *wide, const char *indent, struct rp_buf *out)
{
    for (size_t i = 0; i < wide->access_count; i++) {
        const struct access *access = &wide->accesses[i];
        rp_autofree char *type = NULL;

        if (!access->hoisted || first_of(wide, i) != i)
            continue;
        type =
            rp_element_type(&wide->text, wide->source, declaration_of(wide, access->base->ref_id));
        if (!type)
            return false;
        rp_buf_printf(out, "%s        const %s ", indent, type);
        add_name(wide, i, out);
        rp_buf_printf(out, "[%u] = {", wide->width);
        for (unsigned k = 0; k < wide->width; k++) {
            rp_autofree char *moved = k ? rp_format("%s_first + %u", wide->counter->name, k)
                                        : rp_format("%s_first", wide->counter->name);

            rp_buf_puts(out, k ? ", " : "");
            add_moved(wide, access, moved, out);
        }
        rp_buf_puts(out, "};\n");
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const size_t x = ((const struct access *)a)->node->begin.offset;
    const size_t y = ((const struct access *)b)->node->begin.offset;

    return x < y ? -1 : x > y;
}

/** Adds the body, or what stands between its braces, for one of the neighbours, or as it is. */
static void add_body(const struct wide_loop *wide, bool neighbours, struct rp_buf *out)
{
    const struct rp_loop_text *text = &wide->text;
    const char *counter = wide->counter->name;
    rp_autofree char *moved = rp_format("%s_first + %s_k", counter, counter);
    const bool block =
        rp_loop_is(text, text->body.begin, "{") && text->body.end > text->body.begin + 2;
    const struct rp_token *tokens = text->tokens.list;
    size_t at = wide->source->begin + tokens[text->body.begin + block].begin;
    const size_t end = wide->source->begin + tokens[text->body.end - 1 - block].end;

    for (size_t i = 0; neighbours && i < wide->access_count; i++) {
        const struct access *access = &wide->accesses[i];

        rp_buf_add(out, wide->source->text + at, access->node->begin.offset - at);
        if (access->hoisted) {
            add_name(wide, i, out);
            rp_buf_printf(out, "[%s_k]", counter);
        } else {
            add_moved(wide, access, moved, out);
        }
        at = rp_end_of(access->node);
    }
    rp_buf_add(out, wide->source->text + at, end - at);
}

static void add_counter(const struct wide_loop *wide, const char *indent, const char *more,
                        struct rp_buf *out)
{
    rp_buf_printf(out, "%s        const ", indent);
    add_type(wide, out);
    rp_buf_printf(out, " %s = (", wide->counter->name);
    add_type(wide, out);
    rp_buf_printf(out, ")%s;\n", more);
}

/** Adds the first element of the lane: where it began, as many times further as its lane. */
static void add_first(const struct wide_loop *wide, struct rp_buf *out)
{
    if (!wide->lanes.offset) {
        rp_buf_printf(out, "%uLL * ", wide->width);
        rp_loop_add_operand(&wide->text, wide->text.value, out);
        return;
    }
    rp_loop_add_operand(&wide->text, wide->text.value, out);
    rp_buf_printf(out, " + %uLL * ", wide->width - 1);
    rp_add_lane(&wide->lanes, out);
}

static bool add_loops(const struct wide_loop *wide, const char *indent, struct rp_buf *out)
{
    const char *i = wide->counter->name;
    rp_autofree char *deeper = rp_format("%s    ", indent);
    rp_autofree char *near = rp_format("(%s_first + %s_k)", i, i);
    rp_autofree char *first = rp_format("%s_first", i);
    size_t used = 0;
    rp_autobuf body = {0}, rest = {0};

    rp_buf_printf(out, "{\n%s    const long long %s_end = ", indent, i);
    rp_loop_add_part(&wide->text, wide->text.bound, 0, out);
    rp_buf_printf(out, ";\n%s    long long %s_first = ", indent, i);
    add_first(wide, out);
    rp_buf_printf(out, ";\n%s    for (; %s_first < %s_end - %u; %s_first += %uLL * ", indent, i, i,
                  wide->width - 1, i, wide->width);
    rp_loop_add_operand(&wide->text, wide->text.step, out);
    rp_buf_puts(out, ") {\n");
    if (!add_reads(wide, indent, out))
        return false;
    rp_buf_printf(out, "#pragma unroll\n%s        for (int %s_k = 0; %s_k < %u; %s_k++) {\n",
                  indent, i, i, wide->width, i);
    for (size_t a = 0; a < wide->access_count; a++)
        used += uses_of(wide->accesses[a].node, wide->counter->id);
    if (uses_of(&wide->loop->children[RP_FOR_BODY], wide->counter->id) > used)
        add_counter(wide, deeper, near, out);
    add_body(wide, true, &body);
    rp_buf_printf(out, "%s            ", indent);
    rp_add_indented(rp_buf_text(&body), body.len, 8, out);
    rp_buf_printf(out, "\n%s        }\n%s    }\n%s    for (; %s_first < %s_end; %s_first++) {\n",
                  indent, indent, indent, i, i, i);
    add_counter(wide, indent, first, out);
    add_body(wide, false, &rest);
    rp_buf_printf(out, "%s        ", indent);
    rp_add_indented(rp_buf_text(&rest), rest.len, 4, out);
    rp_buf_printf(out, "\n%s    }\n%s}", indent, indent);
    return true;
}

/** The new names must not hide others. */
static bool are_names_free(const struct wide_loop *wide)
{
    static const char *const parts[] = {"end", "first", "k"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        rp_autofree char *name = rp_format("%s_%s", wide->counter->name, parts[i]);

        if (rp_loop_has_word(&wide->text, name))
            return false;
    }
    for (size_t i = 0; i < wide->access_count; i++) {
        rp_autobuf name = {0};

        if (!wide->accesses[i].hoisted)
            continue;
        add_name(wide, i, &name);
        if (rp_loop_has_word(&wide->text, rp_buf_text(&name)))
            return false;
    }
    return true;
}

/** The accesses must stand one behind the other in the body's text. */
static bool are_in_order(struct wide_loop *wide)
{
    size_t at = wide->source->begin + wide->text.tokens.list[wide->text.body.begin].begin;

    qsort(wide->accesses, wide->access_count, sizeof *wide->accesses, by_place);
    for (size_t i = 0; i < wide->access_count; i++) {
        if (wide->accesses[i].node->begin.offset < at)
            return false;
        at = rp_end_of(wide->accesses[i].node);
    }
    return at <= wide->source->begin + wide->text.tokens.list[wide->text.body.end - 1].end;
}

/** A step of a constant with a name is taken for the size of a workgroup where launch bounds say
 * so, or where workgroups begin so far from each other. */
static bool is_size_of_launch(const struct wide_loop *wide)
{
    const struct rp_loop_text *text = &wide->text;

    if (wide->lanes.kind != RP_SHARED_BY_WORKGROUP || !wide->lanes.size.name)
        return true;
    for (size_t at = 0; at + 2 < text->begin; at++)
        if (rp_loop_is(text, at, "__launch_bounds__") &&
            rp_loop_is(text, at + 2, wide->lanes.size.text))
            return true;
    return false;
}

static void propose(struct wide_loop *wide, const struct rp_source_loop *of)
{
    struct rp_kernel_source *source = wide->source;
    const size_t end = source->begin + wide->text.tokens.list[wide->text.end - 1].end;
    rp_autofree char *indent = rp_indent_of(source->text, of->begin);
    const bool of_group = wide->lanes.kind == RP_SHARED_BY_GROUP;
    rp_autobuf out = {0};

    rp_buf_add(&out, source->text + source->begin, of->pragma_begin - source->begin);
    if (!is_size_of_launch(wide) || !are_in_order(wide) || !are_names_free(wide) ||
        !add_loops(wide, indent, &out))
        return;
    rp_buf_add(&out, source->text + end, source->end - end);
    rp_source_change_add(source,
                         (struct rp_source_change){
                             .kind = wide->adds_floats ? RP_CHANGE_WIDE_SUM : RP_CHANGE_WIDE,
                             .workgroup = of_group ? 0 : (uint64_t)wide->lanes.size.number,
                             .title = rp_format("load %u neighbours at once in the loop at line %u",
                                                wide->width, of->line),
                             .kernel_text = rp_buf_steal(&out)});
}

/** Takes the loop if it counts an integer of its own up, in steps of all lanes. */
static bool read_head(struct wide_loop *wide)
{
    const struct rp_ast_node *init = &wide->loop->children[RP_FOR_INIT];
    const struct rp_ast_node *step = rp_ast_bare(&wide->loop->children[RP_FOR_STEP]);
    const struct rp_ast_node *condition = rp_ast_bare(&wide->loop->children[RP_FOR_CONDITION]);

    if (!rp_ast_is(init, "DeclStmt") || init->count != 1 || init->children[0].count != 1 ||
        step->count != 2 || condition->count != 2)
        return false;
    wide->counter = &init->children[0];
    return rp_number_bytes(rp_ast_type(wide->counter)) >= 4 &&
           !is_float(rp_ast_type(wide->counter)) && wide->counter->name &&
           rp_ast_variable(&condition->children[0]) == wide->counter->id &&
           rp_is_fixed(&condition->children[1], wide->loop, wide->function) &&
           rp_loop_lanes_find(wide->function, wide->loop, &wide->counter->children[0],
                              &step->children[1], &wide->lanes) &&
           rp_is_same_in_lanes(&wide->lanes, &condition->children[1]) &&
           rp_loop_comes_to_all(&wide->lanes);
}

static void visit(const struct rp_ast_node *node, const struct rp_ast_node *function,
                  struct rp_kernel_source *source)
{
    struct wide_loop wide = {.source = source, .function = function, .loop = node};
    const struct rp_source_loop *of = rp_ast_is(node, "ForStmt") && node->count == RP_FOR_CHILDREN
                                          ? rp_loop_of(source, node)
                                          : NULL;

    if (of && of->innermost && rp_loop_text_read(source, of, &wide.text)) {
        if (!wide.text.step_is_one && read_head(&wide) && read_body(&wide))
            propose(&wide, of);
        rp_loop_text_free(&wide.text);
    }
    for (size_t i = 0; i < node->count; i++)
        visit(&node->children[i], function, source);
}

void rp_wide_loads_find(const struct rp_ast_node *function, struct rp_kernel_source *source)
{
    visit(function, function, source);
}
