#include "base/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "unit/scratch.h"

/* Each test asks a program, this one once more, to do what a hostile candidate may do; what the
 * machine has no means for is not asked. */

static char *folder, *inside;
static struct rp_sandbox_means all;

static int begin(void **state)
{
    if (scratch_begin(state) != 0)
        return -1;
    folder = scratch_dir;
    inside = rp_path_join(folder, "inside");
    rp_sandbox_probe(&all);
    return mkdir(inside, 0700);
}

static int end(void **state)
{
    free(inside);
    return scratch_end(state);
}

/** Runs a script of sh in the sandbox. @return what it ends with */
static struct rp_proc_end ran(const struct rp_sandbox_means *means, const char *script)
{
    const char *const writable[] = {inside, NULL};
    const struct rp_sandbox sandbox = {.means = *means, .writable = writable};
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    const struct rp_env_change env[] = {
        {.name = "OUT", .value = folder}, {.name = "IN", .value = inside}, {0}};
    const struct rp_proc_limits limits = {.processes = 64};
    struct rp_proc_end ret = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    assert_int_equal(rp_proc_run(&(struct rp_proc){.path = "/bin/sh",
                                                   .argv = (char *const *)(uintptr_t)argv,
                                                   .env = env,
                                                   .stderr_fd = null,
                                                   .timeout_ns = (int64_t)60 * 1000000000,
                                                   .limits = &limits,
                                                   .sandbox = &sandbox},
                                 &ret, &err),
                     0);
    return ret;
}

static int status_of(const struct rp_sandbox_means *means, const char *script)
{
    const struct rp_proc_end ended = ran(means, script);

    assert_false(ended.signaled);
    return ended.status;
}

static bool has(const char *parent, const char *name)
{
    rp_autofree char *path = rp_path_join(parent, name);

    return rp_path_exists(path);
}

/** Each means alone, and all together. */
static void files_of_others_stay(void **state)
{
    const struct rp_sandbox_means each[] = {{.namespaces = all.namespaces},
                                            {.landlock = all.landlock},
                                            {.landlock = all.landlock, .seccomp = all.seccomp},
                                            all};
    rp_autofree char *kept = rp_path_join(folder, "kept");
    struct stat st;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        if (!rp_sandbox_files_by(&each[i]))
            continue;
        assert_int_equal(rp_write_file(kept, "mine", 4, NULL), 0);
        assert_int_equal(chmod(kept, 0600), 0);
        assert_int_equal(status_of(&each[i], "echo a > $IN/a && cat $IN/a > $IN/b && rm $IN/a && "
                                             "echo > /dev/null && test $(cat $OUT/kept) = mine"),
                         0);
        assert_true(has(inside, "b"));
        assert_int_not_equal(status_of(&each[i], "echo gone > $OUT/kept"), 0);
        assert_int_not_equal(status_of(&each[i], "rm $OUT/kept"), 0);
        assert_int_not_equal(status_of(&each[i], "mkdir $OUT/new"), 0);
        assert_int_not_equal(status_of(&each[i], "ln $OUT/kept $IN/link && echo gone > $IN/link"),
                             0);
        assert_int_not_equal(status_of(&each[i], "mv $OUT/kept $IN/"), 0);
        if (each[i].namespaces || each[i].seccomp) { /* Landlock does not know these. */
            assert_int_not_equal(status_of(&each[i], "chmod 777 $OUT/kept"), 0);
            status_of(&each[i],
                      "python3 -c \"import os; os.fchmod(os.open('$OUT/kept', 0), 0o777)\"");
            assert_int_not_equal(status_of(&each[i], "touch -d 2001-01-01 $OUT/kept"), 0);
            assert_int_not_equal(status_of(&each[i], "chown $(id -u) $OUT/kept"), 0);
        }
        if (each[i].namespaces || each[i].landlock >= 3)
            assert_int_not_equal(
                status_of(&each[i], "python3 -c \"import os; os.truncate('$OUT/kept', 0)\""), 0);
        assert_int_equal(stat(kept, &st), 0);
        assert_int_equal(st.st_size, 4);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_int_equal(st.st_nlink, 1);
        assert_false(has(folder, "new"));
    }
}

/** Listens where a program could connect to. @return the port */
static int listener(int *ret_fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;

    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*ret_fd >= 0);
    assert_int_equal(bind(*ret_fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(*ret_fd, 1), 0);
    assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&at, &bytes), 0);
    return ntohs(at.sin_port);
}

static void there_is_no_network(void **state)
{
    const struct rp_sandbox_means none = {0},
                                  each[] = {{.namespaces = all.namespaces},
                                            {.network_namespace =
                                                 all.namespaces || all.network_namespace},
                                            {.seccomp = all.seccomp},
                                            all};
    rp_autoclose int fd = -1;
    char script[200];

    (void)state;
    snprintf(script, sizeof script, "exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'", listener(&fd));
    assert_int_equal(status_of(&none, script), 0);
    for (size_t i = 0; i < 4; i++)
        if (rp_sandbox_network_by(&each[i]))
            assert_int_not_equal(status_of(&each[i], script), 0);
}

