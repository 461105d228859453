/**
 * @file offload_bundle.h
 * @brief This header finds for which GPUs a bundle of device code is.
 *
 * Clang puts device code into bundles (Clang Offload Bundler, "Binary layout"): a magic string, the
 * number of entries, and for each entry offset, size, length of its target's name, and the name. A
 * compressed one ("Compressed Offload Bundle") has "CCOB", version and method, from version 2 on
 * the size of the whole, the size without compression, a hash, and a stream of zlib or zstd. Here
 * and not in a file of its own, since the injected library reads bundles in memory and `rocm-perf`
 * those in files.
 */
#ifndef RP_TRACE_OFFLOAD_BUNDLE_H
#define RP_TRACE_OFFLOAD_BUNDLE_H

#include <ctype.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RP_BUNDLE_MAGIC            "__CLANG_OFFLOAD_BUNDLE__"
#define RP_BUNDLE_COMPRESSED_MAGIC "CCOB"

enum {
    RP_BUNDLE_MAGIC_BYTES = sizeof RP_BUNDLE_MAGIC - 1,
    RP_BUNDLE_ENTRY_BYTES = 24,
    RP_BUNDLE_MAX_ENTRIES = 256,
    RP_BUNDLE_NAME_BYTES = 128,
    RP_BUNDLE_HEAD_BYTES = 65536, /**< all names are within the first of these */
    RP_BUNDLE_TARGETS_BYTES = 256,
};

/** This says whether what has been read so far is for a GPU. Zero it except for the name. */
struct rp_bundle_fit {
    const char *gfx;                       /**< "gfx942" */
    bool suits;                            /**< whatever XNACK is */
    bool on, off;                          /**< there is code for the GPU with XNACK so */
    char targets[RP_BUNDLE_TARGETS_BYTES]; /**< the GPUs there is code for, separated by ", " */
    void *zstd, *zlib;                     /**< kept open from bundle to bundle: libtorch has
                                              thousands; rp_bundle_fit_end() closes them */
};

enum rp_offload_fit {
    RP_OFFLOAD_FITS,      /**< or nobody can tell: no bundles, or compressed in another way */
    RP_OFFLOAD_OTHER_GPU, /**< none of the entries is for the GPU, generic, or SPIR-V */
    RP_OFFLOAD_XNACK_ON,  /**< those for the GPU are xnack+ ones, and XNACK is off */
    RP_OFFLOAD_XNACK_OFF, /**< those for the GPU are xnack- ones, and XNACK is on */
};

/* This is laid out as zstd's streams. Its headers are not used because an injected library links
 * libc only.
 */
struct rp_bundle_out {
    void *data;
    size_t bytes, at;
};
struct rp_bundle_in {
    const void *data;
    size_t bytes, at;
};

/* This is laid out as zlib's z_stream (zlib.h 1.2 and later, 64 bits), for the same reason. */
struct rp_bundle_zlib {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state, *alloc, *release, *opaque;
    int data_type;
    unsigned long adler, reserved;
};

/** The verdict and the targets stay. */
static inline void rp_bundle_fit_end(struct rp_bundle_fit *fit)
{
    if (fit->zstd)
        dlclose(fit->zstd);
    if (fit->zlib)
        dlclose(fit->zlib);
    fit->zstd = fit->zlib = NULL;
}

static inline enum rp_offload_fit rp_bundle_verdict(const struct rp_bundle_fit *fit, bool xnack)
{
    if (fit->suits || !fit->targets[0] || (xnack ? fit->on : fit->off))
        return RP_OFFLOAD_FITS;
    if (fit->on || fit->off)
        return fit->on ? RP_OFFLOAD_XNACK_ON : RP_OFFLOAD_XNACK_OFF;
    return RP_OFFLOAD_OTHER_GPU;
}

/* Notes a target such as "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-". */
static inline void rp_bundle_note_target(struct rp_bundle_fit *fit, const char *name)
{
    const char *gfx = strstr(name, "gfx");
    char target[RP_BUNDLE_NAME_BYTES];
    size_t n = 0;

    if (strstr(name, "spirv") || strstr(name, "generic"))
        fit->suits = true;
    if (!gfx)
        return;
    for (; isalnum((unsigned char)gfx[n]) || gfx[n] == '-'; n++)
        target[n] = gfx[n]; /* Other bytes that may be in a file must not reach a terminal. */
    target[n] = '\0';
    if (strcmp(target, fit->gfx) == 0) {
        const bool on = strstr(gfx, ":xnack+"), off = strstr(gfx, ":xnack-");

        fit->on |= on;
        fit->off |= off;
        fit->suits |= !on && !off;
    }
    const size_t used = strlen(fit->targets);
    const char *seen = strstr(fit->targets, target);
    if (seen && (seen[n] == '\0' || seen[n] == ','))
        return;
    if (used + n + 3 <= sizeof fit->targets)
        snprintf(fit->targets + used, sizeof fit->targets - used, "%s%s", used ? ", " : "", target);
}

static inline uint64_t rp_bundle_word(const uint8_t *p, size_t bytes)
{
    uint64_t value = 0;

    memcpy(&value, p, bytes); /* The bundle is little-endian, and so is the host. */
    return value;
}

