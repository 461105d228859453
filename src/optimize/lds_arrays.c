/* Finds the arrays of a kernel in LDS whose rows may become longer without any other change of its
 * text, and the constants that are the rows' length of arrays that have one bound. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/vec.h"
#include "optimize/ast.h"
#include "optimize/kernel_source.h"
#include "optimize/source_text.h"

struct array_walk {
    const struct rp_ast_node *function;
    struct rp_kernel_source *source;
    size_t capacity;
};

/** @return bytes of an element; 0: not known, or wider than what one bank gives at a time */
static unsigned element_bytes(const char *type)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } known[] = {{"float", 4},     {"int", 4},  {"unsigned int", 4},  {"double", 8},
                 {"long long", 8}, {"long", 8}, {"unsigned long", 8}, {"unsigned long long", 8}};
    const size_t length = strcspn(type, "[");

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, type, length) == 0)
            return known[i].bytes;
    return 0;
}

/** @return the number of bounds of "float[64][32]"; *ret is the last one */
static unsigned bounds_of(const char *type, unsigned long *ret)
{
    unsigned count = 0;

    for (const char *at = strchr(type, '['); at; at = strchr(at + 1, '['), count++)
        *ret = strtoul(at + 1, NULL, 10);
    return count;
}

/** Returns how many indices an element is taken by, if it is one of the array's. */
static unsigned indices(const struct rp_ast_node *node, uint64_t id)
{
    unsigned count = 0;

    while (rp_ast_is(node, "ArraySubscriptExpr") && node->count == 2) {
        count++;
        node = &node->children[0];
        while (node->count == 1 && (node->cast || rp_ast_is(node, "ParenExpr")))
            node = &node->children[0];
    }
    return rp_ast_is(node, "DeclRefExpr") && node->ref_id == id ? count : 0;
}

struct uses {
    uint64_t id;
    unsigned bounds, bytes; /**< of an element */
    size_t all, whole;      /**< where it is named; where one element of it is meant */
    unsigned vector;        /**< elements that are read at once, at most */
};

/** @return bytes of "const HIP_vector_type<float, 4>"; 0: it is no vector */
static unsigned vector_bytes(const char *type)
{
    static const char vector[] = "HIP_vector_type<";
    const char *at = strstr(type, vector), *comma = at ? strchr(at, ',') : NULL;
    unsigned long count = comma ? strtoul(comma + 1, NULL, 10) : 0;
    rp_autofree char *element = NULL;

    if (!count || strchr(type, '*'))
        return 0;
    at += strlen(vector);
    element = rp_strndup(at, (size_t)(comma - at));
    return element_bytes(element) * (unsigned)(count == 3 ? 4 : count);
}

static bool is_unary(const struct rp_ast_node *node, const char *opcode)
{
    return rp_ast_is(node, "UnaryOperator") && node->opcode && strcmp(node->opcode, opcode) == 0 &&
           node->count == 1;
}

/** Returns the bytes of a vector that is taken from one element on: *(const float4 *)&a[y][x]. */
static unsigned vector_of_element(const struct rp_ast_node *node, const struct uses *uses)
{
    const unsigned bytes = is_unary(node, "*") ? vector_bytes(rp_ast_type(node)) : 0;

    if (!bytes)
        return 0;
    node = &node->children[0];
    while (node->count == 1 && (node->cast || rp_ast_is(node, "ParenExpr")))
        node = &node->children[0];
    return is_unary(node, "&") && indices(&node->children[0], uses->id) == uses->bounds ? bytes : 0;
}

static void count_uses(const struct rp_ast_node *node, struct uses *uses)
{
    const unsigned bytes = vector_of_element(node, uses);

    uses->all += rp_ast_is(node, "DeclRefExpr") && node->ref_id == uses->id;
    uses->whole += indices(node, uses->id) == uses->bounds;
    /* Who has the address of an element may go on to the next row. */
    if (is_unary(node, "&") && indices(&node->children[0], uses->id))
        uses->all++;
    if (bytes) {
        uses->all--;
        if (bytes / uses->bytes > uses->vector)
            uses->vector = bytes / uses->bytes;
    }
    for (size_t i = 0; i < node->count; i++)
        count_uses(&node->children[i], uses);
}

/** Finds the last bound in the text: between its brackets. */
static bool find_bound(const struct rp_kernel_source *source, const struct rp_ast_node *node,
                       struct rp_source_array *ret)
{
    const char *text = source->text;
    size_t at = node->end.offset;
    int depth = 0;

