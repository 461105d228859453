#include "guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <ucontext.h>

#include "disposition.h"
#include "lent.h"

struct attempt {
    sigjmp_buf back;
    struct rp_trap trap;
};

/* initial-exec: the handler must find it without allocating. */
static __thread struct attempt *current __attribute__((tls_model("initial-exec")));
static __thread bool unblocked __attribute__((tls_model("initial-exec")));

/* The one context of this file. */
static struct {
    pthread_mutex_t lock; /* of lent's writers, and of the installation */
    bool installed;
    struct rp_disposition program[2]; /* what the program wants done with the two signals */
    struct rp_lent lent;
    /* The C library's: the name may lead to the hook, which serves the program. */
    __typeof__(sigaction) *change_action;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct rp_disposition *disposition_of(int signal)
{
    return &guard.program[signal == SIGBUS];
}

/** As the kernel would have called it. The mask is put back when our own handler returns. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    struct sigaction action, fallback = {.sa_handler = SIG_DFL}, old;
    rp_disposition_get(disposition_of(signal), &action);
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
        rp_disposition_set(disposition_of(signal), &fallback, &old);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

static enum rp_trap_kind kind_of(int signal, const siginfo_t *info, const ucontext_t *context)
{
    enum { PAGE_FAULT_WRITE = 1 << 1 }; /* W/R of the error code: Intel SDM volume 3, 4.7 */
    if (signal == SIGBUS)
        return RP_TRAP_NO_STORAGE;
    if (info->si_code == SEGV_MAPERR)
        return RP_TRAP_GONE;
    return context->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WRITE ? RP_TRAP_NOT_WRITABLE
                                                                  : RP_TRAP_NOT_READABLE;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    struct attempt *attempt = current;
    /* A general protection fault (no such address at all) comes without an address: not lent. */
    if (!attempt || info->si_code <= 0 || !rp_lent_has(&guard.lent, (uintptr_t)info->si_addr)) {
        int errno_before = errno;
        pass_on(signal, info, context);
        errno = errno_before;
        return;
    }
    attempt->trap = (struct rp_trap){.kind = kind_of(signal, info, context),
                                     .address = (uintptr_t)info->si_addr};
    current = NULL;
    siglongjmp(attempt->back, 1);
}

/* Another thread may have been in the middle of rp_guard_lend. */
static void unlock_in_child(void)
{
    pthread_mutex_init(&guard.lock, NULL);
}

int rp_guard_install(void)
{
    /* NODEFER: the signal is not blocked when the handler is left by a jump. */
    struct sigaction ours = {.sa_sigaction = on_trap,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction program[2], unset;
    int rc = 0;
    /* Not under our lock: the loader has one, too, which whoever loads a library holds. */
    __typeof__(sigaction) *change_action = (__typeof__(sigaction) *)dlsym(RTLD_NEXT, "sigaction");
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&guard.lock);
    if (!guard.installed) {
        guard.change_action = change_action;
        pthread_atfork(NULL, NULL, unlock_in_child);
        if (guard.change_action(SIGSEGV, NULL, &program[0]) < 0 ||
            guard.change_action(SIGBUS, NULL, &program[1]) < 0)
            rc = -errno;
        if (rc == 0) { /* first what the handlers pass on to */
            rp_disposition_set(disposition_of(SIGSEGV), &program[0], &unset);
            rp_disposition_set(disposition_of(SIGBUS), &program[1], &unset);
            if (guard.change_action(SIGSEGV, &ours, NULL) < 0 ||
                guard.change_action(SIGBUS, &ours, NULL) < 0)
                rc = -errno;
        }
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
    struct sigaction old;
    if (fresh)
        rp_disposition_set(disposition_of(signal), fresh, &old);
    else
        rp_disposition_get(disposition_of(signal), &old);
    if (ret_old)
        *ret_old = old;
}

void rp_guard_lend(uint64_t begin, uint64_t end)
{
    pthread_mutex_lock(&guard.lock);
    rp_lent_add(&guard.lent, begin, end);
    pthread_mutex_unlock(&guard.lock);
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

const char *rp_trap_text(enum rp_trap_kind kind)
{
    static const char *const texts[] = {
        [RP_TRAP_GONE] = "was taken away by the program (free, munmap) while the GPU used it",
        [RP_TRAP_NOT_READABLE] = "is no longer readable: the program has changed its protection",
        [RP_TRAP_NOT_WRITABLE] = "is no longer writable: the program has changed its protection",
        [RP_TRAP_NO_STORAGE] = "lies beyond the end of its file, or no page could be had for it",
    };
    return texts[kind];
}

bool rp_guarded(void (*body)(void *ctx), void *ctx, struct rp_trap *ret_trap)
{
    struct attempt attempt;
    if (!unblocked)
        unblock();
    if (sigsetjmp(attempt.back, 0)) {
        *ret_trap = attempt.trap;
        return false;
    }
    current = &attempt;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    body(ctx);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    current = NULL;
    return true;
}
