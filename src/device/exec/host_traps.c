#include "device/exec/host_traps.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { RP_BORROWED_RANGES = 64 };

/**
 * Ranges that overlap or touch share a span. When there are more ranges than spans, the nearest
 * span is stretched over what lies between. Zeroed means empty. The caller serialises writers.
 */
struct rp_borrowed_ranges {
    uint32_t count;
    struct {
        uint64_t begin, end;
    } span[RP_BORROWED_RANGES];
};

static bool borrowed_ranges_has(const struct rp_borrowed_ranges *lent, uint64_t address)
{
    uint32_t count = __atomic_load_n(&lent->count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++)
        if (__atomic_load_n(&lent->span[i].begin, __ATOMIC_RELAXED) <= address &&
            address < __atomic_load_n(&lent->span[i].end, __ATOMIC_RELAXED))
            return true;
    return false;
}

/** Bytes between the span and [begin, end); 0 = they touch. */
static uint64_t distance(const struct rp_borrowed_ranges *lent, uint32_t i, uint64_t begin,
                         uint64_t end)
{
    if (end < lent->span[i].begin)
        return lent->span[i].begin - end;
    return begin > lent->span[i].end ? begin - lent->span[i].end : 0;
}

/* A reader sees each bound before or after: both are right, since spans only grow. */
static void stretch(struct rp_borrowed_ranges *lent, uint32_t i, uint64_t begin, uint64_t end)
{
    if (begin < lent->span[i].begin)
        __atomic_store_n(&lent->span[i].begin, begin, __ATOMIC_RELAXED);
    if (end > lent->span[i].end)
        __atomic_store_n(&lent->span[i].end, end, __ATOMIC_RELAXED);
}

static void borrowed_ranges_add(struct rp_borrowed_ranges *lent, uint64_t begin, uint64_t end)
{
    uint32_t count = lent->count, nearest = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < count && least; i++) {
        uint64_t gap = distance(lent, i, begin, end);
        if (gap < least) {
            least = gap;
            nearest = i;
        }
    }
    if (least == 0 || count == RP_BORROWED_RANGES) {
        stretch(lent, nearest, begin, end);
        return;
    }
    lent->span[count].begin = begin;
    lent->span[count].end = end;
    __atomic_store_n(&lent->count, count + 1, __ATOMIC_RELEASE);
}

enum {
    /** Each call under way has a cell, and one that a fork cut short keeps it. */
    RP_SIGNAL_ACTION_CELLS = 64,
    RP_SIGNAL_ACTION_WORDS = sizeof(struct sigaction) / sizeof(uint64_t),
};

/** All zero means the default action, which is in cell 0. */
struct rp_signal_action {
    uint32_t present; /**< cell in the low byte; above it, how often it has changed */
    uint32_t taken[RP_SIGNAL_ACTION_CELLS];
    uint64_t words[RP_SIGNAL_ACTION_CELLS][RP_SIGNAL_ACTION_WORDS];
};

enum { CELL_BITS = 8 };

static_assert(RP_SIGNAL_ACTION_CELLS <= 1 << CELL_BITS, "cells fit their part of the word");

static unsigned cell_of(uint32_t present)
{
    return present & ((1u << CELL_BITS) - 1);
}

static void read_cell(const struct rp_signal_action *d, unsigned cell, struct sigaction *ret)
{
    uint64_t words[RP_SIGNAL_ACTION_WORDS];
    for (unsigned i = 0; i < RP_SIGNAL_ACTION_WORDS; i++)
        words[i] = __atomic_load_n(&d->words[cell][i], __ATOMIC_RELAXED);
    memcpy(ret, words, sizeof words);
}

static void write_cell(struct rp_signal_action *d, unsigned cell, const struct sigaction *action)
{
    uint64_t words[RP_SIGNAL_ACTION_WORDS];
    memcpy(words, action, sizeof words);
    for (unsigned i = 0; i < RP_SIGNAL_ACTION_WORDS; i++)
        __atomic_store_n(&d->words[cell][i], words[i], __ATOMIC_RELAXED);
}

/**
 * Takes a cell that nobody else writes. The present one is never free, though cell 0 is not taken
 * at first.
 */
static unsigned take_cell(struct rp_signal_action *d)
{
    for (;;) {
        for (unsigned cell = 1; cell < RP_SIGNAL_ACTION_CELLS; cell++) {
            uint32_t nobody = 0;
            if (__atomic_compare_exchange_n(&d->taken[cell], &nobody, 1, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED))
                return cell;
        }
        sched_yield();
    }
}

static void signal_action_get(const struct rp_signal_action *d, struct sigaction *ret)
{
    uint32_t present = __atomic_load_n(&d->present, __ATOMIC_ACQUIRE), after;
    for (;; present = after) {
        read_cell(d, cell_of(present), ret);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        after = __atomic_load_n(&d->present, __ATOMIC_ACQUIRE);
        /* Otherwise the cell may have been given to another call meanwhile. */
        if (after == present)
            return;
    }
}

