/**
 * @file test_result_folder.c
 * @brief A commit that is killed at any of its system calls, or any of whose calls fails,
 * loses neither the result before nor the new one, and mixes nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/path.h"
#include "run/result_folder.h"

#include "unit/scratch.h"

#include "run/result_folder.c"

/* What the result before and the new one consist of. Each file says whose it is. */
static const char *const old_files[] = {"profile.json", "trace_results.db",
                                        "repeats/run-2_results.db", "dag.json",
                                        "counters/pass-1_results.db"};
static const char *const new_files[] = {"profile.json", "trace_results.db", "trace_2_results.db",
                                        "repeats/run-2_results.db", "roofline.json"};

enum { OLD_FILES = sizeof old_files / sizeof *old_files };
enum { NEW_FILES = sizeof new_files / sizeof *new_files };

/* Only what proves to be a result is replaced. */
#define OLD "{\"schema_version\": \"1.0\", \"runtime_ms\": 1}"
#define NEW "{\"schema_version\": \"1.0\", \"runtime_ms\": 2}"

struct scene {
    char dir[64];
};

static void put(const char *dir, const char *name, const char *text)
{
    rp_autofree char *path = rp_path_join(dir, name);
    char *slash = strrchr(path, '/');
    FILE *file;

    *slash = '\0';
    mkdir(path, 0777);
    *slash = '/';
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static bool says(const char *dir, const char *name, const char *text)
{
    rp_autofree char *path = rp_path_join(dir, name);
    rp_autofree char *found = rp_read_text(path, 100);

    return found && strcmp(found, text) == 0;
}

static bool is_there(const char *dir, const char *name)
{
    rp_autofree char *path = rp_path_join(dir, name);

    return rp_path_exists(path);
}

static void set_scene(struct scene *scene)
{
    /* Hundreds of commits that sync their folders: in memory where there is such a place. */
    strcpy(scene->dir, "/dev/shm/rp-test-XXXXXX");
    if (!mkdtemp(scene->dir)) {
        strcpy(scene->dir, "/tmp/rp-test-XXXXXX");
        assert_non_null(mkdtemp(scene->dir));
    }
    for (size_t i = 0; i < OLD_FILES; i++)
        put(scene->dir, old_files[i], OLD);
    put(scene->dir, "notes.txt", "mine");
    put(scene->dir, "partial", "");
    {
        rp_autofree char *partial = rp_path_join(scene->dir, "partial");
        assert_int_equal(unlink(partial), 0);
        assert_int_equal(mkdir(partial, 0777), 0);
        for (size_t i = 0; i < NEW_FILES; i++)
            put(partial, new_files[i], NEW);
    }
}

static bool is_whole(const char *dir, const char *const *files, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (!says(dir, files[i], text))
            return false;
    return true;
}

/* Exactly the one result or the other; 'o' or 'n'. */
static char whose(const struct scene *scene)
{
    if (is_whole(scene->dir, old_files, OLD_FILES, OLD) &&
        !is_there(scene->dir, "trace_2_results.db") && !is_there(scene->dir, "roofline.json"))
        return 'o';
    if (is_whole(scene->dir, new_files, NEW_FILES, NEW) && !is_there(scene->dir, "dag.json") &&
        !is_there(scene->dir, "counters"))
        return 'n';
    return '?';
}

static bool is_tidy(const struct scene *scene)
{
    return !is_there(scene->dir, ".rocm-perf-complete") &&
           !is_there(scene->dir, ".rocm-perf-moving") && !is_there(scene->dir, ".rocm-perf-former");
}

/* --- a child under control ----------------------------------------------------------------- */

enum { NO_MISHAP, KILL, FAIL };

struct mishap {
    int kind;
    unsigned long at; /**< the system call that it happens at, from 1 */
};

/* Calls that can fail for reasons of the file system. */
static bool may_fail(long long call)
{
    static const long long calls[] = {SYS_rename,     SYS_renameat, SYS_renameat2, SYS_mkdir,
                                      SYS_mkdirat,    SYS_openat,   SYS_open,      SYS_getdents64,
                                      SYS_newfstatat, SYS_stat,     SYS_unlink,    SYS_unlinkat,
                                      SYS_rmdir,      SYS_fsync,    SYS_flock};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* The call does not happen and says EIO. */
static void fail_call(pid_t child)
{
    struct user_regs_struct regs;
    int status;

    assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
    regs.orig_rax = (unsigned long long)-1;
    assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
    assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
    regs.rax = (unsigned long long)-EIO;
    assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
}

static bool matters(pid_t child, const struct mishap *mishap)
{
    struct user_regs_struct regs;

    assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
    return mishap->kind != FAIL || may_fail((long long)regs.orig_rax);
}

/* Lets the child run; @return its wait status. ret_calls: how many calls there were to disturb. */
static int supervise(pid_t child, struct mishap mishap, unsigned long *ret_calls)
{
    unsigned long calls = 0;
    bool entering = true;
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    for (;;) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSTOPPED(status))
            break;
        if (entering && matters(child, &mishap) && ++calls == mishap.at) {
            if (mishap.kind == KILL) { /* before the call */
                kill(child, SIGKILL);
                assert_int_equal(waitpid(child, &status, 0), child);
                break;
            }
            if (mishap.kind == FAIL) {
                fail_call(child);
                continue; /* that was the exit of the call */
            }
        }
        entering = !entering;
    }
    *ret_calls = calls;
    return status;
}

