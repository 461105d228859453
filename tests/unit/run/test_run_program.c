#include "unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/hip_compiler.h"
#include "run/machine.h"
#include "run/result_folder.h"
#include "run/run_program.h"
#include "trace/records.h"

#include "run/run_program.c"

struct scratch {
    char dir[64];
};

static int make_scratch(void **state)
{
    struct scratch *scratch = calloc(1, sizeof *scratch);

    strcpy(scratch->dir, "/tmp/rp-test-XXXXXX");
    *state = scratch;
    return mkdtemp(scratch->dir) ? 0 : -1;
}

static int drop_scratch(void **state)
{
    struct scratch *scratch = *state;

    rp_remove_tree(scratch->dir);
    free(scratch);
    return 0;
}

static void put(const struct scratch *scratch, const char *name, const char *text)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *path = rp_path_join(scratch->dir, name);
    rp_autofree char *dir = strdup(path);

    *strrchr(dir, '/') = '\0';
    assert_int_equal(rp_mkdirs(dir, &err), 0);
    assert_int_equal(rp_write_file(path, text, strlen(text), &err), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static bool has(const struct scratch *scratch, const char *name)
{
    rp_autofree char *path = rp_path_join(scratch->dir, name);

    return rp_path_exists(path);
}

/* --- environment --------------------------------------------------------------------------- */

static void an_installed_rocm_is_taken(void **state)
{
    struct scratch *scratch = *state;
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;

    put(scratch, "rocm/.info/version", "7.1.0-42\n");
    put(scratch, "rocm/lib/libhsa-runtime64.so.1", "");
    put(scratch, "rocm/bin/hipcc", "");
    put(scratch, "rocm/bin/rocprofv3", "");
    {
        rp_autofree char *root = rp_path_join(scratch->dir, "rocm");
        setenv("ROCM_PATH", root, 1);
    }
    assert_int_equal(rp_environment_detect(&env, &err), 0);
    assert_int_equal(env.rocm_kind, RP_ROCM_INSTALLED);
    assert_string_equal(env.rocm_version, "7.1.0-42");
    assert_non_null(strstr(env.compiler, "bin/hipcc"));
    assert_non_null(strstr(env.rocprofv3, "bin/rocprofv3"));
    unsetenv("ROCM_PATH");
}

static void another_major_version_is_not(void **state)
{
    struct scratch *scratch = *state;
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *root = rp_path_join(scratch->dir, "rocm");

    put(scratch, "rocm/.info/version", "6.4.1\n");
    put(scratch, "rocm/lib/libhsa-runtime64.so.1", "");
    setenv("ROCM_PATH", root, 1);
    assert_int_equal(rp_environment_detect(&env, &err), 0);
    assert_null(env.rocm_root); /* nor is another one taken in its place */
    assert_string_equal(env.rocm_refused, root);
    unsetenv("ROCM_PATH");
}

static int resolved(const struct rp_environment *env, enum rp_device wish, enum rp_device *ret,
                    struct rp_err *err)
{
    struct rp_run_options options = {.device = wish};
    int rc = rp_device_resolve(env, &options, err);

    *ret = options.device;
    return rc;
}

static void devices_are_resolved(void **state)
{
    struct rp_environment env = {.rocm_kind = RP_ROCM_PRIVATE,
                                 .private_root = (char *)"/cache/rocm",
                                 .device_library = (char *)"/x.so"};
    struct rp_run_options wish = {0};
    struct rp_err err = RP_ERR_INIT;
    enum rp_device device;

    (void)state;
    assert_int_equal(resolved(&env, RP_DEVICE_AUTO, &device, &err), 0);
    assert_int_equal(device, RP_DEVICE_GPU);
    env.gpu_reason = (char *)"no driver";
    assert_int_equal(resolved(&env, RP_DEVICE_AUTO, &device, &err), 0);
    assert_int_equal(device, RP_DEVICE_SOFTWARE);
    assert_int_equal(resolved(&env, RP_DEVICE_GPU, &device, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "--device software"));
    env.device_library = (char *)"/with space/x.so";
    assert_int_equal(resolved(&env, RP_DEVICE_AUTO, &device, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "LD_PRELOAD"));
    env.device_library = NULL;
    assert_int_equal(resolved(&env, RP_DEVICE_AUTO, &device, &err), -RP_ENVIRONMENT);
    env.rocm_kind = RP_ROCM_NONE;
    assert_int_equal(resolved(&env, RP_DEVICE_AUTO, &device, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "; run ./setup in the source folder"));
    env.setup_command = (char *)"/usr/share/rocm-perf-lab/setup --rocm";
    assert_int_equal(resolved(&env, RP_DEVICE_AUTO, &device, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "; run /usr/share/rocm-perf-lab/setup --rocm"));
    assert_int_equal(rp_device_parse("cuda", &wish, &err), -RP_USAGE);
    assert_int_equal(rp_device_parse("software:", &wish, &err), -RP_USAGE);
    assert_int_equal(rp_device_parse("software:gfx1030", &wish, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "RDNA2"));
    assert_int_equal(rp_device_parse("software:gfx942:mi308x", &wish, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "gfx942:mi325x"));

    assert_int_equal(rp_device_parse("software:mi325x", &wish, &err), 0);
    assert_int_equal(wish.device, RP_DEVICE_SOFTWARE);
    assert_string_equal(rp_software_gpu(&wish).name, "gfx942");
    assert_string_equal(rp_software_gpu(&wish).product, "AMD Instinct MI325X");
    assert_int_equal(rp_device_parse("software", &wish, &err), 0);
    assert_string_equal(rp_software_gpu(&wish).product, "AMD Instinct MI300X");
    wish.target = NULL;
    assert_string_equal(rp_software_gpu(&wish).product, "AMD Instinct MI300X");
}

static void timing_is_part_of_the_identity(void **state)
{
    const struct rp_environment env = {.rocm_version = (char *)"7.2.4"};
    struct rp_run_options options;
    struct rp_device_identity id;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (int detailed = 0; detailed < 2; detailed++) {
        rp_autofree char *gpu = NULL, *timing = NULL, *expected = NULL;

        options = (struct rp_run_options){.device = RP_DEVICE_SOFTWARE};
        if (detailed) {
            setenv("ROCM_PERF_DEVICE", "mi325x", 1);
            setenv("ROCM_PERF_DEVICE_TIMING", "detailed", 1);
        } else {
            unsetenv("ROCM_PERF_DEVICE");
            unsetenv("ROCM_PERF_DEVICE_TIMING");
        }
        assert_int_equal(rp_run_options_inherit(&options, &err), 0);
        assert_int_equal(rp_device_identify(&env, &options, &id, &err), 0);
        gpu = rp_device_identity_gpu(&id);
        timing = rp_device_identity_timing(&id);
        expected = detailed ? rp_format("detailed (version %d)", RP_TIMING_DETAILED_VERSION)
                            : rp_format("fast (version %d)", RP_TIMING_FAST_VERSION);
        assert_string_equal(gpu, detailed
                                     ? "AMD Instinct MI325X (software device, gfx942, 304 CUs)"
                                     : "AMD Instinct MI300X (software device, gfx942, 304 CUs)");
        assert_string_equal(timing, expected);
        assert_string_equal(id.rocm, "7.2.4");
        rp_device_identity_free(&id);
    }
    unsetenv("ROCM_PERF_DEVICE");
    unsetenv("ROCM_PERF_DEVICE_TIMING");
}

/* --- hipcc --------------------------------------------------------------------------------- */

/* Arguments as one line, with the prefix's own paths cut. */
static char *compile_line(enum rp_rocm_kind kind, const char *const *user)
{
    struct rp_environment env = {
        .rocm_kind = kind,
        .rocm_root = (char *)"/R",
        .compiler =
            (char *)(kind == RP_ROCM_PRIVATE ? "/R/usr/lib/llvm-22/bin/clang++" : "/R/bin/hipcc"),
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

#define LINE(kind, expected, ...)                                                                  \
    do {                                                                                           \
        const char *const user[] = {__VA_ARGS__, NULL};                                            \
        rp_autofree char *seen = compile_line(kind, user);                                         \
        assert_string_equal(seen, expected);                                                       \
    } while (0)

#define LINKS " --hip-link -Wl,--disable-new-dtags"

static void hipcc_sets_language_and_defaults(void **state)
{
    (void)state;
    LINE(RP_ROCM_PRIVATE, "--offload-arch=gfx942 -O3 -xhip a.hip -o a" LINKS, "a.hip", "-o", "a");
    LINE(RP_ROCM_PRIVATE, "--offload-arch=gfx942 -xhip a.cu b.cpp -xnone c.o -O1 -o d.cpp" LINKS,
         "a.cu", "b.cpp", "c.o", "-O1", "-o", "d.cpp");
    LINE(RP_ROCM_PRIVATE, "-O3 --offload-arch=gfx90a -c -xhip a.hip", "--offload-arch=gfx90a", "-c",
         "a.hip");
    LINE(RP_ROCM_PRIVATE, "--offload-arch=gfx942 -O3 --cuda-device-only -xhip a.hip", "--genco",
         "a.hip");
    LINE(RP_ROCM_PRIVATE, "a.o b.o -o app" LINKS, "a.o", "b.o", "-o", "app");
    LINE(RP_ROCM_PRIVATE, "--offload-arch=gfx942 -fgpu-rdc a.o b.o -o app" LINKS, "-fgpu-rdc",
         "a.o", "b.o", "-o", "app");
    LINE(RP_ROCM_PRIVATE, "--offload-arch=gfx942 -O3 -xc a.c -xhip b.hip" LINKS, "a.c", "b.hip");
    LINE(RP_ROCM_PRIVATE, "--version", "--version");
    LINE(RP_ROCM_PRIVATE, "--offload-arch=gfx942 -O3 -I x.cpp -xhip y.cpp" LINKS, "-I", "x.cpp",
         "y.cpp");
    LINE(RP_ROCM_PRIVATE, "--offload-arch=gfx942 -O3 -x c++ y.cpp" LINKS, "-x", "c++", "y.cpp");
    LINE(RP_ROCM_INSTALLED, "--offload-arch=gfx942 a.hip", "a.hip");
}

static void no_compiler_is_an_error(void **state)
{
    struct rp_environment env = {0};
    char *user[] = {NULL};
    char **args = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_hipcc_args(&env, user, &args, &err), -RP_ENVIRONMENT);
    assert_null(args);
}

/* --- programs ------------------------------------------------------------------------------ */

static void elf_files_tell_their_needs(void **state)
{
    struct scratch *scratch = *state;
    struct rp_program_needs needs;
    rp_autofree char *path = rp_path_join(scratch->dir, "cut");

    rp_program_needs("/proc/self/exe", "/lib64", &needs);
    assert_true(needs.is_elf);
    assert_false(needs.needs_rocm);
    assert_true(needs.interp_is_in);
    rp_program_needs("/proc/self/exe", "/elsewhere", &needs);
    assert_false(needs.interp_is_in);
    rp_program_needs("/etc/passwd", "/", &needs);
    assert_false(needs.is_elf);
    put(scratch, "cut", "\177ELF\2\1\1");
    rp_program_needs(path, "/", &needs);
    assert_false(needs.needs_rocm);
}

/* The value that a program gets; NULL: none, or it is taken out. @p ret_said  whether the plan
 * names it at all */
static const char *planned(const struct rp_run_env *env, const char *name, bool *ret_said)
{
    const char *value = NULL;

    *ret_said = false;
    for (const struct rp_env_change *at = env->list; at->name; at++)
        if (strcmp(at->name, name) == 0) { /* the last one stays */
            *ret_said = true;
            value = at->value;
        }
    return value;
}

static void plans_carry_device_and_collector(void **state)
{
    struct rp_environment env = {.rocm_kind = RP_ROCM_INSTALLED,
                                 .device_library = (char *)"/d.so",
                                 .tool_library = (char *)"/t.so"};
    const struct rp_run_options software = {.device = RP_DEVICE_SOFTWARE, .trace_dir = "/tmp"};
    struct rp_run_options on_gpu = {.device = RP_DEVICE_GPU};
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0}, gpu = {0};
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"true", NULL};
    struct rp_err err = RP_ERR_INIT;
    bool said;

    (void)state;
    assert_int_equal(rp_launch_plan(&env, &software, argv, &plan, &err), 0);
    assert_string_equal(plan.env.list[0].name, "LD_PRELOAD");
    assert_string_equal(plan.env.list[1].name, "HSA_TOOLS_LIB");
    assert_null(planned(&plan.env, "ROCM_PERF_TOOL_DEBUG", &said));
    assert_true(said); /* the user's own log would be written by all runs */
    assert_string_equal(plan.argv[0], "sh");
    assert_string_equal(plan.argv[2], "true");
    assert_null(plan.argv[3]);
    assert_int_equal(rp_launch_plan(&env, &on_gpu, argv, &gpu, &err), 0);
    assert_null(gpu.env.list[0].name);
    env.tool_library = NULL;
    on_gpu.trace_dir = "/tmp";
    assert_int_equal(rp_launch_plan(&env, &on_gpu, argv, &gpu, &err), -RP_ENVIRONMENT);
}

