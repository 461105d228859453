/**
 * @file capture_checksums.h
 * @brief checksums.json: size and XXH3 (128 bits) of each file of a capture folder. It is written
 *        last, so that a folder without it is not whole.
 */
#ifndef RP_CAPTURE_CAPTURE_CHECKSUMS_H
#define RP_CAPTURE_CAPTURE_CHECKSUMS_H

#include <stdint.h>

struct rp_err;

/** For all that is in the folder. */
int rp_capture_write_checksums(const char *folder, struct rp_err *err);

/** For one more file, with the extension .json, or one that is there anew. The list must be there;
 * what it says of the others stays. */
int rp_capture_add_checksum(const char *folder, const char *name, struct rp_err *err);

/** @return 0; RP_BAD_INPUT naming the first file that is missing or another */
int rp_capture_check_checksums(const char *folder, uint64_t *ret_files, uint64_t *ret_bytes,
                               struct rp_err *err);

/**
 * The same for the files at the top of the folder but pages.bin, whose pages have checksums of
 * their own: of what a replay would otherwise take as it is. Costs milliseconds whatever the
 * capture's size.
 */
int rp_capture_check_small_files(const char *folder, struct rp_err *err);

#endif