/** Replaces it. @p fresh and @p ret_old may be the same object. */
static void signal_action_set(struct rp_signal_action *d, const struct sigaction *fresh,
                              struct sigaction *ret_old)
{
    struct sigaction old;
    unsigned cell = take_cell(d);
    write_cell(d, cell, fresh);
    uint32_t before = __atomic_load_n(&d->present, __ATOMIC_RELAXED), after;
    do {
        after = ((before >> CELL_BITS) + 1) << CELL_BITS | cell;
    } while (!__atomic_compare_exchange_n(&d->present, &before, after, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    read_cell(d, cell_of(before), &old); /* From here on only this thread can give it back. */
    __atomic_store_n(&d->taken[cell_of(before)], 0, __ATOMIC_RELEASE);
    *ret_old = old;
}

struct attempt {
    sigjmp_buf back;
    struct rp_trap trap;
};

/* The variable is initial-exec because the handler must find it without allocating. */
static __thread struct attempt *current __attribute__((tls_model("initial-exec")));
static __thread bool unblocked __attribute__((tls_model("initial-exec")));

/* This is the only context of the file, because a signal handler cannot be given one. */
static struct {
    pthread_mutex_t lock; /**< of lent's writers, and of the installation */
    bool installed;
    struct rp_signal_action program[2]; /**< what the program wants done with the two signals */
    struct rp_borrowed_ranges lent;
    /* This must be the C library's function, because the name may lead to the hook, which serves
     * the program.
     */
    __typeof__(sigaction) *change_action;
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct rp_signal_action *disposition_of(int signal)
{
    return &guard.program[signal == SIGBUS];
}

/**
 * Calls the program's handler as the kernel would. The mask is restored when our own handler
 * returns.
 */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    struct sigaction action, fallback = {.sa_handler = SIG_DFL}, old;
    signal_action_get(disposition_of(signal), &action);
    bool function = action.sa_flags & SA_SIGINFO ||
                    (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    if (!function) {
        if (action.sa_handler == SIG_IGN && info->si_code <= 0)
            return; /* Some process has sent the signal, because a trap cannot be ignored. */
        guard.change_action(signal, &fallback, NULL);
        if (info->si_code <= 0)
            raise(signal);
        return; /* A trap happens again when the instruction is repeated. */
    }
    if (!(action.sa_flags & SA_NODEFER))
        sigaddset(&action.sa_mask, signal);
    pthread_sigmask(SIG_BLOCK, &action.sa_mask, NULL);
    if (action.sa_flags & (int)SA_RESETHAND)
        signal_action_set(disposition_of(signal), &fallback, &old);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

static enum rp_trap_kind kind_of(int signal, const siginfo_t *info, const ucontext_t *context)
{
    /* This is W/R of the error code (Intel SDM volume 3, 4.7). */
    enum { PAGE_FAULT_WRITE = 1 << 1 };
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
    if (!attempt || info->si_code <= 0 ||
        !borrowed_ranges_has(&guard.lent, (uintptr_t)info->si_addr)) {
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

/* Another thread may have been in the middle of rp_trap_borrow. */
static void unlock_in_child(void)
{
    pthread_mutex_init(&guard.lock, NULL);
}

int rp_trap_install(void)
{
    /* With NODEFER the signal is not blocked when the handler is left by a jump. */
    struct sigaction ours = {.sa_sigaction = on_trap,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    struct sigaction program[2], unset;
    int rc = 0;
    /* Our lock must not be held here, because a thread that loads a library holds the loader's
     * lock.
     */
    __typeof__(sigaction) *change_action = (__typeof__(sigaction) *)dlsym(RTLD_NEXT, "sigaction");
    sigemptyset(&ours.sa_mask);
    pthread_mutex_lock(&guard.lock);
    if (!guard.installed) {
        guard.change_action = change_action;
        pthread_atfork(NULL, NULL, unlock_in_child);
        if (guard.change_action(SIGSEGV, NULL, &program[0]) < 0 ||
            guard.change_action(SIGBUS, NULL, &program[1]) < 0)
            rc = -errno;
        if (rc == 0) { /* What the handlers pass on to is set first. */
            signal_action_set(disposition_of(SIGSEGV), &program[0], &unset);
            signal_action_set(disposition_of(SIGBUS), &program[1], &unset);
            if (guard.change_action(SIGSEGV, &ours, NULL) < 0 ||
                guard.change_action(SIGBUS, &ours, NULL) < 0)
                rc = -errno;
        }
        __atomic_store_n(&guard.installed, rc == 0, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&guard.lock);
    return rc;
}

bool rp_trap_owns_signal(int signal)
{
    return (signal == SIGSEGV || signal == SIGBUS) &&
           __atomic_load_n(&guard.installed, __ATOMIC_ACQUIRE);
}

void rp_trap_sigaction(int signal, const struct sigaction *fresh, struct sigaction *ret_old)
{
    struct sigaction old;
    if (fresh)
        signal_action_set(disposition_of(signal), fresh, &old);
    else
        signal_action_get(disposition_of(signal), &old);
    if (ret_old)
        *ret_old = old;
}

void rp_trap_borrow(uint64_t begin, uint64_t end)
{
    pthread_mutex_lock(&guard.lock);
    borrowed_ranges_add(&guard.lent, begin, end);
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

bool rp_trap_run(void (*body)(void *ctx), void *ctx, struct rp_trap *ret_trap)
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
