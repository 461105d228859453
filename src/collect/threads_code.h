/**
 * @file threads_code.h
 * @brief What a code object (an ELF file) says about addresses: functions, and lines of source.
 */
#ifndef RP_COLLECT_THREADS_CODE_H
#define RP_COLLECT_THREADS_CODE_H

#include <stddef.h>
#include <stdint.h>

struct rp_environment;
struct rp_err;

struct rp_elf_function {
    char *symbol; /**< a kernel's without .kd */
    uint64_t address, bytes;
};

/** As rp_code_functions_read finds them. Free with rp_elf_functions_free. */
struct rp_elf_functions {
    struct rp_elf_function *at;
    size_t count;
};

/** @return 0, RP_BAD_INPUT when it is no ELF file, RP_ENVIRONMENT */
int rp_elf_functions_read(const char *path, struct rp_elf_functions *ret, struct rp_err *err);
/** rp_code_identity_hash of a kernel, without .kd; 0: it cannot be told. */
uint64_t rp_elf_kernel_hash(const char *path, const char *symbol);
void rp_elf_functions_free(struct rp_elf_functions *functions);

/** The function that has the address, or NULL. */
const struct rp_elf_function *rp_elf_function_at(const struct rp_elf_functions *functions,
                                                 uint64_t address);

/** The llvm-symbolizer of ROCm, else of $PATH; owned by the caller, NULL: none. */
char *rp_find_symbolizer(const struct rp_environment *env);

/**
 * Source lines of addresses: "file:line", of inlined code "file:line -> file:line" with the place
 * that it was inlined at behind it, and so on; "" where the code has no debug information.
 * @param scratch  name of a file that may be made and is removed
 * @param ret      @p count strings, owned by the caller; NULL on failure
 * @return 0, RP_ENVIRONMENT
 */
int rp_source_lines(const char *symbolizer, const char *elf, const uint64_t *addresses,
                    size_t count, const char *scratch, char **ret, struct rp_err *err);

#endif
