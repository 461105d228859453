/* Locks between processes, and a mutex in a forked child. */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"

static int status_of(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Takes the lock, says so, and keeps it until its standard input ends. */
static pid_t hold_elsewhere(const char *path, unsigned flags, int *ret_end)
{
    int said[2], kept[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(said), 0);
    assert_int_equal(pipe2(kept, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        const int fd = rp_lock_path(path, flags);

        close(kept[1]);
        if (fd < 0 || write(said[1], "!", 1) != 1)
            _exit(1);
        _exit(read(kept[0], &byte, 1) == 0 ? 0 : 2); /* the end of the process unlocks */
    }
    close(said[1]);
    close(kept[0]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    close(said[0]);
    *ret_end = kept[1];
    return pid;
}

static void check_place(const char *path, unsigned flags)
{
    int end, fd;
    pid_t other = hold_elsewhere(path, flags, &end);

    errno = 0;
    assert_int_equal(rp_lock_path(path, flags), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    close(end);
    assert_int_equal(status_of(other), 0);
    fd = rp_lock_path(path, flags);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

static void one_process_has_it(void **state)
{
    char folder[] = "/tmp/rp-lock-XXXXXX", file[64], link[64];
    struct stat about;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/lock", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    check_place(folder, RP_LOCK_FOLDER);
    check_place(file, 0);
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(rp_lock_path(file, RP_LOCK_FOLDER), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(symlink(folder, link), 0);
    check_place(link, RP_LOCK_FOLDER);
    assert_int_equal(rp_lock_path(link, RP_LOCK_FOLDER | RP_LOCK_NO_LINK), -1);
    unlink(link);
    unlink(file);
    rmdir(folder);
    assert_int_equal(rp_lock_path(file, 0), -1);
    assert_int_equal(errno, ENOENT);
}

static void no_action(int signal)
{
    (void)signal;
}

static void waits_until_a_signal(void **state)
{
    char file[] = "/tmp/rp-lock-XXXXXX";
    int end, fd = mkstemp(file);
    pid_t other;
    struct sigaction action = {.sa_handler = no_action}, before;

    (void)state;
    close(fd);
    other = hold_elsewhere(file, 0, &end);
    sigaction(SIGALRM, &action, &before);
    ualarm(1000, 1000); /* again and again: the first may come before the wait */
    errno = 0;
    fd = rp_lock_path(file, RP_LOCK_WAIT);
    ualarm(0, 0);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, EINTR);
    sigaction(SIGALRM, &before, NULL);
    close(end);
    fd = rp_lock_path(file, RP_LOCK_WAIT); /* until the other has ended */
    assert_true(fd >= 0);
    assert_int_equal(status_of(other), 0);
    close(fd);
    unlink(file);
}

static void forget_half(void);

static struct {
    struct rp_fork_lock lock;
    int first, second; /* equal, but in the middle of a change */
} pair = {.lock = RP_FORK_LOCK(forget_half)};

static struct rp_fork_lock plain = RP_FORK_LOCK(NULL);

static void forget_half(void)
{
    pair.first = pair.second = 0;
}

static int changing[2], done[2];

/* Is in the middle of a change, with both locks, until it is told. */
static void *change(void *unused)
{
    char byte;

    rp_fork_lock_take(&pair.lock);
    rp_fork_lock_take(&plain);
    pair.first = 7;
    assert_int_equal(write(changing[1], "!", 1), 1);
    assert_int_equal(read(done[0], &byte, 1), 1);
    pair.second = 7;
    rp_fork_lock_release(&plain);
    rp_fork_lock_release(&pair.lock);
    return unused;
}

static int in_child(void)
{
    int equal;

    rp_fork_lock_take(&pair.lock);
    equal = pair.first == 0 && pair.second == 0;
    rp_fork_lock_release(&pair.lock);
    rp_fork_lock_take(&plain);
    rp_fork_lock_release(&plain);
    return equal ? 0 : 1;
}

static void child_has_no_holder(void **state)
{
    pthread_t thread;
    char byte;
    pid_t pid;

    (void)state;
    rp_fork_lock_take(&pair.lock);
    rp_fork_lock_release(&pair.lock);
    assert_int_equal(pipe(changing), 0);
    assert_int_equal(pipe(done), 0);
    assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
    assert_int_equal(read(changing[0], &byte, 1), 1);
    pid = fork();
    if (pid == 0) {
        pid_t grandchild;

        alarm(60); /* a lock that is held would never end */
        if (in_child() != 0)
            _exit(1);
        grandchild = fork();
        if (grandchild == 0)
            _exit(in_child());
        _exit(status_of(grandchild) == 0 ? 0 : 2);
    }
    assert_int_equal(status_of(pid), 0);
    assert_int_equal(write(done[1], "!", 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    rp_fork_lock_take(&pair.lock);
    assert_int_equal(pair.first + pair.second, 14); /* the parent's are as they were */
    rp_fork_lock_release(&pair.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_process_has_it),
        cmocka_unit_test(waits_until_a_signal),
        cmocka_unit_test(child_has_no_holder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
