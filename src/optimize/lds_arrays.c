/* Finds the arrays of a kernel in LDS whose rows may become longer without any other change of its
 * text. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"
#include "optimize/ast.h"
#include "optimize/kernel_source.h"

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
    unsigned bounds;
    size_t all, whole; /**< where it is named; where one element of it is meant */
};

static void count_uses(const struct rp_ast_node *node, struct uses *uses)
{
    const bool address =
        rp_ast_is(node, "UnaryOperator") && node->opcode && strcmp(node->opcode, "&") == 0;

    uses->all += rp_ast_is(node, "DeclRefExpr") && node->ref_id == uses->id;
    uses->whole += indices(node, uses->id) == uses->bounds;
    /* Who has the address of an element may go on to the next row. */
    if (address && node->count && indices(&node->children[0], uses->id))
        uses->all++;
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
    if (array->row % 2)
        return "its rows begin on different banks";
    if (!find_bound(walk->source, node, array))
        return "its last bound does not stand in the kernel's text";
    count_uses(walk->function, &uses);
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

void rp_source_arrays_find(const struct rp_ast_node *function, struct rp_kernel_source *source)
{
    struct array_walk walk = {.function = function, .source = source};

    visit(&walk, function);
}