static int test_commit(const struct scene *scene)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *partial = rp_path_join(scene->dir, "partial");

    return rp_result_commit(scene->dir, partial, &err);
}

static int test_settle(const struct scene *scene)
{
    struct rp_err err = RP_ERR_INIT;

    return rp_result_finish_commit(scene->dir, &err);
}

/* 0: it returned 0; 1: it returned a failure; -1: it was killed. */
static int disturbed(const struct scene *scene, int (*act)(const struct scene *),
                     struct mishap mishap, unsigned long *ret_calls)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        _exit(act(scene) < 0);
    }
    status = supervise(child, mishap, ret_calls);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- tests --------------------------------------------------------------------------------- */

static void undisturbed(void **state)
{
    struct scene scene;
    unsigned long calls;

    (void)state;
    set_scene(&scene);
    assert_int_equal(whose(&scene), 'o');
    assert_int_equal(disturbed(&scene, test_commit, (struct mishap){NO_MISHAP, 0}, &calls), 0);
    assert_true(calls > 20);
    assert_int_equal(whose(&scene), 'n');
    assert_true(is_tidy(&scene));
    assert_false(is_there(scene.dir, "partial"));
    assert_true(says(scene.dir, "notes.txt", "mine"));
    rp_remove_tree(scene.dir);
}

/* Killed before the new result is complete: as if nothing had been. After it: the next run, or
 * whoever looks, finds the new one. */
static void killed_at_every_call(void **state)
{
    bool committed = false;
    unsigned kills = 0;

    (void)state;
    for (unsigned long at = 1;; at++) {
        struct scene scene;
        unsigned long calls;
        int end;

        set_scene(&scene);
        end = disturbed(&scene, test_commit, (struct mishap){KILL, at}, &calls);
        assert_true(says(scene.dir, "profile.json", OLD) || says(scene.dir, "profile.json", NEW));
        assert_int_equal(test_settle(&scene), 0);
        assert_int_not_equal(whose(&scene), '?');
        assert_true(is_tidy(&scene));
        assert_true(says(scene.dir, "notes.txt", "mine"));
        assert_true(!committed || whose(&scene) == 'n');
        committed = whose(&scene) == 'n';
        rp_remove_tree(scene.dir);
        if (end == 0)
            break;
        kills++;
    }
    assert_true(committed);
    assert_true(kills > 20);
}

/* The repair may be killed, too, and more than once. */
static void killed_while_it_is_finished(void **state)
{
    (void)state;
    for (unsigned long first = 12; first < 60; first += 9) {
        for (unsigned long at = 1;; at++) {
            struct scene scene;
            unsigned long calls;
            int end;
            char before;

            set_scene(&scene);
            disturbed(&scene, test_commit, (struct mishap){KILL, first}, &calls);
            before = is_tidy(&scene) ? whose(&scene) : 'n';
            end = disturbed(&scene, test_settle, (struct mishap){KILL, at}, &calls);
            assert_true(is_there(scene.dir, "profile.json"));
            disturbed(&scene, test_settle, (struct mishap){KILL, at / 2 + 1}, &calls);
            assert_int_equal(test_settle(&scene), 0);
            assert_int_equal(whose(&scene), before);
            assert_true(is_tidy(&scene));
            rp_remove_tree(scene.dir);
            if (end == 0)
                break;
        }
    }
}

/* Any call may fail: then it says so with the result before in place, or the new one is. */
static void every_call_fails_once(void **state)
{
    unsigned refused = 0;

    (void)state;
    for (unsigned long at = 1;; at++) {
        struct scene scene;
        unsigned long calls;
        int end;

        set_scene(&scene);
        end = disturbed(&scene, test_commit, (struct mishap){FAIL, at}, &calls);
        assert_true(end == 0 || end == 1);
        assert_true(is_there(scene.dir, "profile.json"));
        if (end == 0)
            assert_int_equal(whose(&scene), 'n');
        else if (is_tidy(&scene))
            assert_int_equal(whose(&scene), 'o');
        assert_int_equal(test_settle(&scene), 0);
        assert_int_not_equal(whose(&scene), '?');
        assert_true(is_tidy(&scene));
        rp_remove_tree(scene.dir);
        refused += end == 1;
        if (calls < at)
            break;
    }
    assert_true(refused > 8);
}

