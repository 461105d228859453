/* Earlier results as a start: which configurations of a space they are, and in which order. */
#include "tune/recorded_space.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/path.h"
#include "tune/space.h"

#include "unit/tune/made_space.h"

static char folder[] = "/tmp/rp-import-XXXXXX";
static char *path;
static struct rp_space *space; /* A = 1 to 12 */

static int set_up(void **state)
{
    static const int numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

    (void)state;
    if (!mkdtemp(folder) || !(path = rp_path_join(folder, "recorded.json")))
        return -1;
    space = rp_space_new();
    made_parameter(space, "A", numbers, 12);
    made_product(space);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rp_space_free(space);
    free(path);
    rp_remove_tree(folder);
    return 0;
}

struct row {
    int a, b;
    double ms;
};

static void record(const struct row *rows, size_t count)
{
    struct rp_buf text = {0};
    struct rp_err err = RP_ERR_INIT;

    rp_buf_puts(&text,
                "{\"name\":\"x\",\"device\":\"d\",\"parameters\":[\"A\",\"B\"],\"configs\":[");
    for (size_t i = 0; i < count; i++)
        rp_buf_printf(&text, "%s{\"A\":%d,\"B\":%d,\"runtime_ms\":%g}", i ? "," : "", rows[i].a,
                      rows[i].b, rows[i].ms);
    rp_buf_puts(&text, "]}");
    assert_int_equal(rp_write_file(path, text.data, text.len, &err), 0);
    rp_buf_free(&text);
}

static void check(size_t known, const int *wanted, size_t count)
{
    struct rp_imported imported;
    struct rp_err err = RP_ERR_INIT;

    if (rp_import(path, space, &imported, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(imported.known, known);
    assert_int_equal(imported.fastest_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rp_space_value(space, imported.fastest[i], 0)->integer, wanted[i]);
    rp_imported_free(&imported);
}

/* The space has no B: 5, 6 and 7 are three configurations, and each is run once. */
static void rows_of_one_configuration_count_once(void **state)
{
    static const struct row rows[] = {{5, 1, 1.5}, {6, 1, 1.6}, {7, 1, 1.7}, {5, 2, 2.5},
                                      {6, 2, 2.6}, {7, 2, 1.4}, {5, 3, 3.5}, {99, 1, 0.1}};

    (void)state;
    record(rows, sizeof rows / sizeof *rows);
    check(3, (const int[]){7, 5, 6}, 3);
}

static void the_ten_fastest(void **state)
{
    struct row rows[24];

    (void)state;
    for (int i = 0; i < 24; i++)
        rows[i] = (struct row){i % 12 + 1, i / 12, 12 - i % 12 + 0.25 * (i / 12)};
    record(rows, 24);
    check(12, (const int[]){12, 11, 10, 9, 8, 7, 6, 5, 4, 3}, 10);
}

static void another_space_is_named(void **state)
{
    static const struct row rows[] = {{99, 1, 1}};
    struct rp_imported imported;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    record(rows, 1);
    assert_int_equal(rp_import(path, space, &imported, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "no configuration that ran there is in this space"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_one_configuration_count_once),
        cmocka_unit_test(the_ten_fastest),
        cmocka_unit_test(another_space_is_named),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
