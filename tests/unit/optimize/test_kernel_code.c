/* Which kernels of a file change when it does: builds by the real compiler. */
#include "optimize/kernel_facts.h"

#include <elf.h>

#include "experiment/build_command.h"

#include "unit/optimize/sources.h"

/* Each build says by macros what is other in it. */
static const char work[] =
    "#include \"hip_small.h\"\n"
    "#define NOINLINE __attribute__((noinline))\n"
    "__device__ float scale = 1.5f;\n"
    "__device__ int one, two;\n"
    "__attribute__((constant)) float table[4] = {1, 2, 3, 4};\n"
    "typedef float (*fn)(float);\n"
    "__device__ NOINLINE float deep(float x, int n)\n"
    "{ float s = x; for (int i = 0; i < n; i++) s += x * table[i & 3]; return s DEEP; }\n"
    "__device__ NOINLINE float helper(float x, int n) { return deep(x, n) * deep(x + 1, n); }\n"
    "template <int MODE> __global__ void work(const float *in, float *out, int n)\n"
    "{\n"
    "    const float k[5] = {1.5f, 2.5f, MODE + 1.f, 7.f, MODE == 1 ? K1 : 9.25f};\n"
    "    float s = 0;\n"
    "    LOOP\n"
    "    for (int i = 0; i < n; i++) s += in[i] * k[(i * threadIdx.x) % 5];\n"
    "    if (MODE == 0) { WORK0 }\n"
    "    if (MODE == 1 && threadIdx.x == 3) VARIABLE = n;\n"
    "    if (MODE == 1 ONE) s = helper(s, n) * scale;\n"
    "    out[threadIdx.x] = s;\n"
    "}\n"
    "__global__ void a_first(const float *in, float *out, int n)\n"
    "{ float s = 0; for (int i = 0; i < n; i++) s += helper(in[i], i) * table[i & 3]; out[0] = s; "
    "}\n"
    "__global__ void zlast(float *out) { out[threadIdx.x] = deep(out[0], 3) * scale; }\n"
    "template __global__ void work<0>(const float *, float *, int);\n"
    "template __global__ void work<1>(const float *, float *, int);\n";

#define WORK0 "_Z4workILi0EEvPKfPfi"
#define WORK1 "_Z4workILi1EEvPKfPfi"

#define KERNEL(pragma, more)                                                                       \
    "#include <hip/hip_runtime.h>\n"                                                               \
    "extern \"C\" __global__ void sum(const float *in, float *out, int n" more ")\n"               \
    "{\n"                                                                                          \
    "    float total = 0;\n" pragma "    for (int i = 0; i < n; i++)\n"                            \
    "        total += in[i * 64 + threadIdx.x];\n"                                                 \
    "    out[threadIdx.x] = total;\n"                                                              \
    "}\n"                                                                                          \
    "int main() { return 0; }\n"

/** With the line in which {source} is @p text, in @p folder. */
static void build_text(const char *text, const char *line, bool twice, const char *folder,
                       const char *symbol, struct rp_code_object *ret)
{
    rp_autofree char *dir = rp_path_join(scratch_dir, folder);
    rp_autofree char *name = rp_format("%s/k.hip", folder);
    rp_autofree char *hsaco = rp_path_join(dir, "k.hsaco");
    rp_autofree char *source = NULL;
    struct rp_compile_command *command;
    struct rp_err err = RP_ERR_INIT;
    struct rp_build_result result;
    bool same = true;

    source = scratch_put(name, text);
    command = sources_command(line, source);
    if ((twice ? rp_compile_twice(command, source, "gfx942", hsaco, &result, &same, &err)
               : rp_compile(command, source, "gfx942", hsaco, &result, &err)) < 0)
        fail_msg("%s", err.text);
    assert_true(same);
    if (!result.ok)
        fail_msg("%s: %s", line, result.output);
    rp_build_result_free(&result);
    if (rp_code_object_read(hsaco, symbol, ret, &err) < 0)
        fail_msg("%s", err.text);
    rp_compile_command_free(command);
}

static struct rp_code_object object_of(const char *folder, const char *text, bool twice)
{
    struct rp_code_object object;

    build_text(text, NULL, twice, folder, "sum", &object);
    return object;
}

static void build(const char *defines, const char *folder, struct rp_code_object *ret)
{
    rp_autofree char *line =
        rp_format("hipcc -nogpuinc -I%s -O3 %s {source}", scratch_dir, defines);

    build_text(work, line, false, folder, WORK0, ret);
}

