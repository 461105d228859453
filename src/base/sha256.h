/**
 * @file sha256.h
 * @brief Computes SHA-256 (FIPS 180-4), by which a journal names sources and code objects.
 */
#ifndef RP_BASE_SHA256_H
#define RP_BASE_SHA256_H

#include <stddef.h>

struct rp_err;

enum { RP_SHA256_TEXT = 65 };

/** Writes 64 hexadecimal digits and a terminator. */
void rp_sha256(const void *data, size_t bytes, char ret[RP_SHA256_TEXT]);

/** Hashes a file's contents.
 * @return 0, or RP_BAD_INPUT when it cannot be read */
int rp_sha256_file(const char *path, char ret[RP_SHA256_TEXT], struct rp_err *err);

#endif
