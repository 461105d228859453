/* Lists of triton.Config and tables of tuned kernels: what is read, what is refused, what is
 * written. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "tune/space.h"

#include "cmocka_all.h"

#include "tune/tuned_table.c"

static json_t *triton(const char *text, unsigned long at)
{
    struct rp_err err = RP_ERR_INIT;
    json_t *list = NULL;

    if (rp_triton_parse(text, strlen(text), at, &list, &err) < 0)
        fail_msg("%s", err.text);
    return list;
}

static void is(json_t *list, const char *expected)
{
    json_t *wanted = json_loads(expected, 0, NULL);
    char *text = json_dumps(list, JSON_SORT_KEYS);

    if (!json_equal(list, wanted))
        fail_msg("%s", text);
    free(text);
    json_decref(wanted);
    json_decref(list);
}

static void configs_of_triton(void **state)
{
    (void)state;
    is(triton("import triton\n"
              "# triton.Config({'NOT': 1})\n"
              "\"\"\"triton.Config({'NOR': 1})\"\"\"\n"
              "@triton.autotune(\n"
              "    configs=[\n"
              "        triton.Config({'BLOCK_M': 128, \"GROUP\": 8}, num_stages=2, num_warps=8),\n"
              "        triton.Config(kwargs={'BLOCK_M': 64, 'waves_per_eu': 2,}, num_warps=4,\n"
              "                      pre_hook=lambda a: f(a, [1, 2]), maxnreg=None),\n"
              "        Config(dict(BLOCK_M=-1, FAST=True, KIND='a\\'b', F=0.5), 4, 3),\n"
              "        Config(dict(BLOCK_M=-1, FAST=True, KIND='a\\'b', F=0.5), 4, 3),  # again\n"
              "    ],\n"
              "    key=['M', 'N'])\n"
              "@triton.jit\n"
              "def kernel(x): pass\n",
              0),
       "[{\"BLOCK_M\": 128, \"GROUP\": 8, \"num_stages\": 2, \"num_warps\": 8},"
       " {\"BLOCK_M\": 64, \"waves_per_eu\": 2, \"num_warps\": 4},"
       " {\"BLOCK_M\": -1, \"FAST\": true, \"KIND\": \"a'b\", \"F\": 0.5, \"num_warps\": 4,"
       "  \"num_stages\": 3}]");
    is(triton("configs = [Config({})]", 0), "[{}]");
}

static void one_list_of_several(void **state)
{
    static const char text[] = "@autotune(configs=[Config({'A': 1})])\n"
                               "def f(): pass\n"
                               "@autotune(configs=[Config({'A': 2}), Config({'A': 3})])\n"
                               "def g(): pass\n";
    struct rp_err err = RP_ERR_INIT;
    json_t *list;

    (void)state;
    is(triton(text, 1), "[{\"A\": 1}]");
    is(triton(text, 2), "[{\"A\": 1}]");
    is(triton(text, 4), "[{\"A\": 2}, {\"A\": 3}]");
    assert_int_equal(rp_triton_parse(text, strlen(text), 0, &list, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "it has 2 lists of triton.Config, in lines 1, 3: say which"));
}

static void what_is_no_list(void **state)
{
    static const struct {
        const char *text, *says;
    } refused[] = {
        {"x = 1", "there is no triton.Config(...) in it"},
        {"class Config(dict): pass", "there is no triton.Config(...) in it"},
        {"\n\nConfig({'A': N})", "line 3: a value that is a name or a call; write it out"},
        {"Config({'A': 2 * 3})", "line 1: a value that is an expression"},
        {"Config({'A': 1}, num_warps=w)", "a value that is a name or a call"},
        {"Config({A: 1})", "a name of a parameter that is no string"},
        {"Config(x)", "a Config without a dictionary"},
        {"Config({'A': 1, 'A': 2})", "the same name twice"},
        {"Config({'A': 0x10})", "neither a number"},
        {"Config({'A': 'b\n'})", "a string that does not end"},
        {"Config({'A': 1", "a value that is an expression"},
        {"Config({}, 1, 2, 3, 4, 5)", "too many arguments"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct rp_err err = RP_ERR_INIT;
        json_t *list;

        if (rp_triton_parse(refused[i].text, strlen(refused[i].text), 0, &list, &err) !=
            -RP_BAD_INPUT)
            fail_msg("%s: not refused", refused[i].text);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: %s", refused[i].text, err.text);
    }
}

/** kernelId 3, 7 and splitK 0, 2. */
static struct rp_space *kernels(void)
{
    static const struct rp_value ids[] = {{.kind = RP_VALUE_INTEGER, .integer = 3},
                                          {.kind = RP_VALUE_INTEGER, .integer = 7}},
                                 splits[] = {{.kind = RP_VALUE_INTEGER, .integer = 0},
                                             {.kind = RP_VALUE_INTEGER, .integer = 2}};
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_space_add_parameter(space, "kernelId", ids, 2, &err), 0);
    assert_int_equal(rp_space_add_parameter(space, "splitK", splits, 2, &err), 0);
    for (uint16_t i = 0; i < 4; i++)
        assert_int_equal(rp_space_add(space, (uint16_t[]){i / 2, i % 2}, &err), 0);
    return space;
}