#define USUAL(loop, deep, work0, one, k1, variable)                                                \
    "-DLOOP=" loop " -DDEEP=" deep " -DWORK0=" work0 " -DONE=" one " -DK1=" k1                     \
    " -DVARIABLE=" variable

static void finds_what_changes(void **state)
{
    static const struct {
        const char *what, *defines, *changed; /* names, with a blank behind each */
    } rows[] = {
        {"nothing", USUAL("", "", "", "", "3.25f", "one"), ""},
        {"only itself, all others lie elsewhere",
         USUAL("", "", "'for(int i=0;i<n;i++)for(int j=0;j<i;j++)s=s*in[j]+in[i+1];'", "", "3.25f",
               "one"),
         ""},
        {"only itself, with a table", USUAL("", "", "'s*=deep(s,k[n%5]);'", "", "3.25f", "one"),
         ""},
        {"all instances", USUAL("'_Pragma(\"unroll 3\")'", "", "", "", "3.25f", "one"), WORK1 " "},
        {"a condition", USUAL("", "", "", "'&&n!=77'", "3.25f", "one"), WORK1 " "},
        {"a number in a table", USUAL("", "", "", "", "3.5f", "one"), WORK1 " "},
        {"another variable", USUAL("", "", "", "", "3.25f", "two"), WORK1 " "},
        {"what is called by what is called", USUAL("", "+1", "", "", "3.25f", "one"),
         WORK1 " _Z7a_firstPKfPfi _Z5zlastPf "},
    };
    struct rp_code_object before;

    (void)state;
    build(rows[0].defines, "before", &before);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_code_object after;
        struct rp_err err = RP_ERR_INIT;
        size_t length = 0;
        char **names;

        build(rows[i].defines, "after", &after);
        assert_int_equal(rp_code_changed_kernels(&before, &after, WORK0, &names, &err), 0);
        for (char **name = names; *name; name++) {
            rp_autofree char *word = rp_format("%s ", *name);

            length += strlen(word);
            if (!strstr(rows[i].changed, word))
                fail_msg("%s: %s is said to have changed", rows[i].what, *name);
        }
        if (length != strlen(rows[i].changed))
            fail_msg("%s: not all of %s were found", rows[i].what, rows[i].changed);
        rp_code_names_free(names);
        rp_code_object_free(&after);
    }
    rp_code_object_free(&before);
}

/* As hand-written assembly leaves them. */
static void drop_sizes(struct rp_code_object *object)
{
    uint8_t *bytes = object->bytes;
    Elf64_Ehdr header;
    size_t dropped = 0;

    memcpy(&header, bytes, sizeof header);
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;

        memcpy(&section, bytes + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM)
            continue;
        for (size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol;

            memcpy(&symbol, bytes + section.sh_offset + at, sizeof symbol);
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
                continue;
            symbol.st_size = 0;
            memcpy(bytes + section.sh_offset + at, &symbol, sizeof symbol);
            dropped++;
        }
    }
    assert_true(dropped >= 6);
}

static void sizes_are_not_needed(void **state)
{
    static const struct {
        const char *defines;
        const char *changed[4];
    } rows[] = {
        {USUAL("", "", "", "", "3.25f", "one"), {NULL}},
        {USUAL("", "", "'for(int i=0;i<n;i++)for(int j=0;j<i;j++)s=s*in[j]+in[i+1];'", "", "3.25f",
               "one"),
         {NULL}},
        {USUAL("", "", "", "'&&n!=77'", "3.25f", "one"), {WORK1}},
        {USUAL("", "+1", "", "", "3.25f", "one"), {WORK1, "_Z7a_firstPKfPfi", "_Z5zlastPf"}},
    };
    struct rp_code_object before;

    (void)state;
    build(rows[0].defines, "before", &before);
    drop_sizes(&before);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_code_object after;
        struct rp_err err = RP_ERR_INIT;
        size_t found = 0;
        char **names;

        build(rows[i].defines, "after", &after);
        drop_sizes(&after);
        assert_int_equal(rp_code_changed_kernels(&before, &after, WORK0, &names, &err), 0);
        for (char **name = names; *name; name++, found++) {
            bool wanted = false;

            for (const char *const *c = rows[i].changed; *c; c++)
                wanted |= strcmp(*c, *name) == 0;
            if (!wanted)
                fail_msg("row %zu: %s is said to have changed", i, *name);
        }
        if (rows[i].changed[found])
            fail_msg("row %zu: only %zu were found", i, found);
        rp_code_names_free(names);
        rp_code_object_free(&after);
    }
    rp_code_object_free(&before);
}

