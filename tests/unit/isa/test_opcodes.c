/*
 * tests/isa/opcodes.md: every row of the instruction table, whether it executes, and what tests it.
 *
 * "Tested" is read off the tests: the oracles of the lane kernels, what test_mem_rows and
 * test_mem_format have written (--list FILE), and the mnemonics that the sources of the other
 * unit tests name outside comments. RP_GOLDEN_UPDATE rewrites the file, which must be current
 * otherwise; an ALU row that executes must have a test.
 */
#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "lane_oracle/oracle.h"
#include "wave_fixture.h"

/* Why a row is decoded and printed, but refused when it would execute. */
static const struct {
    const char *mnemonic, *reason;
} refused[] = {
    {"s_rfe_b64", "returns from a trap handler, and programs have none here"},
    {"s_rfe_restore_b64", "returns from a trap handler, and programs have none here"},
    {"s_sendmsghalt", "halts the wave until a debugger resumes it"},
    {"ds_gws_sema_br", "global wave sync semaphore: nothing in HIP uses one"},
    {"ds_gws_sema_release_all", "global wave sync semaphore: nothing in HIP uses one"},
};

/* ---- does it execute? ---- */

static const char *reason_of(const char *mnemonic)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strcmp(refused[i].mnemonic, mnemonic) == 0)
            return refused[i].reason;
    return NULL;
}

static bool needs_lane(const struct rp_op_row *row)
{
    return row->fn == rp_valu || row->fn == rp_valu_cmp || row->fn == rp_valu_cmpx ||
           row->fn == rp_valu_mix || row->fn == rp_mfma;
}

static bool executes(unsigned op)
{
    const struct rp_op_row *row = &rp_op_rows[op];
    if (!row->fn)
        return false;
    if (!needs_lane(row))
        return true;
    rp_isa_target_set(op < RP_OP_MAX ? "gfx942" : op < RP_OP_END_GFX950 ? "gfx950" : "gfx90a");
    return rp_target_lane(op) != NULL;
}

static bool is_memory(const struct rp_op_row *row)
{
    return row->fmt == RP_FMT_SMEM || row->fmt == RP_FMT_DS || row->fmt == RP_FMT_FLAT ||
           row->fmt == RP_FMT_MUBUF || row->fmt == RP_FMT_MTBUF;
}

/* ---- what tests it? ---- */

enum { TESTS_MAX = 64 };

static struct {
    char name[40];
    bool covers[RP_OP_ALL];
} tests[TESTS_MAX];
static unsigned test_count;

static unsigned test_named(const char *name)
{
    for (unsigned i = 0; i < test_count; i++)
        if (strcmp(tests[i].name, name) == 0)
            return i;
    assert_true(test_count < TESTS_MAX);
    snprintf(tests[test_count].name, sizeof tests[0].name, "%s", name);
    return test_count++;
}

static bool in_oracle(const struct lane_oracle *rows, size_t count, const char *mnemonic)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].mnemonic, mnemonic) == 0)
            return true;
    return false;
}

/* Lane kernels; a v_cmpx shares that of its v_cmp. */
static void note_lane_oracles(void)
{
    const unsigned lane = test_named("lane");
    for (unsigned op = 1; op < RP_OP_ALL; op++) {
        char name[64];
        const struct lane_in in = {0};
        snprintf(name, sizeof name, "%s", rp_op_rows[op].mnemonic);
        if (strncmp(name, "v_cmpx_", 7) == 0)
            memmove(name + 5, name + 6, strlen(name + 6) + 1);
        tests[lane].covers[op] = in_oracle(lane_oracle_int, lane_oracle_int_count, name) ||
                                 in_oracle(lane_oracle_float, lane_oracle_float_count, name) ||
                                 lane_oracle_compare(name, &in) >= 0;
    }
}

/* The row a word of a test's source names, encoding suffixes allowed; 0 when none. */
static unsigned op_of_word(const char *word)
{
    static const char *const suffixes[] = {"", "_e32", "_e64", "_sdwa", "_dpp"};
    for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++) {
        const size_t n = strlen(word), m = strlen(suffixes[s]);
        if (n <= m || strcmp(word + n - m, suffixes[s]) != 0)
            continue;
        for (unsigned op = 1; op < RP_OP_ALL; op++)
            if (strlen(rp_op_rows[op].mnemonic) == n - m &&
                strncmp(rp_op_rows[op].mnemonic, word, n - m) == 0)
                return op;
    }
    return 0;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    const long bytes = ftell(file);
    char *text = calloc(1, (size_t)bytes + 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
    fclose(file);
    return text;
}

static void blank_comments(char *text)
{
    for (char *p = text; (p = strstr(p, "/*")) != NULL;) {
        char *end = strstr(p + 2, "*/");
        end = end ? end + 2 : p + strlen(p);
        memset(p, ' ', (size_t)(end - p));
    }
}

