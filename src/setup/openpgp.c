#include "setup/openpgp.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sha256.h"

enum {
    TAG_SIGNATURE = 2,
    TAG_KEY = 6,
    TAG_SUBKEY = 14,
    RSA = 1,
    SIGNED_TEXT = 1, /**< a signature of text whose lines end with CR LF */
    SHA256 = 8,
    SHA512 = 10,
    MOST_KEYRING_BYTES = 16 << 20,
    LIMBS_MAX = RP_RSA_BYTES_MAX / 8,
    DIGEST_MAX = 64,
};

/* --- SHA-512 ------------------------------------------------------------------------------- */

/* FIPS 180-4, 4.2.3 and 5.3.5. */
static const uint64_t sha512_constants[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};
static const uint64_t sha512_initial[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static uint64_t rotr64(uint64_t x, unsigned n)
{
    return x >> n | x << (64 - n);
}

static uint64_t big_endian64(const uint8_t *at)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value = value << 8 | at[i];
    return value;
}

static void sha512_block(uint64_t state[8], const uint8_t *block)
{
    uint64_t w[80], v[8];

    for (size_t i = 0; i < 16; i++)
        w[i] = big_endian64(block + 8 * i);
    for (unsigned i = 16; i < 80; i++)
        w[i] = w[i - 16] + (rotr64(w[i - 15], 1) ^ rotr64(w[i - 15], 8) ^ w[i - 15] >> 7) +
               w[i - 7] + (rotr64(w[i - 2], 19) ^ rotr64(w[i - 2], 61) ^ w[i - 2] >> 6);
    memcpy(v, state, sizeof v);
    for (unsigned i = 0; i < 80; i++) {
        const uint64_t s1 = rotr64(v[4], 14) ^ rotr64(v[4], 18) ^ rotr64(v[4], 41);
        const uint64_t t1 =
            v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha512_constants[i] + w[i];
        const uint64_t s0 = rotr64(v[0], 28) ^ rotr64(v[0], 34) ^ rotr64(v[0], 39);
        const uint64_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
}

static void sha512(const void *data, size_t bytes, uint8_t ret[64])
{
    const uint8_t *at = data;
    const size_t whole = bytes / 128 * 128, rest = bytes - whole;
    uint64_t state[8];
    uint8_t last[256] = {0};
    const size_t last_bytes = rest < 112 ? 128 : 256;

    memcpy(state, sha512_initial, sizeof state);
    for (size_t i = 0; i < whole; i += 128)
        sha512_block(state, at + i);
    memcpy(last, at + whole, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[last_bytes - 1 - i] = (uint8_t)((uint64_t)bytes * 8 >> 8 * i);
    for (size_t i = 0; i < last_bytes; i += 128)
        sha512_block(state, last + i);
    for (unsigned i = 0; i < 64; i++)
        ret[i] = (uint8_t)(state[i / 8] >> (56 - 8 * (i % 8)));
}

/** @return bytes of the digest; 0: such digests are not known here */
static size_t digest(unsigned kind, const void *data, size_t bytes, uint8_t ret[DIGEST_MAX])
{
    char text[RP_SHA256_TEXT];

    if (kind == SHA512) {
        sha512(data, bytes, ret);
        return 64;
    }
    if (kind != SHA256)
        return 0;
    rp_sha256(data, bytes, text);
    for (size_t i = 0; i < 32; i++) {
        const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        ret[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return 32;
}

/* --- RSA ----------------------------------------------------------------------------------- */

/* Numbers are arrays of limbs, the lowest first, all as long as the modulus. */
struct number {
    uint64_t limbs[LIMBS_MAX];
};

static void number_read(const uint8_t *bytes, size_t count, struct number *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < count; i++)
        ret->limbs[i / 8] |= (uint64_t)bytes[count - 1 - i] << 8 * (i % 8);
}

static bool less(const struct number *a, const struct number *b, size_t limbs)
{
    while (limbs--)
        if (a->limbs[limbs] != b->limbs[limbs])
            return a->limbs[limbs] < b->limbs[limbs];
    return false;
}

static void subtract(struct number *from, const struct number *what, size_t limbs)
{
    uint64_t borrow = 0;

    for (size_t i = 0; i < limbs; i++) {
        const uint64_t a = from->limbs[i], b = what->limbs[i];

        from->limbs[i] = a - b - borrow;
        borrow = a < b || (a == b && borrow);
    }
}

/** Both are below the modulus, and so is the sum. */
static void add_modulo(struct number *to, const struct number *what, const struct number *modulus,
                       size_t limbs)
{
    unsigned carry = 0;

    for (size_t i = 0; i < limbs; i++) {
        const uint64_t sum = what->limbs[i] + carry;
        const unsigned over = sum < carry;

        to->limbs[i] += sum;
        carry = over | (to->limbs[i] < sum);
    }
    if (carry || !less(to, modulus, limbs))
        subtract(to, modulus, limbs);
}

/** Adds and doubles, which is slow, and takes 20 ms for a signature. */
static void multiply_modulo(struct number *a, const struct number *b, const struct number *modulus,
                            size_t limbs)
{
    struct number product = {{0}};

    for (size_t bit = limbs * 64; bit--;) {
        const struct number half = product;

        add_modulo(&product, &half, modulus, limbs);
        if (b->limbs[bit / 64] >> bit % 64 & 1)
            add_modulo(&product, a, modulus, limbs);
    }
    *a = product;
}

/** Raises a signature to the key's exponent.
 * @return false: it is no number below the modulus */
static bool rsa_open(const struct rp_rsa_key *key, const uint8_t *signature, size_t bytes,
                     uint8_t ret[RP_RSA_BYTES_MAX])
{
    const size_t limbs = (key->modulus_bytes + 7) / 8;
    struct number modulus, base, power;

    if (bytes > key->modulus_bytes)
        return false;
    number_read(key->modulus, key->modulus_bytes, &modulus);
    number_read(signature, bytes, &base);
    if (!less(&base, &modulus, limbs))
        return false;
    power = base;
    for (unsigned bit = 31 - (unsigned)__builtin_clz(key->exponent); bit--;) {
        const struct number root = power;

        multiply_modulo(&power, &root, &modulus, limbs);
        if (key->exponent >> bit & 1)
            multiply_modulo(&power, &base, &modulus, limbs);
    }
    for (size_t i = 0; i < key->modulus_bytes; i++)
        ret[key->modulus_bytes - 1 - i] = (uint8_t)(power.limbs[i / 8] >> 8 * (i % 8));
    return true;
}

/** Compares with the one padded form that RFC 8017, 9.2, allows, as a whole: who only looks for the
 * digest in it can be given forgeries. */
static bool rsa_signed(const struct rp_rsa_key *key, const uint8_t *signature,
                       size_t signature_bytes, unsigned kind, const uint8_t *hash,
                       size_t hash_bytes)
{
    uint8_t opened[RP_RSA_BYTES_MAX], expected[RP_RSA_BYTES_MAX];
    /* DigestInfo of SHA-256 (2.16.840.1.101.3.4.2.1) and SHA-512 (...2.3) up to the digest. */
    const uint8_t info[19] = {0x30,
                              (uint8_t)(17 + hash_bytes),
                              0x30,
                              0x0d,
                              0x06,
                              0x09,
                              0x60,
                              0x86,
                              0x48,
                              0x01,
                              0x65,
                              0x03,
                              0x04,
                              0x02,
                              kind == SHA256 ? 1 : 3,
                              0x05,
                              0x00,
                              0x04,
                              (uint8_t)hash_bytes};
    const size_t bytes = key->modulus_bytes, end = hash_bytes + sizeof info;

    if (bytes < end + 11 || !rsa_open(key, signature, signature_bytes, opened))
        return false;
    memset(expected, 0xff, bytes);
    expected[0] = 0;
    expected[1] = 1;
    expected[bytes - end - 1] = 0;
    memcpy(expected + bytes - end, info, sizeof info);
    memcpy(expected + bytes - hash_bytes, hash, hash_bytes);
    return memcmp(opened, expected, bytes) == 0;
}

/* --- packets ------------------------------------------------------------------------------- */

struct span {
    const uint8_t *at;
    size_t left;
};

static bool take(struct span *from, size_t bytes, const uint8_t **ret)
{
    if (from->left < bytes)
        return false;
    *ret = from->at;
    from->at += bytes;
    from->left -= bytes;
    return true;
}

static bool take_number(struct span *from, size_t bytes, size_t *ret)
{
    const uint8_t *at;

    if (!take(from, bytes, &at))
        return false;
    for (*ret = 0; bytes--; at++)
        *ret = *ret << 8 | *at;
    return true;
}

/** Takes an integer with its length in bits in front. */
static bool take_integer(struct span *from, const uint8_t **ret, size_t *ret_bytes)
{
    size_t bits;

    if (!take_number(from, 2, &bits))
        return false;
    *ret_bytes = (bits + 7) / 8;
    return take(from, *ret_bytes, ret);
}

/** Takes the length of a packet of the new form. Those in parts are for data, and are not taken. */
static bool take_new_length(struct span *from, size_t *ret)
{
    size_t first, second;

    if (!take_number(from, 1, &first) || (first >= 224 && first < 255))
        return false;
    if (first == 255)
        return take_number(from, 4, ret);
    if (first < 192) {
        *ret = first;
        return true;
    }
    if (!take_number(from, 1, &second))
        return false;
    *ret = ((first - 192) << 8) + second + 192;
    return true;
}

/** @return false: there is no whole packet any more */
static bool take_packet(struct span *from, unsigned *ret_tag, struct span *ret_body)
{
    size_t head, length;

    if (!take_number(from, 1, &head) || !(head & 0x80))
        return false;
    if (head & 0x40) {
        *ret_tag = head & 0x3f;
        if (!take_new_length(from, &length))
            return false;
    } else {
        *ret_tag = head >> 2 & 15;
        if ((head & 3) == 3 || !take_number(from, (size_t)1 << (head & 3), &length))
            return false;
    }
    ret_body->left = length;
    return take(from, length, &ret_body->at);
}

/** Reads the base64 between the empty line behind "-----BEGIN ..." and the checksum, "=...", or the
 * end. */
static void unarmor(const char *text, const char *end, struct rp_buf *ret)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bool in_body = false;
    uint32_t bits = 0;
    unsigned count = 0;

    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;

        if (in_body && (*line == '=' || *line == '-'))
            return;
        for (const char *at = line; in_body && at < stop; at++) {
            const char *digit = *at ? strchr(digits, *at) : NULL;

            if (!digit)
                continue;
            bits = bits << 6 | (uint32_t)(digit - digits);
            if (++count % 4)
                rp_buf_add(ret, &(char){(char)(bits >> (6 - 2 * ((count - 1) % 4)))},
                           (count - 1) % 4 != 0);
            else
                rp_buf_add(ret, &(char){(char)bits}, 1);
        }
        in_body = in_body || stop == line || (stop == line + 1 && *line == '\r');
        line = stop + 1;
    }
}

/* --- keys ---------------------------------------------------------------------------------- */

static bool add_key(struct span body, struct rp_rsa_keys *keys)
{
    struct rp_rsa_key key = {.name = "a key of the keyring"};
    const uint8_t *modulus, *exponent, *ignored;
    size_t version, algorithm, modulus_bytes, exponent_bytes;

    if (!take_number(&body, 1, &version) || version != 4 || !take(&body, 4, &ignored) ||
        !take_number(&body, 1, &algorithm) || algorithm != RSA ||
        !take_integer(&body, &modulus, &modulus_bytes) ||
        !take_integer(&body, &exponent, &exponent_bytes))
        return false;
    if (modulus_bytes < 256 || modulus_bytes > RP_RSA_BYTES_MAX || !exponent_bytes ||
        exponent_bytes > 4)
        return false; /* Keys below 2048 bits are no protection any more. */
    memcpy(key.modulus, modulus, modulus_bytes);
    key.modulus_bytes = modulus_bytes;
    for (size_t i = 0; i < exponent_bytes; i++)
        key.exponent = key.exponent << 8 | exponent[i];
    if (key.exponent < 3)
        return false;
    rp_vec_push(keys, key);
    return true;
}

int rp_openpgp_read_keys(const char *path, struct rp_rsa_keys *keys, struct rp_err *err)
{
    rp_autofree void *data = NULL;
    rp_autobuf binary = {0};
    struct span packets, body;
    size_t bytes, found = 0;
    unsigned tag;

    if (rp_read_file(path, MOST_KEYRING_BYTES, RP_BAD_INPUT, &data, &bytes, err) < 0)
        return -RP_BAD_INPUT;
    if (bytes > 11 && memcmp(data, "-----BEGIN ", 11) == 0)
        unarmor(data, (char *)data + bytes, &binary);
    else
        rp_buf_add(&binary, data, bytes);
    packets = (struct span){(const uint8_t *)rp_buf_text(&binary), binary.len};
    while (take_packet(&packets, &tag, &body))
        if (tag == TAG_KEY || tag == TAG_SUBKEY)
            found += add_key(body, keys);
    if (!found)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s has no RSA key of 2048 bits or more; export one with gpg --export",
                       path);
    return 0;
}

