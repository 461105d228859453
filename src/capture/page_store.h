/**
 * @file page_store.h
 * @brief Writer of memory/pages.bin: gives each page a number, and the same one to equal pages.
 *
 * Equal pages are found by hash and then compared. The table of hashes has a fixed size and forgets
 * the older of two pages that want the same slot: memory is bounded, and what is forgotten costs
 * disk space, nothing else.
 */
#ifndef RP_CAPTURE_PAGE_STORE_H
#define RP_CAPTURE_PAGE_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct rp_err;
struct rp_page_store;

/** @param path  must not exist */
int rp_page_store_open(const char *path, struct rp_page_store **ret, struct rp_err *err);

bool rp_page_is_zero(const uint8_t *page);

/** @param page  RP_PAGE_BYTES of it */
int rp_page_store_put(struct rp_page_store *store, const uint8_t *page, uint64_t *ret_number,
                      struct rp_err *err);

/** Whether a stored page (or RP_STORED_ZERO) has these contents. */
int rp_page_store_equals(struct rp_page_store *store, uint64_t number, const uint8_t *page,
                         bool *ret, struct rp_err *err);

/** Pages that are stored. */
uint64_t rp_page_store_pages(const struct rp_page_store *store);

/** Writes what is left and brings it to the disk; pages can be compared still, not added. */
int rp_page_store_finish(struct rp_page_store *store, struct rp_err *err);

/** Accepts NULL. */
void rp_page_store_free(struct rp_page_store *store);

#endif
