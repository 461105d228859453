/*
 * Decoder and printer against LLVM's assembler: every line of oracle_*.s is assembled by llvm-mc,
 * decoded and printed by us, and must give LLVM's own text. Needs $ROCM_PERF_ROCM.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cmocka_all.h"
#include "device/isa/ops.h"

static char assembler[4096];
static bool seen[RP_OP_MAX];
static unsigned lines, failures;

/* The first llvm-mc below the ROCm prefix, whatever its LLVM version. */
static int find_assembler(void **state)
{
    (void)state;
    static const char *const places[] = {"usr/lib/llvm-*/bin/llvm-mc", "lib/llvm/bin/llvm-mc",
                                         "llvm/bin/llvm-mc"};
    const char *root = getenv("ROCM_PERF_ROCM");
    if (!root || !*root) {
        print_error("ROCM_PERF_ROCM is not set: llvm-mc is needed as the oracle\n");
        return -1;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char pattern[4096];
        glob_t g;
        snprintf(pattern, sizeof pattern, "%s/%s", root, places[i]);
        if (glob(pattern, 0, NULL, &g) != 0)
            continue;
        snprintf(assembler, sizeof assembler, "%s", g.gl_pathv[0]);
        globfree(&g);
        return 0;
    }
    print_error("no llvm-mc below %s\n", root);
    return -1;
}

/* "  text ; encoding: [0x01,...]" to words; 0 when the line is something else. */
static unsigned parse_line(char *line, char **ret_text, uint32_t words[4])
{
    static const char mark[] = "; encoding: [";
    char *p = strstr(line, mark);
    unsigned bytes = 0;
    if (!p)
        return 0;
    char *end = p;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
    *ret_text = line + strspn(line, " \t");
    memset(words, 0, 4 * sizeof words[0]);
    p += strlen(mark);
    while (bytes < 16) {
        words[bytes / 4] |= (uint32_t)strtoul(p, &p, 16) << (8 * (bytes % 4));
        bytes++;
        if (*p++ != ',')
            break;
    }
    return bytes / 4;
}

static void check_line(const char *text, const uint32_t *words, unsigned count)
{
    struct rp_insn in;
    char printed[160];
    unsigned size = rp_isa_decode(words, count, &in);
    rp_isa_print(&in, 0, printed, sizeof printed);
    lines++;
    seen[in.op] = true;
    if (size == 4 * count && strcmp(printed, text) == 0)
        return;
    print_error("%08x %08x: LLVM \"%s\", here \"%s\" (%u bytes)\n", words[0],
                count > 1 ? words[1] : 0, text, printed, size);
    failures++;
}

static void check_file(const char *name)
{
    char command[8300], line[1024];
    snprintf(command, sizeof command,
             "'%s' -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -show-encoding '%s/%s'", assembler,
             RP_ISA_TEST_DIR, name);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        char *text;
        uint32_t words[4];
        unsigned count = parse_line(line, &text, words);
        if (count)
            check_line(text, words, count);
    }
    assert_int_equal(pclose(pipe), 0);
}

static void test_forms(void **state)
{
    (void)state;
    lines = failures = 0;
    check_file("oracle_forms.s");
    assert_true(lines > 100);
    assert_int_equal(failures, 0);
}

/* No row of the table is missing from oracle_ops.s and oracle_mem.s, so each opcode number is LLVM's. */
static void test_every_row(void **state)
{
    (void)state;
    lines = failures = 0;
    memset(seen, 0, sizeof seen);
    check_file("oracle_ops.s");
    check_file("oracle_mem.s");
    for (unsigned op = 1; op < RP_OP_MAX; op++)
        if (!seen[op]) {
            print_error("no oracle file has %s\n", rp_isa_mnemonic(op));
            failures++;
        }
    assert_int_equal(failures, 0);
}

/* Decoding must not read beyond the end nor print beyond the buffer. */
static void test_short_input(void **state)
{
    (void)state;
    static const uint32_t words[] = {0xd1cb0000, 0x8080}; /* v_fma_f32, 8 bytes */
    struct rp_insn in;
    char tiny[6];
    assert_int_equal(rp_isa_decode(words, 0, &in), 0);
    assert_int_equal(rp_isa_decode(words, 1, &in), 0);
    assert_int_equal(in.op, RP_OP_INVALID);
    assert_int_equal(rp_isa_decode(words, 2, &in), 8);
    rp_isa_print(&in, 0, tiny, sizeof tiny);
    assert_string_equal(tiny, "v_fma");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_short_input),
    };
    return cmocka_run_group_tests(tests, find_assembler, NULL);
}
