/**
 * @file elf_needs.h
 * @brief What a program file asks of the loader.
 */
#ifndef RP_COLLECT_ELF_NEEDS_H
#define RP_COLLECT_ELF_NEEDS_H

#include <stdbool.h>

struct rp_elf_needs {
    bool is_elf;       /**< a 64-bit x86 ELF program */
    bool needs_rocm;   /**< links libamdhip64 or libhsa-runtime64 */
    bool interp_is_in; /**< its loader lies below the folder that was asked for */
};

/**
 * Looks at a program file; anything unreadable or foreign gives all false.
 * @param root folder for interp_is_in
 */
void rp_elf_needs(const char *path, const char *root, struct rp_elf_needs *ret);

#endif