static const struct {
    const char *name, *fingerprint, *modulus;
} debian_keys[] = {
#define KEY(name, fingerprint, modulus) {name, fingerprint, modulus},
#include "setup/debian_keys.def"
};

void rp_openpgp_debian_keys(struct rp_rsa_keys *keys)
{
    for (size_t i = 0; i < sizeof debian_keys / sizeof *debian_keys; i++) {
        struct rp_rsa_key key = {.name = debian_keys[i].name, .exponent = 65537};

        for (const char *digit = debian_keys[i].modulus; *digit; digit += 2) {
            const char pair[3] = {digit[0], digit[1], 0};
            key.modulus[key.modulus_bytes++] = (uint8_t)strtoul(pair, NULL, 16);
        }
        rp_vec_push(keys, key);
    }
}

/* --- signed texts -------------------------------------------------------------------------- */

/** Takes the next line of the text, without its end.
 * @return false: there is none */
static bool take_line(const char **at, const char *end, const char **ret, size_t *ret_bytes)
{
    const char *newline;

    if (*at >= end)
        return false;
    newline = memchr(*at, '\n', (size_t)(end - *at));
    *ret = *at;
    *ret_bytes = (size_t)((newline ? newline : end) - *at);
    *at = newline ? newline + 1 : end;
    while (*ret_bytes && strchr("\r \t", (*ret)[*ret_bytes - 1]) && (*ret)[*ret_bytes - 1])
        --*ret_bytes;
    return true;
}