    if (!node->end.in_file || node->end.macro || at >= source->end || at <= source->begin ||
        text[at] != ']')
        return false;
    ret->bound_end = at;
    for (; at > source->begin; at--) {
        depth += (text[at] == ']') - (text[at] == '[');
        if (depth == 0)
            break;
        if (strchr("\n\"'/#", text[at]))
            return false;
    }
    ret->bound_begin = at + 1;
    return at > source->begin;
}

static const char *why_not(const struct array_walk *walk, const struct rp_ast_node *node,
                           struct rp_source_array *array)
{
    const char *type = rp_ast_type(node);
    struct uses uses = {.id = node->id};

    uses.bounds = bounds_of(type, &array->row);
    if (uses.bounds < 2)
        return "it has no rows";
    if (!element_bytes(type))
        return "its elements are not of 4 or 8 bytes";
    uses.bytes = element_bytes(type);
    uses.vector = 1;
    count_uses(walk->function, &uses);
    array->more = uses.vector;
    if (array->row % array->more || array->row / array->more % 2)
        return "its rows begin on different banks";
    if (!find_bound(walk->source, node, array))
        return "its last bound does not stand in the kernel's text";
    return uses.all == uses.whole ? NULL : "it is used otherwise than by the element";
}

static bool is_shared(const struct rp_ast_node *node)
{
    for (size_t i = 0; rp_ast_is(node, "VarDecl") && i < node->count; i++)
        if (rp_ast_is(&node->children[i], "CUDASharedAttr"))
            return true;
    return false;
}

static void visit(struct array_walk *walk, const struct rp_ast_node *node)
{
    struct rp_kernel_source *source = walk->source;

    if (is_shared(node) && node->id && node->name) {
        struct rp_source_array array = {.name = rp_strdup(node->name)};

        array.why_not = why_not(walk, node, &array);
        rp_vec_grow(&source->arrays, &walk->capacity, source->array_count, 1,
                    sizeof *source->arrays);
        source->arrays[source->array_count++] = array;
    }
    for (size_t i = 0; i < node->count; i++)
        visit(walk, &node->children[i]);
}

/* --- strides of flat arrays ------------------------------------------------------------------ */

/** Bytes of the file in which a constant may be a stride: an index, or the bounds of an array. */
struct place {
    size_t begin, end;
    bool bounds;
};

struct stride_walk {
    struct rp_kernel_source *source;
    struct rp_tokens tokens; /**< of the kernel; offsets from its beginning */
    uint64_t *ids;           /**< of arrays in LDS, and of pointers into them */
    size_t id_count, id_capacity;
    struct place *places;
    size_t place_count, place_capacity;
};

static bool is_in_lds(const struct stride_walk *walk, const struct rp_ast_node *node)
{
    while (node->count == 1 && (node->cast || rp_ast_is(node, "ParenExpr")))
        node = &node->children[0];
    if (rp_ast_is(node, "DeclRefExpr"))
        for (size_t i = 0; i < walk->id_count; i++)
            if (walk->ids[i] == node->ref_id)
                return true;
    if (is_unary(node, "&") || (rp_ast_is(node, "ArraySubscriptExpr") && node->count == 2))
        return is_in_lds(walk, &node->children[0]);
    return rp_ast_is(node, "BinaryOperator") && rp_ast_is_pointer(node) && node->count == 2 &&
           (is_in_lds(walk, &node->children[0]) || is_in_lds(walk, &node->children[1]));
}

static void add_place(struct stride_walk *walk, size_t begin, size_t end, bool bounds)
{
    const struct rp_kernel_source *source = walk->source;

    if (begin < source->begin || end > source->end || begin >= end)
        return;
    rp_vec_grow(&walk->places, &walk->place_capacity, walk->place_count, 1, sizeof *walk->places);
    walk->places[walk->place_count++] = (struct place){begin, end, bounds};
}

static void add_index(struct stride_walk *walk, const struct rp_ast_node *index)
{
    if (index->begin.in_file && index->end.in_file)
        add_place(walk, index->begin.offset, index->end.offset + index->end.bytes, false);
}

/** Bounds stand behind the last place of the name, up to the declarator's end. */
static void add_bounds(struct stride_walk *walk, const struct rp_ast_node *node)
{
    const size_t begin = walk->source->begin;
    size_t from = 0;

    for (size_t i = 0; node->begin.in_file && node->end.in_file && i < walk->tokens.count; i++) {
        const struct rp_token *token = &walk->tokens.list[i];

        if (begin + token->begin >= node->begin.offset &&
            begin + token->end <= node->end.offset + node->end.bytes &&
            rp_token_is(walk->source->text + begin, token, node->name))
            from = begin + token->end;
    }
    if (from)
        add_place(walk, from, node->end.offset + node->end.bytes, true);
}