static void is_planned(const struct rp_run_options *options, const char *name, const char *value)
{
    rp_cleanup(rp_run_env_free) struct rp_run_env env = {0};
    struct rp_err err = RP_ERR_INIT;
    const char *found;
    bool said;

    assert_int_equal(rp_run_env_make(NULL, options, &env, &err), 0);
    found = planned(&env, name, &said);
    assert_true(said);
    if (value)
        assert_string_equal(found, value);
    else
        assert_null(found);
}

static void options_become_variables(void **state)
{
    static const char *const symbols[] = {"_Z3addv", "_Z3subv", NULL};
    static const struct rp_env_change more[] = {
        {.name = "ROCM_PERF_DEVICE_GPUS", .value = "2"}, {.name = "UNROLL", .value = "4"}, {0}};
    const struct rp_thread_trace_options threads = {
        .symbols = symbols, .iterations = "[2-3],[7]", .simd_select = "0x3", .target_cu = "1"};
    struct rp_run_options o = {.target = "mi325x",
                               .timing = RP_TIMING_FAST,
                               .threads = 3,
                               .gpus = 8,
                               .target_said = true,
                               .counters = "SQ_WAVES,GRBM_COUNT"};

    (void)state;
    is_planned(&o, "ROCM_PERF_DEVICE", "mi325x");
    is_planned(&o, "ROCM_PERF_DEVICE_TIMING", "fast");
    is_planned(&o, "ROCM_PERF_DEVICE_THREADS", "3");
    is_planned(&o, "ROCM_PERF_DEVICE_GPUS", "8");
    is_planned(&o, "ROCM_PERF_DEVICE_TARGET_SAID", "1");
    is_planned(&o, "ROCM_PERF_DEVICE_COUNTERS", "SQ_WAVES,GRBM_COUNT");
    o.counters = "";
    o.thread_trace = &threads;
    o.more = more;
    is_planned(&o, "ROCM_PERF_DEVICE_COUNTERS", NULL);
    is_planned(&o, "ROCM_PERF_DEVICE_TIMING", "detailed");
    is_planned(&o, RP_THREADS_KERNELS_VARIABLE, "_Z3addv\n_Z3subv");
    is_planned(&o, RP_THREADS_LAUNCHES_VARIABLE, "2-3,7-7");
    is_planned(&o, RP_THREADS_WAVES_VARIABLE, "1 1 3 200000");
    is_planned(&o, "ROCM_PERF_DEVICE_GPUS", "2");
    is_planned(&o, "UNROLL", "4");
}

