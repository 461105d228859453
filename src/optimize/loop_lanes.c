#include "optimize/loop_lanes.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "optimize/ast.h"
#include "optimize/loop_count.h"

/* Variables of variables of variables have no end otherwise. */
enum { MOST_DEPTH = 16, MOST_PARTS = 8 };

/** The terms of a sum, or the factors of a product. */
struct parts {
    const struct rp_ast_node *list[MOST_PARTS];
    size_t count;
    bool too_many;
};

static bool is_binary(const struct rp_ast_node *node, const char *opcode)
{
    return rp_ast_is(node, "BinaryOperator") && node->count == 2 && node->opcode &&
           strcmp(node->opcode, opcode) == 0;
}

/** Takes the first value of a local variable that keeps it in its place. */
static const struct rp_ast_node *resolved(const struct rp_ast_node *node,
                                          const struct rp_ast_node *function)
{
    for (int depth = 0; depth < MOST_DEPTH; depth++) {
        const struct rp_ast_node *variable;

        node = rp_ast_bare(node);
        variable = rp_ast_variable(node) ? rp_ast_declaration(function, node->ref_id) : NULL;
        if (!variable || variable->storage || variable->count != 1 ||
            rp_ast_is_reference(variable) || rp_ast_changes(function, variable->id))
            break;
        node = &variable->children[0];
    }
    return node;
}

static void add_parts(const struct rp_ast_node *node, const struct rp_ast_node *function,
                      const char *opcode, int depth, struct parts *parts)
{
    node = resolved(node, function);
    if (depth < MOST_DEPTH && is_binary(node, opcode)) {
        add_parts(&node->children[0], function, opcode, depth + 1, parts);
        add_parts(&node->children[1], function, opcode, depth + 1, parts);
    } else if (parts->count < MOST_PARTS) {
        parts->list[parts->count++] = node;
    } else {
        parts->too_many = true;
    }
}

const char *rp_outer_constant(const struct rp_ast_node *node, const struct rp_ast_node *function)
{
    node = rp_ast_bare(node);
    if (!rp_ast_is(node, "DeclRefExpr") || !node->ref_kind || !node->ref_type)
        return NULL;
    if (strcmp(node->ref_kind, "EnumConstantDecl") == 0)
        return node->ref_name;
    return strcmp(node->ref_kind, "VarDecl") == 0 && !rp_ast_is_index(node) &&
                   strncmp(node->ref_type, "const ", strlen("const ")) == 0 &&
                   !rp_ast_declaration(function, node->ref_id)
               ? node->ref_name
               : NULL;
}

static bool read_size(const struct rp_ast_node *node, const struct rp_ast_node *function,
                      struct rp_sharing_size *ret)
{
    struct rp_sharing_size size = {0};

    node = rp_ast_bare(node);
    if (rp_ast_is_index_of(node, "blockDim", 'x')) {
        size.text = "blockDim.x";
    } else if ((size.text = rp_outer_constant(node, function))) {
        size.name = node->ref_id;
    } else if (!rp_constant(node, function, &size.number) || size.number <= 0) {
        return false;
    }
    *ret = size;
    return true;
}

static bool is_same_size(const struct rp_sharing_size *a, const struct rp_sharing_size *b)
{
    return a->number == b->number && a->name == b->name;
}

/** Reads gridDim.x * blockDim.x, or blockIdx.x * blockDim.x. */
static bool read_product(const struct rp_ast_node *node, const char *index,
                         const struct rp_ast_node *function, struct rp_sharing_size *ret)
{
    struct parts factors = {0};

    add_parts(node, function, "*", 0, &factors);
    if (factors.count != 2 || factors.too_many)
        return false;
    for (size_t i = 0; i < 2; i++)
        if (rp_ast_is_index_of(factors.list[i], index, 'x'))
            return read_size(factors.list[1 - i], function, ret);
    return false;
}

static bool is_work_item(const struct rp_ast_node *node, const struct rp_ast_node *function)
{
    return rp_ast_is_index_of(resolved(node, function), "threadIdx", 'x');
}

/** Reads threadIdx.x % 64, and threadIdx.x & 63 for it. */
static bool read_group(const struct rp_ast_node *node, const struct rp_ast_node *function,
                       struct rp_sharing_size *ret)
{
    const bool mask = is_binary(node, "&");

    if ((!mask && !is_binary(node, "%")) || !is_work_item(&node->children[0], function) ||
        !read_size(resolved(&node->children[1], function), function, ret) ||
        (mask && ret->number == 0))
        return false;
    ret->number += mask;
    return ret->number <= 1024 && (!mask || (ret->number & (ret->number - 1)) == 0);
}

static bool read_step(const struct rp_ast_node *step, struct rp_loop_lanes *ret)
{
    ret->kind = RP_SHARED_BY_GRID;
    if (read_product(step, "gridDim", ret->function, &ret->size))
        return true;
    ret->kind = RP_SHARED_BY_WORKGROUP;
    return read_size(resolved(step, ret->function), ret->function, &ret->size);
}

bool rp_loop_lanes_find(const struct rp_ast_node *function, const struct rp_ast_node *loop,
                        const struct rp_ast_node *start, const struct rp_ast_node *step,
                        struct rp_loop_lanes *ret)
{
    struct rp_loop_lanes lanes = {.function = function, .loop = loop};
    unsigned work_items = 0, workgroups = 0, groups = 0;
    const struct rp_ast_node *others[MOST_PARTS];
    struct parts terms = {0};
    size_t other_count = 0;

