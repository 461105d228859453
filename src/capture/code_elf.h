/**
 * @file code_elf.h
 * @brief Segments and symbols of a code object that lies in memory. Nothing in it is trusted.
 */
#ifndef RP_CAPTURE_CODE_ELF_H
#define RP_CAPTURE_CODE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/** Bytes of the file at an address of the loaded object; NULL: not all of them are in it. */
const uint8_t *rp_code_elf_at(const struct rp_code_elf *elf, uint64_t address, uint64_t bytes);

/** What the loader can find by name. */
struct rp_code_symbols {
    const uint8_t *at; /**< Elf64_Sym, not aligned */
    size_t count;
    const char *names; /**< ends with 0 */
    size_t name_bytes;
};

/** @return whether there is a sound table of dynamic symbols */
bool rp_code_elf_symbols(const struct rp_code_elf *elf, struct rp_code_symbols *ret);

/** @param i below count. @return its name; NULL: it has none, or is defined elsewhere */
const char *rp_code_symbol(const struct rp_code_symbols *symbols, size_t i, Elf64_Sym *ret);

bool rp_code_symbol_find(const struct rp_code_symbols *symbols, const char *name, Elf64_Sym *ret);

/** LLVM's AMDGPU user guide, "Symbols": name.kd is the descriptor of the kernel name. */
bool rp_code_symbol_is_kernel(const char *name);

#endif