static void nothing_said_is_inherited(void **state)
{
    const struct rp_run_options nothing = {0};
    rp_cleanup(rp_run_env_free) struct rp_run_env env = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_run_env_make(NULL, &nothing, &env, &err), 0);
    assert_null(env.list[0].name);
}

/* What is in the environment, what an option says, and what comes of both. */
static void options_come_before_variables(void **state)
{
    struct rp_run_options o = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    setenv("ROCM_PERF_DEVICE", "mi325x", 1);
    setenv("ROCM_PERF_DEVICE_TIMING", "detailed", 1);
    setenv("ROCM_PERF_DEVICE_THREADS", "5", 1);
    setenv("ROCM_PERF_DEVICE_GPUS", "many", 1);
    assert_int_equal(rp_run_options_inherit(&o, &err), -RP_USAGE);
    assert_string_equal(err.text, "ROCM_PERF_DEVICE_GPUS=many: use a whole number from 1 to 8, or "
                                  "unset it");
    o = (struct rp_run_options){.gpus = 2, .usual_target = "mi300a"};
    assert_int_equal(rp_run_options_inherit(&o, &err), 0);
    assert_string_equal(o.target, "mi325x");
    assert_int_equal(o.timing, RP_TIMING_DETAILED);
    assert_int_equal(o.threads, 5);
    assert_int_equal(o.gpus, 2);
    o = (struct rp_run_options){
        .gpus = 2, .threads = 1, .timing = RP_TIMING_OFF, .target = "gfx90a:mi250x"};
    assert_int_equal(rp_run_options_inherit(&o, &err), 0);
    assert_string_equal(o.target, "gfx90a:mi250x");
    assert_int_equal(o.timing, RP_TIMING_OFF);
    assert_int_equal(o.threads, 1);
    unsetenv("ROCM_PERF_DEVICE_GPUS");
    unsetenv("ROCM_PERF_DEVICE_THREADS");
    unsetenv("ROCM_PERF_DEVICE_TIMING");
    unsetenv("ROCM_PERF_DEVICE");
    o = (struct rp_run_options){.usual_target = "mi300a"};
    assert_int_equal(rp_run_options_inherit(&o, &err), 0);
    assert_string_equal(o.target, "mi300a");
    assert_int_equal(o.timing, RP_TIMING_UNSAID);
    assert_int_equal(o.threads, 0);
    assert_int_equal(o.gpus, 0);
}