    add_parts(start, function, "+", 0, &terms);
    if (terms.too_many || !read_step(step, &lanes))
        return false;
    for (size_t i = 0; i < terms.count; i++) {
        const struct rp_ast_node *term = terms.list[i];
        struct rp_sharing_size size;

        if (is_work_item(term, function))
            work_items++;
        else if (lanes.kind == RP_SHARED_BY_GRID &&
                 read_product(term, "blockIdx", function, &size) &&
                 is_same_size(&size, &lanes.size))
            workgroups++;
        else if (read_group(term, function, &size) && is_same_size(&size, &lanes.size))
            groups++;
        else
            others[other_count++] = term;
    }
    if (groups == 1 && work_items == 0 && lanes.kind == RP_SHARED_BY_WORKGROUP)
        lanes.kind = RP_SHARED_BY_GROUP;
    else if (groups != 0 || work_items != 1 || workgroups != (lanes.kind == RP_SHARED_BY_GRID))
        return false;
    lanes.offset = other_count > 0;
    for (size_t i = 0; i < other_count; i++)
        if (!rp_is_same_in_lanes(&lanes, others[i]))
            return false;
    *ret = lanes;
    return true;
}

static bool is_same(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node, int depth);

/** A counter of a loop has the same values in all lanes if it begins and goes on alike. */
static bool is_same_counter(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node,
                            uint64_t counter, int depth)
{
    if (rp_ast_is(node, "ForStmt") && node->count == RP_FOR_CHILDREN &&
        rp_ast_declaration(&node->children[RP_FOR_INIT], counter))
        return rp_loop_count(node, lanes->function).counted &&
               rp_ast_changes(&node->children[RP_FOR_STEP], counter) &&
               is_same(lanes, rp_ast_child(rp_ast_declaration(node, counter), 0), depth) &&
               is_same(lanes, rp_ast_child(&node->children[RP_FOR_STEP], 1), depth);
    for (size_t i = 0; i < node->count; i++)
        if (is_same_counter(lanes, &node->children[i], counter, depth))
            return true;
    return false;
}

static bool is_same_variable(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node,
                             int depth)
{
    const struct rp_ast_node *found = rp_ast_declaration(lanes->function, node->ref_id);
    bool shared = false;

    if (rp_ast_declaration(lanes->loop, node->ref_id))
        return true;
    if (!found) /* a parameter, or of the file */
        return !rp_ast_changes(lanes->function, node->ref_id);
    for (size_t i = 0; i < found->count; i++)
        shared |= rp_ast_is(&found->children[i], "CUDASharedAttr");
    if (shared || found->constant)
        return true;
    if (depth >= MOST_DEPTH || rp_ast_is_reference(found) || strchr(rp_ast_type(found), '['))
        return false;
    if (rp_ast_changes(lanes->function, found->id))
        return is_same_counter(lanes, lanes->function, found->id, depth + 1);
    return found->count == 1 && is_same(lanes, &found->children[0], depth + 1);
}

bool rp_is_group_number(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node)
{
    const bool shift = is_binary(node, ">>");
    struct rp_sharing_size size;

    if (lanes->kind != RP_SHARED_BY_GROUP || (!shift && !is_binary(node, "/")) ||
        !is_work_item(&node->children[0], lanes->function) ||
        !read_size(resolved(&node->children[1], lanes->function), lanes->function, &size))
        return false;
    if (shift && (size.number == 0 || size.number > 10))
        return false;
    if (shift)
        size.number = (int64_t)1 << size.number;
    return is_same_size(&size, &lanes->size);
}

/** A call without arguments may ask for the lane or the time, as may the compiler's own functions,
 * and what a function finds behind a pointer (atomics) is not known. */
static bool may_be_same_call(const struct rp_ast_node *call)
{
    const char *name = rp_ast_callee(rp_ast_call_target(call));

    for (size_t i = 1; i < call->count; i++)
        if (rp_ast_is_pointer(&call->children[i]))
            return false;
    return call->count > 1 && name && strncmp(name, "__", 2) != 0;
}

static bool is_same(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node, int depth)
{
    if (rp_is_group_number(lanes, node))
        return true;
    if (rp_ast_is(node, "PseudoObjectExpr") || rp_ast_is(node, "MemberExpr")) {
        if (rp_ast_is_index_of(node, "threadIdx", 'x'))
            return false;
        if (rp_ast_is_index_of(node, "blockIdx", 'x'))
            return lanes->kind != RP_SHARED_BY_GRID;
        if (rp_ast_is(node, "PseudoObjectExpr"))
            return rp_ast_is_index(node);
    }
    if (rp_ast_call_target(node) && !may_be_same_call(node))
        return false;
    if (rp_ast_is(node, "DeclRefExpr") && rp_ast_variable(node) && !rp_ast_is_index(node) &&
        !is_same_variable(lanes, node, depth))
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (!is_same(lanes, &node->children[i], depth))
            return false;
    return true;
}

bool rp_is_same_in_lanes(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node)
{
    return is_same(lanes, node, 0);
}

static void add_size(const struct rp_sharing_size *size, struct rp_buf *out)
{
    if (size->text)
        rp_buf_puts(out, size->text);
    else
        rp_buf_printf(out, "%" PRId64, size->number);
}

void rp_add_lane(const struct rp_loop_lanes *lanes, struct rp_buf *out)
{
    if (lanes->kind == RP_SHARED_BY_WORKGROUP) {
        rp_buf_puts(out, "threadIdx.x");
        return;
    }
    rp_buf_puts(out, lanes->kind == RP_SHARED_BY_GROUP ? "(threadIdx.x % " : "(blockIdx.x * ");
    add_size(&lanes->size, out);
    rp_buf_puts(out, lanes->kind == RP_SHARED_BY_GROUP ? ")" : " + threadIdx.x)");
}
