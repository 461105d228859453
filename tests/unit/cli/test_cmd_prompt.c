/* What prompt prints of kernels that JSON cannot name. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "unit/cmocka_all.h"

#include "cli/cmd_prompt.c"

static void a_name_that_is_no_utf8(void **state)
{
    char text[] = "__global__ void k() {}", name[] = "k", symbol[] = "k\xff", path[] = "/k.hip";
    const struct rp_kernel_source source = {.path = path,
                                            .text = text,
                                            .bytes = sizeof text - 1,
                                            .name = name,
                                            .symbol = symbol,
                                            .end = sizeof text - 1,
                                            .body_begin = sizeof text - 3,
                                            .body_end = sizeof text - 1,
                                            .line = 1};
    const struct rp_prompt_cli choice = {.json = true, .allow = -1, .max_tokens = 100000};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(print_prompt(&choice, &source, "gfx942", NULL, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "the name of the kernel is not UTF-8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_name_that_is_no_utf8)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
