/* What test_ninja and make print, and the way from a source to the program that is found in it. The
 * texts are those of CMake 3.25's generators and of GNU make 4.3. */
#include "experiment/build_tool_emulation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

#include "unit/cmocka_all.h"

#include "experiment/build_tool_emulation.c"

static const char test_ninja[] =
    "/r/hipcc -DS=2 -MD -MT lib/k.o -MF lib/k.o.d -o lib/k.o -c /p/k.cpp\n"
    ": && /usr/bin/cmake -E rm -f libk.a && /usr/bin/llvm-ar-14 qc libk.a  lib/k.o && "
    "/usr/bin/llvm-ranlib libk.a && :\n"
    "/r/hipcc -o app/main.o -c /p/main.cpp\n"
    "/r/hipcc -o test/test.o -c /p/test.cpp\n"
    ": && /r/hipcc -O3 app/main.o -o app/prog  libk.a && :\n"
    ": && /r/hipcc -O3 test/test.o -o test/prog libk.a && :\n";

/** Words of a step, joined. */
static char *joined(const struct rp_build_step *step)
{
    char *text = strdup("");

    for (size_t i = 0; i < step->words.count; i++) {
        char *more = rp_format("%s%s%s", text, i ? " " : "", step->words.list[i]);

        free(text);
        text = more;
    }
    return text;
}

static void is_step(const struct rp_build_step *step, const char *directory, const char *output,
                    const char *words)
{
    rp_autofree char *text = joined(step);

    assert_string_equal(step->directory, directory);
    assert_string_equal(step->output, output);
    assert_string_equal(text, words);
}

static void the_way_to_one_of_two_programs(void **state)
{
    rp_autosteps steps = {0};

    (void)state;
    assert_int_equal(rp_build_steps_read(test_ninja, "/b", &steps, NULL), 0);
    assert_int_equal(steps.count, 7);
    assert_true(rp_build_steps_keep(&steps, "/p/k.cpp", "/b/app/prog"));
    assert_int_equal(steps.count, 4);
    is_step(&steps.list[0], "/b", "/b/lib/k.o",
            "/r/hipcc -DS=2 -MD -MT lib/k.o -MF lib/k.o.d -o lib/k.o -c /p/k.cpp");
    is_step(&steps.list[1], "/b", "/b/libk.a", "/usr/bin/llvm-ar-14 qc libk.a lib/k.o");
    is_step(&steps.list[2], "/b", "/b/libk.a", "/usr/bin/llvm-ranlib libk.a");
    is_step(&steps.list[3], "/b", "/b/app/prog", "/r/hipcc -O3 app/main.o -o app/prog libk.a");
}

/** The program was copied elsewhere: which of two it is nobody can tell; a single one is it. */
static void a_program_that_is_not_made_there(void **state)
{
    rp_autosteps steps = {0};
    rp_autosteps other = {0};

    (void)state;
    assert_int_equal(rp_build_steps_read(test_ninja, "/b", &steps, NULL), 0);
    assert_true(rp_build_steps_keep(&steps, "/p/k.cpp", "/elsewhere/prog"));
    assert_int_equal(steps.count, 1);
    assert_int_equal(rp_build_steps_read(test_ninja, "/b", &other, NULL), 0);
    assert_true(rp_build_steps_keep(&other, "/p/main.cpp", NULL));
    assert_int_equal(other.count, 2);
    assert_false(rp_build_steps_keep(&other, "/p/absent.cpp", NULL));
    assert_int_equal(other.count, 0);
}

static void folders_of_make_and_lines_of_shells(void **state)
{
    static const char text[] = "make: Entering directory '/p'\n"
                               "mkdir -p obj; echo \"CXX it's\"\n"
                               "make -C sub\n"
                               "make[1]: Entering directory '/p/sub'\n"
                               "ccache hipcc -O2 \\\n    -c k.hip\n"
                               "hipcc -c other.hip -oother.o 2> log; echo done\n"
                               "make[1]: Leaving directory '/p/sub'\n"
                               "cd out && hipcc ../sub/k.o \"../sub/other.o\" -o prog | tee log\n"
                               "echo 'a quote that is not closed\n"
                               "cp out/prog /usr/bin\n"
                               "make: Leaving directory '/p'\n";
    rp_autosteps steps = {0};

    (void)state;
    assert_int_equal(rp_build_steps_read(text, "/start", &steps, NULL), 0);
    assert_int_equal(steps.count, 3);
    is_step(&steps.list[0], "/p/sub", "/p/sub/k.o", "hipcc -O2 -c k.hip");
    is_step(&steps.list[1], "/p/sub", "/p/sub/other.o", "hipcc -c other.hip -oother.o");
    is_step(&steps.list[2], "/p/out", "/p/out/prog", "hipcc ../sub/k.o ../sub/other.o -o prog");
}