static void the_next_run_finishes(void **state)
{
    struct scene scene;
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    set_scene(&scene);
    {
        rp_autofree char *partial = rp_path_join(scene.dir, "partial");
        rp_autofree char *complete = rp_path_join(scene.dir, ".rocm-perf-complete");
        assert_int_equal(rename(partial, complete), 0);
    }
    assert_int_equal(rp_result_folder_open(scene.dir, &dir, &err), 0);
    assert_int_equal(whose(&scene), 'n');
    rp_result_folder_close(&dir);
    assert_int_equal(whose(&scene), 'n');
    rp_remove_tree(scene.dir);
}

/* Without a disturbance: what is replaced, what is kept, what is refused. */

static void results_are_replaced_and_foreign_files_kept(void **state)
{
    rp_cleanup(rp_result_folder_close) struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *fresh = NULL;

    (void)state;
    put(scratch_dir, "profile.json", OLD);
    put(scratch_dir, "trace_results.db", OLD);
    put(scratch_dir, "trace_2_results.db", OLD);
    put(scratch_dir, "repeats/run-2_results.db", OLD);
    put(scratch_dir, "trace_of_mine_results.db", "mine");
    put(scratch_dir, "notes.txt", "mine");
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), 0);
    assert_true(is_there(scratch_dir, "profile.json"));
    fresh = rp_path_join(dir.partial, "trace_results.db");
    assert_int_equal(rp_write_file(fresh, NEW, sizeof NEW - 1, &err), 0);
    assert_int_equal(rp_result_folder_commit(&dir, &err), 0);
    {
        rp_autofree char *path = rp_path_join(scratch_dir, "trace_results.db");
        rp_autofree char *text = rp_read_text(path, 100);
        assert_string_equal(text, NEW);
    }
    assert_false(is_there(scratch_dir, "profile.json"));
    assert_false(is_there(scratch_dir, "trace_2_results.db"));
    assert_false(is_there(scratch_dir, "repeats"));
    assert_true(is_there(scratch_dir, "trace_of_mine_results.db"));
    assert_true(is_there(scratch_dir, "notes.txt"));
}

static void a_folder_for_nothing_goes_again(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *path = rp_path_join(scratch_dir, "new/deep");
    rp_autofree char *failed = rp_path_join(path, "failed");

    (void)state;
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
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    put(scratch_dir, "repeats/run-2_results.db", "a tag: rocm_perf_device");
    put(scratch_dir, "repeats/mine.txt", "mine");
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), -RP_ENVIRONMENT);
    assert_non_null(strstr(err.text, "repeats/mine.txt"));
    assert_true(is_there(scratch_dir, "repeats/mine.txt"));
    assert_true(is_there(scratch_dir, "repeats/run-2_results.db"));
}

/** A name proves nothing: what others wrote is neither replaced nor removed. */
static void files_of_others_under_our_names_are_refused(void **state)
{
    static const char *const names[] = {"analysis.json", "profile.json", "trace_results.db",
                                        "repeats/run-7_results.db"};
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rp_autofree char *path = rp_path_join(scratch_dir, names[i]);

        put(scratch_dir, names[i], "{\"my\": \"analysis\"}");
        assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), -RP_ENVIRONMENT);
        assert_non_null(strstr(err.text, names[i]));
        assert_true(says(scratch_dir, names[i], "{\"my\": \"analysis\"}"));
        assert_int_equal(unlink(path), 0);
    }
}

/** What a file has may lie across the parts in which it is read. */
static void long_files_are_looked_through(void **state)
{
    rp_autofree char *text = malloc((1 << 17) + 1);
    rp_autofree char *path = rp_path_join(scratch_dir, "long");

    (void)state;
    assert_non_null(text);
    memset(text, ' ', 1 << 17);
    text[1 << 17] = '\0';
    memcpy(text + (1 << 16) - 5, "rocm_perf_", 10);
    put(scratch_dir, "long", text);
    assert_true(file_has(path, "rocm_perf_"));
    assert_false(file_has(path, "rocm_perf_x"));
}

static void folders_under_our_names_are_refused(void **state)
{
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    put(scratch_dir, "profile.json/mine.txt", "mine");
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), -RP_ENVIRONMENT);
    assert_true(is_there(scratch_dir, "profile.json/mine.txt"));
}