/** @return how many processes have that word in their command line */
static int running(const char *word)
{
    char script[200];

    snprintf(script, sizeof script, "pgrep -fc '[%c]%s' >$IN/count; true", word[0], word + 1);
    assert_int_equal(status_of(&(struct rp_sandbox_means){0}, script), 0);
    {
        rp_autofree char *path = rp_path_join(inside, "count");
        rp_autofree char *line = rp_read_line(path);

        return line ? atoi(line) : -1;
    }
}

static void forks_without_end_end(void **state)
{
    struct rp_proc_end ended;

    (void)state;
    if (!all.namespaces)
        skip();
    ended = ran(&all, "while :; do sleep 321 & done");
    assert_true(ended.over_processes && ended.over_limits);
    assert_int_equal(running("sleep 321"), 0);
    /* What a program leaves behind goes with it, whatever group it is in. */
    assert_int_equal(status_of(&all, "setsid sleep 322 & exit 3"), 3);
    assert_int_equal(running("sleep 322"), 0);
}

/** Without a namespace, too: it could write where the next program does. */
static void what_is_left_behind_ends(void **state)
{
    (void)state;
    assert_int_equal(
        status_of(&(struct rp_sandbox_means){.seccomp = all.seccomp}, "setsid sleep 323 & exit 3"),
        3);
    assert_int_equal(running("sleep 323"), 0);
}

static void processes_of_others_stay(void **state)
{
    char script[64];

    (void)state;
    if (!all.namespaces && all.landlock < 6)
        skip();
    snprintf(script, sizeof script, "kill -0 %d", getpid());
    assert_int_not_equal(status_of(&all, script), 0);
    assert_int_equal(status_of(&(struct rp_sandbox_means){0}, script), 0);
}

static void ends_are_passed_on(void **state)
{
    struct rp_proc_end ended;

    (void)state;
    assert_int_equal(status_of(&all, "exit 42"), 42);
    ended = ran(&all, "kill -SEGV $$");
    assert_true(ended.signaled);
    assert_int_equal(ended.status, SIGSEGV);
    assert_int_equal(status_of(&all, "cd $IN && test $(pwd) = $IN && test -r /proc/self/maps"), 0);
    assert_int_equal(status_of(&all, "test $(cat /proc/self/status | sed -n 's/^CapEff:.//p') = "
                                     "0000000000000000"),
                     0);
}

/** Whose terminal it is, is not asked: the call itself is refused. */
static void terminals_are_not_typed_into(void **state)
{
    static const char script[] =
        "exec python3 -c \"import fcntl, sys\ntry: fcntl.ioctl(0, %s, b'x')\n"
        "except OSError as e: sys.exit(e.errno)\"";
    const struct rp_sandbox_means none = {0}, alone = {.seccomp = all.seccomp};
    const char *const calls[] = {"0x5412", "0x541C"};
    char text[300];

    (void)state;
    if (!all.seccomp)
        skip();
    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, script, calls[i]);
        assert_int_equal(status_of(&none, text), ENOTTY);
        assert_int_equal(status_of(&alone, text), EACCES);
        assert_int_equal(status_of(&all, text), EACCES);
    }
    /* In a session of its own it has no terminal, with namespaces or not. */
    assert_int_equal(status_of(&alone, "test $(cut -d' ' -f6 /proc/self/stat) = $$"), 0);
    assert_int_not_equal(status_of(&all, "exec 3>/dev/tty"), 0);
}

/** What cannot be had is no end of the program. */
static void a_failure_is_reported(void **state)
{
    const char *const writable[] = {"/proc/none", NULL};
    const struct rp_sandbox sandbox = {.means = all, .writable = writable};
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)"exit 0", NULL};
    const struct rp_proc_limits limits = {0};
    struct rp_proc_end end;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    if (!all.namespaces)
        skip();
    assert_int_not_equal(rp_proc_run(&(struct rp_proc){.path = "/bin/sh",
                                                       .argv = argv,
                                                       .limits = &limits,
                                                       .sandbox = &sandbox},
                                     &end, &err),
                         0);
    if (!strstr(err.text, "cannot make a sandbox for /bin/sh: No such file"))
        fail_msg("%s", err.text);
}

/** A program cannot take off what it is in. */
static void it_stays_in(void **state)
{
    (void)state;
    if (!all.seccomp)
        skip();
    assert_int_not_equal(status_of(&all, "mount -o remount,rw / && echo gone > $OUT/undone"), 0);
    assert_int_not_equal(status_of(&all,
                                   "unshare -Urm sh -c 'mount -o remount,bind,rw $OUT; echo > "
                                   "$OUT/undone'"),
                         0);
    assert_false(has(folder, "undone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_others_stay),     cmocka_unit_test(there_is_no_network),
        cmocka_unit_test(forks_without_end_end),    cmocka_unit_test(processes_of_others_stay),
        cmocka_unit_test(ends_are_passed_on),       cmocka_unit_test(it_stays_in),
        cmocka_unit_test(what_is_left_behind_ends), cmocka_unit_test(terminals_are_not_typed_into),
        cmocka_unit_test(a_failure_is_reported),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
