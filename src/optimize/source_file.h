/**
 * @file source_file.h
 * @brief The bytes of a source file.
 */
#ifndef RP_OPTIMIZE_SOURCE_FILE_H
#define RP_OPTIMIZE_SOURCE_FILE_H

#include <stddef.h>

struct rp_err;

/**
 * @param ret_path  absolute
 * @param ret_text  terminated; owned by the caller
 * @return 0; RP_BAD_INPUT when it cannot be read, holds a NUL or has more than 16 MiB
 */
int rp_source_file_read(const char *path, char **ret_path, char **ret_text, size_t *ret_bytes,
                        struct rp_err *err);

#endif
