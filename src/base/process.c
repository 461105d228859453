#include "base/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/program_loader.h"
#include "base/sandbox.h"

/* This is called with each child of this process while it returns true. */
typedef bool take_child(void *arg, pid_t child);

static bool each_child_of(const char *task, take_child *take, void *arg)
{
    char path[64];
    FILE *file;
    int pid;
    bool go_on = true;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", task);
    file = fopen(path, "re");
    if (!file)
        return true; /* The thread has ended. */
    while (go_on && fscanf(file, "%d", &pid) == 1)
        go_on = take(arg, pid);
    fclose(file);
    return go_on;
}

static void each_child(take_child *take, void *arg)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;

    if (!tasks)
        return;
    while ((task = readdir(tasks)))
        if (task->d_name[0] != '.' && !each_child_of(task->d_name, take, arg))
            break;
    closedir(tasks);
}

static bool note_before(void *arg, pid_t child)
{
    struct rp_orphans *adopted = arg;
    pid_t *more = rp_realloc_array(adopted->before, adopted->befores + 1, sizeof *more);

    if (!more)
        return false;
    adopted->before = more;
    adopted->before[adopted->befores++] = child;
    return true;
}

void rp_orphans_begin(struct rp_orphans *ret)
{
    const struct sigaction hear = {.sa_handler = SIG_DFL};
    int adopts = 0;

    prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    *ret = (struct rp_orphans){.adopts_anyway = adopts != 0};
    sigaction(SIGCHLD, &hear, &ret->on_end);
    each_child(note_before, ret);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void rp_orphans_end(struct rp_orphans *adopted)
{
    sigaction(SIGCHLD, &adopted->on_end, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, adopted->adopts_anyway);
    free(adopted->before);
    *adopted = (struct rp_orphans){0};
}

void rp_orphans_leave(const struct rp_orphans *adopted)
{
    sigaction(SIGCHLD, &adopted->on_end, NULL);
}

struct sweep {
    const struct rp_orphans *adopted;
    pid_t except;
    int signo;
    size_t found;
};

static bool sweep_child(void *arg, pid_t child)
{
    struct sweep *sweep = arg;

    if (child == sweep->except)
        return true;
    for (size_t i = 0; i < sweep->adopted->befores; i++)
        if (sweep->adopted->before[i] == child)
            return true;
    /* The child is not reaped yet, so the number is still that of this process. */
    if (sweep->signo)
        kill(child, sweep->signo);
    waitpid(child, NULL, WNOHANG);
    sweep->found++;
    return true;
}

/** Sends a signal (0: none) to each child but `except` and those of before, and reaps those that
 * have ended.
 * @return how many there were, ended ones included: their children may have been adopted meanwhile
 */
static size_t orphans_signal(const struct rp_orphans *adopted, pid_t except, int signo)
{
    struct sweep sweep = {adopted, except, signo, 0};

    each_child(sweep_child, &sweep);
    return sweep.found;
}

void rp_orphans_kill(const struct rp_orphans *adopted, pid_t except)
{
    enum { ROUNDS = 1000, ROUND_MS = 2 };

    for (int i = 0; i < ROUNDS && orphans_signal(adopted, except, SIGKILL) > 0; i++)
        poll(NULL, 0, ROUND_MS);
}

/* This part measures how much memory and processor time the processes below this one have taken. */

struct process {
    pid_t pid, parent;
    uint64_t resident_pages, cpu_ticks;
    bool ours;
};

/** The name of a process may hold anything: fields are counted from its last parenthesis. */
static bool read_process(const char *name, struct process *ret)
{
    char path[64], text[1024];
    const char *at;
    FILE *file;
    size_t got;
    int parent;

    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    file = fopen(path, "re");
    if (!file)
        return false;
    got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = 0;
    at = strrchr(text, ')');
    /* By proc(5) the state stands behind the name, then the parent; times in user and kernel mode
     * are fields 14 and 15, rss is field 24. */
    if (!at || sscanf(at + 1, " %*c %d", &parent) != 1)
        return false;
    *ret = (struct process){.pid = atoi(name), .parent = parent};
    for (unsigned field = 3; field <= 24; field++) {
        at = strchr(at + 1, ' ');
        if (!at)
            return false;
        if (field == 14 || field == 15)
            ret->cpu_ticks += strtoull(at + 1, NULL, 10);
    }
    ret->resident_pages = strtoull(at + 1, NULL, 10);
    return true;
}

static struct process *read_all(size_t *ret_count)
{
    struct process *list = NULL, one;
    size_t count = 0, room = 0;
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !read_process(entry->d_name, &one))
            continue;
        if (count == room) {
            struct process *more = rp_realloc(list, (room = 2 * room + 64) * sizeof *list);

            if (!more)
                break;
            list = more;
        }
        list[count++] = one;
    }
    if (dir)
        closedir(dir);
    *ret_count = count;
    return list;
}

