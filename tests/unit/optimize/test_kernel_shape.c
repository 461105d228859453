/* Trees that no compiler makes, or nobody writes: what they lack is not used, and they come to an
 * end.
 */
#include "unit/cmocka_all.h"

#include "base/err.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/kernel_source.h"

#include "optimize/kernel_source.c"

enum { CHAIN = 30 };

static struct rp_ast_node reference(uint64_t id)
{
    return (struct rp_ast_node){
        .kind = "DeclRefExpr", .ref_kind = "VarDecl", .ref_name = "v", .type = "int", .ref_id = id};
}

static struct rp_ast_node literal(const char *value)
{
    return (struct rp_ast_node){.kind = "IntegerLiteral", .type = "int", .value = value};
}

/** c[0] = 0, c[1] = c[0] + c[0], c[2] = c[1] + c[1], ... */
struct chain {
    struct rp_ast_node declarations[CHAIN], values[CHAIN], operands[CHAIN][2];
};

static void make_chain(struct chain *chain)
{
    for (size_t i = 0; i < CHAIN; i++) {
        chain->operands[i][0] = chain->operands[i][1] = reference(i);
        chain->values[i] = (struct rp_ast_node){.kind = "BinaryOperator",
                                                .opcode = "+",
                                                .type = "int",
                                                .children = chain->operands[i],
                                                .count = 2};
        chain->declarations[i] = (struct rp_ast_node){.kind = "VarDecl",
                                                      .name = "v",
                                                      .type = "const int",
                                                      .id = i + 1,
                                                      .children = &chain->values[i],
                                                      .count = 1};
    }
    chain->values[0] = literal("0");
}

/** for (int i = 0; i < bound; i++) {} */
static struct rp_loop_count count_to(struct rp_ast_node bound, struct rp_ast_node *declarations,
                                     size_t count)
{
    struct rp_ast_node zero = literal("0"), counter = reference(99),
                       variable = {.kind = "VarDecl", .id = 99, .children = &zero, .count = 1},
                       sides[2] = {counter, bound};
    struct rp_ast_node parts[5] = {
        {.kind = "DeclStmt", .children = &variable, .count = 1},
        {0},
        {.kind = "BinaryOperator", .opcode = "<", .children = sides, .count = 2},
        {.kind = "UnaryOperator", .opcode = "++", .children = &counter, .count = 1},
        {.kind = "CompoundStmt"},
    };
    const struct rp_ast_node loop = {.kind = "ForStmt", .children = parts, .count = 5},
                             function = {
                                 .kind = "FunctionDecl", .children = declarations, .count = count};

    return rp_loop_count(&loop, &function);
}

static void constants_of_constants_come_to_an_end(void **state)
{
    static struct chain chain;
    struct rp_loop_count count;

    (void)state;
    make_chain(&chain);
    count = count_to(reference(4), chain.declarations, CHAIN);
    assert_true(count.counted && count.known);
    assert_int_equal(count.trips, 0);
    count = count_to(reference(CHAIN), chain.declarations, CHAIN);
    assert_true(count.counted);
    assert_false(count.known);
}

static void the_least_number_has_no_negative(void **state)
{
    struct rp_ast_node least = literal("-9223372036854775808");
    const struct rp_ast_node minus = {
        .kind = "UnaryOperator", .opcode = "-", .children = &least, .count = 1};

    (void)state;
    assert_false(count_to(minus, NULL, 0).known);
}

static struct rp_kernel_shape *shape_of(struct rp_ast_node *statements, size_t count)
{
    struct rp_ast_node body = {.kind = "CompoundStmt", .children = statements, .count = count};
    const struct rp_ast_node function = {
        .kind = "FunctionDecl", .mangled = "_Z1kv", .children = &body, .count = 1};
    const struct rp_ast_node *functions[] = {&function};

    return rp_kernel_shape_make(functions, 1, 0);
}

static void an_assignment_may_lack_its_operator(void **state)
{
    struct rp_ast_node pointer = {.kind = "DeclRefExpr", .type = "int *"};
    struct rp_ast_node target = {.kind = "UnaryOperator",
                                 .opcode = "*",
                                 .type = "int",
                                 .lvalue = true,
                                 .children = &pointer,
                                 .count = 1},
                       sides[2] = {target, literal("1")},
                       statement = {.kind = "CompoundAssignOperator",
                                    .type = "int",
                                    .children = sides,
                                    .count = 2};

    (void)state;
    rp_kernel_shape_free(shape_of(&statement, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_assignment_may_lack_its_operator),
        cmocka_unit_test(constants_of_constants_come_to_an_end),
        cmocka_unit_test(the_least_number_has_no_negative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
