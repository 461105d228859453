/**
 * @file utf8.h
 * @brief Is it UTF-8; texts that are not, made so.
 */
#ifndef RP_OPTIMIZE_LLM_UTF8_H
#define RP_OPTIMIZE_LLM_UTF8_H

#include <stddef.h>

struct rp_buf;

/** Bytes of the character that begins here; 0 when this is no UTF-8 (RFC 3629). */
size_t rp_utf8_length(const char *text, size_t bytes);

/**
 * Adds the text; what is no UTF-8, and control characters but tab and line feed, become U+FFFD.
 * A carriage return before a line feed is left out.
 */
void rp_utf8_add(struct rp_buf *out, const char *text, size_t bytes);

#endif