#define HEAD "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n"
#define ROW  "gfx942,304,16,4096,512,ck,3,2,10.5,\"name,3\",6.39,410.2,0.0\n"
#define MORE "gfx942,304,32,4096,512,ck,7,0,11.5,name7,6.39,410.2,0.0"
static const char shape[] = "gfx=gfx942,cu_num=304,M=16,N=4096,K=512";

static int read_text(const char *text, const char *of, const struct rp_space *space,
                     struct rp_tuned_table *ret, struct rp_err *err)
{
    *ret = (struct rp_tuned_table){.path = rp_strdup("table.csv")};
    rp_buf_puts(&ret->text, text);
    return tuned_table_parse(ret, of, space, err);
}

static void rows_of_a_table(void **state)
{
    struct rp_space *space = kernels();
    struct rp_err err = RP_ERR_INIT;
    struct rp_tuned_table table;
    rp_autobuf same = {0}, other = {0}, added = {0};

    (void)state;
    assert_int_equal(read_text(HEAD ROW MORE, shape, space, &table, &err), 0);
    assert_non_null(table.row);
    take_first(&table, space);
    assert_true(table.first_count == 1 && table.first[0] == 1);
    put_table(&table, space, 1, 5, &same);
    assert_string_equal(rp_buf_text(&same),
                        HEAD "gfx942,304,16,4096,512,ck,3,2,5.0000,\"name,3\",13.42,,\n" MORE);
    /* Another kernel has another name, which nobody knows here. */
    put_table(&table, space, 2, 5, &other);
    assert_string_equal(rp_buf_text(&other),
                        HEAD "gfx942,304,16,4096,512,ck,7,0,5.0000,,13.42,,\n" MORE);
    rp_tuned_table_free(&table);
    /* Of a shape that is not there a row is added, behind a last one without a newline. */
    assert_int_equal(
        read_text(HEAD MORE, "gfx=gfx942,cu_num=304,M=1,N=8,K=8,libtype=asm", space, &table, &err),
        0);
    assert_true(!table.row && table.first_count == 0);
    put_table(&table, space, 0, 2, &added);
    assert_string_equal(rp_buf_text(&added),
                        HEAD MORE "\ngfx942,304,1,8,8,asm,3,0,2.0000,,0.00,,\n");
    rp_tuned_table_free(&table);
    rp_space_free(space);
}

static void mistakes_of_a_table(void **state)
{
    static const struct {
        const char *text, *shape, *says;
        int code;
    } refused[] = {
        {"", shape, "it is empty: begin it with the names of the columns", RP_BAD_INPUT},
        {"a,b\n1,2\n", shape, "line 1: no column is called us", RP_BAD_INPUT},
        {"M,,us\n", shape, "line 1: a column has no name", RP_BAD_INPUT},
        {HEAD ROW "1,2\n", shape, "line 3: 2 fields in place of 13", RP_BAD_INPUT},
        {HEAD ROW, "M=16,N=4096,K=512", "has these columns as well: gfx,cu_num", RP_USAGE},
        {HEAD ROW, "M=16,X=1", "table.csv has no column X", RP_USAGE},
        {HEAD ROW, "M=16,us=1", "us is measured, not part of the shape", RP_USAGE},
        {HEAD ROW, "splitK=1", "splitK is a parameter of the space", RP_USAGE},
        {HEAD ROW, "M", "use COLUMN=VALUE", RP_USAGE},
        {"M,us\n", "M=1", "none of its columns is a parameter", RP_USAGE},
    };
    struct rp_space *space = kernels();

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_tuned_table table;

        assert_int_equal(read_text(refused[i].text, refused[i].shape, space, &table, &err),
                         -refused[i].code);
        if (!strstr(err.text, refused[i].says))
            fail_msg("%s: %s", refused[i].says, err.text);
        rp_tuned_table_free(&table);
    }
    rp_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configs_of_triton),   cmocka_unit_test(one_list_of_several),
        cmocka_unit_test(what_is_no_list),     cmocka_unit_test(rows_of_a_table),
        cmocka_unit_test(mistakes_of_a_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