static void note_source(const char *path)
{
    char name[40], *text = read_file(path);
    const char *base = strrchr(path, '/') + 1;
    assert_non_null(text);
    snprintf(name, sizeof name, "%s", strncmp(base, "test_", 5) == 0 ? base + 5 : base);
    *strchr(name, '.') = '\0';
    blank_comments(text);
    for (char *p = text; *p;) {
        if (!isalnum((unsigned char)*p) && *p != '_') {
            p++;
            continue;
        }
        char *end =
            p + strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const char after = *end;
        *end = '\0';
        const unsigned op = op_of_word(strncmp(p, "RP_OP_", 6) == 0 ? p + 6 : p);
        *end = after;
        if (op)
            tests[test_named(name)].covers[op] = true;
        p = end;
    }
    free(text);
}

/* Some tests go through the table by themselves and say which rows they have computed. */
static void note_listed(const char *path, const char *name)
{
    char line[1024];
    FILE *list = fopen(path, "r");
    if (!list)
        fail_msg("%s is not there: run the test isa_%s, which writes it", path, name);
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        const unsigned op = op_of_word(line);
        if (op)
            tests[test_named(name)].covers[op] = true;
    }
    fclose(list);
}

/* Decoding and printing every row is another test (test_isa_decode); this file names rows, too. */
static void note_sources(void)
{
    static const char *const places[] = {"unit/isa/*.[cd]*", "unit/exec/*.[cd]*", "isa/*.c"};
    static const char *const others[] = {"test_lane_kernels.c", "test_isa_decode.c",
                                         "test_opcodes.c", "test_mem_rows.c", "CMakeLists.txt"};
    glob_t g = {0};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char pattern[1024];
        snprintf(pattern, sizeof pattern, "%s/%s", RP_TESTS_DIR, places[i]);
        glob(pattern, i ? GLOB_APPEND : 0, NULL, &g);
    }
    for (size_t i = 0; i < g.gl_pathc; i++) {
        bool other = false;
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
            other |= strcmp(strrchr(g.gl_pathv[i], '/') + 1, others[k]) == 0;
        if (!other)
            note_source(g.gl_pathv[i]);
    }
    globfree(&g);
}

static bool is_tested(unsigned op)
{
    for (unsigned i = 0; i < test_count; i++)
        if (tests[i].covers[op])
            return true;
    return false;
}

/* ---- the page ---- */

static const char *const formats[RP_FMT_MAX] = {
    [RP_FMT_SOP1] = "SOP1",       [RP_FMT_SOP2] = "SOP2",   [RP_FMT_SOPC] = "SOPC",
    [RP_FMT_SOPK] = "SOPK",       [RP_FMT_SOPP] = "SOPP",   [RP_FMT_SMEM] = "SMEM",
    [RP_FMT_VOP1] = "VOP1",       [RP_FMT_VOP2] = "VOP2",   [RP_FMT_VOPC] = "VOPC",
    [RP_FMT_VOP3] = "VOP3",       [RP_FMT_VOP3P] = "VOP3P", [RP_FMT_DS] = "DS",
    [RP_FMT_VOP3PX2] = "VOP3PX2", [RP_FMT_FLAT] = "FLAT",   [RP_FMT_MUBUF] = "MUBUF",
    [RP_FMT_MTBUF] = "MTBUF",
};

static void write_row(FILE *out, unsigned op)
{
    const struct rp_op_row *row = &rp_op_rows[op];
    const bool runs = executes(op);
    const char *separator = "";
    fprintf(out, "| 0x%02x | `%s` | %s | ", row->opcode, row->mnemonic,
            runs ? "yes" : reason_of(row->mnemonic));
    for (unsigned i = 0; i < test_count && runs; i++)
        if (tests[i].covers[op]) {
            fprintf(out, "%s%s", separator, tests[i].name);
            separator = ", ";
        }
    fputs(" |\n", out);
}

struct totals {
    unsigned rows, run, tested;
};

static struct totals count_rows(unsigned first, unsigned end)
{
    struct totals t = {0};
    for (unsigned op = first; op < end; op++) {
        const bool runs = executes(op);
        t.rows++;
        t.run += runs;
        t.tested += runs && is_tested(op);
    }
    return t;
}

/* A table per format, of the rows from @p first to before @p end. */
static void write_tables(FILE *out, const char *heading, unsigned first, unsigned end)
{
    for (unsigned fmt = 0; fmt < RP_FMT_MAX; fmt++) {
        bool begun = false;
        for (unsigned op = first; op < end; op++) {
            if (rp_op_rows[op].fmt != fmt)
                continue;
            if (!begun)
                fprintf(out,
                        "\n%s %s\n\n| opcode | instruction | executes | tested by |\n"
                        "|---|---|---|---|\n",
                        heading, formats[fmt]);
            begun = true;
            write_row(out, op);
        }
    }
}