/** Notes the entries of a bundle that begins at @p at; @p bytes may be read. */
static inline void rp_bundle_note(struct rp_bundle_fit *fit, const uint8_t *at, size_t bytes)
{
    size_t offset = RP_BUNDLE_MAGIC_BYTES + 8;

    if (bytes < offset || memcmp(at, RP_BUNDLE_MAGIC, RP_BUNDLE_MAGIC_BYTES) != 0)
        return;
    const uint64_t count = rp_bundle_word(at + RP_BUNDLE_MAGIC_BYTES, 8);
    for (uint64_t i = 0;
         i < count && i < RP_BUNDLE_MAX_ENTRIES && bytes - offset >= RP_BUNDLE_ENTRY_BYTES; i++) {
        const uint64_t length = rp_bundle_word(at + offset + 16, 8);
        char name[RP_BUNDLE_NAME_BYTES];

        offset += RP_BUNDLE_ENTRY_BYTES;
        if (length >= sizeof name || length > bytes - offset)
            return;
        memcpy(name, at + offset, length);
        name[length] = '\0';
        offset += length;
        if (!strncmp(name, "hip", 3))
            rp_bundle_note_target(fit, name);
    }
}

/* Unpacks the first bytes of a zstd stream. @return how many there are in @p head; 0: no such
 * library, or damage
 */
static inline size_t rp_bundle_unpack(void *zstd, const uint8_t *stream, size_t bytes,
                                      uint8_t *head, size_t head_bytes)
{
    void *const symbols[] = {zstd ? dlsym(zstd, "ZSTD_createDStream") : NULL,
                             zstd ? dlsym(zstd, "ZSTD_decompressStream") : NULL,
                             zstd ? dlsym(zstd, "ZSTD_freeDStream") : NULL};
    struct rp_bundle_out out = {head, head_bytes, 0};
    struct rp_bundle_in in = {stream, bytes, 0};

    if (symbols[0] && symbols[1] && symbols[2]) {
        void *(*create)(void);
        size_t (*decompress)(void *, struct rp_bundle_out *, struct rp_bundle_in *);
        size_t (*release)(void *);

        memcpy(&create, &symbols[0], sizeof create);
        memcpy(&decompress, &symbols[1], sizeof decompress);
        memcpy(&release, &symbols[2], sizeof release);
        void *d = create();
        for (size_t rc = 1; d && rc && out.at < out.bytes && in.at < in.bytes;) {
            const size_t in_before = in.at, out_before = out.at;

            rc = decompress(d, &out, &in);
            if (rc > (size_t)-128 || (in.at == in_before && out.at == out_before))
                break; /* zstd's error codes are small negative numbers. */
        }
        if (d)
            release(d);
    }
    return out.at;
}

/* Does the same with a zlib stream, as clang writes it where it was built without zstd. */
static inline size_t rp_bundle_inflate(void *zlib, const uint8_t *stream, size_t bytes,
                                       uint8_t *head, size_t head_bytes)
{
    enum { SYNC_FLUSH = 2, MOST_IN = 1 << 30 };
    void *const symbols[] = {zlib ? dlsym(zlib, "inflateInit_") : NULL,
                             zlib ? dlsym(zlib, "inflate") : NULL,
                             zlib ? dlsym(zlib, "inflateEnd") : NULL};
    struct rp_bundle_zlib z = {.next_in = stream,
                               .avail_in = bytes < MOST_IN ? (unsigned)bytes : MOST_IN,
                               .next_out = head,
                               .avail_out = (unsigned)head_bytes};

    if (symbols[0] && symbols[1] && symbols[2]) {
        int (*init)(struct rp_bundle_zlib *, const char *, int);
        int (*step)(struct rp_bundle_zlib *, int);
        int (*end)(struct rp_bundle_zlib *);

        memcpy(&init, &symbols[0], sizeof init);
        memcpy(&step, &symbols[1], sizeof step);
        memcpy(&end, &symbols[2], sizeof end);
        if (init(&z, "1", (int)sizeof z) == 0) {
            while (z.avail_out && step(&z, SYNC_FLUSH) == 0)
                ;
            end(&z);
        }
    }
    return head_bytes - z.avail_out;
}

/** Does the same with a compressed bundle. */
static inline void rp_bundle_note_compressed(struct rp_bundle_fit *fit, const uint8_t *at,
                                             size_t bytes)
{
    enum { ZLIB_METHOD = 0, ZSTD_METHOD = 1, LEAST_BYTES = 36 };

    if (bytes < LEAST_BYTES || memcmp(at, RP_BUNDLE_COMPRESSED_MAGIC, 4) != 0)
        return;
    const uint64_t version = rp_bundle_word(at + 4, 2), method = rp_bundle_word(at + 6, 2);
    if (version < 1 || version > 3 || (method != ZLIB_METHOD && method != ZSTD_METHOD))
        return;
    /* Version 1 does not say its size: the stream says where it ends. */
    const uint64_t whole = version == 1 ? bytes : rp_bundle_word(at + 8, version == 2 ? 4 : 8);
    const size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
    uint8_t *head = whole > header && whole <= bytes ? malloc(RP_BUNDLE_HEAD_BYTES) : NULL;
    if (!head)
        return;
    void **library = method == ZSTD_METHOD ? &fit->zstd : &fit->zlib;
    if (!*library)
        *library = dlopen(method == ZSTD_METHOD ? "libzstd.so.1" : "libz.so.1", RTLD_LAZY);
    rp_bundle_note(fit, head,
                   (method == ZSTD_METHOD ? rp_bundle_unpack : rp_bundle_inflate)(
                       *library, at + header, whole - header, head, RP_BUNDLE_HEAD_BYTES));
    free(head);
}

#endif