/** What another process would be: a lock is one of the open file. */
static void a_running_session_is_not_disturbed(void **state)
{
    rp_autofree char *lock = rp_path_join(scratch_dir, "lock");
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;
    int fd = rp_lock_path(lock, 0);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "is in use by a session of optimize or a search of autotune"));
    close(fd);
    /* Another profile looks at the same moment. */
    fd = rp_lock_path(lock, RP_LOCK_SHARED);
    assert_true(fd >= 0);
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), 0);
    rp_result_folder_close(&dir);
    close(fd);
    assert_true(is_there(scratch_dir, "lock"));
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), 0);
    rp_result_folder_close(&dir);
    assert_false(is_there(scratch_dir, "lock"));
}

static void an_abandoned_result_changes_nothing(void **state)
{
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *kept = NULL;
    rp_autofree char *fresh = NULL;

    (void)state;
    put(scratch_dir, "profile.json", OLD);
    put(scratch_dir, ".partial-999999999/profile.json", "of a process that is gone");
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), 0);
    assert_null(kept);
    assert_false(is_there(scratch_dir, ".partial-999999999"));
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), 0);
    fresh = rp_path_join(dir.partial, "profile.json");
    assert_int_equal(rp_write_file(fresh, NEW, sizeof NEW - 1, &err), 0);
    rp_result_folder_close(&dir);
    {
        rp_autofree char *path = rp_path_join(scratch_dir, "profile.json");
        rp_autofree char *text = rp_read_text(path, 100);
        assert_string_equal(text, OLD);
    }
}

static void an_abandoned_trace_is_kept(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *kept = NULL;

    (void)state;
    put(scratch_dir, "profile.json", OLD);
    put(scratch_dir, ".partial-999999999/trace_results.db", "whole");
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), 0);
    assert_non_null(kept);
    assert_true(says(scratch_dir, "profile.json", OLD));
    assert_true(says(scratch_dir, "failed/trace_results.db", "whole"));
    assert_false(is_there(scratch_dir, ".partial-999999999"));
    free(rp_steal(kept));
    put(scratch_dir, ".partial-999999999/trace_results.db", "later");
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), 0);
    assert_true(says(scratch_dir, "failed/trace_results.db", "whole"));
    assert_true(says(scratch_dir, "failed-2/trace_results.db", "later"));
}

/* Records that cannot be read stay for whoever can. */
static void damaged_records_stay(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *kept = NULL;

    (void)state;
    put(scratch_dir, ".partial-999999999/tracer.log", "");
    put(scratch_dir, ".partial-999999999/records/7.1.rptrace", "no header of records");
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), -(int)RP_BAD_INPUT);
    assert_null(kept);
    assert_true(is_there(scratch_dir, ".partial-999999999/records/7.1.rptrace"));
    put(scratch_dir, ".partial-999999998/trace_results.db", "whole");
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), -(int)RP_BAD_INPUT);
    assert_non_null(kept);
    assert_true(says(scratch_dir, "failed/trace_results.db", "whole"));
}

/* The process may be of another machine, where its number says nothing: the lock does. */
static void what_is_in_work_stays(void **state)
{
    struct rp_result_folder dir = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *elsewhere = rp_path_join(scratch_dir, ".partial-999999999");
    rp_autofree char *kept = NULL;

    (void)state;
    assert_int_equal(rp_result_folder_open(scratch_dir, &dir, &err), 0);
    put(dir.partial, "trace_results.db", "in work");
    assert_int_equal(rename(dir.partial, elsewhere), 0);
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), 0);
    assert_null(kept);
    assert_true(says(elsewhere, "trace_results.db", "in work"));
    rp_result_folder_close(&dir);
    /* Nothing here knows what a process of another machine does. */
    rp_autofree char *own = rp_path_join(elsewhere, "lock");
    rp_autofree char *text = rp_read_text(own, 200);
    put(elsewhere, "lock", "elsewhere 0f0f");
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), 0);
    assert_null(kept);
    put(elsewhere, "lock", text);
    assert_int_equal(rp_result_folder_rescue(scratch_dir, &kept, &err), 0);
    assert_non_null(kept);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_begin, scratch_end)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undisturbed),
        cmocka_unit_test(killed_at_every_call),
        cmocka_unit_test(killed_while_it_is_finished),
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(the_next_run_finishes),
        TEST(results_are_replaced_and_foreign_files_kept),
        TEST(a_folder_for_nothing_goes_again),
        TEST(foreign_things_under_our_names_are_refused),
        TEST(files_of_others_under_our_names_are_refused),
        TEST(long_files_are_looked_through),
        TEST(folders_under_our_names_are_refused),
        TEST(a_running_session_is_not_disturbed),
        TEST(an_abandoned_result_changes_nothing),
        TEST(an_abandoned_trace_is_kept),
        TEST(damaged_records_stay),
        TEST(what_is_in_work_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
