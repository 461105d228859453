/**
 * @file code_object.h
 * @brief This header reads what a code object says about one of its kernels: the AMDGPU metadata
 * note (LLVM's AMDGPU user guide, code object V3 and later).
 */
#ifndef RP_TRACE_CODE_OBJECT_H
#define RP_TRACE_CODE_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct rp_buf;
struct rp_code_identity;
struct rp_code_symbols;
struct rp_err;

/* The identity of a kernel tells kernels of two code objects apart, or shows that they are the
 * same. It consists of its descriptor, its instructions, and everything that these refer to:
 * functions that are called, tables, variables. Addresses are replaced by what is there, so that
 * kernels that only lie elsewhere are the same. The injected tool has this code too, so it needs
 * libc only.
 */

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

/** Looks for a symbol among the dynamic ones, then among all: a descriptor may be local. */
bool rp_code_elf_find(const struct rp_code_elf *elf, const char *name, Elf64_Sym *ret);

/** @param i below count. @return its name; NULL: it has none, or is defined elsewhere */
static inline const char *rp_code_symbol(const struct rp_code_symbols *symbols, size_t i,
                                         Elf64_Sym *ret)
{
    memcpy(ret, symbols->at + i * sizeof *ret, sizeof *ret);
    return ret->st_shndx != SHN_UNDEF && ret->st_name < symbols->name_bytes
               ? symbols->names + ret->st_name
               : NULL;
}

bool rp_code_symbol_find(const struct rp_code_symbols *symbols, const char *name, Elf64_Sym *ret);

/** In LLVM's AMDGPU user guide, "Symbols", name.kd is the descriptor of the kernel name. */
static inline bool rp_code_symbol_is_kernel(const char *name)
{
    const size_t length = strlen(name);

    return length > 3 && strcmp(name + length - 3, ".kd") == 0;
}

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
static inline void rp_code_functions_free(struct rp_code_functions *functions)
{
    free(functions->at);
    *functions = (struct rp_code_functions){0};
}

/** This is a text in the code object, which has no end mark of its own. */
struct rp_code_text {
    const char *at;
    uint32_t bytes;
};

struct rp_code_arg {
    uint64_t offset, bytes;
    struct rp_code_text kind;  /**< "by_value", "global_buffer", "hidden_block_count_x", ... */
    struct rp_code_text space; /**< "global", ...; no bytes: none is named */
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

/**
 * Finds a kernel in a code object, whose bytes must outlive the result.
 * @param symbol  with .kd
 * @return 0; RP_BAD_INPUT: no metadata, damaged, or there is no such kernel (ret_missing, may be
 *         NULL, says that it is that)
 */
int rp_code_kernel_read(const uint8_t *elf, size_t elf_bytes, const char *symbol,
                        struct rp_code_kernel *ret, bool *ret_missing, struct rp_err *err);

/** Frees a kernel; a zeroed one is accepted. */
static inline void rp_code_kernel_free(struct rp_code_kernel *kernel)
{
    free(kernel->args);
    kernel->args = NULL;
    kernel->arg_count = 0;
}

#endif
