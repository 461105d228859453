#include "tune/orphan_watch.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/pidfd.h>
#include <unistd.h>

/** Time for a program to end by itself. */
enum { GRACE_MS = 3000 };

static void *watch(void *arg)
{
    struct pollfd parent = {.fd = (int)(intptr_t)arg, .events = POLLIN};

    while (poll(&parent, 1, -1) < 1)
        ;
    kill(getpid(), SIGTERM);
    poll(NULL, 0, GRACE_MS);
    kill(getpid(), SIGTERM);
    return NULL;
}

void rp_orphan_watch_begin(void)
{
    const int parent = pidfd_open(getppid(), 0);
    sigset_t all, before;
    pthread_t thread;

    if (parent < 0)
        return;
    sigfillset(&all); /* signals are for the thread that runs programs */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, watch, (void *)(intptr_t)parent) == 0)
        pthread_detach(thread);
    else
        close(parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
