#include "base/adopted.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"

/* Called with each child of this process while it returns true. */
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
        return true; /* the thread has ended */
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
    struct rp_adopted *adopted = arg;
    pid_t *more = reallocarray(adopted->before, adopted->befores + 1, sizeof *more);

    if (!more)
        return false;
    adopted->before = more;
    adopted->before[adopted->befores++] = child;
    return true;
}

void rp_adopted_begin(struct rp_adopted *ret)
{
    const struct sigaction hear = {.sa_handler = SIG_DFL};
    int adopts = 0;

    prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    *ret = (struct rp_adopted){.adopts_anyway = adopts != 0};
    sigaction(SIGCHLD, &hear, &ret->on_end);
    each_child(note_before, ret);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void rp_adopted_end(struct rp_adopted *adopted)
{
    sigaction(SIGCHLD, &adopted->on_end, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, adopted->adopts_anyway);
    free(adopted->before);
    *adopted = (struct rp_adopted){0};
}

void rp_adopted_leave(const struct rp_adopted *adopted)
{
    sigaction(SIGCHLD, &adopted->on_end, NULL);
}

struct sweep {
    const struct rp_adopted *adopted;
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
    /* Not reaped yet, so the number is still that of this process. */
    if (sweep->signo)
        kill(child, sweep->signo);
    waitpid(child, NULL, WNOHANG);
    sweep->found++;
    return true;
}

size_t rp_adopted_signal(const struct rp_adopted *adopted, pid_t except, int signo)
{
    struct sweep sweep = {adopted, except, signo, 0};

    each_child(sweep_child, &sweep);
    return sweep.found;
}

void rp_adopted_kill(const struct rp_adopted *adopted, pid_t except)
{
    enum { ROUNDS = 1000, ROUND_MS = 2 };

    for (int i = 0; i < ROUNDS && rp_adopted_signal(adopted, except, SIGKILL) > 0; i++)
        poll(NULL, 0, ROUND_MS);
}
