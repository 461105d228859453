/* What may be asked for with --check. */
#include "run/check_run.h"

#include <string.h>

#include "base/err.h"
#include "unit/cmocka_all.h"

static void each_word_once(void **state)
{
    static const struct {
        const char *text;
        const char *why; /**< NULL: it may be asked for */
    } cases[] = {
        {"races", NULL},
        {"waits,bounds,uninit,races", NULL},
        {"", "use races"},
        {"race", "use races"},
        {"races,", "use races"},
        {"races,races", "races is there twice"},
        {"races,bounds,waits,uninit,bounds", "bounds is there twice"},
        {"races,races,races,races,races,races,races,races", "races is there twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rp_err err = RP_ERR_INIT;
        const int rc = rp_check_words("--check", cases[i].text, &err);

        assert_int_equal(rc, cases[i].why ? -RP_USAGE : 0);
        if (cases[i].why)
            assert_non_null(strstr(err.text, cases[i].why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
