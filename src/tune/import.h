/**
 * @file import.h
 * @brief Earlier results as a start: their fastest configurations are run first.
 *
 * Their times are of another day, and maybe of another GPU, so that only their order counts. Of
 * rows that are one configuration here the fastest counts.
 */
#ifndef RP_TUNE_IMPORT_H
#define RP_TUNE_IMPORT_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_space;

enum { RP_IMPORT_MOST = 10 };

/** Zero-initialise; release with rp_imported_free. */
struct rp_imported {
    uint32_t *fastest; /**< numbers in the space, fastest first */
    size_t fastest_count;
    size_t known; /**< configurations that ran then and are in the space */
};

/**
 * @param path  a recorded space (tune/recorded.h)
 * @return 0; RP_BAD_INPUT: it is none, or has nothing of this space; RP_ENVIRONMENT
 */
int rp_import(const char *path, const struct rp_space *space, struct rp_imported *ret,
              struct rp_err *err);
/** Accepts zeros. */
void rp_imported_free(struct rp_imported *imported);

#endif
