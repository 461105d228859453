/**
 * @file sandbox.h
 * @brief Keeps a program that nobody trusts away from files, the network and other processes, by
 *        what the kernel of this machine has for that.
 */
#ifndef RP_BASE_SANDBOX_H
#define RP_BASE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Says what is there, found by trying it in a child. A zeroed one has nothing. */
struct rp_sandbox_means {
    bool namespaces;        /**< of users, mounts, processes, network and IPC */
    bool network_namespace; /**< of users and network, where others are refused */
    unsigned landlock;      /**< its version; 0: none */
    bool seccomp;
};

struct rp_sandbox {
    struct rp_sandbox_means means;
    /** What it may write: absolute paths, NULL at the end. The first is a
     * folder, its box (base/box.h) and $TMPDIR. */
    const char *const *writable;
};

/** Finds out what this machine has. It takes some milliseconds. */
void rp_sandbox_probe(struct rp_sandbox_means *ret);

/** Says by what something is kept, "read-only mounts and Landlock"; NULL: it is not. */
const char *rp_sandbox_files_by(const struct rp_sandbox_means *means);
const char *rp_sandbox_network_by(const struct rp_sandbox_means *means);
const char *rp_sandbox_processes_by(const struct rp_sandbox_means *means);

/**
 * Runs in a child before exec, and returns in the process that is to become the program: with
 * namespaces that is a child of a child, which is the first one of its own, and whose end this one
 * passes on. Where that fails the process ends: nothing runs outside of what was asked for.
 * @param report_fd gets the errno of such a failure, negative; it is closed in the processes that
 * only wait
 */
void rp_sandbox_enter(const struct rp_sandbox *sandbox, int report_fd);

#endif
