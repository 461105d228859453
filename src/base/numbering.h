/**
 * @file numbering.h
 * @brief Numbers 64-bit keys (ids, handles, addresses) 0, 1, 2 ... in the order of their first use.
 */
#ifndef RP_BASE_NUMBERING_H
#define RP_BASE_NUMBERING_H

#include <stddef.h>
#include <stdint.h>

/** Stands for no number: out of memory, or a key that has none. */
enum { RP_NO_NUMBER = UINT32_MAX };

/** Zero-initialise; release with rp_numbering_free. */
struct rp_numbering {
    uint64_t *keys; /**< by number */
    uint32_t count;
    uint32_t last;   /**< number given or found last: rows of one kind often have the same key */
    uint32_t *slots; /**< hashed: number + 1, 0 = free; at most half of them are in use */
    size_t slot_count;
};

/** The number of a key, a new one if it has none. @return RP_NO_NUMBER: out of memory */
uint32_t rp_numbering_add(struct rp_numbering *n, uint64_t key);
/** @return RP_NO_NUMBER: the key was never added */
uint32_t rp_numbering_find(const struct rp_numbering *n, uint64_t key);
void rp_numbering_free(struct rp_numbering *n);

#endif
