/**
 * @file utf8.h
 * @brief Is it UTF-8?
 */
#ifndef RP_BASE_UTF8_H
#define RP_BASE_UTF8_H

#include <stddef.h>

/** Bytes of the character that begins here; 0 when this is no UTF-8 (RFC 3629). */
size_t rp_utf8_length(const char *text, size_t bytes);

#endif
