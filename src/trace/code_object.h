/**
 * @file code_object.h
 * @brief This header reads what a code object says about one of its kernels: the AMDGPU metadata
 * note (LLVM's AMDGPU user guide, code object V3 and later).
 */
#ifndef RP_TRACE_CODE_OBJECT_H
#define RP_TRACE_CODE_OBJECT_H

#include <ctype.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rp_buf;
struct rp_code_identity;
struct rp_code_symbols;
struct rp_err;

/* These functions find segments and symbols of a code object in memory, and trust nothing in it. */

/** The loader can find these by name. */
struct rp_code_symbols {
    const uint8_t *at; /**< Elf64_Sym, not aligned */
    size_t count;
    const char *names; /**< ends with 0 */
    size_t name_bytes;
};

/** @return NULL: symbols or sections of the code object cannot be read, or memory is out. It refers
 * to the bytes. */
struct rp_code_identity *rp_code_identity_open(const uint8_t *bytes, size_t size);
/** Frees an identity; NULL is accepted. */
void rp_code_identity_free(struct rp_code_identity *contents);
/** Returns the dynamic symbols. */
const struct rp_code_symbols *rp_code_identity_symbols(const struct rp_code_identity *contents);

/**
 * Collects everything that makes a kernel as bytes, which are the same for the same kernel.
 * @param kd  its descriptor, "name.kd"
 * @param most_bytes  of them: what is referred to behind them is left out
 * @return false: the kernel's contents are unknown. Free @p ret with rp_buf_free().
 */
bool rp_code_identity_of_kernel(const struct rp_code_identity *contents, const char *kd,
                                size_t most_bytes, struct rp_buf *ret);

/** Hashes the first megabyte of it. @return 0: it cannot be computed */
uint64_t rp_code_identity_hash(const struct rp_code_identity *contents, const char *kd);

/** It lives as long as the bytes. */
struct rp_code_elf {
    const uint8_t *bytes;
    size_t size;
    Elf64_Ehdr header;
};

/** @return whether it is an ELF file and its program headers are all there */
bool rp_code_elf_open(const uint8_t *bytes, size_t size, struct rp_code_elf *ret);

/** @param i below header.e_phnum. @return whether the file has all its bytes */
bool rp_code_elf_segment(const struct rp_code_elf *elf, size_t i, Elf64_Phdr *ret);

/**
 * Returns the bytes of the file at an address of the loaded object, or NULL if the file does not
 * have all of them.
 */
const uint8_t *rp_code_elf_at(const struct rp_code_elf *elf, uint64_t address, uint64_t bytes);

/** @return the name that the loader knows a library by; NULL: it has none. It refers to the bytes.
 */
const char *rp_code_elf_soname(const struct rp_code_elf *elf);

/** @return whether a section of that name has bytes in the file */
bool rp_code_elf_has_section(const struct rp_code_elf *elf, const char *name);

/** Maps a file that must be ELF, until rp_code_file_close().
 * @return false: it cannot be read, or is no such file */
bool rp_code_file_open(const char *path, struct rp_code_elf *ret);
/** Takes back a file; one of zeros, too. */
void rp_code_file_close(struct rp_code_elf *file);

/** A note is what a tool has left beside code and data. */
struct rp_code_note {
    uint32_t type;
    const char *owner; /**< without an end of its own */
    uint32_t owner_bytes;
    const uint8_t *text;
    uint32_t text_bytes;
};

/** Takes one note. @return whether to go on */
typedef bool rp_code_note_fn(void *ctx, const struct rp_code_note *note);

/**
 * Visits every note in the order of the file: those of segments (PT_NOTE), and where no segment
 * has any, those of sections (SHT_NOTE). A linker that joins several files leaves their notes side
 * by side. Notes behind one that is cut short are left out.
 */
void rp_code_elf_notes(const struct rp_code_elf *elf, rp_code_note_fn *take, void *ctx);

/**
 * Reads the dynamic symbols. Their section says where they are, and where sections are stripped,
 * the dynamic segment does.
 * @return whether there is a sound table
 */
bool rp_code_elf_symbols(const struct rp_code_elf *elf, struct rp_code_symbols *ret);

/** Reads all symbols, local ones included. @return false: they are stripped, or damaged */
bool rp_code_elf_all_symbols(const struct rp_code_elf *elf, struct rp_code_symbols *ret);

/** Looks for a symbol among the dynamic ones, then among all: a descriptor may be local. */
bool rp_code_elf_find(const struct rp_code_elf *elf, const char *name, Elf64_Sym *ret);

bool rp_code_symbol_find(const struct rp_code_symbols *symbols, const char *name, Elf64_Sym *ret);

/**
 * KERNEL_CODE_ENTRY_BYTE_OFFSET counts from there (LLVM's AMDGPU user guide, "Kernel Descriptor").
 */
enum { RP_CODE_DESCRIPTOR_BYTES = 64, RP_CODE_ENTRY_AT = 16 };

