/* What run --check says of all that was found. */
#include "report/check_report.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "trace/check_file.h"
#include "unit/cmocka_all.h"

static void what_was_not_compared_is_not_clean(void **state)
{
    static const struct {
        uint64_t not_compared;
        int exit_status;
        const char *verdict, *line; /**< NULL: there is no such line */
    } cases[] = {
        {0, 0, "clean", NULL},
        {0, 1, "incomplete", NULL},
        {1, 0, "incomplete", "not all is checked: 1 time there was no room"},
        {7, 0, "incomplete", "not all is checked: 7 times there was no room"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_check_results results = {.processes = 1,
                                                 .not_compared = cases[i].not_compared};
        rp_autobuf text = {0}, json = {0}, verdict = {0};

        rp_check_print(&results, "races", cases[i].exit_status, &text);
        rp_check_json(&results, "races", cases[i].exit_status, &json);
        rp_buf_printf(&verdict, "\"verdict\": \"%s\"", cases[i].verdict);
        assert_non_null(strstr(rp_buf_text(&json), rp_buf_text(&verdict)));
        if (cases[i].line)
            assert_non_null(strstr(rp_buf_text(&text), cases[i].line));
        else
            assert_null(strstr(rp_buf_text(&text), "not all is checked"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_compared_is_not_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
