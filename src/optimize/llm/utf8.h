/**
 * @file utf8.h
 * @brief Texts that are no UTF-8, or that are not for terminals, made so.
 */
#ifndef RP_OPTIMIZE_LLM_UTF8_H
#define RP_OPTIMIZE_LLM_UTF8_H

#include <stddef.h>

struct rp_buf;

/**
 * Adds the text; what is no UTF-8, control characters but tab and line feed, and characters that
 * are not seen or change the direction of writing become U+FFFD.
 * A carriage return before a line feed is left out.
 */
void rp_utf8_add(struct rp_buf *out, const char *text, size_t bytes);

#endif