static void write_page(FILE *out)
{
    const struct totals t = count_rows(1, RP_OP_MAX);
    const struct totals more = count_rows(RP_OP_MAX, RP_OP_END_GFX950);
    const struct totals cdna2 = count_rows(RP_OP_END_GFX950, RP_OP_ALL);
    fprintf(
        out,
        "# Opcodes of the software device\n\n"
        "Every instruction that LLVM assembles for gfx942 (MI300X): %u, of which %u execute; %u of "
        "these are\nnamed by a unit test, which the last column lists (\"lane\" are the "
        "oracles of `tests/unit/isa/lane_oracle`).\nAll are decoded and printed as LLVM does "
        "(`tests/unit/isa/test_isa_decode.c`). VOP1, VOP2 and VOPC rows\nhave VOP3, and most SDWA "
        "and DPP forms, too. What does not execute stops its kernel with a message.\n"
        "gfx950 (MI350X) adds %u, of which %u execute, gfx90a (MI250X) %u, of which %u execute: "
        "[the last\nchapters](#gfx950).\n\n"
        "Written by `test_isa_opcodes`; `./check --update` rewrites it.\n",
        t.rows, t.run, t.tested, more.rows, more.run, cdna2.rows, cdna2.run);
    write_tables(out, "##", 1, RP_OP_MAX);
    fprintf(
        out,
        "\n## gfx950\n\n"
        "What gfx950 has beyond gfx942: %u instructions, of which %u execute; %u of these are "
        "named by a unit\ntest. It lacks the two xf32 matrix instructions. The 8-bit floats of the "
        "others are the OCP ones there\n(`tests/unit/isa/lane_oracle`, rows with `_ocp`; "
        "`tests/unit/isa/test_mfma.c`).\n",
        more.rows, more.run, more.tested);
    write_tables(out, "###", RP_OP_MAX, RP_OP_END_GFX950);
    fprintf(out,
            "\n## gfx90a\n\n"
            "What gfx90a has and gfx942 has not: %u instructions, of which %u execute; %u of these "
            "are named by a\nunit test. What it lacks is listed in `src/device/isa/opcodes.c`; its "
            "image instructions have no rows.\n",
            cdna2.rows, cdna2.run, cdna2.tested);
    write_tables(out, "###", RP_OP_END_GFX950, RP_OP_ALL);
}

/* The columns about memory against the words of the mnemonics, which are AMD's. */
static void test_memory_columns_follow_names(void **state)
{
    static const struct {
        const char *word;
        unsigned bytes;
    } sizes[] = {
        {"byte", 1},     {"short", 2},     {"dwordx2", 8}, {"dwordx3", 12}, {"dwordx4", 16},
        {"dwordx8", 32}, {"dwordx16", 64}, {"_x2", 8},     {"dword", 4},
    };
    (void)state;
    for (unsigned op = 1; op < RP_OP_ALL; op++) {
        const struct rp_op_row *row = &rp_op_rows[op];
        const char *name = row->mnemonic;
        const bool vector = row->cost == RP_COST_VMEM, scalar = row->cost == RP_COST_SMEM;
        if (!name || (!vector && !scalar))
            continue;
        const enum rp_access want = strstr(name, "cmpswap")   ? RP_ACCESS_CMPSWAP
                                    : strstr(name, "_atomic") ? RP_ACCESS_ATOMIC
                                    : strstr(name, "_load")   ? RP_ACCESS_LOAD
                                    : strstr(name, "_store")  ? RP_ACCESS_STORE
                                                              : RP_ACCESS_NONE;
        if (row->access != want)
            fail_msg("%s: access %u, not %u", name, row->access, want);
        unsigned i = 0;
        while (i < sizeof sizes / sizeof sizes[0] && !strstr(name, sizes[i].word))
            i++;
        if (want != RP_ACCESS_NONE && i < sizeof sizes / sizeof sizes[0] &&
            row->bytes != (strstr(name, "dwordx16") ? 64 : sizes[i].bytes))
            fail_msg("%s: %u bytes", name, row->bytes);
        if ((want == RP_ACCESS_NONE) != !row->bytes)
            fail_msg("%s: %u bytes for access %u", name, row->bytes, want);
    }
}

