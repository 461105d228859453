/**
 * @file host_traps.h
 * @brief This header guards accesses to memory that the program may take away at any time.
 */
#ifndef RP_DEVICE_EXEC_HOST_TRAPS_H
#define RP_DEVICE_EXEC_HOST_TRAPS_H

#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* What the program wants done with a signal whose handler is ours.
 *
 * sigaction() and signal() may be called from signal handlers, by several threads, and in a child
 * that was forked while another thread was in the middle of it. So nothing here waits for anybody:
 * an action is written into a cell of its own and becomes the present one by one exchange.
 */

static_assert(sizeof(struct sigaction) % sizeof(uint64_t) == 0, "copied by the word");

/* With XNACK
 * kernels work in the program's own pages (malloc, stack, files). free() and mprotect() give no
 * notice, so an access may trap, which must be the kernel's fault and not the program's end.
 *
 * Handlers of SIGSEGV and SIGBUS are installed when XNACK is switched on, and only then. They
 * catch a trap inside rp_trap_run() at an address of memory that was lent (rp_trap_borrow). Any
 * other trap, a bug of this library included, goes to the program's own handlers, which it sets
 * and sees as if there were no others (rp_trap_sigaction(), for the hooks on sigaction and
 * signal).
 */

enum rp_trap_kind {
    RP_TRAP_GONE,         /**< nothing is mapped there any more */
    RP_TRAP_NOT_READABLE, /**< mprotect(), or another mapping in its place */
    RP_TRAP_NOT_WRITABLE,
    RP_TRAP_NO_STORAGE, /**< SIGBUS: beyond the end of a file, or a page that cannot be had */
};

struct rp_trap {
    enum rp_trap_kind kind;
    uint64_t address; /**< of the host */
};

/** Makes rp_trap_run() catch traps from now on. @return 0 or -errno */
int rp_trap_install(void);

/**
 * Host addresses [begin, end) are the program's own memory and may be accessed by a kernel. Said
 * again and again; neighbours are joined. Lent once is lent for ever: the pages may go at any time,
 * which is what this is about.
 */
void rp_trap_borrow(uint64_t begin, uint64_t end);

/**
 * Runs @p body. The body must not hold a lock while it accesses lent memory.
 * @return false when it was left half way because of a trapped access to lent memory
 */
bool rp_trap_run(void (*body)(void *ctx), void *ctx, struct rp_trap *ret_trap);

/** Returns what happened to "the program's memory at ...". */
const char *rp_trap_text(enum rp_trap_kind kind);

/** Tests whether the handlers of @p signal are ours. */
bool rp_trap_owns_signal(int signal);

/** Does what sigaction() does for a signal that is ours. A handler may call it, too. */
void rp_trap_sigaction(int signal, const struct sigaction *fresh, struct sigaction *ret_old);

#endif
