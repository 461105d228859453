/**
 * @file utf8.h
 * @brief Text that is certainly UTF-8.
 */
#ifndef RP_STORE_UTF8_H
#define RP_STORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

struct rp_buf;

bool rp_utf8_valid(const char *text, size_t len);
/** Appends the text with every byte that is not part of a character replaced by U+FFFD. */
void rp_utf8_mend(struct rp_buf *ret, const char *text, size_t len);

#endif