/** HIP's compiler for the kernels, the host's for the rest, an archive in between. */
static void the_host_s_compiler_links(void **state)
{
    static const char text[] = "hipcc -c k.hip\n"
                               "g++ -Ik.o -c main.cpp\n"
                               "x86_64-linux-gnu-gcc-ar rcs libk.a k.o\n"
                               "g++-12 -L. main.o libk.a -lamdhip64 -o prog\n";
    rp_autosteps steps = {0};

    (void)state;
    assert_int_equal(rp_build_steps_read(text, "/p", &steps, NULL), 0);
    assert_true(rp_build_steps_keep(&steps, "/p/k.hip", "/p/prog"));
    assert_int_equal(steps.count, 3);
    is_step(&steps.list[1], "/p", "/p/libk.a", "x86_64-linux-gnu-gcc-ar rcs libk.a k.o");
    is_step(&steps.list[2], "/p", "/p/prog", "g++-12 -L. main.o libk.a -lamdhip64 -o prog");
}

static void scripts_of_the_linker(void **state)
{
    char dir[] = "/tmp/rp-steps-XXXXXX";
    rp_autofree char *script = NULL;
    rp_autofree char *output = NULL;
    rp_autosteps steps = {0};

    (void)state;
    assert_non_null(mkdtemp(dir));
    script = rp_path_join(dir, "link.txt");
    output = rp_path_join(dir, "app");
    assert_int_equal(rp_write_file(script, "hipcc a.o -o app \n", 18, NULL), 0);
    assert_int_equal(
        rp_build_steps_read("/usr/bin/cmake -E cmake_link_script link.txt --verbose=1\n"
                            "/usr/bin/cmake -E cmake_link_script gone.txt --verbose=\n",
                            dir, &steps, NULL),
        0);
    rp_remove_tree(dir);
    assert_int_equal(steps.count, 1);
    is_step(&steps.list[0], dir, output, "hipcc a.o -o app");
}

static bool is_tool(const char *build)
{
    rp_autowords words = {0};

    assert_int_equal(rp_words_split(build, RP_WORDS_PLAIN, &words, NULL), 0);
    return rp_build_is_tool(&words);
}

static void tools(void **state)
{
    (void)state;
    assert_true(is_tool("make -j4 app"));
    assert_true(is_tool("/usr/bin/gmake"));
    assert_true(is_tool("ninja -C build"));
    assert_true(is_tool("cmake --build build"));
    assert_false(is_tool("cmake -S . -B build"));
    assert_false(is_tool("./make.sh"));
}

/* Several lines of make are one message. */
static void a_tool_that_fails(void **state)
{
    char path[] = "/tmp/rp-makefile-XXXXXX";
    const int fd = mkstemp(path);
    rp_autofree char *build = rp_format("make -f %s", path);
    rp_autowords words = {0};
    struct rp_build_steps steps;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(write(fd, "$(warning one)\n$(error two)\n", 28), 28);
    close(fd);
    assert_int_equal(rp_words_split(build, RP_WORDS_PLAIN, &words, NULL), 0);
    assert_int_equal(rp_build_steps_list(&words, "/k.hip", false, &steps, &err), -RP_USAGE);
    unlink(path);
    assert_non_null(strstr(err.text, "does not list its commands: "));
    assert_non_null(strstr(err.text, ":1: one | "));
    assert_null(strchr(err.text, '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_to_one_of_two_programs),
        cmocka_unit_test(a_program_that_is_not_made_there),
        cmocka_unit_test(folders_of_make_and_lines_of_shells),
        cmocka_unit_test(the_host_s_compiler_links),
        cmocka_unit_test(scripts_of_the_linker),
        cmocka_unit_test(tools),
        cmocka_unit_test(a_tool_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