/* --- result folder ------------------------------------------------------------------------- */

static void results_are_replaced_and_foreign_files_kept(void **state)
{
    struct scratch *scratch = *state;
    rp_cleanup(rp_result_folder_close) struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *fresh = NULL;

    put(scratch, "profile.json", "old");
    put(scratch, "trace_results.db", "old");
    put(scratch, "trace_2_results.db", "old");
    put(scratch, "repeats/run-2_results.db", "old");
    put(scratch, "trace_of_mine_results.db", "mine");
    put(scratch, "notes.txt", "mine");
    assert_int_equal(rp_result_folder_open(scratch->dir, &dir, &err), 0);
    assert_true(has(scratch, "profile.json"));
    fresh = rp_path_join(dir.partial, "trace_results.db");
    assert_int_equal(rp_write_file(fresh, "new", 3, &err), 0);
    assert_int_equal(rp_result_folder_commit(&dir, &err), 0);
    {
        rp_autofree char *path = rp_path_join(scratch->dir, "trace_results.db");
        rp_autofree char *text = rp_read_text(path, 10);
        assert_string_equal(text, "new");
    }
    assert_false(has(scratch, "profile.json"));
    assert_false(has(scratch, "trace_2_results.db"));
    assert_false(has(scratch, "repeats"));
    assert_true(has(scratch, "trace_of_mine_results.db"));
    assert_true(has(scratch, "notes.txt"));
}

