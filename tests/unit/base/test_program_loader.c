/* Which programs are started by the loader that a setting names, and by which command. */
#include "base/program_loader.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"

#include "unit/scratch.h"

#define USUAL "/lib64/ld-linux-x86-64.so.2"

/* --- made-up programs ---------------------------------------------------------------------- */

struct program {
    Elf64_Ehdr header;
    Elf64_Phdr segments[3];
    Elf64_Dyn dynamic[4];
    char interp[64], names[64];
};

/** A dynamic program that the loader would map from 0x1000 on. */
static struct program program_of(const char *interp, const char *library)
{
    const uint64_t at = 0x1000;
    struct program p = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                   .e_machine = EM_X86_64,
                   .e_phoff = offsetof(struct program, segments),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 3},
        .segments = {{.p_type = PT_LOAD, .p_vaddr = at, .p_filesz = sizeof p},
                     {.p_type = PT_INTERP,
                      .p_offset = offsetof(struct program, interp),
                      .p_filesz = strlen(interp) + 1},
                     {.p_type = PT_DYNAMIC,
                      .p_offset = offsetof(struct program, dynamic),
                      .p_filesz = sizeof p.dynamic}},
        .dynamic = {{.d_tag = DT_NEEDED, .d_un = {1}},
                    {.d_tag = DT_STRTAB, .d_un = {at + offsetof(struct program, names)}},
                    {.d_tag = DT_NULL}}};

    snprintf(p.interp, sizeof p.interp, "%s", interp);
    snprintf(p.names + 1, sizeof p.names - 1, "%s", library);
    return p;
}

