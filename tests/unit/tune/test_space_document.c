/* The examples of docs/format/search-space.md give what stands behind them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "tune/space.h"
#include "tune/space_file.h"
#include "unit/cmocka_all.h"

/** @param says  what stands behind the example */
static void check(const char *example, size_t bytes, const char *says)
{
    struct rp_space *space = NULL;
    struct rp_err err = RP_ERR_INIT;
    const int rc = rp_space_parse(example, bytes, NULL, NULL, &space, NULL, &err);
    const char *expected;
    char count[80];

    if (strncmp(says, "gives ", 6) == 0) {
        if (rc < 0)
            fail_msg("%.60s…: %s", example, err.text);
        snprintf(count, sizeof count, "gives %zu configurations.", space->count);
        if (strncmp(says, count, strlen(count)) != 0)
            fail_msg("%.60s…: %s", example, count);
        rp_space_free(space);
        return;
    }
    assert_int_equal(strncmp(says, "fails: ", 7), 0);
    assert_int_equal(rc, -RP_BAD_INPUT);
    expected = says + 7;
    if (strncmp(err.text, expected, strcspn(expected, "\n")) != 0)
        fail_msg("%.60s…: %s", example, err.text);
}

static void examples(void **state)
{
    static const char begin[] = "\n```json\n", end[] = "\n```\n";
    rp_autofree char *path =
        rp_path_join(getenv("RP_TEST_DATA"), "../../docs/format/search-space.md");
    rp_autofree char *text = rp_read_text(path, 1 << 20);
    const char *at = text;
    int count = 0;

    (void)state;
    assert_non_null(text);
    while ((at = strstr(at, begin))) {
        const char *example = at + sizeof begin - 1, *behind = strstr(example, end);

        assert_non_null(behind);
        at = behind + sizeof end - 1;
        check(example, (size_t)(behind - example), at);
        count++;
    }
    assert_int_equal(count, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