static bool is_line(const char *line, size_t bytes, const char *text)
{
    return bytes == strlen(text) && memcmp(line, text, bytes) == 0;
}

/** Takes the text apart: as it was signed, as it reads, and the armored signatures behind it.
 * Whatever stands before the text or behind the signatures is none of it. */
static bool take_apart(const char *message, size_t bytes, struct rp_buf *as_signed,
                       struct rp_buf *as_read, const char **ret_armor)
{
    const char *at = message, *end = message + bytes, *line;
    size_t length;
    bool first = true;

    if (!take_line(&at, end, &line, &length) ||
        !is_line(line, length, "-----BEGIN PGP SIGNED MESSAGE-----"))
        return false;
    do { /* "Hash: SHA256", up to the empty line */
        if (!take_line(&at, end, &line, &length))
            return false;
    } while (length);
    while (take_line(&at, end, &line, &length)) {
        if (is_line(line, length, "-----BEGIN PGP SIGNATURE-----")) {
            *ret_armor = at;
            return true;
        }
        if (length >= 2 && memcmp(line, "- ", 2) == 0) {
            line += 2;
            length -= 2;
        } else if (length && *line == '-') {
            return false;
        }
        if (!first)
            rp_buf_puts(as_signed, "\r\n");
        rp_buf_add(as_signed, line, length);
        rp_buf_add(as_read, line, length);
        rp_buf_puts(as_read, "\n");
        first = false;
    }
    return false;
}