static char *put(const char *name, const void *bytes, size_t size, mode_t mode)
{
    char *path = rp_path_join(scratch_dir, name);

    unlink(path);
    assert_int_equal(rp_write_file(path, bytes, size, NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static char *put_script(const char *name, const char *text)
{
    return put(name, text, strlen(text), 0755);
}

/* --- the command --------------------------------------------------------------------------- */

static struct rp_loader_words words;
static char *command[3 + RP_LOADER_ARGUMENTS];
static const char *own_loader;
static bool no_gpu;

/** @param user_libraries  LD_LIBRARY_PATH */
static bool plan(const char *path, const char *user_libraries)
{
    char *const argv[] = {(char *)"name", (char *)"-x", NULL};

    const struct rp_loader_environment env = {.setting = "/bin/sh:/p/libstdc++.so.6:/p/lib",
                                              .own_loader = own_loader,
                                              .libraries = user_libraries,
                                              .search_path = scratch_dir,
                                              .has_gpu = !no_gpu};
    bool is = rp_loader_command(&env, path, argv, &words, command);

    assert_true(!is || rp_loader_is_needed(&env, path));
    return is;
}

/** Plans with another setting, and nothing else in the environment. */
static bool plan_as_set(const char *setting, const char *path, char *const *argv)
{
    return rp_loader_command(&(struct rp_loader_environment){.setting = setting}, path, argv,
                             &words, command);
}

static void is_command(const char *const *expected)
{
    size_t i = 0;

    for (; expected[i]; i++)
        assert_string_equal(command[i], expected[i]);
    assert_null(command[i]);
}

static void programs_that_may_load_rocm_are_started(void **state)
{
    static const struct {
        const char *name, *interp, *library;
        mode_t mode;
        bool wanted;
    } rows[] = {
        {"hip", USUAL, "libamdhip64.so.7", 0755, true},
        {"hsa", USUAL, "libhsa-runtime64.so.1", 0755, true},
        {"embeds", USUAL, "libpython3.11.so.1.0", 0755, true},
        {"python3", USUAL, "libm.so.6", 0755, true},
        {"python3.13", USUAL, "libm.so.6", 0755, true},
        {"pypy3", USUAL, "libm.so.6", 0755, true},
        {"sh", USUAL, "libm.so.6", 0755, false},
        {"hip", "/bin/sh", "libamdhip64.so.7", 0755, false}, /* a loader of its own */
        {"hip", "/r/lib64/ld-linux-x86-64.so.2", "libamdhip64.so.7", 0755, true}, /* not here */
        {"python3", USUAL, "libm.so.6", 04755, false}, /* with another user's rights */
        {"python3", USUAL, "libm.so.6", 0644, false},
    };
    const struct rp_loader_environment nothing = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program p = program_of(rows[i].interp, rows[i].library);
        rp_autofree char *path = put(rows[i].name, &p, sizeof p, rows[i].mode);

        if (plan(path, NULL) != rows[i].wanted ||
            rp_loader_is_needed(&nothing, path) != rows[i].wanted)
            fail_msg("row %zu: %s", i, rows[i].name);
        unlink(path);
    }
}

/* The name lies anywhere among the constants, also across what is read at once. */
static void programs_that_load_hip_by_themselves_are_started(void **state)
{
    enum { BYTES = 100000 };
    static const struct {
        const char *text, *name;
        bool is;
    } rows[] = {
        {"libamdhip64.so", "tool", true},
        {"libamdhip64.so.7", "tool", true},
        {"/opt/rocm/lib/libamdhip64.so.7", "tool", true},
        {"no libamdhip64.so", "tool", false},
        {"libamdhip64.so is not there", "tool", false},
        {"libamdhip64.so.x", "tool", false},
        {"libamdhip64.so", "rocm-perf", false},
    };
    char *bytes = calloc(1, BYTES);

    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t at = 2000; at < 50000; at += i == 1 ? 1 : 8191) {
            struct program p = program_of(USUAL, "libc.so.6");
            rp_autofree char *path = NULL;

            p.segments[0].p_filesz = BYTES;
            memset(bytes, 0, BYTES);
            memcpy(bytes, &p, sizeof p);
            strcpy(bytes + at, rows[i].text);
            if (i == 1 && at % (2 << 10) > 20 && at % (2 << 10) < (2 << 10) - 20)
                continue; /* Only what lies across is of interest. */
            path = put(rows[i].name, bytes, BYTES, 0755);
            if (plan(path, NULL) != rows[i].is)
                fail_msg("%s at %zu", rows[i].text, at);
        }
    free(bytes);
}

/* The name alone does not say that a program needs HIP. */
static void programs_that_the_user_names_and_those_without_a_gpu_start_as_they_are(void **state)
{
    struct program p = program_of(USUAL, "libc.so.6");
    struct program linked = program_of(USUAL, "libamdhip64.so.7");

    (void)state;
    strcpy(p.names + 20, "libamdhip64.so");
    rp_autofree char *path = put("monitor", &p, sizeof p, 0755);
    rp_autofree char *hip = put("linked", &linked, sizeof linked, 0755);
    rp_autofree char *line = rp_format("#!%s\n", hip);
    rp_autofree char *script = put_script("starts-linked", line);
    rp_autofree char *by_path = rp_format("/nowhere:%s", path);
    const struct {
        const char *kept, *path;
        bool no_gpu, wanted;
    } rows[] = {
        {NULL, path, false, true},
        {NULL, path, true, false},
        {NULL, hip, true, true}, /* Without it, it would not even start. */
        {"monitor", path, false, false},
        {"a:monitor", path, false, false},
        {"monitor:b", path, false, false},
        {by_path, path, false, false},
        {"/elsewhere/monitor", path, false, true},
        {"monitors:moni::", path, false, true},
        {"monitor", hip, false, true},
        {"linked", hip, false, false},
        {NULL, script, false, true},
        {"starts-linked", script, false, false},
        {"linked", script, false, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        own_loader = rows[i].kept;
        no_gpu = rows[i].no_gpu;
        if (plan(rows[i].path, NULL) != rows[i].wanted)
            fail_msg("row %zu", i);
    }
    own_loader = NULL;
    no_gpu = false;
}

static void what_is_no_such_program_is_left_alone(void **state)
{
    struct program p = program_of(USUAL, "libm.so.6");
    char *const argv[] = {(char *)"python3", NULL}, *const empty[] = {NULL};

    (void)state;
    for (size_t size = 0; size < sizeof p - sizeof p.names; size += 24) {
        rp_autofree char *cut = put("python3", &p, size, 0755);
        plan(cut, NULL); /* Whatever it says, it reads nothing that is not there. */
    }
    p.header.e_ident[EI_CLASS] = ELFCLASS32;
    rp_autofree char *small = put("python3", &p, sizeof p, 0755);
    assert_false(plan(small, NULL));
    p.header.e_ident[EI_CLASS] = ELFCLASS64;
    p.segments[1].p_type = PT_NULL; /* linked statically */
    rp_autofree char *fixed = put("python3", &p, sizeof p, 0755);
    assert_false(plan(fixed, NULL));
    assert_false(plan("/nowhere/python3", NULL));
    assert_false(plan("", NULL));
    assert_false(plan(scratch_dir, NULL));
    p.segments[1].p_type = PT_INTERP;
    rp_autofree char *path = put("python3", &p, sizeof p, 0755);
    assert_true(plan(path, NULL));
    assert_false(plan_as_set(NULL, path, argv));
    assert_false(plan_as_set("/bin/sh:/p", path, argv));
    assert_false(plan_as_set("/nowhere::/p", path, argv));
    assert_false(plan_as_set("/bin/sh::/p", path, empty));
}

static void commands_keep_names_and_arguments(void **state)
{
    struct program p = program_of(USUAL, "libm.so.6");
    rp_autofree char *path = put("python3", &p, sizeof p, 0755);
    const char *const expected[] = {
        "/bin/sh", "--library-path", "/p/lib", "--preload", "/p/libstdc++.so.6",
        "--argv0", "name",           path,     "-x",        NULL};
    char *const argv[] = {(char *)"name", (char *)"-x", NULL};
    const char *const bare[] = {
        "/bin/sh", "--library-path", "/p/lib", "--argv0", "name", path, "-x", NULL};

    (void)state;
    assert_true(plan(path, NULL));
    is_command(expected);
    assert_true(plan_as_set("/bin/sh::/p/lib", path, argv));
    is_command(bare);
    assert_int_equal(chdir(scratch_dir), 0);
    assert_true(plan("python3", NULL));
    assert_string_equal(command[7], path);
    assert_int_equal(chdir("/"), 0);
}

static void users_folders_stay_in_front_but_those_with_a_libc(void **state)
{
    struct program p = program_of(USUAL, "libm.so.6");
    rp_autofree char *path = put("python3", &p, sizeof p, 0755);
    rp_autofree char *libc = put("libc.so.6", "", 0, 0644);
    rp_autofree char *user = rp_format("/mine:%s;/yours", scratch_dir);
    rp_autofree char *expected = rp_format("/mine:/yours:/p/lib:%s", scratch_dir);
    rp_autofree char *many = rp_alloc_zero(RP_LOADER_LIBRARIES_BYTES + 1, 1);

    (void)state;
    assert_true(plan(path, user));
    assert_string_equal(command[2], expected);
    assert_true(plan(path, ":/mine"));
    assert_string_equal(command[2], ".:/mine:/p/lib");
    memset(many, 'a', RP_LOADER_LIBRARIES_BYTES);
    assert_false(plan(path, many));
    unlink(libc);
}

static void scripts_have_the_program_of_their_first_line(void **state)
{
    struct program p = program_of(USUAL, "libm.so.6");
    rp_autofree char *python = put("python3", &p, sizeof p, 0755);
    rp_autofree char *line = rp_format("#! %s -I -u \t\nimport hip\n", python);
    rp_autofree char *script = put_script("app", line);
    rp_autofree char *by_env = put_script("env-app", "#!/usr/bin/env python3\n");
    rp_autofree char *by_options = put_script("options", "#!/usr/bin/env -S python3\n");
    rp_autofree char *by_nobody = put_script("nobody", "#!/usr/bin/env python9\n");
    rp_autofree char *shell = put_script("shell", "#!/bin/sh\n");
    rp_autofree char *empty = put_script("empty", "#!  \n");
    rp_autofree char *no_line = put_script("no-line", "#!/usr/bin/python3");
    rp_autofree char *text = put_script("text", "python3\n");

    (void)state;
    assert_true(plan(script, NULL));
    is_command((const char *const[]){"/bin/sh", "--library-path", "/p/lib", "--preload",
                                     "/p/libstdc++.so.6", "--argv0", python, python, "-I -u",
                                     script, "-x", NULL});
    assert_true(plan(by_env, NULL));
    is_command((const char *const[]){"/bin/sh", "--library-path", "/p/lib", "--preload",
                                     "/p/libstdc++.so.6", "--argv0", "python3", python, by_env,
                                     "-x", NULL});
    assert_false(plan(by_options, NULL));
    assert_false(plan(by_nobody, NULL));
    assert_false(plan(shell, NULL));
    assert_false(plan(empty, NULL));
    assert_false(plan(no_line, NULL));
    assert_false(plan(text, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_that_may_load_rocm_are_started),
        cmocka_unit_test(programs_that_load_hip_by_themselves_are_started),
        cmocka_unit_test(programs_that_the_user_names_and_those_without_a_gpu_start_as_they_are),
        cmocka_unit_test(what_is_no_such_program_is_left_alone),
        cmocka_unit_test(commands_keep_names_and_arguments),
        cmocka_unit_test(users_folders_stay_in_front_but_those_with_a_libc),
        cmocka_unit_test(scripts_have_the_program_of_their_first_line),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
