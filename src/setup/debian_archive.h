/**
 * @file debian_archive.h
 * @brief Packages of a Debian archive: their signed indices, what needs what, and fetching them. No
 * apt is needed.
 */
#ifndef RP_SETUP_DEBIAN_ARCHIVE_H
#define RP_SETUP_DEBIAN_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct rp_err;

/** Who is told. */
struct rp_setup_listener {
    /** Says a line to the user, and shows how far it is; NULL takes that away. */
    void (*say)(void *context, const char *line);
    void (*show)(void *context, const char *text);
    void *context;
};

void rp_setup_say(const struct rp_setup_listener *to, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rp_setup_show(const struct rp_setup_listener *to, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void rp_setup_show_nothing(const struct rp_setup_listener *to);

/** Where packages come from, and whom to believe. All strings are borrowed. */
struct rp_debian_source {
    const char *mirror; /**< "http://deb.debian.org/debian" */
    const char *const
        *suites; /**< terminated by NULL; of a package that is in several, the first is taken */
    const char *keyring; /**< NULL: Debian's keys */
    bool unverified;     /**< indices are taken also when nobody known has signed them */
    bool any_age;        /**< indices are taken also when they are past their date */
    const char *folder;  /**< what is fetched stays here */
    struct rp_setup_listener listener;
};

struct rp_debian_archive;

/** A package that is to be unpacked. Strings are the archive's. */
struct rp_deb {
    const char *name, *version;
    char *url_path; /**< below the mirror; owned */
    char *file;     /**< in the folder; owned */
    uint64_t bytes, unpacked_bytes;
    char sha256[65];
};

/** Initialise it with zeros, and release it with rp_debs_free. */
struct rp_debs {
    RP_VEC(struct rp_deb);
};

void rp_debs_free(struct rp_debs *debs);

/** Fetches the indices, and verifies them.
 * @return 0; RP_BAD_INPUT: they are not signed by whom they should be, or damaged; RP_ENVIRONMENT:
 * no network, wrong mirror; RP_INTERRUPTED */
int rp_debian_archive_open(const struct rp_debian_source *source, struct rp_debian_archive **ret,
                           struct rp_err *err);
void rp_debian_archive_free(struct rp_debian_archive *archive);

/** @return the version of a package that would be taken, or NULL */
const char *rp_debian_archive_version(const struct rp_debian_archive *archive, const char *name);

/** Finds these packages and all that they need, sorted by name.
 * @return 0; RP_ENVIRONMENT: the archive has not all of it */
int rp_debian_archive_resolve(const struct rp_debian_archive *archive, const char *const *names,
                              struct rp_debs *ret, struct rp_err *err);

/** Bytes that are not in the folder yet. */
uint64_t rp_debs_missing_bytes(const struct rp_debs *debs);

/** Fetches what is not in the folder yet; each file must be what its index says.
 * @return 0; RP_BAD_INPUT: one is not; RP_ENVIRONMENT; RP_INTERRUPTED */
int rp_debian_archive_fetch(const struct rp_debian_archive *archive, const struct rp_debs *debs,
                            struct rp_err *err);

/** Compares versions as Debian Policy, 5.6.12, says: below 0, 0 or above 0. */
int rp_debian_version_compare(const char *a, const char *b);

#endif