static void a_folder_for_nothing_goes_again(void **state)
{
    struct scratch *scratch = *state;
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *path = rp_path_join(scratch->dir, "new/deep");
    rp_autofree char *failed = rp_path_join(path, "failed");
    for (int kept = 0; kept < 2; kept++) {
        struct rp_result_folder dir = {0};
        assert_int_equal(rp_result_folder_open(path, &dir, &err), 0);
        if (kept)
            assert_int_equal(rp_result_folder_keep_failed(&dir, &err), 0);
        rp_result_folder_close(&dir);
        assert_int_equal(rp_path_is_dir(path), kept);
    }
    struct rp_result_folder dir = {0};
    assert_int_equal(rmdir(failed), 0);
    assert_int_equal(rp_result_folder_open(path, &dir, &err), 0);
    rp_result_folder_close(&dir);
    assert_true(rp_path_is_dir(path)); /* it was there before */
}

static void foreign_things_under_our_names_are_refused(void **state)
{
    struct scratch *scratch = *state;
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;

    put(scratch, "repeats/run-2_results.db", "ours");
    put(scratch, "repeats/mine.txt", "mine");
    assert_int_equal(rp_result_folder_open(scratch->dir, &dir, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "repeats/mine.txt"));
    assert_true(has(scratch, "repeats/mine.txt"));
    assert_true(has(scratch, "repeats/run-2_results.db"));
}

static void folders_under_our_names_are_refused(void **state)
{
    struct scratch *scratch = *state;
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;

    put(scratch, "profile.json/mine.txt", "mine");
    assert_int_equal(rp_result_folder_open(scratch->dir, &dir, &err), -RP_ENVIRONMENT);
    assert_true(has(scratch, "profile.json/mine.txt"));
}

