/**
 * @file text.h
 * @brief Strings of one store: freed together, bounded in total.
 */
#ifndef RP_STORE_TEXT_H
#define RP_STORE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/** Zero-initialise, set limit_bytes; release with rp_text_free. */
struct rp_text {
    struct rp_text_chunk *chunks;
    uint64_t used_bytes, limit_bytes;
    const char *recent[1024]; /**< by hash: traces repeat names and handles row after row */
};

/** Copy of the text up to its first zero byte, made UTF-8; NULL when memory or the limit is out. */
const char *rp_text_add(struct rp_text *text, const char *bytes, size_t len);
void rp_text_free(struct rp_text *text);

#endif