static void what_is_damaged_is_refused(void **state)
{
    struct rp_code_object before, after;
    struct rp_err err = RP_ERR_INIT;
    char **names;

    (void)state;
    build(USUAL("", "", "", "", "3.25f", "one"), "before", &before);
    build(USUAL("", "", "", "", "3.25f", "one"), "after", &after);
    for (size_t size = after.size; size > 0; size -= size / 8 + 1) {
        after.size = size - 1;
        assert_int_equal(rp_code_changed_kernels(&before, &after, WORK0, &names, &err),
                         -RP_BAD_INPUT);
    }
    rp_code_object_free(&after);
    rp_code_object_free(&before);
}

static void equal_code_is_equal_wherever_it_lies(void **state)
{
    struct rp_code_object plain = object_of("a", KERNEL("", ""), true);
    struct rp_code_object elsewhere = object_of("b", KERNEL("    // a comment\n", ""), false);
    struct rp_code_object unrolled = object_of("a", KERNEL("#pragma unroll 4\n", ""), false);
    struct rp_code_object other_args = object_of("a", KERNEL("", ", int more"), false);
    struct rp_err err = RP_ERR_INIT;
    struct rp_code_use use;
    char *note;

    (void)state;
    assert_string_equal(plain.code_sha256, elsewhere.code_sha256);
    assert_string_not_equal(plain.code_sha256, unrolled.code_sha256);
    assert_int_equal(rp_code_object_fits(&plain, &unrolled, &err), 0);
    assert_int_equal(rp_code_object_fits(&plain, &other_args, &err), -RP_VERDICT);
    plain.kernel.max_workgroup = 1024;
    unrolled.kernel.max_workgroup = 256;
    assert_int_equal(rp_code_launches_fit(&plain, &unrolled, 256, &note, &err), 0);
    assert_string_equal(note, "launches of more than 256 work-items a workgroup fail with it");
    free(note);
    assert_int_equal(rp_code_launches_fit(&unrolled, &plain, 256, &note, &err), 0);
    assert_null(note);
    assert_int_equal(rp_code_launches_fit(&plain, &unrolled, 320, &note, &err), -RP_VERDICT);
    assert_null(note);
    assert_true(plain.kernel.arg_count >= 3);
    assert_int_equal(plain.kernel.args[2].offset, 16);
    assert_int_equal(plain.kernel.args[2].bytes, 4);
    rp_code_object_use(&plain, "gfx942", 256, 1000, &use);
    assert_int_equal(use.lds_bytes, 1000);
    assert_int_equal(use.scratch_bytes, 0);
    assert_true(use.occupancy_known);
    assert_true(use.occupancy == 1); /* a dozen registers and 1000 bytes leave all slots */
    rp_code_object_use(&plain, "gfx942", 256, 60000, &use);
    assert_true(use.occupancy == 0.125); /* one workgroup of 4 waves on a CU of 32 */
    assert_string_equal(use.limiter, "lds");
    rp_code_object_use(&plain, NULL, 256, 0, &use);
    assert_false(use.occupancy_known);
    rp_code_object_free(&plain);
    rp_code_object_free(&elsewhere);
    rp_code_object_free(&unrolled);
    rp_code_object_free(&other_args);
}

static void damaged_code_objects_are_refused(void **state)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "damaged.hsaco");
    rp_autofree char *good = rp_path_join(scratch_dir, "a/k.hsaco"); /* left by the first test */
    struct rp_code_object object, other;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_code_object_read(good, "sum", &object, &err), 0);
    assert_int_equal(rp_code_object_read(good, "other", &other, &err), -RP_BAD_INPUT);
    for (size_t bytes = 0; bytes < object.size; bytes += 97) { /* cut off anywhere */
        assert_int_equal(rp_write_file(path, object.bytes, bytes, &err), 0);
        if (rp_code_object_read(path, "sum", &other, &err) == 0)
            rp_code_object_free(&other);
        else
            assert_int_equal(err.code, RP_BAD_INPUT);
    }
    for (size_t at = 0; at < object.size; at += 61) { /* and changed anywhere: no crash */
        object.bytes[at] ^= 0xff;
        assert_int_equal(rp_write_file(path, object.bytes, object.size, &err), 0);
        if (rp_code_object_read(path, "sum", &other, &err) == 0)
            rp_code_object_free(&other);
        object.bytes[at] ^= 0xff;
    }
    rp_code_object_free(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_code_is_equal_wherever_it_lies),
        cmocka_unit_test(damaged_code_objects_are_refused),
        cmocka_unit_test(finds_what_changes),
        cmocka_unit_test(sizes_are_not_needed),
        cmocka_unit_test(what_is_damaged_is_refused),
    };

    return cmocka_run_group_tests(tests, sources_begin, scratch_end);
}
