#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/process.h"
#include "tune/launcher.h"

/** In the child: what fails before the program runs goes through the pipe. */
static void child_main(const struct rp_proc *proc, int fd, pid_t parent, int report_fd)
{
    sigset_t none;
    int code;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(127);
    setpgid(0, 0); /* Ctrl-C is for us, who end it in order */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    dup2(fd, STDIN_FILENO);
    dup2(fd, STDOUT_FILENO);
    rp_proc_exec(proc, NULL);
    code = errno;
    (void)!write(report_fd, &code, sizeof code);
    _exit(127);
}

static int start(const struct rp_proc *proc, int fd, pid_t *ret, struct rp_err *err)
{
    const pid_t self = getpid();
    int report[2], why = 0;
    ssize_t got;
    pid_t child;

    if (pipe2(report, O_CLOEXEC) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "pipe");
    child = fork();
    if (child == 0)
        child_main(proc, fd, self, report[1]);
    if (child > 0)
        setpgid(child, child); /* the child does so too: whoever is first */
    close(report[1]);
    while (child > 0 && (got = read(report[0], &why, sizeof why)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (child < 0)
        return rp_fail(err, RP_ENVIRONMENT, "cannot start a process");
    if (got == (ssize_t)sizeof why) {
        waitpid(child, NULL, 0);
        return rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot execute %s", proc->path);
    }
    *ret = child;
    return 0;
}

int rp_launch_child(const char *path, const char *const *argv, const struct rp_env_change *env,
                    struct rp_launched *ret, struct rp_err *err)
{
    const struct rp_proc proc = {.path = path,
                                 .argv = (char *const *)(uintptr_t)argv,
                                 .env = env,
                                 .stdout_fd = -1,
                                 .stderr_fd = -1};
    struct rp_launched launched = {0};
    int ends[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "socketpair");
    rc = start(&proc, ends[1], &launched.pid, err);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        return rc;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    launched.fd = ends[0];
    *ret = launched;
    return 0;
}
