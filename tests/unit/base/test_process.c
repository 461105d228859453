/* How programs are started, how they end, and that those that take too much are ended. */
#include "base/process.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"

#include "unit/scratch.h"

static int run(const char *script, const struct rp_env_change *env, struct rp_proc_end *end,
               struct rp_err *err)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    struct rp_proc proc = {.path = "/bin/sh", .argv = argv, .env = env};

    return rp_proc_run(&proc, end, err);
}

static void processes_end_as_they_ended(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    (void)state;
    assert_int_equal(run("exit 7", NULL, &end, &err), 0);
    assert_false(end.signaled);
    assert_int_equal(end.status, 7);
    assert_int_equal(run("kill -SEGV $$", NULL, &end, &err), 0);
    assert_true(end.signaled);
    assert_int_equal(end.status, SIGSEGV);
    assert_int_equal(run("sleep 0.05", NULL, &end, &err), 0);
    assert_true(end.wall_ns >= 50000000);
}

/* Calls the function with standard output and error in files, and returns what was written. */
static void with_outputs(void (*call)(void), char texts[2][16])
{
    int files[2], kept[2];

    for (int i = 0; i < 2; i++) {
        files[i] = rp_memfd("output", MFD_CLOEXEC);
        kept[i] = dup(STDOUT_FILENO + i);
        dup2(files[i], STDOUT_FILENO + i);
    }
    call();
    for (int i = 0; i < 2; i++) {
        const ssize_t got = pread(files[i], texts[i], 15, 0);

        texts[i][got > 0 ? got : 0] = '\0';
        dup2(kept[i], STDOUT_FILENO + i);
        close(kept[i]);
        close(files[i]);
    }
}

static void say_both(void)
{
    struct rp_proc_end end;

    run("echo out; echo err >&2", NULL, &end, NULL);
}

static void nothing_said_inherits_all(void **state)
{
    char texts[2][16];

    (void)state;
    with_outputs(say_both, texts);
    assert_string_equal(texts[0], "out\n");
    assert_string_equal(texts[1], "err\n");
}

/* Who is started by a program that ignores SIGCHLD would not hear how its children end. */
static void ends_are_heard_of_with_sigchld_ignored(void **state)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, by_default = {.sa_handler = SIG_DFL};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;
    struct sigaction after;
    char *argv[] = {(char *)"grep", (char *)"-q", (char *)"^SigIgn:.*[13579bdf]....$",
                    (char *)"/proc/self/status", NULL};
    struct rp_proc look = {.path = "/bin/grep", .argv = argv};

    (void)state;
    sigaction(SIGCHLD, &ignore, NULL);
    assert_int_equal(run("exit 7", NULL, &end, &err), 0);
    assert_false(end.signaled);
    assert_int_equal(end.status, 7);
    /* The program has what it would have without us: bit 16 of the ignored ones. */
    assert_int_equal(rp_proc_run(&look, &end, &err), 0);
    assert_int_equal(end.status, 0);
    sigaction(SIGCHLD, &by_default, &after);
    assert_true(after.sa_handler == SIG_IGN);
}

static void environment_is_changed_for_the_child_only(void **state)
{
    const struct rp_env_change change[] = {
        {"RP_TEST_NEW", "new", NULL},
        {"RP_TEST_LIST", "first", ":"},
        {"RP_TEST_GONE", NULL, NULL},
        {0},
    };
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    (void)state;
    setenv("RP_TEST_LIST", "second", 1);
    setenv("RP_TEST_GONE", "still here", 1);
    assert_int_equal(run("[ $RP_TEST_NEW = new ] && [ $RP_TEST_LIST = first:second ] && "
                         "[ -z \"${RP_TEST_GONE+x}\" ]",
                         change, &end, &err),
                     0);
    assert_int_equal(end.status, 0);
    assert_null(getenv("RP_TEST_NEW"));
    assert_string_equal(getenv("RP_TEST_LIST"), "second");
}

static void a_failing_exec_is_reported(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *path = rp_path_join(scratch_dir, "not-a-program");
    char *argv[] = {path, NULL};
    struct rp_proc proc = {.path = path, .argv = argv};
    struct rp_proc_end end;

    (void)state;
    assert_int_equal(rp_write_file(path, "\1\2\3", 3, &err), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(rp_proc_run(&proc, &end, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "neither a program"));
}

static void a_signal_stops_the_run(void **state)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    (void)state;
    /* The child signals us: the handler must pass it on, and the run must end as interrupted. */
    assert_int_equal(run("kill -TERM $PPID; exec sleep 30", NULL, &end, &err), -RP_INTERRUPTED);
}

