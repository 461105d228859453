/**
 * @file guard.h
 * @brief Accesses to memory that the program may take away at any time.
 *
 * With XNACK kernels work in the program's own pages (malloc, stack, files). free() and mprotect()
 * give no notice, so an access may trap; it is to be the kernel's fault, not the program's end.
 * Handlers of SIGSEGV and SIGBUS are installed when XNACK is switched on, and only then. What does
 * not come from inside rp_guarded goes to the program's own handlers, which it sets and sees as if
 * there were no others (rp_guard_disposition, for the hooks on sigaction and signal).
 */
#ifndef RP_DEVICE_EXEC_GUARD_H
#define RP_DEVICE_EXEC_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/** From now on rp_guarded catches. Returns 0 or -errno. */
int rp_guard_install(void);

/**
 * Runs @p body. False when it was left half way because of a trapped access; *ret_address is the
 * host address. The body must not hold a lock while it makes such accesses.
 */
bool rp_guarded(void (*body)(void *ctx), void *ctx, uint64_t *ret_address);

/** Whether the handlers of @p signal are ours. */
bool rp_guard_owns(int signal);

/** What sigaction() does, for a signal that is ours. */
void rp_guard_disposition(int signal, const struct sigaction *fresh, struct sigaction *ret_old);

#endif
