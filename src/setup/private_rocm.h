/**
 * @file private_rocm.h
 * @brief Makes a private ROCm in a folder from packages of Debian: neither root nor apt nor dpkg is
 * needed. Its programs run with their own loader and libc, whatever the machine's are.
 */
#ifndef RP_SETUP_PRIVATE_ROCM_H
#define RP_SETUP_PRIVATE_ROCM_H

#include <stdbool.h>

#include "setup/debian_archive.h"

struct rp_err;

#define RP_DEBIAN_MIRROR "http://deb.debian.org/debian"

struct rp_private_rocm_options {
    const char *prefix;  /**< folder of the ROCm */
    const char *mirror;  /**< NULL: $ROCM_PERF_DEBIAN_MIRROR, else apt's, else RP_DEBIAN_MIRROR */
    const char *keyring; /**< NULL: Debian's keys */
    bool unverified; /**< indices are taken also when nobody known has signed them, or past their
                        date */
    struct rp_setup_listener listener;
};

/** Does nothing where a whole one is already. A killed one leaves what it has fetched, and the next
 * one goes on there.
 * @param ret_version "7.2.4", owned by the caller
 * @return 0; RP_USAGE: the folder cannot be one; RP_BAD_INPUT: what was fetched is not what Debian
 * signed; RP_ENVIRONMENT: no network, disk full, may not be written; RP_INTERRUPTED */
int rp_private_rocm_make(const struct rp_private_rocm_options *options, char **ret_version,
                         struct rp_err *err);

#endif