static int by_pid(const void *a, const void *b)
{
    const pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;

    return (x > y) - (x < y);
}

/** Marks those that descend from this process, without itself. There may be many where one forks
 * without end. */
static void mark_ours(struct process *list, size_t count)
{
    const pid_t self = getpid();
    bool more = true;

    if (count)
        qsort(list, count, sizeof *list, by_pid);
    while (more) { /* This is repeated as often as the tree is deep. */
        more = false;
        for (size_t i = 0; i < count; i++) {
            const struct process key = {.pid = list[i].parent};
            const struct process *parent =
                list[i].ours ? NULL : bsearch(&key, list, count, sizeof *list, by_pid);

            if (!list[i].ours && (list[i].parent == self || (parent && parent->ours)))
                more = list[i].ours = true;
        }
    }
}

/** Adds up the resident bytes, 0 where /proc is not there. Pages that several of them share count
 * several times. */
static void look_at_tree(uint64_t *ret_resident_bytes, size_t *ret_processes)
{
    size_t count;
    rp_autofree struct process *list = read_all(&count);
    uint64_t pages = 0;

    *ret_processes = 0;
    mark_ours(list, count);
    for (size_t i = 0; i < count; i++) {
        pages += list[i].ours ? list[i].resident_pages : 0;
        *ret_processes += list[i].ours;
    }
    *ret_resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t rp_proc_tree_cpu_ms(void)
{
    size_t count;
    rp_autofree struct process *list = read_all(&count);
    uint64_t ticks = 0;

    mark_ours(list, count);
    for (size_t i = 0; i < count; i++)
        ticks += list[i].ours ? list[i].cpu_ticks : 0;
    return ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* This is the one piece of state that a signal handler can reach: whom to pass a signal to (a
 * process, or a group as kill() spells it), and that one came. Only rp_proc_run touches it, and
 * runs do not nest. */
static volatile sig_atomic_t interrupted_by;
static volatile int64_t interrupted_at_ns;
static volatile pid_t signal_target;
static volatile sig_atomic_t killed;       /**< because nobody waited for its end */
static volatile sig_atomic_t survives;     /**< see rp_proc_survive_signals */
static volatile sig_atomic_t stop_asked;   /**< by this signal, since then */
static volatile sig_atomic_t survived_run; /**< signal_target has result_survives */
static volatile sig_atomic_t interrupt_it; /**< it has ends_by_interrupt */
static volatile sig_atomic_t was_run;      /**< a program with result_survives has been */

enum { NS_PER_S = 1000000000 };
static const int64_t GRACE_NS = (int64_t)5 * NS_PER_S;

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };

/* A second request after a while is meant. Signals that come together are one request. */
static void forward_and_end(int signo, bool has_it)
{
    const int64_t now_ns = rp_now_ns();
    const bool again = interrupted_by && now_ns - interrupted_at_ns >= NS_PER_S;

    if (!interrupted_by)
        interrupted_at_ns = now_ns;
    interrupted_by = signo;
    if (!signal_target)
        return;
    killed = killed || again;
    if (again || !has_it)
        kill(signal_target, again ? SIGKILL : signo);
}

/* Only this one of the functions that print may be called by a handler. */
static void write_out(const char *line)
{
    (void)!write(STDERR_FILENO, line, strlen(line));
}

/* The first request ends the program, if one runs; the second kills it; with no program to end the
 * next one ends this process, whatever it does. */
static void forward_and_survive(int signo, bool has_it)
{
    const pid_t program = survived_run ? signal_target : 0;
    const int64_t now_ns = rp_now_ns();

    if (!stop_asked) {
        stop_asked = signo;
        if (program && interrupt_it && !(has_it && signo == SIGINT))
            kill(program, SIGINT);
        else if (program && !has_it)
            kill(program, signo);
        else if (!program && was_run)
            write_out(
                "rocm-perf: no further run is started, and the result is made; the same signal "
                "again, at least a second later, gives it up\n");
    } else if (now_ns - interrupted_at_ns < NS_PER_S) {
        return;
    } else if (program) {
        killed = 1;
        kill(program, SIGKILL);
    } else {
        if (signal_target)
            kill(signal_target, SIGKILL);
        _exit(RP_INTERRUPTED);
    }
    interrupted_at_ns = now_ns;
}

/* A terminal has sent its own to the program already, if that is still in our group (timeout and
 * setsid leave it), and many programs take a second one for the wish to end without order. */
static void on_signal(int signo, siginfo_t *about, void *context)
{
    const pid_t target = signal_target;
    const bool has_it = about->si_code == SI_KERNEL && target > 0 && getpgid(target) == getpgrp();
    const int saved = errno;

    (void)context;
    if (survives)
        forward_and_survive(signo, has_it);
    else
        forward_and_end(signo, has_it);
    errno = saved;
}

/* SIGHUP and SIGQUIT stay ignored where they are (nohup). SIGINT is taken in any case: a script's
 * background job has it ignored, and must still be stoppable. */
static void catch_signals(struct sigaction *ret_old)
{
    struct sigaction forward = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

    for (unsigned i = 0; i < ENDING_SIGNALS; i++) {
        int signo = ending_signals[i];

        sigaction(signo, NULL, &ret_old[i]);
        if (ret_old[i].sa_handler != SIG_IGN || signo == SIGINT)
            sigaction(signo, &forward, NULL);
    }
}

void rp_proc_catch_signals(void)
{
    struct sigaction old[ENDING_SIGNALS];

    catch_signals(old);
}

int rp_proc_interrupted(struct rp_err *err)
{
    if (!interrupted_by)
        return 0;
    return rp_fail(err, RP_INTERRUPTED, "interrupted by SIG%s",
                   rp_signal_abbreviation(interrupted_by));
}

void rp_proc_survive_signals(void)
{
    rp_proc_catch_signals();
    survives = 1;
}

int rp_proc_stop_asked(void)
{
    return stop_asked;
}

void rp_proc_signal(int signo)
{
    const pid_t target = signal_target;

    if (target)
        kill(target, signo);
}

/* The handler has no other way to these. */
static uint32_t *volatile switched;
static volatile sig_atomic_t was_switched;
/** This signal came while there was nothing to switch. */
static volatile sig_atomic_t switch_waits;
static const char *volatile switch_refusal; /**< said in place of switching; NULL: none */

static void on_switch(int signo)
{
    uint32_t *paused = switched;
    const int saved = errno;

    if (switch_refusal)
        write_out(switch_refusal);
    else if (paused)
        __atomic_store_n(paused, signo == SIGUSR2, __ATOMIC_RELEASE), was_switched = 1;
    else
        switch_waits = signo;
    errno = saved;
}

static void catch_switches(void)
{
    const struct sigaction on = {.sa_handler = on_switch, .sa_flags = SA_RESTART};

    sigaction(SIGUSR1, &on, NULL);
    sigaction(SIGUSR2, &on, NULL);
}

void rp_proc_switch_by_signals(uint32_t *paused)
{
    int waits;

    switched = paused;
    catch_switches();
    if (!paused)
        return;
    waits = switch_waits;
    switch_waits = 0;
    if (waits)
        on_switch(waits);
}

bool rp_proc_was_switched(void)
{
    return was_switched;
}

void rp_proc_refuse_switches(const char *line)
{
    switch_refusal = line;
    if (switch_waits)
        write_out(line);
    switch_waits = 0;
    catch_switches();
}

int rp_proc_interrupting_signal(void)
{
    return interrupted_by;
}

static int apply_env(const struct rp_env_change *change)
{
    for (; change && change->name; change++) {
        const char *old = getenv(change->name);
        rp_autofree char *joined = NULL;

        if (!change->value) {
            unsetenv(change->name);
            continue;
        }
        if (change->separator && old && *old)
            joined = rp_format("%s%s%s", change->value, change->separator, old);
        if (setenv(change->name, joined ? joined : change->value, 1) != 0)
            return -1;
    }
    return 0;
}

static int exec_failure(struct rp_err *err, const char *path, int errno_value)
{
    if (errno_value == ENOEXEC)
        return rp_fail(err, RP_USAGE, "%s is neither a program nor a script with a #! line", path);
    if (errno_value == ENOENT) {
        char line[256];
        const char *program = rp_loader_script_program(path, line);

        return rp_fail(err, RP_USAGE, "%s cannot be executed: its %s%s is missing", path,
                       program ? "interpreter " : "loader", program ? program : "");
    }
    return rp_fail_errno(err, RP_USAGE, errno_value, "cannot execute %s", path);
}

static void set_limit(int what, uint64_t most)
{
    if (most)
        setrlimit(what, &(struct rlimit){most, most});
}

static void set_limits(const struct rp_proc_limits *limits)
{
    set_limit(RLIMIT_AS, limits->address_bytes);
    set_limit(RLIMIT_FSIZE, limits->file_bytes);
    set_limit(RLIMIT_CPU, limits->cpu_s);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

int rp_proc_exec(const struct rp_proc *proc, struct rp_err *err)
{
    /* A command may ignore the signal, and an ignored signal stays ignored over exec. */
    signal(SIGXFSZ, SIG_DFL);
    if (apply_env(proc->env) != 0)
        return rp_out_of_memory(err);
    if (proc->stdin_fd > 0)
        dup2(proc->stdin_fd, STDIN_FILENO);
    if (proc->stdout_fd > 0)
        dup2(proc->stdout_fd, STDOUT_FILENO);
    if (proc->stderr_fd > 0)
        dup2(proc->stderr_fd, STDERR_FILENO);
    if (proc->directory && chdir(proc->directory) != 0)
        return exec_failure(err, proc->directory, errno);
    /* This comes last: if the environment does not fit into the limits, that is no failure of ours.
     */
    if (proc->limits)
        set_limits(proc->limits);
    execv(proc->path, proc->argv);
    return exec_failure(err, proc->path, errno);
}

/* Runs in the child. It reports a failing exec through the pipe, which a successful one closes. */
static void child_main(const struct rp_proc *proc, pid_t parent, bool own_group, int report_fd)
{
    int code = ENOMEM;

    prctl(PR_SET_PDEATHSIG, SIGTERM); /* Nobody would wait for the child if we are killed. */
    if (getppid() != parent)          /* We were killed before that. */
        _exit(127);
    if (proc->sandbox) /* Of a session of its own no terminal can be typed into. */
        setsid();
    else if (own_group)
        setpgid(0, 0);
    if (proc->sandbox) {
        if (proc->sandbox->writable[0])
            setenv("TMPDIR", proc->sandbox->writable[0], 1);
        rp_sandbox_enter(proc->sandbox, report_fd);
    }
    /* exec resets the caught signals by itself. */
    if (rp_proc_exec(proc, NULL) != -(int)RP_ENVIRONMENT)
        code = errno;
    (void)!write(report_fd, &code, sizeof code);
    _exit(127);
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

const char *rp_signal_abbreviation(int signal)
{
#define NAME(name) [SIG##name] = #name
    static const char *const names[] = {
        NAME(HUP),  NAME(INT),  NAME(QUIT),  NAME(ILL),  NAME(TRAP),   NAME(ABRT), NAME(BUS),
        NAME(FPE),  NAME(KILL), NAME(USR1),  NAME(SEGV), NAME(USR2),   NAME(PIPE), NAME(ALRM),
        NAME(TERM), NAME(CHLD), NAME(CONT),  NAME(STOP), NAME(TSTP),   NAME(TTIN), NAME(TTOU),
        NAME(URG),  NAME(XCPU), NAME(XFSZ),  NAME(PROF), NAME(VTALRM), NAME(POLL), NAME(WINCH),
        NAME(PWR),  NAME(SYS),  NAME(STKFLT)};
#undef NAME

    return signal > 0 && (size_t)signal < sizeof names / sizeof *names ? names[signal] : NULL;
}

int rp_pidfd_open(pid_t pid)
{
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* as headers of Linux 5.3 and later say */
#endif
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Without pidfds (Linux before 5.3, as in RHEL 8) one looks again and again. */
static bool has_ended(pid_t child)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* Waits until then for the end of the process, and says whether it came. */
static bool has_ended_until(int pidfd, pid_t child, int64_t until_ns)
{
    enum { LOOK_MS = 20 };
    struct pollfd fd = {.fd = pidfd, .events = POLLIN};

    for (;;) {
        int64_t left_ms = (until_ns - rp_now_ns()) / (NS_PER_S / 1000);
        const int64_t most_ms = pidfd < 0 ? LOOK_MS : INT_MAX;

        if (left_ms < 0)
            left_ms = 0;
        if (poll(&fd, 1, (int)(left_ms < most_ms ? left_ms : most_ms)) > 0 ||
            (pidfd < 0 && has_ended(child)))
            return true;
        if (left_ms == 0)
            return false;
    }
}

/** This is why a process need not be waited for any more. */
enum reason { ENDED = 0, TIMED_OUT, OVER_MEMORY, OVER_PROCESSES, HUNG };

/** @return ENDED while they keep within them */
static enum reason over_limits(const struct rp_proc_limits *limits)
{
    uint64_t bytes;
    size_t processes;

    look_at_tree(&bytes, &processes);
    if (limits->processes && processes > limits->processes)
        return OVER_PROCESSES;
    return limits->resident_bytes && bytes > limits->resident_bytes ? OVER_MEMORY : ENDED;
}

/* Waits so long for its end, while all of its processes together stay within their memory. Each
 * look at them is reported to whoever waits. */
static enum reason wait_until(int pidfd, pid_t child, const struct rp_proc *proc, int64_t begin_ns)
{
    enum { LOOK_NS = 100000000 };
    const bool limited = proc->limits && (proc->limits->resident_bytes || proc->limits->processes);
    const int64_t until_ns = proc->timeout_ns ? begin_ns + proc->timeout_ns : INT64_MAX;
    const bool looks = limited || proc->waiting || proc->hangs;

    for (;;) {
        const int64_t look_ns = rp_now_ns() + LOOK_NS;
        enum reason over;

        if (!looks || look_ns >= until_ns)
            return has_ended_until(pidfd, child, until_ns) ? ENDED : TIMED_OUT;
        if (has_ended_until(pidfd, child, look_ns))
            return ENDED;
        over = limited ? over_limits(proc->limits) : ENDED;
        if (over != ENDED)
            return over;
        if (proc->hangs && proc->hangs(proc->context))
            return HUNG;
        if (proc->waiting)
            proc->waiting(proc->context, look_ns - begin_ns);
    }
}

/* A shell dies at once of SIGTERM, while a
 * program that it has started may be writing down its results: that program has the time of grace,
 * too. There is none where the machine has no memory left, and for what will not end. */
static enum reason end_after(const struct rp_proc *proc, const struct rp_orphans *adopted,
                             pid_t child, int64_t begin_ns)
{
    rp_autoclose int pidfd = rp_pidfd_open(child);
    const enum reason reason = wait_until(pidfd, child, proc, begin_ns);
    int64_t killed_at_ns;

    if (reason == ENDED)
        return ENDED;
    if (reason == TIMED_OUT) {
        kill(signal_target, SIGTERM);
        killed_at_ns = rp_now_ns() + GRACE_NS;
        has_ended_until(pidfd, child, killed_at_ns);
        while (orphans_signal(adopted, child, 0) > 0 && rp_now_ns() < killed_at_ns)
            pause_ms(10);
    }
    /* This also kills the rest of its group, because the process is not reaped yet. */
    kill(signal_target, SIGKILL);
    killed = 1;
    return reason;
}

static void wait_for(const struct rp_proc *proc, const struct rp_orphans *adopted, pid_t child,
                     int64_t begin_ns, struct rp_proc_end *end)
{
    enum reason reason = ENDED;
    int status;

    if (proc->timeout_ns || proc->waiting || proc->hangs)
        reason = end_after(proc, adopted, child, begin_ns);
    end->timed_out = reason == TIMED_OUT;
    end->over_processes = reason == OVER_PROCESSES;
    end->over_limits = reason == OVER_MEMORY || end->over_processes;
    end->hung = reason == HUNG;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (killed || proc->sandbox) /* What is left could still write where the next one does. */
        rp_orphans_kill(adopted, child);
    end->signaled = WIFSIGNALED(status);
    end->status = end->signaled ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Who is killed with SIGKILL cannot end what he has started. So a process of ours waits on a pipe,
 * whose other end nobody else has: the end of this process without a word closes it. */

struct guard {
    pid_t pid; /**< 0: none */
    int pipe;  /**< a socket: if somebody kills the guard, a write to it is no signal for us */
};

/* Runs in the child, which may only do what is safe beside threads. The pipe is standard input. */
static void guard_main(void)
{
    enum { MOST_FILES = 1024, ROUND_MS = 50 };
    sigset_t all;
    pid_t target = 0;
    char word;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid(); /* Signals of a terminal and for our group are not for it. */
    for (int fd = 1; fd < MOST_FILES; fd++)
        close(fd);
    if (read(STDIN_FILENO, &target, sizeof target) != (ssize_t)sizeof target ||
        read(STDIN_FILENO, &word, 1) == 1)
        _exit(0);
    kill(target, SIGTERM);
    for (int i = 0; i < GRACE_NS / 1000000 / ROUND_MS && kill(target, 0) == 0; i++)
        pause_ms(ROUND_MS);
    kill(target, SIGKILL);
    _exit(0);
}

/* Without processes or descriptors to spare there is none. */
static void guard_begin(struct guard *ret)
{
    int ends[2];

    *ret = (struct guard){0, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    ret->pid = fork();
    if (ret->pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[1]);
        guard_main();
    }
    close(ends[0]);
    ret->pipe = ends[1];
    if (ret->pid < 0) {
        close(ends[1]);
        *ret = (struct guard){0, -1};
    }
}

static void guard_tell(const struct guard *guard, pid_t target)
{
    if (guard->pid)
        send(guard->pipe, &target, sizeof target, MSG_NOSIGNAL);
}

static void guard_end(struct guard *guard)
{
    if (!guard->pid)
        return;
    send(guard->pipe, "", 1, MSG_NOSIGNAL);
    close(guard->pipe);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int run_child(const struct rp_proc *proc, const struct rp_orphans *adopted,
                     const struct guard *guard, struct rp_proc_end *ret, struct rp_err *err)
{
    int report[2], exec_errno = 0;
    int64_t begin_ns = rp_now_ns();
    /* A terminal sends Ctrl-C to all of us, and only its foreground group may read from it. Without
     * one the signal comes to this process alone, and must reach what a script has started, too. */
    bool own_group = proc->limits || !isatty(STDIN_FILENO) || (survives && !proc->result_survives);
    ssize_t got;
    const pid_t parent = getpid();
    pid_t child;

    if (pipe2(report, O_CLOEXEC) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "pipe");
    child = fork();
    if (child < 0) {
        close(report[0]);
        close(report[1]);
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot start a process");
    }
    if (child == 0) {
        rp_orphans_leave(adopted);
        child_main(proc, parent, own_group, report[1]);
    }
    if (own_group && !proc->sandbox)
        /* The child does so too, because nobody knows which of the two is first. The leader of a
         * group could begin no session. */
        setpgid(child, child);
    survived_run = proc->result_survives;
    interrupt_it = proc->ends_by_interrupt;
    signal_target = own_group ? -child : child;
    guard_tell(guard, signal_target);
    close(report[1]);
    if (interrupted_by) /* The signal came between the fork and the line above. */
        kill(signal_target, interrupted_by);
    if (stop_asked && survived_run)
        kill(signal_target, interrupt_it ? SIGINT : stop_asked);
    while ((got = read(report[0], &exec_errno, sizeof exec_errno)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (interrupted_by && proc->sandbox) /* Before the session was begun nobody got the signal. */
        kill(signal_target, interrupted_by);
    wait_for(proc, adopted, child, begin_ns, ret);
    was_run = was_run || survived_run;
    signal_target = 0;
    ret->wall_ns = rp_now_ns() - begin_ns;
    if (got == (ssize_t)sizeof exec_errno && exec_errno < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, -exec_errno, "cannot make a sandbox for %s",
                             proc->path);
    if (got == (ssize_t)sizeof exec_errno)
        return exec_failure(err, proc->path, exec_errno);
    return 0;
}

int rp_proc_run(const struct rp_proc *proc, struct rp_proc_end *ret, struct rp_err *err)
{
    struct sigaction old[ENDING_SIGNALS];
    struct rp_proc_end end = {0};
    struct rp_orphans adopted;
    struct guard guard = {0};
    int rc;

    catch_signals(old);
    if (proc->guarded)
        guard_begin(&guard);
    rp_orphans_begin(&adopted);
    killed = 0;
    rc = rp_proc_interrupted(err);
    if (rc == 0)
        rc = run_child(proc, &adopted, &guard, &end, err);
    rp_orphans_end(&adopted);
    guard_end(&guard);
    for (unsigned i = 0; i < ENDING_SIGNALS; i++)
        sigaction(ending_signals[i], &old[i], NULL);
    end.interrupted = proc->result_survives ? stop_asked : 0;
    if (rc == 0)
        rc = rp_proc_interrupted(err);
    if (rc == 0)
        *ret = end;
    return rc;
}
