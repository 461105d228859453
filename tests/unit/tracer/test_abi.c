/**
 * @file test_abi.c
 * @brief Compiles check_abi.cpp and check_hip_abi.cpp with the ROCm headers in use: our copy of the
 *        ABI must agree.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/cmocka_all.h"

/* The ROCm compiler if it is there (clang of the prefix, or of an installed ROCm), else c++. */
static int find_compiler(const char *rocm, char *ret, size_t size)
{
    static const char *const places[] = {"/usr/lib/llvm-*/bin/clang++", "/llvm/bin/clang++",
                                         "/usr/bin/c++", NULL};

    for (size_t i = 0; places[i]; i++) {
        glob_t found;
        int rc = -1;

        snprintf(ret, size, "%s%s", rocm, places[i]);
        if (glob(ret, 0, NULL, &found) == 0 && access(found.gl_pathv[0], X_OK) == 0) {
            snprintf(ret, size, "%s", found.gl_pathv[0]);
            rc = 0;
        }
        globfree(&found);
        if (rc == 0)
            return 0;
    }
    return -1;
}

static void headers_agree(const char *source, const char *folder, const char *options)
{
    const char *rocm = getenv("ROCM_PERF_ROCM");
    char compiler[512], include[512], command[2400];

    if (!rocm || !*rocm)
        fail_msg("ROCM_PERF_ROCM is not set: it must name the ROCm user space");
    snprintf(include, sizeof(include), "%s/usr/include%s", rocm, folder);
    if (access(include, R_OK) != 0)
        snprintf(include, sizeof(include), "%s/include%s", rocm, folder);
    if (access(include, R_OK) != 0 || find_compiler(rocm, compiler, sizeof(compiler)) != 0)
        fail_msg("%s has no headers or no compiler", rocm);
    /* The prefix is also the sysroot: its compiler finds its own C++ headers there. */
    snprintf(command, sizeof(command),
             "'%s' --sysroot='%s' -std=c++17 -fsyntax-only -w %s -I'%s' -I'%s' '%s'", compiler,
             access("/opt/rocm", F_OK) == 0 ? "" : rocm, options, RP_TEST_INCLUDE, include, source);
    assert_int_equal(system(command), 0);
}

static void hsa_agrees(void **state)
{
    (void)state;
    headers_agree(RP_TEST_SOURCE, "/hsa", "");
}

static void hip_agrees(void **state)
{
    (void)state;
    headers_agree(RP_TEST_HIP_SOURCE, "", "-D__HIP_PLATFORM_AMD__");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hsa_agrees), cmocka_unit_test(hip_agrees)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
