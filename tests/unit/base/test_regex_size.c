/* What a regular expression becomes, before regcomp makes it. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/regex_size.h"

#include "unit/cmocka_all.h"

static char *many(const char *piece, size_t count)
{
    const size_t bytes = strlen(piece);
    char *text = malloc(bytes * count + 1);

    assert_non_null(text);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * bytes, piece, bytes);
    text[bytes * count] = '\0';
    return text;
}

static void parts(void **state)
{
    static const struct {
        const char *text;
        size_t parts;
    } rows[] = {
        {"", 0},           {"abc", 3},          {"^gemm\\(int\\)$", 1},
        {"^gemm.*", 7},    {"[a-z]", 1},        {"[]a]b", 2},
        {"[^]a]b", 2},     {"[[:alpha:]]b", 2}, {"a{3}", 4},
        {"a{1,100}", 101}, {"a{100,}", 102},    {"a{,7}", 8},
        {"a{x}", 4},   /* no repetition */
        {"a\\{9}", 4}, /* nor this */
        {"a+", 3},     /* made as aa* */
        {"(ab){2}", 7},    {"(a|b)", 4},        {"((", 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rp_regex_parts(rows[i].text) != rows[i].parts)
            fail_msg("%s: %zu", rows[i].text, rp_regex_parts(rows[i].text));
}

static void too_large_ones_are_refused(void **state)
{
    static const char *const rows[] = {
        "((a{1,255}){1,255}){1,255}",
        "a{1,255}{1,255}{1,255}",
        "a{32767}",
        "a{99999999999999999999}",
        "a{0,32767}",
        "a{32767,}",
        "(a|b{1,200}){1,200}",
        "(((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+", /* each + is two */
        "a++++++++++++++++++++++++",
    };
    char *deep = many("(", 300), *wide = many("a|", 3000), *long_one = many("a", 70000);
    char *name = many("a", 9000);
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rp_regex_check_size("--kernel", rows[i], &err) != -RP_USAGE)
            fail_msg("%s", rows[i]);
        assert_non_null(strstr(err.text, "--kernel"));
        assert_non_null(strstr(err.text, "too large"));
    }
    assert_int_equal(rp_regex_check_size("x", deep, &err), -RP_USAGE);
    assert_int_equal(rp_regex_check_size("x", wide, &err), -RP_USAGE);
    assert_int_equal(rp_regex_check_size("x", long_one, &err), -RP_USAGE);
    assert_int_equal(rp_regex_check_size("x", name, &err), -RP_USAGE);
    name[0] = '^'; /* the whole of a long name is one place */
    assert_int_equal(rp_regex_check_size("x", name, &err), 0);
    free(deep);
    free(wide);
    free(long_one);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts),
        cmocka_unit_test(too_large_ones_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
