/**
 * @file deb.h
 * @brief Unpacks Debian packages without Debian's programs: ar and tar are read here; xz by
 * liblzma, which nearly every Linux has, or the program xz, or python3; other compressions by their
 * programs.
 */
#ifndef RP_SETUP_DEB_H
#define RP_SETUP_DEB_H

#include <stddef.h>

struct rp_buf;
struct rp_err;

/** Reads a compressed file whole; the compression follows from the name's end.
 * @return 0; RP_BAD_INPUT: it is damaged, or longer than @p most_bytes; RP_ENVIRONMENT */
int rp_decompress_file(const char *path, size_t most_bytes, struct rp_buf *ret, struct rp_err *err);

/** Unpacks what a package installs into a folder. Nobody becomes owner of files but who runs this,
 * no file gets the set-user-ID bit, devices are left out, and nothing is written outside, unless a
 * package has a link that leads there.
 * @return 0; RP_BAD_INPUT: the package is damaged; RP_ENVIRONMENT: disk full; RP_INTERRUPTED */
int rp_deb_unpack(const char *deb, const char *folder, struct rp_err *err);

#endif
