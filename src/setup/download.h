/**
 * @file download.h
 * @brief Fetches files over HTTP with a program that the machine has: curl, wget, python3 or apt's
 * own.
 */
#ifndef RP_SETUP_DOWNLOAD_H
#define RP_SETUP_DOWNLOAD_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;

/** What can fetch here: its name, and its path, which the owner of the struct frees. */
struct rp_downloader {
    const char *name;
    char *path;
};

/** @return 0; RP_ENVIRONMENT: there is no such program */
int rp_downloader_find(struct rp_downloader *ret, struct rp_err *err);
void rp_downloader_free(struct rp_downloader *downloader);

/** Fetches to a file, which takes the place of an older one. Proxies and certificates are those of
 * the program.
 * @param most_bytes what is much longer is not fetched to its end
 * @return 0; RP_ENVIRONMENT with what the program said; RP_INTERRUPTED */
int rp_download(const struct rp_downloader *with, const char *url, const char *path,
                uint64_t most_bytes, struct rp_err *err);

/** Returns the URL as people may see it: without a user's name and password. */
char *rp_url_shown(const char *url);

#endif