/** Adds what is computed with an address in LDS. */
static void add_operands(struct stride_walk *walk, const struct rp_ast_node *node)
{
    const bool sum = rp_ast_is(node, "BinaryOperator") && rp_ast_is_pointer(node);
    const bool step = rp_ast_is(node, "CompoundAssignOperator");

    if (node->count != 2 || !(sum || step || rp_ast_is(node, "ArraySubscriptExpr")))
        return;
    if (is_in_lds(walk, &node->children[0]))
        add_index(walk, &node->children[1]);
    else if (sum && is_in_lds(walk, &node->children[1]))
        add_index(walk, &node->children[0]);
}

/** A declaration is seen before its uses. */
static void find_places(struct stride_walk *walk, const struct rp_ast_node *node)
{
    const bool shared = is_shared(node) && node->id && node->name;
    const bool pointer = rp_ast_is(node, "VarDecl") && node->count &&
                         strchr(rp_ast_type(node), '*') &&
                         is_in_lds(walk, &node->children[node->count - 1]);

    if (shared)
        add_bounds(walk, node);
    if (shared || pointer) {
        rp_vec_grow(&walk->ids, &walk->id_capacity, walk->id_count, 1, sizeof *walk->ids);
        walk->ids[walk->id_count++] = node->id;
    }
    add_operands(walk, node);
    for (size_t i = 0; i < node->count; i++)
        find_places(walk, &node->children[i]);
}

static bool token_is(const struct stride_walk *walk, size_t at, const char *word)
{
    return at < walk->tokens.count &&
           rp_token_is(walk->source->text + walk->source->begin, &walk->tokens.list[at], word);
}

/** Says whether a token is a factor of a place, or all of it. */
static bool is_stride(const struct stride_walk *walk, size_t at, const struct place *place)
{
    const struct rp_token *token = &walk->tokens.list[at];
    const size_t begin = walk->source->begin + token->begin, end = walk->source->begin + token->end;
    const bool factor = (at > 0 && token_is(walk, at - 1, "*")) || token_is(walk, at + 1, "*");

    return begin >= place->begin && end <= place->end &&
           (factor || (!place->bounds && begin == place->begin && end == place->end));
}

/** Finds a stride's places. @return whether one is in bounds and another in an index */
static bool find_stride(const struct stride_walk *walk, const char *name,
                        struct rp_source_stride *ret)
{
    size_t capacity = 0;
    bool in_bounds = false, in_index = false;

    for (size_t i = 0; i < walk->tokens.count; i++) {
        bool found = false;

        for (size_t j = 0; token_is(walk, i, name) && j < walk->place_count; j++)
            if (is_stride(walk, i, &walk->places[j])) {
                found = true;
                in_bounds = in_bounds || walk->places[j].bounds;
                in_index = in_index || !walk->places[j].bounds;
            }
        if (!found)
            continue;
        rp_vec_grow(&ret->places, &capacity, ret->count, 1, sizeof *ret->places);
        ret->places[ret->count++] = walk->source->begin + walk->tokens.list[i].begin;
    }
    return in_bounds && in_index;
}

static bool is_known(const struct rp_kernel_source *source, const char *name)
{
    for (size_t i = 0; i < source->stride_count; i++)
        if (strcmp(source->strides[i].name, name) == 0)
            return true;
    return false;
}

static void find_strides(const struct rp_ast_node *function, struct rp_kernel_source *source)
{
    struct stride_walk walk = {.source = source};
    const char *text = source->text + source->begin;
    size_t capacity = 0;

    if (rp_tokens_read(text, source->end - source->begin, &walk.tokens, NULL) < 0)
        return;
    find_places(&walk, function);
    for (size_t i = 0; i < walk.tokens.count; i++) {
        const struct rp_token *token = &walk.tokens.list[i];
        struct rp_source_stride made = {0};

        if (token->kind != RP_TOKEN_IDENTIFIER)
            continue;
        made.name = rp_strndup(text + token->begin, token->end - token->begin);
        if (is_known(source, made.name) || !find_stride(&walk, made.name, &made)) {
            free(made.name);
            free(made.places);
            continue;
        }
        rp_vec_grow(&source->strides, &capacity, source->stride_count, 1, sizeof *source->strides);
        source->strides[source->stride_count++] = made;
    }
    rp_tokens_free(&walk.tokens);
    free(walk.ids);
    free(walk.places);
}

void rp_source_arrays_find(const struct rp_ast_node *function, struct rp_kernel_source *source)
{
    struct array_walk walk = {.function = function, .source = source};

    visit(&walk, function);
    find_strides(function, source);
}