enum { MIB = 1 << 20 };
static const int64_t MANY_NS = 60 * (int64_t)1000000000;

static struct rp_proc_end run_limited(const char *script, const struct rp_proc_limits *limits)
{
    rp_autofree char *own = strdup(script);
    char sh[] = "sh", c[] = "-c";
    char *const argv[] = {sh, c, own, NULL};
    const struct rp_proc proc = {
        .path = "/bin/sh", .argv = argv, .timeout_ns = MANY_NS, .limits = limits};
    struct rp_err err = RP_ERR_INIT;
    struct rp_proc_end end;

    assert_int_equal(rp_proc_run(&proc, &end, &err), 0);
    return end;
}

static void memory_of_all_processes_counts(void **state)
{
    /* Neither of both alone has 200 MiB when the first is found. */
    const struct rp_proc_limits limits = {.resident_bytes = 200 * (uint64_t)MIB};
    struct rp_proc_end end = run_limited("tail /dev/zero & tail /dev/zero; wait", &limits);

    (void)state;
    assert_true(end.over_limits);
    assert_false(end.timed_out);
    assert_true(end.signaled);
    assert_int_equal(end.status, SIGKILL);
    assert_true(end.wall_ns < MANY_NS / 2);
}

static void little_memory_is_left_alone(void **state)
{
    const struct rp_proc_limits limits = {.resident_bytes = 200 * (uint64_t)MIB};
    struct rp_proc_end end = run_limited("sleep 0.3; exit 7", &limits);

    (void)state;
    assert_false(end.over_limits);
    assert_false(end.signaled);
    assert_int_equal(end.status, 7);
}

static void addresses_files_and_time_have_limits(void **state)
{
    struct rp_proc_end end;

    (void)state;
    end = run_limited("exec tail /dev/zero 2>/dev/null",
                      &(struct rp_proc_limits){.address_bytes = 64 * (uint64_t)MIB});
    assert_false(end.signaled);
    assert_int_not_equal(end.status, 0);
    end = run_limited("exec head -c 100000 /dev/zero >/tmp/rp-limits-$$",
                      &(struct rp_proc_limits){.file_bytes = 4096});
    assert_true(end.signaled);
    assert_int_equal(end.status, SIGXFSZ);
    run_limited("rm -f /tmp/rp-limits-*", NULL);
    end = run_limited("while :; do :; done", &(struct rp_proc_limits){.cpu_s = 1});
    assert_true(end.signaled);
    assert_true(end.status == SIGKILL || end.status == SIGXCPU);
}

/* As Linux before 5.3, which knows no pidfds. */
static void forbid_pidfds(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 434 /* pidfd_open */, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};

    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
    assert_int_equal(rp_pidfd_open(getpid()), -1);
}

static void without_pidfds_time_has_a_limit(void **state)
{
    char *late[] = {(char *)"sleep", (char *)"1000", NULL};
    char *soon[] = {(char *)"sh", (char *)"-c", (char *)"exit 7", NULL};
    struct rp_proc proc = {.path = "/bin/sleep", .argv = late, .timeout_ns = 50000000};
    struct rp_proc_end end;
    const pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        forbid_pidfds();
        if (rp_proc_run(&proc, &end, NULL) < 0 || !end.timed_out)
            _exit(1);
        proc = (struct rp_proc){.path = "/bin/sh", .argv = soon, .timeout_ns = INT64_MAX / 2};
        _exit(rp_proc_run(&proc, &end, NULL) < 0 || end.timed_out || end.status != 7);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_end_as_they_ended),
        cmocka_unit_test(nothing_said_inherits_all),
        cmocka_unit_test(ends_are_heard_of_with_sigchld_ignored),
        cmocka_unit_test(environment_is_changed_for_the_child_only),
        cmocka_unit_test_setup_teardown(a_failing_exec_is_reported, scratch_begin, scratch_end),
        cmocka_unit_test(memory_of_all_processes_counts),
        cmocka_unit_test(little_memory_is_left_alone),
        cmocka_unit_test(addresses_files_and_time_have_limits),
        cmocka_unit_test(without_pidfds_time_has_a_limit),
        cmocka_unit_test(a_signal_stops_the_run), /* the last: all later ones would be, too */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
