/* Versions are ordered as dpkg --compare-versions orders them. */
#include "setup/debian_archive.h"

#include "unit/cmocka_all.h"

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void versions(void **state)
{
    /* Each is below the next one. */
    static const char *const ordered[] = {"1.0~~",
                                          "1.0~~a",
                                          "1.0~",
                                          "1.0",
                                          "1.0-0a",
                                          "1.0-1",
                                          "1.0-1+b1",
                                          "1.0-1+b2",
                                          "1.0-10",
                                          "1.0a",
                                          "1.0+1",
                                          "1.0.1",
                                          "1.9",
                                          "1.10",
                                          "1.10.0~rc1",
                                          "1.10.0",
                                          "7.2.4~rc1+dfsg-1",
                                          "7.2.4+dfsg-1~exp1",
                                          "7.2.4+dfsg-1",
                                          "1:0~",
                                          "1:0.1",
                                          "2:0"};
    static const char *const equal[][2] = {
        {"1.0", "0:1.0"}, {"1.0", "1.0-0"}, {"1.01", "1.1"}, {"1", "1"}};
    const size_t count = sizeof ordered / sizeof *ordered;

    (void)state;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (sign(rp_debian_version_compare(ordered[i], ordered[j])) != sign((int)i - (int)j))
                fail_msg("%s and %s", ordered[i], ordered[j]);
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        assert_int_equal(rp_debian_version_compare(equal[i][0], equal[i][1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(versions)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
