/**
 * @file openpgp.h
 * @brief Verifies texts that were signed with RSA keys in OpenPGP's cleartext form (RFC 9580, 7),
 * such as the InRelease files of a Debian archive. There are no secrets here, so nothing has to
 * take constant time.
 */
#ifndef RP_SETUP_OPENPGP_H
#define RP_SETUP_OPENPGP_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct rp_buf;
struct rp_err;

enum { RP_RSA_BYTES_MAX = 1024 };

struct rp_rsa_key {
    const char *name; /**< borrowed: of whom it is */
    uint8_t modulus[RP_RSA_BYTES_MAX];
    size_t modulus_bytes;
    uint32_t exponent;
};

/** Initialise it with zeros, and release it with rp_vec_free. */
struct rp_rsa_keys {
    RP_VEC(struct rp_rsa_key);
};

/** Adds the keys with which Debian signs its archive today. */
void rp_openpgp_debian_keys(struct rp_rsa_keys *keys);

/** Adds the RSA keys of a file, armored or not, as gpg --export writes it. All of them count: when
 * a key ends, that it was revoked, or is for encryption only, is not read; nor when a signature
 * ends.
 * @return 0; RP_BAD_INPUT: it cannot be read, or has no RSA key */
int rp_openpgp_read_keys(const char *path, struct rp_rsa_keys *keys, struct rp_err *err);

/** Finds the key with which a text was signed.
 * @param ret_text NULL, or what was signed: nothing before or behind it. It is complete also when
 * no key fits.
 * @return the key's number; RP_BAD_INPUT: none of them has signed this very text, or it is no
 * signed text */
int rp_openpgp_verify(const char *message, size_t bytes, const struct rp_rsa_keys *keys,
                      struct rp_buf *ret_text, struct rp_err *err);

#endif
