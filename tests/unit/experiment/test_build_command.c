/* What becomes of users' build commands, and that the real compiler takes what comes out. */
#include "experiment/build_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"

#include "unit/scratch.h"

#include "experiment/build_command.c"

static char *test_source;

static void put(const char *name, const char *text)
{
    free(scratch_put(name, text));
}

static int set_up(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    put("include/scale.h", "#define SCALE 2.0f\n");
    put("local.h", "#include \"include/scale.h\"\n");
    put("k.hip", "#include <hip/hip_runtime.h>\n#include \"local.h\"\n"
                 "__global__ void scale(float *a) { a[threadIdx.x] *= SCALE; }\n"
                 "int main() { return 0; }\n");
    test_source = rp_path_join(scratch_dir, "k.hip");
    return test_source ? 0 : -1;
}

static int tear_down(void **state)
{
    free(test_source);
    return scratch_end(state);
}

static bool has(char *const *argv, const char *word)
{
    for (; *argv; argv++)
        if (strcmp(*argv, word) == 0)
            return true;
    return false;
}

/** The arguments for a --build, joined by blanks, from `-iquote` on. */
static char *made(const char *build, enum rp_compile_what what)
{
    struct rp_build_choice choice = {.build = build};
    struct rp_compile_command *command;
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    struct rp_err err = RP_ERR_INIT;
    char *text = NULL;

    if (rp_compile_command_read(&choice, test_source, &command, &err) < 0)
        fail_msg("%s", err.text);
    if (rp_compile_argv(command, what, "/s/new.hip", "/o/out", "gfx90a", &argv, &err) < 0)
        fail_msg("%s", err.text);
    for (char **word = argv; *word; word++) {
        char *more = rp_format("%s%s%s", text ? text : "", text ? " " : "", *word);

        free(text);
        text = more;
    }
    rp_compile_command_free(command);
    return text;
}

static void splits_as_a_shell_does(void **state)
{
    static const struct {
        const char *text;
        const char *words[5];
        int rc;
        enum rp_words_rule rule;
    } rows[] = {
        {"hipcc  -O3\tk.hip ", {"hipcc", "-O3", "k.hip"}, 0, RP_WORDS_PLAIN},
        {"a 'b c' \"d 'e\" f\\ g", {"a", "b c", "d 'e", "f g"}, 0, RP_WORDS_PLAIN},
        {"-DX='\"q\"' -DY=\"\\\"q\\\"\" ''", {"-DX=\"q\"", "-DY=\"q\"", ""}, 0, RP_WORDS_PLAIN},
        {"a\\\\b \"c\\d\" ';|$('", {"a\\b", "c\\d", ";|$("}, 0, RP_WORDS_PLAIN},
        {"", {NULL}, 0, RP_WORDS_PLAIN},
        {"a; b", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a && b", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a $HOME", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a \"$HOME\"", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a `b`", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a > b", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a\nb", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a 'b", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a \"b", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a \\", {NULL}, -RP_USAGE, RP_WORDS_PLAIN},
        {"a $b (c) \"d$\"", {"a", "$b", "(c)", "d$"}, 0, RP_WORDS_QUOTES},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rp_autowords words = {0};
        size_t count = 0;

        assert_int_equal(words_split(rows[i].text, rows[i].rule, &words, NULL), rows[i].rc);
        while (rows[i].words[count]) {
            assert_true(count < words.count);
            assert_string_equal(words.list[count], rows[i].words[count]);
            count++;
        }
        assert_int_equal(words.count, count);
    }
}

static void options_that_write_other_files_are_left_out(void **state)
{
    rp_autofree char *build = rp_format("hipcc -O2 -g -I inc -DA=1 -MD -MF k.d -save-temps %s "
                                        "other.cpp -L/x -lfoo -Wl,-z,now -o app "
                                        "--offload-arch=gfx942 --offload-arch=gfx90a",
                                        test_source);
    rp_autofree char *program = made(build, RP_COMPILE_PROGRAM);
    rp_autofree char *device = made(build, RP_COMPILE_DEVICE);
    rp_autofree char *ast = made(build, RP_COMPILE_AST);

    (void)state;
    assert_non_null(strstr(program, "-O2 -g -I inc -DA=1"));
    assert_non_null(strstr(program, "/s/new.hip"));
    assert_non_null(strstr(program, "other.cpp"));
    assert_non_null(strstr(program, "-L/x -lfoo -Wl,-z,now"));
    assert_non_null(strstr(program, "--offload-arch=gfx942 --offload-arch=gfx90a"));
    assert_non_null(strstr(program, "-o /o/out"));
    assert_null(strstr(program, " app"));
    assert_null(strstr(program, test_source));
    assert_null(strstr(program, " -M")); /* with the blank: the folder's own name may have "-M" */
    assert_null(strstr(program, " k.d"));
    assert_null(strstr(program, " -save-temps"));
    assert_non_null(strstr(device, "-O2 -g -I inc -DA=1"));
    assert_non_null(strstr(device, "--offload-arch=gfx90a"));
    assert_null(strstr(device, "gfx942"));
    assert_null(strstr(device, "other.cpp"));
    assert_null(strstr(device, "-lfoo"));
    assert_null(strstr(device, "-L/x"));
    assert_non_null(strstr(device, "-o /o/out"));
    assert_non_null(strstr(ast, "-ast-dump-filter=/o/out"));
    assert_non_null(strstr(ast, "-I inc"));
    assert_null(strstr(ast, "-o "));
}

static void choice_refused(struct rp_build_choice choice, const char *part)
{
    struct rp_compile_command *command;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_compile_command_read(&choice, test_source, &command, &err), -RP_USAGE);
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in: %s", part, err.text);
}

