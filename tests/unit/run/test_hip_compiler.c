/* Command lines of the compiler, and which sources make the assembler read files. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "run/hip_compiler.h"
#include "run/machine.h"

#include "unit/cmocka_all.h"

#include "run/hip_compiler_key.c"

/* Arguments as one line, with the prefix's own paths cut. */
static char *compile_line(enum rp_rocm_kind kind, const char *compiler, const char *const *user)
{
    struct rp_environment env = {
        .rocm_kind = kind,
        .rocm_root = (char *)"/R",
        .rocm_libraries = (char *)"/R/lib",
        .compiler = (char *)(uintptr_t)compiler,
        .gpu_reason = (char *)"none",
    };
    rp_cleanup(rp_hipcc_args_free) char **args = NULL;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf line = {0};

    assert_int_equal(rp_hipcc_args(&env, (char *const *)user, &args, &err), 0);
    for (char **arg = args; *arg; arg++)
        if (!strstr(*arg, "/R/") && !strstr(*arg, "=/R") && !strstr(*arg, "no-unused-arguments"))
            rp_buf_printf(&line, "%s%s", line.len ? " " : "", *arg);
    return rp_buf_steal(&line);
}

#define PRIVATE_COMPILER   "/R/usr/lib/llvm-22/bin/clang++"
#define INSTALLED_COMPILER "/R/bin/hipcc"

