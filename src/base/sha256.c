#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"

enum { BLOCK = 64, LENGTH_AT = 56 };

struct sha {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[BLOCK]; /**< bytes % BLOCK of it are filled */
};

/* FIPS 180-4, 4.2.2 and 5.3.3, defines these as fractional parts of cube and square roots of the
 * first primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void add_block(struct sha *sha, const uint8_t *block)
{
    uint32_t w[64], v[8];

    for (unsigned i = 0; i < 16; i++)
        w[i] = big_endian(block + 4 * (size_t)i);
    for (unsigned i = 16; i < 64; i++)
        w[i] = w[i - 16] + (rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, sha->state, sizeof v);
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
        const uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t t1 = v[7] + s1 + choice + round_constants[i] + w[i];
        const uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
        const uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (unsigned i = 0; i < 8; i++)
        sha->state[i] += v[i];
}

static void add(struct sha *sha, const uint8_t *data, size_t bytes)
{
    while (bytes) {
        const size_t used = sha->bytes % BLOCK;
        const size_t n = bytes < BLOCK - used ? bytes : BLOCK - used;

        memcpy(sha->block + used, data, n);
        sha->bytes += n;
        data += n;
        bytes -= n;
        if (used + n == BLOCK)
            add_block(sha, sha->block);
    }
}

static void finish(struct sha *sha, char ret[RP_SHA256_TEXT])
{
    static const uint8_t padding[BLOCK] = {0x80};
    const uint64_t bits = sha->bytes * 8;
    const size_t used = sha->bytes % BLOCK;
    uint8_t length[8];

    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    add(sha, padding, (used < LENGTH_AT ? LENGTH_AT : LENGTH_AT + BLOCK) - used);
    add(sha, length, sizeof length);
    for (unsigned i = 0; i < 8; i++)
        sprintf(ret + 8 * (size_t)i, "%08x", sha->state[i]);
}

static struct sha begin(void)
{
    struct sha sha = {.bytes = 0};

    memcpy(sha.state, initial, sizeof initial);
    return sha;
}

void rp_sha256(const void *data, size_t bytes, char ret[RP_SHA256_TEXT])
{
    struct sha sha = begin();

    add(&sha, data, bytes);
    finish(&sha, ret);
}

int rp_sha256_file(const char *path, char ret[RP_SHA256_TEXT], struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct sha sha = begin();
    uint8_t part[1 << 14];
    ssize_t got;

    if (fd < 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read %s", path);
    while ((got = read(fd, part, sizeof part)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            add(&sha, part, (size_t)got);
    if (got < 0)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "cannot read %s", path);
    finish(&sha, ret);
    return 0;
}