static void refused(const char *build, const char *part)
{
    choice_refused((struct rp_build_choice){.build = build}, part);
}

/** It is read, but no program of use is made. */
static void makes_no_program(struct rp_build_choice choice, const char *part)
{
    struct rp_compile_command *command;
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (rp_compile_command_read(&choice, test_source, &command, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(rp_compile_command_check_program(command, &err), -RP_USAGE);
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in: %s", part, err.text);
    assert_int_equal(
        rp_compile_argv(command, RP_COMPILE_PROGRAM, test_source, "o", NULL, &argv, NULL),
        -RP_USAGE);
    assert_int_equal(
        rp_compile_argv(command, RP_COMPILE_DEVICE, test_source, "o", "gfx942", &argv, &err), 0);
    rp_compile_command_free(command);
}

static void builds_that_cannot_be_used_are_refused(void **state)
{
    (void)state;
    refused("hipcc -O3 k.hip -o app; ./app", ";");
    refused("hipcc -O3 another.hip", "does not name");
    refused("./mk -j4", "{source}");
    refused("make -f /dev/null nothing", "make compiles the files");
    refused("/usr/bin/gmake", "{source} main.o");
    refused("ninja -C build", "compile_commands.json");
    refused("cmake --build build", "cmake compiles the files");
    refused("./make.sh -j4", "none of hipcc");
    refused("make SRC={source}", "{output}");
    refused("'' x", "{source}");
    refused("  ", "empty");
}

static void programs_of_linked_device_code_and_libraries_are_refused(void **state)
{
    (void)state;
    makes_no_program((struct rp_build_choice){.build = "hipcc -fgpu-rdc {source} -o app"},
                     "-fgpu-rdc");
    makes_no_program(
        (struct rp_build_choice){.build = "./b {source} {output}", .flags = "-fgpu-rdc"},
        "-fgpu-rdc");
    makes_no_program((struct rp_build_choice){.build = "hipcc -shared -fPIC {source} -o libk.so"},
                     "shared library");
    makes_no_program((struct rp_build_choice){.build = "hipcc -c {source} -o k.o"}, "object file");
}

/** Where the program has line tables, options without -g are not those that it was built with. */
static void a_missing_g_is_named(void **state)
{
    static const struct {
        const char *build, *flags;
        bool has_lines, named;
    } cases[] = {
        {NULL, "-O3", true, true},
        {NULL, "-O3", false, false},
        {NULL, "-O3 -g", true, false},
        {NULL, "-ggdb -O3", true, false},
        {NULL, "-g -O3 -g0", true, true},
        {NULL, NULL, true, false},
        {"./b.sh {source} {output}", "-O1", true, true},
        {"hipcc -O3 {source} -o {output}", NULL, true, true},
        {"hipcc -g1 {source} -o {output}", NULL, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rp_build_choice choice = {
            .build = cases[i].build, .flags = cases[i].flags, .has_lines = cases[i].has_lines};
        struct rp_compile_command *command;
        struct rp_err err = RP_ERR_INIT;

        assert_int_equal(rp_compile_command_read(&choice, test_source, &command, &err), 0);
        const char *hint = rp_compile_command_lines_hint(command);
        if ((strstr(hint, "built with -g") != NULL) != cases[i].named)
            fail_msg("case %zu: '%s'", i, hint);
        rp_compile_command_free(command);
    }
}

/** Flags go to the device code of a script, and to the whole without one; both sources of them, or
 *  one beside a compiler's call, are an error rather than left aside. */
static void flags_are_used_or_refused(void **state)
{
    struct rp_build_choice both = {.build = "./b.sh {source} {output}",
                                   .flags = "-I inc -DX='a b'"};
    struct rp_compile_command *command;
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    rp_cleanup(rp_compile_argv_free) char **program = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_compile_command_read(&both, test_source, &command, &err), 0);
    assert_non_null(strstr(rp_compile_command_hint(command), "other options than those"));
    assert_int_equal(
        rp_compile_argv(command, RP_COMPILE_DEVICE, test_source, "o", "gfx942", &argv, &err), 0);
    assert_true(has(argv, "inc"));
    assert_true(has(argv, "-DX=a b"));
    assert_int_equal(
        rp_compile_argv(command, RP_COMPILE_PROGRAM, test_source, "o", NULL, &program, &err), 0);
    assert_string_equal(program[0], "./b.sh");
    rp_compile_command_free(command);
    both.flags = NULL;
    assert_int_equal(rp_compile_command_read(&both, test_source, &command, &err), 0);
    assert_non_null(strstr(rp_compile_command_hint(command), "--flags"));
    rp_compile_command_free(command);
    choice_refused((struct rp_build_choice){.flags = "-O1", .compile_commands = "x.json"},
                   "give one of them");
    choice_refused((struct rp_build_choice){.build = "hipcc {source}", .flags = "-O1"}, "--flags");
    choice_refused((struct rp_build_choice){.build = "hipcc {source}", .compile_commands = "x"},
                   "--compile-commands");
    choice_refused((struct rp_build_choice){.flags = "-O1 other.hip"}, "other.hip");
    choice_refused((struct rp_build_choice){.flags = "-O1 -I"}, "-I");
}

/** The file that is compiled stays, the header is another one for the compiler; as it is, it is
 * not. */
static void a_header_is_changed_for_those_that_include_it(void **state)
{
    rp_autofree char *header = rp_path_join(scratch_dir, "local.h");
    rp_autofree char *copy = rp_path_join(scratch_dir, "changed/local.h");
    rp_autofree char *overlay = rp_format("-ivfsoverlay%s/changed/local.h.overlay", scratch_dir);
    rp_autofree char *build = rp_format("hipcc -O1 %s other.cpp -o app", test_source);
    struct rp_build_choice choice = {.build = build};
    struct rp_compile_command *command;
    const char *path, *directory;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    put("changed/local.h", "");
    if (rp_compile_command_read(&choice, header, &command, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(rp_compile_command_included(command, &path, &directory));
    assert_string_equal(path, header);
    for (int what = RP_COMPILE_PROGRAM; what <= RP_COMPILE_AST; what++) {
        rp_cleanup(rp_compile_argv_free) char **argv = NULL;
        rp_cleanup(rp_compile_argv_free) char **same = NULL;

        assert_int_equal(
            rp_compile_argv(command, (enum rp_compile_what)what, copy, "o", "gfx942", &argv, &err),
            0);
        assert_true(has(argv, overlay) && has(argv, test_source) && !has(argv, copy));
        assert_int_equal(rp_compile_argv(command, (enum rp_compile_what)what, header, "o", "gfx942",
                                         &same, &err),
                         0);
        assert_true(has(same, test_source) && !has(same, overlay));
    }
    rp_compile_command_free(command);
}

static void other_programs_get_both_paths(void **state)
{
    rp_autofree char *made_by =
        made("make -f m.mk SRC={source} 'OUT={output}'", RP_COMPILE_PROGRAM);
    rp_autofree char *cached = made("ccache hipcc {source} -O1 -o x", RP_COMPILE_PROGRAM);

    (void)state;
    assert_string_equal(made_by, "make -f m.mk SRC=/s/new.hip OUT=/o/out");
    assert_non_null(strstr(cached, "-O1"));
    assert_null(strstr(cached, "ccache"));
    assert_null(strstr(cached, " x"));
}

static void the_nearest_database_with_the_source_is_used(void **state)
{
    rp_autofree char *entry =
        rp_format("[{\"directory\": \"%s\", \"file\": \"x.hip\", \"command\": \"false\"},\n"
                  " {\"directory\": \"%s/include\", \"file\": \"../k.hip\", \"command\":"
                  " \"clang++ -DSPACE=\\\\\\\"a\\\\ b\\\\\\\" -c ../k.hip -o k.o\"}]",
                  scratch_dir, scratch_dir);
    rp_autofree char *path = rp_path_join(scratch_dir, "build/compile_commands.json");
    struct rp_build_choice choice = {0};
    struct rp_compile_command *command;
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    rp_autofree char *folder = rp_format("-working-directory=%s/include", scratch_dir);
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    put("build/compile_commands.json", entry);
    assert_int_equal(rp_compile_command_read(&choice, test_source, &command, &err), 0);
    assert_string_equal(rp_compile_command_origin(command), path);
    assert_int_equal(rp_compile_command_check_program(command, &err), -RP_USAGE);
    assert_int_equal(
        rp_compile_argv(command, RP_COMPILE_PROGRAM, test_source, "o", NULL, &argv, &err),
        -RP_USAGE);
    assert_non_null(strstr(err.text, "--build 'hipcc {source} main.o -o {output}'"));
    assert_int_equal(
        rp_compile_argv(command, RP_COMPILE_DEVICE, test_source, "o", "gfx942", &argv, &err), 0);
    assert_true(has(argv, "-DSPACE=\"a b\""));
    assert_true(has(argv, folder));
    assert_false(has(argv, "-c"));
    assert_false(has(argv, "../k.hip"));
    assert_true(has(argv, test_source));
    rp_compile_command_free(command);
    put("build/compile_commands.json", "[}");
    assert_int_equal(rp_compile_command_read(&choice, test_source, &command, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(unlink(path), 0);
    choice.compile_commands = path;
    assert_int_equal(rp_compile_command_read(&choice, test_source, &command, &err), -RP_BAD_INPUT);
    assert_string_equal(strstr(err.text, path) + strlen(path), ": No such file or directory");
    choice.compile_commands = NULL;
    assert_int_equal(rp_compile_command_read(&choice, test_source, &command, &err), 0);
    assert_int_equal(rp_compile_command_check_program(command, &err), 0);
    rp_compile_command_free(command);
}

/** A copy in another folder, whose "local.h" is only beside the user's file, becomes a code object
 *  and a program. */
static void the_compiler_takes_them(void **state)
{
    rp_autofree char *build = rp_format("hipcc -O1 %s -o %s/app", test_source, scratch_dir);
    rp_autofree char *copy = rp_path_join(scratch_dir, "elsewhere/k.hip");
    rp_autofree char *output = rp_path_join(scratch_dir, "elsewhere/out");
    rp_autofree char *text = rp_read_text(test_source, 4096);
    struct rp_build_choice choice = {.build = build};
    struct rp_compile_command *command;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    put("elsewhere/k.hip", text);
    if (rp_compile_command_read(&choice, test_source, &command, &err) < 0)
        fail_msg("%s", err.text);
    for (int what = RP_COMPILE_PROGRAM; what <= RP_COMPILE_DEVICE; what++) {
        rp_cleanup(rp_compile_argv_free) char **argv = NULL;
        struct rp_proc_end end;
        unsigned char head[20] = {0};
        FILE *file;

        assert_int_equal(rp_compile_argv(command, (enum rp_compile_what)what, copy, output,
                                         "gfx90a", &argv, &err),
                         0);
        struct rp_proc proc = {.path = argv[0], .argv = argv};
        assert_int_equal(rp_proc_run(&proc, &end, &err), 0);
        assert_int_equal(end.status, 0);
        file = fopen(output, "rb");
        assert_non_null(file);
        assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
        fclose(file);
        assert_memory_equal(head, "\177ELF", 4);
        /* e_machine: x86-64 and AMDGPU, elf.h */
        assert_int_equal(head[18], what == RP_COMPILE_PROGRAM ? 62 : 224);
    }
    rp_compile_command_free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_as_a_shell_does),
        cmocka_unit_test(options_that_write_other_files_are_left_out),
        cmocka_unit_test(builds_that_cannot_be_used_are_refused),
        cmocka_unit_test(programs_of_linked_device_code_and_libraries_are_refused),
        cmocka_unit_test(a_missing_g_is_named),
        cmocka_unit_test(flags_are_used_or_refused),
        cmocka_unit_test(a_header_is_changed_for_those_that_include_it),
        cmocka_unit_test(other_programs_get_both_paths),
        cmocka_unit_test(the_nearest_database_with_the_source_is_used),
        cmocka_unit_test(the_compiler_takes_them),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