static void an_abandoned_result_changes_nothing(void **state)
{
    struct scratch *scratch = *state;
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *fresh = NULL;

    put(scratch, "profile.json", "old");
    put(scratch, ".partial-999999999/profile.json", "of a process that is gone");
    assert_int_equal(rp_result_folder_open(scratch->dir, &dir, &err), 0);
    assert_false(has(scratch, ".partial-999999999"));
    fresh = rp_path_join(dir.partial, "profile.json");
    assert_int_equal(rp_write_file(fresh, "new", 3, &err), 0);
    rp_result_folder_close(&dir);
    {
        rp_autofree char *path = rp_path_join(scratch->dir, "profile.json");
        rp_autofree char *text = rp_read_text(path, 10);
        assert_string_equal(text, "old");
    }
}

static int run_programs(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_installed_rocm_is_taken, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(another_major_version_is_not, make_scratch, drop_scratch),
        cmocka_unit_test(devices_are_resolved),
        cmocka_unit_test(timing_is_part_of_the_identity),
        cmocka_unit_test(hipcc_sets_language_and_defaults),
        cmocka_unit_test(no_compiler_is_an_error),
        cmocka_unit_test_setup_teardown(elf_files_tell_their_needs, make_scratch, drop_scratch),
        cmocka_unit_test(plans_carry_device_and_collector),
        cmocka_unit_test(options_become_variables),
        cmocka_unit_test(nothing_said_is_inherited),
        cmocka_unit_test(options_come_before_variables),
        cmocka_unit_test_setup_teardown(results_are_replaced_and_foreign_files_kept, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(a_folder_for_nothing_goes_again, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(foreign_things_under_our_names_are_refused, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(folders_under_our_names_are_refused, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(an_abandoned_result_changes_nothing, make_scratch,
                                        drop_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* GPUs as the driver shows them, and which one ROCR_VISIBLE_DEVICES means. */
static char folder[] = "/tmp/rp-gpus-XXXXXX";

static void add_node(const char *number, const char *text)
{
    rp_autofree char *node = rp_path_join(folder, number);
    rp_autofree char *path = rp_path_join(node, "properties");

    assert_int_equal(rp_mkdirs(node, NULL), 0);
    assert_int_equal(rp_write_file(path, text, strlen(text), NULL), 0);
}

static int make_nodes(void **state)
{
    rp_autofree char *path = NULL;

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    add_node("0", "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n");
    add_node("10", "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndevice_id 29857\n"
                   "unique_id 81985529216486895\n");
    add_node("3", "simd_count 440\nsimd_per_cu 4\ngfx_target_version 90010\ndevice_id 29711\n"
                  "drm_render_minor 129\n");
    add_node("2", "drm_render_minor 128\nsimd_count 440\nsimd_per_cu 4\ngfx_target_version "
                  "90010\ndevice_id 29711\n");
    path = rp_path_join(folder, "renderD128"); /* only the first one may be used */
    return rp_write_file(path, "", 0, NULL);
}

static int remove_nodes(void **state)
{
    (void)state;
    rp_remove_tree(folder);
    return 0;
}

static void in_order_of_nodes(void **state)
{
    rp_autofree struct rp_gpu *gpus = NULL;
    size_t count;

    (void)state;
    rp_gpus_list(folder, folder, &gpus, &count);
    assert_int_equal(count, 2);
    assert_string_equal(gpus[0].gfx, "gfx90a");
    assert_int_equal(gpus[0].compute_units, 110);
    assert_string_equal(gpus[1].gfx, "gfx942");
    assert_string_equal(gpus[1].product, "AMD Instinct MI300X");
    assert_int_equal(gpus[1].node, 10);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, NULL), &gpus[0]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, ""), &gpus[0]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, "1"), &gpus[1]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, "1,0"), &gpus[1]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, "GPU-0123456789abcdef"), &gpus[1]);
    assert_null(rp_gpus_first_visible(gpus, count, "2"));
    assert_null(rp_gpus_first_visible(gpus, count, "x"));
    assert_null(rp_gpus_first_visible(gpus, count, "GPU-1"));
}

static void without_a_driver(void **state)
{
    struct rp_gpu *gpus;
    size_t count;

    (void)state;
    rp_gpus_list("/nonexistent", "/nonexistent", &gpus, &count);
    assert_null(gpus);
    assert_int_equal(count, 0);
    assert_null(rp_gpus_first_visible(gpus, count, NULL));
}

static int run_gpus(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order_of_nodes),
        cmocka_unit_test(without_a_driver),
    };

    return cmocka_run_group_tests(tests, make_nodes, remove_nodes);
}

int main(void)
{
    return run_programs() + run_gpus();
}