/** This is a function or a kernel. */
struct rp_code_function {
    const char *symbol; /**< without .kd; it lives as long as the bytes */
    uint32_t symbol_bytes;
    bool is_kernel; /**< named by its descriptor */
    uint64_t address, bytes;
};

/**
 * Functions are sorted by address. Of those at one address a kernel is kept, or else the first by
 * name.
 */
struct rp_code_functions {
    struct rp_code_function *at;
    size_t count;
};

/**
 * Reads the functions of all symbols, or of the dynamic ones where the others are stripped. A
 * kernel has the name of its descriptor, by which the runtime launches it. Hand-written assembly
 * leaves out sizes, so a function of size 0 ends where the next one, or its segment, does.
 * @return 0; negative: out of memory
 */
int rp_code_functions_read(const struct rp_code_elf *elf, struct rp_code_functions *ret);

/** This is a text in the code object, which has no end mark of its own. */
struct rp_code_text {
    const char *at;
    uint32_t bytes;
};

struct rp_code_arg {
    uint64_t offset, bytes;
    struct rp_code_text kind;  /**< "by_value", "global_buffer", "hidden_block_count_x", ... */
    struct rp_code_text space; /**< "global", ...; no bytes: none is named */
    bool no_alias; /**< it is a pointer for what no other one points to (restrict), as far as the
                      compiler says so */
};

struct rp_code_kernel {
    struct rp_code_text target; /**< "amdgcn-amd-amdhsa--gfx942:xnack-"; no bytes: not said */
    uint64_t kernarg_bytes, group_bytes, private_bytes;
    uint64_t wave_size, max_workgroup;
    uint64_t vgprs; /**< accumulation VGPRs included where the file is one: with 100 and 64 LLVM
                         writes 164 for gfx90a and gfx942, and 100 for gfx908 */
    uint64_t agprs, sgprs;
    uint64_t required_workgroup[3]; /**< all 0: any */
    bool uniform_workgroups;        /**< no partial ones */
    bool dynamic_stack;
    struct rp_code_arg *args;
    size_t arg_count;
};

/**
 * Finds a kernel in a code object, whose bytes must outlive the result.
 * @param symbol  with .kd
 * @return 0; RP_BAD_INPUT: no metadata, damaged, or there is no such kernel (ret_missing, may be
 *         NULL, says that it is that)
 */
int rp_code_kernel_read(const uint8_t *elf, size_t elf_bytes, const char *symbol,
                        struct rp_code_kernel *ret, bool *ret_missing, struct rp_err *err);

/* Finds for which GPUs a bundle of device code is.
 *
 * Clang puts device code into bundles (Clang Offload Bundler, "Binary layout"): a magic string, the
 * number of entries, and for each entry offset, size, length of its target's name, and the name. A
 * compressed one ("Compressed Offload Bundle") has "CCOB", version and method, from version 2 on
 * the size of the whole, the size without compression, a hash, and a stream of zlib or zstd. The
 * injected library reads bundles in memory and `rocm-perf`
 * those in files.
 */

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

/**
 * Finds the code object for a GPU. A file that is not a bundle is one code object.
 * @param gpu  "gfx942"
 * @return 0; RP_VERDICT: there is none for that GPU; RP_BAD_INPUT: it is damaged, or packed
 */
int rp_bundle_find(const uint8_t *file, size_t bytes, const char *gpu, const uint8_t **ret,
                   size_t *ret_bytes, struct rp_err *err);

/** @param i below count. @return its name; NULL: it has none, or is defined elsewhere */
static inline const char *rp_code_symbol(const struct rp_code_symbols *symbols, size_t i,
                                         Elf64_Sym *ret)
{
    memcpy(ret, symbols->at + i * sizeof *ret, sizeof *ret);
    return ret->st_shndx != SHN_UNDEF && ret->st_name < symbols->name_bytes
               ? symbols->names + ret->st_name
               : NULL;
}

/** In LLVM's AMDGPU user guide, "Symbols", name.kd is the descriptor of the kernel name. */
static inline bool rp_code_symbol_is_kernel(const char *name)
{
    const size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".kd") == 0;
}
static inline void rp_code_functions_free(struct rp_code_functions *functions)
{
    free(functions->at);
    *functions = (struct rp_code_functions){0};
}

static inline bool rp_code_text_is(struct rp_code_text text, const char *other)
{
    return strlen(other) == text.bytes && memcmp(text.at, other, text.bytes) == 0;
}

static inline bool rp_code_text_same(struct rp_code_text a, struct rp_code_text b)
{
    return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.at, b.at, a.bytes) == 0);
}

/** Tests whether the runtime adds this argument. */
static inline bool rp_code_arg_is_hidden(const struct rp_code_arg *arg)
{
    return arg->kind.bytes >= 7 && memcmp(arg->kind.at, "hidden_", 7) == 0;
}

/** Frees a kernel; a zeroed one is accepted. */
static inline void rp_code_kernel_free(struct rp_code_kernel *kernel)
{
    free(kernel->args);
    kernel->args = NULL;
    kernel->arg_count = 0;
}

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