static void test_page_is_current(void **state)
{
    (void)state;
    char *now = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&now, &bytes);
    assert_non_null(out);
    write_page(out);
    fclose(out);
    if (getenv("RP_GOLDEN_UPDATE")) {
        FILE *file = fopen(RP_OPCODES_PAGE, "w");
        assert_non_null(file);
        fputs(now, file);
        assert_int_equal(fclose(file), 0);
    }
    char *page = read_file(RP_OPCODES_PAGE);
    if (!page || strcmp(page, now) != 0)
        fail_msg("tests/isa/opcodes.md is not current: ./check --update rewrites it");
    free(page);
    free(now);
}

/* ---- completeness ---- */

static void test_every_refusal_has_a_reason(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (unsigned op = 1; op < RP_OP_ALL; op++) {
        const struct rp_op_row *row = &rp_op_rows[op];
        if (executes(op) == (reason_of(row->mnemonic) != NULL)) {
            print_error("%s: %s\n", row->mnemonic,
                        executes(op) ? "executes, but has a reason not to" : "refused, but why?");
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_every_alu_row_is_tested(void **state)
{
    (void)state;
    unsigned missing = 0;
    for (unsigned op = 1; op < RP_OP_ALL; op++)
        if (executes(op) && !is_memory(&rp_op_rows[op]) && !is_tested(op)) {
            print_error("no test names %s\n", rp_op_rows[op].mnemonic);
            missing++;
        }
    assert_int_equal(missing, 0);
}

static int collect(void **state)
{
    (void)state;
    note_lane_oracles();
    note_listed(RP_MEM_ROWS_LIST, "mem_rows");
    note_listed(RP_MEM_FORMAT_LIST, "mem_format");
    note_sources();
    return 0;
}

/* ---- rates ---- */

/* What a compute unit does in a clock, four SIMDs at once, with the instruction that does most. */
static unsigned most_flops(const char *target, const char *type)
{
    unsigned most = 0;
    rp_isa_target_set(target);
    for (unsigned op = 1; op < RP_OP_ALL; op++) {
        unsigned m, n, k, blocks = 1;
        const char *name = rp_op_rows[op].mnemonic, *end = name ? strrchr(name, '_') : NULL;
        if (!name || !rp_target_has(op) || strncmp(name, "v_mfma_", 7) || strcmp(end + 1, type) ||
            sscanf(strchr(name + 7, '_') + 1, "%ux%ux%u_%ub", &m, &n, &k, &blocks) < 3)
            continue;
        const unsigned flops = 4 * 2 * m * n * k * blocks / rp_cost_cycles[rp_target_cost(op)];
        most = flops > most ? flops : most;
    }
    rp_isa_target_set("gfx942");
    return most;
}

static unsigned narrow_flops(unsigned op, unsigned k, unsigned m, unsigned a, unsigned b)
{
    const uint32_t code[] = {0xd3800000u | op << 16 | a << 8, 0x04020100u | b << 29};
    struct rp_insn in;
    assert_int_equal(rp_isa_decode(code, 2, &in), 8);
    assert_int_equal(in.cbsz, a);
    assert_int_equal(in.blgp, b);
    return 4 * 2 * m * m * k / rp_cost_cycles[in.cost_class];
}

/* The passes of matrix instructions give AMD's peaks (the data sheets that arch.h names). */
static void test_matrix_rates_are_the_peaks(void **state)
{
    static const char *const targets[] = {"gfx90a", "gfx942", "gfx950"};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        const struct rp_arch_roofline *peak = &rp_arch_find(targets[i])->roofline;
        assert_int_equal(most_flops(targets[i], "f16"), peak->mfma_f16);
        assert_int_equal(most_flops(targets[i], i ? "bf16" : "1k"), peak->mfma_bf16);
        assert_int_equal(most_flops(targets[i], "f32"), peak->mfma_f32);
        assert_int_equal(most_flops(targets[i], "f64"), peak->mfma_f64);
    }
    assert_int_equal(most_flops("gfx942", "fp8"), rp_arch_find("gfx942")->roofline.mfma_f8);
    const struct rp_arch_roofline *peak = &rp_arch_find("gfx950")->roofline;
    rp_isa_target_set("gfx950");
    for (unsigned a = 0; a < 5; a++)
        for (unsigned b = 0; b < 5; b++) {
            const unsigned want = a < 2 || b < 2 ? peak->mfma_f8 : peak->mfma_f6f4;
            assert_int_equal(narrow_flops(0x2d, 128, 16, a, b), want);
            assert_int_equal(narrow_flops(0x2e, 64, 32, a, b), want);
        }
    rp_isa_target_set("gfx942");
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_memory_columns_follow_names),
        cmocka_unit_test(test_every_refusal_has_a_reason),
        cmocka_unit_test(test_every_alu_row_is_tested),
        cmocka_unit_test(test_matrix_rates_are_the_peaks),
        cmocka_unit_test(test_page_is_current),
    };
    return cmocka_run_group_tests(all, collect, NULL);
}
