/* Which device a program runs on, what it is started with, which of the options are in effect, and
 * which tracer records it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/machine.h"
#include "run/run_program.h"
#include "trace/records.h"

#include "unit/scratch.h"

#include "run/run_program.c"

/* --- the device --------------------------------------------------------------------------- */

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
    env.rocm_problem = (char *)"nowhere; run setup";
    assert_int_equal(resolved(&env, RP_DEVICE_AUTO, &device, &err), -RP_ENVIRONMENT);
    assert_string_equal(err.text, "nowhere; run setup");
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
        if (detailed) { /* which is the timing of all targets where nothing is said */
            setenv("ROCM_PERF_DEVICE", "mi325x", 1);
            unsetenv("ROCM_PERF_DEVICE_TIMING");
        } else {
            unsetenv("ROCM_PERF_DEVICE");
            setenv("ROCM_PERF_DEVICE_TIMING", "fast", 1); /* its old name */
        }
        assert_int_equal(rp_run_options_inherit(&options, &err), 0);
        assert_int_equal(rp_device_identify(&env, &options, &id, &err), 0);
        gpu = rp_device_identity_gpu(&id);
        timing = rp_device_identity_timing(&id);
        expected = detailed ? rp_format("detailed (version %d)", RP_TIMING_DETAILED_VERSION)
                            : rp_format("counts (version %d)", RP_TIMING_COUNTS_VERSION);
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

/* --- programs ------------------------------------------------------------------------------ */

static void is_setting(const char *root, const char *libc, const char *machine,
                       const char *expected)
{
    rp_autofree char *libraries = rp_path_join(root, "usr/lib/x86_64-linux-gnu");
    const struct rp_environment env = {.rocm_kind = RP_ROCM_PRIVATE,
                                       .rocm_root = (char *)(uintptr_t)root,
                                       .rocm_libraries = libraries,
                                       .rocm_libc = (char *)(uintptr_t)libc};
    rp_autofree char *setting = rp_loader_setting(&env, machine);

    if (expected)
        assert_string_equal(setting, expected);
    else
        assert_null(setting);
}

static void the_newer_libc_has_the_loader(void **state)
{
    static const char ours[] =
        "/r/lib64/ld-linux-x86-64.so.2:/r/usr/lib/x86_64-linux-gnu/libstdc++.so.6:"
        "/r/usr/lib/x86_64-linux-gnu";
    const struct rp_environment installed = {.rocm_kind = RP_ROCM_INSTALLED,
                                             .rocm_root = (char *)"/opt/rocm"};
    rp_autofree char *loader = realpath("/lib64/ld-linux-x86-64.so.2", NULL);
    rp_autofree char *machines = rp_format("%s::%.*s:/r/usr/lib/x86_64-linux-gnu", loader,
                                           (int)(strrchr(loader, '/') - loader), loader);

    (void)state;
    assert_null(rp_loader_setting(&installed, "2.36"));
    is_setting("/r", "2.44-3", "2.36", ours);
    is_setting("/r", "2.44-3", "2.4", ours);
    is_setting("/r", NULL, "2.36", ours);
    is_setting("/r", "2.44-3", "2.44", machines);
    is_setting("/r", "2.44-3", "2.45", machines);
    is_setting("/r", "2.44-3", "3.0", machines);
    is_setting("/r:s", "2.44-3", "2.36", NULL); /* which no path of libraries can hold */
    is_setting("/r s", "2.44-3", "2.36",
               "/r s/lib64/ld-linux-x86-64.so.2::/r s/usr/lib/x86_64-linux-gnu");
}

/* A file that begins as a program does: its words and its machine. */
static void is_refused(unsigned char class, uint16_t machine, const char *why)
{
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class},
                         .e_machine = machine};
    rp_autofree char *path = rp_path_join(scratch_dir, "foreign");
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_write_file(path, (const char *)&header, sizeof header, NULL), 0);
    assert_int_equal(check_processor(path, &err), why ? -RP_USAGE : 0);
    if (why)
        assert_non_null(strstr(err.text, why));
}

static void programs_of_other_processors_are_refused(void **state)
{
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    is_refused(ELFCLASS32, EM_386, "foreign is a program of 32 bits");
    is_refused(ELFCLASS64, EM_AARCH64, "foreign is a program for another processor");
    is_refused(ELFCLASS64, EM_X86_64, NULL);
    assert_int_equal(check_processor("/etc/passwd", &err), 0);
    assert_int_equal(check_processor("/nowhere", &err), 0);
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
    struct rp_run_options software = {.device = RP_DEVICE_SOFTWARE, .trace_dir = "/tmp"};
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
    assert_null(planned(&plan.env, RP_CALL_SITES_VARIABLE, &said));
    assert_true(said); /* nobody asked for it */
    assert_string_equal(plan.argv[0], "sh");
    assert_string_equal(plan.argv[2], "true");
    assert_null(plan.argv[3]);
    rp_launch_free(&plan);
    software.call_sites = true;
    assert_int_equal(rp_launch_plan(&env, &software, argv, &plan, &err), 0);
    assert_string_equal(planned(&plan.env, RP_CALL_SITES_VARIABLE, &said), "on");
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
                               .timing = RP_TIMING_COUNTS,
                               .threads = 3,
                               .gpus = 8,
                               .clock_mhz = 1400,
                               .target_said = true,
                               .counters = "SQ_WAVES,GRBM_COUNT"};

    (void)state;
    is_planned(&o, "ROCM_PERF_DEVICE", "mi325x");
    is_planned(&o, "ROCM_PERF_DEVICE_TIMING", "counts");
    is_planned(&o, "ROCM_PERF_DEVICE_THREADS", "3");
    is_planned(&o, "ROCM_PERF_DEVICE_GPUS", "8");
    is_planned(&o, "ROCM_PERF_DEVICE_CLOCK", "1400");
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

