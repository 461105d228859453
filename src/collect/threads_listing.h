/**
 * @file threads_listing.h
 * @brief The functions that traced waves entered, line by line, as decoded thread traces list them.
 */
#ifndef RP_COLLECT_THREADS_LISTING_H
#define RP_COLLECT_THREADS_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/threads_code.h"
#include "collect/threads_file.h"

/** A code object of the process. */
struct rp_loaded_code {
    uint32_t id;
    uint64_t load_base, load_bytes;
    int64_t load_delta; /**< address in memory - address in the ELF file */
    char *path;         /**< of the ELF file; NULL: not there */
    struct rp_elf_functions functions;
};

/** An instruction, or with a symbol the label above a function's first one. */
struct rp_listed {
    const struct rp_elf_function *label; /**< NULL: an instruction */
    size_t code;                         /**< index; of a label that of its first instruction */
    uint32_t line;                       /**< 0, 1, ...; labels count */
    uint32_t object;                     /**< id; 0: none has it */
    uint64_t address;                    /**< in the ELF file */
    uint64_t hits, latency, stall, idle; /**< over all traced waves */
    char *source;                        /**< "": unknown. Labels have none */
};

struct rp_threads_listing {
    struct rp_listed *at; /**< the kernel first, then by address */
    size_t count;
    uint32_t *line_of; /**< by code; UINT32_MAX: not listed, nothing executed it */
    uint32_t kernel_object;
    uint64_t kernel_address;
    const char *kernel_symbol; /**< of the objects; NULL: unknown */
    uint64_t kernel_hash;      /**< of what it consists of; 0 = unknown */
};

/**
 * @param objects     with their functions; must outlive the result
 * @param symbolizer  NULL: no source lines
 * @param scratch     name of a file that may be made and is removed
 * @return 0, RP_ENVIRONMENT
 */
int rp_threads_list(const struct rp_threads_file *file, const struct rp_loaded_code *objects,
                    size_t object_count, const char *symbolizer, const char *scratch,
                    struct rp_threads_listing *ret, struct rp_err *err);
void rp_threads_listing_free(struct rp_threads_listing *listing);

#endif