#define LINE(kind, expected, ...)                                                                  \
    do {                                                                                           \
        const char *const user[] = {__VA_ARGS__, NULL};                                            \
        rp_autofree char *seen = compile_line(RP_ROCM_##kind, kind##_COMPILER, user);              \
        assert_string_equal(seen, expected);                                                       \
    } while (0)

#define LINKS " --hip-link -Wl,--disable-new-dtags"

static void hipcc_sets_language_and_defaults(void **state)
{
    (void)state;
    LINE(PRIVATE, "--offload-arch=gfx942 -O3 -xhip a.hip -o a" LINKS, "a.hip", "-o", "a");
    LINE(PRIVATE, "--offload-arch=gfx942 -xhip a.cu b.cpp -xnone c.o -O1 -o d.cpp" LINKS, "a.cu",
         "b.cpp", "c.o", "-O1", "-o", "d.cpp");
    LINE(PRIVATE, "-O3 --offload-arch=gfx90a -c -xhip a.hip", "--offload-arch=gfx90a", "-c",
         "a.hip");
    LINE(PRIVATE, "--offload-arch=gfx942 -O3 --cuda-device-only -xhip a.hip", "--genco", "a.hip");
    LINE(PRIVATE, "a.o b.o -o app" LINKS, "a.o", "b.o", "-o", "app");
    LINE(PRIVATE, "--offload-arch=gfx942 -fgpu-rdc a.o b.o -o app" LINKS, "-fgpu-rdc", "a.o", "b.o",
         "-o", "app");
    LINE(PRIVATE, "--offload-arch=gfx942 -O3 -xc a.c -xhip b.hip" LINKS, "a.c", "b.hip");
    LINE(PRIVATE, "--version", "--version");
    LINE(PRIVATE, "--offload-arch=gfx942 -O3 -I x.cpp -xhip y.cpp" LINKS, "-I", "x.cpp", "y.cpp");
    LINE(PRIVATE, "--offload-arch=gfx942 -O3 -x c++ y.cpp" LINKS, "-x", "c++", "y.cpp");
    LINE(INSTALLED, "--offload-arch=gfx942 a.hip", "a.hip");
}

/* A program finds the libraries of a ROCm in which the loader does not look. A clang++ without
 * hipcc gets what that would have added. */
static void an_installed_compiler_links_with_its_rocm(void **state)
{
    static const struct {
        const char *compiler, *root, *user, *expected;
    } rows[] = {
        {"/R/bin/hipcc", "/R", "a.hip", "--offload-arch=gfx942 a.hip -Wl,-rpath,/R/lib"},
        {"/R/bin/hipcc", "/R", "-c", "-c"},
        {"/R/bin/hipcc", "/R", "--version", "--version"},
        {"/usr/bin/hipcc", "/usr", "a.hip", "--offload-arch=gfx942 a.hip"},
        {"/R/lib/llvm/bin/amdclang++", "/R", "a.hip",
         "--rocm-path=/R --offload-arch=gfx942 -O3 -xhip a.hip --hip-link -Wl,-rpath,/R/lib"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct rp_environment env = {.rocm_kind = RP_ROCM_INSTALLED,
                                           .rocm_root = (char *)(uintptr_t)rows[i].root,
                                           .rocm_libraries = (char *)"/R/lib",
                                           .compiler = (char *)(uintptr_t)rows[i].compiler,
                                           .gpu_reason = (char *)"none"};
        char *user[] = {(char *)(uintptr_t)rows[i].user, NULL};
        rp_cleanup(rp_hipcc_args_free) char **args = NULL;
        struct rp_err err = RP_ERR_INIT;
        rp_autobuf line = {0};

        assert_int_equal(rp_hipcc_args(&env, user, &args, &err), 0);
        assert_string_equal(args[0], rows[i].compiler);
        for (char **arg = args + 1; *arg; arg++)
            rp_buf_printf(&line, "%s%s", line.len ? " " : "", *arg);
        assert_string_equal(rp_buf_text(&line), rows[i].expected);
    }
}

static void no_compiler_is_an_error(void **state)
{
    struct rp_environment env = {.rocm_problem = (char *)"nowhere"};
    char *user[] = {NULL};
    char **args = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_hipcc_args(&env, user, &args, &err), -RP_ENVIRONMENT);
    assert_string_equal(err.text, "nowhere");
    env = (struct rp_environment){.rocm_kind = RP_ROCM_INSTALLED,
                                  .rocm_version = (char *)"10.1.0",
                                  .rocm_root = (char *)"/opt/rocm/core-10.1"};
    err = (struct rp_err)RP_ERR_INIT;
    assert_int_equal(rp_hipcc_args(&env, user, &args, &err), -RP_ENVIRONMENT);
    assert_string_equal(err.text,
                        "the ROCm in /opt/rocm/core-10.1 (10.1.0) has no HIP compiler; install "
                        "the package amdrocm-core-sdk, or set ROCM_PATH to a ROCm that "
                        "has one");
    assert_null(args);
}

/* Sources that make the assembler read files, and sources that look like such. */

static void check(const char *text, bool reads)
{
    if (asm_reads_files(text, strlen(text)) != reads)
        fail_msg("%s: it %s files", text, reads ? "reads" : "does not read");
}

static void directives_are_found(void **state)
{
    static const char *const reading[] = {
        "__asm__(\".incbin \\\"data\\\"\");",
        "__asm__(\".section .d\\n.INCBIN \\\"data\\\"\\n.text\\n\");",
        "asm(\"\\t.Include \\\"v.s\\\"\" : : \"r\"(1));",
        "asm volatile(\".inc\" \"lude \\\"v.s\\\"\");",
        "asm(\".in\"\n  \"c\" \"lude \\\"v.s\\\"\");",
        "asm(\".in\"\n# 7 \"file.h\" 3\n\"cbin\");",
        "asm(\".inc\"\n#pragma clang diagnostic push\n# 1 \"a\"\n\"bin\");",
        "asm(\"\\056\\x69ncbin\");",
        "asm(\".\\u0069nc\\x{62}in\");",
        "asm(\".\\o{151}\" \"ncbin\");",
        "asm(\"\\N{FULL STOP}incbin\");",
        "asm(R\"(\n# 1\n.incbin \"data\")\");",
        "asm(R\"x(a)\" .inc)x\" u8\"bin\");",
        "asm(\".macro m x\\n .in\\\\x\\n.endm\\n m cbin\");",
        "asm(\".irpc x,i\\n.\\\\x\\\\()ncbin\\n.endr\");",
        "asm(\".IRP x,incbin\\n.\\\\x\\n.endr\");",
        "asm(\".inc%c0 \\\"data\\\"\" : : \"i\"(bin));",
        "asm(\".inc{bin|} \\\"data\\\"\");",
        "asm((text()));",
        "__asm__ __volatile__ (text);",
        "__asm { nop }",
        "char c = '\"'; asm(\".incbin\");",
        "int n = 1'000; asm(\".incbin\"); int m = 1'0;",
        "char c = '\\''; wchar_t d = L'\"'; asm(\".incbin\");",
        "const char *unfinished = \".inc",
        "const char *ends = \".inc\";",
    };

    (void)state;
    for (size_t i = 0; i < sizeof reading / sizeof reading[0]; i++)
        check(reading[i], true);
}

static void what_is_like_them_is_not(void **state)
{
    static const char *const others[] = {
        "",
        "void f() { c.increment(); c.include(1); c.inc; x.macro(); y.irp = 1; }",
        "# 1 \"table.inc\"\n# 1 \"/usr/.include/x.h\" 1\nint a;\n",
        "#pragma message \".incbin\"\n",
        "const char *a = \".increment\", *b = \"incbin\", *c = \". include\", *d = \".in cbin\";",
        "f(\".in\", \"cbin\"); f(\".in\" + \"clude\"); f(\".in\" x \"clude\");",
        "char c = '\"'; int n = c.includes; char d = '\"';",
        "int n = 1'000, m = 0x1'f; c.include(); int k = 1'0;",
        "char c = L'\"'; c.include(); char d = u8'\"';",
        "const char *r = R\"(a\")\"; c.include(); const char *s = R\"x(\")x\";",
        "asm(\"nop\" : : \"r\"(a.include)); asm volatile(\"nop\"); asm goto(\"\" : : : : l);",
        "int x asm(\"name\"); asm(u8\"nop\"); asm(R\"(nop)\"); asm\n# 3 \"f\"\n(\n\"nop\");",
        "const char *a = \"\\\\\"; c.include(); const char *b = \"\\\"\"; c.include();",
        "const char *a = \"\\x2\" \"eincbin\";", /* an escape ends with its literal */
    };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        check(others[i], false);
}

/* Wherever it is cut short, nothing behind it is read: there is no memory. */
static void a_text_ends_where_it_ends(void **state)
{
    static const char text[] =
        "asm volatile(\"\\x\\u{12\" u8R\"abc(d)ab\")abc\" '\\'' L'x' 1'0 \\ .i \"\\";
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t bytes = 0; bytes <= sizeof text - 1; bytes++) {
        const bool cut_behind_asm = bytes > sizeof "asm " - 1 && bytes < sizeof "asm volatile" - 1;

        memcpy(pages + page - bytes, text, bytes);
        assert_int_equal(asm_reads_files(pages + page - bytes, bytes), cut_behind_asm);
    }
    munmap(pages, 2 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hipcc_sets_language_and_defaults),
        cmocka_unit_test(an_installed_compiler_links_with_its_rocm),
        cmocka_unit_test(no_compiler_is_an_error),
        cmocka_unit_test(directives_are_found),
        cmocka_unit_test(what_is_like_them_is_not),
        cmocka_unit_test(a_text_ends_where_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