/* Only who says so can have another clock than the highest, and only one of the product's. */
static void a_clock_is_one_of_the_product(void **state)
{
    static const struct {
        struct rp_run_options options;
        const char *said, *error; /**< NULL: none */
        uint32_t clock, modelled;
    } rows[] = {
        {{.takes_clock = true}, NULL, NULL, 0, 0},
        {{.takes_clock = true}, "", NULL, 0, 0},
        {{.takes_clock = true}, "1400", NULL, 1400, 1400},
        {{.takes_clock = true, .clock_mhz = 1000}, "1400", NULL, 1000, 1000},
        {{.takes_clock = true, .clock_mhz = 2100}, "1400", NULL, 2100, 0},
        {{.takes_clock = true, .clock_mhz = 2400, .target = "mi355x"}, NULL, NULL, 2400, 0},
        {{.takes_clock = true, .timing = RP_TIMING_COUNTS}, "1400", NULL, 1400, 1400},
        {{.takes_clock = true},
         "2101",
         "ROCM_PERF_DEVICE_CLOCK=2101: the engine clock of the AMD "
         "Instinct MI300X is a whole number of MHz from 500 to 2100",
         0,
         0},
        {{.takes_clock = true}, "fast", "ROCM_PERF_DEVICE_CLOCK=fast: the engine clock", 0, 0},
        {{.takes_clock = true}, "0", "ROCM_PERF_DEVICE_CLOCK=0: the engine clock", 0, 0},
        {{.takes_clock = true, .clock_mhz = 1900, .target = "mi210"},
         NULL,
         "--clock 1900: the engine clock of the AMD Instinct MI210 is a whole number of MHz from "
         "500 to 1700",
         0,
         0},
        {{.takes_clock = true, .clock_mhz = 1400, .timing = RP_TIMING_OFF},
         NULL,
         "--clock 1400: with timing off",
         0,
         0},
        {{0}, "1400", "ROCM_PERF_DEVICE_CLOCK=1400: only run and profile", 0, 0},
        {{0}, "", NULL, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_run_options o = rows[i].options;
        struct rp_err err = RP_ERR_INIT;
        int rc;

        unsetenv("ROCM_PERF_DEVICE_CLOCK");
        if (rows[i].said)
            setenv("ROCM_PERF_DEVICE_CLOCK", rows[i].said, 1);
        rc = rp_run_options_inherit(&o, &err);
        unsetenv("ROCM_PERF_DEVICE_CLOCK");
        assert_int_equal(rc, rows[i].error ? -RP_USAGE : 0);
        if (rows[i].error)
            assert_ptr_equal(strstr(err.text, rows[i].error), err.text);
        else
            assert_int_equal(o.clock_mhz, rows[i].clock);
        if (!rows[i].error)
            assert_int_equal(rp_clock_modelled(&o), rows[i].modelled);
    }
}

/* --- the tracer ---------------------------------------------------------------------------- */

static struct rp_err tracer_err;

static const char *chosen(const char *rocprofv3, enum rp_device device, enum rp_tracer_request wish)
{
    struct rp_environment env = {.rocprofv3 = (char *)(uintptr_t)rocprofv3};
    const struct rp_tracer *tracer;

    tracer_err = (struct rp_err)RP_ERR_INIT;
    return rp_tracer_choose(&env, device, wish, &tracer, &tracer_err) == 0 ? tracer->name : "";
}

static void tracers_are_chosen(void **state)
{
    static const char path[] = "/opt/rocm/bin/rocprofv3";
    (void)state;
    assert_string_equal(chosen(path, RP_DEVICE_GPU, RP_TRACER_AUTO), "rocprofv3");
    assert_string_equal(chosen(NULL, RP_DEVICE_GPU, RP_TRACER_AUTO), "builtin");
    assert_string_equal(chosen(path, RP_DEVICE_SOFTWARE, RP_TRACER_AUTO), "builtin");
    assert_string_equal(chosen(path, RP_DEVICE_GPU, RP_TRACER_BUILTIN), "builtin");
    assert_string_equal(chosen(path, RP_DEVICE_SOFTWARE, RP_TRACER_ROCPROFV3), "rocprofv3");
    assert_string_equal(chosen(NULL, RP_DEVICE_GPU, RP_TRACER_ROCPROFV3), "");
    assert_int_equal(tracer_err.code, RP_ENVIRONMENT);
    assert_null(rp_tracer_builtin.count);
    assert_non_null(rp_tracer_rocprofv3.count);
}

static void tracers_have_words(void **state)
{
    enum rp_tracer_request wish;

    (void)state;
    assert_int_equal(rp_tracer_parse("auto", &wish, &tracer_err), 0);
    assert_int_equal(wish, RP_TRACER_AUTO);
    assert_int_equal(rp_tracer_parse("builtin", &wish, &tracer_err), 0);
    assert_int_equal(wish, RP_TRACER_BUILTIN);
    assert_int_equal(rp_tracer_parse("rocprof", &wish, &tracer_err), -RP_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_resolved),
        cmocka_unit_test(timing_is_part_of_the_identity),
        cmocka_unit_test(the_newer_libc_has_the_loader),
        cmocka_unit_test(programs_of_other_processors_are_refused),
        cmocka_unit_test(plans_carry_device_and_collector),
        cmocka_unit_test(options_become_variables),
        cmocka_unit_test(nothing_said_is_inherited),
        cmocka_unit_test(options_come_before_variables),
        cmocka_unit_test(a_clock_is_one_of_the_product),
        cmocka_unit_test(tracers_are_chosen),
        cmocka_unit_test(tracers_have_words),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
