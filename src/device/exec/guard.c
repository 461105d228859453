#include "guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

struct attempt {
    sigjmp_buf back;
    uint64_t address;
};

/* initial-exec: the handler must find it without allocating. */
static __thread struct attempt *current __attribute__((tls_model("initial-exec")));
static __thread bool unblocked __attribute__((tls_model("initial-exec")));

/* The one context of this file: what the program wants done with the two signals. */
static struct {
    pthread_mutex_t lock;
    bool installed;
    struct sigaction program[2];
    /* The C library's: the name may lead to the hook, which serves the program. */
    __typeof__(sigaction) *change_action;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct sigaction *program_action(int signal)
{
    return &guard.program[signal == SIGBUS];
}

/** As the kernel would have called it. The mask is put back when our own handler returns. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    struct sigaction action = *program_action(signal), fallback = {.sa_handler = SIG_DFL};
    bool function = action.sa_flags & SA_SIGINFO ||
                    (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (!function) {
        if (action.sa_handler == SIG_IGN && info->si_code <= 0)
            return; /* sent by somebody; a trap cannot be ignored */
        guard.change_action(signal, &fallback, NULL);
        if (info->si_code <= 0)
            raise(signal);
        return; /* a trap happens again */
    }
    if (!(action.sa_flags & SA_NODEFER))
        sigaddset(&action.sa_mask, signal);
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, NULL);
    if (action.sa_flags & (int)SA_RESETHAND)
        *program_action(signal) = fallback;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    struct attempt *attempt = current;
    if (!attempt || info->si_code <= 0) {
        int errno_before = errno;
        pass_on(signal, info, context);
        errno = errno_before;
        return;
    }
    attempt->address = (uintptr_t)info->si_addr;
    current = NULL;
    siglongjmp(attempt->back, 1);
}

int rp_guard_install(void)
{
    /* NODEFER: the signal is not blocked when the handler is left by a jump. */
    struct sigaction ours = {.sa_sigaction = on_trap,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    int rc = 0;
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&guard.lock);
    if (!guard.installed) {
        guard.change_action = (__typeof__(sigaction) *)dlsym(RTLD_NEXT, "sigaction");
        if (guard.change_action(SIGSEGV, &ours, program_action(SIGSEGV)) < 0 ||
            guard.change_action(SIGBUS, &ours, program_action(SIGBUS)) < 0)
            rc = -errno;
        __atomic_store_n(&guard.installed, rc == 0, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&guard.lock);
    return rc;
}

bool rp_guard_owns(int signal)
{
    return (signal == SIGSEGV || signal == SIGBUS) &&
           __atomic_load_n(&guard.installed, __ATOMIC_ACQUIRE);
}

void rp_guard_disposition(int signal, const struct sigaction *fresh, struct sigaction *ret_old)
{
    struct sigaction wanted, old;
    if (fresh) /* may be the same object as ret_old */
        wanted = *fresh;
    pthread_mutex_lock(&guard.lock);
    old = *program_action(signal);
    if (fresh)
        *program_action(signal) = wanted;
    pthread_mutex_unlock(&guard.lock);
    if (ret_old)
        *ret_old = old;
}

/** The library's threads block all signals; a blocked trap would end the process. */
static void unblock(void)
{
    sigset_t traps;
    sigemptyset(&traps);
    sigaddset(&traps, SIGSEGV);
    sigaddset(&traps, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &traps, NULL);
    unblocked = true;
}

bool rp_guarded(void (*body)(void *ctx), void *ctx, uint64_t *ret_address)
{
    struct attempt attempt;
    if (!unblocked)
        unblock();
    if (sigsetjmp(attempt.back, 0)) {
        *ret_address = attempt.address;
        return false;
    }
    current = &attempt;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    body(ctx);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    current = NULL;
    return true;
}
