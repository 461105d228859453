/* All unit tests of one room in one program. Each of their main() has another name there
 * (tests/CMakeLists.txt); which of them runs is said by the name that this program is started by,
 * or by its first argument. */
#include <stdio.h>
#include <string.h>

#define RP_TEST(name) int rp_test_##name##_main(int argc, char **argv);
#include "unit_tests.def"
#undef RP_TEST

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} tests[] = {
#define RP_TEST(name) {"test_" #name, rp_test_##name##_main},
#include "unit_tests.def"
#undef RP_TEST
};

enum { TESTS = sizeof tests / sizeof tests[0], PREFIX = sizeof "test_" - 1 };

/** @return its number, or -1 */
static int find(const char *name)
{
    for (int i = 0; i < TESTS; i++)
        if (strcmp(tests[i].name, name) == 0 || strcmp(tests[i].name + PREFIX, name) == 0)
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    int test = argc ? find(slash ? slash + 1 : argv[0]) : -1;

    if (test < 0 && argc > 1 && (test = find(argv[1])) >= 0) {
        argc--;
        argv++;
    }
    if (test >= 0)
        return tests[test].run(argc, argv);
    fprintf(stderr, "usage: %s TEST [ARGS]\nTEST is one of", argc ? argv[0] : "unit");
    for (int i = 0; i < TESTS; i++)
        fprintf(stderr, " %s", tests[i].name + PREFIX);
    fputc('\n', stderr);
    return 2;
}