/** What a signature says: RFC 9580, 5.2.3. */
struct signature {
    unsigned hash;
    struct span hashed; /**< its beginning, which is signed, too */
    const uint8_t *value;
    size_t value_bytes;
};

static bool read_signature(struct span body, struct signature *ret)
{
    const struct span whole = body;
    size_t version, type, algorithm, hash, bytes;
    const uint8_t *ignored;

    if (!take_number(&body, 1, &version) || version != 4 || !take_number(&body, 1, &type) ||
        type != SIGNED_TEXT || !take_number(&body, 1, &algorithm) || algorithm != RSA ||
        !take_number(&body, 1, &hash) || !take_number(&body, 2, &bytes) ||
        !take(&body, bytes, &ignored))
        return false;
    ret->hash = (unsigned)hash;
    ret->hashed = (struct span){whole.at, whole.left - body.left};
    return take_number(&body, 2, &bytes) && take(&body, bytes, &ignored) &&
           take(&body, 2, &ignored) && take_integer(&body, &ret->value, &ret->value_bytes);
}

/** @return number of the key; -1: it is by none of them */
static int find_signer(const struct signature *signature, const struct rp_buf *text,
                       const struct rp_rsa_keys *keys)
{
    const uint8_t trailer[6] = {4,
                                0xff,
                                (uint8_t)(signature->hashed.left >> 24),
                                (uint8_t)(signature->hashed.left >> 16),
                                (uint8_t)(signature->hashed.left >> 8),
                                (uint8_t)signature->hashed.left};
    rp_autobuf all = {0};
    uint8_t hash[DIGEST_MAX];
    size_t hash_bytes;

    rp_buf_add(&all, rp_buf_text(text), text->len);
    rp_buf_add(&all, signature->hashed.at, signature->hashed.left);
    rp_buf_add(&all, trailer, sizeof trailer);
    hash_bytes = digest(signature->hash, all.data, all.len, hash);
    for (size_t i = 0; hash_bytes && i < keys->count; i++)
        if (rsa_signed(&keys->items[i], signature->value, signature->value_bytes, signature->hash,
                       hash, hash_bytes))
            return (int)i;
    return -1;
}

int rp_openpgp_verify(const char *message, size_t bytes, const struct rp_rsa_keys *keys,
                      struct rp_buf *ret_text, struct rp_err *err)
{
    rp_autobuf as_signed = {0}, as_read = {0}, binary = {0};
    const char *armor = NULL;
    struct span packets, body;
    struct signature signature;
    unsigned tag;
    int signer = -1;

    if (!take_apart(message, bytes, &as_signed, &as_read, &armor))
        return rp_fail(err, RP_BAD_INPUT, "it is no signed text");
    if (ret_text)
        rp_buf_add(ret_text, rp_buf_text(&as_read), as_read.len);
    unarmor(armor, message + bytes, &binary);
    packets = (struct span){(const uint8_t *)rp_buf_text(&binary), binary.len};
    while (signer < 0 && take_packet(&packets, &tag, &body))
        if (tag == TAG_SIGNATURE && read_signature(body, &signature))
            signer = find_signer(&signature, &as_signed, keys);
    if (signer < 0)
        return rp_fail(err, RP_BAD_INPUT, "no known key has signed it");
    return signer;
}
