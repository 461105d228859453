/*
 * Decoder and printer against LLVM's assembler: every line of oracle_*.s is assembled by llvm-mc,
 * decoded and printed by us, and must give LLVM's own text. Needs $ROCM_PERF_ROCM.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/isa/instruction.h"
#include "unit/cmocka_all.h"

static char assembler[4096];
static bool seen[RP_OP_ALL];
static unsigned lines, failures;
static bool keep_going; /* lines that do not assemble are passed over */

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

static void check_target(const char *target, const char *name)
{
    char command[8300], line[1024];
    snprintf(command, sizeof command,
             "'%s' -triple=amdgcn-amd-amdhsa -mcpu=%s -show-encoding '%s/%s'%s", assembler, target,
             RP_ISA_TEST_DIR, name, keep_going ? " 2>/dev/null; true" : "");
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

static void check_file(const char *name)
{
    check_target("gfx942", name);
}

/* gfx950 has every row but the xf32 ones, and those of ops_gfx950.def, which gfx942 has not. */
static void test_gfx950(void **state)
{
    (void)state;
    static const uint32_t xf32[] = {0xd3be0020, 0x0602c140}, bitop3[] = {0xd2340501, 0x8c120702};
    struct rp_insn in;
    lines = failures = 0;
    memset(seen, 0, sizeof seen);
    rp_isa_target_set("gfx950");
    check_target("gfx950", "oracle_forms.s");
    check_target("gfx950", "oracle_gfx950.s");
    assert_int_equal(rp_isa_decode(xf32, 2, &in), 0);
    assert_int_equal(rp_isa_decode(bitop3, 2, &in), 8);
    rp_isa_target_set("gfx942");
    assert_int_equal(rp_isa_decode(xf32, 2, &in), 8);
    assert_int_equal(rp_isa_decode(bitop3, 2, &in), 0);
    for (unsigned op = RP_OP_MAX; op < RP_OP_END_GFX950; op++)
        if (!seen[op]) {
            print_error("oracle_gfx950.s has no %s\n", rp_isa_mnemonic(op));
            failures++;
        }
    assert_int_equal(failures, 0);
}

/* Every line of a file that LLVM knows on another target, too, word for word or respelled. */
static void check_what_assembles(const char *target, const char *name)
{
    keep_going = true;
    check_target(target, name);
    keep_going = false;
}

/*
 * gfx90a: the lines of the other files that it has, and its own spellings, cache bits and opcodes.
 * No row that it is said to have is without a line.
 */
static void test_gfx90a(void **state)
{
    (void)state;
    lines = failures = 0;
    memset(seen, 0, sizeof seen);
    rp_isa_target_set("gfx90a");
    check_what_assembles("gfx90a", "oracle_forms.s");
    check_what_assembles("gfx90a", "oracle_ops.s");
    check_what_assembles("gfx90a", "oracle_mem.s");
    check_target("gfx90a", "oracle_gfx90a.s");
    for (unsigned op = 1; op < RP_OP_ALL; op++)
        if (!seen[op] && rp_target_has(op)) {
            print_error("oracle_gfx90a.s has no %s\n", rp_isa_mnemonic(op));
            failures++;
        }
    rp_isa_target_set("gfx942");
    assert_int_equal(failures, 0);
}

static void test_forms(void **state)
{
    (void)state;
    lines = failures = 0;
    check_file("oracle_forms.s");
    assert_true(lines > 100);
    assert_int_equal(failures, 0);
}

/* No row of the table is missing from oracle_ops.s and oracle_mem.s, so each opcode number is
 * LLVM's. */
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

/* ---- no opcode is missing: what has no row here is nothing to LLVM's disassembler either ---- */

static const struct sweep {
    enum rp_fmt fmt;
    enum rp_seg seg;
    uint32_t base, op_shift, ops;
    uint32_t low[6]; /* operand fields of the first dword; the second dword in @ref high */
    uint32_t high[4];
} sweeps[] = {
    {RP_FMT_SOP1, 0, 0xbe800000, 8, 256, {8 << 16 | 4, 4, 8 << 16}, {0}},
    {RP_FMT_SOP2, 0, 0x80000000, 23, 0x60, {8 << 16 | 6 << 8 | 4}, {0}},
    {RP_FMT_SOPC, 0, 0xbf000000, 16, 128, {6 << 8 | 4}, {0}},
    {RP_FMT_SOPK, 0, 0xb0000000, 23, 0x1d, {8 << 16 | 0x1801, 8 << 16, 4}, {0}},
    {RP_FMT_SOPP, 0, 0xbf800000, 16, 128, {1, 0}, {0}},
    {RP_FMT_VOP1, 0, 0x7e000000, 9, 256, {8 << 17 | 0x104, 0}, {0}},
    {RP_FMT_VOP2, 0, 0x00000000, 25, 0x3e, {8 << 17 | 6 << 9 | 0x104}, {0x12345678}},
    {RP_FMT_VOPC, 0, 0x7c000000, 17, 256, {6 << 9 | 0x104}, {0}},
    {RP_FMT_VOP3, 0, 0xd0000000, 16, 0x380, {8, 0}, {0x104 | 0x106 << 9 | 0x108 << 18, 0x104, 0}},
    {RP_FMT_VOP3P,
     0,
     0xd3800000,
     16,
     128,
     {8, 8 | 1 << 14},
     {0x104 | 0x108 << 9 | 0x110 << 18, 0x18000000 | 0x104 | 0x108 << 9 | 0x110 << 18, 0x104}},
    {RP_FMT_SMEM,
     0,
     0xc0000000,
     18,
     256,
     {1 << 17 | 8 << 6 | 2, 1 << 17 | 2, 0, 8 << 6},
     {0, 0x10}},
    {RP_FMT_DS, 0, 0xd8000000, 17, 256, {0, 1 << 16}, {0, 0x0402, 0x08000402, 0x08060402}},
    {RP_FMT_DS, 0, 0xd8000000, 17, 256, {0, 1 << 16}, {2, 0x08000002, 0x08000000, 0x060402}},
    {RP_FMT_FLAT, RP_SEG_FLAT, 0xdc000000, 18, 128, {0, 1 << 16}, {0x08000402, 0x402, 0x08000002}},
    {RP_FMT_FLAT,
     RP_SEG_SCRATCH,
     0xdc000000,
     18,
     128,
     {1 << 14 | 1 << 13, 1 << 14 | 1 << 13 | 1 << 16},
     {0x087f0402, 0x007f0402, 0x087f0002, 0x007f0002}},
    {RP_FMT_FLAT,
     RP_SEG_GLOBAL,
     0xdc000000,
     18,
     128,
     {2 << 14, 2 << 14 | 1 << 16},
     {0x087f0402, 0x007f0402, 0x087f0002, 0x007f0002}},
    {RP_FMT_MUBUF,
     0,
     0xe0000000,
     18,
     128,
     {1 << 12, 0, 1 << 16 | 1 << 12},
     {0x00020402, 0, 0x20002}},
    {RP_FMT_MTBUF, 0, 0xe8000000, 15, 16, {1 << 12 | 5 << 19 | 7 << 23, 0}, {0x00020402, 0}},
};

/* Formats that gfx942 has no opcode of: graphics. The last is that of images, which gfx90a has to
 * LLVM; here it has none. */
static const uint32_t graphics[] = {0xc4000000, 0xc8000000, 0xd4000000, 0xf8000000, 0xf0000f00};

/* A marker (s_mov_b32 s1, number) in front tells which output line belongs to which input. */
static void put_candidate(FILE *in, uint32_t *count, uint32_t low, uint32_t high)
{
    const uint32_t words[4] = {0xbe8100ff, 0x70000000u + (*count)++, low, high};
    for (unsigned i = 0; i < 16; i++)
        fprintf(in, "%s0x%02x", i ? "," : "", words[i / 4] >> (8 * (i % 4)) & 0xff);
    fputc('\n', in);
}

static void put_sweep(FILE *in, const struct sweep *s, uint32_t *count)
{
    for (uint32_t op = 0; op < s->ops; op++) {
        if (rp_op_find(s->fmt, s->seg, op) != RP_OP_INVALID)
            continue;
        if (s->fmt == RP_FMT_VOP3P && op == 0x2c)
            continue; /* gfx950: to LLVM the first half of VOP3PX2 is an instruction by itself */
        for (unsigned l = 0; l < 6 && (l == 0 || s->low[l] || s->low[l - 1]); l++)
            for (unsigned h = 0; h < 4 && (h == 0 || s->high[h] || s->high[h - 1]); h++)
                put_candidate(in, count, s->base | op << s->op_shift | s->low[l], s->high[h]);
    }
}

/* The line behind a marker is an instruction LLVM knows, unless it warns about that input. */
static void check_sweep(const char *target, const char *path, uint32_t count)
{
    char command[8300], line[1024];
    uint8_t *invalid = calloc(count, 1);
    assert_non_null(invalid);
    snprintf(command, sizeof command,
             "'%s' -triple=amdgcn-amd-amdhsa -mcpu=%s --disassemble '%s' 2>&1 >/dev/null",
             assembler, target, path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        unsigned row, column;
        const char *place = strstr(line, ".txt:");
        /* Eight bytes of marker are 40 characters wide. */
        if (place && strstr(line, "warning: invalid") &&
            sscanf(place, ".txt:%u:%u", &row, &column) == 2 && column == 41 && row <= count)
            invalid[row - 1] = 1;
    }
    pclose(pipe);
    for (uint32_t i = 0; i < count; i++)
        if (!invalid[i] && failures++ < 20)
            print_error("LLVM knows line %u of %s, the table does not\n", i + 1, path);
    free(invalid);
}

static void sweep_target(const char *target, size_t graphics_formats)
{
    char path[] = "/tmp/rp-sweep-XXXXXX.txt";
    uint32_t count = 0;
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    FILE *in = fdopen(fd, "w");
    assert_non_null(in);
    failures = 0;
    for (size_t i = 0; i < sizeof sweeps / sizeof sweeps[0]; i++)
        put_sweep(in, &sweeps[i], &count);
    for (size_t i = 0; i < graphics_formats; i++)
        for (uint32_t op = 0; op < 128; op++)
            put_candidate(in, &count, graphics[i] | op << 18, 0x00020402);
    fclose(in);
    assert_true(count > 1000);
    check_sweep(target, path, count);
    if (failures == 0)
        unlink(path);
    assert_int_equal(failures, 0);
}

static void test_no_opcode_is_missing(void **state)
{
    (void)state;
    sweep_target("gfx942", 5);
    rp_isa_target_set("gfx950");
    sweep_target("gfx950", 5);
    rp_isa_target_set("gfx90a");
    sweep_target("gfx90a", 4);
    rp_isa_target_set("gfx942");
}

/* After a test that chose another one, and may have failed. */
static int default_target(void **state)
{
    (void)state;
    rp_isa_target_set("gfx942");
    return 0;
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
        cmocka_unit_test(test_gfx950),
        cmocka_unit_test_teardown(test_gfx90a, default_target),
        cmocka_unit_test(test_every_row),
        cmocka_unit_test_teardown(test_no_opcode_is_missing, default_target),
        cmocka_unit_test(test_short_input),
    };
    return cmocka_run_group_tests(tests, find_assembler, NULL);
}
