/**
 * @file source_lines.h
 * @brief Finds the lines of source that addresses of ELF files come from, with llvm-symbolizer.
 */
#ifndef RP_RUN_SOURCE_LINES_H
#define RP_RUN_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_environment;
struct rp_err;

/** Finds the llvm-symbolizer of ROCm, or that of $PATH. The caller owns the path; NULL means that
 * there is none. */
char *rp_find_symbolizer(const struct rp_environment *env);

/**
 * Finds source lines of addresses as "file:line". Inlined code is "file:line -> file:line", where
 * the second place is the one that it was inlined at, and so on. It is "" where the code has no
 * debug information.
 * @param scratch name of a file that may be made and is removed
 * @param ret @p count strings, owned by the caller; NULL on failure
 * @return 0, RP_ENVIRONMENT
 */
int rp_source_lines(const char *symbolizer, const char *elf, const uint64_t *addresses,
                    size_t count, const char *scratch, char **ret, struct rp_err *err);

/** This is where an address was written down: a function, or one that was inlined into it. */
struct rp_source_place {
    char *function; /**< as people read it; "" = unknown */
    char *file;     /**< "" = unknown */
    uint32_t line;  /**< 0 = unknown */
};

/** The innermost of an address comes first. */
struct rp_source_places {
    struct rp_source_place *at;
    size_t count;
};

/**
 * Finds the same with functions, for the host's code.
 * @param ret @p count of them; free each with rp_source_places_free, also on failure
 * @return 0, RP_ENVIRONMENT
 */
int rp_source_places(const char *symbolizer, const char *elf, const uint64_t *addresses,
                     size_t count, const char *scratch, struct rp_source_places *ret,
                     struct rp_err *err);
/** Accepts zeros. */
void rp_source_places_free(struct rp_source_places *places);

/** This is a variable that a function, or one that was inlined into it, declares. */
struct rp_source_variable {
    char *function; /**< "fir" */
    char *name;     /**< "tile" */
    char *place;    /**< "file:line" */
    uint64_t bytes; /**< never 0 */
};

struct rp_source_variables {
    struct rp_source_variable *at; /**< in the order of the debug information */
    size_t count;
    /** "file:line" where the declaration of the function itself begins, as far as the source is
     * there: its __global__ may be lines above its first parameter. NULL = unknown */
    char *function_place;
};

/**
 * Finds the variables of the function at an address that have a name, a place and a size; of a
 * kernel whose source is there, without its parameters.
 * @param ret free it with rp_source_variables_free, also on failure
 * @return 0, RP_ENVIRONMENT
 */
int rp_source_variables(const char *symbolizer, const char *elf, uint64_t address,
                        const char *scratch, struct rp_source_variables *ret, struct rp_err *err);
/** Accepts zeros. */
void rp_source_variables_free(struct rp_source_variables *variables);

/** This is what the symbols of a program say of the kernels that it can launch. */
struct rp_host_kernels {
    char **names; /**< without namespaces and parameters: "sgemm" */
    size_t count;
    char **files; /**< names of the sources that it was compiled of, without folders */
    size_t file_count;
};

/** Reads them. A program that is stripped has none.
 * @param ret free it with rp_host_kernels_free */
void rp_host_kernels_read(const char *elf, struct rp_host_kernels *ret);
/** Accepts zeros. */
void rp_host_kernels_free(struct rp_host_kernels *kernels);

/** Says whether an ELF file has line numbers; without them nobody needs to start llvm-symbolizer.
 */
bool rp_has_source_lines(const char *elf);

#endif
