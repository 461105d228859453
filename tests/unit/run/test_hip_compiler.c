/* Sources that make the assembler read files, and sources that look like such. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/hip_compiler.h"

#include "unit/cmocka_all.h"

#include "run/hip_compiler_key.c"

static void check(const char *text, bool reads)
{
    if (rp_asm_reads_files(text, strlen(text)) != reads)
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
        assert_int_equal(rp_asm_reads_files(pages + page - bytes, bytes), cut_behind_asm);
    }
    munmap(pages, 2 * page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives_are_found),
        cmocka_unit_test(what_is_like_them_is_not),
        cmocka_unit_test(a_text_ends_where_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
