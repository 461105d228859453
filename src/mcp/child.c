#include "mcp/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/process.h"
#include "base/utf8.h"
#include "mcp/news.h"

/* A second request, at least a second after the first, has a command kill what it runs. */
enum { AGAIN_MS = 3000, KILL_MS = 5000, LOOK_MS = 50 };

static void child_main(const struct rp_proc *proc, const struct rp_orphans *adopted, pid_t parent)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_buf text = {0};
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(RP_ENVIRONMENT);
    setpgid(0, 0);
    rp_orphans_leave(adopted);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    rp_proc_exec(proc, &err);
    rp_escape(&text, err.text);
    dprintf(STDERR_FILENO, "rocm-perf: %s\n", rp_buf_text(&text));
    _exit(RP_ENVIRONMENT);
}

int rp_mcp_child_start(const struct rp_proc *proc, struct rp_mcp_child *ret, struct rp_err *err)
{
    struct rp_mcp_child child = {.pidfd = -1};
    rp_autoclose int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct rp_proc ready = *proc;
    const pid_t self = getpid();
    int out[2], said[2];

    if (nothing < 0 || pipe2(out, O_CLOEXEC) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot start a command");
    if (pipe2(said, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot start a command");
    }
    ready.stdin_fd = nothing;
    ready.stdout_fd = out[1];
    ready.stderr_fd = said[1];
    rp_orphans_begin(&child.adopted);
    child.pid = fork();
    if (child.pid == 0)
        child_main(&ready, &child.adopted, self);
    close(out[1]);
    close(said[1]);
    if (child.pid < 0) {
        const int why = errno;

        rp_orphans_end(&child.adopted);
        close(out[0]);
        close(said[0]);
        return rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot start a process");
    }
    setpgid(child.pid, child.pid); /* the child does so too: whoever is first */
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(said[0], F_SETFL, O_NONBLOCK);
    child.out = out[0];
    child.err = said[0];
    child.pidfd = pidfd_open(child.pid, 0);
    *ret = child;
    return 0;
}

void rp_mcp_child_end(struct rp_mcp_child *child)
{
    if (child->asked)
        return;
    child->asked = 1;
    child->next_ask_ms = rp_mcp_now_ms() + AGAIN_MS;
    kill(-child->pid, SIGTERM);
}

int rp_mcp_child_patience_ms(const struct rp_mcp_child *child)
{
    const long long left_ms = child->next_ask_ms - rp_mcp_now_ms();
    int patience_ms = child->asked ? (left_ms > 0 ? (int)left_ms : 0) : -1;

    if (child->asked > 2) /* killed already */
        patience_ms = LOOK_MS;
    if (child->pidfd < 0 && (patience_ms < 0 || patience_ms > LOOK_MS))
        patience_ms = LOOK_MS;
    return patience_ms;
}

bool rp_mcp_child_has_ended(struct rp_mcp_child *child)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
        return true;
    if (child->asked && child->asked <= 2 && rp_mcp_now_ms() >= child->next_ask_ms) {
        kill(-child->pid, ++child->asked > 2 ? SIGKILL : SIGTERM);
        child->next_ask_ms = rp_mcp_now_ms() + KILL_MS;
    }
    return false;
}

int rp_mcp_child_reap(struct rp_mcp_child *child)
{
    int status = 0;

    kill(-child->pid, SIGKILL); /* what is left of its group: it is not reaped yet */
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    rp_orphans_kill(&child->adopted, 0);
    rp_orphans_end(&child->adopted);
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pid = 0;
    child->pidfd = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
