/* The levels of the CPU, against what the kernel says of it. */
#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpu.h"
#include "base/path.h"

static char *flags_of_kernel(void)
{
    rp_autofree char *text = rp_read_text("/proc/cpuinfo", 1 << 20);
    const char *flags = text ? strstr(text, "\nflags") : NULL;

    return flags ? strndup(flags + 1, strcspn(flags + 1, "\n")) : NULL;
}

static bool has_all(const char *flags, const char *const *names)
{
    for (; *names; names++) {
        char word[32];

        snprintf(word, sizeof word, " %s ", *names);
        if (!strstr(flags, word))
            return false;
    }
    return true;
}

/* abm is the kernel's name for lzcnt; what it does not save it does not list. */
static void levels_are_those_of_the_kernel(void **state)
{
    static const char *const v3[] = {"avx", "avx2",  "bmi1", "bmi2", "f16c",
                                     "fma", "movbe", "abm",  NULL};
    static const char *const v4[] = {"avx512f",  "avx512bw", "avx512cd",
                                     "avx512dq", "avx512vl", NULL};
    rp_autofree char *line = flags_of_kernel();
    rp_autofree char *flags = NULL;

    (void)state;
    if (!line)
        skip();
    assert_true(asprintf(&flags, "%s ", line) > 0);
    assert_int_equal(rp_cpu_has_v3(), has_all(flags, v3));
    assert_int_equal(rp_cpu_has_v4(), has_all(flags, v3) && has_all(flags, v4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_are_those_of_the_kernel)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
